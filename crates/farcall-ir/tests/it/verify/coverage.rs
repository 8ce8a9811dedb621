//! Every constraint named in the sources has a program that violates it.

use std::collections::BTreeSet;
use std::path::Path;

/// Constraints that no text violates, because the parser rejects such texts first. `programs.rs` tests them
/// on constructed programs.
const NOT_IN_TEXT: &[&str] = &[
    "case_c1",
    "composite_c2",
    "convolution_c12",
    "convolution_c13",
    "convolution_c17",
    "convolution_c18",
    "convolution_c19",
    "convolution_c20",
    "dynamic_conv_c12",
    "dynamic_conv_c13",
    "dynamic_conv_c17",
    "dynamic_conv_c18",
    "dynamic_conv_c19",
    "dynamic_conv_c20",
    "quantized_type_c1",
    "quantized_type_c10",
];

/// Collects the constraint codes in a source file: string literals, and codes that macros concatenate.
fn named(source: &str, found: &mut BTreeSet<String>) {
    let prefixes: &[&str] = match source {
        s if s.contains("concat!(\"gather_\"") => &["gather_", "dynamic_gather_"],
        s if s.contains("concat!(\"convolution_\"") => &["convolution_", "dynamic_conv_"],
        _ => &[],
    };
    for call in source.split("either!(dynamic, ").skip(1) {
        let literals: Vec<&str> = call.split(')').next().unwrap().split('"').skip(1).step_by(2).collect();
        match literals.as_slice() {
            [constraint] => found.extend(prefixes.iter().map(|p| format!("{p}{constraint}"))),
            [name, constraint] => {
                found.insert(format!("{name}{constraint}"));
                found.insert(format!("dynamic_{name}{constraint}"));
            }
            other => panic!("unknown form of either!: {other:?}"),
        }
    }
    let tests = source.find("#[cfg(test)]").unwrap_or(source.len());
    for literal in source[..tests].split('"').skip(1).step_by(2) {
        let numbered = literal.rsplit_once('_').is_some_and(|(name, number)| {
            !name.is_empty()
                && number.starts_with(['c', 'i', 'o'])
                && number.len() > 1
                && number[1..].bytes().all(|b| b.is_ascii_digit())
        });
        if numbered && literal.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
            found.insert(literal.to_owned());
        }
    }
}

#[test]
fn every_constraint_is_violated_somewhere() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = BTreeSet::new();
    for folder in ["src/infer", "src/verify"] {
        for entry in std::fs::read_dir(here.join(folder)).unwrap() {
            named(&std::fs::read_to_string(entry.unwrap().path()).unwrap(), &mut sources);
        }
    }
    let mut tested = BTreeSet::new();
    for entry in std::fs::read_dir(here.join("tests/verify")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "mlir") {
            let text = std::fs::read_to_string(path).unwrap();
            tested.extend(
                text.lines().filter_map(|l| Some(l.strip_prefix("// [")?.split(']').next()?.to_owned())),
            );
        }
    }
    println!("{} constraints, {} codes in tests", sources.len(), tested.len());
    let missing: Vec<&String> =
        sources.iter().filter(|c| !tested.contains(*c) && !NOT_IN_TEXT.contains(&c.as_str())).collect();
    assert!(missing.is_empty(), "no program violates {missing:?}");
}
