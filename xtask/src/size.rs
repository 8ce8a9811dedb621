//! `cargo xtask size`: the contents of the release artifacts, by section, crate, module and function.
//!
//! Both artifacts are built with symbols in a folder of their own, because the symbols of an ordinary release
//! build are stripped. Mangled names of the v0 scheme contain type arguments. These arguments distinguish the
//! instances of a generic function, and the versions of code that is compiled for several instruction sets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use object::elf::SHF_ALLOC;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind};

use crate::shell::{cargo, must, root, target};

/// The release artifacts with their maximum sizes in bytes, without symbols. The guide's page *Platforms and
/// limits* lists the largest parts and their benefits.
const ARTIFACTS: [(&str, u64); 2] = [("farcall", 33_900_000), ("lib_farcall.so", 30_800_000)];

/// Default number of lines of a table.
const DEFAULT_LINES: usize = 30;

/// Paths of the functions that compile their closure for an instruction set, with the name of the set.
const INSTRUCTION_SETS: [(&str, &str); 2] =
    [("farcall_ffi::simd::avx512", "AVX-512"), ("farcall_ffi::simd::avx2", "AVX2")];

/// Prints the contents of the release artifacts, or of the files in `args`. Returns true if no release
/// artifact is too large.
pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let (lines, files) = match args {
        ["--lines", lines, files @ ..] => (lines.parse().context("`--lines` expects a number")?, files),
        files => (DEFAULT_LINES, files),
    };
    if let Some(option) = files.iter().find(|file| file.starts_with('-')) {
        bail!("no option `{option}`");
    }
    if !files.is_empty() {
        files.iter().try_for_each(|file| report(Path::new(file), lines).map(drop))?;
        return Ok(true);
    }
    let mut small = true;
    let folder = build()?;
    for (name, max_bytes) in ARTIFACTS {
        let artifact = folder.join(name);
        let bytes = report(&artifact, lines)?;
        if bytes > max_bytes {
            println!("\n{} is larger than {} MB", show(&artifact), megabytes(max_bytes));
            small = false;
        }
    }
    Ok(small)
}

/// Builds the release artifacts with symbols. Returns their folder.
fn build() -> Result<PathBuf> {
    let folder = target().join("size");
    let mut build = cargo(&["build", "--release", "--package", "farcall-cli", "--package", "farcall-python"]);
    build.env("CARGO_TARGET_DIR", &folder).env("CARGO_PROFILE_RELEASE_STRIP", "none");
    must(build.env("RUSTFLAGS", "-Csymbol-mangling-version=v0"))?;
    Ok(folder.join("release"))
}

/// Total size of some functions, and their number.
#[derive(Default, Clone, Copy)]
struct Total {
    bytes: u64,
    functions: u64,
}

/// Totals by name.
#[derive(Default)]
struct Table(BTreeMap<String, Total>);

impl Table {
    fn add(&mut self, name: String, bytes: u64) {
        let total = self.0.entry(name).or_default();
        total.bytes += bytes;
        total.functions += 1;
    }

    /// Prints the largest entries, and the sum of the others.
    fn print(self, title: &str, lines: usize) {
        println!("\n{:>8}  {:>9}  {title}", "MB", "functions");
        let mut entries: Vec<(String, Total)> = self.0.into_iter().collect();
        entries.sort_by_key(|(_, total)| std::cmp::Reverse(total.bytes));
        let rest = entries.split_off(lines.min(entries.len()));
        if !rest.is_empty() {
            let sum = rest.iter().fold(Total::default(), |sum, (_, total)| Total {
                bytes: sum.bytes + total.bytes,
                functions: sum.functions + total.functions,
            });
            entries.push((format!("({} more)", rest.len()), sum));
        }
        for (name, total) in entries {
            println!("{:>8}  {:>9}  {name}", megabytes(total.bytes), total.functions);
        }
    }
}

/// Prints the contents of an executable or a shared library. Returns its size without symbols in bytes.
fn report(file: &Path, lines: usize) -> Result<u64> {
    let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let object =
        object::File::parse(&*content).with_context(|| format!("{} is no object", file.display()))?;

    let mut sections: Vec<(&str, u64)> = Vec::new();
    let mut code = 0;
    for section in object.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        let in_file =
            !matches!(section.kind(), SectionKind::UninitializedData | SectionKind::UninitializedTls);
        if in_file && sh_flags.0 & SHF_ALLOC.0 != 0 {
            sections.push((section.name().unwrap_or("?"), section.size()));
            code += if section.kind() == SectionKind::Text { section.size() } else { 0 };
        }
    }
    sections.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let all: u64 = sections.iter().map(|(_, bytes)| bytes).sum();
    println!("\n{}: {} MB without symbols\n\n{:>8}  section", show(file), megabytes(all), "MB");
    for (name, bytes) in sections.iter().filter(|(_, bytes)| *bytes >= 1000) {
        println!("{:>8}  {name}", megabytes(*bytes));
    }

    let [mut sets, mut crates, mut modules, mut functions] = [(); 4].map(|()| Table::default());
    let mut named = 0;
    for (symbol, bytes) in code_of(&object) {
        named += bytes;
        let function = Function::new(&symbol);
        sets.add(function.instructions.unwrap_or("any processor").to_owned(), bytes);
        crates.add(function.crate_name().to_owned(), bytes);
        modules.add(function.module(), bytes);
        functions.add(function.path, bytes);
    }
    if named == 0 {
        println!("\nno symbols: build with CARGO_PROFILE_RELEASE_STRIP=none");
        return Ok(all);
    }
    println!("\n{} MB of {} MB of code are in named functions.", megabytes(named), megabytes(code));
    sets.print("code by instruction set (of `simd::vectorized` only)", lines);
    crates.print("code by crate", lines);
    modules.print("code by module", lines);
    functions.print("code by function, all instances together", lines);
    Ok(all)
}

