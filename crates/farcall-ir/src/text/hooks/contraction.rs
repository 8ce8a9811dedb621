//! Hooks for dimension numbers, precisions and windows of products and convolutions.

use crate::attr::{AttrDict, Attribute, DialectAttr};
use crate::diag::Span;
use crate::op::{Derived, Op, Precision};
use crate::text::parser::{Parsed, Parser, span};
use crate::text::printer::Printer;
use crate::text::syntax::{Draft, Hook, NotPretty, View};

// --- dot_general

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm =
/// <…>`; all but `contracting_dims` are optional.
pub(in crate::text) static DOT_DIMS: Hook =
    Hook { parse: parse_dot_dims, print: print_dot_dims, tight: false };

fn parse_dot_dims(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let at = p.peek();
    let mut params: Vec<(&str, Vec<i64>)> = Vec::new();
    let mut pair = |p: &mut Parser<'_>, lhs, rhs| {
        params.push((lhs, p.integers()?));
        p.expect_word("x")?;
        params.push((rhs, p.integers()?));
        Ok(())
    };
    if p.at_word("batching_dims") {
        p.literal("batching_dims =")?;
        pair(p, "lhs_batching_dimensions", "rhs_batching_dimensions")?;
        p.expect(b',')?;
    }
    p.literal("contracting_dims =")?;
    pair(p, "lhs_contracting_dimensions", "rhs_contracting_dimensions")?;
    let text: Vec<String> = params.iter().map(|(k, v)| format!("{k} = {v:?}")).collect();
    let dict: AttrDict = params
        .into_iter()
        .map(|(k, v)| (k.to_owned(), Attribute::Array(v.into_iter().map(Attribute::i64).collect())))
        .collect();
    let dims = DialectAttr { name: "stablehlo.dot".to_owned(), text: text.join(", "), params: dict };
    p.insert(&mut draft.attrs, "dot_dimension_numbers".to_owned(), Attribute::Dialect(dims.into()), span(at));
    while p.at_literal(", precision") || p.at_literal(", algorithm") {
        p.expect(b',')?;
        let word = p.bump();
        p.expect(b'=')?;
        let (key, value) = if p.str_of(word) == "precision" {
            ("precision_config", p.precisions()?)
        } else if p.at(b'<') {
            ("algorithm", p.algorithm()?)
        } else {
            ("algorithm", p.attr()?)
        };
        p.insert(&mut draft.attrs, key.to_owned(), value, span(word));
    }
    Ok(())
}

fn print_dot_dims<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let Op::DotGeneral(dot) = view.inst.op() else { return Err(NotPretty) };
    for key in ["dot_dimension_numbers", "precision_config", "algorithm"] {
        view.attrs.remove(key);
    }
    if !dot.lhs_batch.is_empty() || !dot.rhs_batch.is_empty() {
        p.put(format_args!("batching_dims = {:?} x {:?}, ", dot.lhs_batch, dot.rhs_batch));
    }
    p.put(format_args!("contracting_dims = {:?} x {:?}", dot.lhs_contract, dot.rhs_contract));
    put_precision(p, &dot.precision);
    match &dot.algorithm {
        None => {}
        Some(Attribute::Dialect(d)) if d.name == "stablehlo.dot_algorithm" => {
            p.put(format_args!(", algorithm = <{}>", d.text));
        }
        Some(other) => p.put(format_args!(", algorithm = {other}")),
    }
    Ok(())
}

// --- dot

/// `, precision = [HIGH, DEFAULT]`; optional.
pub(in crate::text) static PRECISION: Hook =
    Hook { parse: parse_precision, print: print_precision, tight: false };

fn parse_precision(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if !p.at_literal(", precision") {
        return Ok(());
    }
    p.expect(b',')?;
    let word = p.bump();
    p.expect(b'=')?;
    let items = p.precisions()?;
    p.insert(&mut draft.attrs, "precision_config".to_owned(), items, span(word));
    Ok(())
}

fn print_precision<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let Op::Derived(Derived::Dot { precision }) = view.inst.op() else { return Err(NotPretty) };
    view.attrs.remove("precision_config");
    put_precision(p, precision);
    Ok(())
}

fn put_precision(p: &mut Printer<'_>, precision: &[Precision]) {
    if !precision.is_empty() {
        let names: Vec<&str> = precision.iter().map(|p| p.name()).collect();
        p.put(format_args!(", precision = [{}]", names.join(", ")));
    }
}

