module @qr_alias attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<3x3xf32> {jax.result_info = "result[0]"}, tensor<3x4xf32> {jax.result_info = "result[1]"}) {
    %0:2 = stablehlo.composite "my.qr_alias" %arg0 {decomposition = @my.qr_alias} : (tensor<3x4xf32>) -> (tensor<3x3xf32>, tensor<3x4xf32>)
    return %0#0, %0#1 : tensor<3x3xf32>, tensor<3x4xf32>
  }
  func.func private @my.qr_alias(%arg0: tensor<3x4xf32>) -> (tensor<3x3xf32>, tensor<3x4xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<3x3xi32>
    %1 = stablehlo.iota dim = 1 : tensor<3x3xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
    %3 = stablehlo.add %0, %2 : tensor<3x3xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
    %5 = stablehlo.convert %4 : (tensor<3x3xi1>) -> tensor<3x3xf32>
    %6 = stablehlo.iota dim = 0 : tensor<3xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %8 = stablehlo.compare GE, %6, %7, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %9 = stablehlo.slice %arg0 [0:3, 0:1] : (tensor<3x4xf32>) -> tensor<3x1xf32>
    %10 = stablehlo.reshape %9 : (tensor<3x1xf32>) -> tensor<3xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %11 = call @_where(%8, %10, %c_1) : (tensor<3xi1>, tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
    %12 = stablehlo.multiply %11, %11 : tensor<3xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %14 = stablehlo.sqrt %13 : tensor<f32>
    %15 = stablehlo.slice %arg0 [0:1, 0:1] : (tensor<3x4xf32>) -> tensor<1x1xf32>
    %16 = stablehlo.reshape %15 : (tensor<1x1xf32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.compare GE, %16, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %18 = stablehlo.negate %14 : tensor<f32>
    %19 = call @_where_0(%17, %18, %14) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %21 = stablehlo.compare EQ, %6, %20, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %22 = stablehlo.convert %21 : (tensor<3xi1>) -> tensor<3xf32>
    %23 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %24 = stablehlo.multiply %23, %22 : tensor<3xf32>
    %25 = stablehlo.subtract %11, %24 : tensor<3xf32>
    %26 = stablehlo.multiply %25, %25 : tensor<3xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.compare GT, %27, %cst_5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %29 = stablehlo.divide %cst_6, %27 : tensor<f32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %30 = call @_where_1(%28, %29, %c_7) : (tensor<i1>, tensor<f32>, tensor<i32>) -> tensor<f32>
    %31 = stablehlo.dot_general %25, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
    %32 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %33 = stablehlo.broadcast_in_dim %31, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x4xf32>
    %35 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<3x4xf32>
    %36 = stablehlo.multiply %34, %35 : tensor<3x4xf32>
    %37 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %38 = stablehlo.multiply %37, %36 : tensor<3x4xf32>
    %39 = stablehlo.subtract %arg0, %38 : tensor<3x4xf32>
    %40 = stablehlo.dot_general %5, %25, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %42 = stablehlo.broadcast_in_dim %25, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %43 = stablehlo.broadcast_in_dim %41, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x3xf32>
    %44 = stablehlo.broadcast_in_dim %42, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<3x3xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<3x3xf32>
    %46 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %47 = stablehlo.multiply %46, %45 : tensor<3x3xf32>
    %48 = stablehlo.subtract %5, %47 : tensor<3x3xf32>
    %c_8 = stablehlo.constant dense<1> : tensor<i32>
    %49 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %50 = stablehlo.compare GE, %6, %49, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %51 = stablehlo.slice %39 [0:3, 1:2] : (tensor<3x4xf32>) -> tensor<3x1xf32>
    %52 = stablehlo.reshape %51 : (tensor<3x1xf32>) -> tensor<3xf32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %53 = call @_where(%50, %52, %c_9) : (tensor<3xi1>, tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
    %54 = stablehlo.multiply %53, %53 : tensor<3xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %55 = stablehlo.reduce(%54 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %56 = stablehlo.sqrt %55 : tensor<f32>
    %57 = stablehlo.slice %39 [1:2, 1:2] : (tensor<3x4xf32>) -> tensor<1x1xf32>
    %58 = stablehlo.reshape %57 : (tensor<1x1xf32>) -> tensor<f32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %59 = stablehlo.compare GE, %58, %cst_11, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %60 = stablehlo.negate %56 : tensor<f32>
    %61 = call @_where_0(%59, %60, %56) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_12 = stablehlo.constant dense<1> : tensor<i32>
    %62 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %63 = stablehlo.compare EQ, %6, %62, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %64 = stablehlo.convert %63 : (tensor<3xi1>) -> tensor<3xf32>
    %65 = stablehlo.broadcast_in_dim %61, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %66 = stablehlo.multiply %65, %64 : tensor<3xf32>
    %67 = stablehlo.subtract %53, %66 : tensor<3xf32>
    %68 = stablehlo.multiply %67, %67 : tensor<3xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%68 init: %cst_13) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.compare GT, %69, %cst_14, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %71 = stablehlo.divide %cst_15, %69 : tensor<f32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %72 = call @_where_1(%70, %71, %c_16) : (tensor<i1>, tensor<f32>, tensor<i32>) -> tensor<f32>
    %73 = stablehlo.dot_general %67, %39, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
    %74 = stablehlo.broadcast_in_dim %67, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %75 = stablehlo.broadcast_in_dim %73, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %76 = stablehlo.broadcast_in_dim %74, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x4xf32>
    %77 = stablehlo.broadcast_in_dim %75, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<3x4xf32>
    %78 = stablehlo.multiply %76, %77 : tensor<3x4xf32>
    %79 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %80 = stablehlo.multiply %79, %78 : tensor<3x4xf32>
    %81 = stablehlo.subtract %39, %80 : tensor<3x4xf32>
    %82 = stablehlo.dot_general %48, %67, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %84 = stablehlo.broadcast_in_dim %67, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %85 = stablehlo.broadcast_in_dim %83, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x3xf32>
    %86 = stablehlo.broadcast_in_dim %84, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<3x3xf32>
    %87 = stablehlo.multiply %85, %86 : tensor<3x3xf32>
    %88 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %89 = stablehlo.multiply %88, %87 : tensor<3x3xf32>
    %90 = stablehlo.subtract %48, %89 : tensor<3x3xf32>
    %91 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %92 = stablehlo.iota dim = 0 : tensor<4xi32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
    %94 = stablehlo.broadcast_in_dim %91, dims = [0, 1] : (tensor<3x1xi32>) -> tensor<3x4xi32>
    %95 = stablehlo.broadcast_in_dim %93, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<3x4xi32>
    %96 = stablehlo.compare LE, %94, %95, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %97 = call @_where_2(%96, %81, %c_17) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<i32>) -> tensor<3x4xf32>
    return %90, %97 : tensor<3x3xf32>, tensor<3x4xf32>
  }
  func.func private @_where(%arg0: tensor<3xi1>, %arg1: tensor<3xf32>, %arg2: tensor<i32>) -> tensor<3xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3xi1>, tensor<3xf32>
    return %2 : tensor<3xf32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<i32>) -> tensor<f32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @_where_2(%arg0: tensor<3x4xi1>, %arg1: tensor<3x4xf32>, %arg2: tensor<i32>) -> tensor<3x4xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3x4xi1>, tensor<3x4xf32>
    return %2 : tensor<3x4xf32>
  }
}

