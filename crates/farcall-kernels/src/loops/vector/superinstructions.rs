//! Prebuilt loops of two operations, with the intermediate result in a processor register. They serve
//! processors without generated code, and loops that are too short to generate code for.

use farcall_ir::DType;
use farcall_ir::op::{Binary, Unary};

use super::super::expression::{Expr, Leaf, Node, ScalarOp};
use super::{VectorLoop, map2, map3};
use crate::math;
use crate::number::{Integer, Number};

/// Returns the prebuilt loop of an expression of two operations.
pub(crate) fn of(expr: &Expr) -> Option<VectorLoop> {
    let [first, second] = &expr.nodes[..] else { return None };
    // Loops are built for these orders of operands only.
    let swapped = match (&first.operands[..], &second.operands[..]) {
        ([Leaf::Operand(0), Leaf::Operand(1)], [Leaf::Node(0)] | [Leaf::Node(0), Leaf::Operand(2)]) => false,
        ([Leaf::Operand(0), Leaf::Operand(1)], [Leaf::Operand(2), Leaf::Node(0)]) => true,
        _ => return None,
    };
    two(first, second, swapped)
}

fn two(first: &Node, second: &Node, swapped: bool) -> Option<VectorLoop> {
    match (first.op, second.op) {
        (ScalarOp::Binary(first, x), ScalarOp::Binary(second, y)) if x == y => match x {
            DType::F32 => floats::<f32>(first, second, swapped),
            DType::F64 => floats::<f64>(first, second, swapped),
            DType::S32 | DType::U32 => words(first, second, swapped),
            _ => None,
        },
        (ScalarOp::RotateLeft, ScalarOp::Binary(Binary::Xor, DType::U32 | DType::S32)) => {
            Some(map3::<u32, u32, u32, u32>(|x, y, z| x.rotate_left(y) ^ z))
        }
        (ScalarOp::Binary(Binary::Subtract, DType::F32), ScalarOp::Unary(Unary::Exponential, DType::F32)) => {
            Some(map2::<f32, f32, f32>(|x, y| math::exp(x - y)))
        }
        (ScalarOp::Binary(Binary::Multiply, DType::F32), ScalarOp::Unary(Unary::Tanh, DType::F32)) => {
            Some(map2::<f32, f32, f32>(|x, y| math::tanh(x * y)))
        }
        _ => None,
    }
}

fn floats<T: Number>(first: Binary, second: Binary, swapped: bool) -> Option<VectorLoop> {
    use Binary::{Add, Multiply, Subtract};
    macro_rules! pairs {
        ($($f:ident $first:ident, $g:ident $second:ident;)*) => {
            match (first, second, swapped) {
                $(($f, $g, _) => Some(map3::<T, T, T, T>(|x, y, z| x.$first(y).$second(z))),)*
                (Add, Subtract, false) => Some(map3::<T, T, T, T>(|x, y, z| x.add(y).sub(z))),
                (Add, Subtract, true) => Some(map3::<T, T, T, T>(|x, y, z| z.sub(x.add(y)))),
                (Subtract, Subtract, false) => Some(map3::<T, T, T, T>(|x, y, z| x.sub(y).sub(z))),
                (Subtract, Subtract, true) => Some(map3::<T, T, T, T>(|x, y, z| z.sub(x.sub(y)))),
                (Multiply, Subtract, false) => Some(map3::<T, T, T, T>(|x, y, z| x.mul(y).sub(z))),
                (Multiply, Subtract, true) => Some(map3::<T, T, T, T>(|x, y, z| z.sub(x.mul(y)))),
                _ => None,
            }
        };
    }
    pairs! {
        Add add, Add add;
        Add add, Multiply mul;
        Subtract sub, Add add;
        Subtract sub, Multiply mul;
        Multiply mul, Add add;
        Multiply mul, Multiply mul;
    }
}

/// Returns the loop of two operations on 32-bit integers, signed or unsigned.
fn words(first: Binary, second: Binary, swapped: bool) -> Option<VectorLoop> {
    Some(match (first, second, swapped) {
        (Binary::Add, Binary::Add, _) => map3::<u32, u32, u32, u32>(|x, y, z| x.add(y).add(z)),
        (Binary::Multiply, Binary::Add, _) => map3::<u32, u32, u32, u32>(|x, y, z| x.mul(y).add(z)),
        (Binary::Xor, Binary::ShiftRightLogical, false) => {
            map3::<u32, u32, u32, u32>(|x, y, z| x.xor(y).shr_logical(z))
        }
        (Binary::ShiftRightLogical, Binary::Or, _) => {
            map3::<u32, u32, u32, u32>(|x, y, z| x.shr_logical(y).or(z))
        }
        _ => return None,
    })
}
