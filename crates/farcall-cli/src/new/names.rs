//! Names in a new library: of the crate, of the library file, of the op.

use anyhow::{Result, bail, ensure};
use farcall::sig::reserved::is_reserved;

/// A consistent set of names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Names {
    /// Name of the package: `my-ops`.
    pub krate: String,
    /// Name for Rust and the linker: `my_ops`.
    pub lib: String,
    /// Name of the op and of its kernel function: `my_op`.
    pub op: String,
}

impl Names {
    /// Derives the names of a crate `krate` with one op. The op is named after the crate unless `op` is
    /// given.
    ///
    /// # Errors
    /// If one of the names is invalid. The error suggests a similar valid name if there is one.
    pub(crate) fn new(krate: &str, op: Option<&str>) -> Result<Names> {
        check_crate(krate)?;
        let named = op.unwrap_or(krate);
        let from = if op.is_some() { "--op" } else { "the crate's name" };
        let another = if op.is_some() { "" } else { "; give the op another name with --op NAME" };
        let op = snake_case(named);
        ensure!(
            op.starts_with(|c: char| c.is_ascii_lowercase()),
            "`{named}` ({from}) cannot be an op's name: a name consists of letters, digits and _, and begins with a letter{another}"
        );
        let taken = |why: &str| format!("`{op}` ({from}) cannot be an op's name: {why}; how about {op}_op?");
        ensure!(!KEYWORDS.contains(&op.as_str()), taken("it is a keyword of Rust"));
        ensure!(!PYTHON_KEYWORDS.contains(&op.as_str()), taken("it is a keyword of Python"));
        ensure!(
            !TYPES.contains(&op.as_str()),
            taken("the kernel's source has a type or module of this name")
        );
        let reserved = is_reserved(&op);
        ensure!(!reserved, taken("as a symbol of the library it would replace the C library's function"));
        Ok(Names { krate: krate.to_owned(), lib: snake_case(krate), op })
    }

    /// Returns the name of the library file that Cargo creates: `libmy_ops.so`.
    pub(crate) fn library(&self) -> String {
        format!("{}{}{}", std::env::consts::DLL_PREFIX, self.lib, std::env::consts::DLL_SUFFIX)
    }
}

fn check_crate(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let near = snake_case(name).replace('_', "-");
    let near = match near.starts_with(|c: char| c.is_ascii_lowercase()) {
        true if near != name && name.is_ascii() => format!("; how about {near}?"),
        _ => String::new(),
    };
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        bail!(
            "`{name}` cannot be a crate's name: it has {bad:?} in it, but only letters, digits, - and _ are allowed{near}"
        );
    }
    ensure!(
        name.starts_with(|c: char| c.is_ascii_alphabetic()),
        "`{name}` cannot be a crate's name: it must begin with a letter{near}"
    );
    ensure!(name.len() <= 64, "`{name}` cannot be a crate's name: it is longer than 64 characters");
    let lib = snake_case(name);
    let why = if KEYWORDS.contains(&lib.as_str()) {
        "it is a keyword of Rust"
    } else if CRATES.contains(&lib.as_str()) {
        "a crate that it needs has that name"
    } else if LIBRARIES.contains(&lib.as_str()) {
        "its library would take the place of one of the system's"
    } else {
        return Ok(());
    };
    bail!("`{name}` cannot be a crate's name: {why}; how about {name}-ops?");
}

/// Converts `RmsNorm`, `rms-norm` and `rms.norm` to `rms_norm`.
fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            continue;
        }
        // A word begins at a capital after a lower-case letter, and at the last of several capitals.
        let before = i.checked_sub(1).map(|i| chars[i]);
        let after = chars.get(i + 1);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|b| b.is_ascii_lowercase() || after.is_some_and(char::is_ascii_lowercase));
        if begins && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out.trim_end_matches('_').to_owned()
}

