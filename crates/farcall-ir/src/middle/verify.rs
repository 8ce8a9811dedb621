//! Checks that a module is in the middle form.

use crate::diag::{Diagnostic, Diagnostics, ProgramError};
use crate::module::{Func, Inst, Module, Region, ValueDef, ValueId};
use crate::op::Traits;
use crate::types::Type;
use crate::verify::{require_static, verify_either};

/// Checks that a module is valid and in the middle form.
///
/// # Errors
/// The errors of [`crate::verify::verify`] and [`Verified::into_static`](crate::verify::Verified), and
/// violations of the middle form: `form-functions`, `form-operation`, `form-value`, `form-capture`,
/// `form-open-region`.
pub fn verify(module: &Module) -> Result<(), ProgramError> {
    verify_either(module, true)?;
    require_static(module)?;
    let mut diagnostics = Diagnostics::default();
    match module.funcs() {
        [func] => {
            let mut check = Check { func, diagnostics: &mut diagnostics };
            check.region(func.body());
        }
        funcs => {
            let message = format!("the middle form is one function, found {}", funcs.len());
            diagnostics.push(Diagnostic::global("form-functions", message));
        }
    }
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics.into_error(&module.source)) }
}

struct Check<'a> {
    func: &'a Func,
    diagnostics: &'a mut Diagnostics,
}

impl Check<'_> {
    fn fail(&mut self, code: &'static str, inst: Inst<'_>, message: String) {
        self.diagnostics.push(Diagnostic::new(code, inst.span(), message));
    }

    fn region(&mut self, region: Region<'_>) {
        for inst in region.insts() {
            self.inst(inst, region);
            inst.regions().for_each(|r| self.region(r));
        }
    }

    fn inst(&mut self, inst: Inst<'_>, region: Region<'_>) {
        let name = inst.op().name();
        if inst.op().info().is(Traits::STRUCTURE) {
            self.fail("form-operation", inst, format!("{name} is not an operation of the middle form"));
        }
        for (i, value) in inst.operands().iter().enumerate() {
            if !is_defined_in(self.func, *value, region) {
                let message = format!(
                    "operand {i} of {name} is defined outside of the region, but the region does not capture it"
                );
                self.fail("form-open-region", inst, message);
            }
        }
        for value in inst.results() {
            let ty = self.func.ty(*value);
            if !matches!(ty, Type::Tensor(t) if t.is_static()) {
                self.fail("form-value", inst, format!("{name} returns {ty}, not a tensor of static shape"));
            }
        }
        for region in inst.regions() {
            let args = region.captured_args().iter().map(|v| self.func.ty(*v));
            if !args.eq(inst.captures().iter().map(|v| self.func.ty(*v))) {
                let message = format!("the last arguments of a region of {name} do not match its captures");
                self.fail("form-capture", inst, message);
            }
        }
        if inst.region_ids().is_empty() && !inst.captures().is_empty() {
            self.fail("form-capture", inst, format!("{name} has no region that could capture anything"));
        }
    }
}

fn is_defined_in(func: &Func, value: ValueId, region: Region<'_>) -> bool {
    match func.def(value) {
        ValueDef::Result(inst, _) => {
            func.inst(inst).parent().is_some_and(|parent| parent.id() == region.id())
        }
        ValueDef::Arg(of, _) => of == region.id(),
        ValueDef::Nowhere => false,
    }
}
