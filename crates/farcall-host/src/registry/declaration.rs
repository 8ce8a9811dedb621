//! Declarations of ops: signatures, derivatives and rules, as their authors wrote them.
//!
//! Declarations come from the descriptors of libraries, which are untrusted text. Signatures are parsed and
//! checked again. The targets of an op's derivatives are looked up among the ops of the same library and
//! platform.
//!
//! **Invariant.** A [`Declaration`] exists only if it is consistent.

use std::collections::HashMap;

use farcall_ffi::descriptor::LibraryOp;
use farcall_ffi::rules::abi::RuleFn;
use farcall_ffi::samples::abi::SamplesFn;
use farcall_sig::namespace::qualified;
use farcall_sig::nearest::nearest;
use farcall_sig::signature::{
    BatchSummary, Batching, Bindings, CallPart, Inference, Jvp, Mismatch, MismatchKind, OperandType, Part,
    Partition, Size, Vjp,
};
use farcall_sig::{AttrValues, DType, Signature};

use self::by_hand::BatchedCall;
use super::Platform;
use crate::interface::rule;
use crate::interface::samples::{self, SampleCalls};

mod by_hand;

/// Everything that an op's author declared about the op.
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    /// Operands, attributes and results of the op.
    pub signature: Signature,
    /// Reverse derivative of the op.
    pub vjp: Option<VjpTargets>,
    /// Forward derivative of the op.
    pub jvp: Option<JvpTargets>,
    /// Target of the op's transpose. The op is linear in the operands whose cotangents the transpose returns.
    pub transpose: Option<String>,
    /// Names of the operands that are declared as not differentiable.
    pub non_differentiable: Vec<String>,
    /// Ways to transpose the op itself where it is linear, strongest guarantee first.
    pub transposes: Vec<Transposition>,
    /// Non-differentiable operands with respect to which the derivative is zero.
    pub zero_derivative: Vec<String>,
    /// Functions for rules that the signature cannot express.
    rules: Rules,
}

/// Functions of the op's library, which stays loaded, and flags of the op.
#[derive(Clone, Copy, Default, Debug)]
struct Rules {
    shape: Option<RuleFn>,
    batch: Option<RuleFn>,
    never_batched: bool,
    is_generated: bool,
    samples: Option<SamplesFn>,
}

impl Rules {
    fn of(op: &LibraryOp<'_>) -> Rules {
        let (shape, batch, samples) = (op.shape(), op.batch(), op.samples());
        let (never_batched, is_generated) = (op.never_batched(), op.is_generated());
        Rules { shape, batch, never_batched, is_generated, samples }
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        let addresses = |rules: &Rules| {
            [rules.shape, rules.batch, rules.samples].map(|rule| rule.map(|rule| rule as usize))
        };
        let flags = |rules: &Rules| [rules.never_batched, rules.is_generated];
        addresses(self) == addresses(other) && flags(self) == flags(other)
    }
}

/// Targets of a reverse derivative. They belong to the op's library and platform.
#[derive(Clone, PartialEq, Debug)]
pub struct VjpTargets {
    /// Target that returns the op's results followed by the residuals. `None` if the op itself serves as
    /// forward op.
    pub forward: Option<String>,
    /// Target that maps cotangents of results to cotangents of operands.
    pub backward: String,
    /// Mapping of the op's operands, results and residuals to the parameters of the targets.
    pub rule: Vjp,
    forward_op: Option<Box<Declaration>>,
    backward_op: Box<Declaration>,
}

/// Target of a forward derivative. It belongs to the op's library and platform.
#[derive(Clone, PartialEq, Debug)]
pub struct JvpTargets {
    /// Target that maps tangents of operands to tangents of results.
    pub tangent: String,
    /// Mapping of the op's operands, results and tangents to the parameters of the target.
    pub rule: Jvp,
    tangent_op: Box<Declaration>,
}

/// A way to transpose an op with respect to operands in which it is linear.
#[derive(Clone, PartialEq, Debug)]
pub struct Transposition {
    /// The op that maps cotangents of results to cotangents of operands.
    pub targets: VjpTargets,
    /// True if a `#[transpose]` of the op or of its tangent op declares the linear operands. A backward op
    /// declares none, but the op is linear in an operand if the backward op takes neither this operand nor
    /// the op's results.
    pub declared: bool,
}

impl VjpTargets {
    /// Returns the declaration of the forward op, without that op's own derivatives.
    pub fn forward_op(&self) -> Option<&Declaration> {
        self.forward_op.as_deref()
    }

    /// Returns the declaration of the backward op, without that op's own derivatives.
    pub fn backward_op(&self) -> &Declaration {
        &self.backward_op
    }
}

