//! Decodes StableHLO in plain MLIR bytecode (`.mlirbc`): the dialect's own attributes and types, and the
//! properties of its operations, which have no versions. This is the encoding of StableHLO 1.0 and later.

use super::attr::{self, Enumeration, words, written};
use super::table::Table;
use super::types::{BOUNDS, Ty, bounds_text};
use crate::attr::Attr;
use crate::bytecode::{Cursor, Reading};
use crate::types::Type;

/// Enumerations, by their codes.
static ENUMS: &[Enumeration] = &[
    words(2, "comparison_direction", &["EQ", "NE", "GE", "GT", "LE", "LT"]),
    words(3, "comparison_type", &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]),
    words(6, "fft_type", &["FFT", "IFFT", "RFFT", "IRFFT"]),
    words(8, "precision", &["DEFAULT", "HIGH", "HIGHEST"]),
    words(9, "rng_algorithm", &["DEFAULT", "THREE_FRY", "PHILOX"]),
    words(10, "rng_distribution", &["", "UNIFORM", "NORMAL"]),
    words(12, "transpose", &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]),
    words(16, "result_accuracy_mode", &["DEFAULT", "HIGHEST", "TOLERANCE"]),
];

const CHANNEL: u64 = 1;
const CONVOLUTION: u64 = 4;
const DOT: u64 = 5;
const GATHER: u64 = 7;
const SCATTER: u64 = 11;
const TYPE_EXTENSIONS: u64 = 13;
const ALIAS: u64 = 14;
const DOT_ALGORITHM: u64 = 15;
const RESULT_ACCURACY: u64 = 17;

