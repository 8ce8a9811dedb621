//! Topologies: descriptions of a client's devices.

use std::sync::{Arc, OnceLock};

use farcall_pjrt_abi::*;

use crate::call::{Arguments, Call};
use crate::named_values::NamedValues;
use crate::object::{Handles, Object, OwnedBytes, into_handle, lend, text, withdraw};
use crate::status::{Outcome, Status};

/// Name of the platform. JAX selects lowering rules, donation and tests by this name, and all of those for
/// XLA's CPU backend apply to this engine: it runs the same programs with the same custom-call targets.
pub(crate) const PLATFORM_NAME: &str = "cpu";

/// Version of the plugin, which is a part of the keys of JAX's compilation cache.
pub(crate) const PLATFORM_VERSION: &str = concat!("farcall ", env!("CARGO_PKG_VERSION"));

/// Maximum number of devices.
pub(crate) const MAX_DEVICES: i64 = farcall::devices::MAX_DEVICES as i64;

/// Properties of a device that exist without it.
pub(crate) struct Description {
    pub(crate) id: i32,
    text: String,
    debug: String,
    pub(crate) attributes: NamedValues,
}

impl Object for Description {
    type Abi = DescriptionHandle;
    const KIND: &'static str = "device description";
}

/// The devices of a client, described without them.
pub(crate) struct Topology {
    descriptions: Arc<[Description]>,
    handles: OnceLock<Handles<DescriptionHandle>>,
}

impl Object for Topology {
    type Abi = TopologyHandle;
    const KIND: &'static str = "topology";
}

impl Description {
    pub(crate) fn new(id: usize) -> Description {
        Description {
            id: i32::try_from(id).unwrap_or(i32::MAX),
            text: format!("FarcallDevice(id={id})"),
            debug: format!("farcall:{id}"),
            attributes: NamedValues::default(),
        }
    }
}

impl Topology {
    /// Creates the topology of a number of devices.
    pub(crate) fn new(devices: usize) -> Topology {
        Topology { descriptions: (0..devices).map(Description::new).collect(), handles: OnceLock::new() }
    }

    pub(crate) fn device_count(&self) -> usize {
        self.descriptions.len()
    }

    fn handles(&self) -> &Handles<DescriptionHandle> {
        self.handles.get_or_init(|| Handles::new(self.descriptions.iter().map(lend)))
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        self.descriptions.iter().for_each(withdraw);
    }
}

impl Call for DeviceDescriptionId {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.id = args.object::<Description>("device_description", |a| a.device_description)?.id;
        Ok(())
    }
}

impl Call for DeviceDescriptionProcessIndex {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Description>("device_description", |a| a.device_description)?;
        args.members.process_index = 0;
        Ok(())
    }
}

impl Call for DeviceDescriptionAttributes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let described: &Description = args.object("device_description", |a| a.device_description)?;
        (args.members.attributes, args.members.num_attributes) = described.attributes.parts();
        Ok(())
    }
}

impl Call for DeviceDescriptionKind {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Description>("device_description", |a| a.device_description)?;
        (args.members.device_kind, args.members.device_kind_size) = text("cpu");
        Ok(())
    }
}

impl Call for DeviceDescriptionDebugString {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let described: &Description = args.object("device_description", |a| a.device_description)?;
        (args.members.debug_string, args.members.debug_string_size) = text(&described.debug);
        Ok(())
    }
}

impl Call for DeviceDescriptionToString {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let described: &Description = args.object("device_description", |a| a.device_description)?;
        (args.members.to_string, args.members.to_string_size) = text(&described.text);
        Ok(())
    }
}

impl Call for TopologyDescriptionCreate {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let name = args.text("topology_name", |a| (a.topology_name, a.topology_name_size))?;
        let count = if name.is_empty() { Some(1) } else { name.parse().ok() };
        match count.filter(|count| (1..=MAX_DEVICES as usize).contains(count)) {
            Some(count) => {
                args.members.topology = into_handle(Box::new(Topology::new(count)));
                Ok(())
            }
            None => Err(Status::invalid(format!(
                "farcall has no topology {name:?}; the name of a topology is its number of devices"
            ))),
        }
    }
}

impl Call for TopologyDescriptionDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<Topology>("topology", |a| a.topology).map(drop)
    }
}

impl Call for TopologyDescriptionPlatformName {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Topology>("topology", |a| a.topology)?;
        (args.members.platform_name, args.members.platform_name_size) = text(PLATFORM_NAME);
        Ok(())
    }
}

impl Call for TopologyDescriptionPlatformVersion {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Topology>("topology", |a| a.topology)?;
        (args.members.platform_version, args.members.platform_version_size) = text(PLATFORM_VERSION);
        Ok(())
    }
}

impl Call for TopologyDescriptionGetDeviceDescriptions {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let topology: &Topology = args.object("topology", |a| a.topology)?;
        (args.members.descriptions, args.members.num_descriptions) = topology.handles().parts();
        Ok(())
    }
}

impl Call for TopologyDescriptionAttributes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Topology>("topology", |a| a.topology)?;
        (args.members.attributes, args.members.num_attributes) = (std::ptr::null(), 0);
        Ok(())
    }
}

impl Call for TopologyDescriptionFingerprint {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let topology: &Topology = args.object("topology", |a| a.topology)?;
        args.members.fingerprint = hash(format!("{PLATFORM_VERSION} {}", topology.device_count()).as_bytes());
        Ok(())
    }
}

/// Start of a serialized topology; the number of devices follows.
const TOPOLOGY_MAGIC: &[u8; 8] = b"FCTOPO01";

impl Call for TopologyDescriptionSerialize {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let topology: &Topology = args.object("topology", |a| a.topology)?;
        let mut bytes = TOPOLOGY_MAGIC.to_vec();
        bytes.extend_from_slice(&(topology.device_count() as u32).to_le_bytes());
        let (data, size, owner) = OwnedBytes::parts(bytes);
        (args.members.serialized_bytes, args.members.serialized_bytes_size) = (data, size);
        args.members.serialized_topology = owner;
        args.members.serialized_topology_deleter = Some(OwnedBytes::free);
        Ok(())
    }
}

impl Call for TopologyDescriptionDeserialize {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let bytes: &[u8] = args
            .slice("serialized_topology", |a| (a.serialized_topology.cast(), a.serialized_topology_size))?;
        let count = bytes.strip_prefix(TOPOLOGY_MAGIC).and_then(|rest| rest.try_into().ok());
        let count = count.map(|count| u32::from_le_bytes(count) as usize);
        match count.filter(|count| (1..=MAX_DEVICES as usize).contains(count)) {
            Some(count) => {
                args.members.topology = into_handle(Box::new(Topology::new(count)));
                Ok(())
            }
            None => Err(Status::invalid("the bytes are not a topology of farcall")),
        }
    }
}

/// Returns the FNV-1a hash (Fowler, Noll, Vo) of some bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
