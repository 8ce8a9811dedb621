//! Regions that are applied to elements: reducers, comparators, the bodies of `map` and `scatter`.
//!
//! A region of elementwise operations on rank 0 tensors, and of calls of functions with such operations, is
//! translated once into a list of operations on [`Scalar`]s in numbered slots. Any other region runs on the
//! machine.

use std::collections::HashMap;

use super::elementwise::{
    binary_element, clamp_element, compare_element, convert_element, reduce_precision_element, unary_element,
};
use super::machine::Machine;
use super::{EvalError, EvalValue};
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::{Binary, Compare, Op, Unary};
use crate::scalar::Scalar;
use farcall_sig::DType;

/// A region prepared to be applied to scalars many times.
pub(super) struct Applied<'m> {
    region: Region<'m>,
    /// Element types of the arguments.
    dtypes: Vec<DType>,
    fast: Option<Translated<'m>>,
    pace: Pace,
}

impl<'m> Applied<'m> {
    /// Prepares a region of the current instruction. Its arguments and results must be rank 0 tensors.
    pub(super) fn new(m: &Machine<'m>, region: Region<'m>) -> Result<Applied<'m>, EvalError> {
        let dtypes =
            region.own_args().iter().map(|id| m.func.tensor(*id).map(|t| t.dtype)).collect::<Option<_>>();
        let dtypes = dtypes.ok_or_else(|| EvalError::new("an argument of the region is not a tensor"))?;
        Ok(Applied { region, dtypes, fast: Translated::new(m, region), pace: Pace::default() })
    }

    /// Applies the region. `out` receives the returned values, rounded to the types of the region's results.
    ///
    /// The arguments must be values of the types of the region's arguments.
    pub(super) fn call(
        &mut self,
        m: &mut Machine<'m>,
        args: &[Scalar],
        out: &mut Vec<Scalar>,
    ) -> Result<(), EvalError> {
        if args.len() != self.dtypes.len() {
            return Err(EvalError::new(format!(
                "a region of {} arguments was given {}",
                self.dtypes.len(),
                args.len()
            )));
        }
        self.pace.check()?;
        if let Some(fast) = &mut self.fast {
            return fast.call(m, args, out);
        }
        let args = args.iter().zip(&self.dtypes).map(|(x, d)| Literal::scalar(*d, *x).into()).collect();
        let values = m.call_region(self.region, args)?;
        out.clear();
        for value in &values {
            let scalar = value.tensor().and_then(|l| l.iter().next());
            out.push(scalar.ok_or_else(|| EvalError::new("the region does not return scalars"))?);
        }
        Ok(())
    }
}

/// Maximum depth of calls that are translated.
const MAX_CALLS: usize = 8;

/// Number of translated operations above which no further call is translated.
const MAX_INSTRUCTIONS: usize = 1_000;

/// A region as operations on slots. The arguments have the first slots, followed by captured values and
/// results.
struct Translated<'m> {
    instructions: Vec<Instruction<'m>>,
    slots: Vec<Scalar>,
    returned: Vec<usize>,
}

/// One operation, the slots it reads, and the slot it writes.
struct Instruction<'m> {
    action: Action<'m>,
    from: [usize; 3],
    to: usize,
    inst: Inst<'m>,
}

/// An operation on elements, with the types of its first operand and its result.
enum Action<'m> {
    Unary(Unary, DType, DType),
    Binary(Binary, DType, DType),
    Compare(&'m Compare, DType),
    Select,
    Clamp(DType),
    Convert(DType, DType),
    ReducePrecision(DType, u32, u32),
    /// Reinterprets bits as a type of the same width.
    Bitcast(DType, DType),
    Copy,
}

