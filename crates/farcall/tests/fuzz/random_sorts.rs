//! The engine's sorts and its `top_k` give the same bits as the evaluator: sorts with every comparator that
//! has a kernel, even if NaNs make it inconsistent, and `top_k` for every type that has a kernel, with
//! arbitrary bits.

use farcall::ir::eval::Denormals;
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::SplitMix;
use farcall_testing::engine::Both;

const TYPES: [(&str, DType, &str); 4] = [
    ("f32", DType::F32, "0x7FC00000"),
    ("f64", DType::F64, "0x7FF8000000000000"),
    ("bf16", DType::BF16, "0x7FC0"),
    ("f16", DType::F16, "0x7E00"),
];

/// Returns a zero, subnormal number, infinity or repeated small number, or, if `nans` is set, a NaN of
/// either sign.
fn float(random: &mut SplitMix, nans: bool) -> f64 {
    match random.below(12) {
        0 => 0.0,
        1 => -0.0,
        2 if nans => f64::NAN,
        3 if nans => -f64::NAN,
        4 => f64::INFINITY,
        5 => -f64::INFINITY,
        6 => 1e-40,
        7 => -1e-310,
        8 => -1e-40,
        _ => random.below(9) as f64 - 4.0,
    }
}

/// Returns an instruction that defines `%to` as a comparison of two values: of `s32` if `kind` is `SIGNED`,
/// and of type `TY` otherwise.
fn compare(to: &str, direction: &str, [x, y]: [&str; 2], kind: &str) -> String {
    let ty = if kind == "SIGNED" { "tensor<i32>" } else { "tensor<TY>" };
    format!("%{to} = stablehlo.compare {direction}, %{x}, %{y}, {kind} : ({ty}, {ty}) -> tensor<i1>\n")
}

/// Returns instructions that define `%jax_x`: `%x`, but with one zero for both zeros and one NaN for all
/// NaNs, as JAX prepares floats for a sort.
fn prepared(x: &str) -> String {
    let zero = format!("%zero_{x} = stablehlo.constant dense<0.0> : tensor<TY>\n");
    let nan = format!("%nan_{x} = stablehlo.constant dense<NAN> : tensor<TY>\n");
    let is_zero = compare(&format!("z_{x}"), "EQ", [x, &format!("zero_{x}")], "FLOAT");
    let is_nan = compare(&format!("n_{x}"), "NE", [x, x], "FLOAT");
    format!(
        "{zero}{nan}{is_zero}{is_nan}%s_{x} = stablehlo.select %z_{x}, %zero_{x}, %{x} : tensor<i1>, tensor<TY>
%jax_{x} = stablehlo.select %n_{x}, %nan_{x}, %s_{x} : tensor<i1>, tensor<TY>\n"
    )
}

/// Returns the instructions of a comparator. They compute `%r` from the floats `%a` and `%b` and from `%c`
/// and `%d`, which are `s32`.
fn comparator(r: &mut SplitMix) -> String {
    let direction = ["LT", "GT"][r.below(2)];
    let float = ["FLOAT", "TOTALORDER"][r.below(2)];
    let both = |first: [&str; 2], kind: &str, then: String| {
        let (less, same) = (compare("less", direction, first, kind), compare("same", "EQ", first, kind));
        let rest =
            "%and = stablehlo.and %same, %then : tensor<i1>\n%r = stablehlo.or %less, %and : tensor<i1>\n";
        format!("{less}{same}{then}{rest}")
    };
    match r.below(4) {
        0 => compare("r", direction, [["a", "b"], ["b", "a"]][r.below(2)], float),
        1 => prepared("a") + &prepared("b") + &compare("r", direction, ["jax_a", "jax_b"], "TOTALORDER"),
        2 => both(["c", "d"], "SIGNED", compare("then", "LT", ["a", "b"], float)),
        _ => both(["a", "b"], float, compare("then", "GT", ["c", "d"], "SIGNED")),
    }
}

#[test]
fn sorts_match_the_evaluator() {
    let mut r = SplitMix::new(1);
    for round in 0..400 {
        let dims = [1 + r.below(70), 1 + r.below(4)];
        let (comparator, dim) = (comparator(&mut r), r.below(2));
        check_sort(&mut r, round, &comparator, dims, dim);
    }
}

