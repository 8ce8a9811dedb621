//! HLO text: reading, writing, and diagnostics.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use farcall_ir::eval::{Denormals, EvalValue, NoHost, eval};
use farcall_ir::{Literal, Module, Source, hlo, text, verify};

fn read(program: &str) -> Module {
    let module = hlo::parse(&Source::new("test.hlo", program)).unwrap_or_else(|e| panic!("{e}\n{program}"));
    verify::verify(&module).unwrap_or_else(|e| panic!("{e}\n{}", text::print(&module)));
    module
}

fn forms() -> impl Iterator<Item = &'static str> {
    include_str!("../hlo/forms.hlo").split("\n// -----\n")
}

/// Hand-written programs can be read, and their printed forms are read as the same modules.
#[test]
fn forms_stay_the_same() {
    for program in forms() {
        let module = read(program);
        let printed = hlo::print(&module).unwrap_or_else(|e| panic!("{e}"));
        let again = read(&printed);
        assert_eq!(text::print(&again), text::print(&module), "{printed}");
        let stablehlo = text::parse(&Source::new("printed", text::print(&module))).unwrap();
        assert_eq!(stablehlo, module);
        let generic = text::parse(&Source::new("printed", text::print_generic(&module)));
        assert_eq!(generic.unwrap_or_else(|e| panic!("{e}\n{}", text::print_generic(&module))), module);
    }
}

fn check(program: &str, stablehlo: Expect, written: Expect) {
    let module = read(program);
    stablehlo.assert_eq(&text::print(&module));
    written.assert_eq(&hlo::print(&module).unwrap_or_else(|e| panic!("{e}")));
}

