//! Write XLA FFI handlers (custom calls) in Rust.
//!
//! A handler is a function. The types of its parameters select operands, results and attributes of the call:
//!
//! ```
//! use farcall_ffi::prelude::*;
//!
//! /// Divides each row by its root mean square.
//! #[handler(name = "rms_norm")]
//! pub fn rms_norm(x: &Buffer<f32>, eps: f32, y: &mut Buffer<f32>) -> Result<()> {
//!     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
//!     for (x, y) in x.rows().zip(y.rows_mut()) {
//!         let mean = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
//!         let scale = 1.0 / (mean + eps).sqrt();
//!         for (x, y) in x.iter().zip(y) {
//!             *y = x * scale;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! In the crate that becomes the shared library, one more line exports it:
//!
//! ```text
//! farcall_ffi::library!("my_ops", [rms_norm]);
//! ```
//!
//! The library runs in every host of XLA's FFI from version 0.1 on (jaxlib and others) and in farcall:
//!
//! - farcall loads it by its path.
//! - Hosts that export `XLA_FFI_GetApi` or `xla::ffi::GetXlaFfiApi()` (TensorFlow, EXLA) only have to load
//!   the library. The library finds these functions and registers its targets.
//! - JAX registers the targets that the library lists; building the library needs no Python:
//!
//! ```python
//! library = ctypes.PyDLL("libmy_ops.so")
//! library.farcall_registrations_v1.restype = ctypes.py_object
//! for name, target in library.farcall_registrations_v1(b"cpu").items():
//!     jax.ffi.register_ffi_target(name, target, platform="cpu")
//! ```
//!
//! - For any other host, each handler is a C symbol.
//!
//! # Parameters
//!
//! | type | value |
//! | --- | --- |
//! | `&Buffer<T>`, `&Buffer<T, RANK>`, `&AnyBuffer`, or an `Option` of such a type | next operand |
//! | `&mut Buffer<T>`, `&mut Buffer<T, RANK>`, `&mut AnyBuffer`, or an `Option` of such a type | next result |
//! | `&mut InOut<Buffer<T>>`, `&mut InOut<AnyBuffer>` | next operand and next result, sharing memory |
//! | `&GpuBuffer<T>`, `&mut AnyGpuBuffer`, … | the same in a GPU's memory, for handlers of the platform `"CUDA"` |
//! | `Kept<Buffer<T>>`, `KeptMut<Buffer<T>>`, …`<AnyBuffer>` | next operand or result, which may be kept after the handler has returned |
//! | `&RestOperands`, `&mut RestResults`, `&RestOperands<Buffer<T>>`, … | all remaining operands or results; several such parameters take the same number each, in order |
//! | `f32`, `i64`, `bool`, `&str`, `&[T]`, `&Dict`, …, or an `Option` of such a type ([`FromAttr`]) | attribute with the name of the parameter |
//! | a struct or enum with `#[derive(FromAttr)]`, or an `Option` of such a type | attribute with the name of the parameter |
//! | `&Attrs` | all attributes |
//! | `&Context` | the host: thread pool, scratch memory, run id, user data, … |
//! | `&State<T>`, `&Prepared<T>`, `&Initialized<T>` | return value of the `instantiate`, `prepare` or `initialize` function |
//!
//! Element types, ranks, counts, names, alignment and sharing of memory are checked before the function is
//! called. A mismatch is an error that names the parameter:
//! `rms_norm: operand 0 (x): expected f32, found f64`. A handler that is generic over element types serves
//! all types that its signature lists. [`Float`] is the bound of kernels for `f32`, `f64` and half-width
//! types, [`Real`] of kernels for `f32` and `f64` only.
//!
//! A function returns `Result<()>`, or nothing if it cannot fail. It writes every element of its results.
//! With `#[handler(name = "…", zeroed)]`, results are initialized to zero, and the function adds to them.
//!
//! # Several threads
//!
//! [`Parts`] shares rows and chunks of buffers among the threads of the host's pool:
//! `y.par_rows_mut().zip(x.par_rows()).for_each(host, |(y, x)| …)`. A handler's own threads work as well,
//! since they can borrow buffers:
//!
//! ```
//! # use farcall_ffi::prelude::*;
//! #[handler(name = "halve")]
//! fn halve(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
//!     let half = x.len().div_ceil(2).max(1);
//!     std::thread::scope(|scope| {
//!         for (y, x) in y.chunks_mut(half).zip(x.chunks(half)) {
//!             scope.spawn(move || y.iter_mut().zip(x).for_each(|(y, x)| *y = 0.5 * x));
//!         }
//!     });
//!     Ok(())
//! }
//! ```
//!
//! Rayon works too: `y.par_iter_mut().zip(x.par_iter())` on the slices that buffers dereference to. A
//! handler's own threads and Rayon's threads come in addition to the host's threads, which are busy with
//! other parts of the program.
//!
//! # Another name for this crate
//!
//! A crate that depends on `farcall-ffi` under another name, or through a crate that re-exports it, must name
//! the path to `farcall-ffi`: `#[handler(name = "…", crate = my_sdk::ffi)]`,
//! `#[stage(instantiate, crate = …)]`, `#[attr(crate = …)]` below `#[derive(FromAttr)]`. [`library!`] and
//! [`ops!`] need no path.
//!
//! # Panics
//!
//! A panic, in the function or in a closure passed to [`Context::parallel_for`], becomes an error of the
//! call, with location and message: `rms_norm: panicked at src/lib.rs:12:5: …`. The process's panic hook runs
//! as well, so the standard library prints its usual message, with a backtrace if `RUST_BACKTRACE` is set. A
//! library that only wants the error sets its own hook before its first handler is called.
//!
//! # Where to look
//!
//! - [`handler`], [`stage`], [`library!`], [`ops!`]: the macros.
//! - [`macro@signature`], [`macro@vjp`], [`macro@jvp`], [`macro@transpose`], [`macro@nondiff`],
//!   [`macro@shape`], [`macro@batch`], [`macro@lowers`], [`macro@samples`]: declarations of an op below its
//!   `#[handler]`.
//! - [`rules`]: shape functions and batching functions.
//! - [`samples`](mod@samples): sample calls of an op, for tools that check it.
//! - [`lowering`]: which parts of programs are replaced with calls of a library's handlers.
//! - [`descriptor`]: the description that a library exports, and how a host reads it.
//! - [`testing`]: calls a handler in a unit test, without a host.
//! - [`AttrValue`]: the values of attributes, as tests and batching functions write them.
//! - [`simd`]: loops compiled for the vector instructions of the processor that runs them.
//! - [`dynamic`]: handlers whose parameters are only known at run time, such as handlers in another language.
//! - [`encode`]: attributes in the form of the C interface, for hosts.
//! - [`abi`]: mirror of the C interface.
//! - `half` and `num_complex`, with the features of these names: the crates whose types become element types.
//!   `ndarray`, with its feature: the crate whose views `Buffer::view` and `Buffer::view_mut` return.
//!
//! # Supported compilers
//!
//! Rust 1.89 and newer. Only a new minor version of this crate raises this requirement.
#![deny(clippy::incompatible_msrv)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod abi;
mod arena;
mod attr;
mod buffer;
#[doc(hidden)]
pub mod cache;
mod context;
mod declared;
mod decode;
pub mod descriptor;
pub mod dynamic;
mod element;
pub mod encode;
mod error;
mod exp;
mod float;
pub mod float_control;
mod gpu;
mod host;
mod kept;
pub mod lowering;
pub mod memo;
#[cfg(feature = "ndarray")]
mod nd;
#[cfg(target_os = "linux")]
mod object;
mod panics;
mod parts;
mod pointer;
mod pool;
#[cfg(target_os = "linux")]
mod python;
mod random;
#[cfg(target_os = "linux")]
mod registration;
mod rows;
pub mod rules;
pub mod samples;
mod scratch;
pub mod simd;
mod state;
pub mod testing;
mod trampoline;
#[doc(hidden)]
pub mod unwind;
mod zip;

