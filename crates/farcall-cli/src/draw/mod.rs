//! `farcall inspect --svg` and `--dot`: drawings of programs and plans.
//!
//! ```text
//! program ──program──▶ Drawing ──fold──▶ Drawing ──svg──▶ SVG
//! plan ─────plan─────▶                           ──dot──▶ DOT (Graphviz)
//! ```
//!
//! A [`Drawing`] is a list of panels, one for each sequence of steps: the program, then the body of each loop
//! and branch. Within a panel, edges lead from earlier nodes to later ones.

mod dot;
mod fold;
mod plan;
mod program;
mod svg;
mod times;

use std::path::Path;

use anyhow::{Result, bail};
use farcall::Plan;
use farcall::ir::module::{Func, Module};

use crate::args::DrawArgs;
use crate::file;
use times::Times;

/// Maximum number of characters in a line of a box.
const LINE_CHARS: usize = 40;

/// A drawing of a program or plan.
struct Drawing {
    title: String,
    panels: Vec<Panel>,
    /// True if colors stand for time rather than for kinds of steps.
    timed: bool,
}

/// A sequence of steps.
struct Panel {
    title: String,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// A box.
struct Node {
    kind: Kind,
    /// The first line.
    name: String,
    /// The second line; may be empty.
    detail: String,
    /// Text that is shown when the pointer rests on the box.
    hint: String,
    /// Share of the run time, from 0 to 1.
    share: Option<f64>,
}

/// An arrow: values that a node reads from an earlier one.
struct Edge {
    from: usize,
    to: usize,
    /// Types of the values.
    types: Vec<String>,
}

/// Kinds of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Input,
    Result,
    /// An operation with a kernel. In the drawing of a program, any operation.
    Op,
    Fusion,
    CustomCall,
    /// An operation that the reference evaluator runs.
    Evaluator,
    /// A loop or a branch, whose bodies are panels of their own.
    Control,
    /// Several steps drawn as one.
    Folded,
}

impl Kind {
    /// Fill color, border color, and the name in the legend.
    fn style(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::Input => ("#eef2f7", "#8295ad", "input"),
            Kind::Result => ("#eef2f7", "#8295ad", "result"),
            Kind::Op => ("#ffffff", "#9aa0a6", "operation"),
            Kind::Fusion => ("#dcefe1", "#3f8f5b", "fusion"),
            Kind::CustomCall => ("#ffe3c2", "#d9822b", "custom call"),
            Kind::Evaluator => ("#fbd7d7", "#c0392b", "reference evaluator"),
            Kind::Control => ("#e2e0f7", "#6a5acd", "loop or branch"),
            Kind::Folded => ("#f4f4f4", "#9aa0a6", "several steps"),
        }
    }
}

impl Node {
    fn new(kind: Kind, name: impl Into<String>) -> Node {
        Node { kind, name: name.into(), detail: String::new(), hint: String::new(), share: None }
    }
}

impl Panel {
    fn new(title: impl Into<String>) -> Panel {
        Panel { title: title.into(), nodes: Vec::new(), edges: Vec::new() }
    }

    /// Adds a node, and returns its index.
    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds a value to the edge between two nodes.
    fn connect(&mut self, from: usize, to: usize, ty: String) {
        // The edges to a node are added one after another, before those to the next node.
        let mut added = self.edges.iter_mut().rev().take_while(|edge| edge.to == to);
        match added.find(|edge| edge.from == from) {
            Some(edge) => edge.types.push(ty),
            None => self.edges.push(Edge { from, to, types: vec![ty] }),
        }
    }
}

impl Edge {
    /// Formats the types of the values: the first one and the number of others, as in `f32[2,3] + 2`.
    fn label(&self) -> String {
        match self.types.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} + {}", rest.len()),
        }
    }
}

/// Name of a body of a loop or branch, by its number.
fn body_name(is_loop: bool, body: usize) -> String {
    match (is_loop, body) {
        (true, 0) => "condition".to_owned(),
        (true, _) => "body".to_owned(),
        (false, _) => format!("branch {body}"),
    }
}

impl DrawArgs {
    /// True if a drawing is requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.svg.is_some() || self.dot.is_some()
    }
}

/// Draws a function of a program, or the plan if the function was compiled.
pub(crate) fn program(
    args: &DrawArgs,
    name: &str,
    module: &Module,
    func: &Func,
    plan: Option<&Plan>,
) -> Result<()> {
    match (plan, &args.times) {
        (Some(plan), _) => self::plan(args, name, plan),
        (None, Some(_)) => bail!("--times colors the steps of a plan: add --plan"),
        (None, None) => write(args, program::drawing(name, module, func)),
    }
}

/// Draws a plan.
pub(crate) fn plan(args: &DrawArgs, name: &str, plan: &Plan) -> Result<()> {
    let times = args.times.as_deref().map(|path| Times::read(path, plan)).transpose()?;
    write(args, plan::drawing(name, plan, times.as_ref()))
}

/// Writes the files that the options name.
fn write(args: &DrawArgs, mut drawing: Drawing) -> Result<()> {
    drawing.panels.iter_mut().for_each(fold::fold);
    let save = |path: &Path, text: String| file::write(path, |out| Ok(out.write_all(text.as_bytes())?));
    if let Some(path) = &args.svg {
        save(path, svg::text(&drawing))?;
    }
    if let Some(path) = &args.dot {
        save(path, dot::text(&drawing))?;
    }
    Ok(())
}
