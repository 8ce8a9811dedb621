//! Fuzzes the readers of StableHLO and HLO text with mutated programs. Each text must lead to a module or a
//! diagnostic, never to a panic. A module must print as a text that is read as the same module.
//!
//! The runs are deterministic: a seed and an iteration count (`FARCALL_FUZZ_SEED`, `FARCALL_FUZZ_ITERATIONS`)
//! reproduce them. (The engine's `fuzz/programs.rs` fuzzes the later stages.)

use farcall_ir::{Attribute, Source, Type, hlo, text, verify};
use farcall_testing::fuzz::run;
use farcall_testing::mutate::Seeds;
use farcall_testing::programs::programs;

/// Reads a StableHLO text, and checks that the module survives printing. Returns true if the text can be
/// read.
fn target(text: &str) -> bool {
    match text::parse(&Source::new("fuzz", text)) {
        Ok(module) => {
            let printed = text::print(&module);
            let again = text::parse(&Source::new("printed", printed.as_str()));
            let again = again.unwrap_or_else(|e| panic!("{e}\nprinted:\n{printed}\nread:\n{text}"));
            assert_eq!(again, module, "printed:\n{printed}\nread:\n{text}");
            if let Err(e) = verify::verify(&module) {
                assert!(e.to_string().len() < 3_000_000);
            }
            true
        }
        Err(e) => {
            assert!(e.to_string().len() < 3_000_000);
            false
        }
    }
}

/// Reads an HLO text. Checks that the module survives printing as StableHLO, and that a module printed as HLO
/// and read again survives a second such round trip. Returns true if the text can be read.
fn hlo_target(text: &str) -> bool {
    let module = match hlo::parse(&Source::new("fuzz", text)) {
        Ok(module) => module,
        Err(e) => {
            assert!(e.to_string().len() < 3_000_000);
            return false;
        }
    };
    let printed = text::print(&module);
    let again = text::parse(&Source::new("printed", printed.as_str()));
    let again = again.unwrap_or_else(|e| panic!("{e}\nprinted:\n{printed}\nread:\n{text}"));
    assert_eq!(again, module, "printed:\n{printed}\nread:\n{text}");
    if verify::verify(&module).is_err() {
        return true;
    }
    let Ok(printed) = hlo::print(&module) else { return true };
    let read = |printed: &str| {
        let again = hlo::parse(&Source::new("printed", printed));
        again.unwrap_or_else(|e| panic!("{e}\nprinted:\n{printed}\nread:\n{text}"))
    };
    let again = read(&printed);
    verify::verify(&again).unwrap_or_else(|e| panic!("{e}\nprinted:\n{printed}\nread:\n{text}"));
    let twice = hlo::print(&again).unwrap_or_else(|e| panic!("{e}\nprinted:\n{printed}\nread:\n{text}"));
    assert_eq!(read(&twice), again, "printed:\n{printed}\nread:\n{text}");
    true
}

/// Reads a text as an attribute and as a type, and checks that each survives printing.
fn small_target(text: &str) {
    if let Ok(attr) = text.parse::<Attribute>() {
        let printed = attr.to_string();
        let again =
            printed.parse::<Attribute>().unwrap_or_else(|e| panic!("{e}\nprinted: {printed}\nread: {text}"));
        assert_eq!(again, attr, "printed: {printed}\nread: {text}");
    }
    match text.parse::<Type>() {
        Ok(ty) => assert_eq!(ty.to_string().parse::<Type>().ok(), Some(ty), "{text}"),
        Err(e) => drop(e.to_string()),
    }
}

#[test]
fn modules() {
    let seeds = Seeds::new(programs());
    let mut read = 0;
    let n = run(3_000, |random| read += u64::from(target(&seeds.mutated(random))));
    println!("{read} of {n} mutated texts can be read");
    assert!(read > n / 20, "only {read} of {n} mutated texts can be read");
}

#[test]
fn hlo_texts() {
    // Hand-written programs, and other programs converted to HLO.
    let given = include_str!("../hlo/forms.hlo").split("\n// -----\n").map(str::to_owned);
    let made = programs().into_iter().step_by(3).filter_map(|program| {
        let module = text::parse(&Source::new("seed", program)).ok()?;
        verify::verify(&module).ok()?;
        hlo::print(&module).ok()
    });
    let seeds = Seeds::new(given.chain(made).collect());
    let mut read = 0;
    let n = run(3_000, |random| read += u64::from(hlo_target(&seeds.mutated(random))));
    println!("{read} of {n} mutated texts can be read");
    assert!(read > n / 20, "only {read} of {n} mutated texts can be read");
}

#[test]
fn types_and_attributes() {
    let texts = [
        "tensor<4x?xf32>",
        "tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.1:-3, 0.2}>>",
        "tuple<token, tensor<i1>>",
        "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>",
        "dense<0.5> : tensor<3000000000xf64>",
        "array<i64: 1, -2>",
        "dense<\"0x0001FF7F\"> : tensor<2xi16>",
        "dense<(1.0, -2.0)> : tensor<3xcomplex<f64>>",
        "[1 : i32, unit, \"é\\C3\"]",
        "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
        "{a = 0x7FC00000 : f32, b = @s, c = [tensor<2xf32>]}",
        "tensor<4xf32, #stablehlo.bounds<8>>",
        "dense<true> : tensor<2xi1>",
        "dense<[]> : tensor<0x2xindex>",
    ];
    let seeds = Seeds::new(texts.map(str::to_owned).to_vec());
    run(20_000, |random| small_target(&seeds.mutated(random)));
}
