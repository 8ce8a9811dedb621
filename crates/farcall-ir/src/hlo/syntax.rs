//! Parses the structure of HLO text: a header, and computations of instructions with operands and attributes.
//! The meaning of opcodes and attributes is not considered here.
//!
//! An instruction that cannot be parsed is reported and left out; parsing continues after it.

use std::collections::HashSet;
use std::sync::Arc;

use super::cursor::{Cursor, Expected, Read};
use super::shape::{self, Shape};
use super::stack::Frames;
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::interrupt::{Interrupted, Pace};
use crate::text::MAX_NESTING;

/// A parsed text.
#[derive(Default)]
pub(super) struct Text<'s> {
    pub(super) name: &'s str,
    pub(super) attrs: Vec<KeyValue<'s>>,
    pub(super) frames: Frames,
    pub(super) computations: Vec<Computation<'s>>,
}

/// `name { … }`
pub(super) struct Computation<'s> {
    pub(super) name: &'s str,
    pub(super) span: Span,
    pub(super) is_entry: bool,
    pub(super) insts: Vec<Instruction<'s>>,
    /// Index of the result: the instruction marked `ROOT`, or else the last one.
    pub(super) root: usize,
    /// Length of the text in bytes.
    pub(super) len: usize,
    /// True if a part could not be parsed. Errors about missing instructions or parameters would then be
    /// misleading.
    pub(super) is_broken: bool,
}

/// `name = shape opcode(operands), attributes`
#[derive(Clone)]
pub(super) struct Instruction<'s> {
    /// The name; empty for an instruction that is nested as an operand.
    pub(super) name: &'s str,
    pub(super) span: Span,
    /// The type of the result; `None` if it follows from the operands.
    pub(super) shape: Option<Arc<Shape>>,
    /// The position of the type, or of the opcode if the type is left out.
    pub(super) shape_span: Span,
    pub(super) opcode: &'s str,
    pub(super) op_span: Span,
    /// The text between the parentheses.
    pub(super) args: Cursor<'s>,
    pub(super) operands: Vec<Operand<'s>>,
    pub(super) attrs: Vec<KeyValue<'s>>,
}

/// An operand of an instruction.
#[derive(Clone)]
pub(super) enum Operand<'s> {
    /// `name`, or `name#0#1`: element 1 of the tuple that is element 0 of `name`.
    Named { name: &'s str, span: Span, path: Vec<usize> },
    /// The instruction with this index in the computation, which is nested in place of a name.
    Nested(usize),
}

/// `key=value`
#[derive(Clone, Copy)]
pub(super) struct KeyValue<'s> {
    pub(super) key: &'s str,
    pub(super) span: Span,
    pub(super) value: Cursor<'s>,
}

/// Parses the text of a whole program.
pub(super) fn read<'s>(text: &'s str, diagnostics: &mut Diagnostics) -> Text<'s> {
    let mut reader = Reader {
        c: Cursor::new(text, 0, text.len()),
        out: Text::default(),
        diagnostics,
        inlined: HashSet::new(),
        depth: 0,
        pace: Pace::default(),
    };
    if let Err(e) = reader.module() {
        reader.diagnostics.push_last(diagnostic(e));
    }
    reader.out
}

pub(super) fn diagnostic(e: Expected) -> Diagnostic {
    Diagnostic::new("parse", e.span, e.message)
}

struct Reader<'s, 'd> {
    c: Cursor<'s>,
    out: Text<'s>,
    diagnostics: &'d mut Diagnostics,
    /// Texts of the inline computations that have been read.
    inlined: HashSet<&'s str>,
    /// Nesting depth of inline computations at the current position.
    depth: u32,
    pace: Pace,
}

