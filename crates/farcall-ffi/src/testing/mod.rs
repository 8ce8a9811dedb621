//! Calls a handler in a unit test, without a host: builds the call frame, plays the host's part, and returns
//! the handler's result.
//!
//! ```
//! use farcall_ffi::prelude::*;
//! use farcall_ffi::testing::Call;
//!
//! #[handler(name = "scale")]
//! fn scale(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
//!     for (y, x) in y.iter_mut().zip(x.iter()) {
//!         *y = x * by;
//!     }
//!     Ok(())
//! }
//!
//! let mut y = [0f32; 2];
//! Call::to::<scale>().operand(&[1.0f32, 2.0], &[2]).attr("by", 3.0f32).result(&mut y, &[2]).run().unwrap();
//! assert_eq!(y, [3.0, 6.0]);
//! ```
//!
//! The frame goes through the entry point that a host calls, so the test covers decoding, the check for
//! shared memory and the handling of panics.
//!
//! **Invariants.** Everything that a frame points to lives in its `Arena`, or is borrowed for the lifetime of
//! the [`Call`].

use std::ffi::c_void;
use std::marker::PhantomData;

use farcall_sig::platform::is_host;
use farcall_sig::{AttrValue, AttrValues};

use crate::abi;
use crate::context::UserData;
use crate::descriptor::OpDescriptor;
use crate::element::Element;
use crate::error::{Error, Result, StatusCode};

mod frame;
mod host;

pub use host::Instance;

/// A call to be made.
#[derive(Debug)]
pub struct Call<'a> {
    op: &'static OpDescriptor,
    operands: Vec<Tensor>,
    results: Vec<Tensor>,
    attrs: AttrValues,
    instance: Option<&'a Instance>,
    minor: i32,
    /// Objects with the names of their types.
    user_data: Vec<(&'static str, *mut c_void)>,
    options: Option<AttrValues>,
    device: host::Device,
    extensions: *const abi::Extension,
    /// Allocator of scratch memory, if it is not the process's own.
    scratch: Option<&'a dyn ScratchAllocator>,
    /// True if an operand or result is in the memory of a device.
    has_device_memory: bool,
    buffers: PhantomData<&'a mut [u8]>,
}

/// An allocator of scratch memory, for [`Call::scratch_from`].
///
/// # Safety
/// The memory is one that handlers of the call's platform may use, and stays allocated until it is freed.
pub unsafe trait ScratchAllocator: std::fmt::Debug + Sync {
    /// Allocates memory of `size` bytes at a multiple of `alignment`. Returns null if there is not enough.
    fn allocate(&self, size: usize, alignment: usize) -> *mut c_void;

    /// Frees memory that [`allocate`](ScratchAllocator::allocate) has returned, once.
    fn free(&self, data: *mut c_void);
}

/// An operand or a result of the call.
#[derive(Debug)]
struct Tensor {
    dtype: abi::DataType,
    data: *mut u8,
    dims: Vec<i64>,
}

/// The forward op of a handler that declares residuals; it also returns the residuals:
/// `Call::to::<Forward<rms_norm>>()`.
pub type Forward<H> = <H as crate::__private::HasForward>::Forward;

