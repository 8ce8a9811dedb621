//! Human-readable text of tensors: small ones in full, large ones by their corners and a summary.

use std::fmt::Write;

use farcall::ir::literal::Literal;
use farcall::ir::scalar::Scalar;
use farcall::ir::types::{TensorType, Type};
use farcall::ir::{Source, Span};
use farcall::plan::TensorSlice;
use farcall::sig::{DType, DTypeClass};

/// Maximum number of elements of a tensor that is printed in full.
const MAX_FULL_ELEMENTS: usize = 200;
/// Number of entries shown at either end of a dimension of a larger tensor.
const EDGE_ENTRIES: usize = 3;
/// Maximum length of a line, in characters.
const MAX_LINE_CHARS: usize = 100;

/// Formats a tensor type for messages: `f32[4,?]`.
pub(crate) fn short_type(ty: &TensorType) -> String {
    let dims: Vec<String> = ty.dims().map(|dim| dim.to_string()).collect();
    let quantized = if ty.quant.is_some() { "quantized " } else { "" };
    format!("{quantized}{}[{}]", ty.dtype, dims.join(","))
}

/// Formats the types of several buffers: `f32[2,3], s32[4]`.
pub(crate) fn short_types(slices: &[TensorSlice]) -> String {
    slices.iter().map(|slice| short_type(&slice.ty)).collect::<Vec<_>>().join(", ")
}

/// Truncates text to `width` characters.
pub(crate) fn shortened(text: String, width: usize) -> String {
    if text.chars().count() <= width {
        return text;
    }
    let mut short: String = text.chars().take(width - 1).collect();
    short.push('…');
    short
}

/// Formats the source location of a part of a program: its line and column, or `place` if the program has no
/// text.
pub(crate) fn place(source: &Source, span: Option<Span>, place: &str) -> String {
    match span.filter(|_| !source.is_none()) {
        Some(span) => {
            let (line, column) = source.line_column(span.start);
            format!("{line}:{column}")
        }
        None if place.is_empty() => "–".to_owned(),
        None => place.to_owned(),
    }
}

/// Formats any type for messages.
pub(crate) fn short(ty: &Type) -> String {
    match ty {
        Type::Tensor(t) => short_type(t),
        Type::Token => "token".to_owned(),
        Type::Tuple(parts) | Type::Future(parts) => {
            let parts: Vec<String> = parts.iter().map(short).collect();
            format!("({})", parts.join(", "))
        }
        Type::Scalar(_) | Type::Function(_) | Type::Opaque(_) => ty.to_string(),
    }
}

/// Formats the elements in nested brackets, as deep as the rank.
pub(crate) fn values(literal: &Literal) -> String {
    let dims = literal.dims();
    if literal.is_empty() {
        return format!("{}{}", "[".repeat(dims.len()), "]".repeat(dims.len()));
    }
    let edge = if literal.len() > MAX_FULL_ELEMENTS { EDGE_ENTRIES } else { usize::MAX / 2 };
    let mut shown = Vec::new();
    visit(dims, edge, &mut |i| shown.push(element(literal.dtype(), literal.get(i))));
    let width = shown.iter().map(|s| s.chars().count()).max().unwrap_or(0);
    let mut layout = Layout { dims, edge, width, shown: shown.iter(), out: String::new() };
    layout.nest(0);
    layout.out
}

