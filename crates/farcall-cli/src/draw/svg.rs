//! Drawings in SVG. The boxes of a panel lie in layers, arranged so that few edges cross: the `dagre` crate
//! implements this method of Sugiyama et al.

use std::fmt::Write;

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, Point, layout};

use super::{Drawing, Kind, Node, Panel};

/// Mean width of a character in the fonts of names and of details, in pixels.
const NAME_CHAR_PIXELS: f64 = 7.3;
const DETAIL_CHAR_PIXELS: f64 = 6.1;
/// Padding around the text of a box, height of a line, and minimum width of a box, in pixels.
const BOX_PADDING_PIXELS: f64 = 10.0;
const LINE_PIXELS: f64 = 16.0;
const MIN_BOX_WIDTH_PIXELS: f64 = 56.0;
/// Margin of the page and of each panel, and height of titles and of the legend, in pixels.
const MARGIN_PIXELS: f64 = 18.0;
const TITLE_PIXELS: f64 = 28.0;
const LEGEND_PIXELS: f64 = 30.0;

const FONT: &str = "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\"";

/// A panel after layout, with the positions of its boxes and edges.
struct Placed<'d> {
    panel: &'d Panel,
    /// Center, width and height of each box.
    boxes: Vec<[f64; 4]>,
    /// Points of each edge, and the center of its label.
    edges: Vec<(Vec<Point>, Point)>,
    width: f64,
    height: f64,
}

/// Returns a drawing as SVG text.
pub(super) fn text(drawing: &Drawing) -> String {
    let placed: Vec<Placed<'_>> = drawing.panels.iter().map(place).collect();
    let legend = legend(drawing);
    let inner = placed.iter().map(|p| p.width).fold(legend.1, f64::max);
    let width = inner + 2.0 * MARGIN_PIXELS;
    let height =
        placed.iter().map(|p| p.height + TITLE_PIXELS + 2.0 * MARGIN_PIXELS).sum::<f64>() + LEGEND_PIXELS;
    let mut out = String::new();
    let _ = write(drawing, &placed, &legend.0, [width, height], &mut out);
    out
}

fn write(
    drawing: &Drawing,
    placed: &[Placed<'_>],
    legend: &str,
    [width, height]: [f64; 2],
    out: &mut String,
) -> std::fmt::Result {
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" {FONT} role=\"img\">"
    )?;
    writeln!(out, "<title>{}</title>", escaped(&drawing.title))?;
    writeln!(
        out,
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#5f6368\"/></marker></defs>"
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>")?;
    out.push_str(legend);
    let mut top = LEGEND_PIXELS;
    for p in placed {
        let (w, h) = (width - MARGIN_PIXELS, p.height + TITLE_PIXELS + MARGIN_PIXELS);
        writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"8\" fill=\"none\" stroke=\"#d5d8dc\"/>",
            MARGIN_PIXELS / 2.0
        )?;
        writeln!(
            out,
            "<text x=\"{MARGIN_PIXELS:.1}\" y=\"{:.1}\" font-size=\"14\" font-weight=\"bold\" fill=\"#202124\">{}</text>",
            top + 20.0,
            escaped(&p.panel.title)
        )?;
        let left = (width - p.width) / 2.0;
        writeln!(out, "<g transform=\"translate({left:.1} {:.1})\">", top + TITLE_PIXELS)?;
        panel(p, drawing.timed, out)?;
        writeln!(out, "</g>")?;
        top += p.height + TITLE_PIXELS + 2.0 * MARGIN_PIXELS;
    }
    writeln!(out, "</svg>")
}

