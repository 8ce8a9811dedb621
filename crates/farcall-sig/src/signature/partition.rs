//! Partitioning of an op: its dimensions as factors, and the rule for Shardy.
//!
//! A *factor* is a dimension seen across all tensors: splitting it splits every tensor that has it in the
//! same way. The kernel then runs on each part. Splitting a mapped dimension is sound. Splitting a reduced
//! dimension is sound if, for each result without the dimension, the partial results are combined afterwards.
//! No other dimension may be split.
//!
//! [`Partition`] follows from the signature and the number of operands alone, for any sizes. [`CallFactors`]
//! are the factors of one call, which a host splits: they have sizes, and each batch dimension is a separate
//! factor.
//!
//! Shardy can express less than a signature. The rule for Shardy is conservative: a factor that Shardy could
//! not handle correctly must be replicated. Shardy adds up partial results, so only `sum` is a reduction
//! there. A reduction factor must not be in a result, so a summed factor that some result keeps is not a
//! reduction factor. (A host that combines the parts itself, as the Python package does, does not need such a
//! rule.)

use std::fmt;

use super::Signature;
use super::ast::{DimDecl, DimUse, Expr, Reducer, Shape};
use super::infer::{CallPart, Inference, Mismatch, MismatchKind, OperandType, entry, slot_names};
use super::size::Size;

/// Factors of a call with a certain number of operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Kind of the batch dimensions; `None` if no tensor has batch dimensions. For
    /// [`FactorKind::Reduce`], results with the batch are split like the operands. Each part of the call
    /// yields a partial value of every result without the batch; the reducer combines these values.
    pub batch: Option<FactorKind>,
    /// The other factors, in order of appearance.
    pub factors: Vec<Factor>,
    /// The operands of the call.
    pub operands: Vec<Mapping>,
    /// The results of the call, in order of declaration. A variadic result is repeated for each entry of the
    /// variadic operands.
    pub results: Vec<Mapping>,
}

/// A dimension seen across all tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factor {
    /// Name of the dimension, or a generated name for a number or an expression.
    pub name: String,
    /// Kind of partitioning that the factor allows.
    pub kind: FactorKind,
}

/// Kind of partitioning that a factor allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactorKind {
    /// May be split.
    Split,
    /// May be split; the reducer then combines the partial values of each result without the factor.
    Reduce(Reducer),
    /// May not be split: the kernel needs the whole dimension.
    Whole,
}

/// Factors of one tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Name of the tensor.
    pub name: String,
    /// True if the tensor has the batch dimensions.
    pub batch: bool,
    /// For each dimension other than the batch, the index of its factor.
    pub factors: Vec<usize>,
}

/// Factors of one call. Each batch dimension is a factor, and so is each dimension of a `[..]` operand or
/// result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallFactors<S = i64> {
    /// All factors, batch dimensions first.
    pub factors: Vec<CallFactor<S>>,
    /// For each operand, the factor indices of its dimensions.
    pub operands: Vec<Vec<usize>>,
    /// For each result, the factor indices of its dimensions.
    pub results: Vec<Vec<usize>>,
    /// For each operand declared as `offset(dim)`, its index and the index of the factor of `dim`.
    pub offsets: Vec<(usize, usize)>,
}

/// A factor of one call. For [`FactorKind::Reduce`], results with the factor are split along it, and the
/// reducer combines the partial values of each result without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallFactor<S = i64> {
    /// Size of the dimension.
    pub size: S,
    /// Kind of partitioning that the factor allows.
    pub kind: FactorKind,
}

impl FactorKind {
    /// Name in the signature language: `map`, `whole`, or the name of the reducer.
    pub fn name(self) -> &'static str {
        match self {
            FactorKind::Split => "map",
            FactorKind::Reduce(reducer) => reducer.name(),
            FactorKind::Whole => "whole",
        }
    }
}

/// A rule in the form of JAX's `SdyShardingRule`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardyRule {
    /// `... m k, ... k n -> ... m n`
    pub rule: String,
    /// Factors whose partial results must be added up.
    pub reduction_factors: Vec<String>,
    /// Factors that must not be split.
    pub need_replication_factors: Vec<String>,
}

