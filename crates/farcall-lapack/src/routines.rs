//! A safe function for each routine.
//!
//! In Fortran's calling convention, every argument is a pointer, so a call passes an array of pointers
//! ([`call`]). One function thus serves all four element types, even if the complex routine has an additional
//! argument.

use std::ffi::c_void;

use crate::element::MatrixElement;
use crate::library::{Library, OpenError, current};
use crate::names::Routine;
use crate::workspace::{Request, Workspace};

/// The routines of the open library for an element type, with memory for their workspaces. Each function returns
/// LAPACK's `info`.
///
/// A clone has its own memory, for another thread. LAPACK determines the size of a workspace. The first call of a
/// routine asks for it. This value and its clones share the answer as long as they call this routine with the same
/// sizes and options, so the matrices of a batch need one request; other calls ask again.
#[derive(Clone, Debug)]
pub struct Routines<T: MatrixElement> {
    library: &'static Library,
    work: Workspace<T>,
}

/// Returns the routines for an element type; `None` if the process uses no library. The first call opens the
/// library that the environment variable `FARCALL_LINALG` names, unless a library is open already.
///
/// # Errors
/// If the variable has an invalid value, or the library cannot be opened or lacks a routine.
pub fn routines<T: MatrixElement>() -> Result<Option<Routines<T>>, OpenError> {
    Ok(current()?.map(Routines::new))
}

/// Memory for eigenvalues: complex numbers for complex matrices, real and imaginary parts for real matrices.
#[derive(Debug)]
pub enum Eigenvalues<'a, T: MatrixElement> {
    /// Real and imaginary parts, in this order.
    Parts(&'a mut [T], &'a mut [T]),
    /// Complex numbers.
    Complex(&'a mut [T]),
}

impl<T: MatrixElement> Eigenvalues<'_, T> {
    /// Returns the arguments for `n` eigenvalues.
    fn arguments(&mut self, n: usize) -> Vec<*mut c_void> {
        match self {
            Eigenvalues::Parts(re, im) => vec![whole(re, n), whole(im, n)],
            Eigenvalues::Complex(w) => vec![whole(w, n)],
        }
    }
}

impl<T: MatrixElement> Routines<T> {
    /// True for complex element types.
    const IS_COMPLEX: bool = T::INDEX >= 2;

    pub(crate) fn new(library: &'static Library) -> Self {
        Routines { library, work: Workspace::default() }
    }

    /// Calls a routine.
    ///
    /// # Safety
    /// The arguments must match the routine's parameters, and point to as many elements as it accesses.
    unsafe fn call(&self, routine: Routine, arguments: &[*mut c_void]) {
        // SAFETY: the caller of `open` guarantees that the address belongs to this routine, and the caller of
        // this function that the arguments match it.
        unsafe { call(self.library.address(routine, T::INDEX), routine, arguments.to_vec()) }
    }

    /// Calls a routine with a workspace of the size that the routine requests. The request is a call of its own,
    /// which is made once for this value and its clones. `sizes` has all arguments on which the size depends.
    /// `arguments` returns the routine's arguments, given the arguments for the workspace and its size.
    ///
    /// # Safety
    /// Same requirements as [`call`](Self::call).
    unsafe fn call_with_work(
        &mut self,
        routine: Routine,
        sizes: &[i32],
        arguments: impl Fn(*mut c_void, *mut c_void) -> Vec<*mut c_void>,
    ) {
        let address = self.library.address(routine, T::INDEX);
        let request = Request::new(routine, sizes);
        let (work, size) = self.work.elements(&request, || {
            let mut best = [T::default()];
            // SAFETY: with the size −1, the routine only stores the optimal size in the first element. The address
            // belongs to this routine, as in `call`.
            unsafe { call(address, routine, arguments(whole(&mut best, 1), input(&-1i32))) };
            best[0]
        });
        // SAFETY: the caller guarantees the other arguments (`# Safety` above).
        unsafe { call(address, routine, arguments(work.as_mut_ptr().cast(), input(&size))) };
    }

