//! Parses modules and functions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::lexer::Tok;
use super::merge_modules::Parts;
use super::mesh::mesh_of_dict;
use super::parser::{Parsed, Parser, hinted, span};
use super::region::Arg;
use crate::attr::{AttrDict, Attribute};
use crate::diag::{Diagnostic, Source, Span};
use crate::module::{Func, FuncId, Module, NamedMesh};
use crate::sharding::Mesh;
use crate::types::Type;

impl<'s> Parser<'s> {
    /// Parses the whole text: modules, functions outside of modules, or both.
    pub(super) fn program(&mut self, source: &Arc<Source>) -> Parsed<Module> {
        self.read_aliases()?;
        let mut parts = Parts::new(source);
        let mut outside = Module::new(Arc::clone(source));
        while self.peek().tok != Tok::Eof {
            self.item(&mut outside, &mut parts)?;
        }
        self.resolve_symbols(&mut outside);
        parts.push(outside);
        let module = parts.join().or_else(|d| self.stop(d))?;
        if module.funcs().is_empty() && self.diagnostics.is_empty() {
            self.report(Diagnostic::global("empty", "the program has no functions"));
        }
        Ok(module)
    }

    /// Parses a module after its keyword. Calls resolve only within the module, but the meshes of enclosing
    /// modules are visible.
    fn module(&mut self, parts: &mut Parts, generic: bool) -> Parsed<()> {
        self.enter()?;
        let around = (std::mem::take(&mut self.symbols), self.meshes.clone());
        let mut module = Module::new(parts.source());
        match generic {
            true => self.generic_module(&mut module, parts)?,
            false => self.pretty_module(&mut module, parts)?,
        }
        self.resolve_symbols(&mut module);
        parts.push(module);
        (self.symbols, self.meshes) = around;
        self.leave();
        Ok(())
    }

    /// Parses `@name attributes {…} { … }`.
    fn pretty_module(&mut self, module: &mut Module, parts: &mut Parts) -> Parsed<()> {
        if self.peek().tok == Tok::At {
            module.name = Some(self.symbol()?);
        }
        if self.eat_word("attributes") {
            module.attrs = self.dict()?;
        }
        self.expect(b'{')?;
        self.items(module, parts)?;
        self.trailing_loc()?;
        Ok(())
    }

    /// Parses `() <{…}> ({ … }) {…} : () -> ()`.
    fn generic_module(&mut self, module: &mut Module, parts: &mut Parts) -> Parsed<()> {
        self.literal("()")?;
        self.properties(&mut module.attrs)?;
        self.literal("({")?;
        if self.peek().tok == Tok::Caret {
            self.bump();
            if self.eat(b'(') {
                self.expect(b')')?;
            }
            self.expect(b':')?;
        }
        self.items(module, parts)?;
        self.expect(b')')?;
        self.optional_dict(&mut module.attrs)?;
        self.literal(": () -> ()")?;
        self.trailing_loc()?;
        module.name = self.take_name(&mut module.attrs, "sym_name");
        Ok(())
    }

    /// Parses `<{…}>` if it comes next.
    fn properties(&mut self, out: &mut AttrDict) -> Parsed<()> {
        if self.eat(b'<') {
            self.optional_dict(out)?;
            self.expect(b'>')?;
        }
        Ok(())
    }

    fn take_name(&mut self, attrs: &mut AttrDict, key: &str) -> Option<String> {
        attrs.remove(key).and_then(|a| a.as_str().map(str::to_owned))
    }

    /// Parses items up to the closing `}`, and consumes it.
    fn items(&mut self, module: &mut Module, parts: &mut Parts) -> Parsed<()> {
        loop {
            let t = self.peek();
            match t.tok {
                Tok::Punct(b'}') => {
                    self.bump();
                    return Ok(());
                }
                Tok::Eof => return self.expected("`func.func` or `}`"),
                _ => self.item(module, parts)?,
            }
        }
    }

