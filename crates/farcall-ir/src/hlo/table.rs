//! The table of instructions: for each opcode the operation that it is, and how its attributes are written.
//!
//! The reader and the printer interpret the same rows. Most rows are lists of [`Part`]s, which name an attribute in
//! HLO and in [`crate::attributes`]; what a list cannot say is a [`Hook`], a pair of functions. Instructions that are
//! not one operation each (tuples, calls, loops, branches, constants) have their own code in `lower`, `control` and
//! `print`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::given::Hook;
use super::{groups, hooks};
use crate::op::{Binary, Op, Unary};

/// An opcode.
pub(super) struct Row {
    pub(super) opcode: &'static str,
    /// Name of the operation.
    pub(super) op: &'static str,
    pub(super) form: Form,
    /// Attributes that name the computations of its regions.
    pub(super) regions: &'static [&'static str],
}

/// How attributes are written.
pub(super) enum Form {
    Parts(&'static [Part]),
    Hook(&'static Hook),
}

/// An attribute: its name in HLO, its name in [`crate::attributes`].
pub(super) enum Part {
    /// `{1,2}`
    Ints(&'static str, &'static str),
    /// `{1}`, one number.
    One(&'static str, &'static str),
    /// `1`
    Int(&'static str, &'static str),
    /// `true`; false if absent.
    Flag(&'static str, &'static str),
    /// `LT`, or with a prefix `rng_default`; may be absent.
    Word(&'static str, &'static str, &'static str),
}

impl Part {
    /// The name in HLO.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Part::Ints(key, _)
            | Part::One(key, _)
            | Part::Int(key, _)
            | Part::Flag(key, _)
            | Part::Word(key, _, _) => key,
        }
    }
}

impl Part {
    /// The name in [`crate::attributes`].
    pub(super) fn attr(&self) -> &'static str {
        match self {
            Part::Ints(_, attr)
            | Part::One(_, attr)
            | Part::Int(_, attr)
            | Part::Flag(_, attr)
            | Part::Word(_, attr, _) => attr,
        }
    }
}

/// The row of an opcode.
pub(super) fn of_opcode(opcode: &str) -> Option<&'static Row> {
    TABLE.by_opcode.get(opcode).copied()
}

/// The row that an operation is written by.
pub(super) fn of_op(op: &Op) -> Option<&'static Row> {
    TABLE.by_op.get(op.name()).copied()
}

/// Every opcode that is read, for suggestions.
pub(super) fn opcodes() -> impl Iterator<Item = &'static str> {
    TABLE.by_opcode.keys().copied().chain(STRUCTURE.iter().copied())
}

/// True for an opcode that is read.
pub(super) fn is_opcode(opcode: &str) -> bool {
    TABLE.by_opcode.contains_key(opcode) || STRUCTURE.contains(&opcode)
}

/// Opcodes that are not one operation each. Of each opcode there may be a start and a done, too.
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

/// Opcodes of HLO that have no equivalent here.
pub(super) static UNSUPPORTED: &[&str] = &["rng-get-and-update-state"];

struct Table {
    by_opcode: FxHashMap<&'static str, &'static Row>,
    by_op: FxHashMap<&'static str, &'static Row>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    static FUNCTIONS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let names = Unary::ALL.into_iter().map(Unary::name).chain(Binary::ALL.into_iter().map(Binary::name));
        names.filter_map(function).collect()
    });
    let rows = || FUNCTIONS.iter().chain(ROWS);
    let mut by_opcode = FxHashMap::default();
    // The first one of an opcode: `tan` belongs to both dialects.
    rows().for_each(|row| _ = by_opcode.entry(row.opcode).or_insert(row));
    Table { by_opcode, by_op: rows().map(|row| (row.op, row)).collect() }
});

/// Functions of CHLO that HLO has, too.
const CHLO: [&str; 10] = [
    "chlo.acos",
    "chlo.acosh",
    "chlo.asin",
    "chlo.asinh",
    "chlo.atanh",
    "chlo.cosh",
    "chlo.erf",
    "chlo.mulhi",
    "chlo.sinh",
    "chlo.tan",
];

/// A function of elements is called the same, with dashes.
fn function(name: &'static str) -> Option<Row> {
    let short = match name.strip_prefix("stablehlo.") {
        Some(short) => short,
        None if CHLO.contains(&name) => name.strip_prefix("chlo.")?,
        None => return None,
    };
    // Once for each function, and there are few.
    let opcode =
        if short.contains('_') { Box::leak(short.replace('_', "-").into_boxed_str()) } else { short };
    Some(Row { opcode, op: name, form: Form::Parts(&[]), regions: &[] })
}

const fn row(opcode: &'static str, op: &'static str, parts: &'static [Part]) -> Row {
    Row { opcode, op, form: Form::Parts(parts), regions: &[] }
}

const fn hook(opcode: &'static str, op: &'static str, hook: &'static Hook) -> Row {
    Row { opcode, op, form: Form::Hook(hook), regions: &[] }
}

const TO_APPLY: &[&str] = &["to_apply"];

impl Row {
    const fn with_regions(self, regions: &'static [&'static str]) -> Row {
        Row { opcode: self.opcode, op: self.op, form: self.form, regions }
    }
}

