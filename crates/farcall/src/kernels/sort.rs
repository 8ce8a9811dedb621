//! `sort` by comparators that it recognizes: `LT` or `GT` on the elements of an operand, or lexicographically on
//! those of several operands, with JAX's order of floats if the comparator uses it.
//!
//! Elements are mapped to integers of the same order. Lines with elements that are neither less than, greater than
//! nor equal to others (NaNs) are merged like in the evaluator, to produce the same permutation.

use farcall_ir::op::{Binary, Compare, CompareKind, Direction};
use farcall_ir::{DType, Op, Scalar};

use super::args::{Args, Prepared};
use super::body::Body;
use super::number::Number;
use super::types::{by_size, dispatch};
use super::{Kernel, Request, nothing};

pub(super) static KERNEL: Kernel =
    Kernel { name: "sort", prepare, in_place: |output, input| output == input, describe: nothing };

/// Elements from which on a run may take long.
const SLOW: usize = 1 << 16;

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Sort { dim, .. }, [body]) = (request.op, request.bodies) else { return None };
    let first = request.inputs.first()?;
    let elements = first.elements()?;
    let (inputs, outputs) = (request.inputs, request.outputs);
    if inputs != outputs || inputs.iter().any(|x| x.sizes() != first.sizes()) {
        return None;
    }
    let types: Vec<DType> = inputs.iter().map(|x| x.dtype).collect();
    let keys: Vec<Key> = order(body, *body.returned.first()?, &types)?;
    let read: Vec<ReadKeys> = keys.iter().map(Key::reader).collect::<Option<_>>()?;
    let length = *first.sizes().get(*dim)?;
    u32::try_from(length).ok()?;
    let mut permute = Vec::with_capacity(types.len());
    for dtype in &types {
        permute.push(by_size!(dtype.size(), T => permute_line::<T> as Permute)?);
    }
    let inner = if elements == 0 { 0 } else { first.sizes()[dim + 1..].iter().product() };
    let layout = Layout::new(length, keys.len())?;
    let bytes = layout.end;
    let sorter = Sorter { types, keys, read, permute, length, inner, layout };
    let prepared = Prepared::new(move |args| {
        for line in 0..elements.checked_div(length).unwrap_or(0) {
            sorter.line(args, line / inner * inner * length + line % inner);
        }
    });
    Some(if elements < SLOW { prepared } else { prepared.slow() }.with_scratch(bytes))
}

/// An operand by which lines are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    operand: usize,
    dtype: DType,
    order: Order,
    descending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// As numbers compare: zeros are equal, and a NaN is neither less nor greater than anything.
    Numbers,
    /// By their bits, `-NaN < -inf < … < -0 < +0 < … < inf < NaN`.
    Total,
    /// As JAX sorts: zeros are equal, and NaNs, which are equal, too, come last.
    Jax,
}

/// What a comparator's value says of the order, the most significant key first.
fn order(body: &Body, value: usize, types: &[DType]) -> Option<Vec<Key>> {
    if body.args.len() != 2 * types.len() {
        return None;
    }
    let inst = body.inst(value)?;
    match (&inst.op, &inst.operands[..]) {
        (Op::Compare(_), _) => Some(vec![comparison(body, value, types)?.0]),
        // a < b, or a = b and so on.
        (Op::Binary(Binary::Or), &[x, y]) => [(x, y), (y, x)].into_iter().find_map(|(less, rest)| {
            let (key, false) = comparison(body, less, types)? else { return None };
            let and = body.inst(rest).filter(|and| and.op == Op::Binary(Binary::And))?;
            let &[x, y] = &and.operands[..] else { return None };
            [(x, y), (y, x)].into_iter().find_map(|(equal, rest)| {
                let (same, true) = comparison(body, equal, types)? else { return None };
                let mut keys = vec![Key { descending: key.descending, ..same }];
                keys.retain(|same| *same == key);
                keys.first()?;
                keys.extend(order(body, rest, types)?);
                Some(keys)
            })
        }),
        _ => None,
    }
}

