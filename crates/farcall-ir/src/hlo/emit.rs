//! Prints instructions as HLO text, operation by operation.

use super::attribute_fields::AttrWriter;
use super::calls;
use super::control::COMPOSITE;
use super::header::FRONTEND;
use super::hooks;
use super::print::{Body, NoHlo, Printed, Printer, context, put_all, put_frontend};
use super::shape::{self, Shape};
use super::table::{self, Form, Row};
use crate::attr::{AttrDict, Attribute, Dict};
use crate::module::{Inst, ValueId};
use crate::op::{Composite, CustomCall, Op, Transfer, Unary};
use crate::types::TensorType;

impl<'m> Printer<'m> {
    /// Prints one instruction, preceded by the instructions that it requires.
    pub(super) fn instruction(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        // HLO has no captured operands. Only a loop can be printed with captured operands: the loop carries
        // them like other values that it uses from outside. A scan has been expanded to such a loop.
        if !inst.captures().is_empty() && *inst.op() != Op::While {
            return self.fail(inst.span(), "the middle form has no HLO text: its regions capture operands");
        }
        match inst.op() {
            Op::Constant(literal) => self.constant(body, inst, literal),
            Op::Elided(ty) => self.elided(body, inst, ty),
            Op::If | Op::Case => self.conditional(body, inst),
            Op::While => self.while_loop(body, inst),
            Op::Call { callee } => {
                let mut out = AttrWriter::default();
                out.put("to_apply", self.callee(*callee));
                self.plain(body, inst, "call", out)
            }
            Op::Composite(op) => self.composite(body, inst, op),
            Op::CustomCall(call) => self.custom_call(body, inst, call),
            Op::Transfer(op) => self.transfer(body, inst, op),
            Op::Tuple => self.plain(body, inst, "tuple", AttrWriter::default()),
            Op::Copy => self.plain(body, inst, "copy", AttrWriter::default()),
            Op::GetTupleElement { index } => {
                let mut out = AttrWriter::default();
                out.put("index", index);
                self.plain(body, inst, "get-tuple-element", out)
            }
            Op::CreateToken => self.plain(body, inst, "after-all", AttrWriter::default()),
            Op::AsyncStart => self.async_start(body, inst),
            Op::AsyncDone => self.async_done(body, inst),
            Op::TopK { k } => {
                let mut out = AttrWriter::default();
                out.put("k", k);
                out.put("largest", true);
                self.plain(body, inst, "topk", out)
            }
            Op::Rng(distribution) => {
                let mut out = AttrWriter::default();
                out.put("distribution", format_args!("rng_{}", distribution.name().to_ascii_lowercase()));
                let bounds =
                    self.operands(body, &inst.operands()[..2.min(inst.operands().len())], inst.span())?;
                self.define_inst(body, inst, "rng", &bounds, out)
            }
            Op::OptimizationBarrier => self.barrier(body, inst),
            Op::BroadcastInDim { dims } => self.broadcast_in_dim(body, inst, dims),
            Op::Select | Op::Clamp => self.same_shapes(body, inst),
            Op::Unary(Unary::Square) => {
                let x = self.operand(body, inst.operands()[0], inst.span())?;
                self.define_inst(body, inst, "multiply", &[x.clone(), x], AttrWriter::default())
            }
            Op::Unary(Unary::Atan) => self.atan(body, inst),
            op => match table::of_op(op) {
                Some(row) => self.row(body, inst, row),
                None => self.without_opcode(body, inst),
            },
        }
    }

    /// Prints an instruction as one HLO instruction with the same operands and results.
    fn plain(&mut self, body: &mut Body, inst: Inst<'m>, opcode: &str, out: AttrWriter) -> Printed<()> {
        let operands = self.operands(body, inst.operands(), inst.span())?;
        self.define_inst(body, inst, opcode, &operands, out)
    }

