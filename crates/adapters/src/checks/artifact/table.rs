//! Whether a text is a table of one width with a heading (CSV), and the one that is asked for ([`fault`]).

use domain::release::ArtifactCheck;

/// What keeps the text from being the table that is asked for.
pub(super) fn fault(text: &str, demand: &ArtifactCheck) -> Option<String> {
    // Pages and documents hold commas too.
    if text.trim_start().starts_with('<') || serde_json::from_str::<serde_json::Value>(text).is_ok()
    {
        return Some("it is another format under this name".into());
    }
    let Ok(delimiter) = u8::try_from(demand.delimiter) else {
        return Some(format!("{:?} cannot separate fields", demand.delimiter));
    };
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text.as_bytes());
    let heading: Vec<String> = match reader.headers() {
        Ok(names) => names.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => return Some(error.to_string()),
    };
    if heading.iter().any(String::is_empty) {
        return Some("a column has no name".into());
    }
    if heading.len() < 2 && demand.columns.len() != 1 {
        return Some("it has one column".into());
    }
    if !demand.columns.is_empty() && heading != demand.columns {
        return Some(format!("its columns are {}", heading.join(", ")));
    }
    let mut rows = 0_u32;
    for record in reader.records() {
        match record {
            Ok(_) => rows = rows.saturating_add(1),
            Err(error) => return Some(error.to_string()),
        }
    }
    let least = demand.rows_min.unwrap_or(0);
    (rows < least).then(|| format!("it has {rows} rows"))
}
