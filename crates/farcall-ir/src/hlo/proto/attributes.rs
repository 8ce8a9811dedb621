//! Writes attributes of instructions and of the header as XLA prints them.

use super::literal::{list, shape};
use super::wire::{Error, Message, Read};
use crate::hlo::attribute_fields::{AttrWriter, braced};
use crate::hlo::cursor::quoted;

/// Writes the attributes of the header: aliases, donors and frontend attributes.
pub(super) fn header(module: &Message<'_>, out: &mut AttrWriter) -> Read<()> {
    if let Some(aliases) = module.message(8)? {
        let mut each = Vec::new();
        for alias in aliases.messages(1)? {
            let (output, path) = (list(&alias.ints(1)?), list(&alias.ints(3)?));
            let kind = if alias.int(4) == 2 { "must-alias" } else { "may-alias" };
            each.push(format!("{{{output}}}: ({}, {{{path}}}, {kind})", alias.int(2)));
        }
        out.list_if("input_output_alias", &each);
    }
    if let Some(donors) = module.message(18)? {
        let mut each = Vec::new();
        for donor in donors.messages(1)? {
            each.push(format!("({}, {{{}}})", donor.int(1), list(&donor.ints(2)?)));
        }
        out.list_if("buffer_donor", &each);
    }
    frontend(module.message(19)?, out)
}

/// Writes the attributes of an instruction. `called` are the computations that it refers to.
pub(super) fn write(inst: &Message<'_>, opcode: &str, called: &[String], out: &mut AttrWriter) -> Read<()> {
    match opcode {
        "iota" => out.put("iota_dimension", inst.ints(14)?.first().copied().unwrap_or(0)),
        "broadcast" | "transpose" | "reverse" | "reduce" | "concatenate" | "sort" | "map" | "all-gather"
        | "all-gather-start" | "all-to-all" | "reduce-scatter" | "get-dimension-size"
        | "set-dimension-size" | "scan" => {
            let dims = inst.ints(14)?;
            // An all-to-all of one operand for each participant has no dimensions.
            if opcode != "all-to-all" || !dims.is_empty() {
                out.list("dimensions", &dims);
            }
        }
        "get-tuple-element" => out.put("index", inst.int(13)),
        "compare" => {
            out.put("direction", inst.text(63));
            // Other comparison types follow from the operands' type, so XLA leaves them out of the text.
            if inst.text(72) == "TOTALORDER" {
                out.put("type", "TOTALORDER");
            }
        }
        "dot" | "scaled-dot" => dot(inst.message(30)?, out)?,
        "ragged-dot" => {
            if let Some(dims) = inst.message(90)? {
                dot(dims.message(1)?, out)?;
                out.list_if("lhs_ragged_dims", &dims.ints(2)?);
                out.list_if("rhs_group_dims", &dims.ints(3)?);
            }
        }
        "convolution" => convolution(inst, out)?,
        "reduce-window" | "select-and-scatter" => window(inst, out)?,
        "slice" => {
            let range = |dim: &Message<'_>| format!("[{}:{}:{}]", dim.int(1), dim.int(2), dim.int(3).max(1));
            out.list("slice", &inst.messages(17)?.iter().map(range).collect::<Vec<_>>());
        }
        "dynamic-slice" => out.list("dynamic_slice_sizes", &inst.ints(20)?),
        "pad" => {
            let dims = inst.message(21)?.map_or(Ok(Vec::new()), |padding| padding.messages(1))?;
            let dim = |d: &Message<'_>| format!("{}_{}_{}", d.int(1), d.int(2), d.int(3));
            if !dims.is_empty() {
                out.put("padding", dims.iter().map(dim).collect::<Vec<_>>().join("x"));
            }
        }
        "gather" | "scatter" => indices(inst, opcode, out)?,
        "fft" => {
            out.put("fft_type", enumerator(inst, 31, &["FFT", "IFFT", "RFFT", "IRFFT"])?);
            out.list("fft_length", &inst.ints(32)?);
        }
        "triangular-solve" => {
            if let Some(options) = inst.message(59)? {
                for (key, field) in [("left_side", 1), ("lower", 2), ("unit_diagonal", 3)] {
                    out.put(key, options.bool(field));
                }
                let names = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
                out.put("transpose_a", enumerator(&options, 4, &names)?);
            }
        }
        "cholesky" => out.put("lower", inst.message(62)?.is_some_and(|options| options.bool(1))),
        "rng" => {
            out.put("distribution", enumerator(inst, 23, &["rng_invalid", "rng_uniform", "rng_normal"])?)
        }
        "rng-bit-generator" => {
            out.put("algorithm", enumerator(inst, 70, &["rng_default", "rng_three_fry", "rng_philox"])?);
        }
        "rng-get-and-update-state" => out.put("delta", inst.int(66)),
        "reduce-precision" => {
            out.put("exponent_bits", inst.int(18));
            out.put("mantissa_bits", inst.int(19));
        }
        "batch-norm-training" | "batch-norm-inference" | "batch-norm-grad" => {
            out.put("epsilon", f32::from_bits(inst.bits32(24)));
            out.put("feature_index", inst.int(25));
        }
        "infeed" => out.put("infeed_config", quoted(inst.bytes(27))),
        "outfeed" => {
            if let Some(sent) = inst.message(29)? {
                out.put("outfeed_shape", shape(&sent)?);
            }
            out.put("outfeed_config", quoted(inst.bytes(22)));
        }
        "send" | "recv" | "send-done" | "recv-done" => out.flag("is_host_transfer", inst.bool(47)),
        "topk" => {
            out.put("k", inst.int(81));
            out.put("largest", inst.bool(85));
        }
        "custom-call" => custom_call(inst, out)?,
        _ => {}
    }
    if opcode == "scan" {
        out.put("num_carries", inst.int(95));
        out.flag("is_reverse", inst.bool(94));
        if inst.int(96) != 0 {
            out.put("is_associative", inst.int(96) == 1);
        }
    }
    if matches!(opcode, "sort") {
        out.flag("is_stable", inst.bool(60));
    }
    collective(inst, opcode, out)?;
    computations(opcode, called, out);
    common(inst, opcode, out)
}

