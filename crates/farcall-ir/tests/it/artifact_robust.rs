//! Artifacts and exported functions that no tool writes: files with cycles or unbounded nesting, and files
//! whose few bytes expand to large modules.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bytecode::{
    ATTRS, Artifact, BUILTIN, CONSTANT, IF, PROPERTIES, REGIONS, RESULTS, RETURN, TUPLE, VHLO, number,
    numbers, op,
};
use farcall_ir::exported::Exported;
use farcall_ir::interface::Interface;
use farcall_ir::{Module, ProgramError, Source, vhlo};

/// Reads an artifact, and checks that this takes less than 20 seconds.
fn read(bytes: &[u8]) -> Result<Module, ProgramError> {
    let start = Instant::now();
    let read = vhlo::read(bytes, "hostile");
    assert!(start.elapsed() < Duration::from_secs(20), "reading took {:?}", start.elapsed());
    read
}

fn error(bytes: &[u8]) -> String {
    let e = read(bytes).expect_err("the artifact is invalid");
    format!("[{}] {}", e.diagnostics[0].code, e.diagnostics[0].message)
}

/// An artifact with an additional `return`. The `return` has an attribute `x`, whose value is attribute
/// number `attr`.
fn with_attr(mut artifact: Artifact, attr: u64) -> Vec<u8> {
    let x = artifact.string("x");
    let name = artifact.attr(BUILTIN, numbers(&[2, x]));
    let dict = artifact.attr(BUILTIN, numbers(&[1, 1, name, attr]));
    op(&mut artifact.body.0, RETURN, ATTRS);
    number(&mut artifact.body.0, dict);
    let bytes = artifact.body.0.clone();
    // The body has two returns. The second one is an error, which is found only after the attribute is read.
    assert!(!bytes.is_empty());
    artifact.bytes(1)
}

#[test]
fn the_writer_writes_artifacts() {
    let mut artifact = Artifact::new();
    let tensor = artifact.ty(numbers(&[20, 0, 0]));
    let mut data = numbers(&[15, tensor, 4]);
    data.extend(1.5f32.to_le_bytes());
    let value = artifact.attr(VHLO, data);
    artifact.properties.push(numbers(&[value]));
    op(&mut artifact.body.0, CONSTANT, PROPERTIES | RESULTS);
    artifact.body.0.extend(numbers(&[0, 1, tensor]));
    artifact.body.1 = 1;
    let module = read(&artifact.bytes(1)).unwrap_or_else(|e| panic!("{e}"));
    let text = farcall_ir::text::print(&module);
    assert!(text.contains("stablehlo.constant dense<1.500000e+00> : tensor<f32>"), "{text}");
}

#[test]
fn attributes_have_different_names() {
    for (names, twice) in [(["x", "x"], true), (["x", "y"], false)] {
        let mut artifact = Artifact::new();
        let names = names.map(|name| {
            let name = artifact.string(name);
            artifact.attr(BUILTIN, numbers(&[2, name]))
        });
        let dict = artifact.attr(BUILTIN, numbers(&[1, 2, names[0], names[0], names[1], names[0]]));
        let message = error(&with_attr(artifact, dict));
        assert_eq!(message.contains("attribute `x` is given twice"), twice, "{message}");
    }
}

#[test]
fn attributes_and_types_do_not_contain_themselves() {
    let mut artifact = Artifact::new();
    let next = artifact.attrs.len() as u64 + 1;
    let list = artifact.attr(BUILTIN, numbers(&[0, 1, next]));
    artifact.attr(VHLO, numbers(&[1, 1, list]));
    let message = error(&with_attr(artifact, list));
    assert!(message.starts_with("[bytecode]") && message.contains("contains itself"), "{message}");

    let mut artifact = Artifact::new();
    let next = artifact.types.len() as u64;
    let ty = artifact.ty(numbers(&[23, 2, next, next]));
    op(&mut artifact.body.0, TUPLE, RESULTS);
    artifact.body.0.extend(numbers(&[1, ty]));
    artifact.body.1 = 1;
    assert!(error(&artifact.bytes(1)).contains("contains itself"));
}

#[test]
fn nesting_is_bounded() {
    // Each list contains the previous one. The lists are decoded once from the innermost to the outermost,
    // and once from the outermost to the innermost.
    for inside_out in [true, false] {
        let mut artifact = Artifact::new();
        let lists: Vec<u64> = (0..5_000)
            .map(|i| artifact.attr(BUILTIN, numbers(&[0, 1, if i == 0 { 1 } else { i + 1 }])))
            .collect();
        let list = if inside_out {
            // This list contains all lists, innermost first, so decoding a list meets only one new level.
            let all: Vec<u64> = [0, lists.len() as u64].into_iter().chain(lists).collect();
            artifact.attr(BUILTIN, numbers(&all))
        } else {
            lists[lists.len() - 1]
        };
        let message = error(&with_attr(artifact, list));
        assert!(message.starts_with("[nesting]"), "{message}");
    }
}

