//! Rules that follow from a signature besides types: batching, partitioning, documentation.

use expect_test::{Expect, expect};
use farcall_sig::signature::{Batching, Signature};

const RMS_NORM: &str = "(x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f64";
const RMS_NORM_GRAD: &str =
    "(x: T[*, n], scale: T[n], dy: T[*, n]) -> (dx: T[*, n], dscale: T[n]) where T: f32 | f64; *: sum";
const GEMM: &str = "(a: T[*, m, k], b: T[*, k, n]) -> (c: T[*, m, n]) where T: f32 | bf16; m, n: map; k: sum";
const QR: &str = "(x: T[*, m, n] column_major) -> (q: T[*, m, min(m, n)] column_major, r: T[*, min(m, n), n]) where T: f32 | c64";
const TOP_K: &str = "(x: T[*, n], k: i64) -> (values: T[*, k], indices: s32[*, k]) where T: f32; k <= n";
const CONCAT: &str = "(xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map";
const PRINT: &str = r#"(x: T[*], label: str = "") -> () where T: any; side_effect"#;
const SCATTER: &str =
    "(base: T[n, d], at: s32[k], rows: T[k, d]) -> (out: T[n, d] aliases base) where T: f32; d: map";

fn parse(text: &str) -> Signature {
    text.parse::<Signature>().unwrap_or_else(|e| panic!("{}", e.render(text)))
}

