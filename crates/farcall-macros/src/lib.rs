//! Macros of `farcall-ffi`, which re-exports them and documents their use.
//!
//! The macros read a function's attributes, parameters and return type, but not its body. The role of a
//! parameter follows from its type, through traits of `farcall-ffi`, so aliases and paths work. Expansions
//! call `farcall_ffi::__private`. They contain `unsafe` code only in the implementations that connect a
//! handler to its entry, and in the exported symbols of `library!`.
//!
//! The lint `dead_code` reports ops that no library lists, because nothing uses the type of their handler.
//! Generated code that is always compiled says `Self`: the type's name would count as a use.
//!
//! - `function` parses the function below an attribute.
//! - `attribute` expands `#[derive(FromAttr)]`.
//! - `declaration` reads `#[signature]` and the other declarations, and compares the signature with the
//!   function.
//! - `derivative` reads `#[vjp]`, `#[jvp]` and `#[transpose]`.
//! - `entry` expands `#[handler]` and `#[stage]`.
//! - `generic` determines the kernels of a generic handler.
//! - `parameters` adds the parameters that a function leaves out because its `#[signature]` gives them.
//! - `residuals` makes a forward op from a function that returns residuals.
//! - `options` parses the options in parentheses after an attribute's name.
//! - `export` expands `library!` and `ops!`.
#![forbid(unsafe_code)]
#![deny(clippy::incompatible_msrv)]

use proc_macro::TokenStream;

mod attribute;
mod checker;
mod declaration;
mod derivative;
mod entry;
mod export;
mod function;
mod generic;
mod options;
mod parameters;
mod residuals;
mod source;
mod stand_in;
mod value;

