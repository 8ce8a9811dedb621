//! Compares loops over expressions with the loops of their operations, run one after another.

use farcall_ir::op::{Binary, Compare, ComparisonDirection, Unary};
use farcall_ir::{DType, Op};
use smallvec::SmallVec;

use super::capability::{ExprKind, machine_code};
use super::expression::{Expr, Leaf, MAX_OPERANDS, Node, ScalarOp};
use super::native;
use super::vector::{BLOCK, Operand, VectorLoop, operations, superinstructions};
use crate::tests::Random;

/// Numbers of elements: with and without whole blocks, whole vectors and a remainder.
const COUNTS: [usize; 5] = [1, 6, 32, 77, 269];

impl Random {
    fn element(&mut self, dtype: DType) -> [u8; 8] {
        let special = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e-40];
        let float = match self.below(6) {
            0 | 1 => special[self.below(special.len())],
            // Includes numbers whose exponentials are subnormal or infinite.
            2 => self.below(1 << 20) as f64 / 5e3 - 110.0,
            // Numbers around 0.36, where the formula of the hyperbolic tangent changes.
            3 => 0.36 + (self.below(1 << 10) as f64 - 512.0) * 2f64.powi(-25),
            _ => (self.below(1 << 20) as f64 - 5e5) / 3e4,
        };
        let mut bytes = [0; 8];
        match dtype {
            DType::F32 => bytes[..4].copy_from_slice(&(float as f32).to_ne_bytes()),
            DType::F64 => bytes = float.to_ne_bytes(),
            DType::Pred => bytes[0] = self.below(2) as u8,
            _ if self.below(3) == 0 => bytes[0] = self.below(40) as u8,
            dtype => {
                bytes[..dtype.size()].copy_from_slice(&(self.0 >> 8).to_ne_bytes()[..dtype.size()]);
            }
        }
        bytes
    }
}

/// Returns operations on elements of a type that can be in an expression, with their operand and result
/// types.
fn formulas(dtype: DType) -> Vec<(Op, Vec<DType>, DType)> {
    let binary = Binary::VARIANTS.iter().map(|op| (Op::Binary(*op), vec![dtype; 2], dtype));
    let unary = Unary::VARIANTS.iter().map(|op| (Op::Unary(*op), vec![dtype], dtype));
    let compare = ComparisonDirection::VARIANTS.iter().map(|direction| {
        (Op::Compare(Compare { direction: *direction, kind: None }), vec![dtype; 2], DType::Pred)
    });
    let preds =
        [Binary::And, Binary::Or, Binary::Xor].map(|op| (Op::Binary(op), vec![DType::Pred; 2], DType::Pred));
    let select = (Op::Select, vec![DType::Pred, dtype, dtype], dtype);
    let convert = (Op::Convert, vec![DType::S32], DType::F32);
    let all = binary.chain(unary).chain(compare).chain(preds).chain([select, convert]);
    all.filter(|(op, from, to)| {
        from.iter().chain([to]).all(|t| *t == DType::Pred || t.size() == dtype.size())
            && ScalarOp::new(op, from, *to).and_then(|op| machine_code(op, ExprKind::Loop)).is_some()
    })
    .collect()
}

/// Returns the bits of elements, with one value for all NaNs.
fn numbers(bytes: &[u8], dtype: DType) -> Vec<u64> {
    bytes
        .chunks_exact(dtype.size())
        .map(|x| {
            let mut word = [0; 8];
            word[..x.len()].copy_from_slice(x);
            let bits = u64::from_ne_bytes(word);
            let nan = match dtype {
                DType::F32 => f32::from_bits(bits as u32).is_nan(),
                DType::F64 => f64::from_bits(bits).is_nan(),
                _ => false,
            };
            if nan { u64::MAX } else { bits }
        })
        .collect()
}

/// A value (an operand, a constant or the result of a node), with its elements as separate operations
/// compute them.
struct Value {
    leaf: Leaf,
    dtype: DType,
    elements: Vec<u8>,
}

