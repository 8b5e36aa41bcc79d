//! [`Admission`] and [`InFlight`]: the core's [door](tollgate::order) and its caps on what is in flight, with a clock, for those
//! who can wait.
//!
//! **Problem.** The core's door says no, and for how long. Whoever can wait has to sleep exactly so long where a rate said
//! no, and until somebody goes where a cap did; and has to end what was let in whatever happens to its task.
//!
//! **Design.** Nobody holds a place here: whoever waits holds nothing, and looks again. After a rate's refusal that is at
//! the instant it named, to the precision of the runtime's timer. After a cap's refusal it is when anything is released through
//! the same door, and otherwise after the caps' [hint](SharedInFlight::set_hint), since others may share the caps. What was let
//! in is a guard that ends it when it is dropped.
//!
//! **Fairness.** None: who looks first is let in first, and a request that needs much can be passed by ones that need little.
//! For a line, put a [`Gate`](crate::Gate) in front, or a [`RateLimiter`](crate::RateLimiter).
//!
//! **Work** of a look: that of the core's door. A release wakes everybody who waits for a cap here, in batches, and registering
//! for it is O(those who do).

mod bell;
mod guard;

use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::task::Waker;
use core::time::Duration;
use std::sync::Arc;

use tollgate::observe::{KeyObserver, NoObserver};
use tollgate::order::{Rejection, Request, SharedAdmission};
use tollgate::permit::{Bypass, Dimension, InFlightRefused, SharedInFlight};
use tollgate::{DefaultHasher, Timestamp};

use self::bell::{Bell, Listening};
pub use self::guard::{Admitted, InFlightSlot};
use crate::Runtime;
use crate::drive::{self, Look};

/// Rates, budgets and caps behind one door, with a clock; see the [module](self). Clones are the same door.
///
/// # Cancellation
/// Whoever waits holds nothing. What was let in and is dropped is [rolled back](Admitted).
///
/// ```
/// # use tollgate_async::doc::{Sleepless, block_on};
/// # use core::time::Duration;
/// use tollgate::order::{Request, SharedAdmission};
/// use tollgate::permit::{self, Cap, SharedInFlight};
/// use tollgate::rate::LimitsSettings;
/// use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
/// use tollgate_async::{Admission, Runtime};
///
/// # block_on(async {
/// let mut dimensions = Dimensions::new();
/// let requests = dimensions.add("request_count", "requests")?;
/// let group = GroupId(0);
/// // One a second.
/// let rule = Rule::new(RuleId(1), Target::Default, group, requests, 1, Duration::from_secs(1));
/// let rules = RuleSet::new(dimensions, vec![rule])?;
/// let caps = SharedInFlight::<String>::new(1_000, 10)?;
/// let door = SharedAdmission::new(LimitsSettings::for_rules(100, &rules), rules, caps)?;
///
/// let runtime = Sleepless::default(); // stands for a runtime here
/// let door = Admission::new(runtime.clone(), door);
/// let costs = [(requests, 1)];
/// let request = Request::of("ann", group).costs(&costs);
/// door.try_admit(&request)?.complete();
/// let refused = door.try_admit(&request).unwrap_err();
/// let then = runtime.now().saturating_add(refused.retry_after().unwrap());
/// door.admit(&request, then).await?.complete();
/// assert_eq!(runtime.now(), then);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Admission<K, R, S = DefaultHasher, O = NoObserver> {
    runtime: R,
    door: SharedAdmission<K, S, O>,
    bell: Arc<Bell>,
}

