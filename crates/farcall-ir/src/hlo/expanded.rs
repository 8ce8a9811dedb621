//! Lowers instructions that StableHLO lacks, or has in another form, to simpler operations, as XLA does.

use farcall_sig::{DType, DTypeClass};

use super::attribute_fields::AttrReader;
use super::hooks;
use super::lowering::{Lowered, Lowering, wrong};
use super::shape::Shape;
use super::value::{At, Val};
use crate::literal::Literal;
use crate::module::ValueId;
use crate::op::{Binary, Compare, ComparisonDirection, Op, Scan, Unary};
use crate::scalar::Scalar;
use crate::types::TensorType;

/// A tensor value and its type.
type Tensor = (ValueId, TensorType);

impl<'s> Lowering<'_, 's> {
    /// Lowers `scan` to `chlo.scan`, which has the same conventions: inputs before initial values, outputs
    /// before final carries.
    pub(super) fn scan(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let [dim] = g.usizes("dimensions")?[..] else {
            return wrong("attribute", at.inst.op_span, "scan: `dimensions` must have one number");
        };
        let carries = g.required("num_carries")?.usize()?;
        let is_reverse = g.flag("is_reverse")?;
        let is_associative = g.read("is_associative", super::attribute_fields::flag)?;
        let computation = self.named(g, "to_apply")?;
        let region = self.region(computation, at.inst.op_span)?;
        let values = self.flat_operands(at)?;
        let results = shape.leaves().len();
        let (Some(inputs), Some(outputs)) = (values.len().checked_sub(carries), results.checked_sub(carries))
        else {
            let message = format!("scan carries {carries} values, more than it has operands or results");
            return wrong("operands", at.inst.op_span, message);
        };
        let op = Scan { dim, size: None, is_reverse, is_associative, inputs, carries, outputs };
        self.push(at.op(Op::Scan(op), values).with_regions(vec![region]), shape, at.region)
    }

    /// Lowers a product of scaled operands. Each element of a scale applies to a block of elements; a scalar
    /// takes the place of a missing scale.
    pub(super) fn scaled_dot(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let op = hooks::read_dot(g)?;
        let [lhs, rhs, lhs_scale, rhs_scale] = self.operand_tensors(at)?;
        let lhs = self.scaled(lhs, lhs_scale, at)?;
        let rhs = self.scaled(rhs, rhs_scale, at)?;
        let dtype = common(lhs.1.dtype, rhs.1.dtype);
        let (lhs, rhs) = (self.converted(lhs, dtype, at), self.converted(rhs, dtype, at));
        let Some(result) = shape.tensor() else {
            return wrong("type-mismatch", at.inst.shape_span, "scaled-dot must return a tensor");
        };
        let ty = result.with_dtype(common(dtype, result.dtype));
        let id = self.func.push(at.region, at.op(op, [lhs.0, rhs.0]), [ty.clone().into()]);
        let product = self.func.inst(id).results()[0];
        Ok(Val::One(self.converted((product, ty), result.dtype, at).0))
    }

    /// Multiplies an operand of a product by its scale.
    fn scaled(&mut self, operand: Tensor, scale: Tensor, at: &At<'_, 's>) -> Lowered<Tensor> {
        if scale.1.rank() == 0 {
            return Ok(operand);
        }
        let dtype = common(operand.1.dtype, scale.1.dtype);
        let operand = self.converted(operand, dtype, at);
        let scale = self.converted(scale, dtype, at);
        let (sizes, blocks) = (operand.1.static_sizes(), scale.1.static_sizes());
        let fits = |(n, blocks): (&usize, &usize)| *blocks > 0 && n.is_multiple_of(*blocks);
        let (Some(sizes), Some(blocks)) = (sizes, blocks) else {
            return wrong(
                "unsupported",
                at.inst.op_span,
                "scaled-dot must have operands of static dimensions",
            );
        };
        if sizes.len() != blocks.len() || !sizes.iter().zip(blocks).all(fits) {
            let message = "each dimension of a scale of scaled-dot must divide the operand's dimension";
            return wrong("operands", at.inst.op_span, message);
        }
        // Each dimension becomes two: the blocks, and the elements in a block.
        let pairs: Vec<usize> =
            sizes.iter().zip(blocks).flat_map(|(n, blocks)| [*blocks, n / blocks]).collect();
        let dims = (0..blocks.len()).map(|d| 2 * d).collect();
        let (region, span) = (at.region, at.inst.op_span);
        let spread =
            self.one(Op::BroadcastInDim { dims }, [scale.0], TensorType::new(dtype, pairs), region, span);
        let spread = self.one(Op::Reshape, [spread], operand.1.clone(), region, span);
        let product =
            self.one(Op::Binary(Binary::Multiply), [operand.0, spread], operand.1.clone(), region, span);
        Ok((product, operand.1))
    }

    fn converted(&mut self, (value, ty): Tensor, dtype: DType, at: &At<'_, 's>) -> Tensor {
        if ty.dtype == dtype {
            return (value, ty);
        }
        let ty = ty.with_dtype(dtype);
        (self.one(Op::Convert, [value], ty.clone(), at.region, at.inst.op_span), ty)
    }

    fn operand_tensors<const N: usize>(&mut self, at: &At<'_, 's>) -> Lowered<[Tensor; N]> {
        let opcode = at.inst.opcode;
        let mut found = Vec::new();
        for value in self.flat_operands(at)? {
            let ty = self.func.tensor(value).cloned();
            found.extend(ty.map(|ty| (value, ty)));
        }
        match found.try_into() {
            Ok(tensors) => Ok(tensors),
            Err(_) => wrong(
                "operands",
                at.inst.op_span,
                format!("{opcode} must have {N} operands, all of them tensors"),
            ),
        }
    }

    /// Lowers `stochastic-convert`, which rounds floats to integers: the magnitude is rounded up if its
    /// fraction exceeds a random fraction. XLA supports only signed integers as results.
    pub(super) fn stochastic_convert(&mut self, shape: &Shape, at: &At<'_, 's>) -> Lowered<Val> {
        let [(operand, from), (random, random_ty)] = self.operand_tensors(at)?;
        let to =
            shape.tensor().filter(|to| to.dtype.class() == DTypeClass::Signed && to.dims().eq(from.dims()));
        let fits = from.dtype.is_float()
            && from.is_static()
            && random_ty.dtype.class() == DTypeClass::Unsigned
            && random_ty.dims().eq(from.dims());
        let Some(to) = to.filter(|_| fits) else {
            let message = "stochastic-convert must convert floats to signed integers, with unsigned integers as random numbers";
            return wrong("unsupported", at.inst.op_span, message);
        };
        let (region, span) = (at.region, at.inst.op_span);
        macro_rules! step {
            ($op:expr, [$($operand:expr),*], $ty:expr) => {
                self.one($op, [$($operand),*], $ty.clone(), region, span)
            };
        }
        macro_rules! splat {
            ($ty:expr, $value:expr) => {{
                let literal = Literal::scalar($ty.dtype, $value.round_to($ty.dtype));
                let scalar = self.one(Op::Constant(literal), [], $ty.with_sizes([]), region, span);
                step!(Op::BroadcastInDim { dims: Vec::new() }, [scalar], $ty)
            }};
        }
        let compare = |direction| Op::Compare(Compare { direction, kind: None });
        let pred = from.with_dtype(DType::Pred);
        let zero = splat!(from, Scalar::Float(0.0));
        let sign = step!(Op::Unary(Unary::Sign), [operand], from);
        let is_negative = step!(compare(ComparisonDirection::Lt), [sign, zero], pred);
        let size = step!(Op::Unary(Unary::Abs), [operand], from);
        let whole = step!(Op::Unary(Unary::Floor), [size], from);
        let fraction = step!(Op::Binary(Binary::Subtract), [size, whole], from);
        // 2^16 is not representable in f16.
        let wide = if from.dtype == DType::F16 { DType::F32 } else { from.dtype };
        let (fraction, wide) = self.converted((fraction, from.clone()), wide, at);
        let scale = splat!(wide, Scalar::Float(2f64.powi(random_ty.dtype.bits().cast_signed())));
        let fixed = step!(Op::Binary(Binary::Multiply), [fraction, scale], wide);
        let (fixed, _) = self.converted((fixed, wide), random_ty.dtype, at);
        let is_up = step!(compare(ComparisonDirection::Lt), [random, fixed], pred);
        let (whole, _) = self.converted((whole, from.clone()), to.dtype, at);
        let one = splat!(to, Scalar::Signed(1));
        let next = step!(Op::Binary(Binary::Add), [whole, one], to);
        let rounded = step!(Op::Select, [is_up, next, whole], to);
        let negated = step!(Op::Unary(Unary::Negate), [rounded], to);
        let mut result = step!(Op::Select, [is_negative, negated, rounded], to);
        let (least, most) = to.dtype.integer_range().unwrap_or((0, 0));
        for (bound, direction) in [(least, ComparisonDirection::Le), (most, ComparisonDirection::Ge)] {
            let limit = splat!(from, Scalar::Float(bound as f64));
            let is_out = step!(compare(direction), [operand, limit], pred);
            let bound = splat!(to, Scalar::Signed(bound as i64));
            result = step!(Op::Select, [is_out, bound, result], to);
        }
        Ok(Val::One(result))
    }

    /// Lowers a reshape whose operands after the first are the sizes of the result's dimensions. StableHLO
    /// has the sizes in one tensor.
    pub(super) fn dynamic_reshape(&mut self, shape: &Shape, at: &At<'_, 's>) -> Lowered<Val> {
        let values = self.flat_operands(at)?;
        let sizes: Option<Vec<TensorType>> = values
            .iter()
            .skip(1)
            .map(|v| self.func.tensor(*v).filter(|ty| ty.rank() == 0).cloned())
            .collect();
        let sizes = sizes.filter(|sizes| sizes.iter().all(|ty| ty.dtype == sizes[0].dtype));
        let (Some(sizes), [operand, numbers @ ..]) = (sizes, values.as_slice()) else {
            let message =
                "dynamic-reshape must have an operand, and a scalar for each dimension of the result";
            return wrong("operands", at.inst.op_span, message);
        };
        let (region, span) = (at.region, at.inst.op_span);
        let dtype = sizes.first().map_or(DType::S32, |ty| ty.dtype);
        let vector = TensorType::new(dtype, [numbers.len()]);
        let dims = if numbers.is_empty() {
            self.one(Op::Constant(Literal::zeros(dtype, [0])), [], vector, region, span)
        } else {
            let one = vector.with_sizes([1]);
            let parts: Vec<ValueId> =
                numbers.iter().map(|v| self.one(Op::Reshape, [*v], one.clone(), region, span)).collect();
            self.one(Op::Concatenate { dim: 0 }, parts, vector, region, span)
        };
        self.push(at.op(Op::DynamicReshape, [*operand, dims]), shape, region)
    }
}

/// The type in which two operands of a scaled product are multiplied.
fn common(a: DType, b: DType) -> DType {
    match (a.bits(), b.bits()) {
        (..16, ..16) => DType::BF16,
        _ if a == b => a,
        (n, m) if n == m => DType::F32,
        (n, m) if n > m => a,
        _ => b,
    }
}
