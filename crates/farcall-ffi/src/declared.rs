//! Checks that a handler's parameters match its signature: the part that needs their types.
//!
//! `#[handler]` itself compares names and their order. For each parameter in the signature, it then emits a
//! [`Declared`] and a constant assertion that the parameter's type [`fits`]. A mismatch is thus a compile error at
//! the parameter, and aliases and paths work, since types are compared, not their spelling.

use crate::abi::DataType;
use crate::buffer::ANY_RANK;
use crate::decode::{Role, Spec};

/// What a signature says of one parameter.
#[derive(Debug)]
pub struct Declared {
    /// What it is.
    pub role: Role,
    /// Whether the parameter must be an `Option`; `None` if it may be.
    pub optional: Option<bool>,
    /// The element type, or `INVALID` if there are several.
    pub dtype: DataType,
    /// The number of dimensions, or `ANY_RANK` if there are several.
    pub rank: usize,
    /// What an attribute's type may expect.
    pub attribute: &'static [&'static str],
}

impl Declared {
    /// A buffer of one of these roles.
    pub const fn buffer(
        role: Role,
        optional: bool,
        dtype: Option<farcall_sig::DType>,
        rank: Option<usize>,
    ) -> Self {
        let dtype = match dtype {
            Some(dtype) => DataType::from_dtype(dtype),
            None => DataType::INVALID,
        };
        let rank = match rank {
            Some(rank) => rank,
            None => ANY_RANK,
        };
        Declared { role, optional: Some(optional), dtype, rank, attribute: &[] }
    }

    /// An attribute.
    pub const fn attribute(optional: Option<bool>, attribute: &'static [&'static str]) -> Self {
        Declared { optional, attribute, ..Declared::buffer(Role::Attribute, false, None, None) }
    }
}

/// True if a parameter's type is one for what the signature says.
pub const fn fits(spec: &Spec, declared: &Declared) -> bool {
    let optional = match declared.optional {
        Some(optional) => spec.optional == optional,
        None => true,
    };
    spec.role as u32 == declared.role as u32
        && optional
        && (spec.dtype.0 == DataType::INVALID.0 || spec.dtype.0 == declared.dtype.0)
        && (spec.rank == ANY_RANK || spec.rank == declared.rank)
        && (declared.attribute.is_empty() || contains(declared.attribute, spec.attribute))
}

/// True for a parameter that no signature mentions: something of the host, or every attribute.
pub const fn is_context(spec: &Spec) -> bool {
    matches!(spec.role, Role::Context | Role::AllAttributes)
}

/// True if one of the parameters is every attribute.
pub const fn has_all_attributes(specs: &[Spec]) -> bool {
    let mut i = 0;
    while i < specs.len() {
        if matches!(specs[i].role, Role::AllAttributes) {
            return true;
        }
        i += 1;
    }
    false
}

/// A handler that is the derivative of another.
#[derive(Clone, Copy, Debug)]
pub struct Derivative {
    /// Its name.
    pub name: &'static str,
    /// Whether it has a signature. One that has none is refused with the library.
    is_declared: bool,
    operands: &'static [&'static str],
    results: &'static [&'static str],
}

/// The handler `O`, as a derivative.
pub const fn derivative<O: crate::__private::Op>() -> Derivative {
    Derivative { name: O::NAME, is_declared: O::IS_DECLARED, operands: O::OPERANDS, results: O::RESULTS }
}

impl Derivative {
    /// True if its signature has an operand of this name.
    pub const fn has_operand(self, name: &str) -> bool {
        !self.is_declared || contains(self.operands, name)
    }

    /// True if it has no such operand.
    pub const fn lacks_operand(self, name: &str) -> bool {
        !contains(self.operands, name)
    }

    /// True if it has a result of this name.
    pub const fn has_result(self, name: &str) -> bool {
        !self.is_declared || contains(self.results, name)
    }

    /// True if it has an operand or a result of this name.
    pub const fn has_parameter(self, name: &str) -> bool {
        self.has_operand(name) || self.has_result(name)
    }

    /// True if each of its operands has one of these names.
    pub const fn operands_are_among(self, names: &[&str]) -> bool {
        are_among(self.operands, names)
    }

    /// True if each of its results has one of these names.
    pub const fn results_are_among(self, names: &[&str]) -> bool {
        are_among(self.results, names)
    }
}

const fn are_among(all: &[&str], names: &[&str]) -> bool {
    let mut i = 0;
    while i < all.len() {
        if !contains(names, all[i]) {
            return false;
        }
        i += 1;
    }
    true
}

const fn contains(texts: &[&str], text: &str) -> bool {
    let mut i = 0;
    while i < texts.len() {
        if same(texts[i].as_bytes(), text.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

/// Equality of bytes, in a constant.
pub(crate) const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
