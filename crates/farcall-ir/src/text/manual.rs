//! Reads `sdy.manual_computation`: a region that computes on each device's part of its operands. See
//! [`crate::manual`].

use super::lexer::Tok;
use super::parser::{Parsed, Parser, span};
use super::scope::ResultName;
use super::syntax::Draft;
use crate::attr::AttrDict;
use crate::diag::{Diagnostic, Span};
use crate::manual::{self, ManualShardings};
use crate::module::RegionId;

/// Name of the operation.
pub(super) const NAME: &str = "sdy.manual_computation";

impl<'s> Parser<'s> {
    /// Parses the operation after its name.
    ///
    /// ```text
    /// (%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%b: t) {…} : (t) -> t
    /// (%a) <{in_shardings = …, manual_axes = …, out_shardings = …}> ({ ^bb0(%b: t): … }) : (t) -> t
    /// ```
    pub(super) fn manual_computation(
        &mut self,
        at: Span,
        is_generic: bool,
        names: &[ResultName<'s>],
        out: RegionId,
    ) -> Parsed<()> {
        let mut draft;
        let (region, shardings, results);
        if is_generic {
            draft = self.generic(at)?;
            let [only] = draft.regions[..] else {
                return self.fail("parse", at, format!("{NAME} has one region, not {}", draft.regions.len()));
            };
            (region, shardings) = (only, ManualShardings::take(&mut draft.attrs));
            results = draft.results.clone();
        } else {
            draft = Draft { span: at, ..Draft::default() };
            self.expect(b'(')?;
            draft.operands = self.operands()?;
            self.expect(b')')?;
            let mut given = ManualShardings::default();
            for (key, into) in [
                ("in_shardings", &mut given.inputs),
                ("out_shardings", &mut given.outputs),
                ("manual_axes", &mut given.axes),
            ] {
                self.literal(key)?;
                self.expect(b'=')?;
                self.bracketed()?.clone_into(into);
            }
            shardings = given;
            self.expect(b'(')?;
            let mut args = Vec::new();
            self.list_until(b')', |p| {
                args.push(p.arg()?);
                p.trailing_loc().map(drop)
            })?;
            region = self.region(&args)?;
            self.optional_dict(&mut AttrDict::new())?;
            self.expect(b':')?;
            self.function_types(&mut draft)?;
            results = draft.results.clone();
        }
        let loc = self.trailing_loc()?;
        let values = self.define_results(&results, names, at);
        let operands = draft.operands.iter().map(|operand| operand.id).collect();
        let inlined = manual::inline(&mut self.func, out, region, &shardings, (operands, values), (at, loc));
        if let Err(problem) = inlined
            && self.diagnostics.is_empty()
        {
            self.report(Diagnostic::new("operand-count", at, format!("{NAME}: {problem}")));
        }
        Ok(())
    }

    /// Consumes `[…]` or `{…}` with balanced brackets, and returns its text.
    fn bracketed(&mut self) -> Parsed<&'s str> {
        let start = self.peek();
        let mut depth = 0_usize;
        loop {
            let t = self.peek();
            match t.tok {
                Tok::Punct(b'[' | b'{') => depth += 1,
                Tok::Punct(b']' | b'}') => depth = depth.saturating_sub(1),
                Tok::Eof => return self.expected("a bracket that closes a list"),
                _ if depth == 0 => return self.fail("parse", span(t), "expected a list"),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(self.slice(start.start, t.end));
            }
        }
    }
}
