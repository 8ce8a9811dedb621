//! Checks ARCHITECTURE.md: its size, the paths that it names, and invariants that can be read off the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of the code map in ARCHITECTURE.md. The recipes after the map do not count.
const MAX_MAP_CHARS: usize = 15_000;

/// Folders that paths in ARCHITECTURE.md are relative to.
const ROOTS: [&str; 8] = [
    "",
    "crates",
    "crates/farcall",
    "crates/farcall-host/src",
    "crates/farcall-ir",
    "crates/farcall-ir/src",
    "crates/farcall-kernels",
    "crates/farcall-kernels/src",
];

/// Crates without unsafe code.
const SAFE: [&str; 8] = [
    "crates/farcall-sig",
    "crates/farcall-limits",
    "crates/farcall-ir",
    "crates/farcall-macros",
    "crates/farcall-promises",
    "crates/farcall-linalg",
    "crates/farcall-sparse",
    "xtask",
];

/// Maximum number of lines of a source file. In Rust files, the test module at the end does not count.
const MAX_FILE_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the checkout").to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the paths of the Rust files below a folder, relative to the checkout.
fn sources(folder: &str) -> Vec<PathBuf> {
    files(folder, "rs")
}

/// Returns the paths of the files with an extension below a folder, relative to the checkout.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), extension, &mut found);
    assert!(!found.is_empty(), "{folder} has no files `*.{extension}`");
    found.sort();
    found
        .iter()
        .map(|path| path.strip_prefix(root()).expect("the file is in the checkout").to_owned())
        .collect()
}

/// Returns the lines of a file that are not comments.
fn code(file: &Path) -> Vec<String> {
    read(file).lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

/// Returns the text of a file without the test module at its end.
fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code)
}

/// Returns the names of the crates below `crates`.
fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("the folder is readable").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Adds the paths at the start of `text` to `found`: `a::{b, c::d}` has `a::b` and `a::c::d`. Returns the
/// rest of the text.
fn read_paths<'a>(mut text: &'a str, prefix: &[&'a str], found: &mut Vec<Vec<&'a str>>) -> &'a str {
    let mut path = prefix.to_vec();
    loop {
        text = text.trim_start();
        if let Some(mut list) = text.strip_prefix('{') {
            loop {
                // Skips `as NAME` and `*`.
                let rest = read_paths(list, &path, found).trim_start_matches(|c| c != ',' && c != '}');
                match rest.strip_prefix(',') {
                    Some(next) => list = next,
                    None => return rest.strip_prefix('}').unwrap_or(rest),
                }
            }
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        path.push(&text[..end]);
        text = text[end..].trim_start();
        match text.strip_prefix("::") {
            Some(next) => text = next,
            None => break,
        }
    }
    found.push(path);
    text
}

/// Returns the paths that begin with `crate`, `super` or `self`, in `use` declarations and in other code.
/// `code` has no comments.
fn local_paths(code: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("::") {
        let before = code[..at].trim_end();
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        let is_root = ["crate", "super", "self"].contains(&&before[start..]);
        if is_root && !before[..start].ends_with(['$', ':']) {
            read_paths(&code[start..], &[], &mut found);
        }
    }
    found
}

/// Returns the module that a path in `module` refers to. If the path refers to an item, this is the item's
/// module.
fn resolve(module: &[String], path: &[&str], modules: &BTreeMap<Vec<String>, String>) -> Vec<String> {
    let mut found = if path[0] == "crate" { Vec::new() } else { module.to_vec() };
    for name in path {
        match *name {
            "crate" | "self" => {}
            "super" => drop(found.pop()),
            name => {
                found.push(name.to_owned());
                if !modules.contains_key(&found) {
                    found.pop();
                    break;
                }
            }
        }
    }
    found
}

