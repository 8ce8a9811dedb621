//! The extensions for layouts and shardings of executables. All arrays of the plugin are row-major, and no
//! executable has shardings yet.

use farcall_pjrt_abi::*;

use crate::buffer::Buffer;
use crate::call::{Arguments, with};
use crate::client::Client;
use crate::executable::Compiled;
use crate::layout::{Layout, checked_rank};
use crate::object::{OwnedBytes, into_handle};
use crate::status::Outcome;
use crate::topology::Topology;

macro_rules! entries {
    ($($(#[$meta:meta])* $entry:ident($args:ident: $ty:ty) $body:block)*) => {$(
        $(#[$meta])*
        unsafe extern "C" fn $entry(args: *mut $ty) -> *mut ErrorHandle {
            fn call($args: &mut Arguments<$ty>) -> Outcome $body
            // SAFETY: the caller passes null or arguments of this function.
            match unsafe { with(args, call) } {
                Ok(()) => std::ptr::null_mut(),
                Err(status) => status.into_handle(),
            }
        }
    )*};
}

entries! {
    destroy(args: LayoutDestroy) {
        args.take::<Layout>("layout", |a| a.layout).map(drop)
    }

    serialize(args: LayoutSerialize) {
        let layout: &Layout = args.object("layout", |a| a.layout)?;
        let (data, size, owner) = OwnedBytes::parts(layout.text());
        (args.members.serialized_bytes, args.members.serialized_bytes_size) = (data, size);
        args.members.serialized_layout = owner;
        args.members.serialized_layout_deleter = Some(OwnedBytes::free);
        Ok(())
    }

    client_default(args: ClientDefaultLayout) {
        args.object::<Client>("client", |a| a.client)?;
        let rank = args.slice("dims", |a| (a.dims, a.num_dims))?.len();
        args.members.layout = into_handle(Box::new(Layout::row_major(checked_rank(rank)?)));
        Ok(())
    }

    topology_default(args: TopologyDefaultLayout) {
        args.object::<Topology>("topology_description", |a| a.topology_description)?;
        let rank = args.slice("dims", |a| (a.dims, a.num_dims))?.len();
        args.members.layout = into_handle(Box::new(Layout::row_major(checked_rank(rank)?)));
        Ok(())
    }

    of_buffer(args: BufferLayout) {
        let buffer: &Buffer = args.object("buffer", |a| a.buffer)?;
        args.members.layout = into_handle(Box::new(Layout::row_major(buffer.rank())));
        Ok(())
    }

    of_outputs(args: ExecutableOutputLayouts) {
        let compiled: &Compiled = args.object("executable", |a| a.executable)?;
        let layouts = compiled.output_layouts();
        (args.members.layouts, args.members.num_outputs) = layouts.parts();
        Ok(())
    }

    /// Without this answer, jaxlib would parse the program again to look for shardings.
    parameter_shardings(args: ExecutableParameterShardings) {
        let compiled: &Compiled = args.object("executable", |a| a.executable)?;
        (args.members.shardings, args.members.sharding_sizes, args.members.num_parameters) =
            compiled.program.described.parameter_shardings.parts();
        Ok(())
    }

    output_shardings(args: ExecutableOutputShardings) {
        let compiled: &Compiled = args.object("executable", |a| a.executable)?;
        (args.members.shardings, args.members.sharding_sizes, args.members.num_outputs) =
            compiled.program.described.result_shardings.parts();
        Ok(())
    }

    of_parameters(args: ExecutableParameterLayouts) {
        let compiled: &Compiled = args.object("executable", |a| a.executable)?;
        let layouts = compiled.parameter_layouts();
        (args.members.layouts, args.members.num_parameters) = layouts.parts();
        Ok(())
    }
}

/// Returns the extension for shardings, followed by `next`.
pub(crate) fn shardings_extension(next: *mut ExtensionBase) -> ShardingsExtension {
    let base = ExtensionBase {
        struct_size: size_of::<ShardingsExtension>(),
        r#type: ExtensionType::SHARDINGS,
        next,
    };
    ShardingsExtension {
        base,
        executable_parameter_shardings: Some(parameter_shardings),
        executable_output_shardings: Some(output_shardings),
    }
}

/// Returns the extension for layouts, followed by `next`.
pub(crate) fn extension(next: *mut ExtensionBase) -> LayoutsExtension {
    LayoutsExtension {
        base: ExtensionBase {
            struct_size: size_of::<LayoutsExtension>(),
            r#type: ExtensionType::LAYOUTS,
            next,
        },
        memory_layout_destroy: Some(destroy),
        memory_layout_serialize: Some(serialize),
        client_get_default_layout: Some(client_default),
        buffer_memory_layout: Some(of_buffer),
        topology_get_default_layout: Some(topology_default),
        executable_get_output_layouts: Some(of_outputs),
        executable_get_parameter_layouts: Some(of_parameters),
    }
}
