//! Specializes programs with dynamic dimensions to programs with static shapes, given the input types, and
//! the elements of those inputs that shapes depend on.
//!
//! ```text
//! Module with `?` + facts about the inputs ──refine──▶ Module without `?`: functions that the entry reaches
//! ```
//!
//! The walk (`func`) visits a function in order, with the actual types of operands, and with the elements of
//! small integer tensors where they are known: constants, sizes of dimensions, and values computed from them.
//! `walk` holds the state of the walk: the specialized function, and the known elements of its values. Result
//! types come from
//! [`crate::infer`]. An operation that takes a shape as an operand becomes the operation with the shape as an
//! attribute (`dynamic`), known values become constants, and an `if` with a known predicate is replaced by
//! its branch. A function is walked once for each list of argument types and known arguments, since programs
//! exported by JAX pass sizes of dimensions as arguments. Calls to `@shape_assertion` are decided here
//! (`custom_call`), and calls that stand for operations are replaced by these operations (`shape_operands`).
//!
//! If the walk cannot determine a shape, or the sizes violate a constraint, and the program has dimensions
//! with bounds, the walk is repeated on the program that [`crate::bounded`] makes. In that program, sizes may
//! be computed at run time, and additional results of the entry hold the sizes of its results.
//!
//! **Invariants.** Either the result has no dynamic dimension, or the error names an operation and its
//! position in the source. The work is bounded by [`MAX_WALKED`], and its depth by [`MAX_DEPTH`].

mod custom_call;
mod dynamic;
mod error;
mod func;
mod shape_operands;
mod walk;

pub use custom_call::is_assertion;
pub use error::RefineError;
use error::Stop;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::bounded;
use crate::diag::Diagnostic;
use crate::literal::Literal;
use crate::module::{Func, FuncId, Inst, Module};
use crate::op::Op;
use crate::stack;
use crate::types::{TensorType, Type};
use crate::verify::{Verified, verify_owned};

/// Maximum number of instructions walked. Instructions of a function that is walked several times count each
/// time.
pub const MAX_WALKED: usize = 500_000;

/// Maximum nesting depth of calls and regions together.
pub const MAX_DEPTH: usize = 200;

/// Returns true if a program needs [`refine`]: it has dynamic dimensions or shape assertions.
pub fn is_needed(module: &Module) -> bool {
    module.funcs().iter().any(|func| {
        let mut found = !func.values().all(|v| is_static(func.ty(v)));
        func.walk(&mut |inst| found |= custom_call::is_assertion(inst));
        found
    })
}

/// Specializes `entry`, a function of the module, to inputs of the types `inputs`: one type for each tensor
/// in the parameters, where tuples are flattened. If `inputs` is `None`, the declared parameter types are
/// used.
///
/// `known` holds the elements of inputs, by index, where the caller knows them; only small tensors of
/// integers or booleans are used. The specialized module is valid for these elements only: its entry still
/// takes the inputs, but need not read them. The elements of parameters that are tuples are never known.
///
/// If sizes of a result are computed at run time, the result has their bounds as its shape, and
/// [`crate::bounded::cut`] cuts it to the sizes.
///
/// The specialized module holds the entry and the functions that the entry calls.
///
/// # Errors
/// [`RefineError::UnknownShape`] with the code `dynamic-shape`; otherwise [`RefineError::Invalid`]:
/// - `input-types`: the types do not match the parameters.
/// - `shape-assertion`: the program's own shape assertion rejects the inputs.
/// - `refine-size`, `refine-depth`: the program is too large or too deep.
/// - Every constraint that an operation violates once the sizes are known.
pub fn refine(
    module: &Verified<'_>,
    entry: &Func,
    inputs: Option<&[TensorType]>,
    known: &[Option<Literal>],
) -> Result<Verified<'static>, RefineError> {
    let refined = stack::with_room(|| refined(module, entry, inputs, known))?;
    // With known sizes, operations may violate further constraints.
    verify_owned(refined).map_err(RefineError::Invalid)
}