/// Checks a sort by a comparator of floats and `s32`. A kernel must serve the sort. If the comparator uses
/// only the floats, the sort may have no other operand. Sometimes, only the first or last elements of each
/// line are results.
fn check_sort(r: &mut SplitMix, round: usize, comparator: &str, dims: [usize; 2], dim: usize) {
    let (name, dtype, nan) = TYPES[r.below(4)];
    let alone = !comparator.contains("%c") && r.below(2) == 0;
    let mut types = format!("tensor<{0}x{1}xTY>, tensor<{0}x{1}xi32>", dims[0], dims[1]);
    let (x, y) = types.split_once(", ").map(|(x, y)| (x.to_owned(), y.to_owned())).unwrap();
    let (mut results, mut args, mut operands) =
        ("%s#0, %s#1", ", %c: tensor<i32>, %d: tensor<i32>", "%x, %y");
    if alone {
        (types, results, args, operands) = (x.clone(), "%s#0", "", "%x");
    }
    // An iota has no memory if it counts along the line and the comparator does not use it.
    let mut counted = String::new();
    if !alone && r.below(2) == 0 {
        counted = format!("%q = stablehlo.iota dim = {} : {y}\n", r.below(2));
        operands = "%x, %q";
    }
    let (mut taken, mut result_types, mut thunk) = (String::new(), types.clone(), "sort");
    let few = dims[dim] / 8;
    if few > 0 && r.below(2) == 0 {
        let (mut from, mut to, mut sizes) = ([0; 2], dims, dims);
        sizes[dim] = 1 + r.below(few);
        if r.below(2) == 0 {
            from[dim] = dims[dim] - sizes[dim];
        } else {
            to[dim] = sizes[dim];
        }
        let [[x0, y0], [x1, y1], [n, m]] = [from, to, sizes];
        let of = |ty: &str| ty.replace(&format!("{}x{}x", dims[0], dims[1]), &format!("{n}x{m}x"));
        for (i, ty) in [&x, &y].into_iter().enumerate().take(2 - usize::from(alone)) {
            let to = of(ty);
            taken += &format!("%t{i} = stablehlo.slice %s#{i} [{x0}:{x1}, {y0}:{y1}] : ({ty}) -> {to}\n");
        }
        (result_types, thunk) = (of(&types), "sort_part");
        results = if alone { "%t0" } else { "%t0, %t1" };
    }
    let program = format!(
        "func.func @main(%x: {x}, %y: {y}) -> ({result_types}) {{
{counted}%s:{count} = \"stablehlo.sort\"({operands}) ({{
^bb0(%a: tensor<TY>, %b: tensor<TY>{args}):
{comparator}stablehlo.return %r : tensor<i1>
}}) {{dimension = {dim} : i64, is_stable = true}} : ({types}) -> ({types})
{taken}return {results} : {result_types} }}",
        count = 2 - usize::from(alone)
    );
    let program = program.replace("TY", name).replace("NAN", nan);
    let nans = r.below(2) == 0;
    let inputs = [
        Literal::from_fn(dtype, dims, |_| Scalar::Float(float(r, nans))),
        Literal::from_fn(DType::S32, dims, |_| Scalar::Signed(r.below(5) as i64 - 2)),
    ];
    let denormals = [Denormals::Ieee, Denormals::Flush][round % 2];
    let both = Both::run(&program, &inputs, denormals, Pipeline::default());
    assert_eq!(both.thunks(thunk), 1, "{program}{}", both.executable.plan());
    for (found, wanted) in both.results() {
        assert_eq!(found.bytes(), wanted.bytes(), "round {round}, {denormals:?}: {program}\n{inputs:?}");
    }
}

