//! Reductions over windows. All lists have one entry per dimension of the operand; the parser fills
//! in the defaults of absent attributes.

/// `reduce_window`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReduceWindow {
    /// Size of the window.
    pub window: Vec<usize>,
    /// Steps between windows.
    pub strides: Vec<usize>,
    /// Distance of the operand's elements (1: no holes).
    pub base_dilations: Vec<usize>,
    /// Distance of the window's elements (1: no holes).
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

/// `chlo.scan`: the region takes a slice of each input and what is carried; it gives a slice of each output
/// and what is carried on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    /// Dimension along which slices are taken.
    pub dim: usize,
    /// How many slices there are, if the text says it.
    pub size: Option<usize>,
    /// The last slice comes first.
    pub is_reverse: bool,
    /// What the text says about the region.
    pub is_associative: Option<bool>,
    /// Number of operands that are sliced; the others are initial values.
    pub inputs: usize,
    /// Number of values that are carried.
    pub carries: usize,
    /// Number of results that are made of slices; the others are the last values carried.
    pub outputs: usize,
}
