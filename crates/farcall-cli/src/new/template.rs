//! Files of a new library: the files of the folder `template`, with `my-ops`, `my_ops` and `my_op` replaced
//! by the library's names. A line that begins with `CUDA|` is only in libraries with handlers for CUDA, and a
//! line that begins with `HOST|` is only in the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::names::Names;

/// Paths in the crate, with the contents of the files.
const FILES: [(&str, &str); 5] = [
    (".gitignore", include_str!("../../template/gitignore")),
    ("Cargo.toml", include_str!("../../template/Cargo.toml.in")),
    ("README.md", include_str!("../../template/README.md")),
    ("example.py", include_str!("../../template/example.py")),
    ("src/lib.rs", include_str!("../../template/src/lib.rs")),
];

/// More files of a crate with handlers for CUDA.
const CUDA_FILES: [(&str, &str); 4] = [
    ("build.rs", include_str!("../../template/build.rs")),
    ("src/cuda.rs", include_str!("../../template/src/cuda.rs")),
    ("src/kernels.cu", include_str!("../../template/src/kernels.cu")),
    ("src/kernels.ptx", include_str!("../../template/src/kernels.ptx")),
];

/// Source of farcall for a new crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Farcall {
    /// The folder of the crate `farcall-ffi`.
    Path(PathBuf),
    /// The package registry.
    Version,
}

impl Farcall {
    /// Returns the folder of the crate `farcall-ffi`; `given` is this folder, or the checkout that contains
    /// it. Without `given`, returns the folder in the checkout that this program was built from. If that
    /// checkout no longer exists, returns the registry.
    ///
    /// # Errors
    /// If the given folder is neither a checkout nor the folder of the crate.
    pub(crate) fn find(given: Option<&Path>) -> Result<Farcall> {
        let Some(given) = given else {
            let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../farcall-ffi");
            return Ok(is_ffi(&built)
                .then(|| built.canonicalize().ok())
                .flatten()
                .map_or(Farcall::Version, Farcall::Path));
        };
        let Some(found) =
            [given.join("crates/farcall-ffi"), given.to_owned()].into_iter().find(|p| is_ffi(p))
        else {
            bail!("{} is not a checkout of farcall: there is no crates/farcall-ffi in it", given.display());
        };
        let found = found.canonicalize().with_context(|| format!("cannot use {}", found.display()))?;
        Ok(Farcall::Path(found))
    }

    /// Returns the checkout, from which the Python package can be installed.
    pub(crate) fn checkout(&self) -> Option<&Path> {
        let Farcall::Path(ffi) = self else { return None };
        ffi.parent()?.parent().filter(|root| root.join("pyproject.toml").is_file())
    }

    /// Returns the line in a manifest for a crate of farcall, which lies beside `farcall-ffi`.
    fn dependency(&self, krate: &str) -> String {
        match self {
            Farcall::Path(ffi) => {
                let path = ffi.with_file_name(krate);
                format!("{krate} = {{ path = {} }}", toml_string(&path.display().to_string()))
            }
            Farcall::Version => format!("{krate} = {:?}", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// Returns true for the folder of the crate `farcall-ffi`.
fn is_ffi(folder: &Path) -> bool {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
    manifest.is_ok_and(|text| text.lines().any(|line| line.trim() == "name = \"farcall-ffi\""))
}

/// Formats text as a TOML string.
fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns the files of the crate. `cuda` adds handlers for CUDA, and `own_workspace` makes the crate a
/// separate workspace.
pub(crate) fn files(
    names: &Names,
    farcall: &Farcall,
    cuda: bool,
    own_workspace: bool,
) -> BTreeMap<&'static str, String> {
    let dependencies = ["farcall-ffi", "farcall-cuda"].map(|krate| farcall.dependency(krate));
    let words = [
        ("my-ops", &names.krate),
        ("my_ops", &names.lib),
        ("my_op", &names.op),
        ("FARCALL_FFI", &dependencies[0]),
        ("FARCALL_CUDA", &dependencies[1]),
    ];
    let file = |(path, text): (&'static str, &str)| {
        let text = chosen(text, cuda);
        let mut text = fill(&text, &words.map(|(word, with)| (word, with.as_str())));
        if path == "Cargo.toml" && own_workspace {
            text += "\n# This crate is not a part of the workspace around it.\n[workspace]\n";
        }
        (path, text)
    };
    let more = CUDA_FILES.into_iter().filter(|_| cuda);
    FILES.into_iter().chain(more).map(file).collect()
}

/// Returns the lines for a library with or without handlers for CUDA.
fn chosen(text: &str, cuda: bool) -> String {
    let (kept, dropped) = if cuda { ("CUDA|", "HOST|") } else { ("HOST|", "CUDA|") };
    let lines = text.split_inclusive('\n').filter(|line| !line.starts_with(dropped));
    lines.map(|line| line.strip_prefix(kept).unwrap_or(line)).collect()
}

/// Replaces words in text. If several words match at a position, the first in the list counts. Replacements
/// are not scanned again.
fn fill(text: &str, words: &[(&str, &str)]) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    'text: while let Some(c) = rest.chars().next() {
        for (word, with) in words {
            if let Some(after) = rest.strip_prefix(word) {
                out += with;
                rest = after;
                continue 'text;
            }
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_the_template_is_left() {
        let names = Names::new("gates", Some("swish")).unwrap();
        let all = |cuda| files(&names, &Farcall::Version, cuda, false);
        for (path, text) in all(false).into_iter().chain(all(true)) {
            for word in ["my-op", "my_op", "FARCALL", "CUDA|", "HOST|"] {
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
    }

    #[test]
    fn names_that_hold_those_of_the_template_stay() {
        let names = Names::new("my_ops2", Some("my_op3")).unwrap();
        let files = files(&names, &Farcall::Version, false, false);
        assert!(files["Cargo.toml"].contains("name = \"my_ops2\""), "{}", files["Cargo.toml"]);
        assert!(files["src/lib.rs"].contains("library!(\"my_ops2\", [my_op3, my_op3_bwd]);"));
    }

    #[test]
    fn paths_are_quoted_for_the_manifest() {
        assert_eq!(toml_string("/a b/\"c\"\\"), r#""/a b/\"c\"\\""#);
        assert_eq!(toml_string("/\u{7f}"), r#""/\u007F""#);
    }
}