/// Makes a function a handler of XLA's FFI.
///
/// ```text
/// #[handler(name = "rms_norm")]
/// fn rms_norm(x: &Buffer<f32>, eps: f32, y: &mut Buffer<f32>) -> Result<()> { … }
/// ```
///
/// The function remains unchanged. A type of the same name represents the handler where `library!`, `ops!` or
/// the test harness expects a handler. The function's doc comment becomes the op's documentation.
///
/// The function returns `Result<()>`, or nothing if it cannot fail.
///
/// An unused handler is a compile error (lint `dead_code`, reported for the handler's type). A handler is
/// unused if no `library!` or `ops!` lists it, it is not a derivative of a listed handler, and other crates
/// cannot list it. `#[allow(dead_code)]` below `#[handler]` or on a module permits such a handler. The same
/// applies to stages that no handler names.
///
/// | option | |
/// | --- | --- |
/// | `name = "…"` | the name that programs call; required |
/// | `platform = "…"` | `"Host"` by default; `"CUDA"` for a handler whose buffers are `GpuBuffer`s (crate `farcall-cuda`; `farcall guide cuda`) |
/// | `instantiate = f` | a function with `#[stage(instantiate)]`, whose result is the call site's `&State<T>` |
/// | `prepare = f`, `initialize = f` | functions with `#[stage(prepare)]`, `#[stage(initialize)]`, whose results are the run's `&Prepared<T>` and `&Initialized<T>` |
/// | `record = f` | a function with `#[stage(record)]`, for hosts that record calls (since version 0.5 of XLA's FFI) |
/// | `zeroed` | results are zero when the host calls the function, which may accumulate into them; a result that `aliases` an operand contains the operand's values. The calling thread writes the zeros before the call |
/// | `traits(command_buffer_compatible)` | guarantees that the handler gives to hosts |
/// | `crate = path` | path of `farcall-ffi`, for a crate that has it under another name or through another crate; `::farcall_ffi` by default |
///
/// # Declarations
///
/// ```text
/// #[handler(name = "rms_norm")]
/// #[signature((x: f32[*, n], scale: f32[n], eps: f32 = 1e-6) -> (y: f32[*, n]))]
/// #[vjp(forward = rms_norm_fwd, backward = rms_norm_bwd)]
/// fn rms_norm(x: &Buffer<f32>, scale: &Buffer<f32, 1>, eps: f32, y: &mut Buffer<f32>) -> Result<()> { … }
/// ```
///
/// | below `#[handler]` | |
/// | --- | --- |
/// | `#[signature((…) -> (…) where …)]` | operands, attributes and results of the op, in the language of `farcall_sig::signature`, as tokens or as a string |
/// | `#[vjp(backward = g)]`, `#[vjp(forward = f, backward = g)]` | the handlers of the op's reverse derivative |
/// | `#[vjp(residuals(r: T[*]), backward = g)]` | the same, for a function that returns residuals in addition to the results |
/// | `#[jvp(tangent = t)]` | the handler of the op's forward derivative |
/// | `#[transpose(t)]` | the handler of the op's transpose: the op is linear in the operands whose cotangents `t` returns |
/// | `#[nondiff(labels)]` | operands without a derivative: differentiating with respect to them is an error |
/// | `#[nondiff(mask = zero)]` | operands with respect to which the derivative is zero |
/// | `#[shape(f)]` | the function that computes the dimensions of results written `[..]` |
/// | `#[batch(f)]` | the function that determines how calls are vmapped |
/// | `#[batch(none)]` | calls are never vmapped: vmapping is an error that names the op |
/// | `#[samples(f)]` | the function that returns sample calls, for `farcall op --check` |
/// | `#[lowers("my.tag")]`, `#[lowers("my.tag", with = f)]` | the blocks that the op is called for, and the function that lowers a block |
///
/// An error in the signature is a compile error at the faulty token. Each operand, attribute and result of
/// the signature is the function's parameter of the same name. The parameters for operands have the
/// signature's order, and so do the parameters for results. A result that `aliases` an operand has no
/// parameter of its own: the operand's parameter is a `&mut InOut<…>`. A parameter type that does not match
/// the signature is also a compile error. A function may leave out all these parameters. It then gets a
/// parameter for each operand, attribute and result, in the signature's order, operands and attributes first:
///
/// ```text
/// #[handler(name = "scale_bwd")]
/// #[signature((x: T[*], factor: T[], dy: T[*]) -> (dx: T[*], dfactor: T[]) where T: f32 | f64; *: sum)]
/// // Parameters: x: &Buffer<T>, factor: &Buffer<T, 0>, dy: &Buffer<T>, dx: &mut Buffer<T>, …
/// fn scale_bwd<T: Float>() -> Result<()> { … }
/// ```
///
/// Handlers with the same name for several platforms are one op. They have the same declarations, or only one
/// of them has declarations, which then hold for all. Compiling the library compares their parameters, and
/// checks that derivatives are listed and fit their ops (names, element types, dimensions and attributes of
/// their parameters). A host checks this again when it loads the library.
///
/// # Derivatives
///
/// The parameters of a derivative are matched with the op by name: `x` is the operand or result `x`, and `dx`
/// is its tangent or cotangent. For a transpose, `y` is the cotangent of the result `y`, and the results are
/// the cotangents of the operands with the same names. If the names do not match, the attribute states the
/// correspondence:
///
/// ```text
/// #[handler(name = "softplus_bwd")]
/// #[signature((x: T[*], dy: T[*]) -> (dx: T[*]) where T: f32 | f64)]
/// #[jvp(tangent = softplus_bwd_jvp, tangent(x) = tx, tangent(dy) = tdy, tangent(dx) = tdx)]
/// fn softplus_bwd<T: Float>(x: &Buffer<T>, dy: &Buffer<T>, dx: &mut Buffer<T>) -> Result<()> { … }
///
/// #[handler(name = "softplus_bwd_jvp")]
/// #[signature((x: T[*], dy: T[*], tx: T[*], tdy: T[*]) -> (tdx: T[*]) where T: f32 | f64)]
/// fn softplus_bwd_jvp<T: Float>(…) -> Result<()> { … }
/// ```
///
/// `tangent(_) = t_` is short for all three bindings: the tangent of every operand and result that has a
/// tangent is named after it, with the prefix `t`.
///
/// | | the parameter that is | in |
/// | --- | --- | --- |
/// | `operand(x) = p` | the operand `x` of the op | `vjp`, `jvp`, `transpose` |
/// | `result(y) = p` | the op's result `y` | `vjp`, `jvp` |
/// | `residual(r) = p` | the residual `r`, which the forward op returns after the results | `vjp` |
/// | `cotangent(y) = p`, `cotangent(x) = p` | the cotangent of the result `y` (`p` is an operand of the derivative op), or of the operand `x` (`p` is a result) | `vjp`, `transpose` |
/// | `tangent(x) = p`, `tangent(y) = p` | the tangent of the operand `x` (`p` is an operand of the derivative op), or of the result `y` (`p` is a result) | `jvp` |
///
/// Residuals are the values of the forward pass, other than operands and results, that the backward op needs.
/// They come from a forward op, or from the op's own function. In the second case, the function has a
/// parameter for each residual, as for a result:
///
/// ```text
/// #[handler(name = "normalize")]
/// #[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
/// #[vjp(residuals(lengths: T[*]), backward = normalize_bwd)]
/// fn normalize<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>, lengths: &mut Buffer<T>) -> Result<()> { … }
/// ```
///
/// The function becomes two ops, which are listed as one: `normalize`, and `normalize_fwd`, which returns `y`
/// and `lengths` and is called where `normalize` is differentiated. Memory for the residuals of `normalize`
/// exists only during the call. The dimensions of these residuals are `*`, or expressions of numbers, integer
/// attributes, and names of dimensions of required operands and of results.
/// `farcall_ffi::testing::Forward<normalize>` is the forward op in tests. `library!` exports no C symbol for
/// it.
///
/// An op may be differentiated with respect to an operand that is declared as `#[nondiff(x = zero)]`, to any
/// order, and even if the op has no other derivative. Such a declaration is right if the results do not
/// change with `x`, or change only in steps, as with the threshold of a comparison. Derivative ops neither
/// take the tangent of `x` nor return its cotangent.
///
/// An ambiguous name is a compile error. Derivatives can have derivatives, declared in the same way:
/// `jax.hessian`, the forward derivative of a reverse derivative, uses the `#[jvp]` of the backward op.
///
/// An op with a `#[transpose(t)]` is linear in the operands whose cotangents `t` returns. If the linear op is
/// the tangent op of another op, the other op needs no `#[vjp]`: its reverse derivative is `t`. If an op is
/// linear in all its differentiable operands, it needs neither `#[vjp]` nor `#[jvp]`: it is its own tangent
/// op. An op that is its own transpose states the correspondence of its parameters:
///
/// ```text
/// #[handler(name = "reversed")]
/// #[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
/// #[transpose(reversed, cotangent(y) = x, cotangent(x) = y)]
/// fn reversed<T: Float>() { … }
/// ```
///
/// # Several element types
///
/// ```text
/// #[handler(name = "double")]
/// #[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
/// fn double<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> { … }
/// ```
///
/// A type parameter of the function is the signature's type variable of the same name. The function is built
/// for each type that the signature lists for the variable, and a call uses the kernel for the types of its
/// operands. The author chooses the bounds of the type parameter. With several type parameters, the function
/// is built for every combination of types. Tensors whose type is a variable that the function is not generic
/// over are taken as `&AnyBuffer`.
///
/// # Parameters
///
/// A parameter for an attribute has the attribute's name, or the name in `#[attr(name = "…")]` before the
/// parameter. A handler rejects calls with attributes that it has no parameters for, unless it has other
/// stages (which get the same attributes) or takes `&Attrs`.
#[proc_macro_attribute]
pub fn handler(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::or_stand_in(entry::handler, options.into(), item.into()).into()
}