impl Signature {
    /// Returns the partitioning of a call with this number of operands. A call with a side effect is not
    /// split.
    ///
    /// # Errors
    /// If a call cannot have this number of operands; or if an operand or a result can have arbitrary
    /// dimensions (`[..]`), which are not split.
    pub fn partition(&self, operand_count: usize) -> Result<Partition, Mismatch> {
        let operands = self.operands.iter().map(|o| (&o.name, &o.shape));
        let results = self.results.iter().map(|r| (&r.name, &r.shape));
        if let Some((name, _)) = operands.chain(results).find(|(_, shape)| shape.any.is_some()) {
            let message = format!("{name} can have any dimensions, and is not split");
            return Err(Mismatch { kind: MismatchKind::Shape, place: CallPart::Call, message });
        }
        let slots = self.operand_slots(operand_count)?;
        let (factors, operands, results) = self.mappings(&slots, &self.result_slots(operand_count)?);
        let batched = operands.iter().any(|o| o.batch);
        Ok(Partition { batch: batched.then(|| self.factor_kind("*")), factors, operands, results })
    }

    /// Returns the factors of one call, with the sizes of its operands.
    pub fn call_factors<S: Size>(
        &self,
        operands: &[OperandType<'_, S>],
        call: &Inference<S>,
    ) -> CallFactors<S> {
        let result_slots: Vec<usize> = call.results.iter().map(|r| r.decl).collect();
        let (named, operand_mappings, result_mappings) = self.mappings(&call.operands, &result_slots);
        let offset = |(i, slot): (usize, &usize)| {
            let (_, dim) = self.offsets().find(|(offset, _)| offset == slot)?;
            Some((i, call.batch.len() + named.iter().position(|factor| factor.name == dim)?))
        };
        let offsets = call.operands.iter().enumerate().filter_map(offset).collect();
        let batch =
            call.batch.iter().map(|size| CallFactor { size: size.clone(), kind: self.factor_kind("*") });
        let named = named.iter().map(|factor| CallFactor { size: S::of(0), kind: factor.kind });
        let mut factors: Vec<CallFactor<S>> = batch.chain(named).collect();
        let mut of_tensor = |mapping: &Mapping, dims: &[S]| {
            let batch = if mapping.batch { 0..call.batch.len() } else { 0..0 };
            let named = mapping.factors.iter().map(|factor| call.batch.len() + factor);
            let mut own: Vec<usize> = batch.chain(named).collect();
            own.iter().zip(dims).for_each(|(factor, size)| factors[*factor].size.clone_from(size));
            // Dimensions that the signature does not name.
            for size in dims.get(own.len()..).unwrap_or_default() {
                own.push(factors.len());
                factors.push(CallFactor { size: size.clone(), kind: FactorKind::Whole });
            }
            own
        };
        let operands =
            operands.iter().zip(&operand_mappings).map(|(o, mapping)| of_tensor(mapping, o.dims)).collect();
        let results = call
            .results
            .iter()
            .zip(&result_mappings)
            .map(|(r, mapping)| of_tensor(mapping, &r.dims))
            .collect();
        CallFactors { factors, operands, results, offsets }
    }

    /// Returns the kind of partitioning that a dimension allows; `"*"` names the batch.
    fn factor_kind(&self, dim: &str) -> FactorKind {
        match self.dim_use(dim) {
            _ if self.has_side_effect() => FactorKind::Whole,
            DimUse::Whole => FactorKind::Whole,
            DimUse::Map => FactorKind::Split,
            DimUse::Reduce(reducer) => FactorKind::Reduce(reducer),
        }
    }

    /// Returns the factors of a call, apart from the batch, with the mappings of its operands and of its
    /// results. `operands` and `results` are indices of declarations.
    fn mappings(&self, operands: &[usize], results: &[usize]) -> (Vec<Factor>, Vec<Mapping>, Vec<Mapping>) {
        let mut factors = Factors { signature: self, factors: Vec::new(), keys: Vec::new() };
        let operand = |((i, slot), name): ((usize, &usize), String)| {
            factors.map(name, &self.operands[*slot].shape, entry(operands, i))
        };
        let names = slot_names(self, operands);
        let of_operands = operands.iter().enumerate().zip(names).map(operand).collect();
        let result = |(i, slot): (usize, &usize)| {
            let result = &self.results[*slot];
            let entry = results[..i].iter().filter(|other| *other == slot).count();
            let name = match result.variadic {
                true => format!("{}[{entry}]", result.name),
                false => result.name.text.clone(),
            };
            factors.map(name, &result.shape, entry)
        };
        let of_results = results.iter().enumerate().map(result).collect();
        (factors.factors, of_operands, of_results)
    }
}

/// The split of a call along its batch dimensions, for a partitioner that is only given a number of leading
/// dimensions, as XLA's partitioner is for custom calls. The partitioner splits these dimensions in every
/// operand that has at least that many, and leaves the other operands whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchSplit {
    /// Number of leading dimensions to treat as batch dimensions.
    pub dims: usize,
    /// Number of dimensions of size 1 to insert after the batch dimensions of every tensor with a batch. They
    /// extend the batch to `dims` dimensions. One more is inserted if an operand has only batch dimensions.
    pub added: usize,
}

