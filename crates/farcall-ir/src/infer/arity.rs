//! Checks that an instruction has the operands, results and regions that its operation declares
//! ([`crate::op::OpInfo`]).
//!
//! All later checks index operands and regions without further bounds checks.

use crate::infer::cx::Cx;
use crate::op::{Count, Kind, Op};
use crate::types::Type;

/// Checks the number of results. This function is separate from [`check`], because result types are inferred
/// before an instruction under construction has results.
pub(crate) fn results(cx: &mut Cx<'_>) -> bool {
    let inst = cx.inst;
    let (expected, found) = (inst.op().info().results, inst.results().len() + tokens_left_out(cx));
    cx.check(expected.allows(found), "result-count", || {
        format!("{} has {}, found {found}", inst.op().name(), expected.text("result"))
    })
}

/// Checks the number and kind of operands, the number of regions, and that every region has a terminator.
/// Returns `None` if one of these checks failed, because the later checks rely on all of them.
pub(super) fn check(cx: &mut Cx<'_>) -> Option<()> {
    let inst = cx.inst;
    let info = inst.op().info();
    let name = info.name;
    let mut ok = true;
    let counts = [
        ("operand-count", "operand", info.operands, inst.own_operands().len() + tokens_left_out(cx)),
        ("region-count", "region", info.regions, inst.regions().len()),
    ];
    for (code, what, expected, found) in counts {
        ok &= cx.check(expected.allows(found), code, || {
            format!("{name} has {}, found {found}", expected.text(what))
        });
    }
    for (i, operand) in inst.own_operands().iter().enumerate() {
        let ty = cx.func.ty(*operand);
        let (fits, what) = match info.kind {
            Kind::Tensors => (matches!(ty, Type::Tensor(_)), "a tensor"),
            Kind::Tokens => (matches!(ty, Type::Token), "a token"),
            Kind::Tuples => (matches!(ty, Type::Tuple(_)), "a tuple"),
            Kind::Futures => (matches!(ty, Type::Future(_)), "a future"),
            Kind::Anything => (true, ""),
        };
        ok &= cx.check(fits, "operand-kind", || format!("operand {i} of {name} must be {what}, found {ty}"));
    }
    for (i, region) in inst.regions().enumerate() {
        ok &= cx.check(region.terminator().is_some(), "missing-terminator", || {
            format!("region {i} of {name} must end with stablehlo.return")
        });
    }
    ok.then_some(())
}

/// Number of token operands, and of token results, that the operation declares, but that its instructions
/// leave out in the middle form ([`crate::middle`]).
fn tokens_left_out(cx: &Cx<'_>) -> usize {
    usize::from(cx.form && matches!(cx.inst.op(), Op::Transfer(_)))
}

impl Count {
    fn allows(self, n: usize) -> bool {
        match self {
            Count::Exactly(m) => n == m,
            Count::AtLeast(m) => n >= m,
        }
    }

    fn text(self, what: &str) -> String {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        match self {
            Count::Exactly(n) => format!("{n} {what}{}", plural(n)),
            Count::AtLeast(n) => format!("at least {n} {what}{}", plural(n)),
        }
    }
}
