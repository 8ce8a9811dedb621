//! Operations without a kernel, by element type and kind of region.
//!
//! Every operation is compiled for every element type that it is defined for, at a size at which its speed
//! matters. The plan shows if the reference evaluator has to run it. At a small size, the engine's values are
//! compared with the evaluator's. `kernels_by_type.txt` lists the cases without a kernel. The list only
//! shrinks: a case that is not on the list must have a kernel, and a case that has a kernel must not be on
//! the list. `FARCALL_BLESS=1` removes the cases that have a kernel now.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{self, Denormals, EvalValue, eval};
use farcall::ir::op::{Binary, Opcode, Traits, Unary};
use farcall::ir::verify::Verified;
use farcall::ir::{DType, Literal, Module, Scalar, Source, minifloat, text, verify};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::compare::Tolerance;

/// Rows and columns of the tensors in programs whose plans are searched for operations without a kernel.
const LARGE_SIZES: [usize; 2] = [100, 1000];
/// Rows and columns of the tensors in programs whose values are compared with the evaluator's.
const SMALL_SIZES: [usize; 2] = [10, 100];

/// Operations without cases here, with the reasons.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "structure and control, which have separate kinds of thunks",
        &[
            "stablehlo.constant",
            "stablehlo.if",
            "stablehlo.case",
            "stablehlo.while",
            "stablehlo.return",
            "stablehlo.tuple",
            "stablehlo.get_tuple_element",
            "stablehlo.after_all",
            "stablehlo.create_token",
            "stablehlo.optimization_barrier",
            "stablehlo.composite",
            "stablehlo.async_start",
            "stablehlo.async_done",
            "stablehlo.custom_call",
            "stablehlo.partition_id",
            "stablehlo.replica_id",
            "stablehlo.get_dimension_size",
            "stablehlo.reshape",
            "func.call",
            "func.return",
            "mhlo.copy",
        ],
    ),
    (
        "transfers and collectives",
        &["stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv"],
    ),
    ("quantized types", &["stablehlo.uniform_quantize", "stablehlo.uniform_dequantize"]),
];

/// A program, and its name in the list.
struct Case {
    name: String,
    program: String,
}

fn ty(dtype: DType, dims: &[usize]) -> String {
    let sizes: String = dims.iter().map(|n| format!("{n}x")).collect();
    format!("tensor<{sizes}{}>", dtype.mlir())
}

fn array(values: &[usize]) -> String {
    let all: Vec<String> = values.iter().map(usize::to_string).collect();
    format!("array<i64: {}>", all.join(", "))
}

/// Returns regions that combine two scalars `%a` and `%b` of type `t`, each with its name.
fn reducers(t: &str) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> =
        ["add", "multiply", "maximum", "minimum", "and", "or", "xor", "subtract"]
            .into_iter()
            .map(|op| (op, region(t, &format!("%r = stablehlo.{op} %a, %b : {t}"), "%r", t)))
            .collect();
    all.push(("second", region(t, "", "%b", t)));
    let squares = format!("%s = stablehlo.multiply %b, %b : {t}\n%r = stablehlo.add %a, %s : {t}");
    all.push(("squares", region(t, &squares, "%r", t)));
    all
}

/// Returns a region with two scalar arguments `%a` and `%b` of type `t`.
fn region(t: &str, body: &str, returned: &str, result: &str) -> String {
    format!("({{\n^bb0(%a: {t}, %b: {t}):\n{body}\nstablehlo.return {returned} : {result}\n}})")
}

