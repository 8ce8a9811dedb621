//! Validates the constraints of a signature that its grammar does not express.
//!
//! The checks run in the order in which a reader would ask: names are distinct; the order of the operands
//! leaves no doubt which operand each argument of a call is for; each type and each dimension is determined;
//! the promises about dimensions can hold. The first error is reported.

use std::collections::BTreeMap;

use super::ast::*;
use super::error::{SignatureError, TextRange};
use super::parser::FUNCTIONS;
use super::{Signature, offset};
use crate::attr::AttrType;
use crate::dtype::DType;

type Result<T = ()> = std::result::Result<T, SignatureError>;

/// The calls in which a name is known: level 0 stands for every call, and level `i + 1` for only those calls
/// that pass the optional operand `i`. Since optional operands are filled from the left, a name known at one
/// level is known at every higher level.
type Level = usize;

pub(super) fn check(signature: &Signature) -> Result {
    distinct_names(signature)?;
    arities(signature)?;
    let checker = Checker { signature, dims: dims(signature)? };
    checker.types()?;
    checker.layouts()?;
    checker.shapes()?;
    checker.results()?;
    checker.batch()?;
    checker.dim_clauses()?;
    checker.conditions()?;
    offset::check(signature)
}

fn error(span: TextRange, message: impl Into<String>) -> SignatureError {
    SignatureError::new(span, message)
}

/// A tensor of the signature, operand or result.
struct Tensor<'a> {
    name: &'a Name,
    element: &'a ElementType,
    shape: &'a Shape,
    level: Level,
    variadic: bool,
}

/// A dimension that is determined by operands.
struct Known {
    level: Level,
    /// True if the dimension is written with dots.
    each: bool,
}

struct Checker<'a> {
    signature: &'a Signature,
    dims: BTreeMap<&'a str, Known>,
}

fn distinct_names(signature: &Signature) -> Result {
    let operands = signature.operands.iter().map(|o| (&o.name, "an operand"));
    let attrs = signature.attrs.iter().map(|a| (&a.name, "an attribute"));
    let results = signature.results.iter().map(|r| (&r.name, "a result"));
    let mut names: Vec<(&Name, &str)> = operands.chain(attrs).chain(results).collect();
    names.sort_by_key(|(name, _)| name.span.offset);
    for (i, (name, what)) in names.iter().enumerate() {
        if let Some((_, earlier)) = names[..i].iter().find(|(n, _)| n.text == name.text) {
            let message = format!("`{name}` names {what}, but is the name of {earlier} already");
            return Err(error(name.span, message));
        }
    }
    Ok(())
}