#[test]
fn regions_nest_within_bounds() {
    let mut artifact = Artifact::new();
    for _ in 0..10_000 {
        op(&mut artifact.body.0, IF, REGIONS);
        artifact.body.0.extend(numbers(&[1 << 1, 1, 0, 1 << 1]));
    }
    assert!(error(&artifact.bytes(1)).starts_with("[nesting]"));
}

/// Values that a region declares but does not define must take neither memory nor time.
#[test]
fn values_that_are_not_there_cost_nothing() {
    let mut artifact = Artifact::new();
    let count = 50_000;
    for _ in 0..count {
        op(&mut artifact.body.0, IF, REGIONS);
        artifact.body.0.extend(numbers(&[1 << 1, 1, 100_000, 0]));
    }
    // Near the end of the file, too few bytes are left for the declared values.
    assert!(error(&artifact.bytes(count)).contains("do not fit"));
}

#[test]
fn deep_locations_are_cut() {
    let mut artifact = Artifact::new();
    let mut last = 0;
    for _ in 0..100_000 {
        last = artifact.attr(BUILTIN, numbers(&[10, last, last]));
        // Every location belongs to an operation, so that all are decoded, inner ones first.
        number(&mut artifact.body.0, RETURN);
        artifact.body.0.push(0);
        number(&mut artifact.body.0, last);
    }
    // The error is about the returns, so the locations were accepted.
    let message = error(&artifact.bytes(100_000));
    assert!(message.contains("nothing can follow the return"), "{message}");
}

#[test]
fn what_is_shared_is_not_copied_without_end() {
    // Each list contains the previous list twice: 2^28 elements in total.
    let mut artifact = Artifact::new();
    let mut list = artifact.attr(BUILTIN, numbers(&[7]));
    for _ in 0..28 {
        list = artifact.attr(BUILTIN, numbers(&[0, 2, list, list]));
    }
    let message = error(&with_attr(artifact, list));
    assert!(message.starts_with("[nesting]") && message.contains("are used more than"), "{message}");

    // Each tuple type contains the previous type twice.
    let mut artifact = Artifact::new();
    let mut ty = artifact.ty(numbers(&[22]));
    for _ in 0..28 {
        ty = artifact.ty(numbers(&[23, 2, ty, ty]));
    }
    op(&mut artifact.body.0, TUPLE, RESULTS);
    artifact.body.0.extend(numbers(&[1, ty]));
    artifact.body.1 = 1;
    assert!(error(&artifact.bytes(1)).starts_with("[nesting]"));

    // A long string in each of 200,000 attributes.
    let mut artifact = Artifact::new();
    let long = artifact.string(vec![b'a'; 1_000_000]);
    let names: Vec<u64> = (0..200_000).map(|_| artifact.attr(BUILTIN, numbers(&[2, long]))).collect();
    let all: Vec<u64> = [0, names.len() as u64].into_iter().chain(names).collect();
    let list = artifact.attr(BUILTIN, numbers(&all));
    assert!(error(&with_attr(artifact, list)).starts_with("[nesting]"));

    // A list of 100,000 splats of 4,000 elements each.
    let mut artifact = Artifact::new();
    let tensor = artifact.ty(numbers(&[20, 1, 2 * 4_000, 0]));
    let splats: Vec<u64> = (0..100_000)
        .map(|_| {
            let mut data = numbers(&[15, tensor, 4]);
            data.extend([0, 0, 0, 0]);
            artifact.attr(VHLO, data)
        })
        .collect();
    let all: Vec<u64> = [0, splats.len() as u64].into_iter().chain(splats).collect();
    let list = artifact.attr(BUILTIN, numbers(&all));
    assert!(error(&with_attr(artifact, list)).starts_with("[nesting]"));

    // An attribute whose text repeats the long text of another attribute 100,000 times.
    let mut artifact = Artifact::new();
    let long = artifact.string(vec![b'a'; 500_000]);
    let name = artifact.attr(VHLO, numbers(&[14, long]));
    let axis = artifact.attr(VHLO, numbers(&[22, name, 0]));
    let axes: Vec<u64> = [1, 100_000].into_iter().chain(std::iter::repeat_n(axis, 100_000)).collect();
    let axes = artifact.attr(VHLO, numbers(&axes));
    let groups = artifact.attr(VHLO, numbers(&[23, name, axes]));
    assert!(error(&with_attr(artifact, groups)).starts_with("[nesting]"));
}