/// Batch dimensions of a call: the leading dimensions of some operands, which must all be split in the same
/// way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchDims {
    /// For each operand, true if it has the batch dimensions.
    pub operands: Vec<bool>,
    /// Number of batch dimensions.
    pub rank: usize,
}

impl Signature {
    /// Returns the batch dimensions of a call.
    pub fn batch_dims<S>(&self, call: &Inference<S>) -> BatchDims {
        let has_batch = |slot: &usize| self.operands[*slot].shape.batch.is_some();
        BatchDims { operands: call.operands.iter().map(has_batch).collect(), rank: call.batch.len() }
    }

    /// Returns the split of a call along its batch dimensions.
    ///
    /// The partitioner gives up if the first operand has no dimensions besides the batch. It also splits an
    /// operand without a batch if the operand has `dims` dimensions or more. The added dimensions of size 1
    /// prevent both: `dims` exceeds the rank of every operand without a batch, and every operand with a batch
    /// has further dimensions.
    pub fn batch_split<S>(&self, call: &Inference<S>) -> BatchSplit {
        let BatchDims { operands, rank: batch } = self.batch_dims(call);
        let ranks = || call.operand_layouts.iter().map(Vec::len).zip(operands.iter().copied());
        let whole = ranks().filter(|(_, has_batch)| !has_batch).map(|(rank, _)| rank + 1).max();
        let dims = batch.max(whole.unwrap_or(0));
        let only_batch = ranks().any(|rank| rank == (batch, true));
        BatchSplit { dims, added: dims - batch + usize::from(only_batch) }
    }

    /// Returns the sharding rule, in MLIR syntax, of a call that is split only along its batch dimensions,
    /// which all results have: `#sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=3} need_replication={j},
    /// custom>`.
    pub fn batch_sharding_rule(&self, operands: &[OperandType<'_>], call: &Inference) -> String {
        let mut sizes: Vec<i64> = Vec::new();
        let mut factor = |size: i64| {
            sizes.push(size);
            factor_name(sizes.len() - 1)
        };
        let own = operands.iter().zip(&call.operands);
        let own = own.map(|(operand, slot)| (operand.dims, self.operands[*slot].shape.batch.is_some()));
        let shapes: Vec<(&[i64], bool)> =
            own.chain(call.results.iter().map(|result| (result.dims.as_slice(), true))).collect();
        let batch: Vec<String> = call.batch.iter().map(|size| factor(*size)).collect();
        let mut whole = Vec::new();
        let mut tensors = Vec::new();
        for (dims, has_batch) in shapes {
            let batch: &[String] = if has_batch { &batch } else { &[] };
            let rest: Vec<String> = dims[batch.len()..].iter().map(|size| factor(*size)).collect();
            whole.extend(rest.iter().cloned());
            tensors.push(format!("[{}]", [batch, &rest].concat().join(", ")));
        }
        let (inputs, outputs) = tensors.split_at(operands.len());
        let of_size: Vec<String> =
            sizes.iter().enumerate().map(|(i, size)| format!("{}={size}", factor_name(i))).collect();
        let need = if whole.is_empty() {
            String::new()
        } else {
            format!(" need_replication={{{}}}", whole.join(", "))
        };
        format!(
            "#sdy.op_sharding_rule<({})->({}) {{{}}}{need}, custom>",
            inputs.join(", "),
            outputs.join(", "),
            of_size.join(", ")
        )
    }
}

/// Returns MLIR's name for factor `i`: `i` to `z`, then `z_1`, `z_2`, …
fn factor_name(i: usize) -> String {
    match u8::try_from(i) {
        Ok(i) if i < 18 => char::from(b'i' + i).to_string(),
        _ => format!("z_{}", i - 17),
    }
}

/// Accumulates the factors of a call.
struct Factors<'a> {
    signature: &'a Signature,
    factors: Vec<Factor>,
    /// The key of each factor.
    keys: Vec<FactorKey>,
}

