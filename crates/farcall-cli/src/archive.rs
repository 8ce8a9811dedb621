//! Files of several named tensors: `.npz`, as written by NumPy's `savez`, and `.safetensors`.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use farcall::ir::literal::Literal;
use farcall::ir::types::TensorType;
use farcall::sig::DType;
use safetensors::tensor::{Dtype, Metadata};
use zip::ZipArchive;

use crate::npy;
use crate::show::short_type;

/// A file of named tensors.
pub(crate) struct Archive {
    path: PathBuf,
    content: Content,
}

enum Content {
    /// A zip archive of `.npy` files, with the index of each file in the archive.
    Npz { zip: Box<ZipArchive<BufReader<File>>>, names: Vec<(String, usize)> },
    /// The parsed header, and the offset of the elements.
    Safetensors { file: File, metadata: Metadata, names: Vec<String>, start: u64 },
}

/// First bytes of a zip archive with files, and of an empty zip archive.
const ZIP_SIGNATURES: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Maximum length of the header of a `.safetensors` file.
const MAX_HEADER_BYTES: u64 = 100 << 20;

impl Archive {
    /// Opens a file. Returns `None` if the file does not begin like a `.npz` file and the name does not end
    /// with `.safetensors`, or if the file cannot be read.
    ///
    /// # Errors
    /// If the file has one of these formats, but is damaged.
    pub(crate) fn open(path: &Path) -> Result<Option<Archive>> {
        let mut first = Vec::new();
        // The caller then reads the file as a single tensor, and reports why it cannot be opened.
        let Ok(file) = File::open(path) else { return Ok(None) };
        if path.is_dir() || (&file).take(4).read_to_end(&mut first).is_err() {
            return Ok(None);
        }
        let content = if ZIP_SIGNATURES.contains(&first.as_slice()) {
            npz(file)
        } else if path.extension().is_some_and(|e| e == "safetensors") {
            safetensors(file)
        } else {
            return Ok(None);
        };
        let content = content.with_context(|| format!("cannot use {}", path.display()))?;
        Ok(Some(Archive { path: path.to_owned(), content }))
    }

    /// Names of the tensors.
    pub(crate) fn names(&self) -> Vec<&str> {
        match &self.content {
            Content::Npz { names, .. } => names.iter().map(|(name, _)| name.as_str()).collect(),
            Content::Safetensors { names, .. } => names.iter().map(String::as_str).collect(),
        }
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a tensor by its index in [`Archive::names`]. Dynamic dimensions of `expected` take their sizes
    /// from the file.
    ///
    /// # Errors
    /// If the tensor has another type, or is damaged.
    pub(crate) fn read(&mut self, i: usize, expected: &TensorType) -> Result<Literal> {
        let name = self.names()[i].to_owned();
        let read = match &mut self.content {
            Content::Npz { zip, names } => {
                let entry = zip.by_index(names[i].1).context("reading it");
                entry.and_then(|entry| {
                    let size = entry.size();
                    npy::read_from(entry.take(size), expected)
                })
            }
            Content::Safetensors { file, metadata, start, .. } => {
                read_safetensor(file, metadata, &name, *start, expected)
            }
        };
        read.with_context(|| format!("cannot use `{name}` of {}", self.path.display()))
    }
}

fn npz(file: File) -> Result<Content> {
    let mut file = file;
    file.rewind()?;
    let zip = ZipArchive::new(BufReader::new(file)).context("it is not a readable archive")?;
    let names = zip.file_names().map(str::to_owned).collect::<Vec<_>>();
    let names = names.into_iter().map(|name| {
        let index =
            zip.index_for_name(&name).with_context(|| format!("the archive has no entry `{name}`"))?;
        match name.strip_suffix(".npy") {
            Some(name) => Ok((name.to_owned(), index)),
            None => bail!("it holds `{name}`, which is not a .npy file"),
        }
    });
    let names = names.collect::<Result<_>>()?;
    Ok(Content::Npz { zip: Box::new(zip), names })
}

fn safetensors(mut file: File) -> Result<Content> {
    file.rewind()?;
    let mut header = vec![0; 8];
    ensure!(file.read_exact(&mut header).is_ok(), "it is not a .safetensors file");
    let length = u64::from_le_bytes(std::array::from_fn(|i| header[i]));
    ensure!(length <= MAX_HEADER_BYTES, "its header has {length} bytes; the maximum is {MAX_HEADER_BYTES}");
    (&file).take(length).read_to_end(&mut header)?;
    let metadata: Metadata = serde_json::from_slice(&header[8..]).context("its header is malformed")?;
    let (start, elements) = (length + 8, metadata.data_len() as u64);
    let bytes = file.metadata()?.len();
    ensure!(
        start.checked_add(elements) == Some(bytes),
        "its header declares {elements} bytes of elements, but {} follow",
        bytes.saturating_sub(start)
    );
    let names = metadata.offset_keys();
    Ok(Content::Safetensors { file, metadata, names, start })
}

/// Reads a tensor from the elements that begin at `start`.
fn read_safetensor(
    file: &mut File,
    metadata: &Metadata,
    name: &str,
    start: u64,
    expected: &TensorType,
) -> Result<Literal> {
    let info = metadata.info(name).context("the file has no such tensor")?;
    let dtype = dtype(info.dtype);
    // Element types that the format lacks are stored in the same way as in `.npy` files.
    let raw = dtype.is_some_and(|found| npy::is_kept_as(expected.dtype, found));
    let dims = &info.shape;
    let fits = dims.len() == expected.rank() && dims.iter().zip(expected.dims()).all(|(d, e)| e.admits(*d));
    if !(fits && (dtype == Some(expected.dtype) || raw)) {
        let sizes: Vec<String> = dims.iter().map(ToString::to_string).collect();
        let found = dtype.map_or_else(|| format!("{:?}", info.dtype), |d| d.name().to_owned());
        bail!("it is {found}[{}], but {} is expected", sizes.join(","), short_type(expected));
    }
    let ty = TensorType::new(expected.dtype, dims.as_slice());
    let bytes = ty.bytes().with_context(|| format!("{} does not fit into memory", short_type(&ty)))?;
    let (begin, end) = info.data_offsets;
    ensure!(end - begin == bytes, "it has {} bytes of elements, where {bytes} are expected", end - begin);
    // The file was checked to be complete when it was opened.
    file.seek(SeekFrom::Start(start + begin as u64))?;
    npy::read_elements(file.take(bytes as u64), false, &ty)
}

/// Returns farcall's element type for an element type of the `.safetensors` format.
fn dtype(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Pred,
        Dtype::U8 => DType::U8,
        Dtype::I8 => DType::S8,
        Dtype::F8_E5M2 => DType::F8E5M2,
        Dtype::F8_E4M3 => DType::F8E4M3FN,
        Dtype::F8_E8M0 => DType::F8E8M0FNU,
        Dtype::F8_E4M3FNUZ => DType::F8E4M3FNUZ,
        Dtype::F8_E5M2FNUZ => DType::F8E5M2FNUZ,
        Dtype::I16 => DType::S16,
        Dtype::U16 => DType::U16,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::I32 => DType::S32,
        Dtype::U32 => DType::U32,
        Dtype::F32 => DType::F32,
        Dtype::C64 => DType::C64,
        Dtype::F64 => DType::F64,
        Dtype::I64 => DType::S64,
        Dtype::U64 => DType::U64,
        // The other types have several elements in a byte, or were added in later versions of the format.
        _ => return None,
    })
}
