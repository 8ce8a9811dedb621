//! Reads plans from untrusted bytes.

use std::io::{self, Read};
use std::sync::Arc;

use farcall_ir::bounded::Cut;
use farcall_ir::eval::{Denormals, Numerics, Semantics};
use farcall_ir::memory::{self, Charge, OutOfMemory};
use farcall_ir::middle::{self, MAX_NESTING};
use farcall_ir::op::CustomCall;
use farcall_ir::op::collective::Grid;
use farcall_ir::sharding::{ProgramSharding, TileAssignment};
use farcall_ir::verify::verify;
use farcall_ir::{
    Func, FuncId, InstId, Literal, Module, NewInst, Op, ProgramError, Scalar, Source, Span, TensorType, Type,
    text,
};

use super::{
    DATA, FORMAT, FileError, LITERALS, MAGIC, MAX_PLAN_NESTING, MAX_WRITER_BYTES, OPERATIONS, PLAN, SOURCES,
    TYPES,
};
use crate::{
    Base, BlockChoice, BlockDecision, Body, BodyInst, BufferSlice, CallId, CallSpec, CallThunk, Collective,
    Combine, Compute, ConstantId, DeviceNumber, KernelId, NestedCall, NumberId, ParamId, ParamSpec, Plan,
    PlanParts, ReferenceId, ReferenceSite, ResultId, Skipped, TensorSlice, Thunk, ThunkOp, ValidPlan,
};
use farcall_host::registry::{Platform, Rank};

type Reading<T> = Result<T, FileError>;

pub(super) fn plan(from: &mut dyn Read, length: Option<u64>) -> Reading<ValidPlan> {
    let mut input = Input { from, at: 0, left: length };
    input.header()?;
    let sources = input.section(SOURCES, "sources")?;
    let types = input.section(TYPES, "types")?;
    let ops = input.section(OPERATIONS, "operations")?;
    let literals = input.section(LITERALS, "constants")?;
    let plan = input.section(PLAN, "plan")?;
    let mut tables = Tables { sources: sources.bytes().sources()?, ..Tables::default() };
    tables.types = types.bytes().types()?;
    tables.ops = ops.bytes().ops(&tables.types)?;
    tables.literals = literals.bytes().literals(&tables.types, &mut input)?;
    input.end()?;
    let mut reader = Reader { bytes: plan.bytes(), tables: &tables, spent: 0 };
    let read = reader.plan(0)?;
    reader.bytes.end()?;
    Ok(read)
}

// --- the stream

/// The unread rest of a file.
struct Input<'r> {
    from: &'r mut dyn Read,
    at: u64,
    /// Number of bytes left, if known.
    left: Option<u64>,
}

/// A section of a file.
struct Section {
    name: &'static str,
    start: u64,
    data: Vec<u8>,
    /// Accounts for the memory of `data`.
    _charge: Charge,
}

