//! Lints: each spoils one thing of a clean release and names the notes that must follow.

use domain::{
    ids::*,
    release::{
        lint::{NotePath, Severity, lint},
        *,
    },
};

use crate::build::*;

/// Spoils the clean release and compares all notes, one a line.
fn check(spoil: impl FnOnce(&mut Release), expect: &[&str]) {
    let mut release = release();
    spoil(&mut release);
    let notes = lint(&release);
    let shown: Vec<String> = notes
        .iter()
        .map(|note| {
            assert!(!note.remedy.is_empty(), "{note:?}");
            let mark = if note.severity == Severity::Warning { "warning: " } else { "" };
            format!("{mark}{}: {}", place(&note.path), note.message)
        })
        .collect();
    assert_eq!(shown, expect);
}

fn place(path: &NotePath) -> String {
    match path {
        NotePath::Release(key) => format!("release {key}"),
        NotePath::Persona(id, key) => format!("{id} {key}"),
        NotePath::Task(id, key) => format!("task {id} {key}"),
        NotePath::Pair(id, key) => format!("pair {id} {key}"),
        NotePath::Check(pair, id, key) => format!("{pair}/check {id} {key}"),
        NotePath::Requirement(pair, id, key) => format!("{pair}/{id} {key}"),
    }
}

/// As `check`, spoiling the first requirement.
fn check_note(spoil: impl FnOnce(&mut Requirement), expect: &[&str]) {
    check(|release| spoil(&mut house(release).requirements[0]), expect);
}

fn check_when(when: Condition, expect: &[&str]) {
    check_note(|note| note.tell.when = when, expect);
}

/// As `check`, with an acceptance beside those that are there.
fn check_holds(kind: CheckKind, holds: impl FnOnce(CheckId) -> Expr, expect: &[&str]) {
    check(
        |release| {
            let pair = house(release);
            pair.checks.push(crate::build::check("extra", kind));
            pair.budget.turns = Some(9);
            pair.requirements.push(requirement("more", "lantern", holds(id("extra"))));
            pair.counterexamples.push(crate::build::saboteur("more"));
        },
        expect,
    );
}

#[test]
fn the_clean_release_is_clean() {
    check(|_| {}, &[]);
}

#[test]
fn words_that_are_still_to_be_written_are_errors() {
    let unwritten = |place: &str, word: &str| {
        format!("{place}: `{word}` stands where words are still to be written")
    };
    let check_because = |text: &str, word: Option<&str>| {
        let expect: Vec<String> =
            word.iter().map(|word| unwritten("house/note because", word)).collect();
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        check_note(|note| note.because = text.into(), &expect);
    };
    check_because("TODO: say why", Some("TODO"));
    check_because("the reason is TBD.", Some("TBD"));
    check_because(" … ", Some("…"));
    check_because("...", Some("..."));
    check_because("she writes TODOS and a todo list, and then …", None);
    check_note(
        |note| note.feedback.restate[1].push_str(" XXX"),
        &[&unwritten("house/note feedback.restate.1", "XXX")],
    );
}

#[test]
fn an_unknown_check_is_answered_with_the_nearest_name() {
    let check_remedy = |unknown: &str, expect: &str| {
        let mut release = crate::build::release();
        let note = &mut house(&mut release).requirements[0];
        note.pass.applies_if = Some(Expr::Eventually(id(unknown)));
        let notes = lint(&release);
        let remedies: Vec<&str> = notes.iter().map(|note| note.remedy.as_str()).collect();
        assert!(remedies.iter().any(|remedy| remedy.starts_with(expect)), "{remedies:?}");
    };
    let known = house(&mut crate::build::release()).checks[0].id.to_string();
    check_remedy(&format!("{known}x"), &format!("did you mean `{known}`?"));
    check_remedy("entirely_different_thing", "known here: `");
}

#[test]
fn every_mandatory_requirement_has_a_saboteur() {
    let unproved = ["house/quiet id: no saboteur shows that it can fail"];
    check(|release| drop(house(release).counterexamples.pop()), &unproved);
    check(|release| house(release).counterexamples[1].kind = CounterexampleKind::Liar, &unproved);
    let optional = |release: &mut Release| {
        let pair = house(release);
        pair.counterexamples.pop();
        pair.requirements[1].mandatory = false;
    };
    check(optional, &[]);
}

