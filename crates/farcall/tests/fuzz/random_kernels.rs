//! Compares two kinds of kernels with the evaluator: kernels that interpret regions, and kernels that compute
//! with indices. The operations are random and cover every element type. The operands include NaNs,
//! infinities, zeros of both signs and subnormal numbers, empty tensors, and every rank up to 4.

use farcall::ir::eval::Denormals;
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{DType, Literal, Scalar};
use farcall_testing::SplitMix;
use farcall_testing::compare::Tolerance;
use farcall_testing::engine::Both;

const DTYPES: [DType; 13] = [
    DType::F32,
    DType::F64,
    DType::BF16,
    DType::F16,
    DType::S8,
    DType::S16,
    DType::S32,
    DType::S64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::Pred,
];

/// Random inputs of programs.
trait Inputs {
    fn float(&mut self, odd: bool) -> f64;
    fn scalar(&mut self, dtype: DType, odd: bool) -> Scalar;
    fn tensor(&mut self, dtype: DType, dims: &[usize], odd: bool) -> Literal;
    fn dims(&mut self, most: usize) -> Vec<usize>;
}

impl Inputs for SplitMix {
    fn float(&mut self, odd: bool) -> f64 {
        match self.below(if odd { 14 } else { 200 }) {
            0 => 0.0,
            1 => -0.0,
            2 if odd => f64::NAN,
            3 if odd => f64::INFINITY,
            4 if odd => -f64::INFINITY,
            5 => 1e-40,
            6 => -1e-310,
            7 => -1e-40,
            _ => (self.below(65) as f64 - 32.0) / 8.0,
        }
    }

    fn scalar(&mut self, dtype: DType, odd: bool) -> Scalar {
        match dtype {
            DType::Pred => Scalar::Bool(self.below(2) == 0),
            _ if dtype.is_float() => Scalar::Float(self.float(odd)),
            _ if dtype.is_signed_integer() => Scalar::Signed(self.below(11) as i64 - 5),
            _ => Scalar::Unsigned(self.below(11) as u64),
        }
    }

    fn tensor(&mut self, dtype: DType, dims: &[usize], odd: bool) -> Literal {
        Literal::from_fn(dtype, dims, |_| self.scalar(dtype, odd))
    }

    fn dims(&mut self, most: usize) -> Vec<usize> {
        let rank = self.below(5);
        (0..rank)
            .map(|_| match self.below(12) {
                0 => 0,
                1 => 1,
                _ => 1 + self.below(most),
            })
            .collect()
    }
}

fn ty(dtype: DType, dims: &[usize]) -> String {
    let sizes: String = dims.iter().map(|n| format!("{n}x")).collect();
    format!("tensor<{sizes}{}>", dtype.mlir())
}

fn array(values: impl IntoIterator<Item = impl ToString>) -> String {
    let all: Vec<String> = values.into_iter().map(|n| n.to_string()).collect();
    format!("array<i64{}{}>", if all.is_empty() { "" } else { ": " }, all.join(", "))
}

/// Runs a program in the engine and in the evaluator. The engine must use the kernel named `kernel` or, if
/// the name is empty, no `reference` kernel.
fn check(program: &str, inputs: &[Literal], kernel: &str, exact: bool, denormals: Denormals) {
    let both = Both::run(program, inputs, denormals, Pipeline::default());
    let plan = both.executable.plan();
    let served = match kernel {
        "" => both.thunks("reference") == 0,
        _ => plan.thunks().is_empty() || both.thunks(kernel) > 0,
    };
    assert!(served, "the engine does not use the expected kernel:\n{program}{plan}");
    for (found, wanted) in both.results() {
        for i in 0..wanted.len() {
            let same = found.element(i) == wanted.element(i)
                || close(found.get(i), wanted.get(i), wanted.dtype(), exact);
            assert!(
                same,
                "{denormals:?}, element {i}: {:?}, not {:?}\n{program}\n{inputs:?}",
                found.get(i),
                wanted.get(i)
            );
        }
    }
}

/// Returns true if both numbers are NaN or, unless `exact` is set, if they are close to each other: sums of
/// many numbers may differ in their last digits.
fn close(x: Scalar, y: Scalar, dtype: DType, exact: bool) -> bool {
    let (Scalar::Float(x), Scalar::Float(y)) = (x, y) else { return false };
    let epsilon = match dtype {
        DType::F64 => 1e-13,
        DType::F32 => 1e-6,
        DType::F16 => 1e-3,
        _ => 8e-3,
    };
    (x.is_nan() && y.is_nan()) || (!exact && Tolerance::mixed(epsilon).holds(x, y))
}

/// A region of two arguments with a single operation. If `op` is empty, the region returns its second
/// argument.
fn reducer(op: &str, dtype: DType) -> String {
    let t = ty(dtype, &[]);
    let (result, made) = match op {
        "" => ("%b", String::new()),
        op => ("%r", format!("%r = stablehlo.{op} %a, %b : {t}")),
    };
    format!(
        "({{
^bb0(%a: {t}, %b: {t}):
  {made}
  stablehlo.return {result} : {t}
}})"
    )
}

/// Returns an operation that has kernels for this type.
fn operation(r: &mut SplitMix, dtype: DType) -> &'static str {
    if dtype == DType::Pred {
        r.pick(&["and", "or"])
    } else if dtype.is_integer() {
        r.pick(&["add", "multiply", "maximum", "minimum", "and", "or"])
    } else {
        r.pick(&["add", "multiply", "maximum", "minimum"])
    }
}

