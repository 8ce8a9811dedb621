//! Resharding: the collectives that change how the devices divide a tensor.
//!
//! ```text
//! {"x"} ──▶ {"x", "y"}      slice         each device keeps a part of its part; nothing moves
//! {"x", "y"} ──▶ {"x"}      gather        all-gather along the dimension
//! {"x"}, {} ──▶ {}, {"x"}   all-to-all    a sub-axis moves from one dimension to another
//! {"x"} ──▶ {"y"}           permute       parts of equal shapes move between devices
//! ```
//!
//! [`plan`] lists the steps from one tiling to another, cheap ones first. Every step divides or joins parts
//! at the minor end of a dimension, so that parts stay contiguous. Parts with padding are divided and joined
//! only if both divisions have the same borders ([`is_nested`]). Otherwise, the complete dimension is
//! gathered first.

use crate::grid::{DeviceGrid, SubAxis};
use crate::tiling::{Tiling, is_nested};

/// A change of the tiling of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Each device keeps the part of dimension `dim` that belongs to its coordinates along these sub-axes.
    Slice { dim: usize, axes: Vec<SubAxis> },
    /// Devices join their parts along `dim`.
    Gather { dim: usize, axes: Vec<SubAxis> },
    /// Devices exchange parts: these sub-axes divide the dimension `to` instead of `from`, whose parts are
    /// joined.
    AllToAll { from: usize, to: usize, axes: Vec<SubAxis> },
    /// Each device receives its part of the tiling `to` from the device that has it.
    Permute { from: Tiling, to: Tiling },
}

/// Returns the steps that change the tiling of a tensor with dimensions of these sizes.
pub(crate) fn plan(grid: &DeviceGrid, sizes: &[usize], from: &Tiling, to: &Tiling) -> Vec<Step> {
    let mut now = from.clone();
    let mut steps = Vec::new();
    while now != *to {
        let step = next(grid, sizes, &now, to);
        apply(&mut now, &step);
        steps.push(step);
    }
    steps
}

/// Returns the sum of the sizes, in elements, of the results of the collectives in a plan.
pub(crate) fn moved_elements(grid: &DeviceGrid, sizes: &[usize], from: &Tiling, steps: &[Step]) -> usize {
    let mut now = from.clone();
    let mut moved: usize = 0;
    for step in steps {
        apply(&mut now, step);
        if !matches!(step, Step::Slice { .. }) {
            moved = moved.saturating_add(now.part_sizes(grid, sizes).iter().product());
        }
    }
    moved
}

/// Changes a tiling as a step does.
pub(crate) fn apply(tiling: &mut Tiling, step: &Step) {
    match step {
        Step::Slice { dim, axes } => tiling.dims[*dim].extend(axes),
        Step::Gather { dim, axes } => {
            let kept = tiling.dims[*dim].len() - axes.len();
            tiling.dims[*dim].truncate(kept);
        }
        Step::AllToAll { from, to, axes } => {
            let kept = tiling.dims[*from].len() - axes.len();
            tiling.dims[*from].truncate(kept);
            tiling.dims[*to].extend(axes);
        }
        Step::Permute { to, .. } => tiling.clone_from(to),
    }
}