    /// Product `c = alpha·op(a)·op(b) + beta·c` (`gemm`), where `c` is an `m×n` matrix, and `op(a)` has
    /// `k` columns. `options` are LAPACK's `transa` and `transb`. With `beta` 0, `c` is not read.
    pub fn gemm(
        &self,
        options: [u8; 2],
        [m, n, k]: [usize; 3],
        [alpha, beta]: [T; 2],
        a: &[T],
        b: &[T],
        c: &mut [T],
    ) {
        options.iter().for_each(|option| check(*option, b"NTC"));
        let [transpose_a, transpose_b] = &options;
        let (rows, columns, inner) = (size(m), size(n), size(k));
        let lda = leading(if *transpose_a == b'N' { m } else { k });
        let ldb = leading(if *transpose_b == b'N' { k } else { n });
        let ldc = leading(m);
        let arguments = [
            input(transpose_a),
            input(transpose_b),
            input(&rows),
            input(&columns),
            input(&inner),
            input(&alpha),
            read(a, m * k),
            input(&lda),
            read(b, k * n),
            input(&ldb),
            input(&beta),
            whole(c, m * n),
            input(&ldc),
        ];
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe { self.call(Routine::Gemm, &arguments) }
    }

    /// Solves `op(a)·x = alpha·b` or `x·op(a) = alpha·b` with a triangular `a` (`trsm`). `b`, an `m×n` matrix,
    /// becomes `x`. `options` are LAPACK's `side`, `uplo`, `transa` and `diag`.
    pub fn trsm(&self, options: [u8; 4], [m, n]: [usize; 2], alpha: T, a: &[T], b: &mut [T]) {
        let letters = [&b"LR"[..], b"LU", b"NTC", b"NU"];
        options.iter().zip(letters).for_each(|(option, letters)| check(*option, letters));
        let order = if options[0] == b'L' { m } else { n };
        let [side, uplo, transpose, diagonal] = &options;
        let (rows, columns, lda) = (size(m), size(n), leading(order));
        let ldb = leading(m);
        let arguments = [
            input(side),
            input(uplo),
            input(transpose),
            input(diagonal),
            input(&rows),
            input(&columns),
            input(&alpha),
            read(a, order * order),
            input(&lda),
            whole(b, m * n),
            input(&ldb),
        ];
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe { self.call(Routine::Trsm, &arguments) }
    }

    /// Cholesky factorization of an `n×n` matrix (`potrf`). The triangle `uplo` is read and replaced.
    pub fn potrf(&self, uplo: u8, n: usize, a: &mut [T]) -> i32 {
        check(uplo, b"LU");
        let (order, lda, mut info) = (size(n), leading(n), 0);
        let arguments = [input(&uplo), input(&order), whole(a, n * n), input(&lda), output(&mut info)];
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe { self.call(Routine::Potrf, &arguments) };
        info
    }

    /// LU factorization of an `m×n` matrix (`getrf`). `pivots` has `min(m, n)` elements.
    pub fn getrf(&self, [m, n]: [usize; 2], a: &mut [T], pivots: &mut [i32]) -> i32 {
        let (rows, columns, lda, mut info) = (size(m), size(n), leading(m), 0);
        let arguments = [
            input(&rows),
            input(&columns),
            whole(a, m * n),
            input(&lda),
            whole(pivots, m.min(n)),
            output(&mut info),
        ];
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe { self.call(Routine::Getrf, &arguments) };
        info
    }

