//! The service behind the gate: slots, a FIFO queue, and contention past a knee.
//!
//! A server with c slots serves c requests at once; others wait in line. How long one takes is decided when it
//! starts:
//!
//! ```text
//! service time = work × contention(N) × slow-down(now)
//! contention(N) = 1 + α·n + β·n·(n + 1)      n = max(0, N − knee)
//! ```
//!
//! N counts everybody in the server, waiting or served, itself included: connections, buffers and threads are held
//! by those who wait too. The form is Gunther's universal scalability law, 1 + α(M − 1) + βM(M − 1), with M = n + 1:
//! α is waiting for what is shared, β is everybody talking to everybody. With knee 1 it is that law itself; a
//! greater knee says how many the service can hold before it hurts.
//!
//! A hard limit refuses whoever would be one too many: a full accept queue. A slow-down multiplies service times of
//! what starts within a span of virtual time: a cold cache, a noisy neighbour, a failing disk.
//!
//! **Invariants.** **S1** in service ≤ slots. **S2** nobody waits while a slot is free. **S3** those in the server
//! are those offered minus those refused minus those finished. **Work** O(1) per call, plus the number of scripted
//! slow-downs.

use std::collections::VecDeque;

use serde::Serialize;

use crate::error::SimError;
use crate::num;

/// Contention past a knee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contention {
    /// How many the server holds before it slows down.
    pub knee: u32,
    /// Share of the work that is serialised, per request past the knee.
    pub alpha: f64,
    /// Cost of coherence, per pair past the knee.
    pub beta: f64,
}

impl Contention {
    /// No contention.
    pub const NONE: Self = Self { knee: 1, alpha: 0.0, beta: 0.0 };

    /// How many times as long a service takes with `present` in the server.
    #[inline]
    #[must_use]
    pub fn factor(self, present: u32) -> f64 {
        let past = f64::from(present.saturating_sub(self.knee));
        1.0 + self.alpha * past + self.beta * past * (past + 1.0)
    }
}

/// Services that start in `from_ns..to_ns` take `factor` times as long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowDown {
    /// First instant.
    pub from_ns: u64,
    /// First instant after.
    pub to_ns: u64,
    /// How many times as long.
    pub factor: f64,
}

/// A server's shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Requests served at once.
    pub slots: u32,
    /// The most in the server at once; `None` for no bound.
    pub hard_limit: Option<u32>,
    /// Contention.
    pub contention: Contention,
    /// Scripted slow-downs; where they overlap, their factors multiply.
    pub slow_downs: Vec<SlowDown>,
}

impl Settings {
    /// Checks the numbers.
    ///
    /// # Errors
    /// [`SimError::Setting`].
    pub fn check(&self) -> Result<(), SimError> {
        let rate = |name, value: f64| {
            SimError::unless((0.0..=1e3).contains(&value), name, value, "a number from 0 to 1000")
        };
        SimError::unless((1..=1_000_000).contains(&self.slots), "slots", self.slots, "1 to 1000000")?;
        SimError::unless(self.hard_limit != Some(0), "hard limit", 0, "at least 1")?;
        SimError::unless(self.contention.knee > 0, "knee", self.contention.knee, "at least 1")?;
        rate("alpha", self.contention.alpha)?;
        rate("beta", self.contention.beta)?;
        for slow in &self.slow_downs {
            let factor = slow.factor;
            let fine = (1e-3..=1e6).contains(&factor);
            SimError::unless(fine, "slow-down factor", factor, "a number from 0.001 to 1000000")?;
            SimError::unless(slow.from_ns < slow.to_ns, "slow-down", "empty", "a start before its end")?;
        }
        Ok(())
    }
}

/// What became of an offered request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Offer {
    /// It is served, and done at this instant.
    Started { done_ns: u64 },
    /// It waits in line.
    Queued,
    /// The server is full.
    Refused,
}

/// A server at work. Requests are numbers the caller chose.
#[derive(Debug)]
pub(crate) struct Server<'a> {
    settings: &'a Settings,
    in_service: u32,
    line: VecDeque<(u32, u64)>,
}

impl<'a> Server<'a> {
    pub(crate) const fn new(settings: &'a Settings) -> Self {
        Self { settings, in_service: 0, line: VecDeque::new() }
    }

    /// Everybody in the server, waiting or served.
    #[inline]
    pub(crate) fn present(&self) -> u32 {
        self.in_service.saturating_add(num::index_u32(self.line.len()))
    }

    /// A request arrives.
    #[inline]
    pub(crate) fn offer(&mut self, now_ns: u64, request: u32, work_ns: u64) -> Offer {
        if self.settings.hard_limit.is_some_and(|limit| self.present() >= limit) {
            return Offer::Refused;
        }
        if self.in_service == self.settings.slots {
            self.line.push_back((request, work_ns));
            return Offer::Queued;
        }
        self.in_service += 1;
        Offer::Started { done_ns: self.done_ns(now_ns, work_ns) }
    }

