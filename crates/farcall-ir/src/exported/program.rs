//! The program of an exported function as callers see it: for one platform, with the function's own
//! arguments.

use std::collections::HashMap;
use std::sync::Arc;

use farcall_sig::DType;

use super::{Aval, AvalDType, DisabledCheck, Exported, Tree};
use crate::diag::{Diagnostic, ProgramError, Source};
use crate::interface::{self, ArgumentInfo, Interface, NamesLeft, SymbolicSize, SymbolicType};
use crate::literal::Literal;
use crate::module::{Func, Module, NewInst, ValueId, ValueMap};
use crate::op::Op;
use crate::scalar::Scalar;
use crate::types::Type;

impl Exported<'_> {
    /// Checks that the parts of the file agree. Each tree must have as many arrays as there are types. The
    /// indices of the used arguments must be strictly increasing, and below the number of arguments.
    pub(super) fn parts_agree(&self) -> Result<(), String> {
        let arguments = self.in_avals.len();
        let is_call = matches!(&self.in_tree, Tree::Tuple(pair)
            if matches!(pair.as_slice(), [Tree::Tuple(_), Tree::Dict(_)]));
        if !is_call {
            return Err("the tree of the arguments is not a pair of a tuple and a dictionary".to_owned());
        }
        for (of, tree, avals) in
            [("arguments", &self.in_tree, &self.in_avals), ("results", &self.out_tree, &self.out_avals)]
        {
            let (leaves, types) = (tree.leaves(), avals.len());
            if leaves != types {
                return Err(format!("the tree of the {of} has {leaves} arrays, but there are {types} types"));
            }
        }
        if let Some(pair) = self.kept_vars.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!(
                "argument {} precedes {} in the list of arguments that the program takes",
                pair[0], pair[1]
            ));
        }
        match self.kept_vars.last() {
            Some(last) if *last >= arguments => {
                Err(format!("the program takes argument {last}, but there are {arguments}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the number of the program's parameters and the number of its results. The parameters are the
    /// platform index (if there are several platforms), one token for each ordered effect, and the used
    /// arguments. The results are the tokens and the function's results.
    pub(super) fn program_agrees(&self, module: &Module) -> Result<(), String> {
        let Some(main) = module.entry() else {
            return Err("the program of an exported function has no entry".to_owned());
        };
        let (platform, tokens) = (usize::from(self.platforms.len() > 1), self.ordered_effects.len());
        let (kept, results) = (self.kept_vars.len(), self.out_avals.len());
        let (found, expected) = (main.params().len(), platform + tokens + kept);
        if found != expected {
            return Err(format!(
                "the program takes {found} arguments, but {expected} are expected: {platform} for the platform, {tokens} \
                 tokens, and {kept} of the function"
            ));
        }
        let (found, expected) = (main.results().len(), tokens + results);
        if found != expected {
            return Err(format!(
                "the program returns {found} results, but {expected} are expected: {tokens} tokens, and {results} of the \
                 function"
            ));
        }
        Ok(())
    }

    /// Returns the program for one platform (`cpu`, `cuda`). A program for several platforms takes the
    /// platform index as its first argument; the returned program does not.
    ///
    /// # Errors
    /// Same errors as [`Exported::module`]. Code `platform` if the function was exported for other platforms
    /// and the exporter did not waive the check of the platform.
    pub fn module_for(&self, name: &str, platform: &str) -> Result<Module, ProgramError> {
        let mut module = self.module(name)?;
        let waived = self.disabled_checks.contains(&DisabledCheck::Platform);
        specialize(&mut module, &self.function_name, &self.platforms, platform, waived)?;
        Ok(module)
    }

    /// Returns the arguments and results of the function. `module` is the function's program, which has the
    /// names of the arguments.
    pub fn interface(&self, module: &Module) -> Interface {
        let main = module.entry();
        let params = main.map_or(&[][..], Func::params);
        // The arguments are the last parameters. Tokens, and the platform index unless `module_for` removed
        // it, come before.
        let first = params.len().saturating_sub(self.kept_vars.len());
        let paths = self.in_tree.paths();
        let inputs: HashMap<usize, usize> =
            self.kept_vars.iter().enumerate().map(|(i, kept)| (*kept, i)).collect();
        let names = main.map_or_else(HashMap::new, |main| names_of(module, main));
        let mut left = NamesLeft::new();
        let arguments = self.in_avals.iter().enumerate().map(|(i, aval)| {
            let input = inputs.get(&i).copied();
            let param = input.and_then(|input| params.get(first + input).copied());
            let path = paths.get(i).cloned().unwrap_or_else(|| format!("arg{i}"));
            let name = param.and_then(|param| left.keep(names.get(&param)?));
            let ty = main.zip(param).map(|(main, param)| main.ty(param));
            ArgumentInfo {
                name: name.unwrap_or_else(|| path.clone()),
                path: Some(path),
                ty: symbolic(aval, ty),
                input,
            }
        });
        let results = main.map_or(&[][..], |main| main.results());
        let first = results.len().saturating_sub(self.out_avals.len());
        let out = self.out_avals.iter().enumerate();
        Interface {
            name: self.function_name.clone(),
            arguments: arguments.collect(),
            results: out.map(|(i, aval)| symbolic(aval, results.get(first + i))).collect(),
            constraints: interface::stated_constraints(module),
        }
    }
}

/// Specializes the program of a function that was exported for `platforms` to one platform. A program for
/// several platforms takes the platform index as its first argument, which becomes a constant. If the
/// exporter waived the check of the platform (`waived`), every other platform uses the program of the first
/// of `platforms`.
///
/// # Errors
/// Code `platform` if the function was exported for other platforms. Code `exported` if the program does not
/// take a platform index.
pub(crate) fn specialize(
    module: &mut Module,
    function: &str,
    platforms: &[String],
    platform: &str,
    waived: bool,
) -> Result<(), ProgramError> {
    let index = platforms.iter().position(|p| p == platform).or(waived.then_some(0));
    let Some(index) = index else {
        let message = format!("{function} was exported for {}, not for {platform}", platforms.join(", "));
        let all: Vec<String> = [platform]
            .into_iter()
            .chain(platforms.iter().map(String::as_str))
            .map(|p| format!("{p:?}"))
            .collect();
        let note =
            format!("export it for {platform}, too: jax.export.export(…, platforms=[{}])", all.join(", "));
        let diagnostic = Diagnostic::global("platform", message).note(note);
        return Err(ProgramError::new(&Source::none(), diagnostic));
    };
    if platforms.len() > 1 { fix_first_param(module, index) } else { Ok(()) }
}

/// Returns the type of an array as callers see it. `aval` is the type in the file, and `ty` is the type in
/// the program, if the program uses the array.
fn symbolic(aval: &Aval, ty: Option<&Type>) -> SymbolicType {
    let tensor = ty.and_then(Type::tensor).map(SymbolicType::of);
    // For some element types of JAX (random keys, for example), programs use another element type and
    // additional dimensions.
    let dtype = match (&tensor, aval.dtype) {
        (Some(tensor), _) => tensor.dtype,
        (None, AvalDType::Plain(dtype)) => dtype,
        (None, AvalDType::Float0) => DType::Pred,
        (None, AvalDType::Key(_)) => DType::U32,
    };
    let written = tensor.map_or_else(Vec::new, |tensor| tensor.sizes);
    let rest = written.get(aval.shape.len()..).unwrap_or_default();
    let size = |(i, text): (usize, &String)| match (written.get(i), text.parse()) {
        (Some(SymbolicSize::Fixed(size)), _) => SymbolicSize::Fixed(*size),
        (_, Ok(size)) => size,
        (written, Err(_)) => written.cloned().unwrap_or(SymbolicSize::Any(None)),
    };
    let sizes = aval.shape.iter().enumerate().map(size).chain(rest.iter().cloned());
    SymbolicType { dtype, sizes: sizes.collect() }
}

/// Returns the names of parameters: a parameter's own name, or the name of the callee's parameter that it is
/// passed to. JAX wraps programs with symbolic shapes in a function whose parameters are unnamed.
fn names_of<'m>(module: &'m Module, main: &'m Func) -> HashMap<ValueId, &'m str> {
    let params = main.params().iter().enumerate();
    let own = params.filter_map(|(i, param)| Some((*param, main.param_name(i)?)));
    let mut names: HashMap<ValueId, &str> = own.collect();
    // Maps each parameter, and each conversion of a parameter, to the parameter.
    let mut origins: HashMap<ValueId, ValueId> = main.params().iter().map(|p| (*p, *p)).collect();
    for inst in main.body().insts() {
        match inst.op() {
            Op::Convert => {
                if let Some(origin) =
                    inst.operands().first().and_then(|operand| origins.get(operand).copied())
                {
                    origins.extend(inst.results().iter().map(|result| (*result, origin)));
                }
            }
            Op::Call { callee } => {
                let Some(callee) = module.get(*callee) else { continue };
                for (i, operand) in inst.operands().iter().enumerate() {
                    if let (Some(origin), Some(name)) = (origins.get(operand), callee.param_name(i)) {
                        names.entry(*origin).or_insert(name);
                    }
                }
            }
            _ => {}
        }
    }
    names
}

/// Gives the parameters of the entry the names of the function's arguments, so that plans and artifacts made
/// from the program have these names.
pub(super) fn name_params(module: &mut Module) {
    let Some((id, main)) = module.entry().and_then(|main| Some((module.func_id(&main.name)?, main))) else {
        return;
    };
    let (mut left, names) = (NamesLeft::new(), names_of(module, main));
    let name = |param: &ValueId| left.keep(names.get(param)?).map(Arc::from);
    let named: Vec<Option<Arc<str>>> = main.params().iter().map(name).collect();
    module.func_mut(id).param_names = named;
}

/// Replaces the first parameter of the entry, an integer, by a constant.
fn fix_first_param(module: &mut Module, value: usize) -> Result<(), ProgramError> {
    let wrong = |message: &str| {
        Err(ProgramError::new(&module.source, Diagnostic::global("exported", message.to_owned())))
    };
    let Some((id, main)) = module.entry().and_then(|main| Some((module.func_id(&main.name)?, main))) else {
        return wrong("the program of an exported function has no entry");
    };
    let Some((first, rest)) = main.params().split_first() else {
        return wrong("a program for several platforms must take the platform index as its first argument");
    };
    let ty = match main.ty(*first) {
        Type::Tensor(ty) if ty.rank() == 0 && ty.dtype.is_integer() => ty.clone(),
        _ => {
            return wrong(
                "the first argument of a program for several platforms must be the platform index, a scalar integer",
            );
        }
    };
    let mut fixed = Func::with_header_of(main);
    fixed.param_names.drain(..1.min(fixed.param_names.len()));
    let mut map = ValueMap::default();
    for param in rest {
        map.insert(*param, fixed.add_arg(Func::BODY, main.ty(*param).clone()));
    }
    fixed.set_param_attrs(main.param_attrs().iter().skip(1).cloned());
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    let constant = Op::Constant(Literal::scalar(ty.dtype, Scalar::Signed(value)));
    let constant = fixed.push(Func::BODY, NewInst::new(constant, []), [Type::Tensor(ty)]);
    map.insert(*first, fixed.inst(constant).results()[0]);
    for inst in main.body().insts() {
        let copy = fixed.import_inst(inst, &mut map);
        fixed.append(Func::BODY, copy);
    }
    *module.func_mut(id) = fixed;
    Ok(())
}

impl Tree {
    /// Returns the path of each array as a Python expression. In a tree of arguments, which is a pair of a
    /// tuple and a dictionary, paths look like `args[0]['w']` and `kwargs['x']`; in any other tree, like
    /// `[0]['w']`. An array is numbered instead (`arg7`) if its path is too long, or if all paths together
    /// are.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Paths { at: String::new(), found: Vec::new(), left: NamesLeft::new() };
        match self {
            Tree::Tuple(pair) => match pair.as_slice() {
                [args @ Tree::Tuple(_), kwargs @ Tree::Dict(_)] => {
                    paths.below("args", args);
                    paths.below("kwargs", kwargs);
                }
                _ => paths.collect(self),
            },
            _ => paths.collect(self),
        }
        paths.found
    }
}

struct Paths {
    /// Path of the current node.
    at: String,
    found: Vec<String>,
    left: NamesLeft,
}

impl Paths {
    fn collect(&mut self, tree: &Tree) {
        match tree {
            Tree::Leaf => {
                let path = self.left.keep(&self.at).unwrap_or_else(|| format!("arg{}", self.found.len()));
                self.found.push(path);
            }
            Tree::None => {}
            Tree::Tuple(children) | Tree::List(children) | Tree::Custom { children, .. } => {
                for (i, child) in children.iter().enumerate() {
                    self.below(&format!("[{i}]"), child);
                }
            }
            Tree::Dict(entries) => {
                for (key, child) in entries {
                    self.below(&format!("['{key}']"), child);
                }
            }
        }
    }

    fn below(&mut self, part: &str, tree: &Tree) {
        let len = self.at.len();
        self.at.push_str(part);
        self.collect(tree);
        self.at.truncate(len);
    }
}