/// Declares the operands, attributes and results of an op. Belongs below [`macro@handler`], which documents
/// it.
#[proc_macro_attribute]
pub fn signature(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("signature", item.into()).into()
}

/// Names the function that computes the dimensions of an op's results written `[..]`. Belongs below
/// [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn shape(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("shape", item.into()).into()
}

/// Names the function that determines how calls of an op are vmapped, or forbids vmapping. Belongs below
/// [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn batch(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("batch", item.into()).into()
}

/// Names the blocks (composites with a tag) that an op replaces, and the function that lowers a block.
/// Belongs below [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn lowers(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("lowers", item.into()).into()
}

/// Names the handlers of an op's reverse derivative. Belongs below [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn vjp(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("vjp", item.into()).into()
}

/// Names the handler of an op's forward derivative. Belongs below [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn jvp(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("jvp", item.into()).into()
}

/// Names the handler of a linear op's transpose. Belongs below [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn transpose(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("transpose", item.into()).into()
}

/// Names the function that returns sample calls of an op, for `farcall op --check`. Belongs below
/// [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn samples(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("samples", item.into()).into()
}

/// Names operands of an op that have no derivative, or whose derivative is zero. Belongs below
/// [`macro@handler`], which documents it.
#[proc_macro_attribute]
pub fn nondiff(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("nondiff", item.into()).into()
}

