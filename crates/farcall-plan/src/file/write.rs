//! Writes plans to files.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use farcall_ir::eval::{Denormals, Semantics};
use farcall_ir::sharding::{ProgramSharding, TileAssignment};
use farcall_ir::{Literal, Module, Op, Source, Span, TensorType, Type, text};

use super::{DATA, FORMAT, LITERALS, MAGIC, OPERATIONS, PLAN, SOURCES, TYPES};
use crate::{
    Base, BlockChoice, BlockDecision, Body, CallSpec, Combine, Compute, DeviceNumber, ParamSpec, Plan,
    ReferenceSite, Skipped, TensorSlice, Thunk, ThunkOp,
};
use farcall_host::registry::Rank;

pub(super) fn plan(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let mut w = Writer::default();
    w.plan(plan)?;
    out.write_all(&MAGIC)?;
    out.write_all(&FORMAT.to_le_bytes())?;
    let mut writer = Bytes::default();
    writer.text(env!("CARGO_PKG_VERSION"))?;
    out.write_all(&writer.0)?;
    section(out, SOURCES, &w.source_section()?)?;
    section(out, TYPES, &w.type_section()?)?;
    section(out, OPERATIONS, &w.op_section()?)?;
    let (types, length) = w.literal_section()?;
    section(out, LITERALS, &types)?;
    section(out, PLAN, &w.out.0)?;
    out.write_all(DATA)?;
    out.write_all(&length.to_le_bytes())?;
    for literal in &w.literals {
        out.write_all(if literal.is_splat() { literal.element(0) } else { literal.bytes() })?;
    }
    Ok(())
}

fn section(out: &mut dyn Write, tag: &[u8; 4], contents: &[u8]) -> io::Result<()> {
    out.write_all(tag)?;
    out.write_all(&(contents.len() as u64).to_le_bytes())?;
    out.write_all(contents)
}

fn unwritable(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("the plan cannot be written: {}", message.into()))
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u8(&mut self, x: u8) {
        self.0.push(x);
    }

    fn flag(&mut self, x: bool) {
        self.u8(u8::from(x));
    }

    fn u32(&mut self, x: u32) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    fn u64(&mut self, x: usize) {
        self.0.extend_from_slice(&(x as u64).to_le_bytes());
    }

    fn i32(&mut self, x: i32) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    fn i64(&mut self, x: i64) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    /// Writes a count of items, or the number of an item.
    fn number(&mut self, n: usize) -> io::Result<()> {
        self.u32(u32::try_from(n).map_err(|_| unwritable("there are more than 2^32 items of a kind"))?);
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.number(text.len())?;
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn span(&mut self, span: Span) {
        self.u32(span.start);
        self.u32(span.end);
    }
}

/// Tables of the items that the plan refers to by number, and the plan itself.
#[derive(Default)]
struct Writer<'p> {
    out: Bytes,
    sources: Vec<&'p Arc<Source>>,
    types: Vec<Type>,
    type_numbers: HashMap<Type, u32>,
    /// The texts of the operations. Some texts can only be read with the types of the operands; the list then
    /// has the numbers of these types.
    ops: Vec<(String, Vec<u32>)>,
    op_numbers: HashMap<(Op, Vec<Type>), u32>,
    literals: Vec<&'p Literal>,
}

impl<'p> Writer<'p> {
    // --- sections

    fn source_section(&self) -> io::Result<Vec<u8>> {
        let mut out = Bytes::default();
        out.number(self.sources.len())?;
        for source in &self.sources {
            out.text(source.name())?;
            out.number(source.lines_before())?;
            out.text(source.text())?;
        }
        Ok(out.0)
    }

    fn type_section(&self) -> io::Result<Vec<u8>> {
        let mut out = Bytes::default();
        out.number(self.types.len())?;
        self.types.iter().try_for_each(|ty| out.text(&ty.to_string()))?;
        Ok(out.0)
    }

    fn op_section(&self) -> io::Result<Vec<u8>> {
        let mut out = Bytes::default();
        out.number(self.ops.len())?;
        for (text, types) in &self.ops {
            out.text(text)?;
            out.number(types.len())?;
            types.iter().for_each(|ty| out.u32(*ty));
        }
        Ok(out.0)
    }

