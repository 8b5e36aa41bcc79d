//! Recorded request traces: when requests came, and what each of them cost.
//!
//! A trace answers "what would have happened to *these* requests". Four forms are read, told apart by the first
//! line, so nobody has to name the form:
//!
//! | first line | form | cost in units |
//! | --- | --- | --- |
//! | `TIMESTAMP,ContextTokens,GeneratedTokens` | Azure LLM inference trace | context + weight × generated |
//! | `{"timestamp": …` | Mooncake JSON lines (milliseconds) | input + weight × output |
//! | `arrival_s,tenant,cost[,bytes]` | generic | cost |
//! | `arrival_s,tenant,input_tokens,output_tokens` or `arrival_ms,group,…` | token counts by tenant or group | input + weight × output |
//!
//! The weight of an output token is [`Options::output_weight`], by default 2, the cost function of the fairness
//! experiments whose trace is among those read: an output token needs a pass of its own, input tokens share one.
//!
//! **Nothing is guessed.** A line that does not fit is refused with file, line, column, what was found and what is
//! allowed ([`TraceError`]); there is no skipping. Numbers are decimal digits: no sign, no exponent, no `NaN`.
//! CRLF, a byte order mark, blank lines at the end and a missing last line end are harmless.
//!
//! **Order.** Arrivals out of order (real collectors write them) are sorted stably, and how many there were is
//! reported. Times are shifted so that the first arrival is at zero.

mod azure;
mod line;
mod mooncake;
mod table;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use self::line::{Fault, Line};

/// The most seconds, and the most cost units, one record may hold: far above any recording, and far from where a
/// nanosecond in 64 bits could overflow.
pub(crate) const MAX_WHOLE: u64 = 1_000_000_000;

/// One recorded request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record {
    /// Arrival, nanoseconds after the first arrival of the trace.
    pub at_ns: u64,
    /// Work, in cost units.
    pub cost: u64,
    /// Size in a queue; 0 where the trace does not tell.
    pub bytes: u64,
    /// Dense number of its tenant in order of first appearance; 0 where the trace does not tell.
    pub tenant: u32,
}

/// Which form a trace has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// Azure LLM inference trace.
    Azure,
    /// Mooncake JSON lines.
    Mooncake,
    /// `arrival_s,tenant,cost[,bytes]`.
    Generic,
    /// Token counts by tenant or group.
    Tokens,
}

impl Form {
    /// For a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Azure => "Azure LLM CSV",
            Self::Mooncake => "Mooncake JSON lines",
            Self::Generic => "generic CSV",
            Self::Tokens => "token CSV",
        }
    }
}

/// How to read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// Cost units of one output token where one input token is one unit.
    pub output_weight: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { output_weight: 2 }
    }
}

impl Options {
    /// Cost units of a request with these token counts, each at most [`MAX_WHOLE`], so the sum cannot overflow.
    fn cost(self, input: u64, output: u64) -> u64 {
        input.saturating_add(output.saturating_mul(self.output_weight.into()))
    }
}

/// A trace in arrival order, never empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trace {
    /// File name, for reports.
    pub name: String,
    /// Its form.
    pub form: Form,
    /// Its requests, earliest first.
    pub records: Vec<Record>,
    /// How many lines were earlier than a line before them.
    pub out_of_order: u64,
    /// How many tenants it names; 0 where it has no such column.
    pub tenants: u32,
    /// What it calls them, by number.
    pub tenant_names: Vec<String>,
}

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{file}: the trace cannot be read")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// One line is malformed.
    #[error("{file}:{line}:{column}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: usize,
        /// What was found and what is allowed.
        reason: String,
    },
    /// There is no request in it.
    #[error("{file}: the trace has no requests")]
    Empty {
        /// The file.
        file: String,
    },
}

impl Trace {
    /// Reads a trace file.
    ///
    /// # Errors
    /// [`TraceError`], at the first malformed line.
    pub fn open(path: &Path, options: Options) -> Result<Self, TraceError> {
        let file = path.display().to_string();
        match File::open(path) {
            Ok(opened) => Self::read(BufReader::new(opened), &file, options),
            Err(source) => Err(TraceError::Io { file, source }),
        }
    }

