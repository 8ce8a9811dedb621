//! Kernels with declared prototypes, and their launches.
//!
//! **Speed.** A launch allocates nothing, takes no lock, and calls the driver once. The arguments are written
//! to the stack, and the driver copies them from there before it returns.

use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;

use cudarc::driver::sys;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::{Complex, Error, Pred, Result};

use crate::array::GpuArray;
use crate::driver::{Driver, INVALID_VALUE};
use crate::module::KernelModule;
use crate::stream::CudaStream;

/// Declares the kernels of a module with their prototypes.
///
/// ```
/// # const PTX: &[u8] = b"";
/// farcall_cuda::kernels! {
///     /// Kernels of `rms_norm.cu`.
///     pub struct RmsNormKernels = PTX;
///     /// Divides each row by its root mean square.
///     unsafe fn rms_norm(x: *const f32, y: *mut f32, rows: u32, columns: u32, eps: f32);
///     /// A kernel with another name in the module: here, an instance of a C++ template.
///     unsafe fn scale_f64(x: *mut f64, by: f64) = "_Z5scaleIdEvPT_S0_";
/// }
/// ```
///
/// The image after `=` is an expression of type `&[u8]`: `include_bytes!("rms_norm.ptx")`, or a cubin or a
/// fatbin. The declaration has at least one kernel. The struct has a field of type [`Kernel`] for each
/// kernel, and a function `load(&CudaStream) -> Result<Self>`, which loads the module into the context of the
/// stream's device. Load the module in the initialize stage, once for each device
/// ([`PerDevice`](crate::PerDevice)). [`launch!`](crate::launch) launches a kernel.
///
/// # Safety
/// Each `unsafe fn` is a promise, like a function in an `unsafe extern "C"` block: the kernel has these
/// parameters, with the layouts of these types, and writes only through pointers `*mut`. When the module is
/// loaded, a driver for CUDA 12.4 or later compares the number and the sizes of the parameters. Nothing
/// checks the rest. Each launch promises that the kernel stays within its arrays: [`launch!`](crate::launch).
///
/// The `unsafe fn`s also promise that the image is valid: PTX for the driver's assembler, or a cubin or
/// fatbin exactly as a compiler wrote it ([`KernelModule::load`](crate::KernelModule::load)). An image that a
/// program reads from a file or receives from elsewhere at run time is only as safe as its origin.
///
/// A parameter is a pointer, a number, or another type with [`KernelParameter`].
///
/// # Images
///
/// - PTX, made by `nvcc --ptx`, is text that the driver assembles for its device. PTX for an architecture
///   runs on later ones: `compute_80` runs on all devices since Ampere.
/// - A cubin (`nvcc --cubin -arch=sm_90`) is for one architecture. A fatbin (`nvcc --fatbin`) contains code
///   for several.
/// - A build script can run `nvcc` where it is installed, and the image is then in `OUT_DIR`:
///   `include_bytes!(concat!(env!("OUT_DIR"), "/rms_norm.fatbin"))`.
/// - A kernel of Triton is PTX, too: `kernel.asm["ptx"]` of a compiled kernel, whose block has
///   `32 * kernel.metadata.num_warps` threads and `kernel.metadata.shared` bytes of shared memory. The last
///   parameters may be pointers to scratch memory, which are null if the kernel needs none.
#[macro_export]
macro_rules! kernels {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $image:expr;
        $(
            $(#[$kernel_meta:meta])*
            unsafe fn $kernel:ident($($parameter:ident: $ty:ty),* $(,)?) $(= $symbol:literal)?;
        )+
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $name {
            $(
                $(#[$kernel_meta])*
                pub $kernel: $crate::Kernel<fn($($parameter: $ty),*)>,
            )*
        }

        impl $name {
            /// Loads the module into the context of the stream's device.
            ///
            /// # Errors
            /// `FAILED_PRECONDITION` if the stream is being recorded into a CUDA graph; `NOT_FOUND` if the
            /// module lacks a kernel; `INVALID_ARGUMENT` if the image is malformed or a kernel has other
            /// parameters; otherwise the driver's error, with the messages of its assembler.
            $vis fn load(
                stream: &$crate::CudaStream,
            ) -> ::std::result::Result<Self, $crate::__private::Error> {
                let image: &[::std::primitive::u8] = $image;
                // SAFETY: the `unsafe fn`s of the declaration promise that the image is valid.
                let module =
                    unsafe { $crate::KernelModule::load(stream, ::std::stringify!($name), image)? };
                ::std::result::Result::Ok(Self {
                    $(
                        // SAFETY: the `unsafe fn` of the declaration promises the prototype.
                        $kernel: unsafe {
                            module.kernel($crate::__kernel_symbol!($kernel $($symbol)?))?
                        },
                    )*
                })
            }
        }
    };
}

/// Converts the name of a kernel in its module to a C string.
#[doc(hidden)]
#[macro_export]
macro_rules! __kernel_symbol {
    ($kernel:ident) => {
        $crate::__kernel_symbol!(@ ::std::stringify!($kernel))
    };
    ($kernel:ident $symbol:literal) => {
        $crate::__kernel_symbol!(@ $symbol)
    };
    (@ $symbol:expr) => {
        const { $crate::__private::symbol(::std::concat!($symbol, "\0")) }
    };
}

/// Enqueues a kernel on a stream.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// # use farcall_cuda::{CudaStream, launch};
/// # farcall_cuda::kernels! {
/// #     struct Kernels = b"";
/// #     unsafe fn rms_norm(x: *const f32, y: *mut f32, rows: u32, columns: u32, eps: f32);
/// # }
/// fn enqueue(
///     kernels: &Kernels,
///     stream: &CudaStream,
///     x: &GpuBuffer<f32, 2>,
///     y: &mut GpuBuffer<f32, 2>,
/// ) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     let [rows, columns] = x.shape();
///     let (rows, columns) = (u32::try_from(rows)?, u32::try_from(columns)?);
///     let bytes = 32 * size_of::<f32>();
///     // SAFETY: x and y have `rows` rows of `columns` elements.
///     unsafe {
///         launch!(kernels.rms_norm, stream, grid: (rows, 1, 1), block: (256, 1, 1), shared: bytes,
///             (x, y, rows, columns, 1e-6))
///     }
/// }
/// ```
///
/// - `grid` counts blocks and `block` counts threads: one, two or three integers of any type. A launch with
///   an empty grid does nothing, since tensors without elements need no work.
/// - `shared`, which is optional, is the size of the kernel's dynamic shared memory in bytes. More than 48
///   KiB must be allowed first: [`Kernel::allow_shared_bytes`].
/// - The compiler checks that the arguments fit the prototype:
///
/// | parameter | argument |
/// | --- | --- |
/// | `*const T` | `&GpuBuffer<T>`, `&GpuScratch<T>`, any other `&impl GpuArray<Element = T>`; an `Option` of such a reference, of which `None` is a null pointer |
/// | `*mut T` | the same with `&mut` |
/// | any other type, and pointers | a value of this type |
///
/// The macro does not consume a `&mut` argument, so several launches may use it. The driver's error for a
/// launch carries the kernel's name and the launch's dimensions.
///
/// # Safety
/// A launch runs code that Rust does not check, so it needs an `unsafe` block. The caller guarantees:
///
/// - The kernel has its prototype, as [`kernels!`](crate::kernels) says.
/// - With these dimensions and arguments, the kernel only accesses elements of the arrays that it is passed.
///   `launch!` checks neither sizes nor raw pointers, and XLA does not check shapes: the handler compares the
///   dimensions of its buffers first.
/// - An array that the kernel writes overlaps no other argument, unless the kernel allows it.
/// - The arrays and the module exist until the kernel has ended, in each run of a CUDA graph into which the
///   launch is recorded. This holds for buffers, for scratch memory (a recorded launch with such an argument
///   is the error `FAILED_PRECONDITION`), and for a module in a static [`PerDevice`](crate::PerDevice).
///
/// # Mistakes that do not compile
///
/// ```compile_fail,E0271
/// # use farcall_ffi::{GpuBuffer, Result};
/// # use farcall_cuda::{CudaStream, launch};
/// # farcall_cuda::kernels! { struct Kernels = b""; unsafe fn scale(x: *mut f32, by: f32); }
/// fn wrong_type(kernels: &Kernels, stream: &CudaStream, x: &mut GpuBuffer<f64>) -> Result<()> {
///     unsafe { launch!(kernels.scale, stream, grid: 1, block: 1, (x, 2.0)) }
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use farcall_ffi::{GpuBuffer, Result};
/// # use farcall_cuda::{CudaStream, launch};
/// # farcall_cuda::kernels! { struct Kernels = b""; unsafe fn scale(x: *mut f32, by: f32); }
/// fn only_read(kernels: &Kernels, stream: &CudaStream, x: &GpuBuffer<f32>) -> Result<()> {
///     unsafe { launch!(kernels.scale, stream, grid: 1, block: 1, (x, 2.0)) }
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use farcall_ffi::{GpuBuffer, Result};
/// # use farcall_cuda::{CudaStream, launch};
/// # farcall_cuda::kernels! { struct Kernels = b""; unsafe fn scale(x: *mut f32, by: f32); }
/// fn too_few(kernels: &Kernels, stream: &CudaStream, x: &mut GpuBuffer<f32>) -> Result<()> {
///     unsafe { launch!(kernels.scale, stream, grid: 1, block: 1, (x)) }
/// }
/// ```
#[macro_export]
macro_rules! launch {
    (
        $kernel:expr, $stream:expr, grid: $grid:expr, block: $block:expr, shared: $shared:expr,
        ($($argument:expr),* $(,)?)
    ) => {
        $crate::Kernel::launch(&$kernel, $stream, $grid, $block, $shared, ($(&$argument,)*))
    };
    (
        $kernel:expr, $stream:expr, grid: $grid:expr, block: $block:expr,
        ($($argument:expr),* $(,)?)
    ) => {
        $crate::launch!($kernel, $stream, grid: $grid, block: $block, shared: 0u32, ($($argument),*))
    };
}

/// A type that a kernel's parameter can have: a pointer, a number, or a struct of such values.
///
/// # Safety
/// The type has the same size and layout in Rust and in CUDA C++, and no invalid value reaches the kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    note = "a struct with `#[repr(C)]` can be one, with `unsafe impl KernelParameter`"
)]
pub unsafe trait KernelParameter: Copy {
    /// True for a pointer to memory of the device.
    #[doc(hidden)]
    const IS_POINTER: bool = false;
}

