//! What was handed over: what opens, what refers to something outside, what starts where there is little but a shell.

use std::io::Write;

use domain::{
    acceptance::Truth::{self, False, True},
    release::{ArtifactCheck, ArtifactFormat, CheckKind},
};

use crate::{
    UNKNOWN,
    stage::{Stage, Staged, simulated_with_files},
};

pub fn keys(path: &str, format: Option<ArtifactFormat>) -> ArtifactCheck {
    ArtifactCheck {
        path: vec![path.into()],
        format,
        self_contained: false,
        has: vec![],
        lacks: vec![],
        text: vec![],
        rows_min: None,
        columns: vec![],
        delimiter: ',',
        runs: vec![],
        prints: None,
        timeout_sec: 20,
    }
}

/// Files in one state, each looked at by itself.
pub async fn check_files(cases: &[(&[u8], ArtifactCheck, Truth)]) {
    let names: Vec<String> = (0..cases.len()).map(|at| format!("out/{at}.file")).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(cases).map(|(name, case)| (name.as_str(), case.0)).collect();
    let staged = simulated_with_files(&files).await;
    for (name, (bytes, demand, expect)) in names.iter().zip(cases) {
        let kind =
            CheckKind::Artifact(ArtifactCheck { path: vec![name.clone()], ..demand.clone() });
        let (found, witness) = staged.read(&kind, None).await;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
        assert_eq!(found, *expect, "{demand:?} of {shown}: {witness}");
    }
}

async fn check_format(format: ArtifactFormat, opens: &[&[u8]], opens_not: &[&[u8]]) {
    let demand = keys("", Some(format));
    let mut cases = Vec::new();
    cases.extend(opens.iter().map(|bytes| (*bytes, demand.clone(), True)));
    cases.extend(opens_not.iter().map(|bytes| (*bytes, demand.clone(), False)));
    check_files(&cases).await;
}

pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).expect("a member");
        archive.write_all(bytes).expect("its bytes");
    }
    archive.finish().expect("an archive").into_inner()
}

pub fn database() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.db");
    let connection = rusqlite::Connection::open(&path).expect("a database");
    connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").expect("rows");
    drop(connection);
    std::fs::read(&path).expect("its bytes")
}

const PAGE: &[u8] = b"<!DOCTYPE html><title>x</title><p>words</p>";

#[tokio::test]
async fn pages() {
    check_format(
        ArtifactFormat::Html,
        &[
            PAGE,
            b"\xef\xbb\xbf<!-- by hand --><html><body>words",
            b"<?xml version=\"1.0\"?><!DOCTYPE html PUBLIC \"x\"><html><p>words</p></html>",
            b"\n<h1>words</h1>",
            b"<p style=\"opacity: 0.5; font-size: 10px\">words</p>",
            b"<p style=\"visibility: visible\" type=\"hidden\">words</p>",
            b"<div><dialog open>words</dialog></div>",
            b"<TABLE><tr><td>1</table>",
            b"<div><img src=\"data:image/png;base64,AAAA\"></div>",
        ],
        &[
            b"",
            b" \n",
            b"words",
            b"words <p>more</p>",
            b"{\"a\": 1}",
            b"a,b\n1,2\n",
            b"<?xml version=\"1.0\"?><feed>words</feed>",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            b"<!DOCTYPE feed><feed>words</feed>",
            b"<paragraph>words",
            b"%PDF-1.7\n<p>words</p>",
            b"<!DOCTYPE html><p>caf\xe9</p>",
            b"<!DOCTYPE html><p>\x01words</p>",
            b"<!DOCTYPE html><title>x</title><p hidden>words</p>",
            b"<!DOCTYPE html><div style=\"display: NONE\">words</div><script>words</script>",
            b"<!DOCTYPE html><p style=\"display:/**/none\">words</p>",
            b"<!DOCTYPE html><p style=\"opacity: 0.0\">words</p>",
            b"<!DOCTYPE html><p style=\"color:red; font-size:0px !important\">words</p>",
            b"<!DOCTYPE html><p style=\"visibility: hidden\">words</p>",
            b"<!DOCTYPE html><tt style=\"visibility:collapse\">words</tt>",
            b"<!DOCTYPE html><dialog>words</dialog>",
            b"<!DOCTYPE html><p>",
            &zip(&[("index.html", PAGE)]),
        ],
    )
    .await;
}

