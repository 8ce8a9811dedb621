//! Targets: the functions that custom calls name, with everything that is known about them.
//!
//! A target is created once, when it is registered, and never changes. A handler's metadata (version, traits, type of
//! its state) is queried at that moment, so a handler that this host cannot run is rejected before any program calls
//! it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_ffi::abi::{self, HandlerBundle, HandlerTraits, Stage, TypeId};

use farcall_sig::Signature;
use farcall_sig::namespace::qualified;

use super::exports::host_api;
use super::load::described_at;
use super::{Declaration, RegisterError};
use crate::host::api::API_VERSION;
use crate::host::metadata::{self, Kind, NoFacts};
use crate::platform::Platform;

/// Which of XLA's two custom-call interfaces a handler or a call speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ApiKind {
    /// XLA FFI: call frames with typed buffers and attributes.
    Typed,
    /// A C function of pointers.
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

/// The address of an untyped handler. Its parameters depend on the `api_version` of the call.
pub type UntypedHandler = unsafe extern "C" fn();

/// A target's code.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Handler {
    /// Functions by stage.
    Typed(HandlerBundle),
    /// One function.
    Untyped(UntypedHandler),
}

impl Handler {
    /// Which interface it speaks.
    pub fn kind(&self) -> ApiKind {
        match self {
            Handler::Typed(_) => ApiKind::Typed,
            Handler::Untyped(_) => ApiKind::Untyped,
        }
    }

    /// True if both are the same functions.
    pub fn same_as(&self, other: &Handler) -> bool {
        match (self, other) {
            (Handler::Typed(a), Handler::Typed(b)) => stages(a) == stages(b),
            (Handler::Untyped(a), Handler::Untyped(b)) => *a as usize == *b as usize,
            _ => false,
        }
    }
}

/// Addresses by stage, 0 for none.
fn stages(bundle: &HandlerBundle) -> [usize; 5] {
    [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record]
        .map(|f| f.map_or(0, |f| f as usize))
}

/// Where a target came from.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Origin {
    /// The library's file; none for code of the program itself.
    pub file: Option<PathBuf>,
    /// How it was found there.
    pub how: How,
    /// Which of the versions of the file it is that the process has loaded, from 1 on.
    pub version: u32,
    /// The namespace that the library was loaded in.
    pub namespace: Option<Arc<str>>,
    /// The library, by the first of its files that was loaded: files with the same bytes are one library.
    pub(super) library: Option<PathBuf>,
}

/// How a target was found in its library.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum How {
    /// Listed by the library's descriptor.
    Descriptor,
    /// Listed by the library's table of lowerings.
    LoweringTable,
    /// The library registered it while it was loaded.
    SelfRegistered,
    /// Its symbols were named by the user: `execute:RmsNorm`.
    Symbols(String),
    /// Registered by a call of [`Registry::register`](super::Registry::register).
    Program,
}

impl Origin {
    /// Code of the program itself.
    pub fn program() -> Origin {
        Origin { file: None, how: How::Program, version: 1, namespace: None, library: None }
    }

    /// Code of a library, of this version of its file.
    pub fn library(file: &Path, how: How, version: u32) -> Origin {
        Origin::version_of(file, file, how, version)
    }

    /// Code of `file`, this version of a library whose first file was `library`.
    pub(super) fn version_of(library: &Path, file: &Path, how: How, version: u32) -> Origin {
        let (file, library) = (Some(file.to_owned()), Some(library.to_owned()));
        Origin { file, how, version, namespace: None, library }
    }

