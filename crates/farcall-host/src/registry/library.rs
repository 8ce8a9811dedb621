//! Shared libraries: their files, and handles of open libraries.
//!
//! A file is inspected before it is opened, because the dynamic linker's messages for an unsuitable file are
//! terse. If a library needs a symbol that the program does not export, the error explains how to export the
//! symbol.

use std::ffi::{CStr, CString, c_void};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use farcall_ir::file_kind::FileKind;
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, elf};

use super::elf::{Bounded, Facts};
use super::link;
use super::load_error::LoadError;
use crate::interface::exit::{self, Doing};
use crate::interface::guard;

/// Checks that a file is a shared library for this processor, and reads the facts about it.
pub(super) fn inspect(path: &Path) -> Result<Facts, LoadError> {
    let not = |what: String| LoadError::NotALibrary { path: path.to_owned(), what };
    let io = |source: std::io::Error| LoadError::Io { path: path.to_owned(), source: source.into() };
    let meta = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound { path: path.to_owned() },
        _ => io(e),
    })?;
    let is_file = |meta: &Metadata| match meta.is_file() {
        true => Ok(()),
        false if meta.is_dir() => Err(not("a directory".into())),
        false => Err(not("a pipe, a socket or a device".into())),
    };
    is_file(&meta)?;
    // The file may have been replaced by a pipe since, and opening a pipe would block without `O_NONBLOCK`.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    is_file(&meta)?;
    let mut start = Vec::new();
    (&file).take(4096).read_to_end(&mut start).map_err(io)?;
    if !start.starts_with(b"\x7fELF") {
        return Err(not(describe(&start)));
    }
    if start.get(4) != Some(&2) {
        return Err(not("an ELF file for 32-bit machines".into()));
    }
    let cache = Bounded::new(file, meta.len());
    let broken = |e: object::Error| not(format!("a damaged ELF file ({e})"));
    let file = ElfFile64::<Endianness, _>::parse(&cache).map_err(broken)?;
    let (header, endian) = (file.elf_header(), file.endian());
    let machine = header.e_machine(endian);
    if machine != MACHINE {
        let name =
            |m: elf::Machine| MACHINES.iter().find(|(n, _)| *n == m).map_or("another processor", |(_, s)| *s);
        return Err(LoadError::WrongMachine {
            path: path.to_owned(),
            found: name(machine).to_owned(),
            here: name(MACHINE).to_owned(),
        });
    }
    match header.e_type(endian) {
        elf::ET_DYN => {}
        elf::ET_REL => return Err(not("an object file; link it with -shared".into())),
        elf::ET_EXEC => return Err(not("an executable".into())),
        other => return Err(not(format!("an ELF file of type {other}"))),
    }
    Ok(Facts::read(&file))
}

const MACHINE: elf::Machine = if cfg!(target_arch = "x86_64") { elf::EM_X86_64 } else { elf::EM_AARCH64 };

const MACHINES: [(elf::Machine, &str); 6] = [
    (elf::EM_X86_64, "x86-64"),
    (elf::EM_AARCH64, "aarch64"),
    (elf::EM_386, "32-bit x86"),
    (elf::EM_ARM, "32-bit ARM"),
    (elf::EM_RISCV, "RISC-V"),
    (elf::EM_PPC64, "PowerPC"),
];

/// Describes the apparent format of a file that is not an ELF file.
fn describe(start: &[u8]) -> String {
    if start.is_empty() {
        return "empty".into();
    }
    if let Some(kind) = FileKind::of(start) {
        let hint = match kind {
            FileKind::StaticLibrary => "; link it into a shared one",
            FileKind::Zip => " (a wheel?)",
            _ => "",
        };
        return format!("{kind}{hint}");
    }
    let text = start.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..));
    if text { "a text file".into() } else { "no ELF file".into() }
}

/// A library that stays open until the process ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Library {
    handle: usize,
}

/// The beginning of `struct link_map` of <link.h>.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const libc::c_char,
    dynamic: *const c_void,
}

