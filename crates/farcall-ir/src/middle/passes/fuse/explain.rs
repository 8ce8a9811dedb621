//! Explains, after the fusion pass, why elementwise operations are in no fusion and why fusions end where
//! they do.
//!
//! The explanations use the same roles as fusion itself, and change nothing.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use super::roles::{Role, own_role};
use crate::middle::passes::{PassOptions, is_pure, running_regions};
use crate::module::{Func, Inst, InstId};
use crate::op::Op;

/// An elementwise operation that is in no fusion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfusedInst {
    /// The operation.
    pub inst: InstId,
    /// Reason why the operation is in no fusion.
    pub reason: UnfusedReason,
    /// The operation that the reason refers to: a neighbor, or an operation between it and a neighbor.
    pub beside: Option<InstId>,
}

/// An edge between a fusion and the producer of an operand or the user of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FusionEdge {
    /// The producer of the value.
    pub from: InstId,
    /// The user of the value.
    pub to: InstId,
    /// Reason why producer and user are not in one fusion. The reason speaks of `to` as the operation, and of
    /// `from` as its neighbor.
    pub reason: UnfusedReason,
}

/// Reason why an operation is not in the fusion beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnfusedReason {
    /// The operation has a side effect.
    SideEffect,
    /// The operation works on quantized tensors.
    Quantized,
    /// The operation has no elements.
    Empty,
    /// Fusions do not support the operation on these element types, or not in this form.
    NoTile {
        /// The operation.
        op: &'static str,
        /// Element types of the operands.
        dtypes: Vec<&'static str>,
    },
    /// Neither a producer of its operands nor a user of its result is an elementwise operation.
    Alone,
    /// The neighbor has a different number of elements.
    Elements {
        /// Number of elements of the operation.
        own: usize,
        /// Number of elements of the neighbor.
        other: usize,
    },
    /// The operation is duplicated into every fusion that uses it, but its number of elements is neither one
    /// nor that of the fusion.
    Sizes,
    /// A loop or branch separates the operation from its neighbor.
    Region,
    /// An operation that is not elementwise lies on a path between the operation and its neighbor.
    Between {
        /// The operation in between.
        op: &'static str,
    },
    /// The neighbor has the maximum number of members of a fusion.
    Full {
        /// The maximum number of members.
        members: usize,
    },
    /// The operands are computed by a later fusion than the neighbor's operands.
    Later,
    /// The operation is duplicated into every fusion that uses it, but the user in `by` is not a fusion.
    Taken {
        /// The user; `None` if the operation is a result of the program.
        by: Option<&'static str>,
    },
    /// The operation or its neighbor is not elementwise.
    Whole {
        /// The operation that is not elementwise.
        op: &'static str,
    },
}

impl fmt::Display for UnfusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnfusedReason::SideEffect => f.write_str("it has a side effect"),
            UnfusedReason::Quantized => f.write_str("fusions do not support quantized tensors"),
            UnfusedReason::Empty => f.write_str("it has no elements"),
            UnfusedReason::NoTile { op, dtypes } if dtypes.is_empty() => {
                write!(f, "fusions do not support this form of {op}")
            }
            UnfusedReason::NoTile { op, dtypes } => {
                write!(f, "fusions do not have {op} of {}", dtypes.join(", "))
            }
            UnfusedReason::Alone => f.write_str("it has no elementwise neighbor"),
            UnfusedReason::Elements { own, other } => {
                write!(f, "it has {own} elements, its neighbor {other}")
            }
            UnfusedReason::Sizes => f.write_str("the fusion that uses it has a different number of elements"),
            UnfusedReason::Region => f.write_str("a loop or branch separates it from its neighbor"),
            UnfusedReason::Between { op } => write!(f, "{op} lies between it and its neighbor"),
            UnfusedReason::Full { members } => {
                write!(f, "its neighbor has {members} members, the maximum for a fusion")
            }
            UnfusedReason::Later => f.write_str("its operands are computed after those of its neighbor"),
            UnfusedReason::Taken { by: Some(op) } => write!(f, "its user {op} is in no fusion"),
            UnfusedReason::Taken { by: None } => f.write_str("it is a result of the program"),
            UnfusedReason::Whole { op } => write!(f, "{op} is a separate step: it is not elementwise"),
        }
    }
}

/// Maximum number of instructions visited in the search for an instruction between two others.
const MAX_VISITED: usize = 4096;

