//! The registry maps custom calls to functions, and decides which blocks become custom calls.
//!
//! Targets are added by [`Registry::register`], by [`Registry::load`] (a library that describes or registers
//! itself) and by [`Registry::load_symbols`] (plain handler symbols). [`Registry::resolve`] is called for
//! each call site when a program is compiled, and again when its plan is loaded. Runs do not look anything
//! up. Lowerings ([`Lowering`]) come with libraries or are added by [`Registry::register_lowering`]. They are
//! called when a program is compiled.
//!
//! The engine's own ops (module `built_in`) are found where no registered target has their name.
//!
//! **Invariants.** The engine contains no target names. Only error messages recognize the names of LAPACK, to
//! suggest a library. A target is identified by name, platform and API (typed or untyped). Registering the
//! same functions twice under one name is allowed; registering different functions is an error, except with
//! [`Registry::replace`]. A library stays loaded until the process ends, because executables, states with
//! destructors, and threads that the library started may still use its code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use farcall_ffi::abi::Stage;
use farcall_ffi::descriptor::ReadError;
use farcall_ir::op::{CallConfig, CustomCall};
use farcall_ir::{Diagnostic, Span};

use crate::{CodedError, ErrorCode};

mod built_in;
mod declaration;
mod description;
mod elf;
pub mod exports;
mod inspect;
mod library;
mod link;
mod load;
mod load_error;
mod lowering;
mod open_libraries;
mod ops;
mod private_pages;
mod remedy;
mod spec;
mod target;

pub use crate::platform::Platform;
pub use declaration::{Declaration, JvpTargets, VjpTargets};
pub use load::{LoadOptions, LoadReport};
pub use load_error::{LinkError, LoadError, NameConflict};
use lowering::Listed;
pub use lowering::Registered;
pub use lowering::{Lowering, PRODUCT_TAG, Rank};
pub use remedy::{Remedy, advise};
pub use spec::{Symbols, TargetSpec, TargetSpecError};
pub use target::{ApiKind, Handler, How, Target, TargetOrigin, UntypedHandler};

pub use crate::interface::samples::SampleCalls;
pub use crate::interface::types::{Deleter, TypeError, register_type, type_name};

/// A set of targets, and of lowerings to them. Clones share one set.
///
/// The engine's own ops (linear algebra and sparse matrices, with the feature `linalg`) are part of every
/// registry, except one [without built-in ops](Registry::without_built_ins). Registered targets take
/// precedence over built-in ops of the same name.
#[derive(Clone)]
pub struct Registry {
    targets: Arc<RwLock<BTreeMap<Key, Arc<Target>>>>,
    /// Lowerings by tag, in the order in which they are called.
    lowerings: Arc<RwLock<BTreeMap<Arc<str>, Vec<Registered>>>>,
    /// Whether the engine's own ops are found, too.
    has_built_ins: bool,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry { has_built_ins: true, ..Registry::without_built_ins() }
    }
}

type Key = (Arc<str>, Platform, ApiKind);

/// Targets and lowerings of a library, or of a list of linked ops, to be added.
struct Addition {
    targets: Vec<Target>,
    lowerings: Vec<Listed>,
    /// Rank of the lowerings.
    rank: Rank,
    /// The library. All targets and lowerings of its other versions are removed.
    of: Option<TargetOrigin>,
    /// Lets the targets and lowerings replace registered ones with the same names and tags. Otherwise such
    /// conflicts are errors.
    replace: bool,
}

/// Result of adding an [`Addition`].
struct Change {
    /// The library's targets as now registered.
    targets: Vec<Arc<Target>>,
    /// Descriptions of targets and lowerings that earlier versions of the library had and this version lacks.
    dropped: Vec<String>,
}

impl Registry {
    /// Creates a registry of the engine's own ops.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Creates an empty registry. Programs that call the engine's own ops do not compile with it, and blocks
    /// that these ops lower are compiled from their default bodies.
    pub fn without_built_ins() -> Registry {
        Registry { targets: Arc::default(), lowerings: Arc::default(), has_built_ins: false }
    }