impl<'a> Call<'a> {
    /// Prepares a call of a handler: `Call::to::<rms_norm>()`.
    pub fn to<H: crate::__private::HandlerOp>() -> Call<'a> {
        Call::of(H::DESCRIPTOR)
    }

    /// Prepares a call of an op of a list, such as the exported ops of another crate.
    pub fn of(op: &'static OpDescriptor) -> Call<'a> {
        Call {
            op,
            operands: Vec::new(),
            results: Vec::new(),
            attrs: AttrValues::new(),
            instance: None,
            minor: abi::API_MINOR,
            user_data: Vec::new(),
            options: None,
            device: host::Device { ordinal: 0, stream: None },
            extensions: std::ptr::null(),
            scratch: None,
            has_device_memory: false,
            buffers: PhantomData,
        }
    }

    /// Adds an operand.
    ///
    /// # Panics
    /// If `dims` does not match the number of elements.
    #[must_use]
    pub fn operand<T: Element>(mut self, elements: &'a [T], dims: &[usize]) -> Self {
        self.operands.push(Tensor::new(elements.as_ptr().cast_mut(), elements.len(), dims));
        self
    }

    /// Adds a result, which the handler writes.
    ///
    /// # Panics
    /// If `dims` does not match the number of elements.
    #[must_use]
    pub fn result<T: Element>(mut self, elements: &'a mut [T], dims: &[usize]) -> Self {
        self.results.push(Tensor::new(elements.as_mut_ptr(), elements.len(), dims));
        self
    }

    /// Adds an operand and a result that share their memory.
    ///
    /// # Panics
    /// If `dims` does not match the number of elements.
    #[must_use]
    pub fn in_place<T: Element>(mut self, elements: &'a mut [T], dims: &[usize]) -> Self {
        let data = elements.as_mut_ptr();
        self.operands.push(Tensor::new(data, elements.len(), dims));
        self.results.push(Tensor::new(data, elements.len(), dims));
        self
    }

    /// Adds an operand in the memory of a device, at this address. The handler is not for the platform
    /// `"Host"`.
    ///
    /// # Panics
    /// If the product of `dims` does not fit a `usize`.
    #[must_use]
    pub fn gpu_operand<T: Element>(mut self, address: usize, dims: &[usize]) -> Self {
        self.operands.push(Tensor::on_device::<T>(address, dims));
        self.has_device_memory = true;
        self
    }

    /// Adds a result in the memory of a device, at this address. The handler is not for the platform `"Host"`.
    ///
    /// # Panics
    /// If the product of `dims` does not fit a `usize`.
    #[must_use]
    pub fn gpu_result<T: Element>(mut self, address: usize, dims: &[usize]) -> Self {
        self.results.push(Tensor::on_device::<T>(address, dims));
        self.has_device_memory = true;
        self
    }

    /// Makes the call on a device of its platform. The initialize and execute stages have this stream, such as
    /// a `CUstream`; as in XLA, the other stages have none.
    ///
    /// # Safety
    /// The handler and its stages may enqueue work on the stream that accesses all buffers of the call, and
    /// scratch memory of its allocator. So the stream is one of the handler's platform and of this device, and
    /// is valid until the call is over. The buffers and the scratch memory are memory that the device may
    /// access until the work has ended. None of this is needed if the handler passes the stream to nothing but
    /// a stand-in that does not use it.
    #[must_use]
    pub unsafe fn on_stream(mut self, stream: *mut c_void, device_ordinal: i32) -> Self {
        self.device = host::Device { ordinal: device_ordinal, stream: Some(stream) };
        self
    }

    /// Allocates the handler's scratch memory with this allocator; by default, it is memory of the process.
    #[must_use]
    pub fn scratch_from(mut self, allocator: &'a dyn ScratchAllocator) -> Self {
        self.scratch = Some(allocator);
        self
    }

    /// Attaches extensions of the interface to the call.
    ///
    /// # Safety
    /// `first` is null or the first of a list of extensions, which are valid until the call is over.
    #[must_use]
    pub unsafe fn extensions(mut self, first: *const abi::Extension) -> Self {
        self.extensions = first;
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Self {
        self.attrs.insert(name, value);
        self
    }

    /// Passes user data to the run.
    #[must_use]
    pub fn user_data<T: UserData>(mut self, data: &'a T) -> Self {
        self.user_data.push((T::NAME, std::ptr::from_ref(data).cast_mut().cast()));
        self
    }

    /// Sets an option of the run.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<AttrValue>) -> Self {
        self.options.get_or_insert_default().insert(name, value);
        self
    }

    /// Makes the call at an instantiated call site.
    #[must_use]
    pub fn at(mut self, instance: &'a Instance) -> Self {
        self.minor = instance.minor();
        self.instance = Some(instance);
        self
    }

    /// Sets the host's version of the interface to 0.`minor`; the default is 0.5.
    #[must_use]
    pub fn host_version(mut self, minor: i32) -> Self {
        self.minor = minor;
        self
    }

    /// Makes the call: runs the handler's `prepare` and `initialize` functions, if it has them, then the
    /// handler, and waits until the call is over.
    ///
    /// # Errors
    /// The handler's error, or an error about the call itself.
    pub fn run(self) -> Result<()> {
        // SAFETY: the frame is not changed, and `call` makes valid frames.
        unsafe { self.run_changed(|_| {}) }
    }

    /// Makes the call with a changed frame, to test how the handler's entry reacts.
    ///
    /// # Errors
    /// Same errors as [`run`](Self::run).
    ///
    /// # Safety
    /// The memory that the handler's entry reads through the changed frame is valid. The entry trusts sizes,
    /// and pointers that are neither null nor misaligned.
    #[doc(hidden)]
    pub unsafe fn run_changed(self, change: impl FnOnce(&mut abi::CallFrame)) -> Result<()> {
        let raw = self.op.raw();
        // SAFETY: the platform of a descriptor is a constant.
        let platform = unsafe { raw.platform.as_bytes() };
        if self.has_device_memory && std::str::from_utf8(platform).is_ok_and(is_host) {
            let message = "a handler for the platform Host reads its operands in the process's own memory";
            return Err(Error::invalid_argument(message));
        }
        let nothing = Instance::new(self.minor);
        let instance = self.instance.unwrap_or(&nothing);
        let bundle = self.op.raw().bundle;
        for (entry, stage) in
            [(bundle.prepare, abi::Stage::PREPARE), (bundle.initialize, abi::Stage::INITIALIZE)]
        {
            if entry.is_some() {
                host::metadata(entry, self.minor)?;
                host::call(entry, stage, &self, instance, |_| {})?;
            }
        }
        let outcome = host::call(bundle.execute, abi::Stage::EXECUTE, &self, instance, change);
        outcome.map_err(|error| {
            let needs_state = bundle.instantiate.is_some() && self.instance.is_none();
            if needs_state && error.code() == StatusCode::NotFound { without_state(&error) } else { error }
        })
    }

    /// Instantiates the call site: runs the handler's `instantiate` function, if it has one, with only the
    /// attributes. Dropping the returned instance drops the state.
    ///
    /// # Errors
    /// The function's error, or an error about the call itself.
    pub fn instantiate(mut self) -> Result<Instance> {
        self.operands.clear();
        self.results.clear();
        let instance = Instance::new(self.minor);
        if self.op.raw().bundle.instantiate.is_some() {
            host::metadata(self.op.raw().bundle.instantiate, self.minor)?;
            host::call(self.op.raw().bundle.instantiate, abi::Stage::INSTANTIATE, &self, &instance, |_| {})?;
        }
        Ok(instance)
    }

    /// Returns the metadata that the handler reports to a host of this version.
    ///
    /// # Errors
    /// The error with which the handler answers the request.
    pub fn metadata(self) -> Result<Metadata> {
        host::metadata(self.op.raw().bundle.execute, self.minor)
    }
}

