//! Validates plans: checks once everything that the runtime relies on in every run.

use rustc_hash::FxHashSet;

use std::sync::Arc;

use farcall_host::CodedError;
use farcall_ir::sharding::{ProgramSharding, TileAssignment};
use farcall_ir::{DType, Literal, Op, TensorType, Type, ValueId};

use super::{
    ALIGNMENT, Base, BufferSlice, Combine, Compute, MIN_ALIGNMENT_BYTES, NestedCall, Plan, ReferenceSite,
    STACK_SIZE, TensorSlice, Thunk, ThunkOp, exchange, iotas, types, written,
};
use farcall_kernels::{ElementBytes, KernelId, PreparedKernel, is_int};

/// An invalid plan: a bug in the compiler or a damaged file, never an error of a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid plan ({place}, {kind}): {message}")]
pub struct InvalidPlan {
    /// Location in the program.
    pub place: String,
    /// Kind of the thunk.
    pub kind: &'static str,
    /// Description of the error.
    pub message: String,
}

impl CodedError for InvalidPlan {
    fn code(&self) -> farcall_host::ErrorCode {
        farcall_host::ErrorCode::InvalidPlan
    }
}

impl Plan {
    /// Checks the invariants, and returns the prepared kernels of the thunks that have one, in the order of
    /// [`Plan::walk`]. If prepared kernels are `given`, they are not prepared again, and reads of unwritten
    /// bytes are not checked: the caller guarantees that the kernels fit and that no thunk reads unwritten
    /// bytes ([`Plan::with_kernels`]). (Debug builds check both.)
    pub(super) fn prepare(
        &self,
        given: Option<Vec<(KernelId, PreparedKernel)>>,
    ) -> Result<Vec<Arc<PreparedKernel>>, InvalidPlan> {
        let whole = |message: String| InvalidPlan { place: "plan".to_owned(), kind: "plan", message };
        if self.parts.arena_size > isize::MAX as usize / 2 {
            return Err(whole(format!(
                "an arena of {} bytes does not fit into memory",
                self.parts.arena_size
            )));
        }
        if self.parts.grid.replicas == 0 || self.parts.grid.partitions == 0 {
            return Err(whole(format!("a grid of {} has no devices", self.parts.grid)));
        }
        if let Some(many) = self.parts.numbers.iter().find(|number| number.len() != 1) {
            return Err(whole(format!("a {} is not a scalar constant", many.ty())));
        }
        for buffer in &self.parts.results {
            self.value(buffer).map_err(whole)?;
        }
        if let Some(ProgramSharding { inputs, results }) = &self.parts.sharding {
            let params = self.parts.params.iter().map(|param| &param.ty);
            let is_divided = are_parts(params, inputs)
                && are_parts(self.parts.results.iter().map(|result| &result.ty), results);
            need(is_divided, "the inputs or results are not parts of the program's").map_err(whole)?;
        }
        let (mut sizes, mut dims) = (FxHashSet::default(), FxHashSet::default());
        if !self.parts.cuts.iter().all(|cut| sizes.insert(cut.size) && dims.insert((cut.result, cut.dim))) {
            return Err(whole("two cuts have the same size or dimension".to_owned()));
        }
        for cut in &self.parts.cuts {
            let ty = |i: usize| self.parts.results.get(i).map(|r| &r.ty);
            let is_cut = |i: usize| sizes.contains(&i);
            let fits = ty(cut.result).is_some_and(|ty| cut.dim < ty.rank())
                && ty(cut.size).is_some_and(|ty| *ty == TensorType::scalar(DType::S32))
                && !is_cut(cut.result);
            if !fits {
                let message = format!(
                    "result {} has no size for dimension {} of result {}",
                    cut.size, cut.dim, cut.result
                );
                return Err(whole(message));
            }
        }
        let is_compiled = given.is_some();
        let (mut prepared, mut error) = (Vec::new(), None);
        let mut given = given.map(Vec::into_iter);
        let mut called = FxHashSet::default();
        self.walk(&mut |thunk| {
            if error.is_none() {
                let once = match &thunk.op {
                    ThunkOp::CustomCall(call) => {
                        need(called.insert(call.id), "another thunk makes this call")
                    }
                    _ => Ok(()),
                };
                match once.and_then(|()| self.thunk(thunk, given.as_mut())) {
                    Ok(kernel) => prepared.extend(kernel.map(Arc::new)),
                    Err(message) => {
                        let place = self.parts.source.place(thunk.span);
                        error = Some(InvalidPlan { place, kind: thunk.op.kind(), message });
                    }
                }
            }
        });
        if let Some(error) = error {
            return Err(error);
        }
        if given.is_some_and(|mut given| given.next().is_some()) {
            return Err(whole("there are more prepared kernels than thunks that compute".to_owned()));
        }
        // In plans of the compiler, all bytes are written before they are read.
        if !is_compiled || cfg!(debug_assertions) {
            written::check(self)?;
        }
        Ok(prepared)
    }

