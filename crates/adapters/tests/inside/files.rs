//! Files: placed, read, looked at.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use adapters::sandboxes::docker::link::Looked;
use domain::{evidence::FileKind, ids::Hash};
use engine::ports::sandbox::{FileEntry, FileNode};

use crate::stage::{Stage, text};

fn entry(path: &str, node: FileNode, mode: u32) -> FileEntry {
    FileEntry { path: path.to_owned(), node, mode }
}

fn file(path: &str, content: &str, mode: u32) -> FileEntry {
    entry(path, FileNode::File(content.as_bytes().to_vec()), mode)
}

#[tokio::test]
async fn what_is_placed_is_read_back() {
    let stage = Stage::new().await;
    let root = stage.path("tree");
    let entries = [
        file("a.txt", "first", 0o644),
        entry("bin", FileNode::Directory, 0o555),
        file("bin/run", "#!/bin/sh\n", 0o755),
        entry("empty", FileNode::Directory, 0o700),
        entry("link", FileNode::Link("/no/where".into()), 0o777),
        file("z", "", 0o4755),
    ];
    stage.link.put(text(&root), &entries).await.unwrap();
    assert_eq!(stage.link.read(text(&root)).await.unwrap().unwrap(), entries);
    let one = stage.link.read(text(&root.join("a.txt"))).await.unwrap();
    assert_eq!(one.unwrap(), [file("", "first", 0o644)]);
    let gone = [entry("bin", FileNode::Absent, 0), entry("never/was", FileNode::Absent, 0)];
    stage.link.put(text(&root), &gone).await.unwrap();
    assert!(!root.join("bin").exists());
    // Nothing at the end of a link, nothing below a file, nothing at all.
    std::os::unix::fs::symlink(root.join("empty"), root.join("around")).unwrap();
    std::fs::write(root.join("empty/secret"), "s").unwrap();
    for path in ["around/secret", "a.txt/below", "no/such/file"] {
        assert_eq!(stage.link.read(text(&root.join(path))).await.unwrap(), None, "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_placed_is_explained() {
    let stage = Stage::new().await;
    let check = async |directory: &str, entry: FileEntry, expect: &str| {
        let fault = stage.link.put(directory, &[entry]).await.unwrap_err();
        assert_eq!(fault.to_string(), format!("sandbox lost: {expect}"));
    };
    let outside = file("../x", "", 0o644);
    check(text(stage.directory.path()), outside, "../x: not a relative path").await;
    let refused = "/proc/no: No such file or directory (os error 2)";
    check("/proc/no", file("x", "", 0o644), refused).await;
    // Also if most of the content was still to come.
    let big = entry("x", FileNode::File(vec![0; 8 << 20]), 0o644);
    check("/proc/no", big, refused).await;
    assert!(!stage.link.is_lost());
}

#[tokio::test]
async fn many_files_are_quick() {
    let stage = Stage::new().await;
    let entries: Vec<FileEntry> = (0..3_000)
        .map(|number| {
            let content = vec![number as u8; 4096];
            entry(&format!("d{}/f{number}", number % 100), FileNode::File(content), 0o644)
        })
        .collect();
    let begun = Instant::now();
    for entry in &entries {
        let (path, FileNode::File(content)) = (stage.path("bare").join(&entry.path), &entry.node)
        else {
            unreachable!("only files were made");
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let bare = begun.elapsed();
    let (root, begun) = (stage.path("many"), Instant::now());
    stage.link.put(text(&root), &entries).await.unwrap();
    let took = begun.elapsed();
    let read = stage.link.read(text(&root)).await.unwrap().unwrap();
    assert_eq!(read.len(), 3_100);
    let walked = stage.link.walk(text(&root)).await.unwrap();
    assert_eq!(walked.len(), 3_100);
    let paths: Vec<String> = walked.iter().map(|(path, _)| path.clone()).collect();
    let looked = stage.link.look(&paths).await.unwrap();
    assert!(looked.iter().flatten().eq(walked.iter().map(|(_, looked)| looked)));
    // Twenty times as long is what one start of a program for each file would take.
    assert!(took < bare * 5 + Duration::from_secs(3), "{took:?}, written directly {bare:?}");
}

#[tokio::test]
async fn looks_tell_what_stands_there() {
    let stage = Stage::new().await;
    let root = stage.directory.path();
    let begun_ms = stage.link.now_ms();
    std::fs::write(root.join("file"), "content").unwrap();
    std::fs::set_permissions(root.join("file"), PermissionsExt::from_mode(0o4750)).unwrap();
    std::os::unix::fs::chown(root.join("file"), Some(4711), None).unwrap();
    std::fs::set_permissions(root.join("file"), PermissionsExt::from_mode(0o4750)).unwrap();
    std::fs::create_dir(root.join("directory")).unwrap();
    std::os::unix::fs::symlink("file", root.join("link")).unwrap();
    nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let look =
        async |path: &Path| stage.link.look(&[text(path).to_owned()]).await.unwrap().remove(0);
    let looked = look(&root.join("file")).await.unwrap();
    // The kernel stamps files by a clock that lags by up to one tick.
    assert!((begun_ms - 20..=stage.link.now_ms()).contains(&looked.ctime_ms), "{looked:?}");
    let hash = |content: &str| Hash::new(blake3::hash(content.as_bytes()).to_hex().as_str());
    let expect = Looked {
        kind: FileKind::File,
        mode: 0o4750,
        uid: 4711,
        size: 7,
        ctime_ms: looked.ctime_ms,
        hash: Some(hash("content")),
        link_target: None,
    };
    assert_eq!(looked, expect);
    // Same size, other content: known hashes are not trusted beyond the kernel's change time.
    std::fs::write(root.join("file"), "CONTENT").unwrap();
    assert_eq!(look(&root.join("file")).await.unwrap().hash, Some(hash("CONTENT")));
    let short = |looked: Looked| (looked.kind, looked.size, looked.hash, looked.link_target);
    let check = async |name: &str, expect| {
        assert_eq!(look(&root.join(name)).await.map(short), expect, "{name}");
    };
    check("directory", Some((FileKind::Directory, 0, None, None))).await;
    check("link", Some((FileKind::Link, 0, None, Some("file".to_owned())))).await;
    check("pipe", Some((FileKind::Special, 0, None, None))).await;
    check("missing", None).await;
    check("link/below", None).await;
    check("file/below", None).await;
}

#[tokio::test]
async fn walks_stay_on_their_mount() {
    let stage = Stage::new().await;
    let paths = async |path: &str| -> Vec<String> {
        stage.link.walk(path).await.unwrap().into_iter().map(|(path, _)| path).collect()
    };
    std::fs::create_dir_all(stage.path("a/b")).unwrap();
    std::fs::write(stage.path("a/b/c"), "").unwrap();
    std::fs::write(stage.path("a/d"), "").unwrap();
    let expect = ["a", "a/b", "a/b/c", "a/d"].map(|name| text(&stage.path(name)).to_owned());
    assert_eq!(paths(text(stage.directory.path())).await, expect);
    let devices = paths("/dev").await;
    assert!(devices.contains(&"/dev/null".to_owned()), "{devices:?}");
    assert!(!devices.iter().any(|path| path.starts_with("/dev/pts")), "{devices:?}");
    assert_eq!(paths("/no/such").await, [""; 0]);
}
