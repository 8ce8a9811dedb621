//! Random operands for each op, and a plain formula that computes the expected results.

use farcall::ir::{DType, Literal};
use farcall::sig::{AttrArray, AttrValue, AttrValues};

use crate::engine::{f64s, literal, numbers};
use crate::random::Random;

/// An op of the gallery, with a generator of operands and a formula.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) operands: fn(&mut Random) -> (Vec<Literal>, AttrValues),
    /// Computes the results for operands of type `f64`.
    pub(crate) plain: fn(&[Literal], &AttrValues) -> Vec<Literal>,
}

pub(crate) const CASES: &[Case] = &[
    Case { name: "scaled_rms_norm", operands: normed, plain: scaled_rms_norm },
    Case { name: "normalize", operands: rows, plain: normalize },
    Case { name: "gemm", operands: factors, plain: gemm },
    Case { name: "top_k", operands: ranked, plain: top_k },
    Case { name: "diagonal", operands: matrices, plain: diagonal },
    Case { name: "polar", operands: two_alike, plain: polar },
    Case { name: "axpy", operands: scaled, plain: axpy },
    Case { name: "column_sums", operands: rows, plain: column_sums },
    Case { name: "concat", operands: several, plain: concat },
    Case { name: "soft_shrink", operands: shrunk, plain: soft_shrink },
    Case { name: "softmax", operands: masked, plain: softmax },
    Case { name: "log_sum_exp", operands: rows, plain: log_sum_exp },
    Case { name: "median", operands: rows, plain: median },
    Case { name: "transpose", operands: permuted, plain: transpose },
    Case { name: "softplus", operands: one, plain: softplus },
    Case { name: "segment_sum", operands: segments, plain: segment_sum },
    Case { name: "segment_take", operands: segments_taken, plain: segment_take },
    Case { name: "pad", operands: padded, plain: pad },
    Case { name: "recurrence", operands: two_rows, plain: recurrence },
    Case { name: "cross_entropy", operands: labelled, plain: cross_entropy },
    Case { name: "mix", operands: mixed, plain: mix },
    Case { name: "sgd_step", operands: trained, plain: sgd_step },
];

// ---- Operands ------------------------------------------------------------------------------

fn rows(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let dims = [random.batch(), vec![random.size(1)]].concat();
    (vec![random.array(&dims)], AttrValues::new())
}

fn shrunk(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let attrs = [("lambda", AttrValue::f32(0.75))].into_iter().map(|(name, value)| (name.to_owned(), value));
    let dims = random.batch();
    (vec![random.array(&dims)], attrs.collect())
}

fn matrices(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let dims = [random.batch(), vec![random.size(0), random.size(0)]].concat();
    (vec![random.array(&dims)], AttrValues::new())
}

fn normed(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (mut operands, mut attrs) = rows(random);
    let n = *operands[0].dims().last().unwrap();
    operands.push(random.array(&[n]));
    if random.below(2) == 0 {
        attrs.insert("eps", 0.25f32);
    }
    (operands, attrs)
}

fn factors(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (batch, m, k, n) = (random.batch(), random.size(0), random.size(0), random.size(0));
    let [a, b] = [[m, k], [k, n]].map(|last| [batch.as_slice(), &last].concat());
    (vec![random.array(&a), random.array(&b)], AttrValues::new())
}

fn ranked(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (operands, mut attrs) = rows(random);
    let n = *operands[0].dims().last().unwrap();
    attrs.insert("k", random.below(n + 1) as i64);
    (operands, attrs)
}

fn permuted(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (operands, mut attrs) = matrices(random);
    let mut left: Vec<i64> = (0..operands[0].dims().len() as i64).collect();
    let perm = std::iter::from_fn(|| (!left.is_empty()).then(|| left.remove(random.below(left.len()))));
    attrs.insert("perm", perm.collect::<AttrArray>());
    (operands, attrs)
}

fn two_alike(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let dims = random.batch();
    (vec![random.array(&dims), random.array(&dims)], AttrValues::new())
}

fn scaled(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (operands, attrs) = two_alike(random);
    ([vec![random.array(&[])], operands].concat(), attrs)
}

fn several(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (batch, d) = (random.batch(), random.size(0));
    let count = random.size(1);
    let mut operands = Vec::new();
    for _ in 0..count {
        let dims = [batch.as_slice(), &[random.size(0), d]].concat();
        operands.push(random.array(&dims));
    }
    (operands, AttrValues::new())
}

