//! Matching of derivatives with their ops.

use expect_test::{Expect, expect};
use farcall_sig::signature::{Bindings, GradientError, Jvp, JvpSource, Signature, Vjp, VjpSource};

const NORM: &str = "(x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f64";
const TOP_K: &str = "(x: T[*, n], k: i64) -> (values: T[*, k], indices: s32[*, k]) where T: f32; k <= n";
const QR: &str = "(x: T[*, m, n]) -> (q: T[*, m, min(m, n)], r: T[*, min(m, n), n]) where T: f32 | f64";

fn parse(text: &str) -> Signature {
    text.parse::<Signature>().unwrap_or_else(|e| panic!("{}", e.render(text)))
}

fn show(error: &GradientError, text: &str) -> String {
    let at = error.span.map_or("nothing", |s| &text[s.offset..s.offset + s.len]);
    format!("{:?}, at {at}: {}", error.part, error.message)
}

#[track_caller]
fn vjp_error(op: &str, forward: Option<&str>, backward: &str, constants: &[&str], expected: Expect) {
    let error =
        Vjp::new(&parse(op), forward.map(parse).as_ref(), &parse(backward), constants, &Bindings::EMPTY)
            .unwrap_err();
    let text = if error.part == farcall_sig::signature::Part::Forward { forward.unwrap() } else { backward };
    expected.assert_eq(&show(&error, text));
}

#[track_caller]
fn jvp_error(op: &str, tangent: &str, constants: &[&str], expected: Expect) {
    let error = Jvp::new(&parse(op), &parse(tangent), constants, &Bindings::EMPTY).unwrap_err();
    expected.assert_eq(&show(&error, tangent));
}

#[test]
fn different_dimensions_stay_different() {
    let op = "(a: T[n], b: T[m]) -> (y: T[m]) where T: f32";
    let backward = "(a: T[k], b: T[k], dy: T[k]) -> (da: T[k], db: T[k]) where T: f32";
    vjp_error(
        op,
        None,
        backward,
        &[],
        expect!["Backward, at b: `b` is `T[k]`, but `b` of the op is `T[m]`; elsewhere `k` is `n` of the op"],
    );
    let jvp = "(a: T[n], b: T[n], da: T[n], db: T[n]) -> (dy: T[n]) where T: f32";
    jvp_error(
        op,
        jvp,
        &[],
        expect!["Tangent, at b: `b` is `T[n]`, but `b` of the op is `T[m]`; elsewhere `n` is `n` of the op"],
    );
}

#[test]
fn values_are_matched_by_name() {
    use VjpSource::{Cotangent, Operand, Residual, Result};
    let forward = "(x: T[*, n], scale: T[n], eps: f32) -> (y: T[*, n], rstd: acc(T)[*]) where T: f32 | f64";
    let backward = "(rstd: acc(T)[*], dy: T[*, n], x: T[*, n], scale: T[n]) -> (dscale: T[n], dx: T[*, n]) where T: f32 | f64; *: sum";
    let vjp = Vjp::new(&parse(NORM), Some(&parse(forward)), &parse(backward), &[], &Bindings::EMPTY).unwrap();
    assert_eq!(vjp.operands, [Residual(0), Cotangent(0), Operand(0), Operand(1)]);
    assert_eq!((vjp.residuals, vjp.cotangents), (1, vec![Some(1), Some(0)]));

    // The indices are integers, so no cotangent arrives for them.
    let backward = "(x: T[*, n], indices: s32[*, p], dvalues: T[*, p]) -> (dx: T[*, n]) where T: f32 | f64";
    let vjp = Vjp::new(&parse(TOP_K), None, &parse(backward), &[], &Bindings::EMPTY).unwrap();
    assert_eq!(vjp.operands, [Operand(0), Result(1), Cotangent(0)]);

    // Integers are never differentiated.
    let op = "(x: T[*, n], k: i64) -> (values: T[*, k]) where T: f32 | s32";
    let backward = "(x: f32[*, n], dvalues: f32[*, k]) -> (dx: f32[*, n])";
    assert!(Vjp::new(&parse(op), None, &parse(backward), &[], &Bindings::EMPTY).is_ok());

    // Dimensions may have other names.
    let backward = "(q: T[*, m, k], r: T[*, k, n], dq: T[*, m, k], dr: T[*, k, n]) -> (dx: T[*, m, n]) where T: f32 | f64";
    assert!(Vjp::new(&parse(QR), None, &parse(backward), &[], &Bindings::EMPTY).is_ok());

    let tangent = "(x: T[*, n], dx: T[*, n], scale: T[n], eps: f32) -> (dy: T[*, n]) where T: any";
    let jvp = Jvp::new(&parse(NORM), &parse(tangent), &["scale"], &Bindings::EMPTY).unwrap();
    assert_eq!(jvp.operands, [JvpSource::Operand(0), JvpSource::Tangent(0), JvpSource::Operand(1)]);
    assert_eq!(jvp.tangents, [Some(0)]);

    let op = "(x: f32[n], mask: f32[n]?) -> (y: f32[n])";
    let backward = "(dy: f32[n], mask: f32[n]?) -> (dx: f32[n], dmask: f32[n] if mask)";
    assert_eq!(
        Vjp::new(&parse(op), None, &parse(backward), &[], &Bindings::EMPTY).unwrap().cotangents,
        [Some(0), Some(1)]
    );
}

