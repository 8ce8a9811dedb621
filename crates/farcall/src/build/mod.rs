//! Builder for programs written in Rust, in code that reads like mathematics.
//!
//! ```
//! use farcall::build::Graph;
//! use farcall::ir::{DType, Literal, TensorType};
//! use farcall::{CompileOptions, Executable, Registry};
//!
//! let graph = Graph::new("layer");
//! let x = graph.parameter("x", TensorType::new(DType::F32, [2, 3]));
//! let w = graph.parameter("w", TensorType::new(DType::F32, [3, 4]));
//! let b = graph.parameter("b", TensorType::new(DType::F32, [4]));
//! let y = (x.matmul(w) + b).tanh() * 0.5;
//! let module = graph.finish(y)?;
//!
//! let layer = Executable::compile(&module, &Registry::new(), &CompileOptions::new())?;
//! let inputs: Vec<Literal> = layer.inputs().iter().map(|t| Literal::zeros(t.dtype, t.sizes())).collect();
//! assert_eq!(layer.run(&inputs)?[0].dims(), [2, 4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Graph`] is the program; a [`Value`] is a result of one of its instructions, and is `Copy`. Operators
//! and methods add instructions. Each operation of StableHLO and CHLO has a method with the operation's own
//! name: a method of [`Value`] if the operation applies to one value, or a method of [`Graph`] if it takes
//! any number of values or none. Regions are closures, which may capture values of the enclosing scope:
//!
//! ```
//! # use farcall::build::Graph;
//! # use farcall::ir::{DType, TensorType};
//! let graph = Graph::new("powers");
//! let x = graph.parameter("x", TensorType::new(DType::F32, [3]));
//! let zero = graph.scalar(DType::S32, 0);
//! let (_, y) = graph.while_((zero, x), |(i, _)| i.lt(10), |(i, y)| (i + 1, y * x));
//! let module = graph.finish(y)?;
//! # Ok::<(), farcall::build::BuildErrors>(())
//! ```
//!
//! # Shapes
//!
//! Result types are inferred. Operators broadcast as NumPy does: shapes are aligned at their last dimension,
//! and dimensions of size 1 are repeated. Rust numbers take the element type of the value that they are
//! combined with. All other operands must have matching types; [`Value::broadcast_in_dim`] and similar
//! methods convert explicitly.
//!
//! # Errors
//!
//! A mismatch is recorded where it occurs and produces a value without a type. Further operations on that
//! value report nothing, so one mistake is one error. [`Graph::finish`] returns all errors, with file and
//! line:
//!
//! ```
//! # use farcall::build::Graph;
//! # use farcall::ir::{DType, TensorType};
//! let graph = Graph::new("wrong");
//! let x = graph.parameter("x", TensorType::new(DType::F32, [2, 3]));
//! let y = (x + x.transpose([1, 0])).tanh();
//! let errors = graph.finish(y).unwrap_err();
//! assert!(errors.to_string().contains("tensor<2x3xf32> and tensor<3x2xf32> cannot be broadcast"));
//! ```
//!
//! # Custom calls
//!
//! [`Graph::op`] calls an op that a registry knows, with attributes and defaults as its signature declares
//! them. [`Graph::custom_call`] calls any target, with result types that the caller gives.
//! [`Graph::composite`] makes a block, which an op may replace.
//!
//! [`Value::named`] names a value for readers of the program's text (`%gemm = …`). Instructions record their
//! place in the Rust source, which errors of the engine then include.

mod call;
mod collective;
mod contraction;
mod control;
mod data;
mod elementwise;
mod error;
mod graph;
mod indexing;
mod instruction;
mod linalg;
mod number;
mod operators;
mod reduction;
mod region;
mod value;

pub use call::{Function, OpCallBuilder};
pub use error::{BuildError, BuildErrors};
pub use graph::Graph;
pub use instruction::Instruction;
pub use number::Number;
pub use operators::Operand;
pub use value::{Value, Values};
