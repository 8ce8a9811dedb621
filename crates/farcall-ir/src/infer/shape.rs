//! Compatibility of types and arithmetic on sizes.
//!
//! Two types are compatible if they could be equal once every dynamic dimension is known. For static types
//! this is equality, except that scales and zero points of quantized types are ignored.

use farcall_sig::DType;

use crate::op::Class;
use crate::types::{Dim, TensorType, Type};

/// Returns true if two lists of dimensions are compatible.
pub(crate) fn same_dims(
    a: impl ExactSizeIterator<Item = Dim>,
    b: impl ExactSizeIterator<Item = Dim>,
) -> bool {
    a.len() == b.len() && a.zip(b).all(|(a, b)| a.may_equal(b))
}

/// Returns true if the shapes are compatible, including bounds.
pub(crate) fn compatible_dims(a: &TensorType, b: &TensorType) -> bool {
    let fits = |a: Dim, b: Dim| a.size().zip(b.bound()).is_none_or(|(size, bound)| size <= bound);
    same_dims(a.dims(), b.dims()) && a.dims().zip(b.dims()).all(|(a, b)| fits(a, b) && fits(b, a))
}

/// Returns true if the element types are equal, or quantized with the same storage, expressed type and
/// granularity.
pub(crate) fn compatible_elements(a: &TensorType, b: &TensorType) -> bool {
    a.dtype == b.dtype
        && match (&a.quant, &b.quant) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                (a.storage_min, a.storage_max) == (b.storage_min, b.storage_max)
                    && a.expressed == b.expressed
                    && a.axis.is_some() == b.axis.is_some()
            }
            _ => false,
        }
}

/// Returns true if the types are compatible.
pub(crate) fn compatible(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => compatible_dims(a, b) && compatible_elements(a, b),
        (Type::Future(a), Type::Future(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| compatible(a, b))
        }
        _ => a == b,
    }
}

/// Combines two compatible shapes: a dimension known in either one is known in the result. The element type
/// comes from `a`.
pub(crate) fn most_specific(a: &TensorType, b: &TensorType) -> TensorType {
    if a.is_static() {
        return a.clone();
    }
    a.with_dims(a.dims().zip(b.dims()).map(|(a, b)| a.or(b)))
}

/// Returns true if elements of type `from` may be accumulated in type `to`: a type of the same kind that is
/// not narrower. Floating-point types may be narrower, because the precision of floats is left to the
/// accelerator.
pub(crate) fn promotable(from: &TensorType, to: &TensorType) -> bool {
    let integral = Class::PRED | Class::INT;
    let wide_enough = from.dtype.bits() <= to.dtype.bits();
    match (&from.quant, &to.quant) {
        (None, None) if integral.has(from) => integral.has(to) && wide_enough,
        (None, None) if Class::FLOAT.has(from) => Class::FLOAT.has(to),
        (None, None) => Class::COMPLEX.has(to) && wide_enough,
        (Some(a), Some(b)) => a.expressed == b.expressed && wide_enough,
        _ => false,
    }
}

/// Returns true if the element types are equal or both floating-point.
pub(crate) fn equal_up_to_precision(a: &TensorType, b: &TensorType) -> bool {
    compatible_elements(a, b) || (Class::FLOAT.has(a) && Class::FLOAT.has(b))
}

/// Returns true for a tensor of rank 0 of this element type.
pub(crate) fn is_scalar(ty: &Type, dtype: DType) -> bool {
    ty.tensor().is_some_and(|t| t.rank() == 0 && t.dtype == dtype && t.quant.is_none())
}

/// One dimension of a window that moves over an operand.
#[derive(Clone, Copy)]
pub(crate) struct WindowDim {
    pub(crate) size: Dim,
    pub(crate) stride: usize,
    pub(crate) padding: (i64, i64),
    pub(crate) base_dilation: usize,
    pub(crate) dilation: usize,
}

impl WindowDim {
    /// Returns the number of windows that fit into a dimension of size `base`. `stride` must not be 0.
    pub(crate) fn count(self, base: Dim) -> Dim {
        let (Dim::Static(base), Dim::Static(size)) = (base, self.size) else { return Dim::UNBOUNDED };
        let dilated = |size: usize, dilation: usize| match size {
            0 => 0,
            n => wide(n - 1).saturating_mul(wide(dilation)).saturating_add(1),
        };
        let (low, high) = self.padding;
        let padded = dilated(base, self.base_dilation) + i128::from(low) + i128::from(high);
        let window = dilated(size, self.dilation);
        if padded <= 0 || window > padded {
            return Dim::Static(0);
        }
        Dim::Static(narrow((padded - window) / wide(self.stride).max(1) + 1))
    }
}

/// Converts a size for arithmetic that cannot overflow for any program.
pub(crate) fn wide(size: usize) -> i128 {
    i64::try_from(size).map_or(i128::from(i64::MAX), i128::from)
}

/// Clamps the result of size arithmetic to a valid size. Tensors that are too large are reported elsewhere.
pub(crate) fn narrow(size: i128) -> usize {
    usize::try_from(size.clamp(0, i128::from(i64::MAX))).unwrap_or(usize::MAX)
}