/// Attributes of a `reduce_window`. Each attribute has one entry per dimension.
struct Window {
    window: Vec<usize>,
    strides: Vec<usize>,
    base: Vec<usize>,
    dilations: Vec<usize>,
    padding: Vec<(i64, i64)>,
}

impl Window {
    fn results(&self, dims: &[usize]) -> Vec<usize> {
        let dilated = |n: usize, by: usize| if n == 0 { 0 } else { (n as i64 - 1) * by as i64 + 1 };
        let of = |d: usize| {
            let padded = dilated(dims[d], self.base[d]) + self.padding[d].0 + self.padding[d].1;
            let window = dilated(self.window[d], self.dilations[d]);
            if padded <= 0 || window > padded { 0 } else { (padded - window) as usize / self.strides[d] + 1 }
        };
        (0..dims.len()).map(of).collect()
    }

    fn padding(&self) -> String {
        let pairs: Vec<String> = self.padding.iter().map(|(a, b)| format!("[{a}, {b}]")).collect();
        let text = if pairs.is_empty() { String::new() } else { format!("[{}]", pairs.join(", ")) };
        format!("dense<{text}> : tensor<{}x2xi64>", pairs.len())
    }

    fn check(&self, r: &mut SplitMix, round: usize, dtype: DType, dims: &[usize], op: &str) {
        let [x, y, init] = [ty(dtype, dims), ty(dtype, &self.results(dims)), ty(dtype, &[])];
        let program = format!(
            "func.func @main(%x: {x}, %i: {init}) -> {y} {{
%0 = \"stablehlo.reduce_window\"(%x, %i) <{{base_dilations = {}, padding = {}, window_dilations = {}, window_dimensions = {}, window_strides = {}}}> {} : ({x}, {init}) -> {y}
return %0 : {y} }}",
            array(&self.base),
            self.padding(),
            array(&self.dilations),
            array(&self.window),
            array(&self.strides),
            reducer(op, dtype),
        );
        let odd = r.below(2) == 0;
        let inputs = [r.tensor(dtype, dims, odd), r.tensor(dtype, &[], false)];
        let many = self.window.iter().product::<usize>() > 64;
        let exact = !many || !dtype.is_float() || op.starts_with('m') && op != "multiply";
        check(&program, &inputs, "reduce_window", exact, [Denormals::Ieee, Denormals::Flush][round % 2]);
    }
}

#[test]
fn windows_match_the_evaluator() {
    let mut r = SplitMix::new(1);
    for round in 0..100 {
        let dtype = DTYPES[round % DTYPES.len()];
        let dims: Vec<usize> = r.dims(if round % 3 == 0 { 40 } else { 7 }).into_iter().take(3).collect();
        let most = dims.iter().map(|_| 1 + r.below(3)).collect::<Vec<usize>>();
        let each = |f: &mut dyn FnMut(usize) -> usize| (0..dims.len()).map(f).collect::<Vec<usize>>();
        let w = Window {
            window: each(&mut |d| 1 + r.below(most[d])),
            strides: each(&mut |_| 1 + r.below(3)),
            base: each(&mut |_| if r.below(4) == 0 { 2 } else { 1 }),
            dilations: each(&mut |_| if r.below(4) == 0 { 1 + r.below(3) } else { 1 }),
            padding: dims.iter().map(|_| (r.below(4) as i64 - 1, r.below(4) as i64 - 1)).collect(),
        };
        let op = operation(&mut r, dtype);
        w.check(&mut r, round, dtype, &dims, op);
    }
}

#[test]
fn large_windows_match_the_evaluator() {
    let mut r = SplitMix::new(2);
    for round in 0..26 {
        let dtype = DTYPES[round % DTYPES.len()];
        let d = r.below(2);
        let dims = [[1, 3, 20, 70][r.below(4)], 1 + r.below(130), [1, 3, 16, 21][r.below(4)]];
        let (mut window, mut padding) = (vec![1; 3], vec![(0, 0); 3]);
        for d in [1, d] {
            let n = dims[d];
            window[d] = n;
            padding[d] = match r.below(4) {
                0 => (n as i64 - 1, 0),
                1 => (0, n as i64 - 1),
                2 => (r.below(n) as i64, r.below(n) as i64),
                _ => {
                    window[d] = 1 + r.below(n);
                    let most = window[d].min(9);
                    (r.below(most) as i64, r.below(most) as i64)
                }
            };
        }
        let strides = vec![1, 1 + r.below(3), 1];
        let dilations = vec![1, if r.below(6) == 0 && window[1] * 2 < dims[1] { 2 } else { 1 }, 1];
        let w = Window { window, strides, base: vec![1; 3], dilations, padding };
        let op = operation(&mut r, dtype);
        w.check(&mut r, round, dtype, &dims, if op == "multiply" && dtype.is_float() { "add" } else { op });
    }
}

