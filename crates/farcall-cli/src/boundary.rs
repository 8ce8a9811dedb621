//! The inputs and outputs of a program, and their attributes.

use farcall::ir::attr::AttrDict;
use farcall::ir::module::Func;
use farcall::ir::types::{Dim, TensorType, Type};

use crate::terminal::{DIM, styled};

/// Returns the inputs of a run: all parameters except tokens, which have no value.
pub(crate) fn inputs(func: &Func) -> Vec<(&Type, Option<&AttrDict>)> {
    let params = func.params().iter().enumerate().map(|(i, p)| (func.ty(*p), func.param_attrs().get(i)));
    params.filter(|(ty, _)| **ty != Type::Token).collect()
}

/// Returns the outputs of a run: all results except tokens.
pub(crate) fn outputs(func: &Func) -> Vec<(&Type, Option<&AttrDict>)> {
    let results = func.results().iter().enumerate().map(|(i, ty)| (ty, func.result_attrs().get(i)));
    results.filter(|(ty, _)| **ty != Type::Token).collect()
}

/// Returns the attributes of a parameter or result that are worth showing.
pub(crate) fn notes(attrs: Option<&AttrDict>) -> String {
    let notes: Vec<String> = attrs
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| match name.as_str() {
            "jax.result_info" => value.as_str().filter(|t| *t != "result").map(str::to_owned),
            "tf.aliasing_output" => value.as_i64().map(|i| format!("donated to out{i}")),
            "jax.buffer_donor" => Some("donated".to_owned()),
            _ => None,
        })
        .filter(|n| !n.is_empty())
        .collect();
    if notes.is_empty() { String::new() } else { styled(DIM, format!("  {}", notes.join(", "))) }
}

/// Returns the sizes, for JSON output. `None`, which becomes `null`, stands for a dynamic size.
pub(crate) fn shape(ty: &TensorType) -> Vec<Option<usize>> {
    ty.dims().map(Dim::size).collect()
}