    /// Returns the section with the types of the constants, and the number of bytes that the elements take.
    fn literal_section(&mut self) -> io::Result<(Vec<u8>, u64)> {
        let mut length = 0;
        let mut out = Bytes::default();
        out.number(self.literals.len())?;
        for literal in self.literals.clone() {
            let splat = literal.is_splat();
            length += if splat { literal.dtype().size() } else { literal.byte_len() } as u64;
            // The method `literal` has entered the type of every constant into the table.
            let ty = self.type_numbers.get(&Type::Tensor(literal.ty())).copied();
            out.u32(ty.ok_or_else(|| unwritable("a constant has no type"))?);
            out.flag(splat);
        }
        Ok((out.0, length))
    }

    // --- numbers

    fn source(&mut self, source: &'p Arc<Source>) -> io::Result<()> {
        let known = self.sources.iter().position(|s| Arc::ptr_eq(s, source) || *s == source);
        let number = known.unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        self.out.number(number)
    }

    fn type_number(&mut self, ty: &Type) -> io::Result<u32> {
        if let Some(number) = self.type_numbers.get(ty) {
            return Ok(*number);
        }
        if ty.to_string().parse::<Type>().ok().as_ref() != Some(ty) {
            return Err(unwritable(format!("the type {ty} has no text that reads as the same")));
        }
        let number =
            u32::try_from(self.types.len()).map_err(|_| unwritable("there are more than 2^32 types"))?;
        self.types.push(ty.clone());
        self.type_numbers.insert(ty.clone(), number);
        Ok(number)
    }

    fn ty(&mut self, ty: &Type) -> io::Result<()> {
        let number = self.type_number(ty)?;
        self.out.u32(number);
        Ok(())
    }

    fn tensor(&mut self, ty: &TensorType) -> io::Result<()> {
        self.ty(&Type::Tensor(ty.clone()))
    }

    fn type_list(&mut self, types: &[Type]) -> io::Result<()> {
        self.out.number(types.len())?;
        types.iter().try_for_each(|ty| self.ty(ty))
    }

    /// Writes an operation. The types of the operands are only written if the operation cannot be read
    /// without them.
    fn op(&mut self, op: &Op, operands: Vec<Type>) -> io::Result<()> {
        let text = text::print_op(op);
        let reads = |types: &[Type]| text::parse_op(&text, types).ok().as_ref() == Some(op);
        let alone = (op.clone(), Vec::new());
        if let Some(number) = self.op_numbers.get(&alone) {
            self.out.u32(*number);
            return Ok(());
        }
        let key = if reads(&[]) { alone } else { (op.clone(), operands) };
        let number = match self.op_numbers.get(&key) {
            Some(number) => *number,
            None => {
                if !key.1.is_empty() && !reads(&key.1) {
                    return Err(unwritable(format!("{} has no text that reads as the same", op.name())));
                }
                let number = u32::try_from(self.ops.len())
                    .map_err(|_| unwritable("there are more than 2^32 operations"))?;
                let types = key.1.iter().map(|ty| self.type_number(ty)).collect::<io::Result<_>>()?;
                self.ops.push((text, types));
                self.op_numbers.insert(key, number);
                number
            }
        };
        self.out.u32(number);
        Ok(())
    }

    fn literal(&mut self, literal: &'p Literal) -> io::Result<()> {
        self.type_number(&Type::Tensor(literal.ty()))?;
        self.out.number(self.literals.len())?;
        self.literals.push(literal);
        Ok(())
    }

    // --- the plan

    fn plan(&mut self, plan: &'p Plan) -> io::Result<()> {
        self.out.u64(plan.parts.arena_size);
        self.out.flag(plan.parts.numerics.denormals == Denormals::Flush);
        self.out.flag(plan.parts.numerics.semantics == Semantics::StableHlo);
        self.out.text(plan.parts.platform.name())?;
        self.out.u64(plan.parts.grid.replicas);
        self.out.u64(plan.parts.grid.partitions);
        self.out.flag(plan.parts.sharding.is_some());
        if let Some(ProgramSharding { inputs, results }) = &plan.parts.sharding {
            self.assignments(inputs)?;
            self.assignments(results)?;
        }
        self.source(&plan.parts.source)?;
        self.out.number(plan.parts.params.len())?;
        plan.parts.params.iter().try_for_each(|p| self.param(p))?;
        self.out.number(plan.parts.constants.len())?;
        plan.parts.constants.iter().try_for_each(|c| self.literal(c))?;
        self.out.number(plan.parts.numbers.len())?;
        plan.parts.numbers.iter().try_for_each(|n| self.literal(n))?;
        self.out.number(plan.parts.calls.len())?;
        plan.parts.calls.iter().try_for_each(|c| self.call(c))?;
        self.out.number(plan.parts.references.len())?;
        plan.parts.references.iter().try_for_each(|r| self.reference(r))?;
        self.out.number(plan.parts.blocks.len())?;
        plan.parts.blocks.iter().try_for_each(|b| self.block(b))?;
        self.buffers(&plan.parts.results)?;
        self.out.number(plan.parts.cuts.len())?;
        for cut in &plan.parts.cuts {
            [cut.result, cut.dim, cut.size].into_iter().try_for_each(|n| self.out.number(n))?;
        }
        self.sequence(&plan.parts.thunks)
    }

