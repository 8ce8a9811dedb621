#![allow(dead_code)]
use farcall_ffi::prelude::*;

#[derive(FromAttr)]
struct Pair(i64, i64);

#[derive(FromAttr)]
struct Generic<T> {
    x: T,
}

#[derive(FromAttr)]
struct Owned {
    text: String,
}

#[derive(FromAttr)]
struct Twice {
    a: i64,
    #[attr(name = "a")]
    b: i64,
}

#[derive(FromAttr)]
enum WithFields {
    A(i64),
}

#[derive(FromAttr)]
enum Mixed {
    #[attr(name = "one")]
    A = 1,
}

fn main() {}
