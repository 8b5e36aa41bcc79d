use super::super::plan::tests::small;
use super::*;

fn tried(on_time: &[(u32, u64)]) -> Vec<(u32, Tally)> {
    let plan = small("load = 1");
    let tally = |on_time| {
        let mut tally = Tally::new(&plan);
        tally.phases[0].on_time = on_time;
        tally
    };
    on_time.iter().map(|&(limit, on_time)| (limit, tally(on_time))).collect()
}

#[test]
fn the_sweep_takes_every_limit_to_twelve_and_then_steps_of_twelve_percent() {
    let sweep = sweep();
    assert_eq!(sweep[..20], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 18, 21, 23, 26, 29]);
    assert_eq!(sweep[20..24], [33, 37, 41, 46]);
    assert_eq!(sweep.last(), Some(&996));
}

#[test]
fn of_limits_within_half_a_percent_of_the_best_the_smallest_is_the_oracle() {
    let plateau = tried(&[(1, 500), (2, 994), (3, 995), (4, 998), (5, 1000), (6, 999)]);
    assert_eq!(smallest(&plateau, Tally::on_time), 3);
    assert_eq!(smallest(&tried(&[(1, 0), (2, 0)]), Tally::on_time), 1);
}

#[test]
fn five_limits_in_a_row_under_half_the_best_end_the_sweep() {
    let plan = small("load = 1");
    let falling = [(1, 100), (2, 49), (3, 40), (4, 30), (5, 20), (6, 10)];
    assert!(!hopeless(&plan, &tried(&falling[..5])));
    assert!(hopeless(&plan, &tried(&falling)));
    assert!(!hopeless(&plan, &tried(&[(1, 100), (2, 49), (3, 50), (4, 30), (5, 20), (6, 10)])));
}

#[test]
fn a_phase_that_is_better_off_with_a_limit_of_its_own_gets_it() {
    let phases = "load = 4\nslow = 1\n[[phase]]\nlength = \"2s\"\nload = 0.5\nslots = 30\nslow = 15";
    let plan = small(phases);
    let oracle = find(&plan, 1, &Requests::draw(&plan, 1)).unwrap();
    assert_eq!(oracle.second_halves.len(), 2);
    assert!(oracle.limits.len() == 1 || oracle.limits[0] < oracle.limits[1], "{oracle:?}");
}

#[test]
fn several_limiters_divide_a_limit_equally() {
    let mut plan = small("load = 1");
    plan.limiters = 4;
    let limits: Vec<u32> = seats(&plan, &[37]).iter().map(|seat| seat.limiter.limit()).collect();
    assert_eq!(limits, [10, 9, 9, 9]);
}
