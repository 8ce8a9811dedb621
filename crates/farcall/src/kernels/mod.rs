//! Kernels: loops over memory that compute an operation, one file a kernel or a family.
//!
//! ```text
//! (operation, types) ──find──▶ a kernel of [`TABLE`] ──prepare──▶ [`Prepared`] ──run, often──▶ elements
//! ```
//!
//! The rest of the engine knows a kernel only by its entry in [`TABLE`]. Its `prepare` takes an operation with the
//! types of its operands and results, and returns `None` or the code to run: the loop for these element types, with
//! all strides. The compiler calls it to find out whether there is a kernel. Loading a plan calls it again, so a loop
//! need not trust anything in a plan.
//!
//! To add one: a file here with a `KERNEL`, an entry in [`TABLE`] before the more general ones, and a file in
//! `filetests/`; ARCHITECTURE.md has the details. `top_k` is an example with scratch memory and
//! tasks, `sort` with a region; `iota` is the smallest.
//!
//! **Invariants.** `prepare` trusts nothing: whatever its arguments, it returns `None` or code that stays within
//! buffers of these types. The prepared code trusts its caller for sizes, types and places. It computes the same bits
//! whatever the number of threads. Kernels do not know the compiler, the plan or the runtime.

mod arg_reduce;
mod args;
mod body;
mod by_rows;
mod cases;
mod chain;
mod complex;
mod concatenate;
mod convolution;
mod dot;
mod dynamic_slice;
mod dynamic_update_slice;
mod elementwise;
mod fft;
mod fusion;
mod gather;
mod halves;
mod index;
mod iota;
mod limits;
mod linked;
mod map;
mod math;
mod minifloat;
mod mix;
mod movement;
mod moves;
#[cfg(all(target_arch = "x86_64", unix))]
mod native;
#[cfg(not(all(target_arch = "x86_64", unix)))]
#[path = "native/none.rs"]
mod native;
mod number;
mod pad;
mod pair;
mod part;
mod product;
mod reduce;
mod reduce_precision;
mod reorder;
mod rng_bit_generator;
mod scalars;
mod scatter;
mod select;
mod select_and_scatter;
mod simd;
mod sort;
mod special;
mod squares;
mod straight_line;
#[cfg(test)]
mod tests;
mod tile;
mod top_k;
mod types;
mod window;

use std::fmt;

use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

pub(crate) use args::{Args, Element, LONG_BYTES, NUMBERS, Place, Prepared, Tasks};
pub use body::{Body, BodyInst};
pub(crate) use fusion::{fuses, reduces};
pub(crate) use limits::{fused_multiply_adds, triad};
pub(crate) use linked::{Code, Line, Linked, Runner};
pub(crate) use straight_line::{Linking, StraightLine};
pub(crate) use types::{branch, is_int};

/// Every kernel. Of those that serve an operation, the first one is taken.
static TABLE: &[&Kernel] = &[
    &elementwise::KERNEL,
    &fusion::KERNEL,
    &iota::KERNEL,
    &reorder::BROADCAST,
    &reorder::TRANSPOSE,
    &reorder::SLICE,
    &reorder::REVERSE,
    &concatenate::KERNEL,
    &pad::KERNEL,
    &dynamic_slice::KERNEL,
    &dynamic_update_slice::KERNEL,
    &gather::KERNEL,
    &reduce::KERNEL,
    &arg_reduce::KERNEL,
    &window::KERNEL,
    &select_and_scatter::KERNEL,
    &scatter::KERNEL,
    &scatter::BY_REGION,
    &reduce_precision::KERNEL,
    &dot::KERNEL,
    &fft::KERNEL,
    &rng_bit_generator::KERNEL,
    &convolution::KERNEL,
    &sort::KERNEL,
    &sort::PART,
    &sort::BY_REGION,
    &top_k::KERNEL,
];

/// Kernels of which operands may be in no memory ([`Request::iotas`]): they count instead of reading them.
static COUNTING: &[&Kernel] = &[&arg_reduce::KERNEL, &sort::KERNEL, &sort::PART];

/// Kernels that apply any region element by element. Passes look for faster ways first.
static BY_REGION: &[&Kernel] = &[&scatter::BY_REGION, &sort::BY_REGION];

