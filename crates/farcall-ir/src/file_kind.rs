//! Recognizes files of other formats by their first bytes, for messages.

use std::fmt;

/// A kind of file that users pass by mistake in place of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "`Display` describes each variant")]
pub enum FileKind {
    MlirBytecode,
    Png,
    Jpeg,
    Gif,
    Pdf,
    Elf,
    StaticLibrary,
    Windows,
    MacLibrary,
    MacLibraryOrClass,
    Gzip,
    Zstd,
    Zip,
    NumPy,
    Sqlite,
    Script,
}

impl FileKind {
    /// Recognizes a file by its first bytes; `None` for other files.
    pub fn of(start: &[u8]) -> Option<FileKind> {
        const KNOWN: [(&[u8], FileKind); 16] = [
            (b"ML\xefR", FileKind::MlirBytecode),
            (b"\x89PNG", FileKind::Png),
            (b"\xff\xd8\xff", FileKind::Jpeg),
            (b"GIF8", FileKind::Gif),
            (b"%PDF", FileKind::Pdf),
            (b"\x7fELF", FileKind::Elf),
            (b"!<arch>\n", FileKind::StaticLibrary),
            (b"MZ", FileKind::Windows),
            (b"\xcf\xfa\xed\xfe", FileKind::MacLibrary),
            (b"\xca\xfe\xba\xbe", FileKind::MacLibraryOrClass),
            (b"\x1f\x8b", FileKind::Gzip),
            (b"\x28\xb5\x2f\xfd", FileKind::Zstd),
            (b"PK\x03\x04", FileKind::Zip),
            (b"\x93NUMPY", FileKind::NumPy),
            (b"SQLite format 3", FileKind::Sqlite),
            (b"#!", FileKind::Script),
        ];
        KNOWN.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::MlirBytecode => "MLIR bytecode",
            FileKind::Png => "a PNG image",
            FileKind::Jpeg => "a JPEG image",
            FileKind::Gif => "a GIF image",
            FileKind::Pdf => "a PDF document",
            FileKind::Elf => "an ELF file",
            FileKind::StaticLibrary => "a static library",
            FileKind::Windows => "a Windows file",
            FileKind::MacLibrary => "a macOS library",
            FileKind::MacLibraryOrClass => "a macOS library or Java class",
            FileKind::Gzip => "compressed by gzip",
            FileKind::Zstd => "compressed by zstd",
            FileKind::Zip => "a zip archive",
            FileKind::NumPy => "a NumPy array",
            FileKind::Sqlite => "a database",
            FileKind::Script => "a script",
        })
    }
}
