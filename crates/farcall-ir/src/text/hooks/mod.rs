//! Hooks: the syntax of pretty forms that lists of directives cannot express. Each hook is a pair of
//! functions, a parser and a printer.
//!
//! - `contraction`: dimension numbers and precisions of products and convolutions.
//! - `regions`: operations that are written with their regions (`while`, `scan`, `reduce`).
//! - Here: all others, which are a few tokens long.

mod contraction;
mod regions;

pub(super) use contraction::{CONVOLUTION_DIMS, DOT_DIMS, PRECISION, WINDOW};
pub(super) use regions::{REDUCE, SCAN, WHILE};

use farcall_sig::DType;

use super::attr::sharding_attr;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, span};
use super::printer::Printer;
use super::syntax::{Draft, Hook, NotPretty, View};
use crate::attr::{Attribute, IntKind};
use crate::types::{TensorType, Type};

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
            sharding_attr(name, body).unwrap_or_else(|| Attribute::dialect(name, body))
        }
    };
    p.insert(&mut draft.attrs, "sharding".to_owned(), attr, span(at));
    Ok(())
}

fn print_sharding<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    match view.take("sharding")? {
        Attribute::Sharding(sharding) => {
            p.put(format_args!("<{sharding}>"));
            Ok(())
        }
        Attribute::Dialect(d) if d.name == "sdy.sharding" && d.params.is_empty() => {
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
    let attr = Attribute::Int(number, IntKind::Typed(DType::S32));
    p.insert(&mut draft.attrs, "allowed_direction".to_owned(), attr, span(word));
    Ok(())
}

fn print_direction<'a>(p: &mut Printer<'a>, view: &mut View<'a>) -> Result<(), NotPretty> {
    let Attribute::Int(number, IntKind::Typed(DType::S32)) = view.take("allowed_direction")? else {
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
        Attribute::DenseIndex(literal) => Attribute::Dense(literal),
        value => value,
    };
    match value {
        value @ (Attribute::Dense(_) | Attribute::Elided(_)) => {
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
fn constant_type(value: &Attribute) -> Option<TensorType> {
    match value {
        Attribute::Dense(literal) => Some(literal.ty()),
        Attribute::Elided(ty) => Some(ty.clone()),
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
        p.insert(&mut draft.attrs, key.to_owned(), Attribute::i64_array(&list), span(at));
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
        let value = Attribute::Int(i128::from(bits), IntKind::Typed(DType::S32));
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
