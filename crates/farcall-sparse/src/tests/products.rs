//! Products and their derivatives.

use farcall_ffi::testing::Call;
use farcall_ffi::{Complex, Sample};

use super::{Matrix, Numbers, indices, unwritten};
use crate::form::Role;
use crate::number::{Index, Scalar};

/// Arguments of a form with their dimensions: `[values, right, left]`.
struct Reference<'a> {
    /// `[value, row, column]` of each term.
    terms: &'a [[usize; 3]],
    batches: usize,
    n: usize,
    /// Numbers of values, of rows of the right argument, and of rows of the left argument.
    sizes: [usize; 3],
    /// True if dense arguments are stored as their transposes.
    is_transposed: bool,
}

fn position(role: Role) -> usize {
    match role {
        Role::Values => 0,
        Role::Right => 1,
        Role::Left => 2,
    }
}

impl Reference<'_> {
    fn len(&self, role: Role) -> usize {
        self.batches * self.sizes[position(role)] * if role == Role::Values { 1 } else { self.n }
    }

    /// Adds the derivative of the form with respect to `role`.
    fn add<T: Scalar>(&self, role: Role, arguments: [(Role, &[T]); 2], out: &mut [T]) {
        let of = |batch: usize, role: Role, at: usize, j: usize| {
            let rows = self.sizes[position(role)];
            match (role, self.is_transposed) {
                (Role::Values, _) => batch * rows + at,
                (_, true) => (batch * self.n + j) * rows + at,
                (_, false) => (batch * rows + at) * self.n + j,
            }
        };
        for batch in 0..self.batches {
            for [value, row, column] in self.terms {
                for j in 0..self.n {
                    let index = |role: Role| {
                        let at = match role {
                            Role::Values => *value,
                            Role::Right => *column,
                            Role::Left => *row,
                        };
                        of(batch, role, at, j)
                    };
                    let [(first, x), (second, y)] = arguments;
                    let product = x[index(first)].times(y[index(second)]);
                    out[index(role)] = out[index(role)].plus(product);
                }
            }
        }
    }

    fn sum<T: Scalar>(&self, role: Role, terms: &[[(Role, &[T]); 2]]) -> Vec<T> {
        let mut out = vec![T::ZERO; self.len(role)];
        terms.iter().for_each(|arguments| self.add(role, *arguments, &mut out));
        out
    }
}

