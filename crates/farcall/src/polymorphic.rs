//! Programs that run at every size they admit: compiled once for each list of types that they are called with.

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use farcall_ir::interface::{Interface, Mismatch, MismatchKind};
use farcall_ir::read::{self, Program};
use farcall_ir::verify::verify;
use farcall_ir::{Literal, Module, ProgramError, TensorType, interrupt, refine};

use crate::device::Buffer;
use crate::runtime::RunError;
use crate::{CompileError, CompileOptions, ErrorCode, Executable, Registry};

/// Executables that are kept at most, unless told otherwise.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// A program whose sizes may be open, as JAX exports it with symbolic shapes.
///
/// It is read and verified once. The first run on inputs of some types specializes and compiles it for these; later ones
/// find the executable in a cache, from which the one that was not used for longest goes when it is full. Threads that ask for the
/// same types at once compile once. Cloning shares the program and the cache.
///
/// A program without open sizes is one that admits a single list of types.
#[derive(Clone, Debug)]
pub struct Polymorphic {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    module: Module,
    interface: Interface,
    registry: Registry,
    options: CompileOptions,
    /// Sizes are open, or the program asserts something about them.
    open: bool,
    cache: Mutex<Cache>,
}

impl Inner {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An executable, once it is compiled. Those who ask in the meantime wait.
type Slot = Arc<OnceLock<Result<Executable, CompileError>>>;

#[derive(Debug)]
struct Cache {
    capacity: NonZeroUsize,
    /// Counts the uses.
    clock: u64,
    /// With the time of the last use.
    slots: HashMap<Box<[TensorType]>, (Slot, u64)>,
}

impl Cache {
    /// The slot of these types, if there is one.
    fn find(&mut self, types: &[TensorType]) -> Option<Slot> {
        self.clock += 1;
        let (slot, used) = self.slots.get_mut(types)?;
        *used = self.clock;
        Some(Arc::clone(slot))
    }

    /// The slot of these types, which is new if there was none, and what goes for it.
    fn slot(&mut self, types: &[TensorType]) -> (Slot, Vec<Slot>) {
        if let Some(slot) = self.find(types) {
            return (slot, Vec::new());
        }
        let gone = self.shrink_below(self.capacity.get());
        let slot = Slot::default();
        self.slots.insert(types.into(), (Arc::clone(&slot), self.clock));
        (slot, gone)
    }

