//! The columns of the operation table: names, arity, traits, attributes, and other formats.
//!
//! The rows are in `table` and, for functions of one and two variables, in `elementwise`.

/// An expected number of operands, results or regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Exactly this number.
    Exactly(usize),
    /// This number or more.
    AtLeast(usize),
}

/// Kinds of values that an operation takes as operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All are tensors.
    Tensors,
    /// All are tokens.
    Tokens,
    /// All are tuples.
    Tuples,
    /// All are futures.
    Futures,
    /// Values of any type. Each operation of this kind checks its own operands.
    Anything,
}

/// A set of properties that hold for every instance of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits(u32);

impl Traits {
    /// No traits.
    pub const EMPTY: Traits = Traits(0);
    /// Operands can be exchanged.
    pub const COMMUTATIVE: Traits = Traits(1);
    /// `(a ∘ b) ∘ c` is `a ∘ (b ∘ c)`: exactly for integers and booleans, up to rounding for other types.
    pub const ASSOCIATIVE: Traits = Traits(1 << 1);
    /// With two operands, `a ∘ a` is `a`. With one, `f(f(a))` is `f(a)`.
    pub const IDEMPOTENT: Traits = Traits(1 << 2);
    /// The operation has effects besides its results, so it must run exactly once and in order. (A custom
    /// call has its own flag for this.)
    pub const SIDE_EFFECT: Traits = Traits(1 << 3);
    /// Results do not depend on the operands alone.
    pub const OPAQUE: Traits = Traits(1 << 4);
    /// The operation ends a region.
    pub const TERMINATOR: Traits = Traits(1 << 5);
    /// Operands determine the shape of the result, or the shape that the operation works with. Such an
    /// operation also has [`Traits::MAY_FAIL`].
    pub const DYNAMIC: Traits = Traits(1 << 6);
    /// Several processes execute the operation together.
    pub const COLLECTIVE: Traits = Traits(1 << 7);
    /// On quantized operands, the operation computes with the real numbers that they represent.
    pub const ARITHMETIC: Traits = Traits(1 << 8);

    /// The operation only structures the program: it handles values other than tensors, calls a function,
    /// passes values on unchanged, or returns a fact about static sizes or about the only device. The middle
    /// form has no such operations.
    pub const STRUCTURE: Traits = Traits(1 << 9);
    /// Each result element is computed from the corresponding operand elements.
    pub const ELEMENTWISE: Traits = Traits(1 << 10);
    /// The operation only moves elements. A fusion does not compute it as a separate step, but loads the
    /// moved elements directly from the operation's operands.
    pub const FUSES_INTO_LOADS: Traits = Traits(1 << 11);
    /// The operation may end a run with an error: its operands may give a shape other than the declared one,
    /// or it is not implemented for every allowed type.
    pub const MAY_FAIL: Traits = Traits(1 << 12);
    /// [`Traits::MAY_FAIL`] holds for complex operands.
    pub const MAY_FAIL_ON_COMPLEX: Traits = Traits(1 << 13);
    /// Every implementation computes the same bits, whatever the element types.
    pub const EXACT: Traits = Traits(1 << 14);
    /// [`Traits::EXACT`] holds for results that are not complex: the operation is correctly rounded.
    pub const EXACT_REAL: Traits = Traits(1 << 15);
    /// The operation belongs to the middle form. Programs have no such operations.
    pub const FORM: Traits = Traits(1 << 16);

    /// Returns the union of both sets.
    pub const fn and(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }

    /// Returns true if the set contains all of `other`.
    pub const fn has(self, other: Traits) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The declaration of an operation: one row of the operation table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// Name with dialect: `stablehlo.add`.
    pub name: &'static str,
    /// Number of operands.
    pub operands: Count,
    /// Kind of the operands.
    pub kind: Kind,
    /// Number of regions.
    pub regions: Count,
    /// Number of results.
    pub results: Count,
    /// Properties of the operation.
    pub traits: Traits,
    /// Names of the attributes in MLIR's generic form, sorted. Names of optional attributes end with `?`.
    pub attributes: &'static [&'static str],
    /// Opcode in HLO; `None` if HLO has no opcode for this operation alone.
    pub hlo: Option<&'static str>,
    /// Releases of StableHLO: element `i` is the first release that has version `i + 1` of the operation in
    /// artifacts. Empty if artifacts have no such operation.
    pub vhlo: &'static [Release],
}

