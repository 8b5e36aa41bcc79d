//! Ranges: what a figure may be.

use core::fmt;

use toml::Spanned;

use super::file::ExpectFile;
use super::{Figure, Tenant, Window};
use crate::plan_file::{PlanFileError, Text};

/// Whose figure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Whom {
    /// Of all tenants together.
    All,
    /// Of each of these tenants.
    Each {
        /// As the plan calls them.
        name: String,
        /// Their numbers.
        tenants: Vec<u32>,
    },
}

/// What is allowed, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed {
    /// At least.
    pub min: f64,
    /// At most.
    pub max: f64,
}

impl Allowed {
    /// Whether `found` is in it; `NaN` (there is no such figure) never is.
    #[must_use]
    pub fn holds(self, found: f64) -> bool {
        (self.min..=self.max).contains(&found)
    }

    /// How far outside `found` is, 0 inside.
    #[must_use]
    pub fn excess(self, found: f64) -> f64 {
        if found.is_nan() { f64::INFINITY } else { (self.min - found).max(found - self.max).max(0.0) }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (Number(self.min), Number(self.max));
        match (self.min.is_finite(), self.max.is_finite()) {
            (true, true) if self.min >= self.max => write!(f, "exactly {min}"),
            (true, true) => write!(f, "{min} to {max}"),
            (true, false) => write!(f, "{min} or more"),
            _ => write!(f, "{max} or less"),
        }
    }
}

/// A number with the digits that say something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number(pub(crate) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_nan() {
            return f.write_str("none");
        }
        let digits = format!("{:.6}", self.0);
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if digits == "-0" { "0" } else { digits })
    }
}

/// One range of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Line in the plan.
    pub line: usize,
    /// What is measured.
    pub what: Figure,
    /// Whose.
    pub whom: Whom,
    /// In which window, by number.
    pub window: usize,
    /// Divided by the same figure in this window.
    pub over: Option<usize>,
    /// Of refusals: for this reason only.
    pub by: Option<String>,
    /// What is allowed.
    pub allowed: Allowed,
    /// Why it is not what the source says.
    pub reason: Option<String>,
}

/// What ranges can name.
pub(super) struct Known<'a> {
    pub(super) tenants: &'a [Tenant],
    /// Groups of more than one: name, first tenant, how many.
    pub(super) groups: &'a [(String, u32, u32)],
    pub(super) windows: &'a [Window],
}

impl Known<'_> {
    fn tenants(&self, text: Text<'_>, name: &Spanned<String>) -> Result<Whom, PlanFileError> {
        let of = |tenants: Vec<u32>| Whom::Each { name: name.get_ref().clone(), tenants };
        let all = (0_u32..).zip(self.tenants);
        if name.get_ref() == "each" {
            return Ok(of(all.map(|(index, _)| index).collect()));
        }
        if let Some((_, first, count)) = self.groups.iter().find(|(group, ..)| group == name.get_ref()) {
            return Ok(of((*first..first.saturating_add(*count)).collect()));
        }
        let one: Vec<u32> =
            all.filter(|(_, tenant)| tenant.name == *name.get_ref()).map(|(index, _)| index).collect();
        if one.is_empty() {
            let groups = self.groups.iter().map(|(group, ..)| group.as_str());
            let names: Vec<&str> = groups.chain(self.tenants.iter().map(|t| t.name.as_str())).collect();
            let reason = format!("tenant is \"{}\", allowed is each, {}", name.get_ref(), names.join(", "));
            return Err(text.at(Some(name.span()), reason));
        }
        Ok(of(one))
    }

    fn window(&self, text: Text<'_>, name: &Spanned<String>) -> Result<usize, PlanFileError> {
        let found = self.windows.iter().position(|window| window.name == *name.get_ref());
        found.ok_or_else(|| {
            let names: Vec<&str> = self.windows.iter().map(|window| window.name.as_str()).collect();
            let reason = format!("window is \"{}\", allowed is {}", name.get_ref(), names.join(", "));
            text.at(Some(name.span()), reason)
        })
    }
}

fn allowed(text: Text<'_>, file: &Spanned<ExpectFile>) -> Result<Allowed, PlanFileError> {
    let (expect, place) = (file.get_ref(), Some(file.span()));
    let refused = |reason: &str| Err(text.at(place.clone(), reason));
    let margin = expect.margin.map_or(0.0, |margin| margin.0);
    if expect.source_margin.is_some_and(|source| margin > source.0) && expect.reason.is_none() {
        return refused("the margin is wider than that of the source, allowed is that with a reason");
    }
    let range = match (expect.value, expect.min, expect.max) {
        (Some(value), None, None) => {
            let width = (value * margin).abs();
            Allowed { min: value - width, max: value + width }
        }
        (None, None, None) => {
            return refused("found no bound, allowed is min, max, both, or value with margin");
        }
        (None, min, max) if expect.margin.is_none() => {
            Allowed { min: min.unwrap_or(f64::NEG_INFINITY), max: max.unwrap_or(f64::INFINITY) }
        }
        _ => return refused("found min or max beside value or margin, allowed is one way to say a range"),
    };
    if range.min <= range.max { Ok(range) } else { refused("min is above max, allowed is min up to max") }
}

pub(super) fn range(
    text: Text<'_>,
    file: &Spanned<ExpectFile>,
    known: &Known<'_>,
) -> Result<Range, PlanFileError> {
    let expect = file.get_ref();
    let whom = expect.tenant.as_ref().map_or(Ok(Whom::All), |name| known.tenants(text, name))?;
    let window = expect.window.as_ref().map(|name| known.window(text, name)).transpose()?;
    let over = expect.over.as_ref().map(|name| known.window(text, name)).transpose()?;
    let refused = |reason: String| Err(text.at(Some(file.span()), reason));
    let name = expect.what.name();
    if (expect.what.is_peak() || expect.what.is_index()) && whom != Whom::All {
        return refused(format!("{name} of one tenant, allowed is {name} without tenant"));
    }
    if expect.what.is_peak() && (window.is_some() || over.is_some()) {
        return refused(format!("{name} in a window, allowed is {name} of the whole run"));
    }
    if let Some(by) = &expect.by
        && (expect.what != Figure::Refused || window.is_some() || over.is_some())
    {
        return Err(text.at(
            Some(by.span()),
            "found by, allowed is by for what = \"refused\" of the whole run".to_owned(),
        ));
    }
    let line = match text.at(Some(file.span()), "") {
        PlanFileError::Place { line, .. } => line,
        _ => 0,
    };
    Ok(Range {
        line,
        what: expect.what,
        whom,
        window: window.unwrap_or(0),
        over,
        by: expect.by.as_ref().map(|by| by.get_ref().clone()),
        allowed: allowed(text, file)?,
        reason: expect.reason.clone(),
    })
}
