//! Every operation can be built by its own method.

use std::collections::BTreeSet;

use farcall::build::{Graph, Value};
use farcall::eval_host::RegistryHost;
use farcall::ir::attr::AttrDict;
use farcall::ir::eval::{Denormals, EvalValue, eval};
use farcall::ir::op::{
    self, AllGather, AllToAll, BatchNorm, Broadcasted, Channel, CollectiveBroadcast, CollectivePermute,
    Compare, CompareKind, ComparisonDirection, Convolution, ConvolutionDims, CustomCall, DotGeneral,
    Endpoint, FftKind, Gather, Groups, RaggedDot, ReduceScatter, ReduceWindow, RngAlgorithm, RngDistribution,
    Scatter, SelectAndScatter, TriangularSolve, TriangularTranspose,
};
use farcall::ir::types::Quantization;
use farcall::ir::verify::verify_owned;
use farcall::ir::{DType, Literal, Module, Scalar, TensorType, Type, hlo, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::compare::Tolerance;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

fn tensor<const N: usize>(dtype: DType, sizes: [usize; N]) -> TensorType {
    TensorType::new(dtype, sizes)
}

fn ints(values: &[i32]) -> Literal {
    Literal::from_slice(DType::S32, [values.len()], values)
}

fn elementwise(g: &Graph) -> Vec<Value<'_>> {
    let x = g.parameter("x", tensor(DType::F32, [2, 3]));
    let i = g.parameter("i", tensor(DType::S32, [2, 3]));
    let u = g.parameter("u", tensor(DType::U8, [2, 3]));
    let z = g.parameter("z", tensor(DType::C64, [2, 3]));
    let reals: Vec<fn(Value<'_>) -> Value<'_>> = vec![
        |x| x.abs(),
        |x| x.cbrt(),
        |x| x.ceil(),
        |x| x.cosine(),
        |x| x.exponential(),
        |x| x.exponential_minus_one(),
        |x| x.floor(),
        |x| x.is_finite(),
        |x| x.log(),
        |x| x.log_plus_one(),
        |x| x.logistic(),
        |x| x.neg(),
        |x| x.round_nearest_afz(),
        |x| x.round_nearest_even(),
        |x| x.rsqrt(),
        |x| x.sign(),
        |x| x.sine(),
        |x| x.sqrt(),
        |x| x.tan(),
        |x| x.tanh(),
        |x| x.acos(),
        |x| x.acosh(),
        |x| x.asin(),
        |x| x.asinh(),
        |x| x.atan(),
        |x| x.atanh(),
        |x| x.bessel_i1e(),
        |x| x.cosh(),
        |x| x.digamma(),
        |x| x.erf(),
        |x| x.erf_inv(),
        |x| x.erfc(),
        |x| x.is_inf(),
        |x| x.is_neg_inf(),
        |x| x.is_pos_inf(),
        |x| x.lgamma(),
        |x| x.sinh(),
        |x| x.square(),
        |x| x.chlo_tan(),
        |x| x.copy(),
        |x| x.reduce_precision(5, 10),
        |x| x.constant_like(2),
        |x| x.add(1),
        |x| x.sub(1),
        |x| x.mul(2.0),
        |x| x.div(x),
        |x| x.rem(2.0),
        |x| x.atan2(x),
        |x| x.complex(x),
        |x| x.maximum(0),
        |x| x.minimum(0),
        |x| x.power(2),
        |x| x.next_after(x),
        |x| x.polygamma(x),
        |x| x.zeta(x),
        |x| x.gt(0),
        |x| x.ge(0).select(x, 0),
        |x| x.clamp(0, 1),
        |x| x.compare(ComparisonDirection::Le, CompareKind::TotalOrder, 0),
        |x| x.convert(DType::F64),
        |x| x.bitcast_convert(DType::U8),
    ];
    let mut all: Vec<Value<'_>> = reals.into_iter().map(|function| function(x)).collect();
    all.extend(x.sin_cos());
    all.extend([
        i.count_leading_zeros(),
        i.popcnt(),
        i.not(),
        i.bitand(1),
        i.bitor(1),
        i.bitxor(1),
        i.shl(1),
        i.shr(1),
        u.shr(1),
        i.mulhi(i),
    ]);
    all.extend([
        i.shift_right_logical(1),
        i.shift_right_arithmetic(1),
        z.imag(),
        z.real(),
        z.conj(),
        z.asin_acos_kernel(),
    ]);
    let function = Broadcasted::Compare(Compare { direction: ComparisonDirection::Lt, kind: None });
    all.extend(Broadcasted::binary().map(|function| {
        let class = function.info().operand;
        let x = [x, i].into_iter().find(|x| x.tensor().is_some_and(|ty| class.has(&ty))).unwrap_or(z);
        g.broadcasting(Broadcasted::Binary(function), [x, x], None)
    }));
    all.push(g.broadcasting(function, [x, x], None));
    all.push(g.broadcasting(Broadcasted::Select, [x.lt(0), x, x], None));
    let quantized = tensor(DType::S8, [2, 3]).with_quant(Some(
        Quantization {
            expressed: DType::F32,
            axis: None,
            scales: vec![0.5f64.to_bits()],
            zero_points: vec![0],
            storage_min: -128,
            storage_max: 127,
        }
        .into(),
    ));
    all.push(x.uniform_quantize(quantized).uniform_dequantize());
    all
}

fn data(g: &Graph) -> Vec<Value<'_>> {
    let x = g.parameter("x", tensor(DType::F32, [2, 3]));
    let shape = g.constant(ints(&[2, 3]));
    let (zeros, ones) = (g.full(tensor(DType::S32, [2]), 0), g.full(tensor(DType::S32, [2]), 1));
    let i = g.scalar(DType::S32, 0);
    let indices = g.constant(Literal::from_slice(DType::S32, [2, 1], &[0i32, 1]));
    let rows = Gather {
        offset_dims: vec![1],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![1, 3],
        ..Gather::default()
    };
    let scatter = Scatter {
        update_window_dims: vec![1],
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..Scatter::default()
    };
    let one_row = g.constant(ints(&[1, 3]));
    vec![
        g.iota(tensor(DType::S32, [4]), 0),
        g.dynamic_iota(shape, tensor(DType::S32, [2, 3]), 1),
        x.broadcast_in_dim([0, 2], [2, 4, 3]),
        x.dynamic_broadcast_in_dim(shape, [0, 1], tensor(DType::F32, [2, 3])),
        x.broadcast([4]),
        x.reshape([6]),
        x.dynamic_reshape(shape, tensor(DType::F32, [2, 3])),
        x.transpose([1, 0]),
        x.slice([0, 1], [2, 3]),
        g.concatenate([x, x], 0),
        x.pad(0, [1, 0], [0, 1], [0, 0]),
        x.dynamic_pad(0, [ones, ones, zeros]),
        x.reverse([0]),
        x.get_dimension_size(0),
        x.set_dimension_size(i, 0),
        x.dynamic_slice([i, i], [1, 2]),
        x.dynamic_update_slice(x, [i, i]),
        x.real_dynamic_slice(zeros, shape, ones),
        x.gather(indices, rows.clone()),
        x.dynamic_gather(indices, one_row, Gather { slice_sizes: vec![], ..rows }),
        x.torch_index_select(shape.slice([0], [1]), 0, 0),
        g.scatter(x, indices, x, scatter, |a, b| a + b),
    ]
}

