//! JSON Schemas of what is printed as JSON for other programs ([`formats`]), derived from the contexts themselves.

use schemars::{JsonSchema, generate::SchemaSettings};
use store::schema::Format;

use crate::context::{
    CalibrationContext, GroupContext, RereadingContext, StoryContext,
    export::{JobFacts, SessionExtra, StepExtra},
};

/// The formats of tables, stories, calibrations and exports.
pub fn formats() -> Vec<Format> {
    vec![
        format::<GroupContext>("report", "pcb report --format json, derived/report.json"),
        format::<StoryContext>("story", "pcb show --json"),
        format::<CalibrationContext>("calibration", "pcb calibrate --format json"),
        format::<RereadingContext>("rereading", "pcb calibrate --from FOLDER --format json"),
        format::<JobFacts>("harbor-job", "pcb export harbor: `job` of pcb.json"),
        format::<SessionExtra>("harbor-session", "pcb export harbor: `extra.pcb` of a trajectory"),
        format::<StepExtra>("harbor-step", "pcb export harbor: `extra.pcb` of a trajectory's step"),
    ]
}

fn format<T: JsonSchema>(name: &'static str, files: &'static str) -> Format {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), name.into());
    Format { name, files, schema: schema.to_value() }
}
