//! Matrix decompositions that XLA expands for TPUs: `Qr`, `ProductOfElementaryHouseholderReflectors` and
//! `Eigh`. A call becomes a composite with the target's name in the namespace `xla`. Its decomposition is a
//! StableHLO program (`algorithms/`). The compiler replaces the composite by a call of a registered target
//! ([`custom_call`]).

use farcall_sig::DType;
use rustc_hash::FxHashMap;

use super::Replacement;
use crate::attr::{AttrDict, Attribute};
use crate::diag::{Source, Span};
use crate::ids::FuncId;
use crate::module::{Func, Inst, InstId, Module, NewInst, Rewriter};
use crate::op::{CallConfig, Composite, CustomCall, Op};
use crate::text;
use crate::types::{TensorType, Type};

const QR: &str = include_str!("algorithms/qr.mlir");
const HOUSEHOLDER: &str = include_str!("algorithms/householder.mlir");
const EIGH: &str = include_str!("algorithms/eigh.mlir");

/// Namespace of the composites.
const NAMESPACE: &str = "xla.";
/// Attribute of a composite: the configuration of the call.
const CONFIG: &str = "backend_config";
/// Attribute of a composite: the version of the call's API.
const API_VERSION: &str = "api_version";
/// Attribute of a composite for `Eigh`: true if the lower triangle is read.
const LOWER: &str = "lower";

/// A composite for one call. The call has one result, a tuple, if `tuple` is present.
pub(super) struct Decomposition {
    target: String,
    attrs: AttrDict,
    program: String,
    results: Vec<TensorType>,
    tuple: Option<Type>,
}

/// Functions that decompose composites of a module, by their program.
pub(super) type Programs = FxHashMap<String, FuncId>;

/// True for calls of decompositions. XLA recognizes these calls, too.
pub(crate) fn is_decomposition(call: &CustomCall) -> bool {
    template(&call.target).is_some()
}

fn template(target: &str) -> Option<&'static str> {
    match target {
        "Qr" => Some(QR),
        "ProductOfElementaryHouseholderReflectors" => Some(HOUSEHOLDER),
        "Eigh" => Some(EIGH),
        _ => None,
    }
}

/// Returns the custom call for which a composite of a verified module stands; `None` for other composites.
///
/// Operands and results have the types of the composite, and row-major layouts. The composite's other
/// attributes are options for typed targets that declare them.
pub fn custom_call(composite: &Composite) -> Option<CustomCall> {
    let target = composite.name.strip_prefix(NAMESPACE).filter(|target| template(target).is_some())?;
    let config = match composite.attrs.get(CONFIG) {
        Some(Attribute::String(text)) => CallConfig::Text(text.clone()),
        Some(Attribute::Dict(dict)) => CallConfig::Dict(dict.clone()),
        _ => CallConfig::Absent,
    };
    let version = composite.attrs.get(API_VERSION).and_then(Attribute::as_i64);
    let api_version = version.and_then(|version| i32::try_from(version).ok());
    Some(CustomCall { config, api_version, ..CustomCall::new(target) })
}

pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    let template = template(&call.target)?;
    let func = inst.func();
    let types = |types: &[Type]| types.iter().map(plain).collect::<Option<Vec<TensorType>>>();
    let types_of = |values: &[_]| values.iter().map(|value| func.ty(*value).clone()).collect::<Vec<Type>>();
    let operands = types(&types_of(inst.operands()))?;
    let (results, tuple) = match types_of(inst.results()).as_slice() {
        [tuple @ Type::Tuple(parts)] => (types(parts)?, Some(tuple.clone())),
        results => (types(results)?, None),
    };
    let a = operands.first()?;
    let [batch @ .., m, n] = a.sizes() else { return None };
    let vectors = |dtype: DType, count: usize| a.with_dtype(dtype).with_sizes([batch, &[count]].concat());
    let shortest = *m.min(n);
    let real = a.dtype.real();
    let reflectors = operands.get(1).and_then(|taus| taus.sizes().last()).copied().unwrap_or(shortest);
    let fits = match call.target.as_str() {
        "Qr" => operands.len() == 1 && results == [a.clone(), vectors(a.dtype, shortest)],
        "Eigh" => m == n && operands.len() == 1 && results == [a.clone(), vectors(real, *n)],
        _ => {
            reflectors > 0
                && reflectors <= shortest
                && operands == [a.clone(), vectors(a.dtype, reflectors)]
                && results == [a.clone()]
        }
    };
    let is_supported = matches!(a.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
    if !fits || !is_supported || *m == 0 || *n == 0 {
        return None;
    }
    let options = EighOptions::of(call);
    let (zero, one) = if a.dtype.is_complex() { ("(0.0, 0.0)", "(1.0, 0.0)") } else { ("0.0", "1.0") };
    let shape = |ty: Option<&TensorType>| ty.map(shape).unwrap_or_default();
    let program = [
        ("$triangle", if options.lower { "GE" } else { "LE" }.to_owned()),
        ("$epsilon", if real == DType::F32 { "1.0e-14" } else { "1.0e-31" }.to_owned()),
        ("$sweeps", options.sweeps.to_string()),
        ("$zero", zero.to_owned()),
        ("$one", one.to_owned()),
        ("$A", shape(Some(a))),
        ("$B", shape(operands.get(1))),
        ("$C", shape(results.first())),
        ("$D", shape(results.get(1))),
        ("$b", count(batch).to_string()),
        ("$m", m.to_string()),
        ("$n", n.to_string()),
        ("$k", reflectors.to_string()),
        ("$l", (reflectors - 1).to_string()),
        ("$t", a.dtype.mlir().to_owned()),
        ("$r", real.mlir().to_owned()),
    ]
    .into_iter()
    .fold(template.to_owned(), |text, (key, value)| text.replace(key, &value));
    let attrs = attrs(call, &options);
    Some(Replacement::Decomposed(Decomposition {
        target: call.target.clone(),
        attrs,
        program,
        results,
        tuple,
    }))
}

