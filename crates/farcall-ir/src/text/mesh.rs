//! Resolves replica groups that are given by mesh axes into lists of device numbers.
//!
//! `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>` describes
//! groups of devices that differ only in their coordinate along `x`. The mesh is given inline, or by an
//! operation `sdy.mesh` before the function. In both cases, the groups become `dense<[[0, 2], [1, 3]]>`, the
//! form that collectives take.

use farcall_sig::DType;

use crate::attr::{AttrDict, Attribute};
use crate::literal::Literal;
use crate::sharding::{AxisRef, Mesh, is_plain};

/// Maximum number of devices of a mesh.
const MAX_DEVICES: usize = 1 << 20;

/// Reads the mesh of an attribute `stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}`.
pub(super) fn mesh_of_dict(attr: &Attribute) -> Option<Mesh> {
    let Attribute::Dict(dict) = attr else { return None };
    let Attribute::Array(axes) = dict.get("axes")? else { return None };
    let axis = |axis: &Attribute| match axis {
        Attribute::Dict(d) => {
            let name = d.get("name")?.as_str().filter(|name| is_plain(name))?;
            Some((name.to_owned(), usize::try_from(d.get("size")?.as_i64()?).ok()?))
        }
        _ => None,
    };
    let axes = axes.iter().map(axis).collect::<Option<_>>()?;
    let device_ids = dict.get("device_ids").and_then(Attribute::as_i64_list).unwrap_or_default();
    if device_ids.iter().any(|id| *id < 0) {
        return None;
    }
    Some(Mesh { axes, device_ids })
}

/// Replaces groups that are given by axes. `mesh` returns the module's mesh with a given name.
///
/// # Errors
/// A sentence that describes the problem.
pub(crate) fn resolve(attrs: &mut AttrDict, mesh: impl Fn(&str) -> Option<Mesh>) -> Result<(), String> {
    const KEY: &str = "replica_groups";
    let Some(Attribute::Dialect(groups)) = attrs.get(KEY) else { return Ok(()) };
    if groups.name != "stablehlo.replica_group_mesh_axes" {
        return Ok(());
    }
    let parts = parts(&groups.text);
    let part = |key: &str| {
        let found = parts.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        found.ok_or_else(|| format!("attribute `{KEY}` has no parameter `{key}`"))
    };
    let (of, axes) = (part("mesh")?, part("axes")?);
    let mesh = match of.strip_prefix('@') {
        Some(name) => {
            let name = name.trim_matches('"');
            mesh(name)
                .ok_or_else(|| format!("attribute `{KEY}`: there is no mesh @{name} before this function"))?
        }
        None => read(of).ok_or_else(|| format!("attribute `{KEY}`: {of} is not a mesh"))?,
    };
    let refs = inner(axes).map(parts_of_list).unwrap_or_default();
    let refs: Option<Vec<AxisRef>> = refs.into_iter().map(axis).collect();
    let refs = refs.ok_or_else(|| format!("attribute `{KEY}`: {axes} are not axes of a mesh"))?;
    let ids = groups_of(&mesh, &refs).map_err(|message| format!("attribute `{KEY}`: {message}"))?;
    attrs.insert(KEY.to_owned(), Attribute::Dense(ids));
    Ok(())
}

/// Parses `#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`.
fn axis(text: &str) -> Option<AxisRef> {
    let name = quoted(text, "name")?;
    let part = match text.split_once("sub_axis_info") {
        None => None,
        Some((_, info)) => match numbers(info).as_slice() {
            [before, size] => Some((usize::try_from(*before).ok()?, usize::try_from(*size).ok()?)),
            _ => return None,
        },
    };
    Some(AxisRef { name, part })
}

/// Parses a mesh: `axes = [… name = "x", size = 2 …]`, followed by optional `device_ids`.
fn read(text: &str) -> Option<Mesh> {
    let start = text.find('[')?;
    let list = inner(&text[start..])?;
    let mut axes = Vec::new();
    for axis in parts_of_list(list) {
        let (name, size) = match axis.strip_prefix('"') {
            Some(rest) => {
                let (name, size) = rest.split_once('"')?;
                (name.to_owned(), *numbers(size).first()?)
            }
            None => (quoted(axis, "name")?, *numbers(axis.split_once("size")?.1).first()?),
        };
        axes.push((name, usize::try_from(size).ok()?));
    }
    let ids = match text[start + 1 + list.len()..].split_once("device_ids") {
        Some((_, ids)) => numbers(ids.split(" : ").next().unwrap_or(ids)),
        None => Vec::new(),
    };
    Some(Mesh { axes, device_ids: ids })
}

