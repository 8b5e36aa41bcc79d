//! One line of a trace: its fields, where they are, and numbers that are digits and nothing else.

use std::io::{self, BufRead};

use super::MAX_WHOLE;

/// What is wrong with a line, and where in it.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Fault {
    /// Column in bytes, from 1.
    pub(super) column: usize,
    /// What was found and what is allowed.
    pub(super) reason: String,
}

/// Lines without their ends. Blank lines are passed over only at the end of the input: in the middle they are
/// handed on, and refused by whoever expects a record there.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
    blanks: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), number: 0, blanks: 0 }
    }

    /// The number, from 1, of the line [`next_line`](Self::next_line) returns next, unless that skips blanks.
    pub(super) const fn number(&self) -> u64 {
        self.number + 1
    }

    /// The next line, `None` at the end. The buffer is reused: no allocation in the steady state.
    pub(super) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        if self.blanks > 0 {
            // Handed on one at a time, because a record follows them.
            self.blanks -= 1;
            self.number += 1;
            return Ok(Some(&[]));
        }
        self.read_one()?;
        if self.at_end() {
            return Ok(None);
        }
        self.number += 1;
        if self.number == 1 && self.buffer.starts_with(b"\xEF\xBB\xBF") {
            self.buffer.drain(..3);
        }
        if trimmed(&self.buffer).is_empty() {
            return self.blank();
        }
        Ok(Some(trimmed(&self.buffer)))
    }

    /// A blank line was read: nothing, if only blank lines follow it.
    fn blank(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let rest = self.input.fill_buf()?;
            if rest.is_empty() {
                return Ok(None);
            }
            let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let ended = blank < rest.len();
            let lines = rest[..blank].iter().filter(|&&byte| byte == b'\n').count();
            self.blanks += u64::try_from(lines).unwrap_or(u64::MAX);
            self.input.consume(blank);
            if ended {
                return Ok(Some(&[]));
            }
        }
    }

    fn read_one(&mut self) -> io::Result<()> {
        self.buffer.clear();
        self.input.read_until(b'\n', &mut self.buffer)?;
        Ok(())
    }

    const fn at_end(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// Without `\n` or `\r\n`.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line that is text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok(Self(text)),
            Err(error) => Err(Fault {
                column: error.valid_up_to() + 1,
                reason: "found bytes that are not text, allowed is UTF-8".to_owned(),
            }),
        }
    }

    pub(super) const fn text(self) -> &'a str {
        self.0
    }

    /// The line as one fault, at its first column.
    pub(super) fn fault(self, allowed: &str) -> Fault {
        let found = if self.0.is_empty() { "a blank line".to_owned() } else { quoted(self.0) };
        Fault { column: 1, reason: format!("found {found}, allowed is {allowed}") }
    }

    /// Exactly the fields named, or a fault that says how many there are.
    pub(super) fn fields<const N: usize>(self, names: [&'static str; N]) -> Result<[Field<'a>; N], Fault> {
        let mut parts = self.0.split(',');
        let mut column = 1;
        let fields = names.map(|name| {
            let text = parts.next();
            let field = Field { name, text: text.unwrap_or_default(), column };
            column += text.map_or(0, |text| text.len() + 1);
            field
        });
        let found = self.0.split(',').count();
        if found == N {
            return Ok(fields);
        }
        let allowed = format!("{N} fields: {}", names.join(","));
        if self.0.is_empty() {
            return Err(self.fault(&allowed));
        }
        let s = if found == 1 { "" } else { "s" };
        // Too few: where the line ends. Too many: where the first of them begins.
        let column = if found < N { self.0.len() + 1 } else { column };
        Err(Fault { column, reason: format!("found {found} field{s}, allowed is {allowed}") })
    }
}

/// One field and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    name: &'static str,
    text: &'a str,
    column: usize,
}

impl<'a> Field<'a> {
    pub(super) const fn text(self) -> &'a str {
        self.text
    }

    /// The fault "this field is not that".
    pub(super) fn fault(self, allowed: &str) -> Fault {
        let reason = format!("{} is {}, allowed is {allowed}", self.name, quoted(self.text));
        Fault { column: self.column, reason }
    }

    /// A whole number from 0 to [`MAX_WHOLE`].
    pub(super) fn whole(self) -> Result<u64, Fault> {
        self.digits().ok_or_else(|| self.fault(&format!("a whole number from 0 to {MAX_WHOLE}")))
    }

    /// Seconds as nanoseconds, exactly; digits past the ninth are dropped.
    pub(super) fn seconds(self) -> Result<u64, Fault> {
        self.scaled(9).ok_or_else(|| {
            self.fault(&format!("a number of seconds from 0 to {MAX_WHOLE}, without sign or exponent"))
        })
    }

    /// Milliseconds as nanoseconds, exactly; digits past the sixth are dropped.
    pub(super) fn milliseconds(self) -> Result<u64, Fault> {
        self.scaled(6).ok_or_else(|| {
            self.fault(&format!("a number of milliseconds from 0 to {MAX_WHOLE}, without sign or exponent"))
        })
    }

    /// A name: not empty, no quotes (a quoted field may hold commas, which no trace read here needs).
    pub(super) fn label(self) -> Result<&'a str, Fault> {
        if self.text.is_empty() || self.text.contains('"') {
            return Err(self.fault("a name without quotes or commas"));
        }
        Ok(self.text)
    }

    fn digits(self) -> Option<u64> {
        whole(self.text)
    }

    /// `digits[.digits]` times 10^places.
    fn scaled(self, places: usize) -> Option<u64> {
        let (integer, fraction) = self.text.split_once('.').unwrap_or((self.text, "0"));
        let scale = 10_u64.pow(u32::try_from(places).ok()?);
        let below = fraction_digits(fraction, places)?;
        let total = whole(integer)?.checked_mul(scale)?.checked_add(below)?;
        (total <= MAX_WHOLE.checked_mul(scale)?).then_some(total)
    }
}

/// Decimal digits as a number up to [`MAX_WHOLE`].
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Digits that do not even fit in 64 bits fail here.
    digits.then(|| text.parse().ok()).flatten().filter(|&value| value <= MAX_WHOLE)
}

/// The digits after the point as a count of 10^−places.
pub(super) fn fraction_digits(text: &str, places: usize) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = text.bytes().chain(core::iter::repeat(b'0')).take(places);
    Some(digits.fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
}

/// What was found, cut to a length that leaves the message readable.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    if text.chars().count() <= SHOWN {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(SHOWN).collect();
    format!("{start:?}…")
}
