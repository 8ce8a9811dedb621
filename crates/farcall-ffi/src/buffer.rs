//! Operands and results: `&Buffer<T>` is read, `&mut Buffer<T>` is written.
//!
//! [`Buffer`] and [`AnyBuffer`] are dynamically sized, like `str`: they exist only behind a reference, which
//! the trampoline creates for the duration of one call. Hence they cannot be moved, swapped or kept.
//!
//! **Invariants.** A checked [`View`] ([`View::read`]) has nonnegative dimensions whose product is `len`. Its
//! data pointer is not null, is aligned for the element type, and covers `len` elements, whose addresses are
//! below `isize::MAX`. A view without elements has a dangling data pointer. References to a written view are
//! unique: the trampoline rejects a call whose results overlap any other buffer ([`crate::decode`]).

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use farcall_sig::DType;

use crate::abi;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::pointer::unusable;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("farcall-ffi reads the ABI's 64-bit dimensions as usize, and so needs a 64-bit target");

/// A buffer has fewer than `2^MAX_LEN_BITS` elements. At 16 bytes each, that many elements fit in the address
/// space.
const MAX_LEN_BITS: u32 = 59;

/// Value of the parameter `RANK` of a [`Buffer`] of any rank.
pub const ANY_RANK: usize = usize::MAX;

/// A dense, row-major array of `T`, of any or of a known rank: an operand as `&Buffer<T>`, a result as
/// `&mut Buffer<T>`.
///
/// Dereferences to the slice of its elements:
///
/// ```
/// # use farcall_ffi::prelude::*;
/// fn double(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
///     for (y, x) in y.iter_mut().zip(x.iter()) {
///         *y = 2.0 * x;
///     }
///     Ok(())
/// }
/// ```
///
/// The initial contents of a result are unspecified; write all elements. (With
/// `#[handler(name = "…", zeroed)]`, they are zeros.)
///
/// | method | returns |
/// | --- | --- |
/// | methods of slices: `x[i]`, `len`, `iter`, `iter_mut`, `fill`, `copy_from_slice`, `chunks`, … | elements, row-major |
/// | [`dims`](Self::dims), [`last_dims`](Self::last_dims), [`rank`](Self::rank), [`shape`](Self::shape) | sizes of all dimensions; of the last few; number of dimensions; sizes, if the rank is known |
/// | [`rows`](Self::rows), [`rows_mut`](Self::rows_mut) | slices along the last dimension |
/// | [`matrices`](Self::matrices), [`matrices_mut`](Self::matrices_mut) | slices along the last two dimensions |
/// | [`par_rows`](Self::par_rows), [`par_matrices`](Self::par_matrices), [`par_chunks`](crate::ParallelSlice::par_chunks), each with `_mut` | such slices, shared among the host's threads |
/// | `view`, `view_mut`, with the feature `ndarray` | views with axes and strides |
#[repr(C)]
pub struct Buffer<T: Element, const RANK: usize = ANY_RANK> {
    view: View,
    /// Makes the type dynamically sized; always of length 0.
    elements: [PhantomData<T>],
}

/// A dense, row-major array of any element type and rank: an operand as `&AnyBuffer`, a result as
/// `&mut AnyBuffer`.
///
/// [`typed`](AnyBuffer::typed) returns it as a [`Buffer`] of its element type. The macro
/// [`dispatch!`](crate::dispatch) chooses among several element types.
#[repr(C)]
pub struct AnyBuffer {
    view: View,
    /// Makes the type dynamically sized; always of length 0.
    elements: [PhantomData<u8>],
}

/// An operand that becomes a result, as `&mut InOut<Buffer<T>>` or `&mut InOut<AnyBuffer>`. The parameter
/// takes the next operand and the next result, which have the same type. The buffer initially contains the
/// elements of the operand.
///
/// If the program lets operand and result share memory (`output_operand_aliases`), nothing is copied.
/// Otherwise the operand is copied to the result before the call.
#[repr(transparent)]
pub struct InOut<B: ?Sized>(B);

