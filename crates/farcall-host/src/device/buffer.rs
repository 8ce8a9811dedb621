//! Tensors in the memory of a device.

use std::fmt;

use farcall_ir::memory::OutOfMemory;
use farcall_ir::{DType, Literal, TensorType};

use super::{Device, MemorySpace};
use crate::error_code::{CodedError, ErrorCode};

/// A tensor in the memory of a device: the input and result type of executables.
///
/// Clones share the elements. A caller that passes the last clone of a buffer to an executable gives the
/// buffer up: a program that donates this input writes to the buffer's memory. Conversions from and to a
/// [`Literal`] copy nothing if the memory is the host's.
///
/// ```
/// use farcall::device::{Device, DeviceBuffer};
/// use farcall::ir::{DType, Literal};
///
/// let buffer = DeviceBuffer::from(Literal::from_slice(DType::F32, [2], &[1f32, 2.0]));
/// assert_eq!(buffer.device(), Device::host());
/// assert_eq!(buffer.host().unwrap().as_slice::<f32>(), [1.0, 2.0]);
/// ```
#[derive(Clone)]
pub struct DeviceBuffer {
    memory: MemorySpace,
    storage: Storage,
}

/// The elements, by the memory that holds them.
#[derive(Clone)]
enum Storage {
    Host(Literal),
}

/// A buffer that cannot be moved to another memory.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// Copies between the two memories are not supported.
    #[error("copies from the {from} to the {to} are not supported")]
    NoCopy {
        /// The memory that holds the elements.
        from: MemorySpace,
        /// The memory that should hold the elements.
        to: MemorySpace,
    },
    /// The memory is full.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl CodedError for BufferError {
    fn code(&self) -> ErrorCode {
        match self {
            BufferError::NoCopy { .. } => ErrorCode::Device,
            BufferError::Memory(_) => ErrorCode::OutOfMemory,
        }
    }
}

impl DeviceBuffer {
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

    /// Size of all elements, in bytes.
    pub fn byte_len(&self) -> usize {
        match &self.storage {
            Storage::Host(literal) => literal.byte_len(),
        }
    }

    /// The memory that holds the buffer.
    pub fn memory(&self) -> MemorySpace {
        self.memory
    }

    /// The device that holds the buffer.
    pub fn device(&self) -> Device {
        self.memory.device()
    }

    /// The elements, if the host can read them in place.
    pub fn host(&self) -> Option<&Literal> {
        match &self.storage {
            Storage::Host(literal) => Some(literal),
        }
    }

    /// The elements for writing, if the host can write them in place. (The first write copies a literal that
    /// is shared.)
    pub fn host_mut(&mut self) -> Option<&mut Literal> {
        match &mut self.storage {
            Storage::Host(literal) => Some(literal),
        }
    }

    /// Converts the buffer into a literal. The elements are copied unless they are in the host's memory.
    ///
    /// # Errors
    /// If there is not enough memory for a copy.
    pub fn into_literal(self) -> Result<Literal, BufferError> {
        match self.storage {
            Storage::Host(literal) => Ok(literal),
        }
    }

    /// Returns the tensor in another memory. If the buffer is there already, this is a clone of it.
    ///
    /// # Errors
    /// If copies between the two memories are not supported, or there is not enough memory.
    pub fn to_memory(&self, memory: MemorySpace) -> Result<DeviceBuffer, BufferError> {
        if memory == self.memory {
            return Ok(self.clone());
        }
        Err(BufferError::NoCopy { from: self.memory, to: memory })
    }

    /// Returns a copy in the same memory that does not share its elements with this buffer.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn to_owned_copy(&self) -> Result<DeviceBuffer, BufferError> {
        let mut copy = self.clone();
        match &mut copy.storage {
            Storage::Host(literal) => literal.unshare()?,
        }
        Ok(copy)
    }
}

/// Makes a buffer in the host's memory.
impl From<Literal> for DeviceBuffer {
    fn from(literal: Literal) -> DeviceBuffer {
        DeviceBuffer { memory: Device::host().default_memory(), storage: Storage::Host(literal) }
    }
}

/// Compares the memory, the type and the bits.
impl PartialEq for DeviceBuffer {
    fn eq(&self, other: &DeviceBuffer) -> bool {
        let Storage::Host(other_elements) = &other.storage;
        self.memory == other.memory && *self == *other_elements
    }
}

impl Eq for DeviceBuffer {}

/// Compares the type and the bits.
impl PartialEq<Literal> for DeviceBuffer {
    fn eq(&self, other: &Literal) -> bool {
        match &self.storage {
            Storage::Host(literal) => literal == other,
        }
    }
}

impl fmt::Debug for DeviceBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, {})", self.ty(), self.memory)
    }
}
