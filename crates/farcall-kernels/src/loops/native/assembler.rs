//! Encoding of x86-64 instructions with AVX2.

/// A general-purpose register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reg(pub(crate) u8);

pub(crate) const RAX: Reg = Reg(0);
pub(crate) const RCX: Reg = Reg(1);
pub(crate) const RDX: Reg = Reg(2);
pub(crate) const RBX: Reg = Reg(3);
pub(crate) const RSI: Reg = Reg(6);
pub(crate) const RDI: Reg = Reg(7);
pub(crate) const R8: Reg = Reg(8);
pub(crate) const R9: Reg = Reg(9);
pub(crate) const R12: Reg = Reg(12);
pub(crate) const R15: Reg = Reg(15);

/// A vector register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Vector(pub(crate) u8);

/// A memory operand: an offset from an address in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) base: Reg,
    pub(crate) offset: i32,
}

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Last {
    Register(u8),
    Memory(Memory),
}

/// A vector operation: prefix (0: none, 1: `66`, 2: `F3`, 3: `F2`), table of opcodes (1: `0F`, 2: `0F38`, 3:
/// `0F3A`), opcode, and the bit `W`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opcode {
    prefix: u8,
    table: u8,
    code: u8,
    wide: bool,
}

impl Opcode {
    pub(crate) const fn new(prefix: u8, table: u8, code: u8) -> Opcode {
        Opcode { prefix, table, code, wide: false }
    }

    /// Sets the bit `W`.
    pub(crate) const fn wide(self) -> Opcode {
        Opcode { wide: true, ..self }
    }
}

/// Condition codes of jumps and similar instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Below = 2,
    AboveEqual = 3,
    Equal = 4,
    NotEqual = 5,
    BelowEqual = 6,
    Above = 7,
    Sign = 8,
    Less = 12,
    GreaterEqual = 13,
    LessEqual = 14,
    Greater = 15,
}

/// A jump that was written before its target.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump(usize);

/// A sequence of instructions.
#[derive(Default)]
pub(crate) struct Assembler {
    pub(crate) code: Vec<u8>,
}

impl Assembler {
    fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// Writes the operands of an instruction: the byte `ModRM`, the byte `SIB` if needed, and the
    /// displacement.
    fn operands(&mut self, reg: u8, last: Last) {
        match last {
            Last::Register(rm) => self.bytes(&[0xc0 | (reg & 7) << 3 | rm & 7]),
            Last::Memory(Memory { base: Reg(base), offset }) => {
                self.bytes(&[0x80 | (reg & 7) << 3 | base & 7]);
                // With this base register, the encoding requires a byte `SIB`.
                if base & 7 == 4 {
                    self.bytes(&[0x24]);
                }
                self.bytes(&offset.to_le_bytes());
            }
        }
    }

    /// Writes a vector operation on 32 bytes if `long`, else on 16. Its operands are `reg`, `second` and
    /// `last`.
    pub(crate) fn vector(&mut self, op: Opcode, long: bool, reg: Vector, second: Vector, last: Last) {
        let rm = match last {
            Last::Register(rm) => rm,
            Last::Memory(memory) => memory.base.0,
        };
        let first = (!reg.0 >> 3 & 1) << 7 | 1 << 6 | (!rm >> 3 & 1) << 5 | op.table;
        let then = u8::from(op.wide) << 7 | (!second.0 & 15) << 3 | u8::from(long) << 2 | op.prefix;
        self.bytes(&[0xc4, first, then, op.code]);
        self.operands(reg.0, last);
    }

    /// Writes a vector operation followed by an immediate byte.
    pub(crate) fn vector_byte(
        &mut self,
        op: Opcode,
        long: bool,
        reg: Vector,
        second: Vector,
        last: Last,
        byte: u8,
    ) {
        self.vector(op, long, reg, second, last);
        self.bytes(&[byte]);
    }

    /// Writes an instruction on general-purpose registers, of 64 bits if `wide`, else of 32 bits.
    fn general(&mut self, wide: bool, code: &[u8], reg: u8, last: Last) {
        let rm = match last {
            Last::Register(rm) => rm,
            Last::Memory(memory) => memory.base.0,
        };
        self.bytes(&[0x40 | u8::from(wide) << 3 | (reg >> 3) << 2 | rm >> 3]);
        self.bytes(code);
        self.operands(reg, last);
    }

    /// Loads 64 bits if `wide`, else 32 bits with zero extension.
    pub(crate) fn load(&mut self, wide: bool, to: Reg, from: Memory) {
        self.general(wide, &[0x8b], to.0, Last::Memory(from));
    }

    pub(crate) fn store(&mut self, wide: bool, from: Reg, to: Memory) {
        self.general(wide, &[0x89], from.0, Last::Memory(to));
    }

    /// Stores the lowest byte of a register.
    pub(crate) fn store_byte(&mut self, from: Reg, to: Memory) {
        self.general(false, &[0x88], from.0, Last::Memory(to));
    }

