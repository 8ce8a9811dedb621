//! Calls of ops: inferred types, and messages for calls that do not match the signature.

use expect_test::{Expect, expect};
use farcall_sig::DType;
use farcall_sig::attr::{AttrValue, AttrValues, ScalarType};
use farcall_sig::signature::{Arity, CallPart, GivenType, MismatchKind, NumberKind, OperandType, Signature};

const RMS_NORM: &str = "(x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f64";
const RMS_NORM_GRAD: &str =
    "(x: T[*, n], scale: T[n], dy: T[*, n]) -> (dx: T[*, n], dscale: T[n]) where T: f32 | f64; *: sum";
const TOP_K: &str =
    "(x: T[*, n], k: i64) -> (values: T[*, k], indices: s32[*, k]) where T: f32 | s32; 0 <= k; k <= n";
const QR: &str = "(x: T[*, m, n] column_major) -> (q: T[*, m, min(m, n)] column_major, r: T[*, min(m, n), n]) where T: f32 | c64";
const CONV: &str = "(x: T[*, c, n], w: T[o, c, k], stride: i64 = 1, pad: i64 = 0) -> (y: T[*, o, (n+2*pad-k)/stride+1]) where T: f32; c: sum; o: map";
const CONCAT: &str = "(xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map";

/// Parses a tensor type such as `f32[2,3]`.
fn tensor(text: &str) -> (DType, Vec<i64>) {
    let (dtype, dims) = text.strip_suffix(']').unwrap().split_once('[').unwrap();
    let dims = dims.split(',').filter(|d| !d.trim().is_empty()).map(|d| d.trim().parse().unwrap());
    (dtype.trim().parse::<DType>().unwrap(), dims.collect())
}

/// Formats the types of a call on one line, `f32[2,3] f32[3] -> f32[2,3]`; returns the message if the call
/// does not fit.
#[track_caller]
fn call(signature: &str, operands: &str, attrs: &[(&str, AttrValue)]) -> String {
    let signature = signature.parse::<Signature>().unwrap();
    let operands: Vec<_> = operands.split_whitespace().map(tensor).collect();
    let types: Vec<_> = operands.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect();
    let attrs: AttrValues = attrs.iter().cloned().collect();
    match signature.infer(&types, &attrs) {
        Err(mismatch) => mismatch.in_op("op"),
        Ok(inference) => {
            let result = |r: &farcall_sig::signature::ResultType| {
                let alias = r.aliases.map(|a| format!(" = operand {a}")).unwrap_or_default();
                format!("{}: {}{:?}{alias}", signature.results()[r.decl].name, r.dtype, r.dims)
            };
            inference.results.iter().map(result).collect::<Vec<_>>().join(", ")
        }
    }
}

#[track_caller]
fn check(signature: &str, operands: &str, attrs: &[(&str, AttrValue)], expected: Expect) {
    expected.assert_eq(&call(signature, operands, attrs));
}

fn i64(value: i64) -> AttrValue {
    AttrValue::i64(value)
}