#[tokio::test]
async fn data() {
    check_format(
        ArtifactFormat::Json,
        &[b"{\"a\": [1, null]}", b" []\n"],
        &[
            b"{'a': 1}",
            b"{\"a\": 1,}",
            b"7",
            b"\"a\"",
            b"{\"a\": 1} x",
            b"{\"a\": NaN}",
            b"a: 1",
            PAGE,
        ],
    )
    .await;
    check_format(
        ArtifactFormat::Xml,
        &[b"<a><b x=\"1\"/></a>", b"<?xml version=\"1.0\"?><!DOCTYPE a><a>&lt;</a>"],
        &[b"<a><b></a>", b"<a/><b/>", b"<a x=1/>", b"words", b"{}", PAGE],
    )
    .await;
    check_format(
        ArtifactFormat::Svg,
        &[b"<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"M0 0\"/></svg>"],
        &[b"<svg><path></svg>", b"<html><svg/></html>", PAGE, b"\x89PNG\r\n"],
    )
    .await;
    check_format(
        ArtifactFormat::Text,
        &["Liste: café\r\n\tTee\n".as_bytes(), PAGE],
        &[b"", b"a\0b", b"caf\xe9", b"\x1b[31mred", &zip(&[("a", b"a")])],
    )
    .await;
    let sound = database();
    let mut torn = sound.clone();
    torn.truncate(sound.len() - 1000);
    let mut broken = sound.clone();
    let last = broken.len() - 4096;
    broken[last..last + 8].fill(0xff);
    check_format(
        ArtifactFormat::Sqlite,
        &[&sound],
        &[&torn, &broken, b"SQLite format 3\0", b"CREATE TABLE t (a);", PAGE],
    )
    .await;
    let full = zip(&[("a.txt", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), ("b/c", b"")]);
    let mut damaged = full.clone();
    damaged[40..44].fill(0xaa);
    check_format(
        ArtifactFormat::Zip,
        &[&full],
        &[&damaged, &full[..full.len() - 5], &zip(&[]), b"PK\x03\x04", PAGE],
    )
    .await;
}

#[tokio::test]
async fn tables() {
    let table = |change: &dyn Fn(&mut ArtifactCheck)| {
        let mut demand = keys("", Some(ArtifactFormat::Csv));
        change(&mut demand);
        demand
    };
    let plain = table(&|_| {});
    let rows = |least| table(&|demand| demand.rows_min = Some(least));
    let columns = |names: &[&str]| {
        table(&|demand| demand.columns = names.iter().map(|name| (*name).into()).collect())
    };
    let two: &[u8] = b"date,cents\n1 May,3\n\"2, May\",\"4\"\n";
    let semicolon = table(&|demand| demand.delimiter = ';');
    check_files(&[
        (two, plain.clone(), True),
        (b"\xef\xbb\xbfdate,cents\r\n1,2\r\n", columns(&["date", "cents"]), True),
        (b"date,cents\n1\n", plain.clone(), False),
        (b"date,cents\n1,2,3\n", plain.clone(), False),
        (b"date,\n1,2\n", plain.clone(), False),
        (b"words\nmore words\n", plain.clone(), False),
        (b"date\n1\n", columns(&["date"]), True),
        (b"{\"date\": 1, \"cents\": 2}", plain.clone(), False),
        (b"<table>,<tr>\n<td>,<td>\n", plain.clone(), False),
        (b"date;cents\n1;2\n", plain.clone(), False),
        (b"date;cents\n1;2\n", semicolon.clone(), True),
        (two, semicolon, False),
        (two, rows(2), True),
        (two, rows(3), False),
        (two, columns(&["date", "cents"]), True),
        (two, columns(&["cents", "date"]), False),
        (two, columns(&["date"]), False),
        (two, columns(&["date", "Cents"]), False),
        (two, table(&|demand| demand.text = vec!["2, May".into()]), True),
        (two, table(&|demand| demand.text = vec!["May".into(), "June".into()]), False),
    ])
    .await;
}

