//! Compares products and convolutions with the evaluator. Dimension numbers, windows, groups and element
//! types are random. The tensors fill tiles, end within a tile, or are empty. Elements are small integers, so
//! sums are exact in any order.

use farcall::ir::eval::Denormals;
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{DType, Literal, Scalar};
use farcall_testing::SplitMix;
use farcall_testing::engine::Both;
use num_complex::Complex;

const DTYPES: [DType; 11] = [
    DType::F32,
    DType::F64,
    DType::BF16,
    DType::F16,
    DType::C64,
    DType::C128,
    DType::S8,
    DType::S32,
    DType::S64,
    DType::U8,
    DType::U16,
];

/// Random inputs of programs.
trait Inputs {
    /// Returns the numbers `0..n` in random order.
    fn order(&mut self, n: usize) -> Vec<usize>;
    fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Literal;
}

impl Inputs for SplitMix {
    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..n).collect();
        (0..n).map(|_| left.remove(self.below(left.len()))).collect()
    }

    fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Literal {
        Literal::from_fn(dtype, dims, |_| {
            let n = self.below(3) as i64 - 1;
            match dtype {
                _ if dtype.is_complex() => Scalar::Complex(Complex::new(n as f64, self.below(2) as f64)),
                _ if dtype.is_float() => Scalar::Float(n as f64),
                _ if dtype.is_signed_integer() => Scalar::Signed(n),
                _ => Scalar::Unsigned(n.unsigned_abs()),
            }
        })
    }
}

fn ty(dtype: DType, dims: &[usize]) -> String {
    let sizes: String = dims.iter().map(|n| format!("{n}x")).collect();
    format!("tensor<{sizes}{}>", dtype.mlir())
}

fn list(values: impl IntoIterator<Item = impl ToString>) -> String {
    let all: Vec<String> = values.into_iter().map(|n| n.to_string()).collect();
    format!("[{}]", all.join(", "))
}

/// Runs a program in the engine and in the evaluator, and compares the results. The engine must use the
/// kernel named `kernel`.
fn check(program: &str, inputs: &[Literal], kernel: &str) {
    // The pass `outer_products` would replace products without a contracting dimension.
    let both = Both::run(program, inputs, Denormals::Ieee, Pipeline::default().without("outer_products"));
    let plan = both.executable.plan();
    assert!(
        plan.thunks().is_empty() || both.thunks(kernel) > 0,
        "the engine does not use the kernel {kernel}:\n{program}{plan}"
    );
    for (found, wanted) in both.results() {
        for i in 0..wanted.len() {
            let (found, wanted) = (found.get(i), wanted.get(i));
            assert_eq!(found, wanted, "element {i}\n{program}");
        }
    }
}

/// Orders the dimensions of an operand at random. `kinds` has the kind (0 for batching, 1 for contracting, 2
/// for free) and the size of each dimension. Returns the sizes in the new order, and a function that returns
/// the new positions of all dimensions of a kind.
fn arranged(
    r: &mut SplitMix,
    kinds: &[(usize, usize)],
) -> (Vec<usize>, impl Fn(usize) -> Vec<usize> + use<>) {
    let order = r.order(kinds.len());
    let sizes = order.iter().map(|k| kinds[*k].1).collect();
    let kinds = kinds.to_vec();
    let places = move |kind: usize| {
        let of_kind = (0..kinds.len()).filter(|k| kinds[*k].0 == kind);
        of_kind.filter_map(|k| order.iter().position(|o| *o == k)).collect()
    };
    (sizes, places)
}