/// Identity of a factor.
#[derive(Clone, PartialEq, Eq)]
struct FactorKey {
    /// The dimension in its printed form.
    dim: String,
    /// Entry of the variadic operand or result, for a dimension with dots.
    entry: Option<usize>,
    /// Number of earlier occurrences of the dimension in the same tensor. Two dimensions of one tensor are
    /// never split together, and hosts allow a factor only once in a tensor: each `n` in `[n, n]` is a
    /// separate factor.
    occurrence: usize,
}

impl Factors<'_> {
    fn map(&mut self, name: String, shape: &Shape, entry: usize) -> Mapping {
        let mut own: Vec<FactorKey> = Vec::with_capacity(shape.dims.len());
        let factors = shape
            .dims
            .iter()
            .map(|dim| {
                let (dim, entry, kind, base) = match dim {
                    DimDecl::Size(Expr::Name(n)) => {
                        (n.text.clone(), None, self.signature.factor_kind(&n.text), n.text.clone())
                    }
                    DimDecl::Each(n) => {
                        (n.text.clone(), Some(entry), FactorKind::Whole, format!("{n}{entry}"))
                    }
                    DimDecl::Size(expr) => (expr.to_string(), None, FactorKind::Whole, "d".to_owned()),
                };
                let occurrence = own.iter().filter(|key| key.dim == dim && key.entry == entry).count();
                let key = FactorKey { dim, entry, occurrence };
                own.push(key.clone());
                self.factor(key, kind, &base)
            })
            .collect();
        Mapping { name, batch: shape.batch.is_some(), factors }
    }

    fn factor(&mut self, key: FactorKey, kind: FactorKind, base: &str) -> usize {
        // Two dimensions that are written as the same number do not share a factor.
        let is_number = key.dim.parse::<i64>().is_ok();
        if let Some(at) = self.keys.iter().position(|k| *k == key && !is_number) {
            return at;
        }
        let exact = key.entry.is_none() && key.occurrence == 0 && key.dim == base;
        let name = if exact { base.to_string() } else { self.fresh(base) };
        self.factors.push(Factor { name, kind });
        self.keys.push(key);
        self.factors.len() - 1
    }

    /// Returns a name that is not taken by a dimension or another factor.
    fn fresh(&self, base: &str) -> String {
        let taken = |name: &str| {
            self.factors.iter().any(|f| f.name == name)
                || self.signature.operands.iter().any(|o| o.shape.has(name))
                || self.signature.results.iter().any(|r| r.shape.has(name))
        };
        let numbered =
            (0..).map(|i| if i == 0 && base != "d" { base.to_string() } else { format!("{base}_{i}") });
        numbered.into_iter().find(|name| !taken(name)).unwrap_or_default()
    }
}

impl Partition {
    /// Returns the rule for Shardy, where `*` stands for `batch_rank` dimensions.
    ///
    /// A batch that may be split freely is written `...`, whatever its rank is. Otherwise each batch
    /// dimension is a separate factor, because `...` cannot be listed as needing replication. (JAX
    /// cannot express the rule of an op without results: an empty list after the arrow means one scalar.)
    pub fn shardy(&self, batch_rank: usize) -> ShardyRule {
        let mut rule = ShardyRule {
            rule: String::new(),
            reduction_factors: Vec::new(),
            need_replication_factors: Vec::new(),
        };
        let is_dim = |name: &String| self.factors.iter().any(|f| f.name == *name);
        let prefix = ["b", "batch", "batch_dim", "leading_batch_dim"]
            .into_iter()
            .find(|p| !(0..batch_rank).any(|i| is_dim(&format!("{p}{i}"))))
            .unwrap_or("leading_batch_dimension");
        let batch: Vec<String> = match self.batch {
            None => Vec::new(),
            Some(FactorKind::Split) => vec!["...".into()],
            Some(_) => (0..batch_rank).map(|i| format!("{prefix}{i}")).collect(),
        };
        let has_batch_result = self.results.iter().any(|r| r.batch);
        match self.batch {
            None | Some(FactorKind::Split) => {}
            Some(FactorKind::Reduce(Reducer::Sum)) if !has_batch_result => {
                rule.reduction_factors.extend(batch.iter().cloned());
            }
            Some(_) => rule.need_replication_factors.extend(batch.iter().cloned()),
        }
        for (i, factor) in self.factors.iter().enumerate() {
            let is_kept = self.results.iter().any(|r| r.factors.contains(&i));
            match factor.kind {
                FactorKind::Split => {}
                FactorKind::Reduce(Reducer::Sum) if !is_kept => {
                    rule.reduction_factors.push(factor.name.clone())
                }
                FactorKind::Reduce(_) | FactorKind::Whole => {
                    rule.need_replication_factors.push(factor.name.clone());
                }
            }
        }
        rule.rule = self.tensors(&batch, "", "");
        rule
    }

