//! Calls that only tell the compilers of JAX and XLA about memory, order or shapes.

use super::Replacement;
use super::placement::identity;
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::{CustomCall, Op};
use crate::scalar::Scalar;
use crate::types::Type;

pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let func = inst.func();
    match (call.target.as_str(), inst.operands(), inst.results()) {
        ("control_dep", [_, _], []) => Some(Replacement::Erased),
        ("AllocateBuffer", [], [to]) => match func.ty(*to) {
            Type::Tensor(t) if t.quant.is_none() => {
                let zeros = Literal::splat(t.dtype, t.static_sizes()?, Scalar::zero(t.dtype));
                Some(Replacement::Op(Op::Constant(zeros)))
            }
            _ => None,
        },
        ("stablehlo.shape_refinement_operand_wrapper", [from, ..], [to]) if func[*from] == func[*to] => {
            Some(Replacement::First(identity(func.ty(*to))))
        }
        _ => None,
    }
}
