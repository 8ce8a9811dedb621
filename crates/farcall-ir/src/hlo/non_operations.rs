//! Lowers instructions that are not a single operation: parameters, constants, tuples, copies, custom calls.

use std::rc::Rc;
use std::sync::Arc;

use farcall_sig::DType;

use super::attribute_fields::AttrReader;
use super::calls;
use super::cursor::Cursor;
use super::literal;
use super::lowering::{Lowered, Lowering, wrong};
use super::shape::Shape;
use super::syntax::parameter_number;
use super::value::{At, Shaped, Val, element};
use crate::literal::Literal;
use crate::op::{Op, Pad, RngDistribution, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};

impl<'s> Lowering<'_, 's> {
    /// Lowers an instruction that is not a single operation of the table; `None` for any other opcode, known
    /// or not.
    pub(super) fn special(
        &mut self,
        shape: &Arc<Shape>,
        g: &mut AttrReader<'_, 's>,
        args: &[Val],
        at: &mut At<'_, 's>,
    ) -> Option<Lowered<Val>> {
        Some(match at.inst.opcode {
            "parameter" => self.parameter(shape, args, at),
            "constant" => self.constant(at.inst.args, shape, at),
            "tuple" => {
                let tuple = Val::Tuple(at.operands.iter().map(|operand| operand.val.clone()).collect());
                self.check(&tuple, shape, at.inst.shape_span).map(|()| tuple)
            }
            "get-tuple-element" => self.get_tuple_element(shape, g, at),
            "copy" | "add-dependency" | "domain" => self.identity(shape, at),
            "bitcast" => self.bitcast(shape, g, at),
            "call" => self.call_of(shape, g, at),
            "while" => self.while_loop(shape, g, at),
            "conditional" => self.conditional(shape, g, at),
            "fusion" => self.fusion(shape, g, at),
            "custom-call" => self.custom_call(shape, g, at),
            "rng" => self.rng(shape, g, at),
            "topk" => self.top_k(shape, g, at),
            "scan" => self.scan(shape, g, at),
            "scaled-dot" => self.scaled_dot(shape, g, at),
            "stochastic-convert" => self.stochastic_convert(shape, at),
            "ragged-all-to-all" => self.ragged_all_to_all(shape, g, at),
            "dynamic-reshape" => self.dynamic_reshape(shape, at),
            "dynamic-slice" | "dynamic-update-slice" => return self.indexed_by_vector(shape, g, at),
            "all-to-all" => return self.all_to_all(shape, g, at),
            "all-gather" | "reduce-scatter" | "collective-permute" => return self.each(shape, g, at),
            opcode => return self.asynchronous(opcode, shape, g, args, at),
        })
    }

    fn parameter(&mut self, shape: &Shape, args: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        let value = args.get(parameter_number(at.inst)?).cloned().unwrap_or(Val::Unknown);
        self.check(&value, shape, at.inst.shape_span).map(|()| value)
    }

    /// Lowers a constant, or a tuple of constants in parentheses.
    fn constant(&mut self, mut text: Cursor<'s>, shape: &Shape, at: &At<'_, 's>) -> Lowered<Val> {
        match shape {
            Shape::Tensor(..) if text.eat(b'#') => {
                let number = text.usize()?;
                match self.constants.get(number) {
                    Some(literal) => {
                        let op = Op::Constant(literal.clone());
                        self.push(at.op(op, []), shape, at.region)
                    }
                    None => wrong("attribute", text.span(), format!("there is no constant number {number}")),
                }
            }
            Shape::Tensor(ty, _) if ty.rank() > 0 && !ty.dtype.is_complex() && text.peek() != Some(b'{') => {
                self.first_element(text, ty, at)
            }
            Shape::Tensor(ty, _) => {
                let op = literal::constant(text, ty)?;
                self.push(at.op(op, []), shape, at.region)
            }
            Shape::Tuple(shapes) => {
                let mut parts = Vec::new();
                text.expect(b'(')?;
                for shape in shapes.iter() {
                    text.eat(b',');
                    let part = text.value()?;
                    parts.push(self.constant(part, shape, at)?);
                }
                text.expect(b')')?;
                text.finish()?;
                Ok(Val::Tuple(parts.into()))
            }
            Shape::Token => wrong("unsupported", at.inst.shape_span, "a constant must be a tensor"),
        }
    }

    /// Lowers a constant tensor whose text is a single number without braces. As in XLA, the number is the
    /// first element, and all others are 0.
    fn first_element(&mut self, text: Cursor<'s>, ty: &TensorType, at: &At<'_, 's>) -> Lowered<Val> {
        let scalar = TensorType::scalar(ty.dtype);
        let number = literal::read(text, &scalar)?;
        let Some(sizes) = ty.static_sizes().filter(|sizes| !sizes.contains(&0)) else {
            let message = format!("{} has no first element", Shape::Tensor(ty.clone(), None));
            return wrong("attribute", text.span(), message);
        };
        let zero = Literal::scalar(ty.dtype, Scalar::zero(ty.dtype));
        let (region, span) = (at.region, at.inst.op_span);
        let one = ty.with_sizes(vec![1; sizes.len()]);
        let first = self.one(Op::Constant(number.reshape(one.sizes())), [], one, region, span);
        let zero = self.one(Op::Constant(zero), [], scalar, region, span);
        let high = sizes.iter().map(|n| i64::try_from(n - 1).unwrap_or(i64::MAX)).collect();
        let none = vec![0; sizes.len()];
        let pad = Op::Pad(Pad { low: none.clone(), high, interior: none });
        let id = self.func.push(region, at.op(pad, [first, zero]), [ty.clone().into()]);
        Ok(Val::One(self.func.inst(id).results()[0]))
    }

    fn get_tuple_element(
        &mut self,
        shape: &Shape,
        g: &mut AttrReader<'_, 's>,
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let mut value = g.required("index")?;
        let span = value.span();
        let index = value.usize()?;
        value.finish()?;
        let [tuple] = at.operands else {
            return wrong(
                "type-mismatch",
                at.inst.op_span,
                "get-tuple-element must have one operand, a tuple",
            );
        };
        let part = element(tuple, index, span)?.val;
        self.check(&part, shape, at.inst.shape_span).map(|()| part)
    }

    /// Lowers an instruction that returns its first operand.
    fn identity(&mut self, shape: &Shape, at: &At<'_, 's>) -> Lowered<Val> {
        let Some(operand) = at.operands.first() else {
            return wrong("operands", at.inst.op_span, format!("{} must have an operand", at.inst.opcode));
        };
        let value = operand.val.clone();
        self.check(&value, shape, at.inst.shape_span).map(|()| value)
    }

    /// Lowers a reinterpretation of the same bytes as another shape. The layouts determine the order of
    /// elements in memory.
    fn bitcast(&mut self, result: &Shape, g: &AttrReader<'_, 's>, at: &At<'_, 's>) -> Lowered<Val> {
        let ([Shaped { val: Val::One(from), shape }], Some(Some(ty)), Some(to)) =
            (at.operands, g.operands.first(), result.tensor())
        else {
            return wrong("operands", at.inst.op_span, "bitcast must have one operand, a tensor");
        };
        let bits = [ty.dtype.bits(), to.dtype.bits()].map(|bits| bits as usize);
        let count = |ty: &TensorType| ty.static_sizes().map(|sizes| sizes.iter().product::<usize>());
        // Several elements in a byte are packed: `s4[16]{0:E(4)}` has the bytes of `s8[8]`.
        let size = |ty: &TensorType, bits: usize| count(ty).and_then(|n| n.checked_mul(bits));
        let sizes = [size(ty, bits[0]), size(to, bits[1])];
        if sizes[0].is_none() || sizes[0] != sizes[1] {
            let message =
                format!("bitcast must keep the size in bytes, but {shape} and {result} differ in size");
            return wrong("type-mismatch", at.inst.shape_span, message);
        }
        // Dimensions from major to minor.
        let order = |shape: &Shape| -> Vec<usize> { shape.layout().into_iter().rev().collect() };
        let (before, after) = (order(shape), order(result));
        let permuted = |ty: &TensorType, order: &[usize]| ty.with_dims(order.iter().map(|d| ty.dim(*d)));
        let (region, span) = (at.region, at.inst.op_span);
        let (mut value, mut ty) = (*from, ty.clone());
        let mut step = |this: &mut Self, op: Op, to: TensorType| {
            let moves = match &op {
                Op::Transpose { permutation } => !permutation.iter().copied().eq(0..to.rank()),
                _ => to != ty,
            };
            if moves {
                value = this.one(op, [value], to.clone(), region, span);
                ty = to;
            }
            value
        };
        let in_memory = permuted(g.operands[0].as_ref().unwrap_or(to), &before);
        step(self, Op::Transpose { permutation: before }, in_memory.clone());
        // If one element becomes several, the result has a new last dimension for these elements. If several
        // elements become one, a reshape first makes them the last dimension.
        let mut sizes = in_memory.sizes().to_vec();
        if bits[0] > bits[1] {
            sizes.push(bits[0] / bits[1]);
        } else if bits[0] < bits[1] {
            let ratio = bits[1] / bits[0];
            sizes = vec![sizes.iter().product::<usize>() / ratio];
            step(self, Op::Reshape, TensorType::new(in_memory.dtype, [sizes[0], ratio]));
        }
        let converted = TensorType::new(to.dtype, sizes);
        step(self, Op::BitcastConvert, converted);
        step(self, Op::Reshape, permuted(to, &after));
        let mut permutation = vec![0; after.len()];
        after.iter().enumerate().for_each(|(i, d)| permutation[*d] = i);
        Ok(Val::One(step(self, Op::Transpose { permutation }, to.clone())))
    }

    // --- random numbers and the largest elements

    /// Lowers `rng`. The shape of the result becomes an operand.
    fn rng(&mut self, shape: &Shape, g: &mut AttrReader<'_, 's>, at: &At<'_, 's>) -> Lowered<Val> {
        let mut value = g.required("distribution")?;
        let all = [RngDistribution::Uniform, RngDistribution::Normal];
        let word = value.word()?;
        let found = all.into_iter().find(|d| format!("rng_{}", d.name().to_ascii_lowercase()) == word);
        let Some(distribution) = found else {
            return wrong(
                "attribute",
                g.span,
                format!("rng: the distribution must be rng_uniform or rng_normal, not {word}"),
            );
        };
        let Some(sizes) = shape.tensor().and_then(TensorType::static_sizes) else {
            return wrong("unsupported", at.inst.shape_span, "rng must return a tensor of static dimensions");
        };
        let mut values = self.flat_operands(at)?;
        // Old texts have the shape as an operand, too.
        values.truncate(2);
        let dims: Vec<i64> = sizes.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect();
        let dims = Literal::from_slice(DType::S64, [dims.len()], &dims);
        let ty = dims.ty();
        values.push(self.one(Op::Constant(dims), [], ty, at.region, at.inst.op_span));
        self.push(at.op(Op::Rng(distribution), values), shape, at.region)
    }

    /// Lowers `topk`. The smallest elements are found as the largest elements in the inverse order.
    fn top_k(&mut self, shape: &Shape, g: &mut AttrReader<'_, 's>, at: &At<'_, 's>) -> Lowered<Val> {
        // In a module, `top_k` is always stable: of equal elements, the first ones are taken.
        g.take("is_stable");
        let k = g.required("k")?.usize()?;
        let largest = g.read("largest", super::attribute_fields::flag)?.unwrap_or(true);
        let [Shaped { val: Val::One(x), .. }] = at.operands else {
            return wrong("operands", at.inst.op_span, "topk must have one operand, a tensor");
        };
        if largest {
            return self.push(at.op(Op::TopK { k }, [*x]), shape, at.region);
        }
        let (Some(Some(ty)), Some([values, indices])) = (g.operands.first(), shape.parts()) else {
            return wrong("type-mismatch", at.inst.shape_span, "topk must return values and indices");
        };
        let turn = if ty.dtype.is_float() { Unary::Negate } else { Unary::Not };
        let turned = self.one(Op::Unary(turn), [*x], ty.clone(), at.region, at.inst.op_span);
        let types = [values.ty(), indices.ty()];
        let id = self.func.push(at.region, at.op(Op::TopK { k }, [turned]), types);
        let found = self.func.inst(id).results().to_vec();
        let back = self.one(Op::Unary(turn), [found[0]], values.ty(), at.region, at.inst.op_span);
        Ok(Val::Tuple(Rc::new([Val::One(back), Val::One(found[1])])))
    }

    // --- custom calls

    fn custom_call(&mut self, shape: &Shape, g: &mut AttrReader<'_, 's>, at: &At<'_, 's>) -> Lowered<Val> {
        let mut called = Vec::new();
        let mut call = calls::read(g, &mut called)?;
        let mut values = Vec::new();
        for operand in at.operands {
            let value = self.packed(&operand.val, at)?;
            values.push(value);
        }
        if let Some(op) = calls::operation(&call, shape) {
            return self.push(at.op(op, values), shape, at.region);
        }
        for (name, span) in called {
            let computation = self.computation(name, span)?;
            let callee = self.callee(computation);
            call.called_computations.push(callee);
        }
        let op = Op::CustomCall(Box::new(call));
        // Only the outer tuple of results is flattened. Nested tuples stay tuples, because the call's aliases
        // refer to results by their positions.
        let shapes = match shape {
            Shape::Tuple(parts) => parts.to_vec(),
            one => vec![one.clone()],
        };
        let types: Vec<Type> = shapes.iter().map(Shape::ty).collect();
        let id = self.func.push(at.region, at.op(op, values), types);
        let results = self.func.inst(id).results().to_vec();
        let parts: Vec<Val> =
            results.into_iter().zip(&shapes).map(|(v, shape)| self.unpacked(v, shape, at)).collect();
        Ok(match (shape, parts.as_slice()) {
            (Shape::Tuple(_), _) => Val::Tuple(parts.into()),
            (_, [one]) => one.clone(),
            _ => Val::Unknown,
        })
    }
}
