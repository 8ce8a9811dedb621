//! The table of opcodes: the operation of each opcode, from the operation table ([`crate::op::table`]), and
//! the syntax of its attributes.
//!
//! The reader and the printer interpret the same rows. Most rows are lists of [`AttrSyntax`], which map an
//! HLO attribute to an attribute of [`crate::attributes`]. Syntax that such a list cannot express is a
//! [`Hook`], a pair of functions. Instructions that are not a single operation (tuples, calls, loops,
//! branches, constants) are handled by code in `lower`, `control` and `print`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::attr_syntax::AttrSyntax;
use super::attribute_fields::Hook;
use super::{groups, hooks};
use crate::op::{Op, Opcode};

/// One opcode.
pub(super) struct Row {
    pub(super) opcode: &'static str,
    /// Name of the operation.
    pub(super) op: &'static str,
    pub(super) form: Form,
    /// Attributes that name the computations of the operation's regions.
    pub(super) regions: &'static [&'static str],
}

/// Syntax of an opcode's attributes.
pub(super) enum Form {
    Attrs(&'static [AttrSyntax]),
    Hook(&'static Hook),
}

/// Looks up the row of an opcode.
pub(super) fn of_opcode(opcode: &str) -> Option<&'static Row> {
    TABLE.by_opcode.get(opcode).copied()
}

/// Looks up the row with which an operation is printed.
pub(super) fn of_op(op: &Op) -> Option<&'static Row> {
    TABLE.by_op.get(op.name()).copied()
}

/// All opcodes that can be read, for suggestions.
pub(super) fn opcodes() -> impl Iterator<Item = &'static str> {
    TABLE.by_opcode.keys().copied().chain(STRUCTURE.iter().copied())
}

/// True for an opcode that can be read.
pub(super) fn is_opcode(opcode: &str) -> bool {
    TABLE.by_opcode.contains_key(opcode) || STRUCTURE.contains(&opcode)
}

/// Opcodes that are not a single operation. Any opcode may also have the suffixes `-start` and `-done`.
static STRUCTURE: &[&str] = &[
    "add-dependency",
    "async-done",
    "async-start",
    "async-update",
    "bitcast",
    "call",
    "conditional",
    "constant",
    "copy",
    "custom-call",
    "domain",
    "dynamic-reshape",
    "fusion",
    "get-tuple-element",
    "parameter",
    "ragged-all-to-all",
    "recv",
    "recv-done",
    "rng",
    "scaled-dot",
    "scan",
    "send",
    "send-done",
    "stochastic-convert",
    "topk",
    "tuple",
    "while",
];

/// Opcodes of HLO that farcall does not support.
pub(super) static UNSUPPORTED: &[&str] = &["rng-get-and-update-state"];

struct Table {
    by_opcode: FxHashMap<&'static str, &'static Row>,
    by_op: FxHashMap<&'static str, &'static Row>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let rows = Opcode::all().filter_map(|op| {
            let Syntax { form, regions } = syntax(op)?;
            Some(Row { opcode: op.info().hlo?, op: op.info().name, form, regions })
        });
        rows.collect()
    });
    let mut by_opcode = FxHashMap::default();
    // The first row of an opcode wins. (`tan` has two rows, because StableHLO and CHLO both have it.)
    ROWS.iter().for_each(|row| _ = by_opcode.entry(row.opcode).or_insert(row));
    Table { by_opcode, by_op: ROWS.iter().map(|row| (row.op, row)).collect() }
});

/// Syntax of an operation besides its opcode.
struct Syntax {
    form: Form,
    regions: &'static [&'static str],
}

impl Syntax {
    const fn with_regions(self, regions: &'static [&'static str]) -> Syntax {
        Syntax { form: self.form, regions }
    }
}

const fn attrs(attrs: &'static [AttrSyntax]) -> Syntax {
    Syntax { form: Form::Attrs(attrs), regions: &[] }
}

const fn hook(hook: &'static Hook) -> Syntax {
    Syntax { form: Form::Hook(hook), regions: &[] }
}

const TO_APPLY: &[&str] = &["to_apply"];

use AttrSyntax::{Flag, Int, Ints, One, Word};