fn masked(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (mut operands, attrs) = rows(random);
    if random.below(2) == 0 {
        let dims = operands[0].dims().to_vec();
        let n = *dims.last().unwrap();
        let passes =
            |i: usize, random: &mut Random| f64::from(u8::from(i.is_multiple_of(n) || random.below(3) > 0));
        let mask: Vec<f64> = (0..dims.iter().product()).map(|i| passes(i, random)).collect();
        operands.push(literal(DType::Pred, &dims, &mask));
    }
    (operands, attrs)
}

fn one(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let dims = random.batch();
    (vec![random.array(&dims)], AttrValues::new())
}

/// Rows, and a segment id for each. Some ids name no segment: they are negative or too large.
fn segments(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (mut operands, mut attrs) = matrices(random);
    let dims = operands[0].dims()[..operands[0].dims().len() - 1].to_vec();
    let ids: Vec<f64> = (0..dims.iter().product()).map(|_| random.below(6) as f64 - 1.0).collect();
    operands.push(literal(DType::S32, &dims, &ids));
    attrs.insert("segments", random.size(0) as i64);
    (operands, attrs)
}

fn segments_taken(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (mut operands, mut attrs) = segments(random);
    let mut dims = operands[0].dims().to_vec();
    let rows = dims.len() - 2;
    dims[rows] = random.size(0);
    operands[0] = random.array(&dims);
    attrs.insert("segments", dims[rows] as i64);
    (operands, attrs)
}

fn padded(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (operands, mut attrs) = rows(random);
    attrs.insert("low", random.size(0) as i64);
    attrs.insert("high", random.size(0) as i64);
    attrs.insert("mode", ["zero", "edge", "reflect", "wrap"][random.below(4)]);
    (operands, attrs)
}

fn two_rows(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (mut operands, attrs) = rows(random);
    let dims = operands[0].dims().to_vec();
    operands.push(random.array(&dims));
    (operands, attrs)
}

fn labelled(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (mut operands, attrs) = rows(random);
    let dims = operands[0].dims()[..operands[0].dims().len() - 1].to_vec();
    let labels: Vec<f64> = (0..dims.iter().product()).map(|_| random.below(6) as f64 - 1.0).collect();
    operands.push(literal(DType::S32, &dims, &labels));
    (operands, attrs)
}

fn mixed(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (dims, count) = (random.batch(), random.size(1));
    let mut operands = vec![random.array(&[count])];
    operands.extend((0..count).map(|_| random.array(&dims)));
    (operands, AttrValues::new())
}

fn trained(random: &mut Random) -> (Vec<Literal>, AttrValues) {
    let (dims, mut attrs) = (random.batch(), AttrValues::new());
    attrs.insert("rate", 0.25);
    (vec![random.array(&dims), random.array(&dims), random.array(&dims)], attrs)
}

// ---- Formulas ------------------------------------------------------------------------------

/// Applies a function to the last `rank` dimensions of each batch entry. The function returns the sizes and
/// the numbers of a result. If the batch is empty, an entry of zeros determines the sizes.
fn each(x: &Literal, rank: usize, f: impl Fn(usize, &[usize], &[f64]) -> (Vec<usize>, Vec<f64>)) -> Literal {
    let (batch, inner) = x.dims().split_at(x.dims().len() - rank);
    let (count, size) = (batch.iter().product::<usize>(), inner.iter().product::<usize>());
    let values = numbers(x);
    let (mut dims, mut all) = (f(0, inner, &vec![0.0; size]).0, Vec::new());
    for i in 0..count {
        let (own, numbers) = f(i, inner, &values[i * size..(i + 1) * size]);
        dims = own;
        all.extend(numbers);
    }
    f64s(&[batch, dims.as_slice()].concat(), &all)
}

fn each_row(x: &Literal, f: impl Fn(usize, &[f64]) -> Vec<f64>) -> Vec<Literal> {
    vec![each(x, 1, |i, _, row| {
        let y = f(i, row);
        (vec![y.len()], y)
    })]
}

fn scaled_rms_norm(operands: &[Literal], attrs: &AttrValues) -> Vec<Literal> {
    let scale = numbers(&operands[1]);
    let eps = if attrs.is_empty() { f64::from(1e-6f32) } else { 0.25 };
    each_row(&operands[0], |_, x| {
        let rms = (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + eps).sqrt();
        x.iter().zip(&scale).map(|(x, scale)| x / rms * scale).collect()
    })
}

fn normalize(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    each_row(&operands[0], |_, x| {
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter().map(|x| x / length).collect()
    })
}

fn gemm(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let [k, n] = *operands[1].dims().last_chunk().unwrap();
    let b = numbers(&operands[1]);
    vec![each(&operands[0], 2, |batch, inner, a| {
        let b = |l: usize, j: usize| b.get((batch * k + l) * n + j).unwrap_or(&0.0);
        let entry = |i: usize, j: usize| (0..k).fold(0.0, |sum, l| sum + a[i * k + l] * b(l, j));
        let m = inner[0];
        (vec![m, n], (0..m * n).map(|c| entry(c / n, c % n)).collect())
    })]
}