/// Returns comparators of two scalars, each with its name.
fn comparators(dtype: DType) -> Vec<(&'static str, String)> {
    let t = ty(dtype, &[]);
    let real = ty(dtype.real(), &[]);
    let pred = ty(DType::Pred, &[]);
    let of = |keys: &str, key: &str, t: &str, direction: &str, kind: &str| {
        let body = format!("{keys}%r = stablehlo.compare {direction}, {key}{kind} : ({t}, {t}) -> {pred}");
        region(&ty(dtype, &[]), &body, "%r", &pred)
    };
    let keys = |op: &str| format!("%k = {op} %a : ({t}) -> {real}\n%l = {op} %b : ({t}) -> {real}\n");
    let mut all = vec![
        ("less", of("", "%a, %b", &t, "LT", "")),
        ("greater", of("", "%a, %b", &t, "GT", "")),
        ("less_abs", of(&keys("stablehlo.abs"), "%k, %l", &real, "LT", "")),
    ];
    if dtype.is_float() {
        all.push(("less_total", of("", "%a, %b", &t, "LT", ", TOTALORDER")));
    }
    if dtype.is_complex() {
        all.push(("less_real", of(&keys("stablehlo.real"), "%k, %l", &real, "LT", "")));
    }
    all
}

/// Returns all cases, for tensors of these sizes.
fn cases([rows, columns]: [usize; 2]) -> Vec<Case> {
    let mut all = Cases { all: Vec::new(), rows, columns };
    for dtype in DType::VARIANTS {
        all.elementwise(dtype);
        all.conversions(dtype);
        all.moves(dtype);
        all.reductions(dtype);
        all.products(dtype);
        all.others(dtype);
    }
    all.all
}

struct Cases {
    all: Vec<Case>,
    rows: usize,
    columns: usize,
}

impl Cases {
    /// Adds a case: a program with one operation, and with operands and results of these types.
    fn add(&mut self, name: String, operands: &[String], results: &[String], op: &str) {
        let params: Vec<String> = operands.iter().enumerate().map(|(i, t)| format!("%x{i}: {t}")).collect();
        let values: Vec<String> = (0..results.len()).map(|i| format!("%r#{i}")).collect();
        let (values, made) = match results.len() {
            1 => ("%r".to_owned(), "%r".to_owned()),
            n => (values.join(", "), format!("%r:{n}")),
        };
        let results = results.join(", ");
        let program = format!(
            "func.func @main({}) -> ({results}) {{\n  {made} = {op}\n  return {values} : {results}\n}}",
            params.join(", ")
        );
        self.all.push(Case { name, program });
    }

    /// Adds a case of one operation in the generic form.
    fn generic(&mut self, name: String, operands: &[String], results: &[String], op: &str, attrs: &str) {
        let values: Vec<String> = (0..operands.len()).map(|i| format!("%x{i}")).collect();
        let text = format!(
            "\"{op}\"({}) {attrs} : ({}) -> ({})",
            values.join(", "),
            operands.join(", "),
            results.join(", ")
        );
        self.add(name, operands, results, &text);
    }

    fn x(&self, dtype: DType) -> String {
        ty(dtype, &[self.rows, self.columns])
    }

    fn elementwise(&mut self, dtype: DType) {
        let (x, pred) = (self.x(dtype), self.x(DType::Pred));
        let short = |name: &str| name.split_once('.').map_or(name, |(_, name)| name).to_owned();
        for op in Unary::VARIANTS {
            let Some(result) = op.info().result.dtype(dtype) else { continue };
            let result = self.x(result);
            let name = format!("{} {dtype}", short(op.name()));
            self.generic(name, std::slice::from_ref(&x), &[result], op.name(), "");
        }
        for op in Binary::VARIANTS {
            let Some(result) = op.info().result.dtype(dtype) else { continue };
            let result = self.x(result);
            let name = format!("{} {dtype}", short(op.name()));
            self.generic(name, &[x.clone(), x.clone()], &[result], op.name(), "");
        }
        for (kind, direction, order) in
            [("less", "LT", ""), ("equal", "EQ", ""), ("total", "GE", ", TOTALORDER")]
        {
            if kind == "total" && !dtype.is_float() {
                continue;
            }
            let op = format!("stablehlo.compare {direction}, %x0, %x1{order} : ({x}, {x}) -> {pred}");
            self.add(
                format!("compare {kind} {dtype}"),
                &[x.clone(), x.clone()],
                std::slice::from_ref(&pred),
                &op,
            );
        }
        let three = [x.clone(), x.clone(), x.clone()];
        self.generic(format!("clamp {dtype}"), &three, std::slice::from_ref(&x), "stablehlo.clamp", "");
        let three = [pred, x.clone(), x.clone()];
        self.generic(format!("select {dtype}"), &three, std::slice::from_ref(&x), "stablehlo.select", "");
        let attrs = "<{exponent_bits = 3 : i32, mantissa_bits = 1 : i32}>";
        let one = std::slice::from_ref(&x);
        self.generic(format!("reduce_precision {dtype}"), one, one, "stablehlo.reduce_precision", attrs);
    }

