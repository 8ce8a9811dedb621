//! The stages of the compiler, from a verified module to a plan.

use farcall_ir::diag::{Diagnostic, Diagnostics};
use farcall_ir::interface::input_names;
use farcall_ir::middle::passes::layouts;
use farcall_ir::middle::{self, passes, pipeline};
use farcall_ir::verify::{StaticModule, verify_owned};
use farcall_ir::{Func, FuncId, Module, ProgramError, interrupt};

use crate::blocks::Blocks;
#[cfg(debug_assertions)]
use crate::check;
use crate::compiled::Compiled;
use crate::explain::Placed;
use crate::options::{Options, Refused};
use crate::stage::Stage;
use crate::storage::{Sharing, Storage};
use crate::{
    assign, choose, coalesce, copies, donate, lower, order, partition, products, resolve, scalar_constants,
    stage,
};
use farcall_host::ErrorCode;
use farcall_host::registry::Registry;
use farcall_kernels as kernels;
use farcall_plan::{Base, BlockChoice};

/// Compiles `entry`, a function of the module. Calls `after` with the middle form once the form has been
/// built (stage `build`), and again after each pass.
pub(crate) fn compile_stages(
    module: &StaticModule<'_>,
    entry: &Func,
    registry: &Registry,
    options: &Options<'_>,
    after: &mut dyn FnMut(&Stage<'_>),
) -> Result<Compiled, Refused> {
    let mut blocks = Blocks::new(&module.source, registry, options);
    let form = middle::build_lowered(module, entry, &mut blocks);
    let mut form = form.map_err(|d| Diagnostics::from_iter([d]))?;
    // A lowering may name a target that a call cannot have (for example `sdy.reshard`, which stands for an
    // operation).
    if blocks.decisions.iter().any(|block| matches!(block.choice, BlockChoice::Call { .. })) {
        middle::verify(&form).map_err(diagnostics)?;
    }
    after(&Stage::new("build", &form));
    let mut sharding = None;
    if options.partitions
        && let Some((divided, found)) = partition::partition_form(&form, registry, options.platform)?
    {
        (form, sharding) = (divided.unwrap_or(form), Some(found));
        stage::done("partition", &form, after);
    }
    let (fuses, reduces) = (kernels::fuses, kernels::reduces);
    let cx = passes::PassOptions {
        fuses,
        duplicates: kernels::duplicates,
        reduces,
        fusion_limits: kernels::FUSION_LIMITS,
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
    // Products become calls once transposes are folded into them, and before they are fused with other
    // operations.
    let folding = options.passes.iter().rposition(|pass| pass.name == passes::transpose_folding::PASS.name);
    let (before, rest) = options.passes.split_at(folding.map_or(options.passes.len(), |at| at + 1));
    pipeline::run(&mut form, before, &cx, &mut |name, form| after(&Stage::new(name, form)));
    if registry.lowers_products() {
        products::lower(body(&mut form), &mut blocks).map_err(|d| Diagnostics::from_iter([d]))?;
        resolve::resolve(&mut form, registry, options.platform)?;
    }
    pipeline::run(&mut form, rest, &cx, &mut |name, form| after(&Stage::new(name, form)));
    pipeline::run(&mut form, &[&layouts::PASS], &cx, &mut |name, form| after(&Stage::new(name, form)));

    interrupt::complete().map_err(|error| Diagnostics::from_iter([error.into()]))?;

    let compile_nested = |module: Module| {
        let module = verify_owned(module).and_then(|module| module.into_static()).map_err(diagnostics)?;
        let compiled = compile_stages(&module, &module.funcs()[0], registry, options, &mut |_| {})?;
        Ok(compiled
            .validate()
            .map_err(|error| Diagnostics::from_iter([Diagnostic::global("plan", error.to_string())]))?)
    };
    let mut choices = choose::choose(&form, entry, options, &compile_nested)?;
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
    let is_number = |value| matches!(places.of(value).base, Base::Number(_));
    scalar_constants::choose_fills(func, &events, is_number, &mut choices);
    let placed = Placed { places: &places, events: &events, choices: &choices, cx: &cx };
    after(&Stage::placed(&form, placed));
    let mut compiled = lower::lower(&form, &events, choices, &places, &input_names(entry), options);
    compiled.plan.blocks = blocks.decisions;
    compiled.plan.sharding = sharding;
    Ok(compiled)
}

/// Returns the diagnostics of an error.
fn diagnostics(error: ProgramError) -> Diagnostics {
    error.diagnostics.into_iter().collect()
}

/// Returns the only function of a form.
fn body(form: &mut Module) -> &mut Func {
    form.func_mut(FuncId::new(0))
}