// SAFETY: pointers have 8 bytes on both sides.
unsafe impl<T> KernelParameter for *const T {
    const IS_POINTER: bool = true;
}

// SAFETY: pointers have 8 bytes on both sides.
unsafe impl<T> KernelParameter for *mut T {
    const IS_POINTER: bool = true;
}

macro_rules! parameters {
    ($($ty:ty)*) => {$(
        // SAFETY: a number (or `bool`, or two numbers) of the same size and layout on both sides.
        unsafe impl KernelParameter for $ty {}
    )*};
}

parameters! {
    i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 f16 bf16 bool Pred Complex<f32> Complex<f64>
}

/// An argument for a parameter of type `P`. Implemented for values of type `P`, and for references to arrays
/// on the device if `P` is a pointer to their elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit a kernel's parameter of type `{P}`",
    label = "the prototype has `{P}`",
    note = "`*const T` takes a `&GpuBuffer<T>`, `*mut T` a `&mut GpuBuffer<T>`, and any other type itself"
)]
pub trait KernelArgument<P> {
    /// Returns the value that the kernel receives.
    fn value(&self) -> P;

    /// Returns true if the argument is an array in scratch memory.
    #[inline]
    fn uses_scratch(&self) -> bool {
        false
    }
}

impl<P: KernelParameter> KernelArgument<P> for P {
    #[inline]
    fn value(&self) -> P {
        *self
    }
}

