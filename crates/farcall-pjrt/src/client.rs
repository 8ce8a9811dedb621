//! The client: devices and memories.
//!
//! ```text
//! Client (handle) ──▶ Platform ──▶ devices ──▶ stream: runs, which start when their arguments are ready
//!                        ▲   └───▶ memories: three of each device
//!                        └── buffers and executables, which keep the platform alive
//! ```

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use farcall::Interrupt;
use farcall::device::{Device as EngineDevice, DeviceStream};
use farcall::ffi::unwind::{catch, discard};
use farcall_pjrt_abi::*;

use crate::call::{Arguments, Call};
use crate::fork;
use crate::named_values;
use crate::object::{Handles, Object, into_handle, lend, text, withdraw};
use crate::status::{Outcome, Status};
use crate::topology::{Description, MAX_DEVICES, PLATFORM_NAME, PLATFORM_VERSION, Topology};

/// Kinds of memory of each device; the first one is the default. All of them are the host's memory.
pub(crate) const MEMORY_KINDS: [&str; 3] = ["device", "pinned_host", "unpinned_host"];

/// A client that the caller owns.
pub(crate) struct Client {
    pub(crate) platform: Arc<Platform>,
}

impl Object for Client {
    type Abi = ClientHandle;
    const KIND: &'static str = "client";
}

/// Devices and memories of a client.
pub(crate) struct Platform {
    devices: Arc<[Device]>,
    memories: Arc<[Memory]>,
    topology: Arc<Topology>,
    device_handles: Handles<DeviceHandle>,
    memory_handles: Handles<MemoryHandle>,
}

/// A logical device: a stream of runs on the host's processors.
pub(crate) struct Device {
    platform: Weak<Platform>,
    pub(crate) index: usize,
    /// In an allocation of its own, so that its address differs from the device's.
    description: Arc<Description>,
    /// Thread for asynchronous runs, created by the first one.
    stream: OnceLock<DeviceStream>,
    in_flight: Arc<InFlight>,
    interrupt: Arc<Interrupt>,
    /// Bytes of the buffers that are alive, and their highest number.
    bytes: AtomicI64,
    peak_bytes: AtomicI64,
}

impl Object for Device {
    type Abi = DeviceHandle;
    const KIND: &'static str = "device";
}