/// Keywords of Rust, including reserved ones.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Python's keywords that are not keywords of Rust: `ops.lambda(x)` is a syntax error.
#[rustfmt::skip]
const PYTHON_KEYWORDS: &[&str] = &[
    "and", "assert", "class", "def", "del", "elif", "except", "finally", "from", "global", "import", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "with",
];

/// Names with a fixed meaning in the template's source.
#[rustfmt::skip]
const TYPES: &[&str] = &[
    "bool", "char", "f16", "f32", "f64", "f128", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32",
    "u64", "u128", "usize", "alloc", "core", "std", "farcall_ffi", "farcall_cuda", "cuda", "load_kernels", "sigmoid",
    "tests",
];

/// Crates that every library is linked with.
const CRATES: &[&str] = &[
    "alloc",
    "core",
    "std",
    "test",
    "proc_macro",
    "farcall_cuda",
    "farcall_ffi",
    "farcall_macros",
    "farcall_sig",
];

/// System libraries such as `libc.so`, which Rust's linker would confuse with a new library of the same name.
const LIBRARIES: &[&str] = &["c", "dl", "gcc", "gcc_s", "m", "pthread", "rt", "util"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_named_as_its_crate_unless_said() {
        let names = |krate: &str, op: Option<&str>| Names::new(krate, op).map(|n| (n.lib, n.op)).unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(names("rms-norm", None), pair("rms_norm", "rms_norm"));
        assert_eq!(names("RMSNorm2D", None), pair("rms_norm2d", "rms_norm2d"));
        assert_eq!(names("my_ops", Some("TopK")), pair("my_ops", "top_k"));
        assert_eq!(names("fn-ops", Some("my.op")), pair("fn_ops", "my_op"));
    }

    #[test]
    fn names_that_cannot_be_are_refused_with_one_that_can() {
        let why = |krate: &str, op: Option<&str>| Names::new(krate, op).unwrap_err().to_string();
        let messages = [
            why("my ops", None),
            why("größe", None),
            why("2d", None),
            why("-x", None),
            why("fn", None),
            why("std", None),
            why("farcall-ffi", None),
            why("c", None),
            why(&"x".repeat(65), None),
            why("log", None),
            why("f32", None),
            why("tests", None),
            why("ops", Some("lambda")),
            why("ops", Some("match")),
            why("ops", Some("3d")),
            why("ops", Some("é")),
        ];
        expect_test::expect![[r#"
            `my ops` cannot be a crate's name: it has ' ' in it, but only letters, digits, - and _ are allowed; how about my-ops?
            `größe` cannot be a crate's name: it has 'ö' in it, but only letters, digits, - and _ are allowed
            `2d` cannot be a crate's name: it must begin with a letter
            `-x` cannot be a crate's name: it must begin with a letter; how about x?
            `fn` cannot be a crate's name: it is a keyword of Rust; how about fn-ops?
            `std` cannot be a crate's name: a crate that it needs has that name; how about std-ops?
            `farcall-ffi` cannot be a crate's name: a crate that it needs has that name; how about farcall-ffi-ops?
            `c` cannot be a crate's name: its library would take the place of one of the system's; how about c-ops?
            `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` cannot be a crate's name: it is longer than 64 characters
            `log` (the crate's name) cannot be an op's name: as a symbol of the library it would replace the C library's function; how about log_op?
            `f32` (the crate's name) cannot be an op's name: the kernel's source has a type or module of this name; how about f32_op?
            `tests` (the crate's name) cannot be an op's name: the kernel's source has a type or module of this name; how about tests_op?
            `lambda` (--op) cannot be an op's name: it is a keyword of Python; how about lambda_op?
            `match` (--op) cannot be an op's name: it is a keyword of Rust; how about match_op?
            `3d` (--op) cannot be an op's name: a name consists of letters, digits and _, and begins with a letter
            `é` (--op) cannot be an op's name: a name consists of letters, digits and _, and begins with a letter"#]].assert_eq(&messages.join("\n"));
    }
}
