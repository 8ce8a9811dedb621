//! Finds the keys of a comparator: the operands that it orders by, and the order of each.
//!
//! A single comparison is recognized directly. Any other comparator is recognized if it only compares and
//! selects, however it is written. The analysis has two steps. The first step finds the booleans in the
//! comparator that depend on a single operand, and evaluates them for all pairs of kinds of elements, such as
//! -0 and NaN ([`case_analysis`]). There must be an [`Order`] such that these booleans depend only on the
//! relation of the two elements in that order. The second step evaluates the comparator for all combinations
//! of the operands' relations.

use farcall_ir::op::{CompareKind, ComparisonDirection};
use farcall_ir::{DType, Op, TensorType};

use super::super::body::{Body, BodyInst};
use super::super::case_analysis::{self, Columns, Numbers};

/// An operand by which lines are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) operand: usize,
    pub(super) dtype: DType,
    pub(super) order: Order,
    pub(super) descending: bool,
}

/// An order of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// Order by bits: `-NaN < -inf < … < -0 < +0 < … < inf < NaN`. Integers always have this order.
    Total,
    /// Order in which JAX sorts: all zeros are equal; all NaNs are equal and come last.
    Jax,
    /// Order in which floating-point comparison sorts: all zeros are equal, and a NaN is neither less nor
    /// greater than any number.
    Numbers,
}

// Relations of two elements. `UNORDERED` means that none of the other three holds.
const LESS: usize = 0;
const EQUAL: usize = 1;
const GREATER: usize = 2;
const UNORDERED: usize = 3;

/// A boolean that depends on the elements of one operand only, and its value for each relation of the two
/// elements.
type PartTruth = (usize, [bool; 4]);

/// Maximum number of compared operands. The number of cases is four to the power of the number of operands.
const MAX_KEYS: usize = 4;

/// Returns the keys by which the comparator orders, the most significant key first.
pub(super) fn order(body: &Body, inputs: &[&TensorType]) -> Option<Vec<Key>> {
    let [value] = body.returned[..] else { return None };
    let fits = |(arg, ty): (usize, &TensorType)| ty.dtype == inputs[arg / 2].dtype;
    if body.args.len() != 2 * inputs.len() || !body.args.iter().enumerate().all(fits) {
        return None;
    }
    if let Some(key) = plain(body) {
        return Some(vec![key]);
    }
    by_cases(body, inputs.len(), value)
}

/// Returns the key if the comparator is a single comparison of the elements of an operand.
fn plain(body: &Body) -> Option<Key> {
    let ([BodyInst { op: Op::Compare(compare), operands, .. }], [value]) =
        (&body.insts[..], &body.returned[..])
    else {
        return None;
    };
    let (&[a, b], true) = (&operands[..], *value == body.args.len()) else { return None };
    let in_order = match (a % 2, b) {
        (0, b) if b == a + 1 => true,
        (1, b) if b + 1 == a => false,
        _ => return None,
    };
    let dtype = body.args.get(a)?.dtype;
    Numbers::of(dtype, false)?;
    let descending = match compare.direction {
        ComparisonDirection::Lt => !in_order,
        ComparisonDirection::Gt => in_order,
        _ => return None,
    };
    let is_total = !dtype.is_float() || compare.kind == Some(CompareKind::TotalOrder);
    let order = if is_total { Order::Total } else { Order::Numbers };
    Some(Key { operand: a / 2, dtype, order, descending })
}

