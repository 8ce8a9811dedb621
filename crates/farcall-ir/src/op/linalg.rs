//! Linear algebra and Fourier transforms.

/// `triangular_solve`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TriangularSolve {
    /// True to solve `op(a) x = b`, false for `x op(a) = b`.
    pub left_side: bool,
    /// True to read the lower triangle of `a`, false for the upper.
    pub lower: bool,
    /// True to assume that the diagonal of `a` is all ones.
    pub unit_diagonal: bool,
    /// Operation `op` that is applied to `a`.
    pub transpose_a: TriangularTranspose,
}

/// Operation applied to the matrix before solving.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum TriangularTranspose {
    NoTranspose,
    Transpose,
    Adjoint,
}

impl TriangularTranspose {
    /// All operations.
    pub const VARIANTS: [TriangularTranspose; 3] =
        [TriangularTranspose::NoTranspose, TriangularTranspose::Transpose, TriangularTranspose::Adjoint];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            TriangularTranspose::NoTranspose => "NO_TRANSPOSE",
            TriangularTranspose::Transpose => "TRANSPOSE",
            TriangularTranspose::Adjoint => "ADJOINT",
        }
    }
}

/// A kind of Fourier transform.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftKind {
    /// Complex to complex.
    Fft,
    /// Inverse of `Fft`.
    Ifft,
    /// Real to complex.
    Rfft,
    /// Inverse of `Rfft`.
    Irfft,
}

impl FftKind {
    /// All transforms.
    pub const VARIANTS: [FftKind; 4] = [FftKind::Fft, FftKind::Ifft, FftKind::Rfft, FftKind::Irfft];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            FftKind::Fft => "FFT",
            FftKind::Ifft => "IFFT",
            FftKind::Rfft => "RFFT",
            FftKind::Irfft => "IRFFT",
        }
    }
}