/// Compares a product and all of its derivatives with the reference. `$order` is `inner` if the index arrays
/// are between the operands, and `last` otherwise.
macro_rules! check {
    (
        $module:ident, $order:ident, $reference:expr, [$i0:expr, $i1:expr], $roles:expr, $dims:expr,
        $attr:expr, $numbers:expr, $T:ty
    ) => {{
        use crate::products::$module as op;
        let (reference, [first, second, result]) = (&$reference, $roles);
        let dims: [Vec<usize>; 3] = $dims;
        let of = |role: Role| dims[position(role)].clone();
        let (du, dv, dw) = (of(first), of(second), of(result));
        let mut make = |role: Role| -> Vec<$T> { $numbers.numbers(reference.len(role)) };
        let [u, tu, su, ru] = [(); 4].map(|()| make(first));
        let [v, tv, sv, rv] = [(); 4].map(|()| make(second));
        let [w, tw] = [(); 2].map(|()| make(result));
        let (i0, i1) = (&$i0, &$i1);
        macro_rules! operands {
            ($call:expr) => {{
                let call =
                    $call.operand(&u, &du).operand(i0, &[i0.len()]).operand(i1, &[i1.len()]).operand(&v, &dv);
                $attr.iter().fold(call, |call, (name, value): &(&str, i64)| call.attr(name, *value))
            }};
        }
        macro_rules! base {
            (inner) => {
                operands!(Call::to::<op::op>())
            };
            (last) => {{
                let call = Call::to::<op::op>().operand(&u, &du).operand(&v, &dv);
                let call = call.operand(i0, &[i0.len()]).operand(i1, &[i1.len()]);
                $attr.iter().fold(call, |call, (name, value): &(&str, i64)| call.attr(name, *value))
            }};
        }
        let [mut x, mut y] = [(); 2].map(|()| unwritten::<$T>(reference.len(first)));
        let [mut x2, mut y2] = [(); 2].map(|()| unwritten::<$T>(reference.len(second)));
        let mut out = unwritten::<$T>(reference.len(result));
        base!($order).result(&mut out, &dw).run().unwrap();
        assert_eq!(
            out,
            reference.sum(result, &[[(first, &u[..]), (second, &v[..])]]),
            "{}",
            stringify!($module)
        );

        let call = operands!(Call::to::<op::jvp>()).operand(&tu, &du).operand(&tv, &dv);
        call.result(&mut out, &dw).run().unwrap();
        let terms = [[(first, &tu[..]), (second, &v[..])], [(first, &u[..]), (second, &tv[..])]];
        assert_eq!(out, reference.sum(result, &terms[..]), "{}", stringify!($module));

        let call = operands!(Call::to::<op::bwd>()).operand(&w, &dw);
        call.result(&mut x, &du).result(&mut x2, &dv).run().unwrap();
        assert_eq!(
            x,
            reference.sum(first, &[[(second, &v[..]), (result, &w[..])]]),
            "{}",
            stringify!($module)
        );
        assert_eq!(
            x2,
            reference.sum(second, &[[(first, &u[..]), (result, &w[..])]]),
            "{}",
            stringify!($module)
        );

        let call = operands!(Call::to::<op::jvp_jvp>()).operand(&tu, &du).operand(&tv, &dv);
        let call = call.operand(&su, &du).operand(&sv, &dv).operand(&ru, &du).operand(&rv, &dv);
        call.result(&mut out, &dw).run().unwrap();
        let terms = [
            [(first, &ru[..]), (second, &v[..])],
            [(first, &tu[..]), (second, &sv[..])],
            [(first, &su[..]), (second, &tv[..])],
            [(first, &u[..]), (second, &rv[..])],
        ];
        assert_eq!(out, reference.sum(result, &terms[..]), "{}", stringify!($module));

        let call = operands!(Call::to::<op::jvp_bwd>()).operand(&tu, &du).operand(&tv, &dv).operand(&w, &dw);
        let call = call.result(&mut x, &du).result(&mut x2, &dv).result(&mut y, &du).result(&mut y2, &dv);
        call.run().unwrap();
        assert_eq!(x, reference.sum(first, &[[(second, &tv[..]), (result, &w[..])]]));
        assert_eq!(x2, reference.sum(second, &[[(first, &tu[..]), (result, &w[..])]]));
        assert_eq!(y, reference.sum(first, &[[(second, &v[..]), (result, &w[..])]]));
        assert_eq!(y2, reference.sum(second, &[[(first, &u[..]), (result, &w[..])]]));

        let call = operands!(Call::to::<op::bwd_jvp>()).operand(&w, &dw).operand(&tu, &du).operand(&tv, &dv);
        call.operand(&tw, &dw).result(&mut x, &du).result(&mut x2, &dv).run().unwrap();
        let terms = [[(second, &tv[..]), (result, &w[..])], [(second, &v[..]), (result, &tw[..])]];
        assert_eq!(x, reference.sum(first, &terms[..]));
        let terms = [[(first, &tu[..]), (result, &w[..])], [(first, &u[..]), (result, &tw[..])]];
        assert_eq!(x2, reference.sum(second, &terms[..]));

        let call = operands!(Call::to::<op::bwd_bwd>()).operand(&w, &dw).operand(&tu, &du).operand(&tv, &dv);
        call.result(&mut x, &du).result(&mut x2, &dv).result(&mut out, &dw).run().unwrap();
        assert_eq!(x, reference.sum(first, &[[(second, &tv[..]), (result, &w[..])]]));
        assert_eq!(x2, reference.sum(second, &[[(first, &tu[..]), (result, &w[..])]]));
        let terms = [[(first, &tu[..]), (second, &v[..])], [(first, &u[..]), (second, &tv[..])]];
        assert_eq!(out, reference.sum(result, &terms[..]));
    }};
}

