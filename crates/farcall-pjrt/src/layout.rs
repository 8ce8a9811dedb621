//! Layouts of arrays in host memory. The plugin's own buffers are row-major.

use std::sync::Arc;

use farcall::ir::{Literal, TensorType};
use farcall_pjrt_abi::{LayoutHandle, LayoutType, MemoryLayout};

use crate::call::slice;
use crate::object::{Handles, Object, lend, withdraw};
use crate::status::{Outcome, Status};

/// Maximum number of dimensions of an array. A larger number is taken for uninitialized memory.
const MAX_RANK: usize = 1 << 10;

/// Checks a number of dimensions.
pub(crate) fn checked_rank(rank: usize) -> Outcome<usize> {
    if rank <= MAX_RANK { Ok(rank) } else { Err(Status::invalid(format!("no array has {rank} dimensions"))) }
}

/// Returns the distances in bytes between neighbors in each dimension of a row-major array.
pub(crate) fn row_major(dims: &[usize], element_bytes: usize) -> Vec<i64> {
    let order: Vec<usize> = (0..dims.len()).rev().collect();
    strides_of(&order, dims, element_bytes)
}

/// Returns the strides of a dense array with the dimensions in this order, fastest-varying first.
fn strides_of(minor_to_major: &[usize], dims: &[usize], element_bytes: usize) -> Vec<i64> {
    let mut strides = vec![0; dims.len()];
    let mut stride = element_bytes as i64;
    for &dim in minor_to_major {
        strides[dim] = stride;
        stride = stride.saturating_mul(dims[dim] as i64);
    }
    strides
}

/// Returns the strides of a layout that the caller passes; row-major for `None`.
///
/// # Errors
/// If the layout has tiles, or is not a layout of such an array.
pub(crate) fn strides(
    layout: Option<&MemoryLayout>,
    dims: &[usize],
    element_bytes: usize,
) -> Outcome<Vec<i64>> {
    let Some(layout) = layout else { return Ok(row_major(dims, element_bytes)) };
    match layout.r#type {
        LayoutType::TILED => {
            // SAFETY: the type says which member of the union is set; all bits are valid integers.
            let tiled = unsafe { layout.layout.tiled };
            if tiled.num_tiles != 0 {
                return Err(Status::unimplemented("farcall has no tiled layouts"));
            }
            // SAFETY: the caller's array has the elements that its count states.
            let order = unsafe { slice("minor_to_major", tiled.minor_to_major, tiled.minor_to_major_size) }?;
            let mut dims_of: Vec<usize> = Vec::with_capacity(order.len());
            for &dim in order {
                match usize::try_from(dim).ok().filter(|dim| *dim < dims.len() && !dims_of.contains(dim)) {
                    Some(dim) => dims_of.push(dim),
                    None => return Err(wrong(order, dims)),
                }
            }
            if dims_of.len() == dims.len() {
                Ok(strides_of(&dims_of, dims, element_bytes))
            } else {
                Err(wrong(order, dims))
            }
        }
        LayoutType::STRIDES => {
            // SAFETY: the type says which member of the union is set; all bits are valid integers.
            let strided = unsafe { layout.layout.strides };
            // SAFETY: the caller's array has the elements that its count states.
            let strides = unsafe { slice("byte_strides", strided.byte_strides, strided.num_byte_strides) }?;
            if strides.len() != dims.len() {
                return Err(wrong(strides, dims));
            }
            Ok(strides.to_vec())
        }
        other => Err(Status::invalid(format!("a layout has the unknown type {}", other.0))),
    }
}

fn wrong(order: &[i64], dims: &[usize]) -> Status {
    Status::invalid(format!("{order:?} is no layout of an array with the dimensions {dims:?}"))
}

/// Checks that a layout on a device, if there is one, is row-major.
pub(crate) fn require_row_major(layout: Option<&MemoryLayout>, ty: &TensorType) -> Outcome {
    let (sizes, element_bytes) = (ty.sizes(), ty.dtype.size());
    if layout.is_none() || is_row_major(&strides(layout, sizes, element_bytes)?, sizes, element_bytes) {
        return Ok(());
    }
    Err(Status::unimplemented("arrays on a device of farcall are row-major"))
}

/// Returns true if a layout is row-major. Dimensions of size 1 have any stride.
pub(crate) fn is_row_major(strides: &[i64], dims: &[usize], element_bytes: usize) -> bool {
    let own = row_major(dims, element_bytes);
    dims.contains(&0) || strides.iter().zip(&own).zip(dims).all(|((a, b), size)| *size == 1 || a == b)
}

