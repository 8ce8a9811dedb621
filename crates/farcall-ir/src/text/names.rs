//! Names for values that are printed, as MLIR chooses them.
//!
//! A region's values are numbered after all values of the block that it stands in, and regions that
//! stand side by side use the same numbers again.

use std::fmt::{self, Display, Formatter};

use farcall_sig::DTypeClass;

use crate::module::{Func, Region, ValueId};
use crate::op::Op;

/// The name of every value of a function.
pub(super) struct Names(Vec<ValueName>);

/// `%3`, `%3#1`, `%arg0`, `%cst_2`
#[derive(Clone, Copy)]
pub(super) struct ValueName {
    word: &'static str,
    number: Option<u32>,
    /// Which of several results.
    result: Option<u32>,
}

impl Names {
    /// The name to use a value by.
    pub(super) fn of(&self, v: ValueId) -> ValueName {
        self.0[v.index()]
    }

    /// The name that an instruction's results are defined under; `v` is the first of them.
    pub(super) fn group(&self, v: ValueId) -> ValueName {
        ValueName { result: None, ..self.of(v) }
    }
}

impl Display for ValueName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.word)?;
        match (self.number, self.word) {
            (Some(n), "" | "arg") => write!(f, "{n}")?,
            (Some(n), _) => write!(f, "_{n}")?,
            (None, _) => {}
        }
        self.result.map_or(Ok(()), |r| write!(f, "#{r}"))
    }
}

/// Words that values are called; the second of a kind gets a number.
const WORDS: [&str; 3] = ["c", "cst", "iterArg"];

/// What is free where a region begins.
#[derive(Clone, Copy, Default)]
struct Free {
    number: u32,
    arg: u32,
    suffix: u32,
    used: [bool; WORDS.len()],
}

impl Free {
    fn word(&mut self, which: usize) -> ValueName {
        let word = WORDS[which];
        if !std::mem::replace(&mut self.used[which], true) {
            return ValueName { word, number: None, result: None };
        }
        self.suffix += 1;
        ValueName { word, number: Some(self.suffix - 1), result: None }
    }

    fn number(&mut self) -> ValueName {
        self.number += 1;
        ValueName { word: "", number: Some(self.number - 1), result: None }
    }

    fn arg(&mut self) -> ValueName {
        self.arg += 1;
        ValueName { word: "arg", number: Some(self.arg - 1), result: None }
    }
}

/// Names all values of a function.
pub(super) fn number(func: &Func) -> Names {
    let unnamed = ValueName { word: "unnamed", number: None, result: None };
    let mut names = vec![unnamed; func.value_count()];
    let mut todo: Vec<(Region<'_>, bool, Free)> = vec![(func.body(), false, Free::default())];
    while let Some((region, is_loop, mut free)) = todo.pop() {
        for arg in region.args() {
            names[arg.index()] = if is_loop { free.word(2) } else { free.arg() };
        }
        for inst in region.insts() {
            let name = match (inst.op(), inst.results()) {
                (_, []) => continue,
                (Op::Constant(l), _) => {
                    let real = matches!(l.dtype().class(), DTypeClass::Float | DTypeClass::Complex);
                    free.word(usize::from(real))
                }
                _ => free.number(),
            };
            let several = inst.results().len() > 1;
            for (i, v) in inst.results().iter().enumerate() {
                let result = if several { u32::try_from(i).ok() } else { None };
                names[v.index()] = ValueName { result, ..name };
            }
        }
        for inst in region.insts() {
            let is_loop = *inst.op() == Op::While;
            todo.extend(inst.regions().map(|r| (r, is_loop, free)));
        }
    }
    Names(names)
}
