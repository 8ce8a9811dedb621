//! Convolutions of dilated images without their holes.
//!
//! Of an image whose elements are two places apart, every other window sees every other place of its kernels only. So
//! windows are taken apart by where they begin between two elements: those of one *phase* are a convolution of the image
//! as it is with a part of the kernels.

use super::super::product::Axis;
use super::shape::{Extent, Shape, Spatial};

/// Phases at most: beyond, the image has almost nothing but holes.
const MOST: usize = 64;

/// The windows of a phase, as a convolution of an image that is not dilated.
pub(super) struct Phase {
    pub(super) shape: Shape,
    /// Where its part of the kernels begins, and its part of the result.
    pub(super) start: [usize; 2],
}

/// The phases of a convolution; itself as the only one, if its image is not dilated, it has too many, or there is nothing
/// to multiply.
pub(super) fn phases(shape: Shape) -> Vec<Phase> {
    let empty = |s: &Spatial| s.window.0 == 0 || s.windows.0 == 0;
    let all = shape.spatial.iter().fold(1, |n: usize, s| n.saturating_mul(count(s)));
    if shape.spatial.iter().any(empty) || shape.spatial.iter().all(|s| s.axis.dilation == 1) || all > MOST {
        return vec![Phase { shape, start: [0; 2] }];
    }
    let mut phases = vec![Phase { shape: shape.clone(), start: [0; 2] }];
    for (d, s) in shape.spatial.iter().enumerate().filter(|(_, s)| s.axis.dilation > 1) {
        let each = |p: &Phase, first: usize| {
            let (spatial, place) = phase(s, first);
            let mut shape = p.shape.clone();
            shape.spatial[d] = spatial;
            Phase { shape, start: [p.start[0] + place * s.window.1, p.start[1] + first * s.windows.1] }
        };
        phases = phases
            .iter()
            .flat_map(|p| (0..count(s)).map(|first| each(p, first)).collect::<Vec<_>>())
            .collect();
    }
    phases
}

/// Windows after which the next one begins as the first one does, seen from the elements.
fn count(s: &Spatial) -> usize {
    s.axis.dilation / num_integer::gcd(s.axis.dilation, s.along.unsigned_abs())
}

/// Every `count`th window from window `first` on, and the first place of the kernels with an element under it.
fn phase(s: &Spatial, first: usize) -> (Spatial, usize) {
    let Axis { dilation, start, .. } = s.axis;
    let (by, apart) = (dilation as isize, count(s));
    let begin = start + first as isize * s.along;
    // Places of the kernels after which one has an element under it again.
    let step = dilation / num_integer::gcd(dilation, s.down.unsigned_abs());
    let place = (0..step.min(s.window.0)).find(|k| (begin + *k as isize * s.down).rem_euclid(by) == 0);
    let every = |(size, stride): Extent, from: usize, step: usize| {
        (size.saturating_sub(from).div_ceil(step), stride.saturating_mul(step))
    };
    let (place, window) = match place {
        Some(place) => (place, every(s.window, place, step)),
        None => (0, (0, s.window.1)),
    };
    let at = begin + place as isize * s.down;
    let spatial = Spatial {
        axis: Axis { dilation: 1, start: at.div_euclid(by), ..s.axis },
        window,
        down: step as isize * s.down / by,
        windows: every(s.windows, first, apart),
        along: apart as isize * s.along / by,
    };
    (spatial, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements that windows see at places of the kernels: (window, place, element).
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
    fn phases_see_what_the_whole_sees() {
        let mut compared = 0;
        for [dilation, along, down, size, window] in [
            [2, 1, 1, 5, 3],
            [2, 1, -1, 4, 7],
            [3, 2, 2, 5, 4],
            [2, 2, 1, 6, 3],
            [4, 6, -3, 5, 5],
            [2, 1, 1, 3, 1],
        ] {
            let axis = Axis { size: size as usize, dilation: dilation as usize, stride: 1, start: -3 };
            let whole = Spatial { axis, window: (window as usize, 1), down, windows: (9, 1), along };
            let step = (dilation as usize) / num_integer::gcd(dilation as usize, down.unsigned_abs());
            let mut parts: Vec<[usize; 3]> = (0..count(&whole))
                .flat_map(|first| {
                    let (part, place) = phase(&whole, first);
                    seen(&part, [place, first], [step, count(&whole)])
                })
                .collect();
            let mut all = seen(&whole, [0, 0], [1, 1]);
            all.sort_unstable();
            parts.sort_unstable();
            assert_eq!(all, parts, "{whole:?}");
            compared += all.len();
        }
        assert_eq!(compared, 44);
    }
}
