//! Matrix decompositions of real matrices that XLA expands for TPUs: `Qr`,
//! `ProductOfElementaryHouseholderReflectors` and `Eigh`. Each call is replaced by a StableHLO program
//! (`algorithms/`) for a batch of matrices of one size.

use farcall_sig::DType;

use super::Replacement;
use crate::diag::{Source, Span};
use crate::ids::FuncId;
use crate::module::{Func, Inst, InstId, NewInst, Rewriter};
use crate::op::{CallConfig, CustomCall, Op};
use crate::text;
use crate::types::{TensorType, Type};

/// A program for one call, and the types of the call's operands and results. The program works on matrices
/// and vectors with a single batch dimension.
pub(super) struct Decomposition {
    program: String,
    operands: Vec<TensorType>,
    results: Vec<TensorType>,
}

const QR: &str = include_str!("algorithms/qr.mlir");
const HOUSEHOLDER: &str = include_str!("algorithms/householder.mlir");
const EIGH: &str = include_str!("algorithms/eigh.mlir");

/// True for calls of decompositions. XLA recognizes these calls, too.
pub(crate) fn is_decomposition(call: &CustomCall) -> bool {
    matches!(call.target.as_str(), "Qr" | "ProductOfElementaryHouseholderReflectors" | "Eigh")
}

pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let func = inst.func();
    let types = |values: &[_]| -> Option<Vec<TensorType>> {
        values
            .iter()
            .map(|v| func.tensor(*v).filter(|ty| ty.is_static() && ty.quant.is_none()).cloned())
            .collect()
    };
    let template = match call.target.as_str() {
        "Qr" => QR,
        "ProductOfElementaryHouseholderReflectors" => HOUSEHOLDER,
        "Eigh" => EIGH,
        _ => return None,
    };
    let (operands, results) = (types(inst.operands())?, types(inst.results())?);
    let a = operands.first()?;
    let [batch @ .., m, n] = a.sizes() else { return None };
    let vectors = |count: usize| a.with_sizes([batch, &[count]].concat());
    let shortest = *m.min(n);
    let fits = match template {
        QR => operands.len() == 1 && results == [a.clone(), vectors(shortest)],
        HOUSEHOLDER => {
            let count = operands.get(1).and_then(|taus| taus.sizes().last()).copied();
            count.is_some_and(|k| {
                k > 0 && k <= shortest && operands == [a.clone(), vectors(k)] && results == [a.clone()]
            })
        }
        _ => m == n && operands.len() == 1 && results == [a.clone(), vectors(*n)],
    };
    let (name, epsilon) = match a.dtype {
        DType::F32 => ("f32", "1.0e-14"),
        DType::F64 => ("f64", "1.0e-31"),
        _ => return None,
    };
    if !fits || *m == 0 || *n == 0 {
        return None;
    }
    let count = count(batch);
    let reflectors = operands.get(1).and_then(|taus| taus.sizes().last()).copied().unwrap_or(shortest);
    // The format is `lower,sort,max_iter,tol`.
    let config = match &call.config {
        CallConfig::Text(config) => String::from_utf8_lossy(config).into_owned(),
        CallConfig::Absent | CallConfig::Dict(_) => String::new(),
    };
    let fields: Vec<&str> = config.split(',').map(str::trim).collect();
    let is_upper = fields.first() == Some(&"0");
    let sweeps = fields.get(2).and_then(|n| n.parse::<u16>().ok()).filter(|n| *n > 0).unwrap_or(100);
    let program = [
        ("$triangle", if is_upper { "LE" } else { "GE" }.to_owned()),
        ("$epsilon", epsilon.to_owned()),
        ("$sweeps", sweeps.to_string()),
        ("$b", count.to_string()),
        ("$m", m.to_string()),
        ("$n", n.to_string()),
        ("$k", reflectors.to_string()),
        ("$l", (reflectors - 1).to_string()),
        ("$t", name.to_owned()),
    ]
    .into_iter()
    .fold(template.to_owned(), |text, (key, value)| text.replace(key, &value));
    Some(Replacement::Decomposed(Decomposition { program, operands, results }))
}

/// Merges the batch dimensions of a type into one. The last `rank` dimensions belong to a matrix or vector.
fn flat(ty: &TensorType, rank: usize) -> TensorType {
    let (batch, rest) = ty.sizes().split_at(ty.rank() - rank);
    ty.with_sizes([&[count(batch)], rest].concat())
}

impl Decomposition {
    /// Replaces the call by the program.
    pub(super) fn apply(self, r: &mut Rewriter<'_>, call: InstId) {
        let Some(callee) = self.callee(r.func().inst(call).span()) else { return };
        let matrices = self.operands[0].rank();
        let flattened = |ty: &TensorType| flat(ty, if ty.rank() == matrices { 2 } else { 1 });
        let operands = r.func().inst(call).operands().to_vec();
        let mut values = Vec::new();
        for (value, ty) in operands.into_iter().zip(&self.operands) {
            values.push(r.value_before(call, Op::Reshape, [value], flattened(ty)));
        }
        let types: Vec<Type> = self.results.iter().map(|ty| flattened(ty).into()).collect();
        let new = NewInst::new(Op::Call { callee: FuncId::new(0) }, values);
        let made = r.insert_before(call, new, types);
        let results = r.func().inst(made).results().to_vec();
        let mut values = Vec::new();
        for (value, ty) in results.into_iter().zip(&self.results) {
            values.push(r.value_before(call, Op::Reshape, [value], ty.clone()));
        }
        r.replace(call, &values);
        r.inline(made, &callee);
    }

    /// Parses the program's function, whose instructions get the position of the call.
    fn callee(&self, at: Span) -> Option<Func> {
        let module = text::parse(&Source::new("algorithm", self.program.clone()));
        debug_assert!(module.is_ok(), "{module:?}");
        let mut func = module.ok()?.funcs().first()?.clone();
        let mut insts = Vec::new();
        func.walk(&mut |inst| insts.push(inst.id()));
        insts.into_iter().for_each(|inst| func.set_span(inst, at));
        Some(func)
    }
}

/// Number of matrices in a batch. If the type has no elements, the product of the other sizes may overflow.
fn count(batch: &[usize]) -> usize {
    if batch.contains(&0) { 0 } else { batch.iter().product() }
}
