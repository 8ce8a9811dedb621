//! The signature language: one line that declares an op's operands, attributes and results, and what its
//! kernel does with each dimension.
//!
//! ```text
//! (x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f64
//! ```
//!
//! A signature determines the result types ([`Signature::infer`]), the error messages for operands that
//! disagree ([`Mismatch`]), the rule for `vmap` ([`Signature::batch_rule`]), the partitioning of the op
//! ([`Signature::partition`]), and its documentation ([`Signature::markdown`]).
//!
//! A signature is passed around as text: in the author's source, where a macro checks it at compile time; in
//! the library's descriptor; and in the host, which parses it again. It does not include the op's name.
//!
//! # Reference
//!
//! ```text
//! signature  = "(" [parameter {"," parameter}] ")" "->" "(" [result {"," result}] ")"
//!              ["where" clause {";" clause}]
//!
//! parameter  = NAME ":" tensor ["?" | "..."] [layout]                             an operand
//!            | NAME ":" attribute ["?" | "=" value]                               an attribute
//! result     = NAME ":" tensor ["..."] [layout] ["aliases" OPERAND] ["if" OPERAND]
//!
//! tensor     = element "[" (".." | [dim {"," dim}]) "]"
//! element    = DTYPE | TYPE | ("complex" | "real" | "acc") "(" element ")"
//! dim        = "*" | DIM "..." | expr
//! expr       = term {("+" | "-") term}
//! term       = factor {("*" | "/" | "%") factor}
//! factor     = INTEGER | DIM | ATTRIBUTE | "(" expr ")"
//!            | ("min" | "max") "(" expr "," expr {"," expr} ")" | "ceil_div" "(" expr "," expr ")"
//!            | ("sum" | "min" | "max") "(" DIM ")" | "len" "(" OPERAND ")"
//! layout     = "column_major" | "layout" "(" INTEGER {"," INTEGER} ")"
//!
//! attribute  = SCALAR | "[" SCALAR "]" | "str" | STRING {"|" STRING} | "dict"
//! SCALAR     = bool | i8 | i16 | i32 | i64 | u8 | u16 | u32 | u64 | f32 | f64
//! value      = true | false | ["-"] NUMBER | ["-"] inf | nan | STRING | "[" [value {"," value}] "]"
//!
//! clause     = TYPE {"," TYPE} ":" ("any" | DTYPE {"|" DTYPE})
//!            | ("*" | DIM) {"," ("*" | DIM)} ":" ("whole" | "map" | reducer)
//!            | expr ("==" | "!=" | "<" | "<=" | ">" | ">=") expr
//!            | OPERAND ":" "offset" "(" DIM ")"
//!            | "side_effect"
//! reducer    = "sum" | "prod" | "max" | "min" | "and" | "or"
//! ```
//!
//! Names are ASCII letters, digits and `_`, and begin with a letter: a capital for a `TYPE` (a variable for
//! an element type), a lower-case letter for everything else. A list may end with a comma, and the clauses
//! may end with a semicolon. White space is ignored. Every token is also a Rust token, so a macro can take a
//! signature as code and report errors at the exact characters.
//!
//! ## Operands and attributes
//!
//! A parameter with brackets is a tensor, an *operand* of the call: `x: f32[n]`, or `x: f32[]` for a scalar
//! tensor. A parameter without brackets is a constant of the call, an *attribute*: `eps: f32`. Tensors use
//! the usual names for element types (`s32`, `pred`, `bf16`, `c64`: [`DType::name`](crate::DType::name));
//! attributes use Rust's names, as in the kernel's function (`i32`, `bool`).
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `eps: f32 = 1e-6` | a number with a default |
//! | `k: i64` | a required number |
//! | `axis: i64?` | an optional number: the kernel sees `Option<i64>` |
//! | `strides: [i64] = [1, 1]` | an array |
//! | `name: str` | any text |
//! | `side: "left" \| "right" = "left"` | one of these texts |
//! | `options: dict?` | a dictionary of anything |
//!
//! If a call in a program passes no attributes, an attribute `k` is inferred from a result in which a
//! dimension is `k` or `max(k, …)`. The inferred value takes precedence over the default.
//!
//! Names of operands, attributes and results must be distinct, because they become the parameters of one
//! function.
//!
//! `mask: pred[*, n]?` is optional. Optional operands come after the required ones and are filled from the
//! left: the second can be given only if the first is given. `xs: T[*, n]...` is *variadic*: it stands for
//! any number of operands, after the required ones. All entries agree in every dimension, except in
//! dimensions written with dots: in `xs: T[*, n..., d]...` each entry has a separate `n`. Several variadic
//! operands have the same number of entries: a call of `(xs: T[*]..., dxs: T[*]...)` passes all of `xs`, then
//! as many `dxs`. An op may have optional operands or variadic operands, but not both.
//!
//! ## Element types
//!
//! A variable has the set of types that the kernel is built for, given by a clause: `T: f32 | f64`, or `T:
//! any`. All tensors declared with `T` have the same type. `complex(T)` is the complex type whose parts are
//! `T`, `real(T)` the type of the parts (`T` itself if it is not complex), `acc(T)` the type used to
//! accumulate sums of `T` ([`DType::accumulator`](crate::DType::accumulator)). Each variable must be
//! determined by a required operand.
//!
//! ## Dimensions
//!
//! A dimension is a name, which has one size throughout the call; a number; or an expression over names and
//! integer attributes. `/` rounds down, `ceil_div` up. A name that is an integer attribute stands for its
//! value: in a result it is the size to produce, in an operand a size to check. A dimension name must stand
//! alone in at least one required operand, which determines its size. Expressions elsewhere can then use the
//! name; expressions in operands are checked.
//!
//! `*`, the first dimension of a tensor if present, stands for any number of leading *batch* dimensions,
//! which are the same in all tensors that have `*`. It is a promise: the kernel handles each batch entry
//! independently.
//!
//! For a dimension with dots, `sum(n)`, `max(n)` and `min(n)` combine the sizes of all entries, and `len(xs)`
//! is the number of entries: `(xs: T[*, n..., d]...) -> (y: T[*, sum(n), d])` is a concatenation. A result
//! with dots (`ys: T[*, n...]...`) occurs once for each entry of the variadic operands.
//!
//! `x: T[..]` has arbitrary, unnamed dimensions. A result `y: T[..]` that aliases such an operand has the
//! operand's dimensions; for any other such result, the op's *shape function* computes them (see
//! [below](#limitations)). A signature with such tensors may also have other tensors. If a result is declared
//! `[..]`, no dimension can be split, and `*` is `whole`.
//!
//! A comparison among the clauses is a condition that every call must satisfy: `k <= n`.
//!
//! ## Use of a dimension by the kernel
//!
//! | clause | promise | consequence |
//! | --- | --- | --- |
//! | `n: whole`, the default | none: the kernel needs all of `n` | neither split nor extended |
//! | `n: map` | entry `i` of each result depends only on entry `i` of the operands that have `n`, and on the operands without `n` | split |
//! | `n: sum` (`max`, …) | running on parts of `n`, then adding up (or taking the maximum of, …) the results that lack `n`, gives the result for the whole; results that have `n` are mapped | split, then combined |
//!
//! A dimension that may be split stands alone in every shape that has it, at most once in each tensor and not
//! in a condition. Every result has each mapped dimension. Each reduced dimension is missing from at least
//! one result: in the gradient of a product, `(a: T[m, k], b: T[k, n], dc: T[m, n]) -> (da: T[m, k], db: T[k,
//! n]) where m, n: sum; k: map`, `da` is a sum over `n` and `db` over `m`. Mind the promise of `sum`: with a
//! bias that is added once, `a·b + bias` is *not* a sum over `k`, since each part would add the bias again.
//! `farcall op --check` compares the combined results of the parts with the results of the whole.
//!
//! `*` is mapped by default. `*: sum` says that results without `*` are sums over the batch, while results
//! with `*` are still mapped, as in the gradient of a scale that the whole batch shares. `*: whole` withdraws
//! the promise: the kernel accepts any number of leading dimensions, but looks at the whole batch.
//!
//! ## Offsets
//!
//! `row: offset(m)` declares that the operand `row`, an `s32[]` or `s64[]`, holds the index within the whole
//! dimension `m` at which the kernel's part begins. A host that splits `m` among devices adds the offset of
//! each part to the caller's value, which is 0 by default. Positional encodings, counter-based random numbers
//! and row numbers in errors therefore do not depend on how `m` is split: `(x: f32[*, m, n], row: s32[]) ->
//! (y: f32[*, m, n]) where m: map; row: offset(m)`. A derivative op that takes `row` declares the same
//! offset.
//!
//! ## Memory
//!
//! A tensor is row-major. `column_major` exchanges the last two dimensions in memory;
//! `layout(2, 0, 1)` lists the dimensions (without `*`, from 0) from the slowest to the fastest. Batch
//! dimensions are always outermost.
//!
//! `acc: T[n]` … `out: T[n] aliases acc`: the result is in the operand's buffer, which the kernel updates in
//! place. The caller sees no difference: the host copies first if the operand is still needed.
//!
//! `out: T[n] if bias` exists exactly if the optional operand `bias` is given. The gradient of an optional
//! bias is such a result.
//!
//! `side_effect`: the call is never removed, duplicated, merged with an equal call, reordered against other
//! calls or split.
//!
//! ## Examples
//!
//! ```text
//! gemm           (a: T[*, m, k], b: T[*, k, n]) -> (c: T[*, m, n])
//!                where T: f32 | f64 | bf16; m, n: map; k: sum
//! rms_norm_grad  (x: T[*, n], scale: T[n], dy: T[*, n], eps: f32 = 1e-6) -> (dx: T[*, n], dscale: T[n])
//!                where T: f32 | f64; *: sum
//! qr             (x: T[*, m, n] column_major)
//!                -> (q: T[*, m, min(m, n)] column_major, r: T[*, min(m, n), n] column_major)
//!                where T: f32 | f64 | c64 | c128
//! top_k          (x: T[*, n], k: i64) -> (values: T[*, k], indices: s32[*, k])
//!                where T: f32 | s32; 0 <= k; k <= n
//! rfft           (x: T[*, n]) -> (y: complex(T)[*, n/2+1]) where T: f32 | f64
//! conv1d         (x: T[*, c, n], w: T[o, c, k], stride: i64 = 1, pad: i64 = 0)
//!                -> (y: T[*, o, (n+2*pad-k)/stride+1])
//!                where T: f32 | f64; o: map; c: sum; stride >= 1; pad >= 0
//! concat         (xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map
//! scatter_add    (base: T[n, d], at: s32[k], rows: T[k, d]) -> (out: T[n, d] aliases base)
//!                where T: f32 | f64; d: map
//! print          (x: T[*], label: str = "") -> () where T: any; side_effect
//! random_bits    (key: u32[*, 2], n: i64) -> (bits: u32[*, n])
//! softmax        (x: T[*, n], mask: pred[*, n]?) -> (y: T[*, n]) where T: f32 | bf16
//! transpose      (x: T[..], perm: [i64]) -> (y: T[..]) where T: any
//! ```
//!
//! # Gradients
//!
//! The signatures of an op's derivatives are matched with the op's signature by name ([`Vjp::new`],
//! [`Jvp::new`]): `x` is the operand `x`, `y` the result `y`, `dx` and `dy` their cotangents or tangents.
//! Parameters with other names are bound explicitly ([`Bindings`]). A transpose ([`Vjp::transpose`]) turns a
//! forward derivative into a reverse one.
//!
//! # Limitations
//!
//! A signature cannot express dimensions that depend on an operand's rank, or on the contents of an array or
//! string attribute. It cannot express a `vmap` that is one call with other attributes, or with the mapped
//! axis anywhere but in front. Such an op provides functions beside the signature:
//!
//! - A *shape function* computes the dimensions of results declared `[..]`, for each call, after everything
//!   else in the signature has been checked ([`Signature::infer_with`]).
//! - A *batching function* chooses, for each call, a loop or a single call. For a single call, it gives the
//!   positions of the mapped axis and the attributes ([`Batching::Custom`]). A batching function takes
//!   precedence over the rule that follows from the signature. Without one, an op with a `[..]` result is
//!   vmapped as a loop. An op may also declare that it is never vmapped ([`BatchSummary::Never`]).
//!
//! Neither the language nor these functions can express an element type that depends on an attribute, several
//! kinds of reduction over one dimension, or halos. Tensors with arbitrary dimensions (`[..]`) are not
//! partitioned.
//!
//! # Implementation
//!
//! `lexer` and `parser` turn text into the tree of `ast`; `check` rejects invalid trees; all other modules
//! read a checked tree. **Invariant.** A [`Signature`] exists only if it has been checked, and its printed
//! form parses to an equal signature.