    /// Formats operands, an arrow and results. `scalar` stands for a tensor without dimensions, `nothing` for
    /// an empty list.
    fn tensors(&self, batch: &[String], scalar: &str, nothing: &str) -> String {
        let tensor = |mapping: &Mapping| {
            let batch = if mapping.batch { batch } else { &[] };
            let factors = mapping.factors.iter().map(|f| self.factors[*f].name.as_str());
            let all: Vec<&str> = batch.iter().map(String::as_str).chain(factors).collect();
            if all.is_empty() { scalar.to_string() } else { all.join(" ") }
        };
        let list = |mappings: &[Mapping]| match mappings {
            [] => nothing.to_string(),
            some => some.iter().map(tensor).collect::<Vec<_>>().join(", "),
        };
        format!("{} -> {}", list(&self.operands), list(&self.results)).trim().to_string()
    }
}

/// Human-readable form: `... m k, ... k n -> ... m n; split ... m n, sum k`. A scalar is `[]`, an empty list
/// of tensors `()`.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tensors(&["...".into()], "[]", "()"))?;
        let batch = self.batch.map(|kind| ("...", kind));
        let all: Vec<(&str, FactorKind)> =
            batch.into_iter().chain(self.factors.iter().map(|f| (f.name.as_str(), f.kind))).collect();
        let kinds = [FactorKind::Split]
            .into_iter()
            .chain(Reducer::VARIANTS.map(FactorKind::Reduce))
            .chain([FactorKind::Whole]);
        let mut separator = "; ";
        for kind in kinds {
            let names: Vec<&str> = all.iter().filter(|(_, k)| *k == kind).map(|(n, _)| *n).collect();
            if names.is_empty() {
                continue;
            }
            let word = if kind == FactorKind::Split { "split" } else { kind.name() };
            write!(f, "{separator}{word} {}", names.join(" "))?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Formats the rule as arguments of `jax.experimental.custom_partitioning.SdyShardingRule` in its textual
/// form.
impl fmt::Display for ShardyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.rule)?;
        let lists = [
            ("reduction_factors", &self.reduction_factors),
            ("need_replication_factors", &self.need_replication_factors),
        ];
        for (name, factors) in lists {
            if !factors.is_empty() {
                let quoted: Vec<String> = factors.iter().map(|f| format!("\"{f}\"")).collect();
                let comma = if quoted.len() == 1 { "," } else { "" };
                write!(f, ", {name}=({}{comma})", quoted.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttrValues, DType};

    /// Formats the batch split and the sharding rule of a call with operands of these dimensions.
    fn split(signature: &str, operands: &[&[i64]]) -> String {
        let signature: Signature = signature.parse().unwrap();
        let operands: Vec<_> = operands.iter().map(|dims| OperandType { dtype: DType::F32, dims }).collect();
        let call = signature.infer(&operands, &AttrValues::new()).unwrap();
        let BatchSplit { dims, added } = signature.batch_split(&call);
        format!("{dims} {added} {}", signature.batch_sharding_rule(&operands, &call))
    }

    #[test]
    fn calls_are_split_along_their_batch() {
        let norm = "(x: f32[*, n], scale: f32[n]) -> (y: f32[*, n])";
        assert_eq!(
            split(norm, &[&[2, 3], &[3]]),
            "2 1 #sdy.op_sharding_rule<([i, j], [k])->([i, l]) {i=2, j=3, k=3, l=3} need_replication={j, k, l}, custom>"
        );
        assert_eq!(
            split(norm, &[&[4, 2, 3], &[3]]).split(' ').take(2).collect::<Vec<_>>(),
            ["2", "0"],
            "the batch has more dimensions than the scale, so no dimension is added"
        );
        let neg = "(x: f32[*]) -> (y: f32[*])";
        assert_eq!(split(neg, &[&[5]]), "1 1 #sdy.op_sharding_rule<([i])->([i]) {i=5}, custom>");
        assert_eq!([factor_name(0), factor_name(17), factor_name(18)], ["i", "z", "z_1"]);
    }

    #[test]
    fn factors_of_a_call() {
        let factors = |signature: &str, operands: &[&[i64]]| {
            let signature: Signature = signature.parse().unwrap();
            let operands: Vec<_> =
                operands.iter().map(|dims| OperandType { dtype: DType::F32, dims }).collect();
            let call = signature.infer(&operands, &AttrValues::new()).unwrap();
            let CallFactors { factors, operands, results, .. } = signature.call_factors(&operands, &call);
            let factors: Vec<String> =
                factors.iter().map(|f| format!("{} {}", f.size, f.kind.name())).collect();
            format!("{}; {operands:?} -> {results:?}", factors.join(", "))
        };
        assert_eq!(
            factors(
                "(a: f32[*, m, k], b: f32[*, k, n]) -> (c: f32[*, m, n]) where m, n: map; k: sum",
                &[&[5, 2, 3], &[5, 3, 4]]
            ),
            "5 map, 2 map, 3 sum, 4 map; [[0, 1, 2], [0, 2, 3]] -> [[0, 1, 3]]"
        );
        assert_eq!(
            factors(
                "(x: f32[*, n], table: f32[..], xs: f32[k..., n]...) -> (y: f32[*, n], s: f32[n]) where *: sum",
                &[&[6, 7, 3], &[8, 9], &[1, 3], &[2, 3]]
            ),
            "6 sum, 7 sum, 3 whole, 1 whole, 2 whole, 8 whole, 9 whole; \
             [[0, 1, 2], [5, 6], [3, 2], [4, 2]] -> [[0, 1, 2], [2]]",
            "tensors with any dimensions are whole, but the batch of the other tensors is not"
        );
        assert_eq!(
            factors(
                "(x: f32[*, n, n], y: f32[2, n], xs: f32[k..., k..., n]...) -> (z: f32[*, n+1, n+1, n])",
                &[&[6, 3, 3], &[2, 3], &[1, 1, 3], &[2, 2, 3]]
            ),
            "6 map, 3 whole, 3 whole, 2 whole, 1 whole, 1 whole, 2 whole, 2 whole, 4 whole, 4 whole; \
             [[0, 1, 2], [3, 1], [4, 5, 1], [6, 7, 1]] -> [[0, 8, 9, 1]]",
            "each dimension of a tensor is another factor"
        );
    }

    #[test]
    fn offsets_are_of_the_factor_of_their_dimension() {
        let signature: Signature =
            "(x: f32[*, k, m], row: s32[]) -> (y: f32[*, k, m]) where m: map; row: offset(m)"
                .parse()
                .unwrap();
        let operands = [
            OperandType { dtype: DType::F32, dims: &[6, 2, 3] },
            OperandType { dtype: DType::S32, dims: &[] },
        ];
        let call = signature.infer(&operands, &AttrValues::new()).unwrap();
        assert_eq!(signature.call_factors(&operands, &call).offsets, [(1, 2)]);
    }

    #[test]
    fn results_are_counted_by_operands() {
        let slots = |signature: &str, count| signature.parse::<Signature>().unwrap().result_slots(count);
        let some = "(x: f32[n], scale: f32[n]?) -> (y: f32[n], s: f32[n] if scale)";
        assert_eq!((slots(some, 1), slots(some, 2)), (Ok(vec![0]), Ok(vec![0, 1])));
        let each = "(a: f32[], xs: f32[n...]...) -> (ys: f32[n...]..., y: f32[max(n)])";
        assert_eq!((slots(each, 1), slots(each, 3)), (Ok(vec![1]), Ok(vec![0, 0, 1])));
        assert!(slots(some, 3).is_err());
    }
}
