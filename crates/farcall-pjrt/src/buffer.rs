//! Buffers: arrays on a device.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use farcall::ir::{DType, Literal, TensorType};
use farcall_pjrt_abi::*;

use crate::call::{Arguments, Call};
use crate::client::{Client, Device, Memory, Platform};
use crate::element;
use crate::event::Event;
use crate::layout;
use crate::object::{Object, into_handle};
use crate::status::{Outcome, Status};
use crate::value::Value;

/// An array on a device.
pub(crate) struct Buffer {
    pub(crate) ty: TensorType,
    /// Element type as the host sees it: that of `ty`, or `TOKEN`.
    element: ElementType,
    dims: Box<[i64]>,
    pub(crate) place: Place,
    /// Definition of the array, also after the buffer is deleted.
    is_defined: Event,
    state: Mutex<State>,
    /// Uses of the memory outside of the plugin: NumPy arrays and DLPack tensors.
    references: AtomicUsize,
    minor_to_major: OnceLock<Box<[i64]>>,
}

/// A memory of a device.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) platform: Arc<Platform>,
    pub(crate) device: usize,
    pub(crate) kind: usize,
}

struct State {
    /// The array, until the buffer is deleted or donated.
    value: Option<Value>,
    /// The array after that, while it is in use outside of the plugin.
    kept: Option<Value>,
}

impl Object for Buffer {
    type Abi = BufferHandle;
    const KIND: &'static str = "buffer";
}

impl Place {
    fn device(&self) -> &Device {
        &self.platform.devices()[self.device]
    }

    fn of_device(device: &Device) -> Outcome<Place> {
        Ok(Place { platform: device.platform()?, device: device.index, kind: 0 })
    }

    fn of_memory(memory: &Memory) -> Outcome<Place> {
        Ok(Place { platform: memory.platform()?, device: memory.device, kind: memory.kind })
    }

    /// Returns the place that a call names: a memory, else a device's default memory, else that of the first
    /// device.
    pub(crate) fn of(client: &Client, memory: Option<&Memory>, device: Option<&Device>) -> Outcome<Place> {
        let place = match (memory, device) {
            (Some(memory), _) => Place::of_memory(memory)?,
            (None, Some(device)) => Place::of_device(device)?,
            (None, None) => Place { platform: Arc::clone(&client.platform), device: 0, kind: 0 },
        };
        if Arc::ptr_eq(&place.platform, &client.platform) {
            Ok(place)
        } else {
            Err(Status::invalid("the device belongs to another client"))
        }
    }
}

impl Buffer {
    /// Creates the buffer of a token, which holds an empty array.
    pub(crate) fn token(place: Place, value: Value) -> Buffer {
        let mut buffer = Buffer::new(TensorType::new(DType::Pred, [0]), place, value);
        (buffer.element, buffer.dims) = (ElementType::TOKEN, Box::default());
        buffer
    }

    pub(crate) fn new(ty: TensorType, place: Place, value: Value) -> Buffer {
        let dims = ty.sizes().iter().map(|size| *size as i64).collect();
        let buffer = Buffer {
            element: element::of_dtype(ty.dtype),
            ty,
            dims,
            place,
            is_defined: value.is_defined(),
            state: Mutex::new(State { value: Some(value), kept: None }),
            references: AtomicUsize::new(0),
            minor_to_major: OnceLock::new(),
        };
        buffer.place.device().count_bytes(buffer.bytes() as i64);
        buffer
    }

    /// Returns a handle for the caller to own.
    pub(crate) fn into_handle(self) -> *mut BufferHandle {
        into_handle(Box::new(self))
    }

