use super::super::plan::tests::small;
use super::*;

fn tried(on_time: &[(u32, u64)]) -> Vec<Tried<Tally>> {
    let plan = small("load = 1");
    let tally = |on_time| {
        let mut tally = Tally::new(&plan);
        tally.phases[0].on_time = on_time;
        tally
    };
    let tried = |&(limit, on_time): &(u32, u64)| {
        let outcome = tally(on_time);
        Tried { limit, worth: vec![on_time], unrefused: false, outcome }
    };
    on_time.iter().map(tried).collect()
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
fn what_is_left_out_of_the_sweep_makes_no_difference() {
    for phases in [
        "load = 0.6",
        "load = 3",
        "load = 4\n[[phase]]\nlength = \"2s\"\nload = 0.8\nslots = 30\nslow = 15",
        "load = 3\nslots = 20\n[[phase]]\nlength = \"1s\"\nload = 40\nfailures = 0.5",
    ] {
        let plan = small(phases);
        let requests = Requests::draw(&plan, 1);
        let run = |limit| run(&plan, 1, &requests, &[limit]).unwrap();
        let all: Vec<(u32, Tally)> = sweep().into_iter().map(|limit| (limit, run(limit))).collect();
        let best = all.iter().map(|(_, tally)| tally.on_time()).max().unwrap();
        let (limit, tally) = all.iter().find(|(_, tally)| tally.on_time() * 1000 >= best * 995).unwrap();
        let oracle = find(&plan, 1, &requests).unwrap();
        let same = oracle.limits == [*limit] && oracle.on_time == tally.on_time();
        assert!(
            same || oracle.limits.len() > 1 && oracle.on_time > tally.on_time(),
            "{oracle:?}, all: {limit}"
        );
    }
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