#[test]
fn names_and_references() {
    check(|release| release.id = ReleaseId::new("Tiny"), &["release id: `Tiny` is no id"]);
    check(|release| release.version = " ".into(), &["release version: the version is empty"]);
    check(|release| release.canary = String::new(), &["release canary: the canary is empty"]);
    check(
        |release| {
            release.personas.remove(&PersonaId::new("neutral"));
        },
        &[
            "release : there is no persona `neutral`",
            "pair house : the pair cannot be run in the arm `neutral-turns`: the release has no \
             persona neutral",
            "pair house : the pair cannot be run in the arm `no-persona`: the release has no \
             persona neutral",
        ],
    );
    check(
        |release| release.pairs.clear(),
        &[
            "release : the release has no pair",
            "warning: caretaker.v1 : no pair uses this persona",
            "warning: task greet : no pair uses this task",
        ],
    );
    check(
        |release| house(release).persona = PersonaId::new("nobody"),
        &[
            "warning: caretaker.v1 : no pair uses this persona",
            "pair house persona: there is no persona `nobody`",
        ],
    );
    check(
        |release| house(release).task = TaskId::new("nothing"),
        &[
            "warning: task greet : no pair uses this task",
            "pair house task: there is no task `nothing`",
        ],
    );
    check(
        |release| house(release).persona = PersonaId::new("neutral"),
        &[
            "warning: caretaker.v1 : no pair uses this persona",
            "pair house persona: the neutral persona has no requirements to tell",
        ],
    );
    check(
        |release| house(release).environment.sandboxes.push("vm".into()),
        &["pair house environment.sandboxes.1: there is no sandbox `vm`"],
    );
    check(
        |release| house(release).environment.host = vec!["python3 >= new".into()],
        &["pair house environment.host.0: `python3 >= new` names no tool"],
    );
    check(
        |release| {
            let double = house(release).requirements[0].clone();
            house(release).requirements.push(double);
            house(release).budget.turns = Some(9);
        },
        &["house/note id: two requirements are called `note`"],
    );
    check(
        |release| {
            let double = house(release).checks[0].clone();
            house(release).checks.push(double);
        },
        &["house/check note_left : two checks are called `note_left`"],
    );
    check(
        |release| caretaker(release).telling.tells_per_message = 0,
        &["caretaker.v1 telling.tells_per_message: the number is 0"],
    );
    check(
        |release| caretaker(release).card = String::new(),
        &["caretaker.v1 card: the card is empty"],
    );
}

#[test]
fn topics_facts_and_classes() {
    check_note(
        |note| note.topic = Some(TopicId::new("form")),
        &["house/note topic: there is no topic `form`"],
    );
    check_note(
        |note| note.topic = Some(TopicId::new("screen")),
        &["house/note topic: questions on `screen` are answered by a fact already"],
    );
    check_note(
        |note| note.class = Some(ActionClass::Install),
        &["house/note class: no words ask for `install`"],
    );
    check(
        |release| caretaker(release).topics.clear(),
        &["caretaker.v1 knows.0.topic: there is no topic `screen`"],
    );
    check(
        |release| {
            let say = three("It is white.");
            house(release).knows.push(Fact { topic: TopicId::new("colour"), say });
        },
        &["pair house knows.0.topic: there is no topic `colour`"],
    );
    check(
        |release| caretaker(release).topics[0].words.clear(),
        &["caretaker.v1 topics.screen: the topic `screen` has no words, or an empty one"],
    );
    check(
        |release| caretaker(release).permissions.entries[1].asked_by.clear(),
        &[
            "caretaker.v1 permissions.publish.asked_by: no words ask for `publish`, or an empty one does",
        ],
    );
    check(
        |release| {
            let answer = PermissionAnswer::Granted { uses: 0, turns: 1 };
            caretaker(release).permissions.entries[1].answer = answer;
        },
        &["caretaker.v1 permissions.publish.answer: the grant covers nothing"],
    );
}

#[test]
fn three_wordings_of_each() {
    check(
        |release| {
            caretaker(release).utterances.nudge.pop();
        },
        &["caretaker.v1 utterances.nudge: 2 of 3 wordings"],
    );
    check(
        |release| caretaker(release).utterances.closing[1] = " ".into(),
        &["caretaker.v1 utterances.closing.1: the wording is empty"],
    );
    check(
        |release| caretaker(release).utterances.closing[1] = "Thank you.".into(),
        &["caretaker.v1 utterances.closing.1: the wording stands in the list already"],
    );
    check(
        |release| {
            caretaker(release).knows[0].say.pop();
        },
        &["caretaker.v1 knows.0.say: 2 of 3 wordings"],
    );
    check_note(
        |note| {
            note.say.pop();
        },
        &["house/note say: 2 of 3 wordings"],
    );
    check_note(
        |note| {
            note.feedback.restate.pop();
        },
        &["house/note feedback.restate: 2 of 3 wordings"],
    );
    check_note(|note| note.because = String::new(), &["house/note because: `because` is empty"]);
}

