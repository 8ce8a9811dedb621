//! `farcall new`: the generated library builds, passes its tests, and contains the requested op.

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};

use crate::folder::Folder;
use crate::gpu::with_gpu;

/// Root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the files in a folder and its subfolders.
fn listing(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true => found.extend(listing(&path).into_iter().map(|inner| format!("{name}/{inner}"))),
            false => found.push(name),
        }
    }
    found.sort();
    found
}

/// A new library, in a folder with a fixed path, so that dependencies are built only once.
struct New {
    path: PathBuf,
    target: PathBuf,
}

impl New {
    /// Creates a library with the op `swish`.
    fn library(name: &str, options: &[&str]) -> New {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
        let path = place.join(name);
        let _absent = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&place).unwrap();
        let args = [&["new", path.to_str().unwrap(), "--op", "swish"], options].concat();
        let ended = Folder::new().farcall(args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        // Uses the dependency versions of this checkout.
        std::fs::copy(root().join("Cargo.lock"), path.join("Cargo.lock")).unwrap();
        New { path, target: place.join("target") }
    }

    /// Runs Cargo, which must succeed without warnings. Returns its output.
    fn cargo(&self, args: &[&str]) -> String {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(args).arg("--offline").current_dir(&self.path).env("CARGO_TARGET_DIR", &self.target);
        let output = cargo.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(!text.contains("warning"), "{text}");
        text.into_owned()
    }
}

/// Returns the list of a library's files. The tests have added `Cargo.lock`.
fn without_lock(path: &Path) -> String {
    let mut files = listing(path);
    files.retain(|file| file != "Cargo.lock");
    files.join("\n")
}

