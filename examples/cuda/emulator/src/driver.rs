//! The functions of the driver, as NVIDIA's *CUDA Driver API* documents them. There is one device with one
//! context.
#![expect(unused_unsafe, reason = "some functions only read numbers")]

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::machine::{self, Launch, Memory};
use crate::ptx::{self, PtxEntry};

const SUCCESS: c_uint = 0;
const INVALID_VALUE: c_uint = 1;
const OUT_OF_MEMORY: c_uint = 2;
const INVALID_DEVICE: c_uint = 101;
const INVALID_PTX: c_uint = 218;
const NOT_FOUND: c_uint = 500;
const ILLEGAL_ADDRESS: c_uint = 700;
const NOT_SUPPORTED: c_uint = 801;

/// Handle of the only context.
const CONTEXT: usize = 0xc0;

/// Handle of all streams that are not the default stream.
const STREAM: usize = 0x50;

/// Handle of all events.
const EVENT: usize = 0xe0;

/// Default limit of the shared memory of a launch, and the maximum limit on an H200, in bytes.
const USUAL_SHARED_BYTES: usize = 48 << 10;
const MAX_SHARED_BYTES: c_int = 227 << 10;

const MULTIPROCESSORS: c_int = 132;

/// A loaded kernel. Its handle is the address of this value, which is never freed.
struct Function {
    entry: PtxEntry,
    /// Dynamic shared memory that launches may have, in bytes.
    allowed_bytes: Mutex<usize>,
}

type Module = HashMap<String, &'static Function>;

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);

/// The message of the last kernel that failed.
static FAILURE: Mutex<Option<CString>> = Mutex::new(None);

thread_local! {
    static CURRENT_CONTEXT: Cell<usize> = const { Cell::new(0) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_memory<R>(work: impl FnOnce(&mut Memory) -> R) -> R {
    work(lock(&MEMORY).get_or_insert_default())
}

/// Runs work that panics if a program is wrong. If it panics, keeps the message and returns `status`;
/// `NOT_SUPPORTED` if the program has an instruction or a special register that this emulator does not know.
#[expect(clippy::disallowed_methods, reason = "the payload is a text")]
fn guarded(status: c_uint, work: impl FnOnce()) -> c_uint {
    let Err(panic) = catch_unwind(AssertUnwindSafe(work)) else { return SUCCESS };
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    let text = text.unwrap_or_default();
    let is_unknown =
        ["unknown instruction", "unknown special register"].iter().any(|start| text.starts_with(start));
    *lock(&FAILURE) = CString::new(text).ok();
    if is_unknown { NOT_SUPPORTED } else { status }
}

macro_rules! driver {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("The function `", stringify!($name), "` of the CUDA driver.")]
        ///
        /// # Safety
        /// Pointers and handles are valid, as the driver requires.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> c_uint {
            // SAFETY: the caller guarantees valid pointers and handles (`# Safety` above).
            unsafe { $body }
        }
    )*};
}

