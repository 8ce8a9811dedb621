//! Decompositions as blocks: composites with a default body of ordinary operations, which any compiler can
//! run, and lowerings to calls of this library's targets.
//!
//! | tag | options | results |
//! | --- | --- | --- |
//! | `farcall.qr` | [`Qr`]: `mode`, `eps` | `q` and `r`, like `qr_cpu_custom_call_f32` |
//! | `farcall.eigh` | [`Eigh`]: `max_iter`, `eps` | `w` and `v`, like `eigh_cpu_custom_call_f32` |
//!
//! A block accepts any number of batch dimensions, and real, complex and integer elements. The results for
//! integers are `f32`. On the host, a real or integer block becomes a custom call if this library is loaded.
//! The options for the accuracy of the default body have no effect then. The default bodies choose the same
//! signs, phases and order as the custom calls.
//!
//! The Python package makes the same blocks with the same default bodies in JAX (`farcall.linalg`). Tests of
//! that package compare the two implementations.

mod eigh;
mod graph;
pub(crate) mod lowering;
mod qr;

use farcall_ir::builder::Builder;
use farcall_ir::module::{Func, Module, NewInst, ValueId};
use farcall_ir::op::{Composite, Op};
use farcall_ir::{AttrDict, Attribute, DType, Source, Span, TensorType};

use graph::{Build, Graph};

/// Tag of QR decompositions.
pub const QR: &str = "farcall.qr";
/// Tag of eigendecompositions of Hermitian matrices.
pub const EIGH: &str = "farcall.eigh";
/// Version of the semantics of both tags.
pub const VERSION: i64 = 0;

/// Minimum ratio of a large entry of an eigenvector to its largest entry. The first large entry determines
/// the vector's sign. Ratios of 1 (up to rounding) and 1/2 are common; this ratio is rare, so rounding seldom
/// decides which entry is the first large one.
pub(crate) const MIN_SIGN_ENTRY_RATIO: f64 = 0.6;

/// Number of columns of the factor `q`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Number of reflections, which is the smaller size of the matrix.
    #[default]
    Reduced,
    /// Number of rows of the matrix.
    Complete,
}

/// A QR decomposition `x = q·r`: tag [`QR`], attributes `mode` (`"reduced"`, `"complete"`) and `eps`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Qr {
    /// Number of columns of `q`.
    pub mode: Mode,
    /// The default body skips the reflection of a column if the norm of its part below the diagonal is at
    /// most `eps`.
    pub eps: f64,
}

/// The eigenvalues `w`, ascending, and eigenvectors `v` of Hermitian matrices, of which only the lower
/// triangle is read. Tag [`EIGH`], attributes `max_iter` and `eps`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Eigh {
    /// Maximum number of sweeps of rotations in the default body.
    pub max_iter: i32,
    /// The default body stops once the Frobenius norm of the entries off the diagonal is at most `eps` times
    /// the norm of the matrix.
    pub eps: f64,
}

impl Eigh {
    /// Returns options that make the default body as accurate as the element type: `eps` is its machine
    /// epsilon.
    pub fn exact(dtype: DType) -> Eigh {
        let eps = match computed_in(dtype) {
            Some(DType::F64 | DType::C128) => f64::EPSILON,
            _ => f64::from(f32::EPSILON),
        };
        Eigh { max_iter: 100, eps }
    }
}

