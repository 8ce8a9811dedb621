//! Generic handlers: one kernel for several element types.
//!
//! The type parameters of the function are type variables of its signature, which lists the types of each
//! variable. The kernel is built once for every combination of types (an *instance*). As in the evaluation of
//! signatures, the element types of operands determine the variables, and so the instance that the entry
//! selects. The author's code is not rewritten: an instance is the function with type arguments.

use farcall_sig::nearest::nearest;
use farcall_sig::signature::{Arity, ElementType, TypeSet};
use farcall_sig::{DType, Signature};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Result};

use crate::function::Function;
use crate::value::descriptor_type;

/// Types that the type parameters of a function stand for.
pub(crate) struct Instances {
    /// Type variables, each with its possible types.
    variables: Vec<Variable>,
    /// Type of each variable, for every instance. If the function is not generic, there is one instance
    /// without variables.
    types: Vec<Vec<DType>>,
}

struct Variable {
    name: String,
    /// Location of the type parameter.
    span: Span,
    set: Vec<DType>,
    /// Operand that determines the variable: index, name, element type.
    operand: (usize, String, ElementType),
}

impl Instances {
    pub(crate) fn new(function: &Function, signature: Option<&Signature>) -> Result<Instances> {
        let variables = function.type_params().into_iter().map(|param| variable(param, signature));
        let variables = variables.collect::<Result<Vec<_>>>()?;
        let types = variables.iter().fold(vec![Vec::new()], |types, variable| {
            let extended = |types: &Vec<DType>| {
                variable.set.iter().map(|dtype| [types.as_slice(), &[*dtype]].concat()).collect::<Vec<_>>()
            };
            types.iter().flat_map(extended).collect()
        });
        Ok(Instances { variables, types })
    }

    pub(crate) fn is_generic(&self) -> bool {
        !self.variables.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.types.len()
    }

    /// If an instance uses a 16-bit floating-point type, returns code that checks that these types are
    /// available and otherwise explains how to enable them.
    pub(crate) fn need_half(&self) -> Option<TokenStream> {
        let is_half = |dtype: &DType| matches!(dtype, DType::F16 | DType::BF16);
        let variable = self.variables.iter().find(|v| v.set.iter().any(is_half))?;
        Some(quote_spanned! { variable.span=> __ffi::__half_is_needed! {} })
    }

