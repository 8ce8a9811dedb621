//! Infers the result types that the text leaves out.

use std::sync::Arc;

use farcall_sig::DType;

use super::attribute_fields::AttrReader;
use super::control;
use super::lowering::{Lowered, Lowering, Stop, wrong};
use super::shape::{self, Shape};
use super::syntax::declared;
use super::table;
use super::value::{At, Shaped, build, element};
use crate::builder::Builder;
use crate::module::{NewInst, ValueId};
use crate::op::{Derived, Op};
use crate::types::{Dim, TensorType};

impl<'s> Lowering<'_, 's> {
    /// Returns the shape of an instruction's result, if it follows from the operands and attributes. Returns
    /// `None` if only [`inferred`](Self::inferred) can determine it, from the operation.
    pub(super) fn implied(&self, g: &AttrReader<'_, 's>, at: &At<'_, 's>) -> Lowered<Option<Arc<Shape>>> {
        let opcode = at.inst.opcode;
        let attribute = |key: &str| {
            let found = g.attrs.iter().find(|a| a.key == key).map(|a| a.value);
            found.ok_or_else(|| g.fail::<()>(format!("{opcode} has no attribute `{key}`")).unwrap_err())
        };
        let first = || match at.operands.first() {
            Some(operand) => Ok(Arc::clone(&operand.shape)),
            None => wrong("operands", at.inst.op_span, format!("{opcode} must have an operand")),
        };
        let scalar = |dtype| Arc::new(Shape::Tensor(TensorType::scalar(dtype), None));
        Ok(Some(match opcode {
            "tuple" => tuple(at.operands.iter().map(|operand| (*operand.shape).clone())),
            "get-tuple-element" => {
                let mut index = attribute("index")?;
                let (span, index) = (index.span(), index.usize()?);
                return match at.operands {
                    [tuple] => Ok(Some(element(tuple, index, span)?.shape)),
                    _ => wrong("type-mismatch", span, "get-tuple-element must have one operand, a tuple"),
                };
            }
            "copy" | "add-dependency" | "domain" | "opt-barrier" | "while" => first()?,
            "after-all" => Arc::new(Shape::Token),
            "partition-id" | "replica-id" => scalar(DType::U32),
            "call" => {
                let computation = self.named(&mut AttrReader { attrs: g.attrs.clone(), ..*g }, "to_apply")?;
                self.result_shape(computation, at.inst.op_span)?
            }
            "conditional" => {
                let mut g = AttrReader { attrs: g.attrs.clone(), ..*g };
                match control::branches(&mut g)?.first() {
                    Some((name, span)) => self.result_shape(self.computation(name, *span)?, *span)?,
                    None => return wrong("operands", at.inst.op_span, "conditional has no branches"),
                }
            }
            "broadcast" => match (first()?, attribute("dimensions").map(|mut dims| dims.usizes())) {
                (shape, Err(_)) => shape,
                (shape, Ok(Ok(dims))) if dims.is_empty() => shape,
                _ => Arc::clone(declared(at.inst)?),
            },
            "topk" => {
                let (k, shape) = (attribute("k")?.usize()?, first()?);
                let Some((ty, last)) = shape.tensor().and_then(|ty| Some((ty, ty.rank().checked_sub(1)?)))
                else {
                    return wrong(
                        "type-mismatch",
                        at.inst.op_span,
                        "the operand of topk must have a dimension",
                    );
                };
                let dims = ty.dims().enumerate().map(|(i, dim)| if i == last { Dim::Static(k) } else { dim });
                let values = ty.with_dims(dims);
                let indices = values.with_dtype(DType::S32);
                tuple([values, indices].map(|ty| Shape::Tensor(ty, None)))
            }
            "scan" => {
                let computation = self.named(&mut AttrReader { attrs: g.attrs.clone(), ..*g }, "to_apply")?;
                let returned = self.result_shape(computation, at.inst.op_span)?;
                let [dim] = attribute("dimensions")?.usizes()?[..] else {
                    return wrong("attribute", at.inst.op_span, "scan: `dimensions` must have one number");
                };
                scanned(&returned, &*first()?, dim, attribute("num_carries")?.usize()?)
            }
            _ if table::of_opcode(opcode).is_some() => return Ok(None),
            _ if table::is_opcode(opcode) => Arc::clone(declared(at.inst)?),
            _ => return Err(self.unknown(at.inst)),
        }))
    }

    /// Converts the operands of a convolution or of a ragged product to the result's element type if their
    /// types differ, as XLA does on a CPU. Other products convert their operands when they run.
    pub(super) fn promote(
        &mut self,
        op: &Op,
        values: &mut [ValueId],
        shape: Option<&Shape>,
        element: Option<DType>,
        at: &At<'_, 's>,
    ) {
        let dtype = shape.and_then(Shape::tensor).map(|ty| ty.dtype).or(element);
        let ([lhs, rhs, ..], Op::Convolution(_) | Op::Derived(Derived::RaggedDot(_)), Some(dtype)) =
            (values, op, dtype)
        else {
            return;
        };
        let types = [&*lhs, &*rhs].map(|v| self.func.tensor(*v).cloned());
        let [Some(left), Some(right)] = types else { return };
        if left.dtype == right.dtype {
            return;
        }
        for (value, ty) in [(lhs, left), (rhs, right)] {
            if ty.dtype != dtype {
                let ty = ty.with_dtype(dtype);
                *value = self.one(Op::Convert, [*value], ty, at.region, at.inst.op_span);
            }
        }
    }

    /// Appends an instruction whose result types follow from its operands, attributes and regions. `element`
    /// is the element type where the operation leaves it open.
    pub(super) fn inferred(
        &mut self,
        new: NewInst,
        element: Option<DType>,
        at: &At<'_, 's>,
    ) -> Lowered<Shaped> {
        let free = element.map(|dtype| TensorType::scalar(dtype).into());
        let made = Builder::at_end(&mut self.func, at.region).inst_of(new, free);
        let id = match made {
            Ok(id) => id,
            Err(found) if found.iter().any(|d| d.code == "result-count") => {
                declared(at.inst)?;
                return Err(Stop::Known);
            }
            Err(found) => {
                found.into_iter().for_each(|d| self.diagnostics.push(d));
                return Err(Stop::Known);
            }
        };
        let results = self.func.inst(id).results().to_vec();
        self.spend(results.len(), at.inst.op_span)?;
        let shapes: Option<Vec<Shape>> = results.iter().map(|v| shape::of(self.func.ty(*v), None)).collect();
        let shape = match shapes.as_deref() {
            Some([one]) => Arc::new(one.clone()),
            Some(several) => tuple(several.iter().cloned()),
            None => Arc::clone(declared(at.inst)?),
        };
        Ok(Shaped { val: build(&shape, &mut results.into_iter()), shape })
    }
}

