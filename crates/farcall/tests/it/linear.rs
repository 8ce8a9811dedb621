//! Derivatives of calls: the values they need, and calls of derivative ops.

use farcall::CodedError;
use std::sync::Arc;

use expect_test::{Expect, expect};
use farcall::ir::DType;
use farcall::registry::{Platform, Target};
use farcall::{ErrorCode, Linear, LinearBatch, OpError, Registry};
use farcall_ffi::prelude::*;
use farcall_sig::AttrValues;

/// Rows times a scale. `at` is declared not differentiable; `i` is an integer, and has no derivatives.
#[handler(name = "product")]
#[signature((x: f32[*, n], scale: f32[n], at: f32[n], i: s32[]) -> (y: f32[*, n], most: s32[*]))]
#[vjp(forward = product_fwd, backward = product_bwd)]
#[jvp(tangent = product_tangent)]
#[nondiff(at)]
fn product(
    x: &Buffer<f32>,
    scale: &Buffer<f32>,
    at: &Buffer<f32>,
    i: &Buffer<i32>,
    y: &mut Buffer<f32>,
    most: &mut Buffer<i32>,
) -> Result<()> {
    let _ = (x, scale, at, i, y, most);
    Ok(())
}

#[handler(name = "product_fwd")]
#[signature((x: f32[*, n], scale: f32[n], at: f32[n], i: s32[]) -> (y: f32[*, n], most: s32[*], norm: f32[*]))]
fn product_fwd(
    x: &Buffer<f32>,
    scale: &Buffer<f32>,
    at: &Buffer<f32>,
    i: &Buffer<i32>,
    y: &mut Buffer<f32>,
    most: &mut Buffer<i32>,
    norm: &mut Buffer<f32>,
) -> Result<()> {
    let _ = (x, scale, at, i, y, most, norm);
    Ok(())
}

#[handler(name = "product_bwd")]
#[signature((scale: f32[n], norm: f32[*], x: f32[*, n], dy: f32[*, n]) -> (dscale: f32[n], dx: f32[*, n]) where *: sum)]
fn product_bwd(
    scale: &Buffer<f32>,
    norm: &Buffer<f32>,
    x: &Buffer<f32>,
    dy: &Buffer<f32>,
    dscale: &mut Buffer<f32>,
    dx: &mut Buffer<f32>,
) -> Result<()> {
    let _ = (scale, norm, x, dy, dscale, dx);
    Ok(())
}

#[handler(name = "product_tangent")]
#[signature((x: f32[*, n], dx: f32[*, n], scale: f32[n], dscale: f32[n]) -> (dy: f32[*, n]))]
fn product_tangent(
    x: &Buffer<f32>,
    dx: &Buffer<f32>,
    scale: &Buffer<f32>,
    dscale: &Buffer<f32>,
    dy: &mut Buffer<f32>,
) -> Result<()> {
    let _ = (x, dx, scale, dscale, dy);
    Ok(())
}

/// An op that has only a reverse derivative. Its backward op takes the cotangent of only one of the two
/// results.
#[handler(name = "pair")]
#[signature((x: f32[*]) -> (y: f32[*], z: f32[*]))]
#[vjp(backward = pair_bwd)]
fn pair(x: &Buffer<f32>, y: &mut Buffer<f32>, z: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y, z);
    Ok(())
}

#[handler(name = "pair_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
fn pair_bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    let _ = (dy, dx);
    Ok(())
}

/// An op with a forward derivative only.
#[handler(name = "ramp")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[jvp(tangent = ramp_jvp, tangent(x) = v, tangent(y) = u)]
fn ramp(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y);
    Ok(())
}

#[handler(name = "ramp_jvp")]
#[signature((x: f32[*], v: f32[*]) -> (u: f32[*]))]
fn ramp_jvp(x: &Buffer<f32>, v: &Buffer<f32>, u: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, v, u);
    Ok(())
}

/// An op with a forward derivative. The tangent op is its own transpose.
#[handler(name = "bend")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[jvp(tangent = bend_jvp, tangent(x) = v, tangent(y) = u)]
fn bend(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y);
    Ok(())
}

#[handler(name = "bend_jvp")]
#[signature((x: f32[*], v: f32[*]) -> (u: f32[*]))]
#[transpose(bend_jvp, cotangent(u) = v, cotangent(v) = u)]
fn bend_jvp(x: &Buffer<f32>, v: &Buffer<f32>, u: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, v, u);
    Ok(())
}

/// An op that is piecewise constant in `at`, and not differentiable in `mask`.
#[handler(name = "steps")]
#[signature((x: f32[*], at: f32[], mask: f32[*]) -> (y: f32[*]))]
#[vjp(backward = steps_bwd)]
#[jvp(tangent = steps_jvp)]
#[nondiff(at = zero, mask)]
fn steps(x: &Buffer<f32>, at: &Buffer<f32>, mask: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, at, mask, y);
    Ok(())
}

