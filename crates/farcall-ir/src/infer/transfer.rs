//! Values that enter and leave the program while it runs.

use crate::infer::collective::{PairCodes, pairs};
use crate::infer::cx::Cx;
use crate::op::{Endpoint, Transfer};
use crate::types::{Type, TypeList};
use smallvec::smallvec;

/// `channel_type` for a channel whose ends are devices.
const DEVICE_TO_DEVICE: i64 = 1;
/// `channel_type` from a device to the host.
const DEVICE_TO_HOST: i64 = 2;
/// `channel_type` from the host to a device.
const HOST_TO_DEVICE: i64 = 3;

pub(super) fn transfer(cx: &mut Cx<'_>, op: &Transfer) -> Option<TypeList> {
    match op {
        Transfer::Infeed { .. } => {
            // infeed_c1
            if !cx.check(cx.form || !cx.inst.results().is_empty(), "infeed_c1", || {
                "at least one result is needed".to_owned()
            }) {
                return None;
            }
            // infeed_c2, infeed_c3
            received(cx, "infeed_c2", "infeed_c3")
        }
        Transfer::Outfeed { .. } => given(cx, "outfeed_i1", "outfeed_i2"),
        Transfer::Send(end) => {
            let codes = PairCodes {
                matrix: "send_i6",
                width: "send_c1",
                unique: ["send_c2", "send_c3"],
                range: "send_c4",
            };
            // send_c5
            endpoint(cx, end, &codes, "send_c5", &[DEVICE_TO_HOST]);
            given(cx, "send_i1", "send_i2")
        }
        Transfer::Recv(end) => {
            let codes = PairCodes {
                matrix: "recv_i5",
                width: "recv_c1",
                unique: ["recv_c2", "recv_c3"],
                range: "recv_c4",
            };
            // recv_c5. The specification uses one `channel_type` for both directions between device and host;
            // StableHLO's verifier uses one for each direction. Both are allowed.
            endpoint(cx, end, &codes, "recv_c5", &[DEVICE_TO_HOST, HOST_TO_DEVICE]);
            // recv_o1
            received(cx, "recv_o1", "recv_o1")
        }
    }
}

/// Checks the pairs of devices and the type of the channel.
fn endpoint(cx: &mut Cx<'_>, end: &Endpoint, codes: &PairCodes, kind: &'static str, host: &[i64]) {
    if let Some(list) = &end.pairs {
        pairs(cx, list, codes);
    }
    let fits =
        if end.is_host { host.contains(&end.channel.kind) } else { end.channel.kind == DEVICE_TO_DEVICE };
    cx.check(fits, kind, || {
        let expected: Vec<String> =
            if end.is_host { host } else { &[DEVICE_TO_DEVICE] }.iter().map(ToString::to_string).collect();
        let to = if end.is_host { "the host" } else { "a device" };
        format!("a channel to {to} must be of type {}, found {}", expected.join(" or "), end.channel.kind)
    });
}

/// Checks that the declared results are tensors followed by a token. Returns the declared types.
fn received(cx: &mut Cx<'_>, tensors: &'static str, token: &'static str) -> Option<TypeList> {
    let types = cx.types(cx.inst.results());
    let data = without_token(cx, &types, token, "result")?;
    for (i, ty) in data.iter().enumerate() {
        cx.check(ty.tensor().is_some(), tensors, || format!("result {i} must be a tensor, found {ty}"));
    }
    Some(types)
}

/// Checks that the operands are tensors followed by a token. Returns the result types.
fn given(cx: &mut Cx<'_>, tensors: &'static str, token: &'static str) -> Option<TypeList> {
    let types = cx.types(cx.inst.operands());
    let data = without_token(cx, &types, token, "operand")?;
    for (i, ty) in data.iter().enumerate() {
        cx.check(ty.tensor().is_some(), tensors, || format!("operand {i} must be a tensor, found {ty}"));
    }
    Some(if cx.form { TypeList::new() } else { smallvec![Type::Token] })
}

/// Returns the types before the last one, which must be a token. In the middle form, which has no tokens,
/// returns all types.
fn without_token<'t>(
    cx: &mut Cx<'_>,
    types: &'t [Type],
    code: &'static str,
    what: &str,
) -> Option<&'t [Type]> {
    if cx.form {
        return Some(types);
    }
    let Some((last, data)) = types.split_last() else {
        cx.fail(code, format!("the last {what} must be a token, found none"));
        return None;
    };
    cx.check(*last == Type::Token, code, || format!("the last {what} must be a token, found {last}"));
    Some(data)
}
