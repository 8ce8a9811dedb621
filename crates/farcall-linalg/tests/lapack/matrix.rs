//! Matrices of the tests: generators, products and norms. All arithmetic is in complex double precision.

use std::ops::{Index, IndexMut};

use farcall_ffi::Element;
use num_complex::Complex;

/// An element type of LAPACK.
pub(crate) trait Number: Element + PartialEq + std::fmt::Debug {
    /// LAPACK's letter for the type.
    const LETTER: &str;
    /// True for complex types.
    const IS_COMPLEX: bool;
    /// Largest relative error of an operation.
    const EPSILON: f64;
    /// Size of tiny numbers, near the smallest normal number.
    const TINY_MODULUS: f64;
    /// Size of huge numbers, near the largest number.
    const HUGE_MODULUS: f64;

    /// Rounds a number. Real types drop the imaginary part.
    fn round(number: Complex<f64>) -> Self;

    /// Converts exactly.
    fn widen(self) -> Complex<f64>;
}

macro_rules! numbers {
    ($($ty:ty, $letter:literal, $complex_letter:literal, $tiny:literal, $huge:literal;)*) => {$(
        impl Number for $ty {
            const LETTER: &str = $letter;
            const IS_COMPLEX: bool = false;
            const EPSILON: f64 = <$ty>::EPSILON as f64 / 2.0;
            const TINY_MODULUS: f64 = $tiny;
            const HUGE_MODULUS: f64 = $huge;

            fn round(number: Complex<f64>) -> $ty {
                number.re as $ty
            }

            fn widen(self) -> Complex<f64> {
                Complex::new(self as f64, 0.0)
            }
        }

        impl Number for Complex<$ty> {
            const LETTER: &str = $complex_letter;
            const IS_COMPLEX: bool = true;
            const EPSILON: f64 = <$ty>::EPSILON as f64 / 2.0;
            const TINY_MODULUS: f64 = $tiny;
            const HUGE_MODULUS: f64 = $huge;

            fn round(number: Complex<f64>) -> Self {
                Complex::new(number.re as $ty, number.im as $ty)
            }

            fn widen(self) -> Complex<f64> {
                Complex::new(self.re as f64, self.im as f64)
            }
        }
    )*};
}
numbers! {
    f32, "s", "c", 1e-37, 1e36;
    f64, "d", "z", 1e-300, 1e300;
}

/// A column-major matrix.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) entries: Vec<Complex<f64>>,
}

impl Index<(usize, usize)> for Matrix {
    type Output = Complex<f64>;

    fn index(&self, (i, j): (usize, usize)) -> &Complex<f64> {
        &self.entries[j * self.rows + i]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut Complex<f64> {
        &mut self.entries[j * self.rows + i]
    }
}

impl Matrix {
    pub(crate) fn from_fn(
        rows: usize,
        columns: usize,
        entry: impl Fn(usize, usize) -> Complex<f64>,
    ) -> Matrix {
        let entries = (0..rows * columns).map(|at| entry(at % rows, at / rows)).collect();
        Matrix { rows, columns, entries }
    }

    pub(crate) fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |_, _| Complex::ZERO)
    }

    pub(crate) fn identity(n: usize) -> Matrix {
        Matrix::from_fn(n, n, |i, j| if i == j { Complex::ONE } else { Complex::ZERO })
    }

    /// Reads column-major entries.
    pub(crate) fn of<T: Number>(rows: usize, columns: usize, entries: &[T]) -> Matrix {
        assert_eq!(entries.len(), rows * columns);
        Matrix { rows, columns, entries: entries.iter().map(|x| x.widen()).collect() }
    }

    /// Returns the entries in column-major order, rounded.
    pub(crate) fn round<T: Number>(&self) -> Vec<T> {
        self.entries.iter().map(|x| T::round(*x)).collect()
    }

    /// Returns a matrix whose entries are numbers of the type `T`.
    pub(crate) fn rounded<T: Number>(&self) -> Matrix {
        Matrix::of(self.rows, self.columns, &self.round::<T>())
    }

    pub(crate) fn map(&self, f: impl Fn(usize, usize, Complex<f64>) -> Complex<f64>) -> Matrix {
        Matrix::from_fn(self.rows, self.columns, |i, j| f(i, j, self[(i, j)]))
    }

    pub(crate) fn scaled(&self, factor: f64) -> Matrix {
        self.map(|_, _, x| x * factor)
    }

    pub(crate) fn transpose(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |i, j| self[(j, i)])
    }

    pub(crate) fn adjoint(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |i, j| self[(j, i)].conj())
    }

    /// Returns the lower triangle with the diagonal.
    pub(crate) fn lower(&self) -> Matrix {
        self.map(|i, j, x| if i >= j { x } else { Complex::ZERO })
    }

    /// Returns the upper triangle with the diagonal.
    pub(crate) fn upper(&self) -> Matrix {
        self.map(|i, j, x| if i <= j { x } else { Complex::ZERO })
    }

    /// Returns the matrix with ones on the diagonal.
    pub(crate) fn unit(&self) -> Matrix {
        self.map(|i, j, x| if i == j { Complex::ONE } else { x })
    }

    /// Returns the first columns.
    pub(crate) fn first_columns(&self, columns: usize) -> Matrix {
        Matrix::from_fn(self.rows, columns, |i, j| self[(i, j)])
    }

    /// Returns the first rows.
    pub(crate) fn first_rows(&self, rows: usize) -> Matrix {
        Matrix::from_fn(rows, self.columns, |i, j| self[(i, j)])
    }

    pub(crate) fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows);
        let mut product = Matrix::zeros(self.rows, other.columns);
        for j in 0..other.columns {
            for l in 0..self.columns {
                let factor = other[(l, j)];
                if factor == Complex::ZERO {
                    continue;
                }
                for i in 0..self.rows {
                    product[(i, j)] += self[(i, l)] * factor;
                }
            }
        }
        product
    }

    pub(crate) fn minus(&self, other: &Matrix) -> Matrix {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        self.map(|i, j, x| x - other[(i, j)])
    }

    /// Returns the largest sum of absolute values of a column.
    pub(crate) fn norm(&self) -> f64 {
        let sums = self.entries.chunks(self.rows.max(1)).map(|c| c.iter().map(|x| x.norm()).sum::<f64>());
        sums.fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.entries.iter().all(|x| x.is_finite())
    }

    /// Returns `‖self − other‖ / (‖self‖·n·ε)`, where `n` is the larger dimension.
    pub(crate) fn ratio_to<T: Number>(&self, other: &Matrix) -> f64 {
        let difference = self.minus(other).norm();
        if difference == 0.0 {
            return 0.0;
        }
        difference / (self.norm().max(f64::MIN_POSITIVE) * self.rows.max(self.columns) as f64 * T::EPSILON)
    }

    /// Returns `‖1 − selfᴴ·self‖ / (m·ε)`, where `m` is the number of rows.
    pub(crate) fn orthogonality<T: Number>(&self) -> f64 {
        let product = self.adjoint().times(self);
        Matrix::identity(self.columns).minus(&product).norm() / (self.rows.max(1) as f64 * T::EPSILON)
    }
}

