//! The extension for partitioners of custom calls (`xla/pjrt/c/pjrt_c_api_custom_partitioner_extension.h`).
//!
//! A host such as JAX registers three functions for a target: one divides a call, and two propagate shardings
//! through calls without a rule. Shapes and shardings are XLA's messages `ShapeProto` and `OpSharding`.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use farcall::ffi::abi::DataType;
use farcall::ir::TensorType;
use farcall::ir::sharding::TileAssignment;
use farcall::partition::{DividedCall, Partitioner, ShardedCall, ShardedTensor, register_partitioner};
use farcall_pjrt_abi::{
    CustomPartitionerExtension, ErrorHandle, ExtensionBase, ExtensionType, RegisterBatchPartitionable,
    RegisterCustomPartitioner,
};

use crate::call::{Arguments, slice, with};
use crate::protobuf::{packed, put_bytes, put_number};
use crate::shardings;
use crate::status::{Outcome, Status};

/// `JAX_CustomCallPartitioner_string`
#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    data: *const c_char,
    size: usize,
}

/// `JAX_CustomCallPartitioner_aval`
#[repr(C)]
#[derive(Clone, Copy)]
struct Aval {
    shape: Text,
    has_sharding: bool,
    sharding: Text,
}

/// `JAX_CustomCallPartitioner_version_and_error`
#[repr(C)]
struct Header {
    api_version: i64,
    data: *mut c_void,
    cleanup: Option<unsafe extern "C" fn(data: *mut c_void)>,
    has_error: bool,
    code: i32,
    error_message: Text,
}

/// `JAX_CustomCallPartitioner_Partition_Args`
#[repr(C)]
struct PartitionArgs {
    header: Header,
    num_args: usize,
    op_args: *const Aval,
    op_result: Aval,
    backend_config: Text,
    mlir_module: Text,
    args_sharding: *const Text,
    result_sharding: Text,
}

/// `JAX_CustomCallPartitioner_InferShardingFromOperands_Args`
#[repr(C)]
struct InferArgs {
    header: Header,
    num_args: usize,
    op_args: *const Aval,
    result_shape: Text,
    backend_config: Text,
    has_result_sharding: bool,
    result_sharding: Text,
}

/// `JAX_CustomCallPartitioner_PropagateUserSharding_Args`
#[repr(C)]
struct PropagateArgs {
    header: Header,
    backend_config: Text,
    result_shape: Text,
    /// The users' sharding before the call, the accepted one after it.
    result_sharding: Text,
}

/// A function of a host with arguments of a type.
type HostFunction<A> = unsafe extern "C" fn(*mut Callbacks, *mut A);

/// `JAX_CustomCallPartitioner_Callbacks`
#[repr(C)]
struct Callbacks {
    version: i64,
    private_data: *mut c_void,
    dtor: Option<unsafe extern "C" fn(*mut Callbacks)>,
    partition: Option<HostFunction<PartitionArgs>>,
    infer_sharding: Option<HostFunction<InferArgs>>,
    propagate_user_sharding: Option<HostFunction<PropagateArgs>>,
    can_side_effecting_have_replicated_sharding: bool,
}

/// Version of the functions and their arguments.
const VERSION: i64 = 0;

impl Text {
    const EMPTY: Text = Text { data: null(), size: 0 };

    fn of(bytes: &[u8]) -> Text {
        Text { data: bytes.as_ptr().cast(), size: bytes.len() }
    }

    /// Returns the bytes.
    ///
    /// # Safety
    /// The bytes exist for as long as `'a`.
    unsafe fn bytes<'a>(self, name: &str) -> Outcome<&'a [u8]> {
        // SAFETY: the same contract.
        unsafe { slice(name, self.data.cast::<u8>(), self.size) }
    }
}

/// The functions of a host.
#[derive(Debug)]
struct HostPartitioner(*mut Callbacks);

// SAFETY: hosts allow calls of the functions on any thread; JAX's take the interpreter's lock.
unsafe impl Send for HostPartitioner {}
// SAFETY: see above.
unsafe impl Sync for HostPartitioner {}

impl Drop for HostPartitioner {
    fn drop(&mut self) {
        // SAFETY: the host passed valid functions, and their owner is dropped once.
        unsafe {
            if let Some(free) = (*self.0).dtor {
                free(self.0);
            }
        }
    }
}

impl Header {
    const EMPTY: Header = Header {
        api_version: VERSION,
        data: null_mut(),
        cleanup: None,
        has_error: false,
        code: 0,
        error_message: Text::EMPTY,
    };
}

/// Arguments that begin with a header.
trait HostArgs {
    fn header(&self) -> &Header;
}

macro_rules! host_args {
    ($($args:ident: $bytes:literal,)*) => {$(
        // The size in XLA's header.
        const _: () = assert!(size_of::<$args>() == $bytes);

        impl HostArgs for $args {
            fn header(&self) -> &Header {
                &self.header
            }
        }
    )*};
}