#[test]
fn results() {
    check(RMS_NORM, "f32[4,5,128] f32[128]", &[], expect!["y: f32[4, 5, 128]"]);
    check(RMS_NORM, "f64[128] f64[128]", &[("eps", AttrValue::f32(1e-3))], expect!["y: f64[128]"]);
    check(
        RMS_NORM_GRAD,
        "f32[4,5,128] f32[128] f32[4,5,128]",
        &[],
        expect!["dx: f32[4, 5, 128], dscale: f32[128]"],
    );
    check(TOP_K, "f32[3,10]", &[("k", i64(4))], expect!["values: f32[3, 4], indices: s32[3, 4]"]);
    check(QR, "c64[7,5,3]", &[], expect!["q: c64[7, 5, 3], r: c64[7, 3, 3]"]);
    check(QR, "f32[3,5]", &[], expect!["q: f32[3, 3], r: f32[3, 5]"]);
    check(CONV, "f32[2,3,10] f32[8,3,4]", &[("stride", i64(2)), ("pad", i64(1))], expect!["y: f32[2, 8, 5]"]);
    check(CONCAT, "s8[2,3,4] s8[2,0,4] s8[2,5,4]", &[], expect!["y: s8[2, 8, 4]"]);
    check(
        "(x: T[*, n]) -> (y: complex(T)[*, n/2+1]) where T: f32 | f64",
        "f64[9]",
        &[],
        expect!["y: c128[5]"],
    );
    check(
        "(x: complex(T)[*, n], to: i64) -> (y: T[*, to]) where T: f32 | f64",
        "c128[9]",
        &[("to", i64(16))],
        expect!["y: f64[16]"],
    );
    check("(x: T[*, n]) -> (s: acc(T)[*]) where T: any", "bf16[2,9]", &[], expect!["s: f32[2]"]);
    check(
        "(base: T[n, d], at: s32[k], rows: T[k, d]) -> (out: T[n, d] aliases base) where T: f32; d: map",
        "f32[9,4] s32[3] f32[3,4]",
        &[],
        expect!["out: f32[9, 4] = operand 0"],
    );
    check(r#"(x: T[*], label: str = "") -> () where T: any; side_effect"#, "pred[2,9]", &[], expect![[""]]);
    check(
        "(key: u32[*, 2], n: i64) -> (bits: u32[*, n])",
        "u32[5,2]",
        &[("n", i64(7))],
        expect!["bits: u32[5, 7]"],
    );
    check(
        "(x: f32[*, n], mask: pred[*, n]?) -> (y: f32[*, n], dmask: f32[*, n] if mask)",
        "f32[4]",
        &[],
        expect!["y: f32[4]"],
    );
    check(
        "(x: f32[*, n], mask: pred[*, n]?) -> (y: f32[*, n], dmask: f32[*, n] if mask)",
        "f32[4] pred[4]",
        &[],
        expect!["y: f32[4], dmask: f32[4]"],
    );
    check(
        "(a: f32[], xs: T[*, n...]...) -> (ys: T[*, n...]..., count: s32[*, len(xs)]) where T: any",
        "f32[] s8[2,3] s8[2,4]",
        &[],
        expect!["ys: s8[2, 3], ys: s8[2, 4], count: s32[2, 2]"],
    );
    check(
        "(a: f32[len(xs)], xs: T[*, n...]..., ds: T[*, n...]...) -> (ys: T[*, n...]..., s: T[*, sum(n)]) where T: any",
        "f32[2] s8[2,3] s8[2,4] s8[2,3] s8[2,4]",
        &[],
        expect!["ys: s8[2, 3], ys: s8[2, 4], s: s8[2, 7]"],
    );
    check(
        "(x: f32[m, n], t: f32[m*n+1], u: f32[ceil_div(m, n)], v: f32[m%n]) -> ()",
        "f32[7,2] f32[15] f32[4] f32[1]",
        &[],
        expect![[""]],
    );
    check("() -> (y: f32[3])", "", &[], expect!["y: f32[3]"]);
}

#[test]
fn operands_that_disagree() {
    check(RMS_NORM, "f32[4,128] f32[64]", &[], expect!["op: scale has n = 64 but x has n = 128"]);
    check(RMS_NORM, "f32[4,128]", &[], expect!["op: takes 2 operands (x, scale), but is given 1"]);
    check(
        RMS_NORM,
        "f32[4,128] f32[128] f32[128]",
        &[],
        expect!["op: takes 2 operands (x, scale), but is given 3"],
    );
    check(
        RMS_NORM,
        "f32[4,128] f32[1,128]",
        &[],
        expect!["op: scale has shape [1, 128], but [n] needs 1 dimension"],
    );
    check(
        RMS_NORM,
        "f32[] f32[1]",
        &[],
        expect!["op: x has shape [], but [*, n] needs at least 1 dimension"],
    );
    check(RMS_NORM, "f32[4,128] f64[128]", &[], expect!["op: scale is f64 but x is f32"]);
    check(RMS_NORM, "bf16[4,128] bf16[128]", &[], expect!["op: x must be f32 or f64, but is bf16"]);
    check(
        RMS_NORM,
        "f32[-1,128] f32[128]",
        &[],
        expect!["op: x has shape [-1, 128], with a negative dimension"],
    );
    check(
        RMS_NORM_GRAD,
        "f32[4,128] f32[128] f32[5,128]",
        &[],
        expect!["op: dy has batch dimensions [5] but x has [4]"],
    );
    check(
        RMS_NORM_GRAD,
        "f32[4,128] f32[128] f32[128]",
        &[],
        expect!["op: dy has batch dimensions [] but x has [4]"],
    );
    check(CONCAT, "s8[2,3,4] s8[2,0,5]", &[], expect!["op: xs[1] has d = 5 but xs[0] has d = 4"]);
    check(CONCAT, "s8[2,3,4] s16[2,3,4]", &[], expect!["op: xs[1] is s16 but xs[0] is s8"]);
    check(CONCAT, "", &[], expect!["op: T is not known without at least one of xs"]);
    check("(x: T[n]) -> () where T: any", "", &[], expect!["op: takes 1 operand (x), but is given 0"]);
    check(
        "(x: f32[n], m: f32[n]?) -> ()",
        "",
        &[],
        expect!["op: takes 1 to 2 operands (x, m?), but is given 0"],
    );
    check("() -> ()", "f32[]", &[], expect!["op: takes no operands, but is given 1"]);
    const LISTS: &str = "(a: f32[], xs: T[n...]..., ds: T[n...]...) -> () where T: any";
    check(
        LISTS,
        "f32[] s8[2] s8[2] s8[2]",
        &[],
        expect!["op: takes 1 operand and 2 lists of equal length (a, xs..., ds...), but is given 4"],
    );
    check(LISTS, "f32[] s8[2] s8[3] s8[2] s8[4]", &[], expect!["op: ds[1] has n = 4 but xs[1] has n = 3"]);
    check(
        "(xs: f32[n..., n...]...) -> ()",
        "f32[2,3]",
        &[],
        expect!["op: xs[0] has n twice, which cannot be both 2 and 3"],
    );
    check(LISTS, "f32[] s8[2] s16[2]", &[], expect!["op: ds[0] is s16 but xs[0] is s8"]);
    check(
        "(x: f32[n], xs: f32[n]...) -> ()",
        "",
        &[],
        expect!["op: takes at least 1 operand (x, xs...), but is given 0"],
    );
    check(
        "(x: f32[3, n, n]) -> ()",
        "f32[4,1,1]",
        &[],
        expect!["op: x has shape [4, 1, 1], but its dimension 0 of [3, n, n] must be 3"],
    );
    check(
        "(x: f32[3, n, n]) -> ()",
        "f32[3,1,2]",
        &[],
        expect!["op: x has shape [3, 1, 2], but [3, n, n] has n twice, which cannot be both 1 and 2"],
    );
    check(
        "(x: f32[n], y: f32[2*n+1]) -> ()",
        "f32[4] f32[8]",
        &[],
        expect!["op: y has shape [8], but [2*n+1] needs 2*n+1 = 9, not 8 (n = 4)"],
    );
    check(
        "(x: f32[k], k: i64) -> ()",
        "f32[4]",
        &[("k", i64(5))],
        expect!["op: x has k = 4 but attribute k is 5"],
    );
    check("(x: s32[n]) -> ()", "f32[4]", &[], expect!["op: x must be s32, but is f32"]);
    check(
        "(x: complex(T)[n], y: T[n]) -> () where T: f32 | f64",
        "c64[4] f64[4]",
        &[],
        expect!["op: y must be T = f32, since x is c64, but is f64"],
    );
    check(
        "(y: T[n], x: complex(T)[n]) -> () where T: f32 | f64",
        "f64[4] c64[4]",
        &[],
        expect!["op: x must be complex(T) = c128, since y is f64, but is c64"],
    );
    check("(x: real(T)[n], y: T[n]) -> () where T: f32 | c64 | f64", "f32[4] c64[4]", &[], expect![[""]]);
    check(
        "(x: real(T)[n], y: T[n]) -> () where T: f32 | c64 | f64",
        "f32[4] f64[4]",
        &[],
        expect!["op: x must be real(T) = f64, since y is f64, but is f32"],
    );
    check(
        "(x: real(T)[n], y: T[n]) -> () where T: f32 | c64 | f64",
        "s32[4] f64[4]",
        &[],
        expect!["op: x must be real(T) where T is f32 or c64 or f64, but is s32"],
    );
}

#[test]
fn attributes_and_sizes() {
    check(
        RMS_NORM,
        "f32[1] f32[1]",
        &[("esp", AttrValue::f32(1.0))],
        expect!["op: there is no attribute esp; did you mean eps?"],
    );
    check(
        RMS_NORM,
        "f32[1] f32[1]",
        &[("scale", AttrValue::f32(1.0))],
        expect!["op: there is no attribute scale; it is an operand"],
    );
    check(
        RMS_NORM,
        "f32[1] f32[1]",
        &[("eps", AttrValue::Float(1.0, ScalarType::F64))],
        expect!["op: attribute eps must be f32, but is f64"],
    );
    check(
        RMS_NORM,
        "f32[1] f32[1]",
        &[("whatever", i64(1))],
        expect!["op: there is no attribute whatever; there is eps"],
    );
    check("() -> ()", "", &[("k", i64(1))], expect!["op: there is no attribute k; there are none"]);
    check(TOP_K, "f32[3,10]", &[], expect!["op: attribute k is missing; it must be i64"]);
    check(TOP_K, "f32[3,10]", &[("k", i64(11))], expect!["op: k <= n does not hold (k = 11, n = 10)"]);
    check(TOP_K, "f32[3,10]", &[("k", i64(-1))], expect!["op: 0 <= k does not hold (k = -1)"]);
    check(
        TOP_K,
        "f32[3,10]",
        &[("k", AttrValue::Int(1, ScalarType::I32))],
        expect!["op: attribute k must be i64, but is 1 (i32)"],
    );
    check(
        TOP_K,
        "f32[3,10]",
        &[("k", AttrValue::Int(1 << 80, ScalarType::I64))],
        expect!["op: attribute k must be i64, but is 1208925819614629174706176, which is out of range"],
    );
    check(
        r#"(side: "left" | "right") -> ()"#,
        "",
        &[("side", AttrValue::Str("up".into()))],
        expect![[r#"op: attribute side must be "left" or "right", but is "up""#]],
    );
    check(
        "(p: [i64]) -> ()",
        "",
        &[("p", [0.5f32].into())],
        expect!["op: attribute p must be [i64], but is [0.5] ([f32])"],
    );
    check(
        CONV,
        "f32[3,3] f32[8,3,9]",
        &[],
        expect!["op: y would have the size (n+2*pad-k)/stride+1 = -5 (n = 3, pad = 0, k = 9, stride = 1)"],
    );
    check(
        CONV,
        "f32[3,3] f32[8,3,2]",
        &[("stride", i64(0))],
        expect!["op: (n+2*pad-k)/stride+1 divides by zero (n = 3, pad = 0, k = 2, stride = 0)"],
    );
    check(
        "(x: f32[n], k: u64) -> (y: f32[n*k])",
        "f32[3]",
        &[("k", AttrValue::Int(1 << 62, ScalarType::U64))],
        expect!["op: n*k is too large (n = 3, k = 4611686018427387904)"],
    );
    check(
        "(x: f32[n], k: u64) -> (y: f32[n*k])",
        "f32[3]",
        &[("k", AttrValue::Int(u64::MAX.into(), ScalarType::U64))],
        expect!["op: n*k is too large (n = 3, k = 18446744073709551615)"],
    );
    check(
        "(xs: f32[n...]...) -> (y: f32[max(n)])",
        "",
        &[],
        expect!["op: max(n) is not known without at least one of xs"],
    );
}

#[test]
fn a_mismatch_says_where_and_of_what_kind() {
    let signature = RMS_NORM.parse::<Signature>().unwrap();
    let x = OperandType { dtype: DType::F32, dims: &[2, 3] };
    let scale = OperandType { dtype: DType::F32, dims: &[4] };
    let mismatch = signature.infer(&[x, scale], &AttrValues::new()).unwrap_err();
    assert_eq!((mismatch.kind, &mismatch.place), (MismatchKind::Shape, &CallPart::Operand(1)));
    assert_eq!(mismatch.in_op("rms_norm"), "rms_norm: scale has n = 4 but x has n = 3");
}

#[test]
fn what_names_stand_for_is_told() {
    let signature = QR.parse::<Signature>().unwrap();
    let x = OperandType { dtype: DType::C64, dims: &[6, 2, 3] };
    let inference = signature.infer(&[x], &AttrValues::new()).unwrap();
    assert_eq!(inference.batch, [6]);
    assert_eq!((inference.dims["m"], inference.dims["n"], inference.types["T"]), (2, 3, DType::C64));
    assert_eq!(inference.operand_layouts, [[1, 2, 0]]);
    assert_eq!(inference.results[0].minor_to_major, [1, 2, 0]);
    assert_eq!(inference.results[1].minor_to_major, [2, 1, 0]);
    let general = "(x: f32[*, a, b, c] layout(2, 0, 1)) -> ()".parse::<Signature>().unwrap();
    assert_eq!(general.operands()[0].layout.minor_to_major(4), [2, 1, 3, 0]);
    assert_eq!(general.operands()[0].arity, Arity::Required);
}

#[test]
fn attributes_of_python_are_brought_to_their_types() {
    let signature =
        r#"(eps: f32 = 1e-6, k: i32, p: [f32] = [1], m: "a" | "b"?) -> ()"#.parse::<Signature>().unwrap();
    let given: AttrValues = [("k", i64(3)), ("eps", i64(1))].into_iter().collect();
    let attrs = signature.convert_attrs(&given).unwrap();
    let shown: Vec<String> = attrs.iter().map(|(n, v)| format!("{n}: {} = {v}", v.type_name())).collect();
    assert_eq!(shown, ["eps: f32 = 1.0", "k: i32 = 3", "p: [f32] = [1.0]"]);
    let wrong: AttrValues = [("k", AttrValue::Float(0.5, ScalarType::F64))].into_iter().collect();
    assert_eq!(signature.convert_attrs(&wrong).unwrap_err().message, "attribute k must be i32, but is f64");
}

#[test]
fn shape_functions() {
    let with = |signature: &str, operands: &str, shapes: Result<Vec<Vec<i64>>, String>| {
        let signature = signature.parse::<Signature>().unwrap();
        let operands: Vec<_> = operands.split_whitespace().map(tensor).collect();
        let types: Vec<_> =
            operands.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect();
        match signature.infer_with(&types, &AttrValues::new(), |_, names| {
            assert!(!names.is_empty());
            shapes
        }) {
            Ok(inference) => {
                let result = |r: &farcall_sig::signature::ResultType| {
                    format!("{}{:?}{:?}", r.dtype, r.dims, r.minor_to_major)
                };
                inference.results.iter().map(result).collect::<Vec<_>>().join(", ")
            }
            Err(mismatch) => mismatch.message,
        }
    };
    const FLAT: &str = "(x: T[..], scale: T[n]) -> (y: T[..], z: T[n]) where T: f32";
    const VARIADIC: &str = "(xs: f32[..]...) -> (ys: f32[..]..., s: f32[])";
    let lines = [
        with(FLAT, "f32[2,3] f32[4]", Ok(vec![vec![6]])),
        with(FLAT, "f32[] f32[4]", Ok(vec![vec![]])),
        with(FLAT, "f32[2,3] f32[4]", Ok(vec![])),
        with(FLAT, "f32[2,3] f32[4]", Ok(vec![vec![-1]])),
        with(FLAT, "f32[2,3] f32[4]", Ok(vec![vec![1; 65]])),
        with(FLAT, "f32[2,3] f32[4]", Err("x has two dimensions".into())),
        with(FLAT, "f32[2,3] f64[4]", Err("not asked".into())),
        with(VARIADIC, "f32[2,3] f32[4]", Ok(vec![vec![1], vec![2, 2]])),
        with(VARIADIC, "f32[2,3] f32[4]", Ok(vec![vec![1]])),
        with("(x: f32[..]) -> (y: f32[..] aliases x)", "f32[2,3]", Err("not asked".into())),
        with("(x: f32[..]) -> (n: s32[])", "f32[2,-3]", Err("not asked".into())),
    ];
    expect![[r#"
        f32[6][0], f32[4][0]
        f32[][], f32[4][0]
        the shape function returns 0 shapes, but the call has 1 (y)
        the shape function returns y the shape [-1], with a negative dimension
        the shape function returns y 65 dimensions; the maximum is 64
        x has two dimensions
        scale is f64 but x is f32
        f32[1][0], f32[2, 2][1, 0], f32[][]
        the shape function returns 1 shape, but the call has 2 (ys[0], ys[1])
        f32[2, 3][1, 0]
        x has shape [2, -3], with a negative dimension"#]]
    .assert_eq(&lines.join("\n"));
    check(
        FLAT,
        "f32[2] f32[2]",
        &[],
        expect!["op: the shape of y is given by a shape function, which is missing"],
    );
}

/// Returns the choices of types for a call's operands. `given` has types such as `f32` and kinds of numbers
/// such as `int`.
#[track_caller]
fn numbers(signature: &str, given: &str, wide: bool, expected: &str) {
    let given: Vec<GivenType> = given
        .split_whitespace()
        .map(|word| match word.parse::<NumberKind>() {
            Ok(kind) => GivenType::Number(kind),
            Err(_) => GivenType::Typed(word.parse::<DType>().unwrap()),
        })
        .collect();
    let found = match signature.parse::<Signature>().unwrap().number_types(&given, wide) {
        Err(mismatch) => mismatch.in_op("op"),
        Ok(groups) => {
            let types = |types: &Vec<DType>| types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(" ");
            let group = |g: &farcall_sig::signature::NumberTypes| {
                let choices: Vec<String> = g.choices.iter().map(types).collect();
                format!("{:?}: {}", g.operands, choices.join(", "))
            };
            groups.iter().map(group).collect::<Vec<_>>().join("; ")
        }
    };
    assert_eq!(found, expected);
}

#[test]
fn numbers_take_the_type_that_jax_prefers() {
    let floats = "(x: T[*]) -> (y: T[*]) where T: bf16 | f16 | f64 | f32";
    numbers(floats, "int", false, "[0]: f32, f64, bf16, f16");
    numbers(floats, "float", true, "[0]: f64, f32, bf16, f16");
    numbers(floats, "none", false, "[0]: f32, f64, bf16, f16");
    numbers(floats, "complex", false, "op: x must be bf16 or f16 or f64 or f32, but is complex");
    numbers(floats, "index", false, "op: x must be bf16 or f16 or f64 or f32, but is s64");
    let any = "(x: T[*], y: T[*], k: U[]) -> (z: T[*]) where T: f32 | s8 | s32 | pred; U: u8 | s64 | s32";
    numbers(any, "none int int", false, "[0, 1]: s32 s32, s8 s8, f32 f32; [2]: s32, s64, u8");
    numbers(any, "bool int int", false, "op: x must be f32 or s8 or s32 or pred, but is a boolean");
    numbers(any, "int float index", false, "[0, 1]: f32 f32; [2]: s64, s32, u8");
    numbers(any, "none bool int", true, "[0, 1]: pred pred; [2]: s64, s32, u8");
    numbers(any, "s8 int u8", false, "[1]: s8");
    numbers(any, "float s8 u8", false, "op: x must be s8, but is a float");
    numbers(any, "f32 int float", false, "op: k must be u8 or s64 or s32, but is a float");
    let polar = "(r: T[*], z: complex(T)[*], xs: T[*]...) -> (y: T[*]) where T: f64 | f32";
    numbers(polar, "int c128 float float", false, "[0, 2, 3]: f64 f64 f64");
    numbers(polar, "int complex", false, "[0, 1]: f32 c64, f64 c128");
    numbers(polar, "f32 c64 float complex", false, "op: xs[1] must be f32, but is complex");
    numbers("() -> (y: f32[])", "int", false, "");
}