#[tokio::test]
async fn elements_and_visible_text() {
    let page: &[u8] = b"<!DOCTYPE html><title>Till</title><main><h1>The <b>day</b></h1>\
        <p>Total:\n  12 <span style=\"display:none\">13</span></p><img alt=\"x\">\
        <script>var secret = 14;</script><p>a</p><p>b</p>\
        <div hidden><p hidden>15</p>16</div>one<div>two</div>th<b>re</b>e</main>";
    let demand = |change: &dyn Fn(&mut ArtifactCheck)| {
        let mut demand = keys("", Some(ArtifactFormat::Html));
        change(&mut demand);
        demand
    };
    let has = |selector: &str| demand(&|demand| demand.has = vec![selector.into()]);
    let lacks = |selector: &str| demand(&|demand| demand.lacks = vec![selector.into()]);
    let text = |pattern: &str| demand(&|demand| demand.text = vec![pattern.into()]);
    let svg: &[u8] = b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"><g>\
        <text>Sales</text><title>Hint</title></g></svg>";
    let picture = |change: &dyn Fn(&mut ArtifactCheck)| {
        let mut demand = keys("", Some(ArtifactFormat::Svg));
        change(&mut demand);
        demand
    };
    check_files(&[
        (page, has("main > h1"), True),
        (page, has("h2"), False),
        (page, has("p:nth-of-type(3)"), True),
        (page, lacks("img:not([alt])"), True),
        (page, lacks("img[alt]"), False),
        (page, lacks("h1, h2"), False),
        (page, has("p:::"), UNKNOWN),
        (page, text("^The day Total: 12 a b one two three$"), True),
        (page, text("13|14|15|16|Till"), False),
        (page, text("("), UNKNOWN),
        (svg, picture(&|demand| demand.has = vec!["svg text".into()]), True),
        (svg, picture(&|demand| demand.lacks = vec!["g".into()]), False),
        (svg, picture(&|demand| demand.text = vec!["Sales".into()]), True),
    ])
    .await;
}

fn alone(format: ArtifactFormat) -> ArtifactCheck {
    ArtifactCheck { self_contained: true, ..keys("", Some(format)) }
}

/// Parts of a page that are whole in themselves, and parts that need something else.
async fn check_alone(whole: &[&str], needy: &[&str]) {
    let page = |part: &&str| format!("<!DOCTYPE html><p>words</p>{part}").into_bytes();
    let (whole, needy): (Vec<_>, Vec<_>) =
        (whole.iter().map(page).collect(), needy.iter().map(page).collect());
    let mut cases: Vec<(&[u8], ArtifactCheck, Truth)> = Vec::new();
    cases.extend(whole.iter().map(|page| (page.as_slice(), alone(ArtifactFormat::Html), True)));
    cases.extend(needy.iter().map(|page| (page.as_slice(), alone(ArtifactFormat::Html), False)));
    check_files(&cases).await;
}