// --- convolution

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`
pub(in crate::text) static CONVOLUTION_DIMS: Hook =
    Hook { parse: parse_convolution_dims, print: print_convolution_dims, tight: false };

fn parse_convolution_dims(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let start = p.peek();
    for separator in ["x", "->", ""] {
        p.expect(b'[')?;
        p.list_until(b']', |p| {
            p.bump();
            Ok(())
        })?;
        p.literal(separator)?;
    }
    let end = p.pos();
    let value = Attribute::dialect("stablehlo.conv", p.slice(start.start, end));
    p.insert(&mut draft.attrs, "dimension_numbers".to_owned(), value, Span::new(start.start, end));
    Ok(())
}

fn print_convolution_dims<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    match view.take("dimension_numbers")? {
        Attribute::Dialect(d) if d.text.starts_with('[') => {
            p.out.push_str(&d.text);
            Ok(())
        }
        _ => Err(NotPretty),
    }
}

/// `stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false,
/// false]`; all optional.
pub(in crate::text) static WINDOW: Hook = Hook { parse: parse_window, print: print_window, tight: false };

fn parse_window(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    while !p.at(b'}') {
        let word = p.word("stride, pad, lhs_dilate, rhs_dilate or reverse")?;
        p.expect(b'=')?;
        let (key, value) = match p.str_of(word) {
            "stride" => ("window_strides", Attribute::i64_array(&p.integers()?)),
            "lhs_dilate" => ("lhs_dilation", Attribute::i64_array(&p.integers()?)),
            "rhs_dilate" => ("rhs_dilation", Attribute::i64_array(&p.integers()?)),
            // `[true, false]`; older programs have numbers.
            "reverse" => {
                let bits = p.attr()?;
                let bools = bits
                    .as_bool_list()
                    .or_else(|| bits.as_i64_list().map(|l| l.into_iter().map(|v| v != 0).collect()));
                let Some(bools) = bools else {
                    return p.fail("parse", span(word), "`reverse` must be a list of booleans");
                };
                ("window_reversal", Attribute::Array(bools.into_iter().map(Attribute::Bool).collect()))
            }
            "pad" => ("padding", p.attr()?),
            _ => {
                let message = "expected stride, pad, lhs_dilate, rhs_dilate or reverse";
                return p.fail("parse", span(word), message);
            }
        };
        p.insert(&mut draft.attrs, key.to_owned(), value, span(word));
        if !p.eat(b',') {
            return Ok(());
        }
    }
    Ok(())
}

fn print_window<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let mut parts = Vec::new();
    for (key, name) in [
        ("window_strides", "stride"),
        ("padding", "pad"),
        ("lhs_dilation", "lhs_dilate"),
        ("rhs_dilation", "rhs_dilate"),
        ("window_reversal", "reverse"),
    ] {
        let Some(attr) = view.attrs.remove(key) else { continue };
        let text = match (key, attr.as_bool_list(), attr.as_i64_list()) {
            ("window_reversal", Some(bools), _) => format!("{bools:?}"),
            ("padding", _, Some(flat)) => {
                let rows: Vec<String> = flat.chunks(2).map(|p| format!("{p:?}")).collect();
                format!("[{}]", rows.join(", "))
            }
            (_, _, Some(ints)) => format!("{ints:?}"),
            _ => return Err(NotPretty),
        };
        parts.push(format!("{name} = {text}"));
    }
    p.out.push_str(&parts.join(", "));
    Ok(())
}

impl Parser<'_> {
    /// Parses `[HIGH, DEFAULT]`.
    fn precisions(&mut self) -> Parsed<Attribute> {
        let mut items = Vec::new();
        self.expect(b'[')?;
        self.list_until(b']', |p| {
            let word = p.word("DEFAULT, HIGH or HIGHEST")?;
            items.push(Attribute::dialect("stablehlo.precision", p.str_of(word)));
            Ok(())
        })?;
        Ok(Attribute::Array(items))
    }

    /// Parses the `<…>` of a dot algorithm.
    fn algorithm(&mut self) -> Parsed<Attribute> {
        let text = self.balanced()?;
        match format!("#stablehlo.dot_algorithm<{text}>").parse::<Attribute>() {
            Ok(attr) => Ok(attr),
            Err(_) => Ok(Attribute::dialect("stablehlo.dot_algorithm", text)),
        }
    }
}
