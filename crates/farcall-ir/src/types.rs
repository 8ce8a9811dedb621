//! Types of values: tensors, tokens, tuples, futures.

use std::fmt;
use std::sync::Arc;

use farcall_sig::DType;
use smallvec::SmallVec;

/// The size of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Known from the program.
    Static(usize),
    /// Not known before a run (`?` in StableHLO text).
    Dynamic {
        /// The largest that it can be, if the program says so (`#stablehlo.bounds<…>`).
        bound: Option<usize>,
    },
}

impl Dim {
    /// A dynamic dimension of which nothing is known.
    pub const UNBOUNDED: Dim = Dim::Dynamic { bound: None };

    /// The size, if it is static.
    pub fn size(self) -> Option<usize> {
        match self {
            Dim::Static(size) => Some(size),
            Dim::Dynamic { .. } => None,
        }
    }

    /// The bound of a dynamic dimension that has one.
    pub fn bound(self) -> Option<usize> {
        match self {
            Dim::Static(_) => None,
            Dim::Dynamic { bound } => bound,
        }
    }

    /// True if the size is not known.
    pub fn is_dynamic(self) -> bool {
        self.size().is_none()
    }

    /// False if the size is known to be another. Bounds do not count.
    pub fn may_be(self, size: usize) -> bool {
        self.size().is_none_or(|known| known == size)
    }

    /// True if a dimension of a tensor in a run may have this size: the static one, or one within the bound.
    pub fn admits(self, size: usize) -> bool {
        self.may_be(size) && self.bound().is_none_or(|bound| size <= bound)
    }

    /// False if both sizes are known and differ. Bounds do not count.
    pub fn may_equal(self, other: Dim) -> bool {
        other.size().is_none_or(|size| self.may_be(size))
    }

    /// A size that follows from this one. A dynamic dimension stays dynamic, without its bound.
    pub fn map(self, f: impl FnOnce(usize) -> usize) -> Dim {
        self.size().map_or(Dim::UNBOUNDED, |size| Dim::Static(f(size)))
    }

    /// This dimension, or the other if only that is static.
    pub fn or(self, other: Dim) -> Dim {
        if self.is_dynamic() && !other.is_dynamic() { other } else { self }
    }
}

/// Some types, of which there is mostly one.
pub(crate) type TypeList = SmallVec<[Type; 1]>;

/// The type of a value. Not `non_exhaustive`: it is
/// matched exhaustively on purpose, so that the compiler names the places that a new variant concerns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A tensor.
    Tensor(TensorType),
    /// `!stablehlo.token`: orders side effects, holds no data.
    Token,
    /// `tuple<…>`
    Tuple(Arc<[Type]>),
    /// `!stablehlo.future<…>`: tensors that are being computed.
    Future(Arc<[Type]>),
    /// `(…) -> …`, only as an attribute.
    Function(Arc<FuncType>),
    /// A scalar outside of a tensor (`i32`, `f32`), only as an attribute.
    Scalar(DType),
    /// A type of another dialect, kept as text, only as an attribute.
    Opaque(Arc<str>),
}

/// The types that a function takes and gives.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FuncType {
    /// One per parameter.
    pub params: Vec<Type>,
    /// One per result.
    pub results: Vec<Type>,
}

/// A tensor's element type and dimensions, in logical (row-major) order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Type of the elements; for a quantized tensor the type they are stored as.
    pub dtype: DType,
    /// How stored integers stand for real numbers, if this is a quantized tensor.
    pub quant: Option<Arc<Quantization>>,
    dims: Dims,
}

/// The dimensions of a tensor.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Dims {
    Static(Arc<[usize]>),
    /// At least one is dynamic, so equal dimensions are the same variant.
    Dynamic(Arc<[Dim]>),
}

impl FromIterator<Dim> for Dims {
    fn from_iter<I: IntoIterator<Item = Dim>>(dims: I) -> Dims {
        let dims: SmallVec<[Dim; 6]> = dims.into_iter().collect();
        match dims.iter().map(|dim| dim.size()).collect() {
            Some(sizes) => Dims::Static(sizes),
            None => Dims::Dynamic(dims.as_slice().into()),
        }
    }
}

