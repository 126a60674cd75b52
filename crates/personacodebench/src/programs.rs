//! Agents that are programs of their own: how a configuration has them started ([`program`]).

use std::{collections::BTreeMap, path::Path};

use adapters::{
    agents::{
        AcpLaunch, CliDescription, CliLaunch, ProgramLaunch, SHIPPED,
        placeholders::Fillable,
        presets::{Permissions, Preset},
        shipped,
    },
    catalog::{AgentKind, AgentMake},
};
use domain::{plan::Configuration, session::ClaimSpan};

use crate::failure::Failure;

/// The program that a configuration names; none if its agent is none.
///
/// # Errors
/// Its command or description cannot be read, or a setting is none of its driver.
pub fn program(
    configuration: &Configuration,
    kind: &AgentKind,
    preset: Option<&Preset>,
) -> Result<Option<AgentMake>, Failure> {
    if let Some(preset) = preset {
        return installed(configuration, preset).map(Some);
    }
    let name = configuration.agent.as_str().to_owned();
    let launch = |command: &str, example: &str| {
        let argv = argv(configuration, command, example)?;
        Ok::<_, Failure>(ProgramLaunch { name: name.clone(), argv, env: env_only(configuration)? })
    };
    Ok(Some(match kind {
        AgentKind::Acp(command) => AgentMake::Acp(acp(configuration, command)?),
        AgentKind::ClaudeStream(command) => {
            AgentMake::ClaudeStream(launch(command, "claude-stream:claude -p …")?)
        }
        AgentKind::Ndjson(command) => AgentMake::Ndjson(launch(command, "ndjson:my-agent")?),
        AgentKind::Cli(text) => {
            let description = description(configuration, text)?;
            if description.wants_model() && configuration.model.is_none() {
                return Err(Failure::input(format!(
                    "--agent {name}: its description wants a model; name one with --models FILE --agent-model NAME"
                )));
            }
            let env = env_only(configuration)?;
            AgentMake::Cli(Box::new(CliLaunch { name: name.clone(), description, env }))
        }
        AgentKind::Loop if configuration.model.is_none() => {
            return Err(Failure::input(
                "--agent loop: it is a model with a shell, and has no model; name one with --models FILE \
                 --agent-model NAME",
            ));
        }
        AgentKind::Loop => {
            without_settings(configuration)?;
            AgentMake::Loop
        }
        AgentKind::Human => {
            if let Some(model) = &configuration.model {
                let message = format!("--agent human:{model}: a person takes no model");
                return Err(Failure::input(message));
            }
            without_settings(configuration)?;
            AgentMake::Human
        }
        _ => return Ok(None),
    }))
}

fn without_settings(configuration: &Configuration) -> Result<(), Failure> {
    let agent = &configuration.agent;
    match configuration.settings.first() {
        None => Ok(()),
        Some((key, value)) => {
            Err(Failure::input(format!("--set {key}={value}: the agent {agent} has no settings")))
        }
    }
}

/// A command as it was written for a shell.
fn argv(
    configuration: &Configuration,
    command: &str,
    example: &str,
) -> Result<Vec<String>, Failure> {
    shlex::split(command).filter(|argv| !argv.is_empty()).ok_or_else(|| {
        let agent = &configuration.agent;
        let message = format!("--agent {agent}: no command, or a quote that is not closed");
        Failure::input(format!("{message}; write it as for a shell: --agent '{example}'"))
    })
}

/// How a program that speaks the Agent Client Protocol is started: its command, and what `--set` says of it.
fn acp(configuration: &Configuration, command: &str) -> Result<AcpLaunch, Failure> {
    let launch = AcpLaunch {
        name: configuration.agent.as_str().to_owned(),
        argv: argv(configuration, command, "acp:goose acp")?,
        env: BTreeMap::new(),
        mode: None,
        options: Vec::new(),
        span: ClaimSpan::Unknown,
    };
    set(launch, configuration, &[])
}

