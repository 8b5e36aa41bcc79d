//! [`Semaphore`]: weighted permits with a bounded waiting line, as one state machine.
//!
//! **Problem.** Callers who may wait need an order, a bound on how many wait, a way to leave the line, and a limit
//! that can be moved under them. Semaphores that hand permits to waiters as they come free get each of these wrong
//! somewhere: permits stuck with a waiter that left, small requests asleep behind a cancelled big one, a lowered
//! limit that has no effect while anybody waits.
//!
//! **Design.** The state is `limit`, `in_use` and a first-in-first-out line; nothing is ever *partly* granted. Grants
//! to waiters are pulled: after any call that may have made room, [`poll`](Semaphore::poll) answers, one at a time,
//! who is granted and who can never be, until it answers `None`. So there is no state between "waiting" and
//! "granted", and leaving the line is one removal.
//!
//! Calls after which `poll` may have something to say: [`release`](Semaphore::release),
//! [`cancel`](Semaphore::cancel), [`set_limit`](Semaphore::set_limit), [`close`](Semaphore::close), and
//! [`acquire`](Semaphore::acquire) under [`HeadOfLine::Backfill`]. Polling at other times is harmless.
//!
//! **Fairness.** Newcomers never overtake: while anyone waits, [`try_acquire`](Semaphore::try_acquire) refuses and
//! [`acquire`](Semaphore::acquire) queues. Among waiters, [`HeadOfLine`] decides:
//!
//! * `Strict`: whoever is at the head is next. A waiter with k others ahead is granted after exactly those k; a big
//!   request is never starved, small ones may wait behind it.
//! * `Backfill { max_passes }`: while the head does not fit and a permit is free, the first waiter that does may
//!   pass it, at most `max_passes` times for each head; then the line is strict until that head is granted. A waiter
//!   with k others ahead is passed at most (k + 1)·`max_passes` times.
//!
//! **Invariants.** **I1** a grant of weight w happens only if `in_use + w ≤ limit`; **I2** `in_use` is the sum of the
//! weights of all tickets out (forgotten ones included); **I3** the line holds exactly the waiters in storage;
//! **I4** closed is absorbing.
//!
//! **Work** O(1) for every call but `poll` under `Backfill`, which looks along the line for one that fits: O(waiters).
//! **Memory** fixed at construction: `max_waiters` entries of 32 bytes.

use crate::error::{ConfigError, Reason, Refused, Stale};
use crate::observe::{Event, NoObserver, Observer};
use crate::slots::{Chain, NIL, SlotId, Slots, Storage};

/// What happens while the waiter at the head of the line does not fit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HeadOfLine {
    /// Nobody passes it.
    Strict,
    /// Waiters that fit may pass it, at most this often.
    Backfill {
        /// How often one head may be passed before the line is strict until it is granted.
        max_passes: u32,
    },
}

/// Permits granted by a [`Semaphore`], to be given back to it with [`release`](Semaphore::release).
///
/// It has no `Drop`: a machine without locks cannot be reached from one. Losing a ticket loses its permits.
#[derive(Debug)]
#[must_use = "a ticket that is not released keeps its permits in use for good"]
pub struct Ticket {
    weight: u64,
}

impl Ticket {
    /// How many permits it stands for.
    #[must_use]
    pub const fn num_permits(&self) -> u64 {
        self.weight
    }

    /// Splits `weight` permits off, or `None` if it holds fewer.
    #[must_use = "what is split off has to be released too"]
    pub fn split(&mut self, weight: u64) -> Option<Self> {
        self.weight = self.weight.checked_sub(weight)?;
        Some(Self { weight })
    }

    /// Adds the permits of `other` to this; both must be of the same semaphore.
    pub const fn merge(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
    }
}

/// Names one waiter in line; stale once it was granted, refused or cancelled.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct WaiterId(SlotId);

/// What [`Semaphore::acquire`] did.
#[derive(Debug)]
#[must_use = "a ticket that is not released keeps its permits in use for good"]
pub enum Acquire {
    /// Granted at once.
    Granted(Ticket),
    /// In line; [`Semaphore::poll`] will name this id.
    Queued(WaiterId),
}

/// What [`Semaphore::poll`] found.
#[derive(Debug)]
#[must_use = "a ticket that is not released keeps its permits in use for good"]
pub enum SemaphoreEvent {
    /// This waiter is granted and has left the line.
    Granted(WaiterId, Ticket),
    /// This waiter can never be granted and has left the line: closed, or the limit fell below its weight before it
    /// came to the head.
    Refused(WaiterId, Refused),
}

