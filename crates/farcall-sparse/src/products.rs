//! Products of sparse matrices in each format with dense vectors and matrices.

use crate::bilinear::bilinear;
use crate::form::Form;

bilinear! {
    /// The product of a CSR matrix and dense matrices: `y = A·b`.
    ///
    /// Row `i` of `A` has the values `a[e]` in the columns `columns[e]`, for `e` from `starts[i]` to before
    /// `starts[i + 1]`. Columns may be in any order and may repeat; repeated entries add up. Entries before
    /// the first start and after the last are not part of the matrix.
    mod csr_matmul: "csr_matmul", "csr_matmul_jvp", "csr_matmul_bwd", "csr_matmul_jvp_jvp",
        "csr_matmul_jvp_bwd", "csr_matmul_bwd_jvp", "csr_matmul_bwd_bwd";
    form(Form::csr);
    operands(a: T[*, e], columns: I[e], starts: I[s], b: T[*, k, n]);
    first(Values: a, da, ta, dta, tda, dda; [*, e]);
    second(Right: b, db, tb, dtb, tdb, ddb; [*, k, n]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, s - 1, n]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1; n: map);
    backward(s >= 1; n: sum);
    mixed(s >= 1; n: sum);
    samples(csr_matmul);
}

bilinear! {
    /// The product of a CSR matrix and dense vectors: `y = A·x`. See `csr_matmul` for the matrix.
    mod csr_matvec: "csr_matvec", "csr_matvec_jvp", "csr_matvec_bwd", "csr_matvec_jvp_jvp",
        "csr_matvec_jvp_bwd", "csr_matvec_bwd_jvp", "csr_matvec_bwd_bwd";
    form(Form::csr);
    operands(a: T[*, e], columns: I[e], starts: I[s], x: T[*, k]);
    first(Values: a, da, ta, dta, tda, dda; [*, e]);
    second(Right: x, dx, tx, dtx, tdx, ddx; [*, k]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, s - 1]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1);
    backward(s >= 1);
    mixed(s >= 1);
    samples(csr_matvec);
}

bilinear! {
    /// The product of dense matrices, sampled at the entries of a CSR matrix: `a[e] = Σ y[i, j]·b[columns[e],
    /// j]` for each entry `e` of row `i`, and 0 for entries that belong to no row. This is the gradient of
    /// `csr_matmul` for the values.
    mod csr_sddmm: "csr_sddmm", "csr_sddmm_jvp", "csr_sddmm_bwd", "csr_sddmm_jvp_jvp",
        "csr_sddmm_jvp_bwd", "csr_sddmm_bwd_jvp", "csr_sddmm_bwd_bwd";
    form(Form::csr);
    operands(y: T[*, s - 1, n], columns: I[e], starts: I[s], b: T[*, k, n]);
    first(Left: y, dy, ty, dty, tdy, ddy; [*, s - 1, n]);
    second(Right: b, db, tb, dtb, tdb, ddb; [*, k, n]);
    result(Values: a, da, ta, dta, tda, dda; [*, e]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1; n: sum);
    backward(s >= 1; n: map);
    mixed(s >= 1; n: sum);
    samples(csr_sddmm);
}

bilinear! {
    /// The product of a CSC matrix of `m` rows and dense matrices: `y = A·b`.
    ///
    /// Column `i` of `A` has the values `a[e]` in the rows `rows[e]`, for `e` from `starts[i]` to before
    /// `starts[i + 1]`. The arrays of a CSR matrix are those of its transpose in CSC, so this op also
    /// multiplies with the transpose of a CSR matrix.
    mod csc_matmul: "csc_matmul", "csc_matmul_jvp", "csc_matmul_bwd", "csc_matmul_jvp_jvp",
        "csc_matmul_jvp_bwd", "csc_matmul_bwd_jvp", "csc_matmul_bwd_bwd";
    form(Form::csc, m);
    operands(a: T[*, e], rows: I[e], starts: I[s], b: T[*, s - 1, n]);
    first(Values: a, da, ta, dta, tda, dda; [*, e]);
    second(Right: b, db, tb, dtb, tdb, ddb; [*, s - 1, n]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, m, n]);
    indices(rows: [e], starts: [s]);
    forward(s >= 1; m >= 0; n: map);
    backward(s >= 1; m >= 0; n: sum);
    mixed(s >= 1; m >= 0; n: sum);
    samples(csc_matmul);
}

