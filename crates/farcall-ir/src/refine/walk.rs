//! State of the walk through a function: the specialized function so far, and facts about its values.
//!
//! The walk itself is in `func`. It calls the rewrites of operations (`dynamic`, `custom_call`,
//! `shape_operands`), which read and change this state but do not walk.

use std::collections::HashMap;

use super::{MAX_KNOWN_ELEMENTS, Refiner, Stop, is_small, is_static};
use crate::diag::{Diagnostic, Span};
use crate::eval::{self, Denormals, EvalValue, NoHost};
use crate::infer;
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, NewInst, RegionId, ValueId};
use crate::op::{Binary, Op, Traits};
use crate::types::{Dim, TensorType, Type};

/// A computation of a value by an operation without regions: the operation, its operands, and the result
/// type.
type Computation = (Op, Vec<ValueId>, TensorType);

/// State of specializing one function.
pub(super) struct Walk<'r, 'm> {
    pub(super) refiner: &'r mut Refiner<'m>,
    /// The original function.
    pub(super) from: &'m Func,
    /// The specialized function under construction.
    pub(super) to: Func,
    /// Values of the original function mapped to values of the specialized one.
    pub(super) values: HashMap<ValueId, ValueId>,
    /// Known elements of values of the specialized function.
    pub(super) known: HashMap<ValueId, Literal>,
    /// Values known to be the sum of another value and known elements. The limit of a slice with an unknown
    /// start and a known size is such a sum.
    sums: HashMap<ValueId, (ValueId, Literal)>,
    /// Small integer tensors by their computation, so that a repeated computation gives the same value.
    /// Programs often repeat the computation of a slice's start for its limit.
    pub(super) computations: HashMap<Computation, ValueId>,
    /// The keys of `computations` in the order of insertion; the keys of a region are removed at its end.
    pub(super) order: Vec<Computation>,
    /// Known shapes of results that are yet to be created.
    shapes: HashMap<ValueId, Vec<usize>>,
    /// True as long as no instruction has effects beyond its results.
    pub(super) pure: bool,
}

impl<'r, 'm> Walk<'r, 'm> {
    /// The walk of `from` before its first instruction.
    pub(super) fn new(refiner: &'r mut Refiner<'m>, from: &'m Func, to: Func) -> Walk<'r, 'm> {
        Walk {
            refiner,
            from,
            to,
            values: HashMap::new(),
            known: HashMap::new(),
            sums: HashMap::new(),
            computations: HashMap::new(),
            order: Vec::new(),
            shapes: HashMap::new(),
            pure: true,
        }
    }

    /// Copies the instruction with its operands replaced by the new values, without regions.
    pub(super) fn draft(&self, inst: Inst<'_>) -> NewInst {
        let operands: Vec<ValueId> = inst.operands().iter().map(|v| self.values[v]).collect();
        let new = NewInst::new(inst.op().clone(), operands).at(inst.span(), inst.loc().cloned());
        NewInst { attrs: inst.attrs().clone(), ..new }
    }

    /// Creates a detached instruction. Its result types follow from its operands and from the declared types.
    pub(super) fn infer(&mut self, inst: Inst<'_>, new: NewInst) -> Result<InstId, Stop> {
        let mut types = Vec::with_capacity(inst.results().len());
        for result in inst.results() {
            let declared = &self.from[*result];
            types.push(match (declared, self.shapes.remove(result)) {
                (Type::Tensor(t), Some(dims)) => {
                    let said = Type::from(t.with_sizes(dims));
                    let ty = more_specific(declared, &said);
                    ty.ok_or_else(|| contradiction(&name_of(&new.op), &said, declared, new.span))?
                }
                _ => declared.clone(),
            });
        }
        self.infer_from(inst, new, types)
    }

    /// Creates a detached instruction whose results have these declared types, or more specific ones.
    pub(super) fn infer_from(
        &mut self,
        inst: Inst<'_>,
        new: NewInst,
        declared: Vec<Type>,
    ) -> Result<InstId, Stop> {
        let id = self.to.new_inst(new, declared);
        let new = self.to.inst(id);
        let (name, span) = (|| name_of(new.op()), new.span());
        let inferred = infer::result_type_list(new).map_err(Stop::Violations)?;
        let mut types = Vec::with_capacity(inferred.len());
        for (i, (result, inferred)) in new.results().iter().zip(&inferred).enumerate() {
            let declared = self.to[*result].clone();
            let Some(ty) = more_specific(&declared, inferred) else {
                let what = format!("result {i} of {}", name());
                return Err(contradiction(&what, inferred, &declared, span));
            };
            if !is_static(&ty) {
                let message = format!(
                    "{}: the shape of result {i}, {ty}, does not follow from the known inputs",
                    name()
                );
                return Err(Stop::UnknownShape(Diagnostic::new("dynamic-shape", span, message)));
            }
            types.push(ty);
        }
        let results = new.results().to_vec();
        results.iter().zip(types).for_each(|(result, ty)| self.to.set_ty(*result, ty));
        self.values.extend(inst.results().iter().copied().zip(results));
        Ok(id)
    }

