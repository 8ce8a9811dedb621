//! Syntax tree of a signature, and its printer.
//!
//! Printing is canonical: one space after a comma, none inside an expression, no redundant parentheses.
//! Declarations keep the author's order.

use std::fmt::{self, Display};

use super::error::TextRange;
use crate::attr::{AttrType, AttrValue};
use crate::dtype::DType;

/// A name and its position in the text.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// Text of the name.
    pub text: String,
    /// Position in the text.
    pub span: TextRange,
}

/// An operand: `mask: pred[*, n]?`.
#[derive(Clone, PartialEq, Debug)]
pub struct OperandDecl {
    /// Name of the operand.
    pub name: Name,
    /// Element type.
    pub element: ElementType,
    /// Dimensions.
    pub shape: Shape,
    /// Number of operands in a call.
    pub arity: Arity,
    /// Order of the dimensions in memory.
    pub layout: Layout,
}

/// Number of operands in a call for one declared operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Exactly one.
    Required,
    /// One or none: `?`.
    Optional,
    /// Any number: `...`.
    Variadic,
}

/// An attribute: `eps: f32 = 1e-6`.
#[derive(Clone, PartialEq, Debug)]
pub struct AttrDecl {
    /// Name of the attribute.
    pub name: Name,
    /// Type of the attribute.
    pub ty: AttrType,
    /// Value of the attribute in a call that does not pass it.
    pub default: Option<AttrValue>,
    /// True if the attribute may be absent: `?`.
    pub optional: bool,
}

impl AttrDecl {
    /// Returns true if every call has to pass the attribute.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !self.optional
    }
}

/// A result: `dbias: T[n] aliases bias if bias`.
#[derive(Clone, PartialEq, Debug)]
pub struct ResultDecl {
    /// Name of the result.
    pub name: Name,
    /// Element type.
    pub element: ElementType,
    /// Dimensions.
    pub shape: Shape,
    /// True if the result occurs once for each entry of the variadic operands: `...`.
    pub variadic: bool,
    /// Order of the dimensions in memory.
    pub layout: Layout,
    /// Operand whose buffer holds the result.
    pub aliases: Option<Name>,
    /// Optional operand that must be given for the result to exist.
    pub condition: Option<Name>,
}

/// An element type: `f32`, `T`, `complex(T)`.
#[derive(Clone, PartialEq, Debug)]
pub struct ElementType {
    /// Functions applied to the base, innermost first.
    pub functions: Vec<ElementFn>,
    /// Innermost type.
    pub base: TypeBase,
    /// Position in the text.
    pub span: TextRange,
}

/// The innermost part of an element type.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeBase {
    /// `f32`
    Fixed(DType),
    /// `T`
    Variable(Name),
}

/// A function from element types to element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementFn {
    /// The complex type with parts of this type; defined for `f32` and `f64`.
    Complex,
    /// The type of the parts of a complex type; any other type is unchanged.
    Real,
    /// The type in which sums are accumulated.
    Accumulator,
}

impl ElementFn {
    /// `complex`, `real`, `acc`
    pub fn name(self) -> &'static str {
        match self {
            ElementFn::Complex => "complex",
            ElementFn::Real => "real",
            ElementFn::Accumulator => "acc",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<ElementFn> {
        [ElementFn::Complex, ElementFn::Real, ElementFn::Accumulator].into_iter().find(|f| f.name() == name)
    }

    /// Applies the function; returns `None` where it is undefined.
    pub fn apply(self, dtype: DType) -> Option<DType> {
        match self {
            ElementFn::Complex => dtype.complex(),
            ElementFn::Real => Some(dtype.real()),
            ElementFn::Accumulator => Some(dtype.accumulator()),
        }
    }
}

impl ElementType {
    /// Returns the variable that the type depends on.
    pub fn variable(&self) -> Option<&Name> {
        match &self.base {
            TypeBase::Variable(name) => Some(name),
            TypeBase::Fixed(_) => None,
        }
    }

