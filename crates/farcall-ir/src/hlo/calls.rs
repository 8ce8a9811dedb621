//! Custom calls: reads and writes the attributes of `custom-call`.

use super::attribute_fields::{AttrReader, AttrWriter, braced};
use super::cursor::{Cursor, Expected, Read, quoted};
use super::shape::{self, Shape};
use crate::attr::{Attribute, Dict};
use crate::diag::Span;
use crate::module::{FuncId, Inst};
use crate::op::{Binary, CallConfig, CustomCall, Op, OutputAlias, Unary};
use crate::types::Type;

/// Names of the API versions, by number.
const VERSIONS: [&str; 5] = [
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];
/// API version of the typed FFI, whose configuration is a dictionary.
const TYPED_FFI: i32 = 4;

/// Names of the computations that a call uses, with their positions.
pub(super) type Called<'s> = Vec<(&'s str, Span)>;

/// Reads a call. The names of its computations are added to `called`; the caller resolves them.
pub(super) fn read<'s>(g: &mut AttrReader<'_, 's>, called: &mut Called<'s>) -> Read<CustomCall> {
    let target = match g.read("custom_call_target", Cursor::string)? {
        Some(target) => String::from_utf8_lossy(&target).into_owned(),
        None => return g.fail("custom-call has no attribute `custom_call_target`"),
    };
    let mut call = CustomCall::new(target);
    call.api_version = g.read("api_version", version)?;
    call.has_side_effect = g.flag("custom_call_has_side_effect")?;
    if let Some(value) = g.take("backend_config") {
        call.config = read_config(value, call.api_version)?;
    }
    let layouts = g.read("operand_layout_constraints", |c| c.braced(shape::read_untiled))?;
    if let Some(layouts) = layouts {
        call.operand_layouts = Some(layouts.iter().map(Shape::layout).collect());
        call.result_layouts = g.shape.map(|shape| match shape {
            Shape::Tuple(parts) => parts.iter().map(Shape::layout).collect(),
            one => vec![one.layout()],
        });
    }
    call.aliases = g.read("output_to_operand_aliasing", |c| c.braced(alias))?.unwrap_or_default();
    if let Some(parts) = g.shape.and_then(Shape::parts)
        && parts.len() == 1
    {
        // A single result is not wrapped in a tuple in the module, so its index is removed.
        for alias in &mut call.aliases {
            if alias.output_tuple_indices.first() == Some(&0) {
                alias.output_tuple_indices.remove(0);
            }
        }
    }
    // XLA's own passes keep these attributes on calls of convolutions. Handlers do not receive them.
    for key in ["window", "dim_labels", "feature_group_count", "batch_group_count"] {
        g.take(key);
    }
    for key in ["called_computations", "calls"] {
        called.extend(g.read(key, |c| c.braced(Cursor::name))?.unwrap_or_default());
    }
    called.extend(g.read("to_apply", Cursor::name)?);
    Ok(call)
}

fn version(c: &mut Cursor<'_>) -> Read<i32> {
    c.skip();
    let at = c.pos();
    let Ok(word) = c.word() else { return c.wrong("an API version such as `API_VERSION_TYPED_FFI`") };
    match VERSIONS.iter().position(|v| *v == word) {
        Some(i) => Ok(i as i32),
        None => {
            let near = farcall_sig::nearest::nearest(word, VERSIONS);
            let hint = near.first().map_or(String::new(), |n| format!("; did you mean {n}?"));
            Err(Expected::new(Span::new(at, c.pos()), format!("there is no API version {word}{hint}")))
        }
    }
}

/// Reads a configuration: a string or a dictionary. For the typed FFI, the dictionary has MLIR attributes;
/// otherwise it is JSON and stays text.
fn read_config(mut value: Cursor<'_>, version: Option<i32>) -> Read<CallConfig> {
    let typed = version == Some(TYPED_FFI);
    if value.peek() == Some(b'"') {
        let text = value.string()?;
        value.finish()?;
        let dict = std::str::from_utf8(&text).ok().filter(|_| typed).and_then(|text| text.parse().ok());
        return Ok(match dict {
            Some(Attribute::Dict(dict)) => CallConfig::Dict(dict),
            _ if text.is_empty() => CallConfig::Absent,
            _ => CallConfig::Text(text.into()),
        });
    }
    let text = value.rest();
    if !typed {
        return Ok(CallConfig::Text(text.as_bytes().into()));
    }
    match text.parse::<Attribute>() {
        Ok(Attribute::Dict(dict)) => Ok(CallConfig::Dict(dict)),
        Ok(_) => Err(Expected::new(value.span(), "expected a dictionary such as `{a = 1 : i32}`")),
        Err(e) => {
            let first = e.diagnostics.first();
            let message = first.map_or("this is not a dictionary", |d| d.message.as_str());
            let base = value.pos();
            let span = first
                .and_then(|d| d.span)
                .map_or(value.span(), |s| Span::new(base + s.start as usize, base + s.end as usize));
            Err(Expected::new(span, message))
        }
    }
}

