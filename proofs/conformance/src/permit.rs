//! Atomic permits, and the semaphore with its line in the machine itself.

use tollgate::permit::{
    Acquire, AtomicPermits, HeadOfLine, Permit, Semaphore, SemaphoreEvent, Ticket, WaiterId,
};
use tollgate::slots::Inline;

use crate::{Draw, Machine, Transcript};

type Line = Semaphore<Inline<8>>;

pub(crate) const PERMITS: Machine =
    Machine { name: "permits", ram: size_of::<AtomicPermits>(), sequence: permits, recorded: &[] };
pub(crate) const SEMAPHORE: Machine =
    Machine { name: "semaphore", ram: size_of::<Line>(), sequence: semaphore, recorded: &[] };

const STEPS: u32 = 200;

fn permits(draw: &mut Draw, transcript: &mut Transcript) {
    let Some(permits) = transcript.made(AtomicPermits::new(draw.below(12))) else { return };
    let mut held: [Option<Permit<&AtomicPermits>>; 6] = [const { None }; 6];
    for step in 0..STEPS {
        let weight = if draw.once_in(16) { draw.below(u32::MAX) } else { draw.below(6) };
        let place = pick(draw, &mut held);
        match (draw.below(16), place.take()) {
            (0, _) => transcript.note(&permits.set_limit(weight.saturating_mul(2))),
            (1, _) => permits.retract(),
            (2, _) => *place = transcript.made(AtomicPermits::try_acquire_for_waiter(&permits, weight)),
            (3, _) => {
                let asked = transcript.made(AtomicPermits::try_acquire_or_announce(&permits, weight));
                *place = asked.flatten();
            }
            (4, Some(mut permit)) => {
                *place = permit.split(weight);
                transcript.note(&permit.release());
            }
            (5, Some(permit)) => permit.forget(),
            (6, _) if step > STEPS / 2 => transcript.note(&permits.close()),
            (_, Some(permit)) => transcript.note(&permit.release()),
            (_, None) => *place = transcript.made(permits.try_acquire_many(weight)),
        }
        transcript.note(&held.iter().flatten().map(Permit::num_permits).sum::<u32>());
        transcript.note(&(permits.limit(), permits.in_use(), permits.available(), permits.is_closed()));
    }
}

fn semaphore(draw: &mut Draw, transcript: &mut Transcript) {
    let head_of_line = match draw.below(3) {
        0 => HeadOfLine::Strict,
        _ => HeadOfLine::Backfill { max_passes: draw.below(4) },
    };
    let made = Line::new(u64::from(draw.below(12)), draw.below(9), head_of_line);
    let Some(mut line) = transcript.made(made) else { return };
    let mut held: [Option<Ticket>; 6] = [const { None }; 6];
    let mut waiting: [Option<WaiterId>; 8] = [None; 8];
    for step in 0..STEPS {
        let weight = if draw.once_in(16) { draw.wild() } else { u64::from(draw.below(6)) };
        let place = pick(draw, &mut held);
        match draw.below(16) {
            0 => line.set_limit(weight.saturating_mul(2)),
            1 => transcript.note(&pick(draw, &mut waiting).take().map(|waiter| line.cancel(waiter))),
            // Twice: the second has to be refused.
            2 => transcript.note(&pick(draw, &mut waiting).map(|waiter| line.cancel(waiter))),
            3 if step > STEPS * 3 / 4 => line.close(),
            4 => {
                let granted = transcript.made(line.try_acquire(weight));
                release(&mut line, core::mem::replace(place, granted), transcript);
            }
            5..=8 => match transcript.made(line.acquire(weight)) {
                Some(Acquire::Granted(ticket)) => release(&mut line, place.replace(ticket), transcript),
                Some(Acquire::Queued(waiter)) => *pick(draw, &mut waiting) = Some(waiter),
                None => {}
            },
            9..=11 => release(&mut line, place.take(), transcript),
            _ => match line.poll() {
                Some(SemaphoreEvent::Granted(waiter, ticket)) => {
                    transcript.note(&(waiter, &ticket));
                    release(&mut line, place.replace(ticket), transcript);
                }
                refused => transcript.note(&refused),
            },
        }
        transcript.note(&(line.limit(), line.in_use(), line.available(), line.num_waiters()));
    }
}

fn release(line: &mut Line, ticket: Option<Ticket>, transcript: &mut Transcript) {
    if let Some(ticket) = ticket {
        transcript.note(&line.release(ticket));
    }
}

/// One of the places, where there is any.
fn pick<'a, T>(draw: &mut Draw, places: &'a mut [T]) -> &'a mut T {
    let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
    let at = usize::try_from(draw.below(count)).unwrap_or(0);
    &mut places[at]
}