/// A release of StableHLO: `(1, 9, 0)`.
pub type Release = (u32, u32, u32);

/// An operation in HLO and in artifacts (VHLO).
#[derive(Clone, Copy)]
pub(super) struct Formats {
    hlo: Hlo,
    vhlo: &'static [Release],
}

/// Opcode of an operation in HLO.
#[derive(Clone, Copy)]
enum Hlo {
    Missing,
    /// The operation's name without its dialect, and with dashes for underscores.
    SameName,
    Named(&'static str),
}

/// The first release with artifacts, which has version 1 of its operations.
pub(crate) const V1: Release = (0, 9, 0);

impl Formats {
    /// Neither HLO nor artifacts have the operation.
    pub(super) const TEXT: Formats = Formats { hlo: Hlo::Missing, vhlo: &[] };
    /// HLO has the operation under the same name; artifacts do not.
    pub(super) const HLO: Formats = Formats { hlo: Hlo::SameName, vhlo: &[] };
    /// Artifacts have one version of the operation; HLO does not have it.
    pub(super) const VHLO: Formats = Formats { hlo: Hlo::Missing, vhlo: &[V1] };
    /// HLO has the operation under the same name, and artifacts have one version of it.
    pub(super) const HLO_VHLO: Formats = Formats { hlo: Hlo::SameName, vhlo: &[V1] };

    /// Declares the opcode in HLO.
    pub(super) const fn opcode(self, opcode: &'static str) -> Formats {
        Formats { hlo: Hlo::Named(opcode), ..self }
    }

    /// Declares the releases of the versions in artifacts.
    pub(super) const fn versions(self, vhlo: &'static [Release]) -> Formats {
        Formats { vhlo, ..self }
    }
}

impl OpInfo {
    /// Adds the name and the other columns to a declaration created by [`arity`]. `same_name` is the
    /// operation's name in HLO if HLO uses the same name.
    pub(super) const fn row(
        self,
        name: &'static str,
        traits: Traits,
        attributes: &'static [&'static str],
        formats: Formats,
        same_name: &'static str,
    ) -> OpInfo {
        let hlo = match formats.hlo {
            Hlo::Missing => None,
            Hlo::SameName => Some(same_name),
            Hlo::Named(opcode) => Some(opcode),
        };
        OpInfo { name, traits, attributes, hlo, vhlo: formats.vhlo, ..self }
    }

    /// Returns true if the operation has all of `traits`.
    pub const fn is(&self, traits: Traits) -> bool {
        self.traits.has(traits)
    }

    /// Returns the names of the attributes.
    pub fn attribute_names(&self) -> impl Iterator<Item = &'static str> {
        self.attributes.iter().map(|name| name.strip_suffix('?').unwrap_or(name))
    }

    /// Returns the name without the dialect.
    pub const fn short_name(&self) -> &'static str {
        without_dialect(self.name)
    }
}

/// Values and regions of an operation, before [`OpInfo::row`] adds the rest of its declaration.
pub(super) const fn arity(operands: Count, kind: Kind, regions: Count, results: Count) -> OpInfo {
    let (traits, attributes, hlo, vhlo) = (Traits::EMPTY, &[], None, &[]);
    OpInfo { name: "", operands, kind, regions, results, traits, attributes, hlo, vhlo }
}

/// Removes the dialect from a name.
pub(super) const fn without_dialect(name: &'static str) -> &'static str {
    let mut at = 0;
    while at < name.len() {
        if name.as_bytes()[at] == b'.' {
            return name.split_at(at + 1).1;
        }
        at += 1;
    }
    name
}

/// Returns the bytes of a name with dashes for underscores.
pub(super) const fn dashed<const N: usize>(name: &str) -> [u8; N] {
    let mut out = [0; N];
    let mut at = 0;
    while at < N {
        let byte = name.as_bytes()[at];
        out[at] = if byte == b'_' { b'-' } else { byte };
        at += 1;
    }
    out
}

/// Expands to the name of an operation in HLO, if HLO uses the same name.
macro_rules! name_in_hlo {
    ($name:expr) => {{
        const PLAIN_NAME: &str = $crate::op::info::without_dialect($name);
        const DASHED: [u8; PLAIN_NAME.len()] = $crate::op::info::dashed(PLAIN_NAME);
        match str::from_utf8(&DASHED) {
            Ok(name) => name,
            Err(_) => PLAIN_NAME,
        }
    }};
}
pub(super) use name_in_hlo;