    fn param(&mut self, param: &'p ParamSpec) -> io::Result<()> {
        self.tensor(&param.ty)?;
        self.out.flag(param.donated);
        self.out.flag(param.name.is_some());
        param.name.iter().try_for_each(|name| self.out.text(name))?;
        self.out.flag(param.known.is_some());
        param.known.iter().try_for_each(|known| self.literal(known))
    }

    fn call(&mut self, spec: &CallSpec) -> io::Result<()> {
        self.op(&Op::CustomCall(Box::new(spec.call.clone())), spec.operands.clone())?;
        self.type_list(&spec.operands)?;
        self.type_list(&spec.results)?;
        self.out.text(&spec.place)?;
        self.out.flag(spec.span.is_some());
        spec.span.iter().for_each(|span| self.out.span(*span));
        Ok(())
    }

    fn block(&mut self, block: &BlockDecision) -> io::Result<()> {
        self.out.text(&block.tag)?;
        self.out.i64(block.version);
        self.type_list(&block.operands)?;
        self.type_list(&block.results)?;
        self.out.text(&block.place)?;
        self.out.flag(block.span.is_some());
        block.span.iter().for_each(|span| self.out.span(*span));
        self.out.number(block.skipped.len())?;
        for Skipped { rank, origin, reason } in &block.skipped {
            self.rank(*rank);
            self.out.text(origin)?;
            self.out.text(reason)?;
        }
        match &block.choice {
            BlockChoice::DefaultBody { reason } => {
                self.out.flag(false);
                self.out.text(reason)
            }
            BlockChoice::Call { rank, origin, target, library, api_version } => {
                self.out.flag(true);
                self.rank(*rank);
                [origin, target, library].into_iter().try_for_each(|text| self.out.text(text))?;
                self.out.flag(api_version.is_some());
                api_version.iter().for_each(|(major, minor)| {
                    self.out.i32(*major);
                    self.out.i32(*minor);
                });
                Ok(())
            }
        }
    }

    fn rank(&mut self, rank: Rank) {
        // The position in `Rank::VARIANTS`.
        self.out.u8(rank as u8);
    }

    fn reference(&mut self, site: &'p ReferenceSite) -> io::Result<()> {
        self.module(&site.program)?;
        self.out.number(site.calls.len())?;
        for call in &site.calls {
            let place = site.call(call).map(|(place, _)| place);
            self.out.number(call.func.index())?;
            self.out.number(
                place.ok_or_else(|| {
                    unwritable("a nested call refers to an instruction that does not exist")
                })?,
            )?;
            self.out.flag(call.side_effect);
            self.plan(&call.plan)?;
        }
        Ok(())
    }

    /// Writes a module: its own text, and the span of each instruction in the program's text.
    fn module(&mut self, module: &'p Module) -> io::Result<()> {
        let text = text::print(module);
        let read = text::parse(&Source::new("<plan>", text.as_str()));
        if read.ok().as_ref() != Some(module) {
            return Err(unwritable("an instruction for the evaluator has no text that reads as the same"));
        }
        self.source(&module.source)?;
        self.out.text(&text)?;
        for func in module.funcs() {
            self.out.span(func.span);
            func.walk(&mut |inst| self.out.span(inst.span()));
        }
        Ok(())
    }

    fn buffers(&mut self, buffers: &[TensorSlice]) -> io::Result<()> {
        self.out.number(buffers.len())?;
        for buffer in buffers {
            let (kind, number) = match buffer.slice.base {
                Base::Arena => (0, 0),
                Base::Constant(id) => (1, id.index()),
                Base::Param(id) => (2, id.index()),
                Base::Result(id) => (3, id.index()),
                Base::Stack => (4, 0),
                Base::Iota(dim) => (5, dim as usize),
                Base::Number(id) => (6, id.index()),
            };
            self.out.u8(kind);
            self.out.number(number)?;
            self.out.u64(buffer.slice.offset);
            self.out.u64(buffer.slice.size);
            self.tensor(&buffer.ty)?;
        }
        Ok(())
    }

