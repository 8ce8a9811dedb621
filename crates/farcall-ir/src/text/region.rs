//! Regions: a block of instructions in braces.

use super::lexer::Tok;
use super::parser::{Parsed, Parser, span};
use crate::diag::{Diagnostic, Span};
use crate::module::{Region, ValueId};
use crate::op::Op;
use crate::types::Type;

/// An argument of a region: its name, type and place.
#[derive(Clone)]
pub(super) struct Arg<'s> {
    pub(super) name: &'s str,
    pub(super) ty: Type,
    pub(super) span: Span,
}

impl<'s> Parser<'s> {
    /// `{ … }`. Without `args`, the block may begin with a label that names its own:
    /// `^bb0(%a: t):`.
    pub(super) fn region(&mut self, args: &[Arg<'s>]) -> Parsed<Region> {
        // Twice: everything that walks regions later needs more stack for one than a bracket needs here.
        self.enter()?;
        self.enter()?;
        let mark = self.scope.open();
        self.expect(b'{')?;
        let mut region = Region { args: self.define_args(args), insts: Vec::new() };
        let t = self.peek();
        if t.tok == Tok::Caret {
            if !args.is_empty() {
                let message =
                    "the arguments of this region have their names already; a label cannot name them again";
                return self.fail("parse", span(t), message);
            }
            region.args = self.block_label()?;
        }
        self.block(&mut region)?;
        self.scope.close(mark);
        self.leave();
        self.leave();
        Ok(region)
    }

    /// New values for arguments, bound to their names.
    pub(super) fn define_args(&mut self, args: &[Arg<'s>]) -> Vec<ValueId> {
        args.iter()
            .map(|arg| {
                let id = self.func.new_value(arg.ty.clone());
                self.define(arg.name, arg.span, &[id]);
                id
            })
            .collect()
    }

    /// `^bb0(%a: t loc(…), %b: t):`
    fn block_label(&mut self) -> Parsed<Vec<ValueId>> {
        self.bump();
        let mut args = Vec::new();
        if self.eat(b'(') {
            self.list_until(b')', |p| {
                let arg = p.arg()?;
                p.trailing_loc()?;
                args.push(arg);
                Ok(())
            })?;
        }
        self.expect(b':')?;
        Ok(self.define_args(&args))
    }

    /// `%a: t`
    pub(super) fn arg(&mut self) -> Parsed<Arg<'s>> {
        let t = self.peek();
        if t.tok != Tok::Percent {
            return self.expected("an argument such as `%arg0`");
        }
        self.bump();
        self.expect(b':')?;
        let ty = self.value_type()?;
        Ok(Arg { name: self.str_of(t), ty, span: span(t) })
    }

    /// Instructions up to `}`, which is taken.
    pub(super) fn block(&mut self, region: &mut Region) -> Parsed<()> {
        loop {
            let t = self.peek();
            match t.tok {
                Tok::Punct(b'}') => {
                    self.bump();
                    let returns = region.insts.last().is_some_and(|i| i.op == Op::Return);
                    // An instruction that was not understood may have been the return.
                    if !returns && self.diagnostics.is_empty() {
                        let message = "a region ends with a return, but this one does not";
                        self.report(Diagnostic::new("terminator", span(t), message));
                    }
                    return Ok(());
                }
                Tok::Caret => {
                    return self.fail("parse", span(t), "a region has one block; branches are not supported");
                }
                Tok::Hash | Tok::Eof => return self.expected("an operation or `}`"),
                _ => self.inst(&mut region.insts)?,
            }
        }
    }
}