impl<A: GpuArray + ?Sized> KernelArgument<*const A::Element> for &A {
    #[inline]
    fn value(&self) -> *const A::Element {
        self.start()
    }

    #[inline]
    fn uses_scratch(&self) -> bool {
        (**self).is_scratch()
    }
}

impl<A: GpuArray + ?Sized> KernelArgument<*const A::Element> for &mut A {
    #[inline]
    fn value(&self) -> *const A::Element {
        self.start()
    }

    #[inline]
    fn uses_scratch(&self) -> bool {
        (**self).is_scratch()
    }
}

impl<A: GpuArray + ?Sized> KernelArgument<*mut A::Element> for &mut A {
    #[inline]
    fn value(&self) -> *mut A::Element {
        self.start().cast_mut()
    }

    #[inline]
    fn uses_scratch(&self) -> bool {
        (**self).is_scratch()
    }
}

impl<A: GpuArray + ?Sized> KernelArgument<*const A::Element> for Option<&A> {
    #[inline]
    fn value(&self) -> *const A::Element {
        self.map_or(std::ptr::null(), GpuArray::start)
    }

    #[inline]
    fn uses_scratch(&self) -> bool {
        self.as_ref().is_some_and(|array| (**array).is_scratch())
    }
}

impl<A: GpuArray + ?Sized> KernelArgument<*mut A::Element> for Option<&mut A> {
    #[inline]
    fn value(&self) -> *mut A::Element {
        self.as_ref().map_or(null_mut(), |array| array.start().cast_mut())
    }

