//! Printing and parsing are inverse, and no text causes a panic.

use farcall_sig::DType;
use farcall_sig::attr::AttrValues;
use farcall_sig::signature::{OperandType, Signature};
use farcall_testing::SplitMix;

/// Returns the signatures under "Examples" in the language reference.
fn examples() -> Vec<(String, String)> {
    let manual = include_str!("../../src/signature/mod.rs");
    let lines = manual.lines().map(|l| l.strip_prefix("//! ").unwrap_or_default());
    let block = lines.skip_while(|l| *l != "## Examples").skip_while(|l| *l != "```text").skip(1);
    let mut out: Vec<(String, String)> = Vec::new();
    for line in block.take_while(|l| *l != "```") {
        match line.split_once(' ') {
            Some((name, rest)) if !name.is_empty() => out.push((name.into(), rest.trim().into())),
            _ => {
                let last = &mut out.last_mut().unwrap().1;
                *last = format!("{last} {}", line.trim());
            }
        }
    }
    out
}

fn round_trip(text: &str) -> Signature {
    let signature = text.parse::<Signature>().unwrap_or_else(|e| panic!("{}", e.render(text)));
    let printed = signature.to_string();
    let again = printed.parse::<Signature>().unwrap_or_else(|e| panic!("{}", e.render(&printed)));
    assert_eq!(again, signature, "the printed signature of {text} is read differently");
    assert_eq!(again.to_string(), printed);
    signature
}

#[test]
fn the_references_examples_are_canonical() {
    let examples = examples();
    assert_eq!(examples.len(), 12);
    for (name, text) in examples {
        assert_eq!(round_trip(&text).to_string(), text, "the example {name} is printed differently");
    }
}

#[test]
fn every_form_prints_back() {
    for text in [
        "() -> ()",
        r#"(a: bool = true, b: i8 = -128, c: f32 = 1e-6, d: f64 = -inf, e: f32 = nan, f: str = "a\"\\\n\tä") -> ()"#,
        r#"(p: [i64] = [], q: [f32] = [1, -2.5], r: "a" | "b" = "b", s: dict?, t: u64 = 18446744073709551615, u: i64?) -> ()"#,
        "(k: i64, x: f32[k, 3], y: complex(real(T))[*, n]) -> (z: acc(T)[*, n-(k-1), (n+k)*2, n*k/2%3, n/(k*2)]) where T: c64",
        "(x: T[*, a, b, c] layout(2, 0, 1)) -> (y: T[*, a, b, c] layout(2, 0, 1) aliases x) where T: any; *: map; a: whole; a != b; a < b; b >= c",
        "(x: S[m], y: T[n]?) -> (dy: T[n] aliases y if y) where S, T: pred | s4 | f8e4m3fn; m: whole",
        "(xs: pred[*, n..., d]...) -> (ys: pred[*, n..., d]..., s: s32[*, sum(n), max(n), min(n), len(xs)]) where *: whole",
        "(x: pred[m, n]) -> (y: pred[m]) where n: or; m: map",
        "(x: f32[*, m, n], row: s32[], at: s64[]) -> (y: f32[*, m, n]) where m: map; row: offset(m); at: offset(n)",
        "(x: T[..], k: i64, xs: f32[..]...) -> (y: T[..] aliases x, zs: f32[..]..., n: s32[k]) where T: any",
        "( x :f32 [ * , n ] , ) -> ( y : f32 [ * , ( n ) ] , ) where n : map ; ",
    ] {
        // NaN differs from itself, so its signature is compared as text.
        let text = text.to_string();
        if text.contains("nan") {
            let printed = text.parse::<Signature>().unwrap().to_string();
            assert_eq!(printed.parse::<Signature>().unwrap().to_string(), printed);
            assert_eq!(printed, text);
        } else {
            round_trip(&text);
        }
    }
}

