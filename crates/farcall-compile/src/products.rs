//! Asks the registry's lowerings whether a custom call computes a product of matrices, such as a call of
//! `gemm` in a BLAS library.
//!
//! A `dot_general` is a block with the tag `stablehlo.dot_general` for these lowerings. Its operands and its
//! result are batches of matrices, `[…, p, q]`, `[…, r, s]` and `[…, m, n]`, with the same batch dimensions.
//! The options `transpose_a` and `transpose_b` are `"no"` or `"transpose"`. Products whose dimensions are in
//! another order in memory, or whose element types differ, stay with the engine's kernels.
//!
//! Lowerings are asked only if one is registered, or if the process uses a BLAS library.

use farcall_host::registry::PRODUCT_TAG;
use farcall_ir::middle::CompositeCall;
use farcall_ir::module::{InstId, Rewriter};
use farcall_ir::op::{Composite, DotGeneral};
use farcall_ir::{AttrDict, Attribute, Diagnostic, Func, FuncId, Op, TensorType, Type, ValueId};

use crate::blocks::Blocks;

/// Replaces products of matrices by the custom calls that lowerings return.
///
/// # Errors
/// If a lowering fails, or returns an invalid call.
pub(super) fn lower(func: &mut Func, blocks: &mut Blocks<'_>) -> Result<(), Diagnostic> {
    let mut found: Vec<(InstId, Matrices, CompositeCall)> = Vec::new();
    let mut failure = None;
    let mut rewriter = Rewriter::new(func);
    rewriter.func().walk(&mut |inst| {
        let Op::DotGeneral(dot) = inst.op() else { return };
        // A pass may have left an unused product.
        if failure.is_some() || !inst.results().iter().any(|value| rewriter.is_used(*value)) {
            return;
        }
        let types = |ids: &[ValueId]| ids.iter().map(|v| inst.func().tensor(*v)).collect::<Option<Vec<_>>>();
        let (Some(operands), Some(results)) = (types(inst.operands()), types(inst.results())) else { return };
        match Matrices::of(dot, &operands, &results) {
            Err(reason) => blocks.keep(PRODUCT_TAG, inst, reason),
            Ok(matrices) => match blocks.ask(inst, &matrices.block(), matrices.types()) {
                Ok(Some(call)) => found.push((inst.id(), matrices, call)),
                Ok(None) => {}
                Err(error) => failure = Some(error),
            },
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    for (inst, matrices, call) in found {
        matrices.replace(&mut rewriter, inst, call);
    }
    Ok(())
}

/// A product of matrices, or of batches of matrices.
struct Matrices {
    /// Types of the operands and the result: the batch dimensions, and then two more.
    types: [TensorType; 3],
    transposed: [bool; 2],
}

impl Matrices {
    /// Returns the product of matrices that a `dot_general` is.
    ///
    /// # Errors
    /// The reason why the operation is not a product of matrices.
    fn of(
        dot: &DotGeneral,
        operands: &[&TensorType],
        results: &[&TensorType],
    ) -> Result<Matrices, &'static str> {
        let (&[a, b], &[y]) = (operands, results) else {
            return Err("it has no two operands and one result");
        };
        if a.dtype != y.dtype || b.dtype != y.dtype || [a, b, y].iter().any(|ty| ty.quant.is_some()) {
            return Err("the element types of its operands and its result differ, or are quantized");
        }
        if dot.algorithm.is_some() {
            return Err("it requires an algorithm");
        }
        let order = "the dimensions of an operand are not those of matrices in memory, or their transposes";
        let rows = Operand::of(a, &dot.lhs_batch, &dot.lhs_contract).ok_or(order)?;
        let columns = Operand::of(b, &dot.rhs_batch, &dot.rhs_contract).ok_or(order)?;
        let batch = &a.sizes()[..dot.lhs_batch.len()];
        let matrices = |ty: &TensorType, rows: usize, columns: usize| {
            ty.with_sizes(batch.iter().copied().chain([rows, columns]).collect::<Vec<_>>())
        };
        // `a` is `[rows, contracted]`, and `b` is `[contracted, columns]`, unless they are transposed.
        let transposed = [rows.contracts_first, !columns.contracts_first];
        let sizes = |contracts_first: bool, operand: &Operand| match contracts_first {
            true => [operand.contracted, operand.free],
            false => [operand.free, operand.contracted],
        };
        let ([p, q], [r, s]) = (sizes(rows.contracts_first, &rows), sizes(columns.contracts_first, &columns));
        let types = [matrices(a, p, q), matrices(b, r, s), matrices(y, rows.free, columns.free)];
        Ok(Matrices { types, transposed })
    }

    /// Returns the product as a block.
    fn block(&self) -> Composite {
        let option = |name: &str, transposed: bool| {
            (name.to_owned(), Attribute::string(if transposed { "transpose" } else { "no" }))
        };
        let [a, b] = self.transposed;
        let attrs: AttrDict = [option("transpose_a", a), option("transpose_b", b)].into_iter().collect();
        Composite { name: PRODUCT_TAG.to_owned(), attrs, decomposition: FuncId::new(0), version: 0 }
    }

    /// Returns the types of the block's operands and results.
    fn types(&self) -> (Vec<Type>, Vec<Type>) {
        let [a, b, y] = self.types.clone().map(Type::Tensor);
        (vec![a, b], vec![y])
    }

    /// Replaces an instruction by the call.
    fn replace(&self, r: &mut Rewriter<'_>, inst: InstId, call: CompositeCall) {
        let CompositeCall { call, operands, results } = call;
        let given = r.func().inst(inst).operands().to_vec();
        let values: Vec<ValueId> = given
            .into_iter()
            .zip(&self.types)
            .zip(operands)
            .map(|((value, matrices), asked)| {
                let value = viewed(r, inst, value, matrices);
                converted(r, inst, value, asked)
            })
            .collect();
        let made = r.func().inst(inst).results()[0];
        let ty = r.func().tensor(made).cloned();
        let is_whole = ty.as_ref() == Some(&self.types[2]) && results[0] == self.types[2];
        let call = Op::CustomCall(Box::new(call));
        if is_whole {
            r.set_op(inst, call);
            return r.set_operands(inst, values);
        }
        let [asked] = <[TensorType; 1]>::try_from(results).unwrap_or_else(|_| [self.types[2].clone()]);
        let value = r.value_before(inst, call, values, asked);
        let value = converted(r, inst, value, self.types[2].clone());
        r.set_op(inst, Op::Reshape);
        r.set_operands(inst, [value]);
    }
}

/// Returns the elements of a value in the dimensions of `ty`.
fn viewed(r: &mut Rewriter<'_>, before: InstId, value: ValueId, ty: &TensorType) -> ValueId {
    match r.func().tensor(value) == Some(ty) {
        true => value,
        false => r.value_before(before, Op::Reshape, [value], ty.clone()),
    }
}

/// Converts the elements of a value to the element type of `ty`.
fn converted(r: &mut Rewriter<'_>, before: InstId, value: ValueId, ty: TensorType) -> ValueId {
    match r.func().tensor(value) == Some(&ty) {
        true => value,
        false => r.value_before(before, Op::Convert, [value], ty),
    }
}

/// An operand of a product, as matrices.
struct Operand {
    /// Product of the free sizes.
    free: usize,
    /// Product of the contracted sizes.
    contracted: usize,
    /// True if the contracting dimensions stand before the free ones.
    contracts_first: bool,
}

impl Operand {
    /// Returns the matrices of an operand; `None` if its batch dimensions do not come first, in order, or if
    /// its contracting dimensions are neither all before nor all after its free dimensions.
    fn of(ty: &TensorType, batch: &[usize], contract: &[usize]) -> Option<Operand> {
        let first = batch.len();
        if !batch.iter().copied().eq(0..first) {
            return None;
        }
        let (rank, count) = (ty.rank(), contract.len());
        let contracts_last = contract.iter().copied().eq(rank - count..rank);
        let contracts_first = contract.iter().copied().eq(first..first + count);
        if !contracts_first && !contracts_last {
            return None;
        }
        let product = |sizes: &[usize]| sizes.iter().product();
        let sizes = &ty.sizes()[first..];
        let (contracted, free) = match contracts_last {
            true => (product(&sizes[sizes.len() - count..]), product(&sizes[..sizes.len() - count])),
            false => (product(&sizes[..count]), product(&sizes[count..])),
        };
        Some(Operand { free, contracted, contracts_first: !contracts_last })
    }
}