/// The setting by which an agent that is known by name asks or does not.
const PERMISSIONS: &str = "permissions";

/// How an agent that is known by name is started, and what `--set` says of it.
fn installed(configuration: &Configuration, preset: &Preset) -> Result<AgentMake, Failure> {
    let told = configuration.settings.iter().find(|(key, _)| key == PERMISSIONS);
    let permissions = match told.map(|(_, value)| value.as_str()) {
        None | Some("bypass") => Permissions::Bypass,
        Some("ask") => Permissions::Ask,
        Some(other) => {
            let message = format!("--set {PERMISSIONS}={other}: expected ask or bypass");
            return Err(Failure::input(message));
        }
    };
    let agent = &configuration.agent;
    let launch = preset.launch(permissions).ok_or_else(|| {
        Failure::input(format!("--set {PERMISSIONS}=ask: the agent {agent} never asks"))
    })?;
    let wants_model = launch.env.values().any(Fillable::wants_model);
    if wants_model && configuration.model.is_none() {
        let message = format!("--agent {agent}: it has no model: name one with --agent-model");
        return Err(Failure::input(message));
    }
    set(launch, configuration, &[PERMISSIONS]).map(AgentMake::Acp)
}

/// A launch with what `--set` says of it; the settings named are read already.
fn set(
    mut launch: AcpLaunch,
    configuration: &Configuration,
    read: &[&str],
) -> Result<AcpLaunch, Failure> {
    for (key, value) in &configuration.settings {
        match key.split_once('.') {
            None if read.contains(&key.as_str()) => {}
            None if key == "mode" => launch.mode = Some(value.clone()),
            Some(("env", name)) if !name.is_empty() => {
                launch.env.insert(name.to_owned(), fillable(configuration, key, value)?);
            }
            Some(("option", name)) if !name.is_empty() => {
                launch.options.push((name.to_owned(), value.clone()));
            }
            _ => {
                return Err(Failure::input(format!(
                    "--set {key}={value}: an agent of the Agent Client Protocol has the settings \
                     mode=NAME, option.NAME=VALUE and env.NAME=VALUE"
                )));
            }
        }
    }
    Ok(launch)
}

/// Variables, the only settings of every other driver.
fn env_only(configuration: &Configuration) -> Result<BTreeMap<String, Fillable>, Failure> {
    let settings = configuration.settings.iter();
    let variables = settings.map(|(key, value)| match key.split_once('.') {
        Some(("env", name)) if !name.is_empty() => {
            Ok((name.to_owned(), fillable(configuration, key, value)?))
        }
        _ => Err(Failure::input(format!(
            "--set {key}={value}: the agent {} has the settings env.NAME=VALUE",
            configuration.agent
        ))),
    });
    variables.collect()
}

/// A value with its placeholders; those of the gateway need a model.
fn fillable(configuration: &Configuration, key: &str, value: &str) -> Result<Fillable, Failure> {
    let bad = |why: &dyn std::fmt::Display| Failure::input(format!("--set {key}={value}: {why}"));
    let text = Fillable::parse(value).map_err(|unknown| bad(&unknown))?;
    if text.wants_model() && configuration.model.is_none() {
        return Err(bad(&"the agent has no model: name one with --agent-model"));
    }
    Ok(text)
}

/// A description of ours, or of a file.
fn description(configuration: &Configuration, text: &str) -> Result<CliDescription, Failure> {
    if let Some(description) = shipped(text) {
        return Ok(description);
    }
    let agent = &configuration.agent;
    let written = std::fs::read_to_string(Path::new(text)).map_err(|error| {
        let names = SHIPPED.map(|(name, _)| name).join(", ");
        Failure::input(format!(
            "--agent {agent}: `{text}` is no description of ours ({names}) and no file that can be read ({error})"
        ))
    })?;
    CliDescription::read(&written)
        .map_err(|error| Failure::input(format!("--agent {agent}: {text}: {error}")))
}