/// Unusual spellings of comparators. They compare `%a` with `%b`, `%c` with `%d`, or both pairs.
const SPELLINGS: [&str; 6] = [
    // Not (d <= c), which is c < d, since `s32` has no NaNs.
    "%0 = stablehlo.compare LE, %d, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
%r = stablehlo.not %0 : tensor<i1>\n",
    // a != b and a <= b.
    "%0 = stablehlo.compare NE, %a, %b, TOTALORDER : (tensor<TY>, tensor<TY>) -> tensor<i1>
%1 = stablehlo.compare LE, %a, %b, TOTALORDER : (tensor<TY>, tensor<TY>) -> tensor<i1>
%r = stablehlo.and %1, %0 : tensor<i1>\n",
    // By the first key (`%c` and `%d`) or, if the first keys are equal, by the second key.
    "%0 = stablehlo.compare EQ, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
%1 = stablehlo.compare LT, %a, %b : (tensor<TY>, tensor<TY>) -> tensor<i1>
%2 = stablehlo.compare GT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
%r = stablehlo.select %0, %1, %2 : tensor<i1>, tensor<i1>\n",
    // NaNs last and equal, zeros equal, without replacing NaNs or zeros.
    "%0 = stablehlo.compare NE, %a, %a : (tensor<TY>, tensor<TY>) -> tensor<i1>
%1 = stablehlo.compare EQ, %b, %b : (tensor<TY>, tensor<TY>) -> tensor<i1>
%2 = stablehlo.compare GE, %a, %b : (tensor<TY>, tensor<TY>) -> tensor<i1>
%3 = stablehlo.or %0, %2 : tensor<i1>
%4 = stablehlo.not %3 : tensor<i1>
%5 = stablehlo.not %1 : tensor<i1>
%6 = stablehlo.not %0 : tensor<i1>
%r = stablehlo.and %6, %4 : tensor<i1>\n",
    // c <= d, and (c < d or a > b): by the first key, then by the second key in descending order.
    "%0 = stablehlo.compare LE, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
%1 = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
%2 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<TY>, tensor<TY>) -> tensor<i1>
%3 = stablehlo.or %1, %2 : tensor<i1>
%r = stablehlo.and %0, %3 : tensor<i1>\n",
    // The comparisons with a constant do not matter, since both are true only if c < d.
    "%k = stablehlo.constant dense<3> : tensor<i32>
%0 = stablehlo.compare LT, %c, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
%1 = stablehlo.compare GE, %d, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
%2 = stablehlo.and %0, %1 : tensor<i1>
%3 = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
%r = stablehlo.or %2, %3 : tensor<i1>\n",
];

#[test]
fn comparators_are_recognized_by_their_meaning() {
    let mut r = SplitMix::new(3);
    for (round, spelling) in SPELLINGS.iter().cycle().take(60).enumerate() {
        check_sort(&mut r, round, spelling, [1 + round * 37 % 300, 2], 0);
    }
}

#[test]
fn long_lines_are_sorted_like_short_ones() {
    let mut r = SplitMix::new(4);
    for (round, length) in [159, 160, 161, 1000, 3000].into_iter().cycle().take(30).enumerate() {
        let comparator = comparator(&mut r);
        check_sort(&mut r, round, &comparator, [length, 1], 0);
    }
    check_sort(
        &mut r,
        0,
        &(prepared("a") + &prepared("b") + &compare("r", "GT", ["jax_a", "jax_b"], "TOTALORDER")),
        [17_000, 1],
        0,
    );
}

#[test]
fn a_line_that_is_sorted_in_tasks_keeps_the_order_of_equals() {
    const LENGTH: usize = 70_001;
    let mut r = SplitMix::new(5);
    for (round, direction) in ["LT", "GT", "LT", "GT"].into_iter().enumerate() {
        let comparator =
            prepared("a") + &prepared("b") + &compare("r", direction, ["jax_a", "jax_b"], "TOTALORDER");
        let (x, y) = (format!("tensor<{LENGTH}xf32>"), format!("tensor<{LENGTH}xi32>"));
        let program = format!(
            "func.func @main(%x: {x}, %y: {y}) -> ({x}, {y}, {x}, {y}) {{
%q = stablehlo.iota dim = 0 : {y}
%s:2 = \"stablehlo.sort\"(%x, %q) ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
{comparator}stablehlo.return %r : tensor<i1>
}}) {{dimension = 0 : i64, is_stable = true}} : ({x}, {y}) -> ({x}, {y})
%t:2 = \"stablehlo.sort\"(%x, %y) ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
{comparator}stablehlo.return %r : tensor<i1>
}}) {{dimension = 0 : i64, is_stable = true}} : ({x}, {y}) -> ({x}, {y})
return %s#0, %s#1, %t#0, %t#1 : {x}, {y}, {x}, {y} }}"
        )
        .replace("TY", "f32")
        .replace("NAN", "0x7FC00000");
        // Two rounds sort few different numbers, some of which are equal but have different bits. The other
        // two rounds sort many different numbers.
        let numbers: Vec<f32> = (0..LENGTH)
            .map(|_| match round {
                0 | 1 => float(&mut r, true) as f32,
                _ => r.below(1 << 30) as f32 - 5e8,
            })
            .collect();
        let mut order: Vec<usize> = (0..LENGTH).collect();
        // Zeros are equal; NaNs are equal, too, and greater than other numbers.
        let rank = |i: usize| (numbers[i].is_nan(), if numbers[i].is_nan() { 0.0 } else { numbers[i] });
        order.sort_by(|i, j| {
            let (i, j) = if direction == "LT" { (i, j) } else { (j, i) };
            rank(*i).partial_cmp(&rank(*j)).unwrap()
        });
        let with = |i: usize| (i % 1000) as i64;
        let inputs = [
            Literal::from_fn(DType::F32, [LENGTH], |i| Scalar::Float(numbers[i].into())),
            Literal::from_fn(DType::S32, [LENGTH], |i| Scalar::Signed(with(i))),
        ];
        let module = text::parse(&Source::new("sort", &program)).unwrap();
        let executable = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap();
        let found = executable.run(&inputs).unwrap();
        let sorted = |i: usize| Scalar::Float(numbers[order[i]].into());
        let wanted = [
            Literal::from_fn(DType::F32, [LENGTH], sorted),
            Literal::from_fn(DType::S32, [LENGTH], |i| Scalar::Signed(order[i] as i64)),
            Literal::from_fn(DType::F32, [LENGTH], sorted),
            Literal::from_fn(DType::S32, [LENGTH], |i| Scalar::Signed(with(order[i]))),
        ];
        for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert!(found.bytes() == wanted.bytes(), "round {round}: result {i} differs");
        }
    }
}

