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

/// Prints the number of the partition.
const NUMBERED: &str = "func.func @main(%x: tensor<2xf32> SHARDING) -> tensor<2xf32> {
  %p = stablehlo.partition_id : tensor<ui32>
  %f = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %y = stablehlo.add %x, %b : tensor<2xf32>
  return %y : tensor<2xf32>
}
";

/// The partitions of a program without shardings take their own inputs, and have their own results.
#[test]
fn partitions_without_shardings() {
    let folder = Folder::new().with("numbered.mlir", NUMBERED.replace("SHARDING", ""));
    let run = folder.farcall(["run", "numbered.mlir", "--partitions", "2", "-i", "[[0,0],[10,10]]"]);
    let printed = "out0 on device 0  f32[2]\n[0.0, 0.0]\nout0 on device 1  f32[2]\n[11.0, 11.0]\n";
    assert_eq!(run.stdout, printed, "{}", run.stderr);
}

/// A program need not state the number of its partitions if its mesh does.
#[test]
fn numbers_of_partitions_in_divided_programs() {
    let sharding = "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}";
    let program = format!("sdy.mesh @mesh = <[\"x\"=2]>\n{}", NUMBERED.replace("SHARDING", sharding));
    let folder = Folder::new().with("numbered.mlir", program);
    let convert = folder.farcall(["convert", "numbered.mlir", "--to", "stablehlo", "--partitioned"]);
    assert!(convert.stdout.contains("stablehlo.partition_id"), "{}", convert.stdout);
}

#[test]
fn the_number_of_devices_is_limited() {
    let folder = Folder::new().with("numbered.mlir", NUMBERED.replace("SHARDING", ""));
    folder.fails(
        &["run", "numbered.mlir", "--fill", "zeros", "--replicas", "65535", "--partitions", "65535"],
        expect![[r#"
            error: 65535 replicas × 65535 partitions are more than 4096 devices
        "#]],
    );
}
