//! Kernels: loops over memory that compute an operation, one file per kernel or family of kernels, and the
//! machinery that kernels share. `loops` compiles operations on single elements and movements of elements; it
//! also explains the terms *tile program*, *straight-line program* and *line*.
//!
//! ```text
//! (operation, types) ─find─▶ a kernel of [`TABLE`] ─prepare─▶ [`PreparedKernel`] ─run, repeatedly─▶ elements
//! ```
//!
//! The rest of the engine knows a kernel only by its entry in `TABLE`. The kernel's `prepare` takes an
//! operation with the types of its operands and results, and returns `None` or the code to run: the loop for
//! these element types, with all strides. The compiler calls `prepare` to find a kernel for an operation.
//! Loading a plan calls it again, so that a loop need not trust anything in a plan.
//!
//! A new kernel needs a file here with a `KERNEL`, an entry in `TABLE` before the more general kernels, and
//! a file in `filetests/`; ARCHITECTURE.md has the details. `top_k` is an example with scratch memory and
//! tasks, `sort` has a region, and `iota` is the smallest.
//!
//! **Invariants.** `prepare` trusts nothing: for any arguments, it returns `None` or code that stays within
//! buffers of these types. The prepared code trusts its caller: buffers have the sizes and types that the
//! code was prepared for, and lie where the caller says. Prepared code computes the same bits for any number
//! of threads. Kernels do not know the compiler, the plan or the runtime.

mod arg_reduce;
mod args;
mod body;
mod cache;
mod case_analysis;
mod concatenate;
mod convolution;
mod dot;
mod dynamic_slice;
mod dynamic_update_slice;
mod elementwise;
mod fft;
mod fusion;
mod gather;
mod index;
mod iota;
mod loops;
mod math;
mod movement;
mod number;
mod pad;
mod product;
mod reduce;
mod reduce_precision;
mod reorder;
mod rng_bit_generator;
mod row_blocks;
mod scalars;
mod scatter;
mod select;
mod select_and_scatter;
mod simd;
mod sort;
mod special;
mod square_transpose;
#[cfg(test)]
mod tests;
mod top_k;
mod types;
mod view;
mod window;

use std::fmt;

use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

pub use args::{Args, ElementBytes, NUMBERS, Place};
pub use body::{Body, BodyInst};
pub use loops::capability::{FUSION_LIMITS, duplicates, fuses, reduces};
pub use loops::line::Line;
pub use loops::linked::{Linked, Runner};
pub use loops::prepared::{LONG_BYTES, PreparedKernel, Tasks};
pub use loops::straight_line::{Linking, StraightLine};
pub use types::{branch, is_int};

/// All kernels. The first one that supports an operation is chosen.
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
    &sort::PART_KERNEL,
    &sort::BY_REGION,
    &top_k::KERNEL,
];

/// Kernels that accept virtual operands ([`Request::iotas`]). These kernels compute the elements of such an
/// operand instead of reading them.
static COUNTING: &[&Kernel] = &[&arg_reduce::KERNEL, &sort::KERNEL, &sort::PART_KERNEL];

/// Kernels that apply an arbitrary region to one element after another. Passes look for faster
/// implementations first.
static BY_REGION: &[&Kernel] = &[&scatter::BY_REGION, &sort::BY_REGION];

