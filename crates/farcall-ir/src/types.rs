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
    /// Not known until the program runs (`?` in StableHLO text).
    Dynamic {
        /// Upper bound of the size, if the program states one (`#stablehlo.bounds<…>`).
        bound: Option<usize>,
    },
}

impl Dim {
    /// A dynamic dimension without a bound.
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

    /// True if the size is dynamic.
    pub fn is_dynamic(self) -> bool {
        self.size().is_none()
    }

    /// Returns false if the size is static and differs from `size`. Bounds are ignored.
    pub fn may_be(self, size: usize) -> bool {
        self.size().is_none_or(|known| known == size)
    }

    /// True if the dimension may have this size in a run: the static size, or any size within the bound.
    pub fn admits(self, size: usize) -> bool {
        self.may_be(size) && self.bound().is_none_or(|bound| size <= bound)
    }

    /// Returns false if both sizes are static and differ. Bounds are ignored.
    pub fn may_equal(self, other: Dim) -> bool {
        other.size().is_none_or(|size| self.may_be(size))
    }

    /// Applies `f` to a static size. A dynamic dimension stays dynamic, without its bound.
    pub fn map(self, f: impl FnOnce(usize) -> usize) -> Dim {
        self.size().map_or(Dim::UNBOUNDED, |size| Dim::Static(f(size)))
    }

    /// Returns this dimension, or `other` if only `other` is static.
    pub fn or(self, other: Dim) -> Dim {
        if self.is_dynamic() && !other.is_dynamic() { other } else { self }
    }
}

/// A list of types, usually of length 1.
pub(crate) type TypeList = SmallVec<[Type; 1]>;

/// The type of a value. The enum is deliberately not `non_exhaustive`: matches are exhaustive, so the
/// compiler points out all code that a new variant affects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A tensor.
    Tensor(TensorType),
    /// `!stablehlo.token`: orders side effects and holds no data.
    Token,
    /// `tuple<…>`
    Tuple(Arc<[Type]>),
    /// `!stablehlo.future<…>`: tensors that are still being computed.
    Future(Arc<[Type]>),
    /// `(…) -> …`; only in attributes.
    Function(Arc<FuncType>),
    /// A scalar outside of a tensor (`i32`, `f32`); only in attributes.
    Scalar(DType),
    /// A type of another dialect, kept as text; only in attributes.
    Opaque(Arc<str>),
}

/// The parameter and result types of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FuncType {
    /// One type for each parameter.
    pub params: Vec<Type>,
    /// One type for each result.
    pub results: Vec<Type>,
}

/// A tensor's element type and dimensions, in logical (row-major) order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Element type; for a quantized tensor, the storage type.
    pub dtype: DType,
    /// Quantization parameters, if this is a quantized tensor.
    pub quant: Option<Arc<Quantization>>,
    dims: Dims,
}

/// The dimensions of a tensor.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Dims {
    Static(Arc<[usize]>),
    /// At least one dimension is dynamic, so equal lists of dimensions always have the same variant.
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
    /// Type of the real numbers that the stored integers represent (the expressed type).
    pub expressed: DType,
    /// Smallest stored integer.
    pub storage_min: i64,
    /// Largest stored integer.
    pub storage_max: i64,
    /// Quantized dimension; `None` for per-tensor quantization.
    pub axis: Option<usize>,
    /// Bits of the `f64` scales: one, or one for each index along `axis`.
    pub scales: Vec<u64>,
    /// Zero points, as many as `scales`.
    pub zero_points: Vec<i64>,
}

impl Quantization {
    /// Scale number `i` (0 for per-tensor quantization).
    pub fn scale(&self, i: usize) -> f64 {
        f64::from_bits(self.scales[i])
    }
}

impl TensorType {
    /// Creates a tensor type with static dimensions, without quantization.
    pub fn new(dtype: DType, sizes: impl Into<Arc<[usize]>>) -> TensorType {
        TensorType { dtype, quant: None, dims: Dims::Static(sizes.into()) }
    }

    /// Creates a tensor type without quantization.
    pub fn from_dims(dtype: DType, dims: impl IntoIterator<Item = Dim>) -> TensorType {
        TensorType { dtype, quant: None, dims: dims.into_iter().collect() }
    }

    /// Creates a tensor type of rank 0.
    pub fn scalar(dtype: DType) -> TensorType {
        // An empty default `Arc` slice usually does not allocate.
        TensorType::new(dtype, Arc::default())
    }

    /// Returns this type with another element type and without quantization.
    pub fn with_dtype(&self, dtype: DType) -> TensorType {
        TensorType { dtype, quant: None, dims: self.dims.clone() }
    }

    /// Returns this type with the given quantization.
    pub fn with_quant(self, quant: Option<Arc<Quantization>>) -> TensorType {
        TensorType { quant, ..self }
    }

    /// Returns this type with other dimensions, all static.
    pub fn with_sizes(&self, sizes: impl Into<Arc<[usize]>>) -> TensorType {
        TensorType { dims: Dims::Static(sizes.into()), quant: self.quant.clone(), ..*self }
    }

    /// Returns this type with other dimensions.
    pub fn with_dims(&self, dims: impl IntoIterator<Item = Dim>) -> TensorType {
        TensorType { dims: dims.into_iter().collect(), quant: self.quant.clone(), ..*self }
    }

    /// Returns this type with the dimensions of `other`.
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
    /// If `i` is not less than the rank.
    pub fn dim(&self, i: usize) -> Dim {
        match &self.dims {
            Dims::Static(sizes) => Dim::Static(sizes[i]),
            Dims::Dynamic(dims) => dims[i],
        }
    }

    /// Dimension number `i`, or `None` if `i` is not less than the rank.
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

    /// Returns [`TensorType::sizes`] as a shared slice, without a copy.
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

    /// The sizes of the dimensions, for code that only handles static programs.
    ///
    /// # Panics
    /// If a dimension is dynamic. Use [`TensorType::static_sizes`] or [`TensorType::dims`] where a dimension
    /// may be dynamic.
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

    /// Size of the elements in memory in bytes, or `None` if a dimension is dynamic or the size overflows.
    pub fn bytes(&self) -> Option<usize> {
        self.elements()?.checked_mul(self.dtype.size())
    }
}

impl Type {
    /// The tensor type, if this is a tensor.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }
}

impl Type {
    /// Iterates over the tensor types in this type, in order: the type itself, or the elements of a tuple or
    /// future. Tokens have none.
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
    // MLIR's float syntax requires a decimal point, even before an exponent.
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

/// Storage range of a quantized type that does not state one.
pub fn default_storage_range(storage: DType) -> (i64, i64) {
    let unused = 64 - storage.bits();
    if storage.is_unsigned_integer() {
        // The range ends at `i64::MAX`: the largest `u64` does not fit.
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
