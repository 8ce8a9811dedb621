//! Parser for shardings and meshes. Text in any other form gives `None` rather than an error.

use super::{AxisRef, DimSharding, Mesh, MeshRef, Sharding};

/// Parses `["x"=2, "y"=4], device_ids=[3, 2, 1, 0]`.
pub(super) fn mesh(text: &str) -> Option<Mesh> {
    let mut r = Reader { rest: text };
    let mesh = r.mesh()?;
    r.end().then_some(mesh)
}

/// Parses `@mesh, [{"x"}, {?}], replicated={"y"}`.
pub(super) fn sharding(text: &str) -> Option<Sharding> {
    let mut r = Reader { rest: text };
    let sharding = r.sharding()?;
    r.end().then_some(sharding)
}

/// Parses `[<@mesh, []>, <@mesh, []>]`.
pub(super) fn per_value(text: &str) -> Option<Vec<Sharding>> {
    let mut r = Reader { rest: text };
    let shardings = r.list("[", "]", |r| {
        r.expect("<")?;
        let sharding = r.sharding()?;
        r.expect(">")?;
        Some(sharding)
    })?;
    r.end().then_some(shardings)
}

/// True for names that need no escapes between quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    name.chars().all(|c| (c == ' ' || c.is_ascii_graphic()) && !matches!(c, '\\' | '"'))
}

/// Parser state: the text that has not been read yet.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn end(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.eat(token).then_some(())
    }

    /// Parses items between brackets, separated by commas.
    fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Reader<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Some(items);
            }
            self.expect(",")?;
        }
    }

    /// Reads a non-empty run of characters for which `is` holds.
    fn while_(&mut self, is: impl Fn(char) -> bool) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let end = text.find(|c| !is(c)).unwrap_or(text.len());
        let (found, rest) = text.split_at(end);
        self.rest = rest;
        (!found.is_empty()).then_some(found)
    }

    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.while_(|c| c.is_ascii_digit())?.parse().ok()
    }

    /// Parses `"x"`, without escapes.
    fn quoted(&mut self) -> Option<String> {
        self.expect("\"")?;
        let (text, rest) = self.rest.split_once('"')?;
        self.rest = rest;
        is_plain(text).then(|| text.to_owned())
    }

    /// Parses `mesh` or `"mesh"`.
    fn name(&mut self) -> Option<String> {
        if self.rest.starts_with('"') {
            return self.quoted();
        }
        Some(self.while_(|c| c.is_ascii_alphanumeric() || "_$.-".contains(c))?.to_owned())
    }

    fn mesh(&mut self) -> Option<Mesh> {
        let mut mesh = Mesh::default();
        if !self.rest.trim_start().starts_with("device_ids") {
            mesh.axes = self.list("[", "]", |r| {
                let name = r.quoted()?;
                r.expect("=")?;
                Some((name, r.number()?))
            })?;
            if !self.eat(",") {
                return Some(mesh);
            }
        }
        self.expect("device_ids")?;
        self.expect("=")?;
        mesh.device_ids = self.list("[", "]", Reader::number)?;
        Some(mesh)
    }

    fn sharding(&mut self) -> Option<Sharding> {
        let mesh = if self.eat("@") {
            MeshRef::Named(self.name()?)
        } else {
            self.expect("mesh")?;
            self.expect("<")?;
            let mesh = self.mesh()?;
            self.expect(">")?;
            MeshRef::Inline(mesh)
        };
        self.expect(",")?;
        let dims = self.list("[", "]", Reader::dim)?;
        let mut sharding = Sharding { mesh, dims, replicated: Vec::new(), unreduced: Vec::new() };
        while self.eat(",") {
            let axes = match self.while_(|c| c.is_ascii_alphabetic())? {
                "replicated" => &mut sharding.replicated,
                "unreduced" => &mut sharding.unreduced,
                _ => return None,
            };
            self.expect("=")?;
            let found = self.list("{", "}", Reader::axis)?;
            if found.is_empty() || !axes.is_empty() {
                return None;
            }
            *axes = found;
        }
        Some(sharding)
    }

    /// Parses `{"x", ?}p1`.
    fn dim(&mut self) -> Option<DimSharding> {
        // Only the last item may be the question mark.
        let items = self.list("{", "}", |r| if r.eat("?") { Some(None) } else { Some(Some(r.axis()?)) })?;
        let open = items.last().is_some_and(Option::is_none);
        let count = items.len() - usize::from(open);
        let axes: Vec<AxisRef> = items.into_iter().take(count).collect::<Option<_>>()?;
        let priority = if self.eat("p") { Some(self.number()?) } else { None };
        Some(DimSharding { axes, open, priority })
    }

    /// Parses `"x"` or `"x":(1)2`.
    fn axis(&mut self) -> Option<AxisRef> {
        let name = self.quoted()?;
        let part = if self.eat(":") {
            self.expect("(")?;
            let before = self.number()?;
            self.expect(")")?;
            Some((before, self.number()?))
        } else {
            None
        };
        Some(AxisRef { name, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for text in [
            "@mesh, []",
            "@\"a mesh\", [{}, {?}, {\"x\"}, {\"x\", \"y\", ?}p1]",
            "@mesh, [{\"x\":(1)2, \"x\":(2)4}], replicated={\"y\", \"z\":(2)2}, unreduced={\"w\"}",
            "mesh<[\"x\"=2], device_ids=[1, 0]>, [{\"x\"}]",
            "mesh<[]>, []",
        ] {
            assert_eq!(sharding(text).map(|s| s.to_string()).as_deref(), Some(text));
        }
        assert_eq!(mesh(" [ \"x\" = 2 ] ").unwrap().to_string(), "[\"x\"=2]");
        assert_eq!(mesh("device_ids=[5]").unwrap().to_string(), "[], device_ids=[5]");
        assert_eq!(per_value("[<@m, []>, <@m, [{}]>]").unwrap().len(), 2);
    }

    #[test]
    fn other_text_is_no_sharding() {
        for text in [
            "",
            "@mesh",
            "@mesh, [{x}]",
            "@mesh, [{?, \"x\"}]",
            "@mesh, [{?, ?}]",
            "@mesh, [], more={\"x\"}",
            "@mesh, [], replicated={\"x\"}, replicated={\"y\"}",
            "@mesh, [{\"\\22\"}]",
            "@mesh, [{\"x\":(99999999999999999999)2}]",
        ] {
            assert_eq!(sharding(text), None, "{text}");
        }
        assert_eq!(mesh("[\"x\"=]"), None);
    }
}