    /// Creates a registry with the same targets and lowerings. Later additions to one registry do not affect
    /// the other.
    pub fn fork(&self) -> Registry {
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner).clone();
        let lowerings = self.lowerings.read().unwrap_or_else(PoisonError::into_inner).clone();
        Registry {
            targets: Arc::new(RwLock::new(targets)),
            lowerings: Arc::new(RwLock::new(lowerings)),
            has_built_ins: self.has_built_ins,
        }
    }

    /// Returns the registry of the process. Handlers that register themselves through `XLA_FFI_GetApi` are
    /// added here, unless another registry is loading their library.
    pub fn global() -> &'static Registry {
        static GLOBAL: LazyLock<Registry> = LazyLock::new(Registry::new);
        &GLOBAL
    }

    /// Adds a target. Adding the same functions again is allowed. A target from another version of the same
    /// library file replaces the registered target, and so do the same functions with a declaration if they
    /// were registered without one. The functions of a built-in target without a declaration add nothing,
    /// since the built-in target has one.
    ///
    /// # Errors
    /// If other functions are registered for the same name, platform and API.
    pub fn register(&self, target: Target) -> Result<Arc<Target>, RegisterError> {
        let mut targets = self.targets.write().unwrap_or_else(PoisonError::into_inner);
        let key = key(&target);
        let target = match targets.get(&key) {
            Some(existing)
                if !existing.origin().is_replaced_by(target.origin()) && !target.declares(existing) =>
            {
                return again(existing, &target);
            }
            Some(existing) => target.succeeding(existing),
            None => {
                match self.built_in(&key.0, &key.1, key.2).filter(|built_in| built_in.declares(&target)) {
                    Some(built_in) => return Ok(built_in),
                    None => target,
                }
            }
        };
        let target = Arc::new(target);
        targets.insert(key, Arc::clone(&target));
        Ok(target)
    }

    /// Returns specs of the targets that were registered by symbol name from other versions of a library's
    /// file.
    fn named_in_other_versions(&self, library: &TargetOrigin) -> Vec<TargetSpec> {
        let spec = |target: Arc<Target>| match &target.origin().how {
            How::Symbols(symbols) if target.origin().is_replaced_by(library) => {
                let spec: TargetSpec = format!("f={symbols}").parse().ok()?;
                Some(TargetSpec {
                    name: target.name().to_owned(),
                    platform: target.platform().clone(),
                    ..spec
                })
            }
            _ => None,
        };
        self.targets().into_iter().filter_map(spec).collect()
    }

    /// Adds all targets and lowerings of a library, or adds nothing.
    fn register_all(&self, addition: Addition) -> Result<Change, Vec<RegisterError>> {
        let Addition { targets, lowerings, rank, of, replace } = addition;
        let stays = |origin: &TargetOrigin| !of.as_ref().is_some_and(|new| origin.is_replaced_by(new));
        let mut known = self.targets.write().unwrap_or_else(PoisonError::into_inner);
        let mut known_lowerings = self.lowerings.write().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut new, mut errors) = (Vec::new(), BTreeMap::new(), Vec::new());
        for target in targets {
            let key = key(&target);
            let existing = known.get(&key);
            let kept = existing.filter(|existing| stays(existing.origin()) && !target.declares(existing));
            let found = kept.or_else(|| new.get(&key));
            match found.map(|existing| again(existing, &target)) {
                Some(Ok(existing)) => all.push(existing),
                Some(Err(error)) if !replace || new.contains_key(&key) => errors.push(error),
                Some(Err(_)) | None => {
                    let target = Arc::new(match existing {
                        Some(existing) => target.succeeding(existing),
                        None => target,
                    });
                    new.insert(key, Arc::clone(&target));
                    all.push(target);
                }
            }
        }
        let added = lowering::added(&known_lowerings, lowerings, (rank, replace), stays, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let replaced: Vec<(Key, Arc<Target>)> =
            known.extract_if(.., |_, target| !stays(target.origin())).collect();
        let dropped = replaced.into_iter().filter(|(key, _)| !new.contains_key(key));
        let mut dropped: Vec<String> =
            dropped.map(|(_, target)| format!("`{}` ({})", target.name(), target.origin())).collect();
        known.append(&mut new);
        for (tag, lowerings) in known_lowerings.iter_mut() {
            let before = lowerings.len();
            lowerings.retain(|lowering| stays(&lowering.origin));
            if lowerings.len() < before && added.iter().all(|(new, _)| new != tag) {
                dropped.push(format!("the lowering of `{tag}`"));
            }
        }
        lowering::add(&mut known_lowerings, added);
        Ok(Change { targets: all, dropped })
    }

    /// Adds a target, replacing any target with the same name, platform and API, and returns the replaced
    /// target.
    pub fn replace(&self, target: Target) -> Option<Arc<Target>> {
        let mut targets = self.targets.write().unwrap_or_else(PoisonError::into_inner);
        let key = key(&target);
        let target = match targets.get(&key) {
            Some(existing) => target.succeeding(existing),
            None => target,
        };
        targets.insert(key, Arc::new(target))
    }

    /// Returns the target of this name, platform and API: the registered one, or else the built-in one.
    pub fn get(&self, name: &str, platform: &Platform, kind: ApiKind) -> Option<Arc<Target>> {
        self.find(name, platform, &[kind])
    }

    /// Returns the target of this name and platform: a registered one, or else a built-in one. If both a
    /// typed and an untyped one exist, the untyped one is returned.
    pub fn lookup(&self, name: &str, platform: &Platform) -> Option<Arc<Target>> {
        self.find(name, platform, &[ApiKind::Untyped, ApiKind::Typed])
    }

    /// Returns the target of this name and platform with the first API that has one.
    fn find(&self, name: &str, platform: &Platform, kinds: &[ApiKind]) -> Option<Arc<Target>> {
        let registered = {
            let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
            kinds.iter().find_map(|kind| targets.get(&(name.into(), platform.clone(), *kind)).cloned())
        };
        registered.or_else(|| kinds.iter().find_map(|kind| self.built_in(name, platform, *kind)))
    }

    /// Returns the target of a custom call. If the call accepts either API ([`call_kind`]), a registered
    /// target takes precedence over a built-in target, and then an untyped target over a typed target.
    ///
    /// # Errors
    /// If no target has this name and platform, or only a target of the other API does.
    pub fn resolve(&self, call: &CustomCall, platform: &Platform) -> Result<Arc<Target>, ResolveError> {
        let name = &call.target;
        let wanted = call_kind(call).map_err(ResolveError::new)?;
        let found = match wanted {
            Some(kind) => self.get(name, platform, kind),
            None => self.lookup(name, platform),
        };
        if let Some(target) = found.or_else(|| self.of_edition(name, platform)) {
            // Without a signature, nothing tells whether the operands have the meaning that the handler
            // expects.
            let is_untyped = matches!(call.api_version, Some(2 | 3)) && wanted.is_none();
            if is_untyped && target.kind() == ApiKind::Typed && target.declaration().is_none() {
                return Err(mismatch(call, ApiKind::Untyped, &target));
            }
            return Ok(target);
        }
        match (wanted, self.lookup(name, platform)) {
            (Some(kind), Some(other)) => Err(mismatch(call, kind, &other)),
            _ => Err(self.missing(name, platform)),
        }
    }

    /// Returns the target that JAX programs call `NAME@EDITION`. Names cannot be registered twice with XLA,
    /// so a target that has replaced another gets a new name in XLA ([`Target::edition`]).
    fn of_edition(&self, name: &str, platform: &Platform) -> Option<Arc<Target>> {
        let (name, edition) = name.rsplit_once('@')?;
        let edition = edition.parse::<u32>().ok().filter(|edition| *edition > 1)?;
        self.lookup(name, platform).filter(|target| target.edition() == edition)
    }

    /// Returns all registered targets, sorted by name.
    pub fn targets(&self) -> Vec<Arc<Target>> {
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
        targets.values().cloned().collect()
    }

    /// Returns the built-in targets whose names no registered target has, sorted by name.
    pub fn built_ins(&self) -> Vec<Arc<Target>> {
        if !self.has_built_ins {
            return Vec::new();
        }
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
        let mut built_ins = built_in::targets();
        built_ins.retain(|target| !targets.contains_key(&key(target)));
        built_ins
    }

    /// Returns true if a built-in target has this name. Creates no target, unlike [`built_ins`](Self::built_ins).
    pub fn is_built_in(&self, name: &str) -> bool {
        self.has_built_ins && built_in::contains(name)
    }

    fn built_in(&self, name: &str, platform: &Platform, kind: ApiKind) -> Option<Arc<Target>> {
        self.has_built_ins.then(|| built_in::target(name, platform, kind)).flatten()
    }

    fn built_ins_lower_products(&self) -> bool {
        self.has_built_ins && built_in::lowers_products()
    }

    fn built_in_lowerings(&self, tag: &str) -> &'static [Registered] {
        if self.has_built_ins { built_in::lowerings(tag) } else { &[] }
    }

    /// Returns names of targets of the platform that are similar to a name, best match first.
    pub fn nearest(&self, name: &str, platform: &Platform) -> Vec<String> {
        let targets = [self.targets(), self.built_ins()].concat();
        let names = targets.iter().filter(|t| t.platform() == platform).map(|t| t.name());
        farcall_sig::nearest::nearest(name, names).into_iter().map(str::to_owned).collect()
    }

    /// Returns the targets of this name for other platforms, one for each platform and API.
    pub fn elsewhere(&self, name: &str, platform: &Platform) -> Vec<Arc<Target>> {
        let mut targets = [self.targets(), self.built_ins()].concat();
        targets.retain(|target| target.name() == name && target.platform() != platform);
        targets
    }

    fn missing(&self, name: &str, platform: &Platform) -> ResolveError {
        let elsewhere = self.elsewhere(name, platform);
        if !elsewhere.is_empty() {
            return no_handler(&elsewhere, platform);
        }
        let message = format!("no target `{name}` is registered for the platform {platform}");
        let mut notes = Vec::new();
        let nearest = self.nearest(name, platform);
        if !nearest.is_empty() {
            notes.push(format!("close names that are: {}", nearest.join(", ")));
        }
        if let Some((base, version)) = name.rsplit_once('@')
            && let Some(other) = self.lookup(base, platform)
        {
            let now = other.edition();
            notes.push(format!("`{name}` is version {version} of `{base}`, which has version {now} here"));
        }
        ResolveError { message, notes, missing: Some(name.into()) }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.targets().iter().map(|t| t.name().to_owned()).collect();
        f.debug_tuple("Registry").field(&names).finish()
    }
}

