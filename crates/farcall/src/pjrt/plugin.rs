//! Plugins: loading, and the checks of their interface.

use std::ffi::c_int;
use std::fmt;
use std::mem::{ManuallyDrop, offset_of};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use farcall_ir::vhlo;
use farcall_pjrt_abi::{Api, ApiFunction, ApiVersion, GET_API, PluginAttributes, PluginInitialize};
use libloading::Library;

use super::error::PjrtError;
use super::named_values::{self, PluginValue};
use super::table::Table;

/// Major version of the interface. Another one has other functions.
const MAJOR_VERSION: c_int = 0;

/// Oldest minor version whose functions take the arguments that this client passes.
const MIN_MINOR_VERSION: c_int = 29;

/// Attribute for the version of StableHLO that the plugin reads.
const CURRENT_VERSION: &str = "stablehlo_current_version";

/// Attribute for the oldest version of StableHLO that the plugin reads.
const MINIMUM_VERSION: &str = "stablehlo_minimum_version";

/// A loaded plugin, which stays loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Plugin {
    loaded: &'static Loaded,
}

struct Loaded {
    path: PathBuf,
    table: Table,
    version: (i32, i32),
    attributes: Vec<(String, PluginValue)>,
}

/// All plugins of the process: each one is initialized once.
static PLUGINS: Mutex<Vec<&'static Loaded>> = Mutex::new(Vec::new());

impl Plugin {
    /// Loads a plugin, checks its interface, and initializes it. Loading the same library again returns the
    /// same plugin.
    ///
    /// # Errors
    /// If the file is not a shared library, if the library is not a plugin, if it has another interface, or
    /// if its initialization fails.
    ///
    /// # Safety
    /// Loading a library runs its code. If the library has the function `GetPjrtApi`, it must be a PJRT
    /// plugin: all its functions must follow the interface, whose version they state.
    pub unsafe fn load(path: impl AsRef<Path>) -> Result<Plugin, PjrtError> {
        let path = path.as_ref();
        let cannot = |message| PjrtError::Open { path: path.to_owned(), message };
        // A name without a folder would be looked up in the folders of the system.
        let file = path.canonicalize().map_err(|e| cannot(e.to_string()))?;
        let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller guarantees that the library's initializers are sound (`# Safety` above).
        let library = unsafe { Library::new(&file) }.map_err(|e| cannot(chain(&e)))?;
        // A library is never closed: its threads may run until the process ends.
        let library = ManuallyDrop::new(library);
        let other = |message: String| PjrtError::Interface { path: path.to_owned(), message };
        type GetApi = unsafe extern "C" fn() -> *const Api;
        // SAFETY: a function of this name has this type (`# Safety` above).
        let get = unsafe { library.get::<GetApi>(GET_API.as_bytes()) };
        let get = get.map_err(|_| other(format!("is not a PJRT plugin: it has no function `{GET_API}`")))?;
        // SAFETY: the function takes no arguments.
        let api = unsafe { get() };
        if api.is_null() || !api.is_aligned() {
            return Err(other(format!("is not a PJRT plugin: `{GET_API}` returns no function table")));
        }
        // SAFETY: the plugin returned its table, and stays loaded.
        let table = unsafe { Table::new(api) };
        if let Some(loaded) = plugins.iter().find(|loaded| loaded.table == table) {
            return Ok(Plugin { loaded });
        }
        let version = checked(table).map_err(other)?;
        // SAFETY: the function takes no other arguments.
        unsafe { table.call(&mut PluginInitialize::zeroed()) }?;
        let mut args = PluginAttributes::zeroed();
        // SAFETY: see above.
        unsafe { table.call(&mut args) }?;
        // SAFETY: the plugin returned its attributes, which stay valid.
        let attributes = unsafe { named_values::read(args.attributes, args.num_attributes) };
        let loaded = Box::leak(Box::new(Loaded { path: path.to_owned(), table, version, attributes }));
        plugins.push(loaded);
        Ok(Plugin { loaded })
    }

    /// Path of the library, as it was given.
    pub fn path(self) -> &'static Path {
        &self.loaded.path
    }

    /// Version of the interface that the plugin implements, as (major, minor).
    pub fn version(self) -> (i32, i32) {
        self.loaded.version
    }

    /// Attributes of the plugin.
    pub fn attributes(self) -> &'static [(String, PluginValue)] {
        &self.loaded.attributes
    }

    /// Newest version of StableHLO that the plugin reads, if it states one.
    pub fn stablehlo_version(self) -> Option<vhlo::Version> {
        self.stablehlo(CURRENT_VERSION)
    }

    /// Checks that the plugin reads artifacts of a version of StableHLO.
    pub(super) fn require_stablehlo(self, version: vhlo::Version) -> Result<(), PjrtError> {
        let shown = |(major, minor, patch): vhlo::Version| format!("{major}.{minor}.{patch}");
        let refused = |which, limit| {
            PjrtError::Unsupported(format!(
                "the program needs StableHLO {}, but {} reads {which} {}",
                shown(version),
                self.path().display(),
                shown(limit)
            ))
        };
        match (self.stablehlo(CURRENT_VERSION), self.stablehlo(MINIMUM_VERSION)) {
            (Some(newest), _) if version > newest => Err(refused("versions up to", newest)),
            (_, Some(oldest)) if version < oldest => Err(refused("versions from", oldest)),
            _ => Ok(()),
        }
    }

    fn stablehlo(self, attribute: &str) -> Option<vhlo::Version> {
        let found = self.attributes().iter().find(|(name, _)| name == attribute);
        let Some((_, PluginValue::Ints(numbers))) = found else { return None };
        let [major, minor, patch] = numbers[..] else { return None };
        Some((major.try_into().ok()?, minor.try_into().ok()?, patch.try_into().ok()?))
    }

    /// The function table.
    pub(super) fn table(self) -> Table {
        self.loaded.table
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("path", &self.path()).field("version", &self.version()).finish()
    }
}

/// Returns the version of a plugin's interface. `Err` describes a difference that excludes calls.
fn checked(table: Table) -> Result<(i32, i32), String> {
    let (version_bytes, (major, minor)) = table.version()?;
    let min_bytes = offset_of!(ApiVersion, minor_version) + size_of::<c_int>();
    if version_bytes < min_bytes {
        return Err(format!(
            "states its version in {version_bytes} bytes; it must have at least {min_bytes}"
        ));
    }
    if major != MAJOR_VERSION {
        return Err(format!(
            "has version {major}.{minor} of the PJRT interface; farcall has major version {MAJOR_VERSION}"
        ));
    }
    if minor < MIN_MINOR_VERSION {
        return Err(format!(
            "has version {major}.{minor} of the PJRT interface; farcall needs \
             {MAJOR_VERSION}.{MIN_MINOR_VERSION} or later"
        ));
    }
    Ok((major, minor))
}

/// Returns the message of an error and of its source.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
