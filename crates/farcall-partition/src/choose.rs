//! Chooses how the devices divide the factors of an operation.

use farcall_ir::TensorType;
use farcall_ir::dims::others;
use farcall_ir::op::Binary;

use crate::grid::{DeviceGrid, SubAxis};
use crate::propagate::{fitting_prefix, projected};
use crate::reshard::{self, scattered};
use crate::rule::{Exchange, Rule, TensorFactors};
use crate::tiling::Tiling;

/// A division of an operation among the devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Division {
    /// Tilings of the operands and results, in the order of the rule.
    pub(crate) tilings: Vec<Tiling>,
    /// Sub-axes along which the values of a result must be combined, by the function. One list for each
    /// result.
    pub(crate) combined: Vec<Vec<(Binary, Vec<SubAxis>)>>,
    /// For each operand that holds an offset: its index, the sub-axes of its factor, and the size of a part.
    pub(crate) offsets: Vec<(usize, Vec<SubAxis>, usize)>,
}

impl Division {
    /// True if every device computes everything.
    pub(crate) fn is_whole(&self) -> bool {
        self.combined.iter().all(Vec::is_empty) && self.tilings.iter().all(Tiling::is_whole)
    }
}

/// Returns the division that moves the fewest bytes, for operands and results of these tilings. Among equals,
/// it is the one with the most parts.
pub(crate) fn choose(grid: &DeviceGrid, rule: &Rule, types: &[&TensorType], tilings: &[&Tiling]) -> Division {
    let tensors = tilings.len();
    // Each candidate gives precedence to one tensor; the results come first.
    let mut firsts: Vec<usize> = (rule.operands..tensors).chain(0..rule.operands).collect();
    firsts.truncate(8);
    let mut best: Option<((usize, std::cmp::Reverse<usize>), Division)> = None;
    for first in firsts {
        for reduces in [true, false] {
            let order = std::iter::once(first).chain((0..tensors).rev().filter(|t| *t != first));
            let axes = assigned(grid, rule, tilings, order, reduces);
            let division = division(grid, rule, &axes);
            let bytes = moved_bytes(grid, rule, types, tilings, &division);
            let parts: usize = axes.iter().map(|axes| grid.parts(axes)).product();
            let cost = (bytes, std::cmp::Reverse(parts));
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, division));
            }
        }
    }
    match best {
        Some((_, division)) => division,
        None => division(grid, rule, &[]),
    }
}

/// Gives sub-axes to factors: each tensor, in this order, divides the factors that are still undivided.
fn assigned(
    grid: &DeviceGrid,
    rule: &Rule,
    tilings: &[&Tiling],
    order: impl Iterator<Item = usize>,
    reduces: bool,
) -> Vec<Vec<SubAxis>> {
    let mut axes: Vec<Vec<SubAxis>> = vec![Vec::new(); rule.factors.len()];
    let mut used: Vec<SubAxis> = Vec::new();
    for tensor in order {
        for (factor, wanted) in projected(grid, rule, &rule.tensors[tensor], tilings[tensor], |_| true) {
            if !axes[factor].is_empty() || (rule.factors[factor].combine.is_some() && !reduces) {
                continue;
            }
            let free: Vec<SubAxis> = wanted.iter().copied().take_while(|axis| !used.contains(axis)).collect();
            let free = fitting_prefix(grid, &free, rule.factors[factor]);
            used.extend(free);
            axes[factor] = free.to_vec();
        }
    }
    // A minor factor of a dimension can be divided only if the major ones are divided completely.
    loop {
        let mut blocked = None;
        for dim in rule.tensors.iter().flatten() {
            let mut is_complete = true;
            for factor in dim {
                if !is_complete && !axes[*factor].is_empty() {
                    blocked = Some(*factor);
                }
                is_complete &= grid.parts(&axes[*factor]) == rule.factors[*factor].size;
            }
        }
        match blocked {
            Some(factor) => axes[factor].clear(),
            None => return axes,
        }
    }
}

