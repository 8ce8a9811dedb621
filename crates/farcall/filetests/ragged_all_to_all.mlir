// Rows that a participant sends to itself: the second copy may overwrite the first or end beyond the output.
func.func @main(%x: tensor<4x2xf32>, %y: tensor<5x2xf32>, %from: tensor<2xi32>, %sizes: tensor<2xi32>, %to: tensor<2xi32>) -> (tensor<5x2xf32>, tensor<5xui8>) {
  %0 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %from, %sizes, %to, %sizes) {api_version = 4 : i32, backend_config = {replica_groups = dense<0> : tensor<1x1xi64>}} : (tensor<4x2xf32>, tensor<5x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<5x2xf32>
  %in = stablehlo.constant dense<[7, 8, 9]> : tensor<3xui8>
  %out = stablehlo.constant dense<0> : tensor<5xui8>
  %1 = stablehlo.custom_call @ragged_all_to_all(%in, %out, %from, %sizes, %to, %sizes) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}} : (tensor<3xui8>, tensor<5xui8>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<5xui8>
  return %0, %1 : tensor<5x2xf32>, tensor<5xui8>
}
// run: dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32> ; dense<-1.0> : tensor<5x2xf32> ; dense<[1, 0]> : tensor<2xi32> ; dense<[2, 3]> : tensor<2xi32> ; dense<[0, 3]> : tensor<2xi32>
// = dense<[[3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00], [-1.000000e+00, -1.000000e+00], [1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<5x2xf32>
// = dense<[8, 9, 0, 7, 8]> : tensor<5xui8>
// run: dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32> ; dense<-1.0> : tensor<5x2xf32> ; dense<[0, 2]> : tensor<2xi32> ; dense<[3, 1]> : tensor<2xi32> ; dense<[1, 2]> : tensor<2xi32>
// = dense<[[-1.000000e+00, -1.000000e+00], [1.000000e+00, 2.000000e+00], [5.000000e+00, 6.000000e+00], [5.000000e+00, 6.000000e+00], [-1.000000e+00, -1.000000e+00]]> : tensor<5x2xf32>
// = dense<[0, 7, 9, 9, 0]> : tensor<5xui8>
// run: dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32> ; dense<-1.0> : tensor<5x2xf32> ; dense<0> : tensor<2xi32> ; dense<0> : tensor<2xi32> ; dense<0> : tensor<2xi32>
// = dense<-1.000000e+00> : tensor<5x2xf32>
// = dense<0> : tensor<5xui8>