/// A parameter of an attribute: its kind, and its name in text.
enum Param {
    Number(&'static str),
    List(&'static str),
    Type(&'static str),
    Flag(&'static str),
}

use Param::{Flag, List, Number};

/// Attributes that consist of a list of parameters: the name, and the parameters in the order of their
/// encoding.
fn parameters(code: u64) -> Option<(&'static str, &'static [Param])> {
    Some(match code {
        CHANNEL => ("stablehlo.channel_handle", &[Number("handle"), Number("type")]),
        DOT => (
            "stablehlo.dot",
            &[
                List("lhs_batching_dimensions"),
                List("rhs_batching_dimensions"),
                List("lhs_contracting_dimensions"),
                List("rhs_contracting_dimensions"),
            ],
        ),
        GATHER => (
            "stablehlo.gather",
            &[
                List("offset_dims"),
                List("collapsed_slice_dims"),
                List("operand_batching_dims"),
                List("start_indices_batching_dims"),
                List("start_index_map"),
                Number("index_vector_dim"),
            ],
        ),
        SCATTER => (
            "stablehlo.scatter",
            &[
                List("update_window_dims"),
                List("inserted_window_dims"),
                List("input_batching_dims"),
                List("scatter_indices_batching_dims"),
                List("scatter_dims_to_operand_dims"),
                Number("index_vector_dim"),
            ],
        ),
        DOT_ALGORITHM => (
            "stablehlo.dot_algorithm",
            &[
                Param::Type("lhs_precision_type"),
                Param::Type("rhs_precision_type"),
                Param::Type("accumulation_type"),
                Number("lhs_component_count"),
                Number("rhs_component_count"),
                Number("num_primitive_operations"),
                Flag("allow_imprecise_accumulation"),
            ],
        ),
        _ => return None,
    })
}

/// Decodes an attribute of the dialect `stablehlo`.
pub(super) fn attr<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attr> {
    let before = *from;
    let code = from.number()?;
    if let Some(kind) = ENUMS.iter().find(|e| e.code == code) {
        return attr::word(kind, from, &before);
    }
    if let Some((name, params)) = parameters(code) {
        let mut parts = Vec::new();
        for param in params {
            parts.push(match param {
                Number(key) => format!("{key} = {}", from.signed()?),
                List(key) => format!("{key} = {:?}", from.list(Cursor::signed)?),
                Param::Type(key) => format!("{key} = {}", table.ty(from)?),
                Flag(key) => format!("{key} = {}", from.byte()? != 0),
            });
        }
        return written(name, parts.join(", "), &before);
    }
    match code {
        CONVOLUTION => convolution(from, &before),
        TYPE_EXTENSIONS => Ok(Attr::dialect(BOUNDS, bounds_text(&from.list(Cursor::signed)?))),
        ALIAS => attr::alias(from),
        RESULT_ACCURACY => attr::result_accuracy(table, from),
        _ => Err(before.error("unsupported", format!("a StableHLO attribute with the unknown code {code}"))),
    }
}

/// Decodes `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` from three pairs of named dimensions, each with its
/// spatial dimensions.
fn convolution(from: &mut Cursor<'_>, before: &Cursor<'_>) -> Reading<Attr> {
    let mut sides = Vec::new();
    for names in [["b", "f"], ["i", "o"], ["b", "f"]] {
        let named = [from.signed()?, from.signed()?];
        let spatial = from.list(Cursor::signed)?;
        let mut labels = vec![String::new(); spatial.len() + 2];
        let names = names.map(str::to_owned).into_iter().chain((0..spatial.len()).map(|i| i.to_string()));
        for (dim, name) in named.into_iter().chain(spatial).zip(names) {
            match usize::try_from(dim).ok().and_then(|dim| labels.get_mut(dim)) {
                Some(label) => *label = name,
                None => return before.damaged(format!("a convolution has no dimension {dim}")),
            }
        }
        sides.push(format!("[{}]", labels.join(", ")));
    }
    written("stablehlo.conv", format!("{}x{}->{}", sides[0], sides[1], sides[2]), before)
}

/// Decodes a type of the dialect `stablehlo`.
pub(super) fn ty(from: &mut Cursor<'_>) -> Reading<Ty> {
    let before = *from;
    match from.number()? {
        0 => Ok(Ty::Whole(Type::Token)),
        code => Err(before.error("unsupported", format!("a StableHLO type with the unknown code {code}"))),
    }
}

/// Names of an operation's `count` properties, in order. Names of optional properties end with `?`; older
/// versions lack some of the last ones. `None` for an operation whose properties are not known.
pub(super) fn properties(dialect: &str, name: &str, count: usize) -> Option<&'static [&'static str]> {
    Some(match (dialect, name) {
        ("builtin", "module") => &["sym_name?", "sym_visibility?"],
        ("sdy", "mesh") => &["mesh", "sym_name"],
        ("sdy", "sharding_constraint") => &["sharding"],
        ("sdy", "sharding_group") => &["group_id"],
        ("func", "func") if count <= 5 => {
            &["arg_attrs?", "function_type", "res_attrs?", "sym_name", "sym_visibility?"]
        }
        ("func", "func") => {
            &["arg_attrs?", "function_type", "no_inline?", "res_attrs?", "sym_name", "sym_visibility?"]
        }
        ("func", "call") => &["arg_attrs?", "callee", "no_inline?", "res_attrs?"],
        ("chlo", "top_k") => &["k"],
        ("stablehlo", name) => stablehlo(name)?,
        _ => return None,
    })
}

fn stablehlo(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "all_gather" => &["all_gather_dim", "channel_handle?", "replica_groups", "use_global_device_ids?"],
        "all_reduce" => &["channel_handle?", "replica_groups", "use_global_device_ids?"],
        "all_to_all" => {
            &["channel_handle?", "concat_dimension", "replica_groups", "split_count", "split_dimension"]
        }
        "batch_norm_grad" | "batch_norm_inference" | "batch_norm_training" => &["epsilon", "feature_index"],
        "broadcast" => &["broadcast_sizes"],
        "broadcast_in_dim" => &["broadcast_dimensions"],
        "cholesky" => &["lower?"],
        "collective_broadcast" => &["channel_handle?", "replica_groups"],
        "collective_permute" => &["channel_handle?", "source_target_pairs"],
        "compare" => &["compare_type?", "comparison_direction"],
        "composite" => &["composite_attributes?", "decomposition", "name", "version?"],
        "concatenate" | "get_dimension_size" | "set_dimension_size" => &["dimension"],
        "constant" => &["value"],
        "convolution" | "dynamic_conv" => &[
            "batch_group_count",
            "dimension_numbers",
            "feature_group_count",
            "lhs_dilation?",
            "padding?",
            "precision_config?",
            "rhs_dilation?",
            "window_reversal?",
            "window_strides?",
        ],
        "custom_call" => &[
            "api_version?",
            "backend_config?",
            "call_target_name",
            "called_computations?",
            "has_side_effect?",
            "operand_layouts?",
            "output_operand_aliases?",
            "result_layouts?",
            "result_tilings?",
        ],
        "dot" => &["precision_config?"],
        "dot_general" => &["algorithm?", "dot_dimension_numbers", "precision_config?"],
        "dynamic_broadcast_in_dim" => {
            &["broadcast_dimensions", "known_expanding_dimensions?", "known_nonexpanding_dimensions?"]
        }
        "dynamic_gather" => &["dimension_numbers", "indices_are_sorted?"],
        "dynamic_iota" | "iota" => &["iota_dimension"],
        "dynamic_slice" => &["slice_sizes"],
        "einsum" | "unary_einsum" => &["einsum_config"],
        "fft" => &["fft_length", "fft_type"],
        "gather" => &["dimension_numbers", "indices_are_sorted?", "slice_sizes"],
        "get_tuple_element" => &["index"],
        "infeed" => &["infeed_config?", "layout?"],
        "map" | "reduce" | "reverse" => &["dimensions"],
        "outfeed" => &["outfeed_config?"],
        "pad" => &["edge_padding_high", "edge_padding_low", "interior_padding"],
        "recv" | "send" => &["channel_handle", "is_host_transfer?", "source_target_pairs?"],
        "reduce_precision" => &["exponent_bits", "mantissa_bits"],
        "reduce_scatter" => {
            &["channel_handle?", "replica_groups", "scatter_dimension", "use_global_device_ids?"]
        }
        "reduce_window" => {
            &["base_dilations?", "padding?", "window_dilations?", "window_dimensions", "window_strides?"]
        }
        "rng" => &["rng_distribution"],
        "rng_bit_generator" => &["rng_algorithm"],
        "scatter" => &["indices_are_sorted?", "scatter_dimension_numbers", "unique_indices?"],
        "select_and_scatter" => &["padding?", "window_dimensions?", "window_strides?"],
        "slice" => &["limit_indices", "start_indices", "strides"],
        "sort" => &["dimension?", "is_stable?"],
        "torch_index_select" => &["batch_dims", "dim"],
        "transpose" => &["permutation"],
        "triangular_solve" => &["left_side", "lower", "transpose_a", "unit_diagonal"],
        "cbrt"
        | "cosine"
        | "exponential"
        | "exponential_minus_one"
        | "log"
        | "log_plus_one"
        | "logistic"
        | "rsqrt"
        | "sine"
        | "sqrt"
        | "tan"
        | "tanh" => &["result_accuracy?"],
        _ => return None,
    })
}
