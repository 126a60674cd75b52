//! The support table of docs/harbor.md against the reader: each key is read or refused as the table says.

use std::{fs, path::Path};

use domain::release::Unsupported;
use store::harbor::adhoc::{Completion, open_tasks};

/// A row: key, state, example.
fn rows() -> Vec<[String; 3]> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/harbor.md");
    let page = fs::read_to_string(page).expect("a page");
    let (_, table) = page.split_once("| Key | State | Example |").expect("a table of keys");
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        [1, 2, 3].map(|at| cells[at].to_owned())
    };
    lines.map(row).collect()
}

/// What becomes of a task that says this alone: problems of the reader, then what each sandbox lacks.
fn read(example: &str) -> (Vec<String>, [Vec<Unsupported>; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let task = folder.path().join("task");
    let write = |path: &str, text: &str| {
        let path = task.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let offline = match example.starts_with("environment =") || example.contains("network_mode") {
        true if example.starts_with("environment") => "",
        _ => "environment.network_mode = \"no-network\"\n",
    };
    write("task.toml", &format!("{offline}{example}\n"));
    for script in ["tests/test.sh", "steps/one/tests/test.sh"] {
        write(script, "#!/bin/sh\n");
    }
    for text in ["instruction.md", "steps/one/instruction.md"] {
        write(text, "Do it.\n");
    }
    match open_tasks(&task, &Completion::default()) {
        Ok(loaded) => {
            assert!(loaded.warnings.is_empty(), "{example}: {:?}", loaded.warnings);
            let task = loaded.release.tasks.values().next().expect("a task");
            (Vec::new(), ["local", "docker"].map(|sandbox| task.unsupported_by(sandbox)))
        }
        Err(problems) => {
            (problems.iter().map(ToString::to_string).collect(), [Vec::new(), Vec::new()])
        }
    }
}

#[test]
fn each_key_is_read_or_refused_as_the_table_says() {
    let rows = rows();
    assert!(rows.len() > 50, "{}", rows.len());
    for [key, state, example] in rows {
        let (problems, [local, docker]) = read(&example);
        let last = key.rsplit('.').next().expect("a word");
        let is_named = |list: &[Unsupported]| {
            list.iter().any(|one| one.what.contains(&key) || one.what.contains("network_mode"))
        };
        match state.as_str() {
            "yes" => {
                assert!(problems.is_empty(), "{key}: {problems:?}");
                assert!(local.is_empty() && docker.is_empty(), "{key}: {local:?} {docker:?}");
            }
            "docker" => {
                assert!(problems.is_empty() && docker.is_empty(), "{key}: {problems:?} {docker:?}");
                assert!(is_named(&local), "{key}: {local:?}");
                assert!(local.iter().all(|one| one.remedy.contains("--sandbox docker")), "{key}");
            }
            "planned" => {
                assert!(problems.is_empty(), "{key}: {problems:?}");
                let parent = key.rsplit_once('.').map_or(key.as_str(), |(parent, _)| parent);
                for lacks in [&local, &docker] {
                    let about = lacks.iter().find(|one| one.what.contains("is planned"));
                    let about = about.unwrap_or_else(|| panic!("{key}: {lacks:?}"));
                    assert!(
                        about.what.contains(last) || about.what.contains(parent),
                        "{key}: {about:?}"
                    );
                }
            }
            "refused" => {
                assert!(problems.iter().any(|one| one.contains(last)), "{key}: {problems:?}");
            }
            other => panic!("{key}: no state {other}"),
        }
    }
}

#[test]
fn the_table_holds_every_key_of_the_schema() {
    let formats = store::schema::formats();
    let task = formats.iter().find(|format| format.name == "task").expect("a schema of tasks");
    let rows = rows();
    let keys = |at: &str| -> Vec<String> {
        let table = task.schema.pointer(at).unwrap_or_else(|| panic!("{at}"));
        table.as_object().expect("keys").keys().cloned().collect()
    };
    let tables = [
        ("", "/properties"),
        ("agent.", "/properties/agent/properties"),
        ("verifier.", "/properties/verifier/properties"),
        ("environment.", "/$defs/environment/properties"),
        ("solution.", "/properties/solution/properties"),
        ("steps.", "/properties/steps/items/properties"),
        ("steps.agent.", "/properties/steps/items/properties/agent/properties"),
        ("steps.verifier.", "/properties/steps/items/properties/verifier/properties"),
    ];
    for (prefix, at) in tables {
        for key in keys(at) {
            let full = format!("{prefix}{key}");
            let is_there =
                |row: &[String; 3]| row[0] == full || row[0].starts_with(&format!("{full}."));
            assert!(
                full == "steps.name" || rows.iter().any(is_there),
                "docs/harbor.md lacks `{full}`"
            );
        }
    }
}
