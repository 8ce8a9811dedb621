//! Numbers of a host language as operands: `softplus([1001, 1003])`.
//!
//! A number has a kind but no element type; the op determines its type. If another operand determines the
//! type variable, the number has that type. Otherwise it has the type that JAX prefers among the types that
//! the op accepts and that can hold numbers of this kind. Numbers that share a variable share a type.

use std::str::FromStr;

use super::infer::{CallPart, Mismatch};
use super::{MismatchKind, Signature};
use crate::dtype::{DType, DTypeClass};
use crate::nearest::UnknownName;

/// Element type of an operand, as far as the caller gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GivenType {
    /// An operand with this element type.
    Typed(DType),
    /// A number without an element type.
    Number(NumberKind),
}

/// Kind of numbers without an element type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NumberKind {
    /// No numbers: an empty list.
    None,
    /// Booleans.
    Bool,
    /// Integers.
    Int,
    /// Integers in an array of the host's default 64-bit type. The array may be converted to any other
    /// integer type that holds its values, but not to floats.
    Index,
    /// Real numbers.
    Float,
    /// Complex numbers.
    Complex,
}

/// Parses a name: `none`, `bool`, `int`, `index`, `float`, `complex`.
impl FromStr for NumberKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<NumberKind, UnknownName> {
        Ok(match name {
            "none" => NumberKind::None,
            "bool" => NumberKind::Bool,
            "int" => NumberKind::Int,
            "index" => NumberKind::Index,
            "float" => NumberKind::Float,
            "complex" => NumberKind::Complex,
            _ => return Err(UnknownName::new("kind of numbers", name)),
        })
    }
}

impl NumberKind {
    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            NumberKind::None => "none",
            NumberKind::Bool => "bool",
            NumberKind::Int => "int",
            NumberKind::Index => "index",
            NumberKind::Float => "float",
            NumberKind::Complex => "complex",
        }
    }

    /// Returns true if an array of this element type can hold numbers of this kind: a boolean counts as an
    /// integer, an integer as a float, and a float as a complex number. (Operands of ops are stricter: they
    /// take no booleans as numbers.)
    pub fn is_held_by(self, dtype: DType) -> bool {
        self <= NumberKind::of(dtype)
    }

    fn words(self) -> &'static str {
        match self {
            NumberKind::None => "empty",
            NumberKind::Bool => "a boolean",
            NumberKind::Int => "an integer",
            NumberKind::Index => "s64",
            NumberKind::Float => "a float",
            NumberKind::Complex => "complex",
        }
    }

    /// Returns true if an op's operand of this type accepts numbers of this kind.
    fn fits(self, dtype: DType) -> bool {
        match self {
            NumberKind::None => true,
            // As in JAX, booleans are not numbers of any other type.
            NumberKind::Bool => dtype.is_bool(),
            NumberKind::Index => dtype.is_integer(),
            _ => self <= NumberKind::of(dtype),
        }
    }

    /// Returns the kind of the numbers of an element type.
    pub const fn of(dtype: DType) -> NumberKind {
        match dtype.class() {
            DTypeClass::Bool => NumberKind::Bool,
            DTypeClass::Signed | DTypeClass::Unsigned => NumberKind::Int,
            DTypeClass::Float => NumberKind::Float,
            DTypeClass::Complex => NumberKind::Complex,
        }
    }

    /// Returns the position of a type in the order of preference.
    fn rank(self, dtype: DType, wide: bool) -> usize {
        let swapped = match dtype {
            DType::S32 => DType::S64,
            DType::S64 => DType::S32,
            DType::U32 => DType::U64,
            DType::U64 => DType::U32,
            DType::F32 => DType::F64,
            DType::F64 => DType::F32,
            DType::C64 => DType::C128,
            DType::C128 => DType::C64,
            other => other,
        };
        let dtype = if wide || self == NumberKind::Index { swapped } else { dtype };
        let place = |dtype| ORDER.iter().position(|d| *d == dtype).unwrap_or(ORDER.len());
        match self {
            // Empty lists default to floats.
            NumberKind::None => (place(dtype) + ORDER.len() - place(DType::F32)) % ORDER.len(),
            _ => place(dtype),
        }
    }
}

/// Order of preference among types if 32-bit types are preferred.
const ORDER: [DType; DType::VARIANTS.len()] = [
    DType::Pred,
    DType::S32,
    DType::S64,
    DType::U32,
    DType::U64,
    DType::S16,
    DType::U16,
    DType::S8,
    DType::U8,
    DType::S4,
    DType::U4,
    DType::S2,
    DType::U2,
    DType::F32,
    DType::F64,
    DType::BF16,
    DType::F16,
    DType::F8E4M3FN,
    DType::F8E5M2,
    DType::F8E4M3,
    DType::F8E4M3B11FNUZ,
    DType::F8E4M3FNUZ,
    DType::F8E5M2FNUZ,
    DType::F8E3M4,
    DType::F8E8M0FNU,
    DType::F6E2M3FN,
    DType::F6E3M2FN,
    DType::F4E2M1FN,
    DType::C64,
    DType::C128,
];

