//! Texts that are almost valid: damaged bytes and tokens, changed numbers and types, and pieces of other
//! texts.
//!
//! Some changes (of a size, an element type, a name) are made everywhere in the text at once. Many of the
//! results are therefore still valid programs, but with unexpected sizes.

use crate::SplitMix;

/// Texts to mutate.
pub struct Seeds {
    texts: Vec<String>,
}

/// Maximum length of a seed in bytes. Longer texts contain the same constructs at greater length.
const MAX_SEED_BYTES: usize = 12_000;

/// Maximum length of a mutated text in bytes.
const MAX_TEXT_BYTES: usize = 40_000;

impl Seeds {
    /// Keeps the texts that are short enough and not empty.
    ///
    /// # Panics
    /// If there are no such texts.
    pub fn new(mut texts: Vec<String>) -> Seeds {
        texts.retain(|t| !t.trim().is_empty() && t.len() <= MAX_SEED_BYTES);
        assert!(!texts.is_empty(), "no texts to begin with");
        Seeds { texts }
    }

    /// Returns one of the texts with a few changes.
    pub fn mutated(&self, random: &mut SplitMix) -> String {
        let mut text = self.texts[random.below(self.texts.len())].clone();
        let most = random.pick(&[1, 1, 2, 4, 8]);
        for _ in 0..=random.below(most) {
            let changed = self.change(&text, random);
            if changed.len() <= MAX_TEXT_BYTES {
                text = changed;
            }
        }
        text
    }

    fn change(&self, text: &str, random: &mut SplitMix) -> String {
        let tokens = tokens(text);
        if tokens.is_empty() {
            return "()".to_owned();
        }
        let of = |kind: Kind| -> Vec<Token> { tokens.iter().copied().filter(|t| t.kind == kind).collect() };
        match random.below(20) {
            0 => damage(text, random),
            1 => {
                // A token is removed, repeated, or replaced by another token.
                let (a, b) = (random.pick(&tokens), random.pick(&tokens));
                let new = match random.below(3) {
                    0 => String::new(),
                    1 => format!("{0} {0}", a.of(text)),
                    _ => b.of(text).to_owned(),
                };
                replaced(text, a, &new)
            }
            2 => {
                let i = random.below(tokens.len());
                let (a, b) = (tokens[i], tokens[(i + 1).min(tokens.len() - 1)]);
                let swapped = replaced(text, b, a.of(text));
                replaced(&swapped, a, b.of(text))
            }
            3..=5 => match of(Kind::Number).as_slice() {
                [] => damage(text, random),
                numbers => {
                    let token = random.pick(numbers);
                    replaced(text, token, &number(token.of(text), random))
                }
            },
            6..=9 => match of(Kind::Number).as_slice() {
                // A size is changed everywhere.
                [] => damage(text, random),
                numbers => {
                    let old = random.pick(numbers).of(text).to_owned();
                    let new = number(&old, random);
                    let same = numbers.iter().filter(|t| t.of(text) == old);
                    same.rev().fold(text.to_owned(), |text, t| replaced(&text, *t, &new))
                }
            },
            10 | 11 => {
                // An element type is changed, everywhere or once.
                let old = random.pick(&TYPES);
                let new = random.pick(&TYPES);
                let places: Vec<usize> = text.match_indices(old).map(|(i, _)| i).collect();
                match places.as_slice() {
                    [] => damage(text, random),
                    places if random.one_in(3) => {
                        let at = random.pick(places);
                        [&text[..at], new, &text[at + old.len()..]].concat()
                    }
                    _ => text.replace(old, new),
                }
            }
            12 | 13 => match of(Kind::Name).as_slice() {
                // A name replaces another, in one place or everywhere. Often, the name of an operation is
                // replaced.
                [] => damage(text, random),
                names => {
                    let (a, b) = (random.pick(names), random.pick(names));
                    let operation = || names.iter().find(|n| n.of(text).contains('.')).copied();
                    let a = if random.one_in(2) { operation().unwrap_or(a) } else { a };
                    let (old, new) = (a.of(text), b.of(text));
                    if random.one_in(2) { text.replace(old, new) } else { replaced(text, a, new) }
                }
            },
            14 => {
                let other = &self.texts[random.below(self.texts.len())];
                splice(text, other, random)
            }
            15 => splice(text, text, random),
            16 | 17 => {
                // The name of an operation is replaced by the name of an operation of another program.
                let other = &self.texts[random.below(self.texts.len())];
                let names = |text: &str| -> Vec<Token> {
                    super::mutate::tokens(text)
                        .into_iter()
                        .filter(|t| t.of(text).starts_with("stablehlo."))
                        .collect()
                };
                match (names(text).as_slice(), names(other).as_slice()) {
                    (here @ [_, ..], there @ [_, ..]) => {
                        replaced(text, random.pick(here), random.pick(there).of(other))
                    }
                    _ => damage(text, random),
                }
            }
            _ => lines(text, random),
        }
    }
}

