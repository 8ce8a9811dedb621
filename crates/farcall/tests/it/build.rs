//! Programs written with the builder: their results, their printed form, and the errors of invalid programs.

use expect_test::{Expect, expect};
use farcall::build::{Graph, Values};
use farcall::ir::attr::AttrDict;
use farcall::ir::op::CustomCall;
use farcall::ir::types::Dim;
use farcall::ir::{DType, Literal, Module, Source, TensorType, hlo, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::prelude::*;
use farcall_testing::engine;

/// `x` times `by`.
#[handler(name = "scaled")]
#[signature((x: f32[*, n], by: f32 = 2.0) -> (y: f32[*, n]))]
fn scaled(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = by * x);
    Ok(())
}

/// Sum and largest element of each row.
#[handler(name = "sum_and_max")]
#[signature((x: f32[*, n]) -> (sum: f32[*], max: f32[*]))]
fn sum_and_max(x: &Buffer<f32>, sum: &mut Buffer<f32>, max: &mut Buffer<f32>) -> Result<()> {
    for ((x, sum), max) in x.rows().zip(sum.iter_mut()).zip(max.iter_mut()) {
        *sum = x.iter().sum();
        *max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    }
    Ok(())
}

/// An op without a signature.
#[handler(name = "mute")]
fn mute() -> Result<()> {
    Ok(())
}

fn registry() -> Registry {
    engine::registry(ops![scaled, sum_and_max, mute])
}

fn f32s<const N: usize>(sizes: [usize; N]) -> TensorType {
    TensorType::new(DType::F32, sizes)
}

/// Returns a program's results. They must be the same after the program is printed and parsed in either text
/// format.
fn run(module: &Module, inputs: &[Literal]) -> Vec<Vec<f32>> {
    let compute = |module: &Module| -> Vec<Vec<f32>> {
        let executable = Executable::compile(module, &registry(), &CompileOptions::new());
        let results = executable.unwrap_or_else(|e| panic!("{e}")).run(inputs).unwrap();
        results.iter().map(|r| r.iter().map(|x| x.as_f64() as f32).collect()).collect()
    };
    let results = compute(module);
    let stablehlo = text::parse(&Source::new("stablehlo", text::print(module))).unwrap();
    assert_eq!(compute(&stablehlo), results);
    let written = hlo::print(module).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compute(&hlo::parse(&Source::new("hlo", written)).unwrap()), results);
    results
}

fn row(values: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, [values.len()], values)
}