impl JvpTargets {
    /// Returns the declaration of the tangent op, without that op's own derivatives.
    pub fn tangent_op(&self) -> &Declaration {
        &self.tangent_op
    }
}

impl Declaration {
    /// Infers the result types of a call and the values of the names in the signature. The op's shape
    /// function, if any, is called. Attributes must have exactly the declared types
    /// ([`Signature::convert_attrs`]).
    ///
    /// # Errors
    /// A mismatch between the call and the signature, in the names of the signature. The kind of the mismatch
    /// is [`MismatchKind::Open`] if, because sizes are symbolic, a check cannot be decided or the op's shape
    /// function cannot be called (it takes known sizes only).
    pub fn infer<S: Size>(
        &self,
        operands: &[OperandType<'_, S>],
        attrs: &AttrValues,
    ) -> Result<Inference<S>, Mismatch> {
        let Some(shape) = self.rules.shape else { return self.signature.infer(operands, attrs) };
        let mut open = false;
        let inference = self.signature.infer_with(operands, attrs, |attrs, names| {
            let Some(known) = StaticOperands::of(operands) else {
                let (name, verb) = (names.join(" and "), if names.len() == 1 { "is" } else { "are" });
                let message = format!(
                    "the shape of {name} {verb} computed by a function of the op's library, which takes known sizes only"
                );
                open = true;
                return Err(message);
            };
            // SAFETY: `Rules` only holds functions of libraries that stay loaded, and `shape` is the op's
            // shape function.
            let shapes = unsafe { rule::shapes(shape, &known.types(), attrs) }?;
            Ok(shapes.into_iter().map(|dims| dims.into_iter().map(S::of).collect()).collect())
        });
        inference.map_err(|mismatch| match open {
            true => Mismatch { kind: MismatchKind::Open, ..mismatch },
            false => mismatch,
        })
    }

    /// Returns how one call is vmapped. If the op has a batching function and all sizes are known, the
    /// function decides; otherwise the signature does, or the call runs in a loop. `batched` marks the
    /// operands that have the mapped axis, which is their first dimension in `operands`. Attributes must have
    /// exactly the declared types.
    ///
    /// # Errors
    /// If the operands are invalid, the answer of the batching function is invalid, or the op is declared as
    /// never vmapped ([`MismatchKind::Batching`]).
    pub fn batch_rule<S: Size>(
        &self,
        operands: &[OperandType<'_, S>],
        batched: &[bool],
        attrs: &AttrValues,
    ) -> Result<Batching, Mismatch> {
        if operands.len() != batched.len() {
            let message = format!(
                "{} operands, but {} flags that say which are batched",
                operands.len(),
                batched.len()
            );
            return Err(Mismatch { kind: MismatchKind::Count, place: CallPart::Call, message });
        }
        if self.rules.never_batched && batched.contains(&true) {
            let message = "it cannot be vmapped: it is declared with #[batch(none)]".to_owned();
            return Err(Mismatch { kind: MismatchKind::Batching, place: CallPart::Call, message });
        }
        match self.rules.batch {
            Some(function) if batched.contains(&true) => match StaticOperands::of(operands) {
                Some(known) => {
                    BatchedCall { declaration: self, function, operands: &known.types(), batched }.rule(attrs)
                }
                None => {
                    let reason = "its batching function takes known sizes only".to_owned();
                    Ok(Batching::Loop { reason })
                }
            },
            _ => self.signature.batch_rule(batched),
        }
    }

    /// Returns true if the derivative with respect to an operand is declared as zero.
    pub fn has_zero_derivative(&self, operand: usize) -> bool {
        let name = self.signature.operands().get(operand).map(|operand| &operand.name.text);
        name.is_some_and(|name| self.zero_derivative.contains(name))
    }

    /// Returns the operands that the call can be differentiated with respect to: all operands of real and
    /// complex types except those declared as non-differentiable.
    pub fn differentiable<S>(&self, operands: &[OperandType<'_, S>], call: &Inference<S>) -> Vec<usize> {
        let may = |i: &usize| {
            let name = &self.signature.operands()[call.operands[*i]].name.text;
            let dtype = operands[*i].dtype;
            (dtype.is_float() || dtype.is_complex()) && !self.non_differentiable.contains(name)
        };
        (0..operands.len()).filter(may).collect()
    }

    /// Returns the sample calls that the op's author declared, each with its operands and attributes. `None`
    /// without `#[samples]`.
    ///
    /// # Errors
    /// The function's error, or an answer that cannot be read.
    pub fn samples(&self) -> Option<Result<SampleCalls, String>> {
        // SAFETY: the function comes from the descriptor of a library that stays loaded.
        self.rules.samples.map(|function| unsafe { samples::samples(function) })
    }

    /// Summarizes how the op is vmapped.
    pub fn batching(&self) -> BatchSummary {
        match self.rules.batch {
            _ if self.rules.never_batched => BatchSummary::Never,
            Some(_) => BatchSummary::ByHand,
            None => self.signature.batching(),
        }
    }

    /// Returns the op's documentation: [`Signature::markdown`], and how it is differentiated and sharded.
    pub fn markdown(&self, op: &str) -> String {
        let signature = self.signature.markdown_with(op, &self.batching());
        let sharding = self.partition().map(|partition| format!("sharding: {partition}\n"));
        format!("{signature}gradient: {}.\n{}", self.gradient(), sharding.unwrap_or_default())
    }

    /// Formats the derivatives of the op: `vjp f + g, jvp t, transpose u`.
    pub fn gradient(&self) -> String {
        let vjp = self.vjp.as_ref().map(|vjp| match &vjp.forward {
            Some(forward) => format!("vjp {forward} + {}", vjp.backward),
            None => format!("vjp {}", vjp.backward),
        });
        let jvp = self.jvp.as_ref().map(|jvp| format!("jvp {}", jvp.tangent));
        let transpose = self.transpose.as_ref().map(|name| format!("transpose {name}"));
        let mut text = vjp.into_iter().chain(jvp).chain(transpose).collect::<Vec<_>>().join(", ");
        if text.is_empty() {
            text.push_str("none");
        }
        let zero = &self.zero_derivative;
        let none: Vec<&str> =
            self.non_differentiable.iter().filter(|name| !zero.contains(name)).map(String::as_str).collect();
        if !none.is_empty() {
            text.push_str(&format!("; not of {}", none.join(", ")));
        }
        if !zero.is_empty() {
            text.push_str(&format!("; zero in {}", zero.join(", ")));
        }
        text
    }

    /// Moves the targets of the op's derivatives into a namespace.
    pub(super) fn in_namespace(mut self, namespace: &str) -> Declaration {
        let targets = self.vjp.iter_mut().chain(self.transposes.iter_mut().map(|way| &mut way.targets));
        let vjp = targets.flat_map(|vjp| vjp.forward.iter_mut().chain([&mut vjp.backward]));
        let jvp = self.jvp.iter_mut().map(|jvp| &mut jvp.tangent);
        vjp.chain(jvp).chain(&mut self.transpose).for_each(|name| *name = qualified(namespace, name));
        self
    }

    /// Returns how the op may be partitioned, assuming that all optional operands are given and that a
    /// variadic operand is given once.
    pub fn partition(&self) -> Option<Partition> {
        self.signature.partition(self.signature.operands().len()).ok()
    }

    /// Returns true if the op is the forward op of another one, generated from a function that returns
    /// residuals.
    pub fn is_generated(&self) -> bool {
        self.rules.is_generated
    }

    /// Returns the targets of the op's derivatives that exist: forward, backward and tangent op, and
    /// transpose. A linear op may be its own tangent op.
    pub fn derivatives(&self) -> Vec<&str> {
        let vjp = self.vjp.iter().flat_map(|vjp| [vjp.forward.as_deref(), Some(vjp.backward.as_str())]);
        let jvp = self.jvp.iter().map(|jvp| Some(jvp.tangent.as_str()));
        let mut names: Vec<&str> = Vec::new();
        for name in vjp.chain(jvp).chain([self.transpose.as_deref()]).flatten() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the names of the rules that follow from the declaration: `infer`; `batch` unless the op is
    /// never vmapped; `partition` unless tensors may have any number of dimensions; `vjp` and `jvp` where
    /// declared or derived by transposition; and `transpose`.
    pub fn rules(&self) -> Vec<&'static str> {
        let mut rules = vec!["infer"];
        rules.extend((!self.rules.never_batched).then_some("batch"));
        rules.extend(self.partition().map(|_| "partition"));
        rules.extend(self.vjp.as_ref().map(|_| "vjp"));
        rules.extend(self.jvp.as_ref().map(|_| "jvp"));
        rules.extend(self.transpose.as_ref().map(|_| "transpose"));
        rules
    }
}

/// Operands whose sizes are all known. Functions of libraries take only such operands.
struct StaticOperands(Vec<(DType, Vec<i64>)>);

impl StaticOperands {
    /// Returns `None` if a size is symbolic.
    fn of<S: Size>(operands: &[OperandType<'_, S>]) -> Option<StaticOperands> {
        let known =
            |o: &OperandType<'_, S>| Some((o.dtype, o.dims.iter().map(S::known).collect::<Option<_>>()?));
        operands.iter().map(known).collect::<Option<_>>().map(StaticOperands)
    }

    fn types(&self) -> Vec<OperandType<'_>> {
        self.0.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect()
    }
}

/// Returns the declarations of ops that belong together, in order. An op without a declaration has that of the op
/// of the same name for another platform, if there is one. Each error names its op.
pub(super) fn declarations(ops: &[LibraryOp<'_>]) -> Vec<Result<Option<Declaration>, String>> {
    let mut signatures = HashMap::new();
    let mut malformed = HashMap::new();
    for op in ops {
        let key = (op.name(), Platform::from(op.platform()));
        let Some(text) = op.signature() else { continue };
        match text.parse::<Signature>() {
            Ok(signature) => drop(signatures.insert(key, signature)),
            Err(error) => {
                let why = format!("`{}` declares an invalid signature: {}", op.name(), error.render(text));
                malformed.insert(key, why);
            }
        }
    }
    let declare = |op: &LibraryOp<'_>| {
        let key = (op.name(), Platform::from(op.platform()));
        if let Some(why) = malformed.get(&key) {
            return Err(why.clone());
        }
        let Some(signature) = signatures.get(&key) else {
            let derivatives = [op.vjp_forward(), op.vjp_backward(), op.jvp_tangent(), op.transpose()];
            return match derivatives.into_iter().flatten().next() {
                Some(_) => Err(format!("`{}` declares derivatives, but no signature", op.name())),
                None => Ok(None),
            };
        };
        if let (Some(result), None) = (signature.needs_shape_function(), op.shape()) {
            let name = op.name();
            return Err(format!("`{name}` returns `{result}`, but has no shape function"));
        }
        agree(op, signature, ops, &signatures)?;
        let family = Family { platform: key.1, ops, signatures: &signatures };
        let Derivatives { vjp, jvp, transposes } = family.derivatives(op, signature)?;
        Ok(Some(Declaration {
            signature: signature.clone(),
            vjp,
            jvp,
            transpose: op.transpose().map(str::to_owned),
            non_differentiable: op.non_differentiable().map(str::to_owned).collect(),
            transposes,
            zero_derivative: zero_derivative(op)?,
            rules: Rules::of(op),
        }))
    };
    let has_signature =
        |op: &&LibraryOp<'_>| signatures.contains_key(&(op.name(), Platform::from(op.platform())));
    let declared = |op: &LibraryOp<'_>| match declare(op) {
        Ok(None) => {
            let elsewhere = ops.iter().filter(|other| other.name() == op.name()).find(has_signature);
            elsewhere.map_or(Ok(None), declare)
        }
        declared => declared,
    };
    ops.iter().map(declared).collect()
}

/// Checks that the declarations of one op for several platforms are equal. Platforms without a declaration
/// are ignored.
fn agree(
    op: &LibraryOp<'_>,
    signature: &Signature,
    ops: &[LibraryOp<'_>],
    signatures: &HashMap<(&str, Platform), Signature>,
) -> Result<(), String> {
    let name = op.name();
    let platform = |op: &LibraryOp<'_>| Platform::from(op.platform());
    let same_name = ops.iter().filter(|other| other.name() == name);
    let first = same_name.filter_map(|other| Some((other, signatures.get(&(name, platform(other)))?))).next();
    let Some((first, first_signature)) = first else { return Ok(()) };
    let in_signature = first_signature.difference(signature).map(|parts| {
        <[Option<String>; 2]>::from(parts)
            .map(|part| part.map_or("nothing in its place".into(), |p| format!("`{p}`")))
    });
    let beside = || {
        let mut both = declared(first).into_iter().zip(declared(op));
        both.find(|(theirs, own)| theirs != own).map(<[String; 2]>::from)
    };
    match in_signature.or_else(beside) {
        None => Ok(()),
        Some([theirs, own]) => Err(format!(
            "`{name}` is one op, but is declared with {theirs} for {} and with {own} for {}",
            platform(first),
            platform(op)
        )),
    }
}

/// Describes the parts of a declaration other than the signature, for error messages.
fn declared(op: &LibraryOp<'_>) -> [String; 10] {
    let named = |what, name: Option<&str>| {
        name.map_or_else(|| format!("no {what}"), |name| format!("the {what} `{name}`"))
    };
    let given = |what, rule: Option<RuleFn>| format!("{} {what}", if rule.is_some() { "a" } else { "no" });
    let constants: Vec<&str> = op.non_differentiable().collect();
    [
        named("forward op", op.vjp_forward()),
        named("backward op", op.vjp_backward()),
        named("tangent op", op.jvp_tangent()),
        named("transpose", op.transpose()),
        match [op.vjp_bindings(), op.jvp_bindings(), op.transpose_bindings()].join("; ").as_str() {
            "; ; " => "parameters of derivatives by name".into(),
            said => format!("parameters of derivatives by `{said}`"),
        },
        match constants.as_slice() {
            [] => "all operands differentiable".into(),
            constants => format!("`{}` not differentiable", constants.join(", ")),
        },
        match op.zero_derivative().collect::<Vec<_>>().as_slice() {
            [] => "no derivative that is zero".into(),
            zero => format!("derivatives in `{}` that are zero", zero.join(", ")),
        },
        given("shape function", op.shape()),
        given("batching function", op.batch()),
        if op.never_batched() { "calls never vmapped" } else { "calls that may be vmapped" }.into(),
    ]
}

/// Derivatives of an op.
struct Derivatives {
    vjp: Option<VjpTargets>,
    jvp: Option<JvpTargets>,
    /// Ways to transpose the op itself.
    transposes: Vec<Transposition>,
}

/// Returns the operands with respect to which the derivative is zero.
fn zero_derivative(op: &LibraryOp<'_>) -> Result<Vec<String>, String> {
    match op.zero_derivative().find(|zero| op.non_differentiable().all(|other| other != *zero)) {
        None => Ok(op.zero_derivative().map(str::to_owned).collect()),
        Some(zero) => {
            let name = op.name();
            Err(format!(
                "`{name}`: the derivative in `{zero}` is declared as zero, but `{zero}` as differentiable"
            ))
        }
    }
}

/// The ops of one platform, which can be each other's derivatives.
struct Family<'a> {
    platform: Platform,
    ops: &'a [LibraryOp<'a>],
    signatures: &'a HashMap<(&'a str, Platform), Signature>,
}