/// Returns the groups of devices that differ only along the axes `refs`. The members of a group are ordered
/// by their coordinates along `refs`; the last coordinate changes fastest.
fn groups_of(mesh: &Mesh, refs: &[AxisRef]) -> Result<Literal, String> {
    let count = mesh.axes.iter().try_fold(1usize, |n, (_, size)| n.checked_mul(*size));
    let count = count.filter(|n| (1..=MAX_DEVICES).contains(n));
    let count = count.ok_or_else(|| format!("a mesh must have 1 to {MAX_DEVICES} devices"))?;
    if !mesh.device_ids.is_empty() && mesh.device_ids.len() != count {
        return Err(format!("the mesh has {count} devices, but {} device numbers", mesh.device_ids.len()));
    }
    // Split each axis into factors, so that every part of an axis in `refs` is a product of factors.
    let mut factors: Vec<(usize, usize)> = Vec::new(); // (size, distance between neighbors)
    let mut named: Vec<Vec<usize>> = vec![Vec::new(); refs.len()];
    let mut distance = count;
    for (name, size) in &mesh.axes {
        distance /= size;
        let mine = || refs.iter().enumerate().filter(|(_, r)| r.name == *name);
        let range = |r: &AxisRef| r.part.map_or((1, *size), |(before, n)| (before, before.saturating_mul(n)));
        let mut cuts: Vec<usize> =
            mine().flat_map(|(_, r)| [range(r).0, range(r).1]).chain([1, *size]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for pair in cuts.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if from == 0 || to % from != 0 || size % to != 0 {
                return Err(format!("axis {name:?} of size {size} cannot be divided into these parts"));
            }
            for (i, _) in mine().filter(|(_, r)| (range(r).0..range(r).1).contains(&from)) {
                named[i].push(factors.len());
            }
            factors.push((to / from, distance * (size / to)));
        }
    }
    if let Some((_, r)) = named.iter().zip(refs).find(|(_, r)| !mesh.axes.iter().any(|(n, _)| *n == r.name)) {
        return Err(format!("the mesh has no axis {:?}", r.name));
    }
    let inside: Vec<usize> = named.concat();
    let mut once = inside.clone();
    once.sort_unstable();
    once.dedup();
    if once.len() != inside.len() {
        return Err("an axis is named twice".to_owned());
    }
    let outside = (0..factors.len()).filter(|f| !inside.contains(f));
    let places = |list: &mut dyn Iterator<Item = usize>| {
        list.fold(vec![0], |from: Vec<usize>, f| {
            let (size, distance) = factors[f];
            from.iter().flat_map(|at| (0..size).map(move |i| at + i * distance)).collect()
        })
    };
    let (rows, columns) = (places(&mut outside.into_iter()), places(&mut inside.into_iter()));
    let id = |at: usize| mesh.device_ids.get(at).copied().unwrap_or(i64::try_from(at).unwrap_or(i64::MAX));
    let ids: Vec<i64> = rows.iter().flat_map(|r| columns.iter().map(move |c| id(*r + *c))).collect();
    Ok(Literal::from_slice(DType::S64, [rows.len(), columns.len()], &ids))
}

/// Splits `key = value` pairs at commas that are not inside brackets.
fn parts(text: &str) -> Vec<(&str, &str)> {
    let pairs = parts_of_list(text).into_iter().filter_map(|part| part.split_once('='));
    pairs.map(|(key, value)| (key.trim(), value.trim())).collect()
}

/// Splits text at commas that are not inside brackets or quotes.
fn parts_of_list(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start, mut out) = (0i32, false, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '"' => quote = !quote,
            _ if quote => {}
            '<' | '[' | '{' | '(' => depth += 1,
            '>' | ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    out.extend((!last.is_empty()).then_some(last));
    out
}

/// Returns the text between the `[` at the beginning and its closing `]`.
fn inner(text: &str) -> Option<&str> {
    let mut depth = 0i32;
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.get(1..i);
        }
    }
    None
}

/// Returns the string after `key =`.
fn quoted(text: &str, key: &str) -> Option<String> {
    let (_, rest) = text.split_once(key)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Returns all integers in the text.
fn numbers(text: &str) -> Vec<i64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(mesh: &str, axes: impl std::fmt::Display) -> Result<Vec<Vec<i64>>, String> {
        let text = format!("#stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = {axes}>");
        let mut attrs = AttrDict::new();
        attrs.insert("replica_groups".to_owned(), text.parse::<Attribute>().unwrap());
        let defined = Mesh::read(r#"["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]"#);
        resolve(&mut attrs, |name| defined.clone().filter(|_| name == "m"))?;
        let Some(Attribute::Dense(ids)) = attrs.get("replica_groups") else { panic!("{attrs:?}") };
        let ids: (usize, Vec<i64>) = (ids.dims()[1], ids.iter().map(|s| s.as_i64()).collect());
        Ok(ids.1.chunks(ids.0).map(<[i64]>::to_vec).collect())
    }

    const XY: &str = r#"#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>"#;

    #[test]
    fn axes_make_groups() {
        let x = r#"[#stablehlo.axis_ref<name = "x">]"#;
        assert_eq!(groups(XY, x).unwrap(), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(groups("@m", x).unwrap(), [[7, 3], [6, 2], [5, 1], [4, 0]]);
        let y = r#"[#stablehlo.axis_ref<name = "y">]"#;
        assert_eq!(groups(XY, y).unwrap(), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let yx = r#"[#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]"#;
        assert_eq!(groups(XY, yx).unwrap(), [[0, 4, 1, 5, 2, 6, 3, 7]]);
        assert_eq!(groups(XY, "[]").unwrap().len(), 8);
    }

    #[test]
    fn parts_of_axes_make_groups() {
        let major = r#"[#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]"#;
        assert_eq!(groups(XY, major).unwrap(), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        let minor = r#"[#stablehlo.axis_ref<name = "y", sub_axis_info = (2)2>]"#;
        assert_eq!(groups(XY, minor).unwrap(), [[0, 1], [2, 3], [4, 5], [6, 7]]);
    }

    #[test]
    fn mistakes_are_explained() {
        let error = |mesh, axes: &str| groups(mesh, axes).unwrap_err();
        let x = r#"[#stablehlo.axis_ref<name = "x">]"#;
        assert!(error("@other", x).contains("there is no mesh @other"));
        assert!(error(XY, r#"[#stablehlo.axis_ref<name = "z">]"#).contains("no axis \"z\""));
        assert!(error(XY, "[0 : i64]").contains("are not axes"));
        let twice = x.replace(']', ", #stablehlo.axis_ref<name = \"x\">]");
        assert!(error(XY, &twice).contains("twice"));
        assert!(error(XY, r#"[#stablehlo.axis_ref<name = "y", sub_axis_info = (3)2>]"#).contains("divided"));
    }
}
