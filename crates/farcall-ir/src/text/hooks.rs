//! Hooks: the syntax of pretty forms that lists of directives cannot express. Each hook is a pair of
//! functions, a parser and a printer.

use super::attr::sharding_attr;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, hinted, span};
use super::printer::Printer;
use super::region::Arg;
use super::scope::Operand;
use super::syntax::{Draft, Hook, NotPretty, Types, View};
use crate::attr::{Attr, AttrDict, IntKind};
use crate::attributes::reduction::segments;
use crate::diag::{Diagnostic, Span};
use crate::module::{Inst, NewInst, Region};
use crate::op::{Binary, Derived, Op, Precision};
use crate::reducer::{self, Reducer};
use crate::types::{TensorType, Type};
use farcall_sig::DType;
use farcall_sig::nearest::nearest;

// --- sharding

/// `<@mesh, [{"axis"}, {}]>`: attribute `#sdy.sharding<…>`.
pub(super) static SHARDING: Hook = Hook { parse: parse_sharding, print: print_sharding, tight: false };

fn parse_sharding(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let at = p.peek();
    let name = "sdy.sharding";
    let attr = match at.tok {
        Tok::Hash => p.attr()?,
        _ => {
            let body = p.balanced()?;
            sharding_attr(name, body).unwrap_or_else(|| Attr::dialect(name, body))
        }
    };
    p.insert(&mut draft.attrs, "sharding".to_owned(), attr, span(at));
    Ok(())
}

fn print_sharding<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    match view.take("sharding")? {
        Attr::Sharding(sharding) => {
            p.put(format_args!("<{sharding}>"));
            Ok(())
        }
        Attr::Dialect(d) if d.name == "sdy.sharding" && d.params.is_empty() => {
            p.put(format_args!("<{}>", d.text));
            Ok(())
        }
        _ => Err(NotPretty),
    }
}

// --- direction

/// `FORWARD`: attribute `allowed_direction = 1 : i32`.
pub(super) static DIRECTION: Hook = Hook { parse: parse_direction, print: print_direction, tight: false };

/// Directions of sharding propagation, by number.
const DIRECTIONS: [&str; 4] = ["NONE", "FORWARD", "BACKWARD", "BOTH"];

fn parse_direction(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let word = p.word("a direction")?;
    let Some((number, _)) = (0..).zip(DIRECTIONS).find(|(_, name)| *name == p.str_of(word)) else {
        return p.fail("parse", span(word), format!("expected one of {}", DIRECTIONS.join(", ")));
    };
    let attr = Attr::Int(number, IntKind::Typed(DType::S32));
    p.insert(&mut draft.attrs, "allowed_direction".to_owned(), attr, span(word));
    Ok(())
}

fn print_direction<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let Attr::Int(number, IntKind::Typed(DType::S32)) = view.take("allowed_direction")? else {
        return Err(NotPretty);
    };
    let name = usize::try_from(number).ok().and_then(|i| DIRECTIONS.get(i)).ok_or(NotPretty)?;
    p.put(format_args!("{name}"));
    Ok(())
}

// --- constant

/// `dense<…> : t`, `{a = 1 : i64} dense<…> : t`, or `() <{value = dense<…> : t}> : () -> t` if the result's
/// type differs from the type of the elements.
pub(super) static CONSTANT: Hook = Hook { parse: parse_constant, print: print_constant, tight: false };

fn parse_constant(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if p.at(b'(') {
        let generic = p.generic(draft.span)?;
        *draft = generic;
        return Ok(());
    }
    p.optional_dict(&mut draft.attrs)?;
    let at = p.peek();
    let value = match p.attr()? {
        Attr::DenseIndex(literal) => Attr::Dense(literal),
        value => value,
    };
    match value {
        value @ (Attr::Dense(_) | Attr::Elided(_)) => {
            draft.results.extend(constant_type(&value).map(Type::Tensor));
            p.insert(&mut draft.attrs, "value".to_owned(), value, span(at));
            Ok(())
        }
        _ => p.fail("parse", span(at), "a constant must be dense<…> of a tensor"),
    }
}

fn print_constant<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let value = view.take("value")?;
    let ty = constant_type(&value).ok_or(NotPretty)?;
    let [result] = view.inst.results() else { return Err(NotPretty) };
    if p.func[*result] != Type::Tensor(ty) {
        return Err(NotPretty);
    }
    if !view.attrs.is_empty() {
        p.out.pop();
        p.rest_dict(view);
        p.out.push(' ');
    }
    p.put(format_args!("{value}"));
    Ok(())
}