pub use attr::{Attr, Attrs, Dict, FromAttr};
pub use buffer::{ANY_RANK, AnyBuffer, Buffer, InOut};
pub use context::{Context, UserData};
pub use decode::{RestOperands, RestResults, Role};
pub use element::{Complex, Element, Pred};
pub use error::{Error, Result, StatusCode};
pub use farcall_macros::{
    FromAttr, batch, handler, jvp, lowers, nondiff, samples, shape, signature, stage, transpose, vjp,
};
pub use farcall_sig::{AttrArray, AttrValue, DType};
pub use float::{Float, Real};
pub use gpu::{AnyGpuBuffer, GpuBuffer, GpuScratch};
#[cfg(feature = "half")]
pub use half;
pub use kept::{Kept, KeptMut};
pub use lowering::{Block, Lowered, TargetCall};
#[cfg(feature = "ndarray")]
pub use ndarray;
#[cfg(feature = "num-complex")]
pub use num_complex;
pub use parts::{Enumerate, ParallelSlice, Parts, PartsMut, PartsRef, Zip};
pub use pool::Pool;
pub use random::{Random, Stream};
pub use rows::{dot, log_sum_exp};
pub use rules::{Batch, BatchCall, ShapeCall};
pub use samples::Sample;
pub use scratch::{DeviceMemory, Scratch};
pub use state::{Initialized, Prepared, State};

