//! View data: what a table or a story shows, before any markup. Every renderer reads these and nothing else.

mod calibration;
mod compare;
pub mod export;
mod group;
mod header;
mod model_use;
mod page;
mod story;
mod table;
mod words;

pub use calibration::{
    BreachLine, CalibratedAgent, CalibratedCell, CalibratedPair, CalibrationContext, ExcludedPair,
    RereadingContext, calibration, rereading,
};
pub(crate) use calibration::{counted, matrix_table};
pub use compare::{
    Cell, CompareContext, ComparedRun, Comparison, DifferenceContext, Incomparable, Pairing,
    ReasonLine, compare, compare_tables,
};
pub use group::{
    AreaContext, CensusContext, GroupContext, NamedCount, RateContext, RowContext, RunView,
    SessionLine, StratumContext, TwoByTwoContext, group,
};
pub use header::{Aspect, HeaderContext};
pub(crate) use model_use::usd_words;
pub use model_use::{CallStory, ModelStory, ModelUse, UseSum};
pub use page::{DeclaredPair, PageContext, RunFacts, SessionEntry, SessionRow};
pub use story::{
    ActStory, Archive, ArtifactFile, ArtifactStory, ChangedFile, CheckLook, CheckStory,
    CompletionStory, DiffLine, Difference, EventStory, FileStory, FlagStory, HookStory, Lane,
    LaneCell, LaneStep, LineKind, LogPlaces, LookStory, OccurrenceStory, PlanLine, RanProgram,
    ReadingStory, SessionFacts, Stage, StepStory, StoryContext, StorySources, TextStory, ToldWork,
    ToolStory, TurnStory, WorkStory, story,
};
pub use table::{Table, tables};
pub(crate) use table::{TableKind, tables_by_kind};