#[track_caller]
fn batch(text: &str, batched: &[bool], expected: Expect) {
    let shown = match parse(text).batch_rule(batched).unwrap() {
        Batching::Unbatched => "unbatched".to_string(),
        Batching::Native { broadcast } => format!("native, broadcast {broadcast:?}"),
        Batching::Loop { reason } => format!("loop: {reason}"),
        Batching::Custom { .. } => unreachable!("a signature has no batching function"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn an_axis_is_prepended_only_where_that_is_sound() {
    let (y, n) = (true, false);
    batch(RMS_NORM, &[n, n], expect!["unbatched"]);
    batch(RMS_NORM, &[y, n], expect!["native, broadcast []"]);
    // A batched scale differs between entries, but the kernel takes a single scale.
    batch(RMS_NORM, &[n, y], expect!["loop: scale is batched but has no *"]);
    batch(RMS_NORM, &[y, y], expect!["loop: scale is batched but has no *"]);
    // The scale's gradient would be summed over the entries.
    batch(RMS_NORM_GRAD, &[y, n, y], expect!["loop: dscale is reduced over * (sum)"]);
    batch(RMS_NORM_GRAD, &[n, y, n], expect!["loop: dscale is reduced over * (sum)"]);
    batch(GEMM, &[n, y], expect!["native, broadcast [0]"]);
    batch(PRINT, &[y], expect!["loop: it has a side effect, once for each entry"]);
    batch(SCATTER, &[y, y, y], expect!["loop: no operand has *"]);
    batch(CONCAT, &[n, y, n], expect!["native, broadcast [0, 2]"]);
    batch(
        "(x: f32[*, n]) -> (y: f32[*, n]) where *: whole",
        &[y],
        expect!["loop: the kernel looks at the whole batch at once"],
    );
    batch(
        "(x: f32[*, n]) -> (y: f32[]) where *: whole",
        &[y],
        expect!["loop: the kernel looks at the whole batch at once"],
    );
    batch(
        "(x: f32[*, n], acc: f32[*, n]) -> (y: f32[*, n] aliases acc)",
        &[y, n],
        expect!["native, broadcast [1]"],
    );
    batch("(x: f32[*, n], m: pred[n]?) -> (y: f32[*, n])", &[y], expect!["native, broadcast []"]);
    batch(
        "(x: f32[*, n], m: pred[n]?) -> (y: f32[*, n])",
        &[y, y],
        expect!["loop: m is batched but has no *"],
    );
    batch("(xs: f32[n]...) -> (y: f32[n])", &[n, y], expect!["loop: no operand has *"]);
    assert!(parse(GEMM).batch_rule(&[y]).is_err());
}

#[test]
fn summaries() {
    let shown: String = [RMS_NORM, RMS_NORM_GRAD, GEMM, PRINT, SCATTER, CONCAT, "(n: i64) -> (x: f32[n])"]
        .into_iter()
        .map(|s| {
            format!(
                "{}{}\n",
                parse(s).batching(),
                if parse(s).is_batched_throughout() { " (throughout)" } else { "" }
            )
        })
        .collect();
    expect![[r#"
        native, a loop if scale is batched
        loop: dscale is reduced over * (sum)
        native (throughout)
        loop: it has a side effect, once for each entry
        loop: no operand has *
        native (throughout)
        loop: no operand has *
    "#]]
    .assert_eq(&shown);
}

#[track_caller]
fn partition(text: &str, count: usize, batch_rank: usize, expected: Expect) {
    let partition = parse(text).partition(count).unwrap();
    expected.assert_eq(&format!("{partition}\n{}", partition.shardy(batch_rank)));
}

#[test]
fn factors_and_shardy_rules() {
    partition(
        GEMM,
        2,
        1,
        expect![[r#"
        ... m k, ... k n -> ... m n; split ... m n, sum k
        "... m k, ... k n -> ... m n", reduction_factors=("k",)"#]],
    );
    partition(
        "(a: f32[m, k], b: f32[k, n], dc: f32[m, n]) -> (da: f32[m, k], db: f32[k, n]) where m, n: sum; k: map",
        3,
        0,
        expect![[r#"
        m k, k n, m n -> m k, k n; split k, sum m n
        "m k, k n, m n -> m k, k n", need_replication_factors=("m", "n")"#]],
    );
    partition(
        RMS_NORM,
        2,
        2,
        expect![[r#"
        ... n, n -> ... n; split ..., whole n
        "... n, n -> ... n", need_replication_factors=("n",)"#]],
    );
    partition(
        RMS_NORM_GRAD,
        3,
        2,
        expect![[r#"
        ... n, n, ... n -> ... n, n; sum ..., whole n
        "b0 b1 n, n, b0 b1 n -> b0 b1 n, n", need_replication_factors=("b0", "b1", "n")"#]],
    );
    partition(
        QR,
        1,
        0,
        expect![[r#"
        ... m n -> ... m d_0, ... d_0 n; split ..., whole m n d_0
        "... m n -> ... m d_0, ... d_0 n", need_replication_factors=("m", "n", "d_0")"#]],
    );
    partition(
        "(x: f32[*, n, n]) -> (w: f32[*, n], v: f32[*, n, n])",
        1,
        0,
        expect![[r#"
        ... n n_1 -> ... n, ... n n_1; split ..., whole n n_1
        "... n n_1 -> ... n, ... n n_1", need_replication_factors=("n", "n_1")"#]],
    );
    partition(
        TOP_K,
        1,
        1,
        expect![[r#"
        ... n -> ... k, ... k; split ..., whole n k
        "... n -> ... k, ... k", need_replication_factors=("n", "k")"#]],
    );
    partition(
        CONCAT,
        3,
        1,
        expect![[r#"
        ... n0 d, ... n1 d, ... n2 d -> ... d_0 d; split ... d, whole n0 n1 n2 d_0
        "... n0 d, ... n1 d, ... n2 d -> ... d_0 d", need_replication_factors=("n0", "n1", "n2", "d_0")"#]],
    );
    partition(
        PRINT,
        1,
        2,
        expect![[r#"
            ... -> (); whole ...
            "b0 b1 ->", need_replication_factors=("b0", "b1")"#]],
    );
    partition(
        SCATTER,
        3,
        0,
        expect![[r#"
        n d, k, k d -> n d; split d, whole n k
        "n d, k, k d -> n d", need_replication_factors=("n", "k")"#]],
    );
    partition(
        "(x: f32[*, n]) -> (s: f32[n]) where *: sum; n: map",
        1,
        2,
        expect![[r#"
        ... n -> n; split n, sum ...
        "b0 b1 n -> n", reduction_factors=("b0", "b1")"#]],
    );
    partition(
        "(x: f32[*, n]) -> (s: f32[n]) where *: max; n: map",
        1,
        1,
        expect![[r#"
        ... n -> n; split n, max ...
        "b0 n -> n", need_replication_factors=("b0",)"#]],
    );
    partition(
        "(x: f32[m, n]) -> (s: f32[m]) where m: map; n: max",
        1,
        0,
        expect![[r#"
        m n -> m; split m, max n
        "m n -> m", need_replication_factors=("n",)"#]],
    );
    partition(
        "(x: f32[3, d_0, 3]) -> (s: f32[3, d_0+1])",
        1,
        0,
        expect![[r#"
        d_1 d_0 d_2 -> d_3 d_4; whole d_1 d_0 d_2 d_3 d_4
        "d_1 d_0 d_2 -> d_3 d_4", need_replication_factors=("d_1", "d_0", "d_2", "d_3", "d_4")"#]],
    );
    partition(
        "(x: f32[*, n, b0]) -> (s: f32[n, b0]) where *: sum",
        1,
        1,
        expect![[r#"
        ... n b0 -> n b0; sum ..., whole n b0
        "batch0 n b0 -> n b0", reduction_factors=("batch0",), need_replication_factors=("n", "b0")"#]],
    );
    partition(
        "(x: f32[n], m: f32[n]?) -> (y: f32[n], dm: f32[n] if m) where n: map",
        1,
        0,
        expect![[r#"
        n -> n; split n
        "n -> n""#]],
    );
    partition(
        "(x: f32[n], m: f32[n]?) -> (y: f32[n], dm: f32[n] if m) where n: map",
        2,
        0,
        expect![[r#"
        n, n -> n, n; split n
        "n, n -> n, n""#]],
    );
    partition(
        "(xs: f32[m, n...]..., ds: f32[m, n...]...) -> (ys: f32[m, n...]...) where m: map",
        4,
        0,
        expect![[r#"
            m n0, m n1, m n0, m n1 -> m n0, m n1; split m, whole n0 n1
            "m n0, m n1, m n0, m n1 -> m n0, m n1", need_replication_factors=("n0", "n1")"#]],
    );
    partition(
        "(xs: f32[n...]...) -> (ys: f32[n...]...)",
        2,
        0,
        expect![[r#"
        n0, n1 -> n0, n1; whole n0 n1
        "n0, n1 -> n0, n1", need_replication_factors=("n0", "n1")"#]],
    );
}

#[test]
fn documentation_of_reduced_dimensions() {
    let of = |text: &str| {
        parse(text).markdown("op").lines().filter(|l| l.starts_with("- `m`")).collect::<String>()
    };
    expect!["- `m`: a sum over it"].assert_eq(&of("(x: f32[m, n]) -> (y: f32[n]) where m: sum"));
    expect!["- `m`: a sum over it in results without it, each entry independently in the others"]
        .assert_eq(&of("(x: f32[m], y: f32[m]) -> (z: f32[m], s: f32[]) where m: sum"));
}

#[test]
fn documentation() {
    expect![[r#"
            rms_norm(x, scale, *, eps=1e-6)

        Operands:

        - `x`: `T[*, n]`
        - `scale`: `T[n]`

        Attributes:

        - `eps`: `f32`, 1e-6 by default

        Results:

        - `y`: `T[*, n]`

        Where:

        - `T` is f32 or f64

        Dimensions:

        - `*`: leading batch dimensions, any number, each entry independently
        - `n`: all of it is needed at once

        vmap: native, a loop if scale is batched.
    "#]]
    .assert_eq(&parse(RMS_NORM).markdown("rms_norm"));
    expect![[r#"
            rms_norm_grad(x, scale, dy)

        Operands:

        - `x`: `T[*, n]`
        - `scale`: `T[n]`
        - `dy`: `T[*, n]`

        Results:

        - `dx`: `T[*, n]`
        - `dscale`: `T[n]`, a sum over the batch

        Where:

        - `T` is f32 or f64

        Dimensions:

        - `*`: leading batch dimensions, any number, each entry independently
        - `n`: all of it is needed at once

        vmap: loop: dscale is reduced over * (sum).
    "#]]
    .assert_eq(&parse(RMS_NORM_GRAD).markdown("rms_norm_grad"));
    expect![[r#"
            print(x, *, label="")

        Operands:

        - `x`: `T[*]`

        Attributes:

        - `label`: `str`, "" by default

        Where:

        - `T` is of any type

        Dimensions:

        - `*`: leading batch dimensions, any number, each entry independently

        vmap: loop: it has a side effect, once for each entry.
        It has a side effect: it is never dropped, repeated or reordered.
    "#]]
    .assert_eq(&parse(PRINT).markdown("print"));
    expect![[r#"
            gemm(a, b)

        Operands:

        - `a`: `T[*, m, k]`
        - `b`: `T[*, k, n]`

        Results:

        - `c`: `T[*, m, n]`

        Where:

        - `T` is f32 or bf16

        Dimensions:

        - `*`: leading batch dimensions, any number, each entry independently
        - `m`: each entry independently
        - `k`: a sum over it
        - `n`: each entry independently

        vmap: native.
    "#]]
    .assert_eq(&parse(GEMM).markdown("gemm"));
    expect![[r#"
            scatter_add(base, at, rows)

        Operands:

        - `base`: `T[n, d]`
        - `at`: `s32[k]`
        - `rows`: `T[k, d]`

        Results:

        - `out`: `T[n, d]`, in the memory of `base`

        Where:

        - `T` is f32

        Dimensions:

        - `n`: all of it is needed at once
        - `d`: each entry independently
        - `k`: all of it is needed at once

        vmap: loop: no operand has *.
    "#]]
    .assert_eq(&parse(SCATTER).markdown("scatter_add"));
    let lines: String = [
        RMS_NORM,
        TOP_K,
        CONCAT,
        "(x: f32[n], mask: pred[n]?) -> ()",
        "(p: [i64] = [1], b: bool = true, c: f32 = inf, d: dict?, e: str) -> ()",
    ]
    .into_iter()
    .map(|s| parse(s).call_line("op") + "\n")
    .collect();
    expect![[r#"
        op(x, scale, *, eps=1e-6)
        op(x, *, k)
        op(*xs)
        op(x, mask=None)
        op(*, p=(1,), b=True, c=float("inf"), d=None, e)
    "#]]
    .assert_eq(&lines);
}

#[test]
fn any_dimensions_loop_and_are_whole() {
    const TRANSPOSE: &str = "(x: f32[..], perm: [i64]) -> (y: f32[..])";
    const SHARED: &str = "(x: f32[*, n], table: f32[..]) -> (y: f32[*, n])";
    batch(TRANSPOSE, &[true], expect!["loop: y can have any dimensions"]);
    batch(TRANSPOSE, &[false], expect!["unbatched"]);
    batch(SHARED, &[true, false], expect!["native, broadcast []"]);
    batch(SHARED, &[true, true], expect!["loop: table is batched but has no *"]);
    let partition = |text| parse(text).partition(parse(text).operands().len()).unwrap_err().message;
    expect![[r#"
        x can have any dimensions, and is not split
        table can have any dimensions, and is not split"#]]
    .assert_eq(&[partition(TRANSPOSE), partition(SHARED)].join("\n"));
    expect![[r#"
            transpose(x, *, perm)

        Operands:

        - `x`: `f32[..]`, of any dimensions

        Attributes:

        - `perm`: `[i64]`

        Results:

        - `y`: `f32[..]`, of any dimensions

        vmap: loop: y can have any dimensions.
    "#]]
    .assert_eq(&parse(TRANSPOSE).markdown("transpose"));
}