mod ast;
mod batching;
mod check;
mod doc;
mod error;
mod gradient;
mod infer;
mod lexer;
mod numbers;
mod offset;
mod parser;
mod partition;
mod size;

use std::fmt;
use std::str::FromStr;

use crate::dtype::DType;

pub use ast::{
    Arity, AttrDecl, BinaryOp, Clause, Comparison, DimDecl, DimUse, ElementFn, ElementType, Expr, ExprFn,
    Fold, Layout, Name, OperandDecl, Reducer, ResultDecl, Shape, TypeBase, TypeSet,
};
pub use batching::{BatchSummary, Batching};
pub use error::{SignatureError, TextRange};
pub use gradient::{
    At, AttrOutline, Binding, BindingError, BindingRole, Bindings, DerivativeRule, GradientError, Jvp,
    JvpSource, Misfit, Outline, Part, Said, TensorOutline, Vjp, VjpSource,
};
pub use infer::{CallPart, Inference, Mismatch, MismatchKind, OperandType, ResultType};
pub use numbers::{GivenType, NumberKind, NumberTypes};
pub use partition::{
    BatchDims, BatchSplit, CallFactor, CallFactors, Factor, FactorKind, Mapping, Partition, ShardyRule,
};
pub use size::{Size, SizeError};

/// A checked signature. The [module documentation](self) is the language's reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    params: Vec<Param>,
    operands: Vec<OperandDecl>,
    attrs: Vec<AttrDecl>,
    results: Vec<ResultDecl>,
    clauses: Vec<Clause>,
}

