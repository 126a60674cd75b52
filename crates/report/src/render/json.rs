//! Contexts as JSON, for programs.

use crate::context::{CompareContext, GroupContext, StoryContext};

/// A group as pretty JSON with a final newline.
pub fn group_json(group: &GroupContext) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(group)? + "\n")
}

/// A comparison as pretty JSON with a final newline.
pub fn compare_json(context: &CompareContext) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(context)? + "\n")
}

/// A story as pretty JSON with a final newline.
pub fn story_json(story: &StoryContext) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(story)? + "\n")
}
