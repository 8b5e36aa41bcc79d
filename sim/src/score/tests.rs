use super::*;

#[test]
fn seeds_are_a_count_a_list_or_a_range() {
    assert_eq!(Seeds::parse("9").unwrap(), Seeds::First(9));
    assert_eq!(Seeds::parse("11,12, 13").unwrap(), Seeds::These(vec![11, 12, 13]));
    assert_eq!(Seeds::parse("11-13").unwrap(), Seeds::These(vec![11, 12, 13]));
    for given in ["", "0", "x", "3-1", "1,", "1-9999999"] {
        assert!(Seeds::parse(given).unwrap_err().to_string().contains("allowed is how many"), "{given}");
    }
}

#[test]
fn a_missed_range_is_named_with_its_figure_what_was_found_and_what_is_allowed() {
    let what = Fault::Range { figure: Figure::P99Ratio, found: Some(1.75), min: f64::NEG_INFINITY, max: 1.5 };
    let failure = Failure { plan: "p".to_owned(), estimator: "vegas".to_owned(), what };
    assert_eq!(failure.to_string(), "p, vegas: p99_ratio is 1.7500, allowed is 1.5 or less");
    let what = Fault::Range { figure: Figure::Jain, found: None, min: 0.9, max: 1.0 };
    let failure = Failure { what, ..failure };
    assert_eq!(failure.to_string(), "p, vegas: jain is not measured, allowed is 0.9 to 1");
}

#[test]
fn a_plan_is_met_with_both_bars() {
    let row = |goodput_ratio, p99_ratio| {
        let mean = Figures { goodput_ratio, p99_ratio, ..Figures::default() };
        Row { estimator: String::new(), mean, worst: 0.0 }.meets()
    };
    assert!(row(0.95, 1.5) && !row(0.949, 1.0) && !row(1.0, 1.51));
}
