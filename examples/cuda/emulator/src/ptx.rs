//! Reads PTX: the part of the language that NVRTC and Triton write for the kernels.

use std::collections::HashMap;

/// A file.
#[derive(Debug)]
pub struct PtxModule {
    /// Version of PTX: `7.0`.
    pub version: String,
    /// Oldest architecture that the kernels run on: `sm_80`.
    pub target: String,
    /// Kernels.
    pub entries: Vec<PtxEntry>,
}

/// A kernel.
#[derive(Debug)]
pub struct PtxEntry {
    /// Name.
    pub name: String,
    /// Types of the parameters: `u64`, `f32`.
    pub params: Vec<PtxType>,
    pub(crate) code: Vec<Instruction>,
    /// Number of registers of a thread.
    pub(crate) registers: usize,
    /// Size in bytes of the shared variables. Dynamic shared memory follows.
    pub(crate) shared_bytes: usize,
    /// Maximum number of threads of a block.
    pub(crate) max_threads: u32,
}

/// Maximum number of threads of a block, unless a kernel states another.
const DEFAULT_MAX_THREADS: u32 = 1024;

/// An element type of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PtxType {
    /// A truth value.
    Pred,
    /// Bits, or an unsigned integer, of this many bits.
    Unsigned(u32),
    /// A signed integer of this many bits.
    Signed(u32),
    /// IEEE 754's binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// Two numbers in one register.
    F16x2,
    /// Two numbers in one register.
    Bf16x2,
    /// IEEE 754's binary32.
    F32,
    /// IEEE 754's binary64.
    F64,
}

impl PtxType {
    fn parse(text: &str) -> Option<PtxType> {
        Some(match text {
            "pred" => PtxType::Pred,
            "f16" => PtxType::F16,
            "bf16" => PtxType::Bf16,
            "f32" => PtxType::F32,
            "f64" => PtxType::F64,
            "f16x2" => PtxType::F16x2,
            "bf16x2" => PtxType::Bf16x2,
            _ => {
                let bits = text.get(1..)?.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
                match text.as_bytes()[0] {
                    b'b' | b'u' => PtxType::Unsigned(bits),
                    b's' => PtxType::Signed(bits),
                    _ => return None,
                }
            }
        })
    }

    /// Returns the size in bits.
    pub fn bits(self) -> u32 {
        match self {
            PtxType::Pred => 1,
            PtxType::Unsigned(bits) | PtxType::Signed(bits) => bits,
            PtxType::F16 | PtxType::Bf16 => 16,
            PtxType::F32 | PtxType::F16x2 | PtxType::Bf16x2 => 32,
            PtxType::F64 => 64,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, PtxType::F16 | PtxType::Bf16 | PtxType::F32 | PtxType::F64)
    }
}