/// The list that the next parameter comes from. It preserves the written order of operands and attributes for
/// printing.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Param {
    Operand,
    Attr,
}

/// Parses and checks a signature. The error describes the first mistake and the span of its characters.
///
/// ```
/// use farcall_sig::Signature;
///
/// let signature: Signature = "(x: f32[*, n], eps: f32 = 1e-6) -> (y: f32[*, n])".parse()?;
/// assert_eq!(signature.operands()[0].name.text, "x");
/// assert_eq!(signature.to_string().parse::<Signature>()?, signature);
///
/// let error = "(x: f32[n) -> ()".parse::<Signature>().unwrap_err();
/// assert_eq!(error.message, "expected `,` or `]` after a dimension, found `)`");
/// # Ok::<(), farcall_sig::SignatureError>(())
/// ```
impl FromStr for Signature {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Signature, SignatureError> {
        let signature = parser::parse(text)?;
        check::check(&signature)?;
        Ok(signature)
    }
}

impl Signature {
    /// Operands in the order of the call. Optional or variadic operands come last; an op does not have both
    /// kinds.
    pub fn operands(&self) -> &[OperandDecl] {
        &self.operands
    }

    /// Attributes in the order in which they are written.
    pub fn attrs(&self) -> &[AttrDecl] {
        &self.attrs
    }