thread_local! {
    /// True while the thread does a device's work.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Marks a thread that does a device's work.
struct Running;

impl Running {
    fn begin() -> Running {
        IS_RUNNING.set(true);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IS_RUNNING.set(false);
    }
}

/// Maximum number of runs that are dispatched and not complete.
const MAX_IN_FLIGHT: usize = 32;

/// Number of runs in flight at which waiting threads resume. Waking them at the end of each run would cost as
/// much as a short run.
const RESUME_IN_FLIGHT: usize = MAX_IN_FLIGHT - 8;

/// Stack size of threads that call code of the host, which may compile programs.
const STACK_BYTES: usize = 16 << 20;

/// The runs of a device that are dispatched and not complete.
#[derive(Default)]
struct InFlight {
    runs: Mutex<Runs>,
    /// Signals that the number of runs has fallen to [`RESUME_IN_FLIGHT`] or to 0.
    has_fallen: Condvar,
}

#[derive(Default)]
struct Runs {
    count: usize,
    /// True from when the device is full until a waiting thread resumes. Meanwhile, every thread that
    /// dispatches a run waits, so that `count` can fall to [`RESUME_IN_FLIGHT`].
    is_draining: bool,
}

impl Runs {
    fn exceed_resume_limit(&mut self) -> bool {
        self.count > RESUME_IN_FLIGHT
    }
}

/// A run that is counted until this object is dropped.
pub(crate) struct InFlightSlot(Arc<InFlight>);

impl InFlight {
    fn begin(this: &Arc<InFlight>, waits: bool) -> InFlightSlot {
        let mut runs = this.lock();
        if waits && (runs.count >= MAX_IN_FLIGHT || runs.is_draining) {
            runs.is_draining = true;
            runs = this
                .has_fallen
                .wait_while(runs, Runs::exceed_resume_limit)
                .unwrap_or_else(PoisonError::into_inner);
            runs.is_draining = false;
        }
        runs.count += 1;
        drop(runs);
        InFlightSlot(Arc::clone(this))
    }

    /// Waits until all runs are complete, or the time is over. Returns true if they are complete.
    fn wait_within(&self, time: Duration) -> bool {
        let waited = self.has_fallen.wait_timeout_while(self.lock(), time, |runs| runs.count > 0);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn wait_until_idle(&self) {
        drop(self.has_fallen.wait_while(self.lock(), |runs| runs.count > 0));
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlightSlot {
    fn drop(&mut self) {
        let mut runs = self.0.lock();
        runs.count -= 1;
        if matches!(runs.count, 0 | RESUME_IN_FLIGHT) {
            self.0.has_fallen.notify_all();
        }
    }
}

/// A memory of a device.
pub(crate) struct Memory {
    platform: Weak<Platform>,
    /// Index of the device.
    pub(crate) device: usize,
    /// Index into [`MEMORY_KINDS`].
    pub(crate) kind: usize,
    text: String,
    debug: String,
    device_handle: OnceLock<Handles<DeviceHandle>>,
}

impl Object for Memory {
    type Abi = MemoryHandle;
    const KIND: &'static str = "memory";
}

impl Platform {
    /// Creates a number of devices with their memories.
    pub(crate) fn new(count: usize) -> Arc<Platform> {
        Arc::new_cyclic(|platform: &Weak<Platform>| {
            let devices: Arc<[Device]> = (0..count)
                .map(|index| Device {
                    platform: Weak::clone(platform),
                    index,
                    description: Arc::new(Description::new(index)),
                    stream: OnceLock::new(),
                    in_flight: Arc::default(),
                    interrupt: Arc::new(Interrupt::new()),
                    bytes: AtomicI64::new(0),
                    peak_bytes: AtomicI64::new(0),
                })
                .collect();
            let memories: Arc<[Memory]> = (0..count)
                .flat_map(|device| {
                    MEMORY_KINDS.iter().enumerate().map(move |(kind, name)| (device, kind, name))
                })
                .map(|(device, kind, name)| Memory {
                    platform: Weak::clone(platform),
                    device,
                    kind,
                    text: format!("{name} memory of farcall:{device}"),
                    debug: format!("FarcallMemory(kind={name}, device={device})"),
                    device_handle: OnceLock::new(),
                })
                .collect();
            let device_handles = Handles::new(devices.iter().map(lend));
            let memory_handles = Handles::new(memories.iter().map(lend));
            for memory in memories.iter() {
                let _ = memory.device_handle.set(Handles::new([device_handles.get(memory.device)]));
            }
            devices.iter().for_each(|device| {
                lend(&*device.description);
            });
            let topology = Arc::new(Topology::new(count));
            lend(&*topology);
            Platform { devices, memories, topology, device_handles, memory_handles }
        })
    }

    pub(crate) fn devices(&self) -> &[Device] {
        &self.devices
    }

    pub(crate) fn device_handle(&self, index: usize) -> *mut DeviceHandle {
        self.device_handles.get(index)
    }

    pub(crate) fn memory_handle(&self, device: usize, kind: usize) -> *mut MemoryHandle {
        self.memory_handles.get(device * MEMORY_KINDS.len() + kind)
    }
}

/// Devices of all clients.
static PLATFORMS: Mutex<Vec<Weak<Platform>>> = Mutex::new(Vec::new());

/// Waits until the runs of all clients are complete, or the time is over. Returns true if they are complete.
///
/// A process calls this function before it ends, since runs may call functions of the process.
pub fn wait_for_runs(time: Duration) -> bool {
    let platforms: Vec<Arc<Platform>> = {
        let mut platforms = PLATFORMS.lock().unwrap_or_else(PoisonError::into_inner);
        platforms.retain(|platform| platform.strong_count() > 0);
        platforms.iter().filter_map(Weak::upgrade).collect()
    };
    let mut devices = platforms.iter().flat_map(|platform| platform.devices());
    fork::is_forked() || devices.all(|device| device.in_flight.wait_within(time))
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.devices.iter().for_each(|device| withdraw(&*device.description));
        self.devices.iter().for_each(withdraw);
        self.memories.iter().for_each(withdraw);
        withdraw(&*self.topology);
    }
}

impl Device {
    /// Returns the devices of the same client.
    pub(crate) fn platform(&self) -> Outcome<Arc<Platform>> {
        self.platform.upgrade().ok_or_else(|| Status::invalid("the client of the device is destroyed"))
    }

    /// Starts work whose arguments are ready: in the device's queue or, if it calls code of the host, on a thread
    /// of its own. (That code may wait for other work of the device.)
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub(crate) fn start(
        &self,
        slot: InFlightSlot,
        needs_host: bool,
        work: impl FnOnce() + Send + 'static,
    ) -> Outcome {
        let work = move || {
            let _slot = slot;
            let _running = Running::begin();
            if let Err(panic) = catch(work) {
                discard(panic);
            }
        };
        if !needs_host {
            drop(self.stream()?.enqueue(work));
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("farcall-callbacks".to_owned()).stack_size(STACK_BYTES);
        match thread.spawn(work) {
            Ok(_) => Ok(()),
            Err(e) => {
                Err(Status::new(ErrorCode::RESOURCE_EXHAUSTED, format!("a thread cannot be created: {e}")))
            }
        }
    }

    /// Counts work that is dispatched. Waits if there is much, so that a caller that never waits for results does
    /// not fill the memory. Work that dispatches other work does not wait.
    pub(crate) fn admit(&self) -> InFlightSlot {
        InFlight::begin(&self.in_flight, !IS_RUNNING.get())
    }

    /// Ends runs early, and waits for their threads.
    fn finish(&self) {
        self.interrupt.raise();
        self.in_flight.wait_until_idle();
    }

    /// Returns the interrupt that ends the device's runs.
    pub(crate) fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// Creates the thread of the device's queue.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub(crate) fn prepare(&self) -> Outcome {
        self.stream().map(drop)
    }

    fn stream(&self) -> Outcome<&DeviceStream> {
        if let Some(stream) = self.stream.get() {
            return Ok(stream);
        }
        let stream = DeviceStream::new(EngineDevice::host()).map_err(|e| {
            Status::new(ErrorCode::RESOURCE_EXHAUSTED, format!("a device's thread cannot be created: {e}"))
        })?;
        Ok(self.stream.get_or_init(|| stream))
    }

    /// Counts the bytes of a buffer that is created, or of one that is freed if the number is negative.
    pub(crate) fn count_bytes(&self, bytes: i64) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
        self.peak_bytes.fetch_max(now, Ordering::Relaxed);
    }
}

impl Memory {
    /// Returns the devices of the same client.
    pub(crate) fn platform(&self) -> Outcome<Arc<Platform>> {
        self.platform.upgrade().ok_or_else(|| Status::invalid("the client of the memory is destroyed"))
    }

    fn id(&self) -> usize {
        self.device * MEMORY_KINDS.len() + self.kind
    }
}

/// Name of the option for the number of devices.
const NUM_DEVICES: &str = "num_devices";

impl Call for ClientCreate {
    const NEEDS_THREADS: bool = true;

    fn call(args: &mut Arguments<Self>) -> Outcome {
        let options =
            named_values::read(args.slice("create_options", |a| (a.create_options, a.num_options))?)?;
        let mut devices = 1;
        for (name, value) in options {
            match (&*name, value) {
                (NUM_DEVICES, named_values::Value::Int(count)) => devices = count,
                (NUM_DEVICES, _) => return Err(Status::invalid("the option `num_devices` is an integer")),
                (other, _) => {
                    return Err(Status::invalid(format!(
                        "farcall has no option `{other}`; its only option is `num_devices`"
                    )));
                }
            }
        }
        if !(1..=MAX_DEVICES).contains(&devices) {
            let message = format!("`num_devices` is {devices}; it must be between 1 and {MAX_DEVICES}");
            return Err(Status::invalid(message));
        }
        let client = Client { platform: Platform::new(devices as usize) };
        let mut platforms = PLATFORMS.lock().unwrap_or_else(PoisonError::into_inner);
        platforms.push(Arc::downgrade(&client.platform));
        drop(platforms);
        args.members.client = into_handle(Box::new(client));
        Ok(())
    }
}

impl Call for ClientDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let Some(client) = args.take::<Client>("client", |a| a.client)? else { return Ok(()) };
        // Runs must not call functions of the host after its client is gone. The host holds no lock that such
        // functions need.
        if !fork::is_forked() {
            client.platform.devices().iter().for_each(Device::finish);
        }
        Ok(())
    }
}

