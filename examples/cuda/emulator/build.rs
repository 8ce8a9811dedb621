//! Gives the library the name under which programs open the CUDA driver. Once a test has loaded it by its
//! path, the dynamic linker uses it for this name.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