/// The tensor type of a constant attribute.
fn constant_type(value: &Attr) -> Option<TensorType> {
    match value {
        Attr::Dense(literal) => Some(literal.ty()),
        Attr::Elided(ty) => Some(ty.clone()),
        _ => None,
    }
}

// --- slice

/// `[0:4, 0:64:2]`
pub(super) static SLICE: Hook = Hook { parse: parse_slice, print: print_slice, tight: false };

fn parse_slice(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let at = p.expect(b'[')?;
    let (mut start, mut limit, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    p.list_until(b']', |p| {
        start.push(p.integer64()?);
        p.expect(b':')?;
        limit.push(p.integer64()?);
        strides.push(if p.eat(b':') { p.integer64()? } else { 1 });
        Ok(())
    })?;
    for (key, list) in [("start_indices", start), ("limit_indices", limit), ("strides", strides)] {
        p.insert(&mut draft.attrs, key.to_owned(), Attr::i64_array(&list), span(at));
    }
    Ok(())
}

fn print_slice<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let mut list = |key| view.take(key)?.as_i64_list().ok_or(NotPretty);
    let (start, limit, strides) = (list("start_indices")?, list("limit_indices")?, list("strides")?);
    if start.len() != limit.len() || start.len() != strides.len() {
        return Err(NotPretty);
    }
    p.out.push('[');
    for i in 0..start.len() {
        let comma = if i > 0 { ", " } else { "" };
        p.put(format_args!("{comma}{}:{}", start[i], limit[i]));
        if strides[i] != 1 {
            p.put(format_args!(":{}", strides[i]));
        }
    }
    p.out.push(']');
    Ok(())
}

// --- reduce_precision

/// `e5m10`
pub(super) static FLOAT_FORMAT: Hook =
    Hook { parse: parse_float_format, print: print_float_format, tight: false };

fn parse_float_format(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let t = p.word("a format such as `e5m10`")?;
    let bits = p.str_of(t).strip_prefix('e').and_then(|w| w.split_once('m'));
    let bits = bits.and_then(|(e, m)| Some((e.parse::<u32>().ok()?, m.parse::<u32>().ok()?)));
    let Some((exponent, mantissa)) = bits else {
        return p.fail("parse", span(t), "expected a format such as `e5m10`");
    };
    for (key, bits) in [("exponent_bits", exponent), ("mantissa_bits", mantissa)] {
        let value = Attr::Int(i128::from(bits), IntKind::Typed(DType::S32));
        p.insert(&mut draft.attrs, key.to_owned(), value, span(t));
    }
    Ok(())
}

fn print_float_format<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let mut bits = |key| view.take(key)?.as_i64().ok_or(NotPretty);
    let (exponent, mantissa) = (bits("exponent_bits")?, bits("mantissa_bits")?);
    p.put(format_args!("e{exponent}m{mantissa}"));
    Ok(())
}

// --- dot_general

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm =
/// <…>`; all but `contracting_dims` are optional.
pub(super) static DOT_DIMS: Hook = Hook { parse: parse_dot_dims, print: print_dot_dims, tight: false };

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
        .map(|(k, v)| (k.to_owned(), Attr::Array(v.into_iter().map(Attr::i64).collect())))
        .collect();
    let dims =
        crate::attr::DialectAttr { name: "stablehlo.dot".to_owned(), text: text.join(", "), params: dict };
    p.insert(&mut draft.attrs, "dot_dimension_numbers".to_owned(), Attr::Dialect(dims.into()), span(at));
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
        Some(Attr::Dialect(d)) if d.name == "stablehlo.dot_algorithm" => {
            p.put(format_args!(", algorithm = <{}>", d.text));
        }
        Some(other) => p.put(format_args!(", algorithm = {other}")),
    }
    Ok(())
}

// --- dot

/// `, precision = [HIGH, DEFAULT]`; optional.
pub(super) static PRECISION: Hook = Hook { parse: parse_precision, print: print_precision, tight: false };

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
pub(super) static CONVOLUTION_DIMS: Hook =
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
    let value = Attr::dialect("stablehlo.conv", p.slice(start.start, end));
    p.insert(&mut draft.attrs, "dimension_numbers".to_owned(), value, Span::new(start.start, end));
    Ok(())
}