impl Call for ClientPlatformName {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Client>("client", |a| a.client)?;
        (args.members.platform_name, args.members.platform_name_size) = text(PLATFORM_NAME);
        Ok(())
    }
}

impl Call for ClientPlatformVersion {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Client>("client", |a| a.client)?;
        (args.members.platform_version, args.members.platform_version_size) = text(PLATFORM_VERSION);
        Ok(())
    }
}

impl Call for ClientProcessIndex {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Client>("client", |a| a.client)?;
        args.members.process_index = 0;
        Ok(())
    }
}

impl Call for ClientDevices {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        (args.members.devices, args.members.num_devices) = client.platform.device_handles.parts();
        Ok(())
    }
}

impl Call for ClientAddressableDevices {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        (args.members.addressable_devices, args.members.num_addressable_devices) =
            client.platform.device_handles.parts();
        Ok(())
    }
}

/// Returns the handle of a device with a number.
fn lookup(client: &Client, id: i32) -> Outcome<*mut DeviceHandle> {
    let count = client.platform.devices.len();
    match usize::try_from(id).ok().filter(|id| *id < count) {
        Some(index) => Ok(client.platform.device_handle(index)),
        None => Err(Status::invalid(format!("there is no device {id}; the client has {count}"))),
    }
}

impl Call for ClientLookupDevice {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.device = lookup(args.object("client", |a| a.client)?, args.members.id)?;
        Ok(())
    }
}

