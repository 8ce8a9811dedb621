//! Locations in Python programs: the tables after the header (`FileNames`, `FunctionNames`, `FileLocations`,
//! `StackFrames`), to which `stack_frame_id` in metadata refers, and the conversion between metadata and
//! locations.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cursor::{Cursor, Read, quoted};
use crate::module::Loc;

/// The tables. Each maps numbers to entries.
#[derive(Default)]
pub(super) struct Frames {
    files: FxHashMap<i64, Arc<str>>,
    /// File, line and column of each location.
    places: FxHashMap<i64, [i64; 3]>,
    /// Location of each frame.
    frames: FxHashMap<i64, i64>,
}

impl Frames {
    /// Parses the tables at the cursor, if any.
    pub(super) fn read(c: &mut Cursor<'_>) -> Read<Self> {
        let mut out = Frames::default();
        loop {
            let mut ahead = *c;
            let table = match ahead.word() {
                Ok(table @ ("FileNames" | "FunctionNames" | "FileLocations" | "StackFrames")) => table,
                _ => return Ok(out),
            };
            *c = ahead;
            while c.peek().is_some_and(|b| b.is_ascii_digit()) {
                let number = c.int()?;
                match table {
                    "FileNames" => drop(out.files.insert(number, text(c)?)),
                    "FunctionNames" => drop(text(c)?),
                    "FileLocations" => {
                        let [file, line, column] = fields(c, ["file_name_id", "line", "column"])?;
                        out.places.insert(number, [file, line, column]);
                    }
                    _ => {
                        let [place] = fields(c, ["file_location_id"])?;
                        out.frames.insert(number, place);
                    }
                }
            }
        }
    }

    fn loc(&self, frame: i64) -> Option<Loc> {
        let [file, line, column] = *self.places.get(self.frames.get(&frame)?)?;
        place(self.files.get(&file)?.clone(), line, column)
    }
}

fn text(c: &mut Cursor<'_>) -> Read<Arc<str>> {
    Ok(String::from_utf8_lossy(&c.string()?).into())
}

fn place(file: Arc<str>, line: i64, column: i64) -> Option<Loc> {
    let number = |n: i64| u32::try_from(n).ok();
    Some(Loc::File { file, line: number(line)?, column: number(column)? })
}

/// Parses `{a=1 b=2}`: returns the numbers of these keys, 0 for absent ones.
fn fields<const N: usize>(c: &mut Cursor<'_>, keys: [&str; N]) -> Read<[i64; N]> {
    let mut out = [0; N];
    c.expect(b'{')?;
    while !c.eat(b'}') {
        let Ok(key) = c.word() else { return c.wrong("`}`") };
        c.expect(b'=')?;
        let value = c.int()?;
        if let Some(i) = keys.iter().position(|k| *k == key) {
            out[i] = value;
        }
        c.eat(b',');
    }
    Ok(out)
}

/// Converts `{op_name="jit(f)/add" source_file="f.py" source_line=3}` to a location. Other keys are dropped.
pub(super) fn metadata(mut c: Cursor<'_>, frames: &Frames) -> Read<Option<Arc<Loc>>> {
    let (mut name, mut file, mut line, mut column, mut at) = (None, None, 0, 0, None);
    c.expect(b'{')?;
    while !c.eat(b'}') {
        let Ok(key) = c.word() else { return c.wrong("`}`") };
        c.expect(b'=')?;
        match key {
            "op_name" => name = Some(text(&mut c)?),
            "source_file" => file = Some(text(&mut c)?),
            "source_line" => line = c.int()?,
            "source_column" => column = c.int()?,
            "stack_frame_id" => at = frames.loc(c.int()?),
            _ => drop(c.value()?),
        }
        c.eat(b',');
    }
    let at = at.or_else(|| place(file?, line, column)).map(Arc::new);
    Ok(match name {
        Some(name) => Some(Arc::new(Loc::Name(name, at))),
        None => at,
    })
}

/// Converts a location to metadata: the outermost name, and the first file position.
pub(super) fn of_loc(loc: &Loc) -> Option<String> {
    let mut parts = Vec::new();
    let mut next = Some(loc);
    while let Some(loc) = next {
        next = match loc {
            Loc::Unknown => None,
            Loc::Name(name, child) => {
                if parts.is_empty() {
                    parts.push(format!("op_name={}", quoted(name.as_bytes())));
                }
                child.as_deref()
            }
            Loc::CallSite(callee, _) => Some(callee),
            Loc::Fused(parts) => parts.first().map(|loc| &**loc),
            Loc::File { file, line, column } => {
                let file = quoted(file.as_bytes());
                parts.push(format!("source_file={file} source_line={line} source_column={column}"));
                None
            }
        };
    }
    (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(" ")))
}
