//! The verifier. Later stages may rely on the guarantees of a verified module.
//!
//! The verifier finds *every* violation (and reports the first [`Diagnostics::MAX`]). The code of a violation
//! is the specification's name of the constraint (`reduce_c4`) or, if the specification has none, one of the
//! codes below.
//!
//! Guarantees of a verified module:
//!
//! - Functions have different names (`duplicate-function`). Calls, composites and custom calls refer to
//!   functions that exist (`unknown-function`), and the types at a call match the function's types
//!   (`call-arity`, `call-type`; `composite_c3`, `composite_c4`). No function calls itself, directly or
//!   through others (`recursive-call`), no chain of calls is longer than [`MAX_CALL_DEPTH`] (`call-depth`),
//!   and no function has more than [`MAX_INLINED`] instructions once all calls are inlined (`inlined-size`).
//! - Every value belongs to its function (`unknown-value`), is defined once (`redefinition`), and is defined
//!   before its uses, in the region of the use or an enclosing one (`undefined-value`). A value is a tensor,
//!   a token, a future, or a tuple of these (`value-type`), and its quantization is consistent
//!   (`quantized_type_c…`).
//! - Every region ends with a return and has no return before the end (`missing-terminator`,
//!   `early-terminator`). A function returns its result types (`return-arity`, `return-type`).
//! - Every instruction has the operands, results and regions of its operation (`operand-count`,
//!   `operand-kind`, `result-count`, `result-kind`, `region-count`), satisfies the constraints of the
//!   specification, and has no captures, which only the [middle form](crate::middle) allows (`captures`). No
//!   operation belongs to the middle form ([`Traits::FORM`], `form-operation`). The layouts, aliases,
//!   computations and configuration of a custom call fit its types (`custom-call-layout`,
//!   `custom-call-alias`, `custom-call-config`, `custom-call-types`, `custom-call-version`). If a custom call
//!   stands for an operation ([`crate::normalize`]), the replacement is valid, too (`check-value`,
//!   `sharding-constraint`).
//!
//! The verifier is as strict as StableHLO's verifier: dynamic dimensions are compatible with every size,
//! reducers may accumulate in wider types, and the scales of quantized results may differ from those of the
//! operands. The evaluator and the engine also need static shapes, which [`Verified::into_static`] checks and
//! [`crate::refine`] provides.
//!
//! Constraints among inputs are checked by [`crate::infer`]. The files named after op families compare
//! results with the inferred types.

mod call;
mod callgraph;
mod collective;
mod contraction;
mod control;
mod data;
mod derived;
mod elementwise;
mod form;
mod indexing;
mod linalg;
mod quantization;
mod random;
mod reduction;
mod results;
mod run;
mod structure;
mod verified;

pub use callgraph::{MAX_CALL_DEPTH, MAX_INLINED};
pub use run::entry;
pub(crate) use run::require_static;
pub use verified::{StaticModule, Verified};

use std::borrow::Cow;

use crate::diag::{Diagnostic, Diagnostics, ProgramError};
use crate::infer::{self, Constants, Cx};
use crate::interrupt::Pace;
use crate::module::{Inst, Module, Region};
use crate::normalize;
use crate::op::{Op, Traits};
use crate::stack;

/// Checks a module and the replacements of its custom calls, for the [guarantees](self) of a verified module.
/// The module is copied if a custom call is replaced.
///
/// # Errors
/// Every violation found, in the order of the source.
pub fn verify(module: &Module) -> Result<Verified<'_>, ProgramError> {
    verified(Cow::Borrowed(module))
}

/// Checks a module like [`verify`], and consumes it, so that the module is never copied.
///
/// # Errors
/// Same errors as [`verify`].
pub fn verify_owned(module: Module) -> Result<Verified<'static>, ProgramError> {
    verified(Cow::Owned(module))
}

