//! Two operations in one loop, with the intermediate result in a processor register.
//!
//! Results have the same bits as if the two operations were computed one after another.

use farcall_ir::op::{Binary, Compare, Unary};
use farcall_ir::{DType, Op};

use super::map::{VectorLoop, map2, map3};
use super::math;
use super::number::{Integer, Number};

/// An operation that can be merged with another, on elements of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Formula {
    Binary(Binary, DType),
    Unary(Unary, DType),
    /// Rotation of words to the left, by amounts below their size in bits.
    RotateLeft,
    Compare(Compare, DType),
    /// Selection of elements of this number of bytes.
    Select(usize),
    Convert(DType, DType),
}

impl Formula {
    /// Creates the formula of an operation on elements of these types.
    pub(super) fn new(op: &Op, dtypes: &[DType], to: DType) -> Option<Formula> {
        match (op, dtypes) {
            (Op::Binary(op), [x, y]) if x == y => Some(Formula::Binary(*op, *x)),
            (Op::Unary(op), [x]) => Some(Formula::Unary(*op, *x)),
            (Op::Compare(c), [x, y]) if x == y => Some(Formula::Compare(*c, *x)),
            (Op::Select, _) => Some(Formula::Select(to.size())),
            (Op::Convert, [x]) => Some(Formula::Convert(*x, to)),
            _ => None,
        }
    }

    /// Returns the loop that rotates elements by amounts.
    pub(super) fn rotate_left() -> VectorLoop {
        map2::<u32, u32, u32>(u32::rotate_left)
    }

    /// Returns the loop that computes `second(first(a, b), c)`, or `second(c, first(a, b))` if `swapped`. A
    /// second operation with one operand has no `c`.
    pub(super) fn then(self, second: Formula, swapped: bool) -> Option<VectorLoop> {
        match (self, second) {
            (Formula::Binary(first, x), Formula::Binary(second, y)) if x == y => match x {
                DType::F32 => floats::<f32>(first, second, swapped),
                DType::F64 => floats::<f64>(first, second, swapped),
                DType::S32 | DType::U32 => words(first, second, swapped),
                _ => None,
            },
            (Formula::RotateLeft, Formula::Binary(Binary::Xor, DType::U32 | DType::S32)) => {
                Some(map3::<u32, u32, u32, u32>(|x, y, z| x.rotate_left(y) ^ z))
            }
            (
                Formula::Binary(Binary::Subtract, DType::F32),
                Formula::Unary(Unary::Exponential, DType::F32),
            ) => Some(map2::<f32, f32, f32>(|x, y| math::exp(x - y))),
            (Formula::Binary(Binary::Multiply, DType::F32), Formula::Unary(Unary::Tanh, DType::F32)) => {
                Some(map2::<f32, f32, f32>(|x, y| math::tanh(x * y)))
            }
            _ => None,
        }
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

#[cfg(test)]
mod tests {
    use super::super::elementwise;
    use super::super::map::Operand;
    use super::*;

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

    /// Compares each pair with its operations, run one after another, on elements of a type. Returns the
    /// number of pairs.
    fn compare<T: Copy + Default, B: PartialEq + std::fmt::Debug>(
        dtype: DType,
        operands: [Vec<T>; 3],
        bits: impl Fn(T) -> B,
    ) -> usize {
        use Binary::{Add, And, Multiply, Or, ShiftLeft, ShiftRightLogical, Subtract, Xor};
        let all = [Add, And, Multiply, Or, ShiftLeft, ShiftRightLogical, Subtract, Xor];
        let each = |x: &Vec<T>| Operand::each(x.as_ptr().cast());
        let work = |op| elementwise::work(&Op::Binary(op), &[dtype, dtype], dtype);
        let mut count = 0;
        for (first, second, swapped) in
            all.iter().flat_map(|f| all.map(|s| (*f, s))).flat_map(|(f, s)| [(f, s, false), (f, s, true)])
        {
            let (f, s) = (Formula::Binary(first, dtype), Formula::Binary(second, dtype));
            let Some(both) = f.then(s, swapped) else { continue };
            let [a, b, _] = &operands;
            // The last operand is repeated: a block of copies of its first element.
            let block = [operands[2][0]; super::super::map::BLOCK];
            let c = Operand::repeated(block.as_ptr().cast());
            let between: Vec<T> = run(&work(first).unwrap(), &[each(a), each(b)]);
            let last = if swapped { [c, each(&between)] } else { [each(&between), c] };
            let expected: Vec<T> = run(&work(second).unwrap(), &last);
            let found: Vec<T> = run(&both, &[each(a), each(b), c]);
            let same = found.iter().zip(&expected).all(|(x, y)| bits(*x) == bits(*y));
            assert!(same, "{first:?}, {second:?}, swapped: {swapped}");
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
        assert_eq!(compare(DType::F32, floats, f32::to_bits), 18);
        assert_eq!(compare(DType::F64, wide, f64::to_bits), 18);
        assert_eq!(compare(DType::U32, words, |x| x), 7);
    }

    #[test]
    fn functions_of_one_operation_have_their_bits() {
        let x: Vec<f32> = (0..N).map(|i| i as f32 * 0.37 - 12.0).collect();
        let y = vec![1.5f32; N];
        let each = |x: &Vec<f32>| Operand::each(x.as_ptr().cast());
        let pairs = [(Binary::Subtract, Unary::Exponential), (Binary::Multiply, Unary::Tanh)];
        for (first, second) in pairs.map(|(f, s)| (Op::Binary(f), Op::Unary(s))) {
            let work = elementwise::work(&first, &[DType::F32; 2], DType::F32).unwrap();
            let between: Vec<f32> = run(&work, &[each(&x), each(&y)]);
            let work = elementwise::work(&second, &[DType::F32], DType::F32).unwrap();
            let expected: Vec<f32> = run(&work, &[each(&between)]);
            let pair = Formula::new(&first, &[DType::F32; 2], DType::F32)
                .and_then(|f| f.then(Formula::new(&second, &[DType::F32], DType::F32)?, false));
            let found: Vec<f32> = run(&pair.unwrap(), &[each(&x), each(&y)]);
            assert_eq!(found, expected);
        }
    }
}
