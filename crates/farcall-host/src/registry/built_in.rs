//! The ops that the engine includes, as targets and lowerings.
//!
//! A registry finds a built-in op if it has no target of the same name itself, so handlers of the application
//! and of loaded libraries take precedence. The targets are made when a program first needs one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

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
    farcall_sparse::jaxlib::OPS,
];

/// Names of the built-in ops, and tags of the blocks that they lower.
static NAMES: LazyLock<Names> = LazyLock::new(Names::new);

static BUILT_INS: LazyLock<BuiltIns> = LazyLock::new(BuiltIns::new);

struct Names {
    targets: BTreeSet<&'static str>,
    tags: BTreeSet<&'static str>,
}

impl Names {
    fn new() -> Names {
        let ops = || LIBRARIES.iter().copied().flatten().map(|op| LibraryOp::of(op));
        Names {
            targets: ops().map(|op| op.name()).collect(),
            tags: ops().filter_map(|op| op.lowers()).collect(),
        }
    }
}

struct BuiltIns {
    targets: BTreeMap<Key, Arc<Target>>,
    lowerings: BTreeMap<Arc<str>, Vec<Registered>>,
}

impl BuiltIns {
    fn new() -> BuiltIns {
        let origin = TargetOrigin { how: How::BuiltIn, ..TargetOrigin::program() };
        let (mut targets, mut lowerings) = (BTreeMap::new(), BTreeMap::<_, Vec<Registered>>::new());
        for library in LIBRARIES {
            let ops: Vec<LibraryOp<'_>> = library.iter().map(|op| LibraryOp::of(op)).collect();
            // The ops are part of the engine, and a test registers all of them.
            for (target, lowering) in from_ops(&ops, &origin).into_iter().flatten() {
                let target = Arc::new(target);
                targets.insert(key(&target), target);
                if let Some(Listed { tag, .. }) = &lowering {
                    let tag = Arc::clone(tag);
                    lowerings.entry(tag).or_default().extend(lowering.map(|l| l.registered(Rank::BuiltIn)));
                }
            }
        }
        BuiltIns { targets, lowerings }
    }
}

/// Returns the built-in target of this name, platform and API.
pub(super) fn target(name: &str, platform: &Platform, kind: ApiKind) -> Option<Arc<Target>> {
    if !NAMES.targets.contains(name) {
        return None;
    }
    BUILT_INS.targets.get(&(name.into(), platform.clone(), kind)).cloned()
}

/// Returns all built-in targets, sorted by name.
pub(super) fn targets() -> impl Iterator<Item = Arc<Target>> {
    BUILT_INS.targets.values().cloned()
}

/// Returns the lowerings of built-in ops for a tag, in the order in which they are called.
pub(super) fn lowerings(tag: &str) -> &'static [Registered] {
    match NAMES.tags.contains(tag) {
        true => BUILT_INS.lowerings.get(tag).map(Vec::as_slice).unwrap_or_default(),
        false => &[],
    }
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
        assert_eq!(NAMES.targets.len(), BUILT_INS.targets.len());
        assert_eq!(NAMES.tags.len(), BUILT_INS.lowerings.len());
    }
}