/// Returns the imports between sibling modules of a crate. Each parent module has pairs of an importing and
/// an imported child. Imports by the descendants of a child count as imports by the child.
fn sibling_imports(name: &str) -> BTreeMap<Vec<String>, BTreeSet<(String, String)>> {
    let source = Path::new("crates").join(name).join("src");
    let mut modules = BTreeMap::new();
    for file in sources(&source.to_string_lossy()) {
        let path = file.strip_prefix(&source).expect("the file is in the crate").with_extension("");
        let mut module: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.iter().any(|part| part == "tests") {
            continue;
        }
        module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        let text = read(&file);
        let lines = without_tests(&text).lines();
        let code: Vec<&str> =
            lines.map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
        modules.insert(module, code.join("\n"));
    }
    let mut imports: BTreeMap<Vec<String>, BTreeSet<(String, String)>> = BTreeMap::new();
    for (module, code) in &modules {
        for path in local_paths(code) {
            let imported = resolve(module, &path, &modules);
            let shared = module.iter().zip(&imported).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(shared), imported.get(shared)) {
                imports.entry(module[..shared].to_vec()).or_default().insert((from.clone(), to.clone()));
            }
        }
    }
    imports
}

/// Returns the imports on cycles. An import is on a cycle if the imported module imports the importing one,
/// directly or through other modules.
fn on_cycles(imports: &BTreeSet<(String, String)>) -> Vec<(String, String)> {
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut rest) = (BTreeSet::new(), vec![from]);
        while let Some(module) = rest.pop() {
            if seen.insert(module) {
                rest.extend(imports.iter().filter(|(a, _)| a == module).map(|(_, b)| b.as_str()));
            }
        }
        seen.contains(to)
    };
    imports.iter().filter(|(a, b)| reaches(b, a)).cloned().collect()
}

/// Returns the names that directly follow `crate::` in the code of a folder.
fn imports(folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in sources(folder) {
        for line in code(&file) {
            for (at, prefix) in line.match_indices("crate::") {
                if line[..at].ends_with('$') {
                    continue;
                }
                let rest = &line[at + prefix.len()..];
                let rest = rest.strip_prefix('{').unwrap_or(rest);
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.insert(rest[..end].to_owned());
            }
        }
    }
    found
}

#[test]
fn the_map_is_short() {
    let page = read("ARCHITECTURE.md");
    let (map, _) = page.split_once("\n# Recipes\n").expect("the recipes come last");
    let chars = map.chars().count();
    assert!(chars <= MAX_MAP_CHARS, "the map has {chars} characters, more than {MAX_MAP_CHARS}");
}

#[test]
fn the_paths_exist() {
    let page = read("ARCHITECTURE.md");
    let prose: String = page.split("```").step_by(2).collect();
    let is_path = |code: &&str| {
        code.contains('/')
            && code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
            && !code.contains("NAME")
    };
    let paths: Vec<&str> = prose.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(paths.len() > 40, "only {} paths were found in ARCHITECTURE.md", paths.len());
    let exists = |path: &str| ROOTS.iter().any(|from| root().join(from).join(path).exists());
    let missing: Vec<&&str> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names paths that do not exist: {missing:?}");
}

#[test]
fn each_folder_describes_its_contents() {
    for file in sources("crates") {
        let is_source = file.components().nth(2).is_some_and(|part| part.as_os_str() == "src");
        if is_source && (file.ends_with("mod.rs") || file.ends_with("lib.rs")) {
            assert!(read(&file).starts_with("//!"), "{} has no documentation comment `//!`", file.display());
        }
    }
}

#[test]
fn paths_are_found_in_declarations_and_in_code() {
    let code = "use std::fmt;\nuse super::{a::{self, B as C}, d::*};\n$crate::no(crate::e::f::<T>(self.x));";
    let found: Vec<String> = local_paths(code).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["super::a::self", "super::a::B", "super::d::", "crate::e::f::"]);
    let pair = |(a, b): (&str, &str)| (a.to_owned(), b.to_owned());
    let imports = [("top", "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")].map(pair);
    let cycles = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")].map(pair);
    assert_eq!(on_cycles(&BTreeSet::from(imports)), cycles);
}

