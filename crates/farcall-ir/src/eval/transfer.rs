//! Transfers: values that enter and leave the program while it runs, exchanged with the host or with other
//! processes.

use super::index::{known_sizes, zeros};
use super::machine::Machine;
use super::process::{in_grid, place};
use super::{EvalError, EvalValue, Link};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::{Endpoint, Transfer};
use crate::types::{TensorType, Type};

pub(super) fn transfer(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    transfer: &Transfer,
) -> Result<Vec<EvalValue>, EvalError> {
    let values = || -> Vec<Literal> { xs.iter().filter_map(EvalValue::tensor).cloned().collect() };
    let types: Vec<TensorType> = inst.results().iter().filter_map(|r| m.func.tensor(*r).cloned()).collect();
    let received = match transfer {
        Transfer::Send(end) if !end.is_host => {
            return send_to_process(m, inst, end, &values()).map(|()| token(m, inst).into_iter().collect());
        }
        Transfer::Recv(end) if !end.is_host => {
            let received = recv_from_process(m, inst, end, &types)?;
            return Ok(received.into_iter().map(EvalValue::Tensor).chain(token(m, inst)).collect());
        }
        Transfer::Infeed { config, .. } => m.host.infeed(config, &types),
        Transfer::Outfeed { config } => m.host.outfeed(config, values()).map(|()| Vec::new()),
        Transfer::Send(end) => m.host.send(end.channel.handle, values()).map(|()| Vec::new()),
        Transfer::Recv(end) => m.host.recv(end.channel.handle, &types),
    };
    let received = received.map_err(|error| EvalError::host("", error))?;
    Ok(received.into_iter().map(EvalValue::Tensor).chain(token(m, inst)).collect())
}

/// Returns the token that an instruction returns. In the middle form, there are no tokens.
fn token(m: &Machine<'_>, inst: Inst<'_>) -> Option<EvalValue> {
    inst.results().iter().any(|r| *m.func.ty(*r) == Type::Token).then_some(EvalValue::Token)
}

/// Sends values to the processes that `source_target_pairs` names or, without pairs, to the process that
/// receives on the channel.
fn send_to_process(
    m: &Machine<'_>,
    inst: Inst<'_>,
    end: &Endpoint,
    values: &[Literal],
) -> Result<(), EvalError> {
    let process = in_grid(m, 2)?;
    let (op, place, channel) = (inst.op().name(), place(m, inst), end.channel.handle);
    let link = |peer| Link { op, place: &place, channel, peer };
    let send = |peer| {
        let sent = m.host.send_to(&link(peer), values.to_vec());
        sent.map_err(|error| EvalError::host("", error))
    };
    match end.process_pairs(process) {
        None => send(None),
        Some(pairs) => {
            let mut targets = pairs.iter().filter(|pair| pair[0] == process.number);
            targets.try_for_each(|pair| send(Some(pair[1])))
        }
    }
}

/// Receives values from another process. A process to which no process sends gets zeros.
fn recv_from_process(
    m: &Machine<'_>,
    inst: Inst<'_>,
    end: &Endpoint,
    types: &[TensorType],
) -> Result<Vec<Literal>, EvalError> {
    let process = in_grid(m, 2)?;
    let peer = match end.process_pairs(process) {
        None => None,
        Some(pairs) => match pairs.iter().find(|pair| pair[1] == process.number) {
            Some(pair) => Some(pair[0]),
            None => return types.iter().map(|ty| zeros(ty.dtype, known_sizes(ty)?)).collect(),
        },
    };
    let (op, place, channel) = (inst.op().name(), place(m, inst), end.channel.handle);
    let link = Link { op, place: &place, channel, peer };
    m.host.recv_from(&link, types).map_err(|error| EvalError::host("", error))
}
