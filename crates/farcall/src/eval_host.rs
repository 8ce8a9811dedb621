//! Custom calls for the reference evaluator: the same targets, the same handlers.
//!
//! The evaluator hands over one call at a time; the host compiles a program of that one call, so
//! that layouts, aliases, tuples and tokens mean the same as in the engine.

use std::sync::Arc;

use farcall_ir::eval::{CallSite, Denormals, Host, Value};
use farcall_ir::module::Inst;
use farcall_ir::{AttrDict, Func, Literal, Module, Op, Type};

use crate::executable::Executable;
use crate::registry::Registry;

/// Runs the evaluator's custom calls on targets of a registry. Every call instantiates its target
/// anew, so that state lasts for one call only.
#[derive(Debug)]
pub struct RegistryHost<'a> {
    registry: &'a Registry,
    denormals: Denormals,
}

impl<'a> RegistryHost<'a> {
    /// A host over a registry; handlers are entered in this mode.
    pub fn new(registry: &'a Registry, denormals: Denormals) -> RegistryHost<'a> {
        RegistryHost { registry, denormals }
    }
}

impl Host for RegistryHost<'_> {
    fn custom_call(&self, site: &CallSite<'_>, operands: &[Value]) -> Result<Vec<Value>, String> {
        let results: Vec<Type> = site.results().cloned().collect();
        let module = program_of(site, &results);
        let executable =
            Executable::of_call(module, self.registry, self.denormals).map_err(|e| e.to_string())?;
        let mut inputs = Vec::new();
        operands.iter().for_each(|o| leaves(o, &mut inputs));
        let outputs = executable.run(&inputs).map_err(|e| e.to_string())?;
        let mut outputs = outputs.into_iter();
        results.iter().map(|ty| value(ty, &mut outputs)).collect()
    }
}

/// A program whose entry is this call.
fn program_of(site: &CallSite<'_>, results: &[Type]) -> Module {
    let span = site.inst.span;
    let mut func = Func::new("main", span);
    let operand_types = site.inst.operands.iter().map(|o| site.func.ty(*o).clone());
    let params: Vec<_> = operand_types.map(|ty| func.new_value(ty)).collect();
    let returned: Vec<_> = results.iter().map(|ty| func.new_value(ty.clone())).collect();
    func.param_attrs = vec![AttrDict::new(); params.len()];
    func.result_attrs = vec![AttrDict::new(); results.len()];
    func.results = results.to_vec();
    func.body.args.clone_from(&params);
    func.body.insts = vec![
        Inst { operands: params, results: returned.clone(), ..site.inst.clone() },
        Inst {
            op: Op::Return,
            operands: returned,
            results: Vec::new(),
            regions: Vec::new(),
            attrs: AttrDict::new(),
            span,
            loc: None,
        },
    ];
    let mut module = Module::new(Arc::clone(&site.module.source));
    module.funcs.push(func);
    module
}

/// The tensors in a value.
fn leaves(value: &Value, out: &mut Vec<Literal>) {
    match value {
        Value::Tensor(l) => out.push(l.clone()),
        Value::Token => {}
        Value::Tuple(parts) => parts.iter().for_each(|p| leaves(p, out)),
    }
}

/// The value of a type whose tensors come next.
fn value(ty: &Type, tensors: &mut dyn Iterator<Item = Literal>) -> Result<Value, String> {
    match ty {
        Type::Token => Ok(Value::Token),
        Type::Tuple(parts) => {
            let parts: Result<Vec<Value>, String> = parts.iter().map(|p| value(p, tensors)).collect();
            parts.map(Value::Tuple)
        }
        _ => tensors.next().map(Value::Tensor).ok_or_else(|| "the call gave too few results".to_owned()),
    }
}
