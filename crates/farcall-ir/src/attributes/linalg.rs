//! Attributes of linear algebra and Fourier transforms.

use super::{Bad, Fields, Put};
use crate::attr::Attribute;
use crate::op::{FftKind, Op, TriangularSolve, TriangularTranspose};

pub(crate) fn read_triangular_solve(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::TriangularSolve(TriangularSolve {
        left_side: f.flag("left_side")?,
        lower: f.flag("lower")?,
        unit_diagonal: f.flag("unit_diagonal")?,
        transpose_a: f.keyword("transpose_a", &TriangularTranspose::VARIANTS, TriangularTranspose::name)?,
    }))
}

pub(crate) fn write_triangular_solve(op: &TriangularSolve, put: &mut Put<'_>) {
    put("left_side", Attribute::Bool(op.left_side));
    put("lower", Attribute::Bool(op.lower));
    put("unit_diagonal", Attribute::Bool(op.unit_diagonal));
    put("transpose_a", Attribute::dialect("stablehlo.transpose", op.transpose_a.name()));
}

pub(crate) fn read_fft(f: &mut Fields<'_>) -> Result<Op, Bad> {
    Ok(Op::Fft {
        kind: f.keyword("fft_type", &FftKind::VARIANTS, FftKind::name)?,
        length: f.usizes("fft_length")?,
    })
}
