//! Prints what the machines answer on this host, which is what another target has to answer.

use tollgate_conformance::expected;

fn main() -> Result<(), core::fmt::Error> {
    let mut text = String::new();
    expected(&mut text)?;
    print!("{text}");
    Ok(())
}
