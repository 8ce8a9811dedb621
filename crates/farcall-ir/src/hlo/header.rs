//! The header of a module: device counts, meshes, aliases and frontend attributes, some of which contain
//! `sdy` shardings.

use farcall_sig::DType;

use super::calls;
use super::cursor::{Cursor, Expected, Read};
use super::shape::Shape;
use super::syntax::{Computation, Text, attribute, parameter_number};
use crate::attr::{AttrDict, Attribute, IntKind};
use crate::diag::{Diagnostic, Diagnostics};
use crate::module::{Func, Module, NamedMesh};
use crate::sharding::Mesh;

/// Attribute for the sharding of a value in XLA's format.
pub(super) const SHARDING: &str = "mhlo.sharding";
/// Attribute for the sharding of a value by mesh axes.
pub(super) const SDY: &str = "sdy.sharding";
/// Attribute for frontend attributes.
pub(super) const FRONTEND: &str = "mhlo.frontend_attributes";
/// Key of the `sdy` sharding in the frontend attributes.
pub(super) const XLA_SDY: &str = "xla.sdy.sharding";
/// Key of the module's meshes in the frontend attributes.
pub(super) const XLA_MESHES: &str = "xla.sdy.meshes";
/// Attribute of a parameter: the result that may share its memory.
pub(super) const ALIASING: &str = "tf.aliasing_output";
/// Attribute of a parameter whose memory may be reused.
pub(super) const DONOR: &str = "jax.buffer_donor";

/// Attributes of the header: their names in HLO and in modules.
pub(super) const COUNTS: [(&str, &str); 2] =
    [("replica_count", "mhlo.num_replicas"), ("num_partitions", "mhlo.num_partitions")];

/// Returns the numbers of replicas and partitions.
pub(super) fn participants(text: &Text<'_>) -> [usize; 2] {
    COUNTS.map(|(key, _)| attribute(&text.attrs, key).and_then(|mut n| n.usize().ok()).unwrap_or(1))
}

/// Transfers the attributes of the header and of the entry's parameters to the module.
pub(super) fn apply(
    module: &mut Module,
    text: &Text<'_>,
    entry: usize,
    root: Option<&Shape>,
    diagnostics: &mut Diagnostics,
) {
    let mut report = |e: Expected| diagnostics.push(Diagnostic::new("attribute", e.span, e.message));
    for (key, name) in COUNTS {
        if let Some(mut value) = attribute(&text.attrs, key) {
            match value.usize().map(i32::try_from) {
                Ok(Ok(n)) => drop(module.attrs.insert(name.to_owned(), int(n))),
                Ok(Err(_)) => {
                    let span = attribute(&text.attrs, key).map_or(value.span(), Cursor::span);
                    report(Expected::new(span, format!("`{key}` does not fit in 32 bits")));
                }
                Err(e) => report(e),
            }
        }
    }
    if let Some(value) = attribute(&text.attrs, "frontend_attributes") {
        let mut attrs = AttrDict::new();
        match frontend(value, &mut attrs) {
            Ok(()) => take_meshes(&mut attrs, module),
            Err(e) => report(e),
        }
        module.attrs.extend(attrs);
    }
    let computation = &text.computations[entry];
    if module.funcs().is_empty() || computation.is_broken {
        return;
    }
    let func = module.func_mut(crate::module::FuncId::new(0));
    if let Err(e) = params(func, computation) {
        report(e);
    }
    results(func, computation, root);
    if let Some(value) = attribute(&text.attrs, "input_output_alias") {
        aliases(value, func, computation, root).unwrap_or_else(&mut report);
    }
    if let Some(value) = attribute(&text.attrs, "buffer_donor") {
        donors(value, func, computation).unwrap_or_else(&mut report);
    }
}

/// Returns the attribute `1 : i32`.
fn int(n: i32) -> Attribute {
    Attribute::Int(i128::from(n), IntKind::Typed(DType::S32))
}

