//! Computations on parts.

use expect_test::expect;

use super::{check, partitioned};

/// A region on parts is used as it is.
#[test]
fn manual_computations() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%part: tensor<4x16xf32>) {
            %1 = stablehlo.add %part, %part : tensor<4x16xf32>
            %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"y"}]> : tensor<4x16xf32>
            sdy.return %2 : tensor<4x16xf32>
          } : (tensor<8x16xf32>) -> tensor<8x16xf32>
          return %0 : tensor<8x16xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{"x"}, {}]
            all_gather 256 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0 = stablehlo.partition_id : tensor<ui32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %1 = stablehlo.remainder %0, %c_0 : tensor<ui32>
                %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
                %c_1 = stablehlo.constant dense<8> : tensor<i32>
                %3 = stablehlo.multiply %2, %c_1 : tensor<i32>
                %4 = stablehlo.dynamic_slice %arg0, %c, %3, sizes = [4, 8] : (tensor<4x16xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
                %5 = stablehlo.add %4, %4 : tensor<4x8xf32>
                %6 = stablehlo.reshape %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
                %7 = "stablehlo.all_gather"(%6) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
                return %7 : tensor<4x16xf32>
              }
            }
        "#]],
    );
}

/// A part may have the size of the complete value. The manual axis still does not divide it.
#[test]
fn manual_computations_on_complete_values() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%part: tensor<4xf32>) {
            %1 = stablehlo.add %part, %part : tensor<4xf32>
            sdy.return %1 : tensor<4xf32>
          } : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{}]
            all_gather 16 bytes, for stablehlo.reshape
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<4xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.add %0, %0 : tensor<4xf32>
                return %1 : tensor<4xf32>
              }
            }
        "#]],
    );
}

/// Sizes, ranks and numbers of values at the borders of computations on parts.
#[test]
fn wrong_borders() {
    let of = |whole: &str, sharding: &str, part: &str| {
        format!(
            r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: {whole}) -> {whole} {{
          %0 = sdy.manual_computation(%a) in_shardings=[{sharding}] out_shardings=[{sharding}] manual_axes={{"x"}} (%part: {part}) {{
            sdy.return %part : {part}
          }} : ({whole}) -> {whole}
          return %0 : {whole}
        }}"#
        )
    };
    for (whole, sharding, part) in [
        ("tensor<5xf32>", "<@mesh, [{\"x\"}]>", "tensor<3xf32>"),
        ("tensor<4xf32>", "<@mesh, [{\"x\"}, {}]>", "tensor<2xf32>"),
        ("tensor<4x4xf32>", "<@mesh, [{\"x\"}]>", "tensor<2x4xf32>"),
        ("tensor<4xf32>", "<@mesh, [{\"y\", \"x\"}]>", "tensor<2xf32>"),
    ] {
        let error = partitioned(&of(whole, sharding, part)).expect_err("the border is wrong");
        assert!(error.contains("[sharding]"), "{error}");
    }
}

/// Each device computes the complete region of a map, so it has no parts to compute with.
#[test]
fn manual_computations_in_regions_of_elements() {
    let program = r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
          %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
          ^bb0(%x: tensor<i32>):
            %c = stablehlo.constant dense<1> : tensor<2xi32>
            %1 = sdy.manual_computation(%c) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<1xi32>) {
              sdy.return %part : tensor<1xi32>
            } : (tensor<2xi32>) -> tensor<2xi32>
            stablehlo.return %x : tensor<i32>
          }) : (tensor<4xi32>) -> tensor<4xi32>
          return %0 : tensor<4xi32>
        }"#;
    let error = partitioned(program).expect_err("the program has a computation on parts of elements");
    assert!(error.contains("computes the complete region"), "{error}");
}
