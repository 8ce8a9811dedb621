//! Programs and the programs of each device.

use std::sync::Arc;

use expect_test::{Expect, expect};
use farcall_ir::sharding::TileAssignment;
use farcall_ir::{Source, middle, text, verify};
use farcall_partition::partitioner::{self, DividedCall, Partitioner, ShardedCall};
use farcall_partition::{NoRules, Partitioned, partition};

fn partitioned(program: &str) -> Result<Option<Partitioned>, String> {
    let module = text::parse(&Source::new("program", program)).map_err(|e| e.to_string())?;
    let verified =
        verify::verify(&module).and_then(|module| module.into_static()).map_err(|e| e.to_string())?;
    let entry = verified.entry().expect("the program has an entry");
    let form = middle::build(&verified, entry).map_err(|e| e.message)?;
    partition(&form, &NoRules).map_err(|e| e.to_string())
}

/// Compares the program of each device, the tilings of parameters and results, and the collectives.
#[expect(clippy::needless_pass_by_value, reason = "expectations are made in place")]
fn check(program: &str, expected: Expect) {
    let shown = match partitioned(program) {
        Ok(Some(partitioned)) => {
            let tilings = |tilings: &[farcall_partition::tiling::Tiling]| {
                tilings.iter().map(|tiling| tiling.show(&partitioned.grid)).collect::<Vec<_>>().join(", ")
            };
            let text = text::print(&middle::open_regions(partitioned.module.clone()));
            let moved = partitioned.report.movements.iter();
            let moved = moved.map(|m| format!("{} {} bytes, for {}\n", m.collective, m.bytes, m.op));
            let moved = moved.collect::<String>();
            format!("{} -> {}\n{moved}{text}", tilings(&partitioned.inputs), tilings(&partitioned.outputs))
        }
        Ok(None) => "no shardings\n".to_owned(),
        Err(error) => error,
    };
    expected.assert_eq(&shown);
}

/// A product whose inputs are divided along different axes needs no collective, the sum of its elements one.
#[test]
fn products_and_sums() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=4]>
        func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                        %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x12xf32>, tensor<f32>) {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x12xf32>, tensor<f32>) -> tensor<f32>
          return %0, %1 : tensor<8x12xf32>, tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}, {}], [{}, {"y"}] -> [{"x"}, {"y"}], []
            all_reduce 4 bytes, for stablehlo.reduce
            module attributes {mhlo.num_partitions = 8 : i32} {
              func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16x3xf32>) -> (tensor<4x3xf32>, tensor<f32>) {
                %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x3xf32>) -> tensor<4x3xf32>
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
                %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %3 : tensor<f32>
                }) : (tensor<f32>) -> tensor<f32>
                return %0, %2 : tensor<4x3xf32>, tensor<f32>
              }
            }
        "#]],
    );
}

/// A divided contracting dimension makes summands. If the result is divided along the same axis, each device
/// receives only its part of the sum.
#[test]
fn contractions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                        %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
            -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
          return %0 : tensor<8x12xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}], [{"x"}, {}] -> [{"x"}, {}]
            reduce_scatter 96 bytes, for stablehlo.dot_general
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4x12xf32>) -> tensor<2x12xf32> {
                %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x12xf32>) -> tensor<8x12xf32>
                %1 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %2 : tensor<f32>
                }) : (tensor<8x12xf32>) -> tensor<2x12xf32>
                return %1 : tensor<2x12xf32>
              }
            }
        "#]],
    );
}

/// The shardings of XLA: a constraint that moves an axis to another dimension is an all-to-all.
#[test]
fn tile_assignments() {
    check(
        r#"
        module attributes {mhlo.num_partitions = 4 : i32} {
          func.func @main(%a: tensor<8x16xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"})
              -> (tensor<8x16xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}) {
            %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[1,4]0,1,2,3}"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
            return %0 : tensor<8x16xf32>
          }
        }"#,
        expect![[r#"
            [{"d0"}, {}] -> [{"d0":(1)2}, {}]
            all_to_all 128 bytes, for stablehlo.reshape
            all_gather 256 bytes, for stablehlo.return
            all_to_all 256 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<2x16xf32>) -> tensor<4x16xf32> {
                %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<2x16xf32>) -> tensor<8x4xf32>
                %1 = stablehlo.reshape %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
                %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<8x4xf32>) -> tensor<8x8xf32>
                %3 = "stablehlo.all_to_all"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x8xf32>) -> tensor<4x16xf32>
                return %3 : tensor<4x16xf32>
              }
            }
        "#]],
    );
}

/// A region on parts is used as it is.
#[test]
fn manual_computations() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%part: tensor<4x16xf32>) {
            %1 = stablehlo.add %part, %part : tensor<4x16xf32>
            %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"y"}]> : tensor<4x16xf32>
            sdy.return %2 : tensor<4x16xf32>
          } : (tensor<8x16xf32>) -> tensor<8x16xf32>
          return %0 : tensor<8x16xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{"x"}, {}]
            all_gather 256 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0 = stablehlo.partition_id : tensor<ui32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %1 = stablehlo.remainder %0, %c_0 : tensor<ui32>
                %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
                %c_1 = stablehlo.constant dense<8> : tensor<i32>
                %3 = stablehlo.multiply %2, %c_1 : tensor<i32>
                %4 = stablehlo.dynamic_slice %arg0, %c, %3, sizes = [4, 8] : (tensor<4x16xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
                %5 = stablehlo.add %4, %4 : tensor<4x8xf32>
                %6 = stablehlo.reshape %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
                %7 = "stablehlo.all_gather"(%6) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
                return %7 : tensor<4x16xf32>
              }
            }
        "#]],
    );
}

/// A part may have the size of the complete value. The manual axis still does not divide it.
#[test]
fn manual_computations_on_complete_values() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%part: tensor<4xf32>) {
            %1 = stablehlo.add %part, %part : tensor<4xf32>
            sdy.return %1 : tensor<4xf32>
          } : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{}]
            all_gather 16 bytes, for stablehlo.reshape
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<4xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.add %0, %0 : tensor<4xf32>
                return %1 : tensor<4xf32>
              }
            }
        "#]],
    );
}

/// Sizes, ranks and numbers of values at the borders of computations on parts.
#[test]
fn wrong_borders() {
    let of = |whole: &str, sharding: &str, part: &str| {
        format!(
            r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: {whole}) -> {whole} {{
          %0 = sdy.manual_computation(%a) in_shardings=[{sharding}] out_shardings=[{sharding}] manual_axes={{"x"}} (%part: {part}) {{
            sdy.return %part : {part}
          }} : ({whole}) -> {whole}
          return %0 : {whole}
        }}"#
        )
    };
    for (whole, sharding, part) in [
        ("tensor<5xf32>", "<@mesh, [{\"x\"}]>", "tensor<3xf32>"),
        ("tensor<4xf32>", "<@mesh, [{\"x\"}, {}]>", "tensor<2xf32>"),
        ("tensor<4x4xf32>", "<@mesh, [{\"x\"}]>", "tensor<2x4xf32>"),
        ("tensor<4xf32>", "<@mesh, [{\"y\", \"x\"}]>", "tensor<2xf32>"),
    ] {
        let error = partitioned(&of(whole, sharding, part)).expect_err("the border is wrong");
        assert!(error.contains("[sharding]"), "{error}");
    }
}

