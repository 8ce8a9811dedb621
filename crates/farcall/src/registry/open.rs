//! The libraries that are open, by what their files held.
//!
//! A library stays mapped until the process ends. When its path holds something else than before (rebuilt, or another
//! library in its place), that is opened beside it, as the next *version* of the file. The dynamic linker knows a library
//! by its path and by its inode, and returns what it has for either, so a version is opened under a name of its own:
//!
//! ```text
//! version 1                       /ops/libnorm.so
//! another file there              /ops/./libnorm.so      the same folder, so that `$ORIGIN` means the same
//! the same file, written over     /proc/self/fd/7        a copy in memory
//! ```
//!
//! Writing over a file changes the code of those that have mapped it, in the middle of a call perhaps. So a library's pages
//! are made the process's own as soon as it is open ([`pages`]).

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::hash::Hasher;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use farcall_ffi::abi::{HandlerBundle, HandlerTraits};
use farcall_ffi::descriptor;
use farcall_ffi::lowering::abi as lowering;
use rustc_hash::FxHasher;

use super::elf::Facts;
use super::library::{self, Library};
use super::load::{LoadError, described, listed};
use super::lowering::Listed;
use super::pages;
use super::{How, Origin, Platform, RegisterError, Registry, Target};

/// What is known of a library that is open.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) path: PathBuf,
    /// Which of the files that have been at this path it is, from 1 on.
    pub(super) version: u32,
    pub(super) library: Library,
    /// Targets that it registered or describes.
    pub(super) targets: Vec<Target>,
    /// Lowerings that it lists.
    pub(super) lowerings: Vec<Listed>,
    /// Why it has less of them than it should.
    pub(super) errors: Vec<RegisterError>,
}

/// A library that is open, and what is known of its file.
struct Entry {
    loaded: Arc<Loaded>,
    /// Of the file that it was opened from.
    inode: Inode,
    content: Content,
    /// Of a file that surely holds the same as long as this is the same.
    stamp: Option<Stamp>,
}

static OPEN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Device and number.
type Inode = (u64, u64);

/// What changes with a file: inode, size, time of the last change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp(Inode, u64, SystemTime);

impl Stamp {
    /// None if the file was changed just now: a clock that ticks slowly would not show it if that happened again.
    fn of(meta: &Metadata) -> Option<Stamp> {
        const TICK: Duration = Duration::from_millis(100);
        let modified = meta.modified().ok()?;
        let age = SystemTime::now().duration_since(modified).ok()?;
        (age > TICK).then_some(Stamp(inode(meta), meta.size(), modified))
    }
}

fn inode(meta: &Metadata) -> Inode {
    (meta.dev(), meta.ino())
}

/// What a file holds: its size, and a hash of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Content(u64, u64);

impl Content {
    fn of(file: &mut File) -> io::Result<Content> {
        let mut chunk = vec![0; 1 << 16];
        let (mut size, mut hasher) = (0, FxHasher::default());
        file.rewind()?;
        loop {
            let n = file.read(&mut chunk)?;
            if n == 0 {
                return Ok(Content(size, hasher.finish()));
            }
            size += n as u64;
            hasher.write(&chunk[..n]);
        }
    }
}

/// Registrations of the library that this thread is opening.
struct Recording {
    registry: Registry,
    path: PathBuf,
    version: u32,
    targets: Vec<Target>,
    errors: Vec<RegisterError>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// Registers a target for a library that calls the host's `XLA_FFI_Handler_Register`: into the
/// registry that is loading it, else into the one of the process.
///
/// The functions are the library's, which stays loaded.
pub(super) fn register_from_library(
    name: &str,
    platform: Platform,
    bundle: HandlerBundle,
    traits: HandlerTraits,
) -> Result<(), RegisterError> {
    let file_of = |bundle: &HandlerBundle| bundle.execute.and_then(|f| library::file_of(f as usize));
    let (registry, file, version) = RECORDING.with_borrow(|r| match r {
        Some(recording) => (recording.registry.clone(), Some(recording.path.clone()), recording.version),
        None => (Registry::global().clone(), file_of(&bundle), 1),
    });
    let origin = match file {
        Some(file) => Origin::library(&file, How::SelfRegistered, version),
        None => Origin::program(),
    };
    // SAFETY: it is part of the interface that these are handlers, and libraries with handlers stay.
    let target = unsafe { Target::typed(name, platform, bundle, traits, origin) };
    RECORDING.with_borrow_mut(|r| match (r, &target) {
        (None, _) => {}
        // Whether it fits beside others is a question to each registry that loads the library.
        (Some(recording), Ok(target)) => recording.targets.push(target.clone()),
        (Some(recording), Err(e)) => recording.errors.push(e.clone()),
    });
    registry.register(target?).map(drop)
}

/// Opens a library, or finds it among those that are open: what the file at this path holds now.
pub(super) fn open(path: &Path, registry: &Registry, facts: &Facts) -> Result<Arc<Loaded>, LoadError> {
    let io = |source: io::Error| LoadError::Io { path: path.to_owned(), source: source.into() };
    let mut file = File::open(path).map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    let (inode, stamp) = (inode(&meta), Stamp::of(&meta));
    let mut open: MutexGuard<'_, Vec<Entry>> = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = open.iter().find(|e| stamp.is_some() && e.stamp == stamp) {
        return Ok(Arc::clone(&entry.loaded));
    }
    let content = Content::of(&mut file).map_err(io)?;
    let is_it = |e: &&mut Entry| e.content == content && (e.loaded.path == path || e.inode == inode);
    if let Some(entry) = open.iter_mut().find(is_it) {
        entry.stamp = stamp;
        return Ok(Arc::clone(&entry.loaded));
    }
    let earlier = open.iter().filter(|e| e.loaded.path == path).count();
    let name = if open.iter().any(|e| e.inode == inode) {
        copied(&mut file, path).map_err(io)?
    } else if earlier > 0 || Library::opened(path).is_some_and(|l| pages::is_of_another_file(&l, inode)) {
        again(path, earlier.max(1))
    } else {
        path.to_owned()
    };
    let version = u32::try_from(earlier + 1).unwrap_or(u32::MAX);
    let threads = pages::threads();
    let (library, targets, errors) = opened(&name, path, version, registry)?;
    if open.iter().any(|e| e.loaded.library == library) {
        return Err(LoadError::NotReplaced { path: path.to_owned() });
    }
    pages::own(&library, pages::threads() > threads);
    let loaded = Arc::new(read(path, version, library, facts, targets, errors));
    open.push(Entry { loaded: Arc::clone(&loaded), inode, content, stamp });
    Ok(loaded)
}

