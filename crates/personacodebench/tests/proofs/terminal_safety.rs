//! What an agent says is shown and never obeyed: no control character of a session reaches the terminal.

use crate::bench::Bench;

const SCRIPT: &str = r#"
[[on]]
when = "opening"
do   = [
  { run = "printf 'ran \\033[2J\\a\\n'" },
  { write = { path = "odd\u001b[31m", text = "x" } },
  { say = "Red \u001b[31mtext\u001b[0m, a title \u001b]0;mine\u0007, back\b\b, \u202ereversed\u202c, C1 \u009b1m. The work is done." },
]

[[on]]
when = "otherwise"
do   = [{ say = "Carriage\rreturn. The work is done." }]
"#;

#[test]
fn control_characters_never_reach_the_terminal() {
    let bench = Bench::new();
    let agent = bench.write("odd.toml", SCRIPT);
    let group = bench.tiny(&[agent.to_str().expect("a plain path")], &[]);
    let run = group.join("odd");
    let told = bench.expect(0, &["show", run.to_str().expect("a plain path"), "caretaker--greet"]);
    assert!(told.stdout.contains("Red"), "{}", told.stdout);
    assert!(told.stdout.contains("odd"), "{}", told.stdout);
    let table = bench.expect(0, &["report", run.to_str().expect("a plain path")]);
    for (what, text) in [("the story", &told.stdout), ("the table", &table.stdout)] {
        let odd: Vec<char> = text
            .chars()
            .filter(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c))
            .collect();
        assert!(odd.is_empty(), "{what} holds {odd:?}");
    }
}
