//! Linear algebra and Fourier transforms.

/// `triangular_solve`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TriangularSolve {
    /// `op(a) x = b`, else `x op(a) = b`.
    pub left_side: bool,
    /// The lower triangle of `a` counts, else the upper.
    pub lower: bool,
    /// The diagonal of `a` is taken as ones.
    pub unit_diagonal: bool,
    /// What `op` is.
    pub transpose_a: TriangularTranspose,
}

/// What is done to the matrix before it is solved with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum TriangularTranspose {
    NoTranspose,
    Transpose,
    Adjoint,
}

impl TriangularTranspose {
    /// Every one.
    pub const ALL: [TriangularTranspose; 3] =
        [TriangularTranspose::NoTranspose, TriangularTranspose::Transpose, TriangularTranspose::Adjoint];

    /// Spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            TriangularTranspose::NoTranspose => "NO_TRANSPOSE",
            TriangularTranspose::Transpose => "TRANSPOSE",
            TriangularTranspose::Adjoint => "ADJOINT",
        }
    }
}

/// Which Fourier transform.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FftKind {
    /// Complex to complex.
    Fft,
    /// Its inverse.
    Ifft,
    /// Real to complex.
    Rfft,
    /// Its inverse.
    Irfft,
}

impl FftKind {
    /// Every transform.
    pub const ALL: [FftKind; 4] = [FftKind::Fft, FftKind::Ifft, FftKind::Rfft, FftKind::Irfft];

    /// Spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            FftKind::Fft => "FFT",
            FftKind::Ifft => "IFFT",
            FftKind::Rfft => "RFFT",
            FftKind::Irfft => "IRFFT",
        }
    }
}
