//! Path patterns: `*` and `?` within a segment, `**` across segments, `[…]` sets, `{a,b}` choices ([`Glob`]).

use alloc::{format, string::String, vec, vec::Vec};

/// A pattern of slash-separated paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    alternatives: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A literal character.
    Char(char),
    /// `?`: one character that is no slash.
    One,
    /// `*`: any number of characters that are no slash.
    Many,
    /// `**`: whole segments, with the slash after them; none at all is enough.
    Segments,
    /// `**` at the end: everything below.
    Below,
    /// `[a-z]` or `[!a-z]`.
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Glob {
    /// Reads a pattern; every text is one. What is not closed stands for itself.
    pub fn new(pattern: &str) -> Self {
        let alternatives = expand_braces(pattern).iter().map(|text| parse(text)).collect();
        Self { alternatives }
    }

    /// A pattern that counts from a working directory unless it is absolute.
    pub fn below(workdir: &str, pattern: &str) -> Self {
        if pattern.starts_with('/') {
            Self::new(pattern)
        } else {
            let pattern = pattern.trim_start_matches("./");
            Self::new(&format!("{}/{pattern}", escape(workdir.trim_end_matches('/'))))
        }
    }

    /// Whether the whole path fits.
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        self.alternatives.iter().any(|parts| fits(parts, &path))
    }

    /// Whether the path or what follows any of its slashes fits.
    pub fn matches_tail(&self, path: &str) -> bool {
        self.matches(path)
            || path.char_indices().any(|(at, c)| c == '/' && self.matches(&path[at + 1..]))
    }
}

/// Several patterns of which one is to fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Globs(Vec<Glob>);

impl Globs {
    /// Patterns that count from a working directory unless they are absolute.
    pub fn below(workdir: &str, patterns: &[String]) -> Self {
        Self(patterns.iter().map(|pattern| Glob::below(workdir, pattern)).collect())
    }

    /// Whether one fits.
    pub fn matches(&self, path: &str) -> bool {
        self.0.iter().any(|glob| glob.matches(path))
    }

    /// For each alternative the deepest directory, or the path itself, that stands in it without a pattern.
    pub fn roots(&self) -> Vec<String> {
        let alternatives = self.0.iter().flat_map(|glob| &glob.alternatives);
        alternatives.map(|parts| literal_root(parts)).collect()
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why a glob cannot mean anything, as what follows its name in a sentence.
pub fn trouble(glob: &str) -> Option<&'static str> {
    if glob.trim().is_empty() {
        return Some("is empty");
    }
    if glob.split('/').any(|segment| segment == ".." || segment == ".") {
        return Some("has a segment `.` or `..`, which no path has");
    }
    if glob.split('/').any(|segment| segment.contains("**") && segment != "**") {
        return Some("has `**` beside other letters of a segment");
    }
    if glob.matches('[').count() != glob.matches(']').count() {
        return Some("has an open bracket");
    }
    if glob.matches('{').count() != glob.matches('}').count() {
        return Some("has an open brace");
    }
    None
}

fn literal_root(parts: &[Part]) -> String {
    let literal: String = parts
        .iter()
        .map_while(|part| if let Part::Char(c) = part { Some(*c) } else { None })
        .collect();
    if literal.chars().count() == parts.len() {
        return literal;
    }
    match literal.rfind('/') {
        Some(0) | None => String::from("/"),
        Some(at) => String::from(&literal[..at]),
    }
}

fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '*' | '?' | '[' | '{' => vec!['[', c, ']'],
            _ => vec![c],
        })
        .collect()
}

fn expand_braces(pattern: &str) -> Vec<String> {
    let Some(open) = find_brace(pattern) else { return vec![String::from(pattern)] };
    let mut depth = 0_u32;
    let mut cuts = vec![open];
    let mut close = None;
    for (at, c) in pattern[open..].char_indices().map(|(at, c)| (at + open, c)) {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    close = Some(at);
                    break;
                }
            }
            ',' if depth == 1 => cuts.push(at),
            _ => {}
        }
    }
    let Some(close) = close else { return vec![String::from(pattern)] };
    cuts.push(close);
    let (head, tail) = (&pattern[..open], &pattern[close + 1..]);
    cuts.windows(2)
        .flat_map(|cut| expand_braces(&format!("{head}{}{tail}", &pattern[cut[0] + 1..cut[1]])))
        .collect()
}

/// The first brace that stands in no set.
fn find_brace(pattern: &str) -> Option<usize> {
    let mut in_set = false;
    pattern.char_indices().find_map(|(at, c)| {
        match c {
            '[' => in_set = true,
            ']' => in_set = false,
            '{' if !in_set => return Some(at),
            _ => {}
        }
        None
    })
}

fn parse(pattern: &str) -> Vec<Part> {
    let text: Vec<char> = pattern.chars().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let starts_segment = at == 0 || text[at - 1] == '/';
        match text[at] {
            '*' if text.get(at + 1) == Some(&'*') => {
                at += 2;
                if starts_segment && text.get(at) == Some(&'/') {
                    parts.push(Part::Segments);
                    at += 1;
                } else if starts_segment && at == text.len() {
                    parts.push(Part::Below);
                } else {
                    parts.push(Part::Many);
                }
            }
            '*' => {
                parts.push(Part::Many);
                at += 1;
            }
            '?' => {
                parts.push(Part::One);
                at += 1;
            }
            '[' => match parse_set(&text[at..]) {
                Some((set, length)) => {
                    parts.push(set);
                    at += length;
                }
                None => {
                    parts.push(Part::Char('['));
                    at += 1;
                }
            },
            c => {
                parts.push(Part::Char(c));
                at += 1;
            }
        }
    }
    parts
}

