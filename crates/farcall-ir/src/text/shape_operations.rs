//! Operations on shapes, as StableHLO operations on vectors of extents.

use farcall_sig::DType;

use crate::attr::Attribute;
use crate::diag::Span;
use crate::literal::Literal;
use crate::module::{Func, NewInst, RegionId, ValueId};
use crate::op::{Binary, Compare, ComparisonDirection, CustomCall, Op, Slice};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};

/// Appends the instructions for one operation of the text to a region.
pub(super) struct Emitter<'f> {
    func: &'f mut Func,
    region: RegionId,
    at: Span,
}

/// Element type of extents.
const EXTENT_DTYPE: DType = DType::S64;

/// Maximum rank of a shape. Operations on shapes become instructions for each extent.
const MAX_EXTENTS: usize = 1024;

impl<'f> Emitter<'f> {
    pub(super) fn new(func: &'f mut Func, region: RegionId, at: Span) -> Emitter<'f> {
        Emitter { func, region, at }
    }

    pub(super) fn op(&mut self, op: Op, operands: &[ValueId], ty: TensorType) -> ValueId {
        let new = NewInst::new(op, operands.iter().copied()).at(self.at, None);
        let inst = self.func.push(self.region, new, [Type::Tensor(ty)]);
        self.func.inst(inst).results()[0]
    }

    pub(super) fn constant(&mut self, literal: Literal) -> ValueId {
        let ty = literal.ty();
        self.op(Op::Constant(literal), &[], ty)
    }

    pub(super) fn integer(&mut self, value: i64) -> ValueId {
        self.constant(Literal::scalar(EXTENT_DTYPE, Scalar::Signed(value)))
    }

    fn integers(&mut self, values: &[i64]) -> ValueId {
        self.constant(Literal::from_slice(EXTENT_DTYPE, [values.len()], values))
    }

    fn boolean(&mut self, value: bool) -> ValueId {
        self.constant(Literal::scalar(DType::Pred, Scalar::Bool(value)))
    }

    /// The tensor type of an operand.
    pub(super) fn tensor(&self, value: ValueId) -> Result<TensorType, String> {
        self.func.tensor(value).cloned().ok_or_else(|| "an operand is not a tensor".to_owned())
    }

    /// The elements of a constant; `None` for other values.
    fn known(&self, value: ValueId) -> Option<&Literal> {
        match self.func.defining_inst(value)?.op() {
            Op::Constant(literal) => Some(literal),
            _ => None,
        }
    }

    /// Converts a value to a tensor type of the same rank and element type, in which other dimensions may be
    /// static. A value of any other type is returned unchanged.
    pub(super) fn of_type(&mut self, value: ValueId, ty: TensorType) -> ValueId {
        match self.func.tensor(value) {
            Some(from) if *from != ty && from.dtype == ty.dtype && from.rank() == ty.rank() => {
                self.op(Op::Convert, &[value], ty)
            }
            _ => value,
        }
    }

    /// Number of extents of a shape.
    fn len(&self, shape: ValueId) -> Result<usize, String> {
        let ty = self.tensor(shape)?;
        match ty.static_sizes() {
            Some([n]) if ty.dtype.is_integer() && *n > MAX_EXTENTS => {
                Err(format!("a shape has at most {MAX_EXTENTS} extents, {ty} has more"))
            }
            Some([n]) if ty.dtype.is_integer() => Ok(*n),
            _ => Err(format!("{ty} is not a shape of known rank")),
        }
    }

    /// The size of dimension `index`, which must be a constant.
    pub(super) fn dim(&mut self, x: ValueId, index: ValueId) -> Result<ValueId, String> {
        let index = self.known(index).and_then(|l| l.iter().next()).map(Scalar::as_i64);
        let Some(dim) = index.and_then(|i| usize::try_from(i).ok()) else {
            return Err("the dimension must be a constant".to_owned());
        };
        self.size(x, dim)
    }

    fn size(&mut self, x: ValueId, dim: usize) -> Result<ValueId, String> {
        let ty = self.tensor(x)?;
        let Some(size) = ty.dims().nth(dim) else { return Err(format!("{ty} has no dimension {dim}")) };
        if let Some(size) = size.size() {
            return Ok(self.integer(i64::try_from(size).unwrap_or(i64::MAX)));
        }
        let size = self.op(Op::GetDimensionSize { dim }, &[x], TensorType::scalar(DType::S32));
        Ok(self.op(Op::Convert, &[size], TensorType::scalar(EXTENT_DTYPE)))
    }

    /// The shape of a tensor.
    pub(super) fn shape_of(&mut self, x: ValueId) -> Result<ValueId, String> {
        let ty = self.tensor(x)?;
        if let Some(sizes) = ty.static_sizes() {
            let sizes: Vec<i64> = sizes.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
            return Ok(self.integers(&sizes));
        }
        let sizes = (0..ty.rank()).map(|dim| self.size(x, dim)).collect::<Result<Vec<_>, _>>()?;
        self.vector(&sizes, None)
    }

    /// Builds a tensor from its elements: of type `ty` if given, otherwise a vector.
    pub(super) fn vector(&mut self, elements: &[ValueId], ty: Option<TensorType>) -> Result<ValueId, String> {
        let is_open = |ty: &TensorType| ty.rank() == 1 && ty.dims().any(|d| d.size().is_none());
        let ty = ty.filter(|ty| elements.is_empty() || !is_open(ty));
        if let Some(ty) = &ty
            && ty.elements() != Some(elements.len())
        {
            return Err(format!("{} elements for {ty}", elements.len()));
        }
        let Some(first) = elements.first() else {
            let ty = ty.unwrap_or_else(|| TensorType::new(EXTENT_DTYPE, [0]));
            return Ok(self.constant(Literal::zeros(ty.dtype, ty.sizes())));
        };
        let one = self.tensor(*first)?.with_sizes([1]);
        let rows: Vec<ValueId> = elements.iter().map(|e| self.op(Op::Reshape, &[*e], one.clone())).collect();
        let all = match rows.as_slice() {
            [row] => *row,
            rows => self.op(Op::Concatenate { dim: 0 }, rows, one.with_sizes([rows.len()])),
        };
        Ok(match ty {
            Some(ty) if ty.rank() != 1 => self.op(Op::Reshape, &[all], one.with_sizes(ty.sizes())),
            _ => all,
        })
    }

    /// Extracts one element of a tensor, as a tensor of rank 0.
    pub(super) fn extract(&mut self, x: ValueId, indices: &[ValueId]) -> Result<ValueId, String> {
        let ty = self.tensor(x)?;
        if indices.len() != ty.rank() {
            return Err(format!("{} indices for {ty}", indices.len()));
        }
        if indices.is_empty() {
            return Ok(x);
        }
        let operands: Vec<ValueId> = std::iter::once(x).chain(indices.iter().copied()).collect();
        let ones = vec![1; ty.rank()];
        let slice = self.op(Op::DynamicSlice { sizes: ones.clone() }, &operands, ty.with_sizes(ones));
        Ok(self.op(Op::Reshape, &[slice], ty.with_sizes([])))
    }

    /// Splits a vector into its elements, as tensors of rank 0.
    fn elements(&mut self, vector: ValueId) -> Result<Vec<ValueId>, String> {
        let ty = self.tensor(vector)?;
        let n = ty.static_sizes().and_then(|s| s.first()).copied().unwrap_or(0);
        let element = |i: usize| {
            let slice = Slice { start: vec![i], limit: vec![i + 1], strides: vec![1] };
            let slice = self.op(Op::Slice(slice), &[vector], ty.with_sizes([1]));
            self.op(Op::Reshape, &[slice], ty.with_sizes([]))
        };
        Ok((0..n).map(element).collect())
    }

    /// The product of a shape's extents.
    pub(super) fn num_elements(&mut self, shape: ValueId) -> Result<ValueId, String> {
        self.len(shape)?;
        let extents = self.elements(shape)?;
        let ty = self.tensor(shape)?.with_sizes([]);
        let product =
            extents.into_iter().reduce(|a, b| self.op(Op::Binary(Binary::Multiply), &[a, b], ty.clone()));
        Ok(product.unwrap_or_else(|| self.integer(1)))
    }

    /// Concatenates shapes.
    pub(super) fn concat(&mut self, shapes: &[ValueId]) -> Result<ValueId, String> {
        let mut n = 0;
        for shape in shapes {
            n += self.len(*shape)?;
        }
        let Some(first) = shapes.first() else { return Err("an operand is missing".to_owned()) };
        let ty = self.tensor(*first)?.with_sizes([n]);
        Ok(self.op(Op::Concatenate { dim: 0 }, shapes, ty))
    }

    /// Pads shapes with leading ones to the rank of the longest.
    fn aligned(&mut self, shapes: &[ValueId]) -> Result<Vec<ValueId>, String> {
        let lens = shapes.iter().map(|s| self.len(*s)).collect::<Result<Vec<_>, _>>()?;
        let longest = lens.iter().copied().max().unwrap_or(0);
        let pad = |(shape, len): (&ValueId, usize)| {
            if len == longest {
                return Ok(*shape);
            }
            let ones = self.integers(&vec![1; longest - len]);
            self.concat(&[ones, *shape])
        };
        shapes.iter().zip(lens).map(pad).collect()
    }

    fn compare(&mut self, direction: ComparisonDirection, a: ValueId, b: ValueId) -> Result<ValueId, String> {
        let ty = self.tensor(a)?.with_dtype(DType::Pred);
        Ok(self.op(Op::Compare(Compare { direction, kind: None }), &[a, b], ty))
    }

    fn is_one(&mut self, extents: ValueId) -> Result<ValueId, String> {
        let n = self.len(extents)?;
        let ones = self.integers(&vec![1; n]);
        self.compare(ComparisonDirection::Eq, extents, ones)
    }

    /// The common shape of a broadcast: an extent of 1 is replaced by the other shape's extent.
    pub(super) fn broadcast(&mut self, shapes: &[ValueId]) -> Result<ValueId, String> {
        let aligned = self.aligned(shapes)?;
        let Some((first, others)) = aligned.split_first() else {
            return Err("an operand is missing".to_owned());
        };
        others.iter().try_fold(*first, |a, b| {
            let ty = self.tensor(a)?;
            let is_one = self.is_one(a)?;
            Ok(self.op(Op::Select, &[is_one, *b, a], ty))
        })
    }

    /// Computes a boolean that is true if the shapes have a common broadcast shape.
    pub(super) fn are_broadcastable(&mut self, shapes: &[ValueId]) -> Result<ValueId, String> {
        let aligned = self.aligned(shapes)?;
        let mut conditions = Vec::new();
        let Some((first, others)) = aligned.split_first() else { return self.all(&conditions) };
        // A shape is compatible with all previous shapes if it is compatible with their common broadcast
        // shape.
        let mut common = *first;
        for b in others {
            let equal = self.compare(ComparisonDirection::Eq, common, *b)?;
            let ty = self.tensor(equal)?;
            let (one, other) = (self.is_one(common)?, self.is_one(*b)?);
            let either = self.op(Op::Binary(Binary::Or), &[one, other], ty.clone());
            let fits = self.op(Op::Binary(Binary::Or), &[equal, either], ty);
            conditions.extend(self.elements(fits)?);
            let ty = self.tensor(common)?;
            common = self.op(Op::Select, &[one, *b, common], ty);
        }
        self.all(&conditions)
    }

    /// Computes a boolean that is true if all shapes are equal.
    pub(super) fn are_equal(&mut self, shapes: &[ValueId]) -> Result<ValueId, String> {
        let mut conditions = Vec::new();
        for pair in shapes.windows(2) {
            if self.len(pair[0])? != self.len(pair[1])? {
                return Ok(self.boolean(false));
            }
            let equal = self.compare(ComparisonDirection::Eq, pair[0], pair[1])?;
            conditions.extend(self.elements(equal)?);
        }
        self.all(&conditions)
    }

    /// Computes a boolean that is true if all conditions hold.
    pub(super) fn all(&mut self, conditions: &[ValueId]) -> Result<ValueId, String> {
        let ty = TensorType::scalar(DType::Pred);
        let all =
            conditions.iter().copied().reduce(|a, b| self.op(Op::Binary(Binary::And), &[a, b], ty.clone()));
        Ok(all.unwrap_or_else(|| self.boolean(true)))
    }

    /// Adds a runtime assertion, which is checked once the sizes are known. Returns the condition.
    pub(super) fn assert(&mut self, condition: ValueId, message: &str) -> Result<ValueId, String> {
        let call = CustomCall { has_side_effect: true, ..CustomCall::new("shape_assertion") };
        let mut new = NewInst::new(Op::CustomCall(Box::new(call)), [condition]).at(self.at, None);
        new.attrs.insert("error_message".to_owned(), Attribute::string(message));
        self.func.push(self.region, new, []);
        Ok(condition)
    }
}
