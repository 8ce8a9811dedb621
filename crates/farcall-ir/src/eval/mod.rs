//! The reference evaluator: runs any verified module, one operation at a time, in code that can be read side
//! by side with the StableHLO specification. Faster implementations are tested against it.
//!
//! ```text
//! eval ──▶ Machine::drive ──▶ step (matches Op) ──▶ the operation's family: elementwise, data, …
//!               ▲                                        │
//!               └──────────── Step::Enter ◀──────────────┘ (a region or function that has to run first)
//! ```
//!
//! **Numbers.** Floats narrower than `f64` are computed in `f64` and rounded once to their type, which makes
//! `+ - * /` and `sqrt` correctly rounded. Integers wrap. Division by zero, excessive shifts, out-of-range
//! conversions and similar cases follow XLA:CPU.
//!
//! **Memory.** Memory whose size a program determines is requested before it is allocated
//! ([`crate::memory`]). Each operation requests the memory of its results; `scratch` requests the temporary
//! memory of all operations.
//!
//! **Interrupts.** Loops over elements stop early once [`crate::interrupt::is_due`] is true, and may then
//! return arbitrary values. The machine checks after each operation, and discards these values.
//!
//! **Invariants.** Calls, branches and loops live on a heap-allocated stack (module `machine`), so that a
//! deeply nested program cannot overflow the thread's stack. Only operations that apply a region to elements
//! (reductions, scatters, sorts) recurse, to a bounded depth. An unverified module may cause an
//! [`EvalError`], but never a wrong shape.

mod arith;
mod call;
mod collective;
pub mod complex;
mod contraction;
mod control;
mod data;
mod derived;
mod elementwise;
mod error;
mod folding;
mod form;
mod fourier;
mod index;
mod indexing;
mod linalg;
mod machine;
mod number;
mod numerics;
mod outcome;
mod process;
mod quantize;
pub mod random;
mod reduction;
mod region;
mod scan;
mod scratch;
mod sorting;
mod space;
pub mod special;
mod transfer;
mod values;
mod windows;

use crate::elided;
use crate::literal::Literal;
use crate::memory::{self, OutOfMemory};
use crate::module::{Func, Inst, Module, ValueId};
use crate::op::collective::Process;
use crate::op::{CustomCall, Op};
use crate::stack;
use crate::types::{TensorType, Type};
use crate::verify::Verified;
pub use error::{Cause, EvalError, HostError};
pub use fourier::Fourier;
use machine::Machine;
pub use numerics::{Denormals, Numerics, Semantics};
use outcome::Step;
pub use values::{tensors, values};

/// The contents of a value during evaluation.
#[derive(Clone, PartialEq, Debug)]
pub enum EvalValue {
    /// A tensor.
    Tensor(Literal),
    /// A token.
    Token,
    /// A tuple, or the contents of a future.
    Tuple(Vec<EvalValue>),
}

