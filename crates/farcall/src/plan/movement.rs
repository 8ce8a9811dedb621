//! Strided copies: the one form in which broadcasts, transposes, slices, reversals, concatenations
//! and paddings move elements.

/// Copies the element `src + Σ iᵢ·src_strideᵢ` to `dst + Σ iᵢ·dst_strideᵢ` for every index `i` below
/// the sizes of the axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Movement {
    /// The operation that this came from, for dumps and statistics.
    pub name: &'static str,
    /// Bytes of one element.
    pub element: usize,
    /// From outer to inner. None of them has size 1, and neighbours that can be one axis are.
    pub axes: Vec<Axis>,
    /// First element of the source.
    pub src: usize,
    /// First element of the destination.
    pub dst: usize,
}

/// One axis of a movement; strides in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Number of steps.
    pub size: usize,
    /// Distance of neighbours in the source.
    pub src: isize,
    /// Distance of neighbours in the destination.
    pub dst: isize,
}

impl Movement {
    /// A movement over these axes, from outer to inner, in normal form.
    pub fn new(
        name: &'static str,
        element: usize,
        axes: impl IntoIterator<Item = Axis>,
        src: usize,
        dst: usize,
    ) -> Movement {
        let mut normal: Vec<Axis> = Vec::new();
        for axis in axes {
            if axis.size == 1 {
                continue;
            }
            match normal.last_mut() {
                Some(outer) if outer.joins(&axis) => {
                    *outer = Axis { size: outer.size.saturating_mul(axis.size), ..axis };
                }
                _ => normal.push(axis),
            }
        }
        if normal.iter().any(|a| a.size == 0) {
            normal = vec![Axis { size: 0, src: 1, dst: 1 }];
        }
        Movement { name, element, axes: normal, src, dst }
    }

    /// Number of elements moved.
    pub fn elements(&self) -> usize {
        self.axes.iter().map(|a| a.size).product()
    }

    /// Smallest and largest element number of the source, and of the destination; `None` if nothing
    /// is moved or a number overflows.
    pub fn extent(&self) -> Option<[(usize, usize); 2]> {
        let reach = |start: usize, stride: fn(&Axis) -> isize| -> Option<(usize, usize)> {
            let (mut low, mut high) = (isize::try_from(start).ok()?, isize::try_from(start).ok()?);
            for a in &self.axes {
                let far = isize::try_from(a.size.checked_sub(1)?).ok()?.checked_mul(stride(a))?;
                low = low.checked_add(far.min(0))?;
                high = high.checked_add(far.max(0))?;
            }
            Some((usize::try_from(low).ok()?, usize::try_from(high).ok()?))
        };
        Some([reach(self.src, |a| a.src)?, reach(self.dst, |a| a.dst)?])
    }

    /// True if source and destination are the same elements in the same order, without gaps.
    pub fn is_identity(&self) -> bool {
        self.src == 0
            && self.dst == 0
            && match self.axes.as_slice() {
                [] => true,
                [a] => a.src == 1 && a.dst == 1,
                _ => false,
            }
    }
}

impl Axis {
    /// True if this axis and the one inside it can be walked as one.
    fn joins(&self, inner: &Axis) -> bool {
        let Ok(n) = isize::try_from(inner.size) else { return false };
        inner.src.checked_mul(n) == Some(self.src) && inner.dst.checked_mul(n) == Some(self.dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join() {
        let axes = [
            Axis { size: 2, src: 12, dst: 12 },
            Axis { size: 1, src: 7, dst: 99 },
            Axis { size: 3, src: 4, dst: 4 },
            Axis { size: 4, src: 1, dst: 1 },
        ];
        let m = Movement::new("copy", 4, axes, 0, 0);
        assert_eq!(m.axes, [Axis { size: 24, src: 1, dst: 1 }]);
        assert!(m.is_identity());
        assert_eq!(m.extent(), Some([(0, 23), (0, 23)]));
    }

    #[test]
    fn a_reversal_reaches_down() {
        let m = Movement::new("reverse", 4, [Axis { size: 5, src: -1, dst: 1 }], 4, 0);
        assert_eq!(m.extent(), Some([(0, 4), (0, 4)]));
        let outside = Movement::new("reverse", 4, [Axis { size: 5, src: -1, dst: 1 }], 3, 0);
        assert_eq!(outside.extent(), None);
    }
}