    /// Binds a result of the original function to a value of the specialized function. The type of the value
    /// must match the declared type of the result.
    pub(super) fn bind(&mut self, result: ValueId, value: ValueId, new: &NewInst) -> Result<(), Stop> {
        self.check_declared(result, value, || name_of(&new.op), new.span)?;
        self.values.insert(result, value);
        Ok(())
    }

    /// Checks that the type of a value matches the declared type of the result that the value replaces.
    pub(super) fn check_declared(
        &self,
        result: ValueId,
        value: ValueId,
        what: impl FnOnce() -> String,
        at: Span,
    ) -> Result<(), Stop> {
        let (declared, found) = (&self.from[result], &self.to[value]);
        match more_specific(declared, found) {
            Some(_) => Ok(()),
            None => Err(contradiction(&what(), found, declared, at)),
        }
    }

    /// The declared type of a result.
    pub(super) fn declared(&self, result: ValueId) -> Option<&TensorType> {
        self.from.tensor(result)
    }

    /// Records the shape of a result that has not been created yet. The operands of its instruction determine
    /// the shape.
    pub(super) fn shape_is(&mut self, result: ValueId, dims: Vec<usize>) {
        self.shapes.insert(result, dims);
    }

    /// Replaces an instruction's result by a constant.
    pub(super) fn constant(&mut self, result: ValueId, literal: Literal, at: Inst<'_>, out: RegionId) {
        let declared = self.from.tensor(result);
        let ty = declared.map_or_else(|| literal.ty(), |t| t.with_dims_of(&literal.ty()));
        let new = NewInst::new(Op::Constant(literal.clone()), []).at(at.span(), at.loc().cloned());
        let new = self.to.push(out, new, [ty.into()]);
        let value = self.to.inst(new).results()[0];
        self.values.insert(result, value);
        self.known.insert(value, literal);
    }

    /// The elements of an operand, if they are known.
    pub(super) fn known(&self, value: ValueId) -> Option<&Literal> {
        self.known.get(&value)
    }

    /// The integers of an operand, if they are known.
    pub(super) fn integers(&self, value: ValueId) -> Option<Vec<i64>> {
        self.known(value).map(|l| l.iter().map(|s| s.as_i64()).collect())
    }

    /// The known difference between `limit` and `start`.
    pub(super) fn difference(&self, start: ValueId, limit: ValueId) -> Option<Vec<i64>> {
        let (base, added) = self.sums.get(&limit)?;
        (*base == start).then(|| added.iter().map(|s| s.as_i64()).collect())
    }

    /// If an instruction adds known elements to a value, records its result in `sums`.
    pub(super) fn remember_sum(&mut self, new: InstId) {
        let new = self.to.inst(new);
        if let (Op::Binary(Binary::Add), [a, b], [sum]) = (new.op(), new.operands(), new.results()) {
            for (base, added) in [(a, b), (b, a)] {
                if let Some(added) = self.known.get(added) {
                    self.sums.insert(*sum, (*base, added.clone()));
                }
            }
        }
    }

