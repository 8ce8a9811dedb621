//! Programs that consist of a single call of an op, for running the op on arrays.
//!
//! ```text
//! target (signature) + operand types + attributes ──op_program──▶ Module ──Executable──▶ results
//! ```
//!
//! The op's signature determines the results of the call, the layouts of its tensors, which results share the
//! memory of operands, and whether the call has a side effect. A mismatch is an error that uses the op's own
//! names.

use farcall_ir::op::{CallConfig, CustomCall, OutputAlias};
use farcall_ir::{
    AttrDict, Attribute, Func, Module, NewInst, Op, Source, Span, TensorType, Type, UnwritableAttr, ValueId,
};
use farcall_sig::signature::{CallPart, Inference, Mismatch, MismatchKind, OperandType, ResultType};
use farcall_sig::{AttrValues, Signature};

use crate::arguments::ArgumentError;
use crate::linear::DerivativeError;
use farcall_host::registry::{Declaration, Target};
use farcall_host::{CodedError, ErrorCode};

/// An op that cannot be called on given operands with given attributes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The op declares no signature, so its results are unknown.
    #[error("{op}: its library declares no signature for it, so its results are unknown")]
    NoSignature {
        /// The op's name.
        op: String,
    },
    /// The arguments cannot be assigned to the op's operands.
    #[error("{op}: {error}")]
    Arguments {
        /// The op's name.
        op: String,
        /// The error in the arguments, without the op's name.
        error: ArgumentError,
    },
    /// The call does not match the op's signature.
    #[error("{op}: {mismatch}")]
    Mismatch {
        /// The op's name.
        op: String,
        /// The mismatch: its kind, its place, and a message without the op's name.
        mismatch: Mismatch,
    },
    /// The op does not have the requested derivative.
    #[error("{op} {what}")]
    Derivative {
        /// The op's name.
        op: String,
        /// The missing derivative.
        what: DerivativeError,
    },
    /// The attributes cannot be written in a program.
    #[error("{op}: attributes: {error}")]
    Attribute {
        /// The op's name.
        op: String,
        /// The reason.
        error: UnwritableAttr,
    },
    /// The operands to differentiate with respect to are not a strictly ascending list of the call's
    /// operands.
    #[error("{op}: the operands to differentiate must be distinct indices below {count}, in ascending order")]
    Moving {
        /// The op's name.
        op: String,
        /// Number of operands of the call.
        count: usize,
    },
    /// A mapped axis has an impossible size.
    #[error("{op}: an axis cannot have size {size}")]
    AxisSize {
        /// The op's name.
        op: String,
        /// Size of the axis.
        size: i64,
    },
}

impl CodedError for OpError {
    fn code(&self) -> ErrorCode {
        match self {
            OpError::NoSignature { .. } => ErrorCode::NoSignature,
            OpError::Arguments { .. } => ErrorCode::ArgumentCount,
            OpError::Mismatch { mismatch, .. } => mismatch.kind.into(),
            OpError::Derivative { what, .. } => what.code(),
            OpError::Attribute { error: UnwritableAttr::Memory(_), .. } => ErrorCode::OutOfMemory,
            OpError::Attribute { error: UnwritableAttr::Complex, .. } => ErrorCode::Attribute,
            OpError::Moving { .. } => ErrorCode::ArgumentCount,
            OpError::AxisSize { .. } => ErrorCode::Shape,
        }
    }
}