impl<'a> Family<'a> {
    /// Returns the derivatives that an op declares, or the derivatives that follow from its linear operands.
    fn derivatives(&self, op: &LibraryOp<'a>, signature: &Signature) -> Result<Derivatives, String> {
        let transpose = self.transpose(op, signature)?;
        let jvp = match self.jvp(op, signature)? {
            None => transpose.as_ref().and_then(|transpose| own_tangent(op, signature, transpose)),
            declared => declared,
        };
        let by_tangent = |jvp: &JvpTargets| self.transposed(op, signature, jvp);
        let (vjp, by_tangent) = match self.vjp(op, signature)? {
            None => (jvp.as_ref().map(by_tangent).transpose()?.flatten(), None),
            // The op has its own reverse derivative, so the transpose of its tangent op is optional: errors
            // in it are ignored.
            declared => (declared, jvp.as_ref().and_then(|jvp| by_tangent(jvp).ok().flatten())),
        };
        let declares = op.vjp_backward().is_some();
        let declared = transpose.into_iter().chain(by_tangent);
        let transposes = (declared.map(|targets| Transposition { targets, declared: true }))
            .chain(vjp.clone().map(|targets| Transposition { targets, declared: !declares }))
            .collect();
        Ok(Derivatives { vjp, jvp, transposes })
    }