/// Regions that keep the larger or smaller number and its index: JAX's spelling, and two others.
const SPELLINGS: [&str; 3] = [
    // The region that `jax.numpy.argmax` compiles to.
    "%2 = stablehlo.compare CMP, %a, %b : (T, T) -> tensor<i1>
%3 = stablehlo.compare NE, %a, %a : (T, T) -> tensor<i1>
%4 = stablehlo.or %2, %3 : tensor<i1>
%5 = stablehlo.compare EQ, %a, %b : (T, T) -> tensor<i1>
%6 = stablehlo.compare LT, %i, %j : (I, I) -> tensor<i1>
%7 = stablehlo.and %5, %6 : tensor<i1>
%8 = stablehlo.or %4, %7 : tensor<i1>
%9 = stablehlo.select %4, %a, %b : tensor<i1>, T
%10 = stablehlo.select %8, %i, %j : tensor<i1>, I
",
    // Keeps the first of equal numbers.
    "%2 = stablehlo.compare CMP, %b, %a : (T, T) -> tensor<i1>
%3 = stablehlo.compare EQ, %a, %a : (T, T) -> tensor<i1>
%6 = stablehlo.compare NE, %b, %b : (T, T) -> tensor<i1>
%7 = stablehlo.or %2, %6 : tensor<i1>
%4 = stablehlo.and %7, %3 : tensor<i1>
%9 = stablehlo.select %4, %b, %a : tensor<i1>, T
%10 = stablehlo.select %4, %j, %i : tensor<i1>, I
",
    // Keeps the last of equal numbers.
    "%2 = stablehlo.compare CMP, %a, %b : (T, T) -> tensor<i1>
%3 = stablehlo.compare NE, %a, %a : (T, T) -> tensor<i1>
%4 = stablehlo.or %2, %3 : tensor<i1>
%9 = stablehlo.select %4, %a, %b : tensor<i1>, T
%10 = stablehlo.select %4, %i, %j : tensor<i1>, I
",
];

#[test]
fn arg_reductions_match_the_evaluator() {
    let mut r = SplitMix::new(3);
    for round in 0..100 {
        let dtype = DTYPES[round % (DTYPES.len() - 1)];
        let index = r.pick(&[DType::S32, DType::S64, DType::U32]);
        let dims = r.dims(if round % 3 == 0 { 150 } else { 6 }).into_iter().take(3).collect::<Vec<usize>>();
        let reduced: Vec<usize> = (0..dims.len()).filter(|_| r.below(2) == 0).collect();
        let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).map(|d| dims[d]).collect();
        let [t, i] = [ty(dtype, &[]), ty(index, &[])];
        let body = r.pick(&SPELLINGS).replace("CMP", r.pick(&["GT", "LT"])).replace('T', &t).replace('I', &i);
        // `T` and `I` are placeholders for types, but `T` also occurs in the names of directions.
        let body = body.replace(&format!("G{t}"), "GT").replace(&format!("L{t}"), "LT");
        let [x, p, y, f] = [ty(dtype, &dims), ty(index, &dims), ty(dtype, &kept), ty(index, &kept)];
        // In every second round, the indices are an iota. For most dimensions of the iota, the kernel
        // computes the indices instead of reading memory.
        let (counted, places) = match round % 2 == 0 && !dims.is_empty() {
            true => (format!("%q = stablehlo.iota dim = {} : {p}\n", r.below(dims.len())), "%q"),
            false => (String::new(), "%p"),
        };
        let program = format!(
            "func.func @main(%x: {x}, %p: {p}, %v: {t}, %w: {i}) -> ({y}, {f}) {{
{counted}%0:2 = \"stablehlo.reduce\"(%x, {places}, %v, %w) <{{dimensions = {}}}> ({{
^bb0(%a: {t}, %i: {i}, %b: {t}, %j: {i}):
{body}stablehlo.return %9, %10 : {t}, {i}
}}) : ({x}, {p}, {t}, {i}) -> ({y}, {f})
return %0#0, %0#1 : {y}, {f} }}",
            array(&reduced)
        );
        let odd = r.below(2) == 0;
        let inputs = [
            r.tensor(dtype, &dims, odd),
            r.tensor(index, &dims, false),
            r.tensor(dtype, &[], odd),
            r.tensor(index, &[], false),
        ];
        check(&program, &inputs, "arg_reduce", true, [Denormals::Ieee, Denormals::Flush][round % 2]);
    }
}

#[test]
fn selections_match_the_evaluator() {
    let mut r = SplitMix::new(4);
    for round in 0..80 {
        let dtype = DTYPES[round % (DTYPES.len() - 1)];
        let dims = r.dims(if round % 3 == 0 { 40 } else { 7 }).into_iter().take(3).collect::<Vec<usize>>();
        let windowed: Vec<bool> = dims.iter().map(|_| r.below(2) == 0).collect();
        let pick = |r: &mut SplitMix, n: usize| {
            windowed.iter().map(|w| if *w { 1 + r.below(n) } else { 1 }).collect::<Vec<usize>>()
        };
        let (window, strides) = (pick(&mut r, 3), pick(&mut r, 3));
        let padding = windowed
            .iter()
            .map(|w| if *w { (r.below(3) as i64, r.below(3) as i64) } else { (0, 0) })
            .collect();
        let ones = vec![1; dims.len()];
        let w = Window { window, strides, base: ones.clone(), dilations: ones, padding };
        let values = w.results(&dims);
        let [x, v, t] = [ty(dtype, &dims), ty(dtype, &values), ty(dtype, &[])];
        let (direction, operands) = (r.pick(&["GE", "GT", "LE", "LT"]), r.pick(&["%a, %b", "%b, %a"]));
        let program = format!(
            "func.func @main(%x: {x}, %v: {v}, %i: {t}) -> {x} {{
%0 = \"stablehlo.select_and_scatter\"(%x, %v, %i) <{{padding = {}, window_dimensions = {}, window_strides = {}}}> ({{
^bb0(%a: {t}, %b: {t}):
%c = stablehlo.compare {direction}, {operands} : ({t}, {t}) -> tensor<i1>
stablehlo.return %c : tensor<i1>
}}, {}) : ({x}, {v}, {t}) -> {x}
return %0 : {x} }}",
            w.padding(),
            array(&w.window),
            array(&w.strides),
            reducer("add", dtype).trim_start_matches('(').trim_end_matches(')'),
        );
        let odd = r.below(2) == 0;
        let inputs =
            [r.tensor(dtype, &dims, odd), r.tensor(dtype, &values, odd), r.tensor(dtype, &[], false)];
        let denormals = [Denormals::Ieee, Denormals::Flush][round % 2];
        check(&program, &inputs, "select_and_scatter", true, denormals);
    }
}

