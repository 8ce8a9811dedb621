//! Tensors in `.npy` files.
//!
//! NumPy lacks some element types. The bits of `bf16` are stored as `uint16`. The bits of `f8`, `f6` and
//! `f4` are stored as `uint8`. Integers narrower than a byte are stored as `int8` or `uint8`. A file alone
//! therefore does not determine the element type; the caller passes the expected type.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Take, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use farcall::ir::literal::Literal;
use farcall::ir::types::TensorType;
use farcall::sig::DType;
use npyz::{Endianness, NpyHeader, Order, TypeStr, WriterBuilder};

use crate::show::short_type;

/// Returns NumPy's code of the type in which elements are stored: `<f4` for `f32`, `<u2` for `bf16`.
pub(crate) fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::Pred => "|b1",
        DType::S2 | DType::S4 | DType::S8 => "|i1",
        DType::S16 => "<i2",
        DType::S32 => "<i4",
        DType::S64 => "<i8",
        DType::U2 | DType::U4 | DType::U8 => "|u1",
        DType::U16 | DType::BF16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
        DType::F4E2M1FN
        | DType::F6E2M3FN
        | DType::F6E3M2FN
        | DType::F8E3M4
        | DType::F8E4M3
        | DType::F8E4M3B11FNUZ
        | DType::F8E4M3FN
        | DType::F8E4M3FNUZ
        | DType::F8E5M2
        | DType::F8E5M2FNUZ
        | DType::F8E8M0FNU => "|u1",
    }
}

/// Returns NumPy's name for a type code: `float32`, `uint16`.
fn numpy_name(descr: &str) -> String {
    let (kind, size) = descr.trim_start_matches(['<', '>', '|', '=']).split_at(1);
    let kind = match kind {
        "b" => return "bool".to_owned(),
        "i" => "int",
        "u" => "uint",
        "f" => "float",
        "c" => "complex",
        _ => return descr.to_owned(),
    };
    match size.parse::<u32>() {
        Ok(bytes) => format!("{kind}{}", bytes * 8),
        Err(_) => descr.to_owned(),
    }
}

/// Returns true if NumPy has the type.
fn is_native(dtype: DType) -> bool {
    let small_float = dtype.is_float() && dtype.bits() <= 8;
    !small_float && dtype != DType::BF16 && (dtype.is_bool() || dtype.bits() >= 8)
}

/// Reads a tensor. Dynamic dimensions of `expected` take their sizes from the file.
pub(crate) fn read(path: &Path, expected: &TensorType) -> Result<Literal> {
    read_from(open(path)?, expected).with_context(|| format!("cannot use {}", path.display()))
}

/// Reads a tensor of the type that the file declares, with one exception: if `expected` lacks this type, but
/// exactly one of the expected types is stored as the file's type (`bf16` as `uint16`), the tensor has that
/// expected type.
pub(crate) fn read_as_one_of(path: &Path, expected: &[DType]) -> Result<Literal> {
    read_one_of(open(path)?, expected).with_context(|| format!("cannot use {}", path.display()))
}

/// Opens a file. A regular file is limited to its current length; other files have no limit.
fn open(path: &Path) -> Result<Take<BufReader<File>>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let metadata = file.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(!metadata.is_dir(), "{} is a folder, not a .npy file", path.display());
    let bytes = if metadata.is_file() { metadata.len() } else { u64::MAX };
    Ok(BufReader::new(file).take(bytes))
}

/// Like [`read`], but reads the contents of the file from `reader`, and no further than its limit.
pub(crate) fn read_from(mut reader: Take<impl Read>, expected: &TensorType) -> Result<Literal> {
    let header = header(&mut reader)?;
    let found = plain(&header)?;
    let bits = if is_native(expected.dtype) { "" } else { " (raw bits)" };
    ensure!(
        holds(&found, expected.dtype),
        "it holds {}, but {} is expected as {}{bits}",
        numpy_name(&found.to_string()),
        short_type(expected),
        numpy_name(descr(expected.dtype)),
    );
    let dims = shape(&header)?;
    let fits = dims.len() == expected.rank() && dims.iter().zip(expected.dims()).all(|(d, e)| e.admits(*d));
    let ty = TensorType::new(expected.dtype, dims);
    ensure!(fits, "its shape is {}, but {} is expected", short_type(&ty), short_type(expected));
    elements(reader, &header, &found, ty)
}

