//! Checks functions and the call graph.

use std::collections::HashSet;

use crate::diag::{Diagnostic, Span};
use crate::module::{Func, Module};
use crate::op::Op;

/// Maximum length of a chain of calls, including the first function. Later stages recurse over calls.
pub const MAX_CALL_DEPTH: usize = 1_000;

/// Maximum number of instructions of a function once all calls are inlined. If a module has more instructions
/// even without inlining, their number is the limit. The limit exists because inlining can be exponential: in
/// a chain in which each function calls the next one twice, the size doubles with each function.
pub const MAX_INLINED: u64 = 1 << 20;

/// A reference from one function to another.
struct Edge {
    callee: usize,
    span: Span,
}

/// Checks that functions have different names, that callees exist, that no function calls itself, and that
/// neither chains of calls nor inlined functions exceed their limits.
pub(super) fn check(module: &Module) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut names: HashSet<&str> = HashSet::new();
    for func in module.funcs() {
        if !names.insert(func.name.as_str()) {
            let message = format!("a function @{} exists already", func.name);
            diagnostics.push(Diagnostic::new("duplicate-function", func.span, message));
        }
    }
    let edges: Vec<Vec<Edge>> = module.funcs().iter().map(|f| callees(module, f, &mut diagnostics)).collect();
    depths(module, &edges, &mut diagnostics);
    diagnostics
}

fn callees(module: &Module, func: &Func, diagnostics: &mut Vec<Diagnostic>) -> Vec<Edge> {
    let mut edges = Vec::new();
    func.walk(&mut |inst| {
        for id in inst.op().callees() {
            if module.get(*id).is_some() {
                edges.push(Edge { callee: id.index(), span: inst.span() });
                continue;
            }
            // composite_c2
            let composite = matches!(inst.op(), Op::Composite(_));
            let code = if composite { "composite_c2" } else { "unknown-function" };
            let message = format!("the module has no function number {}", id.index());
            diagnostics.push(Diagnostic::new(code, inst.span(), message));
        }
    });
    edges
}

/// State of the walk over the calls of a function.
struct Frame {
    func: usize,
    next: usize,
}

/// Walks the call graph depth-first, with an explicit stack.
fn depths(module: &Module, edges: &[Vec<Edge>], diagnostics: &mut Vec<Diagnostic>) {
    // Length of the longest chain that starts at a function; `None` until it is known.
    let mut depth: Vec<Option<usize>> = vec![None; edges.len()];
    let mut active = vec![false; edges.len()];
    let (mut cycles, mut too_deep) = (Vec::new(), Vec::new());
    for root in 0..edges.len() {
        if depth[root].is_some() {
            continue;
        }
        active[root] = true;
        let mut stack = vec![Frame { func: root, next: 0 }];
        while let Some(frame) = stack.last_mut() {
            let func = frame.func;
            let Some(edge) = edges[func].get(frame.next) else {
                let longest = edges[func].iter().filter_map(|e| depth[e.callee]).max().unwrap_or(0);
                depth[func] = Some(longest + 1);
                active[func] = false;
                stack.pop();
                // Only the first function beyond the limit is reported, not its callers, whose chains are
                // longer.
                if longest == MAX_CALL_DEPTH {
                    let name = &module.funcs()[func].name;
                    let message = format!(
                        "calls from @{name} are nested {} deep, more than {MAX_CALL_DEPTH}",
                        longest + 1
                    );
                    let deepest = edges[func].iter().find(|e| depth[e.callee] == Some(longest));
                    let span = deepest.map_or(module.funcs()[func].span, |e| e.span);
                    too_deep.push(Diagnostic::new("call-depth", span, message));
                }
                continue;
            };
            frame.next += 1;
            if active[edge.callee] {
                let start = stack.iter().position(|f| f.func == edge.callee).unwrap_or(0);
                let cycle: Vec<String> =
                    stack[start..].iter().map(|f| format!("@{}", module.funcs()[f.func].name)).collect();
                let message = match cycle.as_slice() {
                    [one] => format!("{one} calls itself"),
                    [first, ..] if cycle.len() <= MAX_LISTED_FUNCTIONS => {
                        format!("functions call each other: {} → {first}", cycle.join(" → "))
                    }
                    _ => format!("{} functions call each other, {} among them", cycle.len(), cycle[0]),
                };
                cycles.push(Diagnostic::new("recursive-call", edge.span, message));
            } else if depth[edge.callee].is_none() {
                active[edge.callee] = true;
                stack.push(Frame { func: edge.callee, next: 0 });
            }
        }
    }
    if cycles.is_empty() && too_deep.is_empty() {
        diagnostics.extend(too_large(module, edges, &depth));
    }
    // A function in a cycle has no depth, so only the cycles are reported if there are any.
    diagnostics.extend(if cycles.is_empty() { too_deep } else { cycles });
}

/// Returns an error for the first function that has more than [`MAX_INLINED`] instructions once all calls are
/// inlined. Callees are visited before their callers. `depth` is the length of the longest chain of calls
/// from each function.
fn too_large(module: &Module, edges: &[Vec<Edge>], depth: &[Option<usize>]) -> Option<Diagnostic> {
    let own: Vec<u64> = module
        .funcs()
        .iter()
        .map(|f| {
            let mut count = 0;
            f.walk(&mut |_| count += 1);
            count
        })
        .collect();
    // A long program may have more than `MAX_INLINED` instructions without inlining.
    let limit = MAX_INLINED.max(own.iter().sum());
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|f| depth[*f]);
    let mut whole = own;
    let mut found = None;
    for func in order {
        whole[func] = edges[func].iter().fold(whole[func], |sum, e| sum.saturating_add(whole[e.callee]));
        if whole[func] > limit && found.is_none() {
            let name = &module.funcs()[func].name;
            let message = format!(
                "@{name} is {} instructions long once all its calls are inlined, more than {limit}",
                whole[func]
            );
            let largest = edges[func].iter().max_by_key(|e| whole[e.callee]);
            let span = largest.map_or(module.funcs()[func].span, |e| e.span);
            found = Some(Diagnostic::new("inlined-size", span, message));
        }
    }
    let largest = whole.iter().enumerate().max_by_key(|(_, n)| **n);
    match (found, largest) {
        (Some(d), Some((i, n))) => Some(d.note(format!("@{} is {n}", module.funcs()[i].name))),
        _ => None,
    }
}

/// Maximum number of functions of a cycle that a message lists.
const MAX_LISTED_FUNCTIONS: usize = 8;
