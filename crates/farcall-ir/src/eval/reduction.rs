//! Reductions over dimensions and windows, `map`, sorting.
//!
//! This module turns regions into functions of scalars; [`super::folding`] and [`super::sorting`] apply them.

use std::ops::Range;

use farcall_sig::DType;

use super::data::sliced;
use super::folding::{self, Body};
use super::machine::Machine;
use super::number::{MAX_SHORT_SUM_TERMS, flush};
use super::region::Applied;
use super::space::tensors;
use super::{EvalError, EvalValue, sorting, tensor, windows};
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::module::{Inst, Region};
use crate::op::{Binary, Op, ReduceWindow, SelectAndScatter};
use crate::reducer;
use crate::scalar::Scalar;

/// `reduce`: inputs, followed by one initial value for each input.
pub(super) fn reduce<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    dims: &[usize],
) -> Result<Vec<EvalValue>, EvalError> {
    let all = tensors(xs)?;
    let (inputs, inits) = all.split_at(all.len() / 2);
    let dtypes = result_dtypes(m, inst)?;
    let first = tensor(xs, 0)?;
    let terms = dims.iter().map(|d| first.dims().get(*d).copied().unwrap_or(1)).product();
    values(with_reducer(m, inst, terms, true, |body| folding::fold(inputs, inits, dims, &dtypes, body)))
}

/// `reduce_window`: inputs, followed by one initial value for each input.
pub(super) fn reduce_window<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    window: &ReduceWindow,
) -> Result<Vec<EvalValue>, EvalError> {
    let all = tensors(xs)?;
    let (inputs, inits) = all.split_at(all.len() / 2);
    let dtypes = result_dtypes(m, inst)?;
    let semantics = m.semantics;
    let terms = window.window.iter().fold(1usize, |n, w| n.saturating_mul(*w));
    values(with_reducer(m, inst, terms, false, |body| {
        windows::fold_windows(inputs, inits, window, &dtypes, semantics, body)
    }))
}

/// `select_and_scatter`: operand, source, initial value.
pub(super) fn select_and_scatter<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    window: &SelectAndScatter,
) -> Result<Vec<EvalValue>, EvalError> {
    let (operand, source, init) = (tensor(xs, 0)?, tensor(xs, 1)?, tensor(xs, 2)?);
    let dtype = m.result_type(inst, 0)?.dtype;
    let mut select = applied(m, inst, 0)?;
    let mut scatter = applied(m, inst, 1)?;
    // All windows select their elements before any value is scattered, since both regions need the machine.
    let picked = windows::select(operand, source.dims(), window, &mut |args, out| select.call(m, args, out))?;
    let result = folding::scatter(operand.dims(), source, init, &picked, dtype, &mut |args, out| {
        scatter.call(m, args, out)
    })?;
    values(Ok(vec![result]))
}

/// `map`: inputs.
pub(super) fn map<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
) -> Result<Vec<EvalValue>, EvalError> {
    let inputs = tensors(xs)?;
    let dtypes = result_dtypes(m, inst)?;
    let mut body = applied(m, inst, 0)?;
    values(folding::map(&inputs, &dtypes, &mut |args, out| body.call(m, args, out)))
}

/// Combines two tensors, element by element, by the region of a collective.
pub(super) fn combined<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    pair: [&EvalValue; 2],
) -> Result<EvalValue, EvalError> {
    let inputs = pair.map(|x| x.tensor().cloned());
    let [Some(a), Some(b)] = inputs else { return Err(EvalError::new("a collective combines tensors")) };
    let dtype = a.dtype();
    let mut body = applied(m, inst, 0)?;
    let combined = folding::map(&[a, b], &[dtype], &mut |args, out| body.call(m, args, out));
    let mut combined = values(combined)?;
    combined.pop().ok_or_else(|| EvalError::new("the region returns nothing"))
}

/// `sort`: inputs.
pub(super) fn sort<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    dim: usize,
) -> Result<Vec<EvalValue>, EvalError> {
    values(Ok(sorted(m, inst, xs, dim)?))
}

/// `farcall.partial_sort`: sorts whole lines, then takes a part of each.
pub(super) fn partial_sort<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    dim: usize,
    part: &Range<usize>,
) -> Result<Vec<EvalValue>, EvalError> {
    let sorted = sorted(m, inst, xs, dim)?;
    let taken = sorted.iter().map(|line| {
        let (mut start, mut limit) = (vec![0; line.dims().len()], line.dims().to_vec());
        if let (Some(start), Some(limit)) = (start.get_mut(dim), limit.get_mut(dim)) {
            (*start, *limit) = (part.start, part.end);
        }
        sliced(line, &start, &limit, &vec![1; line.dims().len()])
    });
    values(taken.collect())
}

fn sorted<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    dim: usize,
) -> Result<Vec<Literal>, EvalError> {
    let inputs = tensors(xs)?;
    let mut body = applied(m, inst, 0)?;
    sorting::sort(&inputs, dim, &mut |args, out| body.call(m, args, out))
}

/// `top_k`: operand.
pub(super) fn top_k(
    _m: &Machine<'_>,
    _inst: Inst<'_>,
    xs: &[EvalValue],
    k: usize,
) -> Result<Vec<EvalValue>, EvalError> {
    let (largest, places) = sorting::top_k(tensor(xs, 0)?, k)?;
    values(Ok(vec![largest, places]))
}

/// Prepares region number `i` of an instruction as a function of scalars.
pub(super) fn applied<'m>(m: &Machine<'m>, inst: Inst<'m>, i: usize) -> Result<Applied<'m>, EvalError> {
    let region = inst.region(i).ok_or_else(|| EvalError::new(format!("region {i} is missing")))?;
    Applied::new(m, region)
}

