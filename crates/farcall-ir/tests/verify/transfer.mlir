func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%x) ({ %s = "stablehlo.slice"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32> "stablehlo.return"(%s) : (tensor<2xf32>) -> () }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}
// -----
// [async_start_c1] 2:8: the region must hold one operation and return its results
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%x) ({ %s = "stablehlo.slice"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32> %u = "stablehlo.negate"(%s) : (tensor<2xf32>) -> tensor<2xf32> "stablehlo.return"(%u) : (tensor<2xf32>) -> () }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}
// -----
// [async_start_c2] 2:8: the operation of the region must be a collective or a slice, found stablehlo.negate
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%x) ({ %s = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32> "stablehlo.return"(%s) : (tensor<4xf32>) -> () }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}
// -----
// [async_start_c3] 2:8: the operation of the region must take the operands of async_start, in the same order
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%x) ({ %s = "stablehlo.slice"(%y) {start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32> "stablehlo.return"(%s) : (tensor<2xf32>) -> () }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}
// -----
// [async_start_c3] 2:8: the operation of the region must take the operands of async_start, in the same order
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%x) ({ ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>): %s = "stablehlo.slice"(%a) {start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32> "stablehlo.return"(%s) : (tensor<2xf32>) -> () }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}
// -----
// [async_start_c4] 2:8: result must be !stablehlo.future<tensor<2xf32>>, found !stablehlo.future<tensor<3xf32>>
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%x) ({ %s = "stablehlo.slice"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32> "stablehlo.return"(%s) : (tensor<2xf32>) -> () }) : (tensor<4xf32>) -> !stablehlo.future<tensor<3xf32>>
  return
}
// -----
func.func @f(%x: !stablehlo.future<tensor<2xf32>>) {
  %r = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  return
}
// -----
// [async_done_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%x: !stablehlo.future<tensor<2xf32>>) {
  %r = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<2xf32>>) -> tensor<3xf32>
  return
}
// -----
// [operand-kind] 2:8: operand 0 of stablehlo.async_done must be a future, found tensor<2xf32>
func.func @f(%x: tensor<2xf32>) {
  %r = "stablehlo.async_done"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [type] 1:36: a value must be a tensor, a token or a tuple, not of type f32
func.func @f(%x: !stablehlo.future<f32>) {
  %r = "stablehlo.async_done"(%x) : (!stablehlo.future<f32>) -> tensor<2xf32>
  return
}
// -----
func.func @f(%t: !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [infeed_c1] 2:3: at least one result is needed
func.func @f(%t: !stablehlo.token) {
  "stablehlo.infeed"(%t) : (!stablehlo.token) -> ()
  return
}
// -----
// [infeed_c2] 2:10: result 0 must be a tensor, found !stablehlo.token
func.func @f(%t: !stablehlo.token) {
  %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}
// -----
// [infeed_c3] 2:10: the last result must be a token, found tensor<2xf32>
func.func @f(%t: !stablehlo.token) {
  %r:1 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xf32>)
  return
}
// -----
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.outfeed"(%x, %t) : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [outfeed_i1] 2:8: operand 0 must be a tensor, found !stablehlo.token
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.outfeed"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [outfeed_i2] 2:8: the last operand must be a token, found tensor<2xf32>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.outfeed"(%x) : (tensor<2xf32>) -> !stablehlo.token
  return
}
// -----
// [outfeed_o1] 2:8: result must be !stablehlo.token, found tensor<2xf32>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.outfeed"(%x, %t) : (tensor<2xf32>, !stablehlo.token) -> tensor<2xf32>
  return
}
// -----
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_i6] 2:8: source_target_pairs must be a 2-dimensional tensor of i64, found tensor<2xi64>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_c1] 2:8: source_target_pairs must have two columns, found tensor<1x3xi64>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_c2] 2:8: sources must be unique, found 0 twice
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_c3] 2:8: targets must be unique, found 1 twice
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_c4] 2:8: source_target_pairs must be at least 0, found -1
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[-1, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_c5] 2:8: a channel to the host must be of type 2, found 1
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_c5] 2:8: a channel to a device must be of type 1, found 2
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_i5] 2:10: source_target_pairs must be a 2-dimensional tensor of i64, found tensor<2xi64>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[0, 1]> : tensor<2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_c1] 2:10: source_target_pairs must have two columns, found tensor<1x3xi64>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_c2] 2:10: sources must be unique, found 0 twice
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_c3] 2:10: targets must be unique, found 1 twice
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_c4] 2:10: source_target_pairs must be at least 0, found -1
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[-1, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_c5] 2:10: a channel to the host must be of type 2 or 3, found 1
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [recv_c5] 2:10: a channel to a device must be of type 1, found 2
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
// -----
// [send_i1] 2:8: operand 0 must be a tensor, found !stablehlo.token
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%t, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  return
}
// -----
// [send_i2] 2:8: the last operand must be a token, found tensor<2xf32>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> !stablehlo.token
  return
}
// -----
// [send_o1] 2:8: result must be !stablehlo.token, found tensor<f32>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>, !stablehlo.token) -> tensor<f32>
  return
}
// -----
// [recv_o1] 2:8: the last result must be a token, found tensor<2xf32>
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> tensor<2xf32>
  return
}
// -----
// [recv_o1] 2:10: result 0 must be a tensor, found !stablehlo.token
func.func @f(%x: tensor<2xf32>, %t: !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}
