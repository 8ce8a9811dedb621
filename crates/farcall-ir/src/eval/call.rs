//! Custom calls, which the host runs.

use super::machine::Machine;
use super::{EvalError, EvalValue, HostCall, check_values};
use crate::module::Inst;
use crate::op::CustomCall;

/// `custom_call`
pub(super) fn custom_call(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    call: &CustomCall,
) -> Result<Vec<EvalValue>, EvalError> {
    let site = HostCall { call, inst, func: m.func, module: m.module };
    let name = format!("@{}: ", call.target);
    let values = m.host.custom_call(&site, xs).map_err(|error| EvalError::host(&name, error))?;
    check_values("result", m.func, inst.results(), &values)
        .map_err(|message| EvalError::new(name + &message))?;
    Ok(values)
}
