//! Whoever is granted is granted in order, against a list.

use super::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Ask(u32, Option<u64>),
    Try,
    Release(prop::sample::Index),
    Cancel(prop::sample::Index),
    Limit(u32),
    Pass(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0..4_u32, prop::option::weighted(0.3, 0..30_u64)).prop_map(|(weight, wait)| Op::Ask(weight, wait)),
        2 => Just(Op::Try),
        5 => any::<prop::sample::Index>().prop_map(Op::Release),
        2 => any::<prop::sample::Index>().prop_map(Op::Cancel),
        1 => (1..7_u32).prop_map(Op::Limit),
        3 => (0..20_u64).prop_map(Op::Pass),
    ];
    prop::collection::vec(op, 1..70)
}

/// What waits: its task, its weight, until when.
#[derive(Clone, Copy, Debug)]
struct Waits(usize, u32, u64);

/// Who is let in, and who is refused, of those that wait in a row.
fn decide(waiting: &mut VecDeque<Waits>, held: &mut u32, limit: u32, now: u64) -> Vec<(usize, u32, bool)> {
    let mut decided = vec![];
    while let Some(&Waits(task, weight, until)) = waiting.front() {
        if weight > limit || until < now {
            decided.push((task, weight, false));
        } else if *held + weight <= limit {
            *held += weight;
            decided.push((task, weight, true));
        } else {
            break;
        }
        waiting.pop_front();
    }
    decided
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn everybody_is_let_in_in_order_as_soon_as_it_fits_and_never_past_the_limit(run in ops()) {
        let bench = Bench::new(3);
        let (mut limit, mut held) = (3, 0);
        let mut tasks: Vec<Asked> = vec![];
        let mut waiting: VecDeque<Waits> = VecDeque::new();
        let mut permits: Vec<(u32, Permit)> = vec![];
        for op in run {
            let now = bench.runtime.now().as_nanos();
            match op {
                Op::Ask(weight, wait) => {
                    let until = wait.map_or(u64::MAX, |wait| now + wait);
                    let limiter = bench.limiter.clone();
                    let mut task =
                        Task::new(async move { limiter.acquire_many(None, weight, at(until)).await });
                    let fits = waiting.is_empty() && held + weight <= limit;
                    match task.run() {
                        Some(Ok(permit)) => {
                            prop_assert!(fits);
                            held += weight;
                            permits.push((weight, permit));
                        }
                        Some(Err(_)) => prop_assert!(weight > limit || !fits && until <= now),
                        None => {
                            prop_assert!(!fits && weight <= limit && until > now);
                            waiting.push_back(Waits(tasks.len(), weight, until));
                            tasks.push(task);
                        }
                    }
                }
                Op::Try => match bench.limiter.try_acquire(None) {
                    Ok(permit) => {
                        prop_assert!(waiting.is_empty() && held < limit);
                        held += 1;
                        permits.push((1, permit));
                    }
                    Err(_) => prop_assert!(!waiting.is_empty() || held >= limit),
                },
                Op::Release(which) if !permits.is_empty() => {
                    let (weight, permit) = permits.swap_remove(which.index(permits.len()));
                    held -= weight;
                    permit.success();
                }
                Op::Cancel(which) if !waiting.is_empty() => {
                    let waits = waiting.remove(which.index(waiting.len())).unwrap();
                    tasks[waits.0].cancel();
                }
                Op::Release(_) | Op::Cancel(_) => {}
                Op::Limit(new) => {
                    limit = new;
                    bench.set_limit(limit);
                }
                Op::Pass(step) => {
                    let until = now + step;
                    while let Some(next) = bench.runtime.next().filter(|&next| next <= at(until)) {
                        bench.runtime.set(next);
                        // One after the other: who goes may make room for who would go next.
                        while let Some(over) = waiting.iter().position(|it| at(it.2) <= next) {
                            let Waits(task, ..) = waiting.remove(over).unwrap();
                            prop_assert_eq!(refused(&mut tasks[task]), Some(Reason::DeadlineExceeded));
                            let decided = decide(&mut waiting, &mut held, limit, next.as_nanos());
                            for (task, weight, fits) in decided {
                                let answer = tasks[task].run().unwrap();
                                prop_assert_eq!(answer.is_ok(), fits);
                                permits.extend(answer.ok().map(|permit| (weight, permit)));
                            }
                        }
                    }
                    bench.runtime.set(at(until));
                }
            }
            let now = bench.runtime.now().as_nanos();
            for (task, weight, fits) in decide(&mut waiting, &mut held, limit, now) {
                let answer = tasks[task].run();
                prop_assert_eq!(answer.as_ref().map(Result::is_ok), Some(fits), "task {}", task);
                permits.extend(answer.and_then(Result::ok).map(|permit| (weight, permit)));
            }
            prop_assert!(waiting.iter().all(|&Waits(task, ..)| tasks[task].run().is_none()));
            prop_assert_eq!(bench.limiter.num_waiters(), waiting.len());
            prop_assert_eq!(bench.limiter.stats().in_flight, u64::from(held));
        }
    }
}
