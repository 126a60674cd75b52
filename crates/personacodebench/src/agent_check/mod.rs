//! What of an agent works here ([`check`]): it is installed, opened in a sandbox and worked with against a scripted model behind
//! the gateway, line by line of a [`Report`].

mod stage;

use std::{
    fmt,
    time::{Duration, Instant},
};

use adapters::agents::{
    AcpAgent,
    install::install,
    presets::{Permissions, Preset, ShellCall},
};
use domain::{evidence::HostedDecision, ids::Hash, session::TurnStop};
use engine::ports::{
    agent::AgentFault,
    sandbox::{Base, BaseSpec, Image, Limits, Network, SandboxKind, Sandboxes},
};
use serde::Serialize;

use self::stage::{Seen, Stage, Stopped};
use crate::{failure::Failure, host::Host, options};

/// Where it works inside.
const WORKDIR: &str = "/app";

/// Traces that are named.
const TRACES_TOLD: usize = 5;

/// A model that hangs is waited for so long before the turn is stopped.
const HANG: Duration = Duration::from_secs(5);

/// What the model says to each message.
const SCRIPT: &str = include_str!("script.toml");

/// What of an agent works.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The agent.
    pub agent: String,
    /// Where it was tried.
    pub sandbox: String,
    /// Line by line.
    pub lines: Vec<Line>,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What.
    pub what: &'static str,
    /// Whether it works.
    pub tried: Tried,
    /// In words.
    pub detail: String,
    /// How long it took.
    pub took_ms: u64,
}

/// Whether something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tried {
    /// It does.
    Works,
    /// It does not.
    Fails,
    /// The agent has no such thing.
    Without,
}

impl Line {
    /// As a person reads it.
    pub fn told(&self) -> String {
        let tried = match self.tried {
            Tried::Works => "works",
            Tried::Fails => "FAILS",
            Tried::Without => "-",
        };
        let seconds = Duration::from_millis(self.took_ms).as_secs_f64();
        format!("{:24} {tried:6} {seconds:6.1} s  {}", self.what, self.detail)
    }
}

/// Tries everything; each line is told as soon as it is known.
///
/// # Errors
/// The agent cannot be installed, or this host cannot make the sandbox.
pub async fn check(
    preset: &Preset,
    host: &Host,
    image: &str,
    faults: bool,
    told: impl FnMut(&Line),
) -> Result<Report, Failure> {
    let began = Instant::now();
    let below = options::agents_folder()?;
    let layer = install(preset, &below, &options::registry_variables()).await;
    let layer = layer.map_err(Failure::input)?;
    let installed = format!("layer {}", &layer.digest[..12]);
    let sandboxes = host.furnished(layer);
    let base = sandboxes.materialise(&base_spec(sandboxes.kind(), image)).await;
    let base = base.map_err(Failure::input)?;
    let lines = Vec::new();
    let agent = preset.name.clone();
    let report = Report { agent, sandbox: host.name.to_owned(), lines };
    let mut trying = Trying { preset, sandboxes: sandboxes.as_ref(), base, report, told, began };
    trying.line("install", Tried::Works, installed);
    trying.bypassing().await;
    trying.asking().await;
    if faults {
        trying.failing().await;
    }
    Ok(trying.report)
}

struct Trying<'a, T> {
    preset: &'a Preset,
    sandboxes: &'a dyn Sandboxes,
    base: Base,
    report: Report,
    told: T,
    began: Instant,
}

