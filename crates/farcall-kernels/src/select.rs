//! Selection of the first elements of a line in some order. In a long line, an element is examined further
//! only if it comes before the last of the candidates found so far.
//!
//! An element is converted to an integer, its key; keys have the requested order. The rank of an element has
//! its key in the upper bits and its position in the lower bits. Ranks are therefore distinct, and elements
//! with equal keys come in the order of the line.

/// Number of elements that are compared at once.
const LANES: usize = 32;

/// An unsigned integer by which elements are ordered: lower ones come first.
pub(super) trait Key: Ord + Copy + 'static {
    /// An integer with room for a key and a position.
    type Rank: Ord + Copy + 'static;
    /// Returns a rank that is lower for lower keys, and for earlier positions of equal keys.
    fn rank(self, place: u32) -> Self::Rank;
    /// Returns the key of a rank.
    fn of(rank: Self::Rank) -> Self;
    /// Returns the position of a rank.
    fn place(rank: Self::Rank) -> u32;
}

macro_rules! keys {
    ($($t:ty, $rank:ty;)*) => {$(
        impl Key for $t {
            type Rank = $rank;
            #[inline(always)]
            fn rank(self, place: u32) -> $rank {
                <$rank>::from(self) << 32 | <$rank>::from(place)
            }
            #[inline(always)]
            fn of(rank: $rank) -> $t {
                (rank >> 32) as $t
            }
            #[inline(always)]
            fn place(rank: $rank) -> u32 {
                rank as u32
            }
        }
    )*};
}

keys! {
    u8, u64;
    u16, u64;
    u32, u64;
    u64, u128;
}

/// Number of ranks that [`first`] needs room for: the length of a line or, if few elements are requested,
/// several times the number of requested elements.
pub(super) fn room(k: usize, length: usize) -> usize {
    if k > length / 8 { length } else { (4 * k).max(256).min(length) }
}

/// Returns the ranks of the first `k` elements of a line, in order. The line has at least `k` elements, and
/// `ranks` has the length that [`room`] returns.
#[inline(always)]
pub(super) fn first<'r, X: Copy, K: Key>(
    x: &[X],
    k: usize,
    key: impl Fn(X) -> K,
    ranks: &'r mut [K::Rank],
) -> &'r [K::Rank] {
    if k == 0 {
        return &[];
    }
    let (begin, rest) = x.split_at(ranks.len());
    for ((rank, x), i) in ranks.iter_mut().zip(begin).zip(0..) {
        *rank = key(*x).rank(i);
    }
    if k < ranks.len() {
        ranks.select_nth_unstable(k);
    }
    // Returns the last key among the first `k` elements found so far. A later element is a candidate only if
    // its key comes before this one.
    let last = |ranks: &[K::Rank]| ranks[..k].iter().copied().max().map(K::of);
    let before = |x: X, last: Option<K>| last.is_some_and(|last| key(x) < last);
    let (mut least, mut taken) = (last(ranks), k);
    for (c, chunk) in rest.chunks(LANES).enumerate() {
        let some = match chunk.as_array::<LANES>() {
            Some(chunk) => chunk.iter().fold(false, |any, x| any | before(*x, least)),
            None => true,
        };
        if !some {
            continue;
        }
        for (x, i) in chunk.iter().zip(begin.len() + c * LANES..) {
            if before(*x, least) {
                ranks[taken] = key(*x).rank(i as u32);
                taken += 1;
                if taken == ranks.len() {
                    ranks.select_nth_unstable(k);
                    (least, taken) = (last(ranks), k);
                }
            }
        }
    }
    if k < taken {
        ranks[..taken].select_nth_unstable(k);
    }
    let ranks = &mut ranks[..k];
    ranks.sort_unstable();
    ranks
}
