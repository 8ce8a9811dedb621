//! Results of a lowered program: padded tensors, followed by their sizes.

use std::collections::HashSet;

use farcall_sig::DType;

use crate::attr::AttrDict;
use crate::eval::{self, EvalError};
use crate::literal::Literal;
use crate::module::Func;
use crate::types::{TensorType, Type};

/// Attribute of an entry result that holds the size of a dimension. The value of the attribute is the index
/// of the padded result, and the dimension.
pub const SIZE_OF: &str = "farcall.size_of";

/// A dimension of a result that is cut to its size after a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Index of the padded result.
    pub result: usize,
    /// The dimension.
    pub dim: usize,
    /// Index of the result that holds the size.
    pub size: usize,
}

/// Returns the dimensions of an entry's results that are to be cut. A [`SIZE_OF`] attribute is ignored if it
/// does not fit the types of the results, or if an earlier attribute names the same dimension.
pub fn cuts(entry: &Func) -> Vec<Cut> {
    let ty = |i: usize| entry.results().get(i).and_then(Type::tensor);
    let is_marked = |i: usize| entry.result_attrs().get(i).is_some_and(|attrs| attrs.contains_key(SIZE_OF));
    let fits = |cut: &Cut| {
        ty(cut.result).is_some_and(|ty| cut.dim < ty.rank())
            && ty(cut.size).is_some_and(|ty| *ty == TensorType::scalar(DType::S32))
            && !is_marked(cut.result)
    };
    let mark = |(size, attrs): (usize, &AttrDict)| {
        let list = attrs.get(SIZE_OF)?.as_i64_list()?;
        let [result, dim] = *list.as_slice() else { return None };
        Some(Cut { result: usize::try_from(result).ok()?, dim: usize::try_from(dim).ok()?, size })
    };
    let mut known = HashSet::new();
    let mut is_new = |cut: &Cut| known.insert((cut.result, cut.dim));
    entry.result_attrs().iter().enumerate().filter_map(mark).filter(|cut| fits(cut) && is_new(cut)).collect()
}

/// Cuts the results of a run to their sizes, and drops the results that hold the sizes.
///
/// # Errors
/// If there is not enough memory.
pub fn cut(cuts: &[Cut], results: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
    let mut dims: Vec<Vec<usize>> = results.iter().map(|r| r.dims().to_vec()).collect();
    for cut in cuts {
        let size = results.get(cut.size).and_then(|size| size.iter().next()).map_or(0, |s| s.as_i64());
        if let Some(dim) = dims.get_mut(cut.result).and_then(|dims| dims.get_mut(cut.dim)) {
            *dim = usize::try_from(size).unwrap_or(0).min(*dim);
        }
    }
    let sizes: HashSet<usize> = cuts.iter().map(|cut| cut.size).collect();
    let kept = results.into_iter().zip(dims).enumerate();
    kept.filter(|(i, _)| !sizes.contains(i))
        .map(|(_, (result, dims))| match *result.dims() == *dims {
            true => Ok(result),
            false => eval::corner(&result, &dims),
        })
        .collect()
}
