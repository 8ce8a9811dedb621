//! Complex numbers.

/// A complex number, laid out as C, C++ and `num_complex` do: the real part, then the imaginary one.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// `re + im·i`
    pub const fn new(re: T, im: T) -> Complex<T> {
        Complex { re, im }
    }
}