fn refined(
    module: &Module,
    entry: &Func,
    inputs: Option<&[TensorType]>,
    known: &[Option<Literal>],
) -> Result<Module, RefineError> {
    let params = parameters(entry, inputs).map_err(|d| Stop::Refused(d).into_error(&module.source))?;
    let known = known_params(&params, known);
    let exact = match specialized(module, entry, &params, &known) {
        Err(stop) if stop.may_have_bounds() && bounded::is_bounded(module) => stop,
        exact => return exact.map_err(|stop| stop.into_error(&module.source)),
    };
    // The sizes are known only at run time, or sizes of operands differ: use the bounds instead of the sizes.
    let bounded = bounded::lower(module, entry, &params).map_err(Stop::UnknownShape).and_then(|lowered| {
        let entry = lowered.func(&entry.name).unwrap_or(entry);
        specialized(&lowered, entry, &params, &known)
    });
    bounded.map_err(|bounded| match exact {
        // The sizes may follow from the elements of further inputs.
        Stop::UnknownShape(_) => RefineError::UnknownShape(bounded.into_error(&module.source).into()),
        violations => violations.into_error(&module.source),
    })
}

/// Specializes a normalized program to parameters of these types. `known` has the known elements of the
/// parameters.
fn specialized(
    module: &Module,
    entry: &Func,
    params: &[Type],
    known: &[Option<Literal>],
) -> Result<Module, Stop> {
    let mut refiner = Refiner {
        module,
        done: HashMap::new(),
        funcs: Vec::new(),
        taken: HashMap::from([(entry.name.clone(), 0)]),
        walked: 0,
        depth: 0,
    };
    let walked = refiner.walk(entry, params, known, entry.name.clone())?;
    let mut refined = Module::new(Arc::clone(&module.source));
    refined.name.clone_from(&module.name);
    refined.attrs.clone_from(&module.attrs);
    refined.meshes.clone_from(&module.meshes);
    refined.add_func(walked.func);
    for func in refiner.funcs {
        refined.add_func(func);
    }
    refined.drop_unreachable();
    Ok(refined)
}

/// Known elements of the parameters, from the known elements of the inputs.
fn known_params(params: &[Type], known: &[Option<Literal>]) -> Vec<Option<Literal>> {
    let mut next = 0;
    let of = |ty: &Type| {
        let first = next;
        next += ty.tensors().count();
        let Type::Tensor(ty) = ty else { return None };
        let literal = known.get(first)?.as_ref()?;
        (literal.dtype() == ty.dtype && ty.static_sizes() == Some(literal.dims()) && is_small(literal))
            .then(|| literal.clone())
    };
    params.iter().map(of).collect()
}

/// The parameter types, with the tensor types of the inputs filled in.
fn parameters(entry: &Func, inputs: Option<&[TensorType]>) -> Result<Vec<Type>, Diagnostic> {
    let declared = entry.params().iter().map(|p| entry.ty(*p).clone());
    let Some(inputs) = inputs else { return Ok(declared.collect()) };
    let fail = |message: String| Diagnostic::new("input-types", entry.span, message);
    let mut given = inputs.iter().enumerate();
    let mut wanted = 0;
    let types: Result<Vec<Type>, Diagnostic> = declared
        .map(|ty| {
            replace(&ty, &mut |declared| {
                wanted += 1;
                let Some((i, given)) = given.next() else { return Ok(declared.clone()) };
                let fits = given.dtype == declared.dtype
                    && given.rank() == declared.rank()
                    && declared.dims().zip(given.dims()).all(|(d, g)| {
                        d == g || (d.is_dynamic() && g.size().is_none_or(|size| d.admits(size)))
                    });
                if !fits {
                    return Err(fail(format!(
                        "input {i} of @{} is {given}, but it takes {declared}",
                        entry.name
                    )));
                }
                Ok(declared.with_dims_of(given))
            })
        })
        .collect();
    let types = types?;
    if wanted != inputs.len() {
        return Err(fail(format!("@{} takes {wanted} inputs, {} were given", entry.name, inputs.len())));
    }
    Ok(types)
}

/// Replaces the tensor types within a type.
fn replace<E>(ty: &Type, tensor: &mut dyn FnMut(&TensorType) -> Result<TensorType, E>) -> Result<Type, E> {
    Ok(match ty {
        Type::Tensor(t) => Type::Tensor(tensor(t)?),
        Type::Tuple(parts) => {
            let parts: Result<Vec<Type>, E> = parts.iter().map(|p| replace(p, tensor)).collect();
            Type::Tuple(parts?.into())
        }
        Type::Future(parts) => {
            let parts: Result<Vec<Type>, E> = parts.iter().map(|p| replace(p, tensor)).collect();
            Type::Future(parts?.into())
        }
        other => other.clone(),
    })
}