    /// Parses a function, a module, an alias, resources, or an unknown item that can be skipped.
    fn item(&mut self, module: &mut Module, parts: &mut Parts) -> Parsed<()> {
        let t = self.peek();
        let text = self.str_of(t);
        match t.tok {
            Tok::Hash | Tok::Bang => self.alias_definition(),
            Tok::ResourcesBegin => {
                while !matches!(self.bump().tok, Tok::ResourcesEnd | Tok::Eof) {}
                Ok(())
            }
            Tok::Word if matches!(text, "func.func" | "func" | "builtin.func") => {
                self.bump();
                let func = self.pretty_func()?;
                if let Some(func) = func {
                    module.add_func(func);
                }
                Ok(())
            }
            Tok::Str if text == "\"func.func\"" => {
                self.bump();
                let func = self.generic_func(span(t))?;
                module.add_func(func);
                Ok(())
            }
            Tok::Word if text == "sdy.mesh" => {
                self.bump();
                self.pretty_mesh(module)
            }
            Tok::Str if text == "\"sdy.mesh\"" => {
                self.bump();
                self.generic_mesh(module)
            }
            Tok::Word if matches!(text, "module" | "builtin.module") => {
                self.bump();
                self.module(parts, false)
            }
            Tok::Str if text == "\"builtin.module\"" => {
                self.bump();
                self.module(parts, true)
            }
            Tok::Word | Tok::Str => {
                let name = text.trim_matches('"').to_owned();
                let near = farcall_sig::nearest::nearest(&name, ["func.func", "module"]);
                // A name without a dot is not an operation: report the expected keywords.
                let is_op = name.contains('.');
                let (code, message) = if is_op {
                    ("unknown-op", format!("unknown operation {name} outside of a function"))
                } else {
                    ("parse", format!("expected `func.func` or `module`, found `{name}`"))
                };
                let d = hinted(Diagnostic::new(code, span(t), message), &near);
                if !is_op {
                    return self.stop(d);
                }
                self.report(d);
                self.skip_item();
                Ok(())
            }
            _ => self.expected("`func.func` or `module`"),
        }
    }

    /// Parses `{…} @name = #sdy.mesh<["x"=2]> {…}`. The attributes come in one of the two places, and
    /// `#sdy.mesh` is optional.
    fn pretty_mesh(&mut self, module: &mut Module) -> Parsed<()> {
        let mut attrs = AttrDict::new();
        self.optional_dict(&mut attrs)?;
        let at = self.peek();
        let name = self.symbol()?;
        self.expect(b'=')?;
        let mesh = match self.peek().tok {
            Tok::Hash => mesh_of_attr(&self.attr()?),
            _ => Mesh::read(self.balanced()?),
        };
        self.optional_dict(&mut attrs)?;
        self.trailing_loc()?;
        self.define_mesh(module, name, mesh, attrs, span(at))
    }

    /// Parses `() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "name"}> {…} : () -> ()`. Older programs have the
    /// axes in an attribute `stablehlo.mesh`.
    fn generic_mesh(&mut self, module: &mut Module) -> Parsed<()> {
        let at = self.peek();
        let mut attrs = AttrDict::new();
        self.literal("()")?;
        self.properties(&mut attrs)?;
        self.optional_dict(&mut attrs)?;
        self.literal(": () -> ()")?;
        self.trailing_loc()?;
        let Some(name) = self.take_name(&mut attrs, "sym_name") else {
            return self.fail("attribute", span(at), "sdy.mesh: attribute `sym_name` is missing");
        };
        let mesh = match attrs.remove("mesh") {
            Some(attr) => mesh_of_attr(&attr),
            None => attrs.get("stablehlo.mesh").and_then(mesh_of_dict),
        };
        self.define_mesh(module, name, mesh, attrs, span(at))
    }

    fn define_mesh(
        &mut self,
        module: &mut Module,
        name: String,
        mesh: Option<Mesh>,
        attrs: AttrDict,
        at: Span,
    ) -> Parsed<()> {
        let Some(mesh) = mesh else {
            let message = format!("mesh @{name} is malformed; expected a mesh such as <[\"axis\"=2, …]>");
            return self.fail("attribute", at, message);
        };
        if self.meshes.insert(name.clone(), mesh.clone()).is_some() {
            self.report(Diagnostic::new("redefinition", at, format!("mesh @{name} is already defined")));
        }
        module.meshes.push(NamedMesh { name, mesh, attrs });
        Ok(())
    }

