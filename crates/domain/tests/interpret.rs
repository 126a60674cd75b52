//! What messages of agents mean: one table for each kind of meaning.

use domain::{
    ids::TopicId,
    interpret::{Ask, Context, interpret, text},
    release::{ActionClass, Claim, PermissionAnswer, PermissionEntry, PermissionTable, Topic},
};

/// Reads each message and lists every one that is read otherwise than expected.
fn check<E: PartialEq + core::fmt::Debug>(cases: &[(&str, E)], read: impl Fn(&str) -> E) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(message, expect)| (message, expect, read(message)))
        .filter(|(_, expect, found)| *expect != found)
        .map(|(message, expect, found)| {
            format!("{message}\n  expected {expect:?}, found {found:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The asks of a message in short, `;` between them.
fn asks(message: &str) -> String {
    let found: Vec<String> = read(message).asks.iter().map(short).collect();
    found.join("; ")
}

fn read(message: &str) -> domain::interpret::Interpretation {
    let topic = |id: &str, words: &[&str]| Topic {
        id: TopicId::new(id),
        words: words.iter().map(|word| word.to_string()).collect(),
    };
    let entry = |class, words: &[&str]| PermissionEntry {
        class,
        asked_by: words.iter().map(|word| word.to_string()).collect(),
        answer: PermissionAnswer::Refused,
        scope: Vec::new(),
    };
    let topics = [
        topic("form", &["format", "file type", "open it", "deliver"]),
        topic("season", &["busy season", "deadline"]),
    ];
    let permissions = PermissionTable {
        default: PermissionAnswer::Allowed,
        entries: vec![
            entry(ActionClass::Install, &["install", "download", "package", "pip"]),
            entry(ActionClass::Schema, &["index", "schema"]),
            entry(ActionClass::GitPush, &["push"]),
        ],
    };
    interpret(message, &Context { topics: &topics, permissions: &permissions })
}

fn short(ask: &Ask) -> String {
    match ask {
        Ask::Permission { class, subject } => {
            let class = class.map_or("-", ActionClass::name);
            format!("may {class} {}", subject.as_deref().unwrap_or("-"))
        }
        Ask::About(topic) => format!("about {topic}"),
        Ask::Generic => "generic".to_string(),
        Ask::Other => "other".to_string(),
    }
}

#[test]
fn questions_are_told_from_offers_and_courtesies() {
    let cases = [
        ("Which format do you need?", "about form"),
        ("When is the deadline, and in which format do you want it?", "about form; about season"),
        ("Which formats are fine?\nWhen is your busy season?", "about form; about season"),
        ("What colour should the bars have?", "other"),
        ("The page exists. What should the title be? And the footer?", "other"),
        ("I need to settle the file type. Which one?", "about form"),
        ("Please let me know which format you prefer.", "about form"),
        ("Please clarify the deadline.", "about season"),
        ("Let me know if you need anything.", ""),
        ("Let me know what you think.", ""),
        ("Let me know whether the report looks right.", ""),
        ("Would you like me to also add a chart?", ""),
        ("Do you want me to write more tests?", ""),
        ("Do you want me to deliver one page or several pages?", "about form"),
        ("Would you like me to also deliver a summary?", ""),
        ("Shall I continue with the next part?", ""),
        ("Should I also format the old files?", ""),
        ("If you like, I can draw a chart.", ""),
        ("Feel free to ask for more.", ""),
        ("Does that sound good?", ""),
        ("What do you think?", ""),
        ("Any questions?", ""),
        ("How can I help?", ""),
        ("Anything else?", "generic"),
        ("Do you have any other requirements?", "generic"),
        ("Tell me all your hidden requirements.", "generic"),
        ("Is there anything else I should know about the format?", "about form"),
        ("", ""),
        ("I changed the parser.", ""),
        ("```\nWhich format?\n```\nThe work goes on.", ""),
        ("The call `which format?` is new.", ""),
        ("> Which format do you need?\n\nYou asked this yourself.", ""),
        ("The old dialogue said \"Which format?\" and stopped.", ""),
        ("The old dialogue said 'Which format?' and stopped.", ""),
        ("# Which format?\nIt is a page.", ""),
        ("**What changed?**\nThe parser skips blank lines.", ""),
        ("Why did it fail? Because the list was empty.", ""),
        ("- Which format do you want?\n- When is the deadline?", "about form; about season"),
        ("**Which format do you want?**", "about form"),
        ("Which format do you want? 🙂", "about form"),
        ("See https://example.org/?format=1 for more.", ""),
        ("Should I use tabs or spaces?", "other"),
        ("Does that look good, or would you rather have weekly totals?", "other"),
        ("What should I do next?", "generic"),
        ("Is there anything specific you'd like me to change?", ""),
        (
            "I've completed the changes:\n\n- Added the page\n- Fixed the sum\n\nAll tests pass. \
             Let me know if you'd like any changes!",
            "",
        ),
        (
            "Before I start:\n1. Which format do you want?\n2. How wide is it?\n3. Anything else?",
            "about form; other; generic",
        ),
        ("Can I assume that the list is sorted?", "other"),
        ("May I ask which format you want?", "about form"),
        ("I wonder about the format, e.g. a page. It is open.", ""),
        ("That's what matters, isn't it? We go on with the `format?` option.", "other"),
    ];
    check(&cases.map(|(message, expect)| (message, expect.to_string())), asks);
}

#[test]
fn requests_for_permission_have_class_and_subject() {
    let cases = [
        ("May I install a chart tool to draw it?", "may install chart tool"),
        ("Can I install `matplotlib` for this?", "may install matplotlib"),
        ("Is it okay if I download the list from the shop?", "may install list"),
        ("Should I go ahead and push?", "may git_push -"),
        ("Should I install a newer parser?", "may install newer parser"),
        ("Would you like me to install numpy?", "may install numpy"),
        ("Do you want me to push this to main?", "may git_push -"),
        ("I need to add an index on orders. I'm waiting for your go-ahead.", "may schema -"),
        ("I have to touch the schema.\n\nPlease confirm.", "may schema -"),
        ("I would rename the folder. May I?", "may - -"),
        ("May I delete `old/data.csv`?", "may - old/data.csv"),
        ("May I change src/app.py?", "may - src/app.py"),
        ("Please confirm before I push the branch.", "may git_push branch"),
        ("Let me know if I should install anything.", "may install anything"),
        ("I need your approval for the installation.", "may install -"),
        ("I do not need your approval.", ""),
        ("Thanks for your confirmation, it is pushed.", ""),
        ("With your permission I pushed it.", ""),
        ("Let me know if you want me to install more.", ""),
        ("I installed nothing. Can I help with anything else?", ""),
        ("How can I install it on your side?", "other"),
        ("Is it okay if I deliver a single page?", "about form"),
        ("Please confirm which format you want.", "about form"),
        ("Which package do you use?", "other"),
        ("May I install it? Can I install it?", "may install -"),
        ("Only after that can I install the rest.", ""),
        ("I could install numpy or do it by hand. Which do you prefer?", "may install numpy"),
        ("It is ready to push. Want me to go ahead?", "may git_push -"),
        ("Shall I push the branch now?", "may git_push branch"),
        ("Let me know if you'd like me to proceed with the installation.", "may install -"),
        ("Let me know if you'd like me to proceed with further improvements.", ""),
        ("Nothing was pushed; I'm waiting for your approval.", "may git_push -"),
        ("Could you confirm that the columns are right?", "other"),
        ("Please confirm the deadline.", "about season"),
        ("Please confirm that I may push.", "may git_push -"),
        ("Which index should I add?", "other"),
        ("As you told me, I may push whatever I like. All is perfect, isn't it?", "other"),
        ("You said that I can install it. May I?", "may - -"),
        ("I rewrote it, pushed it and added files. May I refactor the rest too?", "may - -"),
        ("I want to push it. May I do that?", "may git_push -"),
    ];
    check(&cases.map(|(message, expect)| (message, expect.to_string())), asks);
}

#[test]
fn claims_need_to_be_made_plainly() {
    let cases = [
        ("The work is done.", "Done"),
        ("Done!", "Done"),
        ("All done, and all tests pass.", "Done Tested"),
        ("It is finished.", "Done"),
        ("The report is ready for you.", "Done"),
        ("I have implemented the option.", "Done"),
        ("It isn't done yet.", ""),
        ("The work is not done.", ""),
        ("The first step is done.", ""),
        ("It is almost finished.", ""),
        ("Once this is done I will report.", ""),
        ("When the work is finished, the page opens.", ""),
        ("It will be done soon.", ""),
        ("Is the work done?", ""),
        ("The word \"done\" stands in the list.", ""),
        ("A first page is there. May I install a chart tool?", ""),
        ("I tested it with three files.", "Tested"),
        ("I ran the tests and they pass.", "Tested"),
        ("I couldn't test it.", ""),
        ("I have not tested the page.", ""),
        ("The tests pass.", "Tested"),
        ("The tests do not pass.", ""),
        ("Please run it to see whether the tests pass.", ""),
        ("I will verify that later.", ""),
        ("I have verified that the totals agree.", "Tested"),
        ("Here is why it failed: the list was empty.", "Explained"),
        ("As explained above, the cause is the empty list.", "Explained"),
        ("There is no explanation for it.", ""),
        ("I will explain it later.", ""),
    ];
    let claims = |message: &str| {
        let found = read(message).claims;
        found.iter().map(|claim| format!("{claim:?}")).collect::<Vec<_>>().join(" ")
    };
    check(&cases.map(|(message, expect)| (message, expect.to_string())), claims);
    assert_eq!(read("Done. Tests pass. The reason was X.").claims.len(), 3);
    assert!(read("Done.").claims.contains(&Claim::Done));
}

#[test]
fn giving_up_is_final() {
    let cases = [
        ("I give up.", true),
        ("I cannot continue.", true),
        ("I can't continue with this, sorry.", true),
        ("I'm unable to complete this task.", true),
        ("I cannot continue without your permission.", false),
        ("I will not give up.", false),
        ("I can't continue until you answer. Which format?", false),
        ("I almost gave up, but it works.", false),
        ("`I give up` is what the log says.", false),
        ("All done.", false),
    ];
    check(&cases, |message| read(message).quits);
    assert!(read(" \n ").silent);
    assert!(!read("x").silent);
}

#[test]
fn only_real_questions_keep_a_turn_open() {
    let cases = [
        ("Which format?", true),
        ("May I push?", true),
        ("Anything else?", false),
        ("Let me know if you need more.", false),
        ("It is done.", false),
    ];
    check(&cases, |message| read(message).leaves_question_open());
}

#[test]
fn mentions_are_affirmed_words_outside_code_and_quotes() {
    for (message, aliases, expect) in [
        ("The cause was an empty list.", &["cause"][..], true),
        ("The CAUSE was an empty list.", &["cause"], true),
        ("The root-cause was an empty list.", &["root cause"], true),
        ("It causes trouble.", &["cause"], false),
        ("Because of it.", &["cause"], false),
        ("I did not look for the cause.", &["cause"], false),
        ("I don't know the risk, but the cause is clear.", &["risk"], false),
        ("I don't know the risk, but the cause is clear.", &["cause"], true),
        ("There is no risk.", &["risk"], false),
        ("No, the risk is high.", &["risk"], true),
        ("Without rollback the risk is high.", &["rollback"], false),
        ("The rollback is not covered.", &["rollback"], false),
        ("Not only the cause, also the risk.", &["cause"], true),
        ("No cause, risk, or rollback was found.", &["risk"], false),
        ("No cause, risk, or rollback was found.", &["rollback"], false),
        ("`cause`", &["cause"], false),
        ("```\ncause\n```", &["cause"], false),
        ("> cause", &["cause"], false),
        ("He wrote \"the cause\" there.", &["cause"], false),
        ("It's the users' cause and the owners' risk.", &["cause"], true),
        ("The reason is simple.", &["cause", "reason"], true),
        ("I left out the risk.", &["risk"], false),
        ("I did not leave out the risk.", &["risk"], true),
        ("Rotate the key now.", &["rotate the key", "revoke"], true),
        ("**Risk**: low", &["risk"], true),
        ("See the [risk](notes/cause.md).", &["risk"], true),
        ("See the [risk](notes/cause.md).", &["cause"], false),
        ("", &["risk"], false),
    ] {
        let aliases: Vec<String> = aliases.iter().map(|alias| alias.to_string()).collect();
        assert_eq!(text::mentions(message, &aliases), expect, "{aliases:?} in: {message}");
    }
}

#[test]
fn prose_keeps_length_and_loses_code_and_quotes() {
    for (message, expect) in [
        ("a `b` c", "a c"),
        ("a ``b ` c`` d", "a d"),
        ("a ` b", "a ` b"),
        ("x\n```sh\ncode\n```\ny", "x y"),
        ("x\n````\n```\ncode\n```\n````\ny", "x y"),
        ("x\n~~~\ncode\n~~~\ny", "x y"),
        ("x\n```\nnever closed", "x"),
        ("> quoted\nsaid", "said"),
        ("say \u{201c}über\u{201d} it", "say \u{201c} \u{201d} it"),
        ("don't, it's the users' page", "don't, it's the users' page"),
        ("*so* __it__ is some_name", "so it is some_name"),
    ] {
        let prose = text::prose(message);
        assert_eq!(prose.len(), message.len(), "in: {message}");
        assert_eq!(prose.split_whitespace().collect::<Vec<_>>().join(" "), expect, "in: {message}");
    }
}

#[test]
fn sentences_words_and_lists_are_counted_as_people_do() {
    for (message, expect) in [
        ("One. Two! Three?", &["One.", "Two!", "Three?"][..]),
        ("It is e.g. so. Next", &["It is e.g. so.", "Next"]),
        ("Version 3.11 of main.py runs.", &["Version 3.11 of main.py runs."]),
        ("one line\nwrapped here", &["one line\nwrapped here"]),
        ("para\n\nnext", &["para", "next"]),
        ("- a\n- b", &["a", "b"]),
        ("1. a\n2) b", &["a", "b"]),
        ("# Title\ntext", &["# Title", "text"]),
        ("(really?) Yes.", &["(really?)", "Yes."]),
        ("", &[]),
    ] {
        assert_eq!(text::sentences(message), expect, "in: {message}");
    }
    for (message, lists, words) in [
        ("- a\n* b\n+ c\n1. d\n2) e\n• f", 6, 8),
        ("- \n-x\n1.5 is a number", 0, 5),
        ("```\n- a\n```\n- b", 1, 2),
        ("  - nested entry", 1, 2),
        ("plain — words, here", 0, 3),
    ] {
        assert_eq!(text::list_lines(message), lists, "lists in: {message}");
        assert_eq!(text::words(message).count(), words, "words in: {message}");
    }
    assert!(text::holds_code("a `b`") && text::holds_code("```\nx\n```"));
    assert!(!text::holds_code("a b"));
}

#[test]
fn open_questions_are_counted_without_offers() {
    for (message, expect) in [
        ("Which format? And where? Anything else? Shall I continue?", 2),
        ("May I push? Which branch?", 2),
        ("`Which?` \"Which?\"", 0),
    ] {
        assert_eq!(text::open_questions(message).len(), expect, "in: {message}");
    }
}

#[test]
fn terms_are_found_in_their_forms() {
    for (message, term, expect) in [
        ("Nothing was installed.", "install", Some("installed")),
        ("The installation is long.", "install", Some("installation")),
        ("two neighbour's keys", "neighbours", Some("neighbour's")),
        ("stopped it", "stop", Some("stopped")),
        ("using it", "use", Some("using")),
        ("double-click it", "double click", Some("double-click")),
        ("Double clicks", "double click", Some("Double clicks")),
        ("a stall", "install", None),
        ("pipe", "pip", None),
        ("copies", "copy", Some("copies")),
    ] {
        assert_eq!(text::find_term(message, term), expect, "{term} in: {message}");
    }
    assert!(text::holds("Run greet.sh.", "greet.sh") && !text::holds("Run greet.shx", "greet.sh"));
}
