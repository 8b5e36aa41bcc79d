//! A whole adaptive limiter as lists: of the requests it let in, of what it decided, of the times it measured.
//!
//! What learns the limit is not judged here: it is a [`Base`], told what it has to be told and asked for its limit.
//! Whoever compares gives the machine and the oracle one each, and looks at what both were told.

use crate::Denied;
use crate::burst::{self, Window};
use crate::partitions::{Guarantee, Partitions, Share};

/// How a request ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as the outcomes of the machine, which say what they mean")]
pub enum Outcome {
    Success,
    Dropped,
    Ignored,
}

/// What learns the limit.
pub trait Base {
    /// A request that was let in at an instant ended after nanoseconds, with so many in flight when it came.
    fn sample(&mut self, started: u64, rtt: u64, in_flight: u32, outcome: Outcome);
    /// The limit was met.
    fn rejected(&mut self, now: u64);
    /// Time has passed.
    fn ticked(&mut self, now: u64);
    /// The limit it has learnt.
    fn learnt(&self) -> u32;
}

/// Whether a limit is enforced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as the modes of the machine, which say what they mean")]
pub enum Mode {
    Disabled,
    MonitorOnly,
    Enforced,
}

/// How a limiter is set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rules {
    /// Whether it is enforced.
    pub mode: Mode,
    /// Nothing is refused for so long after it was made or enabled.
    pub warmup: u64,
    /// Room for bursts.
    pub burst: burst::Rules,
    /// What shares mean.
    pub guarantee: Guarantee,
    /// Whether requests past the limit are samples and in flight for them.
    pub honest: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Free,
    Untracked,
    /// What the partitions call it.
    Tracked(u64),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    number: u64,
    started: u64,
    weight: u32,
    in_flight: u64,
    kind: Kind,
}

/// A refusal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as in the refusals of the machine, which say what they mean")]
pub struct Refused {
    pub why: Denied,
    pub pause: Option<u64>,
    pub retry_after: Option<u64>,
}

/// Something that was decided or ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as the counts of the machine, which say what they mean")]
pub enum Event {
    Admitted,
    Rejected,
    RejectedOverweight,
    WouldReject,
    PassedInWarmup,
    Paused,
    Ended(Outcome),
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Limiter<B> {
    /// What learns the limit.
    pub base: B,
    /// As it is set.
    pub rules: Rules,
    partitions: Partitions,
    window: Window,
    /// Since when it is enabled, and the warm-up of then.
    enabled: (u64, u64),
    now: u64,
    requests: Vec<Request>,
    ever: u64,
    events: Vec<Event>,
    /// Times of those that ended well.
    times: Vec<u64>,
}

impl<B: Base> Limiter<B> {
    /// Nothing is in flight; `None` if the shares are not valid.
    #[must_use]
    pub fn new(
        now: u64,
        base: B,
        rules: Rules,
        shares: &[Share],
        most: usize,
        pausing: usize,
    ) -> Option<Self> {
        let partitions = Partitions::new(0, rules.guarantee, shares, most, pausing)?;
        let (enabled, requests, events, times) = ((now, rules.warmup), vec![], vec![], vec![]);
        let window = Window::default();
        Some(Self { base, rules, partitions, window, enabled, now, requests, ever: 0, events, times })
    }

    /// It was told the time, which never goes back.
    pub fn observe(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// A request comes. Names it, if it is let in.
    ///
    /// # Errors
    /// It is refused.
    pub fn admit(&mut self, now: u64, partition: Option<u32>, weight: u32) -> Result<u64, Refused> {
        self.observe(now);
        if self.rules.mode == Mode::Disabled {
            return Ok(self.let_in(weight, Kind::Free));
        }
        let why = match self.shares().acquire(partition, weight) {
            Ok(held) => {
                self.events.push(Event::Admitted);
                return Ok(self.let_in(weight, Kind::Tracked(held)));
            }
            Err(why) => why,
        };
        if why == Denied::NoPermits {
            self.base.rejected(self.now);
        }
        match (self.rules.mode, self.is_warm()) {
            (Mode::MonitorOnly, _) => self.events.push(Event::WouldReject),
            (_, false) => self.events.push(Event::PassedInWarmup),
            (_, true) => return Err(self.refuse(why, partition, weight)),
        }
        Ok(self.let_in(weight, Kind::Untracked))
    }

    /// A request has ended.
    ///
    /// # Panics
    /// If there is no such request.
    pub fn complete(&mut self, now: u64, number: u64, outcome: Outcome) {
        self.observe(now);
        let place = self.requests.iter().position(|request| request.number == number).expect("in flight");
        let Request { started, in_flight, kind, .. } = self.requests.remove(place);
        match kind {
            Kind::Free => return,
            Kind::Untracked => {}
            Kind::Tracked(held) => self.partitions.release(held),
        }
        self.events.push(Event::Ended(outcome));
        let rtt = self.now - started;
        if outcome == Outcome::Success {
            self.times.push(rtt);
        }
        if outcome != Outcome::Ignored && (kind != Kind::Untracked || self.rules.honest) {
            let in_flight = u32::try_from(in_flight).unwrap_or(u32::MAX);
            // What came in through the window is none of its business.
            let has_window = self.rules.burst.capacity > 0;
            let seen = if has_window { in_flight.min(self.base.learnt()) } else { in_flight };
            self.base.sample(started, rtt, seen, outcome);
            self.window.watch(in_flight, self.base.learnt(), self.rules.burst);
        }
    }

    /// Time passes.
    pub fn tick(&mut self, now: u64) {
        self.observe(now);
        self.base.ticked(self.now);
    }

    /// Whether it can be set so, which it is from now on.
    pub fn reconfigure(&mut self, now: u64, rules: Rules, shares: &[Share]) -> bool {
        self.observe(now);
        let burst = rules.burst;
        let valid = burst.capacity < 1 << 31 && burst.close_after > 0 && burst.open_after > 0;
        if !valid || !self.partitions.set_shares(rules.guarantee, shares) {
            return false;
        }
        if self.rules.mode == Mode::Disabled && rules.mode != Mode::Disabled {
            self.enabled = (self.now, rules.warmup);
        } else if !self.is_warm() {
            self.enabled.1 = rules.warmup;
        }
        self.rules = rules;
        true
    }

    /// The warm-up begins anew.
    pub fn restart(&mut self, now: u64) {
        self.observe(now);
        self.enabled = (self.now, self.rules.warmup);
    }

    /// The limit in force.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.window.limit(self.base.learnt(), self.rules.burst)
    }

