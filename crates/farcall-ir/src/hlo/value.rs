//! Values of instructions, and operations on them. A tuple is kept as its parts.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::lower::{At, Lowered, Lowering, Stop, wrong};
use super::shape::{self, Shape};
use crate::diag::Span;
use crate::literal::Literal;
use crate::module::{Func, NewInst, RegionId, ValueId};
use crate::op::Op;
use crate::types::{TensorType, Type};

/// The value of a name.
#[derive(Clone)]
pub(super) enum Val {
    One(ValueId),
    Tuple(Rc<[Val]>),
    /// The context of an asynchronous instruction: numbers of this shape that no result depends on.
    Context(Arc<Shape>),
    /// An error has been reported.
    Unknown,
}

/// The instructions of a computation so far: their values, with the shapes that the text gives them or that follow, and
/// their numbers by name.
#[derive(Default)]
pub(super) struct Scope<'s> {
    pub(super) values: Vec<Shaped>,
    pub(super) names: FxHashMap<&'s str, usize>,
}

/// A value and its shape, with layouts.
#[derive(Clone)]
pub(super) struct Shaped {
    pub(super) val: Val,
    pub(super) shape: Arc<Shape>,
}

impl<'s> Lowering<'_, 's> {
    /// Counts parts of tuples.
    pub(super) fn spend(&mut self, n: usize, at: Span) -> Lowered<()> {
        match self.parts.checked_sub(n) {
            Some(left) => {
                self.parts = left;
                Ok(())
            }
            None => wrong("tuple", at, "the tuples of this text have too many parts together"),
        }
    }

    /// The tensors and tokens of a value, in order, for an instruction at the end of a region.
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

    /// A value of this type that no result depends on.
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
                    format!("an asynchronous instruction has no context of type {ty}"),
                );
            }
        };
        Ok(self.one(op, [], ty, region, at))
    }

    /// Adds an instruction with results of this shape; returns its value.
    pub(super) fn push(&mut self, new: NewInst, shape: &Shape, region: RegionId) -> Lowered<Val> {
        let types = shape.leaves();
        self.spend(types.len(), new.span)?;
        let id = self.func.push(region, new, types);
        let results = self.func.inst(id).results().to_vec();
        Ok(build(shape, &mut results.into_iter()))
    }

    /// An operation with one result.
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

    /// Reports an error if a value does not have a shape.
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

    /// Returns a value as one: a tuple is put together.
    pub(super) fn packed(&mut self, value: &Val, at: &At<'_, 's>) -> Lowered<ValueId> {
        let Val::Tuple(parts) = value else {
            let mut one = Vec::new();
            self.leaves(value, at.region, at.inst.op_span, &mut one)?;
            return one.first().copied().ok_or(Stop::Known);
        };
        let parts = parts.iter().map(|part| self.packed(part, at)).collect::<Lowered<Vec<_>>>()?;
        // Each part counts, however often a tuple is an operand.
        self.leaves(value, at.region, at.inst.op_span, &mut Vec::new())?;
        let ty = Type::Tuple(parts.iter().map(|v| self.func.ty(*v).clone()).collect());
        Ok(self.one(Op::Tuple, parts, ty, at.region, at.inst.op_span))
    }

    /// A value that is a tuple, taken apart.
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

/// A value that has been lowered.
pub(super) fn known(value: Option<&Shaped>) -> Lowered<Shaped> {
    match value {
        Some(Shaped { val: Val::Unknown, .. }) | None => Err(Stop::Known),
        Some(value) => Ok(value.clone()),
    }
}

/// An element of a tuple.
pub(super) fn element(tuple: &Shaped, index: usize, at: Span) -> Lowered<Shaped> {
    let (Val::Tuple(parts), Some(shapes)) = (&tuple.val, tuple.shape.parts()) else {
        return wrong("type-mismatch", at, format!("only a tuple has elements, but this is {}", tuple.shape));
    };
    match (parts.get(index), shapes.get(index)) {
        (Some(part), Some(shape)) => Ok(Shaped { val: part.clone(), shape: Arc::new(shape.clone()) }),
        _ => wrong("index", at, format!("the tuple has {} elements, none of index {index}", parts.len())),
    }
}

/// The types of operands; `None` for a value that is not a tensor.
pub(super) fn tensors(func: &Func, operands: &[Shaped]) -> Vec<Option<TensorType>> {
    let tensor = |operand: &Shaped| match &operand.val {
        Val::One(id) => func.tensor(*id).cloned(),
        _ => None,
    };
    operands.iter().map(tensor).collect()
}

/// The value of a shape, of the tensors and tokens in it.
pub(super) fn build(shape: &Shape, leaves: &mut dyn Iterator<Item = ValueId>) -> Val {
    match shape {
        Shape::Tuple(parts) => Val::Tuple(parts.iter().map(|part| build(part, leaves)).collect()),
        Shape::Tensor(..) | Shape::Token => leaves.next().map_or(Val::Unknown, Val::One),
    }
}
