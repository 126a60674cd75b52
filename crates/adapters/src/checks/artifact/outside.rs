//! What a page refers to outside itself ([`first`]): other files and the network, in markup, styles and scripts.
//!
//! A link that a reader may follow is no such thing, and neither is data that stands in the page. What a script
//! puts together while it runs cannot be seen; that there is no script is asked by a selector.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use scraper::{ElementRef, Html, Node};

use super::page::Page;

/// The first thing outside that the document needs, in words.
///
/// `within` is how many other pages the document stands in.
pub(super) fn first(document: &Html, within: usize) -> Option<String> {
    let mut elements = document.tree.nodes().filter_map(ElementRef::wrap);
    elements.find_map(|element| of_element(element, within))
}

/// A style without what is said beside it.
pub(super) fn without_comments(style: &str) -> Cow<'_, str> {
    COMMENT.replace_all(style, "")
}

/// A page in a page, and so on, is given up here.
const WITHIN_MAX: usize = 4;

/// What a page in a page needs.
fn of_inner_page(text: &str, within: usize) -> Option<String> {
    if within >= WITHIN_MAX {
        return Some(format!("pages are nested deeper than {WITHIN_MAX}"));
    }
    Page::parse(text).map_or_else(Some, |page| page.outside(within + 1))
}

fn of_element(element: ElementRef<'_>, within: usize) -> Option<String> {
    let name = element.value().name();
    let told = |what: &str| format!("{what} (in `{name}`)");
    for (attribute, value) in element.value().attrs() {
        // Names of another namespace come with their prefix or without.
        let attribute = attribute.rsplit(':').next().unwrap_or(attribute).to_ascii_lowercase();
        let found = match attribute.as_str() {
            "srcdoc" => of_inner_page(value, within),
            "to" | "from" | "by" | "values" if sets_reference(element) => {
                value.split(';').find_map(outside)
            }
            _ => of_attribute(name, &attribute, value),
        };
        if let Some(found) = found {
            return Some(told(&found));
        }
    }
    let is_refresh = name == "meta"
        && element.attr("http-equiv").is_some_and(|kind| kind.eq_ignore_ascii_case("refresh"));
    let content = element.attr("content").unwrap_or_default().to_ascii_lowercase();
    // An address follows the seconds, with `url=` before it or without.
    let is_led_away =
        content.trim_end().contains(|c: char| !c.is_ascii_digit() && !". ;,".contains(c));
    if is_refresh && is_led_away {
        return Some(told(&content));
    }
    let own_text = || {
        let texts = element.children().filter_map(|child| match child.value() {
            Node::Text(text) => Some(&**text),
            _ => None,
        });
        texts.collect::<String>()
    };
    match name {
        "style" => of_style(&own_text()).map(|found| told(&found)),
        "script" => of_script(&own_text()).map(|found| told(&found)),
        _ => None,
    }
}

/// Whether an animation changes what another element refers to.
fn sets_reference(element: ElementRef<'_>) -> bool {
    // Names keep their letters within a picture, and lose them elsewhere.
    let mut attributes = element.value().attrs();
    let changed = attributes.find(|(name, _)| name.eq_ignore_ascii_case("attributename"));
    changed.is_some_and(|(_, value)| {
        value.rsplit(':').next().is_some_and(|name| matches!(name.trim(), "href" | "src"))
    })
}

fn of_attribute(element: &str, attribute: &str, value: &str) -> Option<String> {
    const LOADED: [&str; 15] = [
        "src",
        "poster",
        "data",
        "background",
        "action",
        "formaction",
        "manifest",
        "ping",
        "lowsrc",
        "dynsrc",
        "classid",
        "codebase",
        "archive",
        "profile",
        "icon",
    ];
    let is_followed = matches!(element, "a" | "area");
    match attribute {
        "data" if element != "object" => None,
        "href" if is_followed => outside_of_link(value),
        "href" | "xlink:href" => outside(value),
        "srcset" | "imagesrcset" => candidates(value).into_iter().find_map(outside),
        "style" => of_style(value),
        _ if LOADED.contains(&attribute) => outside(value),
        _ if attribute.starts_with("on") => of_script(value),
        // Attributes of pictures hold references as styles do.
        _ if value.contains('(') => of_style(value),
        _ => None,
    }
}

/// The addresses of a source set: each ends at a blank, and what follows up to the next comma describes it, so that a
/// comma within an address is part of it (HTML, "parse a srcset attribute").
fn candidates(set: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = set;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return found;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (address, after) = rest.split_at(end);
        found.push(address.trim_end_matches(','));
        rest = match address.ends_with(',') {
            true => after,
            false => after.split_once(',').map_or("", |(_, next)| next),
        };
    }
}

