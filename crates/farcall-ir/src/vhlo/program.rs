//! Reads modules, functions, regions and instructions.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::dialects::DECODERS;
use super::symbols::Symbols;
use super::table::Table;
use super::ty::not_a_value;
use super::upgrade::upgrade;
use super::{NEWEST, ops, plain};
use crate::attr::{AttrDict, Attribute};
use crate::attributes::{self, Fields};
use crate::bytecode::{Arg, Cursor, Error, File, Head, Ir, Reading};
use crate::diag::{Diagnostic, Diagnostics, ProgramError, Source, Span, shortened};
use crate::manual::{self, ManualShardings};
use crate::module::{Func, Loc, Module, NamedMesh, NewInst, RegionId, ValueId, ValueIds};
use crate::op::{CustomCall, Op};
use crate::sharding::Mesh;
use crate::text::{self, MAX_NESTING};
use crate::types::Type;

/// Approximate memory of a region in bytes.
const REGION_BYTES: usize = 64;

/// Maximum nesting depth of regions. A region counts as two levels, as in text.
const MAX_REGION_DEPTH: usize = MAX_NESTING as usize / 2;

/// Maximum length in bytes of the name of a known operation.
const MAX_NAME_BYTES: usize = 64;

/// Reader for the program of an artifact.
pub(super) struct Reader<'f, 'a> {
    file: &'f File<'a>,
    name: &'f str,
    table: Table<'f, 'a>,
    symbols: Symbols,
    diagnostics: Diagnostics,
    module: Module,
    /// Positions of the module's meshes, by name.
    meshes: FxHashMap<String, usize>,
    func: Func,
    /// Stack of scopes: one for each enclosing operation whose regions are isolated from the values outside.
    scopes: Vec<Scope>,
    /// Number of regions that enclose the current operation.
    depth: usize,
}

/// The enclosing regions of one scope, outermost first. Values are numbered consecutively across these
/// regions.
#[derive(Default)]
struct Scope(Vec<RegionValues>);

/// The values of a region.
struct RegionValues {
    /// Number of the first value.
    first: usize,
    /// Number of values that the region declares. The values of nested regions are numbered after these.
    count: usize,
    /// Values that have been numbered so far; `None` until they are defined.
    known: Vec<Option<ValueId>>,
}

/// An instruction whose regions have not been read yet.
struct Pending<'a> {
    at: Cursor<'a>,
    head: Head,
    attrs: AttrDict,
    operands: ValueIds,
    loc: Option<Arc<Loc>>,
    /// Number of the first result.
    first: usize,
}

