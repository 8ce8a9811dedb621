//! Random programs. A function is built instruction by instruction, from existing values or constants.
//!
//! The known properties of a value's numbers ([`Meta`]) decide which operations may use the value. Every
//! result is therefore either the same to the last bit in every order of evaluation, or known not to be.

use std::collections::HashMap;

use farcall::ir::builder::Builder;
use farcall::ir::eval::Denormals;
use farcall::ir::{
    AttrDict, Attribute, DType, Func, FuncId, Literal, Module, NewInst, Op, RegionId, Scalar, Source, Span,
    TensorType, Type, ValueId,
};
use num_complex::Complex;

use super::{movement, ops};
use farcall_testing::SplitMix;

/// A program with everything that a run of it needs.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) module: Module,
    /// Inputs, one per parameter of the entry.
    pub(crate) inputs: Vec<Literal>,
    /// For each result tensor, true if it is the same to the last bit wherever it is computed.
    pub(crate) exact: Vec<bool>,
    pub(crate) denormals: Denormals,
}

/// Known properties of a value's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Meta {
    /// The numbers are the same to the last bit wherever they are computed, except for the bits of NaNs.
    pub(crate) exact: bool,
    /// For floats only: the numbers are integers of at most this magnitude, so neither NaN nor infinite.
    pub(crate) bound: Option<u64>,
    /// The bits of NaNs are also the same wherever they are computed.
    pub(crate) bits: bool,
}

impl Meta {
    /// Integers, booleans, and floats that were not computed.
    pub(crate) const BITS: Meta = Meta { exact: true, bound: None, bits: true };
    /// Correctly rounded floats.
    pub(crate) const EXACT: Meta = Meta { exact: true, bound: None, bits: false };
    /// Floats that may differ by some units in the last place.
    pub(crate) const FUZZY: Meta = Meta { exact: false, bound: None, bits: false };

    /// Properties of floats whose values are integers of at most `bound`. If the type does not hold all of
    /// these integers exactly, the result has no bound.
    pub(crate) fn bounded(bound: Option<u64>, dtype: DType) -> Meta {
        match bound {
            Some(n) if n <= largest_integer(dtype) => Meta { exact: true, bound, bits: true },
            _ => Meta::EXACT,
        }
    }

    /// Properties that hold for values with the properties `self` and for values with the properties `other`.
    pub(crate) fn or(self, other: Meta) -> Meta {
        Meta {
            exact: self.exact && other.exact,
            bound: self.bound.zip(other.bound).map(|(a, b)| a.max(b)),
            bits: self.bits && other.bits,
        }
    }
}

/// Requirement of an operation on an operand's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Need {
    Anything,
    Exact,
    Bits,
    /// Floats must be integers of at most this magnitude.
    Integers(u64),
}

impl Need {
    pub(crate) fn is_met(self, meta: Meta, dtype: DType) -> bool {
        let discrete = !dtype.is_float() && !dtype.is_complex();
        match self {
            Need::Anything => true,
            Need::Exact => meta.exact,
            Need::Bits => meta.exact && (discrete || meta.bits),
            Need::Integers(most) => meta.exact && (discrete || meta.bound.is_some_and(|b| b <= most)),
        }
    }
}

/// Returns the largest `n` such that a floating-point or complex type holds every integer from `-n` to `n`.
/// Returns `u64::MAX` for other types.
pub(crate) fn largest_integer(dtype: DType) -> u64 {
    let real = dtype.real();
    if !real.is_float() {
        return u64::MAX;
    }
    let held = |n: u64| {
        [n as f64, -(n as f64)].into_iter().all(|x| match Scalar::Float(x).round_to(real) {
            Scalar::Float(y) => x == y,
            _ => false,
        })
    };
    if !held(0) || !held(1) {
        return 0;
    }
    let mut n = 1;
    while n < 1 << 53 && held(2 * n) && held(2 * n - 1) && (n < 2 || held(2 * n - 2)) {
        n *= 2;
    }
    n
}

/// A function that `call` instructions can call.
#[derive(Clone)]
pub(crate) struct Callee {
    pub(crate) id: FuncId,
    pub(crate) params: Vec<TensorType>,
    pub(crate) results: Vec<Meta>,
    /// Types of the results.
    pub(crate) types: Vec<Type>,
}

