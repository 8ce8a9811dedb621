//! Compares StableHLO's own artifacts, one of each version, with the functions of their texts. The artifacts
//! contain operations and types that farcall does not know, so the functions are compared one by one.

use std::collections::BTreeMap;

use super::program::Reader;
use crate::bytecode::File;
use crate::diag::Source;
use crate::module::{Func, Module};
use crate::{text, verify};

/// Parses the functions of a text one by one, and returns those without errors, by name.
fn functions(text: &str) -> BTreeMap<String, Func> {
    let starts: Vec<usize> = text.match_indices("\nfunc.func").map(|(i, _)| i).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let each = starts.iter().zip(ends).filter_map(|(start, end)| {
        let module = text::parse(&Source::new("function", &text[*start..end])).ok()?;
        let func = module.funcs().first()?.clone();
        Some((func.name.clone(), func))
    });
    each.collect()
}

#[test]
#[ignore = "needs StableHLO's folder tests/vhlo, which the variable FARCALL_VHLO_TESTS must name"]
fn every_version() {
    let folder = std::env::var("FARCALL_VHLO_TESTS").expect("FARCALL_VHLO_TESTS names a folder");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e == "bc")) {
        let bytes = std::fs::read(path).unwrap();
        let source = std::fs::read_to_string(path.with_extension("")).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let file = File::open(&bytes).unwrap();
        let (module, diagnostics) = Reader::new(&file, "", bytes.len()).unwrap().parts();
        let expected = functions(&source);
        let (mut same, mut valid, mut other) = (0, 0, Vec::new());
        for func in module.funcs() {
            let Some(text) = expected.get(&func.name) else { continue };
            let mut alone = Module::new(Source::none());
            alone.add_func(func.clone());
            valid += usize::from(verify::verify(&alone).is_ok());
            if func == text {
                same += 1;
            } else {
                let mut module = Module::new(Source::none());
                module.add_func(text.clone());
                other.push(format!("artifact:\n{}\ntext:\n{}", text::print(&alone), text::print(&module)));
            }
        }
        let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
        diagnostics.kept().iter().for_each(|d| *codes.entry(d.code).or_default() += 1);
        println!(
            "{name}: {} functions in the artifact, {} readable functions in the text; {same} are equal in both, \
             {valid} are valid; errors: {codes:?}",
            module.funcs().len(),
            expected.len(),
        );
        println!("{}", other.join("\n\n"));
    }
}