/// A call with an effect and a maximal sharding runs on one device.
#[test]
fn effects() {
    check(
        r#"
        module attributes {mhlo.num_partitions = 2 : i32} {
          func.func @main(%a: tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<4xf32> {
            %0 = stablehlo.custom_call @print(%a) {has_side_effect = true, mhlo.sharding = "{maximal device=1}"} : (tensor<4xf32>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
          }
        }"#,
        expect![[r#"
            [{"d0"}] -> [{}]
            all_gather 16 bytes, for stablehlo.custom_call
            collective_broadcast 16 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<4xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<1> : tensor<ui32>
                %2 = stablehlo.compare EQ, %1, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %3 = "stablehlo.if"(%2) ({
                  %5 = stablehlo.custom_call @print(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
                  stablehlo.return %5 : tensor<4xf32>
                }, {
                  %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
                  stablehlo.return %cst : tensor<4xf32>
                }) : (tensor<i1>) -> tensor<4xf32>
                %4 = "stablehlo.collective_broadcast"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
                return %4 : tensor<4xf32>
              }
            }
        "#]],
    );
}

/// Without a reduction, a factor that a result lacks is not divided.
#[test]
fn sharding_rules() {
    let of = |reduction: &str| {
        format!(
            r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{"x"}}]>}}) -> tensor<8xf32> {{
          %0 = stablehlo.custom_call @f(%a) {{sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {{i=8, j=8}}{reduction}>}} : (tensor<8x8xf32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }}"#
        )
    };
    let moved = |program: &str| {
        let found = partitioned(program).expect("the rule is right").expect("the program has shardings");
        found.report.movements.iter().map(|movement| movement.collective).collect::<Vec<_>>()
    };
    assert_eq!(moved(&of("")), ["all_gather"]);
    assert_eq!(moved(&of(" reduction={j}")), ["all_reduce"]);
}

/// Values that a loop carries keep one sharding.
#[test]
fn loops() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8x4xf32>
          cond {
            %n = stablehlo.constant dense<3> : tensor<i32>
            %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %less : tensor<i1>
          } do {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %next = stablehlo.add %i, %one : tensor<i32>
            %rows = stablehlo.iota dim = 0 : tensor<8x4xf32>
            %sum = stablehlo.add %x, %rows : tensor<8x4xf32>
            stablehlo.return %next, %sum : tensor<i32>, tensor<8x4xf32>
          }
          return %0#1 : tensor<8x4xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{"x"}, {}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<4x4xf32>
                cond {
                  %c_1 = stablehlo.constant dense<3> : tensor<i32>
                  %1 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
                  stablehlo.return %1 : tensor<i1>
                } do {
                  %c_1 = stablehlo.constant dense<1> : tensor<i32>
                  %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
                  %2 = stablehlo.iota dim = 0 : tensor<4x4xi64>
                  %3 = stablehlo.partition_id : tensor<ui32>
                  %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
                  %c_2 = stablehlo.constant dense<4> : tensor<i64>
                  %5 = stablehlo.multiply %4, %c_2 : tensor<i64>
                  %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i64>) -> tensor<4x4xi64>
                  %7 = stablehlo.add %2, %6 : tensor<4x4xi64>
                  %8 = stablehlo.convert %7 : (tensor<4x4xi64>) -> tensor<4x4xf32>
                  %9 = stablehlo.add %iterArg_0, %8 : tensor<4x4xf32>
                  stablehlo.return %1, %9 : tensor<i32>, tensor<4x4xf32>
                }
                return %0#1 : tensor<4x4xf32>
              }
            }
        "#]],
    );
}

#[test]
fn programs_without_shardings() {
    check(
        "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }",
        expect![[r#"
        no shardings
    "#]],
    );
}

#[test]
fn wrong_shardings() {
    let of = |mesh: &str, sharding: &str| {
        format!(
            "{mesh}\nfunc.func @main(%a: tensor<8x4xf32> {{{sharding}}}) -> tensor<8x4xf32> {{ return %a : tensor<8x4xf32> }}"
        )
    };
    let mesh = "sdy.mesh @mesh = <[\"x\"=2, \"y\"=3]>";
    for (mesh, sharding, expected) in [
        (
            mesh,
            "sdy.sharding = #sdy.sharding<@mesh, [{\"z\"}, {}]>",
            expect![[r#"
            error: [sharding] parameter 0: <@mesh, [{"z"}, {}]>: the mesh has no axis "z"
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}) -> tensor<8x4xf32> { r
              |           ^^^^^"#]],
        ),
        (
            mesh,
            "sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"x\"}]>",
            expect![[r#"
            error: [sharding] parameter 0: <@mesh, [{"x"}, {"x"}]>: an axis is used twice
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) -> tensor<8x4xf32> 
              |           ^^^^^"#]],
        ),
        (
            mesh,
            "sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>",
            expect![[r#"
            error: [sharding] parameter 0: #sdy.sharding<@mesh, [{"x"}]> has 1 dimensions for a tensor of rank 2
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8x4xf32> { retur
              |           ^^^^^"#]],
        ),
        (
            mesh,
            "sdy.sharding = #sdy.sharding<@other, [{\"x\"}, {}]>",
            expect![[r#"
            error: [sharding] parameter 0: <@other, [{"x"}, {}]>: there is no such mesh
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}, {}]>}) -> tensor<8x4xf32> { 
              |           ^^^^^"#]],
        ),
        (
            mesh,
            "sdy.sharding = #sdy.sharding<mesh<[\"a\"=3, \"b\"=2]>, [{\"a\"}, {}]>",
            expect![[r#"
            error: [sharding] parameter 0: <mesh<["a"=3, "b"=2]>, [{"a"}, {}]>: the mesh <["a"=3, "b"=2]> divides the devices in another way than the first mesh of the program; programs whose meshes cannot be divided into the same axes are not supported
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["a"=3, "b"=2]>, [{"a"}, {}]>}) -> tens
              |           ^^^^^"#]],
        ),
        (
            "",
            "mhlo.sharding = \"{devices=[2,2]<=[2]}\"",
            expect![[r#"
            error: [sharding] parameter 0: the sharding {devices=[2,2]<=[2]}: the tiles [2, 2] of devices [2] in the order [0] are not products of the axes of the program's devices
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2]}"}) -> tensor<8x4xf32> { return %a :
              |           ^^^^^"#]],
        ),
        (
            "",
            "mhlo.sharding = \"{devices=[2,1]<=[2] last_tile_dims={arbitrary}}\"",
            expect![[r#"
            error: [sharding] parameter 0: the sharding {devices=[2,1]<=[2] last_tile_dims={arbitrary}}: the role `arbitrary` of devices is not supported
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2] last_tile_dims={arbitrary}}"}) -> te
              |           ^^^^^"#]],
        ),
        (
            "",
            "mhlo.sharding = \"{devices=[2,1]<=[2]\"",
            expect![[r#"
            error: [sharding] parameter 0: the sharding {devices=[2,1]<=[2]: it does not stand between braces
             --> program:2:11
              |
            2 | func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]"}) -> tensor<8x4xf32> { return %a : 
              |           ^^^^^"#]],
        ),
    ] {
        check(&of(mesh, sharding), expected);
    }
}

/// If an axis does not divide a dimension evenly, parts have padding, which sums must not include.
#[test]
fn padding() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32>, tensor<5x4xf32>) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = stablehlo.exponential %a : tensor<5x4xf32>
          %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
          return %1, %0 : tensor<4xf32>, tensor<5x4xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{}], [{}, {}]
            all_reduce 16 bytes, for stablehlo.reduce
            all_gather 96 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>) {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.exponential %arg0 : tensor<3x4xf32>
                %cst_0 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %1 = stablehlo.iota dim = 0 : tensor<3x4xi64>
                %2 = stablehlo.partition_id : tensor<ui32>
                %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
                %c = stablehlo.constant dense<3> : tensor<i64>
                %4 = stablehlo.multiply %3, %c : tensor<i64>
                %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %6 = stablehlo.add %1, %5 : tensor<3x4xi64>
                %c_1 = stablehlo.constant dense<5> : tensor<i64>
                %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %8 = stablehlo.compare LT, %6, %7 : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
                %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
                %10 = stablehlo.select %8, %0, %9 : tensor<3x4xi1>, tensor<3x4xf32>
                %11 = stablehlo.reduce(%10 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
                %12 = "stablehlo.all_reduce"(%11) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
                  %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
                  stablehlo.return %15 : tensor<f32>
                }) : (tensor<4xf32>) -> tensor<4xf32>
                %13 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<3x4xf32>) -> tensor<6x4xf32>
                %14 = stablehlo.slice %13 [0:5, 0:4] : (tensor<6x4xf32>) -> tensor<5x4xf32>
                return %12, %14 : tensor<4xf32>, tensor<5x4xf32>
              }
            }
        "#]],
    );
}