#[test]
fn products_match_the_evaluator() {
    let mut r = SplitMix::new(1);
    for round in 0..150 {
        let dtype = DTYPES[round % DTYPES.len()];
        let mut sizes = |count: usize, most: usize| -> Vec<usize> {
            let one = |r: &mut SplitMix| if r.below(25) == 0 { 0 } else { 1 + r.below(most) };
            (0..count).map(|_| one(&mut r)).collect()
        };
        let large = round % 5 == 0;
        let batch = sizes(round % 3, 3);
        let contract = if large { vec![100 + round] } else { sizes(1 + round % 2, 9) };
        let rows = if large { sizes(1, 40) } else { sizes(round / 2 % 3, 9) };
        let columns = if large { sizes(1, 150) } else { sizes(round / 5 % 3, 9) };
        let kinds = |free: &[usize]| -> Vec<(usize, usize)> {
            let of = |kind: usize, sizes: &[usize]| sizes.iter().map(move |n| (kind, *n)).collect::<Vec<_>>();
            [of(0, &batch), of(1, &contract), of(2, free)].concat()
        };
        let (x, x_at) = arranged(&mut r, &kinds(&rows));
        let (y, y_at) = arranged(&mut r, &kinds(&columns));
        // Free dimensions keep the order of their operand.
        let free = |sizes: &[usize], at: Vec<usize>| {
            let mut at = at;
            at.sort_unstable();
            at.iter().map(|d| sizes[*d]).collect::<Vec<usize>>()
        };
        let out = [batch.clone(), free(&x, x_at(2)), free(&y, y_at(2))].concat();
        let result = match dtype {
            DType::F16 | DType::BF16 if r.below(2) == 0 => DType::F32,
            DType::F32 if r.below(4) == 0 => DType::F64,
            DType::S8 if r.below(2) == 0 => DType::S32,
            same => same,
        };
        let batching = if batch.is_empty() {
            String::new()
        } else {
            format!("batching_dims = {} x {}, ", list(x_at(0)), list(y_at(0)))
        };
        let [tx, ty, to] = [ty(dtype, &x), ty(dtype, &y), ty(result, &out)];
        let program = format!(
            "func.func @main(%x: {tx}, %y: {ty}) -> {to} {{
%0 = stablehlo.dot_general %x, %y, {batching}contracting_dims = {} x {} : ({tx}, {ty}) -> {to}
return %0 : {to} }}",
            list(x_at(1)),
            list(y_at(1))
        );
        let inputs = [r.tensor(dtype, &x), r.tensor(dtype, &y)];
        check(&program, &inputs, "dot");
    }
}

/// One spatial dimension: image, window, stride, dilations, padding, reversal.
struct Spatial {
    size: usize,
    window: usize,
    stride: usize,
    dilations: [usize; 2],
    padding: (i64, i64),
    reversed: bool,
}

impl Spatial {
    fn any(r: &mut SplitMix, most: usize) -> Spatial {
        let dilation = |r: &mut SplitMix| if r.below(4) == 0 { 2 + r.below(2) } else { 1 };
        Spatial {
            size: if r.below(20) == 0 { 0 } else { 1 + r.below(most) },
            window: 1 + r.below(4),
            stride: 1 + r.below(3),
            dilations: [dilation(r), dilation(r)],
            padding: (r.below(5) as i64 - 1, r.below(5) as i64 - 1),
            reversed: r.below(4) == 0,
        }
    }

    fn windows(&self) -> usize {
        let dilated = |n: usize, by: usize| if n == 0 { 0 } else { (n as i64 - 1) * by as i64 + 1 };
        let padded = dilated(self.size, self.dilations[0]) + self.padding.0 + self.padding.1;
        let window = dilated(self.window, self.dilations[1]);
        if padded <= 0 || window > padded { 0 } else { (padded - window) as usize / self.stride + 1 }
    }
}

/// Orders the dimensions of one operand or result at random. Returns their sizes, and their names as in
/// dimension numbers.
fn named(r: &mut SplitMix, names: [&str; 2], sizes: &[usize]) -> (Vec<usize>, String) {
    let order = if r.below(3) == 0 { (0..sizes.len()).collect() } else { r.order(sizes.len()) };
    let name = |d: &usize| if *d < 2 { names[*d].to_owned() } else { (d - 2).to_string() };
    (order.iter().map(|d| sizes[*d]).collect(), list(order.iter().map(name)))
}

#[test]
fn convolutions_match_the_evaluator() {
    convolutions(&mut SplitMix::new(2), 250, Spatial::any);
}

/// Checks convolutions whose windows cover mostly padding.
#[test]
fn convolutions_of_small_images_match_the_evaluator() {
    convolutions(&mut SplitMix::new(23), 150, |r, _| {
        let (window, reversed) = (4 + r.below(8), r.below(3) == 0);
        let padding = (r.below(window + 2) as i64 - 1, window as i64);
        Spatial { size: 1 + r.below(4), window, padding, reversed, ..Spatial::any(r, 1) }
    });
}

