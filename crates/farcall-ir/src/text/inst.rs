//! Parses instructions: the generic form, and the pretty forms of the syntax table.
//!
//! Both forms fill in a [`Draft`], from which one function creates the instruction. An operation that is not
//! in the table is reported, and parsing continues after it.

use super::lexer::{Tok, next_token};
use super::manual;
use super::mesh;
use super::other_dialects::{self, Foreign, Implied};
use super::parser::{Parsed, Parser, hinted, span};
use super::scope::ResultName;
use super::syntax::{CAPTURES, Directive, Draft, Syntax, Types};
use super::table;
use super::types::is_value_type;
use crate::attr::{AttrDict, Attribute, IntKind};
use crate::attributes::{self, Fields};
use crate::diag::{Diagnostic, Span};
use crate::module::{NewInst, RegionId, ValueId, ValueIds};
use crate::op::{CustomCall, Op};
use crate::types::{Type, TypeList};
use farcall_sig::DType;
use smallvec::smallvec;

/// Operations that compute on one device's part of a distributed tensor.
const PER_DEVICE: [&str; 6] = [
    "sdy.all_gather",
    "sdy.all_slice",
    "sdy.all_to_all",
    "sdy.all_reduce",
    "sdy.reduce_scatter",
    "sdy.collective_permute",
];

/// The operation that a name refers to.
enum KnownOp {
    /// An operation of StableHLO, or its equivalent in MHLO.
    Syntax(&'static Syntax, Implied),
    /// An operation of another dialect.
    Foreign(Foreign),
}

impl KnownOp {
    fn of(name: &str) -> Option<KnownOp> {
        let name = if name == "sdy.return" { "stablehlo.return" } else { name };
        let own = table::lookup(name).map(|syntax| KnownOp::Syntax(syntax, None));
        own.or_else(|| other_dialects::mhlo(name).map(|(syntax, implied)| KnownOp::Syntax(syntax, implied)))
            .or_else(|| other_dialects::lookup(name).map(KnownOp::Foreign))
    }
}

impl<'s> Parser<'s> {
    /// Parses one instruction, including its location.
    pub(super) fn inst(&mut self, out: RegionId) -> Parsed<()> {
        let names = self.result_names()?;
        let t = self.peek();
        match t.tok {
            Tok::Str => {
                let name = self.string()?;
                if name == manual::NAME {
                    return self.manual_computation(span(t), true, &names, out);
                }
                match KnownOp::of(&name) {
                    Some(KnownOp::Syntax(syntax, implied)) => {
                        let mut draft = self.generic(span(t))?;
                        self.imply(implied, &mut draft);
                        self.finish(syntax, draft, &names, out)
                    }
                    Some(KnownOp::Foreign(op)) => self.foreign(op, t, &names, out),
                    None => {
                        self.unknown_op(&name, span(t));
                        let draft = self.generic(span(t))?;
                        self.trailing_loc()?;
                        self.define_results(&draft.results, &names, draft.span);
                        Ok(())
                    }
                }
            }
            Tok::Word => {
                self.bump();
                let name = match self.str_of(t) {
                    "return" | "std.return" => "func.return",
                    "sdy.return" => "stablehlo.return",
                    "call" | "std.call" => "func.call",
                    manual::NAME => return self.manual_computation(span(t), false, &names, out),
                    other => other,
                };
                match KnownOp::of(name) {
                    Some(KnownOp::Syntax(syntax, implied)) => {
                        let mut draft = Draft { span: span(t), ..Draft::default() };
                        if syntax.form.is_empty() {
                            return self.only_generic(syntax, t);
                        }
                        if name.starts_with("check.") && self.at(b'(') {
                            self.check_in_parentheses(&mut draft)?;
                        } else if syntax.takes_operands_first() && other_dialects::is_in_parentheses(self) {
                            draft = self.generic(span(t))?;
                        } else {
                            self.directives(syntax.form, &mut draft)?;
                        }
                        self.imply(implied, &mut draft);
                        self.finish(syntax, draft, &names, out)
                    }
                    Some(KnownOp::Foreign(op)) => self.foreign(op, t, &names, out),
                    None => {
                        self.unknown_op(name, span(t));
                        self.skip_inst();
                        for name in names {
                            self.define(name.name, name.span, &[]);
                        }
                        Ok(())
                    }
                }
            }
            _ => self.expected("an operation"),
        }
    }

