//! Exports symbols of the program to the libraries that it loads. Self-registering libraries find the
//! program's registry through these symbols, and the exit functions among them (`farcall::watch_exits!`)
//! report a library that ends the process. Also reduces the size of the program.

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
    // Loops for different element types of the same size are often identical code. With this option, the
    // linker that Rust provides for this target keeps only one of them. The program becomes a fifteenth
    // smaller.
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|v| v == value);
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") && !has_own_linker() {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo:rerun-if-changed=build.rs");
}

/// Returns true if the user has chosen a linker. That linker may not support `--icf`.
fn has_own_linker() -> bool {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    flags.contains("link") || std::env::var_os("RUSTC_LINKER").is_some()
}
