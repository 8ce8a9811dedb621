//! Namespaces: prefixes of target names, which keep apart two libraries with ops of the same name.
//!
//! The op `rms_norm` of a library in the namespace `acme` is the target `acme.rms_norm`.

/// True for parts of letters, digits and `_`, joined by dots, of which none begins with a digit: a program's
/// text needs no quotes for a target in such a namespace.
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

/// The name of a target in a namespace.
pub fn qualified(namespace: &str, name: &str) -> String {
    format!("{namespace}.{name}")
}

/// The form of a namespace, in words.
pub const FORM: &str = "letters, digits and `_`, in parts joined by dots, as in `acme`";