/// Returns the indices of a row's entries, largest entry first.
fn descending(x: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|i, j| x[*j].total_cmp(&x[*i]));
    order
}

fn top_k(operands: &[Literal], attrs: &AttrValues) -> Vec<Literal> {
    let k = attrs.get("k").unwrap().as_int().unwrap() as usize;
    let values = each_row(&operands[0], |_, x| descending(x)[..k].iter().map(|i| x[*i]).collect());
    let places = each_row(&operands[0], |_, x| descending(x)[..k].iter().map(|i| *i as f64).collect());
    vec![values[0].clone(), literal(DType::S32, places[0].dims(), &numbers(&places[0]))]
}

fn diagonal(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    vec![each(&operands[0], 2, |_, inner, x| {
        let size = inner[0].min(inner[1]);
        (vec![size], (0..size).map(|i| x[i * inner[1] + i]).collect())
    })]
}

fn polar(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let (r, theta) = (numbers(&operands[0]), numbers(&operands[1]));
    let parts: Vec<f64> = r.iter().zip(theta).flat_map(|(r, t)| [r * t.cos(), r * t.sin()]).collect();
    vec![literal(DType::C128, operands[0].dims(), &parts)]
}

fn axpy(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let [a, x, y] = [0, 1, 2].map(|i| numbers(&operands[i]));
    let sum: Vec<f64> = x.iter().zip(y).map(|(x, y)| a[0] * x + y).collect();
    vec![f64s(operands[1].dims(), &sum)]
}

fn column_sums(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let n = *operands[0].dims().last().unwrap();
    let mut sums = vec![0.0; n];
    numbers(&operands[0]).iter().enumerate().for_each(|(i, x)| sums[i % n] += x);
    vec![f64s(&[n], &sums)]
}

fn concat(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let all: Vec<Vec<f64>> = operands.iter().map(numbers).collect();
    let d = *operands[0].dims().last().unwrap();
    vec![each(&operands[0], 2, |batch, _, _| {
        let parts = operands.iter().zip(&all).flat_map(|(x, values)| {
            let size = x.dims().last_chunk::<2>().unwrap().iter().product::<usize>();
            values.get(batch * size..(batch + 1) * size).unwrap_or_default().to_vec()
        });
        let rows = operands.iter().map(|x| x.dims()[x.dims().len() - 2]).sum();
        (vec![rows, d], parts.collect())
    })]
}

fn soft_shrink(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let shrink = |x: &f64| if x.abs() > 0.75 { x - 0.75 * x.signum() } else { 0.0 };
    vec![f64s(operands[0].dims(), &numbers(&operands[0]).iter().map(shrink).collect::<Vec<_>>())]
}

fn softmax(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let mask = operands.get(1).map(numbers);
    each_row(&operands[0], |row, x| {
        let weight = |i: usize| mask.as_ref().and_then(|mask| mask.get(row * x.len() + i)).unwrap_or(&1.0);
        let sum: f64 = (0..x.len()).map(|i| weight(i) * x[i].exp()).sum();
        (0..x.len()).map(|i| weight(i) * x[i].exp() / sum).collect()
    })
}

/// Computes one number for each row.
fn reduced(x: &Literal, f: impl Fn(&[f64]) -> f64) -> Vec<Literal> {
    vec![each(x, 1, |_, _, row| (vec![], vec![f(row)]))]
}

fn log_sum_exp(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    reduced(&operands[0], |x| x.iter().map(|x| x.exp()).sum::<f64>().ln())
}

fn median(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    reduced(&operands[0], |x| x[descending(x)[x.len() / 2]])
}

fn transpose(operands: &[Literal], attrs: &AttrValues) -> Vec<Literal> {
    let Some(AttrValue::Array(perm)) = attrs.get("perm") else { panic!("the attribute `perm` is missing") };
    let perm = perm.iter().map(|k| k.as_int().unwrap() as usize);
    let (perm, x) = (perm.collect::<Vec<_>>(), numbers(&operands[0]));
    let from = operands[0].dims();
    let to: Vec<usize> = perm.iter().map(|k| from[*k]).collect();
    let place =
        |index: &[usize], dims: &[usize]| index.iter().zip(dims).fold(0, |at, (i, size)| at * size + i);
    let mut y = vec![0.0; x.len()];
    for (i, value) in x.into_iter().enumerate() {
        let mut rest = i;
        let mut index: Vec<usize> = from.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
        index.reverse();
        y[place(&perm.iter().map(|k| index[*k]).collect::<Vec<_>>(), &to)] = value;
    }
    vec![literal(operands[0].dtype(), &to, &y)]
}