impl<K, R, S, O> Admission<K, R, S, O>
where
    K: Eq + Hash + Clone,
    R: Runtime,
    S: BuildHasher + Clone,
    O: KeyObserver<K>,
{
    /// The same door with a clock.
    #[must_use]
    pub fn new(runtime: R, door: SharedAdmission<K, S, O>) -> Self {
        Self { runtime, door, bell: Arc::default() }
    }

    /// Takes all that a request costs and needs, or nothing. O(windows + pairs).
    ///
    /// # Errors
    /// The first limit that refuses.
    pub fn try_admit<Q>(&self, request: &Request<'_, Q>) -> Result<Admitted<K, R, S, O>, Rejection>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        self.admit_at(self.runtime.now(), request)
    }

    /// Waits until a request can be let in, at most until `deadline`; [`Timestamp::MAX`] is none.
    ///
    /// # Errors
    /// At once, what no waiting mends, a rate that lets it through after its deadline only, and no room for its owner's
    /// account; at its deadline, the cap that refused it last.
    pub async fn admit<Q>(
        &self,
        request: &Request<'_, Q>,
        deadline: Timestamp,
    ) -> Result<Admitted<K, R, S, O>, Rejection>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut listening = Listening::new(&self.bell);
        drive::wait(&self.runtime, |waker, at_least| {
            let now = self.runtime.now().max(at_least);
            look(&mut listening, waker, now, deadline, || self.admit_at(now, request), on_rejection)
        })
        .await
    }

    /// As [`admit`](Self::admit), for plain threads: blocks the thread.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn admit_blocking<Q>(
        &self,
        request: &Request<'_, Q>,
        deadline: Timestamp,
    ) -> Result<Admitted<K, R, S, O>, Rejection>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut listening = Listening::new(&self.bell);
        drive::block(&self.runtime, |waker, at_least| {
            let now = self.runtime.now().max(at_least);
            look(&mut listening, waker, now, deadline, || self.admit_at(now, request), on_rejection)
        })
    }

    /// The core's door: rules, reports, snapshots, explanations.
    #[must_use]
    pub const fn door(&self) -> &SharedAdmission<K, S, O> {
        &self.door
    }

    /// Looks again for everybody who waits for a cap: to be called after a cap was raised, or what others hold was released.
    pub fn recheck(&self) {
        self.bell.ring();
    }

    fn admit_at<Q>(&self, now: Timestamp, request: &Request<'_, Q>) -> Result<Admitted<K, R, S, O>, Rejection>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let pass = self.door.try_admit(now, request)?;
        Ok(Admitted::new(pass, self.runtime.clone(), Arc::clone(&self.bell)))
    }
}

/// Caps on what each key has in flight, for those who can wait; see the [module](self). Clones are the same caps.
///
/// ```
/// # use tollgate_async::doc::{Sleepless, block_on};
/// use tollgate::permit::{Bypass, Cap, Dimension, SharedInFlight};
/// use tollgate_async::{InFlight, Timestamp};
///
/// const USER: Dimension = Dimension::new(0).unwrap();
/// # block_on(async {
/// let caps = SharedInFlight::<String>::new(1_000, 10)?;
/// caps.set_cap(USER, Cap::At(1));
/// let caps = InFlight::new(Sleepless::default(), caps);
/// let slot = caps.acquire(&[(USER, "ann")], Bypass::None, Timestamp::MAX).await?;
/// assert!(caps.try_acquire(&[(USER, "ann")], Bypass::None).is_err());
/// drop(slot); // with the last byte of the body
/// assert!(caps.try_acquire(&[(USER, "ann")], Bypass::None).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct InFlight<K, R, S = DefaultHasher, O = NoObserver> {
    runtime: R,
    caps: SharedInFlight<K, S, O>,
    bell: Arc<Bell>,
}

