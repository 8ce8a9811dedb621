//! Ids of functions, and of regions, instructions and values in a function.

/// Defines types for indices into tables.
#[doc(hidden)]
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(u32);

        impl $name {
            /// The id with this index.
            ///
            /// # Panics
            /// If `index` is 2³² or more.
            pub const fn new(index: usize) -> $name {
                assert!(index <= u32::MAX as usize, "fewer than 2^32 of a kind");
                $name(index as u32)
            }

            /// Index into the table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A function of a module.
    FuncId;
    /// A value of a function: a parameter, an argument of a region, or a result.
    ValueId;
    /// An instruction of a function.
    InstId;
    /// A region of a function: its body, or a region that belongs to an instruction.
    RegionId;
}

/// Values in order: operands, results. Up to four are stored inline, without an allocation.
pub type ValueIds = smallvec::SmallVec<[ValueId; 4]>;
