//! Derivatives matched with their ops.

use expect_test::{Expect, expect};
use farcall_sig::signature::{GradientError, Jvp, JvpSource, Signature, Vjp, VjpSource};

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
    let error = Vjp::new(&parse(op), forward.map(parse).as_ref(), &parse(backward), constants).unwrap_err();
    let text = if error.part == farcall_sig::signature::Part::Forward { forward.unwrap() } else { backward };
    expected.assert_eq(&show(&error, text));
}

#[track_caller]
fn jvp_error(op: &str, tangent: &str, constants: &[&str], expected: Expect) {
    let error = Jvp::new(&parse(op), &parse(tangent), constants).unwrap_err();
    expected.assert_eq(&show(&error, tangent));
}

#[test]
fn values_are_matched_by_name() {
    use VjpSource::{Cotangent, Operand, Residual, Result};
    let forward = "(x: T[*, n], scale: T[n], eps: f32) -> (y: T[*, n], rstd: acc(T)[*]) where T: f32 | f64";
    let backward = "(rstd: acc(T)[*], dy: T[*, n], x: T[*, n], scale: T[n]) -> (dscale: T[n], dx: T[*, n]) where T: f32 | f64; *: sum";
    let vjp = Vjp::new(&parse(NORM), Some(&parse(forward)), &parse(backward), &[]).unwrap();
    assert_eq!(vjp.operands, [Residual(0), Cotangent(0), Operand(0), Operand(1)]);
    assert_eq!((vjp.residuals, vjp.cotangents), (1, vec![Some(1), Some(0)]));

    // The indices are integers: no cotangent comes in for them.
    let backward = "(x: T[*, n], indices: s32[*, p], dvalues: T[*, p]) -> (dx: T[*, n]) where T: f32 | f64";
    let vjp = Vjp::new(&parse(TOP_K), None, &parse(backward), &[]).unwrap();
    assert_eq!(vjp.operands, [Operand(0), Result(1), Cotangent(0)]);

    // Integers are never differentiated.
    let op = "(x: T[*, n], k: i64) -> (values: T[*, k]) where T: f32 | s32";
    let backward = "(x: f32[*, n], dvalues: f32[*, k]) -> (dx: f32[*, n])";
    assert!(Vjp::new(&parse(op), None, &parse(backward), &[]).is_ok());

    // Dimensions may have other names.
    let backward = "(q: T[*, m, k], r: T[*, k, n], dq: T[*, m, k], dr: T[*, k, n]) -> (dx: T[*, m, n]) where T: f32 | f64";
    assert!(Vjp::new(&parse(QR), None, &parse(backward), &[]).is_ok());

    let tangent = "(x: T[*, n], dx: T[*, n], scale: T[n], eps: f32) -> (dy: T[*, n]) where T: any";
    let jvp = Jvp::new(&parse(NORM), &parse(tangent), &["scale"]).unwrap();
    assert_eq!(jvp.operands, [JvpSource::Operand(0), JvpSource::Tangent(0), JvpSource::Operand(1)]);
    assert_eq!(jvp.tangents, [Some(0)]);

    let op = "(x: f32[n], mask: f32[n]?) -> (y: f32[n])";
    let backward = "(dy: f32[n], mask: f32[n]?) -> (dx: f32[n], dmask: f32[n] if mask)";
    assert_eq!(Vjp::new(&parse(op), None, &parse(backward), &[]).unwrap().cotangents, [Some(0), Some(1)]);
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
    let vjp =
        Vjp::new(&parse(FLIP), None, &parse("(dy: T[..], axis: i64) -> (dx: T[..]) where T: f32 | f64"), &[]);
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