impl Call for ClientLookupAddressableDevice {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client = args.object("client", |a| a.client)?;
        args.members.addressable_device = lookup(client, args.members.local_hardware_id)?;
        Ok(())
    }
}

impl Call for ClientAddressableMemories {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        (args.members.addressable_memories, args.members.num_addressable_memories) =
            client.platform.memory_handles.parts();
        Ok(())
    }
}

impl Call for ClientTopologyDescription {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        args.members.topology = std::ptr::from_ref(&*client.platform.topology).cast_mut().cast();
        Ok(())
    }
}

impl Call for ClientDefaultDeviceAssignment {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let client: &Client = args.object("client", |a| a.client)?;
        let Self { num_replicas, num_partitions, default_assignment_size, default_assignment, .. } =
            args.members;
        let count = client.platform.devices.len();
        let wanted = i64::from(num_replicas) * i64::from(num_partitions);
        if num_replicas < 1 || num_partitions < 1 || wanted > count as i64 {
            return Err(Status::invalid(format!(
                "{num_replicas} replicas of {num_partitions} partitions need as many devices; the client has \
                 {count}"
            )));
        }
        let wanted = wanted as usize;
        if default_assignment_size < wanted
            || default_assignment.is_null()
            || !default_assignment.is_aligned()
        {
            let message =
                format!("`default_assignment` has room for {default_assignment_size} of {wanted} numbers");
            return Err(Status::invalid(message));
        }
        for place in 0..wanted {
            // SAFETY: the caller's array has at least `wanted` elements, as its size says.
            unsafe { default_assignment.add(place).write(place as i32) };
        }
        Ok(())
    }
}

impl Call for ClientUpdateGlobalProcessInfo {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Client>("client", |a| a.client)?;
        Ok(())
    }
}

