//! Convolutions, as products of matrices: the places of the windows by the kernels, summed over what is in a window.
//!
//! The image is never unfolded as a whole: a product brings parts of its factors together as it needs them, and takes
//! zeros for what is in the padding or in a hole of a dilated image.

mod depthwise;
mod phases;
mod shape;

use std::mem;

use farcall_ir::Op;

use super::args::Prepared;
use super::product::{self, Dim, Operand, Product, Source, Step};
use super::{Kernel, Request, apart};
use depthwise::Depthwise;
use phases::{Phase, phases};
use shape::{Extent, Shape, Spatial};

pub(super) static KERNEL: Kernel = Kernel { name: "convolution", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (shape, &[x, y], &[out]) = (shape(request)?, request.inputs, request.outputs) else { return None };
    if x.dtype != y.dtype {
        return None;
    }
    let depthwise = if shape.skips_padding { None } else { Depthwise::of(&shape) };
    if let Some(prepared) = depthwise.and_then(|d| d.prepare([x.dtype, out.dtype])) {
        return Some(prepared);
    }
    let sides = Sides::of(&shape);
    let phases = phases(shape);
    // Holes that are left would be multiplied by infinities.
    if phases.iter().any(Phase::has_holes) {
        return None;
    }
    let products = phases.iter().map(|phase| product(phase, sides)).collect();
    let places = match sides {
        Sides::ImageLeft => [0, 1],
        Sides::ImageRight => [1, 0],
    };
    product::prepare(products, [x.dtype, out.dtype], places.map(Source::Input))
}

/// The largest product of the convolution: matrices, and the sizes of each; and the number of further
/// products.
fn describe(request: &Request<'_>) -> String {
    let Some(shape) = shape(request) else { return String::new() };
    let sides = Sides::of(&shape);
    let mut products: Vec<Product> = phases(shape).iter().map(|phase| product(phase, sides)).collect();
    products.sort_by_key(|p| std::cmp::Reverse(p.work()));
    let Some(p) = products.first() else { return String::new() };
    let more =
        if products.len() > 1 { format!(" and {} smaller", products.len() - 1) } else { String::new() };
    format!("{}x[{}x{}x{}]{more}", p.matrices(), p.rows, p.depth, p.columns)
}

/// The convolution that a request is for.
fn shape(request: &Request<'_>) -> Option<Shape> {
    match (request.op, request.inputs, request.outputs) {
        (Op::Convolution(c), &[x, y], &[out]) => Shape::new(c, x, y, out),
        _ => None,
    }
}

/// Which factor the image is.
#[derive(Clone, Copy)]
enum Sides {
    ImageLeft,
    ImageRight,
}

impl Sides {
    /// The result's columns are what lies together there.
    fn of(s: &Shape) -> Sides {
        let is_last = |dims: &[Extent]| dims.iter().rfind(|d| d.0 != 1).is_none_or(|d| d.1 == 1);
        let (_, results) = places(s);
        if is_last(&s.kernels[1..]) || !is_last(&results) { Sides::ImageLeft } else { Sides::ImageRight }
    }
}

/// The product that a phase is.
fn product(phase: &Phase, sides: Sides) -> Product {
    let (s, [kernels_start, result_start]) = (&phase.shape, phase.start);
    let (places, results) = places(s);
    let (depth, weights) = depth(s);
    let count = |dims: &[Extent]| dims.iter().fold(1, |n: usize, d| n.saturating_mul(d.0));
    let axes = s.spatial.iter().filter(|d| !d.is_inside()).map(|d| d.axis).collect();
    // Kernels, and their places in the phases: in the kernels and in the result.
    let [kernels, outputs] = [0, 1].map(|i| -> Vec<Extent> {
        phase.beside.iter().map(|b| (b.count, b.strides[i])).chain([s.kernels[i]]).collect()
    });
    let mut p = Product {
        batch: vec![(s.groups, s.group_strides)],
        rows: count(&results),
        columns: count(&kernels),
        depth: count(&weights),
        lhs: Operand::image(places, depth, axes),
        rhs: Operand::matrix(&kernels, &weights),
        out: [results, outputs],
        start: [0, kernels_start, result_start],
    };
    if let Sides::ImageRight = sides {
        p.batch.iter_mut().for_each(|(_, strides)| strides.swap(0, 1));
        mem::swap(&mut p.rows, &mut p.columns);
        mem::swap(&mut p.lhs, &mut p.rhs);
        p.out.swap(0, 1);
        p.start.swap(0, 1);
    }
    p
}

/// Where the windows are, in the image and in the result, in the result's order.
fn places(s: &Shape) -> (Vec<Dim>, Vec<Extent>) {
    let [image, result] = s.batch;
    ordered(s, image, result, |d| (d.along, d.windows))
}

/// What is summed over, in the image and in the kernels, in the order of the kernels.
fn depth(s: &Shape) -> (Vec<Dim>, Vec<Extent>) {
    let [image, kernel] = s.features;
    ordered(s, image, kernel, |d| (d.down, d.window))
}

/// A dimension of the image and what corresponds to it elsewhere, and the same of each axis: steps along it, and
/// what they correspond to; in the order there.
fn ordered(
    s: &Shape,
    (size, stride): Extent,
    other: Extent,
    each: impl Fn(&Spatial) -> (isize, Extent),
) -> (Vec<Dim>, Vec<Extent>) {
    let mut all = vec![(other, Dim { size, step: Step::Stride(stride) })];
    let mut axes = 0..;
    for d in &s.spatial {
        let (step, other) = each(d);
        let step = if d.is_inside() {
            Step::Stride(step.unsigned_abs().saturating_mul(d.axis.stride))
        } else {
            Step::Along { axis: axes.next().unwrap_or(0), step }
        };
        all.push((other, Dim { size: other.0, step }));
    }
    all.retain(|(_, dim)| dim.size != 1);
    all.sort_by_key(|((_, stride), _)| std::cmp::Reverse(*stride));
    (all.iter().map(|(_, dim)| *dim).collect(), all.iter().map(|(other, _)| *other).collect())
}
