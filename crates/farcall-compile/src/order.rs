//! The instructions that need code, in program order, including the regions of loops and branches.
//!
//! The order is a list, so that passes walk it without recursion, and deep nesting cannot overflow the stack.
//! An index in the list is the *position* at which a value is read or written.

use farcall_ir::module::Insts;
use farcall_ir::{Func, Inst, Op};

use super::choices::{Choice, Choices};

/// The event at a position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event<'f> {
    /// An instruction without regions of control flow.
    Do(Inst<'f>),
    /// The beginning of a loop or a conditional; its first region follows.
    Begin(Inst<'f>),
    /// The end of the region with this index; another region of the same instruction follows.
    Next(Inst<'f>, usize),
    /// The end of the last region, and of the instruction.
    End(Inst<'f>),
}

/// Returns the instructions of a program that need code, as events.
pub(super) fn events<'f>(func: &'f Func, choices: &Choices) -> Vec<Event<'f>> {
    let mut events = Vec::with_capacity(func.inst_count());
    // The regions that are being walked. Each region, except the body of the function, comes with its
    // instruction and with its index in that instruction.
    let mut open: Vec<(Insts<'f>, Option<(Inst<'f>, usize)>)> = vec![(func.body().insts(), None)];
    while let Some((insts, owner)) = open.last_mut() {
        if let Some(inst) = insts.next() {
            match choices.of(inst.id()) {
                Choice::View | Choice::Part(_) | Choice::Constant(_) | Choice::Iota(_) | Choice::Return => {}
                Choice::Control => {
                    events.push(Event::Begin(inst));
                    match inst.region(0) {
                        Some(first) => open.push((first.insts(), Some((inst, 0)))),
                        None => events.push(Event::End(inst)),
                    }
                }
                _ => events.push(Event::Do(inst)),
            }
            continue;
        }
        let owner = *owner;
        open.pop();
        let Some((inst, number)) = owner else { continue };
        match inst.region(number + 1) {
            Some(next) => {
                events.push(Event::Next(inst, number));
                open.push((next.insts(), Some((inst, number + 1))));
            }
            None => events.push(Event::End(inst)),
        }
    }
    events
}

/// Returns every instruction of a program except those in regions that are applied to elements.
pub(super) fn instructions(func: &Func) -> impl Iterator<Item = Inst<'_>> {
    let mut open = vec![func.body().insts()];
    std::iter::from_fn(move || {
        loop {
            let Some(inst) = open.last_mut()?.next() else {
                open.pop();
                continue;
            };
            if matches!(inst.op(), Op::While | Op::If | Op::Case) {
                open.extend(inst.regions().rev().map(|r| r.insts()));
            }
            return Some(inst);
        }
    })
}
