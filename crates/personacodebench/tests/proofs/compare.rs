//! `pcb compare` and `pcb power` as a user meets them.

use crate::bench::Bench;

#[test]
fn runs_are_compared_from_their_logs() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "eager", "nop"], &["--repeats", "2"]);
    let runs = ["oracle", "eager", "nop"].map(|run| group.join(run).display().to_string());
    let compare = |more: &[&str]| {
        let words = ["compare", &runs[0], &runs[1], &runs[2]];
        bench.expect(0, &[&words[..], more].concat()).stdout
    };
    let json = compare(&["--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["comparisons"].as_array().expect("comparisons").len(), 3);
    assert_eq!(found["rows"][0]["passed"]["count"], 2);
    let cells = &found["flips"][0]["cells"];
    assert_eq!(cells[0]["reasons"].as_array().expect("reasons").len(), 0);
    // What is completed and not personalized says which requirement is missing.
    let eager = cells[1]["reasons"][0].as_str().expect("a reason");
    assert_eq!(eager, "agent stopped: usage_note");
    let table = compare(&["--with-first"]);
    for part in ["oracle − eager", "What flipped", "Holm", "caretaker--greet"] {
        assert!(table.contains(part), "{table}");
    }
    // The same logs give the same figures, drawn ones too.
    assert_eq!(compare(&["--format", "json"]), json);
}

#[test]
fn what_differs_is_refused_by_name_and_with_the_remedy() {
    let bench = Bench::new();
    let one = bench.tiny(&["oracle"], &[]);
    let other = bench.tiny(&["oracle"], &["--arm", "no-persona"]);
    let [one, other] = [&one, &other].map(|path| path.to_str().expect("a plain path"));
    let refused = bench.expect(2, &["compare", one, other]).stderr;
    assert!(refused.contains("arm (no-persona, progressive)"), "{refused}");
    assert!(refused.contains("--despite arm"), "{refused}");
    let table = bench.expect(0, &["compare", one, other, "--despite", "arm"]).stdout;
    assert!(table.contains("differ in arm"), "{table}");
    let alone = bench.expect(2, &["compare", one]).stderr;
    assert!(alone.contains("at least two runs"), "{alone}");
}

#[test]
fn power_says_what_pairs_can_show() {
    let bench = Bench::new();
    let table = bench.expect(0, &["power", "--pairs", "100"]).stdout;
    for figure in ["0.54", "0.37", "0.30", "±8.8 points"] {
        assert!(table.contains(figure), "{table}");
    }
    let json = bench.expect(
        0,
        &["power", "--pairs", "20", "--discordant", "10", "--points", "20", "--format", "json"],
    );
    assert!(json.stdout.contains("\"power\": null"), "{}", json.stdout);
    let refused = bench.expect(2, &["power", "--pairs", "20", "--points", "120"]).stderr;
    assert!(refused.contains("--points 120"), "{refused}");
    bench.expect(2, &["power", "--pairs", "0"]);
}