use Part::{Flag, Int, Ints, One, Word};

static ROWS: &[Row] = &[
    // elementwise
    row(
        "compare",
        "stablehlo.compare",
        &[Word("direction", "comparison_direction", ""), Word("type", "compare_type", "")],
    ),
    row("select", "stablehlo.select", &[]),
    row("clamp", "stablehlo.clamp", &[]),
    row("convert", "stablehlo.convert", &[]),
    row("bitcast-convert", "stablehlo.bitcast_convert", &[]),
    row(
        "reduce-precision",
        "stablehlo.reduce_precision",
        &[Int("exponent_bits", "exponent_bits"), Int("mantissa_bits", "mantissa_bits")],
    ),
    // data
    row("iota", "stablehlo.iota", &[Int("iota_dimension", "iota_dimension")]),
    hook("broadcast", "stablehlo.broadcast_in_dim", &hooks::BROADCAST),
    hook("reshape", "stablehlo.reshape", &hooks::RESHAPE),
    row("transpose", "stablehlo.transpose", &[Ints("dimensions", "permutation")]),
    hook("slice", "stablehlo.slice", &hooks::SLICE),
    row("concatenate", "stablehlo.concatenate", &[One("dimensions", "dimension")]),
    hook("pad", "stablehlo.pad", &hooks::PAD),
    row("reverse", "stablehlo.reverse", &[Ints("dimensions", "dimensions")]),
    row("get-dimension-size", "stablehlo.get_dimension_size", &[One("dimensions", "dimension")]),
    row("set-dimension-size", "stablehlo.set_dimension_size", &[One("dimensions", "dimension")]),
    // indexing
    row("dynamic-slice", "stablehlo.dynamic_slice", &[Ints("dynamic_slice_sizes", "slice_sizes")]),
    row("dynamic-update-slice", "stablehlo.dynamic_update_slice", &[]),
    hook("gather", "stablehlo.gather", &hooks::GATHER),
    hook("scatter", "stablehlo.scatter", &hooks::SCATTER).with_regions(TO_APPLY),
    // reduction
    row("reduce", "stablehlo.reduce", &[Ints("dimensions", "dimensions")]).with_regions(TO_APPLY),
    hook("reduce-window", "stablehlo.reduce_window", &hooks::REDUCE_WINDOW).with_regions(TO_APPLY),
    hook("select-and-scatter", "stablehlo.select_and_scatter", &hooks::SELECT_AND_SCATTER)
        .with_regions(&["select", "scatter"]),
    hook("map", "stablehlo.map", &hooks::MAP).with_regions(TO_APPLY),
    row("sort", "stablehlo.sort", &[One("dimensions", "dimension"), Flag("is_stable", "is_stable")])
        .with_regions(TO_APPLY),
    // contraction
    hook("dot", "stablehlo.dot_general", &hooks::DOT),
    hook("ragged-dot", "chlo.ragged_dot", &hooks::RAGGED_DOT),
    hook("convolution", "stablehlo.convolution", &hooks::CONVOLUTION),
    // linalg
    row("cholesky", "stablehlo.cholesky", &[Flag("lower", "lower")]),
    row(
        "triangular-solve",
        "stablehlo.triangular_solve",
        &[
            Flag("left_side", "left_side"),
            Flag("lower", "lower"),
            Flag("unit_diagonal", "unit_diagonal"),
            Word("transpose_a", "transpose_a", ""),
        ],
    ),
    row("fft", "stablehlo.fft", &[Word("fft_type", "fft_type", ""), Ints("fft_length", "fft_length")]),
    // random
    row("rng-bit-generator", "stablehlo.rng_bit_generator", &[Word("algorithm", "rng_algorithm", "rng_")]),
    // control
    row("opt-barrier", "stablehlo.optimization_barrier", &[]),
    row("after-all", "stablehlo.after_all", &[]),
    hook("infeed", "stablehlo.infeed", &hooks::INFEED),
    hook("outfeed", "stablehlo.outfeed", &hooks::OUTFEED),
    row("partition-id", "stablehlo.partition_id", &[]),
    row("replica-id", "stablehlo.replica_id", &[]),
    // collective
    hook("all-gather", "stablehlo.all_gather", &groups::ALL_GATHER),
    hook("all-reduce", "stablehlo.all_reduce", &groups::ALL_REDUCE).with_regions(TO_APPLY),
    hook("reduce-scatter", "stablehlo.reduce_scatter", &groups::REDUCE_SCATTER).with_regions(TO_APPLY),
    hook("all-to-all", "stablehlo.all_to_all", &groups::ALL_TO_ALL),
    hook("collective-broadcast", "stablehlo.collective_broadcast", &groups::COLLECTIVE_BROADCAST),
    hook("collective-permute", "stablehlo.collective_permute", &groups::COLLECTIVE_PERMUTE),
    // derived
    hook("batch-norm-inference", "stablehlo.batch_norm_inference", &hooks::BATCH_NORM_INFERENCE),
    hook("batch-norm-training", "stablehlo.batch_norm_training", &hooks::BATCH_NORM_TRAINING),
    hook("batch-norm-grad", "stablehlo.batch_norm_grad", &hooks::BATCH_NORM_GRAD),
];
