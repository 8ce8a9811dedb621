//! Prints a proto module as HLO text: computations, and instructions with their operands.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::attributes;
use super::literal;
use super::wire::{Error, Message, Read};
use crate::hlo::attribute_fields::AttrWriter;
use crate::hlo::cursor::quoted;
use crate::literal::Literal;

/// A module as text, with its constants.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) literals: Vec<Literal>,
}

/// Prints the text of an `HloModuleProto`, by itself or in an `HloProto`.
pub(super) fn module(bytes: &[u8]) -> Read<Written> {
    let top = Message::parse(bytes, 0)?;
    // A module has the name or the id of its entry. An `HloProto` has neither.
    let inner = if top.has(2) || top.has(6) { None } else { top.message(1)? };
    let module = inner.unwrap_or(top);
    let mut writer = Writer { text: String::new(), literals: Vec::new(), computations: FxHashMap::default() };
    writer.module(&module)?;
    let Writer { text, literals, .. } = writer;
    Ok(Written { name: module.text(1).into_owned(), text, literals })
}

pub(super) struct Writer {
    text: String,
    literals: Vec<Literal>,
    /// Names of computations by id.
    computations: FxHashMap<u32, String>,
}

/// Returns the id of an instruction or computation, which is unique in its computation or module. The upper
/// half of an instruction's 64-bit id may be the id of its computation.
fn number(id: i64) -> u32 {
    id as u32
}

/// Maximum length of a name in bytes. Longer names are replaced, because a name is repeated wherever its
/// instruction is an operand.
const MAX_NAME_LEN: usize = 256;

/// Returns `%name` if the name is valid in HLO text, otherwise a generated name.
fn name(message: &Message<'_>, id: i64) -> String {
    let name = message.text(1);
    let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    if !name.is_empty() && name.len() <= MAX_NAME_LEN && name.bytes().all(is_word) {
        format!("%{name}")
    } else {
        format!("%_{}", number(id))
    }
}

impl Writer {
    fn module(&mut self, module: &Message<'_>) -> Read<()> {
        let mut header = AttrWriter::default();
        attributes::header(module, &mut header)?;
        self.text = format!("HloModule m{}\n", header.0);
        if let Some(frames) = module.message(17)? {
            self.frames(&frames)?;
        }
        let computations = module.messages(3)?;
        for computation in &computations {
            let id = computation.int(5);
            self.computations.insert(number(id), name(computation, id));
        }
        for computation in &computations {
            let is_entry = number(computation.int(5)) == number(module.int(6));
            self.computation(computation, is_entry)?;
        }
        Ok(())
    }

    /// Prints the tables of positions in Python programs, to which the metadata of instructions refers.
    fn frames(&mut self, frames: &Message<'_>) -> Read<()> {
        for (title, field) in [("FileNames", 1), ("FunctionNames", 2)] {
            let _ = writeln!(self.text, "\n{title}");
            for (i, text) in frames.texts(field).iter().enumerate() {
                let _ = writeln!(self.text, "{} {}", i + 1, quoted(text.as_bytes()));
            }
        }
        let _ = writeln!(self.text, "\nFileLocations");
        for (i, place) in frames.messages(3)?.iter().enumerate() {
            let [file, function, line, column] = [1, 2, 3, 4].map(|field| place.int(field));
            let _ = writeln!(
                self.text,
                "{} {{file_name_id={file} function_name_id={function} line={line} column={column}}}",
                i + 1
            );
        }
        let _ = writeln!(self.text, "\nStackFrames");
        for (i, frame) in frames.messages(4)?.iter().enumerate() {
            let (place, parent) = (frame.int(1), frame.int(2));
            let _ = writeln!(self.text, "{} {{file_location_id={place} parent_frame_id={parent}}}", i + 1);
        }
        Ok(())
    }

    fn computation(&mut self, computation: &Message<'_>, is_entry: bool) -> Read<()> {
        let entry = if is_entry { "ENTRY " } else { "" };
        let name_of = self.computations.get(&number(computation.int(5))).cloned().unwrap_or_default();
        let _ = writeln!(self.text, "\n{entry}{name_of} {{");
        let insts = computation.messages(2)?;
        let names: FxHashMap<u32, String> =
            insts.iter().map(|inst| (number(inst.int(35)), name(inst, inst.int(35)))).collect();
        for inst in &insts {
            let root = if number(inst.int(35)) == number(computation.int(6)) { "ROOT " } else { "" };
            let line = self.instruction(inst, &names)?;
            let _ = writeln!(self.text, "  {root}{line}");
            if self.text.len() > crate::diag::Source::MAX_LEN {
                return Err(Error::new(inst.at, "the module is too long as text"));
            }
        }
        self.text.push_str("}\n");
        Ok(())
    }

    fn instruction(&mut self, inst: &Message<'_>, names: &FxHashMap<u32, String>) -> Read<String> {
        let opcode = inst.text(2);
        let Some(shape) = inst.message(3)? else {
            return Err(Error::new(inst.at, format!("{opcode} without a shape")));
        };
        let operands = match &*opcode {
            "parameter" => inst.int(9).to_string(),
            "constant" => match inst.message(8)? {
                Some(constant) => literal::constant(&constant, &mut self.literals)?,
                None => return Err(Error::new(inst.at, "a constant without elements")),
            },
            _ => {
                let operand = |id: &i64| match names.get(&number(*id)) {
                    Some(name) => Ok(name.as_str()),
                    None => Err(Error::new(inst.at, format!("{opcode}: there is no instruction {id}"))),
                };
                inst.ints(36)?.iter().map(operand).collect::<Read<Vec<_>>>()?.join(", ")
            }
        };
        let called = |id: &i64| match self.computations.get(&number(*id)) {
            Some(name) => Ok(name.clone()),
            None => Err(Error::new(inst.at, format!("{opcode}: there is no computation {id}"))),
        };
        let called = inst.ints(38)?.iter().map(called).collect::<Read<Vec<_>>>()?;
        let mut out = AttrWriter::default();
        attributes::write(inst, &opcode, &called, &mut out)?;
        let (own, shape) = (name(inst, inst.int(35)), literal::shape(&shape)?);
        Ok(format!("{own} = {shape} {opcode}({operands}){}", out.0))
    }
}
