//! Input from files, pipes and devices, which may be endless. The bytes of the input count toward the memory
//! limit ([`farcall::memory`], `--memory-limit`).

use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use farcall::ir::Source;
use farcall::memory::Charge;

/// Number of bytes that are read before the first check, if the length of the input is unknown.
const FIRST_BYTES: usize = 1 << 16;

/// Bytes of input, which count toward the memory limit.
pub(crate) struct Content {
    bytes: Vec<u8>,
    charge: Charge,
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Content {
    /// Reads to the end. `name` is for messages; `first` has been read already; `length` is the number of
    /// bytes that follow, if known. If the length is unknown, `check` inspects the bytes several times before
    /// the end.
    ///
    /// # Errors
    /// If the reader or `check` fails, or there is not enough memory.
    pub(crate) fn read(
        mut from: impl Read,
        name: &str,
        first: Vec<u8>,
        length: Option<u64>,
        mut check: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Content> {
        let mut content = Content { bytes: first, charge: Charge::new(0)? };
        let known = length.and_then(|length| usize::try_from(length).ok());
        // Asking for one more byte detects the end.
        let mut next = known.map_or(FIRST_BYTES, |length| length.saturating_add(1));
        loop {
            let cannot = || format!("cannot read {name}");
            content.charge.grow(next).with_context(cannot)?;
            content.bytes.try_reserve_exact(next).with_context(cannot)?;
            let came =
                from.by_ref().take(next as u64).read_to_end(&mut content.bytes).with_context(cannot)?;
            if came < next {
                return Ok(content);
            }
            check(&content.bytes)?;
            next = content.bytes.len();
        }
    }

    /// Converts the bytes to the text of a program.
    ///
    /// # Errors
    /// If the bytes are empty, too long, or not UTF-8.
    pub(crate) fn into_source(self, name: String) -> Result<Arc<Source>> {
        let text =
            String::from_utf8(self.bytes).map_err(|e| not_utf8(&name, e.utf8_error().valid_up_to()))?;
        ensure!(!text.trim().is_empty(), "{name} is empty; it should hold the text of a program");
        ensure!(text.len() <= Source::MAX_LEN, "{}", too_large(&name));
        Ok(Source::charged(name, text, self.charge))
    }
}

/// Checks that input, which may be endless, is text from its first bytes on.
pub(crate) struct TextCheck<'a> {
    name: &'a str,
    /// Number of bytes that are known to be text.
    checked: usize,
}

impl TextCheck<'_> {
    pub(crate) fn new(name: &str) -> TextCheck<'_> {
        TextCheck { name, checked: 0 }
    }

    /// # Errors
    /// If the bytes cannot be the beginning of text.
    pub(crate) fn check(&mut self, bytes: &[u8]) -> Result<()> {
        let new = &bytes[self.checked..];
        if let Some(at) = new.iter().position(|byte| *byte == 0) {
            bail!("{} is not text: byte {} is zero", self.name, self.checked + at);
        }
        ensure!(bytes.len() <= Source::MAX_LEN, "{}", too_large(self.name));
        match std::str::from_utf8(new) {
            Ok(_) => self.checked = bytes.len(),
            Err(e) => {
                self.checked += e.valid_up_to();
                // The last character may be incomplete.
                if e.error_len().is_some() {
                    return Err(not_utf8(self.name, self.checked));
                }
            }
        }
        Ok(())
    }
}

fn not_utf8(name: &str, at: usize) -> anyhow::Error {
    anyhow::anyhow!("{name} is not text: byte {at} is not valid UTF-8, the encoding of programs")
}

fn too_large(name: &str) -> String {
    format!("{name} is too large: programs can have 4 GB of text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: impl Read, length: Option<u64>) -> Result<Content> {
        let mut text = TextCheck::new("<pipe>");
        Content::read(from, "<pipe>", b"fu".to_vec(), length, |bytes| text.check(bytes))
    }

    /// Counts the bytes that were read.
    struct Counted<R>(R, usize);

    impl<R: Read> Read for &mut Counted<R> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let came = self.0.read(out)?;
            self.1 += came;
            Ok(came)
        }
    }

    #[test]
    fn input_without_an_end_is_refused_soon() {
        for (bytes, why) in [(&b"\0"[..], "byte 2 is zero"), (b"nc\xff", "byte 4 is not valid UTF-8")] {
            let mut endless = Counted(bytes.chain(std::io::repeat(bytes[bytes.len() - 1])), 0);
            let error = read(&mut endless, None).map(drop).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(endless.1 <= FIRST_BYTES, "{} bytes were read", endless.1);
        }
    }

    #[test]
    fn text_is_read_whole() {
        let text = "nc — é".repeat(50_000);
        for length in [None, Some(text.len() as u64), Some(3)] {
            let source = read(text.as_bytes(), length).unwrap().into_source("<pipe>".to_owned()).unwrap();
            assert_eq!(source.text(), format!("fu{text}"));
        }
    }
}
