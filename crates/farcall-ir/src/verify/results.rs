//! Compares declared result types with inferred ones.

use crate::infer::{Cx, compatible, compatible_dims};
use crate::types::Type;

/// Names of the constraints on the number, the shapes and the element types of results.
#[derive(Clone, Copy)]
pub(super) struct Codes {
    pub(super) count: &'static str,
    pub(super) shape: &'static str,
    pub(super) element: &'static str,
}

impl Codes {
    /// One constraint for number, shape and element type.
    pub(super) const fn one(code: &'static str) -> Codes {
        Codes { count: code, shape: code, element: code }
    }

    /// Constraints on shape and element type of a fixed number of results.
    pub(super) const fn two(shape: &'static str, element: &'static str) -> Codes {
        Codes { count: shape, shape, element }
    }
}

/// Checks that there are as many declared types as inferred types, and that they are compatible. The shape of
/// each result has a constraint of its own in `shapes`.
pub(super) fn check_each(cx: &mut Cx<'_>, inferred: &[Type], element: &'static str, shapes: &[&'static str]) {
    let codes = |i: usize| Codes::two(shapes.get(i).copied().unwrap_or(element), element);
    compare(cx, inferred, &codes);
}

/// Checks that the declared types are compatible with the inferred ones. Returns true if all of them are
/// compatible.
pub(super) fn check(cx: &mut Cx<'_>, inferred: &[Type], codes: Codes) -> bool {
    compare(cx, inferred, &|_| codes)
}

fn compare(cx: &mut Cx<'_>, inferred: &[Type], codes: &dyn Fn(usize) -> Codes) -> bool {
    let (func, declared) = (cx.func, cx.inst.results());
    if !cx.check(declared.len() == inferred.len(), codes(0).count, || {
        format!("{} results are needed, found {}", inferred.len(), declared.len())
    }) {
        return false;
    }
    let single = inferred.len() == 1;
    let mut ok = true;
    for (i, (declared, inferred)) in declared.iter().map(|v| func.ty(*v)).zip(inferred).enumerate() {
        let code = match (declared, inferred) {
            (Type::Tensor(a), Type::Tensor(b)) if compatible_dims(a, b) => codes(i).element,
            _ => codes(i).shape,
        };
        ok &= cx.check(compatible(declared, inferred), code, || {
            let which = if single { String::new() } else { format!(" {i}") };
            format!("result{which} must be {inferred}, found {declared}")
        });
    }
    ok
}
