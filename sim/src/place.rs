//! Where in a text a mistake is: offsets as lines and columns.

/// Line, and column in bytes, both from 1, of the byte at `offset`; of the end, if the text is shorter.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.as_bytes().get(..offset.min(text.len())).unwrap_or_default();
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::line_and_column;

    #[test]
    fn lines_and_columns_count_from_one() {
        let at = |offset| line_and_column("ab\nc\n", offset);
        assert_eq!([at(0), at(2), at(3), at(5), at(99)], [(1, 1), (1, 3), (2, 1), (3, 1), (3, 1)]);
    }
}
