//! The table of opcodes: the operation of each opcode, and the syntax of its attributes.
//!
//! The reader and the printer interpret the same rows. Most rows are lists of [`AttrSyntax`], which map an
//! HLO attribute to an attribute of [`crate::attributes`]. Syntax that such a list cannot express is a
//! [`Hook`], a pair of functions. Instructions that are not a single operation (tuples, calls, loops,
//! branches, constants) are handled by code in `lower`, `control` and `print`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::given::Hook;
use super::{groups, hooks};
use crate::op::{Binary, Op, Unary};

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

/// Syntax of one attribute. The fields are its name in HLO and its name in [`crate::attributes`].
pub(super) enum AttrSyntax {
    /// `{1,2}`
    Ints(&'static str, &'static str),
    /// `{1}`, a single number.
    One(&'static str, &'static str),
    /// `1`
    Int(&'static str, &'static str),
    /// `true`; false if absent.
    Flag(&'static str, &'static str),
    /// `LT`, or with a prefix `rng_default`. Optional.
    Word(&'static str, &'static str, &'static str),
}

impl AttrSyntax {
    /// Name of the attribute in HLO.
    pub(super) fn key(&self) -> &'static str {
        match self {
            AttrSyntax::Ints(key, _)
            | AttrSyntax::One(key, _)
            | AttrSyntax::Int(key, _)
            | AttrSyntax::Flag(key, _)
            | AttrSyntax::Word(key, _, _) => key,
        }
    }
}

impl AttrSyntax {
    /// Name of the attribute in [`crate::attributes`].
    pub(super) fn attr(&self) -> &'static str {
        match self {
            AttrSyntax::Ints(_, attr)
            | AttrSyntax::One(_, attr)
            | AttrSyntax::Int(_, attr)
            | AttrSyntax::Flag(_, attr)
            | AttrSyntax::Word(_, attr, _) => attr,
        }
    }
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
    static FUNCTIONS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let names = Unary::VARIANTS
            .into_iter()
            .map(Unary::name)
            .chain(Binary::VARIANTS.into_iter().map(Binary::name));
        names.filter_map(function).collect()
    });
    let rows = || FUNCTIONS.iter().chain(ROWS);
    let mut by_opcode = FxHashMap::default();
    // The first row of an opcode wins: `tan` exists in both dialects.
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

/// Returns the row of an elementwise function. Its opcode is the operation's name with dashes.
fn function(name: &'static str) -> Option<Row> {
    let short = match name.strip_prefix("stablehlo.") {
        Some(short) => short,
        None if CHLO.contains(&name) => name.strip_prefix("chlo.")?,
        None => return None,
    };
    // Leaked once for each of a few functions.
    let opcode =
        if short.contains('_') { Box::leak(short.replace('_', "-").into_boxed_str()) } else { short };
    Some(Row { opcode, op: name, form: Form::Attrs(&[]), regions: &[] })
}

const fn row(opcode: &'static str, op: &'static str, attrs: &'static [AttrSyntax]) -> Row {
    Row { opcode, op, form: Form::Attrs(attrs), regions: &[] }
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

use AttrSyntax::{Flag, Int, Ints, One, Word};

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