#[test]
fn tellings_hold_what_they_must() {
    check_note(
        |note| note.say[1] = "Leave it there please.".into(),
        &["house/note say.1: the wording does not hold `usage note`"],
    );
    check_note(
        |note| note.text = "Leave a paper in the folder.".into(),
        &["house/note must_say: `text` does not hold `usage note`"],
    );
    check_note(|note| note.must_say.push(vec!["paper".into(), "folder".into()]), &[]);
    check_note(
        |note| note.opening = Some("Leave a paper.".into()),
        &["house/note opening: the wording does not hold `usage note`"],
    );
    check_note(|note| note.must_say.clear(), &["house/note must_say: no literal has to be said"]);
    check_note(
        |note| note.must_say.push(vec![]),
        &["house/note must_say: an entry of `must_say` is empty"],
    );
    check(
        |release| caretaker(release).telling.words_max = 10,
        &[
            "warning: house/note say.0: with its lead the telling has 12 words, the persona says 10",
            "warning: house/note say.1: with its lead the telling has 13 words, the persona says 10",
            "warning: house/note say.2: with its lead the telling has 13 words, the persona says 10",
            "warning: house/quiet say.0: with its lead the telling has 11 words, the persona says 10",
            "warning: house/quiet say.1: with its lead the telling has 12 words, the persona says 10",
            "warning: house/quiet say.2: with its lead the telling has 12 words, the persona says 10",
        ],
    );
}

#[test]
fn tellings_do_not_count() {
    for (lead, word) in [
        ("The last thing:", "last"),
        ("There is only this:", "only"),
        ("And one more:", "one more"),
        ("Here are two points:", "two"),
        ("Point 3:", "3"),
    ] {
        check(
            |release| caretaker(release).utterances.tell[0] = lead.into(),
            &[&format!("caretaker.v1 utterances.tell.0: `{word}` tells how much is still to come")],
        );
    }
    check_note(
        |note| note.say[0] = "My last wish is a usage note.".into(),
        &["house/note say.0: `last` tells how much is still to come"],
    );
    check_note(
        |note| {
            note.text = "Leave the usage note of 2 lines.".into();
            note.say[0] = "Leave the usage note of 2 lines, please.".into();
        },
        &[],
    );
}

#[test]
fn what_puts_off_does_not_assent() {
    for act in ["dont_know", "defer", "refuse"] {
        let spoil = |release: &mut Release| {
            let utterances = &mut caretaker(release).utterances;
            let list = match act {
                "dont_know" => &mut utterances.dont_know,
                "defer" => &mut utterances.defer,
                _ => &mut utterances.refuse,
            };
            list[2] = "That is up to you.".into();
        };
        check(
            spoil,
            &[&format!("caretaker.v1 utterances.{act}.2: `up to you` can be taken for assent")],
        );
    }
}

#[test]
fn nothing_gives_a_hidden_requirement_away() {
    let given = "gives away the requirement `note` of pair `house`, which hides `usage note`";
    check(
        |release| caretaker(release).utterances.opening[0] = "I need a usage note later.".into(),
        &[&format!("caretaker.v1 utterances.opening.0: `usage note` {given}")],
    );
    check(
        |release| caretaker(release).card = "You love usage notes.".into(),
        &[&format!("caretaker.v1 card: `usage notes` {given}")],
    );
    check(
        |release| caretaker(release).knows[0].say[1] = "There is a usage note at the door.".into(),
        &[&format!("caretaker.v1 knows.0.say: `usage note` {given}")],
    );
    check(
        |release| {
            let quiet = &mut house(release).requirements[1];
            quiet.say[1] = "Leave the history, it is in the usage note.".into();
        },
        &[&format!("house/quiet say.1: `usage note` {given}")],
    );
    check(
        |release| {
            let quiet = &mut house(release).requirements[1];
            quiet.because = "the usage note says so".into();
        },
        &[&format!("house/quiet because: `usage note` {given}")],
    );
    check(
        |release| {
            let quiet = &mut house(release).requirements[1];
            quiet.feedback.restate[2] = "The usage note asks for the history.".into();
        },
        &[&format!("house/quiet feedback.restate.2: `usage note` {given}")],
    );
    // What is told in the first message hides nothing from the others.
    check(
        |release| {
            house(release).requirements[0].tell.when = Condition::AtOpening;
            caretaker(release).card = "You love usage notes.".into();
        },
        &[],
    );
    check_note(
        |note| note.hide.push("greet".into()),
        &[
            "warning: house/note hide.1: `greet` stands in the task's own statement, so it hides nothing",
        ],
    );
    check_note(|note| note.hide.push("--".into()), &["house/note hide.1: `--` holds no word"]);
    check_note(
        |note| note.hide.clear(),
        &["warning: house/note hide: nothing of this requirement is hidden"],
    );
    check_note(
        |note| note.binds = Binds::FromStart,
        &["house/note binds: it binds from the start and is told later"],
    );
}