impl<'m> Translated<'m> {
    /// Translates a region; `None` if it contains anything but elementwise operations on rank 0 tensors and
    /// calls of functions that contain only such operations.
    fn new(m: &Machine<'m>, region: Region<'m>) -> Option<Translated<'m>> {
        let mut new = Translated { instructions: Vec::new(), slots: Vec::new(), returned: Vec::new() };
        let mut numbers = HashMap::new();
        for id in region.own_args() {
            numbers.insert(*id, new.slots.len());
            new.slots.push(Scalar::zero(element_type(m.func, *id)?));
        }
        let captures = region.owner().map_or(&[][..], |i| i.captures());
        for (arg, value) in region.captured_args().iter().zip(captures) {
            if element_type(m.func, *arg).is_some()
                && let EvalValue::Tensor(captured) = m.lookup(*value).ok()?
            {
                numbers.insert(*arg, new.slots.len());
                new.slots.push(captured.iter().next()?);
            }
        }
        new.returned = new.region(m, m.func, region, numbers, 0)?;
        Some(new)
    }

    /// Appends a region of a function whose arguments have slots; returns the slots of the returned values.
    fn region(
        &mut self,
        m: &Machine<'m>,
        func: &'m Func,
        region: Region<'m>,
        mut numbers: HashMap<ValueId, usize>,
        depth: usize,
    ) -> Option<Vec<usize>> {
        let last = region.last()?;
        for inst in region.insts().take_while(|i| i.id() != last.id()) {
            if let Op::Constant(literal) = inst.op() {
                element_type(func, *inst.results().first()?)?;
                numbers.insert(inst.results()[0], self.slots.len());
                self.slots.push(literal.iter().next()?);
                continue;
            }
            let from = inst.own_operands().iter().map(|id| self.slot(m, func, depth, *id, &mut numbers));
            let from = from.collect::<Option<Vec<usize>>>()?;
            if let Op::Call { callee } = inst.op() {
                let callee = m.callee(*callee).ok()?;
                if depth == MAX_CALLS || self.instructions.len() > MAX_INSTRUCTIONS {
                    return None;
                }
                let inner = callee.params().iter().copied().zip(from).collect();
                let returned = self.region(m, callee, callee.body(), inner, depth + 1)?;
                numbers.extend(inst.results().iter().copied().zip(returned));
                continue;
            }
            let [result] = inst.results() else { return None };
            let action = action(func, inst, *result)?;
            let operands = from;
            let mut from = [0; 3];
            from.get_mut(..operands.len())?.copy_from_slice(&operands);
            numbers.insert(*result, self.slots.len());
            self.instructions.push(Instruction { action, from, to: self.slots.len(), inst });
            self.slots.push(Scalar::Bool(false));
        }
        if *last.op() != Op::Return {
            return None;
        }
        last.operands().iter().map(|id| self.slot(m, func, depth, *id, &mut numbers)).collect()
    }

    /// The slot of a value; a captured value gets a new slot that holds it.
    fn slot(
        &mut self,
        m: &Machine<'m>,
        func: &Func,
        depth: usize,
        id: ValueId,
        numbers: &mut HashMap<ValueId, usize>,
    ) -> Option<usize> {
        if let Some(i) = numbers.get(&id) {
            return Some(*i);
        }
        // Called functions capture nothing.
        if depth > 0 {
            return None;
        }
        element_type(func, id)?;
        let EvalValue::Tensor(captured) = m.lookup(id).ok()? else { return None };
        numbers.insert(id, self.slots.len());
        self.slots.push(captured.iter().next()?);
        Some(self.slots.len() - 1)
    }

    fn call(&mut self, m: &Machine<'m>, args: &[Scalar], out: &mut Vec<Scalar>) -> Result<(), EvalError> {
        self.slots[..args.len()].copy_from_slice(args);
        for instruction in &self.instructions {
            let [a, b, c] = instruction.from.map(|i| self.slots[i]);
            let value = instruction.action.apply(m, a, b, c).ok_or_else(|| {
                EvalError::new("it is not defined for the type of its operands")
                    .at(m.module, instruction.inst)
            })?;
            self.slots[instruction.to] = value;
        }
        out.clear();
        out.extend(self.returned.iter().map(|i| self.slots[*i]));
        Ok(())
    }
}

impl Action<'_> {
    fn apply(&self, m: &Machine<'_>, a: Scalar, b: Scalar, c: Scalar) -> Option<Scalar> {
        let d = m.denormals;
        Some(match self {
            Action::Unary(op, from, to) => unary_element(d, *op, *from, *to, a)?.round_to(*to),
            Action::Binary(op, from, to) => binary_element(d, *op, *from, *to, a, b)?.round_to(*to),
            Action::Compare(compare, dtype) => compare_element(d, compare, *dtype, a, b)?,
            Action::Select => {
                if a.as_bool() {
                    b
                } else {
                    c
                }
            }
            Action::Clamp(dtype) => clamp_element(d, *dtype, a, b, c)?,
            Action::Convert(from, to) => convert_element(d, *from, *to, a).round_to(*to),
            Action::ReducePrecision(dtype, e, m) => reduce_precision_element(*dtype, a, *e, *m)?,
            Action::Bitcast(from, to) => {
                let mut bytes = [0; 16];
                a.write(*from, &mut bytes);
                Scalar::from_bytes(*to, &bytes)
            }
            Action::Copy => a,
        })
    }
}

/// The operation that an instruction applies to elements.
fn action<'m>(func: &Func, inst: Inst<'m>, result: ValueId) -> Option<Action<'m>> {
    let from = element_type(func, *inst.own_operands().first()?)?;
    let to = element_type(func, result)?;
    Some(match inst.op() {
        Op::Unary(op) => Action::Unary(*op, from, op.info().result.dtype(from)?),
        Op::Binary(op) => Action::Binary(*op, from, op.info().result.dtype(from)?),
        Op::Compare(compare) => Action::Compare(compare, from),
        Op::Select => Action::Select,
        Op::Clamp => Action::Clamp(from),
        Op::Convert => Action::Convert(from, to),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            Action::ReducePrecision(from, *exponent_bits, *mantissa_bits)
        }
        Op::BitcastConvert if from.bits() == to.bits() => Action::Bitcast(from, to),
        Op::Reshape | Op::BroadcastInDim { .. } | Op::OptimizationBarrier | Op::Copy => Action::Copy,
        _ => return None,
    })
}

/// The element type of a value that is a rank 0 tensor and not quantized.
fn element_type(func: &Func, id: ValueId) -> Option<DType> {
    func.tensor(id).filter(|t| t.rank() == 0 && t.quant.is_none()).map(|t| t.dtype)
}
