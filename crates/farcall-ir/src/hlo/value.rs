//! Values of instructions. A tuple is stored as its elements.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::lowering::{Lowered, Lowering, Stop, wrong};
use super::shape::{self, Shape};
use super::syntax::Instruction;
use crate::attr::AttrDict;
use crate::diag::Span;
use crate::literal::Literal;
use crate::module::{Func, Loc, NewInst, RegionId, ValueId};
use crate::op::Op;
use crate::types::{TensorType, Type};

/// The value of an instruction.
#[derive(Clone)]
pub(super) enum Val {
    One(ValueId),
    Tuple(Rc<[Val]>),
    /// The context of an asynchronous instruction: values of this shape, on which no result depends.
    Context(Arc<Shape>),
    /// The instruction had an error, which has been reported.
    Unknown,
}

/// The instructions of a computation so far: their values, with stated or inferred shapes, and their indices
/// by name.
#[derive(Default)]
pub(super) struct Scope<'s> {
    pub(super) values: Vec<Shaped>,
    pub(super) names: FxHashMap<&'s str, usize>,
}

/// A value and its shape, including layouts.
#[derive(Clone)]
pub(super) struct Shaped {
    pub(super) val: Val,
    pub(super) shape: Arc<Shape>,
}

/// An instruction that is being lowered: the region to append to, and the attributes that do not belong to
/// its operation.
pub(super) struct At<'i, 's> {
    pub(super) inst: &'i Instruction<'s>,
    pub(super) region: RegionId,
    pub(super) attrs: AttrDict,
    pub(super) loc: Option<Arc<Loc>>,
    pub(super) operands: &'i [Shaped],
}

impl At<'_, '_> {
    /// Creates an instruction for an operation, with the common attributes and the location.
    pub(super) fn op(&self, op: Op, operands: impl IntoIterator<Item = ValueId>) -> NewInst {
        let new = NewInst::new(op, operands).at(self.inst.op_span, self.loc.clone());
        NewInst { attrs: self.attrs.clone(), ..new }
    }
}

