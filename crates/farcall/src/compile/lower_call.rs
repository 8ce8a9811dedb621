//! Custom calls: layouts and aliases.

use farcall_ir::op::{CustomCall, OutputAlias};
use farcall_ir::{Diagnostic, Inst, Span, TensorType, Type};

use super::lower::{Lowering, Operand, internal};
use super::resolve;
use crate::plan::{Call, CallId, CallSpec, Thunk, ThunkOp};

impl<'m> Lowering<'m> {
    pub(super) fn custom_call(
        &mut self,
        inst: Inst<'m>,
        call: &CustomCall,
        operands: Vec<Operand>,
    ) -> Result<Vec<Operand>, Diagnostic> {
        let span = inst.span();
        let (operand_types, result_types) = resolve::types(inst, call);
        let layouts = leaf_layouts(&operand_types, call.operand_layouts.as_deref());
        let mut inputs = Vec::with_capacity(operands.len());
        for (x, layout) in operands.into_iter().zip(layouts) {
            inputs.push(match layout.filter(|l| !is_row_major(l)) {
                None => x,
                Some(layout) => self.laid_out(&x, layout, span)?,
            });
        }
        let mut outputs = Vec::with_capacity(inst.results().len());
        for result in inst.results() {
            let ty = self.ty(*result, span)?;
            outputs.push(self.fresh(ty, span)?);
        }
        let aliases = self.aliases(inst, call, (&operand_types, &result_types), &mut inputs, &mut outputs)?;
        let id = CallId::new(self.calls.len());
        self.calls.push(CallSpec {
            call: call.clone(),
            operands: operand_types,
            results: result_types.clone(),
            place: self.form.source.place(span).into(),
            span: Some(span),
        });
        // Nobody writes a call that gives nothing for its results.
        let side_effect = call.has_side_effect || outputs.is_empty();
        let op = ThunkOp::CustomCall(Call { id, aliases, side_effect });
        self.push(Thunk { op, inputs, outputs: outputs.clone(), bodies: Vec::new(), span });
        let layouts = leaf_layouts(&result_types, call.result_layouts.as_deref());
        for (x, layout) in outputs.iter_mut().zip(layouts) {
            if let Some(layout) = layout.filter(|l| !is_row_major(l)) {
                *x = self.row_major(x, layout, span)?;
            }
        }
        Ok(outputs)
    }

    /// Outputs and inputs that share memory: one value that the call reads and writes, a copy of the operand,
    /// which may lie where the operand is if that ends here.
    fn aliases(
        &mut self,
        inst: Inst<'m>,
        call: &CustomCall,
        (operand_types, result_types): (&[Type], &[Type]),
        inputs: &mut [Operand],
        outputs: &mut [Operand],
    ) -> Result<Vec<(usize, usize)>, Diagnostic> {
        let span = inst.span();
        let mut aliases = Vec::new();
        for alias in &call.aliases {
            let (output, input) = alias_of(span, alias, operand_types, result_types)?;
            let (Some(to), Some(from)) = (outputs.get_mut(output), inputs.get_mut(input)) else {
                return Err(internal(span, "an alias of an operand or result that does not exist"));
            };
            if to.ty.bytes() != from.ty.bytes() {
                let message = format!(
                    "result {output} cannot share memory with operand {input}: {} is not of the size of {}",
                    to.ty, from.ty
                );
                return Err(Diagnostic::new("compile-alias", span, message));
            }
            if aliases.iter().any(|(o, i)| *o == output || *i == input) {
                let message = "an operand can share memory with one result only".to_owned();
                return Err(Diagnostic::new("compile-alias", span, message));
            }
            let own = self.copy_of(from, span)?;
            to.id = own.id;
            *from = own;
            aliases.push((output, input));
        }
        Ok(aliases)
    }

    /// An operand in a layout (minor to major).
    fn laid_out(&mut self, x: &Operand, layout: &[usize], span: Span) -> Result<Operand, Diagnostic> {
        // Major to minor: the physical order of the dimensions.
        let order: Vec<usize> = layout.iter().rev().copied().collect();
        check_layout(&order, &x.ty, span)?;
        let laid_out = self.transposed(x, order, span)?;
        Ok(Operand { id: laid_out.id, ty: x.ty.clone() })
    }

    /// The row-major tensor of one that lies in a layout (minor to major).
    fn row_major(&mut self, x: &Operand, layout: &[usize], span: Span) -> Result<Operand, Diagnostic> {
        // In physical order the tensor is row-major over permuted dimensions; undo the permutation.
        let order: Vec<usize> = layout.iter().rev().copied().collect();
        check_layout(&order, &x.ty, span)?;
        let dims: Vec<usize> = order.iter().map(|d| x.ty.sizes()[*d]).collect();
        let inverse = (0..order.len()).filter_map(|d| order.iter().position(|o| *o == d)).collect();
        self.transposed(&Operand { id: x.id, ty: x.ty.with_sizes(dims) }, inverse, span)
    }
}

/// The layout of each tensor in values of these types. Those in a tuple have none of their own, but for a
/// single tuple, whose parts the layouts are of.
fn leaf_layouts<'l>(types: &[Type], layouts: Option<&'l [Vec<usize>]>) -> Vec<Option<&'l Vec<usize>>> {
    let layout = |i: usize| layouts.and_then(|l| l.get(i));
    let mut out = Vec::new();
    for (i, ty) in types.iter().enumerate() {
        match ty {
            Type::Tensor(_) => out.push(layout(i)),
            Type::Tuple(parts) if types.len() == 1 && layouts.is_some_and(|l| l.len() == parts.len()) => {
                return leaf_layouts(parts, layouts);
            }
            Type::Tuple(parts) => out.extend(leaf_layouts(parts, None)),
            _ => {}
        }
    }
    out
}

/// Numbers of the output and the input that an alias names, tokens not counted.
fn alias_of(
    span: Span,
    alias: &OutputAlias,
    operands: &[Type],
    results: &[Type],
) -> Result<(usize, usize), Diagnostic> {
    let bad = || internal(span, "an alias of an operand or result that does not exist");
    let output = match (results, alias.output_tuple_indices.as_slice()) {
        ([one], path) => position(std::slice::from_ref(one), &[&[0], path].concat()),
        (many, path) => position(many, path),
    };
    let path = [&[alias.operand_index], alias.operand_tuple_indices.as_slice()].concat();
    Ok((output.ok_or_else(bad)?, position(operands, &path).ok_or_else(bad)?))
}

/// Number of the tensor at a path into these types, counted over all tensors in them.
fn position(types: &[Type], path: &[usize]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let before: usize = types.get(..*first)?.iter().map(|ty| ty.tensors().count()).sum();
    match (types.get(*first)?, rest) {
        (Type::Tensor(_), []) => Some(before),
        (Type::Tuple(parts), rest) => Some(before + position(parts, rest)?),
        _ => None,
    }
}

/// True for the layout (minor to major) of a row-major tensor.
fn is_row_major(layout: &[usize]) -> bool {
    layout.iter().rev().copied().eq(0..layout.len())
}

fn check_layout(order: &[usize], ty: &TensorType, span: Span) -> Result<(), Diagnostic> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..ty.rank()) {
        return Ok(());
    }
    Err(internal(span, &format!("a layout of {ty} that is not an order of its dimensions")))
}