/// Returns the existing target if the new target has the same functions.
///
/// # Errors
/// If the new target has different functions.
fn again(existing: &Arc<Target>, new: &Target) -> Result<Arc<Target>, RegisterError> {
    if existing.handler().same_as(new.handler()) {
        return Ok(Arc::clone(existing));
    }
    Err(RegisterError::Conflict {
        name: new.name().into(),
        platform: new.platform().clone(),
        existing: existing.origin().clone().into(),
        new: new.origin().clone().into(),
    })
}

fn key(target: &Target) -> Key {
    (target.shared_name(), target.platform().clone(), target.kind())
}

/// Returns the API that a custom call asks for; `None` if the call accepts either.
///
/// A dictionary or `api_version = 4` selects the typed API, and a non-empty string the untyped API. Without a
/// configuration, an `api_version` of 0 to 3 selects neither: a typed handler can replace an untyped function
/// of the same name, because operands and results are all that the call passes.
///
/// # Errors
/// If the `api_version` is unknown.
pub fn call_kind(call: &CustomCall) -> Result<Option<ApiKind>, String> {
    match (&call.config, call.api_version) {
        (_, Some(version)) if !(0..=4).contains(&version) => {
            Err(format!("custom call `{}` has api_version {version}; the versions are 0 to 4", call.target))
        }
        (CallConfig::Dict(_), _) | (_, Some(4)) => Ok(Some(ApiKind::Typed)),
        (CallConfig::Text(text), _) if !text.is_empty() => Ok(Some(ApiKind::Untyped)),
        _ => Ok(None),
    }
}