#[tokio::test]
async fn markup_that_needs_something_outside() {
    check_alone(
        &[
            "<img src=\"data:image/png;base64,AAAA\">",
            "<a href=\"https://example.org\">there</a><a href=\"#x\">x</a><a href=\"mailto:a@b\">m</a>",
            "<link rel=icon href=\"data:,\"><base target=_blank><form><input></form>",
            "<svg><use href=\"#a\"/><rect fill=\"url(#g)\"/></svg>",
            "<iframe srcdoc=\"&lt;p&gt;inner&lt;/p&gt;\"></iframe><iframe src=\"about:blank\"></iframe>",
            "<meta http-equiv=refresh content=\"30\"><meta name=x content=\"url\">",
            "<svg><rect><set attributeName=fill to=red /></rect></svg>",
            "<svg><use><set attributeName=href to=\"#a\"/></use></svg>",
            "<p data=\"x\">", "<p title=\"see (x)\">", "<p title=\"@import 'x.css'\">",
            "<meta http-equiv=refresh content=\"30; \">", "<!-- <img src=\"x.png\"> -->",
        ],
        &[
            "<img src=\"x.png\">", "<img src=\" //cdn.example.org/x.png\">", "<img SRC=x>",
            "<img srcset=\"data:,a 1x, b.png 2x\" src=\"data:,\">", "<video poster=p.png>",
            "<script src=\"https://cdn.example.org/x.js\"></script>", "<script src=app.js></script>",
            "<link rel=stylesheet href=\"style.css\">", "<link rel=icon href=i.png>",
            "<iframe src=\"other.html\"></iframe>", "<object data=\"x.pdf\"></object>",
            "<iframe srcdoc=\"&lt;img src=x.png&gt;\"></iframe>", "<embed src=x.pdf>",
            "<a href=\"other.html\">next</a>", "<a href=\"file:///x\">x</a>", "<area href=\"b.html\">",
            "<a href=\"javascript:fetch('x')\">x</a>", "<form action=\"https://example.org\"></form>",
            "<button formaction=\"/send\">", "<base href=\"https://example.org/\">",
            "<meta http-equiv=Refresh content=\"0; URL=x.html\">", "<body background=\"x.png\">",
            "<svg><image href=\"x.png\"/></svg>", "<svg><use xlink:href=\"x.svg#a\"/></svg>",
            "<svg><rect fill=\"url(https://example.org/p.svg#g)\"/></svg>",
            "<template><img src=\"x.png\"></template>", "<noscript><img src=x.png></noscript>",
            "<a ping=\"https://example.org\" href=\"#\">x</a>", "<img src=\"da\nta.png\">",
            "<meta http-equiv=refresh content=\"0; https://example.org/x\">",
            "<svg><image><set attributeName=href to=\"x.png\"/></image></svg>",
            "<svg><image><animate attributeName=\"xlink:href\" values=\"#a;x.png\"/></image></svg>",
        ],
    )
    .await;
}

#[tokio::test]
async fn styles_and_scripts_that_need_something_outside() {
    check_alone(
        &[
            "<style>p { background: url(data:image/png;base64,AA) } /* @import 'x' */</style>",
            "<style>p { background: url('#g'); content: \"url\" }</style>",
            "<style>p { background: image-set(\"data:,\" type(\"image/png\") 1x) }</style>",
            "<img srcset=\"data:image/png;base64,AAAA 1x, data:,b 2x\" alt=\"\">",
            "<script>document.title = 'x'; const ns = \"http://www.w3.org/2000/svg\";</script>",
            "<script>img.src = 'data:image/png;base64,AA'; img.src = make(); // fetches nothing\n</script>",
            "<script>const important = 'x'; a.href = '#' + id; prefetch(); load('a')</script>",
            "<script>el.innerHTML = `<img src=\"${own}\">`;</script>",
            "<button onclick=\"show()\">x</button>",
        ],
        &[
            "<style>@import \"x.css\";</style>", "<style>@import url(x.css);</style>",
            "<style>@\\69mport 'x.css';</style>", "<style>p { background: u\\72l(x.png) }</style>",
            "<style>@font-face { src: url( 'x.woff2' ) format('woff2') }</style>",
            "<style>p { background: image-set('x.png' 1x) }</style>",
            "<style>p { background: image-set('https://x.example/image/a.png' 1x) }</style>",
            "<img srcset=\"data:image/png;base64,AAAA 1x,b.png 2x\" alt=\"\">",
            "<p style=\"background: URL(//example.org/x.png)\">x</p>",
            "<script>fetch('data.json')</script>", "<script>window.fetch (u)</script>",
            "<script>new XMLHttpRequest()</script>", "<script>new WebSocket(u)</script>",
            "<script>navigator.sendBeacon(u)</script>", "<script>import('./x.js')</script>",
            "<script type=module>import { a } from './x.js'</script>",
            "<script type=module>import './x.js'</script>", "<script>new Worker(u)</script>",
            "<script type=module>export * from \"./x.js\"</script>",
            "<script>importScripts('x.js')</script>", "<script>i.src = 'x.png'</script>",
            "<script>s.setAttribute('src', 'x.js')</script>", "<p onclick=\"fetch('x')\">x</p>",
            "<script>el.innerHTML = '<img src=\"x.png\">'</script>",
            "<script>document.write('<script src=\\\"x.js\\\"><\\/script>')</script>",
            "<script>load('https://cdn.example.org/d3')</script>",
            "<script>load(\"//example.org/d3.min.js\")</script>",
            "<script>location.href = 'next.html'</script>",
            "<style>p { background: u\\rl(x.png) }</style>",
            "<script>fetch?.(\"https://example.org/api\")</script>",
            "<script>location = 'https://example.org/'</script>",
            "<script>window.open(\"//example.org/\")</script>",
            "<script>i[\"src\"] = `https://example.org/a`</script>",
        ],
    )
    .await;
    let svg = |inner: &str| {
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">{inner}</svg>")
            .into_bytes()
    };
    check_files(&[
        (
            &svg("<a href=\"https://example.org\"><text>x</text></a>"),
            alone(ArtifactFormat::Svg),
            True,
        ),
        (&svg("<image xlink:href=\"x.png\"/>"), alone(ArtifactFormat::Svg), False),
        (&svg("<style>@import 'x';</style>"), alone(ArtifactFormat::Svg), False),
    ])
    .await;
}