/// State of a program under construction.
pub(crate) struct Gen {
    pub(crate) r: SplitMix,
    pub(crate) func: Func,
    pub(crate) callees: Vec<Callee>,
    region: RegionId,
    /// The values that the next instruction may use as operands.
    pub(crate) scope: Vec<ValueId>,
    meta: HashMap<ValueId, Meta>,
    pub(crate) depth: usize,
    /// Number of instructions that may still be made.
    budget: usize,
    /// Sizes of dimensions, each as often as it is chosen.
    sizes: &'static [usize],
}

/// Makes the program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    program_of_sizes(seed, &[0, 1, 1, 2, 2, 3, 3, 4, 5, 6])
}

/// Makes the program of a seed, most of whose dimensions have these sizes.
pub(crate) fn program_of_sizes(seed: u64, sizes: &'static [usize]) -> Program {
    let r = SplitMix::new(seed);
    let mut g = Gen {
        r,
        func: Func::new("main", Span::default()),
        callees: Vec::new(),
        region: Func::BODY,
        scope: Vec::new(),
        meta: HashMap::new(),
        depth: 0,
        budget: 60,
        sizes,
    };
    let denormals = g.r.pick(&[Denormals::Ieee, Denormals::Ieee, Denormals::Flush]);
    let mut module = Module::new(Source::none());
    for i in 0..g.r.pick(&[0, 0, 1, 2]) {
        g.helper(&mut module, i);
    }
    let (inputs, exact) = g.main();
    module.add_func(g.func);
    Program { module, inputs, exact, denormals }
}

impl Gen {
    fn begin(&mut self, name: String) {
        self.func = Func::new(name, Span::default());
        self.region = Func::BODY;
        self.scope.clear();
        self.meta.clear();
    }

    /// Makes a function that later functions may call.
    fn helper(&mut self, module: &mut Module, number: usize) {
        self.begin(format!("f{number}"));
        self.func.public = false;
        let mut params = Vec::new();
        for _ in 0..1 + self.r.below(3) {
            let ty = self.ty();
            let meta = if is_float(ty.dtype) { Meta::EXACT } else { Meta::BITS };
            self.param(&ty, meta);
            params.push(ty);
        }
        let steps = 1 + self.r.below(5);
        self.steps(steps);
        let returned = self.finish(2);
        let results = returned.iter().map(|v| self.meta_of(*v)).collect();
        let func = std::mem::replace(&mut self.func, Func::new("main", Span::default()));
        let types = func.results().to_vec();
        let id = module.add_func(func);
        self.callees.push(Callee { id, params, results, types });
    }

    fn main(&mut self) -> (Vec<Literal>, Vec<bool>) {
        self.begin("main".to_owned());
        let mut inputs = Vec::new();
        for _ in 0..self.r.below(5) {
            let ty = self.ty();
            let literal = self.literal(&ty);
            self.param(&ty, meta_of(&literal));
            if self.r.one_in(6) {
                let donated = AttrDict::from_iter([("jax.buffer_donor".to_owned(), Attribute::Bool(true))]);
                *self.func.param_attrs_mut().last_mut().unwrap() = donated;
            }
            inputs.push(literal);
        }
        let steps = self.r.pick(&[2, 4, 8, 14]);
        self.steps(steps);
        let returned = self.finish(5);
        (inputs, returned.iter().map(|v| self.meta_of(*v).exact).collect())
    }

    fn param(&mut self, ty: &TensorType, meta: Meta) {
        let value = self.func.add_arg(Func::BODY, ty.clone().into());
        self.know(value, meta);
    }

    /// Makes the function return up to `most` tensors, mostly recent ones. One in three functions returns
    /// slices of these tensors instead, so that the compiler may compute only parts of the tensors.
    fn finish(&mut self, most: usize) -> Vec<ValueId> {
        let in_part = self.r.one_in(3);
        let tensors: Vec<ValueId> = self.scope.iter().copied().filter(|v| self.plain(*v)).collect();
        let mut returned = Vec::new();
        for _ in 0..1 + self.r.below(most) {
            if tensors.is_empty() {
                let ty = self.ty();
                returned.push(self.constant(&ty, Need::Exact));
                continue;
            }
            let from = if self.r.one_in(3) { 0 } else { tensors.len().saturating_sub(4) };
            let whole = tensors[from + self.r.below(tensors.len() - from)];
            let part = if in_part { movement::slice_of(self, whole) } else { None };
            returned.push(part.unwrap_or(whole));
        }
        self.func.push(Func::BODY, NewInst::new(Op::Return, returned.clone()), []);
        self.func.infer_result_types();
        returned
    }

