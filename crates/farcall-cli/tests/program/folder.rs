//! A folder to run the program in, and the library of test handlers.
//!
//! Every run is checked for panics and signals, which must never occur.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use expect_test::Expect;
use farcall_testing::library;

/// A folder with the files of a test.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

/// Outcome of a run.
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

    /// Adds a `.npy` file.
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
        self.farcall_with(args, |_| {})
    }

    /// Runs the program with a changed command, such as other environment variables.
    pub(crate) fn farcall_with<I: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = I>,
        change: impl FnOnce(&mut Command),
    ) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farcall"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        change(&mut command);
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(variable);
        }
        let output = command.output().unwrap();
        let ended = Ended {
            code: output.status.code().unwrap_or_else(|| panic!("ended by {}", output.status)),
            stdout: self.clean(&output.stdout),
            stderr: self.clean(&output.stderr),
        };
        // A library has a separate panic hook, which prints before farcall reports the error.
        let panics = ended.stderr.lines().filter(|l| l.contains("panicked at"));
        let ours = panics.filter(|l| !l.contains("tests/plugin/")).count();
        assert_eq!(ours, 0, "{}", ended.stderr);
        ended
    }

    /// Returns the text without machine-dependent parts.
    fn clean(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let library = LIBRARY.display().to_string();
        let folder = self.0.path().display().to_string();
        text.replace(&library, "LIBRARY").replace(&folder, "FOLDER")
    }

    /// Runs a command that must fail with exit code 1 and this message.
    pub(crate) fn fails(&self, args: &[&str], message: Expect) {
        let ended = self.farcall(args);
        message.assert_eq(&ended.stderr);
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
    }

    /// Runs a command that must succeed and print this output.
    pub(crate) fn prints(&self, args: &[&str], output: Expect) {
        let ended = self.farcall(args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
        output.assert_eq(&ended.stdout);
    }
}

/// The library with test handlers.
pub(crate) static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| example("cli_test_ops"));

/// Returns the library of an example of this package.
pub(crate) fn example(name: &str) -> PathBuf {
    library::example("farcall-cli", name)
}
