//! Normalization replaces custom calls that stand for operations by these operations, so that runtimes never
//! see the calls.

use expect_test::{Expect, expect};
use farcall_ir::eval::{self, Denormals, EvalValue, NoHost};
use farcall_ir::{Literal, Module, Op, Source, text, verify};

fn parse(text: &str) -> Module {
    text::parse(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"))
}

/// Checks the functions of `program` after normalization, which must leave a valid program that needs no
/// further normalization.
fn check(program: &str, expect: Expect) {
    let read = parse(program);
    let module = verify::verify(&read).unwrap_or_else(|e| panic!("{e}"));
    assert!(*module != read, "nothing is replaced");
    let again = verify::verify(&module).unwrap_or_else(|e| panic!("{e}"));
    assert!(*again == *module, "a second normalization makes changes");
    let printed = text::print(&module);
    assert!(parse(&printed) == *module, "the printed text is read as a different module\n{printed}");
    let body = printed.split_once("  func.func").map_or("", |(_, rest)| rest);
    let body = format!("  func.func{}", body.strip_suffix("}\n").unwrap_or(body));
    let lines: Vec<&str> = body.lines().map(|l| l.strip_prefix("  ").unwrap_or(l)).collect();
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn calls_that_stand_for_operations() {
    check(
        r#"sdy.mesh @mesh = <["i"=1]> {stablehlo.mesh = {axes = [{name = "i", size = 1 : i64}]}}
        func.func @more(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
            %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            return %0 : tensor<i1>
        }
        func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) {
            %0 = sdy.sharding_constraint %x <@mesh, [{"i"}, {}]> : tensor<4x8xf32>
            %1 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %r = sdy.reshard %1 <@mesh, [{}, {"i"}]> : tensor<4x8xf32>
            %p = sdy.propagation_barrier %r allowed_direction=NONE : tensor<4x8xf32>
            %q = "sdy.propagation_barrier"(%p) <{allowed_direction = 2 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
            sdy.sharding_group %r group_id=4 : tensor<4x8xf32>
            "sdy.sharding_group"(%1) <{group_id = 4 : i64}> : (tensor<4x8xf32>) -> ()
            %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %4 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<2x8xf32>
            %5:2 = stablehlo.custom_call @mhlo.topk(%3) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
            %6:2 = stablehlo.custom_call @mhlo.topk(%3) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
            %7 = stablehlo.custom_call @mhlo.erf(%3) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
            stablehlo.custom_call @control_dep(%7, %3) {backend_config = "", has_side_effect = true, mhlo.backend_config = {}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
            %8 = stablehlo.iota dim = 1 : tensor<4x8xi32>
            %c = stablehlo.constant dense<-1> : tensor<i32>
            %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
            %9:2 = stablehlo.custom_call @ApproxTopK(%3, %8, %cst, %c) {backend_config = "", called_computations = [@more], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
            %10:2 = stablehlo.custom_call @mhlo.topk(%8) {mhlo.attributes = {k = 0 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4x8xi32>) -> (tensor<4x0xi32>, tensor<4x0xi32>)
            return
        }"#,
        expect![[r#"
            func.func public @more(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i1> {
              %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
              return %0 : tensor<i1>
            }
            func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) {
              %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %1 = stablehlo.reshape %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %2 = stablehlo.reshape %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"i"}]>]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %3 = stablehlo.reshape %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %4 = stablehlo.reshape %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %5 = stablehlo.reshape %1 {mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %6 = stablehlo.reshape %5 {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %7 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<2x8xf32>
              %8:2 = chlo.top_k(%6, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
              %9 = stablehlo.iota dim = 1 : tensor<4x8xi32>
              %10:2 = "stablehlo.sort"(%6, %9) <{dimension = 1 : i64, is_stable = true}> ({
              ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
                %22 = stablehlo.compare LT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %22 : tensor<i1>
              }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
              %11 = stablehlo.slice %10#0 [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
              %12 = stablehlo.slice %10#1 [0:4, 0:3] : (tensor<4x8xi32>) -> tensor<4x3xi32>
              %13 = chlo.erf %6 : tensor<4x8xf32> -> tensor<4x8xf32>
              %14 = stablehlo.iota dim = 1 : tensor<4x8xi32>
              %c = stablehlo.constant dense<-1> : tensor<i32>
              %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
              %15:2 = "stablehlo.sort"(%6, %14) <{dimension = 1 : i64, is_stable = true}> ({
              ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
                %22 = func.call @more(%arg1, %arg2, %arg3, %arg4) : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %22 : tensor<i1>
              }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
              %16 = stablehlo.slice %15#0 [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
              %17 = stablehlo.slice %15#1 [0:4, 0:3] : (tensor<4x8xi32>) -> tensor<4x3xi32>
              %18 = stablehlo.iota dim = 1 : tensor<4x8xi32>
              %19:2 = "stablehlo.sort"(%14, %18) <{dimension = 1 : i64, is_stable = true}> ({
              ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
                %22 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %22 : tensor<i1>
              }) : (tensor<4x8xi32>, tensor<4x8xi32>) -> (tensor<4x8xi32>, tensor<4x8xi32>)
              %20 = stablehlo.slice %19#0 [0:4, 0:0] : (tensor<4x8xi32>) -> tensor<4x0xi32>
              %21 = stablehlo.slice %19#1 [0:4, 0:0] : (tensor<4x8xi32>) -> tensor<4x0xi32>
              return
            }"#]],
    );
}

#[test]
fn checks() {
    check(
        r#"func.func @f(%x: tensor<2xf32>) {
            check.expect_eq %x, %x : tensor<2xf32>
            check.expect_eq_const %x, dense<1.0> : tensor<2xf32>
            "check.expect_eq_const"(%x) <{value = dense<2.0> : tensor<2xf32>}> : (tensor<2xf32>) -> ()
            check.expect_almost_eq %x, %x, tolerance = 0.1 : tensor<2xf32>
            check.expect_almost_eq %x, %x {tolerance = 0.1 : f64} : tensor<2xf32>
            check.expect_almost_eq_const %x, dense<1.0> : tensor<2xf32> {tolerance = 0.5 : f64}
            check.expect_close %x, %x, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
            check.expect_close %x, %x, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
            check.expect_close_const %x, dense<1.0> : tensor<2xf32> {max_ulp_difference = 3 : i64}
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2xf32>) {
              check.expect_eq %arg0, %arg0 : tensor<2xf32>
              %cst = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
              check.expect_eq %arg0, %cst : tensor<2xf32>
              %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<2xf32>
              check.expect_eq %arg0, %cst_0 : tensor<2xf32>
              stablehlo.custom_call @check.expect_almost_eq(%arg0, %arg0) {has_side_effect = true, mhlo.backend_config = {tolerance = 1.000000e-01 : f64}} : (tensor<2xf32>, tensor<2xf32>) -> ()
              stablehlo.custom_call @check.expect_almost_eq(%arg0, %arg0) {has_side_effect = true, mhlo.backend_config = {tolerance = 1.000000e-01 : f64}} : (tensor<2xf32>, tensor<2xf32>) -> ()
              %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
              stablehlo.custom_call @check.expect_almost_eq(%arg0, %cst_1) {has_side_effect = true, mhlo.backend_config = {tolerance = 5.000000e-01 : f64}} : (tensor<2xf32>, tensor<2xf32>) -> ()
              stablehlo.custom_call @check.expect_close(%arg0, %arg0) {has_side_effect = true, mhlo.backend_config = {max_ulp_difference = 3 : i64}} : (tensor<2xf32>, tensor<2xf32>) -> ()
              stablehlo.custom_call @check.expect_close(%arg0, %arg0) {has_side_effect = true, mhlo.backend_config = {max_ulp_difference = 3 : i64, min_ulp_difference = 1 : i64}} : (tensor<2xf32>, tensor<2xf32>) -> ()
              %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
              stablehlo.custom_call @check.expect_close(%arg0, %cst_2) {has_side_effect = true, mhlo.backend_config = {max_ulp_difference = 3 : i64}} : (tensor<2xf32>, tensor<2xf32>) -> ()
              return
            }"#]],
    );
}

#[test]
fn rows_for_a_single_participant() {
    let program = |groups: &str| {
        format!(
            r#"func.func @main(%x: tensor<4x2xf32>, %y: tensor<3x2xf32>, %n: tensor<1xi32>) -> tensor<3x2xf32> {{
                %0 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %n, %n, %n, %n) {{api_version = 4 : i32, backend_config = {{channel_id = 1 : i64, replica_groups = dense<{groups}>}}}} : (tensor<4x2xf32>, tensor<3x2xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3x2xf32>
                return %0 : tensor<3x2xf32>
            }}"#
        )
    };
    check(
        &program("0> : tensor<1x1xi64"),
        expect![[r#"
        func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<3x2xf32>, %arg2: tensor<1xi32>) -> tensor<3x2xf32> {
          %0 = stablehlo.iota dim = 0 : tensor<3xi64>
          %1 = stablehlo.slice %arg2 [0:1] : (tensor<1xi32>) -> tensor<1xi32>
          %2 = stablehlo.convert %1 : (tensor<1xi32>) -> tensor<1xi64>
          %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xi64>) -> tensor<3xi64>
          %4 = stablehlo.slice %arg2 [0:1] : (tensor<1xi32>) -> tensor<1xi32>
          %5 = stablehlo.convert %4 : (tensor<1xi32>) -> tensor<1xi64>
          %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xi64>) -> tensor<3xi64>
          %7 = stablehlo.slice %arg2 [0:1] : (tensor<1xi32>) -> tensor<1xi32>
          %8 = stablehlo.convert %7 : (tensor<1xi32>) -> tensor<1xi64>
          %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<1xi64>) -> tensor<3xi64>
          %10 = stablehlo.subtract %0, %9 : tensor<3xi64>
          %11 = stablehlo.compare GE, %0, %9 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
          %12 = stablehlo.compare LT, %10, %6 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
          %13 = stablehlo.and %11, %12 : tensor<3xi1>
          %14 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<3xi1>) -> tensor<3x2xi1>
          %15 = stablehlo.add %10, %3 : tensor<3xi64>
          %16 = "stablehlo.gather"(%arg0, %15) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
          %17 = stablehlo.select %14, %16, %arg1 : tensor<3x2xi1>, tensor<3x2xf32>
          return %17 : tensor<3x2xf32>
        }"#]],
    );
    let other = parse(&program("[[0, 1]]> : tensor<1x2xi64"));
    assert!(*verify::verify(&other).unwrap() == other);
}

#[test]
fn values_and_buffers() {
    check(
        r#"func.func @main(%x: tensor<2xf32>, %s: tensor<1xi32>, %t: tensor<?xf32>) -> (tensor<2xf32>, tensor<3xi32>, tensor<?xf32>) {
            %0 = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%x, %s) : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>
            %1 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<3xi32>
            %2 = stablehlo.custom_call @LayoutConstraint(%t) : (tensor<?xf32>) -> tensor<?xf32>
            %3:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
            return %3#0, %1, %2 : tensor<2xf32>, tensor<3xi32>, tensor<?xf32>
        }"#,
        expect![[r#"
            func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<1xi32>, %arg2: tensor<?xf32>) -> (tensor<2xf32>, tensor<3xi32>, tensor<?xf32>) {
              %0 = stablehlo.reshape %arg0 : (tensor<2xf32>) -> tensor<2xf32>
              %c = stablehlo.constant dense<0> : tensor<3xi32>
              %1 = stablehlo.optimization_barrier %arg2 : tensor<?xf32>
              %2 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<2xf32>
              %3 = stablehlo.reshape %arg0 : (tensor<2xf32>) -> tensor<2xf32>
              return %2, %c, %1 : tensor<2xf32>, tensor<3xi32>, tensor<?xf32>
            }"#]],
    );
}

#[test]
fn the_evaluator_normalizes_by_itself() {
    let module = parse(
        "func.func private @id(%x: tensor<2xf32>) -> tensor<2xf32> {
            %0 = sdy.sharding_constraint %x <@mesh, [{}]> : tensor<2xf32>
            return %0 : tensor<2xf32>
        }
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            %0 = stablehlo.custom_call @Sharding(%x) : (tensor<2xf32>) -> tensor<2xf32>
            %1 = call @id(%0) : (tensor<2xf32>) -> tensor<2xf32>
            return %1 : tensor<2xf32>
        }",
    );
    let module = verify::verify_owned(module).unwrap().into_static().unwrap();
    let x = EvalValue::Tensor(Literal::from_slice(farcall_ir::DType::F32, [2], &[1.0f32, 2.0]));
    for func in module.funcs() {
        let out = eval::eval(&module, func, std::slice::from_ref(&x), &NoHost, Denormals::Ieee).unwrap();
        assert_eq!(out, std::slice::from_ref(&x));
    }
    let main = module.func("main").unwrap();
    let form = farcall_ir::middle::build(&module, main).unwrap();
    form.funcs()[0].walk(&mut |inst| assert!(!matches!(inst.op(), Op::CustomCall(_))));
}

