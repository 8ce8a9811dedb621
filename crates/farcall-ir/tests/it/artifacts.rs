//! Portable artifacts beside texts of the same programs: both are read as the same module. Functions exported
//! by JAX are read as well.
//!
//! The files are in the folder `artifacts` (created by its `make.py`), in the shared corpus if it exists, and
//! in the folder that `FARCALL_ARTIFACTS` names. An artifact is `NAME.mlirbc` or `NAME.mlir.bc`, with its
//! text in `NAME.mlir`. An exported function is `NAME.bin`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use farcall_ir::exported::{AvalDType, DisabledCheck, Exported, Tree, is_exported};
use farcall_ir::interface::ArgumentInfo;
use farcall_ir::{DType, Module, Source, bytecode, text, verify, vhlo};

/// The folder `shared` in a parent folder of this crate.
fn shared() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("shared"))
        .find(|dir| dir.join("corpus").is_dir())
}

/// The files of a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.flatten().map(|entry| entry.path()).collect()
}

/// The files in the folder `artifacts`, and in the folder that the variable `FARCALL_ARTIFACTS` names.
fn folders() -> Vec<PathBuf> {
    let mut out = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/artifacts"));
    if let Some(folder) = std::env::var_os("FARCALL_ARTIFACTS") {
        out.extend(files(Path::new(&folder)));
    }
    out
}

