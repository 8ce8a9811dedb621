//! Loads libraries by descriptor, by self-registration and by symbols, together with the lowerings that they
//! list.
//!
//! A library registers itself in static initializers, which run once per process. The registered targets are
//! recorded, so that the library can be loaded into further registries. When the library's file has changed,
//! its targets replace the earlier version's in the registry. Sites that were resolved before keep the
//! earlier targets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_ffi::abi::{self, HandlerBundle, Stage, TypeId, TypeInfo};
use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};
use farcall_sig::namespace::is_namespace;

use super::elf::Facts;
use super::exports::{HOST_SYMBOLS, host_symbol_addresses};
use super::inspect::inspect;
use super::library;
use super::load_error::{LinkError, LoadError, NameConflict};
use super::lowering::Listed;
use super::open_libraries::{self, Loaded};
use super::ops::from_ops;
use super::spec::{STAGES, Symbols};
use super::{
    Addition, Change, How, Rank, RegisterError, Registry, Target, TargetOrigin, TargetSpec, UntypedHandler,
};
use crate::interface::api;

/// Result of loading a library.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// File of the library.
    pub path: PathBuf,
    /// Targets of the library, as now registered.
    pub targets: Vec<Arc<Target>>,
    /// Tags of the blocks that the library has lowerings for, without duplicates.
    pub tags: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Warnings for the user: targets and lowerings that an earlier version of the file had and this version
    /// lacks.
    pub warnings: Vec<String>,
}

/// Options for loading a library.
#[derive(Clone, Default, Debug)]
pub struct LoadOptions {
    /// Targets to make from the library's symbols, in addition to its described or registered targets.
    pub targets: Vec<TargetSpec>,
    /// Prefix for the names of the targets that the library describes or registers itself: the op `f` becomes
    /// the target `NAMESPACE.f`. `None` selects the namespace that the library's author chose, if any.
    pub namespace: Option<String>,
    /// Lets targets and lowerings of the library replace registered ones with the same names and tags.
    /// Otherwise such conflicts are errors.
    pub replace: bool,
}

impl Registry {
    /// Loads a library that describes its targets or registers them itself.
    ///
    /// Loading runs the library's code. The library stays loaded until the process ends. If its file has
    /// changed since it was last loaded, the new version is loaded beside the earlier version, and replaces
    /// the earlier version's targets and lowerings in this registry. Executables and sites keep the targets
    /// that they have.
    ///
    /// ```no_run
    /// use farcall::Registry;
    ///
    /// let registry = Registry::new();
    /// // SAFETY: a library of this project.
    /// unsafe { registry.load("target/release/libmy_ops.so") }?;
    /// for target in registry.targets() {
    ///     println!("{} on {}", target.name(), target.platform());
    /// }
    /// # Ok::<(), farcall::registry::LoadError>(())
    /// ```
    ///
    /// Safe code cannot load a library:
    ///
    /// ```compile_fail,E0133
    /// farcall::Registry::new().load("target/release/libmy_ops.so");
    /// ```
    ///
    /// # Errors
    /// If the library cannot be opened, has no targets, or has a target that is rejected.
    ///
    /// # Safety
    /// The library's code is trusted: its initializers run now, and its handlers run when programs call them.
    /// The library's exports under the names of this interface have the types that these names imply.
    pub unsafe fn load(&self, path: impl AsRef<Path>) -> Result<LoadReport, LoadError> {
        // SAFETY: without named symbols, `load_symbols` requires the same as `load` (`# Safety` above).
        unsafe { self.load_symbols(path, &[]) }
    }

    /// Loads a library and registers targets made from its symbols, in addition to the targets that it
    /// describes or registers itself.
    ///
    /// # Errors
    /// Same errors as [`Registry::load`] (without `specs`), or a symbol is missing.
    ///
    /// # Safety
    /// Same requirements as [`Registry::load`]. In addition, the symbols that `specs` names are functions of
    /// the declared kinds.
    pub unsafe fn load_symbols(
        &self,
        path: impl AsRef<Path>,
        specs: &[TargetSpec],
    ) -> Result<LoadReport, LoadError> {
        let options = LoadOptions { targets: specs.to_vec(), ..LoadOptions::default() };
        // SAFETY: the caller guarantees the contract of `load_with`, which is the same (`# Safety` above).
        unsafe { self.load_with(path, &options) }
    }

