//! Element types and dimensions of residuals, computed from a frame.

use farcall_sig::DType;
use farcall_sig::signature::{BinaryOp, ExprFn, Size, SizeError};

use super::Decoder;
use crate::abi;
use crate::attr::Integer;
use crate::error::{Boxed, Error};
use crate::pointer::unusable;

/// A residual as declared in the signature. Its size depends only on required operands, results, and
/// attributes.
#[derive(Debug)]
pub struct Residual {
    /// Name of the residual.
    pub name: &'static str,
    /// Index of the operand that determines the element type.
    pub like: usize,
    /// Pairs of an element type of the operand `like` and the element type that the residual then has. There
    /// is only one pair if the residual has the same element type in all calls.
    pub types: &'static [(DType, DType)],
    /// Dimensions.
    pub dims: &'static [Extent],
}

/// One or several dimensions of a residual.
#[derive(Debug)]
pub enum Extent {
    /// The batch dimensions of a tensor: all but the given number of trailing dimensions.
    Batch(TensorIndex, usize),
    /// The value of an expression, and the expression's text.
    Size(&'static [Term], &'static str),
}

/// A term of an expression in postfix notation.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    /// A constant.
    Number(i64),
    /// A dimension of a tensor, counted from the end: 1 is the last one.
    Like(TensorIndex, usize),
    /// An integer attribute, and its default.
    Attribute(&'static str, Option<i64>),
    /// A binary operator.
    Binary(BinaryOp),
    /// A function and its number of arguments.
    Call(ExprFn, usize),
}

/// A tensor of a call, by its index.
#[derive(Clone, Copy, Debug)]
pub enum TensorIndex {
    /// An operand.
    Operand(usize),
    /// A result of the op.
    Result(usize),
}

impl Decoder {
    /// Returns the element type and the dimensions of a residual; `None` if they depend on a tensor or an
    /// attribute that cannot be read.
    pub(crate) fn describe(&self, residual: &Residual) -> Boxed<Option<(DType, Vec<i64>)>> {
        let dtype = match *residual.types {
            [(_, dtype)] => Some(dtype),
            _ => {
                let found = self.operands.dtype(residual.like).and_then(abi::DataType::dtype);
                residual.types.iter().find(|(of, _)| Some(*of) == found).map(|(_, dtype)| *dtype)
            }
        };
        let Some(dtype) = dtype else { return Ok(None) };
        let mut dims = Vec::new();
        for extent in residual.dims {
            match *extent {
                Extent::Batch(place, after) => match self.split(place, after)? {
                    Some((batch, _)) => dims.extend_from_slice(batch),
                    None => return Ok(None),
                },
                Extent::Size(terms, written) => match self.size(terms)? {
                    Some(Ok(size)) if size >= 0 => dims.push(size),
                    Some(value) => {
                        let why = match value {
                            Ok(size) => format!("is {size}"),
                            Err(SizeError::DivisionByZero) => "divides by zero".into(),
                            Err(SizeError::Overflow | SizeError::Open) => "does not fit 64 bits".into(),
                        };
                        let (handler, name) = (self.handler, residual.name);
                        let message = format!("{handler}: the residual {name}: the size {written} {why}");
                        return Err(Box::new(Error::invalid_argument(message)));
                    }
                    None => return Ok(None),
                },
            }
        }
        Ok(Some((dtype, dims)))
    }

    /// Evaluates an expression; `None` if the expression depends on an operand or an attribute that cannot be
    /// read.
    fn size(&self, terms: &[Term]) -> Boxed<Option<Result<i64, SizeError>>> {
        let mut values: Vec<i64> = Vec::new();
        for term in terms {
            let value = match *term {
                Term::Number(number) => Ok(number),
                Term::Like(place, from_end) => match self.split(place, from_end)? {
                    Some((_, [size, ..])) => Ok(*size),
                    _ => return Ok(None),
                },
                // An attribute of a wrong type is reported when the function's own parameter for it is
                // decoded.
                Term::Attribute(name, default) => match self.attrs().get_opt::<Integer>(name) {
                    Ok(Some(Integer(value))) => i64::try_from(value).map_err(|_| SizeError::Overflow),
                    Ok(None) if let Some(default) = default => Ok(default),
                    _ => return Ok(None),
                },
                Term::Binary(op) => {
                    let (right, left) = (values.pop().unwrap_or_default(), values.pop().unwrap_or_default());
                    i64::compute(op, &left, &right)
                }
                Term::Call(function, count) => {
                    let arguments = values.split_off(values.len().saturating_sub(count));
                    call(function, &arguments)
                }
            };
            match value {
                Ok(value) => values.push(value),
                Err(why) => return Ok(Some(Err(why))),
            }
        }
        Ok(values.pop().map(Ok))
    }

    /// Splits a tensor's dimensions before the last `at_end` ones; `None` if the tensor is missing.
    fn split(&self, place: TensorIndex, at_end: usize) -> Boxed<Option<(&[i64], &[i64])>> {
        let Some(all) = self.dims(place) else { return Ok(None) };
        match all.len().checked_sub(at_end) {
            Some(before) => Ok(Some(all.split_at(before))),
            None => Err(too_few(self.handler, place, at_end, all.len())),
        }
    }

    /// Returns the dimensions of a tensor; `None` if it is not a valid buffer.
    fn dims(&self, place: TensorIndex) -> Option<&[i64]> {
        let (buffers, i) = match place {
            TensorIndex::Operand(i) => (&self.operands, i),
            TensorIndex::Result(i) => (&self.results, i),
        };
        // Returns early unless this is a complete and aligned buffer.
        buffers.dtype(i)?;
        // SAFETY: `dtype` checked that this is a complete and aligned buffer.
        let buffer = unsafe { &*(*buffers.buffers.add(i)).cast_const().cast::<abi::Buffer>() };
        match usize::try_from(buffer.rank).ok()? {
            0 => Some(&[]),
            _ if unusable(buffer.dims) != 0 => None,
            // SAFETY: the buffer has `rank` dimensions, which stay valid during the call.
            rank => Some(unsafe { std::slice::from_raw_parts(buffer.dims, rank) }),
        }
    }
}

fn call(function: ExprFn, arguments: &[i64]) -> Result<i64, SizeError> {
    match (function, arguments) {
        (ExprFn::CeilDiv, [left, right]) => {
            let negated = |size| i64::compute(BinaryOp::Sub, &0, size);
            negated(&i64::compute(BinaryOp::Div, &negated(left)?, right)?)
        }
        (ExprFn::Min, all) => Ok(all.iter().copied().min().unwrap_or_default()),
        (ExprFn::Max | ExprFn::CeilDiv, all) => Ok(all.iter().copied().max().unwrap_or_default()),
    }
}

#[cold]
fn too_few(handler: &str, place: TensorIndex, expected: usize, found: usize) -> Box<Error> {
    let (what, i) = match place {
        TensorIndex::Operand(i) => ("operand", i),
        TensorIndex::Result(i) => ("result", i),
    };
    let s = if expected == 1 { "" } else { "s" };
    let message = format!("{handler}: {what} {i}: expected at least {expected} dimension{s}, found {found}");
    Box::new(Error::invalid_argument(message))
}