    fn conversions(&mut self, dtype: DType) {
        let x = [self.x(dtype)];
        for to in DType::VARIANTS {
            let y = [self.x(to)];
            self.generic(format!("convert {dtype} {to}"), &x, &y, "stablehlo.convert", "");
            let (from, bits) = (dtype.bits() as usize, to.bits() as usize);
            let dims = [self.rows, self.columns];
            let y = match from.cmp(&bits) {
                _ if from == bits => y,
                std::cmp::Ordering::Greater if from.is_multiple_of(bits) => {
                    [ty(to, &[dims.as_slice(), &[from / bits]].concat())]
                }
                std::cmp::Ordering::Less if bits.is_multiple_of(from) => {
                    let wide = [ty(dtype, &[dims.as_slice(), &[bits / from]].concat())];
                    self.generic(
                        format!("bitcast_convert {dtype} {to}"),
                        &wide,
                        &y,
                        "stablehlo.bitcast_convert",
                        "",
                    );
                    continue;
                }
                _ => continue,
            };
            self.generic(format!("bitcast_convert {dtype} {to}"), &x, &y, "stablehlo.bitcast_convert", "");
        }
    }

    fn moves(&mut self, dtype: DType) {
        let (r, c) = (self.rows, self.columns);
        let (x, t) = (self.x(dtype), ty(dtype, &[]));
        let one = std::slice::from_ref(&x);
        self.add(format!("iota {dtype}"), &[], one, &format!("stablehlo.iota dim = 1 : {x}"));
        let row = ty(dtype, &[c]);
        let op = format!("stablehlo.broadcast_in_dim %x0, dims = [1] : ({row}) -> {x}");
        self.add(format!("broadcast_in_dim {dtype}"), std::slice::from_ref(&row), one, &op);
        let turned = [ty(dtype, &[c, r])];
        let op = format!("stablehlo.transpose %x0, dims = [1, 0] : ({x}) -> {}", turned[0]);
        self.add(format!("transpose {dtype}"), one, &turned, &op);
        let part = [ty(dtype, &[r - 1, c / 2])];
        let op = format!("stablehlo.slice %x0 [1:{r}, 0:{c}:2] : ({x}) -> {}", part[0]);
        self.add(format!("slice {dtype}"), one, &part, &op);
        let joined = [ty(dtype, &[2 * r, c])];
        let op = format!("stablehlo.concatenate %x0, %x1, dim = 0 : ({x}, {x}) -> {}", joined[0]);
        self.add(format!("concatenate {dtype}"), &[x.clone(), x.clone()], &joined, &op);
        let padded = [ty(dtype, &[r + 1, 2 * c])];
        let op = format!(
            "stablehlo.pad %x0, %x1, low = [1, 0], high = [0, 1], interior = [0, 1] : ({x}, {t}) -> {}",
            padded[0]
        );
        self.add(format!("pad {dtype}"), &[x.clone(), t.clone()], &padded, &op);
        let op = format!("stablehlo.reverse %x0, dims = [0, 1] : {x}");
        self.add(format!("reverse {dtype}"), one, one, &op);
        for index in [dtype, DType::S32] {
            // Indices of each integer type with `f32` elements, and elements of each type with `s32` indices.
            if !index.is_integer() {
                continue;
            }
            let (name, of) =
                if index == dtype { (format!("by {index}"), DType::F32) } else { (dtype.to_string(), dtype) };
            self.indexed(&name, of, index);
        }
    }