/// Operands whose types are chosen together: all numbers of one type variable, or a single operand.
#[derive(Clone, PartialEq, Debug)]
pub struct NumberTypes {
    /// Indices of the call's operands.
    pub operands: Vec<usize>,
    /// Possible choices, in order of preference. Each entry has one type for each operand. The caller takes
    /// the first entry for which all numbers are in the range of their types.
    pub choices: Vec<Vec<DType>>,
}

impl Signature {
    /// Returns the possible element types of the numbers among a call's operands. If `wide` is true, 64 bits
    /// are preferred to 32.
    ///
    /// # Errors
    /// If an operand has no type that can hold its kind of numbers. A wrong number of operands is not an
    /// error here.
    pub fn number_types(&self, given: &[GivenType], wide: bool) -> Result<Vec<NumberTypes>, Mismatch> {
        let Some(last) = self.operands.len().checked_sub(1) else { return Ok(Vec::new()) };
        let slots = self.operand_slots(given.len());
        let slots = slots.unwrap_or_else(|_| (0..given.len()).map(|i| i.min(last)).collect());
        let element = |i: usize| &self.operands[slots[i]].element;
        let variable = |i: usize| element(i).variable().map(|v| v.text.as_str());
        let mut groups: Vec<(Vec<usize>, Vec<NumberKind>)> = Vec::new();
        for (i, given) in given.iter().enumerate() {
            let GivenType::Number(kind) = given else { continue };
            let same =
                |(of, _): &&mut (Vec<usize>, _)| variable(i).is_some() && variable(of[0]) == variable(i);
            match groups.iter_mut().find(same) {
                Some((operands, kinds)) => {
                    operands.push(i);
                    kinds.push(*kind);
                }
                None => groups.push((vec![i], vec![*kind])),
            }
        }
        let types = groups.into_iter().map(|(operands, kinds)| {
            let bases = match variable(operands[0]) {
                None => vec![DType::F32],
                Some(name) => self.bases(name, given, &slots),
            };
            let types = |base: &DType| operands.iter().map(|i| element(*i).apply(*base)).collect();
            let possible: Vec<Vec<DType>> = bases.iter().filter_map(types).collect();
            // The most general kind determines the order of preference.
            let richest = (0..kinds.len()).max_by_key(|n| kinds[*n]).unwrap_or(0);
            let fit = |types: &&Vec<DType>| kinds.iter().zip(types.iter()).all(|(kind, ty)| kind.fits(*ty));
            let mut choices: Vec<Vec<DType>> = possible.iter().filter(fit).cloned().collect();
            choices.sort_by_key(|types| kinds[richest].rank(types[richest], wide));
            if choices.is_empty() {
                return Err(self.no_number(&operands, &kinds, &possible, &slots));
            }
            Ok(NumberTypes { operands, choices })
        });
        types.collect()
    }

    /// Returns the possible types of a type variable, given the operands that have a type.
    fn bases(&self, variable: &str, given: &[GivenType], slots: &[usize]) -> Vec<DType> {
        let set = self.type_set(variable).map(|set| set.types().to_vec()).unwrap_or_default();
        let bound = given.iter().zip(slots).find_map(|(given, slot)| {
            let GivenType::Typed(dtype) = given else { return None };
            let element = &self.operands[*slot].element;
            let is_it = element.variable().is_some_and(|v| v.text == variable);
            set.iter().copied().find(|base| is_it && element.apply(*base) == Some(*dtype))
        });
        bound.map_or(set, |base| vec![base])
    }

    /// Returns the error for numbers to which no type can be given. It names the operand that no possible
    /// type fits, or else the first one.
    fn no_number(
        &self,
        operands: &[usize],
        kinds: &[NumberKind],
        possible: &[Vec<DType>],
        slots: &[usize],
    ) -> Mismatch {
        let alone = (0..operands.len()).find(|n| !possible.iter().any(|types| kinds[*n].fits(types[*n])));
        let n = alone.unwrap_or(0);
        let name = super::infer::slot_names(self, slots).swap_remove(operands[n]);
        let mut names: Vec<&str> = possible.iter().map(|types| types[n].name()).collect();
        names.dedup();
        Mismatch {
            kind: MismatchKind::Type,
            place: CallPart::Operand(operands[n]),
            message: format!("{name} must be {}, but is {}", names.join(" or "), kinds[n].words()),
        }
    }
}
