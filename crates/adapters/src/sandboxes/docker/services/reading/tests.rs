//! Normalised files and what is read of them.

use std::time::Duration;

use engine::ports::sandbox::{FileEntry, FileNode};
use serde_json::{Value, json};

use super::{Folder, project};
use crate::sandboxes::docker::services::project::{
    Condition, Health, Mount, Need, Project, Restart, Source,
};

fn read(services: &Value, volumes: &Value) -> Result<Project, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("api")).unwrap();
    std::fs::write(folder.path().join("api/Dockerfile"), "FROM a\n").unwrap();
    let file = |path: &str| FileEntry {
        path: path.to_owned(),
        node: FileNode::File(b"text".to_vec()),
        mode: 0o644,
    };
    let files = [file("init.sql"), file("conf/a"), file("conf/b/c"), file("api/Dockerfile")];
    let top = folder.path().to_string_lossy();
    // Compose prints absolute paths.
    let text = json!({ "services": services, "volumes": volumes }).to_string().replace("@", &top);
    let tree = Folder { path: folder.path().to_owned(), files: &files };
    project(&serde_json::from_str(&text).unwrap(), &tree)
}

/// A file with main and one more service.
fn with(service: &Value) -> Value {
    json!({ "main": { "image": "m" }, "db": service })
}

#[test]
fn what_sessions_give_is_read() {
    let db = json!({
        "image": "d", "command": ["run", "$$HOME"], "environment": { "A": "b$$c", "UNSET": null },
        "healthcheck": { "test": ["CMD", "ok"], "interval": "1m30s", "retries": 4 },
        "networks": { "default": { "aliases": ["other"] } }, "restart": "on-failure:3",
        "deploy": { "resources": { "limits": { "cpus": 0.5, "memory": "1048576" } }, "placement": {} },
        "volumes": [
            { "type": "volume", "source": "data", "target": "/data", "volume": {} },
            { "type": "tmpfs", "target": "/t", "tmpfs": { "size": "4096", "mode": 448 } },
            { "type": "bind", "source": "@/init.sql", "target": "/init.sql", "bind": { "create_host_path": true } },
            { "type": "bind", "source": "@/conf", "target": "/conf", "read_only": true },
        ],
        "tmpfs": ["/run:size=1m,mode=700"], "ulimits": { "nofile": 7, "core": { "soft": 1, "hard": 2 } },
    });
    let services = json!({
        "main": { "image": "m", "depends_on": { "db": { "condition": "service_healthy", "required": true } } },
        "db": db,
        "late": { "build": { "context": "@/api", "args": { "A": "b" } },
                  "depends_on": { "main": { "condition": "service_started" } } },
    });
    let found = read(&services, &json!({ "data": { "name": "x_data" } })).unwrap();
    assert_eq!(found.before_main, 1);
    assert_eq!(found.volumes(), ["data"]);
    assert_eq!(
        found.hosts(),
        ["db:127.0.0.1", "late:127.0.0.1", "main:127.0.0.1", "other:127.0.0.1"]
    );
    let need = Need { service: "db".to_owned(), condition: Condition::Healthy };
    assert_eq!(found.main.needs, [need]);
    let [db, late] = found.others.as_slice() else { panic!("{found:?}") };
    assert_eq!(db.command.as_deref(), Some(&["run".to_owned(), "$HOME".to_owned()][..]));
    assert_eq!(db.env, [("A".to_owned(), "b$c".to_owned())].into());
    assert_eq!(
        (db.memory_bytes, db.cpus, db.restart),
        (Some(1 << 20), Some(0.5), Restart::OnFailure(3))
    );
    assert_eq!(db.ulimits, [("core".to_owned(), 1, 2), ("nofile".to_owned(), 7, 7)]);
    let Health::Test(test) = &db.health else { panic!("{:?}", db.health) };
    assert_eq!((test.interval, test.retries), (Some(Duration::from_secs(90)), Some(4)));
    assert_eq!(db.mounted().collect::<Vec<_>>(), ["/run", "/data", "/t"]);
    let memory = |target: &str, bytes| Mount::Memory {
        target: target.to_owned(),
        bytes: Some(bytes),
        mode: Some(0o700),
    };
    assert_eq!((&db.mounts[0], &db.mounts[2]), (&memory("/run", 1 << 20), &memory("/t", 4096)));
    let copied: Vec<(&str, Vec<&str>)> = db
        .copied
        .iter()
        .map(|copy| {
            (copy.target.as_str(), copy.files.iter().map(|file| file.path.as_str()).collect())
        })
        .collect();
    assert_eq!(copied, [("/init.sql", vec![""]), ("/conf", vec!["a", "b/c"])]);
    assert!(matches!(&late.source, Source::Built(recipe) if recipe.args["A"] == "b"));
}

