//! Windows that keep a log and count by scanning it.

/// Something counted.
#[derive(Clone, Copy, Debug)]
struct Logged {
    at: u64,
    cost: u64,
    granted: bool,
}

/// Names one line of the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Line(usize);

/// Everything that was granted or charged, in order, with the instant that counted.
#[derive(Clone, Debug, Default)]
pub struct Log {
    lines: Vec<Logged>,
    latest: u64,
    /// All that was ever written down, whatever came back.
    pub written: u128,
}

impl Log {
    /// Somebody told it the time: it never goes back. Returns the instant that counts.
    pub fn observe(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Writes a grant down.
    pub fn grant(&mut self, now: u64, cost: u64) -> Line {
        self.write(now, cost, true)
    }

    /// Writes a charge down: no law bounds it, but it counts.
    pub fn charge(&mut self, now: u64, cost: u64) -> Line {
        self.write(now, cost, false)
    }

    /// Writes down that this much of a line came back.
    pub fn give_back(&mut self, line: Line, cost: u64) {
        let logged = &mut self.lines[line.0];
        logged.cost = logged.cost.saturating_sub(cost);
    }

    /// When a line was written and what is left of it.
    #[must_use]
    pub fn line(&self, line: Line) -> (u64, u64) {
        (self.lines[line.0].at, self.lines[line.0].cost)
    }

    /// All that counts with an instant in `from..=until`.
    #[must_use]
    pub fn counted(&self, from: u64, until: u64) -> u128 {
        self.sum(|logged| (from..=until).contains(&logged.at))
    }

    /// What was granted with an instant in `from..=until`.
    #[must_use]
    pub fn granted(&self, from: u64, until: u64) -> u128 {
        self.sum(|logged| logged.granted && (from..=until).contains(&logged.at))
    }

    /// The most that was granted in any window of `length_ns` (the instants g to g + length − 1).
    #[must_use]
    pub fn most_granted(&self, length_ns: u64) -> u128 {
        let windows =
            self.lines.iter().map(|first| self.granted(first.at, first.at.saturating_add(length_ns - 1)));
        windows.max().unwrap_or(0)
    }

    /// What is used of the window `now` falls into, when windows of `length_ns` are counted from `origin`, each
    /// allows `limit`, and what is used beyond that is owed by the windows that follow.
    #[must_use]
    pub fn used(&self, now: u64, origin: u64, length_ns: u64, limit: u64) -> u128 {
        let window = |at: u64| at.saturating_sub(origin) / length_ns;
        let current = window(now.max(self.latest));
        // The most that any stretch of the log used beyond what the windows since its beginning allow.
        let mut worst = 0_i128;
        let mut sum = 0_i128;
        for logged in self.lines.iter().rev() {
            sum += i128::from(logged.cost);
            let allowed = i128::from(current - window(logged.at)).saturating_mul(i128::from(limit));
            worst = worst.max(sum.saturating_sub(allowed));
        }
        worst.unsigned_abs()
    }

    fn write(&mut self, now: u64, cost: u64, granted: bool) -> Line {
        let at = self.observe(now);
        self.lines.push(Logged { at, cost, granted });
        self.written += u128::from(cost);
        Line(self.lines.len() - 1)
    }

    fn sum(&self, counts: impl Fn(&Logged) -> bool) -> u128 {
        self.lines.iter().filter(|logged| counts(logged)).map(|logged| u128::from(logged.cost)).sum()
    }
}