#[test]
fn a_vjp_that_does_not_fit() {
    let types = "where T: f32 | f64";
    let bwd = |operands: &str, results: &str, sum: &str| format!("({operands}) -> ({results}) {types}{sum}");
    let x = "x: T[*, n], dy: T[*, n]";
    vjp_error(
        NORM,
        None,
        &bwd(x, "dx: T[*, n]", ""),
        &[],
        expect![
            "Backward, at nothing: the backward op returns no cotangent for `scale`: add a result `dscale`, or declare `scale` as not differentiable"
        ],
    );
    vjp_error(
        NORM,
        None,
        &bwd(x, "dx: T[*, n], dscale: T[n]", "; *: sum"),
        &["scale"],
        expect!["Backward, at dscale: `scale` is declared as not differentiable, but here is `dscale`"],
    );
    vjp_error(
        NORM,
        None,
        &bwd(x, "dx: T[*, n], dscale: T[n]", "; *: max"),
        &[],
        expect![
            "Backward, at dscale: the cotangent `dscale` is shared by the batch, and must be its sum: `*: sum`"
        ],
    );
    vjp_error(
        NORM,
        None,
        &bwd(x, "dx: T[*, n]", ""),
        &["scal"],
        expect![
            "NonDifferentiable, at nothing: `scal` is declared as not differentiable, but there is no operand of this name; did you mean `scale`?"
        ],
    );
    vjp_error(
        NORM,
        None,
        &bwd(x, "dz: T[*, n]", ""),
        &[],
        expect!["Backward, at dz: `dz` is not `d` and an operand of the op; did you mean `dx`?"],
    );
    vjp_error(
        NORM,
        None,
        &bwd("x: T[*, n], dz: T[*, n]", "dx: T[*, n]", ""),
        &[],
        expect![
            "Backward, at dz: `dz` is not an operand, a result, a residual, or `d` and a result of the op; did you mean `dy`?"
        ],
    );
    vjp_error(
        NORM,
        None,
        &bwd("x: T[*, n], gradient: T[*, n]", "dx: T[*, n]", ""),
        &[],
        expect![
            "Backward, at gradient: `gradient` is not an operand, a result, a residual, or `d` and a result of the op; known here: x, scale, y, dy; other names need a binding: `cotangent(y) = gradient`"
        ],
    );
    vjp_error(
        NORM,
        None,
        &bwd("x: T[*, n], dy: T[*, m]", "dx: T[*, n]", ""),
        &[],
        expect!["Backward, at dy: `dy` is `T[*, m]`, but `y` of the op is `T[*, n]`"],
    );
    vjp_error(
        NORM,
        None,
        &bwd("x: T[*, n], dy: T[n]", "dx: T[*, n]", ""),
        &[],
        expect!["Backward, at dy: `dy` is `T[n]`, but `y` of the op is `T[*, n]`"],
    );
    vjp_error(
        NORM,
        None,
        "(x: f32[*, n], dy: f32[*, n]) -> (dx: f32[*, n])",
        &[],
        expect!["Backward, at x: `x` cannot be f64, but `x` of the op can"],
    );
    vjp_error(
        NORM,
        None,
        &bwd("x: T[*, n], dy: T[*, n], eps: f64", "dx: T[*, n]", ""),
        &[],
        expect!["Backward, at eps: `eps` is f64 here, but f32 in the op"],
    );
    vjp_error(
        NORM,
        None,
        &bwd("x: T[*, n], dy: T[*, n], k: f64", "dx: T[*, n]", ""),
        &[],
        expect!["Backward, at k: the op has no attribute `k`"],
    );
    vjp_error(
        TOP_K,
        None,
        "(dindices: s32[*, k], x: f32[*, n]) -> (dx: f32[*, n])",
        &[],
        expect![
            "Backward, at dindices: the result `indices` has no cotangent, since its type is not real or complex"
        ],
    );
    vjp_error(
        QR,
        None,
        "(q: T[*, m, k], r: T[*, k, n], dq: T[*, m, k], dr: T[*, p, n]) -> (dx: T[*, m, n]) where T: f32 | f64",
        &[],
        expect![
            "Backward, at dr: `dr` is `T[*, p, n]`, but `r` of the op is `T[*, min(m, n), n]`; elsewhere `min(m, n)` is `k`"
        ],
    );
    let fwd = |operands: &str, results: &str| format!("({operands}) -> ({results}) {types}");
    let backward = bwd(x, "dx: T[*, n]", "");
    vjp_error(
        NORM,
        Some(&fwd("x: T[*, n]", "y: T[*, n]")),
        &backward,
        &["scale"],
        expect!["Forward, at nothing: the forward op lacks the operand `scale`"],
    );
    vjp_error(
        NORM,
        Some(&fwd("scale: T[n], x: T[*, n]", "y: T[*, n]")),
        &backward,
        &["scale"],
        expect!["Forward, at scale: the forward op takes the operands of the op: here `x`"],
    );
    vjp_error(
        NORM,
        Some(&fwd("x: T[*, n], scale: T[n], z: T[]", "y: T[*, n]")),
        &backward,
        &["scale"],
        expect!["Forward, at z: the op has no operand `z`"],
    );
    vjp_error(
        NORM,
        Some(&fwd("x: T[*, n], scale: T[n]", "r: T[*], y: T[*, n]")),
        &backward,
        &["scale"],
        expect!["Forward, at r: the forward op returns the results of the op first: here `y`"],
    );
    vjp_error(
        NORM,
        Some(&fwd("x: T[*, n], scale: T[n]", "")),
        &backward,
        &["scale"],
        expect!["Forward, at nothing: the forward op lacks the result `y`"],
    );
    vjp_error(
        NORM,
        Some(&fwd("x: T[*, m], scale: T[m]", "y: T[*, m]")),
        &backward,
        &["scale"],
        expect!["Forward, at x: `x` is `T[*, m]`, but `x` of the op is `T[*, n]`"],
    );
}

