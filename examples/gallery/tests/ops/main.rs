//! The ops of the gallery in the engine: values, derivatives and batches, for random shapes. Python tests
//! check that jaxlib gives the same results (`python/tests/test_gallery.py`).

mod cases;
mod engine;
mod random;

use cases::{CASES, Case};
use engine::{Ops, assert_close, f64s, is_continuous, literal, numbers, product, stack};
use farcall::ir::{DType, Literal};
use farcall::sig::signature::Batching;
use farcall::sig::{AttrValue, AttrValues};
use random::Random;

/// Calls `check` several times for each case that `only` accepts, each time with other random operands.
fn for_each_case(only: impl Fn(&Case) -> bool, check: impl Fn(&Case, &[Literal], &AttrValues, &mut Random)) {
    for (i, case) in CASES.iter().enumerate().filter(|(_, case)| only(case)) {
        for seed in 0..20 {
            let mut random = Random::new(1000 * i as u64 + seed);
            let (operands, attrs) = (case.operands)(&mut random);
            check(case, &operands, &attrs, &mut random);
        }
    }
}

/// Converts the numbers of `x` to another element type.
fn cast(x: &Literal, dtype: DType) -> Literal {
    literal(dtype, x.dims(), &numbers(x))
}

fn random_like(x: &Literal, random: &mut Random) -> Literal {
    let parts = if x.dtype().is_complex() { 2 } else { 1 };
    let values: Vec<f64> = (0..parts * x.len()).map(|_| random.number()).collect();
    literal(x.dtype(), x.dims(), &values)
}

fn random_like_all(all: &[Literal], random: &mut Random) -> Vec<Literal> {
    all.iter().map(|x| if is_continuous(x) { random_like(x, random) } else { x.clone() }).collect()
}

/// Ops without a case here. Python tests compare them with `jax.numpy`.
const IN_PYTHON: [&str; 7] =
    ["complex_filter", "conv1d", "csr_matmul", "flash_attention", "hard_shrink", "rotary", "square_block"];

#[test]
fn every_op_is_tested() {
    let ops = Ops::new();
    let derivatives = ["_fwd", "_bwd", "_jvp"];
    let is_op = |name: &String| !derivatives.iter().any(|suffix| name.ends_with(suffix));
    let names: Vec<String> = ops.names().into_iter().filter(is_op).collect();
    let mut tested: Vec<&str> = CASES.iter().map(|case| case.name).chain(["tick"]).chain(IN_PYTHON).collect();
    tested.sort_unstable();
    assert_eq!(names, tested);
}

#[test]
fn shapes_and_values_are_those_of_the_formulas() {
    let ops = Ops::new();
    for_each_case(
        |_| true,
        |case, operands, attrs, _| {
            let expected = (case.plain)(operands, attrs);
            let found = ops.call(case.name, operands, attrs).unwrap();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_close(case.name, found, expected, 1e-12);
            }
            // The same kernel in single precision gives the same results up to rounding.
            let single: Vec<Literal> = operands
                .iter()
                .map(|x| if is_continuous(x) { cast(x, DType::F32) } else { x.clone() })
                .collect();
            for (found, expected) in ops.call(case.name, &single, attrs).unwrap().iter().zip(&expected) {
                assert_eq!(found.dims(), expected.dims());
                for (a, b) in numbers(found).iter().zip(numbers(expected)) {
                    assert!((a - b).abs() < 2e-5, "{} in f32: found {a}, expected {b}", case.name);
                }
            }
        },
    );
}

#[test]
fn reverse_derivatives_are_those_of_finite_differences() {
    let ops = Ops::new();
    for_each_case(
        |case| ops.declaration(case.name).vjp.is_some(),
        |case, operands, attrs, random| {
            let mut weights = Vec::new();
            let (_, gradients) = ops.vjp(case.name, operands, attrs, |results| {
                weights = random_like_all(results, random);
                weights.clone()
            });
            let slope = |i: usize, direction: &Literal| {
                let at = |step: f64| {
                    let mut moved = operands.to_vec();
                    let values = numbers(&operands[i]).into_iter().zip(numbers(direction));
                    let values: Vec<f64> = values.map(|(x, d)| x + step * d).collect();
                    moved[i] = literal(operands[i].dtype(), operands[i].dims(), &values);
                    let results = ops.call(case.name, &moved, attrs).unwrap();
                    let terms = results.iter().zip(&weights).filter(|(y, _)| is_continuous(y));
                    terms.map(|(y, w)| product(y, w)).sum::<f64>()
                };
                (at(1e-5) - at(-1e-5)) / 2e-5
            };
            for (i, gradient) in gradients.iter().enumerate() {
                assert_eq!(gradient.is_some(), is_continuous(&operands[i]));
                let Some(gradient) = gradient else { continue };
                assert_eq!(gradient.ty().to_string(), operands[i].ty().to_string(), "{}", case.name);
                for _ in 0..2 {
                    let direction = random_like(&operands[i], random);
                    let (found, expected) = (product(gradient, &direction), slope(i, &direction));
                    let close = (found - expected).abs() < 1e-6 * expected.abs().max(1.0);
                    assert!(close, "{}, operand {i}: the slope is {found}, not {expected}", case.name);
                }
            }
        },
    );
}

