//! The compiler: turns a module into a [`Plan`](farcall_plan::Plan).
//!
//! ```text
//! Module ──blocks, build──▶ middle form ──resolve, passes, layouts──▶ middle form ──choose──▶ choices
//!                                                                  │                    │
//!  Plan ◀──lower── middle form, places ◀──copies, coalesce, donate, assign──────────────┘
//! ```
//!
//! `blocks` asks lowerings which composites become custom calls. `build` converts the module to the *middle
//! form* ([`farcall_ir::middle`]), which the passes rewrite: one function with inlined calls and static
//! shapes. `resolve` finds the targets of custom calls and completes the calls with the targets'
//! declarations. The passes between `resolve` and `choose` are part of `farcall_ir::middle`. `choose` picks
//! kernels. Among these passes, `products` asks lowerings which products of matrices become custom calls, if
//! there are such lowerings. The passes after `choose` assign memory, and rewrite the middle form like any other
//! pass: `copies` inserts copies where values must share memory, `coalesce` removes copies at the ends of loop
//! bodies and branches, `donate` marks the inputs that the program may write to, and `assign` finds places in
//! the arena and in these inputs. Finally, `lower` writes the thunks.
//!
//! **Invariants.** The compiler runs no stage of a target: the only foreign code that it enters are lowerings
//! and shape functions. The compiler does not depend on the runtime. The module is
//! [verified and static](farcall_ir::verify::StaticModule). All steps after `choose` walk lists (`order`)
//! instead of regions, so that deep nesting cannot overflow the stack.

mod aliases;
mod arena;
mod assign;
mod blocks;
mod body;
#[cfg(debug_assertions)]
mod check;
mod choices;
mod choose;
mod coalesce;
mod collectives;
mod compiled;
mod copies;
mod declared;
mod donate;
mod explain;
mod implicit_iotas;
mod live;
mod lower;
mod options;
mod order;
mod participants;
mod partition;
mod products;
mod program;
mod reason;
mod region_calls;
mod resolve;
mod scalar_constants;
mod slice_views;
mod stage;
mod stages;
mod storage;
#[cfg(test)]
mod tests;

pub use explain::{Explanation, FusionBoundary, LiveRange, Member, Step, Unfused};
pub use program::{CompileError, CompileOptions, compile_plan, compile_static, partition_module, specialize};
pub use reason::{NoKernel, no_kernel};
pub use stage::{MEMORY_PASSES, MemoryPass, Stage};