    /// Folds an instruction with known operands. Returns true if constants replace the instruction. A small
    /// constant instruction is recorded as known, and kept.
    pub(super) fn fold(&mut self, inst: Inst<'_>, new: InstId, out: RegionId) -> bool {
        let new = self.to.inst(new);
        if let (Op::Constant(literal), [result]) = (new.op(), new.results()) {
            if is_small(literal) {
                self.known.insert(*result, literal.clone());
            }
            return false;
        }
        // Instructions with regions may run for a long time, so they are not folded.
        let small = |v: &ValueId| {
            let ty = self.to.tensor(*v);
            // A tensor without elements may have other dimensions that are large, so a size of 0 counts as 1.
            let few = |sizes: &[usize]| {
                sizes.iter().fold(1, |n: usize, d| n.saturating_mul((*d).max(1))) <= MAX_KNOWN_ELEMENTS
            };
            ty.is_some_and(|t| t.quant.is_none() && t.static_sizes().is_some_and(few))
        };
        let foldable = !new.results().is_empty()
            && new.region_ids().is_empty()
            && new.results().iter().all(small)
            && new.operands().iter().all(|v| self.known.contains_key(v) && small(v))
            && !new.op().info().is(Traits::OPAQUE);
        if !foldable {
            return false;
        }
        let operands: Vec<EvalValue> =
            new.operands().iter().map(|v| EvalValue::Tensor(self.known[v].clone())).collect();
        let module = self.refiner.module;
        let values = eval::eval_inst(module, new, &operands, &|_| None, &NoHost, Denormals::Ieee);
        // If evaluation fails, the instruction stays and fails at run time.
        let Ok(values) = values else { return false };
        let literals: Vec<Literal> = eval::tensors(&values);
        if literals.len() != new.results().len() || !literals.iter().all(is_small) {
            return false;
        }
        for (result, literal) in inst.results().iter().zip(literals) {
            self.constant(*result, literal, inst, out);
        }
        true
    }

    /// Returns true if an equal small tensor of integers has been computed already. The result is then bound
    /// to that tensor.
    pub(super) fn is_repeated(&mut self, inst: Inst<'_>, new: InstId) -> bool {
        let new = self.to.inst(new);
        let ([result], true) = (new.results(), new.region_ids().is_empty()) else { return false };
        let Some(ty) = self.to.tensor(*result) else { return false };
        let small = ty.quant.is_none()
            && (ty.dtype.is_integer() || ty.dtype.is_bool())
            && ty.elements().is_some_and(|n| n <= MAX_KNOWN_ELEMENTS);
        if !small || matches!(new.op(), Op::Constant(_)) || new.op().info().is(Traits::OPAQUE) {
            return false;
        }
        let computation = (new.op().clone(), new.operands().to_vec(), ty.clone());
        if let Some(same) = self.computations.get(&computation) {
            self.values.insert(inst.results()[0], *same);
            return true;
        }
        self.order.push(computation.clone());
        self.computations.insert(computation, *result);
        false
    }

    /// Appends an instruction to a region, and records the known elements of its results.
    pub(super) fn finish(&mut self, new: InstId, known: Vec<Option<Literal>>, out: RegionId) {
        for (result, known) in self.to.inst(new).results().iter().zip(known) {
            if let Some(literal) = known {
                self.known.insert(*result, literal);
            }
        }
        self.to.append(out, new);
    }
}

/// The error for a type that contradicts the declared type.
fn contradiction(what: &str, found: &Type, declared: &Type, at: Span) -> Stop {
    let message = format!("{what} is {found}, but {declared} is declared");
    Stop::UnknownShape(Diagnostic::new("dynamic-shape", at, message))
}

/// The name of an operation in messages.
pub(super) fn name_of(op: &Op) -> String {
    match op {
        Op::CustomCall(call) => format!("{} @{}", op.name(), call.target),
        op => op.name().to_owned(),
    }
}

/// The declared type with dimensions filled in by inference; `None` if the types contradict each other.
fn more_specific(declared: &Type, inferred: &Type) -> Option<Type> {
    match (declared, inferred) {
        (Type::Tensor(declared), Type::Tensor(inferred)) => {
            if declared.rank() != inferred.rank() {
                return None;
            }
            let pairs = declared.dims().zip(inferred.dims());
            let dims: Option<Vec<Dim>> = pairs
                .map(|(declared, inferred)| declared.may_equal(inferred).then(|| declared.or(inferred)))
                .collect();
            Some(declared.with_dims(dims?).into())
        }
        (Type::Tuple(declared), Type::Tuple(inferred)) if declared.len() == inferred.len() => {
            let parts = declared.iter().zip(inferred.iter()).map(|(d, i)| more_specific(d, i));
            Some(Type::Tuple(parts.collect::<Option<Vec<Type>>>()?.into()))
        }
        (Type::Future(declared), Type::Future(inferred)) if declared.len() == inferred.len() => {
            let parts = declared.iter().zip(inferred.iter()).map(|(d, i)| more_specific(d, i));
            Some(Type::Future(parts.collect::<Option<Vec<Type>>>()?.into()))
        }
        _ => (declared == inferred).then(|| declared.clone()),
    }
}
