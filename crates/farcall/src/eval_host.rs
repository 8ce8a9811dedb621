//! Custom calls for the reference evaluator, with the same targets and handlers as in the engine.
//!
//! The evaluator passes one call at a time. The host compiles a program of that single call, so that layouts,
//! aliases, tuples and tokens have the same meaning as in the engine.

use std::cell::RefCell;
use std::collections::HashMap;

use farcall_ir::eval::{EvalHost, EvalValue, HostCall, HostError, Numerics, tensors};
use farcall_ir::op::CustomCall;
use farcall_ir::{InstId, Type};

use crate::executable::Executable;
use farcall_host::registry::Registry;
use farcall_runtime::values;

/// Runs the evaluator's custom calls on targets of a registry.
///
/// Each call instruction of the program instantiates its target once; the state lasts as long as the host.
/// (In the engine, a function is inlined at every call of the function, and each copy of the instruction has
/// a separate call site, and so a separate state.)
#[derive(Debug)]
pub struct RegistryHost<'a> {
    registry: &'a Registry,
    numerics: Numerics,
    /// Compiled calls, by name of the function and number of the instruction.
    known: RefCell<HashMap<(String, InstId), Known>>,
}

/// A call that has been compiled.
#[derive(Debug)]
struct Known {
    call: CustomCall,
    operands: Vec<Type>,
    results: Vec<Type>,
    executable: Executable,
}

impl<'a> RegistryHost<'a> {
    /// Creates a host for a registry. `numerics` is the mode in which handlers are entered.
    pub fn new(registry: &'a Registry, numerics: impl Into<Numerics>) -> RegistryHost<'a> {
        RegistryHost { registry, numerics: numerics.into(), known: RefCell::default() }
    }

    /// Returns the compiled program of one call.
    fn executable(&self, site: &HostCall<'_>) -> Result<Executable, HostError> {
        let (func, inst) = (site.inst.func(), site.inst);
        let operands = inst.operands().iter().map(|id| func.ty(*id));
        let results = inst.results().iter().map(|id| func.ty(*id));
        let key = (func.name.clone(), inst.id());
        let mut known = self.known.borrow_mut();
        // Another program may have an instruction with the same key.
        if let Some(known) = known.get(&key)
            && known.call == *site.call
            && known.operands.iter().eq(operands.clone())
            && known.results.iter().eq(results.clone())
        {
            return Ok(known.executable.clone());
        }
        let module = site.module.extract(inst);
        let executable = Executable::of_call(module, self.registry, self.numerics)?;
        let new = Known {
            call: site.call.clone(),
            operands: operands.cloned().collect(),
            results: results.cloned().collect(),
            executable: executable.clone(),
        };
        known.insert(key, new);
        Ok(executable)
    }
}

impl EvalHost for RegistryHost<'_> {
    fn custom_call(&self, site: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        let executable = self.executable(site)?;
        let outputs = executable.run(&tensors(operands))?;
        Ok(values(site.results(), outputs)?)
    }
}
