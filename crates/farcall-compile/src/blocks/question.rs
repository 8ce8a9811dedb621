//! Descriptions of blocks for lowerings.

use farcall_ffi::encode::Encoded;
use farcall_ffi::lowering::{Block, LoweringClient, Options as BlockOptions};
use farcall_ir::op::Composite;
use farcall_ir::{Attribute, TensorType, Type};
use farcall_sig::AttrValues;
use farcall_sig::signature::OperandType;

use crate::options::Options;
use farcall_host::attributes::value;

/// A block in the form that lowerings see.
pub(super) struct Question<'a> {
    block: &'a Composite,
    /// The options that have a form in the C interface.
    values: Encoded,
    /// All options as text.
    texts: Vec<(&'a str, String)>,
    pub(super) operands: Vec<Tensor<'a>>,
    pub(super) results: Vec<Tensor<'a>>,
    options: &'a Options<'a>,
}

/// The type of an operand or a result.
pub(super) struct Tensor<'a> {
    pub(super) ty: &'a TensorType,
    dims: Vec<i64>,
}

impl<'a> Question<'a> {
    /// Describes a block.
    ///
    /// # Errors
    /// The reason why no lowering can be asked: the operands and results include values other than plain
    /// tensors, or an option has no form in the C interface because of its size or depth.
    pub(super) fn new(
        block: &'a Composite,
        operands: &'a [Type],
        results: &'a [Type],
        options: &'a Options<'a>,
    ) -> Result<Question<'a>, String> {
        let (Some(operands), Some(results)) = (tensors(operands), tensors(results)) else {
            return Err(
                "it has a token, a tuple or a quantized tensor among its operands or results".to_owned()
            );
        };
        let values: AttrValues =
            block.attrs.iter().filter_map(|(name, attr)| Some((name.as_str(), value(attr)?))).collect();
        let values = Encoded::of(&values).map_err(|e| format!("its options cannot be passed on: {e}"))?;
        let texts = block.attrs.iter().map(|(name, attr)| (name.as_str(), attr.to_string())).collect();
        Ok(Question { block, values, texts, operands, results, options })
    }

    /// Returns the option of this name, as the program writes it.
    pub(super) fn option(&self, name: &str) -> Option<&Attribute> {
        self.block.attrs.get(name)
    }

    pub(super) fn block(&self) -> Block<'_> {
        let texts = self.texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let numerics = self.options.numerics;
        let client = LoweringClient::new(
            self.options.platform.name(),
            ("farcall", env!("CARGO_PKG_VERSION")),
            vec![("denormals", numerics.denormals.name()), ("semantics", numerics.semantics.name())],
        );
        Block::new(
            (&self.block.name, self.block.version),
            BlockOptions::new(&self.values, texts),
            self.operands.iter().map(Tensor::template).collect(),
            self.results.iter().map(Tensor::template).collect(),
            client,
        )
    }
}

impl Tensor<'_> {
    /// Returns the type, if it is a plain tensor.
    fn of(ty: &Type) -> Option<Tensor<'_>> {
        let ty = ty.tensor().filter(|ty| ty.quant.is_none())?;
        let dims = ty.static_sizes()?.iter().map(|d| i64::try_from(*d).ok()).collect::<Option<_>>()?;
        Some(Tensor { ty, dims })
    }

    fn template(&self) -> OperandType<'_> {
        OperandType { dtype: self.ty.dtype, dims: &self.dims }
    }
}

/// Returns the types, if all are plain tensors.
fn tensors(types: &[Type]) -> Option<Vec<Tensor<'_>>> {
    types.iter().map(Tensor::of).collect()
}
