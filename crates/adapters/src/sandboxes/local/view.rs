//! What a sandbox's root is made of: [`BaseView`] as it stands on disk, and [`Layers`], the written layers over it.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::ports::sandbox::FileEntry;
use serde::{Deserialize, Serialize};

use super::{
    capture::Looked,
    layers::{DirView, Tree, is_below},
    protocol::OverlayMount,
    skeleton::{self, RootEntry},
    state::SessionDirectory,
    toolchains::Toolchains,
    transfer::read_tree,
};
use crate::sandboxes::layer::{AGENT_FOLDER, AGENT_HOME, AgentLayer, HOME_MAX_MB};

/// Top-level directories of the host that are shown, as far as the host has them.
const SHOWN: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// Directory of a base or session that holds a layer for each overlay.
const LAYER: &str = "layer";
const SKELETON: &str = "skeleton";
const DESCRIPTION: &str = "base.json";
/// Names in a session's directory: the way to an agent's layer, and the place that it is mounted at.
const AGENT_LINK: &str = "agent";
const AGENT_PLACE: &str = "agent-place";

/// An overlay over a directory of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HostOverlay {
    /// Absolute directory, the same inside and on the host.
    pub path: String,
    /// Name of its directory in a layer.
    pub name: String,
}

/// What a base is, beside its layers; kept as a file in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Description {
    /// Overlays beside the one on `/`, in order of mounting.
    pub overlays: Vec<HostOverlay>,
    /// Environment of every command.
    pub env: BTreeMap<String, String>,
    /// Working directory of every command.
    pub workdir: String,
    /// Programs of the host.
    pub toolchains: Toolchains,
}

/// A base on disk.
#[derive(Debug)]
pub(super) struct BaseView {
    pub path: PathBuf,
    pub description: Description,
}