    /// QR factorization of an `m×n` matrix (`geqrf`). `tau` has `min(m, n)` elements.
    pub fn geqrf(&mut self, [m, n]: [usize; 2], a: &mut [T], tau: &mut [T]) -> i32 {
        let (rows, columns, lda, mut info) = (size(m), size(n), leading(m), 0);
        let (a, tau, info_at) = (whole(a, m * n), whole(tau, m.min(n)), output(&mut info));
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Geqrf, &[rows, columns], |work, work_size| {
                vec![input(&rows), input(&columns), a, input(&lda), tau, work, work_size, info_at]
            });
        }
        info
    }

    /// QR factorization of an `m×n` matrix with column pivoting (`geqp3`).
    pub fn geqp3(&mut self, [m, n]: [usize; 2], a: &mut [T], pivots: &mut [i32], tau: &mut [T]) -> i32 {
        let (rows, columns, lda, mut info) = (size(m), size(n), leading(m), 0);
        let (a, pivots, tau) = (whole(a, m * n), whole(pivots, n), whole(tau, m.min(n)));
        let (real_work, info_at) = (self.work.real(2 * n), output(&mut info));
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Geqp3, &[rows, columns], |work, work_size| {
                let mut arguments =
                    vec![input(&rows), input(&columns), a, input(&lda), pivots, tau, work, work_size];
                arguments.extend(Self::IS_COMPLEX.then_some(real_work));
                arguments.push(info_at);
                arguments
            });
        }
        info
    }

    /// Replaces an `m×n` matrix with `k` reflectors by the first `n` columns of their product (`orgqr`,
    /// `ungqr`).
    pub fn orgqr(&mut self, [m, n, k]: [usize; 3], a: &mut [T], tau: &[T]) -> i32 {
        assert!(k <= n && n <= m, "{k} reflectors and {n} columns of {m} rows");
        let (rows, columns, count, lda, mut info) = (size(m), size(n), size(k), leading(m), 0);
        let (a, tau, info_at) = (whole(a, m * n), read(tau, k), output(&mut info));
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Orgqr, &[rows, columns, count], |work, work_size| {
                let sizes = [input(&rows), input(&columns), input(&count)];
                [&sizes[..], &[a, input(&lda), tau, work, work_size, info_at]].concat()
            });
        }
        info
    }

    /// Multiplies an `m×n` matrix `c` by the product of `k` reflectors, or by its adjoint, from the left or
    /// from the right (`ormqr`, `unmqr`). `a` has `m` or `n` rows.
    pub fn ormqr(
        &mut self,
        left: bool,
        is_adjoint: bool,
        [m, n, k]: [usize; 3],
        a: &[T],
        tau: &[T],
        c: &mut [T],
    ) -> i32 {
        let order = if left { m } else { n };
        assert!(k <= order, "{k} reflectors of {order} rows");
        let side = if left { b'L' } else { b'R' };
        let transpose = match (is_adjoint, Self::IS_COMPLEX) {
            (false, _) => b'N',
            (true, false) => b'T',
            (true, true) => b'C',
        };
        let (rows, columns, count) = (size(m), size(n), size(k));
        let (lda, ldc, mut info) = (leading(order), leading(m), 0);
        // The routine stores ones on the diagonal while it runs.
        assert!(a.len() >= order * k, "an array of {} elements where LAPACK reads {}", a.len(), order * k);
        let mut a = a[..order * k].to_vec();
        let (a, tau, c) = (whole(&mut a, order * k), read(tau, k), whole(c, m * n));
        let info_at = output(&mut info);
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            let sizes = [side.into(), transpose.into(), rows, columns, count];
            self.call_with_work(Routine::Ormqr, &sizes, |work, work_size| {
                let options = [input(&side), input(&transpose), input(&rows), input(&columns), input(&count)];
                [&options[..], &[a, input(&lda), tau, c, input(&ldc), work, work_size, info_at]].concat()
            });
        }
        info
    }

    /// Singular value decomposition of an `m×n` matrix (`gesdd`). `mode` is `A`, `S` or `N`; for `N`, `u` and
    /// `vt` are not accessed. The contents of `a` are lost.
    pub fn gesdd(
        &mut self,
        mode: u8,
        [m, n]: [usize; 2],
        a: &mut [T],
        s: &mut [T::Part],
        u: &mut [T],
        vt: &mut [T],
    ) -> i32 {
        check(mode, b"ASN");
        let (k, most) = (m.min(n), m.max(n));
        let [u_columns, vt_rows] = match mode {
            b'A' => [m, n],
            b'S' => [k, k],
            _ => [0, 0],
        };
        let (rows, columns, lda, ldu) = (size(m), size(n), leading(m), leading(m));
        let (ldvt, mut info) = (leading(vt_rows), 0);
        // The larger of the two sizes that LAPACK's documentation gives.
        let real_size = (5 * k * k + 7 * k).max(2 * most * k + 2 * k * k + k).max(7 * k).max(1);
        let real_work = self.work.real(if Self::IS_COMPLEX { real_size } else { 0 });
        let integers = self.work.integers(8 * k.max(1));
        let (a, s, u, vt) = (whole(a, m * n), whole(s, k), whole(u, m * u_columns), whole(vt, vt_rows * n));
        let info_at = output(&mut info);
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Gesdd, &[mode.into(), rows, columns], |work, work_size| {
                let mut arguments = vec![input(&mode), input(&rows), input(&columns), a, input(&lda), s];
                arguments.extend([u, input(&ldu), vt, input(&ldvt), work, work_size]);
                arguments.extend(Self::IS_COMPLEX.then_some(real_work));
                arguments.extend([integers, info_at]);
                arguments
            });
        }
        info
    }

    /// Eigenvalues `w` of a Hermitian `n×n` matrix (`syevd`, `heevd`). Only the triangle `uplo` is read.
    /// With the mode `V`, eigenvectors replace the matrix; with `N`, they are not computed.
    pub fn syevd(&mut self, mode: u8, uplo: u8, n: usize, a: &mut [T], w: &mut [T::Part]) -> i32 {
        check(mode, b"NV");
        check(uplo, b"LU");
        let (order, lda, mut info) = (size(n), leading(n), 0);
        // LAPACK's documentation gives these sizes for `V`; they suffice for `N`.
        let real_size = 1 + 5 * n + 2 * n * n;
        let integers_size = 3 + 5 * n;
        let real_work = self.work.real(if Self::IS_COMPLEX { real_size } else { 0 });
        let integers = self.work.integers(integers_size);
        let (real_size, integers_size) = (size(real_size), size(integers_size));
        let (a, w, info_at) = (whole(a, n * n), whole(w, n), output(&mut info));
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Syevd, &[mode.into(), uplo.into(), order], |work, work_size| {
                let mut arguments = vec![input(&mode), input(&uplo), input(&order), a, input(&lda), w];
                arguments.extend([work, work_size]);
                if Self::IS_COMPLEX {
                    arguments.extend([real_work, input(&real_size)]);
                }
                arguments.extend([integers, input(&integers_size), info_at]);
                arguments
            });
        }
        info
    }

    /// Tridiagonal form of a Hermitian `n×n` matrix (`sytrd`, `hetrd`). The triangle `uplo` is read and
    /// replaced. `off_diagonal` and `tau` have `n − 1` elements.
    pub fn sytrd(
        &mut self,
        uplo: u8,
        n: usize,
        a: &mut [T],
        diagonal: &mut [T::Part],
        off_diagonal: &mut [T::Part],
        tau: &mut [T],
    ) -> i32 {
        check(uplo, b"LU");
        let (order, lda, mut info) = (size(n), leading(n), 0);
        let less = n.saturating_sub(1);
        let (a, d, e) = (whole(a, n * n), whole(diagonal, n), whole(off_diagonal, less));
        let (tau, info_at) = (whole(tau, less), output(&mut info));
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Sytrd, &[uplo.into(), order], |work, work_size| {
                vec![input(&uplo), input(&order), a, input(&lda), d, e, tau, work, work_size, info_at]
            });
        }
        info
    }

    /// Eigenvalues of an `n×n` matrix (`geev`), with its left and right eigenvectors unless their slices are
    /// empty. The contents of `a` are lost.
    pub fn geev(
        &mut self,
        n: usize,
        a: &mut [T],
        mut w: Eigenvalues<'_, T>,
        left: &mut [T],
        right: &mut [T],
    ) -> i32 {
        assert!(matches!(w, Eigenvalues::Complex(_)) == Self::IS_COMPLEX, "wrong form of eigenvalues");
        let job = |vectors: &[T]| if vectors.is_empty() { b'N' } else { b'V' };
        let (left_job, right_job) = (job(left), job(right));
        let (order, lda, mut info) = (size(n), leading(n), 0);
        let real_work = self.work.real(2 * n);
        let (a, w) = (whole(a, n * n), w.arguments(n));
        let (left, right) = (whole_or_empty(left, n * n), whole_or_empty(right, n * n));
        let info_at = output(&mut info);
        let sizes = [left_job.into(), right_job.into(), order];
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Geev, &sizes, |work, work_size| {
                let mut arguments = vec![input(&left_job), input(&right_job), input(&order), a, input(&lda)];
                arguments.extend(&w);
                arguments.extend([left, input(&lda), right, input(&lda), work, work_size]);
                arguments.extend(Self::IS_COMPLEX.then_some(real_work));
                arguments.push(info_at);
                arguments
            });
        }
        info
    }

    /// Replaces an `n×n` matrix by its Schur form (`gees`). Schur vectors are computed unless their slice is
    /// empty.
    pub fn gees(&mut self, n: usize, a: &mut [T], mut w: Eigenvalues<'_, T>, vectors: &mut [T]) -> i32 {
        assert!(matches!(w, Eigenvalues::Complex(_)) == Self::IS_COMPLEX, "wrong form of eigenvalues");
        let job = if vectors.is_empty() { b'N' } else { b'V' };
        let (order, lda, mut info, mut selected) = (size(n), leading(n), 0, 0i32);
        let (real_work, flags) = (self.work.real(n), self.work.integers(n));
        let vectors = whole_or_empty(vectors, n * n);
        let (a, w, selected) = (whole(a, n * n), w.arguments(n), output(&mut selected));
        let info_at = output(&mut info);
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        // Without a sort, the routine does not call `select`.
        unsafe {
            self.call_with_work(Routine::Gees, &[job.into(), order], |work, work_size| {
                let select = std::ptr::null_mut();
                let mut arguments = vec![input(&job), input(&b'N'), select, input(&order), a, input(&lda)];
                arguments.push(selected);
                arguments.extend(&w);
                arguments.extend([vectors, input(&lda), work, work_size]);
                arguments.extend(Self::IS_COMPLEX.then_some(real_work));
                arguments.extend([flags, info_at]);
                arguments
            });
        }
        info
    }

    /// Hessenberg form of the rows and columns `low..=high` (from 1) of an `n×n` matrix (`gehrd`). `tau` has
    /// `n − 1` elements.
    pub fn gehrd(&mut self, n: usize, [low, high]: [i32; 2], a: &mut [T], tau: &mut [T]) -> i32 {
        assert!(1 <= low && low <= high.max(1) && high as usize <= n, "rows {low} to {high} of {n}");
        let (order, lda, mut info) = (size(n), leading(n), 0);
        let (a, tau, info_at) = (whole(a, n * n), whole(tau, n.saturating_sub(1)), output(&mut info));
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe {
            self.call_with_work(Routine::Gehrd, &[order, low, high], |work, work_size| {
                let range = [input(&order), input(&low), input(&high)];
                [&range[..], &[a, input(&lda), tau, work, work_size, info_at]].concat()
            });
        }
        info
    }

    /// Solves a tridiagonal system (`gtsv`). `lower` and `upper` have `n − 1` elements, and `b`, an `n×k`
    /// matrix, becomes the solution.
    pub fn gtsv(
        &self,
        [n, k]: [usize; 2],
        lower: &mut [T],
        diagonal: &mut [T],
        upper: &mut [T],
        b: &mut [T],
    ) -> i32 {
        let (order, columns, ldb, mut info) = (size(n), size(k.max(1)), leading(n), 0);
        let less = n.saturating_sub(1);
        // LAPACK accesses the first column even if the matrix has no columns.
        let mut column = vec![T::default(); if k == 0 { n } else { 0 }];
        let b = if k == 0 { &mut column } else { b };
        let arguments = [
            input(&order),
            input(&columns),
            whole(lower, less),
            whole(diagonal, n),
            whole(upper, less),
            whole(b, n * k.max(1)),
            input(&ldb),
            output(&mut info),
        ];
        // SAFETY: the arguments match the parameters, and the arrays are as long as the routine needs.
        unsafe { self.call(Routine::Gtsv, &arguments) };
        info
    }
}

