//! [`Admission`]: request count, then budgets, then slots, in one decision.
//!
//! **Problem.** A server limits how often somebody asks, what the requests cost, and how many of them run at once. Asked
//! one after another, each of these limits takes its part before the next is asked; a request that the last one refuses
//! has used up the others for nothing, and whoever is held back by a cap on what is in flight loses the quota of the
//! hour as well. Giving back afterwards is seen by others in between, and can fail.
//!
//! **Design.** Look at all, then take from all:
//!
//! 1. the costs, in the order given: the request count first, which is known and cheap, then budgets. Nothing is taken;
//! 2. the slots, all of them or none: they come last because they are held, not consumed;
//! 3. the costs are taken, which cannot fail, for nobody came in between.
//!
//! So the refusal of the k-th limit leaves limits 1 to k − 1 as they were, bit for bit. (An owner that was not known has
//! an account now, with nothing on it.) What becomes known of the cost later is [evaluated](Admission::evaluate) then,
//! against the limits as they are then. A [`Bypass`] skips the slots, or everything.
//!
//! **Deviation** from the sources, which ask limit after limit and roll back: see [`session`](crate::rate::session).
//!
//! **Invariants.** **I1** a request that was refused holds nothing and consumed nothing; **I2** what an admitted one took
//! and holds comes back or stays exactly once, at its one end.
//!
//! **Work** O(windows + pairs), and the square of the number of costs. **Memory** that of its parts.
//!
//! **Shared by threads:** [`SharedAdmission`] (feature `std`).

mod request;
#[cfg(feature = "std")]
mod shared;

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};

pub use request::{Rejection, Request};
#[cfg(feature = "std")]
pub use shared::{Pass, SharedAdmission};

use crate::DefaultHasher;
use crate::error::Stale;
use crate::observe::{KeyObserver, NoObserver};
use crate::permit::{Bypass, InFlight, InFlightTicket};
use crate::rate::rules::Dimension;
use crate::rate::{Blame, Denied, Limits, Session};
use crate::time::Timestamp;

/// What one request took and holds. End it with [`complete`](Admission::complete) or [`roll_back`](Admission::roll_back).
#[derive(Debug)]
#[must_use = "complete it or roll it back: what it holds stays held until then"]
pub struct Admitted {
    /// `None` for who is exempt from every limit.
    session: Option<Session>,
    slots: InFlightTicket,
}

impl Admitted {
    /// Its session, if it is not exempt.
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The session and the slots, to be ended one by one: the session when the cost is known, the slots when the last byte
    /// is sent.
    pub fn into_parts(self) -> (Option<Session>, InFlightTicket) {
        (self.session, self.slots)
    }
}

/// Limits and caps behind one door, for one owner; see the [module](self).
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::order::{Admission, Rejection, Request};
/// use tollgate::permit::{self, Cap, InFlight};
/// use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
/// use tollgate::rate::{Limits, LimitsSettings};
///
/// let mut dimensions = Dimensions::new();
/// let requests = dimensions.add("request_count", "requests")?;
/// let tokens = dimensions.add("output_token_count", "tokens")?;
/// let (group, minute) = (GroupId(0), Duration::from_secs(60));
/// let rules = RuleSet::new(dimensions, vec![
///     Rule::new(RuleId(1), Target::Default, group, requests, 60, minute),
///     Rule::new(RuleId(2), Target::Default, group, tokens, 1_000, minute),
/// ])?;
/// const USER: permit::Dimension = permit::Dimension::new(0).unwrap();
/// let mut in_flight: InFlight<String> = InFlight::new(1_000, 10)?;
/// in_flight.set_cap(USER, Cap::At(1));
/// let mut door = Admission::new(Limits::new(LimitsSettings::for_rules(100, &rules), rules)?, in_flight);
///
/// let now = Timestamp::ZERO;
/// let (costs, slots) = ([(requests, 1), (tokens, 300)], [(USER, "ann")]);
/// let request = Request::of("ann", group).costs(&costs).slots(&slots);
/// let mut first = door.try_admit(now, &request)?;
///
/// // The cap refuses the second, which consumes nothing.
/// let rejected = door.try_admit(now, &request).unwrap_err();
/// assert!(matches!(rejected, Rejection::InFlight(_)) && rejected.waiting_helps());
/// let account = door.limits().account("ann").unwrap();
/// let used: Vec<_> = door.limits_mut().report(now, account, group, None)?.map(|window| window.used).collect();
/// assert_eq!(used, [1, 300]);
///
/// door.settle(now, &mut first, tokens, 250);
/// door.complete(now, first)?;
/// assert_eq!(door.in_flight().held(USER, "ann"), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Admission<K, S = DefaultHasher, O = NoObserver> {
    limits: Limits<K, S, O>,
    in_flight: InFlight<K, S, O>,
}

