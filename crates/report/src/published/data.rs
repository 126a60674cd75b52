//! What the files of `published/` hold ([`Published`]); every key is known, so that a slip in a file is an error.

use std::collections::BTreeMap;

use super::fit::fit;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Figures by suite.
pub type BySuite<T> = BTreeMap<String, T>;

/// All published tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// How many pairs and requirements Full and Lite have.
    pub composition: Composition,
    /// Joint passes of all configurations by suite.
    pub leaderboard: Leaderboard,
    /// Each reported result with its protocol.
    pub observations: Observations,
    /// One configuration by persona and suite.
    pub personas: Personas,
    /// One configuration in each arm.
    pub ablations: Ablations,
    /// Results over chosen sets of tasks.
    pub conditional: Conditional,
    /// Limits of the phases of a session.
    pub watchdogs: Watchdogs,
}

/// A published table; its name is that of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableName {
    /// [`Composition`].
    Composition,
    /// [`Leaderboard`].
    Leaderboard,
    /// [`Observations`].
    Observations,
    /// [`Personas`].
    Personas,
    /// [`Ablations`].
    Ablations,
    /// [`Conditional`].
    Conditional,
    /// [`Watchdogs`].
    Watchdogs,
}

impl TableName {
    /// All, in the order in which they are shown.
    pub const ALL: [TableName; 7] = [
        TableName::Composition,
        TableName::Leaderboard,
        TableName::Observations,
        TableName::Personas,
        TableName::Ablations,
        TableName::Conditional,
        TableName::Watchdogs,
    ];

    /// The name, and that of its file without `.json`.
    pub fn name(self) -> &'static str {
        match self {
            TableName::Composition => "composition",
            TableName::Leaderboard => "leaderboard",
            TableName::Observations => "observations",
            TableName::Personas => "personas",
            TableName::Ablations => "ablations",
            TableName::Conditional => "conditional",
            TableName::Watchdogs => "watchdogs",
        }
    }

    /// The file as it came with this build.
    pub fn bundled(self) -> &'static str {
        match self {
            TableName::Composition => include_str!("../../../../published/composition.json"),
            TableName::Leaderboard => include_str!("../../../../published/leaderboard.json"),
            TableName::Observations => include_str!("../../../../published/observations.json"),
            TableName::Personas => include_str!("../../../../published/personas.json"),
            TableName::Ablations => include_str!("../../../../published/ablations.json"),
            TableName::Conditional => include_str!("../../../../published/conditional.json"),
            TableName::Watchdogs => include_str!("../../../../published/watchdogs.json"),
        }
    }
}

/// A file of published figures cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// It is not such a file.
    #[error("{table}.json: {source}; every key is described in published/README.md")]
    Format {
        /// The table's name.
        table: &'static str,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// It holds what no table can hold.
    #[error("{table}.json: {place}: {what}")]
    Unfit {
        /// The table's name.
        table: &'static str,
        /// Which key or row.
        place: String,
        /// What is wrong, and what it must be.
        what: &'static str,
    },
}

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its document.
    pub document: String,
    /// The table's place in the document.
    pub table: String,
    /// The document's date, as YYYY-MM-DD.
    pub published: String,
    /// When the figures were last compared with the document.
    pub reviewed: String,
}

/// Declares a table: what all have in common, and its own keys.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Its name.
            pub id: String,
            /// What it shows.
            pub title: String,
            /// Its document.
            pub document: String,
            /// The document's date.
            pub published: String,
            /// The table's place in the document.
            pub table: String,
            /// When the figures were last compared with the document.
            pub reviewed: String,
            /// What a reader must know.
            pub notes: Vec<String>,
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $name {
            /// Where it comes from.
            pub fn source(&self) -> Source {
                Source {
                    document: self.document.clone(),
                    table: self.table.clone(),
                    published: self.published.clone(),
                    reviewed: self.reviewed.clone(),
                }
            }
        }
    };
}

table! {
    /// How many pairs and requirements Full and Lite have.
    Composition {
        /// Printed total of the suites.
        pairs: FullAndLite,
        /// Requirements.
        requirements: FullAndLite,
        /// Distinct ids of personas.
        persona_ids: FullAndLite,
        /// Pairs by suite.
        rows: Vec<SuitePairs>,
    }
}

/// A count of each of the two releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullAndLite {
    /// In Full.
    pub full: u32,
    /// In Lite.
    pub lite: u32,
}

/// Pairs of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuitePairs {
    /// The suite.
    pub suite: String,
    /// In Full.
    pub full: u32,
    /// In Lite.
    pub lite: u32,
}

table! {
    /// Joint passes of all configurations by suite.
    Leaderboard {
        /// Assigned pairs of each row.
        assigned: u32,
        /// Assigned pairs by suite.
        suites_assigned: BySuite<u32>,
        /// One row a configuration.
        rows: Vec<LeaderboardRow>,
    }
}

