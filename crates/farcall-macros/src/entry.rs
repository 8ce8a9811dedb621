//! `#[handler]` and `#[stage]`: the expansion of a function to an entry, through which a host calls it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, GenericArgument, Index, Path, PathArguments, Result, ReturnType, Type};

use crate::declaration::Declaration;
use crate::derivative;
use crate::function::Function;
use crate::generic::Instances;
use crate::options::{HandlerOptions, Stage, crate_in};
use crate::parameters;
use crate::stand_in::stand_in;

/// Returns the expansion of a function, or the error and a stand-in for the function.
pub(crate) fn or_stand_in(
    expand: fn(TokenStream, TokenStream) -> Result<TokenStream>,
    options: TokenStream,
    item: TokenStream,
) -> TokenStream {
    expand(options.clone(), item.clone()).unwrap_or_else(|error| {
        let (error, stand_in) = (error.into_compile_error(), stand_in(item, &crate_in(options)));
        quote! { #error #stand_in }
    })
}

pub(crate) fn handler(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut function: Function = syn::parse2(item)?;
    let declaration = Declaration::take(&mut function)?;
    let options = HandlerOptions::parse(options)?;
    parameters::complete(&mut function, &declaration, &options)?;
    let instances = Instances::new(&function, declaration.signature())?;
    let checks = declaration.check(&function, &instances, &options)?;
    let on_platform = platform_checks(&function, &options);
    let outline = derivative::outline(declaration.signature());
    let (name, target) = (&function.name, &options.name);
    let own = Op {
        ty: name,
        target: target.value(),
        declared: quote!(THIS),
        transpose: declaration.transpose(),
        params: quote!(__ffi::__private::params(&SPECS, &NAMES)),
        doc: function.doc(),
        declaration: declaration.value(),
        more: TokenStream::new(),
        options: &options,
    };
    let entry = |ty: &Ident, name: String| {
        let entry = Entry {
            ty: ty.clone(),
            name,
            stage: quote!(EXECUTE),
            traits: options.traits(),
            state: None,
            zeroed: options.zeroed,
            strict: Strict { counts: true, attributes: !options.has_stages() },
        };
        entry.implementation(&function, &instances)
    };
    let implementation = match with_residuals(&own, &declaration, &function)? {
        None => {
            let (entry, op) = (entry(name, target.value()), own.implementation());
            quote! { #entry #op }
        }
        Some((forward, target, ops)) => {
            let entry = entry(&forward, target);
            quote! { #entry #ops }
        }
    };
    let used_by = "no `library!` lists this op, also not through a table (`..module::OPS`), and it is not a derivative of a listed op";
    Ok(expansion(
        &function,
        &instances,
        (&options.ffi, used_by),
        quote! {
            const THIS: __ffi::__private::DeclaredOp = __ffi::__private::DeclaredOp::new(#target, #outline);

            #implementation

            #checks

            #on_platform
        },
    ))
}

/// Returns assertions that a handler for the platform can have its parameters and those of its stages:
/// buffers lie in the memory of the platform's devices.
fn platform_checks(function: &Function, options: &HandlerOptions) -> TokenStream {
    let platform = options.platform();
    let own = function.params.iter().enumerate().map(|(i, param)| {
        quote_spanned! { param.ty.span()=>
            const _: () = __ffi::__private::expect_on(#platform, &SPECS[#i]);
        }
    });
    own.chain([options.stage_entries()]).collect()
}

/// Contents of an `impl Op`.
struct Op<'a> {
    ty: &'a Ident,
    /// Name of the target.
    target: String,
    declared: TokenStream,
    transpose: TokenStream,
    params: TokenStream,
    doc: String,
    declaration: TokenStream,
    /// Additional members of the `impl`.
    more: TokenStream,
    options: &'a HandlerOptions,
}

impl Op<'_> {
    fn implementation(&self) -> TokenStream {
        let Op { ty, target, declared, transpose, params, doc, declaration, more, options } = self;
        let platform = options.platform();
        let (bundle, traits) = (options.bundle(), options.traits());
        quote! {
            impl __ffi::__private::HandlerOp for #ty {
                const DECLARED: __ffi::__private::DeclaredOp = #declared;
                const TRANSPOSE: ::core::option::Option<__ffi::__private::Derivative> = #transpose;
                const DESCRIPTOR: &'static __ffi::descriptor::OpDescriptor =
                    // SAFETY: each function is an instance of the trampoline for its stage or rule.
                    &unsafe { __ffi::descriptor::OpDescriptor::new(__ffi::__private::OpParts {
                        name: #target,
                        platform: #platform,
                        bundle: __ffi::abi::HandlerBundle {
                            #bundle
                            execute: ::std::option::Option::Some(__ffi::__private::enter::<Self>),
                        },
                        traits: #traits,
                        doc: #doc,
                        file: ::std::file!(),
                        line: ::std::line!(),
                        params: &#params,
                        declaration: #declaration,
                    }) };
                #more
            }
        }
    }
}

/// If the function returns residuals, returns the type of its forward op, the name of that op's target, and
/// the implementations of both ops. Only the forward op decodes arguments and calls the function. The op
/// itself adds memory for the residuals to a call, and passes the call on to the forward op.
fn with_residuals(
    op: &Op<'_>,
    declaration: &Declaration,
    function: &Function,
) -> Result<Option<(Ident, String, TokenStream)>> {
    let (Some(own), Some(of_forward)) = (declaration.own_residuals(), declaration.of_forward()) else {
        return Ok(None);
    };
    let options = op.options;
    if !options.is_on_host() || options.record.is_some() {
        let message = "an op that is recorded or runs on another platform needs a separate forward op, \
                       #[vjp(forward = f, …)]: memory for unused residuals is the host's";
        return Err(Error::new(own.key.span(), message));
    }
    let residuals = own.describe()?;
    let (names, results) = (own.names(), own.op.results().len());
    let params = function.params.iter().enumerate().filter(|(_, p)| !names.contains(&p.name.as_str()));
    let (indices, own_names): (Vec<_>, Vec<_>) = params.map(|(i, param)| (i, &param.name)).unzip();
    let (ty, name) = (op.ty, &op.target);
    let forward = Ident::new("__Forward", Span::call_site());
    let target = format!("{name}_fwd");
    let outline = derivative::outline(declaration.source().map(|(signature, _)| signature));
    let forward_op = Op {
        ty: &forward,
        target: target.clone(),
        declared: quote!(__ffi::__private::DeclaredOp::new(#target, #outline)),
        transpose: quote!(::core::option::Option::None),
        params: op.params.clone(),
        doc: format!("{}\n\nAlso returns the residuals for the reverse derivative of `{name}`.", op.doc),
        declaration: of_forward,
        more: TokenStream::new(),
        options,
    };
    let forward_op = forward_op.implementation();
    let own_op = Op {
        ty,
        target: name.clone(),
        declared: op.declared.clone(),
        transpose: op.transpose.clone(),
        params: quote!(__ffi::__private::params(&[#(SPECS[#indices]),*], &[#(#own_names),*])),
        doc: op.doc.clone(),
        declaration: op.declaration.clone(),
        more: quote! {
            const LISTED: &'static [&'static __ffi::descriptor::OpDescriptor] = &[
                Self::DESCRIPTOR,
                <#forward as __ffi::__private::HandlerOp>::DESCRIPTOR,
            ];
        },
        options,
    };
    let own_op = own_op.implementation();
    let key = own.key.span();
    let kept = "residuals do not outlive the call, so such a function cannot keep buffers";
    let lasting =
        quote_spanned! { key=> const _: () = ::core::assert!(!__ffi::__private::keeps(&SPECS), #kept); };
    let entry = entry_of_forward(op, &forward, results, &residuals);
    let ops = quote! {
        /// The forward op.
        #[derive(Debug)]
        pub enum #forward {}

        #forward_op

        #lasting

        #entry

        #own_op

        impl __ffi::__private::HasForward for #ty {
            type Forward = #forward;
        }
    };
    Ok(Some((forward, target, ops)))
}

/// Returns the entry of an op that passes its calls on to its forward op. It adds memory for the residuals
/// after the op's results.
fn entry_of_forward(op: &Op<'_>, forward: &Ident, results: usize, residuals: &TokenStream) -> TokenStream {
    let (ty, name, traits) = (op.ty, &op.target, op.options.traits());
    quote! {
        impl __ffi::__private::Entry for #ty {
            const NAME: &'static str = #name;
            const STAGE: __ffi::abi::Stage = __ffi::abi::Stage::EXECUTE;
            const TRAITS: __ffi::abi::HandlerTraits = #traits;
            const STATE: ::std::option::Option<fn(&__ffi::__private::Host) -> __ffi::Result<__ffi::abi::TypeId>> =
                ::std::option::Option::None;
            const KEEPS: bool = false;
            const LASTS: bool = false;
            const SHAPE: __ffi::__private::BufferCounts = __ffi::__private::BufferCounts::of::<0>(&[]);
            type Views = ();

            fn call(__entered: __ffi::__private::Entered) -> __ffi::__private::Boxed {
                __ffi::__private::with_residuals::<#forward>(__entered, #results, #residuals)
            }
        }
    }
}

pub(crate) fn stage(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: Function = syn::parse2(item)?;
    if let Some(param) = function.type_params().first() {
        return Err(Error::new(param.span(), "a stage cannot be generic: it sees no operands"));
    }
    let instances = Instances::new(&function, None)?;
    let (stage, ffi) = Stage::parse(options)?;
    let name = &function.name;
    let (constant, marker) = match stage {
        Stage::Instantiate => (quote!(INSTANTIATE), quote!(instantiate)),
        Stage::Prepare => (quote!(PREPARE), quote!(prepare)),
        Stage::Initialize => (quote!(INITIALIZE), quote!(initialize)),
        Stage::Record => (quote!(RECORD), quote!(record)),
    };
    let state = if stage == Stage::Record { None } else { state_of(&function, stage)? };
    let entry = Entry {
        ty: name.clone(),
        name: name.to_string(),
        stage: constant,
        traits: quote!(0),
        state,
        zeroed: false,
        strict: Strict { counts: false, attributes: false },
    };
    let implementation = entry.implementation(&function, &instances);
    Ok(expansion(
        &function,
        &instances,
        (&ffi, "this stage belongs to no handler that is used"),
        quote! {
            #implementation

            impl __ffi::__private::StageOf<__ffi::__private::#marker> for #name {
                const SPECS: &'static [__ffi::__private::Spec] = &SPECS;
                const NAMES: &'static [&'static str] = &NAMES;
            }
        },
    ))
}

/// Returns the function, the type that represents it, and the type's implementations. The compiler reports an
/// unused type as an error, with `used_by` as the explanatory note.
fn expansion(
    function: &Function,
    instances: &Instances,
    (ffi, used_by): (&Path, &str),
    implementation: TokenStream,
) -> TokenStream {
    let (name, vis) = (&function.name, &function.vis);
    let specs = function.params.iter().map(|param| {
        let ty = &param.ty;
        quote_spanned! { ty.span()=> <#ty as __ffi::__private::Param<'_>>::SPEC }
    });
    let names = function.params.iter().map(|param| &param.name);
    let count = function.params.len();
    let (arguments, instance_count) = (instances.arguments(), instances.count());
    let need_half = instances.need_half();
    let (generics, where_clause) = (&function.generics, &function.generics.where_clause);
    let doc = format!("Stands for the function `{name}` where a macro or a test asks for its entry.");
    // The compiler only reports an unused type whose span is in the author's code. The compiler would not
    // report a type with a `#[derive]`, so `Debug` is implemented by hand.
    let item = quote_spanned! { name.span()=> #vis enum #name {} };
    let unused = match function.may_be_unused() {
        true => quote! { #[allow(dead_code)] },
        false => quote! { #[deny(dead_code, reason = #used_by)] },
    };
    quote! {
        #[allow(dead_code, reason = "the type is reported")]
        #function

        #[doc = #doc]
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "named as the function")]
        #unused
        #item

        const _: () = {
            use #ffi as __ffi;

            #need_half

            impl ::core::fmt::Debug for #name {
                fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    match *self {}
                }
            }

            const fn __specs #generics() -> [__ffi::__private::Spec; #count] #where_clause { [#(#specs),*] }
            /// Specifications of the parameters for each instance of the handler.
            const INSTANCES: [[__ffi::__private::Spec; #count]; #instance_count] = [#(__specs #arguments ()),*];
            const SPECS: [__ffi::__private::Spec; #count] = __ffi::__private::common(&INSTANCES);
            const NAMES: [&'static str; #count] = [#(#names),*];

            #implementation
        };
    }
}

/// Contents of an `impl Entry`.
struct Entry {
    ty: Ident,
    name: String,
    stage: TokenStream,
    traits: TokenStream,
    /// Type of the state that the function creates.
    state: Option<TokenStream>,
    /// True if the results are zeros when the function is called.
    zeroed: bool,
    strict: Strict,
}

/// Requirements on a frame: no operand or result without a parameter (`counts`), and no attribute without a
/// parameter (`attributes`).
struct Strict {
    counts: bool,
    attributes: bool,
}

impl Entry {
    fn implementation(&self, function: &Function, instances: &Instances) -> TokenStream {
        let Entry { ty, name: text, stage, traits, .. } = self;
        let state_type = match &self.state {
            Some(state) => quote! { ::std::option::Option::Some(__ffi::__private::state_type::<#state>) },
            None => quote! { ::std::option::Option::None },
        };
        let body = self.body(function, instances);
        let (instance, run) = if instances.is_generic() {
            (Some(instance(function, &body)), instances.choose(&quote!(__instance), self.strict.counts))
        } else {
            (None, body)
        };
        quote! {
            #instance

            impl __ffi::__private::Entry for #ty {
                const NAME: &'static str = #text;
                const STAGE: __ffi::abi::Stage = __ffi::abi::Stage::#stage;
                const TRAITS: __ffi::abi::HandlerTraits = #traits;
                const STATE: ::std::option::Option<
                    fn(&__ffi::__private::Host) -> __ffi::Result<__ffi::abi::TypeId>,
                > = #state_type;
                const KEEPS: bool = __ffi::__private::keeps(&SPECS);
                const LASTS: bool = __ffi::__private::lasts(&SPECS);
                const SHAPE: __ffi::__private::BufferCounts = __ffi::__private::BufferCounts::of(&SPECS);
                type Views = [
                    ::std::mem::MaybeUninit<__ffi::__private::View>;
                    <#ty as __ffi::__private::Entry>::SHAPE.views()
                ];

                #[inline(always)]
                fn proofs() -> ::std::option::Option<&'static __ffi::__private::Proofs> {
                    static PROOFS: __ffi::__private::Proofs = __ffi::__private::Proofs::none();
                    const { <#ty as __ffi::__private::Entry>::SHAPE.has_proofs() }.then_some(&PROOFS)
                }

                #[inline(always)]
                unsafe fn compare(
                    __proofs: &'static __ffi::__private::Proofs,
                    __frame: *const __ffi::abi::CallFrame,
                    __views: *mut __ffi::__private::View,
                ) -> *const __ffi::__private::View {
                    // SAFETY: the caller guarantees the contract of `Proofs::compare`.
                    unsafe {
                        __proofs.compare::<
                            { <#ty as __ffi::__private::Entry>::SHAPE.compared().0 },
                            { <#ty as __ffi::__private::Entry>::SHAPE.compared().1 },
                        >(__frame, __views)
                    }
                }

                #[inline(always)]
                fn call(__entered: __ffi::__private::Entered) -> __ffi::__private::Boxed {
                    #run
                }
            }
        }
    }

    /// Returns the code that decodes the frame, calls the function, and processes its return value.
    fn body(&self, function: &Function, instances: &Instances) -> TokenStream {
        let name = &function.name;
        let slots = Slots::new(function);
        let (ty, counts) = (&self.ty, self.strict.counts);
        let finish =
            self.strict.attributes.then(|| quote! { __ffi::__private::finish(__decoder, &SPECS, &NAMES)?; });
        let (empty, renew) = (slots.empty(), slots.renew());
        let decode = slots.decode("positional", "attribute");
        let beside_proof = slots.decode("beside_proof", "named");
        let decode = quote! { #decode #finish };
        let beside_proof = quote! {
            let __decoder = &mut __entered.decoder();
            __ffi::__private::attributes(__decoder, &SPECS)?;
            #beside_proof
            #finish
        };
        let (may_overlap, memory, arguments) = (slots.may_overlap(), slots.memory(), slots.arguments());
        let zero = self.zeroed.then(|| slots.zero());
        let (expected, returned) = self.returned();
        let check = quote_spanned! { function.output_span()=> let __returned: #expected = __returned; };
        let type_params = function.type_params();
        let arguments_of_types = instances.is_generic().then(|| quote! { ::<#(#type_params),*> });
        let call = function.result_of(quote! { #name #arguments_of_types(#(#arguments),*) });
        quote! {
            let __empty = || (#(#empty,)*);
            let mut __read;
            let __slots = if __entered.is_remembered() {
                // SAFETY: `is_remembered` says that an earlier call left slots of this type.
                let __slots =
                    unsafe { __entered.slots::<<#ty as __ffi::__private::Entry>::Views, _>(&__empty) };
                #renew
                __slots
            } else {
                __read = __empty();
                let __slots = &mut __read;
                if __entered.is_proved() {
                    #beside_proof
                } else {
                    __ffi::__private::read(__slots, move |__slots| {
                        let __decoder = &mut __entered.decoder();
                        __ffi::__private::begin(__decoder, &SPECS, &NAMES, #counts)?;
                        #decode
                        if (#may_overlap) < 0 {
                            __ffi::__private::no_overlap(__decoder, [#(#memory),*], &NAMES)?;
                        }
                        __ffi::__private::remember::<#ty, _>(__entered, __slots);
                        ::std::result::Result::Ok(())
                    })?;
                }
                __slots
            };
            #zero
            let __returned = #call;
            #check
            #returned
        }
    }

    /// Returns the type that the function must return, and the code that processes the value.
    fn returned(&self) -> (TokenStream, TokenStream) {
        let stage = &self.stage;
        match &self.state {
            Some(state) => (
                quote! { __ffi::Result<#state> },
                quote! { __ffi::__private::set_state(__entered, __ffi::abi::Stage::#stage, __returned) },
            ),
            None => {
                (quote! { __ffi::Result<()> }, quote! { __ffi::__private::returned(__entered, __returned) })
            }
        }
    }
}

/// Returns the function that serves one instance of a generic handler.
fn instance(function: &Function, body: &TokenStream) -> TokenStream {
    let (generics, where_clause) = (&function.generics, &function.generics.where_clause);
    quote! {
        #[inline(always)]
        fn __instance #generics(__entered: __ffi::__private::Entered) -> __ffi::__private::Boxed
        #where_clause
        {
            #body
        }
    }
}

/// Storage of the parameters from the decoding of the frame to the call of the function: a tuple with a slot
/// for each parameter.
struct Slots<'a> {
    function: &'a Function,
    /// The expression `__slots.i` for each parameter `i`.
    slots: Vec<TokenStream>,
}

impl Slots<'_> {
    fn new(function: &Function) -> Slots<'_> {
        let slots = (0..function.params.len()).map(Index::from).map(|i| quote!(__slots.#i)).collect();
        Slots { function, slots }
    }

    /// Returns a call of the SDK's private function `what`, with the type of parameter `i` as the type
    /// argument.
    fn call(&self, what: &str, i: usize, arguments: &TokenStream) -> TokenStream {
        let (ty, what) = (&self.function.params[i].ty, format_ident!("{what}"));
        quote_spanned! { ty.span()=> __ffi::__private::#what::<#ty>(#arguments) }
    }

    /// Returns the initial slots, before any parameter is read into them.
    fn empty(&self) -> Vec<TokenStream> {
        (0..self.slots.len()).map(|i| self.call("slot", i, &quote!())).collect()
    }

    /// Returns code that reads or renews parameter `i` with the function `how`.
    fn read(&self, how: &str, i: usize) -> TokenStream {
        let (slot, view, name) = (&self.slots[i], view(i), &self.function.params[i].name);
        let read = self.call(how, i, &quote!(__decoder, #name, &mut #slot, #view));
        quote! { #read?; }
    }

    /// Returns code that updates the slots that an earlier call filled, so that they are valid for this call.
    fn renew(&self) -> TokenStream {
        let renew = (0..self.slots.len()).map(|i| self.read("renew", i));
        quote! {
            let __decoder = &mut __entered.decoder();
            #(#renew)*
        }
    }

    /// Returns code that reads the parameters from the frame. It calls the function with the name
    /// `positional` for each parameter in order, then the function with the name `named` for each in the
    /// order of names.
    fn decode(&self, positional: &str, named: &str) -> TokenStream {
        let params = &self.function.params;
        let in_order = (0..params.len()).map(|i| self.read(positional, i));
        // The attributes of a frame are sorted by the bytes of their names.
        let mut by_name: Vec<_> = (0..params.len()).collect();
        by_name.sort_by(|&a, &b| params[a].name.as_bytes().cmp(params[b].name.as_bytes()));
        let by_name = by_name.into_iter().map(|i| self.read(named, i));
        quote! {
            #(#in_order)*
            #(#by_name)*
        }
    }

    /// Returns the memory of each parameter.
    fn memory(&self) -> Vec<TokenStream> {
        let slots = self.slots.iter().enumerate();
        slots.map(|(i, slot)| self.call("memory", i, &with_view(quote!(&#slot), i))).collect()
    }

    /// Returns code that fills the results with zeros.
    fn zero(&self) -> TokenStream {
        let slots = self.slots.iter().enumerate();
        let zero = slots.map(|(i, slot)| self.call("zero", i, &with_view(quote!(&#slot), i)));
        quote! { #(#zero;)* }
    }

    /// Returns the arguments of the function.
    fn arguments(&self) -> Vec<TokenStream> {
        let slots = self.slots.iter().enumerate();
        slots.map(|(i, slot)| self.call("take", i, &with_view(quote!(&mut #slot), i))).collect()
    }

    /// Returns an expression that is negative if any two parameters might share memory. With few parameters,
    /// the expression combines a fast test of each pair. With many parameters, the expression is always
    /// negative, because a loop over the pairs at run time is then faster.
    fn may_overlap(&self) -> TokenStream {
        const MAX_PAIRWISE_PARAMS: usize = 16;
        let types: Vec<_> = self.function.params.iter().map(|param| &param.ty).collect();
        if types.len() > MAX_PAIRWISE_PARAMS {
            return quote! { -1 };
        }
        let itself = types.iter().map(|ty| quote! { __ffi::__private::may_overlap_itself::<#ty>() });
        let pairs = (0..types.len()).flat_map(|i| (i + 1..types.len()).map(move |j| (i, j)));
        let pairs = pairs.map(|(i, j)| {
            let (p, q, p_slot, q_slot) = (types[i], types[j], &self.slots[i], &self.slots[j]);
            // With the span of `q`, the compiler reports an invalid parameter type only once.
            let (p_view, q_view) = (view(i), view(j));
            quote_spanned! { q.span()=>
                __ffi::__private::may_overlap::<#p, #q>((&#p_slot, #p_view), (&#q_slot, #q_view))
            }
        });
        quote! { 0 #(| #itself)* #(| #pairs)* }
    }
}

/// Returns an expression for the location of the view of parameter `i`, if the parameter is a single buffer.
fn view(i: usize) -> TokenStream {
    quote! { __entered.view(const { __ffi::__private::view_of(&SPECS, #i) }) }
}

/// Returns two arguments: a slot, and the location of the view of parameter `i`.
fn with_view(slot: TokenStream, i: usize) -> TokenStream {
    let view = view(i);
    quote! { #slot, #view }
}

/// Returns the type `T` if the function returns `Result<T>`, or `None` if `T` is `()`.
fn state_of(function: &Function, stage: Stage) -> Result<Option<TokenStream>> {
    let message = match stage {
        Stage::Instantiate => {
            "an instantiate function returns `Result<T>`, where T is the state of the call site"
        }
        _ => "a function of this stage returns `Result<T>`, where T is state for the run, or ()",
    };
    let error = || Error::new(function.output_span(), message);
    let ReturnType::Type(_, ty) = &function.output else { return Err(error()) };
    let Type::Path(path) = &**ty else { return Err(error()) };
    let last = path.path.segments.last().ok_or_else(error)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(error()) };
    let state = arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    match state.filter(|_| last.ident == "Result").ok_or_else(error)? {
        Type::Tuple(tuple) if tuple.elems.is_empty() => Ok(None),
        state => Ok(Some(state.to_token_stream())),
    }
}
