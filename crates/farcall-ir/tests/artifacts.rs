//! Portable artifacts with the same program as text beside them: both are read as the same module. So are functions
//! that JAX has exported.
//!
//! The artifacts are those of the shared corpus, where it is, and those of the folder that `FARCALL_ARTIFACTS` names:
//! `NAME.mlirbc` or `NAME.mlir.bc` with `NAME.mlir`, and `NAME.bin`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farcall_ir::exported::{Exported, is_exported};
use farcall_ir::{Module, Source, bytecode, text, verify, vhlo};

/// `shared` in a folder above this crate.
fn shared() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("shared"))
        .find(|dir| dir.join("corpus").is_dir())
}

/// Artifacts and the files of their texts.
fn pairs() -> Vec<(PathBuf, PathBuf)> {
    let mut out = Vec::new();
    if let Some(shared) = shared() {
        for entry in std::fs::read_dir(shared.join("corpus/cases")).into_iter().flatten().flatten() {
            let (artifact, text) = (entry.path().join("program.mlirbc"), entry.path().join("exported.mlir"));
            if artifact.exists() {
                out.push((artifact, text));
            }
        }
    }
    if let Some(folder) = std::env::var_os("FARCALL_ARTIFACTS") {
        for entry in std::fs::read_dir(&folder).expect("FARCALL_ARTIFACTS is a folder").flatten() {
            let path = entry.path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
            if let Some(base) = name.strip_suffix(".mlirbc").or_else(|| name.strip_suffix(".mlir.bc")) {
                out.push((path.clone(), path.with_file_name(format!("{base}.mlir"))));
            }
        }
    }
    out.sort();
    out
}

/// Files of exported functions.
fn exports() -> Vec<PathBuf> {
    let mut out = Vec::new();
    if let Some(shared) = shared() {
        let cases = std::fs::read_dir(shared.join("corpus/cases")).into_iter().flatten().flatten();
        out.extend(cases.map(|entry| entry.path().join("program.bin")).filter(|path| path.exists()));
    }
    if let Some(folder) = std::env::var_os("FARCALL_ARTIFACTS") {
        let files = std::fs::read_dir(&folder).expect("FARCALL_ARTIFACTS is a folder").flatten();
        out.extend(files.map(|e| e.path()).filter(|path| path.extension().is_some_and(|e| e == "bin")));
    }
    out.sort();
    out
}

/// The first lines in which two texts differ.
fn difference(found: &str, expected: &str) -> String {
    let lines = found.lines().zip(expected.lines()).filter(|(a, b)| a != b).take(3);
    let lines: Vec<String> = lines.map(|(a, b)| format!("  artifact: {a}\n  text:     {b}")).collect();
    if lines.is_empty() { "  one is longer".to_owned() } else { lines.join("\n") }
}

fn without_name(mut module: Module) -> Module {
    module.name = None;
    module
}

#[test]
fn artifacts_and_texts_are_the_same_programs() {
    let pairs = pairs();
    if pairs.is_empty() {
        eprintln!("skipped: no folder `shared` beside this checkout, nor FARCALL_ARTIFACTS");
        return;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for (artifact, text_file) in &pairs {
        let name = artifact.display().to_string();
        let bytes = std::fs::read(artifact).expect("an artifact can be read");
        assert!(bytecode::is_bytecode(&bytes), "{name}");
        let module = match vhlo::read(&bytes, "") {
            Ok(module) => module,
            Err(e) => {
                *counts.entry("not read").or_default() += 1;
                failures.push(format!("{name}: {e}"));
                continue;
            }
        };
        *counts.entry("read").or_default() += 1;
        match verify::verify(&module) {
            Ok(()) => *counts.entry("valid").or_default() += 1,
            Err(e) => failures.push(format!("{name}: invalid: {e}")),
        }
        let source = std::fs::read_to_string(text_file).unwrap_or_default();
        let Ok(expected) = text::parse(&Source::new(text_file.display().to_string(), source)) else {
            *counts.entry("without a text that is read").or_default() += 1;
            continue;
        };
        let (module, expected) = (without_name(module), without_name(expected));
        if module == expected {
            *counts.entry("same as the text").or_default() += 1;
        } else {
            let difference = difference(&text::print(&module), &text::print(&expected));
            failures.push(format!("{name}: another module than the text\n{difference}"));
        }
    }
    eprintln!("{} artifacts: {counts:?}", pairs.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn exported_functions_say_what_their_programs_take() {
    let files = exports();
    if files.is_empty() {
        eprintln!("skipped: no folder `shared` beside this checkout, nor FARCALL_ARTIFACTS");
        return;
    }
    let mut same = 0;
    for file in &files {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).expect("an exported function can be read");
        assert!(is_exported(&bytes), "{name}");
        let exported = Exported::read(&bytes, &name).unwrap_or_else(|e| panic!("{e}"));
        let module = exported.module(&name).unwrap_or_else(|e| panic!("{e}"));
        verify::verify(&module).unwrap_or_else(|e| panic!("{name}: {e}"));
        let main = module.func("main").unwrap_or_else(|| panic!("{name}: no main"));
        assert_eq!(exported.in_tree.leaves(), exported.in_avals.len(), "{name}: {:?}", exported.in_tree);
        assert_eq!(exported.out_tree.leaves(), exported.out_avals.len(), "{name}: {:?}", exported.out_tree);
        let tokens = exported.ordered_effects.len();
        let platform = usize::from(exported.platforms.len() > 1);
        assert_eq!(main.params().len(), exported.kept_vars.len() + tokens + platform, "{name}");
        assert_eq!(main.results.len(), exported.out_avals.len() + tokens, "{name}");
        assert_eq!(exported.in_shardings.len(), exported.in_avals.len(), "{name}");
        let sizes: Vec<&str> =
            exported.out_avals.iter().flat_map(|a| a.shape.iter().map(String::as_str)).collect();
        let written = main.results.iter().skip(tokens).filter_map(|ty| ty.tensor());
        let written: Vec<String> = written.flat_map(|t| t.dims().map(|d| d.to_string())).collect();
        assert!(
            sizes.iter().zip(&written).all(|(a, b)| a == b || b == "?"),
            "{name}: {sizes:?}, {written:?}"
        );
        if let Ok(source) = std::fs::read_to_string(file.with_file_name("exported.mlir")) {
            let expected = text::parse(&Source::new("exported.mlir", source)).expect("the text is read");
            assert!(without_name(module) == without_name(expected), "{name}");
            same += 1;
        }
    }
    eprintln!("{} exported functions are read and valid, {same} the same as their texts", files.len());
}

#[test]
fn other_files_are_not_taken_for_artifacts() {
    for bytes in
        [&b""[..], b"module {}", b"ML", b"\x89FCPLAN\n", &[0; 64], &[0xff; 64], &[4, 0, 0, 0, 4, 0, 0, 0]]
    {
        assert!(!bytecode::is_bytecode(bytes) && !is_exported(bytes), "{bytes:?}");
        assert!(Exported::read(bytes, "").is_err() && vhlo::read(bytes, "").is_err());
    }
    let e = vhlo::read(b"ML\xefR\x0dsomeone", "f.mlirbc").unwrap_err();
    let message = "at byte 5 of f.mlirbc, in the header: a text without an end";
    assert_eq!(e.diagnostics[0].message, message);
}
