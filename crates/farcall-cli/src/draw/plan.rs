//! The steps of a plan as a [`Drawing`].

use std::collections::HashMap;

use farcall::Plan;
use farcall::explain::no_kernel;
use farcall::plan::{Base, BufferSlice, TensorSlice, Thunk, ThunkOp};

use super::times::Times;
use super::{Drawing, Kind, LINE_CHARS, Node, Panel, body_name};
use crate::show::{short_type, short_types, shortened};

/// Draws a plan. If `times` are given, each step shows its share of the run time.
pub(super) fn drawing(name: &str, plan: &Plan, times: Option<&Times>) -> Drawing {
    let mut draw = Draw { plan, times, panels: Vec::new(), number: 0 };
    let title = format!("plan of {name}");
    let mut panel = Panel::new(title.clone());
    let mut sources = Sources::default();
    for (i, param) in plan.params().iter().enumerate() {
        let mut node = Node::new(Kind::Input, param.name.clone().unwrap_or_else(|| format!("in{i}")));
        node.detail = short_type(&param.ty);
        let base = Base::Param(farcall::plan::ParamId::new(i));
        sources.add(BufferSlice { base, offset: 0, size: param.ty.bytes().unwrap_or(0) }, panel.add(node));
    }
    // The program's panel comes first, but is only complete after the panels of its loops have been added.
    draw.panels.push(Panel::new(""));
    draw.steps(&mut panel, &mut sources, plan.thunks());
    for (i, result) in plan.results().iter().enumerate() {
        let to = panel.add(Node::new(Kind::Result, format!("out{i}")));
        connect(&mut panel, &sources, result, to);
    }
    draw.panels[0] = panel;
    Drawing { title, panels: draw.panels, timed: times.is_some() }
}

struct Draw<'p> {
    plan: &'p Plan,
    times: Option<&'p Times>,
    panels: Vec<Panel>,
    /// Number of the next step, in the order of [`Plan::walk`].
    number: usize,
}

impl Draw<'_> {
    /// Draws a sequence of steps, then the bodies of its loops and branches.
    fn steps(&mut self, panel: &mut Panel, sources: &mut Sources, thunks: &[Thunk]) {
        let mut nested = Vec::new();
        for thunk in thunks {
            let number = self.number;
            self.number += 1;
            let to = panel.add(self.node(thunk, number));
            thunk.inputs.iter().for_each(|input| connect(panel, sources, input, to));
            thunk.results().iter().for_each(|buffer| sources.add(buffer.slice, to));
            for (i, body) in thunk.bodies.iter().enumerate() {
                let part = body_name(thunk.op == ThunkOp::While, i);
                let title = format!("{part} of step {number}, {}", thunk.op.kind());
                let (mut inside, place) = (Panel::new(title), nested.len());
                nested.push(Panel::new(""));
                self.steps(&mut inside, &mut Sources::default(), body);
                nested[place] = inside;
                // Later steps that read what the body has written are connected to this step.
                body.iter().for_each(|thunk| written(thunk, &mut |slice| sources.add(slice, to)));
            }
        }
        self.panels.extend(nested);
    }

    fn node(&self, thunk: &Thunk, number: usize) -> Node {
        let detail = self.plan.detail(thunk);
        let (kind, name) = match &thunk.op {
            ThunkOp::CustomCall(_) => (Kind::CustomCall, detail.trim_start_matches('@').to_owned()),
            ThunkOp::Reference(_) => (Kind::Evaluator, detail.clone()),
            ThunkOp::While | ThunkOp::Case => (Kind::Control, format!("step {number}, {}", thunk.op.kind())),
            op if op.kind() == "fusion" => (Kind::Fusion, detail.clone()),
            op if op.kind() == "elementwise" => (Kind::Op, detail.clone()),
            _ if detail.is_empty() => (Kind::Op, thunk.op.kind().to_owned()),
            _ => (Kind::Op, format!("{} {detail}", thunk.op.kind())),
        };
        let work = self.plan.work(thunk);
        let lines = [
            format!("step {number}: {}", self.plan.operation(thunk)),
            self.plan.origin(thunk).short(),
            no_kernel(self.plan, thunk).map(|reason| reason.to_string()).unwrap_or_default(),
            format!("{} bytes, {} operations", work.bytes, work.flops),
        ];
        let mut node = Node::new(kind, shortened(name, LINE_CHARS));
        node.detail = shortened(short_types(thunk.results()), LINE_CHARS);
        node.hint = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        if let Some(time) = self.times.and_then(|times| times.step(number)) {
            node.share = Some(time.share);
            node.hint = format!("{}\n{}", node.hint, time.text);
        }
        node
    }
}

/// Calls `f` with each slice that a step or its bodies write.
fn written(thunk: &Thunk, f: &mut impl FnMut(BufferSlice)) {
    thunk.walk(&mut |thunk| thunk.results().iter().for_each(|buffer| f(buffer.slice)));
}

/// Draws an edge from the last step that wrote a buffer. Operands that no step writes, such as constants, get
/// no edge.
fn connect(panel: &mut Panel, sources: &Sources, buffer: &TensorSlice, to: usize) {
    if let Some(from) = sources.last(&buffer.slice).filter(|from| *from < to) {
        panel.connect(from, to, short_type(&buffer.ty));
    }
}

/// The nodes that wrote memory so far, in order.
#[derive(Default)]
struct Sources(HashMap<Base, Vec<(BufferSlice, usize)>>);

impl Sources {
    fn add(&mut self, slice: BufferSlice, node: usize) {
        self.0.entry(slice.base).or_default().push((visible(slice), node));
    }

    /// Returns the last node that wrote a part of the slice.
    fn last(&self, slice: &BufferSlice) -> Option<usize> {
        let read = visible(*slice);
        let (_, node) = self.0.get(&slice.base)?.iter().rev().find(|(written, _)| written.overlaps(&read))?;
        Some(*node)
    }
}

/// Returns the slice with at least one byte, so that tensors without elements have edges, too.
fn visible(slice: BufferSlice) -> BufferSlice {
    BufferSlice { size: slice.size.max(1), ..slice }
}
