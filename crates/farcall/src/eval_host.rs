//! Custom calls for the reference evaluator: the same targets, the same handlers.
//!
//! The evaluator passes one call at a time. The host compiles a program of that single call, so that layouts,
//! aliases, tuples and tokens mean the same as in the engine.

use std::cell::RefCell;
use std::collections::HashMap;

use farcall_ir::eval::{CallSite, Host, HostError, Numerics, Value, tensors};
use farcall_ir::op::CustomCall;
use farcall_ir::{InstId, Type};

use crate::executable::Executable;
use crate::registry::Registry;
use crate::runtime::values;

/// Runs the evaluator's custom calls on targets of a registry.
///
/// A call of the program instantiates its target once: its state lasts as long as the host. (The
/// engine has a call site, and so a state, for every call of the function that holds the instruction.)
#[derive(Debug)]
pub struct RegistryHost<'a> {
    registry: &'a Registry,
    numerics: Numerics,
    /// By name of the function and number of the instruction.
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
    /// A host over a registry; handlers are entered in this mode.
    pub fn new(registry: &'a Registry, numerics: impl Into<Numerics>) -> RegistryHost<'a> {
        RegistryHost { registry, numerics: numerics.into(), known: RefCell::default() }
    }

    /// The program of one call.
    fn executable(&self, site: &CallSite<'_>) -> Result<Executable, HostError> {
        let (func, inst) = (site.inst.func(), site.inst);
        let operands = inst.operands().iter().map(|id| func.ty(*id));
        let results = inst.results().iter().map(|id| func.ty(*id));
        let key = (func.name.clone(), inst.id());
        let mut known = self.known.borrow_mut();
        // Of another program, maybe.
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

impl Host for RegistryHost<'_> {
    fn custom_call(&self, site: &CallSite<'_>, operands: &[Value]) -> Result<Vec<Value>, HostError> {
        let executable = self.executable(site)?;
        let outputs = executable.run(&tensors(operands))?;
        Ok(values(site.results(), outputs)?)
    }
}