impl<T: Element, const RANK: usize> Buffer<T, RANK> {
    /// Sizes of the dimensions, major to minor.
    pub fn dims(&self) -> &[usize] {
        self.view.dims()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.view.rank
    }

    /// Sizes of the dimensions as an array, for a buffer of known rank.
    pub fn shape(&self) -> [usize; RANK] {
        const { assert!(RANK != ANY_RANK, "shape() is for buffers of known rank: use dims()") };
        std::array::from_fn(|i| self.view.dims()[i])
    }

    /// Elements, row-major.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: a checked view of this element type covers `len` aligned elements, and every bit pattern is
        // a valid `T`. `no_overlap` and the borrow of `self` exclude writes to them.
        unsafe { std::slice::from_raw_parts(self.view.data.cast(), self.view.len) }
    }

    /// Elements, row-major, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: a checked view of this element type covers `len` aligned elements, and every bit pattern is
        // a valid `T`. A `&mut Buffer` is only made for a view that overlaps no other.
        unsafe { std::slice::from_raw_parts_mut(self.view.data.cast(), self.view.len) }
    }

    pub(crate) fn checked_view(&self) -> &View {
        &self.view
    }

    /// Sizes of the last `N` dimensions, major to minor.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there are fewer.
    pub fn last_dims<const N: usize>(&self) -> Result<[usize; N]> {
        match self.dims().last_chunk() {
            Some(dims) => Ok(*dims),
            None => {
                let message = format!("expected at least {N} dimensions, found {:?}", self.view);
                Err(Error::invalid_argument(message))
            }
        }
    }

    /// Number of elements along the last `rank` dimensions, or along all if there are fewer; at least 1.
    pub(crate) fn block(&self, rank: usize) -> usize {
        self.view.block(rank)
    }

    /// Slices along the last two dimensions, row-major, in order: the matrices of a batch. A buffer with
    /// fewer dimensions is one matrix. A buffer has no matrices if any dimension is 0.
    pub fn matrices(&self) -> std::slice::ChunksExact<'_, T> {
        self.as_slice().chunks_exact(self.block(2))
    }

    /// Mutable [`matrices`](Self::matrices).
    pub fn matrices_mut(&mut self) -> std::slice::ChunksExactMut<'_, T> {
        let block = self.block(2);
        self.as_mut_slice().chunks_exact_mut(block)
    }

    /// Slices along the last dimension, in order. A scalar has one row of one element. A buffer has no rows
    /// if any dimension is 0.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, T> {
        self.as_slice().chunks_exact(self.block(1))
    }

    /// Mutable [`rows`](Self::rows).
    pub fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, T> {
        let row = self.block(1);
        self.as_mut_slice().chunks_exact_mut(row)
    }
}

impl<T: Element, const RANK: usize> Deref for Buffer<T, RANK> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Element, const RANK: usize> DerefMut for Buffer<T, RANK> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: Element, const RANK: usize> fmt::Debug for Buffer<T, RANK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl AnyBuffer {
    /// Element type.
    pub fn dtype(&self) -> DType {
        self.view.dtype
    }

    /// Sizes of the dimensions, major to minor.
    pub fn dims(&self) -> &[usize] {
        self.view.dims()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.view.rank
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.view.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.view.len == 0
    }

    pub(crate) fn checked_view(&self) -> &View {
        &self.view
    }

