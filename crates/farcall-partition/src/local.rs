//! Operations on parts of tensors: attributes that hold sizes.

use farcall_ir::dims::IndexedDims;
use farcall_ir::op::{Binary, Op};
use farcall_ir::{DType, Literal, Scalar, TensorType};
use farcall_sig::DTypeClass;

/// Returns an operation for parts of its operands and results, which have these types.
pub(crate) fn operation(op: &Op, parts: &[TensorType]) -> Op {
    match op {
        Op::Constant(literal) => {
            let sizes: Vec<usize> = parts[0].sizes().to_vec();
            match literal.is_empty() {
                true => Op::Constant(Literal::zeros(literal.dtype(), sizes)),
                false => Op::Constant(Literal::splat(literal.dtype(), sizes, literal.get(0))),
            }
        }
        Op::Elided(_) => Op::Elided(parts[0].clone()),
        // `emit::exchange` sets the ranges of windowed dimensions afterwards.
        Op::Slice(slice) => {
            let mut slice = slice.clone();
            for (d, (from, to)) in parts[0].sizes().iter().zip(parts[1].sizes()).enumerate() {
                if from == to {
                    (slice.start[d], slice.limit[d], slice.strides[d]) = (0, *from, 1);
                }
            }
            Op::Slice(slice)
        }
        Op::DynamicSlice { .. } => {
            let result = parts.last().map(|ty| ty.sizes().to_vec());
            Op::DynamicSlice { sizes: result.unwrap_or_default() }
        }
        Op::Gather(gather) => {
            let mut gather = gather.clone();
            let dims = IndexedDims::from(&*gather);
            let window = dims.operand_window_dims(parts[0].rank());
            let window: Vec<(usize, usize)> =
                window.into_iter().zip(dims.window_dims.iter().copied()).collect();
            for (d, to) in window {
                gather.slice_sizes[d] = parts[2].sizes()[to];
            }
            Op::Gather(gather)
        }
        other => other.clone(),
    }
}

/// Returns the identity element of a function; `None` if the function has none, or none of this element type.
pub(crate) fn identity(function: Binary, dtype: DType) -> Option<Literal> {
    let value = match function {
        // The sum of -0.0 and 0.0 is 0.0, which is another number.
        Binary::Add => match Scalar::zero(dtype) {
            Scalar::Float(zero) => Scalar::Float(-zero),
            Scalar::Complex(zero) => Scalar::Complex(-zero),
            zero => zero,
        },
        Binary::Xor | Binary::Or => Scalar::zero(dtype),
        Binary::Multiply => match dtype.class() {
            DTypeClass::Bool => Scalar::Bool(true),
            DTypeClass::Signed => Scalar::Signed(1),
            DTypeClass::Unsigned => Scalar::Unsigned(1),
            DTypeClass::Float => Scalar::Float(1.0),
            // The product of 1 and an infinite number may contain a NaN.
            DTypeClass::Complex => return None,
        },
        Binary::And => match dtype.class() {
            DTypeClass::Signed => Scalar::Signed(-1),
            _ => Scalar::extreme(dtype, true)?,
        },
        Binary::Maximum => Scalar::extreme(dtype, false)?,
        Binary::Minimum => Scalar::extreme(dtype, true)?,
        _ => return None,
    };
    Some(Literal::scalar(dtype, value))
}
