//! Agents that are known by name ([`Preset`]): what each is made of, how it is started, set up and kept from asking, as data
//! in the files beside this one.

mod read;

use std::collections::BTreeMap;

use domain::{evidence::WireFormat, session::ClaimSpan};
use serde::Deserialize;

use super::{acp::AcpLaunch, placeholders::Fillable};

pub use read::PresetError;

/// The files of every preset: its description, and the lock of its packages.
const FILES: [(&str, &str, &str); 9] = [
    (
        "claude-agent-acp",
        include_str!("claude-agent-acp.toml"),
        include_str!("claude-agent-acp.lock.json"),
    ),
    ("codex-acp", include_str!("codex-acp.toml"), include_str!("codex-acp.lock.json")),
    ("copilot", include_str!("copilot.toml"), include_str!("copilot.lock.json")),
    ("gemini", include_str!("gemini.toml"), include_str!("gemini.lock.json")),
    ("goose", include_str!("goose.toml"), include_str!("goose.lock.json")),
    ("kimi", include_str!("kimi.toml"), include_str!("kimi.lock.json")),
    ("opencode", include_str!("opencode.toml"), include_str!("opencode.lock.json")),
    ("pi-acp", include_str!("pi-acp.toml"), include_str!("pi-acp.lock.json")),
    ("qwen", include_str!("qwen.toml"), include_str!("qwen.lock.json")),
];

/// An agent that is known by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// As it is named.
    pub name: String,
    /// What it is, in a line.
    pub what: String,
    /// By what protocol it is driven.
    pub driver: PresetDriver,
    /// Program and arguments inside.
    pub command: Vec<String>,
    /// The form in which it asks its model.
    pub form: WireFormat,
    /// What the figures span that it tells of its own use; none if it tells none.
    pub usage: Option<ClaimSpan>,
    /// What the image must hold for it.
    pub needs: String,
    /// What it is installed from.
    pub recipe: Recipe,
    /// Its variables.
    pub env: BTreeMap<String, Fillable>,
    /// How it is set up to run everything without asking.
    pub bypass: Manner,
    /// How it is set up to ask; none if it cannot.
    pub asking: Option<Manner>,
}

/// By what protocol an agent is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresetDriver {
    /// The Agent Client Protocol.
    Acp,
}

/// What an agent is installed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Packages of npm with their exact versions.
    pub npm: BTreeMap<String, String>,
    /// npm's lock of them and of all that they need, with a hash of each.
    pub npm_lock: String,
    /// Files beside the packages, below `files`, that no session changes.
    pub files: BTreeMap<String, String>,
}

/// How an agent is set up in one way or the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// The mode of its session.
    pub mode: Option<String>,
    /// Options of its session.
    pub options: BTreeMap<String, String>,
    /// Variables.
    pub env: BTreeMap<String, Fillable>,
    /// How its model calls its shell so that it asks, where a plain call is run or fails unasked.
    pub shell: Option<ShellCall>,
}

/// A call of an agent's shell tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellCall {
    /// The tool.
    pub tool: String,
    /// The field of the command.
    pub command: String,
    /// Other fields.
    pub input: BTreeMap<String, String>,
}

/// Whether an agent asks before it acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permissions {
    /// It runs everything; where its user wants to be asked, it ends its turn with the question.
    #[default]
    Bypass,
    /// It asks by its protocol, in the middle of a turn.
    Ask,
}

impl Preset {
    /// The names of all presets.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter().map(|(name, ..)| name)
    }

    /// The preset of a name; none if there is no such preset.
    ///
    /// # Errors
    /// Its file is not what a preset is; those that ship with the tool are.
    pub fn named(name: &str) -> Result<Option<Self>, PresetError> {
        let found = FILES.into_iter().find(|(known, ..)| *known == name);
        found.map(|(name, text, lock)| read::read(name, text, lock)).transpose()
    }

    /// How it is started, if it is to ask or not; none if it cannot ask.
    pub fn launch(&self, permissions: Permissions) -> Option<AcpLaunch> {
        let manner = match permissions {
            Permissions::Bypass => &self.bypass,
            Permissions::Ask => self.asking.as_ref()?,
        };
        let PresetDriver::Acp = self.driver;
        let mut env = self.env.clone();
        env.extend(manner.env.clone());
        Some(AcpLaunch {
            name: self.name.clone(),
            argv: self.command.clone(),
            env,
            mode: manner.mode.clone(),
            options: manner.options.clone().into_iter().collect(),
            span: self.usage.unwrap_or(ClaimSpan::Unknown),
        })
    }
}

impl PresetDriver {
    /// Its name in files and lists.
    pub fn name(self) -> &'static str {
        match self {
            PresetDriver::Acp => "acp",
        }
    }
}

/// What an agent's figures may span, by names in files; none if it tells none.
const SPANS: [(&str, Option<ClaimSpan>); 4] = [
    ("turn", Some(ClaimSpan::Turn)),
    ("request", Some(ClaimSpan::Request)),
    ("session", Some(ClaimSpan::Session)),
    ("none", None),
];

impl Recipe {
    /// What names everything that is installed from it on hosts of this kind.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        add(LAYOUT);
        add(std::env::consts::ARCH);
        add(&self.npm_lock);
        for (name, text) in self.npm.iter().chain(&self.files) {
            add(name);
            add(text);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

/// Changes when the same recipe makes another folder.
const LAYOUT: &str = "1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_is_read_and_starts() {
        for name in Preset::names() {
            let preset = Preset::named(name).unwrap_or_else(|error| panic!("{error}"));
            let preset = preset.expect("it is named");
            let launch = preset.launch(Permissions::Bypass).expect("every preset works unasked");
            assert!(launch.argv.iter().all(|word| !word.contains('{')), "{:?}", launch.argv);
            assert!(launch.env.values().any(Fillable::wants_model), "{name} has no gateway");
            // Each package that is asked for is in the lock, with that very version and a hash.
            let lock: serde_json::Value =
                serde_json::from_str(&preset.recipe.npm_lock).expect("a lock is JSON");
            for (package, version) in &preset.recipe.npm {
                let locked = &lock["packages"][format!("node_modules/{package}")];
                assert_eq!(locked["version"], version.as_str(), "{name}: {package}");
            }
            let packages = lock["packages"].as_object().expect("packages");
            for (path, package) in packages.iter().filter(|(path, _)| !path.is_empty()) {
                assert!(package["integrity"].is_string(), "{name}: {path} has no hash");
                assert!(package["resolved"].is_null(), "{name}: {path} names a host");
            }
        }
        assert_eq!(Preset::named("no-such-agent"), Ok(None));
    }

    #[test]
    fn a_digest_names_everything_that_is_installed() {
        let recipe = Preset::named("gemini").expect("reads").expect("named").recipe;
        let change = |change: &dyn Fn(&mut Recipe)| {
            let mut other = recipe.clone();
            change(&mut other);
            other.digest()
        };
        assert_eq!(change(&|_| {}), recipe.digest());
        assert_ne!(change(&|other| other.npm_lock.push(' ')), recipe.digest());
        assert_ne!(change(&|other| drop(other.files.pop_first())), recipe.digest());
        assert_ne!(change(&|other| drop(other.npm.pop_first())), recipe.digest());
    }
}
