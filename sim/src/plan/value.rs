//! The values of a plan as a person writes them: lengths of time, amounts, and what is drawn anew for each job.
//!
//! Each of them checks itself while the file is read, so that a mistake is reported with its place.

use core::fmt;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};

/// A length of time, not negative, in nanoseconds: written `"57ms"`, `"91d"`, `"1s-1ns"`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Span(pub(crate) u64);

/// A length of time that may be negative, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Shift(pub(crate) i64);

const UNITS: [(&str, i64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const SPAN: &str =
    "a length of time: whole numbers with ns, us, ms, s, min, h or d, like \"1s\" or \"1s-1ns\"";

/// Nanoseconds of a sum like `1s-1ns`, `None` if it is not one.
fn parse(text: &str) -> Option<i64> {
    let mut rest = text.trim();
    let mut total = 0_i64;
    let mut first = true;
    while !rest.is_empty() {
        let (sign, after) = match (rest.strip_prefix('-'), rest.strip_prefix('+')) {
            (Some(after), _) => (-1, after),
            (_, Some(after)) if !first => (1, after),
            _ if first => (1, rest),
            _ => return None,
        };
        let digits = after.find(|c: char| !c.is_ascii_digit()).filter(|&digits| digits > 0)?;
        let (number, after) = after.split_at(digits);
        let unit = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let &(_, ns) = UNITS.iter().find(|&&(name, _)| name == unit)?;
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(ns)?.checked_mul(sign)?)?;
        (rest, first) = (after, false);
    }
    (!first).then_some(total)
}

impl<'de> Deserialize<'de> for Shift {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let refused = || Error::invalid_value(Unexpected::Str(&text), &SPAN);
        parse(&text).map(Self).ok_or_else(refused)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let refused = || Error::invalid_value(Unexpected::Str(&text), &SPAN);
        let ns = parse(&text).ok_or_else(refused)?;
        u64::try_from(ns).map(Self).map_err(|_| refused())
    }
}

/// A whole number, or `"unlimited"`, which is the largest there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Amount(pub(crate) u64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Found;
        impl Visitor<'_> for Found {
            type Value = Amount;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, 0 or more, or \"unlimited\"")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Amount, E> {
                let refused = |_| E::invalid_value(Unexpected::Signed(value), &self);
                u64::try_from(value).map(Amount).map_err(refused)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Amount, E> {
                Ok(Amount(value))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Amount, E> {
                if value == "unlimited" {
                    Ok(Amount(u64::MAX))
                } else {
                    Err(E::invalid_value(Unexpected::Str(value), &self))
                }
            }
        }
        from.deserialize_any(Found)
    }
}

/// A number that is finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Real(pub(crate) f64);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(from)?;
        if (0.0..=1e18).contains(&value) {
            Ok(Self(value))
        } else {
            Err(Error::invalid_value(Unexpected::Float(value), &"a number from 0 to 1e18"))
        }
    }
}

/// Drawn anew for each job: always the same, or any whole number of a pair's range with equal chance. One type of value
/// for both, numbers and lengths of time (in nanoseconds).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Draw {
    least: u64,
    most: u64,
}

impl Draw {
    pub(crate) const fn always(value: u64) -> Self {
        Self { least: value, most: value }
    }

    pub(crate) const fn least(self) -> u64 {
        self.least
    }

    /// A constant uses no chance.
    #[inline]
    pub(crate) fn draw(self, rng: &mut ChaCha8Rng) -> u64 {
        if self.least == self.most { self.least } else { rng.random_range(self.least..=self.most) }
    }
}

/// A [`Draw`] of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(pub(crate) Draw);

/// A [`Draw`] of lengths of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans(pub(crate) Draw);

/// One value or a pair of them in order.
struct OneOrPair<T> {
    what: &'static str,
    value: fn(T) -> u64,
}

impl<T> OneOrPair<T> {
    fn pair<'de, A: SeqAccess<'de>>(self, mut pair: A) -> Result<Draw, A::Error>
    where
        T: Deserialize<'de>,
    {
        let what = self.what;
        let mut next = || pair.next_element::<T>()?.ok_or_else(|| Error::invalid_length(1, &what));
        let (least, most) = ((self.value)(next()?), (self.value)(next()?));
        if pair.next_element::<T>()?.is_some() {
            return Err(Error::invalid_length(3, &what));
        }
        if least > most {
            return Err(Error::custom(format!(
                "the pair is {least} to {most}, allowed is the smaller one first"
            )));
        }
        Ok(Draw { least, most })
    }
}

impl<'de> Visitor<'de> for OneOrPair<Amount> {
    type Value = Draw;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Draw, E> {
        let refused = |_| E::invalid_value(Unexpected::Signed(value), &self.what);
        u64::try_from(value).map(Draw::always).map_err(refused)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, pair: A) -> Result<Draw, A::Error> {
        self.pair(pair)
    }
}

impl<'de> Visitor<'de> for OneOrPair<Span> {
    type Value = Draw;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Draw, E> {
        let ns = parse(text).and_then(|ns| u64::try_from(ns).ok());
        ns.map(Draw::always).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self.what))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, pair: A) -> Result<Draw, A::Error> {
        self.pair(pair)
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let what = "a whole number, 0 or more, or a pair of them, [least, most]";
        from.deserialize_any(OneOrPair { what, value: |amount: Amount| amount.0 }).map(Self)
    }
}

impl<'de> Deserialize<'de> for Spans {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let what = "a length of time like \"100ms\", or a pair of them, [least, most]";
        from.deserialize_any(OneOrPair { what, value: |span: Span| span.0 }).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_sums_of_whole_numbers_with_units() {
        assert_eq!(parse("57ms"), Some(57_000_000));
        assert_eq!(parse("1s-1ns"), Some(999_999_999));
        assert_eq!(parse("-1ns"), Some(-1));
        assert_eq!(parse("1min+30s"), Some(90_000_000_000));
        assert_eq!(parse("91d"), Some(7_862_400_000_000_000));
    }

    #[test]
    fn what_is_no_length_of_time_is_refused() {
        for text in
            ["", "5", "s", "1.5s", "1 s", "1s1ns", "+1s", "--1s", "1y", "99999999999999999999d", "1s-"]
        {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_pair_draws_all_of_its_range_and_a_constant_uses_no_chance() {
        use crate::rng::{Source, stream};
        let mut rng = stream(1, Source::Costs);
        let untouched = rng.clone();
        assert_eq!(Draw::always(7).draw(&mut rng), 7);
        assert_eq!(rng, untouched);
        let pair = Draw { least: 2, most: 4 };
        let mut seen: Vec<u64> = (0..50).map(|_| pair.draw(&mut rng)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [2, 3, 4]);
    }
}