fn parse_set(text: &[char]) -> Option<(Part, usize)> {
    let negated = matches!(text.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    // A bracket right at the start is a member.
    let end = (start + 1..text.len()).find(|at| text[*at] == ']')?;
    let members = &text[start..end];
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == '-' {
            ranges.push((members[at], members[at + 2]));
            at += 3;
        } else {
            ranges.push((members[at], members[at]));
            at += 1;
        }
    }
    Some((Part::Set { negated, ranges }, end + 1))
}

/// Dynamic programming over both texts: no pattern of an author can make it slow.
fn fits(parts: &[Part], path: &[char]) -> bool {
    // `reach[i]`: the parts so far fit the first `i` characters.
    let mut reach = vec![false; path.len() + 1];
    reach[0] = true;
    for part in parts {
        let mut next = vec![false; path.len() + 1];
        let mut was_open = false;
        for at in 0..=path.len() {
            match part {
                Part::Many => {
                    next[at] = reach[at] || (at > 0 && next[at - 1] && path[at - 1] != '/');
                }
                Part::Segments => {
                    // Only the start of a segment is reached, so the slash before it was eaten.
                    next[at] = reach[at] || (at > 0 && path[at - 1] == '/' && was_open);
                }
                Part::Below => {
                    next[at] = was_open || reach[at];
                }
                Part::Char(_) | Part::One | Part::Set { .. } => {
                    next[at] = at > 0 && reach[at - 1] && fits_one(part, path[at - 1]);
                }
            }
            was_open |= reach[at];
        }
        reach = next;
    }
    reach[path.len()]
}

fn fits_one(part: &Part, c: char) -> bool {
    match part {
        Part::Char(own) => *own == c,
        Part::One => c != '/',
        Part::Set { negated, ranges } => {
            c != '/' && ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
        }
        Part::Many | Part::Segments | Part::Below => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Glob, Globs};

    #[track_caller]
    fn check(pattern: &str, fits: &[&str], fits_not: &[&str]) {
        let glob = Glob::below("/app", pattern);
        for path in fits {
            assert!(glob.matches(path), "{pattern} should fit {path}");
        }
        for path in fits_not {
            assert!(!glob.matches(path), "{pattern} should not fit {path}");
        }
    }

    #[test]
    fn patterns() {
        check("USAGE", &["/app/USAGE"], &["/app/sub/USAGE", "/USAGE", "/app/USAGE2"]);
        check("*.py", &["/app/a.py", "/app/.py"], &["/app/sub/a.py", "/app/a.pyc"]);
        check("**", &["/app/a", "/app/a/b"], &["/tmp/a", "/application/a"]);
        check("**/*.py", &["/app/a.py", "/app/x/y/a.py"], &["/tmp/a.py"]);
        check("out/**", &["/app/out/a", "/app/out/a/b"], &["/app/out", "/app/outer/a"]);
        check("**/tests/**", &["/app/tests/a", "/app/x/tests/y/a"], &["/app/xtests/a"]);
        check("/etc/*.conf", &["/etc/a.conf"], &["/app/etc/a.conf"]);
        check("/**/site-packages/**", &["/usr/lib/python3/site-packages/x.py"], &["/usr/x.py"]);
        check("{src,lib}/*.r?", &["/app/src/a.rs", "/app/lib/a.rb"], &["/app/src/a.r/"]);
        check("a[0-9]", &["/app/a7"], &["/app/ab", "/app/a/"]);
        check("a[!0-9]", &["/app/ab"], &["/app/a7"]);
        check("a[b", &["/app/a[b"], &["/app/ab"]);
        check("./a", &["/app/a"], &["/app/./a"]);
        check("a**", &["/app/ab"], &["/app/ab/c"]);
        check("**b", &["/app/ab"], &["/app/x/ab"]);
    }

    #[test]
    fn sets_and_choices_stand_in_each_other() {
        check("[]a]", &["/app/]", "/app/a"], &["/app/[]a]"]);
        check("[a-]", &["/app/a", "/app/-"], &["/app/b"]);
        check("[a-c]", &["/app/b"], &["/app/-", "/app/d"]);
        check("{a,b{c,d}}", &["/app/a", "/app/bc", "/app/bd"], &["/app/b", "/app/c", "/app/d"]);
        check("{a,b}{c,d}", &["/app/ac", "/app/bd"], &["/app/a", "/app/c"]);
        check("{a,b", &["/app/{a,b"], &["/app/a"]);
        check("[{]a,b}", &["/app/{a,b}"], &["/app/a", "/app/b"]);
        check("[x]{a,b}", &["/app/xa", "/app/xb"], &["/app/x{a,b}"]);
    }

    #[test]
    fn roots_are_free_of_patterns() {
        let check = |pattern: &str, expect: &[&str]| {
            let globs = Globs::below("/app", &[alloc::string::String::from(pattern)]);
            assert_eq!(globs.roots(), expect, "{pattern}");
        };
        check("src/*.rs", &["/app/src"]);
        check("/etc/passwd", &["/etc/passwd"]);
        check("/var/lo?/x", &["/var"]);
        check("/**/x", &["/"]);
        check("/{etc,var}/x*", &["/etc", "/var"]);
    }

    #[test]
    fn a_working_directory_is_no_pattern() {
        assert!(Glob::below("/a[b]c", "x").matches("/a[b]c/x"));
        assert!(!Glob::below("/a[b]c", "x").matches("/abc/x"));
    }
}
