//! Prints modules as HLO text.
//!
//! A region becomes a computation. Values that the region captures become operands: elements of the tuple
//! that a branch takes or that a loop carries. A computation that is applied to elements cannot capture
//! values, except constants, which are repeated in it.

use std::collections::HashSet;

use farcall_sig::DType;
use rustc_hash::{FxHashMap, FxHashSet};

use super::attribute_fields::AttrWriter;
use super::cursor::quoted;
use super::header::{ALIASING, COUNTS, DONOR, FRONTEND, SDY, SHARDING, XLA_MESHES, XLA_SDY};
use super::shape::{self, Shape};
use super::{literal, stack};
use crate::attr::{AttrDict, Attribute, Dict};
use crate::diag::{Diagnostic, Diagnostics, ProgramError, Span};
use crate::literal::Literal;
use crate::module::{Func, FuncId, Inst, Module, Region, ValueDef, ValueId};
use crate::op::Op;
use crate::quote::Name;
use crate::types::{TensorType, Type};

/// Maximum rank of a constant that is printed as nested lists.
const MAX_CONSTANT_RANK: usize = 64;

/// Maximum number of elements of a splat that are printed one by one; larger splats become a broadcast.
const MAX_SPLAT_ELEMENTS: usize = 1 << 16;

/// Error: an instruction cannot be printed. The reason has been reported.
pub(super) struct NoHlo;

pub(super) type Printed<T> = Result<T, NoHlo>;

/// A computation that is being printed.
#[derive(Default)]
pub(super) struct Body {
    lines: Vec<String>,
    /// Name of each value, and the index of its line.
    pub(super) values: FxHashMap<ValueId, (String, usize)>,
    /// Results of asynchronous instructions, by their futures.
    pub(super) futures: FxHashMap<ValueId, Vec<ValueId>>,
}

impl Body {
    /// Binds a value to the result of the last line.
    pub(super) fn define_last(&mut self, value: ValueId, name: String) {
        self.values.insert(value, (name, self.lines.len() - 1));
    }

    /// Gives `value` the same name as `of`.
    pub(super) fn alias(&mut self, value: ValueId, of: ValueId) {
        if let Some(found) = self.values.get(&of).cloned() {
            self.values.insert(value, found);
        }
    }
}

pub(super) struct Printer<'m> {
    pub(super) module: &'m Module,
    pub(super) func: &'m Func,
    out: String,
    /// Names of the functions.
    names: FxHashMap<FuncId, String>,
    taken: HashSet<String>,
    /// The names that the program gives to values (`reserved`), and those among them that have been printed
    /// (`named`).
    reserved: HashSet<String>,
    named: HashSet<String>,
    count: usize,
    /// Constants that only give the shapes of random numbers. HLO takes these shapes from the results.
    shapes: FxHashSet<ValueId>,
    diagnostics: Diagnostics,
}

/// Prints a module without operations that HLO lacks: [`super::print`] has expanded them.
pub(super) fn module(module: &Module) -> Result<String, ProgramError> {
    let fail = |message: &str| ProgramError::new(&module.source, Diagnostic::global("entry", message));
    let entry = module.entry().ok_or_else(|| fail("HLO text needs an entry, but this module has none"))?;
    let entry = module.func_id(&entry.name).ok_or_else(|| fail("the entry has no name"))?;
    let mut p = Printer {
        module,
        func: &module[entry],
        out: String::new(),
        names: FxHashMap::default(),
        taken: HashSet::new(),
        reserved: own_names(module),
        named: HashSet::new(),
        count: 0,
        shapes: FxHashSet::default(),
        diagnostics: Diagnostics::default(),
    };
    p.header(entry);
    for id in callees_first(module, entry) {
        p.func = &module[id];
        p.function(id, id == entry);
    }
    if p.diagnostics.is_empty() { Ok(p.out) } else { Err(p.diagnostics.into_error(&module.source)) }
}

