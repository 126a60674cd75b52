//! Which paths a check counts ([`Reach`]).

use alloc::string::String;

use crate::acceptance::glob::Globs;

/// Paths under some patterns and not under others.
///
/// No pattern means everything below the working directory. Git's own files are reached only by a pattern that
/// names `.git`: looking at a repository already rewrites its index, and the check `git` judges the rest.
#[derive(Clone, Debug)]
pub struct Reach {
    under: Globs,
    except: Globs,
    names_git: bool,
}

impl Reach {
    /// Patterns count from the working directory unless they are absolute.
    pub fn new(workdir: &str, under: &[String], except: &[String]) -> Self {
        let all = [String::from("**")];
        let under = if under.is_empty() { &all[..] } else { under };
        Self {
            under: Globs::below(workdir, under),
            except: Globs::below(workdir, except),
            names_git: under.iter().any(|pattern| pattern.split('/').any(|part| part == ".git")),
        }
    }

    /// Whether the absolute path counts.
    pub fn counts(&self, path: &str) -> bool {
        self.under.matches(path)
            && !self.except.matches(path)
            && (self.names_git || !path.split('/').any(|part| part == ".git"))
    }

    /// The patterns of what counts.
    pub fn under(&self) -> &Globs {
        &self.under
    }
}
