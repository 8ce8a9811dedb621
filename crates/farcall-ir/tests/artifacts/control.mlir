module @control {
  func.func @main(%n: tensor<i32>, %x: tensor<2x?xf32, #stablehlo.bounds<?, 8>>, %t: !stablehlo.token) -> (tensor<i32>, !stablehlo.token) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %n, %a = %zero) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %b = "stablehlo.case"(%i) ({
        %u = stablehlo.add %a, %n : tensor<i32>
        stablehlo.return %u : tensor<i32>
      }, {
        %p = stablehlo.compare LT, %a, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %v = "stablehlo.if"(%p) ({
          stablehlo.return %a : tensor<i32>
        }, {
          stablehlo.return %i : tensor<i32>
        }) : (tensor<i1>) -> tensor<i32>
        stablehlo.return %v : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %m = stablehlo.subtract %i, %b : tensor<i32>
      stablehlo.return %m, %b : tensor<i32>, tensor<i32>
    }
    %1 = stablehlo.tuple %0#0, %t : tuple<tensor<i32>, !stablehlo.token>
    %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<i32>, !stablehlo.token>) -> tensor<i32>
    %4 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %5:2 = stablehlo.composite "my.op" %4, %n {composite_attributes = {k = 2 : i64}, decomposition = @swap, version = 3 : i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %6 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x?xf32, #stablehlo.bounds<?, 8>>) -> tensor<i32>
    %7 = stablehlo.after_all %t, %t : !stablehlo.token
    return %6, %7 : tensor<i32>, !stablehlo.token
  }
  func.func private @swap(%a: tensor<i32>, %b: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    return %b, %a : tensor<i32>, tensor<i32>
  }
}