/// The functions that the entry uses, each function after those to which it refers; the entry comes last.
fn callees_first(module: &Module, entry: FuncId) -> Vec<FuncId> {
    let mut out = Vec::new();
    let mut seen = FxHashSet::default();
    let mut todo = vec![(entry, false)];
    while let Some((id, done)) = todo.pop() {
        if done {
            out.push(id);
        } else if seen.insert(id)
            && let Some(func) = module.get(id)
        {
            todo.push((id, true));
            let mut named = Vec::new();
            func.walk(&mut |inst| named.extend_from_slice(inst.op().callees()));
            todo.extend(named.into_iter().rev().map(|id| (id, false)));
        }
    }
    out
}

/// Replaces characters that HLO names cannot have.
fn plain(name: &str) -> String {
    let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut out: String = name.chars().map(|c| if ok(c) { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    out
}

/// The names that the program gives to values, as HLO writes them.
fn own_names(module: &Module) -> HashSet<String> {
    let names = module.funcs().iter().flat_map(|f| f.values().filter_map(|v| f.name_of(v)));
    names.map(|name| format!("%{}", plain(name))).collect()
}

/// Values that only give the shapes of random numbers.
fn random_shapes(func: &Func) -> FxHashSet<ValueId> {
    let (mut shapes, mut others) = (FxHashSet::<ValueId>::default(), FxHashSet::<ValueId>::default());
    func.walk(&mut |inst| match (inst.op(), inst.operands()) {
        (Op::Rng(_), [a, b, shape]) => {
            others.extend([a, b]);
            shapes.insert(*shape);
        }
        (_, operands) => others.extend(operands),
    });
    shapes.retain(|v| !others.contains(v));
    shapes
}

/// The values that a region captures, in the order of their first use.
fn free_values(region: Region<'_>) -> Vec<ValueId> {
    fn inner(
        r: Region<'_>,
        inside: &mut FxHashSet<ValueId>,
        seen: &mut FxHashSet<ValueId>,
        out: &mut Vec<ValueId>,
    ) {
        inside.extend(r.args());
        for inst in r.insts() {
            for operand in inst.operands() {
                if !inside.contains(operand) && seen.insert(*operand) {
                    out.push(*operand);
                }
            }
            inst.regions().for_each(|r| inner(r, inside, seen, out));
            inside.extend(inst.results());
        }
    }
    let mut out = Vec::new();
    inner(region, &mut FxHashSet::default(), &mut FxHashSet::default(), &mut out);
    out
}

impl<'m> Printer<'m> {
    // --- the header

    fn header(&mut self, entry: FuncId) {
        let func = &self.module[entry];
        let mut out = AttrWriter::default();
        for (key, name) in COUNTS {
            let count = self.module.attrs.get(name).and_then(Attribute::as_i64).filter(|n| *n > 0);
            if let Some(n) = count {
                out.put(key, n);
            }
        }
        let one = func.results().len() == 1;
        let attr = |attrs: &AttrDict, key: &str| attrs.get(key).cloned();
        let aliases = func.param_attrs().iter().enumerate().filter_map(|(i, attrs)| {
            let output = attr(attrs, ALIASING)?.as_i64()?;
            let path = if one { "{}".to_owned() } else { format!("{{{output}}}") };
            Some(format!("{path}: ({i}, {{}}, may-alias)"))
        });
        let aliases: Vec<String> = aliases.collect();
        if !aliases.is_empty() {
            out.put("input_output_alias", format_args!("{{ {} }}", aliases.join(", ")));
        }
        let donors = func.param_attrs().iter().enumerate();
        let donors = donors.filter(|(_, attrs)| attr(attrs, DONOR) == Some(Attribute::Bool(true)));
        let donors: Vec<String> = donors.map(|(i, _)| format!("({i}, {{}})")).collect();
        if !donors.is_empty() {
            out.put("buffer_donor", format_args!("{{ {} }}", donors.join(", ")));
        }
        let shapes = |types: &mut dyn Iterator<Item = &Type>| {
            let shapes: Option<Vec<Shape>> = types.map(|ty| shape::of(ty, None)).collect();
            shapes
        };
        let params = shapes(&mut func.params().iter().map(|p| func.ty(*p)));
        // Types that HLO lacks are reported at their definitions.
        if let (Some(params), Some(results)) = (params, shapes(&mut func.results().iter())) {
            let params = Shape::Tuple(params.into());
            let results = match results.as_slice() {
                [one] => one.clone(),
                _ => Shape::Tuple(results.into()),
            };
            out.put("entry_computation_layout", format_args!("{{{params}->{results}}}"));
        }
        let mut frontend = AttrDict::new();
        if let Some(Attribute::Dict(dict)) = self.module.attrs.get(FRONTEND) {
            frontend.clone_from(dict);
        }
        if !self.module.meshes.is_empty() {
            let mesh = |m: &crate::module::NamedMesh| format!("{} = #sdy.mesh<{}>", Name(&m.name), m.mesh);
            let meshes: Vec<String> = self.module.meshes.iter().map(mesh).collect();
            frontend.insert(XLA_MESHES.to_owned(), Attribute::string(format!("{{{}}}", meshes.join(", "))));
        }
        put_frontend(&frontend, &mut out);
        let name = self.module.name.as_deref().unwrap_or("main");
        self.out = format!("HloModule {}{}\n\n", plain(name), out.0);
    }

    // --- functions and regions

    /// Returns an unused name for a computation.
    fn computation_name(&mut self, wanted: &str) -> String {
        let wanted = format!("%{}", plain(wanted));
        let mut name = wanted.clone();
        while !self.taken.insert(name.clone()) {
            self.count += 1;
            name = format!("{wanted}.{}", self.count);
        }
        name
    }

    fn function(&mut self, id: FuncId, is_entry: bool) {
        let func = self.func;
        let name = self.computation_name(&func.name);
        self.names.insert(id, name.clone());
        self.shapes = random_shapes(func);
        let mut body = Body::default();
        for (i, param) in func.params().iter().enumerate() {
            let mut out = AttrWriter::default();
            if let Some(attrs) = func.param_attrs().get(i).filter(|_| is_entry) {
                put_extras(attrs, &mut out);
            }
            if self.parameter(&mut body, i, *param, func.span, &out.0).is_err() {
                return;
            }
        }
        if self.instructions(&mut body, func.body()).is_err() {
            return;
        }
        let mut sharding = AttrWriter::default();
        let shardings: Option<Vec<&str>> =
            func.result_attrs().iter().map(|attrs| attrs.get(SHARDING)?.as_str()).collect();
        if let Some(all) = shardings.filter(|all| is_entry && all.len() > 1) {
            sharding.put("sharding", format_args!("{{{}}}", all.join(", ")));
        }
        let returned = func.body().returned();
        if self.root(&mut body, returned, func.span, &sharding.0).is_ok() {
            self.close(body, &name, is_entry);
        }
    }

    /// Finishes a computation.
    fn close(&mut self, body: Body, name: &str, is_entry: bool) {
        let entry = if is_entry { "ENTRY " } else { "" };
        self.out.push_str(&format!("{entry}{name} {{\n"));
        for line in body.lines {
            self.out.push_str("  ");
            self.out.push_str(&line);
            self.out.push('\n');
        }
        self.out.push_str("}\n\n");
    }

    /// Marks the root of a computation: a value, or a tuple of values.
    fn root(&mut self, body: &mut Body, values: &[ValueId], at: Span, attrs: &str) -> Printed<()> {
        let line = match values {
            [one] => match body.values.get(one) {
                Some((_, line)) => *line,
                None => return self.fail(at, "a value is returned that is not defined in this region"),
            },
            many => {
                self.tuple(body, many, at, attrs)?;
                body.lines.len() - 1
            }
        };
        body.lines[line].insert_str(0, "ROOT ");
        Ok(())
    }

    fn parameter(&mut self, body: &mut Body, i: usize, value: ValueId, at: Span, attrs: &str) -> Printed<()> {
        let shape = self.shape(value, at)?;
        let name = self.name_of(value, "Arg");
        self.line(body, &name, &shape, &format!("parameter({i})"), attrs);
        body.values.insert(value, (name, body.lines.len() - 1));
        Ok(())
    }

    /// Prints the computation of a region that is applied to elements, and returns its name.
    pub(super) fn applied(&mut self, region: Region<'m>, at: Span) -> Printed<String> {
        let name = self.computation_name("region");
        let mut body = Body::default();
        for (i, arg) in region.args().iter().enumerate() {
            self.parameter(&mut body, i, *arg, at, "")?;
        }
        for value in free_values(region) {
            match self.func.defining_inst(value).map(|inst| (inst, inst.op())) {
                Some((inst, Op::Constant(_))) => self.instruction(&mut body, inst)?,
                _ => {
                    return self.fail(
                        at,
                        "the region captures a value, which HLO does not allow in a region applied to elements",
                    );
                }
            }
        }
        self.instructions(&mut body, region)?;
        self.root(&mut body, region.returned(), at, "")?;
        self.close(body, &name, false);
        Ok(name)
    }

    /// Prints a region as a computation whose only parameter is a tuple of the region's arguments and the
    /// captured values. If `carries`, the computation also returns the captured values. Returns the
    /// computation's name.
    pub(super) fn closed(
        &mut self,
        region: Region<'m>,
        captured: &[ValueId],
        carries: bool,
        at: Span,
    ) -> Printed<String> {
        let name = self.computation_name("region");
        let mut body = Body::default();
        let values: Vec<ValueId> = region.args().iter().chain(captured).copied().collect();
        let shapes = values.iter().map(|v| self.shape(*v, at)).collect::<Printed<Vec<_>>>()?;
        let tuple = self.name("arg_tuple");
        self.line(&mut body, &tuple, &Shape::Tuple(shapes.clone().into()), "parameter(0)", "");
        self.elements(&mut body, &tuple, &values, &shapes);
        self.instructions(&mut body, region)?;
        let mut returned = region.returned().to_vec();
        if carries {
            returned.extend(region.captured_args());
            returned.extend(captured);
            // A loop carries a tuple even if there is only one value.
            self.tuple(&mut body, &returned, at, "")?;
            let last = body.lines.len() - 1;
            body.lines[last].insert_str(0, "ROOT ");
        } else {
            self.root(&mut body, &returned, at, "")?;
        }
        self.close(body, &name, false);
        Ok(name)
    }

    /// The values that an instruction's regions capture.
    pub(super) fn captured(&self, regions: impl Iterator<Item = Region<'m>>) -> Vec<ValueId> {
        let mut seen = FxHashSet::default();
        let all = regions.flat_map(free_values);
        all.filter(|v| seen.insert(*v)).collect()
    }

    fn instructions(&mut self, body: &mut Body, region: Region<'m>) -> Printed<()> {
        let mut ok = Ok(());
        for inst in region.insts() {
            // Continue after an error, to report other instructions that have no HLO form.
            if *inst.op() != Op::Return
                && let Err(NoHlo) = self.instruction(body, inst)
            {
                ok = Err(NoHlo);
                let results = inst.results().iter().map(|v| (*v, ("_".to_owned(), 0)));
                body.values.extend(results);
                body.futures.extend(inst.results().iter().map(|v| (*v, Vec::new())));
            }
            if self.diagnostics.is_full() {
                return Err(NoHlo);
            }
        }
        ok
    }

    // --- lines

    pub(super) fn fail<T>(&mut self, at: Span, message: impl Into<String>) -> Printed<T> {
        self.diagnostics.push(Diagnostic::new("no-hlo", at, message));
        Err(NoHlo)
    }

    /// Returns an unused name for a value.
    pub(super) fn name(&mut self, word: &str) -> String {
        loop {
            self.count += 1;
            let name = format!("%{word}.{}", self.count);
            if !self.reserved.contains(&name) {
                return name;
            }
        }
    }

    /// Returns the value's own name, unless another value has taken it; otherwise an unused name that begins
    /// with `word`.
    fn name_of(&mut self, value: ValueId, word: &str) -> String {
        let Some(own) = self.func.name_of(value).map(plain) else { return self.name(word) };
        let name = format!("%{own}");
        if self.named.insert(name.clone()) { name } else { self.name(&own) }
    }

    pub(super) fn shape(&mut self, value: ValueId, at: Span) -> Printed<Shape> {
        let ty = self.func.ty(value);
        match shape::of(ty, None) {
            Some(shape) => Ok(shape),
            None => self.fail(at, format!("HLO has no type {ty}")),
        }
    }

    /// Appends `name = shape call, attributes`.
    pub(super) fn line(&mut self, body: &mut Body, name: &str, shape: &Shape, call: &str, attrs: &str) {
        body.lines.push(format!("{name} = {shape} {call}{attrs}"));
    }

    /// Appends an additional instruction, and returns its name.
    pub(super) fn emit(
        &mut self,
        body: &mut Body,
        shape: &Shape,
        opcode: &str,
        operands: &[String],
        attrs: &str,
    ) -> String {
        let name = self.name(opcode);
        self.line(body, &name, shape, &format!("{opcode}({})", operands.join(", ")), attrs);
        name
    }

    /// Appends an instruction that defines a value.
    fn emit_value(
        &mut self,
        body: &mut Body,
        value: ValueId,
        shape: &Shape,
        opcode: &str,
        operands: &[String],
        attrs: &str,
    ) {
        let name = self.name_of(value, opcode);
        self.line(body, &name, shape, &format!("{opcode}({})", operands.join(", ")), attrs);
        body.define_last(value, name);
    }

    pub(super) fn tuple(
        &mut self,
        body: &mut Body,
        values: &[ValueId],
        at: Span,
        attrs: &str,
    ) -> Printed<String> {
        let shapes = values.iter().map(|v| self.shape(*v, at)).collect::<Printed<Vec<_>>>()?;
        let operands = self.operands(body, values, at)?;
        Ok(self.emit(body, &Shape::Tuple(shapes.into()), "tuple", &operands, attrs))
    }

    /// Defines `values` as the elements of a tuple.
    pub(super) fn elements(&mut self, body: &mut Body, tuple: &str, values: &[ValueId], shapes: &[Shape]) {
        for (i, (value, shape)) in values.iter().zip(shapes).enumerate() {
            let index = format!(", index={i}");
            self.emit_value(body, *value, shape, "get-tuple-element", &[tuple.to_owned()], &index);
        }
    }

    pub(super) fn operand(&mut self, body: &Body, value: ValueId, at: Span) -> Printed<String> {
        match body.values.get(&value) {
            Some((name, _)) => Ok(name.clone()),
            None => {
                debug_assert!(
                    !matches!(self.func.def(value), ValueDef::Nowhere),
                    "a value that nothing defines"
                );
                self.fail(at, "an operand is not defined in this region")
            }
        }
    }

    pub(super) fn operands(&mut self, body: &Body, values: &[ValueId], at: Span) -> Printed<Vec<String>> {
        values.iter().map(|v| self.operand(body, *v, at)).collect()
    }

    /// Appends an instruction with these results: one value, or a tuple, which is split into its elements.
    pub(super) fn define(
        &mut self,
        body: &mut Body,
        results: &[ValueId],
        shapes: Vec<Shape>,
        opcode: &str,
        operands: &[String],
        attrs: &str,
    ) {
        match (results, shapes.as_slice()) {
            ([one], [shape]) => {
                self.emit_value(body, *one, shape, opcode, operands, attrs);
            }
            _ => {
                let shape = Shape::Tuple(shapes.clone().into());
                let tuple = self.emit(body, &shape, opcode, operands, attrs);
                self.elements(body, &tuple, results, &shapes);
            }
        }
    }

    /// Appends an instruction with the results and the common attributes of `inst`.
    pub(super) fn define_inst(
        &mut self,
        body: &mut Body,
        inst: Inst<'m>,
        opcode: &str,
        operands: &[String],
        mut attrs: AttrWriter,
    ) -> Printed<()> {
        let shapes =
            inst.results().iter().map(|v| self.shape(*v, inst.span())).collect::<Printed<Vec<_>>>()?;
        put_all(inst, &mut attrs);
        self.define(body, inst.results(), shapes, opcode, operands, &attrs.0);
        Ok(())
    }

    /// The name of a function's computation.
    pub(super) fn callee(&self, id: FuncId) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| "_".to_owned())
    }

    /// Broadcasts a scalar to a tensor type.
    pub(super) fn broadcast(&mut self, body: &mut Body, name: String, to: &TensorType) -> String {
        if to.rank() == 0 {
            return name;
        }
        self.emit(body, &Shape::Tensor(to.clone(), None), "broadcast", &[name], ", dimensions={}")
    }

    pub(super) fn constant(&mut self, body: &mut Body, inst: Inst<'m>, literal: &Literal) -> Printed<()> {
        if self.shapes.contains(&inst.results()[0]) {
            return Ok(());
        }
        let mut attrs = AttrWriter::default();
        put_all(inst, &mut attrs);
        let shape = Shape::Tensor(literal.ty(), None);
        // Number of items that the text would list: the elements, or the empty lists if a size is 0.
        let lists = literal.dims().iter().take_while(|d| **d > 0).fold(1usize, |n, d| n.saturating_mul(*d));
        let uniform = literal.is_empty() || literal.is_splat();
        let deep = literal.dims().len() > MAX_CONSTANT_RANK;
        if deep && !uniform {
            let message = format!("a constant of more than {MAX_CONSTANT_RANK} dimensions is not written");
            return self.fail(inst.span(), message);
        }
        let large = uniform && (deep || lists > MAX_SPLAT_ELEMENTS);
        let result = inst.results()[0];
        if large {
            let element = match literal.is_empty() {
                true => Literal::zeros(literal.dtype(), []),
                false => Literal::scalar(literal.dtype(), literal.get(0)),
            };
            let scalar = Shape::Tensor(element.ty(), None);
            let one = self.emit(body, &scalar, "constant", &[literal::print(&element)], "");
            let attrs = format!(", dimensions={{}}{}", attrs.0);
            self.emit_value(body, result, &shape, "broadcast", &[one], &attrs);
        } else {
            self.emit_value(body, result, &shape, "constant", &[literal::print(literal)], &attrs.0);
        }
        Ok(())
    }

    /// Prints a constant whose elements were left out.
    pub(super) fn elided(&mut self, body: &mut Body, inst: Inst<'m>, ty: &TensorType) -> Printed<()> {
        let mut attrs = AttrWriter::default();
        put_all(inst, &mut attrs);
        let shape = Shape::Tensor(ty.clone(), None);
        self.emit_value(body, inst.results()[0], &shape, "constant", &[literal::ELIDED.to_owned()], &attrs.0);
        Ok(())
    }
}

