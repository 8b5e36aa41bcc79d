//! The door: what a plan's rules allow each tenant, asked of every job before the gate sees it.
//!
//! The rules are in the core's own [`Limits`], where each tenant is an owner and each job a session: first that it is one
//! request, then what it costs. A job that a later dimension or the gate refuses took nothing of the dimensions before.
//! One that the gate lets in is charged for good, also if it waits in vain.

use core::error::Error;

use tollgate::Timestamp;
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleSet, Strategy, Target};
use tollgate::rate::{Blame, Limits, LimitsSettings, Session};

use crate::num;
use crate::plan::{Counted, DoorRule};

/// There is one group of requests.
const JOBS: GroupId = GroupId(0);

/// What everybody is limited to, and what each tenant has used of it.
#[derive(Debug)]
pub(crate) struct Door {
    limits: Limits<u32>,
    /// In the order in which a job is asked for them.
    dimensions: [(Counted, Dimension); 2],
}

impl Door {
    /// `None` where there are no rules.
    ///
    /// # Errors
    /// Every bad rule, by its place from 1; more tenants than the core can keep.
    pub(crate) fn new(
        rules: &[DoorRule],
        tenants: usize,
    ) -> Result<Option<Self>, Box<dyn Error + Send + Sync>> {
        if rules.is_empty() {
            return Ok(None);
        }
        let mut table = Dimensions::new();
        let mut add = |counted: Counted| table.add(counted.name(), "");
        let (request_count, cost) = (add(Counted::RequestCount)?, add(Counted::Cost)?);
        let rule = |(number, of): (u64, &DoorRule)| {
            let dimension = match of.counted {
                Counted::RequestCount => request_count,
                Counted::Cost => cost,
            };
            let strategy = Strategy::Bucket { burst: of.burst };
            Rule {
                strategy,
                ..Rule::new(RuleId(number), Target::Default, JOBS, dimension, of.limit, of.window)
            }
        };
        let rules = RuleSet::new(table, (1..).zip(rules).map(rule).collect())?;
        let settings = LimitsSettings::for_rules(num::index_u32(tenants), &rules);
        let dimensions = [(Counted::RequestCount, request_count), (Counted::Cost, cost)];
        Ok(Some(Self { limits: Limits::new(settings, rules)?, dimensions }))
    }

    /// A job of `tenant` comes; answers the dimension that refused it, or why no waiting would help.
    pub(crate) fn enter(&mut self, now_ns: u64, tenant: u32, cost: u64) -> Result<Session, &'static str> {
        let now = Timestamp::from_nanos(now_ns);
        let mut session =
            self.limits.begin(now, &tenant, None, JOBS).map_err(|refused| refused.reason.name())?;
        for (counted, dimension) in self.dimensions {
            let amount = match counted {
                Counted::RequestCount => 1,
                Counted::Cost => cost,
            };
            if let Err(denied) = self.limits.evaluate(now, &mut session, dimension, amount) {
                self.limits.roll_back(now, session, Blame::Nobody);
                return Err(if denied.waiting_helps() { counted.name() } else { denied.reason.name() });
            }
        }
        Ok(session)
    }

    /// The gate has taken the job, or has not.
    pub(crate) fn answered(&mut self, now_ns: u64, session: Session, taken: bool) {
        let now = Timestamp::from_nanos(now_ns);
        if taken {
            self.limits.commit(now, session);
        } else {
            self.limits.roll_back(now, session, Blame::Nobody);
        }
    }
}
