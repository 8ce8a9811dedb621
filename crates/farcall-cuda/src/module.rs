//! Modules of kernels: PTX, cubins and fatbins, loaded into the context of a device.

use std::borrow::Cow;
use std::ffi::{CStr, c_uint, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::sys;
use farcall_ffi::{Error, Result};

use crate::driver::{Driver, HostContext};
use crate::stream::CudaStream;

/// Size of the buffer for the messages of the driver's assembler, in bytes.
const LOG_BYTES: usize = 8 << 10;

/// Start of a cubin, which is an ELF file.
const ELF: &[u8] = b"\x7fELF";

/// Start of a fatbin: the number `0xba55ed50`.
const FATBIN: &[u8] = &0xba55_ed50_u32.to_le_bytes();

/// A module of kernels in the memory of a device, from [`kernels!`](crate::kernels) or
/// [`load`](KernelModule::load). The module and its kernels share the loaded code; the last owner unloads it.
#[derive(Clone)]
pub struct KernelModule(Arc<Loaded>);

struct Loaded {
    driver: &'static Driver,
    raw: sys::CUmodule,
    /// Context that the module belongs to.
    context: HostContext,
    name: &'static str,
}

// SAFETY: a module is a handle that any thread may use.
unsafe impl Send for Loaded {}
// SAFETY: a module is a handle that any thread may use, also at the same time.
unsafe impl Sync for Loaded {}

impl KernelModule {
    /// Loads a module into the context that is current on this thread, which is the context of the stream's
    /// device during a call. `name` is its name in messages.
    ///
    /// `image` is PTX, a cubin or a fatbin. The driver assembles PTX for the device, which may take seconds
    /// the first time; after that, its cache on disk has the result.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if the stream is being recorded into a CUDA graph, or no context is current on
    /// this thread; `INVALID_ARGUMENT` if the image is incomplete or its PTX is malformed; otherwise the driver's error, with the messages of its
    /// assembler.
    ///
    /// # Safety
    /// `image` is PTX for the driver's assembler, or a cubin or fatbin as NVIDIA's tools or a compiler such
    /// as Triton wrote it. The driver parses cubins and fatbins in this process and relies on their contents,
    /// so a damaged file, or a file from an untrusted source, can corrupt the process. This function checks
    /// only that the image is complete.
    pub unsafe fn load(stream: &CudaStream, name: &'static str, image: &[u8]) -> Result<KernelModule> {
        let driver = stream.driver();
        stream.expect_not_capturing("modules cannot be loaded").map_err(|error| error.context(name))?;
        let image = Image::of(image).map_err(|error| error.context(name))?;
        let context = HostContext::of_this_thread(driver).map_err(|error| error.context(name))?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
        let mut raw = null_mut();
        // SAFETY: the caller guarantees the image (`# Safety` above). It is complete and, if it is text,
        // null-terminated (`Image`). Each option has its value, and the driver writes at most `LOG_BYTES`
        // bytes to the log.
        let status = unsafe {
            (driver.cuModuleLoadDataEx)(
                &mut raw,
                image.as_ptr(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if status != 0 {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            let log = if log.trim().is_empty() { String::new() } else { format!("\n{}", log.trim_end()) };
            let error = driver.error("cuModuleLoadDataEx", status).context(name);
            return Err(Error::new(error.code(), format!("{}{log}", error.message())));
        }
        Ok(KernelModule(Arc::new(Loaded { driver, raw, context, name })))
    }

    /// The module as a handle of the CUDA driver, which is valid as long as this value or a kernel exists.
    pub fn as_raw(&self) -> sys::CUmodule {
        self.0.raw
    }

    /// Name of the module, for messages.
    pub(crate) fn name(&self) -> &'static str {
        self.0.name
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.0.driver
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let current = self.context.enter();
        if current.is_some() {
            // SAFETY: the module is loaded, and its context is current.
            unsafe { (self.driver.cuModuleUnload)(self.raw) };
        }
    }
}

impl fmt::Debug for KernelModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelModule").field("name", &self.0.name).finish_non_exhaustive()
    }
}

/// An image as the driver expects it: text ends with a null byte, and binary formats are aligned and as long
/// as their headers say.
enum Image<'a> {
    Text(Cow<'a, [u8]>),
    /// Copied to aligned memory.
    Binary(Vec<u64>),
}

impl Image<'_> {
    fn of(bytes: &[u8]) -> Result<Image<'_>> {
        if bytes.starts_with(ELF) {
            let size = elf_size(bytes).filter(|&size| size <= bytes.len() as u64);
            return Image::binary(bytes, "cubin", size);
        }
        if bytes.starts_with(FATBIN) {
            let size = fatbin_size(bytes).filter(|&size| size <= bytes.len() as u64);
            return Image::binary(bytes, "fatbin", size);
        }
        let end = bytes.iter().position(|byte| *byte == 0);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        if text.trim_ascii().is_empty() {
            return Err(Error::invalid_argument("the image is neither PTX nor a cubin nor a fatbin"));
        }
        if let Some(after) = end.map(|end| &bytes[end..]).filter(|after| after.iter().any(|byte| *byte != 0))
        {
            let at = bytes.len() - after.len();
            return Err(Error::invalid_argument(format!("the PTX contains a null byte, at {at}")));
        }
        Ok(Image::Text(match end {
            Some(_) => Cow::Borrowed(bytes),
            None => Cow::Owned([bytes, b"\0"].concat()),
        }))
    }

    fn binary<'a>(bytes: &[u8], format: &str, size: Option<u64>) -> Result<Image<'a>> {
        if size.is_none() {
            let message = format!("the {format} of {} bytes is not complete", bytes.len());
            return Err(Error::invalid_argument(message));
        }
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        };
        Ok(Image::Binary(bytes.chunks(8).map(word).collect()))
    }

    fn as_ptr(&self) -> *const c_void {
        match self {
            Image::Text(text) => text.as_ptr().cast(),
            Image::Binary(words) => words.as_ptr().cast(),
        }
    }
}