impl Input<'_> {
    fn damaged<T>(&self, section: &'static str, message: impl Into<String>) -> Reading<T> {
        Err(FileError::Damaged { section, at: self.at, message: message.into() })
    }

    /// Returns an error if fewer than `n` bytes are left.
    fn has(&self, n: u64, section: &'static str) -> Reading<()> {
        match self.left {
            Some(left) if left < n => Err(FileError::Truncated { section, at: self.at + left }),
            _ => Ok(()),
        }
    }

    fn advance(&mut self, n: u64) {
        self.at += n;
        self.left = self.left.map(|left| left.saturating_sub(n));
    }

    fn fill(&mut self, out: &mut [u8], section: &'static str) -> Reading<()> {
        self.has(out.len() as u64, section)?;
        match self.from.read_exact(out) {
            Ok(()) => {
                self.advance(out.len() as u64);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(FileError::Truncated { section, at: self.at })
            }
            Err(e) => Err(e.into()),
        }
    }

    fn array<const N: usize>(&mut self, section: &'static str) -> Reading<[u8; N]> {
        let mut out = [0; N];
        self.fill(&mut out, section)?;
        Ok(out)
    }

    /// Reads `n` bytes. Memory is allocated as the bytes arrive.
    fn take(&mut self, n: u64, section: &'static str) -> Reading<Vec<u8>> {
        self.has(n, section)?;
        let mut data = Vec::new();
        let came = (&mut *self.from).take(n).read_to_end(&mut data)? as u64;
        self.advance(came);
        if came < n { Err(FileError::Truncated { section, at: self.at }) } else { Ok(data) }
    }

    /// Reads the magic bytes, the version of the format, and the version of the writer. Every version of the
    /// format begins with these.
    fn header(&mut self) -> Reading<()> {
        let mut magic = [0; MAGIC.len()];
        for (i, byte) in MAGIC.iter().enumerate() {
            self.fill(&mut magic[i..=i], "first bytes")?;
            if magic[i] != *byte {
                return Err(FileError::NotAPlan);
            }
        }
        let found = u32::from_le_bytes(self.array("header")?);
        let length = u32::from_le_bytes(self.array("header")?) as usize;
        if length > MAX_WRITER_BYTES {
            return self
                .damaged("header", format!("the writer's version is longer than {MAX_WRITER_BYTES} bytes"));
        }
        let writer = self.take(length as u64, "header")?;
        let writer = String::from_utf8_lossy(&writer).escape_debug().to_string();
        if found == FORMAT { Ok(()) } else { Err(FileError::Version { found, writer }) }
    }

    /// Reads the header of the next section, and returns the section's length.
    fn begin(&mut self, tag: &[u8; 4], name: &'static str) -> Reading<u64> {
        let found: [u8; 4] = self.array(name)?;
        if found != *tag {
            self.at -= 4;
            let (expected, found) = (tag.escape_ascii(), found.escape_ascii());
            return self.damaged(name, format!("section {expected} is expected here, not {found}"));
        }
        let length = u64::from_le_bytes(self.array(name)?);
        self.has(length, name)?;
        Ok(length)
    }

    fn section(&mut self, tag: &[u8; 4], name: &'static str) -> Reading<Section> {
        let length = self.begin(tag, name)?;
        let start = self.at;
        let bytes = usize::try_from(length).map_err(|_| OutOfMemory::uncountable());
        let charge =
            bytes.and_then(Charge::new).map_err(|e| out_of_memory(format!("the plan's {name}"), e))?;
        Ok(Section { name, start, data: self.take(length, name)?, _charge: charge })
    }

    fn end(&mut self) -> Reading<()> {
        match self.from.take(1).read_to_end(&mut Vec::new())? {
            0 => Ok(()),
            _ => self.damaged("constants", "the file continues after the end of the plan"),
        }
    }
}

fn out_of_memory(what: String, error: OutOfMemory) -> FileError {
    FileError::Memory { what, error }
}

impl Section {
    fn bytes(&self) -> Bytes<'_> {
        Bytes { section: self, pos: 0 }
    }
}

// --- numbers and texts

/// The unread rest of a section.
struct Bytes<'a> {
    section: &'a Section,
    pos: usize,
}

impl<'a> Bytes<'a> {
    fn damaged<T>(&self, message: impl Into<String>) -> Reading<T> {
        let Section { name, start, .. } = *self.section;
        Err(FileError::Damaged { section: name, at: start + self.pos as u64, message: message.into() })
    }

    fn left(&self) -> usize {
        self.section.data.len() - self.pos
    }

    fn take(&mut self, n: usize) -> Reading<&'a [u8]> {
        if n > self.left() {
            return self.damaged(format!("{n} bytes are expected, the section has {} more", self.left()));
        }
        let taken = &self.section.data[self.pos..self.pos + n];
        self.pos += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Reading<[u8; N]> {
        let taken = self.take(N)?;
        Ok(std::array::from_fn(|i| taken[i]))
    }