/// Exports a library of handlers: `library!("my_ops", [rms_norm, other::gemm as gemm2, ..crate_a::OPS]);`
///
/// Use it once, in the crate that becomes the shared library. It exports
///
/// - `farcall_library_v1`, the library's descriptor, through which farcall loads it;
/// - `size_t farcall_register_v1(void)`, which registers every op with every host in the process that exports
///   `XLA_FFI_GetApi` or `xla::ffi::GetXlaFfiApi()`, and returns how many registrations succeeded. The
///   function also runs when the library is loaded, unless `register: manual` follows the list (Linux only);
/// - `PyObject *farcall_registrations_v1(const char *platform)`, a dictionary of the ops of a platform, as
///   `{name: {stage: capsule}}`, for `jax.ffi.register_ffi_target` (Linux only; call it through
///   `ctypes.PyDLL`); and
/// - a C symbol for each handler that is listed by its path, with the name of the function (or the name after
///   `as`), for hosts that register handlers one by one, such as `jax.ffi.register_ffi_target`. To export the
///   functions of other stages too, add `stages: [f, …]` after the list.
///
/// `..table` adds the ops of a table made by `ops!`, without a C symbol for each.
///
/// `namespace: "acme"` after the list distinguishes the ops from ops of the same name in other libraries:
/// programs call `acme.rms_norm`. In Python, the op is still `ops.rms_norm`. A caller that loads the library
/// may choose another namespace.
#[macro_export]
macro_rules! library {
    ($($library:tt)*) => { $crate::__private::library! { $crate; $($library)* } };
}

/// Makes a table of handlers, for a crate whose ops other crates export:
/// `pub const OPS: &[&OpDescriptor] = farcall_ffi::ops![rms_norm, gemm];`
///
/// `..table` adds the handlers of another table.
#[macro_export]
macro_rules! ops {
    ($($handlers:tt)*) => { $crate::__private::ops! { $crate; $($handlers)* } };
}

/// Names that a library of handlers commonly uses.
pub mod prelude {
    pub use crate::descriptor::OpDescriptor;
    pub use crate::{
        AnyBuffer, AnyGpuBuffer, Attrs, Batch, BatchCall, Block, Buffer, Complex, Context, DType, Dict,
        Element, Error, Float, FromAttr, GpuBuffer, GpuScratch, InOut, Kept, KeptMut, Lowered, ParallelSlice,
        Parts, Pred, Random, Real, RestOperands, RestResults, Result, Sample, Scratch, ShapeCall, State,
        StatusCode, TargetCall, batch, dispatch, ensure, handler, jvp, lowers, nondiff, ops, samples, shape,
        signature, stage, transpose, vjp, zip,
    };
}

