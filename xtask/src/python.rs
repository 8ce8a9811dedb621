//! Python environments for tests and benchmarks, with jaxlib as the reference.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::shell::{cargo, must, root, target};

/// Time limit of a Python test in seconds: more than ten times as long as the longest test takes.
const TEST_TIMEOUT_SECONDS: &str = "600";

/// Name of the folder of the release package under `target/`.
const RELEASE_PACKAGE: &str = "python-release";

/// A virtual environment, most with one version of JAX. Created on first use.
pub(crate) struct Venv {
    dir: PathBuf,
}

impl Venv {
    /// Returns the environment for a version of jax and jaxlib.
    pub(crate) fn with_jax(version: &str) -> Result<Venv> {
        let packages = [
            "scipy",
            "flatbuffers",
            "mpmath",
            "numba==0.68.1",
            "pypjrt==0.1.1",
            "pytest",
            "pytest-timeout",
            "pytest-xdist",
        ];
        Venv::make(&format!("jax-{version}"), version, &packages)
    }

    /// Returns the environment for a version of JAX that is too old for all tests except the tests of
    /// callbacks.
    pub(crate) fn with_old_jax(version: &str) -> Result<Venv> {
        Venv::make(&format!("jax-{version}"), version, &["numpy<2", "pytest", "pytest-timeout"])
    }

    /// Returns the environment in which JAX's own tests run.
    pub(crate) fn with_jax_tests(version: &str) -> Result<Venv> {
        let packages = ["scipy", "flatbuffers", "pytest", "absl-py", "hypothesis", "cloudpickle", "pillow"];
        Venv::make(&format!("jax-tests-{version}"), version, &packages)
    }

    /// Returns the environment with libraries that are written in JAX, in versions that support this version
    /// of JAX.
    pub(crate) fn with_jax_users(version: &str) -> Result<Venv> {
        let packages = [
            "flax==0.12.8",
            "optax==0.2.8",
            "equinox==0.13.8",
            "numpyro==0.22.0",
            "diffrax==0.7.2",
            "blackjax==1.7.1",
            "numpy==2.4.6",
            "scipy==1.17.1",
        ];
        Venv::make(&format!("jax-users-{version}"), version, &packages)
    }

    fn make(name: &str, version: &str, others: &[&str]) -> Result<Venv> {
        let (jax, jaxlib) = (format!("jax=={version}"), format!("jaxlib=={version}"));
        let packages = [&[jax.as_str(), jaxlib.as_str()], others].concat();
        let message = format!("making a Python environment with jaxlib {version}");
        Venv::with_packages(target().join("venv").join(name), &packages, &[], &message)
    }

    /// Returns the environment in the folder `dir` with these packages. Creates it with these options of
    /// `pip install` after printing `message`, unless it exists.
    pub(crate) fn with_packages(
        dir: PathBuf,
        packages: &[&str],
        options: &[&str],
        message: &str,
    ) -> Result<Venv> {
        let venv = Venv { dir };
        // Written last: if this file is missing or lists other packages, the environment is created again.
        let done = venv.dir.join("complete");
        let content = packages.join("\n");
        if std::fs::read_to_string(&done).ok() != Some(content.clone()) {
            println!("{message}");
            if venv.dir.exists() {
                std::fs::remove_dir_all(&venv.dir)?;
            }
            must(Command::new(find_python()?).args(["-m", "venv"]).arg(&venv.dir))?;
            must(
                venv.python()
                    .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                    .args(options)
                    .args(packages),
            )?;
            std::fs::write(done, content)?;
        }
        Ok(venv)
    }

    /// Returns the command for a script of `xtask/bench`, with the package `farcall` from the folder
    /// `package`.
    pub(crate) fn script(&self, name: &str, package: &Path) -> Command {
        let mut python = self.python();
        python.current_dir(root()).arg(root().join("xtask/bench").join(name));
        python.env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1");
        python
    }

    /// Returns the folder of the environment's programs.
    pub(crate) fn bin(&self) -> PathBuf {
        self.dir.join("bin")
    }

    /// Returns the command for the environment's interpreter.
    pub(crate) fn python(&self) -> Command {
        Command::new(self.bin().join("python"))
    }

    /// Returns the command that runs `pytest` over a folder of the checkout, without leaving files in it.
    pub(crate) fn pytest(&self, folder: &str) -> Command {
        let mut python = self.python();
        python.current_dir(root()).env("PYTHONDONTWRITEBYTECODE", "1");
        python.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--durations", "10", folder]);
        // Timeouts use a thread, because hanging native code does not handle signals.
        python.args(["--timeout", TEST_TIMEOUT_SECONDS, "--timeout-method", "thread"]);
        python
    }

    /// Returns the folder with the XLA headers of the environment's jaxlib.
    pub(crate) fn include(&self) -> Result<PathBuf> {
        let mut python = self.python();
        let out =
            python.args(["-c", "import jaxlib, os; print(os.path.dirname(jaxlib.__file__))"]).output()?;
        let include = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim()).join("include");
        if !include.join("xla/ffi/api/c_api.h").is_file() {
            bail!("jaxlib has no headers at {}", include.display());
        }
        Ok(include)
    }
}

/// Returns the command that builds the package's library, the libraries that Python tests load, and the
/// command `farcall`.
pub(crate) fn build() -> Command {
    cargo(&["build", "--quiet", "--workspace"])
}

/// Builds the Python package without installing it, and returns the folder for `PYTHONPATH`.
pub(crate) fn package() -> Result<PathBuf> {
    must(&mut build())?;
    assemble("python", "debug")
}

/// Like [`package`], in release mode. Also builds the command `farcall`, so that shared dependencies are
/// compiled once.
pub(crate) fn release_package() -> Result<PathBuf> {
    must(&mut cargo(&["build", "--release", "--package", "farcall-cli", "--package", "farcall-python"]))?;
    assemble(RELEASE_PACKAGE, "release")
}

/// Returns the folder in which [`release_package`] has put or will put the package.
pub(crate) fn release_package_folder() -> PathBuf {
    target().join(RELEASE_PACKAGE)
}

/// Copies the package's files and the library of a profile into a folder under `target/`.
fn assemble(folder: &str, profile: &str) -> Result<PathBuf> {
    let path = target().join(folder);
    let package = path.join("farcall");
    std::fs::create_dir_all(&package)?;
    copy_files(&root().join("python/farcall"), &package)?;
    let plugins = path.join("jax_plugins");
    std::fs::create_dir_all(&plugins)?;
    copy_files(&root().join("python/jax_plugins"), &plugins)?;
    // A process may have the old module open, so a new file replaces it by renaming.
    let fresh = package.join("fresh.so");
    std::fs::copy(target().join(profile).join("lib_farcall.so"), &fresh)?;
    std::fs::rename(fresh, package.join("_farcall.abi3.so"))?;
    Ok(path)
}

/// Recursively copies the files of a folder into an existing folder.
pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_file() {
            std::fs::copy(&path, to.join(name))?;
        } else if name != "__pycache__" {
            std::fs::create_dir_all(to.join(name))?;
            copy_files(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Returns the name of an interpreter.
pub(crate) fn find_python() -> Result<&'static str> {
    let found = ["python3", "python"].into_iter().find(|p| Command::new(p).arg("--version").output().is_ok());
    match found {
        Some(python) => Ok(python),
        None => bail!("no Python found: install Python 3.11 with its venv module"),
    }
}
