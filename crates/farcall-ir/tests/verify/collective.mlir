func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}
// -----
// [all_gather_i1] 2:8: operand 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [all_gather_i3] 2:8: replica_groups must be a 2-dimensional tensor of i64, found tensor<1xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_gather_c1] 2:8: all_gather_dim must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_gather_c2] 2:8: replica_groups must be unique, found 0 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}
// -----
// [all_gather_c4] 2:8: replica_groups must be in [0, 1), found 1
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<1> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_gather_c5] 2:8: use_global_device_ids needs a channel above 0, found 0
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_gather_c6] 2:8: result must be tensor<2x4xf32>, found tensor<2x8xf32>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}
// -----
// [all_gather_c6] 2:8: dimension 1 of result 0 must be a multiple of 4, found 7
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x7xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_i1] 2:8: operand 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [all_reduce_c5] 2:8: elements of tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> cannot be promoted to argument 1, tensor<f32>
// [all_reduce_c5] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_i2] 2:8: replica_groups must be a 2-dimensional tensor of i64, found tensor<1xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_c1] 2:8: replica_groups must be unique, found 1 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_c3] 2:8: replica_groups must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_c4] 2:8: use_global_device_ids needs a channel above 0, found 0
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_c5] 2:8: elements of tensor<2x4xi32> cannot be promoted to argument 1, tensor<f32>
// [all_reduce_c5] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<i32>
func.func @f(%a: tensor<2x4xi32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xi32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_reduce_c6] 2:8: result must be tensor<2x4xf32>, found tensor<2x3xf32>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [all_reduce_c7] 2:8: result must be tensor<2x4xf32>, found tensor<2x4xf64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf64>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return
}
// -----
// [reduce_scatter_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [reduce_scatter_c7] 2:8: elements of tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> cannot be promoted to argument 1, tensor<f32>
// [reduce_scatter_c7] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x4xf32>
  return
}
// -----
// [reduce_scatter_i3] 2:8: replica_groups must be a 2-dimensional tensor of i64, found tensor<1xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [reduce_scatter_c1] 2:8: dimension 1 of tensor<2x4xf32> must be a multiple of 3
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return
}
// -----
// [reduce_scatter_c2] 2:8: scatter_dimension must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 2 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [reduce_scatter_c3] 2:8: replica_groups must be unique, found 1 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return
}
// -----
// [reduce_scatter_c5] 2:8: replica_groups must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return
}
// -----
// [reduce_scatter_c6] 2:8: use_global_device_ids needs a channel above 0, found 0
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [reduce_scatter_c7] 2:8: elements of tensor<2x4xi32> cannot be promoted to argument 1, tensor<f32>
// [reduce_scatter_c7] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<i32>
func.func @f(%a: tensor<2x4xi32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xi32>) -> tensor<2x4xf32>
  return
}
// -----
// [reduce_scatter_c8] 2:8: result must be tensor<2x4xf32>, found tensor<2x2xf32>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return
}
// -----
// [reduce_scatter_c8] 2:8: dimension 1 of tensor<2x4xf32> must be a multiple of the result's, 3
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [reduce_scatter_c9] 2:8: result must be tensor<2x4xf32>, found tensor<2x4xf64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %s = stablehlo.add %x0, %x1 : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf64>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}
// -----
// [all_to_all_i1] 2:8: operand 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [all_to_all_i5] 2:8: replica_groups must be a 2-dimensional tensor of i64, found tensor<1xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c1] 2:8: split_dimension must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 2 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c2] 2:8: dimension 1 of tensor<2x4xf32> must be a multiple of 3
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 3 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c3] 2:8: concat_dimension must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 2 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c4] 2:8: split_count must be positive, found [0]
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c5] 2:8: replica_groups must be unique, found 0 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c7] 2:8: replica_groups must be in [0, 2), found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c8] 2:8: split_count must be the size of a group, 1, found 2
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [all_to_all_c9] 2:8: result must be tensor<4x2xf32>, found tensor<2x4xf32>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>, %b: tensor<1xi32>) {
  %r = "stablehlo.collective_broadcast"(%a, %b) <{replica_groups = dense<0> : tensor<1x1xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_broadcast_i1] 2:8: operand 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [collective_broadcast_i2] 2:8: replica_groups must be a 2-dimensional tensor of i64, found tensor<1xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_broadcast_c1] 2:8: replica_groups must be unique, found 1 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_broadcast_c2] 2:8: replica_groups must be at least 0, found -1