    /// Returns the type arguments of each instance, such as `::<f32>`; empty if the function is not generic.
    pub(crate) fn arguments(&self) -> Vec<TokenStream> {
        let of = |types: &Vec<DType>| {
            let types = self.variables.iter().zip(types).map(|(v, dtype)| rust_type(*dtype, v.span));
            if self.is_generic() { quote!(::<#(#types),*>) } else { quote!() }
        };
        self.types.iter().map(of).collect()
    }

    /// Returns the types that an element type can stand for in an instance. There is only one such type,
    /// unless the element type depends on a variable that the function is not generic over.
    pub(crate) fn possible(
        &self,
        instance: usize,
        signature: &Signature,
        element: &ElementType,
    ) -> Vec<DType> {
        let variable =
            element.variable().and_then(|v| self.variables.iter().position(|own| own.name == v.text));
        match variable {
            Some(i) => element.apply(self.types[instance][i]).into_iter().collect(),
            None => signature.possible_types(element),
        }
    }

    /// Returns the Rust type for an element type in the author's terms: `T`, `Complex<T>`, `T::Acc`, or `…`
    /// for another type that follows from `T`. `None` if the element type does not depend on a type
    /// parameter.
    pub(crate) fn in_words(&self, element: &ElementType) -> Option<String> {
        let variable = element.variable().filter(|v| self.variables.iter().any(|own| own.name == v.text))?;
        let of = |dtype: &DType| element.apply(*dtype);
        let set = &self.variables.iter().find(|own| own.name == variable.text)?.set;
        if set.iter().all(|dtype| of(dtype) == Some(*dtype)) {
            return Some(variable.text.clone());
        }
        if set.iter().all(|dtype| of(dtype).is_some() && of(dtype) == dtype.complex()) {
            return Some(format!("Complex<{variable}>"));
        }
        if set.iter().all(|dtype| dtype.is_float() && of(dtype) == Some(dtype.accumulator())) {
            return Some(format!("{variable}::Acc"));
        }
        Some("…".into())
    }

    /// Returns code that calls `run` with the type arguments that follow from the operands' types. The code
    /// is the last expression of an entry.
    pub(crate) fn choose(&self, run: &TokenStream, counts: bool) -> TokenStream {
        let arms = self.types.iter().zip(self.arguments()).map(|(types, arguments)| {
            let conditions = self.variables.iter().zip(types).map(|(variable, dtype)| {
                let (operand, _, element) = &variable.operand;
                let dtype = descriptor_type(element.apply(*dtype).unwrap_or(*dtype));
                quote! { __ffi::__private::operand_is(&__entered, __decoder, #operand, #dtype) }
            });
            quote! {
                if #(#conditions)&&* {
                    return #run #arguments (__entered);
                }
            }
        });
        let operands = self.variables.iter().map(|variable| {
            let (operand, name, element) = &variable.operand;
            let types = variable.set.iter().filter_map(|dtype| element.apply(*dtype)).map(descriptor_type);
            quote! { (#operand, #name, &[#(#types),*]) }
        });
        quote! {
            let __decoder = &mut __entered.decoder();
            if !__entered.is_known() {
                __ffi::__private::begin(__decoder, &SPECS, &NAMES, #counts)?;
            }
            #(#arms)*
            __ffi::__private::no_instance(__decoder, &[#(#operands),*])
        }
    }
}

fn variable(param: &Ident, signature: Option<&Signature>) -> Result<Variable> {
    let wrong = |message: String| Err(Error::new(param.span(), message));
    let Some(signature) = signature else {
        return wrong(format!(
            "a generic handler needs a signature that lists the types of `{param}`: \
             #[signature((x: {param}[*]) -> (y: {param}[*]) where {param}: f32 | f64)]"
        ));
    };
    let name = param.to_string();
    let set = match signature.type_set(&name) {
        Some(TypeSet::OneOf(set)) => set.clone(),
        Some(TypeSet::Any) => {
            return wrong(format!(
                "the kernel is built for each type of `{param}`: list them in the signature, as in `{param}: f32 | f64`"
            ));
        }
        None => {
            let elements = signature.operands().iter().filter_map(|o| o.element.variable());
            let hint = match nearest(&name, elements.map(|v| v.text.as_str())).as_slice() {
                [best, ..] if *best != name => format!("; did you mean `{best}`?"),
                _ => String::new(),
            };
            return wrong(format!("the signature has no type variable `{param}`{hint}"));
        }
    };
    if let Some(dtype) = set.iter().find(|dtype| !has_rust_type(**dtype)) {
        return wrong(format!("`{param}` can be {dtype}, which has no Rust type: take `&AnyBuffer`"));
    }
    let determines = |element: &ElementType| {
        let images: Vec<_> = set.iter().map(|dtype| element.apply(*dtype)).collect();
        let distinct =
            images.iter().enumerate().all(|(i, image)| image.is_some() && !images[..i].contains(image));
        distinct && element.variable().is_some_and(|variable| variable.text == name)
    };
    // The positions of operands after a variadic operand depend on the number of its entries.
    let operands = signature.operands();
    let has_place = |i: usize| i == 0 || operands[i - 1].arity != Arity::Variadic;
    let mut operands = operands.iter().enumerate().filter(|(i, o)| has_place(*i) && determines(&o.element));
    // Prefers an operand that is always given.
    let first = operands.clone().find(|(_, o)| o.arity == Arity::Required).or_else(|| operands.next());
    match first {
        Some((i, operand)) => {
            let operand = (i, operand.name.text.clone(), operand.element.clone());
            Ok(Variable { name, span: param.span(), set, operand })
        }
        None => wrong(format!("`{param}` is not determined by an operand with a fixed position in calls")),
    }
}

pub(crate) fn has_rust_type(dtype: DType) -> bool {
    use DType::{BF16, C64, C128, F16, F32, F64, Pred, S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(dtype, Pred | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64 | F16 | BF16 | F32 | F64 | C64 | C128)
}

/// Returns the Rust type for an element type. The compiler reports errors about the Rust type at `span`.
fn rust_type(dtype: DType, span: Span) -> TokenStream {
    match dtype {
        DType::Pred => quote_spanned!(span=> __ffi::Pred),
        DType::C64 => quote_spanned!(span=> __ffi::Complex<f32>),
        DType::C128 => quote_spanned!(span=> __ffi::Complex<f64>),
        DType::F16 => quote_spanned!(span=> __ffi::__private::half::f16),
        DType::BF16 => quote_spanned!(span=> __ffi::__private::half::bf16),
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => {
            let name = Ident::new(&dtype.name().replace('s', "i"), span);
            quote!(#name)
        }
        other => {
            let name = Ident::new(other.name(), span);
            quote!(#name)
        }
    }
}
