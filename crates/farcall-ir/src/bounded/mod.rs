//! Makes bounded dimensions static, for programs whose sizes depend on computed values.
//!
//! ```text
//! tensor<?xf32, #stablehlo.bounds<4>>  ──▶  tensor<4xf32>, of which the first `size` elements count,
//!                                           and the size as tensor<i32>
//! ```
//!
//! The lowering follows XLA's dynamic padder. The sizes in the shape of a lowered value are upper bounds. A
//! scalar holds the size of each dimension that `set_dimension_size` or a shape operand determines (a
//! *tracked* dimension); elements past the size are padding with unspecified values. Most operations compute
//! the padding along with the elements (`ops`). A reduction, product or window first replaces the padding by
//! a neutral element. Operations whose results depend on where elements lie (`layout`: reshapes,
//! concatenations, sorts) move the elements so that the padding is last again. Loops and branches carry the
//! sizes as further values (`control`), and calls that involve bounded dimensions are inlined.
//!
//! The sizes of the results become further results of the entry. The attribute [`SIZE_OF`] marks these
//! further results. After a run, [`cut`] drops them, together with the padding.
//!
//! **Invariants.** Elements within the sizes do not depend on padding. Sizes are within `0..=bound`, so no
//! operation reads or writes out of bounds.

mod control;
mod layout;
mod ops;
mod reduction;
mod results;

pub use results::{Cut, SIZE_OF, cut, cuts};

use std::sync::Arc;

use farcall_sig::DType;
use rustc_hash::FxHashMap;

use crate::attr::Attribute;
use crate::diag::Diagnostic;
use crate::expand::builder::Builder;
use crate::literal::Literal;
use crate::module::{Func, FuncId, Inst, Module, NewInst, Region, RegionId, ValueId, ValueMap};
use crate::op::{Binary, ComparisonDirection, Op};
use crate::scalar::Scalar;
use crate::types::{Dim, TensorType, Type};

/// Maximum number of instructions after calls with bounded dimensions are inlined.
const MAX_INLINED: usize = 500_000;

/// Maximum nesting depth of calls and regions together.
const MAX_DEPTH: usize = 200;

/// True if a module has values with bounded dimensions.
pub(crate) fn is_bounded(module: &Module) -> bool {
    module.funcs().iter().any(|func| func.values().any(|v| func.ty(v).tensors().any(has_bound)))
}

/// Makes the bounded dimensions of a normalized program static. `params` has the static types of the entry's
/// parameters. The entry keeps its name.
///
/// # Errors
/// `dynamic-shape`: an operation that does not support bounded operands, or a bound that exceeds the range of
/// sizes (`i32`).
pub(crate) fn lower(module: &Module, entry: &Func, params: &[Type]) -> Result<Module, Diagnostic> {
    for func in module.funcs() {
        let bounds = func.values().flat_map(|v| func.ty(v).tensors()).flat_map(TensorType::dims);
        if let Some(bound) = bounds.filter_map(Dim::bound).find(|bound| i32::try_from(*bound).is_err()) {
            let message =
                format!("@{} has a dimension with the bound {bound}, but sizes are tensor<i32>", func.name);
            return Err(Diagnostic::new("dynamic-shape", func.span, message));
        }
    }
    let mut lowering = Lowering {
        module,
        affected: affected(module),
        to: Func::with_header_of(entry),
        out: Func::BODY,
        values: FxHashMap::default(),
        walked: 0,
        depth: 0,
    };
    let returned = lowering.entry(entry, params)?;
    let mut lowered = Module::new(Arc::clone(&module.source));
    lowered.name.clone_from(&module.name);
    lowered.attrs.clone_from(&module.attrs);
    lowered.meshes.clone_from(&module.meshes);
    let to = lowering.finish(entry, returned);
    for func in module.funcs() {
        let is_entry = std::ptr::eq(func, entry);
        lowered.add_func(if is_entry { to.clone() } else { func.clone() });
    }
    Ok(lowered)
}

