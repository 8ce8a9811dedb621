//! Calls of `InspectSharding`: when a program with such a call is divided among devices, the compiler passes
//! the operand's sharding to a callback of the host (`xla/python/inspect_sharding.h`).
//!
//! The call's configuration is the bytes of an [`InspectShardingCallback`]: addresses, which are valid only
//! in the process that created it. The compiler calls callbacks that [`InspectShardingCallback::issue`] has
//! issued. Others are called only in programs that a host compiles through PJRT, where they belong to the
//! interface ([`Reports::OfHost`]); a program from a file could name any address.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, Once, PoisonError};

use farcall::ir::sharding::TileAssignment;
use farcall::partition::{DividedCall, Partitioner, ShardedCall, register_partitioner};

use crate::shardings;

/// `JAX_InspectSharding_Callback_Args`
#[repr(C)]
#[derive(Debug)]
pub struct InspectShardingArgs {
    sharding: *const c_char,
    sharding_size: usize,
    /// An error of the function, which ends with a zero, or null.
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

// The sizes in XLA's header.
const _: () = assert!(BYTES == 16 && size_of::<InspectShardingArgs>() == 40);

/// The issued callbacks: the addresses of their functions and data.
static ISSUED: Mutex<BTreeSet<[usize; 2]>> = Mutex::new(BTreeSet::new());

thread_local! {
    /// The callbacks that compilations on this thread call.
    static REPORTS: Cell<Reports> = const { Cell::new(Reports::Issued) };
}

/// Callbacks that a compilation calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reports {
    /// Callbacks that this library has issued.
    Issued,
    /// All: a host of the plugin, which vouches for the callbacks in the program's calls, compiles it.
    OfHost,
    /// None: the program has been compiled before.
    Omitted,
}

/// Compiles a program, whose shardings are reported to these callbacks.
pub(crate) fn reporting<T>(reports: Reports, compile: impl FnOnce() -> T) -> T {
    /// Restores the value, also after a panic.
    struct Restore(Reports);
    impl Drop for Restore {
        fn drop(&mut self) {
            REPORTS.set(self.0);
        }
    }
    let _restore = Restore(REPORTS.replace(reports));
    compile()
}

impl InspectShardingCallback {
    /// Returns the configuration of calls that are reported to the function, for the rest of the process.
    ///
    /// # Safety
    /// The function can be called with this data, on any thread, for the rest of the process.
    pub unsafe fn issue(self) -> [u8; BYTES] {
        static REGISTER: Once = Once::new();
        REGISTER.call_once(report_shardings);
        let call = self.call.map_or(0, |call| (call as *const ()).expose_provenance());
        let addresses = [call, self.data.expose_provenance()];
        ISSUED.lock().unwrap_or_else(PoisonError::into_inner).insert(addresses);
        let mut bytes = [0; BYTES];
        for (bytes, address) in bytes.chunks_exact_mut(size_of::<usize>()).zip(addresses) {
            bytes.copy_from_slice(&address.to_ne_bytes());
        }
        bytes
    }

    /// Reads a call's configuration. Returns `None` if it names no callback that may be called.
    fn from_bytes(config: &[u8]) -> Option<InspectShardingCallback> {
        let config: &[u8; BYTES] = config.try_into().ok()?;
        let (call, data) = config.split_first_chunk()?;
        let [call, data] = [usize::from_ne_bytes(*call), usize::from_ne_bytes(data.try_into().ok()?)];
        let is_issued = || ISSUED.lock().unwrap_or_else(PoisonError::into_inner).contains(&[call, data]);
        (REPORTS.get() == Reports::OfHost || is_issued()).then(|| InspectShardingCallback {
            // SAFETY: null, or the address of a function: the callback was issued, or the host vouches for
            // it.
            call: unsafe {
                std::mem::transmute::<*const (), Option<_>>(std::ptr::with_exposed_provenance(call))
            },
            data: std::ptr::with_exposed_provenance_mut(data),
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
        // SAFETY: the callback was issued, or the host keeps its data while it compiles the program.
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
        let ([operand], results) = (&call.operands[..], &call.results[..]) else {
            return Err(format!("the call has {} operands, not one", call.operands.len()));
        };
        if results.len() > 1 || results.iter().any(|result| result.ty != operand.ty) {
            return Err("the call returns its operand, or nothing".to_owned());
        }
        if REPORTS.get() != Reports::Omitted {
            let callback = InspectShardingCallback::from_bytes(&call.config)
                .ok_or("the call's configuration is not that of a callback of this process")?;
            callback.report(&operand.sharding)?;
        }
        let ty = operand.ty.with_sizes(operand.sharding.part_sizes());
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

/// Reports the shardings of `InspectSharding` calls from now on, in programs that this process compiles.
pub(crate) fn report_shardings() {
    register_partitioner("InspectSharding", Arc::new(InspectSharding));
}
