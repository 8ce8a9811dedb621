//! Operations of other dialects that have an equivalent in StableHLO.
//!
//! MHLO is StableHLO under another name ([`mhlo`]). Operations that frameworks use beside StableHLO (`arith`,
//! `tensor`, `shape`) are converted to StableHLO operations while they are read ([`lookup`]): a value of type
//! `index` or `f32` becomes a tensor of rank 0, `index` becomes `i64`, and a shape becomes a vector of
//! extents. An unknown operation is an error, whose message names the operation.

use farcall_sig::DType;
use smallvec::SmallVec;

use super::lexer::{Tok, Token, next_token};
use super::parser::{Parsed, Parser, span};
use super::scope::{Operands, ResultName};
use super::shape_operations::Emitter;
use super::syntax::{Draft, Syntax};
use super::table::{self, MHLO_TOP_K};
use crate::attr::{AttrDict, Attribute};
use crate::diag::{Diagnostic, Span};
use crate::literal::Literal;
use crate::module::{RegionId, ValueId};
use crate::op::{Binary, Op, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type, TypeList};

/// Looks up an operation of MHLO. Returns the StableHLO or CHLO operation with the same operands and
/// attributes, and the additional attribute that the name in MHLO implies.
pub(super) fn mhlo(name: &str) -> Option<(&'static Syntax, Implied)> {
    // The oldest programs use hyphens.
    let base = name.strip_prefix("mhlo.")?.replace('-', "_");
    let rng = |kind| Some((table::lookup("stablehlo.rng")?, Some(("rng_distribution", kind))));
    match base.as_str() {
        "topk" => Some((&MHLO_TOP_K, None)),
        "rng_uniform" => rng("UNIFORM"),
        "rng_normal" => rng("NORMAL"),
        _ => {
            let find = |dialect: &str| table::lookup(&format!("{dialect}.{base}"));
            let is_unary = |s: &&Syntax| Unary::VARIANTS.iter().any(|op| op.name() == s.name);
            find("stablehlo").or_else(|| find("chlo").filter(is_unary)).map(|syntax| (syntax, None))
        }
    }
}

/// An implied attribute: its name and text.
pub(super) type Implied = Option<(&'static str, &'static str)>;

/// An operation of another dialect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Foreign {
    /// A constant from an attribute.
    Constant,
    /// A conversion to another type.
    Convert,
    /// The operand itself.
    Identity,
    /// An elementwise operation on two values of one type.
    Binary(Binary),
    Negate,
    Dim,
    Extract,
    FromElements,
    ShapeOf,
    Broadcast,
    NumElements,
    Concat,
    /// An assertion that shapes can be broadcast.
    Broadcastable,
    Equal,
    Require,
    /// The conjunction of conditions.
    All,
    /// A region that runs if a condition holds. It is inlined.
    Assuming,
}

/// Looks up an operation of another dialect by name.
pub(super) fn lookup(name: &str) -> Option<Foreign> {
    use Foreign::*;
    Some(match name {
        "arith.constant"
        | "std.constant"
        | "constant"
        | "sdy.constant"
        | "util.unfoldable_constant"
        | "shape.const_shape"
        | "shape.const_size"
        | "shape.const_witness" => Constant,
        "tensor.cast" | "arith.index_cast" | "arith.extsi" | "arith.extf" | "arith.sitofp"
        | "arith.truncf" => Convert,
        "shape.to_extent_tensor"
        | "shape.from_extent_tensor"
        | "shape.index_to_size"
        | "shape.size_to_index"
        | "shape.value_as_shape"
        | "mhlo.add_dependency" => Identity,
        "arith.addi" | "arith.addf" | "shape.add" => Binary(self::Binary::Add),
        "arith.subi" | "arith.subf" => Binary(self::Binary::Subtract),
        "arith.muli" | "arith.mulf" | "shape.mul" => Binary(self::Binary::Multiply),
        "arith.divf" => Binary(self::Binary::Divide),
        "arith.maxsi" | "arith.maximumf" => Binary(self::Binary::Maximum),
        "arith.minsi" | "arith.minimumf" => Binary(self::Binary::Minimum),
        "arith.andi" => Binary(self::Binary::And),
        "arith.ori" => Binary(self::Binary::Or),
        "arith.xori" => Binary(self::Binary::Xor),
        "arith.negf" => Negate,
        "tensor.dim" | "shape.dim" => Dim,
        "tensor.extract" | "shape.get_extent" => Extract,
        "tensor.from_elements" | "shape.from_extents" => FromElements,
        "shape.shape_of" => ShapeOf,
        "shape.broadcast" => Broadcast,
        "shape.num_elements" => NumElements,
        "shape.concat" => Concat,
        "shape.cstr_broadcastable" => Broadcastable,
        "shape.cstr_eq" => Equal,
        "shape.cstr_require" => Require,
        "shape.assuming_all" => All,
        "shape.assuming" => Assuming,
        _ => return None,
    })
}