    /// Prints an instruction by its table row.
    fn row(&mut self, body: &mut Body, inst: Inst<'m>, row: &Row) -> Printed<()> {
        let mut out = AttrWriter::default();
        match (&row.form, inst.op()) {
            (_, Op::Convolution(op)) => {
                let kernel = inst.operands().get(1).and_then(|v| self.func.tensor(*v)?.static_sizes());
                let Some(kernel) = kernel else {
                    return self
                        .fail(inst.span(), "in HLO, the kernel of a convolution must have static sizes");
                };
                if op.dims.kernel_spatial.len() > 10 {
                    return self.fail(inst.span(), "HLO has convolutions of at most ten spatial dimensions");
                }
                hooks::write_convolution_of(op, kernel, &mut out);
            }
            (_, Op::AllToAll(op)) if op.split_dim != op.concat_dim => {
                let message = "HLO's all-to-all must split and join along the same dimension";
                return self.fail(inst.span(), message);
            }
            (_, Op::DotGeneral(op)) if op.algorithm.is_some() && hooks::algorithm_name(op).is_none() => {
                return self.fail(inst.span(), "HLO has no name for the algorithm of this product");
            }
            (_, Op::CollectiveBroadcast(op)) if op.dynamic_root => {
                return self.fail(inst.span(), "HLO's collective-broadcast has no dynamic root");
            }
            (Form::Attrs(syntax), op) => out.attrs(op, syntax, self.module),
            (Form::Hook(hook), op) => (hook.write)(op, &mut out),
        }
        for (key, region) in row.regions.iter().zip(inst.regions()) {
            let name = self.applied(region, inst.span())?;
            out.put(key, name);
        }
        self.plain(body, inst, row.opcode, out)
    }

    /// Prints an operation without an HLO opcode. A CHLO function becomes a custom call whose target is the
    /// function's name; the reader converts the call back.
    fn without_opcode(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        match inst.op() {
            Op::Unary(_) | Op::Binary(_) => {
                let mut out = AttrWriter::default();
                calls::write_stand_in(inst.op().name(), &mut out);
                self.plain(body, inst, "custom-call", out)
            }
            op => self.fail(inst.span(), format!("{} has no equivalent in HLO", op.name())),
        }
    }

    // --- elementwise

    /// Prints `atan` as `atan2(x, 1)`, because HLO only has the function of two numbers.
    fn atan(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let Some(ty) = self.func.tensor(inst.operands()[0]).filter(|t| t.dtype.is_float()).cloned() else {
            return self.without_opcode(body, inst);
        };
        let scalar = Shape::Tensor(TensorType::scalar(ty.dtype), None);
        let one = self.emit(body, &scalar, "constant", &["1".to_owned()], "");
        let one = self.broadcast(body, one, &ty);
        let x = self.operand(body, inst.operands()[0], inst.span())?;
        self.define_inst(body, inst, "atan2", &[x, one], AttrWriter::default())
    }

    /// Prints `select` and `clamp`. Scalar operands are broadcast, because HLO requires equal shapes.
    fn same_shapes(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let mut operands = self.operands(body, inst.operands(), inst.span())?;
        let result = inst.results().first().and_then(|v| self.func.tensor(*v)).cloned();
        for (operand, value) in operands.iter_mut().zip(inst.operands()) {
            if let (Some(from), Some(to)) = (self.func.tensor(*value), &result)
                && from.rank() == 0
                && to.rank() > 0
            {
                let to = to.with_dtype(from.dtype);
                *operand = self.broadcast(body, std::mem::take(operand), &to);
            }
        }
        let opcode = if *inst.op() == Op::Select { "select" } else { "clamp" };
        self.define_inst(body, inst, opcode, &operands, AttrWriter::default())
    }

    /// Prints a broadcast. HLO's `broadcast` does not expand dimensions of size 1, so a reshape removes them
    /// first.
    fn broadcast_in_dim(&mut self, body: &mut Body, inst: Inst<'m>, dims: &[usize]) -> Printed<()> {
        let mut operand = self.operand(body, inst.operands()[0], inst.span())?;
        let mut kept = dims.to_vec();
        let types =
            (self.func.tensor(inst.operands()[0]), inst.results().first().and_then(|v| self.func.tensor(*v)));
        if let (Some(from), Some(to)) = types {
            let repeated = |(i, d): (usize, &usize)| from.get_dim(i) != to.get_dim(*d);
            let keep: Vec<usize> = (0..dims.len()).filter(|i| !repeated((*i, &dims[*i]))).collect();
            if keep.len() < dims.len() {
                let part = from.with_dims(keep.iter().filter_map(|i| from.get_dim(*i)));
                operand = self.emit(body, &Shape::Tensor(part, None), "reshape", &[operand], "");
                kept = keep.iter().map(|i| dims[*i]).collect();
            }
        }
        let mut out = AttrWriter::default();
        out.list("dimensions", &kept);
        self.define_inst(body, inst, "broadcast", &[operand], out)
    }