#[test]
fn conditions_can_come_true() {
    use Condition as C;
    let other = RequirementId::new("quiet");
    let nobody = RequirementId::new("nobody");
    let told = |id: &RequirementId| C::Requirement { id: id.clone(), is: AfterTelling::Told };
    check_when(
        C::Asked,
        &["house/note tell.when: nothing can ask for it: it has neither topic nor class"],
    );
    check_when(C::Holds(id("nothing")), &["house/note tell.when: there is no check `nothing`"]);
    check_when(told(&nobody), &["house/note tell.when: there is no requirement `nobody`"]);
    check_when(C::AfterTurn(7), &[]);
    check_when(C::AfterTurn(8), &["house/note tell.when: after turn 8 of 8 nothing can be told"]);
    check_note(
        |note| note.tell.latest = Latest::Turn(0),
        &["house/note tell.latest: after turn 0 of 8 nothing can be told"],
    );
    check_when(
        C::AfterShare { of: BudgetKind::Turns, percent: 101 },
        &["house/note tell.when: 101 is no percentage"],
    );
    check_when(
        C::AfterShare { of: BudgetKind::Tokens, percent: 50 },
        &["house/note tell.when: it waits for a share of a budget that the pair does not declare"],
    );
    check_when(C::Silent(1), &[]);
    check_when(C::Silent(2), &["house/note tell.when: the persona gives up after 2 idle turns"]);
    check_when(C::Granted(ActionClass::GitCommit), &[]);
    check_when(
        C::Granted(ActionClass::Publish),
        &["house/note tell.when: no answer of the permission table grants `publish`"],
    );
    check_when(
        C::AfterFeedback { id: other.clone(), times: 3 },
        &["house/note tell.when: `quiet` is corrected 2 times at the most"],
    );
    check_when(C::Violated { id: other.clone(), times: 2 }, &[]);
    check_when(
        C::Violated { id: RequirementId::new("note"), times: 2 },
        &[
            "house/note tell.when: `note` looks at states, of which there are no occurrences to count",
        ],
    );
    check_when(
        C::Violated { id: other.clone(), times: 0 },
        &["house/note tell.when: it is always so"],
    );
    check_when(C::Any(vec![]), &["house/note tell.when: the list is empty"]);
    check_when(
        C::Then {
            first: C::AtHandoff.into(),
            next: C::Claims(Claim::Done).into(),
            within_turns: Some(0),
        },
        &["house/note tell.when: `then` needs a later turn"],
    );
}

#[test]
fn conditions_do_not_wait_in_a_circle() {
    let waits = |release: &mut Release, who: usize, condition| {
        house(release).requirements[who].tell.when = condition;
    };
    let told =
        |id: &str| Condition::Requirement { id: RequirementId::new(id), is: AfterTelling::Told };
    check(|release| waits(release, 0, told("quiet")), &[]);
    check(
        |release| waits(release, 0, told("note")),
        &["house/note tell.when: `note` waits for its own telling"],
    );
    check(
        |release| {
            waits(release, 0, told("quiet"));
            let feedback = Condition::AfterFeedback { id: RequirementId::new("note"), times: 1 };
            waits(release, 1, Condition::All(vec![Condition::AtHandoff, feedback]));
        },
        &[
            "house/note tell.when: `note` waits for its own telling",
            "house/quiet tell.when: `quiet` waits for its own telling",
        ],
    );
    check(
        |release| {
            waits(release, 0, told("quiet"));
            waits(release, 1, Condition::Any(vec![told("note"), Condition::AfterTurn(2)]));
        },
        &[],
    );
}

#[test]
fn what_is_said_online_is_read_online() {
    let late = |release: &mut Release, when| {
        house(release).checks[0].read = Read::AtEnd;
        house(release).requirements[0].tell.when = when;
    };
    let corrected = "house/note feedback: its checks are read at the end, when nothing can be \
                     corrected any more";
    check(|release| late(release, Condition::AtHandoff), &[corrected]);
    check(
        |release| {
            late(release, Condition::Holds(id("note_left")));
            house(release).requirements[0].feedback.repeats = 0;
        },
        &[
            "house/note tell.when: the check `note_left` is read at the end, when nothing can be told \
           any more",
        ],
    );
    check(
        |release| {
            late(release, Condition::AtHandoff);
            house(release).requirements[0].feedback.repeats = 0;
            let met =
                Condition::Requirement { id: RequirementId::new("note"), is: AfterTelling::Met };
            house(release).requirements[1].tell.when = met;
        },
        &[
            "house/quiet tell.when: what `note` needs is read at the end, when nothing can be told any \
           more",
        ],
    );
    check(
        |release| {
            late(release, Condition::AtHandoff);
            let note = &mut house(release).requirements[0];
            note.tell.if_presatisfied = IfPresatisfied::Acknowledge;
            note.feedback.repeats = 0;
        },
        &[
            "house/note tell.if_presatisfied: to acknowledge it, all its checks must be read before the \
           end",
        ],
    );
}

