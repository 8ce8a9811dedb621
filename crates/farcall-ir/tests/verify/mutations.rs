//! Whatever is done to a program, it is accepted or rejected: nothing panics.

use std::path::Path;

use farcall_ir::diag::Source;
use farcall_ir::module::Region;
use farcall_ir::{Func, Inst, Module, infer, refine, text, verify};

use crate::{SPLIT, program};

/// The programs of this folder, those with mistakes included.
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

/// The verifier's verdict; a valid program's types can be inferred again.
fn check(module: &Module) -> bool {
    let valid = verify::verify(module).is_ok();
    if valid {
        let _ = verify::require_static(module);
        // What is refined is static.
        if let Some(Ok(refined)) = module.entry().map(|entry| refine::refine(module, entry, None, &[])) {
            let values = refined.funcs.iter().flat_map(|f| f.values().map(|v| f.ty(v)));
            assert!(values.filter_map(|ty| ty.tensor()).all(|t| t.is_static()), "{}", text::print(&refined));
        }
        for func in &module.funcs {
            func.walk(&mut |inst| {
                infer::result_types(func, inst).unwrap_or_else(|e| panic!("{}: {e:?}", inst.op.name()));
            });
        }
    }
    valid
}

/// Where numbers stand in a text: in attributes, in types, in names.
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
    assert!(valid > 1_000 && invalid > 10_000, "{valid} valid, {invalid} invalid");
}

/// Instruction number `n` of a region and those nested in it.
fn nth<'r>(region: &'r mut Region, n: &mut usize) -> Option<&'r mut Inst> {
    for inst in &mut region.insts {
        if *n == 0 {
            return Some(inst);
        }
        *n -= 1;
        for nested in &mut inst.regions {
            if let Some(found) = nth(nested, n) {
                return Some(found);
            }
        }
    }
    None
}

#[test]
fn other_structure() {
    // What can be done to an instruction, given the values there are.
    let changes: [fn(&mut Inst, &Func); 10] = [
        |i, _| i.operands.truncate(i.operands.len().saturating_sub(1)),
        |i, f| i.operands.extend(f.values().next()),
        |i, f| i.operands.iter_mut().for_each(|o| *o = f.values().next().unwrap()),
        |i, f| i.operands.iter_mut().for_each(|o| *o = f.values().last().unwrap()),
        |i, _| i.operands.reverse(),
        |i, _| i.results.clear(),
        |i, _| drop(i.regions.pop()),
        |i, _| i.regions.reverse(),
        |i, _| i.regions.iter_mut().for_each(|r| r.args.clear()),
        |i, _| i.regions.iter_mut().for_each(|r| r.insts.clear()),
    ];
    let mut invalid = 0;
    for module in programs().iter().filter_map(|p| parse(p)) {
        for (f, func) in module.funcs.iter().enumerate() {
            let mut count = 0;
            func.walk(&mut |_| count += 1);
            for n in 0..count {
                for change in changes {
                    let mut changed = module.clone();
                    let inst = nth(&mut changed.funcs[f].body, &mut { n }).unwrap();
                    change(inst, func);
                    invalid += usize::from(!check(&changed));
                }
            }
        }
    }
    assert!(invalid > 1_000, "{invalid} invalid");
}
