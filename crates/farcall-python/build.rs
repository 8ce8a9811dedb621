//! Binds references to the symbols that this module exports for libraries
//! (`farcall::custom_call::HOST_SYMBOLS`) within the module, because another host in the process may have
//! symbols of the same names.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    }
}
