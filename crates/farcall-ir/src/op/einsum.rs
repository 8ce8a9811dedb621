//! The configuration of `einsum` and `unary_einsum`: letters that name dimensions.

use crate::types::{Dim, TensorType};

/// `ab,bc->ac`: one letter per dimension.
pub(crate) struct EinsumConfig {
    /// Letters of each operand.
    pub(crate) operands: Vec<Vec<char>>,
    /// Letters of the result.
    pub(crate) result: Vec<char>,
}

impl EinsumConfig {
    /// Parses the configuration of an operation with `operands` operands.
    ///
    /// # Errors
    /// A sentence that describes the mistake.
    pub(crate) fn parse(text: &str, operands: usize) -> Result<EinsumConfig, String> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let Some((left, right)) = compact.split_once("->") else {
            return Err(format!(
                "the configuration needs `->` before the letters of the result, found {text:?}"
            ));
        };
        if let Some(other) = left.chars().chain(right.chars()).find(|c| !c.is_ascii_alphabetic() && *c != ',')
        {
            return Err(format!("dimensions are named by letters, found `{other}` in {text:?}"));
        }
        let lists: Vec<Vec<char>> = left.split(',').map(|list| list.chars().collect()).collect();
        if lists.len() != operands || right.contains(',') {
            return Err(format!(
                "the configuration needs {operands} lists of letters before `->` and one after it, found {text:?}"
            ));
        }
        let config = EinsumConfig { operands: lists, result: right.chars().collect() };
        for (i, letter) in config.result.iter().enumerate() {
            if config.result[..i].contains(letter) {
                return Err(format!(
                    "letters of the result must be unique, found `{letter}` twice in {text:?}"
                ));
            }
            if !config.operands.iter().any(|list| list.contains(letter)) {
                return Err(format!(
                    "a letter of the result must belong to an operand, found `{letter}` in {text:?}"
                ));
            }
        }
        Ok(config)
    }

    /// Returns the common size of the dimensions that a letter names in these operands.
    ///
    /// # Errors
    /// Two sizes that contradict each other.
    pub(crate) fn size(&self, letter: char, operands: &[&TensorType]) -> Result<Dim, [Dim; 2]> {
        let mut known = Dim::UNBOUNDED;
        for (list, operand) in self.operands.iter().zip(operands) {
            for (_, dim) in list.iter().zip(operand.dims()).filter(|(l, _)| **l == letter) {
                if !known.may_equal(dim) {
                    return Err([known, dim]);
                }
                known = known.or(dim);
            }
        }
        Ok(known)
    }
}
