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