impl BaseView {
    /// Reads a complete base.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let description = serde_json::from_slice(&fs::read(path.join(DESCRIPTION))?)?;
        Ok(Self { path: path.to_path_buf(), description })
    }

    /// Makes the parts of a base that need no setup, in an empty directory.
    pub(super) fn make(
        path: &Path,
        env: BTreeMap<String, String>,
        workdir: String,
        toolchains: Toolchains,
    ) -> io::Result<Self> {
        let (overlays, entries) = plan_host()?;
        let mut entries = entries;
        entries.extend(toolchains.mounts.keys().cloned().map(RootEntry::MountPoint));
        let skeleton = path.join(SKELETON);
        fs::create_dir(&skeleton)?;
        skeleton::build(&skeleton, Path::new("/etc"), &entries)?;
        let description = Description { overlays, env, workdir, toolchains };
        let base = Self { path: path.to_path_buf(), description };
        base.make_layer(&path.join(LAYER))?;
        fs::write(path.join(DESCRIPTION), serde_json::to_vec(&base.description)?)?;
        Ok(base)
    }

    /// Makes an empty layer.
    fn make_layer(&self, layer: &Path) -> io::Result<()> {
        for (_, name) in self.overlays() {
            let path = layer.join(name);
            fs::create_dir_all(&path)?;
            // The overlay's root takes its mode from here.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    /// Takes a session's written layer as the base's own.
    pub(super) fn take_layer(&self, session: &SessionDirectory) -> io::Result<()> {
        let layer = self.path.join(LAYER);
        fs::remove_dir_all(&layer)?;
        fs::rename(session.path().join(LAYER), layer)
    }

    /// Targets and names of all overlays, `/` first.
    fn overlays(&self) -> impl Iterator<Item = (&str, &str)> {
        let host = self.description.overlays.iter();
        std::iter::once(("/", "root")).chain(host.map(|one| (one.path.as_str(), one.name.as_str())))
    }

    /// The base's layers of an overlay, topmost first.
    fn layers_of(&self, target: &str, name: &str) -> [PathBuf; 2] {
        let lowest = if target == "/" { self.path.join(SKELETON) } else { PathBuf::from(target) };
        [self.path.join(LAYER).join(name), lowest]
    }

    /// The base alone.
    pub(super) fn tree(&self) -> io::Result<Tree> {
        let view = |(target, name): (&str, &str)| {
            Ok((target.to_owned(), DirView::open(self.layers_of(target, name))?))
        };
        Ok(Tree::new(self.overlays().map(view).collect::<io::Result<_>>()?))
    }

    /// What the setup wrote, without what the host gives: absolute paths, in order.
    pub(super) fn written(&self) -> io::Result<Vec<FileEntry>> {
        let view = |(target, name): (&str, &str)| {
            let layer = self.path.join(LAYER).join(name);
            Ok((target.to_owned(), DirView::open([layer])?))
        };
        let tree = Tree::new(self.overlays().map(view).collect::<io::Result<_>>()?);
        let mut entries = BTreeMap::new();
        for (target, _) in self.overlays() {
            for mut entry in read_tree(&tree, target)?.unwrap_or_default() {
                entry.path = format!("{}/{}", target.trim_end_matches('/'), entry.path);
                entries.insert(entry.path.clone(), entry);
            }
        }
        Ok(entries.into_values().collect())
    }
}

/// The layers of one sandbox: its own on top, then those that it took over, then the base.
#[derive(Debug)]
pub(super) struct Layers {
    pub base: Arc<BaseView>,
    pub session: Arc<SessionDirectory>,
    /// Sessions whose written layers lie between, topmost first.
    pub below: Vec<Arc<SessionDirectory>>,
    /// Whether an agent's layer is mounted.
    is_furnished: bool,
}

impl Layers {
    /// Prepares a session's directory for its overlays.
    pub(super) fn prepare(
        base: Arc<BaseView>,
        session: Arc<SessionDirectory>,
        below: Vec<Arc<SessionDirectory>>,
        agent: Option<&AgentLayer>,
    ) -> io::Result<Self> {
        let path = session.path();
        base.make_layer(&path.join(LAYER))?;
        base.make_layer(&path.join("work"))?;
        for directory in ["m", "empty"] {
            fs::create_dir(path.join(directory))?;
        }
        // Names that are the same on every host, for the options of the mounts show inside.
        symlink(&base.path, path.join("base"))?;
        for (index, one) in below.iter().enumerate() {
            symlink(one.path(), path.join(format!("below{index}")))?;
        }
        for (index, source) in base.description.toolchains.mounts.values().enumerate() {
            symlink(source, path.join(format!("toolchain{index}")))?;
        }
        if let Some(agent) = agent {
            symlink(&agent.folder, path.join(AGENT_LINK))?;
            // Lies below everything else, so that the place is there and no base is changed.
            let place = AGENT_FOLDER.trim_start_matches('/');
            fs::create_dir_all(path.join(AGENT_PLACE).join(place))?;
        }
        Ok(Self { base, session, below, is_furnished: agent.is_some() })
    }

    /// The mounts of the root view, with options relative to the session's directory.
    pub(super) fn mounts(&self) -> Vec<OverlayMount> {
        let mut mounts: Vec<OverlayMount> =
            self.base.overlays().map(|(target, name)| self.mount(target, name)).collect();
        let toolchains = self.base.description.toolchains.mounts.keys().enumerate();
        mounts.extend(toolchains.map(|(index, target)| OverlayMount {
            target: target.clone(),
            options: format!("lowerdir=toolchain{index}:empty,userxattr"),
            read_only: true,
        }));
        mounts.extend(self.is_furnished.then(|| OverlayMount {
            target: AGENT_FOLDER.to_owned(),
            options: format!("lowerdir={AGENT_LINK}:empty,userxattr"),
            read_only: true,
        }));
        mounts
    }

    /// Directories in memory over the mounts, with their sizes in MiB.
    pub(super) fn memory(&self) -> Vec<(String, u64)> {
        self.is_furnished.then(|| (AGENT_HOME.to_owned(), HOME_MAX_MB)).into_iter().collect()
    }

    fn mount(&self, target: &str, name: &str) -> OverlayMount {
        let mut lower: Vec<String> =
            (0..self.below.len()).map(|index| format!("below{index}/{LAYER}/{name}")).collect();
        lower.push(format!("base/{LAYER}/{name}"));
        lower.push(match target {
            "/" => format!("base/{SKELETON}"),
            host => host.to_owned(),
        });
        lower.extend((target == "/" && self.is_furnished).then(|| AGENT_PLACE.to_owned()));
        let lower = lower.join(":");
        let options = format!(
            "lowerdir={lower},upperdir={LAYER}/{name},workdir=work/{name},userxattr,index=off"
        );
        OverlayMount { target: target.to_owned(), options, read_only: false }
    }

    /// Written layers of an overlay, topmost first.
    fn written(&self, name: &str) -> Vec<PathBuf> {
        let sessions = std::iter::once(&self.session).chain(&self.below);
        sessions.map(|session| session.path().join(LAYER).join(name)).collect()
    }

    /// The own layer of each overlay.
    pub(super) fn own(&self) -> Vec<PathBuf> {
        let layer = self.session.path().join(LAYER);
        self.base.overlays().map(|(_, name)| layer.join(name)).collect()
    }

    /// Everything as a program inside sees it.
    pub(super) fn tree(&self) -> io::Result<Tree> {
        let view = |(target, name): (&str, &str)| {
            let layers = self.written(name).into_iter().chain(self.base.layers_of(target, name));
            Ok((target.to_owned(), DirView::open(layers)?))
        };
        Ok(Tree::new(self.base.overlays().map(view).collect::<io::Result<_>>()?))
    }

    /// What a recorder compares.
    pub(super) fn looked(&self) -> io::Result<Vec<Looked>> {
        let looked = |(target, name): (&str, &str)| {
            Ok(Looked {
                target: target.to_owned(),
                written: DirView::open(self.written(name))?,
                base: DirView::open(self.base.layers_of(target, name))?,
            })
        };
        self.base.overlays().map(looked).collect()
    }

    /// Copies the changes below some paths into the empty own layer of another session on the same base.
    pub(super) fn copy_changes(&self, into: &Layers, paths: &[String]) -> io::Result<()> {
        let targets: Vec<&str> = self.base.overlays().map(|(target, _)| target).collect();
        for (target, name) in self.base.overlays() {
            let base = DirView::open(self.base.layers_of(target, name))?;
            let destination = into.session.path().join(LAYER).join(name);
            for path in paths {
                let path = super::layers::normal(path);
                let Some(relative) = part_of(&path, target, &targets) else { continue };
                for layer in self.written(name).iter().rev() {
                    super::transfer::copy_changes(layer, &base, &destination, relative)?;
                }
            }
        }
        Ok(())
    }
}

/// The part of a path that an overlay holds: all of it (empty), something below its root, or nothing (`None`).
fn part_of<'p>(path: &'p str, target: &str, targets: &[&str]) -> Option<&'p str> {
    if is_below(target, path) {
        return Some("");
    }
    let owner = targets.iter().filter(|one| is_below(path, one)).max_by_key(|one| one.len())?;
    (*owner == target).then(|| path[target.trim_end_matches('/').len()..].trim_start_matches('/'))
}

