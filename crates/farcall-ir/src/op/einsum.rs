//! The configuration of `einsum` and `unary_einsum`: letters that determine what is summed and moved.

use crate::types::{Dim, TensorType};

/// `ab,bc->ac`: a letter per dimension.
pub(crate) struct EinsumConfig {
    /// Those of the operands.
    pub(crate) operands: Vec<Vec<char>>,
    /// Those of the result.
    pub(crate) result: Vec<char>,
}

impl EinsumConfig {
    /// Reads the letters of so many operands.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
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
                "there must be {operands} lists of letters before `->` and one behind, found {text:?}"
            ));
        }
        let config = EinsumConfig { operands: lists, result: right.chars().collect() };
        for (i, letter) in config.result.iter().enumerate() {
            if config.result[..i].contains(letter) {
                return Err(format!(
                    "a letter of the result must stand there once, found `{letter}` twice in {text:?}"
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

    /// The dimension that a letter stands for in these operands.
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
