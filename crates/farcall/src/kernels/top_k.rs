//! `chlo.top_k`: the largest elements of each line along the last dimension, largest first, and their places.
//! Equal ones come in the order of the operand; floats are in total order.
//!
//! An element becomes an integer of the reverse order, its place the lower bits of it, so that no two are equal.

use farcall_ir::{DType, Op};
use half::{bf16, f16};

use super::args::Prepared;
use super::types::dispatch;
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "top_k", prepare, in_place: apart, describe };

/// Elements from which on a run may take long.
const SLOW: usize = 1 << 16;

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::TopK { k } => format!("k {k}"),
        _ => String::new(),
    }
}

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::TopK { k }, [x], [values, places]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let (length, outer) = x.sizes().split_last()?;
    let (length, k) = (*length, *k);
    let fits = values.dtype == x.dtype && places.dtype == DType::S32 && values.sizes() == places.sizes();
    if !fits || k > length || values.sizes().split_last() != Some((&k, outer)) {
        return None;
    }
    u32::try_from(length).ok()?;
    let elements = x.elements()?;
    dispatch!(x.dtype, [ints, floats, pred], T => {
        let bytes = length.checked_mul(size_of::<<T as Ranked>::Rank>())?;
        let prepared = Prepared::new(move |args| {
            if k == 0 || elements == 0 {
                return;
            }
            // SAFETY: the operand and the results have elements of these types and are apart; there is scratch memory
            // for a line of ranks, which are integers.
            let (x, values, places, ranks) =
                unsafe { (args.input::<T>(0), args.output::<T>(0), args.output::<i32>(1), args.scratch()) };
            let results = values.chunks_exact_mut(k).zip(places.chunks_exact_mut(k));
            for (x, (values, places)) in x.chunks_exact(length).zip(results) {
                line(x, values, places, ranks);
            }
        });
        Some(if elements < SLOW { prepared } else { prepared.slow() }.with_scratch(bytes))
    })?
}

/// The largest elements of a line, of which there are as many at least as are asked for, and room for their ranks.
fn line<T: Ranked>(x: &[T], values: &mut [T], places: &mut [i32], ranks: &mut [T::Rank]) {
    let ranks = &mut ranks[..x.len()];
    for ((rank, x), i) in ranks.iter_mut().zip(x).zip(0..) {
        *rank = x.rank(i);
    }
    let k = values.len();
    if k < ranks.len() {
        ranks.select_nth_unstable(k);
    }
    ranks[..k].sort_unstable();
    for ((value, place), rank) in values.iter_mut().zip(places).zip(&*ranks) {
        let i = T::place(*rank);
        (*value, *place) = (x[i as usize].quiet(), i.cast_signed());
    }
}

/// What an element is in the order of a line.
trait Ranked: Copy + 'static {
    /// An integer with room for the bits of an element and a place.
    type Rank: Ord + Copy;
    /// Less for larger elements, and for earlier ones among those that are equal.
    fn rank(self, place: u32) -> Self::Rank;
    /// The place that is in a rank.
    fn place(rank: Self::Rank) -> u32;
    /// The element as the evaluator passes it on: NaNs of floats that it widens become quiet.
    fn quiet(self) -> Self;
}

macro_rules! ranked {
    ($($t:ty, $rank:ty, $ascending:expr, $quiet:expr;)*) => {$(
        impl Ranked for $t {
            type Rank = $rank;
            #[inline(always)]
            fn rank(self, place: u32) -> $rank {
                let all = <$rank>::MAX >> 32;
                (all - <$rank>::from($ascending(self))) << 32 | <$rank>::from(place)
            }
            #[inline(always)]
            fn place(rank: $rank) -> u32 {
                rank as u32
            }
            #[inline(always)]
            fn quiet(self) -> $t {
                $quiet(self)
            }
        }
    )*};
}

/// The bits of a float as an integer of the same order.
macro_rules! total {
    ($t:ty, $bits:ty) => {
        |x: $t| {
            let (bits, sign) = (x.quiet().to_bits(), <$bits>::MAX / 2 + 1);
            if bits & sign == 0 { bits | sign } else { !bits }
        }
    };
}

/// A NaN with its first bit set.
macro_rules! quiet {
    ($t:ty, $first:literal) => {
        |x: $t| if x.is_nan() { <$t>::from_bits(x.to_bits() | $first) } else { x }
    };
}

fn same<T>(x: T) -> T {
    x
}

ranked! {
    u8, u64, same, same;
    u16, u64, same, same;
    u32, u64, same, same;
    u64, u128, same, same;
    i8, u64, |x: i8| x.cast_unsigned() ^ 1 << 7, same;
    i16, u64, |x: i16| x.cast_unsigned() ^ 1 << 15, same;
    i32, u64, |x: i32| x.cast_unsigned() ^ 1 << 31, same;
    i64, u128, |x: i64| x.cast_unsigned() ^ 1 << 63, same;
    f16, u64, total!(f16, u16), quiet!(f16, 0x0200);
    bf16, u64, total!(bf16, u16), quiet!(bf16, 0x0040);
    f32, u64, total!(f32, u32), quiet!(f32, 0x0040_0000);
    f64, u128, total!(f64, u64), same;
}
