//! Drawings in DOT, the language of Graphviz.

use std::fmt::Write;

use super::Drawing;
use super::svg::fill;

/// Returns a drawing as DOT text.
pub(super) fn text(drawing: &Drawing) -> String {
    let mut out = String::new();
    let _ = write(drawing, &mut out);
    out
}

fn write(drawing: &Drawing, out: &mut String) -> std::fmt::Result {
    writeln!(out, "digraph {} {{", quoted(&drawing.title))?;
    writeln!(out, "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];")?;
    writeln!(out, "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#5f6368\"];")?;
    for (p, panel) in drawing.panels.iter().enumerate() {
        writeln!(out, "  subgraph cluster_{p} {{")?;
        writeln!(out, "    label={}; fontname=\"Helvetica\"; color=\"#c4c7cc\";", quoted(&panel.title))?;
        for (i, node) in panel.nodes.iter().enumerate() {
            let mut label = node.name.clone();
            for line in [&node.detail, &node.percent()] {
                if !line.is_empty() {
                    label = format!("{label}\n{line}");
                }
            }
            let (_, border, _) = node.kind.style();
            writeln!(
                out,
                "    n{p}_{i} [label={}, tooltip={}, fillcolor=\"{}\", color=\"{border}\"];",
                quoted(&label),
                quoted(&node.hint),
                fill(node, drawing.timed),
            )?;
        }
        for edge in &panel.edges {
            writeln!(
                out,
                "    n{p}_{} -> n{p}_{} [label={}, tooltip={}];",
                edge.from,
                edge.to,
                quoted(&edge.label()),
                quoted(&edge.types.join("\n"))
            )?;
        }
        writeln!(out, "  }}")?;
    }
    writeln!(out, "}}")
}

/// Quotes text as a string of DOT, where a line break is written as `\n`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