    #[inline]
    fn uses_scratch(&self) -> bool {
        self.as_ref().is_some_and(|array| (**array).is_scratch())
    }
}

/// The type of a kernel's prototype: `fn(P, …)`, with up to 24 parameters.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the prototype of a kernel",
    note = "a prototype is `fn(P, …)` with at most 24 parameters, each a `KernelParameter`"
)]
pub trait KernelPrototype: sealed::Sealed + 'static {
    /// Sizes of the parameters in bytes.
    #[doc(hidden)]
    const SIZES: &'static [usize];
    /// For each parameter, true if it is a pointer.
    #[doc(hidden)]
    const POINTERS: &'static [bool];
}

/// The arguments of a launch: a tuple of references to [`KernelArgument`]s.
#[diagnostic::on_unimplemented(
    message = "the arguments do not fit the kernel's prototype `{P}`",
    label = "the launch has the arguments `{Self}`",
    note = "a launch has as many arguments as the prototype has parameters"
)]
pub trait KernelArguments<P>: sealed::Sealed {
    /// Calls `launch` with the addresses of the values that the kernel receives.
    #[doc(hidden)]
    fn with<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R;

    /// Returns true if an argument is an array in scratch memory.
    #[doc(hidden)]
    fn use_scratch(&self) -> bool;
}

/// Keeps other crates from implementing [`KernelPrototype`] and [`KernelArguments`]: launches rely on the
/// implementations of this crate.
mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for fn() {}

impl sealed::Sealed for () {}

impl KernelPrototype for fn() {
    const SIZES: &'static [usize] = &[];
    const POINTERS: &'static [bool] = &[];
}

impl KernelArguments<fn()> for () {
    #[inline(always)]
    fn with<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
        launch(&mut [])
    }

    #[inline(always)]
    fn use_scratch(&self) -> bool {
        false
    }
}

macro_rules! arities {
    () => {};
    ($argument:ident $parameter:ident $($rest:ident)*) => {
        arities!(@ $argument $parameter $($rest)*);
        arities!($($rest)*);
    };
    (@ $($argument:ident $parameter:ident)*) => {
        impl<$($parameter),*> sealed::Sealed for fn($($parameter),*) {}

        impl<$($argument),*> sealed::Sealed for ($(&$argument,)*) {}

        impl<$($parameter: KernelParameter + 'static),*> KernelPrototype for fn($($parameter),*) {
            const SIZES: &'static [usize] = &[$(size_of::<$parameter>()),*];
            const POINTERS: &'static [bool] = &[$($parameter::IS_POINTER),*];
        }

        impl<$($argument: KernelArgument<$parameter>, $parameter: KernelParameter),*>
            KernelArguments<fn($($parameter),*)> for ($(&$argument,)*)
        {
            #[inline(always)]
            #[expect(non_snake_case, reason = "the variables are named after their types")]
            fn with<R>(&self, launch: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
                let ($($argument,)*) = self;
                $(let mut $parameter = $argument.value();)*
                launch(&mut [$((&raw mut $parameter).cast()),*])
            }

            #[inline(always)]
            #[expect(non_snake_case, reason = "the variables are named after their types")]
            fn use_scratch(&self) -> bool {
                let ($($argument,)*) = self;
                false $(|| KernelArgument::<$parameter>::uses_scratch(*$argument))*
            }
        }
    };
}

arities! {
    A0 P0 A1 P1 A2 P2 A3 P3 A4 P4 A5 P5 A6 P6 A7 P7 A8 P8 A9 P9 A10 P10 A11 P11
    A12 P12 A13 P13 A14 P14 A15 P15 A16 P16 A17 P17 A18 P18 A19 P19 A20 P20 A21 P21 A22 P22 A23 P23
}

/// A kernel with the prototype `P`, a function pointer type: `Kernel<fn(*const f32, *mut f32, u32)>`. The
/// structs that [`kernels!`](crate::kernels) declares have fields of this type.
pub struct Kernel<P> {
    driver: &'static Driver,
    function: sys::CUfunction,
    symbol: &'static CStr,
    /// Keeps the module loaded.
    _module: KernelModule,
    prototype: PhantomData<P>,
}

// SAFETY: a kernel is a handle that any thread may use, and `P` is only a type.
unsafe impl<P> Send for Kernel<P> {}
// SAFETY: a kernel is a handle that any thread may use, also at the same time; `P` is only a type.
unsafe impl<P> Sync for Kernel<P> {}

