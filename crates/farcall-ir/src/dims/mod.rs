//! Arithmetic on dimensions: strides, joining adjacent dimensions, and the dimension numbers of gathers and
//! scatters ([`indexed`]).
//!
//! Type inference, the evaluator, passes and kernels share these functions. They use only sizes and dimension
//! numbers, never elements. Any size and any dimension number is accepted: arithmetic saturates, and
//! functions that need valid numbers return `None` for invalid ones.

pub mod indexed;

pub use indexed::{IndexedDims, Placement};

/// Returns the strides of a row-major tensor with dimensions of these sizes, in elements.
pub fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; sizes.len()];
    for d in (1..sizes.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(sizes[d]);
    }
    strides
}

/// Returns the dimensions of a tensor of this rank that none of the lists names, in ascending order.
pub fn others(rank: usize, named: &[&[usize]]) -> Vec<usize> {
    (0..rank).filter(|d| named.iter().all(|list| !list.contains(d))).collect()
}

/// Joins adjacent dimensions, given from outer to inner. `joined` takes an outer dimension and the adjacent
/// inner one. It returns one dimension that replaces both; `None` if the two have to be walked separately.
pub fn join<D>(dims: impl IntoIterator<Item = D>, joined: impl Fn(&D, &D) -> Option<D>) -> Vec<D> {
    let dims = dims.into_iter();
    let mut all: Vec<D> = Vec::with_capacity(dims.size_hint().0);
    for inner in dims {
        match all.last_mut().and_then(|outer| Some((joined(outer, &inner)?, outer))) {
            Some((both, outer)) => *outer = both,
            None => all.push(inner),
        }
    }
    all
}

/// Returns true if an outer dimension of stride `outer` and an inner dimension of stride `inner` and size
/// `inner_size` can be walked as one dimension of stride `inner`.
pub fn continues(outer: usize, inner_size: usize, inner: usize) -> bool {
    inner.checked_mul(inner_size) == Some(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_row_major_and_saturate() {
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(strides(&[]), [] as [usize; 0]);
        assert_eq!(strides(&[0, usize::MAX, 2]), [usize::MAX, 2, 1]);
    }

    #[test]
    fn contiguous_dimensions_join() {
        let join = |dims: &[(usize, usize)]| {
            join(dims.iter().copied(), |outer, inner| {
                continues(outer.1, inner.0, inner.1).then(|| (outer.0 * inner.0, inner.1))
            })
        };
        assert_eq!(join(&[(2, 12), (3, 4), (4, 1)]), [(24, 1)]);
        assert_eq!(join(&[(2, 24), (3, 4), (4, 1)]), [(2, 24), (12, 1)]);
        assert_eq!(join(&[(2, usize::MAX), (usize::MAX, 2)]), [(2, usize::MAX), (usize::MAX, 2)]);
        assert_eq!(join(&[]), []);
    }
}
