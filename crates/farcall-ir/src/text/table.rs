//! The syntax table: one entry for each operation.
//!
//! An entry has the operation's name and its pretty form, a list of [`Directive`]s; [`crate::attributes`]
//! creates the operation from its attributes. Both the parser ([`super::inst`]) and the printer
//! ([`super::print`]) interpret the list, so each reads the output of the other. An entry without directives
//! has only MLIR's generic form. Syntax that a list cannot express is a [`Hook`]: a pair of functions, in
//! [`super::hooks`].

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use farcall_sig::DType;

use super::hooks::{self, Hook};
use crate::op::{Binary, Broadcasted, CustomCall, Unary};

/// Syntax of an operation.
pub(super) struct Syntax {
    /// Name, including the dialect.
    pub(super) name: &'static str,
    /// Pretty form, after the name.
    pub(super) form: &'static [Directive],
    /// Representation of the operation once read.
    pub(super) read: Read,
}

/// Representation of an operation once read.
pub(super) enum Read {
    /// The operation that [`crate::attributes`] creates from its attributes.
    Op,
    /// An operation of another dialect: a custom call with the operation's name as its target. The attributes
    /// stay on the instruction.
    Call { has_side_effect: bool },
}

/// One element of a pretty form. A field of type `&'static str` is the name of an attribute, except in
/// [`Directive::Lit`].
pub(super) enum Directive {
    /// Tokens, printed exactly as they are written here.
    Lit(&'static str),
    /// `%a`
    Operand,
    /// `%a, %b`: all remaining operands; optionally `()` if none remain.
    Operands,
    /// `[1, 2]`: attribute `array<i64: 1, 2>`.
    Ints(&'static str),
    /// `5`: an integer attribute of this type.
    Int(&'static str, DType),
    /// `true`
    Flag(&'static str),
    /// `0.1`: an `f64` attribute.
    Float(&'static str),
    /// `FFT`: attribute `#stablehlo<kind FFT>`. The fields are the name of the attribute and its kind.
    Keyword(&'static str, &'static str),
    /// `@f`: a symbol attribute.
    Symbol(&'static str),
    /// `@f`: a string attribute.
    Target(&'static str),
    /// `"text"`: a string attribute.
    Text(&'static str),
    /// An attribute with its type.
    Value(&'static str),
    /// `{a = 1 : i64}`, if attributes remain.
    Dict,
    /// `{a = 1 : i64}` before the operands; always the first directive of a form.
    PrefixDict,
    /// Directives that apply if their first attribute is present. They begin with a [`Directive::Lit`].
    Optional(&'static [Directive]),
    /// The types of operands and results.
    Types(Types),
    /// Syntax with its own code.
    Hook(&'static Hook),
}

/// Syntax for the types of operands and results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// `: (t, t) -> t`; the syntax of [`Types::Same`] is accepted, too.
    Function,
    /// `: t` if all operands and the result have this type, otherwise [`Types::Function`].
    Same,
    /// `: t` for the only result, without operands.
    Result,
    /// `: t, t` for the operands and the results, which have the same types; empty without operands.
    Pairs,
    /// `: t, t` for the operands, without results; empty without operands.
    Operands,
    /// `: t` for all operands, without results.
    SameOperands,
    /// `: t, t -> t` or `: t -> (t, t)`
    Bare,
    /// `: p, t` for the predicate, and for both values and the result; otherwise [`Types::Function`].
    Select,
    /// `: t` for the complex result of two real operands, otherwise [`Types::Function`].
    Complex,
    /// `: tuple<t, t>` for the result, whose elements have the types of the operands.
    Tuple,
}

/// Looks up an operation by its full name.
pub(super) fn lookup(name: &str) -> Option<&'static Syntax> {
    TABLE.get(name).copied()
}

/// Names of all operations.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

static TABLE: LazyLock<FxHashMap<&'static str, &'static Syntax>> = LazyLock::new(|| {
    static ELEMENTWISE: LazyLock<Vec<Syntax>> = LazyLock::new(|| {
        let unary = Unary::VARIANTS.into_iter().map(|op| Syntax {
            name: op.name(),
            form: if op.is_chlo() { CHLO_UNARY } else { UNARY },
            read: Read::Op,
        });
        let binary = Binary::VARIANTS.into_iter().map(|op| Syntax {
            name: op.name(),
            form: match op {
                Binary::Complex => COMPLEX,
                _ if op.is_chlo() => CHLO_BINARY,
                _ => BINARY,
            },
            read: Read::Op,
        });
        let broadcasting = Broadcasted::binary().map(|op| Syntax {
            name: op.info().broadcasting.name,
            form: BROADCASTING,
            read: Read::Op,
        });
        unary.chain(binary).chain(broadcasting).collect()
    });
    ELEMENTWISE.iter().chain(OPS).chain(CALLS).map(|s| (s.name, s)).collect()
});

use Directive::{
    Dict, Flag, Float, Hook as H, Int, Ints, Keyword, Lit, Operand, Operands, Optional, PrefixDict, Symbol,
    Target, Text, Value,
};
use Types::{Bare, Function, Pairs, Result as ResultType, Same, Select, Tuple};

const FUNCTION: Directive = Directive::Types(Function);
const SAME_TYPE: Directive = Directive::Types(Same);

const UNARY: &[Directive] = &[Operand, Dict, SAME_TYPE];
const BINARY: &[Directive] = &[Operand, Lit(", "), Operand, Dict, SAME_TYPE];
const COMPLEX: &[Directive] = &[Operand, Lit(", "), Operand, Dict, Directive::Types(Types::Complex)];
const CHLO_UNARY: &[Directive] = &[Operand, Dict, Directive::Types(Bare)];
const CHLO_BINARY: &[Directive] = &[Operand, Lit(", "), Operand, Dict, Directive::Types(Bare)];
const BROADCASTING: &[Directive] = &[Operand, Lit(", "), Operand, Dict, FUNCTION];
/// `%a, %b : (t, t) -> t`
const CALL_LIKE: &[Directive] = &[Operands, Dict, FUNCTION];
/// `%a : (t) -> t`
const ONE_OPERAND: &[Directive] = &[Operand, Dict, FUNCTION];
/// Only the generic form.
const GENERIC: &[Directive] = &[];

const fn op(name: &'static str, form: &'static [Directive]) -> Syntax {
    Syntax { name, form, read: Read::Op }
}

static OPS: &[Syntax] = &[
    // elementwise
    op(
        "stablehlo.compare",
        &[
            Keyword("comparison_direction", "comparison_direction"),
            Lit(", "),
            Operand,
            Lit(", "),
            Operand,
            Optional(&[Lit(", "), Keyword("compare_type", "comparison_type")]),
            Dict,
            FUNCTION,
        ],
    ),
    op(
        "stablehlo.select",
        &[Operand, Lit(", "), Operand, Lit(", "), Operand, Dict, Directive::Types(Select)],
    ),
    op("stablehlo.clamp", &[Operand, Lit(", "), Operand, Lit(", "), Operand, Dict, SAME_TYPE]),
    op("stablehlo.convert", UNARY),
    op("stablehlo.bitcast_convert", ONE_OPERAND),
    op("mhlo.copy", UNARY),
    op("mhlo.fusion", GENERIC),
    op(
        "stablehlo.reduce_precision",
        &[Operand, Lit(", format = "), H(&hooks::FLOAT_FORMAT), Dict, SAME_TYPE],
    ),
    op("stablehlo.uniform_quantize", ONE_OPERAND),
    op("stablehlo.uniform_dequantize", ONE_OPERAND),
    // data
    op("stablehlo.constant", &[H(&hooks::CONSTANT)]),
    op("chlo.constant", &[H(&hooks::CONSTANT)]),
    op(
        "stablehlo.iota",
        &[Lit("dim = "), Int("iota_dimension", DType::S64), Dict, Directive::Types(ResultType)],
    ),
    op(
        "stablehlo.dynamic_iota",
        &[Operand, Lit(", dim = "), Int("iota_dimension", DType::S64), Dict, FUNCTION],
    ),
    op(
        "stablehlo.broadcast_in_dim",
        &[Operand, Lit(", dims = "), Ints("broadcast_dimensions"), Dict, FUNCTION],
    ),
    op(
        "stablehlo.dynamic_broadcast_in_dim",
        &[Operand, Lit(", "), Operand, Lit(", dims = "), Ints("broadcast_dimensions"), Dict, FUNCTION],
    ),
    op("stablehlo.reshape", ONE_OPERAND),
    op("stablehlo.dynamic_reshape", CALL_LIKE),
    op("stablehlo.transpose", &[Operand, Lit(", dims = "), Ints("permutation"), Dict, FUNCTION]),
    op("stablehlo.slice", &[Operand, Lit(" "), H(&hooks::SLICE), Dict, FUNCTION]),
    op("stablehlo.concatenate", &[Operands, Lit(", dim = "), Int("dimension", DType::S64), Dict, FUNCTION]),
    op(
        "stablehlo.pad",
        &[
            Operand,
            Lit(", "),
            Operand,
            Lit(", low = "),
            Ints("edge_padding_low"),
            Lit(", high = "),
            Ints("edge_padding_high"),
            Lit(", interior = "),
            Ints("interior_padding"),
            Dict,
            FUNCTION,
        ],
    ),
    op("stablehlo.dynamic_pad", CALL_LIKE),
    op("stablehlo.reverse", &[Operand, Lit(", dims = "), Ints("dimensions"), Dict, SAME_TYPE]),
    op(
        "stablehlo.get_dimension_size",
        &[Operand, Lit(", dim = "), Int("dimension", DType::S64), Dict, FUNCTION],
    ),
    op(
        "stablehlo.set_dimension_size",
        &[Operand, Lit(", "), Operand, Lit(", dim = "), Int("dimension", DType::S64), Dict, FUNCTION],
    ),
    // indexing
    op(
        "stablehlo.dynamic_slice", // A tensor of rank 0 has no start indices, but still both commas.
        &[Operand, Lit(", "), Operands, Lit(", sizes = "), Ints("slice_sizes"), Dict, FUNCTION],
    ),
    op("stablehlo.dynamic_update_slice", CALL_LIKE),
    op("stablehlo.real_dynamic_slice", CALL_LIKE),
    op("stablehlo.gather", GENERIC),
    op("stablehlo.dynamic_gather", GENERIC),
    op("stablehlo.scatter", GENERIC),
    // reduction
    op("stablehlo.reduce", &[H(&hooks::REDUCE)]),
    op("stablehlo.reduce_window", GENERIC),
    op("stablehlo.select_and_scatter", GENERIC),
    op("stablehlo.map", GENERIC),
    op("chlo.scan", &[H(&hooks::SCAN)]),
    op("stablehlo.sort", GENERIC),
    op(
        "chlo.top_k",
        &[
            Lit("("),
            Operand,
            Lit(", k = "),
            Int("k", DType::S64),
            // A module's `top_k` is always stable. The attribute is only kept for printing.
            Optional(&[Lit(", is_stable = "), Flag("is_stable")]),
            Lit(")"),
            Dict,
            Directive::Types(Bare),
        ],
    ),
    // contraction
    op(
        "stablehlo.dot_general",
        &[Operand, Lit(", "), Operand, Lit(", "), H(&hooks::DOT_DIMS), Dict, FUNCTION],
    ),
    op(
        "stablehlo.convolution",
        &[
            Lit("("),
            Operands,
            Lit(") dim_numbers = "),
            H(&hooks::CONVOLUTION_DIMS),
            Lit(", window = {"),
            H(&hooks::WINDOW),
            Lit("}"),
            Dict,
            FUNCTION,
        ],
    ),
    op("stablehlo.dynamic_conv", GENERIC),
    // linalg
    op("stablehlo.cholesky", &[Operand, Optional(&[Lit(", lower = "), Flag("lower")]), Dict, SAME_TYPE]),
    op("stablehlo.triangular_solve", GENERIC),
    op(
        "stablehlo.fft",
        &[
            Operand,
            Lit(", type = "),
            Keyword("fft_type", "fft_type"),
            Lit(", length = "),
            Ints("fft_length"),
            Dict,
            FUNCTION,
        ],
    ),
    // random
    op(
        "stablehlo.rng_bit_generator",
        &[Operand, Lit(", algorithm = "), Keyword("rng_algorithm", "rng_algorithm"), Dict, FUNCTION],
    ),
    op(
        "stablehlo.rng",
        &[
            Operands,
            Lit(", distribution = "),
            Keyword("rng_distribution", "rng_distribution"),
            Dict,
            FUNCTION,
        ],
    ),
    // control
    op("stablehlo.if", GENERIC),
    op("stablehlo.case", GENERIC),
    op("stablehlo.while", &[H(&hooks::WHILE)]),
    op("func.call", &[Symbol("callee"), Lit("("), Operands, Lit(")"), Dict, FUNCTION]),
    op("stablehlo.composite", &[Text("name"), Lit(" "), Operands, Dict, FUNCTION]),
    op("stablehlo.return", &[Operands, Dict, Directive::Types(Types::Operands)]),
    // MLIR prints the attributes of these two first. Attributes after the operands are accepted, too.
    op("func.return", &[PrefixDict, Operands, Dict, Directive::Types(Types::Operands)]),
    op("stablehlo.optimization_barrier", &[PrefixDict, Operands, Dict, Directive::Types(Pairs)]),
    op("stablehlo.after_all", &[Operands, Dict, SAME_TYPE]),
    op("stablehlo.create_token", &[Dict, Directive::Types(ResultType)]),
    op("stablehlo.tuple", &[Operands, Dict, Directive::Types(Tuple)]),
    op(
        "stablehlo.get_tuple_element",
        &[Operand, Lit("["), Int("index", DType::S32), Lit("]"), Dict, FUNCTION],
    ),
    op("stablehlo.async_start", GENERIC),
    op("stablehlo.async_done", GENERIC),
    op("stablehlo.infeed", GENERIC),
    op("stablehlo.outfeed", GENERIC),
    op("stablehlo.send", GENERIC),
    op("stablehlo.recv", GENERIC),
    op("stablehlo.partition_id", &[Dict, Directive::Types(ResultType)]),
    op("stablehlo.replica_id", &[Dict, Directive::Types(ResultType)]),
    // collective
    op("stablehlo.all_gather", GENERIC),
    op("stablehlo.all_reduce", GENERIC),
    op("stablehlo.reduce_scatter", GENERIC),
    op("stablehlo.all_to_all", GENERIC),
    op("stablehlo.collective_broadcast", GENERIC),
    op("stablehlo.collective_reduce", GENERIC),
    op("stablehlo.collective_permute", GENERIC),
    // derived
    op("stablehlo.broadcast", &[Operand, Lit(", sizes = "), Ints("broadcast_sizes"), Dict, FUNCTION]),
    op("chlo.broadcast_compare", BROADCASTING),
    op("chlo.broadcast_select", &[Operand, Lit(", "), Operand, Lit(", "), Operand, Dict, FUNCTION]),
    op("chlo.constant_like", GENERIC),
    op("stablehlo.dot", &[Operand, Lit(", "), Operand, H(&hooks::PRECISION), Dict, FUNCTION]),
    op(
        "stablehlo.einsum",
        &[Operand, Lit(", "), Operand, Lit(", config = "), Text("einsum_config"), Dict, FUNCTION],
    ),
    op("stablehlo.unary_einsum", &[Operand, Lit(", config = "), Text("einsum_config"), Dict, FUNCTION]),
    op("stablehlo.torch_index_select", GENERIC),
    op("stablehlo.batch_norm_inference", GENERIC),
    op("stablehlo.batch_norm_training", GENERIC),
    op("stablehlo.batch_norm_grad", GENERIC),
    op("chlo.ragged_dot", GENERIC),
    op("chlo.sin_cos", CHLO_UNARY),
    // call
    op("stablehlo.custom_call", &[Target("call_target_name"), Lit("("), Operands, Lit(")"), Dict, FUNCTION]),
];

/// MHLO's `top_k`, which has an attribute `largest`.
pub(super) static MHLO_TOP_K: Syntax = op(
    "chlo.top_k",
    &[
        Lit("("),
        Operand,
        Lit(", k = "),
        Int("k", DType::S64),
        Optional(&[Lit(", largest = "), Flag("largest")]),
        Lit(")"),
        Dict,
        Directive::Types(Bare),
    ],
);

/// Operations of other dialects that describe a program rather than compute. [`crate::normalize`] interprets
/// them.
static CALLS: &[Syntax] = &[
    call("check.expect_eq", CHECK, true),
    call("check.expect_eq_const", CHECK_CONST, true),
    call("check.expect_almost_eq", CHECK, true),
    call("check.expect_almost_eq_const", CHECK_CONST, true),
    call("check.expect_close", CHECK_CLOSE, true),
    call("check.expect_close_const", CHECK_CONST, true),
    call("sdy.sharding_constraint", &[Operand, Lit(" "), H(&hooks::SHARDING), Dict, SAME_TYPE], false),
    call("sdy.reshard", &[Operand, Lit(" "), H(&hooks::SHARDING), Dict, SAME_TYPE], false),
    call(
        "sdy.propagation_barrier",
        &[Operand, Lit(" allowed_direction="), H(&hooks::DIRECTION), Dict, SAME_TYPE],
        false,
    ),
    call(
        "sdy.sharding_group",
        &[
            Operand,
            Lit(" group_id="),
            Int("group_id", DType::S64),
            Dict,
            Directive::Types(Types::SameOperands),
        ],
        true,
    ),
    // Operations that StableHLO's interpreter adds for its own tests.
    call("interpreter.run_parallel", GENERIC, true),
    call("interpreter.print", &[Operand, Dict, Directive::Types(Types::SameOperands)], true),
    call(
        "interpreter.probe",
        &[Operand, Lit(", probe_id = "), Directive::Text("probe_id"), Dict, SAME_TYPE],
        true,
    ),
];

const fn call(name: &'static str, form: &'static [Directive], has_side_effect: bool) -> Syntax {
    Syntax { name, form, read: Read::Call { has_side_effect } }
}

/// The pretty forms of the `check` dialect's operations.
const CHECK: &[Directive] = &[
    Operand,
    Lit(", "),
    Operand,
    Optional(&[Lit(", tolerance = "), Float("tolerance")]),
    Dict,
    Directive::Types(Types::SameOperands),
];
const CHECK_CONST: &[Directive] =
    &[Operand, Lit(", "), Value("value"), Optional(&[Lit(", tolerance = "), Float("tolerance")]), Dict];
const CHECK_CLOSE: &[Directive] = &[
    Operand,
    Lit(", "),
    Operand,
    Optional(&[Lit(", max_ulp_difference = "), Int("max_ulp_difference", DType::S64)]),
    Optional(&[Lit(", min_ulp_difference = "), Int("min_ulp_difference", DType::S64)]),
    Dict,
    Directive::Types(Types::Operands),
];

impl Syntax {
    /// True if the pretty form begins with operands.
    pub(super) fn takes_operands_first(&self) -> bool {
        let first = self.form.iter().find(|directive| !matches!(directive, PrefixDict));
        matches!(first, Some(Operand | Operands))
    }

    /// The custom call that represents an operation of another dialect.
    pub(super) fn call(&self) -> Option<CustomCall> {
        match self.read {
            Read::Call { has_side_effect } => {
                Some(CustomCall { has_side_effect, ..CustomCall::new(self.name) })
            }
            _ => None,
        }
    }

    /// The entry of the operation that a custom call was read from; `None` for other custom calls.
    pub(super) fn of_call(call: &CustomCall) -> Option<&'static Syntax> {
        lookup(&call.target).filter(|syntax| syntax.call().is_some_and(|c| c == *call))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::attributes;
    use crate::op::info;

    /// Names that are read as another operation.
    const OTHER_NAMES: [&str; 2] = ["func.return", "chlo.constant"];

    #[test]
    fn every_operation_is_declared_once_and_has_a_form() {
        let declared: Vec<&str> = info::all().map(|op| op.name).collect();
        let once: BTreeSet<&str> = declared.iter().copied().collect();
        assert_eq!(declared.len(), once.len(), "an operation is declared twice");
        let written: BTreeSet<&str> = names()
            .filter(|name| TABLE[name].call().is_none())
            .filter(|name| !OTHER_NAMES.contains(name))
            .collect();
        assert_same(&once, &written);
        assert_eq!(TABLE.len(), ELEMENTWISE_COUNT + OPS.len() + CALLS.len());
        let read = names().filter(|name| TABLE[name].call().is_none());
        assert_same(&read.collect(), &attributes::names().collect());
    }

    /// Asserts that two sets are equal. Reports only the differences, because the sets have hundreds of
    /// names.
    #[track_caller]
    fn assert_same(left: &BTreeSet<&str>, right: &BTreeSet<&str>) {
        let only =
            |a: &BTreeSet<&str>, b: &BTreeSet<&str>| a.difference(b).copied().collect::<Vec<_>>().join(", ");
        assert!(left == right, "only left: {}; only right: {}", only(left, right), only(right, left));
    }

    #[test]
    #[should_panic(expected = "only left: a; only right: c, d")]
    fn sets_that_differ_are_told_by_their_difference() {
        assert_same(&["a", "b"].into(), &["b", "c", "d"].into());
    }

    /// Number of unary, binary and broadcasting forms. All binary operations but one have a broadcasting
    /// form.
    const ELEMENTWISE_COUNT: usize = Unary::VARIANTS.len() + 2 * Binary::VARIANTS.len() - 1;
}