/// Padding of a contracting dimension is replaced in both operands, and a product is padded before it is
/// scattered.
#[test]
fn padding_of_products() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<3x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                        %b: tensor<5x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
            -> (tensor<3x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xi32>, tensor<5x4xi32>) -> tensor<3x4xi32>
          return %0 : tensor<3x4xi32>
        }"#,
        expect![[r#"
            [{}, {"x"}], [{"x"}, {}] -> [{"x"}, {}]
            reduce_scatter 32 bytes, for stablehlo.dot_general
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<3x3xi32>, %arg1: tensor<3x4xi32>) -> tensor<2x4xi32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0 = stablehlo.iota dim = 1 : tensor<3x3xi64>
                %1 = stablehlo.partition_id : tensor<ui32>
                %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
                %c_0 = stablehlo.constant dense<3> : tensor<i64>
                %3 = stablehlo.multiply %2, %c_0 : tensor<i64>
                %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
                %5 = stablehlo.add %0, %4 : tensor<3x3xi64>
                %c_1 = stablehlo.constant dense<5> : tensor<i64>
                %6 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
                %7 = stablehlo.compare LT, %5, %6 : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
                %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
                %9 = stablehlo.select %7, %arg0, %8 : tensor<3x3xi1>, tensor<3x3xi32>
                %c_2 = stablehlo.constant dense<0> : tensor<i32>
                %10 = stablehlo.iota dim = 0 : tensor<3x4xi64>
                %11 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
                %c_3 = stablehlo.constant dense<3> : tensor<i64>
                %12 = stablehlo.multiply %11, %c_3 : tensor<i64>
                %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %14 = stablehlo.add %10, %13 : tensor<3x4xi64>
                %c_4 = stablehlo.constant dense<5> : tensor<i64>
                %15 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i64>) -> tensor<3x4xi64>
                %16 = stablehlo.compare LT, %14, %15 : (tensor<3x4xi64>, tensor<3x4xi64>) -> tensor<3x4xi1>
                %17 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
                %18 = stablehlo.select %16, %arg1, %17 : tensor<3x4xi1>, tensor<3x4xi32>
                %19 = stablehlo.dot_general %9, %18, contracting_dims = [1] x [0] : (tensor<3x3xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
                %c_5 = stablehlo.constant dense<2147483647> : tensor<i32>
                %20 = stablehlo.pad %19, %c_5, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4x4xi32>
                %21 = "stablehlo.reduce_scatter"(%20) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
                  %22 = stablehlo.add %arg2, %arg3 : tensor<i32>
                  stablehlo.return %22 : tensor<i32>
                }) : (tensor<4x4xi32>) -> tensor<2x4xi32>
                return %21 : tensor<2x4xi32>
              }
            }
        "#]],
    );
}

/// Parts with padding have other borders than the halves of which they are parts, so the complete dimension
/// is gathered. Of 5 elements, 4 devices have 2, and 2 devices have 3.
#[test]
fn padding_and_borders_of_parts() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
            -> (tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
          return %a : tensor<5xi32>
        }"#,
        expect![[r#"
            [{"x", "y"}] -> [{"x"}]
            all_gather 32 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<2xi32>) -> tensor<3xi32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<2xi32>) -> tensor<8xi32>
                %1 = stablehlo.slice %0 [0:5] : (tensor<8xi32>) -> tensor<5xi32>
                %c = stablehlo.constant dense<2147483647> : tensor<i32>
                %2 = stablehlo.pad %1, %c, low = [0], high = [1], interior = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<6xi32>
                %3 = stablehlo.partition_id : tensor<ui32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %4 = stablehlo.divide %3, %c_0 : tensor<ui32>
                %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<i32>
                %c_1 = stablehlo.constant dense<3> : tensor<i32>
                %6 = stablehlo.multiply %5, %c_1 : tensor<i32>
                %7 = stablehlo.dynamic_slice %2, %6, sizes = [3] : (tensor<6xi32>, tensor<i32>) -> tensor<3xi32>
                return %7 : tensor<3xi32>
              }
            }
        "#]],
    );
}

/// Operations that mix elements get complete dimensions, without padding.
#[test]
fn padding_and_mixed_elements() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<5xi32>) -> tensor<5xi32> {
          %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<5xi32>
          %1 = stablehlo.reverse %0, dims = [0] : tensor<5xi32>
          return %1 : tensor<5xi32>
        }"#,
        expect![[r#"
            [{}] -> [{}]
            all_gather 24 bytes, for stablehlo.reverse
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<5xi32>) -> tensor<5xi32> {
                %c = stablehlo.constant dense<2147483647> : tensor<i32>
                %0 = stablehlo.pad %arg0, %c, low = [0], high = [1], interior = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<6xi32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
                %c_0 = stablehlo.constant dense<3> : tensor<i32>
                %3 = stablehlo.multiply %2, %c_0 : tensor<i32>
                %4 = stablehlo.dynamic_slice %0, %3, sizes = [3] : (tensor<6xi32>, tensor<i32>) -> tensor<3xi32>
                %5 = stablehlo.reshape %4 : (tensor<3xi32>) -> tensor<3xi32>
                %6 = "stablehlo.all_gather"(%5) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<3xi32>) -> tensor<6xi32>
                %7 = stablehlo.slice %6 [0:5] : (tensor<6xi32>) -> tensor<5xi32>
                %8 = stablehlo.reverse %7, dims = [0] : tensor<5xi32>
                return %8 : tensor<5xi32>
              }
            }
        "#]],
    );
}

/// The part that a computation on parts sees has no padding. Inside, axes may divide it unevenly.
#[test]
fn padding_in_manual_computations() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<6xi32>) -> tensor<6xi32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<3xi32>) {
            %1 = sdy.sharding_constraint %part <@mesh, [{"y"}]> : tensor<3xi32>
            %2 = stablehlo.add %1, %1 : tensor<3xi32>
            sdy.return %2 : tensor<3xi32>
          } : (tensor<6xi32>) -> tensor<6xi32>
          return %0 : tensor<6xi32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}]
            all_gather 16 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<3xi32>) -> tensor<3xi32> {
                %c = stablehlo.constant dense<2147483647> : tensor<i32>
                %0 = stablehlo.pad %arg0, %c, low = [0], high = [1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %2 = stablehlo.remainder %1, %c_0 : tensor<ui32>
                %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i32>
                %c_1 = stablehlo.constant dense<2> : tensor<i32>
                %4 = stablehlo.multiply %3, %c_1 : tensor<i32>
                %5 = stablehlo.dynamic_slice %0, %4, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
                %6 = stablehlo.reshape %5 : (tensor<2xi32>) -> tensor<2xi32>
                %7 = stablehlo.add %6, %6 : tensor<2xi32>
                %8 = "stablehlo.all_gather"(%7) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2xi32>) -> tensor<4xi32>
                %9 = stablehlo.slice %8 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
                return %9 : tensor<3xi32>
              }
            }
        "#]],
    );
}

