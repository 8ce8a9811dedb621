//! Buffers as views of the crate `ndarray`: strides, axes, windows, broadcasts.
#![expect(clippy::missing_panics_doc, reason = "a buffer has the elements of its shape")]

use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Dim, IxDyn};

use crate::buffer::Buffer;
use crate::element::Element;

/// Message of an `expect` that cannot fail.
const SHAPE_FITS: &str = "a buffer has the elements of its shape";

impl<T: Element> Buffer<T> {
    /// Returns the elements as a view.
    ///
    /// ```
    /// # use farcall_ffi::prelude::*;
    /// #[handler(name = "transpose")]
    /// fn transpose(x: &Buffer<f32, 2>, y: &mut Buffer<f32, 2>) -> Result<()> {
    ///     ensure!(x.shape() == [y.dims()[1], y.dims()[0]], "x is {x:?}, but y is {y:?}");
    ///     y.view_mut().assign(&x.view().t());
    ///     Ok(())
    /// }
    /// ```
    pub fn view(&self) -> ArrayViewD<'_, T> {
        ArrayView::from_shape(IxDyn(self.dims()), self).expect(SHAPE_FITS)
    }

    /// Returns the elements as a mutable view.
    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let dims = IxDyn(self.dims());
        ArrayViewMut::from_shape(dims, self).expect(SHAPE_FITS)
    }
}

macro_rules! views {
    ($($rank:literal)*) => {$(
        impl<T: Element> Buffer<T, $rank> {
            /// Returns the elements as a view.
            pub fn view(&self) -> ArrayView<'_, T, Dim<[usize; $rank]>> {
                ArrayView::from_shape(self.shape(), self).expect(SHAPE_FITS)
            }

            /// Returns the elements as a mutable view.
            pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, Dim<[usize; $rank]>> {
                let dims = self.shape();
                ArrayViewMut::from_shape(dims, self).expect(SHAPE_FITS)
            }
        }
    )*};
}

views! { 0 1 2 3 4 5 6 }