/// Returns the next step. `now` and `to` differ.
fn next(grid: &DeviceGrid, sizes: &[usize], now: &Tiling, to: &Tiling) -> Step {
    let rank = sizes.len();
    let missing = |d: usize| to.dims[d].strip_prefix(now.dims[d].as_slice());
    let can_join = |d: usize, kept: usize| is_nested(grid, sizes[d], &now.dims[d][..kept], &now.dims[d]);
    let can_divide = |d: usize, added: usize| can_divide(grid, sizes[d], &now.dims[d], &to.dims[d], added);
    // Smaller parts are cheaper to move, so slices come first.
    for dim in 0..rank {
        if let Some(missing) = missing(dim) {
            let free = missing.iter().take_while(|axis| !now.uses(**axis)).count();
            if let Some(run) = (1..=free).rev().find(|run| can_divide(dim, *run)) {
                return Step::Slice { dim, axes: missing[..run].to_vec() };
            }
        }
    }
    for from in 0..rank {
        let common = common_prefix(&now.dims[from], &to.dims[from]);
        for dim in (0..rank).filter(|dim| *dim != from) {
            // The longest run at the minor end of one dimension that the other dimension needs next.
            let Some(missing) = missing(dim).filter(|missing| !missing.is_empty()) else { continue };
            let longest = missing.len().min(now.dims[from].len() - common);
            let fits = |run: &usize| {
                now.dims[from].ends_with(&missing[..*run])
                    && can_join(from, now.dims[from].len() - run)
                    && can_divide(dim, *run)
            };
            let run = (1..=longest).rev().find(fits);
            if let Some(run) = run {
                return Step::AllToAll { from, to: dim, axes: missing[..run].to_vec() };
            }
        }
    }
    let same_parts = |d: usize| grid.parts(&now.dims[d]) == grid.parts(&to.dims[d]);
    if (0..rank).all(same_parts) {
        return Step::Permute { from: now.clone(), to: to.clone() };
    }
    // The smallest result first.
    let gathers = (0..rank).filter_map(|dim| {
        let common = common_prefix(&now.dims[dim], &to.dims[dim]);
        let extra = &now.dims[dim][common..];
        // Sub-axes that the other tiling does not use go first, so that the others can move to other
        // dimensions.
        let unused = extra.iter().rev().take_while(|axis| !to.uses(**axis)).count();
        let first = if unused > 0 { extra.len() - unused } else { 0 } + common;
        let first = if can_join(dim, first) { first } else { 0 };
        (!extra.is_empty()).then(|| (dim, now.dims[dim][first..].to_vec()))
    });
    if let Some((dim, axes)) = gathers.min_by_key(|(_, axes)| grid.parts(axes)) {
        return Step::Gather { dim, axes };
    }
    // Every dimension begins like the wanted one. The parts of a dimension have other borders than the wanted
    // ones, since a slice was possible otherwise.
    let other_borders =
        (0..rank).find(|d| now.dims[*d].len() < to.dims[*d].len() && !now.dims[*d].is_empty());
    match other_borders {
        Some(dim) => Step::Gather { dim, axes: now.dims[dim].clone() },
        None => Step::Permute { from: now.clone(), to: to.clone() },
    }
}

/// Returns true if parts of a dimension can be divided along the next `added` sub-axes of `wanted`, and
/// afterwards along the rest.
fn can_divide(grid: &DeviceGrid, size: usize, now: &[SubAxis], wanted: &[SubAxis], added: usize) -> bool {
    let then = &wanted[..now.len() + added];
    is_nested(grid, size, now, then) && is_nested(grid, size, then, wanted)
}

fn common_prefix(a: &[SubAxis], b: &[SubAxis]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns the dimensions that `wanted` divides further along sub-axes of a sum, with these sub-axes. `sizes`
/// are the sizes of the sum.
pub(crate) fn scattered(
    grid: &DeviceGrid,
    sizes: &[usize],
    (tiling, wanted): (&Tiling, &Tiling),
    axes: &[SubAxis],
) -> Vec<(usize, Vec<SubAxis>)> {
    let mut found = Vec::new();
    for (dim, (now, wanted)) in tiling.dims.iter().zip(&wanted.dims).enumerate() {
        let Some(missing) = wanted.strip_prefix(now.as_slice()) else { continue };
        let longest = missing.iter().take_while(|axis| axes.contains(axis)).count();
        let run = (1..=longest).rev().find(|run| can_divide(grid, sizes[dim], now, wanted, *run));
        found.extend(run.map(|run| (dim, missing[..run].to_vec())));
    }
    found
}

/// Returns the sender and the receiver of each part: for each device, the device that holds under `from` the
/// part that it has under `to`. Devices prefer a sender that differs in as few sub-axes as possible, and
/// every device sends at most one part if both tilings use the same sub-axes.
pub(crate) fn pairs(grid: &DeviceGrid, from: &Tiling, to: &Tiling) -> Vec<(usize, usize)> {
    let mut senders: Vec<usize> = Vec::new();
    let part = |tiling: &Tiling, position: usize| -> Vec<usize> {
        tiling.dims.iter().map(|axes| grid.coordinate(position, axes)).collect()
    };
    let count = grid.devices();
    let mut sent = vec![false; count];
    for receiver in 0..count {
        let wanted = part(to, receiver);
        let holds = |sender: &usize| part(from, *sender) == wanted;
        let differing = |sender: &usize| {
            let differs =
                |axis: &SubAxis| grid.coordinate(*sender, &[*axis]) != grid.coordinate(receiver, &[*axis]);
            grid.sub_axes().filter(differs).count()
        };
        let sender = (0..count).filter(holds).min_by_key(|s| (sent[*s], differing(s))).unwrap_or(receiver);
        sent[sender] = true;
        senders.push(sender);
    }
    senders.into_iter().enumerate().map(|(to, from)| (grid.device(from), grid.device(to))).collect()
}
