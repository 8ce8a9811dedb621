//! Finds the argument that a name refers to, in the spellings that files of arrays use.

use std::collections::HashMap;

use farcall_sig::nearest::nearest;

use super::{ArgumentInfo, Interface};

/// A name that does not identify one argument.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// No argument has the name.
    #[error("no argument is called `{name}`{}", suggestion(near, some))]
    Unknown {
        /// The name.
        name: String,
        /// Similar names of arguments.
        near: Vec<String>,
        /// The names of the first few arguments.
        some: Vec<String>,
    },
    /// Several arguments match the name.
    #[error("`{name}` is ambiguous: it may be any of {}", listed(meant))]
    Ambiguous {
        /// The name.
        name: String,
        /// The names of the first few matching arguments.
        meant: Vec<String>,
    },
    /// Two names refer to one argument.
    #[error("`{first}` and `{second}` both name the argument {argument}")]
    Twice {
        /// The argument's name.
        argument: String,
        /// One name.
        first: String,
        /// The other name.
        second: String,
    },
}

/// Maximum number of names that a message lists, and of errors that [`Interface::bind`] returns.
const MAX_LISTED_NAMES: usize = 8;

/// Maximum number of parts of a suffix that may stand for the whole name.
const MAX_PARTS: usize = 16;

fn suggestion(near: &[String], some: &[String]) -> String {
    match (near, some) {
        ([], []) => "; there are none".to_owned(),
        ([], some) => format!("; there are {}", listed(some)),
        (near, _) => format!("; did you mean {}?", near.join(" or ")),
    }
}

/// Formats the first few names.
fn listed(names: &[String]) -> String {
    let more = if names.len() > MAX_LISTED_NAMES { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(MAX_LISTED_NAMES)].join(", "))
}

/// Splits a name into its parts: `params['dense'].kernel` and `params/dense/kernel` are `params`, `dense`,
/// `kernel`.
fn parts(name: &str) -> Vec<&str> {
    name.split(['.', '/', '[', ']', '\'', '"']).filter(|part| !part.is_empty()).collect()
}

impl ArgumentInfo {
    /// Returns the argument's spellings: its name, its path, and the path without `kwargs`.
    fn spellings(&self) -> impl Iterator<Item = &str> {
        let path = self.path.as_deref();
        [Some(self.name.as_str()), path, path.and_then(|p| p.strip_prefix("kwargs"))].into_iter().flatten()
    }
}

/// Indices of arguments by possible names. The fields are in order of match quality, best first.
struct Index<'i> {
    /// By full spelling.
    spelled: HashMap<&'i str, Vec<usize>>,
    /// By the parts of a spelling, independent of punctuation.
    parts: HashMap<&'i str, Vec<usize>>,
    /// By the last parts of a spelling.
    ends: HashMap<&'i str, Vec<usize>>,
}

fn note<K: Eq + std::hash::Hash>(map: &mut HashMap<K, Vec<usize>>, key: K, argument: usize) {
    let arguments = map.entry(key).or_default();
    if arguments.last() != Some(&argument) {
        arguments.push(argument);
    }
}

impl<'i> Index<'i> {
    /// Builds the index. `joined` has the parts of all spellings, joined with dots.
    fn of(arguments: &'i [ArgumentInfo], joined: &'i [Vec<String>]) -> Index<'i> {
        let mut index = Index { spelled: HashMap::new(), parts: HashMap::new(), ends: HashMap::new() };
        for (i, (argument, joined)) in arguments.iter().zip(joined).enumerate() {
            argument.spellings().for_each(|spelling| note(&mut index.spelled, spelling, i));
            for parts in joined {
                note(&mut index.parts, parts, i);
                let ends = parts.rmatch_indices('.').take(MAX_PARTS).map(|(dot, _)| &parts[dot + 1..]);
                ends.for_each(|end| note(&mut index.ends, end, i));
            }
        }
        index
    }

    /// Returns the arguments that match a name best.
    fn find(&self, name: &str, arguments: usize) -> Vec<usize> {
        let joined = parts(name).join(".");
        // NumPy's `savez` calls unnamed arrays `arr_0`, `arr_1`, ….
        let number = name.strip_prefix("arg").or_else(|| name.strip_prefix("arr_"));
        let number = number.and_then(|n| n.parse().ok()).filter(|n| *n < arguments);
        let found = self.spelled.get(name).or_else(|| self.parts.get(joined.as_str())).cloned();
        found
            .or_else(|| number.map(|n| vec![n]))
            .or_else(|| self.ends.get(joined.as_str()).cloned())
            .unwrap_or_default()
    }
}

impl Interface {
    /// Returns the index of the argument that each name refers to.
    ///
    /// A name is the argument's name (`params['dense']['kernel']`), its path in the trees of an exported
    /// function (`args[0]['dense']['kernel']`), either one spelled with dots or slashes
    /// (`params.dense.kernel`), its index (`arg0`, `arr_0`), or a suffix of its name or path
    /// (`dense/kernel`). Better matches take precedence over worse ones, in this order.
    ///
    /// # Errors
    /// A [`NameError`] for each name that matches no argument or several, and for each pair of names that
    /// refer to the same argument; only the first few errors are returned.
    pub fn bind(&self, names: &[&str]) -> Result<Vec<usize>, Vec<NameError>> {
        let (mut bound, mut errors) = (Vec::with_capacity(names.len()), Vec::new());
        let mut named: HashMap<usize, &str> = HashMap::new();
        let joined = |argument: &ArgumentInfo| argument.spellings().map(|s| parts(s).join(".")).collect();
        let joined: Vec<Vec<String>> = self.arguments.iter().map(joined).collect();
        let index = Index::of(&self.arguments, &joined);
        for name in names {
            if errors.len() >= MAX_LISTED_NAMES {
                break;
            }
            match self.find(name, &index) {
                Err(e) => errors.push(e),
                Ok(argument) => match named.insert(argument, name) {
                    None => bound.push(argument),
                    Some(first) => errors.push(NameError::Twice {
                        argument: self.arguments[argument].name.clone(),
                        first: first.to_owned(),
                        second: (*name).to_owned(),
                    }),
                },
            }
        }
        if errors.is_empty() { Ok(bound) } else { Err(errors) }
    }

