//! Options in parentheses after an attribute's name.

use farcall_sig::platform;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Error, LitStr, Path, Result, parse_quote};

/// Options of `#[handler]`.
pub(crate) struct HandlerOptions {
    pub(crate) name: LitStr,
    pub(crate) platform: Option<LitStr>,
    pub(crate) instantiate: Option<Path>,
    pub(crate) prepare: Option<Path>,
    pub(crate) initialize: Option<Path>,
    pub(crate) record: Option<Path>,
    pub(crate) command_buffer_compatible: bool,
    /// True if the results are zeros when the function is called.
    pub(crate) zeroed: bool,
    /// Path of `farcall-ffi`.
    pub(crate) ffi: Path,
}

impl HandlerOptions {
    pub(crate) fn parse(tokens: TokenStream) -> Result<HandlerOptions> {
        const KNOWN: [&str; 9] = [
            "name",
            "platform",
            "zeroed",
            "instantiate",
            "prepare",
            "initialize",
            "record",
            "traits",
            "crate",
        ];
        let (mut name, mut platform, mut ffi) = (None, None::<LitStr>, None);
        let (mut instantiate, mut prepare, mut initialize, mut record) = (None, None, None, None);
        let (mut command_buffer_compatible, mut zeroed) = (false, None);
        let parser = syn::meta::parser(|meta| {
            let Some(option) = meta.path.get_ident().map(ToString::to_string) else {
                return Err(unknown(&meta, "option", &KNOWN));
            };
            match option.as_str() {
                "name" => set(&mut name, &meta, non_empty(meta.value()?.parse()?)?),
                "platform" => set(&mut platform, &meta, non_empty(meta.value()?.parse()?)?),
                "instantiate" => set(&mut instantiate, &meta, meta.value()?.parse()?),
                "prepare" => set(&mut prepare, &meta, meta.value()?.parse()?),
                "initialize" => set(&mut initialize, &meta, meta.value()?.parse()?),
                "record" => set(&mut record, &meta, meta.value()?.parse()?),
                "crate" => set(&mut ffi, &meta, meta.value()?.call(crate_path)?),
                "zeroed" => set(&mut zeroed, &meta, meta.path.span()),
                "traits" => meta.parse_nested_meta(|meta| {
                    if !meta.path.is_ident("command_buffer_compatible") {
                        return Err(unknown(&meta, "trait", &["command_buffer_compatible"]));
                    }
                    command_buffer_compatible = true;
                    Ok(())
                }),
                _ => Err(unknown(&meta, "option", &KNOWN)),
            }
        });
        parser.parse2(tokens)?;
        let name = name.ok_or_else(|| {
            let message = "a handler needs the name that programs call it by: #[handler(name = \"…\")]";
            Error::new(Span::call_site(), message)
        })?;
        let options = HandlerOptions {
            name,
            platform,
            instantiate,
            prepare,
            initialize,
            record,
            command_buffer_compatible,
            zeroed: zeroed.is_some(),
            ffi: ffi.unwrap_or_else(default_crate),
        };
        if let Some(span) = zeroed.filter(|_| !options.is_on_host() || options.record.is_some()) {
            let message = "only the host's memory can be zeroed: fill the results in the function";
            return Err(Error::new(span, message));
        }
        Ok(options)
    }

    /// Returns the canonical name of the platform; `Host` by default.
    pub(crate) fn platform(&self) -> String {
        let written = self.platform.as_ref().map(LitStr::value);
        written.map_or_else(|| platform::HOST.to_owned(), |name| platform::canonical(&name).to_owned())
    }

    /// Returns true if the handler's buffers lie in the host's memory.
    pub(crate) fn is_on_host(&self) -> bool {
        platform::is_host(&self.platform())
    }