bilinear! {
    /// The product of a CSC matrix of `m` rows and dense vectors: `y = A·x`. See `csc_matmul` for the matrix.
    mod csc_matvec: "csc_matvec", "csc_matvec_jvp", "csc_matvec_bwd", "csc_matvec_jvp_jvp",
        "csc_matvec_jvp_bwd", "csc_matvec_bwd_jvp", "csc_matvec_bwd_bwd";
    form(Form::csc, m);
    operands(a: T[*, e], rows: I[e], starts: I[s], x: T[*, s - 1]);
    first(Values: a, da, ta, dta, tda, dda; [*, e]);
    second(Right: x, dx, tx, dtx, tdx, ddx; [*, s - 1]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, m]);
    indices(rows: [e], starts: [s]);
    forward(s >= 1; m >= 0);
    backward(s >= 1; m >= 0);
    mixed(s >= 1; m >= 0);
    samples(csc_matvec);
}

bilinear! {
    /// The product of a COO matrix of `m` rows and dense matrices: `y = A·dense`. The matrix has the values
    /// `entries` at `rows` and `columns`, in any order; repeated entries add up.
    mod sparse_matmul: "sparse_matmul", "sparse_matmul_jvp", "sparse_matmul_bwd", "sparse_matmul_jvp_jvp",
        "sparse_matmul_jvp_bwd", "sparse_matmul_bwd_jvp", "sparse_matmul_bwd_bwd";
    form(Form::coo, m);
    operands(entries: T[*, e], rows: I[e], columns: I[e], dense: T[*, k, n]);
    first(Values: entries, dentries, tentries, dtentries, tdentries, ddentries; [*, e]);
    second(Right: dense, ddense, tdense, dtdense, tddense, dddense; [*, k, n]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, m, n]);
    indices(rows: [e], columns: [e]);
    forward(m >= 0; n: map);
    backward(m >= 0; n: sum);
    mixed(m >= 0; n: sum);
    samples(sparse_matmul);
}

bilinear! {
    /// The product of a COO matrix of `m` rows and dense vectors: `y = A·x`. See `sparse_matmul` for the
    /// matrix.
    mod coo_matvec: "coo_matvec", "coo_matvec_jvp", "coo_matvec_bwd", "coo_matvec_jvp_jvp",
        "coo_matvec_jvp_bwd", "coo_matvec_bwd_jvp", "coo_matvec_bwd_bwd";
    form(Form::coo, m);
    operands(entries: T[*, e], rows: I[e], columns: I[e], x: T[*, k]);
    first(Values: entries, dentries, tentries, dtentries, tdentries, ddentries; [*, e]);
    second(Right: x, dx, tx, dtx, tdx, ddx; [*, k]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, m]);
    indices(rows: [e], columns: [e]);
    forward(m >= 0);
    backward(m >= 0);
    mixed(m >= 0);
    samples(coo_matvec);
}

bilinear! {
    /// The product of a BSR matrix and dense matrices: `y = A·b`. The entries of the matrix are blocks of
    /// `p×q` elements: row `i` of blocks has the blocks `a[e]` in the block columns `columns[e]`, for `e`
    /// from `starts[i]` to before `starts[i + 1]`.
    mod bsr_matmul: "bsr_matmul", "bsr_matmul_jvp", "bsr_matmul_bwd", "bsr_matmul_jvp_jvp",
        "bsr_matmul_jvp_bwd", "bsr_matmul_bwd_jvp", "bsr_matmul_bwd_bwd";
    form(Form::bsr);
    operands(a: T[*, e, p, q], columns: I[e], starts: I[s], b: T[*, k, n]);
    first(Values: a, da, ta, dta, tda, dda; [*, e, p, q]);
    second(Right: b, db, tb, dtb, tdb, ddb; [*, k, n]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, (s - 1)*p, n]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1; p >= 1; q >= 1; k % q == 0; n: map);
    backward(s >= 1; p >= 1; q >= 1; k % q == 0; n: sum);
    mixed(s >= 1; p >= 1; q >= 1; k % q == 0; n: sum);
    samples(bsr_matmul);
}

bilinear! {
    /// The product of a BSR matrix and dense vectors: `y = A·x`. See `bsr_matmul` for the matrix.
    mod bsr_matvec: "bsr_matvec", "bsr_matvec_jvp", "bsr_matvec_bwd", "bsr_matvec_jvp_jvp",
        "bsr_matvec_jvp_bwd", "bsr_matvec_bwd_jvp", "bsr_matvec_bwd_bwd";
    form(Form::bsr);
    operands(a: T[*, e, p, q], columns: I[e], starts: I[s], x: T[*, k]);
    first(Values: a, da, ta, dta, tda, dda; [*, e, p, q]);
    second(Right: x, dx, tx, dtx, tdx, ddx; [*, k]);
    result(Left: y, dy, ty, dty, tdy, ddy; [*, (s - 1)*p]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1; p >= 1; q >= 1; k % q == 0);
    backward(s >= 1; p >= 1; q >= 1; k % q == 0);
    mixed(s >= 1; p >= 1; q >= 1; k % q == 0);
    samples(bsr_matvec);
}