/// Only a stated sharding makes a parameter or result uneven. An open dimension keeps what is stated.
#[test]
fn uneven_interfaces() {
    let tilings = |program: &str| {
        let found = partitioned(program).expect("the program is right").expect("it has shardings");
        let show = |tilings: &[farcall_partition::tiling::Tiling]| {
            tilings.iter().map(|tiling| tiling.show(&found.grid)).collect::<Vec<_>>().join(", ")
        };
        format!("{} -> {}", show(&found.inputs), show(&found.outputs))
    };
    let of = |input: &str, constraint: &str, result: &str| {
        let stated = |dim: &str| match dim {
            "" => String::new(),
            dim => format!("{{sdy.sharding = #sdy.sharding<@mesh, [{dim}]>}}"),
        };
        format!(
            r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<6xi32> {}) -> (tensor<6xi32> {}) {{
          %0 = sdy.sharding_constraint %a <@mesh, [{constraint}]> : tensor<6xi32>
          return %0 : tensor<6xi32>
        }}"#,
            stated(input),
            stated(result)
        )
    };
    assert_eq!(tilings(&of("", r#"{"x", "y"}"#, "")), r#"[{"x"}] -> [{"x"}]"#);
    assert_eq!(tilings(&of(r#"{"x", "y"}"#, "{?}", "{}")), r#"[{"x", "y"}] -> [{}]"#);
    assert_eq!(tilings(&of("{}", r#"{"x", "y"}"#, r#"{"x", ?}"#)), r#"[{}] -> [{"x"}]"#);
    assert_eq!(tilings(&of("{}", "{}", r#"{"x", "y", ?}"#)), r#"[{}] -> [{"x", "y"}]"#);
}

/// The types of some operations depend on the values of constants.
#[test]
fn types_that_depend_on_constants() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2xf32>, tensor<4xf32>) {
          %n = stablehlo.constant dense<2> : tensor<i32>
          %0 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
          return %0, %a : tensor<2xf32>, tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{}], [{"x"}]
            all_gather 16 bytes, for stablehlo.set_dimension_size
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
                %c = stablehlo.constant dense<2> : tensor<i32>
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.set_dimension_size %0, %c, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
                return %1, %arg0 : tensor<2xf32>, tensor<2xf32>
              }
            }
        "#]],
    );
}

/// The scales of a tensor that is quantized along a dimension cannot be divided.
#[test]
fn scales_along_a_dimension() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = stablehlo.uniform_quantize %a {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
          %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<2xf32>
          return %1 : tensor<2xf32>
        }"#,
        expect![[r#"
            [{}] -> [{}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
                %0 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
                %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<2xf32>
                return %1 : tensor<2xf32>
              }
            }
        "#]],
    );
}

/// An initial value is added once, to sums that begin with -0.0: 0.0 would change a sum of negative zeros.
#[test]
fn initial_values() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %init: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}], [] -> []
            all_reduce 4 bytes, for stablehlo.reduce
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<f32>) -> tensor<f32> {
                %cst = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
                %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %4 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %4 : tensor<f32>
                }) : (tensor<f32>) -> tensor<f32>
                %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<f32>
                %3 = stablehlo.add %1, %2 : tensor<f32>
                return %3 : tensor<f32>
              }
            }
        "#]],
    );
}

/// Each device computes the complete region of a map, so it has no parts to compute with.
#[test]
fn manual_computations_in_regions_of_elements() {
    let program = r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
          %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
          ^bb0(%x: tensor<i32>):
            %c = stablehlo.constant dense<1> : tensor<2xi32>
            %1 = sdy.manual_computation(%c) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<1xi32>) {
              sdy.return %part : tensor<1xi32>
            } : (tensor<2xi32>) -> tensor<2xi32>
            stablehlo.return %x : tensor<i32>
          }) : (tensor<4xi32>) -> tensor<4xi32>
          return %0 : tensor<4xi32>
        }"#;
    let error = partitioned(program).expect_err("the program has a computation on parts of elements");
    assert!(error.contains("computes the complete region"), "{error}");
}

/// Devices in a row may be divided into 3 times 2.
#[test]
fn factors_in_another_order() {
    let program = r#"
        func.func @main(%a: tensor<6x4xi32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}) -> tensor<6x4xi32> {
          return %a : tensor<6x4xi32>
        }"#;
    let found = partitioned(program).expect("the sharding is right").expect("the program has shardings");
    assert_eq!(found.inputs[0].show(&found.grid), r#"[{"d0"}, {"d1"}]"#);
}

/// An index of a scatter shifts even a complete window. The start of a complete window of a gather is
/// clamped.
#[test]
fn shifted_windows() {
    let moved = |operation: &str| {
        let program = format!(
            r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%a: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}, %i: tensor<i32>,
                        %u: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<4xf32> {{
          {operation}
          return %0 : tensor<4xf32>
        }}"#
        );
        let found = partitioned(&program).expect("the program is right").expect("the program has shardings");
        found.report.movements.iter().map(|movement| movement.collective).collect::<Vec<_>>()
    };
    let scatter = r#"%0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
          ^bb0(%x: tensor<f32>, %y: tensor<f32>):
            stablehlo.return %y : tensor<f32>
          }) : (tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> tensor<4xf32>"#;
    assert_eq!(moved(scatter), ["all_gather", "all_gather"]);
    let gather = r#"%0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 4>}> : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>"#;
    assert_eq!(moved(gather), Vec::<&str>::new());
}

/// A second mesh may name the devices in another order of the same axes.
#[test]
fn meshes_in_another_order() {
    check(
        r#"
        sdy.mesh @mesh = <["a"=2, "b"=2]>
        sdy.mesh @turned = <["b"=2, "a"=2], device_ids=[0, 2, 1, 3]>
        func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>})
            -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@turned, [{"a", "b"}, {}]>}) {
          return %x : tensor<8x4xf32>
        }"#,
        expect![[r#"
            [{"a"}, {"b"}] -> [{"a", "b"}, {}]
            all_to_all 32 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<2x4xf32> {
                %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x2xf32>) -> tensor<2x4xf32>
                return %0 : tensor<2x4xf32>
              }
            }
        "#]],
    );
}

/// A constraint without a mesh leaves dimensions open: propagation divides them as their neighbors.
#[test]
fn constraints_without_a_mesh() {
    check(
        r#"
        sdy.mesh @empty_mesh = <[]>
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x8xf32> {
          %0 = sdy.sharding_constraint %x <@empty_mesh, [{?}, {?}]> : tensor<8x4xf32>
          %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
          return %1 : tensor<4x8xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{}, {"x"}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
                %0 = stablehlo.reshape %arg0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
                %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
                return %1 : tensor<4x4xf32>
              }
            }
        "#]],
    );
}

