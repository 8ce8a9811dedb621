//! Window operations, shifts and rotations along divided dimensions.

use expect_test::expect;

use super::{check, partitioned};

/// Devices exchange the elements that windows reach beyond their parts.
#[test]
fn windows_over_divided_dimensions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%x: tensor<1x8x6x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %k: tensor<3x2x1x1xf32>)
            -> tensor<1x8x6x1xf32> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
            window = {pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x6x1xf32>, tensor<3x2x1x1xf32>) -> tensor<1x8x6x1xf32>
          return %0 : tensor<1x8x6x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {"y"}, {}], [{}, {}, {}, {}] -> [{}, {"x"}, {"y"}, {}]
            collective_permute 12 bytes, for stablehlo.convolution
            collective_permute 12 bytes, for stablehlo.convolution
            collective_permute 24 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<1x4x3x1xf32>, %arg1: tensor<3x2x1x1xf32>) -> tensor<1x4x3x1xf32> {
                %0 = stablehlo.slice %arg0 [0:1, 3:4, 0:3, 0:1] : (tensor<1x4x3x1xf32>) -> tensor<1x1x3x1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<1x1x3x1xf32>) -> tensor<1x1x3x1xf32>
                %2 = stablehlo.slice %arg0 [0:1, 0:1, 0:3, 0:1] : (tensor<1x4x3x1xf32>) -> tensor<1x1x3x1xf32>
                %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>}> : (tensor<1x1x3x1xf32>) -> tensor<1x1x3x1xf32>
                %4 = stablehlo.concatenate %1, %arg0, %3, dim = 1 : (tensor<1x1x3x1xf32>, tensor<1x4x3x1xf32>, tensor<1x1x3x1xf32>) -> tensor<1x6x3x1xf32>
                %5 = stablehlo.slice %4 [0:1, 0:6, 0:1, 0:1] : (tensor<1x6x3x1xf32>) -> tensor<1x6x1x1xf32>
                %6 = "stablehlo.collective_permute"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>}> : (tensor<1x6x1x1xf32>) -> tensor<1x6x1x1xf32>
                %7 = stablehlo.concatenate %4, %6, dim = 2 : (tensor<1x6x3x1xf32>, tensor<1x6x1x1xf32>) -> tensor<1x6x4x1xf32>
                %8 = stablehlo.convolution(%7, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x4x1xf32>, tensor<3x2x1x1xf32>) -> tensor<1x4x3x1xf32>
                return %8 : tensor<1x4x3x1xf32>
              }
            }
        "#]],
    );
    // The initial value is behind the edges. The windows of `y` reach beyond the neighbor's part.
    check(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
            -> (tensor<8xf32>, tensor<4xf32>) {
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %0 = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %2 = stablehlo.multiply %a, %b : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
          %1 = "stablehlo.reduce_window"(%y, %one) <{window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %2 = stablehlo.multiply %a, %b : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
          return %0, %1 : tensor<8xf32>, tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}], [{"x"}] -> [{"x"}], [{}]
            collective_permute 4 bytes, for stablehlo.reduce_window
            all_gather 8 bytes, for stablehlo.reduce_window
            collective_permute 8 bytes, for stablehlo.reduce_window
            all_gather 16 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<1xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
                %0 = stablehlo.slice %arg0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
                %2 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<0> : tensor<ui32>
                %3 = stablehlo.compare EQ, %2, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1xf32>
                %5 = stablehlo.select %3, %4, %1 : tensor<i1>, tensor<1xf32>
                %6 = stablehlo.concatenate %5, %arg0, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
                %7 = "stablehlo.reduce_window"(%6, %cst) <{window_dimensions = array<i64: 2>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %17 = stablehlo.multiply %arg2, %arg3 : tensor<f32>
                  stablehlo.return %17 : tensor<f32>
                }) : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
                %8 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<2xf32>
                %9 = "stablehlo.collective_permute"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %10 = stablehlo.divide %2, %c_0 : tensor<ui32>
                %c_1 = stablehlo.constant dense<0> : tensor<ui32>
                %11 = stablehlo.compare EQ, %10, %c_1 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
                %13 = stablehlo.select %11, %12, %9 : tensor<i1>, tensor<2xf32>
                %14 = stablehlo.concatenate %13, %8, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
                %15 = "stablehlo.reduce_window"(%14, %cst) <{window_dimensions = array<i64: 3>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %17 = stablehlo.multiply %arg2, %arg3 : tensor<f32>
                  stablehlo.return %17 : tensor<f32>
                }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
                %16 = "stablehlo.all_gather"(%15) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                return %7, %16 : tensor<2xf32>, tensor<4xf32>
              }
            }
        "#]],
    );
}