fn softplus(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let y: Vec<f64> = numbers(&operands[0]).iter().map(|x| x.exp().ln_1p()).collect();
    vec![f64s(operands[0].dims(), &y)]
}

/// Returns an attribute as a size.
fn size(attrs: &AttrValues, name: &str) -> usize {
    attrs.get(name).unwrap().as_int().unwrap() as usize
}

fn segment_sum(operands: &[Literal], attrs: &AttrValues) -> Vec<Literal> {
    let (ids, segments) = (numbers(&operands[1]), size(attrs, "segments"));
    vec![each(&operands[0], 2, |batch, inner, x| {
        let [n, d] = [inner[0], inner[1]];
        let is_in = |i: usize, k: usize| ids.get(batch * n + i).is_some_and(|id| *id == k as f64);
        let sum = |k: usize, j: usize| (0..n).filter(|i| is_in(*i, k)).map(|i| x[i * d + j]).sum::<f64>();
        (vec![segments, d], (0..segments * d).map(|c| sum(c / d, c % d)).collect())
    })]
}

fn segment_take(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let (ids, n) = (numbers(&operands[1]), *operands[1].dims().last().unwrap());
    vec![each(&operands[0], 2, |batch, inner, y| {
        let [segments, d] = [inner[0], inner[1]];
        let row = |i: usize| ids.get(batch * n + i).filter(|id| (0.0..segments as f64).contains(*id));
        let at = |i: usize, j: usize| row(i).map_or(0.0, |id| y[*id as usize * d + j]);
        (vec![n, d], (0..n * d).map(|c| at(c / d, c % d)).collect())
    })]
}

fn pad(operands: &[Literal], attrs: &AttrValues) -> Vec<Literal> {
    let (low, high) = (size(attrs, "low"), size(attrs, "high"));
    let Some(AttrValue::Str(mode)) = attrs.get("mode") else { panic!("the attribute `mode` is missing") };
    each_row(&operands[0], |_, x| {
        let last = x.len() - 1;
        // Returns the element `steps` positions after the last element of `row`. For elements before the
        // first one, `row` is reversed.
        let beyond = |row: &[f64], steps: usize| match mode.as_str() {
            "edge" => row[last],
            "wrap" => row[(steps - 1) % row.len()],
            "reflect" => {
                let there_and_back: Vec<f64> = row[..last].iter().rev().chain(&row[1..]).copied().collect();
                there_and_back.get((steps - 1) % (2 * last).max(1)).copied().unwrap_or(row[0])
            }
            _ => 0.0,
        };
        let reversed: Vec<f64> = x.iter().rev().copied().collect();
        let before = (1..=low).rev().map(|steps| beyond(&reversed, steps));
        before.chain(x.iter().copied()).chain((1..=high).map(|steps| beyond(x, steps))).collect()
    })
}

fn recurrence(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let a = numbers(&operands[0]);
    each_row(&operands[1], |row, b| {
        let mut h = vec![0.0];
        (0..b.len()).for_each(|t| h.push(a.get(row * b.len() + t).unwrap_or(&0.0) * h[t] + b[t]));
        h.split_off(1)
    })
}

fn cross_entropy(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let labels = numbers(&operands[1]);
    let loss = each(&operands[0], 1, |i, _, x| {
        let sum = x.iter().map(|x| x.exp()).sum::<f64>();
        let loss = match labels.get(i) {
            Some(&label) if label >= 0.0 && label < x.len() as f64 => sum.ln() - x[label as usize],
            _ => 0.0,
        };
        (vec![], vec![loss])
    });
    vec![loss]
}

fn mix(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let xs: Vec<Vec<f64>> = operands[1..].iter().map(numbers).collect();
    let weights = numbers(&operands[0]);
    let entry = |i: usize| weights.iter().zip(&xs).map(|(weight, x)| weight * x[i]).sum::<f64>();
    vec![f64s(operands[1].dims(), &(0..operands[1].len()).map(entry).collect::<Vec<_>>())]
}

fn sgd_step(operands: &[Literal], _: &AttrValues) -> Vec<Literal> {
    let [weights, velocity, gradient] = [0, 1, 2].map(|i| numbers(&operands[i]));
    let v: Vec<f64> = velocity.iter().zip(&gradient).map(|(v, g)| 0.9 * v + g).collect();
    let w: Vec<f64> = weights.iter().zip(&v).map(|(w, v)| w - 0.25 * v).collect();
    [w, v].map(|x| f64s(operands[0].dims(), &x)).to_vec()
}
