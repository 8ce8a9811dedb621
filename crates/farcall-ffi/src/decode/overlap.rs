//! Checks which arguments share memory.

use super::{Decoder, Param, ViewAt};
use crate::buffer::{self, View};
use crate::error::{Boxed, Error};

/// Views of the buffers that an argument reads and of the buffers that it writes.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Footprint<'s> {
    pub(super) reads: &'s [View],
    pub(super) writes: &'s [View],
}

impl Footprint<'_> {
    pub(super) const EMPTY: Footprint<'static> = Footprint { reads: &[], writes: &[] };
}

/// Returns a negative number if [`no_overlap`] must check two parameters: at least one is written, and the
/// ranges of their memory have an address in common or are not known.
#[inline(always)]
pub fn may_overlap<'a, P: Param<'a>, Q: Param<'a>>(
    (p, p_view): (&P::Slot, ViewAt),
    (q, q_view): (&Q::Slot, ViewAt),
) -> isize {
    if const { !P::SPEC.has_memory() || !Q::SPEC.has_memory() || !(P::SPEC.writes() || Q::SPEC.writes()) } {
        0
    } else if const { P::SPEC.has_many() || Q::SPEC.has_many() } {
        -1
    } else {
        buffer::overlap(P::span(p, p_view), Q::span(q, q_view))
    }
}

/// Returns a negative number if [`no_overlap`] must check a parameter for overlap with itself, because it
/// writes several buffers.
#[inline(always)]
pub fn may_overlap_itself<'a, P: Param<'a>>() -> isize {
    const { if P::SPEC.writes() && P::SPEC.has_many() { -1 } else { 0 } }
}

/// Checks that no written buffer shares memory with any other buffer.
#[inline(always)]
pub fn no_overlap<const N: usize>(
    decoder: &Decoder,
    memory: [Footprint<'_>; N],
    names: &[&'static str; N],
) -> Boxed {
    find_overlap(decoder.handler, &memory, names)
}

#[cold]
#[inline(never)]
fn find_overlap(handler: &str, memory: &[Footprint<'_>], names: &[&str]) -> Boxed {
    let n = memory.len();
    for i in 0..n {
        for (a, written) in memory[i].writes.iter().enumerate() {
            for j in 0..n {
                let read = memory[j].reads.iter().any(|read| written.overlaps(read));
                let later = if j == i { &memory[j].writes[a + 1..] } else { memory[j].writes };
                let written = j >= i && later.iter().any(|other| written.overlaps(other));
                if read || written {
                    return Err(overlap(handler, names[i], names[j], read));
                }
            }
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn overlap(handler: &str, written: &str, other: &str, other_is_operand: bool) -> Box<Error> {
    let message = if other_is_operand {
        format!(
            "{handler}: result {written} shares memory with operand {other}; a handler that allows this \
             takes both as one `&mut InOut<…>`"
        )
    } else {
        format!("{handler}: results {written} and {other} share memory")
    };
    Box::new(Error::invalid_argument(message))
}