/// Checks the products of all formats with matrices of this shape and number of entries.
fn all_formats<T: Scalar + std::fmt::Debug, I: Index>(
    shape: [usize; 2],
    count: usize,
    batch: &[usize],
    n: usize,
) {
    let mut numbers = Numbers::new((shape[0] * 31 + count * 7 + n) as u64);
    let numbers = &mut numbers;
    let (values, vector) = (Role::Values, n == 1);
    let batches = batch.iter().product();
    let [m, k] = shape;
    let with = |own: &[usize]| [batch, own].concat();

    let matrix = Matrix::random(numbers, shape, count);
    let (minor, starts) = matrix.compressed::<I>();
    let terms = matrix.terms();
    let e = minor.len();
    let by_rows = Reference { terms: &terms, batches, n, sizes: [e, k, m], is_transposed: false };
    let none: &[(&str, i64)] = &[];
    let product = [values, Role::Right, Role::Left];
    let dims = || [with(&[e]), with(&[k, n]), with(&[m, n])];
    check!(csr_matmul, inner, by_rows, [minor, starts], product, dims(), none, numbers, T);
    check!(
        csr_sddmm,
        inner,
        by_rows,
        [minor, starts],
        [Role::Left, Role::Right, values],
        dims(),
        none,
        numbers,
        T
    );
    let packed = Reference { is_transposed: true, ..by_rows };
    let flat = [with(&[e]), with(&[n, k]), with(&[n, m])];
    let attr: &[(&str, i64)] = &[("k", k as i64)];
    check!(
        dense_csr_matmul,
        last,
        packed,
        [minor, starts],
        [Role::Left, values, Role::Right],
        flat,
        attr,
        numbers,
        T
    );
    if vector {
        let dims = [with(&[e]), with(&[k]), with(&[m])];
        check!(csr_matvec, inner, by_rows, [minor, starts], product, dims, none, numbers, T);
    }

    // The same arrays are those of the transpose in CSC, which has `k` rows and `m` columns.
    let terms: Vec<[usize; 3]> = terms.iter().map(|[at, row, column]| [*at, *column, *row]).collect();
    let by_columns = Reference { terms: &terms, batches, n, sizes: [e, m, k], is_transposed: false };
    let attr: &[(&str, i64)] = &[("m", k as i64)];
    let dims = [with(&[e]), with(&[m, n]), with(&[k, n])];
    check!(csc_matmul, inner, by_columns, [minor, starts], product, dims, attr, numbers, T);
    let packed = Reference { is_transposed: true, ..by_columns };
    let flat = [with(&[e]), with(&[n, m]), with(&[n, k])];
    check!(
        dense_csc_matmul,
        last,
        packed,
        [minor, starts],
        [Role::Left, values, Role::Right],
        flat,
        none,
        numbers,
        T
    );
    if vector {
        let dims = [with(&[e]), with(&[m]), with(&[k])];
        check!(csc_matvec, inner, by_columns, [minor, starts], product, dims, attr, numbers, T);
    }

    // Entries of COO matrices are in any order.
    let mut entries = matrix.entries.clone();
    (1..entries.len()).for_each(|i| entries.swap(i, numbers.below(i + 1)));
    let terms: Vec<_> = entries.iter().enumerate().map(|(at, [row, column])| [at, *row, *column]).collect();
    let [rows, columns] =
        [0, 1].map(|axis| indices::<I>(&entries.iter().map(|e| e[axis]).collect::<Vec<_>>()));
    let e = entries.len();
    let listed = Reference { terms: &terms, batches, n, sizes: [e, k, m], is_transposed: false };
    let attr: &[(&str, i64)] = &[("m", m as i64)];
    let dims = [with(&[e]), with(&[k, n]), with(&[m, n])];
    check!(sparse_matmul, inner, listed, [rows, columns], product, dims, attr, numbers, T);
    let packed = Reference { is_transposed: true, ..listed };
    let flat = [with(&[e]), with(&[n, k]), with(&[n, m])];
    let attr_k: &[(&str, i64)] = &[("k", k as i64)];
    let roles = [Role::Left, values, Role::Right];
    check!(dense_coo_matmul, last, packed, [rows, columns], roles, flat, attr_k, numbers, T);
    if vector {
        let dims = [with(&[e]), with(&[k]), with(&[m])];
        check!(coo_matvec, inner, listed, [rows, columns], product, dims, attr, numbers, T);
    }
}

