//! A linear recurrence. Its reverse derivative need not be declared, because the forward derivative is linear
//! and has a transpose. Both the forward derivative and the transpose have forward derivatives.

use farcall_ffi::prelude::*;

/// `hₜ = aₜ·hₜ₋₁ + bₜ` along each row, where values beyond the ends are 0.
#[handler(name = "recurrence")]
#[signature((a: T[*, n], b: T[*, n]) -> (h: T[*, n]) where T: f32 | f64)]
#[jvp(tangent = jvp)]
fn recurrence<T: Float>() {
    (0..h.len()).for_each(|t| h[t] = a[t] * near(h, t, -1) + b[t]);
}

/// `dhₜ = aₜ·dhₜ₋₁ + daₜ·hₜ₋₁ + dbₜ`
#[handler(name = "recurrence_jvp")]
#[signature((a: T[*, n], h: T[*, n], da: T[*, n], db: T[*, n]) -> (dh: T[*, n]) where T: f32 | f64)]
#[transpose(bwd)]
#[jvp(tangent = jvp_jvp, tangent(_) = t_)]
fn jvp<T: Float>() {
    (0..h.len()).for_each(|t| dh[t] = a[t] * near(dh, t, -1) + da[t] * near(h, t, -1) + db[t]);
}

/// The product rule.
#[handler(name = "recurrence_jvp_jvp")]
#[signature((a: T[*, n], h: T[*, n], da: T[*, n], dh: T[*, n], ta: T[*, n], th: T[*, n], tda: T[*, n], tdb: T[*, n])
    -> (tdh: T[*, n]) where T: f32 | f64)]
fn jvp_jvp<T: Float>() {
    for t in 0..h.len() {
        let products = ta[t] * near(dh, t, -1) + tda[t] * near(h, t, -1) + da[t] * near(th, t, -1);
        tdh[t] = a[t] * near(tdh, t, -1) + products + tdb[t];
    }
}

/// From the last to the first: `dbₜ = dhₜ + aₜ₊₁·dbₜ₊₁`, and `daₜ = dbₜ·hₜ₋₁`
#[handler(name = "recurrence_bwd")]
#[signature((a: T[*, n], h: T[*, n], dh: T[*, n]) -> (da: T[*, n], db: T[*, n]) where T: f32 | f64)]
#[jvp(tangent = bwd_jvp, tangent(_) = t_)]
fn bwd<T: Float>() {
    (0..h.len()).rev().for_each(|t| db[t] = dh[t] + near(a, t, 1) * near(db, t, 1));
    (0..h.len()).for_each(|t| da[t] = db[t] * near(h, t, -1));
}

/// The product rule, for `da` and `db`.
#[handler(name = "recurrence_bwd_jvp")]
#[signature((a: T[*, n], h: T[*, n], db: T[*, n], ta: T[*, n], th: T[*, n], tdh: T[*, n])
    -> (tda: T[*, n], tdb: T[*, n]) where T: f32 | f64)]
fn bwd_jvp<T: Float>() {
    (0..h.len())
        .rev()
        .for_each(|t| tdb[t] = tdh[t] + near(ta, t, 1) * near(db, t, 1) + near(a, t, 1) * near(tdb, t, 1));
    (0..h.len()).for_each(|t| tda[t] = tdb[t] * near(h, t, -1) + db[t] * near(th, t, -1));
}

/// Returns the element `steps` further in the same row; 0 beyond the ends of the row.
fn near<T: Float>(x: &Buffer<T>, t: usize, steps: isize) -> T {
    let at = x.dims().last().and_then(|n| (t % n).checked_add_signed(steps).filter(|at| at < n));
    at.map_or(T::ZERO, |_| x[t.wrapping_add_signed(steps)])
}

pub(crate) const OPS: &[&OpDescriptor] = ops![recurrence, jvp, jvp_jvp, bwd, bwd_jvp];
