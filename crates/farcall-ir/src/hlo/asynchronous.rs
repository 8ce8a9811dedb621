//! Lowers asynchronous instructions. In HLO, `…-start` returns its operands, its result and a context, and
//! `…-done` returns the result. In the module, `…-start` becomes the computation of the result, and `…-done`
//! the result itself.

use std::rc::Rc;
use std::sync::Arc;

use farcall_sig::DType;

use super::attribute_fields::AttrReader;
use super::groups;
use super::lowering::{Lowered, Lowering, wrong};
use super::shape::Shape;
use super::syntax::Instruction;
use super::table;
use super::value::{At, Shaped, Val, element};
use crate::op::{Channel, Endpoint, Op, Transfer};
use crate::types::TensorType;

/// The phase of an asynchronous instruction.
#[derive(Clone, Copy)]
enum Phase {
    Start,
    Update,
    Done,
}

/// Splits an opcode into the asynchronous instruction and its phase: `add` of `add-start`, `async` of
/// `async-done`.
fn phase(opcode: &str) -> Option<(&str, Phase)> {
    let suffixes = [("-start", Phase::Start), ("-update", Phase::Update), ("-done", Phase::Done)];
    let found = suffixes.into_iter().find_map(|(suffix, phase)| Some((opcode.strip_suffix(suffix)?, phase)));
    found.filter(|(base, _)| *base == "async" || table::is_opcode(base))
}

/// True for an `all-reduce-start` of one operand that returns the operand and the result, as other
/// collectives do.
fn is_pair(shape: &Shape, at: &At<'_, '_>) -> bool {
    at.operands.len() == 1 && shape.parts().is_some_and(|parts| parts.len() == 2)
}

