//! Documentation generated from a signature: the call from Python, and the meaning of each parameter.

use std::fmt::Write as _;

use super::Signature;
use super::ast::*;
use super::batching::BatchSummary;
use crate::attr::{AttrType, AttrValue};

impl Signature {
    /// Formats the call of the op from Python, with operands by position and attributes by name: `top_k(x, *,
    /// k)`, `softmax(x, mask=None)`, `concat(*xs)`. Several variadic operands are lists: `add_each(xs, ys)`.
    pub fn call_line(&self, op: &str) -> String {
        let lists = self.variadic_operands();
        let mut parts: Vec<String> = self
            .operands
            .iter()
            .map(|o| match o.arity {
                Arity::Required => o.name.text.clone(),
                Arity::Optional => format!("{}=None", o.name),
                Arity::Variadic if lists == 1 => format!("*{}", o.name),
                Arity::Variadic => o.name.text.clone(),
            })
            .collect();
        if lists != 1 && !self.attrs.is_empty() {
            parts.push("*".into());
        }
        for attr in &self.attrs {
            parts.push(match &attr.default {
                Some(value) => format!("{}={}", attr.name, python(value)),
                None if attr.optional => format!("{}=None", attr.name),
                None => attr.name.text.clone(),
            });
        }
        format!("{op}({})", parts.join(", "))
    }

    /// Describes the signature in Markdown that also reads well as plain text.
    pub fn markdown(&self, op: &str) -> String {
        self.markdown_with(op, &self.batching())
    }

    /// Like [`markdown`](Self::markdown), for an op whose `vmap` rule is not the one that follows from the
    /// signature.
    pub fn markdown_with(&self, op: &str, batching: &BatchSummary) -> String {
        let mut out = format!("    {}\n", self.call_line(op));
        let first = self.operands.iter().find(|o| o.arity == Arity::Variadic);
        let sizes = |operand: &OperandDecl| match (operand.arity, first) {
            (Arity::Required, _) => String::new(),
            (Arity::Optional, _) => ", optional".into(),
            (Arity::Variadic, Some(first)) if first.name != operand.name => {
                format!(", a list as long as `{}`", first.name)
            }
            (Arity::Variadic, _) if self.variadic_operands() > 1 => ", a list of any number".into(),
            (Arity::Variadic, _) => ", any number".into(),
        };
        let operands = self.operands.iter().map(|o| {
            let (any, layout) = (any_words(&o.shape), layout_words(&o.layout));
            format!("`{}`: `{}{}`{any}{}{layout}", o.name, o.element, o.shape, sizes(o))
        });
        section(&mut out, "Operands", operands);
        let attrs = self.attrs.iter().map(|a| {
            let need = match &a.default {
                Some(value) => format!(", {} by default", python(value)),
                None if a.optional => ", optional".into(),
                None => String::new(),
            };
            format!("`{}`: {}{need}", a.name, attr_words(&a.ty))
        });
        section(&mut out, "Attributes", attrs);
        let results = self.results.iter().map(|r| {
            let mut line = format!("`{}`: `{}{}`{}", r.name, r.element, r.shape, any_words(&r.shape));
            if r.variadic {
                let list = first.map_or("", |o| o.name.text.as_str());
                let _ = write!(line, ", one for each of `{list}`");
            }
            line += &layout_words(&r.layout);
            if let Some(operand) = &r.aliases {
                let _ = write!(line, ", in the memory of `{operand}`");
            }
            if let Some(operand) = &r.condition {
                let _ = write!(line, ", if `{operand}` is given");
            }
            if let (None, DimUse::Reduce(reducer)) = (r.shape.batch, self.dim_use("*")) {
                let _ = write!(line, ", {} over the batch", reduced_words(reducer));
            }
            line
        });
        section(&mut out, "Results", results);
        let mut where_ = Vec::new();
        for clause in &self.clauses {
            match clause {
                Clause::Types { variables, set } => {
                    where_.extend(variables.iter().map(|v| format!("`{v}` is {}", set.in_words())));
                }
                Clause::Condition(..) => where_.push(format!("`{clause}`")),
                Clause::Offset { operand, dim } => where_.push(format!(
                    "`{operand}` is the index at which the part of `{dim}` begins, 0 unless `{dim}` is split"
                )),
                Clause::Dims { .. } | Clause::SideEffect(_) => {}
            }
        }
        section(&mut out, "Where", where_);
        section(&mut out, "Dimensions", self.dim_lines());
        let _ = write!(out, "\nvmap: {batching}.\n");
        if self.has_side_effect() {
            out.push_str("It has a side effect: it is never dropped, repeated or reordered.\n");
        }
        out
    }

    fn dim_lines(&self) -> Vec<String> {
        let mut names: Vec<&str> = Vec::new();
        for operand in &self.operands {
            let star = operand.shape.batch.map(|_| "*");
            let dims = operand.shape.dims.iter().filter_map(|d| match d {
                DimDecl::Size(Expr::Name(name)) | DimDecl::Each(name) if self.attr(&name.text).is_none() => {
                    Some(name.text.as_str())
                }
                _ => None,
            });
            for name in star.into_iter().chain(dims) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let words = |name: &&str| match (*name, self.dim_use(name)) {
            ("*", DimUse::Whole) => "`*`: leading dimensions, looked at together".to_string(),
            ("*", _) => "`*`: leading batch dimensions, any number, each entry independently".to_string(),
            (name, DimUse::Whole) => format!("`{name}`: all of it is needed at once"),
            (name, DimUse::Map) => format!("`{name}`: each entry independently"),
            (name, DimUse::Reduce(reducer)) if self.results.iter().any(|r| r.shape.has(name)) => format!(
                "`{name}`: {} over it in results without it, each entry independently in the others",
                reduced_words(reducer)
            ),
            (name, DimUse::Reduce(reducer)) => format!("`{name}`: {} over it", reduced_words(reducer)),
        };
        names.iter().map(words).collect()
    }
}

fn section(out: &mut String, title: &str, lines: impl IntoIterator<Item = String>) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = write!(out, "\n{title}:\n\n");
    for line in lines {
        let _ = writeln!(out, "- {line}");
    }
}

fn any_words(shape: &Shape) -> &'static str {
    if shape.any.is_some() { ", of any dimensions" } else { "" }
}

fn layout_words(layout: &Layout) -> String {
    match layout {
        Layout::RowMajor => String::new(),
        Layout::ColumnMajor(_) => ", column-major".into(),
        Layout::Order(..) => format!(",{layout}"),
    }
}

fn attr_words(ty: &AttrType) -> String {
    match ty {
        AttrType::Choice(_) => ty.to_string().replace(" | ", " or "),
        ty => format!("`{ty}`"),
    }
}

fn reduced_words(reducer: Reducer) -> &'static str {
    match reducer {
        Reducer::Sum => "a sum",
        Reducer::Prod => "a product",
        Reducer::Max => "a maximum",
        Reducer::Min => "a minimum",
        Reducer::And => "all of it (and)",
        Reducer::Or => "any of it (or)",
    }
}

/// Formats a value in Python syntax.
fn python(value: &AttrValue) -> String {
    match value {
        AttrValue::Bool(true) => "True".into(),
        AttrValue::Bool(false) => "False".into(),
        AttrValue::Float(v, _) if !v.is_finite() => format!("float(\"{value}\")"),
        AttrValue::Array(values) => {
            let values: Vec<String> = values.iter().map(|value| python(&value)).collect();
            let comma = if values.len() == 1 { "," } else { "" };
            format!("({}{comma})", values.join(", "))
        }
        other => other.to_string(),
    }
}