/// Calls a function with the distance in bytes of each run of contiguous elements from the first element, in
/// row-major order, and returns the number of elements in a run.
fn each_run(dims: &[usize], strides: &[i64], element_bytes: usize, mut visit: impl FnMut(isize, usize)) {
    if dims.contains(&0) {
        return;
    }
    // The innermost dimensions that are contiguous form one run.
    let (mut rank, mut run) = (dims.len(), 1usize);
    while rank > 0 && (dims[rank - 1] == 1 || strides[rank - 1] == (run * element_bytes) as i64) {
        run *= dims[rank - 1];
        rank -= 1;
    }
    let (dims, strides) = (&dims[..rank], &strides[..rank]);
    let mut index = vec![0usize; rank];
    let mut at = 0isize;
    loop {
        visit(at, run * element_bytes);
        let mut dim = rank;
        loop {
            let Some(next) = dim.checked_sub(1) else { return };
            dim = next;
            index[dim] += 1;
            at = at.wrapping_add(strides[dim] as isize);
            if index[dim] < dims[dim] {
                break;
            }
            at = at.wrapping_sub((dims[dim] as isize).wrapping_mul(strides[dim] as isize));
            index[dim] = 0;
        }
    }
}

/// Copies an array with strides to row-major bytes.
///
/// # Safety
/// `from` points to the first element of an array with these dimensions and strides.
pub(crate) unsafe fn gather(
    from: *const u8,
    dims: &[usize],
    strides: &[i64],
    element_bytes: usize,
    to: &mut [u8],
) {
    let mut rest = to;
    each_run(dims, strides, element_bytes, |at, bytes| {
        let (run, after) = std::mem::take(&mut rest).split_at_mut(bytes);
        // SAFETY: the run lies in the caller's array (`# Safety` above), and `run` has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from.offset(at), run.as_mut_ptr(), bytes) };
        rest = after;
    });
}

/// Copies a tensor to memory with strides.
///
/// # Safety
/// `to` points to the first element of memory for an array with the tensor's dimensions and these strides.
pub(crate) unsafe fn scatter(literal: &Literal, strides: &[i64], to: *mut u8) {
    let (dims, element_bytes) = (literal.dims(), literal.dtype().size());
    if is_row_major(strides, dims, element_bytes) {
        // SAFETY: a row-major array has as many bytes as the tensor (`# Safety` above).
        let out = unsafe { std::slice::from_raw_parts_mut(to, literal.byte_len()) };
        return literal.write_to(out);
    }
    let mut rest = literal.bytes();
    each_run(dims, strides, element_bytes, |at, bytes| {
        let (run, after) = rest.split_at(bytes);
        // SAFETY: the run lies in the caller's memory (`# Safety` above).
        unsafe { std::ptr::copy_nonoverlapping(run.as_ptr(), to.offset(at), bytes) };
        rest = after;
    });
}

/// A layout, in the text form of XLA: `{1,0}` lists dimensions from the fastest-varying to the slowest.
pub(crate) struct Layout {
    text: String,
}

impl Object for Layout {
    type Abi = LayoutHandle;
    const KIND: &'static str = "layout";
}

impl Layout {
    pub(crate) fn row_major(rank: usize) -> Layout {
        let order: Vec<String> = (0..rank).rev().map(|dim| dim.to_string()).collect();
        Layout { text: format!("{{{}}}", order.join(",")) }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Layouts of the arguments or results of an executable, which owns them.
pub(crate) struct Layouts {
    layouts: Arc<[Layout]>,
    handles: Handles<LayoutHandle>,
}

impl Layouts {
    /// Creates the layouts of arrays with these ranks.
    pub(crate) fn new(ranks: &[usize]) -> Layouts {
        let layouts: Arc<[Layout]> = ranks.iter().map(|rank| Layout::row_major(*rank)).collect();
        Layouts { handles: Handles::new(layouts.iter().map(lend)), layouts }
    }

    pub(crate) fn parts(&self) -> (*const *mut LayoutHandle, usize) {
        self.handles.parts()
    }
}

impl Drop for Layouts {
    fn drop(&mut self) {
        self.layouts.iter().for_each(withdraw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_with_strides_become_row_major() {
        let column_major = [1u16, 4, 2, 5, 3, 6];
        let strides = strides_of(&[0, 1], &[2, 3], 2);
        assert_eq!(strides, [2, 4]);
        let mut out = [0u8; 12];
        // SAFETY: the array has six elements in this order.
        unsafe { gather(column_major.as_ptr().cast(), &[2, 3], &strides, 2, &mut out) };
        let rows: Vec<u16> = out.chunks(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect();
        assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn negative_strides_reverse() {
        let numbers = [1u8, 2, 3, 4];
        let mut out = [0u8; 4];
        // SAFETY: the first element is the last of the array, and the stride leads back to its start.
        unsafe { gather(numbers.as_ptr().add(3), &[4], &[-1], 1, &mut out) };
        assert_eq!(out, [4, 3, 2, 1]);
    }

    #[test]
    fn dimensions_of_size_one_have_any_stride() {
        assert!(is_row_major(&[77, 4, 1], &[1, 2, 4], 1));
        assert!(!is_row_major(&[4, 2], &[2, 2], 1));
    }
}