/// Checks random convolutions. `spatial` makes a spatial dimension of up to the given number of elements.
fn convolutions(r: &mut SplitMix, rounds: usize, spatial: fn(&mut SplitMix, usize) -> Spatial) {
    for round in 0..rounds {
        let dtype = DTYPES[round % DTYPES.len()];
        let rank = [2, 2, 1, 3, 0][round % 5];
        let spatial: Vec<Spatial> = (0..rank).map(|_| spatial(r, if rank == 3 { 5 } else { 12 })).collect();
        let (by_feature, by_batch) = r.pick(&[(1, 1), (1, 1), (3, 1), (1, 2)]);
        let features = r.pick(&[1, 2, 3, 5, 40]);
        let kernels = r.pick(&[1, 2, 3, 20, 70]);
        let batch = if r.below(20) == 0 { 0 } else { 1 + r.below(3) };
        let each = |f: fn(&Spatial) -> usize| spatial.iter().map(f).collect::<Vec<usize>>();
        let outputs = kernels * by_feature * by_batch;
        let x = [vec![batch * by_batch, features * by_feature], each(|s| s.size)].concat();
        let y = [vec![features, outputs], each(|s| s.window)].concat();
        let out = [vec![batch, outputs], each(Spatial::windows)].concat();
        let (x, x_names) = named(r, ["b", "f"], &x);
        let (y, y_names) = named(r, ["i", "o"], &y);
        let (out, out_names) = named(r, ["b", "f"], &out);
        let result =
            if matches!(dtype, DType::F16 | DType::BF16) && r.below(2) == 0 { DType::F32 } else { dtype };
        let [tx, ty, to] = [ty(dtype, &x), ty(dtype, &y), ty(result, &out)];
        let program = format!(
            "func.func @main(%x: {tx}, %y: {ty}) -> {to} {{
%0 = stablehlo.convolution(%x, %y) dim_numbers = {x_names}x{y_names}->{out_names}, window = {{stride = {}, pad = {}, \
lhs_dilate = {}, rhs_dilate = {}, reverse = {}}} {{batch_group_count = {by_batch} : i64, feature_group_count = \
{by_feature} : i64}} : ({tx}, {ty}) -> {to}
return %0 : {to} }}",
            list(each(|s| s.stride)),
            list(spatial.iter().map(|s| format!("[{}, {}]", s.padding.0, s.padding.1))),
            list(each(|s| s.dilations[0])),
            list(each(|s| s.dilations[1])),
            list(spatial.iter().map(|s| s.reversed)),
        );
        let inputs = [r.tensor(dtype, &x), r.tensor(dtype, &y)];
        check(&program, &inputs, "convolution");
    }
}

/// Checks convolutions of one feature and one kernel. Rows of windows are computed in parts.
#[test]
fn convolutions_of_one_feature_match_the_evaluator() {
    let mut r = SplitMix::new(22);
    for (dtype, sizes, window, stride) in [
        (DType::F32, [1, 9000], [1, 9], 1),
        (DType::F32, [3, 9000], [2, 3], 2),
        (DType::S32, [20, 70], [5, 5], 1),
        (DType::BF16, [33, 65], [3, 4], 3),
    ] {
        let pad = window.map(|n| n / 2);
        let windows = [0, 1].map(|d| (sizes[d] + 2 * pad[d] - window[d]) / stride + 1);
        let image = |[height, width]: [usize; 2]| [2, height, width, 1];
        let (x, y, out) = (image(sizes), [window[0], window[1], 1, 1], image(windows));
        let [tx, ty, to] = [ty(dtype, &x), ty(dtype, &y), ty(dtype, &out)];
        let program = format!(
            "func.func @main(%x: {tx}, %y: {ty}) -> {to} {{
%0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{stride = [{stride}, \
{stride}], pad = {}}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({tx}, {ty}) -> {to}
return %0 : {to} }}",
            list(pad.map(|n| format!("[{n}, {n}]"))),
        );
        let inputs = [r.tensor(dtype, &x), r.tensor(dtype, &y)];
        check(&program, &inputs, "convolution");
    }
}

/// Checks left operands whose rows are more than a page apart. Such operands are packed, for several rows of
/// tiles at once. In some cases, the last rows do not fill a tile.
#[test]
fn products_of_long_rows_match_the_evaluator() {
    let mut r = SplitMix::new(21);
    let few = [(7, 1100, 40), (25, 2050, 17), (1, 3000, 70)].map(|sizes| (DType::F32, sizes));
    let many = [(DType::F32, (203, 1100, 40)), (DType::S32, (139, 1100, 35)), (DType::C64, (70, 520, 9))];
    for (dtype, (rows, depth, columns)) in few.into_iter().chain(many) {
        // On the left, either the depth or the rows are contiguous.
        for lines_together in [false, true] {
            let left = if lines_together { [depth, rows] } else { [rows, depth] };
            let [x, y, out] = [left, [depth, columns], [rows, columns]].map(|dims| ty(dtype, &dims));
            let dim = usize::from(!lines_together);
            let program = format!(
                "func.func @main(%x: {x}, %y: {y}) -> {out} {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [{dim}] x [0] : ({x}, {y}) -> {out}
  return %0 : {out}
}}"
            );
            let inputs = [left, [depth, columns]].map(|dims| r.tensor(dtype, &dims));
            check(&program, &inputs, "dot");
        }
    }
}
