//! Constants without memory: scalar constants that only kernels and copies read. Kernels get them by value,
//! and kernels compute the copies.

use farcall_ir::{Literal, ValueId};

use super::choices::{Choice, Choices};
use super::order::Event;
use super::storage::{Home, Storage};
use farcall_plan::{Base, ConstantId, NumberId};

/// The places of a program's constants.
#[derive(Debug)]
pub(super) struct Constants(Vec<Base>);

impl Constants {
    /// Decides which constants have no memory, in a program that returns these values.
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
