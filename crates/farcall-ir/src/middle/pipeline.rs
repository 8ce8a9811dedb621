//! Lists of passes, and the function that runs them.

use std::fmt;
use std::str::FromStr;

use super::passes::{self, Pass, PassOptions};
use crate::interrupt;
use crate::module::{FuncId, Module};
use crate::stack;

/// The passes that the compiler runs before it chooses kernels, in order. ([`passes::layouts`] always
/// follows.)
static DEFAULT: &[&Pass] = &[
    &passes::expand::PASS,
    &passes::excess_precision::PASS,
    &passes::widen::PASS,
    &passes::canonicalize::PASS,
    &passes::if_conversion::PASS,
    &passes::region_loops::PASS,
    &passes::unroll::PASS,
    &passes::constant_folding::PASS,
    &passes::simplify::PASS,
    &passes::scatter_updates::PASS,
    &passes::transpose_folding::PASS,
    &passes::outer_products::PASS,
    &passes::negative_indices::PASS,
    &passes::cse::PASS,
    &passes::licm::PASS,
    &passes::dce::PASS,
    &passes::slices::PASS,
    &passes::cse::PASS,
    &passes::dce::PASS,
    &passes::double_buffering::PASS,
    &passes::rematerialization::PASS,
    &passes::fuse::PASS,
    &passes::dce::PASS,
    &passes::product_fusion::PASS,
    &passes::movement_fusion::PASS,
    &passes::buffer_fills::PASS,
    &passes::sink::PASS,
];

/// The passes that every program needs: without them, results would differ, or unneeded instructions would
/// run.
static NEEDED: &[&Pass] = &[&passes::expand::PASS, &passes::excess_precision::PASS, &passes::dce::PASS];

/// Named lists of passes.
static LISTS: [(&str, &[&Pass]); 2] = [("default", DEFAULT), ("needed", NEEDED)];

/// A list of passes, written as `canonicalize,cse`. `default` and `needed` stand for the lists with these
/// names, and `-cse` removes all earlier occurrences of a pass: `default,-fuse`.
#[derive(Clone)]
pub struct Pipeline(Vec<&'static Pass>);

impl Pipeline {
    /// The list of the passes that every program needs.
    pub fn needed() -> Pipeline {
        Pipeline(NEEDED.to_vec())
    }

    /// The passes, in order.
    pub fn passes(&self) -> &[&'static Pass] {
        &self.0
    }

    /// Returns the list without a pass. Passes that every program needs stay.
    pub fn without(&self, name: &str) -> Pipeline {
        let needed = |p: &Pass| NEEDED.iter().any(|n| n.name == p.name);
        Pipeline(self.0.iter().copied().filter(|p| p.name != name || needed(p)).collect())
    }
}

/// The passes that the compiler runs by default.
impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline(DEFAULT.to_vec())
    }
}

impl PartialEq for Pipeline {
    fn eq(&self, other: &Pipeline) -> bool {
        self.0.iter().map(|p| p.name).eq(other.0.iter().map(|p| p.name))
    }
}

impl Eq for Pipeline {}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|p| p.name).collect();
        f.write_str(&names.join(","))
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// An unknown name in a list of passes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no pass {name:?}{}", near.first().map(|n| format!("; did you mean {n}?")).unwrap_or_default())]
#[non_exhaustive]
pub struct UnknownPass {
    /// The name as written.
    pub name: String,
    /// Similar names of passes.
    pub near: Vec<String>,
}

impl FromStr for Pipeline {
    type Err = UnknownPass;

    fn from_str(text: &str) -> Result<Pipeline, UnknownPass> {
        let known = |name: &str| {
            passes::named(name).ok_or_else(|| {
                let all = passes::PASSES.iter().map(|p| p.name).chain(LISTS.map(|(name, _)| name));
                let near = farcall_sig::nearest::nearest(name, all);
                UnknownPass { name: name.to_owned(), near: near.into_iter().map(str::to_owned).collect() }
            })
        };
        let mut list: Vec<&'static Pass> = Vec::new();
        for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            if let Some((_, passes)) = LISTS.iter().find(|(list, _)| *list == name) {
                list.extend(*passes);
            } else if let Some(left_out) = name.strip_prefix('-') {
                let left_out = known(left_out.trim_start())?;
                list.retain(|pass| pass.name != left_out.name);
            } else {
                list.push(known(name)?);
            }
        }
        Ok(Pipeline(list))
    }
}

/// Runs passes over a module in the middle form. `after` is called with the name and the result of each pass.
/// If an interrupt is due, the remaining passes are skipped.
///
/// # Panics
/// In debug builds, if the result of a pass is not in the middle form, or if, after `expand` has run, the
/// result contains an operation that `expand` replaces.
pub fn run(
    module: &mut Module,
    list: &[&Pass],
    cx: &PassOptions,
    after: &mut dyn FnMut(&'static str, &Module),
) {
    stack::with_room(|| run_here(module, list, cx, after))
}

fn run_here(
    module: &mut Module,
    list: &[&Pass],
    cx: &PassOptions,
    after: &mut dyn FnMut(&'static str, &Module),
) {
    let mut expanded = false;
    for pass in list {
        if interrupt::is_due() {
            return;
        }
        (pass.run)(module.func_mut(FuncId::new(0)), cx);
        expanded |= pass.name == passes::expand::PASS.name;
        if cfg!(debug_assertions)
            && expanded
            && let Some(inst) = crate::expand::left(&module.funcs()[0])
        {
            panic!("{} left {}:\n{}", pass.name, inst.op().name(), crate::text::print(module));
        }
        if cfg!(debug_assertions)
            && let Err(error) = super::verify(module)
        {
            panic!("{} left no valid program: {error}\n{}", pass.name, crate::text::print(module));
        }
        after(pass.name, module);
    }
}
