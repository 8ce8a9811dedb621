//! Code for expressions on vectors in registers. Steps over few elements and loops over many elements share
//! it.

use farcall_ir::DType;
use farcall_ir::op::{Binary, Unary};
use smallvec::SmallVec;

use super::super::capability::{ExprKind, Lane, Signature, machine_code};
use super::super::expression::{Expr, LastUses, Leaf, MAX_OPERANDS, Node, ScalarOp};
use super::assembler::{Last, Memory, Opcode, Reg, Vector};
use super::emitter::{AND, Emitter, OR, VECTOR_BYTES, WIDEN_BYTES, arithmetic, float};
use super::functions;

/// Number of registers that operations need for intermediate results.
const MIN_FREE_REGISTERS: u32 = 8;

/// An expression with the types of its nodes.
pub(crate) struct Typed<'a> {
    pub(crate) expr: &'a Expr,
    signatures: SmallVec<[Signature; 2]>,
    last: LastUses,
    /// Size of an element of a vector in bytes.
    pub(crate) size: usize,
    /// The type of each operand that the expression has.
    pub(crate) operands: [Option<Lane>; MAX_OPERANDS],
}

impl<'a> Typed<'a> {
    /// Finds the types of an expression; `None` if no code can be generated for an expression of this kind.
    pub(crate) fn new(expr: &'a Expr, kind: ExprKind) -> Option<Typed<'a>> {
        let signatures: Option<SmallVec<[Signature; 2]>> =
            expr.nodes.iter().map(|node| machine_code(node.op, kind)).collect();
        let signatures = signatures?;
        let lanes = || signatures.iter().flat_map(|s| s.operands.iter().chain([&s.result]));
        let sizes = || lanes().filter_map(|lane| if let Lane::Elements(n) = lane { Some(*n) } else { None });
        // If all values are `pred`s, an element is a byte.
        let size = sizes().max().unwrap_or(1);
        // In a loop, all vectors must have the same number of elements.
        (kind == ExprKind::Step || sizes().all(|n| n == size)).then_some(())?;
        let mut operands = [None; MAX_OPERANDS];
        for (node, signature) in expr.nodes.iter().zip(&signatures) {
            (node.operands.len() == signature.operands.len()).then_some(())?;
            for (leaf, lane) in node.operands.iter().zip(&signature.operands) {
                let fits = match *leaf {
                    Leaf::Constant(_) => *lane != Lane::Pred,
                    Leaf::Operand(x) => *operands.get_mut(x)?.get_or_insert(*lane) == *lane,
                    Leaf::Node(x) => signatures.get(x)?.result == *lane,
                };
                fits.then_some(())?;
            }
        }
        Some(Typed { last: expr.last_uses(), expr, signatures, size, operands })
    }

    /// Returns the type of the result.
    pub(crate) fn result(&self) -> Option<Lane> {
        self.signatures.last().map(|signature| signature.result)
    }
}

/// The constants of a piece of code, each as the bytes of one element.
#[derive(Default)]
pub(crate) struct Constants {
    pub(crate) all: Vec<[u8; 8]>,
    /// The registers of the first constants.
    pub(crate) resident: Vec<Vector>,
    /// The register with the address of the constants' vectors, if the code has constants.
    pub(crate) base: Option<Reg>,
}

impl Constants {
    /// Returns the place of a constant's vector, adding the constant if it is new.
    pub(crate) fn find(&mut self, bytes: [u8; 8]) -> Option<Last> {
        let base = self.base?;
        let number = self.all.iter().position(|x| *x == bytes).unwrap_or_else(|| {
            self.all.push(bytes);
            self.all.len() - 1
        });
        let memory = Memory { base, offset: i32::try_from(number * VECTOR_BYTES).ok()? };
        Some(self.resident.get(number).map_or(Last::Memory(memory), |x| Last::Register(x.0)))
    }

    /// Adds the constants of an expression: first the constants that would otherwise be loaded for each
    /// vector.
    pub(crate) fn collect(&mut self, typed: &Typed<'_>) -> Option<()> {
        for node in &typed.expr.nodes {
            if let ScalarOp::Unary(op, DType::F32) = node.op {
                for x in functions::resident(op) {
                    self.find(word(x.to_bits()))?;
                }
            }
        }
        for node in &typed.expr.nodes {
            for leaf in &node.operands {
                if let Leaf::Constant(bytes) = *leaf {
                    self.find(bytes)?;
                }
            }
            let takes_one = matches!(
                node.op,
                ScalarOp::Binary(Binary::Maximum | Binary::Minimum, DType::F32 | DType::F64)
                    | ScalarOp::Unary(Unary::Rsqrt, _)
            );
            if takes_one {
                self.find(one(typed.size))?;
            }
        }
        Some(())
    }
}

/// Returns the bytes of a 32-bit constant, padded with zeros.
fn word(bits: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&bits.to_ne_bytes());
    bytes
}

