//! Runs kernels in PTX on the CPU, one block after the other.
//!
//! A thread runs until it needs the other threads of its warp or its block. Each access to memory is checked:
//! it must be aligned and inside of one allocation. An instruction that no kernel of the tests uses panics,
//! with a message that names the instruction.

use half::{bf16, f16};

use crate::ptx::{Instruction, Operand, PtxEntry, PtxType, Special};

const WARP: usize = 32;

/// Generic address of the first byte of shared memory.
const SHARED: u64 = 1 << 60;

/// Maximum number of operands of an instruction of arithmetic, without the result.
const MAX_SOURCES: usize = 4;

/// Distance between allocations.
const GAP_BYTES: u64 = 4096;

/// Memory of the device.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    /// Allocations with their addresses, in ascending order.
    allocations: Vec<(u64, Vec<u8>)>,
    /// End of the last allocation.
    end: u64,
}

impl Memory {
    /// Allocates memory with these contents, and returns its address, a multiple of 256.
    pub(crate) fn allocate(&mut self, bytes: Vec<u8>) -> u64 {
        let at = self.end.next_multiple_of(256) + GAP_BYTES;
        self.end = at + bytes.len() as u64;
        self.allocations.push((at, bytes));
        at
    }

    /// Frees the allocation at an address. Returns false if no allocation starts there.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let found = self.allocations.iter().position(|(at, _)| *at == address);
        found.map(|i| self.allocations.remove(i)).is_some()
    }

    /// Returns the bytes at an address.
    ///
    /// # Panics
    /// If they are not all inside of one allocation.
    pub(crate) fn bytes(&mut self, address: u64, size: usize) -> &mut [u8] {
        let i = self.allocations.partition_point(|(at, _)| *at <= address);
        let found = i.checked_sub(1).map(|i| &mut self.allocations[i]);
        let inside = found.and_then(|(at, bytes)| bytes.get_mut((address - *at) as usize..)?.get_mut(..size));
        inside.unwrap_or_else(|| panic!("{size} bytes at {address:#x} are outside of all allocations"))
    }
}

/// The size of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// Number of blocks along each axis.
    pub(crate) grid: [u32; 3],
    /// Number of threads of a block along each axis.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: usize,
}

/// Runs a kernel. `args` are the bits of the arguments.
///
/// # Panics
/// If the kernel accesses memory outside of the allocations, if the threads of a warp are not together where
/// they must be, or if an instruction is not known.
pub(crate) fn run(entry: &PtxEntry, launch: Launch, args: &[u64], memory: &mut Memory) {
    assert_eq!(args.len(), entry.params.len(), "{}: arguments", entry.name);
    let [x, y, z] = launch.grid;
    for i in 0..x * y * z {
        let block = [i % x, i / x % y, i / x / y];
        Block::new(entry, launch, args, memory, block).run();
    }
}

struct Block<'a> {
    entry: &'a PtxEntry,
    launch: Launch,
    args: &'a [u64],
    memory: &'a mut Memory,
    shared: Vec<u8>,
    index: [u32; 3],
    threads: Vec<Thread>,
}

struct Thread {
    index: [u32; 3],
    registers: Vec<u64>,
    /// Index of the next instruction.
    at: usize,
    state: ThreadState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadState {
    Running,
    /// At an instruction of the whole warp.
    AtWarp,
    /// At a barrier of the block.
    AtBlock,
    Done,
}

impl<'a> Block<'a> {
    fn new(
        entry: &'a PtxEntry,
        launch: Launch,
        args: &'a [u64],
        memory: &'a mut Memory,
        index: [u32; 3],
    ) -> Block<'a> {
        let [x, y, z] = launch.block;
        let thread = |i: u32| Thread {
            index: [i % x, i / x % y, i / x / y],
            registers: vec![0xdead_beef_dead_beef; entry.registers],
            at: 0,
            state: ThreadState::Running,
        };
        // Neither registers nor shared memory are zero at first.
        let shared = vec![0xa5; entry.shared_bytes + launch.shared_bytes];
        Block { entry, launch, args, memory, shared, index, threads: (0..x * y * z).map(thread).collect() }
    }

