//! Checks ARCHITECTURE.md: its size, the paths that it names, and those invariants that can be read off the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of the map. The recipes after it do not count.
const MAX_MAP_CHARS: usize = 15_000;

/// Folders that paths on the page are relative to.
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
const SAFE: [&str; 7] = [
    "crates/farcall-sig",
    "crates/farcall-limits",
    "crates/farcall-ir",
    "crates/farcall-macros",
    "crates/farcall-promises",
    "crates/farcall-linalg",
    "xtask",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the checkout").to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The Rust files below a folder, relative to the checkout.
fn sources(folder: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "{folder} has no sources");
    found.sort();
    found.iter().map(|path| path.strip_prefix(root()).expect("it is in the checkout").to_owned()).collect()
}

/// The lines of a file that are not comments.
fn code(file: &Path) -> Vec<String> {
    read(file).lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

/// The first names of the paths that follow `crate::` in the code of a folder.
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
    assert!(paths.len() > 40, "{} paths", paths.len());
    let exists = |path: &str| ROOTS.iter().any(|from| root().join(from).join(path).exists());
    let missing: Vec<&&str> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names paths that do not exist: {missing:?}");
}

#[test]
fn each_folder_describes_its_contents() {
    for file in sources("crates") {
        let is_source = file.components().nth(2).is_some_and(|part| part.as_os_str() == "src");
        if is_source && (file.ends_with("mod.rs") || file.ends_with("lib.rs")) {
            assert!(read(&file).starts_with("//!"), "{} has no `//!`", file.display());
        }
    }
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
    assert_eq!(device, BTreeSet::from(["ErrorCode", "platform"].map(str::to_owned)));
}

#[test]
fn crates_without_unsafe_code_forbid_it() {
    for folder in SAFE {
        let file = if folder == "xtask" { "main.rs" } else { "lib.rs" };
        let text = read(Path::new(folder).join("src").join(file));
        assert!(text.contains("#![forbid(unsafe_code)]"), "{folder}");
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
        assert!(!depends("farcall-linalg"), "{name} depends on farcall-linalg");
        let engine = [
            "farcall-compile",
            "farcall-runtime",
            "farcall-plan",
            "farcall-kernels",
            "farcall-host",
            "farcall-ir",
        ];
        let forbidden: &[&str] = match name.as_str() {
            "farcall-ffi" | "farcall-macros" | "farcall-sig" | "farcall-ir" | "farcall-limits" => &engine,
            "farcall-kernels" | "farcall-host" => &engine[..5],
            "farcall-plan" => &engine[..3],
            "farcall-compile" | "farcall-runtime" => &engine[..2],
            _ => &[],
        };
        let forbidden = forbidden.iter().find(|on| depends(on));
        assert_eq!(forbidden, None, "{name} depends on a crate above it");
        let (published, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
        assert!(
            !published.contains("\nfarcall-testing."),
            "{name} depends on farcall-testing outside of tests"
        );
        if name == "farcall-linalg" {
            let (dependencies, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
            assert!(!dependencies.contains("\nfarcall."), "farcall-linalg depends on the engine");
        }
    }
}

#[test]
fn the_program_representation_does_no_input_or_output() {
    let ends = |file: &PathBuf| file.ends_with("memory/machine.rs") || file.ends_with("tests.rs");
    let all = ["crates/farcall-limits/src", "crates/farcall-ir/src"].map(sources);
    for file in all.iter().flatten().filter(|file| !ends(file)) {
        // Unit tests come last in a file, and may do anything.
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
    // Entries of handlers, and exported symbols.
    assert_eq!(with, ["entry.rs", "export.rs"].map(|name| Path::new("crates/farcall-macros/src").join(name)));
}

#[test]
fn one_python_file_uses_undocumented_parts_of_jax() {
    for folder in ["python/farcall", "python/farcall/xla_client"] {
        for entry in fs::read_dir(root().join(folder)).expect("the folder is readable").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "py") && !path.ends_with("_jax_internals.py") {
                let text = read(&path);
                let is_import = |line: &str| {
                    let line = line.trim_start();
                    line.starts_with("from jax._src") || line.starts_with("import jax._src")
                };
                assert!(!text.lines().any(is_import), "{} imports from `jax._src`", path.display());
            }
        }
    }
}