    /// Loads a library into a namespace, or as a replacement of another library.
    ///
    /// Loading runs the library's code: only load trusted libraries. A file with the same bytes as a loaded
    /// library is the same library.
    ///
    /// ```no_run
    /// use farcall::Registry;
    /// use farcall::registry::LoadOptions;
    ///
    /// let registry = Registry::new();
    /// let options = LoadOptions { namespace: Some("b".into()), ..LoadOptions::default() };
    /// // SAFETY: both libraries are trusted.
    /// unsafe {
    ///     registry.load("vendor_a/libnorm.so")?;
    ///     registry.load_with("vendor_b/libnorm.so", &options)?; // op `rms_norm` is target `b.rms_norm`
    /// }
    /// # Ok::<(), farcall::registry::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Same errors as [`Registry::load_symbols`], or the namespace is invalid.
    ///
    /// # Safety
    /// Same requirements as [`Registry::load_symbols`].
    pub unsafe fn load_with(
        &self,
        path: impl AsRef<Path>,
        options: &LoadOptions,
    ) -> Result<LoadReport, LoadError> {
        let (given, specs) = (path.as_ref(), &options.targets);
        let facts = inspect(given)?;
        let path = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        if let Some(namespace) = options.namespace.clone().filter(|namespace| !is_namespace(namespace)) {
            return Err(LoadError::Namespace { path, namespace });
        }
        let notes = foreign_host_symbols(&facts);
        let loaded = open_libraries::open(&path, &facts).map_err(name_host_symbols)?;
        if !loaded.errors.is_empty() {
            return Err(LoadError::Refused { path, errors: loaded.errors.clone() });
        }
        let namespace = options.namespace.as_deref().or(loaded.namespace.as_deref());
        let library = loaded.origin.clone().in_namespace(namespace);
        let named = specs.iter().map(|spec| from_symbols(&loaded, spec, &facts));
        let mut targets = loaded.targets.clone();
        targets.extend(named.collect::<Result<Vec<_>, _>>()?);
        let named_before = self.named_in_other_versions(&library).into_iter();
        let is_named =
            |old: &TargetSpec| specs.iter().any(|s| s.name == old.name && s.platform == old.platform);
        let mut warnings = Vec::new();
        for spec in named_before.filter(|spec| !is_named(spec)) {
            // Targets whose symbols the new version lacks are dropped, like all other targets that it lacks.
            match from_symbols(&loaded, &spec, &facts) {
                Ok(target) => targets.push(target),
                Err(e) => warnings.push(e.to_string()),
            }
        }
        if targets.is_empty() && loaded.lowerings.is_empty() {
            return Err(LoadError::Nothing { path, notes, exports: handlers_first(facts.exports) });
        }
        let lowerings = loaded.lowerings.iter().cloned();
        let registered = self.register_all(Addition {
            targets: targets.iter().map(|target| target.in_namespace(namespace)).collect(),
            lowerings: lowerings.map(|lowering| lowering.in_namespace(namespace)).collect(),
            rank: Rank::Library,
            of: Some(library),
            replace: options.replace,
        });
        let Change { targets, dropped } = registered.map_err(|errors| match NameConflict::of(&errors) {
            Some(others) => LoadError::NameConflict { path: path.clone(), others },
            None => LoadError::Refused { path: path.clone(), errors },
        })?;
        let warning = |what: String| {
            format!("{} has changed and lacks {what}, which is no longer registered", path.display())
        };
        warnings.extend(dropped.into_iter().map(warning));
        Ok(LoadReport { targets, tags: loaded.tags(), notes, warnings, path })
    }
}

