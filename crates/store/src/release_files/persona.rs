//! Reads `personas/<id>.toml` into a [`Persona`], and the tables that a pair lays over a persona's.

use domain::{
    ids::{FamilyId, PersonaId, TopicId},
    release::{
        ActionClass, Fact, GenericAsk, Patience, PermissionAnswer, PermissionEntry,
        PermissionTable, Persona, Sight, Telling, Topic, Utterances, lint::suggest,
    },
};

use super::sheet::{Table, Value, Variant};

/// Words for what a persona can look at.
pub(crate) const SIGHTS: [(&str, Sight); 7] = [
    ("message", Sight::Message),
    ("artifact", Sight::Artifact),
    ("files", Sight::Files),
    ("diff", Sight::Diff),
    ("history", Sight::History),
    ("commands", Sight::Commands),
    ("tests", Sight::Tests),
];

const GENERIC_ASKS: [(&str, GenericAsk); 2] =
    [("next_requirement", GenericAsk::NextRequirement), ("defer", GenericAsk::Defer)];

/// Reads a whole persona file.
pub(crate) fn read(root: Table<'_>) -> Option<Persona> {
    let id = root.req("id", Value::filled_text);
    let family = root.req("family", Value::filled_text);
    let role = root.req("role", Value::filled_text);
    let card = root.req("card", Value::filled_text);
    let sees = root.req("sees", |value| value.words(&SIGHTS));
    let patience = root.or("patience", Patience::default(), read_patience);
    let telling = root.or("telling", Telling::default(), read_telling);
    let permissions = root.req("permissions", read_permission_table);
    let topics = root.or("topics", Vec::new(), read_topics);
    let knows = root.or("knows", Vec::new(), read_facts);
    let utterances = root.req("utterances", read_utterances);
    root.finish();
    Some(Persona {
        id: PersonaId::new(id?),
        family: FamilyId::new(family?),
        role: role?,
        card: card?,
        sees: sees?,
        patience: patience?,
        telling: telling?,
        permissions: permissions?,
        topics: topics?,
        knows: knows?,
        utterances: utterances?,
    })
}

fn read_patience(value: &Value<'_>) -> Option<Patience> {
    let table = value.table("[patience]")?;
    let default = Patience::default();
    let handoff_refusals = table.or("handoff_refusals", default.handoff_refusals, Value::u32);
    let silent_turns = table.or("silent_turns", default.silent_turns, Value::count);
    let repeated_turns = table.or("repeated_turns", default.repeated_turns, Value::count);
    table.finish();
    Some(Patience {
        handoff_refusals: handoff_refusals?,
        silent_turns: silent_turns?,
        repeated_turns: repeated_turns?,
    })
}

fn read_telling(value: &Value<'_>) -> Option<Telling> {
    let table = value.table("[telling]")?;
    let default = Telling::default();
    let tells_per_message = table.or("tells_per_message", default.tells_per_message, Value::count);
    let generic_ask =
        table.or("generic_ask", default.generic_ask, |value| value.word(&GENERIC_ASKS));
    let words_max = table.or("max_words", default.words_max, Value::count);
    let language = table.or("language", default.language, Value::filled_text);
    table.finish();
    Some(Telling {
        tells_per_message: tells_per_message?,
        generic_ask: generic_ask?,
        words_max: words_max?,
        language: language?,
    })
}

fn read_permission_table(value: &Value<'_>) -> Option<PermissionTable> {
    let table = value.table("[permissions]")?;
    let default = table.req("default", read_permission_answer);
    let entries = read_classes(&table);
    // Every other key was read as a class or refused as one.
    Some(PermissionTable { default: default?, entries: entries? })
}

/// Reads the classes that a pair lays over its persona's.
pub(crate) fn read_permissions_over(value: &Value<'_>) -> Option<Vec<PermissionEntry>> {
    let table = value.table("[permissions]")?;
    if let Some(value) = table.get("default") {
        let remedy = "remove it: a pair lays single classes over its persona's";
        value.problem("`default` belongs to the persona", remedy);
        return None;
    }
    read_classes(&table)
}

