//! Numbers of functions, and of what is in a function.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The id of number `index`.
            ///
            /// # Panics
            /// At 2³² and more.
            pub fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("fewer than 2^32 of a kind"))
            }

            /// Position in its table.
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
    /// A region of a function: its body, or one that belongs to an instruction.
    RegionId;
}