    /// Adds operations that access elements of type `dtype` at indices of type `index`.
    fn indexed(&mut self, name: &str, dtype: DType, index: DType) {
        let (r, c) = (self.rows, self.columns);
        let (x, i) = (self.x(dtype), ty(index, &[]));
        let one = std::slice::from_ref(&x);
        let part = ty(dtype, &[r / 2, c / 2]);
        let op = format!(
            "stablehlo.dynamic_slice %x0, %x1, %x2, sizes = [{}, {}] : ({x}, {i}, {i}) -> {part}",
            r / 2,
            c / 2
        );
        let operands = [x.clone(), i.clone(), i.clone()];
        self.add(format!("dynamic_slice {name}"), &operands, std::slice::from_ref(&part), &op);
        let op =
            format!("stablehlo.dynamic_update_slice %x0, %x1, %x2, %x3 : ({x}, {part}, {i}, {i}) -> {x}");
        self.add(format!("dynamic_update_slice {name}"), &[x.clone(), part, i.clone(), i], one, &op);
        let indices = ty(index, &[r, 1]);
        let attrs = format!(
            "<{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = {}}}>",
            array(&[1, c])
        );
        self.generic(
            format!("gather {name}"),
            &[x.clone(), indices.clone()],
            one,
            "stablehlo.gather",
            &attrs,
        );
        for (kind, region) in reducers(&ty(dtype, &[])) {
            if name.starts_with("by") && kind != "add" {
                continue;
            }
            let op = format!(
                "\"stablehlo.scatter\"(%x0, %x1, %x2) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {region} : ({x}, {indices}, {x}) -> {x}"
            );
            let operands = [x.clone(), indices.clone(), x.clone()];
            self.add(format!("scatter {kind} {name}"), &operands, one, &op);
        }
    }

    fn reductions(&mut self, dtype: DType) {
        let (r, c) = (self.rows, self.columns);
        let (x, t) = (self.x(dtype), ty(dtype, &[]));
        let one = std::slice::from_ref(&x);
        for (kind, region) in reducers(&t) {
            let row = ty(dtype, &[r]);
            let op = format!(
                "\"stablehlo.reduce\"(%x0, %x1) <{{dimensions = {}}}> {region} : ({x}, {t}) -> {row}",
                array(&[1])
            );
            self.add(format!("reduce {kind} {dtype}"), &[x.clone(), t.clone()], &[row], &op);
            let small = ty(dtype, &[r - 1, c - 2]);
            let op = format!(
                "\"stablehlo.reduce_window\"(%x0, %x1) <{{window_dimensions = {}}}> {region} : ({x}, {t}) -> {small}",
                array(&[2, 3])
            );
            self.add(format!("reduce_window {kind} {dtype}"), &[x.clone(), t.clone()], &[small], &op);
            let op = format!(
                "\"stablehlo.map\"(%x0, %x1) <{{dimensions = {}}}> {region} : ({x}, {x}) -> {x}",
                array(&[0, 1])
            );
            self.add(format!("map {kind} {dtype}"), &[x.clone(), x.clone()], one, &op);
        }
        for (kind, region) in reducers(&t).into_iter().take(3) {
            let long = format!(
                "<{{window_dimensions = {}, padding = dense<[[0, 0], [{}, 0]]> : tensor<2x2xi64>}}>",
                array(&[1, c]),
                c - 1
            );
            let op = format!("\"stablehlo.reduce_window\"(%x0, %x1) {long} {region} : ({x}, {t}) -> {x}");
            self.add(format!("reduce_window cumulative {kind} {dtype}"), &[x.clone(), t.clone()], one, &op);
        }
        let pred = ty(DType::Pred, &[]);
        let keep =
            region(&t, &format!("%r = stablehlo.compare GE, %a, %b : ({t}, {t}) -> {pred}"), "%r", &pred);
        let halves = ty(dtype, &[r / 2, c / 2]);
        for (kind, scatter) in reducers(&t).into_iter().take(3) {
            let regions = format!("{}, {}", &keep[..keep.len() - 1], &scatter[1..]);
            let op = format!(
                "\"stablehlo.select_and_scatter\"(%x0, %x1, %x2) <{{window_dimensions = {w}, window_strides = {w}}}> {regions} : ({x}, {halves}, {t}) -> {x}",
                w = array(&[2, 2])
            );
            self.add(
                format!("select_and_scatter {kind} {dtype}"),
                &[x.clone(), halves.clone(), t.clone()],
                one,
                &op,
            );
        }
        for (kind, region) in comparators(dtype) {
            let op = format!(
                "\"stablehlo.sort\"(%x0) <{{dimension = 1 : i64, is_stable = true}}> {region} : ({x}) -> {x}"
            );
            self.add(format!("sort {kind} {dtype}"), one, one, &op);
            let both = region.replacen(
                &format!("%b: {t}"),
                &format!("%b: {t}, %c: tensor<i32>, %d: tensor<i32>"),
                1,
            );
            let places = self.x(DType::S32);
            let op = format!(
                "\"stablehlo.sort\"(%x0, %x1) <{{dimension = 1 : i64, is_stable = true}}> {both} : ({x}, {places}) -> ({x}, {places})"
            );
            let types = [x.clone(), places];
            self.add(format!("sort {kind} with s32 {dtype}"), &types, &types, &op);
        }
        let results = [ty(dtype, &[r, 3]), ty(DType::S32, &[r, 3])];
        let op = format!("chlo.top_k(%x0, k = 3) : {x} -> ({}, {})", results[0], results[1]);
        self.add(format!("top_k {dtype}"), one, &results, &op);
        let (row, place) = (ty(dtype, &[r]), ty(DType::S32, &[r]));
        let i = ty(DType::S32, &[]);
        let largest = format!(
            "({{\n^bb0(%a: {t}, %i: {i}, %b: {t}, %j: {i}):\n%p = stablehlo.compare GE, %a, %b : ({t}, {t}) -> {pred}\n%v = stablehlo.select %p, %a, %b : {pred}, {t}\n%k = stablehlo.select %p, %i, %j : {pred}, {i}\nstablehlo.return %v, %k : {t}, {i}\n}})"
        );
        let places = self.x(DType::S32);
        let op = format!(
            "\"stablehlo.reduce\"(%x0, %x1, %x2, %x3) <{{dimensions = {}}}> {largest} : ({x}, {places}, {t}, {i}) -> ({row}, {place})",
            array(&[1])
        );
        self.add(format!("reduce arg_max {dtype}"), &[x.clone(), places, t, i], &[row, place], &op);
    }

