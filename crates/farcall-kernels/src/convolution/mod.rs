//! Convolutions as matrix products. The rows are the positions of the windows, the columns are the kernels,
//! and the sums are over the elements of a window.
//!
//! The image is never unfolded as a whole. A product packs parts of its factors as it needs them, with zeros
//! for the padding and for the holes of a dilated image.

mod depthwise;
mod phases;
mod shape;

use std::mem;

use farcall_ir::Op;

use super::loops::prepared::PreparedKernel;
use super::product::{self, Dim, Operand, Product, Source, Step};
use super::{Kernel, Request, apart};
use depthwise::Depthwise;
use phases::{Phase, phases};
use shape::{Extent, Shape, Spatial};

pub(super) static KERNEL: Kernel = Kernel { name: "convolution", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
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
    // A product would multiply the remaining holes by elements of the kernels, which gives NaN for an
    // infinite element.
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

/// Describes the largest product of the convolution (the number of matrices, and their sizes), and the number
/// of smaller products.
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

/// Returns the shape of the convolution in a request.
fn shape(request: &Request<'_>) -> Option<Shape> {
    match (request.op, request.inputs, request.outputs) {
        (Op::Convolution(c), &[x, y], &[out]) => Shape::new(c, x, y, out),
        _ => None,
    }
}

/// The side of the product on which the image is.
#[derive(Clone, Copy)]
enum Sides {
    ImageLeft,
    ImageRight,
}

impl Sides {
    /// Chooses the sides so that the columns of the result are contiguous.
    fn of(s: &Shape) -> Sides {
        let is_last = |dims: &[Extent]| dims.iter().rfind(|d| d.0 != 1).is_none_or(|d| d.1 == 1);
        let (_, results) = places(s);
        if is_last(&s.kernels[1..]) || !is_last(&results) { Sides::ImageLeft } else { Sides::ImageRight }
    }
}

/// Returns the product that computes a phase.
fn product(phase: &Phase, sides: Sides) -> Product {
    let (s, [kernels_start, result_start]) = (&phase.shape, phase.start);
    let (places, results) = places(s);
    let (depth, weights) = depth(s);
    let count = |dims: &[Extent]| dims.iter().fold(1, |n: usize, d| n.saturating_mul(d.0));
    let axes = s.spatial.iter().filter(|d| !d.is_inside()).map(|d| d.axis).collect();
    // The kernels of all phases in the product, as dimensions of the kernels and of the result.
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

/// Returns the positions of the windows, as dimensions of the image and of the result, in the order of the
/// result.
fn places(s: &Shape) -> (Vec<Dim>, Vec<Extent>) {
    let [image, result] = s.batch;
    ordered(s, image, result, |d| (d.along, d.windows))
}

/// Returns the summed dimensions, in the image and in the kernels, in the order of the kernels.
fn depth(s: &Shape) -> (Vec<Dim>, Vec<Extent>) {
    let [image, kernel] = s.features;
    ordered(s, image, kernel, |d| (d.down, d.window))
}

/// Returns two lists of corresponding dimensions, without dimensions of size 1. The first list belongs to the
/// image: `(size, stride)`, then for each spatial dimension the steps that `each` returns. The second list
/// belongs to another tensor: `other`, then the extents that `each` returns. Both lists are sorted by the
/// strides in the other tensor, from outer to inner.
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