    /// Returns the type with `base` substituted for the variable.
    pub fn apply(&self, base: DType) -> Option<DType> {
        let start = match self.base {
            TypeBase::Fixed(dtype) => dtype,
            TypeBase::Variable(_) => base,
        };
        self.functions.iter().try_fold(start, |dtype, function| function.apply(dtype))
    }
}

/// The dimensions of a tensor: `[*, m, n]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Shape {
    /// Position of `*`, if present.
    pub batch: Option<TextRange>,
    /// The other dimensions.
    pub dims: Vec<DimDecl>,
    /// Position of `..`, if present. `..` stands for all dimensions and must be alone.
    pub any: Option<TextRange>,
    /// Position in the text, including the brackets.
    pub span: TextRange,
}

impl Shape {
    /// Returns the number of dimensions, if all tensors of this shape have the same number.
    pub fn rank(&self) -> Option<usize> {
        (self.batch.is_none() && self.any.is_none()).then_some(self.dims.len())
    }

    /// Returns true if one of the dimensions is exactly this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.dims.iter().any(|dim| matches!(dim, DimDecl::Size(Expr::Name(own)) if own.text == name))
    }
}

/// A dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum DimDecl {
    /// `n`, `3`, `2*n+1`
    Size(Expr),
    /// `n...`: a separate size for each variadic operand.
    Each(Name),
}

/// An expression over dimensions and integer attributes.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// `3`
    Literal(i64, TextRange),
    /// A dimension or an integer attribute.
    Name(Name),
    /// `2*n`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `min(m, n)`
    Call(ExprFn, Vec<Expr>, TextRange),
    /// `sum(n)`, of a dimension with dots.
    Fold(Fold, Name),
    /// `len(xs)`, of a variadic operand.
    Len(Name),
}

/// A binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, rounded down.
    Div,
    /// `%`, with the sign of the divisor.
    Rem,
}

impl BinaryOp {
    fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }

    fn is_additive(self) -> bool {
        matches!(self, BinaryOp::Add | BinaryOp::Sub)
    }
}

/// A function in an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprFn {
    /// The minimum of two or more sizes.
    Min,
    /// The maximum of two or more sizes.
    Max,
    /// A quotient, rounded up.
    CeilDiv,
}

impl ExprFn {
    pub(super) fn name(self) -> &'static str {
        match self {
            ExprFn::Min => "min",
            ExprFn::Max => "max",
            ExprFn::CeilDiv => "ceil_div",
        }
    }
}

/// Function that combines all sizes of a dimension with dots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// The sum.
    Sum,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

impl Fold {
    pub(super) fn name(self) -> &'static str {
        match self {
            Fold::Sum => "sum",
            Fold::Min => "min",
            Fold::Max => "max",
        }
    }
}

impl Expr {
    /// Returns the position in the text, from the first character to the last.
    pub fn span(&self) -> TextRange {
        match self {
            Expr::Literal(_, span) | Expr::Call(_, _, span) => *span,
            Expr::Name(name) | Expr::Fold(_, name) | Expr::Len(name) => name.span,
            Expr::Binary(_, left, right) => left.span().to(right.span()),
        }
    }

    /// Calls `f` with each name in the expression that stands for a size. The flag is true if the name is the
    /// argument of a [`Fold`].
    pub(super) fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Name, bool)) {
        match self {
            Expr::Literal(..) | Expr::Len(_) => {}
            Expr::Name(name) => f(name, false),
            Expr::Fold(_, name) => f(name, true),
            Expr::Binary(_, left, right) => {
                left.visit(f);
                right.visit(f);
            }
            Expr::Call(_, arguments, _) => arguments.iter().for_each(|a| a.visit(f)),
        }
    }
}

/// Order of a tensor's dimensions in memory. Batch dimensions are outermost.
#[derive(Clone, PartialEq, Debug)]
pub enum Layout {
    /// The last dimension varies fastest. This is the default and has no syntax.
    RowMajor,
    /// `column_major`: the second-to-last dimension varies fastest.
    ColumnMajor(TextRange),
    /// `layout(2, 0, 1)`: from slowest to fastest, without batch dimensions.
    Order(Vec<usize>, TextRange),
}