    /// Number of dimensions as the host sees them.
    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    fn bytes(&self) -> usize {
        self.ty.bytes().unwrap_or(0)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the array.
    ///
    /// # Errors
    /// If the buffer has been deleted or donated.
    pub(crate) fn value(&self) -> Outcome<Value> {
        self.state().value.clone().ok_or_else(|| self.deleted())
    }

    fn deleted(&self) -> Status {
        Status::invalid(format!("the buffer of {} has been deleted or donated", self.ty))
    }

    /// Takes the array out of the buffer, for a run that may overwrite it.
    ///
    /// # Errors
    /// If the buffer has been deleted or donated.
    pub(crate) fn donate(&self) -> Outcome<Value> {
        self.release().ok_or_else(|| self.deleted())
    }

    /// Deletes the buffer, and returns its array if it has not been deleted before.
    fn release(&self) -> Option<Value> {
        let mut state = self.state();
        let value = state.value.take()?;
        if self.references.load(Ordering::Acquire) > 0 {
            state.kept = Some(value.clone());
        }
        drop(state);
        self.place.device().count_bytes(-(self.bytes() as i64));
        Some(value)
    }

    /// Waits for the array, and returns the address of its first element, which is valid while the buffer
    /// holds the array.
    fn address(&self) -> Outcome<*mut c_void> {
        let state = self.state();
        let value = state.value.clone().or_else(|| state.kept.clone()).ok_or_else(|| self.deleted())?;
        drop(state);
        let literal = value.wait()?;
        literal.expand().map_err(|e| Status::new(ErrorCode::RESOURCE_EXHAUSTED, e.to_string()))?;
        Ok(literal.bytes().as_ptr().cast_mut().cast())
    }

    /// Creates a buffer of the same array in another place.
    fn copy_to(&self, place: Place) -> Outcome<*mut BufferHandle> {
        // Arrays are never written to while they are shared.
        Ok(Buffer::new(self.ty.clone(), place, self.value()?).into_handle())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
    }
}

/// Refuses to wait for code of the host, which may need a lock that the caller holds.
fn check_wait(value: &Value) -> Outcome {
    if !value.waits_for_host() {
        return Ok(());
    }
    let message = "the array is not computed yet, and its computation calls functions of the host: wait for it first \
                   (jax.block_until_ready)";
    Err(Status::new(ErrorCode::FAILED_PRECONDITION, message))
}

/// Returns the type of an array that a call describes.
pub(crate) fn tensor_type(element: ElementType, dims: &[i64]) -> Outcome<TensorType> {
    let dtype = element::dtype(element)?;
    layout::checked_rank(dims.len())?;
    let sizes: Option<Vec<usize>> = dims.iter().map(|size| usize::try_from(*size).ok()).collect();
    let ty = sizes.map(|sizes| TensorType::new(dtype, sizes));
    match ty.filter(|ty| ty.bytes().is_some_and(|bytes| bytes <= isize::MAX as usize)) {
        Some(ty) => Ok(ty),
        None => Err(Status::invalid(format!("{dims:?} are not the dimensions of an array"))),
    }
}

/// Memory that the caller keeps valid until the object is dropped.
struct CallersMemory {
    on_drop: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Drop for CallersMemory {
    fn drop(&mut self) {
        if let Some(on_drop) = self.on_drop.take() {
            on_drop();
        }
    }
}

/// Alignment of memory that is used without a copy.
const BORROWED_ALIGNMENT: usize = 16;

/// Minimum size in bytes of an array that is used without a copy.
const MIN_BORROWED_BYTES: usize = 1 << 12;

/// Returns true if an array in the caller's memory can be used without a copy. (In the engine, a boolean is 0
/// or 1; the caller's bytes may have other values.)
fn can_borrow(ty: &TensorType, data: *const u8) -> bool {
    data.addr().is_multiple_of(BORROWED_ALIGNMENT) && ty.dtype != DType::Pred && ty.bytes() != Some(0)
}

/// Returns a tensor for the elements that the caller provides.
pub(crate) fn allocate(ty: &TensorType) -> Outcome<Literal> {
    Literal::try_for_overwrite(ty.dtype, ty.shared_sizes())
        .map_err(|e| Status::new(ErrorCode::RESOURCE_EXHAUSTED, e.to_string()))
}

/// Copies the caller's array.
///
/// # Safety
/// `data` points to the first element of an array of this type with these strides.
pub(crate) unsafe fn copied(ty: &TensorType, data: *const u8, strides: &[i64]) -> Outcome<Literal> {
    let mut literal = allocate(ty)?;
    // SAFETY: the caller guarantees the array (`# Safety` above).
    unsafe { layout::gather(data, ty.sizes(), strides, ty.dtype.size(), literal.bytes_mut()) };
    normalize(&mut literal);
    Ok(literal)
}

/// Makes every boolean 0 or 1.
pub(crate) fn normalize(literal: &mut Literal) {
    if literal.dtype() == DType::Pred {
        literal.bytes_mut().iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// Uses the caller's array without a copy.
///
/// # Safety
/// `data` points to a row-major array of this type, which stays valid and unchanged until `on_drop` is called.
unsafe fn borrowed(
    ty: &TensorType,
    data: *const u8,
    on_drop: impl FnOnce() + Send + Sync + 'static,
) -> Outcome<Literal> {
    let owner = Arc::new(CallersMemory { on_drop: Some(Box::new(on_drop)) });
    // SAFETY: the array stays valid while the owner is alive (`# Safety` above), and the tensor keeps it.
    let bytes = unsafe { std::slice::from_raw_parts(data, ty.bytes().unwrap_or(0)) };
    Literal::borrowed(ty.dtype, ty.shared_sizes(), bytes, owner).map_err(|e| Status::invalid(e.to_string()))
}

impl Call for ClientBufferFromHostBuffer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let memory = args.optional::<Memory>("memory", |a| a.memory)?;
        let device = args.optional::<Device>("device", |a| a.device)?;
        let place = Place::of(client, memory, device)?;
        let ty = tensor_type(args.members.r#type, args.slice("dims", |a| (a.dims, a.num_dims))?)?;
        layout::require_row_major(args.layout(|a| a.device_layout)?.as_ref(), &ty)?;
        let given = args.slice("byte_strides", |a| (a.byte_strides, a.num_byte_strides))?;
        let row_major = layout::row_major(ty.sizes(), ty.dtype.size());
        let strides = match given.len() {
            0 => &row_major,
            n if n == ty.rank() => given,
            n => return Err(Status::invalid(format!("{n} strides for an array of rank {}", ty.rank()))),
        };
        let data = args.members.data.cast::<u8>();
        if data.is_null() && ty.bytes() != Some(0) {
            return Err(Status::invalid(format!("PJRT_Client_BufferFromHostBuffer: `data` of {ty} is null")));
        }
        let stays = matches!(
            args.members.host_buffer_semantics,
            HostBufferSemantics::IMMUTABLE_ZERO_COPY | HostBufferSemantics::MUTABLE_ZERO_COPY
        );
        let is_large = ty.bytes().is_some_and(|bytes| bytes >= MIN_BORROWED_BYTES);
        let is_dense = layout::is_row_major(strides, ty.sizes(), ty.dtype.size());
        let (literal, done) = if stays && is_large && is_dense && can_borrow(&ty, data) {
            let done = Event::default();
            let released = done.clone();
            // SAFETY: with these semantics, the caller keeps the array unchanged until the event is complete.
            (unsafe { borrowed(&ty, data, move || released.set(Ok(()))) }?, done)
        } else {
            // SAFETY: the caller's array is valid during the call.
            (unsafe { copied(&ty, data, strides) }?, Event::complete(Ok(())))
        };
        args.members.done_with_host_buffer = done.into_handle();
        args.members.buffer = Buffer::new(ty, place, Value::Known(literal)).into_handle();
        Ok(())
    }
}

/// Pointers that a caller's deleter takes.
struct DeleterArguments(*mut c_void, *mut c_void);

// SAFETY: the interface lets the plugin call the deleter on any thread.
unsafe impl Send for DeleterArguments {}
// SAFETY: the pointers are only passed on.
unsafe impl Sync for DeleterArguments {}

impl DeleterArguments {
    fn pass(&self, callback: Option<DeleteCallback>) {
        if let Some(callback) = callback {
            // SAFETY: the caller passed the function for this memory and this argument.
            unsafe { callback(self.0, self.1) };
        }
    }
}

impl Call for ClientCreateViewOfDeviceBuffer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let memory = args.optional::<Memory>("memory", |a| a.memory)?;
        let place = Place::of(client, memory, args.optional::<Device>("device", |a| a.device)?)?;
        let ty = tensor_type(args.members.element_type, args.slice("dims", |a| (a.dims, a.num_dims))?)?;
        let wanted = args.layout(|a| a.layout)?;
        let strides = layout::strides(wanted.as_ref(), ty.sizes(), ty.dtype.size())?;
        let data = args.members.device_buffer_ptr.cast_const().cast::<u8>();
        if data.is_null() && ty.bytes() != Some(0) {
            let message = format!("PJRT_Client_CreateViewOfDeviceBuffer: the memory of {ty} is null");
            return Err(Status::invalid(message));
        }
        let callback = args.members.on_delete_callback;
        let pointers = DeleterArguments(args.members.device_buffer_ptr, args.members.on_delete_callback_arg);
        let literal = if layout::is_row_major(&strides, ty.sizes(), ty.dtype.size()) && can_borrow(&ty, data)
        {
            // SAFETY: the caller keeps the array valid until the callback.
            unsafe { borrowed(&ty, data, move || pointers.pass(callback)) }?
        } else {
            // SAFETY: the caller's array is valid during the call.
            let literal = unsafe { copied(&ty, data, &strides) }?;
            pointers.pass(callback);
            literal
        };
        args.members.buffer = Buffer::new(ty, place, Value::Known(literal)).into_handle();
        Ok(())
    }
}

impl Call for ClientCreateUninitializedBuffer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let memory = args.optional::<Memory>("memory", |a| a.memory)?;
        let place = Place::of(client, memory, args.optional::<Device>("device", |a| a.device)?)?;
        let dims = args.slice("shape_dims", |a| (a.shape_dims, a.shape_num_dims))?;
        let ty = tensor_type(args.members.shape_element_type, dims)?;
        layout::require_row_major(args.layout(|a| a.shape_layout)?.as_ref(), &ty)?;
        // Unwritten memory is never read; zeros are cheap.
        let literal = Literal::try_zeros(ty.dtype, ty.shared_sizes())
            .map_err(|e| Status::new(ErrorCode::RESOURCE_EXHAUSTED, e.to_string()))?;
        args.members.buffer = Buffer::new(ty, place, Value::Known(literal)).into_handle();
        Ok(())
    }
}

