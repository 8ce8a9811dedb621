//! Determines from the files why the dynamic linker rejected a library, since the linker's message is not
//! machine-readable.
//!
//! Problems are checked in the linker's order: missing libraries, then versions, then symbols. If the files
//! do not explain the failure, the result is `None`. The linker's message is shown either way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf::Facts;
use super::inspect::inspect;
use super::load_error::LinkError;

/// A needed library.
struct NeededLibrary {
    /// Name by which the library is needed.
    name: String,
    path: PathBuf,
    facts: Facts,
    /// Index of the first library that needs it.
    by: Option<usize>,
    /// True if the library is open already, so that its dependencies are satisfied.
    open: bool,
}

/// Maximum number of libraries to inspect.
const MAX_LIBRARIES: usize = 1000;

/// Maximum total size of the facts about the libraries, in bytes.
const MAX_FACT_BYTES: usize = 1 << 28;

/// Returns the missing dependency of a library that the linker rejected with the message `words`; `None` if
/// the library's file does not explain the failure.
pub(super) fn missing(path: &Path, words: &str) -> Option<LinkError> {
    let all = match needed(path)? {
        Ok(all) => all,
        // The linker searches more places than this module, so the error counts only if the linker's message
        // names the library.
        Err(error) => {
            let is_named = matches!(&error, LinkError::Library { name, .. } if words.contains(name));
            return is_named.then_some(error);
        }
    };
    let new = || all.iter().filter(|library| !library.open);
    let needed_by = |library: &NeededLibrary| (library.path != path).then(|| library.path.clone());
    let named: HashMap<&str, &NeededLibrary> =
        all.iter().map(|library| (library.name.as_str(), library)).collect();
    for library in new() {
        for (of, version) in &library.facts.needs_versions {
            let there = named.get(&**of);
            if there.is_some_and(|other| !other.facts.versions.contains(version)) {
                let here = version.starts_with("GLIBC_").then(glibc_version).flatten();
                return Some(LinkError::Version { library: of.to_string(), version: version.clone(), here });
            }
        }
    }
    let offered: HashSet<&str> = all.iter().flat_map(|l| &l.facts.exports).map(String::as_str).collect();
    for library in new() {
        let needs = library.facts.needs.iter().filter(|name| !offered.contains(name.as_str()));
        let names: Vec<String> = needs.filter(|name| !is_global(name)).cloned().collect();
        if !names.is_empty() {
            return Some(LinkError::Symbols { names, needed_by: needed_by(library) });
        }
    }
    None
}

/// Returns the library and all its dependencies, or the dependency that is not found; `None` if not all of
/// them can be determined.
fn needed(path: &Path) -> Option<Result<Vec<NeededLibrary>, LinkError>> {
    let open = open_libraries();
    let facts = inspect(path).ok().filter(|facts| facts.is_whole)?;
    let mut left = MAX_FACT_BYTES.checked_sub(facts.size())?;
    let first = NeededLibrary { name: String::new(), path: path.to_owned(), facts, by: None, open: false };
    let mut known: HashSet<String> = HashSet::new();
    let (mut all, mut queue) = (vec![first], VecDeque::from([0]));
    while let Some(at) = queue.pop_front() {
        let names = all[at].facts.libraries.clone();
        for name in names {
            if !known.insert(name.clone()) {
                continue;
            }
            if all.len() == MAX_LIBRARIES {
                return None;
            }
            let is_open = is_open(&name);
            let file_name = |path: &&PathBuf| path.file_name() == Some(Path::new(&name).as_os_str());
            let found = match open.iter().find(file_name).filter(|_| is_open) {
                Some(path) => inspect(path).ok().map(|facts| (path.clone(), facts)),
                None => candidates(&name, &all, at)?
                    .into_iter()
                    .find_map(|path| Some((path.clone(), inspect(&path).ok()?))),
            };
            match found {
                Some((_, facts)) if !facts.is_whole => return None,
                Some((path, facts)) => {
                    left = left.checked_sub(facts.size())?;
                    all.push(NeededLibrary { name, path, facts, by: Some(at), open: is_open });
                    queue.push_back(all.len() - 1);
                }
                // The library was opened under another name.
                None if is_open => return None,
                None => {
                    let needed_by = (at > 0).then(|| all[at].path.clone());
                    return Some(Err(LinkError::Library { name, needed_by }));
                }
            }
        }
    }
    Some(Ok(all))
}

/// Returns the candidate files for a library of this name, which `all[at]` needs, best candidate first.
/// `None` if a path has a token that this module does not know.
fn candidates(name: &str, all: &[NeededLibrary], at: usize) -> Option<Vec<PathBuf>> {
    let by = &all[at];
    if name.contains('/') {
        return Some(vec![expand(name, by)?.into()]);
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    if by.facts.run_paths.is_none() {
        // Search paths of the library itself, of the library that needs it, and so on.
        for library in std::iter::successors(Some(by), |library| Some(&all[library.by?])) {
            if library.facts.run_paths.is_none() {
                for path in &library.facts.inherited_paths {
                    folders.push(expand(path, library)?.into());
                }
            }
        }
    }
    let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    if environment.as_bytes().contains(&b'$') {
        return None;
    }
    let environment = environment.as_bytes().split(|b| matches!(b, b':' | b';'));
    let environment = environment.filter(|path| !path.is_empty());
    folders.extend(environment.map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path))));
    for path in by.facts.run_paths.iter().flatten() {
        folders.push(expand(path, by)?.into());
    }
    let mut files: Vec<PathBuf> = folders.into_iter().map(|folder| folder.join(name)).collect();
    files.extend(cached(name));
    files.extend(DEFAULT_FOLDERS.iter().map(|folder| Path::new(folder).join(name)));
    Some(files)
}

