//! Shapes: `f32[2,3]{1,0}`, `token[]`, tuples. A shape with dynamic dimensions is `f32[?,<=8]`.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use farcall_sig::DType;

use super::cursor::{Cursor, Expected, Read};
use crate::diag::Span;
use crate::text::MAX_NESTING;
use crate::types::{Dim, TensorType, Type};

/// Shape of an instruction's result.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    /// A tensor, and its layout if the text states it: the dimensions from minor to major.
    Tensor(TensorType, Option<Vec<usize>>),
    Token,
    Tuple(Arc<[Shape]>),
}

impl Shape {
    pub(super) fn tensor(&self) -> Option<&TensorType> {
        match self {
            Shape::Tensor(ty, _) => Some(ty),
            Shape::Token | Shape::Tuple(_) => None,
        }
    }

    /// The elements of a tuple.
    pub(super) fn parts(&self) -> Option<&[Shape]> {
        match self {
            Shape::Tuple(parts) => Some(parts),
            Shape::Tensor(..) | Shape::Token => None,
        }
    }

    /// The types of all tensors and tokens, in order.
    pub(super) fn leaves(&self) -> Vec<Type> {
        fn inner(shape: &Shape, out: &mut Vec<Type>) {
            match shape {
                Shape::Tuple(parts) => parts.iter().for_each(|part| inner(part, out)),
                leaf => out.push(leaf.ty()),
            }
        }
        let mut out = Vec::new();
        inner(self, &mut out);
        out
    }

    /// The type of values of this shape; tuples stay tuples.
    pub(super) fn ty(&self) -> Type {
        match self {
            Shape::Tensor(ty, _) => Type::Tensor(ty.clone()),
            Shape::Token => Type::Token,
            Shape::Tuple(parts) => Type::Tuple(parts.iter().map(Shape::ty).collect()),
        }
    }

    /// The layout: the dimensions from minor to major. Empty unless this is a tensor.
    pub(super) fn layout(&self) -> Vec<usize> {
        match self {
            Shape::Tensor(ty, None) => (0..ty.rank()).rev().collect(),
            Shape::Tensor(_, Some(layout)) => layout.clone(),
            Shape::Token | Shape::Tuple(_) => Vec::new(),
        }
    }
}

/// Parses a shape.
pub(super) fn read(c: &mut Cursor<'_>) -> Read<Shape> {
    nested(c, 0)
}

/// Parses the shape of a custom call's operand. Its layout must be just an order of dimensions.
pub(super) fn read_untiled(c: &mut Cursor<'_>) -> Read<Shape> {
    c.skip();
    let start = c.pos();
    let shape = read(c)?;
    if c.slice(start, c.pos()).contains(':') {
        let message =
            "a custom call's layouts are orders of dimensions, without tiles, memory spaces or element sizes";
        return Err(Expected::new(Span::new(start, c.pos()), message));
    }
    Ok(shape)
}

fn nested(c: &mut Cursor<'_>, depth: u32) -> Read<Shape> {
    if depth > MAX_NESTING {
        let message = format!("tuples nest at most {MAX_NESTING} deep");
        return Err(Expected::new(Span::new(c.pos(), c.pos() + 1), message));
    }
    if c.peek() == Some(b'(') {
        return Ok(Shape::Tuple(c.list(b'(', b')', |c| nested(c, depth + 1))?.into()));
    }
    let start = c.pos();
    let Ok(name) = c.word() else { return c.wrong("a shape such as `f32[2,3]`") };
    let span = Span::new(start, c.pos());
    if name == "b" && c.here() == Some(b'(') {
        // A buffer is memory that instructions change in place. The reader treats it as a tensor, and each
        // change as a new tensor.
        c.expect(b'(')?;
        let shape = nested(c, depth + 1)?;
        c.expect(b')')?;
        return Ok(shape);
    }
    if name == "token" {
        c.expect(b'[')?;
        c.expect(b']')?;
        layout(c)?;
        return Ok(Shape::Token);
    }
    let dtype = match name.parse::<DType>() {
        Ok(dtype) => dtype,
        Err(_) => {
            let near = farcall_sig::nearest::nearest(name, DType::VARIANTS.map(DType::name));
            let hint = near.first().map_or(String::new(), |n| format!("; did you mean {n}?"));
            return Err(Expected::new(span, format!("there is no element type `{name}`{hint}")));
        }
    };
    let dims = c.list(b'[', b']', dim)?;
    let layout = layout(c)?;
    let ty = TensorType::from_dims(dtype, dims);
    if let Some(order) = &layout {
        let mut seen = vec![false; ty.rank()];
        let fits = order.len() == ty.rank()
            && order.iter().all(|d| seen.get_mut(*d).is_some_and(|s| !std::mem::replace(s, true)));
        if !fits {
            let span = Span::new(start, c.pos());
            let message = format!("the layout does not name each of the {} dimensions once", ty.rank());
            return Err(Expected::new(span, message));
        }
    }
    Ok(Shape::Tensor(ty, layout))
}