    /// Adds the attribute that the operation's name implies.
    fn imply(&mut self, implied: Implied, draft: &mut Draft) {
        if let Some((key, word)) = implied {
            self.insert(&mut draft.attrs, key.to_owned(), Attribute::string(word), draft.span);
        }
    }

    fn only_generic(&mut self, syntax: &Syntax, t: super::lexer::Token) -> Parsed<()> {
        let message = format!("{} must be written in the generic form", syntax.name);
        self.stop(Diagnostic::new("parse", span(t), message).note(format!("\"{}\"(…) …", syntax.name)))
    }

    fn unknown_op(&mut self, name: &str, at: Span) {
        if self.is_full() {
            return;
        }
        if PER_DEVICE.contains(&name) {
            let d = Diagnostic::new("unsupported", at, format!("{name} is not supported"));
            self.report(d.note("a computation on each device's part of a tensor needs several devices"));
            return;
        }
        let near = farcall_sig::nearest::nearest(name, table::names());
        let mut d = hinted(Diagnostic::new("unknown-op", at, format!("unknown operation {name}")), &near);
        if near.is_empty() && !name.contains('.') {
            d = d.note("an operation's name begins with its dialect, for example `stablehlo.add`");
        }
        self.report(d);
    }

    /// Skips an unknown operation in a pretty form: continues at a line that looks like an instruction, or at
    /// the bracket that closes the region.
    fn skip_inst(&mut self) {
        let mut depth = 0u32;
        loop {
            let t = self.peek();
            let new_line = self.slice(self.pos(), t.start).contains('\n');
            let begins = match t.tok {
                Tok::Percent | Tok::Str => true,
                Tok::Word => {
                    let word = self.str_of(t);
                    word.contains('.') || matches!(word, "return" | "call")
                }
                _ => false,
            };
            if depth == 0 && new_line && begins {
                return;
            }
            match t.tok {
                Tok::Eof => return,
                Tok::Punct(b'(' | b'[' | b'{') => depth += 1,
                Tok::Punct(b')' | b']' | b'}') => match depth.checked_sub(1) {
                    Some(d) => depth = d,
                    None => return,
                },
                _ => {}
            }
            self.bump();
        }
    }

    /// Parses `(%a, %b) <{…}> ({…}, {…}) {…} : (t, t) -> t`, after the name.
    pub(super) fn generic(&mut self, at: Span) -> Parsed<Draft> {
        let mut draft = Draft { span: at, ..Draft::default() };
        self.expect(b'(')?;
        draft.operands = self.operands()?;
        self.expect(b')')?;
        if self.at(b'[') {
            let t = self.peek();
            return self.fail("parse", span(t), "successors are not supported: regions have one block");
        }
        if self.eat(b'<') {
            self.optional_dict(&mut draft.attrs)?;
            self.expect(b'>')?;
        }
        if self.eat(b'(') {
            self.generic_regions(&mut draft.regions)?;
        }
        self.optional_dict(&mut draft.attrs)?;
        self.expect(b':')?;
        self.function_types(&mut draft)?;
        Ok(draft)
    }

    fn generic_regions(&mut self, out: &mut Vec<RegionId>) -> Parsed<()> {
        loop {
            out.push(self.region(&[])?);
            if !self.eat(b',') {
                self.expect(b')')?;
                return Ok(());
            }
        }
    }

    // --- pretty forms

