//! Source locations that a program gives its instructions.

use std::sync::Arc;

use crate::diag::shortened;

/// Maximum length in bytes of a parameter name taken from a location. Longer names, which no user types, are
/// dropped: a file stores a name once, but may refer to it arbitrarily often.
pub(crate) const MAX_NAME: usize = 1 << 12;

/// Origin of an instruction, according to the program that wrote the text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Loc {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file":line:column)`
    File {
        /// Path as written.
        file: Arc<str>,
        /// Line number, starting at 1.
        line: u32,
        /// Column number, starting at 1.
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
    /// Returns the name of a name location.
    pub fn name(&self) -> Option<&str> {
        match self {
            Loc::Name(name, _) => Some(name),
            _ => None,
        }
    }

    /// Returns the parameter name that the location gives, without a copy. `None` if the name is longer than
    /// [`MAX_NAME`] bytes.
    pub(crate) fn param_name(&self) -> Option<Arc<str>> {
        match self {
            Loc::Name(name, _) if name.len() <= MAX_NAME => Some(name.clone()),
            _ => None,
        }
    }

    /// Describes the location for human readers: a name, a line of a file, or both (`jit(f)/mul at
    /// model.py:3:9`). `None` if the location has neither. If the location has several parts, their first
    /// name and first file are used.
    pub fn place(&self) -> Option<String> {
        let mut name: Option<&str> = None;
        let mut waiting = vec![self];
        // Parts can be shared, so there may be exponentially more paths than parts.
        for _ in 0..MAX_SEARCHED_PARTS {
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
                Some(Loc::Fused(parts)) => {
                    waiting.extend(parts.iter().take(MAX_SEARCHED_PARTS).rev().map(|part| &**part))
                }
            }
        }
        name.map(|name| shortened(name).into_owned())
    }
}

/// Maximum number of location parts searched for a name and a file.
const MAX_SEARCHED_PARTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_a_name_and_a_line_where_known() {
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
