//! Reads operations, one after the other.

use smallvec::SmallVec;

use super::file::{self, File};
use super::{Cursor, Reading};

/// Cursor over operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ir<'a> {
    pub(crate) at: Cursor<'a>,
}

/// An operation without its regions. Numbers are positions in the tables of the file.
#[derive(Debug)]
pub(crate) struct Head {
    /// Byte of the file at which the operation begins.
    pub(crate) at: usize,
    pub(crate) name: usize,
    pub(crate) location: usize,
    pub(crate) attrs: Option<usize>,
    pub(crate) properties: Option<usize>,
    /// Types of the results.
    pub(crate) results: SmallVec<[usize; 2]>,
    /// Numbers of the operands' values.
    pub(crate) operands: SmallVec<[usize; 4]>,
    /// Number of successor blocks.
    pub(crate) successors: usize,
    pub(crate) regions: usize,
    /// True if the regions cannot use values from outside. Values inside are then numbered from 0.
    pub(crate) isolated: bool,
}

/// An argument of a block: positions of its type and its location in the tables of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    pub(crate) ty: usize,
    pub(crate) location: Option<usize>,
}

// Bits that tell which fields an operation has.
const ATTRS: u8 = 1;
const RESULTS: u8 = 2;
const OPERANDS: u8 = 4;
const SUCCESSORS: u8 = 8;
const REGIONS: u8 = 16;
const USE_LISTS: u8 = 32;
const PROPERTIES: u8 = 64;

impl<'a> Ir<'a> {
    /// Returns a cursor over the operations of a file, which form one block.
    pub(crate) fn new(file: &File<'a>) -> Ir<'a> {
        Ir { at: file.ir }
    }

    /// Reads the header of a region: the number of blocks, and the number of values that they define, without
    /// nested regions.
    pub(crate) fn region(&mut self) -> Reading<(usize, usize)> {
        let blocks = self.at.count()?;
        if blocks == 0 {
            return Ok((0, 0));
        }
        // Each value has a type of at least one byte, so the count is bounded by the remaining bytes.
        Ok((blocks, self.at.count()?))
    }

    /// Reads the header of a block: the number of operations, and the arguments.
    pub(crate) fn block(&mut self, file: &File<'a>) -> Reading<(usize, SmallVec<[Arg; 4]>)> {
        let before = self.at;
        let (ops, has_args) = self.at.flagged()?;
        if ops > self.at.left() {
            return before.damaged(format!("{ops} operations do not fit into {} bytes", self.at.left()));
        }
        let mut args = SmallVec::new();
        if has_args {
            for _ in 0..self.at.count()? {
                // Since version 4, unknown locations are left out.
                let before = self.at;
                let (ty, located) =
                    if file.version >= 4 { self.at.flagged()? } else { (self.at.size()?, true) };
                let ty = before.check_index(ty, file.types.len(), "type")?;
                let location =
                    if located { Some(self.at.index(file.attrs.len(), "attribute")?) } else { None };
                args.push(Arg { ty, location });
            }
            if file.version >= 3 && self.at.byte()? != 0 {
                self.use_lists(args.len())?;
            }
        }
        Ok((ops, args))
    }

    /// Reads an operation up to its regions.
    pub(crate) fn op(&mut self, file: &File<'a>) -> Reading<Head> {
        let at = self.at.pos();
        let name = self.at.index(file.op_count(), "operation name")?;
        let mask = self.at.byte()?;
        let has = |part: u8| mask & part != 0;
        let location = self.at.index(file.attrs.len(), "attribute")?;
        let attrs = if has(ATTRS) { Some(self.at.index(file.attrs.len(), "attribute")?) } else { None };
        let properties = if has(PROPERTIES) {
            Some(self.at.index(file.property_count(), "set of properties")?)
        } else {
            None
        };
        let mut results = SmallVec::new();
        if has(RESULTS) {
            for _ in 0..self.at.count()? {
                results.push(self.at.index(file.types.len(), "type")?);
            }
        }
        let mut operands = SmallVec::new();
        if has(OPERANDS) {
            for _ in 0..self.at.count()? {
                operands.push(self.at.size()?);
            }
        }
        let mut successors = 0;
        if has(SUCCESSORS) {
            successors = self.at.count()?;
            for _ in 0..successors {
                self.at.size()?;
            }
        }
        if file.version >= 3 && has(USE_LISTS) {
            self.use_lists(results.len())?;
        }
        let (mut regions, mut isolated) = (0, false);
        if has(REGIONS) {
            let before = self.at;
            (regions, isolated) = self.at.flagged()?;
            if regions > self.at.left() {
                return before.damaged(format!("{regions} regions do not fit into {} bytes", self.at.left()));
            }
        }
        Ok(Head { at, name, location, attrs, properties, results, operands, successors, regions, isolated })
    }

    /// Returns a cursor over isolated regions, which are stored in a separate section since version 2. `None`
    /// in older files.
    pub(crate) fn isolated(&mut self, file: &File<'a>) -> Reading<Option<Ir<'a>>> {
        if file.version < 2 {
            return Ok(None);
        }
        let before = self.at;
        match file::section(&mut self.at)? {
            (file::IR, at) => Ok(Some(Ir { at })),
            _ => before.damaged("the section of a region is expected"),
        }
    }

    /// Skips use-list orders, which do not matter here.
    fn use_lists(&mut self, values: usize) -> Reading<()> {
        let lists = if values > 1 { self.at.count()? } else { 1 };
        for _ in 0..lists {
            if values > 1 {
                self.at.size()?;
            }
            let (n, _) = self.at.flagged()?;
            for _ in 0..n {
                self.at.size()?;
            }
        }
        Ok(())
    }
}