impl Call for ClientCreateErrorBuffer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let place = Place::of(client, args.optional::<Memory>("memory", |a| a.memory)?, None)?;
        let dims = args.slice("shape_dims", |a| (a.shape_dims, a.shape_num_dims))?;
        let ty = tensor_type(args.members.shape_element_type, dims)?;
        layout::require_row_major(args.layout(|a| a.shape_layout)?.as_ref(), &ty)?;
        let message = args.text("error_message", |a| (a.error_message, a.error_message_size))?;
        let Some(status) = Status::given(args.members.error_code, message) else {
            return Err(Status::invalid("PJRT_Client_CreateErrorBuffer: the code is OK"));
        };
        args.members.buffer = Buffer::new(ty, place, Value::failed(status)).into_handle();
        Ok(())
    }
}

impl Call for BufferDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<Buffer>("buffer", |a| a.buffer).map(drop)
    }
}

impl Call for BufferElementType {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.r#type = args.object::<Buffer>("buffer", |a| a.buffer)?.element;
        Ok(())
    }
}

impl Call for BufferDimensions {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        (args.members.dims, args.members.num_dims) = (buffer.dims.as_ptr(), buffer.dims.len());
        Ok(())
    }
}

impl Call for BufferUnpaddedDimensions {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        (args.members.unpadded_dims, args.members.num_dims) = (buffer.dims.as_ptr(), buffer.dims.len());
        Ok(())
    }
}

