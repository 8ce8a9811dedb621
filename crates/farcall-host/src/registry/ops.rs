//! Ops that a library describes, and lowerings that it lists, as targets and lowerings of a registry.

use farcall_ffi::descriptor::LibraryOp;
use farcall_ffi::lowering::abi::{self as lowering, LoweringsFn};

use super::lowering::{Listed, ListedHow};
use super::{Declaration, Platform, RegisterError, Target, TargetOrigin, declaration, description};
use crate::interface::exit::{self, Doing};
use crate::interface::guard;

/// Returns the lowerings listed by a library's table of lowerings.
pub(super) fn listed(
    origin: TargetOrigin,
    symbol: *mut std::ffi::c_void,
) -> Result<Vec<Listed>, RegisterError> {
    // SAFETY: the name of the symbol implies its type.
    let list = unsafe { std::mem::transmute::<*mut std::ffi::c_void, LoweringsFn>(symbol) };
    let path = origin.file.clone().unwrap_or_default();
    let entries = exit::within(&Doing::Describing(&path), || {
        // SAFETY: a `LoweringsFn` takes no arguments and has no preconditions.
        let listed = unsafe { guard::describe(list) };
        let listed = listed.map_err(|failure| RegisterError::Description(failure.message))?;
        // SAFETY: the library's function returned the list, which is part of the library. The library stays
        // loaded.
        unsafe { lowering::entries(listed) }.map_err(RegisterError::Lowerings)
    })?;
    let listed = |entry: lowering::CheckedEntry<'_>| Listed {
        tag: entry.tag.into(),
        platform: (!entry.platform.is_empty()).then(|| Platform::from(entry.platform)),
        origin: origin.clone(),
        how: ListedHow::Function(entry.lower),
    };
    Ok(entries.into_iter().map(listed).collect())
}

/// An op as described by its library: its target, and the lowering that replaces blocks by calls of the
/// target, if the op lists one.
pub(super) type Described = Result<(Target, Option<Listed>), RegisterError>;

/// Returns the namespace and the ops that a farcall library describes.
pub(super) fn described(
    origin: TargetOrigin,
    symbol: *mut std::ffi::c_void,
) -> (Option<String>, Vec<Described>) {
    let path = origin.file.clone().unwrap_or_default();
    // SAFETY: the name of the symbol implies its type, and the library stays loaded.
    match unsafe { description::library(&path, symbol) } {
        Ok(library) => {
            let ops: Vec<LibraryOp<'_>> = library.ops().collect();
            // This asks the handlers for their metadata, which runs foreign code.
            let described = exit::within(&Doing::Describing(&path), || from_ops(&ops, &origin));
            (library.namespace().map(str::to_owned), described)
        }
        Err(e) => (None, vec![Err(e)]),
    }
}

/// Returns the targets of ops that belong together, with their lowerings.
pub(super) fn from_ops(ops: &[LibraryOp<'_>], origin: &TargetOrigin) -> Vec<Described> {
    let declarations = declaration::declarations(ops);
    let target = |(op, declaration): (&LibraryOp<'_>, Result<Option<Declaration>, String>)| {
        let declaration = declaration.map_err(RegisterError::Declaration)?;
        let target = from_op(op, origin.clone())?;
        let target = match declaration {
            Some(declaration) => target.with_declaration(declaration),
            None => target,
        };
        let lowering = op.lowers().map(|tag| lowering_of(op, tag, &target)).transpose()?;
        Ok((target, lowering))
    };
    ops.iter().zip(declarations).map(target).collect()
}

/// Returns the lowering that an op lists.
fn lowering_of(op: &LibraryOp<'_>, tag: &str, target: &Target) -> Result<Listed, RegisterError> {
    let how = match op.lower() {
        Some(function) => ListedHow::Function(function),
        None if target.declaration().is_some() => ListedHow::Signature(Box::new(target.clone())),
        None => {
            let message = format!(
                "`{}` lowers blocks with the tag `{tag}`, but has neither a signature nor a lowering function",
                op.name()
            );
            return Err(RegisterError::Declaration(message));
        }
    };
    let platform = Some(target.platform().clone());
    Ok(Listed { tag: tag.into(), platform, origin: target.origin().clone(), how })
}

fn from_op(op: &LibraryOp<'_>, origin: TargetOrigin) -> Result<Target, RegisterError> {
    // SAFETY: descriptors list handlers, and code with a descriptor (a library or this program) stays loaded.
    let target =
        unsafe { Target::typed(op.name(), Platform::from(op.platform()), op.bundle(), op.traits(), origin) }?;
    Ok(target.with_docs(op.doc()))
}