    /// Adds some instructions.
    pub(crate) fn steps(&mut self, count: usize) {
        for _ in 0..count {
            for _ in 0..8 {
                if self.budget == 0 || ops::any(self).is_some() {
                    break;
                }
            }
        }
    }

    // --- instructions

    fn know(&mut self, value: ValueId, meta: Meta) {
        self.meta.insert(value, meta);
        self.scope.push(value);
    }

    /// Adds an instruction. Its result types are `types`, or inferred if `types` is empty. Returns `None` if
    /// the instruction is not valid. `meta` are the properties of the results.
    pub(crate) fn emit(&mut self, new: NewInst, types: Vec<Type>, meta: &[Meta]) -> Option<Vec<ValueId>> {
        let inst = Builder::at_end(&mut self.func, self.region).inst_of(new, types.clone()).ok()?;
        self.budget = self.budget.saturating_sub(1);
        let results = self.func.inst(inst).results().to_vec();
        for (value, ty) in results.iter().zip(types) {
            // The builder does not read constants, so it infers dynamic dimensions where constants give the
            // sizes. `types` has the static sizes.
            if self.func.tensor(*value).is_some_and(|t| !t.is_static()) {
                self.func.set_ty(*value, ty);
            }
        }
        for (i, value) in results.iter().enumerate() {
            let known = meta.get(i).or(meta.last()).copied().unwrap_or(Meta::FUZZY);
            // Integers that were computed from exact numbers are the same to the last bit.
            let discrete = self.func.tensor(*value).is_some_and(|t| !is_float(t.dtype) && t.quant.is_none());
            let known = if discrete && known.exact { Meta::BITS } else { known };
            self.know(*value, known);
        }
        Some(results)
    }

    /// Adds an instruction with one result.
    pub(crate) fn value(&mut self, op: Op, operands: &[ValueId], meta: Meta) -> Option<ValueId> {
        self.emit(NewInst::new(op, operands.iter().copied()), vec![], &[meta])?.first().copied()
    }

    /// Adds an instruction with one result of a given type.
    pub(crate) fn value_of(
        &mut self,
        op: Op,
        operands: &[ValueId],
        ty: &TensorType,
        meta: Meta,
    ) -> Option<ValueId> {
        self.emit(NewInst::new(op, operands.iter().copied()), vec![ty.clone().into()], &[meta])?
            .first()
            .copied()
    }

    /// Makes a region with arguments of these types. If it is `open`, its instructions may use the values
    /// around the region.
    pub(crate) fn region(
        &mut self,
        args: &[(Type, Meta)],
        open: bool,
        fill: impl FnOnce(&mut Gen, &[ValueId]) -> Vec<ValueId>,
    ) -> RegionId {
        let region = self.func.new_region();
        let outer = (self.region, self.scope.clone());
        if !open {
            self.scope.clear();
        }
        self.region = region;
        self.depth += 1;
        let mut values = Vec::new();
        for (ty, meta) in args {
            let value = self.func.add_arg(region, ty.clone());
            self.know(value, *meta);
            values.push(value);
        }
        let returned = fill(self, &values);
        self.func.push(region, NewInst::new(Op::Return, returned), []);
        self.depth -= 1;
        (self.region, self.scope) = outer;
        region
    }

    // --- operands

    pub(crate) fn meta_of(&self, value: ValueId) -> Meta {
        self.meta.get(&value).copied().unwrap_or(Meta::FUZZY)
    }