impl<'s> Reader<'s, '_> {
    fn module(&mut self) -> Read<()> {
        if !self.c.eat_str("HloModule") {
            return self.c.wrong("`HloModule`");
        }
        self.out.name = self.c.name()?.0;
        // Accept `HloModule name:`.
        self.c.eat(b':');
        if self.c.eat(b',') {
            self.out.attrs = attributes(&mut self.c)?;
        }
        self.out.frames = Frames::read(&mut self.c)?;
        while !self.c.at_end() {
            self.computation()?;
        }
        Ok(())
    }

    /// Parses `ENTRY %name (p: f32[]) -> f32[] { … }`.
    fn computation(&mut self) -> Read<()> {
        let (mut name, mut span) = match self.c.name() {
            Ok(found) => found,
            Err(_) => return self.c.wrong("a computation"),
        };
        let mut is_entry = false;
        if name == "ENTRY" && self.c.peek() != Some(b'{') {
            is_entry = true;
            (name, span) = self.c.name()?;
        } else if name == "ENTRY" {
            is_entry = true;
        }
        if self.c.peek() == Some(b'(') {
            // The signature repeats the types of the instructions.
            self.c.skip_balanced()?;
            if !self.c.eat_str("->") {
                return self.c.wrong("`->`");
            }
            shape::read(&mut self.c)?;
        }
        self.c.expect(b'{')?;
        self.body(name, span, is_entry)?;
        // Attributes of the computation, such as the name of its thread, are dropped.
        if self.c.eat(b',') {
            attributes(&mut self.c)?;
        }
        Ok(())
    }

    /// Parses the instructions of a computation, after `{`.
    fn body(&mut self, name: &'s str, span: Span, is_entry: bool) -> Read<()> {
        let mut computation =
            Computation { name, span, is_entry, insts: Vec::new(), root: 0, len: 0, is_broken: false };
        let mut root = None;
        if let Err(e) = self.instructions(&mut computation, &mut root) {
            // The instructions read so far are checked, too.
            computation.is_broken = true;
            self.out.computations.push(computation);
            return Err(e);
        }
        computation.len = self.c.pos() - span.start as usize;
        computation.root = root.unwrap_or(computation.insts.len().saturating_sub(1));
        if computation.insts.is_empty() && !computation.is_broken {
            let message = format!("computation {name} has no instructions");
            self.diagnostics.push(Diagnostic::new("parse", span, message));
            computation.is_broken = true;
        }
        self.out.computations.push(computation);
        Ok(())
    }

    /// Parses instructions up to and including `}`.
    fn instructions(&mut self, computation: &mut Computation<'s>, root: &mut Option<usize>) -> Read<()> {
        while !self.c.eat(b'}') {
            if self.c.at_end() {
                let message = format!("computation {} is never closed by `}}`", computation.name);
                return Err(Expected::new(computation.span, message));
            }
            let start = self.c;
            if self.pace.is_due() {
                return Err(Expected::new(computation.span, Interrupted.to_string()));
            }
            match self.instruction(&mut computation.insts, root) {
                Ok(()) => {}
                Err(e) if e.is_open => return Err(e),
                Err(e) => {
                    self.diagnostics.push(diagnostic(e));
                    computation.is_broken = true;
                    self.skip_line(start)?;
                }
            }
        }
        Ok(())
    }

    /// Skips the instruction that begins at `start`, up to the end of its last line.
    fn skip_line(&mut self, start: Cursor<'s>) -> Read<()> {
        self.c = start;
        let mut comma = false;
        while let Some(b) = self.c.here() {
            match b {
                b'(' | b'[' | b'{' => match self.c.skip_balanced() {
                    Err(e) if e.is_open => return Err(e),
                    // If brackets do not match, continue to the end of the line.
                    Ok(()) | Err(_) => {}
                },
                b'"' => drop(self.c.string()?),
                // The end of the computation.
                b'}' => return Ok(()),
                b'\n' if !comma => return Ok(()),
                _ => self.c.jump(self.c.pos() + self.c.rest().chars().next().map_or(1, char::len_utf8)),
            }
            comma = b == b',' || (comma && b.is_ascii_whitespace());
        }
        Ok(())
    }

    fn instruction(&mut self, out: &mut Vec<Instruction<'s>>, root: &mut Option<usize>) -> Read<()> {
        let c = &mut self.c;
        let (mut name, mut span) = c.name()?;
        let is_root = name == "ROOT" && c.peek() != Some(b'=');
        if is_root {
            (name, span) = c.name()?;
        }
        c.expect(b'=')?;
        let mut inst = result(c, out, 0)?;
        (inst.name, inst.span) = (name, span);
        if c.eat(b',') {
            inst.attrs = attributes(c)?;
        }
        for attr in &inst.attrs {
            if COMPUTATIONS.contains(&attr.key) && begins_computation(attr.value) {
                self.inline(attr.value)?;
            }
        }
        if is_root && root.replace(out.len()).is_some() {
            return Err(Expected::new(span, "the computation has a second ROOT"));
        }
        out.push(inst);
        Ok(())
    }

    /// Parses an inline computation, as in `to_apply={ … }`. The text of the computation serves as its name.
    fn inline(&mut self, value: Cursor<'s>) -> Read<()> {
        if !self.inlined.insert(value.rest()) {
            return Ok(());
        }
        if self.depth >= MAX_NESTING / 2 {
            let message = format!("computations nest at most {} deep", MAX_NESTING / 2);
            return Err(Expected::new(value.span(), message));
        }
        let behind = std::mem::replace(&mut self.c, value);
        self.depth += 1;
        self.c.expect(b'{')?;
        let read = self.body(value.rest(), value.span(), false);
        self.depth -= 1;
        self.c = behind;
        read
    }
}

