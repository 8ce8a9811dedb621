//! Clients: the devices of a plugin.

use std::fmt;
use std::sync::Arc;

use farcall_pjrt_abi::*;

use super::error::PjrtError;
use super::named_values::{self, PluginValue};
use super::owned::{Owned, no_handle};
use super::plugin::Plugin;
use super::table::{Table, array, text};

/// A client of a plugin: its devices, and the programs and buffers on them. Clones share the client.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    handle: Owned<ClientHandle>,
    plugin: Plugin,
    platform_name: String,
    platform_version: String,
    devices: Vec<ClientDevice>,
}

/// A device of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientDevice {
    handle: *mut DeviceHandle,
    id: i32,
    kind: String,
    text: String,
}

// SAFETY: the handle is passed only to functions of the plugin, which may be called on any thread.
unsafe impl Send for ClientDevice {}
// SAFETY: see above.
unsafe impl Sync for ClientDevice {}

impl ClientDevice {
    /// Number of the device.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Kind of the device, such as `cpu` or the name of a GPU.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Text of the plugin for the device.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The plugin's handle.
    pub(super) fn handle(&self) -> *mut DeviceHandle {
        self.handle
    }

    /// # Safety
    /// The device belongs to a live client of the table's plugin.
    unsafe fn new(table: Table, device: *mut DeviceHandle) -> Result<ClientDevice, PjrtError> {
        let mut args = DeviceGetDescription { device, ..ApiFunction::zeroed() };
        // SAFETY: the device is live, and so is its description (`# Safety` above).
        unsafe { table.call(&mut args) }?;
        let device_description = args.device_description;
        let mut id = DeviceDescriptionId { device_description, ..ApiFunction::zeroed() };
        let mut kind = DeviceDescriptionKind { device_description, ..ApiFunction::zeroed() };
        let mut shown = DeviceDescriptionToString { device_description, ..ApiFunction::zeroed() };
        // SAFETY: see above.
        unsafe {
            table.call(&mut id)?;
            table.call(&mut kind)?;
            table.call(&mut shown)?;
        }
        Ok(ClientDevice {
            handle: device,
            id: id.id,
            // SAFETY: the plugin returned these texts, which belong to the live device.
            kind: unsafe { text(kind.device_kind, kind.device_kind_size) }.unwrap_or_default(),
            // SAFETY: see above.
            text: unsafe { text(shown.to_string, shown.to_string_size) }.unwrap_or_default(),
        })
    }
}

impl Client {
    /// Creates a client with options, whose names and values the plugin defines.
    ///
    /// # Errors
    /// If the plugin refuses an option, finds no device, or lacks a function.
    pub fn new(plugin: Plugin, options: &[(String, PluginValue)]) -> Result<Client, PjrtError> {
        let table = plugin.table();
        let lent = named_values::lent(options);
        let mut args =
            ClientCreate { create_options: lent.as_ptr(), num_options: lent.len(), ..ApiFunction::zeroed() };
        // SAFETY: the options outlive the call. Callbacks may be null.
        unsafe { table.call(&mut args) }?;
        let client = args.client;
        // SAFETY: the plugin returned a client, which is freed here.
        let handle = unsafe { Owned::new(table, client) }.ok_or_else(no_handle::<ClientCreate>)?;
        let mut name = ClientPlatformName { client, ..ApiFunction::zeroed() };
        let mut version = ClientPlatformVersion { client, ..ApiFunction::zeroed() };
        let mut devices = ClientAddressableDevices { client, ..ApiFunction::zeroed() };
        // SAFETY: the client is live.
        unsafe {
            table.call(&mut name)?;
            table.call(&mut version)?;
            table.call(&mut devices)?;
        }
        // SAFETY: the plugin returned this array, which belongs to the live client.
        let handles = unsafe { array(devices.addressable_devices, devices.num_addressable_devices) };
        // SAFETY: the devices belong to the live client.
        let devices = handles.unwrap_or_default().iter().map(|d| unsafe { ClientDevice::new(table, *d) });
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        // SAFETY: the plugin returned these texts, which belong to the live client.
        let platform_name = unsafe { text(name.platform_name, name.platform_name_size) };
        // SAFETY: see above.
        let platform_version = unsafe { text(version.platform_version, version.platform_version_size) };
        let inner = Inner {
            handle,
            plugin,
            platform_name: platform_name.unwrap_or_default(),
            platform_version: platform_version.unwrap_or_default(),
            devices,
        };
        Ok(Client { inner: Arc::new(inner) })
    }

    /// The plugin.
    pub fn plugin(&self) -> Plugin {
        self.inner.plugin
    }

    /// Name of the platform: `cpu`, `cuda`, `tpu`.
    pub fn platform_name(&self) -> &str {
        &self.inner.platform_name
    }

    /// Version of the platform, in the plugin's words.
    pub fn platform_version(&self) -> &str {
        &self.inner.platform_version
    }

    /// Devices of this process. Programs run on the first one by default.
    pub fn devices(&self) -> &[ClientDevice] {
        &self.inner.devices
    }

    /// Returns the first device.
    ///
    /// # Errors
    /// If the client has no devices.
    pub fn first_device(&self) -> Result<&ClientDevice, PjrtError> {
        let path = self.plugin().path().display();
        self.devices().first().ok_or_else(|| PjrtError::Unsupported(format!("{path} has no devices")))
    }

    /// Checks that a device belongs to this client.
    pub(super) fn require(&self, device: &ClientDevice) -> Result<(), PjrtError> {
        if self.devices().iter().any(|own| own.handle == device.handle) {
            return Ok(());
        }
        Err(PjrtError::Argument(format!("device {} belongs to another client", device.text)))
    }

    pub(super) fn table(&self) -> Table {
        self.inner.plugin.table()
    }

    pub(super) fn handle(&self) -> *mut ClientHandle {
        self.inner.handle.get()
    }

    /// Returns true if both are clones of one client.
    pub(super) fn is(&self, other: &Client) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("plugin", &self.plugin())
            .field("platform", &self.platform_name())
            .field("devices", &self.devices())
            .finish()
    }
}
