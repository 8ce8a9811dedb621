//! Functions that call ops and their declared derivatives in the engine.

use farcall::ir::{DType, Literal, Scalar, TensorType};
use farcall::registry::{Declaration, Platform, Target};
use farcall::sig::AttrValues;
use farcall::sig::signature::{Batching, OperandType};
use farcall::{
    Argument, CompileOptions, DerivativeCall, Executable, Linear, OpCall, Registry, Saved, op_program,
};
use std::sync::Arc;

/// The ops of the gallery.
pub(crate) struct Ops(Registry);

impl Ops {
    pub(crate) fn new() -> Ops {
        let registry = Registry::new();
        for table in gallery_ops::TABLES {
            registry.register_ops(table).unwrap();
        }
        Ops(registry)
    }

    /// Returns the names of all targets, including derivatives.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.targets().iter().map(|target| target.name().to_owned()).collect()
    }

    fn target(&self, op: &str) -> Arc<Target> {
        self.0.lookup(op, &Platform::Host).unwrap_or_else(|| panic!("there is no op {op}"))
    }

    pub(crate) fn declaration(&self, op: &str) -> Declaration {
        self.target(op).declaration().unwrap_or_else(|| panic!("{op} has no declaration")).clone()
    }

    /// Returns the derivative of a call with respect to all differentiable operands.
    fn linear(&self, op: &str, operands: &[Literal], attrs: &AttrValues) -> Linear {
        let declaration = self.declaration(op);
        let tensors: Vec<(DType, Vec<i64>)> =
            operands.iter().map(|x| (x.dtype(), x.dims().iter().map(|d| *d as i64).collect())).collect();
        let types: Vec<_> = tensors.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect();
        let attrs = declaration.signature.convert_attrs(attrs).unwrap();
        let call = declaration.infer(&types, &attrs).unwrap();
        let moving = declaration.differentiable(&types, &call);
        Linear::new(&self.target(op), tensors, &attrs, moving).unwrap()
    }

    /// Returns the batching rule that the signature gives for a call with these batched operands.
    pub(crate) fn batching(&self, op: &str, batched: &[bool]) -> Batching {
        self.declaration(op).signature.batch_rule(batched).unwrap()
    }

    /// Returns the batching rule of a call of one operand, along its first dimension.
    pub(crate) fn batching_of(&self, op: &str, operand: &Literal, attrs: &AttrValues) -> Batching {
        let dims: Vec<i64> = operand.dims().iter().map(|d| *d as i64).collect();
        let types = [OperandType { dtype: operand.dtype(), dims: &dims }];
        self.declaration(op).batch_rule(&types, &[true], attrs).unwrap()
    }

    pub(crate) fn call(
        &self,
        op: &str,
        operands: &[Literal],
        attrs: &AttrValues,
    ) -> Result<Vec<Literal>, String> {
        let types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
        let module = op_program(&self.target(op), &types, attrs).map_err(|e| e.to_string())?;
        let executable =
            Executable::compile(&module, &self.0, &CompileOptions::new()).map_err(|e| e.to_string())?;
        executable.run(operands).map_err(|e| e.to_string())
    }

    /// Computes the call's results. From the cotangents of the results, also computes the cotangent of each
    /// operand that has one.
    pub(crate) fn vjp(
        &self,
        op: &str,
        operands: &[Literal],
        attrs: &AttrValues,
        cotangents: impl FnOnce(&[Literal]) -> Vec<Literal>,
    ) -> (Vec<Literal>, Vec<Option<Literal>>) {
        let linear = self.linear(op, operands, attrs);
        // The attributes of the calls below include the op's defaults.
        let forward = linear
            .forward()
            .unwrap_or_else(|| OpCall { target: op.to_owned(), attrs: linear.call().attrs.clone() });
        let mut results = self.call(&forward.target, operands, &forward.attrs).unwrap();
        let residuals = results.split_off(linear.call().results.len());
        let all = cotangents(&results);
        let cotangents: Vec<Literal> = linear.results().iter().map(|i| all[*i].clone()).collect();
        let values = saved(&linear, operands, &results, &residuals);
        let backward = linear.backward(&vec![false; cotangents.len()]).unwrap();
        let gradients = self.derivative(&backward, &values, &cotangents);
        let mut all = vec![None; operands.len()];
        linear.moving().iter().zip(gradients).for_each(|(i, gradient)| all[*i] = gradient);
        (results, all)
    }

    /// Computes the call's results. From the tangents of the operands, also computes the tangent of each
    /// result that has one.
    pub(crate) fn jvp(
        &self,
        op: &str,
        operands: &[Literal],
        attrs: &AttrValues,
        tangents: &[Literal],
    ) -> (Vec<Literal>, Vec<Option<Literal>>) {
        let linear = self.linear(op, operands, attrs);
        let results = self.call(op, operands, &linear.call().attrs).unwrap();
        let mut values = saved(&linear, operands, &results, &[]);
        values.extend(linear.moving().iter().map(|i| tangents[*i].clone()));
        let found = self.derivative(&linear.tangent().unwrap(), &values, &[]);
        let mut all = vec![None; results.len()];
        linear.results().iter().zip(found).for_each(|(i, tangent)| all[*i] = tangent);
        (results, all)
    }

    /// Calls a derivative op.
    fn derivative(
        &self,
        call: &DerivativeCall,
        values: &[Literal],
        cotangents: &[Literal],
    ) -> Vec<Option<Literal>> {
        let given = call.operands.iter().map(|argument| match argument {
            Argument::Value(i) => values[*i].clone(),
            Argument::Cotangent(i) => cotangents[*i].clone(),
            Argument::Zeros((dtype, dims)) => {
                Literal::zeros(*dtype, dims.iter().map(|d| *d as usize).collect::<Vec<_>>())
            }
        });
        let results = self.call(&call.op.target, &given.collect::<Vec<_>>(), &call.op.attrs).unwrap();
        call.results.iter().map(|i| i.map(|i| results[i].clone())).collect()
    }
}

