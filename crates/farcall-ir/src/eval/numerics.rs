//! Options for results that the specification leaves open, or that XLA computes differently.

/// What happens to subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Denormals {
    /// They are numbers like any other (IEEE 754).
    #[default]
    Ieee,
    /// They count as zero, as operands and as results of arithmetic on `f32`, `f64`, `bf16` and the
    /// complex types, as on a processor with FTZ and DAZ set. Moving them leaves them alone.
    Flush,
}

/// Whose word counts where XLA and the StableHLO specification differ.
///
/// `docs/semantics.md` lists every such place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Semantics {
    /// XLA's: programs come from JAX, whose users know XLA's results.
    #[default]
    Xla,
    /// The specification's.
    StableHlo,
}

/// How the evaluator and the engine compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Numerics {
    /// What happens to subnormal numbers.
    pub denormals: Denormals,
    /// Whose word counts.
    pub semantics: Semantics,
}

impl From<Denormals> for Numerics {
    fn from(denormals: Denormals) -> Numerics {
        Numerics { denormals, ..Numerics::default() }
    }
}
