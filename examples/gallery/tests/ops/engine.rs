//! Calls of ops in the engine, and of their derivatives as their declarations say.

use farcall::ir::{DType, Literal, Scalar, TensorType};
use farcall::registry::{Declaration, Platform, Target};
use farcall::sig::Attrs;
use farcall::sig::signature::{Batching, Inference, JvpSource, OperandType, VjpSource};
use farcall::{CompileOptions, Executable, Registry, op_program};
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

    /// Names of all targets, derivatives included.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.targets().iter().map(|target| target.name().to_owned()).collect()
    }

    fn target(&self, op: &str) -> Arc<Target> {
        self.0.lookup(op, &Platform::Host).unwrap_or_else(|| panic!("no op {op}"))
    }

    pub(crate) fn declaration(&self, op: &str) -> Declaration {
        self.target(op).declaration().unwrap_or_else(|| panic!("{op} has no declaration")).clone()
    }

    /// What the signature says of a call.
    fn infer(&self, op: &str, operands: &[Literal], attrs: &Attrs) -> Inference {
        let declaration = self.declaration(op);
        let dims: Vec<Vec<i64>> =
            operands.iter().map(|x| x.dims().iter().map(|d| *d as i64).collect()).collect();
        let types: Vec<_> =
            operands.iter().zip(&dims).map(|(x, dims)| OperandType { dtype: x.dtype(), dims }).collect();
        declaration.infer(&types, &declaration.signature.convert_attrs(attrs).unwrap()).unwrap()
    }

    /// How a call is batched if these operands are, by its signature.
    pub(crate) fn batching(&self, op: &str, batched: &[bool]) -> Batching {
        self.declaration(op).signature.batch_rule(batched).unwrap()
    }

    /// How a call of one operand is batched, along its first dimension.
    pub(crate) fn batching_of(&self, op: &str, operand: &Literal, attrs: &Attrs) -> Batching {
        let dims: Vec<i64> = operand.dims().iter().map(|d| *d as i64).collect();
        let types = [OperandType { dtype: operand.dtype(), dims: &dims }];
        self.declaration(op).batch_rule(&types, &[true], attrs).unwrap()
    }

    pub(crate) fn call(&self, op: &str, operands: &[Literal], attrs: &Attrs) -> Result<Vec<Literal>, String> {
        let types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
        let module = op_program(&self.target(op), &types, attrs).map_err(|e| e.to_string())?;
        let executable =
            Executable::compile(&module, &self.0, &CompileOptions::new()).map_err(|e| e.to_string())?;
        executable.run(operands).map_err(|e| e.to_string())
    }

    /// The call's results, and the cotangent of each operand that has one, from those of the results.
    pub(crate) fn vjp(
        &self,
        op: &str,
        operands: &[Literal],
        attrs: &Attrs,
        cotangents: impl FnOnce(&[Literal]) -> Vec<Literal>,
    ) -> (Vec<Literal>, Vec<Option<Literal>>) {
        let declaration = self.declaration(op);
        let vjp = declaration.vjp.as_ref().unwrap_or_else(|| panic!("{op} has no VJP"));
        let call = self.infer(op, operands, attrs);
        // Derivatives are called with the op's defaults.
        let attrs = &call.attrs;
        let forward = vjp.forward.as_deref().unwrap_or(op);
        let mut results = self.call(forward, operands, &self.select(forward, attrs)).unwrap();
        let residuals = results.split_off(call.results.len());
        let cotangents = cotangents(&results);
        let of_results = |values: &[Literal], decl| {
            let found = call.results.iter().zip(values).filter(|(result, _)| result.decl == decl);
            found.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let given = vjp.rule.operands.iter().flat_map(|source| match *source {
            VjpSource::Operand(decl) => of_slot(&call, operands, decl),
            VjpSource::Result(decl) => of_results(&results, decl),
            VjpSource::Residual(i) => vec![residuals[i].clone()],
            VjpSource::Cotangent(decl) => of_results(&cotangents, decl),
        });
        let given: Vec<Literal> = given.collect();
        let own = self.select(&vjp.backward, attrs);
        let gradients = self.call(&vjp.backward, &given, &own).unwrap();
        let backward = self.infer(&vjp.backward, &given, &own);
        let mut gradients: Vec<_> =
            backward.results.iter().map(|result| result.decl).zip(gradients).map(Some).collect();
        let mut next = |decl: usize| {
            let found = gradients.iter_mut().find(|g| g.as_ref().is_some_and(|(own, _)| *own == decl));
            found.and_then(Option::take).map(|(_, gradient)| gradient)
        };
        let all = call.operands.iter().map(|slot| vjp.rule.cotangents[*slot].and_then(&mut next));
        let all = all.collect();
        (results, all)
    }

    /// The call's results, and the tangent of each that has one, from those of the operands that have some.
    pub(crate) fn jvp(
        &self,
        op: &str,
        operands: &[Literal],
        attrs: &Attrs,
        tangents: &[Literal],
    ) -> (Vec<Literal>, Vec<Option<Literal>>) {
        let declaration = self.declaration(op);
        let jvp = declaration.jvp.as_ref().unwrap_or_else(|| panic!("{op} has no JVP"));
        let call = self.infer(op, operands, attrs);
        let attrs = &call.attrs;
        let results = self.call(op, operands, attrs).unwrap();
        let given = jvp.rule.operands.iter().flat_map(|source| match *source {
            JvpSource::Operand(decl) => of_slot(&call, operands, decl),
            JvpSource::Result(decl) => vec![results[decl].clone()],
            JvpSource::Tangent(decl) => of_slot(&call, tangents, decl),
        });
        let given: Vec<Literal> = given.collect();
        let found = self.call(&jvp.tangent, &given, &self.select(&jvp.tangent, attrs)).unwrap();
        let tangents = jvp.rule.tangents.iter().map(|i| i.map(|i| found[i].clone())).collect();
        (results, tangents)
    }

    /// The attributes that an op has among those of the op that it is a derivative of.
    fn select(&self, op: &str, attrs: &Attrs) -> Attrs {
        let declaration = self.declaration(op);
        let own = declaration.signature.attrs();
        let known = own.iter().filter_map(|a| Some((a.name.text.clone(), attrs.get(&a.name.text)?.clone())));
        known.collect()
    }
}

