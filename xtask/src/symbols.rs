//! What a linked file contains, as `nm` tells it.

use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace::{command, output};

/// One symbol of machine code or of something still missing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// Bytes of machine code.
    pub(crate) size: u64,
    /// Whether other code may call it by name.
    pub(crate) exported: bool,
}

impl Symbol {
    /// Whether this is part of panicking: `core::panicking`, `core::option::unwrap_failed` and their like.
    pub(crate) fn is_panic(&self) -> bool {
        ["panic", "unwrap_failed", "expect_failed", "slice_index_fail", "begin_unwind"]
            .iter()
            .any(|word| self.name.contains(word))
    }

    /// Whether this asks an allocator for memory.
    pub(crate) fn is_allocation(&self) -> bool {
        ["__rust_alloc", "__rust_realloc", "__rust_dealloc", "alloc::", "malloc"]
            .iter()
            .any(|word| self.name.contains(word))
    }
}

/// The functions of an object file, an archive or a linked program.
pub(crate) fn functions(file: &Path) -> Result<Vec<Symbol>> {
    let mut nm = command("nm");
    nm.args(["--demangle", "--print-size", "--defined-only", "--format=posix"]).arg(file);
    let text = output(&mut nm)?;
    text.lines().filter_map(|line| parse(line).transpose()).collect()
}

/// One line of `nm --format=posix`: name (which may hold spaces), kind, value, size.
fn parse(line: &str) -> Result<Option<Symbol>> {
    let mut fields = line.rsplitn(4, ' ');
    let (Some(size), Some(_value), Some(kind), Some(name)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Ok(None);
    };
    if !matches!(kind, "T" | "t" | "W" | "w") {
        return Ok(None);
    }
    let size = if size.is_empty() {
        0
    } else {
        u64::from_str_radix(size, 16).with_context(|| format!("nm printed {line:?}"))?
    };
    Ok(Some(Symbol { name: name.to_owned(), size, exported: kind == "T" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_nm_is_read_from_its_end() {
        let symbol = parse("<a::B as c::D>::call T 0000000000401000 0000000000000010").unwrap().unwrap();
        assert_eq!(symbol, Symbol { name: "<a::B as c::D>::call".into(), size: 16, exported: true });
        assert_eq!(parse("table R 0000000000402000 0000000000000008").unwrap(), None);
        assert_eq!(parse("libproofs.a[member.o]:").unwrap(), None);
    }

    #[test]
    fn what_panics_and_what_allocates_is_recognised_by_name() {
        let symbol = |name: &str| Symbol { name: name.into(), size: 0, exported: false };
        assert!(symbol("core::panicking::panic_bounds_check").is_panic());
        assert!(symbol("core::option::unwrap_failed").is_panic());
        assert!(symbol("__rust_alloc").is_allocation());
        assert!(!symbol("proof_bucket_try_acquire").is_panic());
        assert!(!symbol("proof_bucket_try_acquire").is_allocation());
    }
}