/// Runs custom calls for the evaluator, and exchanges values with the program.
pub trait EvalHost {
    /// Runs one custom call and returns one value per result, of the result's type.
    ///
    /// # Errors
    /// Any error of the host; the evaluator adds the target and the position in the source to its message.
    fn custom_call(&self, call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError>;

    /// Returns the next values fed to the program (`infeed`), one tensor of each type.
    ///
    /// # Errors
    /// Any error of the host, here and in the methods below; the evaluator adds the operation and its
    /// position in the source to the message.
    fn infeed(&self, config: &str, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        let _ = (config, types);
        Err("nothing feeds the program here".into())
    }

    /// Accepts the values that the program emits (`outfeed`).
    ///
    /// # Errors
    /// Same errors as [`infeed`](EvalHost::infeed).
    fn outfeed(&self, config: &str, values: Vec<Literal>) -> Result<(), HostError> {
        let _ = (config, values);
        Err("nothing reads the program's outfeed here".into())
    }

    /// Accepts the values that the program sends to the host on a channel (`send`).
    ///
    /// # Errors
    /// Same errors as [`infeed`](EvalHost::infeed).
    fn send(&self, channel: i64, values: Vec<Literal>) -> Result<(), HostError> {
        let _ = values;
        Err(format!("nothing receives on channel {channel} here").into())
    }

    /// Returns the next values that the host sends to the program on a channel (`recv`), one tensor of each
    /// type.
    ///
    /// # Errors
    /// Same errors as [`infeed`](EvalHost::infeed).
    fn recv(&self, channel: i64, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        let _ = types;
        Err(format!("nothing sends on channel {channel} here").into())
    }

    /// Returns the process of a grid that the program runs as; `None` if the program runs without others, as
    /// process 0 of the grid that its module names.
    fn process(&self) -> Option<Process> {
        None
    }

    /// Passes the values of this process to the other processes of a group, and returns the values of each
    /// process, in the order of the group. Called only if there is a [`process`](EvalHost::process).
    ///
    /// # Errors
    /// If a process of the group does not come to the meeting; same errors as [`infeed`](EvalHost::infeed).
    fn exchange(&self, meeting: &Meeting<'_>, values: Vec<Literal>) -> Result<Vec<Vec<Literal>>, HostError> {
        let _ = values;
        Err(format!("{} has no other processes here", meeting.op).into())
    }

    /// Sends values to another process. Called only if there is a [`process`](EvalHost::process).
    ///
    /// # Errors
    /// Same errors as [`infeed`](EvalHost::infeed).
    fn send_to(&self, link: &Link<'_>, values: Vec<Literal>) -> Result<(), HostError> {
        self.send(link.channel, values)
    }

    /// Receives values from another process, one tensor of each type. Called only if there is a
    /// [`process`](EvalHost::process).
    ///
    /// # Errors
    /// If no process sends such values; same errors as [`infeed`](EvalHost::infeed).
    fn recv_from(&self, link: &Link<'_>, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        self.recv(link.channel, types)
    }
}

/// A point of the program at which the processes of a group exchange values.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a> {
    /// Name of the operation.
    pub op: &'static str,
    /// Location of the operation.
    pub place: &'a str,
    /// Number of the channel; 0 without a channel.
    pub channel: i64,
    /// The processes that exchange values, in the order of the group.
    pub group: &'a [usize],
    /// The operation with its attributes, types and regions, as text. The processes of a group have to meet
    /// at operations with the same text.
    pub signature: &'a str,
}

/// A transfer of values from one process to another.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Name of the operation.
    pub op: &'static str,
    /// Location of the operation.
    pub place: &'a str,
    /// Number of the channel.
    pub channel: i64,
    /// The other process, if the program names it.
    pub peer: Option<usize>,
}

/// A custom call that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct HostCall<'a> {
    /// Target, configuration and layouts.
    pub call: &'a CustomCall,
    /// The instruction of the call.
    pub inst: Inst<'a>,
    /// The function that holds the instruction.
    pub func: &'a Func,
    /// The module that holds the function.
    pub module: &'a Module,
}

impl<'a> HostCall<'a> {
    /// Types of the results.
    pub fn results(&self) -> impl ExactSizeIterator<Item = &'a Type> + use<'a> {
        let func = self.func;
        self.inst.results().iter().map(move |r| func.ty(*r))
    }
}

/// A host without targets: every custom call fails with an error that names its target.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl EvalHost for NoHost {
    fn custom_call(&self, _: &HostCall<'_>, _: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        Err("custom calls cannot run here".into())
    }
}

/// Runs a function of the module and returns one value per result.
///
/// Inputs are checked against the parameters (element type, dimensions).
///
/// # Errors
/// If inputs do not match the parameters, if a custom call fails, or if the program exceeds a resource limit
/// (available memory, loop iterations). The error names the position in the source.
pub fn eval(
    module: &Verified<'_>,
    func: &Func,
    inputs: &[EvalValue],
    host: &dyn EvalHost,
    numerics: impl Into<Numerics>,
) -> Result<Vec<EvalValue>, EvalError> {
    eval_form(module, func, inputs, host, numerics)
}

