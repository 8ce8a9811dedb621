//! What passes know of instructions, beside a function.

use super::{Func, InstId};

/// A value for some instructions of a function, by number. Those that are made later have none until they get one.
#[derive(Clone, Debug)]
pub(crate) struct InstMap<T> {
    rows: Vec<Option<T>>,
}

impl<T: Copy> InstMap<T> {
    /// Room for the instructions that a function has.
    pub(crate) fn new(func: &Func) -> InstMap<T> {
        InstMap { rows: vec![None; func.inst_count()] }
    }

    pub(crate) fn get(&self, inst: InstId) -> Option<T> {
        self.rows.get(inst.index()).copied().flatten()
    }

    pub(crate) fn insert(&mut self, inst: InstId, value: T) {
        if self.rows.len() <= inst.index() {
            self.rows.resize(inst.index() + 1, None);
        }
        self.rows[inst.index()] = Some(value);
    }
}

/// A set of instructions of a function, by number, which is emptied at once.
#[derive(Clone, Debug)]
pub(crate) struct InstSet {
    /// The round in which each was put in.
    rounds: InstMap<u32>,
    round: u32,
}

impl InstSet {
    /// Room for the instructions that a function has.
    pub(crate) fn new(func: &Func) -> InstSet {
        InstSet { rounds: InstMap::new(func), round: 0 }
    }

    pub(crate) fn clear(&mut self) {
        match self.round.checked_add(1) {
            Some(next) => self.round = next,
            None => {
                self.rounds.rows.fill(None);
                self.round = 0;
            }
        }
    }

    pub(crate) fn contains(&self, inst: InstId) -> bool {
        self.rounds.get(inst) == Some(self.round)
    }

    /// Holds these, and no others.
    pub(crate) fn fill(&mut self, insts: &[InstId]) {
        self.clear();
        insts.iter().for_each(|inst| _ = self.insert(*inst));
    }

    /// Puts an instruction in. -> whether it was not there
    pub(crate) fn insert(&mut self, inst: InstId) -> bool {
        let is_new = !self.contains(inst);
        self.rounds.insert(inst, self.round);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Span;

    #[test]
    fn maps_grow_and_sets_are_emptied() {
        let func = Func::new("f", Span::default());
        let (mut map, mut set) = (InstMap::new(&func), InstSet::new(&func));
        let id = InstId::new(7);
        assert_eq!(map.get(id), None);
        map.insert(id, 'x');
        assert_eq!((map.get(id), map.get(InstId::new(6)), map.get(InstId::new(8))), (Some('x'), None, None));
        assert!(set.insert(id) && !set.insert(id) && set.contains(id));
        set.clear();
        assert!(!set.contains(id) && set.insert(id));
        set.round = u32::MAX;
        set.insert(id);
        set.clear();
        assert!(!set.contains(id) && set.insert(id));
        set.fill(&[InstId::new(2)]);
        assert!(!set.contains(id) && set.contains(InstId::new(2)));
    }
}