#[test]
fn a_loop_carries_values_instead_of_a_tuple() {
    let program = forms().nth(2).unwrap();
    check(
        program,
        expect![[r#"
        module @loop attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
          func.func public @main(%arg0: tensor<i32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {jax.buffer_donor = true, mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<i32> {mhlo.sharding = "{replicated}"}, tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) {
            %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<4xf32> attributes {mhlo.sharding = "{{replicated}, {devices=[2]<=[2]}}"}
            cond {
              %c = stablehlo.constant dense<10> : tensor<i32>
              %1 = stablehlo.compare LT, %iterArg, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %1 : tensor<i1>
            } do {
              %c = stablehlo.constant dense<1> : tensor<i32>
              %1 = stablehlo.add %iterArg, %c : tensor<i32>
              stablehlo.return %1, %iterArg_0 : tensor<i32>, tensor<4xf32>
            }
            return %0#0, %0#1 : tensor<i32>, tensor<4xf32>
          }
        }
    "#]],
        expect![[r#"
            HloModule loop, replica_count=1, num_partitions=1, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, entry_computation_layout={(s32[], f32[4]{0})->(s32[], f32[4]{0})}

            %region {
              %arg_tuple.3 = (s32[], f32[4]{0}) parameter(0)
              %get-tuple-element.4 = s32[] get-tuple-element(%arg_tuple.3), index=0
              %get-tuple-element.5 = f32[4]{0} get-tuple-element(%arg_tuple.3), index=1
              %constant.6 = s32[] constant(10)
              ROOT %compare.7 = pred[] compare(%get-tuple-element.4, %constant.6), direction=LT
            }

            %region.8 {
              %arg_tuple.9 = (s32[], f32[4]{0}) parameter(0)
              %get-tuple-element.10 = s32[] get-tuple-element(%arg_tuple.9), index=0
              %get-tuple-element.11 = f32[4]{0} get-tuple-element(%arg_tuple.9), index=1
              %constant.12 = s32[] constant(1)
              %add.13 = s32[] add(%get-tuple-element.10, %constant.12)
              ROOT %tuple.14 = (s32[], f32[4]{0}) tuple(%add.13, %get-tuple-element.11)
            }

            ENTRY %main {
              %Arg.1 = s32[] parameter(0)
              %Arg.2 = f32[4]{0} parameter(1), sharding={devices=[2]<=[2]}
              %tuple.15 = (s32[], f32[4]{0}) tuple(%Arg.1, %Arg.2)
              %while.16 = (s32[], f32[4]{0}) while(%tuple.15), condition=%region, body=%region.8, sharding={{replicated}, {devices=[2]<=[2]}}
              %get-tuple-element.17 = s32[] get-tuple-element(%while.16), index=0
              %get-tuple-element.18 = f32[4]{0} get-tuple-element(%while.16), index=1
              ROOT %tuple.19 = (s32[], f32[4]{0}) tuple(%get-tuple-element.17, %get-tuple-element.18), sharding={{replicated}, {devices=[2]<=[2]}}
            }

        "#]],
    );
}

#[test]
fn branches_use_what_they_were_given() {
    check(
        forms().nth(3).unwrap(),
        expect![[r#"
        module @branches {
          func.func public @main(%arg0: tensor<i1>, %arg1: tensor<f32>) -> tensor<f32> {
            %0 = "stablehlo.if"(%arg0) ({
              %3 = stablehlo.subtract %arg1, %arg1 : tensor<f32>
              stablehlo.return %3 : tensor<f32>
            }, {
              stablehlo.return %arg1 : tensor<f32>
            }) : (tensor<i1>) -> tensor<f32>
            %1 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
            %2 = "stablehlo.case"(%1) ({
              %3 = stablehlo.subtract %arg1, %arg1 : tensor<f32>
              stablehlo.return %3 : tensor<f32>
            }, {
              stablehlo.return %0 : tensor<f32>
            }) : (tensor<i32>) -> tensor<f32>
            return %2 : tensor<f32>
          }
        }
    "#]],
        expect![[r#"
            HloModule branches, entry_computation_layout={(pred[], f32[])->f32[]}

            %region {
              %arg_tuple.3 = (f32[]) parameter(0)
              %get-tuple-element.4 = f32[] get-tuple-element(%arg_tuple.3), index=0
              ROOT %subtract.5 = f32[] subtract(%get-tuple-element.4, %get-tuple-element.4)
            }

            %region.7 {
              %arg_tuple.8 = (f32[]) parameter(0)
              ROOT %get-tuple-element.9 = f32[] get-tuple-element(%arg_tuple.8), index=0
            }

            %region.13 {
              %arg_tuple.14 = (f32[]) parameter(0)
              %get-tuple-element.15 = f32[] get-tuple-element(%arg_tuple.14), index=0
              ROOT %subtract.16 = f32[] subtract(%get-tuple-element.15, %get-tuple-element.15)
            }

            %region.18 {
              %arg_tuple.19 = (f32[]) parameter(0)
              ROOT %get-tuple-element.20 = f32[] get-tuple-element(%arg_tuple.19), index=0
            }

            ENTRY %main {
              %Arg.1 = pred[] parameter(0)
              %Arg.2 = f32[] parameter(1)
              %tuple.6 = (f32[]) tuple(%Arg.2)
              %tuple.10 = (f32[]) tuple(%Arg.2)
              %conditional.11 = f32[] conditional(%Arg.1, %tuple.6, %tuple.10), true_computation=%region, false_computation=%region.7
              %convert.12 = s32[] convert(%Arg.1)
              %tuple.17 = (f32[]) tuple(%Arg.2)
              %tuple.21 = (f32[]) tuple(%conditional.11)
              ROOT %conditional.22 = f32[] conditional(%convert.12, %tuple.17, %tuple.21), branch_computations={%region.13,%region.18}
            }

        "#]],
    );
}

#[test]
fn calls_keep_everything_that_they_say() {
    check(
        forms().nth(5).unwrap(),
        expect![[r#"
        module @calls {
          func.func public @main(%arg0: tensor<2x2xf64>) -> tensor<f64> {
            %0 = call @double(%arg0) : (tensor<2x2xf64>) -> tensor<2x2xf64>
            %1 = stablehlo.negate %0 : tensor<2x2xf64>
            %2 = stablehlo.multiply %1, %0 : tensor<2x2xf64>
            %3 = stablehlo.add %2, %2 : tensor<2x2xf64>
            %4:2 = stablehlo.custom_call @f(%3) {api_version = 4 : i32, backend_config = {a = [1 : i64, 2 : i64], n = 5 : i32, s = "\22x\22"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>)
            %5 = stablehlo.tuple %4#0, %4#0 : tuple<tensor<2x2xf64>, tensor<2x2xf64>>
            %6 = stablehlo.custom_call @g(%5) {backend_config = "text\0A", called_computations = [@double], has_side_effect = true, mhlo.frontend_attributes = {k = "v"}, sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tuple<tensor<2x2xf64>, tensor<2x2xf64>>) -> tensor<f64>
            %7 = chlo.digamma %6 : tensor<f64> -> tensor<f64>
            return %7 : tensor<f64>
          }
          func.func private @double(%arg0: tensor<2x2xf64>) -> tensor<2x2xf64> {
            %0 = stablehlo.add %arg0, %arg0 : tensor<2x2xf64>
            return %0 : tensor<2x2xf64>
          }
        }
    "#]],
        expect![[r##"
            HloModule calls, entry_computation_layout={(f64[2,2]{1,0})->f64[]}

            %double {
              %Arg.1 = f64[2,2]{1,0} parameter(0)
              ROOT %add.2 = f64[2,2]{1,0} add(%Arg.1, %Arg.1)
            }

            ENTRY %main {
              %Arg.3 = f64[2,2]{1,0} parameter(0)
              %call.4 = f64[2,2]{1,0} call(%Arg.3), to_apply=%double
              %negate.5 = f64[2,2]{1,0} negate(%call.4)
              %multiply.6 = f64[2,2]{1,0} multiply(%negate.5, %call.4)
              %add.7 = f64[2,2]{1,0} add(%multiply.6, %multiply.6)
              %custom-call.8 = (f64[2,2]{0,1}, s32[]) custom-call(%add.7), custom_call_target="f", operand_layout_constraints={f64[2,2]{0,1}}, output_to_operand_aliasing={{0}: (0, {})}, api_version=API_VERSION_TYPED_FFI, backend_config={a = [1 : i64, 2 : i64], n = 5 : i32, s = "\22x\22"}
              %get-tuple-element.9 = f64[2,2]{0,1} get-tuple-element(%custom-call.8), index=0
              %get-tuple-element.10 = s32[] get-tuple-element(%custom-call.8), index=1
              %tuple.11 = (f64[2,2]{1,0}, f64[2,2]{1,0}) tuple(%get-tuple-element.9, %get-tuple-element.9)
              %custom-call.12 = f64[] custom-call(%tuple.11), custom_call_target="g", custom_call_has_side_effect=true, called_computations={%double}, backend_config="text\n", frontend_attributes={k="v",xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, []>]>"}
              ROOT %custom-call.13 = f64[] custom-call(%custom-call.12), custom_call_target="chlo.digamma"
            }

        "##]],
    );
}

#[test]
fn shardings_and_groups() {
    check(
        forms().nth(6).unwrap(),
        expect![[r#"
        module @devices attributes {mhlo.num_partitions = 8 : i32} {
          sdy.mesh @mesh = <["x"=2, "y"=4]>
          func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<ui32>) {
            %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
            ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
              %7 = stablehlo.add %arg1, %arg2 : tensor<f32>
              stablehlo.return %7 : tensor<f32>
            }) : (tensor<8xf32>) -> tensor<8xf32>
            %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
            %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
            ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
              %7 = stablehlo.add %arg1, %arg2 : tensor<f32>
              stablehlo.return %7 : tensor<f32>
            }) : (tensor<8xf32>) -> tensor<8xf32>
            %3 = "stablehlo.all_to_all"(%2) <{concat_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
            %4 = "stablehlo.collective_permute"(%3) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
            %5 = stablehlo.partition_id : tensor<ui32>
            %6:2 = stablehlo.optimization_barrier %4, %5 : tensor<8xf32>, tensor<ui32>
            return %6#0, %6#1 : tensor<8xf32>, tensor<ui32>
          }
        }
    "#]],
        expect![[r##"
            HloModule devices, num_partitions=8, entry_computation_layout={(f32[8]{0})->(f32[8]{0}, u32[])}, frontend_attributes={xla.sdy.meshes="{mesh = #sdy.mesh<[\"x\"=2, \"y\"=4]>}"}

            %region {
              %Arg.2 = f32[] parameter(0)
              %Arg.3 = f32[] parameter(1)
              ROOT %add.4 = f32[] add(%Arg.2, %Arg.3)
            }

            %region.7 {
              %Arg.8 = f32[] parameter(0)
              %Arg.9 = f32[] parameter(1)
              ROOT %add.10 = f32[] add(%Arg.8, %Arg.9)
            }

            ENTRY %main {
              %Arg.1 = f32[8]{0} parameter(0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"x\"}]>"}
              %all-reduce.5 = f32[8]{0} all-reduce(%Arg.1), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true, to_apply=%region
              %all-gather.6 = f32[8]{0} all-gather(%all-reduce.5), replica_groups={{0},{1}}, dimensions={0}
              %all-reduce.11 = f32[8]{0} all-reduce(%all-gather.6), channel_id=2, replica_groups={{0,4},{1,5},{2,6},{3,7}}, to_apply=%region.7
              %all-to-all.12 = f32[8]{0} all-to-all(%all-reduce.11), replica_groups={{0}}, dimensions={0}
              %collective-permute.13 = f32[8]{0} collective-permute(%all-to-all.12), source_target_pairs={{0,0}}
              %partition-id.14 = u32[] partition-id()
              %tuple.15 = (f32[8]{0}, u32[]) tuple(%collective-permute.13, %partition-id.14)
              %opt-barrier.16 = (f32[8]{0}, u32[]) opt-barrier(%tuple.15)
              %get-tuple-element.17 = f32[8]{0} get-tuple-element(%opt-barrier.16), index=0
              %get-tuple-element.18 = u32[] get-tuple-element(%opt-barrier.16), index=1
              ROOT %tuple.19 = (f32[8]{0}, u32[]) tuple(%get-tuple-element.17, %get-tuple-element.18)
            }

        "##]],
    );
}

/// The layouts of operand and result determine the effect of a bitcast. If the operand is a copy, the layout
/// of the copy must therefore be kept, even if the copy changes nothing else.
#[test]
fn layouts_say_what_a_bitcast_is() {
    check(
        forms().find(|program| program.contains("HloModule optimized")).unwrap(),
        expect![[r#"
            module @optimized {
              func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x3xi32>, tensor<3x1xf32>) {
                %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
                %1 = stablehlo.bitcast_convert %0 : (tensor<3x2xf32>) -> tensor<3x2xi32>
                %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>
                %3:2 = chlo.top_k(%0, k = 1) : tensor<3x2xf32> -> (tensor<3x1xf32>, tensor<3x1xi32>)
                return %0, %2, %3#0 : tensor<3x2xf32>, tensor<2x3xi32>, tensor<3x1xf32>
              }
            }
        "#]],
        expect![[r#"
            HloModule optimized, entry_computation_layout={(f32[2,3]{1,0})->(f32[3,2]{1,0}, s32[2,3]{1,0}, f32[3,1]{1,0})}

            ENTRY %main {
              %Arg.1 = f32[2,3]{1,0} parameter(0)
              %transpose.2 = f32[3,2]{1,0} transpose(%Arg.1), dimensions={1,0}
              %bitcast-convert.3 = s32[3,2]{1,0} bitcast-convert(%transpose.2)
              %transpose.4 = s32[2,3]{1,0} transpose(%bitcast-convert.3), dimensions={1,0}
              %topk.5 = (f32[3,1]{1,0}, s32[3,1]{1,0}) topk(%transpose.2), k=1, largest=true
              %get-tuple-element.6 = f32[3,1]{1,0} get-tuple-element(%topk.5), index=0
              %get-tuple-element.7 = s32[3,1]{1,0} get-tuple-element(%topk.5), index=1
              ROOT %tuple.8 = (f32[3,2]{1,0}, s32[2,3]{1,0}, f32[3,1]{1,0}) tuple(%transpose.2, %transpose.4, %get-tuple-element.6)
            }

        "#]],
    );
}

/// A bitcast may split each element into several elements, or join several elements into one.
#[test]
fn a_bitcast_may_change_the_size_of_elements() {
    check(
        "HloModule sizes
         ENTRY e {
           x = f32[2,3]{0,1} parameter(0)
           a = u8[24]{0} bitcast(x)
           b = f64[3]{0} bitcast(a)
           c = u16[2,6]{1,0} bitcast(x)
           ROOT t = (u8[24]{0}, f64[3]{0}, u16[2,6]{1,0}) tuple(a, b, c)
         }",
        expect![[r#"
            module @sizes {
              func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<24xui8>, tensor<3xf64>, tensor<2x6xui16>) {
                %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
                %1 = stablehlo.bitcast_convert %0 : (tensor<3x2xf32>) -> tensor<3x2x4xui8>
                %2 = stablehlo.reshape %1 : (tensor<3x2x4xui8>) -> tensor<24xui8>
                %3 = stablehlo.reshape %2 : (tensor<24xui8>) -> tensor<3x8xui8>
                %4 = stablehlo.bitcast_convert %3 : (tensor<3x8xui8>) -> tensor<3xf64>
                %5 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
                %6 = stablehlo.bitcast_convert %5 : (tensor<3x2xf32>) -> tensor<3x2x2xui16>
                %7 = stablehlo.reshape %6 : (tensor<3x2x2xui16>) -> tensor<2x6xui16>
                return %2, %4, %7 : tensor<24xui8>, tensor<3xf64>, tensor<2x6xui16>
              }
            }
        "#]],
        expect![[r#"
            HloModule sizes, entry_computation_layout={(f32[2,3]{1,0})->(u8[24]{0}, f64[3]{0}, u16[2,6]{1,0})}

            ENTRY %main {
              %Arg.1 = f32[2,3]{1,0} parameter(0)
              %transpose.2 = f32[3,2]{1,0} transpose(%Arg.1), dimensions={1,0}
              %bitcast-convert.3 = u8[3,2,4]{2,1,0} bitcast-convert(%transpose.2)
              %reshape.4 = u8[24]{0} reshape(%bitcast-convert.3)
              %reshape.5 = u8[3,8]{1,0} reshape(%reshape.4)
              %bitcast-convert.6 = f64[3]{0} bitcast-convert(%reshape.5)
              %transpose.7 = f32[3,2]{1,0} transpose(%Arg.1), dimensions={1,0}
              %bitcast-convert.8 = u16[3,2,2]{2,1,0} bitcast-convert(%transpose.7)
              %reshape.9 = u16[2,6]{1,0} reshape(%bitcast-convert.8)
              ROOT %tuple.10 = (u8[24]{0}, f64[3]{0}, u16[2,6]{1,0}) tuple(%reshape.4, %bitcast-convert.6, %reshape.9)
            }

        "#]],
    );
}

/// An exchange without groups is between all replicas, or between all partitions if it has a channel.
#[test]
fn everyone_takes_part_in_an_exchange_without_groups() {
    check(
        "HloModule all, replica_count=4, num_partitions=2
         ENTRY e {
           x = f32[8]{0} parameter(0)
           a = f32[8]{0} all-to-all(x), replica_groups={}, dimensions={0}
           ROOT b = f32[8]{0} all-to-all(a), channel_id=1, replica_groups={}, dimensions={0}
         }",
        expect![[r#"
            module @all attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32} {
              func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
                %0 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
                %1 = "stablehlo.all_to_all"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
                return %1 : tensor<8xf32>
              }
            }
        "#]],
        expect![[r#"
            HloModule all, replica_count=4, num_partitions=2, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

            ENTRY %main {
              %Arg.1 = f32[8]{0} parameter(0)
              %all-to-all.2 = f32[8]{0} all-to-all(%Arg.1), replica_groups={}, dimensions={0}
              ROOT %all-to-all.3 = f32[8]{0} all-to-all(%all-to-all.2), channel_id=1, replica_groups={}, dimensions={0}
            }

        "#]],
    );
}

/// Infeeds, outfeeds and sends keep their configurations, shardings and frontend attributes.
#[test]
fn transfers_keep_what_they_say_besides() {
    check(
        r#"HloModule transfers
         ENTRY e {
           t = token[] after-all()
           i = ((f32[4]{0}, s32[]), token[]) infeed(t), infeed_config="c", sharding={{maximal device=0}, {maximal device=0}, {maximal device=0}}
           d = (f32[4]{0}, s32[]) get-tuple-element(i), index=0
           x = f32[4]{0} get-tuple-element(d), index=0
           u = token[] get-tuple-element(i), index=1
           s = (f32[4]{0}, u32[], token[]) send(x, u), channel_id=3, is_host_transfer=true, frontend_attributes={_xla_host_transfer_rendezvous="r"}
           v = token[] send-done(s), channel_id=3, is_host_transfer=true, frontend_attributes={_xla_host_transfer_rendezvous="r"}
           ROOT o = token[] outfeed(x, v), outfeed_shape=f32[4]{0}, outfeed_config="o", sharding={maximal device=0}
         }"#,
        expect![[r#"
            module @transfers {
              func.func public @main() -> !stablehlo.token {
                %0 = stablehlo.after_all  : !stablehlo.token
                %1:3 = "stablehlo.infeed"(%0) <{infeed_config = "c"}> {mhlo.sharding = "{{maximal device=0}, {maximal device=0}, {maximal device=0}}"} : (!stablehlo.token) -> (tensor<4xf32>, tensor<i32>, !stablehlo.token)
                %2 = "stablehlo.send"(%1#0, %1#2) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>, is_host_transfer = true}> {mhlo.frontend_attributes = {_xla_host_transfer_rendezvous = "r"}} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
                %3 = "stablehlo.outfeed"(%1#0, %2) <{outfeed_config = "o"}> {mhlo.sharding = "{maximal device=0}"} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
                return %3 : !stablehlo.token
              }
            }
        "#]],
        expect![[r#"
            HloModule transfers, entry_computation_layout={()->token[]}

            ENTRY %main {
              %after-all.1 = token[] after-all()
              %infeed.2 = ((f32[4]{0}, s32[]), token[]) infeed(%after-all.1), infeed_config="c", sharding={{maximal device=0}, {maximal device=0}, {maximal device=0}}
              %get-tuple-element.3 = (f32[4]{0}, s32[]) get-tuple-element(%infeed.2), index=0
              %get-tuple-element.4 = f32[4]{0} get-tuple-element(%get-tuple-element.3), index=0
              %get-tuple-element.5 = s32[] get-tuple-element(%get-tuple-element.3), index=1
              %get-tuple-element.6 = token[] get-tuple-element(%infeed.2), index=1
              %send.7 = (f32[4]{0}, u32[], token[]) send(%get-tuple-element.4, %get-tuple-element.6), channel_id=3, is_host_transfer=true, frontend_attributes={_xla_host_transfer_rendezvous="r"}
              %send-done.8 = token[] send-done(%send.7), channel_id=3, is_host_transfer=true, frontend_attributes={_xla_host_transfer_rendezvous="r"}
              ROOT %outfeed.9 = token[] outfeed(%get-tuple-element.4, %send-done.8), outfeed_config="o", sharding={maximal device=0}, outfeed_shape=f32[4]{0}
            }

        "#]],
    );
}

/// Prints StableHLO operations that HLO writes differently, and regions that use values from outside.
#[test]
fn stablehlo_becomes_hlo() {
    let program = "
func.func @main(%p: tensor<i1>, %x: tensor<2x1xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.select %p, %0, %y : tensor<i1>, tensor<2x3xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %2:2 = stablehlo.while(%a = %i, %b = %1) : tensor<i32>, tensor<2x3xf32>
   cond {
    %c = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.add %a, %a : tensor<i32>
    %e = chlo.square %y : tensor<2x3xf32> -> tensor<2x3xf32>
    stablehlo.return %d, %e : tensor<i32>, tensor<2x3xf32>
  }
  %3 = chlo.erfc %2#1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %z) across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %c = stablehlo.add %a, %z : tensor<f32>
    %d = stablehlo.add %c, %b : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }
  %5 = chlo.broadcast_add %3, %4 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}";
    let module = text::parse(&Source::new("test.mlir", program)).unwrap_or_else(|e| panic!("{e}"));
    verify::verify(&module).unwrap_or_else(|e| panic!("{e}"));
    let written = hlo::print(&module).unwrap_or_else(|e| panic!("{e}"));
    expect![[r#"
        HloModule main, entry_computation_layout={(pred[], f32[2,1]{1,0}, f32[2,3]{1,0})->f32[2,3]{1,0}}

        %region {
          %arg_tuple.10 = (s32[], f32[2,3]{1,0}, s32[], f32[2,3]{1,0}) parameter(0)
          %get-tuple-element.11 = s32[] get-tuple-element(%arg_tuple.10), index=0
          %get-tuple-element.12 = f32[2,3]{1,0} get-tuple-element(%arg_tuple.10), index=1
          %get-tuple-element.13 = s32[] get-tuple-element(%arg_tuple.10), index=2
          %get-tuple-element.14 = f32[2,3]{1,0} get-tuple-element(%arg_tuple.10), index=3
          ROOT %compare.15 = pred[] compare(%get-tuple-element.11, %get-tuple-element.13), direction=LT
        }

        %region.16 {
          %arg_tuple.17 = (s32[], f32[2,3]{1,0}, s32[], f32[2,3]{1,0}) parameter(0)
          %get-tuple-element.18 = s32[] get-tuple-element(%arg_tuple.17), index=0
          %get-tuple-element.19 = f32[2,3]{1,0} get-tuple-element(%arg_tuple.17), index=1
          %get-tuple-element.20 = s32[] get-tuple-element(%arg_tuple.17), index=2
          %get-tuple-element.21 = f32[2,3]{1,0} get-tuple-element(%arg_tuple.17), index=3
          %add.22 = s32[] add(%get-tuple-element.18, %get-tuple-element.18)
          %multiply.23 = f32[2,3]{1,0} multiply(%get-tuple-element.21, %get-tuple-element.21)
          ROOT %tuple.24 = (s32[], f32[2,3]{1,0}, s32[], f32[2,3]{1,0}) tuple(%add.22, %multiply.23, %get-tuple-element.20, %get-tuple-element.21)
        }

        %region.31 {
          %Arg.32 = f32[] parameter(0)
          %Arg.33 = f32[] parameter(1)
          %constant.34 = f32[] constant(0.0)
          %add.35 = f32[] add(%Arg.32, %constant.34)
          ROOT %add.36 = f32[] add(%add.35, %Arg.33)
        }

        ENTRY %main {
          %Arg.1 = pred[] parameter(0)
          %Arg.2 = f32[2,1]{1,0} parameter(1)
          %Arg.3 = f32[2,3]{1,0} parameter(2)
          %reshape.4 = f32[2]{0} reshape(%Arg.2)
          %broadcast.5 = f32[2,3]{1,0} broadcast(%reshape.4), dimensions={0}
          %broadcast.6 = pred[2,3]{1,0} broadcast(%Arg.1), dimensions={}
          %select.7 = f32[2,3]{1,0} select(%broadcast.6, %broadcast.5, %Arg.3)
          %constant.8 = s32[] constant(0)
          %constant.9 = s32[] constant(3)
          %tuple.25 = (s32[], f32[2,3]{1,0}, s32[], f32[2,3]{1,0}) tuple(%constant.8, %select.7, %constant.9, %Arg.3)
          %while.26 = (s32[], f32[2,3]{1,0}, s32[], f32[2,3]{1,0}) while(%tuple.25), condition=%region, body=%region.16
          %get-tuple-element.27 = s32[] get-tuple-element(%while.26), index=0
          %get-tuple-element.28 = f32[2,3]{1,0} get-tuple-element(%while.26), index=1
          %custom-call.29 = f32[2,3]{1,0} custom-call(%get-tuple-element.28), custom_call_target="chlo.erfc"
          %constant.30 = f32[] constant(0.0)
          %reduce.37 = f32[] reduce(%custom-call.29, %constant.30), dimensions={0,1}, to_apply=%region.31
          %broadcast.38 = f32[2,3]{1,0} broadcast(%reduce.37), dimensions={}
          ROOT %add.39 = f32[2,3]{1,0} add(%custom-call.29, %broadcast.38)
        }

    "#]].assert_eq(&written);
    read(&written);
}

#[test]
fn what_hlo_lacks_is_named() {
    let program = "
func.func @main(%x: tensor<?xf32>, %d: tensor<1xi32>) -> tensor<?xf32> {
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %d, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}";
    let module = text::parse(&Source::new("test.mlir", program)).unwrap();
    expect![[r#"
        error: [no-hlo] stablehlo.dynamic_broadcast_in_dim has no equivalent in HLO
         --> test.mlir:3:8
          |
        3 |   %0 = stablehlo.dynamic_broadcast_in_dim %x, %d, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf
          |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]].assert_eq(&hlo::print(&module).unwrap_err().to_string());
}

/// Evaluates a program without inputs; returns its results as text.
fn values(program: &str) -> Vec<String> {
    let module = verify::verify_owned(read(program)).unwrap();
    let results = eval(&module, module.entry().unwrap(), &[], &NoHost, Denormals::Ieee);
    let text = |value: &EvalValue| match value {
        EvalValue::Tensor(v) => v.iter().map(|v| v.as_f64().to_string()).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    };
    let results = results.unwrap_or_else(|e| panic!("{e}"));
    results.iter().map(text).collect()
}

/// The expected values come from jaxlib, or follow from the definitions in XLA's passes.
#[test]
fn values_of_forms_that_stablehlo_lacks() {
    // In an array constant, a number without braces is the first element; the other elements are 0.
    let found = values("HloModule m\nENTRY e { ROOT c = s32[2,3] constant(7) }");
    assert_eq!(found, ["7 0 0 0 0 0"]);
    let found = values("HloModule m\nENTRY e { ROOT c = (s32[2], (), s64[]) constant(({1, 2}, (), 7)) }");
    assert_eq!(found, ["1 2", "7"]);
    let program = "HloModule m\nENTRY e { x = s32[4] constant({1, 2, 3, 4}) i = s32[1] constant({2})
        s = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
        u = s32[4] dynamic-update-slice(x, s, s32[1] constant({0}))
        ROOT t = tuple(s, u) }";
    assert_eq!(values(program), ["3 4", "3 4 3 4"]);
    let program = "HloModule m
        f { x = s32[] parameter(0) c = s32[] parameter(1) s = add(x, c) ROOT t = tuple(s, s) }
        ENTRY e { x = s32[3] constant({1, 2, 3}) z = s32[] constant(10)
        ROOT s = scan(x, z), dimensions={0}, num_carries=1, is_reverse=true, to_apply=f }";
    assert_eq!(values(program), ["16 15 13", "16"]);
    // The random number 32768 stands for one half: fractions of 0.25 are rounded toward zero, fractions of
    // 0.75 away from zero.
    let program = "HloModule m\nENTRY e { x = f32[6] constant({1.25, 1.75, -1.75, -1.25, 300, -300})
        r = u16[6] constant({32768, 32768, 32768, 32768, 0, 0}) ROOT c = s8[6] stochastic-convert(x, r) }";
    assert_eq!(values(program), ["1 2 -2 -1 127 -128"]);
    let program = "HloModule m\nENTRY e { a = f8e4m3fn[1,4] constant({{1, 2, 3, 4}})
        b = f8e4m3fn[4,1] constant({{1}, {1}, {1}, {1}})
        s = f8e8m0fnu[1,2] constant({{1, 4}}) t = f8e8m0fnu[2,1] constant({{2}, {1}})
        ROOT d = f32[1,1] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    assert_eq!(values(program), ["34"]);
    // One participant exchanges values with itself.
    let program = "HloModule m\nENTRY e { x = s32[2] constant({1, 2})
        a = (s32[2]) all-to-all(x), replica_groups={{0}}
        y = s32[4] constant({0, 0, 0, 0}) n = s64[1] constant({1}) m = s64[1] constant({2})
        z = s64[1] constant({0})
        r = s32[4] ragged-all-to-all(x, y, z, m, n, m), replica_groups={{0}}
        ROOT t = tuple(a#0, r) }";
    assert_eq!(values(program), ["1 2", "0 1 2 0"]);
    // The program runs on one device, whichever devices its groups name.
    let program =
        "HloModule m\nadd { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
        ENTRY e { x = f32[2] constant({1, 2}) a = f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add
        p = f32[2] collective-permute(x), source_target_pairs={{0,1},{1,2}}
        c = call(a), to_apply={ p = f32[2] parameter(0) ROOT q = negate(p) } ROOT t = tuple(c, p) }";
    assert_eq!(values(program), ["-1 -2", "0 0"]);
    let program =
        "HloModule m\nENTRY e { x = bf16[1,3,1] constant({{{1}, {2}, {3}}}) k = s8[1,1,1] constant({{{2}}})
        ROOT c = f32[1,3,1] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f }";
    assert_eq!(values(program), ["2 4 6"]);
}

/// XLA's binary form is equivalent to the text: `module.pb` is the `HloModuleProto` that jaxlib creates from
/// `module.hlo`.
#[test]
fn a_proto_is_read_as_its_text() {
    let (program, bytes) = (include_str!("../hlo/module.hlo"), include_bytes!("../hlo/module.pb"));
    let proto = |bytes: &[u8]| farcall_ir::read::module(bytes, "module.pb").unwrap_or_else(|e| panic!("{e}"));
    let expected = text::print(&read(program));
    assert_eq!(text::print(&proto(bytes)), expected);
    verify::verify(&proto(bytes)).unwrap_or_else(|e| panic!("{e}"));
    // An `HloProto` has the module as its first field.
    let length = bytes.len();
    let mut wrapped = vec![0x0a, (length & 0x7f | 0x80) as u8, (length >> 7) as u8];
    wrapped.extend_from_slice(bytes);
    assert_eq!(text::print(&proto(&wrapped)), expected);
    assert!(!hlo::proto::is_module(program.as_bytes()) && !hlo::proto::is_module(b"\nHloModule m"));
    let cut = farcall_ir::read::module(&bytes[..length / 2], "module.pb").unwrap_err().to_string();
    assert!(cut.contains("truncated"), "{cut}");
    for end in (0..length).step_by(7) {
        drop(farcall_ir::read::module(&bytes[..end], "cut"));
        let mut changed = bytes.to_vec();
        changed[end] ^= 0x55;
        drop(farcall_ir::read::module(&changed, "changed"));
    }
}

/// The smallest elements are found as the largest elements in the inverse order.
#[test]
fn the_smallest_elements() {
    for (ty, elements, found) in [("f32", "{3, -1, 2, nan}", "[-1, 2]"), ("u8", "{3, 0, 255, 1}", "[0, 1]")] {
        let program = format!(
            "HloModule k\nENTRY main {{\n  c = {ty}[4] constant({elements})\n  t = ({ty}[2], s32[2]) topk(c), k=2, largest=false\n  ROOT v = {ty}[2] get-tuple-element(t), index=0\n}}"
        );
        let module = verify::verify_owned(read(&program)).unwrap();
        let results = eval(&module, module.entry().unwrap(), &[], &NoHost, Denormals::Ieee).unwrap();
        let EvalValue::Tensor(values) = &results[0] else { panic!("the result is not a tensor") };
        let values: Vec<f64> = Literal::iter(values).map(|s| s.as_f64()).collect();
        assert_eq!(format!("{values:?}").replace(".0", ""), found);
    }
}

fn error(program: &str) -> String {
    let error = hlo::parse(&Source::new("test.hlo", program)).map(|m| text::print(&m)).unwrap_err();
    error.to_string()
}

#[test]
fn errors_are_all_reported_with_their_places() {
    let program = "HloModule wrong
ENTRY main {
  x = f32[2,2]{1,0} parameter(0)
  a = f32[2,2]{1,0} ad(x, x)
  b = f32[2,2]{1,0} add(x, y)
  c = f32[2,2]{1,0} transpose(x), dimension={1,0}
  d = f23[2] add(x, x)
  e = f32[2,2]{1,0} constant({ {1, x}, {3, 4} })
  f = f32[3] constant({1, 2})
  g = pred[] compare(x, x), direction=LS
  h = f32[2,2]{1,0} broadcast(x), dimensions={-1,0}
  i = f32[2]{0} reduce(x, x), dimensions={0}, to_apply=su
  j = f32[] get-tuple-element(x), index=0
  k = f32[2,2]{1,0} custom-call(x), custom_call_target=\"f\", api_version=API_VERSION_TYPED, backend_config={a = }
  l = f32[2,2]{1,0} stochastic-convert(x, x)
  ROOT m = f32[2,2]{1,0} add(x, x
}";
    expect![[r#"
        error: [unknown-op] unknown opcode ad
         --> test.hlo:4:21
          |
        4 |   a = f32[2,2]{1,0} ad(x, x)
          |                     ^^
          |
          = note: did you mean add or and or pad?

        error: [undefined-value] y is not defined before this
         --> test.hlo:5:28
          |
        5 |   b = f32[2,2]{1,0} add(x, y)
          |                            ^
          |
          = note: did you mean a or x?

        error: [attribute] transpose: attribute `dimensions` is missing
         --> test.hlo:6:21
          |
        6 |   c = f32[2,2]{1,0} transpose(x), dimension={1,0}
          |                     ^^^^^^^^^
          |
          = note: transpose has no attribute `dimension`

        error: [parse] there is no element type `f23`; did you mean f32?
         --> test.hlo:7:7
          |
        7 |   d = f23[2] add(x, x)
          |       ^^^

        error: [attribute] expected a number that f32 holds, found `x`
         --> test.hlo:8:36
          |
        8 |   e = f32[2,2]{1,0} constant({ {1, x}, {3, 4} })
          |                                    ^

        error: [attribute] dimension 0 has size 3, but this list has 2 items
         --> test.hlo:9:28
          |
        9 |   f = f32[3] constant({1, 2})
          |                            ^

        error: [attribute] compare: attribute `direction` must be one of EQ, NE, GE, GT, LE, LT, not "LS"
          --> test.hlo:10:14
           |
        10 |   g = pred[] compare(x, x), direction=LS
           |              ^^^^^^^

        error: [attribute] -1 is negative
          --> test.hlo:11:47
           |
        11 |   h = f32[2,2]{1,0} broadcast(x), dimensions={-1,0}
           |                                               ^^

        error: [unknown-function] there is no computation su
          --> test.hlo:12:56
           |
        12 |   i = f32[2]{0} reduce(x, x), dimensions={0}, to_apply=su
           |                                                        ^^

        error: [type-mismatch] only a tuple has elements, but this is f32[2,2]{1,0}
          --> test.hlo:13:41
           |
        13 |   j = f32[] get-tuple-element(x), index=0
           |                                         ^

        error: [attribute] there is no API version API_VERSION_TYPED; did you mean API_VERSION_TYPED_FFI?
          --> test.hlo:14:73
           |
        14 |   k = f32[2,2]{1,0} custom-call(x), custom_call_target="f", api_version=API_VERSION_TYPED, backend_config={a = }
           |                                                                         ^^^^^^^^^^^^^^^^^

        error: [unsupported] stochastic-convert must convert floats to signed integers, with unsigned integers as random numbers
          --> test.hlo:15:21
           |
        15 |   l = f32[2,2]{1,0} stochastic-convert(x, x)
           |                     ^^^^^^^^^^^^^^^^^^

        error: [parse] this `(` is not closed before `}`
          --> test.hlo:16:29
           |
        16 |   ROOT m = f32[2,2]{1,0} add(x, x
           |                             ^"#]]
    .assert_eq(&error(program));
}

#[test]
fn other_errors() {
    let one = |body: &str| {
        error(&format!("HloModule m\nENTRY e {{\n{body}\n}}")).lines().next().unwrap().to_owned()
    };
    let found = [
        error("HloModul m"),
        error("HloModule m"),
        error("HloModule m\nENTRY e { }"),
        error("HloModule m\nENTRY e {"),
        error("HloModule m\na { ROOT x = s32[] parameter(0) }\na { ROOT x = s32[] parameter(0) }"),
        one("x = f32[] parameter(1)"),
        one("x = f32[] parameter(0)\nx = f32[] parameter(1)"),
        one("x = f32[] parameter(0)\ny = s32[] copy(x)"),
        one("x = f32[] parameter(0)\ny = f32[] while(x), condition=e, body=e"),
        one("x = (f32[], f32[]) parameter(0)\ny = f32[] get-tuple-element(x), index=2"),
        one("x = f32[4] parameter(0)\ny = f32[4] all-reduce(x), replica_groups=[2,4]<=[9], to_apply=e"),
        one("x = f32[4] parameter(0)\nROOT y = f32[4] negate(x)\nROOT z = f32[4] negate(x)"),
        one("x = f32[4] parameter(0)\ny = f32[4] fusion(x), kind=kLoop, calls=e"),
        one(
            "x = f32[4] parameter(0)\ny = f32[4] all-reduce(x), replica_groups=[9223372036854775807,0]<=[0], to_apply=e",
        ),
        one(
            "x = f32[4] parameter(0)\ny = f32[4] all-reduce(x), replica_groups=[0,1]<=[0,4294967296,4294967296], to_apply=e",
        ),
        one("ROOT x = f64[] constant(0x1p-2147483648)"),
        one("t = token[] after-all()\nROOT b = f32[2]{0} bitcast(t)"),
        one("x = f32[4] parameter(0)\nROOT b = s32[2]{0} bitcast(x)"),
        one("ROOT x = f32[] constant(1e40)"),
        one("ROOT x = f8e4m3fn[] constant(500)"),
        one("ROOT x = c64[] constant((1, -1e300))"),
        one("x = f32[4] parameter(0)\nROOT y = f32[4] broadcast(x), dimensions={0}, dimensions={0}"),
        one("x = f32[4] parameter(0)\nROOT d = token[] send-done(x)"),
        one("x = f32[4] parameter(0)\nROOT d = iota(), iota_dimension=0"),
        one("x = f32[4] parameter(0)\nROOT d = reshape(x)"),
        one("x = f32[4] parameter(0)\nROOT d = add(x, dot(x, x)#0)"),
        one("x = f32[4] parameter(0)\ny = f32[2] parameter(1)\nROOT d = add(x, y)"),
        one("x = parameter(0)\nROOT d = negate(x)"),
        one("x = f32[4] parameter(0)\nROOT d = add(x#1, x)"),
        one("x = f32[4] parameter(0)\nROOT d = f32[4] ad-start(x)"),
        one(
            "x = f32[4] parameter(0)\nROOT d = call(x), to_apply=f\n}\nf {\na = f32[4] parameter(0)\nROOT b = negate(a)",
        ),
        one(&format!("x = f32[4] parameter(0)\nROOT d = {}x{}", "negate(".repeat(1000), ")".repeat(1000))),
    ];
    let found: Vec<&str> = found.iter().map(|e| e.lines().next().unwrap()).collect();
    expect![[r#"
        error: [parse] expected `HloModule`, found `HloModul`
        error: [empty] the program has no computations
        error: [parse] computation e has no instructions
        error: [parse] computation e is never closed by `}`
        error: [redefinition] computation a is already defined
        error: [parameter] the number of parameter 1 is too large: it must be less than the number of instructions, 1
        error: [redefinition] x is already defined
        error: [type-mismatch] the shape is s32[], but the value is f32[]
        error: [recursion] computation e applies itself
        error: [index] the tuple has 2 elements, none of index 2
        error: [attribute] the groups must contain each device exactly once
        error: [parse] the computation has a second ROOT
        error: [recursion] computation e applies itself
        error: [attribute] the groups must contain each device exactly once
        error: [attribute] the groups must contain each device exactly once
        error: [attribute] expected a number that f64 holds, found `0x1p-2147483648`
        error: [operands] bitcast must have one operand, a tensor
        error: [type-mismatch] bitcast must keep the size in bytes, but f32[4]{0} and s32[2]{0} differ in size
        error: [attribute] expected a number that f32 holds, found `1e40`
        error: [attribute] expected a number that f8e4m3fn holds, found `500`
        error: [attribute] expected a number that f32 holds, found `-1e300`
        error: [parse] attribute `dimensions` is given twice
        error: [operands] send-done must have one operand, a tuple of three
        error: [attribute] iota needs the type of its result before it, as in `f32[2] iota(…)`
        error: [attribute] reshape needs the type of its result before it, as in `f32[2] reshape(…)`
        error: [parse] expected `,`, found `#`
        error: [add_c1] operands must have the same type, found tensor<4xf32> and tensor<2xf32>
        error: [attribute] parameter needs the type of its result before it, as in `f32[2] parameter(…)`
        error: [type-mismatch] only a tuple has elements, but this is f32[4]{0}
        error: [unknown-op] unknown opcode ad-start
        error: [type-mismatch] the result of f has no type in the text: define that computation before this one
        error: [parse] operands nest at most 256 deep"#]]
    .assert_eq(&found.join("\n"));
}

/// Reads rare forms that XLA's parser accepts.
#[test]
fn rare_forms_are_read() {
    check(
        "HloModule m, replica_count=4
gt {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=GT
}
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[1,2,2,1] parameter(0)
  k = f32[1,1,1,1] parameter(1)
  zero = f32[] constant(0)
  conv = f32[1,2,2,1] convolution(x, k), window={size=1x1 rhs_reversal=1}, dim_labels=b01f_01io->b01f, sparsity_config={rhs={sparsity=3x4 dimension=0 stride=1}}
  sums = f32[1,2,2,1] reduce-window(conv, zero), window={size=1x1x1x1 rhs_reversal=0x1x0x0}, to_apply=add
  all = f32[1,2,2,1] all-reduce(sums), replica_groups=mesh['x'=2,'y'=2] {'x'}, to_apply=add
  two = f32[1,2,2,1] add(f32[1,2,2,1] all, f32[], x)
  line = f32[4] reshape(two)
  best = (f32[2], s32[2]) custom-call(line), custom_call_target=\"TopK\", called_computations={gt}, backend_config={is_stable = true}
  small = s4[16]{0:E(4)} constant({0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1})
  bytes = s8[8]{0} bitcast(small)
  values = f32[2] get-tuple-element(best), index=0
  places = s32[2] get-tuple-element(best), index=1
  ROOT r = (f32[2], s32[2], s8[8]) tuple(values, places, bytes)
}
",
        expect![[r#"
            module @m attributes {mhlo.num_replicas = 4 : i32} {
              func.func public @main(%arg0: tensor<1x2x2x1xf32>, %arg1: tensor<1x1x1x1xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<8xi8>) {
                %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
                %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x2x1xf32>
                %1 = "stablehlo.reduce_window"(%0, %cst) <{window_dimensions = array<i64: 1, 1, 1, 1>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %8 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %8 : tensor<f32>
                }) : (tensor<1x2x2x1xf32>, tensor<f32>) -> tensor<1x2x2x1xf32>
                %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
                ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                  %8 = stablehlo.add %arg2, %arg3 : tensor<f32>
                  stablehlo.return %8 : tensor<f32>
                }) : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
                %3 = stablehlo.add %2, %arg0 : tensor<1x2x2x1xf32>
                %4 = stablehlo.reshape %3 : (tensor<1x2x2x1xf32>) -> tensor<4xf32>
                %5:2 = stablehlo.custom_call @TopK(%4) {backend_config = "{is_stable = true}", called_computations = [@gt]} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
                %c = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]> : tensor<16xi4>
                %6 = stablehlo.reshape %c : (tensor<16xi4>) -> tensor<8x2xi4>
                %7 = stablehlo.bitcast_convert %6 : (tensor<8x2xi4>) -> tensor<8xi8>
                return %5#0, %5#1, %7 : tensor<2xf32>, tensor<2xi32>, tensor<8xi8>
              }
              func.func private @gt(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i1> {
                %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                return %0 : tensor<i1>
              }
            }
        "#]],
        expect![[r#"
            HloModule m, replica_count=4, entry_computation_layout={(f32[1,2,2,1]{3,2,1,0}, f32[1,1,1,1]{3,2,1,0})->(f32[2]{0}, s32[2]{0}, s8[8]{0})}

            %gt {
              %Arg.1 = f32[] parameter(0)
              %Arg.2 = f32[] parameter(1)
              %Arg.3 = s32[] parameter(2)
              %Arg.4 = s32[] parameter(3)
              ROOT %compare.5 = pred[] compare(%Arg.1, %Arg.2), direction=GT
            }

            %region {
              %Arg.10 = f32[] parameter(0)
              %Arg.11 = f32[] parameter(1)
              ROOT %add.12 = f32[] add(%Arg.10, %Arg.11)
            }

            %region.14 {
              %Arg.15 = f32[] parameter(0)
              %Arg.16 = f32[] parameter(1)
              ROOT %add.17 = f32[] add(%Arg.15, %Arg.16)
            }

            %region.22 {
              %Arg.23 = f32[] parameter(0)
              %Arg.24 = f32[] parameter(1)
              %Arg.25 = s32[] parameter(2)
              %Arg.26 = s32[] parameter(3)
              ROOT %call.27 = pred[] call(%Arg.23, %Arg.24, %Arg.25, %Arg.26), to_apply=%gt
            }

            ENTRY %main {
              %Arg.6 = f32[1,2,2,1]{3,2,1,0} parameter(0)
              %Arg.7 = f32[1,1,1,1]{3,2,1,0} parameter(1)
              %constant.8 = f32[] constant(0.0)
              %convolution.9 = f32[1,2,2,1]{3,2,1,0} convolution(%Arg.6, %Arg.7), window={size=1x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f
              %reduce-window.13 = f32[1,2,2,1]{3,2,1,0} reduce-window(%convolution.9, %constant.8), window={size=1x1x1x1}, to_apply=%region
              %all-reduce.18 = f32[1,2,2,1]{3,2,1,0} all-reduce(%reduce-window.13), replica_groups={{0,2},{1,3}}, to_apply=%region.14
              %add.19 = f32[1,2,2,1]{3,2,1,0} add(%all-reduce.18, %Arg.6)
              %reshape.20 = f32[4]{0} reshape(%add.19)
              %iota.21 = s32[4]{0} iota(), iota_dimension=0
              %sort.28 = (f32[4]{0}, s32[4]{0}) sort(%reshape.20, %iota.21), dimensions={0}, is_stable=true, to_apply=%region.22
              %get-tuple-element.29 = f32[4]{0} get-tuple-element(%sort.28), index=0
              %get-tuple-element.30 = s32[4]{0} get-tuple-element(%sort.28), index=1
              %slice.31 = f32[2]{0} slice(%get-tuple-element.29), slice={[0:2]}
              %slice.32 = s32[2]{0} slice(%get-tuple-element.30), slice={[0:2]}
              %constant.33 = s4[16]{0} constant({0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1})
              %reshape.34 = s4[8,2]{1,0} reshape(%constant.33)
              %bitcast-convert.35 = s8[8]{0} bitcast-convert(%reshape.34)
              ROOT %tuple.36 = (f32[2]{0}, s32[2]{0}, s8[8]{0}) tuple(%slice.31, %slice.32, %bitcast-convert.35)
            }

        "#]],
    );
}

/// Texts that request a disproportionate amount of work must be read or rejected within a minute in total.
#[test]
fn hostile_texts_are_answered_soon() {
    let started = std::time::Instant::now();
    let many = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    // Nested regions, each of which is applied twice.
    let twice = |i: usize| {
        format!(
            "c{i} {{ p = f32[4] parameter(0) a = f32[4] fusion(p), calls=c{0} ROOT b = f32[4] fusion(a), calls=c{0} }}\n",
            i.wrapping_sub(1)
        )
    };
    let doubling =
        format!("HloModule m\nc0 {{ ROOT p = f32[4] parameter(0) }}\n{}", many(200, &|i| twice(i + 1)));
    drop(hlo::parse(&Source::new("doubling", doubling)));
    // A tuple that is an operand many times.
    let parts = vec!["f32[]"; 10_000].join(",");
    let lines = many(20_000, &|i| format!("  a{i} = token[] after-all(t, t, t, t, t, t, t, t, t, t)\n"));
    let tuples = format!("HloModule m\nENTRY e {{\n  t = ({parts}) parameter(0)\n{lines}}}");
    assert!(error(&tuples).contains("too many parts"));
    // Large groups requested by a few characters.
    let lines = many(1000, &|i| {
        format!("  a{i} = f32[] all-gather(x), replica_groups=[1000,1000]<=[1000000], dimensions={{0}}\n")
    });
    assert!(
        error(&format!("HloModule m\nENTRY e {{\n  x = f32[] parameter(0)\n{lines}}}"))
            .contains("too many members")
    );
    // Brackets that are never closed.
    let open = many(100_000, &|i| format!("  a{i} = f32[2] add(x, {{\n"));
    assert!(error(&format!("HloModule m\nENTRY e {{\n{open}")).contains("never closed"));
    let open = many(100_000, &|i| format!("  a{i} = f32[2] constant(\"x, y)\n"));
    drop(error(&format!("HloModule m\nENTRY e {{\n{open}")));
    drop(error(&format!("HloModule m\nENTRY e {{ x = {}", "(".repeat(1_000_000))));
    // A literal whose type has more elements than the text lists.
    assert!(
        error("HloModule m\nENTRY e { ROOT x = f32[1000000000000] constant({1}) }")
            .contains("list has 1 items")
    );
    drop(error("HloModule m\nENTRY e { ROOT x = f32[1000000000000,0] constant({1}) }"));
    // A chain of nested calls.
    let deep = many(10_000, &|i| {
        format!("c{} {{ p = f32[] parameter(0) ROOT q = f32[] fusion(p), calls=c{i} }}\n", i + 1)
    });
    assert!(
        error(&format!("HloModule m\nc0 {{ ROOT p = f32[] parameter(0) }}\n{deep}")).contains("nest at most")
    );
    assert!(started.elapsed().as_secs() < 60, "reading took {:?}", started.elapsed());
}

/// The programs of the corpus are printed as HLO and read back. A second round trip changes nothing.
#[test]
fn programs_of_the_corpus_become_hlo() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().map(|a| a.join("shared/corpus/cases")).find(|p| p.is_dir());
    let Some(folder) = folder else {
        eprintln!("not run: there is no shared/corpus above {}", here.display());
        return;
    };
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    programs.retain(|p| p.join("program.mlir").is_file());
    assert!(!programs.is_empty());
    for program in programs {
        let source = std::fs::read_to_string(program.join("program.mlir")).unwrap();
        let module = text::parse(&Source::new("program.mlir", source)).unwrap_or_else(|e| panic!("{e}"));
        let printed = hlo::print(&module).unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        let again = read(&printed);
        let twice = hlo::print(&again).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read(&twice), again, "{}", program.display());
    }
}

/// API version 0 is not printed, because XLA's parser rejects the name that XLA prints for the version.
#[test]
fn calls_of_version_0_have_no_version() {
    let program = "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @f(%a) {api_version = 0 : i32} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}";
    let printed = hlo::print(&text::parse(&Source::new("test.mlir", program)).unwrap()).unwrap();
    assert!(printed.contains("custom_call_target=\"f\"") && !printed.contains("api_version"), "{printed}");
}
