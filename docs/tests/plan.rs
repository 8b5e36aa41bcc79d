//! The plan of the chapter on the simulator is one.

use std::path::Path;

use tollgate_sim::plan::Plan;

#[test]
fn the_plan_of_the_guide_can_be_read() {
    let chapter = include_str!("../3-simulating.md");
    let (_, after) = chapter.split_once("```toml\n").expect("the chapter has a plan");
    let (plan, _) = after.split_once("```").expect("which ends");
    Plan::parse(Path::new("my-plan.toml"), plan).expect("as the simulator reads it");
}