    fn products(&mut self, dtype: DType) {
        let (r, c) = (self.rows, self.columns);
        let (x, y) = (self.x(dtype), ty(dtype, &[c, r]));
        let mut results = vec![dtype];
        results.extend([DType::S32, DType::F32, DType::BF16].into_iter().filter(|to| *to != dtype));
        for to in results {
            let out = [ty(to, &[r, r])];
            let op = format!(
                "stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : ({x}, {y}) -> {}",
                out[0]
            );
            self.add(format!("dot_general {dtype} {dtype} {to}"), &[x.clone(), y.clone()], &out, &op);
        }
        for other in [DType::BF16, DType::F32, DType::S8].into_iter().filter(|other| *other != dtype) {
            let (x, out) = (self.x(other), [ty(other, &[r, r])]);
            let op = format!(
                "stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : ({x}, {y}) -> {}",
                out[0]
            );
            self.add(format!("dot_general {other} {dtype} {other}"), &[x, y.clone()], &out, &op);
        }
        let (image, kernel) = (ty(dtype, &[1, r, c / 4, 4]), ty(dtype, &[3, 3, 4, 2]));
        for (kind, dilation, height, width) in [("", 1, r - 2, c / 4 - 2), ("dilated ", 4, 4 * r - 5, c - 5)]
        {
            for to in [dtype, DType::S32, DType::F32] {
                let out = [ty(to, &[1, height, width, 2])];
                let op = format!(
                    "stablehlo.convolution(%x0, %x1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{lhs_dilate = [{dilation}, {dilation}]}} {{feature_group_count = 1 : i64, batch_group_count = 1 : i64}} : ({image}, {kernel}) -> {}",
                    out[0]
                );
                self.add(
                    format!("convolution {kind}{dtype} {to}"),
                    &[image.clone(), kernel.clone()],
                    &out,
                    &op,
                );
            }
        }
    }

