//! Calls that a rule or a registered partitioner divides.

use std::sync::Arc;

use expect_test::expect;
use farcall_ir::sharding::TileAssignment;
use farcall_partition::partitioner::{self, DividedCall, Partitioner, ShardedCall};

use super::{check, partitioned};

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
