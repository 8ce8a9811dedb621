//! The guide's Rust code blocks as doctests.
//!
//! `build.rs` copies each page of `src` without the Rust blocks that a comment directs: the guide's other
//! tests (`cargo xtask guide test`) write those to files.
#![forbid(unsafe_code)]

#[cfg(doctest)]
include!(concat!(env!("OUT_DIR"), "/pages.rs"));
