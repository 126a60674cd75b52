//! Lints of where a pair can run: at least one of its sandboxes gives what its task asks for.

use alloc::format;

use super::{NotePath, Scope, note::Notes};

/// The sandboxes of a pair against its task.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    let sandboxes = &scope.pair.environment.sandboxes;
    let found = sandboxes.iter().map(|sandbox| scope.task.unsupported_by(sandbox));
    // What the nearest of them lacks says the most.
    let Some(least) = found.min_by_key(alloc::vec::Vec::len) else { return };
    for unsupported in least {
        let key = unsupported.key.unwrap_or_default().into();
        notes.error(
            NotePath::Task(scope.task.id.clone(), key),
            format!("{}: no sandbox of pair {} gives it", unsupported.what, scope.pair.id),
            unsupported.remedy,
        );
    }
}
