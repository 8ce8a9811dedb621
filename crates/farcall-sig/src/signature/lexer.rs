//! Splits text into tokens. Every token is also one or several tokens of Rust.

use super::error::{SignatureError, TextRange};

/// A token of the signature language.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A name or keyword.
    Ident(String),
    /// Digits.
    Int(String),
    /// Digits with a fraction or an exponent.
    Float(String),
    /// A string, without quotes and escapes.
    Str(String),
    /// One of [`SYMBOLS`].
    Symbol(&'static str),
    /// End of the text.
    End,
}

impl Token {
    /// Formats the token for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Ident(text) | Token::Int(text) | Token::Float(text) => format!("`{text}`"),
            Token::Str(text) => format!("the string {text:?}"),
            Token::Symbol(text) => format!("`{text}`"),
            Token::End => "the end".into(),
        }
    }
}

/// Punctuation. A symbol comes before its own prefixes.
const SYMBOLS: [&str; 26] = [
    "...", "..", "->", "==", "!=", "<=", ">=", "<", ">", "=", "(", ")", "[", "]", ",", ":", ";", "|", "?",
    "*", "+", "-", "/", "%", "{", "}",
];

/// Returns all tokens of the text, ending with [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, TextRange)>, SignatureError> {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else {
            out.push((Token::End, TextRange { offset: text.len(), len: 0 }));
            return Ok(out);
        };
        let (token, len) = if first.is_ascii_alphabetic() || first == '_' {
            let len = prefix(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            (Token::Ident(rest[..len].into()), len)
        } else if first.is_ascii_digit() {
            number(rest)
        } else if first == '"' {
            string(rest, at)?
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|s| rest.starts_with(s)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let span = TextRange { offset: at, len: first.len_utf8() };
            return Err(SignatureError::new(span, format!("`{first}` has no meaning in a signature")));
        };
        out.push((token, TextRange { offset: at, len }));
        at += len;
    }
}

/// Returns the length of the longest prefix of characters that satisfy `is`, all of which must be ASCII.
fn prefix(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

fn number(text: &str) -> (Token, usize) {
    let digits = |from: usize| prefix(&text[from..], |c| c.is_ascii_digit());
    let mut len = digits(0);
    let mut is_float = false;
    if text[len..].starts_with('.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
        is_float = true;
    }
    if text[len..].starts_with(['e', 'E']) {
        let sign = usize::from(text[len + 1..].starts_with(['+', '-']));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
            is_float = true;
        }
    }
    let number = text[..len].to_string();
    (if is_float { Token::Float(number) } else { Token::Int(number) }, len)
}

fn string(text: &str, at: usize) -> Result<(Token, usize), SignatureError> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((Token::Str(value), i + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, c @ ('"' | '\\'))) => value.push(c),
                Some((_, c)) => {
                    let span = TextRange { offset: at + i, len: 1 + c.len_utf8() };
                    return Err(SignatureError::new(span, format!("`\\{c}` is not an escape"))
                        .note("the escapes of a string are `\\\"`, `\\\\`, `\\n` and `\\t`"));
                }
                None => break,
            },
            c => value.push(c),
        }
    }
    Err(SignatureError::new(TextRange { offset: at, len: text.len() }, "the string does not end"))
}