impl Layout {
    /// Returns the dimensions of a tensor of this rank (batch dimensions included) from fastest to slowest:
    /// XLA's `minor_to_major`.
    pub fn minor_to_major(&self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).rev().collect();
        match self {
            Layout::RowMajor => {}
            Layout::ColumnMajor(_) if rank >= 2 => order.swap(0, 1),
            Layout::ColumnMajor(_) => {}
            Layout::Order(slowest_first, _) => {
                let batch = rank.saturating_sub(slowest_first.len());
                for (place, dim) in order.iter_mut().zip(slowest_first.iter().rev()) {
                    *place = batch + dim;
                }
            }
        }
        order
    }
}

/// A clause after `where`.
#[derive(Clone, PartialEq, Debug)]
pub enum Clause {
    /// `T: f32 | f64`
    Types {
        /// The variables.
        variables: Vec<Name>,
        /// The set of types that each variable stands for.
        set: TypeSet,
    },
    /// `m, n: map`
    Dims {
        /// The dimensions; the batch is `"*"`.
        dims: Vec<Name>,
        /// Use of each dimension by the kernel.
        usage: DimUse,
    },
    /// `k <= n`
    Condition(Expr, Comparison, Expr),
    /// `row: offset(m)`
    Offset {
        /// The operand that holds the offset.
        operand: Name,
        /// The dimension that the offset is an index into.
        dim: Name,
    },
    /// `side_effect`
    SideEffect(TextRange),
}

/// Set of types that a variable stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeSet {
    /// All types.
    Any,
    /// The listed types, in the order in which they are written.
    OneOf(Vec<DType>),
}

impl TypeSet {
    /// Returns the types in the order in which they are written.
    pub fn types(&self) -> &[DType] {
        match self {
            TypeSet::Any => &DType::VARIANTS,
            TypeSet::OneOf(types) => types,
        }
    }

    /// Returns true if the set contains the type.
    pub fn contains(&self, dtype: DType) -> bool {
        self.types().contains(&dtype)
    }

    /// Formats the set for messages: `f32 or f64`.
    pub(super) fn in_words(&self) -> String {
        match self {
            TypeSet::Any => "of any type".into(),
            TypeSet::OneOf(types) => types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" or "),
        }
    }
}

/// Use of a dimension by a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DimUse {
    /// The kernel needs the whole dimension.
    Whole,
    /// The kernel handles each entry independently.
    Map,
    /// The kernel reduces over the dimension.
    Reduce(Reducer),
}

/// Operation that combines the results for the parts of a reduced dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reducer {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Logical or bitwise and.
    And,
    /// Logical or bitwise or.
    Or,
}

impl Reducer {
    /// All reducers.
    pub const VARIANTS: [Reducer; 6] =
        [Reducer::Sum, Reducer::Prod, Reducer::Max, Reducer::Min, Reducer::And, Reducer::Or];

    /// Name in the signature language: `sum`, `prod`, `max`, `min`, `and`, `or`.
    pub fn name(self) -> &'static str {
        match self {
            Reducer::Sum => "sum",
            Reducer::Prod => "prod",
            Reducer::Max => "max",
            Reducer::Min => "min",
            Reducer::And => "and",
            Reducer::Or => "or",
        }
    }
}

/// Comparison of two sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is the operator of that name")]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    /// `==`, `!=`, `<`, `<=`, `>`, `>=`
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Eq => "==",
            Comparison::Ne => "!=",
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Gt => ">",
            Comparison::Ge => ">=",
        }
    }

    /// Returns true if the comparison holds for two sizes.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Eq => left == right,
            Comparison::Ne => left != right,
            Comparison::Lt => left < right,
            Comparison::Le => left <= right,
            Comparison::Gt => left > right,
            Comparison::Ge => left >= right,
        }
    }
}

