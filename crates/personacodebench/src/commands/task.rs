//! `pcb task`: how tasks of others will be read, before anything is run.

use std::{fmt::Write as _, path::PathBuf};

use adapters::sandboxes::docker::{Compose, ComposeError};
use clap::{Args, Subcommand};
use domain::release::{PairEnvironment, Recipe, Task, Unsupported, WorkdirSource};
use engine::{
    materialise::{base_spec, task_limits},
    ports::sandbox::Image,
};
use serde_json::{Value, json};
use store::{
    harbor::{
        adhoc::task_folders,
        reading::{TaskReading, read_for_check},
    },
    release_files::Problem,
};

use crate::{conduct::entries, exit_code::ExitCode, failure::Failure, options};

/// Arguments of `pcb task`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TaskArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

const EXAMPLES: &str = "\
Examples:
  pcb task check ./task
  pcb task check ./tasks --json";

/// What can be done with tasks.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Say how Harbor tasks will be read: every key, where they can run, what is refused or ignored.
    Check(CheckArgs),
}

/// Arguments of `pcb task check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Tasks, or folders of tasks.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Print JSON, one object for each task.
    #[arg(long)]
    pub json: bool,
}

/// The sandboxes that a task is held against.
const SANDBOXES: [&str; 2] = ["local", "docker"];

/// Says how each task will be read; one that nothing can run is bad input.
pub fn run(args: &TaskArgs) -> Result<ExitCode, Failure> {
    let Action::Check(args) = &args.action;
    let mut folders = Vec::new();
    for folder in &args.folders {
        let shown = folder.display();
        let found =
            task_folders(folder).map_err(|error| Failure::input(format!("{shown}: {error}")))?;
        if found.is_empty() {
            return Err(Failure::input(format!(
                "{shown}: no task lies there; name a folder that holds a `task.toml`, or one of such folders"
            )));
        }
        folders.extend(found);
    }
    let checked: Vec<Checked> =
        folders.iter().map(|folder| Checked::of(read_for_check(folder))).collect();
    if args.json {
        let all: Vec<Value> = checked.iter().map(Checked::json).collect();
        println!("{:#}", Value::Array(all));
    } else {
        for one in &checked {
            println!("{}", one.text());
        }
    }
    let runs = checked.iter().filter(|one| !one.sandboxes().is_empty()).count();
    if runs == checked.len() {
        return Ok(ExitCode::Done);
    }
    eprintln!("{} of {} tasks cannot run", checked.len() - runs, checked.len());
    Ok(ExitCode::BadInput)
}

struct Checked {
    reading: TaskReading,
    /// What each sandbox does not give.
    unsupported: Vec<(&'static str, Vec<Unsupported>)>,
    services: Services,
}

/// What a compose file makes.
enum Services {
    /// There is none.
    None,
    /// A line for each service, in the order in which they start.
    Read(Vec<String>),
    /// Sentences about what no session has.
    Refused(Vec<String>),
    /// Why it could not be read here.
    Unread(String),
}

impl Services {
    fn of(reading: &TaskReading) -> Self {
        let Some((task, files)) = reading.task.as_ref().zip(reading.files.as_ref()) else {
            return Self::None;
        };
        if !task.environment.recipes.contains(&Recipe::Compose) {
            return Self::None;
        }
        let env = match options::resolve(&task.environment.env) {
            Ok(env) => env,
            Err(error) => return Self::Unread(error.to_string()),
        };
        let image = match (&task.environment.image, &files.dockerfile) {
            (Some(name), _) => Image::Named(name.clone()),
            (None, Some(dockerfile)) => Image::Dockerfile(dockerfile.clone()),
            (None, None) => Image::None,
        };
        let pair = PairEnvironment::default();
        let own = entries(&files.environment);
        let spec = base_spec(&task.environment, task_limits(task), &pair, env, own, image);
        let host = options::host_variables();
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Self::Unread(error.to_string()),
        };
        let read =
            runtime.block_on(async { Compose::find(&host).await?.services(&spec, &host).await });
        match read {
            Ok(lines) => Self::Read(lines),
            Err(ComposeError::Refused(sentences)) => Self::Refused(sentences),
            Err(error) => Self::Unread(error.to_string()),
        }
    }
}

impl Checked {
    fn of(reading: TaskReading) -> Self {
        let of_task =
            |task: &Task| SANDBOXES.map(|sandbox| (sandbox, task.unsupported_by(sandbox))).to_vec();
        let unsupported = reading.task.as_ref().map(of_task).unwrap_or_default();
        let services = Services::of(&reading);
        Self { reading, unsupported, services }
    }

