//! `pcb new`: commented files to begin with, placed beside what is there and over nothing of it.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use domain::release::{Persona, lint::is_id};
use store::{
    layout::LOCK_FILE,
    release_files::{LoadedRelease, LockUse, open_release_with},
    skeletons::{Skeleton, add_requirement, place},
};

use crate::{exit_code::ExitCode, failure::Failure, releases};

/// Ending of our files; ids have none.
const ENDING: &str = ".toml";

/// Arguments of `pcb new`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb new release my-release
  pcb new persona manager.v1 --in my-release
  pcb new task invoices --in my-release
  pcb new pair manager--invoices --in my-release
  pcb new requirement short_summary --in my-release/pairs/manager--invoices
  pcb new script my-agent")]
pub struct NewArgs {
    /// What to begin.
    #[command(subcommand)]
    pub what: NewWhat,
}

/// What can be begun.
#[derive(Clone, Debug, Subcommand)]
pub enum NewWhat {
    /// A whole release: neutral persona, persona, task, and a pair that calibrates.
    #[command(after_help = "\
Examples:
  pcb new release my-release
  pcb new release my-release --in benchmarks")]
    Release(NewRelease),
    /// A persona of a release.
    #[command(after_help = "\
Examples:
  pcb new persona manager.v1 --in my-release
  cd my-release && pcb new persona manager.v2")]
    Persona(InRelease),
    /// A task of a release, in Harbor's layout.
    #[command(after_help = "\
Examples:
  pcb new task invoices --in my-release
  cd my-release && pcb new task invoices")]
    Task(InRelease),
    /// A pair of a release with one requirement, oracle and saboteur.
    #[command(after_help = "\
Examples:
  pcb new pair manager--invoices --in my-release
  pcb new pair hard_case --persona manager.v2 --task invoices --in my-release")]
    Pair(NewPair),
    /// A requirement of a pair that exists: its block, its check and its saboteur; the scripts that are there meet it.
    #[command(after_help = "\
Examples:
  pcb new requirement short_summary --in my-release/pairs/manager--invoices
  cd my-release/pairs/manager--invoices && pcb new requirement short_summary")]
    Requirement(NewRequirement),
    /// The script of an agent.
    #[command(after_help = "\
Examples:
  pcb new script my-agent
  pcb new script my-agent --in agents")]
    Script(NewScript),
}

/// Arguments of `pcb new release`.
#[derive(Clone, Debug, Args)]
pub struct NewRelease {
    /// Its id, and the name of its folder.
    pub name: String,
    /// Where its folder is made.
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,
    /// The unique string that stands in every file; without it one is drawn.
    #[arg(long, value_name = "TEXT")]
    pub canary: Option<String>,
}

/// Arguments of what is begun in a release.
#[derive(Clone, Debug, Args)]
pub struct InRelease {
    /// Its id; a persona's with its version, for instance `manager.v1`.
    pub name: String,
    /// Folder of the release.
    #[arg(long = "in", value_name = "RELEASE", default_value = ".")]
    pub release: PathBuf,
}

/// Arguments of `pcb new pair`.
#[derive(Clone, Debug, Args)]
pub struct NewPair {
    /// Its id; PERSONA--TASK says who and what, with the persona's id or family.
    pub name: String,
    /// Folder of the release.
    #[arg(long = "in", value_name = "RELEASE", default_value = ".")]
    pub release: PathBuf,
    /// Its persona, if the name does not say it.
    #[arg(long, value_name = "ID")]
    pub persona: Option<String>,
    /// Its task, if the name does not say it.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
}

/// Arguments of `pcb new requirement`.
#[derive(Clone, Debug, Args)]
pub struct NewRequirement {
    /// Its id.
    pub name: String,
    /// Folder of the pair.
    #[arg(long = "in", value_name = "PAIR", default_value = ".")]
    pub pair: PathBuf,
}

/// Arguments of `pcb new script`.
#[derive(Clone, Debug, Args)]
pub struct NewScript {
    /// Its name, without the ending.
    pub name: String,
    /// Where the file is made; not in a release, which holds the scripts of its pairs alone.
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,
}

/// Writes the files and says what comes next.
pub fn run(args: &NewArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        NewWhat::Release(new) => release(new),
        NewWhat::Persona(new) => persona(new),
        NewWhat::Task(new) => task(new),
        NewWhat::Pair(new) => pair(new),
        NewWhat::Requirement(new) => requirement(new),
        NewWhat::Script(new) => script(new),
    }
}