/// `!quant.uniform<storage<min:max>:expressed:axis, {scale:zero_point, …}>`
///
/// The stored type is [`TensorType::dtype`]. Scales are kept as the bits of an `f64`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Quantization {
    /// Type of the real numbers that stand behind the stored integers.
    pub expressed: DType,
    /// Smallest stored integer.
    pub storage_min: i64,
    /// Largest stored integer.
    pub storage_max: i64,
    /// Dimension along which the parameters vary; none if the tensor has one scale.
    pub axis: Option<usize>,
    /// Bits of the `f64` scales: one, or one per index along `axis`.
    pub scales: Vec<u64>,
    /// As many as `scales`.
    pub zero_points: Vec<i64>,
}

impl Quantization {
    /// Scale number `i` (0 for a tensor with one scale).
    pub fn scale(&self, i: usize) -> f64 {
        f64::from_bits(self.scales[i])
    }
}

impl TensorType {
    /// A tensor type with static dimensions that is not quantized.
    pub fn new(dtype: DType, sizes: impl Into<Arc<[usize]>>) -> TensorType {
        TensorType { dtype, quant: None, dims: Dims::Static(sizes.into()) }
    }

    /// A tensor type that is not quantized.
    pub fn from_dims(dtype: DType, dims: impl IntoIterator<Item = Dim>) -> TensorType {
        TensorType { dtype, quant: None, dims: dims.into_iter().collect() }
    }

    /// A rank 0 tensor type.
    pub fn scalar(dtype: DType) -> TensorType {
        // As a rule, an empty list is in no memory of its own.
        TensorType::new(dtype, Arc::default())
    }

    /// The same with another element type (and no quantization).
    pub fn with_dtype(&self, dtype: DType) -> TensorType {
        TensorType { dtype, quant: None, dims: self.dims.clone() }
    }

    /// The same with other quantization, or none.
    pub fn with_quant(self, quant: Option<Arc<Quantization>>) -> TensorType {
        TensorType { quant, ..self }
    }

    /// The same with other dimensions, all static.
    pub fn with_sizes(&self, sizes: impl Into<Arc<[usize]>>) -> TensorType {
        TensorType { dims: Dims::Static(sizes.into()), quant: self.quant.clone(), ..*self }
    }

    /// The same with other dimensions.
    pub fn with_dims(&self, dims: impl IntoIterator<Item = Dim>) -> TensorType {
        TensorType { dims: dims.into_iter().collect(), quant: self.quant.clone(), ..*self }
    }

    /// The same with the dimensions of another type.
    pub fn with_dims_of(&self, other: &TensorType) -> TensorType {
        TensorType { dims: other.dims.clone(), quant: self.quant.clone(), ..*self }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        match &self.dims {
            Dims::Static(sizes) => sizes.len(),
            Dims::Dynamic(dims) => dims.len(),
        }
    }

    /// The dimensions, in order.
    pub fn dims(&self) -> impl ExactSizeIterator<Item = Dim> + DoubleEndedIterator + Clone + '_ {
        (0..self.rank()).map(|i| self.dim(i))
    }

    /// Dimension number `i`.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn dim(&self, i: usize) -> Dim {
        match &self.dims {
            Dims::Static(sizes) => Dim::Static(sizes[i]),
            Dims::Dynamic(dims) => dims[i],
        }
    }

    /// Dimension number `i`, if there are as many.
    pub fn get_dim(&self, i: usize) -> Option<Dim> {
        (i < self.rank()).then(|| self.dim(i))
    }

    /// True if every dimension is static.
    pub fn is_static(&self) -> bool {
        self.static_sizes().is_some()
    }

    /// The sizes of the dimensions, if all are static.
    pub fn static_sizes(&self) -> Option<&[usize]> {
        match &self.dims {
            Dims::Static(sizes) => Some(sizes),
            Dims::Dynamic(_) => None,
        }
    }

    /// The same as [`TensorType::sizes`], without a copy for who keeps them.
    ///
    /// # Panics
    /// If a dimension is dynamic.
    #[track_caller]
    pub fn shared_sizes(&self) -> Arc<[usize]> {
        match &self.dims {
            Dims::Static(sizes) => Arc::clone(sizes),
            Dims::Dynamic(_) => panic!("{self} has a dynamic dimension"),
        }
    }

    /// The sizes of the dimensions, for code that is given static programs only.
    ///
    /// # Panics
    /// If a dimension is dynamic. Where it may be, ask [`TensorType::static_sizes`] or [`TensorType::dims`].
    #[track_caller]
    pub fn sizes(&self) -> &[usize] {
        match &self.dims {
            Dims::Static(sizes) => sizes,
            Dims::Dynamic(_) => panic!("{self} has a dynamic dimension"),
        }
    }

    /// Number of elements, or `None` if a dimension is dynamic or the product overflows.
    pub fn elements(&self) -> Option<usize> {
        let sizes = self.static_sizes()?;
        if sizes.contains(&0) {
            return Some(0);
        }
        sizes.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
    }

    /// Bytes of the elements in memory, or `None` as for [`TensorType::elements`].
    pub fn bytes(&self) -> Option<usize> {
        self.elements()?.checked_mul(self.dtype.size())
    }
}

