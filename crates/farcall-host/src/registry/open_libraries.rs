//! The open libraries, identified by the contents of their files.
//!
//! A library stays mapped until the process ends. When the file at its path has changed, because it was built
//! again or another library took its place, the new file is opened as well, as the next *version*. The
//! dynamic linker identifies a library by its path and by its inode, and returns the library that it already
//! has for either. Each version is therefore opened under a different name:
//!
//! ```text
//! version 1                       /ops/libnorm.so
//! another file there              /ops/./libnorm.so      the same folder, so that `$ORIGIN` means the same
//! the same file, written over     /proc/self/fd/7        a copy in memory (where `$ORIGIN` means nothing)
//! ```
//!
//! A file with the same bytes as an open library (a wheel's and a checkout's, say) is not opened again: it is
//! the same library.
//!
//! Writing over a file changes the code of the processes that have mapped it, perhaps in the middle of a
//! call. A library's pages are therefore copied to private memory as soon as it is open
//! ([`private_pages`]). The copy takes as much memory as the library.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::hash::Hasher;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use farcall_ffi::abi::{HandlerBundle, HandlerTraits};
use farcall_ffi::descriptor;
use farcall_ffi::lowering::abi as lowering;
use rustc_hash::FxHasher;

use super::elf::Facts;
use super::library::{self, Library};
use super::load_error::LoadError;
use super::lowering::Listed;
use super::ops::{described, listed};
use super::private_pages;
use super::{How, Platform, RegisterError, Registry, Target, TargetOrigin};

/// An open library with its targets and lowerings.
#[derive(Debug)]
pub(super) struct Loaded {
    /// Library file, and its version: the position of the file, from 1, among all files that have been at its
    /// path.
    pub(super) origin: TargetOrigin,
    pub(super) library: Library,
    /// Namespace that the library's author chose for its targets.
    pub(super) namespace: Option<String>,
    /// Targets that the library registered or describes.
    pub(super) targets: Vec<Target>,
    /// Lowerings that the library lists.
    pub(super) lowerings: Vec<Listed>,
    /// Reasons why targets or lowerings are missing.
    pub(super) errors: Vec<RegisterError>,
}

/// An open library, with information about its file.
struct OpenLibrary {
    loaded: Arc<Loaded>,
    /// First file of the library.
    library: PathBuf,
    /// Other files with the same bytes.
    copies: Vec<PathBuf>,
    /// Inode of the file that the library was opened from.
    inode: Inode,
    /// Content of the file; `None` if unknown.
    content: Option<Content>,
    /// Stamp of a file that holds this content. As long as the stamp of a file is the same, so is its
    /// content.
    stamp: Option<Stamp>,
    /// Kept open, so that no other file gets this inode, by which the linker identifies the library.
    file: File,
}

static OPEN: Mutex<Vec<OpenLibrary>> = Mutex::new(Vec::new());

/// Device and inode number.
type Inode = (u64, u64);

/// Values that change with a file: inode, size, and the time in nanoseconds of the last change of file or
/// inode (`ctime`), which programs cannot set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp(Inode, u64, i128);

impl Stamp {
    /// Returns `None` if the file was changed just now: with a slow clock, another change would not be
    /// visible in the stamp.
    fn of(meta: &Metadata) -> Option<Stamp> {
        const CLOCK_TICK_NANOS: i128 = 100_000_000;
        let changed = i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        (i128::try_from(now.as_nanos()).ok()? - changed > CLOCK_TICK_NANOS).then_some(Stamp(
            inode(meta),
            meta.size(),
            changed,
        ))
    }
}

fn inode(meta: &Metadata) -> Inode {
    (meta.dev(), meta.ino())
}

/// Size and hash of a file's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Content(u64, u64);

impl Content {
    fn of(file: &mut File) -> io::Result<Content> {
        const CHUNK_BYTES: u64 = 1 << 16;
        let (mut chunk, mut size, mut hasher) = (Vec::new(), 0, FxHasher::default());
        file.rewind()?;
        loop {
            chunk.clear();
            // `read_to_end` fills each chunk, since the hash depends on the chunk boundaries.
            file.take(CHUNK_BYTES).read_to_end(&mut chunk)?;
            if chunk.is_empty() {
                return Ok(Content(size, hasher.finish()));
            }
            size += chunk.len() as u64;
            hasher.write(&chunk);
        }
    }
}

impl OpenLibrary {
    fn path(&self) -> Option<&Path> {
        self.loaded.origin.file.as_deref()
    }

    fn version(&self) -> u32 {
        self.loaded.origin.version
    }
}