/// The gradients of a convolution with strides, of grouped kernels and of a maximum over windows.
#[test]
fn gradients_of_windows() {
    // For the image: zeros lie between the elements of the result's gradient.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%g: tensor<1x4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x1x1xf32>)
            -> tensor<1x8x1xf32> {
          %0 = stablehlo.convolution(%g, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {pad = [[2, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x4x1xf32>, tensor<3x1x1xf32>) -> tensor<1x8x1xf32>
          return %0 : tensor<1x8x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {}, {}] -> [{}, {"x"}, {}]
            collective_permute 4 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x2x1xf32>, %arg1: tensor<3x1x1xf32>) -> tensor<1x4x1xf32> {
                %0 = stablehlo.slice %arg0 [0:1, 1:2, 0:1] : (tensor<1x2x1xf32>) -> tensor<1x1x1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
                %2 = stablehlo.concatenate %1, %arg0, dim = 1 : (tensor<1x1x1xf32>, tensor<1x2x1xf32>) -> tensor<1x3x1xf32>
                %3 = stablehlo.convolution(%2, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<3x1x1xf32>) -> tensor<1x4x1xf32>
                return %3 : tensor<1x4x1xf32>
              }
            }
        "#]],
    );
    // For the kernel: the gradient of the result is the window.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<1x4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
            -> tensor<3x1x1xf32> {
          %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f],
            window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x1xf32>, tensor<1x4x1xf32>) -> tensor<3x1x1xf32>
          return %0 : tensor<3x1x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {"x"}, {}] -> [{}, {}, {}]
            collective_permute 4 bytes, for stablehlo.convolution
            all_reduce 12 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x4x1xf32>, %arg1: tensor<1x2x1xf32>) -> tensor<3x1x1xf32> {
                %0 = stablehlo.slice %arg0 [0:1, 0:1, 0:1] : (tensor<1x4x1xf32>) -> tensor<1x1x1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
                %2 = stablehlo.concatenate %arg0, %1, dim = 1 : (tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x5x1xf32>
                %3 = stablehlo.convolution(%2, %arg1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x1xf32>, tensor<1x2x1xf32>) -> tensor<3x1x1xf32>
                %4 = "stablehlo.all_reduce"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %5 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %5 : tensor<f32>
                }) : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
                return %4 : tensor<3x1x1xf32>
              }
            }
        "#]],
    );
    // A reversed window meets parts of the image on other devices.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
            -> tensor<3x1x1xf32> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f],
            window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<3x1x1xf32>
          return %0 : tensor<3x1x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {"x"}, {}] -> [{}, {}, {}]
            all_gather 32 bytes, for stablehlo.convolution
            all_gather 32 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x4x1xf32>, %arg1: tensor<1x4x1xf32>) -> tensor<3x1x1xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<1x4x1xf32>) -> tensor<1x8x1xf32>
                %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<1x4x1xf32>) -> tensor<1x8x1xf32>
                %2 = stablehlo.convolution(%0, %1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<3x1x1xf32>
                return %2 : tensor<3x1x1xf32>
              }
            }
        "#]],
    );
    // The windows of patches are larger than the result, but do not overlap.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x16x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<8x1x1xf32>)
            -> tensor<1x2x1xf32> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {stride = [8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x16x1xf32>, tensor<8x1x1xf32>) -> tensor<1x2x1xf32>
          return %0 : tensor<1x2x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {}, {}] -> [{}, {"x"}, {}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x8x1xf32>, %arg1: tensor<8x1x1xf32>) -> tensor<1x1x1xf32> {
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<8x1x1xf32>) -> tensor<1x1x1xf32>
                return %0 : tensor<1x1x1xf32>
              }
            }
        "#]],
    );
    // For a slice with strides.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%g: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = stablehlo.pad %g, %zero, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<4xf32> {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.pad %arg0, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
                return %0 : tensor<4xf32>
              }
            }
        "#]],
    );
    // For a grouped kernel: the batch of the image is summed.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<4x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %g: tensor<4x6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>})
            -> tensor<3x1x2xf32> {
          %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f],
            window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64}
            : (tensor<4x8x2xf32>, tensor<4x6x2xf32>) -> tensor<3x1x2xf32>
          return %0 : tensor<3x1x2xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}, {}], [{"x"}, {}, {}] -> [{}, {}, {}]
            all_reduce 24 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2x8x2xf32>, %arg1: tensor<2x6x2xf32>) -> tensor<3x1x2xf32> {
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x8x2xf32>, tensor<2x6x2xf32>) -> tensor<3x1x2xf32>
                %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %2 : tensor<f32>
                }) : (tensor<3x1x2xf32>) -> tensor<3x1x2xf32>
                return %1 : tensor<3x1x2xf32>
              }
            }
        "#]],
    );
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
            -> tensor<8xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          }, {
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }"#,
        expect![[r#"
            [{"x"}], [{"x"}] -> [{"x"}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>) -> tensor<4xf32> {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %cst) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %1 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                  stablehlo.return %1 : tensor<i1>
                }, {
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %1 : tensor<f32>
                }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
                return %0 : tensor<4xf32>
              }
            }
        "#]],
    );
}

