//! The page of runs in a real browser without scripts: readable, complete, quiet, and inert whatever an agent says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    bench::{Bench, files_below},
    browser::Browser,
};

/// Everything that an agent can put into a page, meant to break out of it.
const HOSTILE: &str = r##"
[[on]]
when = "opening"
do   = [
  { run = "echo '<script>window.hacked=1</script>' '</code></td></table>'; printf '\\377\\376\\000' > bad.bin; printf '\\377 half' > latin1.txt" },
  { write = { path = "<img src=x onerror=hacked=1>.txt", text = "</pre></details><script>window.hacked=2</script>\n\u202egnirts\u202c\n" } },
  { write = { path = "greet.sh", text = "#!/bin/sh\n# </span></pre></main><iframe src=javascript:hacked=3></iframe>\n" } },
  { say = "<script>window.hacked=4</script></pre></div></details></section></main><a href=\"javascript:hacked=5\">click</a> [x](javascript:hacked=6) http://example.com/ \u202ereversed\u202c \u001b[31mred\u0007 zero\u200bwidth &lt;b&gt; <style>*{display:none}</style><meta http-equiv=refresh content=0;url=http://example.com/>. The work is done." },
]

[[on]]
when = "otherwise"
do   = [{ say = "LONG The work is done." }]
"##;

/// What every page has to be, asked of the page itself; the answer lists what it is not.
const FAULTS: &str = r##"(() => {
  const all = query => [...document.querySelectorAll(query)];
  const faults = [];
  const want = (holds, what) => { if (!holds) faults.push(what); };
  want(all('script, iframe, object, embed, form, img, base').length === 0, 'active elements');
  want(all('*').every(e => [...e.attributes].every(a => !a.name.startsWith('on'))), 'handlers');
  want(document.querySelector('html').lang === 'en', 'a language');
  want(all('main').length === 1 && all('h1').length === 1, 'one main, one h1');
  want(all('body > header').length === 1 && all('body > footer').length === 1, 'header and footer');
  want(document.body.lastElementChild.tagName === 'FOOTER', 'the footer last');
  want(all('nav').length > 0 && all('nav').every(e => e.getAttribute('aria-label')), 'named navigation');
  const levels = all('h1, h2, h3, h4, h5, h6').map(e => Number(e.tagName[1]));
  want(levels.every((level, at) => level <= (at ? levels[at - 1] : 0) + 1), 'headings in order');
  want(all('th').every(e => ['col', 'row'].includes(e.scope)), 'scopes of table heads');
  want(all('table').every(e => e.querySelector('th')), 'table heads');
  want(all('.scroll').every(e => e.tabIndex === 0 && e.getAttribute('aria-label')), 'scrolling by keyboard');
  const ids = all('[id]').map(e => e.id);
  want(new Set(ids).size === ids.length, 'unique ids');
  for (const link of all('a')) {
    const href = link.getAttribute('href');
    want(/^(#|stories\/s|\.\.\/index\.html#)/.test(href), 'an own link instead of ' + href);
    if (href.startsWith('#')) want(document.getElementById(href.slice(1)), 'the target of ' + href);
  }
  for (const e of all('[aria-labelledby]')) {
    want(document.getElementById(e.getAttribute('aria-labelledby')), 'the label of ' + e.tagName);
  }
  return faults;
})()"##;

/// Whether something is wider than the window, and the widest culprits.
const OVERFLOW: &str = r#"(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = e => !e.closest('.scroll') && e.getBoundingClientRect().right > root.clientWidth + 1;
  return ['too wide', ...[...document.querySelectorAll('body *')].filter(wide).map(e => e.outerHTML.slice(0, 120))];
})()"#;

fn html(bench: &Bench, groups: &[&Path], out: &str) -> PathBuf {
    let mut arguments = vec!["report", "--format", "html", "--out", out];
    arguments.extend(groups.iter().map(|path| path.to_str().expect("a plain path")));
    let done = bench.expect(0, &arguments);
    bench.path().join(done.stderr.trim())
}

/// Whole, quiet and no wider than the window, in both colours, on a desk and on a telephone.
fn check(browser: &mut Browser, page: &Path, anchors: &[String]) {
    for (width, colours) in [(1280, "light"), (390, "dark")] {
        browser.looks(width, colours);
        browser.open(page);
        assert_eq!(browser.ask(FAULTS), json!([]), "{}", page.display());
        assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
        assert_eq!(browser.complaints(), Vec::<&Value>::new());
        assert_eq!(browser.ask(OVERFLOW), json!([]), "{} at {width}", page.display());
        for anchor in anchors {
            show(browser, anchor);
            assert_eq!(browser.ask(OVERFLOW), json!([]), "{anchor} at {width}");
        }
    }
}

/// Goes to a place of the page as a link would.
fn show(browser: &mut Browser, anchor: &str) {
    browser.ask(&format!("void (location.hash = {anchor:?})"));
    browser.awaits("document.querySelector(':target')?.checkVisibility()", &json!(true));
}