impl<'s> Lowering<'_, 's> {
    /// Charges the budget for flattened tuple parts.
    pub(super) fn spend(&mut self, n: usize, at: Span) -> Lowered<()> {
        match self.parts.checked_sub(n) {
            Some(left) => {
                self.parts = left;
                Ok(())
            }
            None => wrong("tuple", at, "the tuples of this text have too many parts in total"),
        }
    }

    /// Appends the tensors and tokens of a value to `out`. The values of a context are created at the end of
    /// `region`.
    pub(super) fn leaves(
        &mut self,
        value: &Val,
        region: RegionId,
        at: Span,
        out: &mut Vec<ValueId>,
    ) -> Lowered<()> {
        match value {
            Val::One(id) => {
                self.spend(1, at)?;
                out.push(*id);
                Ok(())
            }
            Val::Tuple(parts) => {
                self.spend(1, at)?;
                parts.iter().try_for_each(|part| self.leaves(part, region, at, out))
            }
            Val::Context(shape) => {
                let leaves = shape.leaves();
                self.spend(leaves.len(), at)?;
                for ty in leaves {
                    let value = self.context(ty, region, at)?;
                    out.push(value);
                }
                Ok(())
            }
            Val::Unknown => Err(Stop::Known),
        }
    }

    /// Creates a value of this type for a context, on which no result depends.
    fn context(&mut self, ty: Type, region: RegionId, at: Span) -> Lowered<ValueId> {
        let op = match &ty {
            Type::Token => Op::CreateToken,
            Type::Tensor(t) if t.is_static() => match Literal::try_zeros(t.dtype, t.sizes()) {
                Ok(zeros) => Op::Constant(zeros),
                Err(e) => return wrong("unsupported", at, e.to_string()),
            },
            _ => {
                return wrong(
                    "unsupported",
                    at,
                    format!("the context of an asynchronous instruction cannot have type {ty}"),
                );
            }
        };
        Ok(self.one(op, [], ty, region, at))
    }

    /// Appends an instruction with results of this shape, and returns its value.
    pub(super) fn push(&mut self, new: NewInst, shape: &Shape, region: RegionId) -> Lowered<Val> {
        let types = shape.leaves();
        self.spend(types.len(), new.span)?;
        let id = self.func.push(region, new, types);
        let results = self.func.inst(id).results().to_vec();
        Ok(build(shape, &mut results.into_iter()))
    }

    /// Appends an operation with one result.
    pub(super) fn one(
        &mut self,
        op: Op,
        operands: impl IntoIterator<Item = ValueId>,
        ty: impl Into<Type>,
        region: RegionId,
        at: Span,
    ) -> ValueId {
        let id = self.func.push(region, NewInst::new(op, operands).at(at, None), [ty.into()]);
        self.func.inst(id).results()[0]
    }

    /// Checks that a value has this shape.
    pub(super) fn check(&self, value: &Val, shape: &Shape, at: Span) -> Lowered<()> {
        match (value, shape) {
            (Val::Unknown, _) => Err(Stop::Known),
            (Val::Context(found), shape) if found.leaves() == shape.leaves() => Ok(()),
            (Val::Context(found), shape) => {
                wrong("type-mismatch", at, format!("the shape is {shape}, but the value is {found}"))
            }
            (Val::Tuple(parts), Shape::Tuple(shapes)) if parts.len() == shapes.len() => {
                parts.iter().zip(shapes.iter()).try_for_each(|(v, s)| self.check(v, s, at))
            }
            (Val::One(id), Shape::Tensor(..) | Shape::Token) if *self.func.ty(*id) == shape.ty() => Ok(()),
            (Val::One(id), shape) => {
                let found = shape::of(self.func.ty(*id), None).map_or(String::new(), |s| s.to_string());
                wrong("type-mismatch", at, format!("the shape is {shape}, but the value is {found}"))
            }
            (Val::Tuple(parts), shape) => {
                let message = format!("the shape is {shape}, but the value is a tuple of {}", parts.len());
                wrong("type-mismatch", at, message)
            }
        }
    }

    /// Returns the value as a single value; a tuple is built from its elements.
    pub(super) fn packed(&mut self, value: &Val, at: &At<'_, 's>) -> Lowered<ValueId> {
        let Val::Tuple(parts) = value else {
            let mut one = Vec::new();
            self.leaves(value, at.region, at.inst.op_span, &mut one)?;
            return one.first().copied().ok_or(Stop::Known);
        };
        let parts = parts.iter().map(|part| self.packed(part, at)).collect::<Lowered<Vec<_>>>()?;
        // Charge the elements for each use of the tuple as an operand.
        self.leaves(value, at.region, at.inst.op_span, &mut Vec::new())?;
        let ty = Type::Tuple(parts.iter().map(|v| self.func.ty(*v).clone()).collect());
        Ok(self.one(Op::Tuple, parts, ty, at.region, at.inst.op_span))
    }

    /// Splits a value that may be a tuple into its elements.
    pub(super) fn unpacked(&mut self, value: ValueId, shape: &Shape, at: &At<'_, 's>) -> Val {
        let Shape::Tuple(parts) = shape else { return Val::One(value) };
        let parts = parts.iter().enumerate().map(|(index, part)| {
            let element =
                self.one(Op::GetTupleElement { index }, [value], part.ty(), at.region, at.inst.op_span);
            self.unpacked(element, part, at)
        });
        Val::Tuple(parts.collect())
    }
}

/// Returns the value unless an error has been reported for it.
pub(super) fn known(value: Option<&Shaped>) -> Lowered<Shaped> {
    match value {
        Some(Shaped { val: Val::Unknown, .. }) | None => Err(Stop::Known),
        Some(value) => Ok(value.clone()),
    }
}

/// Returns an element of a tuple.
pub(super) fn element(tuple: &Shaped, index: usize, at: Span) -> Lowered<Shaped> {
    let (Val::Tuple(parts), Some(shapes)) = (&tuple.val, tuple.shape.parts()) else {
        return wrong("type-mismatch", at, format!("only a tuple has elements, but this is {}", tuple.shape));
    };
    match (parts.get(index), shapes.get(index)) {
        (Some(part), Some(shape)) => Ok(Shaped { val: part.clone(), shape: Arc::new(shape.clone()) }),
        _ => wrong("index", at, format!("the tuple has {} elements, none of index {index}", parts.len())),
    }
}

/// The types of operands; `None` for values that are not tensors.
pub(super) fn tensors(func: &Func, operands: &[Shaped]) -> Vec<Option<TensorType>> {
    let tensor = |operand: &Shaped| match &operand.val {
        Val::One(id) => func.tensor(*id).cloned(),
        _ => None,
    };
    operands.iter().map(tensor).collect()
}

/// Builds the value of a shape from its tensors and tokens.
pub(super) fn build(shape: &Shape, leaves: &mut dyn Iterator<Item = ValueId>) -> Val {
    match shape {
        Shape::Tuple(parts) => Val::Tuple(parts.iter().map(|part| build(part, leaves)).collect()),
        Shape::Tensor(..) | Shape::Token => leaves.next().map_or(Val::Unknown, Val::One),
    }
}