/// Reason why a block does not support a type.
#[derive(Clone, PartialEq, Debug)]
pub struct Unsupported(String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// A block of this library.
trait Block {
    const TAG: &'static str;

    /// Returns the attributes of the composite.
    fn attrs(&self) -> AttrDict;

    /// Returns the types of the results for a batch of `m×n` matrices.
    fn results(
        &self,
        batch: &[usize],
        sizes: [usize; 2],
        dtype: DType,
    ) -> Result<[TensorType; 2], Unsupported>;

    /// Builds the computation of the results for a batch of matrices with one batch dimension.
    fn body(&self, g: &mut Graph<'_>, x: ValueId) -> Build<[ValueId; 2]>;
}

macro_rules! block {
    ($name:ident) => {
        impl $name {
            /// Adds the default body for matrices of this type to a module, as a private function.
            ///
            /// # Errors
            /// If the type is not a type of numeric matrices with static sizes.
            pub fn composite(&self, module: &mut Module, x: &TensorType) -> Result<Composite, Unsupported> {
                composite(self, module, x)
            }

            /// Returns the types of the composite's results.
            ///
            /// # Errors
            /// Same errors as [`composite`](Self::composite).
            pub fn result_types(&self, x: &TensorType) -> Result<[TensorType; 2], Unsupported> {
                result_types(self, x)
            }

            /// Returns a program with one block. Its function `main` takes the matrices and returns the two
            /// results.
            ///
            /// # Errors
            /// Same errors as [`composite`](Self::composite).
            pub fn program(&self, x: &TensorType) -> Result<Module, Unsupported> {
                program(self, x)
            }
        }
    };
}
block!(Qr);
block!(Eigh);

fn program(block: &impl Block, x: &TensorType) -> Result<Module, Unsupported> {
    let mut module = Module::new(Source::new("", ""));
    let (mut main, operand) = function("main".to_owned(), x, &result_types(block, x)?);
    let composite = composite(block, &mut module, x)?;
    let new = NewInst::new(Op::Composite(Box::new(composite)), [operand]);
    let made = main.push(Func::BODY, new, main.results().to_vec());
    let returned = main.inst(made).results().to_vec();
    main.push(Func::BODY, NewInst::new(Op::Return, returned), []);
    module.add_func(main);
    Ok(module)
}

fn composite(block: &impl Block, module: &mut Module, x: &TensorType) -> Result<Composite, Unsupported> {
    let results = result_types(block, x)?;
    let base = format!("{}.impl", block_name(block));
    let names = std::iter::once(base.clone()).chain((1..).map(|i| format!("{base}_{i}")));
    let name = { names }.find(|name| module.func(name).is_none()).unwrap_or(base);
    let (mut func, operand) = function(name, x, &results);
    func.public = false;
    default_body(block, &mut func, operand, x, &results).map_err(|diagnostics| {
        let messages: Vec<String> = diagnostics.iter().map(|d| d.message.clone()).collect();
        Unsupported(format!("this is a bug in farcall: {}: {}", block_name(block), messages.join("; ")))
    })?;
    Ok(Composite {
        name: block_name(block).to_owned(),
        attrs: block.attrs(),
        decomposition: module.add_func(func),
        version: VERSION,
    })
}

/// Creates an empty function with one operand, and returns the function and the operand.
fn function(name: String, operand: &TensorType, results: &[TensorType]) -> (Func, ValueId) {
    let mut func = Func::new(name, Span::default());
    let value = func.add_arg(Func::BODY, operand.clone().into());
    func.set_result_types(results.iter().cloned().map(Into::into));
    (func, value)
}

fn block_name<B: Block>(_: &B) -> &'static str {
    B::TAG
}

/// Builds the default body: converts the matrices to one batch dimension and to the element type for
/// arithmetic, adds the block's own computation, and converts the results back.
fn default_body(
    block: &impl Block,
    func: &mut Func,
    x: ValueId,
    ty: &TensorType,
    results: &[TensorType; 2],
) -> Build<()> {
    let (batch, [m, n]) = split(ty.sizes());
    let count = batch.iter().product();
    let mut g = Graph::new(Builder::at_end(func, Func::BODY));
    let returned = if results.iter().all(|ty| ty.elements() == Some(0)) {
        [
            g.fill(results[0].dtype, results[0].sizes(), 0.0)?,
            g.fill(results[1].dtype, results[1].sizes(), 0.0)?,
        ]
    } else {
        let x = g.reshape(x, &[count, m, n])?;
        let x = g.convert(x, computed_in(ty.dtype).unwrap_or(ty.dtype))?;
        let mut values = block.body(&mut g, x)?;
        for (value, ty) in values.iter_mut().zip(results) {
            *value = g.convert(*value, ty.dtype)?;
            *value = g.reshape(*value, ty.sizes())?;
        }
        values
    };
    g.give_back(&returned)
}

fn result_types(block: &impl Block, x: &TensorType) -> Result<[TensorType; 2], Unsupported> {
    let unsupported = |why: &str| Unsupported(format!("{}: {x} {why}", block_name(block)));
    let Some(sizes) = x.static_sizes() else { return Err(unsupported("has sizes that are not known")) };
    if sizes.len() < 2 {
        return Err(unsupported("has less than two dimensions"));
    }
    let (batch, sizes) = split(sizes);
    if computed_in(x.dtype).is_none() {
        return Err(unsupported("is not a tensor of integers, or of numbers of 16 bits or more"));
    }
    let dtype = if x.dtype.is_integer() { DType::F32 } else { x.dtype };
    block.results(batch, sizes, dtype)
}

/// Splits dimensions into batch dimensions and the sizes of a matrix.
fn split(dims: &[usize]) -> (&[usize], [usize; 2]) {
    match dims {
        [batch @ .., m, n] => (batch, [*m, *n]),
        // `result_types` has rejected such types.
        _ => (&[], [0, 0]),
    }
}

/// Returns the element type for arithmetic in a default body; `None` if matrices of such elements cannot be
/// decomposed.
fn computed_in(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 => Some(DType::F32),
        DType::F64 | DType::C64 | DType::C128 => Some(dtype),
        dtype => dtype.is_integer().then_some(DType::F32),
    }
}

fn batched(batch: &[usize], dtype: DType, dims: &[usize]) -> TensorType {
    TensorType::new(dtype, [batch, dims].concat())
}

fn options(options: impl IntoIterator<Item = (&'static str, Attribute)>) -> AttrDict {
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