/// Compiles to nothing, since kernels for `f16` and `bf16` are available.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! __half_is_needed {
    () => {};
}

/// Fails to compile, since kernels for `f16` and `bf16` need the feature `half`.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __half_is_needed {
    () => {
        ::core::compile_error!(
            "kernels for `f16` or `bf16` need the feature `half` of farcall-ffi: farcall-ffi = { …, features = [\"half\"] }"
        );
    };
}

/// Implements the entry of a function whose attribute has an error, so that code that names the function has
/// no further errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __stand_in {
    ($name:ident) => {
        const _: () = {
            use $crate::__private;

            impl __private::Entry for $name {
                const NAME: &'static str =
                    ::core::concat!(::core::module_path!(), "::", ::core::stringify!($name));
                const STAGE: $crate::abi::Stage = $crate::abi::Stage::EXECUTE;
                const TRAITS: $crate::abi::HandlerTraits = 0;
                const STATE: ::core::option::Option<
                    fn(&__private::Host) -> $crate::Result<$crate::abi::TypeId>,
                > = ::core::option::Option::None;
                const KEEPS: bool = false;
                const LASTS: bool = false;
                const SHAPE: __private::BufferCounts = __private::BufferCounts::of::<0>(&[]);
                type Views = ();

                fn call(_: __private::Entered) -> __private::Boxed {
                    ::core::unreachable!()
                }
            }

            impl __private::HandlerOp for $name {
                const DESCRIPTOR: &'static $crate::descriptor::OpDescriptor =
                    // SAFETY: the descriptor has no functions.
                    &unsafe {
                        $crate::descriptor::OpDescriptor::new(__private::OpParts {
                            name: <$name as __private::Entry>::NAME,
                            platform: "",
                            bundle: $crate::abi::HandlerBundle {
                                instantiate: ::core::option::Option::None,
                                prepare: ::core::option::Option::None,
                                initialize: ::core::option::Option::None,
                                record: ::core::option::Option::None,
                                execute: ::core::option::Option::None,
                            },
                            traits: 0,
                            doc: "",
                            file: "",
                            line: 0,
                            params: &[],
                            declaration: __private::OpDeclarations::EMPTY,
                        })
                    };
                const DECLARED: __private::DeclaredOp =
                    __private::DeclaredOp::stand_in(<$name as __private::Entry>::NAME);
                const TRANSPOSE: ::core::option::Option<__private::Derivative> = ::core::option::Option::None;
            }

            impl<Stage> __private::StageOf<Stage> for $name {
                const SPECS: &'static [__private::Spec] = &[];
                const NAMES: &'static [&'static str] = &[];
            }

            impl __private::HasForward for $name {
                type Forward = $name;
            }
        };
    };
}

/// Items that the expansion of the macros uses. Not a public interface.
#[doc(hidden)]
pub mod __private {
    use crate::descriptor::OpDescriptor;
    use crate::error::{Error, Result};

    pub use crate::buffer::View;
    pub use crate::declared::{
        Declared, DeclaredOp, Derivative, Reason, fits, has_all_attributes, is_context,
    };
    pub use crate::decode::Role;
    pub use crate::decode::{
        BufferCounts, Decoder, Footprint, Param, Proofs, Spec, ViewAt, attribute, attributes, begin,
        beside_proof, common, expect_on, expect_stage_on, finish, keeps, lasts, may_overlap,
        may_overlap_itself, memory, named, no_instance, no_overlap, positional, read, renew, slot, take,
        view_of, zero,
    };
    pub use crate::decode::{Extent, Residual, TensorIndex, Term};
    pub use crate::descriptor::{OpDeclarations, OpParts, concat, conflict, count, params};
    pub use crate::error::Boxed;
    pub use crate::host::Host;
    pub use crate::lowering::{LowerRule, lower_rule};
    pub use crate::rules::{BatchRule, Rule, ShapeRule, Shapes, batch_rule, shape_rule};
    pub use crate::samples::{Samples, samples_rule};
    pub use crate::trampoline::{Entered, Entry, enter, operand_is, remember, with_residuals};
    pub use crate::zip::zip_two;
    pub use farcall_macros::{library, ops};
    pub use farcall_sig::{platform, signature, text};