#[test]
fn sibling_modules_import_each_other_without_cycles() {
    for name in crates() {
        let mut cycles = Vec::new();
        for (parent, imports) in sibling_imports(&name) {
            let parent = [&["crate".to_owned()], parent.as_slice()].concat().join("::");
            let edges = on_cycles(&imports).into_iter();
            cycles.extend(edges.map(|(from, to)| format!("{parent}: {from} imports {to}")));
        }
        assert!(cycles.is_empty(), "modules of {name} import each other:\n{}", cycles.join("\n"));
    }
}

#[test]
fn files_are_short() {
    let is_counted = |file: &PathBuf| {
        let mut parts = file.components().skip(2).map(|part| part.as_os_str().to_string_lossy());
        parts.next().is_some_and(|part| part == "src") && !parts.any(|part| part.starts_with("tests"))
    };
    let is_long = |file: &PathBuf| without_tests(&read(file)).lines().count() > MAX_FILE_LINES;
    let long: Vec<PathBuf> =
        sources("crates").into_iter().filter(|file| is_counted(file) && is_long(file)).collect();
    assert!(long.is_empty(), "files with more than {MAX_FILE_LINES} lines: {long:?}");
    let python = ["python", "xtask"].into_iter().flat_map(|folder| files(folder, "py"));
    let long: Vec<PathBuf> = python.filter(|file| read(file).lines().count() > MAX_FILE_LINES).collect();
    assert!(long.is_empty(), "Python files with more than {MAX_FILE_LINES} lines: {long:?}");
}

/// Returns the name in the declaration of a public type; `None` for a macro's `$name`.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let kinds = ["struct ", "enum ", "union ", "trait ", "type "];
    let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let name = &name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len())];
    (!name.is_empty()).then_some(name)
}

#[test]
fn names_of_public_types_are_found() {
    let lines =
        ["pub struct A(u8);", "  pub unsafe trait B: C {", "pub(crate) enum D {", "pub type $name = u8;"];
    assert_eq!(lines.map(public_type), [Some("A"), Some("B"), None, None]);
}

/// No two public types have the same name, with two exceptions: several modules may have an error type
/// `Error`, and several private modules may have a trait `Sealed`.
#[test]
fn a_name_stands_for_one_public_type() {
    let mut places = BTreeMap::<String, Vec<PathBuf>>::new();
    for file in ["crates", "examples"].iter().flat_map(|folder| sources(folder)) {
        for name in without_tests(&read(&file)).lines().filter_map(public_type) {
            places.entry(name.to_owned()).or_default().push(file.clone());
        }
    }
    assert!(places.len() > 300, "only {} public types were found", places.len());
    places.retain(|name, places| places.len() > 1 && name != "Error" && name != "Sealed");
    let found: Vec<String> = places.iter().map(|(name, places)| format!("`{name}`: {places:?}")).collect();
    assert!(found.is_empty(), "public types with the same name; rename one of each:\n{}", found.join("\n"));
}

#[test]
fn modules_of_the_host_import_only_lower_ones() {
    let forbidden = [
        ("interface", &["registry", "custom_call"][..]),
        ("registry", &["custom_call"]),
        ("device", &["interface", "registry", "custom_call"]),
    ];
    for (module, others) in forbidden {
        let imports = imports(&format!("crates/farcall-host/src/{module}"));
        for other in others {
            assert!(!imports.contains(*other), "`{module}` imports `{other}`");
        }
    }
    let device = imports("crates/farcall-host/src/device");
    assert_eq!(device, BTreeSet::from(["error_code", "platform", "poll"].map(str::to_owned)));
}

