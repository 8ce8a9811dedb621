// collective_reduce in a group of one, from a process that sends nothing, and with groups named by mesh axes.
sdy.mesh @one = <["x"=1, "y"=1]>
func.func @main(%x: tensor<2xf32>, %root: tensor<1xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf64>, tensor<2xf32>) {
  %alone = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  %rooted = "stablehlo.collective_reduce"(%x, %root) <{has_dynamic_root, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>
  %outside = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[1, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  %wide = "stablehlo.all_reduce"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @one, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %sum = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %sum : tensor<f64>
  }) : (tensor<2xf32>) -> tensor<2xf64>
  %gathered = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 1>]>, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %alone, %rooted, %outside, %wide, %gathered : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf64>, tensor<2xf32>
}

// run: dense<[1.0, 2.0]> : tensor<2xf32> ; dense<0> : tensor<1xi32>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// = dense<0.000000e+00> : tensor<2xf32>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf64>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