const TYPES: [&str; 20] = [
    "f32",
    "f64",
    "f16",
    "bf16",
    "i1",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui8",
    "ui32",
    "ui64",
    "f8E4M3FN",
    "f8E5M2",
    "complex<f32>",
    "complex<f64>",
    "index",
    "?xf32",
    "!quant.uniform<i8:f32, 0.5>",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Name,
    Other,
}

#[derive(Clone, Copy)]
struct Token {
    start: usize,
    end: usize,
    kind: Kind,
}

impl Token {
    fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}

/// Splits text into numbers (also those within types), names, and other single characters.
fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut pos = 0;
    while let Some(first) = bytes.get(pos) {
        let run = |ok: &dyn Fn(&u8) -> bool| {
            bytes[pos..].iter().position(|b| !ok(b)).map_or(bytes.len(), |n| pos + n)
        };
        let (end, kind) = match first {
            b'0'..=b'9' => (run(&|b| b.is_ascii_digit()), Kind::Number),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'%' | b'@' | b'#' | b'!' => {
                let name = |b: &u8| b.is_ascii_alphanumeric() || b"_.%@#!$".contains(b);
                // The `x` of `4x8xf32`.
                let size = *first == b'x' && bytes.get(pos + 1).is_some_and(u8::is_ascii_digit);
                (if size { pos + 1 } else { run(&name) }, Kind::Name)
            }
            b' ' | b'\n' | b'\t' | b'\r' => {
                pos += 1;
                continue;
            }
            _ => (pos + text[pos..].chars().next().map_or(1, char::len_utf8), Kind::Other),
        };
        out.push(Token { start: pos, end, kind });
        pos = end;
    }
    out
}

fn replaced(text: &str, token: Token, new: &str) -> String {
    [&text[..token.start], new, &text[token.end..]].concat()
}

/// Returns a different number: near the old number, small, or at a limit of an integer type.
fn number(old: &str, random: &mut SplitMix) -> String {
    let value = old.parse::<u64>().unwrap_or(0);
    match random.below(8) {
        0 => value.wrapping_add(1).to_string(),
        1 => value.wrapping_sub(1).to_string(),
        2 => value.wrapping_mul(2).to_string(),
        3 => random
            .pick(&[
                "2147483647",
                "2147483648",
                "4294967296",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
                "100000000000000000000",
                "3000000000",
                "65536",
                "1000000",
                "-1",
                "-9223372036854775808",
            ])
            .to_owned(),
        4 => random.pick(&["0", "1"]).to_owned(),
        _ => random.below(9).to_string(),
    }
}

/// Inserts, removes or replaces a character.
fn damage(text: &str, random: &mut SplitMix) -> String {
    const POOL: &str = "0123456789abcxf%#!@^<>()[]{}\"\\,:=-+*?. \n\t\0/_~\u{7f}é🦀\u{301}";
    let mut chars: Vec<char> = text.chars().collect();
    let pool: Vec<char> = POOL.chars().collect();
    let at = random.below(chars.len().max(1)).min(chars.len().saturating_sub(1));
    match random.below(3) {
        0 if !chars.is_empty() => chars[at] = random.pick(&pool),
        1 if !chars.is_empty() => drop(chars.remove(at)),
        _ => chars.insert(at, random.pick(&pool)),
    }
    chars.into_iter().collect()
}

/// Removes, repeats, swaps or moves lines, or truncates the text.
fn lines(text: &str, random: &mut SplitMix) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (a, b) = (random.below(lines.len().max(1)), random.below(lines.len().max(1)));
    if lines.is_empty() {
        return String::new();
    }
    match random.below(5) {
        0 => drop(lines.remove(a)),
        1 => lines.insert(a, lines[b]),
        2 => lines.swap(a, b),
        3 if random.one_in(4) => lines.truncate(a),
        _ => {
            let line = lines.remove(a);
            lines.insert(b.min(lines.len()), line);
        }
    }
    lines.concat()
}

/// Inserts some lines of `other` at a random position between the lines of `text`.
fn splice(text: &str, other: &str, random: &mut SplitMix) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let others: Vec<&str> = other.split_inclusive('\n').collect();
    let at = random.below(lines.len() + 1);
    let from = random.below(others.len() + 1);
    let to = (from + 1 + random.below(8)).min(others.len()).max(from);
    [&lines[..at], &others[from..to], &lines[at..]].concat().concat()
}
