//! Operations, and the collectives that they need.

use expect_test::expect;

use super::check;

/// A product whose inputs are divided along different axes needs no collective, the sum of its elements one.
#[test]
fn products_and_sums() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=4]>
        func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                        %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x12xf32>, tensor<f32>) {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x12xf32>, tensor<f32>) -> tensor<f32>
          return %0, %1 : tensor<8x12xf32>, tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}, {}], [{}, {"y"}] -> [{"x"}, {"y"}], []
            all_reduce 4 bytes, for stablehlo.reduce
            module attributes {mhlo.num_partitions = 8 : i32} {
              func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16x3xf32>) -> (tensor<4x3xf32>, tensor<f32>) {
                %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x3xf32>) -> tensor<4x3xf32>
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
                %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %3 : tensor<f32>
                }) : (tensor<f32>) -> tensor<f32>
                return %0, %2 : tensor<4x3xf32>, tensor<f32>
              }
            }
        "#]],
    );
}

/// A divided contracting dimension makes summands. If the result is divided along the same axis, each device
/// receives only its part of the sum.
#[test]
fn contractions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                        %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
            -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
          return %0 : tensor<8x12xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}], [{"x"}, {}] -> [{"x"}, {}]
            reduce_scatter 96 bytes, for stablehlo.dot_general
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4x12xf32>) -> tensor<2x12xf32> {
                %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x12xf32>) -> tensor<8x12xf32>
                %1 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %2 : tensor<f32>
                }) : (tensor<8x12xf32>) -> tensor<2x12xf32>
                return %1 : tensor<2x12xf32>
              }
            }
        "#]],
    );
}

/// A call with an effect and a maximal sharding runs on one device.
#[test]
fn effects() {
    check(
        r#"
        module attributes {mhlo.num_partitions = 2 : i32} {
          func.func @main(%a: tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<4xf32> {
            %0 = stablehlo.custom_call @print(%a) {has_side_effect = true, mhlo.sharding = "{maximal device=1}"} : (tensor<4xf32>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
          }
        }"#,
        expect![[r#"
            [{"d0"}] -> [{}]
            all_gather 16 bytes, for stablehlo.custom_call
            collective_broadcast 16 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<4xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<1> : tensor<ui32>
                %2 = stablehlo.compare EQ, %1, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %3 = "stablehlo.if"(%2) ({
                  %5 = stablehlo.custom_call @print(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
                  stablehlo.return %5 : tensor<4xf32>
                }, {
                  %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
                  stablehlo.return %cst : tensor<4xf32>
                }) : (tensor<i1>) -> tensor<4xf32>
                %4 = "stablehlo.collective_broadcast"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
                return %4 : tensor<4xf32>
              }
            }
        "#]],
    );
}

/// Values that a loop carries keep one sharding.
#[test]
fn loops() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8x4xf32>
          cond {
            %n = stablehlo.constant dense<3> : tensor<i32>
            %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %less : tensor<i1>
          } do {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %next = stablehlo.add %i, %one : tensor<i32>
            %rows = stablehlo.iota dim = 0 : tensor<8x4xf32>
            %sum = stablehlo.add %x, %rows : tensor<8x4xf32>
            stablehlo.return %next, %sum : tensor<i32>, tensor<8x4xf32>
          }
          return %0#1 : tensor<8x4xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{"x"}, {}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<4x4xf32>
                cond {
                  %c_1 = stablehlo.constant dense<3> : tensor<i32>
                  %1 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
                  stablehlo.return %1 : tensor<i1>
                } do {
                  %c_1 = stablehlo.constant dense<1> : tensor<i32>
                  %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
                  %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
                  %3 = stablehlo.partition_id : tensor<ui32>
                  %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
                  %c_2 = stablehlo.constant dense<4> : tensor<i64>
                  %5 = stablehlo.multiply %4, %c_2 : tensor<i64>
                  %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
                  %7 = stablehlo.add %2, %6 : tensor<4x4xi64>
                  %8 = stablehlo.convert %7 : (tensor<4x4xi64>) -> tensor<4x4xf32>
                  %9 = stablehlo.add %iterArg_0, %8 : tensor<4x4xf32>
                  stablehlo.return %1, %9 : tensor<i32>, tensor<4x4xf32>
                }
                return %0#1 : tensor<4x4xf32>
              }
            }
        "#]],
    );
}

/// The types of some operations depend on the values of constants.
#[test]
fn types_that_depend_on_constants() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2xf32>, tensor<4xf32>) {
          %n = stablehlo.constant dense<2> : tensor<i32>
          %0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
          return %0, %a : tensor<2xf32>, tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{}], [{"x"}]
            all_gather 16 bytes, for stablehlo.set_dimension_size
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
                %c = stablehlo.constant dense<2> : tensor<i32>
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.set_dimension_size %0, %c, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
                return %1, %arg0 : tensor<2xf32>, tensor<2xf32>
              }
            }
        "#]],
    );
}

/// The scales of a tensor that is quantized along a dimension cannot be divided.
#[test]
fn scales_along_a_dimension() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = stablehlo.uniform_quantize %a {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
          %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<2xf32>
          return %1 : tensor<2xf32>
        }"#,
        expect![[r#"
            [{}] -> [{}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
                %0 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
                %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<2xf32>
                return %1 : tensor<2xf32>
              }
            }
        "#]],
    );
}

/// An initial value is added once, to sums that begin with -0.0: 0.0 would change a sum of negative zeros.
#[test]
fn initial_values() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %init: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}], [] -> []
            all_reduce 4 bytes, for stablehlo.reduce
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<f32>) -> tensor<f32> {
                %cst = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
                %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %4 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %4 : tensor<f32>
                }) : (tensor<f32>) -> tensor<f32>
                %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<f32>
                %3 = stablehlo.add %1, %2 : tensor<f32>
                return %3 : tensor<f32>
              }
            }
        "#]],
    );
}

/// If only summands of a sum are wanted, devices keep the computed summands. The elements of a divided
/// value stand among zeros; of equal values, the first device returns one.
#[test]
fn summands() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                        %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
            -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"x"}>},
                tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>},
                tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>},
                tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"y"}>}) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
          %1 = sdy.sharding_constraint %0 <@mesh, [], unreduced={"x"}> : tensor<f32>
          return %1, %x, %y, %zero : tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}], [{}] -> [], [{}], [{}], []
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>) {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
                %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<2> : tensor<ui32>
                %2 = stablehlo.divide %1, %c : tensor<ui32>
                %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
                %c_1 = stablehlo.constant dense<4> : tensor<i64>
                %4 = stablehlo.multiply %3, %c_1 : tensor<i64>
                %5 = stablehlo.dynamic_update_slice %cst_0, %arg0, %4 : (tensor<8xf32>, tensor<4xf32>, tensor<i64>) -> tensor<8xf32>
                %c_2 = stablehlo.constant dense<2> : tensor<ui32>
                %6 = stablehlo.remainder %1, %c_2 : tensor<ui32>
                %c_3 = stablehlo.constant dense<0> : tensor<ui32>
                %7 = stablehlo.compare EQ, %6, %c_3 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %8 = stablehlo.select %7, %cst, %cst_4 : tensor<i1>, tensor<f32>
                return %0, %5, %arg1, %8 : tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>
              }
            }
        "#]],
    );
}