/// Checks that an option is one of a routine's letters.
///
/// # Panics
/// If it is not.
fn check(option: u8, letters: &[u8]) {
    assert!(
        letters.contains(&option),
        "an option is {option}, but must be one of {}",
        letters.escape_ascii()
    );
}

/// Returns a size as one of LAPACK's integers.
///
/// # Panics
/// If the size exceeds 32 bits.
fn size(n: usize) -> i32 {
    i32::try_from(n).unwrap_or_else(|_| panic!("the size {n} exceeds LAPACK's 32-bit integers"))
}

/// Returns the leading dimension of a matrix with `n` rows.
fn leading(n: usize) -> i32 {
    size(n).max(1)
}

/// Returns the argument for a value that the routine only reads.
fn input<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Returns the argument for a value that the routine stores.
fn output<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// Returns the argument for an array of which the routine only reads `len` elements.
fn read<T>(array: &[T], len: usize) -> *mut c_void {
    assert!(array.len() >= len, "an array of {} elements where LAPACK reads {len}", array.len());
    array.as_ptr().cast_mut().cast()
}

/// Returns the argument for an array of which the routine reads and writes `len` elements.
fn whole<T>(array: &mut [T], len: usize) -> *mut c_void {
    assert!(array.len() >= len, "an array of {} elements where LAPACK uses {len}", array.len());
    array.as_mut_ptr().cast()
}