/// A configuration of the leaderboard. Percentages are as printed, with one decimal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaderboardRow {
    /// The agent's model.
    pub model: String,
    /// Its effort.
    pub effort: String,
    /// Joint passes of all assigned pairs.
    pub joint_percent: f64,
    /// Joint passes of a suite's assigned pairs.
    pub suites_percent: BySuite<f64>,
    /// What sets the row apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

table! {
    /// Each reported result with its protocol.
    Observations {
        /// The figures' unit.
        unit: String,
        /// What the rows' protocols say.
        protocols: BTreeMap<String, BTreeMap<String, String>>,
        /// One row an observation.
        rows: Vec<Observation>,
    }
}

/// A reported result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The agent's model.
    pub model: String,
    /// Its effort.
    pub effort: String,
    /// Name of its protocol.
    pub protocol: String,
    /// Joint passes.
    pub percent: f64,
    /// What sets it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

table! {
    /// One configuration by persona and suite.
    Personas {
        /// The agent's model.
        model: String,
        /// Its effort.
        effort: String,
        /// The printed totals.
        total: BySuite<PersonaCell>,
        /// One row a persona.
        rows: Vec<PersonaRow>,
    }
}

/// A persona's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonaRow {
    /// The persona.
    pub persona: String,
    /// By suite; a suite that is missing had no assigned pair.
    pub suites: BySuite<PersonaCell>,
}

/// Joint passes of a persona in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonaCell {
    /// As printed.
    pub percent: f64,
    /// Joint passes.
    pub joint: u32,
    /// Assigned pairs.
    pub assigned: u32,
}

table! {
    /// One configuration in each arm.
    Ablations {
        /// The agent's model.
        model: String,
        /// Its effort.
        effort: String,
        /// Assigned pairs of each arm.
        assigned: u32,
        /// One row an arm.
        rows: Vec<Ablation>,
    }
}

/// An arm's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ablation {
    /// The arm.
    pub arm: String,
    /// As printed; in the arm without persona it is native completion.
    pub joint_percent: f64,
    /// Native completion.
    pub completion_percent: f64,
    /// All mandatory requirements met; none without persona.
    pub personalization_percent: Option<f64>,
}

table! {
    /// Results over chosen sets of tasks.
    Conditional {
        /// One row a setting.
        rows: Vec<ConditionalRow>,
    }
}

/// A setting's result over its set of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionalRow {
    /// The agent's model.
    pub model: String,
    /// Its effort.
    pub effort: String,
    /// What the budget is multiplied by.
    pub budget_multiplier: u32,
    /// Tasks without a timeout in all settings that are compared.
    pub common_tasks: u32,
    /// Joint passes of these.
    pub conditional_percent: f64,
}

table! {
    /// Limits of the phases of a session.
    Watchdogs {
        /// One row a phase.
        rows: Vec<Watchdog>,
    }
}

/// A phase's limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// The phase.
    pub phase: String,
    /// Seconds; none if it depends on the task.
    pub limit_sec: Option<u32>,
    /// Least limit in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_sec: Option<u32>,
    /// Seconds beyond the verifier's own timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_verifier_timeout_sec: Option<u32>,
    /// Whether it can be set for a run.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub overridable: Option<String>,
    /// What running out of it counts as.
    pub exhaustion: String,
    /// What becomes of the grades.
    pub grades: String,
}

impl Published {
    /// The tables as they came with this build.
    ///
    /// # Errors
    /// A file that does not read.
    pub fn bundled() -> Result<Self, PublishedError> {
        Self::read(|name| name.bundled().to_owned())
    }

    /// The tables of the given files.
    ///
    /// # Errors
    /// The first file that does not read, with line and column.
    pub fn read(text_of: impl Fn(TableName) -> String) -> Result<Self, PublishedError> {
        let published = Self {
            composition: parsed(TableName::Composition, &text_of)?,
            leaderboard: parsed(TableName::Leaderboard, &text_of)?,
            observations: parsed(TableName::Observations, &text_of)?,
            personas: parsed(TableName::Personas, &text_of)?,
            ablations: parsed(TableName::Ablations, &text_of)?,
            conditional: parsed(TableName::Conditional, &text_of)?,
            watchdogs: parsed(TableName::Watchdogs, &text_of)?,
        };
        fit(&published)?;
        Ok(published)
    }
}

fn parsed<T: DeserializeOwned>(
    name: TableName,
    text_of: &impl Fn(TableName) -> String,
) -> Result<T, PublishedError> {
    serde_json::from_str(&text_of(name))
        .map_err(|source| PublishedError::Format { table: name.name(), source })
}