    fn vjp(&self, op: &LibraryOp<'a>, signature: &Signature) -> Result<Option<VjpTargets>, String> {
        let Some(backward) = op.vjp_backward() else {
            return match op.vjp_forward() {
                Some(_) => Err(format!("`{}` declares a forward op, but no backward op", op.name())),
                None => Ok(None),
            };
        };
        let forward = op.vjp_forward();
        let forward_op = forward.map(|name| self.derivative(op, "forward op", name)).transpose()?;
        let constants: Vec<&str> = op.non_differentiable().collect();
        let backward_op = Box::new(self.derivative(op, "backward op", backward)?);
        let forward_signature = forward_op.as_ref().map(|op| &op.signature);
        let said = bindings(op, op.vjp_bindings())?;
        let rule = Vjp::new(signature, forward_signature, &backward_op.signature, &constants, &said)
            .map_err(|e| does_not_fit(op, e.part, &e.message))?;
        Ok(Some(VjpTargets {
            forward: forward.map(str::to_owned),
            backward: backward.to_owned(),
            rule,
            forward_op: forward_op.map(Box::new),
            backward_op,
        }))
    }

    fn jvp(&self, op: &LibraryOp<'a>, signature: &Signature) -> Result<Option<JvpTargets>, String> {
        let Some(tangent) = op.jvp_tangent() else { return Ok(None) };
        let constants: Vec<&str> = op.non_differentiable().collect();
        let tangent_op = Box::new(self.derivative(op, "tangent op", tangent)?);
        let said = bindings(op, op.jvp_bindings())?;
        let rule = Jvp::new(signature, &tangent_op.signature, &constants, &said)
            .map_err(|e| does_not_fit(op, e.part, &e.message))?;
        Ok(Some(JvpTargets { tangent: tangent.to_owned(), rule, tangent_op }))
    }

