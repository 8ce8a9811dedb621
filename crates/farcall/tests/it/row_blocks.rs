//! Products fused with the operations that follow, by blocks of rows: the bits are the same as without
//! fusion.

use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall::{CompileOptions, Executable, Registry};

/// Returns numbers that are not integers, so that a different order of additions would change the sums.
fn numbers(dims: &[usize], seed: usize) -> Literal {
    Literal::from_fn(DType::F32, dims, |i| {
        let n = (i + seed * 7919).wrapping_mul(2_654_435_761) % 2001;
        Scalar::Float(n as f64 / 1000.0 - 1.0)
    })
}

/// Runs a program with and without the pass `product_fusion`, twice each, on different numbers. With the
/// pass, the products and the operations between the products must become `fusions` fusions.
fn check(program: &str, inputs: &[&[usize]], fusions: usize) {
    let inputs = |run: usize| -> Vec<Literal> {
        inputs.iter().enumerate().map(|(i, dims)| numbers(dims, i + 10 * run)).collect()
    };
    let module = text::parse(&Source::new("rows", program)).unwrap_or_else(|e| panic!("{e}\n{program}"));
    let run = |passes: Pipeline, fusions: Option<usize>| {
        let options = CompileOptions::new().passes(passes);
        let executable = Executable::compile(&module, &Registry::new(), &options).unwrap();
        let of = |kernel: &str| executable.stats().thunks.get(kernel).copied().unwrap_or(0);
        if let Some(fusions) = fusions {
            assert_eq!((of("fusion"), of("dot")), (fusions, 0), "{program}{}", executable.plan());
        }
        (0..2).flat_map(|i| executable.run(&inputs(i)).unwrap()).collect::<Vec<_>>()
    };
    let all = Pipeline::default();
    let wanted = run(all.without("product_fusion"), None);
    let found = run(all, Some(fusions));
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        let bits = |x: &Literal| -> Vec<u64> {
            let float = |x: Scalar| match x {
                Scalar::Float(x) => x.to_bits(),
                other => panic!("{other:?}"),
            };
            x.iter().map(float).collect()
        };
        assert!(bits(found) == bits(wanted), "the fused program has other results:\n{program}");
    }
}

/// Returns instructions for the softmax of the rows of `%0`. `all` has the sizes of all dimensions, and
/// `rows` the sizes without the last dimension.
fn softmax(rows: &str, all: &str, dims: &str, last: usize) -> String {
    format!(
        "
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [{last}] : (tensor<{all}>, tensor<f32>) -> tensor<{rows}>
  %mb = stablehlo.broadcast_in_dim %m, dims = {dims} : (tensor<{rows}>) -> tensor<{all}>
  %sub = stablehlo.subtract %s, %mb : tensor<{all}>
  %e = stablehlo.exponential %sub : tensor<{all}>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [{last}] : (tensor<{all}>, tensor<f32>) -> tensor<{rows}>
  %tb = stablehlo.broadcast_in_dim %t, dims = {dims} : (tensor<{rows}>) -> tensor<{all}>
  %p = stablehlo.divide %e, %tb : tensor<{all}>"
    )
}

#[test]
fn attention_with_a_mask() {
    let soft = softmax("3x96", "3x96x70", "[0, 1]", 2);
    let program = format!(
        "func.func @main(%q: tensor<3x96x20xf32>, %k: tensor<3x70x20xf32>, %v: tensor<3x70x33xf32>, %mask: tensor<96x70xf32>) -> tensor<3x96x33xf32> {{
  %d = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x96x20xf32>, tensor<3x70x20xf32>) -> tensor<3x96x70xf32>
  %c = stablehlo.constant dense<0.3> : tensor<3x96x70xf32>
  %scaled = stablehlo.multiply %d, %c : tensor<3x96x70xf32>
  %mb = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<96x70xf32>) -> tensor<3x96x70xf32>
  %s = stablehlo.add %scaled, %mb : tensor<3x96x70xf32>{}
  %r = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x96x70xf32>, tensor<3x70x33xf32>) -> tensor<3x96x33xf32>
  return %r : tensor<3x96x33xf32>
}}",
        soft.replace("3x96>", "3x96xf32>").replace("3x96x70>", "3x96x70xf32>").replace("%mb", "%max")
    );
    check(&program, &[&[3, 96, 20], &[3, 70, 20], &[3, 70, 33], &[96, 70]], 1);
}

/// Checks blocks of rows that share their right factors. The factors are packed once for all blocks, and are
/// so large that their columns and their depth are packed in several parts.
#[test]
fn blocks_with_the_same_large_factors() {
    let soft = softmax("2x96", "2x96x600", "[0, 1]", 2);
    let program = format!(
        "func.func @main(%q: tensor<2x96x20xf32>, %k: tensor<2x600x20xf32>, %v: tensor<2x300x600xf32>) -> tensor<2x96x300xf32> {{
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x96x20xf32>, tensor<2x600x20xf32>) -> tensor<2x96x600xf32>{}
  %r = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x96x600xf32>, tensor<2x300x600xf32>) -> tensor<2x96x300xf32>
  return %r : tensor<2x96x300xf32>
}}",
        soft.replace("2x96>", "2x96xf32>").replace("2x96x600>", "2x96x600xf32>")
    );
    check(&program, &[&[2, 96, 20], &[2, 600, 20], &[2, 300, 600]], 1);
}

