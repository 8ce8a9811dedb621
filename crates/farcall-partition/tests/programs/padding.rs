//! Dimensions that axes divide unevenly: parts with padding.

use expect_test::expect;

use super::{check, partitioned};

/// If an axis does not divide a dimension evenly, parts have padding, which sums must not include.
#[test]
fn padding() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32>, tensor<5x4xf32>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = stablehlo.exponential %a : tensor<5x4xf32>
          %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
          return %1, %0 : tensor<4xf32>, tensor<5x4xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{}], [{}, {}]
            all_reduce 16 bytes, for stablehlo.reduce
            all_gather 96 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.exponential %arg0 : tensor<3x4xf32>
                %cst_0 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %1 = stablehlo.iota dim = 0 : tensor<3x4xi64>
                %2 = stablehlo.partition_id : tensor<ui32>
                %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
                %c = stablehlo.constant dense<3> : tensor<i64>
                %4 = stablehlo.multiply %3, %c : tensor<i64>
                %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %6 = stablehlo.add %1, %5 : tensor<3x4xi64>
                %c_1 = stablehlo.constant dense<5> : tensor<i64>
                %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %8 = stablehlo.compare LT, %6, %7 : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
                %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
                %10 = stablehlo.select %8, %0, %9 : tensor<3x4xi1>, tensor<3x4xf32>
                %11 = stablehlo.reduce(%10 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
                %12 = "stablehlo.all_reduce"(%11) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
                  %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
                  stablehlo.return %15 : tensor<f32>
                }) : (tensor<4xf32>) -> tensor<4xf32>
                %13 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<3x4xf32>) -> tensor<6x4xf32>
                %14 = stablehlo.slice %13 [0:5, 0:4] : (tensor<6x4xf32>) -> tensor<5x4xf32>
                return %12, %14 : tensor<4xf32>, tensor<5x4xf32>
              }
            }
        "#]],
    );
}

/// Padding of a contracting dimension is replaced in both operands, and a product is padded before it is
/// scattered.
#[test]
fn padding_of_products() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<3x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                        %b: tensor<5x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
            -> (tensor<3x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xi32>, tensor<5x4xi32>) -> tensor<3x4xi32>
          return %0 : tensor<3x4xi32>
        }"#,
        expect![[r#"
            [{}, {"x"}], [{"x"}, {}] -> [{"x"}, {}]
            reduce_scatter 32 bytes, for stablehlo.dot_general
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<3x3xi32>, %arg1: tensor<3x4xi32>) -> tensor<2x4xi32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0 = stablehlo.iota dim = 1 : tensor<3x3xi64>
                %1 = stablehlo.partition_id : tensor<ui32>
                %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
                %c_0 = stablehlo.constant dense<3> : tensor<i64>
                %3 = stablehlo.multiply %2, %c_0 : tensor<i64>
                %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
                %5 = stablehlo.add %0, %4 : tensor<3x3xi64>
                %c_1 = stablehlo.constant dense<5> : tensor<i64>
                %6 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
                %7 = stablehlo.compare LT, %5, %6 : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
                %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
                %9 = stablehlo.select %7, %arg0, %8 : tensor<3x3xi1>, tensor<3x3xi32>
                %c_2 = stablehlo.constant dense<0> : tensor<i32>
                %10 = stablehlo.iota dim = 0 : tensor<3x4xi64>
                %11 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
                %c_3 = stablehlo.constant dense<3> : tensor<i64>
                %12 = stablehlo.multiply %11, %c_3 : tensor<i64>
                %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %14 = stablehlo.add %10, %13 : tensor<3x4xi64>
                %c_4 = stablehlo.constant dense<5> : tensor<i64>
                %15 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %16 = stablehlo.compare LT, %14, %15 : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
                %17 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
                %18 = stablehlo.select %16, %arg1, %17 : tensor<3x4xi1>, tensor<3x4xi32>
                %19 = stablehlo.dot_general %9, %18, contracting_dims = [1] x [0] : (tensor<3x3xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
                %c_5 = stablehlo.constant dense<2147483647> : tensor<i32>
                %20 = stablehlo.pad %19, %c_5, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4x4xi32>
                %21 = "stablehlo.reduce_scatter"(%20) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
                  %22 = stablehlo.add %arg2, %arg3 : tensor<i32>
                  stablehlo.return %22 : tensor<i32>
                }) : (tensor<4x4xi32>) -> tensor<2x4xi32>
                return %21 : tensor<2x4xi32>
              }
            }
        "#]],
    );
}

/// Parts with padding have other borders than the halves of which they are parts, so the complete dimension
/// is gathered. Of 5 elements, 4 devices have 2, and 2 devices have 3.
#[test]
fn padding_and_borders_of_parts() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
            -> (tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
          return %a : tensor<5xi32>
        }"#,
        expect![[r#"
            [{"x", "y"}] -> [{"x"}]
            all_gather 32 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<2xi32>) -> tensor<3xi32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<2xi32>) -> tensor<8xi32>
                %1 = stablehlo.slice %0 [0:5] : (tensor<8xi32>) -> tensor<5xi32>
                %c = stablehlo.constant dense<2147483647> : tensor<i32>
                %2 = stablehlo.pad %1, %c, low = [0], high = [1], interior = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<6xi32>
                %3 = stablehlo.partition_id : tensor<ui32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %4 = stablehlo.divide %3, %c_0 : tensor<ui32>
                %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<i32>
                %c_1 = stablehlo.constant dense<3> : tensor<i32>
                %6 = stablehlo.multiply %5, %c_1 : tensor<i32>
                %7 = stablehlo.dynamic_slice %2, %6, sizes = [3] : (tensor<6xi32>, tensor<i32>) -> tensor<3xi32>
                return %7 : tensor<3xi32>
              }
            }
        "#]],
    );
}

