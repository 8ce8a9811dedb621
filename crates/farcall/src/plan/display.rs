//! The plan as text and as data, for people and tools.

use std::fmt::{self, Write as _};

use super::{Base, Buffer, Plan, Reduce, Slice, Thunk, ThunkOp};
use farcall_ir::eval::{Denormals, Semantics};

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Arena => write!(f, "arena[{}..{}]", self.offset, self.offset.saturating_add(self.size)),
            base => write!(f, "{base}"),
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}[", self.slice, self.ty.dtype)?;
        for (i, d) in self.ty.dims.iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// A readable dump: sizes, inputs, constants, thunks with their slices, results.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.numerics.denormals {
            Denormals::Ieee => "ieee",
            Denormals::Flush => "flush",
        };
        let semantics = match self.numerics.semantics {
            Semantics::Xla => "",
            Semantics::StableHlo => ", semantics stablehlo",
        };
        writeln!(f, "plan: arena {} bytes, denormals {mode}{semantics}", self.arena_size)?;
        for (i, p) in self.params.iter().enumerate() {
            write!(f, "in{i}: {}", p.ty)?;
            if p.donated {
                f.write_str(", donated")?;
            }
            writeln!(f)?;
        }
        for (i, c) in self.constants.iter().enumerate() {
            let shown: Vec<String> = c.iter().take(4).map(number).collect();
            let more = if c.len() > 4 && !c.is_splat() { ", …" } else { "" };
            let shown = if c.is_splat() { shown[0].clone() } else { shown.join(", ") };
            writeln!(f, "const{i}: {} = {shown}{more}", c.ty())?;
        }
        sequence(f, self, &self.thunks, 0)?;
        let results: Vec<String> = self.results.iter().map(Buffer::to_string).collect();
        writeln!(f, "return {}", results.join(", "))
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
        let outputs: Vec<String> = thunk.outputs.iter().map(Buffer::to_string).collect();
        let inputs: Vec<String> = thunk.inputs.iter().map(Buffer::to_string).collect();
        write!(f, "{:depth$}", "")?;
        if !outputs.is_empty() {
            write!(f, "{} = ", outputs.join(", "))?;
        }
        write!(f, "{}", thunk.op.kind())?;
        let detail = detail(plan, &thunk.op);
        if !detail.is_empty() {
            write!(f, " {detail}")?;
        }
        writeln!(f, "({})", inputs.join(", "))?;
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

/// What tells a thunk from others of its kind.
fn detail(plan: &Plan, op: &ThunkOp) -> String {
    match op {
        ThunkOp::Unary(u) => short(u.name()).to_owned(),
        ThunkOp::Binary(b) => short(b.name()).to_owned(),
        ThunkOp::Compare(c) => format!("compare.{}", c.direction.name().to_lowercase()),
        ThunkOp::Select => "select".to_owned(),
        ThunkOp::Clamp => "clamp".to_owned(),
        ThunkOp::Convert => "convert".to_owned(),
        ThunkOp::Copy | ThunkOp::Move(_) | ThunkOp::While | ThunkOp::Case => String::new(),
        ThunkOp::DynamicSlice(_) | ThunkOp::DynamicUpdateSlice(_) => String::new(),
        ThunkOp::Iota { dim } => format!("dim {dim}"),
        ThunkOp::Reduce(Reduce { op, dims }) => {
            let mut text = format!("{op:?}").to_lowercase();
            for (n, reduced) in dims {
                let _ = write!(text, " {n}{}", if *reduced { "!" } else { "" });
            }
            text
        }
        ThunkOp::Dot(d) => {
            let batch: usize = d.batch.iter().map(|b| b.0).product();
            format!("{batch}x[{}x{}x{}]", d.m, d.k, d.n)
        }
        ThunkOp::CustomCall(call) => {
            let mut text = format!("@{}", plan.calls[call.id.index()].target().name());
            for (output, input) in &call.aliases {
                let _ = write!(text, " out{output}=in{input}");
            }
            text
        }
        ThunkOp::Reference(id) => {
            let site = &plan.references[id.index()];
            let mut text = short(site.name()).to_owned();
            for call in site.calls.iter().flat_map(|nested| &nested.plan.calls) {
                let _ = write!(text, " @{}", call.target().name());
            }
            text
        }
    }
}

fn short(name: &str) -> &str {
    name.strip_prefix("stablehlo.").unwrap_or(name)
}