/// Lists the elementwise operations that are in no fusion after the fusion pass has run, in the order of
/// their regions. Constants and reshapes, which need no computation, are left out.
pub fn unfused(func: &Func, cx: &PassOptions) -> Vec<UnfusedInst> {
    let explainer = Explainer::new(func, cx);
    explainer.insts().filter(|inst| is_on_elements(inst.op())).map(|inst| explainer.why(inst)).collect()
}

/// Lists the edges at which fusions end, after the fusion pass has run, in the order of the users. Operations
/// that [`unfused`] reports, and operations that only rearrange a value, are left out.
pub fn fusion_edges(func: &Func, cx: &PassOptions) -> Vec<FusionEdge> {
    let explainer = Explainer::new(func, cx);
    explainer.insts().flat_map(|to| explainer.fusion_edges(to)).collect()
}

/// The instructions that compute the operands of an instruction.
fn producers(inst: Inst<'_>) -> impl Iterator<Item = Inst<'_>> {
    inst.operands().iter().filter_map(move |v| inst.func().defining_inst(*v))
}

fn is_on_elements(op: &Op) -> bool {
    op.is_elementwise() || matches!(op, Op::BitcastConvert | Op::Iota { .. } | Op::BroadcastInDim { .. })
}

struct Explainer<'a> {
    func: &'a Func,
    cx: &'a PassOptions,
    users: FxHashMap<InstId, Vec<InstId>>,
}