/// Returns a random subset of the numbers below `all`, in order.
fn some(r: &mut SplitMix, all: usize) -> Vec<usize> {
    (0..all).filter(|_| r.below(2) == 0).collect()
}

/// Dimension numbers of a `gather` or `scatter`, for an operand of these dimensions.
struct Indexing {
    /// Sizes of the slices or windows.
    slices: Vec<usize>,
    collapsed: Vec<usize>,
    batching: Vec<usize>,
    indexed: Vec<usize>,
    /// Sizes of the indices' dimensions. The last dimension is that of the index vectors.
    indices: Vec<usize>,
    /// Positions of the slices' dimensions among the dimensions of the result or of the updates.
    offsets: Vec<usize>,
    result: Vec<usize>,
}

impl Indexing {
    fn new(r: &mut SplitMix, dims: &[usize], behind: bool) -> Indexing {
        let all: Vec<usize> = (0..dims.len()).collect();
        let batching: Vec<usize> = all.iter().copied().filter(|_| r.below(6) == 0).collect();
        let rest = |taken: &[&[usize]]| -> Vec<usize> {
            all.iter().copied().filter(|d| taken.iter().all(|t| !t.contains(d))).collect()
        };
        let collapsed: Vec<usize> =
            rest(&[&batching]).into_iter().filter(|d| dims[*d] > 0 && r.below(2) == 0).collect();
        let mut indexed: Vec<usize> =
            rest(&[&batching]).into_iter().filter(|d| collapsed.contains(d) || r.below(3) == 0).collect();
        if indexed.len() > 1 && r.below(2) == 0 {
            indexed.swap(0, 1);
        }
        let slice = |r: &mut SplitMix, d: usize| match () {
            () if collapsed.contains(&d) => 1,
            () if batching.contains(&d) => dims[d].min(1),
            () if r.below(2) == 0 => dims[d],
            () => r.below(dims[d] + 1),
        };
        let slices: Vec<usize> = (0..dims.len()).map(|d| slice(r, d)).collect();
        let mut outer: Vec<usize> = batching.iter().map(|d| dims[*d]).collect();
        outer.extend(some(r, 2).into_iter().map(|_| 1 + r.below(4)));
        let kept: Vec<usize> = rest(&[&batching, &collapsed]).iter().map(|d| slices[*d]).collect();
        let rank = outer.len() + kept.len();
        let first = if behind { outer.len() } else { r.below(outer.len() + 1) };
        let offsets: Vec<usize> = (first..first + kept.len()).collect();
        let mut rests = [outer.iter(), kept.iter()];
        let result = (0..rank).map(|d| *rests[usize::from(offsets.contains(&d))].next().unwrap()).collect();
        let indices = [outer, vec![indexed.len()]].concat();
        Indexing { slices, collapsed, batching, indexed, indices, offsets, result }
    }

    fn dimension_numbers(&self, kind: &str, names: [&str; 5]) -> String {
        let list = |name: &str, values: &[usize]| {
            let all: Vec<String> = values.iter().map(usize::to_string).collect();
            if all.is_empty() { String::new() } else { format!("{name} = [{}], ", all.join(", ")) }
        };
        let of_indices: Vec<usize> = (0..self.batching.len()).collect();
        format!(
            "#stablehlo.{kind}<{}{}{}{}{}index_vector_dim = {}>",
            list(names[0], &self.offsets),
            list(names[1], &self.collapsed),
            list(names[2], &self.batching),
            list(names[3], &of_indices),
            list(names[4], &self.indexed),
            self.indices.len() - 1,
        )
    }

    /// Returns the lines of a program that compute the indices `%j` from `%i`, so that negative entries of an
    /// index count from the end of their dimension ([`wrapped`]). At random, and for indices that cannot be
    /// negative, returns no lines.
    fn wrapped(&self, r: &mut SplitMix, dims: &[usize], index: DType) -> String {
        if index.is_unsigned_integer() || self.indexed.is_empty() || r.below(2) == 0 {
            return String::new();
        }
        let sizes: Vec<usize> = self.indexed.iter().map(|d| dims[*d]).collect();
        wrapped(index, &self.indices, &sizes)
    }
}

/// Returns the lines of a program that compute the indices `%j` from `%i`, as JAX does: a size is added to
/// each negative entry of an index. The last dimension of the indices holds the entries.
fn wrapped(index: DType, indices: &[usize], sizes: &[usize]) -> String {
    let (last, outer) = indices.split_last().unwrap();
    let whole = ty(index, indices);
    let (one, mask) = (ty(index, &[outer, &[1]].concat()), ty(DType::Pred, &[outer, &[1]].concat()));
    let mut lines = String::new();
    for (e, size) in sizes.iter().enumerate() {
        let all: String = outer.iter().map(|n| format!("0:{n}, ")).collect();
        lines += &format!(
            "%entry{e} = stablehlo.slice %i [{all}{e}:{}] : ({whole}) -> {one}
%zero{e} = stablehlo.constant dense<0> : {one}
%size{e} = stablehlo.constant dense<{size}> : {one}
%negative{e} = stablehlo.compare LT, %entry{e}, %zero{e} : ({one}, {one}) -> {mask}
%sum{e} = stablehlo.add %entry{e}, %size{e} : {one}
%wrapped{e} = stablehlo.select %negative{e}, %sum{e}, %entry{e} : {mask}, {one}\n",
            e + 1
        );
    }
    let list = |item: &dyn Fn(usize) -> String| (0..*last).map(item).collect::<Vec<_>>().join(", ");
    let (entries, types) = (list(&|e| format!("%wrapped{e}")), list(&|_| one.clone()));
    let dim = outer.len();
    lines + &format!("%j = stablehlo.concatenate {entries}, dim = {dim} : ({types}) -> {whole}\n")
}

