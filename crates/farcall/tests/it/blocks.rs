//! Blocks (composites) that lowerings replace by custom calls: the order in which lowerings are asked, the
//! answers that are valid, and the compiled calls.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use expect_test::{Expect, expect};
use farcall::ir::verify::{Verified, verify_owned};
use farcall::ir::{DType, Literal, Module, Source, hlo, text};
use farcall::plan::{BlockChoice, Plan, ValidPlan};
use farcall::registry::{LoadOptions, Platform, Rank, TargetSpec};
use farcall::{CompileOptions, Executable, Registry, compile_plan, compile_static};
use farcall_ffi::AttrValue;
use farcall_ffi::lowering::abi as c;
use farcall_ffi::prelude::*;

use crate::plugin::blocks::{scale_f32, scale_f64, twice_f32};
use farcall_testing::engine::load;
use farcall_testing::engine::load_with;
use farcall_testing::library::example;
use farcall_testing::library::plain_cc;

const OPS: &[&OpDescriptor] = farcall_ffi::ops![scale_f32, scale_f64, twice_f32];

/// Stand-in for the engine's built-in QR factorization.
#[handler(name = "qr_cpu_custom_call_f32")]
#[lowers("my.qr_alias", with = lower_qr)]
fn built_in_qr(_x: &Buffer<f32>, q: &mut Buffer<f32>, r: &mut Buffer<f32>) -> Result<()> {
    q.fill(0.0);
    r.fill(0.0);
    Ok(())
}

/// Computes x + 1 in place.
#[handler(name = "one_more")]
#[signature((x: f32[*]) -> (y: f32[*] aliases x))]
#[lowers("my.one_more")]
fn one_more(x: &mut InOut<Buffer<f32>>) -> Result<()> {
    x.iter_mut().for_each(|x| *x += 1.0);
    Ok(())
}

fn lower_qr(_: &Block<'_>) -> Result<Lowered> {
    Ok(TargetCall::new("qr_cpu_custom_call_f32").into())
}

fn parse(program: &str) -> Module {
    text::parse(&Source::new("p.mlir", program)).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Returns a program with one block `tag` of `x`, whose default body is `x + x`.
fn one(tag: &str, options: &str, ty: &str) -> String {
    let options =
        if options.is_empty() { String::new() } else { format!("composite_attributes = {{{options}}}, ") };
    format!(
        "func.func @main(%x: tensor<{ty}>) -> tensor<{ty}> {{
  %0 = stablehlo.composite \"{tag}\" %x {{{options}decomposition = @body, version = 3 : i32}} : (tensor<{ty}>) -> tensor<{ty}>
  return %0 : tensor<{ty}>
}}
func.func private @body(%x: tensor<{ty}>) -> tensor<{ty}> {{
  %0 = stablehlo.add %x, %x : tensor<{ty}>
  return %0 : tensor<{ty}>
}}"
    )
}

fn compile(program: &str, registry: &Registry) -> std::result::Result<ValidPlan, String> {
    compile_for(Platform::Host, program, registry)
}

fn compile_for(
    platform: Platform,
    program: &str,
    registry: &Registry,
) -> std::result::Result<ValidPlan, String> {
    let options = CompileOptions::new().platform(platform);
    compile_plan(&parse(program), registry, &options).map_err(|e| e.to_string())
}

/// Describes the blocks of a plan, with a line for each lowering that was asked. Paths of libraries are
/// shortened.
fn why(plan: &Plan) -> String {
    let mut lines = Vec::new();
    for block in plan.blocks() {
        lines.push(format!("{} at {}", block.tag, block.place));
        for skipped in &block.skipped {
            let origin = short(&skipped.origin);
            lines.push(format!("  {} {origin} skips: {}", skipped.rank, skipped.reason));
        }
        lines.push(match &block.choice {
            BlockChoice::DefaultBody { reason } => format!("  default body: {reason}"),
            BlockChoice::Call { rank, origin, target, library, api_version } => format!(
                "  {rank} {} calls {target} ({}) of {}",
                short(origin),
                api_version.map_or("untyped".to_owned(), |_| "typed".to_owned()),
                short(library)
            ),
        });
    }
    lines.join("\n")
}

/// Removes the folder and the test's name from an origin, because the origin may name another test: if the
/// libraries of two tests have the same bytes, the registry names the library that was loaded first.
fn short(origin: &str) -> String {
    let origin = origin.rfind('/').map_or(origin, |at| &origin[at + 1..]);
    match (origin.starts_with("libblocks_"), origin.find(".so")) {
        (true, Some(at)) => format!("libblocks{}", &origin[at..]),
        _ => origin.to_owned(),
    }
}

#[track_caller]
fn check(plan: &std::result::Result<ValidPlan, String>, expected: Expect) {
    match plan {
        Ok(plan) => expected.assert_eq(&why(plan)),
        Err(error) => expected.assert_eq(error),
    }
}

/// Returns the targets that a plan calls.
fn targets(plan: &Plan) -> Vec<&str> {
    plan.calls().iter().map(|call| call.call.target.as_str()).collect()
}

/// Returns the program as the first pass sees it.
fn form(program: &str, registry: &Registry) -> String {
    let mut form = String::new();
    let mut after = |stage: &farcall::Stage<'_>| {
        if stage.name == "build" {
            form = text::print(&stage.form());
        }
    };
    let module = verify_owned(parse(program)).and_then(Verified::into_static).unwrap();
    compile_static(&module, registry, &CompileOptions::new(), &mut after).unwrap();
    form
}

