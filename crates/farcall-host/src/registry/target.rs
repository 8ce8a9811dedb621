//! Targets: the functions that custom calls name, with everything that is known about them.
//!
//! A target is created once, when it is registered, and never changes. A handler's metadata (version, traits,
//! type of its state) is queried at that moment, so a handler that this host cannot run is rejected before
//! any program calls it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_ffi::abi::{self, HandlerBundle, HandlerTraits, Stage, TypeId};

use farcall_sig::Signature;
use farcall_sig::namespace::qualified;

use super::description::described_at;
use super::exports::host_api;
use super::{Declaration, RegisterError};
use crate::interface::api::API_VERSION;
use crate::interface::metadata::{self, Kind, MetadataError};
use crate::platform::Platform;

/// The two custom-call interfaces of XLA.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ApiKind {
    /// XLA FFI: call frames with typed buffers and attributes.
    Typed,
    /// A C function that takes pointers.
    Untyped,
}

impl fmt::Display for ApiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ApiKind::Typed => "typed",
            ApiKind::Untyped => "untyped",
        })
    }
}

/// Address of an untyped handler. The handler's parameters depend on the `api_version` of the call.
pub type UntypedHandler = unsafe extern "C" fn();

/// The code of a target.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Handler {
    /// Functions by stage.
    Typed(HandlerBundle),
    /// A single function.
    Untyped(UntypedHandler),
}

impl Handler {
    /// Returns the interface that the handler implements.
    pub fn kind(&self) -> ApiKind {
        match self {
            Handler::Typed(_) => ApiKind::Typed,
            Handler::Untyped(_) => ApiKind::Untyped,
        }
    }

    /// Returns true if both handlers consist of the same functions.
    pub fn same_as(&self, other: &Handler) -> bool {
        match (self, other) {
            (Handler::Typed(a), Handler::Typed(b)) => stages(a) == stages(b),
            (Handler::Untyped(a), Handler::Untyped(b)) => *a as usize == *b as usize,
            _ => false,
        }
    }
}

/// Returns the addresses by stage, 0 for missing stages.
fn stages(bundle: &HandlerBundle) -> [usize; 5] {
    [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record]
        .map(|f| f.map_or(0, |f| f as usize))
}

/// Source of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TargetOrigin {
    /// File of the library; `None` for code of the program itself.
    pub file: Option<PathBuf>,
    /// Way in which the target was found.
    pub how: How,
    /// Version of the file, counting from 1 the versions that this process has loaded.
    pub version: u32,
    /// Namespace that the library was loaded in.
    pub namespace: Option<Arc<str>>,
    /// Identity of the library: the first of its files that was loaded. Files with the same bytes are one
    /// library.
    pub(super) library: Option<PathBuf>,
}

/// Way in which a target was found in its library.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum How {
    /// The library's descriptor lists the target.
    Descriptor,
    /// The library's table of lowerings lists the lowering.
    LoweringTable,
    /// The library registered the target while being loaded.
    SelfRegistered,
    /// The user named the symbols of the target: `execute:RmsNorm`.
    Symbols(String),
    /// The target was registered by a call of [`Registry::register`](super::Registry::register).
    Program,
    /// The engine includes the target.
    BuiltIn,
}

impl TargetOrigin {
    /// Returns the origin of code of the program itself.
    pub fn program() -> TargetOrigin {
        TargetOrigin { file: None, how: How::Program, version: 1, namespace: None, library: None }
    }

    /// Returns the origin of code in the given version of a library's file.
    pub fn library(file: &Path, how: How, version: u32) -> TargetOrigin {
        TargetOrigin::version_of(file, file, how, version)
    }

    /// Returns the origin of code in `file`, which is the given version of the library whose first file was
    /// `library`.
    pub(super) fn version_of(library: &Path, file: &Path, how: How, version: u32) -> TargetOrigin {
        let (file, library) = (Some(file.to_owned()), Some(library.to_owned()));
        TargetOrigin { file, how, version, namespace: None, library }
    }