/// Weighted permits with a bounded line of waiters; see the [module](self).
///
/// ```
/// use tollgate::permit::{Acquire, HeadOfLine, Semaphore, SemaphoreEvent};
/// use tollgate::slots::Inline;
///
/// let mut semaphore = Semaphore::<Inline<8>>::new(4, 8, HeadOfLine::Strict)?;
/// let Acquire::Granted(held) = semaphore.acquire(3)? else { panic!("3 of 4 are free") };
/// let Acquire::Queued(big) = semaphore.acquire(4)? else { panic!("only 1 is free") };
/// assert!(semaphore.poll().is_none());
///
/// semaphore.release(held)?;
/// let Some(SemaphoreEvent::Granted(id, ticket)) = semaphore.poll() else { panic!("4 are free") };
/// assert_eq!(id, big);
/// semaphore.release(ticket)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Semaphore<S: Storage, O: Observer = NoObserver> {
    limit: u64,
    in_use: u64,
    waiters: Slots<u64, S>,
    line: Chain,
    head_of_line: HeadOfLine,
    /// How often the present head was passed.
    passes: u32,
    closed: bool,
    observer: O,
}

impl<S: Storage> Semaphore<S> {
    /// A semaphore of `limit` permits with room for `max_waiters` in line. A limit of 0 grants nothing until raised.
    ///
    /// # Errors
    /// `max_waiters` is more than the storage can hold.
    pub fn new(limit: u64, max_waiters: u32, head_of_line: HeadOfLine) -> Result<Self, ConfigError> {
        Self::with_observer(limit, max_waiters, head_of_line, NoObserver)
    }
}

impl<S: Storage, O: Observer> Semaphore<S, O> {
    /// As [`new`](Semaphore::new), telling `observer` what happens.
    ///
    /// # Errors
    /// As [`new`](Semaphore::new).
    pub fn with_observer(
        limit: u64,
        max_waiters: u32,
        head_of_line: HeadOfLine,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let waiters = Slots::new(max_waiters)?;
        let line = Chain::EMPTY;
        Ok(Self { limit, in_use: 0, waiters, line, head_of_line, passes: 0, closed: false, observer })
    }

    /// Takes `weight` permits now, without waiting. O(1).
    ///
    /// # Errors
    /// `Closed`; `ExceedsLimit`; `NoPermits` if they are not free or somebody waits for them.
    pub fn try_acquire(&mut self, weight: u64) -> Result<Ticket, Refused> {
        match self.admit(weight) {
            Ok(()) => Ok(self.grant(weight, false)),
            Err(reason) => Err(self.refuse(weight, reason)),
        }
    }

    /// Takes `weight` permits now if they are free and nobody waits, else joins the line. O(1).
    ///
    /// # Errors
    /// `Closed`; `ExceedsLimit`, at once, for it would block everyone behind it; `QueueFull`.
    pub fn acquire(&mut self, weight: u64) -> Result<Acquire, Refused> {
        match self.admit(weight) {
            Ok(()) => Ok(Acquire::Granted(self.grant(weight, false))),
            Err(Reason::NoPermits) => match self.waiters.insert(weight) {
                Ok(id) => {
                    let ahead = self.line.len();
                    self.line.push_back(&mut self.waiters, id.index());
                    self.observer.on_event(Event::Queued { weight, ahead });
                    self.debug_check();
                    Ok(Acquire::Queued(WaiterId(id)))
                }
                Err(_) => Err(self.refuse(weight, Reason::QueueFull)),
            },
            Err(reason) => Err(self.refuse(weight, reason)),
        }
    }

    /// The next waiter to leave the line, granted or refused, `None` when there is nobody to name now. Call it until
    /// it answers `None`. O(1) under `Strict`, O(waiters) under `Backfill`.
    #[must_use = "a ticket that is not released keeps its permits in use for good"]
    pub fn poll(&mut self) -> Option<SemaphoreEvent> {
        let head = self.waiters.id_at(self.line.head())?;
        let weight = *self.waiters.get(head)?;
        let (id, weight) = match self.fits(weight) {
            Ok(()) => (head, weight),
            Err(Reason::NoPermits) => self.find_backfill()?,
            Err(reason) => {
                self.leave(head);
                let refused = self.refuse(weight, reason);
                return Some(SemaphoreEvent::Refused(WaiterId(head), refused));
            }
        };
        if id != head {
            self.passes = self.passes.saturating_add(1);
        }
        self.leave(id);
        Some(SemaphoreEvent::Granted(WaiterId(id), self.grant(weight, true)))
    }

    /// Gives the permits of a ticket back. O(1). Then [`poll`](Self::poll).
    ///
    /// # Errors
    /// [`Stale`] if more would come back than is in use: the ticket is from another semaphore. Nothing is changed.
    pub fn release(&mut self, ticket: Ticket) -> Result<(), Stale> {
        let Some(in_use) = self.in_use.checked_sub(ticket.weight) else {
            self.observer.on_event(Event::StaleRefused);
            return Err(Stale);
        };
        self.in_use = in_use;
        self.observer.on_event(Event::Released { weight: ticket.weight });
        Ok(())
    }

