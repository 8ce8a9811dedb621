//! Collectives by NCCL, on the handler's stream.
//!
//! A [`Communicator`] is one rank of a group of devices. There are three ways to get one:
//!
//! - XLA's own communicator for the call: [`Collectives`](crate::extension::Collectives).
//! - [`Communicator::alone`]: a group of one.
//! - [`Communicator::join`]: a group whose members exchange a [`UniqueId`] themselves, through an attribute
//!   of the call or the application's user data, for example.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::nccl::sys;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::{Element, Error, Result, StatusCode};

use crate::array::GpuArray;
use crate::driver::HostContext;
use crate::library::{LibraryFiles, function_table};
use crate::stream::CudaStream;

function_table! {
    /// Functions of NCCL.
    struct Functions of NCCL, sys::ncclResult_t;

    fn ncclGetUniqueId(*mut sys::ncclUniqueId);
    fn ncclCommInitRank(*mut sys::ncclComm_t, c_int, sys::ncclUniqueId, c_int);
    fn ncclCommDestroy(sys::ncclComm_t);
    fn ncclCommCount(sys::ncclComm_t, *mut c_int);
    fn ncclCommUserRank(sys::ncclComm_t, *mut c_int);
    fn ncclAllReduce(
        *const c_void, *mut c_void, usize, sys::ncclDataType_t, sys::ncclRedOp_t, sys::ncclComm_t,
        sys::cudaStream_t,
    );
    fn ncclAllGather(
        *const c_void, *mut c_void, usize, sys::ncclDataType_t, sys::ncclComm_t, sys::cudaStream_t,
    );
    fn ncclReduceScatter(
        *const c_void, *mut c_void, usize, sys::ncclDataType_t, sys::ncclRedOp_t, sys::ncclComm_t,
        sys::cudaStream_t,
    );
    fn ncclBroadcast(
        *const c_void, *mut c_void, usize, sys::ncclDataType_t, c_int, sys::ncclComm_t, sys::cudaStream_t,
    );
    unchecked {
        fn ncclGetErrorString(u32) -> *const c_char;
        fn ncclGetLastError(sys::ncclComm_t) -> *const c_char;
    }
    optional {}
}

/// The files of NCCL: the name under which JAX loads it, then the name in folders for development.
const NCCL: LibraryFiles = LibraryFiles { title: "NCCL", files: &["libnccl.so.2", "libnccl.so"] };

/// Identifier of a group of devices, with which its members join. One member makes the id, and the
/// application gives it to the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; UniqueId::SIZE]);

impl UniqueId {
    /// Size in bytes.
    pub const SIZE: usize = size_of::<sys::ncclUniqueId>();

    /// Makes an id, and opens a port of this process for the members that join.
    ///
    /// # Errors
    /// `NOT_FOUND` if NCCL is not installed, or NCCL's own error.
    pub fn new() -> Result<UniqueId> {
        let nccl = Functions::get()?;
        let mut id = sys::ncclUniqueId { internal: [0; UniqueId::SIZE] };
        // SAFETY: the pointer is valid.
        nccl.check("ncclGetUniqueId", unsafe { (nccl.ncclGetUniqueId)(&mut id) })?;
        Ok(UniqueId(id.internal.map(|byte| byte.to_ne_bytes()[0])))
    }

    /// Returns the id in these bytes, which [`as_bytes`](Self::as_bytes) returned in another process.
    pub const fn from_bytes(bytes: [u8; UniqueId::SIZE]) -> UniqueId {
        UniqueId(bytes)
    }

    /// The id as bytes, to be sent to other processes.
    pub const fn as_bytes(&self) -> &[u8; UniqueId::SIZE] {
        &self.0
    }

    fn raw(&self) -> sys::ncclUniqueId {
        sys::ncclUniqueId { internal: self.0.map(|byte| c_char::from_ne_bytes([byte])) }
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueId").finish_non_exhaustive()
    }
}

/// An element type of collectives.
pub trait NcclElement: Element + sealed::Sealed {}

mod sealed {
    use cudarc::nccl::sys;

    pub trait Sealed {
        const TYPE: sys::ncclDataType_t;
    }
}

macro_rules! nccl_elements {
    ($($ty:ty: $data:ident;)*) => {$(
        impl sealed::Sealed for $ty {
            const TYPE: sys::ncclDataType_t = sys::ncclDataType_t::$data;
        }

        impl NcclElement for $ty {}
    )*};
}

nccl_elements! {
    i8: ncclInt8;
    u8: ncclUint8;
    i32: ncclInt32;
    u32: ncclUint32;
    i64: ncclInt64;
    u64: ncclUint64;
    f16: ncclFloat16;
    bf16: ncclBfloat16;
    f32: ncclFloat32;
    f64: ncclFloat64;
}