/// Error for a target that has handlers for other platforms only.
fn no_handler(elsewhere: &[Arc<Target>], platform: &Platform) -> ResolveError {
    let target = &elsewhere[0];
    let platforms: BTreeSet<&str> = elsewhere.iter().map(|target| target.platform().name()).collect();
    let platforms: Vec<&str> = platforms.into_iter().collect();
    let message =
        format!("`{}` has no handler for {platform}, only for {}", target.name(), platforms.join(", "));
    let origin =
        |target: &Arc<Target>| format!("its handler for {} is from {}", target.platform(), target.origin());
    let mut notes: Vec<String> = elsewhere.iter().map(origin).collect();
    let (runs, option) = match platform {
        Platform::Host => ("the engine runs on the CPU".to_owned(), String::new()),
        other => (format!("the program is for {other}"), format!(", platform = \"{other}\"")),
    };
    notes.push(format!(
        "{runs}: a library with `#[handler(name = \"{}\"{option})]` adds a handler for it; see: farcall guide cuda",
        target.local_name()
    ));
    ResolveError { message, notes, missing: None }
}

fn mismatch(call: &CustomCall, wanted: ApiKind, found: &Target) -> ResolveError {
    let why = match (&call.config, call.api_version) {
        (CallConfig::Dict(_), _) => "its backend_config is a dictionary".to_owned(),
        (CallConfig::Text(text), _) if !text.is_empty() => "its backend_config is a string".to_owned(),
        (_, Some(version @ 2..=4)) => format!("api_version = {version}"),
        _ => "its backend_config is a string".to_owned(),
    };
    let name = &call.target;
    let message = format!(
        "the program calls `{name}` through the {wanted} API ({why}), but `{name}` is registered for \
         the {} API, by {}",
        found.kind(),
        found.origin()
    );
    ResolveError::new(message)
}

