//! Parses types: `tensor<4x?xf32>`, `tuple<…>`, `(…) -> …`, `!stablehlo.token`, `!quant.uniform<…>`.

use std::sync::Arc;

use farcall_sig::DType;

use super::lexer::{Tok, skip_space};
use super::parser::{Parsed, Parser, span};
use crate::types::{Dim, FuncType, Quantization, TensorType, Type, TypeList, default_storage_range};

/// A type `tensor<…>`: a tensor type, or the dimensions of a tensor of `index`.
pub(super) enum Tensor {
    Of(TensorType),
    OfIndex(Vec<Dim>),
}

/// Maximum length in bytes of a tensor type's text that is looked up in the cache.
const MAX_CACHED_TYPE_BYTES: usize = 80;
/// Maximum number of tensor types in the cache: few enough that colliding hashes do little harm.
const MAX_CACHED_TYPES: usize = 1024;

impl<'s> Parser<'s> {
    /// True if the next token can begin a type.
    pub(super) fn at_type(&mut self) -> bool {
        let t = self.peek();
        match t.tok {
            Tok::Bang | Tok::Punct(b'(') => true,
            Tok::Word => {
                let word = self.str_of(t);
                matches!(
                    word,
                    "tensor" | "tuple" | "complex" | "index" | "none" | "vector" | "memref" | "function"
                ) || DType::from_mlir(word).is_some()
                    || is_integer_type(word)
                    || matches!(word, "tf32" | "f80" | "f128")
            }
            _ => false,
        }
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.enter()?;
        self.nodes += 1;
        let t = self.peek();
        let ty = match t.tok {
            Tok::Word => match self.str_of(t) {
                "tensor" => match self.tensor()? {
                    Tensor::Of(ty) => Type::Tensor(ty),
                    // `index` is read as a 64-bit integer.
                    Tensor::OfIndex(dims) => Type::Tensor(TensorType::from_dims(DType::S64, dims)),
                },
                "tuple" => {
                    self.bump();
                    self.expect(b'<')?;
                    let mut parts = Vec::new();
                    self.list_until(b'>', |p| {
                        parts.push(p.ty()?);
                        Ok(())
                    })?;
                    Type::Tuple(parts.into())
                }
                word @ ("vector" | "memref") => {
                    self.bump();
                    let body = self.balanced()?;
                    Type::Opaque(format!("{word}<{body}>").into())
                }
                "index" | "none" | "tf32" | "f80" | "f128" => {
                    self.bump();
                    Type::Opaque(self.str_of(t).into())
                }
                word if DType::from_mlir(word).is_none() && is_integer_type(word) => {
                    self.bump();
                    Type::Opaque(word.into())
                }
                _ => Type::Scalar(self.dtype()?),
            },
            Tok::Bang => self.dialect_type()?,
            Tok::Punct(b'(') => Type::Function(Arc::new(self.function_type()?)),
            _ => return self.expected("a type"),
        };
        self.leave();
        Ok(ty)
    }

    /// Parses the type of a value: a tensor, a token, a future, or a tuple of these.
    pub(super) fn value_type(&mut self) -> Parsed<Type> {
        let t = self.peek();
        let ty = self.ty()?;
        if is_value_type(&ty) {
            return Ok(ty);
        }
        let at = crate::diag::Span::new(t.start, self.pos());
        self.fail("type", at, format!("a value must be a tensor, a token or a tuple, not of type {ty}"))
    }

    /// Parses `(t, t) -> t` or `(t) -> (t, t)`.
    fn function_type(&mut self) -> Parsed<FuncType> {
        let [params, results] = self.function_type_lists()?.map(TypeList::into_vec);
        Ok(FuncType { params, results })
    }

    /// Parses a function type into its parameter types and result types.
    pub(super) fn function_type_lists(&mut self) -> Parsed<[TypeList; 2]> {
        let mut params = TypeList::new();
        self.expect(b'(')?;
        self.list_until(b')', |p| {
            params.push(p.ty()?);
            Ok(())
        })?;
        self.arrow()?;
        let mut results = TypeList::new();
        if self.eat(b'(') {
            self.list_until(b')', |p| {
                results.push(p.ty()?);
                Ok(())
            })?;
        } else {
            results.push(self.ty()?);
        }
        Ok([params, results])
    }