/// Writes the edges, then their labels, then the boxes. Later elements cover earlier ones.
fn panel(placed: &Placed<'_>, timed: bool, out: &mut String) -> std::fmt::Result {
    for (points, _) in &placed.edges {
        writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"#5f6368\" stroke-width=\"1.1\" marker-end=\"url(#arrow)\"/>",
            curve(points)
        )?;
    }
    for (edge, (_, at)) in placed.panel.edges.iter().zip(&placed.edges) {
        let label = edge.label();
        if label.is_empty() {
            continue;
        }
        let w = label.chars().count() as f64 * DETAIL_CHAR_PIXELS * 0.9;
        writeln!(
            out,
            "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"13\" fill=\"#fff\" \
             fill-opacity=\"0.85\"/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" fill=\"#5f6368\" \
             text-anchor=\"middle\">{}</text></g>",
            escaped(&edge.types.join("\n")),
            at.x - w / 2.0,
            at.y - 7.0,
            at.x,
            at.y + 3.5,
            escaped(&label)
        )?;
    }
    for (node, [x, y, w, h]) in placed.panel.nodes.iter().zip(&placed.boxes) {
        let (_, border, _) = node.kind.style();
        let radius = if matches!(node.kind, Kind::Input | Kind::Result) { h / 2.0 } else { 5.0 };
        let dash = if node.kind == Kind::Folded { " stroke-dasharray=\"4 3\"" } else { "" };
        writeln!(out, "<g><title>{}</title>", escaped(&node.hint))?;
        writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{radius:.1}\" fill=\"{}\" \
             stroke=\"{border}\" stroke-width=\"1.3\"{dash}/>",
            x - w / 2.0,
            y - h / 2.0,
            fill(node, timed)
        )?;
        let lines = lines(node);
        let first = y - LINE_PIXELS * (lines.len() as f64 - 1.0) / 2.0 + 4.0;
        for (i, line) in lines.iter().enumerate() {
            let style = if i == 0 {
                "font-size=\"12.5\" font-weight=\"bold\" fill=\"#202124\""
            } else {
                "font-size=\"11\" fill=\"#3c4043\""
            };
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" {style}>{}</text>",
                first + LINE_PIXELS * i as f64,
                escaped(line)
            )?;
        }
        writeln!(out, "</g>")?;
    }
    Ok(())
}

/// Arranges the boxes of a panel.
fn place(panel: &Panel) -> Placed<'_> {
    let mut graph: Graph<NodeLabel, EdgeLabel> =
        Graph::with_options(GraphOptions { directed: true, multigraph: false, compound: false });
    for (i, node) in panel.nodes.iter().enumerate() {
        let lines = lines(node);
        let chars = |line: &String, i: usize| {
            line.chars().count() as f64 * if i == 0 { NAME_CHAR_PIXELS } else { DETAIL_CHAR_PIXELS }
        };
        let text = lines.iter().enumerate().map(|(i, line)| chars(line, i)).fold(0.0, f64::max);
        let width = (text + 2.0 * BOX_PADDING_PIXELS).max(MIN_BOX_WIDTH_PIXELS);
        let height = lines.len() as f64 * LINE_PIXELS + BOX_PADDING_PIXELS;
        graph.set_node(i.to_string(), Some(NodeLabel { width, height, ..NodeLabel::default() }));
    }
    for edge in &panel.edges {
        let width = edge.label().chars().count() as f64 * DETAIL_CHAR_PIXELS;
        let label = EdgeLabel { width, height: 14.0, labelpos: LabelPos::Center, ..EdgeLabel::default() };
        graph.set_edge(edge.from.to_string(), edge.to.to_string(), Some(label), None);
    }
    let options = LayoutOptions { nodesep: 24.0, edgesep: 12.0, ranksep: 18.0, ..LayoutOptions::default() };
    layout(&mut graph, Some(options));

    let boxes: Vec<[f64; 4]> = (0..panel.nodes.len())
        .map(|i| {
            graph
                .node(&i.to_string())
                .map_or([0.0; 4], |n| [n.x.unwrap_or(0.0), n.y.unwrap_or(0.0), n.width, n.height])
        })
        .collect();
    let edges: Vec<(Vec<Point>, Point)> = panel
        .edges
        .iter()
        .map(|edge| {
            let found = graph.edge(&edge.from.to_string(), &edge.to.to_string(), None);
            let points = found.map(|e| e.points.clone()).unwrap_or_default();
            let middle = points.get(points.len() / 2).cloned().unwrap_or_else(|| Point::new(0.0, 0.0));
            let at = found.and_then(|e| Some(Point::new(e.x?, e.y?))).unwrap_or(middle);
            (points, at)
        })
        .collect();
    let extent = |at: usize| boxes.iter().map(|b| b[at] + b[at + 2] / 2.0).fold(0.0, f64::max);
    let points = || edges.iter().flat_map(|(points, at)| points.iter().chain([at]));
    let width = points().map(|p| p.x + 20.0).fold(extent(0), f64::max);
    let height = points().map(|p| p.y).fold(extent(1), f64::max);
    Placed { panel, boxes, edges, width, height }
}