/// A kernel as an entry of [`TABLE`].
struct Kernel {
    /// Name in plans, dumps and statistics.
    name: &'static str,
    /// Prepares the code to run; `None` if the kernel does not support the operation.
    prepare: fn(&Request<'_>) -> Option<PreparedKernel>,
    /// Returns the outputs that may share memory with inputs, for an operation with these regions.
    in_place: fn(bodies: &[Body]) -> InPlace,
    /// Returns a description of the operation for dumps, in addition to the kernel's name; may be empty.
    describe: fn(&Request<'_>) -> String,
}

/// Pairs of outputs and inputs that may be in exactly the same memory, if their elements have the same size.
pub enum InPlace {
    /// Outputs never share memory with inputs.
    Nowhere,
    /// Every output may be in the memory of any input.
    Anywhere,
    /// The first output may be in the memory of the first input.
    First,
    /// An output may be in the memory of the input with the same number.
    Corresponding,
    /// An output that is not in `outputs` may be in the memory of any input that is not in `inputs`. Both
    /// lists are in ascending order.
    But {
        /// Numbers of the outputs that never share memory with an input.
        outputs: SmallVec<[usize; 2]>,
        /// Numbers of the inputs that never share memory with an output.
        inputs: SmallVec<[usize; 2]>,
    },
}

impl InPlace {
    /// Returns true if this output may be in the memory of this input.
    pub fn allows(&self, output: usize, input: usize) -> bool {
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

/// [`Kernel::in_place`] of kernels whose outputs never share memory with inputs.
fn apart(_: &[Body]) -> InPlace {
    InPlace::Nowhere
}

/// [`Kernel::describe`] of kernels whose name says everything.
fn nothing(_: &Request<'_>) -> String {
    String::new()
}

/// Returns the name of an operation without the dialects `stablehlo` and `farcall`.
pub fn short_name(op: &Op) -> &'static str {
    let name = op.name();
    name.strip_prefix("stablehlo.").or(name.strip_prefix("farcall.")).unwrap_or(name)
}

/// An operation to find a kernel for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The operation with its attributes.
    pub op: &'a Op,
    /// Regions of the operation. Their last arguments are captured values.
    pub bodies: &'a [Body],
    /// Types of the operands, then of the captured values.
    pub inputs: &'a [&'a TensorType],
    /// Types of the results.
    pub outputs: &'a [&'a TensorType],
    /// An entry for each of `inputs`, or no entries if no input is virtual. A virtual operand is not in
    /// memory: its elements count from zero along a dimension, as in an `iota`. Its entry is that dimension.
    pub iotas: &'a [Option<usize>],
}

/// A kernel of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelId(u16);

impl KernelId {
    /// Returns the kernel with this name.
    pub fn named(name: &str) -> Option<KernelId> {
        TABLE.iter().position(|k| k.name == name).map(KernelId::at)
    }

    /// Returns the name in dumps and statistics.
    pub fn name(self) -> &'static str {
        self.kernel().name
    }

    /// Returns true for kernels that apply an arbitrary region to one element after another.
    pub fn is_by_region(self) -> bool {
        BY_REGION.iter().any(|kernel| std::ptr::eq(*kernel, self.kernel()))
    }

    fn at(position: usize) -> KernelId {
        KernelId(u16::try_from(position).unwrap_or(u16::MAX))
    }

    fn kernel(self) -> &'static Kernel {
        // A `KernelId` is only made from a position in the table.
        TABLE[usize::from(self.0)]
    }

    /// Prepares the code to run, if this kernel supports the operation.
    pub fn prepare(self, request: &Request<'_>) -> Option<PreparedKernel> {
        if request.is_sound() { self.kernel().asked(request) } else { None }
    }

    /// Returns a description of the operation for dumps, in addition to the kernel's name.
    pub fn describe(self, request: &Request<'_>) -> String {
        if request.is_sound() { (self.kernel().describe)(request) } else { String::new() }
    }

    /// Returns the outputs that may share memory with inputs.
    pub fn in_place(self, bodies: &[Body]) -> InPlace {
        (self.kernel().in_place)(bodies)
    }
}

impl fmt::Debug for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Finds the kernel for an operation, and prepares its code.
pub fn find(request: &Request<'_>) -> Option<(KernelId, PreparedKernel)> {
    if !request.is_sound() {
        return None;
    }
    let mut all = TABLE.iter().enumerate();
    all.find_map(|(i, kernel)| Some((KernelId::at(i), kernel.asked(request)?)))
}

impl Kernel {
    /// Prepares the code to run for a sound request.
    fn asked(&'static self, request: &Request<'_>) -> Option<PreparedKernel> {
        let counts = || COUNTING.iter().any(|kernel| std::ptr::eq(*kernel, self));
        if request.iotas.is_empty() || counts() { (self.prepare)(request) } else { None }
    }
}

impl Request<'_> {
    /// Returns the dimension along which the elements of a virtual operand count; `None` for an operand in
    /// memory.
    fn iota(&self, operand: usize) -> Option<usize> {
        self.iotas.get(operand).copied().flatten()
    }

    /// Returns true if every type has a known size, operands and results are not quantized, virtual operands
    /// are integers, and the bodies only refer to values that they define.
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
