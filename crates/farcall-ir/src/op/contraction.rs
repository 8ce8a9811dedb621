//! Products and convolutions.

use crate::attr::Attribute;

/// `dot_general`. The result has the batching dimensions, then the free dimensions of lhs, then the free
/// dimensions of rhs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DotGeneral {
    /// Batching dimensions of lhs, paired with the list for rhs.
    pub lhs_batch: Vec<usize>,
    /// Batching dimensions of rhs.
    pub rhs_batch: Vec<usize>,
    /// Contracting dimensions of lhs, paired with the list for rhs.
    pub lhs_contract: Vec<usize>,
    /// Contracting dimensions of rhs.
    pub rhs_contract: Vec<usize>,
    /// One precision for each operand, or empty.
    pub precision: Vec<Precision>,
    /// `#stablehlo.dot_algorithm<…>`, kept as written.
    pub algorithm: Option<Attribute>,
}

/// Required exactness of a product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub enum Precision {
    Default,
    High,
    Highest,
}

impl Precision {
    /// All precisions.
    pub const VARIANTS: [Precision; 3] = [Precision::Default, Precision::High, Precision::Highest];

    /// Returns the spelling in StableHLO text.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::Default => "DEFAULT",
            Precision::High => "HIGH",
            Precision::Highest => "HIGHEST",
        }
    }
}

/// `convolution`. Window lists have one entry per spatial dimension; the parser fills in the defaults of
/// absent attributes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Convolution {
    /// Steps between windows.
    pub strides: Vec<usize>,
    /// Padding of lhs before and after.
    pub padding: Vec<(i64, i64)>,
    /// Distance between lhs elements (1: no holes).
    pub lhs_dilation: Vec<usize>,
    /// Distance between rhs elements (1: no holes).
    pub rhs_dilation: Vec<usize>,
    /// True for each window dimension that is reversed.
    pub reversal: Vec<bool>,
    /// Roles of the dimensions of the operands and the result.
    pub dims: ConvolutionDims,
    /// Number of feature groups.
    pub feature_group_count: usize,
    /// Number of batch groups.
    pub batch_group_count: usize,
    /// One precision for each operand, or empty.
    pub precision: Vec<Precision>,
}

impl Convolution {
    /// Returns true if windows are so much larger than the image that its padding is skipped rather than
    /// multiplied. `image` and `kernels` are the sizes of the two operands.
    pub fn skips_padding(&self, image: &[usize], kernels: &[usize]) -> bool {
        let count = |sizes: &[usize], dims: &[usize]| {
            dims.iter().filter_map(|d| sizes.get(*d)).fold(1, |n: usize, size| n.saturating_mul(*size))
        };
        let image = count(image, &self.dims.input_spatial);
        let window = count(kernels, &self.dims.kernel_spatial);
        self.feature_group_count <= 1 && window / 4 >= image.max(1)
    }
}

/// `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`: the dimensions in each role.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "named as in the specification")]
pub struct ConvolutionDims {
    pub input_batch: usize,
    pub input_feature: usize,
    pub input_spatial: Vec<usize>,
    pub kernel_input_feature: usize,
    pub kernel_output_feature: usize,
    pub kernel_spatial: Vec<usize>,
    pub output_batch: usize,
    pub output_feature: usize,
    pub output_spatial: Vec<usize>,
}