fn read_one_of(mut reader: Take<impl Read>, expected: &[DType]) -> Result<Literal> {
    let header = header(&mut reader)?;
    let found = plain(&header)?;
    let native = DType::VARIANTS.into_iter().find(|d| is_native(*d) && holds(&found, *d));
    let kept: Vec<DType> = expected.iter().copied().filter(|d| holds(&found, *d)).collect();
    let dtype = match (native, kept.as_slice()) {
        (Some(native), kept) if kept.contains(&native) => native,
        (_, [only]) => *only,
        (Some(native), _) => native,
        (None, _) => bail!("it holds {}, which is not a tensor element type", numpy_name(&found.to_string())),
    };
    let ty = TensorType::new(dtype, shape(&header)?);
    elements(reader, &header, &found, ty)
}

/// Returns the type of the numbers in a file.
fn plain(header: &NpyHeader) -> Result<TypeStr> {
    match header.dtype() {
        npyz::DType::Plain(found) => Ok(found),
        other => bail!("it holds records, not plain numbers: {}", other.descr()),
    }
}

/// Returns true if elements of type `dtype` are stored as numbers of type `found`.
fn holds(found: &TypeStr, dtype: DType) -> bool {
    descr(dtype)
        .parse::<TypeStr>()
        .is_ok_and(|want| found.type_char() == want.type_char() && found.size_field() == want.size_field())
}

fn shape(header: &NpyHeader) -> Result<Vec<usize>> {
    header.shape().iter().map(|d| usize::try_from(*d)).collect::<Result<_, _>>().context("shape")
}

/// Returns true if elements of a type that NumPy lacks are stored as elements of type `found`.
pub(crate) fn is_kept_as(dtype: DType, found: DType) -> bool {
    !is_native(dtype) && is_native(found) && descr(dtype) == descr(found)
}

/// Reads the elements after the header, as a tensor of type `ty`.
fn elements(reader: Take<impl Read>, header: &NpyHeader, found: &TypeStr, ty: TensorType) -> Result<Literal> {
    let mut read = read_elements(reader, found.endianness() == Endianness::Big, &ty)?;
    if header.order() == Order::Fortran && ty.rank() > 1 {
        let mut by_rows = Literal::try_for_overwrite(ty.dtype, ty.sizes())?;
        row_major(read.bytes(), by_rows.bytes_mut(), &ty);
        read = by_rows;
    }
    Ok(read)
}