#[test]
fn forward_derivatives_are_those_of_finite_differences_and_fit_the_reverse_ones() {
    let ops = Ops::new();
    for_each_case(
        |case| ops.declaration(case.name).jvp.is_some(),
        |case, operands, attrs, random| {
            let directions = random_like_all(operands, random);
            let (results, tangents) = ops.jvp(case.name, operands, attrs, &directions);
            let at = |step: f64| {
                let moved = operands.iter().zip(&directions).map(|(x, d)| {
                    if !is_continuous(x) {
                        return x.clone();
                    }
                    let values = numbers(x).into_iter().zip(numbers(d));
                    let values: Vec<f64> = values.map(|(x, d)| x + step * d).collect();
                    literal(x.dtype(), x.dims(), &values)
                });
                ops.call(case.name, &moved.collect::<Vec<_>>(), attrs).unwrap()
            };
            for ((tangent, above), below) in tangents.iter().zip(at(1e-5)).zip(at(-1e-5)) {
                let Some(tangent) = tangent else { continue };
                let slopes = numbers(&above).into_iter().zip(numbers(&below));
                let slopes: Vec<f64> = slopes.map(|(a, b)| (a - b) / 2e-5).collect();
                assert_close(case.name, tangent, &literal(above.dtype(), above.dims(), &slopes), 1e-6);
            }
            if ops.declaration(case.name).vjp.is_none() {
                return;
            }
            let weights = random_like_all(&results, random);
            let (_, gradients) = ops.vjp(case.name, operands, attrs, |_| weights.clone());
            let along: f64 =
                tangents.iter().zip(&weights).filter_map(|(t, w)| Some(product(t.as_ref()?, w))).sum();
            let back: f64 =
                gradients.iter().zip(&directions).filter_map(|(g, d)| Some(product(g.as_ref()?, d))).sum();
            assert!(
                (along - back).abs() < 1e-10,
                "{}: the slope is {along} by the JVP, but {back} by the VJP",
                case.name
            );
        },
    );
}

/// A call with an additional batch dimension returns the stacked results of separate calls. The same is true
/// for its derivatives, except that the cotangents of shared operands are sums over the batch.
#[test]
fn native_batches_are_loops() {
    let ops = Ops::new();
    let native = |case: &Case| !["column_sums", "transpose"].contains(&case.name);
    for_each_case(native, |case, operands, attrs, random| {
        let declaration = ops.declaration(case.name);
        let slots = declaration.signature.operand_slots(operands.len()).unwrap();
        let batched: Vec<bool> =
            slots.iter().map(|slot| declaration.signature.operands()[*slot].shape.batch.is_some()).collect();
        let rule = ops.batching(case.name, &batched);
        assert_eq!(rule, Batching::Native { broadcast: vec![] }, "{}", case.name);

        let size = random.size(1);
        let entries: Vec<Vec<Literal>> = (0..size)
            .map(|_| {
                let fresh = |(x, batched): (&Literal, &bool)| match *batched && is_continuous(x) {
                    true => random.array(x.dims()),
                    false => x.clone(),
                };
                operands.iter().zip(&batched).map(fresh).collect()
            })
            .collect();
        let stacked = |of: &dyn Fn(usize) -> Literal| stack(&(0..size).map(of).collect::<Vec<_>>());
        let whole: Vec<Literal> = (0..operands.len())
            .map(|i| if batched[i] { stacked(&|e| entries[e][i].clone()) } else { operands[i].clone() })
            .collect();
        let each: Vec<Vec<Literal>> =
            entries.iter().map(|entry| ops.call(case.name, entry, attrs).unwrap()).collect();
        for (i, result) in ops.call(case.name, &whole, attrs).unwrap().iter().enumerate() {
            assert_close(case.name, result, &stacked(&|e| each[e][i].clone()), 1e-12);
        }
        if declaration.vjp.is_some() {
            let weights: Vec<Vec<Literal>> = each.iter().map(|ys| random_like_all(ys, random)).collect();
            let all = (0..each[0].len()).map(|i| stacked(&|e| weights[e][i].clone())).collect::<Vec<_>>();
            let (_, found) = ops.vjp(case.name, &whole, attrs, |_| all);
            let separate: Vec<_> =
                (0..size).map(|e| ops.vjp(case.name, &entries[e], attrs, |_| weights[e].clone()).1).collect();
            for (i, found) in found.iter().enumerate() {
                let Some(found) = found else { continue };
                let of = |e: usize| separate[e][i].clone().unwrap();
                let expected = if batched[i] { stacked(&of) } else { sum((0..size).map(of)) };
                assert_close(case.name, found, &expected, 1e-10);
            }
        }
        if declaration.jvp.is_some() {
            let directions: Vec<Vec<Literal>> =
                (0..size).map(|_| random_like_all(operands, random)).collect();
            let shared = |e: usize, i: usize| directions[if batched[i] { e } else { 0 }][i].clone();
            let of_entry = |e: usize| (0..operands.len()).map(|i| shared(e, i)).collect::<Vec<_>>();
            let all = (0..operands.len()).map(|i| match batched[i] {
                true => stacked(&|e| shared(e, i)),
                false => shared(0, i),
            });
            let (_, found) = ops.jvp(case.name, &whole, attrs, &all.collect::<Vec<_>>());
            let separate: Vec<_> =
                (0..size).map(|e| ops.jvp(case.name, &entries[e], attrs, &of_entry(e)).1).collect();
            for (i, found) in found.iter().enumerate() {
                let Some(found) = found else { continue };
                assert_close(case.name, found, &stacked(&|e| separate[e][i].clone().unwrap()), 1e-12);
            }
        }
    });
}

