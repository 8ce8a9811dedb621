//! The structure of HLO text: a header, computations, instructions with operands and attributes. What opcodes and
//! attributes mean is not looked at here.
//!
//! An instruction that is not understood is reported and left out, and reading goes on behind it.

use std::sync::Arc;

use super::cursor::{Cursor, Expected, Read};
use super::shape::{self, Shape};
use super::stack::Frames;
use crate::diag::{Diagnostic, Diagnostics, Span};

/// A text as it stands.
#[derive(Default)]
pub(super) struct Text<'s> {
    pub(super) name: &'s str,
    pub(super) attrs: Vec<Attribute<'s>>,
    pub(super) frames: Frames,
    pub(super) computations: Vec<Computation<'s>>,
}

/// `name { … }`
pub(super) struct Computation<'s> {
    pub(super) name: &'s str,
    pub(super) span: Span,
    pub(super) is_entry: bool,
    pub(super) insts: Vec<Instruction<'s>>,
    /// The instruction that is the result: that of `ROOT`, else the last one.
    pub(super) root: usize,
    /// Bytes of its text.
    pub(super) len: usize,
    /// Something in it was not understood: messages about what it lacks would be wrong.
    pub(super) is_broken: bool,
}

/// `name = shape opcode(operands), attributes`
#[derive(Clone)]
pub(super) struct Instruction<'s> {
    pub(super) name: &'s str,
    pub(super) span: Span,
    pub(super) shape: Arc<Shape>,
    pub(super) shape_span: Span,
    pub(super) opcode: &'s str,
    pub(super) op_span: Span,
    /// What stands between the parentheses.
    pub(super) args: Cursor<'s>,
    pub(super) operands: Vec<(&'s str, Span)>,
    pub(super) attrs: Vec<Attribute<'s>>,
}

/// `key=value`
#[derive(Clone, Copy)]
pub(super) struct Attribute<'s> {
    pub(super) key: &'s str,
    pub(super) span: Span,
    pub(super) value: Cursor<'s>,
}

/// Reads a whole text.
pub(super) fn read<'s>(text: &'s str, diagnostics: &mut Diagnostics) -> Text<'s> {
    let mut reader = Reader { c: Cursor::new(text, 0, text.len()), out: Text::default(), diagnostics };
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
}

impl<'s> Reader<'s, '_> {
    fn module(&mut self) -> Read<()> {
        if !self.c.eat_str("HloModule") {
            return self.c.wrong("`HloModule`");
        }
        self.out.name = self.c.name()?.0;
        if self.c.eat(b',') {
            self.out.attrs = attributes(&mut self.c)?;
        }
        self.out.frames = Frames::read(&mut self.c)?;
        while !self.c.at_end() {
            self.computation()?;
        }
        Ok(())
    }

    /// `ENTRY %name (p: f32[]) -> f32[] { … }`
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
            // The instructions say the same.
            self.c.skip_balanced()?;
            if !self.c.eat_str("->") {
                return self.c.wrong("`->`");
            }
            shape::read(&mut self.c)?;
        }
        self.c.expect(b'{')?;
        let mut computation =
            Computation { name, span, is_entry, insts: Vec::new(), root: 0, len: 0, is_broken: false };
        let mut root = None;
        if let Err(e) = self.instructions(&mut computation, &mut root) {
            // What was read of it is looked at, too.
            computation.is_broken = true;
            self.out.computations.push(computation);
            return Err(e);
        }
        computation.len = self.c.pos() - span.start as usize;
        // Attributes of the computation, such as the name of its thread.
        if self.c.eat(b',') {
            attributes(&mut self.c)?;
        }
        computation.root = root.unwrap_or(computation.insts.len().saturating_sub(1));
        if computation.insts.is_empty() && !computation.is_broken {
            let message = format!("computation {name} has no instructions");
            self.diagnostics.push(Diagnostic::new("parse", span, message));
            computation.is_broken = true;
        }
        self.out.computations.push(computation);
        Ok(())
    }

    /// Everything up to `}`, which is taken.
    fn instructions(&mut self, computation: &mut Computation<'s>, root: &mut Option<usize>) -> Read<()> {
        while !self.c.eat(b'}') {
            if self.c.at_end() {
                let message = format!("computation {} is never closed by `}}`", computation.name);
                return Err(Expected::new(computation.span, message));
            }
            let start = self.c;
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

    /// Goes behind the line on which an instruction that begins at `start` ends.
    fn skip_line(&mut self, start: Cursor<'s>) -> Read<()> {
        self.c = start;
        let mut comma = false;
        while let Some(b) = self.c.here() {
            match b {
                b'(' | b'[' | b'{' => match self.c.skip_balanced() {
                    Err(e) if e.is_open => return Err(e),
                    // On to the end of the line where brackets do not fit.
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
        c.skip();
        let start = c.pos();
        let shape = Arc::new(shape::read(c)?);
        let shape_span = Span::new(start, c.pos());
        c.skip();
        let at = c.pos();
        let Ok(opcode) = c.word() else { return c.wrong("an opcode such as `add`") };
        let op_span = Span::new(at, c.pos());
        if c.peek() != Some(b'(') {
            return c.wrong("`(`");
        }
        let open = c.pos();
        c.skip_balanced()?;
        let args = c.part(open + 1, c.pos() - 1);
        let operands = if takes_names(opcode) { operands(args)? } else { Vec::new() };
        let attrs = if c.eat(b',') { attributes(c)? } else { Vec::new() };
        if is_root && root.replace(out.len()).is_some() {
            return Err(Expected::new(span, "the computation has a second ROOT"));
        }
        out.push(Instruction { name, span, shape, shape_span, opcode, op_span, args, operands, attrs });
        Ok(())
    }
}

/// True if operands stand between the parentheses, not a number or the elements of a constant.
fn takes_names(opcode: &str) -> bool {
    !matches!(opcode, "parameter" | "constant")
}

/// `%a, f32[2]{0} %b, c`
fn operands<'s>(mut c: Cursor<'s>) -> Read<Vec<(&'s str, Span)>> {
    let mut out = Vec::new();
    if c.at_end() {
        return Ok(out);
    }
    loop {
        out.push(operand(&mut c)?);
        if c.at_end() {
            return Ok(out);
        }
        c.expect(b',')?;
    }
}

/// A name, behind a shape or not: a word and `[` begin a shape, and so does a parenthesis.
fn operand<'s>(c: &mut Cursor<'s>) -> Read<(&'s str, Span)> {
    let mut ahead = *c;
    let is_shape = match c.peek() {
        Some(b'(') => true,
        Some(b'%') => false,
        _ => ahead.word().is_ok() && ahead.here() == Some(b'['),
    };
    if is_shape {
        shape::read(c)?;
    }
    c.name()
}

/// `key=value, key=value`
fn attributes<'s>(c: &mut Cursor<'s>) -> Read<Vec<Attribute<'s>>> {
    let mut out = Vec::new();
    loop {
        c.skip();
        let start = c.pos();
        let Ok(key) = c.word() else { return c.wrong("an attribute such as `dimensions={0}`") };
        let span = Span::new(start, c.pos());
        c.expect(b'=')?;
        out.push(Attribute { key, span, value: c.value()? });
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