    fn others(&mut self, dtype: DType) {
        let (r, c) = (self.rows, self.columns);
        let square = [ty(dtype, &[r * c / 100, 10, 10])];
        self.generic(format!("cholesky {dtype}"), &square, &square, "stablehlo.cholesky", "<{lower = true}>");
        let attrs = "<{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>";
        let both = [square[0].clone(), square[0].clone()];
        self.generic(
            format!("triangular_solve {dtype}"),
            &both,
            &square,
            "stablehlo.triangular_solve",
            attrs,
        );
        let x = [self.x(dtype)];
        let length = array(&[c]);
        let complex = if dtype == DType::F64 { DType::C128 } else { DType::C64 };
        for (kind, from, to) in [
            ("FFT", self.x(dtype), self.x(dtype)),
            ("IFFT", self.x(dtype), self.x(dtype)),
            ("RFFT", self.x(dtype), ty(complex, &[r, c / 2 + 1])),
            ("IRFFT", ty(dtype, &[r, c / 2 + 1]), self.x(dtype.real())),
        ] {
            let attrs = format!("<{{fft_type = #stablehlo<fft_type {kind}>, fft_length = {length}}}>");
            self.generic(format!("fft {kind} {dtype}"), &[from], &[to], "stablehlo.fft", &attrs);
        }
        let state = ty(DType::U64, &[2]);
        let attrs = "<{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}>";
        let results = [state.clone(), x[0].clone()];
        let name = format!("rng_bit_generator {dtype}");
        self.generic(name, &[state], &results, "stablehlo.rng_bit_generator", attrs);
    }
}

/// Returns the operands of a program: small numbers.
fn inputs(module: &Module) -> Vec<Literal> {
    let entry = module.entry().unwrap();
    let mut state = 1u32;
    let mut next = move |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % n
    };
    let number = move |dtype: DType| {
        let n = f64::from(next(13)) / 2.0 - 3.0;
        match Scalar::zero(dtype) {
            Scalar::Bool(_) => Scalar::Bool(n > 0.0),
            Scalar::Signed(_) => Scalar::Signed(n as i64),
            Scalar::Unsigned(_) => Scalar::Unsigned(n.abs() as u64),
            Scalar::Float(_) => Scalar::Float(n),
            Scalar::Complex(_) => {
                Scalar::Complex(num_complex::Complex::new(n, f64::from(next(13)) / 2.0 - 3.0))
            }
        }
    };
    let number = std::cell::RefCell::new(number);
    let types = entry.params().iter().map(|p| entry.tensor(*p).unwrap());
    types.map(|t| Literal::from_fn(t.dtype, t.sizes(), |_| (number.borrow_mut())(t.dtype))).collect()
}

/// Tolerance of a few units in the last place of a type.
fn tolerance(dtype: DType) -> Tolerance {
    let (relative, absolute) = match (dtype.real(), minifloat::Format::of(dtype)) {
        (_, Some(format)) => (2f64.powi(-(format.mantissa_bits as i32)), minifloat::decode(dtype, 1)),
        (DType::F8E8M0FNU, _) => (1.0, 0.0),
        (DType::BF16, _) => (2f64.powi(-6), 2f64.powi(-6)),
        (DType::F16, _) => (2f64.powi(-9), 2f64.powi(-9)),
        (DType::F32, _) => (1e-5, 1e-5),
        _ => (1e-12, 1e-12),
    };
    Tolerance { relative, absolute }
}

/// Compiles a program. Returns `None` if the operation is not defined for the types.
fn compile(case: &Case) -> Option<(Verified<'static>, Executable)> {
    let module = text::parse(&Source::new("case", &case.program)).ok()?;
    let module = verify::verify_owned(module).ok()?;
    let options = CompileOptions::new().denormals(Denormals::Ieee);
    let compiled = Executable::compile_verified(&module, &Registry::new(), &options);
    Some((module, compiled.unwrap_or_else(|e| panic!("{}: {e}\n{}", case.name, case.program))))
}

