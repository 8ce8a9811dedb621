//! Attributes by name.

use std::collections::HashSet;
use std::fmt;
use std::ops::Index;

use litemap::LiteMap;

use super::Attribute;

/// Attributes by name, ordered by name.
///
/// ```
/// use farcall_ir::{AttrDict, Attribute};
///
/// let mut attrs = AttrDict::from([("b".to_owned(), Attribute::i64(2)), ("a".to_owned(), Attribute::Unit)]);
/// assert_eq!(attrs.keys().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(attrs["b"], Attribute::i64(2));
/// assert_eq!(attrs.remove("a"), Some(Attribute::Unit));
/// ```
// Most dictionaries are small: a sorted list takes less memory and fewer steps than a tree.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct AttrDict(LiteMap<String, Attribute>);

impl AttrDict {
    /// Creates an empty dictionary.
    pub const fn new() -> AttrDict {
        AttrDict(LiteMap::new_vec())
    }

    /// Creates a dictionary from attributes with distinct names.
    ///
    /// # Errors
    /// If two attributes have the same name: the index and the name of the first repetition.
    ///
    /// ```
    /// use farcall_ir::{AttrDict, Attribute};
    ///
    /// let named = |name: &str| (name.to_owned(), Attribute::Unit);
    /// assert_eq!(AttrDict::unique(vec![named("b"), named("a")]).unwrap().len(), 2);
    /// assert_eq!(AttrDict::unique(vec![named("b"), named("a"), named("b")]), Err((2, "b".to_owned())));
    /// ```
    pub fn unique(attrs: Vec<(String, Attribute)>) -> Result<AttrDict, (usize, String)> {
        if !attrs.is_sorted_by(|a, b| a.0 < b.0) {
            let mut seen = HashSet::with_capacity(attrs.len());
            if let Some(again) = attrs.iter().position(|(name, _)| !seen.insert(name.as_str())) {
                return Err((again, attrs[again].0.clone()));
            }
        }
        Ok(attrs.into_iter().collect())
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the dictionary is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the attribute with a name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.get(name)
    }

    /// Returns a mutable reference to the attribute with a name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Attribute> {
        self.0.get_mut(name)
    }

    /// Returns true if the dictionary has an attribute with this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds an attribute; returns the previous attribute with this name.
    ///
    /// Each call moves the attributes with later names, so use `extend` or `collect` to add many.
    pub fn insert(&mut self, name: String, attr: Attribute) -> Option<Attribute> {
        self.0.insert(name, attr)
    }

    /// Adds the attributes whose names the dictionary does not contain yet.
    ///
    /// ```
    /// use farcall_ir::{AttrDict, Attribute};
    ///
    /// let named = |name: &str, value| (name.to_owned(), Attribute::i64(value));
    /// let mut attrs = AttrDict::from([named("a", 1)]);
    /// attrs.extend_missing(&AttrDict::from([named("a", 2), named("b", 3)]));
    /// assert_eq!(attrs, AttrDict::from([named("a", 1), named("b", 3)]));
    /// ```
    pub fn extend_missing<'a>(&mut self, attrs: impl IntoIterator<Item = (&'a String, &'a Attribute)>) {
        let missing: Vec<_> = attrs.into_iter().filter(|(name, _)| !self.contains_key(name)).collect();
        self.extend(missing.into_iter().map(|(name, attr)| (name.clone(), attr.clone())));
    }

    /// Removes and returns an attribute.
    pub fn remove(&mut self, name: &str) -> Option<Attribute> {
        self.0.remove(name)
    }

    /// Removes all attributes.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Iterates over names and attributes, ordered by name.
    pub fn iter(&self) -> Iter<'_> {
        self.0.iter()
    }

    /// Iterates over names and mutable attributes, ordered by name.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Attribute)> {
        self.0.iter_mut()
    }

    /// Iterates over the names, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &String> {
        self.0.keys()
    }

    /// Iterates over the attributes, ordered by name.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Attribute> {
        self.0.values()
    }
}

/// Iterator over names and attributes.
type Iter<'a> = <&'a LiteMap<String, Attribute> as IntoIterator>::IntoIter;

impl Extend<(String, Attribute)> for AttrDict {
    /// Adds attributes; a later attribute replaces an earlier one with the same name.
    fn extend<I: IntoIterator<Item = (String, Attribute)>>(&mut self, attrs: I) {
        self.0.extend(attrs);
    }
}

impl FromIterator<(String, Attribute)> for AttrDict {
    /// Collects attributes; a later attribute replaces an earlier one with the same name.
    fn from_iter<I: IntoIterator<Item = (String, Attribute)>>(attrs: I) -> AttrDict {
        AttrDict(attrs.into_iter().collect())
    }
}

impl<const N: usize> From<[(String, Attribute); N]> for AttrDict {
    fn from(attrs: [(String, Attribute); N]) -> AttrDict {
        attrs.into_iter().collect()
    }
}

impl IntoIterator for AttrDict {
    type Item = (String, Attribute);
    type IntoIter = std::vec::IntoIter<(String, Attribute)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_tuple_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a AttrDict {
    type Item = (&'a String, &'a Attribute);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Index<&str> for AttrDict {
    type Output = Attribute;

    /// # Panics
    /// If the dictionary has no attribute with this name.
    fn index(&self, name: &str) -> &Attribute {
        self.get(name).expect("there is an attribute of this name")
    }
}

impl fmt::Debug for AttrDict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