    fn slice(&self, slice: &BufferSlice) -> Result<(), String> {
        let bytes = match slice.base {
            Base::Arena => self.parts.arena_size,
            Base::Stack => STACK_SIZE,
            Base::Iota(_) => 0,
            Base::Constant(id) => self.parts.constants.get(id.index()).map_or(0, Literal::byte_len),
            Base::Number(id) => self.parts.numbers.get(id.index()).map_or(0, Literal::byte_len),
            Base::Param(id) => self.parts.params.get(id.index()).and_then(|p| p.ty.bytes()).unwrap_or(0),
            Base::Result(id) => self.own_result(id).and_then(|r| r.ty.bytes()).unwrap_or(0),
        };
        let exists = match slice.base {
            Base::Arena | Base::Stack | Base::Iota(_) => true,
            Base::Constant(id) => id.index() < self.parts.constants.len(),
            Base::Number(id) => id.index() < self.parts.numbers.len(),
            Base::Param(id) => id.index() < self.parts.params.len(),
            Base::Result(id) => self.own_result(id).is_some(),
        };
        if !exists || slice.offset.checked_add(slice.size).is_none_or(|end| end > bytes) {
            return Err(format!("{slice} is not inside its {bytes} bytes"));
        }
        Ok(())
    }

    fn buffer(&self, b: &TensorSlice) -> Result<(), String> {
        self.slice(&b.slice)?;
        if b.ty.bytes() != Some(b.slice.size) {
            return Err(format!("{} does not hold a {}", b.slice, b.ty));
        }
        // Scratch memory starts at the first byte of the stack.
        let aligned = match b.slice.base {
            Base::Arena | Base::Result(_) | Base::Constant(_) | Base::Param(_) => {
                b.slice.offset.is_multiple_of(MIN_ALIGNMENT_BYTES)
            }
            Base::Stack | Base::Iota(_) | Base::Number(_) => b.slice.offset == 0,
        };
        if !aligned {
            return Err(format!("{} is not aligned", b.slice));
        }
        Ok(())
    }

    /// Checks a buffer that holds a value. It must have memory other than the stack, which only holds scratch
    /// memory.
    fn value(&self, b: &TensorSlice) -> Result<(), String> {
        if let Base::Stack | Base::Iota(_) | Base::Number(_) = b.slice.base {
            return Err(format!("{} holds a value", b.slice));
        }
        self.buffer(b)
    }

    /// Checks a buffer that a thunk reads. Only compute thunks may have inputs without memory.
    fn input(&self, t: &Thunk, b: &TensorSlice) -> Result<(), String> {
        match (&t.op, b.slice.base) {
            (ThunkOp::Compute(_), Base::Iota(_)) => self.slice(&b.slice),
            (ThunkOp::Compute(_), Base::Number(_)) => self.buffer(b),
            _ => self.value(b),
        }
    }

