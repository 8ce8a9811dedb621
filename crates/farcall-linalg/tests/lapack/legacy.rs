//! The targets without the suffix `_ffi`: the results are those of the targets with it.

use num_complex::Complex;

use super::call;
use super::matrix::{Kind, Number};
use crate::for_each_type;

/// A size, which the targets do not read. JAX also passed sizes as `s32`.
const SIZE: [i64; 1] = [i64::MIN];

#[test]
fn results_are_those_of_the_typed_targets() {
    fn check<T: Number>() {
        let (m, n, work_size) = (6, 4, 9);
        let zero = T::round(Complex::ZERO);
        let a = Kind::Random.matrix::<T>(m, n, 1).round::<T>();
        let orthogonal = if T::IS_COMPLEX { "un" } else { "or" };

        let (mut x, mut ipiv, mut info) = (a.clone(), [0; 4], [-1]);
        let sizes = |call, count| {
            (0..count).fold(call, |call: farcall_ffi::testing::Call<'static>, _| call.operand(&SIZE, &[]))
        };
        sizes(call::<T>("lapack_*getrf"), 3)
            .in_place(&mut x, &[m, n])
            .result(&mut ipiv, &[4])
            .result(&mut info, &[])
            .run()
            .unwrap();
        let (mut y, mut expected) = (a.clone(), [0; 4]);
        call::<T>("lapack_*getrf_ffi")
            .in_place(&mut y, &[m, n])
            .result(&mut expected, &[4])
            .result(&mut info, &[])
            .run()
            .unwrap();
        assert_eq!((x, ipiv, info), (y, expected, [0]));

        let (mut x, mut tau, mut work) = (a.clone(), [zero; 4], [T::round(Complex::ONE); 9]);
        sizes(call::<T>("lapack_*geqrf"), 4)
            .in_place(&mut x, &[m, n])
            .result(&mut tau, &[4])
            .result(&mut info, &[])
            .result(&mut work, &[work_size])
            .run()
            .unwrap();
        let (mut y, mut expected) = (a.clone(), [zero; 4]);
        call::<T>("lapack_*geqrf_ffi").in_place(&mut y, &[m, n]).result(&mut expected, &[4]).run().unwrap();
        assert_eq!((&x, tau, work), (&y, expected, [zero; 9]));

        sizes(call::<T>(&format!("lapack_*{orthogonal}gqr")), 5)
            .in_place(&mut x, &[m, n])
            .operand(&tau, &[4])
            .result(&mut info, &[])
            .result(&mut work, &[work_size])
            .run()
            .unwrap();
        call::<T>(&format!("lapack_*{orthogonal}gqr_ffi"))
            .in_place(&mut y, &[m, n])
            .operand(&tau, &[4])
            .run()
            .unwrap();
        assert_eq!(x, y);

        let positive = Kind::Random.positive::<T>(n, 2).round::<T>();
        for (lower, uplo) in [([1], b'L'), ([0], b'U')] {
            let (mut x, mut y) = (positive.clone(), positive.clone());
            call::<T>("lapack_*potrf")
                .operand(&lower, &[])
                .operand(&SIZE, &[])
                .operand(&SIZE, &[])
                .in_place(&mut x, &[n, n])
                .result(&mut info, &[])
                .run()
                .unwrap();
            call::<T>("lapack_*potrf_ffi")
                .in_place(&mut y, &[n, n])
                .result(&mut info, &[])
                .attr("uplo", uplo)
                .run()
                .unwrap();
            assert_eq!(x, y);
        }
        for (transpose, letter) in [([0], b'N'), ([1], b'T'), ([2], b'C')] {
            let (mut x, mut y) = (a.clone(), a.clone());
            let alpha = [T::round(Complex::new(2.0, 0.0))];
            let options = [[0], [1], transpose, [1]];
            let call_with =
                options.iter().fold(call::<T>("blas_*trsm"), |call, option| call.operand(option, &[]));
            (0..3)
                .fold(call_with, |call, _| call.operand(&SIZE, &[]))
                .operand(&alpha, &[])
                .operand(&positive, &[n, n])
                .in_place(&mut x, &[m, n])
                .run()
                .unwrap();
            call::<T>("blas_*trsm_ffi")
                .operand(&positive, &[n, n])
                .in_place(&mut y, &[m, n])
                .operand(&alpha, &[])
                .attr("side", b'R')
                .attr("uplo", b'L')
                .attr("trans_x", letter)
                .attr("diag", b'U')
                .run()
                .unwrap();
            assert_eq!(x, y);
        }
    }
    for_each_type!(check);
}