/// The comparison that makes a value: of which operand's elements, and whether for being equal.
fn comparison(body: &Body, value: usize, types: &[DType]) -> Option<(Key, bool)> {
    let inst = body.inst(value)?;
    let (Op::Compare(Compare { direction, kind }), &[x, y]) = (&inst.op, &inst.operands[..]) else {
        return None;
    };
    let ((x, jax), (y, other)) = (element(body, x), element(body, y));
    let operand = x / 2;
    let dtype = *types.get(operand)?;
    let total = *kind == Some(CompareKind::TotalOrder) && dtype.is_float();
    let order = match (total, jax) {
        (true, true) => Order::Jax,
        (true, false) => Order::Total,
        (false, false) => Order::Numbers,
        (false, true) => return None,
    };
    if jax != other || y / 2 != operand || x == y || body.args[x].dtype != dtype {
        return None;
    }
    let swapped = x > y;
    let (descending, equal) = match direction {
        Direction::Lt => (swapped, false),
        Direction::Gt => (!swapped, false),
        Direction::Eq => (false, true),
        Direction::Ne | Direction::Ge | Direction::Le => return None,
    };
    Some((Key { operand, dtype, order, descending }, equal))
}

/// The argument that a value is, and whether it is one that has been prepared as JAX does it: zeros made one zero,
/// NaNs one NaN. (For any other value, itself: no argument.)
fn element(body: &Body, value: usize) -> (usize, bool) {
    // select(x ≠ x, NaN, select(x = 0, 0, x))
    let inner = || {
        let (x, nan, rest) = select(body, value, Direction::Ne)?;
        let (y, zero, same) = select(body, rest, Direction::Eq)?;
        let positive = |s: Scalar| matches!(s, Scalar::Float(f) if f.is_nan() && f.is_sign_positive());
        let is_zero = |s: Scalar| matches!(s, Scalar::Float(0.0));
        let compared = body.inst(y)?.operands.clone();
        let tested = body.inst(x)?.operands.clone();
        let fits = tested == [same, same] && compared[0] == same && is_zero(constant(body, compared[1])?);
        (fits && positive(constant(body, nan)?) && is_zero(constant(body, zero)?)).then_some(same)
    };
    match inner() {
        Some(x) if x < body.args.len() => (x, true),
        _ => (value, false),
    }
}

/// The predicate, which is a comparison in this direction, and both values of a selection.
fn select(body: &Body, value: usize, direction: Direction) -> Option<(usize, usize, usize)> {
    let inst = body.inst(value).filter(|inst| inst.op == Op::Select)?;
    let &[p, x, y] = &inst.operands[..] else { return None };
    let compare = body.inst(p)?;
    let total = Some(CompareKind::TotalOrder);
    let fits = matches!(&compare.op, Op::Compare(c) if c.direction == direction && c.kind != total);
    (fits && compare.operands.len() == 2).then_some((p, x, y))
}

fn constant(body: &Body, value: usize) -> Option<Scalar> {
    match &body.inst(value)?.op {
        Op::Constant(literal) => literal.iter().next(),
        _ => None,
    }
}

/// Stands for an element that is neither less nor greater than others.
const UNORDERED: u64 = u64::MAX;

/// Reads the elements from an address on, at a distance, as integers of the same order. True if one is
/// [`UNORDERED`].
type ReadKeys = Box<dyn Fn(*const u8, usize, &mut [u64]) -> bool + Send + Sync>;

/// What [`ReadKeys`] does, with the key of each element.
fn read_keys<T: Copy + 'static>(key: impl Fn(T) -> u64 + Send + Sync + 'static) -> ReadKeys {
    Box::new(move |x, stride, keys| {
        let mut unordered = false;
        for (i, to) in keys.iter_mut().enumerate() {
            // SAFETY: the address is that of a line of elements of this type.
            *to = key(unsafe { x.cast::<T>().add(i * stride).read() });
            unordered |= *to == UNORDERED;
        }
        unordered
    })
}