fn arities(signature: &Signature) -> Result {
    let operands = &signature.operands;
    for (i, operand) in operands.iter().enumerate() {
        let Some(before) = i.checked_sub(1).map(|i| &operands[i]) else { continue };
        let name = &operand.name;
        match (before.arity, operand.arity) {
            (Arity::Variadic, Arity::Required | Arity::Optional) => {
                return Err(error(
                    before.name.span,
                    format!("the variadic operand `{}` must be the last", before.name),
                )
                .note(format!("`{name}` follows it; only attributes and other variadic operands may")));
            }
            (Arity::Optional, Arity::Required) => {
                return Err(error(name.span, format!("the operand `{name}` follows an optional operand"))
                    .note(format!("write it before `{}`, or make it optional", before.name)));
            }
            (Arity::Optional, Arity::Variadic) => {
                return Err(error(name.span, "an op cannot have both optional and variadic operands")
                    .note("a call's operands could not be told apart"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn operand_level(signature: &Signature, index: usize) -> Level {
    match signature.operands[index].arity {
        Arity::Optional => index + 1,
        Arity::Required | Arity::Variadic => 0,
    }
}

fn operand_tensors(signature: &Signature) -> impl Iterator<Item = Tensor<'_>> {
    signature.operands.iter().enumerate().map(|(i, o)| Tensor {
        name: &o.name,
        element: &o.element,
        shape: &o.shape,
        level: operand_level(signature, i),
        variadic: o.arity == Arity::Variadic,
    })
}

/// Returns the dimensions that operands determine: the names that stand alone in an operand.
fn dims(signature: &Signature) -> Result<BTreeMap<&str, Known>> {
    let mut known: BTreeMap<&str, Known> = BTreeMap::new();
    for tensor in operand_tensors(signature) {
        for dim in &tensor.shape.dims {
            let (name, each) = match dim {
                DimDecl::Size(Expr::Name(name)) => (name, false),
                DimDecl::Each(name) => (name, true),
                DimDecl::Size(_) => continue,
            };
            if each && !tensor.variadic {
                return Err(error(
                    name.span,
                    format!(
                        "`{name}...` differs between variadic operands, but `{}` is one operand",
                        tensor.name
                    ),
                )
                .note(format!(
                    "`{}: {}{}...` would be any number of operands",
                    tensor.name, tensor.element, tensor.shape
                )));
            }
            if FUNCTIONS.contains(&name.text.as_str()) {
                return Err(error(name.span, format!("`{name}` is a function, and cannot name a dimension")));
            }
            if signature.attr(&name.text).is_some() {
                if each {
                    return Err(error(name.span, format!("`{name}` is an attribute, and has one value")));
                }
                continue;
            }
            let entry = known.entry(name.text.as_str()).or_insert(Known { level: tensor.level, each });
            if entry.each != each {
                return Err(error(
                    name.span,
                    format!("`{name}` is written with dots in one place and without in another"),
                ));
            }
            entry.level = entry.level.min(tensor.level);
        }
    }
    Ok(known)
}

impl<'a> Checker<'a> {
    fn result_tensors(&self) -> impl Iterator<Item = Tensor<'a>> {
        let signature = self.signature;
        signature.results.iter().map(move |r| Tensor {
            name: &r.name,
            element: &r.element,
            shape: &r.shape,
            level: r
                .condition
                .as_ref()
                .and_then(|c| position(signature, c))
                .map_or(0, |i| operand_level(signature, i)),
            variadic: r.variadic,
        })
    }

    fn tensors(&self) -> impl Iterator<Item = Tensor<'a>> {
        operand_tensors(self.signature).chain(self.result_tensors())
    }

    fn types(&self) -> Result {
        let mut declared: Vec<&Name> = Vec::new();
        for clause in &self.signature.clauses {
            let Clause::Types { variables, .. } = clause else { continue };
            for variable in variables {
                if declared.iter().any(|d| d.text == variable.text) {
                    return Err(error(variable.span, format!("the types of `{variable}` are given twice")));
                }
                declared.push(variable);
            }
        }
        let mut levels: BTreeMap<&str, Level> = BTreeMap::new();
        for tensor in operand_tensors(self.signature) {
            let Some((variable, set)) = self.element(tensor.element)? else { continue };
            if is_injective(tensor.element, set) {
                let level = levels.entry(&variable.text).or_insert(tensor.level);
                *level = tensor.level.min(*level);
            }
        }
        for tensor in self.tensors() {
            let Some((variable, _)) = self.element(tensor.element)? else { continue };
            match levels.get(variable.text.as_str()) {
                Some(level) if *level <= tensor.level => {}
                Some(level) => {
                    let giver = &self.signature.operands[level - 1].name;
                    return Err(error(
                        tensor.element.span,
                        format!("`{variable}` is only known if `{giver}` is given"),
                    ));
                }
                None => {
                    let error = error(tensor.element.span, format!("no operand determines `{variable}`"));
                    let derived = operand_tensors(self.signature)
                        .find(|t| t.element.variable().is_some_and(|v| v.text == variable.text));
                    return Err(match derived {
                        Some(t) => error
                            .note(format!("`{}` is the same for several types of `{variable}`", t.element)),
                        None => error.note(format!("`{variable}` must be the element type of an operand")),
                    });
                }
            }
        }
        for variable in declared {
            if !self.tensors().any(|t| t.element.variable().is_some_and(|v| v.text == variable.text)) {
                return Err(error(variable.span, format!("no operand or result has the type `{variable}`")));
            }
        }
        Ok(())
    }

    /// Returns the variable of an element type with its set of types, if the element type has one.
    fn element(&self, element: &'a ElementType) -> Result<Option<(&'a Name, &'a TypeSet)>> {
        let Some(variable) = element.variable() else {
            if element.functions.is_empty() {
                return Ok(None);
            }
            // The type has no variable, so `apply` ignores its argument.
            let error = error(element.span, format!("`{element}` does not depend on a type variable"));
            return Err(match element.apply(DType::F32) {
                Some(dtype) => error.note(format!("write `{dtype}`")),
                None => error.note("there is no such type"),
            });
        };
        let Some(set) = self.signature.type_set(&variable.text) else {
            let declared: Vec<&str> = self
                .signature
                .clauses
                .iter()
                .filter_map(|c| match c {
                    Clause::Types { variables, .. } => Some(variables.iter().map(|v| v.text.as_str())),
                    _ => None,
                })
                .flatten()
                .collect();
            let error =
                error(variable.span, format!("the types that `{variable}` stands for are not declared"));
            let error = match variable.text.to_ascii_lowercase().parse::<DType>().ok() {
                Some(dtype) => error.note(format!("the element type is called `{dtype}`")),
                None => error.note(format!("add `where {variable}: f32 | f64`, or `{variable}: any`")),
            };
            return Err(known_names(error, &variable.text, "type variables", &declared));
        };
        match set.types().iter().find(|t| element.apply(**t).is_none()) {
            None => Ok(Some((variable, set))),
            Some(dtype) => {
                Err(error(element.span, format!("`{element}` is not defined where `{variable}` is {dtype}"))
                    .note("`complex` is defined for f32 and f64"))
            }
        }
    }

    fn layouts(&self) -> Result {
        let operands = self.signature.operands.iter().map(|o| (&o.layout, &o.shape));
        let results = self.signature.results.iter().map(|r| (&r.layout, &r.shape));
        for (layout, shape) in operands.chain(results) {
            let rank = shape.dims.len();
            match layout {
                Layout::RowMajor => {}
                Layout::ColumnMajor(span) | Layout::Order(_, span) if shape.any.is_some() => {
                    return Err(error(*span, "a tensor of any number of dimensions is row-major"));
                }
                Layout::ColumnMajor(span) if rank < 2 => {
                    return Err(error(*span, "`column_major` exchanges the last two dimensions")
                        .note(format!("`{shape}` has {rank}, without batch dimensions")));
                }
                Layout::ColumnMajor(_) => {}
                Layout::Order(order, span) => {
                    let mut sorted = order.clone();
                    sorted.sort_unstable();
                    if !sorted.into_iter().eq(0..rank) {
                        return Err(error(
                            *span,
                            format!("the layout must name each dimension of `{shape}` once"),
                        )
                        .note(match rank {
                            0 => "there are none".into(),
                            _ => format!("the numbers are 0 to {}, without batch dimensions", rank - 1),
                        }));
                    }
                }
            }
        }
        Ok(())
    }

    fn shapes(&self) -> Result {
        for tensor in operand_tensors(self.signature) {
            for dim in &tensor.shape.dims {
                self.dim(dim, &tensor, false)?;
            }
        }
        for tensor in self.result_tensors() {
            for dim in &tensor.shape.dims {
                self.dim(dim, &tensor, true)?;
            }
        }
        Ok(())
    }

    fn dim(&self, dim: &DimDecl, tensor: &Tensor<'_>, is_result: bool) -> Result {
        match dim {
            DimDecl::Size(expr) => self.expr(expr, tensor.level),
            DimDecl::Each(name) if !is_result => self.known(name, tensor.level, true),
            DimDecl::Each(name) if !tensor.variadic => Err(error(
                name.span,
                format!("`{name}...` differs between variadic operands, but `{}` is one result", tensor.name),
            )
            .note(format!("`sum({name})`, `min({name})` and `max({name})` combine the sizes"))),
            DimDecl::Each(name) => self.known(name, tensor.level, true),
        }
    }

    /// Checks that every name in the expression is known at the level.
    fn expr(&self, expr: &Expr, level: Level) -> Result {
        match expr {
            Expr::Literal(..) => Ok(()),
            Expr::Name(name) => self.known(name, level, false),
            Expr::Fold(_, name) => self.known(name, level, true),
            Expr::Binary(op, left, right) => {
                self.expr(left, level)?;
                self.expr(right, level)?;
                match (op, &**right) {
                    (BinaryOp::Div | BinaryOp::Rem, Expr::Literal(0, span)) => {
                        Err(error(*span, "division by zero"))
                    }
                    _ => Ok(()),
                }
            }
            Expr::Call(_, arguments, _) => arguments.iter().try_for_each(|a| self.expr(a, level)),
            Expr::Len(operand) => match self.signature.operand(&operand.text) {
                Some(o) if o.arity == Arity::Variadic => Ok(()),
                Some(_) => Err(error(operand.span, format!("`{operand}` is one operand"))
                    .note("`len` counts variadic operands")),
                None => Err(self.unknown_operand(operand)),
            },
        }
    }

    /// Checks that the name is a size known at the level. `each` is true if the name is used with dots.
    fn known(&self, name: &Name, level: Level, each: bool) -> Result {
        if let Some(attr) = self.signature.attr(&name.text) {
            return match &attr.ty {
                _ if each => Err(error(name.span, format!("`{name}` is an attribute, and has one value"))),
                AttrType::Scalar(ty) if ty.is_integer() && !attr.optional => Ok(()),
                AttrType::Scalar(ty) if ty.is_integer() => Err(error(
                    name.span,
                    format!("the attribute `{name}` may be missing, so it cannot be a size"),
                )
                .note("give it a default instead of `?`")),
                ty => Err(error(
                    name.span,
                    format!("the attribute `{name}` is {ty}; only an integer can be a size"),
                )),
            };
        }
        let Some(known) = self.dims.get(name.text.as_str()) else {
            return Err(self.unknown_dim(name));
        };
        match (known.each, each) {
            (true, false) => Err(error(name.span, format!("`{name}` differs between the variadic operands"))
                .note(format!("`sum({name})`, `min({name})` and `max({name})` combine the sizes"))),
            (false, true) => Err(error(name.span, format!("`{name}` has one size")).note(format!(
                "only a dimension that is written `{name}...` in a variadic operand has several"
            ))),
            _ if known.level > level => {
                let giver = &self.signature.operands[known.level - 1].name;
                Err(error(name.span, format!("`{name}` is only known if `{giver}` is given")))
            }
            _ => Ok(()),
        }
    }

    fn unknown_dim(&self, name: &Name) -> SignatureError {
        if FUNCTIONS.contains(&name.text.as_str()) {
            return error(name.span, format!("`{name}` is a function: `{name}(…)`"));
        }
        let mut inside: Option<&Expr> = None;
        for tensor in operand_tensors(self.signature) {
            for dim in &tensor.shape.dims {
                if let DimDecl::Size(expr) = dim {
                    expr.visit(&mut |n, _| inside = inside.or((n.text == name.text).then_some(expr)));
                }
            }
        }
        if let Some(expr) = inside {
            return error(name.span, format!("no operand determines `{name}`")).note(format!(
                "`{expr}` is not solved for it: `{name}` must stand alone in an operand, or be an attribute"
            ));
        }
        let mut names: Vec<&str> = self.dims.keys().copied().collect();
        let integer = |a: &&AttrDecl| matches!(a.ty, AttrType::Scalar(ty) if ty.is_integer());
        names.extend(self.signature.attrs.iter().filter(integer).map(|a| a.name.text.as_str()));
        let message = format!("`{name}` is neither a dimension of an operand nor an integer attribute");
        known_names(error(name.span, message), &name.text, "dimensions", &names)
    }

    fn unknown_operand(&self, name: &Name) -> SignatureError {
        let names: Vec<&str> = self.signature.operands.iter().map(|o| o.name.text.as_str()).collect();
        known_names(error(name.span, format!("there is no operand `{name}`")), &name.text, "operands", &names)
    }

    fn results(&self) -> Result {
        let signature = self.signature;
        let variadic = signature.operands.iter().any(|o| o.arity == Arity::Variadic);
        for (i, result) in signature.results.iter().enumerate() {
            if result.variadic && !variadic {
                return Err(error(
                    result.name.span,
                    format!(
                        "`{}` is repeated for each entry of the variadic operands, but no operand is variadic",
                        result.name
                    ),
                ));
            }
            if let Some(condition) = &result.condition {
                match signature.operand(&condition.text) {
                    None => return Err(self.unknown_operand(condition)),
                    Some(o) if o.arity != Arity::Optional => {
                        return Err(error(
                            condition.span,
                            format!("the operand `{condition}` is not optional"),
                        )
                        .note(format!("without `if {condition}`, the result is always there")));
                    }
                    Some(_) => {}
                }
            }
            let Some(alias) = &result.aliases else { continue };
            let Some(index) = position(signature, alias) else { return Err(self.unknown_operand(alias)) };
            let operand = &signature.operands[index];
            if operand.arity == Arity::Variadic {
                return Err(error(
                    alias.span,
                    format!("`{alias}` is variadic, and kernels cannot write its buffers"),
                )
                .note(format!("leave `aliases {alias}` out")));
            }
            let own = format!("{}{}{}", result.element, result.shape, result.layout);
            let its = format!("{}{}{}", operand.element, operand.shape, operand.layout);
            if own != its || result.variadic {
                let dots = if result.variadic { "..." } else { "" };
                return Err(error(
                    alias.span,
                    format!("`{}` is not of the type of `{alias}`, which it aliases", result.name),
                )
                .note(format!("`{}` is `{own}{dots}`", result.name))
                .note(format!("`{alias}` is `{its}`")));
            }
            if operand.arity == Arity::Optional
                && result.condition.as_ref().map(|c| &c.text) != Some(&alias.text)
            {
                return Err(error(
                    alias.span,
                    format!("`{alias}` may be missing, and then there is nothing to alias"),
                )
                .note(format!("with `if {alias}`, the result exists only if `{alias}` is given")));
            }
            let earlier = |r: &&ResultDecl| r.aliases.as_ref().is_some_and(|a| a.text == alias.text);
            if let Some(other) = signature.results[..i].iter().find(earlier) {
                return Err(error(alias.span, format!("`{}` aliases `{alias}` already", other.name)));
            }
        }
        Ok(())
    }

    fn batch(&self) -> Result {
        let level =
            operand_tensors(self.signature).filter(|t| t.shape.batch.is_some()).map(|t| t.level).min();
        let usage = self.signature.dim_use("*");
        for tensor in self.result_tensors() {
            match (tensor.shape.batch, level) {
                (None, Some(_)) if tensor.shape.any.is_some() && usage != DimUse::Whole => {
                    return Err(error(
                        tensor.shape.span,
                        format!("`{}` can have any dimensions, but an operand has `*`", tensor.name),
                    )
                    .note("its batch dimensions are unknown: declare `*: whole`"));
                }
                (Some(span), None) => {
                    return Err(error(span, format!("`{}` has `*`, but no operand has", tensor.name)));
                }
                (Some(span), Some(level)) if level > tensor.level => {
                    let giver = &self.signature.operands[level - 1].name;
                    return Err(error(span, format!("`*` is only known if `{giver}` is given")));
                }
                (None, Some(_)) if usage == DimUse::Map => {
                    return Err(error(
                        tensor.shape.span,
                        format!("`{}` has no `*`, but an operand has", tensor.name),
                    )
                    .note("if it is reduced over the batch, say how: `*: sum`")
                    .note("if the kernel looks at the whole batch at once, say `*: whole`"));
                }
                _ => {}
            }
        }
        let Some(star) = self.clause_names().find(|(n, _)| n.text == "*").map(|(n, _)| n) else {
            return Ok(());
        };
        if level.is_none() {
            return Err(error(star.span, "no operand has `*`"));
        }
        if let DimUse::Reduce(reducer) = usage {
            let reduced: Vec<&ResultDecl> =
                self.signature.results.iter().filter(|r| r.shape.batch.is_none()).collect();
            if reduced.is_empty() {
                return Err(error(star.span, "no result is reduced over `*`: every result has `*`")
                    .note("a result that is reduced over the batch has no `*`"));
            }
            self.reducible(star, reducer, &reduced)?;
        }
        Ok(())
    }

    /// Returns the dimensions that clauses name, each with the kernel's use of the dimension.
    fn clause_names(&self) -> impl Iterator<Item = (&'a Name, DimUse)> {
        self.signature
            .clauses
            .iter()
            .filter_map(|c| match c {
                Clause::Dims { dims, usage } => Some(dims.iter().map(move |d| (d, *usage))),
                _ => None,
            })
            .flatten()
    }

    fn dim_clauses(&self) -> Result {
        let mut seen: Vec<&str> = Vec::new();
        for (name, usage) in self.clause_names() {
            if seen.contains(&name.text.as_str()) {
                return Err(error(name.span, format!("`{name}` is declared twice")));
            }
            seen.push(&name.text);
            if name.text == "*" {
                continue;
            }
            if self.signature.attr(&name.text).is_some() {
                return Err(error(
                    name.span,
                    format!("`{name}` is an attribute, not a dimension of the operands"),
                ));
            }
            let Some(known) = self.dims.get(name.text.as_str()) else { return Err(self.unknown_dim(name)) };
            if usage == DimUse::Whole {
                continue;
            }
            if known.each {
                return Err(error(
                    name.span,
                    format!("`{name}` differs between the variadic operands, so it cannot be split"),
                ));
            }
            self.splittable(name)?;
            match usage {
                DimUse::Map => {
                    if let Some(result) =
                        self.signature.results.iter().find(|r| !mentions(&r.shape, &name.text))
                    {
                        return Err(error(
                            name.span,
                            format!("`{name}` is mapped, but the result `{}` does not have it", result.name),
                        )
                        .note(format!(
                            "say how the kernel reduces over it (`{name}: sum`), or leave it whole"
                        )));
                    }
                }
                DimUse::Reduce(reducer) => {
                    let lacks = |r: &&ResultDecl| !mentions(&r.shape, &name.text);
                    let reduced: Vec<&ResultDecl> = self.signature.results.iter().filter(lacks).collect();
                    if self.signature.results.is_empty() {
                        return Err(error(name.span, format!("`{name}` is reduced, but there is no result")));
                    }
                    if reduced.is_empty() {
                        return Err(error(
                            name.span,
                            format!("`{name}` is reduced, but every result has it"),
                        )
                        .note(format!("if each entry is independent, say `{name}: map`")));
                    }
                    self.reducible(name, reducer, &reduced)?;
                }
                DimUse::Whole => {}
            }
        }
        let mut effects = self.signature.clauses.iter().filter_map(|c| match c {
            Clause::SideEffect(span) => Some(span),
            _ => None,
        });
        match effects.nth(1) {
            Some(span) => Err(error(*span, "`side_effect` appears twice")),
            None => Ok(()),
        }
    }

    /// Checks that a dimension that may be split stands alone, at most once in each tensor, and in no
    /// condition.
    fn splittable(&self, name: &Name) -> Result {
        if let Some(any) = self.result_tensors().find(|t| t.shape.any.is_some()) {
            let message = format!("`{}` can have any dimensions, so `{name}` cannot be split", any.name);
            return Err(error(name.span, message).note("its dimensions are unknown"));
        }
        let occurs = |expr: &Expr| {
            let mut found = false;
            expr.visit(&mut |n, _| found |= n.text == name.text);
            found
        };
        for tensor in self.tensors() {
            let mut alone = 0;
            for dim in &tensor.shape.dims {
                match dim {
                    DimDecl::Size(Expr::Name(n)) => alone += usize::from(n.text == name.text),
                    DimDecl::Size(expr) if occurs(expr) => {
                        return Err(error(
                            name.span,
                            format!(
                                "`{name}` is part of `{expr}` in `{}`, so it cannot be split",
                                tensor.name
                            ),
                        )
                        .note("a dimension that is mapped or reduced stands alone"));
                    }
                    _ => {}
                }
            }
            if alone > 1 {
                return Err(error(
                    name.span,
                    format!("`{name}` is in `{}` twice, so it cannot be split", tensor.name),
                ));
            }
        }
        for clause in &self.signature.clauses {
            match clause {
                Clause::Condition(left, _, right) if occurs(left) || occurs(right) => {
                    return Err(error(
                        name.span,
                        format!("the condition `{clause}` is about all of `{name}`, so it cannot be split"),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that the results have types that the reducer can combine, and do not alias an operand.
    fn reducible(&self, name: &Name, reducer: Reducer, results: &[&ResultDecl]) -> Result {
        for result in results {
            let types: Vec<DType> = match self.element(&result.element)? {
                Some((_, set)) => set.types().iter().filter_map(|t| result.element.apply(*t)).collect(),
                None => result.element.apply(DType::F32).into_iter().collect(),
            };
            let wrong = types.into_iter().find(|t| match reducer {
                // Adding `pred` values is conventionally a logical or, not a sum.
                Reducer::Sum | Reducer::Prod => t.is_bool(),
                Reducer::Max | Reducer::Min => t.is_complex(),
                Reducer::And | Reducer::Or => t.is_float() || t.is_complex(),
            });
            if let Some(dtype) = wrong {
                let message =
                    format!("`{}` may be {dtype}, which `{}` does not combine", result.name, reducer.name());
                return Err(error(name.span, message));
            }
            if let (Some(operand), Reducer::Sum | Reducer::Prod) = (&result.aliases, reducer) {
                let message = format!(
                    "`{}` starts from the values of `{operand}`, which each part of `{name}` would include again",
                    result.name
                );
                return Err(error(name.span, message).note("leave the dimension whole"));
            }
        }
        Ok(())
    }

    fn conditions(&self) -> Result {
        for clause in &self.signature.clauses {
            if let Clause::Condition(left, _, right) = clause {
                self.expr(left, 0)?;
                self.expr(right, 0)?;
            }
        }
        Ok(())
    }
}

fn position(signature: &Signature, operand: &Name) -> Option<usize> {
    signature.operands.iter().position(|o| o.name.text == operand.text)
}

/// Returns true if the function maps different types of the variable to different types.
fn is_injective(element: &ElementType, set: &TypeSet) -> bool {
    let derived: Vec<Option<DType>> = set.types().iter().map(|t| element.apply(*t)).collect();
    derived.iter().enumerate().all(|(i, d)| !derived[..i].contains(d))
}

/// Returns true if the name is part of a dimension.
fn mentions(shape: &Shape, name: &str) -> bool {
    shape.dims.iter().any(|dim| match dim {
        DimDecl::Each(n) => n.text == name,
        DimDecl::Size(expr) => {
            let mut found = false;
            expr.visit(&mut |n, _| found |= n.text == name);
            found
        }
    })
}

/// Adds the names that were probably meant; if the name is too short for a guess, all names.
fn known_names(error: SignatureError, name: &str, what: &str, names: &[&str]) -> SignatureError {
    if name.len() > 1 {
        return error.did_you_mean(name, names.iter().copied());
    }
    let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    if list.is_empty() { error } else { error.note(format!("{what} here: {}", list.join(", "))) }
}
