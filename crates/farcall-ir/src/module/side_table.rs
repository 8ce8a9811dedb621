//! Side tables: data that passes keep about instructions, outside of the function.

use super::{Func, InstId};

/// A map from instruction ids to values. Instructions created later have no value until one is inserted.
#[derive(Clone, Debug)]
pub(crate) struct InstMap<T> {
    rows: Vec<Option<T>>,
}

impl<T: Copy> InstMap<T> {
    /// Creates a map with room for the current instructions of a function.
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

/// A set of instruction ids that is cleared in constant time.
#[derive(Clone, Debug)]
pub(crate) struct InstSet {
    /// The round in which each instruction was last inserted. Members were inserted in the current round.
    rounds: InstMap<u32>,
    round: u32,
}

impl InstSet {
    /// Creates a set with room for the current instructions of a function.
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

    /// Replaces the contents of the set.
    pub(crate) fn fill(&mut self, insts: &[InstId]) {
        self.clear();
        insts.iter().for_each(|inst| _ = self.insert(*inst));
    }

    /// Inserts an instruction. Returns true if it was not in the set.
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