/// Reads a tensor whose elements are in row-major order.
pub(crate) fn read_elements(reader: Take<impl Read>, big_endian: bool, ty: &TensorType) -> Result<Literal> {
    let bytes = ty.bytes().with_context(|| format!("{} does not fit into memory", short_type(ty)))?;
    // A truncated file must not cause a large allocation.
    let stored = reader.limit();
    ensure!(stored >= bytes as u64, "it is cut off: {stored} of {bytes} bytes of elements are there");
    let literal = Literal::try_for_overwrite(ty.dtype, ty.sizes());
    let mut literal = literal.with_context(|| format!("{} does not fit into memory", short_type(ty)))?;
    let data = literal.bytes_mut();
    let (mut reader, mut there) = (reader.into_inner(), 0);
    while there < bytes {
        match reader.read(&mut data[there..]) {
            Ok(0) => bail!("it is cut off: {there} of {bytes} bytes of elements are there"),
            Ok(came) => there += came,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e).context("reading its elements"),
        }
    }
    if big_endian {
        let part = ty.dtype.real().size();
        data.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    if ty.dtype == DType::Pred {
        data.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    check_range(data, ty.dtype)?;
    Ok(literal)
}

/// Reads the header. The `npyz` crate multiplies sizes without checking for overflow and parses nested
/// brackets recursively, so the header's text is checked first.
fn header(reader: &mut impl Read) -> Result<NpyHeader> {
    let mut bytes = vec![0; 8];
    let there = reader.read_exact(&mut bytes).is_ok() && bytes.starts_with(b"\x93NUMPY");
    ensure!(there, "it is not a .npy file");
    let length_bytes = if bytes[6] == 1 { 2 } else { 4 };
    let mut length = [0; 4];
    ensure!(reader.read_exact(&mut length[..length_bytes]).is_ok(), "its header is cut off");
    bytes.extend_from_slice(&length[..length_bytes]);
    let length = u32::from_le_bytes(length);
    ensure!(length < 1 << 16, "its header has {length} bytes, more than any array needs");
    let start = bytes.len();
    reader.take(length.into()).read_to_end(&mut bytes)?;
    let text = &bytes[start..];
    ensure!(text.len() == length as usize, "its header is cut off");
    ensure!(text.iter().filter(|b| b"([{".contains(b)).count() < 100, "its header has too many brackets");
    let numbers = text.split(|b| !b.is_ascii_digit()).filter(|n| n.iter().any(|d| *d != b'0'));
    let mut numbers = numbers.map(|n| std::str::from_utf8(n).ok()?.parse::<u64>().ok());
    let fits = numbers.try_fold(1u64, |product, n| product.checked_mul(n?));
    ensure!(fits.is_some(), "an array of its shape does not fit into memory");
    NpyHeader::from_reader(bytes.as_slice()).context("its header is malformed")
}

/// Checks that elements narrower than a byte are in range.
fn check_range(data: &[u8], dtype: DType) -> Result<()> {
    if dtype.bits() >= 8 || dtype.is_bool() {
        return Ok(());
    }
    let spare = 8 - dtype.bits();
    for (i, byte) in data.iter().enumerate() {
        let kept = if dtype.is_signed_integer() {
            ((byte << spare).cast_signed() >> spare).cast_unsigned()
        } else {
            (byte << spare) >> spare
        };
        ensure!(kept == *byte, "element {i} is {byte:#04x}, which is out of the range of {dtype}");
    }
    Ok(())
}

/// Converts column-major elements to row-major order.
fn row_major(data: &[u8], out: &mut [u8], ty: &TensorType) {
    let size = ty.dtype.size();
    let mut index = vec![0; ty.rank()];
    for to in out.chunks_exact_mut(size) {
        let mut at = 0;
        for (i, d) in index.iter().zip(ty.sizes()).rev() {
            at = at * d + i;
        }
        to.copy_from_slice(&data[at * size..(at + 1) * size]);
        for (i, d) in index.iter_mut().zip(ty.sizes()).rev() {
            *i += 1;
            if *i < *d {
                break;
            }
            *i = 0;
        }
    }
}

/// Writes a tensor. The file appears complete or not at all.
pub(crate) fn write(path: &Path, literal: &Literal) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let attempt = || -> Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".farcall-").suffix(".npy");
        // Temporary files are private to their owner, but a result needs the usual permissions.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        let mut out = std::io::BufWriter::new(file.as_file_mut());
        write_to(&mut out, literal)?;
        out.flush()?;
        drop(out);
        file.persist(path)?;
        Ok(())
    };
    attempt().with_context(|| format!("cannot write {}", path.display()))
}