    /// Memory of the elements; elements narrower than a byte take one byte each.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: a checked view covers `len` elements of its type. `no_overlap` and the borrow of `self`
        // exclude writes to them.
        unsafe { std::slice::from_raw_parts(self.view.data, self.view.size()) }
    }

    /// Mutable [`bytes`](Self::bytes).
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: a checked view covers `len` elements of its type. A `&mut AnyBuffer` is only made for a
        // view that overlaps no other.
        unsafe { std::slice::from_raw_parts_mut(self.view.data, self.view.size()) }
    }

    /// Returns the buffer with its element type, and with its rank if `RANK` is given.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the buffer has another element type or rank.
    pub fn typed<T: Element, const RANK: usize>(&self) -> Result<&Buffer<T, RANK>> {
        self.view.expect_type::<T, RANK>()?;
        // SAFETY: the view has this type, and is only read while `self` is borrowed.
        Ok(unsafe { Buffer::from_view(&self.view) })
    }

    /// Mutable [`typed`](Self::typed).
    ///
    /// # Errors
    /// Same errors as [`typed`](Self::typed).
    pub fn typed_mut<T: Element, const RANK: usize>(&mut self) -> Result<&mut Buffer<T, RANK>> {
        self.view.expect_type::<T, RANK>()?;
        // SAFETY: the view has this type, and is exclusively borrowed from `self`.
        Ok(unsafe { Buffer::from_view_mut(&mut self.view) })
    }
}

impl fmt::Debug for AnyBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl<B: ?Sized> Deref for InOut<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.0
    }
}

impl<B: ?Sized> DerefMut for InOut<B> {
    fn deref_mut(&mut self) -> &mut B {
        &mut self.0
    }
}

impl<B: ?Sized + fmt::Debug> fmt::Debug for InOut<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: a buffer is a view of elements that are `Send + Sync`; access to them follows the borrow of the
// buffer.
unsafe impl<T: Element, const RANK: usize> Send for Buffer<T, RANK> {}
// SAFETY: the elements are `Send + Sync`, and access to them follows the borrow of the buffer.
unsafe impl<T: Element, const RANK: usize> Sync for Buffer<T, RANK> {}
// SAFETY: the elements are bytes, which are `Send + Sync`; access to them follows the borrow of the buffer.
unsafe impl Send for AnyBuffer {}
// SAFETY: the elements are bytes, which are `Send + Sync`, and access to them follows the borrow of the
// buffer.
unsafe impl Sync for AnyBuffer {}

/// Evaluates an expression with a type name bound to the Rust type of an element type. Element types that are
/// not listed are an error, `UNIMPLEMENTED`.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// fn double<T: Element + std::ops::Add<Output = T>>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
///     for (y, x) in y.iter_mut().zip(x.iter()) {
///         *y = *x + *x;
///     }
///     Ok(())
/// }
///
/// #[handler(name = "double")]
/// fn double_any(x: &AnyBuffer, y: &mut AnyBuffer) -> Result<()> {
///     dispatch!(x.dtype(), T: f32 | f64 | i32 => double::<T>(x.typed()?, y.typed_mut()?))
/// }
/// ```
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, $name:ident: $($ty:ty)|+ => $body:expr) => {
        match $dtype {
            $(dtype if dtype == <$ty as $crate::Element>::DTYPE => {
                type $name = $ty;
                $body
            })+
            dtype => $crate::Result::Err($crate::__private::unsupported_dtype(
                dtype,
                &[$(<$ty as $crate::Element>::DTYPE),+],
            )),
        }
    };
}

/// Makes the error of [`dispatch!`](crate::dispatch).
#[cold]
pub(crate) fn unsupported_dtype(found: DType, supported: &[DType]) -> Error {
    let supported: Vec<_> = supported.iter().map(|dtype| dtype.name()).collect();
    Error::unimplemented(format!("expected {}, found {found}", supported.join(" or ")))
}

/// A checked description of a buffer, in memory of this crate.
#[repr(C)]
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct View {
    /// First element; if there are no elements, a dangling address that is a multiple of the alignment.
    data: *mut u8,
    /// Address after the last element.
    end: usize,
    /// Number of elements.
    len: usize,
    /// `rank` nonnegative sizes; arbitrary if `rank` is 0.
    dims: *const i64,
    rank: usize,
    dtype: DType,
    /// True for a result that is also an operand, in the same memory.
    in_place: bool,
    /// Explicit padding of zeros, so that a view is written in whole words.
    padding_2: u16,
    padding_4: u32,
    /// Extends a view to the size of a cache line.
    _padding_16: MaybeUninit<[u64; 2]>,
}

