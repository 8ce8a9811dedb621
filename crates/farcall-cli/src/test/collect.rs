//! Collects the tests: programs, folders of programs, corpora, single cases.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Task, Test};
use crate::corpus::{MANIFEST, Manifest};

/// File extensions of programs in a folder.
const EXTENSIONS: [&str; 3] = ["mlir", "hlo", "mlirbc"];

/// Returns the tests under the paths. If `filters` is not empty, returns only the tests whose names contain
/// one of the filters.
pub(super) fn tests(paths: &[PathBuf], filters: &[String]) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for path in paths {
        add(path, &mut tests)?;
    }
    let mut seen = BTreeSet::new();
    tests.retain(|t| seen.insert(t.task.clone()));
    tests.retain(|t| filters.is_empty() || filters.iter().any(|f| t.name.contains(f.as_str())));
    Ok(tests)
}

fn add(path: &Path, tests: &mut Vec<Test>) -> Result<()> {
    let shown = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if metadata.is_file() {
        if path.file_name() == Some(OsStr::new(MANIFEST)) || path.extension() == Some(OsStr::new("json")) {
            return add_corpus(path, None, tests);
        }
        tests.push(programs(path));
        return Ok(());
    }
    let own = path.join(MANIFEST);
    if own.is_file() {
        return add_corpus(&own, None, tests);
    }
    if let Some((manifest, case)) = case_of(path) {
        return add_corpus(&manifest, Some(&case), tests);
    }
    let before = tests.len();
    add_folder(path, tests)?;
    if tests.len() == before {
        bail!("{shown} holds no programs (*.{}) and no corpus ({MANIFEST})", EXTENSIONS.join(", *."));
    }
    Ok(())
}

/// Returns the manifest and name of the case that a folder holds.
fn case_of(folder: &Path) -> Option<(PathBuf, String)> {
    let folder = folder.canonicalize().ok()?;
    let manifest = folder.parent()?.join(MANIFEST);
    let name = folder.file_name()?.to_str()?.to_owned();
    (folder.join("program.mlir").is_file() && manifest.is_file()).then_some((manifest, name))
}

fn add_corpus(path: &Path, only: Option<&str>, tests: &mut Vec<Test>) -> Result<()> {
    let manifest = Manifest::read(path)?;
    if let Some(name) = only {
        manifest.case(name)?;
    }
    for case in manifest.cases.iter().filter(|c| only.is_none_or(|name| c.name == name)) {
        tests.push(Test {
            name: case.name.clone(),
            task: Task::Case { manifest: path.to_owned(), name: case.name.clone() },
            alone: case.stateful || case.repeat_outputs.is_some(),
        });
    }
    Ok(())
}

/// Adds the programs of a folder and its subfolders, sorted by name.
fn add_folder(folder: &Path, tests: &mut Vec<Test>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("cannot read {}", folder.display()))?;
    paths.sort();
    for path in paths {
        // A symbolic link to a folder could form a cycle.
        if path.is_dir() && !path.is_symlink() {
            if path.join(MANIFEST).is_file() {
                add_corpus(&path.join(MANIFEST), None, tests)?;
            } else {
                add_folder(&path, tests)?;
            }
        } else if path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|e| extension == *e)) {
            tests.push(programs(&path));
        }
    }
    Ok(())
}

fn programs(path: &Path) -> Test {
    Test { name: path.display().to_string(), task: Task::Programs { path: path.to_owned() }, alone: false }
}
