//! The instructions of a program as a [`Drawing`].

use std::collections::HashMap;

use farcall::ir::Op;
use farcall::ir::module::{Func, Inst, Module, Region, ValueId};

use super::{Drawing, Kind, LINE_CHARS, Node, Panel, body_name};
use crate::show::{short, shortened};

/// Draws a function.
pub(super) fn drawing(name: &str, module: &Module, func: &Func) -> Drawing {
    let mut panels = Vec::new();
    let title = format!("@{} in {name}", func.name);
    sequence(&mut panels, module, func, func.body(), title.clone());
    Drawing { title, panels, timed: false }
}

/// Draws a region, then the regions of its loops and branches.
fn sequence(panels: &mut Vec<Panel>, module: &Module, func: &Func, region: Region<'_>, title: String) {
    let mut panel = Panel::new(title);
    let mut sources: HashMap<ValueId, usize> = HashMap::new();
    for (i, param) in region.args().iter().enumerate() {
        let mut node = Node::new(Kind::Input, format!("in{i}"));
        node.detail = short(func.ty(*param));
        sources.insert(*param, panel.add(node));
    }
    let mut nested = Vec::new();
    for inst in region.insts() {
        match inst.op() {
            Op::Return => {
                for (i, value) in inst.operands().iter().enumerate() {
                    let to = panel.add(Node::new(Kind::Result, format!("out{i}")));
                    connect(&mut panel, &sources, func, *value, to);
                }
                continue;
            }
            // Constants are left out, because most boxes would be constants otherwise.
            Op::Constant(_) => continue,
            _ => {}
        }
        let number = panel.nodes.len();
        let to = panel.add(node(module, inst, number));
        for value in inst.own_operands() {
            connect(&mut panel, &sources, func, *value, to);
        }
        inst.results().iter().for_each(|value| {
            sources.insert(*value, to);
        });
        if let Op::While | Op::If | Op::Case = inst.op() {
            nested.push((number, inst));
        }
    }
    panels.push(panel);
    for (number, inst) in nested {
        for (i, region) in inst.regions().enumerate() {
            let part = body_name(*inst.op() == Op::While, i);
            sequence(panels, module, func, region, format!("{part} of {} {number}", name(inst)));
        }
    }
}

/// Draws an edge from the node that computes a value. Constants and values from outside of the region get no
/// edge.
fn connect(panel: &mut Panel, sources: &HashMap<ValueId, usize>, func: &Func, value: ValueId, to: usize) {
    if let Some(from) = sources.get(&value) {
        panel.connect(*from, to, short(func.ty(value)));
    }
}

/// Returns an operation's name without the dialect: `add`.
fn name(inst: Inst<'_>) -> &str {
    let name = inst.op().name();
    name.rsplit('.').next().unwrap_or(name)
}

fn node(module: &Module, inst: Inst<'_>, number: usize) -> Node {
    let (kind, text) = match inst.op() {
        Op::CustomCall(call) => (Kind::CustomCall, call.target.to_string()),
        Op::Call { callee } => {
            let callee = module.funcs().get(callee.index()).map_or("", |func| func.name.as_str());
            (Kind::Op, format!("call @{callee}"))
        }
        Op::While | Op::If | Op::Case => (Kind::Control, format!("{} {number}", name(inst))),
        _ => (Kind::Op, name(inst).to_owned()),
    };
    let types: Vec<String> = inst.results().iter().map(|v| short(inst.func().ty(*v))).collect();
    let mut node = Node::new(kind, shortened(text, LINE_CHARS));
    node.detail = shortened(types.join(", "), LINE_CHARS);
    node.hint = inst.loc().and_then(|loc| loc.place()).unwrap_or_default();
    node
}
