//! Random numbers.

use farcall_sig::DType;
use smallvec::smallvec;

use crate::infer::cx::Cx;
use crate::op::Class;
use crate::op::{RngAlgorithm, RngDistribution};
use crate::types::{Dim, Type, TypeList};

pub(super) fn rng_bit_generator(cx: &mut Cx<'_>, algorithm: RngAlgorithm) -> Option<TypeList> {
    let state = cx.t(0);
    let output = cx.declared(1)?;
    // rng_bit_generator_i2
    let vector = state.rank() == 1 && state.dtype == DType::U64 && state.quant.is_none();
    if cx.check(vector, "rng_bit_generator_i2", || {
        format!("initial_state must be a 1-dimensional tensor of ui64, found {state}")
    }) {
        // rng_bit_generator_c2
        let size = state.dim(0);
        let (fits, needed) = match algorithm {
            RngAlgorithm::Default => (true, "any number of"),
            RngAlgorithm::ThreeFry => (size.may_be(2), "2"),
            RngAlgorithm::Philox => (size.may_be(2) || size.may_be(3), "2 or 3"),
        };
        cx.check(fits, "rng_bit_generator_c2", || {
            format!("initial_state of {} must have {needed} elements, found {state}", algorithm.name())
        });
    }
    cx.class("rng_bit_generator_o2", "output", output, Class::INT | Class::FLOAT);
    // rng_bit_generator_c1
    Some(smallvec![state.clone().into(), output.clone().into()])
}

pub(super) fn rng(cx: &mut Cx<'_>, distribution: RngDistribution) -> Option<TypeList> {
    let (a, b, shape) = (cx.t(0), cx.t(1), cx.t(2));
    let allowed = Class::PRED | Class::INT | Class::FLOAT;
    // rng_i1, rng_i2
    for (code, name, ty) in [("rng_i1", "a", a), ("rng_i2", "b", b)] {
        cx.class(code, name, ty, allowed);
        cx.scalar(code, name, ty);
    }
    // rng_c1
    cx.check(a.dtype == b.dtype, "rng_c1", || {
        format!("a and b must have the same element type, found {a} and {b}")
    });
    // rng_c2
    cx.check(distribution == RngDistribution::Uniform || Class::FLOAT.has(a), "rng_c2", || {
        format!("a normal distribution needs floating-point parameters, found {a}")
    });
    // rng_i3
    if !cx.check(shape.rank() == 1 && Class::INT.has(shape), "rng_i3", || {
        format!("shape must be a 1-dimensional tensor of integer type, found {shape}")
    }) {
        return None;
    }
    // rng_c3
    let sizes = cx
        .constant(2)
        .and_then(|sizes| sizes.iter().map(|s| usize::try_from(*s).ok()).collect::<Option<Vec<usize>>>());
    Some(smallvec![Type::Tensor(match sizes {
        Some(sizes) => a.with_sizes(sizes),
        // The sizes are unknown. The result has the declared rank, which must be the length of `shape`.
        None => {
            let declared = cx.declared(0)?;
            cx.check(shape.dim(0).may_be(declared.rank()), "rng_c3", || {
                format!("shape must have one element per dimension of {declared}, found {shape}")
            });
            a.with_dims(declared.dims().map(|_| Dim::UNBOUNDED))
        }
    })])
}