/// Runs `fold`, which combines `terms` elements for each result, with the instruction's region.
///
/// For many terms, a region that adds or multiplies floats is replaced by the same operation in `f64`, and
/// the fold rounds once at its end. The specification leaves the order of a reduction, and thus the last
/// digits of its result, to the implementation. A million `f32` numbers added one by one would be further
/// from their sum than XLA's partial sums are. The same holds for a dozen `bf16` numbers: in a `reduce`, XLA
/// adds them in `f32` (hence `widen`), but in a `reduce_window` it rounds each step.
fn with_reducer<'m, R>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    terms: usize,
    widen: bool,
    fold: impl FnOnce(Body<'_>) -> Result<R, EvalError>,
) -> Result<R, EvalError> {
    let float_reducer = inst.region(0).and_then(|r| float_reducer(m, r));
    if let Some((operation, dtype)) =
        float_reducer.filter(|(_, dtype)| terms > MAX_SHORT_SUM_TERMS || (widen && dtype.real().bits() < 32))
    {
        let (denormals, mut pace) = (m.denormals, Pace::default());
        return fold(&mut |args, out| {
            pace.check()?;
            out.clear();
            let [a, b] = [args[0], args[1]].map(|x| flush(denormals, dtype, x));
            let value = match (operation, a, b) {
                (FloatReducer::Add, Scalar::Float(a), Scalar::Float(b)) => Scalar::Float(a + b),
                (FloatReducer::Multiply, Scalar::Float(a), Scalar::Float(b)) => Scalar::Float(a * b),
                (FloatReducer::Add, a, b) => Scalar::Complex(a.as_complex() + b.as_complex()),
                (FloatReducer::Multiply, a, b) => Scalar::Complex(a.as_complex() * b.as_complex()),
            };
            out.push(flush(denormals, dtype, value));
            Ok(())
        });
    }
    let mut body = applied(m, inst, 0)?;
    fold(&mut |args, out| body.call(m, args, out))
}

/// The operation of a region that only adds or multiplies two floats.
#[derive(Clone, Copy)]
enum FloatReducer {
    Add,
    Multiply,
}

/// The operation and operand type of a region that only adds or multiplies two floats.
fn float_reducer(m: &Machine<'_>, region: Region<'_>) -> Option<(FloatReducer, DType)> {
    let inst = reducer::of(region)?.inst;
    let operation = match inst.op() {
        Op::Binary(Binary::Add) => FloatReducer::Add,
        Op::Binary(Binary::Multiply) => FloatReducer::Multiply,
        _ => return None,
    };
    let dtype = m.func.tensor(*inst.own_operands().first()?)?.dtype;
    (dtype.is_float() || dtype.is_complex()).then_some((operation, dtype))
}

fn result_dtypes(m: &Machine<'_>, inst: Inst<'_>) -> Result<Vec<DType>, EvalError> {
    (0..inst.results().len()).map(|i| Ok(m.result_type(inst, i)?.dtype)).collect()
}

fn values(results: Result<Vec<Literal>, EvalError>) -> Result<Vec<EvalValue>, EvalError> {
    Ok(results?.into_iter().map(EvalValue::Tensor).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::eval::{Denormals, NoHost, eval_form};
    use crate::text;

    fn run(program: &str, inputs: &[Literal]) -> Vec<Literal> {
        let module = text::parse(&Source::new("test", program)).unwrap();
        let inputs: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
        let out = eval_form(&module, module.entry().unwrap(), &inputs, &NoHost, Denormals::Ieee).unwrap();
        tensors(&out).unwrap()
    }

    #[test]
    fn long_sums_are_rounded_once() {
        let sum = |n: usize| {
            let program = format!(
                "func.func @main(%x: tensor<{n}xf32>, %init: tensor<f32>) -> tensor<f32> {{
                   %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0]
                     : (tensor<{n}xf32>, tensor<f32>) -> tensor<f32>
                   return %0 : tensor<f32>
                 }}"
            );
            let x = Literal::splat(DType::F32, [n], Scalar::Float(1.0));
            run(&program, &[x, Literal::scalar(DType::F32, Scalar::Float(1e9))])[0].get(0).as_f64()
        };
        assert_eq!(sum(64), 1e9);
        assert_eq!(sum(1024), 1e9 + 1024.0);
    }

    #[test]
    fn regions_see_the_values_around_them() {
        let program = "
            func.func @main(%x: tensor<4xi32>, %bias: tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>) {
              %0 = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0>}> ({
              ^bb0(%a: tensor<i32>):
                %2 = stablehlo.add %a, %bias : tensor<i32>
                stablehlo.return %2 : tensor<i32>
              }) : (tensor<4xi32>) -> tensor<4xi32>
              %1 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({
              ^bb0(%a: tensor<i32>, %b: tensor<i32>):
                %2 = stablehlo.remainder %a, %bias : tensor<i32>
                %3 = stablehlo.remainder %b, %bias : tensor<i32>
                %4 = stablehlo.compare LT, %2, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %4 : tensor<i1>
              }) : (tensor<4xi32>) -> tensor<4xi32>
              return %0, %1 : tensor<4xi32>, tensor<4xi32>
            }";
        let x = Literal::from_slice(DType::S32, [4], &[12, 21, 30, 1]);
        let out = run(program, &[x, Literal::scalar(DType::S32, Scalar::Signed(10))]);
        assert_eq!(out[0].as_slice::<i32>(), [22, 31, 40, 11]);
        assert_eq!(out[1].as_slice::<i32>(), [30, 21, 1, 12]);
    }
}
