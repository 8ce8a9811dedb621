//! Lowerings, which decide how the blocks of a program are compiled.
//!
//! A lowering belongs to a tag and has a [`Rank`]. For a block, the lowerings of its tag are called one after
//! another, those of the application first, until one of them returns a call. The answer of each lowering is
//! recorded in the plan ([`BlockDecision`](farcall_plan::BlockDecision)). If all lowerings skip the block,
//! its default body is compiled.
//!
//! **Invariants.** All lowerings of one tag, platform and rank have the same origin. Several handlers of one
//! library (or list of linked ops) may lower the same tag; they are called in the order in which the library
//! lists them.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::{Arc, PoisonError};

use farcall_ffi::lowering::abi::LowerFn;
use farcall_ffi::lowering::{Block, Lowered, TargetCall};
use farcall_ffi::{Error, Result};
use farcall_sig::AttrValues;

use super::{How, Platform, RegisterError, Registry, Target, TargetOrigin};
use crate::attributes::value;
use crate::interface;

/// Tag of products of matrices (`dot_general`) for lowerings. The operands and the result are matrices, with
/// any number of leading batch dimensions. The options `transpose_a` and `transpose_b`, `"no"` or
/// `"transpose"`, say which operands are transposed in memory.
pub const PRODUCT_TAG: &str = "stablehlo.dot_general";

/// A lowering: it decides about the blocks of a tag. Functions that take a [`Block`] implement this trait.
///
/// A lowering may be called from any thread while a program is compiled. Its answer must depend on the block
/// alone. An error ends the compilation. A panic in an application's own lowering propagates to the caller of
/// the compiler.
pub trait Lowering: Send + Sync {
    /// Decides about a block: a custom call replaces it, or the lowering skips it and gives a reason.
    ///
    /// # Errors
    /// The reason why the program cannot be compiled.
    fn lower(&self, block: &Block<'_>) -> Result<Lowered>;
}

impl<F: Fn(&Block<'_>) -> Result<Lowered> + Send + Sync> Lowering for F {
    fn lower(&self, block: &Block<'_>) -> Result<Lowered> {
        self(block)
    }
}

/// Order in which the lowerings of a tag are called. Two lowerings of the same tag and rank are an error,
/// unless they belong to one library.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rank {
    /// A lowering of the application, called before all others.
    Application,
    /// A lowering of a loaded or linked library.
    Library,
    /// A lowering of the engine's own libraries.
    BuiltIn,
}

impl Rank {
    /// All ranks, in the order in which their lowerings are called.
    pub const VARIANTS: [Rank; 3] = [Rank::Application, Rank::Library, Rank::BuiltIn];

    /// Returns the rank of a target of this origin.
    pub fn of(origin: &TargetOrigin) -> Rank {
        match origin.how {
            How::BuiltIn => Rank::BuiltIn,
            How::Program => Rank::Application,
            How::Descriptor | How::LoweringTable | How::SelfRegistered | How::Symbols(_) => Rank::Library,
        }
    }

    /// Returns `application`, `library` or `built-in`.
    pub const fn name(self) -> &'static str {
        match self {
            Rank::Application => "application",
            Rank::Library => "library",
            Rank::BuiltIn => "built-in",
        }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A lowering in a registry.
#[derive(Clone)]
pub struct Registered {
    /// Rank of the lowering.
    pub rank: Rank,
    /// Source of the lowering.
    pub origin: TargetOrigin,
    /// Platform of the handler that the lowering belongs to; `None` if the lowering applies to all platforms.
    pub platform: Option<Platform>,
    /// The lowering.
    pub lowering: Arc<dyn Lowering>,
    identity: Identity,
}

/// Identity of a lowering, to recognize the same lowering of a library when it is loaded twice.
#[derive(Clone, PartialEq, Debug)]
enum Identity {
    /// Not equal to any lowering.
    Unique,
    /// Address of a library's function.
    Function(usize),
    /// Name of the handler.
    Signature(Arc<str>),
}

impl Identity {
    fn is(&self, other: &Identity) -> bool {
        *self != Identity::Unique && self == other
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lowering of {}", self.rank, self.origin)
    }
}

/// A lowering that a library lists.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) tag: Arc<str>,
    pub(super) platform: Option<Platform>,
    pub(super) origin: TargetOrigin,
    pub(super) how: ListedHow,
}

/// Implementation of a library's lowering.
#[derive(Clone, Debug)]
pub(super) enum ListedHow {
    /// A function of the library, which stays loaded.
    Function(LowerFn),
    /// The signature of a handler.
    Signature(Box<Target>),
}