/// Returns the syntax of an operation; `None` for an operation without an opcode.
fn syntax(op: Opcode) -> Option<Syntax> {
    Some(match op {
        Opcode::Unary(_)
        | Opcode::Binary(_)
        | Opcode::Select
        | Opcode::Clamp
        | Opcode::Convert
        | Opcode::BitcastConvert
        | Opcode::DynamicUpdateSlice
        | Opcode::OptimizationBarrier
        | Opcode::AfterAll
        | Opcode::PartitionId
        | Opcode::ReplicaId => attrs(&[]),
        // elementwise
        Opcode::Compare => {
            attrs(&[Word("direction", "comparison_direction", ""), Word("type", "compare_type", "")])
        }
        Opcode::ReducePrecision => {
            attrs(&[Int("exponent_bits", "exponent_bits"), Int("mantissa_bits", "mantissa_bits")])
        }
        // data
        Opcode::Iota => attrs(&[Int("iota_dimension", "iota_dimension")]),
        Opcode::BroadcastInDim => hook(&hooks::BROADCAST),
        Opcode::Reshape => hook(&hooks::RESHAPE),
        Opcode::Transpose => attrs(&[Ints("dimensions", "permutation")]),
        Opcode::Slice => hook(&hooks::SLICE),
        Opcode::Concatenate => attrs(&[One("dimensions", "dimension")]),
        Opcode::Pad => hook(&hooks::PAD),
        Opcode::Reverse => attrs(&[Ints("dimensions", "dimensions")]),
        Opcode::GetDimensionSize => attrs(&[One("dimensions", "dimension")]),
        Opcode::SetDimensionSize => attrs(&[One("dimensions", "dimension")]),
        // indexing
        Opcode::DynamicSlice => attrs(&[Ints("dynamic_slice_sizes", "slice_sizes")]),
        Opcode::Gather => hook(&hooks::GATHER),
        Opcode::Scatter => hook(&hooks::SCATTER).with_regions(TO_APPLY),
        // reduction
        Opcode::Reduce => attrs(&[Ints("dimensions", "dimensions")]).with_regions(TO_APPLY),
        Opcode::ReduceWindow => hook(&hooks::REDUCE_WINDOW).with_regions(TO_APPLY),
        Opcode::SelectAndScatter => hook(&hooks::SELECT_AND_SCATTER).with_regions(&["select", "scatter"]),
        Opcode::Map => hook(&hooks::MAP).with_regions(TO_APPLY),
        Opcode::Sort => {
            attrs(&[One("dimensions", "dimension"), Flag("is_stable", "is_stable")]).with_regions(TO_APPLY)
        }
        // contraction
        Opcode::DotGeneral => hook(&hooks::DOT),
        Opcode::RaggedDot => hook(&hooks::RAGGED_DOT),
        Opcode::Convolution => hook(&hooks::CONVOLUTION),
        // linalg
        Opcode::Cholesky => attrs(&[Flag("lower", "lower")]),
        Opcode::TriangularSolve => attrs(&[
            Flag("left_side", "left_side"),
            Flag("lower", "lower"),
            Flag("unit_diagonal", "unit_diagonal"),
            Word("transpose_a", "transpose_a", ""),
        ]),
        Opcode::Fft => attrs(&[Word("fft_type", "fft_type", ""), Ints("fft_length", "fft_length")]),
        // random
        Opcode::RngBitGenerator => attrs(&[Word("algorithm", "rng_algorithm", "rng_")]),
        // control
        Opcode::Infeed => hook(&hooks::INFEED),
        Opcode::Outfeed => hook(&hooks::OUTFEED),
        // collective
        Opcode::AllGather => hook(&groups::ALL_GATHER),
        Opcode::AllReduce => hook(&groups::ALL_REDUCE).with_regions(TO_APPLY),
        Opcode::ReduceScatter => hook(&groups::REDUCE_SCATTER).with_regions(TO_APPLY),
        Opcode::AllToAll => hook(&groups::ALL_TO_ALL),
        Opcode::CollectiveBroadcast => hook(&groups::COLLECTIVE_BROADCAST),
        Opcode::CollectivePermute => hook(&groups::COLLECTIVE_PERMUTE),
        // derived
        Opcode::BatchNormInference => hook(&hooks::BATCH_NORM_INFERENCE),
        Opcode::BatchNormTraining => hook(&hooks::BATCH_NORM_TRAINING),
        Opcode::BatchNormGrad => hook(&hooks::BATCH_NORM_GRAD),
        // Operations that HLO lacks, or that other code reads and prints.
        Opcode::Broadcasting(_)
        | Opcode::Copy
        | Opcode::UniformQuantize
        | Opcode::UniformDequantize
        | Opcode::Constant
        | Opcode::DynamicIota
        | Opcode::DynamicBroadcastInDim
        | Opcode::DynamicReshape
        | Opcode::DynamicPad
        | Opcode::RealDynamicSlice
        | Opcode::DynamicGather
        | Opcode::Scan
        | Opcode::TopK
        | Opcode::DynamicConvolution
        | Opcode::Rng
        | Opcode::If
        | Opcode::Case
        | Opcode::While
        | Opcode::Call
        | Opcode::Composite
        | Opcode::Return
        | Opcode::CreateToken
        | Opcode::Tuple
        | Opcode::GetTupleElement
        | Opcode::AsyncStart
        | Opcode::AsyncDone
        | Opcode::CollectiveReduce
        | Opcode::CustomCall
        | Opcode::Send
        | Opcode::Recv
        | Opcode::Broadcast
        | Opcode::BroadcastCompare
        | Opcode::BroadcastSelect
        | Opcode::ConstantLike
        | Opcode::Dot
        | Opcode::Einsum
        | Opcode::UnaryEinsum
        | Opcode::TorchIndexSelect
        | Opcode::SinCos
        | Opcode::Form(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_hlo_have_a_syntax() {
        for op in Opcode::all() {
            let info = op.info();
            let is_function = matches!(op, Opcode::Unary(_) | Opcode::Binary(_));
            let syntax = syntax(op);
            assert!(
                is_function || syntax.is_some() == info.hlo.is_some(),
                "{}: only one of syntax and HLO name is declared",
                info.name
            );
            if let Some(Syntax { form: Form::Attrs(attrs), .. }) = syntax {
                let is_declared = |attr: &AttrSyntax| info.attribute_names().any(|name| name == attr.attr());
                assert!(attrs.iter().all(is_declared), "{}: undeclared attribute in the syntax", info.name);
            }
        }
    }
}