impl<T: FnMut(&Line)> Trying<'_, T> {
    fn line(&mut self, what: &'static str, tried: Tried, detail: impl Into<String>) {
        let took_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let detail: String = detail.into();
        let detail = detail.lines().next().unwrap_or_default().to_owned();
        let line = Line { what, tried, detail, took_ms };
        (self.told)(&line);
        self.report.lines.push(line);
        self.began = Instant::now();
    }

    fn judged(&mut self, what: &'static str, works: bool, detail: impl Into<String>) {
        self.line(what, if works { Tried::Works } else { Tried::Fails }, detail);
    }

    /// A line of its own for what keeps the ones after it from being tried.
    fn broke(&mut self, what: &'static str, fault: &AgentFault) {
        self.line(what, Tried::Fails, fault.to_string());
    }

    async fn stage(&self, permissions: Permissions) -> Option<Result<Stage, AgentFault>> {
        let launch = self.preset.launch(permissions)?;
        let agent = AcpAgent::new(launch);
        let asking = self.preset.asking.as_ref().filter(|_| permissions == Permissions::Ask);
        let script = script(asking.and_then(|manner| manner.shell.as_ref()));
        let form = self.preset.form;
        let limits = limits();
        let stage = Stage::open(self.sandboxes, &self.base, &limits, &agent, form, &script);
        Some(stage.await)
    }

    /// An agent that runs everything without asking.
    async fn bypassing(&mut self) {
        let mut stage = match self.stage(Permissions::Bypass).await {
            Some(Ok(stage)) => stage,
            Some(Err(fault)) => return self.broke("start", &fault),
            None => return self.line("start", Tried::Without, "it always asks"),
        };
        let name = stage.told_name().unwrap_or_else(|| "it tells no name".to_owned());
        self.line("start", Tried::Works, name);
        if let Err(fault) = self.two_turns(&mut stage).await {
            return self.broke("two turns", &fault);
        }
        if let Err(fault) = self.interrupt(&mut stage).await {
            return self.broke("interrupt", &fault);
        }
        match stage.close().await {
            Ok(0) => self.line("end", Tried::Works, "nothing is left of it"),
            Ok(left) => {
                let told = format!("{left} processes were left of it and ended with the sandbox");
                self.line("end", Tried::Works, told);
            }
            Err(fault) => self.broke("end", &fault),
        }
    }

    async fn two_turns(&mut self, stage: &mut Stage) -> Result<(), AgentFault> {
        let first = stage.turn("Please note the word one.", true, Stopped::Late).await?;
        let second = stage.turn("Please note the word two.", true, Stopped::Late).await?;
        let notes = stage.read("notes.txt").await?;
        let is_done = |seen: &Seen, said: &str| {
            seen.stop == Some(TurnStop::Finished) && seen.said.contains(said) && seen.acted > 0
        };
        let works = is_done(&first, "Noted one.") && is_done(&second, "Noted two.");
        let told = match works && notes == "one\ntwo\n" {
            true => format!("{} and {} tool calls told", first.acted, second.acted),
            false => format!("notes: {notes:?}; {first}; {second}"),
        };
        self.judged("two turns", works && notes == "one\ntwo\n", told);
        let claimed = first.claimed.zip(second.claimed).map(|(one, two)| format!("{one}, {two}"));
        let (calls, served) = stage.calls();
        let seen: u64 = calls.iter().filter_map(|call| call.tokens.total()).sum();
        let side = calls.iter().filter(|call| call.purpose == domain::evidence::Purpose::Side);
        let told = format!(
            "{seen} tokens of {} calls ({} side), {} served; its own: {} ({})",
            calls.len(),
            side.count(),
            served.tokens,
            claimed.unwrap_or_else(|| "none".to_owned()),
            match self.preset.usage {
                None => "it tells none".to_owned(),
                Some(span) => format!("it tells {}", span.name()),
            }
        );
        let hosted: Vec<String> = calls
            .iter()
            .flat_map(|call| &call.hosted)
            .map(|tool| format!("{} {}", tool.name, tool.decision.name()))
            .collect();
        let is_shut = calls.iter().flat_map(|call| &call.hosted).all(|tool| {
            matches!(tool.decision, HostedDecision::Stripped | HostedDecision::Refused)
        });
        self.judged("usage", seen == served.tokens && seen > 0, told);
        let told = match hosted.first() {
            None => "it asks for none".to_owned(),
            Some(first) => format!("{} times, as {first}", hosted.len()),
        };
        self.judged("hosted tools refused", is_shut, told);
        let traces = stage.traces(&["notes.txt"]).await?;
        let told = match traces.is_empty() {
            true => "no trace beside what it was asked for".to_owned(),
            false => {
                let named: Vec<&str> =
                    traces.iter().take(TRACES_TOLD).map(String::as_str).collect();
                format!("{} traces: {}", traces.len(), named.join(", "))
            }
        };
        self.judged("silence", traces.is_empty(), told);
        Ok(())
    }

    async fn interrupt(&mut self, stage: &mut Stage) -> Result<(), AgentFault> {
        let seen = stage.turn("Please wait a while.", true, Stopped::Busy).await?;
        let told = match (seen.stop, seen.stop_ms) {
            (Some(stop), Some(ms)) => format!("{stop:?} after {ms} ms"),
            (Some(stop), None) => format!("{stop:?} before it was asked to: {seen}"),
            (None, _) => "it goes on; a session would end it".to_owned(),
        };
        let works = seen.stop.is_some() && seen.stop_ms.is_some();
        self.judged("interrupt", works, told);
        Ok(())
    }

    /// An agent that asks before it acts.
    async fn asking(&mut self) {
        let stage = match self.stage(Permissions::Ask).await {
            Some(Ok(stage)) => stage,
            Some(Err(fault)) => return self.broke("permission", &fault),
            None => return self.line("permission", Tried::Without, "it does not ask"),
        };
        if let Err(fault) = self.permissions(stage).await {
            self.broke("permission", &fault);
        }
    }

    async fn permissions(&mut self, mut stage: Stage) -> Result<(), AgentFault> {
        let refused = stage.turn("Please note the word three.", false, Stopped::Late).await?;
        let notes = stage.read("notes.txt").await?;
        let asked = refused.asked.len();
        let is_kept = asked > 0 && notes.is_empty();
        let works = is_kept && refused.stop.is_some() && refused.stop_ms.is_none();
        let told = match works {
            true => format!("asked {asked} times, kept to it, {:?}", refused.stop),
            false => format!("notes: {notes:?}; {refused}"),
        };
        self.judged("permission refused", works, told);
        let allowed = stage.turn("Please note the word four.", true, Stopped::Late).await?;
        let notes = stage.read("notes.txt").await?;
        let asked = allowed.asked.len();
        let works = asked > 0 && notes == "four\n" && allowed.stop == Some(TurnStop::Finished);
        let told = match works {
            true => format!("asked {asked} times, then did it"),
            false => format!("notes: {notes:?}; {allowed}"),
        };
        self.judged("permission given", works, told);
        stage.close().await.map(drop)
    }

    /// An agent in bad weather, and one that is killed.
    async fn failing(&mut self) {
        for killed in [false, true] {
            let mut stage = match self.stage(Permissions::Bypass).await {
                Some(Ok(stage)) => stage,
                Some(Err(fault)) => return self.broke("faults", &fault),
                None => return,
            };
            let tried = match killed {
                false => self.weather(&mut stage).await,
                true => self.killed(&mut stage).await,
            };
            if let Err(fault) = tried {
                self.broke("faults", &fault);
            }
            // Its sandbox ends what is left.
        }
    }

    async fn weather(&mut self, stage: &mut Stage) -> Result<(), AgentFault> {
        let seen = stage.turn("Please note the word five.", true, Stopped::Late).await?;
        let notes = stage.read("notes.txt").await?;
        let works = notes == "five\n" && seen.stop == Some(TurnStop::Finished);
        let told = match works {
            true => "two failures of the provider are not seen".to_owned(),
            false => format!("notes: {notes:?}; {seen}"),
        };
        self.judged("provider fails", works, told);
        let seen = stage.turn("Which colour?", true, Stopped::Late).await?;
        let works = seen.stop == Some(TurnStop::Finished) && seen.said.contains("blue or green?");
        let told = if works { "it ends its turn".to_owned() } else { seen.to_string() };
        self.judged("question to the user", works, told);
        let seen = stage.turn("Please think forever.", true, Stopped::After(HANG)).await?;
        let told = match (seen.stop, seen.stop_ms) {
            (Some(stop), Some(ms)) => format!("{stop:?} {ms} ms after it was asked to stop"),
            (None, _) => "it goes on when it is asked to stop; a session would end it".to_owned(),
            _ => seen.to_string(),
        };
        self.judged("provider hangs", seen.stop.is_some() && seen.stop_ms.is_some(), told);
        Ok(())
    }

    async fn killed(&mut self, stage: &mut Stage) -> Result<(), AgentFault> {
        let seen = stage.turn("Please end everything.", true, Stopped::Late).await?;
        let is_told =
            ["signal 9", "exited", "SIGKILL"].iter().any(|word| seen.noted.contains(word));
        let works = seen.stop == Some(TurnStop::Crashed) && seen.stop_ms.is_none() && is_told;
        let told = if works { seen.noted.clone() } else { seen.to_string() };
        self.judged("process killed", works, told);
        Ok(())
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stop, said, asked, acted, noted, .. } = self;
        write!(formatter, "{stop:?}, {acted} tool calls, asked {}, said {said:?}", asked.len())?;
        if noted.is_empty() { Ok(()) } else { write!(formatter, ", {noted}") }
    }
}