    /// Returns the transpose that an op declares, as the reverse derivative with respect to its linear
    /// operands.
    fn transpose(&self, op: &LibraryOp<'a>, signature: &Signature) -> Result<Option<VjpTargets>, String> {
        let Some(name) = op.transpose() else { return Ok(None) };
        let constants: Vec<&str> = op.non_differentiable().collect();
        let backward_op = Box::new(self.derivative(op, "transpose", name)?);
        let said = bindings(op, op.transpose_bindings())?;
        let rule = Vjp::transpose(signature, &backward_op.signature, &constants, &said)
            .map_err(|e| does_not_fit(op, e.part, &e.message))?;
        Ok(Some(VjpTargets { forward: None, backward: name.to_owned(), rule, forward_op: None, backward_op }))
    }

    /// Derives the reverse derivative of an op by transposing its tangent op; `None` if the tangent op has no
    /// transpose.
    fn transposed(
        &self,
        op: &LibraryOp<'a>,
        signature: &Signature,
        jvp: &JvpTargets,
    ) -> Result<Option<VjpTargets>, String> {
        let Some(tangent) = self.op(&jvp.tangent) else { return Ok(None) };
        let tangent_signature = &jvp.tangent_op.signature;
        let Some(transpose) = self.transpose(tangent, tangent_signature)? else { return Ok(None) };
        let rule = (jvp.rule.transposed(signature, tangent_signature, &transpose.rule)).map_err(|e| {
            does_not_fit(tangent, e.part, &format!("as the tangent op of `{}`, {}", op.name(), e.message))
        })?;
        Ok(Some(VjpTargets { rule, ..transpose }))
    }