/// If only summands of a sum are wanted, devices keep the computed summands. The elements of a divided
/// value stand among zeros; of equal values, the first device returns one.
#[test]
fn summands() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                        %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
            -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"x"}>},
                tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>},
                tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>},
                tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"y"}>}) {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
          %1 = sdy.sharding_constraint %0 <@mesh, [], unreduced={"x"}> : tensor<f32>
          return %1, %x, %y, %zero : tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}], [{}] -> [], [{}], [{}], []
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>) {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
                %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<2> : tensor<ui32>
                %2 = stablehlo.divide %1, %c : tensor<ui32>
                %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
                %c_1 = stablehlo.constant dense<4> : tensor<i64>
                %4 = stablehlo.multiply %3, %c_1 : tensor<i64>
                %5 = stablehlo.dynamic_update_slice %cst_0, %arg0, %4 : (tensor<8xf32>, tensor<4xf32>, tensor<i64>) -> tensor<8xf32>
                %c_2 = stablehlo.constant dense<2> : tensor<ui32>
                %6 = stablehlo.remainder %1, %c_2 : tensor<ui32>
                %c_3 = stablehlo.constant dense<0> : tensor<ui32>
                %7 = stablehlo.compare EQ, %6, %c_3 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %8 = stablehlo.select %7, %cst, %cst_4 : tensor<i1>, tensor<f32>
                return %0, %5, %arg1, %8 : tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>
              }
            }
        "#]],
    );
}

/// A partitioner that gives the rows of its operand to the devices, and adds up their sums.
#[derive(Debug)]
struct SumOfRows;

impl Partitioner for SumOfRows {
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String> {
        let [operand] = &call.operands[..] else { return Err("it takes one operand".to_owned()) };
        if call.config == b"fails" {
            return Err("the configuration is \"fails\"".to_owned());
        }
        let program = br#"
            func.func @main(%x: tensor<2x4xf32>) -> tensor<f32> {
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
              %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
              ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                %2 = stablehlo.add %a, %b : tensor<f32>
                stablehlo.return %2 : tensor<f32>
              }) : (tensor<f32>) -> tensor<f32>
              return %1 : tensor<f32>
            }"#;
        let rows = TileAssignment { tiles: vec![2, 1], copies: 1, ..operand.sharding.clone() };
        let result = call.results[0].sharding.clone();
        Ok(DividedCall { program: program.to_vec(), operands: vec![rows], results: vec![result] })
    }
}

