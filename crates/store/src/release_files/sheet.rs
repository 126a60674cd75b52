//! One TOML file parsed to spanned tables: [`Sheet`], read table by table so that every problem is collected.

use std::{cell::RefCell, collections::BTreeMap, ops::Range};

use domain::release::{Cell, lint::suggest};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::problem::{Problem, Problems, Spot};

/// A TOML file with what was found wrong and where each key stands.
pub(crate) struct Sheet<'t> {
    file: &'t str,
    text: &'t str,
    unknown_keys: UnknownKeys,
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    spans: RefCell<BTreeMap<String, Range<usize>>>,
}

/// What becomes of keys that nothing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownKeys {
    /// They are problems.
    Refuse,
    /// They are warnings.
    Warn,
}

impl<'t> Sheet<'t> {
    pub(crate) fn new(file: &'t str, text: &'t str) -> Self {
        Self {
            file,
            text,
            unknown_keys: UnknownKeys::Refuse,
            problems: RefCell::default(),
            warnings: RefCell::default(),
            spans: RefCell::default(),
        }
    }

    /// The same, with what becomes of keys that nothing reads.
    pub(crate) fn with_unknown_keys(self, unknown_keys: UnknownKeys) -> Self {
        Self { unknown_keys, ..self }
    }

    /// Parses and hands the root table to `read`; a file with syntax errors is not read any further.
    pub(crate) fn read<T>(
        &self,
        what: &str,
        read: impl FnOnce(Table<'_>) -> Option<T>,
    ) -> Option<T> {
        let (root, errors) = DeTable::parse_recoverable(self.text);
        if errors.is_empty() {
            return read(Table {
                sheet: self,
                table: root.get_ref(),
                span: 0..0,
                what: what.to_owned(),
                path: String::new(),
                asked: RefCell::default(),
            });
        }
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let remedy = "write it as TOML wants it (toml.io)";
            self.problem(span, format!("syntax error: {}", error.message()), remedy);
        }
        None
    }

    pub(crate) fn problem(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let problem = self.described(span, message.into(), remedy.into());
        self.problems.borrow_mut().push(problem);
    }

    fn warning(&self, span: Range<usize>, message: impl Into<String>, remedy: impl Into<String>) {
        let warning = self.described(span, message.into(), remedy.into());
        self.warnings.borrow_mut().push(warning);
    }

    fn described(&self, span: Range<usize>, message: String, remedy: String) -> Problem {
        let spot = Some(Spot::new(self.text, span));
        Problem { file: self.file.to_owned(), spot, message, remedy }
    }

    /// Hands over what was found: problems, and the place of each key by its path.
    pub(crate) fn finish(self, problems: &mut Problems) -> BTreeMap<String, Range<usize>> {
        problems.add_source(self.file, self.text);
        for problem in self.problems.into_inner() {
            problems.add(problem);
        }
        for warning in self.warnings.into_inner() {
            problems.warn(warning);
        }
        self.spans.into_inner()
    }

    fn remember(&self, path: &str, span: Range<usize>) {
        self.spans.borrow_mut().entry(path.to_owned()).or_insert(span);
    }
}

/// A table of a sheet; it knows which keys were asked for, so that the others can be refused.
pub(crate) struct Table<'s> {
    sheet: &'s Sheet<'s>,
    table: &'s DeTable<'s>,
    span: Range<usize>,
    what: String,
    path: String,
    asked: RefCell<Vec<&'static str>>,
}