/// Attributes whose value is a computation.
static COMPUTATIONS: &[&str] =
    &["to_apply", "calls", "condition", "body", "select", "scatter", "true_computation", "false_computation"];

/// True for an inline computation in braces. Braces that contain only names are a list of computations.
fn begins_computation(mut c: Cursor<'_>) -> bool {
    c.eat(b'{')
        && match c.name() {
            Ok(("ROOT", _)) => c.name().is_ok() && c.peek() == Some(b'='),
            Ok(_) => c.peek() == Some(b'='),
            Err(_) => false,
        }
}

/// Parses `shape opcode(operands)`: an instruction without name and attributes, at nesting depth `depth`.
/// Instructions that are nested as operands are added to `out`.
fn result<'s>(c: &mut Cursor<'s>, out: &mut Vec<Instruction<'s>>, depth: u32) -> Read<Instruction<'s>> {
    c.skip();
    let start = c.pos();
    let shape = if begins_shape(*c) { Some(Arc::new(shape::read(c)?)) } else { None };
    let mut shape_span = Span::new(start, c.pos());
    c.skip();
    let at = c.pos();
    let Ok(opcode) = c.word() else { return c.wrong("an opcode such as `add`") };
    let op_span = Span::new(at, c.pos());
    if c.peek() != Some(b'(') {
        return c.wrong("`(`");
    }
    if shape.is_none() {
        shape_span = op_span;
    }
    let open = c.pos();
    c.skip_balanced()?;
    let args = c.part(open + 1, c.pos() - 1);
    let operands = if takes_names(opcode) { operands(args, out, depth)? } else { Vec::new() };
    let span = Span::new(start, c.pos());
    Ok(Instruction { name: "", span, shape, shape_span, opcode, op_span, args, operands, attrs: Vec::new() })
}

/// True if the parentheses contain operands rather than a number or the elements of a constant.
fn takes_names(opcode: &str) -> bool {
    !matches!(opcode, "parameter" | "constant")
}

/// True if a shape comes next: a word and `[`, a parenthesis, or `b(`.
fn begins_shape(mut c: Cursor<'_>) -> bool {
    match c.peek() {
        Some(b'(') => true,
        Some(b'%') => false,
        _ => match c.word() {
            Ok(word) => c.peek() == Some(b'[') || (word == "b" && c.here() == Some(b'(')),
            Err(_) => false,
        },
    }
}

