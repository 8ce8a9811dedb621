//! Runs on several devices.

use expect_test::expect;

use crate::folder::Folder;

/// A program of `shard_map` runs on the partitions that it states, without options.
#[test]
fn programs_that_compute_with_parts() {
    let program = "module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <[\"x\"=2]>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} (%p: tensor<2xf32>) {
      %1 = stablehlo.reverse %p, dims = [0] : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
";
    let folder = Folder::new().with("parts.mlir", program);
    let printed = "out0  f32[4]\n[1.0, 0.0, 3.0, 2.0]\n";
    assert_eq!(folder.farcall(["run", "parts.mlir", "--fill", "iota"]).stdout, printed);
    // Debug builds print a warning before.
    let recorded = folder.farcall(["run", "parts.mlir", "--fill", "iota", "--profile"]);
    let error =
        "error: --profile and --trace record runs on one device; this run is on 1 replica × 2 partitions\n";
    assert!(recorded.stderr.ends_with(error), "{}", recorded.stderr);
}

/// For a wrong `--devices`, the error names the number of devices that the shardings need.
#[test]
fn shardings_state_the_number_of_devices() {
    let program = "module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <[\"x\"=8]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
";
    let folder = Folder::new().with("eight.mlir", program);
    folder.fails(
        &["run", "eight.mlir", "--fill", "iota", "--devices", "4"],
        expect![[r#"
            error: the program's shardings need 1 replica × 8 partitions, not 4 devices; give --devices 8
        "#]],
    );
}