    /// Skips an unknown item: continues at a line that begins another item, or at the `}` that closes the
    /// module.
    fn skip_item(&mut self) {
        let mut depth = 0u32;
        loop {
            self.bump();
            let t = self.peek();
            let new_line = self.slice(self.pos(), t.start).contains('\n');
            if depth == 0 && new_line && matches!(t.tok, Tok::Word | Tok::Str | Tok::Hash | Tok::Bang) {
                return;
            }
            match t.tok {
                Tok::Eof | Tok::ResourcesBegin => return,
                Tok::Punct(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Tok::Punct(b')' | b']' | b'}' | b'>') => match depth.checked_sub(1) {
                    Some(d) => depth = d,
                    None => return,
                },
                _ => {}
            }
        }
    }

    // --- functions

    /// Parses `private @name(%arg0: t {…}, …) -> (t {…}) attributes {…} { … }`. Returns `None` for a
    /// declaration without a body, which is an error only if the function is called.
    fn pretty_func(&mut self) -> Parsed<Option<Func>> {
        let visibility = self.peek();
        let mut public = true;
        if visibility.tok == Tok::Word {
            match self.str_of(visibility) {
                "public" => {}
                "private" | "nested" => public = false,
                _ => return self.expected("a name that starts with `@`"),
            }
            self.bump();
        }
        let at = self.peek();
        let name = self.symbol()?;
        self.func = Func::new(name, span(at));
        self.func.public = public;
        self.scope.clear();
        let (mut args, mut unnamed, mut param_attrs) = (Vec::new(), Vec::new(), Vec::new());
        self.expect(b'(')?;
        self.list_until(b')', |p| {
            if p.peek().tok == Tok::Percent {
                args.push(p.arg()?);
            } else {
                unnamed.push(p.value_type()?);
            }
            let mut attrs = AttrDict::new();
            p.optional_dict(&mut attrs)?;
            let loc = p.trailing_loc()?;
            p.func.param_names.push(loc.and_then(|loc| loc.param_name()));
            param_attrs.push(attrs);
            Ok(())
        })?;
        if self.peek().tok == Tok::Arrow {
            self.bump();
            self.func_results()?;
        }
        if self.eat_word("attributes") {
            self.func.attrs = self.dict()?;
        }
        if (!unnamed.is_empty() && !args.is_empty()) || !self.at(b'{') {
            self.symbols.declare(&self.func.name, span(at));
            self.trailing_loc()?;
            return Ok(None);
        }
        let written = param_attrs.len();
        let mut func = self.func_body(&args)?;
        func.set_param_attrs(param_attrs);
        if args.is_empty() && written > 0 {
            self.labelled_params(&func, &unnamed);
        }
        Ok(Some(func))
    }

    /// Checks the parameter types of a function whose body names the parameters, in the label `^bb0(%a: t):`.
    /// The types in the parentheses must equal the types in the label.
    fn labelled_params(&mut self, func: &Func, said: &[Type]) {
        let found: Vec<&Type> = func.params().iter().map(|p| &func[*p]).collect();
        if !found.iter().copied().eq(said) {
            let list = |types: &mut dyn Iterator<Item = &Type>| {
                types.map(ToString::to_string).collect::<Vec<_>>().join(", ")
            };
            let message = format!(
                "@{} takes ({}), but the label of its body has ({})",
                func.name,
                list(&mut said.iter()),
                list(&mut found.iter().copied())
            );
            self.report(Diagnostic::new("type-mismatch", func.span, message));
        }
    }

    /// Parses `t`, `t {…}`, or `(t {…}, t)`.
    fn func_results(&mut self) -> Parsed<()> {
        if !self.eat(b'(') {
            let ty = self.value_type()?;
            self.func.add_result(ty, AttrDict::new());
            return Ok(());
        }
        self.list_until(b')', |p| {
            let ty = p.value_type()?;
            let mut attrs = AttrDict::new();
            p.optional_dict(&mut attrs)?;
            p.func.add_result(ty, attrs);
            Ok(())
        })
    }

    fn func_body(&mut self, args: &[Arg<'s>]) -> Parsed<Func> {
        self.region_into(Func::BODY, args)?;
        self.trailing_loc()?;
        Ok(std::mem::replace(&mut self.func, Func::new("", Span::default())))
    }

    /// Parses `() <{function_type = …, sym_name = …}> ({ ^bb0(…): … }) : () -> ()`.
    fn generic_func(&mut self, at: Span) -> Parsed<Func> {
        self.func = Func::new("", at);
        self.scope.clear();
        let mut attrs = AttrDict::new();
        self.literal("()")?;
        self.properties(&mut attrs)?;
        self.expect(b'(')?;
        let mut func = self.func_body(&[])?;
        self.expect(b')')?;
        self.optional_dict(&mut attrs)?;
        self.literal(": () -> ()")?;
        self.trailing_loc()?;
        let Some(name) = self.take_name(&mut attrs, "sym_name") else {
            return self.fail("attribute", at, "func.func: attribute `sym_name` is missing");
        };
        func.name = name;
        func.public = match attrs.remove("sym_visibility") {
            Some(v) => v.as_str().is_none_or(|v| v == "public"),
            None => true,
        };
        let params = match attrs.remove("function_type") {
            Some(Attribute::Type(Type::Function(ty))) => {
                func.set_result_types(ty.results.iter().cloned());
                ty.params.clone()
            }
            _ => return self.fail("attribute", at, "func.func: attribute `function_type` is missing"),
        };
        let found: Vec<Type> = func.params().iter().map(|p| func[*p].clone()).collect();
        if found != params {
            let message = "the arguments of the body have types other than those in `function_type`";
            self.report(Diagnostic::new("type-mismatch", at, message));
        }
        func.set_param_attrs(self.dicts(&mut attrs, "arg_attrs", params.len(), at));
        func.set_result_attrs(self.dicts(&mut attrs, "res_attrs", func.results().len(), at));
        func.attrs = attrs;
        Ok(func)
    }

    /// Removes the attribute `key`, a list of `n` dictionaries, and returns the list. If the attribute is
    /// absent, the dictionaries are empty.
    fn dicts(&mut self, attrs: &mut AttrDict, key: &str, n: usize, at: Span) -> Vec<AttrDict> {
        let items = match attrs.remove(key) {
            None => return vec![AttrDict::new(); n],
            Some(Attribute::Array(items)) => items,
            Some(_) => Vec::new(),
        };
        let dicts: Vec<AttrDict> = items
            .into_iter()
            .filter_map(|a| match a {
                Attribute::Dict(d) => Some(d),
                _ => None,
            })
            .collect();
        if dicts.len() != n {
            let message = format!("func.func: attribute `{key}` must be a list of {n} dictionaries");
            self.report(Diagnostic::new("attribute", at, message));
        }
        dicts
    }

    /// Checks that every called function exists exactly once, and replaces the callees of calls by the
    /// functions' ids in the module.
    fn resolve_symbols(&mut self, module: &mut Module) {
        let mut names = HashSet::new();
        // Maps the parser's id of each function name to the function's id in the module.
        let mut numbers: HashMap<FuncId, FuncId> = HashMap::new();
        for (id, func) in module.func_ids().zip(module.funcs()) {
            numbers.entry(self.symbols.id(&func.name)).or_insert(id);
            if !names.insert(func.name.as_str()) {
                let message = format!("function @{} is already defined", func.name);
                self.report(Diagnostic::new("redefinition", func.span, message));
            }
        }
        // The program has only declarations.
        if module.funcs().is_empty()
            && let Some((name, at)) = self.symbols.first_declared()
        {
            let message = format!("function @{name} has no body");
            self.report(Diagnostic::new("no-body", at, message));
            return;
        }
        let (mut unknown, mut reported) = (false, HashSet::new());
        for (callee, at) in self.symbols.take_uses() {
            if numbers.contains_key(&callee) {
                continue;
            }
            unknown = true;
            if self.is_full() {
                self.diagnostics.count();
                continue;
            }
            if let Some(declared) = self.symbols.declared(callee) {
                if reported.insert(callee) {
                    let message = format!("function @{} has no body", self.symbols.name(callee));
                    self.report(Diagnostic::new("no-body", declared, message));
                }
                continue;
            }
            let callee = self.symbols.name(callee);
            let d = Diagnostic::new("unknown-function", at, format!("there is no function @{callee}"));
            let candidates = names.iter().copied().take(super::MAX_CANDIDATES);
            let near = farcall_sig::nearest::nearest(callee, candidates);
            self.report(hinted(d, &near));
        }
        if !unknown {
            module.renumber_callees(&|id| numbers[&id]);
        }
    }
}

/// Reads the mesh of `#sdy.mesh<["x"=2]>`.
fn mesh_of_attr(attr: &Attribute) -> Option<Mesh> {
    match attr {
        Attribute::Dialect(d) if d.name == "sdy.mesh" => Mesh::read(&d.text),
        _ => None,
    }
}