    fn run(&mut self) {
        loop {
            let mut progress = false;
            for warp in (0..self.threads.len()).step_by(WARP) {
                let lanes = warp..self.threads.len().min(warp + WARP);
                for lane in lanes.clone() {
                    progress |= self.threads[lane].state == ThreadState::Running;
                    while self.threads[lane].state == ThreadState::Running {
                        self.step(lane);
                    }
                }
                let live: Vec<usize> =
                    lanes.filter(|lane| self.threads[*lane].state != ThreadState::Done).collect();
                if live.iter().any(|lane| self.threads[*lane].state == ThreadState::AtWarp) {
                    let at = self.threads[live[0]].at;
                    let together = live.len() == WARP && live.iter().all(|lane| self.threads[*lane].at == at);
                    let text = &self.entry.code[at].text;
                    assert!(together, "{}: only some threads of a warp are at {text}", self.entry.name);
                    self.step_warp(warp, at);
                    progress = true;
                }
            }
            let live = || self.threads.iter().filter(|thread| thread.state != ThreadState::Done);
            if live().next().is_none() {
                return;
            }
            if live().all(|thread| thread.state == ThreadState::AtBlock) {
                for thread in self.threads.iter_mut().filter(|thread| thread.state == ThreadState::AtBlock) {
                    thread.state = ThreadState::Running;
                    thread.at += 1;
                }
                progress = true;
            }
            assert!(progress, "{}: the threads of a block wait forever", self.entry.name);
        }
    }

    /// Returns the bits of an operand.
    fn value(&self, lane: usize, operand: &Operand) -> u64 {
        let thread = &self.threads[lane];
        match operand {
            Operand::Register(register) => thread.registers[*register],
            Operand::Integer(bits) | Operand::Float(bits) | Operand::Shared(bits) => *bits,
            Operand::Special(special, axis) => u64::from(match special {
                Special::Thread => thread.index[*axis],
                Special::ThreadsOfBlock => self.launch.block[*axis],
                Special::Block => self.index[*axis],
                Special::BlocksOfGrid => self.launch.grid[*axis],
            }),
            Operand::Address(base, offset) => self.value(lane, base).wrapping_add_signed(*offset),
            other => panic!("{other:?} has no value"),
        }
    }

    fn set(&mut self, lane: usize, operand: &Operand, ty: PtxType, value: u64) {
        let mask = if ty.bits() == 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        match operand {
            Operand::Register(register) => self.threads[lane].registers[*register] = value & mask,
            Operand::Unused => {}
            other => panic!("{other:?} cannot be written"),
        }
    }

    fn read(&mut self, address: u64, space: &str, bytes: usize) -> u64 {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(self.memory_at(address, space, bytes));
        u64::from_le_bytes(value)
    }

