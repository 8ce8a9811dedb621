//! Conversions between row-major arrays and the layouts of a call.

use farcall::ir::literal::{Literal, LiteralError};
use farcall::ir::types::TensorType;

/// Returns the elements of an array in a layout, given by the dimensions from minor to major; `None` is
/// row-major.
pub(crate) fn to_layout(array: &Literal, minor_to_major: Option<&[usize]>) -> Vec<u8> {
    let places = places(array.dims(), minor_to_major);
    let mut bytes = Vec::with_capacity(array.byte_len());
    places.for_each(|i| bytes.extend_from_slice(array.element(i)));
    bytes
}

/// Returns the array of this type whose elements have the layout of [`to_layout`] in `bytes`.
///
/// # Errors
/// If an element of type `pred` is neither 0 nor 1.
pub(crate) fn from_layout(
    bytes: &[u8],
    ty: &TensorType,
    minor_to_major: Option<&[usize]>,
) -> Result<Literal, LiteralError> {
    let sizes = ty.sizes();
    let element_bytes = bytes.len() / sizes.iter().product::<usize>().max(1);
    let mut row_major = vec![0; bytes.len()];
    for (k, i) in places(sizes, minor_to_major).enumerate() {
        let element = &bytes[k * element_bytes..][..element_bytes];
        row_major[i * element_bytes..][..element_bytes].copy_from_slice(element);
    }
    Literal::from_bytes(ty.dtype, sizes, &row_major)
}

/// Returns the row-major index of each element, in the order of the elements in memory.
fn places(dims: &[usize], minor_to_major: Option<&[usize]>) -> impl Iterator<Item = usize> {
    let row_major: Vec<usize> = (0..dims.len()).rev().collect();
    let order = minor_to_major.unwrap_or(&row_major);
    // Sizes and row-major strides of the dimensions, from minor to major.
    let stride = |axis: &usize| dims[axis + 1..].iter().product::<usize>();
    let axes: Vec<(usize, usize)> = order.iter().map(|axis| (dims[*axis], stride(axis))).collect();
    (0..dims.iter().product()).map(move |mut k| {
        let mut at = 0;
        for (size, stride) in &axes {
            at += k % size * stride;
            k /= size;
        }
        at
    })
}

#[cfg(test)]
mod tests {
    use farcall::ir::DType;

    use super::*;

    #[test]
    fn layouts_are_orders_of_the_elements() {
        let array = Literal::from_slice(DType::U8, [2, 3], &[1u8, 2, 3, 4, 5, 6]);
        let check = |layout: Option<&[usize]>, expected: [u8; 6]| {
            let bytes = to_layout(&array, layout);
            assert_eq!(bytes, expected);
            assert_eq!(from_layout(&bytes, &array.ty(), layout).unwrap(), array);
        };
        check(None, [1, 2, 3, 4, 5, 6]);
        check(Some(&[1, 0]), [1, 2, 3, 4, 5, 6]);
        check(Some(&[0, 1]), [1, 4, 2, 5, 3, 6]);
        let array = Literal::from_slice(DType::U16, [2, 1, 2], &[1u16, 2, 3, 4]);
        let bytes = to_layout(&array, Some(&[0, 2, 1]));
        assert_eq!(bytes, [1u16, 3, 2, 4].map(u16::to_ne_bytes).concat());
        assert_eq!(from_layout(&bytes, &array.ty(), Some(&[0, 2, 1])).unwrap(), array);
    }

    #[test]
    fn arrays_without_elements_and_scalars() {
        let error = from_layout(&[2], &TensorType::new(DType::Pred, [1]), None);
        assert!(error.is_err());
        for array in [Literal::zeros(DType::F32, [0, 3]), Literal::from_slice(DType::F32, [], &[2f32])] {
            let bytes = to_layout(&array, None);
            assert_eq!(from_layout(&bytes, &array.ty(), None).unwrap(), array);
        }
    }
}