/// Another name for a path, in the same folder.
fn again(path: &Path, times: usize) -> PathBuf {
    let mut name = path.parent().map(|folder| folder.as_os_str().to_owned()).unwrap_or_default();
    name.push("/".to_owned() + &"./".repeat(times));
    name.push(path.file_name().map(OsString::from).unwrap_or_default());
    PathBuf::from(name)
}

/// A copy of a file in memory, by a name that stays its own.
fn copied(file: &mut File, path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().map(|name| name.to_string_lossy().replace('\0', "")).unwrap_or_default();
    let name = std::ffi::CString::new(name)?;
    // SAFETY: a string that ends with a null.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: nobody else has it.
    let mut copy = unsafe { File::from_raw_fd(fd) };
    file.rewind()?;
    io::copy(file, &mut copy)?;
    let name = PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd()));
    // Open as long as the library is, so that no other one gets the name.
    let _stays = copy.into_raw_fd();
    Ok(name)
}

/// Opens a library under a name, with what it registers.
fn opened(
    name: &Path,
    path: &Path,
    version: u32,
    registry: &Registry,
) -> Result<(Library, Vec<Target>, Vec<RegisterError>), LoadError> {
    let (targets, errors) = (Vec::new(), Vec::new());
    let recording = Recording { registry: registry.clone(), path: path.to_owned(), version, targets, errors };
    let outer = RECORDING.replace(Some(recording));
    // SAFETY: whoever loads a library trusts it; `Registry::load` says so.
    let library = unsafe { Library::open(name) };
    let (mut targets, errors) = RECORDING.replace(outer).map(|r| (r.targets, r.errors)).unwrap_or_default();
    // (As paths, they are equal.)
    if name.as_os_str() == path.as_os_str() && targets.is_empty() && errors.is_empty() {
        // Somebody else may have opened it before: then it registered with the process.
        let global = Registry::global().targets();
        let of_it = global.iter().filter(|t| t.origin().file.as_deref() == Some(path));
        targets.extend(of_it.map(|t| Target::clone(t)));
    }
    Ok((library?, targets, errors))
}

/// Reads what an open library describes and lists, beside what it registered.
fn read(
    path: &Path,
    version: u32,
    library: Library,
    facts: &Facts,
    mut targets: Vec<Target>,
    mut errors: Vec<RegisterError>,
) -> Loaded {
    let mut lowerings = Vec::new();
    // Only its own symbols: a look-up would also find those of a library that it depends on.
    let own = |name: &str| {
        let exports = facts.exports.iter().any(|symbol| symbol == name);
        exports.then(|| library.symbol(name)).flatten()
    };
    let origin = |how| Origin::library(path, how, version);
    for op in own(descriptor::SYMBOL).map(|at| described(origin(How::Descriptor), at)).unwrap_or_default() {
        match op {
            Ok((target, lowering)) => {
                targets.push(target);
                lowerings.extend(lowering);
            }
            Err(e) => errors.push(e),
        }
    }
    if let Some(symbol) = own(lowering::SYMBOL) {
        match listed(origin(How::LoweringTable), symbol) {
            Ok(listed) => lowerings.extend(listed),
            Err(e) => errors.push(e),
        }
    }
    Loaded { path: path.to_owned(), version, library, targets, lowerings, errors }
}
