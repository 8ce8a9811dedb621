//! `getrf`.

use farcall_ffi::testing::Call;
use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::{assert_ratio, call, op};
use crate::for_each_type;

/// A factorization in the form of the op's results.
struct Factors {
    matrix: Matrix,
    pivots: Vec<i32>,
    info: i32,
}

impl Factors {
    fn of<T: Number>(a: &Matrix) -> Factors {
        let (m, n) = (a.rows, a.columns);
        let (mut entries, mut pivots, mut info) = (a.round::<T>(), vec![-1; m.min(n)], [-1]);
        call::<T>("lapack_*getrf_ffi")
            .in_place(&mut entries, &[m, n])
            .result(&mut pivots, &[m.min(n)])
            .result(&mut info, &[])
            .run()
            .unwrap();
        Factors { matrix: Matrix::of(m, n, &entries), pivots, info: info[0] }
    }

    /// Returns `p·l·u`.
    fn product(&self) -> Matrix {
        let k = self.pivots.len();
        let mut product = self.l().times(&self.matrix.upper().first_rows(k));
        for (i, row) in self.pivots.iter().enumerate().rev() {
            let row = *row as usize - 1;
            assert!(i <= row && row < product.rows);
            for j in 0..product.columns {
                (product[(i, j)], product[(row, j)]) = (product[(row, j)], product[(i, j)]);
            }
        }
        product
    }

    fn l(&self) -> Matrix {
        self.matrix.lower().unit().first_columns(self.pivots.len())
    }
}

const SIZES: [[usize; 2]; 16] = [
    [1, 1],
    [2, 2],
    [3, 5],
    [5, 3],
    [8, 8],
    [9, 9],
    [32, 32],
    [33, 33],
    [40, 3],
    [3, 40],
    [64, 20],
    [70, 70],
    [33, 90],
    [90, 33],
    [150, 150],
    [1, 50],
];

#[test]
fn factors_multiply_to_the_matrix() {
    fn check<T: Number>() {
        for [m, n] in SIZES {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(m, n, (m + n) as u64);
                let factors = Factors::of::<T>(&a);
                assert_ratio(a.ratio_to::<T>(&factors.product()), &format!("{} {kind:?} {m}×{n}", T::LETTER));
                let largest = factors.l().entries.iter().map(|x| x.re.abs() + x.im.abs()).fold(0.0, f64::max);
                assert!(largest <= 2.0, "{kind:?} {m}×{n}: a multiplier is {largest}");
                let expected = (0..m.min(n)).find(|k| factors.matrix[(*k, *k)] == Complex::ZERO);
                assert_eq!(factors.info, expected.map_or(0, |k| k as i32 + 1));
            }
        }
    }
    for_each_type!(check);
}

/// Threads share the work on these matrices.
#[test]
fn large_factors_multiply_to_the_matrix() {
    fn check<T: Number>() {
        for [m, n] in [[410, 410], [300, 600], [700, 260]] {
            let a = Kind::Random.matrix::<T>(m, n, 4);
            let factors = Factors::of::<T>(&a);
            assert_eq!(factors.info, 0);
            assert_ratio(a.ratio_to::<T>(&factors.product()), &format!("{} {m}×{n}", T::LETTER));
        }
    }
    check::<f64>();
    check::<num_complex::Complex<f32>>();
}

#[test]
fn pivots_are_the_largest_numbers() {
    let a =
        Matrix::from_fn(3, 3, |i, j| Complex::new([[1., 2., 0.], [-4., 1., 1.], [4., 0., 5.]][i][j], 0.0));
    let factors = Factors::of::<f64>(&a);
    assert_eq!(factors.pivots, [2, 2, 3]);
    assert_eq!(factors.matrix[(1, 0)].re, -0.25);
    assert_eq!(factors.info, 0);
    let factors = Factors::of::<f64>(&Matrix::zeros(40, 40));
    assert_eq!(factors.info, 1);
    assert_eq!(factors.pivots, (1..=40).collect::<Vec<_>>());
}