fn tuple(parts: impl IntoIterator<Item = Shape>) -> Arc<Shape> {
    Arc::new(Shape::Tuple(parts.into_iter().collect()))
}

/// Returns the result shape of a scan whose computation returns `returned`: output slices are stacked along
/// `dim`.
fn scanned(returned: &Shape, input: &Shape, dim: usize, carries: usize) -> Arc<Shape> {
    let size = input.tensor().and_then(|ty| ty.get_dim(dim)).unwrap_or(Dim::UNBOUNDED);
    let stacked = |slice: &Shape| match slice {
        Shape::Tensor(ty, _) if dim <= ty.rank() => {
            let mut dims: Vec<Dim> = ty.dims().collect();
            dims.insert(dim, size);
            Shape::Tensor(ty.with_dims(dims), None)
        }
        other => other.clone(),
    };
    match returned {
        Shape::Tuple(parts) => {
            let outputs = parts.len().saturating_sub(carries);
            let part = |(i, part): (usize, &Shape)| if i < outputs { stacked(part) } else { part.clone() };
            tuple(parts.iter().enumerate().map(part))
        }
        one if carries == 0 => Arc::new(stacked(one)),
        one => Arc::new(one.clone()),
    }
}

/// Returns the element type of a result where the operation leaves it open. A product has the type of its
/// more precise operand.
pub(super) fn element_type(op: &Op, operands: &[Option<TensorType>]) -> Option<DType> {
    match (op, operands) {
        (
            Op::DotGeneral(_) | Op::Convolution(_) | Op::Derived(Derived::RaggedDot(_)),
            [Some(lhs), Some(rhs), ..],
        ) => {
            let precision = |ty: &TensorType| (ty.dtype.is_complex(), ty.dtype.is_float(), ty.dtype.bits());
            Some(if precision(rhs) > precision(lhs) { rhs.dtype } else { lhs.dtype })
        }
        _ => None,
    }
}
