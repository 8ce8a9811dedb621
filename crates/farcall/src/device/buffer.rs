//! Tensors in a device's memory.

use std::fmt;

use farcall_ir::memory::OutOfMemory;
use farcall_ir::{DType, Literal, TensorType};

use super::{Device, MemorySpace};
use crate::ErrorCode;

/// A tensor in the memory of a device: what executables take and give.
///
/// Cloning shares the elements. Whoever gives the last clone of a buffer to an executable gives it up: a program
/// that donates that input works in its memory. From a [`Literal`], and back, nothing is copied where the memory is
/// the host's.
///
/// ```
/// use farcall::device::{Buffer, Device};
/// use farcall::ir::{DType, Literal};
///
/// let buffer = Buffer::from(Literal::from_slice(DType::F32, [2], &[1f32, 2.0]));
/// assert_eq!(buffer.device(), Device::host());
/// assert_eq!(buffer.host().unwrap().as_slice::<f32>(), [1.0, 2.0]);
/// ```
#[derive(Clone)]
pub struct Buffer {
    memory: MemorySpace,
    storage: Storage,
}

/// Where the elements are.
#[derive(Clone)]
enum Storage {
    Host(Literal),
}

/// Why a buffer cannot be where it is wanted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// Nothing copies from one memory to the other.
    #[error("nothing copies from the {from} to the {to}")]
    NoCopy {
        /// Where the elements are.
        from: MemorySpace,
        /// Where they should be.
        to: MemorySpace,
    },
    /// The memory is full.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl BufferError {
    /// What kind of error it is.
    pub fn code(&self) -> ErrorCode {
        match self {
            BufferError::NoCopy { .. } => ErrorCode::Device,
            BufferError::Memory(_) => ErrorCode::OutOfMemory,
        }
    }
}

impl Buffer {
    /// The type of the tensor.
    pub fn ty(&self) -> TensorType {
        match &self.storage {
            Storage::Host(literal) => literal.ty(),
        }
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        match &self.storage {
            Storage::Host(literal) => literal.dtype(),
        }
    }

    /// Sizes of the dimensions.
    pub fn dims(&self) -> &[usize] {
        match &self.storage {
            Storage::Host(literal) => literal.dims(),
        }
    }

    /// Bytes of the elements.
    pub fn byte_len(&self) -> usize {
        match &self.storage {
            Storage::Host(literal) => literal.byte_len(),
        }
    }

    /// The memory that it is in.
    pub fn memory(&self) -> MemorySpace {
        self.memory
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.memory.device()
    }

    /// The elements, if the host can look at them where they are.
    pub fn host(&self) -> Option<&Literal> {
        match &self.storage {
            Storage::Host(literal) => Some(literal),
        }
    }

    /// The elements to write to, if the host can do so where they are. (A literal that is shared is copied by the
    /// first write.)
    pub fn host_mut(&mut self) -> Option<&mut Literal> {
        match &mut self.storage {
            Storage::Host(literal) => Some(literal),
        }
    }

    /// The elements as a literal: the same if they are the host's, else a copy.
    ///
    /// # Errors
    /// If there is no memory for a copy.
    pub fn into_literal(self) -> Result<Literal, BufferError> {
        match self.storage {
            Storage::Host(literal) => Ok(literal),
        }
    }

    /// The same tensor in another memory: the same buffer if it is there already.
    ///
    /// # Errors
    /// If nothing copies from where it is to there, or there is not that much memory.
    pub fn to_memory(&self, memory: MemorySpace) -> Result<Buffer, BufferError> {
        if memory == self.memory {
            return Ok(self.clone());
        }
        Err(BufferError::NoCopy { from: self.memory, to: memory })
    }

    /// A copy in the same memory that shares nothing with this one.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn to_owned_copy(&self) -> Result<Buffer, BufferError> {
        let mut copy = self.clone();
        match &mut copy.storage {
            Storage::Host(literal) => literal.unshare()?,
        }
        Ok(copy)
    }
}

/// On the host.
impl From<Literal> for Buffer {
    fn from(literal: Literal) -> Buffer {
        Buffer { memory: Device::host().default_memory(), storage: Storage::Host(literal) }
    }
}

/// In the same memory, of the same type, and with the same bits.
impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        let Storage::Host(other_elements) = &other.storage;
        self.memory == other.memory && *self == *other_elements
    }
}

impl Eq for Buffer {}

/// Of the same type, and with the same bits.
impl PartialEq<Literal> for Buffer {
    fn eq(&self, other: &Literal) -> bool {
        match &self.storage {
            Storage::Host(literal) => literal == other,
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, {})", self.ty(), self.memory)
    }
}
