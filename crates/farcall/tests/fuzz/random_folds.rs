//! Reductions, windows and maps by regions of several operations, with one and two operands, compared with
//! the evaluator bit by bit. Most of these regions are not associative, so a different order of elements
//! would change the results.

use farcall::ir::eval::Denormals;
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{DType, Literal, Scalar};
use farcall_testing::SplitMix;
use farcall_testing::engine::Both;

fn ty(dtype: DType, dims: &[usize]) -> String {
    let sizes: String = dims.iter().map(|n| format!("{n}x")).collect();
    format!("tensor<{sizes}{}>", dtype.mlir())
}

fn array(values: impl IntoIterator<Item = usize>) -> String {
    let all: Vec<String> = values.into_iter().map(|n| n.to_string()).collect();
    if all.is_empty() { "array<i64>".to_owned() } else { format!("array<i64: {}>", all.join(", ")) }
}

fn tensor(r: &mut SplitMix, dtype: DType, dims: &[usize]) -> Literal {
    Literal::from_fn(dtype, dims, |_| match dtype {
        DType::F32 => Scalar::Float((r.below(33) as f64 - 16.0) / 8.0),
        _ => Scalar::Signed(r.below(33) as i64 - 16),
    })
}

/// Returns a region that combines `count` accumulated values with `count` elements. `%n` is a number from
/// outside of the region.
fn region(r: &mut SplitMix, dtype: DType, count: usize) -> String {
    let t = ty(dtype, &[]);
    let bodies = [
        "%s = stablehlo.multiply %b, %b : TYPE
  %r = stablehlo.add %a, %s : TYPE",
        "%s = stablehlo.abs %b : TYPE
  %r = stablehlo.maximum %a, %s : TYPE",
        "%s = stablehlo.subtract %a, %b : TYPE
  %r = stablehlo.multiply %s, %n : TYPE",
        "%s = stablehlo.constant dense<3> : TYPE
  %p = stablehlo.compare LE, %a, %b : (TYPE, TYPE) -> tensor<i1>
  %u = stablehlo.add %b, %s : TYPE
  %r = stablehlo.select %p, %a, %u : tensor<i1>, TYPE",
        "%p = stablehlo.compare LE, %a, %b : (TYPE, TYPE) -> tensor<i1>
  %r = \"stablehlo.if\"(%p) ({
    %u = stablehlo.subtract %b, %n : TYPE
    stablehlo.return %u : TYPE
  }, {
    stablehlo.return %a : TYPE
  }) : (tensor<i1>) -> TYPE",
    ];
    let body = r.pick(&bodies).replace("TYPE", &t);
    let body = if dtype == DType::F32 { body.replace("dense<3>", "dense<3.0>") } else { body };
    if count == 1 {
        return format!("({{\n^bb0(%a: {t}, %b: {t}):\n  {body}\n  stablehlo.return %r : {t}\n}})");
    }
    let returned = r.pick(&["%r, %q", "%q, %r", "%r, %r", "%q, %d"]);
    format!(
        "({{\n^bb0(%a: {t}, %c: {t}, %b: {t}, %d: {t}):\n  {body}\n  %q = stablehlo.subtract %r, %c : {t}\n  stablehlo.return {returned} : {t}, {t}\n}})"
    )
}