    /// Loads two bytes if `two`, else one byte, with zero extension.
    pub(crate) fn load_narrow(&mut self, two: bool, to: Reg, from: Memory) {
        self.general(false, &[0x0f, 0xb6 | u8::from(two)], to.0, Last::Memory(from));
    }

    /// Loads 32 bits, sign-extended to 64.
    pub(crate) fn load_signed(&mut self, to: Reg, from: Memory) {
        self.general(true, &[0x63], to.0, Last::Memory(from));
    }

    pub(crate) fn copy(&mut self, to: Reg, from: Reg) {
        self.general(true, &[0x89], from.0, Last::Register(to.0));
    }

    pub(crate) fn address(&mut self, to: Reg, of: Memory) {
        self.general(true, &[0x8d], to.0, Last::Memory(of));
    }

    pub(crate) fn constant(&mut self, to: Reg, value: u64) {
        self.bytes(&[0x48 | to.0 >> 3, 0xb8 | to.0 & 7]);
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn add(&mut self, to: Reg, other: Reg) {
        self.general(true, &[0x01], other.0, Last::Register(to.0));
    }

    pub(crate) fn add_from(&mut self, to: Reg, other: Memory) {
        self.general(true, &[0x03], to.0, Last::Memory(other));
    }

    pub(crate) fn add_constant(&mut self, to: Reg, value: i32) {
        self.general(true, &[0x81], 0, Last::Register(to.0));
        self.bytes(&value.to_le_bytes());
    }

    /// Subtracts one from a register.
    pub(crate) fn decrement(&mut self, x: Reg) {
        self.general(true, &[0x83], 5, Last::Register(x.0));
        self.bytes(&[1]);
    }

    /// Computes `to = from × factor`.
    pub(crate) fn multiply(&mut self, to: Reg, from: Reg, factor: i32) {
        self.general(true, &[0x69], to.0, Last::Register(from.0));
        self.bytes(&factor.to_le_bytes());
    }

    pub(crate) fn compare_registers(&mut self, x: Reg, with: Reg) {
        self.general(true, &[0x39], with.0, Last::Register(x.0));
    }

    /// Compares a byte with zero.
    pub(crate) fn compare_byte(&mut self, x: Memory) {
        self.general(false, &[0x80], 7, Last::Memory(x));
        self.bytes(&[0]);
    }

    /// Sets the lowest byte of one of the first four registers to 1 if a condition holds, else to 0.
    pub(crate) fn set(&mut self, condition: Condition, to: Reg) {
        self.general(false, &[0x0f, 0x90 | condition as u8], 0, Last::Register(to.0));
    }

    /// Copies a register if a condition holds.
    pub(crate) fn copy_if(&mut self, condition: Condition, to: Reg, from: Reg) {
        self.general(true, &[0x0f, 0x40 | condition as u8], to.0, Last::Register(from.0));
    }

    /// Subtracts one from a 64-bit number in memory.
    pub(crate) fn count_down(&mut self, at: Memory) {
        self.general(true, &[0x83], 5, Last::Memory(at));
        self.bytes(&[1]);
    }

    /// Sets the condition `Equal` if the lowest byte of RAX is zero.
    pub(crate) fn test_byte(&mut self) {
        self.bytes(&[0x84, 0xc0]);
    }

    pub(crate) fn test(&mut self, x: Reg) {
        self.general(true, &[0x85], x.0, Last::Register(x.0));
    }

    pub(crate) fn call(&mut self, at: Reg) {
        self.bytes(&[0x40 | at.0 >> 3, 0xff, 0xd0 | at.0 & 7]);
    }

    pub(crate) fn push(&mut self, x: Reg) {
        self.bytes(&[0x40 | x.0 >> 3, 0x50 | x.0 & 7]);
    }

    pub(crate) fn pop(&mut self, x: Reg) {
        self.bytes(&[0x40 | x.0 >> 3, 0x58 | x.0 & 7]);
    }

    pub(crate) fn end(&mut self) {
        self.bytes(&[0xc3]);
    }

    /// Zeroes the upper halves of all vector registers.
    pub(crate) fn clear_upper_halves(&mut self) {
        self.bytes(&[0xc5, 0xf8, 0x77]);
    }

    /// Writes a jump whose target comes later.
    pub(crate) fn jump(&mut self, condition: Option<Condition>) -> Jump {
        match condition {
            Some(condition) => self.bytes(&[0x0f, 0x80 | condition as u8]),
            None => self.bytes(&[0xe9]),
        }
        self.bytes(&[0; 4]);
        Jump(self.code.len())
    }

    /// Sets the target of a jump to this code offset; `None` if it is out of range.
    pub(crate) fn land(&mut self, Jump(from): Jump, target: usize) -> Option<()> {
        let distance = i32::try_from(target as i64 - from as i64).ok()?;
        self.code[from - 4..from].copy_from_slice(&distance.to_le_bytes());
        Some(())
    }
}