impl Call for BufferDynamicDimensionIndices {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Buffer>("buffer", |a| a.buffer)?;
        (args.members.dynamic_dim_indices, args.members.num_dynamic_dims) = (std::ptr::null(), 0);
        Ok(())
    }
}

impl Call for BufferGetMemoryLayout {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let order = buffer.minor_to_major.get_or_init(|| (0..buffer.dims.len() as i64).rev().collect());
        let tiled = TiledLayout {
            struct_size: size_of::<TiledLayout>(),
            extension_start: std::ptr::null_mut(),
            minor_to_major: order.as_ptr(),
            minor_to_major_size: order.len(),
            tile_dims: std::ptr::null(),
            tile_dim_sizes: std::ptr::null(),
            num_tiles: 0,
        };
        args.members.layout.r#type = LayoutType::TILED;
        args.members.layout.layout = LayoutUnion { tiled };
        Ok(())
    }
}

impl Call for BufferOnDeviceSizeInBytes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.on_device_size_in_bytes = args.object::<Buffer>("buffer", |a| a.buffer)?.bytes();
        Ok(())
    }
}

impl Call for BufferDevice {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let Place { platform, device, .. } = &args.object::<Buffer>("buffer", |a| a.buffer)?.place;
        args.members.device = platform.device_handle(*device);
        Ok(())
    }
}