fn write_to(out: &mut impl Write, literal: &Literal) -> Result<()> {
    let shape: Vec<u64> = literal.dims().iter().map(|d| *d as u64).collect();
    let dtype = npyz::DType::new_scalar(descr(literal.dtype()).parse()?);
    // The `npyz` crate writes the header; the elements are already in memory in the right format.
    npyz::WriteOptions::new_header_only().dtype(dtype).shape(&shape).writer(&mut *out).write_header_only()?;
    out.write_all(literal.bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall::ir::Scalar;
    use farcall::ir::types::Dim;
    use farcall_testing::{SplitMix, fuzz};

    fn header(descr: &str, fortran: bool, shape: &str) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while (text.len() + 11) % 16 != 0 {
            text.push(' ');
        }
        text.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((text.len() as u16).to_le_bytes());
        out.extend(text.as_bytes());
        out
    }

    fn message(bytes: &[u8], ty: &TensorType) -> String {
        format!("{:#}", read_from(whole(bytes), ty).unwrap_err())
    }

    fn whole(file: &[u8]) -> Take<&[u8]> {
        file.take(file.len() as u64)
    }

    #[test]
    fn every_type_round_trips() {
        for dtype in DType::VARIANTS {
            let l = Literal::from_fn(dtype, [2, 3], |i| Scalar::Signed(i as i64 % 2));
            let mut file = Vec::new();
            write_to(&mut file, &l).unwrap();
            assert_eq!(read_from(whole(&file), &l.ty()).unwrap(), l, "{dtype}");
        }
        let scalar = Literal::scalar(DType::F64, Scalar::Float(2.5));
        let mut file = Vec::new();
        write_to(&mut file, &scalar).unwrap();
        assert_eq!(read_from(whole(&file), &scalar.ty()).unwrap(), scalar);
    }

    #[test]
    fn columns_first_and_big_endian_files_are_read() {
        let mut file = header(">i2", true, "(2, 3)");
        for x in [0i16, 3, 1, 4, 2, 5] {
            file.extend(x.to_be_bytes());
        }
        let got = read_from(whole(&file), &TensorType::new(DType::S16, [2, 3])).unwrap();
        assert_eq!(got.as_slice::<i16>(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let mut file = header("<f4", false, "(2,)");
        file.extend([0; 7]);
        assert_eq!(
            message(&file, &TensorType::new(DType::F32, [2])),
            "it is cut off: 7 of 8 bytes of elements are there"
        );
        assert_eq!(
            message(&file, &TensorType::new(DType::F32, [3])),
            "its shape is f32[2], but f32[3] is expected"
        );
        assert_eq!(
            message(&file, &TensorType::new(DType::BF16, [2])),
            "it holds float32, but bf16[2] is expected as uint16 (raw bits)"
        );
        assert!(message(b"\x89PNG", &TensorType::scalar(DType::F32)).starts_with("it is not a .npy file"));
        let large = header("<f4", false, "(1000000000000, 4)");
        let ty = TensorType::from_dims(DType::F32, [Dim::UNBOUNDED, Dim::Static(4)]);
        let cut = "it is cut off: 0 of 16000000000000 bytes of elements are there";
        assert_eq!(message(&large, &ty), cut);
        let huge = header("<f4", false, "(4611686018427387904, 4)");
        assert!(message(&huge, &ty).contains("does not fit into memory"));
    }

    #[test]
    fn narrow_integers_must_be_in_range() {
        let mut file = header("|i1", false, "(2,)");
        file.extend([7u8, 8]);
        let error = message(&file, &TensorType::new(DType::S4, [2]));
        assert_eq!(error, "element 1 is 0x08, which is out of the range of s4");
    }

    /// Checks that each damaged .npy file yields a tensor or an error. `FARCALL_FUZZ_ITERATIONS` sets the
    /// number of iterations.
    #[test]
    fn damaged_files_are_tensors_or_errors() {
        let iterations = fuzz::iterations(20_000);
        let seeds = [
            (header("<f4", false, "(2, 3)"), DType::F32),
            (header(">i2", true, "(4, 2, 1)"), DType::S16),
            (header("|b1", false, "()"), DType::Pred),
            (header("<c16", true, "(3,)"), DType::C128),
        ];
        let mut random = SplitMix::new(fuzz::seed());
        let mut below = |n: usize| random.below(n);
        let mut read = 0;
        for _ in 0..iterations {
            let (header, dtype) = &seeds[below(seeds.len())];
            let mut file = header.clone();
            file.extend((0..96).map(|i| i as u8));
            file.truncate(header.len() + below(97));
            for _ in 0..below(4) {
                let at = below(header.len());
                match below(3) {
                    0 => file[at] = below(256) as u8,
                    1 => file[at] = b"0123456789<>|(),'fiubc{}[]TF"[below(28)],
                    _ => file.insert(at, b"0123456789,()[]"[below(15)]),
                }
            }
            let any = TensorType::from_dims(*dtype, [Dim::UNBOUNDED; 2]);
            read += u64::from(read_from(whole(&file), &any).is_ok());
            let outcome = read_one_of(whole(&file), &[*dtype, DType::BF16]);
            read += u64::from(outcome.is_ok());
        }
        assert!(read > iterations / 50, "only {read} tensors were read in {iterations} iterations");
    }
}