/// Computes a function of a vector.
fn of<'g, V: Values<'g>>(
    graph: &'g Graph,
    x: &[f32],
    f: impl FnOnce(farcall::build::Value<'g>) -> V,
) -> Vec<Vec<f32>> {
    let y = f(graph.parameter("x", f32s([x.len()])));
    let module = graph.finish(y).unwrap_or_else(|errors| panic!("{errors}"));
    run(&module, &[row(x)])
}

#[test]
fn operators_read_like_the_maths() {
    let graph = Graph::new("maths");
    let [y] = of(&graph, &[1.0, 2.0, 4.0], |x| (1.0 - x) * x / 2 + &x % 2 - -x).try_into().unwrap();
    assert_eq!(y, [2.0, 1.0, -2.0]);
    let graph = Graph::new("bits");
    let [y] = of(&graph, &[5.0, 6.0], |x| {
        let i = x.convert(DType::S32);
        (((i << 2) | 1) & !(i ^ 1) >> 1).convert(DType::F32)
    })
    .try_into()
    .unwrap();
    let bits = |i: i32| (((i << 2) | 1) & (!(i ^ 1) >> 1)) as f32;
    assert_eq!(y, [bits(5), bits(6)]);
}

#[test]
fn shapes_are_broadcast_as_numpy_does() {
    let graph = Graph::new("outer");
    let [outer, row, chosen] = of(&graph, &[1.0, 2.0], |x| {
        let column = x.reshape([2, 1]);
        [column * x, column + x.reshape([1, 2]) * 10, x.gt(1).select(column, 0)]
    })
    .try_into()
    .unwrap();
    assert_eq!(outer, [1.0, 2.0, 2.0, 4.0]);
    assert_eq!(row, [11.0, 21.0, 12.0, 22.0]);
    assert_eq!(chosen, [0.0, 1.0, 0.0, 2.0]);
}

#[test]
fn products_of_matrices_and_vectors() {
    let graph = Graph::new("matmul");
    let x = graph.parameter("x", f32s([5, 1, 2, 3]));
    let w = graph.parameter("w", f32s([4, 3, 6]));
    let v = graph.parameter("v", f32s([3]));
    let shapes = [(x.matmul(w), "5x4x2x6"), (v.matmul(w), "4x6"), (x.matmul(v), "5x1x2"), (v.matmul(v), "")];
    for (product, shape) in shapes {
        let expected =
            if shape.is_empty() { "tensor<f32>".to_owned() } else { format!("tensor<{shape}xf32>") };
        assert_eq!(product.ty().unwrap().to_string(), expected);
    }
    graph.finish(shapes.map(|(product, _)| product)).unwrap();
}

#[test]
fn closures_are_regions() {
    let graph = Graph::new("control");
    let [power, relu, branch, order, max] = of(&graph, &[3.0, -1.0, 2.0], |x| {
        let zero = graph.scalar(DType::S32, 0);
        let (_, power) = graph.while_((zero, x), |(i, _)| i.lt(2), |(i, y)| (i + 1, y * x));
        let relu = graph.map(x, |x| graph.if_(x.gt(0), || x, || graph.scalar(DType::F32, 0)));
        let branch = graph.case(zero + 1, 3, |i| x + i);
        let (_, order) =
            graph.sort((x, graph.iota(TensorType::new(DType::S32, [3]), 0)), 0, true, |(a, _), (b, _)| {
                a.gt(b)
            });
        [power, relu, branch, order.convert(DType::F32), x.reduce_max([0])]
    })
    .try_into()
    .unwrap();
    assert_eq!(power, [27.0, -1.0, 8.0]);
    assert_eq!(relu, [3.0, 0.0, 2.0]);
    assert_eq!(branch, [4.0, 0.0, 3.0]);
    assert_eq!(order, [0.0, 2.0, 1.0]);
    assert_eq!(max, [3.0]);
}

#[test]
fn a_scan_goes_both_ways() {
    let graph = Graph::new("scan");
    let [sums, last, back] = of(&graph, &[1.0, 2.0, 3.0, 4.0], |x| {
        let rows = x.reshape([2, 2]);
        let zeros = graph.full(f32s([2]), 0);
        let (sums, last) = graph.scan(rows, zeros, 0, |x, sum| (x + sum, x + sum));
        let ((back,), _) = graph.reverse_scan([rows], (), 0, |[row], ()| ((row * row,), ()));
        [sums, last, back]
    })
    .try_into()
    .unwrap();
    assert_eq!(sums, [1.0, 2.0, 4.0, 6.0]);
    assert_eq!(last, [4.0, 6.0]);
    assert_eq!(back, [1.0, 4.0, 9.0, 16.0]);
}

#[test]
fn the_least_and_the_greatest_of_every_element_type() {
    for dtype in
        [DType::S4, DType::U4, DType::S8, DType::U64, DType::S64, DType::BF16, DType::F8E5M2, DType::C64]
    {
        let graph = Graph::new("extremes");
        let x = graph.parameter("x", TensorType::new(dtype, [0]));
        let module = graph.finish((x.reduce_max([0]), x.reduce_min([0]))).unwrap();
        let results = run(&module, &[Literal::zeros(dtype, [0])]);
        let of = |bits: i32, signed: bool| if signed { 2f32.powi(bits - 1) } else { 2f32.powi(bits) };
        let (least, greatest) = match dtype {
            DType::S4 => (-8.0, 7.0),
            DType::U4 => (0.0, 15.0),
            DType::S8 => (-128.0, 127.0),
            DType::U64 => (0.0, of(64, false)),
            DType::S64 => (-of(64, true), of(64, true)),
            _ => (f32::NEG_INFINITY, f32::INFINITY),
        };
        assert_eq!(results, [[least], [greatest]], "{dtype}");
    }
}

#[test]
fn declared_ops_have_the_results_of_their_signatures() {
    let registry = registry();
    let graph = Graph::new("ops");
    let x = graph.parameter("x", f32s([2, 3]));
    let y = graph.op(&registry, "scaled", x).value();
    let y = graph.op(&registry, "scaled", [y]).attr("by", 0.25).value();
    let sums = graph.op(&registry, "sum_and_max", y).values::<2>();
    let module = graph.finish(sums).unwrap();
    let x = Literal::from_slice(DType::F32, [2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(run(&module, &[x]), [[3.0, 7.5], [1.5, 3.0]]);
}

#[test]
fn functions_and_blocks() {
    let graph = Graph::new("blocks");
    let double = graph.function("double", [f32s([2])], |args| args[0] * 2);
    let [y] = of(&graph, &[1.0, 2.0], |x| {
        let block = |tag| graph.composite(tag, AttrDict::new(), (x, x), |(a, b)| a + b);
        double.call(block("my.add")) - block("my.add")
    })
    .try_into()
    .unwrap();
    assert_eq!(y, [2.0, 4.0]);
}

#[test]
fn sizes_may_be_open() {
    let graph = Graph::new("open");
    let open = TensorType::from_dims(DType::F32, [Dim::UNBOUNDED, Dim::Static(2)]);
    let x = graph.parameter("x", open);
    let module = graph.finish(x * 2 + x).unwrap();
    let inputs = Literal::from_slice(DType::F32, [1, 2], &[1.0f32, 2.0]);
    let options = CompileOptions::new().inputs([inputs.ty()]);
    let results = Executable::compile(&module, &Registry::new(), &options).unwrap().run(&[inputs]).unwrap();
    assert_eq!(results[0].as_slice::<f32>(), [3.0, 6.0]);
}

/// Returns the text without the locations of instructions.
fn plain(text: &str) -> String {
    let cut = |line: &str| line.split(", metadata=").next().unwrap_or(line).to_owned();
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[test]
fn names_are_in_the_text() {
    let graph = Graph::new("lesson");
    let x = graph.parameter("p0", f32s([2, 2]));
    let y = graph.parameter("arg0", f32s([2, 2]));
    let sum = (x + y).named("sum");
    let twice = (sum + sum).named("sum");
    let call = graph.custom_call(CustomCall::new("split"), twice, [f32s([2]), f32s([2])]);
    let [low, high] = [call[0].named("low"), call[1].named("1 high")];
    let module = graph.finish((low, high)).unwrap();
    expect![[r#"
        module @lesson {
          func.func public @main(%p0: tensor<2x2xf32>, %arg0: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
            %sum = stablehlo.add %p0, %arg0 : tensor<2x2xf32>
            %0 = stablehlo.add %sum, %sum : tensor<2x2xf32>
            %low:2 = stablehlo.custom_call @split(%0) : (tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
            return %low#0, %low#1 : tensor<2xf32>, tensor<2xf32>
          }
        }
    "#]]
    .assert_eq(&text::print(&module));
    expect![[r#"
        HloModule lesson, entry_computation_layout={(f32[2,2]{1,0}, f32[2,2]{1,0})->(f32[2]{0}, f32[2]{0})}

        ENTRY %main {
          %p0 = f32[2,2]{1,0} parameter(0)
          %arg0 = f32[2,2]{1,0} parameter(1)
          %sum = f32[2,2]{1,0} add(%p0, %arg0)
          %sum.1 = f32[2,2]{1,0} add(%sum, %sum)
          %custom-call.2 = (f32[2]{0}, f32[2]{0}) custom-call(%sum.1), custom_call_target="split"
          %low = f32[2]{0} get-tuple-element(%custom-call.2), index=0
          %_1_high = f32[2]{0} get-tuple-element(%custom-call.2), index=1
          ROOT %tuple.3 = (f32[2]{0}, f32[2]{0}) tuple(%low, %_1_high)
        }
    "#]]
    .assert_eq(&plain(&hlo::print(&module).unwrap()));
    let again = hlo::parse(&Source::new("again", hlo::print(&module).unwrap())).unwrap();
    assert!(hlo::print(&again).unwrap().contains("custom-call("));
}

/// Checks the errors of a graph. In `expect`, line numbers are relative to the call of this function.
#[track_caller]
fn wrong<'g, V: Values<'g>>(graph: &'g Graph, results: V, expect: Expect) {
    let here = std::panic::Location::caller();
    let errors = graph.finish(results).unwrap_err();
    let lines = errors.errors.iter().map(|error| {
        assert_eq!(error.place.file(), here.file());
        let line = i64::from(error.place.line()) - i64::from(here.line());
        let notes: String = error.diagnostic.notes.iter().map(|note| format!("\n  {note}")).collect();
        format!("{line:+}: [{}] {}{notes}", error.diagnostic.code, error.diagnostic.message)
    });
    expect.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn wrong_shapes_are_errors_where_they_are_written() {
    let graph = Graph::new("wrong");
    let x = graph.parameter("x", f32s([2, 3]));
    let i = graph.iota(TensorType::new(DType::S32, [2, 3]), 0);
    let a = x + x.transpose([1, 0]);
    let b = x + i;
    let c = x.matmul(x);
    let d = i * 0.5;
    let e = x.reshape([5]).tanh() + a;
    let f = x.slice([0, 0], [2, 4]);
    let g = x.size(7);
    let h = graph.while_(x, |x| x.lt(0), |x| x.reduce_sum([0]));
    let i = x.convert(DType::F8E4M3FN).reduce_max([0]);
    let j = graph.if_(graph.scalar(DType::Pred, true), || vec![x], || vec![x, x]);
    let k = graph.case(graph.scalar(DType::S32, 0), 0, |_| x);
    wrong(
        &graph,
        (a, b, c, d, e, f, (x + g, h, i, j, k)),
        expect![[r#"
            -11: [broadcast] tensor<2x3xf32> and tensor<3x2xf32> cannot be broadcast together: sizes must be equal or 1
            -10: [add_c1] operands must have the same type, found tensor<2x3xf32> and tensor<2x3xi32>
            -9: [dot_general_c10] contracting dimension 1 of lhs, tensor<2x3xf32>, and 0 of rhs, tensor<2x3xf32>, must have the same size
            -8: [number] 0.5 cannot be an element of type s32
            -7: [reshape_c2] tensor<2x3xf32> and tensor<5xf32> must have the same number of elements
            -6: [slice_c3] start 0 and limit 4 must be in order and within dimension 1 of tensor<2x3xf32>
            -5: [size] tensor<2x3xf32> has no dimension 7 of known size
            -4: [while_c1] cond must return tensor<i1>, found (tensor<2x3xi1>)
            -4: [while_c2] body must return the operands' types, (tensor<2x3xf32>), found (tensor<3xf32>)
            -3: [number] f8e4m3fn has no infinity to begin with: use Graph::reduce with another number
            -2: [if_c2] branches must return the same types, found (tensor<2x3xf32>) and (tensor<2x3xf32>, tensor<2x3xf32>)
            -1: [case_c1] at least one branch is needed, found none"#]],
    );
}

#[test]
fn products_of_different_element_types_are_errors() {
    let graph = Graph::new("mixed");
    let of = |dtype, sizes: &[usize]| graph.parameter("x", TensorType::new(dtype, sizes.to_vec()));
    let open = |dtype| {
        let dims = [Dim::UNBOUNDED, Dim::Static(3), Dim::Static(3)];
        graph.parameter("x", TensorType::from_dims(dtype, dims))
    };
    let a = of(DType::F32, &[3, 3]).matmul(of(DType::F64, &[3, 3]));
    let b = of(DType::F32, &[2, 3, 3]).matmul(of(DType::S32, &[3, 3]));
    let c = open(DType::F32).matmul(open(DType::BF16));
    let d = of(DType::S32, &[3]).matmul(of(DType::F32, &[2, 3, 3]));
    wrong(
        &graph,
        (a, b, c, d),
        expect![[r#"
            -4: [matmul] tensor<3x3xf32> and tensor<3x3xf64> have different element types: convert one of them, or use dot_general
            -3: [matmul] tensor<2x3x3xf32> and tensor<3x3xi32> have different element types: convert one of them, or use dot_general
            -2: [matmul] tensor<?x3x3xf32> and tensor<?x3x3xbf16> have different element types: convert one of them, or use dot_general
            -1: [matmul] tensor<3xi32> and tensor<2x3x3xf32> have different element types: convert one of them, or use dot_general"#]],
    );
}

#[test]
fn a_note_says_how_shapes_of_different_ranks_are_aligned() {
    let graph = Graph::new("ranks");
    let x = graph.parameter("x", f32s([8, 4]));
    let a = x + graph.parameter("b", f32s([8]));
    let b = graph.parameter("c", f32s([2, 8])) * graph.parameter("d", f32s([2, 3, 8, 5]));
    let c = x.maximum(graph.parameter("e", f32s([7])));
    let d = graph.parameter("f", f32s([2, 1])) + graph.parameter("g", f32s([2, 3, 4]));
    wrong(
        &graph,
        (a, b, c, d),
        expect![[r#"
            -4: [broadcast] tensor<8x4xf32> and tensor<8xf32> cannot be broadcast together: sizes must be equal or 1
              sizes are aligned at the last dimension; to align them otherwise, reshape the second to [8, 1]
            -3: [broadcast] tensor<2x8xf32> and tensor<2x3x8x5xf32> cannot be broadcast together: sizes must be equal or 1
              sizes are aligned at the last dimension; to align them otherwise, reshape the first to [2, 1, 8, 1]
            -2: [broadcast] tensor<8x4xf32> and tensor<7xf32> cannot be broadcast together: sizes must be equal or 1
              sizes are aligned at the last dimension
            -1: [broadcast] tensor<2x1xf32> and tensor<2x3x4xf32> cannot be broadcast together: sizes must be equal or 1
              sizes are aligned at the last dimension; to align them otherwise, reshape the first to [2, 1, 1]"#]],
    );
}

#[test]
fn instructions_of_reducers_are_the_callers() {
    let graph = Graph::new("reducers");
    let x = graph.parameter("x", f32s([2]));
    let y = [x.reduce_sum([0]), x.reduce_prod([0]), x.reduce_max([0]), x.reduce_min([0])];
    let module = graph.finish(y).unwrap();
    let printed = hlo::print(&module).unwrap();
    let places: Vec<&str> = printed.lines().filter_map(|line| line.split("source_file=").nth(1)).collect();
    assert!(places.len() >= 8 && places.iter().all(|place| place.contains("tests/it/build.rs")), "{printed}");
}

#[test]
fn main_shows_errors_as_they_are_displayed() {
    let graph = Graph::new("wrong");
    let x = graph.parameter("x", f32s([2, 3]));
    let errors = graph.finish((x.reshape([5]), x.reshape([7]))).unwrap_err();
    assert_eq!(format!("{errors:?}"), errors.to_string());
    assert_eq!(format!("{:?}", errors.errors[1]), errors.errors[1].to_string());
    let boxed: Box<dyn std::error::Error> = errors.clone().into();
    assert_eq!(format!("{boxed:?}"), errors.to_string());
}

#[test]
fn a_program_is_finished_once_and_not_in_a_closure() {
    let graph = Graph::new("twice");
    let x = graph.parameter("x", f32s([2]));
    let mut inner = None;
    let y = graph.map(x, |x| {
        inner = Some(graph.finish(x));
        x + 1
    });
    let error = inner.unwrap().unwrap_err();
    assert!(error.to_string().starts_with("error: [finish] "), "{error}");
    wrong(
        &graph,
        y,
        expect!["-5: [finish] the program is finished in the closure of a region or function in it"],
    );
    graph.parameter("late", f32s([2]));
    wrong(
        &graph,
        (),
        expect![[r#"
        -1: [finished] the graph is finished
        +0: [finished] the graph is finished
        +0: [finished] the graph is finished already"#]],
    );
}

#[test]
fn wrong_calls_are_errors_in_the_ops_own_words() {
    let registry = registry();
    let graph = Graph::new("wrong");
    let x = graph.parameter("x", f32s([2, 3]));
    let token = graph.create_token();
    let a = graph.op(&registry, "scale", [x]).value();
    let b = graph.op(&registry, "scaled", [x, x]).value();
    let c = graph.op(&registry, "scaled", [x]).attr("bye", 1.0).value();
    let d = graph.op(&registry, "scaled", [x]).attr("by", "two").value();
    let e = graph.op(&registry, "scaled", [x.convert(DType::F64)]).value();
    let f = graph.op(&registry, "mute", [x]).value();
    let g = graph.op(&registry, "scaled", [token]).value();
    let h = graph.op(&registry, "sum_and_max", x).value();
    wrong(
        &graph,
        (a, b, c, d, e, f, (g, h)),
        expect![[r#"
            -8: [missing_target] no target `scale` is registered for the platform Host
              close names that are: scaled
              load the library that has it: Registry::load; if the library does not register it, Registry::load_symbols with scale=SYMBOL; see: farcall guide embedding
            -7: [op] scaled: takes 1 operand (x), but is given 2
            -6: [op] scaled: there is no attribute bye; did you mean by?
            -5: [op] scaled: attribute by must be f32, but is str
            -4: [op] scaled: x must be f32, but is f64
            -3: [op] mute: its library declares no signature for it, so its results are unknown
            -2: [op] scaled: operand 0 must be a tensor, found !stablehlo.token
            -1: [result-count] stablehlo.custom_call has 2 results here, but 1 are expected"#]],
    );
}

#[test]
fn values_stay_in_their_regions() {
    let (graph, other) = (Graph::new("one"), Graph::new("other"));
    let x = graph.parameter("x", f32s([2]));
    let y = other.parameter("y", f32s([2]));
    let mut escaped = None;
    let z = graph.if_(
        graph.scalar(DType::Pred, true),
        || {
            graph.parameter("late", f32s([2]));
            *escaped.insert(x + 1)
        },
        || x,
    );
    let a = x + y;
    let b = z + escaped.unwrap();
    let f = graph.function("captures", [f32s([2])], |args| args[0] + x);
    let c = f.call(x);
    wrong(
        &graph,
        (a, b, c),
        expect![[r#"
        -9: [parameter] parameters belong to the program, not to a region or function in it
        -4: [operand] operand 1 of stablehlo.add is a value of another graph
        -3: [operand] operand 1 of stablehlo.add belongs to a region that has ended; return it from there
        -2: [operand] operand 1 of stablehlo.add is a value of the function main; pass it to captures as an argument"#]],
    );
    let late = graph.function("late", [f32s([2])], |args| args[0] + x);
    let d = late.call(x + 1);
    wrong(
        &graph,
        d,
        expect![[r#"
            -2: [finished] the graph is finished
            -2: [operand] operand 1 of stablehlo.add is a value of a graph that is finished
            -1: [operand] operand 0 of stablehlo.add is a value of a graph that is finished
            +0: [finished] the graph is finished already"#]],
    );
}

#[test]
fn errors_show_file_and_line() {
    let graph = Graph::new("wrong");
    let x = graph.parameter("x", f32s([2, 3]));
    let y = (0..300).fold(x, |y, _| y + x.reshape([7]));
    let text = graph.finish(y).unwrap_err().to_string();
    let line = line!() - 2;
    let first = format!(
        "error: [reshape_c2] tensor<2x3xf32> and tensor<7xf32> must have the same number of elements\n --> {}:{line}:43\n\n",
        file!()
    );
    assert!(text.starts_with(&first), "{text}");
    assert!(text.ends_with("\n\n… and 200 more errors"), "{text}");
}

#[test]
fn errors_of_the_engine_give_the_place_in_rust() {
    let graph = Graph::new("missing");
    let x = graph.parameter("x", f32s([2]));
    let y = graph.custom_call(CustomCall::new("nobody"), x, [f32s([2])])[0];
    let line = line!() - 1;
    let module = graph.finish(y).unwrap();
    let call = module.entry().unwrap().body().first().unwrap();
    assert_eq!(call.place(&module.source), format!("{}:{line}:19", file!()));
    let error = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap_err();
    assert!(error.to_string().contains("no target `nobody` is registered"), "{error}");
}
