// Every missing target is reported, not only the first.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @scales(%x) {mhlo.backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @frobnicate(%0) {mhlo.backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
// error
// | error: [missing_target] no target `scales` is registered for the platform Host
// |  --> missing_targets.mlir:3:8
// |   |
// | 3 |   %0 = stablehlo.custom_call @scales(%x) {mhlo.backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: close names that are: scale
// |   = note: load the library that has it: Registry::load; if the library does not register it, Registry::load_symbols with scales=SYMBOL; see: farcall guide embedding
// |
// | error: [missing_target] no target `frobnicate` is registered for the platform Host
// |  --> missing_targets.mlir:4:8
// |   |
// | 4 |   %1 = stablehlo.custom_call @frobnicate(%0) {mhlo.backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
// |   |        ^^^^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: load the library that has it: Registry::load; if the library does not register it, Registry::load_symbols with frobnicate=SYMBOL; see: farcall guide embedding