#[tokio::test]
async fn what_nobody_can_open_is_false() {
    let deep = [b"<!DOCTYPE html>words", "<div>".repeat(600).as_bytes()].concat();
    let steep = [b"<!DOCTYPE html>words", "<div>".repeat(1_500_000).as_bytes()].concat();
    let flat = [b"<!DOCTYPE html>words", "<p>x".repeat(600_000).as_bytes()].concat();
    let mut spread = b"<!DOCTYPE html>words<p>".to_vec();
    for at in 0..400 {
        spread.extend(format!("<b id={at}>").bytes());
    }
    spread.extend("<p>x".repeat(500_000).bytes());
    let large = vec![b'a'; (32 << 20) + 1];
    let laughs = b"<!DOCTYPE a [<!ENTITY b \"xxxxxxxxxx\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">\
        <!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\"><!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\">\
        <!ENTITY f \"&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;\"><!ENTITY g \"&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;\">\
        <!ENTITY h \"&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;\">]><a>&h;&h;</a>";
    let nested = ["[".repeat(100_000), "]".repeat(100_000)].concat();
    let zeros = vec![0; 257 << 20];
    let bomb = zip(&[("zeros", &zeros)]);
    let of = |format| keys("", Some(format));
    check_files(&[
        (&deep, of(ArtifactFormat::Html), False),
        (&steep, of(ArtifactFormat::Html), False),
        (&flat, of(ArtifactFormat::Html), False),
        (&spread, of(ArtifactFormat::Html), False),
        (&large, of(ArtifactFormat::Text), False),
        (&laughs[..], of(ArtifactFormat::Xml), False),
        (nested.as_bytes(), of(ArtifactFormat::Json), False),
        (&bomb, of(ArtifactFormat::Zip), False),
    ])
    .await;
}

#[tokio::test]
async fn every_file_that_fits_counts_and_one_must() {
    let staged = simulated_with_files(&[
        ("out/a.html", PAGE),
        ("out/b.html", b"words"),
        ("out/a.json", b"{}"),
    ])
    .await;
    let html = |path: &str| CheckKind::Artifact(keys(path, Some(ArtifactFormat::Html)));
    staged.check(html("out/a.html"), True).await;
    staged.check(html("out/*.html"), False).await;
    staged.check(html("out/c.html"), False).await;
    let stage = Stage::new().await;
    let local = stage.after(&["echo '<p>words</p>' > a.html; ln -s a.html b.html"]).await;
    local.check(html("a.html"), True).await;
    local.check(html("b.html"), False).await;
}

async fn check_start(staged: &Staged, argv: &[&str], prints: Option<&str>, expect: Truth) {
    let runs = argv.iter().map(|arg| (*arg).into()).collect();
    let prints = prints.map(Into::into);
    let demand = ArtifactCheck { runs, prints, ..keys("out/**", None) };
    staged.check(CheckKind::Artifact(demand), expect).await;
}