/// The host's partitioner divides a call. Its program is inlined, with new channels.
#[test]
fn registered_partitioners() {
    partitioner::register("sum_of_rows", Arc::new(SumOfRows));
    let program = |config: &str| {
        format!(
            r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<4x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}) -> tensor<f32> {{
          %0 = stablehlo.custom_call @sum_of_rows(%x) {{backend_config = "{config}"}} : (tensor<4x4xf32>) -> tensor<f32>
          return %0 : tensor<f32>
        }}"#
        )
    };
    check(
        &program(""),
        expect![[r#"
        [{}, {"x"}] -> []
        all_to_all 32 bytes, for stablehlo.custom_call
        module attributes {mhlo.num_partitions = 2 : i32} {
          func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<f32> {
            %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x2xf32>) -> tensor<2x4xf32>
            %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
            %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
            %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
            ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
              %3 = stablehlo.add %arg1, %arg2 : tensor<f32>
              stablehlo.return %3 : tensor<f32>
            }) : (tensor<f32>) -> tensor<f32>
            return %2 : tensor<f32>
          }
        }
    "#]],
    );
    check(
        &program("fails"),
        expect![[r#"
        error: [sharding] the partitioner of `sum_of_rows`: the configuration is "fails"
         --> program:4:16
          |
        4 |           %0 = stablehlo.custom_call @sum_of_rows(%x) {backend_config = "fails"} : (tensor<4x4xf32>) -> tensor<f32>
          |                ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

/// A partitioner that doubles its operand, keeps the operand's division, and divides only rows as users want.
#[derive(Debug)]
struct Double;

impl Partitioner for Double {
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String> {
        let result = &call.results[0];
        let ty = result.ty.with_sizes(result.sharding.part_sizes());
        let program = format!(
            "func.func @main(%x: {ty}) -> {ty} {{
               %0 = stablehlo.add %x, %x : {ty}
               return %0 : {ty}
             }}"
        );
        let (operands, results) = (vec![result.sharding.clone()], vec![result.sharding.clone()]);
        Ok(DividedCall { program: program.into_bytes(), operands, results })
    }

    fn infer_sharding_from_operands(
        &self,
        call: &ShardedCall,
    ) -> Result<Option<Vec<TileAssignment>>, String> {
        match &call.config[..] {
            b"fails" => Err("nothing follows".to_owned()),
            b"nothing" => Ok(None),
            _ => Ok(Some(vec![call.operands[0].sharding.clone()])),
        }
    }

    fn propagate_user_sharding(&self, call: &ShardedCall) -> Result<Vec<TileAssignment>, String> {
        let wanted = call.results[0].sharding.clone();
        let replicated = TileAssignment::replicated(wanted.sizes.clone(), vec![0, 1]);
        Ok(vec![if wanted.tiles[0] > 1 { wanted } else { replicated }])
    }
}

/// The partitioner of a call without a rule tells how the call's results are divided.
#[test]
fn partitioners_propagate_shardings() {
    partitioner::register("double", Arc::new(Double));
    let program = |config: &str, operand: &str, result: &str, effect: bool| {
        format!(
            r#"
        func.func @main(%x: tensor<4x4xf32> {{mhlo.sharding = "{operand}"}}) -> (tensor<4x4xf32> {{mhlo.sharding = "{result}"}}) {{
          %0 = stablehlo.custom_call @double(%x) {{backend_config = "{config}", has_side_effect = {effect}}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
          %1 = stablehlo.negate %0 : tensor<4x4xf32>
          return %1 : tensor<4x4xf32>
        }}"#
        )
    };
    let (rows, columns, whole) = ("{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}", "{replicated}");
    // From the operand.
    check(
        &program("", columns, columns, false),
        expect![[r#"
        [{}, {"d0"}] -> [{}, {"d0"}]
        module attributes {mhlo.num_partitions = 2 : i32} {
          func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
            %0 = stablehlo.add %arg0, %arg0 : tensor<4x2xf32>
            %1 = stablehlo.negate %0 : tensor<4x2xf32>
            return %1 : tensor<4x2xf32>
          }
        }
    "#]],
    );
    // From the users: rows are accepted, columns are not.
    check(
        &program("nothing", whole, rows, false),
        expect![[r#"
        [{}, {}] -> [{"d0"}, {}]
        module attributes {mhlo.num_partitions = 2 : i32} {
          func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<2x4xf32> {
            %0 = stablehlo.partition_id : tensor<ui32>
            %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
            %c = stablehlo.constant dense<2> : tensor<i32>
            %2 = stablehlo.multiply %1, %c : tensor<i32>
            %c_0 = stablehlo.constant dense<0> : tensor<i32>
            %3 = stablehlo.dynamic_slice %arg0, %2, %c_0, sizes = [2, 4] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
            %4 = stablehlo.add %3, %3 : tensor<2x4xf32>
            %5 = stablehlo.negate %4 : tensor<2x4xf32>
            return %5 : tensor<2x4xf32>
          }
        }
    "#]],
    );
    check(
        &program("nothing", whole, columns, false),
        expect![[r#"
        [{}, {}] -> [{}, {"d0"}]
        module attributes {mhlo.num_partitions = 2 : i32} {
          func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x2xf32> {
            %0 = stablehlo.add %arg0, %arg0 : tensor<4x4xf32>
            %c = stablehlo.constant dense<0> : tensor<i32>
            %1 = stablehlo.partition_id : tensor<ui32>
            %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
            %c_0 = stablehlo.constant dense<2> : tensor<i32>
            %3 = stablehlo.multiply %2, %c_0 : tensor<i32>
            %4 = stablehlo.dynamic_slice %0, %c, %3, sizes = [4, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
            %5 = stablehlo.negate %4 : tensor<4x2xf32>
            return %5 : tensor<4x2xf32>
          }
        }
    "#]],
    );
    check(
        &program("fails", rows, rows, false),
        expect![[r#"
        error: [sharding] the partitioner of `double`: nothing follows
         --> program:3:16
          |
        3 |           %0 = stablehlo.custom_call @double(%x) {backend_config = "fails", has_side_effect = false} : (tensor<4x4x
          |                ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &program("nothing", rows, whole, true),
        expect![[r#"
            error: [sharding] the partitioner of `double`: the call has side effects, and every device would run it. Assign it to one device with a maximal sharding, or register its partitioner with `can_side_effecting_have_replicated_sharding`
             --> program:3:16
              |
            3 |           %0 = stablehlo.custom_call @double(%x) {backend_config = "nothing", has_side_effect = true} : (tensor<4x4
              |                ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

/// A call in a loop: its result shares its sharding with the loop's value, from which it is inferred.
#[test]
fn partitioners_of_calls_in_loops() {
    partitioner::register("double_in_a_loop", Arc::new(Double));
    check(
        r#"
        func.func @main(%x: tensor<4x4xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) -> tensor<4x4xf32> {
          %c = stablehlo.constant dense<0> : tensor<i32>
          %0 = stablehlo.negate %x : tensor<4x4xf32>
          %1:2 = stablehlo.while(%i = %c, %v = %0) : tensor<i32>, tensor<4x4xf32>
          cond {
            %n = stablehlo.constant dense<3> : tensor<i32>
            %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %2 : tensor<i1>
          } do {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %2 = stablehlo.add %i, %one : tensor<i32>
            %3 = stablehlo.custom_call @double_in_a_loop(%v) : (tensor<4x4xf32>) -> tensor<4x4xf32>
            stablehlo.return %2, %3 : tensor<i32>, tensor<4x4xf32>
          }
          return %1#1 : tensor<4x4xf32>
        }"#,
        expect![[r#"
            [{}, {"d0"}] -> [{}, {"d0"}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
                %c = stablehlo.constant dense<0> : tensor<i32>
                %0 = stablehlo.negate %arg0 : tensor<4x2xf32>
                %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %0) : tensor<i32>, tensor<4x2xf32>
                cond {
                  %c_1 = stablehlo.constant dense<3> : tensor<i32>
                  %2 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
                  stablehlo.return %2 : tensor<i1>
                } do {
                  %c_1 = stablehlo.constant dense<1> : tensor<i32>
                  %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
                  %3 = stablehlo.add %iterArg_0, %iterArg_0 : tensor<4x2xf32>
                  stablehlo.return %2, %3 : tensor<i32>, tensor<4x2xf32>
                }
                return %1#1 : tensor<4x2xf32>
              }
            }
        "#]],
    );
}

/// Devices exchange the elements that windows reach beyond their parts.
#[test]
fn windows_over_divided_dimensions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @main(%x: tensor<1x8x6x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %k: tensor<3x2x1x1xf32>)
            -> tensor<1x8x6x1xf32> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
            window = {pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x6x1xf32>, tensor<3x2x1x1xf32>) -> tensor<1x8x6x1xf32>
          return %0 : tensor<1x8x6x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {"y"}, {}], [{}, {}, {}, {}] -> [{}, {"x"}, {"y"}, {}]
            collective_permute 12 bytes, for stablehlo.convolution
            collective_permute 12 bytes, for stablehlo.convolution
            collective_permute 24 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<1x4x3x1xf32>, %arg1: tensor<3x2x1x1xf32>) -> tensor<1x4x3x1xf32> {
                %0 = stablehlo.slice %arg0 [0:1, 3:4, 0:3, 0:1] : (tensor<1x4x3x1xf32>) -> tensor<1x1x3x1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<1x1x3x1xf32>) -> tensor<1x1x3x1xf32>
                %2 = stablehlo.slice %arg0 [0:1, 0:1, 0:3, 0:1] : (tensor<1x4x3x1xf32>) -> tensor<1x1x3x1xf32>
                %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>}> : (tensor<1x1x3x1xf32>) -> tensor<1x1x3x1xf32>
                %4 = stablehlo.concatenate %1, %arg0, %3, dim = 1 : (tensor<1x1x3x1xf32>, tensor<1x4x3x1xf32>, tensor<1x1x3x1xf32>) -> tensor<1x6x3x1xf32>
                %5 = stablehlo.slice %4 [0:1, 0:6, 0:1, 0:1] : (tensor<1x6x3x1xf32>) -> tensor<1x6x1x1xf32>
                %6 = "stablehlo.collective_permute"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>}> : (tensor<1x6x1x1xf32>) -> tensor<1x6x1x1xf32>
                %7 = stablehlo.concatenate %4, %6, dim = 2 : (tensor<1x6x3x1xf32>, tensor<1x6x1x1xf32>) -> tensor<1x6x4x1xf32>
                %8 = stablehlo.convolution(%7, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x4x1xf32>, tensor<3x2x1x1xf32>) -> tensor<1x4x3x1xf32>
                return %8 : tensor<1x4x3x1xf32>
              }
            }
        "#]],
    );
    // The initial value is behind the edges. The windows of `y` reach beyond the neighbor's part.
    check(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
            -> (tensor<8xf32>, tensor<4xf32>) {
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %0 = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %2 = stablehlo.multiply %a, %b : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
          %1 = "stablehlo.reduce_window"(%y, %one) <{window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %2 = stablehlo.multiply %a, %b : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
          return %0, %1 : tensor<8xf32>, tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}], [{"x"}] -> [{"x"}], [{}]
            collective_permute 4 bytes, for stablehlo.reduce_window
            all_gather 8 bytes, for stablehlo.reduce_window
            collective_permute 8 bytes, for stablehlo.reduce_window
            all_gather 16 bytes, for stablehlo.return
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<1xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
                %0 = stablehlo.slice %arg0 [1:2] : (tensor<2xf32>) -> tensor<1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
                %2 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<0> : tensor<ui32>
                %3 = stablehlo.compare EQ, %2, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1xf32>
                %5 = stablehlo.select %3, %4, %1 : tensor<i1>, tensor<1xf32>
                %6 = stablehlo.concatenate %5, %arg0, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
                %7 = "stablehlo.reduce_window"(%6, %cst) <{window_dimensions = array<i64: 2>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %17 = stablehlo.multiply %arg2, %arg3 : tensor<f32>
                  stablehlo.return %17 : tensor<f32>
                }) : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
                %8 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<2xf32>
                %9 = "stablehlo.collective_permute"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
                %c_0 = stablehlo.constant dense<2> : tensor<ui32>
                %10 = stablehlo.divide %2, %c_0 : tensor<ui32>
                %c_1 = stablehlo.constant dense<0> : tensor<ui32>
                %11 = stablehlo.compare EQ, %10, %c_1 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
                %13 = stablehlo.select %11, %12, %9 : tensor<i1>, tensor<2xf32>
                %14 = stablehlo.concatenate %13, %8, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
                %15 = "stablehlo.reduce_window"(%14, %cst) <{window_dimensions = array<i64: 3>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %17 = stablehlo.multiply %arg2, %arg3 : tensor<f32>
                  stablehlo.return %17 : tensor<f32>
                }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
                %16 = "stablehlo.all_gather"(%15) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                return %7, %16 : tensor<2xf32>, tensor<4xf32>
              }
            }
        "#]],
    );
}

/// The gradients of a convolution with strides, of grouped kernels and of a maximum over windows.
#[test]
fn gradients_of_windows() {
    // For the image: zeros lie between the elements of the result's gradient.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%g: tensor<1x4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x1x1xf32>)
            -> tensor<1x8x1xf32> {
          %0 = stablehlo.convolution(%g, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {pad = [[2, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x4x1xf32>, tensor<3x1x1xf32>) -> tensor<1x8x1xf32>
          return %0 : tensor<1x8x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {}, {}] -> [{}, {"x"}, {}]
            collective_permute 4 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x2x1xf32>, %arg1: tensor<3x1x1xf32>) -> tensor<1x4x1xf32> {
                %0 = stablehlo.slice %arg0 [0:1, 1:2, 0:1] : (tensor<1x2x1xf32>) -> tensor<1x1x1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
                %2 = stablehlo.concatenate %1, %arg0, dim = 1 : (tensor<1x1x1xf32>, tensor<1x2x1xf32>) -> tensor<1x3x1xf32>
                %3 = stablehlo.convolution(%2, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<3x1x1xf32>) -> tensor<1x4x1xf32>
                return %3 : tensor<1x4x1xf32>
              }
            }
        "#]],
    );
    // For the kernel: the gradient of the result is the window.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<1x4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
            -> tensor<3x1x1xf32> {
          %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f],
            window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x1xf32>, tensor<1x4x1xf32>) -> tensor<3x1x1xf32>
          return %0 : tensor<3x1x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {"x"}, {}] -> [{}, {}, {}]
            collective_permute 4 bytes, for stablehlo.convolution
            all_reduce 12 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x4x1xf32>, %arg1: tensor<1x2x1xf32>) -> tensor<3x1x1xf32> {
                %0 = stablehlo.slice %arg0 [0:1, 0:1, 0:1] : (tensor<1x4x1xf32>) -> tensor<1x1x1xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
                %2 = stablehlo.concatenate %arg0, %1, dim = 1 : (tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x5x1xf32>
                %3 = stablehlo.convolution(%2, %arg1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x1xf32>, tensor<1x2x1xf32>) -> tensor<3x1x1xf32>
                %4 = "stablehlo.all_reduce"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %5 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %5 : tensor<f32>
                }) : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
                return %4 : tensor<3x1x1xf32>
              }
            }
        "#]],
    );
    // A reversed window meets parts of the image on other devices.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<1x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
            -> tensor<3x1x1xf32> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f],
            window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<3x1x1xf32>
          return %0 : tensor<3x1x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {"x"}, {}] -> [{}, {}, {}]
            all_gather 32 bytes, for stablehlo.convolution
            all_gather 32 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x4x1xf32>, %arg1: tensor<1x4x1xf32>) -> tensor<3x1x1xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<1x4x1xf32>) -> tensor<1x8x1xf32>
                %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<1x4x1xf32>) -> tensor<1x8x1xf32>
                %2 = stablehlo.convolution(%0, %1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<3x1x1xf32>
                return %2 : tensor<3x1x1xf32>
              }
            }
        "#]],
    );
    // The windows of patches are larger than the result, but do not overlap.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x16x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<8x1x1xf32>)
            -> tensor<1x2x1xf32> {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {stride = [8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x16x1xf32>, tensor<8x1x1xf32>) -> tensor<1x2x1xf32>
          return %0 : tensor<1x2x1xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {}, {}] -> [{}, {"x"}, {}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x8x1xf32>, %arg1: tensor<8x1x1xf32>) -> tensor<1x1x1xf32> {
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [8]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<8x1x1xf32>) -> tensor<1x1x1xf32>
                return %0 : tensor<1x1x1xf32>
              }
            }
        "#]],
    );
    // For a slice with strides.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%g: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = stablehlo.pad %g, %zero, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<4xf32> {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.pad %arg0, %cst, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
                return %0 : tensor<4xf32>
              }
            }
        "#]],
    );
    // For a grouped kernel: the batch of the image is summed.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<4x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %g: tensor<4x6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>})
            -> tensor<3x1x2xf32> {
          %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f],
            window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64}
            : (tensor<4x8x2xf32>, tensor<4x6x2xf32>) -> tensor<3x1x2xf32>
          return %0 : tensor<3x1x2xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}, {}], [{"x"}, {}, {}] -> [{}, {}, {}]
            all_reduce 24 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2x8x2xf32>, %arg1: tensor<2x6x2xf32>) -> tensor<3x1x2xf32> {
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x8x2xf32>, tensor<2x6x2xf32>) -> tensor<3x1x2xf32>
                %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %2 : tensor<f32>
                }) : (tensor<3x1x2xf32>) -> tensor<3x1x2xf32>
                return %1 : tensor<3x1x2xf32>
              }
            }
        "#]],
    );
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
            -> tensor<8xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          }, {
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }"#,
        expect![[r#"
            [{"x"}], [{"x"}] -> [{"x"}]
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>) -> tensor<4xf32> {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %cst) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %1 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                  stablehlo.return %1 : tensor<i1>
                }, {
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %1 : tensor<f32>
                }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
                return %0 : tensor<4xf32>
              }
            }
        "#]],
    );
}