/// Returns a module whose `main` takes the operands, calls the op, and returns the results, row-major and in
/// the order of the signature.
///
/// Attributes are converted to the declared types where the conversion is lossless, and defaults are filled
/// in ([`Signature::convert_attrs`]). Parameters and results have the names of the signature, as
/// `jax.arg_info` and `jax.result_info`. The module was not read from text, so messages about the module give
/// no location.
///
/// Compile the module with a registry that has the target.
///
/// ```no_run
/// use farcall::{CompileOptions, Executable, Registry, op_program};
/// use farcall::ir::{DType, Literal, TensorType};
/// use farcall::registry::Platform;
///
/// let registry = Registry::new();
/// // SAFETY: the library is an example of this project, so its code is trusted.
/// unsafe { registry.load("librms_norm_ops.so") }?;
/// let op = registry.lookup("rms_norm", &Platform::Host).ok_or("no such op")?;
/// let types = [TensorType::new(DType::F32, [2, 64]), TensorType::new(DType::F32, [64])];
/// let module = op_program(&op, &types, &farcall_sig::AttrValues::new())?;
/// let executable = Executable::compile(&module, &registry, &CompileOptions::new())?;
/// let y = executable.run(&types.map(|t| Literal::zeros(t.dtype, t.sizes())))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the target has no signature, or the call does not match it:
/// `rms_norm: scale has n = 64 but x has n = 128`.
pub fn op_program(target: &Target, operands: &[TensorType], attrs: &AttrValues) -> Result<Module, OpError> {
    let (signature, inference) = inferred(target, operands, attrs)?;
    let names = signature.operand_names(operands.len()).unwrap_or_default();
    let call = call(target, signature, &inference)?;
    Ok(program(call, &names, operands, signature, &inference))
}

/// Returns the call of an op as an instruction, and the types of its results; see [`op_program`]. Tools that
/// call the op's handler for another platform than the engine's use it.
///
/// # Errors
/// Same errors as [`op_program`].
pub fn declared_call(
    target: &Target,
    operands: &[TensorType],
    attrs: &AttrValues,
) -> Result<(CustomCall, Vec<TensorType>), OpError> {
    let (signature, inference) = inferred(target, operands, attrs)?;
    Ok((call(target, signature, &inference)?, result_types(&inference)))
}

/// Returns the op's signature, and the [`Inference`] of the call from the signature.
fn inferred<'t>(
    target: &'t Target,
    operands: &[TensorType],
    attrs: &AttrValues,
) -> Result<(&'t Signature, Inference), OpError> {
    let op = || target.name().to_owned();
    let declaration = target.declaration().ok_or_else(|| OpError::NoSignature { op: op() })?;
    let inference =
        infer(declaration, operands, attrs).map_err(|mismatch| OpError::Mismatch { op: op(), mismatch })?;
    Ok((&declaration.signature, inference))
}

/// Types of the results.
fn result_types(inference: &Inference) -> Vec<TensorType> {
    // The inference guarantees that sizes of results are never negative.
    let size = |d: &i64| usize::try_from(*d).unwrap_or(0);
    let ty = |r: &ResultType| TensorType::new(r.dtype, r.dims.iter().map(size).collect::<Vec<_>>());
    inference.results.iter().map(ty).collect()
}

fn infer(
    declaration: &Declaration,
    operands: &[TensorType],
    attrs: &AttrValues,
) -> Result<Inference, Mismatch> {
    let signature = &declaration.signature;
    let attrs = signature.convert_attrs(attrs)?;
    let names = signature.operand_names(operands.len())?;
    let mut dims: Vec<Vec<i64>> = Vec::with_capacity(operands.len());
    for (i, (ty, name)) in operands.iter().zip(&names).enumerate() {
        let wrong = |kind, what: &str| {
            let message = format!("{name} is {ty}; {what}");
            Mismatch { kind, place: CallPart::Operand(i), message }
        };
        if ty.quant.is_some() {
            return Err(wrong(MismatchKind::Type, "an op takes no quantized tensors"));
        }
        let known = ty.dims().map(|dim| i64::try_from(dim.size()?).ok()).collect::<Option<_>>();
        dims.push(known.ok_or_else(|| wrong(MismatchKind::Shape, "its sizes must be known"))?);
    }
    let types = operands.iter().zip(&dims).map(|(t, dims)| OperandType { dtype: t.dtype, dims });
    declaration.infer(&types.collect::<Vec<_>>(), &attrs)
}

