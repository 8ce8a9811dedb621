//! Instructions that are not one operation each: parameters, constants, tuples, copies, pairs of a start and a done,
//! custom calls.

use std::rc::Rc;
use std::sync::Arc;

use farcall_sig::DType;

use super::calls;
use super::given::Given;
use super::groups;
use super::literal;
use super::lower::{At, Lowered, Lowering, Stop, Val, parameter_number, wrong};
use super::shape::Shape;
use super::table;
use crate::literal::Literal;
use crate::module::ValueId;
use crate::op::{Channel, Endpoint, Op, RngDistribution, Transfer, Unary};
use crate::types::{TensorType, Type};

impl<'s> Lowering<'_, 's> {
    /// An instruction that no row of the table describes; `None` for an unknown opcode.
    pub(super) fn special(
        &mut self,
        g: &mut Given<'_, 's>,
        operands: &[Val],
        args: &[Val],
        at: &mut At<'_, 's>,
    ) -> Option<Lowered<Val>> {
        Some(match at.inst.opcode {
            "parameter" => self.parameter(args, at),
            "constant" => self.constant(at),
            "tuple" => {
                let tuple = Val::Tuple(operands.into());
                self.check(&tuple, &at.inst.shape, at.inst.shape_span).map(|()| tuple)
            }
            "get-tuple-element" => self.get_tuple_element(g, operands, at),
            "copy" | "add-dependency" | "domain" => self.identity(operands, at),
            "bitcast" => self.bitcast(g, operands, at),
            "call" => self.call_of(g, operands, at),
            "while" => self.while_loop(g, operands, at),
            "conditional" => self.conditional(g, operands, at),
            "fusion" => self.fusion(g, operands, at),
            "async-start" | "async-update" | "async-done" => self.asynchronous(g, operands, at),
            "custom-call" => self.custom_call(g, operands, at),
            "rng" => self.rng(g, operands, at),
            "topk" => self.top_k(g, operands, at),
            "send" | "recv" | "send-done" | "recv-done" => self.transfer(g, operands, at),
            "copy-start" | "all-gather-start" | "all-reduce-start" | "collective-permute-start" => {
                self.start(g, operands, at)
            }
            "copy-done" | "all-gather-done" | "all-reduce-done" | "collective-permute-done" => {
                self.done(operands, at)
            }
            _ => return None,
        })
    }

    fn parameter(&mut self, args: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        let value = args.get(parameter_number(at.inst)?).cloned().unwrap_or(Val::Unknown);
        self.check(&value, &at.inst.shape, at.inst.shape_span).map(|()| value)
    }

    fn constant(&mut self, at: &At<'_, 's>) -> Lowered<Val> {
        match at.inst.shape.tensor() {
            Some(ty) => {
                let op = literal::constant(at.inst.args, ty)?;
                self.push(at.op(op, []), &at.inst.shape, at.region)
            }
            None => wrong("unsupported", at.inst.shape_span, "a constant is a tensor"),
        }
    }

    fn get_tuple_element(
        &mut self,
        g: &mut Given<'_, 's>,
        operands: &[Val],
        at: &At<'_, 's>,
    ) -> Lowered<Val> {
        let mut value = g.required("index")?;
        let (index, span) = (value.usize()?, value.span());
        value.finish()?;
        let part = match operands {
            [Val::Tuple(parts)] => match parts.get(index) {
                Some(part) => part.clone(),
                None => {
                    let message = format!("the tuple has {} elements, none of index {index}", parts.len());
                    return wrong("index", span, message);
                }
            },
            _ => {
                return wrong("type-mismatch", at.inst.op_span, "get-tuple-element has one operand, a tuple");
            }
        };
        self.check(&part, &at.inst.shape, at.inst.shape_span).map(|()| part)
    }

    /// The first operand.
    fn identity(&mut self, operands: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        let Some(value) = operands.first().cloned() else {
            return wrong("operands", at.inst.op_span, format!("{} has an operand", at.inst.opcode));
        };
        self.check(&value, &at.inst.shape, at.inst.shape_span).map(|()| value)
    }

    /// The same bytes as another shape. Elements are in the order of their places in memory, which layouts say.
    fn bitcast(&mut self, g: &Given<'_, 's>, operands: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        let ([Val::One(from)], Some(to)) = (operands, at.inst.shape.tensor()) else {
            return wrong("operands", at.inst.op_span, "bitcast has one operand, a tensor");
        };
        let (Some(Some(ty)), Some(shape)) = (g.operands.first(), &at.first) else {
            return wrong("operands", at.inst.op_span, "bitcast has one operand, a tensor");
        };
        if ty.bytes().is_none() || ty.bytes() != to.bytes() {
            let message = format!(
                "bitcast gives the same bytes another shape: {shape} is not of the size of {}",
                at.inst.shape
            );
            return wrong("type-mismatch", at.inst.shape_span, message);
        }
        let bits = [ty.dtype.bits(), to.dtype.bits()].map(|bits| bits as usize);
        if bits[0] != bits[1] && bits.iter().any(|bits| bits % 8 != 0) {
            let message = "bitcast to or from several elements in a byte is not supported";
            return wrong("unsupported", at.inst.shape_span, message);
        }
        // From major to minor.
        let order = |shape: &Shape| -> Vec<usize> { shape.layout().into_iter().rev().collect() };
        let (before, after) = (order(shape), order(&at.inst.shape));
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
        // An element becomes several, or several become one: the last dimension counts them.
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

    /// The shape, which is that of the result, is an operand here.
    fn rng(&mut self, g: &mut Given<'_, 's>, operands: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        let mut value = g.required("distribution")?;
        let all = [RngDistribution::Uniform, RngDistribution::Normal];
        let word = value.word()?;
        let found = all.into_iter().find(|d| format!("rng_{}", d.name().to_ascii_lowercase()) == word);
        let Some(distribution) = found else {
            return wrong(
                "attribute",
                g.span,
                format!("rng: a distribution is rng_uniform or rng_normal, not {word}"),
            );
        };
        let Some(sizes) = at.inst.shape.tensor().and_then(TensorType::static_sizes) else {
            return wrong("unsupported", at.inst.shape_span, "rng gives a tensor of static dimensions");
        };
        let mut values = Vec::new();
        for operand in operands {
            self.leaves(operand, at.inst.op_span, &mut values)?;
        }
        let dims: Vec<i64> = sizes.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect();
        let dims = Literal::from_slice(DType::S64, [dims.len()], &dims);
        let ty = dims.ty();
        values.push(self.one(Op::Constant(dims), [], ty, at.region, at.inst.op_span));
        self.push(at.op(Op::Rng(distribution), values), &at.inst.shape, at.region)
    }

    /// The smallest elements are the largest of what comes in the other order.
    fn top_k(&mut self, g: &mut Given<'_, 's>, operands: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        let k = g.required("k")?.usize()?;
        let largest = g.read("largest", super::given::flag)?.unwrap_or(true);
        let [Val::One(x)] = operands else {
            return wrong("operands", at.inst.op_span, "topk has one operand, a tensor");
        };
        if largest {
            return self.push(at.op(Op::TopK { k }, [*x]), &at.inst.shape, at.region);
        }
        let (Some(Some(ty)), Some([values, indices])) = (g.operands.first(), at.inst.shape.parts()) else {
            return wrong("type-mismatch", at.inst.shape_span, "topk gives values and indices");
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

    fn custom_call(&mut self, g: &mut Given<'_, 's>, operands: &[Val], at: &mut At<'_, 's>) -> Lowered<Val> {
        let mut called = Vec::new();
        let mut call = calls::read(g, &mut called)?;
        let mut values = Vec::new();
        for operand in operands {
            let value = self.packed(operand, at)?;
            values.push(value);
        }
        if let Some(op) = calls::operation(&call, &at.inst.shape) {
            return self.push(at.op(op, values), &at.inst.shape, at.region);
        }
        for (name, span) in called {
            let computation = self.computation(name, span)?;
            let callee = self.callee(computation);
            call.called_computations.push(callee);
        }
        let op = Op::CustomCall(Box::new(call));
        // A tuple of results is taken apart, tuples in it are not: the call says which memory they share by their place.
        let shapes = match &*at.inst.shape {
            Shape::Tuple(parts) => parts.to_vec(),
            one => vec![one.clone()],
        };
        let types: Vec<Type> = shapes.iter().map(Shape::ty).collect();
        let id = self.func.push(at.region, at.op(op, values), types);
        let results = self.func.inst(id).results().to_vec();
        let parts: Vec<Val> =
            results.into_iter().zip(&shapes).map(|(v, shape)| self.unpacked(v, shape, at)).collect();
        Ok(match (&*at.inst.shape, parts.as_slice()) {
            (Shape::Tuple(_), _) => Val::Tuple(parts.into()),
            (_, [one]) => one.clone(),
            _ => Val::Unknown,
        })
    }

    /// A value as one: a tuple is put together.
    fn packed(&mut self, value: &Val, at: &At<'_, 's>) -> Lowered<ValueId> {
        let Val::Tuple(parts) = value else {
            let mut one = Vec::new();
            self.leaves(value, at.inst.op_span, &mut one)?;
            return Ok(one[0]);
        };
        let parts = parts.iter().map(|part| self.packed(part, at)).collect::<Lowered<Vec<_>>>()?;
        // Each part counts, however often a tuple is an operand.
        self.leaves(value, at.inst.op_span, &mut Vec::new())?;
        let ty = Type::Tuple(parts.iter().map(|v| self.func.ty(*v).clone()).collect());
        Ok(self.one(Op::Tuple, parts, ty, at.region, at.inst.op_span))
    }

    /// A value that is a tuple, taken apart.
    fn unpacked(&mut self, value: ValueId, shape: &Shape, at: &At<'_, 's>) -> Val {
        let Shape::Tuple(parts) = shape else { return Val::One(value) };
        let parts = parts.iter().enumerate().map(|(index, part)| {
            let element =
                self.one(Op::GetTupleElement { index }, [value], part.ty(), at.region, at.inst.op_span);
            self.unpacked(element, part, at)
        });
        Val::Tuple(parts.collect())
    }

    // --- pairs of instructions: the first does all, the second gives what it gave

    /// A value that is of the shape that the text says.
    fn checked(&self, value: Val, at: &At<'_, 's>) -> Lowered<Val> {
        self.check(&value, &at.inst.shape, at.inst.shape_span).map(|()| value)
    }

    /// `send` and `recv`, which give a context besides.
    fn transfer(&mut self, g: &mut Given<'_, 's>, operands: &[Val], at: &mut At<'_, 's>) -> Lowered<Val> {
        let is_host = g.flag("is_host_transfer")?;
        // Number 0 is that of none.
        let mut channel = groups::read_channel(g)?.unwrap_or(Channel { handle: 0, kind: 1 });
        let opcode = at.inst.opcode;
        let part = |i: usize| match operands {
            [Val::Tuple(parts)] if parts.len() == 3 => parts.get(i).cloned(),
            _ => None,
        };
        match (opcode, part(0), part(2)) {
            ("send-done", _, Some(token)) => return self.checked(token, at),
            ("recv-done", Some(data), Some(token)) => {
                return self.checked(Val::Tuple(Rc::new([data, token])), at);
            }
            ("send-done" | "recv-done", _, _) => {
                return wrong(
                    "operands",
                    at.inst.op_span,
                    format!("{opcode} has one operand, a tuple of three"),
                );
            }
            _ => {}
        }
        if is_host {
            channel.kind = if opcode == "send" { 2 } else { 3 };
        }
        let end = Endpoint { channel, is_host, pairs: None };
        let mut values = Vec::new();
        for operand in operands {
            self.leaves(operand, at.inst.op_span, &mut values)?;
        }
        let Some([data, _, token]) = at.inst.shape.parts() else {
            return wrong("type-mismatch", at.inst.shape_span, format!("{opcode} gives a tuple of three"));
        };
        if opcode == "send" {
            let op = Op::Transfer(Box::new(Transfer::Send(end)));
            let sent = self.push(at.op(op, values), token, at.region)?;
            return Ok(Val::Tuple(Rc::new([Val::Nothing, Val::Nothing, sent])));
        }
        let op = Op::Transfer(Box::new(Transfer::Recv(end)));
        let shape = Shape::Tuple(Arc::new([data.clone(), token.clone()]));
        match self.push(at.op(op, values), &shape, at.region)? {
            Val::Tuple(parts) => Ok(Val::Tuple(Rc::new([parts[0].clone(), Val::Nothing, parts[1].clone()]))),
            other => Ok(other),
        }
    }

    fn start(&mut self, g: &mut Given<'_, 's>, operands: &[Val], at: &mut At<'_, 's>) -> Lowered<Val> {
        let opcode = at.inst.opcode;
        let second = at.inst.shape.parts().and_then(|parts| parts.get(1));
        // The operand, the result, contexts; an all-reduce gives its result alone.
        let result = match (opcode, second) {
            ("copy-start", _) => {
                return Ok(Val::Tuple(Rc::new([
                    Val::Nothing,
                    operands.first().cloned().unwrap_or(Val::Unknown),
                ])));
            }
            ("all-reduce-start", _) => at.inst.shape.clone(),
            (_, Some(second)) => Arc::new(second.clone()),
            _ => {
                return wrong(
                    "type-mismatch",
                    at.inst.shape_span,
                    format!("{opcode} gives its operand and its result"),
                );
            }
        };
        let name = opcode.trim_end_matches("-start");
        let Some(row) = table::of_opcode(name) else { return Err(Stop::Known) };
        let inst = super::syntax::Instruction { shape: result, ..at.inst.clone() };
        let at = At {
            inst: &inst,
            region: at.region,
            attrs: std::mem::take(&mut at.attrs),
            loc: at.loc.clone(),
            first: None,
        };
        let value = self.operation(row, g, operands, at)?;
        Ok(Val::Tuple(Rc::new([Val::Nothing, value])))
    }

    fn done(&mut self, operands: &[Val], at: &At<'_, 's>) -> Lowered<Val> {
        match operands {
            [Val::Tuple(parts)] if parts.len() == 2 && matches!(parts[0], Val::Nothing) => {
                self.check(&parts[1], &at.inst.shape, at.inst.shape_span).map(|()| parts[1].clone())
            }
            _ => {
                let message = format!("the operand of {} is what its start gave", at.inst.opcode);
                wrong("operands", at.inst.op_span, message)
            }
        }
    }
}