/// Makes a function a stage of a handler, for the stages other than execute. An option of [`macro@handler`]
/// names the function.
///
/// ```text
/// #[stage(instantiate)]
/// fn counter_new(start: i64) -> Result<Counter> { … }
///
/// #[handler(name = "counter", instantiate = counter_new)]
/// fn counter(state: &State<Counter>, y: &mut Buffer<i64>) -> Result<()> { … }
/// ```
///
/// `instantiate` runs once per call site, when the program is compiled. Its result is the call site's state,
/// which is dropped with the program. `prepare` and `initialize` run before each run. They may return state
/// for the run, since version 0.3 of XLA's FFI. `record` replaces the handler when a host records the call.
/// `#[stage(instantiate, crate = path)]` gives the path of `farcall-ffi`, as in [`macro@handler`].
#[proc_macro_attribute]
pub fn stage(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::or_stand_in(entry::stage, options.into(), item.into()).into()
}

/// Expansion of `farcall_ffi::library!`, whose input is preceded by `path;`, the path of `farcall-ffi`.
#[proc_macro]
pub fn library(input: TokenStream) -> TokenStream {
    export::library(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Expansion of `farcall_ffi::ops!`, whose input is preceded by `path;`, the path of `farcall-ffi`.
#[proc_macro]
pub fn ops(input: TokenStream) -> TokenStream {
    export::ops(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives reading a struct from a dictionary attribute, or an enum from a string or an integer.
///
/// ```text
/// #[derive(FromAttr)]
/// struct Window<'a> {
///     size: &'a [i64],
///     #[attr(name = "pad")]
///     padding: Option<i64>,
///     mode: Mode,
/// }
///
/// #[derive(FromAttr)]
/// enum Mode { Same, #[attr(name = "as is")] Valid }   // "same" or "as is"
///
/// #[derive(FromAttr)]
/// enum Level { Low = 1, High = 2 }                    // an integer of any type
/// ```
///
/// The types of a struct's fields are attribute types, or `Option`s of attribute types. A dictionary with an
/// entry that is not a field is rejected. An enum, whose variants must not have fields, is read from the
/// names of its variants in `snake_case`, or from integers if any of its variants has a discriminant.
/// `#[attr(crate = path)]` before the type gives the path of `farcall-ffi`, as in [`macro@handler`].
#[proc_macro_derive(FromAttr, attributes(attr))]
pub fn from_attr(item: TokenStream) -> TokenStream {
    attribute::derive(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
