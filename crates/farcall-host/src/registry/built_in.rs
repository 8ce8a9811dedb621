//! The ops that the engine includes, as targets and lowerings.
//!
//! A registry finds a built-in op if it has no target of the same name itself, so handlers of the application
//! and of loaded libraries take precedence. The names are known from the start. A built-in library's targets
//! are made when a program first needs a target of this library.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};

use super::lowering::Listed;
use super::ops::from_ops;
use super::{ApiKind, How, Key, Platform, Rank, Registered, Target, TargetOrigin, key};

/// The ops of each library that the engine includes.
const LIBRARIES: &[&[&OpDescriptor]] = &[
    #[cfg(feature = "linalg")]
    farcall_linalg::OPS,
    #[cfg(feature = "linalg")]
    farcall_linalg::lapack::OPS,
    #[cfg(feature = "linalg")]
    farcall_linalg::blas::OPS,
    #[cfg(feature = "linalg")]
    farcall_sparse::OPS,
];

/// Names of the built-in ops, and tags of the blocks that they lower.
static NAMES: LazyLock<Names> = LazyLock::new(Names::new);

/// Targets and lowerings of each library in [`LIBRARIES`].
static BUILT_INS: [OnceLock<BuiltIns>; LIBRARIES.len()] = [const { OnceLock::new() }; LIBRARIES.len()];

/// The library of each target and of each tag, as an index into [`LIBRARIES`].
struct Names {
    targets: BTreeMap<&'static str, usize>,
    tags: BTreeMap<&'static str, usize>,
}

impl Names {
    fn new() -> Names {
        let (mut targets, mut tags) = (BTreeMap::new(), BTreeMap::new());
        for (library, ops) in LIBRARIES.iter().enumerate() {
            for op in ops.iter().map(|op| LibraryOp::of(op)) {
                targets.insert(op.name(), library);
                tags.extend(op.lowers().map(|tag| (tag, library)));
            }
        }
        Names { targets, tags }
    }
}

struct BuiltIns {
    targets: BTreeMap<Key, Arc<Target>>,
    lowerings: BTreeMap<Arc<str>, Vec<Registered>>,
}

impl BuiltIns {
    fn new(library: &[&'static OpDescriptor]) -> BuiltIns {
        let origin = TargetOrigin { how: How::BuiltIn, ..TargetOrigin::program() };
        let (mut targets, mut lowerings) = (BTreeMap::new(), BTreeMap::<_, Vec<Registered>>::new());
        let ops: Vec<LibraryOp<'_>> = library.iter().map(|op| LibraryOp::of(op)).collect();
        // The ops are part of the engine, and a test registers every op.
        for (target, lowering) in from_ops(&ops, &origin).into_iter().flatten() {
            let target = Arc::new(target);
            targets.insert(key(&target), target);
            if let Some(Listed { tag, .. }) = &lowering {
                let tag = Arc::clone(tag);
                lowerings.entry(tag).or_default().extend(lowering.map(|l| l.registered(Rank::BuiltIn)));
            }
        }
        BuiltIns { targets, lowerings }
    }

    fn of(library: usize) -> &'static BuiltIns {
        BUILT_INS[library].get_or_init(|| BuiltIns::new(LIBRARIES[library]))
    }
}

/// Returns true if a built-in target has this name.
pub(super) fn contains(name: &str) -> bool {
    NAMES.targets.contains_key(name)
}

/// Returns the built-in target of this name, platform and API.
pub(super) fn target(name: &str, platform: &Platform, kind: ApiKind) -> Option<Arc<Target>> {
    let library = *NAMES.targets.get(name)?;
    BuiltIns::of(library).targets.get(&(name.into(), platform.clone(), kind)).cloned()
}

/// Returns true if built-in lowerings may replace products of matrices in this process.
#[cfg(feature = "linalg")]
pub(super) use farcall_linalg::blas::lowers_products;

/// Returns false: no built-in op computes products of matrices.
#[cfg(not(feature = "linalg"))]
pub(super) fn lowers_products() -> bool {
    false
}

/// Returns all built-in targets, sorted by name.
pub(super) fn targets() -> Vec<Arc<Target>> {
    let mut targets: Vec<_> =
        (0..LIBRARIES.len()).flat_map(|library| BuiltIns::of(library).targets.values().cloned()).collect();
    targets.sort_by_cached_key(|target| key(target));
    targets
}

/// Returns the lowerings of built-in ops for a tag, in the order in which they are called.
pub(super) fn lowerings(tag: &str) -> &'static [Registered] {
    let Some(library) = NAMES.tags.get(tag) else { return &[] };
    BuiltIns::of(*library).lowerings.get(tag).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(all(test, feature = "linalg"))]
mod tests {
    use super::*;

    #[test]
    fn all_built_in_ops_become_targets() {
        for library in LIBRARIES {
            let ops: Vec<LibraryOp<'_>> = library.iter().map(|op| LibraryOp::of(op)).collect();
            for described in from_ops(&ops, &TargetOrigin::program()) {
                described.unwrap();
            }
        }
        // Each name and each tag belongs to one library.
        let libraries = || (0..LIBRARIES.len()).map(BuiltIns::of);
        assert_eq!(NAMES.targets.len(), libraries().map(|library| library.targets.len()).sum());
        assert_eq!(NAMES.tags.len(), libraries().map(|library| library.lowerings.len()).sum());
    }
}