impl<'a> Explainer<'a> {
    fn new(func: &'a Func, cx: &'a PassOptions) -> Explainer<'a> {
        let mut explainer = Explainer { func, cx, users: FxHashMap::default() };
        for inst in explainer.insts() {
            for from in producers(inst) {
                explainer.users.entry(from.id()).or_default().push(inst.id());
            }
        }
        explainer
    }

    /// All instructions of the regions that run.
    fn insts(&self) -> impl Iterator<Item = Inst<'a>> + use<'a> {
        let func = self.func;
        running_regions(func).into_iter().flat_map(move |region| func.region(region).insts())
    }

    /// The boundaries between an instruction and the producers of its operands.
    fn fusion_edges(&self, to: Inst<'a>) -> Vec<FusionEdge> {
        let is_fusion = |inst: Inst<'_>| inst.op().is_fusion();
        let is_step = |inst: Inst<'_>| match own_role(inst, self.cx) {
            Role::Cheap | Role::Repeat(_) => false,
            _ if matches!(inst.op(), Op::Constant(_) | Op::Reshape) => false,
            _ => is_fusion(inst) || !is_on_elements(inst.op()),
        };
        if matches!(to.op(), Op::Return) || !is_step(to) {
            return Vec::new();
        }
        let mut seen = FxHashSet::default();
        let beside = producers(to).filter(|from| is_step(*from) && (is_fusion(*from) || is_fusion(to)));
        let beside = beside.filter(|from| seen.insert(from.id()));
        let border = |from: Inst<'a>| {
            let reason = match (self.elements(to), self.elements(from)) {
                (Some(n), Some(m)) => self.of_neighbors((to, n), &[(from, m)]).0,
                (Some(_), None) => UnfusedReason::Whole { op: name(from) },
                (None, _) => UnfusedReason::Whole { op: name(to) },
            };
            FusionEdge { from: from.id(), to: to.id(), reason }
        };
        beside.map(border).collect()
    }

    fn why(&self, inst: Inst<'_>) -> UnfusedInst {
        let (reason, beside) = match own_role(inst, self.cx) {
            Role::Member(n, _) => self.of_member(inst, n),
            Role::Cheap | Role::Repeat(_) => self.of_cheap(inst),
            _ => (self.of_other(inst), None),
        };
        UnfusedInst { inst: inst.id(), reason, beside }
    }

    fn of_other(&self, inst: Inst<'_>) -> UnfusedReason {
        let types = || inst.operands().iter().chain(inst.results()).filter_map(|v| self.func.tensor(*v));
        if types().any(|t| t.quant.is_some()) {
            return UnfusedReason::Quantized;
        }
        if types().any(|t| t.elements() == Some(0)) {
            return UnfusedReason::Empty;
        }
        if !is_pure(inst) {
            return UnfusedReason::SideEffect;
        }
        let operands = inst.operands().iter().filter_map(|v| self.func.tensor(*v));
        let mut dtypes: Vec<&'static str> = operands.map(|t| t.dtype.name()).collect();
        dtypes.dedup();
        UnfusedReason::NoTile { op: name(inst), dtypes }
    }

    fn of_cheap(&self, inst: Inst<'_>) -> (UnfusedReason, Option<InstId>) {
        let users = self.users.get(&inst.id()).map_or(&[][..], Vec::as_slice);
        let other = users.iter().find(|u| !self.func.inst(**u).op().is_fusion());
        match (other.map(|u| self.func.inst(*u)), users.first()) {
            (Some(user), _) if *user.op() != Op::Return => {
                (UnfusedReason::Taken { by: Some(name(user)) }, Some(user.id()))
            }
            (None, Some(fusion)) => (UnfusedReason::Sizes, Some(*fusion)),
            _ => (UnfusedReason::Taken { by: None }, None),
        }
    }

    fn of_member(&self, inst: Inst<'_>, n: usize) -> (UnfusedReason, Option<InstId>) {
        let users = self.users.get(&inst.id()).into_iter().flatten().map(|id| self.func.inst(*id));
        let beside: Vec<(Inst<'_>, usize)> =
            producers(inst).chain(users).filter_map(|other| Some((other, self.elements(other)?))).collect();
        self.of_neighbors((inst, n), &beside)
    }

    /// The first reason that applies to a neighbor; neighbors with the same number of elements come first.
    fn of_neighbors(
        &self,
        (inst, n): (Inst<'_>, usize),
        beside: &[(Inst<'_>, usize)],
    ) -> (UnfusedReason, Option<InstId>) {
        let region = |i: Inst<'_>| i.parent().map(|r| r.id());
        let mut alike = beside.iter().filter(|(other, m)| *m == n && region(*other) == region(inst));
        if let Some((other, _)) = alike.next() {
            if let Some(between) = self.between(inst, *other).or_else(|| self.between(*other, inst)) {
                return (UnfusedReason::Between { op: name(between) }, Some(between.id()));
            }
            let members = self.cx.fusion_limits.members;
            let is_full = self.members(*other) >= members;
            let reason = if is_full { UnfusedReason::Full { members } } else { UnfusedReason::Later };
            return (reason, Some(other.id()));
        }
        match beside.first() {
            Some((other, m)) if *m != n => (UnfusedReason::Elements { own: n, other: *m }, Some(other.id())),
            Some((other, _)) => (UnfusedReason::Region, Some(other.id())),
            None => (UnfusedReason::Alone, None),
        }
    }

    /// The number of elements of a fusion, or of an instruction that could be a member of one.
    fn elements(&self, inst: Inst<'_>) -> Option<usize> {
        match own_role(inst, self.cx) {
            Role::Member(n, _) if *inst.op() != Op::Reshape => Some(n),
            _ if inst.op().is_fusion() => self.func.tensor(*inst.results().first()?)?.elements(),
            _ => None,
        }
    }

    /// Number of members of a fusion.
    fn members(&self, inst: Inst<'_>) -> usize {
        inst.regions().map(|r| r.insts().filter(|i| is_on_elements(i.op())).count()).sum()
    }

    /// Returns an instruction on a path from `from` to `to`, other than these two.
    fn between<'f>(&'f self, from: Inst<'_>, to: Inst<'_>) -> Option<Inst<'f>> {
        let (mut waiting, mut seen) = (vec![to.id()], FxHashSet::default());
        while let Some(id) = waiting.pop() {
            let inst = self.func.inst(id);
            for before in producers(inst) {
                if before.id() == from.id() {
                    if id != to.id() {
                        return Some(inst);
                    }
                } else if seen.len() < MAX_VISITED && seen.insert(before.id()) {
                    waiting.push(before.id());
                }
            }
        }
        None
    }
}

/// The name of an operation without its dialect.
fn name(inst: Inst<'_>) -> &'static str {
    let name = inst.op().name();
    name.strip_prefix("stablehlo.").or(name.strip_prefix("farcall.")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::eval::Numerics;
    use crate::middle::passes::{FusionLimits, dce, fuse};
    use crate::module::FuncId;
    use crate::text;
    use crate::types::TensorType;

    /// Name and reason of each operation that is in no fusion.
    fn reasons(body: &str) -> Vec<String> {
        fused(body, |func, cx| {
            let said = |u: UnfusedInst| format!("{}: {}", name(func.inst(u.inst)), u.reason);
            unfused(func, cx).into_iter().map(said).collect()
        })
    }

    const MAX_MEMBERS: usize = 256;

    /// Runs the pass on a program, and returns the explanations that `said` gives for the result.
    fn fused(body: &str, said: impl FnOnce(&Func, &PassOptions) -> Vec<String>) -> Vec<String> {
        let program =
            format!("func.func @main(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<8xf32> {{\n{body}}}");
        let mut module = text::parse(&Source::new("test", program)).unwrap();
        let fuses = |op: &Op, _: &[&TensorType], _: &TensorType| {
            matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Select)
        };
        let fusion_limits = FusionLimits { members: MAX_MEMBERS, ops: 1024, row_elements: 1024 };
        let cx = PassOptions { fuses, fusion_limits, ..PassOptions::new(Numerics::default()) };
        let func = module.func_mut(FuncId::new(0));
        (fuse::PASS.run)(func, &cx);
        (dce::PASS.run)(func, &cx);
        said(func, &cx)
    }

    #[test]
    fn each_operation_has_the_reason_that_holds() {
        let between = "%a = stablehlo.sine %x : tensor<8xf32>
            %r = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
            %b = stablehlo.add %a, %r : tensor<8xf32>
            return %b : tensor<8xf32>";
        let stands = "reverse lies between it and its neighbor";
        assert_eq!(reasons(between), [format!("sine: {stands}"), format!("add: {stands}")]);

        let elements = "%q = stablehlo.not %p : tensor<i1>
            %y = stablehlo.reverse %x, dims = [0] : tensor<8xf32>
            %a = stablehlo.select %q, %x, %y : tensor<i1>, tensor<8xf32>
            return %a : tensor<8xf32>";
        let expected =
            ["not: it has 1 elements, its neighbor 8", "select: it has 8 elements, its neighbor 1"];
        assert_eq!(reasons(elements), expected);

        let lone = "%b = stablehlo.clamp %x, %x, %x : tensor<8xf32>
            %c = stablehlo.negate %b : tensor<8xf32>
            return %c : tensor<8xf32>";
        let expected = ["clamp: fusions do not have clamp of f32", "negate: it has no elementwise neighbor"];
        assert_eq!(reasons(lone), expected);

        let region = "%a = stablehlo.sine %x : tensor<8xf32>
            %b = \"stablehlo.if\"(%p) ({
              %c = stablehlo.negate %a : tensor<8xf32>
              stablehlo.return %c : tensor<8xf32>
            }, {
              stablehlo.return %x : tensor<8xf32>
            }) : (tensor<i1>) -> tensor<8xf32>
            return %b : tensor<8xf32>";
        let border = "a loop or branch separates it from its neighbor";
        assert_eq!(reasons(region), [format!("negate: {border}"), format!("sine: {border}")]);
    }

    #[test]
    fn a_fusion_ends_where_elements_are_not_made_one_by_one() {
        let body = "%a = stablehlo.sine %x : tensor<8xf32>
            %b = stablehlo.negate %a : tensor<8xf32>
            %r = stablehlo.reverse %b, dims = [0] : tensor<8xf32>
            %c = stablehlo.sine %r : tensor<8xf32>
            %d = stablehlo.add %c, %b : tensor<8xf32>
            return %d : tensor<8xf32>";
        let said = |func: &Func, cx: &PassOptions| {
            let names = |b: FusionEdge| {
                [name(func.inst(b.from)), name(func.inst(b.to)), &b.reason.to_string()].join(", ")
            };
            let mut said: Vec<String> = fusion_edges(func, cx).into_iter().map(names).collect();
            said.sort();
            said
        };
        let whole = "reverse is a separate step: it is not elementwise";
        let expected = [
            "fusion, fusion, reverse lies between it and its neighbor".to_owned(),
            format!("fusion, reverse, {whole}"),
            format!("reverse, fusion, {whole}"),
        ];
        assert_eq!(fused(body, said), expected);
    }

    #[test]
    fn a_fusion_that_is_full_is_the_reason() {
        let mut chain = "%v0 = stablehlo.sine %x : tensor<8xf32>\n".to_owned();
        for i in 0..MAX_MEMBERS {
            chain += &format!("%v{} = stablehlo.sine %v{i} : tensor<8xf32>\n", i + 1);
        }
        chain += &format!("return %v{MAX_MEMBERS} : tensor<8xf32>");
        let expected = format!("sine: its neighbor has {MAX_MEMBERS} members, the maximum for a fusion");
        assert_eq!(reasons(&chain), [expected]);
    }
}
