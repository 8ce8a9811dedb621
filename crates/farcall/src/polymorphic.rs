//! Programs with dynamic sizes, compiled once for each list of types that they are called with.

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use farcall_ir::interface::{InputMismatch, InputMismatchKind, Interface};
use farcall_ir::read::{self, Program};
use farcall_ir::verify::{Verified, verify_owned};
use farcall_ir::{Literal, ProgramError, TensorType, interrupt, refine};

use crate::{CodedError, CompileError, CompileOptions, ErrorCode, Executable, Registry, RunOptions};
use farcall_host::device::DeviceBuffer;
use farcall_runtime::RunError;

/// Default maximum number of executables in the cache.
const DEFAULT_CAPACITY: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// A program whose sizes may be dynamic, as JAX exports it with symbolic shapes.
///
/// The program is read and verified once. The first run on inputs of some types specializes and compiles the
/// program for these types; later runs find the executable in a cache. When the cache is full, the least
/// recently used executable is evicted. Threads that ask for the same types at once compile only once. Clones
/// share the program and the cache.
///
/// A program without dynamic sizes accepts a single list of types.
#[derive(Clone, Debug)]
pub struct Polymorphic {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    module: Verified<'static>,
    interface: Interface,
    registry: Registry,
    options: CompileOptions,
    /// True if sizes are dynamic, or the program has assertions about sizes.
    open: bool,
    cache: Mutex<Cache>,
}

impl Inner {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A compilation and its result. A thread that asks for the result while another thread compiles the program
/// waits for that thread.
type Compilation = Arc<OnceLock<Result<Executable, CompileError>>>;

#[derive(Debug)]
struct Cache {
    capacity: NonZeroUsize,
    /// Number of lookups so far, used as the time of a lookup.
    clock: u64,
    /// The compilations by input types, each with the time of its last use.
    compilations: HashMap<Box<[TensorType]>, (Compilation, u64)>,
}

impl Cache {
    /// Returns the compilation for these types, if there is one.
    fn find(&mut self, types: &[TensorType]) -> Option<Compilation> {
        self.clock += 1;
        let (compilation, used) = self.compilations.get_mut(types)?;
        *used = self.clock;
        Some(Arc::clone(compilation))
    }

    /// Returns the compilation for these types, creating it if necessary, and the compilations that were
    /// evicted for it.
    fn find_or_insert(&mut self, types: &[TensorType]) -> (Compilation, Vec<Compilation>) {
        if let Some(compilation) = self.find(types) {
            return (compilation, Vec::new());
        }
        let gone = self.shrink_below(self.capacity.get());
        let compilation = Compilation::default();
        self.compilations.insert(types.into(), (Arc::clone(&compilation), self.clock));
        (compilation, gone)
    }

    /// Removes the least recently used compilations until fewer than `n` remain, and returns the removed
    /// ones. The caller must drop them without the lock: dropping an executable destroys the states of its
    /// handlers, which runs the handlers' code.
    fn shrink_below(&mut self, n: usize) -> Vec<Compilation> {
        let mut gone = Vec::new();
        while self.compilations.len() >= n {
            let oldest = self.compilations.iter().min_by_key(|(_, (_, used))| *used);
            let Some(types) = oldest.map(|(types, _)| types.clone()) else { break };
            gone.extend(self.compilations.remove(&types).map(|(compilation, _)| compilation));
        }
        gone
    }
}

/// A program that cannot run at given sizes.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolymorphicError {
    /// The program does not accept inputs of these types. Nothing was compiled.
    #[error(transparent)]
    Inputs(#[from] InputMismatch),
    /// The program cannot be compiled for these types.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A lowering or shape function that the compilation called asks for the same program at the same types.
    #[error(
        "a lowering or shape function requested the program for the types for which it is being compiled"
    )]
    Reentered,
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl CodedError for PolymorphicError {
    fn code(&self) -> ErrorCode {
        match self {
            PolymorphicError::Inputs(error) => match error.kind() {
                InputMismatchKind::Count => ErrorCode::ArgumentCount,
                InputMismatchKind::ElementType => ErrorCode::ElementType,
                InputMismatchKind::Shape => ErrorCode::Shape,
            },
            PolymorphicError::Compile(error) => error.code(),
            PolymorphicError::Reentered => ErrorCode::InvalidProgram,
            PolymorphicError::Run(error) => error.code(),
        }
    }
}