/// Programs exported for TPUs factorize matrices with custom calls. A factorization is correct if the product
/// of its factors is the original matrix.
#[test]
fn decompositions_of_matrices() {
    let program = r#"
func.func @main() -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %i = stablehlo.iota dim = 0 : tensor<24xf64>
  %s = stablehlo.multiply %i, %i : tensor<24xf64>
  %w = stablehlo.sine %s : tensor<24xf64>
  %a = stablehlo.reshape %w : (tensor<24xf64>) -> tensor<2x4x3xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %qr:2 = stablehlo.custom_call @Qr(%a) : (tensor<2x4x3xf64>) -> (tensor<2x4x3xf64>, tensor<2x3xf64>)
  %q = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%qr#0, %qr#1) : (tensor<2x4x3xf64>, tensor<2x3xf64>) -> tensor<2x4x3xf64>
  %top = stablehlo.slice %qr#0 [0:2, 0:3, 0:3] : (tensor<2x4x3xf64>) -> tensor<2x3x3xf64>
  %rows = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %columns = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %upper = stablehlo.compare LE, %rows, %columns : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x3x3xf64>
  %r = stablehlo.select %upper, %top, %zeros : tensor<2x3x3xi1>, tensor<2x3x3xf64>
  %p = stablehlo.dot_general %q, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf64>, tensor<2x3x3xf64>) -> tensor<2x4x3xf64>
  %d = stablehlo.subtract %p, %a : tensor<2x4x3xf64>
  %e = stablehlo.abs %d : tensor<2x4x3xf64>
  %qr_error = stablehlo.reduce(%e init: %zero) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<2x4x3xf64>, tensor<f64>) -> tensor<f64>
  %gram = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x4x3xf64>, tensor<2x4x3xf64>) -> tensor<2x3x3xf64>
  %vw:2 = stablehlo.custom_call @Eigh(%gram) {backend_config = "1,1,100,1e-6"} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>)
  %gv = stablehlo.dot_general %gram, %vw#0, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  %scales = stablehlo.broadcast_in_dim %vw#1, dims = [0, 2] : (tensor<2x3xf64>) -> tensor<2x3x3xf64>
  %vs = stablehlo.multiply %vw#0, %scales : tensor<2x3x3xf64>
  %f = stablehlo.subtract %gv, %vs : tensor<2x3x3xf64>
  %g = stablehlo.abs %f : tensor<2x3x3xf64>
  %eigh_error = stablehlo.reduce(%g init: %zero) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<2x3x3xf64>, tensor<f64>) -> tensor<f64>
  %first = stablehlo.slice %vw#1 [0:2, 0:2] : (tensor<2x3xf64>) -> tensor<2x2xf64>
  %last = stablehlo.slice %vw#1 [0:2, 1:3] : (tensor<2x3xf64>) -> tensor<2x2xf64>
  %steps = stablehlo.subtract %first, %last : tensor<2x2xf64>
  %lowest = stablehlo.constant dense<-1.0e300> : tensor<f64>
  %order = stablehlo.reduce(%steps init: %lowest) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<f64>
  return %qr_error, %eigh_error, %order : tensor<f64>, tensor<f64>, tensor<f64>
}"#;
    let module = verify::verify_owned(parse(program)).unwrap();
    let found = eval::eval(&module, module.entry().unwrap(), &[], &NoHost, Denormals::Ieee).unwrap();
    let number = |value: &EvalValue| match value {
        EvalValue::Tensor(v) => v.get(0).as_f64(),
        other => panic!("{other:?}"),
    };
    assert!(number(&found[0]) < 1e-14, "largest error of the QR factorization: {:?}", found[0]);
    assert!(number(&found[1]) < 1e-13, "largest error of the eigendecomposition: {:?}", found[1]);
    assert!(number(&found[2]) < 0.0, "the eigenvalues must increase, largest difference: {:?}", found[2]);
}

/// HLO passes several values to a custom call as one tuple. A call that only returns its operands is replaced
/// by the elements of this tuple.
#[test]
fn the_elements_of_a_tuple_are_the_results() {
    check(
        "func.func @main(%x: tensor<f32>, %y: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
            %t = stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<i32>>
            %0:2 = stablehlo.custom_call @MoveToHost(%t) : (tuple<tensor<f32>, tensor<i32>>) -> (tensor<f32>, tensor<i32>)
            return %0#0, %0#1 : tensor<f32>, tensor<i32>
        }",
        expect![[r#"
            func.func public @main(%arg0: tensor<f32>, %arg1: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
              %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<f32>, tensor<i32>>
              %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
              %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
              return %1, %2 : tensor<f32>, tensor<i32>
            }"#]],
    );
}
