//! Types of values: tensors, tokens, tuples, futures.

use std::fmt;
use std::sync::Arc;

use farcall_sig::DType;

/// The size of a dimension that is not known before a run (`?` in StableHLO text).
pub const DYNAMIC: usize = usize::MAX;

/// The type of a value.
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
    /// Sizes of the dimensions, or [`DYNAMIC`].
    pub dims: Arc<[usize]>,
    /// How stored integers stand for real numbers, if this is a quantized tensor.
    pub quant: Option<Arc<Quantization>>,
    /// `#stablehlo.bounds<…>`: upper bounds of dynamic dimensions ([`DYNAMIC`] for none).
    pub bounds: Option<Arc<[usize]>>,
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
    /// A tensor type that is not quantized.
    pub fn new(dtype: DType, dims: impl Into<Arc<[usize]>>) -> TensorType {
        TensorType { dtype, dims: dims.into(), quant: None, bounds: None }
    }

    /// A rank 0 tensor type.
    pub fn scalar(dtype: DType) -> TensorType {
        TensorType::new(dtype, [])
    }

    /// The same with another element type (and no quantization).
    pub fn with_dtype(&self, dtype: DType) -> TensorType {
        TensorType { dtype, quant: None, ..self.clone() }
    }

    /// The same with other dimensions (and no bounds).
    pub fn with_dims(&self, dims: impl Into<Arc<[usize]>>) -> TensorType {
        TensorType { dims: dims.into(), bounds: None, ..self.clone() }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// True if every dimension is known.
    pub fn is_static(&self) -> bool {
        self.dims.iter().all(|d| *d != DYNAMIC)
    }

    /// Number of elements, or `None` if a dimension is dynamic or the product overflows.
    pub fn elements(&self) -> Option<usize> {
        if !self.is_static() {
            return None;
        }
        if self.dims.contains(&0) {
            return Some(0);
        }
        self.dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
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
        let mut rest = vec![self];
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

/// Writes the type as StableHLO text does: `tensor<4x?xf32>`.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for d in self.dims.iter() {
            if *d == DYNAMIC { f.write_str("?x")? } else { write!(f, "{d}x")? }
        }
        match &self.quant {
            None => f.write_str(self.dtype.mlir())?,
            Some(q) => write_quantized(f, self.dtype, q)?,
        }
        if let Some(bounds) = &self.bounds {
            let text: Vec<String> =
                bounds.iter().map(|b| if *b == DYNAMIC { "?".to_owned() } else { b.to_string() }).collect();
            write!(f, ", #stablehlo.bounds<{}>", text.join(", "))?;
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