/// Returns the argument for an array that is read and written unless it is empty.
fn whole_or_empty<T>(array: &mut [T], len: usize) -> *mut c_void {
    let len = if array.is_empty() { 0 } else { len };
    whole(array, len)
}

/// Calls a routine at its address.
///
/// # Safety
/// The address must belong to the routine. It must have one pointer parameter for each argument, and return
/// nothing. The arguments must meet the routine's requirements.
unsafe fn call(address: *mut c_void, routine: Routine, mut arguments: Vec<*mut c_void>) {
    // Fortran passes the length of each string, by value, after all other arguments.
    arguments.extend(std::iter::repeat_n(std::ptr::without_provenance_mut(1), routine.letters()));
    macro_rules! arity {
        ($($count:literal: $($index:literal)*;)*) => {
            match arguments.len() {
                $($count => {
                    type Function = unsafe extern "C" fn($(arity!(@type $index)),*);
                    // SAFETY: the caller guarantees the number and type of the parameters (`# Safety` above).
                    let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
                    // SAFETY: the caller guarantees the arguments (`# Safety` above).
                    unsafe { function($(arguments[$index]),*) }
                })*
                count => unreachable!("no routine has {count} parameters"),
            }
        };
        (@type $index:literal) => { *mut c_void };
    }
    arity! {
        6: 0 1 2 3 4 5;
        8: 0 1 2 3 4 5 6 7;
        9: 0 1 2 3 4 5 6 7 8;
        10: 0 1 2 3 4 5 6 7 8 9;
        11: 0 1 2 3 4 5 6 7 8 9 10;
        13: 0 1 2 3 4 5 6 7 8 9 10 11 12;
        15: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14;
        16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
        17: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static REQUESTS: AtomicUsize = AtomicUsize::new(0);
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    /// A `dgeqrf` that only counts its calls.
    unsafe extern "C" fn geqrf(
        _: *const i32,
        columns: *const i32,
        _: *mut f64,
        _: *const i32,
        _: *mut f64,
        work: *mut f64,
        work_size: *const i32,
        info: *mut i32,
    ) {
        // SAFETY: `Routines::geqrf` passes a pointer for each argument. Workspaces have an element.
        unsafe {
            match *work_size {
                -1 => {
                    REQUESTS.fetch_add(1, Ordering::Relaxed);
                    *work = 32.0 * f64::from(*columns);
                }
                size => {
                    assert_eq!(size, 32 * *columns);
                    CALLS.fetch_add(1, Ordering::Relaxed);
                }
            }
            *info = 0;
        }
    }

    #[test]
    fn a_batch_needs_one_request_for_its_workspace() {
        let library = Library::with_routine(Routine::Geqrf, f64::INDEX, geqrf as *mut c_void);
        let routines = Routines::<f64>::new(library);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let mut routines = routines.clone();
                scope.spawn(move || {
                    for _ in 0..100 {
                        assert_eq!(routines.geqrf([4, 3], &mut [0.0; 12], &mut [0.0; 3]), 0);
                    }
                });
            }
        });
        assert_eq!([&REQUESTS, &CALLS].map(|count| count.load(Ordering::Relaxed)), [1, 300]);
        // Another size is another request.
        let mut routines = routines.clone();
        routines.geqrf([4, 2], &mut [0.0; 8], &mut [0.0; 2]);
        assert_eq!(REQUESTS.load(Ordering::Relaxed), 2);
    }
}
