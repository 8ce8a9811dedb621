// MHLO, which JAX wrote before 2023: generic and parenthesized forms, old lists, quoted attributes.
module @jit_f.0 {
  func.func public @main(%arg0: tensor<2x3xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x3xi1>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<3xi32>) {
    %0 = mhlo.constant dense<2.0> : tensor<f32>
    %1 = "mhlo.broadcast_in_dim"(%0) {broadcast_dimensions = dense<> : tensor<0xi64>} : (tensor<f32>) -> tensor<2x3xf32>
    %2 = mhlo.multiply %arg0, %1 : tensor<2x3xf32>
    %3 = "mhlo.dot_general"(%2, %arg1) {dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#mhlo<"precision DEFAULT">, #mhlo<precision HIGHEST>]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %4 = mhlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = mhlo.reduce(%2 init: %4) applies mhlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %6 = "mhlo.compare"(%arg0, %2) {compare_type = #mhlo<"comparison_type FLOAT">, comparison_direction = #mhlo<"comparison_direction LT">} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %7 = "mhlo.slice"(%arg0) {limit_indices = dense<[1, 3]> : tensor<2xi64>, start_indices = dense<0> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %8 = mhlo.reshape(%7) : (tensor<1x3xf32>) -> tensor<3xf32>
    %9, %10 = mhlo.topk(%arg0, k=1, largest=true) : tensor<2x3xf32> -> (tensor<2x1xf32>, tensor<2x1xi32>)
    %11 = "mhlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = {lhs_batching_dimensions = dense<> : tensor<0xi64>, rhs_batching_dimensions = dense<> : tensor<0xi64>, lhs_contracting_dimensions = dense<1> : tensor<1xi64>, rhs_contracting_dimensions = dense<0> : tensor<1xi64>}} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %12 = mhlo.erf %11 : tensor<2x2xf32>
    %13 = call @integers(%3) : (tensor<2x2xf32>) -> tensor<2x2xi32>
    %14 = mhlo.constant dense<0> : tensor<i32>
    %15 = "mhlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<3xi32>
    %16:2 = mhlo.while(%iterArg = %14, %iterArg_0 = %15) : tensor<i32>, tensor<3xi32>
     cond {
      %17 = mhlo.constant dense<3> : tensor<i32>
      %18 = mhlo.compare  LT, %iterArg, %17,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      mhlo.return %18 : tensor<i1>
    } do {
      %17 = mhlo.constant dense<1> : tensor<i32>
      %18 = mhlo.add %iterArg, %17 : tensor<i32>
      %19 = mhlo.add %iterArg_0, %iterArg_0 : tensor<3xi32>
      "mhlo.return"(%18, %19) : (tensor<i32>, tensor<3xi32>) -> ()
    }
    return %3, %5, %6, %8, %9, %12, %13, %16#1 : tensor<2x2xf32>, tensor<2xf32>, tensor<2x3xi1>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<3xi32>
  }
  func.func private @integers(%arg0: tensor<2x2xf32>) -> tensor<2x2xi32> {
    %0 = mhlo.convert(%arg0) : (tensor<2x2xf32>) -> tensor<2x2xi32>
    return %0 : tensor<2x2xi32>
  }
}

// run: dense<[[1.0, 2.0, 3.0], [-4.0, 5.0, 0.5]]> : tensor<2x3xf32> ; dense<[[1.0, 0.0], [0.0, 1.0], [0.5, 0.25]]> : tensor<3x2xf32>
// = dense<[[5.000000e+00, 5.500000e+00], [-7.500000e+00, 1.025000e+01]]> : tensor<2x2xf32>
// = dense<[1.200000e+01, 3.000000e+00]> : tensor<2xf32>
// = dense<[[true, true, true], [false, true, true]]> : tensor<2x3xi1>
// = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// = dense<[[3.000000e+00], [5.000000e+00]]> : tensor<2x1xf32>
// = dense<[[9.995930e-01, 9.998994e-01], [-9.999999e-01, 1.000000e+00]]> : tensor<2x2xf32>
// = dense<[[5, 5], [-7, 10]]> : tensor<2x2xi32>
// = dense<[0, 8, 16]> : tensor<3xi32>