impl View {
    /// An empty view, to be overwritten by [`read`](View::read).
    pub(crate) const EMPTY: View = View {
        data: std::ptr::null_mut(),
        end: 0,
        len: 0,
        dims: std::ptr::null(),
        rank: 0,
        dtype: DType::Pred,
        in_place: false,
        padding_2: 0,
        padding_4: 0,
        _padding_16: MaybeUninit::uninit(),
    };

    /// Returns the view's memory, for [`read`](View::read).
    pub(crate) fn unread(&mut self) -> &mut MaybeUninit<View> {
        // SAFETY: only views are written to it, so it stays initialized.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }

    /// Checks a foreign buffer, which must have the element type and rank of `B`, and writes its description
    /// to `view`. Returns false if the buffer is invalid; [`what_is_wrong`] returns the reason.
    ///
    /// # Safety
    /// `buffer` is aligned and points to a struct of at least `struct_size` bytes. If the buffer passes the
    /// checks, its memory stays valid for as long as references to the view are used.
    #[inline(always)]
    pub(crate) unsafe fn read<B: FromView + ?Sized>(
        view: &mut MaybeUninit<View>,
        buffer: *const abi::Buffer,
    ) -> bool {
        // SAFETY: `struct_size` is the first member.
        if unsafe { (*buffer).struct_size } < abi::Buffer::STRUCT_SIZE {
            return false;
        }
        // SAFETY: the size covers all members.
        let (found, data, rank, dims) =
            unsafe { ((*buffer).dtype, (*buffer).data, (*buffer).rank, (*buffer).dims) };
        let storage = match const { Storage::of(B::DTYPE) } {
            Some(storage) if found != abi::DataType::from_dtype(storage.dtype) => None,
            Some(storage) => Some(storage),
            None => Storage::by_number(found),
        };
        let Some(Storage { dtype, size: element, alignment }) = storage else { return false };
        let rank_fits = if const { B::RANK == ANY_RANK } { rank >= 0 } else { rank == B::RANK as i64 };
        if !rank_fits {
            return false;
        }
        let rank = if const { B::RANK == ANY_RANK } { rank as usize } else { B::RANK };
        let (mut len, mut bits) = (1i64, 0);
        if rank > 0 {
            if unusable(dims) != 0 {
                return false;
            }
            for i in 0..rank {
                // SAFETY: `dims` has `rank` members.
                let dim = unsafe { *dims.add(i) };
                bits |= dim;
                let (product, too_large) = len.overflowing_mul(dim);
                len = product;
                if too_large {
                    bits = -1;
                    break;
                }
            }
        }
        // A dimension is negative, or the elements do not fit the address space.
        if (bits | len) as usize >> MAX_LEN_BITS != 0 {
            // SAFETY: `dims` has `rank` members.
            if unsafe { !no_elements(dims, rank) } {
                return false;
            }
            len = 0;
        }
        let len = len as usize;
        let mut data = data.cast::<u8>();
        if len == 0 {
            data = std::ptr::without_provenance_mut(alignment);
        }
        // The size is below 2^63. If the address is too, their sum does not wrap; otherwise `beyond` is
        // negative.
        let end = data.addr().wrapping_add(len * element);
        // Negative if the address is null, or any address is above a process's address space.
        let beyond = (data.addr().wrapping_sub(1) | end) as isize;
        if data.addr() & (alignment - 1) != 0 || beyond < 0 {
            return false;
        }
        view.write(View { data, end, len, dims, rank, dtype, ..View::EMPTY });
        true
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// First element; a dangling but aligned address if there are no elements.
    pub(crate) fn data(&self) -> *mut u8 {
        self.data
    }

    /// Returns the view with its elements at another address, which must have space for them.
    #[inline(always)]
    pub(crate) fn moved_to(self, data: *mut u8) -> View {
        View { data, end: data.addr() + self.size(), ..self }
    }

    pub(crate) fn dims(&self) -> &[usize] {
        if self.rank == 0 {
            // Not `&[]`, whose address is invalid: `memcmp` of no bytes there takes 200 ns on some processors.
            return &[0][..0];
        }
        // SAFETY: `dims` has `rank` members; none is negative, so they have the same values as `usize`.
        unsafe { std::slice::from_raw_parts(self.dims.cast(), self.rank) }
    }

    /// Size of the elements in bytes.
    pub(crate) fn size(&self) -> usize {
        self.end - self.data.addr()
    }

    /// Start and end addresses of the elements; equal if there are none.
    #[inline(always)]
    pub(crate) fn span(&self) -> (usize, usize) {
        (self.data.addr(), self.end)
    }

    /// Returns true if the elements of the two views overlap in memory.
    pub(crate) fn overlaps(&self, other: &View) -> bool {
        overlap(self.span(), other.span()) < 0
    }

    /// Copies the dimensions, so that the view no longer depends on the original ones. The view's dimensions
    /// live as long as the returned copy.
    pub(crate) fn own_dims(&mut self) -> Box<[i64]> {
        if self.rank == 0 {
            return Box::default();
        }
        // SAFETY: `dims` has `rank` members.
        let dims: Box<[i64]> = unsafe { std::slice::from_raw_parts(self.dims, self.rank) }.into();
        self.dims = dims.as_ptr();
        dims
    }

    /// Records that the view is also an operand.
    pub(crate) fn set_in_place(&mut self) {
        self.in_place = true;
    }

    /// Returns true if two views of the same type have the same memory.
    pub(crate) fn same_memory(&self, other: &View) -> bool {
        self.data == other.data || self.len == 0
    }

    /// Returns true if two views have the same element type and dimensions.
    pub(crate) fn same_type(&self, other: &View) -> bool {
        self.dtype == other.dtype && self.dims() == other.dims()
    }

    /// Copies the elements of `source`, which has the same type.
    ///
    /// # Safety
    /// Both views are valid, have the same type, and do not overlap. Nothing else accesses this view's
    /// memory.
    pub(crate) unsafe fn copy_from(&self, source: &View) {
        if self.len != 0 {
            // SAFETY: the caller guarantees that both are valid for `size` bytes and disjoint (`# Safety`
            // above).
            unsafe { std::ptr::copy_nonoverlapping(source.data, self.data, self.size()) }
        }
    }

    /// Sets all bytes to 0.
    ///
    /// # Safety
    /// The view is valid, and nothing else accesses its memory.
    pub(crate) unsafe fn zero(&self) {
        if self.len != 0 {
            // SAFETY: the caller guarantees that the memory is valid for writes of `size` bytes (`# Safety`
            // above).
            unsafe { self.data.write_bytes(0, self.size()) }
        }
    }

    /// Number of elements along the last `rank` dimensions, or along all if there are fewer; at least 1.
    fn block(&self, rank: usize) -> usize {
        let dims = self.dims();
        let last = &dims[dims.len().saturating_sub(rank)..];
        // The product of some dimensions may overflow if another dimension is 0.
        last.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim)).unwrap_or(1).max(1)
    }