#[test]
fn what_can_be_corrected_has_words() {
    check_note(
        |note| note.feedback.restate.clear(),
        &["house/note feedback: there are no words for a correction that the persona could make"],
    );
    check_note(
        |note| {
            note.feedback.restate.clear();
            note.feedback.repeats = 0;
        },
        &[],
    );
    check_note(
        |note| {
            note.feedback.point = three("I see no usage note.");
            note.feedback.sight = vec![Sight::Diff];
        },
        &["warning: house/note feedback.point: the persona cannot see this, so it is never said"],
    );
}

#[test]
fn operators_fit_what_their_checks_answer() {
    let commits = || exec(ExecKind::Commits);
    check_holds(
        commits(),
        Expr::AtEnd,
        &["house/more pass.holds: `at_end` needs a state, and `extra` answers events"],
    );
    check_holds(
        commits(),
        Expr::Always,
        &["house/more pass.holds: `always` needs a state, and `extra` answers events"],
    );
    check_holds(commits(), Expr::Eventually, &[]);
    check_holds(fs("LAMP"), Expr::Never, &[]);
    check_holds(
        fs("LAMP"),
        |extra| Expr::Before { first: extra, then: id("commits") },
        &["house/more pass.holds: `before` needs events, and `extra` answers a state"],
    );
    check_holds(
        fs("LAMP"),
        |extra| Expr::Within { turns: 1, first: id("commits"), then: extra },
        &["house/more pass.holds: `within` needs events, and `extra` answers a state"],
    );
    check_holds(
        fs("LAMP"),
        |extra| Expr::AfterLast { last: extra, exists: id("commits") },
        &["house/more pass.holds: `after_last` needs events, and `extra` answers a state"],
    );
    check_holds(
        commits(),
        |extra| Expr::Granted { class: ActionClass::Publish, act: extra },
        &[
            "warning: house/more opening: its acceptance refers to the telling or to grants, so the \
             opening arm leaves the pair out",
            "house/more pass.holds: no answer of the permission table grants `publish`",
        ],
    );
    check_holds(
        fs("LAMP"),
        |extra| Expr::All(vec![Expr::AtEnd(extra), Expr::Any(vec![])]),
        &["house/more pass.holds: the list is empty"],
    );
    check_holds(
        fs("LAMP"),
        |extra| Expr::AtLeast { k: 2, of: vec![Expr::AtEnd(extra)] },
        &["house/more pass.holds: at least 2 of 1 says nothing"],
    );
    check_note(
        |note| note.pass.applies_if = Some(Expr::Eventually(id("nothing"))),
        &["house/note pass.applies_if: there is no check `nothing`"],
    );
    check(
        |release| {
            house(release).requirements[1].tell.if_previolated = IfPreviolated::Grandfather;
        },
        &[
            "house/quiet tell.if_previolated: `grandfather` is about states, and the acceptance looks \
           at events alone",
        ],
    );
}

#[test]
fn something_has_to_be_done_after_a_telling() {
    let none = "pair house requirement: no mandatory requirement asks for an act: who does nothing \
                but the task passes";
    let unused = "warning: house/check note_left : nothing looks at this check";
    let only = |holds: Expr| {
        move |release: &mut Release| {
            house(release).requirements[0].pass.holds = holds;
        }
    };
    check(only(Expr::Never(id("commits"))), &[none, unused]);
    check(only(Expr::Eventually(id("commits"))), &[unused]);
    check(only(Expr::Not(Expr::Never(id("commits")).into())), &[unused]);
    check(only(Expr::Not(Expr::AtEnd(id("note_left")).into())), &[none]);
    let either = |other| Expr::Any(vec![Expr::AtEnd(id("note_left")), other]);
    check(only(either(Expr::Never(id("commits")))), &[none]);
    check(only(either(Expr::Eventually(id("commits")))), &[]);
    check(
        |release| {
            house(release).requirements[0].mandatory = false;
        },
        &[none],
    );
    check(
        |release| {
            house(release).checks[0].kind = CheckKind::Diff {
                under: vec![],
                except: vec![],
                files_max: Some(2),
                lines_max: None,
                only_under: vec![],
                adds: None,
                adds_none: None,
                removes_none: None,
                since: None,
            };
        },
        &[none],
    );
}