impl<'s> Lowering<'_, 's> {
    /// Lowers an asynchronous instruction; `None` for any other opcode.
    pub(super) fn asynchronous(
        &mut self,
        opcode: &'s str,
        shape: &Arc<Shape>,
        g: &mut AttrReader<'_, 's>,
        args: &[Val],
        at: &mut At<'_, 's>,
    ) -> Option<Lowered<Val>> {
        if matches!(opcode, "send" | "recv" | "send-done" | "recv-done") {
            return Some(self.transfer(shape, g, at));
        }
        let (base, phase) = phase(opcode)?;
        Some(match (phase, at.operands) {
            (Phase::Start, _) => self.start(base, shape, g, args, at),
            (Phase::Update, [state, ..]) => {
                g.take("calls");
                Ok(state.val.clone())
            }
            (Phase::Done, [state, ..]) => {
                g.take("calls");
                self.done(base, state, shape, at)
            }
            _ => wrong("operands", at.inst.op_span, format!("{opcode} must take the value of {base}-start")),
        })
    }

    fn start(
        &mut self,
        base: &'s str,
        shape: &Arc<Shape>,
        g: &mut AttrReader<'_, 's>,
        args: &[Val],
        at: &mut At<'_, 's>,
    ) -> Lowered<Val> {
        let parts = shape.parts();
        let result = match base {
            "all-reduce" if !is_pair(shape, at) => Some(Arc::clone(shape)),
            "copy" => parts.and_then(|parts| parts.first()).cloned().map(Arc::new),
            // In older texts, `…-start` returns only the result.
            _ if parts.is_none() => Some(Arc::clone(shape)),
            _ => parts.and_then(|parts| parts.get(1)).cloned().map(Arc::new),
        };
        let Some(result) = result else {
            let message = format!("{} must return a tuple: operands, result and contexts", at.inst.opcode);
            return wrong("type-mismatch", at.inst.shape_span, message);
        };
        let val = if base == "async" {
            self.fusion(&result, g, at)?
        } else {
            let inst = Instruction { opcode: base, shape: Some(Arc::clone(&result)), ..at.inst.clone() };
            let mut inner = AttrReader {
                attrs: std::mem::take(&mut g.attrs),
                opcode: base,
                span: g.span,
                operands: g.operands,
                shape: Some(&result),
                devices: g.devices,
                participants: g.participants,
            };
            let attrs = std::mem::take(&mut at.attrs);
            let at = At { inst: &inst, region: at.region, attrs, loc: at.loc.clone(), operands: at.operands };
            let value = self.value(Some(Arc::clone(&result)), &mut inner, args, at);
            g.attrs = inner.attrs;
            value?.val
        };
        let Some(parts) = parts.filter(|_| base != "all-reduce" || is_pair(shape, at)) else {
            return Ok(val);
        };
        let operands: Vec<Val> = at.operands.iter().map(|operand| operand.val.clone()).collect();
        let operands = match (&parts[0], operands.as_slice()) {
            (Shape::Tensor(..) | Shape::Token, [one]) => one.clone(),
            _ => Val::Tuple(operands.into()),
        };
        let mut values = if base == "copy" { vec![val, operands] } else { vec![operands, val] };
        values.truncate(parts.len());
        values.extend(parts.iter().skip(2).map(|part| Val::Context(Arc::new(part.clone()))));
        Ok(Val::Tuple(values.into()))
    }

    fn done(&mut self, base: &str, state: &Shaped, shape: &Shape, at: &At<'_, 's>) -> Lowered<Val> {
        let val = match base {
            "copy" => element(state, 0, at.inst.op_span)?.val,
            _ if self.check(&state.val, shape, at.inst.shape_span).is_ok() => state.val.clone(),
            _ => element(state, 1, at.inst.op_span)?.val,
        };
        self.check(&val, shape, at.inst.shape_span).map(|()| val)
    }

    /// Lowers `send` and `recv`, which also return a context.
    fn transfer(&mut self, shape: &Shape, g: &mut AttrReader<'_, 's>, at: &At<'_, 's>) -> Lowered<Val> {
        let is_host = g.flag("is_host_transfer")?;
        // Number 0 means no channel.
        let mut channel = groups::read_channel(g)?.unwrap_or(Channel { handle: 0, kind: 1 });
        let opcode = at.inst.opcode;
        let part = |i: usize| match at.operands {
            [Shaped { val: Val::Tuple(parts), .. }] if parts.len() == 3 => parts.get(i).cloned(),
            _ => None,
        };
        match (opcode, part(0), part(2)) {
            ("send-done", _, Some(token)) => return Ok(token),
            ("recv-done", Some(data), Some(token)) => return Ok(Val::Tuple(Rc::new([data, token]))),
            ("send-done" | "recv-done", _, _) => {
                let message = format!("{opcode} must have one operand, a tuple of three");
                return wrong("operands", at.inst.op_span, message);
            }
            _ => {}
        }
        if is_host {
            channel.kind = if opcode == "send" { 2 } else { 3 };
        }
        let end = Endpoint { channel, is_host, pairs: None };
        // XLA ignores the type that the text states for a `send`.
        let sent: [Shape; 3];
        let (data, context, token) = match (shape.parts(), at.operands) {
            (Some([data, context, token]), _) => (data, context, token),
            (_, [data, ..]) if opcode == "send" => {
                let context = Shape::Tensor(TensorType::scalar(DType::U32), None);
                sent = [(*data.shape).clone(), context, Shape::Token];
                (&sent[0], &sent[1], &sent[2])
            }
            _ => {
                let message = format!("{opcode} must return a tuple of three");
                return wrong("type-mismatch", at.inst.shape_span, message);
            }
        };
        let context = Val::Context(Arc::new(context.clone()));
        let values = self.flat_operands(at)?;
        if opcode == "send" {
            let op = Op::Transfer(Box::new(Transfer::Send(end)));
            let sent = self.push(at.op(op, values), token, at.region)?;
            let data = at.operands.first().map_or(Val::Unknown, |operand| operand.val.clone());
            return Ok(Val::Tuple(Rc::new([data, context, sent])));
        }
        let op = Op::Transfer(Box::new(Transfer::Recv(end)));
        let shape = Shape::Tuple(Arc::new([data.clone(), token.clone()]));
        match self.push(at.op(op, values), &shape, at.region)? {
            Val::Tuple(parts) => Ok(Val::Tuple(Rc::new([parts[0].clone(), context, parts[1].clone()]))),
            other => Ok(other),
        }
    }
}