/// Checks that a parsed signature round-trips and that every rule can be evaluated.
fn exercise(text: &str, random: &mut SplitMix) -> bool {
    let signature = match text.parse::<Signature>() {
        Ok(signature) => signature,
        Err(error) => {
            assert!(!error.render(text).is_empty());
            assert!(
                error.span.offset + error.span.len <= text.len(),
                "the span of the error is not within {text}"
            );
            return false;
        }
    };
    if !text.contains("nan") {
        round_trip(text);
    }
    let count = random.below(4);
    let dims: Vec<Vec<i64>> = (0..count)
        .map(|_| (0..random.below(4)).map(|_| [0, 1, 2, 3, -1, i64::MAX][random.below(6)]).collect())
        .collect();
    let types = [DType::F32, DType::F64, DType::S32];
    let operands: Vec<OperandType<'_>> =
        dims.iter().map(|dims| OperandType { dtype: types[random.below(3)], dims }).collect();
    if let Ok(inference) = signature.infer(&operands, &AttrValues::new()) {
        assert!(inference.results.iter().all(|r| r.dims.iter().all(|d| *d >= 0)));
    }
    let batched: Vec<bool> = (0..count).map(|_| random.below(2) == 1).collect();
    let _ = signature.batch_rule(&batched);
    if let Ok(partition) = signature.partition(count) {
        let _ = (partition.to_string(), partition.shardy(random.below(3)).to_string());
    }
    assert!(!signature.markdown("op").is_empty());
    true
}

#[test]
fn changed_signatures_never_panic() {
    let pieces = [
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        ";",
        "->",
        "*",
        "n",
        "m",
        "k",
        "T",
        "f32",
        "i64",
        "...",
        "?",
        "=",
        "1",
        "0",
        "-",
        "/",
        "+",
        "%",
        "where",
        "map",
        "sum",
        "whole",
        "aliases",
        "x",
        "xs",
        "y",
        "if",
        "layout",
        "column_major",
        "min",
        "len",
        "complex",
        "real",
        "acc",
        "any",
        "|",
        "\"",
        "\\",
        "1e9",
        "é",
        "<=",
        "side_effect",
        "dict",
        " ",
        "\n",
        "{",
    ];
    let mut random = SplitMix::new(1);
    let examples = examples();
    let mut valid = 0;
    for _ in 0..40_000 {
        let mut text = examples[random.below(examples.len())].1.clone();
        for _ in 0..=random.below(3) {
            let at = (0..=text.len())
                .cycle()
                .skip(random.below(text.len() + 1))
                .find(|i| text.is_char_boundary(*i));
            let at = at.unwrap();
            match random.below(3) {
                0 => text.insert_str(at, pieces[random.below(pieces.len())]),
                1 => text.truncate(if random.below(10) == 0 { at } else { text.len() }),
                _ => {
                    let len = text[at..].chars().take(1 + random.below(6)).map(char::len_utf8).sum::<usize>();
                    text.replace_range(at..at + len, pieces[random.below(pieces.len())]);
                }
            }
        }
        valid += usize::from(exercise(&text, &mut random));
    }
    assert!(valid > 1000, "only {valid} of the changed signatures were valid");
}

#[test]
fn random_tokens_never_panic() {
    let pieces = [
        "(", ")", "[", "]", "x", ":", "f32", "T", "n", "*", ",", "->", "where", "...", "\"", "1.5e", "é",
        "😀",
    ];
    let mut random = SplitMix::new(42);
    for _ in 0..40_000 {
        let text: String = (0..random.below(20)).map(|_| pieces[random.below(pieces.len())]).collect();
        exercise(&text, &mut random);
    }
}

/// Prints Rust tokens with Rust's spacing, as a macro sees them.
macro_rules! as_tokens {
    ($($token:tt)*) => {
        stringify!($($token)*)
    };
}

#[test]
fn a_signature_can_be_written_as_rust_tokens() {
    let tokens = as_tokens!(
        (x: T[*, n], w: complex(T)[*, 2*n-1, n] column_major, mask: pred[*, n]?, eps: f32 = -1e-6, p: [i64] = [1],
         side: "left" | "right" = "left", o: dict?)
            -> (y: T[*, n] aliases x, dmask: T[*, n] if mask)
        where T: f32 | f64; *: map; n <= 8; side_effect
    );
    let text = "(x: T[*, n], w: complex(T)[*, 2*n-1, n] column_major, mask: pred[*, n]?, eps: f32 = -1e-6, \
                p: [i64] = [1], side: \"left\" | \"right\" = \"left\", o: dict?) -> (y: T[*, n] aliases x, \
                dmask: T[*, n] if mask) where T: f32 | f64; *: map; n <= 8; side_effect";
    assert_eq!(round_trip(tokens).to_string(), text);
    let variadic = as_tokens!((xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map;);
    assert_eq!(
        round_trip(variadic).to_string(),
        "(xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map"
    );
}
