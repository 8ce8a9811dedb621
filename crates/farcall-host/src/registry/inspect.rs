//! Files of shared libraries.
//!
//! A file is inspected before it is opened, because the dynamic linker's messages for an unsuitable file are
//! terse. If a library needs a symbol that the program does not export, the error explains how to export the
//! symbol.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use farcall_ir::file_kind::FileKind;
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, elf};

use super::elf::{Bounded, Facts};
use super::load_error::LoadError;

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
    if text { "a text file".into() } else { "not an ELF file".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_other_than_libraries_are_recognized() {
        assert_eq!(describe(b""), "empty");
        assert_eq!(describe(b"\x89PNG\r\n"), "a PNG image");
        assert_eq!(describe(b"module {\n"), "a text file");
        assert_eq!(describe(b"\0\x01\x02"), "not an ELF file");
        assert!(matches!(inspect(Path::new("/")), Err(LoadError::NotALibrary { .. })));
    }
}
