//! Drawings of many steps: each group of neighboring nodes becomes one node, so that a panel stays readable.

use std::collections::{BTreeMap, HashMap};

use super::{Edge, Kind, Node, Panel};

/// Maximum number of nodes in a panel, approximately.
const MAX_NODES: usize = 100;
/// Maximum number of operation names in a folded node.
const MAX_NAMES: usize = 3;
/// Minimum share of the run time that makes a step hot.
const HOT_SHARE: f64 = 0.02;

/// Folds each group of neighboring nodes into one node, so that about [`MAX_NODES`] nodes are left. Up to
/// half of these nodes are single steps that stay unfolded: custom calls, steps of the evaluator, loops,
/// branches and hot steps. If there are more such steps, the least important ones are folded.
pub(super) fn fold(panel: &mut Panel) {
    if panel.nodes.len() <= MAX_NODES {
        return;
    }
    // If `n` nodes stay unfolded, the other steps form at most `n + 1` groups of neighbors.
    let mut order: Vec<usize> =
        (0..panel.nodes.len()).filter(|i| importance(&panel.nodes[*i]) > 0.0).collect();
    order.sort_by(|a, b| importance(&panel.nodes[*b]).total_cmp(&importance(&panel.nodes[*a])));
    order.truncate(MAX_NODES / 2 - 1);
    let kept: Vec<bool> = (0..panel.nodes.len()).map(|i| order.contains(&i)).collect();

    let (mut groups, mut group_of): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    for i in 0..panel.nodes.len() {
        // Inputs and results are not folded together with steps.
        let side = |n: usize| matches!(panel.nodes[n].kind, Kind::Input | Kind::Result);
        let joins = i > 0 && !kept[i] && !kept[i - 1] && side(i) == side(i - 1);
        match groups.last_mut().filter(|_| joins) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
        group_of.push(groups.len() - 1);
    }
    let mut types: HashMap<(usize, usize), Vec<String>> = HashMap::new();
    for edge in panel.edges.drain(..) {
        let ends = (group_of[edge.from], group_of[edge.to]);
        if ends.0 != ends.1 {
            types.entry(ends).or_default().extend(edge.types);
        }
    }
    let mut edges: Vec<Edge> =
        types.into_iter().map(|((from, to), types)| Edge { from, to, types }).collect();
    edges.sort_by_key(|edge| (edge.from, edge.to));
    panel.edges = edges;
    let mut nodes: Vec<Option<Node>> = panel.nodes.drain(..).map(Some).collect();
    panel.nodes = groups.iter().map(|group| joined(&mut nodes, group)).collect();
}

/// Importance of a node that may stay unfolded; 0 for nodes that are always folded.
fn importance(node: &Node) -> f64 {
    let share = node.share.unwrap_or(0.0);
    let hot = if share >= HOT_SHARE { 1.0 + share } else { 0.0 };
    let kind = match node.kind {
        Kind::CustomCall | Kind::Evaluator => 2.0,
        Kind::Control => 1.0,
        _ => 0.0,
    };
    kind + hot
}

/// Joins several nodes into one.
fn joined(nodes: &mut [Option<Node>], group: &[usize]) -> Node {
    let mut parts: Vec<Node> = group.iter().filter_map(|i| nodes[*i].take()).collect();
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for node in &parts {
        let name = node.name.split([' ', ',']).next().unwrap_or_default().to_owned();
        *counts.entry(name).or_default() += 1;
    }
    let mut names: Vec<(String, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<String> =
        names.iter().take(MAX_NAMES).map(|(name, count)| format!("{count} {name}")).collect();
    let more = if names.len() > MAX_NAMES { ", …" } else { "" };
    let kind = match parts[0].kind {
        side @ (Kind::Input | Kind::Result) => side,
        _ => Kind::Folded,
    };
    let what = match kind {
        Kind::Input => "inputs",
        Kind::Result => "results",
        _ => "steps",
    };
    let mut node = Node::new(kind, format!("{} {what}", parts.len()));
    if kind == Kind::Folded {
        node.detail = format!("{}{more}", shown.join(", "));
        let every: Vec<String> = names.iter().map(|(name, count)| format!("{count} {name}")).collect();
        node.hint = every.join("\n");
    }
    node.share = parts.iter().filter_map(|part| part.share).reduce(|a, b| a + b);
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_program_folds_around_its_custom_calls() {
        let mut panel = Panel::new("long");
        for i in 0..1000 {
            let kind = if i % 100 == 50 { Kind::CustomCall } else { Kind::Op };
            let to = panel.add(Node::new(kind, if i % 2 == 0 { "add" } else { "exp" }));
            if i > 0 {
                panel.connect(to - 1, to, "f32".to_owned());
            }
        }
        fold(&mut panel);
        assert_eq!(panel.nodes.len(), 21);
        assert_eq!(panel.nodes.iter().filter(|n| n.kind == Kind::CustomCall).count(), 10);
        assert_eq!(panel.nodes[0].name, "50 steps");
        assert_eq!(panel.nodes[0].detail, "25 add, 25 exp");
        let all: Vec<(usize, usize)> = panel.edges.iter().map(|e| (e.from, e.to)).collect();
        assert_eq!(all, (0..20).map(|i| (i, i + 1)).collect::<Vec<_>>());
    }

    #[test]
    fn many_custom_calls_fold_too() {
        let mut panel = Panel::new("calls");
        (0..5000).for_each(|_| {
            panel.add(Node::new(Kind::CustomCall, "call"));
        });
        fold(&mut panel);
        assert!(panel.nodes.len() <= MAX_NODES, "{} nodes are left", panel.nodes.len());
    }

    #[test]
    fn a_short_program_stays() {
        let mut panel = Panel::new("short");
        (0..MAX_NODES).for_each(|_| {
            panel.add(Node::new(Kind::Op, "add"));
        });
        fold(&mut panel);
        assert_eq!(panel.nodes.len(), MAX_NODES);
    }
}