/// Parses `{a="b",xla.sdy.sharding="…"}`: a dictionary of strings. The sharding becomes a separate attribute.
pub(super) fn frontend(mut c: Cursor<'_>, out: &mut AttrDict) -> Read<()> {
    let entries = c.braced(|c| {
        let key = match c.peek() {
            Some(b'"') => String::from_utf8_lossy(&c.string()?).into_owned(),
            _ => c.name()?.0.to_owned(),
        };
        c.expect(b'=')?;
        let text = match c.peek() {
            Some(b'"') => c.string()?,
            _ => c.value()?.rest().as_bytes().to_vec(),
        };
        Ok((key, text))
    })?;
    c.finish()?;
    let mut others = Vec::new();
    for (key, text) in entries {
        let sharding = || std::str::from_utf8(&text).ok()?.parse::<Attribute>().ok();
        match if key == XLA_SDY { sharding() } else { None } {
            Some(attr @ (Attribute::Sharding(_) | Attribute::ShardingPerValue(_))) => {
                out.insert(SDY.to_owned(), attr);
            }
            _ => others.push((key, Attribute::string(text))),
        }
    }
    if !others.is_empty() {
        out.insert(FRONTEND.to_owned(), Attribute::Dict(AttrDict::from_iter(others)));
    }
    Ok(())
}

/// Parses `{mesh = #sdy.mesh<["x"=2]>}` into the meshes of the module.
fn take_meshes(attrs: &mut AttrDict, module: &mut Module) {
    let Some(Attribute::Dict(dict)) = attrs.get_mut(FRONTEND) else { return };
    let meshes = dict.get(XLA_MESHES).and_then(Attribute::as_str).and_then(|text| text.parse().ok());
    let Some(Attribute::Dict(meshes)) = meshes else { return };
    let mesh = |(name, attr): (String, Attribute)| match attr {
        Attribute::Dialect(d) if d.name == "sdy.mesh" => {
            Some(NamedMesh { name, mesh: Mesh::read(&d.text)?, attrs: AttrDict::new() })
        }
        _ => None,
    };
    if let Some(meshes) = meshes.into_iter().map(mesh).collect::<Option<Vec<_>>>() {
        module.meshes = meshes;
        dict.remove(XLA_MESHES);
        if dict.is_empty() {
            attrs.remove(FRONTEND);
        }
    }
}

/// A parameter or result in the flat list of tensors and tokens.
struct Flattened<'t> {
    /// Index of its first tensor or token.
    first: usize,
    shape: &'t Shape,
    /// Offset of each element of a tuple from `first`.
    parts: Vec<usize>,
}