    fn thunk(
        &self,
        t: &Thunk,
        given: Option<&mut PreparedKernels>,
    ) -> Result<Option<PreparedKernel>, String> {
        let (results, scratch) = t.outputs.split_at(t.results().len());
        t.inputs.iter().try_for_each(|b| self.input(t, b))?;
        results.iter().try_for_each(|b| self.value(b))?;
        scratch.iter().try_for_each(|b| self.buffer(b))?;
        let owned = |b: &TensorSlice| match b.slice.base {
            Base::Arena | Base::Stack | Base::Result(_) => true,
            Base::Param(id) => self.parts.params.get(id.index()).is_some_and(|p| p.donated),
            Base::Iota(_) | Base::Constant(_) | Base::Number(_) => false,
        };
        if let Some(o) = t.outputs.iter().find(|o| !owned(o)) {
            return Err(format!("{} is written, but it is read-only", o.slice));
        }
        self.overlaps(t)?;
        if !matches!(t.op, ThunkOp::While | ThunkOp::Case) {
            need(t.bodies.is_empty(), "it has bodies")?;
        }
        if let ThunkOp::Compute(compute) = &t.op {
            return kernel(t, compute, given).map(|prepared| Some(prepared.knowing(self.known(t))));
        }
        if let ThunkOp::Collective(collective) = &t.op {
            exchange::check(t, collective)?;
            let combine = collective.combine.as_ref();
            return combine.map(|combine| combining(combine, given)).transpose();
        }
        self.other(t).map(|()| None)
    }

    /// Returns the scalar constants among the inputs of a thunk.
    fn known(&self, t: &Thunk) -> Box<[ElementBytes]> {
        let number = |b: &TensorSlice| match b.slice.base {
            Base::Number(id) => Some(ElementBytes::new(self.parts.numbers[id.index()].element(0))),
            _ => None,
        };
        t.inputs.iter().filter_map(number).collect()
    }

    /// Checks a thunk that no kernel computes.
    fn other(&self, t: &Thunk) -> Result<(), String> {
        let (inputs, outputs) = (t.inputs.as_slice(), t.outputs.as_slice());
        match (&t.op, inputs, outputs) {
            (ThunkOp::Copy, [x], [y]) => need(x.slice.size == y.slice.size, "sizes differ"),
            (ThunkOp::While, [pred], _) => {
                need(pred.ty.dtype == DType::Pred && pred.slice.size == 1, "the condition is not a pred")?;
                need(t.bodies.len() == 2, "a loop must have a condition and a body")
            }
            (ThunkOp::Case, [index], _) => {
                let d = index.ty.dtype;
                need(
                    (d.is_bool() || is_int(d)) && index.ty.elements() == Some(1),
                    "the index is not one integer or pred",
                )?;
                need(!t.bodies.is_empty(), "no branches")?;
                need(!d.is_bool() || t.bodies.len() == 2, "a choice by a pred must have two branches")
            }
            (ThunkOp::CustomCall(call), _, _) => {
                let spec = self.parts.calls.get(call.id.index()).ok_or("no such call")?;
                let fit = |types: &[Type], buffers: &[TensorSlice]| {
                    let sizes = types.iter().flat_map(Type::tensors).map(|t| t.bytes());
                    sizes.eq(buffers.iter().map(|b| Some(b.slice.size)))
                };
                let aligned = |b: &TensorSlice| b.slice.offset.is_multiple_of(ALIGNMENT);
                need(inputs.iter().chain(outputs).all(aligned), "a buffer is not aligned for a call")?;
                need(fit(&spec.operands, inputs), "operands differ from the call's")?;
                need(fit(&spec.results, outputs), "results differ from the call's")?;
                let shared = call.aliases.iter().all(|(o, i)| {
                    matches!((outputs.get(*o), inputs.get(*i)), (Some(o), Some(i)) if o.slice == i.slice)
                });
                need(shared, "the result and the operand of an alias are in different places")
            }
            (ThunkOp::Reference(id), _, _) => {
                let site = self.parts.references.get(id.index()).ok_or("no such instruction")?;
                let entry = site.program.funcs().first().ok_or("an instruction without a program")?;
                let params: Vec<Type> = entry.params().iter().map(|p| entry.ty(*p).clone()).collect();
                let fit = |types: &[Type], buffers: &[TensorSlice]| {
                    types.len() == buffers.len()
                        && types.iter().flat_map(Type::tensors).eq(buffers.iter().map(|b| &b.ty))
                };
                need(fit(&params, inputs), "operands differ from the instruction's")?;
                need(fit(entry.results(), outputs), "results differ from the instruction's")?;
                site.calls.iter().try_for_each(|call| nested(self, site, call))
            }
            (ThunkOp::DeviceNumber(_), [], [number]) => {
                need(number.ty == TensorType::scalar(DType::U32), "the number of a device is not a u32")
            }
            _ => Err(format!("{} operands, {} results", inputs.len(), outputs.len())),
        }
    }