/// Reason why a custom call cannot be resolved to a target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}{}", notes.iter().map(|n| format!("\n  {n}")).collect::<String>())]
pub struct ResolveError {
    /// Description of the problem.
    pub message: String,
    /// Similar names, or handlers for other platforms.
    pub notes: Vec<String>,
    /// Name of the target if no target has this name; `None` if the call cannot be made for another reason.
    pub missing: Option<Arc<str>>,
}

/// Code of the diagnostics of missing targets.
const MISSING_TARGET: &str = "missing_target";

impl ResolveError {
    fn new(message: String) -> ResolveError {
        ResolveError { message, notes: Vec::new(), missing: None }
    }

    /// Returns what the user can do about a missing target.
    pub fn remedy(&self) -> Option<Remedy> {
        self.missing.as_ref().map(Remedy::of_target)
    }

    /// Converts the error to a diagnostic at the location of the call. `place` is the location in a program
    /// without text; it may be empty. [`advise`] adds remedies to diagnostics.
    pub fn at(self, span: Span, place: &str) -> Diagnostic {
        let diagnostic = Diagnostic::new(MISSING_TARGET, span, self.message).place(place);
        Diagnostic { notes: self.notes, subject: self.missing, ..diagnostic }
    }
}

impl CodedError for ResolveError {
    fn code(&self) -> ErrorCode {
        ErrorCode::MissingTarget
    }
}

