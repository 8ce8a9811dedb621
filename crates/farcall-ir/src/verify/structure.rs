//! Checks the structure of functions: values and their definitions, types of values, returns, attributes.

use crate::diag::{Diagnostic, Span};
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::Op;
use crate::types::{TensorType, Type};
use crate::verify::quantization;

/// Checks the structure of a function. If there are errors, the types of values are unreliable, and the
/// instructions are not checked further.
pub(super) fn check(func: &Func) -> Vec<Diagnostic> {
    let mut walk = Walk { func, state: vec![State::Absent; func.value_count()], diagnostics: Vec::new() };
    walk.function();
    walk.diagnostics
}

/// State of a value at the current position of the walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not defined yet.
    Absent,
    /// Defined, and in scope.
    Visible,
    /// Defined in a region that has ended.
    Hidden,
}

struct Walk<'a> {
    func: &'a Func,
    state: Vec<State>,
    diagnostics: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn fail(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(code, span, message));
    }

    fn function(&mut self) {
        let func = self.func;
        let name = &func.name;
        for ty in func.results() {
            self.ty(ty, func.span);
        }
        self.region(func.body(), func.span, true);
        let Some(last) = func.body().terminator() else { return };
        let found = last.operands();
        if found.len() != func.results().len() {
            let message = format!("@{name} returns {} values, found {}", func.results().len(), found.len());
            self.fail("return-arity", last.span(), message);
            return;
        }
        for (i, (value, expected)) in found.iter().zip(func.results()).enumerate() {
            if value.index() < func.value_count() && func.ty(*value) != expected {
                let message = format!("result {i} of @{name} is {expected}, found {}", func.ty(*value));
                self.fail("return-type", last.span(), message);
            }
        }
    }

    /// Checks a region. `span` is the position of the function or instruction that owns the region.
    fn region(&mut self, region: Region<'_>, span: Span, body: bool) {
        for arg in region.args() {
            self.define(*arg, span);
        }
        for inst in region.insts() {
            self.inst(inst);
            if *inst.op() == Op::Return && inst.next().is_some() {
                self.fail(
                    "early-terminator",
                    inst.span(),
                    "a return must be the last instruction of its region",
                );
            }
        }
        // The operation's own checks report a missing return in a nested region.
        if body && region.terminator().is_none() {
            let message = format!("@{} must end with a return", self.func.name);
            self.fail("missing-terminator", span, message);
        }
        let results = region.insts().flat_map(|i| i.results());
        for value in region.args().iter().chain(results) {
            if let Some(state) = self.state.get_mut(value.index()) {
                *state = State::Hidden;
            }
        }
    }

    fn inst(&mut self, inst: Inst<'_>) {
        for (i, value) in inst.operands().iter().enumerate() {
            let message = match self.state.get(value.index()) {
                Some(State::Visible) => continue,
                Some(State::Absent) => format!("operand {i} is used before it is defined"),
                Some(State::Hidden) => format!("operand {i} is used outside of the region that defines it"),
                None => {
                    let message = format!("operand {i} is not a value of @{}", self.func.name);
                    self.fail("unknown-value", inst.span(), message);
                    continue;
                }
            };
            self.fail("undefined-value", inst.span(), message);
        }
        for nested in inst.regions() {
            self.region(nested, inst.span(), false);
        }
        for result in inst.results() {
            self.define(*result, inst.span());
        }
    }

    fn define(&mut self, value: ValueId, span: Span) {
        match self.state.get(value.index()) {
            Some(State::Absent) => {}
            Some(_) => self.fail("redefinition", span, "a value is defined a second time"),
            None => {
                let message = format!("a result is not a value of @{}", self.func.name);
                self.fail("unknown-value", span, message);
                return;
            }
        }
        self.state[value.index()] = State::Visible;
        let func = self.func;
        self.ty(func.ty(value), span);
    }

    fn ty(&mut self, ty: &Type, span: Span) {
        match ty {
            Type::Tensor(t) => self.tensor(t, span),
            Type::Token => {}
            Type::Tuple(parts) | Type::Future(parts) => parts.iter().for_each(|p| self.ty(p, span)),
            Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => {
                self.fail(
                    "value-type",
                    span,
                    format!("a value must be a tensor, a token or a tuple, found {ty}"),
                );
            }
        }
    }

    fn tensor(&mut self, ty: &TensorType, span: Span) {
        if let Some((code, message)) = quantization::invalid(ty) {
            self.fail(code, span, message);
        }
    }
}