    /// Takes out what was not used for longest, until there are fewer than `n`. It is to be dropped without the lock:
    /// with an executable go the states of its handlers, which is their code.
    fn shrink_below(&mut self, n: usize) -> Vec<Slot> {
        let mut gone = Vec::new();
        while self.slots.len() >= n {
            let oldest = self.slots.iter().min_by_key(|(_, (_, used))| *used);
            let Some(types) = oldest.map(|(types, _)| types.clone()) else { break };
            gone.extend(self.slots.remove(&types).map(|(slot, _)| slot));
        }
        gone
    }
}

/// Why a program did not run at some sizes.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolymorphicError {
    /// The program does not take inputs of these types. Nothing was compiled.
    #[error(transparent)]
    Inputs(#[from] Mismatch),
    /// It cannot be compiled for them.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// What compiles it (a lowering, a shape function) asks for the same program at the same types.
    #[error("compiling the program for these types asks for the program at the same types")]
    Reentered,
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl PolymorphicError {
    /// What kind of error it is.
    pub fn code(&self) -> ErrorCode {
        match self {
            PolymorphicError::Inputs(error) => match error.kind() {
                MismatchKind::Count => ErrorCode::ArgumentCount,
                MismatchKind::ElementType => ErrorCode::ElementType,
                MismatchKind::Shape => ErrorCode::Shape,
            },
            PolymorphicError::Compile(error) => error.code(),
            PolymorphicError::Reentered => ErrorCode::InvalidProgram,
            PolymorphicError::Run(error) => error.code(),
        }
    }
}

thread_local! {
    /// The slots that this thread waits for or fills: lowerings may ask for other programs meanwhile.
    static COMPILING: RefCell<Vec<Slot>> = const { RefCell::new(Vec::new()) };
}

/// This thread fills a slot, or waits for another one that does.
struct Compiling;

impl Compiling {
    /// `None` if the thread is at it already: it would wait for itself.
    fn begin(slot: &Slot) -> Option<Compiling> {
        COMPILING.with_borrow_mut(|all| {
            let is_new = !all.iter().any(|known| Arc::ptr_eq(known, slot));
            is_new.then(|| {
                all.push(Arc::clone(slot));
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
    /// Reads a program in any format ([`read::program`]): what `jax.export` serialized, a portable artifact, or text. `name` is
    /// that of the file, for messages. Custom calls will be bound to targets of `registry`; the inputs of `options` are
    /// those of each run.
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
    /// If the program cannot be read, was exported for other platforms, or breaks the specification.
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

    /// The same for a program that has been read.
    ///
    /// # Errors
    /// Every violation of the specification that the verifier finds.
    pub fn new(
        program: Program,
        registry: &Registry,
        options: CompileOptions,
    ) -> Result<Polymorphic, ProgramError> {
        let Program { module, interface } = program;
        verify(&module)?;
        let cache = Mutex::new(Cache { capacity: CAPACITY, clock: 0, slots: HashMap::new() });
        let open = refine::is_needed(&module);
        let inner = Inner { module, interface, registry: registry.clone(), options, open, cache };
        Ok(Polymorphic { inner: Arc::new(inner) })
    }

    /// Keeps at most so many executables, instead of 32. Those that are in use live on without it.
    pub fn set_capacity(&self, capacity: NonZeroUsize) {
        let mut cache = self.inner.cache();
        cache.capacity = capacity;
        let gone = cache.shrink_below(capacity.get().saturating_add(1));
        drop(cache);
        drop(gone);
    }

    /// What it takes and gives: the names of arguments, sizes with symbols, constraints.
    pub fn interface(&self) -> &Interface {
        &self.inner.interface
    }

    /// The executable for inputs of these types: one for each input of the program
    /// ([`Interface::inputs`]).
    ///
    /// # Errors
    /// If the program does not take such inputs, or cannot be compiled for them.
    pub fn for_types(&self, types: &[TensorType]) -> Result<Executable, PolymorphicError> {
        let inner = &*self.inner;
        let found = inner.cache().find(types);
        if let Some(Ok(executable)) = found.as_ref().and_then(|slot| slot.get()) {
            return Ok(executable.clone());
        }
        inner.interface.solve(types)?;
        let (slot, gone) = inner.cache().slot(types);
        drop(gone);
        let Some(compiling) = Compiling::begin(&slot) else { return Err(PolymorphicError::Reentered) };
        let compiled = slot.get_or_init(|| {
            let options = inner.options.clone();
            let options = if inner.open { options.inputs(types.iter().cloned()) } else { options };
            Executable::compile(&inner.module, &inner.registry, &options)
        });
        drop(compiling);
        if compiled.is_err() {
            // A later attempt may succeed: memory and targets may be there then.
            let mut cache = inner.cache();
            if cache.slots.get(types).is_some_and(|(kept, _)| Arc::ptr_eq(kept, &slot)) {
                // `slot` still holds it.
                cache.slots.remove(types);
            }
        }
        if matches!(compiled, Err(CompileError::Interrupted)) && !interrupt::has_ended() {
            // The interrupt was on the thread that compiled it, not on this one.
            return self.for_types(types);
        }
        Ok(compiled.clone()?)
    }

    /// Runs the program on literals, one for each input of the program: one literal per result.
    ///
    /// # Errors
    /// As [`for_types`](Polymorphic::for_types), and those of [`Executable::run`].
    pub fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>, PolymorphicError> {
        let types: Vec<TensorType> = inputs.iter().map(Literal::ty).collect();
        Ok(self.for_types(&types)?.run(inputs)?)
    }

    /// Runs the program on buffers, as [`Executable::execute`] does.
    ///
    /// # Errors
    /// As [`for_types`](Polymorphic::for_types), and those of [`Executable::execute`].
    pub fn execute<B: Into<Buffer>>(
        &self,
        inputs: impl IntoIterator<Item = B>,
    ) -> Result<Vec<Buffer>, PolymorphicError> {
        let inputs: Vec<Buffer> = inputs.into_iter().map(B::into).collect();
        let types: Vec<TensorType> = inputs.iter().map(Buffer::ty).collect();
        Ok(self.for_types(&types)?.execute(inputs)?)
    }
}
