//! Attributes by name.

use std::collections::HashSet;
use std::fmt;
use std::ops::Index;

use litemap::LiteMap;

use super::Attr;

/// Attributes by name, in the order of their names.
///
/// ```
/// use farcall_ir::{Attr, AttrDict};
///
/// let mut attrs = AttrDict::from([("b".to_owned(), Attr::i64(2)), ("a".to_owned(), Attr::Unit)]);
/// assert_eq!(attrs.keys().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(attrs["b"], Attr::i64(2));
/// assert_eq!(attrs.remove("a"), Some(Attr::Unit));
/// ```
// Most have few: a sorted list takes less memory than a tree, and fewer steps.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct AttrDict(LiteMap<String, Attr>);

impl AttrDict {
    /// No attributes.
    pub const fn new() -> AttrDict {
        AttrDict(LiteMap::new_vec())
    }

    /// Attributes of different names.
    ///
    /// # Errors
    /// If two have one name: the first that comes again, and its place.
    ///
    /// ```
    /// use farcall_ir::{Attr, AttrDict};
    ///
    /// let named = |name: &str| (name.to_owned(), Attr::Unit);
    /// assert_eq!(AttrDict::unique(vec![named("b"), named("a")]).unwrap().len(), 2);
    /// assert_eq!(AttrDict::unique(vec![named("b"), named("a"), named("b")]), Err((2, "b".to_owned())));
    /// ```
    pub fn unique(attrs: Vec<(String, Attr)>) -> Result<AttrDict, (usize, String)> {
        if !attrs.is_sorted_by(|a, b| a.0 < b.0) {
            let mut seen = HashSet::with_capacity(attrs.len());
            if let Some(again) = attrs.iter().position(|(name, _)| !seen.insert(name.as_str())) {
                return Err((again, attrs[again].0.clone()));
            }
        }
        Ok(attrs.into_iter().collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attribute of a name.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.get(name)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Attr> {
        self.0.get_mut(name)
    }

    /// True if there is an attribute of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds an attribute; returns the one whose place it took.
    ///
    /// It moves those after it: many are added at once by `extend`, or collected.
    pub fn insert(&mut self, name: String, attr: Attr) -> Option<Attr> {
        self.0.insert(name, attr)
    }

    /// Adds those of names that it has not.
    ///
    /// ```
    /// use farcall_ir::{Attr, AttrDict};
    ///
    /// let named = |name: &str, value| (name.to_owned(), Attr::i64(value));
    /// let mut attrs = AttrDict::from([named("a", 1)]);
    /// attrs.extend_missing(&AttrDict::from([named("a", 2), named("b", 3)]));
    /// assert_eq!(attrs, AttrDict::from([named("a", 1), named("b", 3)]));
    /// ```
    pub fn extend_missing<'a>(&mut self, attrs: impl IntoIterator<Item = (&'a String, &'a Attr)>) {
        let missing: Vec<_> = attrs.into_iter().filter(|(name, _)| !self.contains_key(name)).collect();
        self.extend(missing.into_iter().map(|(name, attr)| (name.clone(), attr.clone())));
    }

    /// Takes an attribute out.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        self.0.remove(name)
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Names and attributes, in the order of the names.
    pub fn iter(&self) -> Iter<'_> {
        self.0.iter()
    }

    /// The same, to change attributes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Attr)> {
        self.0.iter_mut()
    }

    /// The names, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &String> {
        self.0.keys()
    }

    /// The attributes, in the order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Attr> {
        self.0.values()
    }
}

/// What iterates over names and attributes.
type Iter<'a> = <&'a LiteMap<String, Attr> as IntoIterator>::IntoIter;

impl Extend<(String, Attr)> for AttrDict {
    /// Of two with one name, the later one stays.
    fn extend<I: IntoIterator<Item = (String, Attr)>>(&mut self, attrs: I) {
        self.0.extend(attrs);
    }
}

impl FromIterator<(String, Attr)> for AttrDict {
    /// Of two with one name, the later one stays.
    fn from_iter<I: IntoIterator<Item = (String, Attr)>>(attrs: I) -> AttrDict {
        AttrDict(attrs.into_iter().collect())
    }
}

impl<const N: usize> From<[(String, Attr); N]> for AttrDict {
    fn from(attrs: [(String, Attr); N]) -> AttrDict {
        attrs.into_iter().collect()
    }
}

impl IntoIterator for AttrDict {
    type Item = (String, Attr);
    type IntoIter = std::vec::IntoIter<(String, Attr)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_tuple_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a AttrDict {
    type Item = (&'a String, &'a Attr);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Index<&str> for AttrDict {
    type Output = Attr;

    /// # Panics
    /// If there is none of this name.
    fn index(&self, name: &str) -> &Attr {
        self.get(name).expect("there is an attribute of this name")
    }
}

impl fmt::Debug for AttrDict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
