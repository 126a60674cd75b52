//! What makes a small document of XML a large one, or a slow one ([`excess`]): entities and long lists of attributes.

/// What the entities of one document may add to it, in bytes.
const EXPANDED_BYTES_MAX: usize = 8 << 20;

/// A parser compares each attribute of an element with all others of it.
const ATTRIBUTES_MAX: usize = 1000;

/// Why the document is not parsed, if it is not.
pub(super) fn excess(text: &str) -> Option<String> {
    entities(text).or_else(|| attributes(text))
}

fn entities(text: &str) -> Option<String> {
    let first = text.find("<!ENTITY")?;
    let last = text.rfind("<!ENTITY")?;
    let end = text[last..].find("]>").map_or(text.len(), |at| last + at);
    let declared = &text[first..end];
    let is_nested = declared.match_indices('&').any(|(at, _)| !declared[at..].starts_with("&#"));
    if is_nested {
        return Some("its entities are made of entities".into());
    }
    let uses = text.matches('&').count();
    let is_large = uses.saturating_mul(declared.len()) > EXPANDED_BYTES_MAX;
    is_large.then(|| "its entities make it larger than 8 MiB".into())
}

fn attributes(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((open, close)) = skipped.iter().find(|(open, _)| rest.starts_with(open)) {
            let inner = &rest[open.len()..];
            rest = inner.find(close).map_or("", |end| &inner[end + close.len()..]);
            continue;
        }
        rest = &rest[1..];
        // What stands in a declaration may become an element, so it is looked at too.
        if rest.starts_with(['!', '/']) {
            continue;
        }
        let (count, length) = tag(rest);
        if count > ATTRIBUTES_MAX {
            return Some(format!("an element has more than {ATTRIBUTES_MAX} attributes"));
        }
        rest = &rest[length..];
    }
    None
}

/// How many attributes a tag has, and its length.
fn tag(text: &str) -> (usize, usize) {
    let (mut count, mut quote) = (0, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return (count, at),
            (None, b'=') => count += 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    (count, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excesses() {
        let many: String = (0..=ATTRIBUTES_MAX).map(|at| format!(" a{at}='>'")).collect();
        let few: String = (0..ATTRIBUTES_MAX).map(|at| format!(" a{at}='=='")).collect();
        let declared = |value: &str, uses: usize| {
            format!("<!DOCTYPE l [<!ENTITY a \"{value}\">]><l>{}</l>", "&a;".repeat(uses))
        };
        let cases = [
            (format!("<a{many}/>"), true),
            (format!("<!-- <it's --><a{many}/>"), true),
            (format!("<!-- <'--><a{many}/>"), true),
            (format!("<!DOCTYPE l [<!ENTITY a \"<b{many}/>\">]><l>&a;</l>"), true),
            (declared(&"a".repeat(60_000), 60_000), true),
            // What is declared has 4096 bytes, 14 of which are not the value.
            (declared(&"a".repeat(4082), 2049), true),
            (declared(&"a".repeat(4082), 2048), false),
            (declared("&b;", 1), true),
            (format!("<a{few}/><!-- {many} -->"), false),
            (declared("&#65;", 20), false),
            ("<a>&amp;</a>".into(), false),
        ];
        for (text, expect) in cases {
            let found = excess(&text);
            assert_eq!(found.is_some(), expect, "{found:?} of {}", &text[..text.len().min(60)]);
        }
    }
}
