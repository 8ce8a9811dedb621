//! The product of sparse and dense matrices under the name that `jax.experimental.sparse` calls.

use farcall_ffi::ANY_RANK;
use farcall_ffi::prelude::*;

use crate::compressed::{Compressed, Sizes};
use crate::number::{Index, Scalar};

/// The product of a CSR matrix and a dense vector or matrix, in place of jaxlib's handler of the same name.
///
/// The values are `data`; row `i` has those from `outer_indices[i]` to before `outer_indices[i + 1]`, in the
/// columns `inner_indices`. Entries after the last row, with which JAX pads matrices, are not read.
#[handler(name = "cpu_csr_sparse_dense_ffi")]
#[signature((data: T[e], outer_indices: I[s], inner_indices: I[e], dense: T[..]) -> (y: T[..])
    where T: s32 | s64 | f32 | f64 | c64 | c128; I: s32 | s64; s >= 1)]
#[shape(shape)]
#[samples(crate::samples::csr_sparse_dense)]
pub(crate) fn csr_sparse_dense(
    context: &Context,
    data: &AnyBuffer,
    outer_indices: &AnyBuffer,
    inner_indices: &AnyBuffer,
    dense: &AnyBuffer,
    y: &mut AnyBuffer,
) -> Result<()> {
    let expected = product_dims(outer_indices.dims(), dense.dims())?;
    ensure!(y.dims() == expected, "the result has the dimensions {:?}, not {expected:?}", y.dims());
    ensure!(
        data.dims() == inner_indices.dims() && data.dims().len() == 1,
        "data and inner_indices have the dimensions {:?} and {:?}",
        data.dims(),
        inner_indices.dims()
    );
    let (dtype, index) = (data.dtype(), outer_indices.dtype());
    ensure!(
        dense.dtype() == dtype && y.dtype() == dtype && inner_indices.dtype() == index,
        "element types differ: data {dtype}, dense {}, result {}, outer_indices {index}, inner_indices {}",
        dense.dtype(),
        y.dtype(),
        inner_indices.dtype()
    );
    let call = Call { context, data, outer_indices, inner_indices, dense };
    match index {
        DType::S32 => {
            dispatch!(dtype, T: i32 | i64 | f32 | f64 | Complex<f32> | Complex<f64> =>
                call.product::<T, i32>(y))
        }
        DType::S64 => {
            dispatch!(dtype, T: i32 | i64 | f32 | f64 | Complex<f32> | Complex<f64> =>
                call.product::<T, i64>(y))
        }
        other => Err(Error::invalid_argument(format!("outer_indices are {other}, not s32 or s64"))),
    }
}

/// Returns the dimensions of the product.
fn product_dims(outer: &[usize], dense: &[usize]) -> Result<Vec<usize>> {
    let ([starts], [_, columns @ ..]) = (outer, dense) else {
        let message = format!("outer_indices have the dimensions {outer:?}, dense {dense:?}");
        return Err(Error::invalid_argument(message));
    };
    ensure!(*starts >= 1, "outer_indices are empty, but have an element more than the matrix has rows");
    ensure!(columns.len() <= 1, "dense has {} dimensions, but must be a vector or a matrix", dense.len());
    Ok([&[starts - 1], columns].concat())
}

fn shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let sizes = |name: &str| -> Result<Vec<usize>> {
        Ok(call.operand(name)?.dims.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect())
    };
    let dims = product_dims(&sizes("outer_indices")?, &sizes("dense")?)?;
    Ok(dims.into_iter().map(|size| size as i64).collect())
}

struct Call<'a> {
    context: &'a Context,
    data: &'a AnyBuffer,
    outer_indices: &'a AnyBuffer,
    inner_indices: &'a AnyBuffer,
    dense: &'a AnyBuffer,
}

impl Call<'_> {
    fn product<T: Scalar, I: Index>(&self, y: &mut AnyBuffer) -> Result<()> {
        let n = self.dense.dims().get(1).copied().unwrap_or(1);
        let matrix = Compressed::<I> {
            starts: self.outer_indices.typed::<I, ANY_RANK>()?,
            indices: self.inner_indices.typed::<I, ANY_RANK>()?,
            names: ["outer_indices", "inner_indices"],
            minors: self.dense.dims()[0],
        };
        let (data, dense) = (self.data.typed::<T, ANY_RANK>()?, self.dense.typed::<T, ANY_RANK>()?);
        matrix.gather(
            self.context,
            Sizes { batches: 1, n, add: false },
            data,
            dense,
            y.typed_mut::<T, ANY_RANK>()?,
        )
    }
}

/// The ops of this module.
pub const OPS: &[&OpDescriptor] = ops![csr_sparse_dense];
