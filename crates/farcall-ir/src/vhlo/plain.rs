//! Decodes StableHLO in plain MLIR bytecode (`.mlirbc`): the dialect's own attributes and types, and the
//! properties of its operations, which have no versions. This is the encoding of StableHLO 1.0 and later.

use super::attr::{self, Enumeration, words, written};
use super::table::Table;
use super::ty::Ty;
use super::types::{BOUNDS, bounds_text};
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Reading};
use crate::op::Opcode;
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
pub(super) fn attr<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
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
        TYPE_EXTENSIONS => Ok(Attribute::dialect(BOUNDS, bounds_text(&from.list(Cursor::signed)?))),
        ALIAS => attr::alias(from),
        RESULT_ACCURACY => attr::result_accuracy(table, from),
        _ => Err(before.error("unsupported", format!("a StableHLO attribute with the unknown code {code}"))),
    }
}

/// Decodes `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` from three pairs of named dimensions, each with its
/// spatial dimensions.
fn convolution(from: &mut Cursor<'_>, before: &Cursor<'_>) -> Reading<Attribute> {
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

/// Names of the properties of an operation that is encoded with `count` properties, in order. The names are
/// those of its attributes in the operation table ([`crate::op::table`]). Names of optional properties end
/// with `?`. Older versions may lack some of the last properties. `None` for an operation without properties.
pub(super) fn properties(dialect: &str, name: &str, count: usize) -> Option<&'static [&'static str]> {
    Some(match (dialect, name) {
        ("builtin", "module") => &["sym_name?", "sym_visibility?"],
        ("sdy", "mesh") => &["mesh", "sym_name"],
        ("sdy", "sharding_constraint") => &["sharding"],
        ("sdy", "sharding_group") => &["group_id"],
        ("sdy", "manual_computation") => &["in_shardings", "manual_axes", "out_shardings"],
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

/// Maximum length of an operation's name.
const MAX_NAME_BYTES: usize = 64;

fn stablehlo(name: &str) -> Option<&'static [&'static str]> {
    match name {
        // These are all properties except `has_dynamic_root`, which StableHLO 1.20 adds.
        "collective_broadcast" => Some(&["channel_handle?", "replica_groups"]),
        _ if name.len() > MAX_NAME_BYTES => None,
        _ => {
            let op = Opcode::named(&format!("stablehlo.{name}"))?;
            Some(op.info().attributes).filter(|attributes| !attributes.is_empty())
        }
    }
}