impl<'s> Table<'s> {
    /// The value of a key that may be absent.
    pub(crate) fn get(&self, key: &'static str) -> Option<Value<'s>> {
        self.asked.borrow_mut().push(key);
        let value = self.table.get(key)?;
        Some(self.value(key, value))
    }

    /// The value of a key that must be there.
    pub(crate) fn need(&self, key: &'static str) -> Option<Value<'s>> {
        let found = self.get(key);
        if found.is_none() {
            self.problem(
                format!("{} lacks the key `{key}`", self.what),
                format!("add `{key} = …`"),
            );
        }
        found
    }

    /// What `read` makes of a key that must be there; none if it is absent or wrong.
    pub(crate) fn req<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Value<'s>) -> Option<T>,
    ) -> Option<T> {
        read(&self.need(key)?)
    }

    /// What `read` makes of a key that may be absent; none only if it is wrong.
    pub(crate) fn opt<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Value<'s>) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(key) {
            None => Some(None),
            Some(value) => read(&value).map(Some),
        }
    }

    /// As [`Table::opt`] with a default for what is absent.
    pub(crate) fn or<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Value<'s>) -> Option<T>,
    ) -> Option<T> {
        self.opt(key, read).map(|value| value.unwrap_or(default))
    }

    /// Every entry in order of the file, for tables whose keys are names.
    pub(crate) fn entries(&self) -> Vec<(String, Range<usize>, Value<'s>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let value = self.value(&name, value);
                (name, key.span(), value)
            })
            .collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    /// Says that something about the whole table is wrong.
    pub(crate) fn problem(&self, message: impl Into<String>, remedy: impl Into<String>) {
        self.sheet.problem(self.span.clone(), message, remedy);
    }

    /// Says that a key is wrong.
    pub(crate) fn problem_at_key(
        &self,
        key: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let found = self.table.keys().find(|known| known.get_ref().as_ref() == key);
        let span = found.map_or(self.span.clone(), Spanned::span);
        self.sheet.problem(span, message, remedy);
    }

    /// Names the table by what its `key` holds, so that its keys can be found by that name.
    pub(crate) fn named_by(mut self, prefix: &str, key: &'static str) -> Self {
        if let Some(name) = self.table.get(key).and_then(|value| value.get_ref().as_str()) {
            self.path = format!("{prefix}.{name}");
            self.sheet.remember(&self.path, self.span.clone());
        }
        self
    }

    /// Lets its keys be found directly below `value`, without the word of the variant between them.
    pub(crate) fn found_below(mut self, value: &Value<'_>) -> Self {
        self.path.clone_from(&value.path);
        self
    }

    /// Refuses every key that nobody asked for, or warns of it.
    pub(crate) fn finish(self) {
        let asked = self.asked.borrow();
        for key in self.table.keys() {
            if asked.contains(&key.get_ref().as_ref()) {
                continue;
            }
            let message = format!("unknown key `{}` in {}", key.get_ref(), self.what);
            let remedy = suggest::remedy(key.get_ref(), asked.iter().copied());
            match self.sheet.unknown_keys {
                UnknownKeys::Refuse => self.sheet.problem(key.span(), message, remedy),
                UnknownKeys::Warn => self.sheet.warning(key.span(), message, remedy),
            }
        }
    }

    fn value(&self, key: &str, value: &'s Spanned<DeValue<'s>>) -> Value<'s> {
        let path =
            if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        self.sheet.remember(&path, value.span());
        Value { sheet: self.sheet, value, name: key.to_owned(), path }
    }
}

/// A value of a sheet.
#[derive(Clone)]
pub(crate) struct Value<'s> {
    sheet: &'s Sheet<'s>,
    value: &'s Spanned<DeValue<'s>>,
    name: String,
    path: String,
}

/// A value that stands for one of several kinds: a plain word, or a table with exactly one key.
pub(crate) enum Variant<'s> {
    /// A plain word.
    Unit(String),
    /// A key with its value.
    Tagged(String, Value<'s>),
}