    fn expect_type<T: Element, const RANK: usize>(&self) -> Result<()> {
        if self.dtype != T::DTYPE {
            let message = format!("expected {}, found {}", T::DTYPE, self.dtype);
            return Err(Error::invalid_argument(message));
        }
        if RANK != ANY_RANK && self.rank != RANK {
            let message = format!("expected rank {RANK}, found {self:?} of rank {}", self.rank);
            return Err(Error::invalid_argument(message));
        }
        Ok(())
    }
}

/// Element type and dimensions: `f32[2, 3]`.
impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.dims())
    }
}

/// Returns a negative number if two address ranges (spans of views) overlap.
///
/// Addresses are below `isize::MAX`, so their differences fit a signed number. Testing many pairs takes a few
/// operations for each, and no branch.
#[inline(always)]
pub(crate) fn overlap(a: (usize, usize), b: (usize, usize)) -> isize {
    (a.0 as isize).wrapping_sub(b.1 as isize) & (b.0 as isize).wrapping_sub(a.1 as isize)
}

/// Returns true if one dimension is 0 and none is negative, for dimensions whose product overflows.
///
/// # Safety
/// `dims` has `rank` members.
#[cold]
#[inline(never)]
unsafe fn no_elements(dims: *const i64, rank: usize) -> bool {
    let dim = |i| {
        // SAFETY: the caller guarantees that `dims` has `rank` members (`# Safety` above).
        unsafe { *dims.add(i) }
    };
    (0..rank).all(|i| dim(i) >= 0) && (0..rank).any(|i| dim(i) == 0)
}

