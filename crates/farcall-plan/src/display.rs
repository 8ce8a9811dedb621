//! Plans as text, for people and tools.

use std::fmt::{self, Write as _};

use super::{Base, BufferSlice, Combine, DeviceNumber, Plan, TensorSlice, Thunk, ThunkOp, iotas, types};
use farcall_ir::bounded::Cut;
use farcall_ir::eval::{Numerics, Semantics};
use farcall_ir::op::collective::Grid;
use farcall_ir::stack;
use farcall_kernels::short_name;

impl fmt::Display for BufferSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.base)?;
        if matches!(self.base, Base::Arena | Base::Stack) || self.offset > 0 {
            write!(f, "[{}..{}]", self.offset, self.offset.saturating_add(self.size))?;
        }
        Ok(())
    }
}

impl fmt::Display for TensorSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}[", self.slice, self.ty.dtype)?;
        for (i, d) in self.ty.sizes().iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// Writes a readable dump: sizes, inputs, constants, thunks with their slices, results.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Numerics { denormals, semantics } = self.parts.numerics;
        write!(f, "plan: arena {} bytes, denormals {denormals}", self.parts.arena_size)?;
        if semantics != Semantics::default() {
            write!(f, ", semantics {semantics}")?;
        }
        if self.parts.grid != Grid::ONE {
            write!(f, ", for {}", self.parts.grid)?;
        }
        writeln!(f)?;
        for (i, p) in self.parts.params.iter().enumerate() {
            write!(f, "in{i}: {}", p.ty)?;
            if p.donated {
                f.write_str(", donated")?;
            }
            writeln!(f)?;
        }
        for (i, n) in self.parts.numbers.iter().enumerate() {
            writeln!(f, "number{i}: {} = {}", n.ty(), number(n.get(0)))?;
        }
        for (i, c) in self.parts.constants.iter().enumerate() {
            let shown: Vec<String> = c.iter().take(4).map(number).collect();
            let more = if c.len() > 4 && !c.is_splat() { ", …" } else { "" };
            let shown = if c.is_splat() { shown[0].clone() } else { shown.join(", ") };
            writeln!(f, "const{i}: {} = {shown}{more}", c.ty())?;
        }
        stack::with_room(|| sequence(f, self, &self.parts.thunks, 0))?;
        let results: Vec<String> = self.parts.results.iter().map(TensorSlice::to_string).collect();
        writeln!(f, "return {}", results.join(", "))?;
        for Cut { result, dim, size } in &self.parts.cuts {
            writeln!(f, "cut out{result}: dimension {dim} has the size in out{size}")?;
        }
        Ok(())
    }
}

fn number(s: farcall_ir::Scalar) -> String {
    use farcall_ir::Scalar;
    match s {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Signed(x) => x.to_string(),
        Scalar::Unsigned(x) => x.to_string(),
        Scalar::Float(x) => format!("{x:?}"),
        Scalar::Complex(z) => format!("({:?}, {:?})", z.re, z.im),
    }
}

fn sequence(f: &mut fmt::Formatter<'_>, plan: &Plan, thunks: &[Thunk], depth: usize) -> fmt::Result {
    for thunk in thunks {
        let outputs: Vec<String> = thunk.results().iter().map(TensorSlice::to_string).collect();
        let inputs: Vec<String> = thunk.inputs.iter().map(TensorSlice::to_string).collect();
        write!(f, "{:depth$}", "")?;
        if !outputs.is_empty() {
            write!(f, "{} = ", outputs.join(", "))?;
        }
        write!(f, "{}({})", plan.operation(thunk), inputs.join(", "))?;
        for scratch in &thunk.outputs[thunk.results().len()..] {
            write!(f, " scratch {}", scratch.slice)?;
        }
        writeln!(f)?;
        for (i, body) in thunk.bodies.iter().enumerate() {
            match (&thunk.op, i) {
                (ThunkOp::While, 0) => writeln!(f, "{:depth$} condition:", "")?,
                (ThunkOp::While, _) => writeln!(f, "{:depth$} body:", "")?,
                _ => writeln!(f, "{:depth$} branch {i}:", "")?,
            }
            sequence(f, plan, body, depth + 2)?;
        }
    }
    Ok(())
}

impl Plan {
    /// Describes the action of a thunk in a few words: its kind and its details.
    pub fn operation(&self, thunk: &Thunk) -> String {
        let (kind, detail) = (thunk.op.kind(), self.detail(thunk));
        if detail.is_empty() { kind.to_owned() } else { format!("{kind} {detail}") }
    }

    /// Returns the details that distinguish a thunk from others of its kind, as dumps show them: a target,
    /// the evaluated operation, or the kernel's description (for a fusion, its members). May be empty.
    pub fn detail(&self, thunk: &Thunk) -> String {
        match &thunk.op {
            ThunkOp::Compute(compute) => {
                let (inputs, outputs) = (types(&thunk.inputs), types(thunk.results()));
                compute.kernel.describe(&compute.request(&inputs, &outputs, &iotas(&thunk.inputs)))
            }
            ThunkOp::Copy | ThunkOp::While | ThunkOp::Case => String::new(),
            ThunkOp::CustomCall(call) => {
                let mut text = format!("@{}", self.parts.calls[call.id.index()].call.target);
                for (output, input) in &call.aliases {
                    let _ = write!(text, " out{output}=in{input}");
                }
                text
            }
            ThunkOp::Collective(collective) => {
                let mut text = short_name(&collective.op).to_owned();
                if let Some(Combine { compute, .. }) = &collective.combine {
                    let _ = write!(text, " by {}", compute.kernel.name());
                }
                text
            }
            ThunkOp::DeviceNumber(DeviceNumber::Replica) => "replica".to_owned(),
            ThunkOp::DeviceNumber(DeviceNumber::Partition) => "partition".to_owned(),
            ThunkOp::Reference(id) => {
                let site = &self.parts.references[id.index()];
                let mut text = site.op().map_or("nothing", short_name).to_owned();
                for call in site.calls.iter().flat_map(|nested| &nested.plan.parts.calls) {
                    let _ = write!(text, " @{}", call.call.target);
                }
                text
            }
        }
    }
}