/// Checks the products of BSR matrices with blocks of `p×q` elements.
fn blocks<T: Scalar + std::fmt::Debug, I: Index>(
    shape: [usize; 2],
    count: usize,
    [p, q]: [usize; 2],
    n: usize,
) {
    let mut numbers = Numbers::new((count * 5 + p * 3 + q + n) as u64);
    let numbers = &mut numbers;
    let matrix = Matrix::random(numbers, shape, count);
    let (columns, starts) = matrix.compressed::<I>();
    let mut terms = Vec::new();
    for [at, row, column] in matrix.terms() {
        for (i, j) in (0..p).flat_map(|i| (0..q).map(move |j| (i, j))) {
            terms.push([(at * p + i) * q + j, row * p + i, column * q + j]);
        }
    }
    let (e, m, k) = (columns.len(), shape[0] * p, shape[1] * q);
    let reference =
        Reference { terms: &terms, batches: 2, n, sizes: [e * p * q, k, m], is_transposed: false };
    let none: &[(&str, i64)] = &[];
    let product = [Role::Values, Role::Right, Role::Left];
    let dims = [vec![2, e, p, q], vec![2, k, n], vec![2, m, n]];
    check!(bsr_matmul, inner, reference, [columns, starts], product, dims, none, numbers, T);
    let packed = Reference { is_transposed: true, ..reference };
    let flat = [vec![2, e, p, q], vec![2, n, k], vec![2, n, m]];
    let attr: &[(&str, i64)] = &[("k", k as i64)];
    let roles = [Role::Left, Role::Values, Role::Right];
    check!(dense_bsr_matmul, last, packed, [columns, starts], roles, flat, attr, numbers, T);
    if n == 1 {
        let dims = [vec![2, e, p, q], vec![2, k], vec![2, m]];
        check!(bsr_matvec, inner, reference, [columns, starts], product, dims, none, numbers, T);
    }
}

#[test]
fn all_formats_and_types() {
    for (shape, count) in [([5, 4], 12), ([1, 1], 3), ([7, 3], 2), ([3, 9], 60)] {
        for n in [1, 2, 5, 16, 21] {
            all_formats::<f64, i32>(shape, count, &[], n);
            all_formats::<f32, i64>(shape, count, &[3], n);
        }
        all_formats::<Complex<f32>, i32>(shape, count, &[2], 5);
        all_formats::<Complex<f64>, i64>(shape, count, &[], 1);
    }
}

#[test]
fn matrices_without_rows_columns_or_entries() {
    for shape in [[0, 4], [4, 0], [0, 0], [3, 3]] {
        for n in [1, 3] {
            all_formats::<f64, i32>(shape, 0, &[2], n);
        }
    }
    all_formats::<f64, i32>([3, 4], 5, &[0], 3);
    all_formats::<f64, i32>([3, 4], 5, &[2], 0);
}

/// Large matrices, whose products are divided among threads.
#[test]
fn large_matrices() {
    all_formats::<f64, i32>([900, 700], 40_000, &[], 4);
    all_formats::<f32, i32>([2000, 500], 80_000, &[2], 1);
    blocks::<f64, i32>([300, 200], 5000, [4, 4], 1);
}

#[test]
fn blocks_of_all_sizes() {
    for block in [[1, 1], [2, 2], [3, 3], [4, 4], [8, 8], [2, 3], [5, 1]] {
        for n in [1, 3, 20] {
            blocks::<f64, i32>([4, 5], 9, block, n);
        }
        blocks::<Complex<f32>, i64>([4, 5], 9, block, 1);
    }
    blocks::<f32, i64>([3, 2], 0, [2, 2], 2);
}

/// jaxlib's handler also multiplies integers, whose sums wrap around.
#[test]
fn products_under_the_name_of_jaxlib() {
    let (data, starts, columns) = ([i32::MAX, 1, 5, 9], [0i64, 2, 2, 3], [0i64, 1, 1, 88]);
    let mut y = [0i32; 3];
    let call = Call::to::<crate::jaxlib::csr_sparse_dense>().operand(&data, &[4]).operand(&starts, &[4]);
    call.operand(&columns, &[4]).operand(&[1i32, 2], &[2]).result(&mut y, &[3]).run().unwrap();
    assert_eq!(y, [i32::MIN + 1, 0, 10]);
    let mut y = [0f32; 6];
    let call = Call::to::<crate::jaxlib::csr_sparse_dense>().operand(&[1f32, 2.0, 3.0], &[3]);
    let call = call.operand(&[0i32, 1, 1, 3], &[4]).operand(&[1i32, 0, 1], &[3]);
    call.operand(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).result(&mut y, &[3, 2]).run().unwrap();
    assert_eq!(y, [3.0, 4.0, 0.0, 0.0, 11.0, 16.0]);
}

/// The samples of all ops can be made.
#[test]
fn samples() {
    let samples: [fn() -> Vec<Sample>; 3] =
        [crate::samples::csr_matmul, crate::samples::bsr_matmul, crate::samples::csr_triangular_solve];
    assert!(samples.iter().all(|make| make().len() >= 2));
}