/// Makes the error for a handler whose call site was not instantiated.
fn without_state(error: &Error) -> Error {
    Error::not_found(format!(
        "{}; the handler's `instantiate` function has not run: `let site = Call::to::<…>().attr(…).instantiate()?` makes a \
         call site with a state, and `Call::to::<…>()….at(&site).run()` calls the handler there",
        error.message()
    ))
}

/// Metadata of a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// Version of the interface that the handler needs.
    pub api_version: (i32, i32),
    /// Bits of [`abi::handler_traits`].
    pub traits: abi::HandlerTraits,
    /// Type number of the state that the handler makes, or 0.
    pub state_type_id: i64,
}

impl Tensor {
    fn new<T: Element>(data: *mut T, len: usize, dims: &[usize]) -> Tensor {
        let product: usize = dims.iter().product();
        assert_eq!(product, len, "dimensions {dims:?} do not fit {len} elements");
        let dims = dims.iter().map(|&dim| i64::try_from(dim).expect("no slice is that long")).collect();
        Tensor { dtype: abi::DataType::from_dtype(T::DTYPE), data: data.cast(), dims }
    }

    fn on_device<T: Element>(address: usize, dims: &[usize]) -> Tensor {
        let len = dims.iter().try_fold(1usize, |len, dim| len.checked_mul(*dim)).expect("a possible size");
        Tensor::new(std::ptr::without_provenance_mut::<T>(address), len, dims)
    }
}