/// Two slices that are joined in the other order are a rotation: devices permute what crosses the borders of
/// their parts, and no device computes the slices. The second rotation is as long as two parts.
#[test]
fn rotations_of_divided_dimensions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%x: tensor<12x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x2xf32>, tensor<12x2xf32>) {
          %0 = stablehlo.slice %x [11:12, 0:2] : (tensor<12x2xf32>) -> tensor<1x2xf32>
          %1 = stablehlo.slice %x [0:11, 0:2] : (tensor<12x2xf32>) -> tensor<11x2xf32>
          %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x2xf32>, tensor<11x2xf32>) -> tensor<12x2xf32>
          %3 = stablehlo.slice %2 [6:12, 0:2] : (tensor<12x2xf32>) -> tensor<6x2xf32>
          %4 = stablehlo.slice %2 [0:6, 0:2] : (tensor<12x2xf32>) -> tensor<6x2xf32>
          %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<12x2xf32>
          return %2, %5 : tensor<12x2xf32>, tensor<12x2xf32>
        }"#,
        expect![[r#"
            [{"x"}, {}] -> [{"x"}, {}], [{"x"}, {}]
            collective_permute 8 bytes, for stablehlo.concatenate
            collective_permute 24 bytes, for stablehlo.concatenate
            module attributes {mhlo.num_partitions = 4 : i32} {
              func.func public @main(%arg0: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
                %0 = stablehlo.slice %arg0 [2:3, 0:2] : (tensor<3x2xf32>) -> tensor<1x2xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[3, 0], [0, 1], [1, 2], [2, 3]]> : tensor<4x2xi64>}> : (tensor<1x2xf32>) -> tensor<1x2xf32>
                %2 = stablehlo.slice %arg0 [0:2, 0:2] : (tensor<3x2xf32>) -> tensor<2x2xf32>
                %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
                %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1], [0, 2], [1, 3]]> : tensor<4x2xi64>}> : (tensor<3x2xf32>) -> tensor<3x2xf32>
                return %3, %4 : tensor<3x2xf32>, tensor<3x2xf32>
              }
            }
        "#]],
    );
}

/// Windows that leave out the last element: its part's window does not exist in the program.
#[test]
fn pooling_that_leaves_elements_out() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<3xf32>) -> tensor<7xf32> {
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0 = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          }, {
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
          return %0 : tensor<7xf32>
        }"#,
        expect![[r#"
            [{"x"}], [{}] -> [{}]
            all_gather 32 bytes, for stablehlo.select_and_scatter
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<3xf32>) -> tensor<7xf32> {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
                %1 = stablehlo.slice %0 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
                %2 = "stablehlo.select_and_scatter"(%1, %arg1, %cst) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %3 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                  stablehlo.return %3 : tensor<i1>
                }, {
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %3 : tensor<f32>
                }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
                return %2 : tensor<7xf32>
              }
            }
        "#]],
    );
}

