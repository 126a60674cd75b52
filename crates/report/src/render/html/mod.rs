//! Runs as a page that needs no script: one file ([`page`]), or an index with a page for each session
//! ([`index`], [`story_page`]).

mod overview;
mod session;
mod tables;
mod text;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    context::{PageContext, RunFacts, StoryContext},
    render::plain,
};

const STYLE: &str = include_str!("page.css");

/// Nothing is fetched and nothing runs, whatever a page holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Where the stories stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the same file.
    SameFile,
    /// In files of their own below this folder, which lies beside the index.
    Folder(&'static str),
}

/// One session of a page.
pub struct SessionPage<'a> {
    /// Its name within the page.
    pub id: &'a str,
    /// Its run.
    pub run: &'a RunFacts,
    /// Its story.
    pub story: &'a StoryContext,
    /// Where it will stand.
    pub place: Place,
}

/// One file with everything; `stories` are those of [`story_section`], in order.
pub fn page(context: &PageContext, stories: &[String]) -> String {
    let body = html! {
        main #top {
            div.overview { (overview::overview(context, Place::SameFile)) }
            @for story in stories { (PreEscaped(story)) }
        }
    };
    document(&overview::title(context), "whole", &context.canaries, body)
}

/// The index of a folder.
pub fn index(context: &PageContext, folder: &'static str) -> String {
    let body = html! {
        main #top { div.overview { (overview::overview(context, Place::Folder(folder))) } }
    };
    document(&overview::title(context), "index", &context.canaries, body)
}

/// A session as a part of [`page`].
pub fn story_section(session: &SessionPage<'_>) -> String {
    session::session(session).into_string()
}

/// A session as a page of its own.
pub fn story_page(session: &SessionPage<'_>, canaries: &[String]) -> String {
    let facts = &session.story.facts;
    let title = format!("{} · {} · {}", facts.pair, session.run.configuration, facts.class);
    let body = html! { main #top { (session::session(session)) } };
    document(&title, "single", canaries, body)
}

impl Place {
    /// What a link to a session's story holds, seen from the index.
    fn of_story(self, id: &str) -> String {
        match self {
            Place::SameFile => format!("#{id}"),
            Place::Folder(folder) => format!("{folder}/{id}.html"),
        }
    }

    /// What a link back to a place of the index holds, seen from a story.
    fn of_index(self, anchor: &str) -> String {
        match self {
            Place::SameFile => format!("#{anchor}"),
            Place::Folder(_) => format!("../index.html#{anchor}"),
        }
    }
}

fn document(title: &str, kind: &str, canaries: &[String], body: Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (plain(title)) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body class=(kind) {
                a.skip href="#top" { "Skip to the content" }
                header.banner {
                    // A page of a session alone begins with it, and has no other first heading.
                    @if kind == "single" { h1.brand { "PersonaCodeBench" } }
                    @else { p.brand { "PersonaCodeBench" } }
                    p.claim { "Correct software, and the person respected" }
                }
                (body)
                footer {
                    p { "Made by " code { "pcb report --format html" } " from the logs of the run. "
                        "Nothing on this page is stored as truth: every verdict is derived from the log." }
                    @for canary in canaries { p.canary { (text::shown(canary)) } }
                }
            }
        }
    }
    .into_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::STYLE;

    /// What is written on what; a ratio of 4.5 is what small text needs to be read.
    const WRITTEN: [(&str, &[&str]); 10] = [
        ("ink", &["page", "card", "sunk", "open-back"]),
        ("soft", &["page", "card", "sunk"]),
        ("link", &["page", "card", "sunk"]),
        ("good", &["page", "card", "good-back"]),
        ("bad", &["page", "card", "sunk", "bad-back"]),
        ("open", &["page", "card", "open-back"]),
        ("told", &["told-back"]),
        ("page", &["ink"]),
        ("user", &["card"]),
        ("agent", &["card"]),
    ];

    fn colours(style: &str) -> BTreeMap<&str, f64> {
        let lines = style.lines().filter_map(|line| {
            let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
            let value = u32::from_str_radix(value.strip_suffix(';')?, 16).ok()?;
            Some((name, luminance(value)))
        });
        lines.collect()
    }

    /// Relative luminance of an sRGB colour.
    fn luminance(colour: u32) -> f64 {
        let part = |shift: u32| {
            let value = f64::from(colour >> shift & 0xff) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
    }

    #[test]
    fn every_colour_can_be_read_on_what_lies_under_it() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").expect("both");
        let dark = dark.split("* {").next().expect("the colours of the dark");
        for (scheme, colours) in [("light", colours(light)), ("dark", colours(dark))] {
            for (text, grounds) in WRITTEN {
                for ground in grounds {
                    let (a, b) = (colours[text], colours[ground]);
                    let ratio = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                    assert!(ratio >= 4.5, "{scheme}: {text} on {ground} has {ratio:.2}");
                }
            }
        }
    }
}
