//! Facts read from the file of a shared library.
//!
//! Files may be damaged or malicious. The facts about a file take no more memory than a few times the size of
//! the file.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use farcall_ir::memory;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, ReadCache, ReadRef, elf};

/// Facts about a library, from its file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Exported functions and data.
    pub(super) exports: Vec<String>,
    /// Symbols that must be resolved to open the library.
    pub(super) needs: Vec<String>,
    /// Names of the libraries that this library depends on.
    pub(super) libraries: Vec<String>,
    /// Folders (`DT_RPATH`) to search for this library's dependencies and, in turn, for their dependencies.
    /// `$ORIGIN` stands for the library's own folder. Ignored if there are `run_paths`.
    pub(super) inherited_paths: Vec<String>,
    /// Folders (`DT_RUNPATH`) to search for this library's direct dependencies only.
    pub(super) run_paths: Option<Vec<String>>,
    /// Versions of this library's dependencies that must exist to open the library: pairs of dependency and
    /// version.
    pub(super) needs_versions: Vec<(Arc<str>, String)>,
    /// Versions that the library defines.
    pub(super) versions: HashSet<String>,
    /// False if some parts cannot be read. Only the dynamic linker knows whether that matters.
    pub(super) is_whole: bool,
}

/// Maximum number of a library's symbols to read. The largest libraries have a few hundred thousand.
const MAX_SYMBOLS: usize = 1 << 21;

/// Maximum number of versions, and of search folders, to read.
const MAX_LIST_ENTRIES: usize = 1 << 16;

impl Facts {
    /// Reads the facts from a file.
    pub(super) fn read<'data, R: ReadRef<'data>>(file: &ElfFile64<'data, Endianness, R>) -> Facts {
        let mut facts = Facts::default();
        let mut symbols = file.dynamic_symbols();
        for symbol in symbols.by_ref().take(MAX_SYMBOLS) {
            let Ok(name) = symbol.name() else { continue };
            if name.is_empty() {
                continue;
            }
            if symbol.is_definition() && symbol.is_global() {
                facts.exports.push(name.to_owned());
            } else if symbol.is_undefined() && !symbol.is_weak() {
                facts.needs.push(name.to_owned());
            }
        }
        facts.is_whole = symbols.next().is_none()
            && facts.read_dynamic(file).is_some()
            && facts.read_needed_versions(file).is_some()
            && facts.read_versions(file).is_some();
        facts
    }

    /// Returns the size in bytes of all names, including their `String`s.
    pub(super) fn size(&self) -> usize {
        let each = |name: &String| name.len() + size_of::<String>();
        let lists = [&self.exports, &self.needs, &self.libraries, &self.inherited_paths];
        let lists = lists.into_iter().chain(&self.run_paths).flatten().map(each);
        let versions = self.versions.iter().chain(self.needs_versions.iter().map(|(_, v)| v)).map(each);
        lists.chain(versions).sum()
    }

    fn read_dynamic<'data, R: ReadRef<'data>>(
        &mut self,
        file: &ElfFile64<'data, Endianness, R>,
    ) -> Option<()> {
        let table = file.elf_dynamic_table().ok()?;
        for entry in &table {
            let text = || Some(text(table.string(entry).ok()?));
            let folders = || {
                let text = text()?;
                (text.matches(':').count() < MAX_LIST_ENTRIES)
                    .then(|| text.split(':').map(str::to_owned).collect())
            };
            match entry.tag {
                elf::DT_NEEDED => self.libraries.push(text()?),
                // The last entry takes effect.
                elf::DT_RPATH => self.inherited_paths = folders()?,
                elf::DT_RUNPATH => self.run_paths = Some(folders()?),
                _ => {}
            }
        }
        Some(())
    }

    fn read_needed_versions<'data, R: ReadRef<'data>>(
        &mut self,
        file: &ElfFile64<'data, Endianness, R>,
    ) -> Option<()> {
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let Some((mut needed, link)) = sections.gnu_verneed(endian, file.data()).ok()? else {
            return Some(());
        };
        let strings = sections.strings(endian, file.data(), link).ok()?;
        let mut seen = HashSet::new();
        let mut left = MAX_LIST_ENTRIES;
        while let Some((need, mut versions)) = needed.next().ok()? {
            let library: Arc<str> = text(need.file(endian, strings).ok()?).into();
            let mut is_last = false;
            while let Some(version) = versions.next().ok()? {
                // The iterator returns as many entries as the library declares. After an entry without a
                // successor, the iterator would return that entry again and again.
                left = left.checked_sub(1).filter(|_| !is_last)?;
                is_last = version.vna_next.get(endian) == 0;
                let weak = version.vna_flags.get(endian).contains(elf::VER_FLG_WEAK);
                if !weak && seen.insert((Arc::clone(&library), version.vna_name.get(endian))) {
                    let name = text(version.name(endian, strings).ok()?);
                    self.needs_versions.push((Arc::clone(&library), name));
                }
            }
        }
        Some(())
    }

