//! Reads the attributes of one operation. Attributes that are read are removed from the dictionary; the
//! remaining ones belong to the instruction rather than to the operation.

use crate::attr::{AttrDict, Attribute};
use crate::module::FuncId;
use crate::types::TensorType;

/// Ids of functions, for a reader that encounters their names before it has read all functions.
pub trait FunctionIds {
    /// Returns the id of the function with a name; reserves an id if the function has not been read yet.
    fn func(&mut self, name: &str) -> FuncId;
}

/// The attributes of an operation under construction, with the context for reading them.
pub struct Fields<'a> {
    /// The attributes. Attributes that belong to the operation are removed.
    pub attrs: &'a mut AttrDict,
    /// Returns the type of an operand by its index, if the operand exists and is a tensor.
    pub operand: &'a dyn Fn(usize) -> Option<&'a TensorType>,
    /// Assigns ids to functions.
    pub symbols: &'a mut dyn FunctionIds,
    /// Parses an attribute that another attribute contains as text.
    pub parse: &'a dyn Fn(&str) -> Option<Attribute>,
}

/// Description of an invalid attribute: a sentence that names it.
pub type Bad = String;

impl Fields<'_> {
    /// The tensor type of an operand.
    pub(crate) fn operand(&self, i: usize) -> Option<&TensorType> {
        (self.operand)(i)
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Attribute> {
        self.attrs.remove(key)
    }

    pub(crate) fn required(&mut self, key: &str) -> Result<Attribute, Bad> {
        self.take(key).ok_or_else(|| format!("attribute `{key}` is missing"))
    }

    pub(crate) fn usize(&mut self, key: &str) -> Result<usize, Bad> {
        let attr = self.required(key)?;
        to_usize(key, &attr)
    }

    pub(crate) fn usize_or(&mut self, key: &str, default: usize) -> Result<usize, Bad> {
        self.take(key).map_or(Ok(default), |a| to_usize(key, &a))
    }

    pub(crate) fn i64_or(&mut self, key: &str, default: i64) -> Result<i64, Bad> {
        match self.take(key) {
            None => Ok(default),
            Some(a) => a.as_i64().ok_or_else(|| format!("attribute `{key}` must be an integer, not {a}")),
        }
    }

    /// Reads a boolean; false if absent.
    pub(crate) fn flag(&mut self, key: &str) -> Result<bool, Bad> {
        match self.take(key) {
            None => Ok(false),
            Some(a) => a.as_bool().ok_or_else(|| format!("attribute `{key}` must be true or false, not {a}")),
        }
    }

    /// Reads a function by its name.
    pub(crate) fn func(&mut self, key: &str) -> Result<FuncId, Bad> {
        let a = self.required(key)?;
        let name = a.as_symbol().ok_or_else(|| format!("attribute `{key}` must be a name, not {a}"))?;
        Ok(self.symbols.func(name))
    }

    pub(crate) fn string(&mut self, key: &str) -> Result<String, Bad> {
        let a = self.required(key)?;
        a.as_str().map(str::to_owned).ok_or_else(|| format!("attribute `{key}` must be a string, not {a}"))
    }

    pub(crate) fn i64s(&mut self, key: &str) -> Result<Vec<i64>, Bad> {
        self.optional_i64s(key)?.ok_or_else(|| format!("attribute `{key}` is missing"))
    }

    pub(crate) fn optional_i64s(&mut self, key: &str) -> Result<Option<Vec<i64>>, Bad> {
        self.take(key).map(|a| to_i64s(key, &a)).transpose()
    }

    pub(crate) fn usizes(&mut self, key: &str) -> Result<Vec<usize>, Bad> {
        self.optional_usizes(key)?.ok_or_else(|| format!("attribute `{key}` is missing"))
    }

    pub(crate) fn optional_usizes(&mut self, key: &str) -> Result<Option<Vec<usize>>, Bad> {
        self.take(key).map(|a| to_usizes(key, &a)).transpose()
    }

    /// Reads `rank` sizes; all are `default` if the attribute is absent.
    pub(crate) fn usizes_or(&mut self, key: &str, rank: usize, default: usize) -> Result<Vec<usize>, Bad> {
        Ok(self.optional_usizes(key)?.unwrap_or_else(|| vec![default; rank]))
    }

    /// Reads a window's padding: pairs of integers, or zeros if absent.
    pub(crate) fn padding(&mut self, key: &str, rank: usize) -> Result<Vec<(i64, i64)>, Bad> {
        let Some(a) = self.take(key) else { return Ok(vec![(0, 0); rank]) };
        let flat = match &a {
            // `[[1, 1], [1, 1]]`, as in the pretty form of a convolution.
            Attribute::Array(rows) if rows.iter().all(|r| matches!(r, Attribute::Array(_))) => {
                let rows: Option<Vec<_>> = rows.iter().map(Attribute::as_i64_list).collect();
                rows.map(|r| r.concat())
            }
            // A list with one number for each side of each dimension, in any shape.
            other => other.as_i64_list(),
        };
        match flat {
            Some(flat) if flat.len() % 2 == 0 => Ok(flat.chunks_exact(2).map(|p| (p[0], p[1])).collect()),
            _ => Err(format!("attribute `{key}` must be a list of pairs of integers, not {a}")),
        }
    }

    /// Reads a keyword such as `DEFAULT` in `#stablehlo<kind DEFAULT>`.
    pub(crate) fn keyword<T: Copy>(
        &mut self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<T, Bad> {
        let attr = self.required(key)?;
        to_keyword(key, &attr, all, name)
    }

    pub(crate) fn optional_keyword<T: Copy>(
        &mut self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Result<Option<T>, Bad> {
        self.take(key).map(|a| to_keyword(key, &a, all, name)).transpose()
    }

    /// Reads the parameters of `#dialect.name<…>`.
    pub(crate) fn params(&mut self, key: &str) -> Result<AttrDict, Bad> {
        match self.required(key)? {
            Attribute::Dialect(d) if d.text.is_empty() || !d.params.is_empty() => Ok(d.params.clone()),
            // The oldest programs use a dictionary.
            Attribute::Dict(dict) => Ok(dict),
            other => Err(format!("attribute `{key}` has no parameters: {other}")),
        }
    }
}

fn to_usize(key: &str, attr: &Attribute) -> Result<usize, Bad> {
    attr.as_i64()
        .and_then(|v| usize::try_from(v).ok())
        .ok_or_else(|| format!("attribute `{key}` must be an integer that is not negative, not {attr}"))
}

pub(crate) fn to_i64s(key: &str, attr: &Attribute) -> Result<Vec<i64>, Bad> {
    match attr {
        // For example `dense<> : tensor<0xi64>`.
        Attribute::DenseArray(l) | Attribute::Dense(l) if l.is_empty() => Ok(Vec::new()),
        _ => attr
            .as_i64_list()
            .ok_or_else(|| format!("attribute `{key}` must be a list of integers, not {attr}")),
    }
}

pub(crate) fn to_usizes(key: &str, attr: &Attribute) -> Result<Vec<usize>, Bad> {
    to_i64s(key, attr)?
        .into_iter()
        .map(|v| usize::try_from(v).map_err(|_| format!("attribute `{key}` has the negative number {v}")))
        .collect()
}

pub(crate) fn to_keyword<T: Copy>(
    key: &str,
    attr: &Attribute,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, Bad> {
    let word = match attr {
        Attribute::Dialect(d) => d.text.as_str(),
        // The oldest programs use a string.
        other => other.as_str().unwrap_or(""),
    };
    all.iter().copied().find(|v| name(*v) == word).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|v| name(*v)).collect();
        format!("attribute `{key}` must be one of {}, not {attr}", names.join(", "))
    })
}