fn verified(module: Cow<'_, Module>) -> Result<Verified<'_>, ProgramError> {
    verify_either(&module, false)?;
    let mut diagnostics = Diagnostics::default();
    for func in module.funcs() {
        func.walk(&mut |inst| {
            if !inst.captures().is_empty() {
                let message =
                    format!("{} captures operands, which only the middle form allows", inst.op().name());
                diagnostics.push(Diagnostic::new("captures", inst.span(), message));
            }
            if inst.op().info().is(Traits::FORM) {
                let message =
                    format!("{} is an operation of the middle form, not of programs", inst.op().name());
                diagnostics.push(Diagnostic::new("form-operation", inst.span(), message));
            }
        });
    }
    report(&module, diagnostics)?;
    if !normalize::is_needed(&module) {
        return Ok(Verified::new(module));
    }
    let mut module = module.into_owned();
    normalize::run(&mut module);
    verify_either(&module, false)?;
    Ok(Verified::new(Cow::Owned(module)))
}

/// Checks a module, but not the replacements of its custom calls. `form` is true for a module in the [middle
/// form](crate::middle).
pub(crate) fn verify_either(module: &Module, form: bool) -> Result<(), ProgramError> {
    stack::with_room(|| checked(module, form))
}

fn checked(module: &Module, form: bool) -> Result<(), ProgramError> {
    let mut diagnostics = Diagnostics::default();
    diagnostics.extend(callgraph::check(module));
    for func in module.funcs() {
        let found = structure::check(func);
        let sound = found.is_empty();
        diagnostics.extend(found);
        // The checks of instructions rely on the types of values, which a wrong structure makes unreliable.
        if sound {
            let constants = Constants::of(func);
            region(module, &constants, form, func.body(), &mut diagnostics);
        }
    }
    report(module, diagnostics)
}

/// Returns all diagnostics in the order of the source, if there are any.
fn report(module: &Module, diagnostics: Diagnostics) -> Result<(), ProgramError> {
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics.into_error(&module.source)) }
}

fn region<'a>(
    module: &Module,
    constants: &'a Constants<'a>,
    form: bool,
    body: Region<'a>,
    diagnostics: &mut Diagnostics,
) {
    for inst in Pace::until_due(body.insts()) {
        diagnostics.extend(instruction(module, constants, form, inst));
        for nested in inst.regions() {
            region(module, constants, form, nested, diagnostics);
        }
    }
}