#[test]
fn heads_that_lie_between_rows_and_depth() {
    let soft = softmax("2x4x64", "2x4x64x50", "[0, 1, 2]", 3);
    let program = format!(
        "func.func @main(%q: tensor<2x64x4x16xf32>, %k: tensor<2x50x4x16xf32>, %v: tensor<2x50x4x24xf32>) -> tensor<2x4x64x24xf32> {{
  %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x64x4x16xf32>, tensor<2x50x4x16xf32>) -> tensor<2x4x64x50xf32>{}
  %r = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x64x50xf32>, tensor<2x50x4x24xf32>) -> tensor<2x4x64x24xf32>
  return %r : tensor<2x4x64x24xf32>
}}",
        soft.replace("2x4x64>", "2x4x64xf32>").replace("2x4x64x50>", "2x4x64x50xf32>")
    );
    check(&program, &[&[2, 64, 4, 16], &[2, 50, 4, 16], &[2, 50, 4, 24]], 1);
}

/// Checks that attention becomes one fusion as `jax.nn.dot_product_attention` writes it, too: with transposed
/// dimensions of size 1, and the weights on the right.
#[test]
fn attention_among_dimensions_of_one() {
    let soft = softmax("1x2x4x64", "1x2x4x64x50", "[0, 1, 2, 3]", 4);
    let program = format!(
        "func.func @main(%q: tensor<2x64x4x16xf32>, %k: tensor<2x50x4x16xf32>, %v: tensor<2x50x4x24xf32>, %bias: tensor<2x1x64x50xf32>) -> tensor<2x64x4x24xf32> {{
  %q5 = stablehlo.reshape %q : (tensor<2x64x4x16xf32>) -> tensor<2x64x4x1x16xf32>
  %d = stablehlo.dot_general %q5, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x64x4x1x16xf32>, tensor<2x50x4x16xf32>) -> tensor<2x4x64x1x50xf32>
  %c = stablehlo.constant dense<0.3> : tensor<2x4x64x1x50xf32>
  %scaled = stablehlo.multiply %d, %c : tensor<2x4x64x1x50xf32>
  %t = stablehlo.transpose %scaled, dims = [3, 0, 1, 2, 4] : (tensor<2x4x64x1x50xf32>) -> tensor<1x2x4x64x50xf32>
  %b5 = stablehlo.broadcast_in_dim %bias, dims = [0, 1, 3, 4] : (tensor<2x1x64x50xf32>) -> tensor<2x1x1x64x50xf32>
  %bt = stablehlo.transpose %b5, dims = [2, 0, 1, 3, 4] : (tensor<2x1x1x64x50xf32>) -> tensor<1x2x1x64x50xf32>
  %ball = stablehlo.broadcast_in_dim %bt, dims = [0, 1, 2, 3, 4] : (tensor<1x2x1x64x50xf32>) -> tensor<1x2x4x64x50xf32>
  %s = stablehlo.add %t, %ball : tensor<1x2x4x64x50xf32>{}
  %r = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x50x4x24xf32>, tensor<1x2x4x64x50xf32>) -> tensor<2x4x24x1x64xf32>
  %rt = stablehlo.transpose %r, dims = [3, 0, 4, 1, 2] : (tensor<2x4x24x1x64xf32>) -> tensor<1x2x64x4x24xf32>
  %out = stablehlo.reshape %rt : (tensor<1x2x64x4x24xf32>) -> tensor<2x64x4x24xf32>
  return %out : tensor<2x64x4x24xf32>
}}",
        soft.replace("1x2x4x64>", "1x2x4x64xf32>")
            .replace("1x2x4x64x50>", "1x2x4x64x50xf32>")
            .replace("%t ", "%total ")
            .replace("%t,", "%total,")
    );
    check(&program, &[&[2, 64, 4, 16], &[2, 50, 4, 16], &[2, 50, 4, 24], &[2, 1, 64, 50]], 1);
}

/// Checks that products with two dimensions of columns are fused with the transposes of their results.
#[test]
fn transposed_products() {
    let program = |dims: &str, to: &str| {
        format!(
            "func.func @main(%x: tensor<3x40x2x16xf32>, %y: tensor<2x16x3x5x7xf32>) -> tensor<{to}xf32> {{
  %d = stablehlo.dot_general %x, %y, batching_dims = [0, 2] x [2, 0], contracting_dims = [3] x [1] : (tensor<3x40x2x16xf32>, tensor<2x16x3x5x7xf32>) -> tensor<3x2x40x5x7xf32>
  %t = stablehlo.transpose %d, dims = {dims} : (tensor<3x2x40x5x7xf32>) -> tensor<{to}xf32>
  return %t : tensor<{to}xf32>
}}"
        )
    };
    let inputs: [&[usize]; 2] = [&[3, 40, 2, 16], &[2, 16, 3, 5, 7]];
    check(&program("[0, 2, 1, 3, 4]", "3x40x2x5x7"), &inputs, 1);
    check(&program("[1, 2, 0, 3, 4]", "2x40x3x5x7"), &inputs, 1);
}

