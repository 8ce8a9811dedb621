//! Single operations: a name and attributes, without operands, results or regions.

use super::lexer::Tok;
use super::parser::{Parsed, Parser, span};
use super::scope::Operand;
use super::syntax::Draft;
use super::table;
use crate::attr::Dict;
use crate::attributes;
use crate::diag::{Diagnostic, Source};
use crate::module::Module;
use crate::op::Op;
use crate::types::Type;

pub(super) fn print(op: &Op) -> String {
    let attrs = attributes::write(op, &Module::new(Source::none()));
    if attrs.is_empty() { op.name().to_owned() } else { format!("{} {}", op.name(), Dict(&attrs)) }
}

impl Parser<'_> {
    /// Parses `stablehlo.iota {iota_dimension = 0 : i64}`.
    pub(super) fn lone_op(&mut self, operands: &[Type]) -> Parsed<Op> {
        let t = self.peek();
        if t.tok != Tok::Word {
            return self.expected("an operation");
        }
        self.bump();
        let (name, at) = (self.str_of(t), span(t));
        let Some(syntax) = table::lookup(name) else {
            return self.fail("unknown-op", at, format!("unknown operation {name}"));
        };
        let values: Vec<_> = operands.iter().map(|ty| self.func.new_value(ty.clone())).collect();
        let operands = values.into_iter().map(|id| Operand { id, known: true, span: at }).collect();
        let mut draft = Draft { span: at, operands, ..Draft::default() };
        self.optional_dict(&mut draft.attrs)?;
        // `op_of` has reported errors in the attributes.
        let op = self.op_of(syntax, &mut draft);
        if let Some(name) = draft.attrs.keys().next().filter(|_| op.is_some()) {
            return self.fail("attribute", at, format!("{} has no attribute `{name}`", syntax.name));
        }
        match op {
            Some(op) if op.callees().is_empty() => Ok(op),
            Some(op) => self.fail("attribute", at, format!("{} mentions a function", op.name())),
            None => self.stop(Diagnostic::new(
                "unknown-op",
                at,
                format!("{} is not an operation on its own", syntax.name),
            )),
        }
    }
}