#[test]
fn a_jvp_that_does_not_fit() {
    jvp_error(
        NORM,
        "(x: T[*, n], dx: T[*, n]) -> (dy: T[*, n]) where T: any",
        &[],
        expect![
            "Tangent, at nothing: the tangent op takes no tangent of `scale`: add an operand `dscale`, or declare `scale` as not differentiable"
        ],
    );
    jvp_error(
        NORM,
        "(x: T[*, n], dx: T[*, n]) -> (y: T[*, n]) where T: any",
        &["scale"],
        expect!["Tangent, at y: `y` is not `d` and a result of the op; did you mean `dy`?"],
    );
    jvp_error(
        NORM,
        "(x: T[*, n], dx: T[*, n]) -> () where T: any",
        &["scale"],
        expect!["Tangent, at nothing: the tangent op returns no tangent for `y`: add a result `dy`"],
    );
    jvp_error(
        TOP_K,
        "(x: f32[*, n], dx: f32[*, n], k: i64) -> (dvalues: f32[*, k], dindices: s32[*, k])",
        &[],
        expect![
            "Tangent, at dindices: the result `indices` has no tangent, since its type is not real or complex"
        ],
    );
    jvp_error(
        "(at: s32[n], x: f32[n]) -> (y: f32[n])",
        "(dat: s32[n], dx: f32[n]) -> (dy: f32[n])",
        &[],
        expect!["Tangent, at dat: `at` has no derivative, since its type is not real or complex"],
    );
}