// [collective_broadcast_i2] 2:8: replica_groups must have no empty group, but group 0 of tensor<1x1xi64> is
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[-1]]> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_broadcast_c3] 2:3: at least 1 operands are needed, found 0
func.func @f() {
  "stablehlo.collective_broadcast"() <{replica_groups = dense<0> : tensor<1x1xi64>}> : () -> ()
  return
}
// -----
// [collective_broadcast_c3] 2:8: result must be tensor<2x4xf32>, found tensor<2x3xf32>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [collective_broadcast_c4] 2:8: at least 2 operands are needed, found 1
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>, has_dynamic_root}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_broadcast_c4] 2:8: the last operand must be tensor<1xi32>, which names the root, found tensor<1xi64>
func.func @f(%a: tensor<2x4xf32>, %b: tensor<1xi64>) {
  %r = "stablehlo.collective_broadcast"(%a, %b) <{replica_groups = dense<0> : tensor<1x1xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_broadcast_c5] 2:3: 1 results are needed, found 0
func.func @f(%a: tensor<2x4xf32>) {
  "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xf32>) -> ()
  return
}
// -----
// [collective_broadcast_c6] 3:8: roots must be in [0, 1), found [1]
func.func @f(%a: tensor<2x4xf32>) {
  %b = stablehlo.constant dense<1> : tensor<1xi32>
  %r = "stablehlo.collective_broadcast"(%a, %b) <{replica_groups = dense<0> : tensor<1x1xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_permute_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [collective_permute_i2] 2:8: source_target_pairs must be a 2-dimensional tensor of i64, found tensor<2xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_permute_c1] 2:8: source_target_pairs must have two columns, found tensor<1x3xi64>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x3xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_permute_c2] 2:8: sources must be unique, found 0 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_permute_c3] 2:8: targets must be unique, found 0 twice
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[1, 0], [2, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_permute_c4] 2:8: source_target_pairs must be at least 0, found -1
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[-1, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [collective_permute_c5] 2:8: result must be tensor<2x4xf32>, found tensor<2x3xf32>
func.func @f(%a: tensor<2x4xf32>) {
  %r = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<4xi64>
  return
}
// -----
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x, %i) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>, tensor<1xi32>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_i1] 2:8: operand 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>
// [collective_reduce_c4] 2:8: elements of tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>> cannot be promoted to argument 1, tensor<f32>
// [collective_reduce_c4] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>
// [collective_reduce_c4] 2:8: result must be tensor<4xf32>, found tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%q) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): "stablehlo.return"(%a) : (tensor<f32>) -> () }) : (tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>) -> tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>
  return
}
// -----
// [collective_reduce_i2] 2:8: replica_groups must be a 2-dimensional tensor of i64, found tensor<2xi64>
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_c1] 2:8: replica_groups must be unique, found 0 twice
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_c2] 2:8: replica_groups must be at least 0, found -1
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[-1, 0]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_c3] 2:8: at least 2 operands are needed, found 1
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_c3] 2:8: the last operand must be tensor<1xi32>, which names the root, found tensor<2xi32>
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x, %w) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>, tensor<2xi32>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_c3] 2:8: result must be tensor<4xi64>, found tensor<5xi64>
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<5xi64>
  return
}
// -----
// [collective_reduce_c4] 2:8: elements of tensor<4xi64> cannot be promoted to argument 1, tensor<i32>
// [collective_reduce_c4] 2:8: initial value 0 must have rank 0 and a type that tensor<i32> can hold, found tensor<i64>
// [collective_reduce_c4] 2:8: result must be tensor<4xi32>, found tensor<4xi64>
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i32>, %b: tensor<i32>): "stablehlo.return"(%a) : (tensor<i32>) -> () }) : (tensor<4xi64>) -> tensor<4xi64>
  return
}
// -----
// [collective_reduce_c4] 2:8: result must be tensor<4xi64>, found tensor<4xi32>
func.func @f(%x: tensor<4xi64>, %q: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>>, %i: tensor<1xi32>, %w: tensor<2xi32>) {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({ ^bb0(%a: tensor<i64>, %b: tensor<i64>): "stablehlo.return"(%a) : (tensor<i64>) -> () }) : (tensor<4xi64>) -> tensor<4xi32>
  return
}
// -----
// [all_gather_i3] 2:8: replica_groups must have no empty group, but group 0 of tensor<1x0xi64> is
// [all_gather_c6] 2:8: result must be tensor<0xf32>, found tensor<4xf32>
func.func @f(%a: tensor<4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<1x0xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
// [all_gather_c5] 2:8: use_global_device_ids needs replica_groups, found none
func.func @f(%a: tensor<4xf32>) {
  %r = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<> : tensor<0x0xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}
