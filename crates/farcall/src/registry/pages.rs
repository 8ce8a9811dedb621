//! The pages of a library, made the process's own.
//!
//! What the dynamic linker maps of a file is what the file holds: who writes over the file changes it, and who cuts it short
//! takes it away (`SIGBUS`), also what has been written to since. So all of it is copied to memory that has no file, which
//! takes the place of the mapping, at the same addresses.

use std::collections::BTreeSet;
use std::ffi::{OsString, c_void};
use std::ops::Range;
use std::ptr::null_mut;

use super::library::Library;

/// A part of the process's memory, as `/proc/self/maps` lists it.
struct Mapping {
    range: Range<usize>,
    protection: libc::c_int,
    inode: u64,
}

/// The threads of the process, to know whether a library has started some.
pub(super) fn threads() -> BTreeSet<OsString> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Memory of the process that can be read, at some time.
pub(super) struct Readable(Vec<(Range<usize>, bool)>);

impl Readable {
    /// The memory that is readable now; `None` if the system does not list it.
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

    /// True if `bytes` from an address on can be read.
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

    /// True if code can be run there.
    pub(super) fn has_code(&self, address: usize) -> bool {
        let at = self.0.partition_point(|(range, _)| range.end <= address);
        self.0.get(at).is_some_and(|(range, runs)| *runs && range.contains(&address))
    }
}

/// Makes the pages of a library the process's own. Where the system does not let that happen, they stay the file's; those that
/// can be written do so, too, if the library is in use: another thread might be writing to them.
pub(super) fn own(library: &Library, is_in_use: bool) {
    for mapping in mappings(library) {
        let writes = mapping.protection & libc::PROT_WRITE != 0;
        let reads = mapping.protection & libc::PROT_READ != 0;
        if reads && !(writes && is_in_use) {
            replace(&mapping);
        }
    }
}

/// Puts a copy in the place of a mapping that can be read.
fn replace(Mapping { range, protection, .. }: &Mapping) {
    let (old, len) = (std::ptr::with_exposed_provenance_mut::<c_void>(range.start), range.len());
    let (kind, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: memory of its own, anywhere.
    let new = unsafe { libc::mmap(null_mut(), len, access, kind, -1, 0) };
    if new == libc::MAP_FAILED {
        return;
    }
    // SAFETY: both are that long, and nobody writes to what is copied.
    unsafe { new.cast::<u8>().copy_from_nonoverlapping(old.cast::<u8>(), len) };
    let moves = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: what is there afterwards is what was there; who reads or runs it meanwhile waits for the system.
    let moved = unsafe {
        libc::mprotect(new, len, *protection) == 0
            && libc::mremap(new, len, len, moves, old) != libc::MAP_FAILED
    };
    if !moved {
        // SAFETY: nobody knows of it.
        unsafe { libc::munmap(new, len) };
    }
}

/// True if a library that is open was not opened from the file with this inode: something else was at its path then.
pub(super) fn is_of_another_file(library: &Library, (_, inode): (u64, u64)) -> bool {
    let mappings = mappings(library);
    !mappings.is_empty() && mappings.iter().all(|m| m.inode != inode)
}

/// What is mapped of a library's file.
fn mappings(library: &Library) -> Vec<Mapping> {
    let Some(dynamic) = library.dynamic_section() else { return Vec::new() };
    let Ok(maps) = std::fs::read("/proc/self/maps") else { return Vec::new() };
    let maps = String::from_utf8_lossy(&maps);
    let all: Vec<(Mapping, &str)> = maps.lines().filter_map(mapping).collect();
    let of = all.iter().find(|(m, _)| m.range.contains(&dynamic)).map(|(m, file)| (m.inode, *file));
    let Some(of) = of else { return Vec::new() };
    // Another version of the file has the same name, but not the same inode.
    all.into_iter().filter(|(m, file)| (m.inode, *file) == of && m.inode != 0).map(|(m, _)| m).collect()
}

/// `7f00-7f80 r-xp 00000000 08:01 1234    /ops/libnorm.so`: what a private mapping of a file is, and the file.
fn mapping(line: &str) -> Option<(Mapping, &str)> {
    let (range, protection) = range(line)?;
    let (_, rest) = line.split_once(' ')?;
    let mut fields = rest.split_ascii_whitespace();
    let [flags, _, _, inode] = [fields.next()?, fields.next()?, fields.next()?, fields.next()?];
    let mapping = Mapping { range, protection, inode: inode.parse().ok()? };
    flags.ends_with('p').then(|| (mapping, rest.find('/').map_or("", |i| &rest[i..])))
}

/// The addresses of a mapping, and its permissions.
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
