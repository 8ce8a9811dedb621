//! Attributes with custom syntax: slices, padding, windows, and the dimensions of products, convolutions,
//! gathers and scatters.

use super::attribute_fields::{AttrReader, AttrWriter, Hook};
use super::cursor::{Cursor, Expected, Read};
use crate::attr::Attribute;
use crate::op::{
    BatchNorm, Convolution, ConvolutionDims, Derived, DotGeneral, Gather, Op, Pad, Precision, RaggedDot,
    ReduceWindow, Scatter, SelectAndScatter, Slice, Transfer,
};

/// Defines a hook for one variant of [`Op`]; `write` gets the variant's contents.
macro_rules! hook {
    ($(#[$doc:meta])* $name:ident, $pattern:pat => $inner:expr, $read:expr, $write:expr) => {
        $(#[$doc])*
        pub(super) static $name: Hook = Hook {
            read: $read,
            write: |op, out| {
                if let $pattern = op {
                    ($write)($inner, out);
                }
            },
        };
    };
}
pub(super) use hook;

hook!(BROADCAST, Op::BroadcastInDim { dims } => dims, read_broadcast, |dims: &Vec<usize>, out: &mut AttrWriter| out.list("dimensions", dims));
hook!(RESHAPE, Op::Reshape => (), read_reshape, |(), _: &mut AttrWriter| ());
hook!(MAP, Op::Map { dims } => dims, read_map, |dims: &Vec<usize>, out: &mut AttrWriter| out.list("dimensions", dims));
hook!(SLICE, Op::Slice(op) => op, read_slice, write_slice);
hook!(PAD, Op::Pad(op) => op, read_pad, write_pad);
hook!(GATHER, Op::Gather(op) => op, read_gather, write_gather);
hook!(SCATTER, Op::Scatter(op) => op, read_scatter, write_scatter);
hook!(REDUCE_WINDOW, Op::ReduceWindow(op) => op, read_reduce_window, write_reduce_window);
hook!(SELECT_AND_SCATTER, Op::SelectAndScatter(op) => op, read_select_and_scatter, write_select_and_scatter);
hook!(DOT, Op::DotGeneral(op) => op, read_dot, write_dot);
hook!(RAGGED_DOT, Op::Derived(Derived::RaggedDot(op)) => op, read_ragged_dot, write_ragged_dot);
hook!(CONVOLUTION, Op::Convolution(op) => op, read_convolution, write_convolution);
hook!(BATCH_NORM_INFERENCE, Op::Derived(Derived::BatchNormInference(op)) => *op,
    |g| Ok(Op::Derived(Derived::BatchNormInference(read_batch_norm(g)?))), write_batch_norm);
hook!(BATCH_NORM_TRAINING, Op::Derived(Derived::BatchNormTraining(op)) => *op,
    |g| Ok(Op::Derived(Derived::BatchNormTraining(read_batch_norm(g)?))), write_batch_norm);
hook!(BATCH_NORM_GRAD, Op::Derived(Derived::BatchNormGrad(op)) => *op,
    |g| Ok(Op::Derived(Derived::BatchNormGrad(read_batch_norm(g)?))), write_batch_norm);

/// `infeed_config="…"`
pub(super) static INFEED: Hook = Hook {
    read: |g| {
        let config = g.text("infeed_config")?;
        Ok(Op::Transfer(Box::new(Transfer::Infeed { config, layout: None })))
    },
    write: |op, out| {
        if let Op::Transfer(op) = op
            && let Transfer::Infeed { config, .. } = &**op
            && !config.is_empty()
        {
            out.put("infeed_config", super::cursor::quoted(config.as_bytes()));
        }
    },
};

/// `outfeed_config="…"`
pub(super) static OUTFEED: Hook = Hook {
    read: |g| {
        // The shape is redundant, because the operand has the same shape.
        g.take("outfeed_shape");
        Ok(Op::Transfer(Box::new(Transfer::Outfeed { config: g.text("outfeed_config")? })))
    },
    write: |op, out| {
        if let Op::Transfer(op) = op
            && let Transfer::Outfeed { config } = &**op
            && !config.is_empty()
        {
            out.put("outfeed_config", super::cursor::quoted(config.as_bytes()));
        }
    },
};

// --- shapes

/// Reads `dimensions={0,2}`, which is optional for a scalar.
fn read_broadcast(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let is_scalar = matches!(g.operands, [Some(ty)] if ty.rank() == 0);
    match g.read("dimensions", Cursor::usizes)? {
        Some(dims) => Ok(Op::BroadcastInDim { dims }),
        None if is_scalar => Ok(Op::BroadcastInDim { dims: Vec::new() }),
        None => g.fail("broadcast must have the attribute `dimensions`, unless its operand is a scalar"),
    }
}

/// Ignores the inferred dimension: the result's type has all sizes.
fn read_reshape(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    g.read("inferred_dimension", Cursor::int)?;
    Ok(Op::Reshape)
}

/// Ignores `dimensions={0,1}`, as XLA does: a map is over all dimensions.
fn read_map(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let rank = g.operands.iter().flatten().next().map_or(0, |ty| ty.rank());
    g.read("dimensions", Cursor::usizes)?;
    Ok(Op::Map { dims: (0..rank).collect() })
}

// --- slices and padding

/// Reads `slice={[0:4:2], [1:3]}`.
fn read_slice(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let mut slice = Slice { start: Vec::new(), limit: Vec::new(), strides: Vec::new() };
    let read = g.read("slice", |c| {
        c.braced(|c| {
            c.expect(b'[')?;
            slice.start.push(c.usize()?);
            c.expect(b':')?;
            slice.limit.push(c.usize()?);
            slice.strides.push(if c.eat(b':') { c.usize()? } else { 1 });
            c.expect(b']')
        })
    })?;
    match read {
        Some(_) => Ok(Op::Slice(slice)),
        None => g.fail("slice has no attribute `slice`"),
    }
}

fn write_slice(op: &Slice, out: &mut AttrWriter) {
    let dims = op.start.iter().zip(&op.limit).zip(&op.strides);
    let dims: Vec<String> = dims
        .map(|((start, limit), stride)| match stride {
            1 => format!("[{start}:{limit}]"),
            _ => format!("[{start}:{limit}:{stride}]"),
        })
        .collect();
    out.put("slice", format_args!("{{{}}}", dims.join(", ")));
}

/// Reads `padding=0_1x2_3_1`: for each dimension, the low and high padding, and the interior padding if it is
/// not 0.
fn read_pad(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let mut pad = Pad { low: Vec::new(), high: Vec::new(), interior: Vec::new() };
    let rank = g.operands.first().and_then(Option::as_ref).map_or(0, |t| t.rank());
    if rank == 0 && !g.attrs.iter().any(|a| a.key == "padding") {
        return Ok(Op::Pad(pad));
    }
    let mut value = g.required("padding")?;
    separated(&mut value, |c| {
        pad.low.push(c.int()?);
        c.expect(b'_')?;
        pad.high.push(c.int()?);
        pad.interior.push(if c.eat(b'_') { c.int()? } else { 0 });
        Ok(())
    })?;
    value.finish()?;
    Ok(Op::Pad(pad))
}

fn write_pad(op: &Pad, out: &mut AttrWriter) {
    let dims = op.low.iter().zip(&op.high).zip(&op.interior);
    let dims: Vec<String> = dims
        .map(|((low, high), interior)| match interior {
            0 => format!("{low}_{high}"),
            _ => format!("{low}_{high}_{interior}"),
        })
        .collect();
    if !dims.is_empty() {
        out.put("padding", dims.join("x"));
    }
}

/// Parses items separated by `x`.
fn separated<'s, T>(c: &mut Cursor<'s>, mut item: impl FnMut(&mut Cursor<'s>) -> Read<T>) -> Read<Vec<T>> {
    let mut out = vec![item(c)?];
    while c.eat(b'x') {
        out.push(item(c)?);
    }
    Ok(out)
}

// --- windows

/// `window={size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x1}`
#[derive(Default)]
struct Window {
    size: Vec<usize>,
    stride: Option<Vec<usize>>,
    pad: Option<Vec<(i64, i64)>>,
    lhs_dilate: Option<Vec<usize>>,
    rhs_dilate: Option<Vec<usize>>,
    rhs_reversal: Option<Vec<usize>>,
}

impl Window {
    fn read(g: &mut AttrReader<'_, '_>) -> Read<Window> {
        let Some(mut c) = g.take("window") else { return Ok(Window::default()) };
        let whole = c.span();
        let mut window = Window::default();
        c.expect(b'{')?;
        while !c.eat(b'}') {
            c.skip();
            let at = c.pos();
            let Ok(key) = c.word() else { return c.wrong("`size`, `stride`, `pad`, … or `}`") };
            let key_span = crate::diag::Span::new(at, c.pos());
            c.expect(b'=')?;
            let sizes = |c: &mut Cursor<'_>| separated(c, Cursor::usize);
            match key {
                "size" => window.size = sizes(&mut c)?,
                "stride" => window.stride = Some(sizes(&mut c)?),
                "lhs_dilate" => window.lhs_dilate = Some(sizes(&mut c)?),
                "rhs_dilate" => window.rhs_dilate = Some(sizes(&mut c)?),
                "rhs_reversal" => window.rhs_reversal = Some(sizes(&mut c)?),
                "pad" => {
                    window.pad = Some(separated(&mut c, |c| {
                        let low = c.int()?;
                        c.expect(b'_')?;
                        Ok((low, c.int()?))
                    })?);
                }
                _ => return Err(Expected::new(key_span, format!("windows have no `{key}`"))),
            }
        }
        c.finish()?;
        let rank = window.size.len();
        // XLA reads a short list of reversals as if it ended in zeros.
        if let Some(reversal) = window.rhs_reversal.as_mut().filter(|list| list.len() < rank) {
            reversal.resize(rank, 0);
        }
        let lengths = [
            window.stride.as_ref().map(Vec::len),
            window.pad.as_ref().map(Vec::len),
            window.lhs_dilate.as_ref().map(Vec::len),
            window.rhs_dilate.as_ref().map(Vec::len),
            window.rhs_reversal.as_ref().map(Vec::len),
        ];
        if lengths.iter().flatten().any(|n| *n != rank) {
            return Err(Expected::new(whole, "the lists of a window must have the length of `size`"));
        }
        Ok(window)
    }

    fn sizes(&self, list: &Option<Vec<usize>>) -> Vec<usize> {
        list.clone().unwrap_or_else(|| vec![1; self.size.len()])
    }

    fn padding(&self) -> Vec<(i64, i64)> {
        self.pad.clone().unwrap_or_else(|| vec![(0, 0); self.size.len()])
    }

    fn is_reversed(&self) -> bool {
        self.rhs_reversal.iter().flatten().any(|r| *r != 0)
    }

    fn write(&self, out: &mut AttrWriter) {
        let pad = self.padding();
        let pad = pad.iter().any(|p| *p != (0, 0)).then(|| {
            let pad: Vec<String> = pad.iter().map(|(low, high)| format!("{low}_{high}")).collect();
            format!("pad={}", pad.join("x"))
        });
        let part = |key: &str, list: Vec<usize>, default: usize| {
            let list: Option<Vec<String>> =
                list.iter().any(|n| *n != default).then(|| list.iter().map(ToString::to_string).collect());
            list.map(|list| format!("{key}={}", list.join("x")))
        };
        let parts: Vec<String> = [
            // No size equals the default `usize::MAX`, so sizes are always written.
            part("size", self.size.clone(), usize::MAX),
            part("stride", self.sizes(&self.stride), 1),
            pad,
            part("lhs_dilate", self.sizes(&self.lhs_dilate), 1),
            part("rhs_dilate", self.sizes(&self.rhs_dilate), 1),
            part("rhs_reversal", self.rhs_reversal.clone().unwrap_or_default(), 0),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !parts.is_empty() {
            out.put("window", format_args!("{{{}}}", parts.join(" ")));
        }
    }
}

fn read_reduce_window(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    // The order of elements in a window (`rhs_reversal`) does not matter: reducers are associative and
    // commutative.
    let window = Window::read(g)?;
    Ok(Op::ReduceWindow(Box::new(ReduceWindow {
        strides: window.sizes(&window.stride),
        base_dilations: window.sizes(&window.lhs_dilate),
        window_dilations: window.sizes(&window.rhs_dilate),
        padding: window.padding(),
        window: window.size,
    })))
}

fn write_reduce_window(op: &ReduceWindow, out: &mut AttrWriter) {
    let window = Window {
        size: op.window.clone(),
        stride: Some(op.strides.clone()),
        pad: Some(op.padding.clone()),
        lhs_dilate: Some(op.base_dilations.clone()),
        rhs_dilate: Some(op.window_dilations.clone()),
        rhs_reversal: None,
    };
    window.write(out);
}

fn read_select_and_scatter(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let window = Window::read(g)?;
    let dilated = |list: &Option<Vec<usize>>| list.iter().flatten().any(|n| *n != 1);
    if window.is_reversed() || dilated(&window.lhs_dilate) || dilated(&window.rhs_dilate) {
        return g.fail("select-and-scatter: dilated or reversed windows are not supported");
    }
    Ok(Op::SelectAndScatter(SelectAndScatter {
        strides: window.sizes(&window.stride),
        padding: window.padding(),
        window: window.size,
    }))
}

fn write_select_and_scatter(op: &SelectAndScatter, out: &mut AttrWriter) {
    let window = Window {
        size: op.window.clone(),
        stride: Some(op.strides.clone()),
        pad: Some(op.padding.clone()),
        ..Window::default()
    };
    window.write(out);
}

// --- products

/// Reads `operand_precision={highest,default}`.
fn read_precision(g: &mut AttrReader<'_, '_>) -> Read<Vec<Precision>> {
    let one = |c: &mut Cursor<'_>| {
        c.skip();
        let at = c.pos();
        let word = c.word()?;
        let span = crate::diag::Span::new(at, c.pos());
        let found = Precision::VARIANTS.into_iter().find(|p| p.name().eq_ignore_ascii_case(word));
        found.ok_or_else(|| {
            Expected::new(span, format!("the precision must be default, high or highest, not {word}"))
        })
    };
    Ok(g.read("operand_precision", |c| c.braced(one))?.unwrap_or_default())
}

fn write_precision(precision: &[Precision], out: &mut AttrWriter) {
    let names: Vec<String> = precision.iter().map(|p| p.name().to_ascii_lowercase()).collect();
    out.list_if("operand_precision", &names);
}

/// Algorithms: name, type of the operands, type of the accumulator, number of products, and true if
/// accumulation may be less exact.
const ALGORITHMS: [(&str, &str, &str, u32, bool); 13] = [
    ("dot_any_f8_any_f8_f32", "f8E5M2", "f32", 1, false),
    ("dot_any_f8_any_f8_f32_fast_accum", "f8E5M2", "f32", 1, true),
    ("dot_f16_f16_f16", "f16", "f16", 1, false),
    ("dot_f16_f16_f32", "f16", "f32", 1, false),
    ("dot_bf16_bf16_bf16", "bf16", "bf16", 1, false),
    ("dot_bf16_bf16_f32", "bf16", "f32", 1, false),
    ("dot_bf16_bf16_f32_x3", "bf16", "f32", 3, false),
    ("dot_bf16_bf16_f32_x6", "bf16", "f32", 6, false),
    ("dot_bf16_bf16_f32_x9", "bf16", "f32", 9, false),
    ("dot_tf32_tf32_f32", "tf32", "f32", 1, false),
    ("dot_tf32_tf32_f32_x3", "tf32", "f32", 3, false),
    ("dot_f32_f32_f32", "f32", "f32", 1, false),
    ("dot_f64_f64_f64", "f64", "f64", 1, false),
];

fn algorithm(row: &(&str, &str, &str, u32, bool)) -> Option<Attribute> {
    let (_, operand, sum, products, imprecise) = row;
    let text = format!(
        "#stablehlo.dot_algorithm<lhs_precision_type = {operand}, rhs_precision_type = {operand}, \
         accumulation_type = {sum}, lhs_component_count = 1, rhs_component_count = 1, \
         num_primitive_operations = {products}, allow_imprecise_accumulation = {imprecise}>"
    );
    text.parse().ok()
}

fn read_algorithm(g: &mut AttrReader<'_, '_>) -> Read<Option<Attribute>> {
    let Some(value) = g.take("algorithm") else { return Ok(None) };
    match value.rest() {
        "dot_unset" => Ok(None),
        name => match ALGORITHMS.iter().find(|row| row.0 == name).and_then(algorithm) {
            Some(attr) => Ok(Some(attr)),
            None => Err(Expected::new(value.span(), format!("there is no algorithm `{name}`"))),
        },
    }
}

pub(super) fn read_dot(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    Ok(Op::DotGeneral(Box::new(DotGeneral {
        lhs_batch: g.usizes("lhs_batch_dims")?,
        rhs_batch: g.usizes("rhs_batch_dims")?,
        lhs_contract: g.usizes("lhs_contracting_dims")?,
        rhs_contract: g.usizes("rhs_contracting_dims")?,
        precision: read_precision(g)?,
        algorithm: read_algorithm(g)?,
    })))
}

fn write_dot(op: &DotGeneral, out: &mut AttrWriter) {
    out.list_if("lhs_batch_dims", &op.lhs_batch);
    out.list_if("lhs_contracting_dims", &op.lhs_contract);
    out.list_if("rhs_batch_dims", &op.rhs_batch);
    out.list_if("rhs_contracting_dims", &op.rhs_contract);
    write_precision(&op.precision, out);
    if let Some(name) = algorithm_name(op) {
        out.put("algorithm", name);
    }
}

/// Returns HLO's name of the product's algorithm.
pub(super) fn algorithm_name(op: &DotGeneral) -> Option<&'static str> {
    let row = ALGORITHMS.iter().find(|row| op.algorithm.is_some() && algorithm(row) == op.algorithm);
    row.map(|(name, ..)| *name)
}

fn read_ragged_dot(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    Ok(Op::Derived(Derived::RaggedDot(Box::new(RaggedDot {
        lhs_batch: g.usizes("lhs_batch_dims")?,
        rhs_batch: g.usizes("rhs_batch_dims")?,
        lhs_contract: g.usizes("lhs_contracting_dims")?,
        rhs_contract: g.usizes("rhs_contracting_dims")?,
        lhs_ragged: g.usizes("lhs_ragged_dims")?,
        rhs_group: g.usizes("rhs_group_dims")?,
        precision: read_precision(g)?,
    }))))
}

fn write_ragged_dot(op: &RaggedDot, out: &mut AttrWriter) {
    out.list_if("lhs_batch_dims", &op.lhs_batch);
    out.list_if("lhs_contracting_dims", &op.lhs_contract);
    out.list_if("rhs_batch_dims", &op.rhs_batch);
    out.list_if("rhs_contracting_dims", &op.rhs_contract);
    out.list_if("lhs_ragged_dims", &op.lhs_ragged);
    out.list_if("rhs_group_dims", &op.rhs_group);
    write_precision(&op.precision, out);
}

// --- convolutions

fn read_convolution(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    let labels = g.required("dim_labels")?;
    let Some(dims) = dims_of_labels(labels.rest()) else {
        let message = "expected labels of dimensions such as b01f_01io->b01f";
        return Err(Expected::new(labels.span(), message));
    };
    // The attribute names the operand that has a sparse layout on other hardware. It does not affect the
    // result.
    g.take("sparsity_config");
    let window = Window::read(g)?;
    if window.size.len() != dims.input_spatial.len() {
        return g.fail(format!(
            "convolution: `dim_labels` has {} spatial dimensions, but `window` has {}",
            dims.input_spatial.len(),
            window.size.len()
        ));
    }
    // The window sizes must equal the sizes of the kernel's dimensions.
    let kernel = g.operands.get(1).and_then(Option::as_ref);
    for (size, dim) in window.size.iter().zip(&dims.kernel_spatial) {
        let found = kernel.and_then(|k| k.get_dim(*dim));
        if found.is_some_and(|d| !d.may_be(*size)) {
            return g.fail(format!(
                "convolution: the window has size {size}, but dimension {dim} of the kernel has another size"
            ));
        }
    }
    let reversal = window.rhs_reversal.clone().unwrap_or_else(|| vec![0; window.size.len()]);
    Ok(Op::Convolution(Box::new(Convolution {
        strides: window.sizes(&window.stride),
        padding: window.padding(),
        lhs_dilation: window.sizes(&window.lhs_dilate),
        rhs_dilation: window.sizes(&window.rhs_dilate),
        reversal: reversal.iter().map(|r| *r != 0).collect(),
        dims,
        feature_group_count: g.usize_or("feature_group_count", 1)?,
        batch_group_count: g.usize_or("batch_group_count", 1)?,
        precision: read_precision(g)?,
    })))
}

/// Writes a convolution whose window sizes are not known; see [`write_convolution_of`].
fn write_convolution(op: &Convolution, out: &mut AttrWriter) {
    write_convolution_of(op, &[], out);
}

/// Writes the attributes of a convolution with a kernel of these sizes.
pub(super) fn write_convolution_of(op: &Convolution, kernel: &[usize], out: &mut AttrWriter) {
    let window = Window {
        size: op.dims.kernel_spatial.iter().map(|d| kernel.get(*d).copied().unwrap_or(0)).collect(),
        stride: Some(op.strides.clone()),
        pad: Some(op.padding.clone()),
        lhs_dilate: Some(op.lhs_dilation.clone()),
        rhs_dilate: Some(op.rhs_dilation.clone()),
        rhs_reversal: Some(op.reversal.iter().map(|r| usize::from(*r)).collect()),
    };
    window.write(out);
    let d = &op.dims;
    let labels = format!(
        "{}_{}->{}",
        labels([(d.input_batch, 'b'), (d.input_feature, 'f')], &d.input_spatial),
        labels([(d.kernel_input_feature, 'i'), (d.kernel_output_feature, 'o')], &d.kernel_spatial),
        labels([(d.output_batch, 'b'), (d.output_feature, 'f')], &d.output_spatial),
    );
    out.put("dim_labels", labels);
    if op.feature_group_count != 1 {
        out.put("feature_group_count", op.feature_group_count);
    }
    if op.batch_group_count != 1 {
        out.put("batch_group_count", op.batch_group_count);
    }
    write_precision(&op.precision, out);
}

/// Formats labels such as `b01f`.
fn labels(named: [(usize, char); 2], spatial: &[usize]) -> String {
    let name = |i: usize| {
        let spatial = || spatial.iter().position(|d| *d == i).map(|n| n.to_string());
        let named = named.iter().find(|(d, _)| *d == i).map(|(_, c)| c.to_string());
        named.or_else(spatial).unwrap_or_else(|| "?".to_owned())
    };
    (0..spatial.len() + 2).map(name).collect()
}

/// Parses `b01f_01io->b01f`.
fn dims_of_labels(text: &str) -> Option<ConvolutionDims> {
    let (operands, output) = text.split_once("->")?;
    let (input, kernel) = operands.split_once('_')?;
    let ([input_batch, input_feature], input_spatial) = side(input, ['b', 'f'])?;
    let ([kernel_input_feature, kernel_output_feature], kernel_spatial) = side(kernel, ['i', 'o'])?;
    let ([output_batch, output_feature], output_spatial) = side(output, ['b', 'f'])?;
    if kernel_spatial.len() != input_spatial.len() || output_spatial.len() != input_spatial.len() {
        return None;
    }
    Some(ConvolutionDims {
        input_batch,
        input_feature,
        input_spatial,
        kernel_input_feature,
        kernel_output_feature,
        kernel_spatial,
        output_batch,
        output_feature,
        output_spatial,
    })
}

/// Returns the positions of two letters, and the positions of the spatial dimensions in the order of their
/// numbers. `None` if the text has other characters.
fn side(text: &str, names: [char; 2]) -> Option<([usize; 2], Vec<usize>)> {
    // Spatial dimensions are single digits, so at most ten.
    if text.len() < 2 || text.len() > 12 || !text.is_ascii() {
        return None;
    }
    let find = |c: char| text.find(c);
    let spatial: Option<Vec<usize>> =
        (0..text.len() - 2).map(|d| find(char::from_digit(u32::try_from(d).ok()?, 10)?)).collect();
    Some(([find(names[0])?, find(names[1])?], spatial?))
}

// --- gather and scatter

fn read_gather(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    Ok(Op::Gather(Box::new(Gather {
        offset_dims: g.usizes("offset_dims")?,
        collapsed_slice_dims: g.usizes("collapsed_slice_dims")?,
        operand_batching_dims: g.usizes("operand_batching_dims")?,
        start_indices_batching_dims: g.usizes("start_indices_batching_dims")?,
        start_index_map: g.usizes("start_index_map")?,
        index_vector_dim: g.usize_or("index_vector_dim", 0)?,
        slice_sizes: g.usizes("slice_sizes")?,
        indices_are_sorted: g.flag("indices_are_sorted")?,
    })))
}

fn write_gather(op: &Gather, out: &mut AttrWriter) {
    out.list("offset_dims", &op.offset_dims);
    out.list("collapsed_slice_dims", &op.collapsed_slice_dims);
    out.list("start_index_map", &op.start_index_map);
    out.list_if("operand_batching_dims", &op.operand_batching_dims);
    out.list_if("start_indices_batching_dims", &op.start_indices_batching_dims);
    out.put("index_vector_dim", op.index_vector_dim);
    out.list("slice_sizes", &op.slice_sizes);
    out.flag("indices_are_sorted", op.indices_are_sorted);
}

fn read_scatter(g: &mut AttrReader<'_, '_>) -> Read<Op> {
    Ok(Op::Scatter(Box::new(Scatter {
        update_window_dims: g.usizes("update_window_dims")?,
        inserted_window_dims: g.usizes("inserted_window_dims")?,
        input_batching_dims: g.usizes("input_batching_dims")?,
        scatter_indices_batching_dims: g.usizes("scatter_indices_batching_dims")?,
        scatter_dims_to_operand_dims: g.usizes("scatter_dims_to_operand_dims")?,
        index_vector_dim: g.usize_or("index_vector_dim", 0)?,
        indices_are_sorted: g.flag("indices_are_sorted")?,
        unique_indices: g.flag("unique_indices")?,
    })))
}

fn write_scatter(op: &Scatter, out: &mut AttrWriter) {
    out.list("update_window_dims", &op.update_window_dims);
    out.list("inserted_window_dims", &op.inserted_window_dims);
    out.list("scatter_dims_to_operand_dims", &op.scatter_dims_to_operand_dims);
    out.list_if("input_batching_dims", &op.input_batching_dims);
    out.list_if("scatter_indices_batching_dims", &op.scatter_indices_batching_dims);
    out.put("index_vector_dim", op.index_vector_dim);
    out.flag("indices_are_sorted", op.indices_are_sorted);
    out.flag("unique_indices", op.unique_indices);
}

// --- batch normalization

fn read_batch_norm(g: &mut AttrReader<'_, '_>) -> Read<BatchNorm> {
    let epsilon = g.required("epsilon")?;
    let Ok(value) = epsilon.rest().parse::<f32>() else {
        return Err(Expected::new(epsilon.span(), "expected a number"));
    };
    let feature = match g.read("feature_index", Cursor::usize)? {
        Some(feature) => feature,
        None => return g.fail(format!("{} has no attribute `feature_index`", g.opcode)),
    };
    Ok(BatchNorm { epsilon_bits: value.to_bits(), feature })
}

fn write_batch_norm(op: BatchNorm, out: &mut AttrWriter) {
    out.put("epsilon", op.epsilon());
    out.put("feature_index", op.feature);
}
