//! Checks once what the runtime relies on in every run.

use farcall_ir::{DType, Literal};

use super::{ALIGNMENT, Base, Buffer, Movement, Plan, Slice, Thunk, ThunkOp, support};

/// A plan that breaks a promise: a mistake of the compiler, never of a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the compiler made an invalid plan ({place}, {kind}): {message}")]
pub struct InvalidPlan {
    /// Where in the program.
    pub place: String,
    /// Kind of the thunk.
    pub kind: &'static str,
    /// What is wrong.
    pub message: String,
}

impl Plan {
    /// Checks the invariants of the [module](super).
    ///
    /// # Errors
    /// Names the first thunk that breaks one.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let whole = |message: String| InvalidPlan { place: "plan".to_owned(), kind: "plan", message };
        if self.arena_size > isize::MAX as usize / 2 {
            return Err(whole(format!("an arena of {} bytes does not fit into memory", self.arena_size)));
        }
        for buffer in &self.results {
            self.buffer(buffer).map_err(whole)?;
        }
        let mut error = None;
        self.walk(&mut |thunk| {
            if error.is_none() {
                error = self.thunk(thunk).err().map(|message| InvalidPlan {
                    place: self.source.place(thunk.span),
                    kind: thunk.op.kind(),
                    message,
                });
            }
        });
        error.map_or(Ok(()), Err)
    }

    fn slice(&self, slice: &Slice) -> Result<(), String> {
        let bytes = match slice.base {
            Base::Arena => self.arena_size,
            Base::Constant(id) => self.constants.get(id.index()).map_or(0, Literal::byte_len),
            Base::Param(id) => self.params.get(id.index()).and_then(|p| p.ty.bytes()).unwrap_or(0),
        };
        let exists = match slice.base {
            Base::Arena => true,
            Base::Constant(id) => id.index() < self.constants.len(),
            Base::Param(id) => id.index() < self.params.len(),
        };
        if !exists || slice.offset.checked_add(slice.size).is_none_or(|end| end > bytes) {
            return Err(format!("{slice} is not inside its {bytes} bytes"));
        }
        Ok(())
    }

    fn buffer(&self, b: &Buffer) -> Result<(), String> {
        self.slice(&b.slice)?;
        if b.ty.bytes() != Some(b.slice.size) {
            return Err(format!("{} does not hold a {}", b.slice, b.ty));
        }
        // Places in the arena are aligned, and other bases are used from their first byte.
        let aligned = match b.slice.base {
            Base::Arena => b.slice.offset.is_multiple_of(ALIGNMENT),
            Base::Constant(_) | Base::Param(_) => b.slice.offset == 0,
        };
        if !aligned {
            return Err(format!("{} is not aligned", b.slice));
        }
        Ok(())
    }

    fn thunk(&self, t: &Thunk) -> Result<(), String> {
        t.inputs.iter().chain(&t.outputs).try_for_each(|b| self.buffer(b))?;
        let owned = |b: &Buffer| match b.slice.base {
            Base::Arena => true,
            Base::Param(id) => self.params.get(id.index()).is_some_and(|p| p.donated),
            Base::Constant(_) => false,
        };
        if let Some(o) = t.outputs.iter().find(|o| !owned(o)) {
            return Err(format!("{} is written", o.slice));
        }
        self.overlaps(t)?;
        let (inputs, outputs) = (t.inputs.as_slice(), t.outputs.as_slice());
        match (&t.op, inputs, outputs) {
            (ThunkOp::Unary(u), [x], [y]) => {
                need(support::unary(*u, x.ty.dtype), "no kernel for the type")?;
                need(y.ty.dtype == unary_result(*u, x.ty.dtype), "result of another type")?;
                same_count(x, y)
            }
            (ThunkOp::Binary(b), [x, y], [z]) => {
                need(support::binary(*b, x.ty.dtype), "no kernel for the type")?;
                let result = match b {
                    farcall_ir::op::Binary::Complex => x.ty.dtype.complex().unwrap_or(x.ty.dtype),
                    _ => x.ty.dtype,
                };
                need(x.ty.dtype == y.ty.dtype && z.ty.dtype == result, "operands of different types")?;
                same_count(x, z)?;
                same_count(y, z)
            }
            (ThunkOp::Compare(_), [x, y], [z]) => {
                need(support::ordered(x.ty.dtype), "no kernel for the type")?;
                need(x.ty.dtype == y.ty.dtype && z.ty.dtype == DType::Pred, "operands of different types")?;
                same_count(x, z)?;
                same_count(y, z)
            }
            (ThunkOp::Select, [p, x, y], [z]) => {
                need(p.ty.dtype == DType::Pred, "the predicate is not pred")?;
                need(x.ty.dtype == z.ty.dtype && y.ty.dtype == z.ty.dtype, "operands of different types")?;
                need(
                    p.ty.elements() == Some(1) || p.ty.elements() == z.ty.elements(),
                    "predicate of another size",
                )?;
                same_count(x, z)?;
                same_count(y, z)
            }
            (ThunkOp::Clamp, [lo, x, hi], [z]) => {
                need(support::ordered(z.ty.dtype), "no kernel for the type")?;
                let types = [lo, x, hi].iter().all(|b| b.ty.dtype == z.ty.dtype);
                need(types, "operands of different types")?;
                let bound = |b: &Buffer| b.ty.elements() == Some(1) || b.ty.elements() == z.ty.elements();
                need(bound(lo) && bound(hi), "bounds of another size")?;
                same_count(x, z)
            }
            (ThunkOp::Convert, [x], [y]) => {
                need(support::convert(x.ty.dtype, y.ty.dtype), "no kernel for the types")?;
                same_count(x, y)
            }
            (ThunkOp::Copy, [x], [y]) => need(x.slice.size == y.slice.size, "sizes differ"),
            (ThunkOp::Move(m), [x], [y]) => movement(m, x, y),
            (ThunkOp::Iota { dim }, [], [y]) => {
                need(support::iota(y.ty.dtype), "no kernel for the type")?;
                need(*dim < y.ty.rank(), "no such dimension")
            }
            (ThunkOp::Reduce(r), [x, init], [y]) => {
                need(support::reduce(r.op, x.ty.dtype), "no kernel for the type")?;
                let types = init.ty.dtype == x.ty.dtype && y.ty.dtype == x.ty.dtype;
                need(types, "operands of different types")?;
                need(init.ty.elements() == Some(1), "more than one initial value")?;
                let product = |kept_only: bool| {
                    let mut dims = r.dims.iter().filter(|d| !kept_only || !d.1);
                    dims.try_fold(1usize, |n, d| n.checked_mul(d.0))
                };
                need(product(false) == x.ty.elements() && product(true) == y.ty.elements(), "sizes differ")?;
                need(r.dims.windows(2).all(|w| w[0].1 != w[1].1), "neighbours are not joined")
            }
            (ThunkOp::Dot(d), [x, y], [z]) => {
                need(support::dot(z.ty.dtype), "no kernel for the type")?;
                need(x.ty.dtype == z.ty.dtype && y.ty.dtype == z.ty.dtype, "operands of different types")?;
                let reach = |rows: (usize, usize),
                             columns: (usize, usize),
                             stride: fn(&(usize, usize, usize)) -> usize| {
                    let mut dims = d.batch.iter().map(|b| (b.0, stride(b))).chain([rows, columns]);
                    dims.try_fold(1usize, |n, (size, stride)| {
                        n.checked_add(size.checked_sub(1)?.checked_mul(stride)?)
                    })
                };
                let batch = d.batch.iter().try_fold(1usize, |n, b| n.checked_mul(b.0));
                let out = batch.and_then(|n| n.checked_mul(d.m)?.checked_mul(d.n));
                need(out == z.ty.elements(), "the result has another size")?;
                // Where a size is 0 nothing is read.
                let l = reach((d.m, d.lhs.0), (d.k, d.lhs.1), |b| b.1).unwrap_or(0);
                let r = reach((d.k, d.rhs.0), (d.n, d.rhs.1), |b| b.2).unwrap_or(0);
                let fits = |n: usize, b: &Buffer| b.ty.elements().is_some_and(|have| n <= have);
                need(fits(l, x) && fits(r, y), "strides leave an operand")
            }
            (ThunkOp::DynamicSlice(w), [x, indices @ ..], [y]) => {
                self.window(w.steps.len(), indices)?;
                let mut far = w.movement.clone();
                far.src = shifted(far.src, &w.steps)?;
                movement(&w.movement, x, y)?;
                movement(&far, x, y)
            }
            (ThunkOp::DynamicUpdateSlice(w), [x, indices @ ..], [y]) => {
                self.window(w.steps.len(), indices)?;
                let mut far = w.movement.clone();
                far.dst = shifted(far.dst, &w.steps)?;
                movement(&w.movement, x, y)?;
                movement(&far, x, y)
            }
            (ThunkOp::While, [pred], _) => {
                need(pred.ty.dtype == DType::Pred && pred.slice.size == 1, "the condition is not a pred")?;
                need(t.bodies.len() == 2, "a loop has condition and body")
            }
            (ThunkOp::Case, [index], _) => {
                let d = index.ty.dtype;
                need((d.is_bool() || support::is_int(d)) && index.ty.elements() == Some(1), "no index")?;
                need(!t.bodies.is_empty(), "no branches")
            }
            (ThunkOp::CustomCall(call), _, _) => {
                let site = self.calls.get(call.id.index()).ok_or("no such call site")?;
                let leaves = |leaves: &[crate::custom_call::Leaf], buffers: &[Buffer]| {
                    let sizes = leaves.iter().filter(|l| !l.is_token()).map(|l| l.bytes);
                    sizes.eq(buffers.iter().map(|b| b.slice.size))
                };
                need(leaves(site.operands(), inputs), "operands differ from the call site's")?;
                need(leaves(site.results(), outputs), "results differ from the call site's")?;
                let shared = call.aliases.iter().all(|(o, i)| {
                    matches!((outputs.get(*o), inputs.get(*i)), (Some(o), Some(i)) if o.slice == i.slice)
                });
                need(shared, "an alias has places of its own")
            }
            (ThunkOp::Reference(id), _, _) => {
                let site = self.references.get(id.index()).ok_or("no such instruction")?;
                let entry = site.program.funcs().first().ok_or("an instruction without a program")?;
                need(
                    inputs.len() == entry.params().len() && outputs.len() == entry.results.len(),
                    "wrong number of operands",
                )
            }
            _ => Err(format!("{} operands, {} results", inputs.len(), outputs.len())),
        }
    }

    /// An output may lie exactly where an input lies if the operation allows it, and nowhere else
    /// where they meet.
    fn overlaps(&self, t: &Thunk) -> Result<(), String> {
        if matches!(t.op, ThunkOp::While | ThunkOp::Case) {
            return Ok(());
        }
        for (o, output) in t.outputs.iter().enumerate() {
            for (i, input) in t.inputs.iter().enumerate() {
                let (a, b) = (&output.slice, &input.slice);
                let apart = a.base != b.base
                    || a.offset + a.size <= b.offset
                    || b.offset + b.size <= a.offset
                    || a.size == 0
                    || b.size == 0;
                let shared = match &t.op {
                    ThunkOp::CustomCall(call) => call.aliases.contains(&(o, i)),
                    op => op.in_place() && output.ty.dtype.size() == input.ty.dtype.size(),
                };
                let fine = apart || (a == b && shared);
                if !fine {
                    return Err(format!("{a} is written while {b} is read"));
                }
            }
        }
        Ok(())
    }

    fn window(&self, steps: usize, indices: &[Buffer]) -> Result<(), String> {
        need(steps == indices.len(), "not one index per dimension")?;
        let good = |b: &Buffer| support::index(b.ty.dtype) && b.ty.elements() == Some(1);
        need(indices.iter().all(good), "an index is no integer")
    }
}