/// Runs a function like [`eval`], in a module in the [middle form](crate::middle).
///
/// # Errors
/// Same errors as [`eval`].
pub fn eval_form(
    module: &Module,
    func: &Func,
    inputs: &[EvalValue],
    host: &dyn EvalHost,
    numerics: impl Into<Numerics>,
) -> Result<Vec<EvalValue>, EvalError> {
    stack::with_room(|| evaluated(module, func, inputs, host, numerics.into()))
}

fn evaluated(
    module: &Module,
    func: &Func,
    inputs: &[EvalValue],
    host: &dyn EvalHost,
    numerics: Numerics,
) -> Result<Vec<EvalValue>, EvalError> {
    check_values("parameter", func, func.params(), inputs)
        .map_err(|m| EvalError::new(format!("@{}: {m}", func.name)))?;
    inputs.iter().try_for_each(expand)?;
    let nothing = |_| None;
    let mut machine = Machine::new(module, func, host, numerics, &nothing);
    machine.run(func.body(), inputs.to_vec())
}

/// Returns the first elements along each dimension.
///
/// # Errors
/// If there are fewer elements, or not enough memory.
pub(crate) fn corner(x: &Literal, dims: &[usize]) -> Result<Literal, EvalError> {
    data::sliced(x, &vec![0; dims.len()], dims, &vec![1; dims.len()])
}

/// Runs one instruction on the values of its operands and returns one value per result.
///
/// `captured` returns the values that the instruction's regions use from enclosing regions. It is not called
/// for the instruction's own operands.
///
/// # Errors
/// Same errors as [`eval`].
pub fn eval_inst(
    module: &Module,
    inst: Inst<'_>,
    operands: &[EvalValue],
    captured: &dyn Fn(ValueId) -> Option<EvalValue>,
    host: &dyn EvalHost,
    numerics: impl Into<Numerics>,
) -> Result<Vec<EvalValue>, EvalError> {
    stack::with_room(|| evaluated_inst(module, inst, operands, captured, host, numerics.into()))
}

fn evaluated_inst(
    module: &Module,
    inst: Inst<'_>,
    operands: &[EvalValue],
    captured: &dyn Fn(ValueId) -> Option<EvalValue>,
    host: &dyn EvalHost,
    numerics: Numerics,
) -> Result<Vec<EvalValue>, EvalError> {
    let func = inst.func();
    check_values("operand", func, inst.operands(), operands)
        .map_err(|m| EvalError::new(m).at(module, inst))?;
    operands.iter().try_for_each(expand).map_err(|e| EvalError::from(e).at(module, inst))?;
    Machine::new(module, func, host, numerics, captured).run_inst(inst, operands.to_vec())
}

