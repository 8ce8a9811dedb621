//! Lets the test programs of this crate export the symbols through which libraries register themselves. Every
//! program that loads such libraries has to export them.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        for symbol in [
            "XLA_FFI_GetApi",
            "_ZN3xla3ffi12GetXlaFfiApiEv",
            "XlaCustomCallStatusSetFailure",
            "XlaCustomCallStatusSetSuccess",
        ] {
            println!("cargo:rustc-link-arg-tests=-Wl,--export-dynamic-symbol={symbol}");
        }
    }
}