#[handler(name = "steps_bwd")]
#[signature((x: f32[*], at: f32[], dy: f32[*]) -> (dx: f32[*]))]
fn steps_bwd(x: &Buffer<f32>, at: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, at, dy, dx);
    Ok(())
}

#[handler(name = "steps_jvp")]
#[signature((x: f32[*], at: f32[], dx: f32[*]) -> (dy: f32[*]))]
fn steps_jvp(x: &Buffer<f32>, at: &Buffer<f32>, dx: &Buffer<f32>, dy: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, at, dx, dy);
    Ok(())
}

/// An op whose only derivative is zero.
#[handler(name = "sign")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[nondiff(x = zero)]
fn sign(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, y);
    Ok(())
}

fn target(op: &str) -> Arc<Target> {
    let registry = Registry::new();
    let ops = farcall_ffi::ops![product, product_fwd, product_bwd, product_tangent, pair, pair_bwd];
    registry.register_ops(ops).unwrap();
    registry.register_ops(farcall_ffi::ops![ramp, ramp_jvp, bend, bend_jvp]).unwrap();
    registry.register_ops(farcall_ffi::ops![steps, steps_bwd, steps_jvp, sign]).unwrap();
    registry.lookup(op, &Platform::Host).unwrap()
}

fn product_in(moving: &[usize]) -> Linear {
    let f32s = |dims: &[i64]| (DType::F32, dims.to_vec());
    let operands = vec![f32s(&[2, 3]), f32s(&[3]), f32s(&[3]), (DType::S32, vec![])];
    Linear::new(&target("product"), operands, &AttrValues::new(), moving.to_vec()).unwrap()
}

/// Returns the derivative of an op of one vector.
fn of_vector(op: &str) -> Linear {
    Linear::new(&target(op), vec![(DType::F32, vec![2])], &AttrValues::new(), vec![0]).unwrap()
}

fn fails<T: std::fmt::Debug>(outcome: Result<T, OpError>, expected: Expect) {
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotDifferentiable);
    expected.assert_eq(&error.to_string());
}

#[test]
fn active_operands() {
    for moving in [vec![1], vec![99], vec![0, 0]] {
        let linear = Linear::new(&target("pair"), vec![(DType::F32, vec![2])], &AttrValues::new(), moving);
        let error = linear.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgumentCount);
        expect!["pair: the operands to differentiate must be distinct indices below 1, in ascending order"]
            .assert_eq(&error.to_string());
    }
    let linear = of_vector("pair");
    assert_eq!(linear.backward(&[]).unwrap().results, [Some(0)]);
    for mapped in [&[][..], &[true], &[true; 9]] {
        assert!(linear.batch(mapped, &4).is_ok());
    }
    let error = linear.batch(&[true], &-4).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (ErrorCode::Shape, "pair: an axis cannot have size -4")
    );
}

#[test]
fn saved_values_are_the_operands_of_derivatives() {
    let linear = product_in(&[0, 1]);
    expect!["[Operand(0), Operand(1), Residual(0)]"].assert_eq(&format!("{:?}", linear.saved()));
    assert_eq!((linear.results(), linear.residuals()), (vec![0], 1));
    assert_eq!(linear.forward().unwrap().target, "product_fwd");
    assert_eq!(of_vector("pair").forward(), None);
}

#[test]
fn derivative_ops_get_their_operands_in_their_order() {
    let linear = product_in(&[1]);
    let tangent = linear.tangent().unwrap();
    assert_eq!((tangent.op.target.as_str(), tangent.results), ("product_tangent", vec![Some(0)]));
    expect!["[Value(0), Zeros((F32, [2, 3])), Value(1), Value(3)]"]
        .assert_eq(&format!("{:?}", tangent.operands));
    let backward = linear.backward(&[false]).unwrap();
    assert_eq!((backward.op.target.as_str(), backward.results), ("product_bwd", vec![Some(0)]));
    expect!["[Value(1), Value(2), Value(0), Cotangent(0)]"].assert_eq(&format!("{:?}", backward.operands));
    assert_eq!(product_in(&[0, 1]).backward(&[true]).unwrap().results, [Some(1), Some(0)]);
}

#[test]
fn missing_derivatives_are_reported() {
    fails(product_in(&[2]).tangent(), expect!["product is not differentiable in at, by declaration"]);
    fails(
        of_vector("pair").tangent(),
        expect!["pair has no forward derivative: add #[jvp(tangent = …)] to its declaration"],
    );
    fails(
        of_vector("pair").second(),
        expect![
            "pair has no second derivative: that is the derivative of its forward derivative, which it does not declare (add #[jvp(tangent = …)] to its declaration, and #[jvp(…)] to that op's)"
        ],
    );
    fails(
        of_vector("pair").backward(&[false, false]),
        expect!["pair is not differentiable in its result z: pair_bwd, its backward op, does not take dz"],
    );
    assert!(of_vector("pair").backward(&[false, true]).is_ok());
    fails(
        of_vector("pair_bwd").backward(&[false]),
        expect![
            "pair_bwd has no gradient: add #[vjp(backward = …)] or #[jvp(tangent = …)] to its declaration"
        ],
    );
}

