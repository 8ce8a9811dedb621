//! Exports the symbols through which libraries that register their handlers themselves find this program's
//! registry, and libraries that end the process are reported (`farcall::watch_exits!`). Also makes the
//! program smaller.

fn main() {
    // A library looks these symbols up in the program that loads it: `farcall::custom_call::HOST_SYMBOLS`,
    // and the functions of `farcall::watch_exits!`.
    for symbol in [
        "XLA_FFI_GetApi",
        "_ZN3xla3ffi12GetXlaFfiApiEv",
        "XlaCustomCallStatusSetFailure",
        "XlaCustomCallStatusSetSuccess",
        "_exit",
        "_Exit",
    ] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
    // Loops for types of one size are often the same instructions: the linker that Rust comes with here keeps one of them,
    // which makes the program a fifteenth smaller.
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|v| v == value);
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") && !has_own_linker() {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo:rerun-if-changed=build.rs");
}

/// True if somebody has chosen a linker, which may not know what that is.
fn has_own_linker() -> bool {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    flags.contains("link") || std::env::var_os("RUSTC_LINKER").is_some()
}
