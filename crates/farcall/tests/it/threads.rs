//! Results do not depend on the number of threads: programs that are large enough to be split have the same
//! bits on one, two and seven threads.

use std::sync::Arc;

use farcall::custom_call::{RunContext, ThreadPool};
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::SplitMix;

const THREADS: [usize; 3] = [1, 2, 7];

/// Returns numbers whose sum depends on the order, or integers that serve as indices.
fn input(dtype: DType, sizes: &[usize], r: &mut SplitMix) -> Literal {
    Literal::from_fn(dtype, sizes, |_| match dtype {
        DType::S32 => Scalar::Signed(r.below(997) as i64),
        DType::U64 => Scalar::Unsigned(r.below(1 << 40) as u64),
        _ => Scalar::Float((r.below(1 << 24) as f64 - 8e6) / 3e5),
    })
}

/// Checks that a program has the same results on each number of threads.
fn check(program: &str) {
    let module = text::parse(&Source::new("threads.mlir", program)).unwrap();
    let executable = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap();
    let mut r = SplitMix::new(3);
    let inputs: Vec<Literal> =
        executable.inputs().iter().map(|ty| input(ty.dtype, ty.sizes(), &mut r)).collect();
    let [one, others @ ..] = THREADS.map(|n| {
        let run = RunContext::new().with_pool(Arc::new(ThreadPool::new(n)));
        executable.run_with(&inputs, &run).unwrap()
    });
    for (results, n) in others.iter().zip(&THREADS[1..]) {
        for (i, (found, wanted)) in results.iter().zip(&one).enumerate() {
            assert!(found.bytes() == wanted.bytes(), "result {i} differs on {n} threads\n{program}");
        }
    }
}

/// Checks a program with one argument.
fn unary(x: &str, body: &str) {
    check(&format!("func.func @main(%x: tensor<{x}>) -> {body}"));
}

#[test]
fn elements_and_rows() {
    unary(
        "500000xf32",
        "tensor<500000xf32> {
        %0 = stablehlo.multiply %x, %x : tensor<500000xf32>
        %1 = stablehlo.tanh %0 : tensor<500000xf32>
        %2 = stablehlo.add %1, %x : tensor<500000xf32>
        return %2 : tensor<500000xf32> }",
    );
    // Each row is divided by its sum. The other results are the sum of all elements and the sum of each
    // column.
    unary("700x900xf32", "(tensor<700x900xf32>, tensor<f32>, tensor<900xf32>) {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %e = stablehlo.exponential %x : tensor<700x900xf32>
        %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<700x900xf32>, tensor<f32>) -> tensor<700xf32>
        %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<700xf32>) -> tensor<700x900xf32>
        %d = stablehlo.divide %e, %b : tensor<700x900xf32>
        %a = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<700x900xf32>, tensor<f32>) -> tensor<f32>
        %c = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<700x900xf32>, tensor<f32>) -> tensor<900xf32>
        return %d, %a, %c : tensor<700x900xf32>, tensor<f32>, tensor<900xf32> }");
}

#[test]
fn products_and_convolutions() {
    for dtype in ["f32", "f64", "bf16"] {
        check(&format!("func.func @main(%x: tensor<3x301x200x{dtype}>, %y: tensor<3x200x177x{dtype}>) -> tensor<3x301x177x{dtype}> {{
            %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]
                : (tensor<3x301x200x{dtype}>, tensor<3x200x177x{dtype}>) -> tensor<3x301x177x{dtype}>
            return %0 : tensor<3x301x177x{dtype}> }}"));
    }
    check("func.func @main(%x: tensor<2001x1000xf32>, %y: tensor<1000xf32>) -> tensor<2001xf32> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2001x1000xf32>, tensor<1000xf32>) -> tensor<2001xf32>
        return %0 : tensor<2001xf32> }");
    // Few rows and columns, with a long sum.
    check("func.func @main(%x: tensor<7x90001xf32>, %y: tensor<90001x5xf32>) -> tensor<7x5xf32> {
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<7x90001xf32>, tensor<90001x5xf32>) -> tensor<7x5xf32>
        return %0 : tensor<7x5xf32> }");
    check("func.func @main(%x: tensor<2x40x40x16xf32>, %w: tensor<3x3x16x24xf32>) -> tensor<2x40x40x24xf32> {
        %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<2x40x40x16xf32>, tensor<3x3x16x24xf32>) -> tensor<2x40x40x24xf32>
        return %0 : tensor<2x40x40x24xf32> }");
}

/// Formats a call of a target of the engine's own library. LAPACK's matrices are column-major.
fn linear_algebra_call(
    target: &str,
    operands: &str,
    attributes: &str,
    operand_types: &[&str],
    results: &[&str],
) -> String {
    let layouts = |types: &[&str]| {
        let layout = |ty: &&str| match ty.matches('x').count() {
            0 => "dense<> : tensor<0xindex>",
            1 => "dense<0> : tensor<1xindex>",
            _ if target.starts_with("lapack") => "dense<[0, 1]> : tensor<2xindex>",
            _ => "dense<[1, 0]> : tensor<2xindex>",
        };
        types.iter().map(layout).collect::<Vec<_>>().join(", ")
    };
    format!(
        "stablehlo.custom_call @{target}({operands}) {{api_version = 4 : i32, mhlo.backend_config = {{{attributes}}}, \
         operand_layouts = [{}], result_layouts = [{}]}} : ({}) -> ({})",
        layouts(operand_types),
        layouts(results),
        operand_types.join(", "),
        results.join(", ")
    )
}

