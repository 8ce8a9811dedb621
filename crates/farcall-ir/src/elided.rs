//! Constants whose elements a printer left out: `{...}` in HLO text, `dense_resource<__elided__>` in
//! StableHLO text.
//!
//! A reader turns such a constant into [`Op::Elided`]. The program can be verified, printed, rewritten and
//! compiled, but a run needs elements. [`fill`] supplies arbitrary elements, which suffices to measure run
//! times.

use crate::diag::{Diagnostic, ProgramError};
use crate::literal::Literal;
use crate::module::{InstId, Module};
use crate::op::Op;
use crate::types::TensorType;

/// Message of the error when a run needs the elements.
pub(crate) const RUN_MESSAGE: &str = "the elements of this constant were left out when the program was printed; \
                                      `farcall run --elided zeros` or `--elided rand` chooses some, to measure times";

/// Returns the error that a run of these modules would report. The error points to the first constant without
/// elements, and its note states the number of further ones. `None` if every constant has elements. All
/// modules must have the same source.
pub fn refused<'m>(modules: impl IntoIterator<Item = &'m Module>) -> Option<ProgramError> {
    let (mut first, mut others) = (None, 0usize);
    for module in modules {
        for func in module.funcs() {
            func.walk(&mut |inst| match inst.op() {
                Op::Elided(_) if first.is_none() => first = Some((&module.source, inst.span())),
                Op::Elided(_) => others += 1,
                _ => {}
            });
        }
    }
    let (source, span) = first?;
    let diagnostic = Diagnostic::new("elided", span, RUN_MESSAGE);
    Some(ProgramError::new(
        source,
        match others {
            0 => diagnostic,
            1 => diagnostic.note("another constant has no elements, either"),
            _ => diagnostic.note(format!("{others} other constants have no elements, either")),
        },
    ))
}

/// Gives elements to every constant that has none; `elements` chooses them by the constant's type. Returns
/// the number of these constants.
///
/// ```
/// use farcall_ir::{Literal, Source, elided, text};
///
/// let program = "func.func @main() -> tensor<3xf32> {
///   %0 = stablehlo.constant dense_resource<__elided__> : tensor<3xf32>
///   return %0 : tensor<3xf32>
/// }";
/// let mut module = text::parse(&Source::new("elided.mlir", program))?;
/// let filled = elided::fill(&mut module, |ty| Literal::try_zeros(ty.dtype, ty.sizes()))?;
/// assert_eq!(filled, 1);
/// assert!(text::print(&module).contains("dense<0.000000e+00> : tensor<3xf32>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The first error of `elements`.
pub fn fill<E>(
    module: &mut Module,
    mut elements: impl FnMut(&TensorType) -> Result<Literal, E>,
) -> Result<usize, E> {
    let mut filled = 0;
    for id in module.func_ids() {
        let mut found: Vec<(InstId, TensorType)> = Vec::new();
        module.func_mut(id).walk(&mut |inst| {
            if let Op::Elided(ty) = inst.op() {
                found.push((inst.id(), ty.clone()));
            }
        });
        for (inst, ty) in found {
            let literal = elements(&ty)?;
            module.func_mut(id).set_op(inst, Op::Constant(literal));
            filled += 1;
        }
    }
    Ok(filled)
}