host_args! {
    PartitionArgs: 160,
    InferArgs: 120,
    PropagateArgs: 96,
}

const _: () = assert!(size_of::<Aval>() == 40 && size_of::<Header>() == 48 && size_of::<Callbacks>() == 56);

impl Partitioner for HostPartitioner {
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String> {
        self.divide(call).map_err(|status| status.message)
    }

    fn infer_sharding_from_operands(
        &self,
        call: &ShardedCall,
    ) -> Result<Option<Vec<TileAssignment>>, String> {
        self.infer(call).map_err(|status| status.message)
    }

    fn propagate_user_sharding(&self, call: &ShardedCall) -> Result<Vec<TileAssignment>, String> {
        self.propagate(call).map_err(|status| status.message)
    }

    fn can_side_effecting_have_replicated_sharding(&self) -> bool {
        // SAFETY: the host passed valid functions.
        unsafe { (*self.0).can_side_effecting_have_replicated_sharding }
    }
}

impl HostPartitioner {
    fn divide(&self, call: &ShardedCall) -> Outcome<DividedCall> {
        // SAFETY: the host passed valid functions.
        let partition =
            unsafe { (*self.0).partition }.ok_or_else(|| Status::invalid("the function is null"))?;
        let operands = operand_messages(call);
        let avals: Vec<Aval> = operands.iter().map(Aval::of).collect();
        let result = result_messages(call);
        let mut args = PartitionArgs {
            header: Header::EMPTY,
            num_args: avals.len(),
            op_args: avals.as_ptr(),
            op_result: Aval::of(&result),
            backend_config: Text::of(&call.config),
            mlir_module: Text::EMPTY,
            args_sharding: null(),
            result_sharding: Text::EMPTY,
        };
        // SAFETY: the host passed valid functions. `read` copies the results, which exist while it runs.
        unsafe {
            self.call(partition, &mut args, |args| {
                let texts = slice("args_sharding", args.args_sharding, call.operands.len())?;
                let operands = texts.iter().zip(&call.operands).map(|(text, operand)| {
                    let message = text.bytes("args_sharding")?;
                    shardings::read_one(message, operand.ty.sizes(), &operand.sharding.devices)
                });
                Ok(DividedCall {
                    program: args.mlir_module.bytes("mlir_module")?.to_vec(),
                    operands: operands.collect::<Outcome<_>>()?,
                    results: result_shardings(args.result_sharding, call)?,
                })
            })
        }
    }

    fn infer(&self, call: &ShardedCall) -> Outcome<Option<Vec<TileAssignment>>> {
        // SAFETY: the host passed valid functions.
        let Some(infer) = (unsafe { (*self.0).infer_sharding }) else { return Ok(None) };
        let operands = operand_messages(call);
        let avals: Vec<Aval> = operands.iter().map(Aval::of).collect();
        let [shape, _] = result_messages(call);
        let mut args = InferArgs {
            header: Header::EMPTY,
            num_args: avals.len(),
            op_args: avals.as_ptr(),
            result_shape: Text::of(&shape),
            backend_config: Text::of(&call.config),
            has_result_sharding: false,
            result_sharding: Text::EMPTY,
        };
        // SAFETY: as in `divide`.
        unsafe {
            self.call(infer, &mut args, |args| match args.has_result_sharding {
                true => result_shardings(args.result_sharding, call).map(Some),
                false => Ok(None),
            })
        }
    }

    fn propagate(&self, call: &ShardedCall) -> Outcome<Vec<TileAssignment>> {
        // SAFETY: the host passed valid functions.
        let Some(propagate) = (unsafe { (*self.0).propagate_user_sharding }) else {
            return Ok(call.results.iter().map(|result| result.sharding.clone()).collect());
        };
        let [shape, sharding] = result_messages(call);
        let mut args = PropagateArgs {
            header: Header::EMPTY,
            backend_config: Text::of(&call.config),
            result_shape: Text::of(&shape),
            result_sharding: Text::of(&sharding),
        };
        // SAFETY: as in `divide`.
        unsafe { self.call(propagate, &mut args, |args| result_shardings(args.result_sharding, call)) }
    }

    /// Calls a function of the host, and copies its results by `read`.
    ///
    /// # Safety
    /// The function is one of the host's for these arguments, whose pointers are valid.
    unsafe fn call<A: HostArgs, R>(
        &self,
        function: HostFunction<A>,
        args: &mut A,
        read: impl FnOnce(&A) -> Outcome<R>,
    ) -> Outcome<R> {
        // SAFETY: the contract of this function.
        unsafe { function(self.0, &raw mut *args) };
        let header = args.header();
        let results = match header.has_error {
            // SAFETY: the host's text exists until the cleanup function is called, below.
            true => unsafe { header.error_message.bytes("error_msg") }
                .and_then(|message| Err(Status::invalid(String::from_utf8_lossy(message)))),
            false => read(args),
        };
        if let Some(cleanup) = header.cleanup {
            // SAFETY: a function of the host for its own data. Nothing refers to the results any more.
            unsafe { cleanup(header.data) };
        }
        results
    }
}

