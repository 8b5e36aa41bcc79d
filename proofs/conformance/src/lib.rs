//! Conformance vectors: what each machine of the core answers, checked the same way on every target.
//!
//! **Sequences.** From a number, a small generator ([`Draw`]) makes settings and operations; all that the machine
//! answers goes into a [`Transcript`], as text, so that a wider `usize` makes no difference. The host makes the hashes
//! ([`expected`]), the target has to come to the same ones ([`check`]). They are not kept: they say that two targets agree,
//! not what is right, which is for the tests of the core to say.
//!
//! **Recorded runs.** The estimators also replay runs of their references from `core/tests/golden-data`, the part of it that
//! fits into the flash of a small chip, and compare every value bit for bit with what is recorded.
//!
//! No allocator and no operating system. It has to be understood by Rust 1.85, which builds it for the targets that
//! `cargo xtask embedded` is about.
#![no_std]
#![forbid(unsafe_code)]

mod adapt;
mod draw;
mod fair;
mod gate;
mod golden;
mod permit;
mod rate;
mod transcript;

#[cfg(test)]
mod tests;

use core::fmt;

pub use draw::Draw;
pub use golden::Tally;
pub use transcript::Transcript;

/// Sequences each machine goes through.
pub const SEQUENCES: u32 = 32;

/// A machine of the core, with small storage in itself, and its vectors.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// What it is called here; its functions in `tollgate-proofs` begin with `proof_`, this, and another `_`.
    pub name: &'static str,
    /// Bytes that one takes up on this target.
    pub ram: usize,
    sequence: fn(&mut Draw, &mut Transcript),
    recorded: &'static [&'static str],
}

/// What is limited: how fast, how many at once, who is next, all together.
pub const LIMITS: &[Machine] = &[
    rate::BUCKET,
    rate::ATOMIC_BUCKET,
    rate::FIXED_WINDOW,
    rate::SLIDING_WINDOW,
    permit::PERMITS,
    permit::SEMAPHORE,
    fair::DRR,
    fair::SWRR,
    gate::GATE,
];

/// How many is right. Apart from the others, because all of them, the recorded runs and what is expected do not fit into the
/// flash of one small chip.
pub const ESTIMATORS: &[Machine] =
    &[adapt::AIMD, adapt::VEGAS, adapt::GRADIENT, adapt::GRADIENT2, adapt::KNEE];

/// What a check has to report: a machine with one wrong value in its recorded run, of which one wrong hash is expected.
pub const CONTROL: &[Machine] = &[adapt::CONTROL];

impl Machine {
    /// The hash of all answers of one sequence.
    #[must_use]
    pub fn answers(&self, sequence: u32) -> u64 {
        let mut transcript = Transcript::new();
        (self.sequence)(&mut Draw::new(sequence), &mut transcript);
        transcript.hash()
    }

    /// How many values of the recorded runs came out as recorded.
    #[must_use]
    pub fn recorded(&self) -> Tally {
        let mut tally = Tally::default();
        for run in self.recorded {
            golden::replay(run, &mut tally);
        }
        tally
    }
}

/// Writes what all machines answer on this target: one line a sequence, `name sequence hash`. One line of the
/// [`CONTROL`] is wrong.
///
/// # Errors
/// What `out` says.
pub fn expected(out: &mut dyn fmt::Write) -> fmt::Result {
    for machine in LIMITS.iter().chain(ESTIMATORS).chain(CONTROL) {
        for sequence in 0..SEQUENCES {
            let wrong = machine.name == adapt::CONTROL.name && sequence == 0;
            let hash = machine.answers(sequence) ^ u64::from(wrong);
            writeln!(out, "{} {sequence} {hash:016x}", machine.name)?;
        }
    }
    Ok(())
}

/// Compares what `machines` answer on this target with what was [`expected`] of another one, and with the recorded
/// runs. Writes one line a machine and returns what passed and what did not.
///
/// # Errors
/// What `out` says.
pub fn check(machines: &[Machine], expected: &str, out: &mut dyn fmt::Write) -> Result<Tally, fmt::Error> {
    let mut all = Tally::default();
    for machine in machines {
        let mut sequences = Tally::default();
        for sequence in 0..SEQUENCES {
            sequences.note(look_up(expected, machine.name, sequence) == Some(machine.answers(sequence)));
        }
        let recorded = machine.recorded();
        let Machine { name, ram, .. } = machine;
        writeln!(out, "{name}: {sequences} sequences, {recorded} recorded values, {ram} bytes")?;
        all = all.and(sequences).and(recorded);
    }
    writeln!(out, "together: {all}")?;
    Ok(all)
}

/// The hash that a sequence is expected to have.
fn look_up(expected: &str, name: &str, sequence: u32) -> Option<u64> {
    expected.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(' ')?;
        let (number, hash) = rest.split_once(' ')?;
        (number.parse() == Ok(sequence)).then(|| u64::from_str_radix(hash, 16).ok())?
    })
}
