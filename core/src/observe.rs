//! Facts a machine tells as they happen, and [`Observer`], who hears them.
//!
//! A machine logs nothing and counts nothing for show. It calls its observer, a type parameter whose default,
//! [`NoObserver`], compiles to nothing; a simulator counts, a server exports metrics, a test writes a transcript.
//!
//! Machines that keep a state for each of many keys tell a [`KeyObserver`] what happened to which. For operators there is
//! one that keeps the heaviest consumers and the keys refused most in bounded memory: `sketch::Watch`.

use core::time::Duration;

use crate::error::Reason;
use crate::gate::TenantKey;
use crate::time::Timestamp;

/// Something that happened inside a machine. Amounts are in the machine's own unit (permits, cost).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A request was granted `weight`; it had waited iff `waited`.
    Granted {
        /// What it was granted.
        weight: u64,
        /// Whether it had to wait in the queue first.
        waited: bool,
    },
    /// A request has to wait; `ahead` wait before it.
    Queued {
        /// What it asked for.
        weight: u64,
        /// Waiters in front of it.
        ahead: u32,
    },
    /// A request was refused, on arrival or while it waited.
    Refused {
        /// What it asked for.
        weight: u64,
        /// Why.
        reason: Reason,
    },
    /// What a grant held came back.
    Released {
        /// What came back.
        weight: u64,
    },
    /// A waiter left before its turn.
    Cancelled {
        /// What it had asked for.
        weight: u64,
    },
    /// The limit was changed.
    LimitChanged {
        /// The limit before.
        from: u64,
        /// The limit from now on.
        to: u64,
    },
    /// A ticket or id was given back that stands for nothing; nothing was changed.
    StaleRefused,
    /// A job joined its tenant's queue.
    JobQueued {
        /// Whose.
        tenant: TenantKey,
        /// What it is charged.
        cost: u64,
        /// Memory it takes up.
        bytes: u64,
        /// Jobs expected to start before it.
        position: u64,
    },
    /// A job started.
    JobStarted {
        /// Whose.
        tenant: TenantKey,
        /// What it is charged.
        cost: u64,
        /// From its submission.
        waited: Duration,
        /// Whether it passed a job whose turn it was and that did not fit.
        passed: bool,
    },
    /// A job was refused, at submission or while it waited.
    JobRefused {
        /// Whose.
        tenant: TenantKey,
        /// Why.
        reason: Reason,
        /// From its submission.
        waited: Duration,
    },
    /// A started job ended.
    JobEnded {
        /// Whose.
        tenant: TenantKey,
        /// What it was charged at its start.
        estimated: u64,
        /// What it cost in the end; 0 if it never ran.
        actual: u64,
        /// From its start.
        ran: Duration,
    },
    /// An attempt went back to its tenant's queue.
    JobReturned {
        /// Whose.
        tenant: TenantKey,
        /// When it can be tried again.
        ready_at: Timestamp,
    },
    /// A waiting job was cancelled.
    JobCancelled {
        /// Whose.
        tenant: TenantKey,
        /// From its submission.
        waited: Duration,
    },
}

/// Hears the [`Event`]s of one machine, in order, while they happen. It must not call back into the machine.
pub trait Observer {
    /// Called once for each event.
    fn on_event(&mut self, event: Event);
}

/// Hears nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline]
    fn on_event(&mut self, _event: Event) {}
}

impl<F: FnMut(Event)> Observer for F {
    #[inline]
    fn on_event(&mut self, event: Event) {
        self(event);
    }
}

/// What happened to one key of a machine that has many. Amounts are in the unit of their dimension, which is its index in the
/// machine's table; 0 where there is only one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeyEvent {
    /// It was granted what it asked for.
    Granted {
        /// Of what.
        dimension: u8,
        /// How much.
        amount: u64,
    },
    /// It was refused; nothing was taken.
    Refused {
        /// By what.
        dimension: u8,
        /// How much it asked for.
        amount: u64,
        /// Why.
        reason: Reason,
    },
    /// It was charged for work that had happened already.
    Charged {
        /// Of what.
        dimension: u8,
        /// How much.
        amount: u64,
    },
    /// Of what it had taken, this came back, as far as it still counted.
    Returned {
        /// Of what.
        dimension: u8,
        /// How much.
        amount: u64,
    },
    /// There was no place for its state, and so it was refused.
    NoRoom,
    /// Its state was dropped to make room; it had recovered.
    Forgotten,
}

/// Hears what happens to the keys of one machine, in order, while it happens. It must not call back into the machine.
///
/// ```
/// use tollgate::observe::{KeyEvent, KeyObserver};
///
/// #[derive(Default)]
/// struct Refusals(u64);
///
/// impl<K> KeyObserver<K> for Refusals {
///     fn on_key_event(&mut self, _key: Option<&K>, event: KeyEvent) {
///         self.0 += u64::from(matches!(event, KeyEvent::Refused { .. }));
///     }
/// }
/// ```
pub trait KeyObserver<K> {
    /// Whether there is any use in calling.
    const LISTENS: bool = true;

    /// Called once for each event. `key` is `None` where the machine has no place for it: refused because there was no
    /// room, or one of those who share a state.
    fn on_key_event(&mut self, key: Option<&K>, event: KeyEvent);
}

impl<K> KeyObserver<K> for NoObserver {
    const LISTENS: bool = false;

    #[inline]
    fn on_key_event(&mut self, _key: Option<&K>, _event: KeyEvent) {}
}

/// Both hear everything, in this order.
impl<K, A: KeyObserver<K>, B: KeyObserver<K>> KeyObserver<K> for (A, B) {
    const LISTENS: bool = A::LISTENS || B::LISTENS;

    #[inline]
    fn on_key_event(&mut self, key: Option<&K>, event: KeyEvent) {
        self.0.on_key_event(key, event);
        self.1.on_key_event(key, event);
    }
}
