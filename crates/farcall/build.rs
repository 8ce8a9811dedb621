//! Compiles the C++ shim that turns exceptions into errors, where it is wanted, and lets the test
//! programs of this crate export the symbols that libraries register themselves through, as any
//! program must that loads such libraries.

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
    #[cfg(feature = "cxx-exceptions")]
    shim();
}

#[cfg(feature = "cxx-exceptions")]
fn shim() {
    println!("cargo:rerun-if-changed=cc/shim.cc");
    // Optimized even in debug builds: it is in the way of every call.
    cc::Build::new()
        .cpp(true)
        .std("c++11")
        .opt_level(2)
        .flag_if_supported("-fvisibility=hidden")
        .warnings(true)
        .file("cc/shim.cc")
        .compile("farcall_shim");
}
