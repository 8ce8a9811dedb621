//! Locations that a program gives its instructions.

use std::sync::Arc;

use crate::diag::shortened;

/// Bytes of the longest name of a parameter. Longer ones, which nobody types, are not kept: a file has a text once, and may
/// refer to it as often as it likes.
pub(crate) const MAX_NAME: usize = 1 << 12;

/// Where an instruction came from, as the program that wrote the text says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Loc {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file":line:column)`
    File {
        /// Path as written.
        file: Arc<str>,
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
    /// `loc("name")` or `loc("name"(child))`
    Name(Arc<str>, Option<Arc<Loc>>),
    /// `loc(callsite(callee at caller))`
    CallSite(Arc<Loc>, Arc<Loc>),
    /// `loc(fused[…])`
    Fused(Vec<Arc<Loc>>),
}

impl Loc {
    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Loc::Name(name, _) => Some(name),
            _ => None,
        }
    }

    /// The name that it gives to a parameter: shared, and at most [`MAX_NAME`] bytes.
    pub(crate) fn param_name(&self) -> Option<Arc<str>> {
        match self {
            Loc::Name(name, _) if name.len() <= MAX_NAME => Some(name.clone()),
            _ => None,
        }
    }

    /// What it says of a place, for people: a name, a line of a file, or both (`jit(f)/mul at model.py:3:9`); none if it
    /// says neither. Of a location of many parts, the first that say so.
    pub fn place(&self) -> Option<String> {
        let mut name: Option<&str> = None;
        let mut waiting = vec![self];
        // Parts can be shared, so that there are more ways to them than parts.
        for _ in 0..PARTS {
            match waiting.pop() {
                None => break,
                Some(Loc::Unknown) => {}
                Some(Loc::File { file, line, column }) => {
                    let file = format!("{}:{line}:{column}", shortened(file));
                    return Some(
                        name.map_or_else(|| file.clone(), |name| format!("{} at {file}", shortened(name))),
                    );
                }
                Some(Loc::Name(this, child)) => {
                    name = name.or(Some(this));
                    waiting = child.as_deref().into_iter().collect();
                }
                Some(Loc::CallSite(callee, _)) => waiting.push(callee),
                Some(Loc::Fused(parts)) => waiting.extend(parts.iter().take(PARTS).rev().map(|part| &**part)),
            }
        }
        name.map(|name| shortened(name).into_owned())
    }
}

/// Parts of a location that are looked at for a place.
const PARTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_name_and_a_line_as_far_as_there_are_some() {
        let file = Arc::new(Loc::File { file: "m.py".into(), line: 3, column: 9 });
        let name = |child| Arc::new(Loc::Name("f/mul".into(), child));
        let unknown = Arc::new(Loc::Unknown);
        let place = |loc: &Loc| loc.place().unwrap_or_default();
        assert_eq!(place(&file), "m.py:3:9");
        assert_eq!(place(&name(None)), "f/mul");
        assert_eq!(place(&name(Some(Arc::clone(&unknown)))), "f/mul");
        let called = Arc::new(Loc::CallSite(Arc::clone(&file), Arc::clone(&unknown)));
        assert_eq!(place(&name(Some(called))), "f/mul at m.py:3:9");
        assert_eq!(place(&Loc::Fused(vec![unknown, name(Some(file))])), "f/mul at m.py:3:9");
        assert_eq!(Loc::Fused(Vec::new()).place(), None);
    }

    #[test]
    fn shared_parts_do_not_multiply_the_work() {
        let twice = |loc, _| Arc::new(Loc::Fused(vec![Arc::clone(&loc), loc]));
        assert_eq!((0..100).fold(Arc::new(Loc::Unknown), twice).place(), None);
    }
}
