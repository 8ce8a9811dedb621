//! Tests the batching and partitioning rules with a model kernel that keeps the promises of a signature, and
//! nothing beyond these promises.
//!
//! The model computes each element of a result as a hash of everything that the promises let it depend on:
//! the operands' entries at the same batch and mapped indices, over the full range of all other dimensions.
//! For a reduced dimension, the result is the sum of such hashes over the dimension's entries. A rule that
//! assumes more than the promises allow changes the hashes.

use farcall_sig::DType;
use farcall_sig::attr::{AttrValue, AttrValues};
use farcall_sig::signature::{
    Batching, DimDecl, DimUse, Expr, FactorKind, OperandType, Reducer, Shape, Signature,
};

/// A tensor of hashes.
#[derive(Clone, PartialEq, Debug)]
struct Tensor {
    dims: Vec<usize>,
    values: Vec<u64>,
}

fn mix(a: u64, b: u64) -> u64 {
    let mut x = (a ^ b.rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(b);
    x ^= x >> 29;
    x.wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ (x >> 32)
}

/// Returns all indices of a shape, in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |all, d| {
        all.into_iter().flat_map(|index| (0..*d).map(move |i| [index.clone(), vec![i]].concat())).collect()
    })
}

impl Tensor {
    fn random(dims: Vec<usize>, seed: u64) -> Tensor {
        let values = (0..dims.iter().product::<usize>()).map(|i| mix(seed, i as u64)).collect();
        Tensor { dims, values }
    }

    /// Returns entries `range` along a dimension.
    fn slice(&self, dim: usize, range: std::ops::Range<usize>) -> Tensor {
        let all = indices(&self.dims).into_iter().zip(&self.values);
        let values = all.filter(|(index, _)| range.contains(&index[dim])).map(|(_, v)| *v).collect();
        let mut dims = self.dims.clone();
        dims[dim] = range.len();
        Tensor { dims, values }
    }

    fn concat(parts: &[Tensor], dim: usize) -> Tensor {
        let mut dims = parts[0].dims.clone();
        dims[dim] = parts.iter().map(|p| p.dims[dim]).sum();
        let values = indices(&dims)
            .into_iter()
            .map(|mut index| {
                let mut part = 0;
                while index[dim] >= parts[part].dims[dim] {
                    index[dim] -= parts[part].dims[dim];
                    part += 1;
                }
                let all = indices(&parts[part].dims);
                parts[part].values[all.iter().position(|i| *i == index).unwrap()]
            })
            .collect();
        Tensor { dims, values }
    }

    fn sum(parts: &[Tensor]) -> Tensor {
        let mut out = parts[0].clone();
        for part in &parts[1..] {
            out.values.iter_mut().zip(&part.values).for_each(|(a, b)| *a = a.wrapping_add(*b));
        }
        out
    }
}

/// Returns the name of each dimension of a tensor: `*0`, `*1`, … for batch dimensions, `None` for a dimension
/// that is not a name.
fn names(shape: &Shape, rank: usize) -> Vec<Option<String>> {
    let batch = rank - shape.dims.len();
    let fixed = shape.dims.iter().map(|d| match d {
        DimDecl::Size(Expr::Name(name)) => Some(name.text.clone()),
        _ => None,
    });
    (0..batch).map(|i| Some(format!("*{i}"))).chain(fixed).collect()
}

/// Returns the kernel's use of a dimension of this name, for a result with dimensions `of_result`.
fn usage(signature: &Signature, name: &str, of_result: &[Option<String>]) -> DimUse {
    match signature.dim_use(if name.starts_with('*') { "*" } else { name }) {
        DimUse::Reduce(_) if of_result.iter().flatten().any(|n| n == name) => DimUse::Map,
        other => other,
    }
}

struct Op {
    signature: Signature,
    attrs: AttrValues,
}

impl Op {
    fn new(text: &str) -> Op {
        let signature = text.parse::<Signature>().unwrap();
        let required = signature.attrs().iter().filter(|a| a.is_required());
        let attrs = required.map(|a| (a.name.text.clone(), AttrValue::i64(2))).collect();
        Op { signature, attrs }
    }

