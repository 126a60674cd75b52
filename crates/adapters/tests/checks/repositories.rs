//! Git repositories: what was committed, what was there before, what hides from git, and what git cannot tell.

use domain::{
    acceptance::Truth,
    release::{CheckKind, CommitCount},
};

use crate::{UNKNOWN, stage::Stage};

/// The keys of a check on a repository, all unset.
#[derive(Default)]
pub struct GitKeys {
    pub repo: Option<&'static str>,
    pub branch: Option<&'static str>,
    pub commits: Option<(u32, u32)>,
    pub message: Option<&'static str>,
    pub author: Option<&'static str>,
    pub clean: Option<bool>,
    pub kept: Option<bool>,
    pub merges: Option<bool>,
}

pub fn git(change: impl FnOnce(&mut GitKeys)) -> CheckKind {
    let mut keys = GitKeys::default();
    change(&mut keys);
    CheckKind::Git {
        repo: keys.repo.map(Into::into),
        branch: keys.branch.map(Into::into),
        commits: keys.commits.map(|(min, max)| CommitCount { min: Some(min), max: Some(max) }),
        message: keys.message.map(Into::into),
        author: keys.author.map(Into::into),
        clean: keys.clean,
        history_kept: keys.kept,
        merges: keys.merges,
    }
}

/// After one turn: on a topic branch, exactly one commit, its message, clean, history kept.
async fn check_git(stage: &Stage, turn: &str, expect: [bool; 5]) {
    let staged = stage.after(&[turn]).await;
    let kinds = [
        git(|keys| keys.branch = Some("topic*")),
        git(|keys| keys.commits = Some((1, 1))),
        git(|keys| keys.message = Some("^Add ")),
        git(|keys| keys.clean = Some(true)),
        git(|keys| keys.kept = Some(true)),
    ];
    let mut found = [false; 5];
    let mut witnesses = vec![];
    for (at, kind) in kinds.iter().enumerate() {
        let (truth, witness) = staged.read(kind, None).await;
        assert!(matches!(truth, Truth::True | Truth::False), "{turn}: {witness}");
        found[at] = truth == Truth::True;
        witnesses.push(witness);
    }
    assert_eq!(found, expect, "{turn}: {witnesses:#?}");
}

#[tokio::test]
async fn repositories() {
    let stage = Stage::new().await;
    let add = "echo x > new.txt; git add new.txt; git commit -q -m 'Add x'";
    check_git(&stage, "true", [false, false, true, true, true]).await;
    check_git(&stage, "echo x > new.txt", [false, false, true, false, true]).await;
    check_git(&stage, add, [false, true, true, true, true]).await;
    let topic = format!("git checkout -q -b topic-1; {add}");
    check_git(&stage, &topic, [true, true, true, true, true]).await;
    let two = format!("{topic}; echo y >> new.txt; git commit -q -a -m more");
    check_git(&stage, &two, [true, false, false, true, true]).await;
    // The base's branch moved although the work is elsewhere.
    let moved = format!("{add}; git checkout -q -b topic");
    check_git(&stage, &moved, [true, true, true, true, false]).await;
}

#[tokio::test]
async fn what_was_there_before_is_kept_or_not() {
    let stage = Stage::new().await;
    let amended = "echo y >> till.py; git commit -q -a --amend -m 'Add y'";
    check_git(&stage, amended, [false, true, true, true, false]).await;
    check_git(&stage, "git tag v1", [false, false, true, true, false]).await;
    check_git(&stage, "git remote add o /tmp/o", [false, false, true, true, false]).await;
    check_git(&stage, "git config core.x y", [false, false, true, true, false]).await;
    check_git(&stage, "git config branch.main.description d", [false, false, true, true, true])
        .await;
    check_git(&stage, "echo true > .git/hooks/pre-push", [false, false, true, true, false]).await;
    check_git(&stage, "rm -rf .git", [false, false, false, false, false]).await;
    // Every branch is as it was, and the work stands beside them.
    let orphan = "git checkout -q --orphan other; git commit -q -m 'Add all'";
    check_git(&stage, orphan, [false, true, true, true, false]).await;
    let anew = "rm -rf .git; git init -q -b main .; git add -A; \
                git -c user.name=a -c user.email=b commit -q -m 'Add all'";
    check_git(&stage, anew, [false, true, true, true, false]).await;
}