/// Parses `{0}: (1, {})`, with or without `may-alias`, as in calls and in the header's entry aliases.
pub(super) fn alias(c: &mut Cursor<'_>) -> Read<OutputAlias> {
    let output_tuple_indices = c.usizes()?;
    c.expect(b':')?;
    c.expect(b'(')?;
    let operand_index = c.usize()?;
    let operand_tuple_indices = if c.eat(b',') { c.usizes()? } else { Vec::new() };
    if c.eat(b',') {
        c.word()?;
    }
    c.expect(b')')?;
    Ok(OutputAlias { output_tuple_indices, operand_index, operand_tuple_indices })
}

/// Writes the attributes of a call.
pub(super) fn write(
    call: &CustomCall,
    inst: Inst<'_>,
    name: &dyn Fn(FuncId) -> String,
    out: &mut AttrWriter,
) {
    out.put("custom_call_target", quoted(call.target.as_bytes()));
    if let Some(layouts) = &call.operand_layouts {
        let func = inst.func();
        let shapes = inst.operands().iter().zip(layouts);
        let shapes: Vec<String> = shapes
            .filter_map(|(v, layout)| shape::of(func.ty(*v), layout_of(func.ty(*v), layout)))
            .map(|shape| shape.to_string())
            .collect();
        out.put("operand_layout_constraints", format_args!("{{{}}}", shapes.join(", ")));
    }
    out.flag("custom_call_has_side_effect", call.has_side_effect);
    if !call.called_computations.is_empty() {
        let names: Vec<String> = call.called_computations.iter().map(|f| name(*f)).collect();
        out.list("called_computations", &names);
    }
    if !call.aliases.is_empty() {
        let alias = |a: &OutputAlias| {
            let output = braced(&a.output_tuple_indices);
            format!("{output}: ({}, {})", a.operand_index, braced(&a.operand_tuple_indices))
        };
        let aliases: Vec<String> = call.aliases.iter().map(alias).collect();
        out.put("output_to_operand_aliasing", format_args!("{{{}}}", aliases.join(", ")));
    }
    // A dictionary without a version implies the typed FFI.
    let version = match (call.api_version, &call.config) {
        (None, CallConfig::Dict(_)) => Some(TYPED_FFI),
        (version, _) => version,
    };
    // PyTorch/XLA writes calls of version 0, but XLA's parser does not know the name of that version. A call
    // without a version uses the original interface.
    let named = version.filter(|v| *v != 0);
    if let Some(name) = named.and_then(|v| VERSIONS.get(usize::try_from(v).ok()?)) {
        out.put("api_version", name);
    }
    match &call.config {
        CallConfig::Absent => {}
        CallConfig::Text(text) => out.put("backend_config", quoted(text)),
        CallConfig::Dict(dict) if version == Some(TYPED_FFI) => out.put("backend_config", Dict(dict)),
        // Only the typed FFI has dictionaries; other versions get the dictionary's text.
        CallConfig::Dict(dict) => out.put("backend_config", quoted(Dict(dict).to_string().as_bytes())),
    }
}

/// The layout, if it has the rank of the type.
pub(super) fn layout_of<'l>(ty: &Type, layout: &'l [usize]) -> Option<&'l [usize]> {
    Some(layout).filter(|layout| ty.tensor().is_some_and(|t| t.rank() == layout.len()))
}

/// Layout of result `i`, if the call states it.
pub(super) fn result_layout(call: &CustomCall, i: usize) -> Option<&[usize]> {
    call.result_layouts.as_ref().and_then(|layouts| layouts.get(i)).map(Vec::as_slice)
}

/// Returns the operation that a call represents: a function of CHLO, as written by [`write_stand_in`], or
/// `TopK`, as XLA writes it for its CPU backend.
pub(super) fn operation(call: &CustomCall, shape: &Shape) -> Option<Op> {
    let is_bare = call.config == CallConfig::Absent && !call.has_side_effect;
    if call.target == "TopK" && is_bare && call.called_computations.len() <= 1 {
        let [values, _] = shape.parts()? else { return None };
        let k = values.tensor()?.dims().next_back()?.size()?;
        return Some(Op::TopK { k });
    }
    let name = Some(call.target.as_str()).filter(|t| t.starts_with("chlo."))?;
    let unary = || Unary::VARIANTS.into_iter().find(|op| op.name() == name).map(Op::Unary);
    let binary = || Binary::VARIANTS.into_iter().find(|op| op.name() == name).map(Op::Binary);
    unary().or_else(binary).filter(|_| call.config == CallConfig::Absent)
}

/// Writes the attributes of a call that [`operation`] converts back to the operation `name`.
pub(super) fn write_stand_in(name: &str, out: &mut AttrWriter) {
    out.put("custom_call_target", quoted(name.as_bytes()));
}
