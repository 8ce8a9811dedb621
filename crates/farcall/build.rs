//! Lets the test programs of this crate export the symbols that libraries register themselves
//! through, as any program must that loads such libraries.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        for symbol in ["XLA_FFI_GetApi", "XlaCustomCallStatusSetFailure", "XlaCustomCallStatusSetSuccess"] {
            println!("cargo:rustc-link-arg-tests=-Wl,--export-dynamic-symbol={symbol}");
        }
    }
}