/// Two slices that are joined in the other order are a rotation: devices permute what crosses the borders of
/// their parts, and no device computes the slices. The second rotation is as long as two parts.
#[test]
fn rotations_of_divided_dimensions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%x: tensor<12x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x2xf32>, tensor<12x2xf32>) {
          %0 = stablehlo.slice %x [11:12, 0:2] : (tensor<12x2xf32>) -> tensor<1x2xf32>
          %1 = stablehlo.slice %x [0:11, 0:2] : (tensor<12x2xf32>) -> tensor<11x2xf32>
          %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x2xf32>, tensor<11x2xf32>) -> tensor<12x2xf32>
          %3 = stablehlo.slice %2 [6:12, 0:2] : (tensor<12x2xf32>) -> tensor<6x2xf32>
          %4 = stablehlo.slice %2 [0:6, 0:2] : (tensor<12x2xf32>) -> tensor<6x2xf32>
          %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<12x2xf32>
          return %2, %5 : tensor<12x2xf32>, tensor<12x2xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{"x"}, {}], [{"x"}, {}]
            collective_permute 8 bytes, for stablehlo.concatenate
            collective_permute 24 bytes, for stablehlo.concatenate
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
                %0 = stablehlo.slice %arg0 [2:3, 0:2] : (tensor<3x2xf32>) -> tensor<1x2xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[3, 0], [0, 1], [1, 2], [2, 3]]> : tensor<4x2xi64>}> : (tensor<1x2xf32>) -> tensor<1x2xf32>
                %2 = stablehlo.slice %arg0 [0:2, 0:2] : (tensor<3x2xf32>) -> tensor<2x2xf32>
                %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
                %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1], [0, 2], [1, 3]]> : tensor<4x2xi64>}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
                return %3, %4 : tensor<3x2xf32>, tensor<3x2xf32>
              }
            }
        "#]],
    );
}

/// Windows that leave out the last element: its part's window does not exist in the program.
#[test]
fn pooling_that_leaves_elements_out() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<3xf32>) -> tensor<7xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          }, {
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
          return %0 : tensor<7xf32>
        }"#,
        expect![[r#"
            [{"x"}], [{}] -> [{}]
            all_gather 32 bytes, for stablehlo.select_and_scatter
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<3xf32>) -> tensor<7xf32> {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
                %1 = stablehlo.slice %0 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
                %2 = "stablehlo.select_and_scatter"(%1, %arg1, %cst) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %3 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                  stablehlo.return %3 : tensor<i1>
                }, {
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %3 : tensor<f32>
                }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
                return %2 : tensor<7xf32>
              }
            }
        "#]],
    );
}

