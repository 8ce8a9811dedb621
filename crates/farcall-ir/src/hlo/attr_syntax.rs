//! Syntax of attributes that the reader and the printer handle without specific code.

/// Syntax of one attribute. The first two fields are its name in HLO and its name in [`crate::attributes`].
pub(super) enum AttrSyntax {
    /// `{1,2}`
    Ints(&'static str, &'static str),
    /// `{1}`, a single number.
    One(&'static str, &'static str),
    /// `1`
    Int(&'static str, &'static str),
    /// `true`; false if absent.
    Flag(&'static str, &'static str),
    /// `LT`, or a word with a prefix, such as `rng_default`; the third field is the prefix. Optional.
    Word(&'static str, &'static str, &'static str),
}

impl AttrSyntax {
    /// Name of the attribute in HLO.
    pub(super) fn key(&self) -> &'static str {
        match self {
            AttrSyntax::Ints(key, _)
            | AttrSyntax::One(key, _)
            | AttrSyntax::Int(key, _)
            | AttrSyntax::Flag(key, _)
            | AttrSyntax::Word(key, _, _) => key,
        }
    }
}

impl AttrSyntax {
    /// Name of the attribute in [`crate::attributes`].
    pub(super) fn attr(&self) -> &'static str {
        match self {
            AttrSyntax::Ints(_, attr)
            | AttrSyntax::One(_, attr)
            | AttrSyntax::Int(_, attr)
            | AttrSyntax::Flag(_, attr)
            | AttrSyntax::Word(_, attr, _) => attr,
        }
    }
}