impl Call for BufferMemory {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let Place { platform, device, kind } = &args.object::<Buffer>("buffer", |a| a.buffer)?.place;
        args.members.memory = platform.memory_handle(*device, *kind);
        Ok(())
    }
}

impl Call for BufferDelete {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Buffer>("buffer", |a| a.buffer)?.release();
        Ok(())
    }
}

impl Call for BufferIsDeleted {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        args.members.is_deleted = buffer.state().value.is_none().into();
        Ok(())
    }
}

impl Call for BufferIsOnCpu {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Buffer>("buffer", |a| a.buffer)?;
        args.members.is_on_cpu = 1;
        Ok(())
    }
}

impl Call for BufferReadyEvent {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        args.members.event = buffer.is_defined.clone().into_handle();
        Ok(())
    }
}

impl Call for BufferUnsafePointer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        // jaxlib holds the interpreter's lock here, but not in the other functions that wait.
        check_wait(&buffer.value()?)?;
        args.members.buffer_pointer = buffer.address()?.expose_provenance();
        Ok(())
    }
}

impl Call for BufferOpaqueDeviceMemoryDataPointer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.device_memory_ptr = args.object::<Buffer>("buffer", |a| a.buffer)?.address()?;
        Ok(())
    }
}

impl Call for BufferIncreaseExternalReferenceCount {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let _state = buffer.state();
        buffer.references.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

impl Call for BufferDecreaseExternalReferenceCount {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let less = |count: usize| count.checked_sub(1);
        let mut state = buffer.state();
        match buffer.references.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) {
            Ok(1) => {
                // The array's owner may be code of the host, which must not run under the lock.
                let kept = state.kept.take();
                drop(state);
                drop(kept);
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(_) => Err(Status::invalid("the buffer has no external references")),
        }
    }
}

impl Call for BufferCopyToDevice {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let place = Place::of_device(args.object("dst_device", |a| a.dst_device)?)?;
        args.members.dst_buffer = buffer.copy_to(place)?;
        Ok(())
    }
}

impl Call for BufferCopyToMemory {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let place = Place::of_memory(args.object("dst_memory", |a| a.dst_memory)?)?;
        args.members.dst_buffer = buffer.copy_to(place)?;
        Ok(())
    }
}

/// Memory of the caller that receives an array.
struct Destination(*mut u8);

// SAFETY: the caller keeps the memory valid, and does not use it, until the transfer's event is complete.
unsafe impl Send for Destination {}

