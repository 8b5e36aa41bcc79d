//! The values of a plan as a person writes them; each checks itself while the file is read, so that a mistake is
//! reported with its place.

use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};

use super::wave::Wave;
use crate::num;

/// A length of time in nanoseconds, written `"10ms"` or `"0.5s"`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Span(pub(super) u64);

const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];
const SPAN: &str = "a length of time: a number with ns, us, ms, s or min, like \"10ms\" or \"0.5s\"";
/// A day: more than any run takes.
const LONGEST_NS: f64 = 86_400e9;

fn parse(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let &(_, ns) = UNITS.iter().find(|&&(name, _)| name == unit)?;
    let value = number.trim_end().parse::<f64>().ok()? * ns;
    (0.0..=LONGEST_NS).contains(&value).then(|| num::rounded(value))
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        parse(&text).map(Self).ok_or_else(|| Error::invalid_value(Unexpected::Str(&text), &SPAN))
    }
}

/// The words of a wave that is no plain number.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WaveWords {
    from: Option<f64>,
    to: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    square: Option<Span>,
    sine: Option<Span>,
}

const WAVE: &str = "a number, { from, to }, { low, high, square = \"1s\" } or { low, high, sine = \"1s\" }";

impl<'de> Deserialize<'de> for Wave {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AWave;
        impl<'de> Visitor<'de> for AWave {
            type Value = Wave;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WAVE)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Wave, E> {
                Ok(Wave::Constant(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Wave, E> {
                let small = i32::try_from(value).map(f64::from).map(Wave::Constant);
                small.map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Wave, A::Error> {
                let words = WaveWords::deserialize(MapAccessDeserializer::new(map))?;
                match (words.from, words.to, words.low, words.high, words.square, words.sine) {
                    (Some(from), Some(to), None, None, None, None) => Ok(Wave::Ramp { from, to }),
                    (None, None, Some(low), Some(high), Some(Span(period_ns)), None) if period_ns > 1 => {
                        Ok(Wave::Square { low, high, period_ns })
                    }
                    (None, None, Some(low), Some(high), None, Some(Span(period_ns))) if period_ns > 1 => {
                        Ok(Wave::Sine { low, high, period_ns })
                    }
                    _ => Err(A::Error::custom(format_args!("allowed is {WAVE}"))),
                }
            }
        }
        from.deserialize_any(AWave)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_a_number_with_a_unit() {
        for (text, ns) in [
            ("10ms", 10_000_000),
            ("0.5s", 500_000_000),
            ("3 us", 3_000),
            ("2min", 120_000_000_000),
            ("0ns", 0),
        ] {
            assert_eq!(parse(text), Some(ns), "{text}");
        }
        for text in ["", "10", "ms", "-1s", "1h", "1e99s", "NaNs", "infs"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_wave_is_a_number_a_ramp_a_square_or_a_sine() {
        #[derive(serde::Deserialize)]
        struct One {
            wave: Wave,
        }
        let wave = |text: &str| toml::from_str::<One>(&format!("wave = {text}")).map(|one| one.wave);
        assert_eq!(wave("2").unwrap(), Wave::Constant(2.0));
        assert_eq!(wave("0.9").unwrap(), Wave::Constant(0.9));
        assert_eq!(wave("{ from = 1, to = 3 }").unwrap(), Wave::Ramp { from: 1.0, to: 3.0 });
        let square = Wave::Square { low: 0.4, high: 1.6, period_ns: 400_000_000 };
        assert_eq!(wave("{ low = 0.4, high = 1.6, square = \"400ms\" }").unwrap(), square);
        let error = wave("{ low = 0.4 }").unwrap_err().to_string();
        assert!(error.contains("{ from, to }"), "{error}");
        assert!(wave("\"fast\"").is_err());
    }
}