/// Element type of the result of a unary kernel.
pub(crate) fn unary_result(op: farcall_ir::op::Unary, d: DType) -> DType {
    op.info().result.dtype(d).unwrap_or(d)
}

fn need(holds: bool, message: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message.to_owned()) }
}

fn same_count(a: &Buffer, b: &Buffer) -> Result<(), String> {
    need(a.ty.elements() == b.ty.elements(), "numbers of elements differ")
}

fn movement(m: &Movement, from: &Buffer, to: &Buffer) -> Result<(), String> {
    need(matches!(m.element, 1 | 2 | 4 | 8 | 16), "elements of no known size")?;
    need(from.ty.dtype.size() == m.element && to.ty.dtype.size() == m.element, "element sizes differ")?;
    if m.elements() == 0 {
        return Ok(());
    }
    let inside = |(_, last): (usize, usize), b: &Buffer| b.ty.elements().is_some_and(|n| last < n);
    match m.extent() {
        Some([src, dst]) if inside(src, from) && inside(dst, to) => Ok(()),
        _ => Err("elements outside of the buffers are moved".to_owned()),
    }
}

fn shifted(start: usize, steps: &[(usize, usize)]) -> Result<usize, String> {
    let far = steps.iter().try_fold(start, |n, (limit, stride)| n.checked_add(limit.checked_mul(*stride)?));
    far.ok_or_else(|| "an index reaches beyond memory".to_owned())
}
