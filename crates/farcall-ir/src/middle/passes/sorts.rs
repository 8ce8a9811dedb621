//! Sorts of which only the first or the last elements of each line are needed make only these.
//!
//! ```text
//! sorted = sort(x);  top = slice(sorted, [90:100])
//!     ──▶  top = sort(x), part [90, 100]
//! ```
//!
//! That is what `jax.numpy.sort(x)[-10:]`, `argsort(x)[:10]` and `approx_max_k` are written as. Not all of them are
//! `chlo.top_k`, whose order has a place for NaNs.

use std::ops::Range;

use super::{Context, Pass, each_inst};
use crate::module::{Func, InstId, Rewriter};
use crate::op::{Op, Slice};
use crate::types::Type;

/// Parts of sorts.
pub static PASS: Pass = Pass { name: "sorts", about: "sorts no more of each line than is needed", run };

/// A part is sorted by itself if whole lines have this many times as many elements: more are as fast in order.
const WORTH: usize = 8;

fn run(func: &mut Func, _: &Context) {
    each_inst(func, |r, _, inst| {
        if let Some(needed) = needed(r, inst) {
            sort_only(r, inst, needed);
        }
    });
}

/// The first or last elements of each line, of which anything takes others of an instruction, if it sorts, and these are
/// few.
fn needed(r: &Rewriter<'_>, inst: InstId) -> Option<Range<usize>> {
    let inst = r.func().inst(inst);
    let Op::Sort { dim, part: None, .. } = inst.op() else { return None };
    let length = *r.func().tensor(*inst.operands().first()?)?.sizes().get(*dim)?;
    let mut all: Option<Range<usize>> = None;
    for user in inst.results().iter().flat_map(|result| r.users(*result)) {
        let Op::Slice(Slice { start, limit, .. }) = r.func().inst(*user).op() else { return None };
        let (start, limit) = (start[*dim], limit[*dim]);
        if start == limit {
            return None;
        }
        all = Some(all.map_or(start..limit, |all| all.start.min(start)..all.end.max(limit)));
    }
    let Range { start, end } = all?;
    let ends = [0..end, start..length];
    ends.into_iter().find(|end| end.len().saturating_mul(WORTH) <= length)
}

/// Lets a sort make these elements of each line, and what takes slices of it, slices of these.
fn sort_only(r: &mut Rewriter<'_>, id: InstId, needed: Range<usize>) {
    let inst = r.func().inst(id);
    let Op::Sort { dim, is_stable, .. } = *inst.op() else { return };
    let results = inst.results().to_vec();
    let resized = |ty: &Type| match ty {
        Type::Tensor(t) => {
            let mut sizes = t.sizes().to_vec();
            sizes[dim] = needed.len();
            Type::Tensor(t.with_sizes(sizes))
        }
        other => other.clone(),
    };
    let types = results.iter().map(|v| resized(r.func().ty(*v))).collect();
    r.set_op(id, Op::Sort { dim, is_stable, part: Some(needed.clone()) });
    r.set_results(id, types);
    for value in results {
        for user in r.users(value).to_vec() {
            let Op::Slice(mut slice) = r.func().inst(user).op().clone() else { continue };
            slice.start[dim] -= needed.start;
            slice.limit[dim] -= needed.start;
            if r.func().inst(user).results().iter().all(|taken| r.func().ty(*taken) == r.func().ty(value)) {
                r.replace(user, &[value]);
            } else {
                r.set_op(user, Op::Slice(slice));
            }
        }
    }
}