/// One long name for very many parameters. Copies would take up to 100 GB, so the parameters share the name.
/// A name that is too long is dropped.
#[test]
fn names_of_parameters_are_shared() {
    const PARAMS: usize = 200_000;
    for (len, kept) in [(4_000, true), (500_000, false)] {
        let mut artifact = Artifact::new();
        let tensor = artifact.ty(numbers(&[20, 0, 0]));
        let name = artifact.string(vec![b'a'; len]);
        let name = artifact.attr(BUILTIN, numbers(&[2, name]));
        let location = artifact.attr(BUILTIN, numbers(&[14, name, 0]));
        artifact.params = vec![(tensor, location); PARAMS];
        let from_artifact = read(&artifact.bytes(0)).unwrap_or_else(|e| panic!("{e}"));
        let params: Vec<String> = (0..PARAMS).map(|i| format!("%{i}: tensor<f32> loc(#n)")).collect();
        let text =
            format!("#n = loc(\"{}\")\nfunc.func @main({}) {{ return }}", "a".repeat(len), params.join(", "));
        let from_text = farcall_ir::text::parse(&Source::new("hostile", text)).unwrap();
        for module in [from_artifact, from_text] {
            let main = module.func("main").unwrap();
            assert_eq!(main.params().len(), PARAMS);
            let names: Vec<_> = main.param_names.iter().flatten().collect();
            assert_eq!(names.len(), if kept { PARAMS } else { 0 });
            assert!(names.windows(2).all(|pair| Arc::ptr_eq(pair[0], pair[1])));
            let interface = Interface::of(main);
            assert!(interface.arguments.iter().map(|a| a.name.len()).sum::<usize>() < 20_000_000);
            assert_eq!(interface.arguments[0].name.len(), if kept { len } else { 4 });
            assert_eq!(interface.arguments[PARAMS - 1].name, "arg199999");
        }
    }
}

#[test]
fn constants_are_not_larger_than_memory() {
    for (dims, code) in [(&[1u64 << 62, 4][..], "[type]"), (&[1 << 40], "[bytecode]")] {
        let mut artifact = Artifact::new();
        let mut shape = numbers(&[20, dims.len() as u64]);
        dims.iter().for_each(|d| number(&mut shape, d * 2));
        number(&mut shape, 0);
        let tensor = artifact.ty(shape);
        let mut data = numbers(&[15, tensor, 8]);
        data.extend([0; 8]);
        let value = artifact.attr(VHLO, data);
        assert!(error(&with_attr(artifact, value)).starts_with(code));
    }
}

/// A FlatBuffer under construction. A table precedes the objects that it refers to.
struct Flat(Vec<u8>);

impl Flat {
    /// Adds a table of fields with these numbers, of four bytes each. Returns the position of the table, and
    /// the positions of the fields.
    fn table(&mut self, fields: &[u16]) -> (usize, Vec<usize>) {
        let count = fields.iter().max().map_or(0, |last| last + 1);
        let places = self.0.len();
        self.0.extend((4 + 2 * count).to_le_bytes());
        self.0.extend((4 + 4 * fields.len() as u16).to_le_bytes());
        for i in 0..count {
            let place = fields.iter().position(|f| *f == i).map_or(0, |at| 4 + 4 * at as u16);
            self.0.extend(place.to_le_bytes());
        }
        let at = self.0.len();
        self.0.extend(((at - places) as i32).to_le_bytes());
        self.0.extend(vec![0; 4 * fields.len()]);
        (at, (0..fields.len()).map(|i| at + 4 + 4 * i).collect())
    }

