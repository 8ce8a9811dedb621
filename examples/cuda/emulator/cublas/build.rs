//! Gives the library the name under which programs open cuBLAS.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcublas.so.13");
}
