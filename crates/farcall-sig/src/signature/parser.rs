//! Parses tokens to a tree, which `check` validates.
//!
//! **Invariant.** Nesting and the size of expressions are bounded, so walking a tree cannot exhaust the
//! stack.

use super::ast::*;
use super::error::{SignatureError, TextRange};
use super::lexer::{Token, tokens};
use super::{Param, Signature};
use crate::attr::{self, AttrArray, AttrType, AttrValue, ScalarType};
use crate::dtype::DType;

/// Maximum number of terms and operators in all expressions of a signature together.
const MAX_EXPR_NODES: usize = 256;
/// Maximum nesting depth of parentheses.
const MAX_NESTING: usize = 32;

type Result<T> = std::result::Result<T, SignatureError>;

pub(super) fn parse(text: &str) -> Result<Signature> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, nodes: 0, nesting: 0 };
    parser.signature()
}

struct Parser {
    /// Tokens, ending with [`Token::End`], which the parser never moves past.
    tokens: Vec<(Token, TextRange)>,
    at: usize,
    nodes: usize,
    nesting: usize,
}

impl Parser {
    fn signature(&mut self) -> Result<Signature> {
        let mut signature =
            Signature { params: vec![], operands: vec![], attrs: vec![], results: vec![], clauses: vec![] };
        self.expect("(", "a signature begins with its operands and attributes: `(x: f32[n], …) -> (…)`")?;
        while !self.eat(")") {
            self.param(&mut signature)?;
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)` after a parameter"));
            }
        }
        self.expect("->", "the results follow: `-> (y: f32[n])`, or `-> ()` for none")?;
        self.expect("(", "results are in parentheses: `-> (y: f32[n])`, or `-> ()` for none")?;
        while !self.eat(")") {
            let result = self.result()?;
            signature.results.push(result);
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)` after a result"));
            }
        }
        if self.eat_word("where") {
            loop {
                let clause = self.clause()?;
                signature.clauses.push(clause);
                if !self.eat(";") || *self.peek() == Token::End {
                    break;
                }
            }
            if *self.peek() != Token::End {
                return Err(self.unexpected("`;` or the end after a clause"));
            }
        } else if *self.peek() != Token::End {
            return Err(self.unexpected("`where` or the end after the results"));
        }
        Ok(signature)
    }

    fn param(&mut self, signature: &mut Signature) -> Result<()> {
        let name = self.lower_name("the name of an operand or attribute")?;
        self.expect(":", "a type follows the name: `x: f32[n]` for an operand, `eps: f32` for an attribute")?;
        let next = &self.tokens.get(self.at + 1).map(|(t, _)| t);
        let is_tensor =
            matches!(self.peek(), Token::Ident(_)) && matches!(next, Some(Token::Symbol("[" | "(")));
        if !is_tensor {
            let attr = self.attr(name)?;
            signature.attrs.push(attr);
            signature.params.push(Param::Attr);
            return Ok(());
        }
        let (element, shape) = (self.element()?, self.shape()?);
        let arity = if self.eat("?") {
            Arity::Optional
        } else if self.eat("...") {
            Arity::Variadic
        } else {
            Arity::Required
        };
        if self.is("=") {
            return Err(SignatureError::new(self.span(), "an operand cannot have a default")
                .note("an operand that may be missing is written `mask: pred[n]?`"));
        }
        let layout = self.layout()?;
        signature.operands.push(OperandDecl { name, element, shape, arity, layout });
        signature.params.push(Param::Operand);
        Ok(())
    }

    fn result(&mut self) -> Result<ResultDecl> {
        let name = self.lower_name("the name of a result")?;
        self.expect(":", "a tensor follows the name: `y: f32[n]`")?;
        let element = self.element()?;
        if !self.is("[") {
            return Err(SignatureError::new(element.span, format!("the result `{name}` has no dimensions"))
                .note(format!("a scalar is written `{element}[]`")));
        }
        let shape = self.shape()?;
        if self.is("?") {
            return Err(SignatureError::new(self.span(), "a result cannot be optional on its own")
                .note("with `if mask`, the result exists only if the optional operand `mask` is given"));
        }
        let variadic = self.eat("...");
        let layout = self.layout()?;
        let aliases =
            if self.eat_word("aliases") { Some(self.lower_name("the name of an operand")?) } else { None };
        let condition = if self.eat_word("if") {
            Some(self.lower_name("the name of an optional operand")?)
        } else {
            None
        };
        Ok(ResultDecl { name, element, shape, variadic, layout, aliases, condition })
    }

    fn element(&mut self) -> Result<ElementType> {
        let start = self.span();
        let mut functions = Vec::new();
        while let (Token::Ident(word), Some((Token::Symbol("("), _))) =
            (self.peek(), self.tokens.get(self.at + 1))
        {
            let Some(function) = ElementFn::from_name(word) else {
                return Err(SignatureError::new(
                    start,
                    format!("`{word}` is not a function of element types"),
                )
                .did_you_mean(word, ["complex", "real", "acc"])
                .note("there are `complex(T)`, `real(T)` and `acc(T)`"));
            };
            if functions.len() >= MAX_NESTING {
                return Err(SignatureError::new(self.span(), "nested too deeply"));
            }
            functions.push(function);
            self.at += 2;
        }
        let (token, span) = self.next();
        let Token::Ident(word) = token else {
            self.at -= usize::from(token != Token::End);
            return Err(self.unexpected("an element type, such as `f32` or a variable `T`"));
        };
        let base = if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            TypeBase::Variable(Name { text: word, span })
        } else {
            TypeBase::Fixed(dtype(&word, span)?)
        };
        let mut end = span;
        for _ in &functions {
            end = self.expect(")", "the element type's parenthesis is not closed")?;
        }
        functions.reverse();
        Ok(ElementType { functions, base, span: start.to(end) })
    }

    fn shape(&mut self) -> Result<Shape> {
        let start = self.expect("[", "the dimensions follow: `[*, n]`, or `[]` for a scalar")?;
        let mut shape = Shape { batch: None, dims: Vec::new(), any: None, span: start };
        while !self.is("]") {
            if let Some(dots) = shape.any {
                return Err(SignatureError::new(dots, "`..` stands for all dimensions, and must be alone")
                    .note("leading batch dimensions are `*`: `[*, n]`"));
            }
            if self.is("..") {
                let span = self.next().1;
                if shape.batch.is_some() || !shape.dims.is_empty() {
                    return Err(SignatureError::new(
                        span,
                        "`..` stands for all dimensions, and must be alone",
                    )
                    .note("leading batch dimensions are `*`: `[*, n]`"));
                }
                shape.any = Some(span);
                if !self.eat(",") && !self.is("]") {
                    return Err(self.unexpected("`]` after `..`"));
                }
                continue;
            }
            if self.is("*") {
                let span = self.next().1;
                if shape.batch.is_some() || !shape.dims.is_empty() {
                    return Err(SignatureError::new(span, "`*` can only be the first dimension")
                        .note("it stands for all leading batch dimensions at once"));
                }
                shape.batch = Some(span);
            } else {
                let dim = self.dim()?;
                shape.dims.push(dim);
            }
            if !self.eat(",") && !self.is("]") {
                return Err(self.unexpected("`,` or `]` after a dimension"));
            }
        }
        shape.span = start.to(self.next().1);
        Ok(shape)
    }

    fn dim(&mut self) -> Result<DimDecl> {
        let expr = self.expr()?;
        if !self.is("...") {
            return Ok(DimDecl::Size(expr));
        }
        let dots = self.next().1;
        match expr {
            Expr::Name(name) => Ok(DimDecl::Each(name)),
            other => Err(SignatureError::new(other.span().to(dots), "only a name can have dots: `n...`")),
        }
    }

    fn layout(&mut self) -> Result<Layout> {
        let start = self.span();
        if self.eat_word("column_major") {
            return Ok(Layout::ColumnMajor(start));
        }
        if !self.eat_word("layout") {
            return Ok(Layout::RowMajor);
        }
        self.expect("(", "the dimensions follow, from the slowest to the fastest: `layout(1, 0)`")?;
        let mut order = Vec::new();
        while !self.is(")") {
            let (token, span) = self.next();
            match &token {
                Token::Int(digits) => order.push(digits.parse().map_err(|_| too_large(span))?),
                other => {
                    return Err(SignatureError::new(
                        span,
                        format!("a layout must list numbers, not {}", other.describe()),
                    )
                    .note("the first dimension after `*` is 0"));
                }
            }
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)` after a dimension's number"));
            }
        }
        Ok(Layout::Order(order, start.to(self.next().1)))
    }

    fn attr(&mut self, name: Name) -> Result<AttrDecl> {
        let (token, span) = self.next();
        let ty = match token {
            Token::Symbol("[") => {
                let (token, span) = self.next();
                let Token::Ident(word) = token else {
                    return Err(SignatureError::new(span, "an array's type follows: `[i64]`"));
                };
                let element = scalar_type(&word, span)?;
                self.expect("]", "the array type's bracket is not closed")?;
                AttrType::Array(element)
            }
            Token::Str(first) => {
                let mut choices = vec![first];
                while self.eat("|") {
                    let (token, span) = self.next();
                    match token {
                        Token::Str(choice) if choices.contains(&choice) => {
                            return Err(SignatureError::new(span, format!("{choice:?} appears twice")));
                        }
                        Token::Str(choice) => choices.push(choice),
                        _ => return Err(SignatureError::new(span, "another string follows `|`")),
                    }
                }
                AttrType::Choice(choices)
            }
            Token::Ident(word) if word == "str" => AttrType::Str,
            Token::Ident(word) if word == "dict" => AttrType::Dict,
            Token::Ident(word) => AttrType::Scalar(scalar_type(&word, span)?),
            other => {
                return Err(SignatureError::new(
                    span,
                    format!("expected a type, found {}", other.describe()),
                )
                .note("an operand is `x: f32[n]`, an attribute `eps: f32`, `[i64]`, `str` or `dict`"));
            }
        };
        let optional = self.eat("?");
        let equals = self.span();
        let default = if self.eat("=") {
            if optional {
                return Err(SignatureError::new(equals, format!("`{name}` is optional and has a default"))
                    .note("with a default it need not be given: leave out `?`"));
            }
            Some(self.value(&ty)?)
        } else {
            None
        };
        Ok(AttrDecl { name, ty, default, optional })
    }

    fn value(&mut self, ty: &AttrType) -> Result<AttrValue> {
        match ty {
            AttrType::Scalar(ty) => self.scalar(*ty),
            AttrType::Array(element) => {
                self.expect("[", "the default of an array is in brackets: `[1, 2]`")?;
                let mut values = AttrArray::of_scalars(*element);
                while !self.eat("]") {
                    let value = self.scalar(*element)?;
                    values.push(&value).expect("`scalar` returns a value of the type");
                    if !self.eat(",") && !self.is("]") {
                        return Err(self.unexpected("`,` or `]` after a value"));
                    }
                }
                Ok(values.into())
            }
            AttrType::Str | AttrType::Choice(_) => {
                let (token, span) = self.next();
                let Token::Str(value) = token else {
                    return Err(SignatureError::new(span, "the default must be a string, in quotes"));
                };
                match ty {
                    AttrType::Choice(choices) if !choices.contains(&value) => {
                        Err(SignatureError::new(span, format!("{value:?} is not one of {ty}"))
                            .did_you_mean(&value, choices.iter().map(String::as_str)))
                    }
                    _ => Ok(AttrValue::Str(value)),
                }
            }
            AttrType::Dict => Err(SignatureError::new(self.span(), "a dictionary cannot have a default")
                .note("one that may be missing is written `dict?`")),
        }
    }

    fn scalar(&mut self, ty: ScalarType) -> Result<AttrValue> {
        let start = self.span();
        let negative = self.eat("-");
        let (token, end) = self.next();
        let span = start.to(end);
        let wrong = || {
            let what = if ty == ScalarType::Bool {
                "`true` or `false`".into()
            } else {
                format!("a number of type {ty}")
            };
            SignatureError::new(span, format!("the default must be {what}"))
        };
        let sign = if negative { -1.0 } else { 1.0 };
        match token {
            Token::Ident(word) if ty == ScalarType::Bool && !negative => match word.as_str() {
                "true" => Ok(AttrValue::Bool(true)),
                "false" => Ok(AttrValue::Bool(false)),
                _ => Err(wrong()),
            },
            Token::Ident(word) if ty.is_float() => match word.as_str() {
                "inf" => Ok(AttrValue::Float(sign * f64::INFINITY, ty)),
                "nan" if !negative => Ok(AttrValue::Float(f64::NAN, ty)),
                _ => Err(wrong()),
            },
            Token::Int(digits) | Token::Float(digits) if ty.is_float() => {
                // Parsed as the declared type, so that the value is rounded only once.
                let value = match ty {
                    ScalarType::F32 => digits.parse::<f32>().map(f64::from),
                    _ => digits.parse::<f64>(),
                };
                let value = value.map_err(|_| wrong())?;
                match attr::round(value, ty) {
                    Some(value) if value.is_finite() => Ok(AttrValue::Float(sign * value, ty)),
                    _ => Err(SignatureError::new(span, format!("the default is too large for {ty}"))),
                }
            }
            Token::Int(digits) => {
                let Some((low, high)) = ty.range() else { return Err(wrong()) };
                let value: i128 = digits.parse().map_err(|_| too_large(span))?;
                let value = if negative { -value } else { value };
                if !(low..=high).contains(&value) {
                    return Err(SignatureError::new(span, format!("the default does not fit {ty}"))
                        .note(format!("{ty} is from {low} to {high}")));
                }
                Ok(AttrValue::Int(value, ty))
            }
            _ => Err(wrong()),
        }
    }

    fn clause(&mut self) -> Result<Clause> {
        let start = self.span();
        if self.eat_word("side_effect") {
            return Ok(Clause::SideEffect(start));
        }
        let is_list = match self.tokens.get(self.at + 1) {
            Some((Token::Symbol("," | ":"), _)) => true,
            _ => matches!(self.peek(), Token::Ident(w) if w.starts_with(|c: char| c.is_ascii_uppercase())),
        };
        if !is_list {
            let left = self.expr()?;
            if let (Expr::Name(name), Token::End | Token::Symbol(";")) = (&left, self.peek()) {
                return Err(SignatureError::new(name.span, format!("no property is given for `{name}`"))
                    .did_you_mean(&name.text, ["side_effect"])
                    .note("a clause is `T: f32 | f64`, `n: map`, `k: sum`, `k <= n` or `side_effect`"));
            }
            let comparison = self.comparison()?;
            let right = self.expr()?;
            return Ok(Clause::Condition(left, comparison, right));
        }
        let mut names = Vec::new();
        loop {
            let (token, span) = self.next();
            match token {
                Token::Ident(text) => names.push(Name { text, span }),
                Token::Symbol("*") => names.push(Name { text: "*".into(), span }),
                other => {
                    let message =
                        format!("expected a dimension or a type variable, found {}", other.describe());
                    return Err(SignatureError::new(span, message));
                }
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect(":", "names must be followed by their meaning: `T: f32 | f64`, `m, n: map`, `k: sum`")?;
        let is_type = |name: &Name| name.text.starts_with(|c: char| c.is_ascii_uppercase());
        let types = names.iter().filter(|n| is_type(n)).count();
        if types == names.len() {
            let set = self.type_set()?;
            return Ok(Clause::Types { variables: names, set });
        }
        if let Some(odd) = names.iter().find(|n| is_type(n)) {
            return Err(SignatureError::new(odd.span, format!("`{odd}` is a type among dimensions"))
                .note("type names begin with a capital letter, dimension names with a lower-case letter"));
        }
        if self.eat_word("offset") {
            return self.offset(names);
        }
        let usage = self.dim_use()?;
        Ok(Clause::Dims { dims: names, usage })
    }

    /// Parses the rest of an offset clause, which begins with `row: offset`.
    fn offset(&mut self, mut names: Vec<Name>) -> Result<Clause> {
        let note = "an offset belongs to a dimension: `row: offset(m)`";
        self.expect("(", note)?;
        let (token, span) = self.next();
        let Token::Ident(text) = token else {
            self.at -= usize::from(token != Token::End);
            return Err(self.unexpected("a dimension").note(note));
        };
        self.expect(")", note)?;
        match (names.pop(), names.first()) {
            (Some(operand), None) => Ok(Clause::Offset { operand, dim: Name { text, span } }),
            (_, several) => {
                let span = several.map_or(span, |name| name.span);
                Err(SignatureError::new(span, "`offset` applies to one operand").note(note))
            }
        }
    }

    fn type_set(&mut self) -> Result<TypeSet> {
        if self.eat_word("any") {
            return Ok(TypeSet::Any);
        }
        let mut types = Vec::new();
        loop {
            let (token, span) = self.next();
            let Token::Ident(word) = token else {
                self.at -= usize::from(token != Token::End);
                return Err(self.unexpected("an element type, such as `f32`"));
            };
            if word == "any" {
                return Err(SignatureError::new(span, "`any` stands alone"));
            }
            let dtype = dtype(&word, span)?;
            if types.contains(&dtype) {
                return Err(SignatureError::new(span, format!("`{dtype}` appears twice")));
            }
            types.push(dtype);
            if !self.eat("|") {
                return Ok(TypeSet::OneOf(types));
            }
        }
    }

    fn dim_use(&mut self) -> Result<DimUse> {
        let (token, span) = self.next();
        let Token::Ident(word) = token else {
            self.at -= usize::from(token != Token::End);
            return Err(self.unexpected("`whole`, `map` or a reducer such as `sum`"));
        };
        let reducer = Reducer::VARIANTS.into_iter().find(|r| r.name() == word);
        match (word.as_str(), reducer) {
            ("whole", _) => Ok(DimUse::Whole),
            ("map", _) => Ok(DimUse::Map),
            (_, Some(reducer)) => Ok(DimUse::Reduce(reducer)),
            _ if word.parse::<DType>().is_ok() => {
                Err(SignatureError::new(span, format!("`{word}` is an element type"))
                    .note("a type variable begins with a capital letter: `T: f32 | f64`"))
            }
            _ => Err(SignatureError::new(span, format!("unknown reducer `{word}`"))
                .did_you_mean(
                    &word,
                    ["whole", "map"].into_iter().chain(Reducer::VARIANTS.iter().map(|r| r.name())),
                )
                .note(
                    "a dimension is `whole`, `map`, or reduced by `sum`, `prod`, `max`, `min`, `and` or `or`",
                )),
        }
    }

    fn comparison(&mut self) -> Result<Comparison> {
        use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
        for comparison in [Eq, Ne, Le, Ge, Lt, Gt] {
            if self.eat(comparison.symbol()) {
                return Ok(comparison);
            }
        }
        Err(self.unexpected("a comparison (`k <= n`), or `:` and a property of the dimension (`n: map`)"))
    }

    fn expr(&mut self) -> Result<Expr> {
        let mut left = self.term()?;
        loop {
            let op = match self.peek() {
                Token::Symbol("+") => BinaryOp::Add,
                Token::Symbol("-") => BinaryOp::Sub,
                _ => return Ok(left),
            };
            self.at += 1;
            self.count()?;
            left = Expr::Binary(op, Box::new(left), Box::new(self.term()?));
        }
    }

    fn term(&mut self) -> Result<Expr> {
        let mut left = self.factor()?;
        loop {
            let op = match self.peek() {
                Token::Symbol("*") => BinaryOp::Mul,
                Token::Symbol("/") => BinaryOp::Div,
                Token::Symbol("%") => BinaryOp::Rem,
                _ => return Ok(left),
            };
            self.at += 1;
            self.count()?;
            left = Expr::Binary(op, Box::new(left), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Expr> {
        self.count()?;
        let (token, span) = self.next();
        match token {
            Token::Int(digits) => Ok(Expr::Literal(digits.parse().map_err(|_| too_large(span))?, span)),
            Token::Symbol("(") => {
                self.nest(span)?;
                let inner = self.expr()?;
                self.expect(")", "the parenthesis is not closed")?;
                self.nesting -= 1;
                Ok(inner)
            }
            Token::Ident(word) if self.is("(") => self.call(&word, span),
            Token::Ident(text) => {
                let name = Name { text, span };
                self.check_lower(&name, "a dimension")?;
                Ok(Expr::Name(name))
            }
            token => {
                self.at -= usize::from(token != Token::End);
                Err(self.unexpected("a dimension: a name, a number or an expression"))
            }
        }
    }

    fn call(&mut self, word: &str, start: TextRange) -> Result<Expr> {
        self.nest(start)?;
        self.at += 1;
        let mut arguments = Vec::new();
        while !self.is(")") {
            let argument = self.expr()?;
            arguments.push(argument);
            if !self.eat(",") && !self.is(")") {
                return Err(self.unexpected("`,` or `)` after an argument"));
            }
        }
        let span = start.to(self.next().1);
        self.nesting -= 1;
        let count = arguments.len();
        let single = match arguments.as_slice() {
            [Expr::Name(name)] => Some(name.clone()),
            _ => None,
        };
        match (word, count, single) {
            ("min", 2.., _) => Ok(Expr::Call(ExprFn::Min, arguments, span)),
            ("max", 2.., _) => Ok(Expr::Call(ExprFn::Max, arguments, span)),
            ("ceil_div", 2, _) => Ok(Expr::Call(ExprFn::CeilDiv, arguments, span)),
            ("sum", 1, Some(name)) => Ok(Expr::Fold(Fold::Sum, name)),
            ("min", 1, Some(name)) => Ok(Expr::Fold(Fold::Min, name)),
            ("max", 1, Some(name)) => Ok(Expr::Fold(Fold::Max, name)),
            ("len", 1, Some(name)) => Ok(Expr::Len(name)),
            ("min" | "max", ..) => Err(SignatureError::new(
                span,
                format!("`{word}` takes two or more sizes, or one dimension with dots"),
            )),
            ("ceil_div", ..) => Err(SignatureError::new(span, "`ceil_div` takes two sizes")),
            ("sum", ..) => Err(SignatureError::new(span, "`sum` takes one dimension with dots: `sum(n)`")),
            ("len", ..) => Err(SignatureError::new(span, "`len` takes a variadic operand: `len(xs)`")),
            _ => Err(SignatureError::new(start, format!("`{word}` is not a function of sizes"))
                .did_you_mean(word, FUNCTIONS)
                .note("there are `min`, `max`, `ceil_div`, `sum` and `len`")),
        }
    }

    fn nest(&mut self, span: TextRange) -> Result<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(SignatureError::new(
                span,
                format!("parentheses are nested deeper than {MAX_NESTING}"),
            ));
        }
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        self.nodes += 1;
        if self.nodes > MAX_EXPR_NODES {
            return Err(SignatureError::new(self.span(), "the signature's expressions are too long"));
        }
        Ok(())
    }

    /// Parses a name that begins with a lower-case letter.
    fn lower_name(&mut self, what: &str) -> Result<Name> {
        let (token, span) = self.next();
        let Token::Ident(text) = token else {
            self.at -= usize::from(token != Token::End);
            return Err(self.unexpected(what));
        };
        let name = Name { text, span };
        self.check_lower(&name, what)?;
        Ok(name)
    }

    fn check_lower(&self, name: &Name, what: &str) -> Result<()> {
        if name.text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Ok(());
        }
        let message = format!("`{name}` cannot be {what}");
        Err(SignatureError::new(name.span, message).note(match name.text.starts_with('_') {
            true => "names begin with a letter",
            false => "type names begin with a capital letter, other names with a lower-case letter",
        }))
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> TextRange {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(TextRange::default(), |(_, span)| *span)
    }

    fn next(&mut self) -> (Token, TextRange) {
        let next = (self.peek().clone(), self.span());
        self.at += usize::from(next.0 != Token::End);
        next
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(s) if *s == symbol)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Ident(w) if w == word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str, note: &str) -> Result<TextRange> {
        let span = self.span();
        if self.eat(symbol) {
            return Ok(span);
        }
        Err(self.unexpected(&format!("`{symbol}`")).note(note))
    }

    fn unexpected(&self, wanted: &str) -> SignatureError {
        SignatureError::new(self.span(), format!("expected {wanted}, found {}", self.peek().describe()))
    }
}

/// Names of the functions on sizes.
pub(super) const FUNCTIONS: [&str; 5] = ["min", "max", "ceil_div", "sum", "len"];

fn too_large(span: TextRange) -> SignatureError {
    SignatureError::new(span, "the number is too large")
}

/// Returns the element type of this name, or an error with likely alternatives.
fn dtype(word: &str, span: TextRange) -> Result<DType> {
    if let Ok(dtype) = word.parse::<DType>() {
        return Ok(dtype);
    }
    let error = SignatureError::new(span, format!("unknown element type `{word}`"));
    Err(match spelled_elsewhere(word) {
        Some(dtype) => error.note(format!("it is called `{dtype}` here")),
        None => error.did_you_mean(word, DType::VARIANTS.iter().map(|d| d.name())),
    })
}

/// Returns the element type with this name in MLIR, NumPy, C or Rust.
fn spelled_elsewhere(word: &str) -> Option<DType> {
    let own = word.strip_suffix("_t").or_else(|| word.strip_suffix('_')).unwrap_or(word);
    Some(match own {
        "bool" | "boolean" => DType::Pred,
        "char" | "byte" => DType::S8,
        "uchar" | "ubyte" => DType::U8,
        "short" => DType::S16,
        "ushort" => DType::U16,
        "int" => DType::S32,
        "uint" | "unsigned" => DType::U32,
        "long" | "longlong" | "isize" | "ssize" | "intp" | "ptrdiff" => DType::S64,
        "ulong" | "ulonglong" | "usize" | "size" | "uintp" => DType::U64,
        "half" => DType::F16,
        "float" | "single" => DType::F32,
        "double" => DType::F64,
        "csingle" => DType::C64,
        "cdouble" | "complex" => DType::C128,
        _ => return DType::VARIANTS.into_iter().find(|d| d.mlir() == own || alias(*d) == own),
    })
}

/// Returns the name of an element type in NumPy.
fn alias(dtype: DType) -> String {
    let (word, bits) = match dtype.name().as_bytes() {
        [b's', ..] => ("int", dtype.bits()),
        [b'u', ..] => ("uint", dtype.bits()),
        [b'b', ..] => ("bfloat", dtype.bits()),
        [b'c', ..] => ("complex", dtype.bits()),
        [b'f', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => ("float", dtype.bits()),
        _ => return dtype.name().into(),
    };
    format!("{word}{bits}")
}

/// Returns the attribute type for values of an element type.
fn as_attribute(dtype: DType) -> Option<ScalarType> {
    match dtype {
        DType::Pred => Some(ScalarType::Bool),
        _ => dtype.name().replacen('s', "i", 1).parse().ok(),
    }
}

/// Returns the attribute type of this name, or an error with likely alternatives.
fn scalar_type(word: &str, span: TextRange) -> Result<ScalarType> {
    if let Ok(ty) = word.parse::<ScalarType>() {
        return Ok(ty);
    }
    if word.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Err(SignatureError::new(span, format!("`{word}` is an element type, and has no dimensions"))
            .note(format!("a scalar operand is written `{word}[]`; an attribute uses an attribute type")));
    }
    let error = SignatureError::new(span, format!("unknown attribute type `{word}`"));
    let meant = match word {
        "int" => Some("i64"),
        "float" => Some("f32"),
        "double" => Some("f64"),
        "string" => Some("str"),
        "pred" => Some("bool"),
        "dictionary" => Some("dict"),
        // `i64` holds every size and is the type of Python's integers.
        "size_t" | "usize" => Some("i64"),
        // Element types have a separate error.
        _ if word.parse::<DType>().is_ok() => None,
        _ => spelled_elsewhere(word).and_then(as_attribute).map(ScalarType::name),
    };
    if let Some(meant) = meant {
        return Err(error.note(format!("it is called `{meant}` here")));
    }
    if let Ok(dtype) = word.parse::<DType>() {
        let error = match as_attribute(dtype) {
            Some(ty) => error.note(format!("as an attribute it is called `{ty}`")),
            None => error,
        };
        return Err(error.note(format!("a scalar operand is written `{dtype}[]`")));
    }
    let names = ScalarType::VARIANTS.iter().map(|t| t.name()).chain(["str", "dict"]);
    Err(error.did_you_mean(word, names).note("an operand has dimensions: `x: f32[n]`"))
}