/// Memory layout of an element type.
#[derive(Clone, Copy)]
struct Storage {
    dtype: DType,
    /// Size of an element in bytes.
    size: usize,
    /// Alignment of an element in bytes.
    alignment: usize,
}

impl Storage {
    const fn of(dtype: Option<DType>) -> Option<Storage> {
        match dtype {
            Some(dtype) => Some(Storage { dtype, size: dtype.size(), alignment: alignment(dtype) }),
            None => None,
        }
    }

    /// Returns the layout of the element type with this number.
    #[inline(always)]
    fn by_number(number: abi::DataType) -> Option<Storage> {
        const TABLE: [Option<Storage>; 34] = {
            let mut table = [None; 34];
            let mut i = 0;
            while i < table.len() {
                table[i] = Storage::of(abi::DataType(i as u32).dtype());
                i += 1;
            }
            table
        };
        match TABLE.get(number.0 as usize) {
            Some(storage) => *storage,
            None => other_storage(number),
        }
    }
}

#[cold]
#[inline(never)]
fn other_storage(number: abi::DataType) -> Option<Storage> {
    Storage::of(number.dtype())
}

/// Alignment of an element in bytes.
pub(crate) const fn alignment(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() }
}

/// Returns why [`View::read`] rejected a buffer.
///
/// # Safety
/// Same requirements as [`View::read`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn what_is_wrong(
    buffer: *const abi::Buffer,
    dtype: Option<DType>,
    expected: usize,
) -> String {
    if !buffer.is_aligned() {
        return "the pointer to the buffer is misaligned".to_owned();
    }
    // SAFETY: `struct_size` is the first member.
    if unsafe { (*buffer).struct_size } < abi::Buffer::STRUCT_SIZE {
        return "the buffer's struct_size is too small".to_owned();
    }
    // SAFETY: the size covers all members.
    let (found, data, rank, dims) =
        unsafe { ((*buffer).dtype, (*buffer).data, (*buffer).rank, (*buffer).dims) };
    let dtype = match (dtype, found.dtype()) {
        (Some(dtype), found_dtype) if found_dtype != Some(dtype) => {
            return format!("expected {dtype}, found {found}");
        }
        (_, None) => return format!("unknown element type: {found}"),
        (_, Some(dtype)) => dtype,
    };
    if rank < 0 {
        return format!("negative rank {rank}");
    }
    if rank > 0 && dims.is_null() {
        return format!("rank {rank}, but no dimensions");
    }
    if rank > 0 && !dims.is_aligned() {
        return "the pointer to the dimensions is misaligned".to_owned();
    }
    // SAFETY: `dims` has `rank` members.
    let dims = if rank == 0 { &[] } else { unsafe { std::slice::from_raw_parts(dims, rank as usize) } };
    if expected != ANY_RANK && rank != expected as i64 {
        return format!("expected rank {expected}, found {dtype}{dims:?} of rank {rank}");
    }
    if dims.iter().any(|&dim| dim < 0) {
        return "a dimension is negative".to_owned();
    }
    if data.is_null() {
        return "null data".to_owned();
    }
    if data.addr() % alignment(dtype) != 0 {
        return format!("the data are not aligned for {dtype}");
    }
    "larger than the address space".to_owned()
}