#[test]
fn a_new_library_is_whole() {
    let new = New::library("my-gates", &[]);
    let folder = Folder::new();
    expect![[r#"
        .gitignore
        Cargo.toml
        README.md
        example.py
        src/lib.rs"#]]
    .assert_eq(&without_lock(&new.path));
    let tests = new.cargo(&["test"]);
    assert!(tests.contains("2 passed"), "{tests}");
    new.cargo(&["build"]);

    let library = new.target.join("debug/libmy_gates.so");
    let library = library.to_str().unwrap();
    let ended = folder.farcall(["targets", "--load", library]);
    let declared = ended.stdout.split("targets\n").nth(1).unwrap_or_default();
    expect![[r#"

        swish(x: f32[*, n], scale: f32[n], beta: f32 = 1.0) -> (y: f32[*, n]) where n: map
          gradient  vjp swish_bwd
          batching  native, a loop if scale is batched
          sharding  ... n, n -> ... n; split ... n

        swish_bwd(x: f32[*, n], scale: f32[n], dy: f32[*, n], beta: f32 = 1.0) -> (dx: f32[*, n], dscale: f32[n]) where n: map; *: sum
          gradient  none; it is the backward op of swish
          batching  loop: dscale is reduced over * (sum)
          sharding  ... n, n, ... n -> ... n, n; split n, sum ...
    "#]].assert_eq(declared);
    let args = ["op", library, "swish", "-i", "iota:f32[2,2]", "-i", "ones:f32[2]", "-a", "beta=0"];
    folder.prints(
        &args,
        expect![[r#"
            y  f32[2,2]
            [[0.0, 0.5],
             [1.0, 1.5]]
        "#]],
    );
    let args = ["op", library, "swish", "-i", "iota:f32[2,2]", "-i", "ones:f32[3]"];
    folder.fails(
        &args,
        expect![[r#"
        error: swish: scale has n = 3 but x has n = 2
    "#]],
    );
}

#[test]
fn a_new_library_for_cuda_is_whole() {
    let new = New::library("gpu-gates", &["--cuda"]);
    expect![[r#"
        .gitignore
        Cargo.toml
        README.md
        build.rs
        example.py
        src/cuda.rs
        src/kernels.cu
        src/kernels.ptx
        src/lib.rs"#]]
    .assert_eq(&without_lock(&new.path));
    let tests = new.cargo(&["test"]);
    assert!(tests.contains("3 passed"), "{tests}");
    new.cargo(&["build"]);
    let library = new.target.join("debug/libgpu_gates.so");
    let args = ["targets", "--load", library.to_str().unwrap(), "--table"];
    let table = Folder::new().farcall(args).stdout;
    let rows = table.lines().filter(|line| line.contains("swish")).collect::<Vec<_>>().join("\n");
    expect![[r#"
        │ swish                  ┆ Host     ┆ ✓        ┆ ✓        │
        │ swish                  ┆ CUDA     ┆ ✓        ┆ ✓        │
        │ swish_bwd              ┆ Host     ┆ ✗        ┆ ✓        │
        │ swish_bwd              ┆ CUDA     ┆ ✗        ┆ ✓        │"#]]
    .assert_eq(&rows);
    let library = library.to_str().unwrap();
    let ended = Folder::new().farcall(["op", library, "--check", "--strict", "-q"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
    // Two blocks and a part of one.
    let operands = ["-i", "rand:f32[2,257]", "-i", "rand:f32[257]"];
    let ended = with_gpu(&[&["op", library, "swish", "--check", "--strict"][..], &operands].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.ends_with("; CUDA on emulated GPU\n"), "{}", ended.stdout);
}

#[test]
fn what_to_do_next_is_printed() {
    let folder = Folder::new();
    let ended = folder.farcall(["new", "my gates/ops", "--json"]);
    assert_eq!(ended.code, 1);
    std::fs::create_dir(folder.path("my gates")).unwrap();
    let ended = folder.farcall(["new", "my gates/ops", "--json"]);
    let data: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&data["crate"], &data["op"]), (&"ops".into(), &"ops".into()));
    assert_eq!(data["next"][0], "cd 'my gates/ops'");
    let ended = folder.farcall(["new", "leaky", "--op", "Leaky-ReLU"]);
    let named = "Made leaky/ with the op leaky_re_lu.\n`Leaky-ReLU` is `leaky_re_lu` in Rust and Python.\n";
    assert!(ended.stdout.starts_with(named), "{}", ended.stdout);
    let ended = folder.farcall(["new", "gates"]);
    let program = env!("CARGO_BIN_EXE_farcall");
    let root = root().canonicalize().unwrap().display().to_string();
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let text = ended.stdout.replace(program, "farcall").replace(&root, "CHECKOUT");
    let text = text.replace(&format!(" {target}/release"), " target/release");
    expect![[r#"
        Made gates/ with the op gates.
        Its kernel is a swish, x * sigmoid(beta * x) * scale. Replace it in gates/src/lib.rs: the function gates, its signature, its gradient and the tests. Then adapt example.py and README.md, which call it.

        Next:

          cd gates
          cargo test                # values and gradient
          cargo build --release
          farcall op target/release/libgates.so gates
          farcall op target/release/libgates.so gates -i 'rand:f32[2,4]' -i ones
          farcall op target/release/libgates.so --check  # what its signatures promise
          pip install 'CHECKOUT[jax]'
          python example.py         # NumPy and JAX
    "#]]
    .assert_eq(&text);
}

#[test]
fn what_to_do_next_on_a_gpu_is_printed() {
    let folder = Folder::new();
    let ended = folder.farcall(["new", "gates", "--cuda"]);
    let (made, next) = ended.stdout.split_once("\nNext:\n").unwrap();
    expect![[r#"
        Made gates/ with the op gates.
        Its kernel is a swish, x * sigmoid(beta * x) * scale. Replace it in gates/src/lib.rs: the function gates, its signature, its gradient and the tests. Then adapt example.py and README.md, which call it.
        For CUDA, its handlers are in gates/src/cuda.rs, and their kernels in gates/src/kernels.cu.
    "#]].assert_eq(made);
    assert!(next.contains("  pip install 'jax[cuda13]'  # on a machine with a GPU\n"), "{next}");
}

#[test]
fn nothing_is_made_where_it_cannot_be_whole() {
    let folder = Folder::new().with("file", "").with("crate/Cargo.toml", "[package]\n").with("empty/x/y", "");
    let fails = |args: &[&str], message: Expect| folder.fails(&[&["new"], args].concat(), message);
    fails(
        &["file"],
        expect![[r#"
        error: file exists already; farcall new does not change existing folders
    "#]],
    );
    fails(
        &["empty"],
        expect![[r#"
        error: empty exists already; farcall new does not change existing folders
    "#]],
    );
    fails(
        &["nowhere/ops"],
        expect![[r#"
        error: there is no folder nowhere to make ops in
    "#]],
    );
    fails(
        &["file/ops"],
        expect![[r#"
        error: there is no folder file to make ops in
    "#]],
    );
    fails(
        &["my ops"],
        expect![[r#"
        error: `my ops` cannot be a crate's name: it has ' ' in it, but only letters, digits, - and _ are allowed; how about my-ops?
    "#]],
    );
    fails(
        &["ops", "--op", "log"],
        expect![[r#"
        error: `log` (--op) cannot be an op's name: as a symbol of the library it would replace the C library's function; how about log_op?
    "#]],
    );
    fails(
        &["ops", "--farcall", "crate"],
        expect![[r#"
        error: crate is not a checkout of farcall: there is no crates/farcall-ffi in it
    "#]],
    );
    fails(
        &[".."],
        expect![[r#"
        error: .. does not name a folder to create
    "#]],
    );
    assert_eq!(listing(&folder.path("")), ["crate/Cargo.toml", "empty/x/y", "file"]);
}

#[test]
fn a_crate_in_a_workspace_is_one_of_its_own() {
    let folder = Folder::new()
        .with("Cargo.toml", "[workspace]\nmembers = []\n")
        .with("fork/crates/farcall-ffi/Cargo.toml", "[package]\nname = \"farcall-ffi\"\n");
    let ended = folder.farcall(["new", "fork/ops", "--farcall", "fork"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let manifest = std::fs::read_to_string(folder.path("fork/ops/Cargo.toml")).unwrap();
    let fork = folder.path("fork").canonicalize().unwrap().display().to_string();
    expect![[r#"
        [package]
        name = "ops"
        version = "0.1.0"
        edition = "2024"
        rust-version = "1.89"
        publish = false

        [lib]
        name = "ops"
        # A shared library that hosts load, and a Rust library for tests and for libraries that include these ops.
        crate-type = ["cdylib", "rlib"]

        [dependencies]
        farcall-ffi = { path = "FORK/crates/farcall-ffi" }

        # This crate is not a part of the workspace around it.
        [workspace]
    "#]].assert_eq(&manifest.replace(&fork, "FORK"));
}