    /// Calls the model kernel.
    fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let dims: Vec<Vec<i64>> =
            operands.iter().map(|t| t.dims.iter().map(|d| *d as i64).collect()).collect();
        let types: Vec<_> = dims.iter().map(|dims| OperandType { dtype: DType::S32, dims }).collect();
        let inference = self.signature.infer(&types, &self.attrs).unwrap_or_else(|e| panic!("{e}"));
        let operand_names: Vec<_> = operands
            .iter()
            .zip(&inference.operands)
            .map(|(t, slot)| names(&self.signature.operands()[*slot].shape, t.dims.len()))
            .collect();
        let result = |(number, r): (usize, &farcall_sig::signature::ResultType)| {
            let dims: Vec<usize> = r.dims.iter().map(|d| *d as usize).collect();
            let own = names(&self.signature.results()[r.decl].shape, dims.len());
            // Reduced dimensions, with their sizes.
            let mut reduced: Vec<(String, usize)> = Vec::new();
            for (tensor, names) in operands.iter().zip(&operand_names) {
                for (name, size) in names.iter().zip(&tensor.dims) {
                    let Some(name) = name else { continue };
                    let is_reduced = matches!(usage(&self.signature, name, &own), DimUse::Reduce(_));
                    if is_reduced && !reduced.iter().any(|(n, _)| n == name) {
                        reduced.push((name.clone(), *size));
                    }
                }
            }
            let sizes: Vec<usize> = reduced.iter().map(|(_, size)| *size).collect();
            let element = |index: &Vec<usize>| {
                let terms = indices(&sizes).into_iter().map(|at| {
                    // Returns the index to which the promises restrict a dimension; `None` if the kernel may
                    // read all of it.
                    let fixed = |name: &str| match usage(&self.signature, name, &own) {
                        DimUse::Whole => None,
                        DimUse::Map => own.iter().position(|n| n.as_deref() == Some(name)).map(|k| index[k]),
                        DimUse::Reduce(_) => reduced.iter().position(|(n, _)| n == name).map(|k| at[k]),
                    };
                    let mut hash = number as u64;
                    for (k, name) in own.iter().enumerate() {
                        if name.as_deref().and_then(fixed).is_none() {
                            hash = mix(hash, index[k] as u64);
                        }
                    }
                    for (tensor, names) in operands.iter().zip(&operand_names) {
                        for (place, value) in indices(&tensor.dims).iter().zip(&tensor.values) {
                            let agrees = |(k, name): (usize, &Option<String>)| {
                                name.as_deref().and_then(fixed).is_none_or(|i| place[k] == i)
                            };
                            if names.iter().enumerate().all(agrees) {
                                hash = mix(hash, *value);
                            }
                        }
                    }
                    hash
                });
                terms.fold(0u64, u64::wrapping_add)
            };
            Tensor { values: indices(&dims).iter().map(element).collect(), dims }
        };
        inference.results.iter().enumerate().map(result).collect()
    }

    /// Generates operands with small sizes by name, and with two batch dimensions if the op has a batch.
    fn operands(&self, count: usize) -> Vec<Tensor> {
        let slots = self.signature.operand_slots(count).unwrap();
        let dims = |(i, slot): (usize, &usize)| {
            let shape = &self.signature.operands()[*slot].shape;
            let batch = if shape.batch.is_some() { vec![2, 4] } else { vec![] };
            let fixed = shape.dims.iter().map(|d| match d {
                DimDecl::Size(Expr::Name(name)) => {
                    if name.text == "n" {
                        4
                    } else {
                        2
                    }
                }
                DimDecl::Size(Expr::Literal(size, _)) => *size as usize,
                DimDecl::Each(_) => 1 + i,
                DimDecl::Size(other) => panic!("no size for {other}"),
            });
            Tensor::random(batch.into_iter().chain(fixed).collect(), i as u64)
        };
        slots.iter().enumerate().map(dims).collect()
    }
}

/// Signatures, each with the number of operands in its calls.
const OPS: [(&str, usize); 16] = [
    ("(x: T[*, n], scale: T[n]) -> (y: T[*, n]) where T: any", 2),
    ("(x: T[*, n], scale: T[n], dy: T[*, n]) -> (dx: T[*, n], dscale: T[n]) where T: s32; *: sum", 3),
    ("(x: T[*, n], scale: T[n]) -> (dscale: T[n]) where T: s32; *: sum; n: map", 2),
    ("(a: T[*, m, k], b: T[*, k, n]) -> (c: T[*, m, n]) where T: s32; m, n: map; k: sum", 2),
    ("(a: T[m, k], b: T[k, n]) -> (c: T[m, n], t: T[n, m]) where T: s32; m, n: map; k: sum", 2),
    (
        "(a: T[*, m, k], b: T[*, k, n], dc: T[*, m, n]) -> (da: T[*, m, k], db: T[*, k, n]) \
         where T: s32; m, n: sum; k: map",
        3,
    ),
    ("(x: T[*, m, n]) -> (q: T[*, m, min(m, n)], r: T[*, min(m, n), n]) where T: any", 1),
    ("(x: T[*, n], k: i64) -> (v: T[*, k], i: s32[*, k]) where T: any", 1),
    ("(x: T[*, c, n], w: T[o, c, k]) -> (y: T[*, o, n-k+1]) where T: s32; o: map; c: sum", 2),
    ("(xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map", 3),
    ("(xs: T[*, n..., d]...) -> (ys: T[*, n..., d]..., s: T[*]) where T: any", 2),
    ("(base: T[n, d], at: s32[k], rows: T[k, d]) -> (out: T[n, d] aliases base) where T: any; d: map", 3),
    ("(x: T[*, n], mask: T[*, n]?) -> (y: T[*, n], dm: T[*, n] if mask) where T: any; n: map", 1),
    ("(x: T[*, n], mask: T[*, n]?) -> (y: T[*, n], dm: T[*, n] if mask) where T: any; n: map", 2),
    ("(x: T[*, n]) -> (y: T[*, n], z: T[]) where T: any; *: whole", 1),
    ("(key: s32[*, 2], n: i64) -> (bits: s32[*, n])", 1),
];

