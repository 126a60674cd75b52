//! `pcb model`: a scripted model as a server, and one question to a configured model.

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adapters::models::{
    caller::{Caller, Caps},
    scripted::{ModelScript, ScriptedModel},
};
use clap::{Args, Subcommand};
use engine::ports::model::{Model as _, Prompt, PromptLine, ReplySchema};
use store::models_file::ModelsFile;
use tokio::net::TcpListener;

use crate::{exit_code::ExitCode, failure::Failure, models};

/// Arguments of `pcb model`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ModelArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

const EXAMPLES: &str = "\
Examples:
  pcb model serve --script script.toml
  pcb model ask judge hello --models models.toml";

/// What can be done with models.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Serve a model that says what a script tells it, in the forms of all providers.
    Serve(ServeArgs),
    /// Ask a configured model one question: the answer, its tokens and its cost.
    Ask(AskArgs),
}

/// Arguments of `pcb model serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb model serve --script script.toml
  pcb model serve --script script.toml --listen 127.0.0.1:8099")]
pub struct ServeArgs {
    /// The script; docs/models.md says what can stand in it.
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

/// Arguments of `pcb model ask`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb model ask judge hello --models models.toml
  pcb model ask judge hello --models models.toml --schema answer.json")]
pub struct AskArgs {
    /// The model, as the models file calls it.
    pub name: String,
    /// What it is asked.
    pub question: String,
    /// The file that says where models are and what they cost.
    #[arg(long, value_name = "FILE")]
    pub models: PathBuf,
    /// A JSON Schema that the answer must fit.
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// The most tokens of the answer.
    #[arg(long, value_name = "COUNT")]
    pub tokens: Option<u32>,
}

/// Serves or asks.
pub fn run(args: &ModelArgs) -> Result<ExitCode, Failure> {
    let runtime = super::run::runtime()?;
    match &args.action {
        Action::Serve(args) => runtime.block_on(serve(args)),
        Action::Ask(args) => runtime.block_on(ask(args)),
    }
}

async fn serve(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let script = ModelScript::parse(&models::read(&args.script)?)
        .map_err(|problem| Failure::input(format!("{}: {problem}", args.script.display())))?;
    let failed = |error: io::Error| Failure::input(format!("--listen {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    println!("http://{}", listener.local_addr().map_err(failed)?);
    // Whoever started this waits for the line.
    io::stdout().flush().map_err(failed)?;
    tokio::select! {
        ended = Arc::new(ScriptedModel::new(script)).listen(listener) => ended.map_err(failed)?,
        asked = tokio::signal::ctrl_c() => asked.map_err(failed)?,
    }
    Ok(ExitCode::Done)
}

async fn ask(args: &AskArgs) -> Result<ExitCode, Failure> {
    let model = configured(&args.models, &args.name)?;
    let schema = match &args.schema {
        None => None,
        Some(path) => {
            let schema = serde_json::from_str(&models::read(path)?)
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
            Some(ReplySchema { name: "answer".to_owned(), schema })
        }
    };
    let prompt = Prompt {
        lines: vec![PromptLine::User(args.question.clone())],
        schema,
        output_tokens_max: args.tokens,
        ..Prompt::default()
    };
    let completion = model.complete(&prompt).await.map_err(|fault| Failure {
        code: ExitCode::Findings,
        message: format!("{}: {fault}", args.name),
    })?;
    match &completion.json {
        Some(json) => println!("{json:#}"),
        None => println!("{}", completion.text),
    }
    let known = |count: Option<u64>| count.map_or("unknown".to_owned(), |count| count.to_string());
    let cost = completion.cost_microusd.map_or("unknown".to_owned(), |micro| {
        format!("{}.{:06} USD", micro / 1_000_000, micro % 1_000_000)
    });
    eprintln!(
        "{}: input {}, output {}, cost {cost}, {} ms",
        completion.model,
        known(completion.tokens.input),
        known(completion.tokens.output),
        completion.took_ms
    );
    Ok(ExitCode::Done)
}

/// The model of that name in a models file, with its key from the variable that the file names.
fn configured(path: &Path, name: &str) -> Result<Caller, Failure> {
    let bad =
        |problem: &dyn std::fmt::Display| Failure::input(format!("{}: {problem}", path.display()));
    let file = ModelsFile::parse(&models::read(path)?).map_err(|problem| bad(&problem))?;
    let entry = models::entry(&file, path, name)?;
    let authorities = models::authorities(path, entry)?;
    let (key, trusted) = (entry.key.as_deref(), authorities.as_deref());
    let provider = models::provider(&entry.name, &entry.base, key, trusted)
        .map_err(|failure| bad(&failure.message))?;
    Ok(Caller {
        provider: Arc::new(provider),
        format: entry.format,
        model: entry.model.clone(),
        prices: Arc::new(file.prices.clone()),
        caps: Arc::new(Caps::new(entry.at_once as usize, entry.per_minute)),
        deadline: Duration::from_secs(entry.deadline_sec),
        keep: None,
    })
}