impl Listed {
    /// Moves the lowering into the namespace of its library.
    pub(super) fn in_namespace(self, namespace: Option<&str>) -> Listed {
        let how = match self.how {
            ListedHow::Signature(target) => ListedHow::Signature(Box::new(target.in_namespace(namespace))),
            function @ ListedHow::Function(_) => function,
        };
        Listed { origin: self.origin.in_namespace(namespace), how, ..self }
    }

    pub(super) fn registered(self, rank: Rank) -> Registered {
        let Listed { platform, origin, how, .. } = self;
        let (lowering, identity): (Arc<dyn Lowering>, Identity) = match how {
            ListedHow::Function(function) => {
                (Arc::new(Foreign(function)), Identity::Function(function as usize))
            }
            ListedHow::Signature(target) => {
                let name = target.shared_name();
                (Arc::new(BySignature(target)), Identity::Signature(name))
            }
        };
        Registered { rank, origin, platform, lowering, identity }
    }
}

impl Registry {
    /// Adds a lowering for the blocks of a tag.
    ///
    /// ```
    /// use farcall::ffi::{Block, DType, Lowered, TargetCall};
    /// use farcall::registry::{Rank, Registry};
    ///
    /// let registry = Registry::new();
    /// registry.register_lowering("my.norm", Rank::Application, |block: &Block<'_>| {
    ///     let [x] = block.operands() else { return Ok(Lowered::skip("it takes one operand")) };
    ///     Ok(match x.dtype {
    ///         DType::F32 => TargetCall::new("norm_f32").attr("eps", block.option::<f64>("eps")?).into(),
    ///         other => Lowered::skip(format!("there is no handler for {other}")),
    ///     })
    /// })?;
    /// # Ok::<(), farcall::registry::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// If the tag already has a lowering of this rank.
    pub fn register_lowering(
        &self,
        tag: &str,
        rank: Rank,
        lowering: impl Lowering + 'static,
    ) -> std::result::Result<(), RegisterError> {
        let new = Registered::by_program(rank, lowering);
        let mut lowerings = self.lowerings.write().unwrap_or_else(PoisonError::into_inner);
        let known = lowerings.entry(tag.into()).or_default();
        if let Some(existing) = known.iter().find(|existing| existing.contends(&new)) {
            return Err(new.conflict(tag, existing));
        }
        known.push(new);
        known.sort_by_key(|lowering| lowering.rank);
        Ok(())
    }

    /// Adds a lowering, replacing the tag's lowerings of the same rank. Returns true if there were any.
    pub fn replace_lowering(&self, tag: &str, rank: Rank, lowering: impl Lowering + 'static) -> bool {
        let mut lowerings = self.lowerings.write().unwrap_or_else(PoisonError::into_inner);
        let known = lowerings.entry(tag.into()).or_default();
        let (replaced, kept): (Vec<_>, Vec<_>) =
            mem::take(known).into_iter().partition(|existing| existing.rank == rank);
        *known = kept;
        known.push(Registered::by_program(rank, lowering));
        known.sort_by_key(|lowering| lowering.rank);
        // Dropping an application's lowering may access the registry, so the lock is released first.
        drop(lowerings);
        !replaced.is_empty()
    }

    /// Returns the tags that have registered lowerings, sorted.
    pub fn tags(&self) -> Vec<String> {
        let lowerings = self.lowerings.read().unwrap_or_else(PoisonError::into_inner);
        lowerings.keys().map(|tag| tag.to_string()).collect()
    }

    /// Returns true if lowerings may replace products of matrices ([`PRODUCT_TAG`]): if one is registered, or
    /// if the process uses a BLAS library.
    pub fn lowers_products(&self) -> bool {
        let registered = {
            let lowerings = self.lowerings.read().unwrap_or_else(PoisonError::into_inner);
            lowerings.get(PRODUCT_TAG).is_some_and(|lowerings| !lowerings.is_empty())
        };
        registered || self.built_ins_lower_products()
    }

    /// Returns the lowerings for a tag, built-in ones included, in the order in which they are called.
    pub fn lowerings(&self, tag: &str) -> Vec<Registered> {
        let mut lowerings = {
            let registered = self.lowerings.read().unwrap_or_else(PoisonError::into_inner);
            registered.get(tag).cloned().unwrap_or_default()
        };
        lowerings.extend_from_slice(self.built_in_lowerings(tag));
        lowerings
    }
}

/// New lowerings with their tags.
pub(super) type Added = Vec<(Arc<str>, Registered)>;

