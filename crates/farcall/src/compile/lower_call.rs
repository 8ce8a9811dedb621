//! Custom calls: target, layouts, aliases.

use std::borrow::Cow;
use std::sync::Arc;

use farcall_ir::op::{CustomCall, OutputAlias};
use farcall_ir::{Diagnostic, Inst, Span, TensorType, Type};
use farcall_sig::Signature;

use super::declared;
use super::lower::{Lowering, Lv, Operand, copy_step, internal};
use super::lower_ops::transpose;
use crate::custom_call::{CallError, CallSite};
use crate::plan::{Call, CallId, Thunk, ThunkOp};
use crate::registry::Platform;

impl<'m> Lowering<'m> {
    pub(super) fn custom_call(
        &mut self,
        inst: &'m Inst,
        call: &CustomCall,
        values: &[Lv],
    ) -> Result<Vec<Lv>, Diagnostic> {
        let func = self.func();
        let types = |ids: &[farcall_ir::ValueId]| -> Vec<Type> {
            ids.iter().map(|id| func.ty(*id).clone()).collect()
        };
        let (operand_types, result_types) = (types(&inst.operands), types(&inst.results));
        let op_has_side_effect = self.resolve(inst.span, call, &operand_types, &result_types);

        let mut inputs = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let layout = call.operand_layouts.as_ref().and_then(|l| l.get(i));
            self.operand_leaves(value, layout, inst.span, &mut inputs)?;
        }
        // Results, as the handler lays them out and as the program sees them.
        let (mut outputs, mut results) = (Vec::new(), Vec::new());
        let mut after = Vec::new();
        let result_layout = |i: usize| call.result_layouts.as_ref().and_then(|l| l.get(i));
        let mut leaf = 0;
        for (i, ty) in result_types.iter().enumerate() {
            let nested = matches!(ty, Type::Tuple(_));
            let value = self.result_value(ty, inst.span, &mut |l, t| {
                let layout = result_layout(if nested { leaf } else { i });
                leaf += 1;
                let seen = l.fresh(t, inst.span)?;
                let written = match layout.filter(|l| !is_row_major(l)) {
                    Some(layout) => {
                        let written = l.fresh(t, inst.span)?;
                        after.push((written.clone(), seen.clone(), layout.clone()));
                        written
                    }
                    None => seen.clone(),
                };
                outputs.push(written);
                Ok(seen)
            })?;
            results.push(value);
        }
        let mut aliases = Vec::new();
        for alias in &call.aliases {
            let (output, input) = self.alias(inst, alias, &operand_types, &result_types)?;
            let (Some(to), Some(from)) = (outputs.get_mut(output), inputs.get_mut(input)) else {
                return Err(internal(inst.span, "an alias of an operand or result that does not exist"));
            };
            if to.ty.bytes() != from.ty.bytes() {
                let message = format!(
                    "result {output} cannot share memory with operand {input}: {} is not of the size of {}",
                    to.ty, from.ty
                );
                return Err(Diagnostic::new("compile_alias", inst.span, message));
            }
            if aliases.iter().any(|(o, i)| *o == output || *i == input) {
                let message = "an operand can share memory with one result only".to_owned();
                return Err(Diagnostic::new("compile_alias", inst.span, message));
            }
            // One value that the call reads and writes: a copy of the operand, which the compiler may
            // put where the operand is if that ends here.
            let own = self.fresh(&from.ty, inst.span)?;
            self.push(copy_step(from.clone(), own.clone(), inst.span))?;
            results.iter_mut().for_each(|r| r.rename(to.id, own.id));
            after.iter_mut().filter(|(w, ..)| w.id == to.id).for_each(|(w, ..)| w.id = own.id);
            to.id = own.id;
            *from = own;
            aliases.push((output, input));
        }
        let id = CallId::new(self.calls.len().saturating_sub(1));
        // Nobody writes a call that gives nothing for its results.
        let side_effect = call.has_side_effect || op_has_side_effect || outputs.is_empty();
        let op = ThunkOp::CustomCall(Call { id, aliases, side_effect });
        self.push(Thunk { op, inputs, outputs, bodies: Vec::new(), span: inst.span })?;
        for (written, seen, layout) in after {
            let movement = from_layout(&written.ty, &layout);
            let op = ThunkOp::Move(movement);
            self.push(Thunk {
                op,
                inputs: vec![written],
                outputs: vec![seen],
                bodies: Vec::new(),
                span: inst.span,
            })?;
        }
        Ok(results)
    }

    /// Finds the target, compares the call with its signature and makes the call site. A mistake is noted,
    /// and the walk goes on, so that all of them are reported. True if the target's op has a side effect.
    fn resolve(&mut self, span: Span, call: &CustomCall, operands: &[Type], results: &[Type]) -> bool {
        let target = match self.registry.resolve(call, &Platform::Host) {
            Ok(target) => target,
            Err(error) => {
                self.note(error.at(span));
                return false;
            }
        };
        let declaration = target.declaration();
        let signature = declaration.map(|d| &d.signature);
        let has_side_effect = signature.is_some_and(Signature::has_side_effect);
        let call = match declaration.map(|d| declared::check(d, call, operands, results)) {
            None => Cow::Borrowed(call),
            Some(Ok(call)) => call,
            Some(Err(message)) => {
                let diagnostic = Diagnostic::new("signature", span, format!("{}: {message}", call.target));
                let notes = signature.map(|s| format!("{}{s}", call.target)).into_iter().collect();
                self.note(Diagnostic { notes, ..diagnostic });
                return has_side_effect;
            }
        };
        if !self.diagnostics.is_empty() {
            // The program is rejected already: no handler needs to see it.
            return has_side_effect;
        }
        let place = self.module.source.place(span);
        match CallSite::new(Arc::clone(&target), &call, operands, results, place) {
            Ok(site) => self.calls.push(Arc::new(site.with_span(span))),
            Err(error) => {
                let error = CallError { span: Some(span), ..error };
                self.diagnostics.extend(error.diagnostic());
            }
        }
        has_side_effect
    }

    /// Keeps a diagnostic, unless it is there already: an inlined function is walked once per call.
    pub(super) fn note(&mut self, diagnostic: Diagnostic) {
        if self.noted.insert((diagnostic.span, diagnostic.code)) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The tensors of an operand, in the layout asked for.
    fn operand_leaves(
        &mut self,
        value: &Lv,
        layout: Option<&Vec<usize>>,
        span: Span,
        out: &mut Vec<Operand>,
    ) -> Result<(), Diagnostic> {
        match value {
            Lv::Token => Ok(()),
            Lv::Tuple(parts) => parts.iter().try_for_each(|p| self.operand_leaves(p, None, span, out)),
            Lv::Tensor(o) => {
                let operand = match layout.filter(|l| !is_row_major(l)) {
                    None => o.clone(),
                    Some(layout) => {
                        // Major to minor: the physical order of the dimensions.
                        let order: Vec<usize> = layout.iter().rev().copied().collect();
                        check_layout(&order, &o.ty, span)?;
                        self.moved(transpose(&o.ty, &order), o, &o.ty, span)?
                    }
                };
                out.push(operand);
                Ok(())
            }
        }
    }

    fn result_value(
        &mut self,
        ty: &Type,
        span: Span,
        leaf: &mut dyn FnMut(&mut Lowering<'m>, &TensorType) -> Result<Operand, Diagnostic>,
    ) -> Result<Lv, Diagnostic> {
        match ty {
            Type::Tensor(t) => leaf(self, t).map(Lv::Tensor),
            Type::Token => Ok(Lv::Token),
            Type::Tuple(parts) => {
                let parts: Result<Vec<Lv>, Diagnostic> =
                    parts.iter().map(|p| self.result_value(p, span, leaf)).collect();
                Ok(Lv::Tuple(parts?))
            }
            other => Err(internal(span, &format!("a result of type {other}"))),
        }
    }

    /// Numbers of the output and the input that an alias names, tokens not counted.
    fn alias(
        &self,
        inst: &Inst,
        alias: &OutputAlias,
        operands: &[Type],
        results: &[Type],
    ) -> Result<(usize, usize), Diagnostic> {
        let bad = || internal(inst.span, "an alias of an operand or result that does not exist");
        let output = match (results, alias.output_tuple_indices.as_slice()) {
            ([one], path) => position(std::slice::from_ref(one), &[&[0], path].concat()),
            (many, path) => position(many, path),
        };
        let path = [&[alias.operand_index], alias.operand_tuple_indices.as_slice()].concat();
        Ok((output.ok_or_else(bad)?, position(operands, &path).ok_or_else(bad)?))
    }
}

/// Number of the tensor at a path into these types, counted over all tensors in them.
fn position(types: &[Type], path: &[usize]) -> Option<usize> {
    fn tensors(ty: &Type) -> usize {
        match ty {
            Type::Tensor(_) => 1,
            Type::Tuple(parts) | Type::Future(parts) => parts.iter().map(tensors).sum(),
            Type::Token | Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => 0,
        }
    }
    let (first, rest) = path.split_first()?;
    let before: usize = types.get(..*first)?.iter().map(tensors).sum();
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
    Err(internal(span, &format!("a layout of {ty} that is no order of its dimensions")))
}

/// The movement from a tensor that lies in a layout (minor to major) to row-major order.
fn from_layout(ty: &TensorType, layout: &[usize]) -> crate::plan::Movement {
    // In physical order the tensor is row-major over permuted dimensions; undo the permutation.
    let order: Vec<usize> = layout.iter().rev().copied().collect();
    let dims: Vec<usize> = order.iter().filter_map(|d| ty.dims.get(*d)).copied().collect();
    let inverse: Vec<usize> = (0..order.len()).filter_map(|d| order.iter().position(|o| *o == d)).collect();
    transpose(&ty.with_dims(dims), &inverse)
}
