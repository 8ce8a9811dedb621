//! Why operations on elements are in no fusion, and why fusions end where they do: asked of a program after the pass, for
//! people.
//!
//! It follows from the same roles as fusion itself, and changes nothing.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{MOST, Role, own_role};
use crate::middle::passes::{Context, is_pure, running_regions};
use crate::module::{Func, Inst, InstId};
use crate::op::Op;

/// An operation on elements that is in no fusion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfused {
    /// Which.
    pub inst: InstId,
    /// Why.
    pub reason: Reason,
    /// The operation that the reason speaks of: a neighbor, or what stands between it and one.
    pub beside: Option<InstId>,
}

/// A fusion and what it takes a value from, or gives one to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Border {
    /// What makes the value.
    pub from: InstId,
    /// What takes it.
    pub to: InstId,
    /// Why they are not one fusion. In it, the operation is `to`, and its neighbor `from`.
    pub reason: Reason,
}

/// Why an operation is not in the fusion beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It has a side effect.
    SideEffect,
    /// It works on quantized tensors.
    Quantized,
    /// It has no elements.
    Empty,
    /// Fusions do not have the operation on these element types, or not in this form.
    NoTile {
        /// The operation.
        op: &'static str,
        /// Element types of its operands.
        dtypes: Vec<&'static str>,
    },
    /// Neither what it takes nor what takes it is an operation on elements.
    Alone,
    /// Its neighbor has another number of elements.
    Elements {
        /// Its own.
        own: usize,
        /// The neighbor's.
        other: usize,
    },
    /// It is made again in every fusion that takes it, but it has neither all elements of this one, nor one.
    Sizes,
    /// The neighbor is outside of the loop or branch that it is in, or inside of one that it is not in.
    Region,
    /// Another operation needs one of them and is needed by the other: what it makes is not made element by element.
    Between {
        /// The operation.
        op: &'static str,
    },
    /// The neighbor has as many members as a fusion may have.
    Full,
    /// What it takes is made by a later fusion than what the neighbor takes.
    Later,
    /// It is made again in every fusion that takes it; here, something else does.
    Taken {
        /// What takes it; none if it is a result of the program.
        by: Option<&'static str>,
    },
    /// One of them does not make its results element by element.
    Whole {
        /// The operation.
        op: &'static str,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::SideEffect => f.write_str("it has a side effect"),
            Reason::Quantized => f.write_str("fusions have no quantized tensors"),
            Reason::Empty => f.write_str("it has no elements"),
            Reason::NoTile { op, dtypes } if dtypes.is_empty() => write!(f, "fusions do not have this {op}"),
            Reason::NoTile { op, dtypes } => write!(f, "fusions do not have {op} of {}", dtypes.join(", ")),
            Reason::Alone => f.write_str("no operation on elements beside it"),
            Reason::Elements { own, other } => write!(f, "it has {own} elements, its neighbor {other}"),
            Reason::Sizes => f.write_str("the fusion that takes it has another number of elements"),
            Reason::Region => f.write_str("a loop or branch begins or ends between it and its neighbor"),
            Reason::Between { op } => write!(f, "{op} stands between it and its neighbor"),
            Reason::Full => write!(f, "its neighbor has {MOST} members, the most that a fusion may have"),
            Reason::Later => f.write_str("what it takes is made after what its neighbor takes"),
            Reason::Taken { by: Some(op) } => write!(f, "it is taken by {op}, which is in no fusion"),
            Reason::Taken { by: None } => f.write_str("it is a result"),
            Reason::Whole { op } => {
                write!(f, "{op} is a step of its own: it does not work element by element")
            }
        }
    }
}

/// Instructions that are looked at to find what stands between two.
const STEPS: usize = 4096;

/// Every operation on elements that is in no fusion of a program that the pass has run on, in order of their regions.
/// Constants and reshapes, which nothing computes, are left out.
pub fn unfused(func: &Func, cx: &Context) -> Vec<Unfused> {
    let asking = Asking::new(func, cx);
    asking.insts().filter(|inst| is_on_elements(inst.op())).map(|inst| asking.why(inst)).collect()
}

/// Where the fusions of a program that the pass has run on end, in the order of what takes the values. What [`unfused`]
/// tells of is left out, and so is what only rearranges a value.
pub fn borders(func: &Func, cx: &Context) -> Vec<Border> {
    let asking = Asking::new(func, cx);
    asking.insts().flat_map(|to| asking.borders(to)).collect()
}

/// What makes the operands of an instruction.
fn takes(inst: Inst<'_>) -> impl Iterator<Item = Inst<'_>> {
    inst.operands().iter().filter_map(move |v| inst.func().defining_inst(*v))
}

fn is_on_elements(op: &Op) -> bool {
    op.is_elementwise() || matches!(op, Op::BitcastConvert | Op::Iota { .. } | Op::BroadcastInDim { .. })
}

struct Asking<'a> {
    func: &'a Func,
    cx: &'a Context,
    users: FxHashMap<InstId, Vec<InstId>>,
}

