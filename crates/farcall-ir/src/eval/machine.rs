//! The machine that runs instructions: an environment of values, and a stack of active regions.
//!
//! Every activation of a function owns a window of the environment, indexed by [`ValueId`]; regions share the
//! window of their function. Calls, branches and loops push a [`Frame`] instead of recursing.

use super::outcome::{Continuation, Step, is_true};
use super::{Denormals, EvalError, EvalHost, EvalValue, Numerics, Semantics, check_values, quantize, step};
use crate::interrupt::{self, Interrupted};
use crate::iterations::Budget;
use crate::module::{Func, FuncId, Inst, Module, Region, ValueId};
use crate::types::TensorType;

/// Maximum number of active calls. The verifier accepts no deeper chain.
const MAX_CALLS: usize = 1_000;

/// Maximum nesting depth of operations that apply a region to elements.
const MAX_APPLICATIONS: usize = 64;

/// An active region.
struct Frame<'m> {
    /// The next instruction.
    next: Option<Inst<'m>>,
    after: Continuation<'m>,
}

/// The state of an evaluation.
pub(super) struct Machine<'m> {
    pub(super) module: &'m Module,
    /// The function of the current instruction.
    pub(super) func: &'m Func,
    pub(super) host: &'m dyn EvalHost,
    pub(super) denormals: Denormals,
    pub(super) semantics: Semantics,
    captured: &'m dyn Fn(ValueId) -> Option<EvalValue>,
    env: Vec<Option<EvalValue>>,
    /// Start of the current function's window.
    base: usize,
    calls: usize,
    applications: usize,
    /// True while quantized operands are replaced by their expressed values.
    expressed: bool,
    iterations: Budget,
}