/// Returns the demangled names and sizes of functions. Functions with the same code may share an address,
/// and count once.
fn code_of(object: &object::File<'_>) -> impl Iterator<Item = (String, u64)> {
    let mut by_address = BTreeMap::new();
    for symbol in object.symbols() {
        let kind = symbol.section_index().and_then(|i| object.section_by_index(i).ok()).map(|s| s.kind());
        if kind == Some(SectionKind::Text)
            && symbol.size() > 0
            && let Ok(name) = symbol.name()
        {
            by_address
                .insert(symbol.address(), (format!("{:#}", rustc_demangle::demangle(name)), symbol.size()));
        }
    }
    by_address.into_values()
}

/// A function, regardless of its type arguments.
#[derive(PartialEq, Eq, Debug)]
struct Function {
    /// Path without type arguments and closures.
    path: String,
    /// Instruction set that the function is compiled for, if known.
    instructions: Option<&'static str>,
}

impl Function {
    /// Parses a demangled name. A generic function of another crate, such as `Vec::push`, counts for the
    /// first crate of the workspace in its type arguments.
    fn new(name: &str) -> Function {
        for (wrapper, instructions) in INSTRUCTION_SETS {
            if let Some(arguments) = name.strip_prefix(wrapper).and_then(|rest| rest.strip_prefix("::<")) {
                return Function { instructions: Some(instructions), ..Function::new(arguments) };
            }
        }
        let own =
            starts(name).find(|&at| name[at..].starts_with("farcall") || name[at..].starts_with("_farcall"));
        let path = match own.or_else(|| starts(name).next()) {
            None => name.to_owned(),
            // The function is a method of a type, or of a trait that the type implements.
            Some(at) if name.starts_with('<') && at < closing(name) => {
                path_at(name, at) + &path_at(name, closing(name))
            }
            Some(at) => path_at(name, at),
        };
        Function { path, instructions: None }
    }

    fn crate_name(&self) -> &str {
        if self.path.contains("::") { self.path.split("::").next().unwrap_or_default() } else { "(not Rust)" }
    }

    /// Returns the path of the module and its parents, at most three names.
    fn module(&self) -> String {
        let names: Vec<&str> = self.path.split("::").collect();
        let is_module =
            |name: &&&str| name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
        let modules = names.iter().take(names.len() - 1).take_while(is_module).take(3);
        modules.copied().collect::<Vec<_>>().join("::")
    }
}

/// Returns the positions in a demangled name where paths of at least two names start.
fn starts(name: &str) -> impl Iterator<Item = usize> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_start = move |at: usize| {
        let follows = name[..at].ends_with(|c| word(c) || c == ':' || c == '#');
        name[at..].starts_with(word) && !follows && name[at..].trim_start_matches(word).starts_with("::")
    };
    name.char_indices().map(|(at, _)| at).filter(move |&at| is_start(at))
}

/// Returns the position after the bracket that closes the bracket at the start of a text. If there is no such
/// bracket, returns the text's length.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            // The `>` in the arrow of a function type closes no bracket.
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
        before = c;
    }
    text.len()
}

/// Returns the path at a position, without type arguments and closures.
fn path_at(name: &str, start: usize) -> String {
    let mut path = String::new();
    let mut rest = &name[start..];
    loop {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        path.push_str(&rest[..end]);
        rest = &rest[end..];
        while let Some(next) = rest.strip_prefix("::<").or_else(|| rest.strip_prefix("::{")) {
            let at = if rest.starts_with("::<") {
                2 + closing(&rest[2..])
            } else {
                4 + next.find('}').unwrap_or(0)
            };
            rest = rest.get(at..).unwrap_or_default();
        }
        let Some(next) = rest.strip_prefix("::") else { return path };
        path.push_str("::");
        rest = next;
    }
}

fn show(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.3}", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_functions_without_type_arguments() {
        let check = |name: &str, path: &str, module: &str| {
            let function = Function::new(name);
            assert_eq!((function.path.as_str(), function.module().as_str()), (path, module), "{name}");
        };
        check(
            "farcall_ir::text::parse::<fn(u8) -> u8>::{closure#0}",
            "farcall_ir::text::parse",
            "farcall_ir::text",
        );
        check("<farcall_ir::types::Dim>::of", "farcall_ir::types::Dim::of", "farcall_ir::types");
        check(
            "<farcall_ir::types::Dim as core::fmt::Debug>::fmt",
            "farcall_ir::types::Dim::fmt",
            "farcall_ir::types",
        );
        check("core::ptr::drop_in_place::<farcall_plan::Plan>", "farcall_plan::Plan", "farcall_plan");
        check("<alloc::vec::Vec<u8>>::push", "alloc::vec::Vec::push", "alloc::vec");
        check("memcpy", "memcpy", "");
    }

    #[test]
    fn code_for_an_instruction_set_counts_for_its_closure() {
        let function = Function::new(
            "farcall_ffi::simd::avx512::<(), farcall_kernels::sort::order::<u8>::{closure#1}::{closure#0}>",
        );
        let path = "farcall_kernels::sort::order".to_owned();
        assert_eq!(function, Function { path, instructions: Some("AVX-512") });
    }
}
