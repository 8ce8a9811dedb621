//! Custom-call partitioners and `InspectSharding` callbacks written in Python.
//!
//! The Python package wraps the functions so that they take and return plain values
//! (`xla_client/_registration.py`).

use std::ffi::{CString, c_void};
use std::sync::Arc;

use farcall::ir::sharding::TileAssignment;
use farcall::partition::{DividedCall, Partitioner, ShardedCall, ShardedTensor, register_partitioner};
use farcall_ffi::unwind;
use farcall_pjrt::{InspectShardingArgs, InspectShardingCallback};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::lowering::keep_raised;

/// A division among devices: the number of parts of each dimension, the number of devices that have the same
/// part, and the numbers of the devices.
type Division = (Vec<usize>, usize, Vec<usize>);

/// Wrapped functions of Python.
#[derive(Debug)]
struct PythonPartitioner {
    partition: Py<PyAny>,
    infer_sharding_from_operands: Py<PyAny>,
    propagate_user_sharding: Py<PyAny>,
    can_side_effecting_have_replicated_sharding: bool,
}

/// Registers a partitioner for a target. Each function takes the operands and the results, each as element
/// type, sizes and division, and the call's configuration.
#[pyfunction]
pub(crate) fn register_partitioner_functions(
    target: String,
    partition: Py<PyAny>,
    infer_sharding_from_operands: Py<PyAny>,
    propagate_user_sharding: Py<PyAny>,
    can_side_effecting_have_replicated_sharding: bool,
) {
    let partitioner = PythonPartitioner {
        partition,
        infer_sharding_from_operands,
        propagate_user_sharding,
        can_side_effecting_have_replicated_sharding,
    };
    register_partitioner(target, Arc::new(partitioner));
}

impl Partitioner for PythonPartitioner {
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String> {
        type Divided = (Vec<u8>, Vec<Division>, Vec<Division>);
        let (program, operands, results): Divided = ask(&self.partition, call)?;
        Ok(DividedCall {
            program,
            operands: assignments(operands, &call.operands)?,
            results: assignments(results, &call.results)?,
        })
    }

    fn infer_sharding_from_operands(
        &self,
        call: &ShardedCall,
    ) -> Result<Option<Vec<TileAssignment>>, String> {
        let inferred: Option<Vec<Division>> = ask(&self.infer_sharding_from_operands, call)?;
        inferred.map(|divisions| assignments(divisions, &call.results)).transpose()
    }

    fn propagate_user_sharding(&self, call: &ShardedCall) -> Result<Vec<TileAssignment>, String> {
        assignments(ask(&self.propagate_user_sharding, call)?, &call.results)
    }

    fn can_side_effecting_have_replicated_sharding(&self) -> bool {
        self.can_side_effecting_have_replicated_sharding
    }
}

/// Calls a function of Python. Its exception becomes the cause of the compilation's error.
fn ask<T: for<'py> FromPyObjectOwned<'py>>(function: &Py<PyAny>, call: &ShardedCall) -> Result<T, String> {
    let described = |tensors: &[ShardedTensor]| -> Vec<(&'static str, Vec<usize>, Division)> {
        tensors
            .iter()
            .map(|tensor| (tensor.ty.dtype.name(), tensor.ty.sizes().to_vec(), division(&tensor.sharding)))
            .collect()
    };
    Python::attach(|py| {
        let config = PyBytes::new(py, &call.config);
        let answer = function.bind(py).call1((described(&call.operands), described(&call.results), config));
        answer.and_then(|answer| answer.extract().map_err(Into::into)).map_err(|error| raised(py, error))
    })
}

fn division(from: &TileAssignment) -> Division {
    (from.tiles.clone(), from.copies, from.devices.clone())
}

/// Converts divisions of tensors.
fn assignments(divisions: Vec<Division>, tensors: &[ShardedTensor]) -> Result<Vec<TileAssignment>, String> {
    if divisions.len() != tensors.len() {
        return Err(format!("{} shardings for {} tensors", divisions.len(), tensors.len()));
    }
    let assignment = |((tiles, copies, devices), tensor): (Division, &ShardedTensor)| TileAssignment {
        sizes: tensor.ty.sizes().to_vec(),
        tiles,
        summands: 1,
        copies,
        devices,
    };
    Ok(divisions.into_iter().zip(tensors).map(assignment).collect())
}

/// Returns the configuration of an `InspectSharding` call that passes the operand's division to a function:
/// the number of parts of each dimension, the number of devices with the same part, and the devices. The
/// function is kept for the rest of the process.
#[pyfunction]
pub(crate) fn inspect_sharding_config(function: Py<PyAny>) -> Vec<u8> {
    let callback = InspectShardingCallback { call: Some(report), data: function.into_ptr().cast() };
    // SAFETY: `report` takes a function of Python, which keeps its reference.
    unsafe { callback.issue() }.to_vec()
}

/// Calls a function of Python.
unsafe extern "C" fn report(function: *mut c_void, args: *mut InspectShardingArgs) {
    let reported = || {
        // SAFETY: the compiler passes valid arguments.
        let sharding = unsafe { (*args).sharding() }?;
        Python::attach(|py| {
            // SAFETY: `inspect_sharding_config` created the callback with this function.
            let function = unsafe { Bound::from_borrowed_ptr(py, function.cast()) };
            function.call1(division(&sharding)).map(drop).map_err(|error| raised(py, error))
        })
    };
    // A panic must not reach the compiler's side of the interface.
    let reported = unwind::catch(reported).unwrap_or_else(|_| Err("a panic".to_owned()));
    if let Err(problem) = reported {
        let problem = CString::new(problem.replace('\0', " ")).unwrap_or_default();
        // SAFETY: see above.
        unsafe {
            (*args).error_data = problem.into_raw().cast();
            (*args).error = (*args).error_data.cast();
            (*args).free_error = Some(free_error);
        }
    }
}

unsafe extern "C" fn free_error(args: *mut InspectShardingArgs) {
    // SAFETY: the compiler calls the function once, for arguments with an error of `report`.
    drop(unsafe { CString::from_raw((*args).error_data.cast()) });
}

/// Returns the message of an exception, which becomes the cause of the compilation's error.
fn raised(py: Python<'_>, error: PyErr) -> String {
    let message = error.value(py).to_string();
    keep_raised(error);
    message
}