#[test]
fn a_native_batch_is_what_a_loop_gives() {
    const AXIS: usize = 3;
    let (mut native, mut looped) = (0, 0);
    for (text, count) in OPS {
        let op = Op::new(text);
        let operands = op.operands(count);
        for flags in 1..1u32 << count {
            let batched: Vec<bool> = (0..count).map(|i| flags >> i & 1 == 1).collect();
            let rule = op.signature.batch_rule(&batched).unwrap();
            let Batching::Native { broadcast } = rule else {
                looped += 1;
                continue;
            };
            native += 1;
            // Operands with the mapped axis as first dimension.
            let stacked: Vec<Tensor> = operands
                .iter()
                .enumerate()
                .map(|(i, t)| match batched[i] {
                    true => Tensor::random([vec![AXIS], t.dims.clone()].concat(), 100 + i as u64),
                    false => t.clone(),
                })
                .collect();
            let entry = |i: usize, at: usize| match batched[i] {
                true => {
                    let slice = stacked[i].slice(0, at..at + 1);
                    Tensor { dims: slice.dims[1..].to_vec(), values: slice.values }
                }
                false => stacked[i].clone(),
            };
            let once: Vec<Tensor> = (0..count)
                .map(|i| match broadcast.contains(&i) {
                    true => {
                        let one = Tensor {
                            dims: [vec![1], stacked[i].dims.clone()].concat(),
                            ..stacked[i].clone()
                        };
                        Tensor::concat(&vec![one; AXIS], 0)
                    }
                    false => stacked[i].clone(),
                })
                .collect();
            let got = op.call(&once);
            for at in 0..AXIS {
                let expected = op.call(&(0..count).map(|i| entry(i, at)).collect::<Vec<_>>());
                for (got, expected) in got.iter().zip(expected) {
                    let got = got.slice(0, at..at + 1);
                    assert_eq!(
                        got.values, expected.values,
                        "values of {text} with batched operands {batched:?}"
                    );
                    assert_eq!(
                        got.dims[1..],
                        expected.dims,
                        "sizes of {text} with batched operands {batched:?}"
                    );
                }
            }
        }
    }
    assert!(native >= 20 && looped >= 20, "only {native} native calls or only {looped} loops were compared");
}

#[test]
fn a_split_factor_gives_what_the_whole_gives() {
    let mut splits = 0;
    for (text, count) in OPS {
        let op = Op::new(text);
        let operands = op.operands(count);
        let whole = op.call(&operands);
        let partition = op.signature.partition(count).unwrap();
        assert_eq!(partition.results.len(), whole.len(), "number of results of {text}");
        // Batch dimensions first (there are two), then the other factors.
        let batch = partition.batch.into_iter().flat_map(|kind| [(None, 0, kind), (None, 1, kind)]);
        let named = partition.factors.iter().enumerate().map(|(i, f)| (Some(i), 0, f.kind));
        for (factor, batch_dim, kind) in batch.chain(named) {
            if kind == FactorKind::Whole {
                continue;
            }
            splits += 1;
            let place = |mapping: &farcall_sig::signature::Mapping| match factor {
                None => mapping.batch.then_some(batch_dim),
                Some(f) => mapping
                    .factors
                    .iter()
                    .position(|m| *m == f)
                    .map(|k| k + if mapping.batch { 2 } else { 0 }),
            };
            let part = |half: usize| {
                let cut = |(tensor, mapping): (&Tensor, &_)| match place(mapping) {
                    None => tensor.clone(),
                    Some(dim) => {
                        let size = tensor.dims[dim] / 2;
                        tensor.slice(dim, half * size..(half + 1) * size)
                    }
                };
                op.call(&operands.iter().zip(&partition.operands).map(cut).collect::<Vec<_>>())
            };
            let parts = [part(0), part(1)];
            for (k, expected) in whole.iter().enumerate() {
                let halves = [parts[0][k].clone(), parts[1][k].clone()];
                let got = match (place(&partition.results[k]), kind) {
                    (Some(dim), _) => Tensor::concat(&halves, dim),
                    (None, FactorKind::Reduce(Reducer::Sum)) => Tensor::sum(&halves),
                    (None, other) => panic!("{text}: a result lacks a factor that is {other:?}"),
                };
                assert_eq!(got, *expected, "{text}: factor {factor:?} {batch_dim}, result {k}");
            }
        }
    }
    assert!(splits >= 30, "only {splits} splits were compared");
}