impl Key {
    fn may_be_unordered(&self) -> bool {
        self.order == Order::Numbers && self.dtype.is_float()
    }

    fn reader(&self) -> Option<ReadKeys> {
        let Key { dtype, order, descending, .. } = *self;
        let all = u64::MAX >> 64usize.checked_sub(8 * dtype.size())?;
        let flip = if descending { all } else { 0 };
        macro_rules! float {
            ($t:ty, $nan:expr) => {{
                let (sign, one) = (all / 2 + 1, <$t>::opaque_one());
                let total = move |x: $t| {
                    let bits = u64::from(x.to_bits());
                    if bits & sign == 0 { bits | sign } else { !bits & all }
                };
                let number = move |x: $t| {
                    let settled = x.settle(one);
                    if settled == <$t as Number>::ZERO { sign } else { total(settled) }
                };
                match order {
                    Order::Total => read_keys(move |x: $t| total(x) ^ flip),
                    Order::Jax => {
                        let nan = total($nan);
                        read_keys(move |x: $t| (if x.is_nan() { nan } else { number(x) }) ^ flip)
                    }
                    Order::Numbers => {
                        read_keys(move |x: $t| if x.is_nan() { UNORDERED } else { number(x) ^ flip })
                    }
                }
            }};
        }
        Some(match dtype {
            DType::F16 => float!(half::f16, half::f16::NAN),
            DType::BF16 => float!(half::bf16, half::bf16::NAN),
            DType::F32 => float!(f32, f32::NAN.copysign(1.0)),
            DType::F64 => float!(f64, f64::NAN.copysign(1.0)),
            _ => {
                return dispatch!(dtype, [ints, pred], T => {
                    read_keys(move |x: T| (i128::from(x) - i128::from(T::MIN)) as u64 ^ flip)
                });
            }
        })
    }
}

/// Gives the elements of a line a new order: element `order[i]` comes to be number `i`.
type Permute = unsafe fn(x: *const u8, out: *mut u8, stride: usize, order: &[u32], room: *mut u8);

/// # Safety
/// `x` and `out` are lines of elements of the size of `T`, the same one or apart; `order` has numbers of these;
/// there is room for as many.
unsafe fn permute_line<T: Copy>(x: *const u8, out: *mut u8, stride: usize, order: &[u32], room: *mut u8) {
    let (x, out, room) = (x.cast::<T>(), out.cast::<T>(), room.cast::<T>());
    for (i, from) in order.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { room.add(i).write(x.add(*from as usize * stride).read()) };
    }
    for i in 0..order.len() {
        // SAFETY: the caller's promise.
        unsafe { out.add(i * stride).write(room.add(i).read()) };
    }
}

struct Sorter {
    /// Element types of the operands.
    types: Vec<DType>,
    keys: Vec<Key>,
    read: Vec<ReadKeys>,
    permute: Vec<Permute>,
    /// Elements of a line, and the distance between them.
    length: usize,
    inner: usize,
    layout: Layout,
}

/// Where parts of the scratch memory begin: numbers of elements in order and room for as many, keys, and room for
/// elements, of which each takes up to 16 bytes.
struct Layout {
    spare: usize,
    keys: usize,
    room: usize,
    end: usize,
}

impl Layout {
    fn new(length: usize, count: usize) -> Option<Layout> {
        let part = |size: usize| length.checked_mul(size)?.checked_next_multiple_of(64);
        let spare = part(4)?;
        let keys = spare.checked_mul(2)?;
        let room = keys.checked_add(part(count.checked_mul(8)?)?)?;
        Some(Layout { spare, keys, room, end: room.checked_add(part(16)?)? })
    }
}

