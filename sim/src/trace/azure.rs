//! `TIMESTAMP,ContextTokens,GeneratedTokens`, the time as `2023-11-16 18:17:03.9799600`.

use super::line::{Fault, Field, Line, fraction_digits};
use super::{Options, Record};

pub(super) const HEADER: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

pub(super) fn record(line: &Line<'_>, options: Options) -> Result<Record, Fault> {
    let [time, context, generated] = line.fields(["TIMESTAMP", "ContextTokens", "GeneratedTokens"])?;
    let at_ns = nanoseconds(time.text()).ok_or_else(|| not_a_time(time))?;
    Ok(Record { at_ns, cost: options.cost(context.whole()?, generated.whole()?), bytes: 0, tenant: 0 })
}

fn not_a_time(field: Field<'_>) -> Fault {
    field.fault("a time like 2023-11-16 18:17:03.9799600, in the years 1970 to 2261")
}

/// Nanoseconds since 1970. The zone does not matter: only differences are used.
fn nanoseconds(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(' ')?;
    let [year, month, day] = parts(date, '-', [4, 2, 2])?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = parts(time, ':', [2, 2, 2])?;
    let nanos = if fraction.len() <= 9 { fraction_digits(fraction, 9)? } else { return None };
    let valid = (1970..=2261).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    valid.then(|| seconds * 1_000_000_000 + nanos)
}

/// Three numbers of exactly these many digits.
fn parts(text: &str, separator: char, lengths: [usize; 3]) -> Option<[u64; 3]> {
    let mut pieces = text.split(separator);
    let mut numbers = [0; 3];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let piece = pieces.next().filter(|piece| piece.len() == length)?;
        *number = fraction_digits(piece, length)?;
    }
    pieces.next().is_none().then_some(numbers)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, for dates from then on. At most 292 turns of the loop.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let months: u64 = (1..month).map(|month| days_in_month(year, month)).sum();
    years + months + day.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_time_is_read_to_the_hundred_nanoseconds() {
        assert_eq!(nanoseconds("1970-01-01 00:00:00.0000000"), Some(0));
        assert_eq!(nanoseconds("2023-11-16 18:17:03.9799600"), Some(1_700_158_623_979_960_000));
        assert_eq!(nanoseconds("2024-02-29 00:00:00"), Some(1_709_164_800_000_000_000));
    }

    #[test]
    fn a_time_that_does_not_exist_is_refused() {
        for text in [
            "2023-02-29 00:00:00.0",
            "2023-13-01 00:00:00.0",
            "2023-11-16 24:00:00.0",
            "2023-11-16 18:60:00.0",
            "2023-11-16T18:17:03.9",
            "23-11-16 18:17:03.9",
            "2023-11-16 18:17:03.",
            "2023-11-16 18:17:03.1234567890",
            "2023-11-16 18:17:03:01.0",
            "2023-11-16",
            "1969-12-31 00:00:00",
            "",
        ] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
