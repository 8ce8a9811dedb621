//! Queries for Python's builders of HLO text: the types of an instruction's results, and the custom calls of
//! a program.

use farcall_ir::op::{CallConfig, Op};
use farcall_ir::{Diagnostic, Module, Type, ValueId, infer, read, verify};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error::{self, guarded};

/// An element type's short name and a shape; `None` for a token.
type Inferred = Option<(&'static str, Vec<usize>)>;

/// Returns the result types of a program's last instruction, whose results the entry function returns. The
/// types in the text matter only if the operation does not determine them.
///
/// # Errors
/// `ValueError` for invalid text, and for operands, attributes and computations that do not fit the
/// operation. The messages have no source positions, because the text is generated and not visible to users.
#[pyfunction]
pub(crate) fn infer_root(program: PyBackedBytes) -> PyResult<Vec<Inferred>> {
    guarded(|| {
        let module = read::module(&program, "").map_err(|e| invalid(&e.diagnostics))?;
        let types = root_types(&module).map_err(|diagnostics| invalid(&diagnostics))?;
        types.iter().map(inferred).collect()
    })
}

/// Checks a program, including the types in its text.
///
/// # Errors
/// `ValueError` for an invalid program. The messages have no source positions, because the text is generated
/// and not visible to users.
#[pyfunction]
pub(crate) fn verify_program(program: PyBackedBytes) -> PyResult<()> {
    guarded(|| {
        let module = read::module(&program, "").map_err(|e| invalid(&e.diagnostics))?;
        verify::verify(&module).map(drop).map_err(|e| invalid(&e.diagnostics))
    })
}

fn root_types(module: &Module) -> Result<Vec<Type>, Vec<Diagnostic>> {
    let nothing = || vec![Diagnostic::global("empty", "the instruction has no results")];
    let func = module.entry().ok_or_else(nothing)?;
    let root = func.body().returned().first().ok_or_else(nothing)?;
    match func.defining_inst(*root) {
        Some(inst) => infer::result_types(inst),
        None => Ok(vec![func.ty(*root).clone()]),
    }
}

fn inferred(ty: &Type) -> PyResult<Inferred> {
    match ty {
        Type::Token => Ok(None),
        Type::Tensor(ty) if ty.static_sizes().is_some() => Ok(Some((ty.dtype.name(), ty.sizes().to_vec()))),
        other => Err(PyValueError::new_err(format!("results of type {other} are not supported"))),
    }
}

fn invalid(diagnostics: &[Diagnostic]) -> PyErr {
    let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    PyValueError::new_err(messages.join("; "))
}

/// Returns the types of a program's inputs and of its results.
///
/// # Errors
/// `ValueError` for an invalid program, and for a program with dynamic sizes.
#[pyfunction]
pub(crate) fn entry_types(program: PyBackedBytes, name: &str) -> PyResult<(Vec<Inferred>, Vec<Inferred>)> {
    guarded(|| {
        let module = read::module(&program, name).map_err(|e| error::program(&e))?;
        let Some(func) = module.entry() else {
            return Err(PyValueError::new_err("the program has no entry"));
        };
        let types =
            |values: &[ValueId]| values.iter().map(|v| inferred(func.ty(*v))).collect::<PyResult<_>>();
        Ok((types(func.params())?, types(func.body().returned())?))
    })
}

/// Returns the custom calls of a program: the target of each, and its configuration if that is a string.
///
/// # Errors
/// `ValueError` for an invalid program.
#[pyfunction]
pub(crate) fn custom_calls(program: PyBackedBytes, name: &str) -> PyResult<Vec<(String, Vec<u8>)>> {
    guarded(|| {
        let module = read::module(&program, name).map_err(|e| error::program(&e))?;
        let mut calls = Vec::new();
        for func in module.funcs() {
            func.walk(&mut |inst| {
                let Op::CustomCall(call) = inst.op() else { return };
                let config = match &call.config {
                    CallConfig::Text(text) => text.to_vec(),
                    CallConfig::Absent | CallConfig::Dict(_) => Vec::new(),
                };
                calls.push((call.target.clone(), config));
            });
        }
        Ok(calls)
    })
}