/// Returns true if every dimension of every tensor in the type is known.
fn is_static(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.is_static(),
        Type::Tuple(parts) | Type::Future(parts) => parts.iter().all(is_static),
        _ => true,
    }
}

/// Maximum number of elements of a tensor whose elements are tracked: more than any tensor has dimensions.
const MAX_KNOWN_ELEMENTS: usize = 64;

/// Returns true for tensors whose elements are worth tracking: sizes, and values that sizes depend on.
fn is_small(literal: &Literal) -> bool {
    (literal.dtype().is_integer() || literal.dtype().is_bool()) && literal.len() <= MAX_KNOWN_ELEMENTS
}

/// A function with the types and known elements of its arguments.
type CallKey = (FuncId, Vec<Type>, Vec<Option<Literal>>);

/// A function that has been walked.
#[derive(Clone)]
struct Callee {
    /// Number of the function in the new module, where the entry comes first.
    id: FuncId,
    /// Types of the results.
    results: Vec<Type>,
    /// Known elements of the results.
    known: Vec<Option<Literal>>,
    /// True if the function has no effects beyond its results.
    pure: bool,
}

/// The result of walking a function.
struct Walked {
    func: Func,
    known: Vec<Option<Literal>>,
    pure: bool,
}

struct Refiner<'m> {
    module: &'m Module,
    /// Functions walked so far.
    done: HashMap<CallKey, Callee>,
    /// The functions of `done`, in the order in which they were finished.
    funcs: Vec<Func>,
    /// Names in use, with the number that the next function of the same name gets.
    taken: HashMap<String, usize>,
    walked: usize,
    depth: usize,
}

impl<'m> Refiner<'m> {
    /// Returns the specialized function for a call of `id` with these arguments; `at` is the call.
    fn callee(
        &mut self,
        id: FuncId,
        types: Vec<Type>,
        known: Vec<Option<Literal>>,
        at: Inst<'_>,
    ) -> Result<Callee, Stop> {
        let key = (id, types, known);
        if let Some(callee) = self.done.get(&key) {
            return Ok(callee.clone());
        }
        let func = &self.module[id];
        let name = self.new_name(&func.name);
        self.enter(at)?;
        let Walked { func, known, pure } = self.walk(func, &key.1, &key.2, name)?;
        self.depth -= 1;
        let id = FuncId::new(self.funcs.len() + 1);
        let callee = Callee { id, results: func.results().to_vec(), known, pure };
        self.funcs.push(func);
        self.done.insert(key, callee.clone());
        Ok(callee)
    }

    /// A name that no function has yet.
    fn new_name(&mut self, base: &str) -> String {
        let next = self.taken.get(base).copied();
        let Some(mut next) = next else {
            self.taken.insert(base.to_owned(), 0);
            return base.to_owned();
        };
        loop {
            let name = format!("{base}_{next}");
            next += 1;
            if !self.taken.contains_key(&name) {
                self.taken.insert(base.to_owned(), next);
                self.taken.insert(name.clone(), 0);
                return name;
            }
        }
    }

    /// Counts one more level of calls and regions.
    fn enter(&mut self, at: Inst<'_>) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message =
                format!("calls and regions around dynamic shapes are nested deeper than {MAX_DEPTH}");
            return Err(Stop::Refused(Diagnostic::new("refine-depth", at.span(), message)));
        }
        Ok(())
    }

    /// Counts one more instruction.
    fn count(&mut self, at: Inst<'_>) -> Result<(), Stop> {
        self.walked += 1;
        if self.walked > MAX_WALKED {
            let message = format!(
                "functions are called with so many different shapes that they have more than {MAX_WALKED} instructions"
            );
            return Err(Stop::Refused(Diagnostic::new("refine-size", at.span(), message)));
        }
        Ok(())
    }
}

/// Drops unused constants, such as the operands of shape computations.
fn drop_unused_constants(func: &mut Func) {
    let (mut used, mut constants) = (HashSet::new(), Vec::new());
    func.walk(&mut |inst| {
        used.extend(inst.operands().iter().copied());
        if matches!(inst.op(), Op::Constant(_)) {
            constants.push(inst.id());
        }
    });
    for inst in constants {
        if !func.inst(inst).results().iter().any(|r| used.contains(r)) {
            func.detach(inst);
        }
    }
}
