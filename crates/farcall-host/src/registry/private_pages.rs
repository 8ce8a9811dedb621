//! Private copies of a library's pages.
//!
//! The dynamic linker maps pages of a library's file. Writing over the file changes the mapped pages, and
//! truncating the file removes them (`SIGBUS`), including pages that have been written to since. Therefore
//! all pages are copied to anonymous memory, which replaces the mapping at the same addresses.

use std::collections::BTreeSet;
use std::ffi::{OsString, c_void};
use std::ops::Range;
use std::ptr::null_mut;

use super::library::Library;

/// A part of the process's memory, as listed by `/proc/self/maps`.
struct Mapping {
    range: Range<usize>,
    protection: libc::c_int,
    inode: u64,
}

/// Returns the threads of the process, to detect whether a library has started any.
pub(super) fn threads() -> BTreeSet<OsString> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Readable memory of the process at some moment, with a flag for executable ranges.
pub(super) struct Readable(Vec<(Range<usize>, bool)>);

impl Readable {
    /// Returns the memory that is readable now; `None` if the system does not list it.
    pub(super) fn now() -> Option<Readable> {
        let maps = std::fs::read("/proc/self/maps").ok()?;
        let maps = String::from_utf8_lossy(&maps);
        let mut all: Vec<(Range<usize>, bool)> = Vec::new();
        for (range, protection) in maps.lines().filter_map(range) {
            let runs = protection & libc::PROT_EXEC != 0;
            match all.last_mut() {
                _ if protection & libc::PROT_READ == 0 => {}
                Some((last, same)) if last.end == range.start && *same == runs => last.end = range.end,
                _ => all.push((range, runs)),
            }
        }
        Some(Readable(all))
    }

    /// Returns true if `bytes` bytes from an address on are readable.
    pub(super) fn has(&self, mut address: usize, bytes: usize) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let mut next = self.0.partition_point(|(range, _)| range.end <= address);
        while address < end {
            match self.0.get(next) {
                Some((range, _)) if range.contains(&address) => (address, next) = (range.end, next + 1),
                _ => return false,
            }
        }
        true
    }

    /// Returns true if the address is executable.
    pub(super) fn has_code(&self, address: usize) -> bool {
        let at = self.0.partition_point(|(range, _)| range.end <= address);
        self.0.get(at).is_some_and(|(range, runs)| *runs && range.contains(&address))
    }
}

/// Replaces a library's pages by private copies. Pages that the system does not allow to be replaced keep
/// belonging to the file. So do writable pages of a library that is in use, because another thread might be
/// writing to them.
pub(super) fn own(library: &Library, is_in_use: bool) {
    for mapping in mappings(library) {
        let writes = mapping.protection & libc::PROT_WRITE != 0;
        let reads = mapping.protection & libc::PROT_READ != 0;
        if reads && !(writes && is_in_use) {
            replace(&mapping);
        }
    }
}

/// Replaces a readable mapping by a copy.
fn replace(Mapping { range, protection, .. }: &Mapping) {
    let (old, len) = (std::ptr::with_exposed_provenance_mut::<c_void>(range.start), range.len());
    let (kind, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: creates a new mapping at an address that the system chooses.
    let new = unsafe { libc::mmap(null_mut(), len, access, kind, -1, 0) };
    if new == libc::MAP_FAILED {
        return;
    }
    // SAFETY: both regions have `len` bytes and are distinct. No thread writes to the old region: `own`
    // passes a writable mapping only if its caller has found the library not to be in use.
    unsafe { new.cast::<u8>().copy_from_nonoverlapping(old.cast::<u8>(), len) };
    let moves = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the new mapping has the contents and the protection of the old one. Threads that read or
    // execute these pages during the system call wait for it.
    let moved = unsafe {
        libc::mprotect(new, len, *protection) == 0
            && libc::mremap(new, len, len, moves, old) != libc::MAP_FAILED
    };
    if !moved {
        // SAFETY: the new mapping has no other users.
        unsafe { libc::munmap(new, len) };
    }
}

/// Returns true if an open library does not come from the file with this inode, because another file was at
/// its path when the library was opened.
pub(super) fn is_of_another_file(library: &Library, (_, inode): (u64, u64)) -> bool {
    let mappings = mappings(library);
    !mappings.is_empty() && mappings.iter().all(|m| m.inode != inode)
}

/// Returns the mappings of a library's file.
fn mappings(library: &Library) -> Vec<Mapping> {
    let Some(dynamic) = library.dynamic_section() else { return Vec::new() };
    let Ok(maps) = std::fs::read("/proc/self/maps") else { return Vec::new() };
    let maps = String::from_utf8_lossy(&maps);
    let all: Vec<(Mapping, &str)> = maps.lines().filter_map(mapping).collect();
    let of = all.iter().find(|(m, _)| m.range.contains(&dynamic)).map(|(m, file)| (m.inode, *file));
    let Some(of) = of else { return Vec::new() };
    // Another version of the file has the same name, but another inode.
    all.into_iter().filter(|(m, file)| (m.inode, *file) == of && m.inode != 0).map(|(m, _)| m).collect()
}

/// Parses a private mapping of a file, and returns it with the file:
/// `7f00-7f80 r-xp 00000000 08:01 1234 /ops/libnorm.so`.
fn mapping(line: &str) -> Option<(Mapping, &str)> {
    let (range, protection) = range(line)?;
    let (_, rest) = line.split_once(' ')?;
    let mut fields = rest.split_ascii_whitespace();
    let [flags, _, _, inode] = [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
    let mapping = Mapping { range, protection, inode: inode.parse().ok()? };
    flags.ends_with('p').then(|| (mapping, rest.find('/').map_or("", |i| &rest[i..])))
}

/// Parses the addresses of a mapping, and its permissions.
fn range(line: &str) -> Option<(Range<usize>, libc::c_int)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let at = |text| usize::from_str_radix(text, 16).ok();
    let flags = rest.split_ascii_whitespace().next()?;
    let all = [('r', libc::PROT_READ), ('w', libc::PROT_WRITE), ('x', libc::PROT_EXEC)];
    let protection = all.iter().filter(|(c, _)| flags.contains(*c)).map(|(_, p)| p).sum();
    Some((at(start)?..at(end)?, protection))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_there_can_be_read() {
        let memory = Readable::now().expect("this is Linux");
        let text = "of this program".as_ptr().addr();
        assert!(memory.has(text, 15) && memory.has(text, 0));
        assert!(!memory.has(8, 40) && !memory.has(text, usize::MAX / 2) && !memory.has(usize::MAX, 2));
        let function = memory_that_is_there_can_be_read as fn() as usize;
        assert!(memory.has_code(function) && !memory.has_code(8));
    }
}