    /// Never gives the permits of a ticket back: they stay in use for good.
    pub fn forget(&mut self, ticket: Ticket) {
        let Ticket { weight: _ } = ticket;
    }

    /// Takes a waiter out of the line. O(1); its place is free at once. Then [`poll`](Self::poll): those behind it may
    /// fit.
    ///
    /// # Errors
    /// [`Stale`] if it is not in line any more; nothing is changed. If it was granted meanwhile, its ticket is to be
    /// [released](Self::release).
    pub fn cancel(&mut self, waiter: WaiterId) -> Result<(), Stale> {
        let Some(&weight) = self.waiters.get(waiter.0) else {
            self.observer.on_event(Event::StaleRefused);
            return Err(Stale);
        };
        self.leave(waiter.0);
        self.observer.on_event(Event::Cancelled { weight });
        Ok(())
    }

    /// Sets the limit, at once and exactly: below what is in use, nothing is granted until enough has come back. O(1).
    /// Then [`poll`](Self::poll). A waiter that now weighs more than the limit keeps its place, and is refused if
    /// that is still so when it comes to the head.
    pub fn set_limit(&mut self, limit: u64) {
        let from = core::mem::replace(&mut self.limit, limit);
        self.observer.on_event(Event::LimitChanged { from, to: limit });
    }

    /// Closes for good. O(1). Newcomers are refused; [`poll`](Self::poll) refuses the waiters one by one; tickets may
    /// still be released.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// The limit in force.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Permits out now. Above the limit for a while after the limit was lowered.
    #[must_use]
    pub const fn in_use(&self) -> u64 {
        self.in_use
    }

    /// Permits a newcomer could take now: 0 while closed or while anybody waits.
    #[must_use]
    pub const fn available(&self) -> u64 {
        if self.closed || !self.line.is_empty() { 0 } else { self.limit.saturating_sub(self.in_use) }
    }

    /// Waiters in line.
    #[must_use]
    pub const fn num_waiters(&self) -> u32 {
        self.line.len()
    }

    /// What it tells.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Whether a newcomer may start now.
    fn admit(&self, weight: u64) -> Result<(), Reason> {
        self.fits(weight)?;
        if self.line.is_empty() { Ok(()) } else { Err(Reason::NoPermits) }
    }

    /// Whether `weight` fits now (I1, I4), whoever asks. Above a lowered limit not even 0 does.
    const fn fits(&self, weight: u64) -> Result<(), Reason> {
        if self.closed {
            Err(Reason::Closed)
        } else if weight > self.limit {
            Err(Reason::ExceedsLimit)
        } else if self.in_use > self.limit || weight > self.limit.saturating_sub(self.in_use) {
            Err(Reason::NoPermits)
        } else {
            Ok(())
        }
    }

    /// The first waiter behind the head that fits, if the head may still be passed.
    fn find_backfill(&mut self) -> Option<(SlotId, u64)> {
        let HeadOfLine::Backfill { max_passes } = self.head_of_line else { return None };
        if self.passes >= max_passes || self.in_use >= self.limit {
            return None;
        }
        let mut index = Chain::next(&mut self.waiters, self.line.head());
        while index != NIL {
            let id = self.waiters.id_at(index)?;
            let weight = *self.waiters.get(id)?;
            if self.fits(weight).is_ok() {
                return Some((id, weight));
            }
            index = Chain::next(&mut self.waiters, index);
        }
        None
    }

    fn grant(&mut self, weight: u64, waited: bool) -> Ticket {
        self.in_use = self.in_use.saturating_add(weight);
        debug_assert!(self.in_use <= self.limit, "I1: {} in use of {}", self.in_use, self.limit);
        self.observer.on_event(Event::Granted { weight, waited });
        self.debug_check();
        Ticket { weight }
    }

    fn refuse(&mut self, weight: u64, reason: Reason) -> Refused {
        self.observer.on_event(Event::Refused { weight, reason });
        Refused::because(reason)
    }

    fn leave(&mut self, id: SlotId) {
        let index = id.index();
        if index == self.line.head() {
            self.passes = 0;
        }
        self.line.remove(&mut self.waiters, index);
        let removed = self.waiters.remove(id);
        debug_assert!(removed.is_ok(), "I3: a waiter in line is in storage");
    }

    fn debug_check(&self) {
        debug_assert_eq!(self.line.len(), self.waiters.len(), "I3: line and storage");
    }

    /// Asserts I3 and the invariants of the storage. O(waiters); for tests and debugging.
    pub fn check_invariants(&self) {
        assert_eq!(self.line.len(), self.waiters.len(), "I3: line and storage");
        self.waiters.check_invariants();
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