    /// A request is done. The next in line takes its slot: who, and when it is done.
    #[inline]
    pub(crate) fn finish(&mut self, now_ns: u64) -> Option<(u32, u64)> {
        debug_assert!(self.in_service > 0, "S3: a request finished that was not served");
        self.in_service -= 1;
        let (request, work_ns) = self.line.pop_front()?;
        self.in_service += 1;
        debug_assert!(self.in_service <= self.settings.slots, "S1");
        Some((request, self.done_ns(now_ns, work_ns)))
    }

    /// When a request that starts now, already counted as present, is done.
    #[inline]
    fn done_ns(&self, now_ns: u64, work_ns: u64) -> u64 {
        let slow_downs = self.settings.slow_downs.iter();
        let slow =
            slow_downs.filter(|slow| (slow.from_ns..slow.to_ns).contains(&now_ns)).map(|slow| slow.factor);
        let factor = self.settings.contention.factor(self.present()) * slow.product::<f64>();
        now_ns.saturating_add(num::rounded(num::real(work_ns) * factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(slots: u32) -> Settings {
        Settings { slots, hard_limit: None, contention: Contention::NONE, slow_downs: Vec::new() }
    }

    #[test]
    fn a_free_slot_serves_at_once_and_a_full_server_makes_a_line_in_order() {
        let settings = settings(2);
        let mut server = Server::new(&settings);
        assert_eq!(server.offer(0, 1, 10), Offer::Started { done_ns: 10 });
        assert_eq!(server.offer(1, 2, 10), Offer::Started { done_ns: 11 });
        assert_eq!(server.offer(2, 3, 10), Offer::Queued);
        assert_eq!(server.offer(3, 4, 20), Offer::Queued);
        assert_eq!((server.in_service, server.present()), (2, 4));
        assert_eq!(server.finish(10), Some((3, 20)));
        assert_eq!(server.finish(11), Some((4, 31)));
        assert_eq!(server.finish(20), None);
        assert_eq!(server.finish(31), None);
        assert_eq!(server.present(), 0);
    }

    #[test]
    fn the_hard_limit_refuses_whoever_would_be_one_too_many() {
        let settings = Settings { hard_limit: Some(2), ..settings(1) };
        let mut server = Server::new(&settings);
        assert_eq!(server.offer(0, 1, 10), Offer::Started { done_ns: 10 });
        assert_eq!(server.offer(0, 2, 10), Offer::Queued);
        assert_eq!(server.offer(0, 3, 10), Offer::Refused);
        assert_eq!(server.present(), 2);
        assert!(server.finish(10).is_some());
        assert_eq!(server.offer(10, 4, 10), Offer::Queued);
    }

    #[test]
    fn contention_is_the_scalability_law_counted_from_the_knee() {
        let contention = Contention { knee: 4, alpha: 0.1, beta: 0.01 };
        assert!((contention.factor(4) - 1.0).abs() < 1e-12);
        assert!((contention.factor(5) - (1.0 + 0.1 + 0.01 * 2.0)).abs() < 1e-12);
        assert!((contention.factor(14) - (1.0 + 1.0 + 0.01 * 110.0)).abs() < 1e-12);
        let usl = Contention { knee: 1, ..contention };
        let n = 9.0;
        assert!((usl.factor(9) - (1.0 + 0.1 * (n - 1.0) + 0.01 * n * (n - 1.0))).abs() < 1e-12);
    }

    #[test]
    fn whoever_waits_slows_down_whoever_starts() {
        let contention = Contention { knee: 2, alpha: 0.5, beta: 0.0 };
        let settings = Settings { contention, ..settings(1) };
        let mut server = Server::new(&settings);
        assert_eq!(server.offer(0, 1, 100), Offer::Started { done_ns: 100 });
        for request in 2..=4 {
            assert_eq!(server.offer(0, request, 100), Offer::Queued);
        }
        // Three are left when the second starts: one past the knee.
        assert_eq!(server.finish(100), Some((2, 250)));
        assert_eq!(server.finish(250), Some((3, 350)));
    }

    #[test]
    fn a_slow_down_stretches_what_starts_within_it() {
        let slow = |from_ns, to_ns, factor| SlowDown { from_ns, to_ns, factor };
        let settings = Settings { slow_downs: vec![slow(10, 20, 3.0), slow(15, 30, 2.0)], ..settings(9) };
        let mut server = Server::new(&settings);
        for (now, done) in [(9, 109), (10, 310), (15, 615), (19, 619), (20, 220), (30, 130)] {
            assert_eq!(server.offer(now, 0, 100), Offer::Started { done_ns: done }, "at {now}");
        }
    }

    #[test]
    fn impossible_servers_are_refused() {
        assert!(settings(0).check().is_err());
        assert!(Settings { hard_limit: Some(0), ..settings(1) }.check().is_err());
        let contention = Contention { knee: 1, alpha: f64::NAN, beta: 0.0 };
        assert!(Settings { contention, ..settings(1) }.check().is_err());
        let backwards = SlowDown { from_ns: 5, to_ns: 5, factor: 2.0 };
        assert!(Settings { slow_downs: vec![backwards], ..settings(1) }.check().is_err());
        assert!(settings(1).check().is_ok());
    }
}