/// Reason why a target was not registered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Other functions are registered under the name.
    #[error(
        "`{name}` is registered for {platform} already, by {existing}; {new} has other functions for it \
         (replace it on purpose, or rename one)"
    )]
    Conflict {
        /// Name of the target.
        name: String,
        /// Platform of the target.
        platform: Platform,
        /// Origin of the registered target.
        existing: Box<TargetOrigin>,
        /// Origin of the new target.
        new: Box<TargetOrigin>,
    },
    /// A tag already has a lowering of the same rank.
    #[error(
        "the blocks `{tag}` are lowered by {existing} already, with the same rank ({rank}) as by {new}: lowerings of one tag must \
         have different ranks (replace one explicitly, or drop one)"
    )]
    Lowering {
        /// Tag of the blocks.
        tag: String,
        /// Rank of both lowerings.
        rank: Rank,
        /// Origin of the registered lowering.
        existing: Box<TargetOrigin>,
        /// Origin of the new lowering.
        new: Box<TargetOrigin>,
    },
    /// The name is empty.
    #[error("a target needs a name")]
    EmptyName,
    /// The target has no function for the execute stage.
    #[error("`{name}` has no handler for the execute stage")]
    NoExecute {
        /// Name of the target.
        name: String,
    },
    /// A handler of the typed API was given as a function of the untyped API.
    #[error(
        "`{name}` is registered for the untyped API, but the function is a handler of the typed one: {} describes it as \
         that of `{target}`; register it with api_version=1",
        file.display()
    )]
    Typed {
        /// Name of the target.
        name: String,
        /// Name of the handler in its library's descriptor.
        target: String,
        /// File of the handler's library.
        file: std::path::PathBuf,
    },
    /// A handler was built for an interface version that this host does not support.
    #[error(
        "the {} handler of `{name}` was built for XLA FFI {}.{}; this host supports 0.1 to {}.{}",
        stage.name(), found.0, found.1, supported.0, supported.1
    )]
    Version {
        /// Name of the target.
        name: String,
        /// Stage of the handler.
        stage: Stage,
        /// Interface version of the handler.
        found: (i32, i32),
        /// Newest interface version that this host supports.
        supported: (i32, i32),
    },
    /// A handler did not report its metadata.
    #[error("the {} handler of `{name}` does not report its version: {message}", stage.name())]
    Metadata {
        /// Name of the target.
        name: String,
        /// Stage of the handler.
        stage: Stage,
        /// The handler's error message.
        message: String,
    },
    /// A handler that may keep a state did not report its metadata, possibly because the type of the state is
    /// not registered.
    #[error(
        "{0}; if the handler keeps a state, also name the functions of the state's type: type:ID_SYMBOL/INFO_SYMBOL"
    )]
    StateTypeUnnamed(Box<RegisterError>),
    /// The type of a state was rejected.
    #[error("{0}")]
    StateType(String),
    /// The declarations of an op contradict each other.
    #[error("{0}")]
    Declaration(String),
    /// The library's table of lowerings cannot be read.
    #[error("its table of lowerings cannot be read: {0}")]
    Lowerings(&'static str),
    /// The function that describes the library, or the function that lists its lowerings, threw an exception.
    #[error("its description of itself failed: {0}")]
    Description(String),
    /// The library's description of itself cannot be read.
    #[error("{0}")]
    Descriptor(ReadError),
}