/// Returns the constant 1 for elements of four or eight bytes, which some operations need.
fn one(size: usize) -> [u8; 8] {
    if size == 8 { 1f64.to_ne_bytes() } else { word(1f32.to_bits()) }
}

/// Emits code for an expression.
pub(crate) struct Evaluator<'a> {
    pub(crate) emitter: &'a mut Emitter,
    pub(crate) constants: &'a mut Constants,
    /// Size of an element in bytes.
    pub(crate) size: usize,
    /// Size of all elements of a vector in bytes.
    pub(crate) bytes: usize,
}

impl Evaluator<'_> {
    /// Emits the code for one vector, and returns the register of the result. `load` emits the load of an
    /// operand; a `pred` is loaded as bytes, and used as a mask of elements.
    pub(crate) fn vector(
        &mut self,
        typed: &Typed<'_>,
        mut load: impl FnMut(&mut Emitter, usize, Lane) -> Option<Vector>,
    ) -> Option<Vector> {
        let mut operands: [Option<Vector>; MAX_OPERANDS] = [None; MAX_OPERANDS];
        let mut made: SmallVec<[Vector; 2]> = SmallVec::new();
        for (i, node) in typed.expr.nodes.iter().enumerate() {
            let mut find = |this: &mut Self, leaf: Leaf| {
                let register = match leaf {
                    Leaf::Node(x) => made[x],
                    Leaf::Constant(bytes) => this.constant(bytes)?,
                    Leaf::Operand(x) => match operands[x] {
                        Some(register) => register,
                        None => {
                            let lane = typed.operands[x]?;
                            let register = load(this.emitter, x, lane)?;
                            let register = match lane {
                                Lane::Pred if this.size > 1 => {
                                    this.emitter.widened(register, this.size, this.bytes)?
                                }
                                _ => register,
                            };
                            this.emitter.vectors.keep(register);
                            operands[x] = Some(register);
                            register
                        }
                    },
                };
                // Enough registers must be left for intermediate results.
                (this.emitter.vectors.free() >= MIN_FREE_REGISTERS).then_some(register)
            };
            let result = if let Some((op, leaf, constant)) = self.with_constant(node) {
                let x = find(self, leaf)?;
                self.emitter.op_with(op, self.bytes, x, Last::Memory(constant))?
            } else {
                let mut from = [Vector(0); MAX_OPERANDS];
                for (to, leaf) in from.iter_mut().zip(&node.operands) {
                    *to = find(self, *leaf)?;
                }
                self.node(node.op, from)?
            };
            self.release(typed, i, &operands, &made);
            if typed.last.nodes[i] > i {
                self.emitter.vectors.keep(result);
            }
            made.push(result);
        }
        made.pop()
    }

    /// Releases the registers of values whose last use is node `i`.
    fn release(
        &mut self,
        typed: &Typed<'_>,
        i: usize,
        operands: &[Option<Vector>; MAX_OPERANDS],
        made: &[Vector],
    ) {
        let all = || operands.iter().zip(&typed.last.operands);
        for (register, last) in all().filter_map(|(x, last)| Some(((*x)?, *last))) {
            // Operands in the same memory may share a register.
            let is_used = all().any(|(x, later)| *x == Some(register) && *later > i);
            if last == i && !is_used {
                self.emitter.vectors.release(register);
            }
        }
        for (register, _) in made.iter().zip(&typed.last.nodes).filter(|(_, last)| **last == i) {
            self.emitter.vectors.release(*register);
        }
    }

    /// Returns a register that holds a constant.
    fn constant(&mut self, bytes: [u8; 8]) -> Option<Vector> {
        let at = self.constants.find(bytes)?;
        self.emitter.loaded(at)
    }

    /// Describes an operation with a constant in memory: opcode, other operand, and place of the constant.
    fn with_constant(&mut self, node: &Node) -> Option<(Opcode, Leaf, Memory)> {
        let ScalarOp::Binary(op, DType::F32 | DType::F64) = node.op else { return None };
        let code = arithmetic(op)?;
        let [x, y] = *node.operands.as_slice() else { return None };
        let swaps = matches!(op, Binary::Add | Binary::Multiply);
        let mut in_memory = |leaf: Leaf| match leaf {
            Leaf::Constant(bytes) => match self.constants.find(bytes)? {
                Last::Memory(at) => Some(at),
                Last::Register(_) => None,
            },
            _ => None,
        };
        let (other, at) = match (in_memory(x), in_memory(y)) {
            (_, Some(at)) => (x, at),
            (Some(at), None) if swaps => (y, at),
            _ => return None,
        };
        Some((float(code, self.size, self.bytes), other, at))
    }

    /// Emits one operation.
    fn node(&mut self, op: ScalarOp, [x, y, z]: [Vector; MAX_OPERANDS]) -> Option<Vector> {
        let (size, bytes) = (self.size, self.bytes);
        let emitter = &mut *self.emitter;
        match op {
            ScalarOp::Unary(op @ (Unary::Exponential | Unary::Tanh), DType::F32) => {
                functions::emit(op, emitter, |bits| self.constants.find(word(bits)), x)
            }
            ScalarOp::Compare(compare, dtype) => emitter.mask(compare, dtype, bytes, x, y),
            ScalarOp::Select(_) => emitter.choose(x, size, bytes, y, z),
            ScalarOp::Convert(from, to) => {
                let mut x = x;
                for op in conversion(from, to)? {
                    x = emitter.map(*op, bytes, x)?;
                }
                Some(x)
            }
            ScalarOp::Binary(op @ (Binary::Maximum | Binary::Minimum), DType::F32 | DType::F64) => {
                self.extreme(op == Binary::Maximum, x, y)
            }
            ScalarOp::Unary(Unary::Rsqrt, DType::F32 | DType::F64) => {
                let root = emitter.map(float(0x51, size, bytes), bytes, x)?;
                let one = self.constant(one(size))?;
                self.emitter.op(float(0x5e, size, bytes), bytes, one, root)
            }
            ScalarOp::Binary(Binary::And, DType::Pred) => emitter.op(AND, bytes, x, y),
            ScalarOp::Binary(Binary::Or, DType::Pred) => emitter.op(OR, bytes, x, y),
            op => emitter.apply(op, size, bytes, x, y),
        }
    }

    /// Computes the larger or smaller number like [`Number::max`](crate::number::Number::max).
    fn extreme(&mut self, larger: bool, x: Vector, y: Vector) -> Option<Vector> {
        let (size, bytes) = (self.size, self.bytes);
        let of = |code: u8| float(code, size, bytes);
        // The multiplication by one flushes subnormal numbers if the processor flushes them.
        let one = self.constant(one(size))?;
        let emitter = &mut *self.emitter;
        let mut settled = |x: Vector| {
            let settled = emitter.op(of(0x59), bytes, x, one)?;
            emitter.vectors.keep(settled);
            Some(settled)
        };
        let (x, y) = (settled(x)?, settled(y)?);
        // If both operands are zeros, these instructions return the second operand. The bitwise operation on
        // the results of both orders therefore gives the sign.
        let code = of(if larger { 0x5f } else { 0x5d });
        let (first, second) = (emitter.op(code, bytes, x, y)?, emitter.op(code, bytes, y, x)?);
        let number = emitter.op(if larger { AND } else { OR }, bytes, first, second)?;
        let nan = emitter.op(of(0x58), bytes, x, y)?;
        let unordered = emitter.compare_floats(size, bytes, x, y, 3)?;
        emitter.vectors.release(x);
        emitter.vectors.release(y);
        emitter.choose(unordered, size, bytes, nan, number)
    }
}

/// Returns the instructions of a conversion, each on a vector of the size of the result.
fn conversion(from: DType, to: DType) -> Option<&'static [Opcode]> {
    use DType::{F32, F64, Pred, S32, S64, U32, U64};
    Some(match (from, to) {
        (Pred, S32 | U32) => &WIDEN_BYTES[..1],
        (Pred, S64 | U64) => &WIDEN_BYTES[1..],
        (Pred, F32) => const { &[WIDEN_BYTES[0], Opcode::new(0, 1, 0x5b)] },
        (S32, F32) => const { &[Opcode::new(0, 1, 0x5b)] },
        (S32, F64) => const { &[Opcode::new(2, 1, 0xe6)] },
        (S32, S64 | U64) => const { &[Opcode::new(1, 2, 0x25)] },
        (U32, S64 | U64) => const { &[Opcode::new(1, 2, 0x35)] },
        (F32, F64) => const { &[Opcode::new(0, 1, 0x5a)] },
        (S32 | U32, S32 | U32) | (S64 | U64, S64 | U64) => &[],
        _ => return None,
    })
}