fn release(new: &NewRelease) -> Result<ExitCode, Failure> {
    check_id(&new.name)?;
    let folder = below(&new.folder, &new.name);
    let canary = match &new.canary {
        Some(given) => checked_canary(given)?,
        None => unique(&new.name).map_err(Failure::input)?,
    };
    write(&folder, &Skeleton::Release { id: &new.name, canary: &canary })?;
    say_next(&[
        format!("pcb lint {}", folder.display()),
        format!("pcb run {} --agent oracle --agent nop", folder.display()),
    ]);
    Ok(ExitCode::Done)
}

fn persona(new: &InRelease) -> Result<ExitCode, Failure> {
    check_id(&new.name)?;
    let loaded = open(&new.release)?;
    write(&new.release, &Skeleton::Persona { id: &new.name, canary: &loaded.release.canary })?;
    let family = new.name.split('.').next().unwrap_or_default();
    say_next(&[format!("pcb new pair {family}--TASK --in {}", new.release.display())]);
    closing(&new.release)
}

fn task(new: &InRelease) -> Result<ExitCode, Failure> {
    check_id(&new.name)?;
    let loaded = open(&new.release)?;
    write(&new.release, &Skeleton::Task { id: &new.name, canary: &loaded.release.canary })?;
    say_next(&[format!("pcb new pair PERSONA--{} --in {}", new.name, new.release.display())]);
    closing(&new.release)
}

fn pair(new: &NewPair) -> Result<ExitCode, Failure> {
    check_id(&new.name)?;
    let loaded = open(&new.release)?;
    let (who, what) = match new.name.split_once("--") {
        Some((who, what)) => (Some(who), Some(what)),
        None => (None, None),
    };
    let persona = persona_of(new.persona.as_deref().or(who), &loaded)?;
    let task = task_of(new.task.as_deref().or(what), &loaded)?;
    let files = Skeleton::Pair {
        id: &new.name,
        suite: loaded.release.id.as_str(),
        persona: persona.id.as_str(),
        task,
        refusals: persona.patience.handoff_refusals,
        canary: &loaded.release.canary,
    };
    write(&new.release, &files)?;
    let shown = new.release.display();
    say_next(&[
        format!("pcb lint {shown}"),
        format!("pcb run {shown} --pairs {} --agent oracle --agent nop", new.name),
    ]);
    closing(&new.release)
}

fn requirement(new: &NewRequirement) -> Result<ExitCode, Failure> {
    check_id(&new.name)?;
    let added = add_requirement(&new.pair, &new.name).map_err(Failure::input)?;
    for path in &added.changed {
        println!("added to {}", path.display());
    }
    println!("wrote {}", added.saboteur.display());
    let Some(release) = release_around(&new.pair) else { return Ok(ExitCode::Done) };
    say_next(&[format!("pcb lint {}", release.display())]);
    closing(&release)
}

fn script(new: &NewScript) -> Result<ExitCode, Failure> {
    let name = new.name.strip_suffix(ENDING).unwrap_or(&new.name);
    check_id(name)?;
    if let Some(release) = releases::around(&new.folder).map_err(Failure::input)? {
        return Err(Failure::input(format!(
            "{} lies inside the release {}, which holds the scripts of its pairs alone: name a folder outside with \
             `--in`",
            new.folder.display(),
            release.display()
        )));
    }
    write(&new.folder, &Skeleton::Script { name })?;
    let path = below(&new.folder, name);
    say_next(&[format!("pcb run starter --agent {}.toml", path.display())]);
    Ok(ExitCode::Done)
}

fn check_id(name: &str) -> Result<(), Failure> {
    if let Some(id) = name.strip_suffix(ENDING) {
        return Err(Failure::input(format!(
            "`{name}` is the name of a file: leave the ending away, `{id}`"
        )));
    }
    if is_id(name) {
        return Ok(());
    }
    Err(Failure::input(format!(
        "`{name}` is no id: begin with a small letter or a digit; then small letters, digits, `_`, `-` and `.`"
    )))
}