#[test]
fn crates_without_unsafe_code_forbid_it() {
    for folder in SAFE {
        let file = if folder == "xtask" { "main.rs" } else { "lib.rs" };
        let text = read(Path::new(folder).join("src").join(file));
        assert!(text.contains("#![forbid(unsafe_code)]"), "{folder} does not forbid unsafe code");
    }
}

#[test]
fn unsafe_blocks_have_comments_except_in_four_files() {
    assert!(read("Cargo.toml").contains("undocumented_unsafe_blocks = \"deny\""));
    let without: Vec<PathBuf> = sources("crates")
        .into_iter()
        .filter(|file| read(file).contains("clippy::undocumented_unsafe_blocks"))
        .collect();
    let quick = Path::new("crates/farcall-kernels/src/sort/quick");
    assert_eq!(without, ["avx2.rs", "avx512.rs", "items.rs", "lanes.rs"].map(|name| quick.join(name)));
}

#[test]
fn dependencies_are_those_of_the_map() {
    let manifest = read("crates/farcall-sig/Cargo.toml");
    assert!(!manifest.contains("\n[dependencies]"), "farcall-sig has dependencies");
    for entry in fs::read_dir(root().join("crates")).expect("the folder is readable").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = read(Path::new("crates").join(&name).join("Cargo.toml"));
        let depends = |on: &str| {
            let begins =
                |line: &str| line.strip_prefix(on).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
            manifest.lines().any(begins)
        };
        let engine = [
            "farcall-compile",
            "farcall-runtime",
            "farcall-plan",
            "farcall-kernels",
            "farcall-host",
            "farcall-ir",
        ];
        let forbidden: &[&str] = match name.as_str() {
            "farcall-cuda" | "farcall-ffi" | "farcall-macros" | "farcall-sig" | "farcall-ir"
            | "farcall-limits" => &engine,
            "farcall-kernels" | "farcall-host" => &engine[..5],
            "farcall-plan" => &engine[..3],
            "farcall-compile" | "farcall-runtime" => &engine[..2],
            "farcall-linalg" | "farcall-partition" => &engine[..5],
            _ => &[],
        };
        let forbidden = forbidden.iter().find(|on| depends(on));
        assert_eq!(forbidden, None, "{name} depends on a crate above it");
        let (published, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
        assert!(
            !published.contains("\nfarcall-testing."),
            "{name} depends on farcall-testing outside of tests"
        );
        if ["farcall-linalg", "farcall-cuda"].contains(&name.as_str()) {
            assert!(!published.contains("\nfarcall."), "{name} depends on the engine");
        }
    }
}

#[test]
fn the_program_representation_does_no_input_or_output() {
    let ends = |file: &PathBuf| file.ends_with("memory/machine.rs") || file.ends_with("tests.rs");
    let all = ["crates/farcall-limits/src", "crates/farcall-ir/src"].map(sources);
    for file in all.iter().flatten().filter(|file| !ends(file)) {
        // Unit tests come last in a file. They may do input and output.
        let lines = code(file);
        let lines = lines.iter().take_while(|line| !line.starts_with("mod tests"));
        for line in lines {
            for word in ["std::fs", "std::net", "std::process", "thread::spawn", "thread::scope"] {
                assert!(!line.contains(word), "{} uses {word}", file.display());
            }
        }
    }
}

#[test]
fn macros_expand_to_unsafe_code_in_few_places() {
    let has_unsafe_code = |file: &PathBuf| {
        code(file).iter().any(|line| {
            ["unsafe {", "unsafe fn", "unsafe extern", "#[unsafe("].iter().any(|word| line.contains(word))
        })
    };
    let with: Vec<PathBuf> =
        sources("crates/farcall-macros/src").into_iter().filter(has_unsafe_code).collect();
    // These files write the entries of handlers, and exported symbols.
    assert_eq!(with, ["entry.rs", "export.rs"].map(|name| Path::new("crates/farcall-macros/src").join(name)));
}

