//! Convolutions of dilated images without multiplying the holes.
//!
//! A dilated image has holes between its elements. With a dilation of two, only every other index of a kernel
//! meets an element; the others meet holes. The indices that meet elements depend on the position at which
//! the window begins, relative to the nearest element. Windows with the same relative position form a
//! *phase*: a convolution of the undilated image with a part of the kernels. Phases with equally many
//! elements share one product, whose columns are the kernels of all these phases. So the number of products
//! stays small, however large the dilation is.
//!
//! A window that is much larger than the image covers mostly padding. If padding is skipped, each window is a
//! separate phase with only those kernel indices that meet an element. Windows that cover all of the image
//! share one product.

use super::super::product::Axis;
use super::shape::{Extent, Shape, Spatial};

/// Maximum number of phases of a dimension. The engine has no kernel for convolutions with more phases.
const MAX_PHASES: usize = 1 << 16;
/// Maximum number of products into which a convolution is split.
const MAX_PRODUCTS: usize = 1 << 12;

/// One or more phases that share a product, and the convolution of an undilated image that they form.
#[derive(Clone)]
pub(super) struct Phase {
    pub(super) shape: Shape,
    /// Offsets of the first phase, in the kernels and in the result.
    pub(super) start: [usize; 2],
    /// One entry per dimension with several phases.
    pub(super) beside: Vec<Beside>,
}

/// Phases that share a product. Their first kernel indices are equally spaced, and each phase adds its
/// kernels to the columns of the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beside {
    pub(super) count: usize,
    /// Strides between phases, in the kernels and in the result. A negative stride in the result wraps
    /// around.
    pub(super) strides: [usize; 2],
}

impl Phase {
    /// Makes a single phase of all windows of a convolution.
    pub(super) fn whole(shape: Shape) -> Phase {
        Phase { shape, start: [0; 2], beside: Vec::new() }
    }

    /// Returns true if the product would multiply holes of a dilated image.
    pub(super) fn has_holes(&self) -> bool {
        let spatial = &self.shape.spatial;
        spatial.iter().all(|s| !is_empty(s)) && spatial.iter().any(|s| s.axis.dilation > 1)
    }
}

/// Returns true if there is nothing to multiply along a dimension.
fn is_empty(s: &Spatial) -> bool {
    s.window.0 == 0 || s.windows.0 == 0
}

/// Splits a convolution into phases, each of which becomes one product. A convolution is returned whole if it
/// has no multiplications, or if its image has neither holes nor skipped padding.
pub(super) fn phases(shape: Shape) -> Vec<Phase> {
    let (all, skips_padding) = (0..shape.spatial.len(), shape.skips_padding);
    let mut phases = vec![Phase::whole(shape)];
    for d in all.clone() {
        if phases.iter().any(|p| p.shape.spatial[d].axis.dilation > 1) {
            split(&mut phases, d, count, phase);
        }
    }
    if skips_padding && !phases.iter().any(Phase::has_holes) {
        for d in all {
            split(&mut phases, d, |s| s.windows.0, inside);
        }
    }
    phases
}

/// Splits phases along a dimension, unless there is nothing to multiply or there would be too many phases.
fn split(
    phases: &mut Vec<Phase>,
    d: usize,
    count: impl Fn(&Spatial) -> usize,
    phase: impl Fn(&Spatial, usize) -> (Spatial, usize),
) {
    let mut parts = Vec::new();
    for p in phases.iter() {
        let s = &p.shape.spatial[d];
        let number = count(s).min(s.windows.0);
        if p.shape.spatial.iter().any(is_empty) {
            parts.push(p.clone());
            continue;
        }
        if number > MAX_PHASES {
            return;
        }
        for run in runs(s, number, &phase) {
            let mut shape = p.shape.clone();
            shape.spatial[d] = run.spatial;
            let start = [p.start[0] + run.place * s.window.1, p.start[1] + run.first * s.windows.1];
            let strides = [run.places.wrapping_mul(s.window.1), run.firsts.wrapping_mul(s.windows.1)];
            let beside = (run.count > 1).then_some(Beside { count: run.count, strides });
            parts.push(Phase { shape, start, beside: p.beside.iter().copied().chain(beside).collect() });
        }
        if parts.len() > MAX_PRODUCTS {
            return;
        }
    }
    *phases = parts;
}

