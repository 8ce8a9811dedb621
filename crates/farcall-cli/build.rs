//! Lets libraries that register their handlers themselves find this program's registry.

fn main() {
    // Such a library looks for these symbols in the program that loads it
    // (`farcall::custom_call::HOST_SYMBOLS`).
    for symbol in [
        "XLA_FFI_GetApi",
        "_ZN3xla3ffi12GetXlaFfiApiEv",
        "XlaCustomCallStatusSetFailure",
        "XlaCustomCallStatusSetSuccess",
    ] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
