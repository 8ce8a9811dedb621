//! XLA's own communicators.

use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;

use farcall_ffi::{Context, Error, Result};

use super::abi::{self, CollectiveMemoryRegion, ReplicaGroup};
use super::{find, offered};
use crate::nccl;
use crate::stream::CudaStream;

/// Communicators that XLA makes for the devices of the program.
///
/// A handler requests a communicator in its prepare stage, and gets it in the initialize and execute stages:
///
/// ```
/// use farcall_cuda::extension::{Clique, CliqueMode, Collectives};
/// use farcall_cuda::nccl::ReduceOp;
/// use farcall_cuda::CudaStream;
/// use farcall_ffi::prelude::*;
///
/// const NEEDED: &str = "all_reduce needs XLA's extension for communicators";
///
/// #[stage(prepare)]
/// fn request(replicas: &[i64], host: &Context) -> Result<()> {
///     let collectives = Collectives::of(host)?.ok_or_else(|| Error::unimplemented(NEEDED))?;
///     collectives.request(&Clique { mode: CliqueMode::CrossReplica, groups: &[replicas], id: 0 })
/// }
///
/// #[handler(name = "all_reduce", platform = "CUDA", prepare = request)]
/// fn all_reduce(
///     x: &GpuBuffer<f32>,
///     replicas: &[i64],
///     y: &mut GpuBuffer<f32>,
///     stream: &CudaStream,
///     host: &Context,
/// ) -> Result<()> {
///     let collectives = Collectives::of(host)?.ok_or_else(|| Error::unimplemented(NEEDED))?;
///     let clique = Clique { mode: CliqueMode::CrossReplica, groups: &[replicas], id: 0 };
///     let communicator = collectives.communicator(stream, &clique)?;
///     // SAFETY: the replicas run the same program, so x has the same shape on each.
///     unsafe { communicator.all_reduce(stream, ReduceOp::Sum, x, y) }
/// }
/// ```
pub struct Collectives<'a> {
    context: &'a Context,
    extension: &'a abi::CollectivesExtension,
}

/// Meaning of the numbers in the groups of a [`Clique`], as in XLA's collectives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum CliqueMode {
    /// Replicas; the groups of each partition are separate.
    CrossReplica = 0,
    /// Partitions; the groups of each replica are separate.
    CrossPartition = 1,
    /// Replicas, with all their partitions.
    CrossReplicaAndPartition = 2,
    /// Numbers `replica * partitions + partition`.
    FlattenedId = 3,
}

/// Devices that communicate.
#[derive(Clone, Copy, Debug)]
pub struct Clique<'a> {
    /// Meaning of the numbers in the groups.
    pub mode: CliqueMode,
    /// All groups; the device of the call is a member of one.
    pub groups: &'a [&'a [i64]],
    /// Distinguishes communicators of the same groups.
    pub id: i64,
}

impl Clique<'_> {
    /// Calls a function with the groups in the form of the interface.
    fn with<R>(&self, call: impl FnOnce(*const ReplicaGroup, usize) -> R) -> R {
        let groups: Vec<_> =
            self.groups.iter().map(|group| ReplicaGroup { ids: group.as_ptr(), size: group.len() }).collect();
        call(groups.as_ptr(), groups.len())
    }
}