    /// Checks that the buffers of a thunk overlap only as allowed. An output may have exactly the bytes of an
    /// input if the operation allows it; otherwise outputs and inputs must be disjoint. Outputs must be
    /// disjoint from each other.
    fn overlaps(&self, t: &Thunk) -> Result<(), String> {
        if matches!(t.op, ThunkOp::While | ThunkOp::Case) {
            return Ok(());
        }
        let apart = |a: &BufferSlice, b: &BufferSlice| !a.overlaps(b) || a.size == 0 || b.size == 0;
        let (in_place, results) = (t.in_place(), t.results().len());
        for (o, output) in t.outputs.iter().enumerate() {
            let others = || t.outputs[..o].iter().map(|b| &b.slice);
            if let Some(other) = others().find(|other| !apart(&output.slice, other)) {
                return Err(format!("{} and {other} are both written", output.slice));
            }
            for (i, input) in t.inputs.iter().enumerate() {
                let (a, b) = (&output.slice, &input.slice);
                let shared = match &t.op {
                    ThunkOp::CustomCall(call) => call.aliases.contains(&(o, i)),
                    _ => {
                        let same = output.ty.dtype.size() == input.ty.dtype.size();
                        o < results && same && in_place.allows(o, i)
                    }
                };
                let fine = apart(a, b) || (a == b && shared);
                if !fine {
                    return Err(format!("{a} is written while {b} is read"));
                }
            }
        }
        Ok(())
    }
}

/// Checks the plan of a call that the evaluator reaches: it must take and return the same types as the call,
/// on the same platform.
fn nested(plan: &Plan, site: &ReferenceSite, call: &NestedCall) -> Result<(), String> {
    need(
        plan.parts.platform == call.plan.parts.platform,
        "the plan of a nested call is for another platform",
    )?;
    need(plan.parts.grid == call.plan.parts.grid, "the plan of a nested call is for another grid")?;
    let (_, inst) = site.call(call).ok_or("no such call in the instruction")?;
    need(
        matches!(inst.op(), Op::CustomCall(_)),
        "a nested call names an instruction that is not a custom call",
    )?;
    let types = |ids: &[ValueId]| ids.iter().map(|id| inst.func().ty(*id).clone()).collect::<Vec<Type>>();
    let (operands, results) = (types(inst.own_operands()), types(inst.results()));
    let takes = operands.iter().flat_map(Type::tensors).eq(call.plan.parts.params.iter().map(|p| &p.ty));
    let gives = results.iter().flat_map(Type::tensors).eq(call.plan.parts.results.iter().map(|r| &r.ty));
    need(call.plan.parts.cuts.is_empty(), "the plan of a nested call cuts its results")?;
    need(takes && gives, "the operand or result types of a nested call differ from those of its plan")
}

/// Iterator over the kernels of the compute thunks, each with its prepared code.
type PreparedKernels = std::vec::IntoIter<(KernelId, PreparedKernel)>;

/// Returns the prepared kernel of a thunk, which is the next of `given` if there are prepared kernels. Checks
/// that the kernel supports the operation, and that the thunk has the scratch memory that the kernel asks
/// for.
fn kernel(
    t: &Thunk,
    compute: &Compute,
    given: Option<&mut PreparedKernels>,
) -> Result<PreparedKernel, String> {
    let asked = || {
        let (inputs, outputs) = (types(&t.inputs), types(t.results()));
        compute.kernel.prepare(&compute.request(&inputs, &outputs, &iotas(&t.inputs)))
    };
    let prepared = match given {
        Some(given) => {
            let of_this = |(kernel, _): &(KernelId, PreparedKernel)| *kernel == compute.kernel;
            let given = given.next().filter(of_this).map(|(_, prepared)| prepared);
            given.filter(|_| !cfg!(debug_assertions) || asked().is_some())
        }
        None => asked(),
    };
    let prepared = prepared.ok_or("the kernel does not serve the operation")?;
    let scratch = t.outputs[t.results().len()..].iter().map(|b| b.slice.size).sum::<usize>();
    need(prepared.scratch() == scratch, "scratch memory of the wrong size")?;
    Ok(prepared)
}