thread_local! {
    /// The compilations that this thread runs or waits for. There may be several, since a lowering that runs
    /// during a compilation may ask for other programs.
    static COMPILING: RefCell<Vec<Compilation>> = const { RefCell::new(Vec::new()) };
}

/// Guard of a thread that runs a compilation, or waits for another thread to finish it.
struct Compiling;

impl Compiling {
    /// Registers the compilation for this thread. `None` if the thread has already registered it, and would
    /// wait for itself.
    fn begin(compilation: &Compilation) -> Option<Compiling> {
        COMPILING.with_borrow_mut(|all| {
            let is_new = !all.iter().any(|known| Arc::ptr_eq(known, compilation));
            is_new.then(|| {
                all.push(Arc::clone(compilation));
                Compiling
            })
        })
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        let last = COMPILING.with_borrow_mut(Vec::pop);
        drop(last);
    }
}

impl Polymorphic {
    /// Reads a program in any format ([`read::program`]): a function serialized by `jax.export`, a portable
    /// artifact, or text. `name` is the name of the file, for messages. Custom calls will be bound to targets
    /// of `registry`. The input types of each run replace the input types in `options`.
    ///
    /// ```
    /// use farcall::ir::{DType, Literal};
    /// use farcall::{CompileOptions, Polymorphic, Registry};
    ///
    /// let program = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    ///   %0 = stablehlo.add %x, %x : tensor<?xf32>
    ///   return %0 : tensor<?xf32>
    /// }";
    /// let options = CompileOptions::new();
    /// let double = Polymorphic::read(program.as_bytes(), "double.mlir", &Registry::new(), options)?;
    /// for n in [2, 5] {
    ///     let results = double.run(&[Literal::zeros(DType::F32, [n])])?;
    ///     assert_eq!(results[0].dims(), [n]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the program cannot be read, was exported for other platforms, or violates the specification.
    pub fn read(
        bytes: &[u8],
        name: &str,
        registry: &Registry,
        options: CompileOptions,
    ) -> Result<Polymorphic, ProgramError> {
        let platform = options.target_platform().jax_name();
        let program = read::program(bytes, name, platform, options.entry_name())?;
        Polymorphic::new(program, registry, options)
    }

    /// Creates a polymorphic program from a program that has been read, like [`read`](Polymorphic::read).
    ///
    /// # Errors
    /// Every violation of the specification that the verifier finds.
    pub fn new(
        program: Program,
        registry: &Registry,
        options: CompileOptions,
    ) -> Result<Polymorphic, ProgramError> {
        let Program { module, interface } = program;
        let module = verify_owned(module)?;
        let cache = Mutex::new(Cache { capacity: DEFAULT_CAPACITY, clock: 0, compilations: HashMap::new() });
        let open = refine::is_needed(&module);
        let inner = Inner { module, interface, registry: registry.clone(), options, open, cache };
        Ok(Polymorphic { inner: Arc::new(inner) })
    }

    /// Sets the maximum number of executables in the cache; the default is 32. Evicted executables that are
    /// in use stay alive.
    pub fn set_capacity(&self, capacity: NonZeroUsize) {
        let mut cache = self.inner.cache();
        cache.capacity = capacity;
        let gone = cache.shrink_below(capacity.get().saturating_add(1));
        drop(cache);
        drop(gone);
    }

    /// The interface of the program: the names of its arguments, symbolic sizes, and constraints.
    pub fn interface(&self) -> &Interface {
        &self.inner.interface
    }

