//! Iterates over several iterators at once.

/// Iterates over several iterators of equal length at once:
/// `for (x, &scale, y) in zip!(x.rows(), scales.iter(), y.rows_mut())`.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// /// Computes `y = a·x + b`.
/// #[handler(name = "affine")]
/// fn affine(x: &Buffer<f32>, a: &Buffer<f32>, b: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
///     zip!(x.iter(), a.iter(), b.iter(), y.iter_mut()).for_each(|(x, a, b, y)| *y = a * x + b);
///     Ok(())
/// }
/// ```
///
/// # Panics
/// If the lengths of the iterators differ.
#[macro_export]
macro_rules! zip {
    (@flat $pattern:pat => ($($item:ident)*);) => { |$pattern| ($($item,)*) };
    (@flat $pattern:pat => ($($item:ident)*); $_next:expr $(, $rest:expr)*) => {
        $crate::zip!(@flat ($pattern, next) => ($($item)* next); $($rest),*)
    };
    ($first:expr, $($rest:expr),+ $(,)?) => {{
        let zipped = ::std::iter::IntoIterator::into_iter($first);
        $(let zipped = $crate::__private::zip_two(zipped, $rest);)+
        zipped.map($crate::zip!(@flat first => (first); $($rest),+))
    }};
}

/// Pairs the items of two iterators of equal length.
///
/// # Panics
/// If the lengths of the iterators differ.
#[track_caller]
pub fn zip_two<A, B>(first: A, second: B) -> std::iter::Zip<A, B::IntoIter>
where
    A: ExactSizeIterator,
    B: IntoIterator<IntoIter: ExactSizeIterator>,
{
    let second = second.into_iter();
    let (n, m) = (first.len(), second.len());
    assert!(n == m, "{n} items cannot be zipped with {m}");
    first.zip(second)
}

#[cfg(test)]
mod tests {
    #[test]
    fn flat_tuples() {
        let mut y = [0; 2];
        for (i, a, b, y) in crate::zip!(0..2, [1, 2], &[3, 4], y.iter_mut()) {
            *y = i + 10 * a + 100 * b;
        }
        assert_eq!(y, [310, 421]);
        assert_eq!(crate::zip!([1], [2]).collect::<Vec<_>>(), [(1, 2)]);
    }

    #[test]
    #[should_panic(expected = "2 items cannot be zipped with 3")]
    fn all_of_one_length() {
        let _ = crate::zip!([1, 2], [1, 2], [1, 2, 3]);
    }
}