/// Returns the type if it is a static tensor without quantization.
fn plain(ty: &Type) -> Option<TensorType> {
    ty.tensor().filter(|ty| ty.is_static() && ty.quant.is_none()).cloned()
}

/// Formats sizes and element type as in `tensor<2x3xf32>`.
fn shape(ty: &TensorType) -> String {
    let text = ty.to_string();
    text.strip_prefix("tensor<").and_then(|text| text.strip_suffix('>')).unwrap_or(&text).to_owned()
}

/// Options of `Eigh`.
struct EighOptions {
    /// True if the lower triangle is read.
    lower: bool,
    /// Maximum number of sweeps of rotations.
    sweeps: u16,
}

impl EighOptions {
    /// Reads a configuration of the format `lower,sort,max_iter,tol`, or the attribute `lower`.
    fn of(call: &CustomCall) -> EighOptions {
        let (mut lower, mut sweeps) = (true, None);
        match &call.config {
            CallConfig::Text(config) => {
                let config = String::from_utf8_lossy(config);
                let fields: Vec<&str> = config.split(',').map(str::trim).collect();
                lower = fields.first() != Some(&"0");
                sweeps = fields.get(2).and_then(|n| n.parse::<u16>().ok()).filter(|n| *n > 0);
            }
            CallConfig::Dict(dict) => lower = dict.get(LOWER).and_then(Attribute::as_bool).unwrap_or(true),
            CallConfig::Absent => {}
        }
        EighOptions { lower, sweeps: sweeps.unwrap_or(100) }
    }
}

/// Returns the composite's attributes, from which [`custom_call`] restores the call.
fn attrs(call: &CustomCall, options: &EighOptions) -> AttrDict {
    let mut attrs = AttrDict::new();
    match &call.config {
        CallConfig::Text(text) if !text.is_empty() => {
            attrs.insert(CONFIG.to_owned(), Attribute::string(text))
        }
        CallConfig::Dict(dict) => attrs.insert(CONFIG.to_owned(), Attribute::Dict(dict.clone())),
        CallConfig::Absent | CallConfig::Text(_) => None,
    };
    if let Some(version) = call.api_version {
        attrs.insert(API_VERSION.to_owned(), Attribute::i64(version.into()));
    }
    if call.target == "Eigh" {
        attrs.insert(LOWER.to_owned(), Attribute::Bool(options.lower));
    }
    attrs
}

impl Decomposition {
    /// Adds the function of the program to the module, unless the module has it.
    pub(super) fn add_program(&self, module: &mut Module, at: Span, programs: &mut Programs) {
        if programs.contains_key(&self.program) {
            return;
        }
        let base = format!("{NAMESPACE}{}.impl", self.target);
        let names = std::iter::once(base.clone()).chain((1..).map(|i| format!("{base}_{i}")));
        let name = { names }.find(|name| module.func(name).is_none()).unwrap_or(base);
        if let Some(mut func) = self.function(at) {
            func.name = name;
            programs.insert(self.program.clone(), module.add_func(func));
        }
    }

    /// Parses the program's function, whose instructions get the position of the call.
    fn function(&self, at: Span) -> Option<Func> {
        let module = text::parse(&Source::new("algorithm", self.program.clone()));
        debug_assert!(module.is_ok(), "{module:?}");
        let mut func = module.ok()?.funcs().first()?.clone();
        let mut insts = Vec::new();
        func.walk(&mut |inst| insts.push(inst.id()));
        insts.into_iter().for_each(|inst| func.set_span(inst, at));
        Some(func)
    }

    /// Replaces the call by the composite.
    pub(super) fn apply(self, r: &mut Rewriter<'_>, call: InstId, programs: &Programs) {
        let Some(decomposition) = programs.get(&self.program).copied() else { return };
        let name = format!("{NAMESPACE}{}", self.target);
        let composite =
            Op::Composite(Box::new(Composite { name, attrs: self.attrs, decomposition, version: 0 }));
        let Some(tuple) = self.tuple else {
            r.set_op(call, composite);
            return;
        };
        let view = r.func().inst(call);
        let new = NewInst::new(composite, view.operands().to_vec()).at(view.span(), view.loc().cloned());
        let made = r.insert_before(call, new, self.results.into_iter().map(Type::Tensor));
        let results = r.func().inst(made).results().to_vec();
        let value = r.value_before(call, Op::Tuple, results, tuple);
        r.replace(call, &[value]);
    }
}

/// Number of matrices in a batch. If the type has no elements, the product of the other sizes may overflow.
fn count(batch: &[usize]) -> usize {
    if batch.contains(&0) { 0 } else { batch.iter().product() }
}