    fn op(&self, name: &str) -> Option<&'a LibraryOp<'a>> {
        self.ops.iter().find(|o| o.name() == name && Platform::from(o.platform()) == self.platform)
    }

    /// Returns the declaration of an op that is a derivative of another op. The declaration omits the
    /// derivatives of the derivative.
    fn derivative(&self, of: &LibraryOp<'a>, what: &str, name: &'a str) -> Result<Declaration, String> {
        let of = of.name();
        if let Some(signature) = self.signatures.get(&(name, self.platform.clone())) {
            let rules = self.op(name).map(Rules::of).unwrap_or_default();
            return Ok(Declaration {
                signature: signature.clone(),
                vjp: None,
                jvp: None,
                transpose: None,
                non_differentiable: Vec::new(),
                transposes: Vec::new(),
                zero_derivative: Vec::new(),
                rules,
            });
        }
        if self.op(name).is_some() {
            return Err(format!("`{name}`, the {what} of `{of}`, has no signature"));
        }
        let own =
            self.ops.iter().filter(|o| Platform::from(o.platform()) == self.platform).map(LibraryOp::name);
        let hint = match nearest(name, own.filter(|other| *other != of)).as_slice() {
            [] => format!("add it to the list of `library!` or `ops!`, for the platform {}", self.platform),
            near => format!("close names that are: {}", near.join(", ")),
        };
        Err(format!("`{name}`, the {what} of `{of}`, is not listed by the library; {hint}"))
    }
}

/// Returns the forward derivative of an op that is linear in all its differentiable operands: the op itself.
fn own_tangent(op: &LibraryOp<'_>, signature: &Signature, transpose: &VjpTargets) -> Option<JvpTargets> {
    let constants: Vec<&str> = op.non_differentiable().collect();
    let rule = Jvp::linear(signature, &transpose.rule, &constants)?;
    let tangent_op = Box::new(Declaration {
        signature: signature.clone(),
        vjp: None,
        jvp: None,
        transpose: None,
        non_differentiable: Vec::new(),
        transposes: Vec::new(),
        zero_derivative: Vec::new(),
        rules: Rules::of(op),
    });
    Some(JvpTargets { tangent: op.name().to_owned(), rule, tangent_op })
}

/// Parses the bindings that an op declares for the parameters of one of its derivatives.
fn bindings(op: &LibraryOp<'_>, text: &str) -> Result<Bindings, String> {
    text.parse().map_err(|e| format!("`{}`: {e}", op.name()))
}

