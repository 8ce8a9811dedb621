//! Computations on parts: `sdy.manual_computation` as a pair of calls.
//!
//! The region of the operation becomes a part of the enclosing region, between two calls:
//! `xla.sdy.GlobalToLocalShape` returns the parts of the operands, and `xla.sdy.LocalToGlobalShape` the results
//! whose parts the region returns. Both have the shardings and the manual axes as frontend attributes. This is
//! the form in which XLA receives Shardy's programs.

use std::sync::Arc;

use crate::attr::{AttrDict, Attribute};
use crate::diag::Span;
use crate::module::{Func, Loc, NewInst, RegionId, ValueIds, ValueMap};
use crate::op::{CustomCall, Op};
use crate::sharding::{Sharding, borders};
use crate::types::Type;

/// The attributes of the operation, as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ManualShardings {
    /// `[<@mesh, [{"x"}]>]`: one sharding for each operand.
    pub(crate) inputs: String,
    /// One sharding for each result.
    pub(crate) outputs: String,
    /// `{"x", "y"}`
    pub(crate) axes: String,
}

impl ManualShardings {
    /// Removes the operation's attributes from a dictionary.
    pub(crate) fn take(attrs: &mut AttrDict) -> ManualShardings {
        let mut text = |key: &str| attrs.remove(key).map_or_else(String::new, |attr| body(&attr));
        let (inputs, outputs) = (text("in_shardings"), text("out_shardings"));
        // The text is `manual_axes{"x"}` or `{"x"}`.
        let axes = text("manual_axes");
        let axes = axes.find('{').map_or_else(String::new, |start| axes[start..].to_owned());
        ManualShardings { inputs, outputs, axes }
    }

    /// Returns the call that returns the parts of the operands, and its attributes.
    pub(crate) fn entry(&self) -> (Op, AttrDict) {
        self.call(borders::GLOBAL_TO_LOCAL, "xla.sdy.in_shardings", &self.inputs)
    }

    /// Returns the call that returns the results, and its attributes.
    pub(crate) fn exit(&self) -> (Op, AttrDict) {
        self.call(borders::LOCAL_TO_GLOBAL, "xla.sdy.out_shardings", &self.outputs)
    }

    fn call(&self, target: &str, key: &str, shardings: &str) -> (Op, AttrDict) {
        let mut frontend = AttrDict::new();
        let shardings = format!("#sdy.sharding_per_value<{shardings}>");
        frontend.insert(key.to_owned(), Attribute::string(shardings));
        let axes = format!("#sdy<manual_axes{}>", self.axes);
        frontend.insert("xla.sdy.manual_axes".to_owned(), Attribute::string(axes));
        let mut attrs = AttrDict::new();
        attrs.insert("mhlo.frontend_attributes".to_owned(), Attribute::Dict(frontend));
        (Op::CustomCall(Box::new(CustomCall::new(target))), attrs)
    }
}

/// Appends the contents of a manual computation to a region: `region` computes `results`, values without a
/// definition, from `operands`.
///
/// # Errors
/// A sentence if the numbers of operands, arguments, returned values and results do not match.
pub(crate) fn inline(
    func: &mut Func,
    out: RegionId,
    region: RegionId,
    shardings: &ManualShardings,
    (operands, results): (ValueIds, ValueIds),
    place: (Span, Option<Arc<Loc>>),
) -> Result<(), String> {
    let view = func.region(region);
    let (args, returned) = (ValueIds::from_slice(view.args()), ValueIds::from_slice(view.returned()));
    if args.len() != operands.len() || returned.len() != results.len() {
        return Err(format!(
            "the region has {} arguments for {} operands, and returns {} values for {} results",
            args.len(),
            operands.len(),
            returned.len(),
            results.len()
        ));
    }
    let mut parts = ValueMap::default();
    if !args.is_empty() {
        let types: Vec<Type> = args.iter().map(|arg| func.ty(*arg).clone()).collect();
        let (op, attrs) = shardings.entry();
        let mut entry = NewInst::new(op, operands).at(place.0, place.1.clone());
        entry.attrs = attrs;
        let entry = func.push(out, entry, types);
        parts.extend(args.iter().copied().zip(func.inst(entry).results().iter().copied()));
    }
    func.splice(region, out);
    func.replace_operands(&parts);
    if !results.is_empty() {
        let (op, attrs) = shardings.exit();
        let returned = returned.iter().map(|value| parts.get(value).copied().unwrap_or(*value));
        let mut exit = NewInst::new(op, returned).at(place.0, place.1);
        exit.attrs = attrs;
        func.push_defining(out, exit, results);
    }
    Ok(())
}

/// Returns the attributes of a call between values and parts for one of its values.
pub(crate) fn of_value(attrs: &AttrDict, value: usize) -> AttrDict {
    let mut attrs = attrs.clone();
    if let Some(Attribute::Dict(frontend)) = attrs.get_mut("mhlo.frontend_attributes") {
        for (_, attr) in
            frontend.iter_mut().filter(|(key, _)| key.starts_with("xla.sdy.") && key.ends_with("_shardings"))
        {
            let text = attr.to_string();
            let text = attr.as_str().unwrap_or(&text);
            let body = text.strip_prefix("#sdy.sharding_per_value<").and_then(|rest| rest.strip_suffix('>'));
            if let Some(one) =
                body.and_then(Sharding::read_per_value).and_then(|all| all.into_iter().nth(value))
            {
                *attr = Attribute::string(format!("#sdy.sharding_per_value<[<{one}>]>"));
            }
        }
    }
    attrs
}

/// Returns the text between `<` and `>` of an attribute.
fn body(attr: &Attribute) -> String {
    let text = attr.to_string();
    match (text.find('<'), text.strip_suffix('>')) {
        (Some(start), Some(text)) => text[start + 1..].to_owned(),
        _ => text,
    }
}