/// A value of the lowered program with the sizes of its tracked dimensions.
#[derive(Clone, Debug)]
struct Tracked {
    id: ValueId,
    /// One entry per dimension: the size as `tensor<i32>`, or `None` if the dimension is not tracked.
    sizes: Vec<Option<ValueId>>,
}

impl Tracked {
    fn untracked(id: ValueId, rank: usize) -> Tracked {
        Tracked { id, sizes: vec![None; rank] }
    }

    fn is_tracked(&self) -> bool {
        self.sizes.iter().any(Option::is_some)
    }
}

/// State of lowering the entry.
struct Lowering<'m> {
    module: &'m Module,
    /// For each function: true if the function or one of its callees has bounded dimensions or a
    /// `set_dimension_size`.
    affected: Vec<bool>,
    /// The function under construction.
    to: Func,
    /// The region that new instructions are appended to.
    out: RegionId,
    /// Lowered values, by the corresponding values of the function that is walked.
    values: FxHashMap<ValueId, Tracked>,
    walked: usize,
    depth: usize,
}

impl<'m> Lowering<'m> {
    /// Lowers the body of the entry. Returns the lowered values that the entry returns.
    fn entry(&mut self, entry: &'m Func, params: &[Type]) -> Result<Vec<Tracked>, Diagnostic> {
        for (i, (param, ty)) in entry.params().iter().zip(params).enumerate() {
            if !ty.tensors().all(TensorType::is_static) {
                let message = format!("parameter {i} of @{}, {ty}, has a dynamic dimension", entry.name);
                let note = "the types of the inputs determine its size";
                return Err(Diagnostic::new("dynamic-shape", entry.span, message).note(note));
            }
            let id = self.to.add_arg(Func::BODY, ty.clone());
            let rank = ty.tensor().map_or(0, TensorType::rank);
            self.values.insert(*param, Tracked::untracked(id, rank));
        }
        self.to.set_param_attrs(entry.param_attrs().iter().cloned());
        let first = entry.body().first();
        for (param, ty) in entry.params().iter().zip(params) {
            if let (Some(declared), Some(given), Some(at)) = (entry.tensor(*param), ty.tensor(), first)
                && has_bound(declared)
            {
                let padded = self.padded_input(at, *param, declared, given);
                self.values.insert(*param, padded);
            }
        }
        self.body(entry.body())
    }

    /// Pads an input to the bounds of its declared type.
    fn padded_input(
        &mut self,
        at: Inst<'_>,
        param: ValueId,
        declared: &TensorType,
        given: &TensorType,
    ) -> Tracked {
        let Tracked { id, mut sizes } = self.values[&param].clone();
        let bounds: Vec<usize> =
            declared.dims().zip(given.sizes()).map(|(dim, size)| dim.bound().unwrap_or(*size)).collect();
        let mut b = self.at(at);
        let padded = b.pad_high(id, &bounds);
        for ((size, dim), given) in sizes.iter_mut().zip(declared.dims()).zip(given.sizes()) {
            *size = dim.bound().map(|_| scalar(&mut b, *given));
        }
        Tracked { id: padded, sizes }
    }

    /// Adds the return of the entry, which returns the values in `returned`, then the sizes of their tracked
    /// dimensions.
    fn finish(mut self, entry: &Func, returned: Vec<Tracked>) -> Func {
        let mut ids: Vec<ValueId> = returned.iter().map(|value| value.id).collect();
        let mut marks = Vec::new();
        for (i, (value, ty)) in returned.iter().zip(entry.results()).enumerate() {
            let declared = ty.tensor().into_iter().flat_map(TensorType::dims);
            for (d, (size, dim)) in value.sizes.iter().zip(declared).enumerate() {
                if let (Some(size), true) = (size, dim.is_dynamic()) {
                    ids.push(*size);
                    marks.push([i, d]);
                }
            }
        }
        let span = entry.body().terminator().map_or(entry.span, Inst::span);
        self.to.push(Func::BODY, NewInst::new(Op::Return, ids).at(span, None), []);
        self.to.infer_result_types();
        let first = entry.results().len();
        for (attrs, mark) in self.to.result_attrs_mut()[first..].iter_mut().zip(&marks) {
            attrs.insert(SIZE_OF.to_owned(), Attribute::usize_array(mark));
        }
        self.to
    }