impl Library {
    /// Opens a library. Its static initializers run, unless the library is already open.
    ///
    /// # Safety
    /// The caller trusts the library's code, which may do anything.
    pub(super) unsafe fn open(path: &Path) -> Result<Library, LoadError> {
        let failed = |why, words: String| LoadError::Open { path: path.to_owned(), why, words };
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| failed(None, "the path has a null byte".into()))?;
        // SAFETY: the caller trusts the library (`# Safety` above). `dlerror` is per thread.
        unsafe {
            let open = || guard::open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL);
            let handle = exit::within(&Doing::Opening(path), open);
            if handle.is_null() {
                let message = libc::dlerror();
                let message =
                    if message.is_null() { c"for an unknown reason" } else { CStr::from_ptr(message) };
                let words = message.to_string_lossy().into_owned();
                return Err(failed(link::missing(path, &words).map(Box::new), words));
            }
            Ok(Library { handle: handle.addr() })
        }
    }

    /// Returns a library that is already open, by the path that the dynamic linker knows it by.
    pub(super) fn already_open(file: &Path) -> Option<Library> {
        let name = CString::new(file.as_os_str().as_bytes()).ok()?;
        // SAFETY: `RTLD_NOLOAD` loads nothing, so no code runs. The additional reference keeps the library
        // open.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Library { handle: handle.addr() })
    }

    /// Returns the address of the dynamic section, which every library has.
    pub(super) fn dynamic_section(&self) -> Option<usize> {
        let mut map: *mut LinkMap = std::ptr::null_mut();
        let handle = std::ptr::with_exposed_provenance_mut(self.handle);
        // SAFETY: the handle is open until the process ends, and the request writes a pointer to `map`.
        let failed = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        // SAFETY: the entry belongs to the linker and is valid as long as the library is open.
        (failed == 0 && !map.is_null()).then(|| unsafe { (*map).dynamic }.addr())
    }

    /// Returns the address of a symbol.
    pub(super) fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        let handle = std::ptr::with_exposed_provenance_mut(self.handle);
        // SAFETY: the handle is open until the process ends.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Returns the address of a symbol that the process offers to the libraries it loads.
pub(super) fn process_symbol(name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: a look-up without side effects.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then(|| address.addr())
}

/// Returns the file that contains the code at an address; `None` for the program itself.
pub(super) fn file_of(address: usize) -> Option<PathBuf> {
    let info = find(address)?;
    let own = find(file_of as *const () as usize).map(|own| own.dli_fbase);
    if Some(info.dli_fbase) == own {
        return None;
    }
    // SAFETY: the name is valid as long as its library is open.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let file = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    Some(file.canonicalize().unwrap_or(file))
}

/// Returns the name of the exported symbol at exactly this address.
pub(super) fn symbol_at(address: usize) -> Option<String> {
    let info = find(address)?;
    if info.dli_saddr.addr() != address || info.dli_sname.is_null() {
        return None;
    }
    // SAFETY: the name is valid as long as its library is open.
    Some(unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy().into_owned())
}

/// Returns the dynamic linker's information about an address.
fn find(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: all members are pointers, for which zero is valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` accepts any address and writes to `info`.
    let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), &raw mut info) };
    (found != 0 && !info.dli_fname.is_null()).then_some(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_other_than_libraries_are_recognized() {
        assert_eq!(describe(b""), "empty");
        assert_eq!(describe(b"\x89PNG\r\n"), "a PNG image");
        assert_eq!(describe(b"module {\n"), "a text file");
        assert_eq!(describe(b"\0\x01\x02"), "no ELF file");
        assert!(matches!(inspect(Path::new("/")), Err(LoadError::NotALibrary { .. })));
    }

    #[test]
    fn our_own_code_has_no_library() {
        assert_eq!(file_of(describe as *const () as usize), None);
        let libc = file_of(libc::getpid as *const () as usize).expect("libc is a library");
        assert!(libc.to_string_lossy().contains("libc"), "{}", libc.display());
    }
}
