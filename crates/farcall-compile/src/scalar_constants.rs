//! Constants without memory: scalar constants that only kernels and copies read. Kernels get these constants
//! by value, and copies become fills of tensors ([`choose_fills`]).

use farcall_ir::{Func, Literal, Op, ValueId};

use super::choices::{Choice, Choices};
use super::order::Event;
use super::storage::{Home, Storage};
use farcall_kernels::{self as kernels, Request};
use farcall_plan::{Base, ConstantId, NumberId};

/// The places of a program's constants.
#[derive(Debug)]
pub(super) struct Constants(Vec<Base>);

impl Constants {
    /// Decides which constants have no memory. `returned` are the values that the program returns.
    pub(super) fn new(
        events: &[Event<'_>],
        choices: &Choices,
        storage: &Storage,
        returned: &[ValueId],
    ) -> Constants {
        let mut known: Vec<bool> = choices.constants.iter().map(|c| c.len() == 1).collect();
        let mut read = |values: &[ValueId]| {
            for value in values {
                if let Home::Constant(id) = storage.piece(*value).home {
                    known[id.index()] = false;
                }
            }
        };
        read(returned);
        for event in events {
            if let Event::Do(inst) | Event::End(inst) = event
                && !matches!(choices.of(inst.id()), Choice::Kernel { .. } | Choice::Copy)
            {
                read(choices.inputs(*inst));
            }
        }
        let [mut constants, mut numbers] = [0, 0];
        let next = |count: &mut usize| std::mem::replace(count, *count + 1);
        let base = |known| match known {
            true => Base::Number(NumberId::new(next(&mut numbers))),
            false => Base::Constant(ConstantId::new(next(&mut constants))),
        };
        Constants(known.into_iter().map(base).collect())
    }

    /// Returns the base of a constant.
    pub(super) fn base(&self, id: ConstantId) -> Base {
        self.0[id.index()]
    }

    /// Divides the constants into those in memory and the scalar constants without memory.
    pub(super) fn split(&self, all: Vec<Literal>) -> (Vec<Literal>, Vec<Literal>) {
        let (mut constants, mut numbers) = (Vec::new(), Vec::new());
        for (literal, base) in all.into_iter().zip(&self.0) {
            if let Base::Number(_) = base { numbers.push(literal) } else { constants.push(literal) }
        }
        (constants, numbers)
    }
}

/// Chooses kernels for the copies of constants without memory: `is_number` holds for such constants.
pub(super) fn choose_fills(
    func: &Func,
    events: &[Event<'_>],
    is_number: impl Fn(ValueId) -> bool,
    choices: &mut Choices,
) {
    for event in events {
        let Event::Do(inst) = event else { continue };
        let ([from], [to]) = (inst.operands(), inst.results()) else { continue };
        if !matches!(choices.of(inst.id()), Choice::Copy) || !is_number(*from) {
            continue;
        }
        let (Some(from), Some(to)) = (func.tensor(*from), func.tensor(*to)) else { continue };
        let op = Op::BroadcastInDim { dims: (0..from.rank()).collect() };
        let (inputs, outputs) = ([from], [to]);
        let request = Request { op: &op, bodies: &[], inputs: &inputs, outputs: &outputs, iotas: &[] };
        if let Some((kernel, prepared)) = kernels::find(&request) {
            choices.set(inst.id(), Choice::Fill { kernel, op, prepared: Some(prepared) });
        }
    }
}