/// Returns the summary of a large tensor, which is shown in addition to its corners; `None` for a small
/// tensor.
pub(crate) fn summary(literal: &Literal) -> Option<String> {
    if literal.len() <= MAX_FULL_ELEMENTS {
        return None;
    }
    let n = literal.len();
    let text = match literal.dtype().class() {
        DTypeClass::Bool => format!("{} of {n} true", literal.iter().filter(|s| s.as_bool()).count()),
        DTypeClass::Signed | DTypeClass::Unsigned => {
            let signed = literal.dtype().is_signed_integer();
            let wide = |s: Scalar| if signed { i128::from(s.as_i64()) } else { i128::from(s.as_u64()) };
            let (mut min, mut max, mut sum) = (i128::MAX, i128::MIN, 0i128);
            for x in literal.iter().map(wide) {
                (min, max, sum) = (min.min(x), max.max(x), sum + x);
            }
            format!("min {min}, max {max}, mean {}", number(sum as f64 / n as f64, 6))
        }
        DTypeClass::Float => {
            let digits = digits(literal.dtype());
            let (mut min, mut max, mut sum, mut nan) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0usize);
            for x in literal.iter().map(Scalar::as_f64) {
                if x.is_nan() {
                    nan += 1;
                } else {
                    (min, max, sum) = (min.min(x), max.max(x), sum + x);
                }
            }
            if nan == n {
                return Some("all NaN".to_owned());
            }
            let mean = sum / (n - nan) as f64;
            let (min, max, mean) = (number(min, digits), number(max, digits), number(mean, digits.min(6)));
            let nan = if nan > 0 { format!(", {nan} NaN") } else { String::new() };
            format!("min {min}, max {max}, mean {mean}{nan}")
        }
        DTypeClass::Complex => {
            let norms = || literal.iter().map(|s| s.as_complex().norm());
            let nan = norms().filter(|x| x.is_nan()).count();
            let max = norms().fold(0.0, f64::max);
            let nan = if nan > 0 { format!(", {nan} NaN") } else { String::new() };
            format!("largest magnitude {}{nan}", number(max, digits(literal.dtype())))
        }
    };
    Some(text)
}

/// Formats one element: `1.5`, `-3`, `true`, `1.0-2.0i`.
pub(crate) fn element(dtype: DType, value: Scalar) -> String {
    match value {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Signed(x) => x.to_string(),
        Scalar::Unsigned(x) => x.to_string(),
        Scalar::Float(x) => number(x, digits(dtype)),
        Scalar::Complex(z) => {
            let digits = digits(dtype.real());
            let im = number(z.im, digits);
            let plus = if im.starts_with('-') { "" } else { "+" };
            format!("{}{plus}{im}i", number(z.re, digits))
        }
    }
}

/// Number of decimal digits worth showing.
fn digits(dtype: DType) -> usize {
    match dtype.real() {
        DType::F64 => 10,
        DType::F32 => 7,
        DType::F16 => 5,
        DType::BF16 => 4,
        _ => 6,
    }
}

