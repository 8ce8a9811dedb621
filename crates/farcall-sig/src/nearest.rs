//! Suggestions for mistyped names.

use std::fmt;

/// Error for text that is not one of the known names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    /// Suggestion of names to write instead, or empty.
    hint: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str) -> UnknownName {
        UnknownName { what, name: name.to_owned(), hint: String::new() }
    }

    /// Creates the error for a name that is not in a short list. The message suggests the closest names, or
    /// else all names.
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

    /// The text that was not found.
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

/// Returns up to three candidates closest to `name` in edit distance, best first. The list is empty if no
/// candidate is close enough to be a likely typo.
///
/// ```
/// let known = ["rms_norm", "rms_norm_grad", "gemm"];
/// assert_eq!(farcall_sig::nearest::nearest("rmsnorm", known), ["rms_norm"]);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let scored = candidates.into_iter().filter_map(|c| Some((distance_if_near(name, c)?, c)));
    let mut scored: Vec<(usize, &str)> = scored.collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(MAX_SUGGESTIONS).map(|(_, c)| c).collect()
}

/// Maximum number of suggested candidates.
pub(crate) const MAX_SUGGESTIONS: usize = 3;

/// Maximum length in bytes of names that are compared. Longer names are not typed by hand.
const MAX_COMPARED_BYTES: usize = 128;

/// Returns the edit distance if it is small enough for a typo.
pub(crate) const fn distance_if_near(name: &str, candidate: &str) -> Option<usize> {
    if name.len() > MAX_COMPARED_BYTES || candidate.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let limit = if name.len() < 6 { 1 } else { name.len() / 3 };
    let distance = distance(name.as_bytes(), candidate.as_bytes());
    if distance <= limit { Some(distance) } else { None }
}

/// Optimal string alignment distance: counts insertions, deletions, substitutions and swaps of neighbors,
/// ignoring case.
const fn distance(a: &[u8], b: &[u8]) -> usize {
    const fn min(a: usize, b: usize) -> usize {
        if a < b { a } else { b }
    }
    let mut before_last = [0; MAX_COMPARED_BYTES + 1];
    let mut last = [0; MAX_COMPARED_BYTES + 1];
    let mut j = 0;
    while j <= b.len() {
        last[j] = j;
        j += 1;
    }
    let mut i = 1;
    while i <= a.len() {
        let mut row = [i; MAX_COMPARED_BYTES + 1];
        let mut j = 1;
        while j <= b.len() {
            let cost = if a[i - 1].eq_ignore_ascii_case(&b[j - 1]) { 0 } else { 1 };
            row[j] = min(min(last[j] + 1, row[j - 1] + 1), last[j - 1] + cost);
            let swapped = i > 1
                && j > 1
                && a[i - 1].eq_ignore_ascii_case(&b[j - 2])
                && a[i - 2].eq_ignore_ascii_case(&b[j - 1]);
            if swapped {
                row[j] = min(row[j], before_last[j - 2] + 1);
            }
            j += 1;
        }
        before_last = last;
        last = row;
        i += 1;
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