/// Operation that combines the elements of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceOp {
    /// Sum.
    Sum,
    /// Product.
    Product,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Sum, divided by the number of ranks.
    Average,
}

impl ReduceOp {
    fn raw(self) -> sys::ncclRedOp_t {
        match self {
            ReduceOp::Sum => sys::ncclRedOp_t::ncclSum,
            ReduceOp::Product => sys::ncclRedOp_t::ncclProd,
            ReduceOp::Max => sys::ncclRedOp_t::ncclMax,
            ReduceOp::Min => sys::ncclRedOp_t::ncclMin,
            ReduceOp::Average => sys::ncclRedOp_t::ncclAvg,
        }
    }
}

/// One rank of a group of devices.
///
/// Collectives can be recorded into a CUDA graph, unless an array is scratch memory, which is the error
/// `FAILED_PRECONDITION`. Communicators are made before the recording, in the initialize stage.
///
/// # Safety of collectives
///
/// A rank does not know the calls of other ranks, and NCCL does not compare them. If they differ, a rank may
/// read and write outside of its arrays. So collectives are `unsafe`, and the caller guarantees:
///
/// - All ranks of the group call the same collectives in the same order, with the same numbers of elements,
///   the same element types, the same operations and the same roots. The usual reason is that all ranks run
///   the same program, so an op with collectives documents this as a requirement. Where ranks may differ in
///   sizes, the op exchanges the sizes in its initialize stage, with a collective of fixed size.
/// - If a collective is recorded into a CUDA graph, the communicator exists as long as the graph can run.
pub struct Communicator<'a> {
    /// NCCL allows one thread at a time to use a communicator.
    rank: Mutex<Rank>,
    device_ordinal: i32,
    owner: PhantomData<&'a ()>,
}

struct Rank {
    nccl: &'static Functions,
    raw: sys::ncclComm_t,
    /// Context in which `drop` destroys the communicator; `None` if something else owns the communicator.
    owned: Option<HostContext>,
    /// Entry in [`LENT`], for a communicator of the host.
    _lent: Option<Lent>,
}

/// Addresses of the host's communicators for which a [`Communicator`] exists. Two values for one communicator
/// would have two locks.
static LENT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Entry of a communicator in [`LENT`], until it is dropped.
struct Lent(usize);

impl Lent {
    /// Adds an entry for a communicator.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if the communicator has an entry.
    fn of(raw: sys::ncclComm_t) -> Result<Lent> {
        let mut lent = LENT.lock().unwrap_or_else(PoisonError::into_inner);
        if lent.contains(&raw.addr()) {
            let message = "the host's communicator is in use: drop the earlier value before it is used again";
            return Err(Error::failed_precondition(message));
        }
        lent.push(raw.addr());
        Ok(Lent(raw.addr()))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.lock().unwrap_or_else(PoisonError::into_inner).retain(|address| *address != self.0);
    }
}

// SAFETY: any thread may use a communicator, if no other thread uses it at the same time.
unsafe impl Send for Rank {}

impl Communicator<'static> {
    /// Makes a group that consists of the stream's device.
    ///
    /// # Errors
    /// Same errors as [`join`](Self::join).
    pub fn alone(stream: &CudaStream) -> Result<Communicator<'static>> {
        stream.expect_not_capturing("communicators cannot be made")?;
        Communicator::join(stream, &UniqueId::new()?, 1, 0)
    }

    /// Joins a group of `ranks` devices with the stream's device as number `rank`, and waits until all
    /// members have joined.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if the stream is being recorded into a CUDA graph, `INVALID_ARGUMENT` if there
    /// is no such rank, `NOT_FOUND` if NCCL is not installed, or NCCL's own error.
    pub fn join(
        stream: &CudaStream,
        id: &UniqueId,
        ranks: usize,
        rank: usize,
    ) -> Result<Communicator<'static>> {
        let nccl = Functions::get()?;
        stream.expect_not_capturing("communicators cannot be made")?;
        let (Ok(ranks), Ok(rank), true) = (c_int::try_from(ranks), c_int::try_from(rank), rank < ranks)
        else {
            return Err(Error::invalid_argument(format!("a group of {ranks} ranks has no rank {rank}")));
        };
        let context = HostContext::of_this_thread(stream.driver())?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid, and the id is one of NCCL's, or NCCL refuses it.
        let status = unsafe { (nccl.ncclCommInitRank)(&mut raw, ranks, id.raw(), rank) };
        nccl.check("ncclCommInitRank", status)?;
        let rank = Rank { nccl, raw, owned: Some(context), _lent: None };
        Ok(Communicator::new(rank, stream.device_ordinal()))
    }
}

