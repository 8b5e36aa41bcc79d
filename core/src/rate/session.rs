//! [`Session`]: one request, from its first check to its end.
//!
//! **Problem.** What a request costs is known piece by piece: that it is one request, at once; how many seconds its video
//! has, after a look at it; how many tokens it put out, at the end. Each piece has several windows to pass. And when the
//! request fails, what it took has to come back, exactly, once, and not to everybody.
//!
//! **What is done.** A session evaluates dimensions as they become known. Each evaluation looks at all windows of its
//! dimension and then takes from all of them or none, under one exclusive borrow: nobody can see it half done. What was
//! taken is written down in the session, with its place among the grants of each window, and comes back in reverse
//! order. A session is consumed by its end, so there is one end.
//!
//! | when it ends | what stays consumed |
//! | --- | --- |
//! | [`commit`](super::Limits::commit) | all |
//! | [`settle`](super::Limits::settle), before the end | what it really was; more than was taken is charged, whatever is left |
//! | [`roll_back`](super::Limits::roll_back), nobody's fault | nothing |
//! | … the client's or the server's fault | what the dimension's [`Refund`](super::rules::Refund) says |
//!
//! | what comes back after | |
//! | --- | --- |
//! | nothing | all of it, bit for bit, in reverse order over all sessions; in any other, every answer is as if it had never been |
//! | time | what time has not given back already: what the [bucket](super::bucket) says, and of a window, what it still counts |
//! | the window's edge | nothing |
//! | another limit | the same |
//! | another strategy, or a reset | nothing: the new meter never saw the grant |
//! | the rule's end | the same, to a meter that counts for nobody until a rule comes back |
//! | the account's eviction | cannot be: an account with an open session is not forgotten |
//!
//! **Deviation** from the source, the multi-dimension limiter this product was asked to cover: there each window was taken
//! from by itself and rolled back when a later one refused, for everybody to see; and failures refunded everything, so that
//! whoever only failed was not limited at all.
//!
//! **Invariants.** **I1** records are in the order in which they were taken; **I2** those of one evaluation are next to one
//! another and for the same amount; **I3** what was given back is not in a record any more.
//!
//! **Work** O(windows) for an evaluation, O(records) for an end. **Memory** some 800 bytes, inline: 16 records, one for
//! each window of each evaluation; an evaluation that has no room is refused.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
//! use tollgate::rate::{Blame, Limits, LimitsSettings};
//!
//! let mut dimensions = Dimensions::new();
//! let requests = dimensions.add("request_count", "requests")?;
//! let tokens = dimensions.add("output_token_count", "tokens")?;
//! let (search, minute) = (GroupId(0), Duration::from_secs(60));
//! let rules = RuleSet::new(dimensions, vec![
//!     Rule::new(RuleId(1), Target::Default, search, requests, 60, minute),
//!     Rule::new(RuleId(2), Target::Default, search, tokens, 1_000, minute),
//! ])?;
//! let mut limits = Limits::new(LimitsSettings::for_rules(1_000, &rules), rules)?;
//!
//! let now = Timestamp::ZERO;
//! let mut session = limits.begin(now, "alice", None, search)?;
//! limits.evaluate(now, &mut session, requests, 1)?;
//! limits.evaluate(now, &mut session, tokens, 800)?; // an estimate
//! limits.settle(now, &mut session, tokens, 950);    // what it was
//! limits.commit(now, session);
//!
//! let mut session = limits.begin(now, "alice", None, search)?;
//! let denied = limits.evaluate(now, &mut session, tokens, 800).unwrap_err();
//! assert_eq!((denied.asked, denied.used, denied.allowed), (800, 950, 50));
//! assert_eq!(limits.explain(&denied).to_string(), "1000 tokens / 1 minute, clears in 45 s");
//! limits.roll_back(now, session, Blame::Nobody);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod end;
mod evaluate;

pub use end::Blame;

use super::bucket::Receipt;
use super::limits::AccountId;
use super::rules::{Dimension, GroupId};
use crate::slots::SlotId;
use crate::time::Timestamp;

/// Records of a session.
const MOST_RECORDS: usize = 16;

/// What one evaluation took of one window. Sessions are moved about, so it is kept small: the parts of an id and of a
/// receipt.
#[derive(Debug)]
struct Record {
    meter_place: u32,
    dimension: Dimension,
    /// Whether it is the first of its evaluation.
    first: bool,
    meter_generation: u64,
    cost: u64,
    granted_at: Timestamp,
    position: u128,
}

const _: () = assert!(size_of::<Record>() == 48, "three quarters of a cache line");

impl Record {
    const fn meter(&self) -> SlotId {
        SlotId::of_parts((self.meter_place, self.meter_generation))
    }

    const fn receipt(&self) -> Receipt {
        Receipt { cost: self.cost, granted_at: self.granted_at, position: self.position }
    }
}

/// One request; see the [module](self). End it with [`commit`](super::Limits::commit) or
/// [`roll_back`](super::Limits::roll_back): dropped, it keeps what it took, and its account is never forgotten. Other limits
/// than those that began it refuse or ignore it.
#[derive(Debug)]
#[must_use = "commit it or roll it back"]
pub struct Session {
    account: AccountId,
    group: GroupId,
    sheet: SlotId,
    records: heapless::Vec<Record, MOST_RECORDS>,
}

impl Session {
    /// Whose it is.
    #[must_use]
    pub const fn account(&self) -> AccountId {
        self.account
    }

    /// Which group of requests it belongs to.
    #[must_use]
    pub const fn group(&self) -> GroupId {
        self.group
    }

    /// What it took of a dimension so far, less what was given back; 0 where no rule limited it.
    #[must_use]
    pub fn taken(&self, dimension: Dimension) -> u64 {
        let of = |record: &&Record| record.first && record.dimension == dimension;
        self.records.iter().filter(of).fold(0, |sum, record| sum.saturating_add(record.cost))
    }
}
