//! Client of PJRT plugins: runs programs on the devices of another compiler, such as XLA for CUDA or TPU.
//!
//! ```text
//! library ──Plugin::load──▶ Plugin ──Client::new──▶ Client, ClientDevice
//!                                                      │ compile: artifact, handlers, options
//!                                                      ▼
//! Literal ──Client::buffer──▶ ClientBuffer ──▶ LoadedProgram ──▶ ClientBuffer ──▶ Literal
//! ```
//!
//! Programs are passed as portable artifacts, in the oldest version of StableHLO that can express them. The
//! handlers of custom calls come from a [`Registry`](crate::Registry), and are registered with the plugin for
//! its platform before a program is compiled.
//!
//! ```no_run
//! use farcall::Registry;
//! use farcall::ir::{DType, Literal, Source, text};
//! use farcall::pjrt::{Client, Plugin};
//!
//! // SAFETY: the library is a PJRT plugin that can be trusted.
//! let plugin = unsafe { Plugin::load("libfarcall_pjrt.so") }?;
//! let client = Client::new(plugin, &[])?;
//! let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
//!   %0 = stablehlo.add %x, %x : tensor<2xf32>
//!   return %0 : tensor<2xf32>
//! }";
//! let module = text::parse(&Source::new("double.mlir", program))?;
//! let double = client.compile(&module, &Registry::new())?;
//! let results = double.run(&[Literal::from_slice(DType::F32, [2], &[1f32, 2.5])])?;
//! assert_eq!(results[0].as_slice::<f32>(), [2.0, 5.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//! - Every handle has one owner, which frees it. Owners keep the client alive.
//! - A function of the plugin is called only if the plugin's table has it, and a member of a struct is read
//!   only if it lies within the size that the plugin gave.
//! - Plugins stay loaded until the process ends: their threads may run until then.

mod buffer;
mod client;
mod compile_options;
mod element;
mod error;
mod handlers;
mod named_values;
mod owned;
mod plugin;
mod program;
mod table;

pub use buffer::ClientBuffer;
pub use client::{Client, ClientDevice};
pub use error::{PjrtError, PluginErrorCode};
pub use named_values::PluginValue;
pub use plugin::Plugin;
pub use program::LoadedProgram;