    fn read_versions<'data, R: ReadRef<'data>>(
        &mut self,
        file: &ElfFile64<'data, Endianness, R>,
    ) -> Option<()> {
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let Some((mut defined, link)) = sections.gnu_verdef(endian, file.data()).ok()? else {
            return Some(());
        };
        let strings = sections.strings(endian, file.data(), link).ok()?;
        let mut left = MAX_LIST_ENTRIES;
        while let Some((_, mut names)) = defined.next().ok()? {
            left = left.checked_sub(1)?;
            // The first name is the version itself. Further names are the versions that it inherits from.
            if let Some(version) = names.next().ok()? {
                self.versions.insert(text(version.name(endian, strings).ok()?));
            }
        }
        Some(())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file with a limit on the total number of bytes read. The limit is slightly more than the file's length,
/// whatever offsets the file contains.
#[derive(Debug)]
pub(super) struct Bounded {
    cache: ReadCache<File>,
    /// Remaining bytes that may be read.
    left: Cell<u64>,
}

impl Bounded {
    /// Allowance in bytes for overlapping reads. Sections do not overlap in a file written by a linker, but
    /// names do a little.
    const OVERLAP_BYTES: u64 = 4 << 20;
    /// Maximum number of bytes to read. Even large libraries need fewer, because code is not read.
    const MAX_READ_BYTES: u64 = 1 << 30;

    pub(super) fn new(file: File, len: u64) -> Bounded {
        Bounded {
            cache: ReadCache::new(file),
            left: Cell::new(len.min(Bounded::MAX_READ_BYTES) + Bounded::OVERLAP_BYTES),
        }
    }

    fn take(&self, bytes: u64) -> Result<(), ()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

impl<'a> ReadRef<'a> for &'a Bounded {
    fn len(self) -> Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.take(size)?;
        memory::admit_scratch(usize::try_from(size).map_err(|_| ())?).map_err(|_| ())?;
        (&self.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        // At most the remaining bytes, and at most the maximum length of a name.
        let end = range.end.min(range.start.saturating_add(self.left.get().min(MAX_NAME_BYTES)));
        let bytes = (&self.cache).read_bytes_at_until(range.start..end, delimiter)?;
        self.take(bytes.len() as u64)?;
        Ok(bytes)
    }
}

/// Maximum length of a name in bytes. C++ names can have thousands of bytes.
const MAX_NAME_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a library whose only readable part is the list of its needed versions. The list has `entries`
    /// entries. Each claims to have `count` versions and points at a version that is its own successor.
    fn bomb(entries: usize, count: u16) -> Vec<u8> {
        const HEADER_BYTES: usize = 64;
        let (strings, names) = (b"\0.so\0V\0", HEADER_BYTES + 16 * (entries + 1));
        let mut out = b"\x7fELF\x02\x01\x01".to_vec();
        out.resize(16, 0);
        let put = |out: &mut Vec<u8>, number: usize, bytes: usize| {
            out.extend(&number.to_le_bytes()[..bytes]);
        };
        let sections = names + strings.len();
        // Type, machine, version; entry, segments, sections; flags; sizes and counts.
        for (number, bytes) in [(3, 2), (62, 2), (1, 4), (0, 8), (0, 8), (sections, 8), (0, 4)] {
            put(&mut out, number, bytes);
        }
        for number in [HEADER_BYTES, 56, 0, 64, 3, 1] {
            put(&mut out, number, 2);
        }
        for i in 0..entries {
            let next = if i + 1 < entries { 16 } else { 0 };
            for (number, bytes) in [(1, 2), (count.into(), 2), (1, 4), (16 * (entries - i), 4), (next, 4)] {
                put(&mut out, number, bytes);
            }
        }
        for (number, bytes) in [(0, 4), (0, 2), (2, 2), (5, 4), (0, 4)] {
            put(&mut out, number, bytes);
        }
        out.extend(strings);
        out.extend([0; 64]);
        for (kind, at, size, link) in
            [(3, names, strings.len(), 0), (0x6fff_fffe, HEADER_BYTES, 16 * (entries + 1), 1)]
        {
            let numbers = [(0, 4), (kind, 4), (0, 8), (0, 8), (at, 8), (size, 8), (link, 4), (entries, 4)];
            for (number, bytes) in numbers.into_iter().chain([(4, 8), (0, 8)]) {
                put(&mut out, number, bytes);
            }
        }
        out
    }

    #[test]
    fn endless_version_lists_are_rejected() {
        let read = |bytes: &[u8]| {
            let file = ElfFile64::<Endianness, _>::parse(bytes).unwrap();
            let mut facts = Facts::default();
            let outcome = facts.read_needed_versions(&file);
            (outcome.is_some(), facts.needs_versions.len())
        };
        assert_eq!(read(&bomb(1, 1)), (true, 1));
        assert_eq!(read(&bomb(2000, 1)), (true, 1));
        assert_eq!(read(&bomb(2000, u16::MAX)), (false, 1));
        assert_eq!(read(&bomb(70_000, 1)), (false, 1));
    }

    #[test]
    fn the_total_of_reads_is_bounded() {
        let path = std::env::temp_dir().join(format!("farcall-bounded-{}", std::process::id()));
        std::fs::write(&path, [1; 1000]).unwrap();
        let file = Bounded::new(File::open(&path).unwrap(), 1000);
        std::fs::remove_file(&path).unwrap();
        let reads = std::iter::from_fn(|| (&file).read_bytes_at(0, 1000).ok()).take(1_000_000).count();
        assert_eq!(reads as u64, (1000 + Bounded::OVERLAP_BYTES) / 1000);
        assert_eq!((&file).read_bytes_at_until(0..1000, 0), Err(()));
    }
}