/// Returns the saved values that derivatives need. Only a backward op uses residuals; for a tangent op, they
/// are replaced by empty tensors.
fn saved(linear: &Linear, operands: &[Literal], results: &[Literal], residuals: &[Literal]) -> Vec<Literal> {
    let value = |saved| match saved {
        Saved::Operand(i) => operands[i].clone(),
        Saved::Result(i) => results[i].clone(),
        Saved::Residual(i) => residuals.get(i).cloned().unwrap_or_else(|| Literal::zeros(DType::F32, [0])),
    };
    linear.saved().into_iter().map(value).collect()
}

/// Makes a tensor of these numbers. For a complex type, real and imaginary parts alternate in `values`.
pub(crate) fn literal(dtype: DType, dims: &[usize], values: &[f64]) -> Literal {
    match dtype.is_complex() {
        true => Literal::from_bytes(
            DType::C128,
            dims,
            &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
        )
        .unwrap(),
        false => {
            assert_eq!(dims.iter().product::<usize>(), values.len());
            let scalar = |i: usize| match dtype {
                DType::Pred => Scalar::Bool(values[i] != 0.0),
                DType::S32 => Scalar::Signed(values[i] as i64),
                _ => Scalar::Float(values[i]),
            };
            Literal::from_fn(dtype, dims, scalar)
        }
    }
}

pub(crate) fn f64s(dims: &[usize], values: &[f64]) -> Literal {
    literal(DType::F64, dims, values)
}

/// Returns the numbers of a tensor. For a complex type, real and imaginary parts alternate.
pub(crate) fn numbers(x: &Literal) -> Vec<f64> {
    let all = x.iter().flat_map(|scalar| match scalar {
        Scalar::Bool(value) => vec![f64::from(u8::from(value))],
        Scalar::Signed(value) => vec![value as f64],
        Scalar::Unsigned(value) => vec![value as f64],
        Scalar::Float(value) => vec![value],
        Scalar::Complex(value) => vec![value.re, value.im],
    });
    all.collect()
}

/// Returns the real part of the sum of the products of corresponding elements. No factor is conjugated.
pub(crate) fn product(a: &Literal, b: &Literal) -> f64 {
    let sign = |i: usize| if a.dtype().is_complex() && i % 2 == 1 { -1.0 } else { 1.0 };
    numbers(a).iter().zip(numbers(b)).enumerate().map(|(i, (a, b))| sign(i) * a * b).sum()
}

pub(crate) fn is_continuous(x: &Literal) -> bool {
    x.dtype().is_float() || x.dtype().is_complex()
}

/// Stacks tensors of one type along a new first dimension.
pub(crate) fn stack(entries: &[Literal]) -> Literal {
    let dims = [&[entries.len()], entries[0].dims()].concat();
    let bytes: Vec<u8> = entries.iter().flat_map(|x| x.bytes().to_vec()).collect();
    Literal::from_bytes(entries[0].dtype(), dims, &bytes).unwrap()
}

/// Asserts that two tensors have the same type and close numbers.
#[track_caller]
pub(crate) fn assert_close(what: &str, found: &Literal, expected: &Literal, tolerance: f64) {
    assert_eq!(found.ty().to_string(), expected.ty().to_string(), "{what}");
    for (i, (a, b)) in numbers(found).into_iter().zip(numbers(expected)).enumerate() {
        let close = (a - b).abs() <= tolerance * b.abs().max(1.0) || (a.is_nan() && b.is_nan());
        assert!(close, "{what}: element {i} is {a}, not {b}");
    }
}
