//! Transfers: values that enter and leave the program while it runs, exchanged with the host.

use super::machine::Machine;
use super::{EvalError, EvalValue, collective};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::Transfer;
use crate::types::{TensorType, Type};

pub(super) fn transfer(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    transfer: &Transfer,
) -> Result<Vec<EvalValue>, EvalError> {
    let values = || -> Vec<Literal> { xs.iter().filter_map(EvalValue::tensor).cloned().collect() };
    let types: Vec<TensorType> = inst.results().iter().filter_map(|r| m.func.tensor(*r).cloned()).collect();
    if let Transfer::Send(end) | Transfer::Recv(end) = transfer
        && !end.is_host
    {
        return Err(collective::several(end.participants()));
    }
    let received = match transfer {
        Transfer::Infeed { config, .. } => m.host.infeed(config, &types),
        Transfer::Outfeed { config } => m.host.outfeed(config, values()).map(|()| Vec::new()),
        Transfer::Send(end) => m.host.send(end.channel.handle, values()).map(|()| Vec::new()),
        Transfer::Recv(end) => m.host.recv(end.channel.handle, &types),
    };
    let received = received.map_err(|error| EvalError::host("", error))?;
    // The middle form has no tokens.
    let token = inst.results().iter().any(|r| *m.func.ty(*r) == Type::Token).then_some(EvalValue::Token);
    Ok(received.into_iter().map(EvalValue::Tensor).chain(token).collect())
}
