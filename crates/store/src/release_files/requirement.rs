//! Reads a `[[requirement]]` of a pair into a [`Requirement`].

use domain::{
    ids::{RequirementId, TopicId},
    release::{
        Area, Binds, Check, CheckKind, Feedback, IfPresatisfied, IfPreviolated, Latest, Metric,
        Pass, Requirement, SecretPlace, Sight, Tell,
    },
};

use super::{
    expressions::{read_class, read_condition, read_expr},
    sheet::{Table, Value},
};

const BINDS: [(&str, Binds); 2] =
    [("when_told", Binds::WhenTold), ("from_start", Binds::FromStart)];

const PRESATISFIED: [(&str, IfPresatisfied); 2] =
    [("deliver", IfPresatisfied::Deliver), ("acknowledge", IfPresatisfied::Acknowledge)];

const PREVIOLATED: [(&str, IfPreviolated); 2] =
    [("undo", IfPreviolated::Undo), ("grandfather", IfPreviolated::Grandfather)];

const FEEDBACK_REPEATS: u32 = 2;

/// Reads one requirement; `checks` are those of its pair.
pub(crate) fn read(table: Table<'_>, checks: &[Check]) -> Option<Requirement> {
    let table = table.named_by("requirement", "id");
    let id = table.req("id", Value::filled_text);
    let area = table.req("area", |value| value.word(&Area::ALL.map(|area| (area.name(), area))));
    let mandatory = table.or("mandatory", true, Value::bool);
    let because = table.req("because", Value::filled_text);
    let topic = table.opt("topic", Value::filled_text);
    let class = table.opt("class", read_class);
    let text = table.req("text", Value::filled_text);
    let say = table.req("say", Value::texts);
    let must_say = table.or("must_say", Vec::new(), read_alternatives);
    let hide = table.or("hide", Vec::new(), Value::texts);
    let binds = table.or("binds", Binds::default(), |value| value.word(&BINDS));
    let opening = table.opt("opening", Value::filled_text);
    let tell = table.req("tell", read_tell);
    let pass = table.req("pass", read_pass);
    let no_words = Feedback {
        repeats: FEEDBACK_REPEATS,
        symptom: Vec::new(),
        restate: Vec::new(),
        point: Vec::new(),
        sight: Vec::new(),
    };
    let feedback = table.or("feedback", no_words, read_feedback);
    table.finish();
    let pass = pass?;
    let feedback = Feedback { sight: sights_of(&pass, checks), ..feedback? };
    Some(Requirement {
        id: RequirementId::new(id?),
        area: area?,
        mandatory: mandatory?,
        because: because?,
        topic: topic?.map(TopicId::new),
        class: class?,
        text: text?,
        say: say?,
        must_say: must_say?,
        hide: hide?,
        binds: binds?,
        opening: opening?,
        tell: tell?,
        pass,
        feedback,
    })
}

/// Reads a list whose entries are a word, or a list of words of which any will do.
pub(crate) fn read_alternatives(value: &Value<'_>) -> Option<Vec<Vec<String>>> {
    let list = value.list()?;
    let count = list.len();
    let entries: Vec<Vec<String>> = list
        .iter()
        .filter_map(|entry| match entry.is_list() {
            true => entry.texts().filter(|texts| {
                if texts.is_empty() {
                    entry.problem("no alternative is named", "name at least one word");
                }
                !texts.is_empty()
            }),
            false => entry.filled_text().map(|text| vec![text]),
        })
        .collect();
    (entries.len() == count).then_some(entries)
}

fn read_tell(value: &Value<'_>) -> Option<Tell> {
    let table = value.table("[requirement.tell]")?;
    let when = table.req("when", read_condition);
    let latest = table.or("latest", Latest::default(), read_latest);
    let if_presatisfied =
        table.or("if_presatisfied", IfPresatisfied::default(), |value| value.word(&PRESATISFIED));
    let if_previolated =
        table.or("if_previolated", IfPreviolated::default(), |value| value.word(&PREVIOLATED));
    table.finish();
    Some(Tell {
        when: when?,
        latest: latest?,
        if_presatisfied: if_presatisfied?,
        if_previolated: if_previolated?,
    })
}

fn read_latest(value: &Value<'_>) -> Option<Latest> {
    if value.is_number() {
        return value.count().map(Latest::Turn);
    }
    value.word(&[("opening", Latest::Opening), ("handoff", Latest::Handoff)])
}

fn read_pass(value: &Value<'_>) -> Option<Pass> {
    let table = value.table("[requirement.pass]")?;
    let applies_if = table.opt("applies_if", read_expr);
    let holds = table.req("holds", read_expr);
    table.finish();
    Some(Pass { applies_if: applies_if?, holds: holds? })
}

fn read_feedback(value: &Value<'_>) -> Option<Feedback> {
    let table = value.table("[requirement.feedback]")?;
    let repeats = table.or("repeats", FEEDBACK_REPEATS, Value::u32);
    let symptom = table.or("symptom", Vec::new(), Value::texts);
    let restate = table.or("restate", Vec::new(), Value::texts);
    let point = table.or("point", Vec::new(), Value::texts);
    table.finish();
    Some(Feedback {
        repeats: repeats?,
        symptom: symptom?,
        restate: restate?,
        point: point?,
        sight: Vec::new(),
    })
}

/// What one must be able to look at to notice that the acceptance does not hold, each once, in order.
fn sights_of(pass: &Pass, checks: &[Check]) -> Vec<Sight> {
    let named = pass.holds.checks();
    let kinds = named
        .iter()
        .filter_map(|id| checks.iter().find(|check| &&check.id == id))
        .map(|check| &check.kind);
    let mut sights: Vec<Sight> = kinds.flat_map(sights_of_kind).collect();
    sights.sort_unstable();
    sights.dedup();
    sights
}

fn sights_of_kind(kind: &CheckKind) -> Vec<Sight> {
    let sight = match kind {
        CheckKind::Secret(secret) => {
            return secret.on.iter().map(|place| sight_of(*place)).collect();
        }
        CheckKind::Fs { .. } | CheckKind::Edit { .. } => Sight::Files,
        CheckKind::Diff { .. } => Sight::Diff,
        CheckKind::Git { .. } => Sight::History,
        CheckKind::Test { .. } => Sight::Tests,
        CheckKind::Script { .. } | CheckKind::Artifact(_) | CheckKind::Db(_) => Sight::Artifact,
        CheckKind::Exec { .. } | CheckKind::Net { .. } => Sight::Commands,
        CheckKind::Message(_) => Sight::Message,
        CheckKind::Metric { of, .. } => match of {
            Metric::FilesChanged | Metric::LinesChanged => Sight::Diff,
            Metric::Processes => Sight::Commands,
            Metric::Turns
            | Metric::AgentTimeMs
            | Metric::Tokens
            | Metric::Questions
            | Metric::Words => Sight::Message,
        },
    };
    vec![sight]
}

fn sight_of(place: SecretPlace) -> Sight {
    match place {
        SecretPlace::Files => Sight::Files,
        SecretPlace::Diff => Sight::Diff,
        SecretPlace::History => Sight::History,
        SecretPlace::Messages => Sight::Message,
        SecretPlace::Programs | SecretPlace::Network => Sight::Commands,
    }
}