impl<'t> Flattened<'t> {
    fn new(first: usize, shape: &'t Shape) -> Flattened<'t> {
        let mut next = 0;
        let parts = shape.parts().unwrap_or_default().iter().map(|part| {
            next += part.leaves().len();
            next - part.leaves().len()
        });
        Flattened { first, shape, parts: parts.collect() }
    }

    /// Index of the tensor at a path. `None` for tensors in nested tuples: their aliases, which are only
    /// hints, are dropped.
    fn leaf(&self, path: &[usize]) -> Option<usize> {
        match (self.shape.parts(), path) {
            (Some(parts), [i]) if parts.get(*i)?.parts().is_none() => Some(self.first + self.parts[*i]),
            (None, []) => Some(self.first),
            _ => None,
        }
    }
}

/// The parameters, by number.
fn flattened_params<'t>(computation: &'t Computation<'_>) -> Vec<Flattened<'t>> {
    let params = computation.insts.iter().filter(|i| i.opcode == "parameter");
    let mut params: Vec<(usize, &Shape)> =
        params.filter_map(|i| Some((parameter_number(i).ok()?, i.shape.as_deref()?))).collect();
    params.sort_by_key(|(number, _)| *number);
    let mut first = 0;
    let flattened = |(_, shape): (usize, &'t Shape)| {
        first += shape.leaves().len();
        Flattened::new(first - shape.leaves().len(), shape)
    };
    params.into_iter().map(flattened).collect()
}

/// Transfers the shardings and frontend attributes of the parameters.
fn params(func: &mut Func, computation: &Computation<'_>) -> Read<()> {
    let places = flattened_params(computation);
    for inst in computation.insts.iter().filter(|i| i.opcode == "parameter") {
        let mut attrs = AttrDict::new();
        if let Some(value) = attribute(&inst.attrs, "frontend_attributes") {
            frontend(value, &mut attrs)?;
        }
        let sharding = attribute(&inst.attrs, "sharding");
        let Some(Flattened { first, shape, .. }) = places.get(parameter_number(inst)?) else { continue };
        let count = shape.leaves().len();
        let each = sharding.and_then(|value| split(value, shape, count));
        for i in 0..count {
            let Some(out) = func.param_attrs_mut().get_mut(first + i) else { continue };
            if count == 1 {
                out.extend(attrs.clone());
            }
            if let Some(text) = each.as_ref().and_then(|each| each.get(i)) {
                out.insert(SHARDING.to_owned(), Attribute::string(text));
            }
        }
    }
    Ok(())
}

/// Splits a sharding into one for each part of the tuple: `{{replicated}, {maximal device=0}}`. For a single
/// tensor, returns the whole text.
fn split<'s>(value: Cursor<'s>, shape: &Shape, count: usize) -> Option<Vec<&'s str>> {
    if shape.parts().is_none() {
        return Some(vec![value.rest()]);
    }
    let mut c = value;
    let each = c.braced(|c| Ok(c.value()?.rest())).ok()?;
    (each.len() == count).then_some(each)
}

/// Transfers the shardings of the results, if the root is a tuple.
fn results(func: &mut Func, computation: &Computation<'_>, shape: Option<&Shape>) {
    let root = computation.insts.get(computation.root);
    let (Some(root), Some(shape)) = (root, shape.filter(|shape| shape.parts().is_some())) else { return };
    let Some(value) = attribute(&root.attrs, "sharding") else { return };
    let each = split(value, shape, func.results().len()).unwrap_or_default();
    for (attrs, text) in func.result_attrs_mut().iter_mut().zip(each) {
        attrs.insert(SHARDING.to_owned(), Attribute::string(text));
    }
}

/// Parses `{ {0}: (1, {}, may-alias) }`.
fn aliases(mut c: Cursor<'_>, func: &mut Func, entry: &Computation<'_>, root: Option<&Shape>) -> Read<()> {
    let (places, root) = (flattened_params(entry), root.map(|root| Flattened::new(0, root)));
    let found = c.braced(calls::alias)?;
    c.finish()?;
    for alias in found {
        let place = || {
            let output = root.as_ref()?.leaf(&alias.output_tuple_indices)?;
            let param = places.get(alias.operand_index)?.leaf(&alias.operand_tuple_indices)?;
            Some((param, i32::try_from(output).ok()?))
        };
        if let Some((param, output)) = place()
            && let Some(attrs) = func.param_attrs_mut().get_mut(param)
        {
            attrs.insert(ALIASING.to_owned(), int(output));
        }
    }
    Ok(())
}

/// Parses `{ (0, {}) }`.
fn donors(mut c: Cursor<'_>, func: &mut Func, entry: &Computation<'_>) -> Read<()> {
    let places = flattened_params(entry);
    let found = c.braced(|c| {
        c.expect(b'(')?;
        let param = c.usize()?;
        let path = if c.eat(b',') { c.usizes()? } else { Vec::new() };
        c.expect(b')')?;
        Ok((param, path))
    })?;
    c.finish()?;
    for (param, path) in found {
        let place = places.get(param).and_then(|place| place.leaf(&path));
        if let Some(attrs) = place.and_then(|i| func.param_attrs_mut().get_mut(i)) {
            attrs.insert(DONOR.to_owned(), Attribute::Bool(true));
        }
    }
    Ok(())
}
