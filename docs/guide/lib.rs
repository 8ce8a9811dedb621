//! The guide's Rust code blocks as doctests.
//!
//! `build.rs` copies each page of `src`. In the copies, Rust blocks below a comment such as
//! `<!-- file: … -->` are plain text: `cargo xtask guide test` writes these blocks to files.
#![forbid(unsafe_code)]

#[cfg(doctest)]
include!(concat!(env!("OUT_DIR"), "/pages.rs"));
