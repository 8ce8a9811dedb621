//! Compiles the C++ shim that turns exceptions into errors, if the feature is enabled.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "cxx-exceptions")]
    shim();
}

#[cfg(feature = "cxx-exceptions")]
fn shim() {
    println!("cargo:rerun-if-changed=cc/shim.cc");
    // Optimized even in debug builds, because every call of a handler passes through the shim.
    cc::Build::new()
        .cpp(true)
        .std("c++11")
        .opt_level(2)
        .flag_if_supported("-fvisibility=hidden")
        .warnings(true)
        .file("cc/shim.cc")
        .compile("farcall_shim");
}