/// Compares a random expression with its operations, run one after another. Returns false if no code can be
/// generated for the expression.
fn compare_expression(dtype: DType, n: usize, random: &mut Random) -> bool {
    let formulas = formulas(dtype);
    let mut values: Vec<Value> = Vec::new();
    let repeated = random.below(4);
    for i in 0..MAX_OPERANDS {
        let dtype = if i == 2 { DType::Pred } else { dtype };
        let one = random.element(dtype);
        let element = |_| if i == repeated { one } else { random.element(dtype) };
        let elements: Vec<u8> = (0..n).map(element).flat_map(|x| x[..dtype.size()].to_vec()).collect();
        values.push(Value { leaf: Leaf::Operand(i), dtype, elements });
    }
    for _ in 0..random.below(9) {
        let bytes = random.element(dtype);
        let elements = bytes[..dtype.size()].repeat(n);
        values.push(Value { leaf: Leaf::Constant(bytes), dtype, elements });
    }
    let mut expr = Expr { nodes: SmallVec::new() };
    let many = 2 + random.below(12);
    while expr.nodes.len() < many || values.last().is_none_or(|x| x.dtype == DType::Pred) {
        let (op, takes, to) = &formulas[random.below(formulas.len())];
        let mut from: Vec<usize> = Vec::new();
        for dtype in takes {
            let fits: Vec<usize> = (0..values.len()).filter(|i| values[*i].dtype == *dtype).collect();
            if fits.is_empty() {
                break;
            }
            // Usually one of the last three values of this type.
            let late = fits.len() - 1 - random.below(fits.len().min(3));
            from.push(fits[if random.below(3) == 0 { random.below(fits.len()) } else { late }]);
        }
        let Some(work) = operations::work(op, takes, *to).filter(|_| from.len() == takes.len()) else {
            continue;
        };
        let mut operands = [Operand::ABSENT; 3];
        for (operand, i) in operands.iter_mut().zip(&from) {
            *operand = Operand::each(values[*i].elements.as_ptr());
        }
        let mut elements = vec![0u8; n * to.size()];
        // SAFETY: the operands and the result have `n` elements of the types of the operation.
        unsafe { work.run(&operands, elements.as_mut_ptr(), n) };
        let op = ScalarOp::new(op, takes, *to).unwrap();
        let operands = from.iter().map(|i| values[*i].leaf).collect();
        expr.nodes.push(Node { op, operands });
        values.push(Value { leaf: Leaf::Node(expr.nodes.len() - 1), dtype: *to, elements });
    }
    let Some(work) = native::expression(&expr) else { return false };
    let last = values.last().unwrap();
    let mut operands = [Operand::ABSENT; 3];
    let block: Vec<u8> = values.get(repeated).map_or(Vec::new(), |x| {
        let size = x.dtype.size();
        x.elements[..size].repeat(BLOCK)
    });
    for (i, operand) in operands.iter_mut().enumerate() {
        *operand = if i == repeated {
            Operand::repeated(block.as_ptr())
        } else {
            Operand::each(values[i].elements.as_ptr())
        };
    }
    let mut found = vec![0u8; n * last.dtype.size()];
    // SAFETY: the operands have `n` elements or a block of copies, and the result has `n` elements.
    unsafe { work.run(&operands, found.as_mut_ptr(), n) };
    let (found, expected) = (numbers(&found, last.dtype), numbers(&last.elements, last.dtype));
    assert_eq!(found, expected, "{n} results of {expr:?}, where operand {repeated} (3: none) is repeated");
    true
}

#[test]
fn expressions_have_the_bits_of_operations_one_after_the_other() {
    let mut random = Random(7);
    let types = [DType::F32, DType::F64, DType::S32, DType::U32, DType::S64, DType::U64];
    let mut generated = 0;
    for i in 0..3000 {
        generated +=
            usize::from(compare_expression(types[i % types.len()], COUNTS[i % COUNTS.len()], &mut random));
    }
    // Some expressions need too many registers, and on some processors no code is generated.
    assert!(
        generated == 0 || generated > 2500,
        "code was generated for only {generated} of 3000 expressions"
    );
}

/// Number of elements: more than two blocks, and not a multiple of a block.
const N: usize = 77;

fn run<T: Copy + Default>(work: &VectorLoop, operands: &[Operand]) -> Vec<T> {
    let mut from = [Operand::ABSENT; 3];
    from[..operands.len()].copy_from_slice(operands);
    let mut to = vec![T::default(); N];
    // SAFETY: operands have `N` elements or a block of copies, and the result has `N` elements.
    unsafe { work.run(&from, to.as_mut_ptr().cast(), N) };
    to
}

