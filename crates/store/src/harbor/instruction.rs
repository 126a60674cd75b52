//! The instruction of a task without the canary lines that keep it out of training data: [`strip_canary`].

/// Drops the leading comment lines (`<!-- … -->` or `# …`) that speak of a canary, and blank lines after them.
pub(crate) fn strip_canary(instruction: &str) -> &str {
    let mut rest = instruction;
    let mut stripped = false;
    loop {
        let (line, after) = match rest.split_once('\n') {
            Some((line, after)) => (line, after),
            None => (rest, ""),
        };
        let is_canary = is_comment(line.trim()) && line.to_lowercase().contains("canary");
        let is_gap = stripped && line.trim().is_empty();
        if rest.is_empty() || !(is_canary || is_gap) {
            return rest;
        }
        stripped = true;
        rest = after;
    }
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#') || (line.starts_with("<!--") && line.ends_with("-->"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn canary_lines_are_stripped() {
        let check = |input: &str, expect: &str| {
            assert_eq!(super::strip_canary(input), expect, "{input:?}");
        };
        check("Do it.\n", "Do it.\n");
        check("<!-- canary x -->\n\nDo it.\n", "Do it.\n");
        check(
            "# CANARY a\n<!-- Canary b -->\n \n\nDo it.\n# canary later\n",
            "Do it.\n# canary later\n",
        );
        check("\n<!-- canary x -->\nDo it.\n", "\n<!-- canary x -->\nDo it.\n");
        check("# A heading\nDo it.\n", "# A heading\nDo it.\n");
        check("The canary sings.\n", "The canary sings.\n");
        check("<!-- canary x -->", "");
    }
}
