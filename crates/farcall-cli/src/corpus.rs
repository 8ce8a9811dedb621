//! The corpus: folders of programs with inputs and expected outputs, described by a `manifest.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use farcall::ir::eval::Denormals;
use farcall::ir::literal::Literal;
use farcall::ir::types::TensorType;
use farcall::registry::TargetSpec;
use farcall::sig::DType;
use serde::Deserialize;

use crate::compare::{Method, Tolerance};
use crate::npy;

/// Name of the file that describes a corpus.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Description of a corpus.
#[derive(Deserialize, Debug)]
pub(crate) struct Manifest {
    /// The symbol of each stage of each target, for libraries that do not register their targets.
    #[serde(default)]
    ffi_targets: BTreeMap<String, BTreeMap<String, String>>,
    /// For each type of state, by name: the symbols that describe the type.
    #[serde(default)]
    ffi_types: BTreeMap<String, TypeSymbols>,
    /// The cases.
    pub cases: Vec<Case>,
}

#[derive(Deserialize, Debug)]
struct TypeSymbols {
    type_id: String,
    type_info: String,
}

/// A program with inputs and expected outputs.
#[derive(Deserialize, Debug)]
pub(crate) struct Case {
    /// Name of the case, and of the folder with its files.
    pub name: String,
    /// Program file, relative to the manifest.
    program: Option<String>,
    #[serde(default)]
    inputs: Vec<Tensor>,
    #[serde(default)]
    outputs: Vec<Tensor>,
    /// The run must fail with a message that contains this text.
    pub expect_error: Option<String>,
    /// Files of the outputs, for each of several successive runs of one executable.
    pub repeat_outputs: Option<Vec<Vec<String>>>,
    /// Treatment of subnormal numbers.
    #[serde(default)]
    denormals: Option<String>,
    /// True if the outputs depend on running the case in a fresh process.
    #[serde(default)]
    pub stateful: bool,
}

/// A file with a tensor.
#[derive(Deserialize, Debug)]
struct Tensor {
    file: String,
    dtype: String,
    shape: Vec<usize>,
    #[serde(default)]
    compare: Method,
    #[serde(default)]
    atol: f64,
    #[serde(default)]
    rtol: f64,
}

impl Manifest {
    /// Reads a manifest.
    pub(crate) fn read(path: &Path) -> Result<Manifest> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a corpus manifest", path.display()))
    }

    /// Returns the case of this name.
    pub(crate) fn case(&self, name: &str) -> Result<&Case> {
        self.cases.iter().find(|c| c.name == name).with_context(|| format!("there is no case `{name}`"))
    }

    /// Returns the targets of the manifest, as symbols of a library that does not register itself.
    pub(crate) fn targets(&self) -> Result<Vec<TargetSpec>> {
        let specs = self.ffi_targets.iter().map(|(name, stages)| {
            let mut parts: Vec<String> = stages.iter().map(|(stage, s)| format!("{stage}:{s}")).collect();
            if stages.contains_key("instantiate") {
                parts.extend(self.state_type(name).map(|t| format!("type:{}/{}", t.type_id, t.type_info)));
            }
            Ok(format!("{name}={}", parts.join(",")).parse()?)
        });
        specs.collect()
    }

    /// Returns the type of a target's state: the type that is named after the target, or else the only type
    /// in the manifest.
    fn state_type(&self, target: &str) -> Option<&TypeSymbols> {
        let named = self.ffi_types.iter().find(|(name, _)| name.starts_with(target)).map(|(_, t)| t);
        named.or_else(|| self.ffi_types.values().next().filter(|_| self.ffi_types.len() == 1))
    }
}

impl Case {
    /// Returns the program file. `folder` is the folder of the manifest.
    pub(crate) fn program(&self, folder: &Path) -> PathBuf {
        match &self.program {
            Some(path) => folder.join(path),
            None => folder.join(&self.name).join("program.mlir"),
        }
    }

    /// Returns the treatment of subnormal numbers with which the outputs were created.
    ///
    /// # Errors
    /// If the manifest names an unknown mode.
    pub(crate) fn denormals(&self) -> Result<Denormals> {
        Ok(self.denormals.as_deref().map(str::parse).transpose()?.unwrap_or_default())
    }

    /// Reads the inputs, in the order of the arguments.
    pub(crate) fn inputs(&self, folder: &Path) -> Result<Vec<Literal>> {
        self.inputs.iter().map(|t| t.read(&folder.join(&self.name), &t.file)).collect()
    }

    /// Number of outputs.
    pub(crate) fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// Reads the expected outputs of run number `run`, with the tolerance of each.
    pub(crate) fn outputs(&self, folder: &Path, run: usize) -> Result<Vec<(Literal, Tolerance)>> {
        let folder = folder.join(&self.name);
        let files: Vec<&str> = match &self.repeat_outputs {
            None => self.outputs.iter().map(|t| t.file.as_str()).collect(),
            Some(runs) => {
                let files = runs.get(run).context("no outputs of this run are recorded")?;
                ensure!(
                    files.len() == self.outputs.len(),
                    "repeat_outputs has a different number of outputs"
                );
                files.iter().map(String::as_str).collect()
            }
        };
        let read = |(t, file): (&Tensor, &str)| {
            let tolerance = Tolerance { method: t.compare, atol: t.atol, rtol: t.rtol };
            Ok((t.read(&folder, file)?, tolerance))
        };
        self.outputs.iter().zip(files).map(read).collect()
    }
}

impl Tensor {
    fn read(&self, folder: &Path, file: &str) -> Result<Literal> {
        let dtype =
            dtype(&self.dtype).with_context(|| format!("{file}: unknown element type `{}`", self.dtype))?;
        npy::read(&folder.join(file), &TensorType::new(dtype, self.shape.as_slice()))
    }
}

/// Returns the element type with this name in NumPy or `ml_dtypes`.
fn dtype(name: &str) -> Option<DType> {
    let short = match name {
        "bool" => "pred".to_owned(),
        "bfloat16" => "bf16".to_owned(),
        "complex64" => "c64".to_owned(),
        "complex128" => "c128".to_owned(),
        _ => {
            let (kind, rest) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
            let kind = match kind {
                "int" => "s",
                "uint" => "u",
                "float" => "f",
                _ => return None,
            };
            // For example, `float8_e4m3fn` is `f8e4m3fn`.
            format!("{kind}{}", rest.replace('_', ""))
        }
    };
    short.parse::<DType>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_names_are_known() {
        let known = [
            ("bool", DType::Pred),
            ("int8", DType::S8),
            ("uint4", DType::U4),
            ("float32", DType::F32),
            ("bfloat16", DType::BF16),
            ("float8_e4m3fn", DType::F8E4M3FN),
            ("float8_e8m0fnu", DType::F8E8M0FNU),
            ("float4_e2m1fn", DType::F4E2M1FN),
            ("complex128", DType::C128),
        ];
        for (name, expected) in known {
            assert_eq!(dtype(name), Some(expected), "{name}");
        }
        assert_eq!(dtype("object"), None);
    }

    #[test]
    fn targets_come_with_their_types() {
        let manifest: Manifest = serde_json::from_str(
            r#"{"ffi_targets": {"f": {"execute": "F"}, "g": {"execute": "G", "instantiate": "New"}},
                "ffi_types": {"g_state": {"type_id": "Id", "type_info": "Info"}}, "cases": []}"#,
        )
        .unwrap();
        let specs: Vec<String> = manifest.targets().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(specs, ["f=F", "g=instantiate:New,execute:G,type:Id/Info"]);
    }
}
