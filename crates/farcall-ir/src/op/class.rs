//! Sets of element types that operations accept, named as in the tables of inputs in the specification.

use std::fmt;
use std::ops::BitOr;

use farcall_sig::DTypeClass;

use crate::types::TensorType;

/// A set of kinds of element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class(u8);

impl Class {
    /// Booleans.
    pub const PRED: Class = Class(1);
    /// Signed integers.
    pub const SIGNED: Class = Class(2);
    /// Unsigned integers.
    pub const UNSIGNED: Class = Class(4);
    /// Integers.
    pub const INT: Class = Class(2 | 4);
    /// Real floating-point numbers.
    pub const FLOAT: Class = Class(8);
    /// Complex numbers.
    pub const COMPLEX: Class = Class(16);
    /// Tensors quantized with one scale.
    pub const QUANT: Class = Class(32);
    /// Tensors quantized with scales along a dimension.
    pub const QUANT_AXIS: Class = Class(64);
    /// Everything but tensors quantized along a dimension.
    pub const TENSOR: Class = Class(63);
    /// Everything that is not quantized.
    pub const PLAIN: Class = Class(31);
    /// Everything.
    pub const ANY: Class = Class(127);

    /// Returns the union of both sets. Unlike `|`, this function can be used in constants.
    pub const fn or(self, other: Class) -> Class {
        Class(self.0 | other.0)
    }

    /// Returns the kind of a tensor.
    pub fn of(ty: &TensorType) -> Class {
        match &ty.quant {
            Some(q) if q.axis.is_some() => Class::QUANT_AXIS,
            Some(_) => Class::QUANT,
            None => match ty.dtype.class() {
                DTypeClass::Bool => Class::PRED,
                DTypeClass::Signed => Class::SIGNED,
                DTypeClass::Unsigned => Class::UNSIGNED,
                DTypeClass::Float => Class::FLOAT,
                DTypeClass::Complex => Class::COMPLEX,
            },
        }
    }

    /// Returns true if the tensor's element type belongs to the set.
    pub fn has(self, ty: &TensorType) -> bool {
        self.0 & Class::of(ty).0 != 0
    }
}

impl BitOr for Class {
    type Output = Class;

    fn bitor(self, other: Class) -> Class {
        self.or(other)
    }
}

/// `integer, floating-point or complex type`
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(Class, &str); 7] = [
            (Class::PRED, "boolean"),
            (Class::INT, "integer"),
            (Class::SIGNED, "signed integer"),
            (Class::UNSIGNED, "unsigned integer"),
            (Class::FLOAT, "floating-point"),
            (Class::COMPLEX, "complex"),
            (Class::QUANT, "per-tensor quantized"),
        ];
        let mut rest = self.0;
        let mut names = Vec::new();
        for (class, name) in NAMES {
            if rest & class.0 == class.0 {
                rest &= !class.0;
                names.push(name);
            }
        }
        if rest != 0 {
            names.push("per-axis quantized");
        }
        match names.split_last() {
            None => f.write_str("no type"),
            Some((last, [])) => write!(f, "{last} type"),
            Some((last, first)) => write!(f, "{} or {last} type", first.join(", ")),
        }
    }
}