#[test]
fn scatters_match_the_evaluator() {
    let mut r = SplitMix::new(5);
    for round in 0..150 {
        let dtype = DTYPES[round % DTYPES.len()];
        let dims = r.dims(if round % 5 == 0 { 40 } else { 5 }).into_iter().take(3).collect::<Vec<usize>>();
        let at = Indexing::new(&mut r, &dims, true);
        let index = r.pick(&[DType::S32, DType::U8, DType::S64, DType::S8]);
        let wrapped = at.wrapped(&mut r, &dims, index);
        let at_indices = if wrapped.is_empty() { "%i" } else { "%j" };
        let numbers = at.dimension_numbers(
            "scatter",
            [
                "update_window_dims",
                "inserted_window_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
                "scatter_dims_to_operand_dims",
            ],
        );
        let [x, i, u, t] = [ty(dtype, &dims), ty(index, &at.indices), ty(dtype, &at.result), ty(dtype, &[])];
        let body = if r.below(4) == 0 {
            format!("({{\n^bb0(%a: {t}, %b: {t}):\n  stablehlo.return %b : {t}\n}})")
        } else {
            reducer(operation(&mut r, dtype), dtype)
        };
        let program = format!(
            "func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{
{wrapped}%0 = \"stablehlo.scatter\"(%x, {at_indices}, %u) <{{scatter_dimension_numbers = {numbers}}}> {body} : ({x}, {i}, {u}) -> {x}
return %0 : {x} }}"
        );
        let odd = r.below(2) == 0;
        let inputs = [
            r.tensor(dtype, &dims, odd),
            r.tensor(index, &at.indices, false),
            r.tensor(dtype, &at.result, odd),
        ];
        check(&program, &inputs, "scatter", true, [Denormals::Ieee, Denormals::Flush][round % 2]);
    }
}

/// Checks results that are larger than a cache. The kernel computes such results in parts.
#[test]
fn large_scatters_match_the_evaluator() {
    let mut r = SplitMix::new(12);
    for (rows, columns, op, wraps) in
        [(16_400, 65, "add", false), (8_192, 128, "maximum", true), (16_400, 64, "", false)]
    {
        let wrapped = if wraps { wrapped(DType::S32, &[9000, 1], &[8192]) } else { String::new() };
        let at_indices = if wraps { "%j" } else { "%i" };
        let [x, i, u] =
            [ty(DType::F64, &[rows, columns]), ty(DType::S32, &[9000, 1]), ty(DType::F64, &[9000, columns])];
        let program = format!(
            "func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{
{wrapped}%0 = \"stablehlo.scatter\"(%x, {at_indices}, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {} : ({x}, {i}, {u}) -> {x}
return %0 : {x} }}",
            reducer(op, DType::F64)
        );
        // Some rows occur many times, some are out of bounds.
        let indices = Literal::from_fn(DType::S32, [9000, 1], |_| {
            let most = if r.below(2) == 0 { 40 } else { rows + 100 };
            Scalar::Signed(r.below(most) as i64 - 20)
        });
        let inputs = [
            r.tensor(DType::F64, &[rows, columns], false),
            indices,
            r.tensor(DType::F64, &[9000, columns], false),
        ];
        check(&program, &inputs, "scatter", true, Denormals::Ieee);
    }
}

#[test]
fn one_element_and_many_are_concatenated() {
    let mut r = SplitMix::new(15);
    let program = "func.func @main(%x: tensor<1x1xf32>, %y: tensor<1x2000xf32>) -> tensor<1x2001xf32> {
        %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<1x1xf32>, tensor<1x2000xf32>) -> tensor<1x2001xf32>
        return %0 : tensor<1x2001xf32> }";
    let inputs = [1, 2000].map(|n| r.tensor(DType::F32, &[1, n], false));
    check(program, &inputs, "concatenate", true, Denormals::Ieee);
}

/// Checks results that are larger than a cache. The kernel writes such results with non-temporal stores.
#[test]
fn non_temporal_stores_match_the_evaluator() {
    let mut r = SplitMix::new(14);
    let n = (1 << 21) + 13;
    let [x, p] = [DType::F64, DType::Pred].map(|dtype| ty(dtype, &[n]));
    let program = format!(
        "func.func @main(%x: {x}, %y: {x}) -> ({x}, {p}, {x}) {{
            %a = stablehlo.add %x, %y : {x}
            %b = stablehlo.multiply %a, %x : {x}
            %c = stablehlo.compare LT, %x, %b : ({x}, {x}) -> {p}
            return %b, %c, %a : {x}, {p}, {x} }}"
    );
    let inputs = [(); 2].map(|()| r.tensor(DType::F64, &[n], false));
    check(&program, &inputs, "fusion", true, Denormals::Ieee);

    // Only a small part of a large tensor is a result.
    let [x, y] = [1 << 23, 64].map(|n| ty(DType::F64, &[n]));
    let program = format!(
        "func.func @main(%x: {x}) -> {y} {{
            %0 = stablehlo.slice %x [1000:1064] : ({x}) -> {y}
            %1 = stablehlo.add %0, %0 : {y}
            %2 = stablehlo.multiply %1, %0 : {y}
            return %2 : {y} }}"
    );
    check(&program, &[r.tensor(DType::F64, &[1 << 23], false)], "fusion", true, Denormals::Ieee);

    for (dtype, sizes) in [(DType::F32, [2064, 2050]), (DType::F64, [1032, 2050]), (DType::S64, [2050, 1036])]
    {
        let [x, y] = [sizes, [sizes[1], sizes[0]]].map(|sizes| ty(dtype, &sizes));
        let program = format!(
            "func.func @main(%x: {x}) -> {y} {{
                %0 = stablehlo.transpose %x, dims = [1, 0] : ({x}) -> {y}
                return %0 : {y} }}"
        );
        check(&program, &[r.tensor(dtype, &sizes, false)], "transpose", true, Denormals::Ieee);
    }
}