    fn u8(&mut self) -> Reading<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn flag(&mut self) -> Reading<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => self.damaged(format!("0 or 1 is expected, not {other}")),
        }
    }

    fn u32(&mut self) -> Reading<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn i64(&mut self) -> Reading<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    fn i32(&mut self) -> Reading<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    fn number(&mut self) -> Reading<usize> {
        Ok(self.u32()? as usize)
    }

    fn size(&mut self) -> Reading<usize> {
        let size = u64::from_le_bytes(self.array()?);
        usize::try_from(size).or_else(|_| self.damaged("a size does not fit into memory"))
    }

    /// Reads the number of items that follow, each of which takes at least `bytes` bytes.
    fn count(&mut self, bytes: usize) -> Reading<usize> {
        let n = self.number()?;
        if n > self.left() / bytes {
            return self.damaged(format!("{n} items do not fit into the {} remaining bytes", self.left()));
        }
        Ok(n)
    }

    fn list<T>(&mut self, bytes: usize, mut one: impl FnMut(&mut Self) -> Reading<T>) -> Reading<Vec<T>> {
        (0..self.count(bytes)?).map(|_| one(self)).collect()
    }

    /// Reads the index of one of `n` items.
    fn index(&mut self, n: usize, what: &str) -> Reading<usize> {
        let i = self.number()?;
        if i < n { Ok(i) } else { self.damaged(format!("there is no {what} {i}, only {n}")) }
    }

    fn text(&mut self) -> Reading<&'a str> {
        let length = self.number()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).or_else(|_| self.damaged("a text is not UTF-8"))
    }

    fn span(&mut self) -> Reading<Span> {
        Ok(Span { start: self.u32()?, end: self.u32()? })
    }

    fn parsed<T>(&self, what: &str, result: Result<T, ProgramError>) -> Reading<T> {
        result.or_else(|e| {
            let first = e.diagnostics.first().map_or("it is invalid", |d| d.message.as_str());
            self.damaged(format!("{what}: {}", farcall_ir::diag::shortened(first)))
        })
    }

    fn end(&self) -> Reading<()> {
        match self.left() {
            0 => Ok(()),
            n => self.damaged(format!("the section has {n} unexpected bytes at its end")),
        }
    }

    // --- sections

    fn sources(mut self) -> Reading<Vec<Arc<Source>>> {
        let sources = self.list(12, |b| {
            let (name, before, text) = (b.text()?, b.number()?, b.text()?);
            Ok(Source::part(name, text, before))
        })?;
        self.end().map(|()| sources)
    }

    fn types(mut self) -> Reading<Vec<Type>> {
        let types = self.list(4, |b| {
            let text = b.text()?;
            let ty = b.parsed("a type", text.parse::<Type>())?;
            if ty.tensors().all(TensorType::is_static) {
                Ok(ty)
            } else {
                b.damaged(format!("{ty} has a dynamic dimension"))
            }
        })?;
        self.end().map(|()| types)
    }

    fn ops(mut self, types: &[Type]) -> Reading<Vec<(Op, usize)>> {
        let ops = self.list(8, |b| {
            let text = b.text()?;
            let operands = b.list(4, |b| Ok(types[b.index(types.len(), "type")?].clone()))?;
            Ok((b.parsed("an operation", text::parse_op(text, &operands))?, text.len()))
        })?;
        self.end().map(|()| ops)
    }

    /// Reads the constants: their types from this section, their elements from the file.
    fn literals(mut self, types: &[Type], input: &mut Input<'_>) -> Reading<Vec<Literal>> {
        let described = self.list(5, |b| {
            let Type::Tensor(ty) = &types[b.index(types.len(), "type")?] else {
                return b.damaged("a constant is not a tensor");
            };
            let splat = b.flag()?;
            match ty.bytes().filter(|n| !splat || *n > 0) {
                Some(bytes) => Ok((ty, splat, if splat { ty.dtype.size() } else { bytes })),
                None => b.damaged(format!("a constant cannot be a {ty}")),
            }
        })?;
        self.end()?;
        let length = input.begin(DATA, "constants")?;
        let needed = described.iter().try_fold(0u64, |sum, (_, _, bytes)| sum.checked_add(*bytes as u64));
        if needed != Some(length) {
            return input
                .damaged("constants", format!("the elements of the constants cannot take {length} bytes"));
        }
        described.into_iter().map(|(ty, splat, bytes)| literal(ty, splat, bytes, input)).collect()
    }
}

