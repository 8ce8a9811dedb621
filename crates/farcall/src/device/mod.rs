//! Where programs run and tensors live.
//!
//! ```text
//! Device ──has──▶ MemorySpace ◀──lies in── Buffer
//!    ▲
//!    └── Stream: work for the device, in order
//! ```
//!
//! The host is the only device for now. Properties that differ between devices are queried rather than assumed: the
//! [`Platform`] whose handlers a program calls, whether the host can read a memory, how a buffer is copied to it.

mod buffer;
mod stream;

use std::fmt;

pub use buffer::{Buffer, BufferError};
pub use stream::{Pending, Stream};

use crate::platform::Platform;

/// Something that runs programs. Devices are there until the process ends; this is a name of one.
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

    /// The first device of a platform, if there is one.
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

    /// Which handlers it runs.
    pub fn platform(self) -> &'static Platform {
        &self.0.platform
    }

    /// Its number among the devices of its platform.
    pub fn ordinal(self) -> u32 {
        self.0.ordinal
    }

    /// The memories that it works on; the first is where its results are.
    pub fn memories(self) -> impl ExactSizeIterator<Item = MemorySpace> {
        self.0.memories.iter().map(move |kind| MemorySpace { device: self, kind: *kind })
    }

    /// The memory where its results are.
    pub fn default_memory(self) -> MemorySpace {
        MemorySpace { device: self, kind: MemoryKind::Device }
    }

    fn id(self) -> (&'static Platform, u32) {
        (self.platform(), self.ordinal())
    }
}

impl Default for Device {
    /// The host.
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

/// What kind of memory a device works on, by the names that JAX has for them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryKind {
    /// `device`: the device's own. That of the host is the host's.
    Device,
    /// `pinned_host`: the host's, which the device reads and writes as well.
    PinnedHost,
    /// `unpinned_host`: the host's, from where the device's driver copies.
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
    /// The device.
    pub fn device(self) -> Device {
        self.device
    }

    /// Which of its memories.
    pub fn kind(self) -> MemoryKind {
        self.kind
    }

    /// True if the host can look into it.
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