/// Formats a number with `digits` significant digits, without trailing zeros.
fn number(x: f64, digits: usize) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0.0" } else { "0.0" }.to_owned();
    }
    let scientific = format!("{x:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..=digits as i32).contains(&exponent) {
        let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
        trimmed(&format!("{x:.decimals$}"))
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

/// Removes trailing zeros after the decimal point. At least one digit follows the point in the result: `1.0`.
fn trimmed(text: &str) -> String {
    if !text.contains('.') {
        return format!("{text}.0");
    }
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

/// Returns the indices of a dimension that are shown, and true if some in the middle are left out.
fn shown(size: usize, edge: usize) -> (impl Iterator<Item = usize>, bool) {
    let cut = size > edge.saturating_mul(2) + 1;
    let (head, tail) = if cut { (edge, size - edge) } else { (size, size) };
    ((0..head).chain(tail..size), cut)
}

/// Calls `f` for the row-major position of every element that is shown, in order.
fn visit(dims: &[usize], edge: usize, f: &mut impl FnMut(usize)) {
    fn inner(dims: &[usize], edge: usize, at: usize, f: &mut dyn FnMut(usize)) {
        match dims {
            [] => f(at),
            [size, rest @ ..] => {
                for i in shown(*size, edge).0 {
                    inner(rest, edge, at * size + i, f);
                }
            }
        }
    }
    inner(dims, edge, 0, f);
}

struct Layout<'a, I> {
    dims: &'a [usize],
    edge: usize,
    width: usize,
    shown: I,
    out: String,
}

impl<'a, I: Iterator<Item = &'a String>> Layout<'a, I> {
    fn nest(&mut self, depth: usize) {
        let Some(size) = self.dims.get(depth) else {
            self.element();
            return;
        };
        self.out.push('[');
        let innermost = depth + 1 == self.dims.len();
        let indent = depth + 1;
        let (indices, cut) = shown(*size, self.edge);
        let mut column = indent;
        for (n, _) in indices.enumerate() {
            let dots = cut && n == self.edge;
            if innermost {
                let next = self.width + if dots { 5 } else { 0 };
                if n > 0 {
                    self.out.push(',');
                    if column + next + 2 > MAX_LINE_CHARS {
                        self.new_line(indent);
                        column = indent;
                    } else {
                        self.out.push(' ');
                        column += 2;
                    }
                }
                if dots {
                    self.out.push_str("…, ");
                    column += 3;
                }
                column += self.width;
                self.element();
            } else {
                if n > 0 {
                    self.out.push(',');
                    self.new_line(indent);
                }
                if dots {
                    self.out.push('…');
                    self.new_line(indent);
                }
                self.nest(depth + 1);
            }
        }
        self.out.push(']');
    }

    fn element(&mut self) {
        if let Some(text) = self.shown.next() {
            let width = if self.dims.is_empty() { 0 } else { self.width };
            let _ = write!(self.out, "{text:>width$}");
        }
    }

    fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use num_complex::Complex;

    #[test]
    fn small_tensors_are_shown_in_full() {
        let l = Literal::from_slice(DType::F32, [2, 3], &[1f32, -2.5, 0.1, 1e-7, f32::NAN, 12345678.0]);
        expect![[r#"
            [[       1.0,       -2.5,        0.1],
             [    1.0e-7,        NaN, 12345678.0]]"#]]
        .assert_eq(&values(&l));
        let z = Literal::scalar(DType::C64, Scalar::Complex(Complex::new(1.0, -2.0)));
        assert_eq!(values(&z), "1.0-2.0i");
        assert_eq!(values(&Literal::zeros(DType::F32, [0, 3])), "[[]]");
        assert_eq!(summary(&l), None);
    }

    #[test]
    fn large_tensors_are_summarized() {
        let l = Literal::from_fn(DType::S32, [30, 40], |i| Scalar::Signed(i as i64));
        expect![[r#"
            [[   0,    1,    2, …,   37,   38,   39],
             [  40,   41,   42, …,   77,   78,   79],
             [  80,   81,   82, …,  117,  118,  119],
             …
             [1080, 1081, 1082, …, 1117, 1118, 1119],
             [1120, 1121, 1122, …, 1157, 1158, 1159],
             [1160, 1161, 1162, …, 1197, 1198, 1199]]"#]]
        .assert_eq(&values(&l));
        expect!["min 0, max 1199, mean 599.5"].assert_eq(&summary(&l).unwrap());
        let l = Literal::from_fn(DType::F32, [300], |i| {
            if i == 7 { Scalar::Float(f64::NAN) } else { Scalar::Float(i as f64 / 4.0) }
        });
        expect!["[  0.0,  0.25,   0.5, …, 74.25,  74.5, 74.75]"].assert_eq(&values(&l));
        expect!["min 0.0, max 74.75, mean 37.4941, 1 NaN"].assert_eq(&summary(&l).unwrap());
    }

    #[test]
    fn long_rows_are_broken() {
        let l = Literal::from_fn(DType::S32, [2, 40], |i| Scalar::Signed(i as i64));
        expect![[r#"
            [[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
              25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39],
             [40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64,
              65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79]]"#]].assert_eq(&values(&l));
    }

    #[test]
    fn numbers_are_as_long_as_needed() {
        assert_eq!(number(0.1f32.into(), 7), "0.1");
        assert_eq!(number(1e10, 7), "1.0e10");
        assert_eq!(number(-0.0, 7), "-0.0");
        assert_eq!(number(99999.996, 7), "100000.0");
        assert_eq!(number(1234567.0, 7), "1234567.0");
    }
}
