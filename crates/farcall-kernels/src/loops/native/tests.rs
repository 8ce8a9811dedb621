//! Compares the results of generated code with those of prebuilt loops, bit by bit.

use farcall_ir::op::{Binary, Compare, ComparisonDirection, FormOp, Unary};
use farcall_ir::{DType, Op, TensorType};

use super::super::line::Line;
use super::super::linked::{Linked, Runner};
use super::super::straight_line::Linking;
use crate::body::{Body, BodyInst};
use crate::{Args, Place, Request, find};

const NUMBERS: [DType; 6] = [DType::F32, DType::F64, DType::S32, DType::U32, DType::S64, DType::U64];

/// Element counts that need vectors of every size.
const COUNTS: [usize; 6] = [1, 3, 4, 7, 12, 45];

/// A runner that allows this number of iterations.
struct Iterations(u64);

impl Runner for Iterations {
    type Error = u64;

    fn request_iterations(&mut self, most: u64) -> Result<u64, u64> {
        let granted = self.0.min(most);
        self.0 -= granted;
        if granted == 0 { Err(self.0) } else { Ok(granted) }
    }

    fn return_iterations(&mut self, count: u64) {
        self.0 += count;
    }

    fn kernel(&mut self) -> Result<(), u64> {
        Ok(())
    }
}

/// Returns random and special elements of a type.
fn elements(ty: &TensorType, seed: &mut u64) -> Vec<u8> {
    let mut next = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 24
    };
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 3.5];
    let one = |x: u64| -> Vec<u8> {
        let (special, number) = (special[x as usize % special.len()], (x >> 8) as i32);
        let float = if x & 3 == 0 { special } else { f64::from(number) / 1e6 };
        let integer = if x & 3 == 0 { i64::from(number % 70) } else { (x as i64) << (x % 40) };
        match ty.dtype {
            DType::Pred => vec![(x & 1) as u8],
            DType::F32 => (float as f32).to_ne_bytes().to_vec(),
            DType::F64 => float.to_ne_bytes().to_vec(),
            dtype => integer.to_ne_bytes()[..dtype.size()].to_vec(),
        }
    };
    (0..ty.elements().unwrap()).flat_map(|_| one(next())).collect()
}

/// Returns the bytes of an operation's result, computed by the loops of its kernel, and by a line with a
/// jump. `None` if the kernel has no straight-line program.
fn both(op: &Op, bodies: &[Body], inputs: &[TensorType], to: &TensorType, seed: u64) -> Option<[Vec<u8>; 2]> {
    let types: Vec<&TensorType> = inputs.iter().collect();
    let (_, prepared) = find(&Request { op, bodies, inputs: &types, outputs: &[to], iotas: &[] })?;
    let line = prepared.line()?;
    let results = [false, true].map(|native| {
        let mut seed = seed;
        let mut memory: Vec<Vec<u8>> = inputs.iter().map(|ty| elements(ty, &mut seed)).collect();
        memory.push(vec![0; to.bytes().unwrap()]);
        memory.push(vec![0; line.constant_bytes().max(1)]);
        memory.push(vec![0; line.registers().max(1)]);
        line.write_constants(&mut memory[inputs.len() + 1]);
        // Memory of `u128` is aligned for all element types.
        let mut aligned: Vec<Vec<u128>> = memory.iter().map(|m| vec![0; m.len().div_ceil(16)]).collect();
        for (to, from) in aligned.iter_mut().zip(&memory) {
            // SAFETY: `aligned` has at least as many bytes as `memory`.
            unsafe { to.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        }
        let bases: Vec<*mut u8> = aligned.iter_mut().map(|m| m.as_mut_ptr().cast()).collect();
        let place = |base: usize| Place { base, offset: 0, size: memory[base].len() };
        let places: Vec<Place> = (0..=inputs.len()).map(place).collect();
        let (constants, registers) = (place(inputs.len() + 1), place(inputs.len() + 2));
        if native {
            let (mut steps, mut list) = (Vec::new(), Vec::new());
            let linking = Linking { places: &places, inputs: inputs.len(), constants, registers };
            Linked::program(line, &linking, &mut steps).unwrap();
            Linked::choose(registers, DType::S32, vec![steps], &mut list).unwrap();
            // SAFETY: the places belong to the operation, and are disjoint.
            unsafe { Line::new(list).run(&bases, &mut Iterations(0)) }.unwrap();
        } else {
            // SAFETY: the places belong to the operation, and are disjoint.
            unsafe { prepared.run_here(&Args::new(&places, inputs.len(), &bases)) };
        }
        let bytes: &[u8] = bytes_of(&aligned[inputs.len()]);
        bytes[..to.bytes().unwrap()].to_vec()
    });
    Some(results)
}

fn bytes_of(words: &[u128]) -> &[u8] {
    // SAFETY: the result covers the memory of `words`, and any byte is a valid `u8`.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Returns the elements with one bit pattern for all NaNs, whose bits may differ.
fn settled(bytes: &[u8], dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F32 => {
            let each = bytes.chunks_exact(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap()));
            each.flat_map(|x| if x.is_nan() { f32::NAN } else { x }.to_ne_bytes()).collect()
        }
        DType::F64 => {
            let each = bytes.chunks_exact(8).map(|x| f64::from_ne_bytes(x.try_into().unwrap()));
            each.flat_map(|x| if x.is_nan() { f64::NAN } else { x }.to_ne_bytes()).collect()
        }
        _ => bytes.to_vec(),
    }
}

