//! What a reading says of what was found: where it is, why it does not hold, and the last words of a run, in short.

use domain::{
    acceptance::Truth::{False, True},
    release::{ArtifactCheck, ArtifactFormat, CheckKind},
};

use crate::{
    UNKNOWN,
    artifacts::{keys, zip},
    script,
    stage::{Stage, simulated_with_files},
};

#[tokio::test]
async fn runs() {
    let stage = Stage::new().await;
    let mut staged = stage.after(&["true"]).await;
    let long = format!("exit 0: {}…", "a".repeat(192));
    for (body, expect) in [
        ("exit 0", (True, "exit 0")),
        ("echo one; echo two; echo; exit 1", (False, "exit 1: two")),
        ("echo out; echo ' an  error ' >&2; echo >&2; exit 3", (UNKNOWN, "exit 3: an error")),
        ("head -c 193 /dev/zero | tr '\\0' a", (True, long.as_str())),
        ("head -c 192 /dev/zero | tr '\\0' a", (True, long.trim_end_matches('…'))),
        ("kill -9 $$", (UNKNOWN, "killed by signal 9")),
        ("sleep 30", (UNKNOWN, "out of time")),
    ] {
        staged = staged.with_script(&format!("#!/bin/sh\n{body}\n"));
        let (truth, witness) = staged.read(&script(2), None).await;
        assert_eq!((truth, witness.as_str()), expect, "{body}");
    }
}

#[tokio::test]
async fn artifacts() {
    let zeros = vec![0; 129 << 20];
    let bomb = zip(&[("a", &zeros), ("b", &zeros)]);
    let (html, zip) = (ArtifactFormat::Html, ArtifactFormat::Zip);
    let files: [(&str, &[u8]); 3] =
        [("a.html", b"<p>words</p>"), ("b.html", b"words"), ("c.zip", &bomb)];
    let staged = simulated_with_files(&files).await;
    for (path, format, expect) in [
        ("a.html", html, (True, "")),
        ("b.html", html, (False, "/app/b.html: it does not begin as a page")),
        // Neither member is too large by itself.
        ("c.zip", zip, (False, "/app/c.zip: it holds more than 256 MiB")),
    ] {
        let demand = ArtifactCheck { path: vec![path.into()], ..keys("", Some(format)) };
        let (truth, witness) = staged.read(&CheckKind::Artifact(demand), None).await;
        assert_eq!((truth, witness.as_str()), expect, "{path}");
    }
}