    /// Parses `tensor<…>`.
    pub(super) fn tensor(&mut self) -> Parsed<Tensor> {
        let word = self.expect_word("tensor")?;
        // Usually the type has no commas and aliases, and its text can be looked up in the cache.
        let key = simple_angle(self.bytes(), word.end).map(|end| self.slice(word.end, end));
        if let Some(key) = key
            && let Some(ty) = self.tensor_types.get(key)
        {
            let ty = ty.clone();
            self.jump(word.end + key.len());
            return Ok(Tensor::Of(ty));
        }
        let tensor = self.tensor_body()?;
        if let (Some(key), Tensor::Of(ty)) = (key, &tensor) {
            if self.tensor_types.len() == MAX_CACHED_TYPES {
                self.tensor_types.clear();
            }
            self.tensor_types.insert(key, ty.clone());
        }
        Ok(tensor)
    }

    fn tensor_body(&mut self) -> Parsed<Tensor> {
        let open = self.expect(b'<')?;
        let mut dims = self.dimensions()?;
        let at = self.peek();
        if self.at(b'*') {
            return self.fail("type", span(at), "tensors of unknown rank are not supported");
        }
        if self.eat_word("index") {
            self.expect(b'>')?;
            return Ok(Tensor::OfIndex(dims));
        }
        let (dtype, quant) = match at.tok {
            Tok::Bang => self.element_type()?,
            _ => (self.dtype()?, None),
        };
        if self.eat(b',') {
            self.bounds(&mut dims)?;
        }
        if !self.at(b'>') && self.peek().tok == Tok::Eof {
            return self.fail("parse", span(open), "this `<` is never closed");
        }
        self.expect(b'>')?;
        Ok(Tensor::Of(TensorType::from_dims(dtype, dims).with_quant(quant)))
    }

    /// Parses `4x?x` directly from the bytes, because the lexer would read the `x` as the start of a word.
    fn dimensions(&mut self) -> Parsed<Vec<Dim>> {
        let bytes = self.bytes();
        let mut dims = Vec::new();
        let mut pos = skip_space(bytes, self.pos());
        loop {
            let start = pos;
            let dim = match bytes.get(pos) {
                Some(b'?') => {
                    pos += 1;
                    Dim::UNBOUNDED
                }
                Some(b'0'..=b'9') => {
                    while bytes.get(pos).is_some_and(u8::is_ascii_digit) {
                        pos += 1;
                    }
                    match self.slice(start, pos).parse::<i64>() {
                        Ok(n) => Dim::Static(usize::try_from(n).unwrap_or(usize::MAX)),
                        Err(_) => {
                            let at = crate::diag::Span::new(start, pos);
                            return self.fail("type", at, "a dimension is at most 2^63 - 1");
                        }
                    }
                }
                _ => break,
            };
            let x = skip_space(bytes, pos);
            if bytes.get(x) != Some(&b'x') {
                self.jump(pos);
                return self.expected("`x` after a dimension");
            }
            pos = skip_space(bytes, x + 1);
            dims.push(dim);
        }
        self.jump(pos);
        Ok(dims)
    }

    /// Parses a quantized element type, or an alias of an element type.
    fn element_type(&mut self) -> Parsed<(DType, Option<Arc<Quantization>>)> {
        let t = self.peek();
        let name = self.str_of(t);
        if name == "!quant.uniform" {
            self.bump();
            let (d, q) = self.quantization()?;
            return Ok((d, Some(Arc::new(q))));
        }
        match self.ty()? {
            Type::Scalar(d) => Ok((d, None)),
            // An alias of a quantized type is stored as text.
            Type::Opaque(text) if text.starts_with("!quant.uniform<") => {
                let quantized = format!("tensor<{text}>").parse::<Type>();
                match quantized {
                    Ok(Type::Tensor(TensorType { dtype, quant: Some(q), .. })) => Ok((dtype, Some(q))),
                    _ => self.fail("type", span(t), format!("{text} is not an element type")),
                }
            }
            other => self.fail("type", span(t), format!("{other} is not an element type")),
        }
    }

