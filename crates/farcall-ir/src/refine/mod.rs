//! Makes programs with dynamic dimensions static, once the inputs are known: their types, and the elements of those
//! that shapes depend on.
//!
//! ```text
//! Module with `?` + what is known of the inputs ──refine──▶ Module without `?`, of what the entry reaches
//! ```
//!
//! The walk (`func`) visits a function in order, with the actual types of operands, and with the elements of small
//! integer tensors if they are known: constants, sizes of dimensions, and values computed from those. Result types
//! come from [`crate::infer`]. An operation that takes a shape as an operand becomes the one that has it as an
//! attribute (`dynamic`), known values become constants, and an `if` whose predicate is known is replaced by its
//! branch. A function is walked once for each list of types and known arguments that it is called with, since
//! programs exported by JAX pass sizes of dimensions as arguments. Their `@shape_assertion`s are decided here
//! (`custom_call`), and calls that stand for operations are replaced by these (`disguised`).
//!
//! **Invariants.** The result has no dynamic dimension, or there is an error that names an operation and
//! its place. The work is bounded: by [`MAX_WALKED`], and in depth by [`MAX_DEPTH`].

mod custom_call;
mod disguised;
mod dynamic;
mod func;

pub use custom_call::is_assertion;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, ProgramError};
use crate::literal::Literal;
use crate::module::{Func, FuncId, Inst, Module};
use crate::normalize;
use crate::op::Op;
use crate::stack;
use crate::types::{TensorType, Type};

/// Instructions that are walked at most, those of functions that are walked several times counted as
/// often.
pub const MAX_WALKED: usize = 500_000;

/// How deep calls and regions may nest, together.
pub const MAX_DEPTH: usize = 200;

/// True if a program has dynamic dimensions, or asserts something about sizes: [`refine`] has
/// something to do.
pub fn is_needed(module: &Module) -> bool {
    module.funcs().iter().any(|func| {
        let mut found = !func.values().all(|v| is_static(func.ty(v)));
        func.walk(&mut |inst| found |= custom_call::is_assertion(inst));
        found
    })
}

/// The program that the entry of a verified module is on inputs of these types: one for each tensor
/// among the parameters, tuples taken apart. Without types, on those of the parameters.
///
/// `known` are the elements of inputs, by number, as far as the caller knows them; only those of small
/// tensors of integers count. The program that comes back is for these alone: it takes the inputs, but
/// need not look at them. A parameter that is a tuple has none.
///
/// The module that comes back holds what the entry calls, [normalized](crate::normalize). Operations still have to be checked against
/// each other by [`crate::verify`]: with sizes that are known, they may break constraints.
///
/// # Errors
/// `input-types`: the types do not fit the parameters. `dynamic-shape`: a shape does not follow from
/// them. `shape-assertion`: the program says that it does not take them. `refine-size`, `refine-depth`:
/// the program is too large or too deep. And every constraint that an operation breaks once the sizes
/// are known.
pub fn refine(
    module: &Module,
    entry: &Func,
    inputs: Option<&[TensorType]>,
    known: &[Option<Literal>],
) -> Result<Module, ProgramError> {
    stack::with_room(|| refined(module, entry, inputs, known))
}

fn refined(
    module: &Module,
    entry: &Func,
    inputs: Option<&[TensorType]>,
    known: &[Option<Literal>],
) -> Result<Module, ProgramError> {
    let error = |diagnostics: Vec<Diagnostic>| {
        diagnostics.into_iter().collect::<Diagnostics>().into_error(&module.source)
    };
    let normal = normalize::normalized(module);
    let entry = normalize::counterpart(entry, &normal);
    let module = &*normal;
    let params = parameters(entry, inputs).map_err(|d| error(vec![d]))?;
    let known = known_params(&params, known);
    let mut refiner = Refiner {
        module,
        done: HashMap::new(),
        funcs: Vec::new(),
        taken: HashMap::from([(entry.name.clone(), 0)]),
        walked: 0,
        depth: 0,
    };
    let walked = refiner.walk(entry, &params, &known, entry.name.clone()).map_err(error)?;
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

/// What is known of the parameters, from what is known of the inputs.
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

/// The types of the parameters, with those of the inputs put in.
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

/// A type with other tensors in it.
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

/// True if every dimension of every tensor in it is known.
fn is_static(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.is_static(),
        Type::Tuple(parts) | Type::Future(parts) => parts.iter().all(is_static),
        _ => true,
    }
}

/// Elements of the largest tensor that is kept in mind: more than any tensor has dimensions.
const SMALL: usize = 64;

/// True for tensors whose elements are worth knowing: sizes, and what decides about them.
fn is_small(literal: &Literal) -> bool {
    (literal.dtype().is_integer() || literal.dtype().is_bool()) && literal.len() <= SMALL
}

/// Violations, at least one.
type Failed = Vec<Diagnostic>;

/// A function, and what it is called with: types of the arguments, and their elements where known.
type Key = (FuncId, Vec<Type>, Vec<Option<Literal>>);

/// A function that has been walked.
#[derive(Clone)]
struct Callee {
    /// Its number in the new module, where the entry comes first.
    id: FuncId,
    /// Types of the results.
    results: Vec<Type>,
    /// Their elements, where known.
    known: Vec<Option<Literal>>,
    /// Nothing happens in it that its results do not show.
    pure: bool,
}

/// What a walk of a function gives.
struct Walked {
    func: Func,
    known: Vec<Option<Literal>>,
    pure: bool,
}

struct Refiner<'m> {
    module: &'m Module,
    /// Functions that have been walked.
    done: HashMap<Key, Callee>,
    /// Theirs, in the order in which they were finished.
    funcs: Vec<Func>,
    /// Their names, with the number that the next of this name gets.
    taken: HashMap<String, usize>,
    walked: usize,
    depth: usize,
}

impl<'m> Refiner<'m> {
    /// The function that a call of `id` with these arguments means; `at` is the call.
    fn callee(
        &mut self,
        id: FuncId,
        types: Vec<Type>,
        known: Vec<Option<Literal>>,
        at: Inst<'_>,
    ) -> Result<Callee, Failed> {
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

    /// One call or region deeper.
    fn enter(&mut self, at: Inst<'_>) -> Result<(), Failed> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message =
                format!("calls and regions around dynamic shapes are nested deeper than {MAX_DEPTH}");
            return Err(vec![Diagnostic::new("refine-depth", at.span(), message)]);
        }
        Ok(())
    }

    /// One instruction more.
    fn count(&mut self, at: Inst<'_>) -> Result<(), Failed> {
        self.walked += 1;
        if self.walked > MAX_WALKED {
            let message = format!(
                "functions are called with so many different shapes that they have more than {MAX_WALKED} instructions"
            );
            return Err(vec![Diagnostic::new("refine-size", at.span(), message)]);
        }
        Ok(())
    }
}

/// Drops unused constants: those that shapes were computed from.
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