#[test]
fn any_dimensions_stay_any() {
    const FLIP: &str = "(x: T[..], axis: i64) -> (y: T[..]) where T: f32 | f64";
    let vjp = Vjp::new(
        &parse(FLIP),
        None,
        &parse("(dy: T[..], axis: i64) -> (dx: T[..]) where T: f32 | f64"),
        &[],
        &Bindings::EMPTY,
    );
    assert_eq!(vjp.unwrap().operands, [VjpSource::Cotangent(0)]);
    let backward = "(dy: T[n], axis: i64) -> (dx: T[..]) where T: f32 | f64";
    vjp_error(
        FLIP,
        None,
        backward,
        &[],
        expect!["Backward, at dy: `dy` is `T[n]`, but `y` of the op is `T[..]`"],
    );
    jvp_error(
        FLIP,
        "(dx: T[*]) -> (dy: T[*]) where T: f32 | f64",
        &[],
        expect!["Tangent, at dx: `dx` is `T[*]`, but `x` of the op is `T[..]`"],
    );
}

const SOFTPLUS: &str = "(x: T[*]) -> (y: T[*]) where T: f32 | f64";
const BACKWARD: &str = "(x: T[*], dy: T[*]) -> (dx: T[*]) where T: f32 | f64";

fn bindings(text: &str) -> Bindings {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// Matches `BACKWARD` with a tangent op, or returns the reason for the mismatch.
fn backward_jvp(tangent: &str, said: &str) -> Result<Jvp, String> {
    let jvp = Jvp::new(&parse(BACKWARD), &parse(tangent), &[], &bindings(said));
    jvp.map_err(|e| show(&e, tangent))
}

#[test]
fn what_a_parameter_is_can_be_said() {
    use JvpSource::{Operand, Result, Tangent};
    // Forward over reverse: the name `dx` could be a result of the op or the tangent of `x`.
    let tangent = "(x: T[*], dy: T[*], tx: T[*], tdy: T[*]) -> (tdx: T[*]) where T: f32 | f64";
    let jvp = backward_jvp(tangent, "tangent(x) = tx, tangent(dy) = tdy, tangent(dx) = tdx").unwrap();
    assert_eq!(
        (jvp.operands, jvp.tangents),
        (vec![Operand(0), Operand(1), Tangent(0), Tangent(1)], vec![Some(0)])
    );
    let tangent = "(dx: T[*], x: T[*], dy: T[*], ddy: T[*]) -> (ddx: T[*]) where T: f32 | f64";
    expect!["Tangent, at dx: `dx` is both the tangent of `x` and the result `dx`: say which parameter is which, by `tangent(x) = …` or `result(dx) = …`"]
        .assert_eq(&backward_jvp(tangent, "").unwrap_err());
    let jvp = backward_jvp(tangent, "tangent(x) = dx").unwrap();
    assert_eq!(jvp.operands, [Tangent(0), Operand(0), Operand(1), Tangent(1)]);
    // Binding one parameter determines the role of another parameter with the same default name.
    let tangent = "(dx: T[*], tx: T[*], ddy: T[*]) -> (ddx: T[*]) where T: f32 | f64";
    assert_eq!(
        backward_jvp(tangent, "tangent(x) = tx").unwrap().operands,
        [Result(0), Tangent(0), Tangent(1)]
    );

    // Reverse over forward: the derivatives of a tangent op `(x, v) -> (u)`. One op may be both tangent and
    // backward op.
    let (op, slope) = (parse(SOFTPLUS), parse("(x: T[*], v: T[*]) -> (u: T[*]) where T: f32 | f64"));
    let jvp = Jvp::new(&op, &slope, &[], &bindings("tangent(x) = v, tangent(y) = u")).unwrap();
    assert_eq!((jvp.operands, jvp.tangents), (vec![Operand(0), Tangent(0)], vec![Some(0)]));
    let vjp = Vjp::new(&op, None, &slope, &[], &bindings("cotangent(y) = v, cotangent(x) = u")).unwrap();
    assert_eq!(
        (vjp.operands, vjp.cotangents),
        (vec![VjpSource::Operand(0), VjpSource::Cotangent(0)], vec![Some(0)])
    );
    let backward = parse("(x: T[*], v: T[*], du: T[*]) -> (dx: T[*], dv: T[*]) where T: f32 | f64");
    assert!(Vjp::new(&slope, None, &backward, &[], &Bindings::EMPTY).is_ok());

    let forward = parse("(x: T[*]) -> (y: T[*], e: T[*]) where T: f32 | f64");
    let backward = parse("(a: T[*], b: T[*], c: T[*], g: T[*]) -> (dx: T[*]) where T: f32 | f64");
    let said = bindings("residual(e) = a, operand(x) = b, result(y) = c, cotangent(y) = g");
    let vjp = Vjp::new(&op, Some(&forward), &backward, &[], &said).unwrap();
    expect!["[Residual(0), Operand(0), Result(0), Cotangent(0)]"].assert_eq(&format!("{:?}", vjp.operands));
}

#[test]
fn bindings_that_cannot_be() {
    let tangent = "(x: T[*], tx: T[*], tdy: T[*]) -> (tdx: T[*]) where T: f32 | f64";
    let fails = |said: &str| backward_jvp(tangent, said).unwrap_err();
    expect![[r#"
        Tangent, at tx: `tx` is not an operand, a result, or `d` and an operand of the op; did you mean `dx` or `x`?
        Tangent, at nothing: `tangent(z) = tx`: there is no `z` here; did you mean `x`?
        Tangent, at nothing: `tangent(x) = ux`: the tangent op has no operand or result `ux`; did you mean `tx` or `x`?
        Tangent, at tdx: `tdx` is a result, but the operand `dy` is an operand of it
        Tangent, at tx: `tx` is an operand, but the tangent of `dx` is a result of it
        Tangent, at nothing: `cotangent(x) = tx`: the tangent op has no cotangent parameters"#]]
    .assert_eq(
        &["", "tangent(z) = tx", "tangent(x) = ux", "tangent(x) = tx, tangent(dy) = tdy, operand(dy) = tdx", "tangent(dx) = tx", "cotangent(x) = tx"]
            .map(fails)
            .join("\n"),
    );
    let text = |text: &str| text.parse::<Bindings>().map_or_else(|e| e.to_string(), |b| b.to_string());
    expect![[r#"
        tangent(x) = tx, tangent(dy) = tdy
        conflicts with the earlier binding `tangent(x) = tx`
        conflicts with the earlier binding `tangent(x) = tx`
        `tangent x = tx` is not a binding such as `tangent(x) = tx`
        `tangnet(x) = tx` is not a binding such as `tangent(x) = tx`
        `tangent(x) =` is not a binding such as `tangent(x) = tx`"#]]
    .assert_eq(
        &[
            "tangent( x )=tx,tangent(dy) =tdy,",
            "tangent(x) = tx, tangent(x) = ty",
            "tangent(x) = tx, tangent(y) = tx",
            "tangent x = tx",
            "tangnet(x) = tx",
            "tangent(x) = ",
        ]
        .map(text)
        .join("\n"),
    );
}

#[test]
fn a_transpose_makes_a_reverse_derivative() {
    use VjpSource::{Cotangent, Operand, Result};
    let op = parse("(x: T[*, n]) -> (y: T[*]) where T: f32 | f64");
    let tangent = parse("(x: T[*, n], y: T[*], dx: T[*, n]) -> (dy: T[*]) where T: f32 | f64");
    let transposed = parse("(y: T[*], x: T[*, n], dy: T[*]) -> (dx: T[*, n]) where T: f32 | f64");
    let transpose = Vjp::transpose(&tangent, &transposed, &[], &Bindings::EMPTY).unwrap();
    assert_eq!(transpose.cotangents, [None, None, Some(0)]);
    let jvp = Jvp::new(&op, &tangent, &[], &Bindings::EMPTY).unwrap();
    let vjp = jvp.transposed(&op, &tangent, &transpose).unwrap();
    assert_eq!((vjp.operands, vjp.cotangents), (vec![Result(0), Operand(0), Cotangent(0)], vec![Some(0)]));
    assert_eq!(Jvp::linear(&tangent, &transpose, &[]), None, "it is not linear in x and y");
    assert!(Jvp::linear(&tangent, &transpose, &["x", "y"]).is_some());

    let op = parse("(x: T[*, n], ids: s32[n], k: i64) -> (y: T[*, k]) where T: f32 | f64");
    let transposed = parse("(u: T[*, k], ids: s32[n], k: i64) -> (x: T[*, n]) where T: f32 | f64");
    let transpose = Vjp::transpose(&op, &transposed, &[], &bindings("cotangent(y) = u")).unwrap();
    let jvp = Jvp::linear(&op, &transpose, &[]).unwrap();
    assert_eq!(
        (jvp.operands.as_slice(), jvp.tangents.as_slice()),
        (&[JvpSource::Tangent(0), JvpSource::Operand(1)][..], &[Some(0)][..])
    );
    assert_eq!(jvp.transposed(&op, &op, &transpose), Ok(transpose));

    let wrong = |transposed: &str, said: &str| {
        let error = Vjp::transpose(&tangent, &parse(transposed), &[], &bindings(said)).unwrap_err();
        show(&error, transposed)
    };
    expect![[r#"
        Transpose, at g: the transpose returns the cotangent of `dx`, so it cannot depend on `dx`
        Transpose, at ddx: `ddx` is not an operand of the op; did you mean `dx`?
        Transpose, at nothing: the transpose returns the cotangent of no operand
        Transpose, at dy: `dy` is `T[*, n]`, but `dy` of the op is `T[*]`
        Transpose, at nothing: `result(dy) = dy`: the transpose has no result parameters"#]]
    .assert_eq(
        &[
            wrong(
                "(g: T[*, n], dy: T[*]) -> (dx: T[*, n]) where T: f32 | f64",
                "operand(dx) = g, cotangent(dx) = dx",
            ),
            wrong("(x: T[*, n], dy: T[*]) -> (ddx: T[*, n]) where T: f32 | f64", ""),
            wrong("(dy: T[*]) -> () where T: f32 | f64", ""),
            wrong("(dy: T[*, n]) -> (dx: T[*, n]) where T: f32 | f64", ""),
            wrong("(dy: T[*], x: T[*, n]) -> (dx: T[*, n]) where T: f32 | f64", "result(dy) = dy"),
        ]
        .join("\n"),
    );

    let transposed = parse("(dx: T[*, n], dy: T[*]) -> (x: T[*, n]) where T: f32 | f64");
    let transpose = Vjp::transpose(&tangent, &transposed, &[], &Bindings::EMPTY).unwrap();
    let error =
        Jvp::new(&parse("(x: T[*, n]) -> (y: T[*]) where T: f32 | f64"), &tangent, &[], &Bindings::EMPTY)
            .unwrap()
            .transposed(&parse("(x: T[*, n]) -> (y: T[*]) where T: f32 | f64"), &tangent, &transpose)
            .unwrap_err();
    expect!["a tangent op is linear in all tangents, but its transpose returns no cotangent for `dx`, the tangent of `x`"]
        .assert_eq(&error.message);
}
