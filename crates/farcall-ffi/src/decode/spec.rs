//! Compile-time descriptions of parameters, derived from their types.

use farcall_sig::platform::{is_host, is_same};
use farcall_sig::text::Text;

use crate::abi;
use crate::buffer::{ANY_RANK, BufferMemory, FromView};

/// Role of a parameter. The numbers are used in [`crate::descriptor::ParamDescriptor`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Role {
    /// A buffer that is read.
    Operand = 1,
    /// A buffer that is written.
    Result = 2,
    /// An operand and a result that share memory.
    InOut = 3,
    /// All operands that no other parameter takes.
    RestOperands = 4,
    /// All results that no other parameter takes.
    RestResults = 5,
    /// An attribute, found by name.
    Attribute = 6,
    /// All attributes.
    AllAttributes = 7,
    /// A service of the host, or state of the call site.
    Context = 8,
}

/// One of the two lists of buffers in a frame.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(super) enum Side {
    Operands,
    Results,
}

impl Side {
    /// Roles that take buffers of this side: required or optional, in-out, and all remaining ones.
    pub(super) const fn roles(self) -> [Role; 3] {
        match self {
            Side::Operands => [Role::Operand, Role::InOut, Role::RestOperands],
            Side::Results => [Role::Result, Role::InOut, Role::RestResults],
        }
    }

    /// Name of a buffer of this side, for messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Side::Operands => "operand",
            Side::Results => "result",
        }
    }
}

/// Description of a parameter, derived from its type.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Spec {
    pub role: Role,
    pub optional: bool,
    /// Number of the element type; 0 for any.
    pub dtype: abi::DataType,
    /// Number of dimensions, or `ANY_RANK`.
    pub rank: usize,
    /// Expected kind of attribute, for messages; empty unless the parameter is an attribute.
    pub attribute: &'static str,
    /// Memory of the buffers; `None` for other parameters.
    pub memory: Option<BufferMemory>,
    /// Platform whose handlers can have the parameter; `None` for all platforms.
    pub platform: Option<&'static str>,
    /// True if the argument may be kept after the handler has returned.
    pub keeps: bool,
    /// True if the decoded value stays valid for later calls, as long as the frame does not change.
    pub lasts: bool,
}

impl Spec {
    /// Description of a parameter that is made from the call's context.
    pub const CONTEXT: Spec = Spec { lasts: true, ..Spec::of(Role::Context) };

    /// Description of a parameter that is made from the call's context, for handlers of one platform.
    pub const fn context_on(platform: &'static str) -> Spec {
        Spec { platform: Some(platform), ..Spec::CONTEXT }
    }

    pub(super) const fn of(role: Role) -> Spec {
        Spec {
            role,
            optional: false,
            dtype: abi::DataType::INVALID,
            rank: ANY_RANK,
            attribute: "",
            memory: None,
            platform: None,
            keeps: false,
            lasts: false,
        }
    }

    pub(super) const fn buffer<B: FromView + ?Sized>(role: Role) -> Spec {
        let dtype = match B::DTYPE {
            Some(dtype) => abi::DataType::from_dtype(dtype),
            None => abi::DataType::INVALID,
        };
        Spec { dtype, rank: B::RANK, memory: Some(B::MEMORY), lasts: true, ..Spec::of(role) }
    }