fn read_classes(table: &Table<'_>) -> Option<Vec<PermissionEntry>> {
    let mut entries = Some(Vec::new());
    for (name, _, value) in table.entries() {
        if name == "default" {
            continue;
        }
        let Some(class) = ActionClass::ALL.into_iter().find(|class| class.name() == name) else {
            let known = ActionClass::ALL.into_iter().map(ActionClass::name);
            let message = format!("unknown class of action `{name}`");
            table.problem_at_key(&name, message, suggest::remedy(&name, known));
            entries = None;
            continue;
        };
        match (read_permission_entry(class, &value), &mut entries) {
            (Some(entry), Some(list)) => list.push(entry),
            _ => entries = None,
        }
    }
    entries
}

fn read_permission_entry(class: ActionClass, value: &Value<'_>) -> Option<PermissionEntry> {
    let table = value.table("a class of action")?;
    let asked_by = table.req("asked_by", Value::texts);
    let answer = table.req("answer", read_permission_answer);
    let scope = table.or("scope", Vec::new(), Value::texts);
    table.finish();
    Some(PermissionEntry { class, asked_by: asked_by?, answer: answer?, scope: scope? })
}

fn read_permission_answer(value: &Value<'_>) -> Option<PermissionAnswer> {
    const KNOWN: [&str; 3] = ["allowed", "refused", "granted"];
    match value.variant(&KNOWN)? {
        Variant::Unit(word) if word == "allowed" => Some(PermissionAnswer::Allowed),
        Variant::Unit(word) if word == "refused" => Some(PermissionAnswer::Refused),
        Variant::Unit(word) if word == "granted" => {
            value.problem("a grant needs its uses and turns", GRANT_REMEDY);
            None
        }
        Variant::Tagged(key, inner) if key == "granted" => {
            let table = inner.table("a grant")?;
            let uses = table.req("uses", Value::count);
            let turns = table.req("turns", Value::count);
            table.finish();
            Some(PermissionAnswer::Granted { uses: uses?, turns: turns? })
        }
        Variant::Unit(word) | Variant::Tagged(word, _) => {
            value.unknown_word(&word, KNOWN);
            None
        }
    }
}

const GRANT_REMEDY: &str = "write `{ granted = { uses = 1, turns = 2 } }`";

/// Reads `[topics]`: a label with its words.
pub(crate) fn read_topics(value: &Value<'_>) -> Option<Vec<Topic>> {
    let table = value.table("[topics]")?;
    let entries = table.entries();
    let count = entries.len();
    let topics: Vec<Topic> = entries
        .into_iter()
        .filter_map(|(name, _, value)| {
            Some(Topic { id: TopicId::new(name), words: value.texts()? })
        })
        .collect();
    (topics.len() == count).then_some(topics)
}

/// Reads `[[knows]]`: what is answered to a question about a topic.
pub(crate) fn read_facts(value: &Value<'_>) -> Option<Vec<Fact>> {
    let tables = value.tables("[[knows]]")?;
    let count = tables.len();
    let facts: Vec<Fact> = tables
        .into_iter()
        .filter_map(|table| {
            let topic = table.req("topic", Value::filled_text);
            let say = table.req("say", Value::texts);
            table.finish();
            Some(Fact { topic: TopicId::new(topic?), say: say? })
        })
        .collect();
    (facts.len() == count).then_some(facts)
}

fn read_utterances(value: &Value<'_>) -> Option<Utterances> {
    let table = value.table("[utterances]")?;
    let words = |key| table.or(key, Vec::new(), Value::texts);
    let opening = words("opening");
    let tell = words("tell");
    let acknowledge = words("acknowledge");
    let grant = words("grant");
    let refuse = words("refuse");
    let dont_know = words("dont_know");
    let defer = words("defer");
    let nudge = words("nudge");
    let closing = words("closing");
    table.finish();
    Some(Utterances {
        opening: opening?,
        tell: tell?,
        acknowledge: acknowledge?,
        grant: grant?,
        refuse: refuse?,
        dont_know: dont_know?,
        defer: defer?,
        nudge: nudge?,
        closing: closing?,
    })
}