    pub(super) fn directives(&mut self, directives: &[Directive], draft: &mut Draft) -> Parsed<()> {
        for directive in directives {
            match directive {
                Directive::Hook(hook) => (hook.parse)(self, draft)?,
                Directive::Types(types) => self.types(*types, draft)?,
                Directive::Optional(directives) => {
                    let present = match directives.first() {
                        Some(Directive::Lit(lit)) => self.at_literal(lit),
                        _ => false,
                    };
                    if present {
                        self.directives(directives, draft)?;
                    }
                }
                simple => self.simple_directive(simple, draft)?,
            }
        }
        Ok(())
    }

    fn simple_directive(&mut self, directive: &Directive, draft: &mut Draft) -> Parsed<()> {
        let t = self.peek();
        let (key, value) = match directive {
            Directive::Lit(lit) => return self.literal(lit),
            Directive::Operand => {
                let operand = self.operand()?;
                draft.operands.push(operand);
                return Ok(());
            }
            Directive::Operands => {
                if self.at_literal("()") {
                    return self.literal("()");
                }
                // The operation has no operands: the name is a result of the next instruction.
                if t.tok == Tok::Percent && next_token(self.bytes(), t.end).tok == Tok::Punct(b'=') {
                    return Ok(());
                }
                let operands = self.operands()?;
                draft.operands.extend(operands);
                return Ok(());
            }
            Directive::Dict | Directive::PrefixDict => return self.optional_dict(&mut draft.attrs),
            Directive::Ints(key) => {
                // Older programs have a constant here.
                let value =
                    if self.at(b'[') { Attribute::i64_array(&self.integers()?) } else { self.attr()? };
                (key, value)
            }
            Directive::Int(key, dtype) => {
                let v = self.integer64()?;
                (key, Attribute::Int(i128::from(v), IntKind::Typed(*dtype)))
            }
            Directive::Flag(key) => {
                let word = self.word("`true` or `false`")?;
                match self.str_of(word) {
                    "true" => (key, Attribute::Bool(true)),
                    "false" => (key, Attribute::Bool(false)),
                    _ => return self.fail("parse", span(word), "expected `true` or `false`"),
                }
            }
            Directive::Float(key) => (key, Attribute::float(self.bare_float()?, DType::F64)),
            Directive::Keyword(key, kind) => {
                let word = self.word("a keyword")?;
                (key, Attribute::dialect(&format!("stablehlo.{kind}"), self.str_of(word)))
            }
            Directive::Symbol(key) => (key, Attribute::Symbol(self.symbol()?.into())),
            Directive::Target(key) => (key, Attribute::string(self.symbol()?)),
            Directive::Text(key) => (key, Attribute::String(self.string_bytes()?.into())),
            Directive::Value(key) => (key, self.attr()?),
            Directive::Optional(_) | Directive::Types(_) | Directive::Hook(_) => return Ok(()),
        };
        self.insert(&mut draft.attrs, (*key).to_owned(), value, span(t));
        Ok(())
    }

    fn types(&mut self, types: Types, draft: &mut Draft) -> Parsed<()> {
        match types {
            // Without operands, these forms omit the colon.
            Types::Pairs | Types::Operands if draft.operands.is_empty() && !self.at(b':') => return Ok(()),
            _ => self.expect(b':')?,
        };
        let function = self.at(b'(');
        match types {
            Types::Function | Types::Same | Types::Select | Types::Complex if function => {
                return self.function_types(draft);
            }
            // Some versions write a single type if all operands and the result have that type. Accept this
            // form as well.
            Types::Function | Types::Same => {
                let ty = self.value_type()?;
                self.all_operands_are(draft, &ty);
                draft.results.push(ty);
            }
            Types::SameOperands => {
                let ty = self.value_type()?;
                self.all_operands_are(draft, &ty);
            }
            Types::Result => {
                let ty = self.value_type()?;
                draft.results.push(ty);
            }
            Types::Pairs => {
                let types = self.type_list()?;
                self.operands_are(draft, &types);
                draft.results = types;
            }
            Types::Operands => {
                let types = self.type_list()?;
                self.operands_are(draft, &types);
            }
            Types::Bare => self.bare_types(draft)?,
            Types::Select => {
                let pred = self.value_type()?;
                self.expect(b',')?;
                let ty = self.value_type()?;
                self.operands_are(draft, &[pred, ty.clone(), ty.clone()]);
                draft.results.push(ty);
            }
            Types::Complex => {
                let ty = self.value_type()?;
                if let Type::Tensor(t) = &ty {
                    let part = Type::Tensor(t.with_dtype(t.dtype.real()).with_quant(t.quant.clone()));
                    self.all_operands_are(draft, &part);
                }
                draft.results.push(ty);
            }
            Types::Tuple => {
                let ty = self.value_type()?;
                if let Type::Tuple(parts) = &ty {
                    let parts = parts.clone();
                    self.operands_are(draft, &parts);
                }
                draft.results.push(ty);
            }
        }
        Ok(())
    }

