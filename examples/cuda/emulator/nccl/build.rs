//! Gives the library the name under which programs open NCCL.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnccl.so.2");
}