    /// Lowers the instructions of a region whose arguments already have lowered values, and returns the
    /// values that the region returns. The terminator is left to the caller.
    fn body(&mut self, region: Region<'m>) -> Result<Vec<Tracked>, Diagnostic> {
        for inst in region.insts().filter(|inst| *inst.op() != Op::Return) {
            self.walked += 1;
            if self.walked > MAX_INLINED {
                let message = format!(
                    "inlined calls with bounded dimensions have more than {MAX_INLINED} instructions"
                );
                return Err(Diagnostic::new("refine-size", inst.span(), message));
            }
            self.inst(inst)?;
        }
        Ok(region.returned().iter().map(|v| self.values[v].clone()).collect())
    }

    /// Counts one more level of calls and regions.
    fn enter(&mut self, at: Inst<'_>) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message =
                format!("calls and regions around bounded dimensions are nested deeper than {MAX_DEPTH}");
            return Err(Diagnostic::new("refine-depth", at.span(), message));
        }
        Ok(())
    }

    fn is_affected(&self, callee: FuncId) -> bool {
        self.affected.get(callee.index()).copied().unwrap_or(false)
    }

    /// A builder at the current position with the location of an instruction.
    fn at(&mut self, inst: Inst<'_>) -> Builder<'_> {
        Builder::at_end_of(&mut self.to, self.out, inst)
    }

    /// The type of a value of the lowered function, which must be a tensor.
    fn ty(&self, value: ValueId) -> TensorType {
        self.to.tensor(value).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    fn operands(&self, inst: Inst<'_>) -> Vec<Tracked> {
        inst.operands().iter().map(|v| self.values[v].clone()).collect()
    }

    /// Records the lowered result of an instruction with one result.
    fn bind(&mut self, inst: Inst<'_>, value: Tracked) {
        if let [result] = inst.results() {
            self.values.insert(*result, value);
        }
    }

    /// Appends a copy of the instruction with the given operands. The results of the copy have their bounds
    /// as sizes. Returns the results.
    fn emit(&mut self, inst: Inst<'m>, operands: Vec<ValueId>) -> Result<Vec<ValueId>, Diagnostic> {
        let mut map = ValueMap::default();
        for free in inst.free_values() {
            let value = &self.values[&free];
            if value.is_tracked() {
                return Err(unsupported(inst, "a region that uses"));
            }
            map.insert(free, value.id);
        }
        let from = inst.func();
        let regions: Vec<RegionId> =
            inst.region_ids().iter().map(|r| self.to.import_region(from, *r, &mut map)).collect();
        let new = NewInst::new(inst.op().clone(), operands).at(inst.span(), inst.loc().cloned());
        let new = NewInst { attrs: inst.attrs().clone(), ..new }.with_regions(regions);
        let types: Vec<Type> = inst.results().iter().map(|r| with_bounds(from.ty(*r))).collect();
        let id = self.to.push(self.out, new, types);
        Ok(self.to.inst(id).results().to_vec())
    }

    /// Appends an instruction. `sizes` has one list for each result, or a single list for all results.
    fn emit_sized(
        &mut self,
        inst: Inst<'m>,
        operands: Vec<ValueId>,
        sizes: &[Vec<Option<ValueId>>],
    ) -> Result<(), Diagnostic> {
        let ids = self.emit(inst, operands)?;
        for ((result, id), sizes) in inst.results().iter().zip(ids).zip(sizes.iter().cycle()) {
            self.values.insert(*result, Tracked { id, sizes: sizes.clone() });
        }
        Ok(())
    }

    /// Copies an instruction without tracked operands.
    fn copy(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let operands = self.operands(inst).iter().map(|value| value.id).collect();
        let results = self.emit(inst, operands)?;
        for (result, id) in inst.results().iter().zip(results) {
            let rank = self.to.tensor(id).map_or(0, TensorType::rank);
            self.values.insert(*result, Tracked::untracked(id, rank));
        }
        Ok(())
    }

    /// Replaces the elements past the sizes of some dimensions by a scalar.
    fn masked(
        &mut self,
        at: Inst<'_>,
        x: &Tracked,
        dims: impl IntoIterator<Item = usize>,
        fill: ValueId,
    ) -> ValueId {
        let mut id = x.id;
        for dim in dims {
            if let Some(size) = x.sizes.get(dim).copied().flatten() {
                id = masked(&mut self.at(at), id, dim, size, fill);
            }
        }
        id
    }
}

/// The error for an operation that has no lowering for bounded operands.
fn unsupported(inst: Inst<'_>, what: &str) -> Diagnostic {
    let name = match inst.op() {
        Op::CustomCall(call) => format!("{} @{}", inst.op().name(), call.target),
        op => op.name().to_owned(),
    };
    let message = format!("{name}: {what} a bounded dimension whose size is computed is not supported");
    Diagnostic::new("dynamic-shape", inst.span(), message)
}

fn has_bound(ty: &TensorType) -> bool {
    ty.dims().any(|dim| dim.bound().is_some())
}

/// The type with every bound as a static size.
fn with_bounds(ty: &Type) -> Type {
    match ty {
        Type::Tensor(t) => {
            let dims = t.dims().map(|dim| dim.bound().map_or(dim, Dim::Static));
            Type::Tensor(t.with_dims(dims.collect::<Vec<_>>()))
        }
        other => other.clone(),
    }
}

/// Returns, for each function of a module, true if the function or one of its callees has bounded dimensions
/// or a `set_dimension_size`.
fn affected(module: &Module) -> Vec<bool> {
    let mut affected: Vec<bool> = module
        .funcs()
        .iter()
        .map(|func| {
            let mut found = func.values().any(|v| func.ty(v).tensors().any(has_bound));
            func.walk(&mut |inst| found |= matches!(inst.op(), Op::SetDimensionSize { .. }));
            found
        })
        .collect();
    loop {
        let before = affected.clone();
        for (i, func) in module.funcs().iter().enumerate() {
            func.walk(&mut |inst| {
                affected[i] |= inst.op().callees().iter().any(|f| before.get(f.index()) == Some(&true));
            });
        }
        if affected == before {
            return affected;
        }
    }
}

// --- scalar arithmetic on sizes

/// A size as `tensor<i32>`.
fn scalar(b: &mut Builder<'_>, size: usize) -> ValueId {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    b.constant(Literal::scalar(DType::S32, Scalar::Signed(size).round_to(DType::S32)))
}

fn scalar_op(b: &mut Builder<'_>, op: Binary, x: ValueId, y: ValueId) -> ValueId {
    b.emit(Op::Binary(op), &[x, y], TensorType::scalar(DType::S32))
}

/// A size limited to `0..=bound`.
fn clamped(b: &mut Builder<'_>, size: ValueId, bound: usize) -> ValueId {
    let (low, high) = (scalar(b, 0), scalar(b, bound));
    b.emit(Op::Clamp, &[low, size, high], TensorType::scalar(DType::S32))
}

/// Replaces the elements past a size along a dimension by a scalar.
fn masked(b: &mut Builder<'_>, x: ValueId, dim: usize, size: ValueId, fill: ValueId) -> ValueId {
    let ty = b.ty(x);
    let fill = b.broadcast(fill, &[], ty.sizes());
    masked_by(b, x, dim, size, fill)
}

/// Replaces the elements past a size along a dimension by the elements of another tensor.
fn masked_by(b: &mut Builder<'_>, x: ValueId, dim: usize, size: ValueId, others: ValueId) -> ValueId {
    let ty = b.ty(x);
    let index = b.iota(DType::S32, ty.sizes(), dim);
    let limit = b.broadcast(size, &[], ty.sizes());
    let inside = b.is(ComparisonDirection::Lt, index, limit);
    b.select(inside, x, others)
}