/// Shifts, strides and reversed dimensions: devices exchange borders or whole parts, and gather nothing.
#[test]
fn shifts_of_divided_dimensions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) {
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %0 = stablehlo.pad %x, %one, low = [3], high = [-3], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
          %1 = stablehlo.slice %x [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
          %2 = stablehlo.reverse %x, dims = [0] : tensor<8xf32>
          return %0, %1, %2 : tensor<8xf32>, tensor<4xf32>, tensor<8xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}], [{"x"}], [{"x"}]
            collective_permute 12 bytes, for stablehlo.pad
            collective_permute 16 bytes, for stablehlo.reverse
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
                %0 = stablehlo.slice %arg0 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3xf32>) -> tensor<3xf32>
                %2 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<0> : tensor<ui32>
                %3 = stablehlo.compare EQ, %2, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32>
                %5 = stablehlo.select %3, %4, %1 : tensor<i1>, tensor<3xf32>
                %6 = stablehlo.slice %arg0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
                %7 = stablehlo.concatenate %5, %6, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
                %8 = stablehlo.pad %7, %cst, low = [0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
                %9 = stablehlo.slice %arg0 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
                %10 = stablehlo.slice %9 [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>
                %11 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
                %12 = stablehlo.reverse %11, dims = [0] : tensor<4xf32>
                return %8, %10, %12 : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
              }
            }
        "#]],
    );
    // The differences have 7 elements, of which the second device computes 3.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
          %zero = stablehlo.constant dense<-0.0> : tensor<f32>
          %0 = stablehlo.slice %x [0:7] : (tensor<8xf32>) -> tensor<7xf32>
          %1 = stablehlo.slice %x [1:8] : (tensor<8xf32>) -> tensor<7xf32>
          %2 = stablehlo.subtract %1, %0 : tensor<7xf32>
          %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
          return %3 : tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}] -> []
            collective_permute 4 bytes, for stablehlo.slice
            all_reduce 4 bytes, for stablehlo.reduce
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>) -> tensor<f32> {
                %cst = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %0 = stablehlo.slice %arg0 [0:4] : (tensor<4xf32>) -> tensor<4xf32>
                %1 = stablehlo.slice %arg0 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
                %2 = stablehlo.slice %arg0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
                %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
                %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
                %5 = stablehlo.slice %4 [0:4] : (tensor<4xf32>) -> tensor<4xf32>
                %6 = stablehlo.subtract %5, %0 : tensor<4xf32>
                %cst_0 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %7 = stablehlo.iota dim = 0 : tensor<4xi64>
                %8 = stablehlo.partition_id : tensor<ui32>
                %9 = stablehlo.convert %8 : (tensor<ui32>) -> tensor<i64>
                %c = stablehlo.constant dense<4> : tensor<i64>
                %10 = stablehlo.multiply %9, %c : tensor<i64>
                %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i64>) -> tensor<4xi64>
                %12 = stablehlo.add %7, %11 : tensor<4xi64>
                %c_1 = stablehlo.constant dense<7> : tensor<i64>
                %13 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4xi64>
                %14 = stablehlo.compare LT, %12, %13 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
                %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4xf32>
                %16 = stablehlo.select %14, %6, %15 : tensor<4xi1>, tensor<4xf32>
                %17 = stablehlo.reduce(%16 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
                %18 = "stablehlo.all_reduce"(%17) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
                  %19 = stablehlo.add %arg1, %arg2 : tensor<f32>
                  stablehlo.return %19 : tensor<f32>
                }) : (tensor<f32>) -> tensor<f32>
                return %18 : tensor<f32>
              }
            }
        "#]],
    );
}

/// Patches of an image: the windows are as far apart as they are large, so nothing is exchanged.
#[test]
fn windows_with_strides() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<2x3x5xf32>, %l: tensor<4x3x5xf32>)
            -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>) {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x3xf32>, tensor<2x3x5xf32>) -> tensor<1x4x5xf32>
          %1 = stablehlo.convolution(%x, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x3xf32>, tensor<4x3x5xf32>) -> tensor<1x4x5xf32>
          return %0, %1 : tensor<1x4x5xf32>, tensor<1x4x5xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {}, {}], [{}, {}, {}] -> [{}, {"x"}, {}], [{}, {"x"}, {}]
            collective_permute 12 bytes, for stablehlo.convolution
            collective_permute 12 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x4x3xf32>, %arg1: tensor<2x3x5xf32>, %arg2: tensor<4x3x5xf32>) -> (tensor<1x2x5xf32>, tensor<1x2x5xf32>) {
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x3xf32>, tensor<2x3x5xf32>) -> tensor<1x2x5xf32>
                %1 = stablehlo.slice %arg0 [0:1, 3:4, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x1x3xf32>
                %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
                %3 = stablehlo.slice %arg0 [0:1, 0:1, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x1x3xf32>
                %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
                %5 = stablehlo.concatenate %2, %arg0, %4, dim = 1 : (tensor<1x1x3xf32>, tensor<1x4x3xf32>, tensor<1x1x3xf32>) -> tensor<1x6x3xf32>
                %6 = stablehlo.convolution(%5, %arg2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x3xf32>, tensor<4x3x5xf32>) -> tensor<1x2x5xf32>
                return %0, %6 : tensor<1x2x5xf32>, tensor<1x2x5xf32>
              }
            }
        "#]],
    );
}

/// An index of a scatter shifts even a complete window. The start of a complete window of a gather is
/// clamped.
#[test]
fn shifted_windows() {
    let moved = |operation: &str| {
        let program = format!(
            r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}, %i: tensor<i32>,
                        %u: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<4xf32> {{
          {operation}
          return %0 : tensor<4xf32>
        }}"#
        );
        let found = partitioned(&program).expect("the program is right").expect("the program has shardings");
        found.report.movements.iter().map(|movement| movement.collective).collect::<Vec<_>>()
    };
    let scatter = r#"%0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
          ^bb0(%x: tensor<f32>, %y: tensor<f32>):
            stablehlo.return %y : tensor<f32>
          }) : (tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> tensor<4xf32>"#;
    assert_eq!(moved(scatter), ["all_gather", "all_gather"]);
    let gather = r#"%0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 4>}> : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>"#;
    assert_eq!(moved(gather), Vec::<&str>::new());
}