impl<'a> Collectives<'a> {
    /// Returns the communicators of a call; `None` if the host offers none.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host has another version of the extension, or `INTERNAL` if it is malformed.
    pub fn of(context: &'a Context) -> Result<Option<Collectives<'a>>> {
        // SAFETY: the header defines this struct for this number and version; a test compares the layouts.
        let extension = unsafe {
            find::<abi::CollectivesExtension>(
                context,
                "communicators",
                abi::COLLECTIVES,
                abi::COLLECTIVES_VERSION,
            )?
        };
        Ok(extension.map(|extension| Collectives { context, extension }))
    }

    /// Requests a communicator, in the prepare stage.
    ///
    /// # Errors
    /// The host's error.
    pub fn request(&self, clique: &Clique<'_>) -> Result<()> {
        let request = offered(self.extension.request_communicator, "request_communicator")?;
        clique.with(|groups, num_groups| {
            let mut args = abi::CommunicatorRequestArgs {
                struct_size: abi::CommunicatorRequestArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                group_mode: clique.mode as u32,
                groups,
                num_groups,
                communication_id: clique.id,
            };
            // SAFETY: a function of the host, with the arguments it expects; the error belongs to this call's
            // host.
            unsafe { self.context.check(request(self.extension, &mut args)) }
        })
    }

    /// Returns a communicator that the prepare stage requested, in the initialize and execute stages. XLA
    /// owns the communicator, and lends it once: drop the returned value before you ask for the same
    /// communicator again. `stream` is the stream of the call. Only calls on CUDA have a `CudaStream`, so the
    /// host's communicator is one of NCCL, and not of another platform's library.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the stream is not the stream of the call, `FAILED_PRECONDITION` if an earlier
    /// value of the communicator exists, `NOT_FOUND` if NCCL is not installed, or the host's error.
    pub fn communicator(
        &self,
        stream: &'a CudaStream,
        clique: &Clique<'_>,
    ) -> Result<nccl::Communicator<'a>> {
        if self.context.stream()?.cast() != stream.as_raw() {
            return Err(Error::invalid_argument("the stream is not the stream of the call"));
        }
        let get = offered(self.extension.get_communicator, "get_communicator")?;
        let communicator = clique.with(|groups, num_groups| {
            let mut args = abi::CommunicatorGetArgs {
                struct_size: abi::CommunicatorGetArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                group_mode: clique.mode as u32,
                groups,
                num_groups,
                communication_id: clique.id,
                communicator: null_mut(),
            };
            // SAFETY: a function of the host, with the arguments it expects; the error belongs to this call's
            // host.
            unsafe { self.context.check(get(self.extension, &mut args)) }?;
            Ok::<_, Error>(args.communicator)
        })?;
        if communicator.is_null() {
            return Err(Error::internal("the host returned no communicator"));
        }
        // SAFETY: the call is one on CUDA, since it has a `CudaStream`, so the communicator is an
        // `ncclComm_t` for the call's device. It is valid during the call. XLA lets one call use it at a
        // time.
        unsafe { nccl::Communicator::lent_by_host(communicator.cast(), stream.device_ordinal()) }
    }

    /// Requests windows for memory that the members of a clique access directly, in the prepare stage, after
    /// the clique's communicator. `regions` are addresses on the device with sizes in bytes.
    ///
    /// # Errors
    /// The host's error.
    ///
    /// # Safety
    /// The regions lie in memory of the call's device, and stay there as long as the communicator exists. The
    /// members of the clique agree on their accesses to the regions.
    pub unsafe fn request_windows(
        &self,
        clique: &Clique<'_>,
        regions: &[(*const c_void, usize)],
    ) -> Result<()> {
        let request = offered(self.extension.request_window, "request_window")?;
        let region = |(buffer, byte_size): &_| CollectiveMemoryRegion {
            buffer: *buffer,
            byte_size: *byte_size,
            flags: 0,
        };
        let regions: Vec<_> = regions.iter().map(region).collect();
        clique.with(|groups, num_groups| {
            let mut args = abi::WindowRequestArgs {
                struct_size: abi::WindowRequestArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                group_mode: clique.mode as u32,
                groups,
                num_groups,
                communication_id: clique.id,
                regions: regions.as_ptr(),
                num_regions: regions.len(),
            };
            // SAFETY: a function of the host, with the arguments it expects; the error belongs to this call's
            // host.
            unsafe { self.context.check(request(self.extension, &mut args)) }
        })
    }

    /// Returns the window (an `ncclWindow_t`) that contains an address on the device, and the offset of the
    /// address in the window in bytes. For the initialize and execute stages.
    ///
    /// # Errors
    /// The host's error.
    pub fn window(&self, clique: &Clique<'_>, buffer: *const c_void) -> Result<(*mut c_void, usize)> {
        let get = offered(self.extension.get_window, "get_window")?;
        clique.with(|groups, num_groups| {
            let mut args = abi::WindowGetArgs {
                struct_size: abi::WindowGetArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                group_mode: clique.mode as u32,
                groups,
                num_groups,
                communication_id: clique.id,
                buffer,
                window: null_mut(),
                window_offset: 0,
            };
            // SAFETY: a function of the host, with the arguments it expects; the error belongs to this call's
            // host.
            unsafe { self.context.check(get(self.extension, &mut args)) }?;
            Ok((args.window.cast(), args.window_offset))
        })
    }
}

impl fmt::Debug for Collectives<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collectives").finish_non_exhaustive()
    }
}