    fn sequence(&mut self, thunks: &[Thunk]) -> io::Result<()> {
        self.out.number(thunks.len())?;
        for thunk in thunks {
            self.thunk_op(thunk)?;
            self.buffers(&thunk.inputs)?;
            self.buffers(&thunk.outputs)?;
            self.out.span(thunk.span);
            self.out.flag(thunk.loc.is_some());
            thunk.loc.iter().try_for_each(|loc| self.out.text(loc))?;
            self.out.number(thunk.bodies.len())?;
            thunk.bodies.iter().try_for_each(|body| self.sequence(body))?;
        }
        Ok(())
    }

    fn thunk_op(&mut self, thunk: &Thunk) -> io::Result<()> {
        match &thunk.op {
            ThunkOp::Compute(compute) => {
                self.out.u8(0);
                return self.compute(thunk, compute);
            }
            ThunkOp::Copy => self.out.u8(1),
            ThunkOp::While => self.out.u8(2),
            ThunkOp::Case => self.out.u8(3),
            ThunkOp::CustomCall(call) => {
                self.out.u8(4);
                self.out.number(call.id.index())?;
                self.out.number(call.aliases.len())?;
                for (output, input) in &call.aliases {
                    self.out.number(*output)?;
                    self.out.number(*input)?;
                }
                self.out.flag(call.side_effect);
            }
            ThunkOp::Reference(id) => {
                self.out.u8(5);
                self.out.number(id.index())?;
            }
            ThunkOp::Collective(collective) => {
                self.out.u8(6);
                let types = thunk.inputs.iter().map(|b| Type::Tensor(b.ty.clone())).collect();
                self.op(&collective.op, types)?;
                self.out.flag(collective.combine.is_some());
                if let Some(Combine { compute, ty }) = &collective.combine {
                    self.tensor(ty)?;
                    self.kernel(compute, vec![Type::Tensor(ty.clone()); 2])?;
                }
            }
            ThunkOp::DeviceNumber(number) => {
                self.out.u8(7);
                self.out.flag(*number == DeviceNumber::Partition);
            }
        }
        Ok(())
    }

    fn assignments(&mut self, assignments: &[TileAssignment]) -> io::Result<()> {
        self.out.number(assignments.len())?;
        for TileAssignment { sizes, tiles, summands, copies, devices } in assignments {
            self.out.number(sizes.len())?;
            sizes.iter().try_for_each(|n| self.out.number(*n))?;
            self.out.number(tiles.len())?;
            tiles.iter().try_for_each(|n| self.out.number(*n))?;
            self.out.number(*summands)?;
            self.out.number(*copies)?;
            self.out.number(devices.len())?;
            devices.iter().try_for_each(|n| self.out.number(*n))?;
        }
        Ok(())
    }

    fn compute(&mut self, thunk: &Thunk, compute: &Compute) -> io::Result<()> {
        self.kernel(compute, thunk.inputs.iter().map(|b| Type::Tensor(b.ty.clone())).collect())
    }

    /// Writes a kernel with an operation on operands of these types.
    fn kernel(&mut self, compute: &Compute, types: Vec<Type>) -> io::Result<()> {
        self.out.text(compute.kernel.name())?;
        self.op(&compute.op, types)?;
        self.out.flag(compute.scratch);
        self.out.number(compute.bodies.len())?;
        compute.bodies.iter().try_for_each(|body| self.body(body))
    }

    fn body(&mut self, body: &Body) -> io::Result<()> {
        self.out.number(body.args.len())?;
        body.args.iter().try_for_each(|ty| self.tensor(ty))?;
        self.out.number(body.insts.len())?;
        let mut types = body.args.clone();
        for inst in &body.insts {
            let operands = inst.operands.iter().filter_map(|i| types.get(*i).cloned().map(Type::Tensor));
            self.op(&inst.op, operands.collect())?;
            self.out.number(inst.operands.len())?;
            inst.operands.iter().try_for_each(|i| self.out.number(*i))?;
            self.tensor(&inst.ty)?;
            self.out.flag(inst.reducer.is_some());
            if let Some(op) = &inst.reducer {
                let element = Type::Tensor(TensorType::scalar(inst.ty.dtype));
                self.op(op, vec![element.clone(), element])?;
            }
            types.push(inst.ty.clone());
        }
        self.out.number(body.returned.len())?;
        body.returned.iter().try_for_each(|i| self.out.number(*i))
    }
}