/// Returns the prepared kernel of a collective, which is the next of `given` if there are prepared kernels.
fn combining(combine: &Combine, given: Option<&mut PreparedKernels>) -> Result<PreparedKernel, String> {
    let prepared = match given {
        Some(given) => {
            let of_this = |(kernel, _): &(KernelId, PreparedKernel)| *kernel == combine.compute.kernel;
            let given = given.next().filter(of_this).map(|(_, prepared)| prepared);
            given.filter(|_| !cfg!(debug_assertions) || combine.prepare().is_some())
        }
        None => combine.prepare(),
    };
    prepared.ok_or_else(|| "the kernel does not combine contributions".to_owned())
}

fn need(holds: bool, message: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message.to_owned()) }
}

/// Returns true if tensors of these types are the parts of divided tensors.
fn are_parts<'t>(types: impl ExactSizeIterator<Item = &'t TensorType>, divided: &[TileAssignment]) -> bool {
    types.len() == divided.len() && types.zip(divided).all(|(ty, whole)| whole.has_parts_of(ty.sizes()))
}

#[cfg(test)]
mod tests {
    use farcall_ir::op::{CustomCall, Slice as SliceOp};

    use super::super::{CallId, CallSpec, CallThunk, ResultId};
    use super::*;
    use crate::tests::compile;

    /// Applies `change` to the plan of a program that has a compute thunk. Returns the message of the
    /// validation error.
    fn changed(program: &str, change: impl Fn(&mut Plan)) -> String {
        let mut plan = compile(program);
        plan.clone().validate().unwrap();
        change(&mut plan);
        plan.validate().unwrap_err().message
    }

    fn compute(plan: &mut Plan) -> &mut Compute {
        match &mut plan.parts.thunks[0].op {
            ThunkOp::Compute(compute) => compute,
            other => panic!("{other:?}"),
        }
    }