    /// Reads a trace from anywhere; `file` is what errors and reports call it. O(n log n) only where it is out of
    /// order.
    ///
    /// # Errors
    /// [`TraceError`], at the first malformed line.
    pub fn read(input: impl BufRead, file: &str, options: Options) -> Result<Self, TraceError> {
        let mut lines = line::Lines::new(input);
        let mut rows = Rows::default();
        let mut form = None;
        loop {
            let number = lines.number();
            let at = |fault: Fault| TraceError::Line {
                file: file.to_owned(),
                line: number,
                column: fault.column,
                reason: fault.reason,
            };
            let next =
                lines.next_line().map_err(|source| TraceError::Io { file: file.to_owned(), source })?;
            let Some(text) = next else { break };
            let line = Line::new(text).map_err(at)?;
            let parsed = match &form {
                None => {
                    let parser = Parser::detect(&line).map_err(at)?;
                    let first_is_data = matches!(parser, Parser::Mooncake);
                    let parser = form.insert(parser);
                    if first_is_data { parser.row(&line, options, &mut rows) } else { Ok(()) }
                }
                Some(parser) => parser.row(&line, options, &mut rows),
            };
            parsed.map_err(at)?;
        }
        let Some(parser) = form.filter(|_| !rows.records.is_empty()) else {
            return Err(TraceError::Empty { file: file.to_owned() });
        };
        Ok(rows.into_trace(file, parser.form()))
    }

    /// From the first arrival to the last.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.records.last().map_or(0, |record| record.at_ns)
    }

    /// Work of all requests, in cost units.
    #[must_use]
    pub fn total_cost(&self) -> u128 {
        self.records.iter().map(|record| u128::from(record.cost)).sum()
    }
}

/// The form found in the first line, with what its rows need.
enum Parser {
    Azure,
    Mooncake,
    Table(table::Columns),
}

impl Parser {
    fn detect(line: &Line<'_>) -> Result<Self, Fault> {
        if line.text().starts_with('{') {
            return Ok(Self::Mooncake);
        }
        if line.text() == azure::HEADER {
            return Ok(Self::Azure);
        }
        table::Columns::from_header(line).map(Self::Table)
    }

    const fn form(&self) -> Form {
        match self {
            Self::Azure => Form::Azure,
            Self::Mooncake => Form::Mooncake,
            Self::Table(columns) => columns.form(),
        }
    }

    fn row(&self, line: &Line<'_>, options: Options, rows: &mut Rows) -> Result<(), Fault> {
        match self {
            Self::Azure => rows.push(azure::record(line, options)?),
            Self::Mooncake => rows.push(mooncake::record(line, options)?),
            Self::Table(columns) => {
                let record = columns.record(line, options, |tenant| rows.tenant(tenant))?;
                rows.push(record);
            }
        }
        Ok(())
    }
}

/// Records as they come in, before they are sorted.
#[derive(Default)]
struct Rows {
    records: Vec<Record>,
    tenants: HashMap<String, u32>,
    names: Vec<String>,
    latest_ns: u64,
    out_of_order: u64,
}

impl Rows {
    fn tenant(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.tenants.get(name) {
            return known;
        }
        let dense = u32::try_from(self.tenants.len()).unwrap_or(u32::MAX);
        self.tenants.insert(name.to_owned(), dense);
        self.names.push(name.to_owned());
        dense
    }

    fn push(&mut self, record: Record) {
        if record.at_ns < self.latest_ns {
            self.out_of_order += 1;
        }
        self.latest_ns = self.latest_ns.max(record.at_ns);
        self.records.push(record);
    }

    fn into_trace(mut self, file: &str, form: Form) -> Trace {
        if self.out_of_order > 0 {
            self.records.sort_by_key(|record| record.at_ns);
        }
        let first_ns = self.records.first().map_or(0, |record| record.at_ns);
        for record in &mut self.records {
            record.at_ns -= first_ns;
        }
        let name = Path::new(file).file_name().map_or_else(|| file.into(), |name| name.to_string_lossy());
        Trace {
            name: name.into_owned(),
            form,
            records: self.records,
            out_of_order: self.out_of_order,
            tenants: u32::try_from(self.tenants.len()).unwrap_or(u32::MAX),
            tenant_names: self.names,
        }
    }
}

#[cfg(test)]
mod tests;
