//! Bounds of what is read: what lies just within them is looked at, what lies just beyond counts as no answer.

use domain::{
    acceptance::Truth::{self, False, True},
    release::{ArtifactFormat, Cell, CheckKind, QueryAnswer},
};

use crate::{
    UNKNOWN,
    artifacts::{check_files, database, keys, zip},
    databases::{answers, is, same_as_base},
    stage::{Stage, simulated_with_files},
};

#[tokio::test]
async fn documents() {
    let of = |format| keys("", Some(format));
    let text = |bytes: usize| vec![b'a'; bytes];
    let document = |open: &str, bytes: usize, close: &str| {
        let inner = "x".repeat(bytes - open.len() - close.len());
        format!("{open}{inner}{close}").into_bytes()
    };
    let xml = |bytes| document("<a>", bytes, "</a>");
    let page = |bytes| document("<p>", bytes, "</p>");
    let elements = |count: usize| format!("<a>{}</a>", "<b/>".repeat(count)).into_bytes();
    // Six more are the document, its root, head and body, and a paragraph with its text.
    let nodes = |count: usize| format!("<p>x{}", "<hr>".repeat(count)).into_bytes();
    let members = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| at.to_string()).collect();
        zip(&names.iter().map(|name| (name.as_str(), &b""[..])).collect::<Vec<_>>())
    };
    check_files(&[
        (&text(32 << 20), of(ArtifactFormat::Text), True),
        (&xml(8 << 20), of(ArtifactFormat::Xml), True),
        (&xml((8 << 20) + 1), of(ArtifactFormat::Xml), False),
        (&xml(9 << 20), of(ArtifactFormat::Xml), False),
        (&elements(999_998), of(ArtifactFormat::Xml), True),
        (&elements(1_000_000), of(ArtifactFormat::Xml), False),
        (&page(8 << 20), of(ArtifactFormat::Html), True),
        (&page((8 << 20) + 1), of(ArtifactFormat::Html), False),
        (&nodes(999_994), of(ArtifactFormat::Html), True),
        (&nodes(999_995), of(ArtifactFormat::Html), False),
        (&members(20_000), of(ArtifactFormat::Zip), True),
        (&members(20_001), of(ArtifactFormat::Zip), False),
    ])
    .await;
}

#[tokio::test]
async fn databases() {
    const MIB: usize = 1 << 20;
    let padded = |bytes: usize| {
        let mut file = database();
        file.resize(bytes, 0);
        file
    };
    // What follows a database's last page is nobody's, and so is a log that does not begin as one.
    for (bytes, log, expect) in [
        (256 * MIB, 0, True),
        (256 * MIB + 1, 0, False),
        (200 * MIB, 56 * MIB, True),
        (200 * MIB, 57 * MIB, False),
    ] {
        let (file, log) = (padded(bytes), vec![0; log]);
        let mut files: Vec<(&str, &[u8])> = vec![("x.db", &file)];
        if !log.is_empty() {
            files.push(("x.db-wal", &log));
        }
        let staged = simulated_with_files(&files).await;
        let one = QueryAnswer::Is(vec![vec![Cell::Integer(1)]]);
        let (found, witness) = staged.read(&answers("x.db", "SELECT a FROM t", one), None).await;
        assert_eq!(found, expect, "{bytes} bytes with a log of {}: {witness}", log.len());
    }
}

/// What an endless row of numbers is cut to, and something made of each.
fn numbers(count: usize, of_each: &str) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count}) \
         SELECT {of_each} FROM n"
    )
}

#[tokio::test]
async fn answers_of_databases() {
    const HALF_MIB: usize = 1 << 19;
    let stage = Stage::new().await;
    let staged = stage.after(&["true"]).await;
    let rows = |count: i64| QueryAnswer::Is((1..=count).map(|i| vec![Cell::Integer(i)]).collect());
    let letters = |count: usize| {
        let cell = Cell::Text("a".repeat(HALF_MIB));
        QueryAnswer::Is(vec![vec![cell]; count])
    };
    let text = format!("printf('%.*c', {HALF_MIB}, 'a')");
    let bytes = format!("zeroblob({HALF_MIB})");
    let asked = |sql: String, answer| answers("/data/till.db", &sql, answer);
    let cases: [(CheckKind, Truth); 9] = [
        (asked(numbers(10_000, "i"), rows(10_000)), True),
        (asked(numbers(10_001, "i"), rows(10_001)), False),
        (asked(numbers(10_002, "i"), rows(10_002)), False),
        (asked(numbers(32, &text), letters(32)), True),
        (asked(numbers(33, &text), letters(33)), False),
        (same_as_base(&numbers(32, &bytes)), True),
        (same_as_base(&numbers(33, &bytes)), UNKNOWN),
        // Long, and far from too long.
        (is(&numbers(20_000, "max(i)"), &[&[Cell::Integer(20_000)]]), True),
        (is(&numbers(20_000, "max(i)"), &[&[Cell::Integer(20_001)]]), False),
    ];
    for (kind, expect) in cases {
        let (found, witness) = staged.read(&kind, None).await;
        let CheckKind::Db(demand) = &kind else { panic!("a database") };
        assert_eq!(found, expect, "{:?}: {witness}", demand.query.as_ref().map(|query| &query.sql));
    }
}