/// Function that reads one operation of a block.
type ReadOp<'f, 'a> = fn(&mut Reader<'f, 'a>, &mut Ir<'a>, RegionId) -> Reading<()>;

impl<'f, 'a> Reader<'f, 'a> {
    pub(super) fn new(file: &'f File<'a>, name: &'f str, len: usize) -> Reading<Reader<'f, 'a>> {
        Ok(Reader {
            file,
            name,
            table: Table::new(file, len, DECODERS)?,
            symbols: Symbols::default(),
            diagnostics: Diagnostics::default(),
            module: Module::new(Source::none()),
            meshes: FxHashMap::default(),
            func: Func::new("", Span::default()),
            scopes: Vec::new(),
            depth: 0,
        })
    }

    pub(super) fn read(self) -> Result<Module, ProgramError> {
        let producer = self.file.producer;
        let (module, diagnostics) = self.parts();
        if diagnostics.is_empty() {
            return Ok(module);
        }
        let mut error = diagnostics.into_error(&Source::none());
        if let (Some(last), Some(note)) = (error.diagnostics.last_mut(), newer(producer)) {
            last.notes.push(note);
        }
        Err(error)
    }

    /// Reads as much as possible. Returns the module and the errors.
    pub(super) fn parts(mut self) -> (Module, Diagnostics) {
        if let Err(e) = self.artifact() {
            self.diagnostics.push_last(e.diagnostic(self.name));
        } else {
            self.symbols.resolve(&mut self.module, &mut self.diagnostics);
            if self.module.funcs().is_empty() && self.diagnostics.is_empty() {
                self.diagnostics.push(Diagnostic::global("empty", "the program has no functions"));
            }
        }
        (self.module, self.diagnostics)
    }

    /// Reads the artifact: one block with one module.
    fn artifact(&mut self) -> Reading<()> {
        let mut ir = Ir::new(self.file);
        if let Some(version @ (2.., ..)) = producer_version(self.file.producer) {
            let message = format!(
                "StableHLO {}.{}.{}; versions from 0.9 to 1 are read",
                version.0, version.1, version.2
            );
            return Err(ir.at.error("unsupported", message));
        }
        let before = ir.at;
        let (ops, args) = ir.block(self.file)?;
        if ops != 1 || !args.is_empty() {
            return before.damaged("one module is expected");
        }
        self.scope().open(0);
        let head = ir.op(self.file)?;
        if self.file.op(head.name) != ("builtin", "module") {
            let (dialect, name) = self.file.op(head.name);
            return Err(before.error("unsupported", format!("a module is expected, not {dialect}.{name}")));
        }
        self.module.attrs = self.attrs(&head, &before)?;
        self.module.name = take_name(&mut self.module.attrs, "sym_name");
        self.regions(&head, &mut ir, Reader::item)?;
        ir.at.end()
    }

    // --- items of a module

    /// Reads a function or a mesh.
    fn item(&mut self, ir: &mut Ir<'a>, _: RegionId) -> Reading<()> {
        let before = ir.at;
        let head = ir.op(self.file)?;
        match self.file.op(head.name) {
            ("vhlo", "func_v1") | ("func", "func") => self.func(&head, ir, &before),
            ("sdy", "mesh") => self.mesh(&head, ir, &before),
            (dialect, name) => {
                self.unknown_op(&format!("{dialect}.{name}"), " outside of a function", head.at);
                // The operation's regions must be read to get past them.
                self.func = Func::new("", Span::default());
                let first = self.scope().reserve(head.results.len(), &before)?;
                self.define(&head, first, &before)?;
                self.regions(&head, ir, Reader::inst).map(drop)
            }
        }
    }

    fn func(&mut self, head: &Head, ir: &mut Ir<'a>, at: &Cursor<'a>) -> Reading<()> {
        let mut attrs = self.attrs(head, at)?;
        let Some(name) = take_name(&mut attrs, "sym_name") else {
            return Err(at.error("attribute", "a function without `sym_name`"));
        };
        let Some(Attribute::Type(Type::Function(ty))) = attrs.remove("function_type") else {
            return Err(at.error("attribute", format!("function @{name} without `function_type`")));
        };
        self.func = Func::new(name, Span::default());
        self.func.public = attrs
            .remove("sym_visibility")
            .is_none_or(|v| v.as_str().is_none_or(|v| matches!(v, "" | "public")));
        self.func.set_result_types(ty.results.iter().cloned());
        let param_attrs = self.dicts(&mut attrs, "arg_attrs", ty.params.len(), head.at);
        let result_attrs = self.dicts(&mut attrs, "res_attrs", ty.results.len(), head.at);
        self.func.set_result_attrs(result_attrs);
        self.func.attrs = attrs;
        if head.regions != 1 || !head.results.is_empty() {
            return Err(at.error("bytecode", "a function must have one region and no results"));
        }
        self.regions_into(head, ir, &[Func::BODY], Reader::inst)?;
        let mut func = std::mem::replace(&mut self.func, Func::new("", Span::default()));
        func.set_param_attrs(param_attrs);
        if func.params().is_empty() && func.body().insts().next().is_none() {
            self.report("no-body", head.at, format!("function @{} has no body", func.name));
        } else if !func.params().iter().map(|p| func.ty(*p)).eq(&ty.params) {
            let message =
                format!("the body of @{} has arguments of other types than `function_type`", func.name);
            self.report("type-mismatch", head.at, message);
        }
        self.module.add_func(func);
        Ok(())
    }

    /// Removes the attribute `key`, a list of `n` dictionaries, and returns the list. If the attribute is
    /// absent, the dictionaries are empty.
    fn dicts(&mut self, attrs: &mut AttrDict, key: &str, n: usize, at: usize) -> Vec<AttrDict> {
        let items = match attrs.remove(key) {
            None => Vec::new(),
            Some(Attribute::Array(items)) => items,
            Some(other) => vec![other],
        };
        if items.is_empty() {
            return vec![AttrDict::new(); n];
        }
        let dicts: Option<Vec<AttrDict>> = items
            .into_iter()
            .map(|item| match item {
                Attribute::Dict(dict) => Some(dict),
                _ => None,
            })
            .collect();
        dicts.filter(|dicts| dicts.len() == n).unwrap_or_else(|| {
            self.report("attribute", at, format!("attribute `{key}` must be a list of {n} dictionaries"));
            vec![AttrDict::new(); n]
        })
    }

    fn mesh(&mut self, head: &Head, ir: &mut Ir<'a>, at: &Cursor<'a>) -> Reading<()> {
        let mut attrs = self.attrs(head, at)?;
        let name = take_name(&mut attrs, "sym_name");
        let mesh = match attrs.remove("mesh") {
            Some(Attribute::Dialect(d)) if d.name == "sdy.mesh" => Mesh::read(&d.text),
            _ => None,
        };
        let (Some(name), Some(mesh)) = (name, mesh) else {
            return Err(at.error("attribute", "sdy.mesh without a name or without a mesh"));
        };
        if self.meshes.insert(name.clone(), self.module.meshes.len()).is_some() {
            self.report("redefinition", head.at, format!("mesh @{name} is already defined"));
        }
        self.module.meshes.push(NamedMesh { name, mesh, attrs });
        self.regions(head, ir, Reader::inst).map(drop)
    }

    // --- regions

    /// Reads the regions of an operation, which begin at the current position.
    fn regions(&mut self, head: &Head, ir: &mut Ir<'a>, each: ReadOp<'f, 'a>) -> Reading<Vec<RegionId>> {
        // Charge the regions first: they are created before their presence is checked.
        self.table.copied(head.regions.saturating_mul(REGION_BYTES), &ir.at)?;
        let regions: Vec<RegionId> = (0..head.regions).map(|_| self.func.new_region()).collect();
        self.regions_into(head, ir, &regions, each)?;
        Ok(regions)
    }

    fn regions_into(
        &mut self,
        head: &Head,
        ir: &mut Ir<'a>,
        into: &[RegionId],
        each: ReadOp<'f, 'a>,
    ) -> Reading<()> {
        if into.is_empty() {
            return Ok(());
        }
        if self.depth >= MAX_REGION_DEPTH {
            return Err(ir.at.error("nesting", format!("regions nest more than {MAX_REGION_DEPTH} deep")));
        }
        self.depth += 1;
        if head.isolated {
            self.scopes.push(Scope::default());
        }
        match if head.isolated { ir.isolated(self.file)? } else { None } {
            Some(mut inner) => {
                for region in into {
                    self.region(&mut inner, *region, each)?;
                }
                inner.at.end()?;
            }
            None => {
                for region in into {
                    self.region(ir, *region, each)?;
                }
            }
        }
        if head.isolated {
            self.scopes.pop();
        }
        self.depth -= 1;
        Ok(())
    }

    fn region(&mut self, ir: &mut Ir<'a>, into: RegionId, each: ReadOp<'f, 'a>) -> Reading<()> {
        let before = ir.at;
        let (blocks, values) = ir.region()?;
        if blocks == 0 {
            return Ok(());
        }
        if blocks > 1 {
            return Err(before.error("unsupported", format!("a region of {blocks} blocks")));
        }
        self.scope().open(values);
        let (ops, args) = ir.block(self.file)?;
        for Arg { ty, location } in args {
            if into == Func::BODY {
                let loc = location.map(|loc| self.table.location(loc, &before)).transpose()?.flatten();
                self.func.param_names.push(loc.and_then(|loc| loc.param_name()));
            }
            let ty = self.value_type(ty, &before)?;
            let value = self.func.add_arg(into, ty);
            let i = self.scope().reserve(1, &before)?;
            self.scope().set(i, value);
        }
        for _ in 0..ops {
            if self.diagnostics.is_full() {
                return Err(ir.at.error("bytecode", "too many errors; the rest of the artifact is not read"));
            }
            each(self, ir, into)?;
        }
        self.scope().close();
        Ok(())
    }

    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    // --- instructions

    /// Reads one instruction, including its regions. Regions are read recursively, with small stack frames.
    fn inst(&mut self, ir: &mut Ir<'a>, out: RegionId) -> Reading<()> {
        let pending = self.begin(ir)?;
        let regions = self.regions(&pending.head, ir, Reader::inst)?;
        self.finish(pending, regions, out)
    }

    /// Reads an instruction up to its regions.
    fn begin(&mut self, ir: &mut Ir<'a>) -> Reading<Box<Pending<'a>>> {
        let at = ir.at;
        let head = ir.op(self.file)?;
        let attrs = self.attrs(&head, &at)?;
        let mut operands = ValueIds::new();
        for operand in &head.operands {
            operands.push(self.scope().get(*operand, &at)?);
        }
        let loc = self.table.location(head.location, &at)?;
        // The results are numbered before the values of the regions, but defined after them.
        let first = self.scope().reserve(head.results.len(), &at)?;
        Ok(Box::new(Pending { at, head, attrs, operands, loc, first }))
    }

    /// Appends an instruction whose regions have been read.
    fn finish(&mut self, pending: Box<Pending<'a>>, regions: Vec<RegionId>, out: RegionId) -> Reading<()> {
        let Pending { at, head, mut attrs, operands, loc, first } = *pending;
        let (dialect, name) = self.file.op(head.name);
        if (dialect, name) == ("builtin", "unrealized_conversion_cast") {
            return self.cast(&head, &operands, first, &at);
        }
        if (dialect, name) == ("sdy", "manual_computation") {
            let results = self.define(&head, first, &at)?;
            let shardings = ManualShardings::take(&mut attrs);
            let [region] = regions[..] else {
                return Err(at.error("bytecode", format!("{dialect}.{name} must have one region")));
            };
            let values = (operands, results);
            let inlined =
                manual::inline(&mut self.func, out, region, &shardings, values, (Span::default(), loc));
            if let Err(problem) = inlined {
                self.report("operand-count", head.at, format!("{dialect}.{name}: {problem}"));
            }
            return Ok(());
        }
        let op = if head.successors > 0 {
            self.report("unsupported", head.at, format!("{dialect}.{name} has successor blocks"));
            None
        } else {
            self.op(&mut attrs, &operands, &head, &at)?
        };
        let results = self.define(&head, first, &at)?;
        if self.func.region(out).terminator().is_some() {
            self.report("terminator", head.at, "nothing can follow the return of a region");
        }
        if attrs.contains_key(text::CAPTURES) {
            self.report("attribute", head.at, format!("attribute `{}` has no meaning here", text::CAPTURES));
        }
        // `None` means that an error has been reported: the module will not be used.
        if let Some(op) = op {
            self.symbols.note_uses(op.callees(), head.at);
            let inst = NewInst { op, operands, regions, captures: 0, attrs, span: Span::default(), loc };
            self.func.push_defining(out, inst, results);
        }
        Ok(())
    }

    /// Reads a cast between a type of VHLO and a type of another dialect. A module has one type for both, so
    /// the result is the operand.
    fn cast(&mut self, head: &Head, operands: &[ValueId], first: usize, at: &Cursor<'a>) -> Reading<()> {
        let mut same = operands.len() == head.results.len();
        for (i, (ty, operand)) in head.results.iter().zip(operands).enumerate() {
            same &= self.value_type(*ty, at)? == *self.func.ty(*operand);
            self.scope().set(first + i, *operand);
        }
        if !same {
            self.report("type-mismatch", head.at, "a cast must not change the type");
            self.define(head, first, at)?;
        }
        Ok(())
    }

    /// Returns the operation that `head` names. Its attributes are removed from the dictionary.
    fn op(
        &mut self,
        attrs: &mut AttrDict,
        operands: &[ValueId],
        head: &Head,
        at: &Cursor<'a>,
    ) -> Reading<Option<Op>> {
        let (dialect, name) = self.file.op(head.name);
        let base = if dialect == "vhlo" { ops::base(name) } else { name };
        let full = match (dialect, base) {
            ("sdy", "sharding_constraint" | "sharding_group") => {
                let has_side_effect = base == "sharding_group";
                let call = CustomCall { has_side_effect, ..CustomCall::new(format!("sdy.{base}")) };
                return Ok(Some(Op::CustomCall(Box::new(call))));
            }
            ("sdy", "return") => "stablehlo.return".to_owned(),
            ("vhlo", "call" | "return") if ops::properties(name).is_some() => format!("func.{base}"),
            ("vhlo", _) if ops::properties(name).is_some() => format!("stablehlo.{base}"),
            ("stablehlo" | "chlo" | "func", _) if base.len() < MAX_NAME_BYTES => format!("{dialect}.{base}"),
            _ => {
                self.unknown_op(&format!("{dialect}.{name}"), "", head.at);
                return Ok(None);
            }
        };
        if base != "constant" {
            // Charge for lists of numbers, which are copied.
            let bytes = attrs.values().map(list_bytes).sum();
            self.table.copied(bytes, at)?;
        }
        let (meshes, places) = (&self.module.meshes, &self.meshes);
        let mesh = |name: &str| places.get(name).map(|i| meshes[*i].mesh.clone());
        let upgraded = if dialect == "vhlo" { upgrade(base, attrs) } else { Ok(()) };
        let upgraded = upgraded.and_then(|()| text::resolve_groups(attrs, mesh));
        if let Err(message) = upgraded {
            self.report("attribute", head.at, format!("{dialect}.{name}: {message}"));
            return Ok(None);
        }
        let func = &self.func;
        let operand = |i: usize| operands.get(i).and_then(|id| func.tensor(*id));
        let parse = |text: &str| text.parse().ok();
        let mut fields = Fields { attrs, operand: &operand, symbols: &mut self.symbols, parse: &parse };
        match attributes::read(&full, &mut fields) {
            Some(Ok(op)) => return Ok(Some(op)),
            Some(Err(message)) => self.report("attribute", head.at, format!("{dialect}.{name}: {message}")),
            None => self.unknown_op(&format!("{dialect}.{name}"), "", head.at),
        }
        Ok(None)
    }

    /// Creates values for the results of an operation, numbered from `first`.
    fn define(&mut self, head: &Head, first: usize, at: &Cursor<'a>) -> Reading<ValueIds> {
        let mut out = ValueIds::new();
        for (i, ty) in head.results.iter().enumerate() {
            let ty = self.value_type(*ty, at)?;
            let value = self.func.new_value(ty);
            self.scope().set(first + i, value);
            out.push(value);
        }
        Ok(out)
    }

    /// Returns the type of a value. Reports a type that values cannot have.
    fn value_type(&mut self, i: usize, at: &Cursor<'a>) -> Reading<Type> {
        match self.table.value_type(i, at)? {
            Ok(ty) => Ok(ty),
            Err(other) => {
                if let Type::Opaque(text) = &other {
                    self.table.copied(text.len().saturating_mul(2), at)?;
                }
                self.report("type", at.pos(), not_a_value(&other));
                Ok(other)
            }
        }
    }

    /// Reads the attributes and properties of an operation.
    fn attrs(&mut self, head: &Head, at: &Cursor<'a>) -> Reading<AttrDict> {
        let mut out = match head.attrs {
            None => AttrDict::new(),
            Some(i) => match self.table.attr_at(i, at)? {
                Attribute::Dict(dict) => dict,
                other => {
                    return at.damaged(format!(
                        "the attributes of an operation must be a dictionary, not {other}"
                    ));
                }
            },
        };
        if let Some(properties) = head.properties {
            self.properties(head, properties, &mut out)?;
        }
        // Charge for names, which are copied and compared.
        let bytes = out.values().map(text_bytes).sum();
        self.table.copied(bytes, at)?;
        Ok(out)
    }

    /// Reads the properties of an operation into attributes of the same names.
    fn properties(&mut self, head: &Head, properties: usize, out: &mut AttrDict) -> Reading<()> {
        let mut from = self.file.properties(properties);
        let names = match self.file.op(head.name) {
            ("vhlo", name) => match ops::properties(name) {
                Some(names) => names,
                // [`Reader::op`] reports the unknown operation.
                None => return Ok(()),
            },
            (dialect, name) => match plain::properties(dialect, name, count(from)?) {
                Some(names) => names,
                None if from.is_empty() => return Ok(()),
                None => {
                    return Err(from.error("unsupported", format!("the attributes of {dialect}.{name}")));
                }
            },
        };
        for name in names {
            let Some(name) = name.strip_suffix('?') else {
                let value = self.table.attr(&mut from)?;
                out.insert((*name).to_owned(), value);
                continue;
            };
            if from.is_empty() {
                break;
            }
            let before = from;
            let (i, present) = from.flagged()?;
            if present {
                before.check_index(i, self.file.attrs.len(), "attribute")?;
                out.insert(name.to_owned(), self.table.attr_at(i, &before)?);
            }
        }
        from.end()
    }

    // --- errors

    fn report(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        if self.diagnostics.is_full() {
            return self.diagnostics.count();
        }
        let message = shortened(&message.into()).into_owned();
        let error = Error { code, at, part: "operation section", message };
        self.diagnostics.push(error.diagnostic(self.name));
    }

    fn unknown_op(&mut self, name: &str, place: &str, at: usize) {
        if name.starts_with("sdy.") {
            return self.report("unsupported", at, format!("{name} is not supported"));
        }
        self.report("unknown-op", at, format!("unknown operation {name}{place}"));
    }
}

impl Scope {
    fn open(&mut self, count: usize) {
        let first = self.0.last().map_or(0, |outer| outer.first + outer.count);
        self.0.push(RegionValues { first, count, known: Vec::new() });
    }

    fn close(&mut self) {
        self.0.pop();
    }

    /// Numbers the next `n` values, and returns the first number.
    fn reserve(&mut self, n: usize, at: &Cursor<'_>) -> Reading<usize> {
        match self.0.last_mut() {
            Some(region) if n <= region.count - region.known.len() => {
                let first = region.first + region.known.len();
                region.known.resize(region.known.len() + n, None);
                Ok(first)
            }
            _ if n == 0 => Ok(0),
            _ => at.damaged("a region has more values than it declares"),
        }
    }

    /// Defines value number `i`, which the innermost region has reserved.
    fn set(&mut self, i: usize, value: ValueId) {
        if let Some(region) = self.0.last_mut() {
            region.known[i - region.first] = Some(value);
        }
    }

    fn get(&self, i: usize, at: &Cursor<'_>) -> Reading<ValueId> {
        let region = self.0.iter().rev().find(|region| i >= region.first).filter(|r| i - r.first < r.count);
        match region.map(|region| region.known.get(i - region.first)) {
            Some(Some(Some(value))) => Ok(*value),
            Some(_) => Err(at.error("undefined-value", format!("value {i} is used before it is defined"))),
            None => Err(at.error("undefined-value", format!("there is no value {i} here"))),
        }
    }
}

/// Counts the properties of an operation, each of which is encoded as one number.
fn count(mut from: Cursor<'_>) -> Reading<usize> {
    let mut n = 0;
    while !from.is_empty() {
        from.number()?;
        n += 1;
    }
    Ok(n)
}

/// Length of the names in an attribute in bytes.
fn text_bytes(attr: &Attribute) -> usize {
    match attr {
        Attribute::String(text) => text.len(),
        Attribute::Symbol(name) => name.len(),
        Attribute::Dialect(d) => d.text.len(),
        Attribute::Array(items) => items.iter().map(text_bytes).sum(),
        _ => 0,
    }
}

/// Size of the lists of numbers in an attribute in bytes.
fn list_bytes(attr: &Attribute) -> usize {
    match attr {
        Attribute::Dense(l) | Attribute::DenseArray(l) | Attribute::DenseIndex(l) if !l.is_splat() => {
            l.byte_len()
        }
        Attribute::Array(items) => items.iter().map(list_bytes).sum(),
        _ => 0,
    }
}

fn take_name(attrs: &mut AttrDict, key: &str) -> Option<String> {
    attrs.remove(key).and_then(|a| a.as_str().map(str::to_owned))
}

/// Parses the version of a producer such as `StableHLO_v1.2.3`.
fn producer_version(producer: &str) -> Option<(u32, u32, u32)> {
    let mut parts = producer.strip_prefix("StableHLO_v")?.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// Note for errors in an artifact of a version that is not known.
fn newer(producer: &str) -> Option<String> {
    let version = producer_version(producer).filter(|v| *v > NEWEST)?;
    let text = |(a, b, c): (u32, u32, u32)| format!("{a}.{b}.{c}");
    let (found, newest) = (text(version), text(NEWEST));
    Some(format!("the artifact is from StableHLO {found}; the newest known version is {newest}"))
}