impl Aval {
    /// Refers to a `ShapeProto` and an `OpSharding`.
    fn of([shape, sharding]: &[Vec<u8>; 2]) -> Aval {
        Aval { shape: Text::of(shape), has_sharding: true, sharding: Text::of(sharding) }
    }
}

/// Reads the `OpSharding` of a call's results.
///
/// # Safety
/// The text is valid.
unsafe fn result_shardings(message: Text, call: &ShardedCall) -> Outcome<Vec<TileAssignment>> {
    let tensors: Vec<(&[usize], &[usize])> =
        call.results.iter().map(|result| (result.ty.sizes(), &result.sharding.devices[..])).collect();
    // SAFETY: the contract of this function.
    shardings::read_all(unsafe { message.bytes("result_sharding") }?, &tensors)
}

fn result_messages(call: &ShardedCall) -> [Vec<u8>; 2] {
    messages(&call.results.iter().collect::<Vec<_>>())
}

fn operand_messages(call: &ShardedCall) -> Vec<[Vec<u8>; 2]> {
    call.operands.iter().map(|operand| messages(&[operand])).collect()
}

/// Returns the `ShapeProto` and the `OpSharding` of a value: a tensor, or a tuple of several.
fn messages(tensors: &[&ShardedTensor]) -> [Vec<u8>; 2] {
    let parts: Vec<[Vec<u8>; 2]> = tensors
        .iter()
        .map(|tensor| [shape(&tensor.ty), shardings::message(Some(&tensor.sharding))])
        .collect();
    if let [one] = &parts[..] {
        return one.clone();
    }
    // Element type and kind of a tuple, and the numbers of the fields with its elements.
    const TUPLE_SHAPE: u64 = 13;
    const TUPLE_SHARDING: u64 = 2;
    let [mut shape, mut sharding] = [Vec::new(), Vec::new()];
    put_number(&mut shape, 2, TUPLE_SHAPE);
    put_number(&mut sharding, 1, TUPLE_SHARDING);
    for [of_shape, of_sharding] in &parts {
        put_bytes(&mut shape, 4, of_shape);
        put_bytes(&mut sharding, 5, of_sharding);
    }
    [shape, sharding]
}

/// Writes the `ShapeProto` of a row-major tensor.
fn shape(ty: &TensorType) -> Vec<u8> {
    let (mut out, mut layout) = (Vec::new(), Vec::new());
    put_number(&mut out, 2, DataType::from_dtype(ty.dtype).0 as u64);
    put_bytes(&mut out, 3, &packed(ty.sizes().iter().map(|n| *n as u64)));
    put_bytes(&mut layout, 1, &packed((0..ty.rank() as u64).rev()));
    put_bytes(&mut out, 5, &layout);
    put_bytes(&mut out, 6, &vec![0; ty.rank()]);
    out
}

unsafe extern "C" fn register(args: *mut RegisterCustomPartitioner) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function.
    Status::handle(unsafe { with(args, register_partition) })
}

fn register_partition(args: &mut Arguments<RegisterCustomPartitioner>) -> Outcome {
    let name = args.text("name", |a| (a.name, a.name_size))?;
    let callbacks = args.members.callbacks.cast::<Callbacks>();
    if callbacks.is_null() || !callbacks.is_aligned() {
        return Err(Status::invalid(format!("the partitioner of `{name}` is null or not aligned")));
    }
    // SAFETY: the caller passes functions, whose struct is not null and aligned.
    let (version, partition) = unsafe { ((*callbacks).version, (*callbacks).partition) };
    if version != VERSION || partition.is_none() {
        return Err(Status::invalid(format!(
            "the partitioner of `{name}` has the version {version}, not {VERSION}, or no function that divides calls"
        )));
    }
    register_partitioner(name, Arc::new(HostPartitioner(callbacks)));
    Ok(())
}

unsafe extern "C" fn register_batch(args: *mut RegisterBatchPartitionable) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function.
    Status::handle(unsafe { with(args, |args| args.text("name", |a| (a.name, a.name_size)).map(drop)) })
}

/// Returns the extension, followed by `next`. Calls that state their batch dimensions are divided along these
/// without a registration.
pub(crate) fn extension(next: *mut ExtensionBase) -> CustomPartitionerExtension {
    let r#type = ExtensionType::CUSTOM_PARTITIONER;
    CustomPartitionerExtension {
        base: ExtensionBase { struct_size: size_of::<CustomPartitionerExtension>(), r#type, next },
        register_custom_partitioner: Some(register),
        register_batch_partitionable: Some(register_batch),
    }
}
