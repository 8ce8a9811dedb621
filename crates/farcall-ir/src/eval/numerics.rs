//! Options for results that the specification leaves open, or that XLA computes differently.

use std::fmt;
use std::str::FromStr;

use farcall_sig::UnknownName;

/// Handling of subnormal numbers. The enum is deliberately not `non_exhaustive`: matches are exhaustive, so
/// that the compiler points out all code that a new variant affects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Denormals {
    /// Subnormal numbers are ordinary numbers (IEEE 754).
    #[default]
    Ieee,
    /// Subnormal numbers count as zero, as operands and as results of arithmetic on `f32`, `f64`, `bf16` and
    /// the complex types, as on a processor with FTZ and DAZ set. Data movement does not change them.
    Flush,
}

/// The semantics to follow where XLA and the StableHLO specification disagree.
///
/// The page `semantics` of the guide lists every disagreement. The enum is deliberately not `non_exhaustive`:
/// matches are exhaustive, so that the compiler points out all code that a new variant affects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Semantics {
    /// XLA's semantics: programs come from JAX, whose users know XLA's results.
    #[default]
    Xla,
    /// The specification's semantics.
    StableHlo,
}

/// Numerical behavior of the evaluator and the engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Numerics {
    /// Handling of subnormal numbers.
    pub denormals: Denormals,
    /// The semantics to follow.
    pub semantics: Semantics,
}

/// Defines the names of the variants, in the order of `VARIANTS`, for options and files.
macro_rules! named {
    ($ty:ident, $what:literal: $($variant:ident => $name:literal),*) => {
        impl $ty {
            /// All variants.
            pub const VARIANTS: [$ty; [$($name),*].len()] = [$($ty::$variant),*];

            /// Name of the variant: one of
            #[doc = concat!($(" `", $name, "`"),*)]
            pub const fn name(self) -> &'static str {
                match self {
                    $($ty::$variant => $name,)*
                }
            }
        }

        /// Parses the name.
        impl FromStr for $ty {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<$ty, UnknownName> {
                let found = $ty::VARIANTS.into_iter().find(|mode| mode.name() == name);
                found.ok_or_else(|| UnknownName::among($what, name, &$ty::VARIANTS.map($ty::name)))
            }
        }

        /// Writes the name.
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named!(Denormals, "mode of denormals": Ieee => "ieee", Flush => "flush");
named!(Semantics, "semantics": Xla => "xla", StableHlo => "stablehlo");

impl From<Denormals> for Numerics {
    fn from(denormals: Denormals) -> Numerics {
        Numerics { denormals, ..Numerics::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_by_the_names_that_they_print() {
        assert!(Denormals::VARIANTS.into_iter().all(|mode| mode.to_string().parse() == Ok(mode)));
        assert!(Semantics::VARIANTS.into_iter().all(|mode| mode.to_string().parse() == Ok(mode)));
        let unknown = |name: &str| name.parse::<Denormals>().unwrap_err().to_string();
        assert_eq!(unknown("flsh"), "there is no mode of denormals `flsh`; did you mean flush?");
        assert_eq!(unknown("maybe"), "there is no mode of denormals `maybe`; there is ieee, flush");
        let unknown = |name: &str| name.parse::<Semantics>().unwrap_err().to_string();
        assert_eq!(unknown("stable-hlo"), "there is no semantics `stable-hlo`; did you mean stablehlo?");
    }
}