impl<'m> Machine<'m> {
    pub(super) fn new(
        module: &'m Module,
        func: &'m Func,
        host: &'m dyn EvalHost,
        numerics: Numerics,
        captured: &'m dyn Fn(ValueId) -> Option<EvalValue>,
    ) -> Machine<'m> {
        Machine {
            module,
            func,
            host,
            denormals: numerics.denormals,
            semantics: numerics.semantics,
            captured,
            env: Vec::new(),
            base: 0,
            calls: 0,
            applications: 0,
            expressed: false,
            iterations: Budget::new(),
        }
    }

    /// Numerics of the evaluation.
    pub(super) fn numerics(&self) -> Numerics {
        Numerics { denormals: self.denormals, semantics: self.semantics }
    }

    /// Runs a region of the current function and returns its values.
    pub(super) fn run(
        &mut self,
        region: Region<'m>,
        args: Vec<EvalValue>,
    ) -> Result<Vec<EvalValue>, EvalError> {
        self.drive(Step::Enter { region, args, after: Continuation::Finish })
    }

    /// Runs an instruction of the current function on operands and returns its results.
    pub(super) fn run_inst(
        &mut self,
        inst: Inst<'m>,
        mut operands: Vec<EvalValue>,
    ) -> Result<Vec<EvalValue>, EvalError> {
        if !inst.region_ids().is_empty() {
            // A region may read an operand of the instruction that contains it.
            self.bind(inst.operands(), operands.clone());
        }
        operands.truncate(inst.own_operands().len());
        let first = self.checked_step(inst, operands)?;
        self.drive(first)
    }

    /// Applies a region of the current instruction to arguments.
    ///
    /// For regions that are applied to many elements, [`super::region::Applied`] is faster.
    pub(super) fn call_region(
        &mut self,
        region: Region<'m>,
        args: Vec<EvalValue>,
    ) -> Result<Vec<EvalValue>, EvalError> {
        if self.applications == MAX_APPLICATIONS {
            return Err(EvalError::new(format!(
                "operations that apply a region are nested deeper than {MAX_APPLICATIONS}"
            )));
        }
        interrupt::check()?;
        self.applications += 1;
        let values = self.run(region, args);
        self.applications -= 1;
        values
    }

    /// Counts an iteration of an operation that contains a loop.
    pub(super) fn iterate(&mut self) -> Result<(), EvalError> {
        Ok(self.iterations.spend()?)
    }

    /// The type of result number `i` of an instruction. While quantized arithmetic runs in the expressed
    /// type, a quantized type is replaced by its expressed type.
    pub(super) fn result_type(&self, inst: Inst<'_>, i: usize) -> Result<TensorType, EvalError> {
        let ty = inst.results().get(i).and_then(|r| self.func.tensor(*r));
        let ty = ty.ok_or_else(|| EvalError::new(format!("result {i} is not a tensor")))?;
        Ok(match &ty.quant {
            Some(q) if self.expressed => ty.with_dtype(q.expressed),
            _ => ty.clone(),
        })
    }

    /// The declared type of operand number `i` of an instruction.
    pub(super) fn operand_type(&self, inst: Inst<'_>, i: usize) -> Result<TensorType, EvalError> {
        let ty = inst.own_operands().get(i).and_then(|r| self.func.tensor(*r)).cloned();
        ty.ok_or_else(|| EvalError::new(format!("operand {i} is not a tensor")))
    }

    /// The function that a call refers to.
    pub(super) fn callee(&self, id: FuncId) -> Result<&'m Func, EvalError> {
        let missing = || EvalError::new(format!("the module has no function number {}", id.index()));
        self.module.get(id).ok_or_else(missing)
    }

    /// The value that an instruction of the current function refers to.
    pub(super) fn lookup(&self, id: ValueId) -> Result<EvalValue, EvalError> {
        let found = match self.env.get(self.base + id.index()) {
            Some(Some(value)) => Some(value.clone()),
            _ if self.base == 0 => (self.captured)(id),
            _ => None,
        };
        found.ok_or_else(|| EvalError::new(format!("value {} is used before it is computed", id.index())))
    }

    /// Runs until the values of the first step are available.
    ///
    /// Restores the current function and window, even after an error.
    fn drive(&mut self, first: Step<'m>) -> Result<Vec<EvalValue>, EvalError> {
        let (func, base, calls, height) = (self.func, self.base, self.calls, self.env.len());
        let out = self.drive_frames(first);
        (self.func, self.base, self.calls) = (func, base, calls);
        self.env.truncate(height.max(base + func.value_count()));
        out
    }

    fn drive_frames(&mut self, first: Step<'m>) -> Result<Vec<EvalValue>, EvalError> {
        let mut frames: Vec<Frame<'m>> = Vec::new();
        let mut todo = first;
        loop {
            let (inst, values) = match todo {
                Step::Values(values) => return Ok(values),
                Step::Enter { region, args, after } => {
                    self.enter(&mut frames, region, args, after)?;
                    todo = self.advance(&mut frames)?;
                    continue;
                }
                Step::Call { func, args, inst } => {
                    self.enter_call(&mut frames, func, args, inst)?;
                    todo = self.advance(&mut frames)?;
                    continue;
                }
                Step::Return(values) => match frames.pop().map_or(Continuation::Finish, |f| f.after) {
                    Continuation::Finish => return Ok(values),
                    Continuation::Bind(inst) => (inst, values),
                    Continuation::Leave { inst, func, base } => {
                        self.env.truncate(self.base);
                        (self.func, self.base) = (func, base);
                        self.calls -= 1;
                        (inst, values)
                    }
                    Continuation::Test(inst, state) if is_true(&values) => {
                        interrupt::check()?;
                        self.iterations.spend().map_err(|e| EvalError::from(e).at(self.module, inst))?;
                        todo = Step::body(inst, state)?;
                        continue;
                    }
                    Continuation::Test(inst, state) => (inst, state),
                    Continuation::Again(inst) => {
                        todo = Step::condition(inst, values)?;
                        continue;
                    }
                },
            };
            self.check_results(inst, &values)?;
            if frames.is_empty() {
                return Ok(values);
            }
            self.bind(inst.results(), values);
            todo = self.advance(&mut frames)?;
        }
    }

    /// Runs instructions of the innermost region until one enters or leaves a region.
    fn advance(&mut self, frames: &mut [Frame<'m>]) -> Result<Step<'m>, EvalError> {
        let frame = frames.last_mut().ok_or_else(|| EvalError::new("no region is being run"))?;
        loop {
            let Some(inst) = frame.next else {
                return Err(EvalError::new("a region ends without a return"));
            };
            frame.next = inst.next();
            let mut operands = Vec::with_capacity(inst.own_operands().len());
            for id in inst.own_operands() {
                operands.push(self.lookup(*id).map_err(|e| e.at(self.module, inst))?);
            }
            match self.checked_step(inst, operands)? {
                Step::Values(values) => self.bind(inst.results(), values),
                other => return Ok(other),
            }
        }
    }

    /// Evaluates one instruction; immediate results are checked against the result types.
    fn checked_step(&mut self, inst: Inst<'m>, operands: Vec<EvalValue>) -> Result<Step<'m>, EvalError> {
        let result = if quantize::is_arithmetic(inst.op()) && quantize::touches(self.func, inst) {
            self.step_expressed(inst, operands)
        } else {
            step(self, inst, operands)
        };
        let result = result.map_err(|e| e.at(self.module, inst))?;
        if interrupt::has_ended() {
            return Err(Interrupted.into());
        }
        if let Step::Values(values) = &result {
            self.check_results(inst, values)?;
        }
        Ok(result)
    }

    /// Evaluates arithmetic on quantized tensors, like the specification's `dequantize_op_quantize`.
    fn step_expressed(&mut self, inst: Inst<'m>, operands: Vec<EvalValue>) -> Result<Step<'m>, EvalError> {
        let operands = quantize::express(self.func, inst, operands)?;
        self.expressed = true;
        let result = step(self, inst, operands);
        self.expressed = false;
        match result? {
            Step::Values(values) => Ok(Step::Values(quantize::store(self.func, inst, values)?)),
            other => Ok(other),
        }
    }

    fn check_results(&self, inst: Inst<'_>, values: &[EvalValue]) -> Result<(), EvalError> {
        check_values("result", self.func, inst.results(), values)
            .map_err(|m| EvalError::new(m).at(self.module, inst))
    }

    fn enter(
        &mut self,
        frames: &mut Vec<Frame<'m>>,
        region: Region<'m>,
        args: Vec<EvalValue>,
        after: Continuation<'m>,
    ) -> Result<(), EvalError> {
        if region.own_args().len() != args.len() {
            return Err(EvalError::new(format!(
                "a region of {} arguments was given {}",
                region.own_args().len(),
                args.len()
            )));
        }
        self.bind(region.own_args(), args);
        if let Some(owner) = region.owner().filter(|i| !i.captures().is_empty()) {
            let captured: Result<Vec<EvalValue>, EvalError> =
                owner.captures().iter().map(|v| self.lookup(*v)).collect();
            self.bind(region.captured_args(), captured?);
        }
        frames.push(Frame { next: region.first(), after });
        Ok(())
    }

    fn enter_call(
        &mut self,
        frames: &mut Vec<Frame<'m>>,
        func: &'m Func,
        args: Vec<EvalValue>,
        inst: Inst<'m>,
    ) -> Result<(), EvalError> {
        if self.calls == MAX_CALLS {
            let message = format!("more than {MAX_CALLS} calls are active");
            return Err(EvalError::new(message).at(self.module, inst));
        }
        check_values("parameter", func, func.params(), &args)
            .map_err(|m| EvalError::new(format!("@{}: {m}", func.name)).at(self.module, inst))?;
        self.calls += 1;
        let after = Continuation::Leave { inst, func: self.func, base: self.base };
        // The environment may not reach to the end of the caller's window yet. No later window may begin at
        // 0: base 0 marks the first window, whose function may read captured values.
        self.base = self.env.len().max(self.base + self.func.value_count()).max(1);
        self.func = func;
        self.bind(func.body().args(), args);
        frames.push(Frame { next: func.body().first(), after });
        Ok(())
    }

    fn bind(&mut self, ids: &[ValueId], values: Vec<EvalValue>) {
        let end = self.base + self.func.value_count();
        if self.env.len() < end {
            self.env.resize(end, None);
        }
        for (id, value) in ids.iter().zip(values) {
            self.env[self.base + id.index()] = Some(value);
        }
    }
}