/// Checks rounds of add, rotate and xor on two words. At times, keys are added in between. The halves of a
/// rotated word are combined by `or`, `xor` or `add`.
#[test]
fn rounds_match_the_evaluator() {
    let mut r = SplitMix::new(13);
    for _ in 0..60 {
        let n = r.pick(&[5, 256, 1000, 4133]);
        let full = ty(DType::U32, &[n]);
        let mut lines = "%k = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<ui32>) -> T\n".to_owned();
        for by in 1..32 {
            lines += &format!("%c{by} = stablehlo.constant dense<{by}> : T\n");
        }
        let (mut a, mut b) = (r.pick(&["%x", "%k", "%c7"]).to_owned(), "%y".to_owned());
        let mut made = vec![a.clone()];
        for i in 0..r.below(if n == 5 { 60 } else { 14 }) {
            let (left, or) = (1 + r.below(31), r.pick(&["or", "xor", "add"]));
            lines += &format!(
                "%a{i} = stablehlo.add {a}, {b} : T\n%l{i} = stablehlo.shift_left {b}, %c{left} : T\n"
            );
            lines += &format!("%r{i} = stablehlo.shift_right_logical {b}, %c{} : T\n", 32 - left);
            lines +=
                &format!("%o{i} = stablehlo.{or} %r{i}, %l{i} : T\n%b{i} = stablehlo.xor %a{i}, %o{i} : T\n");
            (a, b) = (format!("%a{i}"), format!("%b{i}"));
            for (j, word) in [&mut a, &mut b].into_iter().enumerate() {
                if r.below(3) > 0 {
                    continue;
                }
                let key = r.pick(&["%k", "%c9", "%z", "%x"]);
                lines += &format!("%k{i}{j} = stablehlo.add {key}, {word} : T\n");
                *word = format!("%k{i}{j}");
            }
            if r.below(12) == 0 {
                made.push(r.pick(&[&a, &b]).clone());
            }
        }
        let more = &made[r.below(made.len())];
        let program = format!(
            "func.func @main(%x: T, %y: T, %z: T, %s: tensor<ui32>) -> (T, T, T) {{\n{lines}return {b}, {more}, {a} : T, T, T }}"
        );
        let mut words =
            |dims: &[usize]| Literal::from_fn(DType::U32, dims, |_| Scalar::Unsigned(r.next() >> 32));
        let inputs = [words(&[n]), words(&[n]), words(&[n]), words(&[])];
        check(&program.replace('T', &full), &inputs, "", true, Denormals::Ieee);
    }
}

#[test]
fn gathers_match_the_evaluator() {
    let mut r = SplitMix::new(6);
    for round in 0..150 {
        let dtype = DTYPES[round % DTYPES.len()];
        let dims = r.dims(if round % 5 == 0 { 40 } else { 5 }).into_iter().take(3).collect::<Vec<usize>>();
        let at = Indexing::new(&mut r, &dims, false);
        let index = r.pick(&[DType::S32, DType::U8, DType::S64, DType::S8]);
        let wrapped = at.wrapped(&mut r, &dims, index);
        let at_indices = if wrapped.is_empty() { "%i" } else { "%j" };
        let names = [
            "offset_dims",
            "collapsed_slice_dims",
            "operand_batching_dims",
            "start_indices_batching_dims",
            "start_index_map",
        ];
        let numbers = at.dimension_numbers("gather", names);
        let [x, i, y] = [ty(dtype, &dims), ty(index, &at.indices), ty(dtype, &at.result)];
        let program = format!(
            "func.func @main(%x: {x}, %i: {i}) -> {y} {{
{wrapped}%0 = \"stablehlo.gather\"(%x, {at_indices}) <{{dimension_numbers = {numbers}, slice_sizes = {}}}> : ({x}, {i}) -> {y}
return %0 : {y} }}",
            array(&at.slices)
        );
        let inputs = [r.tensor(dtype, &dims, true), r.tensor(index, &at.indices, false)];
        check(&program, &inputs, "gather", true, [Denormals::Ieee, Denormals::Flush][round % 2]);
    }
}

/// Programs over rows: values with all elements, with one element per row, or with one element per position
/// in a row, and reductions and broadcasts between such values, in any order.
struct Rows {
    dtype: DType,
    /// Sizes of the dimensions outside of a row.
    outer: Vec<usize>,
    /// Sizes of the dimensions inside a row.
    inner: Vec<usize>,
    lines: String,
    /// Names of values with all elements.
    full: Vec<String>,
    /// Names of values with one element per row.
    row: Vec<String>,
    /// Names of values with one element per position in a row.
    column: Vec<String>,
}

