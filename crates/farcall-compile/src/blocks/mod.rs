//! Asks the registry's lowerings how to replace the blocks (composites) of a program, and checks their
//! answers.
//!
//! A call is accepted if its target is registered for the platform and if the call matches the target's
//! signature. (The second condition only applies to targets with a signature.) Otherwise the lowering counts
//! as having skipped the block. An answer that is invalid regardless of the target is an error at the block's
//! location.
//!
//! A block may stand for a custom call ([`normalize::custom_call`]). A registered target of the call that
//! accepts it is then an answer, too: the first of its rank.

use std::collections::HashMap;

use farcall_ffi::lowering::{Lowered, TargetCall};
use farcall_ir::middle::{CompositeCall, Lower};
use farcall_ir::module::InstId;
use farcall_ir::op::{CallConfig, Composite, CustomCall};
use farcall_ir::{Diagnostic, Inst, Source, Type, normalize};
use farcall_sig::namespace::qualified;
use farcall_sig::nearest::nearest;

use crate::options::Options;
use call::Refused;
use farcall_host::registry::{Rank, Registered, Registry, Target};
use farcall_plan::{BlockChoice, BlockDecision, Skipped};
use question::Question;

mod call;
mod question;

/// The decisions about the blocks so far.
pub(super) struct Blocks<'a> {
    source: &'a Source,
    registry: &'a Registry,
    options: &'a Options<'a>,
    /// Decisions by function name and instruction number. A block in a function with many calls is decided
    /// only once.
    known: HashMap<(String, InstId), Option<CompositeCall>>,
    /// One decision for each block, in the order of the program.
    pub(super) decisions: Vec<BlockDecision>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(source: &'a Source, registry: &'a Registry, options: &'a Options<'a>) -> Blocks<'a> {
        Blocks { source, registry, options, known: HashMap::new(), decisions: Vec::new() }
    }
}

impl Lower for Blocks<'_> {
    fn lower(&mut self, inst: Inst<'_>, block: &Composite) -> Result<Option<CompositeCall>, Diagnostic> {
        let key = (inst.func().name.clone(), inst.id());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let call = self.ask(inst, block, types(inst))?;
        self.known.insert(key, call.clone());
        Ok(call)
    }
}

/// Returns the types of an instruction's operands and results.
fn types(inst: Inst<'_>) -> (Vec<Type>, Vec<Type>) {
    let types = |ids: &[_]| ids.iter().map(|v| inst.func().ty(*v).clone()).collect();
    (types(inst.operands()), types(inst.results()))
}

impl Blocks<'_> {
    /// Decides about an instruction as a block with these types of operands and results, and records the
    /// decision.
    ///
    /// # Errors
    /// If a lowering fails, or returns an invalid call.
    pub(super) fn ask(
        &mut self,
        inst: Inst<'_>,
        block: &Composite,
        (operands, results): (Vec<Type>, Vec<Type>),
    ) -> Result<Option<CompositeCall>, Diagnostic> {
        let Decision { skipped, choice, call } =
            self.decide(block, &operands, &results).map_err(|message| self.error(&message, inst))?;
        self.decisions.push(BlockDecision {
            tag: block.name.clone(),
            version: block.version,
            place: self.place(inst).into(),
            span: Some(inst.span()),
            operands,
            results,
            skipped,
            choice,
        });
        Ok(call)
    }

    /// Records that no lowering is asked about an instruction.
    pub(super) fn keep(&mut self, tag: &str, inst: Inst<'_>, reason: &str) {
        let (operands, results) = types(inst);
        self.decisions.push(BlockDecision {
            tag: tag.to_owned(),
            version: 0,
            place: self.place(inst).into(),
            span: Some(inst.span()),
            operands,
            results,
            skipped: Vec::new(),
            choice: BlockChoice::DefaultBody { reason: reason.to_owned() },
        });
    }
}

/// The decision about one block.
struct Decision {
    skipped: Vec<Skipped>,
    choice: BlockChoice,
    call: Option<CompositeCall>,
}

impl Decision {
    fn default_body(skipped: Vec<Skipped>, reason: &str) -> Decision {
        let reason = reason.to_owned();
        Decision { skipped, choice: BlockChoice::DefaultBody { reason }, call: None }
    }
}