#[tokio::test]
async fn programs_start_where_there_is_little_but_a_shell() {
    let stage = Stage::new().await;
    let script = |text: &str| format!("#!/bin/sh\nset -e\n{text}\n").into_bytes();
    let (hello, list) = (script("echo hello"), script("ls /app/out | sort | awk '{ print $1 }'"));
    let compiles = script("cc --version || gcc --version");
    let (by_env, by_path) = (
        b"#!/usr/bin/env python3\nprint(1)\n".to_vec(),
        b"#!/usr/bin/python3\nprint(1)\n".to_vec(),
    );
    let (left, git) = (script("cat /app/left.txt"), script("git --version"));
    let (listens, variables) = (
        script("test -z \"$(ls /sys/class/net | grep -v lo)\""),
        script("test -z \"$SECRET\"; env"),
    );
    let pretends = script("exit 125");
    let files: Vec<(&str, &[u8])> = vec![
        ("out/hello", &hello),
        ("out/list", &list),
        ("out/compiles", &compiles),
        ("out/env.py", &by_env),
        ("out/path.py", &by_path),
        ("out/left", &left),
        ("out/git", &git),
        ("out/net", &listens),
        ("out/variables", &variables),
        ("out/pretends", &pretends),
        ("left.txt", b"left beside it"),
    ];
    let staged = stage.with_files(&files).await;
    check_start(&staged, &["out/hello"], Some("^hello$"), True).await;
    check_start(&staged, &["out/hello"], Some("^good day"), False).await;
    check_start(&staged, &["out/hello"], Some("("), UNKNOWN).await;
    check_start(&staged, &["sh", "out/list"], Some("hello\nleft\nlist"), True).await;
    check_start(&staged, &["out/nothing"], None, False).await;
    check_start(&staged, &["out/compiles"], None, False).await;
    check_start(&staged, &["out/env.py"], None, False).await;
    check_start(&staged, &["out/path.py"], None, False).await;
    check_start(&staged, &["python3", "out/env.py"], Some("1"), True).await;
    check_start(&staged, &["out/left"], None, False).await;
    check_start(&staged, &["out/git"], None, False).await;
    check_start(&staged, &["out/net"], None, True).await;
    check_start(&staged, &["out/variables"], Some("HOME=/nonexistent"), True).await;
    check_start(&staged, &["out/pretends"], None, False).await;
    check_start(&staged, &["sh", "-c", "kill -9 $$"], None, False).await;
    let much = "head -c 3000 /bin/sh | tr -c x a";
    check_start(&staged, &["sh", "-c", much], Some("^[ax]{3000}$"), True).await;
    let demand = ArtifactCheck {
        runs: vec!["sleep".into(), "30".into()],
        timeout_sec: 1,
        ..keys("out/hello", None)
    };
    staged.check(CheckKind::Artifact(demand), False).await;
    // A state is only looked at: what one start leaves, the next does not find.
    check_start(&staged, &["sh", "-c", "test ! -e out/new; touch out/new"], None, True).await;
    check_start(&staged, &["sh", "-c", "test ! -e out/new"], None, True).await;
}

#[tokio::test]
async fn depth_is_measured_everywhere() {
    let nested = |depth: usize| "<div>".repeat(depth) + "words" + &"</div>".repeat(depth);
    let page = |body: &str| format!("<!DOCTYPE html><body>{body}<p>end</p>").into_bytes();
    let inner = |body: &str| page(&format!("<iframe srcdoc=\"{body}\"></iframe>"));
    let mut framed = "words".to_owned();
    for _ in 0..6 {
        let escaped = framed.replace('&', "&amp;").replace('"', "&quot;");
        framed = format!("<iframe srcdoc=\"{escaped}\"></iframe>");
    }
    let opens = || keys("", Some(ArtifactFormat::Html));
    check_files(&[
        (&page(&nested(300)), opens(), True),
        // The page itself is three deep.
        (&page(&nested(509)), opens(), True),
        (&page(&nested(510)), opens(), False),
        // The last node lies high again within the same piece.
        (&page(&("<b>".repeat(600) + &"</b>".repeat(600))), opens(), False),
        (&inner(&nested(300)), alone(ArtifactFormat::Html), True),
        (&inner(&nested(600)), alone(ArtifactFormat::Html), False),
        (&page(&framed), alone(ArtifactFormat::Html), False),
    ])
    .await;
}