impl Registry {
    /// Registers ops that are linked into this program, as listed by `farcall_ffi::ops!`. Their lowerings
    /// have the rank of a library's lowerings.
    ///
    /// # Errors
    /// If a target of the same name, platform and API exists, a handler is rejected, or a library's lowering
    /// has the tag of one of the ops.
    pub fn register_ops(&self, ops: &[&'static OpDescriptor]) -> Result<Vec<Arc<Target>>, RegisterError> {
        self.register_linked(ops, Rank::Library)
    }

    /// Registers ops that come with the engine. Their lowerings are called after all other lowerings of the
    /// same tag.
    ///
    /// # Errors
    /// Same errors as [`register_ops`](Registry::register_ops).
    pub fn register_built_ins(
        &self,
        ops: &[&'static OpDescriptor],
    ) -> Result<Vec<Arc<Target>>, RegisterError> {
        self.register_linked(ops, Rank::BuiltIn)
    }

    fn register_linked(
        &self,
        ops: &[&'static OpDescriptor],
        rank: Rank,
    ) -> Result<Vec<Arc<Target>>, RegisterError> {
        let ops: Vec<LibraryOp<'_>> = ops.iter().map(|op| LibraryOp::of(op)).collect();
        let described =
            from_ops(&ops, &TargetOrigin::program()).into_iter().collect::<Result<Vec<_>, _>>()?;
        let (targets, lowerings): (Vec<Target>, Vec<Option<Listed>>) = described.into_iter().unzip();
        let lowerings = lowerings.into_iter().flatten().collect();
        let registered = self.register_all(Addition { targets, lowerings, rank, of: None, replace: false });
        registered.map(|change| change.targets).map_err(|mut errors| errors.swap_remove(0))
    }
}

/// Returns the exports that a user may have meant as handlers: no mangled names and no parts of the runtime.
fn handlers_first(exports: Vec<String>) -> Vec<String> {
    exports.into_iter().filter(|e| !e.starts_with('_') && !e.starts_with("rust_")).collect()
}

impl Loaded {
    /// Returns the tags that the library lowers, without duplicates.
    fn tags(&self) -> Vec<String> {
        let tags: BTreeSet<&str> = self.lowerings.iter().map(|lowering| &*lowering.tag).collect();
        tags.into_iter().map(str::to_owned).collect()
    }
}

/// Returns the host symbols that a library needs, with the addresses of this host's symbols.
fn needed_host_symbols(facts: &Facts) -> impl Iterator<Item = (&'static str, usize)> {
    let all = host_symbol_addresses().into_iter();
    all.filter(|(symbol, _)| facts.needs.iter().any(|needed| needed == symbol))
}

/// Reports host symbols that a library needs and that resolve to another host.
fn foreign_host_symbols(facts: &Facts) -> Vec<String> {
    let note = |(symbol, ours)| {
        let who = match library::process_symbol(symbol) {
            Some(address) if address == ours => return None,
            Some(address) => library::file_of(address)
                .map_or_else(|| "another part of this program".to_owned(), |f| f.display().to_string()),
            // A library that this library is linked with may define the symbol. Only the dynamic linker
            // knows.
            None => "a library that it is linked with".to_owned(),
        };
        Some(format!("the library's {symbol} resolves to {who}, where the library's targets are registered"))
    };
    needed_host_symbols(facts).filter_map(note).collect()
}

/// Names the host symbols whose absence made the dynamic linker reject a library. The linker may not find the
/// symbols of this host: it searches only the program's exports and globally loaded libraries.
fn name_host_symbols(error: LoadError) -> LoadError {
    let LoadError::Open { path, why: Some(why), words } = error else { return error };
    if let LinkError::Symbols { names, needed_by } = &*why {
        let hosts = HOST_SYMBOLS.into_iter().filter(|symbol| names.iter().any(|name| name == symbol));
        let symbols: Vec<&'static str> = hosts.collect();
        if !symbols.is_empty() {
            return LoadError::HostSymbols { path: needed_by.clone().unwrap_or(path), symbols };
        }
    }
    LoadError::Open { path, why: Some(why), words }
}

/// Makes a target from symbols of a library.
fn from_symbols(loaded: &Loaded, spec: &TargetSpec, facts: &Facts) -> Result<Target, LoadError> {
    let path = loaded.origin.file.clone().unwrap_or_default();
    let find = |symbol: &str, role: &str| {
        loaded.library.symbol(symbol).ok_or_else(|| {
            let exports = facts.exports.iter().map(String::as_str);
            let nearest = farcall_sig::nearest::nearest(symbol, exports);
            LoadError::MissingSymbol {
                path: path.clone(),
                symbol: symbol.to_owned(),
                role: role.to_owned(),
                target: spec.name.clone(),
                nearest: nearest.into_iter().map(str::to_owned).collect(),
            }
        })
    };
    let origin = TargetOrigin { how: How::Symbols(spec.symbols.to_string()), ..loaded.origin.clone() };
    let refused = |error: RegisterError| LoadError::Refused { path: path.clone(), errors: vec![error] };
    let target = match &spec.symbols {
        Symbols::Untyped(symbol) => {
            let address = find(symbol, "the handler")?;
            // SAFETY: the caller of `load_with` guarantees that the symbol is a function of the untyped API.
            let function = unsafe { std::mem::transmute::<*mut std::ffi::c_void, UntypedHandler>(address) };
            // SAFETY: the caller of `load_with` guarantees the type of the function, and the library stays
            // loaded.
            unsafe { Target::untyped(&spec.name, spec.platform.clone(), function, origin) }
        }
        Symbols::Typed { stages, state_type } => {
            if let Some((id, info)) = state_type {
                let id = find(id, "the state type's id")?;
                let info = find(info, "the state type's info")?;
                // SAFETY: the caller of `load_with` guarantees that these symbols are functions of the
                // required types.
                unsafe { register_state_type(&spec.name, id, info) }.map_err(refused)?;
            }
            let mut handlers = [None; 5];
            for ((handler, symbol), stage) in handlers.iter_mut().zip(stages).zip(STAGES) {
                let Some(symbol) = symbol else { continue };
                let address = find(symbol, &format!("the {stage} stage"))?;
                // SAFETY: only changes the type of a function's address. The caller of `load_with` guarantees
                // that the symbol is a handler.
                *handler =
                    Some(unsafe { std::mem::transmute::<*mut std::ffi::c_void, abi::HandlerFn>(address) });
            }
            let [instantiate, prepare, initialize, execute, record] = handlers;
            let bundle = HandlerBundle { instantiate, prepare, initialize, execute, record };
            // SAFETY: the caller of `load_with` guarantees that the symbols are handlers, and the library
            // stays loaded.
            unsafe { Target::claimed(&spec.name, spec.platform.clone(), bundle, 0, origin, &[]) }
        }
    };
    target.map_err(|e| {
        let metadata_failed = matches!(&e, RegisterError::Metadata { stage: Stage::INSTANTIATE, .. });
        let typed = matches!(&spec.symbols, Symbols::Typed { state_type: Some(_), .. });
        refused(if metadata_failed && !typed { RegisterError::StateTypeUnnamed(Box::new(e)) } else { e })
    })
}

/// Registers a type from the functions that return its id and its description.
///
/// # Safety
/// `id` is an `XLA_FFI_TypeId*()`, and `info` a `const XLA_FFI_TypeInfo*()`.
unsafe fn register_state_type(
    target: &str,
    id: *mut std::ffi::c_void,
    info: *mut std::ffi::c_void,
) -> Result<(), RegisterError> {
    // SAFETY: the caller guarantees the types of both functions (`# Safety` above).
    let (id, info) = unsafe {
        let id = std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn() -> *mut TypeId>(id);
        let info =
            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn() -> *const TypeInfo>(info);
        (id(), info())
    };
    if id.is_null() {
        return Err(RegisterError::StateType(format!("the state type of `{target}` has no id")));
    }
    // SAFETY: the caller guarantees the types of both functions. By these types, `id` points to a type id
    // that may be written, and `info` is null or points to a description.
    unsafe {
        let name = format!("state of {target}");
        *id = api::register_type(&name, *id, info)
            .map_err(|failure| RegisterError::StateType(failure.message))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tempfile::{TempDir, tempdir};

    use super::*;

    /// Builds a library from C++ source code; `None` without a compiler.
    fn build(dir: &TempDir, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
        let dir = dir.path();
        let (file, out) = (dir.join(format!("{name}.cc")), dir.join(format!("lib{name}.so")));
        std::fs::write(&file, source).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let output = Command::new(compiler)
            .args(["-shared", "-fPIC", "-w"])
            .arg(&file)
            .arg("-o")
            .arg(&out)
            .args(flags)
            .output();
        match output {
            Err(e) => {
                println!("NOT RUN: no C++ compiler ({e})");
                None
            }
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(out)
            }
        }
    }

    fn refusal(path: &Path) -> String {
        // SAFETY: a library that the test has built.
        unsafe { Registry::new().load(path) }.unwrap_err().to_string()
    }

    /// Checks that the error names the symbol that the program must export, and how. (The executable of the
    /// unit tests does not export the host's symbols.)
    #[test]
    fn a_host_symbol_that_is_not_exported() {
        let dir = tempdir().unwrap();
        let source = "extern \"C\" void* XLA_FFI_GetApi(); void* api = XLA_FFI_GetApi();";
        let Some(path) = build(&dir, "needs_host", source, &[]) else { return };
        let e = refusal(&path);
        assert!(
            e.contains(
                "needs XLA_FFI_GetApi from the program that loads it, but the program does not export"
            ),
            "{e}"
        );
        assert!(
            e.ends_with(
                "println!(\"cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=XLA_FFI_GetApi\");"
            ),
            "{e}"
        );
    }

    /// Checks the error for a host symbol that comes from another library instead of the program, because the
    /// loaded library is linked with that library.
    #[test]
    fn a_host_symbol_of_a_linked_library() {
        let dir = tempdir().unwrap();
        let source = "extern \"C\" void* XLA_FFI_GetApi() { return nullptr; }";
        let Some(host) = build(&dir, "a_host", source, &[]) else { return };
        let source = "extern \"C\" void* XLA_FFI_GetApi(); void* api = XLA_FFI_GetApi();";
        let Some(path) = build(&dir, "of_a_host", source, &[host.to_str().unwrap()]) else { return };
        let e = refusal(&path);
        assert!(e.contains("XLA_FFI_GetApi resolves to a library that it is linked with"), "{e}");
    }

    #[test]
    fn a_symbol_that_no_library_has() {
        let dir = tempdir().unwrap();
        let source = "extern \"C\" int nobody_has_this(); int x = nobody_has_this();";
        let Some(path) = build(&dir, "needs_nobody", source, &[]) else { return };
        let e = refusal(&path);
        assert!(e.contains("cannot be opened: no library provides the symbol `nobody_has_this`"), "{e}");
    }

    /// Checks that the error names the missing version, for a library that requires `GLIBC_9.…` in place of
    /// `GLIBC_2.…`.
    #[test]
    fn a_library_of_a_newer_system() {
        let hash = |name: &[u8]| {
            let step = |h: u32, c: &u8| {
                let h = (h << 4).wrapping_add(u32::from(*c));
                (h ^ (h >> 24 & 0xf0)) & 0x0fff_ffff
            };
            name.iter().fold(0, step).to_le_bytes()
        };
        let replace = |bytes: &mut Vec<u8>, old: &[u8], new: &[u8]| {
            let found: Vec<usize> =
                bytes.windows(old.len()).enumerate().filter(|(_, w)| *w == old).map(|(i, _)| i).collect();
            found.iter().for_each(|i| bytes[*i..i + old.len()].copy_from_slice(new));
            assert!(!found.is_empty());
        };
        let dir = tempdir().unwrap();
        let source = "extern \"C\" int getpid(); int x = getpid();";
        let Some(path) = build(&dir, "newer", source, &[]) else { return };
        let mut bytes = std::fs::read(&path).unwrap();
        let Some(at) = bytes.windows(8).position(|w| w == b"GLIBC_2.") else {
            println!("NOT RUN: this system's C library has no versions");
            return;
        };
        let old: Vec<u8> = bytes[at..].iter().copied().take_while(|b| *b != 0).collect();
        let mut new = old.clone();
        new[6] = b'9';
        replace(&mut bytes, &old, &new);
        replace(&mut bytes, &hash(&old), &hash(&new));
        std::fs::write(&path, bytes).unwrap();
        let e = refusal(&path);
        let expected = format!(
            "cannot be opened: it was built on a system with a newer C library ({}, this one has glibc 2.",
            String::from_utf8_lossy(&new)
        );
        assert!(e.contains(&expected), "{e}");
    }

    #[test]
    fn a_library_that_is_gone() {
        let dir = tempdir().unwrap();
        let Some(gone) = build(&dir, "gone", "int in_gone() { return 1; }", &[]) else { return };
        let source = "int in_gone(); int x = in_gone();";
        let Some(path) = build(&dir, "needs_gone", source, &[gone.to_str().unwrap()]) else { return };
        std::fs::remove_file(&gone).unwrap();
        let e = refusal(&path);
        assert!(e.contains("libgone.so, which is not found (is LD_LIBRARY_PATH set?)"), "{e}");
    }

    #[test]
    fn a_library_whose_folders_its_dependencies_inherit() {
        let (dir, deps) = (tempdir().unwrap(), tempdir().unwrap());
        let Some(_) = build(&deps, "inner", "int inner() { return 1; }", &[]) else { return };
        let at = format!("-L{}", deps.path().display());
        let source = "int inner(); int middle() { return inner(); }";
        let Some(_) = build(&deps, "middle", source, &[&at, "-linner"]) else { return };
        let source = "int middle(); int nobody(); int x = middle() + nobody();";
        let path = format!("-Wl,--disable-new-dtags,-rpath,{}", deps.path().display());
        let Some(outer) = build(&dir, "outer", source, &[&at, "-lmiddle", &path]) else { return };
        let e = refusal(&outer);
        assert!(e.contains("no library provides the symbol `_Z6nobodyv` that it needs"), "{e}");
    }
}