impl Blocks<'_> {
    /// Returns the location of a block.
    fn place(&self, inst: Inst<'_>) -> String {
        let place = inst.place(self.source);
        if !place.is_empty() {
            return place;
        }
        format!("@{}, instruction {}", inst.func().name, inst.id().index())
    }

    /// Returns the error for a block. Further lines of the message, for example of a traceback, become notes.
    fn error(&self, message: &str, inst: Inst<'_>) -> Diagnostic {
        let mut lines = message.lines();
        let mut error = Diagnostic::new("lowering", inst.span(), lines.next().unwrap_or_default());
        if self.source.is_none() {
            error = error.note(format!("the block is at {}", self.place(inst)));
        }
        lines.fold(error, Diagnostic::note)
    }

    /// Asks the lowerings that are registered for the block's tag, in order, until one answers with a call.
    fn decide(&self, block: &Composite, operands: &[Type], results: &[Type]) -> Result<Decision, String> {
        let lowerings = self.registry.lowerings(&block.name);
        let original = normalize::custom_call(block);
        if lowerings.is_empty() && original.is_none() {
            let tags = self.registry.tags();
            let near = nearest(&block.name, tags.iter().map(String::as_str)).join(" or ");
            let near = if near.is_empty() { near } else { format!("; did you mean {near}?") };
            return Ok(Decision::default_body(
                Vec::new(),
                &format!("no lowering is registered for the tag{near}"),
            ));
        }
        let question = match Question::new(block, operands, results, self.options) {
            Ok(question) => question,
            Err(reason) => return Ok(Decision::default_body(Vec::new(), &reason)),
        };
        let (mut own, reason) = match original.map(|call| self.own_target(call, &question)) {
            Some(Ok(answer)) => (Some(answer), String::new()),
            Some(Err(reason)) => (None, reason),
            None => (None, "every lowering for the tag skips it".to_owned()),
        };
        let mut skipped = Vec::new();
        for lowering in &lowerings {
            if let Some((_, call, choice)) = own.take_if(|(rank, ..)| *rank <= lowering.rank) {
                return Ok(Decision { skipped, choice, call: Some(call) });
            }
            let (rank, origin) = (lowering.rank, lowering.origin.to_string());
            match self.answer(lowering, &question) {
                Ok((call, choice)) => {
                    return Ok(Decision { skipped, choice, call: Some(call) });
                }
                Err(Refused::Skip(reason)) => skipped.push(Skipped { rank, origin, reason }),
                Err(Refused::Wrong(what)) => {
                    return Err(format!("the {rank} lowering of block {} by {origin}: {what}", block.name));
                }
            }
        }
        Ok(match own {
            Some((_, call, choice)) => Decision { skipped, choice, call: Some(call) },
            None => Decision::default_body(skipped, &reason),
        })
    }

    /// Returns the call of a registered target that replaces a block, which stands for the custom call, and
    /// the rank of the target.
    ///
    /// # Errors
    /// The reason why no target is called.
    fn own_target(
        &self,
        call: CustomCall,
        question: &Question<'_>,
    ) -> Result<(Rank, CompositeCall, BlockChoice), String> {
        let platform = self.options.platform;
        let name = call.target.clone();
        // Only a target that accepts the call as written understands its configuration.
        let as_written = match call.config {
            CallConfig::Absent => None,
            CallConfig::Text(_) | CallConfig::Dict(_) => {
                call::accepted(call, question, self.registry, platform).ok()
            }
        };
        let (call, target) = match as_written {
            Some(found) => found,
            None => call::checked(TargetCall::new(name), question, self.registry, platform)
                .map_err(|(Refused::Skip(reason) | Refused::Wrong(reason))| reason)?,
        };
        let rank = Rank::of(target.origin());
        let choice = chosen(rank, target.origin().to_string(), &call, &target);
        Ok((rank, call, choice))
    }

    /// Qualifies the call's target with the namespace of the lowering's library, since the library's author
    /// does not know the namespace.
    fn in_namespace(&self, mut made: TargetCall, lowering: &Registered) -> TargetCall {
        if let Some(namespace) = lowering.origin.namespace.as_deref() {
            let name = qualified(namespace, &made.target);
            let other = self.registry.lookup(&made.target, self.options.platform);
            // An op of the same name in another library must not be called instead.
            let is_others = other.is_some_and(|other| {
                other.origin().file.is_some() && other.origin().file != lowering.origin.file
            });
            if is_others || self.registry.lookup(&name, self.options.platform).is_some() {
                made.target = name;
            }
        }
        made
    }

    /// Asks one lowering about a block.
    fn answer(
        &self,
        lowering: &Registered,
        question: &Question<'_>,
    ) -> Result<(CompositeCall, BlockChoice), Refused> {
        let platform = self.options.platform;
        if let Some(own) = lowering.platform.as_ref().filter(|own| *own != platform) {
            return Err(Refused::Skip(format!("it is for {own}, the program is compiled for {platform}")));
        }
        let lowered = lowering.lowering.lower(&question.block());
        let made = match lowered.map_err(|e| Refused::Wrong(e.message().to_owned()))? {
            Lowered::Skip(reason) => return Err(Refused::Skip(reason)),
            Lowered::Call(made) => self.in_namespace(made, lowering),
        };
        let (call, target) = call::checked(made, question, self.registry, platform)?;
        let choice = chosen(lowering.rank, lowering.origin.to_string(), &call, &target);
        Ok((call, choice))
    }
}

fn chosen(rank: Rank, origin: String, call: &CompositeCall, target: &Target) -> BlockChoice {
    BlockChoice::Call {
        rank,
        origin,
        target: call.call.target.clone(),
        library: target.origin().to_string(),
        api_version: target.api_version(),
    }
}