fn check(op: &Op, bodies: &[Body], inputs: &[DType], to: DType) -> usize {
    let mut checked = 0;
    for n in COUNTS {
        let types: Vec<TensorType> = inputs.iter().map(|d| TensorType::new(*d, vec![n])).collect();
        let y = TensorType::new(to, vec![n]);
        let Some([a, b]) = both(op, bodies, &types, &y, n as u64) else { continue };
        assert_eq!(settled(&a, to), settled(&b, to), "results of {op:?} {bodies:?} on {types:?}");
        checked += 1;
    }
    checked
}

#[test]
fn operations() {
    let mut checked = 0;
    for dtype in NUMBERS.into_iter().chain([DType::Pred]) {
        for op in Binary::VARIANTS {
            checked += check(&Op::Binary(op), &[], &[dtype; 2], dtype);
        }
        for op in Unary::VARIANTS {
            checked += check(&Op::Unary(op), &[], &[dtype], dtype);
        }
        for direction in ComparisonDirection::VARIANTS {
            let compare = Op::Compare(Compare { direction, kind: None });
            checked += check(&compare, &[], &[dtype; 2], DType::Pred);
        }
        checked += check(&Op::Select, &[], &[DType::Pred, dtype, dtype], dtype);
        for from in NUMBERS.into_iter().chain([DType::Pred]) {
            checked += check(&Op::Convert, &[], &[from], dtype);
        }
    }
    assert!(checked > 1000, "only {checked} results were compared");
}

#[test]
fn pairs_of_operations() {
    use Binary::{Add, Multiply, Or, ShiftRightLogical, Subtract, Xor};
    let all = [Add, Multiply, Or, ShiftRightLogical, Subtract, Xor];
    let mut checked = 0;
    for (dtype, first, second) in
        NUMBERS.into_iter().flat_map(|d| all.into_iter().flat_map(move |f| all.map(|s| (d, f, s))))
    {
        for swapped in [false, true] {
            for n in COUNTS {
                let ty = TensorType::new(dtype, vec![n]);
                let inst = |op, operands: [usize; 2]| BodyInst {
                    op: Op::Binary(op),
                    operands: operands.to_vec(),
                    ty: ty.clone(),
                    reducer: None,
                };
                let last = if swapped { [2, 3] } else { [3, 2] };
                let insts = vec![inst(first, [0, 1]), inst(second, last)];
                let body = Body { args: vec![ty.clone(); 3], insts, returned: vec![4] };
                let inputs = [ty.clone(), ty.clone(), ty.clone()];
                let Some([a, b]) = both(&Op::Form(FormOp::Fusion), &[body], &inputs, &ty, n as u64) else {
                    continue;
                };
                assert_eq!(
                    settled(&a, dtype),
                    settled(&b, dtype),
                    "results of {first:?} and {second:?} on {ty:?} (swapped: {swapped})"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 500, "only {checked} results were compared");
}

/// Counts up to a number in a loop for which the runner allows `turns` iterations. Returns the count, and the
/// number of iterations left: `Err` if the runner ended the loop early.
fn counted(to: i64, turns: u64) -> (i64, Result<u64, u64>) {
    let ty = TensorType::scalar(DType::S64);
    let less = Op::Compare(Compare { direction: ComparisonDirection::Lt, kind: None });
    let (mut numbers, mut pred) = ([0i64, to, 1], 0u8);
    let mut bases: Vec<*mut u8> = numbers.iter_mut().map(|x| std::ptr::from_mut(x).cast()).collect();
    bases.push(&raw mut pred);
    let place = |base: usize, size: usize| Place { base, offset: 0, size };
    let steps = |op: &Op, y: &TensorType, places: [Place; 3]| {
        let (_, prepared) =
            find(&Request { op, bodies: &[], inputs: &[&ty, &ty], outputs: &[y], iotas: &[] }).unwrap();
        let (mut list, none) = (Vec::new(), place(0, 0));
        let linking = Linking { places: &places, inputs: 2, constants: none, registers: none };
        Linked::program(prepared.line().unwrap(), &linking, &mut list).unwrap();
        list
    };
    let [count, end, one, is_less] = [place(0, 8), place(1, 8), place(2, 8), place(3, 1)];
    let condition = steps(&less, &TensorType::scalar(DType::Pred), [count, end, is_less]);
    let body = steps(&Op::Binary(Binary::Add), &ty, [count, one, count]);
    let (mut list, mut runner) = (Vec::new(), Iterations(turns));
    Linked::repeat(is_less, condition, body, &mut list).unwrap();
    // SAFETY: the places belong to the operations.
    let ran = unsafe { Line::new(list).run(&bases, &mut runner) };
    (numbers[0], ran.map(|()| runner.0))
}

#[test]
fn loops_begin_the_turns_that_they_may() {
    assert_eq!(counted(1000, 1000), (1000, Ok(0)));
    assert_eq!(counted(1000, 1001), (1000, Ok(1)));
    assert_eq!(counted(0, 5), (0, Ok(5)));
    assert_eq!(counted(130, u64::MAX), (130, Ok(u64::MAX - 130)));
    assert_eq!(counted(1000, 999), (999, Err(0)));
    assert_eq!(counted(1000, 0), (0, Err(0)));
}