/// The release in a folder, read whole: what is added has to fit it.
fn open(folder: &Path) -> Result<LoadedRelease, Failure> {
    if !folder.join("release.toml").is_file() {
        return Err(Failure::input(format!(
            "`{}` holds no release.toml: name the release's folder with `--in`, or make one with \
             `pcb new release NAME`",
            folder.display()
        )));
    }
    open_release_with(folder, LockUse::Ignore)
        .map_err(|problems| Failure::input(releases::shown(&problems)))
}

fn persona_of<'r>(wanted: Option<&str>, loaded: &'r LoadedRelease) -> Result<&'r Persona, Failure> {
    let personas = || loaded.release.personas.values().filter(|one| one.id.as_str() != "neutral");
    let known: Vec<&str> = personas().map(|persona| persona.id.as_str()).collect();
    let Some(wanted) = wanted else { return Err(unnamed("persona", &known)) };
    if let Some(exact) = personas().find(|persona| persona.id.as_str() == wanted) {
        return Ok(exact);
    }
    let mut family = personas().filter(|persona| persona.family.as_str() == wanted);
    match (family.next(), family.next()) {
        (Some(persona), None) => Ok(persona),
        (Some(_), Some(_)) => Err(Failure::input(format!(
            "there are several personas of the family `{wanted}`: name one with `--persona ID` ({})",
            known.join(", ")
        ))),
        (None, _) => Err(unknown("persona", wanted, &known)),
    }
}

fn task_of<'r>(wanted: Option<&str>, loaded: &'r LoadedRelease) -> Result<&'r str, Failure> {
    let known: Vec<&str> = loaded.release.tasks.keys().map(|task| task.as_str()).collect();
    let Some(wanted) = wanted else { return Err(unnamed("task", &known)) };
    let found = known.iter().copied().find(|task| *task == wanted);
    found.ok_or_else(|| unknown("task", wanted, &known))
}

fn unnamed(what: &str, known: &[&str]) -> Failure {
    Failure::input(format!(
        "the pair's {what} is not named: call the pair PERSONA--TASK, or add `--{what} ID` (there is {})",
        known.join(", ")
    ))
}

fn unknown(what: &str, wanted: &str, known: &[&str]) -> Failure {
    Failure::input(format!(
        "the release has no {what} `{wanted}` (there is {}): make it with `pcb new {what}`, or name another \
         with `--{what} ID`",
        known.join(", ")
    ))
}

fn write(folder: &Path, skeleton: &Skeleton<'_>) -> Result<(), Failure> {
    for path in place(folder, &skeleton.files()).map_err(Failure::input)? {
        println!("wrote {}", path.strip_prefix(".").unwrap_or(&path).display());
    }
    Ok(())
}

/// A path as the user would write it.
fn below(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }
}

fn say_next(commands: &[String]) {
    println!("next:");
    for command in commands {
        println!("  {command}");
    }
}

/// Says what the new files ask of the rest of the release: a new lock, or what a lint calls an error.
fn closing(folder: &Path) -> Result<ExitCode, Failure> {
    if folder.join(LOCK_FILE).is_file() {
        println!("the release was locked: lock it anew with `pcb lock {}`", folder.display());
    }
    if let Some(findings) = releases::findings(&open(folder)?).filter(|found| found.has_error) {
        println!("to mend now:\n{}", findings.text);
    }
    Ok(ExitCode::Done)
}

/// The folder of the release that a pair's folder lies in, as the user would write it if that can be seen.
fn release_around(pair: &Path) -> Option<PathBuf> {
    let is_release = |folder: &&Path| folder.join("release.toml").is_file();
    let written = pair.ancestors().nth(2).map(|folder| match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    });
    if let Some(folder) = written.filter(is_release) {
        return Some(folder.to_owned());
    }
    fs::canonicalize(pair).ok()?.ancestors().nth(2).filter(is_release).map(Path::to_owned)
}

/// A canary stands in a quoted text and in comments of many languages.
fn checked_canary(given: &str) -> Result<String, Failure> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    if given.len() >= 8 && given.chars().all(is_plain) {
        return Ok(given.to_owned());
    }
    Err(Failure::input(format!(
        "`{given}` is no canary: take at least 8 letters, digits, `-`, `_`, `.` and `:`, or leave `--canary` \
         away and one is drawn"
    )))
}

/// A string that stands nowhere else.
fn unique(name: &str) -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("pcb-{name}-{}-{}-{}", &hex[..8], &hex[8..20], &hex[20..]))
}