/// Kernels of a module.
impl KernelModule {
    /// Returns a kernel of the module. `symbol` is its name in the module: the name of a kernel that is
    /// declared `extern "C"`, or the mangled name of another kernel.
    ///
    /// This call loads the code of the kernel, even if the driver loads modules lazily. A driver for CUDA
    /// 12.4 or later also compares the number and the sizes of the parameters with the prototype.
    ///
    /// # Errors
    /// `NOT_FOUND` if the module has no such kernel, `INVALID_ARGUMENT` if its parameters do not fit the
    /// prototype, or the driver's error.
    ///
    /// # Safety
    /// The kernel has this prototype: these parameters, with the layouts of these types, and it writes only
    /// through pointers `*mut`.
    pub unsafe fn kernel<P: KernelPrototype>(&self, symbol: &'static CStr) -> Result<Kernel<P>> {
        let (driver, name) = (self.driver(), self.name());
        let mut function = null_mut();
        // SAFETY: the module is loaded, and the name is null-terminated.
        let status = unsafe { (driver.cuModuleGetFunction)(&mut function, self.as_raw(), symbol.as_ptr()) };
        let here = || format!("{name}: kernel `{}`", symbol.to_string_lossy());
        driver.check("cuModuleGetFunction", status).map_err(|error| error.context(here()))?;
        // SAFETY: the function is one of a loaded module.
        unsafe { check_parameters(driver, function, P::SIZES) }.map_err(|error| error.context(here()))?;
        // SAFETY: the caller guarantees the prototype (`# Safety` above).
        Ok(unsafe { Kernel::new(driver, self.clone(), function, symbol) })
    }
}

/// Compares the sizes of a function's parameters with the sizes in its prototype, if the driver reports them.
///
/// # Safety
/// The function is one of a loaded module.
unsafe fn check_parameters(driver: &Driver, function: sys::CUfunction, sizes: &[usize]) -> Result<()> {
    let Some(get) = driver.cuFuncGetParamInfo else { return Ok(()) };
    let expected = sizes.len();
    for i in 0..=expected {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the caller guarantees the function (`# Safety` above), and the pointers are valid.
        let status = unsafe { get(function, i, &mut offset, &mut size) };
        match (status, sizes.get(i)) {
            (0, Some(expected)) if size == *expected => {}
            (0, Some(expected)) => {
                let message = format!("parameter {i} has {size} bytes, but {expected} in the prototype");
                return Err(Error::invalid_argument(message));
            }
            (0, None) => {
                let message = format!("it has more parameters than its prototype, which has {expected}");
                return Err(Error::invalid_argument(message));
            }
            (INVALID_VALUE, Some(_)) => {
                let message = format!("it has {i} parameters, but its prototype has {expected}");
                return Err(Error::invalid_argument(message));
            }
            (INVALID_VALUE, None) => {}
            (status, _) => return driver.check("cuFuncGetParamInfo", status),
        }
    }
    Ok(())
}

impl<P: KernelPrototype> Kernel<P> {
    /// # Safety
    /// The function is one of the module, and has this prototype.
    unsafe fn new(
        driver: &'static Driver,
        module: KernelModule,
        function: sys::CUfunction,
        symbol: &'static CStr,
    ) -> Kernel<P> {
        Kernel { driver, function, symbol, _module: module, prototype: PhantomData }
    }

    /// Enqueues the kernel: the function behind [`launch!`](crate::launch), with a tuple of references to the
    /// arguments.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if a dimension or the size of the shared memory does not fit 32 bits;
    /// `FAILED_PRECONDITION` if an argument is scratch memory and the stream is being recorded into a CUDA
    /// graph; otherwise the driver's error. Errors of the running kernel are reported by a later call of the
    /// driver, possibly another handler's.
    ///
    /// # Safety
    /// Same contract as [`launch!`](crate::launch).
    #[inline]
    pub unsafe fn launch<A: KernelArguments<P>>(
        &self,
        stream: &CudaStream,
        grid: impl LaunchDims,
        block: impl LaunchDims,
        shared: impl TryInto<u32>,
        arguments: A,
    ) -> Result<()> {
        let (Some(grid), Some(block), Ok(shared)) = (grid.dims(), block.dims(), shared.try_into()) else {
            return Err(self.too_large());
        };
        if arguments.use_scratch() {
            stream.check_scratch(true).map_err(|error| self.named(error))?;
        }
        if grid.contains(&0) {
            return Ok(());
        }
        // SAFETY: `KernelArguments` passes a value for each parameter of the prototype, and the caller
        // guarantees the launch (`# Safety` above).
        arguments.with(|values| unsafe { self.enqueue(stream, grid, block, shared, values) })
    }