/// Evaluates one operation. The module of the operation's family returns the results, or a region or function
/// to run first.
fn step<'m>(m: &mut Machine<'m>, inst: Inst<'m>, operands: Vec<EvalValue>) -> Result<Step<'m>, EvalError> {
    let xs = operands.as_slice();
    memory::admit_scratch(scratch::bytes(m, inst, xs))?;
    let values = match inst.op() {
        Op::Unary(op) => elementwise::unary(m, xs, *op),
        Op::Binary(op) => elementwise::binary(m, xs, *op),
        Op::Compare(c) => elementwise::compare(m, xs, c),
        Op::Select => elementwise::select(xs),
        Op::Clamp => elementwise::clamp(m, xs),
        Op::Convert => elementwise::convert(m, inst, xs),
        Op::BitcastConvert => elementwise::bitcast_convert(m, inst, xs),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            elementwise::reduce_precision(xs, *exponent_bits, *mantissa_bits)
        }
        Op::UniformQuantize => elementwise::uniform_quantize(m, inst, xs),
        Op::UniformDequantize => elementwise::uniform_dequantize(m, inst, xs),

        Op::Constant(literal) => data::constant(literal),
        Op::Elided(_) => return Err(EvalError::new(elided::RUN_MESSAGE)),
        Op::Iota { dim } => data::iota(m, inst, *dim),
        Op::DynamicIota { dim } => data::dynamic_iota(m, inst, xs, *dim),
        Op::BroadcastInDim { dims } => data::broadcast_in_dim(m, inst, xs, dims),
        Op::DynamicBroadcastInDim { dims } => data::dynamic_broadcast_in_dim(xs, dims),
        Op::Reshape => data::reshape(m, inst, xs),
        Op::DynamicReshape => data::dynamic_reshape(xs),
        Op::Transpose { permutation } => data::transpose(xs, permutation),
        Op::Slice(slice) => data::slice(xs, slice),
        Op::Concatenate { dim } => data::concatenate(xs, *dim),
        Op::Pad(pad) => data::pad(xs, pad),
        Op::DynamicPad => data::dynamic_pad(xs),
        Op::Reverse { dims } => data::reverse(xs, dims),
        Op::GetDimensionSize { dim } => data::get_dimension_size(xs, *dim),
        Op::SetDimensionSize { dim } => data::set_dimension_size(m, inst, xs, *dim),

        Op::DynamicSlice { sizes } => indexing::dynamic_slice(xs, sizes),
        Op::DynamicUpdateSlice => indexing::dynamic_update_slice(xs),
        Op::RealDynamicSlice => indexing::real_dynamic_slice(xs),
        Op::Gather(gather) => indexing::gather(xs, gather, &[]),
        Op::DynamicGather(gather) => indexing::dynamic_gather(xs, gather),
        Op::Scatter(scatter) => indexing::scatter(m, inst, xs, scatter, &[]),

        Op::Reduce { dims } => reduction::reduce(m, inst, xs, dims),
        Op::ReduceWindow(window) => reduction::reduce_window(m, inst, xs, window),
        Op::SelectAndScatter(window) => reduction::select_and_scatter(m, inst, xs, window),
        Op::Map { .. } => reduction::map(m, inst, xs),
        Op::Scan(scan) => scan::scan(m, inst, xs, scan),
        Op::Sort { dim, .. } => reduction::sort(m, inst, xs, *dim),
        Op::TopK { k } => reduction::top_k(m, inst, xs, *k),

        Op::DotGeneral(dot) => contraction::dot_general(m, inst, xs, dot),
        Op::Convolution(conv) => contraction::convolution(m, inst, xs, conv),
        Op::DynamicConvolution(conv) => contraction::dynamic_convolution(m, inst, xs, conv),

        Op::Cholesky { lower } => linalg::cholesky(m, inst, xs, *lower),
        Op::TriangularSolve(solve) => linalg::triangular_solve(m, inst, xs, solve),
        Op::Fft { kind, length } => linalg::fft(m, inst, xs, *kind, length),

        Op::RngBitGenerator(algorithm) => random::rng_bit_generator(m, inst, xs, *algorithm),
        Op::Rng(distribution) => random::rng(m, inst, xs, *distribution),

        Op::If => return control::if_(inst, xs),
        Op::Case => return control::case(inst, xs),
        Op::While => return Step::condition(inst, operands),
        Op::Call { callee } => return control::call(m, inst, operands, *callee),
        Op::Composite(composite) => return control::call(m, inst, operands, composite.decomposition),
        Op::Return => return Ok(Step::Return(operands)),
        Op::OptimizationBarrier | Op::Copy => return Ok(Step::Values(operands)),
        Op::AfterAll | Op::CreateToken => Ok(vec![EvalValue::Token]),
        Op::Tuple => Ok(vec![EvalValue::Tuple(operands)]),
        Op::GetTupleElement { index } => control::get_tuple_element(xs, *index),
        Op::AsyncStart => control::async_start(m, inst, operands),
        Op::AsyncDone => control::async_done(xs),
        Op::Transfer(transfer) => transfer::transfer(m, inst, xs, transfer),
        Op::PartitionId | Op::ReplicaId => collective::id(m, inst),

        Op::AllGather(op) => collective::all_gather(m, inst, xs, op),
        Op::AllReduce(groups) => collective::all_reduce(m, inst, xs, groups),
        Op::ReduceScatter(op) => collective::reduce_scatter(m, inst, xs, op),
        Op::AllToAll(op) => collective::all_to_all(m, inst, xs, op),
        Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => collective::rooted(m, inst, xs, op),
        Op::CollectivePermute(op) => collective::permute(m, inst, xs, op),

        Op::Derived(op) => derived::derived(m, inst, xs, op),

        Op::CustomCall(c) => call::custom_call(m, inst, xs, c),

        Op::Form(op) => return form::form(m, inst, operands, op),
    };
    values.map(Step::Values)
}