    /// Moves the origin into a namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: Option<&str>) -> TargetOrigin {
        TargetOrigin { namespace: namespace.map(Into::into), ..self }
    }

    /// Returns true if `new` is another version of the same library, in the same namespace.
    pub(super) fn is_replaced_by(&self, new: &TargetOrigin) -> bool {
        self.library.is_some()
            && (&self.library, &self.namespace) == (&new.library, &new.namespace)
            && self.version != new.version
    }

    /// Returns the library's file, or `this program`.
    pub(super) fn place(&self) -> String {
        match (&self.file, &self.how) {
            (Some(file), _) => file.display().to_string(),
            (None, How::BuiltIn) => "farcall".to_owned(),
            (None, _) => "this program".to_owned(),
        }
    }
}

impl fmt::Display for TargetOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        match &self.how {
            How::Descriptor => f.write_str(" (farcall library")?,
            How::LoweringTable => f.write_str(" (table of lowerings")?,
            How::SelfRegistered => f.write_str(" (registered itself")?,
            How::Symbols(symbols) => write!(f, " ({symbols}")?,
            How::BuiltIn => f.write_str(" (built in")?,
            How::Program => return Ok(()),
        }
        if let Some(namespace) = &self.namespace {
            write!(f, ", namespace {namespace}")?;
        }
        match self.version {
            1 => f.write_str(")"),
            version => write!(f, ", version {version} of the file)"),
        }
    }
}

/// Returns the error for a target whose handler failed to report its metadata.
fn metadata_error(why: MetadataError, name: &str, stage: Stage) -> RegisterError {
    let name = name.to_owned();
    match why {
        MetadataError::Version(found) => {
            RegisterError::Version { name, stage, found, supported: API_VERSION }
        }
        MetadataError::Refused(failure) => RegisterError::Metadata { name, stage, message: failure.message },
    }
}

/// A function that custom calls name.
#[derive(Clone, Debug)]
pub struct Target {
    name: Arc<str>,
    platform: Platform,
    handler: Handler,
    api_version: Option<(i32, i32)>,
    traits: HandlerTraits,
    state_type: Option<TypeId>,
    origin: TargetOrigin,
    docs: String,
    declaration: Option<Declaration>,
    edition: u32,
}

impl Target {
    /// Creates a target of the typed API and queries the metadata of its handlers.
    ///
    /// # Errors
    /// If the `execute` handler is missing, a handler needs an interface version that this host does not
    /// support, or a handler needs a state type that is not registered yet.
    ///
    /// # Safety
    /// The functions are XLA FFI handlers that stay loaded for the rest of the process.
    pub unsafe fn typed(
        name: &str,
        platform: Platform,
        bundle: HandlerBundle,
        traits: HandlerTraits,
        origin: TargetOrigin,
    ) -> Result<Target, RegisterError> {
        // SAFETY: the caller guarantees that the functions are handlers that stay loaded (`# Safety` above).
        unsafe { Target::with_metadata(name, platform, bundle, traits, origin, |_, _| Kind::Handler) }
    }

    /// Like [`typed`](Self::typed), for functions that the user claims to be handlers. A function that its
    /// library does not describe as a handler is first called in a child process, unless its stage is in
    /// `trusted_stages`. A function that turns out not to be a handler is an error, and cannot corrupt the
    /// memory of this process.
    ///
    /// # Errors
    /// Same errors as [`typed`](Self::typed).
    ///
    /// # Safety
    /// The functions stay loaded for the rest of the process, and may be called in a child process even if
    /// they are not handlers. A function that answers like a handler in the child process is a handler. The
    /// functions of the `trusted_stages` are handlers.
    pub unsafe fn claimed(
        name: &str,
        platform: Platform,
        bundle: HandlerBundle,
        traits: HandlerTraits,
        origin: TargetOrigin,
        trusted_stages: &[Stage],
    ) -> Result<Target, RegisterError> {
        let kind = |stage, handler| match described_at(handler as usize) {
            None if !trusted_stages.contains(&stage) => Kind::Claimed,
            _ => Kind::Handler,
        };
        // SAFETY: the caller guarantees that the functions stay loaded and may be called in a child process,
        // and that those of the trusted stages are handlers (`# Safety` above). Every other function that its
        // library does not describe as a handler is `Claimed`, so it is called in a child process.
        unsafe { Target::with_metadata(name, platform, bundle, traits, origin, kind) }
    }