fn does_not_fit(op: &LibraryOp<'_>, part: Part, message: &str) -> String {
    let (name, what) = match part {
        Part::NonDifferentiable => return format!("`{}`: {message}", op.name()),
        Part::Forward => (op.vjp_forward(), "forward op"),
        Part::Backward => (op.vjp_backward(), "backward op"),
        Part::Tangent => (op.jvp_tangent(), "tangent op"),
        Part::Transpose => (op.transpose(), "transpose"),
    };
    format!("`{}` cannot be the {what} of `{}`: {message}", name.unwrap_or_default(), op.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_ffi::__private::{OpDeclarations as Given, OpParts};
    use farcall_ffi::abi::HandlerBundle;
    use farcall_ffi::descriptor::OpDescriptor;

    fn op(name: &'static str, declaration: Given) -> LibraryOp<'static> {
        op_on(name, "Host", declaration)
    }

    fn op_on(name: &'static str, platform: &'static str, declaration: Given) -> LibraryOp<'static> {
        let bundle =
            HandlerBundle { instantiate: None, prepare: None, initialize: None, execute: None, record: None };
        let (doc, file, params) = ("", "", [].as_slice());
        let parts = OpParts { name, platform, bundle, traits: 0, doc, file, line: 0, params, declaration };
        // SAFETY: the test never calls these ops.
        LibraryOp::of(Box::leak(Box::new(unsafe { OpDescriptor::new(parts) })))
    }

    fn norm(declaration: Given) -> LibraryOp<'static> {
        op("norm", Given { signature: "(x: f32[*, n], at: s32[]) -> (y: f32[*, n])", ..declaration })
    }

    fn bwd(signature: &'static str) -> LibraryOp<'static> {
        op("norm_bwd", Given { signature, ..Given::EMPTY })
    }

    fn mistake(ops: &[LibraryOp<'_>]) -> String {
        declarations(ops).into_iter().find_map(Result::err).unwrap_or_default()
    }

    #[test]
    fn an_op_and_its_derivative() {
        let ops = [
            norm(Given { vjp_backward: "norm_bwd", ..Given::EMPTY }),
            bwd("(x: f32[*, n], dy: f32[*, n]) -> (dx: f32[*, n])"),
        ];
        let declared = declarations(&ops).remove(0).unwrap().unwrap();
        assert_eq!(declared.rules(), ["infer", "batch", "partition", "vjp"]);
        assert_eq!(declared.vjp.unwrap().rule.cotangents, [Some(0), None]);
    }

    #[test]
    fn linear_ops_are_transposed() {
        let ops = [
            norm(Given { jvp_tangent: "t", ..Given::EMPTY }),
            op(
                "t",
                Given {
                    signature: "(x: f32[*, n], dx: f32[*, n]) -> (dy: f32[*, n])",
                    transpose: "norm_bwd",
                    ..Given::EMPTY
                },
            ),
            bwd("(dy: f32[*, n], x: f32[*, n]) -> (dx: f32[*, n])"),
            op(
                "flip",
                Given {
                    signature: "(x: f32[*, n]) -> (y: f32[*, n])",
                    transpose: "flip",
                    transpose_bindings: "cotangent(y) = x, cotangent(x) = y",
                    ..Given::EMPTY
                },
            ),
        ];
        let all: Vec<Declaration> = declarations(&ops).into_iter().map(|d| d.unwrap().unwrap()).collect();
        let vjp = all[0].vjp.as_ref().unwrap();
        assert_eq!((vjp.backward.as_str(), &vjp.rule.cotangents[..]), ("norm_bwd", &[Some(0), None][..]));
        assert_eq!((all[1].vjp.as_ref(), all[1].jvp.as_ref()), (None, None), "`t` is not linear in `x`");
        assert_eq!(all[1].rules(), ["infer", "batch", "partition", "transpose"]);
        assert_eq!(all[3].rules(), ["infer", "batch", "partition", "vjp", "jvp", "transpose"]);
        assert_eq!(all[3].derivatives(), ["flip"], "`flip` is its own tangent op and transpose");
    }

    #[test]
    fn platforms_agree() {
        let on = |platform: &'static str, signature: &'static str, vjp_backward: &'static str| {
            let declaration = Given { signature, vjp_backward, ..Given::EMPTY };
            op_on("norm", platform, declaration)
        };
        let bwd = |platform| {
            let signature = "(dy: f32[*, n]) -> (dx: f32[*, n])";
            op_on("bwd", platform, Given { signature, ..Given::EMPTY })
        };
        const NORM: &str = "(x: f32[*, n], k: i64 = 1) -> (y: f32[*, n])";
        let pair = |host: [&'static str; 2], cuda: [&'static str; 2]| {
            mistake(&[on("Host", host[0], host[1]), on("CUDA", cuda[0], cuda[1]), bwd("Host"), bwd("CUDA")])
        };
        expect_test::expect![[r#"


            `norm` is one op, but is declared with `x: f32[*, n]` for Host and with `x: f32[*, 3]` for CUDA
            `norm` is one op, but is declared with `k: i64 = 1` for Host and with nothing in its place for CUDA
            `norm` is one op, but is declared with the backward op `bwd` for Host and with no backward op for CUDA
            `bwd`, the backward op of `norm`, is not listed by the library; add it to the list of `library!` or `ops!`, for the platform CUDA"#]].assert_eq(
            &[
                pair([NORM, "bwd"], [NORM, "bwd"]),
                pair([NORM, ""], ["", ""]),
                pair([NORM, ""], ["(x: f32[*, 3], k: i64 = 1) -> (y: f32[*, 3])", ""]),
                pair([NORM, ""], ["(x: f32[*, n]) -> (y: f32[*, n])", ""]),
                pair([NORM, "bwd"], [NORM, ""]),
                mistake(&[on("Host", NORM, "bwd"), on("CUDA", NORM, "bwd"), bwd("Host")]),
            ]
            .join("\n"),
        );
    }

    #[test]
    fn functions_for_several_platforms_share_a_declaration() {
        let ops = [
            op_on("norm", "CUDA", Given::EMPTY),
            norm(Given { vjp_backward: "norm_bwd", ..Given::EMPTY }),
            bwd("(x: f32[*, n], dy: f32[*, n]) -> (dx: f32[*, n])"),
            op_on("other", "CUDA", Given::EMPTY),
        ];
        let declared: Vec<_> = declarations(&ops).into_iter().map(Result::unwrap).collect();
        assert_eq!(declared[0], declared[1]);
        assert_eq!(declared[0].as_ref().unwrap().derivatives(), ["norm_bwd"]);
        assert_eq!(declared[3], None);
    }

    #[test]
    fn mismatches_are_explained() {
        let with = |vjp_backward| norm(Given { vjp_backward, ..Given::EMPTY });
        expect_test::expect![[r#"
            `norm` declares an invalid signature: the types that `T` stands for are not declared
              | (x: T[*]) -> ()
              |     ^
              = add `where T: f32 | f64`, or `T: any`
            `norm_bwd`, the backward op of `norm`, is not listed by the library; add it to the list of `library!` or `ops!`, for the platform Host
            `norm_bvd`, the backward op of `norm`, is not listed by the library; close names that are: norm_bwd
            `norm_bwd`, the backward op of `norm`, has no signature
            `norm_bwd` cannot be the backward op of `norm`: the backward op returns no cotangent for `x`: add a result `dx`, or declare `x` as not differentiable
            `norm` declares derivatives, but no signature
            `norm` declares derivatives, but no signature
            `t`, the transpose of `norm`, is not listed by the library; add it to the list of `library!` or `ops!`, for the platform Host
            `norm`: `dy` is not a binding such as `tangent(x) = tx`
            `norm_bwd` cannot be the transpose of `norm`: `dy` is not an operand or a result of the op; did you mean `y`?
            `norm_bwd` cannot be the transpose of `t`: as the tangent op of `norm`, a tangent op is linear in all tangents, but its transpose returns no cotangent for `dx`, the tangent of `x`"#]]
        .assert_eq(
            &[
                mistake(&[op("norm", Given { signature: "(x: T[*]) -> ()", ..Given::EMPTY })]),
                mistake(&[with("norm_bwd")]),
                mistake(&[with("norm_bvd"), bwd("(dy: f32[*, n]) -> (dx: f32[*, n])")]),
                mistake(&[with("norm_bwd"), op("norm_bwd", Given::EMPTY)]),
                mistake(&[with("norm_bwd"), bwd("(dy: f32[*, n]) -> ()")]),
                mistake(&[op("norm", Given { jvp_tangent: "t", ..Given::EMPTY })]),
                mistake(&[op("norm", Given { transpose: "t", ..Given::EMPTY })]),
                mistake(&[norm(Given { transpose: "t", ..Given::EMPTY })]),
                mistake(&[norm(Given { vjp_backward: "norm_bwd", vjp_bindings: "dy", ..Given::EMPTY }), bwd("(dy: f32[*, n]) -> (dx: f32[*, n])")]),
                mistake(&[norm(Given { transpose: "norm_bwd", ..Given::EMPTY }), bwd("(dy: f32[*, n]) -> (dx: f32[*, n])")]),
                mistake(&[
                    norm(Given { jvp_tangent: "t", ..Given::EMPTY }),
                    op("t", Given { signature: "(x: f32[*, n], dx: f32[*, n]) -> (dy: f32[*, n])", transpose: "norm_bwd", ..Given::EMPTY }),
                    bwd("(dx: f32[*, n], dy: f32[*, n]) -> (x: f32[*, n])"),
                ]),
            ]
            .join("\n"),
        );
    }
}