    fn write(&mut self, address: u64, space: &str, bytes: usize, value: u64) {
        self.memory_at(address, space, bytes).copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    fn memory_at(&mut self, address: u64, space: &str, bytes: usize) -> &mut [u8] {
        let shared = match space {
            "shared" => Some(address),
            "global" => None,
            _ => address.checked_sub(SHARED),
        };
        match shared {
            Some(at) => {
                self.shared.get_mut(at as usize..).and_then(|rest| rest.get_mut(..bytes)).unwrap_or_else(
                    || panic!("{}: {bytes} bytes at {at:#x} are outside of shared memory", self.entry.name),
                )
            }
            None => self.memory.bytes(address, bytes),
        }
    }

    /// Runs one instruction of a thread, unless it needs other threads.
    fn step(&mut self, lane: usize) {
        let entry = self.entry;
        let Some(instruction) = entry.code.get(self.threads[lane].at) else {
            self.threads[lane].state = ThreadState::Done;
            return;
        };
        let passes = |thread: &Thread| {
            instruction
                .guard
                .is_none_or(|(register, negated)| (thread.registers[register] & 1 == 0) == negated)
        };
        if passes(&self.threads[lane]) {
            let name = instruction.name.as_slice();
            match name[0].as_str() {
                "ret" | "exit" => {
                    self.threads[lane].state = ThreadState::Done;
                    return;
                }
                "bra" => {
                    let Operand::Label(label) = instruction.operands[0] else {
                        panic!("{}", instruction.text)
                    };
                    self.threads[lane].at = label;
                    return;
                }
                "bar" | "barrier" if name[1] == "sync" => {
                    self.threads[lane].state = ThreadState::AtBlock;
                    return;
                }
                "shfl" | "mma" | "ldmatrix" | "bar" => {
                    self.threads[lane].state = ThreadState::AtWarp;
                    return;
                }
                _ => self.execute(lane, instruction, name),
            }
        }
        self.threads[lane].at += 1;
    }

    fn execute(&mut self, lane: usize, instruction: &Instruction, name: &[String]) {
        let Instruction { types, operands, text, .. } = instruction;
        let ty = types.last().copied().unwrap_or(PtxType::Unsigned(64));
        let has = |word: &str| name.iter().any(|part| part == word);
        match name[0].as_str() {
            "ld" if name[1] == "param" => {
                let Operand::Address(base, offset) = &operands[1] else { panic!("{text}") };
                let Operand::Param(i) = **base else { panic!("{text}") };
                assert_eq!((ty.bits(), *offset), (self.entry.params[i].bits(), 0), "{text}");
                self.set(lane, &operands[0], ty, self.args[i]);
            }
            "ld" | "st" => {
                let (memory, values) = if name[0] == "ld" { (1, 0) } else { (0, 1) };
                let address = self.value(lane, &operands[memory]);
                let space = name.iter().find(|word| ["shared", "global"].contains(&word.as_str()));
                let space = space.map_or("", String::as_str);
                let parts = match &operands[values] {
                    Operand::Vector(parts) => parts.as_slice(),
                    single => std::slice::from_ref(single),
                };
                let bytes = ty.bits() as usize / 8;
                assert!(address.is_multiple_of((bytes * parts.len()) as u64), "{address:#x} in {text}");
                for (i, part) in parts.iter().enumerate() {
                    let address = address + (i * bytes) as u64;
                    if name[0] == "ld" {
                        let value = self.read(address, space, bytes);
                        self.set(lane, part, ty, extended(ty, value));
                    } else {
                        let value = self.value(lane, part);
                        self.write(address, space, bytes, value);
                    }
                }
            }
            "atom" | "red" => {
                assert!(has("add"), "{text}");
                let [result, address, addend] = match operands.as_slice() {
                    [address, addend] => [&Operand::Unused, address, addend],
                    [result, address, addend] => [result, address, addend],
                    _ => panic!("{text}"),
                };
                let address = self.value(lane, address);
                let bytes = ty.bits() as usize / 8;
                let before = self.read(address, "global", bytes);
                let sum = binary("add", name, ty, before, self.value(lane, addend), text);
                self.write(address, "global", bytes, sum);
                self.set(lane, result, ty, before);
            }
            "cp" => {
                // The copies happen at once, so there is nothing to wait for.
                if has("wait_all") || has("commit_group") || has("wait_group") {
                    return;
                }
                let [to, from] = [0, 1].map(|i| self.value(lane, &operands[i]));
                let Operand::Integer(size) = operands[2] else { panic!("{text}") };
                let read = operands.get(3).map_or(size, |operand| self.value(lane, operand) & 0xffff_ffff);
                assert!(to.is_multiple_of(size) && from.is_multiple_of(size) && read <= size, "{text}");
                for i in 0..size {
                    let byte = if i < read { self.read(from + i, "global", 1) } else { 0 };
                    self.write(to + i, "shared", 1, byte);
                }
            }
            "cvta" => {
                let value = self.value(lane, &operands[1]);
                let moved = match (has("to"), has("shared")) {
                    (_, false) => value,
                    (true, true) => value - SHARED,
                    (false, true) => value + SHARED,
                };
                self.set(lane, &operands[0], PtxType::Unsigned(64), moved);
            }
            "mov" => self.move_value(lane, ty, operands),
            "setp" => self.compare(lane, instruction, name),
            "selp" => {
                let chosen = if self.value(lane, &operands[3]) & 1 == 1 { 1 } else { 2 };
                let value = self.value(lane, &operands[chosen]);
                self.set(lane, &operands[0], ty, value);
            }
            "cvt" => self.convert(lane, instruction, name),
            _ => {
                let (result, sources) =
                    operands.split_first().expect("an instruction of arithmetic has a result");
                let mut values = [0; MAX_SOURCES];
                let values = &mut values[..sources.len()];
                for (value, source) in values.iter_mut().zip(sources) {
                    *value = self.value(lane, source);
                }
                let (result_type, value) = compute(name, ty, values, text);
                self.set(lane, result, result_type, value);
            }
        }
    }

    /// Moves a value. A list of registers holds the parts of a value, the lowest bits first.
    fn move_value(&mut self, lane: usize, ty: PtxType, operands: &[Operand]) {
        match (&operands[0], &operands[1]) {
            (Operand::Vector(parts), source) => {
                let (value, bits) = (self.value(lane, source), ty.bits() / parts.len() as u32);
                for (i, part) in parts.iter().enumerate() {
                    self.set(lane, part, PtxType::Unsigned(bits), value >> (bits * i as u32));
                }
            }
            (result, Operand::Vector(parts)) => {
                let bits = ty.bits() / parts.len() as u32;
                let shifted = |(i, part)| (self.value(lane, part) & ((1 << bits) - 1)) << (bits * i as u32);
                let value = parts.iter().enumerate().map(shifted).fold(0, |all, part| all | part);
                self.set(lane, result, ty, value);
            }
            (result, source) => {
                let value = self.value(lane, source);
                self.set(lane, result, ty, value);
            }
        }
    }

    fn compare(&mut self, lane: usize, instruction: &Instruction, name: &[String]) {
        let Instruction { types, operands, text, .. } = instruction;
        let ty = types[0];
        let [a, b] = [1, 2].map(|i| self.value(lane, &operands[i]));
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = if ty.is_float() {
            float(ty, a).partial_cmp(&float(ty, b))
        } else if matches!(ty, PtxType::Signed(_)) {
            Some((signed(ty, a)).cmp(&signed(ty, b)))
        } else {
            Some(unsigned(ty, a).cmp(&unsigned(ty, b)))
        };
        let is = match name[1].as_str() {
            "eq" => order == Some(Equal),
            "ne" => order.is_some_and(|order| order != Equal),
            "lt" | "lo" => order == Some(Less),
            "le" | "ls" => matches!(order, Some(Less | Equal)),
            "gt" | "hi" => order == Some(Greater),
            "ge" | "hs" => matches!(order, Some(Greater | Equal)),
            "neu" => order != Some(Equal),
            "ltu" => matches!(order, None | Some(Less)),
            "leu" => order != Some(Greater),
            "gtu" => matches!(order, None | Some(Greater)),
            "geu" => order != Some(Less),
            "nan" => order.is_none(),
            "num" => order.is_some(),
            _ => panic!("{text}"),
        };
        let other = operands.get(3).map(|operand| self.value(lane, operand) & 1 == 1);
        let is = match (name.get(2).map(String::as_str), other) {
            (Some("and"), Some(other)) => is && other,
            (Some("or"), Some(other)) => is || other,
            (Some("xor"), Some(other)) => is != other,
            (None | Some("ftz"), None) => is,
            _ => panic!("{text}"),
        };
        self.set(lane, &operands[0], PtxType::Pred, u64::from(is));
    }

    fn convert(&mut self, lane: usize, instruction: &Instruction, name: &[String]) {
        let Instruction { types, operands, text, .. } = instruction;
        let (to, from) = (types[0], types[1]);
        let value = self.value(lane, &operands[1]);
        let converted = match (to, from) {
            (PtxType::F16x2 | PtxType::Bf16x2, PtxType::F32) => {
                let part = if to == PtxType::F16x2 { PtxType::F16 } else { PtxType::Bf16 };
                let low = self.value(lane, &operands[2]);
                rounded(part, float(from, value)) << 16 | rounded(part, float(from, low))
            }
            (to, from) if to.is_float() && from.is_float() => {
                let x = float(from, value);
                rounded(to, if name.iter().any(|part| part == "sat") { x.clamp(0.0, 1.0) } else { x })
            }
            (to, PtxType::Signed(_)) if to.is_float() => from_integer(to, signed(from, value).into()),
            (to, from) if to.is_float() => from_integer(to, unsigned(from, value).into()),
            (PtxType::Signed(_) | PtxType::Unsigned(_), from) if from.is_float() => {
                let x = float(from, value);
                let x = match name[1].as_str() {
                    "rzi" => x.trunc(),
                    "rni" => x.round_ties_even(),
                    "rmi" => x.floor(),
                    "rpi" => x.ceil(),
                    _ => panic!("{text}"),
                };
                if matches!(to, PtxType::Signed(_)) { (x as i64) as u64 } else { x as u64 }
            }
            (_, PtxType::Signed(_)) => signed(from, value) as u64,
            (_, _) => unsigned(from, value),
        };
        self.set(lane, &operands[0], to, converted);
    }

    /// Runs one instruction of all threads of a warp.
    fn step_warp(&mut self, first: usize, at: usize) {
        let instruction = &self.entry.code[at];
        let Instruction { operands, text, .. } = instruction;
        let lanes = first..first + WARP;
        match instruction.name[0].as_str() {
            "shfl" => {
                // The result may be followed by a predicate: `%r1|%p1`.
                let has_predicate = operands.len() == 6;
                let args = &operands[usize::from(has_predicate)..];
                let values: Vec<[u64; 2]> =
                    lanes.clone().map(|lane| [1, 2].map(|i| self.value(lane, &args[i]))).collect();
                for (i, lane) in lanes.clone().enumerate() {
                    let b = values[i][1] as usize;
                    let from = match instruction.name[2].as_str() {
                        "bfly" => i ^ b,
                        "idx" => b,
                        "down" => i + b,
                        "up" => i.wrapping_sub(b),
                        _ => panic!("{text}"),
                    };
                    let value = values.get(from).map_or(values[i][0], |value| value[0]);
                    self.set(lane, &operands[0], PtxType::Unsigned(32), value);
                    if has_predicate {
                        self.set(lane, &operands[1], PtxType::Pred, u64::from(from < WARP));
                    }
                }
            }
            "ldmatrix" => {
                assert!(instruction.name.iter().any(|word| word == "x4"), "{text}");
                let is_transposed = instruction.name.iter().any(|word| word == "trans");
                let rows: Vec<u64> = lanes.clone().map(|lane| self.value(lane, &operands[1])).collect();
                let Operand::Vector(results) = &operands[0] else { panic!("{text}") };
                for (i, lane) in lanes.clone().enumerate() {
                    for (matrix, result) in results.iter().enumerate() {
                        let element = |this: &mut Self, second: usize| {
                            let (row, column) = (i / 4, i % 4 * 2 + second);
                            let (row, column) = if is_transposed { (column, row) } else { (row, column) };
                            let address = rows[matrix * 8 + row];
                            assert!(address.is_multiple_of(16), "{text}: a row at {address:#x}");
                            this.read(address + 2 * column as u64, "shared", 2)
                        };
                        let value = element(self, 0) | element(self, 1) << 16;
                        self.set(lane, result, PtxType::Unsigned(32), value);
                    }
                }
            }
            "mma" => self.multiply_add(first, instruction),
            // `bar.warp.sync`
            "bar" => {}
            _ => panic!("{text}"),
        }
        for lane in lanes {
            self.threads[lane].at += 1;
            self.threads[lane].state = ThreadState::Running;
        }
    }

    /// `mma.m16n8k16` with f32 accumulators; layouts as in the PTX ISA, "Matrix Fragments for mma.m16n8k16".
    fn multiply_add(&mut self, first: usize, instruction: &Instruction) {
        let Instruction { operands, types, text, name, .. } = instruction;
        assert!(name.iter().any(|word| word == "m16n8k16"), "{text}");
        let [Operand::Vector(d), Operand::Vector(a), Operand::Vector(b), Operand::Vector(c)] =
            operands.as_slice()
        else {
            panic!("{text}")
        };
        let part = |this: &Self, lane: usize, registers: &[Operand], i: usize| {
            let bits = this.value(first + lane, &registers[i / 2]) >> (16 * (i % 2)) & 0xffff;
            float(types[1], bits)
        };
        let mut results = [[0.0f32; 4]; WARP];
        for (lane, results) in results.iter_mut().enumerate() {
            for (i, result) in results.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                let terms = (0..16).map(|k| {
                    let in_a = part(self, row % 8 * 4 + k % 8 / 2, a, k % 2 + row / 8 * 2 + k / 8 * 4);
                    let in_b = part(self, column * 4 + k % 8 / 2, b, k % 2 + k / 8 * 2);
                    in_a * in_b
                });
                *result = (float(PtxType::F32, self.value(first + lane, &c[i])) + terms.sum::<f64>()) as f32;
            }
        }
        for (lane, results) in results.iter().enumerate() {
            for (d, result) in d.iter().zip(results) {
                self.set(first + lane, d, PtxType::F32, u64::from(result.to_bits()));
            }
        }
    }
}