    /// Results in order.
    pub fn results(&self) -> &[ResultDecl] {
        &self.results
    }

    /// Clauses after `where`.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Returns true if the op has a side effect.
    pub fn has_side_effect(&self) -> bool {
        self.clauses.iter().any(|c| matches!(c, Clause::SideEffect(_)))
    }

    /// Returns the only value that the conditions allow for an attribute (`attr == 3`); `None` if they allow
    /// several.
    pub fn only_value(&self, attr: &str) -> Option<i64> {
        self.clauses.iter().find_map(|c| match c {
            Clause::Condition(Expr::Name(name), Comparison::Eq, Expr::Literal(value, _))
                if name.text == attr =>
            {
                Some(*value)
            }
            _ => None,
        })
    }

    /// Returns the set of types that a variable stands for.
    pub fn type_set(&self, variable: &str) -> Option<&TypeSet> {
        self.clauses.iter().find_map(|c| match c {
            Clause::Types { variables, set } if variables.iter().any(|v| v.text == variable) => Some(set),
            _ => None,
        })
    }

    /// Returns the types that an element type of this signature can be, in the order in which they are
    /// written.
    pub fn possible_types(&self, element: &ElementType) -> Vec<DType> {
        match element.variable() {
            None => element.apply(DType::F32).into_iter().collect(),
            Some(variable) => {
                let set = self.type_set(&variable.text).map(TypeSet::types).unwrap_or_default();
                set.iter().filter_map(|t| element.apply(*t)).collect()
            }
        }
    }