    /// Parses `<i8<-127:127>:f32:1, {0.1:3, 0.2}>`.
    fn quantization(&mut self) -> Parsed<(DType, Quantization)> {
        self.expect(b'<')?;
        let t = self.word("the storage type")?;
        let text = self.str_of(t);
        let storage = match text.strip_prefix('u') {
            Some(bits) if !text.starts_with("ui") => DType::from_mlir(&format!("ui{bits}")),
            _ => DType::from_mlir(text),
        };
        let Some(storage) = storage.filter(|d| d.is_integer()) else {
            return self.fail(
                "type",
                span(t),
                format!("quantized values are stored as integers, not `{text}`"),
            );
        };
        let (mut storage_min, mut storage_max) = default_storage_range(storage);
        if self.eat(b'<') {
            storage_min = self.integer64()?;
            self.expect(b':')?;
            storage_max = self.integer64()?;
            self.expect(b'>')?;
        }
        self.expect(b':')?;
        let expressed = self.dtype()?;
        let mut axis = None;
        if self.eat(b':') {
            if self.at(b'{') {
                let t = self.peek();
                return self.fail("type", span(t), "block-wise quantization is not supported");
            }
            axis = Some(self.unsigned("the quantized dimension")?);
        }
        self.expect(b',')?;
        let (mut scales, mut zero_points) = (Vec::new(), Vec::new());
        if axis.is_some() {
            self.expect(b'{')?;
            self.list_until(b'}', |p| p.scale(&mut scales, &mut zero_points))?;
        } else {
            self.scale(&mut scales, &mut zero_points)?;
        }
        self.expect(b'>')?;
        Ok((storage, Quantization { expressed, storage_min, storage_max, axis, scales, zero_points }))
    }

    /// Parses `0.1` or `0.1:-30`.
    fn scale(&mut self, scales: &mut Vec<u64>, zero_points: &mut Vec<i64>) -> Parsed<()> {
        let negative = self.eat(b'-');
        let t = self.peek();
        if !matches!(t.tok, Tok::Float | Tok::Int) {
            return self.expected("a scale");
        }
        self.bump();
        let scale = self.decimal(t, negative)?;
        if !scale.is_finite() {
            return self.fail("type", span(t), "this scale is too large for 64 bits");
        }
        scales.push(scale.to_bits());
        zero_points.push(if self.eat(b':') { self.integer64()? } else { 0 });
        Ok(())
    }

    pub(super) fn integer64(&mut self) -> Parsed<i64> {
        let (v, place) = self.integer()?;
        match i64::try_from(v) {
            Ok(v) => Ok(v),
            Err(_) => self.fail("parse", place, "this integer does not fit 64 bits"),
        }
    }

    /// Parses `#stablehlo.bounds<3, ?>`, or the older `#mhlo.type_extensions<bounds = [3, ?]>`.
    fn bounds(&mut self, dims: &mut [Dim]) -> Parsed<()> {
        let t = self.peek();
        let name = if t.tok == Tok::Hash { self.str_of(t) } else { "" };
        let (open, close) = match name {
            "#stablehlo.bounds" => ("<", b'>'),
            "#mhlo.type_extensions" | "#stablehlo.type_extensions" => ("<bounds = [", b']'),
            _ => return self.expected("`#stablehlo.bounds`, the only encoding of a tensor that is known"),
        };
        self.bump();
        self.literal(open)?;
        let mut bounds = Vec::new();
        self.list_until(close, |p| {
            let known = !p.eat(b'?');
            bounds.push(if known { Some(p.unsigned("a bound")?) } else { None });
            Ok(())
        })?;
        if close == b']' {
            self.expect(b'>')?;
        }
        if bounds.len() != dims.len() {
            let message = format!("{} bounds for {} dimensions", bounds.len(), dims.len());
            return self.fail("type", span(t), message);
        }
        for (i, (dim, bound)) in dims.iter_mut().zip(bounds).enumerate() {
            match (&dim, bound) {
                (Dim::Dynamic { .. }, bound) => *dim = Dim::Dynamic { bound },
                (Dim::Static(_), None) => {}
                (Dim::Static(size), Some(bound)) => {
                    let message =
                        format!("dimension {i} has size {size}, its bound must be `?`, found {bound}");
                    return self.fail("bounds", span(t), message);
                }
            }
        }
        Ok(())
    }