impl<'a> Communicator<'a> {
    fn new(rank: Rank, device_ordinal: i32) -> Communicator<'a> {
        Communicator { rank: Mutex::new(rank), device_ordinal, owner: PhantomData }
    }

    /// Wraps a communicator that something else owns. It belongs to the device with this ordinal.
    ///
    /// # Errors
    /// `NOT_FOUND` if NCCL is not installed.
    ///
    /// # Safety
    /// The communicator is one of NCCL for this device, is valid for `'a`, and nothing else uses it at the
    /// same time.
    pub unsafe fn from_raw(raw: sys::ncclComm_t, device_ordinal: i32) -> Result<Communicator<'a>> {
        let rank = Rank { nccl: Functions::get()?, raw, owned: None, _lent: None };
        Ok(Communicator::new(rank, device_ordinal))
    }

    /// Wraps a communicator that the host lends to a call.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if an earlier value for the communicator exists, `NOT_FOUND` if NCCL is not
    /// installed.
    ///
    /// # Safety
    /// The communicator is one of NCCL for this device, is valid for `'a`, and only values that this function
    /// returns use it.
    pub(crate) unsafe fn lent_by_host(raw: sys::ncclComm_t, device_ordinal: i32) -> Result<Communicator<'a>> {
        let rank = Rank { nccl: Functions::get()?, raw, owned: None, _lent: Some(Lent::of(raw)?) };
        Ok(Communicator::new(rank, device_ordinal))
    }

    fn rank(&self) -> MutexGuard<'_, Rank> {
        self.rank.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the communicator for work on a stream.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the stream is one of another device.
    fn rank_on(&self, stream: &CudaStream) -> Result<MutexGuard<'_, Rank>> {
        stream.expect_device(self.device_ordinal, "the communicator")?;
        Ok(self.rank())
    }

    /// Returns the number of ranks in the group, and the rank of this communicator.
    ///
    /// # Errors
    /// NCCL's own error.
    pub fn size_and_rank(&self) -> Result<(usize, usize)> {
        let rank = self.rank();
        let (mut size, mut own) = (0, 0);
        // SAFETY: the communicator and the pointer are valid.
        rank.check("ncclCommCount", unsafe { (rank.nccl.ncclCommCount)(rank.raw, &mut size) })?;
        // SAFETY: the communicator and the pointer are valid.
        rank.check("ncclCommUserRank", unsafe { (rank.nccl.ncclCommUserRank)(rank.raw, &mut own) })?;
        Ok((usize::try_from(size)?, usize::try_from(own)?))
    }

    /// Combines the elements of `from` on all ranks, and writes them to `to` on all ranks.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the numbers of elements differ or the stream is one of another device, or NCCL's
    /// own error.
    ///
    /// # Safety
    /// The [contract of collectives](Communicator#safety-of-collectives).
    pub unsafe fn all_reduce<T: NcclElement>(
        &self,
        stream: &CudaStream,
        op: ReduceOp,
        from: &(impl GpuArray<Element = T> + ?Sized),
        to: &mut (impl GpuArray<Element = T> + ?Sized),
    ) -> Result<()> {
        expect_count(from.count(), to.count())?;
        stream.check_scratch(from.is_scratch() || to.is_scratch())?;
        let (rank, stream) = (self.rank_on(stream)?, stream.as_raw().cast());
        // SAFETY: the arrays have as many elements of this type; the communicator and the stream are valid.
        // The caller guarantees the calls of the other ranks (`# Safety` above).
        let status = unsafe {
            (rank.nccl.ncclAllReduce)(
                source(from),
                target(to),
                from.count(),
                T::TYPE,
                op.raw(),
                rank.raw,
                stream,
            )
        };
        rank.check("ncclAllReduce", status)
    }

    /// Writes the elements of `from` of all ranks to `to` on all ranks, in the order of the ranks.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` unless `to` has as many elements as the `from` of all ranks and the stream is one
    /// of the communicator's device, or NCCL's own error.
    ///
    /// # Safety
    /// The [contract of collectives](Communicator#safety-of-collectives).
    pub unsafe fn all_gather<T: NcclElement>(
        &self,
        stream: &CudaStream,
        from: &(impl GpuArray<Element = T> + ?Sized),
        to: &mut (impl GpuArray<Element = T> + ?Sized),
    ) -> Result<()> {
        let (ranks, _) = self.size_and_rank()?;
        expect_count(from.count().saturating_mul(ranks), to.count())?;
        stream.check_scratch(from.is_scratch() || to.is_scratch())?;
        let (rank, stream) = (self.rank_on(stream)?, stream.as_raw().cast());
        // SAFETY: `to` has as many elements of this type as the group sends; the communicator and the stream
        // are valid. The caller guarantees the calls of the other ranks (`# Safety` above).
        let status = unsafe {
            (rank.nccl.ncclAllGather)(source(from), target(to), from.count(), T::TYPE, rank.raw, stream)
        };
        rank.check("ncclAllGather", status)
    }

    /// Combines the elements of `from` on all ranks, and writes one part of the outcome to each rank's `to`,
    /// in the order of the ranks.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` unless `from` has as many elements as the `to` of all ranks and the stream is one
    /// of the communicator's device, or NCCL's own error.
    ///
    /// # Safety
    /// The [contract of collectives](Communicator#safety-of-collectives).
    pub unsafe fn reduce_scatter<T: NcclElement>(
        &self,
        stream: &CudaStream,
        op: ReduceOp,
        from: &(impl GpuArray<Element = T> + ?Sized),
        to: &mut (impl GpuArray<Element = T> + ?Sized),
    ) -> Result<()> {
        let (ranks, _) = self.size_and_rank()?;
        expect_count(from.count(), to.count().saturating_mul(ranks))?;
        stream.check_scratch(from.is_scratch() || to.is_scratch())?;
        let (rank, stream) = (self.rank_on(stream)?, stream.as_raw().cast());
        // SAFETY: `from` has a part of this type for each rank; the communicator and the stream are valid.
        // The caller guarantees the calls of the other ranks (`# Safety` above).
        let status = unsafe {
            let (from, parts) = (source(from), to.count());
            (rank.nccl.ncclReduceScatter)(from, target(to), parts, T::TYPE, op.raw(), rank.raw, stream)
        };
        rank.check("ncclReduceScatter", status)
    }

    /// Copies the elements of `from` on the rank `root` to `to` on all ranks.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the numbers of elements differ or the stream is one of another device, or NCCL's
    /// own error.
    ///
    /// # Safety
    /// The [contract of collectives](Communicator#safety-of-collectives).
    pub unsafe fn broadcast<T: NcclElement>(
        &self,
        stream: &CudaStream,
        root: usize,
        from: &(impl GpuArray<Element = T> + ?Sized),
        to: &mut (impl GpuArray<Element = T> + ?Sized),
    ) -> Result<()> {
        expect_count(from.count(), to.count())?;
        let root = c_int::try_from(root)?;
        stream.check_scratch(from.is_scratch() || to.is_scratch())?;
        let (rank, stream) = (self.rank_on(stream)?, stream.as_raw().cast());
        // SAFETY: the arrays have as many elements of this type; the communicator and the stream are valid.
        // The caller guarantees the calls of the other ranks (`# Safety` above).
        let status = unsafe {
            (rank.nccl.ncclBroadcast)(source(from), target(to), from.count(), T::TYPE, root, rank.raw, stream)
        };
        rank.check("ncclBroadcast", status)
    }
}

