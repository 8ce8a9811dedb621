//! Compares the parameters of a function with the signature. The code here compares names and order. For
//! types, it generates constant assertions over `farcall_ffi::__private::Declared`, since only the compiler
//! can resolve types.

use farcall_sig::nearest::nearest;
use farcall_sig::signature::{
    Arity, AttrDecl as SigAttr, ElementType, Name, OperandDecl, ResultDecl, Shape, TypeSet,
};
use farcall_sig::{AttrType, DType, ScalarType, Signature};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Error;
use syn::spanned::Spanned;

use crate::function::Param;
use crate::generic::Instances;
use crate::source::Source;
use crate::value::{descriptor_type, option};

/// A function's parameters, to be compared with its signature.
pub(crate) struct Checker<'a> {
    pub(crate) signature: &'a Signature,
    pub(crate) source: &'a Source,
    pub(crate) params: &'a [Param],
    pub(crate) instances: &'a Instances,
    /// Name of the buffer type in the platform's memory, for messages and for generated parameters.
    pub(crate) buffer: &'static str,
}

const ATTRIBUTE: &str = "attribute";

/// An entry of a signature.
#[derive(Clone, Copy)]
pub(crate) enum SignatureEntry<'a> {
    Operand(&'a OperandDecl),
    Attr(&'a SigAttr),
    Result(&'a ResultDecl),
}

impl Checker<'_> {
    pub(crate) fn entry(&self, name: &str) -> Option<SignatureEntry<'_>> {
        let signature = self.signature;
        let operand = signature.operands().iter().find(|o| o.name.text == name).map(SignatureEntry::Operand);
        let attr = || signature.attrs().iter().find(|a| a.name.text == name).map(SignatureEntry::Attr);
        let result = || {
            signature
                .results()
                .iter()
                .find(|r| r.name.text == name && r.aliases.is_none())
                .map(SignatureEntry::Result)
        };
        operand.or_else(attr).or_else(result)
    }

    fn has_param(&self, name: &Name) -> bool {
        self.params.iter().any(|p| p.name == name.text)
    }

    /// Returns errors for operands and results without a parameter. If a parameter that is not in the
    /// signature has a similar name, the error is reported at that parameter, otherwise in the signature.
    /// Attributes are only reported if such a parameter has a similar name; [`Checker::attributes`] reports
    /// the other attributes.
    pub(crate) fn missing(&self) -> Vec<Error> {
        let operands = self.signature.operands().iter().map(|o| ("operand", &o.name));
        let own = self.signature.results().iter().filter(|r| r.aliases.is_none());
        let results = own.map(|r| ("result", &r.name));
        let attributes = self.signature.attrs().iter().map(|a| (ATTRIBUTE, &a.name));
        let all = operands.chain(results).chain(attributes);
        let mut missing: Vec<_> = all.filter(|(_, name)| !self.has_param(name)).collect();
        let mut errors = Vec::new();
        for param in self.params.iter().filter(|param| self.is_unknown(param)) {
            let names = missing.iter().map(|(_, name)| name.text.as_str());
            let Some(near) = nearest(&param.name, names).first().copied().map(str::to_owned) else {
                continue;
            };
            let message =
                format!("`{}` is not a parameter of the signature; did you mean `{near}`?", param.name);
            errors.push(Error::new(param.ident.span(), message));
            missing.retain(|(_, name)| name.text != near);
        }
        let missing = missing.iter().filter(|(what, _)| *what != ATTRIBUTE);
        errors.extend(
            missing.map(|(what, name)| self.source.error(name.span, self.has_no_parameter(what, name))),
        );
        errors
    }

    fn has_no_parameter(&self, what: &str, name: &Name) -> String {
        let others = self.params.iter().filter(|param| self.is_unknown(param)).map(|p| p.name.as_str());
        let hint = match hint(&name.text, others.clone()) {
            hint if !hint.is_empty() => hint,
            _ => match others.map(|name| format!("`{name}`")).collect::<Vec<_>>().as_slice() {
                [] => String::new(),
                [one] => format!("; its {one} is not in the signature"),
                several => format!("; its {} are not in the signature", several.join(", ")),
            },
        };
        format!("the function has no parameter for the {what} `{name}`{hint}")
    }

    /// Returns true for a parameter that is not in the signature, although it does not look like a parameter
    /// of the host.
    fn is_unknown(&self, param: &Param) -> bool {
        self.entry(&param.name).is_none() && !param.is_of_host()
    }

    /// Returns assertions for attributes without a parameter. The assertions hold if the function takes all
    /// attributes at once, as `&Attrs`.
    pub(crate) fn attributes(&self) -> Vec<TokenStream> {
        let missing = self.signature.attrs().iter().filter(|a| !self.has_param(&a.name));
        let assertions = missing.map(|attr| {
            let message = self.has_no_parameter(ATTRIBUTE, &attr.name);
            quote_spanned! { self.source.span(attr.name.span)=>
                const _: () = ::core::assert!(__ffi::__private::has_all_attributes(&SPECS), #message);
            }
        });
        assertions.collect()
    }

    /// Reports the first operand and the first result that deviate from the signature's order.
    pub(crate) fn disorder(&self) -> Vec<Error> {
        let aliased = |operand: &str| {
            self.signature.results().iter().find(|r| r.aliases.as_ref().is_some_and(|a| a.text == operand))
        };
        let (mut operands, mut results) = (Vec::new(), Vec::new());
        for param in self.params {
            match self.entry(&param.name) {
                Some(SignatureEntry::Operand(operand)) => {
                    operands.push((&operand.name.text, param));
                    results.extend(aliased(&param.name).map(|result| (&result.name.text, param)));
                }
                Some(SignatureEntry::Result(result)) => results.push((&result.name.text, param)),
                Some(SignatureEntry::Attr(_)) | None => {}
            }
        }
        let expected_operands = self.signature.operands().iter().map(|o| &o.name.text);
        let expected_results = self.signature.results().iter().map(|r| &r.name.text);
        let first = |what: &str, found: &[(&String, &Param)], expected: &mut dyn Iterator<Item = &String>| {
            let (name, (_, param)) = expected.zip(found).find(|(name, (found, _))| name != found)?;
            let message =
                format!("the signature's {what} are in a different order: `{name}` is expected here");
            Some(Error::new(param.ident.span(), message))
        };
        [
            first("operands", &operands, &mut { expected_operands }),
            first("results", &results, &mut { expected_results }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns an assertion that a parameter's type matches the signature.
    pub(crate) fn param(&self, i: usize, param: &Param) -> TokenStream {
        let name = &param.name;
        let span = param.ty.span();
        let Some(entry) = self.entry(name) else {
            let signature = self.signature;
            let operands = signature.operands().iter().map(|o| o.name.text.as_str());
            let attrs = signature.attrs().iter().map(|a| a.name.text.as_str());
            let own = signature.results().iter().filter(|r| r.aliases.is_none());
            let all = operands.chain(attrs).chain(own.map(|r| r.name.text.as_str()));
            let aliased = signature.results().iter().find(|r| r.name.text == *name);
            let message = match aliased.and_then(|r| r.aliases.as_ref()) {
                Some(operand) => format!(
                    "the result `{name}` is in the buffer of `{operand}`: it is the parameter `{operand}: &mut InOut<…>`"
                ),
                None => format!("the signature has no `{name}`{}", hint(name, all)),
            };
            return quote_spanned! { param.ident.span()=>
                const _: () = ::core::assert!(__ffi::__private::is_context(&SPECS[#i]), #message);
            };
        };
        let (declared, what, ty) = self.declared(entry);
        let message = format!("the signature has {what}, so the type of `{name}` is {ty}");
        let fits = declared.iter().enumerate().map(|(k, declared)| {
            quote_spanned! { span=>
                __ffi::__private::fits(&INSTANCES[#k][#i], &__ffi::__private::Declared::#declared)
            }
        });
        quote_spanned! { span=> const _: () = ::core::assert!(#(#fits)&&*, #message); }
    }

    /// Returns a constructor of `Declared` for each instance, a description of the declaration, and the
    /// expected types.
    fn declared(&self, entry: SignatureEntry<'_>) -> (Vec<TokenStream>, String, String) {
        match entry {
            SignatureEntry::Operand(operand) => self.operand(operand),
            SignatureEntry::Attr(attr) => {
                let (declared, what, ty) = attribute(attr);
                (vec![declared; self.instances.count()], what, ty)
            }
            SignatureEntry::Result(result) => self.result(result),
        }
    }

    /// Returns the type of the parameter for an entry of the signature: the most specific type if several
    /// types match.
    pub(crate) fn ty(&self, entry: SignatureEntry<'_>) -> String {
        let (_, _, types) = self.declared(entry);
        types.split('`').nth(1).unwrap_or_default().to_owned()
    }

    fn operand(&self, operand: &OperandDecl) -> (Vec<TokenStream>, String, String) {
        let name = &operand.name.text;
        let in_out =
            self.signature.results().iter().any(|r| r.aliases.as_ref().is_some_and(|a| a.text == *name));
        let what = format!("the operand `{operand}`");
        let optional = operand.arity == Arity::Optional;
        let role = match operand.arity {
            Arity::Variadic => quote!(RestOperands),
            _ if in_out => quote!(InOut),
            _ => quote!(Operand),
        };
        let (declared, buffer) = self.buffer(&role, optional, &operand.element, &operand.shape);
        if operand.arity == Arity::Variadic {
            return (declared, what, self.rest("&RestOperands", buffer.as_deref()));
        }
        let what = if in_out { format!("{what} and a result in its buffer") } else { what };
        let ty = |buffer: &str| match (in_out, optional) {
            (true, _) => format!("`&mut InOut<{buffer}>`"),
            (false, true) => format!("`Option<&{buffer}>`"),
            (false, false) => format!("`&{buffer}`"),
        };
        (
            declared,
            what,
            self.one_of(buffer.as_deref(), self.if_generic(&operand.element, &operand.shape), ty),
        )
    }

    /// If the element type is a type variable whose types are all floating-point, returns the variable and
    /// the buffer type in a function that is generic over it.
    fn if_generic<'e>(&self, element: &'e ElementType, shape: &Shape) -> Option<(&'e str, String)> {
        let variable = element.variable().filter(|_| element.functions.is_empty())?;
        match self.signature.type_set(&variable.text)? {
            TypeSet::OneOf(set) if set.iter().all(|dtype| dtype.is_float()) => {
                Some((&variable.text, self.buffer_of(&variable.text, shape.rank())))
            }
            TypeSet::OneOf(_) | TypeSet::Any => None,
        }
    }

    fn result(&self, result: &ResultDecl) -> (Vec<TokenStream>, String, String) {
        let what = format!("the result `{result}`");
        let optional = result.condition.is_some();
        let role = if result.variadic { quote!(RestResults) } else { quote!(Result) };
        let (declared, buffer) = self.buffer(&role, optional, &result.element, &result.shape);
        if result.variadic {
            return (declared, what, self.rest("&mut RestResults", buffer.as_deref()));
        }
        let ty = |buffer: &str| match optional {
            true => format!("`Option<&mut {buffer}>`"),
            false => format!("`&mut {buffer}`"),
        };
        (declared, what, self.one_of(buffer.as_deref(), self.if_generic(&result.element, &result.shape), ty))
    }

    /// Returns a constructor of `Declared` for each instance, and the most specific buffer type.
    fn buffer(
        &self,
        role: &TokenStream,
        optional: bool,
        element: &ElementType,
        shape: &Shape,
    ) -> (Vec<TokenStream>, Option<String>) {
        let rank = shape.rank();
        let rank_value = option(rank.map(|rank| quote!(#rank)));
        let only =
            |types: &[DType]| types.first().copied().filter(|first| types.iter().all(|dtype| dtype == first));
        let mut all = Vec::new();
        let declared = (0..self.instances.count()).map(|instance| {
            let types = self.instances.possible(instance, self.signature, element);
            let dtype_value = option(only(&types).map(descriptor_type));
            all.extend(types);
            quote!(buffer(__ffi::Role::#role, #optional, #dtype_value, #rank_value))
        });
        let declared = declared.collect();
        let element = self.instances.in_words(element).or_else(|| only(&all).map(rust_name));
        let buffer = element.map(|element| self.buffer_of(&element, rank));
        (declared, buffer)
    }

    fn buffer_of(&self, element: &str, rank: Option<usize>) -> String {
        let buffer = self.buffer;
        match rank {
            Some(rank) => format!("{buffer}<{element}, {rank}>"),
            None => format!("{buffer}<{element}>"),
        }
    }

    /// Formats a parameter's type for messages: `&Buffer<f32>` if the buffer type is fixed; otherwise
    /// `&AnyBuffer`, and the buffer type for a generic function if one is possible.
    fn one_of(
        &self,
        buffer: Option<&str>,
        generic: Option<(&str, String)>,
        ty: impl Fn(&str) -> String,
    ) -> String {
        let any = ty(&format!("Any{}", self.buffer));
        match (buffer, generic) {
            (Some(buffer), _) => format!("{} or {any}", ty(buffer)),
            (None, Some((variable, buffer))) => {
                format!("{any}, or {} if the function is generic: `<{variable}: Float>`", ty(&buffer))
            }
            (None, None) => any,
        }
    }

    /// Formats the types that a parameter for a list of buffers can have, for messages:
    /// `&RestOperands<Buffer<f32>>` (if the buffer type is fixed) and `&RestOperands`.
    fn rest(&self, list: &str, buffer: Option<&str>) -> String {
        let any = match self.buffer {
            "Buffer" => list.to_owned(),
            other => format!("{list}<Any{other}>"),
        };
        match buffer {
            Some(buffer) => format!("`{list}<{buffer}>` or `{any}`"),
            None => format!("`{any}`"),
        }
    }
}

fn attribute(attr: &SigAttr) -> (TokenStream, String, String) {
    let expects: Vec<String> = match &attr.ty {
        AttrType::Scalar(scalar) if scalar.is_integer() => vec![field_name(*scalar), "integer".into()],
        AttrType::Scalar(scalar) => vec![field_name(*scalar)],
        AttrType::Array(ScalarType::U8) => vec!["[u8]".into(), "[u8] or string".into()],
        AttrType::Array(scalar) => vec![format!("[{}]", field_name(*scalar))],
        AttrType::Str => vec!["string".into(), "[u8] or string".into()],
        AttrType::Choice(_) => vec!["string".into()],
        AttrType::Dict => vec!["dictionary".into()],
    };
    let ty = match &attr.ty {
        AttrType::Scalar(scalar) => scalar.to_string(),
        AttrType::Array(scalar) => format!("&[{scalar}]"),
        AttrType::Str => "&str".into(),
        AttrType::Choice(_) => "&str".into(),
        AttrType::Dict => "&Dict".into(),
    };
    // An attribute with a default may still be missing in a call from a host that does not know the
    // signature.
    let (optional, ty) = match (attr.optional, &attr.default) {
        (true, _) => (option(Some(quote!(true))), format!("`Option<{ty}>`")),
        (false, Some(_)) => (option(None), format!("`{ty}`")),
        (false, None) => (option(Some(quote!(false))), format!("`{ty}`")),
    };
    (quote!(attribute(#optional, &[#(#expects),*])), format!("the attribute `{attr}`"), ty)
}

/// Returns the name of a scalar type in messages about attributes: `s32` for `i32`.
fn field_name(scalar: ScalarType) -> String {
    match scalar {
        ScalarType::Bool => "pred".into(),
        other => other.name().replace('i', "s"),
    }
}

/// Returns the Rust type for an element type.
fn rust_name(dtype: DType) -> String {
    match dtype {
        DType::Pred => "Pred".into(),
        DType::C64 => "Complex<f32>".into(),
        DType::C128 => "Complex<f64>".into(),
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => dtype.name().replace('s', "i"),
        other => other.name().into(),
    }
}

/// Returns `; did you mean …?`, or nothing. Single-letter names are ignored, because they are all similar.
pub(crate) fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known = known.filter(|known| name.len() > 1 && known.len() > 1);
    match nearest(name, known).as_slice() {
        [best, ..] => format!("; did you mean `{best}`?"),
        [] => String::new(),
    }
}