#[test]
fn a_derivative_may_be_zero_by_declaration() {
    let steps_in = |moving: &[usize]| {
        let f32s = |dims: &[i64]| (DType::F32, dims.to_vec());
        let operands = vec![f32s(&[2]), f32s(&[]), f32s(&[2])];
        Linear::new(&target("steps"), operands, &AttrValues::new(), moving.to_vec()).unwrap()
    };
    let linear = steps_in(&[0, 1]);
    assert_eq!((linear.moving(), linear.zero()), (&[0][..], vec![1]));
    let (tangent, backward) = (linear.tangent().unwrap(), linear.backward(&[false]).unwrap());
    expect!["[Value(0), Value(1), Value(2)] [Value(0), Value(1), Cotangent(0)]"]
        .assert_eq(&format!("{:?} {:?}", tangent.operands, backward.operands));
    assert_eq!((tangent.results, backward.results), (vec![Some(0)], vec![Some(0)]));
    assert!(steps_in(&[1]).moving().is_empty());
    fails(steps_in(&[1, 2]).tangent(), expect!["steps is not differentiable in mask, by declaration"]);
    let sign = of_vector("sign");
    assert_eq!((sign.moving(), sign.zero()), (&[][..], vec![0]));
}

#[test]
fn a_linear_tangent_op_is_transposed() {
    fails(
        of_vector("ramp").backward(&[false]),
        expect![
            "ramp has no reverse derivative: add #[transpose(…)] to the declaration of ramp_jvp, its tangent op, or #[vjp(backward = …)] to its own"
        ],
    );
    let linear = of_vector("bend");
    expect!["[Operand(0)]"].assert_eq(&format!("{:?}", linear.saved()));
    let (tangent, backward) = (linear.tangent().unwrap(), linear.backward(&[false]).unwrap());
    assert_eq!(tangent.op, backward.op);
    expect!["[Value(0), Value(1)] [Value(0), Cotangent(0)]"]
        .assert_eq(&format!("{:?} {:?}", tangent.operands, backward.operands));
    assert_eq!((tangent.results, backward.results), (vec![Some(0)], vec![Some(0)]));
}

#[test]
fn a_linear_op_is_transposed() {
    // `bend` is transposed by the transpose of its tangent op. The point of differentiation is passed as
    // zeros, because the derivative of a linear op does not depend on the point.
    let bend = of_vector("bend").transpose(&[false]).unwrap();
    assert_eq!((bend.op.target.as_str(), bend.results), ("bend_jvp", vec![Some(0)]));
    expect!["[Zeros((F32, [2])), Cotangent(0)]"].assert_eq(&format!("{:?}", bend.operands));
    // `bend_jvp` has its own transpose with respect to its linear operand. The other operand becomes an
    // operand of the call.
    let operands = vec![(DType::F32, vec![2]); 2];
    let tangent = |moving| {
        let linear = Linear::new(&target("bend_jvp"), operands.clone(), &AttrValues::new(), moving).unwrap();
        linear.transpose(&[false])
    };
    let call = tangent(vec![1]).unwrap();
    assert_eq!((call.op.target.as_str(), call.results), ("bend_jvp", vec![Some(0)]));
    expect!["[Value(0), Cotangent(0)]"].assert_eq(&format!("{:?}", call.operands));
    // The backward op of `pair` takes only a cotangent, so no operand is missing.
    let pair = of_vector("pair").transpose(&[false, true]).unwrap();
    expect!["[Cotangent(0)]"].assert_eq(&format!("{:?}", pair.operands));
    fails(
        tangent(vec![0]),
        expect![
            "bend_jvp cannot be transposed with respect to x: if it is linear in x, add #[transpose(…)] to its declaration"
        ],
    );
    fails(
        product_in(&[0, 1]).transpose(&[false]),
        expect![
            "product cannot be transposed with respect to x and scale: if it is linear in x and scale, add #[transpose(…)] to its declaration"
        ],
    );
}

#[test]
fn a_derivative_is_vmapped_where_its_op_is() {
    let linear = product_in(&[0]);
    // One flag for each value: x, scale, the residual, and the tangent of x.
    let batch = linear.batch(&[true, false, true, true], &5).unwrap();
    let f32s = |dims: &[i64]| (DType::F32, dims.to_vec());
    let operands = vec![f32s(&[5, 2, 3]), f32s(&[3]), f32s(&[3]), (DType::S32, vec![])];
    assert_eq!(batch, Some(LinearBatch { batched: vec![true, false, true, true], operands }));
    assert_eq!(
        linear.batch(&[true, true, true, true], &5).unwrap(),
        None,
        "the op takes a single scale, but each entry has its own"
    );
}