/// Reads the elements of a constant of this type, which are `bytes` bytes of the file. For a splat, these are
/// the bytes of one element.
fn literal(ty: &TensorType, splat: bool, bytes: usize, input: &mut Input<'_>) -> Reading<Literal> {
    let refused = |e| out_of_memory(format!("a constant of type {ty}"), e);
    let literal = if splat {
        let mut element = [0; 16];
        input.fill(&mut element[..bytes], "constants")?;
        Literal::splat_of(ty.dtype, ty.sizes().into(), element).map_err(refused)?
    } else {
        let mut literal = Literal::try_zeros(ty.dtype, ty.sizes()).map_err(refused)?;
        input.fill(literal.bytes_mut(), "constants")?;
        literal
    };
    // An element of fewer than 8 bits is stored in a byte. Not every value of the byte is a valid element.
    if ty.dtype.bits() < 8 {
        let is_one = |byte: u8| {
            let mut canonical = [0];
            Scalar::from_bytes(ty.dtype, &[byte]).write(ty.dtype, &mut canonical);
            canonical == [byte]
        };
        let known: [bool; 256] = std::array::from_fn(|byte| is_one(byte as u8));
        let held = if splat { &literal.element(0)[..1] } else { literal.bytes() };
        if let Some(byte) = held.iter().find(|byte| !known[usize::from(**byte)]) {
            return input.damaged("constants", format!("{byte} is not a valid element of {ty}"));
        }
    }
    Ok(literal)
}

// --- the plan

/// Tables of the items that the plan refers to by number.
#[derive(Default)]
struct Tables {
    sources: Vec<Arc<Source>>,
    types: Vec<Type>,
    /// The operations, with the lengths of their texts.
    ops: Vec<(Op, usize)>,
    literals: Vec<Literal>,
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    tables: &'a Tables,
    /// Number of bytes that copies of operations take. An operation that is stored once may be copied often.
    spent: usize,
}

/// Maximum number of bytes of memory that one byte of an operation's text needs.
const MEMORY_BYTES_PER_TEXT_BYTE: usize = 8;

/// Number of items of each kind in a plan, to reject numbers that are out of range.
#[derive(Default)]
struct Counts {
    params: usize,
    constants: usize,
    numbers: usize,
    calls: usize,
    references: usize,
}

/// A thunk whose bodies are being read.
struct OpenThunk {
    thunk: Thunk,
    /// Number of bodies that have not begun.
    bodies: usize,
    /// The part of the enclosing sequence that was read before the thunk, and the number of thunks after it.
    before: Vec<Thunk>,
    after: usize,
}

