//! `farcall guide`: lists the pages of the guide, or prints one of them.

use std::io::Write;

use anyhow::{Context, Result};

use crate::fences::{Fences, Role};
use crate::terminal::{self, BOLD, GREEN, styled};

/// A page of the guide.
struct Page {
    name: &'static str,
    /// A line for the list of pages.
    summary: &'static str,
    text: &'static str,
}

/// The pages, in the order of the book. `guide` is a link to the folder of the book's pages.
macro_rules! pages {
    ($($name:literal: $summary:literal,)*) => {
        const PAGES: &[Page] = &[$(Page {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../guide/", $name, ".md")),
        }),*];
    };
}

pages! {
    "introduction": "what farcall is, and which page answers which question",
    "getting-started": "an op of your own, called from JAX and run without it, in five minutes",
    "kernels": "parameters, rows, views, scratch memory, threads, SIMD, random numbers, errors, state",
    "signatures": "shapes, element types, attributes, defaults, conditions, aliases",
    "derivatives": "gradients, forward mode, residuals, derivatives of any order",
    "batching-and-sharding": "vmap and arrays split among devices",
    "shardings": "programs divided among devices, and what moves between them",
    "testing": "unit tests, and checks of an op's promises",
    "jax": "ops in jit, grad, vmap and export; callbacks; composites",
    "cuda": "handlers for CUDA: kernels, streams, CUDA graphs, cuBLAS, exports for two platforms",
    "running-programs": "the command line, program formats, symbolic shapes, limits",
    "devices": "programs with collectives on several devices of one process",
    "clusters": "ops in JAX programs that run on several processes",
    "embedding": "the engine in a Rust application",
    "python": "the engine and ops from Python, with or without JAX",
    "building-programs": "programs written in Rust",
    "blocks": "parts of programs that become calls of handlers",
    "ffi-and-xla-client": "modules shaped like jax.ffi and jaxlib.xla_client, for existing code",
    "jax-backend": "JAX programs on the engine instead of XLA",
    "other-hosts": "C++ handlers, EXLA, TensorFlow and other hosts of XLA's FFI",
    "pjrt": "programs on the devices of other compilers, such as CUDA and TPU",
    "linear-algebra": "decompositions, and LAPACK calls of exported programs",
    "sparse": "products, conversions and solves of sparse matrices",
    "performance": "profiles, traces, fusion reports, benchmarks",
    "semantics": "results where XLA and the specification differ",
    "platforms-and-limits": "supported systems, versions and sizes; missing features",
    "security": "trusted inputs, and limits for untrusted programs",
    "internals": "architecture and invariants",
    "contributing": "adding an operation, a pass, a reader, a command",
}

/// Names of all pages.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.name)
}

/// Prints the page of this name, or the list of pages.
pub(crate) fn guide(name: Option<&str>) -> Result<()> {
    let mut out = terminal::stdout();
    let Some(name) = name else {
        for page in PAGES {
            writeln!(out, "{}  {}", styled(GREEN, format!("{:22}", page.name)), page.summary)?;
        }
        writeln!(out, "\nfarcall guide NAME prints a page.")?;
        return Ok(());
    };
    let page = PAGES.iter().find(|page| page.name == name).context("the command line accepts only pages")?;
    for line in readable(page.text) {
        match line.starts_with('#') {
            true => writeln!(out, "{}", styled(BOLD, line))?,
            false => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

/// Returns the lines of a page that the book shows as well. Leaves out comments, and lines of Rust code that
/// begin with `# `.
fn readable(text: &str) -> impl Iterator<Item = &str> {
    let mut fences = Fences::default();
    let mut language = "";
    text.lines().filter(move |line| {
        let role = fences.next(line);
        let line = line.trim();
        match role {
            Role::Opens(info) => {
                language = info;
                true
            }
            Role::Code => !(language.starts_with("rust") && (line == "#" || line.starts_with("# "))),
            Role::Text => !(line.starts_with("<!--") && line.ends_with("-->")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_that_of_the_book() {
        let summary = include_str!("../guide/SUMMARY.md");
        let links = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(".md)"));
        assert_eq!(links.collect::<Vec<_>>(), names().collect::<Vec<_>>());
    }

    #[test]
    fn pages_open_with_a_title() {
        for page in PAGES {
            assert!(page.text.starts_with("# "), "{}", page.name);
        }
    }

    #[test]
    fn hidden_lines_are_not_printed() {
        let text =
            "# Title\n<!-- fails -->\n```rust\n# use x::y;\n#[test]\nf();\n```\n```sh\n# a comment\n```\n";
        let lines: Vec<&str> = readable(text).collect();
        assert_eq!(lines, ["# Title", "```rust", "#[test]", "f();", "```", "```sh", "# a comment", "```"]);
    }
}