fn reductions(g: &Graph) -> Vec<Value<'_>> {
    let x = g.parameter("x", tensor(DType::F32, [4, 6]));
    let zero = g.scalar(DType::F32, 0);
    let windows = ReduceWindow {
        window: vec![2, 2],
        strides: vec![2, 2],
        base_dilations: vec![1, 1],
        window_dilations: vec![1, 1],
        padding: vec![(0, 0); 2],
    };
    let pool = SelectAndScatter { window: vec![2, 2], strides: vec![2, 2], padding: vec![(0, 0); 2] };
    let pooled = g.reduce_window(x, zero, windows, |a, b| a.maximum(b));
    let (key, entry) = g.sort((x, x * 2), 1, true, |(a, _), (b, _)| a.lt(b));
    let (sums, (last,)) =
        g.scan(x, (x.slice([0, 0], [4, 1]).reshape([4]),), 1, |x, (sum,)| (x + sum, (x + sum,)));
    let (back, _) = g.reverse_scan([x], zero, 0, |[x], n| (x + n, n + 1));
    let mut all = vec![
        g.reduce(x, zero, [0], |a, b| a + b),
        x.reduce_sum([0]),
        x.reduce_prod([1]),
        x.reduce_max([0, 1]),
        x.reduce_min([1]),
        pooled,
        x.select_and_scatter(pooled, zero, pool, |a, b| a.ge(b), |a, b| a + b),
        g.map([x, x], |[a, b]| a * b + 1),
        key,
        entry,
        sums,
        last,
        back,
    ];
    all.extend(x.top_k(2));
    all
}