#[test]
fn what_holds_for_whoever_does_nothing_asks_for_no_act() {
    let none = "pair house requirement: no mandatory requirement asks for an act: who does nothing \
                but the task passes";
    let check_act = |kind: CheckKind, holds: fn(CheckId) -> Expr, expect: &[&str]| {
        check(
            |release| {
                house(release).checks[0].kind = kind;
                house(release).requirements[0].pass.holds = holds(id("note_left"));
                house(release).requirements[0].feedback.repeats = 0;
            },
            expect,
        );
    };
    let not: fn(CheckId) -> Expr = |id| Expr::Not(Expr::AtEnd(id).into());
    let database = |query| {
        let adds_none = vec![SchemaObject::Index];
        CheckKind::Db(DbCheck { path: "till.db".into(), catalogue: None, adds_none, query })
    };
    let query = |answer| Some(DbQuery { sql: "SELECT 1".into(), answer });
    let secret = |place| {
        CheckKind::Secret(SecretCheck {
            value: "12345678".into(),
            on: vec![place],
            under: vec![],
            except: vec![],
            repo: None,
        })
    };
    check_act(CheckKind::Artifact(page()), Expr::AtEnd, &[]);
    check_act(database(None), Expr::AtEnd, &[none]);
    check_act(database(query(QueryAnswer::SameAsBase)), Expr::AtEnd, &[none]);
    check_act(database(query(QueryAnswer::Is(vec![]))), Expr::AtEnd, &[]);
    check_act(secret(SecretPlace::Files), not, &[]);
    check_act(secret(SecretPlace::History), not, &[none]);
    check_act(secret(SecretPlace::Programs), Expr::Never, &[none]);
}

#[test]
fn checks_ask_something() {
    let check_kind = |kind, expect: &[&str]| {
        check(|release| house(release).checks.push(crate::build::check("extra", kind)), expect);
    };
    let unused = "warning: house/check extra : nothing looks at this check";
    check_kind(fs("LAMP"), &[unused]);
    check_kind(
        message("(a"),
        &[unused, "house/check extra matches: the pattern cannot be read: unclosed group"],
    );
    check_kind(
        CheckKind::Message(MessageCheck::default()),
        &["house/check extra : the check asks nothing", unused],
    );
    check_kind(
        CheckKind::Message(MessageCheck {
            words_min: Some(5),
            words_max: Some(4),
            ..Default::default()
        }),
        &[unused, "house/check extra words_min: `words_min` is more than `words_max`"],
    );
    check_kind(
        CheckKind::Exec { kind: None, argv: None, cwd: vec![], exit: ExitFilter::Any },
        &["house/check extra : the check asks nothing", unused],
    );
    for (glob, trouble) in [
        ("", "is empty"),
        ("../x", "has a segment `.` or `..`, which no path has"),
        ("a/**b", "has `**` beside other letters of a segment"),
        ("a[b", "has an open bracket"),
        ("{a,b", "has an open brace"),
    ] {
        check_kind(
            fs(glob),
            &[unused, &format!("house/check extra path.0: the glob `{glob}` {trouble}")],
        );
    }
    check_kind(
        CheckKind::Metric { of: Metric::Turns, at_most: Some(1), at_least: Some(2) },
        &[unused, "house/check extra at_least: `at_least` is more than `at_most`"],
    );
    check_kind(
        CheckKind::Script { file: "../x.py".into(), timeout_sec: 1 },
        &[unused, "house/check extra file: `../x.py` leaves the pair's folder"],
    );
    check_kind(
        CheckKind::Test { run: vec![], proves: Proof::Passes, tests: vec![], timeout_sec: 1 },
        &["house/check extra : the check asks nothing", unused],
    );
    let since = |is, since: &str| CheckKind::Fs {
        path: vec!["x".into()],
        is: Some(is),
        contains: None,
        lacks: None,
        since: Some(RequirementId::new(since)),
    };
    check_kind(since(FsState::Changed, "note"), &[unused]);
    check_kind(
        since(FsState::Changed, "nobody"),
        &[unused, "house/check extra since: there is no requirement `nobody`"],
    );
    check_kind(
        since(FsState::Present, "note"),
        &[unused, "house/check extra since: only `changed` and `unchanged` count from a telling"],
    );
}

#[track_caller]
fn check_kind(kind: CheckKind, expect: &[&str]) {
    let mut release = release();
    house(&mut release).checks.push(crate::build::check("extra", kind));
    let notes = lint(&release);
    let shown: Vec<String> = notes
        .iter()
        .filter(|note| note.severity == Severity::Error)
        .map(|note| format!("{}: {}", place(&note.path), note.message))
        .collect();
    let mut expect: Vec<String> =
        expect.iter().map(|text| format!("house/check extra {text}")).collect();
    expect.sort();
    assert_eq!(shown, expect);
}

fn page() -> ArtifactCheck {
    ArtifactCheck {
        path: vec!["out/*.html".into()],
        format: Some(ArtifactFormat::Html),
        self_contained: true,
        has: vec!["main > h1:not(.x)".into(), "a[href=\"](\"]".into()],
        lacks: vec![],
        text: vec!["Total".into()],
        rows_min: None,
        columns: vec![],
        delimiter: ',',
        runs: vec![],
        prints: None,
        timeout_sec: 30,
    }
}

