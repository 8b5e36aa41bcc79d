//! The window for bursts.

use proptest::prelude::*;
use tollgate::adapt::{Burst, Estimator, Outcome, Sample};
use tollgate_model::burst::{Rules, State, Window};

use crate::common::{at, cases};
use crate::learns::{Call, Script, Subject};
use crate::translate::window;

fn rules() -> impl Strategy<Value = Rules> {
    (0..=4_u32, 1..=4_u32, 1..=4_u32).prop_map(|(capacity, close_after, open_after)| Rules {
        capacity,
        close_after,
        open_after,
    })
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Sample(u32, Outcome),
    SetSettings(Rules),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let outcome =
        prop_oneof![6 => Just(Outcome::Success), 3 => Just(Outcome::Dropped), 1 => Just(Outcome::Ignored)];
    let in_flight = prop_oneof![6 => 2..=9_u32, 1 => Just(u32::MAX)];
    let op = prop_oneof![
        12 => (in_flight, outcome).prop_map(|(in_flight, outcome)| Op::Sample(in_flight, outcome)),
        1 => rules().prop_map(Op::SetSettings),
    ];
    prop::collection::vec(op, 1..80)
}

proptest! {
    #![proptest_config(cases(500))]

    /// I1, I2. Against the limit after the sample; drops count like successes; what is behind sees its own limit at most.
    #[test]
    fn the_window_opens_and_closes_exactly_where_two_counters_do(
        mut rules in rules(),
        centre in 2..=6_u32,
        ops in ops(),
    ) {
        let mut burst = Burst::new(Script::new(centre), window(rules)).unwrap();
        let (mut naive, mut learns) = (Window::default(), Script::new(centre));
        for op in ops {
            match op {
                Op::SetSettings(new) => {
                    burst.set_settings(window(new)).unwrap();
                    rules = new;
                }
                Op::Sample(in_flight, outcome) => {
                    let sample = Sample { started: at(3), rtt: core::time::Duration::ZERO, in_flight, outcome };
                    let answer = burst.on_sample(&sample);
                    prop_assert_eq!(answer, burst.limit());
                    if outcome != Outcome::Ignored {
                        let seen = if rules.capacity == 0 { in_flight } else { in_flight.min(learns.limit()) };
                        learns.on_sample(&Sample { in_flight: seen, ..sample });
                        naive.watch(in_flight, learns.limit(), rules);
                        let State { open, over, below } = naive.replay();
                        let streak = if open { over } else { below };
                        let enough = if open { rules.close_after } else { rules.open_after };
                        prop_assert!(rules.capacity == 0 || streak < enough, "I2");
                    }
                }
            }
            let State { open, over, below } = naive.replay();
            prop_assert_eq!((burst.is_open(), burst.streaks()), (open, (over, below)));
            prop_assert_eq!(burst.limit(), naive.limit(learns.limit(), rules));
            let room = burst.limit() - burst.base().limit();
            prop_assert!(room == 0 || (open && room == rules.capacity), "I1: {} more", room);
            prop_assert_eq!(burst.base().told(), learns.told());
        }
    }

    /// Whatever comes, between two changes of the window there are as many samples as its settings say.
    #[test]
    fn the_window_changes_only_after_as_many_samples_in_a_row_as_its_settings_say(
        rules in rules().prop_map(|rules| Rules { capacity: rules.capacity + 1, ..rules }),
        in_flight in prop::collection::vec(2..=9_u32, 1..120),
    ) {
        let mut burst = Burst::new(Script::new(4), window(rules)).unwrap();
        // By sample: whether at or above the learnt limit, and whether the window was open before and after.
        let mut story: Vec<(bool, bool, bool)> = vec![];
        for in_flight in in_flight {
            let before = burst.is_open();
            let sample = Sample { started: at(0), rtt: core::time::Duration::ZERO, in_flight, outcome: Outcome::Success };
            burst.on_sample(&sample);
            let Some(Call::Sample(_, _)) = burst.base().told().last() else { panic!("not told") };
            story.push((in_flight >= burst.base().limit(), before, burst.is_open()));
        }
        for (place, &(_, before, after)) in story.iter().enumerate() {
            let need = (if before { rules.close_after } else { rules.open_after }) as usize;
            let earlier = &story[..=place];
            let run = earlier.iter().rev().take(need).filter(|&&(high, was, _)| was == before && high == before).count();
            // The row may not reach back across the last change.
            let since = earlier[..place].iter().rev().take_while(|&&(_, was, is)| was == is).count() + 1;
            prop_assert_eq!(before != after, run == need && since >= need, "sample {}", place);
        }
    }
}