bilinear! {
    /// The product of dense matrices and a CSR matrix of `k` columns: `y = b·A`. See `csr_matmul` for the
    /// matrix.
    mod dense_csr_matmul: "dense_csr_matmul", "dense_csr_matmul_jvp", "dense_csr_matmul_bwd",
        "dense_csr_matmul_jvp_jvp",
        "dense_csr_matmul_jvp_bwd", "dense_csr_matmul_bwd_jvp", "dense_csr_matmul_bwd_bwd";
    form(Form::dense_csr, k);
    operands(b: T[*, n, s - 1], a: T[*, e], columns: I[e], starts: I[s]);
    first(Left: b, db, tb, dtb, tdb, ddb; [*, n, s - 1]);
    second(Values: a, da, ta, dta, tda, dda; [*, e]);
    result(Right: y, dy, ty, dty, tdy, ddy; [*, n, k]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1; k >= 0; n: map);
    backward(s >= 1; k >= 0; n: sum);
    mixed(s >= 1; k >= 0; n: sum);
    samples(dense_csr_matmul);
}

bilinear! {
    /// The product of dense matrices and a CSC matrix: `y = b·A`. See `csc_matmul` for the matrix.
    mod dense_csc_matmul: "dense_csc_matmul", "dense_csc_matmul_jvp", "dense_csc_matmul_bwd",
        "dense_csc_matmul_jvp_jvp",
        "dense_csc_matmul_jvp_bwd", "dense_csc_matmul_bwd_jvp", "dense_csc_matmul_bwd_bwd";
    form(Form::dense_csc);
    operands(b: T[*, n, m], a: T[*, e], rows: I[e], starts: I[s]);
    first(Left: b, db, tb, dtb, tdb, ddb; [*, n, m]);
    second(Values: a, da, ta, dta, tda, dda; [*, e]);
    result(Right: y, dy, ty, dty, tdy, ddy; [*, n, s - 1]);
    indices(rows: [e], starts: [s]);
    forward(s >= 1; n: map);
    backward(s >= 1; n: sum);
    mixed(s >= 1; n: sum);
    samples(dense_csc_matmul);
}

bilinear! {
    /// The product of dense matrices and a COO matrix of `k` columns: `y = b·A`. See `sparse_matmul` for the
    /// matrix.
    mod dense_coo_matmul: "dense_coo_matmul", "dense_coo_matmul_jvp", "dense_coo_matmul_bwd",
        "dense_coo_matmul_jvp_jvp",
        "dense_coo_matmul_jvp_bwd", "dense_coo_matmul_bwd_jvp", "dense_coo_matmul_bwd_bwd";
    form(Form::dense_coo, k);
    operands(b: T[*, n, m], entries: T[*, e], rows: I[e], columns: I[e]);
    first(Left: b, db, tb, dtb, tdb, ddb; [*, n, m]);
    second(Values: entries, dentries, tentries, dtentries, tdentries, ddentries; [*, e]);
    result(Right: y, dy, ty, dty, tdy, ddy; [*, n, k]);
    indices(rows: [e], columns: [e]);
    forward(k >= 0; n: map);
    backward(k >= 0; n: sum);
    mixed(k >= 0; n: sum);
    samples(dense_coo_matmul);
}

bilinear! {
    /// The product of dense matrices and a BSR matrix of `k` columns: `y = b·A`. See `bsr_matmul` for the
    /// matrix.
    mod dense_bsr_matmul: "dense_bsr_matmul", "dense_bsr_matmul_jvp", "dense_bsr_matmul_bwd",
        "dense_bsr_matmul_jvp_jvp",
        "dense_bsr_matmul_jvp_bwd", "dense_bsr_matmul_bwd_jvp", "dense_bsr_matmul_bwd_bwd";
    form(Form::dense_bsr, k);
    operands(b: T[*, n, (s - 1)*p], a: T[*, e, p, q], columns: I[e], starts: I[s]);
    first(Left: b, db, tb, dtb, tdb, ddb; [*, n, (s - 1)*p]);
    second(Values: a, da, ta, dta, tda, dda; [*, e, p, q]);
    result(Right: y, dy, ty, dty, tdy, ddy; [*, n, k]);
    indices(columns: [e], starts: [s]);
    forward(s >= 1; p >= 1; q >= 1; k >= 0; k % q == 0; n: map);
    backward(s >= 1; p >= 1; q >= 1; k >= 0; k % q == 0; n: sum);
    mixed(s >= 1; p >= 1; q >= 1; k >= 0; k % q == 0; n: sum);
    samples(dense_bsr_matmul);
}