fn expect_count(from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("the collective returns {from} elements, but the result has {to}")))
}

fn source(array: &(impl GpuArray + ?Sized)) -> *const c_void {
    array.start().cast()
}

fn target(array: &mut (impl GpuArray + ?Sized)) -> *mut c_void {
    array.start().cast_mut().cast()
}

impl Rank {
    fn check(&self, function: &str, status: u32) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(self.nccl.error(function, status, self.raw)) }
    }
}

impl Functions {
    fn check(&self, function: &str, status: u32) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(self.error(function, status, null_mut())) }
    }

    /// Returns the error for a status: the text of the status, and the last message of the communicator.
    #[cold]
    fn error(&self, function: &str, status: u32, communicator: sys::ncclComm_t) -> Error {
        use sys::ncclResult_t as Status;
        let code = match status {
            status if status == Status::ncclInvalidArgument as u32 => StatusCode::InvalidArgument,
            status if status == Status::ncclInvalidUsage as u32 => StatusCode::FailedPrecondition,
            status if status == Status::ncclRemoteError as u32 => StatusCode::Unavailable,
            status if status == Status::ncclTimeout as u32 => StatusCode::DeadlineExceeded,
            _ => StatusCode::Internal,
        };
        let text = |text: *const c_char| {
            // SAFETY: NCCL's texts are null-terminated; they are copied before the next call.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        // SAFETY: the function accepts any number.
        let reason = text(unsafe { (self.ncclGetErrorString)(status) });
        // SAFETY: the communicator is null or valid.
        let details = text(unsafe { (self.ncclGetLastError)(communicator) }).filter(|text| !text.is_empty());
        let reason = reason.unwrap_or_else(|| format!("status {status}"));
        let details = details.map_or_else(String::new, |details| format!(": {}", details.trim_end()));
        Error::new(code, format!("{function}: {reason}{details}"))
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let current = self.owned.and_then(HostContext::enter);
        if current.is_some() {
            // SAFETY: the communicator is valid, and nothing uses it any more.
            unsafe { (self.nccl.ncclCommDestroy)(self.raw) };
        }
    }
}

impl fmt::Debug for Communicator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator").finish_non_exhaustive()
    }
}
