//! A golden file: a header of `key=value` pairs, then CSV rows addressed by column name.

use core::str::FromStr;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) type Fallible<T> = Result<T, String>;

/// The first line. Keys are taken out one by one; what is left at the end nobody understood.
#[derive(Debug)]
pub(crate) struct Header(BTreeMap<String, String>);

impl Header {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub(crate) fn take(&mut self, key: &str) -> Fallible<String> {
        self.0.remove(key).ok_or_else(|| format!("header has no {key}"))
    }

    pub(crate) fn number<T: FromStr>(&mut self, key: &str) -> Fallible<T> {
        let value = self.take(key)?;
        value.parse().map_err(|_| format!("header: {key}={value} is not a number of its kind"))
    }

    pub(crate) fn optional<T: FromStr>(&mut self, key: &str) -> Fallible<Option<T>> {
        if self.0.contains_key(key) { self.number(key).map(Some) } else { Ok(None) }
    }

    pub(crate) fn finish(self) -> Fallible<()> {
        let mut unknown = self.0;
        unknown.remove("name");
        if unknown.is_empty() { Ok(()) } else { Err(format!("unknown header keys: {unknown:?}")) }
    }
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) path: PathBuf,
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

impl Table {
    /// Reads a file; `None` if its first line is no header.
    pub(crate) fn load(path: &Path) -> Fallible<Option<(Header, Self)>> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let Some((first, body)) = text.split_once('\n') else { return Ok(None) };
        let Some(pairs) = first.strip_prefix("# ") else { return Ok(None) };
        let header = pairs.split_whitespace().filter_map(|pair| pair.split_once('='));
        let header = Header(header.map(|(key, value)| (key.to_owned(), value.to_owned())).collect());
        let mut reader = csv::Reader::from_reader(body.as_bytes());
        let columns = reader.headers().map_err(|error| error.to_string())?;
        let columns = columns.iter().map(str::to_owned).collect();
        let rows = reader.records().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Some((header, Self { path: path.to_owned(), columns, rows })))
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        // Line 1 is the header, line 2 the column names.
        self.rows.iter().zip(3..).map(|(record, line)| Row { table: self, record, line })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    table: &'a Table,
    record: &'a csv::StringRecord,
    pub(crate) line: usize,
}

impl Row<'_> {
    pub(crate) fn text(&self, column: &str) -> Fallible<&str> {
        let at = self.table.columns.iter().position(|name| name == column);
        let at = at.ok_or_else(|| format!("no column {column}"))?;
        self.record.get(at).ok_or_else(|| format!("line {}: no field for {column}", self.line))
    }

    pub(crate) fn number<T: FromStr>(&self, column: &str) -> Fallible<T> {
        let text = self.text(column)?;
        text.parse().map_err(|_| format!("line {}: {column} is {text:?}, not a number", self.line))
    }

    pub(crate) fn flag(&self, column: &str) -> Fallible<bool> {
        Ok(self.number::<u8>(column)? != 0)
    }
}

/// Mismatches found so far, with file, line and column.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) mismatches: Vec<String>,
    pub(crate) rows: usize,
}

impl Report {
    pub(crate) fn whole(&mut self, row: &Row<'_>, column: &str, got: impl Into<i128>) -> Fallible<()> {
        let (expected, got) = (row.number::<i128>(column)?, got.into());
        self.note(row, column, expected == got, &expected, &got);
        Ok(())
    }

    /// Bit for bit; `NaN` equals `NaN`.
    pub(crate) fn exact(&mut self, row: &Row<'_>, column: &str, got: f64) -> Fallible<()> {
        let expected = row.number::<f64>(column)?;
        let same = expected.to_bits() == got.to_bits() || (expected.is_nan() && got.is_nan());
        self.note(row, column, same, &expected, &got);
        Ok(())
    }

    fn note(
        &mut self,
        row: &Row<'_>,
        column: &str,
        same: bool,
        expected: &dyn core::fmt::Debug,
        got: &dyn core::fmt::Debug,
    ) {
        if !same {
            let place = format!("{}:{}", row.table.path.display(), row.line);
            self.mismatches.push(format!("{place}: {column}: expected {expected:?}, got {got:?}"));
        }
    }
}
