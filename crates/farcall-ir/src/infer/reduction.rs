//! Reductions, windows, sorting.

use smallvec::smallvec;

use farcall_sig::DType;

use crate::infer::cx::Cx;
use crate::infer::shape::{
    WindowDim, compatible, compatible_elements, equal_up_to_precision, is_scalar, promotable, same_dims,
};
use crate::op::Class;
use crate::op::{ReduceWindow, Scan, SelectAndScatter};
use crate::types::{Dim, TensorType, Type, TypeList};

/// Checks that region number `region` combines one accumulator and one element for each of N inputs. The
/// region takes accumulators of types `E0 … EN-1`, then N elements, and returns `E0 … EN-1`, all of rank 0.
/// Returns the types `Ei`.
///
/// Elements may differ from accumulators in floating-point precision. `inputs` must be promotable to the
/// types of the elements, `init` to the types of the accumulators. `init_code` is reported for mistakes in
/// the initial values, `code` for mistakes in the region.
pub(super) fn reducer(
    cx: &mut Cx<'_>,
    region: usize,
    [init_code, code]: [&'static str; 2],
    inputs: &[&TensorType],
    init: &[&TensorType],
) -> Option<Vec<TensorType>> {
    let n = inputs.len();
    let body = cx.region(region);
    let (args, returned) = (cx.types(body.own_args()), cx.types(body.returned()));
    let takes = cx.check(args.len() == 2 * n, code, || {
        format!("the region must take {} arguments, found {}", 2 * n, args.len())
    });
    let gives = cx.check(returned.len() == n, code, || {
        format!("the region must return {n} values, found {}", returned.len())
    });
    if !(takes && gives) {
        return None;
    }
    let mut accumulators = Vec::new();
    for (i, ty) in returned.iter().enumerate() {
        let scalar = ty.tensor().filter(|t| t.rank() == 0);
        let Some(scalar) = scalar else {
            cx.fail(code, format!("returned value {i} must be a tensor of rank 0, found {ty}"));
            continue;
        };
        // The accumulator's type is also the returned type.
        let same = args[i].tensor().is_some_and(|a| a.rank() == 0 && compatible_elements(a, scalar));
        cx.check(same, code, || format!("argument {i} must have the returned type, {ty}, found {}", args[i]));
        // The other argument holds an element of the input.
        let element = args[n + i].tensor().filter(|a| a.rank() == 0 && equal_up_to_precision(a, scalar));
        match element {
            Some(element) => {
                cx.check(promotable(inputs[i], element), code, || {
                    format!("elements of {} cannot be promoted to argument {}, {element}", inputs[i], n + i)
                });
            }
            None => cx.fail(
                code,
                format!("argument {} must have the returned type, {ty}, found {}", n + i, args[n + i]),
            ),
        }
        cx.check(init[i].rank() == 0 && promotable(init[i], scalar), init_code, || {
            format!("initial value {i} must have rank 0 and a type that {ty} can hold, found {}", init[i])
        });
        accumulators.push(scalar.clone());
    }
    (accumulators.len() == n).then_some(accumulators)
}

/// Checks that operands are N inputs of one shape and N initial values, with N at least 1.
fn inputs_and_init<'a>(
    cx: &mut Cx<'a>,
    [count_code, shape_code, class_code]: [&'static str; 3],
) -> Option<(Vec<&'a TensorType>, Vec<&'a TensorType>)> {
    let count = cx.operand_count();
    if !cx.check(count >= 2 && count.is_multiple_of(2), count_code, || {
        format!("operands must be N inputs and N initial values, found {count} operands")
    }) {
        return None;
    }
    let inputs = cx.tensors(0..count / 2);
    for (i, input) in inputs.iter().enumerate() {
        cx.class(class_code, &format!("input {i}"), input, Class::TENSOR);
        cx.check(same_dims(inputs[0].dims(), input.dims()), shape_code, || {
            format!("inputs must have the same shape, found {} and (input {i}) {input}", inputs[0])
        });
    }
    Some((inputs, cx.tensors(count / 2..count)))
}

pub(super) fn reduce(cx: &mut Cx<'_>, dims: &[usize]) -> Option<TypeList> {
    // reduce_c1, reduce_c3, reduce_i1
    let (inputs, init) = inputs_and_init(cx, ["reduce_c3", "reduce_c1", "reduce_i1"])?;
    // reduce_c4
    let valid = cx.in_range("reduce_c4", "dimensions", dims, inputs[0].rank());
    // reduce_c5
    cx.unique("reduce_c5", "dimensions", dims);
    // reduce_c2, reduce_c6
    let accumulators = reducer(cx, 0, ["reduce_c2", "reduce_c6"], &inputs, &init)?;
    if !valid {
        return None;
    }
    // reduce_c7, reduce_c8
    let kept = inputs[0].dims().enumerate().filter(|(d, _)| !dims.contains(d)).map(|(_, dim)| dim);
    Some(accumulators.iter().map(|e| e.with_dims(kept.clone()).into()).collect())
}

pub(super) fn reduce_window(cx: &mut Cx<'_>, op: &ReduceWindow) -> Option<TypeList> {
    // reduce_window_c1, reduce_window_c2, reduce_window_i1
    let (inputs, init) = inputs_and_init(cx, ["reduce_window_c1", "reduce_window_c2", "reduce_window_i1"])?;
    let rank = inputs[0].rank();
    let mut ok = true;
    // reduce_window_c4 … reduce_window_c11
    let lists = [
        ("window_dimensions", &op.window, "reduce_window_c4", "reduce_window_c5"),
        ("window_strides", &op.strides, "reduce_window_c6", "reduce_window_c7"),
        ("base_dilations", &op.base_dilations, "reduce_window_c8", "reduce_window_c9"),
        ("window_dilations", &op.window_dilations, "reduce_window_c10", "reduce_window_c11"),
    ];
    for (name, list, length, positive) in lists {
        ok &= cx.length(length, name, list.len(), rank, "one per dimension");
        ok &= cx.positive(positive, name, list);
    }
    // reduce_window_c12
    ok &= cx.length("reduce_window_c12", "padding", op.padding.len(), rank, "one pair per dimension");
    // reduce_window_c3, reduce_window_c13
    let accumulators = reducer(cx, 0, ["reduce_window_c3", "reduce_window_c13"], &inputs, &init)?;
    if !ok {
        return None;
    }
    // reduce_window_c14, reduce_window_c15, reduce_window_c16
    let windows: Vec<Dim> = (0..rank)
        .map(|d| {
            let window = WindowDim {
                size: Dim::Static(op.window[d]),
                stride: op.strides[d],
                padding: op.padding[d],
                base_dilation: op.base_dilations[d],
                dilation: op.window_dilations[d],
            };
            window.count(inputs[0].dim(d))
        })
        .collect();
    Some(accumulators.iter().map(|e| e.with_dims(windows.iter().copied()).into()).collect())
}

pub(super) fn select_and_scatter(cx: &mut Cx<'_>, op: &SelectAndScatter) -> Option<TypeList> {
    let (operand, source, init) = (cx.t(0), cx.t(1), cx.t(2));
    // select_and_scatter_i1
    cx.class("select_and_scatter_i1", "operand", operand, Class::TENSOR);
    // select_and_scatter_c1
    cx.check(equal_up_to_precision(operand, source), "select_and_scatter_c1", || {
        format!("operand and source must have the same element type, found {operand} and {source}")
    });
    let rank = operand.rank();
    // select_and_scatter_c4 … select_and_scatter_c8
    let mut ok = true;
    let lists = [
        ("window_dimensions", &op.window, "select_and_scatter_c4", "select_and_scatter_c5"),
        ("window_strides", &op.strides, "select_and_scatter_c6", "select_and_scatter_c7"),
    ];
    for (name, list, length, positive) in lists {
        ok &= cx.length(length, name, list.len(), rank, "one per dimension");
        ok &= cx.positive(positive, name, list);
    }
    ok &= cx.length("select_and_scatter_c8", "padding", op.padding.len(), rank, "one pair per dimension");
    // select_and_scatter_c2
    if ok {
        let windows = (0..rank).map(|d| {
            let window = WindowDim {
                size: Dim::Static(op.window[d]),
                stride: op.strides[d],
                padding: op.padding[d],
                base_dilation: 1,
                dilation: 1,
            };
            window.count(operand.dim(d))
        });
        let windows: Vec<Dim> = windows.collect();
        cx.check(same_dims(windows.iter().copied(), source.dims()), "select_and_scatter_c2", || {
            format!("source must have the shape {windows:?} (the number of windows), found {source}")
        });
    }
    // select_and_scatter_c9
    let select = cx.region(0);
    let (args, returned) = (cx.types(select.own_args()), cx.types(select.returned()));
    let takes = args.len() == 2
        && args
            .iter()
            .all(|a| a.tensor().is_some_and(|a| a.rank() == 0 && equal_up_to_precision(a, operand)));
    let gives = returned.len() == 1 && is_scalar(&returned[0], DType::Pred);
    cx.check(takes && gives, "select_and_scatter_c9", || {
        format!(
            "the select region must compare two elements of {operand} and return tensor<i1>, found {} -> {}",
            list(&args),
            list(&returned)
        )
    });
    // select_and_scatter_c3, select_and_scatter_c10
    let element = source.with_sizes([]);
    let codes = ["select_and_scatter_c3", "select_and_scatter_c10"];
    let accumulators = reducer(cx, 1, codes, &[&element], &[init])?;
    // select_and_scatter_c11, select_and_scatter_c12
    Some(smallvec![accumulators[0].with_dims_of(operand).into()])
}

pub(super) fn map(cx: &mut Cx<'_>, dims: &[usize]) -> Option<TypeList> {
    let inputs = cx.tensors(0..cx.operand_count());
    // map_c2
    let Some(first) = inputs.first() else {
        cx.fail("map_c2", "at least one input is needed, found none");
        return None;
    };
    // map_c1
    for (i, input) in inputs.iter().enumerate() {
        cx.check(same_dims(first.dims(), input.dims()), "map_c1", || {
            format!("inputs must have the same shape, found {first} and (input {i}) {input}")
        });
    }
    // map_c3
    let rank = first.rank();
    cx.check(dims.iter().copied().eq(0..rank), "map_c3", || {
        format!("dimensions must be all of [0, {rank}) in order, found {dims:?}")
    });
    // map_c4
    let body = cx.region(0);
    let (args, returned) = (cx.types(body.own_args()), cx.types(body.returned()));
    let takes = args.len() == inputs.len()
        && args
            .iter()
            .zip(&inputs)
            .all(|(a, input)| a.tensor().is_some_and(|a| a.rank() == 0 && compatible_elements(a, input)));
    let element = match returned.as_slice() {
        [Type::Tensor(t)] if t.rank() == 0 => Some(t.clone()),
        _ => None,
    };
    cx.check(takes && element.is_some(), "map_c4", || {
        format!(
            "the region must take one element of each input and return one, found {} -> {}",
            list(&args),
            list(&returned)
        )
    });
    Some(smallvec![element?.with_dims_of(first).into()])
}

pub(super) fn scan(cx: &mut Cx<'_>, op: &Scan) -> Option<TypeList> {
    // chlo_scan_c1
    let (operands, results) = (cx.operand_count(), cx.inst.results().len());
    let counted = op.inputs.checked_add(op.carries) == Some(operands)
        && op.outputs.checked_add(op.carries) == Some(results);
    if !cx.check(counted, "chlo_scan_c1", || {
        format!(
            "{} inputs and {} initial values, {} outputs and the same number of carried values are declared, \
             found {operands} operands and {results} results",
            op.inputs, op.carries, op.outputs
        )
    }) {
        return None;
    }
    let (inputs, inits) = (cx.tensors(0..op.inputs), cx.tensors(op.inputs..operands));
    let mut size = op.size.map_or(Dim::UNBOUNDED, Dim::Static);
    for (i, input) in inputs.iter().enumerate() {
        // chlo_scan_c2
        if !cx.in_range("chlo_scan_c2", &format!("dimension of input {i}"), &[op.dim], input.rank()) {
            return None;
        }
        // chlo_scan_c3
        cx.check(size.may_equal(input.dim(op.dim)), "chlo_scan_c3", || {
            format!("dimension {} of input {i} must have size {size}, found {input}", op.dim)
        });
        size = size.or(input.dim(op.dim));
    }
    // chlo_scan_c4
    cx.check(!inputs.is_empty() || op.size.is_some(), "chlo_scan_c4", || {
        "scan_dim_size is required if there is no input".to_owned()
    });
    let without = |t: &TensorType| -> TensorType {
        t.with_dims(t.dims().enumerate().filter(|(d, _)| *d != op.dim).map(|(_, dim)| dim))
    };
    let body = cx.region(0);
    let (args, returned) = (cx.types(body.args()), cx.types(body.returned()));
    // chlo_scan_c5
    let slices = inputs.iter().map(|t| without(t)).chain(inits.iter().map(|t| (*t).clone()));
    let expected: Vec<Type> = slices.map(Type::from).collect();
    let takes = args.len() == expected.len() && args.iter().zip(&expected).all(|(a, b)| compatible(a, b));
    cx.check(takes, "chlo_scan_c5", || {
        format!(
            "the region must take {}, a slice of each input and the carried values, found {}",
            list(&expected),
            list(&args)
        )
    });
    // chlo_scan_c6
    let carried: Vec<Type> = inits.iter().map(|t| Type::Tensor((*t).clone())).collect();
    let (outputs, carries) = returned.split_at_checked(op.outputs).unwrap_or((&[], &[]));
    let gives = outputs.iter().all(|t| t.tensor().is_some_and(|t| op.dim <= t.rank()))
        && outputs.len() == op.outputs
        && carries.len() == carried.len()
        && carries.iter().zip(&carried).all(|(a, b)| compatible(a, b));
    if !cx.check(gives, "chlo_scan_c6", || {
        format!(
            "the region must return {} slices of outputs and then {}, found {}",
            op.outputs,
            list(&carried),
            list(&returned)
        )
    }) {
        return None;
    }
    // chlo_scan_c7
    let whole = outputs.iter().filter_map(Type::tensor).map(|t| {
        let mut dims: Vec<Dim> = t.dims().collect();
        dims.insert(op.dim, size);
        Type::Tensor(t.with_dims(dims))
    });
    Some(whole.chain(carried).collect())
}

pub(super) fn sort(cx: &mut Cx<'_>, dim: usize) -> Option<TypeList> {
    let inputs = cx.tensors(0..cx.operand_count());
    // sort_c1
    let Some(first) = inputs.first() else {
        cx.fail("sort_c1", "at least one input is needed, found none");
        return None;
    };
    for (i, input) in inputs.iter().enumerate() {
        // sort_i1
        cx.class("sort_i1", &format!("input {i}"), input, Class::TENSOR);
        // sort_c3
        cx.check(same_dims(first.dims(), input.dims()), "sort_c3", || {
            format!("inputs must have the same shape, found {first} and (input {i}) {input}")
        });
    }
    // sort_c4
    cx.in_range("sort_c4", "dimension", &[dim], first.rank());
    // sort_c5
    let body = cx.region(0);
    let (args, returned) = (cx.types(body.own_args()), cx.types(body.returned()));
    let takes = args.len() == 2 * inputs.len()
        && args
            .iter()
            .enumerate()
            .all(|(i, a)| a.tensor().is_some_and(|a| a.rank() == 0 && compatible_elements(a, inputs[i / 2])));
    let gives = returned.len() == 1 && is_scalar(&returned[0], DType::Pred);
    cx.check(takes && gives, "sort_c5", || {
        format!(
            "the comparator must take two elements of each input and return tensor<i1>, found {} -> {}",
            list(&args),
            list(&returned)
        )
    });
    // sort_c2
    Some(inputs.iter().map(|t| (*t).clone().into()).collect())
}

pub(super) fn top_k(cx: &mut Cx<'_>, k: usize) -> Option<TypeList> {
    let operand = cx.t(0);
    // chlo_top_k_i1
    cx.class("chlo_top_k_i1", "operand", operand, Class::PRED | Class::INT | Class::FLOAT);
    // chlo_top_k_c1
    let mut dims: Vec<Dim> = operand.dims().collect();
    let Some(last) = dims.last_mut() else {
        cx.fail("chlo_top_k_c1", format!("operand must have rank at least 1, found {operand}"));
        return None;
    };
    // chlo_top_k_c2
    cx.check(last.size().is_none_or(|last| k <= last), "chlo_top_k_c2", || {
        format!("k must be at most the size of the last dimension of {operand}, found {k}")
    });
    // chlo_top_k_c3
    *last = Dim::Static(k);
    let values = operand.with_dims(dims);
    let indices = TensorType::scalar(DType::S32).with_dims_of(&values);
    Some(smallvec![values.into(), indices.into()])
}

/// Formats a list of types: `(tensor<f32>, tensor<i1>)`.
fn list(types: &[Type]) -> String {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("({})", types.join(", "))
}