/// Parses `%a, f32[2]{0} %b, c#1, add(d, e)`.
fn operands<'s>(mut c: Cursor<'s>, out: &mut Vec<Instruction<'s>>, depth: u32) -> Read<Vec<Operand<'s>>> {
    let mut found = Vec::new();
    if c.at_end() {
        return Ok(found);
    }
    loop {
        // XLA ignores a shape that is not followed by a name.
        if let Some(after) = lone_shape(c) {
            c = after;
            continue;
        }
        found.push(operand(&mut c, out, depth)?);
        if c.at_end() {
            return Ok(found);
        }
        c.expect(b',')?;
    }
}

/// If a shape without a name comes next, returns the position after the shape and its comma.
fn lone_shape(mut c: Cursor<'_>) -> Option<Cursor<'_>> {
    (begins_shape(c) && shape::read(&mut c).is_ok() && c.eat(b',')).then_some(c)
}

/// Parses a name or an instruction, with or without a shape.
fn operand<'s>(c: &mut Cursor<'s>, out: &mut Vec<Instruction<'s>>, depth: u32) -> Read<Operand<'s>> {
    let start = *c;
    if begins_shape(*c) {
        shape::read(c)?;
    }
    let (name, span) = c.name()?;
    if c.peek() == Some(b'(') {
        if depth >= MAX_NESTING {
            let message = format!("operands nest at most {MAX_NESTING} deep");
            return Err(Expected::new(span, message));
        }
        *c = start;
        let inst = result(c, out, depth + 1)?;
        out.push(inst);
        return Ok(Operand::Nested(out.len() - 1));
    }
    let mut path = Vec::new();
    while c.eat(b'#') {
        path.push(c.usize()?);
    }
    Ok(Operand::Named { name, span, path })
}

/// Parses `s32[2]{0} {1, 2}`: a constant after its type.
fn literal<'s>(c: &mut Cursor<'s>) -> Read<Cursor<'s>> {
    c.skip();
    let start = c.pos();
    if c.peek() != Some(b'(') {
        shape::read(c)?;
    }
    c.value()?;
    Ok(c.part(start, c.pos()))
}

/// Parses `key=value, key=value`.
fn attributes<'s>(c: &mut Cursor<'s>) -> Read<Vec<KeyValue<'s>>> {
    let mut out = Vec::new();
    loop {
        c.skip();
        let start = c.pos();
        let Ok(key) = c.word() else { return c.wrong("an attribute such as `dimensions={0}`") };
        let span = Span::new(start, c.pos());
        c.expect(b'=')?;
        let value = if key == "literal" { literal(c)? } else { c.value()? };
        out.push(KeyValue { key, span, value });
        if !c.eat(b',') {
            break;
        }
    }
    let mut places: Vec<usize> = (0..out.len()).collect();
    places.sort_by_key(|i| out[*i].key);
    match places.windows(2).find(|pair| out[pair[0]].key == out[pair[1]].key) {
        Some(pair) => {
            let again = &out[pair[1]];
            Err(Expected::new(again.span, format!("attribute `{}` is given twice", again.key)))
        }
        None => Ok(out),
    }
}

/// Returns the shape of an instruction in the text.
pub(super) fn declared<'i>(inst: &'i Instruction<'_>) -> Read<&'i Arc<Shape>> {
    let opcode = inst.opcode;
    let message = || format!("{opcode} needs the type of its result before it, as in `f32[2] {opcode}(…)`");
    inst.shape.as_ref().ok_or_else(|| Expected::new(inst.op_span, message()))
}

/// Parses the number of a parameter.
pub(super) fn parameter_number(inst: &Instruction<'_>) -> Read<usize> {
    let mut c = inst.args;
    let number = c.usize()?;
    c.finish()?;
    Ok(number)
}

/// Looks up an attribute by name.
pub(super) fn attribute<'s>(attrs: &[KeyValue<'s>], key: &str) -> Option<Cursor<'s>> {
    attrs.iter().find(|a| a.key == key).map(|a| a.value)
}