/// Returns the lowerings of one library that are not yet registered, without adding them. Lowerings of
/// origins for which `stays` is false are ignored, because they are about to be removed. A lowering that
/// contends with a known one is an error, unless `replace` lets it take the place of the known one.
pub(super) fn added(
    known: &BTreeMap<Arc<str>, Vec<Registered>>,
    listed: Vec<Listed>,
    (rank, replace): (Rank, bool),
    stays: impl Fn(&TargetOrigin) -> bool,
    errors: &mut Vec<RegisterError>,
) -> Added {
    let mut added = Added::new();
    for one in listed {
        let tag = Arc::clone(&one.tag);
        let new = one.registered(rank);
        let known = known.get(&tag).map(Vec::as_slice).unwrap_or_default();
        let mut known = known.iter().filter(|existing| stays(&existing.origin));
        if known.clone().any(|existing| existing.is_again(&new)) {
            continue;
        }
        match known.find(|existing| !replace && existing.contends(&new)) {
            Some(existing) => errors.push(new.conflict(&tag, existing)),
            None => added.push((tag, new)),
        }
    }
    added
}

/// Adds lowerings after others of the same rank, and removes contending lowerings of other origins.
pub(super) fn add(known: &mut BTreeMap<Arc<str>, Vec<Registered>>, added: Added) {
    for (tag, new) in added {
        let known = known.entry(tag).or_default();
        known.retain(|existing| existing.origin == new.origin || !existing.contends(&new));
        known.push(new);
        known.sort_by_key(|lowering| lowering.rank);
    }
}

impl Registered {
    fn by_program(rank: Rank, lowering: impl Lowering + 'static) -> Registered {
        let (lowering, origin) = (Arc::new(lowering), TargetOrigin::program());
        Registered { rank, origin, platform: None, lowering, identity: Identity::Unique }
    }

    /// Returns true if both lowerings apply to the same programs and neither has precedence.
    fn contends(&self, new: &Registered) -> bool {
        let platforms = self.platform.is_none() || new.platform.is_none() || self.platform == new.platform;
        // Libraries in different namespaces coexist. Their lowerings are called in the order of loading.
        self.rank == new.rank && platforms && self.origin.namespace == new.origin.namespace
    }

    /// Returns true if both are the same lowering of the same library.
    fn is_again(&self, new: &Registered) -> bool {
        (self.rank, &self.platform, &self.origin) == (new.rank, &new.platform, &new.origin)
            && self.identity.is(&new.identity)
    }

    fn conflict(&self, tag: &str, existing: &Registered) -> RegisterError {
        RegisterError::Lowering {
            tag: tag.to_owned(),
            rank: self.rank,
            existing: Box::new(existing.origin.clone()),
            new: Box::new(self.origin.clone()),
        }
    }
}

/// A lowering that is a function of a library.
struct Foreign(LowerFn);

impl Lowering for Foreign {
    fn lower(&self, block: &Block<'_>) -> Result<Lowered> {
        // SAFETY: `Foreign` only holds lowerings of libraries that stay loaded.
        unsafe { interface::lowering::ask(self.0, block) }.map_err(Error::internal)
    }
}

/// A lowering that calls a handler if the block fits its signature. Operands are matched by position, and
/// options become the attributes of the same names.
struct BySignature(Box<Target>);

impl Lowering for BySignature {
    fn lower(&self, block: &Block<'_>) -> Result<Lowered> {
        Ok(match self.call(block) {
            Ok(call) => call.into(),
            Err(why) => Lowered::Skip(format!("{}: {why}", self.0.name())),
        })
    }
}

impl BySignature {
    fn call(&self, block: &Block<'_>) -> std::result::Result<TargetCall, String> {
        let declaration = self.0.declaration().ok_or("it has no signature")?;
        let mut given = AttrValues::new();
        for (name, text) in block.options().texts() {
            let value = text.parse().ok().as_ref().and_then(value).ok_or_else(|| {
                format!("option {name} is neither a number, a string, an array of numbers nor a dictionary")
            })?;
            given.insert(*name, value);
        }
        let attrs = declaration.signature.convert_attrs(&given).map_err(|e| e.message)?;
        let inference = declaration.infer(block.operands(), &attrs).map_err(|e| e.message)?;
        let mut call = TargetCall::new(self.0.name());
        for (name, value) in inference.attrs.iter() {
            call = call.attr(name, value.clone());
        }
        let row_major = |order: &[usize]| order.iter().rev().copied().eq(0..order.len());
        for (i, order) in inference.operand_layouts.iter().enumerate().filter(|(_, order)| !row_major(order))
        {
            call = call.operand_layout(i, order.iter().copied());
        }
        for (i, result) in inference.results.iter().enumerate() {
            if !row_major(&result.minor_to_major) {
                call = call.result_layout(i, result.minor_to_major.iter().copied());
            }
            if let Some(operand) = result.aliases {
                call = call.alias(i, operand);
            }
        }
        Ok(call)
    }
}