/// Returns the value of a register into which a value of a type is loaded.
fn extended(ty: PtxType, value: u64) -> u64 {
    if matches!(ty, PtxType::Signed(_)) { signed(ty, value) as u64 } else { value }
}

fn unsigned(ty: PtxType, value: u64) -> u64 {
    if ty.bits() == 64 { value } else { value & ((1 << ty.bits()) - 1) }
}

fn signed(ty: PtxType, value: u64) -> i64 {
    let shift = 64 - ty.bits();
    ((value << shift) as i64) >> shift
}

fn float(ty: PtxType, bits: u64) -> f64 {
    match ty {
        PtxType::F16 => f16::from_bits(bits as u16).into(),
        PtxType::Bf16 => bf16::from_bits(bits as u16).into(),
        PtxType::F32 => f32::from_bits(bits as u32).into(),
        PtxType::F64 => f64::from_bits(bits),
        _ => panic!("{ty:?} is not a float"),
    }
}

/// Rounds a number, which is exact or has at most the error of `f64`.
fn rounded(ty: PtxType, value: f64) -> u64 {
    match ty {
        // A number that was rounded to f32 first has the same rounding, since it came from an f32.
        PtxType::F16 => f16::from_f64(value).to_bits().into(),
        PtxType::Bf16 => bf16::from_f64(value).to_bits().into(),
        PtxType::F32 => (value as f32).to_bits().into(),
        PtxType::F64 => value.to_bits(),
        _ => panic!("{ty:?} is not a float"),
    }
}