    fn set(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn link(&mut self, from: usize, to: usize) {
        self.set(from, (to - from) as u32);
    }

    /// Adds a list of `len` elements, which are encoded in `bytes`. Returns its position.
    fn list(&mut self, len: usize, bytes: &[u8]) -> usize {
        let at = self.0.len();
        self.0.extend((len as u32).to_le_bytes());
        self.0.extend(bytes);
        at
    }
}

/// An exported function without results. `avals` is the number of arrays among its arguments, and `kept`
/// lists the arguments that the program takes. `tree` writes the tree of the arguments, and links the
/// field at the given position to its root.
fn exported(avals: usize, kept: &[u16], tree: impl Fn(&mut Flat, usize)) -> Vec<u8> {
    let mut flat = Flat(vec![0; 4]);
    // The fields: the function's name; the tree and the types of the arguments; the tree of the results; the
    // program; the version of the calling convention; the kept arguments.
    let (root, fields) = flat.table(&[1, 2, 3, 4, 13, 14, 15]);
    flat.set(0, root as u32);
    flat.set(fields[5], 9);
    let name = flat.list(1, b"f");
    flat.link(fields[0], name);
    let program = flat.list(4, b"ML\xefR");
    flat.link(fields[4], program);
    let (none, kind) = flat.table(&[0]);
    flat.set(kind[0], 1);
    flat.link(fields[3], none);
    let kept_list = flat.list(kept.len(), &kept.iter().flat_map(|i| i.to_le_bytes()).collect::<Vec<u8>>());
    flat.link(fields[6], kept_list);
    let list = flat.list(avals, &vec![0; 4 * avals]);
    flat.link(fields[2], list);
    tree(&mut flat, fields[1]);
    let (aval, _) = flat.table(&[0]);
    (0..avals).for_each(|i| flat.link(list + 4 + 4 * i, aval));
    flat.0
}

/// Adds a tuple or a dictionary of `width` values, and links the fields at `from` to it. Returns the
/// positions of the links to the values.
fn node(flat: &mut Flat, from: &[usize], kind: u32, width: usize) -> Vec<usize> {
    let (node, parts) = flat.table(&[0, 1]);
    from.iter().for_each(|from| flat.link(*from, node));
    flat.set(parts[0], kind);
    let list = flat.list(width, &vec![0; 4 * width]);
    flat.link(parts[1], list);
    (0..width).map(|i| list + 4 + 4 * i).collect()
}

const TUPLE_NODE: u32 = 2;
const DICT_NODE: u32 = 4;

/// The tree of a call: a pair of a tuple and a dictionary without entries. The tuple contains `depth` nested
/// levels of tuples. Each level has `width` links, all to the next level.
fn nested_tuples(flat: &mut Flat, from: usize, depth: usize, width: usize) {
    let pair = node(flat, &[from], TUPLE_NODE, 2);
    node(flat, &pair[1..], DICT_NODE, 0);
    let mut from = vec![pair[0]];
    for _ in 0..depth {
        from = node(flat, &from, TUPLE_NODE, width);
    }
    let (leaf, _) = flat.table(&[0]);
    from.iter().for_each(|from| flat.link(*from, leaf));
}

fn read_exported(bytes: &[u8]) -> Result<usize, String> {
    Exported::read(bytes, "f").map(|e| e.in_tree.leaves()).map_err(|e| e.diagnostics[0].message.clone())
}

#[test]
fn trees_of_exported_functions_are_bounded() {
    let read = |depth, width, avals| {
        read_exported(&exported(avals, &[], |flat, from| nested_tuples(flat, from, depth, width)))
    };
    assert_eq!(read(3, 2, 8), Ok(8));
    assert_eq!(read(100, 1, 1), Ok(1));
    assert!(read(10_000, 1, 1).unwrap_err().contains("nests more than"));
    assert!(read(60, 2, 0).unwrap_err().contains("are used too often"));
}

#[test]
fn parts_of_exported_functions_fit_together() {
    let flat_call = |flat: &mut Flat, from| nested_tuples(flat, from, 1, 3);
    let error = |bytes: &[u8]| {
        let message = read_exported(bytes).unwrap_err();
        message.split_once("in an exported function: ").unwrap().1.to_owned()
    };
    assert_eq!(read_exported(&exported(3, &[0, 2], flat_call)), Ok(3));
    let count = "the tree of the arguments has 3 arrays, but there are 2 types";
    assert_eq!(error(&exported(2, &[], flat_call)), count);
    assert_eq!(error(&exported(3, &[3], flat_call)), "the program takes argument 3, but there are 3");
    for kept in [[1, 0], [1, 1]] {
        let order =
            format!("argument 1 precedes {} in the list of arguments that the program takes", kept[1]);
        assert_eq!(error(&exported(3, &kept, flat_call)), order);
    }
    let pair = |flat: &mut Flat, from| {
        let leaves = node(flat, &[from], TUPLE_NODE, 3);
        let (leaf, _) = flat.table(&[0]);
        leaves.iter().for_each(|from| flat.link(*from, leaf));
    };
    let shape = "the tree of the arguments is not a pair of a tuple and a dictionary";
    assert_eq!(error(&exported(3, &[], pair)), shape);
}
