//! The syntax table: one entry for each operation.
//!
//! An entry has the operation's name, from the operation table ([`crate::op::table`]), and its pretty form, a
//! list of [`Directive`]s; [`crate::attributes`] creates the operation from its attributes. Both the parser
//! (`inst`) and the printer (`print`) interpret the list, so the parser reads everything that the printer
//! writes. An entry without directives has only MLIR's generic form. Syntax that a list cannot express is a
//! [hook](super::hooks).

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use farcall_sig::DType;

use super::hooks;
use super::syntax::{Directive, Read, Syntax, Types};
use crate::op::{Binary, CustomCall, FormOpcode, Opcode};

/// Looks up an operation by its full name.
pub(super) fn lookup(name: &str) -> Option<&'static Syntax> {
    TABLE.get(name).copied()
}

/// Names of all operations.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

/// The entry of the operation of another dialect that a custom call represents; `None` for other custom
/// calls.
pub(super) fn of_call(call: &CustomCall) -> Option<&'static Syntax> {
    lookup(&call.target).filter(|syntax| syntax.call().is_some_and(|c| c == *call))
}

static TABLE: LazyLock<FxHashMap<&'static str, &'static Syntax>> = LazyLock::new(|| {
    static OPS: LazyLock<Vec<Syntax>> = LazyLock::new(|| {
        let form_of = |name, op| if name == FUNC_RETURN { FUNC_RETURN_FORM } else { form(op) };
        Opcode::names().map(|(name, op)| syntax(name, form_of(name, op))).collect()
    });
    OPS.iter().chain(CALLS).map(|s| (s.name, s)).collect()
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

/// Name of the operation that ends a function.
const FUNC_RETURN: &str = "func.return";
/// MLIR prints the attributes first. Attributes after the operands are accepted, too.
const FUNC_RETURN_FORM: &[Directive] = &[PrefixDict, Operands, Dict, Directive::Types(Types::Operands)];

const fn syntax(name: &'static str, form: &'static [Directive]) -> Syntax {
    Syntax { name, form, read: Read::Op }
}

/// Returns the pretty form of an operation.
fn form(op: Opcode) -> &'static [Directive] {
    match op {
        Opcode::Unary(op) if op.is_chlo() => CHLO_UNARY,
        Opcode::Unary(_) => UNARY,
        Opcode::Binary(Binary::Complex) => COMPLEX,
        Opcode::Binary(op) if op.is_chlo() => CHLO_BINARY,
        Opcode::Binary(_) => BINARY,
        Opcode::Broadcasting(_) => BROADCASTING,
        // elementwise
        Opcode::Compare => &[
            Keyword("comparison_direction", "comparison_direction"),
            Lit(", "),
            Operand,
            Lit(", "),
            Operand,
            Optional(&[Lit(", "), Keyword("compare_type", "comparison_type")]),
            Dict,
            FUNCTION,
        ],
        Opcode::Select => &[Operand, Lit(", "), Operand, Lit(", "), Operand, Dict, Directive::Types(Select)],
        Opcode::Clamp => &[Operand, Lit(", "), Operand, Lit(", "), Operand, Dict, SAME_TYPE],
        Opcode::Convert => UNARY,
        Opcode::BitcastConvert => ONE_OPERAND,
        Opcode::Copy | Opcode::Form(FormOpcode::Copy) => UNARY,
        Opcode::ReducePrecision => {
            const { &[Operand, Lit(", format = "), H(&hooks::FLOAT_FORMAT), Dict, SAME_TYPE] }
        }
        Opcode::UniformQuantize => ONE_OPERAND,
        Opcode::UniformDequantize => ONE_OPERAND,
        // data
        Opcode::Constant => const { &[H(&hooks::CONSTANT)] },
        Opcode::Iota => {
            &[Lit("dim = "), Int("iota_dimension", DType::S64), Dict, Directive::Types(ResultType)]
        }
        Opcode::DynamicIota => &[Operand, Lit(", dim = "), Int("iota_dimension", DType::S64), Dict, FUNCTION],
        Opcode::BroadcastInDim => &[Operand, Lit(", dims = "), Ints("broadcast_dimensions"), Dict, FUNCTION],
        Opcode::DynamicBroadcastInDim => {
            &[Operand, Lit(", "), Operand, Lit(", dims = "), Ints("broadcast_dimensions"), Dict, FUNCTION]
        }
        Opcode::Reshape => ONE_OPERAND,
        Opcode::DynamicReshape => CALL_LIKE,
        Opcode::Transpose => &[Operand, Lit(", dims = "), Ints("permutation"), Dict, FUNCTION],
        Opcode::Slice => const { &[Operand, Lit(" "), H(&hooks::SLICE), Dict, FUNCTION] },
        Opcode::Concatenate => &[Operands, Lit(", dim = "), Int("dimension", DType::S64), Dict, FUNCTION],
        Opcode::Pad => &[
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
        Opcode::DynamicPad => CALL_LIKE,
        Opcode::Reverse => &[Operand, Lit(", dims = "), Ints("dimensions"), Dict, SAME_TYPE],
        Opcode::GetDimensionSize => &[Operand, Lit(", dim = "), Int("dimension", DType::S64), Dict, FUNCTION],
        Opcode::SetDimensionSize => {
            &[Operand, Lit(", "), Operand, Lit(", dim = "), Int("dimension", DType::S64), Dict, FUNCTION]
        }
        // indexing: for a tensor of rank 0, which has no start indices, both commas are still written.
        Opcode::DynamicSlice => {
            &[Operand, Lit(", "), Operands, Lit(", sizes = "), Ints("slice_sizes"), Dict, FUNCTION]
        }
        Opcode::DynamicUpdateSlice => CALL_LIKE,
        Opcode::RealDynamicSlice => CALL_LIKE,
        // reduction
        Opcode::Reduce => const { &[H(&hooks::REDUCE)] },
        Opcode::Scan => const { &[H(&hooks::SCAN)] },
        Opcode::TopK => &[
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
        // contraction
        Opcode::DotGeneral => {
            const { &[Operand, Lit(", "), Operand, Lit(", "), H(&hooks::DOT_DIMS), Dict, FUNCTION] }
        }
        Opcode::Convolution => {
            const {
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
                ]
            }
        }
        // linalg
        Opcode::Cholesky => &[Operand, Optional(&[Lit(", lower = "), Flag("lower")]), Dict, SAME_TYPE],
        Opcode::Fft => &[
            Operand,
            Lit(", type = "),
            Keyword("fft_type", "fft_type"),
            Lit(", length = "),
            Ints("fft_length"),
            Dict,
            FUNCTION,
        ],
        // random
        Opcode::RngBitGenerator => {
            &[Operand, Lit(", algorithm = "), Keyword("rng_algorithm", "rng_algorithm"), Dict, FUNCTION]
        }
        Opcode::Rng => &[
            Operands,
            Lit(", distribution = "),
            Keyword("rng_distribution", "rng_distribution"),
            Dict,
            FUNCTION,
        ],
        // control
        Opcode::While => const { &[H(&hooks::WHILE)] },
        Opcode::Call => &[Symbol("callee"), Lit("("), Operands, Lit(")"), Dict, FUNCTION],
        Opcode::Composite => &[Text("name"), Lit(" "), Operands, Dict, FUNCTION],
        Opcode::Return => &[Operands, Dict, Directive::Types(Types::Operands)],
        // As for `func.return`, MLIR prints the attributes first.
        Opcode::OptimizationBarrier => &[PrefixDict, Operands, Dict, Directive::Types(Pairs)],
        Opcode::AfterAll => &[Operands, Dict, SAME_TYPE],
        Opcode::CreateToken => &[Dict, Directive::Types(ResultType)],
        Opcode::Tuple => &[Operands, Dict, Directive::Types(Tuple)],
        Opcode::GetTupleElement => &[Operand, Lit("["), Int("index", DType::S32), Lit("]"), Dict, FUNCTION],
        Opcode::PartitionId => &[Dict, Directive::Types(ResultType)],
        Opcode::ReplicaId => &[Dict, Directive::Types(ResultType)],
        // derived
        Opcode::Broadcast => &[Operand, Lit(", sizes = "), Ints("broadcast_sizes"), Dict, FUNCTION],
        Opcode::BroadcastCompare => BROADCASTING,
        Opcode::BroadcastSelect => &[Operand, Lit(", "), Operand, Lit(", "), Operand, Dict, FUNCTION],
        Opcode::Dot => const { &[Operand, Lit(", "), Operand, H(&hooks::PRECISION), Dict, FUNCTION] },
        Opcode::Einsum => {
            &[Operand, Lit(", "), Operand, Lit(", config = "), Text("einsum_config"), Dict, FUNCTION]
        }
        Opcode::UnaryEinsum => &[Operand, Lit(", config = "), Text("einsum_config"), Dict, FUNCTION],
        Opcode::SinCos => CHLO_UNARY,
        // call
        Opcode::CustomCall => &[Target("call_target_name"), Lit("("), Operands, Lit(")"), Dict, FUNCTION],
        // Operations without a pretty form.
        Opcode::Gather
        | Opcode::DynamicGather
        | Opcode::Scatter
        | Opcode::ReduceWindow
        | Opcode::SelectAndScatter
        | Opcode::Map
        | Opcode::Sort
        | Opcode::DynamicConvolution
        | Opcode::TriangularSolve
        | Opcode::If
        | Opcode::Case
        | Opcode::AsyncStart
        | Opcode::AsyncDone
        | Opcode::Infeed
        | Opcode::Outfeed
        | Opcode::Send
        | Opcode::Recv
        | Opcode::AllGather
        | Opcode::AllReduce
        | Opcode::ReduceScatter
        | Opcode::AllToAll
        | Opcode::CollectiveBroadcast
        | Opcode::CollectiveReduce
        | Opcode::CollectivePermute
        | Opcode::ConstantLike
        | Opcode::TorchIndexSelect
        | Opcode::BatchNormInference
        | Opcode::BatchNormTraining
        | Opcode::BatchNormGrad
        | Opcode::RaggedDot
        | Opcode::Form(
            FormOpcode::Fusion
            | FormOpcode::PartialSort
            | FormOpcode::WrappingGather
            | FormOpcode::WrappingScatter,
        ) => GENERIC,
    }
}

/// MHLO's `top_k`, which has an attribute `largest`.
pub(super) static MHLO_TOP_K: Syntax = syntax(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a function with the name of each attribute in a form.
    fn each_attribute(form: &[Directive], found: &mut impl FnMut(&'static str)) {
        for directive in form {
            match directive {
                Ints(name)
                | Int(name, _)
                | Flag(name)
                | Float(name)
                | Keyword(name, _)
                | Symbol(name)
                | Target(name)
                | Text(name)
                | Value(name) => found(name),
                Optional(form) => each_attribute(form, found),
                Lit(_) | Operand | Operands | Dict | PrefixDict | Directive::Types(_) | H(_) => {}
            }
        }
    }

    #[test]
    fn forms_use_declared_attributes() {
        // The operation does not declare this attribute; the parser keeps it with the instruction.
        let preserved = [(Opcode::TopK, "is_stable")];
        for op in Opcode::all() {
            each_attribute(form(op), &mut |name| {
                let is_declared = op.info().attribute_names().any(|declared| declared == name);
                assert!(
                    is_declared || preserved.contains(&(op, name)),
                    "{}: attribute {name} is not declared",
                    op.info().name
                );
            });
        }
    }

    #[test]
    fn names_of_other_dialects_are_no_operations() {
        assert_eq!(TABLE.len(), Opcode::names().count() + CALLS.len());
        assert!(CALLS.iter().all(|call| Opcode::named(call.name).is_none()));
    }
}