#[test]
fn one_python_file_uses_undocumented_parts_of_jax() {
    for path in files("python/farcall", "py") {
        if !path.ends_with("_jax_internals.py") {
            let is_private = |import: &String| {
                import.starts_with("from jax._src") || import.starts_with("import jax._src")
            };
            assert!(
                !python_imports(&read(&path)).iter().any(is_private),
                "{} imports from `jax._src`",
                path.display()
            );
        }
    }
}

#[test]
fn one_python_file_connects_xla_client_with_private_parts_of_farcall() {
    for path in files("python/farcall", "py") {
        let is_inside = path.starts_with("python/farcall/xla_client");
        let is_border = path.ends_with("_farcall_internals.py");
        for import in python_imports(&read(&path)) {
            let words: Vec<&str> = import.split([' ', ',']).filter(|word| !word.is_empty()).collect();
            let (module, names) = match words[..] {
                ["from", module, "import", ref names @ ..] => (module, names),
                ["import", module, ..] => (module, &[][..]),
                _ => continue,
            };
            assert!(!module.starts_with('.'), "{} has a relative import: {import}", path.display());
            let is_xla_client = module.starts_with("farcall.xla_client")
                || (module == "farcall" && names.contains(&"xla_client"));
            let is_farcall = module == "farcall" || module.starts_with("farcall.");
            if !is_inside {
                assert!(!is_xla_client, "{} needs `xla_client`: {import}", path.display());
            } else if is_farcall && !is_xla_client && !is_border {
                let is_private = module.contains("._") || names.iter().any(|name| name.starts_with('_'));
                assert!(!is_private, "{} uses a private part of farcall: {import}", path.display());
            }
        }
        let uses_private = |line: &str| {
            line.split('#').next().unwrap_or_default().replace("farcall.__", "").contains("farcall._")
        };
        let is_import = |line: &str| line.starts_with("from ") || line.starts_with("import ");
        if is_inside && !is_border {
            let found = read(&path)
                .lines()
                .map(str::trim_start)
                .find(|l| uses_private(l) && !is_import(l))
                .map(str::to_owned);
            assert_eq!(found, None, "{} uses a private part of farcall", path.display());
        }
    }
}

/// Returns the import statements of a Python file, each on one line and without parentheses.
fn python_imports(text: &str) -> Vec<String> {
    let mut imports = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if !line.starts_with("from ") && !line.starts_with("import ") {
            continue;
        }
        let mut import = line.replace('(', " ");
        if line.contains('(') {
            while !import.contains(')') {
                let Some(next) = lines.next() else { break };
                import = format!("{import} {next}");
            }
        }
        imports.push(import.replace(')', " "));
    }
    imports
}

/// Returns the enabled features of each package that the build of a crate compiles, including the packages
/// that build scripts and macros need.
fn features(package: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["tree", "--package", package, "--edges", "normal,build"]);
    let out = cargo.args(["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"]).output();
    let out = String::from_utf8(out.expect("cargo runs").stdout).expect("cargo prints UTF-8");
    let mut features = BTreeMap::<String, BTreeSet<String>>::new();
    for line in out.lines() {
        let (package, enabled) = line.rsplit_once(" [").expect("the format has a bracket");
        features.entry(package.to_owned()).or_default().insert(enabled.to_owned());
    }
    features
}

/// A crate is built once for each set of features. If the sets of the command and of the extension module
/// differ, the engine is built twice.
#[test]
fn the_command_the_extension_module_and_the_plugin_share_a_build() {
    let command = features("farcall-cli");
    for other in ["farcall-python", "farcall-pjrt-library"] {
        let module = features(other);
        let differ: Vec<_> = command
            .iter()
            .filter(|(package, enabled)| module.get(*package).is_some_and(|m| m != *enabled))
            .collect();
        assert!(command.keys().any(|package| module.contains_key(package)), "{other} shares no package");
        assert!(
            differ.is_empty(),
            "{other} differs in the features of {differ:?}: see `syn-for-pyo3` in Cargo.toml"
        );
    }
}