/// Checks one instruction, without the instructions in its regions.
fn instruction<'a>(
    module: &Module,
    constants: &'a Constants<'a>,
    form: bool,
    inst: Inst<'a>,
) -> Vec<Diagnostic> {
    let cx = &mut Cx::new(inst, Some(constants));
    cx.form = form;
    if !infer::result_count(cx) {
        return std::mem::take(&mut cx.diagnostics);
    }
    let Some(types) = infer::infer(cx) else {
        return std::mem::take(&mut cx.diagnostics);
    };
    match inst.op() {
        Op::Unary(op) => elementwise::unary(cx, *op, &types),
        Op::Binary(op) => elementwise::binary(cx, *op, &types),
        Op::Compare(_) => elementwise::compare(cx, &types),
        Op::Select => elementwise::select(cx, &types),
        Op::Clamp => elementwise::clamp(cx, &types),
        Op::Convert => elementwise::convert(cx, &types),
        Op::BitcastConvert => elementwise::bitcast_convert(cx, &types),
        Op::Copy => elementwise::copy(cx, &types),
        Op::ReducePrecision { .. } => elementwise::reduce_precision(cx, &types),
        Op::UniformQuantize => elementwise::uniform_quantize(cx, &types),
        Op::UniformDequantize => elementwise::uniform_dequantize(cx, &types),

        Op::Constant(_) | Op::Elided(_) => data::constant(cx, &types),
        Op::Iota { .. } => data::iota(cx, &types),
        Op::DynamicIota { .. } => data::dynamic_iota(cx, &types),
        Op::BroadcastInDim { dims } => data::broadcast_in_dim(cx, &types, dims, false),
        Op::DynamicBroadcastInDim { dims } => data::broadcast_in_dim(cx, &types, dims, true),
        Op::Reshape => data::reshape(cx, &types, false),
        Op::DynamicReshape => data::reshape(cx, &types, true),
        Op::Transpose { permutation } => data::transpose(cx, &types, permutation),
        Op::Slice(_) => data::slice(cx, &types),
        Op::Concatenate { .. } => data::concatenate(cx, &types),
        Op::Pad(_) => data::pad(cx, &types),
        Op::DynamicPad => data::dynamic_pad(cx, &types),
        Op::Reverse { .. } => data::reverse(cx, &types),
        Op::GetDimensionSize { .. } => data::get_dimension_size(cx, &types),
        Op::SetDimensionSize { .. } => data::set_dimension_size(cx, &types),

        Op::DynamicSlice { .. } => indexing::dynamic_slice(cx, &types),
        Op::DynamicUpdateSlice => indexing::dynamic_update_slice(cx, &types),
        Op::RealDynamicSlice => indexing::real_dynamic_slice(cx, &types),
        Op::Gather(_) => indexing::gather(cx, &types, false),
        Op::DynamicGather(_) => indexing::gather(cx, &types, true),
        Op::Scatter(_) => indexing::scatter(cx, &types),

        Op::Reduce { .. } => reduction::reduce(cx, &types),
        Op::ReduceWindow(_) => reduction::reduce_window(cx, &types),
        Op::SelectAndScatter(_) => reduction::select_and_scatter(cx, &types),
        Op::Map { .. } => reduction::map(cx, &types),
        Op::Scan(_) => reduction::scan(cx, &types),
        Op::Sort { .. } => reduction::sort(cx, &types),
        Op::TopK { .. } => reduction::top_k(cx, &types),

        Op::DotGeneral(op) => contraction::dot_general(cx, &types, op),
        Op::Convolution(op) => contraction::convolution(cx, &types, op, false),
        Op::DynamicConvolution(op) => contraction::convolution(cx, &types, op, true),

        Op::Cholesky { .. } => linalg::cholesky(cx, &types),
        Op::TriangularSolve(_) => linalg::triangular_solve(cx, &types),
        Op::Fft { .. } => linalg::fft(cx, &types),

        Op::RngBitGenerator(_) => random::rng_bit_generator(cx, &types),
        Op::Rng(_) => random::rng(cx, &types),

        Op::If => control::conditional(cx, &types, "if_c3"),
        Op::Case => control::conditional(cx, &types, "case_c4"),
        Op::While => control::while_loop(cx, &types),
        Op::Call { callee } => control::call(cx, module, *callee),
        Op::Composite(op) => control::composite(cx, module, op),
        // The operands of a return are checked with the enclosing function or instruction.
        Op::Return => {}
        Op::OptimizationBarrier => control::optimization_barrier(cx, &types),
        Op::AfterAll => control::token(cx, &types, "after_all_o1"),
        Op::CreateToken => control::token(cx, &types, "create_token_o1"),
        Op::Tuple => control::tuple(cx, &types),
        Op::GetTupleElement { .. } => control::get_tuple_element(cx, &types),
        Op::AsyncStart => control::async_start(cx, &types),
        Op::AsyncDone => control::async_done(cx, &types),
        Op::Transfer(op) => control::transfer(cx, op, &types),
        Op::PartitionId => control::device_id(cx, &types, "partition_id_o1"),
        Op::ReplicaId => control::device_id(cx, &types, "replica_id_o1"),

        Op::AllGather(_) => collective::all_gather(cx, &types),
        Op::AllReduce(_) => collective::all_reduce(cx, &types),
        Op::ReduceScatter(_) => collective::reduce_scatter(cx, &types),
        Op::AllToAll(_) => collective::all_to_all(cx, &types),
        Op::CollectiveBroadcast(_) => collective::collective_broadcast(cx, &types),
        Op::CollectiveReduce(_) => collective::collective_reduce(cx, &types),
        Op::CollectivePermute(_) => collective::collective_permute(cx, &types),

        Op::Derived(op) => derived::derived(cx, op, &types),

        Op::CustomCall(op) => call::custom_call(cx, op),

        Op::Form(op) => form::form(cx, op, &types),
    }
    std::mem::take(&mut cx.diagnostics)
}