driver! {
    fn cuInit(_flags: c_uint) { SUCCESS }

    fn cuDriverGetVersion(version: *mut c_int) {
        *version = 13_000;
        SUCCESS
    }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        *device = 0;
        if ordinal == 0 { SUCCESS } else { INVALID_DEVICE }
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, _device: c_int) {
        let text = c"emulated GPU".to_bytes_with_nul();
        if usize::try_from(len).is_ok_and(|len| len < text.len()) {
            return INVALID_VALUE;
        }
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len());
        SUCCESS
    }

    fn cuDeviceGetCount(count: *mut c_int) {
        *count = 1;
        SUCCESS
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, _device: c_int) {
        const MULTIPROCESSOR_COUNT: c_uint = 16;
        const COMPUTE_CAPABILITY_MAJOR: c_uint = 75;
        const COMPUTE_CAPABILITY_MINOR: c_uint = 76;
        const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_uint = 97;
        *value = match attribute {
            MULTIPROCESSOR_COUNT => MULTIPROCESSORS,
            COMPUTE_CAPABILITY_MAJOR => 9,
            COMPUTE_CAPABILITY_MINOR => 0,
            MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => MAX_SHARED_BYTES,
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }

    fn cuDevicePrimaryCtxRetain(context: *mut usize, _device: c_int) {
        *context = CONTEXT;
        SUCCESS
    }

    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) { SUCCESS }

    fn cuCtxSetCurrent(context: usize) {
        CURRENT_CONTEXT.set(context);
        SUCCESS
    }

    fn cuCtxGetCurrent(context: *mut usize) {
        *context = CURRENT_CONTEXT.get();
        SUCCESS
    }

    fn cuCtxPushCurrent_v2(context: usize) {
        CURRENT_CONTEXT.set(context);
        SUCCESS
    }

    fn cuCtxPopCurrent_v2(context: *mut usize) {
        *context = CURRENT_CONTEXT.get();
        SUCCESS
    }

    fn cuCtxGetDevice(device: *mut c_int) {
        *device = 0;
        SUCCESS
    }

    fn cuCtxSynchronize() { SUCCESS }

    fn cuStreamCreate(stream: *mut usize, _flags: c_uint) {
        *stream = STREAM;
        SUCCESS
    }

    fn cuStreamDestroy_v2(_stream: usize) { SUCCESS }

    fn cuStreamSynchronize(_stream: usize) { SUCCESS }

    fn cuStreamIsCapturing(_stream: usize, status: *mut c_uint) {
        *status = 0;
        SUCCESS
    }

    // Work ends before the call that enqueues it returns, so streams never wait.
    fn cuEventCreate(event: *mut usize, _flags: c_uint) {
        *event = EVENT;
        SUCCESS
    }

    fn cuEventDestroy_v2(_event: usize) { SUCCESS }

    fn cuEventRecord(_event: usize, _stream: usize) { SUCCESS }

    fn cuStreamWaitEvent(_stream: usize, _event: usize, _flags: c_uint) { SUCCESS }

    fn cuMemAlloc_v2(address: *mut u64, size: usize) {
        if size == 0 {
            return INVALID_VALUE;
        }
        // New memory contains NaN.
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(size).is_err() {
            return OUT_OF_MEMORY;
        }
        bytes.resize(size, 0xff);
        *address = with_memory(|memory| memory.allocate(bytes));
        SUCCESS
    }

    fn cuMemFree_v2(address: u64) {
        if with_memory(|memory| memory.free(address)) { SUCCESS } else { INVALID_VALUE }
    }

    fn cuMemcpyHtoD_v2(to: u64, from: *const u8, size: usize) {
        let from = std::slice::from_raw_parts(from, size);
        guarded(INVALID_VALUE, || with_memory(|memory| memory.bytes(to, size).copy_from_slice(from)))
    }

    fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, size: usize) {
        let to = std::slice::from_raw_parts_mut(to, size);
        guarded(INVALID_VALUE, || with_memory(|memory| to.copy_from_slice(memory.bytes(from, size))))
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, size: usize, _stream: usize) {
        cuMemcpyHtoD_v2(to, from, size)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, size: usize, _stream: usize) {
        cuMemcpyDtoH_v2(to, from, size)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, _stream: usize) {
        guarded(ILLEGAL_ADDRESS, || with_memory(|memory| {
            let bytes = memory.bytes(from, size).to_vec();
            memory.bytes(to, size).copy_from_slice(&bytes);
        }))
    }

    fn cuMemsetD8Async(to: u64, value: u8, size: usize, _stream: usize) {
        guarded(ILLEGAL_ADDRESS, || with_memory(|memory| memory.bytes(to, size).fill(value)))
    }

    fn cuModuleLoadDataEx(
        module: *mut *const c_void,
        image: *const c_char,
        _count: c_uint,
        _options: *mut c_uint,
        _values: *mut *mut c_void,
    ) {
        let Ok(text) = CStr::from_ptr(image).to_str() else { return INVALID_PTX };
        guarded(INVALID_PTX, || {
            let entries = ptx::parse(text).entries.into_iter();
            let function = |entry: PtxEntry| {
                let name = entry.name.clone();
                let allowed_bytes = Mutex::new(USUAL_SHARED_BYTES - entry.shared_bytes);
                (name, &*Box::leak(Box::new(Function { entry, allowed_bytes })))
            };
            let functions: Module = entries.map(function).collect();
            *module = std::ptr::from_ref(Box::leak(Box::new(functions))).cast();
        })
    }

    fn cuModuleUnload(_module: *const c_void) { SUCCESS }

    fn cuModuleGetFunction(function: *mut *const c_void, module: *const c_void, name: *const c_char) {
        let module = &*module.cast::<Module>();
        match CStr::from_ptr(name).to_str().ok().and_then(|name| module.get(name)) {
            Some(found) => *function = std::ptr::from_ref(*found).cast(),
            None => return NOT_FOUND,
        }
        SUCCESS
    }

    fn cuFuncGetParamInfo(function: *const c_void, index: usize, offset: *mut usize, size: *mut usize) {
        let params = &(*function.cast::<Function>()).entry.params;
        let mut end = 0usize;
        for (i, ty) in params.iter().enumerate() {
            let bytes = ty.bits() as usize / 8;
            let start = end.next_multiple_of(bytes);
            if i == index {
                *offset = start;
                *size = bytes;
                return SUCCESS;
            }
            end = start + bytes;
        }
        INVALID_VALUE
    }

    fn cuFuncSetAttribute(function: *const c_void, attribute: c_uint, value: c_int) {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_uint = 8;
        let function = &*function.cast::<Function>();
        let inside = value >= 0 && value + function.entry.shared_bytes as c_int <= MAX_SHARED_BYTES;
        if attribute != MAX_DYNAMIC_SHARED_SIZE_BYTES || !inside {
            return INVALID_VALUE;
        }
        *lock(&function.allowed_bytes) = value as usize;
        SUCCESS
    }

    fn cuLaunchKernel(
        function: *const c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        _stream: usize,
        args: *const *const c_void,
        _extra: *const c_void,
    ) {
        let function = &*function.cast::<Function>();
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let launch = Launch { grid, block, shared_bytes: shared_bytes as usize };
        let threads: u32 = block.iter().product();
        let fits = (1..=function.entry.max_threads).contains(&threads)
            && block_z <= 64
            && !grid.contains(&0)
            && grid_y.max(grid_z) <= 65535
            && launch.shared_bytes <= *lock(&function.allowed_bytes);
        if !fits {
            return INVALID_VALUE;
        }
        let value = |(i, ty): (usize, &ptx::PtxType)| {
            let mut bytes = [0; 8];
            let count = ty.bits() as usize / 8;
            std::ptr::copy_nonoverlapping((*args.add(i)).cast(), bytes.as_mut_ptr(), count);
            u64::from_le_bytes(bytes)
        };
        let values: Vec<u64> = function.entry.params.iter().enumerate().map(value).collect();
        guarded(ILLEGAL_ADDRESS, || {
            with_memory(|memory| machine::run(&function.entry, launch, &values, memory));
        })
    }

    fn cuGetErrorName(status: c_uint, name: *mut *const c_char) {
        let text = match status {
            SUCCESS => c"CUDA_SUCCESS",
            INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
            OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
            INVALID_DEVICE => c"CUDA_ERROR_INVALID_DEVICE",
            INVALID_PTX => c"CUDA_ERROR_INVALID_PTX",
            NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
            ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
            NOT_SUPPORTED => c"CUDA_ERROR_NOT_SUPPORTED",
            _ => return INVALID_VALUE,
        };
        *name = text.as_ptr();
        SUCCESS
    }

    fn cuGetErrorString(status: c_uint, text: *mut *const c_char) {
        let known = match status {
            SUCCESS => c"no error",
            INVALID_VALUE => c"invalid argument",
            OUT_OF_MEMORY => c"out of memory",
            INVALID_DEVICE => c"invalid device ordinal",
            NOT_FOUND => c"named symbol not found",
            INVALID_PTX | ILLEGAL_ADDRESS | NOT_SUPPORTED => match lock(&FAILURE).take() {
                // The driver's texts are constants.
                Some(message) => Box::leak(message.into_boxed_c_str()),
                None => c"an illegal memory access was encountered",
            },
            _ => return INVALID_VALUE,
        };
        *text = known.as_ptr();
        SUCCESS
    }
}
