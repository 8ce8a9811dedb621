//! Mutated programs are accepted or rejected, but never cause a panic.

use std::path::Path;

use farcall_ir::diag::Source;
use farcall_ir::{Func, InstId, Module, NewInst, Type, ValueId, infer, refine, text, verify};

use super::{SPLIT, program};

/// The programs in `tests/verify`, including invalid ones.
fn programs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "mlir") {
            let text = std::fs::read_to_string(path).unwrap();
            found.extend(text.split(SPLIT).map(|s| program(s).to_owned()));
        }
    }
    found.sort();
    found
}

fn parse(program: &str) -> Option<Module> {
    text::parse(&Source::new("test.mlir", program)).ok()
}

/// Runs the verifier. If the program is valid, checks that its types can be inferred again, and returns true.
fn check(module: &Module) -> bool {
    let verified = verify::verify(module);
    let valid = verified.is_ok();
    if let Ok(verified) = verified {
        let _ = verified.borrowed().into_static();
        // A refined program must have static types.
        if let Some(Ok(refined)) = verified.entry().map(|entry| refine::refine(&verified, entry, None, &[])) {
            let values = refined.funcs().iter().flat_map(|f| f.values().map(|v| f.ty(v)));
            assert!(values.filter_map(|ty| ty.tensor()).all(|t| t.is_static()), "{}", text::print(&refined));
        }
        for func in module.funcs() {
            func.walk(&mut |inst| {
                infer::result_types(inst).unwrap_or_else(|e| panic!("{}: {e:?}", inst.op().name()));
            });
        }
    }
    valid
}

/// The byte ranges of all numbers in the text, even those in names.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, c) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        match found.last_mut() {
            Some(last) if last.end == i => last.end = i + c.len_utf8(),
            _ => found.push(i..i + c.len_utf8()),
        }
    }
    found
}

#[test]
fn other_numbers() {
    let (mut valid, mut invalid) = (0, 0);
    for program in programs() {
        for range in numbers(&program) {
            for number in ["0", "1", "3", "9223372036854775807", "-1"] {
                let mut changed = program.clone();
                changed.replace_range(range.clone(), number);
                if let Some(module) = parse(&changed) {
                    *(if check(&module) { &mut valid } else { &mut invalid }) += 1;
                }
            }
        }
    }
    assert!(
        valid > 1_000 && invalid > 10_000,
        "of the mutated programs, only {valid} are valid and {invalid} invalid"
    );
}

/// Replaces an instruction by a copy with these result types and with `regions` empty regions.
fn replace(func: &mut Func, inst: InstId, regions: usize, results: Vec<Type>) {
    let old = func.inst(inst);
    let new =
        NewInst { attrs: old.attrs().clone(), ..NewInst::new(old.op().clone(), old.operands().to_vec()) };
    let new = new.at(old.span(), None);
    let regions = (0..regions).map(|_| func.new_region()).collect::<Vec<_>>();
    let new = func.new_inst(new.with_regions(regions), results);
    func.insert_before(new, inst);
    func.detach(inst);
}

fn results(func: &Func, inst: InstId) -> Vec<Type> {
    func.inst(inst).results().iter().map(|v| func.ty(*v).clone()).collect()
}

#[test]
fn other_structure() {
    type Change = dyn Fn(&mut Func, InstId);
    let changes: [&Change; 10] = [
        &|f, i| {
            f.operands_mut(i).pop();
        },
        &|f, i| f.operands_mut(i).push(ValueId::new(0)),
        &|f, i| f.operands_mut(i).fill(ValueId::new(0)),
        &|f, i| {
            let last = ValueId::new(f.value_count() - 1);
            f.operands_mut(i).fill(last);
        },
        &|f, i| f.operands_mut(i).reverse(),
        &|f, i| f.detach(i),
        &|f, i| {
            let regions = f.inst(i).region_ids().len();
            replace(f, i, regions, Vec::new());
        },
        &|f, i| {
            let (regions, results) = (f.inst(i).region_ids().len(), results(f, i));
            replace(f, i, regions, results);
        },
        &|f, i| {
            let results = results(f, i);
            replace(f, i, 0, results);
        },
        &|f, i| {
            let inner: Vec<InstId> = f.inst(i).regions().flat_map(|r| r.insts()).map(|i| i.id()).collect();
            inner.into_iter().for_each(|i| f.detach(i));
        },
    ];
    let mut invalid = 0;
    for module in programs().iter().filter_map(|p| parse(p)) {
        for (id, func) in module.func_ids().zip(module.funcs()).filter(|(_, f)| f.value_count() > 0) {
            let mut insts = Vec::new();
            func.walk(&mut |inst| insts.push(inst.id()));
            for inst in insts {
                for change in changes {
                    let mut changed = module.clone();
                    change(changed.func_mut(id), inst);
                    invalid += usize::from(!check(&changed));
                }
            }
        }
    }
    assert!(invalid > 1_000, "only {invalid} of the changed programs are invalid");
}
