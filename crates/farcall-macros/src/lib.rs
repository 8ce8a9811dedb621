//! Macros of `farcall-ffi`, which re-exports them and documents how they are used.
//!
//! They read only a function's signature. The role of a parameter follows from its type, through traits of
//! `farcall-ffi`, so aliases and paths work. Expansions call `farcall_ffi::__private` and contain no `unsafe` block,
//! except for the exported symbols of `library!`.
//!
//! - `function` parses the function below an attribute.
//! - `attribute` expands `#[derive(FromAttr)]`.
//! - `declaration` reads `#[signature]` and what else is declared, and compares it with the function.
//! - `derivative` reads `#[vjp]`, `#[jvp]` and `#[transpose]`.
//! - `entry` expands `#[handler]` and `#[stage]`.
//! - `generic` determines the kernels of a generic handler.
//! - `parameters` gives a function the parameters that it leaves to its signature.
//! - `residuals` makes a forward op of a function that returns residuals.
//! - `export` expands `library!` and `ops!`.
#![forbid(unsafe_code)]
#![deny(clippy::incompatible_msrv)]

use proc_macro::TokenStream;

mod attribute;
mod declaration;
mod derivative;
mod entry;
mod export;
mod function;
mod generic;
mod options;
mod parameters;
mod residuals;

