//! Atomic permits, and the semaphore with its line in the machine itself.

use tollgate::permit::{Acquire, AtomicPermits, HeadOfLine, Semaphore, SemaphoreEvent, Ticket, WaiterId};
use tollgate::slots::Inline;

use crate::{answer, store};

type Line = Semaphore<Inline<16>>;

#[unsafe(no_mangle)]
extern "C" fn proof_permits_new(place: &mut AtomicPermits, limit: u32) -> bool {
    store(place, AtomicPermits::new(limit))
}

/// Takes permits, does something while they are held, gives them back.
#[unsafe(no_mangle)]
extern "C" fn proof_permits_hold(permits: &AtomicPermits, weight: u32, work: extern "C" fn()) -> u64 {
    answer(permits.try_acquire_many(weight).map(|permit| {
        work();
        drop(permit);
    }))
}

#[unsafe(no_mangle)]
extern "C" fn proof_permits_release(permits: &AtomicPermits, weight: u32, part: u32) -> bool {
    let Ok(mut permit) = permits.try_acquire_many(weight) else { return false };
    let owed = permit.split(part).is_some_and(|part| part.release());
    owed | permit.release()
}

#[unsafe(no_mangle)]
extern "C" fn proof_permits_wait(permits: &AtomicPermits, weight: u32) -> bool {
    let announced = matches!(AtomicPermits::try_acquire_or_announce(permits, weight), Ok(None));
    let granted = AtomicPermits::try_acquire_for_waiter(permits, weight).is_ok();
    permits.retract();
    announced | granted
}

#[unsafe(no_mangle)]
extern "C" fn proof_permits_adopt(permits: &AtomicPermits, weight: u32) -> bool {
    permits.announce();
    let mut permit = AtomicPermits::adopt(permits, weight);
    if let Ok(other) = AtomicPermits::try_acquire_owned(permits, weight) {
        drop(permit.merge(other));
    }
    let held = permit.num_permits() > 0;
    permit.forget();
    held & permits.has_waiters()
}

#[unsafe(no_mangle)]
extern "C" fn proof_permits_set_limit(permits: &AtomicPermits, limit: u32) -> bool {
    permits.set_limit(limit).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_permits_close(permits: &AtomicPermits) -> u32 {
    let waiters = permits.close();
    permits.available() ^ permits.in_use() ^ permits.limit() ^ u32::from(waiters | permits.is_closed())
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_new(place: &mut Line, limit: u64, waiters: u32, max_passes: u32) -> bool {
    store(place, Semaphore::new(limit, waiters, HeadOfLine::Backfill { max_passes }))
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_try_acquire(semaphore: &mut Line, weight: u64, ticket: &mut Ticket) -> bool {
    store(ticket, semaphore.try_acquire(weight))
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_acquire(
    semaphore: &mut Line,
    weight: u64,
    ticket: &mut Ticket,
    waiter: &mut WaiterId,
) -> bool {
    match semaphore.acquire(weight) {
        Ok(Acquire::Granted(granted)) => {
            *ticket = granted;
            true
        }
        Ok(Acquire::Queued(queued)) => {
            *waiter = queued;
            true
        }
        Err(_) => false,
    }
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_poll(semaphore: &mut Line, ticket: &mut Ticket, waiter: &mut WaiterId) -> bool {
    match semaphore.poll() {
        Some(SemaphoreEvent::Granted(id, granted)) => {
            *waiter = id;
            *ticket = granted;
            true
        }
        Some(SemaphoreEvent::Refused(id, _)) => {
            *waiter = id;
            true
        }
        None => false,
    }
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_release(semaphore: &mut Line, ticket: Ticket) -> bool {
    semaphore.release(ticket).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_cancel(semaphore: &mut Line, waiter: WaiterId) -> bool {
    semaphore.cancel(waiter).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_set_limit(semaphore: &mut Line, limit: u64) -> u64 {
    semaphore.set_limit(limit);
    semaphore.available() ^ semaphore.in_use() ^ semaphore.limit()
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_close(semaphore: &mut Line) -> bool {
    semaphore.close();
    semaphore.is_closed()
}

#[unsafe(no_mangle)]
extern "C" fn proof_semaphore_forget(semaphore: &mut Line, mut ticket: Ticket, other: Ticket) -> u64 {
    ticket.merge(other);
    let permits = ticket.num_permits();
    semaphore.forget(ticket);
    permits ^ u64::from(semaphore.num_waiters())
}