/// Artifacts, each with the file of its text.
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
    for path in folders() {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if let Some(base) = name.strip_suffix(".mlirbc").or_else(|| name.strip_suffix(".mlir.bc")) {
            let base = base.strip_suffix(".1_0_0").unwrap_or(base);
            out.push((path.clone(), path.with_file_name(format!("{base}.mlir"))));
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
    out.extend(folders().into_iter().filter(|path| path.extension().is_some_and(|e| e == "bin")));
    out.sort();
    out
}

/// The first lines that differ between two texts.
fn difference(found: &str, expected: &str) -> String {
    let lines = found.lines().zip(expected.lines()).filter(|(a, b)| a != b).take(3);
    let lines: Vec<String> = lines.map(|(a, b)| format!("  artifact: {a}\n  text:     {b}")).collect();
    if lines.is_empty() { "  one text is longer".to_owned() } else { lines.join("\n") }
}

fn without_name(mut module: Module) -> Module {
    module.name = None;
    module
}

#[test]
fn artifacts_and_texts_are_the_same_programs() {
    let pairs = pairs();
    if shared().is_none() {
        eprintln!("the artifacts of `shared` are skipped: the folder does not exist");
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
            Ok(_) => *counts.entry("valid").or_default() += 1,
            Err(e) => failures.push(format!("{name}: invalid: {e}")),
        }
        let source = std::fs::read_to_string(text_file).unwrap_or_default();
        let Ok(expected) = text::parse(&Source::new(text_file.display().to_string(), source)) else {
            *counts.entry("without a readable text").or_default() += 1;
            continue;
        };
        let (module, expected) = (without_name(module), without_name(expected));
        if module == expected {
            *counts.entry("same as the text").or_default() += 1;
        } else {
            let difference = difference(&text::print(&module), &text::print(&expected));
            failures.push(format!("{name}: the artifact and the text are different modules\n{difference}"));
        }
    }
    eprintln!("{} artifacts: {counts:?}", pairs.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn exported_functions_say_what_their_programs_take() {
    let files = exports();
    let mut same = 0;
    for file in &files {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).expect("an exported function can be read");
        assert!(is_exported(&bytes), "{name}");
        let exported = Exported::read(&bytes, &name).unwrap_or_else(|e| panic!("{e}"));
        let module = exported.module(&name).unwrap_or_else(|e| panic!("{e}"));
        verify::verify(&module).unwrap_or_else(|e| panic!("{name}: {e}"));
        let main = module.func("main").unwrap_or_else(|| panic!("{name}: no function `main`"));
        assert_eq!(exported.in_tree.leaves(), exported.in_avals.len(), "{name}: {:?}", exported.in_tree);
        assert_eq!(exported.out_tree.leaves(), exported.out_avals.len(), "{name}: {:?}", exported.out_tree);
        let tokens = exported.ordered_effects.len();
        let platform = usize::from(exported.platforms.len() > 1);
        assert_eq!(main.params().len(), exported.kept_vars.len() + tokens + platform, "{name}");
        assert_eq!(main.results().len(), exported.out_avals.len() + tokens, "{name}");
        assert_eq!(exported.in_shardings.len(), exported.in_avals.len(), "{name}");
        let sizes: Vec<&str> =
            exported.out_avals.iter().flat_map(|a| a.shape.iter().map(String::as_str)).collect();
        let written = main.results().iter().skip(tokens).filter_map(|ty| ty.tensor());
        let written: Vec<String> = written.flat_map(|t| t.dims().map(|d| d.to_string())).collect();
        assert!(
            sizes.iter().zip(&written).all(|(a, b)| a == b || b == "?"),
            "{name}: the described sizes {sizes:?} are not the sizes {written:?} of the program"
        );
        let texts = [file.with_extension("bin.mlir"), file.with_file_name("exported.mlir")];
        if let Some(source) = texts.iter().find_map(|text| std::fs::read_to_string(text).ok()) {
            let expected = text::parse(&Source::new("exported.mlir", source)).expect("the text can be read");
            assert!(without_name(module) == without_name(expected), "{name}: the text is a different module");
            same += 1;
        }
    }
    eprintln!(
        "{} exported functions can be read and are valid; {same} have a text, which is the same module",
        files.len()
    );
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

#[test]
fn a_truncated_artifact_is_reported_as_such() {
    let bytes = include_bytes!("../artifacts/plain.mlirbc");
    let e = vhlo::read(&bytes[..bytes.len() - 300], "f.mlirbc").unwrap_err();
    assert!(e.diagnostics[0].message.contains("the file is truncated"), "{e}");
}

#[test]
fn exported_functions_are_described() {
    let read =
        |name: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/artifacts").join(name));
    let bytes = read("symbolic.bin").expect("the file is in the repository");
    let symbolic = Exported::read(&bytes, "symbolic.bin").expect("the function can be read");
    assert_eq!(symbolic.function_name, "layer");
    assert_eq!(symbolic.platforms, ["cpu", "cuda"]);
    let params = Tree::Dict(vec![("b".to_owned(), Tree::Leaf), ("w".to_owned(), Tree::Leaf)]);
    let arguments = Tree::Tuple(vec![params, Tree::Leaf]);
    assert_eq!(symbolic.in_tree, Tree::Tuple(vec![arguments, Tree::Dict(Vec::new())]));
    assert_eq!(
        symbolic.out_tree,
        Tree::Dict(vec![("n".to_owned(), Tree::Leaf), ("y".to_owned(), Tree::Leaf)])
    );
    assert_eq!(symbolic.in_avals[2].shape, ["b", "4"]);
    assert_eq!(symbolic.in_avals[2].dtype, AvalDType::Plain(DType::F32));
    assert_eq!((symbolic.kept_vars.as_slice(), symbolic.devices), (&[0, 1, 2][..], 1));

    let bytes = read("calls.bin").expect("the file is in the repository");
    let calls = Exported::read(&bytes, "calls.bin").expect("the function can be read");
    assert_eq!(calls.kept_vars, [0, 2]);
    assert_eq!(calls.disabled_checks, [DisabledCheck::CustomCall("my_target".to_owned())]);
    assert_eq!(calls.out_tree, Tree::Tuple(vec![Tree::Leaf, Tree::None]));
    assert!(calls.vjp.is_none() && calls.ordered_effects.is_empty());

    // The program itself has to agree with its description.
    assert!(calls.module("calls.bin").is_ok());
    let error =
        |exported: Exported<'_>| exported.module("calls.bin").unwrap_err().diagnostics[0].message.clone();
    assert_eq!(
        error(Exported { kept_vars: vec![0], ..calls.clone() }),
        "the program takes 2 arguments, but 1 are expected: 0 for the platform, 0 tokens, and 1 of the function"
    );
    assert_eq!(
        error(Exported { platforms: vec!["cpu".to_owned(), "cuda".to_owned()], ..calls.clone() }),
        "the program takes 2 arguments, but 3 are expected: 1 for the platform, 0 tokens, and 2 of the function"
    );
    assert_eq!(
        error(Exported { out_avals: Vec::new(), ..calls.clone() }),
        "the program returns 1 results, but 0 are expected: 0 tokens, and 0 of the function"
    );

    let bytes = read("derivative.bin").expect("the file is in the repository");
    let derivative = Exported::read(&bytes, "derivative.bin").expect("the function can be read");
    let vjp = derivative.vjp.expect("the file contains a derivative");
    assert_eq!((vjp.in_avals.len(), vjp.out_avals.len()), (2, 1));
    assert!(vjp.module("").is_ok());
}

#[test]
fn exported_functions_have_an_interface() {
    let read = |name: &str| {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/artifacts").join(name))
            .expect("the file is in the repository")
    };
    let described = |exported: &Exported<'_>, module: &Module| {
        let interface = exported.interface(module);
        let argument = |a: &ArgumentInfo| {
            format!("{} = {}: {} at {:?}", a.name, a.path.as_deref().unwrap_or_default(), a.ty, a.input)
        };
        let results: Vec<String> = interface.results.iter().map(ToString::to_string).collect();
        (interface.arguments.iter().map(argument).collect::<Vec<_>>(), results)
    };
    let bytes = read("symbolic.bin");
    let symbolic = Exported::read(&bytes, "symbolic.bin").expect("the function can be read");
    let [whole, cuda] = [symbolic.module(""), symbolic.module_for("", "cuda")]
        .map(|module| module.expect("the function can be read"));
    verify::verify(&cuda).unwrap_or_else(|e| panic!("{e}"));
    let params = |module: &Module| module.func("main").map(|main| main.params().len());
    assert_eq!((params(&whole), params(&cuda)), (Some(4), Some(3)));
    for module in [&whole, &cuda] {
        let (arguments, results) = described(&symbolic, module);
        assert_eq!(
            arguments,
            [
                "params['b'] = args[0]['b']: f32[3] at Some(0)",
                "params['w'] = args[0]['w']: f32[4,3] at Some(1)",
                "x = args[1]: f32[b,4] at Some(2)",
            ]
        );
        assert_eq!(results, ["s32[]", "f32[b,3]"]);
    }
    let error = symbolic.module_for("", "tpu").expect_err("the function was not exported for tpu");
    assert_eq!(error.diagnostics[0].message, "layer was exported for cpu, cuda, not for tpu");

    let bytes = read("calls.bin");
    let calls = Exported::read(&bytes, "calls.bin").expect("the function can be read");
    let module = calls.module("").expect("the function can be read");
    let (arguments, results) = described(&calls, &module);
    assert_eq!(
        arguments,
        [
            "x = args[0]: f32[3] at Some(0)",
            "args[1][0] = args[1][0]: f32[] at None",
            "n = args[2]: s32[] at Some(1)",
        ]
    );
    assert_eq!(results, ["f32[3]"]);
}

/// Texts of programs: from the folder of artifacts, the engine's tests, and the shared suite and corpus.
fn texts() -> Vec<PathBuf> {
    let filetests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../farcall/filetests");
    let mut out = folders();
    out.extend(files(&filetests));
    if let Some(shared) = shared() {
        out.extend(files(&shared.join("stablehlo-suite/testdata")));
        let cases = files(&shared.join("corpus/cases")).into_iter();
        out.extend(cases.flat_map(|case| ["program.mlir", "exported.mlir"].map(|name| case.join(name))));
    }
    out.retain(|path| path.extension().is_some_and(|e| e == "mlir"));
    out.sort();
    out
}

/// The text of a module, reduced to what artifacts preserve. Attributes that equal their defaults are
/// removed: an artifact always contains them, but a text may omit them. The channel kinds of collective operations are replaced by 0,
/// because artifacts do not store them.
fn without_defaults(module: &Module) -> String {
    let precision = "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]";
    let collective = |line: &str| !line.contains("stablehlo.send") && !line.contains("stablehlo.recv");
    let text = text::print_generic(module);
    let lines = text.lines().map(|line| match collective(line) {
        true => line.replace("handle = 1, type = 1>", "handle = 1, type = 0>"),
        false => line.to_owned(),
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    for default in [precision, "api_version = 1 : i32"] {
        text = text.replace(&format!("{default}, "), "").replace(&format!(", {default}"), "");
    }
    text
}

/// Writes a module and reads it again.
fn rewritten(module: &Module) -> Module {
    let artifact = vhlo::write(module).expect("the module can be written");
    vhlo::read(&artifact.bytes, "rewritten").expect("the artifact can be read")
}

#[test]
fn what_is_written_is_read_back() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for path in texts() {
        let Ok(content) = std::fs::read_to_string(&path) else { continue };
        for (i, program) in text::split_programs(&content) {
            let name = format!("{} {i}", path.display());
            let Ok(module) = text::parse(&Source::new(name.clone(), program)) else { continue };
            if verify::verify(&module).is_err() {
                continue;
            }
            let artifact = match vhlo::write(&module) {
                Ok(artifact) => artifact,
                Err(e) => {
                    let message = &e.diagnostics[0].message;
                    *counts.entry(format!("not written: {message}")).or_default() += 1;
                    continue;
                }
            };
            let (major, minor, _) = artifact.version;
            *counts.entry(format!("written for {major}.{minor}")).or_default() += 1;
            match vhlo::read(&artifact.bytes, "written") {
                Err(e) => failures.push(format!("{name}: {e}")),
                Ok(read) => {
                    // Writing expands CHLO operations, so the module that is read differs from the original.
                    // It contains no CHLO operations, so a second round trip must preserve it. (The tests of
                    // `expand::chlo` compare the values.)
                    let expected = match text::print_generic(&module).contains("\"chlo.") {
                        true => rewritten(&read),
                        false => module,
                    };
                    let (read, written) = (without_defaults(&read), without_defaults(&expected));
                    if read != written {
                        failures.push(format!("{name}\n{}", difference(&read, &written)));
                    }
                }
            }
        }
    }
    eprintln!("{counts:#?}");
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n\n")
    );
}