    /// Prints a barrier. Several values pass through it as a tuple.
    fn barrier(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let operand = match inst.operands() {
            [one] => self.operand(body, *one, inst.span())?,
            many => self.tuple(body, many, inst.span(), "")?,
        };
        self.define_inst(body, inst, "opt-barrier", &[operand], AttrWriter::default())
    }

    // --- control

    /// Prints a conditional. Each branch takes a tuple of the values that it captures.
    fn conditional(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let mut operands = vec![self.operand(body, inst.operands()[0], inst.span())?];
        let mut names = Vec::new();
        for region in inst.regions() {
            let captured = self.captured(std::iter::once(region));
            names.push(self.closed(region, &captured, false, inst.span())?);
            operands.push(self.tuple(body, &captured, inst.span(), "")?);
        }
        let mut out = AttrWriter::default();
        match (inst.op(), names.as_slice()) {
            (Op::If, [yes, no]) => {
                out.put("true_computation", yes);
                out.put("false_computation", no);
            }
            _ => out.list("branch_computations", &names),
        }
        self.define_inst(body, inst, "conditional", &operands, out)
    }

    /// Prints a loop, which also carries the values that it captures.
    fn while_loop(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let captured = self.captured(inst.regions());
        let mut names = Vec::new();
        for (i, region) in inst.regions().enumerate() {
            names.push(self.closed(region, &captured, i == 1, inst.span())?);
        }
        let values: Vec<ValueId> = inst.operands().iter().chain(&captured).copied().collect();
        let shapes = values.iter().map(|v| self.shape(*v, inst.span())).collect::<Printed<Vec<_>>>()?;
        let operand = self.tuple(body, &values, inst.span(), "")?;
        let mut out = AttrWriter::default();
        out.put("condition", names.first().map_or("_", String::as_str));
        out.put("body", names.get(1).map_or("_", String::as_str));
        self.finish_loop(body, inst, shapes, &operand, out);
        Ok(())
    }

    fn finish_loop(
        &mut self,
        body: &mut Body,
        inst: Inst<'m>,
        shapes: Vec<Shape>,
        operand: &str,
        mut out: AttrWriter,
    ) {
        super::print::put_all(inst, &mut out);
        let shape = Shape::Tuple(shapes.clone().into());
        let tuple = self.emit(body, &shape, "while", &[operand.to_owned()], &out.0);
        self.elements(body, &tuple, inst.results(), &shapes);
    }

    fn composite(&mut self, body: &mut Body, inst: Inst<'m>, op: &Composite) -> Printed<()> {
        let mut out = AttrWriter::default();
        out.put("to_apply", self.callee(op.decomposition));
        out.put("is_composite", true);
        let mut dict = match inst.attrs().get(FRONTEND) {
            Some(Attribute::Dict(dict)) => dict.clone(),
            _ => AttrDict::new(),
        };
        let said = [op.name.clone(), Dict(&op.attrs).to_string(), op.version.to_string()];
        dict.extend(
            COMPOSITE.iter().zip(said).map(|(key, text)| ((*key).to_owned(), Attribute::string(text))),
        );
        put_frontend(&dict, &mut out);
        let operands = self.operands(body, inst.operands(), inst.span())?;
        let shapes =
            inst.results().iter().map(|v| self.shape(*v, inst.span())).collect::<Printed<Vec<_>>>()?;
        self.define(body, inst.results(), shapes, "call", &operands, &out.0);
        Ok(())
    }

    /// Prints the instructions of the region in place of the `async_start`: they do not run concurrently in
    /// the printed text.
    fn async_start(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let Some(region) = inst.region(0) else { return Err(NoHlo) };
        for (arg, operand) in region.args().iter().zip(inst.operands()) {
            body.alias(*arg, *operand);
        }
        for inner in region.insts().filter(|i| *i.op() != Op::Return) {
            self.instruction(body, inner)?;
        }
        body.futures.extend(inst.results().iter().map(|v| (*v, region.returned().to_vec())));
        Ok(())
    }

    fn async_done(&mut self, body: &mut Body, inst: Inst<'m>) -> Printed<()> {
        let found = inst.operands().first().and_then(|v| body.futures.get(v)).cloned();
        let Some(values) = found else {
            return self.fail(
                inst.span(),
                "async_done of a future that was not started here has no equivalent in HLO",
            );
        };
        for (result, value) in inst.results().iter().zip(values) {
            body.alias(*result, value);
        }
        Ok(())
    }

