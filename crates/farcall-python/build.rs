//! Binds references to the symbols that this module exports for libraries
//! (`farcall::custom_call::HOST_SYMBOLS`) within the module, because another host in the process may have
//! symbols of the same names. Also reduces the size of the module.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    }
    // Loops for different types of one size are often identical code. With this option, the linker that Rust
    // provides for this target keeps only one of them.
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|v| v == value);
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") && !has_own_linker() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}

/// Returns true if the user has chosen a linker, which may not support the option.
fn has_own_linker() -> bool {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    flags.contains("link") || std::env::var_os("RUSTC_LINKER").is_some()
}
