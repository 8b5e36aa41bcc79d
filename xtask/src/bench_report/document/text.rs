//! Numbers and tables as they are written.

/// With a space at the thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// How much is in a case; 1 has no meaning.
pub(super) fn size(size: u64) -> String {
    if size == 1 { "–".to_owned() } else { count(size) }
}

/// Three digits, or all before the point.
pub(super) fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns < 10.0 => format!("{ns:.2}"),
        ns if ns < 100.0 => format!("{ns:.1}"),
        ns => format!("{ns:.0}"),
    }
}

pub(super) fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

/// A table; columns whose head begins with `>` are of numbers.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let rule = |head: &&str| if head.starts_with('>') { "---:".to_owned() } else { "---".to_owned() };
    let mut text = line(&mut head.iter().map(|head| head.trim_start_matches('>').to_owned()));
    text += &line(&mut head.iter().map(rule));
    for row in rows {
        text += &line(&mut row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_they_are_worth() {
        assert_eq!([1, 999, 1_000, 1_234_567].map(count), ["1", "999", "1\u{a0}000", "1\u{a0}234\u{a0}567"]);
        assert_eq!([1.234, 12.34, 1234.4].map(nanoseconds), ["1.23", "12.3", "1234"]);
        assert_eq!([0.876, 12.34].map(ratio), ["0.88", "12.3"]);
        assert_eq!([1, 10].map(size), ["–", "10"]);
    }

    #[test]
    fn a_table_has_a_rule_for_each_column_and_no_cell_breaks_it() {
        let text = table(&["a", ">b"], &[vec!["x|y\nz".into(), "1".into()]]);
        assert_eq!(text, "| a | b |\n| --- | ---: |\n| x\\|y z | 1 |\n");
    }
}