#[tokio::test]
async fn repositories_that_the_base_has_not() {
    let stage = Stage::new().await;
    let made = "git init -q -b main own; cd own; git config user.name A; git config user.email b";
    let add = "echo x > x; git add x; git commit -q -m 'Add x'";
    let staged = stage.after(&[&format!("{made}; {add}")]).await;
    for repo in ["own", "own/", "/app/own", "/app/own/"] {
        let of = |change: &dyn Fn(&mut GitKeys)| {
            git(|keys| {
                keys.repo = Some(repo);
                change(keys);
            })
        };
        staged.check(of(&|keys| keys.branch = Some("main")), Truth::True).await;
        staged.check(of(&|keys| keys.branch = Some("topic")), Truth::False).await;
        staged.check(of(&|keys| keys.commits = Some((1, 1))), Truth::True).await;
        staged.check(of(&|keys| keys.commits = Some((2, 9))), Truth::False).await;
        staged.check(of(&|keys| keys.clean = Some(true)), Truth::True).await;
        staged.check(of(&|keys| keys.merges = Some(false)), Truth::True).await;
    }
    staged.check(git(|keys| keys.repo = Some("none")), Truth::False).await;
    let unborn = stage.after(&[made]).await;
    for (kind, expect) in [
        (git(|keys| (keys.repo, keys.branch) = (Some("own"), Some("main"))), Truth::True),
        (git(|keys| (keys.repo, keys.commits) = (Some("own"), Some((0, 0)))), Truth::True),
        (git(|keys| (keys.repo, keys.commits) = (Some("own"), Some((1, 9)))), Truth::False),
    ] {
        unborn.check(kind, expect).await;
    }
}

#[tokio::test]
async fn what_git_cannot_tell_is_unknown() {
    let stage = Stage::new().await;
    let commit = |letters: usize| {
        format!(
            "(printf 'Add '; head -c {letters} /dev/zero | tr '\\0' a) > /tmp/m; \
             git commit -q --allow-empty -F /tmp/m"
        )
    };
    let long = stage.after(&[&commit(1_200_000)]).await;
    long.check(git(|keys| keys.message = Some("^Add a+$")), Truth::True).await;
    long.check(git(|keys| keys.message = Some("^Add b")), Truth::False).await;
    let endless = stage.after(&[&commit(4 << 20)]).await;
    endless.check(git(|keys| keys.message = Some("^Add ")), UNKNOWN).await;
    endless.check(git(|keys| keys.commits = Some((1, 1))), UNKNOWN).await;
    let torn = stage.after(&["echo junk > .git/index"]).await;
    torn.check(git(|keys| keys.clean = Some(true)), UNKNOWN).await;
    torn.check(git(|keys| keys.clean = Some(false)), UNKNOWN).await;
}

#[tokio::test]
async fn what_hides_from_git_is_seen() {
    let stage = Stage::new().await;
    for turn in [
        "echo junk > junk; echo junk > .git/info/exclude",
        "echo junk > junk; git config core.excludesFile /app/.git/mine; echo junk > .git/mine",
        "echo junk > junk; git config status.showUntrackedFiles no",
        "echo '#' >> till.py; git update-index --assume-unchanged till.py",
        "echo '#' >> till.py; git update-index --skip-worktree till.py",
        "echo '#' >> till.py; git config filter.x.clean 'git show HEAD:till.py'; \
         echo 'till.py filter=x' > .git/info/attributes",
        "echo '#' >> till.py; printf '#!/bin/sh\\nexit 0\\n' > .git/f; chmod +x .git/f; \
         git config core.fsmonitor /app/.git/f",
    ] {
        let staged = stage.after(&[turn]).await;
        let (found, witness) = staged.read(&git(|keys| keys.clean = Some(true)), None).await;
        assert_eq!(found, Truth::False, "{turn}: {witness}");
    }
    // A replaced object does not rewrite what was there.
    let orphan = "git checkout -q --orphan other; git commit -q -m other; git replace main other";
    let staged = stage.after(&[orphan]).await;
    staged.check(git(|keys| keys.kept = Some(true)), Truth::False).await;
}

#[tokio::test]
async fn authors_and_merges() {
    let stage = Stage::new().await;
    let staged = stage
        .after(&[
            "git checkout -q -b side; echo a > a; git add a; git commit -q -m 'Add a'",
            "git checkout -q main; echo b > b; git add b; \
         git commit -q -m 'Add b' --author 'Ann <ann@example.org>'; \
         git merge -q --no-ff -m 'Add both' side",
        ])
        .await;
    for (kind, expect) in [
        (git(|keys| keys.merges = Some(false)), Truth::False),
        (git(|keys| keys.merges = Some(true)), Truth::True),
        (git(|keys| keys.commits = Some((3, 3))), Truth::True),
        (git(|keys| keys.author = Some("example\\.org>$")), Truth::True),
        (git(|keys| keys.author = Some("^Base <")), Truth::False),
        (git(|keys| keys.message = Some("^Add ")), Truth::True),
        (git(|keys| keys.clean = Some(false)), Truth::False),
    ] {
        staged.check(kind, expect).await;
    }
    let linear = stage.after(&["git commit -q --allow-empty -m 'Add x'"]).await;
    linear.check(git(|keys| keys.merges = Some(false)), Truth::True).await;
}
