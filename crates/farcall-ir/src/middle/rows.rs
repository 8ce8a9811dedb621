//! Views of tensors as rows. A row is a run of contiguous elements that a reduction combines into one
//! element, or that a broadcast fills with copies of one element. The pass `fuse` and the kernels share these
//! views, to compute tensors row by row.

use crate::types::TensorType;

/// Number of elements of each row, if a reduction over these dimensions reduces each row to one element.
pub fn reduced(x: &TensorType, dims: &[usize]) -> Option<usize> {
    x.elements()?;
    split(x, |d| !dims.contains(&d)).map(|[_, columns]| columns).filter(|columns| *columns > 1)
}

/// Number of elements of the result, if a reduction over these dimensions combines corresponding elements of
/// all rows. A reduction of all elements to a single element counts as well.
pub fn accumulated(x: &TensorType, dims: &[usize]) -> Option<usize> {
    x.elements()?;
    split(x, |d| dims.contains(&d)).filter(|[rows, _]| *rows > 1).map(|[_, columns]| columns)
}

/// Number of elements of each row, if a broadcast makes a row of each element.
pub fn repeated(from: &TensorType, to: &TensorType, dims: &[usize]) -> Option<usize> {
    let elements = from.elements()?;
    to.elements()?;
    if dims.len() != from.rank() || !dims.is_sorted() {
        return None;
    }
    let kept = |d: usize| {
        let i = dims.iter().position(|x| *x == d);
        i.is_some_and(|i| from.sizes()[i] == to.sizes()[d])
    };
    let [rows, columns] = split(to, kept)?;
    (elements == rows && columns > 1).then_some(columns)
}

/// Number of elements along the kept dimensions, and along the others, if the others are the inner
/// dimensions. Dimensions of size 1 count as either kind.
fn split(x: &TensorType, kept: impl Fn(usize) -> bool) -> Option<[usize; 2]> {
    let [mut rows, mut columns] = [1usize; 2];
    for (d, size) in x.sizes().iter().enumerate().filter(|(_, size)| **size != 1) {
        match kept(d) {
            true if columns == 1 => rows = rows.checked_mul(*size)?,
            true => return None,
            false => columns = columns.checked_mul(*size)?,
        }
    }
    (rows > 0 && columns > 0).then_some([rows, columns])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TensorType;
    use farcall_sig::DType;

    fn f32s<const N: usize>(sizes: [usize; N]) -> TensorType {
        TensorType::new(DType::F32, sizes)
    }

    #[test]
    fn rows_are_the_inner_dimensions() {
        assert_eq!(reduced(&f32s([2, 3, 4]), &[2]), Some(4));
        assert_eq!(reduced(&f32s([2, 3, 4]), &[2, 1]), Some(12));
        assert_eq!(reduced(&f32s([2, 3, 1]), &[1]), Some(3));
        assert_eq!(reduced(&f32s([3]), &[0]), Some(3));
        assert_eq!(reduced(&f32s([2, 3, 4]), &[1]), None);
        assert_eq!(reduced(&f32s([2, 1]), &[1]), None, "at least two elements must be combined");
        assert_eq!(reduced(&f32s([0, 3]), &[1]), None);
    }

    #[test]
    fn what_is_accumulated_lies_outside() {
        assert_eq!(accumulated(&f32s([2, 3, 4]), &[0]), Some(12));
        assert_eq!(accumulated(&f32s([2, 3, 4]), &[0, 1]), Some(4));
        assert_eq!(accumulated(&f32s([2, 3, 4]), &[0, 1, 2]), Some(1));
        assert_eq!(accumulated(&f32s([2, 3, 4]), &[1]), None);
        assert_eq!(accumulated(&f32s([1, 3]), &[0]), None, "at least two elements must be combined");
    }

    #[test]
    fn a_broadcast_repeats_what_lies_outside() {
        assert_eq!(repeated(&f32s([2]), &f32s([2, 3]), &[0]), Some(3));
        assert_eq!(repeated(&f32s([2, 1]), &f32s([2, 3]), &[0, 1]), Some(3));
        assert_eq!(repeated(&f32s([]), &f32s([3]), &[]), Some(3));
        assert_eq!(repeated(&f32s([3]), &f32s([2, 3]), &[1]), None);
        assert_eq!(repeated(&f32s([3]), &f32s([3, 3]), &[1]), None);
        assert_eq!(
            repeated(&f32s([2]), &f32s([2, 1]), &[0]),
            None,
            "elements must be repeated at least twice"
        );
    }
}