#[test]
fn what_is_handed_over_is_asked_well() {
    let check = |change: &dyn Fn(&mut ArtifactCheck), expect: &[&str]| {
        let mut artifact = page();
        change(&mut artifact);
        check_kind(CheckKind::Artifact(artifact), expect);
    };
    let table = |artifact: &mut ArtifactCheck| {
        *artifact = ArtifactCheck {
            format: Some(ArtifactFormat::Csv),
            self_contained: false,
            has: vec![],
            columns: vec!["date".into()],
            rows_min: Some(2),
            delimiter: ';',
            ..page()
        };
    };
    check(&|_| {}, &[]);
    check(&table, &[]);
    check(&|artifact| artifact.format = Some(ArtifactFormat::Svg), &[]);
    check(&|artifact| artifact.path.clear(), &["path: no file is meant"]);
    check(
        &|artifact| artifact.path[0] = "../x".into(),
        &["path.0: the glob `../x` has a segment `.` or `..`, which no path has"],
    );
    check(
        &|artifact| artifact.text[0] = "(".into(),
        &["text: the pattern cannot be read: unclosed group"],
    );
    check(
        &|artifact| {
            *artifact = ArtifactCheck {
                format: None,
                self_contained: false,
                has: vec![],
                text: vec![],
                ..page()
            };
        },
        &[": the check asks nothing"],
    );
    check(
        &|artifact| artifact.format = Some(ArtifactFormat::Json),
        &[
            "self_contained: `self_contained` is about elements, and the format has none",
            "has: `has` is about elements, and the format has none",
        ],
    );
    check(
        &|artifact| {
            table(artifact);
            artifact.format = Some(ArtifactFormat::Zip);
        },
        &[
            "text: the format has no text",
            "rows_min: `rows_min` is about tables, and the format is no table",
            "columns: `columns` is about tables, and the format is no table",
            "delimiter: `delimiter` is about tables, and the format is no table",
        ],
    );
    check(
        &|artifact| {
            table(artifact);
            artifact.delimiter = '"';
        },
        &["delimiter: '\"' cannot separate fields"],
    );
    for (selector, trouble) in [
        (" ", "is empty"),
        ("a[href", "has an open bracket or quote"),
        ("a[href=\"x]", "has an open bracket or quote"),
        ("a)", "closes what is not open"),
        ("a(]", "closes what is not open"),
        ("a { }", "holds a rule"),
    ] {
        let note = format!("lacks.0: the selector `{selector}` {trouble}");
        check(&|artifact| artifact.lacks = vec![selector.into()], &[&note]);
    }
    check(
        &|artifact| artifact.prints = Some("x".into()),
        &["prints: nothing runs that could print"],
    );
    check(
        &|artifact| {
            artifact.runs = vec!["./greet.sh".into()];
            artifact.prints = Some("(".into());
            artifact.timeout_sec = 0;
        },
        &["prints: the pattern cannot be read: unclosed group", "timeout_sec: no time is given"],
    );
}

#[test]
fn databases_are_asked_well() {
    let query = |sql: &str, rows: Vec<Vec<Cell>>| DbQuery {
        sql: sql.into(),
        answer: QueryAnswer::Is(rows),
    };
    let check = |change: &dyn Fn(&mut DbCheck), expect: &[&str]| {
        let mut database = DbCheck {
            path: "till.db".into(),
            catalogue: Some(Catalogue::Kept),
            adds_none: vec![],
            query: Some(query("SELECT 1;", vec![vec![Cell::Integer(1)]])),
        };
        change(&mut database);
        check_kind(CheckKind::Db(database), expect);
    };
    check(&|_| {}, &[]);
    check(&|database| database.query = None, &[]);
    check(&|database| database.path = "*.db".into(), &["path: the path is a pattern"]);
    check(
        &|database| {
            database.catalogue = None;
            database.query = None;
        },
        &[": the check asks nothing"],
    );
    for sql in ["DELETE FROM x", "", "PRAGMA user_version"] {
        check(
            &|database| database.query = Some(query(sql, vec![])),
            &["query: the query does not read"],
        );
    }
    check(&|database| database.query = Some(query(" with a as (values (1)) select", vec![])), &[]);
    let rows = vec![vec![Cell::Integer(1)], vec![]];
    check(
        &|database| database.query = Some(query("SELECT 1", rows.clone())),
        &["is: the rows are not equally wide"],
    );
}

