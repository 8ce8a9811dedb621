// A group of two processes is an error, because the program is for one device.
func.func @main(%x: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// error
// | error: [participants] stablehlo.all_gather takes 2 participants, but the program is for one device; see: farcall guide devices
// |  --> collective_of_several.mlir:3:8
// |   |
// | 3 |   %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2
// |   |        ^^^^^^^^^^^^^^^^^^^^^^