/// Comparators, each with the kernel that serves it. `%a` and `%b` are `s32`, `%c` and `%d` are `f32`, and
/// `%m` is a captured number.
const COMPUTED: [(&str, &str); 6] = [
    (
        "%0 = stablehlo.remainder %a, %m : tensor<i32>
%1 = stablehlo.remainder %b, %m : tensor<i32>
%r = stablehlo.compare GT, %0, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n",
        "sort",
    ),
    (
        "%0 = stablehlo.bitcast_convert %c : (tensor<f32>) -> tensor<ui32>
%1 = stablehlo.bitcast_convert %d : (tensor<f32>) -> tensor<ui32>
%2 = stablehlo.compare LT, %0, %1 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
%3 = stablehlo.compare EQ, %0, %1 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
%4 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
%5 = stablehlo.and %3, %4 : tensor<i1>
%r = stablehlo.or %2, %5 : tensor<i1>\n",
        "sort",
    ),
    // No value depends on one side alone.
    (
        "%0 = stablehlo.subtract %a, %b : tensor<i32>
%1 = stablehlo.multiply %0, %m : tensor<i32>
%2 = stablehlo.constant dense<0> : tensor<i32>
%r = stablehlo.compare LT, %1, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n",
        "sort_by_region",
    ),
    // The comparator is not a consistent order.
    (
        "%0 = stablehlo.xor %a, %b : tensor<i32>
%r = stablehlo.compare LT, %0, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n",
        "sort_by_region",
    ),
    // A different function of each side.
    (
        "%0 = stablehlo.abs %c : tensor<f32>
%r = stablehlo.compare LT, %0, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>\n",
        "sort_by_region",
    ),
    (
        "%0 = stablehlo.constant dense<0> : tensor<i32>
%1 = stablehlo.compare LT, %m, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
%r = \"stablehlo.if\"(%1) ({
%2 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
stablehlo.return %2 : tensor<i1>
}, {
%2 = stablehlo.compare GT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
stablehlo.return %2 : tensor<i1>
}) : (tensor<i1>) -> tensor<i1>\n",
        "sort_by_region",
    ),
];

