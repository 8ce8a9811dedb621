//! Reductions over windows. All lists have one entry per dimension of the operand; the parser fills in the
//! defaults of absent attributes.

/// `reduce_window`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReduceWindow {
    /// Size of the window.
    pub window: Vec<usize>,
    /// Steps between windows.
    pub strides: Vec<usize>,
    /// Distance between the operand's elements (1: no holes).
    pub base_dilations: Vec<usize>,
    /// Distance between the window's elements (1: no holes).
    pub window_dilations: Vec<usize>,
    /// Padding before and after.
    pub padding: Vec<(i64, i64)>,
}

/// `select_and_scatter`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SelectAndScatter {
    /// Size of the window.
    pub window: Vec<usize>,
    /// Steps between windows.
    pub strides: Vec<usize>,
    /// Padding before and after.
    pub padding: Vec<(i64, i64)>,
}

/// `chlo.scan`: the region takes a slice of each input and the carries, and returns a slice of each output
/// and the new carries.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    /// Dimension along which slices are taken.
    pub dim: usize,
    /// Number of slices, if the text specifies it.
    pub size: Option<usize>,
    /// True to start with the last slice.
    pub is_reverse: bool,
    /// The text's claim that the region is associative, if present.
    pub is_associative: Option<bool>,
    /// Number of sliced operands; the other operands are initial carries.
    pub inputs: usize,
    /// Number of carries.
    pub carries: usize,
    /// Number of results assembled from slices; the other results are the final carries.
    pub outputs: usize,
}
