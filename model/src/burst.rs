//! Room for bursts as the list of all samples, replayed at each question with the two counters of the reference.

/// What the window was told when a sample came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rules {
    /// Room while it is open.
    pub capacity: u32,
    /// Samples in a row at or above the limit that close it.
    pub close_after: u32,
    /// Samples in a row below it that open it.
    pub open_after: u32,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    in_flight: u32,
    limit: u32,
    rules: Rules,
}

/// What a replay ends with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct State {
    /// Whether there is room.
    pub open: bool,
    /// Samples in a row at or above the limit, while open.
    pub over: u32,
    /// Samples in a row below it, while closed.
    pub below: u32,
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Window {
    seen: Vec<Seen>,
}

impl Window {
    /// A sample with so much in flight, and the limit that was learnt from it.
    pub fn watch(&mut self, in_flight: u32, limit: u32, rules: Rules) {
        // Without room there is no window.
        if rules.capacity > 0 {
            self.seen.push(Seen { in_flight, limit, rules });
        }
    }

    /// From the first sample to the last.
    #[must_use]
    pub fn replay(&self) -> State {
        let (mut open, mut over, mut below) = (true, 0, 0);
        for &Seen { in_flight, limit, rules } in &self.seen {
            if open {
                over = if in_flight >= limit { over + 1 } else { 0 };
                if over >= rules.close_after {
                    (open, over) = (false, 0);
                }
            } else {
                below = if in_flight < limit { below + 1 } else { 0 };
                if below >= rules.open_after {
                    (open, below) = (true, 0);
                }
            }
        }
        State { open, over, below }
    }

    /// A learnt limit with the room there is.
    #[must_use]
    pub fn limit(&self, learnt: u32, rules: Rules) -> u32 {
        let room = if self.replay().open { u64::from(rules.capacity) } else { 0 };
        u32::try_from((u64::from(learnt) + room).min((1 << 31) - 1)).expect("below 2^31")
    }
}