    /// Returns how the kernel uses a dimension; `"*"` names the batch.
    pub fn dim_use(&self, dim: &str) -> DimUse {
        let said = self.clauses.iter().find_map(|c| match c {
            Clause::Dims { dims, usage } if dims.iter().any(|d| d.text == dim) => Some(*usage),
            _ => None,
        });
        said.unwrap_or(if dim == "*" { DimUse::Map } else { DimUse::Whole })
    }

    /// Returns true if every operand and every result has the leading batch dimensions and the kernel handles
    /// each batch entry independently. The call can then be partitioned over the batch without further
    /// knowledge.
    pub fn is_batched_throughout(&self) -> bool {
        self.dim_use("*") == DimUse::Map
            && !self.has_side_effect()
            && !self.operands.is_empty()
            && self.operands.iter().all(|o| o.shape.batch.is_some())
            && self.results.iter().all(|r| r.shape.batch.is_some())
    }

    /// Returns the first result whose dimensions need a shape function: a `[..]` result that does not alias
    /// an operand.
    pub fn needs_shape_function(&self) -> Option<&ResultDecl> {
        self.results.iter().find(|r| r.shape.any.is_some() && r.aliases.is_none())
    }

    /// Returns the first declaration in which two signatures differ, in both versions: `x: f32[*, n]` and `x:
    /// f32[n]`.
    pub fn difference(&self, other: &Signature) -> Option<(Option<String>, Option<String>)> {
        fn print<T: fmt::Display>(items: &[T]) -> Vec<String> {
            items.iter().map(T::to_string).collect()
        }
        let parts =
            |s: &Signature| [print(&s.operands), print(&s.attrs), print(&s.results), print(&s.clauses)];
        let pairs = parts(self).into_iter().zip(parts(other)).flat_map(|(ours, theirs)| {
            let count = ours.len().max(theirs.len());
            (0..count).map(move |i| (ours.get(i).cloned(), theirs.get(i).cloned())).collect::<Vec<_>>()
        });
        pairs.into_iter().find(|(ours, theirs)| ours != theirs)
    }

    fn attr(&self, name: &str) -> Option<&AttrDecl> {
        self.attrs.iter().find(|a| a.name.text == name)
    }

    fn operand(&self, name: &str) -> Option<&OperandDecl> {
        self.operands.iter().find(|o| o.name.text == name)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut operands, mut attrs) = (self.operands.iter(), self.attrs.iter());
        f.write_str("(")?;
        for (i, param) in self.params.iter().enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            match param {
                Param::Operand => operands.next().map_or(Ok(()), |o| write!(f, "{separator}{o}"))?,
                Param::Attr => attrs.next().map_or(Ok(()), |a| write!(f, "{separator}{a}"))?,
            }
        }
        f.write_str(") -> (")?;
        for (i, result) in self.results.iter().enumerate() {
            write!(f, "{}{result}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str(")")?;
        for (i, clause) in self.clauses.iter().enumerate() {
            write!(f, "{}{clause}", if i > 0 { "; " } else { " where " })?;
        }
        Ok(())
    }
}
