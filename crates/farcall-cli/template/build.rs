//! Compiles the kernels of `src/kernels.cu` with nvcc. Without nvcc, `src/kernels.ptx` is used as it is.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/kernels.cu");
    println!("cargo::rerun-if-changed=src/kernels.ptx");
    println!("cargo::rerun-if-env-changed=NVCC");
    println!("cargo::rerun-if-env-changed=PATH");
    let ptx = Path::new(&env::var_os("OUT_DIR").unwrap()).join("kernels.ptx");
    let given = env::var_os("NVCC");
    // PTX for compute capability 8.0 runs on later devices, too: the driver compiles it for its device.
    let mut nvcc = Command::new(given.as_deref().unwrap_or("nvcc".as_ref()));
    nvcc.args(["-ptx", "-arch=compute_80", "src/kernels.cu", "-o"]);
    match nvcc.arg(&ptx).status() {
        Ok(status) => assert!(status.success(), "{nvcc:?}: {status}"),
        Err(error) if error.kind() == ErrorKind::NotFound && given.is_none() => {
            fs::copy("src/kernels.ptx", &ptx).unwrap();
            let modified = |file| fs::metadata(file).unwrap().modified().unwrap();
            if modified("src/kernels.cu") > modified("src/kernels.ptx") {
                println!("cargo::warning=src/kernels.ptx may be outdated: src/kernels.cu is newer, but nvcc was not found");
            }
        }
        Err(error) => panic!("{nvcc:?}: {error}"),
    }
}