impl Sorter {
    /// Sorts the line that begins at this element.
    fn line(&self, args: &Args<'_>, begin: usize) {
        let (n, layout) = (self.length, &self.layout);
        // SAFETY: bytes that nothing else refers to.
        let scratch = unsafe { args.scratch::<u8>() }.as_mut_ptr();
        // SAFETY: the parts of the scratch memory, which are apart, and aligned.
        let (order, spare, keys, packed) = unsafe {
            (
                std::slice::from_raw_parts_mut(scratch.cast::<u32>(), n),
                std::slice::from_raw_parts_mut(scratch.add(layout.spare).cast::<u32>(), n),
                std::slice::from_raw_parts_mut(scratch.add(layout.keys).cast::<u64>(), n * self.keys.len()),
                std::slice::from_raw_parts_mut(scratch.add(layout.room).cast::<u128>(), n),
            )
        };
        let mut unordered = false;
        for ((key, read), keys) in self.keys.iter().zip(&self.read).zip(keys.chunks_exact_mut(n)) {
            // SAFETY: an element of the operand.
            let x = unsafe { args.input_ptr::<u8>(key.operand).add(begin * key.dtype.size()) };
            unordered |= read(x, self.inner, keys) && key.may_be_unordered();
        }
        match self.keys[..] {
            [key] if !unordered => by_one(keys, key.dtype.size() > 4, order, packed),
            _ if !unordered => {
                order.iter_mut().zip(0..).for_each(|(at, i)| *at = i);
                order.sort_unstable_by(|a, b| {
                    let key = |i: u32| keys.chunks_exact(n).map(move |keys| keys[i as usize]);
                    key(*a).cmp(key(*b)).then(a.cmp(b))
                });
            }
            _ => merge_sort(order, spare, |a, b| self.less(keys, a as usize, b as usize)),
        }
        for (i, (dtype, permute)) in self.types.iter().zip(&self.permute).enumerate() {
            let at = begin * dtype.size();
            // SAFETY: lines of the operand and the result; there is room for elements of any size.
            unsafe {
                let (x, out) = (args.input_ptr::<u8>(i).add(at), args.output_ptr::<u8>(i).add(at));
                permute(x, out, self.inner, order, scratch.add(layout.room));
            }
        }
    }

    /// What the comparator says of two elements.
    fn less(&self, keys: &[u64], a: usize, b: usize) -> bool {
        for (key, keys) in self.keys.iter().zip(keys.chunks_exact(self.length)) {
            let (a, b) = (keys[a], keys[b]);
            if key.may_be_unordered() && (a == UNORDERED || b == UNORDERED) {
                return false;
            }
            if a != b {
                return a < b;
            }
        }
        false
    }
}

/// A stable order by one key: key and number are sorted as one integer.
fn by_one(keys: &mut [u64], wide: bool, order: &mut [u32], packed: &mut [u128]) {
    if wide {
        packed.iter_mut().zip(&*keys).zip(0u32..).for_each(|((to, key), i)| {
            *to = u128::from(*key) << 32 | u128::from(i);
        });
        packed.sort_unstable();
        order.iter_mut().zip(packed).for_each(|(to, from)| *to = *from as u32);
    } else {
        keys.iter_mut().zip(0u32..).for_each(|(key, i)| *key = *key << 32 | u64::from(i));
        keys.sort_unstable();
        order.iter_mut().zip(keys).for_each(|(to, from)| *to = *from as u32);
    }
}

/// The evaluator's merge sort: the same questions, and so the same order, whatever `less` says.
fn merge_sort(order: &mut [u32], spare: &mut [u32], less: impl Fn(u32, u32) -> bool) {
    order.iter_mut().zip(0..).for_each(|(at, i)| *at = i);
    let mut width = 1;
    while width < order.len() {
        for (run, merged) in order.chunks(2 * width).zip(spare.chunks_mut(2 * width)) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            for to in merged {
                // The right one goes first only if it is less: equal ones keep their order.
                let from = match (left.first(), right.first()) {
                    (Some(l), Some(r)) if less(*r, *l) => &mut right,
                    (None, _) => &mut right,
                    _ => &mut left,
                };
                if let Some((next, rest)) = from.split_first() {
                    (*to, *from) = (*next, rest);
                }
            }
        }
        order.copy_from_slice(spare);
        width *= 2;
    }
}