impl<'a> Asking<'a> {
    fn new(func: &'a Func, cx: &'a Context) -> Asking<'a> {
        let mut asking = Asking { func, cx, users: FxHashMap::default() };
        for inst in asking.insts() {
            for from in takes(inst) {
                asking.users.entry(from.id()).or_default().push(inst.id());
            }
        }
        asking
    }

    /// Everything that runs.
    fn insts(&self) -> impl Iterator<Item = Inst<'a>> + use<'a> {
        let func = self.func;
        running_regions(func).into_iter().flat_map(move |region| func.region(region).insts())
    }

    /// Those between an instruction and what it takes.
    fn borders(&self, to: Inst<'a>) -> Vec<Border> {
        let is_fusion = |inst: Inst<'_>| *inst.op() == Op::Fusion;
        let is_step = |inst: Inst<'_>| match own_role(inst, self.cx) {
            Role::Cheap | Role::Repeat(_) => false,
            _ if matches!(inst.op(), Op::Constant(_) | Op::Reshape) => false,
            _ => is_fusion(inst) || !is_on_elements(inst.op()),
        };
        if matches!(to.op(), Op::Return) || !is_step(to) {
            return Vec::new();
        }
        let mut seen = FxHashSet::default();
        let beside = takes(to).filter(|from| is_step(*from) && (is_fusion(*from) || is_fusion(to)));
        let beside = beside.filter(|from| seen.insert(from.id()));
        let border = |from: Inst<'a>| {
            let reason = match (self.elements(to), self.elements(from)) {
                (Some(n), Some(m)) => self.of_neighbors((to, n), &[(from, m)]).0,
                (Some(_), None) => Reason::Whole { op: name(from) },
                (None, _) => Reason::Whole { op: name(to) },
            };
            Border { from: from.id(), to: to.id(), reason }
        };
        beside.map(border).collect()
    }

    fn why(&self, inst: Inst<'_>) -> Unfused {
        let (reason, beside) = match own_role(inst, self.cx) {
            Role::Member(n, _) => self.of_member(inst, n),
            Role::Cheap | Role::Repeat(_) => self.of_cheap(inst),
            _ => (self.of_other(inst), None),
        };
        Unfused { inst: inst.id(), reason, beside }
    }

    fn of_other(&self, inst: Inst<'_>) -> Reason {
        let types = || inst.operands().iter().chain(inst.results()).filter_map(|v| self.func.tensor(*v));
        if types().any(|t| t.quant.is_some()) {
            return Reason::Quantized;
        }
        if types().any(|t| t.elements() == Some(0)) {
            return Reason::Empty;
        }
        if !is_pure(inst) {
            return Reason::SideEffect;
        }
        let operands = inst.operands().iter().filter_map(|v| self.func.tensor(*v));
        let mut dtypes: Vec<&'static str> = operands.map(|t| t.dtype.name()).collect();
        dtypes.dedup();
        Reason::NoTile { op: name(inst), dtypes }
    }

    fn of_cheap(&self, inst: Inst<'_>) -> (Reason, Option<InstId>) {
        let users = self.users.get(&inst.id()).map_or(&[][..], Vec::as_slice);
        let other = users.iter().find(|u| *self.func.inst(**u).op() != Op::Fusion);
        match (other.map(|u| self.func.inst(*u)), users.first()) {
            (Some(user), _) if *user.op() != Op::Return => {
                (Reason::Taken { by: Some(name(user)) }, Some(user.id()))
            }
            (None, Some(fusion)) => (Reason::Sizes, Some(*fusion)),
            _ => (Reason::Taken { by: None }, None),
        }
    }

    fn of_member(&self, inst: Inst<'_>, n: usize) -> (Reason, Option<InstId>) {
        let users = self.users.get(&inst.id()).into_iter().flatten().map(|id| self.func.inst(*id));
        let beside: Vec<(Inst<'_>, usize)> =
            takes(inst).chain(users).filter_map(|other| Some((other, self.elements(other)?))).collect();
        self.of_neighbors((inst, n), &beside)
    }

    /// The first reason that holds for a neighbor, those with as many elements first.
    fn of_neighbors(
        &self,
        (inst, n): (Inst<'_>, usize),
        beside: &[(Inst<'_>, usize)],
    ) -> (Reason, Option<InstId>) {
        let region = |i: Inst<'_>| i.parent().map(|r| r.id());
        let mut alike = beside.iter().filter(|(other, m)| *m == n && region(*other) == region(inst));
        if let Some((other, _)) = alike.next() {
            if let Some(between) = self.between(inst, *other).or_else(|| self.between(*other, inst)) {
                return (Reason::Between { op: name(between) }, Some(between.id()));
            }
            let reason = if self.members(*other) >= MOST { Reason::Full } else { Reason::Later };
            return (reason, Some(other.id()));
        }
        match beside.first() {
            Some((other, m)) if *m != n => (Reason::Elements { own: n, other: *m }, Some(other.id())),
            Some((other, _)) => (Reason::Region, Some(other.id())),
            None => (Reason::Alone, None),
        }
    }

    /// The number of elements of a fusion, or of what could be a member of one.
    fn elements(&self, inst: Inst<'_>) -> Option<usize> {
        match own_role(inst, self.cx) {
            Role::Member(n, _) if *inst.op() != Op::Reshape => Some(n),
            _ if *inst.op() == Op::Fusion => self.func.tensor(*inst.results().first()?)?.elements(),
            _ => None,
        }
    }

    /// Members of a fusion.
    fn members(&self, inst: Inst<'_>) -> usize {
        inst.regions().map(|r| r.insts().filter(|i| is_on_elements(i.op())).count()).sum()
    }

    /// An instruction other than these two that takes what `from` makes, and that `to` needs.
    fn between<'f>(&'f self, from: Inst<'_>, to: Inst<'_>) -> Option<Inst<'f>> {
        let (mut waiting, mut seen) = (vec![to.id()], FxHashSet::default());
        while let Some(id) = waiting.pop() {
            let inst = self.func.inst(id);
            for before in takes(inst) {
                if before.id() == from.id() {
                    if id != to.id() {
                        return Some(inst);
                    }
                } else if seen.len() < STEPS && seen.insert(before.id()) {
                    waiting.push(before.id());
                }
            }
        }
        None
    }
}

/// The name of an operation without `stablehlo`.
fn name(inst: Inst<'_>) -> &'static str {
    let name = inst.op().name();
    name.strip_prefix("stablehlo.").or(name.strip_prefix("mhlo.")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::eval::Numerics;
    use crate::middle::passes::{dce, fuse};
    use crate::module::FuncId;
    use crate::text;
    use crate::types::TensorType;

    /// The names and reasons of what is in no fusion.
    fn reasons(body: &str) -> Vec<String> {
        fused(body, |func, cx| {
            let said = |u: Unfused| format!("{}: {}", name(func.inst(u.inst)), u.reason);
            unfused(func, cx).into_iter().map(said).collect()
        })
    }

    /// What is said of a program that the pass has run on.
    fn fused(body: &str, said: impl FnOnce(&Func, &Context) -> Vec<String>) -> Vec<String> {
        let program =
            format!("func.func @main(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<8xf32> {{\n{body}}}");
        let mut module = text::parse(&Source::new("test", program)).unwrap();
        let fuses = |op: &Op, _: &[&TensorType], _: &TensorType| {
            matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Select)
        };
        let cx = Context { fuses, ..Context::new(Numerics::default()) };
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
        let stands = "reverse stands between it and its neighbor";
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
        let expected =
            ["clamp: fusions do not have clamp of f32", "negate: no operation on elements beside it"];
        assert_eq!(reasons(lone), expected);

        let region = "%a = stablehlo.sine %x : tensor<8xf32>
            %b = \"stablehlo.if\"(%p) ({
              %c = stablehlo.negate %a : tensor<8xf32>
              stablehlo.return %c : tensor<8xf32>
            }, {
              stablehlo.return %x : tensor<8xf32>
            }) : (tensor<i1>) -> tensor<8xf32>
            return %b : tensor<8xf32>";
        let border = "a loop or branch begins or ends between it and its neighbor";
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
        let said = |func: &Func, cx: &Context| {
            let names = |b: Border| {
                [name(func.inst(b.from)), name(func.inst(b.to)), &b.reason.to_string()].join(", ")
            };
            let mut said: Vec<String> = borders(func, cx).into_iter().map(names).collect();
            said.sort();
            said
        };
        let whole = "reverse is a step of its own: it does not work element by element";
        let expected = [
            "fusion, fusion, reverse stands between it and its neighbor".to_owned(),
            format!("fusion, reverse, {whole}"),
            format!("reverse, fusion, {whole}"),
        ];
        assert_eq!(fused(body, said), expected);
    }

    #[test]
    fn a_fusion_that_is_full_is_the_reason() {
        let mut chain = "%v0 = stablehlo.sine %x : tensor<8xf32>\n".to_owned();
        for i in 0..MOST {
            chain += &format!("%v{} = stablehlo.sine %v{i} : tensor<8xf32>\n", i + 1);
        }
        chain += &format!("return %v{MOST} : tensor<8xf32>");
        let expected = format!("sine: its neighbor has {MOST} members, the most that a fusion may have");
        assert_eq!(reasons(&chain), [expected]);
    }
}