fn products(g: &Graph) -> Vec<Value<'_>> {
    let x = g.parameter("x", tensor(DType::F32, [3, 3]));
    let image = g.parameter("image", tensor(DType::F32, [1, 8, 8, 3]));
    let kernel = g.parameter("kernel", tensor(DType::F32, [3, 3, 3, 4]));
    let experts = g.parameter("experts", tensor(DType::F32, [2, 3, 5]));
    let sizes = g.constant(ints(&[1, 2]));
    let v = x.reduce_sum([0]);
    let dims = ConvolutionDims {
        input_batch: 0,
        input_feature: 3,
        input_spatial: vec![1, 2],
        kernel_input_feature: 2,
        kernel_output_feature: 3,
        kernel_spatial: vec![0, 1],
        output_batch: 0,
        output_feature: 3,
        output_spatial: vec![1, 2],
    };
    let convolution = Convolution {
        strides: vec![1, 1],
        padding: vec![(1, 1), (1, 1)],
        lhs_dilation: vec![1, 1],
        rhs_dilation: vec![1, 1],
        reversal: vec![false; 2],
        dims,
        feature_group_count: 1,
        batch_group_count: 1,
        precision: vec![],
    };
    let dot = DotGeneral {
        lhs_batch: vec![],
        rhs_batch: vec![],
        lhs_contract: vec![1],
        rhs_contract: vec![0],
        precision: vec![],
        algorithm: None,
    };
    let ragged = RaggedDot {
        lhs_batch: vec![],
        rhs_batch: vec![],
        lhs_contract: vec![1],
        rhs_contract: vec![1],
        lhs_ragged: vec![0],
        rhs_group: vec![0],
        precision: vec![],
    };
    let norm = BatchNorm { epsilon_bits: 1e-3f32.to_bits(), feature: 1 };
    let padding = g.constant(Literal::from_slice(DType::S32, [2, 2], &[1i32; 4]));
    let dynamic = Convolution { padding: vec![], ..convolution.clone() };
    let solve = TriangularSolve {
        left_side: true,
        lower: true,
        unit_diagonal: false,
        transpose_a: TriangularTranspose::NoTranspose,
    };
    let state = g.full(tensor(DType::U64, [2]), 1);
    let mut all = vec![
        x.matmul(x),
        x.dot_general(x, dot),
        x.dot(x),
        x.einsum(x, "ab,bc->ac"),
        x.unary_einsum("ab->a"),
        x.ragged_dot(experts, sizes, ragged),
        image.convolution(kernel, convolution),
        image.dynamic_conv(kernel, padding, dynamic),
        x.cholesky(true),
        x.triangular_solve(x, solve),
        x.complex(x).fft(FftKind::Fft, [3]),
        x.batch_norm_inference(v, v, [v, v], norm),
    ];
    all.extend(x.batch_norm_training(v, v, norm));
    all.extend(x.batch_norm_grad(v, [v, v], x, norm));
    all.extend(state.rng_bit_generator(RngAlgorithm::ThreeFry, tensor(DType::U32, [3])));
    all
}