/// Phases of one dimension that have equally many elements and are equally spaced.
struct PhaseRun {
    spatial: Spatial,
    /// First kernel index that meets an element in the first phase.
    place: usize,
    /// First window of the first phase.
    first: usize,
    /// Steps of `place` and of `first` from one phase to the next. Negative steps wrap around.
    places: usize,
    firsts: usize,
    count: usize,
}

impl PhaseRun {
    /// Adds a phase if it continues the run. Returns true if the phase was added.
    fn takes(&mut self, spatial: &Spatial, place: usize, first: usize) -> bool {
        let last = |begin: usize, step: usize| begin.wrapping_add(step.wrapping_mul(self.count - 1));
        let steps = [
            place.wrapping_sub(last(self.place, self.places)),
            first.wrapping_sub(last(self.first, self.firsts)),
        ];
        let continues = self.count == 1 || steps == [self.places, self.firsts];
        if *spatial != self.spatial || !continues {
            return false;
        }
        [self.places, self.firsts] = steps;
        self.count += 1;
        true
    }
}

/// Groups the phases of a dimension into runs of equally spaced phases, ordered by their first kernel
/// indices.
fn runs(s: &Spatial, count: usize, phase: impl Fn(&Spatial, usize) -> (Spatial, usize)) -> Vec<PhaseRun> {
    let mut all: Vec<(Spatial, usize, usize)> = (0..count)
        .map(|first| {
            let (spatial, place) = phase(s, first);
            (spatial, place, first)
        })
        .collect();
    all.sort_by_key(|(spatial, place, first)| {
        (spatial.window.0, spatial.windows.0, spatial.axis.start, *place, *first)
    });
    let mut runs: Vec<PhaseRun> = Vec::new();
    for (spatial, place, first) in all {
        if !runs.last_mut().is_some_and(|run| run.takes(&spatial, place, first)) {
            runs.push(PhaseRun { spatial, place, first, places: 0, firsts: 0, count: 1 });
        }
    }
    runs
}

/// Number of phases. Windows whose indices differ by this number begin at the same position relative to the
/// nearest element.
fn count(s: &Spatial) -> usize {
    s.axis.dilation / num_integer::gcd(s.axis.dilation, s.along.unsigned_abs())
}

/// Returns a phase: every `count`th window from window `first` on, and the first kernel index that meets an
/// element.
fn phase(s: &Spatial, first: usize) -> (Spatial, usize) {
    let Axis { dilation, start, .. } = s.axis;
    let (by, apart) = (dilation as isize, count(s));
    let begin = start + first as isize * s.along;
    // Distance between kernel indices that meet an element.
    let step = dilation / num_integer::gcd(dilation, s.down.unsigned_abs());
    let place = (0..step.min(s.window.0)).find(|k| (begin + *k as isize * s.down).rem_euclid(by) == 0);
    let every = |(size, stride): Extent, from: usize, step: usize| {
        (size.saturating_sub(from).div_ceil(step), stride.saturating_mul(step))
    };
    // If no kernel index meets an element, the position in the image does not matter.
    let (place, window, at) = match place {
        Some(place) => (place, every(s.window, place, step), begin + place as isize * s.down),
        None => (0, (0, s.window.1), 0),
    };
    let spatial = Spatial {
        axis: Axis { dilation: 1, start: at.div_euclid(by), ..s.axis },
        window,
        down: step as isize * s.down / by,
        windows: every(s.windows, first, apart),
        along: apart as isize * s.along / by,
    };
    (spatial, place)
}

