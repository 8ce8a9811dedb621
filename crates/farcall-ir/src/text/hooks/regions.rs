//! Hooks for operations that are written with their regions.

use farcall_sig::nearest::nearest;

use crate::attr::Attribute;
use crate::attributes::reduction::segments;
use crate::diag::Diagnostic;
use crate::module::{Inst, NewInst, Region};
use crate::op::{Binary, Op};
use crate::reducer::{self, BinaryRegion};
use crate::text::lexer::Tok;
use crate::text::parser::{Parsed, Parser, hinted, span};
use crate::text::printer::Printer;
use crate::text::region::Arg;
use crate::text::scope::Operand;
use crate::text::syntax::{Draft, Hook, NotPretty, Types, View};
use crate::types::Type;

// --- while

/// `(%iterArg = %0, …) : t, … attributes {…} cond { … } do { … }`
pub(in crate::text) static WHILE: Hook = Hook { parse: parse_while, print: print_while, tight: true };

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
pub(in crate::text) static SCAN: Hook = Hook { parse: parse_scan, print: print_scan, tight: true };

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
    let dim = Attribute::i64(p.integer64()?);
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
pub(in crate::text) static REDUCE: Hook = Hook { parse: parse_reduce, print: print_reduce, tight: true };

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
    let dims = Attribute::i64_array(&p.integers()?);
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
/// reducer: the reducer does nothing else, and all types are those that the short form implies.
fn applied(p: &Printer<'_>, inst: Inst<'_>, region: Region<'_>) -> Option<&'static str> {
    let BinaryRegion { inst: apply, swapped: false } = reducer::of(region)? else { return None };
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