/// A kernel: what there is to know about it.
struct Kernel {
    /// As plans, dumps and statistics name it.
    name: &'static str,
    /// What runs, if the kernel serves the operation.
    prepare: fn(&Request<'_>) -> Option<Prepared>,
    /// Which outputs may lie where inputs lie. It is asked with the operation's regions.
    in_place: fn(bodies: &[Body]) -> InPlace,
    /// What a dump says of the operation besides the kernel's name; may be nothing.
    describe: fn(&Request<'_>) -> String,
}

/// Which outputs may lie exactly where which inputs lie, if elements of both are of one size.
pub(crate) enum InPlace {
    /// Outputs and inputs are always apart.
    Nowhere,
    Anywhere,
    /// The first output where the first input lies.
    First,
    /// An output where the input of its number lies.
    Corresponding,
    /// Anywhere but these, in ascending order.
    But {
        outputs: SmallVec<[usize; 2]>,
        inputs: SmallVec<[usize; 2]>,
    },
}

impl InPlace {
    /// True if this output may lie where this input lies.
    pub(crate) fn allows(&self, output: usize, input: usize) -> bool {
        match self {
            InPlace::Nowhere => false,
            InPlace::Anywhere => true,
            InPlace::First => (output, input) == (0, 0),
            InPlace::Corresponding => output == input,
            InPlace::But { outputs, inputs } => {
                outputs.binary_search(&output).is_err() && inputs.binary_search(&input).is_err()
            }
        }
    }
}

/// For [`Kernel::in_place`]: outputs and inputs are always apart.
fn apart(_: &[Body]) -> InPlace {
    InPlace::Nowhere
}

/// For [`Kernel::describe`]: the name says everything.
fn nothing(_: &Request<'_>) -> String {
    String::new()
}

/// The name of an operation without `stablehlo`.
pub(crate) fn short_name(op: &Op) -> &'static str {
    op.name().strip_prefix("stablehlo.").unwrap_or(op.name())
}

/// An operation that a kernel is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The operation with its attributes.
    pub(crate) op: &'a Op,
    /// Its regions. Their last arguments are captured values.
    pub(crate) bodies: &'a [Body],
    /// Types of the operands, then of captured values.
    pub(crate) inputs: &'a [&'a TensorType],
    /// Types of the results.
    pub(crate) outputs: &'a [&'a TensorType],
    /// Of operands that are in no memory: the dimension along which their elements count from zero, like those of an
    /// `iota`. Empty if there are none, else as long as `inputs`.
    pub(crate) iotas: &'a [Option<usize>],
}

/// A kernel of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelId(u16);

impl KernelId {
    /// The kernel of this name.
    pub fn named(name: &str) -> Option<KernelId> {
        TABLE.iter().position(|k| k.name == name).map(KernelId::at)
    }

    /// As dumps and statistics name it.
    pub fn name(self) -> &'static str {
        self.kernel().name
    }

    /// True for kernels that apply any region element by element.
    pub(crate) fn is_by_region(self) -> bool {
        BY_REGION.iter().any(|kernel| std::ptr::eq(*kernel, self.kernel()))
    }

    fn at(position: usize) -> KernelId {
        KernelId(u16::try_from(position).unwrap_or(u16::MAX))
    }

    fn kernel(self) -> &'static Kernel {
        // Ids are made from positions alone.
        TABLE[usize::from(self.0)]
    }

    /// What runs, if this kernel serves the operation.
    pub(crate) fn prepare(self, request: &Request<'_>) -> Option<Prepared> {
        if request.is_sound() { self.kernel().asked(request) } else { None }
    }

    /// What a dump says of the operation besides the kernel's name.
    pub(crate) fn describe(self, request: &Request<'_>) -> String {
        if request.is_sound() { (self.kernel().describe)(request) } else { String::new() }
    }

    /// Which outputs may lie where inputs lie.
    pub(crate) fn in_place(self, bodies: &[Body]) -> InPlace {
        (self.kernel().in_place)(bodies)
    }
}

impl fmt::Debug for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kernel that serves an operation, and what it has prepared.
pub(crate) fn find(request: &Request<'_>) -> Option<(KernelId, Prepared)> {
    if !request.is_sound() {
        return None;
    }
    let mut all = TABLE.iter().enumerate();
    all.find_map(|(i, kernel)| Some((KernelId::at(i), kernel.asked(request)?)))
}

impl Kernel {
    /// What runs, if the kernel serves a sound request.
    fn asked(&'static self, request: &Request<'_>) -> Option<Prepared> {
        let counts = || COUNTING.iter().any(|kernel| std::ptr::eq(*kernel, self));
        if request.iotas.is_empty() || counts() { (self.prepare)(request) } else { None }
    }
}

impl Request<'_> {
    /// The dimension along which an operand counts that is in no memory.
    fn iota(&self, operand: usize) -> Option<usize> {
        self.iotas.get(operand).copied().flatten()
    }

    /// True if every type has a size and plain elements, and the bodies refer to values that they have.
    fn is_sound(&self) -> bool {
        let plain =
            |t: &&TensorType| t.quant.is_none() && t.bytes().is_some_and(|n| isize::try_from(n).is_ok());
        let of_bodies = self.bodies.iter().flat_map(|b| b.args.iter().chain(b.insts.iter().map(|i| &i.ty)));
        let counts = |(t, dim): (&&TensorType, &Option<usize>)| {
            dim.is_none_or(|dim| dim < t.rank() && t.dtype.is_integer())
        };
        (self.iotas.is_empty() || self.iotas.len() == self.inputs.len())
            && self.inputs.iter().zip(self.iotas).all(counts)
            && self.inputs.iter().copied().chain(self.outputs.iter().copied()).all(|t| plain(&t))
            && self.bodies.iter().all(Body::is_sound)
            && of_bodies.filter(|t| t.quant.is_none()).all(|t| plain(&t))
    }
}
