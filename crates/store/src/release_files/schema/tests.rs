//! Reader and schema accept the same: the same keys at every table, the same words, the same of many changed files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use domain::ids::TaskId;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::{
    super::{
        assemble::read_head,
        pair, persona,
        problem::{Problem, Problems},
        script,
        sheet::{Sheet, Table},
    },
    formats,
};
use crate::{
    harbor::{Manner, read_task_toml},
    skeletons::Skeleton,
};

/// Samples that hold every key of their format.
const SAMPLES: [(&str, &str); 7] = [
    ("release", include_str!("samples/release.toml")),
    ("persona", include_str!("samples/persona.toml")),
    ("pair", include_str!("samples/pair.toml")),
    ("pair", include_str!("samples/pair_requirements.toml")),
    ("script", include_str!("samples/script.toml")),
    ("task", include_str!("samples/task.toml")),
    ("task", include_str!("samples/old_task.toml")),
];

/// A word that no format knows and that is near to none.
const UNKNOWN: &str = "qqqqqqqqqqqq";

/// What the reader says of a text; nothing means that it accepts it.
fn read(format: &str, text: &str) -> Vec<Problem> {
    let sheet = Sheet::new("sample", text);
    let is_read = match format {
        "release" => sheet.read("a release", read_head).is_some(),
        "persona" => sheet.read("a persona", persona::read).is_some(),
        "pair" => sheet.read("a pair", pair::read).is_some(),
        "script" => sheet.read("a script", script::read).is_some(),
        "task" => {
            let read =
                |root: Table<'_>| read_task_toml(root, TaskId::new("sample"), Manner::Release);
            sheet.read("a task", read).is_some()
        }
        other => panic!("no reader for {other}"),
    };
    let mut problems = Problems::default();
    sheet.finish(&mut problems);
    assert!(is_read || !problems.is_empty(), "{format}: refused without a word\n{text}");
    problems.iter().cloned().collect()
}

fn schema(format: &str) -> Value {
    let found = formats().into_iter().find(|one| one.name == format);
    found.unwrap_or_else(|| panic!("no schema of {format}")).schema
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("a schema")
}

fn data(text: &str) -> Value {
    toml::from_str(text).expect("TOML")
}