/// Calls a function for each case, on as many threads as there are processors. Returns the results, sorted.
fn each(cases: &[Case], f: impl Fn(&Case) -> Option<String> + Sync) -> BTreeSet<String> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = f(case);
                    all.lock().unwrap().extend(found);
                }
            });
        }
    });
    all.into_inner().unwrap()
}

#[test]
fn cases_without_a_kernel_are_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/kernels_by_type.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let without = each(&cases(LARGE_SIZES), |case| {
        let (_, executable) = compile(case)?;
        executable.stats().thunks.contains_key("reference").then(|| case.name.clone())
    });
    let new: Vec<&str> = without.difference(&listed).map(String::as_str).collect();
    let stale: Vec<&str> = listed.difference(&without).map(String::as_str).collect();
    if std::env::var_os("FARCALL_BLESS").is_some() {
        let kept: Vec<&str> = listed.intersection(&without).map(String::as_str).collect();
        std::fs::write(&path, kept.join("\n") + "\n").unwrap();
    } else {
        let hint = "FARCALL_BLESS=1 removes them from kernels_by_type.txt";
        assert!(
            stale.is_empty(),
            "{} listed cases have a kernel now; {hint}:\n{}",
            stale.len(),
            stale.join("\n")
        );
    }
    assert!(new.is_empty(), "{} cases that are not listed have no kernel:\n{}", new.len(), new.join("\n"));
}

#[test]
fn values_match_the_evaluator() {
    let wrong = each(&cases(SMALL_SIZES), |case| {
        let (module, executable) = compile(case)?;
        if executable.stats().thunks.contains_key("reference") {
            return None;
        }
        let inputs = inputs(&module);
        let found = executable.run(&inputs).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let values: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
        let registry = Registry::new();
        let host = RegistryHost::new(&registry, Denormals::Ieee);
        let wanted = eval(&module, module.entry().unwrap(), &values, &host, Denormals::Ieee)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        for (result, (found, wanted)) in found.iter().zip(eval::tensors(&wanted)).enumerate() {
            let differs =
                |i: &usize| !tolerance(wanted.dtype()).holds_for_scalars(found.get(*i), wanted.get(*i));
            if let Some(i) = (0..wanted.len()).find(differs) {
                let (found, wanted) = (found.get(i), wanted.get(i));
                return Some(format!(
                    "{}: result {result}, element {i}: {found:?}, not {wanted:?}",
                    case.name
                ));
            }
        }
        None
    });
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{} cases differ from the evaluator:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_operation_has_a_case() {
    let cases = cases(SMALL_SIZES);
    let elements = |op: &str| LEFT_OUT.iter().any(|(_, ops)| ops.contains(&op));
    let others = |op: &str| {
        let name = op.split_once('.').map_or(op, |(_, name)| name);
        // No cases are needed for operations on several devices, derived operations, and dynamic shapes.
        let several = ["all_", "collective_", "reduce_scatter", "ragged_all", "cross-replica", "broadcast_"];
        let derived = ["dynamic_", "real_dynamic", "set_dimension", "batch_norm", "einsum", "unary_einsum"];
        let defined = [
            "dot",
            "broadcast",
            "torch_index_select",
            "scan",
            "ragged_dot",
            "constant",
            "constant_like",
            "sin_cos",
        ];
        let dynamic = name != "dynamic_slice" && name != "dynamic_update_slice";
        several.iter().any(|p| name.starts_with(p) && name != "broadcast_in_dim")
            || derived.iter().any(|p| name.starts_with(p) && dynamic)
            || defined.contains(&name)
    };
    let missing: Vec<&str> = Opcode::all()
        .map(Opcode::info)
        .filter(|info| !info.is(Traits::FORM))
        .map(|info| info.name)
        .filter(|op| !elements(op) && !others(op))
        .filter(|op| !cases.iter().any(|case| case.program.contains(op)))
        .collect();
    assert!(missing.is_empty(), "no case tests the operations {missing:?}");
}