#[test]
fn comparators_that_compute_sort_as_in_the_evaluator() {
    let mut r = SplitMix::new(6);
    for (round, (comparator, kernel)) in COMPUTED.into_iter().cycle().take(41).enumerate() {
        // The long lines of the last rounds are sorted by repeated merges.
        let dims = if round < 36 { [1 + r.below(300), 1 + r.below(3)] } else { [33_000 + round, 1] };
        let [x, y] = ["i32", "f32"].map(|ty| format!("tensor<{}x{}x{ty}>", dims[0], dims[1]));
        let program = format!(
            "func.func @main(%x: {x}, %y: {y}, %m: tensor<i32>) -> ({x}, {y}) {{
%s:2 = \"stablehlo.sort\"(%x, %y) ({{
^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
{comparator}stablehlo.return %r : tensor<i1>
}}) {{dimension = 0 : i64, is_stable = true}} : ({x}, {y}) -> ({x}, {y})
return %s#0, %s#1 : {x}, {y} }}"
        );
        let inputs = [
            Literal::from_fn(DType::S32, dims, |_| Scalar::Signed(r.below(1000) as i64 - 500)),
            Literal::from_fn(DType::F32, dims, |_| Scalar::Float(float(&mut r, true))),
            Literal::scalar(DType::S32, Scalar::Signed(r.below(41) as i64 - 20)),
        ];
        let both = Both::run(&program, &inputs, Denormals::Ieee, Pipeline::default());
        assert_eq!(both.thunks(kernel), 1, "{program}{}", both.executable.plan());
        for (found, wanted) in both.results() {
            assert!(found.bytes() == wanted.bytes(), "round {round}: {program}");
        }
    }
}

/// Checks `top_k` of an operand. The kernel must serve the operand's type.
fn check_top_k(x: &Literal, name: &str, k: usize, denormals: Denormals) {
    let [lines, length] = x.dims() else { panic!("the operand must be a matrix") };
    let results = format!("tensor<{lines}x{k}x{name}>, tensor<{lines}x{k}xi32>");
    let program = format!(
        "func.func @main(%x: tensor<{lines}x{length}x{name}>) -> ({results}) {{
%v, %i = chlo.top_k(%x, k = {k}) : tensor<{lines}x{length}x{name}> -> ({results})
return %v, %i : {results} }}"
    );
    let both = Both::run(&program, std::slice::from_ref(x), denormals, Pipeline::default());
    assert_eq!(both.thunks("top_k"), 1, "{}", both.executable.plan());
    for (found, wanted) in both.results() {
        assert!(
            found.bytes() == wanted.bytes(),
            "{name}, k = {k}, {denormals:?}: {x:?}\n{found:?}\n{wanted:?}"
        );
    }
}

#[test]
fn top_k_matches_the_evaluator() {
    const TYPES: [(&str, DType); 13] = [
        ("i1", DType::Pred),
        ("i8", DType::S8),
        ("i16", DType::S16),
        ("i32", DType::S32),
        ("i64", DType::S64),
        ("ui8", DType::U8),
        ("ui16", DType::U16),
        ("ui32", DType::U32),
        ("ui64", DType::U64),
        ("f16", DType::F16),
        ("bf16", DType::BF16),
        ("f32", DType::F32),
        ("f64", DType::F64),
    ];
    let mut r = SplitMix::new(2);
    for round in 0..390 {
        let (name, dtype) = TYPES[round % TYPES.len()];
        // Alternate between short lines, and long lines of which few elements are wanted.
        let (longest, most) = [(80, 80), (2000, 100)][round / TYPES.len() % 2];
        let dims = [1 + r.below(4), 1 + r.below(longest)];
        let count = dims[0] * dims[1];
        // Arbitrary bits; or few different elements, among them NaNs of either sign, quiet and signaling.
        let bytes: Vec<u8> = (0..count)
            .flat_map(|_| {
                let mut word = [(); 8].map(|()| r.below(256) as u8);
                let size = dtype.size();
                if r.below(2) == 0 {
                    word[..size - 1].fill([0, 0, 1, 0xff][r.below(4)]);
                    word[size - 1] = [0, 0x80, 0x7f, 0xff][r.below(4)];
                }
                if dtype == DType::Pred {
                    word[0] &= 1;
                }
                word.into_iter().take(size)
            })
            .collect();
        let x = Literal::from_bytes(dtype, dims, &bytes).unwrap();
        check_top_k(&x, name, 1 + r.below(dims[1].min(most)), [Denormals::Ieee, Denormals::Flush][round % 2]);
    }
}

#[test]
fn top_k_of_every_half() {
    for (name, dtype) in [("f16", DType::F16), ("bf16", DType::BF16)] {
        // Multiplication by an odd number permutes the 16-bit numbers.
        let bytes: Vec<u8> =
            (0..1u32 << 16).flat_map(|i| (i.wrapping_mul(40503) as u16).to_le_bytes()).collect();
        let x = Literal::from_bytes(dtype, [1, 1 << 16], &bytes).unwrap();
        for k in [1 << 16, 1000] {
            check_top_k(&x, name, k, Denormals::Ieee);
        }
    }
}
