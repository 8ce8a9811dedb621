//! Lets libraries that register their handlers themselves find this program's registry.

fn main() {
    // Such a library looks for this symbol in the program that loads it.
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=XLA_FFI_GetApi");
    println!("cargo:rerun-if-changed=build.rs");
}