/// The parsed operands, attributes and types of an operation.
struct ForeignDraft {
    operands: SmallVec<[ValueId; 4]>,
    attrs: AttrDict,
    /// The last type in the text. If there are several types, it is the result type.
    last: Option<Type>,
    /// Values that the operation's region yields.
    yielded: Option<SmallVec<[ValueId; 4]>>,
}

impl<'s> Parser<'s> {
    /// Parses an operation of another dialect after its name, and appends equivalent StableHLO operations to
    /// a region.
    pub(super) fn foreign(
        &mut self,
        op: Foreign,
        name: Token,
        names: &[ResultName<'s>],
        out: RegionId,
    ) -> Parsed<()> {
        let at = span(name);
        let reported = self.diagnostics.len();
        let found = match name.tok {
            Tok::Str => self.foreign_generic(op, out)?,
            _ => self.foreign_pretty(op, out)?,
        };
        self.trailing_loc()?;
        let mut values = Vec::new();
        // Errors such as unknown operands have been reported; do not report consequential ones.
        if self.diagnostics.len() == reported {
            match self.foreign_values(op, found, out, at) {
                Ok(made) => values = made,
                Err(message) => {
                    let message = format!("{}: {message}", self.str_of(name).trim_matches('"'));
                    self.report(Diagnostic::new("unsupported", at, message));
                }
            }
        }
        let mut rest = values.as_slice();
        for name in names {
            let (mine, others) = rest.split_at(name.count.min(rest.len()));
            self.define(name.name, name.span, mine);
            rest = others;
        }
        Ok(())
    }

    /// Parses `(%a, %b, atol 1.0e-04) : t` or `(%a, dense<…> : t) : t`: checks as IREE writes them. The
    /// default absolute tolerance is the same as in StableHLO's checks.
    pub(super) fn check_in_parentheses(&mut self, draft: &mut Draft) -> Parsed<()> {
        self.expect(b'(')?;
        draft.operands = self.operands()?;
        while self.eat(b',') {
            let at = self.peek();
            let (key, value) = match at.tok {
                Tok::Word if matches!(self.str_of(at), "atol" | "rtol") => {
                    self.bump();
                    let key = if self.str_of(at) == "atol" { "tolerance" } else { "rtol" };
                    (key, Attribute::float(self.bare_float()?, DType::F64))
                }
                _ => ("value", self.attr()?),
            };
            self.insert(&mut draft.attrs, key.to_owned(), value, span(at));
        }
        self.expect(b')')?;
        self.optional_dict(&mut draft.attrs)?;
        self.expect(b':')?;
        let ty = self.value_type()?;
        for operand in &draft.operands {
            self.check_type(*operand, &ty);
        }
        Ok(())
    }

    /// Parses `%a, %b {…} : t, t -> t`.
    fn foreign_pretty(&mut self, op: Foreign, out: RegionId) -> Parsed<ForeignDraft> {
        let mut attrs = AttrDict::new();
        self.optional_dict(&mut attrs)?;
        let mut operands = self.operands()?;
        // `%tensor[%i, %j]`
        if self.eat(b'[') {
            if self.peek().tok == Tok::Percent {
                operands.extend(self.operands()?);
                self.expect(b']')?;
            } else {
                self.jump(self.pos() - 1);
            }
        }
        if op == Foreign::Constant || (operands.is_empty() && self.at(b'[')) {
            let at = self.peek();
            let value = self.attr()?;
            self.insert(&mut attrs, "value".to_owned(), value, span(at));
        } else if self.eat(b',') {
            // A message, or the number of a dimension.
            let at = self.peek();
            let value = self.attr()?;
            self.insert(&mut attrs, "value".to_owned(), value, span(at));
        }
        self.optional_dict(&mut attrs)?;
        let mut last = None;
        if self.eat(b':') {
            last = Some(self.ty()?);
            while self.eat(b',') {
                last = Some(self.ty()?);
            }
        }
        if self.peek().tok == Tok::Arrow || self.at_word("to") {
            self.bump();
            let result = if self.eat(b'(') {
                let mut types = TypeList::new();
                self.list_until(b')', |p| {
                    types.push(p.ty()?);
                    Ok(())
                })?;
                types.into_iter().last()
            } else {
                Some(self.ty()?)
            };
            last = result.or(last);
        }
        let yielded = match op {
            Foreign::Assuming => Some(self.assumed(out)?),
            _ => None,
        };
        Ok(ForeignDraft { operands: ids(&operands), attrs, last, yielded })
    }

    /// Parses `(%a, %b) <{…}> ({…}) {…} : (t, t) -> t`.
    fn foreign_generic(&mut self, op: Foreign, out: RegionId) -> Parsed<ForeignDraft> {
        let mut attrs = AttrDict::new();
        self.expect(b'(')?;
        let operands = self.operands()?;
        self.expect(b')')?;
        if self.eat(b'<') {
            self.optional_dict(&mut attrs)?;
            self.expect(b'>')?;
        }
        let mut yielded = None;
        if op == Foreign::Assuming {
            self.expect(b'(')?;
            yielded = Some(self.assumed(out)?);
            self.expect(b')')?;
        }
        self.optional_dict(&mut attrs)?;
        self.expect(b':')?;
        let [_, results] = self.function_type_lists()?;
        let last = results.into_iter().last();
        Ok(ForeignDraft { operands: ids(&operands), attrs, last, yielded })
    }

    /// Parses `{ … shape.assuming_yield %a, %b : t, t }`. Appends the instructions to the enclosing region,
    /// and returns the yielded values.
    fn assumed(&mut self, out: RegionId) -> Parsed<SmallVec<[ValueId; 4]>> {
        const YIELD: &str = "shape.assuming_yield";
        self.enter()?;
        let mark = self.scope.open();
        self.expect(b'{')?;
        let yielded = loop {
            let t = self.peek();
            match t.tok {
                Tok::Word | Tok::Str if self.str_of(t).trim_matches('"') == YIELD => {
                    self.bump();
                    let is_generic = self.eat(b'(');
                    let operands = self.operands()?;
                    if is_generic {
                        self.expect(b')')?;
                    }
                    if self.eat(b':') {
                        match is_generic {
                            true => _ = self.function_type_lists()?,
                            false => {
                                self.ty()?;
                                while self.eat(b',') {
                                    self.ty()?;
                                }
                            }
                        }
                    }
                    break ids(&operands);
                }
                Tok::Percent | Tok::Word | Tok::Str => self.inst(out)?,
                _ => return self.expected("an operation or `shape.assuming_yield`"),
            }
        };
        self.trailing_loc()?;
        self.expect(b'}')?;
        self.scope.close(mark);
        self.leave();
        Ok(yielded)
    }

    /// Computes the results of an operation, with instructions appended to the region.
    fn foreign_values(
        &mut self,
        op: Foreign,
        found: ForeignDraft,
        out: RegionId,
        at: Span,
    ) -> Result<Vec<ValueId>, String> {
        let ForeignDraft { operands, mut attrs, last, yielded } = found;
        let value =
            attrs.remove("value").or_else(|| attrs.remove("shape")).or_else(|| attrs.remove("passing"));
        let result = last.as_ref().and_then(tensor_type);
        let mut e = Emitter::new(&mut self.func, out, at);
        let mut given = operands.iter().copied();
        let mut next = || given.next().ok_or_else(|| "an operand is missing".to_owned());
        let made = match op {
            Foreign::Constant => constant(&mut e, value.ok_or("it has no value")?)?,
            Foreign::Convert => {
                let (x, ty) = (next()?, result.clone().ok_or("it has no type")?);
                let from = e.tensor(x)?;
                // `i1` is a one-bit integer in `arith` and a boolean in StableHLO, so conversions from `i1`
                // differ.
                if from.dtype.is_bool() && ty.dtype != from.dtype {
                    return Err("not supported on booleans".to_owned());
                }
                e.op(Op::Convert, &[x], ty)
            }
            Foreign::Identity => next()?,
            Foreign::Binary(op) => {
                let (a, b) = (next()?, next()?);
                let ty = e.tensor(a)?;
                // All other operations on `i1` differ between one-bit integers (`arith`) and booleans
                // (StableHLO).
                let is_same = matches!(op, Binary::And | Binary::Or | Binary::Xor | Binary::Multiply);
                if ty.dtype.is_bool() && !is_same {
                    return Err("not supported on booleans".to_owned());
                }
                e.op(Op::Binary(op), &[a, b], ty)
            }
            Foreign::Negate => {
                let a = next()?;
                let ty = e.tensor(a)?;
                e.op(Op::Unary(Unary::Negate), &[a], ty)
            }
            Foreign::Dim => {
                let (x, i) = (next()?, next()?);
                e.dim(x, i)?
            }
            Foreign::Extract => {
                let x = next()?;
                let mut indices: Vec<ValueId> = given.collect();
                if indices.is_empty()
                    && let Some(i) = value.as_ref().and_then(Attribute::as_i64)
                {
                    indices.push(e.integer(i));
                }
                e.extract(x, &indices)?
            }
            Foreign::FromElements => {
                let elements: Vec<ValueId> = given.collect();
                e.vector(&elements, last.as_ref().and_then(Type::tensor).cloned())?
            }
            Foreign::ShapeOf => e.shape_of(next()?)?,
            Foreign::Broadcast => e.broadcast(&operands)?,
            Foreign::NumElements => e.num_elements(next()?)?,
            Foreign::Concat => e.concat(&operands)?,
            Foreign::Broadcastable => {
                let holds = e.are_broadcastable(&operands)?;
                e.assert(holds, "shapes have no common broadcast")?
            }
            Foreign::Equal => {
                let holds = e.are_equal(&operands)?;
                e.assert(holds, "shapes differ")?
            }
            Foreign::Require => {
                let message = value
                    .as_ref()
                    .and_then(Attribute::as_str)
                    .unwrap_or("a condition does not hold")
                    .to_owned();
                let holds = next()?;
                e.assert(holds, &message)?
            }
            Foreign::All => e.all(&operands)?,
            Foreign::Assuming => return Ok(yielded.unwrap_or_default().to_vec()),
        };
        // Later operations expect the result type that is declared here.
        Ok(vec![match result {
            Some(ty) if !matches!(op, Foreign::Extract | Foreign::Dim) => e.of_type(made, ty),
            _ => made,
        }])
    }
}

fn ids(operands: &Operands) -> SmallVec<[ValueId; 4]> {
    operands.iter().map(|o| o.id).collect()
}

/// The tensor type that represents values of a type.
fn tensor_type(ty: &Type) -> Option<TensorType> {
    match ty {
        Type::Tensor(ty) => Some(ty.clone()),
        Type::Scalar(dtype) => Some(TensorType::scalar(*dtype)),
        Type::Opaque(text) if matches!(&**text, "index" | "!shape.size") => {
            Some(TensorType::scalar(DType::S64))
        }
        _ => None,
    }
}

/// Converts an attribute to a constant.
fn constant(e: &mut Emitter<'_>, value: Attribute) -> Result<ValueId, String> {
    use crate::attr::IntKind;
    let scalar = |dtype, scalar| Literal::scalar(dtype, scalar);
    let literal = match value {
        Attribute::Dense(literal) | Attribute::DenseIndex(literal) => literal,
        Attribute::Elided(ty) => return Ok(e.op(Op::Elided(ty.clone()), &[], ty)),
        Attribute::Bool(b) => scalar(DType::Pred, Scalar::Bool(b)),
        Attribute::Int(v, IntKind::Index) => scalar(DType::S64, Scalar::Signed(v as i64)),
        Attribute::Int(v, IntKind::Typed(dtype)) if dtype.is_unsigned_integer() => {
            scalar(dtype, Scalar::Unsigned(v as u64))
        }
        Attribute::Int(v, IntKind::Typed(dtype)) => scalar(dtype, Scalar::Signed(v as i64)),
        Attribute::Float(bits, dtype) => scalar(dtype, Scalar::Float(f64::from_bits(bits))),
        other => match other.as_i64_list() {
            Some(list) => Literal::from_slice(DType::S64, [list.len()], &list),
            None => return Err(format!("a constant cannot be {other}")),
        },
    };
    Ok(e.constant(literal))
}

/// True if an operation's name without quotes is followed by the generic form. MHLO was printed in this way
/// for a time: `mhlo.convert(%0) : (t) -> t`.
pub(super) fn is_in_parentheses(p: &mut Parser<'_>) -> bool {
    let open = p.peek();
    open.tok == Tok::Punct(b'(') && next_token(p.bytes(), open.end).tok == Tok::Percent
}