/// Writes the attributes that any instruction may have.
pub(super) fn put_all(inst: Inst<'_>, out: &mut AttrWriter) {
    put_extras(inst.attrs(), out);
    put_metadata(inst, out);
}

/// `u32[]`, the context that `send` and `recv` return.
pub(super) fn context() -> Shape {
    Shape::Tensor(TensorType::scalar(DType::U32), None)
}

/// Writes the sharding and the frontend attributes.
fn put_extras(attrs: &AttrDict, out: &mut AttrWriter) {
    if let Some(text) = attrs.get(SHARDING).and_then(Attribute::as_str).filter(|t| t.starts_with('{')) {
        out.put("sharding", text);
    }
    let mut dict = match attrs.get(FRONTEND) {
        Some(Attribute::Dict(dict)) => dict.clone(),
        _ => AttrDict::new(),
    };
    if let Some(sharding @ (Attribute::Sharding(_) | Attribute::ShardingPerValue(_))) = attrs.get(SDY) {
        dict.insert(XLA_SDY.to_owned(), Attribute::string(sharding.to_string()));
    }
    put_frontend(&dict, out);
}

pub(super) fn put_frontend(dict: &AttrDict, out: &mut AttrWriter) {
    if dict.is_empty() {
        return;
    }
    let entry = |(key, value): (&String, &Attribute)| {
        let text = match value {
            Attribute::String(bytes) => quoted(bytes),
            Attribute::Dict(dict) => quoted(Dict(dict).to_string().as_bytes()),
            other => quoted(other.to_string().as_bytes()),
        };
        if plain(key) == *key {
            format!("{key}={text}")
        } else {
            format!("{}={text}", quoted(key.as_bytes()))
        }
    };
    let entries: Vec<String> = dict.iter().map(entry).collect();
    out.put("frontend_attributes", format_args!("{{{}}}", entries.join(",")));
}

fn put_metadata(inst: Inst<'_>, out: &mut AttrWriter) {
    if let Some(metadata) = inst.loc().and_then(|loc| stack::of_loc(loc)) {
        out.put("metadata", metadata);
    }
}