impl Call for DeviceGetDescription {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let device: &Device = args.object("device", |a| a.device)?;
        args.members.device_description = std::ptr::from_ref(&*device.description).cast_mut().cast();
        Ok(())
    }
}

impl Call for DeviceIsAddressable {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Device>("device", |a| a.device)?;
        args.members.is_addressable = 1;
        Ok(())
    }
}

impl Call for DeviceLocalHardwareId {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.local_hardware_id = args.object::<Device>("device", |a| a.device)?.description.id;
        Ok(())
    }
}

/// The attributes belong to the device, so there is nothing to free.
impl Call for DeviceGetAttributes {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        unsafe extern "C" fn free(_: *mut c_void) {}
        let device: &Device = args.object("device", |a| a.device)?;
        (args.members.attributes, args.members.num_attributes) = device.description.attributes.parts();
        args.members.device_attributes = std::ptr::null_mut();
        args.members.attributes_deleter = Some(free);
        Ok(())
    }
}

impl Call for DeviceAddressableMemories {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let device: &Device = args.object("device", |a| a.device)?;
        let (all, _) = device.platform()?.memory_handles.parts();
        let first = device.index * MEMORY_KINDS.len();
        (args.members.memories, args.members.num_memories) = (all.wrapping_add(first), MEMORY_KINDS.len());
        Ok(())
    }
}

impl Call for DeviceDefaultMemory {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let device: &Device = args.object("device", |a| a.device)?;
        args.members.memory = device.platform()?.memory_handle(device.index, 0);
        Ok(())
    }
}

impl Call for DeviceMemoryStats {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let device: &Device = args.object("device", |a| a.device)?;
        // The caller's struct is not initialized.
        let Self { struct_size, extension_start, device: handle, .. } = args.members;
        args.members = Self { struct_size, extension_start, device: handle, ..Self::zeroed() };
        args.members.bytes_in_use = device.bytes.load(Ordering::Relaxed);
        args.members.peak_bytes_in_use = device.peak_bytes.load(Ordering::Relaxed);
        args.members.peak_bytes_in_use_is_set = 1;
        Ok(())
    }
}

/// Tracking events are for debuggers of the host. A null event is one that tracks nothing.
impl Call for DeviceCreateAsyncTrackingEvent {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Device>("device", |a| a.device)?;
        args.members.event = std::ptr::null_mut();
        Ok(())
    }
}

impl Call for AsyncTrackingEventDestroy {
    fn call(_: &mut Arguments<Self>) -> Outcome {
        Ok(())
    }
}

/// Runs of one process need not be told that a run of another process has failed.
impl Call for DevicePoisonExecution {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Device>("device", |a| a.device)?;
        args.members.poisoned = 0;
        Ok(())
    }
}

impl Call for DeviceClearMemoryStats {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let device: &Device = args.object("device", |a| a.device)?;
        device.peak_bytes.store(device.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}

impl Call for MemoryId {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.id = args.object::<Memory>("memory", |a| a.memory)?.id() as i32;
        Ok(())
    }
}

impl Call for MemoryKind {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let memory: &Memory = args.object("memory", |a| a.memory)?;
        (args.members.kind, args.members.kind_size) = text(MEMORY_KINDS[memory.kind]);
        Ok(())
    }
}

impl Call for MemoryKindId {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.kind_id = args.object::<Memory>("memory", |a| a.memory)?.kind as i32;
        Ok(())
    }
}

impl Call for MemoryDebugString {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let memory: &Memory = args.object("memory", |a| a.memory)?;
        (args.members.debug_string, args.members.debug_string_size) = text(&memory.debug);
        Ok(())
    }
}

impl Call for MemoryToString {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let memory: &Memory = args.object("memory", |a| a.memory)?;
        (args.members.to_string, args.members.to_string_size) = text(&memory.text);
        Ok(())
    }
}

impl Call for MemoryAddressableByDevices {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let memory: &Memory = args.object("memory", |a| a.memory)?;
        if let Some(handles) = memory.device_handle.get() {
            (args.members.devices, args.members.num_devices) = handles.parts();
        }
        Ok(())
    }
}