/// Registrations of the library that this thread is opening.
struct Recording {
    origin: TargetOrigin,
    targets: Vec<Target>,
    errors: Vec<RegisterError>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// Registers a target for a library that calls the host's `XLA_FFI_Handler_Register`. If a registry is
/// loading the library, the target is recorded, and the registry gets all targets once the library is open.
/// Otherwise the target is added to the registry of the process.
///
/// The functions belong to the library, which stays loaded.
pub(super) fn register_from_library(
    name: &str,
    platform: Platform,
    bundle: HandlerBundle,
    traits: HandlerTraits,
) -> Result<(), RegisterError> {
    let recorded = RECORDING.with_borrow(|r| r.as_ref().map(|r| r.origin.clone()));
    let is_loading = recorded.is_some();
    let file_of = || bundle.execute.and_then(|f| library::file_of(f as usize));
    let of_file = || Some(TargetOrigin::library(&file_of()?, How::SelfRegistered, 1));
    let origin = recorded.or_else(of_file).unwrap_or_else(TargetOrigin::program);
    // SAFETY: `XLA_FFI_Handler_Register` requires that these are handlers, and libraries with handlers stay
    // loaded.
    let target = unsafe { Target::typed(name, platform, bundle, traits, origin) };
    if !is_loading {
        return Registry::global().register(target?).map(drop);
    }
    RECORDING.with_borrow_mut(|recording| match (recording, target) {
        (Some(recording), Ok(target)) => {
            recording.targets.push(target);
            Ok(())
        }
        (Some(recording), Err(e)) => {
            recording.errors.push(e.clone());
            Err(e)
        }
        (None, target) => target.map(drop),
    })
}

/// Opens the library that the file at this path holds now, or finds it among the open libraries.
pub(super) fn open(path: &Path, facts: &Facts) -> Result<Arc<Loaded>, LoadError> {
    let io = |source: io::Error| LoadError::Io { path: path.to_owned(), source: source.into() };
    let mut file = File::open(path).map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    let (inode, stamp) = (inode(&meta), Stamp::of(&meta));
    let mut open: MutexGuard<'_, Vec<OpenLibrary>> = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = open.iter().find(|e| stamp.is_some() && e.stamp == stamp) {
        return Ok(Arc::clone(&entry.loaded));
    }
    let content = Content::of(&mut file).map_err(io)?;
    let has_path = |e: &&OpenLibrary| e.path() == Some(path) || e.copies.iter().any(|copy| copy == path);
    let library = open.iter().find(has_path).map(|e| e.library.clone());
    let is_it = |e: &&mut OpenLibrary| {
        e.content == Some(content) && (library.as_ref() == Some(&e.library) || e.inode == inode)
    };
    if let Some(entry) = open.iter_mut().find(is_it) {
        entry.stamp = stamp;
        return Ok(Arc::clone(&entry.loaded));
    }
    if let Some(i) = library.is_none().then(|| copied_from(&open, content, &file)).flatten() {
        open[i].copies.push(path.to_owned());
        return Ok(Arc::clone(&open[i].loaded));
    }
    let first_file = library.unwrap_or_else(|| path.to_owned());
    let earlier = open.iter().filter(|e| e.library == first_file).count();
    let version = u32::try_from(earlier + 1).unwrap_or(u32::MAX);
    let origin = TargetOrigin::version_of(&first_file, path, How::SelfRegistered, version);
    let copy = if open.iter().any(|e| e.inode == inode) {
        Some(copy_to_memory(&mut file, path).map_err(io)?)
    } else {
        None
    };
    let name = copy.as_ref().map_or_else(|| free_name(path, inode, &open), name_of_copy);
    // Another part of the process may have opened the library before, and may be using it.
    let (is_in_use, threads) = (Library::already_open(&name).is_some(), private_pages::threads());
    let (library, mut targets, errors) = open_recording(&name, path, &origin)?;
    if open.iter().any(|e| e.loaded.library == library) {
        return Err(LoadError::NotReplaced { path: path.to_owned() });
    }
    if is_in_use && targets.is_empty() && errors.is_empty() {
        // The library was opened outside of farcall, so its targets went to the registry of the process.
        let global = Registry::global().targets();
        let of_it = global.iter().filter(|t| t.origin().file.as_deref() == Some(path));
        targets.extend(of_it.map(|t| Target::clone(t)));
    }
    // The file may have been replaced between reading and opening it.
    let is_other = copy.is_none() && private_pages::is_of_another_file(&library, inode);
    let (content, stamp) = if is_other { (None, None) } else { (Some(content), stamp) };
    private_pages::own(&library, is_in_use || !private_pages::threads().is_subset(&threads));
    let loaded = Arc::new(read(origin, library, facts, targets, errors));
    // The copy stays open, so that no other copy gets its name.
    let file = copy.unwrap_or(file);
    let (library, copies) = (first_file, Vec::new());
    open.push(OpenLibrary { loaded: Arc::clone(&loaded), library, copies, inode, content, stamp, file });
    Ok(loaded)
}

