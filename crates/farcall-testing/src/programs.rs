//! Programs to test and to mutate: the engine's filetests, and the suites in `shared` beside the checkout or
//! in a parent folder, if they exist.

use std::path::{Path, PathBuf};

/// Returns a file or folder of the folder `shared`, if it exists beside the checkout or in a parent folder.
pub fn shared(path: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|dir| dir.join("shared").join(path)).find(|path| path.exists())
}

/// Returns every program. A file that contains several programs is split.
pub fn programs() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("../farcall/filetests")];
    folders.extend(["stablehlo-suite", "corpus"].into_iter().filter_map(shared));
    let mut files = Vec::new();
    folders.iter().for_each(|folder| collect(folder, &mut files));
    files.sort();
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts.flat_map(|text| text.split("// -----\n").map(without_comments).collect::<Vec<_>>()).collect()
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            out.push(path);
        }
    }
}

/// Removes comments, so that mutations do not change them.
fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("//")).collect()
}
