//! What the types of parameters say, known when a handler is compiled.

use crate::abi;
use crate::buffer::{ANY_RANK, FromView};

/// What a parameter is. The numbers are those of [`crate::descriptor::ParamDescriptor`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Role {
    /// A buffer that is read.
    Operand = 1,
    /// A buffer that is written.
    Result = 2,
    /// An operand and a result that are one.
    InOut = 3,
    /// All operands that no other parameter takes.
    RestOperands = 4,
    /// All results that no other parameter takes.
    RestResults = 5,
    /// A constant, by name.
    Attribute = 6,
    /// Every constant.
    AllAttributes = 7,
    /// Something of the host or of the call site.
    Context = 8,
}

/// One of the two lists of buffers that a frame has.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(super) enum Side {
    Operands,
    Results,
}

impl Side {
    /// Roles that take its buffers; the last one takes all that are left.
    pub(super) const fn roles(self) -> [Role; 3] {
        match self {
            Side::Operands => [Role::Operand, Role::InOut, Role::RestOperands],
            Side::Results => [Role::Result, Role::InOut, Role::RestResults],
        }
    }

    /// What messages call one of its buffers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Side::Operands => "operand",
            Side::Results => "result",
        }
    }
}

/// What a parameter's type says about it.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Spec {
    pub role: Role,
    pub optional: bool,
    /// Number of the element type, or 0 for any.
    pub dtype: abi::DataType,
    /// Number of dimensions, or `ANY_RANK`.
    pub rank: usize,
    /// For an attribute, what it expects.
    pub attribute: &'static str,
    /// True if the argument may outlive the handler's return.
    pub keeps: bool,
    /// True if what was read is what a later call reads from a frame that has not changed.
    pub lasts: bool,
}

impl Spec {
    pub(super) const fn of(role: Role) -> Spec {
        Spec {
            role,
            optional: false,
            dtype: abi::DataType::INVALID,
            rank: ANY_RANK,
            attribute: "",
            keeps: false,
            lasts: false,
        }
    }

    pub(super) const fn buffer<B: FromView + ?Sized>(role: Role) -> Spec {
        let dtype = match B::DTYPE {
            Some(dtype) => abi::DataType::from_dtype(dtype),
            None => abi::DataType::INVALID,
        };
        Spec { dtype, rank: B::RANK, lasts: true, ..Spec::of(role) }
    }

    pub(super) const fn is_named(&self) -> bool {
        matches!(self.role, Role::Attribute)
    }

    pub(super) const fn has_memory(&self) -> bool {
        matches!(self.role, Role::Operand | Role::RestOperands) || self.writes()
    }

    pub(super) const fn writes(&self) -> bool {
        matches!(self.role, Role::Result | Role::InOut | Role::RestResults)
    }

    /// True if it is always one buffer, so that its view has a place among those of the call.
    pub(super) const fn is_one_buffer(&self) -> bool {
        matches!(self.role, Role::Operand | Role::Result) && !self.optional && !self.keeps
    }

    /// True if its memory may be more than one buffer.
    pub(super) const fn has_many(&self) -> bool {
        matches!(self.role, Role::InOut | Role::RestOperands | Role::RestResults)
    }
}

/// True if any argument may outlive the handler's return.
pub const fn keeps<const N: usize>(specs: &[Spec; N]) -> bool {
    let mut i = 0;
    while i < N {
        if specs[i].keeps {
            return true;
        }
        i += 1;
    }
    false
}

/// The parameters of a generic handler, from those for each of its types: what differs is left open.
pub const fn common<const N: usize>(instances: &[[Spec; N]]) -> [Spec; N] {
    let mut specs = instances[0];
    let mut i = 1;
    while i < instances.len() {
        let mut k = 0;
        while k < N {
            if instances[i][k].dtype.0 != specs[k].dtype.0 {
                specs[k].dtype = abi::DataType::INVALID;
            }
            k += 1;
        }
        i += 1;
    }
    specs
}

/// True if what was read from a frame is what a later call reads, unless the frame changes.
pub const fn lasts<const N: usize>(specs: &[Spec; N]) -> bool {
    let mut i = 0;
    while i < N {
        if !specs[i].lasts {
            return false;
        }
        i += 1;
    }
    true
}

/// How many parameters are one buffer.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Shape {
    pub operands: usize,
    pub results: usize,
    /// No other parameter has memory, so that these are all buffers of the frame. False with `InOut`, `Option`, `Rest…`, `Kept…`.
    pub is_all: bool,
}

impl Shape {
    pub const fn of<const N: usize>(specs: &[Spec; N]) -> Shape {
        let (mut shape, mut i) = (Shape { operands: 0, results: 0, is_all: true }, 0);
        while i < N {
            if specs[i].is_one_buffer() {
                match specs[i].role {
                    Role::Operand => shape.operands += 1,
                    _ => shape.results += 1,
                }
            } else if specs[i].has_memory() {
                shape.is_all = false;
            }
            i += 1;
        }
        shape
    }

    pub(super) const fn of_side(self, side: Side) -> usize {
        match side {
            Side::Operands => self.operands,
            Side::Results => self.results,
        }
    }

    /// Number of their views.
    pub const fn views(self) -> usize {
        self.operands + self.results
    }
}

/// Where the view of parameter `i` is, if it is one buffer (anywhere otherwise): those of operands come first, in the order of
/// the frame.
pub const fn view_of<const N: usize>(specs: &[Spec; N], i: usize) -> (Role, usize) {
    let (mut before, mut k) = (0, 0);
    while k < i {
        if specs[k].is_one_buffer() && specs[k].role as u32 == specs[i].role as u32 {
            before += 1;
        }
        k += 1;
    }
    match specs[i].role {
        Role::Operand => (Role::Operand, before),
        role => (role, Shape::of(specs).operands + before),
    }
}