    /// Returns the reason why a handler for this platform cannot have the parameter: its buffers lie in other
    /// memory, or its type belongs to another platform.
    const fn misplaced(&self, platform: &str) -> Option<Text> {
        let mut why = Text::new();
        if let Some(own) = self.platform
            && !is_same(own, platform)
        {
            why.add("the type is for handlers of the platform ").add(own).add(", but the platform is ");
            why.add(platform).add(": set the platform, as in `platform = \"").add(own).add("\"`");
            return Some(why);
        }
        match (self.memory, is_host(platform)) {
            (Some(BufferMemory::Gpu), true) => {
                why.add(
                    "the type is for buffers in a GPU's memory: use `Buffer` or `AnyBuffer`, or set the ",
                );
                why.add("platform, as in `platform = \"CUDA\"`");
                Some(why)
            }
            (Some(BufferMemory::Host), false) => {
                why.add("the type is for buffers in the host's memory, but the platform is ").add(platform);
                why.add(": use `GpuBuffer` or `AnyGpuBuffer`");
                Some(why)
            }
            _ => None,
        }
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

    /// Returns true if the parameter is always exactly one buffer, so that its view is in the call's array of
    /// views.
    pub(super) const fn is_one_buffer(&self) -> bool {
        matches!(self.role, Role::Operand | Role::Result) && !self.optional && !self.keeps
    }

    /// Returns true if the parameter may take any number of buffers.
    pub(super) const fn has_many(&self) -> bool {
        matches!(self.role, Role::RestOperands | Role::RestResults)
    }
}

/// Checks that a handler for this platform can have a parameter.
///
/// # Panics
/// If it cannot, with the reason.
#[track_caller]
pub const fn expect_on(platform: &str, spec: &Spec) {
    if let Some(why) = spec.misplaced(platform) {
        panic!("{}", why.as_str());
    }
}

/// Checks that a handler for this platform can have all parameters of the stage function `stage`.
///
/// # Panics
/// If it cannot, with the name of the first such parameter and the reason.
#[track_caller]
pub const fn expect_stage_on(platform: &str, stage: &str, specs: &[Spec], names: &[&str]) {
    let mut i = 0;
    while i < specs.len() {
        if let Some(why) = specs[i].misplaced(platform) {
            let mut message = Text::new();
            message.add("the parameter ").quote(names[i]).add(" of the stage function ").quote(stage);
            message.add(": ").add(why.as_str());
            panic!("{}", message.as_str());
        }
        i += 1;
    }
}

/// Returns true if any argument may be kept after the handler has returned.
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

/// Returns the parameters common to all instances of a generic handler. Element types that differ between
/// instances are left open.
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

/// Returns true if all decoded values stay valid for later calls, as long as the frame does not change.
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

/// Numbers of operands and of results whose parameters are always one buffer.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct BufferCounts {
    pub operands: usize,
    pub results: usize,
    /// True if no other parameter has memory, so that these are all buffers of the frame. False with `InOut`,
    /// `Option`, `Rest…`, `Kept…`.
    pub is_all: bool,
}

impl BufferCounts {
    pub const fn of<const N: usize>(specs: &[Spec; N]) -> BufferCounts {
        let (mut shape, mut i) = (BufferCounts { operands: 0, results: 0, is_all: true }, 0);
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

    /// Number of views.
    pub const fn views(self) -> usize {
        self.operands + self.results
    }
}

/// Returns the role of parameter `i`, and its position in the array of views. The position is arbitrary if
/// the parameter is not one buffer. Operands come first; each side is in the frame's order.
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
        role => (role, BufferCounts::of(specs).operands + before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, GpuBuffer};

    fn check(spec: Spec, platform: &str, expected: &str) {
        let why = spec.misplaced(platform);
        assert_eq!(why.as_ref().map_or("", Text::as_str), expected);
    }

    #[test]
    fn parameters_belong_to_platforms() {
        let stream = Spec::context_on("CUDA");
        check(stream, "cuda", "");
        check(
            stream,
            "ROCM",
            "the type is for handlers of the platform CUDA, but the platform is ROCM: set the platform, as in \
             `platform = \"CUDA\"`",
        );
        let (host, gpu) =
            (Spec::buffer::<Buffer<f32>>(Role::Operand), Spec::buffer::<GpuBuffer<f32>>(Role::Result));
        check(host, "cpu", "");
        check(gpu, "ROCM", "");
        check(Spec::CONTEXT, "ROCM", "");
        let other = "the type is for buffers in the host's memory, but the platform is gpu: use `GpuBuffer` or `AnyGpuBuffer`";
        check(host, "gpu", other);
        let other = "the type is for buffers in a GPU's memory: use `Buffer` or `AnyBuffer`, or set the platform, as in \
                     `platform = \"CUDA\"`";
        check(gpu, "Host", other);
    }

    #[test]
    #[should_panic(
        expected = "the parameter `x` of the stage function `load`: the type is for buffers in the host's memory"
    )]
    fn parameters_of_stages_belong_to_platforms() {
        let specs = [Spec::CONTEXT, Spec::buffer::<Buffer<f32>>(Role::Operand)];
        expect_stage_on("CUDA", "load", &specs, &["host", "x"]);
    }
}