/// Returns an operation on tensors of these sizes: its name, its attributes, true if it has initial values,
/// and the sizes of its results.
fn operation(r: &mut SplitMix, dims: &[usize]) -> (&'static str, String, bool, Vec<usize>) {
    let rank = dims.len();
    match r.below(4) {
        0 => ("map", format!("dimensions = {}", array(0..rank)), false, dims.to_vec()),
        1 => {
            let reduced: Vec<usize> = (0..rank).filter(|_| r.below(2) == 0).collect();
            let kept = (0..rank).filter(|d| !reduced.contains(d)).map(|d| dims[d]).collect();
            ("reduce", format!("dimensions = {}", array(reduced)), true, kept)
        }
        kind => {
            // Cumulative windows along one dimension, or arbitrary windows.
            let grows = (kind == 2 && rank > 0).then(|| r.below(rank));
            let mut pick = |d: usize, one: usize, most: usize| match grows {
                Some(g) if g == d => one.max(dims[d]),
                Some(_) => one,
                None => 1 + r.below(most),
            };
            let window: Vec<usize> = (0..rank).map(|d| pick(d, 1, 3)).collect();
            let mut other = |most: usize| -> Vec<usize> {
                (0..rank).map(|_| if grows.is_some() { 1 } else { 1 + r.below(most) }).collect()
            };
            let (strides, base, apart) = (other(3), other(2), other(2));
            let padding: Vec<[usize; 2]> = (0..rank)
                .map(|d| match grows {
                    Some(g) if g == d => [dims[d] - 1, 0],
                    Some(_) => [0, 0],
                    None => [r.below(3), r.below(3)],
                })
                .collect();
            let result: Option<Vec<usize>> = (0..rank)
                .map(|d| {
                    let n = (dims[d] - 1) * base[d] + 1 + padding[d][0] + padding[d][1];
                    Some(n.checked_sub((window[d] - 1) * apart[d] + 1)? / strides[d] + 1)
                })
                .collect();
            let Some(result) = result else { return operation(r, dims) };
            let pads: Vec<String> = padding.iter().map(|[low, high]| format!("[{low}, {high}]")).collect();
            let padding = match rank {
                0 => String::new(),
                _ => format!("padding = dense<[{}]> : tensor<{rank}x2xi64>, ", pads.join(", ")),
            };
            let attributes = format!(
                "{padding}window_dimensions = {}, window_strides = {}, base_dilations = {}, window_dilations = {}",
                array(window),
                array(strides),
                array(base),
                array(apart)
            );
            ("reduce_window", attributes, true, result)
        }
    }
}

#[test]
fn regions_match_the_evaluator() {
    let mut r = SplitMix::new(3);
    for _ in 0..600 {
        let dtype = r.pick(&[DType::F32, DType::S32]);
        let dims: Vec<usize> = (0..r.below(4)).map(|_| 1 + r.below(9)).collect();
        let (name, attributes, has_inits, result) = operation(&mut r, &dims);
        // A map has only one result.
        let count = if has_inits { 1 + r.below(2) } else { 1 };
        let (x, out, one) = (ty(dtype, &dims), ty(dtype, &result), ty(dtype, &[]));
        let region = region(&mut r, dtype, count);
        let list = |n: usize, item: &dyn Fn(usize) -> String| (0..n).map(item).collect::<Vec<_>>().join(", ");
        let operands = if has_inits { count } else { 2 };
        let inits = if has_inits { count } else { 0 };
        let names = list(operands + inits, &|i| {
            if i < operands { format!("%x{i}") } else { format!("%i{}", i - operands) }
        });
        let types = list(operands + inits, &|i| if i < operands { x.clone() } else { one.clone() });
        let args = list(operands + inits, &|i| {
            if i < operands { format!("%x{i}: {x}") } else { format!("%i{}: {one}", i - operands) }
        });
        let results = list(count, &|_| out.clone());
        let program = format!(
            "func.func @main({args}, %n: {one}) -> ({results}) {{
  %o:{count} = \"stablehlo.{name}\"({names}) <{{{attributes}}}> {region} : ({types}) -> ({results})
  return {} : {results}
}}",
            list(count, &|i| format!("%o#{i}"))
        );
        let mut inputs: Vec<Literal> = (0..operands).map(|_| tensor(&mut r, dtype, &dims)).collect();
        inputs.extend((0..=inits).map(|_| tensor(&mut r, dtype, &[])));
        let both = Both::run(&program, &inputs, Denormals::Ieee, Pipeline::default());
        assert_eq!(both.thunks("reference"), 0, "{program}{}", both.executable.plan());
        for (found, wanted) in both.results() {
            for i in 0..wanted.len() {
                assert_eq!(found.get(i), wanted.get(i), "element {i}\n{program}\n{inputs:?}");
            }
        }
    }
}
