//! Devices, which run programs, and their memories, which hold tensors.
//!
//! ```text
//! Device ──has──▶ MemorySpace ◀──lies in── Buffer
//!    ▲
//!    └── Stream: work for the device, in order
//! ```
//!
//! The host is the only device for now. Properties that differ between devices are queried rather than
//! assumed: the [`Platform`] whose handlers a program calls, whether the host can read a memory, how a buffer
//! is copied to it.

mod buffer;
mod stream;

use std::fmt;

pub use buffer::{BufferError, DeviceBuffer};
pub use stream::{DeviceStream, Pending};

use crate::platform::Platform;

/// A device that runs programs. Devices exist until the process ends; this type is a copyable handle.
#[derive(Clone, Copy)]
pub struct Device(&'static Info);

struct Info {
    platform: Platform,
    ordinal: u32,
    memories: &'static [MemoryKind],
}

static HOST: Info = Info { platform: Platform::Host, ordinal: 0, memories: &[MemoryKind::Device] };

static DEVICES: [&Info; 1] = [&HOST];

impl Device {
    /// The processors of this machine.
    pub fn host() -> Device {
        Device(&HOST)
    }

    /// All devices.
    pub fn all() -> impl ExactSizeIterator<Item = Device> {
        DEVICES.iter().map(|info| Device(info))
    }

    /// Returns the first device of a platform, if there is one.
    ///
    /// ```
    /// use farcall::device::Device;
    /// use farcall::registry::Platform;
    /// assert_eq!(Device::of(&Platform::Host), Some(Device::host()));
    /// assert_eq!(Device::of(&Platform::Cuda), None);
    /// ```
    pub fn of(platform: &Platform) -> Option<Device> {
        Device::all().find(|device| device.platform() == platform)
    }

    /// The platform of the device, which determines the handlers that it runs.
    pub fn platform(self) -> &'static Platform {
        &self.0.platform
    }

    /// Index of the device among the devices of its platform.
    pub fn ordinal(self) -> u32 {
        self.0.ordinal
    }

    /// The memories that the device works on. The first one holds its results.
    pub fn memories(self) -> impl ExactSizeIterator<Item = MemorySpace> {
        self.0.memories.iter().map(move |kind| MemorySpace { device: self, kind: *kind })
    }

    /// The memory that holds the device's results.
    pub fn default_memory(self) -> MemorySpace {
        MemorySpace { device: self, kind: MemoryKind::Device }
    }

    fn id(self) -> (&'static Platform, u32) {
        (self.platform(), self.ordinal())
    }
}

impl Default for Device {
    /// Returns the host.
    fn default() -> Device {
        Device::host()
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Device {}

impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.platform(), self.ordinal())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

/// Kinds of memory that a device works on, under JAX's names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryKind {
    /// `device`: the device's own memory. For the host, this is the host's memory.
    Device,
    /// `pinned_host`: host memory that the device can read and write.
    PinnedHost,
    /// `unpinned_host`: host memory that the device's driver copies from.
    UnpinnedHost,
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemoryKind::Device => "device",
            MemoryKind::PinnedHost => "pinned_host",
            MemoryKind::UnpinnedHost => "unpinned_host",
        })
    }
}

/// A memory of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemorySpace {
    device: Device,
    kind: MemoryKind,
}

impl MemorySpace {
    /// The device that the memory belongs to.
    pub fn device(self) -> Device {
        self.device
    }

    /// The kind of the memory.
    pub fn kind(self) -> MemoryKind {
        self.kind
    }

    /// Returns true if the host can read the memory.
    pub fn is_host_visible(self) -> bool {
        *self.device.platform() == Platform::Host || self.kind != MemoryKind::Device
    }
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} memory of {}", self.kind, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_a_device() {
        let host = Device::default();
        assert_eq!(host.to_string(), "Host:0");
        assert_eq!(Device::all().collect::<Vec<_>>(), [host]);
        assert_eq!(host.memories().collect::<Vec<_>>(), [host.default_memory()]);
        assert!(host.default_memory().is_host_visible());
        assert_eq!(host.default_memory().to_string(), "device memory of Host:0");
    }
}