    fn find(&self, name: &str, index: &Index<'_>) -> Result<usize, NameError> {
        let best = index.find(name, self.arguments.len());
        match best.as_slice() {
            [argument] => Ok(*argument),
            [] => Err(self.unknown(name)),
            several => Err(NameError::Ambiguous {
                name: name.to_owned(),
                meant: several
                    .iter()
                    .take(MAX_LISTED_NAMES + 1)
                    .map(|i| self.arguments[*i].name.clone())
                    .collect(),
            }),
        }
    }

    fn unknown(&self, name: &str) -> NameError {
        // Names are compared in one normalized spelling, since differences in quotes and brackets are not
        // typos. The candidates are whole names, and suffixes with the same number of parts as the given
        // name.
        let given = parts(name);
        let spelled = |s: &str| {
            let parts = parts(s);
            let end = parts.len().saturating_sub(given.len());
            [parts.join("."), parts[end..].join(".")]
        };
        let known: Vec<(String, &ArgumentInfo)> = self
            .arguments
            .iter()
            .flat_map(|a| a.spellings().flat_map(spelled).map(move |spelling| (spelling, a)))
            .collect();
        let near = nearest(&given.join("."), known.iter().map(|(spelling, _)| spelling.as_str()));
        let mut names: Vec<String> = Vec::new();
        for (_, argument) in known.iter().filter(|(spelling, _)| near.contains(&spelling.as_str())) {
            if !names.contains(&argument.name) {
                names.push(argument.name.clone());
            }
        }
        let some = self.arguments.iter().take(MAX_LISTED_NAMES + 1).map(|a| a.name.clone()).collect();
        NameError::Unknown { name: name.to_owned(), near: names, some }
    }
}

#[cfg(test)]
mod tests {
    use farcall_sig::DType;

    use super::super::SymbolicType;
    use super::*;

    fn interface(names: &[(&str, Option<&str>)]) -> Interface {
        let argument = |(i, (name, path)): (usize, &(&str, Option<&str>))| ArgumentInfo {
            name: (*name).to_owned(),
            path: path.map(str::to_owned),
            ty: SymbolicType { dtype: DType::F32, sizes: Vec::new() },
            input: Some(i),
        };
        Interface {
            name: "f".to_owned(),
            arguments: names.iter().enumerate().map(argument).collect(),
            results: Vec::new(),
            constraints: Vec::new(),
        }
    }

    fn layer() -> Interface {
        interface(&[
            ("params['dense']['bias']", Some("args[0]['dense']['bias']")),
            ("params['dense']['kernel']", Some("args[0]['dense']['kernel']")),
            ("params['out']['kernel']", Some("args[0]['out']['kernel']")),
            ("x", Some("kwargs['x']")),
        ])
    }

    #[test]
    fn spellings_of_one_argument() {
        for name in [
            "params['dense']['kernel']",
            "args[0]['dense']['kernel']",
            "params.dense.kernel",
            "params/dense/kernel",
            "params[\"dense\"].kernel",
            "dense/kernel",
            "dense.kernel",
            "arg1",
            "arr_1",
        ] {
            assert_eq!(layer().bind(&[name]), Ok(vec![1]), "{name}");
        }
        assert_eq!(layer().bind(&["x", "bias"]), Ok(vec![3, 0]));
        assert_eq!(layer().bind(&["kwargs['x']"]), Ok(vec![3]));
    }

    #[test]
    fn unknown_and_ambiguous_names() {
        let message = |names: &[&str]| {
            let errors = layer().bind(names).unwrap_err();
            errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            message(&["kernel", "dense.kernal", "x", "arg3"]),
            "`kernel` is ambiguous: it may be any of params['dense']['kernel'], params['out']['kernel']\n\
             no argument is called `dense.kernal`; did you mean params['dense']['kernel']?\n\
             `x` and `arg3` both name the argument x"
        );
        assert_eq!(
            message(&["weights"]),
            "no argument is called `weights`; there are params['dense']['bias'], params['dense']['kernel'], params['out']['kernel'], x"
        );
    }

    #[test]
    fn messages_list_the_first_few_names() {
        let names: Vec<String> = (0..100).map(|i| format!("p{i}['w']")).collect();
        let f = interface(&names.iter().map(|name| (name.as_str(), None)).collect::<Vec<_>>());
        for (name, start) in [
            ("something", "no argument is called `something`; there are"),
            ("w", "`w` is ambiguous: it may be any of"),
        ] {
            let message = f.bind(&[name]).unwrap_err()[0].to_string();
            assert_eq!(message, format!("{start} {}, …", names[..MAX_LISTED_NAMES].join(", ")));
        }
    }

    #[test]
    fn better_matches_take_precedence() {
        let f = interface(&[("a.b", None), ("a/b", None), ("c.a.b", None)]);
        assert_eq!(f.bind(&["a.b", "a/b", "c/a/b"]), Ok(vec![0, 1, 2]));
        assert!(f.bind(&["a[b]"]).is_err());
    }
}