/// Replaces `$ORIGIN` in a library's search path by the library's folder. `None` if the path has `$LIB`,
/// `$PLATFORM` or another token that only linkers know.
fn expand(path: &str, library: &NeededLibrary) -> Option<String> {
    let mut parts = path.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix("{ORIGIN}").or_else(|| {
            let rest = part.strip_prefix("ORIGIN")?;
            (!rest.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric())).then_some(rest)
        })?;
        out.extend([library.path.parent()?.to_str()?, rest]);
    }
    Some(out)
}

/// Folders that linkers search last.
const DEFAULT_FOLDERS: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/// Returns the files of this name in the cache of glibc's linker, for any processor.
fn cached(name: &str) -> Vec<PathBuf> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER_BYTES: usize = 48;
    const ENTRY_BYTES: usize = 24;
    let Ok(file) = std::fs::read("/etc/ld.so.cache") else { return Vec::new() };
    // The file may begin with a cache in an older format. Offsets are relative to the start of the cache in
    // this format.
    let Some(start) = file.windows(MAGIC.len()).position(|w| w == MAGIC) else { return Vec::new() };
    let cache = &file[start..];
    let number = |at: usize| Some(u32::from_ne_bytes(cache.get(at..at + 4)?.try_into().ok()?) as usize);
    let text = |at: usize| CStr::from_bytes_until_nul(cache.get(at..)?).ok();
    let entry = |i: usize| {
        let at = HEADER_BYTES + i * ENTRY_BYTES;
        let (key, value) = (text(number(at + 4)?)?, text(number(at + 8)?)?);
        (key.to_bytes() == name.as_bytes())
            .then(|| PathBuf::from(std::ffi::OsStr::from_bytes(value.to_bytes())))
    };
    let count = number(MAGIC.len()).unwrap_or(0).min(cache.len() / ENTRY_BYTES);
    (0..count).filter_map(entry).collect()
}

/// Returns the files of the open libraries.
fn open_libraries() -> Vec<PathBuf> {
    /// # Safety
    /// Only `dl_iterate_phdr` may call this function, with a pointer to a vector of paths.
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, and `open_libraries` passes the vector.
        let (name, paths) = unsafe { ((*info).dlpi_name, &mut *paths.cast::<Vec<PathBuf>>()) };
        if !name.is_null() {
            // SAFETY: a name that the linker owns.
            let name = unsafe { CStr::from_ptr(name) };
            paths.push(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())));
        }
        0
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    // SAFETY: `add` receives a pointer to the vector, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut paths).cast()) };
    paths
}

/// Returns true if a library of this name is open. Opens nothing, so none of the library's code runs.
fn is_open(name: &str) -> bool {
    let Ok(name) = CString::new(name) else { return false };
    // SAFETY: `RTLD_NOLOAD` only checks whether the library is open.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: releases the reference that `dlopen` just took.
    unsafe { libc::dlclose(handle) };
    true
}

/// Returns true if the process offers the symbol to the libraries that it opens. The program or a globally
/// opened library may define the symbol.
fn is_global(name: &str) -> bool {
    let Ok(name) = CString::new(name) else { return false };
    // SAFETY: null stands for the program itself, which is open.
    let program = unsafe { libc::dlopen(std::ptr::null(), libc::RTLD_LAZY) };
    // SAFETY: a look-up with a valid handle and a valid name.
    !program.is_null() && !unsafe { libc::dlsym(program, name.as_ptr()) }.is_null()
}

#[cfg(target_env = "gnu")]
fn glibc_version() -> Option<String> {
    // SAFETY: returns a static string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_str().ok().map(str::to_owned)
}

#[cfg(not(target_env = "gnu"))]
fn glibc_version() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_libraries_lack_nothing() {
        let libc = open_libraries().into_iter().find(|p| p.display().to_string().contains("libc.so"));
        let Some(libc) = libc else { return println!("NOT RUN: the C library is not a shared one") };
        assert_eq!(missing(&libc, ""), None);
        let name = libc.file_name().unwrap().to_string_lossy().into_owned();
        assert!(is_open(&name));
        let all = [found("/x/y.so", None)];
        assert!(candidates(&name, &all, 0).unwrap().iter().any(|path| path.exists()), "{name} was not found");
        assert!(is_global("malloc") && !is_global("no_such_symbol_of_anybody"));
    }

    fn found(path: &str, by: Option<usize>) -> NeededLibrary {
        NeededLibrary { name: String::new(), path: path.into(), facts: Facts::default(), by, open: false }
    }

    #[test]
    fn folders_are_inherited_unless_there_are_run_paths() {
        let mut all = [found("/x/a.so", None), found("/y/b.so", Some(0))];
        all[0].facts.inherited_paths = vec!["${ORIGIN}/deps".into()];
        let has = |all: &[NeededLibrary], expected: &str| {
            candidates("c.so", all, 1).unwrap().contains(&PathBuf::from(expected))
        };
        assert!(has(&all, "/x/deps/c.so"));
        all[1].facts.run_paths = Some(vec!["$ORIGIN".into()]);
        assert!(has(&all, "/y/c.so") && !has(&all, "/x/deps/c.so"));
        for unknown in ["/a/$LIB", "$PLATFORM/a", "$ORIGINS", "a$"] {
            all[1].facts.run_paths = Some(vec![unknown.into()]);
            assert_eq!(candidates("c.so", &all, 1), None, "candidates with the run path {unknown}");
        }
    }
}
