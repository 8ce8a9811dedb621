//! The compiler: turns a module into a [`Plan`].
//!
//! ```text
//! Module ──blocks, build──▶ middle form ──resolve, passes, layouts──▶ middle form ──choose──▶ choices
//!                                                                  │                    │
//!  Plan ◀──lower── middle form, places ◀──copies, coalesce, donate, assign──────────────┘
//! ```
//!
//! `blocks` asks lowerings which composites become custom calls. `resolve` finds the targets of custom calls
//! and completes the calls with the targets' declarations. The passes are part of `farcall_ir` ([`middle`]).
//! `choose` picks kernels. The passes that follow assign memory, and rewrite the form like any other
//! pass: `copies` inserts copies where values must share memory, `coalesce` removes copies at the ends of
//! loop bodies and branches, `donate` marks the inputs that the program may write to, and `assign` finds
//! places in the arena and in these inputs. Finally, `lower` writes the thunks.
//!
//! **Invariants.** No stage of a target runs; lowerings and shape functions are the only foreign code that
//! the compiler enters. The compiler does not depend on the runtime. The module has been verified and is
//! static. All steps after `choose` walk lists ([`order`]) instead of regions, so that deep nesting cannot
//! overflow the stack.

mod aliases;
mod arena;
mod assign;
mod blocks;
mod body;
#[cfg(debug_assertions)]
mod check;
mod choose;
mod coalesce;
mod copies;
mod counting;
mod declared;
mod donate;
mod explain;
mod live;
mod lower;
mod nested;
mod numbers;
mod order;
mod parts;
mod reason;
mod resolve;
mod stage;
mod storage;
#[cfg(test)]
mod tests;

use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Numerics;
use farcall_ir::interface::input_names;
use farcall_ir::middle::passes::layouts;
use farcall_ir::middle::{self, passes, pipeline};
use farcall_ir::{Func, FuncId, Module, interrupt};

pub use explain::{Explanation, FusionBoundary, LiveRange, Member, Step, Unfused};
pub use reason::NoKernel;
pub use stage::{MEMORY_PASSES, MemoryPass, Stage};

use crate::ErrorCode;
use crate::kernels;
use crate::plan::{BlockChoice, Plan};
use crate::registry::{Platform, Registry};
use blocks::Blocks;
use stage::Placed;
use storage::{Sharing, Storage};

/// A compilation failure.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) diagnostics: Diagnostics,
    /// [`ErrorCode::MissingTarget`] if the only errors are missing targets.
    pub(crate) code: ErrorCode,
}

impl From<Diagnostics> for Refused {
    fn from(diagnostics: Diagnostics) -> Refused {
        Refused { diagnostics, code: ErrorCode::InvalidProgram }
    }
}

/// Compiler options.
pub(crate) struct Options<'a> {
    /// The platform of the device that the plan is for.
    pub(crate) platform: &'a Platform,
    pub(crate) numerics: Numerics,
    /// The passes that run over the middle form.
    pub(crate) passes: &'a [&'static passes::Pass],
}

/// A plan, and the prepared kernels of its compute thunks in the order of [`Plan::walk`]. `choose` has
/// prepared these kernels, so loading the plan need not prepare them again.
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    pub(crate) prepared: Vec<(kernels::KernelId, kernels::Prepared)>,
}

/// Compiles the function `entry` of a verified module. (The plan is validated when it is loaded.) `after`
/// sees the middle form once it is built (`build`) and after each pass.
pub(crate) fn compile(
    module: &Module,
    entry: &Func,
    registry: &Registry,
    options: &Options<'_>,
    after: &mut dyn FnMut(&Stage<'_>),
) -> Result<Compiled, Refused> {
    let mut blocks = Blocks::new(&module.source, registry, options);
    let form = middle::build_lowered(module, entry, &mut blocks);
    let mut form = form.map_err(|d| Diagnostics::from_iter([d]))?;
    let blocks = blocks.decisions;
    // A lowering may name a target that a call cannot have (for example `sdy.reshard`, which stands for an
    // operation).
    if blocks.iter().any(|block| matches!(block.choice, BlockChoice::Call { .. })) {
        middle::verify(&form).map_err(|e| e.diagnostics.into_iter().collect::<Diagnostics>())?;
    }
    after(&Stage::new("build", &form));
    let (fuses, reduces) = (kernels::fuses, kernels::reduces);
    let cx = passes::PassOptions {
        fuses,
        reduces,
        computes: choose::has_kernel,
        ..passes::PassOptions::new(options.numerics)
    };
    if let Err(refused) = resolve::resolve(&mut form, registry, options.platform) {
        if refused.code != ErrorCode::MissingTarget {
            return Err(refused);
        }
        // Dead calls need no targets.
        pipeline::run(&mut form, &[&passes::dce::PASS], &cx, &mut |_, _| {});
        resolve::resolve(&mut form, registry, options.platform)?;
    }
    pipeline::run(&mut form, options.passes, &cx, &mut |name, form| after(&Stage::new(name, form)));
    pipeline::run(&mut form, &[&layouts::PASS], &cx, &mut |name, form| after(&Stage::new(name, form)));

    interrupt::complete().map_err(|error| Diagnostics::from_iter([error.into()]))?;

    let choices = choose::choose(&form, entry, registry, options)?;
    copies::insert(body(&mut form), &choices);
    stage::done("copies", &form, after);
    coalesce::coalesce(body(&mut form), &choices);
    stage::done("coalesce", &form, after);
    let storage = Storage::new(&form.funcs()[0], &choices, Sharing::Joined);
    donate::donate(body(&mut form), entry, &storage)?;
    stage::done("donate", &form, after);

    let func = &form.funcs()[0];
    let events = order::events(func, &choices);
    let places = assign::assign(func, &events, &choices, &storage);
    #[cfg(debug_assertions)]
    if let Err(error) = check::check(func, &events, &choices, &places) {
        panic!("assign left a value in a wrong place: {error}");
    }
    let placed = Placed { places: &places, events: &events, choices: &choices, cx: &cx };
    after(&Stage::placed(&form, placed));
    let mut compiled = lower::lower(&form, &events, choices, &places, &input_names(entry), options);
    compiled.plan.blocks = blocks;
    Ok(compiled)
}

/// Returns the only function of a form.
fn body(form: &mut Module) -> &mut Func {
    form.func_mut(FuncId::new(0))
}
