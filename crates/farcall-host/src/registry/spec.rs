//! Specs, by which users name the symbols of a target: `rms_norm=RmsNorm`.
//!
//! ```text
//! NAME[@PLATFORM]=SYMBOL                                the execute handler
//! NAME[@PLATFORM]=STAGE:SYMBOL,…                        a handler per stage (instantiate, prepare,
//!                                                       initialize, execute, record)
//! NAME[@PLATFORM]=…,type:ID_SYMBOL/INFO_SYMBOL          the type of its state, registered first
//! NAME[@PLATFORM]=untyped:SYMBOL                        a handler of the untyped API
//! ```

use std::fmt;
use std::str::FromStr;

use super::Platform;
use crate::{CodedError, ErrorCode};

/// A target and the symbols that make it up, in the syntax shown in the module documentation.
///
/// ```
/// use farcall::registry::TargetSpec;
/// let spec: TargetSpec = "poly@gpu=instantiate:PolyNew,execute:PolyRun".parse()?;
/// assert_eq!(spec.to_string(), "poly@CUDA=instantiate:PolyNew,execute:PolyRun");
/// # Ok::<(), farcall::registry::TargetSpecError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetSpec {
    /// Name that programs call.
    pub name: String,
    /// Platform that the target runs on.
    pub platform: Platform,
    /// Symbols of the target.
    pub symbols: Symbols,
}

/// Symbols of a [`TargetSpec`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Symbols {
    /// Handlers of the typed API.
    Typed {
        /// Symbols by stage, in the order instantiate, prepare, initialize, execute, record.
        stages: [Option<String>; 5],
        /// Symbols of the functions that return the state type's id and its `TypeInfo`.
        state_type: Option<(String, String)>,
    },
    /// A handler of the untyped API.
    Untyped(String),
}

/// Names of the stages in a spec.
pub(super) const STAGES: [&str; 5] = ["instantiate", "prepare", "initialize", "execute", "record"];
const EXECUTE: usize = 3;

/// Reason why the text is not a [`TargetSpec`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("target `{spec}`: {problem}; write NAME=SYMBOL, or NAME=instantiate:SYMBOL,execute:SYMBOL")]
pub struct TargetSpecError {
    spec: String,
    problem: String,
}

impl CodedError for TargetSpecError {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidText
    }
}

impl FromStr for TargetSpec {
    type Err = TargetSpecError;

    fn from_str(spec: &str) -> Result<TargetSpec, TargetSpecError> {
        parse(spec).map_err(|problem| TargetSpecError { spec: spec.to_owned(), problem })
    }
}

fn parse(spec: &str) -> Result<TargetSpec, String> {
    let (name, symbols) = spec.split_once('=').ok_or("there is no `=`")?;
    let (name, platform) = match name.rsplit_once('@') {
        Some((name, platform)) if !name.is_empty() => (name, Platform::from(platform)),
        _ => (name, Platform::Host),
    };
    if name.is_empty() {
        return Err("the name is empty".into());
    }
    let mut stages: [Option<String>; 5] = Default::default();
    let mut state_type = None;
    let mut untyped = None;
    for part in symbols.split(',') {
        let (role, symbol) = part.split_once(':').unwrap_or(("execute", part));
        if symbol.is_empty() {
            return Err(format!("the {role} symbol is empty"));
        }
        let earlier = if role == "untyped" {
            untyped.replace(symbol.to_owned()).is_some()
        } else if role == "type" {
            let (id, info) = symbol.split_once('/').ok_or("a type is two symbols, type:ID/INFO")?;
            state_type.replace((id.to_owned(), info.to_owned())).is_some()
        } else if let Some(stage) = STAGES.iter().position(|s| *s == role) {
            stages[stage].replace(symbol.to_owned()).is_some()
        } else {
            return Err(format!("there is no stage `{role}`, only {}, type and untyped", STAGES.join(", ")));
        };
        if earlier {
            return Err(format!("it has two {role} symbols"));
        }
    }
    let symbols = match untyped {
        Some(symbol) if stages.iter().all(Option::is_none) && state_type.is_none() => {
            Symbols::Untyped(symbol)
        }
        Some(_) => return Err("an untyped target has one symbol and no stages".into()),
        None if stages[EXECUTE].is_none() => return Err("it has no execute symbol".into()),
        None => Symbols::Typed { stages, state_type },
    };
    Ok(TargetSpec { name: name.to_owned(), platform, symbols })
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.platform != Platform::Host {
            write!(f, "@{}", self.platform)?;
        }
        write!(f, "={}", self.symbols)
    }
}

impl fmt::Display for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Symbols::Untyped(symbol) => write!(f, "untyped:{symbol}"),
            Symbols::Typed { stages, state_type } => {
                let named = STAGES.iter().zip(stages);
                let mut parts: Vec<String> =
                    named.filter_map(|(stage, s)| s.as_ref().map(|s| format!("{stage}:{s}"))).collect();
                if let Some((id, info)) = state_type {
                    parts.push(format!("type:{id}/{info}"));
                }
                match (parts.as_slice(), &stages[EXECUTE]) {
                    ([_], Some(only)) => f.write_str(only),
                    _ => f.write_str(&parts.join(",")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_round_trip() {
        for text in [
            "rms_norm=RmsNorm",
            "a.b@CUDA=X",
            "poly_state=instantiate:I,execute:E,type:Id/Info",
            "old=untyped:old_symbol",
            "@odd=X",
        ] {
            let spec: TargetSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let spec: TargetSpec = "f@cpu=execute:F".parse().unwrap();
        assert_eq!(spec.to_string(), "f=F");
    }

    #[test]
    fn mistakes_are_named() {
        let problem = |text: &str| text.parse::<TargetSpec>().unwrap_err().problem;
        assert_eq!(problem("rms_norm"), "there is no `=`");
        assert_eq!(problem("=X"), "the name is empty");
        assert_eq!(problem("f="), "the execute symbol is empty");
        assert_eq!(problem("f=instantiate:X"), "it has no execute symbol");
        assert_eq!(problem("f=A,B"), "it has two execute symbols");
        assert!(problem("f=exec:A").starts_with("there is no stage `exec`"));
        assert_eq!(problem("f=untyped:A,execute:B"), "an untyped target has one symbol and no stages");
        assert_eq!(problem("f=A,type:B"), "a type is two symbols, type:ID/INFO");
    }
}