impl Rows {
    fn new(r: &mut SplitMix, dtype: DType) -> Rows {
        let mut sizes = |rank: usize, most: usize| (0..rank).map(|_| 1 + r.below(most)).collect::<Vec<_>>();
        let (mut outer, mut inner) = (sizes(1, 12), sizes(1, 300));
        match r.below(4) {
            0 => outer.push(1 + r.below(3)),
            1 => inner.insert(0, 1 + r.below(3)),
            // A square: as many rows as elements of a row.
            2 => outer.clone_from(&inner),
            _ => outer.clear(),
        }
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Rows {
            dtype,
            outer,
            inner,
            lines: String::new(),
            full: names(&["%x", "%y"]),
            row: names(&["%r"]),
            column: names(&["%c"]),
        }
    }

    fn all(&self) -> Vec<usize> {
        [&self.outer[..], &self.inner].concat()
    }

    fn step(&mut self, r: &mut SplitMix, i: usize) {
        let (x, row) = (ty(self.dtype, &self.all()), ty(self.dtype, &self.outer));
        let of_inner = ty(self.dtype, &self.inner);
        let op = r.pick(&["add", "subtract", "multiply", "maximum", "minimum"]);
        let [a, b] = [0; 2].map(|_| self.full[r.below(self.full.len())].clone());
        let [p, q] = [0; 2].map(|_| self.row[r.below(self.row.len())].clone());
        let rank = self.outer.len();
        let dims = |from: usize, to: usize| (from..to).map(|d| d.to_string()).collect::<Vec<_>>().join(", ");
        let (outer, inner) = (dims(0, rank), dims(rank, rank + self.inner.len()));
        let scalar = ty(self.dtype, &[]);
        let reducer = r.pick(&["add", "maximum", "minimum"]);
        let reduce = |dims: &str, to: &str| {
            format!(
                "stablehlo.reduce({a} init: %z) applies stablehlo.{reducer} across dimensions = [{dims}] : ({x}, {scalar}) -> {to}"
            )
        };
        let broadcast = |from: &str, dims: &str, of: &str| {
            format!("stablehlo.broadcast_in_dim {from}, dims = [{dims}] : ({of}) -> {x}")
        };
        let pred = x.replace(self.dtype.mlir(), "i1");
        let (line, made) = match r.below(14) {
            0 => (format!("stablehlo.{op} {p}, {q} : {row}"), &mut self.row),
            1 | 2 => (reduce(&inner, &row), &mut self.row),
            3 => (broadcast(&p, &outer, &row), &mut self.full),
            4 => {
                // In a square, a value with one element per row can also serve as one element per column.
                let square = self.outer == self.inner && r.below(2) == 0;
                let from = if square { &p } else { &self.column[r.below(self.column.len())] };
                (broadcast(from, &inner, &of_inner), &mut self.full)
            }
            5 => (reduce(&outer, &of_inner), &mut self.column),
            6 => {
                let all = reduce(&dims(0, rank + self.inner.len()), &scalar);
                (format!("{all}\n%b{i} = {}", broadcast(&format!("%{i}"), "", &scalar)), &mut self.full)
            }
            7 => {
                let constant =
                    format!("stablehlo.constant dense<{}> : {x}", if r.below(2) == 0 { "2" } else { "3" });
                let constant =
                    if self.dtype.is_float() { constant.replacen('>', ".5>", 1) } else { constant };
                (format!("{constant}\n%b{i} = stablehlo.{op} {a}, %{i} : {x}"), &mut self.full)
            }
            8 => {
                let direction = r.pick(&["EQ", "NE", "LT", "LE", "GT", "GE"]);
                let compare = format!("stablehlo.compare {direction}, {a}, {b} : ({x}, {x}) -> {pred}");
                (format!("{compare}\n%b{i} = stablehlo.select %{i}, {b}, {a} : {pred}, {x}"), &mut self.full)
            }
            _ => (format!("stablehlo.{op} {a}, {b} : {x}"), &mut self.full),
        };
        self.lines += &format!("%{i} = {line}\n");
        made.push(if line.contains('\n') { format!("%b{i}") } else { format!("%{i}") });
    }
}

#[test]
fn rows_match_the_evaluator() {
    let mut r = SplitMix::new(11);
    let mut fused = 0;
    for round in 0..150 {
        let dtype = [DType::F32, DType::F64, DType::S32, DType::F16, DType::U8][round % 5];
        let mut rows = Rows::new(&mut r, dtype);
        let steps = 3 + r.below(if round % 20 == 0 { 90 } else { 14 });
        (0..steps).for_each(|i| rows.step(&mut r, i));
        let [x, row, c, z] = [&rows.all()[..], &rows.outer, &rows.inner, &[]].map(|dims| ty(dtype, dims));
        let [last, last_row, last_column] =
            [&rows.full, &rows.row, &rows.column].map(|names| names.last().unwrap());
        // The initial value is an argument or a constant.
        let one = if dtype.is_float() { "1.0" } else { "1" };
        let (param, constant) = match r.below(3) {
            0 => (format!("%z: {z}"), String::new()),
            _ => (format!("%a: {z}"), format!("%z = stablehlo.constant dense<{one}> : {z}\n")),
        };
        let any = &rows.full[r.below(rows.full.len())];
        let program = format!(
            "func.func @main(%x: {x}, %y: {x}, %r: {row}, %c: {c}, {param}) -> ({x}, {row}, {x}, {c}) {{
{constant}{}return {last}, {last_row}, {any}, {last_column} : {x}, {row}, {x}, {c} }}",
            rows.lines
        );
        let odd = r.below(4) == 0;
        let inputs = [&rows.all()[..], &rows.all(), &rows.outer, &rows.inner, &[]]
            .map(|dims| r.tensor(dtype, dims, odd));
        fused += usize::from(program.contains("reduce"));
        check(&program, &inputs, "", false, [Denormals::Ieee, Denormals::Flush][round % 2]);
    }
    assert!(fused > 75, "only {fused} of the programs have reductions");
}