/// Random numbers of a uniform distribution.
fn random(g: &Graph) -> Vec<Value<'_>> {
    let [lo, hi] = [0, 1].map(|n| g.scalar(DType::F32, n));
    let shape = g.constant(Literal::from_slice(DType::S64, [1], &[5i64]));
    vec![g.rng(lo, hi, shape, RngDistribution::Uniform, tensor(DType::F32, [5]))]
}

fn control(g: &Graph) -> Vec<Value<'_>> {
    let x = g.parameter("x", tensor(DType::F32, [3]));
    let zero = g.scalar(DType::S32, 0);
    let pred = zero.lt(1);
    let (_, looped) = g.while_((zero, x), |(i, _)| i.lt(3), |(i, x)| (i + 1, x * 2));
    let double = g.function("double", [tensor(DType::F32, [3])], |x| x[0] + x[0]);
    let pair = g.tuple([x, x]);
    let future = g.async_start([x], |[x]| x.slice([0], [2]));
    let host = |kind| Endpoint { channel: Channel { handle: 1, kind }, is_host: true, pairs: None };
    let (fed, token) = g.after_all([g.create_token()]).infeed([Type::from(tensor(DType::F32, [3]))], "");
    let (received, token) = token.recv([Type::from(tensor(DType::F32, [3]))], host(3));
    let token = g.send(x, token, host(2));
    g.outfeed([x, x], token, "");
    let mut all = vec![
        g.if_(pred, || x, || x + 1),
        g.case(zero, 3, |i| x + i),
        looped,
        double.call(x),
        g.composite("my.twice", AttrDict::new(), x, |x| x * 2),
        g.optimization_barrier(x),
        pair.get_tuple_element(1),
        g.partition_id(),
        g.replica_id(),
    ];
    all.extend(future.async_done());
    all.extend([fed, received].concat());
    all.extend(g.custom_call(CustomCall::new("anything"), x, [tensor(DType::F32, [3])]));
    all
}

fn collectives(g: &Graph) -> Vec<Value<'_>> {
    let x = g.parameter("x", tensor(DType::F32, [4]));
    let groups = || Groups {
        ids: Literal::from_slice(DType::S64, [1, 2], &[0i64, 1]),
        channel: None,
        global_ids: false,
    };
    let broadcast = || CollectiveBroadcast { groups: groups(), dynamic_root: false };
    let pairs = Literal::from_slice(DType::S64, [1, 2], &[0i64, 1]);
    vec![
        g.all_gather(x, AllGather { dim: 0, groups: groups() }),
        g.all_reduce(x, groups(), |a, b| a + b),
        g.all_to_all(x, AllToAll { split_dim: 0, concat_dim: 0, split_count: 2, groups: groups() }),
        g.collective_broadcast(x, None, broadcast()),
        g.collective_reduce(x, broadcast(), |a, b| a + b),
        x.reduce_scatter(ReduceScatter { dim: 0, groups: groups() }, tensor(DType::F32, [2]), |a, b| a + b),
        x.collective_permute(CollectivePermute { pairs, channel: None }),
    ]
}