/// Returns the end of an ELF file's table of sections, which is its last part in cubins.
fn elf_size(bytes: &[u8]) -> Option<u64> {
    let start = u64::from_le_bytes(field(bytes, 40)?);
    let (size, count) = (u16::from_le_bytes(field(bytes, 58)?), u16::from_le_bytes(field(bytes, 60)?));
    start.checked_add(u64::from(size) * u64::from(count))
}

/// Returns the size of a fatbin: its header, and the contents that the header announces.
fn fatbin_size(bytes: &[u8]) -> Option<u64> {
    let header = u16::from_le_bytes(field(bytes, 6)?);
    u64::from_le_bytes(field(bytes, 8)?).checked_add(u64::from(header))
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        let found = match Image::of(bytes) {
            Ok(Image::Text(text)) => format!("text of {} bytes", text.len()),
            Ok(Image::Binary(words)) => format!("binary of {} words", words.len()),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn text_ends_with_one_null_byte() {
        check(b".version 8.0", "text of 13 bytes");
        check(b".version 8.0\0", "text of 13 bytes");
        check(b".version\08.0", "the PTX contains a null byte, at 8");
        check(b" \n", "the image is neither PTX nor a cubin nor a fatbin");
        check(b"", "the image is neither PTX nor a cubin nor a fatbin");
    }

    #[test]
    fn binaries_are_complete() {
        let mut cubin = vec![0; 64 + 3 * 64];
        cubin[..4].copy_from_slice(ELF);
        cubin[40] = 64;
        cubin[58] = 64;
        cubin[60] = 3;
        check(&cubin, "binary of 32 words");
        check(&cubin[..255], "the cubin of 255 bytes is not complete");
        check(&cubin[..50], "the cubin of 50 bytes is not complete");
        let mut fatbin = vec![0; 20];
        fatbin[..4].copy_from_slice(FATBIN);
        fatbin[6] = 16;
        fatbin[8] = 4;
        check(&fatbin, "binary of 3 words");
        check(&fatbin[..19], "the fatbin of 19 bytes is not complete");
        fatbin[15] = 0xff;
        check(&fatbin, "the fatbin of 20 bytes is not complete");
    }
}
