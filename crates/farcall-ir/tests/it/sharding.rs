//! Meshes and shardings are read, kept and printed in JAX's syntax.

use farcall_ir::sharding::{Mesh, MeshRef};
use farcall_ir::{Attribute, Module, Op, Source, text, verify};

fn parse(text: &str) -> Module {
    text::parse(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"))
}

/// The text that JAX 0.10 prints for a function on a mesh of eight devices, with Shardy. Locations and blank
/// lines are omitted.
const SHARDY: &str = r#"module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x", "y"}, {}]> : tensor<8x8xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {"y"}]> : tensor<8x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %4 = stablehlo.add %2, %3 : tensor<8x8xf32>
    return %4 : tensor<8x8xf32>
  }
}
"#;

/// The text of the same function without Shardy.
const GSPMD: &str = r#"module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}, %arg1: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}) -> (tensor<8x8xf32> {jax.result_info = "result", mhlo.sharding = "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "", mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %4 = stablehlo.add %2, %3 : tensor<8x8xf32>
    return %4 : tensor<8x8xf32>
  }
}
"#;

/// A computation that each device applies to its part of the operand.
const PER_DEVICE: &str = r#"module @jit_g attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x8xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xf32>) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      sdy.return %1 : tensor<4x2xf32>
    } : (tensor<8x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
"#;

#[test]
fn what_jax_prints_comes_back_as_it_is() {
    for program in [SHARDY, GSPMD] {
        let module = parse(program);
        verify::verify(&module).unwrap();
        let printed = text::print(&module);
        assert!(parse(&printed) == module, "{printed}");
        // Only empty configurations are omitted.
        assert_eq!(printed, program.replace("backend_config = \"\", ", ""));
    }
}

/// The region of a computation on parts becomes a part of the function, between two calls.
#[test]
fn computations_on_parts() {
    let module = parse(PER_DEVICE);
    verify::verify(&module).unwrap();
    let printed = text::print(&module);
    assert!(parse(&printed) == module, "{printed}");
    let targets = ["xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"];
    assert!(targets.iter().all(|target| printed.contains(&format!("@{target}("))), "{printed}");
    assert!(
        printed.contains(r##"xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22, \22y\22}>""##),
        "{printed}"
    );
    assert!(printed.contains("(tensor<8x8xf32>) -> tensor<4x2xf32>"), "{printed}");
    let generic = r#"
      sdy.mesh @m = <["x"=2]>
      func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
        %0 = "sdy.manual_computation"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@m, [{"x"}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}> ({
        ^bb0(%arg1: tensor<2xf32>):
          "sdy.return"(%arg1) : (tensor<2xf32>) -> ()
        }) : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }"#;
    let pretty = r#"
      sdy.mesh @m = <["x"=2]>
      func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
        %0 = sdy.manual_computation(%arg0) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<2xf32>) {
          sdy.return %arg1 : tensor<2xf32>
        } : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }"#;
    assert_eq!(text::print(&parse(generic)), text::print(&parse(pretty)));
}

#[test]
fn shardings_are_data() {
    let module = parse(SHARDY);
    let [mesh] = module.meshes.as_slice() else { panic!("the module must have one mesh") };
    assert_eq!(mesh.name, "mesh");
    let axes = vec![("x".to_owned(), 2), ("y".to_owned(), 4)];
    assert_eq!(mesh.mesh, Mesh { axes, device_ids: vec![] });
    let main = module.func("main").unwrap();
    let Some(Attribute::Sharding(sharding)) = main.param_attrs()[0].get("sdy.sharding") else {
        panic!("parameter 0 must have a sharding")
    };
    assert_eq!(sharding.mesh, MeshRef::Named("mesh".to_owned()));
    assert_eq!(sharding.dims.len(), 2);
    assert_eq!((sharding.dims[1].axes[0].name.as_str(), sharding.dims[1].open), ("y", false));
    let mut constraints = Vec::new();
    main.walk(&mut |inst| {
        if matches!(inst.op(), Op::CustomCall(call) if call.target == "sdy.sharding_constraint") {
            constraints.push(inst.attrs()["sharding"].clone());
        }
    });
    let [Attribute::Sharding(first), Attribute::Sharding(second)] = constraints.as_slice() else {
        panic!("there must be two constraints with shardings")
    };
    assert_eq!(first.dims[0].axes.len(), 2);
    assert!(second.dims[0].open && second.dims[0].axes.is_empty());
}

#[test]
fn every_form_is_read_and_printed() {
    let program = r#"module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @one = <[], device_ids=[5]>
  sdy.mesh @"a b" = <["x"=2], device_ids=[1, 0]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@"a b", [{"x", ?}p1, {}], replicated={"y":(1)2}>}) -> tensor<8x8xf32> {
    %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{?}, {"x":(1)2, "x":(2)2}p0]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@one, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
    sdy.sharding_group %1 group_id=3 : tensor<8x8xf32>
    %2 = stablehlo.custom_call @t(%1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>, x = #sdy.sharding<@m, [{x}]>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = sdy.sharding_constraint %2 <@one, [{x}]> : tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
}
"#;
    let module = parse(program);
    let printed = text::print(&module);
    assert_eq!(printed, program);
    assert!(parse(&printed) == module);
    let generic = r#"
      "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "m"}> : () -> ()
      "sdy.mesh"() {sym_name = "n", stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 3 : i64}], device_ids = dense<[0, 2, 1, 3, 4, 5]> : tensor<6xi64>}} : () -> ()
      func.func @main() { return }"#;
    let module = parse(generic);
    assert_eq!(module.meshes[0].to_string(), r#"sdy.mesh @m = <["x"=2]>"#);
    assert_eq!(module.meshes[1].mesh.to_string(), r#"["x"=2, "y"=3], device_ids=[0, 2, 1, 3, 4, 5]"#);
    assert!(parse(&text::print(&module)) == module);
}

#[test]
fn mistakes_are_reported() {
    let error = |program: &str| text::parse(&Source::new("t", program)).unwrap_err().to_string();
    let manual =
        error(&PER_DEVICE.replace("(%arg1: tensor<4x2xf32>)", "(%arg1: tensor<4x2xf32>, %a: tensor<f32>)"));
    assert!(manual.contains("the region has 2 arguments for 1 operands"), "{manual}");
    let rest = "func.func @main() { return }";
    let mesh = error(&format!("sdy.mesh @m = <[x]>\n{rest}"));
    assert!(mesh.contains("mesh @m is malformed"), "{mesh}");
    let twice = error(&format!("sdy.mesh @m = <[]>\nsdy.mesh @m = <[]>\n{rest}"));
    assert!(twice.contains("mesh @m is already defined"), "{twice}");
    let unnamed = error(&format!("\"sdy.mesh\"() <{{mesh = #sdy.mesh<[]>}}> : () -> ()\n{rest}"));
    assert!(unnamed.contains("`sym_name` is missing"), "{unnamed}");
    let unknown = error(&format!("sdy.mash @m = <[]>\n{rest}"));
    assert!(unknown.contains("unknown operation sdy.mash outside of a function"), "{unknown}");
}