/// Makes a function a handler of XLA's FFI.
///
/// ```text
/// #[handler(name = "rms_norm")]
/// fn rms_norm(x: &Buffer<f32>, eps: f32, y: &mut Buffer<f32>) -> Result<()> { … }
/// ```
///
/// The function stays what it is. A type of the same name stands for the handler where `library!`,
/// `ops!` or the test harness ask for one. The doc comment becomes the op's documentation.
///
/// The function returns `Result<()>`, or nothing if it cannot fail.
///
/// A handler that no `library!` or `ops!` lists, that is no derivative of one that is listed, and that other crates cannot
/// list either is an error: the lint `dead_code`, for this type. `#[allow(dead_code)]` below `#[handler]` or on a module permits
/// it. So it is with stages that no handler names.
///
/// | option | |
/// | --- | --- |
/// | `name = "…"` | what programs call; required |
/// | `platform = "…"` | `"Host"` unless given |
/// | `instantiate = f` | a function with `#[stage(instantiate)]`, whose result is the call site's `&State<T>` |
/// | `prepare = f`, `initialize = f` | functions with `#[stage(prepare)]`, `#[stage(initialize)]`, whose results are the run's `&Prepared<T>` and `&Initialized<T>` |
/// | `record = f` | a function with `#[stage(record)]`, for hosts that record calls (since 0.5) |
/// | `zeroed` | results are zeros when the host calls the function, which may add to them; a result that `aliases` an operand has its values. They are written before the call, by the thread that makes it |
/// | `traits(command_buffer_compatible)` | what the handler promises to hosts |
/// | `crate = path` | where `farcall-ffi` is, for a crate that has it by another name or through another crate; `::farcall_ffi` unless given |
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
/// | `#[signature((…) -> (…) where …)]` | what the op takes and gives, in the language of `farcall_sig::signature`; also as a string |
/// | `#[vjp(backward = g)]`, `#[vjp(forward = f, backward = g)]` | handlers that are the op's reverse derivative |
/// | `#[vjp(residuals(r: T[*]), backward = g)]` | the same, where the function returns residuals beyond the results |
/// | `#[jvp(tangent = t)]` | the handler that is its forward derivative |
/// | `#[transpose(t)]` | the handler that is its transpose: the op is linear in the operands that `t` returns |
/// | `#[nondiff(labels)]` | operands without a derivative: differentiating with respect to them is an error |
/// | `#[nondiff(mask = zero)]` | operands with respect to which the derivative is zero |
/// | `#[shape(f)]` | the function that says the dimensions of results written `[..]` |
/// | `#[batch(f)]` | the function that says how calls are vmapped |
/// | `#[batch(none)]` | calls are never vmapped: that is an error which names the op |
/// | `#[samples(f)]` | the function that returns sample calls, for `farcall op --check` |
/// | `#[lowers("my.tag")]`, `#[lowers("my.tag", with = f)]` | the blocks that the op is called for, and the function that says how |
///
/// An error in the signature is a compile error at its token. Its operands, attributes and
/// results are parameters of the function, by name, each list in the same order; a result that `aliases`
/// an operand is that operand's `&mut InOut<…>`. A type that does not fit is a compile error too. A function that has no
/// parameters but those of the host gets one for each, in the signature's order, operands and attributes first:
///
/// ```text
/// #[handler(name = "scale_bwd")]
/// #[signature((x: T[*], factor: T[], dy: T[*]) -> (dx: T[*], dfactor: T[]) where T: f32 | f64; *: sum)]
/// fn scale_bwd<T: Float>() -> Result<()> { … }             // x: &Buffer<T>, factor: &Buffer<T, 0>, dy: …, dx: &mut Buffer<T>, …
/// ```
///
/// Handlers of one
/// name for several platforms declare the same. That derivatives fit their ops (names, element types, dimensions and
/// attributes of their parameters) and are listed is checked when the library is compiled; a host checks it again when it
/// loads the library.
///
/// # Derivatives
///
/// The parameters of a derivative are matched with the op by name: `x` is the operand or result `x`, `dx` its tangent or
/// cotangent. For a transpose, `y` is the cotangent of the result `y`, and the results are the cotangents of the operands
/// that have their names. Where names do not tell, the attribute does:
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
/// `tangent(_) = t_` says the same of all three, and of every operand and result that has a tangent: it is called as it
/// is, after a `t`.
///
/// | | says which parameter is | in |
/// | --- | --- | --- |
/// | `operand(x) = p` | the operand `x` of the op | `vjp`, `jvp`, `transpose` |
/// | `result(y) = p` | its result `y` | `vjp`, `jvp` |
/// | `residual(r) = p` | what the forward op returns beyond the results | `vjp` |
/// | `cotangent(y) = p`, `cotangent(x) = p` | the cotangent of a result (an operand of the derivative) or an operand (a result) | `vjp`, `transpose` |
/// | `tangent(x) = p`, `tangent(y) = p` | the tangent of an operand (an operand of the derivative) or a result (a result) | `jvp` |
///
/// Residuals, what the backward op needs of the forward pass beyond operands and results, come from a forward op, or from
/// the op's own function. Then this one has a parameter for each, as for a result:
///
/// ```text
/// #[handler(name = "normalize")]
/// #[signature((x: T[*, n]) -> (y: T[*, n]) where T: f32 | f64)]
/// #[vjp(residuals(lengths: T[*]), backward = normalize_bwd)]
/// fn normalize<T: Float>(x: &Buffer<T>, y: &mut Buffer<T>, lengths: &mut Buffer<T>) -> Result<()> { … }
/// ```
///
/// The function becomes two ops, which lists contain as one: `normalize`, and `normalize_fwd`, which returns `y` and `lengths` and is called
/// where `normalize` is differentiated. A call of `normalize` has memory for the residuals only while it lasts. Dimensions of
/// such residuals are `*`, and expressions of numbers, integer attributes and names that a required operand or a result has.
/// `farcall_ffi::testing::Forward<normalize>` is the forward op in tests. `library!` exports no C symbol for it.
///
/// An op may be differentiated with respect to an operand that is declared as `#[nondiff(x = zero)]`, even
/// without any other derivative, and to any order: the result does not move with `x`, or moves in steps, as
/// with the threshold of a comparison. Derivative ops neither take its tangent nor return its cotangent.
///
/// A name that could be two things is a compile error. Derivatives have derivatives of their own, declared in the same
/// way: `jax.hessian`, the forward derivative of a reverse one, is the `#[jvp]` of the backward op.
///
/// An op with a `#[transpose(t)]` is linear in the operands that `t` returns. If it is the tangent op of another op, that
/// one needs no `#[vjp]`: its reverse derivative is the transpose. If it is linear in all operands that it is
/// differentiated in, it needs neither: it is its own tangent op. One that is its own transpose says which of its parameters
/// is which:
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
/// A handler that is generic is built for each type that its signature lists for the variable of the same
/// name, and called with that of the operands; its bounds are the author's. With several variables it is
/// built for every combination. What the function is not generic over, it takes as `&AnyBuffer`.
///
/// # Parameters
///
/// A parameter that is an attribute has the attribute's name, or that of `#[attr(name = "…")]` before it.
/// A handler refuses attributes that it does not name, unless it has other stages (which get the same
/// ones) or takes `&Attrs`.
#[proc_macro_attribute]
pub fn handler(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::or_stand_in(entry::handler, options.into(), item.into()).into()
}

