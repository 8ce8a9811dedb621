//! Convolutions, as products of matrices: the places of the windows by the kernels, summed over what is in a window.
//!
//! The image is never unfolded as a whole: a product brings parts of its factors together as it needs them, and takes
//! zeros for what is in the padding or in a hole of a dilated image.

mod depthwise;
mod shape;

use farcall_ir::Op;

use super::args::Prepared;
use super::product::{Dim, Operand, Product, Source, Step};
use super::{Kernel, Request, apart};
use depthwise::Depthwise;
use shape::{Extent, Shape, Spatial};

pub(super) static KERNEL: Kernel = Kernel { name: "convolution", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (shape, &[x, y], &[out]) = (shape(request)?, request.inputs, request.outputs) else { return None };
    if x.dtype != y.dtype {
        return None;
    }
    if let Some(prepared) = Depthwise::of(&shape).and_then(|d| d.prepare([x.dtype, out.dtype])) {
        return Some(prepared);
    }
    let (product, places) = product(&shape);
    product.prepare([x.dtype, out.dtype], places.map(Source::Input))
}

fn describe(request: &Request<'_>) -> String {
    let Some(shape) = shape(request) else { return String::new() };
    let (p, _) = product(&shape);
    format!("{}x[{}x{}x{}]", p.matrices(), p.rows, p.depth, p.columns)
}

/// The convolution that a request is for.
fn shape(request: &Request<'_>) -> Option<Shape> {
    match (request.op, request.inputs, request.outputs) {
        (Op::Convolution(c), &[x, y], &[out]) => Shape::new(c, x, y, out),
        _ => None,
    }
}

/// The product, and which inputs are its left and right factors: the result's columns are what lies together there.
fn product(s: &Shape) -> (Product, [usize; 2]) {
    let (places, results) = places(s);
    let (depth, weights) = depth(s);
    let count = |dims: &[Extent]| dims.iter().fold(1, |n: usize, d| n.saturating_mul(d.0));
    let axes = s.spatial.iter().filter(|d| !d.is_inside()).map(|d| d.axis).collect();
    let rows = count(&results);
    let image = Operand::image(places, depth, axes);
    let kernel = Operand::matrix(&s.kernels[..1], &weights);
    let (depth, kernels) = (count(&weights), s.kernels[0].0);
    let [x, y, out] = s.group_strides;
    let features = vec![s.kernels[1]];
    let is_last = |dims: &[Extent]| dims.iter().rfind(|d| d.0 != 1).is_none_or(|d| d.1 == 1);
    if is_last(&features) || !is_last(&results) {
        let batch = vec![(s.groups, [x, y, out])];
        let out = [results, features];
        let product = Product { batch, rows, columns: kernels, depth, lhs: image, rhs: kernel, out };
        return (product, [0, 1]);
    }
    let batch = vec![(s.groups, [y, x, out])];
    let out = [features, results];
    (Product { batch, rows: kernels, columns: rows, depth, lhs: kernel, rhs: image, out }, [1, 0])
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