    pub(crate) fn tensor(&self, value: ValueId) -> TensorType {
        self.func.tensor(value).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    /// Returns true for tensors that are static and not quantized.
    pub(crate) fn plain(&self, value: ValueId) -> bool {
        self.func.tensor(value).is_some_and(|t| t.quant.is_none() && t.is_static())
    }

    /// Returns a value for which the condition holds, mostly a recent one.
    pub(crate) fn find(&mut self, holds: impl Fn(&TensorType, Meta) -> bool) -> Option<ValueId> {
        let fits =
            |v: &ValueId| self.plain(*v) && self.func.tensor(*v).is_some_and(|t| holds(t, self.meta_of(*v)));
        let found: Vec<ValueId> = self.scope.iter().copied().filter(fits).collect();
        if found.is_empty() {
            return None;
        }
        let from = if self.r.one_in(2) { 0 } else { found.len().saturating_sub(3) };
        Some(found[from + self.r.below(found.len() - from)])
    }

    /// Returns a value whose element type fulfils the condition and whose rank is in the range. Makes one if
    /// necessary.
    pub(crate) fn some(
        &mut self,
        need: Need,
        dtypes: impl Fn(DType) -> bool,
        ranks: std::ops::RangeInclusive<usize>,
    ) -> ValueId {
        if !self.r.one_in(12) {
            let fits = |t: &TensorType, m: Meta| {
                dtypes(t.dtype) && ranks.contains(&t.rank()) && need.is_met(m, t.dtype)
            };
            if let Some(found) = self.find(fits) {
                return found;
            }
        }
        let mut ty = self.ty();
        for _ in 0..200 {
            if dtypes(ty.dtype) && ranks.contains(&ty.rank()) {
                break;
            }
            ty = self.ty();
        }
        if !dtypes(ty.dtype) {
            let all: Vec<DType> = DType::VARIANTS.into_iter().filter(|d| dtypes(*d)).collect();
            ty = ty.with_dtype(self.r.pick(&all));
        }
        if !ranks.contains(&ty.rank()) {
            ty = ty.with_sizes(vec![2; *ranks.start()]);
        }
        self.constant(&ty, need)
    }

    /// Returns a value of a type: an existing value or a constant.
    pub(crate) fn of(&mut self, ty: &TensorType, need: Need) -> ValueId {
        if !self.r.one_in(4)
            && let Some(found) = self.find(|t, m| t == ty && need.is_met(m, t.dtype))
        {
            return found;
        }
        self.constant(ty, need)
    }

    /// Returns a scalar of a type: an existing value or a constant.
    pub(crate) fn scalar(&mut self, dtype: DType, need: Need) -> ValueId {
        self.of(&TensorType::scalar(dtype), need)
    }

    /// Makes a constant. Sometimes, instructions compute the constant from simpler constants.
    pub(crate) fn constant(&mut self, ty: &TensorType, need: Need) -> ValueId {
        if !matches!(need, Need::Integers(_))
            && !ty.dtype.is_bool()
            && ty.rank() > 0
            && self.r.one_in(10)
            && ty.sizes().iter().all(|n| *n as u64 <= largest_integer(ty.dtype))
        {
            let (dim, meta) = (self.r.below(ty.rank()), Meta::bounded(Some(200), ty.dtype));
            if let Some(iota) = self.value_of(Op::Iota { dim }, &[], ty, Meta { bits: true, ..meta }) {
                return iota;
            }
        }
        let most = if let Need::Integers(most) = need { Some(most) } else { None };
        if ty.rank() > 0 && self.r.one_in(4) {
            let scalar = self.literal_within(&TensorType::scalar(ty.dtype), most);
            let meta = meta_of(&scalar);
            let scalar = self.put(scalar);
            let op = Op::BroadcastInDim { dims: vec![] };
            if let Some(value) = self.value_of(op, &[scalar], ty, meta) {
                return value;
            }
        }
        let literal = self.literal_within(ty, most);
        self.put(literal)
    }

    /// Adds a constant as an instruction.
    pub(crate) fn put(&mut self, literal: Literal) -> ValueId {
        let meta = meta_of(&literal);
        let ty = literal.ty();
        self.value_of(Op::Constant(literal), &[], &ty, meta).expect("a constant is valid")
    }

    /// Adds a constant whose elements are these numbers.
    pub(crate) fn numbers(&mut self, dtype: DType, dims: Vec<usize>, numbers: &[i64]) -> ValueId {
        self.put(Literal::from_fn(dtype, dims, |i| Scalar::Signed(numbers[i]).round_to(dtype)))
    }

    // --- types and numbers

    /// Returns a type with few elements.
    pub(crate) fn ty(&mut self) -> TensorType {
        let dtype = self.dtype();
        let rank = self.r.pick(&[0, 0, 1, 1, 1, 2, 2, 2, 3, 4]);
        let mut dims: Vec<usize> = (0..rank).map(|_| self.size()).collect();
        while dims.iter().product::<usize>() > 250 {
            let i = self.r.below(rank);
            dims[i] = dims[i].min(2);
        }
        if rank == 1 && self.r.one_in(12) {
            dims[0] = 30 + self.r.below(120);
        }
        TensorType::new(dtype, dims)
    }

    pub(crate) fn size(&mut self) -> usize {
        self.r.pick(self.sizes)
    }

    pub(crate) fn dtype(&mut self) -> DType {
        use DType::{BF16, C64, F16, F32, F64, Pred, S8, S32, S64, U8, U32};
        if self.r.one_in(4) {
            self.r.pick(&DType::VARIANTS)
        } else {
            self.r.pick(&[Pred, S32, S32, S32, S64, S8, U8, U32, F32, F32, F32, F32, F64, BF16, F16, C64])
        }
    }

    pub(crate) fn literal(&mut self, ty: &TensorType) -> Literal {
        self.literal_within(ty, None)
    }

    /// Makes a constant: zeros, ones, the same number everywhere, small integers, or arbitrary numbers.
    pub(crate) fn literal_within(&mut self, ty: &TensorType, most: Option<u64>) -> Literal {
        let wild = most.is_none() && self.r.one_in(2);
        let most = most.unwrap_or(3).min(largest_integer(ty.dtype)).min(1 << 20);
        let (dtype, dims) = (ty.dtype, ty.sizes());
        if self.r.one_in(2) {
            let element = match self.r.below(6) {
                0 | 1 => Scalar::Signed(0),
                2 if most > 0 => Scalar::Signed(1),
                3 if most > 0 => Scalar::Signed(-1),
                _ => self.element(dtype, wild, most),
            };
            return Literal::splat(dtype, dims, as_number(element, dtype));
        }
        Literal::from_fn(dtype, dims, |_| {
            let element = self.element(dtype, wild, most);
            as_number(element, dtype)
        })
    }

    fn element(&mut self, dtype: DType, wild: bool, most: u64) -> Scalar {
        let mut part = || match (dtype.real().is_float(), wild) {
            (true, true) => self.float(),
            (true, false) if self.r.one_in(12) => -0.0,
            (_, false) => self.r.below(2 * most as usize + 1) as f64 - most as f64,
            (false, true) => f64::NAN,
        };
        if dtype.is_complex() {
            return Scalar::Complex(Complex::new(part(), part()));
        }
        let part = part();
        if part.is_nan() && !dtype.is_float() {
            return Scalar::Signed(self.r.number() as i64);
        }
        Scalar::Float(part)
    }

    fn float(&mut self) -> f64 {
        match self.r.below(16) {
            0 => self.r.pick(&[f64::NAN, -f64::NAN]),
            1 => self.r.pick(&[f64::INFINITY, f64::NEG_INFINITY]),
            2 => self.r.pick(&[0.0, -0.0]),
            3 => self.r.pick(&[1e-40, -1e-40, 3e-310, -3e-310, 1e-7, 2e-38]),
            4 => self.r.pick(&[3.4e38, -1e38, 65504.0, 448.0, 1e300, 2_147_483_648.0, 16_777_217.0]),
            5..8 => self.r.below(1000) as f64 / 128.0 - 4.0,
            8 => f64::from_bits(self.r.next()),
            9 => f64::from(f32::from_bits(self.r.next() as u32)),
            _ => self.r.below(9) as f64 - 4.0,
        }
    }
}

/// Returns true for floating-point and complex types, whose numbers may be or contain NaNs.
pub(crate) fn is_float(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// Converts a small number to an element type. The number is complex only if the type is complex.
fn as_number(n: Scalar, dtype: DType) -> Scalar {
    if dtype.is_complex() {
        return Scalar::Complex(n.as_complex()).round_to(dtype);
    }
    if dtype.is_float() {
        return Scalar::Float(n.as_f64()).round_to(dtype);
    }
    if dtype.is_bool() {
        return Scalar::Bool(n.as_i64() & 1 != 0);
    }
    let unused = 64 - dtype.bits();
    let n = n.as_i64();
    if dtype.is_unsigned_integer() {
        Scalar::Unsigned(((n as u64) << unused) >> unused)
    } else {
        Scalar::Signed((n << unused) >> unused)
    }
}

/// Properties of a constant.
pub(crate) fn meta_of(literal: &Literal) -> Meta {
    if !is_float(literal.dtype()) {
        return Meta::BITS;
    }
    let most = largest_integer(literal.dtype());
    let part = |x: f64| (x.fract() == 0.0 && x.abs() <= most as f64).then_some(x.abs() as u64);
    let bound = literal.iter().try_fold(0, |bound, element| {
        let z = element.as_complex();
        Some(part(z.re)?.max(part(z.im)?).max(bound))
    });
    Meta { bound, ..Meta::BITS }
}

/// Returns a tensor of one small number. A zero is negative if `negative` is set and the type has a negative
/// zero.
pub(crate) fn splat(ty: &TensorType, n: i64, negative: bool) -> Literal {
    let n = if n == 0 && negative { Scalar::Float(-0.0) } else { Scalar::Signed(n) };
    Literal::splat(ty.dtype, ty.sizes(), as_number(n, ty.dtype))
}
