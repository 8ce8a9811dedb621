//! Inputs that no tool would write: deep nesting, truncation, damage, excessive requests. Each must lead to a
//! module or a diagnostic, even on the small stack of a test thread.

use farcall_ir::{Attribute, Source, text};
use farcall_testing::SplitMix;

/// A program with most kinds of syntax.
const SAMPLE: &str = r##"
#map = {a = [1, 2], b = #stablehlo<precision HIGH>}
!t = tensor<2x2xf32>
#loc1 = loc("a.py":1:2)
module @"a b" attributes {x = #map, y = array<i64: 1, -2>, z.w = dense<[[1, 2]]> : tensor<1x2xindex>} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: !t {jax.arg = "\C3\A9"} loc("x"), %arg1: tensor<i32>) -> (!t {r = unit}, tensor<i32>) attributes {k = 0x7FC00000 : f32} {
    %cst = stablehlo.constant dense<[[1.0, 2.5e-3], [0x7FC00000, -0.0]]> : tensor<2x2xf32> loc(#loc2)
    %z = stablehlo.constant dense<(1.0, -2.0)> : tensor<3xcomplex<f64>>
    %h = stablehlo.constant dense<"0x0001FF7F"> : tensor<2xi16>
    %q = "stablehlo.uniform_quantize"(%cst) : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.1:-3, 0.2}>>
    %0:2 = stablehlo.while(%iterArg = %cst, %iterArg_0 = %arg1) : tensor<2x2xf32>, tensor<i32> attributes {u}
    cond {
      %1 = stablehlo.compare LT, %iterArg_0, %arg1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %arg0 : tensor<2x2xf32>
      stablehlo.return %1, %iterArg_0 : tensor<2x2xf32>, tensor<i32>
    }
    %s = stablehlo.slice %0#0 [0:2, 0:2:2] : (tensor<2x2xf32>) -> tensor<2x1xf32>
    %i = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%0#0 init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
    %r2 = stablehlo.reduce(%0#0 init: %i) across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
     reducer(%a: tensor<f32>, %b: tensor<f32>)  {
      stablehlo.return %b : tensor<f32>
    }
    %so = "stablehlo.sort"(%0#0) <{dimension = -1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32> loc(unknown), %b: tensor<f32>):
      %p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%p) : (tensor<i1>) -> ()
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %c = stablehlo.custom_call @"t u"(%so) {backend_config = "", mhlo.backend_config = {n = 1.5 : f32}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %d = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0], precision = [DEFAULT, HIGH] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    check.expect_almost_eq_const %r, dense<1.0> : tensor<f32> {tolerance = 0.1 : f64}
    %f = call @f(%0#1) : (tensor<i32>) -> tensor<i32>
    return %d, %f : tensor<2x2xf32>, tensor<i32>
  }
  "func.func"() <{function_type = (tensor<i32>) -> tensor<i32>, sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<i32>):
    "func.return"(%x) : (tensor<i32>) -> ()
  }) : () -> ()
}
#loc2 = loc(callsite("f"(#loc1) at fused<"m">["g.py":3:4 to :9, unknown]))
{-#
  dialect_resources: {builtin: {blob: "0x040000000100"}}
#-}
"##;

fn parse(text: &str) -> Result<farcall_ir::Module, farcall_ir::ProgramError> {
    text::parse(&Source::new("t", text))
}

fn error(text: &str) -> String {
    let e = parse(text).expect_err("the program has a mistake");
    assert!(!e.diagnostics.is_empty());
    let message = e.to_string();
    assert!(message.len() < 40_000, "the message is too long: {} bytes", message.len());
    message
}

#[test]
fn the_sample_round_trips() {
    let module = parse(SAMPLE).unwrap_or_else(|e| panic!("{e}"));
    let printed = text::print(&module);
    assert_eq!(parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}")), module);
    let again = text::print(&parse(&printed).unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(printed, again);
}

#[test]
fn truncation_is_never_a_panic() {
    for (end, _) in SAMPLE.char_indices() {
        if let Err(e) = parse(&SAMPLE[..end]) {
            e.to_string();
        }
    }
}

#[test]
fn damage_is_never_a_panic() {
    let mut random = SplitMix::new(1);
    let pool = b"0123456789abcxf%#!@^<>()[]{}\"\\,:=-+*?. \n\t\0/_~\x7f";
    let mut read = 0;
    for _ in 0..3000 {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = pool[random.below(pool.len())],
                1 => bytes.insert(at, pool[random.below(pool.len())]),
                2 => {
                    bytes.remove(at);
                }
                // A piece of the text is inserted at another place.
                _ => {
                    let from = random.below(bytes.len());
                    let len = random.below(40).min(bytes.len() - from);
                    let piece = bytes[from..from + len].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        let damaged = String::from_utf8_lossy(&bytes).into_owned();
        match parse(&damaged) {
            Err(e) => {
                e.to_string();
            }
            Ok(module) => {
                read += 1;
                let printed = text::print(&module);
                let again = parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}\n{damaged}"));
                assert!(
                    again == module,
                    "the printed text is read as a different module\n{printed}\n{damaged}"
                );
            }
        }
    }
    assert!(read > 50, "only {read} of the damaged texts can still be parsed");
}

#[test]
fn binary_text_is_an_error() {
    for text in ["\u{89}PNG\r\n\u{1a}\n\0\0\0\rIHDR\0\0", "", "\0", "   \n// nothing\n", "\u{feff}module {}"]
    {
        error(text);
    }
}

fn nested(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

#[test]
fn deep_nesting_is_an_error() {
    let body = |inner: &str| format!("func.func @f() {{\n{inner}\nreturn\n}}");
    let many = 100_000;
    let cases = [
        nested("\"stablehlo.case\"(%0) ({", "", "}) : (tensor<i32>) -> ()", 20_000),
        nested("stablehlo.while() cond {", "", "} do {}", 20_000),
        nested("\"a.b\"() ({", "", "}) : () -> ()", 20_000),
        format!("\"a.b\"() {{x = {}}} : () -> ()", nested("[", "", "]", many)),
        format!("\"a.b\"() {{x = {}}} : () -> ()", nested("{x=", "1", "}", many)),
        format!("\"a.b\"() {{x = {}}} : () -> ()", nested("tuple<", "i32", ">", many)),
        format!("\"a.b\"() {{x = {}}} : () -> ()", nested("(", "i32", ") -> i32", many)),
        format!("\"a.b\"() {{x = dense<{}> : tensor<1xi32>}} : () -> ()", nested("[", "1", "]", many)),
        format!("\"a.b\"() : () -> () loc({})", nested("\"a\"(", "unknown", ")", many)),
        format!("\"a.b\"() : () -> () loc({})", nested("fused[", "unknown", "]", many)),
        format!("stablehlo.constant {}", "[".repeat(many)),
        format!("a.b {}", nested("(", "", ")", many)),
        format!("stablehlo.custom_call @a() {{x = {}}} : () -> ()", nested("#a.b<x = ", "1", ">", 5_000)),
    ];
    for case in &cases {
        let _ = parse(&body(case)).map_err(|e| e.to_string());
    }
    for case in &cases[..7] {
        assert!(error(&body(case)).contains("nest"), "no error about nesting in {}", &case[..40]);
    }
    assert!(error(&nested("module {", "", "}", 20_000)).contains("nest"));
}

#[test]
fn nesting_below_the_limit_is_read() {
    let depth = 120;
    let open = "stablehlo.while() cond {\n%c = stablehlo.constant dense<true> : tensor<i1>\nstablehlo.return %c : tensor<i1>\n} do {\n";
    let text = format!(
        "func.func @f() {{\n{}stablehlo.return\n{}return\n}}",
        open.repeat(depth),
        "}\nstablehlo.return\n".repeat(depth - 1) + "}\n"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let printed = text::print(&module);
    assert!(parse(&printed).is_ok_and(|m| m == module));
}

#[test]
fn aliases_of_aliases_stay_small() {
    let mut attrs = "#a0 = [1, 2]\n".to_owned();
    let mut types = "!t0 = tensor<f32>\n".to_owned();
    let mut locs = "#loc0 = loc(\"a\")\n".to_owned();
    for i in 1..60 {
        let p = i - 1;
        attrs += &format!("#a{i} = [#a{p}, #a{p}]\n");
        types += &format!("!t{i} = tuple<!t{p}, !t{p}>\n");
        locs += &format!("#loc{i} = loc(fused[#loc{p}, #loc{p}])\n");
    }
    assert!(error(&format!("{attrs}module attributes {{a = #a59}} {{}}")).contains("aliases stand for"));
    assert!(error(&format!("{types}func.func @f(%a: !t59) {{ return }}")).contains("aliases stand for"));
    assert!(parse(&format!("{locs}func.func @f() {{ return loc(#loc59) }}")).is_ok());
    // A chain of locations that is too long for recursion. It can be read if each inner location is defined
    // before the outer one; in the opposite order, it is an error.
    let chain = |order: &mut dyn Iterator<Item = usize>| {
        let lines: Vec<String> =
            order.map(|i| format!("#loc{} = loc(callsite(\"f\" at #loc{i}))\n", i + 1)).collect();
        format!("func.func @f() {{ return loc(#loc50000) }}\n#loc0 = loc(\"x\")\n{}", lines.concat())
    };
    assert!(parse(&chain(&mut (0..50_000))).is_ok());
    assert!(error(&chain(&mut (0..50_000).rev())).contains("nested"));
    assert!(error("#a = [#b]\n#b = [#a]\nmodule attributes {x = #a} {}").contains("#a is not defined"));
}

#[test]
fn greed_is_an_error() {
    let constant = |c: &str| format!("func.func @f() {{\n%0 = stablehlo.constant {c}\nreturn\n}}");
    for c in [
        "dense<1.0> : tensor<9000000000000000000xf32>",
        "dense<1> : tensor<9223372036854775807x9223372036854775807xi8>",
        "dense<\"0x0011\"> : tensor<5000000000xi8>",
        "dense<[1, 2]> : tensor<99999999999xi64>",
        "dense<\"0x0011\"> : tensor<99999999999999xi64>",
        "dense<> : tensor<99999999999xi64>",
        "dense<1> : tensor<99999999999999999999xi8>",
        "dense<1> : tensor<?xi8>",
    ] {
        error(&constant(c));
    }
    // A splat stores one element, whatever the size of the tensor.
    assert!(parse(&constant("dense<0.0> : tensor<100000000000xf32>")).is_ok());
}

#[test]
fn every_small_float_round_trips() {
    for (ty, bits) in [
        ("f4E2M1FN", 4),
        ("f6E2M3FN", 6),
        ("f6E3M2FN", 6),
        ("f8E3M4", 8),
        ("f8E4M3", 8),
        ("f8E4M3B11FNUZ", 8),
        ("f8E4M3FN", 8),
        ("f8E4M3FNUZ", 8),
        ("f8E5M2", 8),
        ("f8E5M2FNUZ", 8),
        ("f8E8M0FNU", 8),
        ("bf16", 16),
        ("f16", 16),
    ] {
        let codes = 0..1u32 << bits;
        for chunk in codes.clone().collect::<Vec<_>>().chunks(64) {
            let list: Vec<String> = chunk.iter().map(|c| format!("0x{c:X}")).collect();
            let text = format!("dense<[{}]> : tensor<{}x{ty}>", list.join(", "), chunk.len());
            let attr = text.parse::<Attribute>().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(attr.to_string().parse::<Attribute>().unwrap_or_else(|e| panic!("{e}")), attr);
        }
        for code in codes.step_by(if bits == 16 { 7 } else { 1 }) {
            let attr = format!("0x{code:X} : {ty}").parse::<Attribute>().unwrap_or_else(|e| panic!("{e}"));
            let again = attr.to_string().parse::<Attribute>().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again, attr, "0x{code:X} : {ty}");
        }
    }
}

#[test]
fn floats_round_trip() {
    let mut random = SplitMix::new(7);
    for ty in ["f32", "f64"] {
        let list: Vec<String> = (0..100)
            .map(|_| {
                let bits = (random.below(usize::MAX) as u64) ^ (random.below(usize::MAX) as u64) << 1;
                if ty == "f32" { format!("0x{:X}", bits as u32) } else { format!("0x{bits:X}") }
            })
            .collect();
        let text = format!("dense<[{}]> : tensor<100x{ty}>", list.join(", "));
        let attr = text.parse::<Attribute>().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(attr.to_string().parse::<Attribute>().unwrap_or_else(|e| panic!("{e}")), attr);
    }
}

/// The order of attributes in a module depends neither on their order in the text nor on their number.
#[test]
fn attributes_are_in_the_order_of_their_names() {
    let program = |names: &mut dyn Iterator<Item = usize>| {
        let list: Vec<String> = names.map(|i| format!("a{i:06} = {i} : i64")).collect();
        let list = list.join(", ");
        format!(
            "func.func @f() {{\n\"stablehlo.custom_call\"() {{call_target_name = \"t\", {list}}} : () -> ()\nreturn\n}}"
        )
    };
    for n in [3, 63, 64, 65, 100_000] {
        let module = parse(&program(&mut (0..n).rev())).unwrap_or_else(|e| panic!("{e}"));
        assert!(module == parse(&program(&mut (0..n))).unwrap_or_else(|e| panic!("{e}")), "{n} attributes");
        assert!(module == parse(&text::print(&module)).unwrap_or_else(|e| panic!("{e}")), "{n} attributes");
        let twice = error(&program(&mut (0..n).rev().chain([n / 2])));
        assert!(
            twice.contains(&format!("attribute `a{:06}` is given twice", n / 2)),
            "{n} attributes: {twice}"
        );
    }
}