    /// Parses `t, t -> t` or `t -> (t, t)`.
    fn bare_types(&mut self, draft: &mut Draft) -> Parsed<()> {
        let params = self.type_list()?;
        // MHLO writes one type for the operands and the result.
        if self.peek().tok != Tok::Arrow {
            self.all_operands_are(draft, &params[0]);
            draft.results.push(params[0].clone());
            return Ok(());
        }
        self.arrow()?;
        self.operands_are(draft, &params);
        if self.eat(b'(') {
            let results = &mut draft.results;
            self.list_until(b')', |p| {
                results.push(p.value_type()?);
                Ok(())
            })?;
        } else {
            let ty = self.value_type()?;
            draft.results.push(ty);
        }
        Ok(())
    }

    /// Parses `t, t`.
    pub(super) fn type_list(&mut self) -> Parsed<TypeList> {
        let mut out: TypeList = smallvec![self.value_type()?];
        while self.eat(b',') {
            out.push(self.value_type()?);
        }
        Ok(out)
    }

    /// Parses `(t, t) -> t`.
    pub(super) fn function_types(&mut self, draft: &mut Draft) -> Parsed<()> {
        let at = self.peek();
        let [params, results] = self.function_type_lists()?;
        self.operands_are(draft, &params);
        for ty in &results {
            if !is_value_type(ty) {
                let at = Span::new(at.start, self.pos());
                return self.fail(
                    "type",
                    at,
                    format!("a value must be a tensor, a token or a tuple, not of type {ty}"),
                );
            }
        }
        draft.results = results;
        Ok(())
    }

    /// Checks the operands against the types in the text.
    pub(super) fn operands_are(&mut self, draft: &Draft, types: &[Type]) {
        if draft.operands.len() != types.len() {
            let message =
                format!("{}, but {}", count(draft.operands.len(), "operand"), count(types.len(), "type"));
            self.report(Diagnostic::new("type-mismatch", draft.span, message));
        }
        for (operand, ty) in draft.operands.iter().zip(types) {
            self.check_type(*operand, ty);
        }
    }

    fn all_operands_are(&mut self, draft: &Draft, ty: &Type) {
        for operand in &draft.operands {
            self.check_type(*operand, ty);
        }
    }

    // --- from draft to instruction

