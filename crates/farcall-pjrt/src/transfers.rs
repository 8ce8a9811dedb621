//! Buffers that the caller fills piece by piece, through a transfer manager.

use std::sync::{Arc, Mutex, PoisonError};

use farcall::ir::{Literal, TensorType};
use farcall_pjrt_abi::*;

use crate::buffer::{Buffer, Place, allocate, copied, normalize, tensor_type};
use crate::call::{Arguments, Call, read_layout, slice};
use crate::client::{Client, Memory};
use crate::event::Event;
use crate::layout;
use crate::object::{Object, into_handle};
use crate::status::{Outcome, Status};
use crate::value::{Promise, Value};

/// Buffers in one memory that the caller is filling.
pub(crate) struct TransferManager {
    place: Place,
    targets: Vec<Target>,
}

/// A buffer that the caller is filling.
struct Target {
    ty: TensorType,
    promise: Promise,
    /// The elements, until the last of them has arrived.
    elements: Mutex<Option<Literal>>,
}

impl Object for TransferManager {
    type Abi = TransferManagerHandle;
    const KIND: &'static str = "transfer manager";
}

/// A manager that ends leaves no promise open.
impl Drop for TransferManager {
    fn drop(&mut self) {
        for target in &self.targets {
            if target.take().is_some() {
                let message = format!("the transfer of {} was not completed", target.ty);
                target.promise.define(Err(Status::new(ErrorCode::CANCELLED, message)));
            }
        }
    }
}

impl Target {
    fn take(&self) -> Option<Literal> {
        self.elements.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Defines the buffer.
    ///
    /// # Errors
    /// If it has been defined before.
    fn define(&self, outcome: impl FnOnce(Literal) -> Outcome<Literal>) -> Outcome {
        let elements =
            self.take().ok_or_else(|| Status::invalid(format!("{} is complete already", self.ty)))?;
        self.promise.define(outcome(elements));
        Ok(())
    }

    /// Copies bytes of the caller into the buffer.
    fn receive(&self, data: &[u8], offset: i64, is_last: bool) -> Outcome {
        let mut elements = self.elements.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(literal) = elements.as_mut() else {
            return Err(Status::invalid(format!("{} is complete already", self.ty)));
        };
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(data.len())?));
        let whole = literal.byte_len();
        let Some(part) = range.and_then(|range| literal.bytes_mut().get_mut(range)) else {
            let message = format!("{} bytes at {offset} exceed the {whole} bytes of {}", data.len(), self.ty);
            return Err(Status::invalid(message));
        };
        part.copy_from_slice(data);
        drop(elements);
        if !is_last {
            return Ok(());
        }
        self.define(|mut literal| {
            normalize(&mut literal);
            Ok(literal)
        })
    }
}

impl TransferManager {
    fn target(&self, index: i32) -> Outcome<&Target> {
        usize::try_from(index).ok().and_then(|index| self.targets.get(index)).ok_or_else(|| {
            Status::invalid(format!("there is no buffer {index}; the manager has {}", self.targets.len()))
        })
    }
}

/// Returns the manager of a call.
macro_rules! manager {
    ($args:ident) => {
        $args.object::<TransferManager>("transfer_manager", |a| a.transfer_manager)?
    };
}

impl Call for ClientCreateBuffersForAsyncHostToDevice {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let place = Place::of(client, args.optional::<Memory>("memory", |a| a.memory)?, None)?;
        let specs = args.slice("shape_specs", |a| (a.shape_specs, a.num_shape_specs))?;
        let layouts = args.slice("device_layouts", |a| (a.device_layouts, a.num_device_layouts))?;
        let mut targets = Vec::with_capacity(specs.len());
        for spec in specs {
            // SAFETY: the dimensions of a spec have as many elements as its count states.
            let dims = unsafe { slice("dims", spec.dims, spec.num_dims) }?;
            let ty = tensor_type(spec.element_type, dims)?;
            if let Some(layout) = layouts.get(targets.len()) {
                // SAFETY: the caller's list has null or a layout for each buffer.
                layout::require_row_major(unsafe { read_layout(*layout) }?.as_ref(), &ty)?;
            }
            let elements = Mutex::new(Some(allocate(&ty)?));
            targets.push(Target { ty, promise: Promise::default(), elements });
        }
        args.members.transfer_manager = into_handle(Box::new(TransferManager { place, targets }));
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<TransferManager>("transfer_manager", |a| a.transfer_manager).map(drop)
    }
}