    /// Where it can run.
    fn sandboxes(&self) -> Vec<&'static str> {
        if matches!(self.services, Services::Refused(_)) {
            return Vec::new();
        }
        let suited = self.unsupported.iter().filter(|(_, lacks)| lacks.is_empty());
        suited.map(|(sandbox, _)| *sandbox).collect()
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.reading.folder.display());
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<12} {value}");
        };
        if let Some(task) = &self.reading.task {
            line("made from", &made_from(task));
            line("workdir", &workdir(task));
            line("network", task.agent_network().name());
            line("steps", &task.steps.len().to_string());
            let sandboxes = self.sandboxes().join(", ");
            line("runs on", if sandboxes.is_empty() { "nothing" } else { &sandboxes });
        }
        match &self.services {
            Services::None => {}
            Services::Read(lines) => lines.iter().for_each(|service| line("service", service)),
            Services::Refused(sentences) => sentences.iter().for_each(|why| {
                line("refused", &format!("environment/docker-compose.yaml: {why}"))
            }),
            Services::Unread(why) => line("services", &format!("not read: {why}")),
        }
        for key in &self.reading.keys {
            let assigned = format!("{} = {}", key.path, key.value);
            let place = format!("task.toml:{}", key.line);
            line(&place, &format!("{assigned:<48} {}", key.state.name()));
        }
        for (sandbox, lacks) in &self.unsupported {
            for one in lacks {
                line("refused", &format!("by {sandbox}: {}; {}", one.what, one.remedy));
            }
        }
        for problem in &self.reading.warnings {
            line("ignored", &shown(problem));
        }
        for problem in self.reading.problems.iter() {
            line("refused", &shown(problem));
        }
        text
    }

    fn json(&self) -> Value {
        let keys = self.reading.keys.iter().map(|key| {
            let state = key.state.name();
            json!({ "key": key.path, "line": key.line, "value": key.value, "state": state })
        });
        let lacks = self.unsupported.iter().flat_map(|(sandbox, lacks)| {
            lacks.iter().map(move |one| {
                json!({ "sandbox": sandbox, "key": one.key, "what": one.what, "remedy": one.remedy })
            })
        });
        let told = |problem: &Problem| {
            let line = problem.spot.as_ref().map(|spot| spot.line);
            let (file, what, remedy) = (&problem.file, &problem.message, &problem.remedy);
            json!({ "file": file, "line": line, "what": what, "remedy": remedy })
        };
        let task = self.reading.task.as_ref();
        json!({
            "folder": self.reading.folder,
            "made_from": task.map(made_from),
            "workdir": task.map(|task| &task.environment.workdir),
            "network": task.map(|task| task.agent_network().name()),
            "steps": task.map(|task| task.steps.len()),
            "runs_on": self.sandboxes(),
            "services": match &self.services {
                Services::None => Value::Null,
                Services::Read(lines) => json!({ "read": lines }),
                Services::Refused(sentences) => json!({ "refused": sentences }),
                Services::Unread(why) => json!({ "unread": why }),
            },
            "keys": keys.collect::<Vec<_>>(),
            "unsupported": lacks.collect::<Vec<_>>(),
            "ignored": self.reading.warnings.iter().map(told).collect::<Vec<_>>(),
            "refused": self.reading.problems.iter().map(told).collect::<Vec<_>>(),
        })
    }
}

fn shown(problem: &Problem) -> String {
    let line = problem.spot.as_ref().map(|spot| format!(":{}", spot.line)).unwrap_or_default();
    format!("{}{line}: {}; {}", problem.file, problem.message, problem.remedy)
}

/// Where the image, or what stands in for it, comes from.
fn made_from(task: &Task) -> String {
    let environment = &task.environment;
    let has = |recipe| environment.recipes.contains(&recipe);
    let beside = if has(Recipe::Files) { ", and the files beside it" } else { "" };
    match &environment.image {
        Some(image) => format!("the image {image}{beside}"),
        None if has(Recipe::Compose) => "environment/docker-compose.yaml".to_owned(),
        None if has(Recipe::Setup) && has(Recipe::Dockerfile) => {
            "environment/setup.sh on the host's programs, or environment/Dockerfile".to_owned()
        }
        None if has(Recipe::Setup) => "environment/setup.sh on the host's programs".to_owned(),
        None if has(Recipe::Dockerfile) => "environment/Dockerfile".to_owned(),
        None if has(Recipe::BareDockerfile) => {
            "environment/Dockerfile, which builds nothing: local puts the host's programs in the image's place"
                .to_owned()
        }
        None => "the host's programs: no image is named".to_owned(),
    }
}

fn workdir(task: &Task) -> String {
    let directory = &task.environment.workdir;
    match task.environment.workdir_said_by {
        WorkdirSource::Declared => directory.clone(),
        WorkdirSource::Dockerfile => format!("{directory}, by environment/Dockerfile"),
        WorkdirSource::House => format!("{directory}, because nothing says it"),
        WorkdirSource::Image => "that of the image".to_owned(),
    }
}
