//! Parses regions: a block of instructions in braces.

use super::lexer::Tok;
use super::parser::{Parsed, Parser, span};
use crate::diag::{Diagnostic, Span};
use crate::module::{Func, RegionId};
use crate::types::Type;

/// An argument of a region: name, type and position.
#[derive(Clone)]
pub(super) struct Arg<'s> {
    pub(super) name: &'s str,
    pub(super) ty: Type,
    pub(super) span: Span,
}

impl<'s> Parser<'s> {
    /// Parses `{ … }`. If `args` is empty, the block may begin with a label that declares the arguments:
    /// `^bb0(%a: t):`.
    pub(super) fn region(&mut self, args: &[Arg<'s>]) -> Parsed<RegionId> {
        let region = self.func.new_region();
        self.region_into(region, args)?;
        Ok(region)
    }

    /// Parses `{ … }` into an empty region; see [`Parser::region`].
    pub(super) fn region_into(&mut self, region: RegionId, args: &[Arg<'s>]) -> Parsed<()> {
        // A region counts as two levels: code that walks regions later needs more stack per region than the
        // parser needs per bracket.
        self.enter()?;
        self.enter()?;
        let mark = self.scope.open();
        self.expect(b'{')?;
        self.define_args(region, args);
        let t = self.peek();
        if t.tok == Tok::Caret {
            if !args.is_empty() {
                let message =
                    "the arguments of this region have their names already; a label cannot name them again";
                return self.fail("parse", span(t), message);
            }
            self.block_label(region)?;
        }
        self.block(region)?;
        self.scope.close(mark);
        self.leave();
        self.leave();
        Ok(())
    }

    /// Adds arguments to a region and binds them to their names.
    fn define_args(&mut self, region: RegionId, args: &[Arg<'s>]) {
        for arg in args {
            let id = self.func.add_arg(region, arg.ty.clone());
            self.define(arg.name, arg.span, &[id]);
        }
    }

    /// Parses `^bb0(%a: t loc(…), %b: t):`.
    fn block_label(&mut self, region: RegionId) -> Parsed<()> {
        self.bump();
        let (mut args, mut names) = (Vec::new(), Vec::new());
        if self.eat(b'(') {
            self.list_until(b')', |p| {
                let arg = p.arg()?;
                let loc = p.trailing_loc()?;
                names.push(loc.and_then(|loc| loc.param_name()));
                args.push(arg);
                Ok(())
            })?;
        }
        self.expect(b':')?;
        self.define_args(region, &args);
        if region == Func::BODY {
            self.func.param_names = names;
        }
        Ok(())
    }

    /// Parses `%a: t`.
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

    /// Parses instructions up to and including `}`.
    pub(super) fn block(&mut self, region: RegionId) -> Parsed<()> {
        loop {
            let t = self.peek();
            match t.tok {
                Tok::Punct(b'}') => {
                    self.bump();
                    let returns = self.func.region(region).terminator().is_some();
                    // The return may be among the instructions that were skipped after an error.
                    if !returns && self.diagnostics.is_empty() {
                        let message = "this region does not end with a return";
                        self.report(Diagnostic::new("terminator", span(t), message));
                    }
                    return Ok(());
                }
                Tok::Caret => {
                    return self.fail("parse", span(t), "a region has one block; branches are not supported");
                }
                Tok::Hash | Tok::Eof => return self.expected("an operation or `}`"),
                _ => self.inst(region)?,
            }
        }
    }
}