/// A table as TOML: every value inline, which is as good as any other way of writing it.
fn as_toml(root: &Value) -> String {
    let Value::Object(map) = root else { panic!("a document is a table") };
    map.iter().map(|(key, value)| format!("{} = {}\n", json!(key), inline(value))).collect()
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let each = map.iter().map(|(key, value)| format!("{} = {}", json!(key), inline(value)));
            format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The place of every value below a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                places(inner, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(map) => {
            for (key, inner) in map {
                places(inner, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// The schemas that decide about the value at a place.
fn deciding<'s>(root: &'s Value, place: &str) -> Vec<&'s Value> {
    let mut current = expanded(root, root);
    for step in place.split('/').skip(1) {
        let inner = current.iter().filter_map(|schema| match step.parse::<usize>() {
            Ok(_) => schema.get("items"),
            Err(_) => schema["properties"].get(step).or_else(|| schema.get("additionalProperties")),
        });
        current = inner.flat_map(|schema| expanded(root, schema)).collect();
    }
    current
}

fn expanded<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = root.pointer(reference.trim_start_matches('#')).expect("a definition");
        return expanded(root, found);
    }
    match (schema.get("properties"), schema["anyOf"].as_array()) {
        (None, Some(any)) => any.iter().flat_map(|inner| expanded(root, inner)).collect(),
        _ => vec![schema],
    }
}

/// Keys and words that a schema knows at a place.
fn known(schemas: &[&Value]) -> BTreeSet<String> {
    let keys = schemas.iter().filter_map(|schema| schema["properties"].as_object());
    let words = schemas.iter().filter_map(|schema| schema["enum"].as_array()).flatten();
    keys.flat_map(|map| map.keys().cloned())
        .chain(words.filter_map(|word| word.as_str().map(str::to_owned)))
        .collect()
}

/// Keys and words that the reader says it knows.
fn listed(problems: &[Problem]) -> Option<BTreeSet<String>> {
    let about = |problem: &&Problem| {
        problem.message.contains(UNKNOWN) || problem.message.contains("keys where one decides")
    };
    let remedy = &problems.iter().find(about)?.remedy;
    let (_, list) = remedy.split_once("known here: ")?;
    Some(list.split(", ").map(|word| word.trim_matches('`').to_owned()).collect())
}

#[test]
fn reader_and_schema_know_the_same_keys_and_words() {
    let mut asked = 0;
    for (format, text) in SAMPLES {
        let (schema, sample) = (schema(format), data(text));
        let mut all = Vec::new();
        places(&sample, "", &mut all);
        for place in all {
            let mut changed = sample.clone();
            match changed.pointer_mut(&place).expect("a place") {
                Value::Object(map) => drop(map.insert(UNKNOWN.to_owned(), json!(1))),
                value @ Value::String(_) => *value = json!(UNKNOWN),
                _ => continue,
            }
            let Some(mut listed) = listed(&read(format, &as_toml(&changed))) else { continue };
            if place.ends_with("/permissions") {
                // `default` is no class, so the reader does not offer it as one.
                listed.insert("default".to_owned());
            }
            let known = known(&deciding(&schema, &place));
            assert_eq!(
                known, listed,
                "{format} {place}: left what the schema knows, right the reader"
            );
            asked += 1;
        }
    }
    assert!(asked > 150, "only {asked} places were asked");
}

/// What is put in the place of each value of a sample.
fn replacements() -> Vec<Value> {
    vec![
        json!(true),
        json!(false),
        json!(""),
        json!("  "),
        json!(UNKNOWN),
        json!("/a/../b"),
        json!("${HOME}"),
        json!("asked"),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(-1.5),
        json!(101),
        json!(5_000_000_000_u64),
        json!([]),
        json!([1]),
        json!([""]),
        json!([UNKNOWN]),
        json!([[UNKNOWN]]),
        json!([[]]),
        json!({}),
        json!({ UNKNOWN: UNKNOWN }),
    ]
}

/// Where the reader looks at more than a schema can say: it refuses, the schema accepts.
fn only_the_reader_refuses(place: &str, value: Option<&Value>) -> bool {
    let last = place.rsplit('/').next().unwrap_or_default();
    match value {
        // A whole number below 0 is refused where one that is not whole is accepted.
        Some(value) if last == "at_least" || place.contains("/is/") => value == &json!(-1),
        // Each host of an allow-list is looked at, and stands where the list is declared.
        _ if place.contains("/allowed_hosts") || last == "network_mode" => true,
        // Paths of artifacts stay inside, names of steps are folders, and each stands once.
        _ if place.contains("/artifacts/") || place.starts_with("/steps/") => true,
        // A separate environment is not shared; an old name must say what the new one says.
        _ => matches!(last, "environment_mode" | "memory" | "memory_mb" | "storage" | "storage_mb"),
    }
}

#[test]
fn reader_and_schema_accept_the_same_of_many_changed_files() {
    let (mut accepted, mut refused) = (0, 0);
    for (format, text) in SAMPLES {
        let validator = validator(&schema(format));
        let sample = data(text);
        let mut check = |changed: &Value, place: &str, value: Option<&Value>| {
            let problems = read(format, &as_toml(changed));
            let is_valid = validator.is_valid(changed);
            if problems.is_empty() {
                accepted += 1;
                let error = validator.validate(changed).err().map(|error| error.to_string());
                assert!(
                    is_valid,
                    "{format} {place} = {value:?}: only the schema refuses: {error:?}"
                );
            } else {
                refused += 1;
                let excused = only_the_reader_refuses(place, value);
                assert!(
                    !is_valid || excused,
                    "{format} {place} = {value:?}: only the reader refuses: {problems:?}"
                );
            }
        };
        check(&sample, "", None);
        let mut all = Vec::new();
        places(&sample, "", &mut all);
        // The classes of a permission table share one schema.
        let is_repeated = |place: &str| {
            place.split_once("/permissions/").is_some_and(|(_, class)| {
                class.contains('/')
                    && !class.starts_with("install")
                    && !class.starts_with("network")
            })
        };
        for place in all[1..].iter().filter(|place| !is_repeated(place)) {
            for value in replacements() {
                let mut changed = sample.clone();
                *changed.pointer_mut(place).expect("a place") = value.clone();
                check(&changed, place, Some(&value));
            }
            let (parent, key) = place.rsplit_once('/').expect("a key");
            let mut without = sample.clone();
            match without.pointer_mut(parent).expect("a parent") {
                Value::Object(map) => drop(map.remove(key)),
                Value::Array(list) => drop(list.remove(key.parse().expect("an index"))),
                _ => continue,
            }
            check(&without, place, None);
        }
    }
    assert!(accepted > 500 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

/// The places of all keys that a schema knows and does not refuse.
fn keys(schema: &Value, at: &str, found: &mut Vec<(String, String)>) {
    let Value::Object(map) = schema else {
        if let Value::Array(list) = schema {
            for (index, inner) in list.iter().enumerate() {
                keys(inner, &format!("{at}/{index}"), found);
            }
        }
        return;
    };
    if let Some(Value::Object(properties)) = map.get("properties") {
        let is_table = map.get("additionalProperties") == Some(&json!(false));
        let own = properties.iter().filter(|(_, inner)| is_table && inner.get("not").is_none());
        found.extend(own.map(|(key, _)| (format!("{at}/properties"), key.clone())));
    }
    for (key, inner) in map {
        keys(inner, &format!("{at}/{key}"), found);
    }
}

#[test]
fn the_samples_hold_every_key() {
    for format in formats().iter().filter(|format| format.name != "lock") {
        let samples: Vec<Value> = SAMPLES
            .iter()
            .filter(|(name, _)| *name == format.name)
            .map(|(_, text)| data(text))
            .collect();
        let mut all = Vec::new();
        keys(&format.schema, "", &mut all);
        assert!(!all.is_empty(), "{}", format.name);
        for (place, key) in all {
            let mut without = format.schema.clone();
            let table = without.pointer_mut(&place).and_then(Value::as_object_mut).expect("keys");
            table.remove(&key);
            let validator = validator(&without);
            assert!(
                samples.iter().any(|sample| !validator.is_valid(sample)),
                "{}: no sample holds `{key}` of {place}: add it to samples/",
                format.name
            );
        }
    }
}

#[test]
fn skeletons_name_every_key() {
    let named = |skeleton: Skeleton<'_>| {
        let files = skeleton.files().into_iter().filter(|file| !file.path.contains("neutral"));
        files.map(|file| (file.path, file.text)).collect::<Vec<_>>()
    };
    let mut files = named(Skeleton::Release { id: "mine", canary: "canary" });
    files.retain(|(path, _)| !path.contains("oracle") && !path.contains("saboteurs"));
    files.extend(named(Skeleton::Script { name: "script" }));
    let mut count = 0;
    for (path, text) in files {
        let Some(name) = format_of(&path).or((path == "script.toml").then_some("script")) else {
            continue;
        };
        let mut all = Vec::new();
        let schema = schema(name);
        keys(&schema, "", &mut all);
        // The keys of checks are too many for a skeleton; it says where they are listed.
        let listed_elsewhere = ["/$defs/check", "/$defs/condition", "/$defs/expression"];
        all.retain(|(place, _)| !listed_elsewhere.iter().any(|below| place.starts_with(below)));
        for (place, key) in all {
            let about = schema.pointer(&format!("{place}/{key}/description"));
            let is_old = about.is_some_and(|about| about.to_string().contains("Old name"));
            assert!(is_old || text.contains(&key), "{path} does not name `{key}` of {place}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// The format of a file of a release by its path.
fn format_of(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["release.toml"] => Some("release"),
        ["release.lock"] => Some("lock"),
        ["personas", _] => Some("persona"),
        ["tasks", _, "task.toml"] => Some("task"),
        ["pairs", _, "pair.toml"] => Some("pair"),
        ["pairs", _, "oracle.toml"] => Some("script"),
        ["pairs", _, "saboteurs" | "evaders" | "liars", _] => Some("script"),
        _ => None,
    }
}

#[test]
fn files_of_bundled_releases_are_valid() {
    let validators: BTreeMap<&str, Validator> =
        formats().iter().map(|format| (format.name, validator(&format.schema))).collect();
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    for release in ["tiny", "starter"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases").join(release);
        for entry in walkdir::WalkDir::new(&root) {
            let entry = entry.expect("an entry");
            let path = entry.path().strip_prefix(&root).expect("below").to_string_lossy();
            let Some(format) = format_of(&path).filter(|_| entry.file_type().is_file()) else {
                continue;
            };
            let text = fs::read_to_string(entry.path()).expect("a text");
            let value = if format == "lock" { json!(text) } else { data(&text) };
            let errors: Vec<String> = validators[format]
                .iter_errors(&value)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{release}/{path}: {errors:?}");
            *count.entry(format).or_default() += 1;
        }
    }
    assert_eq!(count.len(), formats().len(), "{count:?}");
}

#[test]
fn a_damaged_lock_is_no_lock() {
    let validator = validator(&schema("lock"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases/tiny/release.lock");
    let lock = fs::read_to_string(path).expect("a lock");
    let check = |from: &str, to: &str, expect: bool| {
        let changed = json!(lock.replacen(from, to, 1));
        assert_eq!(validator.is_valid(&changed), expect, "{from} → {to}");
    };
    check("", "", true);
    check("pcb-release-lock 1", "pcb-release-lock 2", false);
    check("digest ", "digest", false);
    check(" - ", " w ", false);
    check(" x ", "", false);
}
