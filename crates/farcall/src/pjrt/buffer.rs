//! Buffers: arrays on a device of a plugin.

use farcall_ir::{Literal, TensorType};
use farcall_pjrt_abi::*;
use farcall_sig::DType;

use super::client::{Client, ClientDevice};
use super::element;
use super::error::PjrtError;
use super::owned::{Owned, no_handle, wait};
use super::table::array;

/// An array on a device of a client.
#[derive(Debug)]
pub struct ClientBuffer {
    handle: Owned<BufferHandle>,
    ty: TensorType,
    /// Keeps the client alive until the handle is freed.
    client: Client,
}

impl Client {
    /// Copies a tensor to a device.
    ///
    /// # Errors
    /// If the device belongs to another client, or the plugin refuses the array.
    pub fn buffer(&self, literal: &Literal, device: &ClientDevice) -> Result<ClientBuffer, PjrtError> {
        self.require(device)?;
        literal.expand()?;
        let dims: Vec<i64> = literal.dims().iter().map(|size| *size as i64).collect();
        let mut args = ClientBufferFromHostBuffer {
            client: self.handle(),
            data: literal.bytes().as_ptr().cast(),
            r#type: element::of_dtype(literal.dtype()),
            dims: dims.as_ptr(),
            num_dims: dims.len(),
            host_buffer_semantics: HostBufferSemantics::IMMUTABLE_UNTIL_TRANSFER_COMPLETES,
            device: device.handle(),
            ..ApiFunction::zeroed()
        };
        // SAFETY: the handles are live, the dimensions are those of the elements, and without strides the
        // array is row-major. The elements stay unchanged until the transfer is complete, which is below.
        unsafe { self.table().call(&mut args) }?;
        // SAFETY: the plugin returned a buffer, which is freed here.
        let handle = unsafe { Owned::new(self.table(), args.buffer) };
        // SAFETY: the plugin returned an event.
        unsafe { wait(self.table(), args.done_with_host_buffer) }?;
        let handle = handle.ok_or_else(no_handle::<ClientBufferFromHostBuffer>)?;
        Ok(ClientBuffer { handle, ty: literal.ty(), client: self.clone() })
    }

    /// Takes a buffer that the plugin returned.
    ///
    /// # Errors
    /// If the engine has no tensors of this type.
    pub(super) fn returned(&self, handle: Owned<BufferHandle>) -> Result<ClientBuffer, PjrtError> {
        let buffer = handle.get();
        let mut element = BufferElementType { buffer, ..ApiFunction::zeroed() };
        let mut shape = BufferDimensions { buffer, ..ApiFunction::zeroed() };
        // SAFETY: the buffer is live.
        unsafe {
            self.table().call(&mut element)?;
            self.table().call(&mut shape)?;
        }
        // SAFETY: the plugin returned the dimensions, which belong to the live buffer.
        let dims = unsafe { array(shape.dims, shape.num_dims) }.unwrap_or_default();
        let sizes: Option<Vec<usize>> = dims.iter().map(|size| usize::try_from(*size).ok()).collect();
        match (element::dtype(element.r#type), sizes) {
            (Some(dtype), Some(sizes)) => {
                Ok(ClientBuffer { handle, ty: TensorType::new(dtype, sizes), client: self.clone() })
            }
            _ => {
                let element = element.r#type;
                let name = element.name().map_or_else(|| element.0.to_string(), str::to_owned);
                Err(PjrtError::Unsupported(format!(
                    "a result has the element type {name} and the dimensions {dims:?}, which farcall lacks"
                )))
            }
        }
    }
}

impl ClientBuffer {
    /// Type of the array.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// Copies the array to the host. If a run computes the array, this waits for the run.
    ///
    /// # Errors
    /// The error of that run; if the buffer has been donated, or there is not enough memory.
    pub fn literal(&self) -> Result<Literal, PjrtError> {
        let mut literal = Literal::try_for_overwrite(self.ty.dtype, self.ty.shared_sizes())?;
        let out = literal.bytes_mut();
        // Without a layout, the plugin may copy the layout of the device.
        let minor_to_major: Vec<i64> = (0..self.ty.rank() as i64).rev().collect();
        let tiled = TiledLayout {
            struct_size: size_of::<TiledLayout>(),
            extension_start: std::ptr::null_mut(),
            minor_to_major: minor_to_major.as_ptr(),
            minor_to_major_size: minor_to_major.len(),
            tile_dims: std::ptr::null(),
            tile_dim_sizes: std::ptr::null(),
            num_tiles: 0,
        };
        let mut host_layout = MemoryLayout {
            struct_size: size_of::<MemoryLayout>(),
            extension_start: std::ptr::null_mut(),
            layout: LayoutUnion { tiled },
            r#type: LayoutType::TILED,
        };
        let mut args = BufferToHostBuffer {
            src: self.handle.get(),
            host_layout: &raw mut host_layout,
            ..ApiFunction::zeroed()
        };
        // SAFETY: the buffer is live. Without a destination, the plugin returns the number of bytes.
        unsafe { self.client.table().call(&mut args) }?;
        if args.dst_size != out.len() {
            let (bytes, own) = (args.dst_size, out.len());
            return Err(PjrtError::Unsupported(format!(
                "the plugin stores {} in {bytes} bytes, but farcall in {own}",
                self.ty
            )));
        }
        (args.dst, args.event) = (out.as_mut_ptr().cast(), std::ptr::null_mut());
        // SAFETY: the destination has as many bytes as the array, and is not used until the event is ready.
        unsafe { self.client.table().call(&mut args) }?;
        // SAFETY: the plugin returned an event.
        unsafe { wait(self.client.table(), args.event) }?;
        if self.ty.dtype == DType::Pred {
            // In the engine, a boolean is 0 or 1.
            out.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(literal)
    }

    /// Returns true if the array lies in memory of the host.
    ///
    /// # Errors
    /// If the plugin lacks the function, or the buffer has been donated.
    pub fn is_on_cpu(&self) -> Result<bool, PjrtError> {
        let mut args = BufferIsOnCpu { buffer: self.handle.get(), ..ApiFunction::zeroed() };
        // SAFETY: the buffer is live.
        unsafe { self.client.table().call(&mut args) }?;
        Ok(args.is_on_cpu != 0)
    }

    pub(super) fn handle(&self) -> *mut BufferHandle {
        self.handle.get()
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}