/// Tokens have no shardings in the middle form. The program states shardings for them, too, and counts them
/// among parameters and results.
#[test]
fn tokens() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        sdy.mesh @first = <[], device_ids=[0]>
        func.func @main(%t: !stablehlo.token, %x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
            -> (!stablehlo.token, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
          %0:2 = stablehlo.custom_call @log(%t, %x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@first, []>, <@first, []>]>}
            : (!stablehlo.token, tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>)
          return %0#0, %0#1 : !stablehlo.token, tensor<4xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}]
            all_gather 16 bytes, for stablehlo.custom_call
            collective_broadcast 16 bytes, for stablehlo.custom_call
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
                %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
                %1 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<0> : tensor<ui32>
                %2 = stablehlo.compare EQ, %1, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %3 = "stablehlo.if"(%2) ({
                  %9 = stablehlo.custom_call @log(%0) {farcall.types = (!stablehlo.token, tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>), has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
                  stablehlo.return %9 : tensor<4xf32>
                }, {
                  %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
                  stablehlo.return %cst : tensor<4xf32>
                }) : (tensor<i1>) -> tensor<4xf32>
                %4 = "stablehlo.collective_broadcast"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
                %5 = stablehlo.partition_id : tensor<ui32>
                %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i32>
                %c_0 = stablehlo.constant dense<2> : tensor<i32>
                %7 = stablehlo.multiply %6, %c_0 : tensor<i32>
                %8 = stablehlo.dynamic_slice %4, %7, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
                return %8 : tensor<2xf32>
              }
            }
        "#]],
    );
}

/// Shifts, strides and reversed dimensions: devices exchange borders or whole parts, and gather nothing.
#[test]
fn shifts_of_divided_dimensions() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) {
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %0 = stablehlo.pad %x, %one, low = [3], high = [-3], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
          %1 = stablehlo.slice %x [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
          %2 = stablehlo.reverse %x, dims = [0] : tensor<8xf32>
          return %0, %1, %2 : tensor<8xf32>, tensor<4xf32>, tensor<8xf32>
        }"#,
        expect![[r#"
            [{"x"}] -> [{"x"}], [{"x"}], [{"x"}]
            collective_permute 12 bytes, for stablehlo.pad
            collective_permute 16 bytes, for stablehlo.reverse
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
                %0 = stablehlo.slice %arg0 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
                %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3xf32>) -> tensor<3xf32>
                %2 = stablehlo.partition_id : tensor<ui32>
                %c = stablehlo.constant dense<0> : tensor<ui32>
                %3 = stablehlo.compare EQ, %2, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
                %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32>
                %5 = stablehlo.select %3, %4, %1 : tensor<i1>, tensor<3xf32>
                %6 = stablehlo.slice %arg0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
                %7 = stablehlo.concatenate %5, %6, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
                %8 = stablehlo.pad %7, %cst, low = [0], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
                %9 = stablehlo.slice %arg0 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
                %10 = stablehlo.slice %9 [0:3:2] : (tensor<3xf32>) -> tensor<2xf32>
                %11 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
                %12 = stablehlo.reverse %11, dims = [0] : tensor<4xf32>
                return %8, %10, %12 : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
              }
            }
        "#]],
    );
    // The differences have 7 elements, of which the second device computes 3.
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
          %zero = stablehlo.constant dense<-0.0> : tensor<f32>
          %0 = stablehlo.slice %x [0:7] : (tensor<8xf32>) -> tensor<7xf32>
          %1 = stablehlo.slice %x [1:8] : (tensor<8xf32>) -> tensor<7xf32>
          %2 = stablehlo.subtract %1, %0 : tensor<7xf32>
          %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
          return %3 : tensor<f32>
        }"#,
        expect![[r#"
            [{"x"}] -> []
            collective_permute 4 bytes, for stablehlo.slice
            all_reduce 4 bytes, for stablehlo.reduce
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<4xf32>) -> tensor<f32> {
                %cst = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %0 = stablehlo.slice %arg0 [0:4] : (tensor<4xf32>) -> tensor<4xf32>
                %1 = stablehlo.slice %arg0 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
                %2 = stablehlo.slice %arg0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
                %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
                %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
                %5 = stablehlo.slice %4 [0:4] : (tensor<4xf32>) -> tensor<4xf32>
                %6 = stablehlo.subtract %5, %0 : tensor<4xf32>
                %cst_0 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
                %7 = stablehlo.iota dim = 0 : tensor<4xi64>
                %8 = stablehlo.partition_id : tensor<ui32>
                %9 = stablehlo.convert %8 : (tensor<ui32>) -> tensor<i64>
                %c = stablehlo.constant dense<4> : tensor<i64>
                %10 = stablehlo.multiply %9, %c : tensor<i64>
                %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i64>) -> tensor<4xi64>
                %12 = stablehlo.add %7, %11 : tensor<4xi64>
                %c_1 = stablehlo.constant dense<7> : tensor<i64>
                %13 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<4xi64>
                %14 = stablehlo.compare LT, %12, %13 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
                %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4xf32>
                %16 = stablehlo.select %14, %6, %15 : tensor<4xi1>, tensor<4xf32>
                %17 = stablehlo.reduce(%16 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
                %18 = "stablehlo.all_reduce"(%17) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
                ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
                  %19 = stablehlo.add %arg1, %arg2 : tensor<f32>
                  stablehlo.return %19 : tensor<f32>
                }) : (tensor<f32>) -> tensor<f32>
                return %18 : tensor<f32>
              }
            }
        "#]],
    );
}

/// Patches of an image: the windows are as far apart as they are large, so nothing is exchanged.
#[test]
fn windows_with_strides() {
    check(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main(%x: tensor<1x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<2x3x5xf32>, %l: tensor<4x3x5xf32>)
            -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>) {
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x3xf32>, tensor<2x3x5xf32>) -> tensor<1x4x5xf32>
          %1 = stablehlo.convolution(%x, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<1x8x3xf32>, tensor<4x3x5xf32>) -> tensor<1x4x5xf32>
          return %0, %1 : tensor<1x4x5xf32>, tensor<1x4x5xf32>
        }"#,
        expect![[r#"
            [{}, {"x"}, {}], [{}, {}, {}], [{}, {}, {}] -> [{}, {"x"}, {}], [{}, {"x"}, {}]
            collective_permute 12 bytes, for stablehlo.convolution
            collective_permute 12 bytes, for stablehlo.convolution
            module attributes {mhlo.num_partitions = 2 : i32} {
              func.func public @main(%arg0: tensor<1x4x3xf32>, %arg1: tensor<2x3x5xf32>, %arg2: tensor<4x3x5xf32>) -> (tensor<1x2x5xf32>, tensor<1x2x5xf32>) {
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x3xf32>, tensor<2x3x5xf32>) -> tensor<1x2x5xf32>
                %1 = stablehlo.slice %arg0 [0:1, 3:4, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x1x3xf32>
                %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
                %3 = stablehlo.slice %arg0 [0:1, 0:1, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x1x3xf32>
                %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
                %5 = stablehlo.concatenate %2, %arg0, %4, dim = 1 : (tensor<1x1x3xf32>, tensor<1x4x3xf32>, tensor<1x1x3xf32>) -> tensor<1x6x3xf32>
                %6 = stablehlo.convolution(%5, %arg2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x3xf32>, tensor<4x3x5xf32>) -> tensor<1x2x5xf32>
                return %0, %6 : tensor<1x2x5xf32>, tensor<1x2x5xf32>
              }
            }
        "#]],
    );
}