/// Rounds the result of an elementary function. An instruction with the modifier `approx` has an error of about one
/// unit in the last place on a GPU; here, its f32 results are always the next number away from zero, so that
/// tests that expect exact results fail here, too.
fn approximated(name: &[String], ty: PtxType, value: f64) -> u64 {
    let bits = rounded(ty, value);
    let is_approximate = ty == PtxType::F32 && name.iter().any(|part| part == "approx");
    if is_approximate && (value as f32).is_normal() { bits + 1 } else { bits }
}

fn from_integer(ty: PtxType, value: i128) -> u64 {
    match ty {
        PtxType::F32 => (value as f32).to_bits().into(),
        _ => rounded(ty, value as f64),
    }
}

/// Computes an instruction of arithmetic. Returns the type of the result and its bits.
fn compute(name: &[String], ty: PtxType, values: &[u64], text: &str) -> (PtxType, u64) {
    let wide = |ty: PtxType| match ty {
        PtxType::Signed(bits) => PtxType::Signed(2 * bits),
        other => PtxType::Unsigned(2 * other.bits()),
    };
    let product = |ty: PtxType| {
        let values = [values[0], values[1]];
        match ty {
            PtxType::Signed(_) => values.map(|x| i128::from(signed(ty, x))).iter().product::<i128>(),
            _ => values.map(|x| i128::from(unsigned(ty, x))).iter().product::<i128>(),
        }
    };
    let mode = name.get(1).map_or("", String::as_str);
    match (name[0].as_str(), values) {
        ("mul", _) if mode == "wide" => (wide(ty), product(ty) as u64),
        ("mul", _) if mode == "hi" => (ty, (product(ty) >> ty.bits()) as u64),
        ("mul", _) if mode == "lo" => (ty, product(ty) as u64),
        ("mad", [_, _, c]) if mode == "wide" => (wide(ty), (product(ty) as u64).wrapping_add(*c)),
        ("mad", [_, _, c]) if mode == "lo" => (ty, (product(ty) as u64).wrapping_add(*c)),
        ("fma", [a, b, c]) => {
            let value = match ty {
                PtxType::F32 => {
                    let [a, b, c] = [a, b, c].map(|x| f32::from_bits(*x as u32));
                    a.mul_add(b, c).to_bits().into()
                }
                PtxType::F64 => {
                    let [a, b, c] = [a, b, c].map(|x| f64::from_bits(*x));
                    a.mul_add(b, c).to_bits()
                }
                _ => rounded(ty, float(ty, *a) * float(ty, *b) + float(ty, *c)),
            };
            (ty, value)
        }
        ("not", [a]) => (ty, !a),
        ("clz", [a]) => {
            (PtxType::Unsigned(32), u64::from((a << (64 - ty.bits())).leading_zeros().min(ty.bits())))
        }
        ("neg", [a]) if ty.is_float() => (ty, rounded(ty, -float(ty, *a))),
        ("neg", [a]) => (ty, a.wrapping_neg()),
        ("abs", [a]) if ty.is_float() => (ty, rounded(ty, float(ty, *a).abs())),
        ("rcp", [a]) => (ty, approximated(name, ty, 1.0 / float(ty, *a))),
        ("sqrt", [a]) => (ty, approximated(name, ty, float(ty, *a).sqrt())),
        ("rsqrt", [a]) => (ty, approximated(name, ty, 1.0 / float(ty, *a).sqrt())),
        ("ex2", [a]) => (ty, approximated(name, ty, float(ty, *a).exp2())),
        ("tanh", [a]) => (ty, approximated(name, ty, float(ty, *a).tanh())),
        ("lg2", [a]) => (ty, approximated(name, ty, float(ty, *a).log2())),
        ("shf", [a, b, c]) => {
            let shift = c & 31;
            let both = b << 32 | (a & 0xffff_ffff);
            let value = if mode == "l" { (both << shift) >> 32 } else { both >> shift };
            (ty, value)
        }
        ("prmt", [a, b, c]) => {
            let bytes = (b << 32 | (a & 0xffff_ffff)).to_le_bytes();
            let select = |i: u64| u64::from(bytes[(c >> (4 * i) & 7) as usize]) << (8 * i);
            (ty, (0..4).map(select).fold(0, |all, byte| all | byte))
        }
        ("bfe", [a, b, c]) => {
            let (at, bits) = (b & 0xff, c & 0xff);
            (ty, (unsigned(ty, *a) >> at) & ((1u64 << bits) - 1))
        }
        ("bfi", [a, b, c, d]) => {
            let (at, bits) = (c & 0xff, d & 0xff);
            let mask = ((1u64 << bits) - 1) << at;
            (ty, b & !mask | a << at & mask)
        }
        ("lop3", [a, b, c, table]) => {
            let bit = |i: u32| {
                let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
                (table >> index & 1) << i
            };
            (ty, (0..32).map(bit).fold(0, |all, bit| all | bit))
        }
        (_, [a, b]) => (ty, binary(&name[0], name, ty, *a, *b, text)),
        _ => panic!("unknown instruction: {text}"),
    }
}