/// Returns the index of the open library whose newest version has the same bytes as `file`.
fn copied_from(open: &[OpenLibrary], content: Content, file: &File) -> Option<usize> {
    let is_newest =
        |e: &OpenLibrary| open.iter().all(|o| o.library != e.library || o.version() <= e.version());
    let is_copied = |e: &OpenLibrary| {
        e.content == Some(content) && is_newest(e) && same_bytes(&e.file, file).unwrap_or(false)
    };
    open.iter().position(is_copied)
}

/// Returns true if two files have the same contents.
fn same_bytes(a: &File, b: &File) -> io::Result<bool> {
    const CHUNK_BYTES: usize = 1 << 16;
    let (mut ours, mut theirs) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let mut at = 0;
    loop {
        let count = a.read_at(&mut ours, at)?;
        if count == 0 {
            return Ok(b.read_at(&mut theirs, at)? == 0);
        }
        if b.read_exact_at(&mut theirs[..count], at).is_err() || ours[..count] != theirs[..count] {
            return Ok(false);
        }
        at += count as u64;
    }
}

/// Returns a name for the file at a path, such that the linker knows no library by this name, or only the
/// library from the file with this inode.
fn free_name(path: &Path, inode: Inode, open: &[OpenLibrary]) -> PathBuf {
    let is_taken = |l: Library| {
        open.iter().any(|e| e.loaded.library == l) || private_pages::is_of_another_file(&l, inode)
    };
    let mut names = (0..MAX_VERSIONS).map(|n| another_name(path, n));
    names.find(|name| !Library::already_open(name).is_some_and(is_taken)).unwrap_or_else(|| path.to_owned())
}

/// Maximum number of versions of a file that get different names.
const MAX_VERSIONS: usize = 1000;

/// Returns another name for a path, in the same folder.
fn another_name(path: &Path, times: usize) -> PathBuf {
    let (Some(folder), Some(file), 1..) = (path.parent(), path.file_name(), times) else {
        return path.to_owned();
    };
    let mut name = folder.as_os_str().to_owned();
    name.push("/".to_owned() + &"./".repeat(times));
    name.push(file);
    PathBuf::from(name)
}

/// Copies a file to memory.
fn copy_to_memory(file: &mut File, path: &Path) -> io::Result<File> {
    let name = path.file_name().map(|name| name.to_string_lossy().replace('\0', "")).unwrap_or_default();
    let name = std::ffi::CString::new(name)?;
    // SAFETY: `name` is a string that ends with a null byte.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `memfd_create` returned this descriptor, which has no other owner.
    let mut copy = unsafe { File::from_raw_fd(fd) };
    file.rewind()?;
    io::copy(file, &mut copy)?;
    Ok(copy)
}

/// Returns the name of a copy in memory.
fn name_of_copy(copy: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd()))
}

/// Opens a library under a name, and records the targets that it registers.
fn open_recording(
    name: &Path,
    path: &Path,
    origin: &TargetOrigin,
) -> Result<(Library, Vec<Target>, Vec<RegisterError>), LoadError> {
    let (targets, errors) = (Vec::new(), Vec::new());
    let outer = RECORDING.replace(Some(Recording { origin: origin.clone(), targets, errors }));
    // SAFETY: `open` is only reached through `Registry::load` and its variants, whose callers trust the
    // library.
    let library = unsafe { Library::open(name) };
    let (targets, errors) = RECORDING.replace(outer).map(|r| (r.targets, r.errors)).unwrap_or_default();
    let library = library.map_err(|error| match error {
        LoadError::Open { why, words, .. } => LoadError::Open { path: path.to_owned(), why, words },
        other => other,
    })?;
    Ok((library, targets, errors))
}

/// Reads the targets and lowerings that an open library describes and lists, in addition to its registered
/// targets.
fn read(
    own: TargetOrigin,
    library: Library,
    facts: &Facts,
    mut targets: Vec<Target>,
    mut errors: Vec<RegisterError>,
) -> Loaded {
    let mut lowerings = Vec::new();
    // Restricts the look-up to the library's own exports, because `dlsym` also searches its dependencies.
    let symbol = |name: &str| {
        let exports = facts.exports.iter().any(|symbol| symbol == name);
        exports.then(|| library.symbol(name)).flatten()
    };
    let origin = |how| TargetOrigin { how, ..own.clone() };
    let described = symbol(descriptor::SYMBOL).map(|at| described(origin(How::Descriptor), at));
    let (namespace, ops) = described.unwrap_or_default();
    for op in ops {
        match op {
            Ok((target, lowering)) => {
                targets.push(target);
                lowerings.extend(lowering);
            }
            Err(e) => errors.push(e),
        }
    }
    if let Some(symbol) = symbol(lowering::SYMBOL) {
        match listed(origin(How::LoweringTable), symbol) {
            Ok(listed) => lowerings.extend(listed),
            Err(e) => errors.push(e),
        }
    }
    Loaded { origin: own, library, namespace, targets, lowerings, errors }
}
