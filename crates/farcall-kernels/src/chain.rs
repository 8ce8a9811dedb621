//! Operations on corresponding elements as one loop, with intermediate results in processor registers.
//!
//! On processors for which code can be generated, a chain has any number of operations and constants, and at
//! most three operands. Results have the same bits as if the operations were computed one after another, with
//! one exception: an operation on two NaNs may return either of them.

use farcall_ir::DType;
use farcall_ir::op::{Binary, CompareKind, Direction, Unary};
use smallvec::SmallVec;

use super::map::VectorLoop;
use super::native;
use super::pair::Formula;

/// Maximum number of operands of a chain, besides constants.
pub(super) const MAX_OPERANDS: usize = 3;

/// Operations, each on results of earlier ones. The last one computes the result.
#[derive(Default, Debug)]
pub(super) struct Chain {
    pub(super) members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "only read where machine code is generated")
    )]
    pub(super) formula: Formula,
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "only read where machine code is generated")
    )]
    pub(super) from: SmallVec<[Source; 3]>,
}

/// An operand of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Operand(usize),
    /// The bytes of an element, padded with zeros.
    Constant([u8; 8]),
    /// The result of an earlier member.
    Member(usize),
}

impl Chain {
    /// Returns the loop; `None` if an operation cannot be in a chain, or the processor has no generated code.
    pub(super) fn work(&self) -> Option<VectorLoop> {
        native::chain(self)
    }
}

/// Type of an operand or a result, as far as a chain needs it before compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Elements of this number of bytes.
    Elements(usize),
    Pred,
}

/// Returns the kinds of the operands and the result; `None` if the operation cannot be in a chain.
pub(super) fn kinds(formula: Formula) -> Option<(SmallVec<[Kind; 3]>, Kind)> {
    use DType::{F32, F64, Pred, S32, S64, U32, U64};
    let elements = |dtype: DType| Kind::Elements(dtype.size());
    let same = |count: usize, kind: Kind| Some((SmallVec::from_elem(kind, count), kind));
    match formula {
        Formula::Binary(Binary::And | Binary::Or | Binary::Xor, Pred) => same(2, Kind::Pred),
        Formula::Binary(op, dtype) if is_binary(op, dtype) => same(2, elements(dtype)),
        Formula::Unary(
            Unary::Negate | Unary::Abs | Unary::Sqrt | Unary::Rsqrt | Unary::Square,
            dtype @ (F32 | F64),
        ) => same(1, elements(dtype)),
        Formula::Unary(Unary::Negate | Unary::Not, dtype @ (S32 | U32 | S64 | U64)) => {
            same(1, elements(dtype))
        }
        Formula::Unary(Unary::Exponential | Unary::Tanh, F32) if native::has_functions() => {
            same(1, elements(F32))
        }
        Formula::RotateLeft => same(2, elements(U32)),
        Formula::Compare(compare, dtype) => {
            let holds = match dtype {
                F32 | F64 => compare.kind != Some(CompareKind::TotalOrder),
                S32 | S64 => true,
                U32 | U64 => matches!(compare.direction, Direction::Eq | Direction::Ne),
                _ => false,
            };
            holds.then(|| (SmallVec::from_elem(elements(dtype), 2), Kind::Pred))
        }
        Formula::Select(size @ (4 | 8)) => {
            let x = Kind::Elements(size);
            Some(([Kind::Pred, x, x].into_iter().collect(), x))
        }
        Formula::Convert(S32, F32) => same(1, elements(F32)),
        _ => None,
    }
}

