//! A linear recurrence. Its reverse derivative is not declared: the forward one is linear, and has a transpose.

use farcall_ffi::prelude::*;

/// `hₜ = aₜ·hₜ₋₁ + bₜ` along each row, where what is before the first is 0.
#[handler(name = "recurrence")]
#[signature((a: T[*, n], b: T[*, n]) -> (h: T[*, n]) where T: f32 | f64)]
#[jvp(tangent = recurrence_jvp)]
fn recurrence<T: Float>(a: &Buffer<T>, b: &Buffer<T>, h: &mut Buffer<T>) -> Result<()> {
    for ((a, b), h) in a.rows().zip(b.rows()).zip(h.rows_mut()) {
        (0..h.len()).for_each(|t| h[t] = a[t] * before(h, t) + b[t]);
    }
    Ok(())
}

/// `ḣₜ = aₜ·ḣₜ₋₁ + ȧₜ·hₜ₋₁ + ḃₜ`
#[handler(name = "recurrence_jvp")]
#[signature((a: T[*, n], h: T[*, n], da: T[*, n], db: T[*, n]) -> (dh: T[*, n]) where T: f32 | f64)]
#[transpose(recurrence_bwd)]
#[rustfmt::skip]
fn recurrence_jvp<T: Float>(
    a: &Buffer<T>, h: &Buffer<T>, da: &Buffer<T>, db: &Buffer<T>, dh: &mut Buffer<T>,
) -> Result<()> {
    for ((((a, h), da), db), dh) in a.rows().zip(h.rows()).zip(da.rows()).zip(db.rows()).zip(dh.rows_mut()) {
        (0..h.len()).for_each(|t| dh[t] = a[t] * before(dh, t) + da[t] * before(h, t) + db[t]);
    }
    Ok(())
}

/// From the last to the first: `db_t = dh_t + a_{t+1}·db_{t+1}`, and `da_t = db_t·hₜ₋₁`
#[handler(name = "recurrence_bwd")]
#[signature((a: T[*, n], h: T[*, n], dh: T[*, n]) -> (da: T[*, n], db: T[*, n]) where T: f32 | f64)]
#[rustfmt::skip]
fn recurrence_bwd<T: Float>(
    a: &Buffer<T>, h: &Buffer<T>, dh: &Buffer<T>, da: &mut Buffer<T>, db: &mut Buffer<T>,
) -> Result<()> {
    for ((((a, h), dh), da), db) in a.rows().zip(h.rows()).zip(dh.rows()).zip(da.rows_mut()).zip(db.rows_mut()) {
        let mut later = T::ZERO;
        for t in (0..h.len()).rev() {
            (db[t], da[t]) = (dh[t] + later, (dh[t] + later) * before(h, t));
            later = a[t] * db[t];
        }
    }
    Ok(())
}

fn before<T: Float>(h: &[T], t: usize) -> T {
    if t == 0 { T::ZERO } else { h[t - 1] }
}

pub(crate) const OPS: &[&OpDescriptor] = ops![recurrence, recurrence_jvp, recurrence_bwd];