    /// Creates the instruction, defines its results, and parses its location.
    fn finish(
        &mut self,
        syntax: &'static Syntax,
        mut draft: Draft,
        names: &[ResultName<'s>],
        out: RegionId,
    ) -> Parsed<()> {
        if self.func.region(out).terminator().is_some() {
            self.report(Diagnostic::new(
                "terminator",
                draft.span,
                "nothing can follow the return of a region",
            ));
        }
        let op = self.op_of(syntax, &mut draft);
        let results = self.define_results(&draft.results, names, draft.span);
        let loc = self.trailing_loc()?;
        // `None` means that an error has been reported: the module will not be used.
        if let Some(op) = op {
            self.symbols.note_uses(op.callees(), draft.span);
            let operands: ValueIds = draft.operands.iter().map(|o| o.id).collect();
            let Draft { span, mut attrs, regions, .. } = draft;
            let captures = self.captures(&mut attrs, &operands, &regions, span);
            let inst = NewInst { op, operands, regions, captures, attrs, span, loc };
            self.func.push_defining(out, inst, results);
        }
        Ok(())
    }

    /// Returns the number of trailing operands that the regions capture, which the middle form states in an
    /// attribute.
    fn captures(
        &mut self,
        attrs: &mut AttrDict,
        operands: &[ValueId],
        regions: &[RegionId],
        at: Span,
    ) -> u32 {
        let Some(attr) = attrs.remove(CAPTURES) else { return 0 };
        let count = attr.as_i64().and_then(|n| usize::try_from(n).ok());
        let args = regions.iter().map(|r| self.func.region(*r).args().len()).min().unwrap_or(0);
        match count.filter(|n| *n <= operands.len() && *n <= args).map(u32::try_from) {
            Some(Ok(count)) => count,
            _ => {
                let message = format!(
                    "attribute `{CAPTURES}` is at most the number of operands ({}) and of arguments of each \
                     region ({args}), not {attr}",
                    operands.len()
                );
                self.report(Diagnostic::new("attribute", at, message));
                0
            }
        }
    }

    /// Converts a draft's attributes, which are removed from the draft, to an operation.
    pub(super) fn op_of(&mut self, syntax: &'static Syntax, draft: &mut Draft) -> Option<Op> {
        if std::ptr::eq(syntax, &table::MHLO_TOP_K)
            && draft.attrs.remove("largest").is_some_and(|largest| largest == Attribute::Bool(false))
        {
            // `largest = false` selects the smallest elements. Only the custom call that XLA makes of the
            // operation can express that.
            let said = draft.attrs.remove("k").map(|k| ("k".to_owned(), k));
            let said = said.into_iter().chain([("largest".to_owned(), Attribute::Bool(false))]).collect();
            draft.attrs.insert("mhlo.attributes".to_owned(), Attribute::Dict(said));
            return Some(Op::CustomCall(Box::new(CustomCall::new("mhlo.topk"))));
        }
        if let Some(call) = syntax.call() {
            return Some(Op::CustomCall(Box::new(call)));
        }
        if let Err(message) = mesh::resolve(&mut draft.attrs, |name| self.meshes.get(name).cloned()) {
            let message = format!("{}: {message}", syntax.name);
            self.report(Diagnostic::new("attribute", draft.span, message));
            return None;
        }
        let operand = |i: usize| draft.operands.get(i).and_then(|o| self.func.tensor(o.id));
        let parse = |text: &str| text.parse().ok();
        let mut fields =
            Fields { attrs: &mut draft.attrs, operand: &operand, symbols: &mut self.symbols, parse: &parse };
        match attributes::read(syntax.name, &mut fields)? {
            Ok(op) => Some(op),
            Err(message) => {
                let message = format!("{}: {message}", syntax.name);
                self.report(Diagnostic::new("attribute", draft.span, message));
                None
            }
        }
    }

    /// Creates values for an operation's results and binds them to their names.
    pub(super) fn define_results(&mut self, types: &[Type], names: &[ResultName<'s>], at: Span) -> ValueIds {
        let mut values = ValueIds::new();
        types.iter().for_each(|ty| values.push(self.func.new_value(ty.clone())));
        let named: usize = names.iter().fold(0, |n, name| n.saturating_add(name.count));
        // The results of an operation may be unnamed.
        if named != values.len() && !names.is_empty() {
            let place = names.iter().fold(names[0].span, |s, n| s.to(n.span));
            let message = format!("{} for {}", count(named, "name"), count(values.len(), "result"));
            self.report(Diagnostic::new("result-count", place.to(at), message));
            for name in names {
                self.define(name.name, name.span, &[]);
            }
            return values;
        }
        let mut rest = values.as_slice();
        for name in names {
            let (mine, others) = rest.split_at(name.count);
            self.define(name.name, name.span, mine);
            rest = others;
        }
        values
    }
}

/// Formats `1 operand`, `2 operands`.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