/// Returns one window of an image without holes as a phase, and the first kernel index that meets an element.
fn inside(s: &Spatial, window: usize) -> (Spatial, usize) {
    let begin = s.axis.start + window as isize * s.along;
    let end = s.axis.size as isize - 1;
    // Distances from the beginning of the window to the first and to the last element, in the direction of
    // the window.
    let [near, far] = if s.down > 0 { [-begin, end - begin] } else { [begin - end, begin] };
    let by = s.down.unsigned_abs() as isize;
    let first = (near + by - 1).div_euclid(by).max(0);
    let last = far.div_euclid(by).min(s.window.0 as isize - 1);
    let one = Spatial { windows: (1, s.windows.1), window: (0, s.window.1), ..*s };
    if first > last {
        return (Spatial { axis: Axis { start: 0, ..s.axis }, ..one }, 0);
    }
    let axis = Axis { start: begin + first * s.down, ..s.axis };
    (Spatial { axis, window: ((last - first) as usize + 1, s.window.1), ..one }, first as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of the window, the kernel index, and the element for each pair that is multiplied.
    fn seen(s: &Spatial, [place, window]: [usize; 2], [step, apart]: [usize; 2]) -> Vec<[usize; 3]> {
        let mut all = Vec::new();
        for w in 0..s.windows.0 {
            for k in 0..s.window.0 {
                let at = s.axis.start + w as isize * s.along + k as isize * s.down;
                all.extend(s.axis.element(at).map(|e| [window + w * apart, place + k * step, e]));
            }
        }
        all
    }

    #[test]
    fn phases_see_all_elements_of_the_whole() {
        let (mut compared, mut most) = (0, 0);
        for [dilation, along, down, size, window] in [
            [2, 1, 1, 5, 3],
            [2, 1, -1, 4, 7],
            [3, 2, 2, 5, 4],
            [2, 2, 1, 6, 3],
            [4, 6, -3, 5, 5],
            [2, 1, 1, 3, 1],
            [16, 1, 1, 4, 16],
            [16, 1, -1, 4, 16],
            [16, 3, 1, 4, 35],
            [7, 1, 1, 3, 3],
        ] {
            let axis = Axis { size: size as usize, dilation: dilation as usize, stride: 1, start: -3 };
            let whole = Spatial { axis, window: (window as usize, 1), down, windows: (9, 1), along };
            let step = (dilation as usize) / num_integer::gcd(dilation as usize, down.unsigned_abs());
            let runs = runs(&whole, count(&whole).min(9), phase);
            let each = runs.iter().flat_map(|run| (0..run.count).map(move |i| (run, i)));
            let mut parts: Vec<[usize; 3]> = each
                .flat_map(|(run, i)| {
                    let place = run.place.wrapping_add(run.places.wrapping_mul(i));
                    let first = run.first.wrapping_add(run.firsts.wrapping_mul(i));
                    seen(&run.spatial, [place, first], [step, count(&whole)])
                })
                .collect();
            most = most.max(runs.len());
            let mut all = seen(&whole, [0, 0], [1, 1]);
            all.sort_unstable();
            parts.sort_unstable();
            assert_eq!(all, parts, "pairs of {whole:?}");
            compared += all.len();
        }
        assert!(compared > 44, "only {compared} pairs were compared");
        assert!(most <= 8, "a convolution takes {most} products");
    }

    #[test]
    fn windows_see_the_same_elements_without_padding() {
        for (along, down, start) in [(1, 1, -29), (2, 1, -7), (1, -2, 20), (3, -1, 2), (1, 3, -40)] {
            let axis = Axis { size: 3, dilation: 1, stride: 1, start };
            let whole = Spatial { axis, window: (12, 1), down, windows: (32, 1), along };
            let runs = runs(&whole, 32, inside);
            let each = runs.iter().flat_map(|run| (0..run.count).map(move |i| (run, i)));
            let parts = each.flat_map(|(run, i)| {
                let place = run.place.wrapping_add(run.places.wrapping_mul(i));
                let first = run.first.wrapping_add(run.firsts.wrapping_mul(i));
                seen(&run.spatial, [place, first], [1, 1])
            });
            let mut parts: Vec<[usize; 3]> = parts.collect();
            let mut all = seen(&whole, [0, 0], [1, 1]);
            all.sort_unstable();
            parts.sort_unstable();
            assert!(!all.is_empty());
            assert_eq!(all, parts, "pairs of {whole:?}");
            let most = runs.iter().map(|run| run.spatial.window.0 * run.count).sum::<usize>();
            assert_eq!(most, all.len(), "padding must not be multiplied");
        }
    }
}