/// Follows the first link that is seen and fits; what it leads to is then seen.
fn follow(browser: &mut Browser, selector: &str) -> String {
    browser.click(selector);
    let is_there = "(() => { const e = document.querySelector(':target');
        const box = e?.getBoundingClientRect();
        return !!e && e.checkVisibility() && box.top >= -1 && box.top < innerHeight; })()";
    browser.awaits(is_there, &json!(true));
    browser.ask("location.hash").as_str().expect("an anchor").to_owned()
}

fn stories(browser: &mut Browser) -> Vec<String> {
    let found = browser.ask("[...document.querySelectorAll('.story')].map(e => e.id)");
    let ids = found.as_array().expect("a list").iter();
    ids.map(|id| id.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_page_is_read_without_scripts() {
    let bench = Bench::new();
    let tiny = bench.tiny(&["oracle", "eager", "nop"], &[]);
    let page = html(&bench, &[&tiny], "tiny.html");
    let text = fs::read_to_string(&page).expect("a page");
    assert!(!text.contains("oracle · progressive"), "rows of one arm need no arm in their names");
    let mut browser = Browser::start();
    browser.open(&page);
    let ids = stories(&mut browser);
    assert_eq!(ids.len(), 3);
    check(&mut browser, &page, &ids);

    browser.looks(1280, "light");
    browser.open(&page);
    let seen = "[document.querySelector('.overview'), document.querySelector('#s1-1')].map(e => e.checkVisibility())";
    assert_eq!(browser.ask(seen), json!([true, false]));
    let text = browser.ask("document.querySelector('.overview').innerText");
    let text = text.as_str().expect("text");
    for part in ["joint pass", "not graded", "assigned", "locked", "pcb replay", "(UTC)"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }

    // The eager agent's lane: told, corrected, unmet to the end; every verdict leads to its readings.
    assert_eq!(follow(&mut browser, "a[href='#s1-1']"), "#s1-1");
    assert_eq!(browser.ask(seen), json!([false, true]));
    let lane = browser.ask(
        "[...document.querySelectorAll('#s1-1 .lanes tbody tr:first-child > *')]
            .map(e => e.innerText.replace(/[^a-z_ ]+/gi, ' ').replace(/ +/g, ' ').trim())",
    );
    assert_eq!(
        lane,
        json!(["usage_note", "hidden", "due", "told unmet", "corrected unmet", "unmet", "failed"])
    );
    assert_eq!(follow(&mut browser, "#s1-1 td.lane .bad a"), "#s1-1-t2-look");
    let read = browser.ask("document.querySelector(':target').innerText");
    assert!(read.as_str().is_some_and(|text| text.contains("no file fits")), "{read}");
    assert!(read.as_str().is_some_and(|text| text.contains("log.jsonl:")), "{read}");
    assert_eq!(follow(&mut browser, ":target a"), "#s1-1-c0");
    assert_eq!(follow(&mut browser, "#s1-1 a[href='#sessions']"), "#sessions");
    assert_eq!(browser.ask(seen), json!([true, false]));

    // The first key leads past the head of the page.
    browser.open(&page);
    browser.press("Tab", 9);
    assert_eq!(browser.ask("document.activeElement.className"), json!("skip"));
    browser.press("Enter", 13);
    browser.awaits("location.hash", &json!("#top"));
}

#[test]
fn a_session_is_told_whole() {
    let bench = Bench::new();
    let pairs = ["--pairs", "shop_owner--csv_report", "--out", "out"];
    let mut arguments =
        vec!["run", "starter", "--agent", "oracle", "--agent", "eager", "--agent", "nop"];
    arguments.extend(pairs);
    let done = bench.expect(0, &arguments);
    let group = bench.path().join(done.stderr.lines().next().expect("the group's folder"));
    let page = html(&bench, &[&group], "starter.html");
    let mut browser = Browser::start();
    browser.open(&page);
    let ids = stories(&mut browser);
    check(&mut browser, &page, &ids);

    show(&mut browser, "s3-1");
    let told = browser.ask("document.querySelector('#s3-1').textContent");
    let told = told.as_str().expect("text");
    let parts = [
        "nothing_installed",
        "met if",
        "Asked for permission install",
        "refuses install",
        "make_report.py",
        "double click",
        "What they printed",
        "closing words, stored and not sent",
        "pcb show",
    ];
    for part in parts {
        assert!(told.contains(part), "{part} is missing in\n{told}");
    }
    let lines = browser.ask("document.querySelectorAll('#s3-1 .diff .added').length");
    assert!(lines.as_u64().is_some_and(|lines| lines > 10), "{lines}");
    assert_eq!(follow(&mut browser, "#s3-1 .lanes tbody th a"), "#s3-1-r0");
    let evidence = follow(&mut browser, "#s3-1-r0 dd a");
    assert!(evidence.starts_with("#s3-1-c"), "{evidence}");
}

#[test]
fn hostile_words_stay_words() {
    let bench = Bench::new();
    let long = "word ".repeat(40_000);
    let agent = bench.write("hostile.toml", &HOSTILE.replace("LONG", &long));
    let group = bench.tiny(&[agent.to_str().expect("a plain path")], &[]);
    let page = html(&bench, &[&group], "hostile.html");
    let bytes = fs::metadata(&page).expect("a page").len();
    assert!(bytes < 300_000, "{bytes} bytes: long messages are shown whole");
    let mut browser = Browser::start();
    // Whatever slipped through would run.
    browser.scripts(true);
    check(&mut browser, &page, &["s1-1".to_owned()]);
    assert_eq!(browser.ask("typeof window.hacked"), json!("undefined"));
    // The policy alone would keep scripts from running: without it the words must be inert as well, and the same
    // browser runs a script that is one.
    let whole = fs::read_to_string(&page).expect("a page");
    let bare = whole.replace("Content-Security-Policy", "No-Policy");
    assert_ne!(bare, whole, "the page has a policy");
    browser.open(&bench.write("bare.html", &bare));
    assert_eq!(browser.ask("typeof window.hacked"), json!("undefined"));
    let active = bare.replace("</main>", "</main><script>window.hacked = 1</script>");
    browser.open(&bench.write("active.html", &active));
    assert_eq!(browser.ask("typeof window.hacked"), json!("number"));
    browser.open(&page);
    let told = browser.ask("document.querySelector('#s1-1').textContent");
    let told = told.as_str().expect("text");
    let parts = [
        "<script>window.hacked=4</script></pre></div>",
        "<a href=\"javascript:hacked=5\">click</a>",
        "<img src=x onerror=hacked=1>.txt",
        "<style>*{display:none}</style>",
        "&lt;b&gt;",
        "U+202EreversedU+202C",
        "␛[31mred␇",
        "zeroU+200Bwidth",
        "characters are left out here",
        "bad.bin",
        "(not text)",
    ];
    for part in parts {
        assert!(told.contains(part), "{part} is missing in\n{}", &told[..told.len().min(4000)]);
    }
    let raw = fs::read_to_string(&page).expect("UTF-8");
    let odd = raw.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(odd, None);
    assert!(!raw.contains(['\u{202e}', '\u{200b}']));
}

#[test]
fn a_folder_holds_a_page_for_each_session() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "nop"], &["--repeats", "2"]);
    let index = html(&bench, &[&group], "site");
    let folder = index.parent().expect("a folder").to_owned();
    let files: Vec<String> = files_below(&folder).into_iter().collect();
    let expect = [
        "index.html",
        "stories/s1-1.html",
        "stories/s1-2.html",
        "stories/s2-1.html",
        "stories/s2-2.html",
    ];
    assert_eq!(files, expect);
    let mut browser = Browser::start();
    for file in &files {
        check(&mut browser, &folder.join(file), &[]);
    }
    browser.looks(1280, "light");
    browser.open(&index);
    browser.click("a[href='stories/s2-2.html']");
    let path = "location.pathname.split('/').slice(-2).join('/')";
    browser.awaits(path, &json!("stories/s2-2.html"));
    browser.awaits("document.querySelector('h2')?.innerText", &json!("caretaker--greet"));
    browser.click("a[href='../index.html#sessions']");
    browser.awaits(
        "location.pathname.split('/').pop() + location.hash",
        &json!("index.html#sessions"),
    );
}

