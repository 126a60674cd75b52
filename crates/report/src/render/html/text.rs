//! Foreign text in a page: escaped, with control and invisible characters shown, and cut where it is too long.

use maud::{Markup, PreEscaped, html};

/// Characters of a message that are shown.
pub(super) const MESSAGE_MAX: usize = 16_000;

/// Characters of a program's output that are shown, the most of them from its end.
pub(super) const OUTPUT_MAX: usize = 24_000;

/// Text of anybody as text of a page. Nothing in it can become markup, hide or reorder what stands beside it.
pub(super) fn shown(text: &str) -> Markup {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            _ if character.is_control() || is_invisible(character) => mark(&mut out, character),
            _ => out.push(character),
        }
    }
    PreEscaped(out)
}

/// C0 has pictures of its own; all others are named by their number.
fn mark(out: &mut String, character: char) {
    let number = u32::from(character);
    let picture = match number {
        0..0x20 => char::from_u32(0x2400 + number),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    match picture {
        Some(picture) => out.push_str(&format!("<span class=\"control\">{picture}</span>")),
        None => out.push_str(&format!("<span class=\"control\">U+{number:04X}</span>")),
    }
}

/// Characters that show nothing or turn the direction of others. Joiners stay: scripts and emoji need them.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What is shown of a long text.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt<'a> {
    head: &'a str,
    left_out: usize,
    tail: &'a str,
}

/// The beginning and the end of a text, so many characters each; what fits into both is whole.
fn excerpt(text: &str, head_max: usize, tail_max: usize) -> Excerpt<'_> {
    let whole = Excerpt { head: text, left_out: 0, tail: "" };
    // A text of fewer bytes has fewer characters.
    if text.len() <= head_max + tail_max {
        return whole;
    }
    let count = text.chars().count();
    if count <= head_max + tail_max {
        return whole;
    }
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    Excerpt {
        head: &text[..at(head_max)],
        left_out: count - head_max - tail_max,
        tail: &text[at(count - tail_max)..],
    }
}

/// A message; `place` says where the whole stands.
pub(super) fn message(text: &str, place: &str) -> Markup {
    block(&excerpt(text, MESSAGE_MAX, 0), "words", place)
}

/// What a program printed; `place` says where the whole stands.
pub(super) fn output(text: &str, place: &str) -> Markup {
    block(&excerpt(text, OUTPUT_MAX / 4, OUTPUT_MAX / 4 * 3), "output", place)
}

fn block(excerpt: &Excerpt<'_>, class: &str, place: &str) -> Markup {
    html! {
        pre class=(class) dir="auto" { (shown(excerpt.head)) }
        @if excerpt.left_out > 0 {
            p.left-out { (excerpt.left_out) " characters are left out here; the whole: " code { (shown(place)) } }
        }
        @if !excerpt.tail.is_empty() {
            pre class=(class) dir="auto" { (shown(excerpt.tail)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        let check = |text: &str, expect: &str| assert_eq!(shown(text).into_string(), expect);
        check("plain\n\ttext é 漢 👩‍🚀", "plain\n\ttext é 漢 👩‍🚀");
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("a\" onclick=\"x' &amp;", "a&quot; onclick=&quot;x' &amp;amp;");
        check("\u{1b}[31m", "<span class=\"control\">␛</span>[31m");
        check("\u{7f}", "<span class=\"control\">␡</span>");
        check("\u{9b}1m", "<span class=\"control\">U+009B</span>1m");
        check(
            "\u{202e}cba\u{202c}",
            "<span class=\"control\">U+202E</span>cba<span class=\"control\">U+202C</span>",
        );
        check("a\u{e0041}", "a<span class=\"control\">U+E0041</span>");
        check("\r\n", "<span class=\"control\">␍</span>\n");
    }

    #[test]
    fn long_text_is_cut_and_counted() {
        let check = |text: &str, (head, tail): (usize, usize), expect: (&str, usize, &str)| {
            let got = excerpt(text, head, tail);
            assert_eq!((got.head, got.left_out, got.tail), expect);
        };
        check("abc", (3, 0), ("abc", 0, ""));
        check("abcd", (3, 0), ("abc", 1, ""));
        check("äöüß", (4, 0), ("äöüß", 0, ""));
        check("äöüßé", (2, 1), ("äö", 2, "é"));
        let long = "a".repeat(MESSAGE_MAX + 7);
        let html = message(&long, "log.jsonl:9").into_string();
        assert!(html.contains("7 characters are left out here") && html.contains("log.jsonl:9"));
        assert!(html.len() < MESSAGE_MAX + 500);
    }
}