fn of_slot(call: &Inference, values: &[Literal], slot: usize) -> Vec<Literal> {
    let found = call.operands.iter().zip(values).filter(|(own, _)| **own == slot);
    found.map(|(_, value)| value.clone()).collect()
}

/// A tensor of these numbers; complex ones as real and imaginary parts in turn.
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

/// The numbers of a tensor; complex ones as real and imaginary parts in turn.
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

/// The real part of the sum of products, without a conjugate.
pub(crate) fn product(a: &Literal, b: &Literal) -> f64 {
    let sign = |i: usize| if a.dtype().is_complex() && i % 2 == 1 { -1.0 } else { 1.0 };
    numbers(a).iter().zip(numbers(b)).enumerate().map(|(i, (a, b))| sign(i) * a * b).sum()
}

pub(crate) fn is_continuous(x: &Literal) -> bool {
    x.dtype().is_float() || x.dtype().is_complex()
}

/// Tensors of one type, along a new first dimension.
pub(crate) fn stack(entries: &[Literal]) -> Literal {
    let dims = [&[entries.len()], entries[0].dims()].concat();
    let bytes: Vec<u8> = entries.iter().flat_map(|x| x.bytes().to_vec()).collect();
    Literal::from_bytes(entries[0].dtype(), dims, &bytes).unwrap()
}

/// Asserts that two tensors are of one type, and their numbers close to each other.
#[track_caller]
pub(crate) fn assert_close(what: &str, found: &Literal, expected: &Literal, tolerance: f64) {
    assert_eq!(found.ty().to_string(), expected.ty().to_string(), "{what}");
    for (i, (a, b)) in numbers(found).into_iter().zip(numbers(expected)).enumerate() {
        let close = (a - b).abs() <= tolerance * b.abs().max(1.0) || (a.is_nan() && b.is_nan());
        assert!(close, "{what}: {i}: {a} is not {b}");
    }
}
