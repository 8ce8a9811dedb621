//! Names that do not exist, and suggestions for them.

use std::fmt;

/// Text that is read as a name, but is not one of the names there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    /// What to write instead, if that is known.
    hint: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str) -> UnknownName {
        UnknownName { what, name: name.to_owned(), hint: String::new() }
    }

    /// Text that is not one of a few names, which the message suggests: those that are near, or else all.
    ///
    /// ```
    /// let unknown = |name| farcall_sig::UnknownName::among("mode", name, &["ieee", "flush"]).to_string();
    /// assert_eq!(unknown("flsh"), "there is no mode `flsh`; did you mean flush?");
    /// assert_eq!(unknown("on"), "there is no mode `on`; there is ieee, flush");
    /// ```
    pub fn among(what: &'static str, name: &str, known: &[&'static str]) -> UnknownName {
        let near = nearest(name, known.iter().copied());
        let hint = match near.as_slice() {
            [] => format!("; there is {}", known.join(", ")),
            near => format!("; did you mean {}?", near.join(" or ")),
        };
        UnknownName { what, name: name.to_owned(), hint }
    }

    /// The text.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`{}", self.what, self.name, self.hint)
    }
}

impl std::error::Error for UnknownName {}

/// The candidates closest to `name` in edit distance, best first, at most three. Empty when nothing
/// is close enough to be a likely slip.
///
/// ```
/// let known = ["rms_norm", "rms_norm_grad", "gemm"];
/// assert_eq!(farcall_sig::nearest::nearest("rmsnorm", known), ["rms_norm"]);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > MOST_COMPARED {
        return Vec::new();
    }
    let limit = (name.chars().count() / 3).max(1);
    let short = candidates.into_iter().filter(|c| c.len() <= 2 * MOST_COMPARED);
    let mut scored: Vec<(usize, &str)> =
        short.map(|c| (distance(name, c), c)).filter(|(d, _)| *d <= limit).collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(3).map(|(_, c)| c).collect()
}

/// Bytes of a name that is compared, at most: nobody mistypes a longer one.
const MOST_COMPARED: usize = 128;

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours,
/// compared without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_ignores_strangers() {
        let known = ["rms_norm", "rms_norm_fwd", "gemm", "top_k"];
        assert_eq!(nearest("rms_nrom", known), ["rms_norm"]);
        assert_eq!(nearest("GEMM", known), ["gemm"]);
        assert!(nearest("cholesky", known).is_empty());
    }
}