    /// Moves the origin into a namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: Option<&str>) -> Origin {
        Origin { namespace: namespace.map(Into::into), ..self }
    }

    /// True if `new` is another version of the same library, in the same namespace.
    pub(super) fn is_replaced_by(&self, new: &Origin) -> bool {
        self.library.is_some()
            && (&self.library, &self.namespace) == (&new.library, &new.namespace)
            && self.version != new.version
    }

    /// The library's file, or `this program`.
    pub(super) fn place(&self) -> String {
        self.file.as_deref().map_or_else(|| "this program".to_owned(), |file| file.display().to_string())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        match &self.how {
            How::Descriptor => f.write_str(" (farcall library")?,
            How::LoweringTable => f.write_str(" (table of lowerings")?,
            How::SelfRegistered => f.write_str(" (registered itself")?,
            How::Symbols(symbols) => write!(f, " ({symbols}")?,
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

/// The error for a handler of a target that does not say what it is.
fn untold(why: NoFacts, name: &str, stage: Stage) -> RegisterError {
    let name = name.to_owned();
    match why {
        NoFacts::Version(found) => RegisterError::Version { name, stage, found, supported: API_VERSION },
        NoFacts::Refused(failure) => RegisterError::Metadata { name, stage, message: failure.message },
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
    origin: Origin,
    docs: String,
    declaration: Option<Declaration>,
    edition: u32,
}

impl Target {
    /// A target of the typed API; asks the handlers for their metadata.
    ///
    /// # Errors
    /// If there is no `execute` handler, or a handler speaks a version that this host does not, or
    /// it needs a state type that is not registered yet.
    ///
    /// # Safety
    /// The functions are XLA FFI handlers that stay loaded for the rest of the process.
    pub unsafe fn typed(
        name: &str,
        platform: Platform,
        bundle: HandlerBundle,
        traits: HandlerTraits,
        origin: Origin,
    ) -> Result<Target, RegisterError> {
        // SAFETY: the caller's promise.
        unsafe { Target::asked(name, platform, bundle, traits, origin, |_| Kind::Handler) }
    }

    /// The same for functions that somebody says are handlers. One that its library does not describe as a handler is called in
    /// a child process first: if it is none, this is an error, whatever it writes.
    ///
    /// # Errors
    /// As [`typed`](Self::typed).
    ///
    /// # Safety
    /// The functions stay loaded for the rest of the process, and may be called in a child process even if they are no handlers.
    /// One that answers there as a handler does is one.
    pub unsafe fn claimed(
        name: &str,
        platform: Platform,
        bundle: HandlerBundle,
        traits: HandlerTraits,
        origin: Origin,
    ) -> Result<Target, RegisterError> {
        let kind = |handler| match described_at(handler as usize) {
            Some(_) => Kind::Handler,
            None => Kind::Claimed,
        };
        // SAFETY: the caller's promise.
        unsafe { Target::asked(name, platform, bundle, traits, origin, kind) }
    }

    /// A target whose handlers have been asked for their metadata.
    ///
    /// # Safety
    /// As [`typed`](Self::typed) or [`claimed`](Self::claimed), as `kind` says.
    unsafe fn asked(
        name: &str,
        platform: Platform,
        bundle: HandlerBundle,
        traits: HandlerTraits,
        origin: Origin,
        kind: impl Fn(abi::Handler) -> Kind,
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
            // SAFETY: the caller's promise.
            let facts = unsafe { metadata::query(host_api(), handler, stage, kind(handler)) };
            let facts = facts.map_err(|e| untold(e, name, stage))?;
            // The oldest host that can run all stages is the newest version among them.
            target.api_version = target.api_version.max(Some(facts.api_version));
            target.traits |= facts.traits;
            if stage == Stage::INSTANTIATE && facts.state_type != TypeId::UNKNOWN {
                target.state_type = Some(facts.state_type);
            }
        }
        Ok(target)
    }

    /// A target of the untyped API.
    ///
    /// # Errors
    /// If the name is empty, or the descriptor of the function's library lists it as a handler of the typed API.
    ///
    /// # Safety
    /// The function has the parameters that the calls' `api_version` implies (see
    /// [`custom_call`](crate::custom_call)), and stays loaded for the rest of the process.
    pub unsafe fn untyped(
        name: &str,
        platform: Platform,
        function: UntypedHandler,
        origin: Origin,
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
        origin: Origin,
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

    /// Puts the target, and its derivatives, in a namespace. Targets whose symbols a user has named keep
    /// their names.
    pub(super) fn in_namespace(&self, namespace: Option<&str>) -> Target {
        let mut target = self.clone();
        target.origin = target.origin.in_namespace(namespace);
        if let (Some(namespace), false) = (namespace, matches!(self.origin.how, How::Symbols(_))) {
            target.name = qualified(namespace, &self.name).into();
            target.declaration = target.declaration.map(|declaration| declaration.in_namespace(namespace));
        }
        target
    }

    /// Makes the target the replacement of another one with its name.
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

    /// The same with a description for people.
    pub fn with_docs(self, docs: impl Into<String>) -> Target {
        Target { docs: docs.into(), ..self }
    }

    /// The same with what its author declared about it.
    pub fn with_declaration(self, declaration: Declaration) -> Target {
        Target { declaration: Some(declaration), ..self }
    }

    /// The name that programs call.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name without the library's namespace.
    pub fn local_name(&self) -> &str {
        let prefix = self.origin.namespace.as_deref().and_then(|namespace| self.name.strip_prefix(namespace));
        prefix.and_then(|rest| rest.strip_prefix('.')).unwrap_or(&self.name)
    }

    /// Number of the target among all that have had this name in the registry, from 1 on: the version of the library's file,
    /// unless another library had the name before. XLA knows it as `NAME@EDITION` from 2 on.
    pub fn edition(&self) -> u32 {
        self.edition
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Where it runs.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Its code.
    pub fn handler(&self) -> &Handler {
        &self.handler
    }

    /// Which interface it speaks.
    pub fn kind(&self) -> ApiKind {
        self.handler.kind()
    }

    /// Version of XLA's FFI that its handlers were built for, as (major, minor); none if untyped.
    pub fn api_version(&self) -> Option<(i32, i32)> {
        self.api_version
    }

    /// Bits of [`abi::handler_traits`].
    pub fn traits(&self) -> HandlerTraits {
        self.traits
    }

    /// Names of its traits.
    pub fn trait_names(&self) -> Vec<&'static str> {
        let known = [(abi::handler_traits::COMMAND_BUFFER_COMPATIBLE, "command-buffer-compatible")];
        known.iter().filter(|(bit, _)| self.traits & bit != 0).map(|(_, name)| *name).collect()
    }

    /// Type of the state that its instantiate stage makes.
    pub fn state_type(&self) -> Option<TypeId> {
        self.state_type
    }

    /// Stages that it has a function for.
    pub fn stages(&self) -> Vec<Stage> {
        let all = [Stage::INSTANTIATE, Stage::PREPARE, Stage::INITIALIZE, Stage::EXECUTE, Stage::RECORD];
        match &self.handler {
            Handler::Typed(bundle) => {
                all.into_iter().zip(stages(bundle)).filter(|(_, f)| *f != 0).map(|(s, _)| s).collect()
            }
            Handler::Untyped(_) => vec![Stage::EXECUTE],
        }
    }

    /// Where it came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// A description for people; may be empty.
    pub fn docs(&self) -> &str {
        &self.docs
    }

    /// What its author declared about it: signature and derivatives.
    pub fn declaration(&self) -> Option<&Declaration> {
        self.declaration.as_ref()
    }

    /// What it takes and gives, if that is declared.
    pub fn signature(&self) -> Option<&Signature> {
        self.declaration.as_ref().map(|declaration| &declaration.signature)
    }

    /// Names of the rules that came with it (`infer`, `vjp`, …).
    pub fn rules(&self) -> Vec<&'static str> {
        self.declaration.as_ref().map(Declaration::rules).unwrap_or_default()
    }
}