/// The reference, if it leads out of the document.
fn outside(reference: &str) -> Option<String> {
    // Browsers drop line ends and blanks at the ends of addresses.
    let plain: String = reference.chars().filter(|c| !c.is_ascii_control()).collect();
    let plain = plain.trim().to_ascii_lowercase();
    let is_inside = plain.is_empty()
        || plain.starts_with('#')
        || plain == "about:blank"
        || plain.starts_with("data:");
    if let Some(code) = plain.strip_prefix("javascript:") {
        return of_script(code);
    }
    (!is_inside).then(|| reference.trim().to_owned())
}

/// As [`outside`], for what leads a reader somewhere only when they want to go.
fn outside_of_link(reference: &str) -> Option<String> {
    let found = outside(reference)?;
    let plain = found.to_ascii_lowercase();
    let is_address =
        ["http://", "https://", "mailto:", "tel:"].iter().any(|scheme| plain.starts_with(scheme));
    (!is_address).then_some(found)
}

/// What a style loads.
fn of_style(text: &str) -> Option<String> {
    let text = COMMENT.replace_all(text, " ");
    let text = unescaped(&text);
    if let Some(import) = IMPORT.find(&text) {
        return Some(import.as_str().to_owned());
    }
    if let Some(found) = URL.captures_iter(&text).find_map(|url| outside(unquoted(&url[1]))) {
        return Some(found);
    }
    for set in IMAGE_SET.captures_iter(&text) {
        // The kind of a picture stands in quotes too.
        let set = KIND.replace_all(set.get(1).map_or("", |inner| inner.as_str()), "");
        let mut named = QUOTED.captures_iter(&set).map(|found| found[1].to_owned());
        if let Some(found) = named.find_map(|quoted| outside(&quoted)) {
            return Some(found);
        }
    }
    None
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// A style with its `\75 rl` taken for the letters that they mean.
fn unescaped(text: &str) -> String {
    let letter = |found: &regex::Captures<'_>| {
        if let Some(same) = found.get(2) {
            return same.as_str().to_owned();
        }
        let number = u32::from_str_radix(&found[1], 16).ok();
        number.and_then(char::from_u32).map(String::from).unwrap_or_default()
    };
    ESCAPE.replace_all(text, letter).into_owned()
}

/// What a script loads, as far as it says so in so many letters.
fn of_script(text: &str) -> Option<String> {
    let text = COMMENT.replace_all(text, " ");
    if let Some(call) = CALL.find(&text) {
        return Some(call.as_str().to_owned());
    }
    let assigned = ASSIGNED.captures_iter(&text).map(|found| found[1].to_owned());
    let set = SET.captures_iter(&text).map(|found| found[1].to_owned());
    let markup = MARKUP.captures_iter(&text).map(|found| found[1].to_owned());
    // What is put together from other texts shows only when it runs.
    let mut fixed = assigned.chain(set).chain(markup).filter(|value| !value.starts_with("${"));
    if let Some(found) = fixed.find_map(|value| outside(&value)) {
        return Some(found);
    }
    let mut addresses = ADDRESS.find_iter(&text).map(|found| found.as_str());
    addresses.find(|address| !address.contains("//www.w3.org/")).map(str::to_owned)
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

static COMMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)/\*.*?\*/"));
static IMPORT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?i)@import\s*(?:url\(|["'])[^;]*"#));
static URL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)\b(?:url|src)\(\s*("[^"]*"|'[^']*'|[^)]*)"#));
static IMAGE_SET: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)image-set\(([^;}]*)"));
static KIND: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?i)\btype\(\s*["'][^"']*["']\s*\)"#));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"["']([^"']*)["']"#));
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\\(?:([0-9A-Fa-f]{1,6})[ \t\n]?|([^\n]))"));
/// Ways of a script to the network or to another file.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\b(?:fetch|importScripts|sendBeacon)\s*\(|\b(?:XMLHttpRequest|WebSocket|EventSource|SharedWorker|RTCPeerConnection|serviceWorker)\b|\bnew\s+Worker\s*\(|\bimport\s*\(|\bimport\b[^;("']*["'][^"']*["']|\bexport\b[^;("']*\bfrom\s*["'][^"']*["']"#,
    )
});
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"\.\s*(?:src|srcset|poster|action|href)\s*=\s*["'`]([^"'`]*)["'`]"#)
});
static SET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\bsetAttribute(?:NS)?\s*\((?:[^"'`()]*,)?\s*["'`](?:xlink:)?(?:src|srcset|poster|action|href)["'`]\s*,\s*["'`]([^"'`]*)["'`]"#,
    )
});
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"<(?:img|script|iframe|link|source|video|audio|embed|object|form|image|use)\b[^>]*?\b(?:src|srcset|href|poster|data|action)\s*=\s*\\?["']?([^"'\\\s>]*)"#,
    )
});
/// An address in quotes, whatever becomes of it.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)["'`]\s*(?:(?:https?|wss?):[/\\]+[^"'`\s]+|//[^"'`\s/]+\.[^"'`\s]+)"#)
});