    /// Creates a target and queries the metadata of its handlers.
    ///
    /// # Safety
    /// Same requirements as [`typed`](Self::typed) for functions of [`Kind::Handler`], and as
    /// [`claimed`](Self::claimed) for functions of [`Kind::Claimed`].
    unsafe fn with_metadata(
        name: &str,
        platform: Platform,
        bundle: HandlerBundle,
        traits: HandlerTraits,
        origin: TargetOrigin,
        kind: impl Fn(Stage, abi::HandlerFn) -> Kind,
    ) -> Result<Target, RegisterError> {
        let Some(execute) = bundle.execute else {
            return Err(RegisterError::NoExecute { name: name.into() });
        };
        let mut target = Target {
            api_version: None,
            state_type: None,
            traits,
            ..Target::bare(name, platform, Handler::Typed(bundle), origin)?
        };
        let others = [
            (Stage::INSTANTIATE, bundle.instantiate),
            (Stage::PREPARE, bundle.prepare),
            (Stage::INITIALIZE, bundle.initialize),
        ];
        let all = std::iter::once((Stage::EXECUTE, Some(execute))).chain(others);
        for (stage, handler) in all {
            let Some(handler) = handler else { continue };
            // SAFETY: the caller guarantees that the function is what `kind` says (`# Safety` above).
            let facts = unsafe { metadata::query(host_api(), handler, stage, kind(stage, handler)) };
            let facts = facts.map_err(|e| metadata_error(e, name, stage))?;
            // The oldest host that can run all stages is determined by the newest version among them.
            target.api_version = target.api_version.max(Some(facts.api_version));
            target.traits |= facts.traits;
            if stage == Stage::INSTANTIATE && facts.state_type != TypeId::UNKNOWN {
                target.state_type = Some(facts.state_type);
            }
        }
        Ok(target)
    }

    /// Creates a target of the untyped API.
    ///
    /// # Errors
    /// If the name is empty, or the descriptor of the function's library lists the function as a handler of
    /// the typed API.
    ///
    /// # Safety
    /// The function has the parameters that the calls' `api_version` implies (see
    /// [`custom_call`](crate::custom_call)), and stays loaded for the rest of the process.
    pub unsafe fn untyped(
        name: &str,
        platform: Platform,
        function: UntypedHandler,
        origin: TargetOrigin,
    ) -> Result<Target, RegisterError> {
        if let Some((file, target)) = described_at(function as usize) {
            return Err(RegisterError::Typed { name: name.into(), target, file });
        }
        Target::bare(name, platform, Handler::Untyped(function), origin)
    }

    fn bare(
        name: &str,
        platform: Platform,
        handler: Handler,
        origin: TargetOrigin,
    ) -> Result<Target, RegisterError> {
        if name.is_empty() {
            return Err(RegisterError::EmptyName);
        }
        Ok(Target {
            name: name.into(),
            platform,
            handler,
            api_version: None,
            traits: 0,
            state_type: None,
            edition: origin.version,
            origin,
            docs: String::new(),
            declaration: None,
        })
    }

    /// Moves the target and its derivatives into a namespace. Targets whose symbols the user named keep their
    /// names.
    pub(super) fn in_namespace(&self, namespace: Option<&str>) -> Target {
        let mut target = self.clone();
        target.origin = target.origin.in_namespace(namespace);
        if let (Some(namespace), false) = (namespace, matches!(self.origin.how, How::Symbols(_))) {
            target.name = qualified(namespace, &self.name).into();
            target.declaration = target.declaration.map(|declaration| declaration.in_namespace(namespace));
        }
        target
    }