/// Writes items with a separator between them.
pub(super) fn join<T: Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    separator: &str,
) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if i > 0 { separator } else { "" })?;
    }
    Ok(())
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for OperandDecl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.arity {
            Arity::Required => "",
            Arity::Optional => "?",
            Arity::Variadic => "...",
        };
        write!(f, "{}: {}{}{suffix}{}", self.name, self.element, self.shape, self.layout)
    }
}

impl Display for AttrDecl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.name, self.ty, if self.optional { "?" } else { "" })?;
        match &self.default {
            Some(value) => write!(f, " = {value}"),
            None => Ok(()),
        }
    }
}

impl Display for ResultDecl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = if self.variadic { "..." } else { "" };
        write!(f, "{}: {}{}{dots}{}", self.name, self.element, self.shape, self.layout)?;
        if let Some(operand) = &self.aliases {
            write!(f, " aliases {operand}")?;
        }
        match &self.condition {
            Some(operand) => write!(f, " if {operand}"),
            None => Ok(()),
        }
    }
}

impl Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for function in self.functions.iter().rev() {
            write!(f, "{}(", function.name())?;
        }
        match &self.base {
            TypeBase::Fixed(dtype) => write!(f, "{dtype}")?,
            TypeBase::Variable(name) => write!(f, "{name}")?,
        }
        self.functions.iter().try_for_each(|_| f.write_str(")"))
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.any.is_some() {
            return f.write_str("[..]");
        }
        f.write_str(match (self.batch.is_some(), self.dims.is_empty()) {
            (true, false) => "[*, ",
            (true, true) => "[*",
            (false, _) => "[",
        })?;
        join(f, &self.dims, ", ")?;
        f.write_str("]")
    }
}

impl Display for DimDecl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DimDecl::Size(expr) => write!(f, "{expr}"),
            DimDecl::Each(name) => write!(f, "{name}..."),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(value, _) => write!(f, "{value}"),
            Expr::Name(name) => write!(f, "{name}"),
            Expr::Binary(op, left, right) => {
                let tight = !op.is_additive();
                let parenthesized = |expr: &Expr, right: bool| match expr {
                    Expr::Binary(inner, ..) if right => tight || inner.is_additive(),
                    Expr::Binary(inner, ..) => tight && inner.is_additive(),
                    _ => false,
                };
                let side = |f: &mut fmt::Formatter<'_>, expr: &Expr, right| match parenthesized(expr, right) {
                    true => write!(f, "({expr})"),
                    false => write!(f, "{expr}"),
                };
                side(f, left, false)?;
                f.write_str(op.symbol())?;
                side(f, right, true)
            }
            Expr::Call(function, arguments, _) => {
                write!(f, "{}(", function.name())?;
                join(f, arguments, ", ")?;
                f.write_str(")")
            }
            Expr::Fold(fold, name) => write!(f, "{}({name})", fold.name()),
            Expr::Len(operand) => write!(f, "len({operand})"),
        }
    }
}

/// Prints the layout after a space. The default has no syntax, so nothing is printed for it.
impl Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::RowMajor => Ok(()),
            Layout::ColumnMajor(_) => f.write_str(" column_major"),
            Layout::Order(order, _) => {
                f.write_str(" layout(")?;
                join(f, order, ", ")?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clause::Types { variables, set } => {
                join(f, variables, ", ")?;
                write!(f, ": {set}")
            }
            Clause::Dims { dims, usage } => {
                join(f, dims, ", ")?;
                write!(f, ": {usage}")
            }
            Clause::Condition(left, comparison, right) => {
                write!(f, "{left} {} {right}", comparison.symbol())
            }
            Clause::Offset { operand, dim } => write!(f, "{operand}: offset({dim})"),
            Clause::SideEffect(_) => f.write_str("side_effect"),
        }
    }
}

impl Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeSet::Any => f.write_str("any"),
            TypeSet::OneOf(types) => join(f, types, " | "),
        }
    }
}

impl Display for DimUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DimUse::Whole => "whole",
            DimUse::Map => "map",
            DimUse::Reduce(reducer) => reducer.name(),
        })
    }
}