/// Returns the tilings of all tensors for sub-axes of the factors.
fn division(grid: &DeviceGrid, rule: &Rule, axes: &[Vec<SubAxis>]) -> Division {
    let of = |factor: &usize| axes.get(*factor).map_or(&[][..], Vec::as_slice);
    let tiling = |dims: &Vec<Vec<usize>>| Tiling {
        dims: dims.iter().map(|factors| factors.iter().flat_map(of).copied().collect()).collect(),
    };
    let combined = |dims: &Vec<Vec<usize>>| {
        let mut combined: Vec<(Binary, Vec<SubAxis>)> = Vec::new();
        for (f, factor) in rule.factors.iter().enumerate() {
            let Some(function) = factor.combine else { continue };
            if of(&f).is_empty() || dims.iter().any(|factors| factors.contains(&f)) {
                continue;
            }
            match combined.iter_mut().find(|(own, _)| *own == function) {
                Some((_, axes)) => axes.extend(of(&f)),
                None => combined.push((function, of(&f).to_vec())),
            }
        }
        combined
    };
    let offset = |(operand, factor): &(usize, usize)| {
        let axes = of(factor).to_vec();
        let entries = rule.factors[*factor].size / grid.parts(&axes);
        (*operand, axes, entries)
    };
    Division {
        tilings: rule.tensors.iter().map(tiling).collect(),
        combined: rule.tensors[rule.operands..].iter().map(combined).collect(),
        offsets: rule.offsets.iter().map(offset).collect(),
    }
}

/// Returns the bytes of the results of the collectives that a division needs.
fn moved_bytes(
    grid: &DeviceGrid,
    rule: &Rule,
    types: &[&TensorType],
    tilings: &[&Tiling],
    division: &Division,
) -> usize {
    let mut moved: usize = 0;
    for (tensor, ty) in types.iter().enumerate() {
        let element = ty.bytes().unwrap_or(0).div_ceil(ty.elements().unwrap_or(1).max(1));
        let sizes = ty.sizes();
        let mut own = division.tilings[tensor].clone();
        let steps = if tensor < rule.operands {
            reshard::plan(grid, sizes, tilings[tensor], &own)
        } else {
            for (_, reduced) in &division.combined[tensor - rule.operands] {
                let mut rest = reduced.clone();
                for (dim, axes) in scattered(grid, sizes, (&own, tilings[tensor]), reduced) {
                    own.dims[dim].extend(&axes);
                    rest.retain(|axis| !axes.contains(axis));
                    moved += own.part_sizes(grid, sizes).iter().product::<usize>() * element;
                }
                if !rest.is_empty() {
                    moved += own.part_sizes(grid, sizes).iter().product::<usize>() * element;
                }
            }
            reshard::plan(grid, sizes, &own, tilings[tensor])
        };
        let from = if tensor < rule.operands { tilings[tensor] } else { &own };
        moved += reshard::moved_elements(grid, sizes, from, &steps) * element;
        if tensor < rule.exchanged {
            moved += exchanged_elements(grid, &rule.tensors[tensor], rule, sizes, &division.tilings[tensor])
                * element;
        }
    }
    moved
}

/// Returns the number of elements that a device receives in exchanges.
fn exchanged_elements(
    grid: &DeviceGrid,
    dims: &TensorFactors,
    rule: &Rule,
    sizes: &[usize],
    tiling: &Tiling,
) -> usize {
    let mut part = tiling.part_sizes(grid, sizes);
    let mut moved = 0;
    for (dim, exchange) in exchanges(dims, rule, tiling) {
        let others: usize = others(part.len(), &[&[dim]]).into_iter().map(|d| part[d]).product();
        match exchange {
            Exchange::None => {}
            Exchange::Windows(windows) => {
                moved += windows.received() * others;
                part[dim] += windows.received();
            }
            Exchange::Reverse => moved += part[dim] * others,
        }
    }
    moved
}

/// Returns the divided dimensions of a tensor along which devices exchange elements.
pub(crate) fn exchanges<'r>(
    dims: &'r TensorFactors,
    rule: &'r Rule,
    tiling: &'r Tiling,
) -> impl Iterator<Item = (usize, Exchange)> + 'r {
    dims.iter().enumerate().filter_map(|(dim, factors)| {
        let [factor] = factors[..] else { return None };
        let exchange = rule.factors[factor].exchange;
        (exchange != Exchange::None && !tiling.dims[dim].is_empty()).then_some((dim, exchange))
    })
}