#[test]
fn matrices_that_are_not_finite_end() {
    fn check<T: Number>() {
        for bad in [f64::NAN, f64::INFINITY] {
            for [m, n] in SIZES {
                let mut a = Kind::Random.matrix::<T>(m, n, 1);
                a[(m / 2, n / 2)] = Complex::new(bad, 0.0);
                let factors = Factors::of::<T>(&a);
                assert!(factors.info > 0 || !factors.matrix.is_finite());
                let all = Matrix::from_fn(m, n, |_, _| Complex::new(bad, 0.0));
                let factors = Factors::of::<T>(&all);
                assert!(!factors.matrix.is_finite());
                assert!(factors.pivots.iter().all(|row| 1 <= *row && *row as usize <= m));
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_of_a_batch_are_independent() {
    fn check<T: Number>() {
        for [m, n] in [[4, 4], [6, 40], [40, 6]] {
            let matrices: Vec<Matrix> = (0..500).map(|i| Kind::Random.matrix::<T>(m, n, i)).collect();
            let k = m.min(n);
            let mut entries: Vec<T> = matrices.iter().flat_map(|a| a.round::<T>()).collect();
            let (mut pivots, mut info) = (vec![-1; 500 * k], vec![-1; 500]);
            call::<T>("lapack_*getrf_ffi")
                .in_place(&mut entries, &[500, m, n])
                .result(&mut pivots, &[500, k])
                .result(&mut info, &[500])
                .run()
                .unwrap();
            for (i, a) in matrices.iter().enumerate() {
                let factors = Factors::of::<T>(a);
                assert_eq!(Matrix::of(m, n, &entries[i * m * n..(i + 1) * m * n]), factors.matrix);
                assert_eq!(pivots[i * k..(i + 1) * k], factors.pivots);
                assert_eq!(info[i], 0);
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_without_entries_have_factors() {
    for dims in [[0, 0], [0, 3], [3, 0]] {
        let mut info = [-1];
        call::<f32>("lapack_*getrf_ffi")
            .in_place::<f32>(&mut [], &dims)
            .result::<i32>(&mut [], &[0])
            .result(&mut info, &[])
            .run()
            .unwrap();
        assert_eq!(info, [0]);
    }
}

#[test]
fn lu_decomposition_has_the_factors_of_getrf() {
    fn check<T: Number>() {
        for [m, n] in SIZES {
            let a = Kind::Random.matrix::<T>(m, n, 7);
            let k = m.min(n);
            // A batch of two row-major matrices.
            let rows = a.transpose().round::<T>();
            let batch = [rows.clone(), rows].concat();
            let mut lu = batch.clone();
            let (mut pivots, mut permutation) = (vec![-1; 2 * k], vec![-1; 2 * m]);
            Call::of(op("LuDecomposition"))
                .operand(&batch, &[2, m, n])
                .result(&mut lu, &[2, m, n])
                .result(&mut pivots, &[2, k])
                .result(&mut permutation, &[2, m])
                .run()
                .unwrap();
            let expected = Factors::of::<T>(&a);
            let mut order: Vec<i32> = (0..m as i32).collect();
            for (i, pivot) in expected.pivots.iter().enumerate() {
                order.swap(i, *pivot as usize - 1);
            }
            for i in 0..2 {
                let factors = Matrix::of(n, m, &lu[i * m * n..][..m * n]).transpose();
                assert_ratio(factors.ratio_to::<T>(&expected.matrix), "LuDecomposition");
                assert!(
                    pivots[i * k..][..k].iter().zip(&expected.pivots).all(|(one, other)| one + 1 == *other)
                );
                assert_eq!(permutation[i * m..][..m], order);
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn lu_decomposition_of_matrices_without_columns() {
    let mut permutation = [-1; 3];
    Call::of(op("LuDecomposition"))
        .operand(&[0f32; 0], &[3, 0])
        .result(&mut [0f32; 0], &[3, 0])
        .result(&mut [0i32; 0], &[0])
        .result(&mut permutation, &[3])
        .run()
        .unwrap();
    assert_eq!(permutation, [0, 1, 2]);
}

#[test]
fn equal_rows_are_singular() {
    fn check<T: Number>() {
        // For other numbers, the product with the rounded reciprocal is not 1, in LAPACK as well.
        for number in (1..100).filter(|number| ![41, 47, 49, 55, 61, 82, 83, 94, 97, 98].contains(number)) {
            let a = Matrix::from_fn(3, 3, |i, j| {
                let x = f64::from(number);
                Complex::new([[x, x, 1.0], [x, x, 1.0], [0.0, 0.0, 1.0]][i][j], 0.0)
            });
            let factors = Factors::of::<T>(&a);
            assert_eq!(factors.info, 2, "{} {number}", T::LETTER);
            assert!(factors.matrix.is_finite());
        }
        let thirds = Matrix::from_fn(2, 2, |i, _| Complex::new([3.0, 1.0][i], 0.0));
        assert_eq!(Factors::of::<T>(&thirds).info, 2);
    }
    for_each_type!(check);
}