impl Destination {
    /// Writes to the memory as soon as a value is defined. Returns the event of the transfer.
    fn receive(self, value: Value, write: impl FnOnce(&Literal, *mut u8) + Send + 'static) -> Event {
        let written = move |value: &Value| {
            let Destination(to) = { self };
            let literal = value.wait()?;
            literal.expand().map_err(|e| Status::new(ErrorCode::RESOURCE_EXHAUSTED, e.to_string()))?;
            write(literal, to);
            Ok(())
        };
        if value.is_ready() {
            return Event::complete(written(&value));
        }
        let done = Event::default();
        let set = done.clone();
        value.is_defined().on_ready(move |outcome| set.set(outcome.clone().and_then(|()| written(&value))));
        done
    }
}

impl Call for BufferToHostBuffer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("src", |a| a.src)?;
        let bytes = buffer.bytes();
        if args.members.dst.is_null() {
            args.members.dst_size = bytes;
            return Ok(());
        }
        if args.members.dst_size < bytes {
            let message = format!("`dst_size` is {}; {} has {bytes} bytes", args.members.dst_size, buffer.ty);
            return Err(Status::invalid(message));
        }
        let wanted = args.layout(|a| a.host_layout)?;
        let strides = layout::strides(wanted.as_ref(), buffer.ty.sizes(), buffer.ty.dtype.size())?;
        if !fits(&strides, buffer.ty.sizes(), buffer.ty.dtype.size(), args.members.dst_size) {
            return Err(Status::invalid(format!("the layout of {} exceeds `dst_size`", buffer.ty)));
        }
        let done = Destination(args.members.dst.cast()).receive(buffer.value()?, move |literal, to| {
            // SAFETY: the caller's memory holds an array of these dimensions and strides, as was checked.
            unsafe { layout::scatter(literal, &strides, to) };
        });
        args.members.event = done.into_handle();
        Ok(())
    }
}

/// Returns true if all elements of an array lie within a number of bytes.
fn fits(strides: &[i64], dims: &[usize], element_bytes: usize, bytes: usize) -> bool {
    let mut end = element_bytes as i128;
    for (stride, size) in strides.iter().zip(dims) {
        if *stride < 0 && *size > 1 {
            return false;
        }
        end += i128::from(*stride) * (*size as i128 - 1).max(0);
    }
    dims.contains(&0) || end <= bytes as i128
}

/// Returns the range of bytes that a call names.
fn byte_range(buffer: &Buffer, offset: i64, size: i64) -> Outcome<std::ops::Range<usize>> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
    let range = range.and_then(|(offset, size)| Some(offset..offset.checked_add(size)?));
    range.filter(|range| range.end <= buffer.bytes()).ok_or_else(|| {
        Status::invalid(format!(
            "{size} bytes at {offset} exceed the {} bytes of {}",
            buffer.bytes(),
            buffer.ty
        ))
    })
}

impl Call for BufferCopyRawToHost {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let range = byte_range(buffer, args.members.offset, args.members.transfer_size)?;
        if args.members.dst.is_null() && !range.is_empty() {
            return Err(Status::invalid("PJRT_Buffer_CopyRawToHost: `dst` is null"));
        }
        let done = Destination(args.members.dst.cast()).receive(buffer.value()?, move |literal, to| {
            let bytes = &literal.bytes()[range];
            // SAFETY: the caller's memory has `transfer_size` bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        });
        args.members.event = done.into_handle();
        Ok(())
    }
}

impl Call for BufferBitcast {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        let ty = tensor_type(args.members.element_type, args.slice("dims", |a| (a.dims, a.num_dims))?)?;
        if ty.bytes() != Some(buffer.bytes()) {
            return Err(Status::invalid(format!("{} and {ty} differ in size", buffer.ty)));
        }
        layout::require_row_major(args.layout(|a| a.device_layout)?.as_ref(), &ty)?;
        let value = buffer.value()?;
        check_wait(&value)?;
        let mut literal = allocate(&ty)?;
        literal.bytes_mut().copy_from_slice(value.wait()?.bytes());
        normalize(&mut literal);
        args.members.out_buffer = Buffer::new(ty, buffer.place.clone(), Value::Known(literal)).into_handle();
        Ok(())
    }
}