fn binary(operation: &str, name: &[String], ty: PtxType, a: u64, b: u64, text: &str) -> u64 {
    if ty.is_float() {
        let (x, y) = (float(ty, a), float(ty, b));
        let value = match operation {
            // The sum, difference, product or quotient of two f32 in f64, rounded to f32, is the f32 result.
            "add" => x + y,
            "sub" => x - y,
            "mul" => x * y,
            "div" => x / y,
            "max" => x.max(y),
            "min" => x.min(y),
            // The value of the second operand with the sign of the first.
            "copysign" => y.copysign(x),
            _ => panic!("unknown instruction: {text}"),
        };
        return rounded(ty, value);
    }
    let is_signed = matches!(ty, PtxType::Signed(_));
    let ((x, y), (sx, sy)) = ((unsigned(ty, a), unsigned(ty, b)), (signed(ty, a), signed(ty, b)));
    let shift = (b & 0xffff_ffff) as u32;
    match operation {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "div" if is_signed => sx.wrapping_div(sy) as u64,
        "div" => x / y,
        "rem" if is_signed => sx.wrapping_rem(sy) as u64,
        "rem" => x % y,
        "max" if is_signed => sx.max(sy) as u64,
        "max" => x.max(y),
        "min" if is_signed => sx.min(sy) as u64,
        "min" => x.min(y),
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        // A shift by more than the width of the type gives zeros, or copies of the sign.
        "shl" => {
            if shift < ty.bits() {
                x << shift
            } else {
                0
            }
        }
        "shr" if is_signed => (sx >> shift.min(ty.bits() - 1)) as u64,
        "shr" => {
            if shift < ty.bits() {
                x >> shift
            } else {
                0
            }
        }
        _ => panic!("unknown instruction: {} in {text}", name.join(".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a kernel with the parameter `x`, an array of `u32`, in blocks of 64 threads. Returns the array.
    fn run_on(body: &str, blocks: u32, elements: &[u32]) -> Vec<u32> {
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry test(.param .u64 x)\n{{
            .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %x, %at; .shared .align 4 .b8 all[256];
            ld.param.u64 %x, [x]; cvta.to.global.u64 %x, %x;
            mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; shl.b32 %r1, %r1, 6; add.u32 %r1, %r1, %r0;
            mul.wide.u32 %at, %r1, 4; add.u64 %at, %at, %x; // address of the thread's element
            {body}\n}}"
        );
        let module = crate::ptx::parse(&text);
        let mut memory = Memory::default();
        let bytes: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
        let (size, address) = (bytes.len(), memory.allocate(bytes));
        let launch = Launch { grid: [blocks, 1, 1], block: [64, 1, 1], shared_bytes: 0 };
        run(&module.entries[0], launch, &[address], &mut memory);
        let words = memory.bytes(address, size).chunks_exact(4);
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }

    #[test]
    fn threads_have_indices() {
        let found = run_on(
            "ld.global.u32 %r2, [%at]; add.u32 %r2, %r2, %r1; st.global.u32 [%at], %r2;",
            2,
            &[5; 128],
        );
        assert!(found.iter().enumerate().all(|(i, x)| *x == 5 + i as u32), "{found:?}");
    }

    #[test]
    fn a_barrier_shows_shared_memory_to_all_threads() {
        let found = run_on(
            "shl.b32 %r2, %r0, 2; mov.u32 %r3, all; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r0;
             bar.sync 0;
             xor.b32 %r4, %r0, 63; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r3;
             ld.shared.u32 %r5, [%r4]; st.global.u32 [%at], %r5;",
            1,
            &[0; 64],
        );
        assert!(found.iter().enumerate().all(|(i, x)| *x == 63 - i as u32), "{found:?}");
    }

    #[test]
    fn lanes_exchange_values() {
        let found =
            run_on("shfl.sync.bfly.b32 %r2|%p0, %r0, 5, 31, -1; st.global.u32 [%at], %r2;", 1, &[0; 64]);
        assert!(found.iter().enumerate().all(|(i, x)| *x == i as u32 ^ 5), "{found:?}");
    }

    #[test]
    fn branches_follow_predicates() {
        let found = run_on(
            "setp.lt.u32 %p0, %r0, 10; @%p0 bra $small; st.global.u32 [%at], 7; ret; $small: ret;",
            1,
            &[1; 64],
        );
        assert!(found.iter().enumerate().all(|(i, x)| *x == if i < 10 { 1 } else { 7 }), "{found:?}");
    }

    #[test]
    #[should_panic(expected = "outside of all allocations")]
    fn accesses_outside_of_allocations_fail() {
        run_on("st.global.u32 [%at+4], %r0;", 1, &[0; 64]);
    }

    #[test]
    #[should_panic(expected = "only some threads of a warp are at")]
    fn a_warp_that_is_not_together_fails() {
        run_on("setp.eq.u32 %p0, %r0, 3; @%p0 ret; shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;", 1, &[0; 64]);
    }

    #[test]
    fn signs_are_copied_and_leading_zeros_counted() {
        let found = run_on(
            "cvt.rn.f32.u32 %r2, %r0; mov.b32 %r3, 0xbf800000; copysign.f32 %r2, %r3, %r2;
             clz.b32 %r4, %r0; cvt.rn.f32.u32 %r4, %r4; add.f32 %r2, %r2, %r4; st.global.u32 [%at], %r2;",
            1,
            &[0; 64],
        );
        for (i, x) in found.iter().enumerate() {
            let i = i as u32;
            assert_eq!(f32::from_bits(*x), i.leading_zeros() as f32 - i as f32, "{i}");
        }
    }

    #[test]
    #[should_panic(expected = "unknown instruction: popc.b32")]
    fn an_unknown_instruction_is_named() {
        run_on("popc.b32 %r2, %r0;", 1, &[0; 64]);
    }
}