impl Reader<'_> {
    fn source(&mut self) -> Reading<Arc<Source>> {
        let i = self.bytes.index(self.tables.sources.len(), "source")?;
        Ok(Arc::clone(&self.tables.sources[i]))
    }

    fn ty(&mut self) -> Reading<Type> {
        let i = self.bytes.index(self.tables.types.len(), "type")?;
        Ok(self.tables.types[i].clone())
    }

    fn tensor(&mut self) -> Reading<TensorType> {
        match self.ty()? {
            Type::Tensor(ty) => Ok(ty),
            other => self.bytes.damaged(format!("a tensor is expected, not a {other}")),
        }
    }

    fn op(&mut self) -> Reading<Op> {
        let (op, length) = &self.tables.ops[self.bytes.index(self.tables.ops.len(), "operation")?];
        self.spent = self.spent.saturating_add(length.saturating_mul(MEMORY_BYTES_PER_TEXT_BYTE));
        memory::admit(self.spent).map_err(|e| out_of_memory("the plan's operations".to_owned(), e))?;
        Ok(op.clone())
    }

    fn literal(&mut self) -> Reading<Literal> {
        let i = self.bytes.index(self.tables.literals.len(), "constant")?;
        Ok(self.tables.literals[i].clone())
    }

    fn list<T>(&mut self, bytes: usize, mut one: impl FnMut(&mut Self) -> Reading<T>) -> Reading<Vec<T>> {
        (0..self.bytes.count(bytes)?).map(|_| one(self)).collect()
    }

    fn optional<T>(&mut self, one: impl FnOnce(&mut Self) -> Reading<T>) -> Reading<Option<T>> {
        if self.bytes.flag()? { one(self).map(Some) } else { Ok(None) }
    }

    fn plan(&mut self, depth: usize) -> Reading<ValidPlan> {
        if depth > MAX_PLAN_NESTING {
            return self
                .bytes
                .damaged(format!("the plans of nested calls are nested deeper than {MAX_PLAN_NESTING}"));
        }
        let arena_size = self.bytes.size()?;
        let numerics = Numerics {
            denormals: if self.bytes.flag()? { Denormals::Flush } else { Denormals::Ieee },
            semantics: if self.bytes.flag()? { Semantics::StableHlo } else { Semantics::Xla },
        };
        let platform = Platform::from(self.bytes.text()?);
        let grid = Grid { replicas: self.bytes.size()?, partitions: self.bytes.size()? };
        let sharding = self.optional(|r| {
            let inputs = r.list(16, |r| r.assignment(grid))?;
            Ok(ProgramSharding { inputs, results: r.list(16, |r| r.assignment(grid))? })
        })?;
        let source = self.source()?;
        let params = self.list(7, Self::param)?;
        let constants = self.list(4, Self::literal)?;
        let numbers = self.list(4, Self::literal)?;
        let calls = self.list(17, Self::call)?;
        let references = self.list(12, |r| r.reference(depth))?;
        let blocks = self.list(31, Self::block)?;
        let counts = Counts {
            params: params.len(),
            constants: constants.len(),
            numbers: numbers.len(),
            calls: calls.len(),
            references: references.len(),
        };
        let results = self.buffers(&counts)?;
        let cuts = self.list(3, Self::cut)?;
        let thunks = self.sequence(&counts)?;
        let parts = PlanParts {
            arena_size,
            params,
            constants,
            numbers,
            results,
            cuts,
            thunks,
            calls,
            references,
            blocks,
            platform,
            numerics,
            grid,
            sharding,
            source,
        };
        Ok(Plan::from(parts).validate()?)
    }

    fn assignment(&mut self, grid: Grid) -> Reading<TileAssignment> {
        let sizes = self.list(4, |r| r.bytes.number())?;
        let tiles = self.list(4, |r| r.bytes.number())?;
        let [summands, copies] = [self.bytes.number()?, self.bytes.number()?];
        let devices = self.list(4, |r| r.bytes.index(grid.partitions, "partition"))?;
        let parts = tiles.iter().chain([&summands]).try_fold(copies, |n, size| n.checked_mul(*size));
        if parts != Some(devices.len()) || devices.len() != grid.partitions {
            return self.bytes.damaged("the parts of a tensor are not those of the partitions");
        }
        Ok(TileAssignment { sizes, tiles, summands, copies, devices })
    }

    fn cut(&mut self) -> Reading<Cut> {
        let [result, dim, size] = [self.bytes.number()?, self.bytes.number()?, self.bytes.number()?];
        Ok(Cut { result, dim, size })
    }

    fn param(&mut self) -> Reading<ParamSpec> {
        let ty = self.tensor()?;
        let donated = self.bytes.flag()?;
        let name = self.optional(|r| r.bytes.text().map(str::to_owned))?;
        let known = self.optional(Self::literal)?;
        Ok(ParamSpec { ty, donated, name, known })
    }

    /// Reads a custom call, and verifies it as in a program.
    fn call(&mut self) -> Reading<CallSpec> {
        let Op::CustomCall(call) = self.op()? else {
            return self.bytes.damaged("a custom call is expected, found another operation");
        };
        let operands = self.list(4, Self::ty)?;
        let results = self.list(4, Self::ty)?;
        let place = self.bytes.text()?.into();
        let span = self.optional(|r| r.bytes.span())?;
        let module = calling(&call, &operands, &results);
        let checked = verify(&module).and_then(|module| module.into_static());
        self.bytes.parsed("a custom call", checked)?;
        let declared = call.types.as_ref();
        if declared.is_some_and(|t| t.params != operands || t.results != results) {
            return self
                .bytes
                .damaged("the types of a custom call's operands and results differ from its declared types");
        }
        Ok(CallSpec { call: *call, operands, results, place, span })
    }

    fn block(&mut self) -> Reading<BlockDecision> {
        let (tag, version) = (self.string()?, self.bytes.i64()?);
        let operands = self.list(4, Self::ty)?;
        let results = self.list(4, Self::ty)?;
        let place = self.bytes.text()?.into();
        let span = self.optional(|r| r.bytes.span())?;
        let skipped =
            self.list(9, |r| Ok(Skipped { rank: r.rank()?, origin: r.string()?, reason: r.string()? }))?;
        let choice = match self.bytes.flag()? {
            false => BlockChoice::DefaultBody { reason: self.string()? },
            true => BlockChoice::Call {
                rank: self.rank()?,
                origin: self.string()?,
                target: self.string()?,
                library: self.string()?,
                api_version: self.optional(|r| Ok((r.bytes.i32()?, r.bytes.i32()?)))?,
            },
        };
        Ok(BlockDecision { tag, version, operands, results, place, span, skipped, choice })
    }

    fn rank(&mut self) -> Reading<Rank> {
        let i = usize::from(self.bytes.u8()?);
        match Rank::VARIANTS.get(i) {
            Some(rank) => Ok(*rank),
            None => self.bytes.damaged(format!("there is no rank {i}")),
        }
    }

    fn string(&mut self) -> Reading<String> {
        self.bytes.text().map(str::to_owned)
    }

    fn reference(&mut self, depth: usize) -> Reading<ReferenceSite> {
        let program = Arc::new(self.module()?);
        let calls = self.list(9, |r| {
            let func = FuncId::new(r.bytes.index(program.funcs().len(), "function")?);
            let mut insts: Vec<InstId> = Vec::new();
            program[func].walk(&mut |inst| insts.push(inst.id()));
            let inst = insts[r.bytes.index(insts.len(), "instruction")?];
            let side_effect = r.bytes.flag()?;
            Ok(NestedCall { func, inst, side_effect, plan: Arc::new(r.plan(depth + 1)?) })
        })?;
        Ok(ReferenceSite { program, calls })
    }

    /// Reads an instruction for the evaluator, which must be a valid program in the middle form.
    fn module(&mut self) -> Reading<Module> {
        let source = self.source()?;
        let text = self.bytes.text()?;
        let read = text::parse(&Source::new("<plan>", text));
        let mut module = self.bytes.parsed("an instruction", read)?;
        self.bytes.parsed("an instruction", middle::verify(&module))?;
        for id in module.func_ids() {
            let mut insts: Vec<InstId> = Vec::new();
            module[id].walk(&mut |inst| insts.push(inst.id()));
            let func = module.func_mut(id);
            func.span = self.bytes.span()?;
            for inst in insts {
                func.set_span(inst, self.bytes.span()?);
            }
        }
        module.source = source;
        Ok(module)
    }

    fn buffers(&mut self, counts: &Counts) -> Reading<Vec<TensorSlice>> {
        self.list(25, |r| {
            let base = match r.bytes.u8()? {
                0 => {
                    r.bytes.index(1, "arena")?;
                    Base::Arena
                }
                1 => Base::Constant(ConstantId::new(r.bytes.index(counts.constants, "constant")?)),
                2 => Base::Param(ParamId::new(r.bytes.index(counts.params, "input")?)),
                // The number of results is only known after all have been read, so the validation of the plan
                // checks whether this result exists.
                3 => Base::Result(ResultId::new(r.bytes.index(u32::MAX as usize, "result")?)),
                4 => {
                    r.bytes.index(1, "stack")?;
                    Base::Stack
                }
                5 => Base::Iota(r.bytes.index(u32::MAX as usize, "dimension")? as u32),
                6 => Base::Number(NumberId::new(r.bytes.index(counts.numbers, "number")?)),
                other => return r.bytes.damaged(format!("there is no memory of kind {other}")),
            };
            let slice = BufferSlice { base, offset: r.bytes.size()?, size: r.bytes.size()? };
            Ok(TensorSlice { slice, ty: r.tensor()? })
        })
    }

    /// Reads a sequence of thunks, nested thunks included. The function does not call itself, since the file
    /// determines how deep thunks are nested.
    fn sequence(&mut self, counts: &Counts) -> Reading<Vec<Thunk>> {
        /// Minimum size of a thunk, in bytes.
        const MIN_THUNK_BYTES: usize = 21;
        let mut open: Vec<OpenThunk> = Vec::new();
        let mut thunks = Vec::new();
        let mut left = self.bytes.count(MIN_THUNK_BYTES)?;
        loop {
            if left > 0 {
                left -= 1;
                let (thunk, bodies) = self.thunk(counts)?;
                if bodies == 0 {
                    thunks.push(thunk);
                    continue;
                }
                if open.len() > MAX_NESTING {
                    return self.bytes.damaged(format!("thunks are nested deeper than {MAX_NESTING}"));
                }
                let before = std::mem::take(&mut thunks);
                open.push(OpenThunk { thunk, bodies: bodies - 1, before, after: left });
                left = self.bytes.count(MIN_THUNK_BYTES)?;
                continue;
            }
            // The sequence is complete.
            let Some(mut top) = open.pop() else { return Ok(thunks) };
            top.thunk.bodies.push(std::mem::take(&mut thunks));
            if top.bodies > 0 {
                top.bodies -= 1;
                open.push(top);
                left = self.bytes.count(MIN_THUNK_BYTES)?;
            } else {
                (thunks, left) = (top.before, top.after);
                thunks.push(top.thunk);
            }
        }
    }

    /// Reads a thunk without its bodies, and the number of its bodies.
    fn thunk(&mut self, counts: &Counts) -> Reading<(Thunk, usize)> {
        let op = match self.bytes.u8()? {
            0 => ThunkOp::Compute(Box::new(self.compute()?)),
            1 => ThunkOp::Copy,
            2 => ThunkOp::While,
            3 => ThunkOp::Case,
            4 => {
                let id = CallId::new(self.bytes.index(counts.calls, "custom call")?);
                let aliases = self.bytes.list(8, |b| Ok((b.number()?, b.number()?)))?;
                ThunkOp::CustomCall(CallThunk { id, aliases, side_effect: self.bytes.flag()? })
            }
            5 => ThunkOp::Reference(ReferenceId::new(self.bytes.index(counts.references, "instruction")?)),
            6 => {
                let op = self.op()?;
                let combine = self.optional(|r| Ok(Combine { ty: r.tensor()?, compute: r.compute()? }))?;
                ThunkOp::Collective(Box::new(Collective { op, combine }))
            }
            7 => ThunkOp::DeviceNumber(match self.bytes.flag()? {
                false => DeviceNumber::Replica,
                true => DeviceNumber::Partition,
            }),
            other => return self.bytes.damaged(format!("there is no thunk of kind {other}")),
        };
        let (inputs, outputs) = (self.buffers(counts)?, self.buffers(counts)?);
        let span = self.bytes.span()?;
        let loc = self.optional(|r| Ok(r.bytes.text()?.into()))?;
        let bodies = self.bytes.count(4)?;
        Ok((Thunk { op, inputs, outputs, bodies: Vec::new(), span, loc }, bodies))
    }

    fn compute(&mut self) -> Reading<Compute> {
        let name = self.bytes.text()?;
        let Some(kernel) = KernelId::named(name) else {
            return self.bytes.damaged(format!("this farcall has no kernel {name:?}"));
        };
        let op = self.op()?;
        let scratch = self.bytes.flag()?;
        let bodies = self.list(12, Self::body)?;
        Ok(Compute { kernel, op, bodies, scratch })
    }

    fn body(&mut self) -> Reading<Body> {
        let numbers = |b: &mut Bytes<'_>| b.list(4, Bytes::number);
        let args = self.list(4, Self::tensor)?;
        let insts = self.list(12, |r| {
            let (op, operands, ty) = (r.op()?, numbers(&mut r.bytes)?, r.tensor()?);
            let reducer = if r.bytes.flag()? { Some(r.op()?) } else { None };
            Ok(BodyInst { op, operands, ty, reducer })
        })?;
        Ok(Body { args, insts, returned: numbers(&mut self.bytes)? })
    }
}

/// Returns a program that consists of one custom call.
fn calling(call: &CustomCall, operands: &[Type], results: &[Type]) -> Module {
    let mut main = Func::new("main", Span::default());
    let args: Vec<_> = operands.iter().map(|ty| main.add_arg(Func::BODY, ty.clone())).collect();
    let call = Op::CustomCall(Box::new(CustomCall { types: None, ..call.clone() }));
    let inst = main.push(Func::BODY, NewInst::new(call, args), results.iter().cloned());
    let returned = main.inst(inst).results().to_vec();
    main.push(Func::BODY, NewInst::new(Op::Return, returned), []);
    main.infer_result_types();
    let mut module = Module::new(Source::none());
    module.add_func(main);
    module
}
