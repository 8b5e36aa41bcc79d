//! [`Value`]: what a setting was given, before it is understood.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// What a setting was given. Numbers may be written as text, and lists as text with commas, as OpenSearch allows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing (`null`): the default again.
    Default,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A real number.
    Real(f64),
    /// A text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::List(values) => write!(f, "{values:?}"),
        }
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<&[String]> for Value {
    fn from(values: &[String]) -> Self {
        Self::List(values.to_vec())
    }
}

/// Most of a Java integer, which is what the reference stores.
const MOST: u32 = 2_147_483_647;

impl Value {
    /// A whole number from 0 to 2³¹ − 1.
    pub(super) fn whole(&self) -> Option<u32> {
        let number = match self {
            Self::Integer(number) => u32::try_from(*number).ok()?,
            Self::Text(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (number <= MOST).then_some(number)
    }

    pub(super) fn real(&self) -> Option<f64> {
        match self {
            Self::Real(number) => Some(*number),
            Self::Integer(number) => i32::try_from(*number).ok().map(f64::from),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Bool(_) | Self::Integer(_) | Self::Real(_) => Some(self.to_string()),
            Self::Default | Self::List(_) => None,
        }
    }

    pub(super) fn list(&self) -> Option<Vec<String>> {
        match self {
            Self::List(texts) => Some(texts.clone()),
            _ => {
                let text = self.text()?;
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(parts.map(String::from).collect())
            }
        }
    }

    /// A whole number of milliseconds.
    pub(super) fn millis(&self) -> Option<Duration> {
        self.whole().map(|millis| Duration::from_millis(millis.into()))
    }

    /// A whole number and a unit, or zero without one.
    pub(super) fn time(&self) -> Option<Duration> {
        let text = self.text()?.trim().to_lowercase();
        let unit_at = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(unit_at)?;
        let number: u64 = number.parse().ok()?;
        let nanos: u64 = match unit.trim() {
            "nanos" => 1,
            "micros" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            "" if number == 0 => 0,
            _ => return None,
        };
        number.checked_mul(nanos).map(Duration::from_nanos)
    }

    /// A time in the largest unit in which it is whole.
    pub(super) fn of_time(time: Duration) -> Self {
        const UNITS: [(u128, &str); 6] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "micros"),
        ];
        let nanos = time.as_nanos();
        let whole = |&&(unit, _): &&(u128, &str)| nanos > 0 && nanos.is_multiple_of(unit);
        let (unit, name) = UNITS.iter().find(whole).copied().unwrap_or((1, "nanos"));
        let number = nanos.checked_div(unit).unwrap_or(nanos);
        Self::Text(alloc::format!("{number}{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::from(text)
    }

    #[test]
    fn times_have_units_and_come_back_as_they_were() {
        for (written, nanos) in [
            ("5m", 300_000_000_000),
            ("90s", 90_000_000_000),
            ("250ms", 250_000_000),
            ("7micros", 7_000),
            ("3nanos", 3),
            ("2h", 7_200_000_000_000),
            ("1d", 86_400_000_000_000),
        ] {
            let time = Duration::from_nanos(nanos);
            assert_eq!(text(written).time(), Some(time), "{written}");
            let again = Value::of_time(time);
            assert_eq!(again.time(), Some(time), "{again}");
        }
        assert_eq!(Value::of_time(Duration::from_secs(300)), text("5m"));
        assert_eq!(Value::of_time(Duration::ZERO), text("0nanos"));
        assert_eq!(text("0").time(), Some(Duration::ZERO));
        assert_eq!(Value::Integer(0).time(), Some(Duration::ZERO));
        assert_eq!(text("5 M").time(), Some(Duration::from_secs(300)));
        for bad in ["", "5", "m", "-1", "-1m", "1.5h", "5 years", "99999999999999999999s", "é"] {
            assert_eq!(text(bad).time(), None, "{bad}");
        }
        assert_eq!(Value::List(Vec::new()).time(), None);
    }

    #[test]
    fn numbers_may_be_written_as_text_and_end_at_what_the_reference_stores() {
        assert_eq!((text("20").whole(), Value::Integer(20).whole()), (Some(20), Some(20)));
        assert_eq!(Value::Integer(2_147_483_647).whole(), Some(MOST));
        for bad in [Value::Integer(2_147_483_648), Value::Integer(-1), Value::Real(20.0), text("many")] {
            assert_eq!(bad.whole(), None, "{bad}");
        }
        assert_eq!((text("0.5").real(), Value::Integer(1).real()), (Some(0.5), Some(1.0)));
        assert_eq!((Value::Default.real(), Value::Bool(true).whole()), (None, None));
    }

    #[test]
    fn lists_may_be_written_with_commas() {
        let list = ["a", "b"].map(String::from).to_vec();
        assert_eq!(text("a, b").list(), Some(list.clone()));
        assert_eq!(Value::List(list.clone()).list(), Some(list));
        assert_eq!(text("").list(), Some(Vec::new()));
        assert_eq!(Value::Default.list(), None);
    }
}