/// Compares the loop of each pair of operations with the two operations, run one after another, on elements
/// of a type. Returns the number of pairs.
fn compare_pairs<T: Copy + Default, B: PartialEq + std::fmt::Debug>(
    dtype: DType,
    operands: [Vec<T>; 3],
    bits: impl Fn(T) -> B,
) -> usize {
    use Binary::{Add, And, Multiply, Or, ShiftLeft, ShiftRightLogical, Subtract, Xor};
    let all = [Add, And, Multiply, Or, ShiftLeft, ShiftRightLogical, Subtract, Xor];
    let each = |x: &Vec<T>| Operand::each(x.as_ptr().cast());
    let work = |op| operations::work(&Op::Binary(op), &[dtype, dtype], dtype);
    let mut count = 0;
    for (first, second, swapped) in
        all.iter().flat_map(|f| all.map(|s| (*f, s))).flat_map(|(f, s)| [(f, s, false), (f, s, true)])
    {
        let (f, s) = (ScalarOp::Binary(first, dtype), ScalarOp::Binary(second, dtype));
        let both = Expr::pair(f, s, swapped).and_then(|expr| superinstructions::of(&expr));
        let Some(both) = both else { continue };
        let [a, b, _] = &operands;
        // The last operand is repeated: a block of copies of its first element.
        let block = [operands[2][0]; BLOCK];
        let c = Operand::repeated(block.as_ptr().cast());
        let between: Vec<T> = run(&work(first).unwrap(), &[each(a), each(b)]);
        let last = if swapped { [c, each(&between)] } else { [each(&between), c] };
        let expected: Vec<T> = run(&work(second).unwrap(), &last);
        let found: Vec<T> = run(&both, &[each(a), each(b), c]);
        let same = found.iter().zip(&expected).all(|(x, y)| bits(*x) == bits(*y));
        assert!(same, "the loop of {first:?} and {second:?} has other results (swapped: {swapped})");
        count += 1;
    }
    count
}

#[test]
fn two_operations_have_the_bits_of_one_after_the_other() {
    let words = |seed: u32| {
        let mut x = seed;
        let next = || {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            x
        };
        std::iter::repeat_with(next).take(N).collect::<Vec<u32>>()
    };
    let words = [words(1), words(2), vec![9; N]];
    let floats = words.clone().map(|x| x.iter().map(|x| (*x as i32) as f32 / 1e9).collect::<Vec<f32>>());
    let wide = floats.clone().map(|x| x.iter().map(|x| f64::from(*x) / 3.0).collect::<Vec<f64>>());
    assert_eq!(compare_pairs(DType::F32, floats, f32::to_bits), 18);
    assert_eq!(compare_pairs(DType::F64, wide, f64::to_bits), 18);
    assert_eq!(compare_pairs(DType::U32, words, |x| x), 7);
}

#[test]
fn functions_of_one_operation_have_their_bits() {
    let x: Vec<f32> = (0..N).map(|i| i as f32 * 0.37 - 12.0).collect();
    let y = vec![1.5f32; N];
    let each = |x: &Vec<f32>| Operand::each(x.as_ptr().cast());
    let pairs = [(Binary::Subtract, Unary::Exponential), (Binary::Multiply, Unary::Tanh)];
    for (first, second) in pairs.map(|(f, s)| (Op::Binary(f), Op::Unary(s))) {
        let work = operations::work(&first, &[DType::F32; 2], DType::F32).unwrap();
        let between: Vec<f32> = run(&work, &[each(&x), each(&y)]);
        let work = operations::work(&second, &[DType::F32], DType::F32).unwrap();
        let expected: Vec<f32> = run(&work, &[each(&between)]);
        let scalar =
            |op: &Op, operands: usize| ScalarOp::new(op, &[DType::F32; 2][..operands], DType::F32).unwrap();
        let pair = Expr::pair(scalar(&first, 2), scalar(&second, 1), false).unwrap();
        let found: Vec<f32> = run(&superinstructions::of(&pair).unwrap(), &[each(&x), each(&y)]);
        assert_eq!(found, expected);
    }
}