    /// Who holds what under the limit in force.
    pub fn shares(&mut self) -> &mut Partitions {
        self.partitions.limit = self.limit();
        &mut self.partitions
    }

    /// Whether refusals are possible, by the time alone.
    #[must_use]
    pub fn is_warm(&self) -> bool {
        self.now >= self.warm_at()
    }

    /// When they will be.
    #[must_use]
    pub fn warm_at(&self) -> u64 {
        self.enabled.0.saturating_add(self.enabled.1)
    }

    /// How long they will not be.
    #[must_use]
    pub fn warmup_left(&self, now: u64) -> u64 {
        self.warm_at().saturating_sub(self.now.max(now))
    }

    /// Whether there is room for bursts.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.rules.burst.capacity > 0 && self.window.replay().open
    }

    /// All that is in flight, past the limit too.
    #[must_use]
    pub fn in_flight_all(&self) -> u64 {
        self.weigh(|kind| kind != Kind::Free)
    }

    /// What of it is past the limit.
    #[must_use]
    pub fn past_the_limit(&self) -> u64 {
        self.weigh(|kind| kind == Kind::Untracked)
    }

    /// Whether a request takes up a share of the limit.
    #[must_use]
    pub fn is_tracked(&self, number: u64) -> bool {
        let request = self.requests.iter().find(|request| request.number == number);
        request.is_some_and(|request| matches!(request.kind, Kind::Tracked(_)))
    }

    /// How often something happened.
    #[must_use]
    pub fn times(&self, event: Event) -> u64 {
        self.events.iter().filter(|&&other| other == event).count() as u64
    }

    /// Time of the last one that ended well.
    #[must_use]
    pub fn last_time(&self) -> Option<u64> {
        self.times.last().copied()
    }

    /// The shortest of their times.
    #[must_use]
    pub fn least_time(&self) -> Option<u64> {
        self.times.iter().copied().min()
    }

    /// Mean of their times: an eighth of the way to each in turn, down to whole nanoseconds, from the first that took
    /// any time.
    #[must_use]
    pub fn mean_time(&self) -> Option<u64> {
        let mut took_time = self.times.iter().map(|&time| i128::from(time)).skip_while(|&time| time == 0);
        let first = took_time.next().unwrap_or(0);
        let mean = took_time.fold(first, |mean, time| mean + (time - mean) / 8);
        self.last_time().map(|_| u64::try_from(mean).expect("between times"))
    }

    fn refuse(&mut self, why: Denied, partition: Option<u32>, weight: u32) -> Refused {
        if why == Denied::ExceedsLimit {
            self.events.push(Event::RejectedOverweight);
            return Refused { why, pause: None, retry_after: None };
        }
        self.events.push(Event::Rejected);
        let pause = self.partitions.pause(self.now, partition);
        if pause.is_some() {
            self.events.push(Event::Paused);
        }
        Refused { why, pause, retry_after: self.retry_after(weight) }
    }

    /// As long as it takes until so much has ended, if all that is in flight ends evenly within the mean time.
    fn retry_after(&self, weight: u32) -> Option<u64> {
        let mean = u128::from(self.mean_time().filter(|&mean| mean > 0)?);
        let in_flight = u128::from(self.partitions.in_flight());
        if in_flight == 0 {
            return None;
        }
        let excess = (in_flight + u128::from(weight)).saturating_sub(self.limit().into()).max(1);
        Some(u64::try_from((mean * excess).div_ceil(in_flight)).unwrap_or(u64::MAX))
    }

    fn let_in(&mut self, weight: u32, kind: Kind) -> u64 {
        self.ever += 1;
        let mut request = Request { number: self.ever, started: self.now, weight, in_flight: 0, kind };
        self.requests.push(request);
        request.in_flight =
            if self.rules.honest { self.in_flight_all() } else { self.partitions.in_flight() };
        *self.requests.last_mut().expect("just pushed") = request;
        self.ever
    }

    fn weigh(&self, counts: impl Fn(Kind) -> bool) -> u64 {
        let those = self.requests.iter().filter(|request| counts(request.kind));
        those.map(|request| u64::from(request.weight)).sum()
    }
}