impl Type {
    /// The tensor type, if it is one.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }
}

impl Type {
    /// The tensors in it, in order: itself, or those of a tuple or a future. A token has none.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorType> {
        let mut rest: smallvec::SmallVec<[&Type; 4]> = smallvec::smallvec![self];
        std::iter::from_fn(move || {
            loop {
                match rest.pop()? {
                    Type::Tensor(t) => return Some(t),
                    Type::Tuple(parts) | Type::Future(parts) => rest.extend(parts.iter().rev()),
                    Type::Token | Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => {}
                }
            }
        })
    }
}

impl From<TensorType> for Type {
    fn from(t: TensorType) -> Type {
        Type::Tensor(t)
    }
}

/// Writes the size, or `?`.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Static(size) => write!(f, "{size}"),
            Dim::Dynamic { .. } => f.write_str("?"),
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the type as StableHLO text does: `tensor<4x?xf32>`.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for dim in self.dims() {
            write!(f, "{dim}x")?;
        }
        match &self.quant {
            None => f.write_str(self.dtype.mlir())?,
            Some(q) => write_quantized(f, self.dtype, q)?,
        }
        if self.dims().any(|dim| dim.bound().is_some()) {
            let bounds = self.dims().map(|dim| dim.bound().map_or_else(|| "?".to_owned(), |b| b.to_string()));
            write!(f, ", #stablehlo.bounds<{}>", bounds.collect::<Vec<_>>().join(", "))?;
        }
        f.write_str(">")
    }
}

fn write_quantized(f: &mut fmt::Formatter<'_>, storage: DType, q: &Quantization) -> fmt::Result {
    let signedness = if storage.is_unsigned_integer() { "u" } else { "i" };
    write!(f, "!quant.uniform<{signedness}{}", storage.bits())?;
    if (q.storage_min, q.storage_max) != default_storage_range(storage) {
        write!(f, "<{}:{}>", q.storage_min, q.storage_max)?;
    }
    write!(f, ":{}", q.expressed.mlir())?;
    // A float has a point in MLIR, also before an exponent.
    let scale = |x: f64| match format!("{x:?}") {
        text if text.contains('.') => text,
        text => text.replacen('e', ".0e", 1),
    };
    let params: Vec<String> = (0..q.scales.len())
        .map(|i| match q.zero_points[i] {
            0 => scale(q.scale(i)),
            z => format!("{}:{z}", scale(q.scale(i))),
        })
        .collect();
    match q.axis {
        Some(axis) => write!(f, ":{axis}, {{{}}}>", params.join(", ")),
        None => write!(f, ", {}>", params.join(", ")),
    }
}

/// The range of stored integers that a quantized type has when it names none.
pub fn default_storage_range(storage: DType) -> (i64, i64) {
    let unused = 64 - storage.bits();
    if storage.is_unsigned_integer() {
        // The largest numbers of 64 bits are left out.
        (0, i64::try_from(u64::MAX >> unused).unwrap_or(i64::MAX))
    } else {
        (i64::MIN >> unused, i64::MAX >> unused)
    }
}

impl fmt::Debug for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the type as StableHLO text does.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(t) => fmt::Display::fmt(t, f),
            Type::Token => f.write_str("!stablehlo.token"),
            Type::Tuple(parts) => {
                f.write_str("tuple<")?;
                write_list(f, parts)?;
                f.write_str(">")
            }
            Type::Future(parts) => {
                f.write_str("!stablehlo.future<")?;
                write_list(f, parts)?;
                f.write_str(">")
            }
            Type::Function(func) => {
                f.write_str("(")?;
                write_list(f, &func.params)?;
                f.write_str(") -> ")?;
                match func.results.as_slice() {
                    [one] if !matches!(one, Type::Function(_)) => write!(f, "{one}"),
                    many => {
                        f.write_str("(")?;
                        write_list(f, many)?;
                        f.write_str(")")
                    }
                }
            }
            Type::Scalar(d) => f.write_str(d.mlir()),
            Type::Opaque(text) => f.write_str(text),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, types: &[Type]) -> fmt::Result {
    for (i, t) in types.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{t}")?;
    }
    Ok(())
}
