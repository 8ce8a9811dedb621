//! Requirements for running a valid program: an entry, and static shapes.

use farcall_sig::nearest::nearest;

use super::report;
use crate::diag::{Diagnostic, Diagnostics, ProgramError, Span};
use crate::module::{Func, Module};
use crate::types::{TensorType, Type};

/// Maximum number of functions in an error that lists them.
const MAX_LISTED: usize = 20;

/// Returns the function that a run starts with: `name`, or by default [`Module::entry`].
///
/// # Errors
/// Code `no-entry`: the function `name` does not exist, or there is no name and the module has no default
/// entry.
pub fn entry<'a>(module: &'a Module, name: Option<&str>) -> Result<&'a Func, ProgramError> {
    let found = match name {
        Some(name) => module.func(name),
        None => module.entry(),
    };
    found.ok_or_else(|| {
        let names = || module.funcs().iter().map(|f| f.name.as_str());
        let diagnostic = match name {
            Some(name) => {
                let diagnostic = Diagnostic::global("no-entry", format!("there is no function @{name}"));
                match nearest(name, names()).as_slice() {
                    [] => diagnostic,
                    close => diagnostic.note(format!("closest: @{}", close.join(", @"))),
                }
            }
            None if module.funcs().is_empty() => {
                Diagnostic::global("no-entry", "the program has no functions")
            }
            None => {
                // If there are public functions, the private functions are not meant to be entries.
                let public: Vec<&str> =
                    module.funcs().iter().filter(|f| f.public).map(|f| f.name.as_str()).collect();
                let names = if public.is_empty() { names().collect() } else { public };
                let more = match names.len().saturating_sub(MAX_LISTED) {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let listed = names[..names.len().min(MAX_LISTED)].join(", @");
                Diagnostic::global("no-entry", "there is no @main: choose a function (--entry NAME)")
                    .note(format!("the functions are @{listed}{more}"))
            }
        };
        ProgramError::new(&module.source, diagnostic)
    })
}

/// Checks that every value of a verified module has a static shape, and a size that fits in memory.
///
/// # Errors
/// `dynamic-shape` or `tensor-too-large` for each instruction or function that has such a value.
pub(crate) fn require_static(module: &Module) -> Result<(), ProgramError> {
    let mut diagnostics = Diagnostics::default();
    for func in module.funcs() {
        for (i, param) in func.params().iter().enumerate() {
            let what = || format!("parameter {i} of @{}", func.name);
            value(func.ty(*param), func.span, what, &mut diagnostics);
        }
        func.walk(&mut |inst| {
            for (i, result) in inst.results().iter().enumerate() {
                let what = || format!("result {i} of {}", inst.op().name());
                value(func.ty(*result), inst.span(), what, &mut diagnostics);
            }
            for (r, region) in inst.regions().enumerate() {
                for (i, arg) in region.own_args().iter().enumerate() {
                    let what = || format!("argument {i} of region {r} of {}", inst.op().name());
                    value(func.ty(*arg), inst.span(), what, &mut diagnostics);
                }
            }
        });
    }
    report(module, diagnostics)
}

fn value(ty: &Type, span: Span, what: impl Fn() -> String + Copy, diagnostics: &mut Diagnostics) {
    match ty {
        Type::Tensor(t) => diagnostics.extend(tensor(t, span, what)),
        Type::Tuple(parts) | Type::Future(parts) => {
            parts.iter().for_each(|p| value(p, span, what, diagnostics))
        }
        Type::Token | Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => {}
    }
}

/// Maximum size of an allocation in bytes.
const MAX_TENSOR_BYTES: usize = isize::MAX as usize;

fn tensor(ty: &TensorType, span: Span, what: impl Fn() -> String) -> Option<Diagnostic> {
    if !ty.is_static() {
        let message = format!("{}, {ty}, has a dynamic dimension; only static shapes can be run", what());
        return Some(Diagnostic::new("dynamic-shape", span, message));
    }
    let fits = ty.bytes().is_some_and(|bytes| bytes <= MAX_TENSOR_BYTES);
    (!fits).then(|| {
        let message = format!("{}, {ty}, is larger than memory can be", what());
        Diagnostic::new("tensor-too-large", span, message)
    })
}
