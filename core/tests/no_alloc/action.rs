//! Named limiters allocate where they are set, and nowhere else.

use std::collections::VecDeque;

use tollgate::adapt::Outcome;
use tollgate::adapt::action::{ActionLimits, Dialect, Request, Value};

use super::{OPERATIONS, allocations, at};

#[test]
fn admitting_refusing_and_ending_through_named_limiters_do_not_allocate() {
    for algorithm in ["vegas", "gradient2", "aimd", "knee"] {
        let mut limits = ActionLimits::new(Dialect::default(), 4, 4).unwrap();
        let set =
            |name: &str, value: &str| (format!("concurrency_limit.action.search.{name}"), Value::from(value));
        let changes = [
            set("action_name", "search"),
            set("mode", "enforced"),
            set("warmup_duration", "0"),
            set("algorithm", algorithm),
            set("limit.max", "30"),
            set("partitions", "premium,standard"),
            set("partition.resolver", "byHeader"),
            set("partition.premium.percent", "0.7"),
            set("partition.standard.percent", "0.3"),
        ];
        limits.update(at(0), &changes).unwrap();
        let mut held = VecDeque::with_capacity(OPERATIONS as usize);
        let (mut refused, mut unlimited) = (0, 0);
        let counted = allocations(|number| {
            let now = at(number);
            let tier = ["premium", "standard", "nobody"].get(number as usize % 3).copied();
            let action = if number % 10 == 0 { "bulk" } else { "search" };
            match limits.try_admit(now, action, &Request { tier, search: None }, 1) {
                Ok(ticket) => {
                    unlimited += u64::from(!ticket.is_limited());
                    held.push_back(ticket);
                }
                Err(rejected) => refused += u64::from(rejected.refusal.retry_after.is_some()),
            }
            // Now more come than go, now more go than come.
            for _ in 0..if number % 900 < 600 { number % 2 } else { 3 } {
                if let Some(ticket) = held.pop_front() {
                    limits.complete(now, ticket, Outcome::Success).unwrap();
                }
            }
            limits.tick(now);
            assert!(limits.stats(now).count() == 1 && limits.limiters().count() == 1);
        });
        assert_eq!(counted, 0, "{algorithm}");
        assert!(refused > 20 && unlimited > 20, "{algorithm}: {refused} {unlimited}");
    }
}