/// Factorizations, solves and products, whose threads share a matrix.
#[test]
fn linear_algebra() {
    for (letter, dtype) in [("s", "f32"), ("d", "f64")] {
        let [x, square, tau] = ["300x400x", "300x300x", "300x"].map(|dims| format!("tensor<{dims}{dtype}>"));
        let (x, square, tau) = (x.as_str(), square.as_str(), tau.as_str());
        let (pivots, info) = ("tensor<300xi32>", "tensor<i32>");
        let call = |routine: &str, operands: &str, attributes: &str, types: &[&str], results: &[&str]| {
            let target = format!("lapack_{letter}{routine}_ffi");
            linear_algebra_call(&target, operands, attributes, types, results)
        };
        let system = "side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8";
        let transpose = "transpose_b = \"transpose\"";
        let results = [square, info, x, pivots, info, x, tau, square, x, square].join(", ");
        check(&format!(
            "func.func @main(%x: {x}) -> ({results}) {{
            %g = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : ({x}, {x}) -> {square}
            %c:2 = {cholesky}
            %lu:3 = {lu}
            %qr:2 = {qr}
            %h = stablehlo.slice %qr#0 [0:300, 0:300] : ({x}) -> {square}
            %q = {q}
            %y = {solve}
            %p = {product}
            return %c#0, %c#1, %lu#0, %lu#1, %lu#2, %qr#0, %qr#1, %q, %y, %p : {results} }}",
            cholesky = call("potrf", "%g", "uplo = 76 : ui8", &[square], &[square, info]),
            lu = call("getrf", "%x", "", &[x], &[x, pivots, info]),
            qr = call("geqrf", "%x", "", &[x], &[x, tau]),
            q = call("orgqr", "%h, %qr#1", "", &[square, tau], &[square]),
            solve = call("trsm", "%g, %x", system, &[square, x], &[x]),
            product = linear_algebra_call("blas_gemm", "%x, %x, %g", transpose, &[x, x, square], &[square]),
        ));
    }
}

#[test]
fn operations_after_products() {
    check("func.func @main(%q: tensor<4x256x64xf32>, %k: tensor<4x256x64xf32>, %v: tensor<4x256x64xf32>) -> tensor<4x256x64xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x256x64xf32>, tensor<4x256x64xf32>) -> tensor<4x256x256xf32>
        %e = stablehlo.logistic %s : tensor<4x256x256xf32>
        %t = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : (tensor<4x256x256xf32>, tensor<f32>) -> tensor<4x256xf32>
        %b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<4x256xf32>) -> tensor<4x256x256xf32>
        %w = stablehlo.divide %e, %b : tensor<4x256x256xf32>
        %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x256x256xf32>, tensor<4x256x64xf32>) -> tensor<4x256x64xf32>
        return %o : tensor<4x256x64xf32> }");
}

#[test]
fn scatters_and_windows() {
    check("func.func @main(%x: tensor<997x64xf32>, %i: tensor<30000x1xi32>, %u: tensor<30000x64xf32>) -> tensor<997x64xf32> {
        %0 = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
            inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %s = stablehlo.add %a, %b : tensor<f32>
              stablehlo.return %s : tensor<f32>
        }) : (tensor<997x64xf32>, tensor<30000x1xi32>, tensor<30000x64xf32>) -> tensor<997x64xf32>
        return %0 : tensor<997x64xf32> }");
    // A running sum.
    unary(
        "300000xf32",
        "tensor<300000xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = \"stablehlo.reduce_window\"(%x, %z) <{padding = dense<[[299999, 0]]> : tensor<1x2xi64>,
            window_dimensions = array<i64: 300000>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %s = stablehlo.add %a, %b : tensor<f32>
              stablehlo.return %s : tensor<f32>
        }) : (tensor<300000xf32>, tensor<f32>) -> tensor<300000xf32>
        return %0 : tensor<300000xf32> }",
    );
}

#[test]
fn sorts_transforms_and_random_bits() {
    unary(
        "400000xf32",
        "tensor<400000xf32> {
        %0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %c : tensor<i1>
        }) : (tensor<400000xf32>) -> tensor<400000xf32>
        return %0 : tensor<400000xf32> }",
    );
    unary("64x4096xf32", "tensor<64x2049xcomplex<f32>> {
        %0 = stablehlo.fft %x, type = RFFT, length = [4096] : (tensor<64x4096xf32>) -> tensor<64x2049xcomplex<f32>>
        return %0 : tensor<64x2049xcomplex<f32>> }");
    unary("2xui64", "(tensor<2xui64>, tensor<300001xui32>) {
        %s, %0 = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<300001xui32>)
        return %s, %0 : tensor<2xui64>, tensor<300001xui32> }");
}
