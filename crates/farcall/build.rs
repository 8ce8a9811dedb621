//! Lets the test programs of this crate export the symbols that libraries register themselves through, as
//! every program must that loads such libraries.

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