/// An op's own batching function turns a batch into one call, which returns the stacked results of separate
/// calls.
#[test]
fn batches_by_hand_are_loops() {
    let ops = Ops::new();
    for_each_case(
        |case| case.name == "transpose",
        |case, operands, attrs, random| {
            let size = random.size(1);
            let entries: Vec<Literal> = (0..size).map(|_| random.array(operands[0].dims())).collect();
            let whole = stack(&entries);
            let Batching::Custom { operands: at, attrs: changed, results } =
                ops.batching_of(case.name, &whole, attrs)
            else {
                panic!("{} is not batched by hand", case.name)
            };
            assert_eq!((at, results), (vec![Some(0)], vec![0]));
            let found = ops.call(case.name, &[whole], &changed).unwrap();
            let separate =
                entries.iter().map(|x| ops.call(case.name, std::slice::from_ref(x), attrs).unwrap());
            let separate: Vec<Literal> = separate.map(|mut results| results.remove(0)).collect();
            assert_close(case.name, &found[0], &stack(&separate), 0.0);
        },
    );
}

fn sum(mut all: impl Iterator<Item = Literal>) -> Literal {
    let first = all.next().unwrap();
    all.fold(first, |sum, x| {
        let values: Vec<f64> = numbers(&sum).into_iter().zip(numbers(&x)).map(|(a, b)| a + b).collect();
        literal(sum.dtype(), sum.dims(), &values)
    })
}

#[test]
fn what_is_reduced_over_the_batch_loops() {
    let ops = Ops::new();
    let loops = |op: &str, batched: &[bool], why: &str| {
        let Batching::Loop { reason } = ops.batching(op, batched) else { panic!("{op} does not loop") };
        assert_eq!(reason, why);
    };
    loops("column_sums", &[true], "y is reduced over * (sum)");
    loops("scaled_rms_norm", &[true, true], "scale is batched but has no *");
    loops("axpy", &[true, false, false], "a is batched but has no *");
    loops("tick", &[true], "it has a side effect, once for each entry");
}

#[test]
fn what_does_not_fit_is_said_in_the_words_of_the_op() {
    let ops = Ops::new();
    let says = |op: &str, operands: &[Literal], attrs: &[(&str, AttrValue)], message: &str| {
        let attrs: AttrValues = attrs.iter().cloned().collect();
        assert_eq!(ops.call(op, operands, &attrs).unwrap_err(), message);
    };
    let x = f64s(&[2, 3], &[0.0; 6]);
    says("gemm", &[x.clone(), x.clone()], &[], "gemm: b has k = 2 but a has k = 3");
    says(
        "top_k",
        std::slice::from_ref(&x),
        &[("k", AttrValue::i64(4))],
        "top_k: k <= n does not hold (k = 4, n = 3)",
    );
    says("polar", &[x.clone(), cast(&x, DType::F32)], &[], "polar: theta is f32 but r is f64");
    says("median", &[cast(&x, DType::S32)], &[], "median: x must be f32 or f64, but is s32");
    says("log_sum_exp", &[f64s(&[2, 0], &[])], &[], "log_sum_exp: n >= 1 does not hold (n = 0)");
    says("concat", &[], &[], "concat: T is not known without at least one of xs");
}

#[test]
fn an_operand_in_place_is_not_overwritten_for_the_caller() {
    let ops = Ops::new();
    let (a, x, y) = (f64s(&[], &[2.0]), f64s(&[2], &[1.0, 1.0]), f64s(&[2], &[5.0, 6.0]));
    let sum = ops.call("axpy", &[a, x, y.clone()], &AttrValues::new()).unwrap();
    assert_eq!((numbers(&sum[0]), numbers(&y)), (vec![7.0, 8.0], vec![5.0, 6.0]));
}

#[test]
fn a_side_effect_happens_at_every_call() {
    let ops = Ops::new();
    let tick = |by: f64| {
        numbers(&ops.call("tick", &[literal(DType::S32, &[], &[by])], &AttrValues::new()).unwrap()[0])[0]
    };
    let start = tick(0.0);
    assert_eq!([tick(2.0), tick(2.0), tick(0.0)], [start + 2.0, start + 4.0, start + 4.0]);
}