fn run<T: farcall::ir::literal::Native + Clone>(
    program: &str,
    registry: &Registry,
    dtype: DType,
    x: &[T],
) -> Vec<T> {
    let executable = Executable::compile(&parse(program), registry, &CompileOptions::new()).unwrap();
    let results = executable.run(&[Literal::from_slice(dtype, [x.len()], x)]).unwrap();
    results[0].as_slice::<T>().to_vec()
}

fn with_ops() -> Registry {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    registry
}

fn app(registry: &Registry, tag: &str, lowering: impl farcall::registry::Lowering + 'static) {
    registry.register_lowering(tag, Rank::Application, lowering).unwrap();
}

// ---- Ops of a library ----------------------------------------------------------------------

#[test]
fn a_handler_lowers_blocks_that_fit_its_signature() {
    let registry = with_ops();
    check(
        &compile(&one("my.scale", "factor = 3.0 : f32", "4xf32"), &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              library this program calls scale_f32 (typed) of this program"#]],
    );
    // Options are converted to the declared types; missing options have defaults.
    let f64s = one("my.scale", "factor = 3 : i32", "2xf64");
    check(
        &compile(&f64s, &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              library this program skips: scale_f32: x must be f32, but is f64
              library this program calls scale_f64 (typed) of this program"#]],
    );
    assert_eq!(run(&f64s, &registry, DType::F64, &[1.0, 2.0]), [3.0, 6.0]);
    assert_eq!(run(&one("my.scale", "", "2xf32"), &registry, DType::F32, &[1.0f32, 2.0]), [2.0, 4.0]);
    for (options, ty) in [
        ("", "4xi32"),
        ("factor = \"a\"", "4xf32"),
        ("facto = 1.0 : f32", "4xf32"),
        ("factor = [1, \"a\"]", "4xf32"),
    ] {
        let plan = compile(&one("my.scale", options, ty), &registry).unwrap();
        assert!(targets(&plan).is_empty() && plan.blocks()[0].skipped.len() == 2, "{}", why(&plan));
    }
    check(
        &compile(&one("my.scale", "facto = 1.0 : f32", "4xf32"), &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              library this program skips: scale_f32: there is no attribute facto; did you mean factor?
              library this program skips: scale_f64: there is no attribute facto; did you mean factor?
              default body: every lowering for the tag skips it"#]],
    );
}

#[test]
fn a_function_of_a_library_converts_there_and_back() {
    let registry = with_ops();
    let program = one("my.twice", "", "3xi32");
    assert_eq!(run(&program, &registry, DType::S32, &[1, 2, -3]), [2, 4, -6]);
    expect![[r#"
        module {
          func.func public @main(%arg0: tensor<3xi32>) -> tensor<3xi32> {
            %0 = stablehlo.convert %arg0 : (tensor<3xi32>) -> tensor<3xf32>
            %1 = stablehlo.custom_call @twice_f32(%0) : (tensor<3xf32>) -> tensor<3xf32>
            %2 = stablehlo.convert %1 : (tensor<3xf32>) -> tensor<3xi32>
            return %2 : tensor<3xi32>
          }
        }
    "#]]
    .assert_eq(&form(&program, &registry));
    check(
        &compile(&one("my.twice", "", "3xcomplex<f32>"), &registry),
        expect![[r#"
            my.twice at p.mlir:2:8
              library this program skips: there is no handler for c64
              default body: every lowering for the tag skips it"#]],
    );
    let thirteen = one("my.twice", "", "3xf32").replace("version = 3", "version = 13");
    let error = compile(&thirteen, &registry).unwrap_err();
    assert!(
        error.contains("the lowering: panicked at") && error.contains("thirteen is no version"),
        "{error}"
    );
}

#[test]
fn a_library_that_is_loaded_brings_its_lowerings() {
    let path = example("farcall", "block_test_ops");
    let registry = Registry::new();
    assert_eq!(load(&registry, &path, &[]).unwrap().tags, ["my.scale", "my.twice"]);
    load(&registry, &path, &[]).unwrap();
    assert_eq!(registry.tags(), ["my.scale", "my.twice"]);
    let program = one("my.scale", "factor = 3.0 : f32", "2xf32");
    check(
        &compile(&program, &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              library libblock_test_ops.so (farcall library) calls scale_f32 (typed) of libblock_test_ops.so (farcall library)"#]],
    );
    assert_eq!(run(&program, &registry, DType::F32, &[1.0f32, 2.0]), [3.0, 6.0]);
    assert_eq!(run(&one("my.twice", "", "2xi8"), &registry, DType::S8, &[1i8, 2]), [2, 4]);
    // Once the library is loaded in a namespace, its lowerings (by signature and by function) call the
    // targets of that namespace.
    let named = Registry::new();
    let options = LoadOptions { namespace: Some("acme".into()), ..LoadOptions::default() };
    load_with(&named, &path, &options).unwrap();
    assert_eq!(run(&program, &named, DType::F32, &[1.0f32, 2.0]), [3.0, 6.0]);
    assert_eq!(run(&one("my.twice", "", "2xi8"), &named, DType::S8, &[1i8, 2]), [2, 4]);
    // If a library's lowering panics, compilation fails with the panic's message, which lies in the library's
    // memory.
    let thirteen = one("my.twice", "", "3xf32").replace("version = 3", "version = 13");
    assert!(compile(&thirteen, &registry).unwrap_err().contains("thirteen is no version"));
    // This program already has a lowering of the same tag with the same rank.
    let other = Registry::new();
    other.register_lowering("my.scale", Rank::Library, |_: &Block<'_>| Ok(Lowered::skip(""))).unwrap();
    let error = load(&other, &path, &[]).unwrap_err().to_string();
    assert!(error.contains("the blocks `my.scale` are lowered by this program already"), "{error}");
    assert!(
        error.contains("same rank (library) as by /") && error.contains("libblock_test_ops.so"),
        "{error}"
    );
    // A rejected library leaves nothing behind.
    assert_eq!((other.tags(), other.targets().len()), (vec!["my.scale".to_owned()], 0));
}

// ---- Ranks ---------------------------------------------------------------------------------

#[test]
fn lowerings_are_asked_in_the_order_of_their_ranks() {
    let registry = Registry::new();
    let skips = |why: &'static str| move |_: &Block<'_>| Ok(Lowered::skip(why));
    registry.register_lowering("my.tag", Rank::BuiltIn, skips("three")).unwrap();
    registry.register_lowering("my.tag", Rank::Application, skips("one")).unwrap();
    registry.register_lowering("my.tag", Rank::Library, skips("two")).unwrap();
    check(
        &compile(&one("my.tag", "", "4xf32"), &registry),
        expect![[r#"
            my.tag at p.mlir:2:8
              application this program skips: one
              library this program skips: two
              built-in this program skips: three
              default body: every lowering for the tag skips it"#]],
    );
    let error = registry.register_lowering("my.tag", Rank::Library, skips("again")).unwrap_err();
    expect!["the blocks `my.tag` are lowered by this program already, with the same rank (library) as by this program: lowerings of one tag must have different ranks (replace one explicitly, or drop one)"]
        .assert_eq(&error.to_string());
    assert!(registry.replace_lowering("my.tag", Rank::Application, skips("replaced")));
    check(
        &compile(&one("my.other", "", "4xf32"), &registry),
        expect![[r#"
            my.other at p.mlir:2:8
              default body: no lowering is registered for the tag"#]],
    );
    assert!(why(&compile(&one("my.tag", "", "4xf32"), &registry).unwrap()).contains("skips: replaced"));
}

#[test]
fn a_lowering_sees_the_block_and_the_client() {
    let registry = Registry::new();
    app(&registry, "my.tag", |block: &Block<'_>| {
        let client = block.client();
        let shape = |ty: &farcall::sig::signature::OperandType<'_>| format!("{}{:?}", ty.dtype, ty.dims);
        Ok(Lowered::skip(format!(
            "{} {} {:?} {:?} | {} {:?} | {} {} {:?}",
            block.tag(),
            block.version(),
            block.operands().iter().map(shape).collect::<Vec<_>>(),
            block.results().iter().map(shape).collect::<Vec<_>>(),
            block.option::<f32>("eps")?,
            block.options().texts(),
            client.platform(),
            client.engine(),
            client.options(),
        )))
    });
    let program = one("my.tag", "eps = 0.5 : f32, odd = f32, axes = array<i64: 1, 2>", "2x3xbf16");
    check(
        &compile(&program, &registry),
        expect![[r#"
            my.tag at p.mlir:2:8
              application this program skips: my.tag 3 ["bf16[2, 3]"] ["bf16[2, 3]"] | 0.5 [("axes", "array<i64: 1, 2>"), ("eps", "5.000000e-01 : f32"), ("odd", "f32")] | Host farcall [("denormals", "ieee"), ("semantics", "xla")]
              default body: every lowering for the tag skips it"#]],
    );
    check(
        &compile(&one("my.tag", "", "2xf32"), &registry),
        expect![[r#"
            error: [lowering] the application lowering of block my.tag by this program: missing attribute eps (f32)
             --> p.mlir:2:8
              |
            2 |   %0 = stablehlo.composite "my.tag" %x {decomposition = @body, version = 3 : i32} : (tensor<2xf32>) -> tens
              |        ^^^^^^^^^^^^^^^^^^^"#]],
    );
}

// ---- Answers -------------------------------------------------------------------------------

#[test]
fn a_target_that_is_missing_or_does_not_fit_is_a_reason_to_skip() {
    let registry = with_ops();
    app(&registry, "my.scale", |_: &Block<'_>| Ok(TargetCall::new("nowhere").into()));
    check(
        &compile(&one("my.scale", "", "4xf32"), &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              application this program skips: no target `nowhere` is registered for the platform Host
              library this program calls scale_f32 (typed) of this program"#]],
    );
    registry.replace_lowering("my.scale", Rank::Application, |_: &Block<'_>| {
        Ok(TargetCall::new("scale_f64").attr_text("factor", "2.0 : f64").into())
    });
    check(
        &compile(&one("my.scale", "", "4xf32"), &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              application this program skips: scale_f64: x must be f64, but is f32
              library this program calls scale_f32 (typed) of this program"#]],
    );
    // A platform that the handlers do not support.
    check(
        &compile_for(Platform::Cuda, &one("my.scale", "", "4xf32"), &registry),
        expect![[r#"
            my.scale at p.mlir:2:8
              application this program skips: `scale_f64` has no handler for CUDA, only for Host
              library this program skips: it is for Host, the program is compiled for CUDA
              library this program skips: it is for Host, the program is compiled for CUDA
              default body: every lowering for the tag skips it"#]],
    );
}

#[test]
fn attributes_are_values_or_text() {
    let registry = with_ops();
    let scaled = |call: fn(TargetCall) -> TargetCall| {
        registry.replace_lowering("my.scale", Rank::Application, move |_: &Block<'_>| {
            Ok(call(TargetCall::new("scale_f32")).into())
        });
        run(&one("my.scale", "", "1xf32"), &registry, DType::F32, &[1.0f32])
    };
    assert_eq!(scaled(|call| call.attr("factor", 7.0f32)), [7.0]);
    // Values are converted to the declared type; text must have this type.
    assert_eq!(scaled(|call| call.attr("factor", AttrValue::i64(7))), [7.0]);
    assert_eq!(scaled(|call| call.attr_text("factor", "7.0 : f32")), [7.0]);
    assert_eq!(scaled(|call| call), [2.0]);
}

#[test]
fn an_answer_that_can_never_be_right_is_an_error() {
    let registry = with_ops();
    let mut lines = Vec::new();
    let calls: [fn(TargetCall) -> TargetCall; 12] = [
        |call| call.operand_type(1, DType::F32),
        |call| call.result_type(7, DType::F32),
        |call| call.operand_layout(2, [0]),
        |call| call.operand_layout(0, [0, 1]),
        |call| call.result_layout(0, [1]),
        |call| call.alias(1, 0),
        |call| call.alias(0, 1),
        |call| call.alias(0, 0).alias(0, 0),
        |call| call.alias(0, 0).operand_type(0, DType::F16),
        |call| call.attr_text("k", "42 : i"),
        |call| call.attr_text("k", "1 : i64").attr("k", 1i64),
        |call| call.result_type(0, DType::C64),
    ];
    for call in calls {
        registry.replace_lowering("my.tag", Rank::Application, move |_: &Block<'_>| {
            Ok(call(TargetCall::new("scale_f32")).into())
        });
        let error = compile(&one("my.tag", "", "4xf32"), &registry).unwrap_err();
        let prefix = "error: [lowering] the application lowering of block my.tag by this program: ";
        let first = error.lines().next().unwrap_or_default();
        lines.push(first.strip_prefix(prefix).unwrap_or_else(|| panic!("{error}")).to_owned());
    }
    expect![[r#"
        there is no operand 1: the block has one
        there is no result 7: the block has one
        there is no operand 2: the block has one
        [0, 1] is not a layout of operand 0, which has 1 dimensions
        [1] is not a layout of result 0, which has 1 dimensions
        there is no result 1: the block has one
        there is no operand 1: the block has one
        an operand can share memory with only one result
        result 0 cannot share memory with operand 0: tensor<4xf32> and tensor<4xf16> are different types
        attribute k: "42 : i" is not an attribute in MLIR's syntax: unknown element type `i`
        attribute k: it is given twice
        result 0 cannot be converted from c64 to f32, which loses the imaginary part"#]]
    .assert_eq(&lines.join("\n"));
}

// ---- Where blocks stand --------------------------------------------------------------------

/// Lowerings are also asked about blocks in another block's default body, in a function that is called
/// several times, and in regions.
#[test]
fn blocks_within_blocks_are_asked_about_if_the_outer_one_is_skipped() {
    let program = r#"
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.outer" %x {decomposition = @outer} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2:2 = stablehlo.while(%i = %n, %y = %1) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %w = stablehlo.add %y, %z : tensor<4xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
    }
  return %2#1 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.scale" %x {decomposition = @body} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    let registry = with_ops();
    let plan = compile(program, &registry).unwrap();
    check(
        &Ok(plan.clone()),
        expect![[r#"
            my.outer at p.mlir:3:8
              default body: no lowering is registered for the tag
            my.scale at p.mlir:25:8
              library this program calls scale_f32 (typed) of this program"#]],
    );
    assert_eq!(targets(&plan), ["scale_f32"; 3]);
    let inputs = [
        Literal::from_slice(DType::F32, [4], &[1.0f32, 2.0, 3.0, 4.0]),
        Literal::from_slice(DType::S32, [], &[0i32]),
    ];
    let results = [&registry, &Registry::new()].map(|registry| {
        let executable = Executable::compile(&parse(program), registry, &CompileOptions::new()).unwrap();
        executable.run(&inputs).unwrap()
    });
    assert_eq!(results[0], results[1]);
    app(&registry, "my.outer", |_: &Block<'_>| Ok(TargetCall::new("twice_f32").into()));
    assert_eq!(targets(&compile(program, &registry).unwrap()), ["twice_f32", "scale_f32", "scale_f32"]);
}

#[test]
fn blocks_with_tokens_and_quantized_tensors_have_their_default_body() {
    let program = r#"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %0:2 = stablehlo.composite "my.scale" %x, %t {decomposition = @body} : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return %0#0 : tensor<4xf32>
}
func.func private @body(%x: tensor<4xf32>, %t: !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token) {
  return %x, %t : tensor<4xf32>, !stablehlo.token
}"#;
    check(
        &compile(program, &with_ops()),
        expect![[r#"
            my.scale at p.mlir:4:10
              default body: it has a token, a tuple or a quantized tensor among its operands or results"#]],
    );
}

/// Operands and results have the layouts that the lowering gives; a result may alias an operand.
#[test]
fn calls_have_layouts_and_aliases() {
    let registry = with_ops();
    registry.register_ops(farcall_ffi::ops![one_more]).unwrap();
    let program = one("my.twice", "", "2x3xf32");
    let doubled = |call: fn(TargetCall) -> TargetCall| {
        registry.replace_lowering("my.twice", Rank::Application, move |_: &Block<'_>| {
            Ok(call(TargetCall::new("twice_f32")).into())
        });
        let executable = Executable::compile(&parse(&program), &registry, &CompileOptions::new()).unwrap();
        let x = Literal::from_slice(DType::F32, [2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        executable.run(&[x]).unwrap()[0].as_slice::<f32>().to_vec()
    };
    let rows = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
    assert_eq!(doubled(|call| call), rows);
    assert_eq!(doubled(|call| call.operand_layout(0, [0, 1]).result_layout(0, [0, 1])), rows);
    assert_eq!(doubled(|call| call.operand_layout(0, [0, 1])), [2.0, 8.0, 4.0, 10.0, 6.0, 12.0]);
    let one_more = one("my.one_more", "", "2xf32");
    assert_eq!(run(&one_more, &registry, DType::F32, &[1.0f32, 2.0]), [2.0, 3.0]);
    assert_eq!(compile(&one_more, &registry).unwrap().calls()[0].call.aliases.len(), 1);
}

/// The block's options are passed on unless the call sets them.
#[test]
fn options_are_passed_on_unless_the_call_says_otherwise() {
    let registry = with_ops();
    let program = one("my.scale", "factor = 3.0 : f32", "2xf32");
    let run = |call: fn() -> TargetCall| {
        registry.replace_lowering("my.scale", Rank::Application, move |_: &Block<'_>| Ok(call().into()));
        run(&program, &registry, DType::F32, &[1.0f32, 2.0])
    };
    assert_eq!(run(|| TargetCall::new("scale_f32")), [3.0, 6.0]);
    assert_eq!(run(|| TargetCall::new("scale_f32").attr("factor", 5.0f32)), [5.0, 10.0]);
}

/// A call whose result is dead is kept if it has a side effect.
#[test]
fn a_call_with_a_side_effect_stays() {
    let registry = with_ops();
    let unused = one("my.twice", "", "2xf32").replacen("return %0", "return %x", 1);
    let calls = |call: fn() -> TargetCall| {
        registry.replace_lowering("my.twice", Rank::Application, move |_: &Block<'_>| Ok(call().into()));
        compile(&unused, &registry).unwrap().calls().len()
    };
    assert_eq!(calls(|| TargetCall::new("twice_f32")), 0);
    assert_eq!(calls(|| TargetCall::new("twice_f32").side_effect()), 1);
}

/// No lowering is asked about a block with an option that the C interface cannot represent.
#[test]
fn options_that_are_too_deep_leave_the_default_body() {
    let deep = format!("a = {}1{}", "{a = ".repeat(80), "}".repeat(80));
    let plan = compile(&one("my.scale", &deep, "2xf32"), &with_ops()).unwrap();
    assert!(why(&plan).contains("default body: its options cannot be passed on"), "{}", why(&plan));
}

/// A name that stands for an operation cannot be a target, even if a target of this name is registered.
#[test]
fn a_target_that_is_an_operation_is_an_error() {
    let registry = with_ops();
    let target = registry.lookup("twice_f32", &Platform::Host).unwrap();
    let farcall::registry::Handler::Typed(bundle) = *target.handler() else { unreachable!() };
    let name = "check.expect_eq_const";
    let origin = farcall::registry::TargetOrigin::program();
    // SAFETY: these are the handlers of another target, which is valid.
    let target = unsafe { farcall::registry::Target::typed(name, Platform::Host, bundle, 0, origin) };
    registry.register(target.unwrap()).unwrap();
    app(&registry, "my.tag", |_: &Block<'_>| Ok(TargetCall::new("check.expect_eq_const").into()));
    check(
        &compile(&one("my.tag", "", "2xf32"), &registry),
        expect![[r#"
        error: [check-value] attribute `value` of check.expect_eq_const must be dense<…> of a tensor
         --> p.mlir:2:8
          |
        2 |   %0 = stablehlo.composite "my.tag" %x {decomposition = @body, version = 3 : i32} : (tensor<2xf32>) -> tens
          |        ^^^^^^^^^^^^^^^^^^^"#]],
    );
}

/// Runs a block of scalars in a region that is applied to each element, once as a call and once as its
/// default body.
#[test]
fn blocks_in_regions_that_are_applied_to_elements() {
    let program = r#"
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
    ^bb0(%e: tensor<f32>):
      %1 = stablehlo.composite "my.scale" %e {composite_attributes = {factor = 2.0 : f32}, decomposition = @body} : (tensor<f32>) -> tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @body(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}"#;
    for (registry, lowered) in [(with_ops(), true), (Registry::new(), false)] {
        let plan = compile(program, &registry).unwrap();
        assert_eq!(matches!(plan.blocks()[0].choice, BlockChoice::Call { .. }), lowered);
        assert_eq!(run(program, &registry, DType::F32, &[1.0f32, 2.0, 3.0]), [2.0, 4.0, 6.0]);
    }
}

/// Dynamic dimensions are known when lowerings are asked about the block.
#[test]
fn shapes_are_static_when_lowerings_are_asked() {
    let registry = with_ops();
    let options = CompileOptions::new().inputs([farcall::ir::TensorType::new(DType::F32, [5])]);
    let plan = compile_plan(&parse(&one("my.scale", "", "?xf32")), &registry, &options).unwrap();
    assert_eq!(targets(&plan), ["scale_f32"]);
    assert_eq!(plan.blocks()[0].operands[0].to_string(), "tensor<5xf32>");
}

#[test]
fn composites_of_hlo_text_are_blocks() {
    let module = parse(&one("my.scale", "factor = 3.0 : f32", "2xf32"));
    let written = hlo::print(&module).unwrap();
    let module = hlo::parse(&Source::new("p.hlo", written)).unwrap();
    let plan = compile_plan(&module, &with_ops(), &CompileOptions::new()).unwrap();
    assert_eq!(targets(&plan), ["scale_f32"]);
}

#[test]
fn composites_of_artifacts_are_blocks() {
    let program = one("my.scale", "factor = 3.0 : f32", "2xf32");
    let artifact = farcall::ir::vhlo::write(&parse(&program)).unwrap();
    let module = farcall::ir::read::module(&artifact.bytes, "scale.mlirbc").unwrap();
    let plan = compile_plan(&module, &with_ops(), &CompileOptions::new()).unwrap();
    assert_eq!((targets(&plan), plan.blocks()[0].version), (vec!["scale_f32"], 3));
    let x = Literal::from_slice(DType::F32, [2], &[1.0f32, 2.0]);
    // The default body doubles its operand.
    for (registry, expected) in [(with_ops(), [3.0, 6.0]), (Registry::new(), [2.0, 4.0])] {
        let executable = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap();
        assert_eq!(executable.run(std::slice::from_ref(&x)).unwrap()[0].as_slice::<f32>(), expected);
    }
}

#[test]
fn decisions_are_kept_in_a_plans_file() {
    let registry = with_ops();
    registry
        .register_lowering("my.twice", Rank::Application, |_: &Block<'_>| Ok(Lowered::skip("é")))
        .unwrap();
    for program in [one("my.twice", "", "3xi32"), one("my.none", "", "3xi32")] {
        let plan = compile(&program, &registry).unwrap();
        let read = Plan::from_bytes(&plan.to_bytes().unwrap()).unwrap();
        assert_eq!(plan, read);
        assert_eq!(why(&plan), why(&read));
        // Lowerings are asked when a program is compiled, not when its plan is loaded.
        let targets = Registry::new();
        let linked = registry.lookup("twice_f32", &Platform::Host).unwrap();
        targets.register(farcall::registry::Target::clone(&linked)).unwrap();
        Executable::from_plan(read, &targets).unwrap();
    }
}

// ---- A library in C++, as in EXLA's tests --------------------------------------------------

const QR: &str = include_str!("blocks/qr_alias.mlir");

/// Returns a registry with the C++ library and its lowerings, or `None` without a compiler.
fn alias_library() -> Option<(Registry, PathBuf)> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../farcall-ffi/include");
    // Each test has its own library, as tests run concurrently.
    let name = format!("blocks_{}", std::thread::current().name().unwrap_or_default().replace(':', "_"));
    let path = plain_cc("farcall", "blocks", &name, &["-Wextra", "-I", include.to_str().unwrap()])?;
    let registry = Registry::new();
    let spec: TargetSpec = "qr_cpu_custom_call_f32_exla_alias=untyped:QrAlias".parse().unwrap();
    let report = load(&registry, &path, &[spec]).unwrap();
    assert_eq!(report.tags, ["my.qr_alias", "my.wrong"]);
    Some((registry, path))
}

fn qr(registry: &Registry, x: &Literal) -> Vec<Literal> {
    let program = if x.dtype() == DType::S32 { integer_qr() } else { QR.to_owned() };
    let executable = Executable::compile(&parse(&program), registry, &CompileOptions::new()).unwrap();
    executable.run(std::slice::from_ref(x)).unwrap()
}

/// Returns a program with the QR block on integers.
fn integer_qr() -> String {
    let (_, functions) = QR.split_once("  func.func private").unwrap();
    format!(
        "module {{
  func.func @main(%x: tensor<3x4xi32>) -> (tensor<3x3xf32>, tensor<3x4xf32>) {{
    %0:2 = stablehlo.composite \"my.qr_alias\" %x {{decomposition = @body}} : (tensor<3x4xi32>) -> (tensor<3x3xf32>, tensor<3x4xf32>)
    return %0#0, %0#1 : tensor<3x3xf32>, tensor<3x4xf32>
  }}
  func.func private @body(%x: tensor<3x4xi32>) -> (tensor<3x3xf32>, tensor<3x4xf32>) {{
    %0 = stablehlo.convert %x : (tensor<3x4xi32>) -> tensor<3x4xf32>
    %1:2 = func.call @my.qr_alias(%0) : (tensor<3x4xf32>) -> (tensor<3x3xf32>, tensor<3x4xf32>)
    return %1#0, %1#1 : tensor<3x3xf32>, tensor<3x4xf32>
  }}
  func.func private{functions}"
    )
}

#[test]
fn an_alias_of_qr_is_called_instead_of_the_built_in_one() {
    let Some((registry, _)) = alias_library() else { return };
    registry.register_built_ins(farcall_ffi::ops![built_in_qr]).unwrap();
    let plan = compile(QR, &registry).unwrap();
    check(
        &Ok(plan.clone()),
        expect![[r#"
            my.qr_alias at p.mlir:3:12
              library libblocks.so (table of lowerings) calls qr_cpu_custom_call_f32_exla_alias (untyped) of libblocks.so (untyped:QrAlias)"#]],
    );
    assert_eq!(targets(&plan), ["qr_cpu_custom_call_f32_exla_alias"]);
    let form = form(QR, &registry);
    assert!(!form.contains("@qr_cpu_custom_call_f32(") && !form.contains("backend_config"), "{form}");
    assert!(form.contains("operand_layouts = [dense<[1, 0]> : tensor<2xindex>]"), "{form}");
    let layouts = "result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]";
    assert!(form.contains(layouts), "{form}");

    let iota: Vec<f32> = (0..12u8).map(f32::from).collect();
    let x = Literal::from_slice(DType::F32, [3, 4], &iota);
    let (called, body) = (qr(&registry, &x), qr(&Registry::new(), &x));
    for (called, body) in called.iter().zip(&body) {
        let pairs = called.as_slice::<f32>().iter().zip(body.as_slice::<f32>());
        pairs.for_each(|(a, b)| {
            assert!(
                (a - b).abs() <= 1e-4 + 1e-4 * b.abs(),
                "the call returns {called:?}, but the default body {body:?}"
            );
        });
    }
    assert!(called[0].as_slice::<f32>().iter().any(|q| *q != 0.0));
}

/// The application's lowering comes first, although the library and the engine have lowerings, too.
#[test]
fn an_application_overrides_built_in_lowerings() {
    let registry = Registry::new();
    registry.register_built_ins(farcall_ffi::ops![built_in_qr]).unwrap();
    assert_eq!(targets(&compile(QR, &registry).unwrap()), ["qr_cpu_custom_call_f32"]);
    let Some((registry, _)) = alias_library() else { return };
    registry.register_built_ins(farcall_ffi::ops![built_in_qr]).unwrap();
    app(&registry, "my.qr_alias", |_: &Block<'_>| Ok(TargetCall::new("qr_cpu_custom_call_f32").into()));
    assert_eq!(targets(&compile(QR, &registry).unwrap()), ["qr_cpu_custom_call_f32"]);
}

#[test]
fn a_library_without_a_descriptor_skips_by_platform_type_and_shape() {
    let Some((registry, _)) = alias_library() else { return };
    let cuda = compile_for(Platform::Cuda, QR, &registry).unwrap();
    assert_eq!(cuda.blocks()[0].skipped[0].reason, "it is for the host");
    let skips = |ty: &str| {
        let plan = compile(&one("my.qr_alias", "", ty), &registry).unwrap();
        assert!(plan.calls().is_empty());
        plan.blocks()[0].skipped[0].reason.clone()
    };
    assert_eq!(skips("3x4xf64"), "it takes f32 and integers");
    assert_eq!(skips("4xf32"), "it takes 3x4 matrices");
    let two = one("my.qr_alias", "", "3x4xf32")
        .replace("\"my.qr_alias\" %x", "\"my.qr_alias\" %x, %x")
        .replace(": (tensor<3x4xf32>)", ": (tensor<3x4xf32>, tensor<3x4xf32>)")
        .replace("@body(%x: tensor<3x4xf32>)", "@body(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>)");
    let plan = compile(&two, &registry).unwrap();
    assert_eq!(plan.blocks()[0].skipped[0].reason, "it takes one operand");
}

#[test]
fn integers_are_converted_for_a_target_of_f32() {
    let Some((registry, _)) = alias_library() else { return };
    let program = integer_qr();
    let form = form(&program, &registry);
    assert!(form.contains("stablehlo.convert %arg0 : (tensor<3x4xi32>) -> tensor<3x4xf32>"), "{form}");
    let numbers: Vec<i32> = (0..12).collect();
    let x = Literal::from_slice(DType::S32, [3, 4], &numbers);
    let floats: Vec<f32> = (0..12u8).map(f32::from).collect();
    let y = Literal::from_slice(DType::F32, [3, 4], &floats);
    assert_eq!(qr(&registry, &x), qr(&registry, &y));
}

#[test]
fn answers_of_a_library_are_not_trusted() {
    let Some((registry, _)) = alias_library() else { return };
    let mut kinds = vec![
        "nothing",
        "failure",
        "null",
        "short",
        "null table",
        "endless table",
        "misaligned",
        "no type",
        "negative",
        "no text",
        "else",
    ];
    kinds.extend(cfg!(feature = "cxx-exceptions").then_some("throw"));
    let mut lines = Vec::new();
    for kind in kinds {
        let program = one("my.wrong", &format!("as = \"{kind}\""), "4xf32");
        match compile(&program, &registry) {
            Ok(plan) => lines.push(format!("{kind}: {}", plan.blocks()[0].skipped[0].reason)),
            Err(error) => {
                let first = error.lines().next().unwrap_or_default();
                lines.push(format!("{kind}: {}", &first[first.find("): ").map_or(0, |at| at + 3)..]));
            }
        }
    }
    let lines: Vec<&String> = lines.iter().filter(|line| !line.starts_with("throw: C++ exception")).collect();
    let lines: Vec<&str> = lines.into_iter().map(String::as_str).collect();
    expect![[r#"
        nothing: the lowering returned no answer
        failure: out of luck
        null: the lowering returns a call that cannot be read
        short: the lowering returns a call that cannot be read
        null table: the lowering returns a call, but its element types cannot be read
        endless table: the lowering returns a call, but its attributes cannot be read
        misaligned: the lowering returns a call, but its attributes cannot be read
        no type: the lowering returns a call, but 999 is not an element type
        negative: the lowering returns a call, but a layout has the dimension -1
        no text: the lowering returns a call, but one of its texts is not UTF-8
        else: no target `t` is registered for the platform Host"#]]
    .assert_eq(&lines.join("\n"));
}

/// The structs of the C header have the same layouts as the structs of `farcall-ffi`.
#[test]
fn the_header_is_that_of_the_sdk() {
    use std::mem::offset_of;
    let Some((_, path)) = alias_library() else { return };
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library is already open, and its symbol `Layout` is a function of this type.
    let layout: unsafe extern "C" fn(usize) -> usize = unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        std::mem::transmute(libc::dlsym(library, c"Layout".as_ptr()))
    };
    let dtypes = [
        DType::Pred,
        DType::S8,
        DType::S16,
        DType::S32,
        DType::S64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::BF16,
        DType::C128,
    ];
    let numbers = dtypes.map(|dtype| farcall_ffi::abi::DataType::from_dtype(dtype).0 as usize);
    let ours = [
        size_of::<c::LowerQuestion>(),
        offset_of!(c::LowerQuestion, version),
        offset_of!(c::LowerQuestion, client_options),
        offset_of!(c::LowerQuestion, tensor_stride),
        offset_of!(c::LowerQuestion, platform),
        offset_of!(c::LowerQuestion, host),
        offset_of!(c::LowerQuestion, call),
        size_of::<c::LowerCall>(),
        offset_of!(c::LowerCall, values),
        offset_of!(c::LowerCall, operand_types),
        offset_of!(c::LowerCall, result_layouts),
        offset_of!(c::LowerCall, has_side_effect),
        size_of::<c::Template>(),
        offset_of!(c::Template, dims),
        size_of::<c::NamedText>(),
        size_of::<c::NumberedType>(),
        offset_of!(c::NumberedType, dtype),
        size_of::<c::NumberedLayout>(),
        offset_of!(c::NumberedLayout, rank),
        size_of::<c::Alias>(),
        size_of::<c::LoweringEntry>(),
        offset_of!(c::LoweringEntry, lower),
        size_of::<c::LoweringTable>(),
        offset_of!(c::LoweringTable, lowering_stride),
    ];
    // SAFETY: the function belongs to the library above.
    let theirs = (0..).map(|i| unsafe { layout(i) }).take_while(|n| *n != 0);
    assert_eq!(theirs.collect::<Vec<_>>(), ours.into_iter().chain(numbers).collect::<Vec<_>>());
}

/// A lowering that uses its registry when it is dropped.
struct Curious(Registry, mpsc::Sender<Vec<String>>);

impl farcall::registry::Lowering for Curious {
    fn lower(&self, _: &Block<'_>) -> Result<Lowered> {
        Ok(Lowered::skip("it only looks"))
    }
}

impl Drop for Curious {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.tags());
    }
}

#[test]
fn a_lowering_that_is_replaced_may_use_the_registry() {
    let (dropped, seen) = mpsc::channel();
    let registry = Registry::new();
    let lowering = Curious(registry.clone(), dropped);
    registry.register_lowering("my.tag", Rank::Application, lowering).unwrap();
    let replaced = std::thread::spawn(move || {
        registry.replace_lowering("my.tag", Rank::Application, |_: &Block<'_>| Ok(Lowered::skip("new")))
    });
    let tags = seen
        .recv_timeout(Duration::from_secs(60))
        .expect("the lowering must be able to use the registry when it is dropped");
    assert_eq!(tags, ["my.tag"]);
    assert!(replaced.join().unwrap());
}

/// A program from an artifact has no text, but its instructions may have locations.
#[test]
fn blocks_of_programs_without_text_have_a_place() {
    let compile = |program: &str, registry: &Registry| {
        let mut module = parse(program);
        module.source = Source::none();
        compile_plan(&module, registry, &CompileOptions::new()).map_err(|e| e.to_string())
    };
    let registry = Registry::new();
    let fails = |_: &Block<'_>| -> Result<Lowered> { Err(Error::unknown("out of luck")) };
    registry.register_lowering("my.tag", Rank::Application, fails).unwrap();
    let anonymous = one("my.other", "", "2xf32");
    let named = |tag: &str, loc: &str| {
        let result = "-> tensor<2xf32>";
        one(tag, "", "2xf32").replacen(&format!("{result}\n"), &format!("{result} loc({loc})\n"), 1)
    };
    for (program, expected) in [
        (named("my.other", "\"f/norm\"(\"m.py\":3:9)"), "f/norm at m.py:3:9"),
        (named("my.other", "\"m.py\":3:9"), "m.py:3:9"),
        (named("my.other", "\"f/norm\""), "f/norm"),
        (anonymous, "@main, instruction 0"),
    ] {
        assert_eq!(&*compile(&program, &registry).unwrap().blocks()[0].place, expected);
    }
    let error = compile(&named("my.tag", "\"f/norm\"(\"m.py\":3:9)"), &registry).unwrap_err();
    assert!(error.contains("the block is at f/norm at m.py:3:9"), "{error}");
}