/// What an op takes and gives; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn signature(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("signature", item.into()).into()
}

/// The function that says the dimensions of an op's results, where the signature has `[..]`; see
/// [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn shape(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("shape", item.into()).into()
}

/// The function that says how calls of an op are vmapped, or that they are not; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn batch(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("batch", item.into()).into()
}

/// The blocks (composites of a tag) in whose place an op is called, and the function that says how; see
/// [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn lowers(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("lowers", item.into()).into()
}

/// The handlers that are an op's reverse derivative; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn vjp(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("vjp", item.into()).into()
}

/// The handler that is an op's forward derivative; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn jvp(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("jvp", item.into()).into()
}

/// The handler that is the transpose of an op that is linear; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn transpose(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("transpose", item.into()).into()
}

/// The function that returns sample calls of an op, for `farcall op --check`; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn samples(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("samples", item.into()).into()
}

/// Operands of an op that have no derivative, or whose derivative is zero; see [`macro@handler`], below which it stands.
#[proc_macro_attribute]
pub fn nondiff(_: TokenStream, item: TokenStream) -> TokenStream {
    declaration::misplaced("nondiff", item.into()).into()
}

/// Makes a function another stage of a handler, which names it.
///
/// ```text
/// #[stage(instantiate)]
/// fn counter_new(start: i64) -> Result<Counter> { … }
///
/// #[handler(name = "counter", instantiate = counter_new)]
/// fn counter(state: &State<Counter>, y: &mut Buffer<i64>) -> Result<()> { … }
/// ```
///
/// `instantiate` runs once per call site, when the program is compiled; what it returns is the call
/// site's state, dropped with the program. `prepare` and `initialize` run before each run; they may return
/// state for the run, in hosts from 0.3 on. `record` takes the place of the handler where a host records the
/// call. `#[stage(instantiate, crate = path)]` says where `farcall-ffi` is, as in [`macro@handler`].
#[proc_macro_attribute]
pub fn stage(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::or_stand_in(entry::stage, options.into(), item.into()).into()
}

/// What `farcall_ffi::library!` expands to: the same after `path;`, where `farcall-ffi` is.
#[proc_macro]
pub fn library(input: TokenStream) -> TokenStream {
    export::library(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// What `farcall_ffi::ops!` expands to: the same after `path;`, where `farcall-ffi` is.
#[proc_macro]
pub fn ops(input: TokenStream) -> TokenStream {
    export::ops(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Reads a struct from a dictionary attribute, or an enum from a string or an integer.
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
/// A struct's fields are types that can be attributes, or `Option`s of these; a dictionary with other entries
/// is refused. An enum without fields is read from its variants' names in `snake_case`, or from integers if
/// any of its variants has one. `#[attr(crate = path)]` before the type says where `farcall-ffi` is, as in [`macro@handler`].
#[proc_macro_derive(FromAttr, attributes(attr))]
pub fn from_attr(item: TokenStream) -> TokenStream {
    attribute::derive(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