    const SLICE: &str = "func.func @main(%x: tensor<8xf32>) -> tensor<2xf32> {
  %0 = stablehlo.slice %x [6:8] : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}";

    const SORT: &str = "func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {
  %y = stablehlo.add %x, %x : tensor<4xi64>
  %0 = \"stablehlo.sort\"(%y) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4xi64>
  return %1 : tensor<4xi64>
}";

    #[test]
    fn an_operation_beyond_its_buffers_is_refused() {
        let message = changed(SLICE, |plan| {
            let far = SliceOp { start: vec![7], limit: vec![9], strides: vec![1] };
            compute(plan).op = Op::Slice(far);
        });
        assert_eq!(message, "the kernel does not serve the operation");
        let message = changed(SLICE, |plan| compute(plan).op = Op::Select);
        assert_eq!(message, "the kernel does not serve the operation");
        let message = changed(SLICE, |plan| {
            let ty = plan.parts.thunks[0].inputs[0].ty.with_sizes([9]);
            plan.parts.thunks[0].inputs[0].ty = ty;
        });
        assert_eq!(message, "in0 does not hold a tensor<9xf32>");
    }

    #[test]
    fn a_call_is_made_by_one_thunk() {
        let message = changed(SLICE, |plan| {
            let thunk = &mut plan.parts.thunks[0];
            let types = |buffers: &[TensorSlice]| buffers.iter().map(|b| b.ty.clone().into()).collect();
            plan.parts.calls.push(CallSpec {
                call: CustomCall::new("f"),
                operands: types(&thunk.inputs),
                results: types(&thunk.outputs),
                place: "".into(),
                span: None,
            });
            thunk.op =
                ThunkOp::CustomCall(CallThunk { id: CallId::new(0), aliases: vec![], side_effect: false });
            let once_more = thunk.clone();
            plan.parts.thunks.push(once_more);
        });
        assert_eq!(message, "another thunk makes this call");
    }

    #[test]
    fn scratch_memory_is_disjoint_and_of_the_requested_size() {
        let scratch = |plan: &mut Plan| plan.parts.thunks[1].outputs.len() - 1;
        let message = changed(SORT, |plan| {
            let last = scratch(plan);
            let less = &mut plan.parts.thunks[1].outputs[last];
            less.slice.size -= 64;
            less.ty = less.ty.with_sizes([less.slice.size]);
        });
        assert_eq!(message, "scratch memory of the wrong size");
        let put = |buffer: &mut TensorSlice| (buffer.slice.base, buffer.slice.offset) = (Base::Arena, 64);
        let message = changed(SORT, |plan| {
            plan.parts.arena_size = 1 << 10;
            plan.parts.thunks[1].outputs.iter_mut().for_each(put);
        });
        assert!(message.contains("are both written"), "{message}");
        let message = changed(SORT, |plan| {
            plan.parts.arena_size = 1 << 10;
            plan.parts.thunks[1].outputs.last_mut().into_iter().for_each(put);
            plan.parts.thunks[1].inputs.iter_mut().for_each(put);
        });
        assert!(message.contains("is written while"), "{message}");
    }

    #[test]
    fn values_on_the_stack_are_refused() {
        let on_stack = |slice: &mut BufferSlice| (slice.base, slice.offset) = (Base::Stack, 0);
        let changes: [&dyn Fn(&mut Plan); 3] = [
            &|plan| on_stack(&mut plan.parts.thunks[1].inputs[0].slice),
            &|plan| on_stack(&mut plan.parts.thunks[1].outputs[0].slice),
            &|plan| on_stack(&mut plan.parts.results[0].slice),
        ];
        for change in changes {
            assert_eq!(changed(SORT, change), "stack[0..32] holds a value");
        }
    }

    #[test]
    fn inputs_without_memory_are_for_kernels_that_accept_them() {
        let nowhere =
            |slice: &mut BufferSlice, dim| *slice = BufferSlice { base: Base::Iota(dim), offset: 0, size: 0 };
        assert_eq!(
            changed(SORT, |plan| nowhere(&mut plan.parts.results[0].slice, 0)),
            "iota(0) holds a value"
        );
        assert_eq!(
            changed(SORT, |plan| nowhere(&mut plan.parts.thunks[1].outputs[0].slice, 0)),
            "iota(0) holds a value"
        );
        // The sort reads the elements of its keys, the elementwise sum does not accept iotas, and dimension 7
        // does not exist.
        for (thunk, dim) in [(1, 0), (0, 0), (1, 7)] {
            let message = changed(SORT, |plan| nowhere(&mut plan.parts.thunks[thunk].inputs[0].slice, dim));
            assert_eq!(message, "the kernel does not serve the operation");
        }
        let message = changed(SORT, |plan| {
            plan.parts.thunks[1].inputs[0].slice = BufferSlice { base: Base::Iota(0), offset: 0, size: 16 };
        });
        assert_eq!(message, "iota(0) is not inside its 0 bytes");
    }

    #[test]
    fn scalar_constants_are_only_read_by_kernels() {
        let program = "func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}";
        let message = changed(program, |plan| plan.parts.results[0] = plan.parts.thunks[0].inputs[1].clone());
        assert_eq!(message, "number0 holds a value");
        let message = changed(program, |plan| plan.parts.thunks[0].op = ThunkOp::Copy);
        assert_eq!(message, "number0 holds a value");
        let message =
            changed(program, |plan| plan.parts.thunks[0].outputs[0] = plan.parts.thunks[0].inputs[1].clone());
        assert_eq!(message, "number0 holds a value");
        let message = changed(program, |plan| plan.parts.numbers.clear());
        assert_eq!(message, "number0 is not inside its 0 bytes");
        let message = changed(program, |plan| plan.parts.numbers[0] = Literal::zeros(DType::F32, [4]));
        assert_eq!(message, "a tensor<4xf32> is not a scalar constant");
    }

    #[test]
    fn unwritten_results_are_refused() {
        // The memory of an unwritten result may hold data of other programs, which must not be returned.
        let program =
            "func.func @main(%x: tensor<4xf32>, %i: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  %z = \"stablehlo.case\"(%i) ({
    %a = stablehlo.multiply %x, %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.subtract %x, %y : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}";
        let elsewhere = Base::Result(ResultId::new(0));
        let message = changed(program, |plan| {
            let choice = plan.parts.thunks.iter_mut().find(|t| t.op == ThunkOp::Case).unwrap();
            choice.bodies[0][0].outputs[0].slice.base = elsewhere;
        });
        assert_eq!(message, "out1 is not written as a whole");
    }

    #[test]
    fn invalid_regions_are_refused() {
        let message = changed(SORT, |plan| {
            let ThunkOp::Compute(compute) = &mut plan.parts.thunks[1].op else { return };
            compute.bodies[0].insts[0].operands = vec![2, 77];
        });
        assert_eq!(message, "the kernel does not serve the operation");
    }
}
