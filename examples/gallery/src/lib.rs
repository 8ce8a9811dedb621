//! A gallery of ops: one for each feature of the signature language. Each file contains an op with its
//! derivatives, and can be read by itself.
//!
//! | op | demonstrates | derivatives |
//! | --- | --- | --- |
//! | `scaled_rms_norm` | a gradient that is summed over `*` | VJP |
//! | `normalize` | residuals that the op's own function returns; an attribute as a size of residuals | VJP |
//! | `gemm` | mapped and summed dimensions | VJP |
//! | `top_k` | a dimension from an attribute; a result without a derivative | VJP |
//! | `diagonal` | a dimension of size `min(m, n)` | VJP, JVP |
//! | `square_block` | a dimension that occurs twice in one tensor | VJP |
//! | `polar` | element types that follow from each other | VJP, JVP |
//! | `axpy` | a result in the buffer of an operand; an operand that the batch shares | VJP, JVP |
//! | `column_sums` | a result that is summed over `*` | VJP, JVP |
//! | `concat` | any number of operands with different sizes | VJP |
//! | `softmax` | an optional operand; a gradient that needs only the result | VJP |
//! | `log_sum_exp` | a tangent that needs the op's result | JVP |
//! | `median` | no derivative | none |
//! | `soft_shrink` | an attribute whose name is a keyword of Python | VJP |
//! | `hard_shrink` | an operand whose derivative is zero | of any order, by transposition |
//! | `transpose` | any number of dimensions; functions for shape and batching | VJP |
//! | `softplus` | half precision; explicitly bound parameters of derivatives | VJP, JVP, and derivatives of both |
//! | `rotary` | the offset of a part of a dimension | of any order, by transposition |
//! | `segment_sum`, `segment_take` | linear ops that are each other's transpose | of any order, by transposition |
//! | `pad` | an attribute with a few possible strings | of any order, by transposition |
//! | `recurrence` | a forward derivative with a transpose | JVP, VJP by transposition, and JVPs of both |
//! | `cross_entropy` | an integer operand without a derivative | VJP, JVP, and Hessians |
//! | `csr_matmul` | a size that is one less than another; results to which kernels add | VJP, JVP, and Hessians |
//! | `complex_filter` | complex arithmetic | VJP, JVP, and Hessians |
//! | `conv1d` | a size that attributes determine; a gradient that is summed over `*` | VJP, JVP, and Hessians |
//! | `mix` | any number of operands, with an operand whose size is their number | VJP |
//! | `sgd_step` | two results in the buffers of operands | of any order, by transposition |
//! | `flash_attention` | threads, vectors, and a kernel with real performance | VJP |
//! | `tick` | a side effect | none |
//!
//! `cargo build -p gallery-ops` builds `libgallery_ops.so`. In Python, `farcall.load` turns it into functions
//! of NumPy and JAX arrays; `farcall targets --load` lists the declarations of each op.

use farcall_ffi::descriptor::OpDescriptor;

mod axpy;
mod column_sums;
mod complex_filter;
mod concat;
mod conv1d;
mod cross_entropy;
mod csr_matmul;
mod diagonal;
mod flash_attention;
mod gemm;
mod hard_shrink;
mod log_sum_exp;
mod median;
mod mix;
mod normalize;
mod pad;
mod polar;
mod recurrence;
mod rotary;
mod scaled_rms_norm;
mod segment_sum;
mod sgd_step;
mod soft_shrink;
mod softmax;
mod softplus;
mod square_block;
mod tick;
mod top_k;
mod transpose;

/// The ops of all files.
pub const TABLES: &[&[&OpDescriptor]] = &[
    scaled_rms_norm::OPS,
    normalize::OPS,
    gemm::OPS,
    top_k::OPS,
    diagonal::OPS,
    polar::OPS,
    axpy::OPS,
    column_sums::OPS,
    concat::OPS,
    soft_shrink::OPS,
    hard_shrink::OPS,
    softmax::OPS,
    log_sum_exp::OPS,
    median::OPS,
    transpose::OPS,
    softplus::OPS,
    square_block::OPS,
    rotary::OPS,
    segment_sum::OPS,
    pad::OPS,
    recurrence::OPS,
    cross_entropy::OPS,
    csr_matmul::OPS,
    complex_filter::OPS,
    conv1d::OPS,
    mix::OPS,
    sgd_step::OPS,
    flash_attention::OPS,
    tick::OPS,
];

farcall_ffi::library!(
    "gallery_ops",
    [
        ..scaled_rms_norm::OPS,
        ..normalize::OPS,
        ..gemm::OPS,
        ..top_k::OPS,
        ..diagonal::OPS,
        ..polar::OPS,
        ..axpy::OPS,
        ..column_sums::OPS,
        ..concat::OPS,
        ..soft_shrink::OPS,
        ..hard_shrink::OPS,
        ..softmax::OPS,
        ..log_sum_exp::OPS,
        ..median::OPS,
        ..transpose::OPS,
        ..softplus::OPS,
        ..square_block::OPS,
        ..rotary::OPS,
        ..segment_sum::OPS,
        ..pad::OPS,
        ..recurrence::OPS,
        ..cross_entropy::OPS,
        ..csr_matmul::OPS,
        ..complex_filter::OPS,
        ..conv1d::OPS,
        ..mix::OPS,
        ..sgd_step::OPS,
        ..flash_attention::OPS,
        ..tick::OPS,
    ]
);
