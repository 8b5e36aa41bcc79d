//! What a [`Knee`](super::Knee) is doing: the phases and what each has to remember.

/// What the open round is for. A round belongs to one phase from its first sample to its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    /// The standing limit is in force and judged.
    Round,
    /// Less is published for one round, to measure the baseline.
    Dip {
        /// The limit published.
        level: f64,
    },
    /// Much less is published for one round: does the latency follow?
    Verify(Trial),
    /// The limit was cut for drops: do they follow?
    Cut(Cut),
    /// Nothing gets through. The limit halves each round.
    Dead,
}

impl Phase {
    /// What a probe publishes in place of the standing limit.
    pub(super) const fn level(&self) -> Option<f64> {
        match self {
            Self::Dip { level } | Self::Verify(Trial { level, .. }) => Some(*level),
            Self::Round | Self::Cut(_) | Self::Dead => None,
        }
    }
}

/// The experiment that tells a queue from a slower service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// The limit published.
    pub(super) level: f64,
    /// N of the round before, mean in flight.
    pub(super) in_flight: f64,
    /// r of the round before, ns.
    pub(super) mean_ns: f64,
    /// The limit to return to if the service is slower: what it was before the descent.
    pub(super) before: f64,
}

/// The experiment that tells drops of ours from drops that come anyway.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The limit before the first cut.
    pub(super) before: f64,
    /// The share of drops then.
    pub(super) dropped: f64,
    /// Whether this is the second, deeper one.
    pub(super) again: bool,
}

/// How the limit grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// It doubles: nothing is known yet, or all was lost.
    Startup,
    /// By the room left to the headroom.
    Steady,
    /// Towards a wall that drops showed: not at all for some rounds, then by little.
    Creep {
        /// Rounds still to hold.
        hold: u32,
        /// Where the drops were.
        wall: f64,
    },
}