impl<K, R, S, O> InFlight<K, R, S, O>
where
    K: Eq + Hash,
    R: Runtime,
    S: BuildHasher,
    O: KeyObserver<K>,
{
    /// The same caps with a clock.
    #[must_use]
    pub fn new(runtime: R, caps: SharedInFlight<K, S, O>) -> Self {
        Self { runtime, caps, bell: Arc::default() }
    }

    /// Takes one of each pair, or nothing. O(pairs).
    ///
    /// # Errors
    /// The first pair that has no room.
    pub fn try_acquire<Q>(
        &self,
        pairs: &[(Dimension, &Q)],
        bypass: Bypass,
    ) -> Result<InFlightSlot<K, S, O>, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        Ok(InFlightSlot::new(self.caps.try_acquire(pairs, bypass)?, Arc::clone(&self.bell)))
    }

    /// Waits until there is room, at most until `deadline`; [`Timestamp::MAX`] is none.
    ///
    /// # Errors
    /// At once, what no waiting mends; at its deadline, the pair that had no room last.
    pub async fn acquire<Q>(
        &self,
        pairs: &[(Dimension, &Q)],
        bypass: Bypass,
        deadline: Timestamp,
    ) -> Result<InFlightSlot<K, S, O>, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut listening = Listening::new(&self.bell);
        drive::wait(&self.runtime, |waker, at_least| {
            let now = self.runtime.now().max(at_least);
            look(&mut listening, waker, now, deadline, || self.try_acquire(pairs, bypass), on_full)
        })
        .await
    }

    /// As [`acquire`](Self::acquire), for plain threads: blocks the thread.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_blocking<Q>(
        &self,
        pairs: &[(Dimension, &Q)],
        bypass: Bypass,
        deadline: Timestamp,
    ) -> Result<InFlightSlot<K, S, O>, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut listening = Listening::new(&self.bell);
        drive::block(&self.runtime, |waker, at_least| {
            let now = self.runtime.now().max(at_least);
            look(&mut listening, waker, now, deadline, || self.try_acquire(pairs, bypass), on_full)
        })
    }

    /// The caps themselves: to set them, and to see what is held.
    #[must_use]
    pub const fn caps(&self) -> &SharedInFlight<K, S, O> {
        &self.caps
    }

    /// Looks again for everybody who waits: to be called after a cap was raised, or what others hold was released.
    pub fn recheck(&self) {
        self.bell.ring();
    }
}

/// What to do about a refusal.
enum After {
    /// No waiting mends it.
    Never,
    /// It passes then.
    Then(Duration),
    /// It passes when somebody goes; where that may go unheard, looking after this long is a guess.
    Release(Option<Duration>),
}

fn on_rejection(rejection: &Rejection) -> After {
    match rejection {
        Rejection::InFlight(refused) => on_full(refused),
        other => match other.retry_after().filter(|_| other.waiting_helps()) {
            Some(wait) => After::Then(wait),
            None => After::Never,
        },
    }
}

const fn on_full(refused: &InFlightRefused) -> After {
    if refused.reason.waiting_helps() { After::Release(refused.retry_after) } else { After::Never }
}

/// One look: asks, and says until when there is no use in asking again.
fn look<T, E>(
    listening: &mut Listening<'_>,
    waker: &Waker,
    now: Timestamp,
    deadline: Timestamp,
    mut ask: impl FnMut() -> Result<T, E>,
    after: impl Fn(&E) -> After,
) -> Look<Result<T, E>> {
    loop {
        let heard = listening.heard();
        let refusal = match ask() {
            Ok(granted) => return Look::Over(Ok(granted)),
            Err(refusal) => refusal,
        };
        match after(&refusal) {
            After::Never => return Look::Over(Err(refusal)),
            After::Then(wait) => {
                let then = now.saturating_add(wait);
                return if then > deadline { Look::Over(Err(refusal)) } else { Look::Until(Some(then)) };
            }
            After::Release(_) if now >= deadline => return Look::Over(Err(refusal)),
            After::Release(hint) => {
                // Unless something was released since it asked.
                if listening.listen(heard, waker) {
                    let guess = hint.map(|hint| now.saturating_add(hint));
                    return Look::Until(Some(guess.map_or(deadline, |guess| guess.min(deadline))));
                }
            }
        }
    }
}

impl<K, R: Clone, S, O> Clone for Admission<K, R, S, O> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), door: self.door.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl<K, R, S, O> fmt::Debug for Admission<K, R, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("door", &self.door).finish_non_exhaustive()
    }
}

impl<K, R: Clone, S, O> Clone for InFlight<K, R, S, O> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), caps: self.caps.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl<K, R, S, O> fmt::Debug for InFlight<K, R, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("caps", &self.caps).finish_non_exhaustive()
    }
}