/// Returns the keys of a comparator that is not a single comparison, by evaluating it in all cases.
fn by_cases(body: &Body, operands: usize, value: usize) -> Option<Vec<Key>> {
    let support = support(body)?;
    let compared: Vec<usize> = (0..operands).filter(|i| support[value] >> i & 1 == 1).collect();
    if compared.is_empty() || compared.len() > MAX_KEYS {
        return None;
    }
    let mut truth = Vec::with_capacity(compared.len());
    for operand in &compared {
        truth.push(relations(body, *operand, &support, value)?);
    }
    let orders: Vec<Key> = compared
        .iter()
        .zip(&truth)
        .map(|(operand, (order, _))| {
            let dtype = body.args[2 * operand].dtype;
            Key { operand: *operand, dtype, order: *order, descending: false }
        })
        .collect();
    // All combinations of relations, with the values of the booleans in each.
    let cases = 1usize << (2 * compared.len());
    let mut columns: Columns = vec![None; body.args.len() + body.insts.len()];
    for (k, (_, parts)) in truth.iter().enumerate() {
        for (part, holds) in parts {
            columns[*part] = Some((0..cases).map(|case| u64::from(holds[relation(case, k)])).collect());
        }
    }
    case_analysis::evaluate(body, &mut columns, false);
    let less = columns.swap_remove(value)?;
    lexicographic(&orders, &mut vec![None; orders.len()], &less)
}

/// Returns the relation of the elements of key `k` in a case.
fn relation(case: usize, k: usize) -> usize {
    case >> (2 * k) & 3
}

/// Returns, for each value, the operands whose elements it depends on, as a bit set.
fn support(body: &Body) -> Option<Vec<u64>> {
    let operands = body.args.len() / 2;
    if operands > 64 {
        return None;
    }
    let mut support: Vec<u64> = (0..body.args.len()).map(|arg| 1 << (arg / 2)).collect();
    for inst in &body.insts {
        support.push(inst.operands.iter().fold(0, |all, x| all | support[*x]));
    }
    Some(support)
}

/// Returns the order in which the comparator compares the elements of an operand. Also returns the booleans
/// that depend only on these elements and that the rest of the comparator uses, with their values for each
/// relation of two elements.
fn relations(body: &Body, operand: usize, support: &[u64], value: usize) -> Option<(Order, Vec<PartTruth>)> {
    let own = |v: usize| support[v] == 1 << operand;
    let is_pred = |v: usize| case_analysis::dtype_of(body, v) == DType::Pred;
    let used = |v: usize| {
        let beyond = |(i, inst): (usize, &_)| {
            let inst: &super::super::BodyInst = inst;
            !own(body.args.len() + i) && inst.operands.contains(&v)
        };
        v == value || body.insts.iter().enumerate().any(beyond)
    };
    let parts: Vec<usize> = (0..support.len()).filter(|v| own(*v) && is_pred(*v) && used(*v)).collect();
    let dtype = body.args[2 * operand].dtype;
    let [left, right] = case_analysis::pairs(&case_analysis::kinds(body, dtype)?);
    let tried = [false, true].map(|flush| {
        let mut columns: Columns = vec![None; support.len()];
        columns[2 * operand] = Some(left.clone());
        columns[2 * operand + 1] = Some(right.clone());
        case_analysis::evaluate(body, &mut columns, flush);
        columns
    });
    let orders =
        if dtype.is_float() { &[Order::Total, Order::Jax, Order::Numbers][..] } else { &[Order::Total] };
    orders.iter().find_map(|order| {
        let mut said = vec![[None; 4]; parts.len()];
        for (flush, columns) in [false, true].into_iter().zip(&tried) {
            let numbers = Numbers::of(dtype, flush)?;
            for (case, (x, y)) in left.iter().zip(&right).enumerate() {
                let relation = order.relation(numbers, *x, *y);
                for (part, said) in parts.iter().zip(&mut said) {
                    let holds = columns[*part].as_ref()?[case] == 1;
                    if *said[relation].get_or_insert(holds) != holds {
                        return None;
                    }
                }
            }
        }
        let holds = |said: [Option<bool>; 4]| said.map(|holds| holds.unwrap_or(false));
        Some((*order, parts.iter().copied().zip(said.into_iter().map(holds)).collect()))
    })
}