impl Call for AsyncHostToDeviceTransferManagerTransferData {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let manager: &TransferManager = manager!(args);
        let target = manager.target(args.members.buffer_index)?;
        let size = usize::try_from(args.members.transfer_size);
        let size = size.map_err(|_| Status::invalid("`transfer_size` is negative"))?;
        if args.members.data.is_null() && size > 0 {
            return Err(Status::invalid(
                "PJRT_AsyncHostToDeviceTransferManager_TransferData: `data` is null",
            ));
        }
        let data = args.slice("data", |a| (a.data.cast::<u8>(), a.transfer_size as usize))?;
        target.receive(data, args.members.offset, args.members.is_last_transfer != 0)?;
        args.members.done_with_h2d_transfer = Event::complete(Ok(())).into_handle();
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerTransferLiteral {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let manager: &TransferManager = manager!(args);
        let target = manager.target(args.members.buffer_index)?;
        let dims = args.slice("shape_dims", |a| (a.shape_dims, a.shape_num_dims))?;
        let ty = tensor_type(args.members.shape_element_type, dims)?;
        if ty != target.ty {
            return Err(Status::invalid(format!("a literal of {ty} for the buffer of {}", target.ty)));
        }
        let wanted = args.layout(|a| a.shape_layout)?;
        let strides = layout::strides(wanted.as_ref(), ty.sizes(), ty.dtype.size())?;
        let data = args.members.data.cast::<u8>();
        if data.is_null() && ty.bytes() != Some(0) {
            return Err(Status::invalid(format!("the data of {ty} is null")));
        }
        // SAFETY: the caller's literal has this type and layout.
        let literal = unsafe { copied(&ty, data, &strides) }?;
        target.define(|_| Ok(literal))?;
        args.members.done_with_h2d_transfer = Event::complete(Ok(())).into_handle();
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerRetrieveBuffer {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let manager: &TransferManager = manager!(args);
        let target = manager.target(args.members.buffer_index)?;
        let value = Value::Promised(target.promise.clone());
        args.members.buffer_out = Buffer::new(target.ty.clone(), manager.place.clone(), value).into_handle();
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerDevice {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let Place { platform, device, .. } = &manager!(args).place;
        args.members.device_out = Arc::clone(platform).device_handle(*device);
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerBufferCount {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.buffer_count = manager!(args).targets.len();
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerBufferSize {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let manager: &TransferManager = manager!(args);
        args.members.buffer_size = manager.target(args.members.buffer_index)?.ty.bytes().unwrap_or(0);
        Ok(())
    }
}

impl Call for AsyncHostToDeviceTransferManagerSetBufferError {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let manager: &TransferManager = manager!(args);
        let target = manager.target(args.members.buffer_index)?;
        let message = args.text("error_message", |a| (a.error_message, a.error_message_size))?;
        let Some(status) = Status::given(args.members.error_code, message) else {
            return Err(Status::invalid("the code of a buffer's error is OK"));
        };
        // The host may report an error while the last piece arrives; a complete buffer stays as it is.
        let _ = target.define(|_| Err(status));
        Ok(())
    }
}

/// Metadata do not affect the transfer.
impl Call for AsyncHostToDeviceTransferManagerAddMetadata {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        manager!(args);
        Ok(())
    }
}

/// The engine reads host memory directly, so that nothing has to be mapped.
impl Call for ClientDmaMap {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Client>("client", |a| a.client)?;
        Ok(())
    }
}

impl Call for ClientDmaUnmap {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Client>("client", |a| a.client)?;
        Ok(())
    }
}
