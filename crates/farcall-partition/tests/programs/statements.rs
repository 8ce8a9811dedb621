//! Shardings as programs state them.

use expect_test::expect;

use super::{check, partitioned};

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
