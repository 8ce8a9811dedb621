//! Namespaces: prefixes of target names that distinguish ops of the same name in different libraries.
//!
//! The op `rms_norm` of a library in the namespace `acme` is the target `acme.rms_norm`.

/// Returns true if the text consists of parts joined by dots. Each part consists of letters, digits and `_`,
/// and does not begin with a digit. Targets in such a namespace need no quotes in a program's text.
///
/// ```
/// use farcall_sig::namespace::is_namespace;
///
/// assert!(is_namespace("acme") && is_namespace("acme.v2"));
/// assert!(!is_namespace("") && !is_namespace("2acme") && !is_namespace("acme.") && !is_namespace("a-b"));
/// ```
pub fn is_namespace(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.starts_with(|c: char| c.is_ascii_digit())
            && !part.is_empty()
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split('.').all(is_part)
}

/// Returns the name of a target in a namespace.
pub fn qualified(namespace: &str, name: &str) -> String {
    format!("{namespace}.{name}")
}

/// Description of a valid namespace, for messages.
pub const FORM: &str = "letters, digits and `_`, in parts joined by dots, as in `acme`";