/// Checks fusions with a `pad`. They have many tiles, and their tasks may begin at any element.
#[test]
fn large_paddings_match_the_evaluator() {
    let mut r = SplitMix::new(11);
    for (from, low, high, interior) in [
        (&[3001][..], &[0][..], &[1][..], &[1][..]),
        (&[70, 31, 5], &[2, -1, 0], &[-3, 2, 0], &[0, 1, 0]),
        (&[900, 1, 7], &[0, 1, 0], &[0, 1, 0], &[0, 0, 0]),
        (&[40, 40, 3], &[-5, 0, 0], &[0, 7, 1], &[2, 0, 0]),
        (&[2500, 1], &[0, 1], &[0, 1], &[0, 0]),
    ] {
        let size = |d: usize| from[d] as i64 + (from[d] as i64 - 1) * interior[d] + low[d] + high[d];
        let to: Vec<usize> = (0..from.len()).map(|d| size(d) as usize).collect();
        let [x, y] = [from, &to].map(|dims| ty(DType::F32, dims));
        let program = format!(
            "func.func @main(%x: {x}, %y: {y}, %z: tensor<f32>) -> {y} {{
  %0 = stablehlo.pad %x, %z, low = {low:?}, high = {high:?}, interior = {interior:?} : ({x}, tensor<f32>) -> {y}
  %1 = stablehlo.add %0, %y : {y}
  return %1 : {y}
}}"
        );
        let inputs = [from, &to, &[]].map(|dims| r.tensor(DType::F32, dims, false));
        check(&program, &inputs, "fusion", true, Denormals::Ieee);
    }
}

/// Checks loops that are unrolled to two iterations at once. Their carried values are swapped, kept, or
/// constant.
#[test]
fn stencils_in_loops_match_the_evaluator() {
    let mut r = SplitMix::new(12);
    for turns in [2, 9, 10, 100] {
        let program = format!(
            "func.func @main(%x: tensor<1500xf32>, %y: tensor<1500xf32>) -> (tensor<1500xf32>, tensor<1500xf32>, tensor<1500xf32>, tensor<i32>) {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:4 = stablehlo.while(%i = %c, %a = %x, %b = %y, %d = %x) : tensor<i32>, tensor<1500xf32>, tensor<1500xf32>, tensor<1500xf32>
    cond {{
      %n = stablehlo.constant dense<{turns}> : tensor<i32>
      %1 = stablehlo.compare NE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %k = stablehlo.constant dense<2.5> : tensor<1500xf32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.slice %a [1499:1500] : (tensor<1500xf32>) -> tensor<1xf32>
      %3 = stablehlo.slice %a [0:1499] : (tensor<1500xf32>) -> tensor<1499xf32>
      %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xf32>, tensor<1499xf32>) -> tensor<1500xf32>
      %5 = stablehlo.subtract %4, %a : tensor<1500xf32>
      %6 = stablehlo.subtract %b, %5 : tensor<1500xf32>
      stablehlo.return %1, %6, %5, %k : tensor<i32>, tensor<1500xf32>, tensor<1500xf32>, tensor<1500xf32>
    }}
  return %0#1, %0#2, %0#3, %0#0 : tensor<1500xf32>, tensor<1500xf32>, tensor<1500xf32>, tensor<i32>
}}"
        );
        let inputs = [0; 2].map(|_| r.tensor(DType::F32, &[1500], false));
        check(&program, &inputs, "fusion", true, Denormals::Ieee);
    }
}

/// Checks fusions that repeat the elements of an operand along two dimensions, and concatenate another
/// operand before or after the repeated elements.
#[test]
fn repeated_neighbours_match_the_evaluator() {
    let mut r = SplitMix::new(13);
    for round in 0..40 {
        let dtype = [DType::F32, DType::U8, DType::F64][r.below(3)];
        // Small tensors are computed in one task, large tensors in several tasks.
        let most = if round < 30 { 6 } else { 40 };
        let [a, b, c] = [0; 3].map(|_| 1 + r.below(most));
        let [m, n] = [0; 2].map(|_| 1 + r.below(4));
        let ty = |dims: &[usize]| ty(dtype, dims);
        let (x, y, z) = (ty(&[a, b, c]), ty(&[a * m, b * n, 3]), ty(&[a * m, b * n, c]));
        let order = [["%3", "%y"], ["%y", "%3"]][r.below(2)];
        let types = order.map(|v| if v == "%y" { &y } else { &z });
        let all = ty(&[a * m, b * n, c + 3]);
        let program = format!(
            "func.func @main(%x: {x}, %y: {y}) -> {all} {{
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2, 3] : ({x}) -> {r0}
  %1 = stablehlo.reshape %0 : ({r0}) -> {r1}
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 3] : ({r1}) -> {r2}
  %3 = stablehlo.reshape %2 : ({r2}) -> {z}
  %4 = stablehlo.concatenate {}, {}, dim = 2 : ({}, {}) -> {all}
  return %4 : {all}
}}",
            order[0],
            order[1],
            types[0],
            types[1],
            r0 = ty(&[a, m, b, c]),
            r1 = ty(&[a * m, b, c]),
            r2 = ty(&[a * m, b, n, c]),
        );
        let inputs = [r.tensor(dtype, &[a, b, c], false), r.tensor(dtype, &[a * m, b * n, 3], false)];
        let kernel = if m * n == 1 { "concatenate" } else { "fusion" };
        check(&program, &inputs, kernel, true, Denormals::Ieee);
    }
}