/// Products that are not fused with their transposes. A product with a vector sums in an order that depends
/// on the layout of the result. In the other product, neighboring results would be far apart in memory, so
/// that each would have to be written separately.
#[test]
fn transposed_products_that_stay() {
    let vectors = "func.func @main(%x: tensor<3x40x20x64xf32>, %y: tensor<3x64xf32>) -> tensor<40x3x20xf32> {
  %d = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<3x40x20x64xf32>, tensor<3x64xf32>) -> tensor<3x40x20xf32>
  %t = stablehlo.transpose %d, dims = [1, 0, 2] : (tensor<3x40x20xf32>) -> tensor<40x3x20xf32>
  return %t : tensor<40x3x20xf32>
}";
    let columns = "func.func @main(%x: tensor<40x16xf32>, %y: tensor<16x5x7xf32>) -> tensor<5x40x7xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<40x16xf32>, tensor<16x5x7xf32>) -> tensor<40x5x7xf32>
  %t = stablehlo.transpose %d, dims = [1, 0, 2] : (tensor<40x5x7xf32>) -> tensor<5x40x7xf32>
  return %t : tensor<5x40x7xf32>
}";
    for program in [vectors, columns] {
        let module = text::parse(&Source::new("rows", program)).unwrap();
        let executable = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap();
        let of = |kernel: &str| executable.stats().thunks.get(kernel).copied();
        assert_eq!((of("dot"), of("transpose")), (Some(1), Some(1)), "{}", executable.plan());
    }
}

#[test]
fn layers_and_functions_of_rows() {
    let program = "func.func @main(%x: tensor<6x100x40xf32>, %w: tensor<40x100xf32>, %b: tensor<100xf32>, %u: tensor<100x30xf32>, %f: tensor<6x100xf32>) -> (tensor<6x100x30xf32>, tensor<6x100xf32>) {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<6x100x40xf32>, tensor<40x100xf32>) -> tensor<6x100x100xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<100xf32>) -> tensor<6x100x100xf32>
  %a = stablehlo.add %d, %bb : tensor<6x100x100xf32>
  %h = stablehlo.tanh %a : tensor<6x100x100xf32>
  %e = stablehlo.dot_general %h, %u, contracting_dims = [2] x [0] : (tensor<6x100x100xf32>, tensor<100x30xf32>) -> tensor<6x100x30xf32>
  %fb = stablehlo.broadcast_in_dim %f, dims = [0, 1] : (tensor<6x100xf32>) -> tensor<6x100x30xf32>
  %r = stablehlo.multiply %e, %fb : tensor<6x100x30xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<6x100x30xf32>, tensor<f32>) -> tensor<6x100xf32>
  return %r, %s : tensor<6x100x30xf32>, tensor<6x100xf32>
}";
    check(program, &[&[6, 100, 40], &[40, 100], &[100], &[100, 30], &[6, 100]], 1);
}

/// A reduction that combines elements of different rows is not fused into the blocks of rows.
#[test]
fn sums_of_columns_are_apart() {
    let program = "func.func @main(%x: tensor<128x40xf32>, %w: tensor<40x64xf32>) -> tensor<64xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x40xf32>, tensor<40x64xf32>) -> tensor<128x64xf32>
  %a = stablehlo.tanh %d : tensor<128x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}";
    let module = text::parse(&Source::new("rows", program)).unwrap();
    let executable = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap();
    assert_eq!(executable.stats().thunks.get("dot"), Some(&1), "{}", executable.plan());
}

#[test]
fn steps_of_an_optimizer_run_in_place() {
    for rows in [64, 96, 4096] {
        let of = |ty: &str| format!("tensor<{rows}x{ty}>");
        let (w, alias) = (of("33xf32"), |i: usize| format!("{{tf.aliasing_output = {i} : i32}}"));
        let program = format!(
            "func.func @main(%w: {w} {0}, %m: {w} {1}, %x: tensor<40x{rows}xf32>, %g: tensor<40x33xf32>) -> ({w}, {w}) {{
  %rate = stablehlo.constant dense<0.125> : {w}
  %d = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<40x{rows}xf32>, tensor<40x33xf32>) -> {w}
  %n = stablehlo.add %m, %d : {w}
  %s = stablehlo.multiply %n, %rate : {w}
  %v = stablehlo.subtract %w, %s : {w}
  return %v, %n : {w}, {w} }}",
            alias(0),
            alias(1)
        );
        check(&program, &[&[rows, 33], &[rows, 33], &[40, rows], &[40, 33]], 1);
        let module = text::parse(&Source::new("rows", &program)).unwrap();
        let executable = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap();
        assert!(executable.plan().params()[..2].iter().all(|p| p.donated), "{}", executable.plan());
        assert_eq!(executable.stats().arena_bytes, 0, "{}", executable.plan());
    }
}
