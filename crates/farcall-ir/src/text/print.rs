//! Printer for modules. It uses the pretty forms of the syntax table where they can express the whole
//! instruction, otherwise the generic form. Values without a name get the names that MLIR would choose:
//! numbers, `%arg0`, `%c`, `%cst`, `%iterArg`. Locations are not printed.

use std::sync::Arc;

use farcall_sig::DType;

use super::printer::{Printer, put};
use super::syntax::{CAPTURES, Directive, NotPretty, Syntax, Types, View};
use super::table;
use crate::attr::{AttrDict, Attribute, Dict, IntKind};
use crate::attributes;
use crate::module::{Inst, Module, Region};
use crate::op::Op;
use crate::quote::{Name, Quoted};
use crate::types::{FuncType, Type};

/// Prints a module as text that [`super::parse`] reads back as an equal module.
pub(super) fn module(m: &Module, generic: bool) -> String {
    if generic {
        return generic_module(m);
    }
    let mut out = String::from("module");
    if let Some(name) = &m.name {
        put(&mut out, format_args!(" @{}", Name(name)));
    }
    if !m.attrs.is_empty() {
        put(&mut out, format_args!(" attributes {}", Dict(&m.attrs)));
    }
    out.push_str(" {\n");
    for mesh in &m.meshes {
        put(&mut out, format_args!("  {mesh}\n"));
    }
    for func in m.funcs() {
        let mut p = Printer::new(out, m, func, generic);
        p.func();
        out = p.out;
    }
    out.push_str("}\n");
    out
}

/// Prints the module, its meshes, functions and instructions in MLIR's generic form.
fn generic_module(m: &Module) -> String {
    let mut out = String::from("\"builtin.module\"()");
    if let Some(name) = &m.name {
        put(&mut out, format_args!(" <{{sym_name = {}}}>", Quoted(name.as_bytes())));
    }
    out.push_str(" ({\n");
    for mesh in &m.meshes {
        let name = Quoted(mesh.name.as_bytes());
        put(
            &mut out,
            format_args!("  \"sdy.mesh\"() <{{mesh = #sdy.mesh<{}>, sym_name = {name}}}>", mesh.mesh),
        );
        if !mesh.attrs.is_empty() {
            put(&mut out, format_args!(" {}", Dict(&mesh.attrs)));
        }
        out.push_str(" : () -> ()\n");
    }
    for func in m.funcs() {
        let mut p = Printer::new(out, m, func, true);
        p.generic_func();
        out = p.out;
    }
    out.push_str("})");
    if !m.attrs.is_empty() {
        put(&mut out, format_args!(" {}", Dict(&m.attrs)));
    }
    out.push_str(" : () -> ()\n");
    out
}