    /// Returns the name of the buffer type in the platform's memory.
    pub(crate) fn buffer(&self) -> &'static str {
        if self.is_on_host() { "Buffer" } else { "GpuBuffer" }
    }

    /// Returns the stages other than execute: name, name of the constant for the entry, function.
    fn stages(&self) -> [(Ident, Ident, &Option<Path>); 4] {
        let stage = |name, entry| (Ident::new(name, Span::call_site()), Ident::new(entry, Span::call_site()));
        [
            (stage("instantiate", "INSTANTIATE"), &self.instantiate),
            (stage("prepare", "PREPARE"), &self.prepare),
            (stage("initialize", "INITIALIZE"), &self.initialize),
            (stage("record", "RECORD"), &self.record),
        ]
        .map(|((name, entry), function)| (name, entry, function))
    }

    /// Returns a constant for the entry of each stage other than execute. Evaluating it checks the function.
    pub(crate) fn stage_entries(&self) -> TokenStream {
        let platform = self.platform();
        let constants = self.stages().into_iter().filter_map(|(stage, entry, function)| {
            let path = function.as_ref()?;
            Some(quote_spanned! { path.span()=>
                #[allow(dead_code, reason = "an unused handler is reported itself")]
                const #entry: __ffi::abi::HandlerFn =
                    __ffi::__private::entry::<#path, __ffi::__private::#stage>(#platform);
            })
        });
        constants.collect()
    }

    /// Returns the members of a `HandlerBundle` for the stages other than execute, from the constants of
    /// [`stage_entries`](Self::stage_entries).
    pub(crate) fn bundle(&self) -> TokenStream {
        let member = |(stage, entry, function): (Ident, Ident, &Option<Path>)| match function {
            Some(_) => quote! { #stage: ::std::option::Option::Some(#entry), },
            None => quote! { #stage: ::std::option::Option::None, },
        };
        self.stages().into_iter().map(member).collect()
    }

    /// Returns the traits that the handler guarantees to hosts.
    pub(crate) fn traits(&self) -> TokenStream {
        match self.command_buffer_compatible {
            true => quote!(__ffi::abi::handler_traits::COMMAND_BUFFER_COMPATIBLE),
            false => quote!(0),
        }
    }

    /// Returns true if the handler has other stages, whose functions the host calls with the same attributes.
    pub(crate) fn has_stages(&self) -> bool {
        self.stages().into_iter().any(|(_, _, function)| function.is_some())
    }
}

/// Stages that `#[stage]` accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Instantiate,
    Prepare,
    Initialize,
    Record,
}

impl Stage {
    /// Returns the stage, and the path of `farcall-ffi`.
    pub(crate) fn parse(tokens: TokenStream) -> Result<(Stage, Path)> {
        const KNOWN: [&str; 4] = ["instantiate", "prepare", "initialize", "record"];
        let (mut stage, mut ffi) = (None, None);
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("crate") {
                return set(&mut ffi, &meta, meta.value()?.call(crate_path)?);
            }
            let found = match meta.path.get_ident().map(ToString::to_string).as_deref() {
                Some("instantiate") => Stage::Instantiate,
                Some("prepare") => Stage::Prepare,
                Some("initialize") => Stage::Initialize,
                Some("record") => Stage::Record,
                _ => return Err(unknown(&meta, "stage", &KNOWN)),
            };
            set(&mut stage, &meta, found)
        });
        parser.parse2(tokens)?;
        let message = "say which stage: #[stage(instantiate)], prepare, initialize or record";
        let stage = stage.ok_or_else(|| Error::new(Span::call_site(), message))?;
        Ok((stage, ffi.unwrap_or_else(default_crate)))
    }
}

/// Parses the path after `crate =`.
pub(crate) fn crate_path(input: ParseStream<'_>) -> Result<Path> {
    Path::parse_mod_style(input)
}

/// Returns the path of `farcall-ffi` from options that may contain errors.
pub(crate) fn crate_in(options: TokenStream) -> Path {
    let options: Vec<TokenTree> = options.into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let said = options.split(is_comma).find_map(|option| match option {
        [TokenTree::Ident(key), TokenTree::Punct(_), path @ ..] if key == "crate" => {
            crate_path.parse2(path.iter().cloned().collect()).ok()
        }
        _ => None,
    });
    said.unwrap_or_else(default_crate)
}

/// Returns the default path of `farcall-ffi`.
pub(crate) fn default_crate() -> Path {
    parse_quote!(::farcall_ffi)
}

fn set<T>(slot: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    if slot.is_some() {
        return Err(meta.error("given twice"));
    }
    *slot = Some(value);
    Ok(())
}

fn non_empty(literal: LitStr) -> Result<LitStr> {
    let text = literal.value();
    if text.is_empty() || text.contains('\0') {
        return Err(Error::new(literal.span(), "a name cannot be empty or contain a null character"));
    }
    Ok(literal)
}

fn unknown(meta: &ParseNestedMeta<'_>, what: &str, known: &[&str]) -> Error {
    let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
    let hint = match farcall_sig::nearest::nearest(&name, known.iter().copied()).as_slice() {
        [best, ..] => format!("did you mean `{best}`?"),
        [] => format!("known: {}", known.join(", ")),
    };
    meta.error(format!("unknown {what}; {hint}"))
}
