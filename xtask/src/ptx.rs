//! `cargo xtask ptx`: the PTX of `examples/cuda` and of the crates that `farcall new --cuda` makes, compiled
//! and assembled with the CUDA compiler in NVIDIA's Python wheels. No GPU, driver or CUDA toolkit is needed.
//!
//! Each file `NAME.cu` has its PTX beside it, as text. A `.ptx` without a `.cu` is written by hand, or by the
//! program beside it.
//!
//! NVRTC states the newest version of PTX in each file, which older drivers refuse. So this command lowers
//! the version to [`PTX_VERSION`]. `ptxas` checks each instruction against the version that the file states.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python::Venv;
use crate::shell::{must, outputs, program, root, target};

/// Folders of kernels. The second text ends the first line of their PTX files, after the name of the source.
const KERNELS: [(&str, &str); 5] = [
    ("examples/cuda/kernels", " by `cargo xtask ptx`"),
    ("crates/farcall-cli/template/src", ""),
    // Compiled by Triton.
    ("examples/cuda/kernels/triton", ""),
    // Written by hand.
    ("crates/farcall-cuda/examples", ""),
    ("examples/cuda/src/tests", ""),
];

/// Wheels with their versions: the compiler, the assembler, and the headers of element types.
const WHEELS: [&str; 3] = [
    "nvidia-cuda-nvrtc-cu12==12.9.86",
    "nvidia-cuda-nvcc-cu12==12.9.86",
    "nvidia-cuda-runtime-cu12==12.9.79",
];

/// Version of PTX that the files state: the first with `cp.async` and `mma.sync` for bf16. CUDA 11.0 and
/// newer drivers load it.
const PTX_VERSION: &str = "7.0";

/// Architecture that the kernels are compiled for; they run on it and on all newer ones.
const COMPILED_FOR: &str = "80";

/// Architectures for which `ptxas` assembles each file: A100, H100 and H200, B200.
const ASSEMBLED_FOR: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

/// Compiles every source to the PTX beside it, or with `--check` only compares the two. Then assembles every
/// PTX file. Returns true if all files are up to date and assemble without warnings.
pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let check = match args {
        [] => false,
        ["--check"] => true,
        other => bail!("unknown arguments `{}`: expected none, or `--check`", other.join(" ")),
    };
    let tools = Toolchain::install()?;
    let mut good = true;
    for (folder, maker) in KERNELS {
        let folder = root().join(folder);
        for source in files(&folder, "cu")? {
            let ptx = tools.compile(&source, maker)?;
            let committed = source.with_extension("ptx");
            if !check {
                fs::write(&committed, ptx)?;
                println!("{}: compiled", name(&committed));
            } else if fs::read_to_string(&committed).ok().as_ref() == Some(&ptx) {
                println!("{}: up to date", name(&committed));
            } else {
                println!("{}: not the PTX of {}; run `cargo xtask ptx`", name(&committed), name(&source));
                good = false;
            }
        }
        for ptx in files(&folder, "ptx")? {
            for architecture in ASSEMBLED_FOR {
                good &= tools.assemble(&ptx, architecture)?;
            }
        }
    }
    Ok(good)
}

/// The compiler and the assembler, from wheels under `target/cuda`.
struct Toolchain {
    venv: Venv,
    nvrtc: PathBuf,
    ptxas: PathBuf,
    headers: PathBuf,
    /// Folder for outputs that are not committed.
    output: PathBuf,
}

impl Toolchain {
    /// Downloads the wheels unless they are installed.
    fn install() -> Result<Toolchain> {
        let folder = target().join("cuda");
        let message = format!("downloading the CUDA compiler: {}", WHEELS.join(", "));
        let venv = Venv::with_packages(folder.join("venv"), &WHEELS, &["--no-deps"], &message)
            .context("the CUDA compiler cannot be downloaded, so no PTX is checked")?;
        let site =
            output_of(venv.python().args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))?;
        let nvidia = Path::new(site.trim()).join("nvidia");
        let tools = Toolchain {
            venv,
            nvrtc: nvidia.join("cuda_nvrtc/lib/libnvrtc.so.12"),
            ptxas: nvidia.join("cuda_nvcc/bin/ptxas"),
            headers: nvidia.join("cuda_runtime/include"),
            output: folder,
        };
        for part in [&tools.nvrtc, &tools.ptxas, &tools.headers] {
            if !part.exists() {
                bail!("the wheels have no {}", part.display());
            }
        }
        Ok(tools)
    }

    /// Returns the PTX of a source. `maker` ends the first line of the PTX.
    fn compile(&self, source: &Path, maker: &str) -> Result<String> {
        let output = self.output.join(name(source)).with_extension("ptx");
        let mut command = self.venv.python();
        command.arg(root().join("xtask/ptx/compile.py")).arg(&self.nvrtc).arg(source).arg(&output);
        command.arg(format!("--gpu-architecture=compute_{COMPILED_FOR}")).arg("--std=c++17");
        for folder in [Some(self.headers.as_path()), source.parent()].into_iter().flatten() {
            command.arg(format!("--include-path={}", folder.display()));
        }
        must(&mut command)?;
        let ptx = fs::read_to_string(&output)?;
        let version = ptx.lines().find(|line| line.starts_with(".version ")).context("PTX has no version")?;
        let ptx = ptx.replacen(version, &format!(".version {PTX_VERSION}"), 1);
        let header = format!("// Compiled from {}{maker}.", name(source));
        // NVRTC marks each instruction of inline assembly with two comments.
        let is_mark = |line: &&str| line.starts_with("\t// ") && line.ends_with(" inline asm");
        let lines = std::iter::once(header.as_str()).chain(ptx.trim().lines().filter(|line| !is_mark(line)));
        Ok(lines.map(|line| format!("{}\n", line.trim_end())).collect())
    }

    /// Assembles a file. Returns true if `ptxas` accepts it without warnings.
    fn assemble(&self, ptx: &Path, architecture: &str) -> Result<bool> {
        let output = self.output.join(format!("{}.{architecture}.cubin", name(ptx)));
        let mut ptxas = program(&self.ptxas, &["--gpu-name", architecture]);
        let (ok, text, errors) = outputs(ptxas.arg(ptx).arg("--output-file").arg(output))?;
        let log = format!("{text}{errors}");
        let good = ok && log.trim().is_empty();
        println!("{} for {architecture}: {}", name(ptx), if good { "assembled" } else { log.trim() });
        Ok(good)
    }
}

/// Returns the files of a folder with an extension, in the order of their names.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    Ok(files)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn output_of(command: &mut Command) -> Result<String> {
    match outputs(command)? {
        (true, text, _) => Ok(text),
        (false, text, errors) => bail!("{}: {text}{errors}", crate::shell::show(command)),
    }
}