/// Memory in which a parameter's buffers lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum BufferMemory {
    /// The process's own memory.
    Host,
    /// The memory of a GPU.
    Gpu,
}

/// A type whose references are references to a [`View`]: [`Buffer`], [`AnyBuffer`], or one of the buffers in
/// a GPU's memory.
#[doc(hidden)]
pub trait FromView {
    /// Required element type.
    const DTYPE: Option<DType>;
    /// Required rank.
    const RANK: usize;
    /// Memory in which the elements lie.
    const MEMORY: BufferMemory;

    /// Returns a reference to the buffer that the view describes.
    ///
    /// # Safety
    /// The view is valid, has this type, and its elements are only read for `'a`.
    unsafe fn from_view(view: &View) -> &Self;

    /// Returns a mutable reference to the buffer that the view describes.
    ///
    /// # Safety
    /// The view is valid, has this type, and its elements are not accessed in any other way for `'a`.
    unsafe fn from_view_mut(view: &mut View) -> &mut Self;
}

impl<T: Element, const RANK: usize> FromView for Buffer<T, RANK> {
    const DTYPE: Option<DType> = Some(T::DTYPE);
    const RANK: usize = RANK;
    const MEMORY: BufferMemory = BufferMemory::Host;

    #[inline(always)]
    unsafe fn from_view(view: &View) -> &Self {
        let buffer = std::ptr::slice_from_raw_parts(std::ptr::from_ref(view).cast::<PhantomData<T>>(), 0);
        // SAFETY: `repr(C)`: a `Buffer` with an empty tail has the layout of a `View`.
        unsafe { &*(buffer as *const Self) }
    }

    #[inline(always)]
    unsafe fn from_view_mut(view: &mut View) -> &mut Self {
        let buffer = std::ptr::slice_from_raw_parts_mut(std::ptr::from_mut(view).cast::<PhantomData<T>>(), 0);
        // SAFETY: `repr(C)`: a `Buffer` with an empty tail has the layout of a `View`.
        unsafe { &mut *(buffer as *mut Self) }
    }
}

impl FromView for AnyBuffer {
    const DTYPE: Option<DType> = None;
    const RANK: usize = ANY_RANK;
    const MEMORY: BufferMemory = BufferMemory::Host;

    #[inline(always)]
    unsafe fn from_view(view: &View) -> &Self {
        let buffer = std::ptr::slice_from_raw_parts(std::ptr::from_ref(view).cast::<PhantomData<u8>>(), 0);
        // SAFETY: `repr(C)`: an `AnyBuffer` with an empty tail has the layout of a `View`.
        unsafe { &*(buffer as *const Self) }
    }

    #[inline(always)]
    unsafe fn from_view_mut(view: &mut View) -> &mut Self {
        let buffer =
            std::ptr::slice_from_raw_parts_mut(std::ptr::from_mut(view).cast::<PhantomData<u8>>(), 0);
        // SAFETY: `repr(C)`: an `AnyBuffer` with an empty tail has the layout of a `View`.
        unsafe { &mut *(buffer as *mut Self) }
    }
}

impl<T: Element, const RANK: usize> InOut<Buffer<T, RANK>> {
    /// Returns true if operand and result share their memory, and false if the operand was copied.
    pub fn is_in_place(&self) -> bool {
        self.0.view.in_place
    }
}

impl InOut<AnyBuffer> {
    /// Returns true if operand and result share their memory, and false if the operand was copied.
    pub fn is_in_place(&self) -> bool {
        self.0.view.in_place
    }
}

impl<B: ?Sized> InOut<B> {
    pub(crate) fn from_mut(buffer: &mut B) -> &mut InOut<B> {
        // SAFETY: `repr(transparent)`.
        unsafe { &mut *(std::ptr::from_mut(buffer) as *mut InOut<B>) }
    }
}