/// Returns a number between −1 and 1 that is the same in every run.
pub(crate) fn random(seed: u64, index: usize) -> f64 {
    // SplitMix64.
    let mut z = (seed << 32 | index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) as f64 / u64::MAX as f64 * 2.0 - 1.0
}

/// A kind of test matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Independent entries between −1 and 1.
    Random,
    /// Rows and columns of very different sizes.
    Graded,
    /// About half of the columns depend on the others.
    RankDeficient,
    /// The condition is about the reciprocal of the rounding error.
    IllConditioned,
    /// Entries near the smallest normal number.
    Tiny,
    /// Entries near the largest number.
    Huge,
    /// Zeros.
    Zero,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Kind; 7] = [
        Kind::Random,
        Kind::Graded,
        Kind::RankDeficient,
        Kind::IllConditioned,
        Kind::Tiny,
        Kind::Huge,
        Kind::Zero,
    ];

    /// Returns a matrix whose entries are numbers of the type `T`.
    pub(crate) fn matrix<T: Number>(self, rows: usize, columns: usize, seed: u64) -> Matrix {
        let random = Matrix::from_fn(rows, columns, |i, j| {
            let at = 2 * (j * rows + i);
            Complex::new(random(seed, at), if T::IS_COMPLEX { random(seed, at + 1) } else { 0.0 })
        });
        let last = (rows + columns).max(3) as f64 - 2.0;
        let matrix = match self {
            Kind::Random => random,
            Kind::Graded => random.map(|i, j, x| x * T::EPSILON.powf((i + j) as f64 / last)),
            Kind::RankDeficient => {
                random.map(|i, j, x| if j % 2 == 1 { random[(i, j / 2)] * 2.0 } else { x })
            }
            Kind::IllConditioned => {
                random.map(|i, j, x| if j > 0 { random[(i, 0)] + x * T::EPSILON * 16.0 } else { x })
            }
            Kind::Tiny => random.scaled(T::TINY_MODULUS),
            Kind::Huge => random.scaled(T::HUGE_MODULUS),
            Kind::Zero => Matrix::zeros(rows, columns),
        };
        matrix.rounded::<T>()
    }

    /// Returns a Hermitian matrix with the eigenvalues' sizes of this kind, whose entries are numbers of the
    /// type `T`. It is positive definite unless the kind is rank-deficient or zero.
    pub(crate) fn positive<T: Number>(self, n: usize, seed: u64) -> Matrix {
        let factor = Kind::Random.matrix::<T>(n, n, seed);
        let hermitian = factor.times(&factor.adjoint());
        let hermitian = hermitian.map(|i, j, x| if i == j { x + n as f64 } else { x });
        let hermitian = match self {
            Kind::Random => hermitian,
            Kind::Graded => {
                let last = 2.0 * (n.max(2) as f64 - 1.0);
                hermitian.map(|i, j, x| x * T::EPSILON.powf((i + j) as f64 / last))
            }
            Kind::RankDeficient => {
                hermitian.map(|i, j, x| if i == n / 2 || j == n / 2 { x * 0.0 } else { x })
            }
            Kind::IllConditioned => {
                hermitian.map(|i, j, x| 1.0 + x * T::EPSILON * if i == j { 64.0 } else { 0.0 })
            }
            Kind::Tiny => hermitian.scaled(T::TINY_MODULUS),
            Kind::Huge => hermitian.scaled(T::HUGE_MODULUS / n.max(1) as f64),
            Kind::Zero => Matrix::zeros(n, n),
        };
        hermitian.rounded::<T>()
    }
}
