//! Names for printed values: the names that the program gives them ([`Func::name_of`]), or else the names
//! that MLIR would choose.
//!
//! The values of a region are numbered after all values of the enclosing block. Sibling regions reuse the
//! same numbers.

use std::fmt::{self, Display, Formatter};

use farcall_sig::{DType, DTypeClass};
use rustc_hash::FxHashSet;

use crate::module::{Func, Region, ValueId};
use crate::op::Op;

/// The names of all values of a function.
pub(super) struct Names<'f>(Vec<ValueName<'f>>);

/// `%3`, `%3#1`, `%arg0`, `%cst_2`
#[derive(Clone, Copy)]
pub(super) struct ValueName<'f> {
    word: &'f str,
    number: Option<u32>,
    /// Index among the results of one instruction, if there are several.
    result: Option<u32>,
}

impl<'f> Names<'f> {
    /// The name by which a value is used.
    pub(super) fn of(&self, v: ValueId) -> ValueName<'f> {
        self.0[v.index()]
    }

    /// The name under which an instruction's results are defined; `v` is the first result.
    pub(super) fn group(&self, v: ValueId) -> ValueName<'f> {
        ValueName { result: None, ..self.of(v) }
    }
}

impl Display for ValueName<'_> {
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

/// Words that automatic names begin with. The second and later uses of a word get a number.
const WORDS: [&str; 3] = ["c", "cst", "iterArg"];

/// The automatic names that are still unused: the next numbers, and the words that no name has used.
#[derive(Clone, Copy, Default)]
struct Unused {
    number: u32,
    arg: u32,
    suffix: u32,
    used: [bool; WORDS.len()],
}

impl Unused {
    fn word(&mut self, which: usize) -> ValueName<'static> {
        let word = WORDS[which];
        if !std::mem::replace(&mut self.used[which], true) {
            return ValueName { word, number: None, result: None };
        }
        self.suffix += 1;
        ValueName { word, number: Some(self.suffix - 1), result: None }
    }

    fn number(&mut self) -> ValueName<'static> {
        self.number += 1;
        ValueName { word: "", number: Some(self.number - 1), result: None }
    }

    fn arg(&mut self) -> ValueName<'static> {
        self.arg += 1;
        ValueName { word: "arg", number: Some(self.arg - 1), result: None }
    }
}

/// The names from the program that values have received so far. A value receives its name from the program if
/// this name is valid in MLIR's grammar, differs from all automatic names, and belongs to no other value yet.
struct OwnNames<'f> {
    func: &'f Func,
    taken: FxHashSet<&'f str>,
}

impl<'f> OwnNames<'f> {
    fn name(&mut self, value: ValueId) -> Option<ValueName<'f>> {
        let word = self.func.name_of(value).filter(|name| is_own(name))?;
        self.taken.insert(word).then_some(ValueName { word, number: None, result: None })
    }
}

/// True for element types whose constants are named `cst`.
fn is_real(dtype: DType) -> bool {
    matches!(dtype.class(), DTypeClass::Float | DTypeClass::Complex)
}

/// True for a name that MLIR's grammar allows and that [`number`] never chooses.
fn is_own(name: &str) -> bool {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_$.-".contains(&b));
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let automatic = stem == "arg" || WORDS.contains(&stem.strip_suffix('_').unwrap_or(stem));
    is_word && !automatic
}

/// Names all values of a function.
pub(super) fn number(func: &Func) -> Names<'_> {
    let unnamed = ValueName { word: "unnamed", number: None, result: None };
    let mut names = vec![unnamed; func.value_count()];
    let mut given = OwnNames { func, taken: FxHashSet::default() };
    let mut todo: Vec<(Region<'_>, bool, Unused)> = vec![(func.body(), false, Unused::default())];
    while let Some((region, is_loop, mut free)) = todo.pop() {
        for arg in region.args() {
            let automatic = |free: &mut Unused| if is_loop { free.word(2) } else { free.arg() };
            names[arg.index()] = given.name(*arg).unwrap_or_else(|| automatic(&mut free));
        }
        for inst in region.insts() {
            let [first, others @ ..] = inst.results() else { continue };
            let name = given.name(*first).unwrap_or_else(|| match inst.op() {
                Op::Constant(l) => free.word(usize::from(is_real(l.dtype()))),
                Op::Elided(ty) => free.word(usize::from(is_real(ty.dtype))),
                _ => free.number(),
            });
            for (i, v) in inst.results().iter().enumerate() {
                let result = if others.is_empty() { None } else { u32::try_from(i).ok() };
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
