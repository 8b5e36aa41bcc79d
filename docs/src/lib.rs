//! From a saturated service to a tuned gate.
//!
//! Read it here, as text in `docs/`, or as pages: `cargo doc --open -p tollgate-guide`. Every example is a test:
//! `cargo test -p tollgate-guide`.
//!
//! | chapter | question |
//! | --- | --- |
//! | [`saturated`] | what is going on? |
//! | [`choosing`] | which limiter is the answer? |
//! | [`simulating`] | what would it do to my load? |
//! | [`shadow`] | what would it have refused? |
//! | [`gate`] | how are its numbers chosen? |
//! | [`rolling_out`] | how does it go live, and how do I get out of it? |
#![forbid(unsafe_code)]

#[doc = include_str!("../1-saturated.md")]
pub mod saturated {}

#[doc = include_str!("../2-choosing.md")]
pub mod choosing {}

#[doc = include_str!("../3-simulating.md")]
pub mod simulating {}

#[doc = include_str!("../4-shadow.md")]
pub mod shadow {}

#[doc = include_str!("../5-gate.md")]
pub mod gate {}

#[doc = include_str!("../6-rolling-out.md")]
pub mod rolling_out {}

/// The examples of the project's README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