/// If the instruction is a custom call that represents an operation of another dialect, returns the table
/// entry of that operation; otherwise `None`.
fn own_syntax(inst: Inst<'_>) -> Option<&'static Syntax> {
    match inst.op() {
        Op::CustomCall(call) => table::of_call(call),
        _ => None,
    }
}

type Printed = Result<(), NotPretty>;

impl<'a> Printer<'a> {
    fn func(&mut self) {
        let f = self.func;
        let visibility = if f.public { "public" } else { "private" };
        self.put(format_args!("  func.func {visibility} @{}(", Name(&f.name)));
        for (i, param) in f.params().iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            self.put(format_args!("{comma}{}: {}", self.names.of(*param), f[*param]));
            self.optional_dict(&f.param_attrs()[i]);
        }
        self.out.push(')');
        let plain = f.result_attrs().iter().all(AttrDict::is_empty);
        match f.results() {
            [] => {}
            [one] if plain => self.put(format_args!(" -> {one}")),
            many => {
                self.out.push_str(" -> (");
                for (i, ty) in many.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    self.put(format_args!("{comma}{ty}"));
                    self.optional_dict(&f.result_attrs()[i]);
                }
                self.out.push(')');
            }
        }
        if !f.attrs.is_empty() {
            self.put(format_args!(" attributes {}", Dict(&f.attrs)));
        }
        self.out.push(' ');
        self.braces(f.body());
        self.out.push('\n');
    }

    /// Prints `"func.func"() <{…}> ({ … }) : () -> ()`.
    fn generic_func(&mut self) {
        let f = self.func;
        let params: Vec<Type> = f.params().iter().map(|p| f[*p].clone()).collect();
        let ty = Type::Function(Arc::new(FuncType { params, results: f.results().to_vec() }));
        let mut attrs = AttrDict::from([
            ("function_type".to_owned(), Attribute::Type(ty)),
            ("sym_name".to_owned(), Attribute::string(&f.name)),
        ]);
        if !f.public {
            attrs.insert("sym_visibility".to_owned(), Attribute::string("private"));
        }
        for (key, dicts) in [("arg_attrs", f.param_attrs()), ("res_attrs", f.result_attrs())] {
            if dicts.iter().any(|d| !d.is_empty()) {
                attrs.insert(
                    key.to_owned(),
                    Attribute::Array(dicts.iter().cloned().map(Attribute::Dict).collect()),
                );
            }
        }
        self.put(format_args!("  \"func.func\"() <{}> (", Dict(&attrs)));
        self.labelled(f.body());
        self.out.push(')');
        self.optional_dict(&f.attrs);
        self.out.push_str(" : () -> ()\n");
    }

    /// Prints `{`, the instructions and `}`, without the region's arguments.
    pub(super) fn braces(&mut self, region: Region<'a>) {
        self.out.push('{');
        self.body(region);
    }

    fn body(&mut self, region: Region<'a>) {
        self.indent += 1;
        for inst in region.insts() {
            self.new_line();
            self.inst(inst);
        }
        self.indent -= 1;
        self.new_line();
        self.out.push('}');
    }

    /// Prints `{`, a label with the arguments, the instructions and `}`.
    pub(super) fn labelled(&mut self, region: Region<'a>) {
        self.out.push('{');
        if !region.args().is_empty() {
            self.new_line();
            self.out.push_str("^bb0(");
            for (i, arg) in region.args().iter().enumerate() {
                let comma = if i > 0 { ", " } else { "" };
                self.put(format_args!("{comma}{}: {}", self.names.of(*arg), self.func[*arg]));
            }
            self.out.push_str("):");
        }
        self.body(region);
    }

    fn inst(&mut self, inst: Inst<'a>) {
        if let Some(first) = inst.results().first() {
            self.put(format_args!("{}", self.names.group(*first)));
            if inst.results().len() > 1 {
                self.put(format_args!(":{}", inst.results().len()));
            }
            self.out.push_str(" = ");
        }
        let start = self.out.len();
        if self.generic || self.pretty(inst).is_err() {
            self.out.truncate(start);
            self.generic(inst);
        }
    }

    /// The name of the operation, without the dialect `func` where MLIR omits it.
    fn name_of(&self, inst: Inst<'_>, pretty: bool) -> &'static str {
        match (inst.op(), self.indent, pretty) {
            (Op::Return, 2, true) => "return",
            (Op::Return, 2, false) => "func.return",
            (Op::Call { .. }, 2, true) => "call",
            (op, _, _) => own_syntax(inst).map_or(op.name(), |own| own.name),
        }
    }

    /// The attributes that belong to the operation itself.
    fn attrs_of(&self, inst: Inst<'_>) -> AttrDict {
        if own_syntax(inst).is_some() { AttrDict::new() } else { attributes::write(inst.op(), self.module) }
    }

    fn pretty(&mut self, inst: Inst<'a>) -> Printed {
        if !inst.captures().is_empty() {
            return Err(NotPretty);
        }
        let name = self.name_of(inst, true);
        let full = if name == "return" { "func.return" } else { inst.op().name() };
        let form = table::lookup(full).map_or(&[][..], |s| s.form);
        let form = if let Some(own) = own_syntax(inst) { own.form } else { form };
        let silent =
            !form.iter().any(|directive| matches!(directive, Directive::Types(_) | Directive::Hook(_)));
        if form.is_empty() || (silent && !inst.results().is_empty()) {
            return Err(NotPretty);
        }
        let mut attrs = self.attrs_of(inst);
        attrs.extend_missing(inst.attrs());
        let mut view = View { inst, operands: inst.operands(), attrs, regions_done: false };
        self.out.push_str(name);
        let form = match form {
            [Directive::PrefixDict, rest @ ..] => {
                self.rest_dict(&mut view);
                rest
            }
            _ => form,
        };
        let tight = match form.first() {
            Some(Directive::Lit(l)) => l.starts_with('('),
            Some(Directive::Dict | Directive::Types(_)) => true,
            Some(Directive::Hook(h)) => h.tight,
            _ => false,
        };
        // The line of an operation without operands may end after its name. A parser would then read the next
        // line as operands, so `()` is printed, except for a return, which ends its block.
        let bare = matches!(form.first(), Some(Directive::Operands)) && inst.operands().is_empty();
        if bare && inst.results().is_empty() {
            self.out.push_str(if *inst.op() == Op::Return { "" } else { "()" });
        } else if !tight {
            self.out.push(' ');
        }
        self.directives(form, &mut view)?;
        let all = view.operands.is_empty()
            && view.attrs.is_empty()
            && (view.regions_done || inst.region_ids().is_empty());
        if all { Ok(()) } else { Err(NotPretty) }
    }

    pub(super) fn directives(&mut self, directives: &[Directive], view: &mut View<'a>) -> Printed {
        for directive in directives {
            self.directive(directive, view)?;
        }
        Ok(())
    }

    fn directive(&mut self, directive: &Directive, view: &mut View<'a>) -> Printed {
        match directive {
            Directive::Lit(text) => self.out.push_str(text),
            Directive::Operand => {
                let operand = view.next_operand()?;
                self.value(operand);
            }
            Directive::Operands => {
                let operands = std::mem::take(&mut view.operands);
                self.values(operands);
            }
            Directive::Ints(key) => {
                let ints = view.take(key)?.as_i64_list().ok_or(NotPretty)?;
                self.put(format_args!("{ints:?}"));
            }
            Directive::Int(key, dtype) => match view.take(key)? {
                Attribute::Int(v, IntKind::Typed(of)) if of == *dtype => self.put(format_args!("{v}")),
                _ => return Err(NotPretty),
            },
            Directive::Flag(key) => {
                let v = view.take(key)?.as_bool().ok_or(NotPretty)?;
                self.put(format_args!("{v}"));
            }
            Directive::Float(key) => {
                let attr = view.take(key)?;
                let finite = attr.as_f64().is_some_and(f64::is_finite);
                if !finite || !matches!(attr, Attribute::Float(_, DType::F64)) {
                    return Err(NotPretty);
                }
                let text = attr.to_string();
                self.out.push_str(text.split(" : ").next().unwrap_or(&text));
            }
            Directive::Keyword(key, _) => match view.take(key)? {
                Attribute::Dialect(d) => self.out.push_str(&d.text),
                _ => return Err(NotPretty),
            },
            Directive::Symbol(key) | Directive::Value(key) => {
                let attr = view.take(key)?;
                self.put(format_args!("{attr}"));
            }
            Directive::Target(key) => {
                let attr = view.take(key)?;
                let name = attr.as_str().ok_or(NotPretty)?;
                self.put(format_args!("@{}", Name(name)));
            }
            Directive::Text(key) => {
                let attr = view.take(key)?;
                let text = attr.as_str().ok_or(NotPretty)?;
                self.put(format_args!("{}", Quoted(text.as_bytes())));
            }
            Directive::Dict | Directive::PrefixDict => self.rest_dict(view),
            Directive::Optional(directives) => {
                let key = directives.iter().find_map(Directive::key);
                if key.is_some_and(|k| view.attrs.contains_key(k)) {
                    return self.directives(directives, view);
                }
            }
            Directive::Types(types) => return self.types(*types, view),
            Directive::Hook(hook) => return (hook.print)(self, view),
        }
        Ok(())
    }

    /// Prints the remaining attributes in braces.
    pub(super) fn rest_dict(&mut self, view: &mut View<'a>) {
        let rest = std::mem::take(&mut view.attrs);
        self.optional_dict(&rest);
    }

    pub(super) fn types(&mut self, types: Types, view: &View<'a>) -> Printed {
        let f = self.func;
        let operands: Vec<&Type> = view.inst.operands().iter().map(|v| &f[*v]).collect();
        let results: Vec<&Type> = view.inst.results().iter().map(|v| &f[*v]).collect();
        let short = match (types, results.as_slice()) {
            (Types::Same, [r]) => operands.iter().all(|o| o == r),
            (Types::Select, [r]) => operands.len() == 3 && operands[1] == *r && operands[2] == *r,
            (Types::Complex, [Type::Tensor(r)]) => {
                let part = Type::Tensor(r.with_dtype(r.dtype.real()).with_quant(r.quant.clone()));
                r.dtype.is_complex() && operands.iter().all(|o| **o == part)
            }
            (Types::Result, [_]) => operands.is_empty(),
            (Types::Tuple, [Type::Tuple(parts)]) => parts.iter().eq(operands.iter().copied()),
            (Types::Pairs, _) => operands == results,
            (Types::Operands, []) => true,
            (Types::SameOperands, []) => !operands.is_empty() && operands.iter().all(|o| *o == operands[0]),
            (Types::Bare, _) => !operands.is_empty(),
            _ => false,
        };
        match types {
            Types::Same | Types::Result | Types::Complex | Types::Tuple if short => {
                self.put(format_args!(" : {}", results[0]));
            }
            Types::SameOperands if short => self.put(format_args!(" : {}", operands[0])),
            Types::Select if short => self.put(format_args!(" : {}, {}", operands[0], results[0])),
            Types::Function | Types::Same | Types::Select | Types::Complex => {
                self.function(&operands, &results)
            }
            Types::Pairs | Types::Operands if short => {
                if !operands.is_empty() {
                    self.out.push_str(" : ");
                    self.type_list(operands);
                }
            }
            Types::Bare if short => {
                self.out.push_str(" : ");
                self.type_list(operands);
                self.out.push_str(" -> ");
                self.result_types(&results);
            }
            _ => return Err(NotPretty),
        }
        Ok(())
    }

    fn function(&mut self, operands: &[&Type], results: &[&Type]) {
        self.out.push_str(" : (");
        self.type_list(operands.iter().copied());
        self.out.push_str(") -> ");
        self.result_types(results);
    }

    fn result_types(&mut self, results: &[&Type]) {
        match results {
            [one] => self.put(format_args!("{one}")),
            many => {
                self.out.push('(');
                self.type_list(many.iter().copied());
                self.out.push(')');
            }
        }
    }

    fn generic(&mut self, inst: Inst<'a>) {
        self.put(format_args!("\"{}\"(", self.name_of(inst, false)));
        self.values(inst.operands());
        self.out.push(')');
        let attrs = self.attrs_of(inst);
        if !attrs.is_empty() {
            self.put(format_args!(" <{}>", Dict(&attrs)));
        }
        if !inst.region_ids().is_empty() {
            self.out.push_str(" (");
            for (i, region) in inst.regions().enumerate() {
                if i > 0 {
                    self.out.push_str(", ");
                }
                self.labelled(region);
            }
            self.out.push(')');
        }
        match i64::try_from(inst.captures().len()) {
            Ok(0) => self.optional_dict(inst.attrs()),
            n => {
                let mut attrs = inst.attrs().clone();
                attrs.insert(CAPTURES.to_owned(), Attribute::i64(n.unwrap_or(i64::MAX)));
                self.optional_dict(&attrs);
            }
        }
        let f = self.func;
        let operands: Vec<&Type> = inst.operands().iter().map(|v| &f[*v]).collect();
        let results: Vec<&Type> = inst.results().iter().map(|v| &f[*v]).collect();
        self.function(&operands, &results);
    }
}