/// Builds the call, with the attributes, layouts, aliases and side effect that follow from the signature.
fn call(target: &Target, signature: &Signature, inference: &Inference) -> Result<CustomCall, OpError> {
    let config =
        inference.attrs.iter().map(|(name, value)| Ok((name.to_owned(), Attribute::try_from(value)?)));
    let config: AttrDict = config
        .collect::<Result<_, UnwritableAttr>>()
        .map_err(|error| OpError::Attribute { op: target.name().to_owned(), error })?;
    let result_layouts: Vec<_> = inference.results.iter().map(|r| r.minor_to_major.clone()).collect();
    let row_major = inference
        .operand_layouts
        .iter()
        .chain(&result_layouts)
        .all(|l| l.iter().rev().copied().eq(0..l.len()));
    let alone = inference.results.len() == 1;
    let alias = |(i, operand): (usize, Option<usize>)| {
        Some(OutputAlias {
            output_tuple_indices: if alone { Vec::new() } else { vec![i] },
            operand_index: operand?,
            operand_tuple_indices: Vec::new(),
        })
    };
    Ok(CustomCall {
        // API version 4: the typed interface.
        api_version: Some(4),
        config: CallConfig::Dict(config),
        has_side_effect: signature.has_side_effect(),
        operand_layouts: (!row_major).then(|| inference.operand_layouts.clone()),
        result_layouts: (!row_major).then_some(result_layouts),
        aliases: inference.results.iter().map(|r| r.aliases).enumerate().filter_map(alias).collect(),
        ..CustomCall::new(target.name())
    })
}

fn program(
    call: CustomCall,
    names: &[String],
    operands: &[TensorType],
    signature: &Signature,
    inference: &Inference,
) -> Module {
    let mut func = call_function(call, operands, &result_types(inference));
    let named = |key: &str, name: &str| AttrDict::from([(key.to_owned(), Attribute::string(name))]);
    func.set_param_attrs(names.iter().map(|name| named("jax.arg_info", name)));
    let result_names = result_names(signature, inference);
    func.set_result_attrs(result_names.iter().map(|name| named("jax.result_info", name)));
    of_function(func)
}

/// Returns a module whose `main` takes the operands, makes the call, and returns its results. Targets without
/// a signature are called on arrays this way.
///
/// Nothing is checked here; the verifier checks the module when it is compiled. Messages about the module
/// give no location.
///
/// ```
/// use farcall::call_program;
/// use farcall::ir::op::CustomCall;
/// use farcall::ir::{DType, TensorType, text};
///
/// let x = TensorType::new(DType::F32, [3]);
/// let module = call_program(CustomCall::new("scale"), &[x.clone()], &[x]);
/// assert!(text::print(&module).contains("stablehlo.custom_call @scale"));
/// ```
pub fn call_program(call: CustomCall, operands: &[TensorType], results: &[TensorType]) -> Module {
    of_function(call_function(call, operands, results))
}

fn call_function(call: CustomCall, operands: &[TensorType], results: &[TensorType]) -> Func {
    let mut func = Func::new("main", Span::default());
    let params: Vec<ValueId> =
        operands.iter().map(|t| func.add_arg(Func::BODY, Type::Tensor(t.clone()))).collect();
    func.set_result_types(results.iter().cloned().map(Type::Tensor));
    let results = func.results().to_vec();
    let call = func.push(Func::BODY, NewInst::new(Op::CustomCall(call.into()), params), results);
    let returned = func.inst(call).results().to_vec();
    func.push(Func::BODY, NewInst::new(Op::Return, returned), []);
    func
}

fn of_function(func: Func) -> Module {
    let mut module = Module::new(Source::none());
    module.add_func(func);
    module
}

/// Names of the results of a call: `y`, `ys[0]`.
fn result_names(signature: &Signature, inference: &Inference) -> Vec<String> {
    let name = |(i, result): (usize, &ResultType)| {
        let decl = &signature.results()[result.decl];
        let before = inference.results[..i].iter().filter(|r| r.decl == result.decl).count();
        if decl.variadic { format!("{}[{before}]", decl.name) } else { decl.name.text.clone() }
    };
    inference.results.iter().enumerate().map(name).collect()
}