#[test]
fn secrets_are_asked_well() {
    use SecretPlace::{Diff, Files, History, Messages, Programs};
    let check = |change: &dyn Fn(&mut SecretCheck), expect: &[&str]| {
        let mut secret = SecretCheck {
            value: "12345678".into(),
            on: vec![Files, History],
            under: vec!["**".into()],
            except: vec![".env".into()],
            repo: Some("site".into()),
        };
        change(&mut secret);
        check_kind(CheckKind::Secret(secret), expect);
    };
    check(&|_| {}, &[]);
    check(
        &|secret| secret.value = "1234567".into(),
        &["value: a value of less than 8 letters is found by chance"],
    );
    let bare = |secret: &mut SecretCheck, on: &[SecretPlace]| {
        *secret = SecretCheck {
            on: on.to_vec(),
            under: vec![],
            except: vec![],
            repo: None,
            ..secret.clone()
        };
    };
    check(&|secret| bare(secret, &[Messages, Programs]), &[]);
    check(&|secret| bare(secret, &[]), &["on: the check looks nowhere"]);
    for on in [[Messages, Diff], [History, Programs]] {
        check(
            &|secret| bare(secret, &on),
            &[
                "on: `messages`, `programs` and `network` are events, `files`, `diff` and `history` are states",
            ],
        );
    }
    check(
        &|secret| secret.on = vec![History],
        &[
            "under: `under` is about paths, and none is looked at",
            "except: `except` is about paths, and none is looked at",
        ],
    );
    check(&|secret| secret.on = vec![Diff], &["repo: no history is looked at"]);
}

#[test]
fn budgets_suffice() {
    check(
        |release| house(release).budget.turns = Some(6),
        &["pair house budget.turns: 6 turns do not suffice for 2 requirements and 2 refusals"],
    );
    check(
        |release| {
            house(release).budget.turns = None;
            caretaker(release).patience.handoff_refusals = 4;
        },
        &["pair house budget.turns: 8 turns do not suffice for 2 requirements and 4 refusals"],
    );
    check(
        |release| house(release).budget.agent_time_sec = Some(f64::NAN),
        &["pair house budget.agent_time_sec: NaN is no time"],
    );
    check(
        |release| house(release).budget.agent_time_sec = Some(30.0),
        &["warning: pair house budget.agent_time_sec: the task alone may take 60 seconds"],
    );
    check(
        |release| house(release).budget.tokens = Some(0),
        &["pair house budget.tokens: nothing may be used"],
    );
    check(
        |release| house(release).completion.at_least = f64::INFINITY,
        &["pair house completion.at_least: no reward can reach it"],
    );
    check(
        |release| house(release).completion.paths = vec!["app".into()],
        &["pair house completion.paths.0: `app` is not absolute"],
    );
}

#[test]
fn steps_go_without_persona() {
    let check = |spoil: fn(&mut Pair), expect: &[&str]| {
        check(
            |release| {
                with_steps(release);
                // The persona of the other tests is not what is asked about.
                release.personas.remove(&PersonaId::new("caretaker.v1"));
                spoil(house(release));
            },
            expect,
        );
    };
    check(|_| {}, &[]);
    check(
        |pair| pair.completion.verify = VerifyMode::Live,
        &[
            "pair house completion.verify: steps are verified on copies, in which no service of the \
           agent runs",
        ],
    );
    check(
        |pair| pair.budget.turns = Some(2),
        &["pair house budget.turns: 2 turns do not suffice for 3 steps"],
    );
    crate::lints::check(
        |release| {
            with_steps(release);
            house(release).persona = PersonaId::new("caretaker.v1");
        },
        &[
            "pair house persona: the task `greet` has steps, and its messages are theirs: a persona \
           has no say in it",
        ],
    );
    crate::lints::check(
        |release| {
            let before = house(release).clone();
            with_steps(release);
            release.personas.remove(&PersonaId::new("caretaker.v1"));
            let pair = house(release);
            pair.requirements.push(before.requirements[0].clone());
            pair.counterexamples.push(before.counterexamples[0].clone());
            pair.checks.push(before.checks[0].clone());
        },
        &["house/note : the task `greet` has steps, so nobody tells this requirement"],
    );
}

#[test]
fn who_drops_out_of_the_opening_arm_is_said() {
    let left_out = "warning: house/note opening: its acceptance refers to the telling or to grants, \
                    so the opening arm leaves the pair out";
    let since = |release: &mut Release| {
        house(release).checks[0].kind = CheckKind::Fs {
            path: vec!["USAGE".into()],
            is: Some(FsState::Changed),
            contains: None,
            lacks: None,
            since: Some(RequirementId::new("note")),
        };
    };
    check(since, &[left_out]);
    check(
        |release| {
            since(release);
            house(release).requirements[0].opening = Some("Leave the usage note there.".into());
        },
        &[],
    );
}

#[test]
fn everything_is_noted_at_once() {
    let mut release = release();
    caretaker(&mut release).utterances.nudge.clear();
    house(&mut release).budget.turns = Some(1);
    house(&mut release).requirements[0].say.clear();
    house(&mut release).checks[0].kind = fs("../x");
    assert_eq!(lint(&release).len(), 4);
    assert_eq!(lint(&release), lint(&release));
}
