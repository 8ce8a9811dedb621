//! Writes programs in any supported format: the counterpart of [`crate::read`].

use crate::diag::ProgramError;
use crate::module::Module;
use crate::{hlo, text, vhlo};

/// A format in which programs are written, and which [`crate::read`] reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProgramFormat {
    /// StableHLO text, as JAX prints it.
    Stablehlo,
    /// StableHLO text in MLIR's generic form.
    StablehloGeneric,
    /// HLO text, as XLA prints it.
    Hlo,
    /// A portable artifact.
    Artifact,
}

impl ProgramFormat {
    /// All formats.
    pub const VARIANTS: [ProgramFormat; 4] = [
        ProgramFormat::Stablehlo,
        ProgramFormat::StablehloGeneric,
        ProgramFormat::Hlo,
        ProgramFormat::Artifact,
    ];

    /// Returns the name of the format on the command line and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            ProgramFormat::Stablehlo => "stablehlo",
            ProgramFormat::StablehloGeneric => "stablehlo-generic",
            ProgramFormat::Hlo => "hlo",
            ProgramFormat::Artifact => "artifact",
        }
    }

    /// Looks up a format by its name.
    pub fn named(name: &str) -> Option<ProgramFormat> {
        ProgramFormat::VARIANTS.into_iter().find(|format| format.name() == name)
    }

    /// Describes the format in a phrase.
    pub const fn description(self) -> &'static str {
        match self {
            ProgramFormat::Stablehlo => "StableHLO text, as JAX prints it",
            ProgramFormat::StablehloGeneric => {
                "StableHLO text in MLIR's generic form, which can be parsed without knowing the operations"
            }
            ProgramFormat::Hlo => "HLO text, as XLA prints it",
            ProgramFormat::Artifact => {
                "A portable artifact, for the oldest version of StableHLO that has all operations of the program"
            }
        }
    }

    /// Returns true for formats that are text.
    pub const fn is_text(self) -> bool {
        !matches!(self, ProgramFormat::Artifact)
    }
}

/// Writes a program in a format.
///
/// # Errors
/// The errors of [`hlo::print`] and [`vhlo::write()`].
pub fn module(module: &Module, format: ProgramFormat) -> Result<Vec<u8>, ProgramError> {
    Ok(match format {
        ProgramFormat::Stablehlo => text::print(module).into_bytes(),
        ProgramFormat::StablehloGeneric => text::print_generic(module).into_bytes(),
        ProgramFormat::Hlo => hlo::print(module)?.into_bytes(),
        ProgramFormat::Artifact => vhlo::write(module)?.bytes,
    })
}
