// Calls that do not fit the op's signature. The errors use the names of the signature.
func.func @main(%x: tensor<3x4xf32>, %y: tensor<4xf32>, %z: tensor<5xf32>, %d: tensor<4xf64>) -> tensor<3x4xf32> {
  %0 = stablehlo.custom_call @affine(%x, %z) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<5xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.custom_call @affine(%x) {mhlo.backend_config = {}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = stablehlo.custom_call @affine(%x, %d) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<4xf64>) -> tensor<3x4xf32>
  %3 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {offset = 1 : i32}} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %4 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {ofset = 1.0 : f32}} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %5 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6:2 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>)
  %7 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0]> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %8 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {offset = @f}} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
// error
// | error: [signature] affine: scale has n = 5 but x has n = 4
// |  --> declared_mistakes.mlir:3:8
// |   |
// | 3 |   %0 = stablehlo.custom_call @affine(%x, %z) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<5xf32>)
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: takes 2 operands (x, scale), but is given 1
// |  --> declared_mistakes.mlir:4:8
// |   |
// | 4 |   %1 = stablehlo.custom_call @affine(%x) {mhlo.backend_config = {}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: scale must be f32, but is f64
// |  --> declared_mistakes.mlir:5:8
// |   |
// | 5 |   %2 = stablehlo.custom_call @affine(%x, %d) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<4xf64>)
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: attribute offset must be f32, but is i32
// |  --> declared_mistakes.mlir:6:8
// |   |
// | 6 |   %3 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {offset = 1 : i32}} : (tensor<3x4xf32>,
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: there is no attribute ofset; did you mean offset?
// |  --> declared_mistakes.mlir:7:8
// |   |
// | 7 |   %4 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {ofset = 1.0 : f32}} : (tensor<3x4xf32>
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: y is f32[3, 4], but the call's result is f32[4]
// |  --> declared_mistakes.mlir:8:8
// |   |
// | 8 |   %5 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<4xf32>)
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: returns 1 result (y), but the call has 2
// |  --> declared_mistakes.mlir:9:10
// |   |
// | 9 |   %6:2 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {}} : (tensor<3x4xf32>, tensor<4xf32>)
// |   |          ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: x must have the layout [1, 0] (minor to major), but the call has [0, 1]
// |   --> declared_mistakes.mlir:10:8
// |    |
// | 10 |   %7 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> :
// |    |        ^^^^^^^^^^^^^^^^^^^^^
// |    |
// |    = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
// |
// | error: [signature] affine: attribute offset is neither a number, a string, an array of numbers nor a dictionary
// |   --> declared_mistakes.mlir:11:8
// |    |
// | 11 |   %8 = stablehlo.custom_call @affine(%x, %y) {mhlo.backend_config = {offset = @f}} : (tensor<3x4xf32>, tens
// |    |        ^^^^^^^^^^^^^^^^^^^^^
// |    |
// |    = note: affine(x: f32[*, n], scale: f32[n], offset: f32 = 1.0) -> (y: f32[*, n])
