//! The shape of a convolution, independent of the order of its dimensions.

use farcall_ir::op::Convolution;
use farcall_ir::{TensorType, dims};

use super::super::product::{Axis, MAX_DIMS};
use super::super::window;

/// One dimension of a tensor: size, and stride in elements.
pub(super) type Extent = (usize, usize);

/// Shape of a convolution. All groups have the same shape.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) groups: usize,
    /// Distances between groups in the image, the kernels and the result.
    pub(super) group_strides: [usize; 3],
    /// Number of images of a group, with strides in the image and in the result.
    pub(super) batch: [Extent; 2],
    /// Number of features of a group that are summed over, with strides in the image and in the kernels.
    pub(super) features: [Extent; 2],
    /// Number of kernels of a group, with strides in the kernels and in the result.
    pub(super) kernels: [Extent; 2],
    pub(super) spatial: Vec<Spatial>,
    /// True if the sums leave out the padding, instead of multiplying zeros.
    pub(super) skips_padding: bool,
}

/// A spatial dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spatial {
    pub(super) axis: Axis,
    /// Positions within a window, as a dimension of the kernels.
    pub(super) window: Extent,
    /// Step between positions within a window along the axis.
    pub(super) down: isize,
    /// Positions of windows, as a dimension of the result.
    pub(super) windows: Extent,
    /// Step between windows along the axis.
    pub(super) along: isize,
}

impl Shape {
    /// Returns the shape, or `None` if the operation and the types do not match.
    pub(super) fn new(c: &Convolution, x: &TensorType, y: &TensorType, out: &TensorType) -> Option<Shape> {
        let d = &c.dims;
        let extents = |t: &TensorType| -> Vec<Extent> {
            t.sizes().iter().copied().zip(dims::strides(t.sizes())).collect()
        };
        let [image, kernel, result] = [x, y, out].map(extents);
        let of = |all: &[Extent], batch: usize, feature: usize, spatial: &[usize]| {
            let order = [&[batch, feature], spatial].concat();
            let distinct = (0..all.len()).all(|d| order.contains(&d)) && order.len() == all.len();
            distinct.then(|| order.iter().map(|d| all[*d]).collect::<Vec<Extent>>())
        };
        let image = of(&image, d.input_batch, d.input_feature, &d.input_spatial)?;
        let kernel = of(&kernel, d.kernel_input_feature, d.kernel_output_feature, &d.kernel_spatial)?;
        let result = of(&result, d.output_batch, d.output_feature, &d.output_spatial)?;
        let spatial = spatial(c, [&image[2..], &kernel[2..], result.get(2..)?])?;

        let (by_feature, by_batch) = (c.feature_group_count, c.batch_group_count);
        let groups = by_feature.checked_mul(by_batch).filter(|n| *n > 0)?;
        let part = |(size, stride): Extent, by: usize| {
            size.is_multiple_of(by).then_some(((size / by, stride), (size / by).saturating_mul(stride)))
        };
        let (images, next_image) = part(image[0], by_batch)?;
        let (features, next_features) = part(image[1], by_feature)?;
        let (kernels, next_kernels) = part(kernel[1], groups)?;
        let (outputs, next_outputs) = part(result[1], groups)?;
        let fits = kernel[0].0 == features.0 && outputs.0 == kernels.0 && result[0].0 == images.0;
        if !fits || (by_feature > 1 && by_batch > 1) {
            return None;
        }
        let next = if by_batch > 1 { next_image } else { next_features };
        Some(Shape {
            groups,
            group_strides: [next, next_kernels, next_outputs],
            batch: [images, result[0]],
            features: [features, kernel[0]],
            kernels: [kernels, outputs],
            spatial,
            skips_padding: c.skips_padding(x.sizes(), y.sizes()),
        })
    }
}

impl Spatial {
    /// Returns true if the first window begins at the start of the axis, and windows contain neither padding
    /// nor holes.
    pub(super) fn is_inside(&self) -> bool {
        let last = |count: usize, step: isize| count.saturating_sub(1).saturating_mul(step.unsigned_abs());
        let end = last(self.windows.0, self.along).saturating_add(last(self.window.0, self.down));
        self.axis.dilation == 1 && self.axis.start == 0 && self.down > 0 && end < self.axis.size
    }
}

/// Returns the spatial dimensions, or `None` if there are too many, or their sizes and steps are invalid.
fn spatial(c: &Convolution, [image, kernel, result]: [&[Extent]; 3]) -> Option<Vec<Spatial>> {
    let rank = image.len();
    let lists =
        [c.strides.len(), c.padding.len(), c.lhs_dilation.len(), c.rhs_dilation.len(), c.reversal.len()];
    // The lines and the depth of a product have one dimension more than the image has spatial dimensions.
    if rank + 1 > MAX_DIMS || lists.iter().any(|n| *n != rank) || [kernel.len(), result.len()] != [rank; 2] {
        return None;
    }
    let one = |i: usize| {
        let (size, window) = (image[i].0, kernel[i].0);
        // Steps are checked even for empty windows, for which the other numbers do not matter.
        let steps = [c.strides[i], c.lhs_dilation[i], c.rhs_dilation[i]];
        if steps.iter().any(|n| *n == 0 || isize::try_from(*n).is_err()) {
            return None;
        }
        let (along, dilation) = (c.strides[i] as isize, c.rhs_dilation[i] as isize);
        let all = window::Axis {
            size,
            window,
            stride: c.strides[i],
            base_dilation: c.lhs_dilation[i],
            window_dilation: c.rhs_dilation[i],
            padding: c.padding[i],
        };
        // The start matters neither for an empty window, which has no terms, nor for a convolution without
        // windows, which has no results.
        let start = if window == 0 || result[i].0 == 0 {
            0
        } else if all.is_sound() && all.windows() == result[i].0 {
            let far = if c.reversal[i] { (window - 1) as isize * dilation } else { 0 };
            far - isize::try_from(c.padding[i].0).ok()?
        } else {
            return None;
        };
        Some(Spatial {
            axis: Axis { size, dilation: c.lhs_dilation[i], stride: image[i].1, start },
            window: kernel[i],
            down: if c.reversal[i] { -dilation } else { dilation },
            windows: result[i],
            along,
        })
    };
    (0..rank).map(one).collect()
}
