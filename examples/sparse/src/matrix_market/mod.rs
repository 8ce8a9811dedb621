//! A reader of Matrix Market files.
//!
//! The format is the one of R. F. Boisvert, R. Pozo and K. A. Remington, *The Matrix Market Exchange Formats:
//! Initial Design* (NISTIR 5935, 1996): coordinate and array files, with real, complex, integer or pattern
//! entries, of general, symmetric, skew-symmetric or Hermitian matrices.

use std::fmt;
use std::io::BufRead;

use farcall_ffi::Complex;

#[cfg(test)]
mod tests;

/// A matrix in coordinate form.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Matrix {
    /// Number of rows.
    pub(crate) rows: usize,
    /// Number of columns.
    pub(crate) columns: usize,
    /// True if the file's entries are complex numbers.
    pub(crate) is_complex: bool,
    /// Row, column and value of each entry; of symmetric matrices, both triangles.
    pub(crate) entries: Vec<(usize, usize, Complex<f64>)>,
}

/// An error in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReadError {
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// Description of the error.
    pub(crate) message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ReadError {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Real,
    Complex,
    Integer,
    Pattern,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Symmetry {
    General,
    Symmetric,
    SkewSymmetric,
    Hermitian,
}

/// The first line of a file.
#[derive(Clone, Copy, Debug)]
struct Header {
    is_array: bool,
    field: Field,
    symmetry: Symmetry,
}

/// Reads a matrix.
///
/// # Errors
/// If the file cannot be read or is malformed, with the number of the line.
pub(crate) fn read(input: impl BufRead) -> Result<Matrix, ReadError> {
    let mut lines = Lines { lines: input.lines(), number: 0 };
    let header = match lines.next_line()? {
        Some(line) => header(&line).map_err(|message| lines.error(message))?,
        None => return Err(lines.error("the file is empty")),
    };
    let Some(sizes) = lines.next_data()? else {
        return Err(lines.error("the line with the sizes is missing"));
    };
    let sizes: Vec<&str> = sizes.split_ascii_whitespace().collect();
    let numbers: Option<Vec<usize>> = sizes.iter().map(|size| size.parse().ok()).collect();
    let (rows, columns, count) = match numbers.as_deref() {
        Some([rows, columns, count]) if !header.is_array => (*rows, *columns, *count),
        Some([rows, columns]) if header.is_array => (*rows, *columns, 0),
        _ => {
            let expected = if header.is_array { "rows and columns" } else { "rows, columns and entries" };
            return Err(
                lines.error(format!("expected the numbers of {expected}, found `{}`", sizes.join(" ")))
            );
        }
    };
    if header.symmetry != Symmetry::General && rows != columns {
        return Err(lines.error(format!("a matrix of {rows}×{columns} elements cannot be symmetric")));
    }
    let mut matrix =
        Matrix { rows, columns, is_complex: header.field == Field::Complex, entries: Vec::new() };
    match header.is_array {
        true => read_array(&mut lines, header, &mut matrix)?,
        false => read_coordinates(&mut lines, header, count, &mut matrix)?,
    }
    match lines.next_data()? {
        Some(more) => Err(lines.error(format!("expected the end of the file, found `{more}`"))),
        None => Ok(matrix),
    }
}

fn header(line: &str) -> Result<Header, String> {
    let words: Vec<String> = line.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["%%matrixmarket", "matrix", format, field, symmetry] = words[..] else {
        return Err("expected `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`".to_owned());
    };
    let is_array = match format {
        "coordinate" => false,
        "array" => true,
        other => return Err(format!("expected coordinate or array, found `{other}`")),
    };
    let field = match field {
        "real" => Field::Real,
        "complex" => Field::Complex,
        "integer" => Field::Integer,
        "pattern" if !is_array => Field::Pattern,
        "pattern" => return Err("an array cannot be a pattern".to_owned()),
        other => return Err(format!("expected real, complex, integer or pattern, found `{other}`")),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::SkewSymmetric,
        "hermitian" if field == Field::Complex => Symmetry::Hermitian,
        "hermitian" => return Err("a Hermitian matrix must be complex".to_owned()),
        other => {
            return Err(format!("expected general, symmetric, skew-symmetric or hermitian, found `{other}`"));
        }
    };
    if field == Field::Pattern && symmetry == Symmetry::SkewSymmetric {
        return Err("a pattern cannot be skew-symmetric".to_owned());
    }
    Ok(Header { is_array, field, symmetry })
}

/// Lines of a file, which are counted.
struct Lines<L> {
    lines: L,
    /// Number of the line that was read last.
    number: usize,
}

impl<L: Iterator<Item = std::io::Result<String>>> Lines<L> {
    fn error(&self, message: impl Into<String>) -> ReadError {
        ReadError { line: self.number.max(1), message: message.into() }
    }

    fn next_line(&mut self) -> Result<Option<String>, ReadError> {
        let line = self.lines.next();
        self.number += 1;
        line.transpose().map_err(|error| self.error(error.to_string()))
    }

    /// Returns the next line that is neither empty nor a comment.
    fn next_data(&mut self) -> Result<Option<String>, ReadError> {
        while let Some(line) = self.next_line()? {
            if !line.trim().is_empty() && !line.starts_with('%') {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

type Line = std::io::Result<String>;

fn read_coordinates(
    lines: &mut Lines<impl Iterator<Item = Line>>,
    header: Header,
    count: usize,
    matrix: &mut Matrix,
) -> Result<(), ReadError> {
    for entry in 0..count {
        let Some(line) = lines.next_data()? else {
            return Err(lines.error(format!("the file ends after {entry} of {count} entries")));
        };
        let mut words = line.split_ascii_whitespace();
        let mut index = |name: &str, limit: usize| {
            let word = words.next().unwrap_or_default();
            match word.parse::<usize>() {
                Ok(index) if (1..=limit).contains(&index) => Ok(index - 1),
                _ => Err(lines.error(format!("the {name} must be from 1 to {limit}, but is `{word}`"))),
            }
        };
        let (row, column) = (index("row", matrix.rows)?, index("column", matrix.columns)?);
        let value = value(words, header.field).map_err(|message| lines.error(message))?;
        push(matrix, header.symmetry, [row, column], value).map_err(|message| lines.error(message))?;
    }
    Ok(())
}

/// Reads an array, column by column; of symmetric matrices, the lower triangle.
fn read_array(
    lines: &mut Lines<impl Iterator<Item = Line>>,
    header: Header,
    matrix: &mut Matrix,
) -> Result<(), ReadError> {
    for column in 0..matrix.columns {
        let first = match header.symmetry {
            Symmetry::General => 0,
            Symmetry::SkewSymmetric => column + 1,
            Symmetry::Symmetric | Symmetry::Hermitian => column,
        };
        for row in first..matrix.rows {
            let Some(line) = lines.next_data()? else {
                return Err(lines.error(format!(
                    "the file ends before row {} of column {}",
                    row + 1,
                    column + 1
                )));
            };
            let value =
                value(line.split_ascii_whitespace(), header.field).map_err(|message| lines.error(message))?;
            push(matrix, header.symmetry, [row, column], value).map_err(|message| lines.error(message))?;
        }
    }
    Ok(())
}

/// Parses the numbers of an entry.
fn value<'a>(mut words: impl Iterator<Item = &'a str>, field: Field) -> Result<Complex<f64>, String> {
    let mut number = |part: &str| {
        let word = words.next().unwrap_or_default();
        let is_valid = field != Field::Integer || word.parse::<i64>().is_ok();
        word.parse::<f64>()
            .ok()
            .filter(|_| is_valid)
            .ok_or_else(|| format!("expected {part}, found `{word}`"))
    };
    let value = match field {
        Field::Pattern => Complex::new(1.0, 0.0),
        Field::Real => Complex::new(number("a number")?, 0.0),
        Field::Integer => Complex::new(number("an integer")?, 0.0),
        Field::Complex => {
            let re = number("the real part")?;
            Complex::new(re, number("the imaginary part")?)
        }
    };
    match words.next() {
        Some(more) => Err(format!("expected the end of the line, found `{more}`")),
        None => Ok(value),
    }
}

/// Adds an entry, and the one at its mirrored position.
fn push(
    matrix: &mut Matrix,
    symmetry: Symmetry,
    [row, column]: [usize; 2],
    value: Complex<f64>,
) -> Result<(), String> {
    let mirrored = match symmetry {
        Symmetry::General => None,
        Symmetry::SkewSymmetric if row == column => {
            return Err("a skew-symmetric matrix has no entries on its diagonal".to_owned());
        }
        _ if row < column => return Err("a symmetric matrix lists its lower triangle only".to_owned()),
        Symmetry::Hermitian if row == column && value.im != 0.0 => {
            return Err("the diagonal of a Hermitian matrix is real".to_owned());
        }
        _ if row == column => None,
        Symmetry::Symmetric => Some(value),
        Symmetry::SkewSymmetric => Some(-value),
        Symmetry::Hermitian => Some(value.conj()),
    };
    matrix.entries.push((row, column, value));
    matrix.entries.extend(mirrored.map(|value| (column, row, value)));
    Ok(())
}