/// The script, with its commands called as this agent wants them.
fn script(shell: Option<&ShellCall>) -> String {
    let Some(shell) = shell else { return SCRIPT.to_owned() };
    let quoted = |(key, value): (&String, &String)| format!("{key} = {value:?}, ");
    let more: String = shell.input.iter().map(quoted).collect();
    let called = |line: &str| match line.strip_prefix("run = [").and_then(|l| l.strip_suffix(']')) {
        Some(command) => {
            let ShellCall { tool, command: field, .. } = shell;
            format!("call = [{{ tool = {tool:?}, input = {{ {more}{field} = {command} }} }}]\n")
        }
        None => format!("{line}\n"),
    };
    SCRIPT.lines().map(called).collect()
}

fn limits() -> Limits {
    Limits {
        memory_mb: Some(4096),
        processes_max: Some(512),
        disk_mb: Some(2048),
        cpus: None,
        gpus: 0,
        network: Network::Off,
    }
}

fn base_spec(kind: SandboxKind, image: &str) -> BaseSpec {
    let image = match kind {
        SandboxKind::Docker => Image::Named(image.to_owned()),
        SandboxKind::Local | SandboxKind::Simulated => Image::None,
    };
    let of: String = match &image {
        Image::Named(name) => name.chars().filter(char::is_ascii_alphanumeric).collect(),
        _ => "host".to_owned(),
    };
    let digest = Hash::new(format!("agent-check-{of}"));
    BaseSpec {
        digest,
        image,
        environment: Vec::new(),
        workdir: WORKDIR.to_owned(),
        env: std::collections::BTreeMap::new(),
        toolchains: Vec::new(),
        setup_timeout: Duration::from_secs(60),
        limits: limits(),
    }
}