    /// # Safety
    /// There is a value for each parameter of the prototype, with its type. The launch fulfils the contract
    /// of [`launch!`](crate::launch).
    #[inline]
    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        values: &mut [*mut c_void],
    ) -> Result<()> {
        // SAFETY: the kernel is loaded, and the caller guarantees the values and the launch (`# Safety`
        // above). The driver copies the values before it returns. The stream is valid during the call.
        let status = unsafe {
            (self.driver.cuLaunchKernel)(
                self.function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                stream.as_raw(),
                values.as_mut_ptr(),
                null_mut(),
            )
        };
        if status == 0 { Ok(()) } else { Err(self.failed(status, grid, block, shared)) }
    }

    #[cold]
    #[inline(never)]
    fn too_large(&self) -> Error {
        let name = self.name();
        let message =
            format!("kernel `{name}`: the grid, the block or the shared memory does not fit 32 bits");
        Error::invalid_argument(message)
    }

    #[cold]
    #[inline(never)]
    fn failed(&self, status: u32, [x, y, z]: [u32; 3], block: [u32; 3], shared: u32) -> Error {
        let [a, b, c] = block;
        let launch = format!("grid {x}×{y}×{z}, block {a}×{b}×{c}, {shared} bytes of shared memory");
        let error = self.driver.error("cuLaunchKernel", status);
        Error::new(error.code(), format!("{} (kernel `{}`, {launch})", error.message(), self.name()))
    }

    #[cold]
    #[inline(never)]
    fn named(&self, error: Error) -> Error {
        error.context(format_args!("kernel `{}`", self.name()))
    }

    /// Allows launches with up to this many bytes of dynamic shared memory. Without this call, the limit is
    /// 48 KiB. The device's own limit depends on its generation: 227 KiB for compute capability 9.0, for
    /// example. Call this function in the initialize stage, after the module was loaded.
    ///
    /// # Errors
    /// The driver's error, if the device has less shared memory.
    pub fn allow_shared_bytes(&self, bytes: u32) -> Result<()> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the kernel is loaded.
        let status = unsafe { (self.driver.cuFuncSetAttribute)(self.function, attribute, value) };
        let checked = self.driver.check("cuFuncSetAttribute", status);
        checked.map_err(|error| self.named(error))
    }

    /// Name of the kernel in its module.
    pub fn name(&self) -> Cow<'static, str> {
        self.symbol.to_string_lossy()
    }

    pub(crate) fn symbol(&self) -> &'static CStr {
        self.symbol
    }

    /// The kernel as a handle of the CUDA driver, which is valid as long as this value.
    pub fn as_raw(&self) -> sys::CUfunction {
        self.function
    }
}

impl<P> fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.symbol.to_string_lossy())
    }
}

/// Dimensions of a grid or a block: one, two or three integers. Dimensions that are left out are 1.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a grid or a block",
    note = "a grid or a block is one, two or three integers: `n`, `(n, m)`, `(n, m, k)`"
)]
pub trait LaunchDims {
    /// Returns the three dimensions; `None` if one does not fit 32 bits.
    #[doc(hidden)]
    fn dims(self) -> Option<[c_uint; 3]>;
}

macro_rules! launch_dims {
    ($($ty:ty)*) => {$(
        impl LaunchDims for $ty {
            #[inline(always)]
            fn dims(self) -> Option<[c_uint; 3]> {
                (self, 1u32, 1u32).dims()
            }
        }
    )*};
}

launch_dims!(u8 u16 u32 u64 usize i16 i32 i64 isize);

impl<X: TryInto<c_uint>, Y: TryInto<c_uint>> LaunchDims for (X, Y) {
    #[inline(always)]
    fn dims(self) -> Option<[c_uint; 3]> {
        (self.0, self.1, 1u32).dims()
    }
}

impl<X: TryInto<c_uint>, Y: TryInto<c_uint>, Z: TryInto<c_uint>> LaunchDims for (X, Y, Z) {
    #[inline(always)]
    fn dims(self) -> Option<[c_uint; 3]> {
        Some([self.0.try_into().ok()?, self.1.try_into().ok()?, self.2.try_into().ok()?])
    }
}