/// Returns the name of an enumerator.
fn enumerator<'n>(message: &Message<'_>, field: u32, names: &[&'n str]) -> Read<&'n str> {
    let number = message.int(field);
    match usize::try_from(number).ok().and_then(|n| names.get(n)) {
        Some(name) => Ok(name),
        None => Err(Error::new(message.at, format!("field {field} has the unknown value {number}"))),
    }
}

fn precision(inst: &Message<'_>, out: &mut AttrWriter) -> Read<()> {
    let Some(config) = inst.message(51)? else { return Ok(()) };
    let operands = config.ints(1)?;
    if operands.iter().any(|p| *p != 0) {
        let name = |p: &i64| ["default", "high", "highest"].get(usize::try_from(*p).unwrap_or(0)).copied();
        let names: Vec<&str> = operands.iter().map(|p| name(p).unwrap_or("default")).collect();
        out.list("operand_precision", &names);
    }
    const ALGORITHMS: [&str; 14] = [
        "dot_unset",
        "dot_any_f8_any_f8_f32",
        "dot_any_f8_any_f8_f32_fast_accum",
        "dot_f16_f16_f16",
        "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16",
        "dot_bf16_bf16_f32",
        "dot_bf16_bf16_f32_x3",
        "dot_bf16_bf16_f32_x6",
        "dot_tf32_tf32_f32",
        "dot_tf32_tf32_f32_x3",
        "dot_f32_f32_f32",
        "dot_f64_f64_f64",
        "dot_bf16_bf16_f32_x9",
    ];
    if config.int(2) != 0 {
        out.put("algorithm", enumerator(&config, 2, &ALGORITHMS)?);
    }
    Ok(())
}

fn dot(dims: Option<Message<'_>>, out: &mut AttrWriter) -> Read<()> {
    let Some(dims) = dims else { return Ok(()) };
    out.list_if("lhs_batch_dims", &dims.ints(3)?);
    out.list_if("lhs_contracting_dims", &dims.ints(1)?);
    out.list_if("rhs_batch_dims", &dims.ints(4)?);
    out.list_if("rhs_contracting_dims", &dims.ints(2)?);
    Ok(())
}

fn window(inst: &Message<'_>, out: &mut AttrWriter) -> Read<()> {
    let dims = inst.message(15)?.map_or(Ok(Vec::new()), |window| window.messages(1))?;
    if dims.is_empty() {
        return Ok(());
    }
    let each = |text: &dyn Fn(&Message<'_>) -> String| dims.iter().map(text).collect::<Vec<_>>().join("x");
    let count = |field: u32, least: i64| each(&|d| d.int(field).max(least).to_string());
    let parts = [
        format!("size={}", count(1, 0)),
        format!("stride={}", count(2, 1)),
        format!("pad={}", each(&|d| format!("{}_{}", d.int(3), d.int(4)))),
        format!("lhs_dilate={}", count(6, 1)),
        format!("rhs_dilate={}", count(5, 1)),
        format!("rhs_reversal={}", each(&|d| u8::from(d.bool(7)).to_string())),
    ];
    out.put("window", format_args!("{{{}}}", parts.join(" ")));
    Ok(())
}

fn convolution(inst: &Message<'_>, out: &mut AttrWriter) -> Read<()> {
    window(inst, out)?;
    let Some(dims) = inst.message(16)? else {
        return Err(Error::new(inst.at, "the convolution has no dimension numbers"));
    };
    let side = |named: [(u32, char); 2], spatial: u32| -> Read<String> {
        let spatial = dims.ints(spatial)?;
        let mut labels = vec!['?'; spatial.len() + 2];
        let digits = (0u32..).filter_map(|d| char::from_digit(d, 10));
        let named = named.map(|(field, label)| (dims.int(field), label));
        for (dim, label) in named.into_iter().chain(spatial.into_iter().zip(digits)) {
            match usize::try_from(dim).ok().and_then(|dim| labels.get_mut(dim)) {
                Some(place) => *place = label,
                None => return Err(Error::new(dims.at, format!("convolution has no dimension {dim}"))),
            }
        }
        Ok(labels.into_iter().collect())
    };
    let labels =
        [side([(7, 'b'), (8, 'f')], 11)?, side([(3, 'i'), (4, 'o')], 6)?, side([(9, 'b'), (10, 'f')], 12)?];
    out.put("dim_labels", format_args!("{}_{}->{}", labels[0], labels[1], labels[2]));
    out.put("feature_group_count", inst.int(50).max(1));
    out.put("batch_group_count", inst.int(58).max(1));
    Ok(())
}

fn indices(inst: &Message<'_>, opcode: &str, out: &mut AttrWriter) -> Read<()> {
    let (field, keys) = match opcode {
        "gather" => (
            33,
            [
                "offset_dims",
                "collapsed_slice_dims",
                "start_index_map",
                "operand_batching_dims",
                "start_indices_batching_dims",
            ],
        ),
        _ => (
            48,
            [
                "update_window_dims",
                "inserted_window_dims",
                "scatter_dims_to_operand_dims",
                "input_batching_dims",
                "scatter_indices_batching_dims",
            ],
        ),
    };
    if let Some(dims) = inst.message(field)? {
        for (key, field) in keys.into_iter().zip([1, 2, 3, 5, 6]) {
            out.list(key, &dims.ints(field)?);
        }
        out.put("index_vector_dim", dims.int(4));
    }
    if opcode == "gather" {
        out.list("slice_sizes", &inst.ints(34)?);
    } else {
        out.flag("unique_indices", inst.bool(69));
    }
    out.flag("indices_are_sorted", inst.bool(67));
    Ok(())
}

/// Writes groups of devices, pairs and channels.
fn collective(inst: &Message<'_>, opcode: &str, out: &mut AttrWriter) -> Read<()> {
    if inst.int(26) > 0 {
        out.put("channel_id", inst.int(26));
    }
    let lists = match inst.message(87)? {
        Some(list) => list.messages(1)?,
        None => inst.messages(49)?,
    };
    if let Some(iota) = inst.message(92)? {
        let shape = [iota.int(1), iota.int(2)];
        let order = iota.ints(4)?;
        let turned = if order.is_empty() { String::new() } else { format!("T({})", list(&order)) };
        out.put("replica_groups", format_args!("[{}]<=[{}]{turned}", list(&shape), list(&iota.ints(3)?)));
    } else if inst.has(93) {
        return Err(Error::new(inst.at, "replica groups that are named by axes of a mesh are not supported"));
    } else {
        let groups = lists.iter().map(|group| Ok(braced(&group.ints(1)?))).collect::<Read<Vec<_>>>()?;
        out.list_if("replica_groups", &groups);
    }
    out.flag("use_global_device_ids", inst.bool(71));
    if matches!(opcode, "collective-permute" | "collective-permute-start") {
        let pairs = inst.messages(52)?;
        let pairs: Vec<String> = pairs.iter().map(|pair| braced(&[pair.int(1), pair.int(2)])).collect();
        out.list("source_target_pairs", &pairs);
    }
    Ok(())
}

fn custom_call(inst: &Message<'_>, out: &mut AttrWriter) -> Read<()> {
    out.put("custom_call_target", quoted(inst.bytes(28)));
    if inst.bool(56) {
        let shapes = inst.messages(57)?.iter().map(shape).collect::<Read<Vec<_>>>()?;
        out.put("operand_layout_constraints", format_args!("{{{}}}", shapes.join(", ")));
    }
    out.flag("custom_call_has_side_effect", inst.bool(65));
    const VERSIONS: [&str; 5] = [
        "API_VERSION_UNSPECIFIED",
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ];
    // A call without a version uses the original interface.
    if inst.int(77) > 1 {
        out.put("api_version", enumerator(inst, 77, &VERSIONS)?);
    }
    let mut aliases = Vec::new();
    for alias in inst.messages(74)? {
        let (output, path) = (list(&alias.ints(1)?), list(&alias.ints(3)?));
        aliases.push(format!("{{{output}}}: ({}, {{{path}}})", alias.int(2)));
    }
    out.list_if("output_to_operand_aliasing", &aliases);
    let config = inst.bytes(43);
    if !config.is_empty() {
        out.put("backend_config", quoted(config));
    } else if inst.has(99) {
        match inst.message(99)? {
            Some(payload) if payload.has(1) => out.put("backend_config", quoted(payload.bytes(1))),
            _ => {
                return Err(Error::new(
                    inst.at,
                    "a custom call whose configuration is in the module's payloads is not supported",
                ));
            }
        }
    }
    Ok(())
}

/// Writes the computations that an instruction refers to.
fn computations(opcode: &str, called: &[String], out: &mut AttrWriter) {
    match (opcode, called) {
        (_, []) => {}
        ("while", [body, condition]) => {
            out.put("condition", condition);
            out.put("body", body);
        }
        ("conditional", branches) => out.list("branch_computations", branches),
        ("select-and-scatter", [select, scatter]) => {
            out.put("select", select);
            out.put("scatter", scatter);
        }
        ("fusion" | "async-start" | "async-update" | "async-done", [calls, ..]) => out.put("calls", calls),
        ("custom-call", all) => out.list("called_computations", all),
        (_, [one, ..]) => out.put("to_apply", one),
    }
}

/// Writes the attributes that any instruction may have: precision, sharding, frontend attributes, source
/// location.
fn common(inst: &Message<'_>, opcode: &str, out: &mut AttrWriter) -> Read<()> {
    if matches!(opcode, "dot" | "ragged-dot" | "scaled-dot" | "convolution") {
        precision(inst, out)?;
    }
    if opcode == "call" {
        out.flag("is_composite", inst.bool(89));
    }
    if opcode == "fusion" {
        out.put("kind", inst.text(11));
    }
    if let Some(split) = inst.message(40)?
        && let Some(text) = sharding(&split)?
    {
        out.put("sharding", text);
    }
    frontend(inst.message(68)?, out)?;
    let Some(metadata) = inst.message(7)? else { return Ok(()) };
    let mut parts = Vec::new();
    for (key, field) in [("op_type", 1), ("op_name", 2), ("source_file", 3)] {
        if metadata.has(field) {
            parts.push(format!("{key}={}", quoted(metadata.bytes(field))));
        }
    }
    for (key, field) in [("source_line", 4), ("source_column", 18), ("stack_frame_id", 15)] {
        if metadata.has(field) {
            parts.push(format!("{key}={}", metadata.int(field)));
        }
    }
    if !parts.is_empty() {
        out.put("metadata", format_args!("{{{}}}", parts.join(" ")));
    }
    Ok(())
}

/// Writes frontend attributes, `{a="b"}`, sorted by name.
fn frontend(attributes: Option<Message<'_>>, out: &mut AttrWriter) -> Read<()> {
    let entries = attributes.map_or(Ok(Vec::new()), |attributes| attributes.messages(1))?;
    let mut entries: Vec<(String, String)> =
        entries.iter().map(|entry| (entry.text(1).into_owned(), quoted(entry.bytes(2)))).collect();
    entries.sort();
    let key = |key: &str| match key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)) {
        true => key.to_owned(),
        false => quoted(key.as_bytes()),
    };
    let entries: Vec<String> = entries.iter().map(|(name, text)| format!("{}={text}", key(name))).collect();
    out.list_if("frontend_attributes", &entries);
    Ok(())
}