impl CodedError for RegisterError {
    fn code(&self) -> ErrorCode {
        match self {
            RegisterError::Conflict { .. } | RegisterError::Lowering { .. } => ErrorCode::AlreadyRegistered,
            RegisterError::EmptyName
            | RegisterError::NoExecute { .. }
            | RegisterError::Typed { .. }
            | RegisterError::Version { .. }
            | RegisterError::Metadata { .. }
            | RegisterError::StateTypeUnnamed(_)
            | RegisterError::StateType(_)
            | RegisterError::Declaration(_)
            | RegisterError::Lowerings(_)
            | RegisterError::Description(_)
            | RegisterError::Descriptor(_) => ErrorCode::InvalidTarget,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn one() {}
    unsafe extern "C" fn two() {
        std::hint::black_box(2);
    }

    unsafe extern "C" fn subtract(out: *mut f32, ins: *const *const f32) {
        // SAFETY: `metadata::query` passes the frame as `out`, and pointers to readable operands as `ins`.
        unsafe { *out = **ins - **ins.add(1) };
    }

    #[test]
    fn a_function_of_the_untyped_api_is_not_a_handler() {
        type Function = unsafe extern "C" fn(*mut f32, *const *const f32);
        // SAFETY: only `guard::probe` calls the function, with arguments that are valid for both function
        // types.
        let execute = Some(unsafe { std::mem::transmute::<Function, farcall_ffi::abi::HandlerFn>(subtract) });
        let bundle = farcall_ffi::abi::HandlerBundle {
            instantiate: None,
            prepare: None,
            initialize: None,
            execute,
            record: None,
        };
        // SAFETY: the function is not a handler (the test is about this error), but it only writes to the
        // frame.
        let error =
            unsafe { Target::typed("f", Platform::Host, bundle, 0, TargetOrigin::program()) }.unwrap_err();
        assert!(error.to_string().ends_with("is registered with api_version=0"), "{error}");
    }

    /// Writes several results, past the end of the memory for one result.
    unsafe extern "C" fn several(out: *mut *mut u8, _: *const *const u8) {
        for i in 0..2 {
            // SAFETY: only called in a child process, where it may crash.
            unsafe { (*out.add(i)).write_bytes(7, 1 << 20) };
        }
    }

    unsafe extern "C" fn large(out: *mut u8, _: *const *const u8) {
        // SAFETY: only called in a child process, where it may crash.
        unsafe { out.write_bytes(0xff, 1 << 30) };
    }

    #[test]
    fn a_function_that_is_called_as_a_handler_does_no_harm() {
        type Handler = farcall_ffi::abi::HandlerFn;
        type Several = unsafe extern "C" fn(*mut *mut u8, *const *const u8);
        type Large = unsafe extern "C" fn(*mut u8, *const *const u8);
        // SAFETY: both are functions of the C calling convention, and are only called in a child process.
        let functions = unsafe {
            [std::mem::transmute::<Several, Handler>(several), std::mem::transmute::<Large, Handler>(large)]
        };
        for function in functions {
            let bundle = farcall_ffi::abi::HandlerBundle {
                instantiate: None,
                prepare: None,
                initialize: None,
                execute: Some(function),
                record: None,
            };
            // SAFETY: the functions may be called in a child process, and never answer like a handler.
            let error =
                unsafe { Target::claimed("f", Platform::Host, bundle, 0, TargetOrigin::program(), &[]) }
                    .unwrap_err();
            assert!(error.to_string().contains("it crashed when it was asked; is the symbol"), "{error}");
        }
    }

    fn untyped(name: &str, f: UntypedHandler) -> Target {
        // SAFETY: the test never calls the function.
        unsafe { Target::untyped(name, Platform::Host, f, TargetOrigin::program()) }.expect("has a name")
    }

    #[test]
    fn registering_again_is_allowed_and_conflicts_are_not() {
        let registry = Registry::new();
        registry.register(untyped("f", one)).unwrap();
        registry.register(untyped("f", one)).unwrap();
        let e = registry.register(untyped("f", two)).unwrap_err();
        assert!(matches!(e, RegisterError::Conflict { .. }), "{e}");
        assert!(registry.replace(untyped("f", two)).is_some());
        assert_eq!(registry.targets().len(), 1);
    }

    #[test]
    fn forks_do_not_share_later_targets() {
        let registry = Registry::new();
        registry.register(untyped("f", one)).unwrap();
        let fork = registry.fork();
        fork.register(untyped("g", two)).unwrap();
        registry.register(untyped("h", two)).unwrap();
        let names = |r: &Registry| r.targets().iter().map(|t| t.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            (names(&registry), names(&fork)),
            (vec!["f".into(), "h".into()], vec!["f".into(), "g".into()])
        );
    }

    #[test]
    fn a_call_says_which_api_it_wants() {
        let kind = |version: Option<i32>, config: CallConfig| {
            let call = CustomCall { api_version: version, config, ..CustomCall::new("f") };
            call_kind(&call)
        };
        let dict = || CallConfig::Dict(Default::default());
        let text = |t: &str| CallConfig::Text(t.as_bytes().into());
        assert_eq!(kind(None, dict()), Ok(Some(ApiKind::Typed)));
        assert_eq!(kind(Some(1), dict()), Ok(Some(ApiKind::Typed)));
        assert_eq!(kind(Some(4), CallConfig::Absent), Ok(Some(ApiKind::Typed)));
        assert_eq!(kind(None, text("x")), Ok(Some(ApiKind::Untyped)));
        for version in 1..=3 {
            assert_eq!(kind(Some(version), text("x")), Ok(Some(ApiKind::Untyped)));
            assert_eq!(kind(Some(version), text("")), Ok(None));
            assert_eq!(kind(Some(version), CallConfig::Absent), Ok(None));
        }
        assert_eq!(kind(None, text("")), Ok(None));
        assert!(kind(Some(5), CallConfig::Absent).is_err());
    }

    /// Test op without operands.
    #[farcall_ffi::handler(name = "f")]
    #[signature(() -> (y: f32[4]))]
    fn typed(y: &mut farcall_ffi::Buffer<f32>) {
        y.fill(1.0);
    }

    /// Test op without a signature.
    #[farcall_ffi::handler(name = "g")]
    fn undeclared(y: &mut farcall_ffi::Buffer<f32>) {
        y.fill(1.0);
    }

    const TYPED: &[&farcall_ffi::descriptor::OpDescriptor] = farcall_ffi::ops![typed, undeclared];

    #[test]
    fn untyped_targets_take_precedence_in_calls_that_accept_either_api() {
        let registry = Registry::without_built_ins();
        registry.register_ops(TYPED).unwrap();
        let call = |version, text: &str| CustomCall {
            api_version: Some(version),
            config: CallConfig::Text(text.as_bytes().into()),
            ..CustomCall::new("f")
        };
        let resolved = |version, text| registry.resolve(&call(version, text), &Platform::Host);
        for version in 1..=3 {
            assert_eq!(resolved(version, "").unwrap().kind(), ApiKind::Typed);
            let error = resolved(version, "text").unwrap_err();
            assert!(error.message.contains("through the untyped API"), "{error}");
        }
        let undeclared = |version| CustomCall { target: "g".into(), ..call(version, "") };
        assert!(registry.resolve(&undeclared(1), &Platform::Host).is_ok());
        for version in 2..=3 {
            let error = registry.resolve(&undeclared(version), &Platform::Host).unwrap_err();
            assert!(error.message.contains(&format!("(api_version = {version})")), "{error}");
        }
        registry.register(untyped("f", one)).unwrap();
        for version in 1..=3 {
            assert_eq!(resolved(version, "").unwrap().kind(), ApiKind::Untyped);
            assert_eq!(resolved(version, "text").unwrap().kind(), ApiKind::Untyped);
        }
        assert_eq!(resolved(4, "").unwrap().kind(), ApiKind::Typed);
    }

    #[cfg(feature = "linalg")]
    #[test]
    fn registered_untyped_targets_take_precedence_over_built_in_ones() {
        let registry = Registry::new();
        let call = CustomCall { api_version: Some(2), ..CustomCall::new("lapack_sgetrf") };
        let kind = || registry.resolve(&call, &Platform::Host).unwrap().kind();
        assert_eq!(kind(), ApiKind::Typed);
        registry.register(untyped("lapack_sgetrf", one)).unwrap();
        assert_eq!(kind(), ApiKind::Untyped);
    }

    #[test]
    fn a_missing_target_is_explained() {
        let registry = Registry::without_built_ins();
        registry.register(untyped("rms_norm", one)).unwrap();
        let e = registry.resolve(&CustomCall::new("rms_nrom"), &Platform::Host).unwrap_err();
        assert_eq!(e.message, "no target `rms_nrom` is registered for the platform Host");
        assert_eq!(e.notes[0], "close names that are: rms_norm");
        assert_eq!(e.remedy(), Some(Remedy::LoadTarget("rms_nrom".into())));
        let e = registry.resolve(&CustomCall::new("lapack_spotrf_ffi"), &Platform::Host).unwrap_err();
        assert_eq!(e.remedy(), Some(Remedy::RegisterLapack));
        let e = registry.resolve(&CustomCall::new("rms_norm"), &Platform::Cuda).unwrap_err();
        assert_eq!(e.message, "`rms_norm` has no handler for CUDA, only for Host");
        assert_eq!(
            e.notes,
            [
                "its handler for Host is from this program",
                "the program is for CUDA: a library with `#[handler(name = \"rms_norm\", platform = \"CUDA\")]` \
                 adds a handler for it; see: farcall guide cuda",
            ]
        );
        assert_eq!(e.remedy(), None);
        let call = CustomCall { api_version: Some(4), ..CustomCall::new("rms_norm") };
        let e = registry.resolve(&call, &Platform::Host).unwrap_err();
        assert_eq!(e.remedy(), None);
        assert_eq!(
            e.message,
            "the program calls `rms_norm` through the typed API (api_version = 4), but `rms_norm` is \
             registered for the untyped API, by this program"
        );
    }
}
