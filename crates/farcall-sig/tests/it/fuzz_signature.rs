//! Fuzzing of the signature parser with texts that are almost signatures. The parser returns a signature or
//! an error with its position, and never panics. A parsed signature prints as text that parses to an equal
//! signature.
//!
//! The test is deterministic: a seed and an iteration count (`FARCALL_FUZZ_SEED`,
//! `FARCALL_FUZZ_ITERATIONS`) reproduce a run.

use farcall_sig::signature::Signature;
use farcall_testing::fuzz;
use farcall_testing::mutate::Seeds;

const SIGNATURES: [&str; 8] = [
    r#"(a: bool = true, b: i8 = -128, c: f32 = 1e-6, d: f64 = -inf, e: f32 = nan, f: str = "a\"\\\n\tä") -> ()"#,
    r#"(p: [i64] = [], q: [f32] = [1, -2.5], r: "a" | "b" = "b", s: dict?, t: u64 = 18446744073709551615, u: i64?) -> ()"#,
    "(k: i64, x: f32[k, 3], y: complex(real(T))[*, n]) -> (z: acc(T)[*, n-(k-1), (n+k)*2, n*k/2%3, n/(k*2)]) where T: c64",
    "(x: T[*, a, b, c] layout(2, 0, 1)) -> (y: T[*, a, b, c] layout(2, 0, 1) aliases x) where T: any; *: map; a: whole; a != b; a < b; b >= c",
    "(x: f32[*, n], scale: f32[n], eps: f32 = 1e-6) -> (y: f32[*, n])",
    "(a: T[*, m, k], b: T[*, k, n]) -> (c: T[*, m, n]) where T: float",
    "(x: T[..]) -> (y: T[..]) where T: f32 | f64",
    "() -> ()",
];

fn target(text: &str) {
    match text.parse::<Signature>() {
        Ok(signature) => {
            let printed = signature.to_string();
            let again = printed
                .parse::<Signature>()
                .unwrap_or_else(|e| panic!("{}\nread: {text}", e.render(&printed)));
            // Compares texts instead of signatures, because a default of NaN is not equal to itself.
            assert_eq!(again.to_string(), printed, "the printed signature of {text} is read differently");
        }
        Err(e) => drop(e.render(text)),
    }
}

#[test]
fn signatures() {
    let seeds = Seeds::new(SIGNATURES.map(str::to_owned).to_vec());
    fuzz::run(10_000, |random| target(&seeds.mutated(random)));
}