/// Parses `4`, `<=4` or `?`.
fn dim(c: &mut Cursor<'_>) -> Read<Dim> {
    if c.eat(b'?') {
        return Ok(Dim::UNBOUNDED);
    }
    if c.eat_str("<=") {
        return Ok(Dim::Dynamic { bound: Some(c.usize()?) });
    }
    Ok(Dim::Static(c.usize()?))
}

/// Parses `{1,0}`, `{1,0:T(8,128)}`, or nothing. Tiles and memory spaces are dropped.
fn layout(c: &mut Cursor<'_>) -> Read<Option<Vec<usize>>> {
    // `{` may also begin the instructions of a computation. These start with a name.
    let mut ahead = *c;
    let is_next = c.here() == Some(b'{');
    if !ahead.eat(b'{') {
        return Ok(None);
    }
    match ahead.peek() {
        Some(b'0'..=b'9' | b':') => {}
        Some(b'}') if is_next => {}
        _ => return Ok(None),
    }
    c.skip();
    let open = c.pos();
    c.skip_balanced()?;
    let close = c.pos() - 1;
    let inner = c.slice(open + 1, close);
    let end = inner.find(':').map_or(close, |n| open + 1 + n);
    let mut dims = c.part(open + 1, end);
    let mut order = Vec::new();
    if !dims.at_end() {
        order.push(dims.usize()?);
        while dims.eat(b',') {
            order.push(dims.usize()?);
        }
        dims.finish()?;
    }
    Ok(Some(order))
}

/// Converts a type to a shape; `None` if HLO does not have the type.
pub(super) fn of(ty: &Type, layout: Option<&[usize]>) -> Option<Shape> {
    match ty {
        Type::Tensor(t) if t.quant.is_none() => Some(Shape::Tensor(t.clone(), layout.map(<[usize]>::to_vec))),
        Type::Token => Some(Shape::Token),
        Type::Tuple(parts) => {
            Some(Shape::Tuple(parts.iter().map(|part| of(part, None)).collect::<Option<_>>()?))
        }
        Type::Tensor(_) | Type::Future(_) | Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => None,
    }
}

/// Writes shapes with their layouts; the default is row-major.
impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Token => f.write_str("token[]"),
            Shape::Tuple(parts) => {
                f.write_str("(")?;
                list(f, parts, ", ")?;
                f.write_str(")")
            }
            Shape::Tensor(ty, _) => {
                write!(f, "{}[", ty.dtype)?;
                for (i, dim) in ty.dims().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    match dim {
                        Dim::Static(n) => write!(f, "{comma}{n}")?,
                        Dim::Dynamic { bound: Some(n) } => write!(f, "{comma}<={n}")?,
                        Dim::Dynamic { bound: None } => write!(f, "{comma}?")?,
                    }
                }
                f.write_str("]")?;
                if ty.rank() > 0 {
                    f.write_str("{")?;
                    list(f, &self.layout(), ",")?;
                    f.write_str("}")?;
                }
                Ok(())
            }
        }
    }
}

pub(super) fn list<T: Display>(f: &mut dyn fmt::Write, items: &[T], comma: &str) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(comma)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        let mut c = Cursor::new(text, 0, text.len());
        match read(&mut c) {
            Ok(shape) => shape.to_string(),
            Err(e) => e.message,
        }
    }

    #[test]
    fn shapes() {
        for text in ["f32[]", "pred[0]{0}", "(f8e4m3fn[2,3]{0,1}, (), (token[]))", "s32[?,<=8]{1,0}"] {
            assert_eq!(again(text), text);
        }
        assert_eq!(again("bf16[2,2]"), "bf16[2,2]{1,0}");
        assert_eq!(again("f32[2,2]{1,0:T(8,128)(2,1)S(1)}"), "f32[2,2]{1,0}");
        assert_eq!(again("f32[2,2] {0,1}"), "f32[2,2]{0,1}");
        assert_eq!(again("b(f32[2,2])"), "f32[2,2]{1,0}");
        // A brace that does not contain a layout begins a computation, and is not read.
        let mut computation = Cursor::new("f32[2] { x", 0, 10);
        assert!(read(&mut computation).is_ok() && computation.peek() == Some(b'{'));
        let mut computation = Cursor::new("f32[2]{\n%x", 0, 10);
        assert!(read(&mut computation).is_ok() && computation.peek() == Some(b'{'));
        assert_eq!(again("f23[2]"), "there is no element type `f23`; did you mean f32?");
        assert!(again("f32[2]{1}").contains("layout"));
        assert!(again(&"(".repeat(100_000)).contains("nest"));
    }
}
