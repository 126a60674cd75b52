//! The tables of the benchmark's paper as data ([`Published`]): read from their files, printed as they stand, and
//! recomputed where their parts allow it.

mod data;
mod fit;
mod recompute;
mod show;

pub use data::{
    Ablation, Ablations, Composition, Conditional, ConditionalRow, FullAndLite, Leaderboard,
    LeaderboardRow, Observation, Observations, PersonaCell, PersonaRow, Personas, Published,
    PublishedError, Source, SuitePairs, TableName, Watchdog, Watchdogs,
};
pub use recompute::{Difference, Recomputed, recompute};
pub use show::published_tables;
