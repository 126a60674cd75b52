//! The reference agent ([`LoopAgent`]): a model with one tool, a shell in the sandbox, asked again until it answers with words
//! alone. It is there so that a bare model can be evaluated, and so that an agent can be read in one sitting.
//!
//! The loop runs beside the harness; its commands run in the sandbox, and its requests go through the session's gateway like
//! those of any agent, so that they are measured, priced and blocked alike.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    evidence::WireFormat,
    session::{ToolKind, ToolOutcome, TurnStop, title_of},
    usage::PriceTable,
};
use engine::ports::{
    agent::{
        Agent, AgentFault, Brief, Conversation, Identity, Observer, ToolCall as ToldCall,
        ToolResult as ToldResult,
    },
    gateway::{ModelAccess, ModelLine},
    model::{Completion, Model, ModelFault, Prompt, PromptLine, ToolCall, ToolOffer, ToolResult},
    sandbox::{CommandSpec, Ended, Finished, Sandbox},
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};

use crate::models::{
    caller::{Caller, Caps},
    http::{BaseAddress, HttpProvider},
    secret::Secret,
};

/// What the model is told of its place. The user's messages say the rest.
const INSTRUCTIONS: &str = "You are a software engineer working with a user, in a shell on their computer. Use the tool \
    `shell` to look at files, change them and run programs; each command is a new shell in the working directory. Do what \
    the user asks and check your work. When you are done, or need an answer or a permission, write a message to the user \
    without calling the tool: that gives the turn to them.";

/// A command may run so long.
const COMMAND_MAX: Duration = Duration::from_secs(600);

/// Bytes of each of a command's streams that the model gets to see, beginning and end.
const OUTPUT_MAX: usize = 16 << 10;

/// One answer may take so long; the gateway gives up a provider long before.
const ANSWER_MAX: Duration = Duration::from_secs(2 * 3_600);

/// A model with a shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopAgent;

#[async_trait::async_trait]
impl Agent for LoopAgent {
    fn identify(&self) -> Identity {
        Identity { name: "loop".to_owned(), channels: super::channels(), late_updates_ms: 0 }
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let lacks = || AgentFault::NotOpened("loop needs a model, and the session has none".into());
        let access = brief.model.as_ref().ok_or_else(lacks)?;
        let (model, line) = (access.model.clone().ok_or_else(lacks)?, access.line.clone());
        let caller = caller(model, access, line.ok_or_else(lacks)?)?;
        Ok(Box::new(LoopConversation {
            caller,
            sandbox,
            brief: brief.clone(),
            history: Mutex::default(),
            stopped: Notify::new(),
        }))
    }
}

/// Asks the session's gateway, which keeps, prices and repeats what it is asked.
fn caller(model: String, access: &ModelAccess, line: ModelLine) -> Result<Caller, AgentFault> {
    let version = if line.form() == WireFormat::Gemini { "v1beta" } else { "v1" };
    let base = format!("{}/{version}", access.address);
    let base = BaseAddress::parse(&base).map_err(|bad| AgentFault::NotOpened(bad.to_string()))?;
    let (format, token) = (line.form(), Secret::new(access.token.as_str()));
    let provider = HttpProvider::new(base, Some(token)).over(Arc::new(move || line.connect()));
    Ok(Caller {
        provider: Arc::new(provider),
        format,
        model,
        prices: Arc::new(PriceTable::default()),
        caps: Arc::new(Caps::new(1, None)),
        deadline: ANSWER_MAX,
        keep: None,
    })
}

struct LoopConversation {
    caller: Caller,
    sandbox: Arc<dyn Sandbox>,
    brief: Brief,
    history: Mutex<Vec<PromptLine>>,
    stopped: Notify,
}

#[async_trait::async_trait]
impl Conversation for LoopConversation {
    fn told_name(&self) -> Option<String> {
        Some(format!("loop {}", self.caller.model))
    }

    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        observer.delivered();
        tokio::select! {
            biased;
            () = self.stopped.notified() => Ok(TurnStop::Interrupted),
            stop = self.work(message, observer) => stop,
        }
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        self.stopped.notify_waiters();
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.stopped.notify_waiters();
        Ok(())
    }
}