    /// Parses `!stablehlo.token`, `!alias`, or a type of another dialect, which is kept as text.
    fn dialect_type(&mut self) -> Parsed<Type> {
        let t = self.bump();
        let name = self.str_of(t);
        if name == "!stablehlo.token" || name == "!mhlo.token" {
            return Ok(Type::Token);
        }
        if name == "!stablehlo.future" {
            return self.future(t);
        }
        if !name.contains('.') && !self.at(b'<') {
            return self.type_alias(t);
        }
        if self.at(b'<') {
            let body = self.balanced()?;
            if name == "!stablehlo" && body == "token" {
                return Ok(Type::Token);
            }
            return Ok(Type::Opaque(format!("{name}<{body}>").into()));
        }
        Ok(Type::Opaque(name.into()))
    }

    /// Parses `<tensor<f32>, tensor<i32>>`, after the name.
    fn future(&mut self, t: super::lexer::Token) -> Parsed<Type> {
        let mut parts = Vec::new();
        self.expect(b'<')?;
        self.list_until(b'>', |p| {
            parts.push(p.value_type()?);
            Ok(())
        })?;
        match parts.iter().find(|ty| ty.tensor().is_none()) {
            Some(other) => {
                self.fail("type", span(t), format!("a future must hold tensors, not values of type {other}"))
            }
            None => Ok(Type::Future(parts.into())),
        }
    }

    /// Consumes `<…>` with balanced brackets, and returns the text inside without surrounding white space.
    pub(super) fn balanced(&mut self) -> Parsed<&'s str> {
        let open = self.expect(b'<')?;
        let bytes = self.bytes();
        let mut stack = vec![b'>'];
        let mut pos = open.end;
        while let Some(b) = bytes.get(pos) {
            match b {
                b'<' => stack.push(b'>'),
                b'(' => stack.push(b')'),
                b'[' => stack.push(b']'),
                b'{' => stack.push(b'}'),
                b'-' if bytes.get(pos + 1) == Some(&b'>') => pos += 1,
                b'"' => {
                    let t = super::lexer::next_token(bytes, pos);
                    if t.tok != Tok::Str {
                        self.jump(pos);
                        return self.expected("a string");
                    }
                    pos = t.end - 1;
                }
                b'>' | b')' | b']' | b'}' => {
                    if stack.pop() != Some(*b) {
                        self.jump(pos);
                        return self.expected("balanced brackets");
                    }
                    if stack.is_empty() {
                        self.jump(pos + 1);
                        return Ok(self.slice(open.end, pos).trim());
                    }
                }
                _ => {}
            }
            pos += 1;
        }
        self.fail("parse", span(open), "this `<` is never closed")
    }
}

/// True for a tensor, a token, a future, or a tuple of these.
pub(super) fn is_value_type(ty: &Type) -> bool {
    match ty {
        Type::Tensor(_) | Type::Token | Type::Future(_) => true,
        Type::Tuple(parts) => parts.iter().all(is_value_type),
        _ => false,
    }
}

/// True for integer types of any width: `i37`, `ui128`, `si8`.
fn is_integer_type(word: &str) -> bool {
    let bits = word.strip_prefix(['s', 'u']).unwrap_or(word).strip_prefix('i');
    bits.is_some_and(|b| !b.is_empty() && b.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the end of the `<…>` at `pos`, if the text is short and could be a tensor with a plain element
/// type, without commas or aliases.
fn simple_angle(bytes: &[u8], pos: usize) -> Option<usize> {
    if bytes.get(pos) != Some(&b'<') {
        return None;
    }
    let mut depth = 0;
    for (i, b) in bytes.iter().enumerate().skip(pos).take(MAX_CACHED_TYPE_BYTES) {
        match b {
            b'<' => depth += 1,
            b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'?' | b'_' => {}
            _ => return None,
        }
    }
    None
}