#[test]
fn rows_of_several_arms_say_their_arm() {
    let bench = Bench::new();
    let told = bench.tiny(&["oracle"], &[]);
    let untold = bench.tiny(&["oracle"], &["--arm", "no-persona"]);
    let folders = [&told, &untold].map(|path| path.to_str().expect("a plain path"));
    let table = bench.expect(0, &["report", folders[0], folders[1]]).stdout;
    for name in ["oracle · progressive", "oracle · no-persona"] {
        let rows = table.lines().filter(|line| line.trim_start().starts_with(name)).count();
        assert!(rows > 1, "{name} names {rows} rows of\n{table}");
    }
    let page = html(&bench, &[&told, &untold], "arms.html");
    let mut browser = Browser::start();
    browser.open(&page);
    let heads = browser
        .ask("[...document.querySelectorAll('.sessions thead th')].map(e => e.innerText).slice(2)");
    assert_eq!(heads, json!(["oracle · progressive", "oracle · no-persona"]));
}

#[test]
fn a_page_is_the_same_bytes_again() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "eager"], &[]);
    let first = fs::read(html(&bench, &[&group], "first.html")).expect("a page");
    for run in ["oracle", "eager"] {
        fs::remove_dir_all(group.join(run).join("derived")).expect("derived files");
    }
    assert!(fs::read(html(&bench, &[&group], "second.html")).expect("a page") == first);
    let relative = group.strip_prefix(bench.path()).expect("below").to_owned();
    assert!(fs::read(html(&bench, &[&relative], "third.html")).expect("a page") == first);
    let shown = group.to_str().expect("a plain path");
    let printed = bench.expect(0, &["report", shown, "--format", "html"]).stdout;
    assert!(printed.into_bytes() == first);
    let kept = String::from_utf8(first).expect("UTF-8");
    assert!(
        !kept.contains(bench.path().to_str().expect("a plain path")),
        "a path of the host is shown"
    );
}
