//! Batches: a matrix has the same results as in a call for this matrix alone, bit for bit, also beside
//! matrices that are singular or not finite.

use num_complex::Complex;

use super::call;
use super::matrix::{Kind, Number};
use crate::for_each_type;

/// More matrices than one vector has entries, and not a multiple of that.
const COUNT: usize = 37;

/// Random numbers for the matrices of a batch, each of `rows` × `columns`: some matrices have a zero
/// diagonal, an infinite or a NaN entry.
fn numbers<T: Number>(rows: usize, columns: usize, seed: u64) -> Vec<T> {
    let matrix = |i: usize| {
        let mut a = Kind::Random.matrix::<T>(rows, columns, seed + i as u64);
        let last = (rows - 1, columns - 1);
        match i % 9 {
            3 => (0..rows.min(columns)).for_each(|j| a[(j, j)] = Complex::ZERO),
            5 => a[last] = Complex::new(f64::NAN, 0.0),
            7 => a[last] = Complex::new(f64::INFINITY, 0.0),
            _ => {}
        }
        a.round::<T>()
    };
    (0..COUNT).flat_map(matrix).collect()
}

/// Operands and results of an op: the sizes of a matrix of each.
#[derive(Default)]
struct Case<'a> {
    /// Name, with `*` for the letter of the element type, and `?` for the letters `or` or `un`.
    name: &'a str,
    /// Operands that are replaced by results.
    in_place: &'a [&'a [usize]],
    operands: &'a [&'a [usize]],
    results: &'a [&'a [usize]],
    has_info: bool,
    attributes: &'a [(&'a str, u8)],
    switches: &'a [(&'a str, bool)],
    /// True if the other operands precede the replaced ones.
    operands_first: bool,
}

impl Case<'_> {
    /// Calls the op for `count` matrices. Returns the bits of all results.
    fn run<T: Number>(&self, count: usize, in_place: &[&[T]], operands: &[&[T]]) -> (Vec<Vec<T>>, Vec<i32>) {
        let dims = |sizes: &[usize]| [&[count], sizes].concat();
        let len = |sizes: &[usize]| count * sizes.iter().product::<usize>();
        let mut replaced: Vec<Vec<T>> = in_place.iter().map(|values| values.to_vec()).collect();
        let mut results: Vec<Vec<T>> =
            self.results.iter().map(|sizes| vec![T::round(Complex::ZERO); len(sizes)]).collect();
        let mut info = vec![-1; count];
        let name = self.name.replace('?', if T::IS_COMPLEX { "un" } else { "or" });
        let mut call = call::<T>(&name);
        let given: Vec<_> = operands.iter().zip(self.operands).map(|(x, sizes)| (*x, dims(sizes))).collect();
        if self.operands_first {
            for (x, dims) in &given {
                call = call.operand(x, dims);
            }
        }
        for (x, sizes) in replaced.iter_mut().zip(self.in_place) {
            call = call.in_place(x, &dims(sizes));
        }
        if !self.operands_first {
            for (x, dims) in &given {
                call = call.operand(x, dims);
            }
        }
        for (y, sizes) in results.iter_mut().zip(self.results) {
            call = call.result(y, &dims(sizes));
        }
        if self.has_info {
            call = call.result(&mut info, &[count]);
        }
        for (name, value) in self.attributes {
            call = call.attr(name, *value);
        }
        for (name, value) in self.switches {
            call = call.attr(name, *value);
        }
        call.run().unwrap();
        (replaced.into_iter().chain(results).collect(), info)
    }

    /// Compares a batch with its matrices.
    fn check<T: Number>(&self) {
        let all = self.in_place.iter().chain(self.operands).enumerate();
        let values: Vec<Vec<T>> = all
            .map(|(i, sizes)| {
                let rows = sizes[0];
                numbers::<T>(rows, sizes.get(1).copied().unwrap_or(1), 100 * i as u64)
            })
            .collect();
        let (in_place, operands) = values.split_at(self.in_place.len());
        let slices = |values: &[Vec<T>], of: Option<usize>| -> Vec<Vec<T>> {
            let part = |values: &Vec<T>| {
                let len = values.len() / COUNT;
                of.map_or_else(|| values.clone(), |i| values[i * len..(i + 1) * len].to_vec())
            };
            values.iter().map(part).collect()
        };
        let run = |count: usize, of: Option<usize>| {
            let (in_place, operands) = (slices(in_place, of), slices(operands, of));
            let [in_place, operands] =
                [&in_place, &operands].map(|values| values.iter().map(Vec::as_slice).collect::<Vec<_>>());
            self.run::<T>(count, &in_place, &operands)
        };
        let (batch, info) = run(COUNT, None);
        for (i, info) in info.into_iter().enumerate() {
            let (alone, alone_info) = run(1, Some(i));
            assert_eq!(format!("{:?}", slices(&batch, Some(i))), format!("{alone:?}"), "{} {i}", self.name);
            assert_eq!(info, alone_info[0], "{} {i}", self.name);
        }
    }
}

#[test]
fn triangular_systems_of_a_batch_are_independent() {
    fn check<T: Number>() {
        for side in [b'L', b'R'] {
            for (uplo, trans) in [(b'L', b'N'), (b'L', b'C'), (b'U', b'N'), (b'U', b'T')] {
                for diag in [b'N', b'U'] {
                    let order: &[usize] = if side == b'L' { &[5, 5] } else { &[7, 7] };
                    let case = Case {
                        name: "lapack_*trsm_ffi",
                        operands: &[order],
                        operands_first: true,
                        in_place: &[&[5, 7]],
                        attributes: &[("side", side), ("uplo", uplo), ("trans_x", trans), ("diag", diag)],
                        ..Case::default()
                    };
                    case.check::<T>();
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn tridiagonal_systems_of_a_batch_are_independent() {
    fn check<T: Number>() {
        for (n, columns) in [(1, 2), (2, 1), (9, 3)] {
            let (diagonal, sides) = ([n], [n, columns]);
            let case = Case {
                name: "lapack_*gtsv_ffi",
                in_place: &[&diagonal, &diagonal, &diagonal, &sides],
                has_info: true,
                ..Case::default()
            };
            case.check::<T>();
        }
    }
    for_each_type!(check);
}

#[test]
fn reflectors_of_a_batch_are_independent() {
    fn check<T: Number>() {
        let generate =
            Case { name: "lapack_*?gqr_ffi", in_place: &[&[7, 5]], operands: &[&[4]], ..Case::default() };
        generate.check::<T>();
        for (left, transpose) in [(true, true), (true, false), (false, true), (false, false)] {
            let order: &[usize] = if left { &[6, 4] } else { &[8, 4] };
            let multiply = Case {
                name: "lapack_*?mqr_ffi",
                operands: &[order, &[3]],
                operands_first: true,
                in_place: &[&[6, 8]],
                switches: &[("left", left), ("transpose", transpose)],
                ..Case::default()
            };
            multiply.check::<T>();
        }
    }
    for_each_type!(check);
}