/// Operations that mix elements get complete dimensions, without padding.
#[test]
fn padding_and_mixed_elements() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<5xi32>) -> tensor<5xi32> {
          %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<5xi32>
          %1 = stablehlo.reverse %0, dims = [0] : tensor<5xi32>
          return %1 : tensor<5xi32>
        }"#,
        expect![[r#"
            [{}] -> [{}]
            all_gather 24 bytes, for stablehlo.reverse
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<5xi32>) -> tensor<5xi32> {
                %c = stablehlo.constant dense<2147483647> : tensor<i32>
                %0 = stablehlo.pad %arg0, %c, low = [0], high = [1], interior = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<6xi32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
                %c_0 = stablehlo.constant dense<3> : tensor<i32>
                %3 = stablehlo.multiply %2, %c_0 : tensor<i32>
                %4 = stablehlo.dynamic_slice %0, %3, sizes = [3] : (tensor<6xi32>, tensor<i32>) -> tensor<3xi32>
                %5 = stablehlo.reshape %4 : (tensor<3xi32>) -> tensor<3xi32>
                %6 = "stablehlo.all_gather"(%5) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<3xi32>) -> tensor<6xi32>
                %7 = stablehlo.slice %6 [0:5] : (tensor<6xi32>) -> tensor<5xi32>
                %8 = stablehlo.reverse %7, dims = [0] : tensor<5xi32>
                return %8 : tensor<5xi32>
              }
            }
        "#]],
    );
}

/// The part that a computation on parts sees has no padding. Inside, axes may divide it unevenly.
#[test]
fn padding_in_manual_computations() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<6xi32>) -> tensor<6xi32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<3xi32>) {
            %1 = sdy.sharding_constraint %part <@mesh, [{"y"}]> : tensor<3xi32>
            %2 = stablehlo.add %1, %1 : tensor<3xi32>
            sdy.return %2 : tensor<3xi32>
          } : (tensor<6xi32>) -> tensor<6xi32>
          return %0 : tensor<6xi32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}]
            all_gather 16 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<3xi32>) -> tensor<3xi32> {
                %c = stablehlo.constant dense<2147483647> : tensor<i32>
                %0 = stablehlo.pad %arg0, %c, low = [0], high = [1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %2 = stablehlo.remainder %1, %c_0 : tensor<ui32>
                %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i32>
                %c_1 = stablehlo.constant dense<2> : tensor<i32>
                %4 = stablehlo.multiply %3, %c_1 : tensor<i32>
                %5 = stablehlo.dynamic_slice %0, %4, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
                %6 = stablehlo.reshape %5 : (tensor<2xi32>) -> tensor<2xi32>
                %7 = stablehlo.add %6, %6 : tensor<2xi32>
                %8 = "stablehlo.all_gather"(%7) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2xi32>) -> tensor<4xi32>
                %9 = stablehlo.slice %8 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
                return %9 : tensor<3xi32>
              }
            }
        "#]],
    );
}

/// Only a stated sharding makes a parameter or result uneven. An open dimension keeps what is stated.
#[test]
fn uneven_interfaces() {
    let tilings = |program: &str| {
        let found = partitioned(program).expect("the program is right").expect("it has shardings");
        let show = |tilings: &[farcall_partition::tiling::Tiling]| {
            tilings.iter().map(|tiling| tiling.show(&found.grid)).collect::<Vec<_>>().join(", ")
        };
        format!("{} -> {}", show(&found.inputs), show(&found.outputs))
    };
    let of = |input: &str, constraint: &str, result: &str| {
        let stated = |dim: &str| match dim {
            "" => String::new(),
            dim => format!("{{sdy.sharding = #sdy.sharding<@mesh, [{dim}]>}}"),
        };
        format!(
            r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<6xi32> {}) -> (tensor<6xi32> {}) {{
          %0 = sdy.sharding_constraint %a <@mesh, [{constraint}]> : tensor<6xi32>
          return %0 : tensor<6xi32>
        }}"#,
            stated(input),
            stated(result)
        )
    };
    assert_eq!(tilings(&of("", r#"{"x", "y"}"#, "")), r#"[{"x"}] -> [{"x"}]"#);
    assert_eq!(tilings(&of(r#"{"x", "y"}"#, "{?}", "{}")), r#"[{"x", "y"}] -> [{}]"#);
    assert_eq!(tilings(&of("{}", r#"{"x", "y"}"#, r#"{"x", ?}"#)), r#"[{}] -> [{"x"}]"#);
    assert_eq!(tilings(&of("{}", "{}", r#"{"x", "y", ?}"#)), r#"[{}] -> [{"x", "y"}]"#);
}
