//! The versions of VHLO's operations, and the names of their attributes.
//!
//! Both follow from the operation table ([`crate::op::table`]). The table has, for each version of an
//! operation, the StableHLO release that introduced it, and the names of the attributes in StableHLO. This
//! file adds the differences: attributes that StableHLO has as one and VHLO as several ([`parts`]), and
//! attributes that only some versions have ([`CHANGES`]).

use std::sync::LazyLock;

use super::Version;
use super::upgrade::{ALGORITHM, CONVOLUTION, DOT, GATHER, SCATTER};
use crate::op::Opcode;
use crate::op::info::V1;

/// One version of an operation.
struct OpVersion {
    /// Name with the version: `add_v1`.
    name: String,
    /// First release of StableHLO that has this version of the operation.
    since: Version,
    /// Names of the attributes, sorted. All attributes are always present.
    attributes: Vec<&'static str>,
}

/// Names of an operation's properties, in the order of their encoding; `None` for an unknown operation.
pub(super) fn properties(name: &str) -> Option<&'static [&'static str]> {
    find(name).map(|op| &op.attributes[..])
}

/// The versions of an operation, oldest first, with the names of their attributes.
pub(super) fn versions(base_name: &str) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let first = OPS.partition_point(|op| op.name.as_str() < base_name);
    let near = OPS[first..].iter().take_while(move |op| op.name.starts_with(base_name));
    near.filter(move |op| base(&op.name) == base_name).map(|op| (op.name.as_str(), &op.attributes[..]))
}

/// First release of StableHLO that has this version of an operation.
pub(super) fn since(name: &str) -> Version {
    find(name).map_or(V1, |op| op.since)
}

/// Removes the version from an operation's name.
pub(super) fn base(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, version)) if !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => name,
    }
}

fn find(name: &str) -> Option<&'static OpVersion> {
    OPS.binary_search_by(|op| op.name.as_str().cmp(name)).ok().map(|i| &OPS[i])
}

/// Every operation of every version up to [`super::NEWEST`], sorted by name.
static OPS: LazyLock<Vec<OpVersion>> = LazyLock::new(|| {
    let declared = Opcode::all().flat_map(|op| {
        let (base, versions) = (op.info().short_name(), op.info().vhlo);
        versions.iter().zip(1..).map(move |(since, version)| OpVersion {
            name: format!("{base}_v{version}"),
            since: *since,
            attributes: attributes(op, version),
        })
    });
    let other = OTHERS.iter().map(|(name, attributes)| OpVersion {
        name: (*name).to_owned(),
        since: V1,
        attributes: attributes.to_vec(),
    });
    let mut ops: Vec<OpVersion> = declared.chain(other).collect();
    ops.sort_by(|a, b| a.name.cmp(&b.name));
    ops
});

/// Operations of VHLO outside the operation table.
static OTHERS: &[(&str, &[&str])] = &[
    ("cross-replica-sum_v1", &["replica_groups"]),
    ("func_v1", &["arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"]),
];

/// The attributes of one version of an operation.
fn attributes(op: Opcode, version: usize) -> Vec<&'static str> {
    let attributes = op.info().attribute_names().flat_map(|name| {
        let parts = parts(op, name);
        if parts.is_empty() { vec![name] } else { parts.to_vec() }
    });
    let is_absent = |name: &&str| {
        CHANGES.iter().any(|(ops, first, change)| match change {
            Change::Added(names) => version < *first && ops.contains(&op) && names.contains(name),
            Change::Removed(names) => version >= *first && ops.contains(&op) && names.contains(name),
        })
    };
    let mut attributes: Vec<&str> = attributes.filter(|name| !is_absent(name)).collect();
    if version == 1 {
        attributes.retain(|name| *name != "result_accuracy");
    }
    attributes.sort_unstable();
    attributes
}

/// The attributes of VHLO that StableHLO has as the single attribute `name`; empty if VHLO has this
/// attribute, too.
fn parts(op: Opcode, name: &str) -> &'static [&'static str] {
    match (op, name) {
        (Opcode::Gather | Opcode::DynamicGather, "dimension_numbers") => GATHER,
        (Opcode::Convolution | Opcode::DynamicConvolution, "dimension_numbers") => CONVOLUTION,
        (Opcode::Scatter, "scatter_dimension_numbers") => SCATTER,
        (Opcode::DotGeneral, "dot_dimension_numbers") => DOT,
        (Opcode::DotGeneral, "algorithm") => ALGORITHM,
        (Opcode::Send | Opcode::Recv, "channel_handle") => &["channel_id", "channel_type"],
        (_, "channel_handle") => &["channel_id"],
        _ => &[],
    }
}

/// Attributes that a version adds or removes.
enum Change {
    Added(&'static [&'static str]),
    Removed(&'static [&'static str]),
}

/// Operations, the version that changes their attributes, and the change. (Not listed: the second version of
/// each mathematical function adds `result_accuracy`.)
static CHANGES: &[(&[Opcode], usize, Change)] = &[
    (&[Opcode::CollectiveBroadcast], 2, Change::Added(&["has_dynamic_root"])),
    (&[Opcode::CustomCall], 2, Change::Added(&["result_tilings"])),
    (&[Opcode::DotGeneral], 2, Change::Added(ALGORITHM)),
    (&[Opcode::DynamicConvolution], 2, Change::Removed(&["padding"])),
    (
        &[Opcode::Gather, Opcode::DynamicGather],
        2,
        Change::Added(&["operand_batching_dims", "start_indices_batching_dims"]),
    ),
    (&[Opcode::Scatter], 2, Change::Added(&["input_batching_dims", "scatter_indices_batching_dims"])),
    (&[Opcode::Send, Opcode::Recv], 2, Change::Added(&["source_target_pairs"])),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_these_attributes() {
        let lines = OPS.iter().map(|op| {
            let (major, minor, patch) = op.since;
            format!("{} {major}.{minor}.{patch}: {}", op.name, op.attributes.join(" ")).trim().to_owned()
                + "\n"
        });
        expect_test::expect_file!["ops.txt"].assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn names_are_sorted_and_have_a_base() {
        assert!(OPS.is_sorted_by(|a, b| a.name < b.name));
        assert!(OPS.iter().all(|op| op.attributes.is_sorted_by(|a, b| a < b)));
        assert_eq!(properties("cholesky_v1"), Some(&["lower"][..]));
        assert_eq!(properties("cholesky_v2"), None);
        assert_eq!((base("add_v1"), base("add_v"), base("add")), ("add", "add_v", "add"));
    }
}
