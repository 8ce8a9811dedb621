//! Operations that move elements without changing them.

/// `slice`: elements `start[d]`, `start[d] + strides[d]`, … below `limit[d]` of each dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    /// First index of each dimension.
    pub start: Vec<usize>,
    /// One past the last index of each dimension.
    pub limit: Vec<usize>,
    /// Steps, at least 1.
    pub strides: Vec<usize>,
}

/// `pad`: elements of padding around and between those of the operand. `low` and `high` may be
/// negative (elements are cut off).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pad {
    /// Before the first element of each dimension.
    pub low: Vec<i64>,
    /// After the last element of each dimension.
    pub high: Vec<i64>,
    /// Between elements of each dimension, at least 0.
    pub interior: Vec<i64>,
}