    /// The crate that defines `f16` and `bf16`.
    #[cfg(feature = "half")]
    pub use half;

    #[cfg(target_os = "linux")]
    pub use crate::python::registrations;
    #[cfg(target_os = "linux")]
    pub use crate::registration::register;

    pub use crate::attr::{Field, Integer, no_such_variant, unknown_entry};

    /// A handler that `library!` can list. Implemented by `#[handler]`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a handler",
        label = "not a function with `#[handler]`"
    )]
    pub trait HandlerOp: Entry {
        /// Description of the op.
        const DESCRIPTOR: &'static OpDescriptor;
        /// Declaration of the op, for checking the ops that it is a derivative of.
        const DECLARED: DeclaredOp;
        /// Transpose of the op, if it has one.
        const TRANSPOSE: Option<Derivative>;
        /// Entries of a list that names the op: its description, and its forward op's description if they
        /// share a function.
        const LISTED: &'static [&'static OpDescriptor] = &[Self::DESCRIPTOR];
    }

    /// A handler whose function is also its forward op.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` has no residuals",
        label = "no handler with `#[vjp(residuals(…), …)]`"
    )]
    pub trait HasForward: HandlerOp {
        /// The forward op.
        type Forward: HandlerOp;
    }

    /// A function that a handler names as one of its other stages. Implemented by `#[stage]`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a stage of a handler",
        label = "not a function with `#[stage({Stage})]`"
    )]
    pub trait StageOf<Stage>: Entry {
        /// Specifications of the function's parameters.
        const SPECS: &'static [Spec];
        /// Names of the function's parameters.
        const NAMES: &'static [&'static str];
    }

    /// Parameter of [`StageOf`].
    #[expect(non_camel_case_types, reason = "as the author writes it, for messages")]
    #[derive(Debug)]
    pub enum instantiate {}
    /// Parameter of [`StageOf`].
    #[expect(non_camel_case_types, reason = "as the author writes it, for messages")]
    #[derive(Debug)]
    pub enum prepare {}
    /// Parameter of [`StageOf`].
    #[expect(non_camel_case_types, reason = "as the author writes it, for messages")]
    #[derive(Debug)]
    pub enum initialize {}
    /// Parameter of [`StageOf`].
    #[expect(non_camel_case_types, reason = "as the author writes it, for messages")]
    #[derive(Debug)]
    pub enum record {}

    /// Returns an entry's function pointer, after checking its stage and its parameters at compile time.
    ///
    /// # Panics
    /// If a handler for this platform cannot have the parameters.
    #[track_caller]
    pub const fn entry<E: StageOf<S>, S>(platform: &str) -> crate::abi::HandlerFn {
        expect_stage_on(platform, E::NAME, E::SPECS, E::NAMES);
        enter::<E>
    }

    /// Gives the host the state that an instantiate function returned.
    pub fn set_state<T: Send + Sync + 'static>(
        entered: Entered,
        stage: crate::abi::Stage,
        state: Result<T>,
    ) -> Boxed {
        let host = entered.decoder().host()?;
        state.and_then(|state| crate::state::set(&host, stage, state)).map_err(Box::new)
    }

    /// Converts the return value of a stage function that makes no state.
    #[inline(always)]
    pub fn returned(_: Entered, returned: Result<()>) -> Boxed {
        returned.map_err(Box::new)
    }

    /// Returns the number by which the host identifies a state's type.
    pub fn state_type<T: Send + Sync + 'static>(host: &Host) -> Result<crate::abi::TypeId> {
        crate::state::type_id::<T>(host)
    }

    /// Makes the error of `dispatch!`.
    #[cold]
    pub fn unsupported_dtype(found: farcall_sig::DType, supported: &[farcall_sig::DType]) -> Error {
        crate::buffer::unsupported_dtype(found, supported)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
