//! Compares frames with proofs, by each instruction set of this processor. The outcome must be the same as
//! that of a full read with all checks.

use std::ffi::c_void;

use farcall_testing::SplitMix;

use super::*;
use crate::abi::{ArgType, Args, Buffer, CallFrame, RetType, Rets};

/// Number of operands, and of results.
const COUNT: usize = 4;

type Compare = unsafe fn(&Proof, *const CallFrame, *mut View) -> *const View;

/// Returns the comparison functions for this processor's vectors.
fn all() -> Vec<(Vectors, Compare)> {
    let mut all: Vec<(Vectors, Compare)> = Vec::new();
    if !matches!(widest(), Vectors::Plain) {
        all.push((Vectors::Avx2, avx2::compare::<COUNT, COUNT>));
    }
    if matches!(widest(), Vectors::Avx512) {
        all.push((Vectors::Avx512, avx512::compare::<COUNT, COUNT>));
    }
    all
}

/// Buffers with these dimensions, in disjoint memory.
struct Program {
    memory: Vec<u64>,
    dims: Vec<[i64; MAX_DIMS]>,
    buffers: Vec<Buffer>,
}

impl Program {
    fn new(rank_of: impl Fn(usize) -> usize) -> Program {
        let mut program = Program {
            memory: vec![0; 64 * 2 * COUNT],
            dims: (0..2 * COUNT).map(|i| [1, 2, 3, 1 + (i % 2) as i64]).collect(),
            buffers: Vec::new(),
        };
        for i in 0..2 * COUNT {
            let data = program.memory[64 * i..].as_mut_ptr().cast::<c_void>();
            let dims = program.dims[i].as_mut_ptr();
            let dtype =
                abi::DataType::from_dtype([crate::DType::F32, crate::DType::U8, crate::DType::F64][i % 3]);
            program.buffers.push(Buffer {
                dtype,
                data,
                rank: rank_of(i) as i64,
                dims,
                struct_size: Buffer::STRUCT_SIZE,
                extension_start: std::ptr::null_mut(),
            });
        }
        program
    }

    /// Changes something in a buffer, most often its address. Returns the previous state, to undo the change.
    fn change(&mut self, i: usize, random: &mut SplitMix) -> (Buffer, [i64; MAX_DIMS]) {
        let all = self.memory.as_mut_ptr().cast::<u8>();
        let (buffer, dims) = (&mut self.buffers[i], &mut self.dims[i]);
        let before = (Buffer { ..*buffer }, *dims);
        match random.below(10) {
            0 => buffer.data = std::ptr::null_mut(),
            1 => buffer.data = buffer.data.wrapping_byte_add(1 + random.below(7)),
            2 => buffer.data = std::ptr::without_provenance_mut(usize::MAX - 7),
            3 => buffer.data = std::ptr::without_provenance_mut(isize::MAX as usize - 7),
            4 => dims[random.below(MAX_DIMS)] = [0, 1, 2, -1, i64::MAX][random.below(5)],
            5 => buffer.rank = random.below(MAX_DIMS + 1) as i64,
            6 => buffer.dtype = abi::DataType::from_dtype(crate::DType::S32),
            _ => buffer.data = all.wrapping_add(8 * random.below(64 * 2 * COUNT - 8)).cast(),
        }
        before
    }

    /// Returns the views that the checks make, or `None` if the checks reject the buffers or they differ from
    /// `before` in more than addresses.
    fn views(&self, before: &Program) -> Option<Vec<View>> {
        let mut views: Vec<View> = Vec::new();
        for (i, (now, then)) in self.buffers.iter().zip(&before.buffers).enumerate() {
            let rank = then.rank as usize;
            let same = (now.dtype.0, now.rank) == (then.dtype.0, then.rank)
                && self.dims[i][..rank] == before.dims[i][..rank];
            let mut view = View::EMPTY;
            // SAFETY: a valid buffer with `rank` dimensions.
            if !same || !unsafe { View::read::<AnyBuffer>(view.unread(), now) } {
                return None;
            }
            views.push(view);
        }
        let overlap = |i: usize, j: usize| i != j && views[i].overlaps(&views[j]);
        let any = (COUNT..2 * COUNT).any(|i| (0..2 * COUNT).any(|j| overlap(i, j)));
        (!any).then_some(views)
    }
}

/// Calls a function with the frame of a program.
fn with_frame<R>(program: &Program, f: impl FnOnce(&CallFrame) -> R) -> R {
    let pointer = |b: &Buffer| (&raw const *b).cast_mut().cast::<c_void>();
    let mut pointers: Vec<*mut c_void> = program.buffers.iter().map(pointer).collect();
    let (mut args, mut rets) = ([ArgType::BUFFER; COUNT], [RetType::BUFFER; COUNT]);
    let (first, second) = pointers.split_at_mut(COUNT);
    // SAFETY: all members are numbers or pointers that may be null.
    let (no_args, no_rets, nothing): (Args, Rets, CallFrame) = unsafe { std::mem::zeroed() };
    let frame = CallFrame {
        args: Args { size: COUNT as i64, types: args.as_mut_ptr(), args: first.as_mut_ptr(), ..no_args },
        rets: Rets { size: COUNT as i64, types: rets.as_mut_ptr(), rets: second.as_mut_ptr(), ..no_rets },
        ..nothing
    };
    f(&frame)
}

#[test]
fn all_instructions_find_what_the_checks_find() {
    let shape = BufferCounts { operands: COUNT, results: COUNT, is_all: true };
    let mut random = SplitMix::new(7);
    let mut moved = 0;
    for rank_of in [|_| MAX_DIMS, |i| i % (MAX_DIMS + 1), |_| 0] {
        let mut program = Program::new(rank_of);
        let before = Program {
            memory: Vec::new(),
            dims: program.dims.clone(),
            buffers: Program::new(rank_of).buffers,
        };
        for (vectors, compare) in all() {
            // SAFETY: the buffers are valid, and their number matches the shape.
            let proof = with_frame(&program, |frame| unsafe { Proof::of(frame, shape, vectors) })
                .expect("a frame of valid buffers has a proof");
            for _ in 0..3000 {
                let i = random.below(2 * COUNT);
                let old = program.change(i, &mut random);
                let wanted = program.views(&before);
                let mut views = [View::EMPTY; 2 * COUNT];
                // SAFETY: the buffers are valid, their number matches the shape, and the processor has the
                // vectors.
                let found = with_frame(&program, |frame| unsafe {
                    // Each frame has its tables at other addresses.
                    let mut proof = std::ptr::read(&raw const proof);
                    proof.frame =
                        FRAME_WORDS.map(|from| *std::ptr::from_ref(frame).cast::<u64>().add(from).cast());
                    compare(&proof, frame, views.as_mut_ptr())
                });
                assert_eq!(
                    found.is_null(),
                    wanted.is_none(),
                    "{vectors:?}: refusal after a change of buffer {i}"
                );
                if let Some(wanted) = wanted {
                    let operands = |j: usize| if found == views.as_ptr() { views[j] } else { proof.views[j] };
                    moved += usize::from(found == views.as_ptr());
                    for (j, wanted) in wanted.iter().enumerate() {
                        let found = if j < COUNT { operands(j) } else { views[j] };
                        assert_eq!(found.span(), wanted.span(), "{vectors:?}: memory of buffer {j}");
                        assert_eq!(found.dims(), wanted.dims(), "{vectors:?}: dimensions of buffer {j}");
                    }
                }
                (program.buffers[i], program.dims[i]) = old;
            }
        }
    }
    assert!(moved > 100 || all().is_empty(), "only {moved} accepted frames had moved elements");
}