fn built(family: fn(&Graph) -> Vec<Value<'_>>) -> Module {
    let graph = Graph::new("all");
    let results = family(&graph);
    graph.finish(results).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_operation_is_built_by_a_method_of_its_name() {
    let mut built_ops = BTreeSet::new();
    let mut no_hlo = Vec::new();
    for family in [elementwise, data, reductions, products, random, control, collectives] {
        let module = verify_owned(built(family)).unwrap();
        for func in module.funcs() {
            func.walk(&mut |inst| {
                built_ops.insert(inst.op().name());
            });
        }
        // The printed text is read as the same program.
        let printed = text::print(&module);
        let again = text::parse(&farcall::ir::Source::new("all", printed.clone()));
        let again = again.unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert!(again == *module, "{printed}");
        // The program printed as HLO can be read again, unless HLO has no equivalent of an operation.
        match hlo::print(&module) {
            // The HLO reader rejects `rng` with a shape operand, since the result's shape is dynamic until
            // the program is refined.
            Ok(printed) if printed.contains("rng(") => {
                let source = farcall::ir::Source::new("all", printed);
                let error = hlo::parse(&source).unwrap_err().to_string();
                assert!(error.contains("rng must return a tensor of static dimensions"), "{error}");
            }
            Ok(printed) => {
                hlo::parse(&farcall::ir::Source::new("all", printed))
                    .unwrap_or_else(|error| panic!("{error}"));
            }
            Err(error) => {
                let text = error.to_string();
                let unprinted =
                    text.lines().filter_map(|line| line.strip_prefix("error: [no-hlo] stablehlo."));
                no_hlo.extend(unprinted.map(|line| line.split(' ').next().unwrap_or_default().to_owned()));
                assert_eq!(
                    text.matches("error: [").count(),
                    text.matches("error: [no-hlo]").count(),
                    "{text}"
                );
            }
        }
    }
    assert_eq!(
        no_hlo.join(" "),
        "uniform_quantize uniform_dequantize dynamic_iota dynamic_broadcast_in_dim dynamic_reshape dynamic_pad \
         real_dynamic_slice dynamic_gather dynamic_conv collective_reduce"
    );
    let infos = op::Opcode::all().map(op::Opcode::info).filter(|info| !info.is(op::Traits::FORM));
    let names = infos.map(|info| info.name);
    let missing: Vec<&str> = names.filter(|name| !built_ops.contains(name)).collect();
    assert!(missing.is_empty(), "no method builds {missing:?}");
}

/// Returns a tensor of small numbers that are exact in every type: 1, 2, 3, 1, ….
fn numbers(ty: &TensorType) -> Literal {
    Literal::from_fn(ty.dtype, ty.sizes(), |i| {
        let n = (i % 3 + 1) as u8;
        match ty.dtype {
            d if d.is_bool() => Scalar::Bool(n == 1),
            d if d.is_float() => Scalar::Float(n.into()),
            d if d.is_complex() => Scalar::Complex(num_complex::Complex::new(n.into(), 1.0)),
            d if d.is_signed_integer() => Scalar::Signed(n.into()),
            _ => Scalar::Unsigned(n.into()),
        }
    })
}

#[test]
fn built_programs_match_the_evaluator() {
    for family in [elementwise, data, reductions, products] {
        let module = verify_owned(built(family)).unwrap();
        let entry = module.entry().unwrap();
        let inputs: Vec<Literal> =
            entry.params().iter().map(|param| numbers(entry.ty(*param).tensor().unwrap())).collect();
        let registry = Registry::new();
        let executable = Executable::compile(&module, &registry, &CompileOptions::new())
            .unwrap_or_else(|error| panic!("{error}"));
        let out = executable.run(&inputs).unwrap();
        let values: Vec<EvalValue> = inputs.into_iter().map(EvalValue::Tensor).collect();
        let host = RegistryHost::new(&registry, Denormals::Ieee);
        let wanted = eval(&module, entry, &values, &host, Denormals::Ieee).unwrap();
        assert_eq!(out.len(), wanted.len());
        for (i, (ours, wanted)) in out.iter().zip(&wanted).enumerate() {
            let wanted = wanted.tensor().unwrap();
            assert_eq!(ours.ty(), wanted.ty(), "result {i}");
            let same = ours
                .iter()
                .zip(wanted.iter())
                .all(|(ours, wanted)| Tolerance::mixed(1e-5).holds_for_scalars(ours, wanted));
            assert!(same, "result {i} is {ours:?}, not {wanted:?}");
        }
    }
}
