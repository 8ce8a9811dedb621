//! Writes artifacts, including artifacts that no tool would write.

/// The contents of an artifact. Attributes, types, properties and strings are referred to by number.
pub(crate) struct Artifact {
    /// Dialect and encoding of each attribute. The first is an unknown location, the second an empty list.
    pub(crate) attrs: Vec<(u64, Vec<u8>)>,
    /// Dialect and encoding of each type. The first is `f32`, the second `() -> ()`.
    pub(crate) types: Vec<(u64, Vec<u8>)>,
    /// Encoded properties. An operation refers to its entry by number.
    pub(crate) properties: Vec<Vec<u8>>,
    /// Type and location of each parameter of the only function, by number.
    pub(crate) params: Vec<(u64, u64)>,
    /// The body of the only function, and the number of values that it defines.
    pub(crate) body: (Vec<u8>, u64),
    /// Strings that follow [`NAMES`] in the string table.
    pub(crate) strings: Vec<Vec<u8>>,
}

pub(crate) const BUILTIN: u64 = 0;
pub(crate) const VHLO: u64 = 1;

// Numbers of the operation names in an artifact.
pub(crate) const CONSTANT: u64 = 2;
pub(crate) const RETURN: u64 = 3;
pub(crate) const TUPLE: u64 = 4;
pub(crate) const IF: u64 = 5;

// Flags that say which parts an operation has.
pub(crate) const ATTRS: u8 = 1;
pub(crate) const RESULTS: u8 = 2;
pub(crate) const REGIONS: u8 = 16;
pub(crate) const PROPERTIES: u8 = 64;

const NAMES: [&str; 10] = [
    "builtin",
    "vhlo",
    "module",
    "func_v1",
    "constant_v1",
    "return_v1",
    "tuple_v1",
    "if_v1",
    "main",
    "public",
];

/// Writes a number in bytecode encoding.
pub(crate) fn number(out: &mut Vec<u8>, n: u64) {
    match n {
        0..0x80 => out.push((n as u8) << 1 | 1),
        0x80..0x4000 => out.extend(((n as u16) << 2 | 2).to_le_bytes()),
        _ => {
            out.push(0);
            out.extend(n.to_le_bytes());
        }
    }
}

pub(crate) fn numbers(ns: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    ns.iter().for_each(|n| number(&mut out, *n));
    out
}

fn section(out: &mut Vec<u8>, id: u8, data: &[u8]) {
    out.push(id);
    number(out, data.len() as u64);
    out.extend(data);
}

/// Writes the beginning of an operation: its name, the flags of its parts, and an unknown location. The
/// caller writes the parts.
pub(crate) fn op(out: &mut Vec<u8>, name: u64, parts: u8) {
    number(out, name);
    out.push(parts);
    number(out, 0);
}

impl Artifact {
    pub(crate) fn new() -> Artifact {
        Artifact {
            attrs: vec![(BUILTIN, numbers(&[15])), (VHLO, numbers(&[1, 0]))],
            types: vec![(VHLO, numbers(&[4])), (VHLO, numbers(&[8, 0, 0]))],
            properties: Vec::new(),
            params: Vec::new(),
            body: (Vec::new(), 0),
            strings: Vec::new(),
        }
    }

    pub(crate) fn attr(&mut self, dialect: u64, data: Vec<u8>) -> u64 {
        self.attrs.push((dialect, data));
        self.attrs.len() as u64 - 1
    }

    pub(crate) fn ty(&mut self, data: Vec<u8>) -> u64 {
        self.types.push((VHLO, data));
        self.types.len() as u64 - 1
    }

    /// Adds a string and returns its number.
    pub(crate) fn string(&mut self, text: impl Into<Vec<u8>>) -> u64 {
        self.strings.push(text.into());
        (NAMES.len() + self.strings.len()) as u64 - 1
    }

    /// Writes the whole file. A `return` is added to the end of the body; `ops` is the number of operations
    /// before it.
    pub(crate) fn bytes(mut self, ops: u64) -> Vec<u8> {
        let params: Vec<u64> = self.params.iter().map(|(ty, _)| *ty).collect();
        self.types[1].1 = [numbers(&[8, params.len() as u64]), numbers(&params), numbers(&[0])].concat();
        let (name, public) = (self.attr(VHLO, numbers(&[14, 8])), self.attr(VHLO, numbers(&[14, 9])));
        let ty = self.attr(VHLO, numbers(&[17, 1]));
        self.properties.push(numbers(&[0, 0]));
        self.properties.push(numbers(&[1, ty, 1, name, public]));
        let of_func = self.properties.len() as u64 - 1;

        let strings: Vec<&[u8]> =
            NAMES.iter().map(|name| name.as_bytes()).chain(self.strings.iter().map(Vec::as_slice)).collect();
        let mut table = numbers(&[strings.len() as u64]);
        strings.iter().rev().for_each(|string| number(&mut table, string.len() as u64 + 1));
        for string in strings {
            table.extend(string);
            table.push(0);
        }
        // The dialects, then the operation names of each dialect. Each name has a flag in its lowest bit.
        let dialects = numbers(&[2, 0, 2, 6, 0, 1, 5, 1, 5, 7, 9, 11, 13, 15]);

        let (mut data, mut offsets) =
            (Vec::new(), numbers(&[self.attrs.len() as u64, self.types.len() as u64]));
        for entries in [&self.attrs, &self.types] {
            for group in entries.chunk_by(|a, b| a.0 == b.0) {
                offsets.extend(numbers(&[group[0].0, group.len() as u64]));
                for (_, entry) in group {
                    data.extend(entry);
                    number(&mut offsets, (entry.len() as u64) << 1 | 1);
                }
            }
        }
        let mut properties = numbers(&[self.properties.len() as u64]);
        for entry in &self.properties {
            number(&mut properties, entry.len() as u64);
            properties.extend(entry);
        }

        let mut module = numbers(&[1, 0, 1 << 1]);
        op(&mut module, 1, PROPERTIES | REGIONS);
        let values = self.body.1 + self.params.len() as u64;
        module.extend(numbers(&[
            of_func,
            1 << 1,
            1,
            values,
            (ops + 1) << 1 | u64::from(!self.params.is_empty()),
        ]));
        if !self.params.is_empty() {
            number(&mut module, self.params.len() as u64);
            for (ty, location) in &self.params {
                module.extend(numbers(&[ty << 1 | 1, *location]));
            }
            module.push(0);
        }
        module.extend(&self.body.0);
        op(&mut module, RETURN, 0);
        let mut ir = numbers(&[1 << 1]);
        op(&mut ir, 0, PROPERTIES | REGIONS);
        ir.extend(numbers(&[of_func - 1, 1 << 1 | 1]));
        section(&mut ir, 4, &module);

        let mut out = b"ML\xefR\x0dStableHLO_v1.20.0\0".to_vec();
        for (id, data) in [(0, table), (1, dialects), (8, properties), (2, data), (3, offsets), (4, ir)] {
            section(&mut out, id, &data);
        }
        out
    }
}