impl Order {
    fn relation(self, numbers: Numbers, x: u64, y: u64) -> usize {
        let (x, y) = match self {
            Order::Total => (x, y),
            Order::Jax => (numbers.number(x).unwrap_or(u64::MAX), numbers.number(y).unwrap_or(u64::MAX)),
            Order::Numbers => match (numbers.number(x), numbers.number(y)) {
                (Some(x), Some(y)) => (x, y),
                _ => return UNORDERED,
            },
        };
        match x.cmp(&y) {
            std::cmp::Ordering::Less => LESS,
            std::cmp::Ordering::Equal => EQUAL,
            std::cmp::Ordering::Greater => GREATER,
        }
    }
}

/// Returns keys in order of significance, if the comparator compares lexicographically by them. `less` is the
/// comparator's result in each case. `fixed` has an entry for each key: [`EQUAL`] for keys that have been
/// found already, `None` for other keys.
fn lexicographic(keys: &[Key], fixed: &mut Vec<Option<usize>>, less: &[u64]) -> Option<Vec<Key>> {
    // Returns the comparator's result if it is the same in all possible cases in which the keys found so far
    // are equal and, if `k` is given, the key `k.0` has the relation `k.1`.
    let all = |fixed: &[Option<usize>], k: Option<(usize, usize)>| {
        let fits = |case: &usize| {
            let of = |k: usize| {
                let r = relation(*case, k);
                if keys[k].order != Order::Numbers && r == UNORDERED { None } else { Some(r) }
            };
            let is_possible = (0..keys.len()).all(|k| of(k).is_some());
            is_possible
                && fixed.iter().enumerate().all(|(k, f)| f.is_none_or(|r| of(k) == Some(r)))
                && k.is_none_or(|(k, r)| of(k) == Some(r))
        };
        let mut said = (0..less.len()).filter(fits).map(|case| less[case] == 1);
        let first = said.next();
        if said.all(|holds| Some(holds) == first) { first } else { None }
    };
    if all(fixed, None) == Some(false) {
        return Some(Vec::new());
    }
    (0..keys.len()).filter(|k| fixed[*k].is_none()).collect::<Vec<_>>().into_iter().find_map(|k| {
        let [is_less, is_greater] = [LESS, GREATER].map(|r| all(fixed, Some((k, r))));
        let unordered = keys[k].order == Order::Numbers && all(fixed, Some((k, UNORDERED))) != Some(false);
        let descending = match (is_less, is_greater, unordered) {
            (Some(true), Some(false), false) => false,
            (Some(false), Some(true), false) => true,
            _ => return None,
        };
        fixed[k] = Some(EQUAL);
        let rest = lexicographic(keys, fixed, less);
        fixed[k] = None;
        let mut found = vec![Key { descending, ..keys[k] }];
        found.extend(rest?);
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use farcall_ir::op::Compare;

    use super::*;

    #[test]
    fn one_comparison_matches_its_cases() {
        let mut known = 0;
        for dtype in DType::VARIANTS {
            for direction in ComparisonDirection::VARIANTS {
                for kind in [None, Some(CompareKind::Float), Some(CompareKind::TotalOrder)] {
                    for operands in [vec![2, 3], vec![3, 2], vec![0, 3], vec![2, 2]] {
                        let scalar = |dtype| TensorType::scalar(dtype);
                        let args = [DType::S32, DType::S32, dtype, dtype].map(scalar).to_vec();
                        let op = Op::Compare(Compare { direction, kind });
                        let inst = BodyInst { op, operands, ty: scalar(DType::Pred), reducer: None };
                        let body = Body { args, insts: vec![inst], returned: vec![4] };
                        if let Some(key) = plain(&body) {
                            assert_eq!(by_cases(&body, 2, 4), Some(vec![key]), "cases of {body:?}");
                            known += 1;
                        }
                    }
                }
            }
        }
        assert!(known > 100, "only {known} comparators were compared");
    }
}