/// Which directories of the host are shown, and what the skeleton must have for them.
fn plan_host() -> io::Result<(Vec<HostOverlay>, Vec<RootEntry>)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let points: Vec<String> =
        mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape).collect();
    let (mut overlays, mut entries) = (Vec::new(), Vec::new());
    for name in SHOWN {
        let path = PathBuf::from("/").join(name);
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_symlink() {
            let target = fs::read_link(&path)?.to_string_lossy().into_owned();
            entries.push(RootEntry::Link(name.to_owned(), target));
        } else if found.is_dir() {
            plan_directory(&path, &points, &mut overlays, &mut entries)?;
        }
    }
    Ok((overlays, entries))
}

/// One overlay for a directory, or one for each directory in it if something is mounted further below: the kernel
/// does not let an overlay of a user namespace see past another's mounts.
fn plan_directory(
    path: &Path,
    points: &[String],
    overlays: &mut Vec<HostOverlay>,
    entries: &mut Vec<RootEntry>,
) -> io::Result<()> {
    let text = path.to_string_lossy().into_owned();
    if text.contains([':', ',', '\\']) {
        // Such a name cannot stand in the options of a mount.
        return Ok(());
    }
    entries.push(RootEntry::MountPoint(text.clone()));
    if !points.iter().any(|point| point != &text && is_below(point, &text)) {
        let name = format!("{}-{}", overlays.len(), text[1..].replace('/', "-"));
        overlays.push(HostOverlay { path: text, name });
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let below = entry.path();
        if kind.is_dir() {
            plan_directory(&below, points, overlays, entries)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&below)?.to_string_lossy().into_owned();
            let place = below.to_string_lossy().trim_start_matches('/').to_owned();
            entries.push(RootEntry::Link(place, target));
        }
    }
    Ok(())
}

/// Mount points are listed with octal escapes for blanks.
fn unescape(point: &str) -> String {
    point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_belong_to_one_overlay() {
        let targets = ["/", "/usr"];
        let check = |path: &str, target: &str, expect: Option<&str>| {
            assert_eq!(part_of(path, target, &targets), expect, "{path} in {target}");
        };
        check("/", "/", Some(""));
        check("/", "/usr", Some(""));
        check("/usr", "/usr", Some(""));
        check("/usr", "/", None);
        check("/usr/local/bin", "/usr", Some("local/bin"));
        check("/usr/local/bin", "/", None);
        check("/app/src", "/", Some("app/src"));
        check("/app/src", "/usr", None);
        check("/usrx", "/", Some("usrx"));
    }

    #[test]
    fn a_directory_with_mounts_below_is_split() {
        let host = tempfile::tempdir().unwrap();
        let root = host.path();
        for directory in ["bin", "share/doc", "share/data"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        symlink("bin", root.join("sbin")).unwrap();
        let check = |points: &[&str], expect: &[&str]| {
            let points: Vec<String> =
                points.iter().map(|point| root.join(point).display().to_string()).collect();
            let (mut overlays, mut entries) = (Vec::new(), Vec::new());
            plan_directory(root, &points, &mut overlays, &mut entries).unwrap();
            let mut paths: Vec<String> = overlays
                .iter()
                .map(|one| one.path.strip_prefix(&root.display().to_string()).unwrap().to_owned())
                .collect();
            paths.sort();
            assert_eq!(paths, expect);
        };
        check(&[], &[""]);
        check(&["share/data"], &["/bin", "/share/data", "/share/doc"]);
    }
}