/// Returns the lines of text in a box.
fn lines(node: &Node) -> Vec<String> {
    let all = [node.name.clone(), node.detail.clone(), node.percent()];
    all.into_iter().filter(|line| !line.is_empty()).collect()
}

/// Returns the path of a smooth line through points.
fn curve(points: &[Point]) -> String {
    let [first, rest @ ..] = points else { return String::new() };
    let mut out = format!("M{:.1} {:.1}", first.x, first.y);
    let mut from = first;
    for (i, to) in rest.iter().enumerate() {
        // The curve is vertical where the edge leaves and arrives, and straight in between.
        let bend = (to.y - from.y) / 2.0;
        if i == 0 || i + 1 == rest.len() {
            let _ = write!(
                out,
                "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                from.x,
                from.y + bend,
                to.x,
                to.y - bend,
                to.x,
                to.y
            );
        } else {
            let _ = write!(out, "L{:.1} {:.1}", to.x, to.y);
        }
        from = to;
    }
    out
}

/// Returns the legend and its width. The legend lists the kinds of boxes in the drawing. If colors stand for
/// time, it also shows the scale of times.
fn legend(drawing: &Drawing) -> (String, f64) {
    let mut out = String::new();
    let mut x = MARGIN_PIXELS;
    let mut entry = |fill: &str, border: &str, name: &str| {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"9\" width=\"14\" height=\"12\" rx=\"3\" fill=\"{fill}\" stroke=\"{border}\"/>\
             <text x=\"{:.1}\" y=\"19\" font-size=\"11\" fill=\"#3c4043\">{name}</text>",
            x + 19.0
        );
        x += 34.0 + name.chars().count() as f64 * DETAIL_CHAR_PIXELS;
    };
    let kinds = [
        Kind::Input,
        Kind::Result,
        Kind::Op,
        Kind::Fusion,
        Kind::CustomCall,
        Kind::Evaluator,
        Kind::Control,
        Kind::Folded,
    ];
    let is_drawn = |kind: Kind| drawing.panels.iter().any(|p| p.nodes.iter().any(|n| n.kind == kind));
    for kind in kinds.into_iter().filter(|kind| is_drawn(*kind)) {
        let (fill, border, name) = kind.style();
        entry(if drawing.timed { "#ffffff" } else { fill }, border, name);
    }
    if drawing.timed {
        for share in [0.0, 0.1, 0.5] {
            entry(&heat(share), "#9aa0a6", &format!("{:.0} % of the time", 100.0 * share));
        }
    }
    (out, x)
}

/// The color of a box.
pub(super) fn fill(node: &Node, timed: bool) -> String {
    match node.share {
        Some(share) if timed => heat(share),
        _ if timed => "#ffffff".to_owned(),
        _ => node.kind.style().0.to_owned(),
    }
}

/// The color of a share of the run time: white to red. The square root makes shares of a few percent
/// visible.
fn heat(share: f64) -> String {
    let warm = share.clamp(0.0, 1.0).sqrt();
    let mix = |cold: f64, hot: f64| (cold + (hot - cold) * warm).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(255.0, 244.0), mix(255.0, 96.0), mix(255.0, 72.0))
}

impl Node {
    /// Formats the step's share of the run time: `12.5 %`. Empty if the step was not measured.
    pub(super) fn percent(&self) -> String {
        self.share.map(|share| format!("{:.1} %", 100.0 * share)).unwrap_or_default()
    }
}

/// Escapes text for SVG.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML does not allow other control characters.
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