#[test]
fn what_reaches_past_the_session_is_refused_by_name() {
    let check = |service: Value, expect: &str| {
        let refused = read(&with(&service), &json!({})).unwrap_err();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0].starts_with("service `db`: ") && refused[0].contains(expect),
            "{refused:?}"
        );
    };
    check(json!({ "image": "d", "privileged": true }), "`privileged` reaches past");
    check(json!({ "image": "d", "ports": [{ "target": 80, "published": "80" }] }), "`ports`");
    check(json!({ "image": "d", "network_mode": "host" }), "`network_mode`");
    check(json!({ "image": "d", "networks": { "own": null } }), "`networks.own`");
    check(json!({ "image": "d", "cap_add": ["SYS_ADMIN"] }), "`cap_add`");
    check(json!({ "image": "d", "devices": [{ "source": "/dev/sda" }] }), "`devices`");
    check(json!({ "image": "d", "pid": "host" }), "`pid`");
    check(json!({ "image": "d", "hostname": "h" }), "`hostname = \"h\"` is not supported");
    check(json!({ "image": "d", "scale": 2 }), "`scale = 2`");
    check(json!({ "image": "d", "gpus": [{ "count": -1 }] }), "`gpus");
    check(json!({ "image": "d", "brand_new": 1 }), "`brand_new = 1`");
    check(json!({ "image": "d", "deploy": { "mode": "global" } }), "`deploy");
    check(json!({ "image": "d", "extra_hosts": ["h=host-gateway"] }), "`extra_hosts`");
    let bind = |source: &str| json!({ "type": "bind", "source": source, "target": "/x" });
    check(json!({ "image": "d", "volumes": [bind("/etc")] }), "mounts /etc of the host");
    check(
        json!({ "image": "d", "volumes": [bind("@/absent")] }),
        "environment/absent, which is not there",
    );
    check(json!({ "image": "d", "volumes": [bind("/var/run/docker.sock")] }), "docker.sock");
    check(json!({ "build": { "context": "/elsewhere" } }), "outside the task");
    check(json!({ "build": { "context": "@/conf" } }), "environment/conf/Dockerfile");
    check(json!({ "build": { "context": "@/api", "network": "host" } }), "`network`");
}

#[test]
fn what_is_wrong_with_the_whole_is_refused() {
    let check = |services: Value, volumes: Value, expect: &str| {
        let refused = read(&services, &volumes).unwrap_err();
        assert!(refused.len() == 1 && refused[0].contains(expect), "{expect}: {refused:?}");
    };
    let none = || json!({});
    check(json!({ "db": { "image": "d" } }), none(), "`main`");
    check(json!({ "main": { "command": ["x"] } }), none(), "neither image nor build");
    check(
        with(&json!({ "image": "d" })),
        json!({ "v": { "external": true } }),
        "volume `v`: `external`",
    );
    check(
        with(&json!({ "image": "d" })),
        json!({ "v": { "driver_opts": { "o": "bind" } } }),
        "`driver_opts`",
    );
    let waits = |on: &str| json!({ on: { "condition": "service_started" } });
    let circle = json!({ "main": { "image": "m", "depends_on": waits("db") },
                         "db": { "image": "d", "depends_on": waits("main") } });
    check(circle, none(), "wait for each other");
    let bind = |read_only: bool| json!([{ "type": "bind", "source": "@/conf", "target": "/conf", "read_only": read_only }]);
    let both = |read_only: bool| {
        json!({ "main": { "image": "m", "volumes": bind(true) },
                "db": { "image": "d", "volumes": bind(read_only) } })
    };
    check(both(false), none(), "to be written, which `main` mounts too");
    assert!(read(&both(true), &none()).is_ok());
}