    /// Returns the executable for inputs of these types, one type for each input of the program
    /// ([`Interface::inputs`]).
    ///
    /// # Errors
    /// If the program does not accept such inputs, or cannot be compiled for them.
    pub fn for_types(&self, types: &[TensorType]) -> Result<Executable, PolymorphicError> {
        let inner = &*self.inner;
        let found = inner.cache().find(types);
        if let Some(Ok(executable)) = found.as_ref().and_then(|compilation| compilation.get()) {
            return Ok(executable.clone());
        }
        inner.interface.solve(types)?;
        let (compilation, gone) = inner.cache().find_or_insert(types);
        drop(gone);
        let Some(compiling) = Compiling::begin(&compilation) else { return Err(PolymorphicError::Reentered) };
        let compiled = compilation.get_or_init(|| {
            let options = inner.options.clone();
            let options = if inner.open { options.inputs(types.iter().cloned()) } else { options };
            Executable::compile_verified(&inner.module, &inner.registry, &options)
        });
        drop(compiling);
        if compiled.is_err() {
            // A failure is not cached: memory or targets that are missing now may be available later.
            let mut cache = inner.cache();
            if cache.compilations.get(types).is_some_and(|(kept, _)| Arc::ptr_eq(kept, &compilation)) {
                // `compilation` keeps the result alive, so nothing is dropped under the lock.
                cache.compilations.remove(types);
            }
        }
        if matches!(compiled, Err(CompileError::Interrupted)) && !interrupt::has_ended() {
            // The thread that compiled was interrupted. This thread was not, so it starts anew.
            return self.for_types(types);
        }
        Ok(compiled.clone()?)
    }

    /// Runs the program on literals, one for each input of the program, and returns one literal per result.
    ///
    /// # Errors
    /// The errors of [`for_types`](Polymorphic::for_types) and of [`Executable::run`].
    pub fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>, PolymorphicError> {
        let types: Vec<TensorType> = inputs.iter().map(Literal::ty).collect();
        Ok(self.for_types(&types)?.run(inputs)?)
    }

    /// Runs the program like [`run`](Polymorphic::run), with options.
    ///
    /// # Errors
    /// The errors of [`for_types`](Polymorphic::for_types) and of [`Executable::run`].
    pub fn run_with<'r>(
        &self,
        inputs: &[Literal],
        options: impl Into<RunOptions<'r>>,
    ) -> Result<Vec<Literal>, PolymorphicError> {
        let types: Vec<TensorType> = inputs.iter().map(Literal::ty).collect();
        Ok(self.for_types(&types)?.run_with(inputs, options)?)
    }

    /// Runs the program on buffers, as [`Executable::execute`] does.
    ///
    /// # Errors
    /// The errors of [`for_types`](Polymorphic::for_types) and of [`Executable::execute`].
    pub fn execute<B: Into<DeviceBuffer>>(
        &self,
        inputs: impl IntoIterator<Item = B>,
    ) -> Result<Vec<DeviceBuffer>, PolymorphicError> {
        let inputs: Vec<DeviceBuffer> = inputs.into_iter().map(B::into).collect();
        let types: Vec<TensorType> = inputs.iter().map(DeviceBuffer::ty).collect();
        Ok(self.for_types(&types)?.execute(inputs)?)
    }

    /// Runs the program on buffers, as [`Executable::execute_with`] does.
    ///
    /// # Errors
    /// The errors of [`for_types`](Polymorphic::for_types) and of [`Executable::execute`].
    pub fn execute_with<'r, B: Into<DeviceBuffer>>(
        &self,
        inputs: impl IntoIterator<Item = B>,
        options: impl Into<RunOptions<'r>>,
    ) -> Result<Vec<DeviceBuffer>, PolymorphicError> {
        let inputs: Vec<DeviceBuffer> = inputs.into_iter().map(B::into).collect();
        let types: Vec<TensorType> = inputs.iter().map(DeviceBuffer::ty).collect();
        Ok(self.for_types(&types)?.execute_with(inputs, options)?)
    }
}
