//! Targets of a single program.
//!
//! The host compiles programs on threads of its own, so a program names its scope: by the module's attribute
//! [`SCOPE_ATTRIBUTE`].

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall::Registry;
use farcall::ir::Module;

use crate::status::{Outcome, Status};

/// Attribute of a module: the number of its [`ProgramScope`].
pub const SCOPE_ATTRIBUTE: &str = "mhlo.farcall_scope";

/// The registry of a program, and an object that its handlers need. The scope ends when this object is
/// dropped; programs that were compiled in it keep what they need.
#[derive(Debug)]
pub struct ProgramScope {
    number: i64,
}

/// Contents of a scope.
#[derive(Clone)]
pub(crate) struct Targets {
    pub(crate) registry: Registry,
    pub(crate) owner: Option<Arc<dyn Any + Send + Sync>>,
}

static SCOPES: Mutex<Option<HashMap<i64, Targets>>> = Mutex::new(None);

fn scopes() -> MutexGuard<'static, Option<HashMap<i64, Targets>>> {
    SCOPES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProgramScope {
    /// Creates a scope. Its programs find their targets in `registry` instead of the process's registry, and
    /// keep `owner` as long as they exist.
    pub fn new(registry: Registry, owner: Arc<dyn Any + Send + Sync>) -> ProgramScope {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        scopes().get_or_insert_default().insert(number, Targets { registry, owner: Some(owner) });
        ProgramScope { number }
    }

    /// The number that a program's attribute names.
    pub fn number(&self) -> i64 {
        self.number
    }
}

impl Drop for ProgramScope {
    fn drop(&mut self) {
        let removed = scopes().as_mut().and_then(|scopes| scopes.remove(&self.number));
        // The lock is free when the owner is dropped, which may run any code.
        drop(removed);
    }
}

/// Returns the targets of a module.
///
/// # Errors
/// If the scope that the module names has ended, or is of another process.
pub(crate) fn of(module: &Module) -> Outcome<Targets> {
    let Some(attribute) = module.attrs.get(SCOPE_ATTRIBUTE) else {
        return Ok(Targets { registry: Registry::global().clone(), owner: None });
    };
    let targets = attribute.as_i64().and_then(|number| scopes().as_ref()?.get(&number).cloned());
    targets.ok_or_else(|| {
        Status::invalid("the program's Python functions belong to another process or have ended")
    })
}