    /// Returns true if this target has the functions of `bare` and a declaration, which `bare` lacks. (JAX
    /// registers the handlers of a library with a plugin by their addresses alone.)
    pub(super) fn declares(&self, bare: &Target) -> bool {
        self.declaration().is_some() && bare.declaration().is_none() && self.handler.same_as(&bare.handler)
    }

    /// Makes the target the successor of another target with the same name.
    pub(super) fn succeeding(mut self, other: &Target) -> Target {
        let versions_of_one_file =
            self.origin.is_replaced_by(&other.origin) && other.edition == other.origin.version;
        if other.handler.same_as(&self.handler) {
            self.edition = other.edition;
        } else if !versions_of_one_file {
            self.edition = self.origin.version.max(other.edition + 1);
        }
        self
    }

    /// Sets the human-readable description.
    pub fn with_docs(self, docs: impl Into<String>) -> Target {
        Target { docs: docs.into(), ..self }
    }

    /// Sets the author's declaration.
    pub fn with_declaration(self, declaration: Declaration) -> Target {
        Target { declaration: Some(declaration), ..self }
    }

    /// Returns the name that programs call.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name without the library's namespace.
    pub fn local_name(&self) -> &str {
        let prefix = self.origin.namespace.as_deref().and_then(|namespace| self.name.strip_prefix(namespace));
        prefix.and_then(|rest| rest.strip_prefix('.')).unwrap_or(&self.name)
    }

    /// Returns the position of the target, from 1, among all targets that have had its name in the registry.
    /// The edition is the version of the library's file, unless another library had the name before. XLA
    /// knows editions from 2 on as `NAME@EDITION`.
    pub fn edition(&self) -> u32 {
        self.edition
    }

    /// The name of the target.
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Returns the platform that the target runs on.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Returns the code of the target.
    pub fn handler(&self) -> &Handler {
        &self.handler
    }

    /// Returns the interface that the target implements.
    pub fn kind(&self) -> ApiKind {
        self.handler.kind()
    }

    /// Returns the XLA FFI version that the handlers were built for, as (major, minor); `None` if untyped.
    pub fn api_version(&self) -> Option<(i32, i32)> {
        self.api_version
    }

    /// Returns the bits of [`abi::handler_traits`].
    pub fn traits(&self) -> HandlerTraits {
        self.traits
    }

    /// Returns the names of the target's traits.
    pub fn trait_names(&self) -> Vec<&'static str> {
        let known = [(abi::handler_traits::COMMAND_BUFFER_COMPATIBLE, "command-buffer-compatible")];
        known.iter().filter(|(bit, _)| self.traits & bit != 0).map(|(_, name)| *name).collect()
    }

    /// Returns the type of the state that the instantiate stage creates.
    pub fn state_type(&self) -> Option<TypeId> {
        self.state_type
    }

    /// Returns the stages that the target has a function for.
    pub fn stages(&self) -> Vec<Stage> {
        let all = [Stage::INSTANTIATE, Stage::PREPARE, Stage::INITIALIZE, Stage::EXECUTE, Stage::RECORD];
        match &self.handler {
            Handler::Typed(bundle) => {
                all.into_iter().zip(stages(bundle)).filter(|(_, f)| *f != 0).map(|(s, _)| s).collect()
            }
            Handler::Untyped(_) => vec![Stage::EXECUTE],
        }
    }

    /// Returns where the target came from.
    pub fn origin(&self) -> &TargetOrigin {
        &self.origin
    }

    /// Returns the human-readable description, which may be empty.
    pub fn docs(&self) -> &str {
        &self.docs
    }

    /// Returns the author's declaration: signature and derivatives.
    pub fn declaration(&self) -> Option<&Declaration> {
        self.declaration.as_ref()
    }

    /// Returns the declared signature.
    pub fn signature(&self) -> Option<&Signature> {
        self.declaration.as_ref().map(|declaration| &declaration.signature)
    }

    /// Returns the names of the declared rules (`infer`, `vjp`, …).
    pub fn rules(&self) -> Vec<&'static str> {
        self.declaration.as_ref().map(Declaration::rules).unwrap_or_default()
    }
}
