//! Information in the file of a shared library.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, ReadRef, elf};

/// What is known of a library from its file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Functions and data that it offers.
    pub(super) exports: Vec<String>,
    /// Symbols that it cannot be opened without.
    pub(super) needs: Vec<String>,
    /// Names of the libraries that it depends on.
    pub(super) libraries: Vec<String>,
    /// Folders where it wants them looked for; `$ORIGIN` stands for its own.
    pub(super) run_paths: Vec<String>,
    /// Versions of them that it cannot be opened without: of which library, and which.
    pub(super) needs_versions: Vec<(String, String)>,
    /// Versions that it offers.
    pub(super) versions: Vec<String>,
    /// False if there are parts that cannot be read; whether that matters, the dynamic linker knows.
    pub(super) is_whole: bool,
}

impl Facts {
    /// Reads them.
    pub(super) fn read<'data, R: ReadRef<'data>>(file: &ElfFile64<'data, Endianness, R>) -> Facts {
        let mut facts = Facts::default();
        for symbol in file.dynamic_symbols() {
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
        facts.is_whole = facts.read_dynamic(file).and_then(|()| facts.read_versions(file)).is_ok();
        facts
    }

    fn read_dynamic<'data, R: ReadRef<'data>>(
        &mut self,
        file: &ElfFile64<'data, Endianness, R>,
    ) -> Result<(), object::Error> {
        let table = file.elf_dynamic_table()?;
        for entry in &table {
            let text = || Ok::<_, object::Error>(String::from_utf8_lossy(table.string(entry)?).into_owned());
            match entry.tag {
                elf::DT_NEEDED => self.libraries.push(text()?),
                elf::DT_RPATH | elf::DT_RUNPATH => {
                    self.run_paths.extend(text()?.split(':').map(str::to_owned));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_versions<'data, R: ReadRef<'data>>(
        &mut self,
        file: &ElfFile64<'data, Endianness, R>,
    ) -> Result<(), object::Error> {
        let (endian, data, sections) = (file.endian(), file.data(), file.elf_section_table());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Some((mut needed, link)) = sections.gnu_verneed(endian, data)? {
            let strings = sections.strings(endian, data, link)?;
            while let Some((need, mut versions)) = needed.next()? {
                let library = text(need.file(endian, strings)?);
                while let Some(version) = versions.next()? {
                    let weak = version.vna_flags.get(endian).contains(elf::VER_FLG_WEAK);
                    if !weak {
                        self.needs_versions.push((library.clone(), text(version.name(endian, strings)?)));
                    }
                }
            }
        }
        if let Some((mut defined, link)) = sections.gnu_verdef(endian, data)? {
            let strings = sections.strings(endian, data, link)?;
            while let Some((_, mut names)) = defined.next()? {
                // The first is the version itself, others are those that it continues.
                if let Some(version) = names.next()? {
                    self.versions.push(text(version.name(endian, strings)?));
                }
            }
        }
        Ok(())
    }
}
