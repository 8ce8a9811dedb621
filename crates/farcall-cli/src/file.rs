//! Atomic writes: a file appears with its whole contents, or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Writes a file with the output of `f`.
pub(crate) fn write(path: &Path, f: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    require_place(path)?;
    if path.exists() && !path.is_file() {
        // A device or a pipe is written to, not replaced.
        let mut out = BufWriter::new(File::options().write(true).open(path).with_context(cannot)?);
        f(&mut out).with_context(cannot)?;
        return out.flush().with_context(cannot);
    }
    // A symbolic link is followed, so that its target is replaced and not the link.
    let followed = std::fs::canonicalize(path);
    let path = followed.as_deref().unwrap_or(path);
    require_place(path)?;
    let folder = folder(path);
    // The file gets the usual permissions of a new file, subject to the user's umask.
    let permissions = std::fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .prefix(".farcall-")
        .permissions(permissions)
        .tempfile_in(folder)
        .with_context(cannot)?;
    let mut out = BufWriter::new(file.as_file_mut());
    f(&mut out).with_context(cannot)?;
    out.flush().with_context(cannot)?;
    drop(out);
    file.as_file().sync_all().with_context(cannot)?;
    file.persist(path).map_err(|e| e.error).with_context(cannot)?;
    Ok(())
}

/// Returns an error if a file cannot be created. Commands call this before they compute the file's contents.
pub(crate) fn require_place(path: &Path) -> Result<()> {
    ensure!(!path.is_dir(), "cannot write {}: it is a folder", path.display());
    let folder = folder(path);
    ensure!(folder.is_dir(), "cannot write {}: there is no folder {}", path.display(), folder.display());
    Ok(())
}

/// Returns the folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