/// An instruction, or a branch target's position.
#[derive(Debug)]
pub(crate) struct Instruction {
    /// Register that must be true, or false if the flag is set.
    pub(crate) guard: Option<(usize, bool)>,
    /// Name without types: `["setp", "gt", "or"]`.
    pub(crate) name: Vec<String>,
    /// Types in the name, in order.
    pub(crate) types: Vec<PtxType>,
    pub(crate) operands: Vec<Operand>,
    /// The statement, for messages.
    pub(crate) text: String,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Operand {
    Register(usize),
    /// The unused result `_`.
    Unused,
    Integer(u64),
    /// Bits of an `f32` or `f64`.
    Float(u64),
    /// Index of a special register: `%tid.x`.
    Special(Special, usize),
    /// Offset in shared memory.
    Shared(u64),
    /// Index of a parameter.
    Param(usize),
    /// Index of an instruction.
    Label(usize),
    Address(Box<Operand>, i64),
    Vector(Vec<Operand>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Thread,
    ThreadsOfBlock,
    Block,
    BlocksOfGrid,
}

/// Parses a file.
///
/// # Panics
/// If the file has errors, or contains statements that NVRTC and Triton do not write for the kernels.
pub fn parse(text: &str) -> PtxModule {
    let mut parser = Parser { tokens: tokens(text), at: 0, dynamic: Vec::new(), shared: Vec::new() };
    let mut module = PtxModule { version: String::new(), target: String::new(), entries: Vec::new() };
    while let Some(token) = parser.next_if_any() {
        match token.as_str() {
            ".version" => module.version = parser.next(),
            ".target" => module.target = parser.next(),
            ".address_size" => assert_eq!(parser.next(), "64"),
            ".visible" | ".weak" => {}
            ".entry" => module.entries.push(parser.entry()),
            ".extern" => parser.dynamic_memory(),
            ".shared" => {
                let variable = parser.variable();
                parser.shared.push(variable);
            }
            // NVRTC writes all constants of a source, even if the kernels contain their values.
            ".global" => while parser.next() != ";" {},
            other => panic!("unexpected {other} between kernels"),
        }
    }
    module
}

/// Splits a text into words and punctuation, without comments.
fn tokens(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut tokens: Vec<String> = Vec::new();
    for line in lines {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let len = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            tokens.push(rest[..len].to_owned());
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
    /// Names of dynamic shared memory.
    dynamic: Vec<String>,
    /// Shared variables of all kernels.
    shared: Vec<Variable>,
}

/// A variable in shared memory.
#[derive(Clone)]
struct Variable {
    name: String,
    align: usize,
    size: usize,
}

/// Names of a kernel.
#[derive(Default)]
struct Names {
    /// Registers, in nested scopes.
    registers: Vec<HashMap<String, usize>>,
    count: usize,
    params: Vec<String>,
    labels: HashMap<String, usize>,
    shared: HashMap<String, u64>,
    shared_bytes: usize,
}

impl Names {
    fn add_shared(&mut self, Variable { name, align, size }: Variable) {
        let at = self.shared_bytes.next_multiple_of(align);
        self.shared.insert(name, at as u64);
        self.shared_bytes = at + size;
    }
}

/// An operand with names that may be declared later.
enum Unresolved {
    Known(Operand),
    Name(String),
    Address(Box<Unresolved>, i64),
    Vector(Vec<Unresolved>),
}

impl Parser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next_if_any(&mut self) -> Option<String> {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned()
    }

    fn next(&mut self) -> String {
        self.next_if_any().expect("the file ends inside a statement")
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) {
        let found = self.next();
        assert_eq!(found, token, "in {:?}", &self.tokens[self.at.saturating_sub(8)..self.at]);
    }

    /// Parses the declaration of dynamic shared memory after `.extern`.
    fn dynamic_memory(&mut self) {
        self.expect(".shared");
        while self.peek() != "[" {
            let word = self.next();
            if !word.starts_with('.') {
                self.dynamic.push(word);
            }
        }
        while self.next() != ";" {}
    }

    fn entry(&mut self) -> PtxEntry {
        let name = self.next();
        let mut names = Names::default();
        self.shared.iter().for_each(|variable| names.add_shared(variable.clone()));
        let mut params = Vec::new();
        self.expect("(");
        while !self.accept(")") {
            self.expect(".param");
            params.push(PtxType::parse(&self.next()[1..]).expect("a parameter's type"));
            while self.peek().starts_with('.') {
                // `.ptr .align 1`
                self.next();
                while self.peek().starts_with(|c: char| c.is_ascii_digit()) {
                    self.next();
                }
            }
            names.params.push(self.next());
            self.accept(",");
        }
        let mut max_threads = DEFAULT_MAX_THREADS;
        while !self.accept("{") {
            // `.maxntid 512, 1, 1`, or `.maxntid 512`; `.reqntid` is the exact number.
            if [".maxntid", ".reqntid"].contains(&self.next().as_str()) {
                max_threads = self.next().parse().expect("a number of threads");
            }
        }
        let mut unresolved = Vec::new();
        names.registers.push(HashMap::new());
        while !names.registers.is_empty() {
            self.statement(&mut names, &mut unresolved);
        }
        // Shared variables may be declared after their first use.
        let shared_bytes = names.shared_bytes.next_multiple_of(16);
        for name in &self.dynamic {
            names.shared.insert(name.clone(), shared_bytes as u64);
        }
        let resolve = |(mut instruction, operands): (Instruction, Vec<Unresolved>)| {
            instruction.operands = operands.into_iter().map(|operand| resolve(operand, &names)).collect();
            instruction
        };
        let code = unresolved.into_iter().map(resolve).collect();
        PtxEntry { name, params, code, registers: names.count, shared_bytes, max_threads }
    }

    fn statement(&mut self, names: &mut Names, code: &mut Vec<(Instruction, Vec<Unresolved>)>) {
        let start = self.at;
        let token = self.next();
        match token.as_str() {
            "{" => names.registers.push(HashMap::new()),
            "}" => drop(names.registers.pop()),
            ";" => {}
            ".reg" => self.registers(names),
            ".shared" => names.add_shared(self.variable()),
            ".pragma" => while self.next() != ";" {},
            "@" => {
                let is_negated = self.accept("!");
                let register = self.next();
                let Operand::Register(register) = register_of(&register, names) else {
                    panic!("{register}?")
                };
                let name = self.next();
                self.instruction(start, Some((register, is_negated)), &name, names, code);
            }
            label if self.accept(":") => drop(names.labels.insert(label.to_owned(), code.len())),
            name => {
                let name = name.to_owned();
                self.instruction(start, None, &name, names, code);
            }
        }
    }

    fn registers(&mut self, names: &mut Names) {
        self.next(); // type
        loop {
            let name = self.next();
            let scope = names.registers.last_mut().expect("registers are in a scope");
            if self.accept("<") {
                let count: usize = self.next().parse().expect("a number of registers");
                self.expect(">");
                for i in 0..count {
                    scope.insert(format!("{name}{i}"), names.count + i);
                }
                names.count += count;
            } else {
                scope.insert(name, names.count);
                names.count += 1;
            }
            if !self.accept(",") {
                break self.expect(";");
            }
        }
    }

    /// Parses `.align 4 .b8 name[128];`.
    fn variable(&mut self) -> Variable {
        let (mut align, mut size) = (1, 1);
        loop {
            let word = self.next();
            if word == ".align" {
                align = self.next().parse().expect("an alignment");
            } else if let Some(ty) = word.strip_prefix('.') {
                size = PtxType::parse(ty).expect("a type").bits() as usize / 8;
            } else {
                if self.accept("[") {
                    size *= self.next().parse::<usize>().expect("a number of elements");
                    self.expect("]");
                }
                self.expect(";");
                return Variable { name: word, align, size };
            }
        }
    }

    fn instruction(
        &mut self,
        start: usize,
        guard: Option<(usize, bool)>,
        name: &str,
        names: &Names,
        code: &mut Vec<(Instruction, Vec<Unresolved>)>,
    ) {
        let (mut words, mut types) = (Vec::new(), Vec::new());
        for word in name.split('.') {
            match PtxType::parse(word) {
                Some(ty) => types.push(ty),
                None => words.push(word.to_owned()),
            }
        }
        let mut operands = Vec::new();
        while !self.accept(";") {
            operands.push(self.operand(names));
            let _ = self.accept(",") || self.accept("|");
        }
        let text = self.tokens[start..self.at].join(" ");
        code.push((Instruction { guard, name: words, types, operands: Vec::new(), text }, operands));
    }

    fn operand(&mut self, names: &Names) -> Unresolved {
        if self.accept("{") {
            let mut parts = Vec::new();
            while !self.accept("}") {
                parts.push(self.operand(names));
                self.accept(",");
            }
            return Unresolved::Vector(parts);
        }
        if self.accept("[") {
            let base = self.operand(names);
            let sign = if self.accept("+") { 1 } else { -i64::from(self.accept("-")) };
            // `[%rd1+-8]`
            let sign = if self.accept("-") { -sign } else { sign };
            let offset = if sign == 0 { 0 } else { sign * self.next().parse::<i64>().expect("an offset") };
            self.expect("]");
            return Unresolved::Address(Box::new(base), offset);
        }
        let is_negative = self.accept("-");
        let word = self.next();
        if let Some(bits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0d")) {
            return Unresolved::Known(Operand::Float(u64::from_str_radix(bits, 16).expect("a float")));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.trim_end_matches('U');
            let value = match digits.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => digits.parse(),
            };
            let value = value.expect("an integer");
            return Unresolved::Known(Operand::Integer(if is_negative {
                value.wrapping_neg()
            } else {
                value
            }));
        }
        if word == "_" {
            return Unresolved::Known(Operand::Unused);
        }
        if let Some((name, axis)) = word.rsplit_once('.') {
            let special = match name {
                "%tid" => Special::Thread,
                "%ntid" => Special::ThreadsOfBlock,
                "%ctaid" => Special::Block,
                "%nctaid" => Special::BlocksOfGrid,
                _ => panic!("unknown special register {word}"),
            };
            let axis = ["x", "y", "z"].iter().position(|known| *known == axis).expect("an axis");
            return Unresolved::Known(Operand::Special(special, axis));
        }
        if names.registers.iter().any(|scope| scope.contains_key(&word)) {
            return Unresolved::Known(register_of(&word, names));
        }
        Unresolved::Name(word)
    }
}

fn register_of(name: &str, names: &Names) -> Operand {
    let found = names.registers.iter().rev().find_map(|scope| scope.get(name));
    Operand::Register(*found.unwrap_or_else(|| panic!("no register {name}")))
}

fn resolve(operand: Unresolved, names: &Names) -> Operand {
    match operand {
        Unresolved::Known(operand) => operand,
        Unresolved::Address(base, offset) => Operand::Address(Box::new(resolve(*base, names)), offset),
        Unresolved::Vector(parts) => {
            Operand::Vector(parts.into_iter().map(|part| resolve(part, names)).collect())
        }
        Unresolved::Name(name) => {
            let param = names.params.iter().position(|param| *param == name).map(Operand::Param);
            let shared = || names.shared.get(&name).map(|at| Operand::Shared(*at));
            let label = || names.labels.get(&name).map(|at| Operand::Label(*at));
            param.or_else(shared).or_else(label).unwrap_or_else(|| panic!("unknown name {name}"))
        }
    }
}