fn is_binary(op: Binary, dtype: DType) -> bool {
    use Binary::{Add, And, Divide, Maximum, Minimum, Multiply, Or, ShiftLeft, Subtract, Xor};
    use Binary::{ShiftRightArithmetic, ShiftRightLogical};
    match dtype {
        DType::F32 | DType::F64 => {
            matches!(op, Add | Subtract | Multiply | Divide | Maximum | Minimum)
        }
        DType::S32 | DType::U32 if matches!(op, Multiply | Maximum | Minimum | ShiftRightArithmetic) => true,
        DType::S32 | DType::U32 | DType::S64 | DType::U64 => {
            matches!(op, Add | Subtract | And | Or | Xor | ShiftLeft | ShiftRightLogical)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use farcall_ir::Op;
    use farcall_ir::op::Compare;

    use super::super::elementwise;
    use super::super::map::Operand;
    use super::super::tests::Random;
    use super::*;

    /// Elements: blocks, vectors, and some that are left.
    const COUNTS: [usize; 5] = [1, 6, 32, 77, 269];

    impl Random {
        fn element(&mut self, dtype: DType) -> [u8; 8] {
            let special = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e-40];
            let float = match self.below(6) {
                0 | 1 => special[self.below(special.len())],
                // Exponentials are subnormal or infinite here, and hyperbolic tangents use another formula.
                2 => self.below(1 << 20) as f64 / 5e3 - 110.0,
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

    /// Returns operations on elements of a type that can be in a chain, with their operand and result types.
    fn formulas(dtype: DType) -> Vec<(Op, Vec<DType>, DType)> {
        let binary = Binary::VARIANTS.iter().map(|op| (Op::Binary(*op), vec![dtype; 2], dtype));
        let unary = Unary::VARIANTS.iter().map(|op| (Op::Unary(*op), vec![dtype], dtype));
        let compare = Direction::VARIANTS.iter().map(|direction| {
            (Op::Compare(Compare { direction: *direction, kind: None }), vec![dtype; 2], DType::Pred)
        });
        let preds = [Binary::And, Binary::Or, Binary::Xor]
            .map(|op| (Op::Binary(op), vec![DType::Pred; 2], DType::Pred));
        let select = (Op::Select, vec![DType::Pred, dtype, dtype], dtype);
        let convert = (Op::Convert, vec![DType::S32], DType::F32);
        let all = binary.chain(unary).chain(compare).chain(preds).chain([select, convert]);
        all.filter(|(op, from, to)| {
            from.iter().chain([to]).all(|t| *t == DType::Pred || t.size() == dtype.size())
                && Formula::new(op, from, *to).and_then(kinds).is_some()
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

    /// A value (an operand, a constant or the result of a member), with its elements as separate operations
    /// compute them.
    struct Value {
        source: Source,
        dtype: DType,
        elements: Vec<u8>,
    }

    /// Compares a random chain with its operations, run one after another. Returns false if the operations do
    /// not form a chain.
    fn compare(dtype: DType, n: usize, random: &mut Random) -> bool {
        let formulas = formulas(dtype);
        let mut values: Vec<Value> = Vec::new();
        let repeated = random.below(4);
        for i in 0..MAX_OPERANDS {
            let dtype = if i == 2 { DType::Pred } else { dtype };
            let one = random.element(dtype);
            let element = |_| if i == repeated { one } else { random.element(dtype) };
            let elements: Vec<u8> = (0..n).map(element).flat_map(|x| x[..dtype.size()].to_vec()).collect();
            values.push(Value { source: Source::Operand(i), dtype, elements });
        }
        for _ in 0..random.below(9) {
            let bytes = random.element(dtype);
            let elements = bytes[..dtype.size()].repeat(n);
            values.push(Value { source: Source::Constant(bytes), dtype, elements });
        }
        let mut chain = Chain::default();
        let many = 2 + random.below(12);
        while chain.members.len() < many || values.last().is_none_or(|x| x.dtype == DType::Pred) {
            let (op, takes, to) = &formulas[random.below(formulas.len())];
            let mut from: Vec<usize> = Vec::new();
            for dtype in takes {
                let fits: Vec<usize> = (0..values.len()).filter(|i| values[*i].dtype == *dtype).collect();
                if fits.is_empty() {
                    break;
                }
                // Mostly one of the latest values.
                let late = fits.len() - 1 - random.below(fits.len().min(3));
                from.push(fits[if random.below(3) == 0 { random.below(fits.len()) } else { late }]);
            }
            let Some(work) = elementwise::work(op, takes, *to).filter(|_| from.len() == takes.len()) else {
                continue;
            };
            let mut operands = [Operand::ABSENT; 3];
            for (operand, i) in operands.iter_mut().zip(&from) {
                *operand = Operand::each(values[*i].elements.as_ptr());
            }
            let mut elements = vec![0u8; n * to.size()];
            // SAFETY: the operands have `n` elements of the types of the operation, and the result has, too.
            unsafe { work.run(&operands, elements.as_mut_ptr(), n) };
            let formula = Formula::new(op, takes, *to).unwrap();
            let member = Member { formula, from: from.iter().map(|i| values[*i].source).collect() };
            chain.members.push(member);
            values.push(Value { source: Source::Member(chain.members.len() - 1), dtype: *to, elements });
        }
        let Some(work) = chain.work() else { return false };
        let last = values.last().unwrap();
        let mut operands = [Operand::ABSENT; 3];
        let block: Vec<u8> = values.get(repeated).map_or(Vec::new(), |x| {
            let size = x.dtype.size();
            x.elements[..size].repeat(super::super::map::BLOCK)
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
        assert_eq!(found, expected, "{n} elements, operand {repeated} repeated, of {chain:?}");
        true
    }

    #[test]
    fn chains_have_the_bits_of_operations_one_after_the_other() {
        let mut random = Random(7);
        let types = [DType::F32, DType::F64, DType::S32, DType::U32, DType::S64, DType::U64];
        let mut chains = 0;
        for i in 0..3000 {
            chains += usize::from(compare(types[i % types.len()], COUNTS[i % COUNTS.len()], &mut random));
        }
        // Some chains need too many registers, and on some processors no code is generated.
        assert!(chains == 0 || chains > 2500, "{chains} of 3000 chains");
    }
}