impl<'s> Value<'s> {
    pub(crate) fn text(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => self.wrong("a text in quotes"),
        }
    }

    /// A text that is not blank.
    pub(crate) fn filled_text(&self) -> Option<String> {
        let text = self.text()?;
        if text.trim().is_empty() {
            self.problem(format!("`{}` is empty", self.name), "write something between the quotes");
            return None;
        }
        Some(text)
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong("`true` or `false`"),
        }
    }

    pub(crate) fn u64(&self) -> Option<u64> {
        let DeValue::Integer(number) = self.value.get_ref() else {
            return self.wrong("a whole number");
        };
        let parsed = u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok();
        // What lies beyond is refused too: no number of a release is that large, and logs hold 63 bits.
        match parsed.filter(|value| *value <= i64::MAX as u64) {
            Some(value) => Some(value),
            None => self.wrong("a whole number from 0"),
        }
    }

    pub(crate) fn u32(&self) -> Option<u32> {
        let value = self.u64()?;
        match u32::try_from(value) {
            Ok(value) => Some(value),
            Err(_) => self.wrong("a whole number below 4294967296"),
        }
    }

    /// A whole number from 1.
    pub(crate) fn count(&self) -> Option<u32> {
        match self.u32()? {
            0 => self.wrong("a whole number from 1"),
            value => Some(value),
        }
    }

    /// A number, whole or not, finite.
    pub(crate) fn number(&self) -> Option<f64> {
        let parsed = match self.value.get_ref() {
            DeValue::Integer(_) => return self.u64().map(|value| value as f64),
            DeValue::Float(number) => number.as_str().replace('_', "").parse::<f64>().ok(),
            _ => return self.wrong("a number"),
        };
        match parsed.filter(|value| value.is_finite()) {
            Some(value) => Some(value),
            None => self.wrong("a finite number"),
        }
    }

    /// A number of either sign, whole or not, finite.
    pub(crate) fn signed(&self) -> Option<f64> {
        match self.cell()? {
            Cell::Integer(value) => Some(value as f64),
            Cell::Real(value) => Some(value),
            _ => self.wrong("a number"),
        }
    }

    /// A number from 0, for pauses.
    pub(crate) fn not_negative(&self) -> Option<f64> {
        match self.number()? {
            value if value >= 0.0 => Some(value),
            _ => self.wrong("a number from 0"),
        }
    }

    /// A number above 0, for times and sizes.
    pub(crate) fn positive(&self) -> Option<f64> {
        match self.number()? {
            value if value > 0.0 => Some(value),
            _ => self.wrong("a number above 0"),
        }
    }

    pub(crate) fn list(&self) -> Option<Vec<Value<'s>>> {
        let DeValue::Array(list) = self.value.get_ref() else {
            return self.wrong("a list in square brackets");
        };
        let element = |(at, value): (usize, &'s Spanned<DeValue<'s>>)| {
            let path = format!("{}.{at}", self.path);
            self.sheet.remember(&path, value.span());
            Value { sheet: self.sheet, value, name: self.name.clone(), path }
        };
        Some(list.iter().enumerate().map(element).collect())
    }

    /// Texts that may be blank.
    pub(crate) fn any_texts(&self) -> Option<Vec<String>> {
        let list = self.list()?;
        let count = list.len();
        let texts: Vec<String> = list.iter().filter_map(Value::text).collect();
        (texts.len() == count).then_some(texts)
    }

    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        let list = self.list()?;
        let count = list.len();
        let texts: Vec<String> = list.iter().filter_map(Value::filled_text).collect();
        (texts.len() == count).then_some(texts)
    }

    pub(crate) fn table(&self, what: impl Into<String>) -> Option<Table<'s>> {
        let DeValue::Table(table) = self.value.get_ref() else {
            return self.wrong("a table");
        };
        Some(Table {
            sheet: self.sheet,
            table,
            span: self.value.span(),
            what: what.into(),
            path: self.path.clone(),
            asked: RefCell::default(),
        })
    }

    /// Reads a list of tables; each must be readable.
    pub(crate) fn tables(&self, what: &str) -> Option<Vec<Table<'s>>> {
        let list = self.list()?;
        let count = list.len();
        let tables: Vec<_> = list.iter().filter_map(|value| value.table(what)).collect();
        (tables.len() == count).then_some(tables)
    }

    /// One word of a closed set.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            self.unknown_word(&text, words.iter().map(|(word, _)| *word));
        }
        found
    }

    /// A list of words of a closed set.
    pub(crate) fn words<T: Copy>(&self, words: &[(&str, T)]) -> Option<Vec<T>> {
        let list = self.list()?;
        let count = list.len();
        let found: Vec<T> = list.iter().filter_map(|value| value.word(words)).collect();
        (found.len() == count).then_some(found)
    }

    /// A plain word or a table with one key; `known` is named when it is neither.
    pub(crate) fn variant(&self, known: &[&str]) -> Option<Variant<'s>> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(Variant::Unit(text.to_string())),
            DeValue::Table(table) if table.len() == 1 => {
                let (key, value) = table.iter().next()?;
                let name = key.get_ref().to_string();
                let path = format!("{}.{name}", self.path);
                self.sheet.remember(&path, value.span());
                let value = Value { sheet: self.sheet, value, name: name.clone(), path };
                Some(Variant::Tagged(name, value))
            }
            DeValue::Table(table) => {
                let message = format!("`{}` has {} keys where one decides", self.name, table.len());
                self.problem(message, suggest::remedy("", known.iter().copied()));
                None
            }
            _ => self.wrong("a word in quotes or a table with one key"),
        }
    }

    pub(crate) fn unknown_word<'w>(&self, word: &str, known: impl IntoIterator<Item = &'w str>) {
        let message = format!("unknown word `{word}` for `{}`", self.name);
        self.problem(message, suggest::remedy(word, known));
    }

    pub(crate) fn problem(&self, message: impl Into<String>, remedy: impl Into<String>) {
        self.sheet.problem(self.value.span(), message, remedy);
    }

    pub(crate) fn warning(&self, message: impl Into<String>, remedy: impl Into<String>) {
        self.sheet.warning(self.value.span(), message, remedy);
    }

    fn wrong<T>(&self, wanted: &str) -> Option<T> {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "this number",
            DeValue::Boolean(_) => "a truth value",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` wants {wanted}, not {found}", self.name);
        self.problem(message, format!("write {wanted}"));
        None
    }
}

impl Value<'_> {
    pub(crate) fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub(crate) fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub(crate) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub(crate) fn is_number(&self) -> bool {
        self.value.get_ref().is_integer()
    }

    /// A whole number of either sign, a real one, or a text.
    pub(crate) fn cell(&self) -> Option<Cell> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(Cell::Text(text.to_string())),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                match i64::from_str_radix(&digits, number.radix()) {
                    Ok(value) => Some(Cell::Integer(value)),
                    Err(_) => self.wrong("a whole number of 64 bits"),
                }
            }
            DeValue::Float(_) => self.number().map(Cell::Real),
            _ => self.wrong("a number or a text"),
        }
    }
}