fn print_convolution_dims<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    match view.take("dimension_numbers")? {
        Attr::Dialect(d) if d.text.starts_with('[') => {
            p.out.push_str(&d.text);
            Ok(())
        }
        _ => Err(NotPretty),
    }
}

/// `stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false,
/// false]`; all optional.
pub(super) static WINDOW: Hook = Hook { parse: parse_window, print: print_window, tight: false };

fn parse_window(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    while !p.at(b'}') {
        let word = p.word("stride, pad, lhs_dilate, rhs_dilate or reverse")?;
        p.expect(b'=')?;
        let (key, value) = match p.str_of(word) {
            "stride" => ("window_strides", Attr::i64_array(&p.integers()?)),
            "lhs_dilate" => ("lhs_dilation", Attr::i64_array(&p.integers()?)),
            "rhs_dilate" => ("rhs_dilation", Attr::i64_array(&p.integers()?)),
            // `[true, false]`; older programs have numbers.
            "reverse" => {
                let bits = p.attr()?;
                let bools = bits
                    .as_bool_list()
                    .or_else(|| bits.as_i64_list().map(|l| l.into_iter().map(|v| v != 0).collect()));
                let Some(bools) = bools else {
                    return p.fail("parse", span(word), "`reverse` must be a list of booleans");
                };
                ("window_reversal", Attr::Array(bools.into_iter().map(Attr::Bool).collect()))
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

// --- while

/// `(%iterArg = %0, …) : t, … attributes {…} cond { … } do { … }`
pub(super) static WHILE: Hook = Hook { parse: parse_while, print: print_while, tight: true };

fn parse_while(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let mut args: Vec<Arg<'_>> = Vec::new();
    p.expect(b'(')?;
    p.list_until(b')', |p| {
        let t = p.peek();
        if t.tok != Tok::Percent {
            return p.expected("an argument such as `%iterArg`");
        }
        p.bump();
        p.expect(b'=')?;
        let operand = p.operand()?;
        draft.operands.push(operand);
        args.push(Arg { name: p.str_of(t), ty: Type::Token, span: span(t) });
        Ok(())
    })?;
    if p.eat(b':') && !args.is_empty() {
        draft.results = p.type_list()?;
    }
    let types = std::mem::take(&mut draft.results);
    p.operands_are(draft, &types);
    for (arg, ty) in args.iter_mut().zip(&types) {
        arg.ty = ty.clone();
    }
    draft.results = types;
    if p.eat_word("attributes") {
        p.optional_dict(&mut draft.attrs)?;
    }
    p.expect_word("cond")?;
    let cond = p.region(&args)?;
    draft.regions.push(cond);
    p.expect_word("do")?;
    let body = p.region(&args)?;
    draft.regions.push(body);
    Ok(())
}

fn print_while<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let inst: Inst<'a> = view.inst;
    let (Some(cond), Some(body), 2) = (inst.region(0), inst.region(1), inst.regions().len()) else {
        return Err(NotPretty);
    };
    let types = |list: &[crate::module::ValueId]| list.iter().map(|v| p.func[*v].clone()).collect::<Vec<_>>();
    let operands = types(inst.operands());
    let all_equal =
        [cond.args(), body.args(), inst.results()].into_iter().all(|list| types(list) == operands);
    if !all_equal {
        return Err(NotPretty);
    }
    p.out.push('(');
    for (i, (arg, operand)) in cond.args().iter().zip(inst.operands()).enumerate() {
        if i > 0 {
            p.out.push_str(", ");
        }
        p.value(*arg);
        p.out.push_str(" = ");
        p.value(*operand);
    }
    p.out.push(')');
    if !operands.is_empty() {
        p.out.push_str(" : ");
        p.type_list(&operands);
    }
    view.operands = &[];
    if !view.attrs.is_empty() {
        p.out.push_str(" attributes");
        p.rest_dict(view);
    }
    p.new_line();
    p.out.push_str("cond ");
    p.braces(cond);
    p.out.push_str(" do ");
    p.braces(body);
    view.regions_done = true;
    Ok(())
}

// --- scan

/// `(%0, %1) inits (%2) dimension = 0 attributes {…} { ^bb0(…): … } : (t, t, t) -> (t, t)`
pub(super) static SCAN: Hook = Hook { parse: parse_scan, print: print_scan, tight: true };

fn parse_scan(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    if p.at_literal("()") {
        p.literal("()")?;
    } else {
        p.expect(b'(')?;
        draft.operands = p.operands()?;
        p.expect(b')')?;
    }
    let inputs = draft.operands.len();
    p.expect_word("inits")?;
    if p.at_literal("()") {
        p.literal("()")?;
    } else {
        p.expect(b'(')?;
        let inits = p.operands()?;
        draft.operands.extend(inits);
        p.expect(b')')?;
    }
    p.literal("dimension =")?;
    let at = p.peek();
    let dim = Attr::i64(p.integer64()?);
    p.insert(&mut draft.attrs, "dimension".to_owned(), dim, span(at));
    if p.eat_word("attributes") {
        p.optional_dict(&mut draft.attrs)?;
    }
    let body = p.region(&[])?;
    draft.regions.push(body);
    p.expect(b':')?;
    p.function_types(draft)?;
    let carries = draft.operands.len() - inputs;
    let outputs = draft.results.len().saturating_sub(carries);
    let sizes = [
        ("operandSegmentSizes", segments(inputs, carries)),
        ("resultSegmentSizes", segments(outputs, carries)),
    ];
    for (key, value) in sizes {
        p.insert(&mut draft.attrs, key.to_owned(), value, span(at));
    }
    Ok(())
}

fn print_scan<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let inst: Inst<'a> = view.inst;
    let (Op::Scan(scan), Some(body), 1) = (inst.op(), inst.region(0), inst.regions().len()) else {
        return Err(NotPretty);
    };
    let counts = scan.inputs.checked_add(scan.carries) == Some(inst.operands().len())
        && scan.outputs.checked_add(scan.carries) == Some(inst.results().len());
    if !counts {
        return Err(NotPretty);
    }
    let (inputs, inits) = inst.operands().split_at(scan.inputs);
    for (before, values) in [("(", inputs), (") inits (", inits)] {
        p.out.push_str(before);
        p.values(values);
    }
    p.put(format_args!(") dimension = {}", scan.dim));
    view.operands = &[];
    for key in ["dimension", "operandSegmentSizes", "resultSegmentSizes"] {
        view.attrs.remove(key);
    }
    if !view.attrs.is_empty() {
        p.out.push_str(" attributes");
        p.rest_dict(view);
    }
    p.out.push(' ');
    p.labelled(body);
    view.regions_done = true;
    p.types(Types::Function, view)
}

// --- reduce

/// `(%0 init: %1), (%2 init: %3) across dimensions = [0] {…} : … reducer(%a: t, %b: t) (%c: t, %d: t) { … }`,
/// or `(%0 init: %1) applies stablehlo.add across dimensions = [0] {…} : …`
pub(super) static REDUCE: Hook = Hook { parse: parse_reduce, print: print_reduce, tight: true };

fn parse_reduce(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    let mut inits: Vec<Operand> = Vec::new();
    loop {
        p.expect(b'(')?;
        let operand = p.operand()?;
        draft.operands.push(operand);
        p.literal("init:")?;
        inits.push(p.operand()?);
        p.expect(b')')?;
        if !p.eat(b',') {
            break;
        }
    }
    draft.operands.extend(inits);
    let applies =
        if p.eat_word("applies") { Some(p.word("an operation such as `stablehlo.add`")?) } else { None };
    p.literal("across dimensions =")?;
    let at = p.peek();
    let dims = Attr::i64_array(&p.integers()?);
    p.insert(&mut draft.attrs, "dimensions".to_owned(), dims, span(at));
    p.optional_dict(&mut draft.attrs)?;
    p.expect(b':')?;
    p.function_types(draft)?;
    let Some(applies) = applies else { return parse_reducer(p, draft) };
    let name = p.str_of(applies);
    let base = name.strip_prefix("mhlo.").map(|base| format!("stablehlo.{base}"));
    let op = match Binary::VARIANTS.into_iter().find(|op| op.name() == base.as_deref().unwrap_or(name)) {
        Some(op) => Op::Binary(op),
        None => {
            let near = nearest(name, Binary::VARIANTS.map(|op| op.name()));
            let message = format!("{name} is not an operation of two operands");
            p.report(hinted(Diagnostic::new("unknown-op", span(applies), message), &near));
            return Ok(());
        }
    };
    // The region takes two scalars of the results' element type.
    let scalar = |ty: &Type| ty.tensor().map(|t| Type::Tensor(t.with_sizes([])));
    let Some(ty) = draft.operands.get(draft.operands.len() / 2).and_then(|init| scalar(&p.func[init.id]))
    else {
        return Ok(());
    };
    let region = p.func.new_region();
    let args = [p.func.add_arg(region, ty.clone()), p.func.add_arg(region, ty.clone())];
    let apply = p.func.push(region, NewInst::new(op, args).at(span(applies), None), [ty]);
    let result = p.func.inst(apply).results().to_vec();
    p.func.push(region, NewInst::new(Op::Return, result).at(span(applies), None), []);
    draft.regions.push(region);
    Ok(())
}

/// Parses `reducer(%a: t, %b: t) (%c: t, %d: t) { … }`. The text has pairs of arguments, but the region takes
/// the first arguments of all pairs before the second ones.
fn parse_reducer(p: &mut Parser<'_>, draft: &mut Draft) -> Parsed<()> {
    p.expect_word("reducer")?;
    let (mut args, mut second) = (Vec::new(), Vec::new());
    while p.eat(b'(') {
        args.push(p.arg()?);
        p.trailing_loc()?;
        p.expect(b',')?;
        second.push(p.arg()?);
        p.trailing_loc()?;
        p.expect(b')')?;
    }
    args.append(&mut second);
    let region = p.region(&args)?;
    draft.regions.push(region);
    Ok(())
}

fn print_reduce<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let inst: Inst<'a> = view.inst;
    let (Some(region), 1) = (inst.region(0), inst.regions().len()) else { return Err(NotPretty) };
    let n = inst.operands().len() / 2;
    if n == 0 || inst.operands().len() != 2 * n || region.args().len() != 2 * n {
        return Err(NotPretty);
    }
    for i in 0..n {
        p.out.push_str(if i > 0 { ", (" } else { "(" });
        p.value(inst.operands()[i]);
        p.out.push_str(" init: ");
        p.value(inst.operands()[n + i]);
        p.out.push(')');
    }
    let applied = applied(p, inst, region);
    if let Some(name) = applied {
        p.put(format_args!(" applies {name}"));
    }
    let dims = view.take("dimensions")?.as_i64_list().ok_or(NotPretty)?;
    p.put(format_args!(" across dimensions = {dims:?}"));
    view.operands = &[];
    p.rest_dict(view);
    p.types(Types::Function, view)?;
    view.regions_done = true;
    if applied.is_some() {
        return Ok(());
    }
    p.new_line();
    p.out.push_str(" reducer");
    for i in 0..n {
        let (a, b) = (region.args()[i], region.args()[n + i]);
        p.out.push('(');
        for (v, separator) in [(a, ", "), (b, ") ")] {
            let ty = p.func[v].clone();
            p.value(v);
            p.put(format_args!(": {ty}{separator}"));
        }
    }
    p.out.push(' ');
    p.braces(region);
    Ok(())
}

/// Returns the operation that a reducer applies to its two arguments, if the short form can express the
/// reducer: it does nothing else, and all types are as implied by the short form.
fn applied(p: &Printer<'_>, inst: Inst<'_>, region: Region<'_>) -> Option<&'static str> {
    let Reducer { inst: apply, swapped: false } = reducer::of(region)? else { return None };
    let init = inst.operands().get(1).filter(|_| inst.operands().len() == 2)?;
    let init = p.func[*init].tensor()?;
    let scalar = Type::Tensor(init.with_sizes([]));
    let plain = matches!(apply.op(), Op::Binary(_))
        && apply.attrs().is_empty()
        && region.terminator()?.attrs().is_empty()
        && region.args().iter().chain(apply.results()).all(|v| p.func[*v] == scalar);
    // The short form numbers the values in this order.
    let in_order = region.args().iter().chain(apply.results()).map(|v| v.index()).is_sorted();
    (plain && in_order).then(|| apply.op().name())
}

impl Parser<'_> {
    /// Parses `[HIGH, DEFAULT]`.
    fn precisions(&mut self) -> Parsed<Attr> {
        let mut items = Vec::new();
        self.expect(b'[')?;
        self.list_until(b']', |p| {
            let word = p.word("DEFAULT, HIGH or HIGHEST")?;
            items.push(Attr::dialect("stablehlo.precision", p.str_of(word)));
            Ok(())
        })?;
        Ok(Attr::Array(items))
    }

    /// Parses the `<…>` of a dot algorithm.
    fn algorithm(&mut self) -> Parsed<Attr> {
        let text = self.balanced()?;
        match format!("#stablehlo.dot_algorithm<{text}>").parse::<Attr>() {
            Ok(attr) => Ok(attr),
            Err(_) => Ok(Attr::dialect("stablehlo.dot_algorithm", text)),
        }
    }
}