impl<K, S, O> Admission<K, S, O> {
    /// Both as they are.
    #[must_use]
    pub const fn new(limits: Limits<K, S, O>, in_flight: InFlight<K, S, O>) -> Self {
        Self { limits, in_flight }
    }

    /// The limits on rates and budgets.
    #[must_use]
    pub const fn limits(&self) -> &Limits<K, S, O> {
        &self.limits
    }

    /// The same, to change rules and to read reports.
    pub const fn limits_mut(&mut self) -> &mut Limits<K, S, O> {
        &mut self.limits
    }

    /// The caps on what is in flight.
    #[must_use]
    pub const fn in_flight(&self) -> &InFlight<K, S, O> {
        &self.in_flight
    }

    /// The same, to change caps.
    pub const fn in_flight_mut(&mut self) -> &mut InFlight<K, S, O> {
        &mut self.in_flight
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Admission<K, S, O> {
    /// Takes all that a request costs and needs, or nothing. O(windows + pairs).
    ///
    /// # Errors
    /// The first limit that refuses.
    pub fn try_admit<Q>(&mut self, now: Timestamp, request: &Request<'_, Q>) -> Result<Admitted, Rejection>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let in_flight = &mut self.in_flight;
        let (session, slots) =
            admit(&mut self.limits, now, request, || in_flight.try_acquire(request.slots, request.bypass))?;
        Ok(Admitted { session, slots })
    }

    /// Takes more of a dimension, from all of its windows or none: a cost that has become known. What was taken before is
    /// kept, and so are the slots, whatever the answer. O(windows).
    ///
    /// # Errors
    /// As [`Limits::evaluate`].
    pub fn evaluate(
        &mut self,
        now: Timestamp,
        admitted: &mut Admitted,
        dimension: Dimension,
        amount: u64,
    ) -> Result<(), Denied> {
        let Some(session) = &mut admitted.session else { return Ok(()) };
        self.limits.evaluate(now, session, dimension, amount)
    }

    /// Says what it really used of a dimension; see [`Limits::settle`].
    pub fn settle(&mut self, now: Timestamp, admitted: &mut Admitted, dimension: Dimension, actual: u64) {
        if let Some(session) = &mut admitted.session {
            self.limits.settle(now, session, dimension, actual);
        }
    }

    /// Ends a request that succeeded: what it took stays consumed, what it holds comes back. O(pairs).
    ///
    /// # Errors
    /// [`Stale`] if it is not from here.
    pub fn complete(&mut self, now: Timestamp, admitted: Admitted) -> Result<(), Stale> {
        if let Some(session) = admitted.session {
            self.limits.commit(now, session);
        }
        self.in_flight.release(admitted.slots)
    }

    /// Ends a request that did not: what it holds comes back, and what it took, as [`Limits::roll_back`] says. O(records + pairs).
    ///
    /// # Errors
    /// [`Stale`] if it is not from here.
    pub fn roll_back(&mut self, now: Timestamp, admitted: Admitted, blame: Blame) -> Result<(), Stale> {
        if let Some(session) = admitted.session {
            self.limits.roll_back(now, session, blame);
        }
        self.in_flight.release(admitted.slots)
    }
}

/// The one decision: looks at the costs, acquires the slots, takes the costs.
fn admit<K, S, O, Q, T>(
    limits: &mut Limits<K, S, O>,
    now: Timestamp,
    request: &Request<'_, Q>,
    acquire: impl FnOnce() -> Result<T, crate::permit::InFlightRefused>,
) -> Result<(Option<Session>, T), Rejection>
where
    K: Eq + Hash + Clone + Borrow<Q>,
    S: BuildHasher,
    O: KeyObserver<K>,
    Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
{
    if request.bypass.skips_rates() {
        return Ok((None, acquire()?));
    }
    let mut session = limits.begin(now, request.owner, request.tier, request.group)?;
    let looked = limits.look_at_all(now, &session, request.costs).map_err(Rejection::Limit);
    match looked.and_then(|()| acquire().map_err(Rejection::InFlight)) {
        Ok(slots) => {
            limits.take_all(now, &mut session, request.costs);
            Ok((Some(session), slots))
        }
        Err(rejection) => {
            limits.roll_back(now, session, Blame::Nobody);
            Err(rejection)
        }
    }
}

impl<K, S, O> fmt::Debug for Admission<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}
