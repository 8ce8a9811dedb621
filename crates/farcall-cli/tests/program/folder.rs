//! A folder to run the program in, and the library of test handlers.
//!
//! Every run is checked for what must never happen: a panic, a signal.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use expect_test::Expect;

/// A folder with the files of a test.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Folder {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// A `.npy` file.
    pub(crate) fn with_npy(self, name: &str, descr: &str, shape: &str, data: &[u8]) -> Folder {
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        while (text.len() + 11) % 64 != 0 {
            text.push(' ');
        }
        text.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        file.extend(data);
        self.with(name, file)
    }

    pub(crate) fn farcall<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farcall"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(variable);
        }
        let output = command.output().unwrap();
        let ended = Ended {
            code: output.status.code().unwrap_or_else(|| panic!("ended by {}", output.status)),
            stdout: self.clean(&output.stdout),
            stderr: self.clean(&output.stderr),
        };
        // A library has a panic hook of its own, which speaks before farcall does.
        let panics = ended.stderr.lines().filter(|l| l.contains("panicked at"));
        let ours = panics.filter(|l| !l.contains("tests/plugin/")).count();
        assert_eq!(ours, 0, "{}", ended.stderr);
        ended
    }

    /// Text without what differs from machine to machine.
    fn clean(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let library = LIBRARY.display().to_string();
        let folder = self.0.path().display().to_string();
        text.replace(&library, "LIBRARY").replace(&folder, "FOLDER")
    }

    /// Runs what must fail, with exit code 1 and this message.
    pub(crate) fn fails(&self, args: &[&str], message: Expect) {
        let ended = self.farcall(args);
        message.assert_eq(&ended.stderr);
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
    }

    /// Runs what must work, and print this.
    pub(crate) fn prints(&self, args: &[&str], output: Expect) {
        let ended = self.farcall(args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
        output.assert_eq(&ended.stdout);
    }
}

/// The library with test handlers: an example of this package, which Cargo builds for all of its tests,
/// but not if only this one is asked for.
pub(crate) static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| example("cli_test_ops"));

/// The library that is an example of this package.
pub(crate) fn example(name: &str) -> PathBuf {
    let library = built().join(format!("examples/lib{name}.so"));
    if !library.exists() {
        build(&["--package", "farcall-cli", "--example", name]);
    }
    library
}

/// The library of another package, as it is now.
pub(crate) fn library_of(package: &str) -> PathBuf {
    build(&["--package", package, "--lib"]);
    built().join(format!("lib{}.so", package.replace('-', "_")))
}

/// Where Cargo puts what it builds.
fn built() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_farcall")).parent().unwrap()
}

/// Builds more, in the profile of this test, unless whoever runs all tests has built everything.
fn build(what: &[&str]) {
    if std::env::var("FARCALL_BUILT").as_deref() == Ok("1") {
        return;
    }
    let mut build = Command::new(env!("CARGO"));
    build.arg("build").args(what);
    if built().ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success());
}
