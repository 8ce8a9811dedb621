//! From a module to a [`Plan`].
//!
//! ```text
//! Module ──middle::build──▶ middle form ──resolve, passes──▶ middle form
//!                                                                 │
//!                          Plan ◀──assign── steps ◀──coalesce── steps ◀──lower
//! ```
//!
//! `resolve` finds the targets of custom calls and completes the calls with what these declare; the passes are
//! `farcall_ir`'s ([`middle`]). Steps are thunks over values that have no place yet: `lower` picks kernels,
//! `coalesce` lets loops and branches write directly to their results, `donate` reads which inputs the program may
//! write to, and `assign` finds places in the arena and in these inputs.
//!
//! **Invariants.** No stage of a target runs; the only foreign code that is entered is an op's shape function. The
//! compiler does not know the runtime. The module has been verified and is static.

mod assign;
mod body;
mod coalesce;
mod declared;
mod donate;
mod lower;
mod lower_call;
mod lower_ops;
mod nested;
mod resolve;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use farcall_ir::diag::{Diagnostics, Source};
use farcall_ir::eval::Numerics;
use farcall_ir::middle::{self, passes, pipeline};
use farcall_ir::{Attr, Func, Module, TensorType};

use crate::plan::{Base, Buffer, Param, ParamId, Plan, Slice, Thunk, ThunkOp};
use crate::registry::{Platform, Registry};
use donate::Wish;
use lower::{Home, Lowered, Operand, Step, VirtualId};

/// What the compiler is told.
pub(crate) struct Options<'a> {
    /// The platform of the device that the plan is for.
    pub(crate) platform: &'a Platform,
    pub(crate) numerics: Numerics,
    /// The passes that run over the middle form.
    pub(crate) passes: &'a [&'static passes::Pass],
}

/// Compiles the function `entry` of a verified module. (The plan is validated when it is loaded.) `after` sees
/// the middle form after each pass, and as `build` makes it.
pub(crate) fn compile(
    module: &Module,
    entry: &Func,
    registry: &Registry,
    options: &Options<'_>,
    after: &mut dyn FnMut(&'static str, &Module),
) -> Result<Plan, Diagnostics> {
    let mut form = middle::build(module, entry).map_err(|d| Diagnostics::from_iter([d]))?;
    after("build", &form);
    resolve::resolve(&mut form, registry, options.platform)?;
    let cx = passes::Context::new(options.numerics);
    pipeline::run(&mut form, options.passes, &cx, after);
    let mut lowered = lower::lower(&form, registry, options)?;
    coalesce::coalesce(&mut lowered.steps, &mut lowered.results, &lowered.values);
    let wishes = donate::wishes(entry, &lowered.results)?;
    let plan = emit(lowered, &wishes, names(entry), Arc::clone(&module.source), options);
    Ok(plan)
}

/// True if this output of a step may have the place of this value, if both end and begin there: every use of the
/// value as an operand allows it.
fn shares(step: &Step, output: usize, value: VirtualId) -> bool {
    let size = step.outputs[output].ty.dtype.size();
    let mut uses = step.inputs.iter().enumerate().filter(|(_, x)| x.id == value).peekable();
    uses.peek().is_some() && uses.all(|(i, x)| step.in_place(output, i) && x.ty.dtype.size() == size)
}

/// Finds places and writes the plan.
fn emit(
    lowered: Lowered,
    wishes: &[Wish],
    names: Vec<Option<String>>,
    source: Arc<Source>,
    options: &Options<'_>,
) -> Plan {
    let Lowered { values, params, constants, results, steps, calls, references } = lowered;
    let assign::Assignment { offsets, elsewhere, arena_size } =
        assign::assign(&steps, &results, &values, wishes);
    let places = Places { values: &values, offsets: &offsets, elsewhere: &elsewhere };
    let results = results.iter().map(|r| places.buffer(r)).collect();
    let thunks = places.sequence(steps);
    let written: FxHashSet<Base> = elsewhere.iter().flatten().copied().collect();
    let param = |(i, ty): (usize, TensorType)| {
        let name = names.get(i).cloned().flatten();
        Param { ty, donated: written.contains(&Base::Param(ParamId::new(i))), name, known: None }
    };
    Plan {
        arena_size,
        params: params.into_iter().enumerate().map(param).collect(),
        constants,
        results,
        thunks,
        calls,
        references,
        platform: options.platform.clone(),
        numerics: options.numerics,
        source,
    }
}

/// The names that the program that wrote the text gave to the inputs. Tokens are none; the parts of a tuple
/// have its name.
fn names(entry: &Func) -> Vec<Option<String>> {
    let params = entry.params().iter().zip(&entry.param_attrs);
    let name =
        |attrs: &farcall_ir::AttrDict| attrs.get("jax.arg_info").and_then(Attr::as_str).map(str::to_owned);
    params.flat_map(|(p, attrs)| std::iter::repeat_n(name(attrs), entry.ty(*p).tensors().count())).collect()
}

struct Places<'a> {
    values: &'a [(Home, usize)],
    offsets: &'a [usize],
    elsewhere: &'a [Option<Base>],
}

impl Places<'_> {
    fn buffer(&self, x: &Operand) -> Buffer {
        let (home, size) = self.values[x.id.index()];
        let slice = match home {
            Home::Temp if let Some(base) = self.elsewhere[x.id.index()] => Slice { base, offset: 0, size },
            Home::Temp => Slice { base: Base::Arena, offset: self.offsets[x.id.index()], size },
            Home::Constant(id) => Slice { base: Base::Constant(id), offset: 0, size },
            Home::Param(id) => Slice { base: Base::Param(id), offset: 0, size },
        };
        Buffer { slice, ty: x.ty.clone() }
    }

    fn sequence(&self, steps: Vec<Step>) -> Vec<Thunk> {
        let mut thunks = Vec::with_capacity(steps.len());
        for step in steps {
            let thunk = Thunk {
                op: step.op,
                inputs: step.inputs.iter().map(|x| self.buffer(x)).collect(),
                outputs: step.outputs.iter().map(|x| self.buffer(x)).collect(),
                bodies: step.bodies.into_iter().map(|b| self.sequence(b)).collect(),
                span: step.span,
            };
            let copies_itself = thunk.op == ThunkOp::Copy && thunk.inputs[0].slice == thunk.outputs[0].slice;
            let copies_nothing = thunk.op == ThunkOp::Copy && thunk.outputs[0].slice.size == 0;
            if !copies_itself && !copies_nothing {
                thunks.push(thunk);
            }
        }
        thunks
    }
}