impl EvalValue {
    /// Returns the tensor, if the value is a tensor.
    pub fn tensor(&self) -> Option<&Literal> {
        match self {
            EvalValue::Tensor(l) => Some(l),
            _ => None,
        }
    }

    /// Returns true if the value can have a type: element types and known dimensions agree, and bounds hold.
    pub fn is_of(&self, ty: &Type) -> bool {
        match (self, ty) {
            (EvalValue::Tensor(l), Type::Tensor(t)) => {
                l.dtype() == t.dtype
                    && l.dims().len() == t.rank()
                    && l.dims().iter().zip(t.dims()).all(|(size, dim)| dim.admits(*size))
            }
            (EvalValue::Token, Type::Token) => true,
            (EvalValue::Tuple(values), Type::Tuple(types) | Type::Future(types)) => {
                values.len() == types.len() && values.iter().zip(types.iter()).all(|(v, t)| v.is_of(t))
            }
            _ => false,
        }
    }

    /// The type of the value, for messages.
    fn describe(&self) -> String {
        match self {
            EvalValue::Tensor(l) => l.ty().to_string(),
            EvalValue::Token => Type::Token.to_string(),
            EvalValue::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(EvalValue::describe).collect();
                format!("tuple<{}>", parts.join(", "))
            }
        }
    }
}

impl From<Literal> for EvalValue {
    fn from(l: Literal) -> EvalValue {
        EvalValue::Tensor(l)
    }
}

/// Checks the number and the types of values against the values that the function declares.
fn check_values(what: &str, func: &Func, declared: &[ValueId], values: &[EvalValue]) -> Result<(), String> {
    if declared.len() != values.len() {
        return Err(format!("{} {what}s expected, {} given", declared.len(), values.len()));
    }
    for (i, (id, value)) in declared.iter().zip(values).enumerate() {
        let ty = func.ty(*id);
        if !value.is_of(ty) {
            return Err(format!("{what} {i} is {ty}, but a {} was given", value.describe()));
        }
    }
    Ok(())
}

/// Allocates all elements of the tensors in a value.
fn expand(value: &EvalValue) -> Result<(), OutOfMemory> {
    match value {
        EvalValue::Tensor(l) => l.expand(),
        EvalValue::Token => Ok(()),
        EvalValue::Tuple(parts) => parts.iter().try_for_each(expand),
    }
}

/// Operand number `i`, which must be a tensor in a verified module.
fn tensor(operands: &[EvalValue], i: usize) -> Result<&Literal, EvalError> {
    match operands.get(i) {
        Some(EvalValue::Tensor(l)) => Ok(l),
        Some(other) => Err(EvalError::new(format!("operand {i} is a {}, not a tensor", other.describe()))),
        None => Err(EvalError::new(format!("operand {i} is missing"))),
    }
}

/// A single tensor as the results of an operation.
fn one(l: Literal) -> Result<Vec<EvalValue>, EvalError> {
    Ok(vec![EvalValue::Tensor(l)])
}
