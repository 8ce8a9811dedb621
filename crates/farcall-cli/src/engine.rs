//! The engine of `farcall run`: farcall's own, or a PJRT plugin.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use farcall::Registry;
use farcall::ir::verify::StaticModule;
use farcall::pjrt::{Client, LoadedProgram, PjrtError, Plugin, PluginValue};
use farcall::registry::Platform;
use farcall::sig::nearest::nearest;

use crate::stats::Stats;

/// Choice of the engine.
#[derive(Args, Debug, Clone)]
pub(crate) struct EngineArgs {
    /// Engine that compiles and runs the program: farcall, or pjrt:PATH for a PJRT plugin [default: farcall]
    ///
    /// A plugin is a shared library: farcall's own, or one of JAX for GPUs and TPUs. The program runs on the
    /// first device. Handlers that the program calls, from --load and built in, are registered with the
    /// plugin for its platform. Loading a plugin runs its code: only load plugins that you trust. See:
    /// farcall guide pjrt
    #[arg(long, value_name = "farcall|pjrt:PATH", value_parser = Engine::parser(), conflicts_with = "evaluator")]
    pub engine: Option<Engine>,
    /// Option of the plugin's client, as in preallocate=false; the plugin defines names and values
    ///
    /// `true` and `false` are booleans, 1 is an integer, 0.5 a floating-point number, and anything else text.
    /// May be repeated.
    #[arg(long, value_name = "NAME=VALUE", requires = "engine")]
    pub engine_option: Vec<EngineOption>,
}

/// An engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    Farcall,
    /// The plugin at a path.
    Pjrt(PathBuf),
}

impl Engine {
    fn parser() -> impl TypedValueParser<Value = Engine> {
        OsStringValueParser::new().try_map(|text| Engine::parse(&text))
    }

    fn parse(text: &OsStr) -> Result<Engine, String> {
        let bytes = text.as_bytes();
        let (name, path) = match bytes.iter().position(|byte| *byte == b':') {
            Some(colon) => (&bytes[..colon], Some(OsStr::from_bytes(&bytes[colon + 1..]))),
            None => (bytes, None),
        };
        match (name, path) {
            (b"farcall", None) => Ok(Engine::Farcall),
            (b"farcall", Some(_)) => Err("farcall's own engine has no path; write farcall".to_owned()),
            (b"pjrt", Some(path)) if !path.is_empty() => Ok(Engine::Pjrt(path.into())),
            (b"pjrt", _) => Err("a plugin needs its path: pjrt:PATH".to_owned()),
            (b"evaluator", None) => {
                Err("the reference evaluator has an option of its own: --evaluator".to_owned())
            }
            (name, _) => {
                let name = String::from_utf8_lossy(name);
                let hint = match nearest(&name, ["farcall", "pjrt"]).first() {
                    Some(&"pjrt") => "did you mean pjrt:PATH?",
                    Some(_) => "did you mean farcall?",
                    None => "there is farcall, and pjrt:PATH for a plugin",
                };
                Err(format!("there is no engine `{name}`; {hint}"))
            }
        }
    }
}

/// An option of a plugin's client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EngineOption {
    name: String,
    value: PluginValue,
}

impl FromStr for EngineOption {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineOption, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in preallocate=false")?;
        let number = || {
            let int = value.parse().map(PluginValue::Int);
            int.ok().or_else(|| value.parse().ok().map(PluginValue::Float))
        };
        let value = match value {
            "true" => PluginValue::Bool(true),
            "false" => PluginValue::Bool(false),
            text => number().unwrap_or_else(|| PluginValue::Text(text.to_owned())),
        };
        Ok(EngineOption { name: name.to_owned(), value })
    }
}

/// Loads the plugin that `--engine` names, and creates its client; `None` for farcall's engine. `of_farcall` are
/// options of farcall's engine, with true for those that the user gave.
///
/// # Errors
/// If the plugin cannot be loaded or has no devices, or if another option needs farcall's engine.
pub(crate) fn client(
    args: &EngineArgs,
    of_farcall: &[(&str, bool)],
    stats: &mut Stats,
) -> Result<Option<Client>> {
    let Some(Engine::Pjrt(path)) = &args.engine else {
        if !args.engine_option.is_empty() {
            bail!("--engine-option needs a plugin: --engine pjrt:PATH");
        }
        return Ok(None);
    };
    if let Some((option, _)) = of_farcall.iter().find(|(_, is_given)| *is_given) {
        bail!("{option} is an option of farcall's engine; a plugin has no such option");
    }
    let options = args.engine_option.iter().map(|option| (option.name.clone(), option.value.clone()));
    let options: Vec<_> = options.collect();
    let client = stats.take("plugin", || Client::new(load(path)?, &options))?;
    client.first_device()?;
    Ok(Some(client))
}

#[expect(unsafe_code, reason = "loading a plugin runs its code")]
fn load(path: &Path) -> Result<Plugin, PjrtError> {
    // SAFETY: the user of the command vouches for the plugin on the command line (see the help of
    // `--engine`).
    unsafe { Plugin::load(path) }
}

/// The platform of a client's devices.
pub(crate) fn platform(client: &Client) -> Platform {
    Platform::from(client.platform_name())
}

/// Compiles a function of a program with a plugin.
pub(crate) fn compile(
    client: &Client,
    module: &StaticModule<'_>,
    entry: &str,
    registry: &Registry,
) -> Result<LoadedProgram> {
    let program = client.compile_for(module, Some(entry), registry, client.first_device()?);
    program.map_err(|error| match error {
        // Errors in the program are shown with their source lines.
        PjrtError::Program(error) => error.into(),
        other => other.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_parsed_and_suggested() {
        let parse = |text: &str| Engine::parse(OsStr::new(text));
        assert_eq!(parse("farcall"), Ok(Engine::Farcall));
        assert_eq!(parse("pjrt:/a:b.so"), Ok(Engine::Pjrt("/a:b.so".into())));
        assert_eq!(parse("pjrt").unwrap_err(), "a plugin needs its path: pjrt:PATH");
        assert_eq!(parse("pjrt:").unwrap_err(), "a plugin needs its path: pjrt:PATH");
        assert_eq!(parse("prjt:x.so").unwrap_err(), "there is no engine `prjt`; did you mean pjrt:PATH?");
        assert_eq!(parse("farcal").unwrap_err(), "there is no engine `farcal`; did you mean farcall?");
        assert_eq!(
            parse("xla").unwrap_err(),
            "there is no engine `xla`; there is farcall, and pjrt:PATH for a plugin"
        );
        assert!(parse("evaluator").unwrap_err().contains("--evaluator"));
    }

    #[test]
    fn options_have_types() {
        let value = |text: &str| text.parse::<EngineOption>().map(|option| option.value);
        assert_eq!(value("a=true"), Ok(PluginValue::Bool(true)));
        assert_eq!(value("a=-2"), Ok(PluginValue::Int(-2)));
        assert_eq!(value("a=0.5"), Ok(PluginValue::Float(0.5)));
        assert_eq!(value("a=b=c"), Ok(PluginValue::Text("b=c".to_owned())));
        assert!(value("a").is_err());
    }
}