/// Formats a sharding as `{devices=[2,1]<=[2]}`; `None` for a sharding without such a form.
fn sharding(split: &Message<'_>) -> Read<Option<String>> {
    if split.has(14) {
        return Ok(None);
    }
    Ok(Some(match split.int(1) {
        0 => "{replicated}".to_owned(),
        1 => format!("{{maximal device={}}}", split.ints(4)?.first().copied().unwrap_or(0)),
        2 => {
            let mut parts = Vec::new();
            for part in split.messages(5)? {
                if part.int(1) == 2 {
                    return Err(Error::new(
                        part.at,
                        "the sharding of a tuple must not contain shardings of other tuples",
                    ));
                }
                match sharding(&part)? {
                    Some(text) => parts.push(text),
                    None => return Ok(None),
                }
            }
            format!("{{{}}}", parts.join(", "))
        }
        3 => {
            let mut text = format!("{{devices=[{}]", list(&split.ints(3)?));
            let (reshape, order) = (split.ints(9)?, split.ints(10)?);
            if reshape.is_empty() {
                text.push_str(&list(&split.ints(4)?));
            } else {
                text.push_str(&format!("<=[{}]", list(&reshape)));
                if order.len() > 1 {
                    text.push_str(&format!("T({})", list(&order)));
                }
            }
            if split.bool(6) {
                text.push_str(" last_tile_dim_replicate");
            }
            let last = split.ints(8)?;
            if !last.is_empty() {
                let name = |kind: &i64| match kind {
                    0 => "replicated",
                    4 => "manual",
                    6 => "unreduced",
                    _ => "unknown",
                };
                let names: Vec<&str> = last.iter().map(name).collect();
                text.push_str(&format!(" last_tile_dims={{{}}}", names.join(", ")));
            }
            text.push('}');
            text
        }
        4 => "{manual}".to_owned(),
        6 => "{unreduced}".to_owned(),
        _ => "{unknown}".to_owned(),
    }))
}
