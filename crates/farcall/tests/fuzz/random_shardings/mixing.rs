//! Programs of operations that combine elements along dimensions, on tensors of many sizes. Elements are
//! small integers, so sums in any order are equal.

use farcall::ir::eval::Denormals;
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall_testing::SplitMix;

use crate::random::generate::Program;

/// Makes the program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut r = SplitMix::new(seed);
    let (name, dtype) =
        r.pick(&[("f32", DType::F32), ("f32", DType::F32), ("i32", DType::S32), ("ui8", DType::U8)]);
    let [m, n, k] = [0; 3].map(|_| 1 + r.below(9));
    let ty = |dims: &[usize]| {
        let dims: String = dims.iter().map(|size| format!("{size}x")).collect();
        format!("tensor<{dims}{name}>")
    };
    let (left, right, result) = (ty(&[m, k]), ty(&[k, n]), ty(&[m, n]));
    let mut lines = vec![
        format!("%one = stablehlo.constant dense<1> : {}", ty(&[])),
        format!("%ones = stablehlo.broadcast_in_dim %one, dims = [] : ({}) -> {left}", ty(&[])),
        // The padding of the operand is no zero.
        format!("%l = stablehlo.add %a, %ones : {left}"),
        "%r = stablehlo.negate %b : RIGHT".replace("RIGHT", &right),
    ];
    if name.starts_with('f') {
        lines[0] = lines[0].replace("<1>", "<1.0>");
    }
    lines.push(format!(
        "%p = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : ({left}, {right}) -> {result}"
    ));
    let mut returned = vec![("%p".to_owned(), result.clone())];
    for i in 0..1 + r.below(3) {
        let (from, dims) = if r.one_in(2) { ("%l", [m, k]) } else { ("%p", [m, n]) };
        let (of, line, dim) = (ty(&dims), format!("%v{i}"), r.below(2));
        let (line, to) = match r.below(8) {
            0 => {
                let function = r.pick(&["add", "maximum", "minimum"]);
                let to = ty(&dims[1 - dim..2 - dim]);
                let reduce = format!("stablehlo.reduce({from} init: %one) applies stablehlo.{function}");
                (format!("{line} = {reduce} across dimensions = [{dim}] : ({of}, {}) -> {to}", ty(&[])), to)
            }
            1 => {
                let function = r.pick(&["add", "maximum"]);
                let reduce = format!("stablehlo.reduce({from} init: %one) applies stablehlo.{function}");
                let to = ty(&[]);
                (format!("{line} = {reduce} across dimensions = [0, 1] : ({of}, {to}) -> {to}"), to)
            }
            2 => (format!("{line} = stablehlo.reverse {from}, dims = [{dim}] : {of}"), of),
            3 => {
                let to = ty(&[dims[1], dims[0]]);
                (format!("{line} = stablehlo.transpose {from}, dims = [1, 0] : ({of}) -> {to}"), to)
            }
            4 => {
                let mut joined = dims;
                joined[dim] *= 2;
                let to = ty(&joined);
                (
                    format!(
                        "{line} = stablehlo.concatenate {from}, {from}, dim = {dim} : ({of}, {of}) -> {to}"
                    ),
                    to,
                )
            }
            5 => {
                let to = ty(&[dims[0] * dims[1]]);
                (format!("{line} = stablehlo.reshape {from} : ({of}) -> {to}"), to)
            }
            6 => {
                // A rotation.
                let (first, mut bounds) = (r.below(dims[dim] + 1), [dims.map(|size| [0, size]); 2]);
                (bounds[0][dim][0], bounds[1][dim][1]) = (first, first);
                let slices = bounds.map(|[[a, b], [c, d]]| format!("[{a}:{b}, {c}:{d}]"));
                let types = bounds.map(|bounds| ty(&bounds.map(|[start, limit]| limit - start)));
                let slice = |i: usize, name: &str| {
                    format!("{name} = stablehlo.slice {from} {} : ({of}) -> {}", slices[i], types[i])
                };
                lines.extend([slice(0, &format!("%upper{i}")), slice(1, &format!("%lower{i}"))]);
                let joined = format!("stablehlo.concatenate %upper{i}, %lower{i}, dim = {dim}");
                (format!("{line} = {joined} : ({}, {}) -> {of}", types[0], types[1]), of)
            }
            _ => {
                // Cumulative sums.
                let (size, mut window, mut low) = (dims[dim], [1, 1], [0, 0]);
                (window[dim], low[dim]) = (size, size - 1);
                let padding = format!("dense<[[{}, 0], [{}, 0]]> : tensor<2x2xi64>", low[0], low[1]);
                let region = format!(
                    "({{ ^bb0(%x: {0}, %y: {0}):\n %s = stablehlo.add %x, %y : {0}\n stablehlo.return %s : {0} }})",
                    ty(&[])
                );
                let attributes = format!(
                    "window_dimensions = array<i64: {}, {}>, padding = {padding}",
                    window[0], window[1]
                );
                let types = format!("({of}, {}) -> {of}", ty(&[]));
                let name = "\"stablehlo.reduce_window\"";
                (format!("{line} = {name}({from}, %zero) <{{{attributes}}}> {region} : {types}"), of)
            }
        };
        lines.push(line);
        returned.push((format!("%v{i}"), to));
    }
    let zero = format!("%zero = stablehlo.subtract %one, %one : {}", ty(&[]));
    lines.insert(1, zero);
    let list = |part: &dyn Fn(&(String, String)) -> String| -> String {
        returned.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let (values, types) = (list(&|(value, _)| value.clone()), list(&|(_, ty)| ty.clone()));
    let text = format!(
        "func.func @main(%a: {left}, %b: {right}) -> ({types}) {{\n  {}\n  return {values} : {types}\n}}",
        lines.join("\n  ")
    );
    let module = text::parse(&Source::new("mixing.mlir", &*text)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut input = |dims: [usize; 2]| {
        Literal::from_fn(dtype, dims, |_| Scalar::Signed(r.below(7) as i64 - 3).round_to(dtype))
    };
    let inputs = vec![input([m, k]), input([k, n])];
    Program { module, inputs, exact: vec![true; returned.len()], denormals: Denormals::Ieee }
}
