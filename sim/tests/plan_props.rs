//! The rules hold for every plan, not only for those somebody thought of: on random ones.

use std::path::Path;

use proptest::prelude::*;
use tollgate_sim::findings::Findings;
use tollgate_sim::plan::Plan;

/// The body of a job: lengths of time in ms, costs and weights small enough to meet often.
fn job() -> impl Strategy<Value = String> {
    (
        (1..200_u32, 0..200_u32),
        (0..20_u32, 0..20_u32),
        0..5_u32,
        0..200_u32,
        proptest::option::of(1..1500_u32),
        proptest::option::of(1..1500_u32),
        proptest::option::of(1..400_u32),
        (any::<bool>(), prop_oneof![Just("done"), Just("dropped"), Just("not_started")]),
    )
        .prop_map(|(exec, cost, weight, bytes, deadline, patience, ready, (ends_early, ends))| {
            let mut job = format!(
                "exec = [\"{}ms\", \"{}ms\"], cost = [{}, {}], weight = {weight}, bytes = {bytes}, ends = \"{ends}\"",
                exec.0,
                exec.0 + exec.1,
                cost.0,
                cost.0 + cost.1,
            );
            let mut add = |text: String| job.push_str(&text);
            deadline.into_iter().for_each(|ms| add(format!(", deadline = \"{ms}ms\"")));
            patience.into_iter().for_each(|ms| add(format!(", patience = \"{ms}ms\"")));
            ready.into_iter().for_each(|ms| add(format!(", ready_after = \"{ms}ms\"")));
            if ends_early {
                add(", abandoned = \"ends\"".to_owned());
            }
            job
        })
}

/// One of a tenant's loads.
fn load() -> impl Strategy<Value = String> {
    prop_oneof![
        (job(), 1..6_u32, 0..200_u32).prop_map(|(job, threads, think)| format!(
            "[[tenant.closed]]\nthreads = {threads}\nthink = \"{think}ms\"\njob = {{ {job} }}\n"
        )),
        (job(), 1..40_u32, any::<bool>()).prop_map(|(job, per_s, poisson)| format!(
            "[[tenant.open]]\nper_s = {per_s}.0\narrivals = \"{}\"\njob = {{ {job} }}\n",
            if poisson { "poisson" } else { "constant" }
        )),
        (job(), 1..60_u32, 0..1000_u32).prop_map(|(job, jobs, at)| format!(
            "[[tenant.burst]]\nat = \"{at}ms\"\njobs = {jobs}\njob = {{ {job} }}\n"
        )),
    ]
}

fn gate() -> impl Strategy<Value = String> {
    let order = prop_oneof![
        Just("\"smooth\"".to_owned()),
        (1..30_u32).prop_map(|quantum| format!("{{ deficit = {{ quantum = {quantum} }} }}")),
    ];
    let head = prop_oneof![
        Just("\"strict\"".to_owned()),
        (0..10_u32).prop_map(|passes| format!("{{ backfill = {{ max_passes = {passes} }} }}")),
    ];
    let extra = prop_oneof![
        Just(""),
        Just("newest_first_after = \"300ms\"\n"),
        Just("codel = { target = \"50ms\", interval = \"200ms\" }\n"),
        Just("expected_service = \"100ms\"\n"),
        Just("reserve_after = \"200ms\"\nrefuse_early = false\n"),
        Just("[limiter]\ntokens = 20\nper = \"1s\"\nburst = 5\n"),
    ];
    (
        order,
        head,
        extra,
        (1..12_u32, 1..10_u32, 1..3_u32),
        (1..40_u32, 1..40_u32, 200..2000_u32, 200..2000_u32),
        (200..3000_u32, any::<bool>()),
    )
        .prop_map(|(order, head, extra, (limit, active, tenants), bounds, (max_wait, alone))| {
            format!(
                "[gate]\nlimit = {limit}\norder = {order}\nhead_of_line = {head}\nmax_active = {active}\n\
                 max_tenants = {}\nmax_queued = {}\nmax_queued_per_tenant = {}\nmax_queued_bytes = {}\n\
                 max_bytes_per_tenant = {}\nmax_wait = \"{max_wait}ms\"\noverweight = \"{}\"\n{extra}",
                2 * tenants,
                bounds.0,
                bounds.1,
                bounds.2,
                bounds.3,
                if alone { "run_alone" } else { "refuse" }
            )
        })
}

fn plan() -> impl Strategy<Value = String> {
    let tenant = (1..4_u32, proptest::collection::vec(load(), 1..3));
    let changes = proptest::collection::vec((0..1500_u32, 0..12_u32), 0..4);
    (0..u32::MAX, gate(), changes, proptest::collection::vec(tenant, 1..5)).prop_map(
        |(seed, gate, changes, tenants)| {
            let mut text = format!("about = \"a\"\nsource = \"b\"\nduration = \"1s\"\nseed = {seed}\n{gate}");
            let changes: Vec<String> =
                changes.iter().map(|(at, to)| format!("{{ at = \"{at}ms\", to = {to} }}")).collect();
            let slow = "slow = [{ from = \"300ms\", to = \"600ms\", factor = 4.0 }]";
            text += &format!("[server]\n{slow}\nlimit = [{}]\n", changes.join(", "));
            for (number, (weight, loads)) in tenants.iter().enumerate() {
                // Of weight 1 so that tenants are not configured, and are forgotten, when there are many of them.
                let weight = if tenants.len() > 2 { 1 } else { *weight };
                text += &format!("[[tenant]]\nname = \"t{number}\"\nweight = {weight}\n{}", loads.concat());
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn no_rule_is_broken_whatever_the_plan_and_the_same_plan_gives_the_same_findings(text in plan()) {
        let plan = Plan::parse(Path::new("random.toml"), &text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let findings = Findings::of(&plan, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&findings.violations, &[], "{}", text);
        let again = Findings::of(&plan, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(findings.tenants.len(), again.tenants.len());
        prop_assert_eq!(format!("{findings:?}"), format!("{again:?}"));
    }
}