impl LoopConversation {
    /// Asks the model, runs what it calls, and asks again, until it calls nothing.
    async fn work(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        let mut history = self.history.lock().await;
        history.push(PromptLine::User(message.to_owned()));
        loop {
            let prompt = Prompt {
                system: INSTRUCTIONS.to_owned(),
                lines: history.clone(),
                tools: vec![shell()],
                ..Prompt::default()
            };
            let Completion { text, calls, .. } = match self.caller.complete(&prompt).await {
                Ok(completion) => completion,
                Err(fault) => return failed(fault, observer),
            };
            if !text.trim().is_empty() {
                observer.said(text.clone());
            }
            history.push(PromptLine::Model { text, calls: calls.clone() });
            if calls.is_empty() {
                return Ok(TurnStop::Finished);
            }
            // A call without a result is refused by providers: should the turn be stopped, each has one already.
            let place = history.len();
            let unrun =
                |call: &ToolCall| result(call, "the user stopped you before this".to_owned());
            let mut results: Vec<ToolResult> = calls.iter().map(unrun).collect();
            history.push(PromptLine::Results(results.clone()));
            for (at, call) in calls.iter().enumerate() {
                results[at] = result(call, self.run(call, observer).await?);
                history[place] = PromptLine::Results(results.clone());
            }
        }
    }

    /// Runs a command; what the model gets to read of it.
    async fn run(&self, call: &ToolCall, observer: &Observer) -> Result<String, AgentFault> {
        let Some(command) = call.input.get("command").and_then(Value::as_str) else {
            return Ok("This is no call of `shell`: it needs a text `command`.".to_owned());
        };
        observer.called(ToldCall {
            id: Some(call.id.clone()),
            title: title_of(command),
            kind: Some(ToolKind::Execute),
            input: Some(call.input.to_string()),
        });
        let finished = self
            .sandbox
            .exec(&CommandSpec {
                argv: ["sh", "-c", command].map(str::to_owned).to_vec(),
                cwd: Some(self.brief.workdir.clone()),
                env: self.environment(),
                user: self.brief.user.clone(),
                stdin: Vec::new(),
                timeout: COMMAND_MAX,
                output_max: OUTPUT_MAX,
            })
            .await?;
        let output = printed(&finished);
        let is_good = finished.is_success();
        observer.returned(ToldResult {
            id: call.id.clone(),
            outcome: if is_good { ToolOutcome::Completed } else { ToolOutcome::Failed },
            input: None,
            output: Some(output.clone()).filter(|output| !output.is_empty()),
            exit_code: match finished.ended {
                Ended::Exited(code) => Some(code),
                _ => None,
            },
        });
        Ok(match finished.ended {
            Ended::Exited(0) if output.is_empty() => "(no output)".to_owned(),
            Ended::Exited(0) => output,
            Ended::Exited(code) => format!("{output}\n(exit code {code})"),
            Ended::TimedOut => format!("{output}\n(stopped after {} s)", COMMAND_MAX.as_secs()),
            Ended::OutOfMemory => format!("{output}\n(killed: out of memory)"),
            Ended::Signalled(signal) => format!("{output}\n(killed by signal {signal})"),
            Ended::NotStarted => "This computer has no shell.".to_owned(),
        })
    }

    /// Nobody sits at its commands: what would page or ask does not.
    fn environment(&self) -> BTreeMap<String, String> {
        let quiet = [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];
        let mut env = self.brief.env.clone();
        env.extend(quiet.map(|(name, value)| (name.to_owned(), value.to_owned())));
        env
    }
}

/// The one tool.
fn shell() -> ToolOffer {
    ToolOffer {
        name: "shell".to_owned(),
        description: "Runs a command with `sh -c` and gives back what it printed.".to_owned(),
        input: json!({
            "type": "object",
            "properties": { "command": { "type": "string", "description": "The command." } },
            "required": ["command"],
            "additionalProperties": false,
        }),
    }
}

fn result(call: &ToolCall, text: String) -> ToolResult {
    ToolResult { call: call.id.clone(), name: call.name.clone(), text }
}

fn printed(finished: &Finished) -> String {
    let streams = [&finished.stdout, &finished.stderr].map(|s| String::from_utf8_lossy(s));
    let texts: Vec<&str> = streams.iter().map(|text| text.trim_end()).collect();
    texts.join("\n").trim_matches('\n').to_owned()
}

/// A turn without an answer: the provider's failure is the world's, a request that it does not take is the agent's.
fn failed(fault: ModelFault, observer: &Observer) -> Result<TurnStop, AgentFault> {
    observer.noted(format!("no answer of the model: {fault}"));
    match fault {
        ModelFault::Declined(_) => Ok(TurnStop::Refused),
        ModelFault::CutShort(_) => Ok(TurnStop::Finished),
        ModelFault::BadRequest(_) | ModelFault::SchemaUnmet { .. } | ModelFault::NoToolCall(_) => {
            Ok(TurnStop::Crashed)
        }
        ModelFault::Provider(_)
        | ModelFault::Unauthorised(_)
        | ModelFault::TimedOut { .. }
        | ModelFault::NotRecorded(_)
        | ModelFault::Unreadable(_) => Err(AgentFault::Provider(fault.to_string())),
    }
}
