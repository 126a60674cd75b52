//! Builds JSON Schemas in the words of the release reader: one [`Shape`] for each way in which a value is read.

use serde_json::{Map, Value, json};

/// A text that is not blank.
const FILLED: &str = "\\S";

/// The schema of one value.
#[derive(Clone, Debug)]
pub(super) struct Shape(Map<String, Value>);

/// A key of a table with its schema.
pub(super) struct Key {
    name: &'static str,
    shape: Shape,
    is_needed: bool,
}

/// A key that must be there.
pub(super) fn need(name: &'static str, about: &str, shape: Shape) -> Key {
    Key { name, shape: shape.says(about), is_needed: true }
}

/// A key that may be absent.
pub(super) fn may(name: &'static str, about: &str, shape: Shape) -> Key {
    Key { name, shape: shape.says(about), is_needed: false }
}

impl Shape {
    pub(super) fn of(schema: Value) -> Self {
        match schema {
            Value::Object(map) => Shape(map),
            other => Shape(Map::from_iter([("const".to_owned(), other)])),
        }
    }

    /// A text that is not blank.
    pub(super) fn text() -> Self {
        Self::of(json!({ "type": "string", "pattern": FILLED }))
    }

    /// A text of a pattern.
    pub(super) fn pattern(pattern: &str) -> Self {
        Self::of(json!({ "type": "string", "pattern": pattern }))
    }

    /// A text that may be blank.
    pub(super) fn any_text() -> Self {
        Self::of(json!({ "type": "string" }))
    }

    pub(super) fn texts() -> Self {
        Self::list(Self::text())
    }

    pub(super) fn flag() -> Self {
        Self::of(json!({ "type": "boolean" }))
    }

    /// A whole number from 0, of 63 bits.
    pub(super) fn whole() -> Self {
        Self::of(json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }))
    }

    /// A whole number from 0, of 32 bits.
    pub(super) fn small() -> Self {
        Self::of(json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }))
    }

    /// A whole number from 1, of 32 bits.
    pub(super) fn count() -> Self {
        Self::of(json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }))
    }

    /// A number.
    pub(super) fn number() -> Self {
        Self::of(json!({ "type": "number" }))
    }

    /// A number above 0.
    pub(super) fn positive() -> Self {
        Self::of(json!({ "type": "number", "exclusiveMinimum": 0 }))
    }

    /// One of some words.
    pub(super) fn word(words: &[&str]) -> Self {
        Self::of(json!({ "type": "string", "enum": words }))
    }

    pub(super) fn words(words: &[&str]) -> Self {
        Self::list(Self::word(words))
    }

    pub(super) fn list(each: Shape) -> Self {
        Self::of(json!({ "type": "array", "items": each.0 }))
    }

    /// A list with something in it.
    pub(super) fn filled_list(each: Shape) -> Self {
        Self::of(json!({ "type": "array", "items": each.0, "minItems": 1 }))
    }

    /// A table whose keys are names of the author's.
    pub(super) fn named(each: Shape) -> Self {
        Self::of(json!({ "type": "object", "additionalProperties": each.0 }))
    }

    /// A table of which nothing is read.
    pub(super) fn free() -> Self {
        Self::of(json!({ "type": "object" }))
    }

    /// What is known and refused.
    pub(super) fn refused() -> Self {
        Self::of(json!({ "not": {} }))
    }

    pub(super) fn any_of(shapes: impl IntoIterator<Item = Shape>) -> Self {
        let shapes: Vec<_> = shapes.into_iter().map(|shape| shape.0).collect();
        Self::of(json!({ "anyOf": shapes }))
    }

    /// What stands below `$defs`.
    pub(super) fn defined(name: &str) -> Self {
        Self::of(json!({ "$ref": format!("#/$defs/{name}") }))
    }

    /// A table with these keys and no others.
    pub(super) fn table(keys: impl IntoIterator<Item = Key>) -> Self {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for key in keys {
            if key.is_needed {
                required.push(key.name);
            }
            properties.insert(key.name.to_owned(), Value::Object(key.shape.0));
        }
        let table = json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        let table = Self::of(table);
        // Older dialects, which some editors speak, want no empty list here.
        if required.is_empty() { table } else { table.with("required", json!(required)) }
    }

    /// A table with exactly one of these keys.
    pub(super) fn one_key(keys: impl IntoIterator<Item = Key>) -> Self {
        Self::table(keys).with("minProperties", json!(1)).with("maxProperties", json!(1))
    }

    /// A plain word, or a table with exactly one key.
    pub(super) fn variant(words: &[&str], keys: impl IntoIterator<Item = Key>) -> Self {
        Self::any_of([Self::word(words), Self::one_key(keys)])
    }

    /// At least one of these keys is there.
    pub(super) fn demands(self, keys: &[&str]) -> Self {
        let each: Vec<Value> = keys.iter().map(|key| json!({ "required": [key] })).collect();
        self.with("anyOf", json!(each))
    }

    /// What it means.
    pub(super) fn says(self, about: &str) -> Self {
        if about.is_empty() { self } else { self.with("description", json!(about)) }
    }

    /// What is meant if it is absent.
    pub(super) fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value.into())
    }

    /// One keyword more.
    pub(super) fn with(mut self, keyword: &str, value: Value) -> Self {
        self.0.insert(keyword.to_owned(), value);
        self
    }

    /// A whole document.
    pub(super) fn document(self, title: &str, definitions: Vec<(&str, Shape)>) -> Value {
        let mut document = Map::new();
        let dialect = "https://json-schema.org/draft/2020-12/schema";
        document.insert("$schema".to_owned(), json!(dialect));
        document.insert("title".to_owned(), json!(title));
        document.extend(self.0);
        if !definitions.is_empty() {
            let each = definitions.into_iter().map(|(name, shape)| (name.to_owned(), shape.0));
            let each: Map<String, Value> = each.map(|(n, s)| (n, Value::Object(s))).collect();
            document.insert("$defs".to_owned(), Value::Object(each));
        }
        Value::Object(document)
    }
}
