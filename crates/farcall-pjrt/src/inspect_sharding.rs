//! Calls of `InspectSharding`: when a program with such a call is divided among devices, a function of the
//! host is told the sharding of the operand (`xla/python/inspect_sharding.h`).
//!
//! The call's configuration is the bytes of an [`InspectShardingCallback`]. Hosts create it in the process in
//! which the program is compiled, so a program from a file cannot have one.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Once};

use farcall::ir::TensorType;
use farcall::ir::sharding::TileAssignment;
use farcall::partition::{DividedCall, Partitioner, ShardedCall, ShardedTensor, register_partitioner};

use crate::shardings;

/// `JAX_InspectSharding_Callback_Args`
#[repr(C)]
#[derive(Debug)]
pub struct InspectShardingArgs {
    sharding: *const c_char,
    sharding_size: usize,
    /// An error of the function, which ends with a zero; null if there is none.
    pub error: *const c_char,
    /// Data of the function for `free_error`.
    pub error_data: *mut c_void,
    /// Frees `error`.
    pub free_error: Option<unsafe extern "C" fn(*mut InspectShardingArgs)>,
}

/// `JAX_InspectSharding_Callback`: a function of a host, and its first argument.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InspectShardingCallback {
    /// The function.
    pub call: Option<unsafe extern "C" fn(*mut c_void, *mut InspectShardingArgs)>,
    /// Its first argument.
    pub data: *mut c_void,
}

const BYTES: usize = size_of::<InspectShardingCallback>();

impl InspectShardingArgs {
    /// Returns the sharding of the operand, without the operand's sizes; without tiles, if devices have the
    /// complete operand.
    ///
    /// # Errors
    /// A sentence: the sharding is of a kind that is not supported.
    ///
    /// # Safety
    /// A compiler passed the arguments to an [`InspectShardingCallback`], which has not returned.
    pub unsafe fn sharding(&self) -> Result<TileAssignment, String> {
        // SAFETY: the contract of this function.
        let message =
            unsafe { crate::call::slice("sharding", self.sharding.cast::<u8>(), self.sharding_size) };
        let sharding = message.and_then(shardings::read).map_err(|status| status.message)?;
        Ok(sharding.unwrap_or_else(|| TileAssignment::replicated(Vec::new(), Vec::new())))
    }
}

impl InspectShardingCallback {
    /// Returns the configuration of calls that are reported to the function.
    pub fn to_bytes(self) -> [u8; BYTES] {
        // SAFETY: two pointers have no padding.
        unsafe { std::mem::transmute::<InspectShardingCallback, [u8; BYTES]>(self) }
    }

    /// Reads a call's configuration. Returns `None` if it is not that of a function in a loaded library.
    fn from_bytes(config: &[u8]) -> Option<InspectShardingCallback> {
        let [call, data] = [0, size_of::<usize>()].map(|start| {
            let bytes = config.get(start..start + size_of::<usize>())?;
            Some(usize::from_ne_bytes(bytes.try_into().ok()?))
        });
        let (call, data) = (call?, data?);
        // SAFETY: a structure of pointers may be zero. The function accepts any address.
        let is_known = unsafe { libc::dladdr(call as *const c_void, &mut std::mem::zeroed()) } != 0;
        (config.len() == BYTES && is_known).then(|| InspectShardingCallback {
            // SAFETY: null, or the address of a function; see the module's documentation.
            call: unsafe { std::mem::transmute::<usize, Option<_>>(call) },
            data: data as *mut c_void,
        })
    }

    /// Calls the function.
    fn report(self, sharding: &TileAssignment) -> Result<(), String> {
        let message = shardings::message(Some(sharding));
        let mut args = InspectShardingArgs {
            sharding: message.as_ptr().cast(),
            sharding_size: message.len(),
            error: null(),
            error_data: null_mut(),
            free_error: None,
        };
        let call = self.call.ok_or("the function is null")?;
        // SAFETY: a host created the callback, and keeps its data while the program is compiled.
        unsafe { call(self.data, &raw mut args) };
        if args.error.is_null() {
            return Ok(());
        }
        // SAFETY: the function's error ends with a zero, and exists until it is freed.
        let error = unsafe { CStr::from_ptr(args.error) }.to_string_lossy().into_owned();
        if let Some(free) = args.free_error {
            // SAFETY: a function of the host for these arguments.
            unsafe { free(&raw mut args) };
        }
        Err(error)
    }
}

/// Reports the sharding of a call's operand, and replaces the call by the operand.
#[derive(Debug)]
struct InspectSharding;

impl Partitioner for InspectSharding {
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String> {
        let callback = InspectShardingCallback::from_bytes(&call.config)
            .ok_or("the call's configuration is not that of a function of this process")?;
        let ([operand], results) = (&call.operands[..], &call.results[..]) else {
            return Err(format!("the call has {} operands, not one", call.operands.len()));
        };
        if results.len() > 1 || results.iter().any(|result| result.ty != operand.ty) {
            return Err("the call returns its operand, or nothing".to_owned());
        }
        callback.report(&operand.sharding)?;
        let ty = part_type(operand);
        let (types, values) =
            if results.is_empty() { (String::new(), "") } else { (ty.to_string(), "%x : ") };
        let program = format!("func.func @main(%x: {ty}) -> ({types}) {{ return {values}{types} }}");
        Ok(DividedCall {
            program: program.into_bytes(),
            operands: vec![operand.sharding.clone()],
            results: vec![operand.sharding.clone(); results.len()],
        })
    }

    fn infer_sharding_from_operands(
        &self,
        call: &ShardedCall,
    ) -> Result<Option<Vec<TileAssignment>>, String> {
        let [operand] = &call.operands[..] else { return Ok(None) };
        Ok(Some(vec![operand.sharding.clone(); call.results.len()]))
    }

    fn can_side_effecting_have_replicated_sharding(&self) -> bool {
        true
    }
}

/// Returns the type of a tensor's parts.
fn part_type(tensor: &ShardedTensor) -> TensorType {
    let sizes = tensor.ty.sizes().iter().zip(&tensor.sharding.tiles);
    TensorType::new(tensor.ty.dtype, sizes.map(|(size, tiles)| size.div_ceil(*tiles)).collect::<Vec<usize>>())
}

/// Reports the shardings of `InspectSharding` calls from now on, in programs that this process compiles.
pub fn report_shardings() {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| drop(register_partitioner("InspectSharding", Arc::new(InspectSharding))));
}
