use super::*;

fn point(at_s: f64, p95_ms: Option<f64>) -> Point {
    Point { at_s, limit: None, in_flight: 0.5, p95_ms, goodput_per_s: 1.0, offered_per_s: 1.0 }
}

fn latency() -> Measure {
    let value = |point: &Point| point.p95_ms;
    Measure { title: "t", value, logarithmic: true, most: 250.0, mark: None }
}

#[test]
fn a_line_is_cut_where_there_is_nothing_to_draw() {
    let points = [point(0.0, None), point(1.0, Some(10.0)), point(2.0, None), point(3.0, Some(100.0))];
    assert_eq!(latency().lines(&points), [vec![(1.0, 1.0)], vec![(3.0, 2.0)]]);
}

#[test]
fn a_logarithmic_scale_ends_at_a_power_of_ten_and_says_the_number_itself() {
    let measure = latency();
    assert!((measure.top() - 3.0).abs() < 1e-12);
    assert_eq!(measure.label(2.0), "100");
    assert!(measure.scaled(0.2).abs() < 1e-12);
}