    // --- calls and transfers

    fn custom_call(&mut self, body: &mut Body, inst: Inst<'m>, call: &CustomCall) -> Printed<()> {
        let mut out = AttrWriter::default();
        calls::write(call, inst, &|id| self.callee(id), &mut out);
        super::print::put_all(inst, &mut out);
        let operands = self.operands(body, inst.operands(), inst.span())?;
        let mut shapes = Vec::new();
        for (i, value) in inst.results().iter().enumerate() {
            let ty = self.func.ty(*value);
            let layout = calls::result_layout(call, i).and_then(|layout| calls::layout_of(ty, layout));
            match shape::of(ty, layout) {
                Some(shape) => shapes.push(shape),
                None => return self.fail(inst.span(), format!("HLO has no type {ty}")),
            }
        }
        self.define(body, inst.results(), shapes, "custom-call", &operands, &out.0);
        Ok(())
    }

    fn transfer(&mut self, body: &mut Body, inst: Inst<'m>, op: &Transfer) -> Printed<()> {
        let at = inst.span();
        let (values, is_in) = match op {
            Transfer::Infeed { .. } | Transfer::Recv(_) => (inst.results(), true),
            Transfer::Outfeed { .. } | Transfer::Send(_) => (inst.operands(), false),
        };
        let Some((token, data)) = values.split_last() else { return Err(NoHlo) };
        let shapes = data.iter().map(|v| self.shape(*v, at)).collect::<Printed<Vec<_>>>()?;
        let shape = match shapes.as_slice() {
            [one] => one.clone(),
            _ => Shape::Tuple(shapes.clone().into()),
        };
        let mut out = AttrWriter::default();
        let opcode = match op {
            Transfer::Infeed { .. } => "infeed",
            Transfer::Outfeed { .. } => "outfeed",
            Transfer::Send(_) => "send",
            Transfer::Recv(_) => "recv",
        };
        match op {
            Transfer::Send(end) | Transfer::Recv(end) => {
                super::groups::write_channel(Some(end.channel), &mut out);
                out.flag("is_host_transfer", end.is_host);
            }
            _ => {
                if let Some(Form::Hook(hook)) = table::of_op(inst.op()).map(|row| &row.form) {
                    (hook.write)(inst.op(), &mut out);
                }
            }
        }
        put_all(inst, &mut out);
        if is_in {
            let operands = self.operands(body, inst.operands(), at)?;
            let whole = Shape::Tuple([shape.clone(), Shape::Token].into());
            let mut tuple = match op {
                Transfer::Recv(_) => {
                    let started = Shape::Tuple([shape.clone(), context(), Shape::Token].into());
                    self.emit(body, &started, opcode, &operands, &out.0)
                }
                _ => self.emit(body, &whole, opcode, &operands, &out.0),
            };
            if matches!(op, Transfer::Recv(_)) {
                tuple = self.emit(body, &whole, "recv-done", &[tuple], &out.0);
            }
            let all = [shape, Shape::Token];
            if let [one] = data {
                self.elements(body, &tuple, &[*one, *token], &all);
                return Ok(());
            }
            let first = format!("get-tuple-element({tuple})");
            let inner = self.name("get-tuple-element");
            self.line(body, &inner, &all[0], &first, ", index=0");
            self.elements(body, &inner, data, &shapes);
            let last = self.emit(body, &Shape::Token, "get-tuple-element", &[tuple], ", index=1");
            body.define_last(*token, last);
            return Ok(());
        }
        let operand = match data {
            [one] => self.operand(body, *one, at)?,
            many => self.tuple(body, many, at, "")?,
        };
        let token = self.operand(body, *token, at)?;
        let result = inst.results().first().copied();
        let name = if matches!(op, Transfer::Send(_)) {
            let started = Shape::Tuple([shape, context(), Shape::Token].into());
            let sent = self.emit(body, &started, opcode, &[operand, token], &out.0);
            self.emit(body, &Shape::Token, "send-done", &[sent], &out.0)
        } else {
            out.put("outfeed_shape", &shape);
            self.emit(body, &Shape::Token, opcode, &[operand, token], &out.0)
        };
        if let Some(result) = result {
            body.define_last(result, name);
        }
        Ok(())
    }
}
