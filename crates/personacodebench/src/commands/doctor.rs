//! `pcb doctor`: what this host can run and what to change.

use adapters::sandboxes::docker::{Compose, EdgePlacement};
use clap::Args;

use crate::{
    commands::run::SandboxArg,
    conduct,
    exit_code::ExitCode,
    failure::Failure,
    host::{Host, limit},
    options, releases,
};

/// Arguments of `pcb doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb doctor
  pcb doctor --release starter")]
pub struct DoctorArgs {
    /// Also make the base of every task of this release, which shows what is missing on the host.
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
}

/// Looks and prints; what keeps sessions from running is a finding.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    super::run::runtime()?.block_on(examine(args))
}

async fn examine(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    println!("pcb {} · protocol {}", env!("CARGO_PKG_VERSION"), domain::plan::PROTOCOL);
    println!("state folder: {}", options::state_folder()?.display());
    let host = match Host::probe(SandboxArg::Local).await {
        Ok(host) => host,
        Err(failure) => {
            println!("local sandbox: NO\n  {}", failure.message.replace('\n', "\n  "));
            return Ok(ExitCode::Findings);
        }
    };
    let can = &host.capabilities;
    println!("local sandbox: yes, as {}", if can.is_root { "root" } else { "an ordinary user" });
    print_capabilities(&host);
    println!("processors: {}", options::processors());
    examine_docker().await;
    match &args.release {
        Some(release) => examine_release(release, &host).await,
        None => Ok(ExitCode::Done),
    }
}

/// Without an engine everything of the bundled releases runs all the same, so that is no finding.
async fn examine_docker() {
    match Host::probe(SandboxArg::Docker).await {
        Ok(host) => {
            println!("docker sandbox: yes, at {}", options::docker_address());
            print_capabilities(&host);
            if let Some(edge) = host.edge() {
                println!("  edge of the network: {}", told(edge));
            }
            match Compose::find(&options::host_variables()).await {
                Ok(Compose { path, version }) => {
                    println!(
                        "  services of tasks: yes, by Compose {version} at {}",
                        path.display()
                    );
                }
                Err(why) => println!("  services of tasks: NO, {why}"),
            }
        }
        Err(failure) => println!("docker sandbox: NO\n  {}", failure.message.replace('\n', "\n  ")),
    }
}

fn told(edge: EdgePlacement) -> &'static str {
    match edge {
        EdgePlacement::Entered => "entered from this host",
        EdgePlacement::Beside => "kept by a container of ours beside each sandbox",
    }
}

fn print_capabilities(host: &Host) {
    let can = &host.capabilities;
    let channels: Vec<&str> = can.channels.iter().map(|channel| channel.code()).collect();
    println!("  evidence channels: {}", channels.join(" "));
    let limits: Vec<&str> = can.enforced.iter().map(|kind| limit(*kind)).collect();
    println!("  limits that hold: {}", limits.join(", "));
    for shortfall in &can.shortfalls {
        println!("  not enforced here: {shortfall}");
    }
}

async fn examine_release(release: &str, host: &Host) -> Result<ExitCode, Failure> {
    let loaded = releases::open(release)?;
    let bases =
        conduct::bases(&loaded, loaded.release.pairs.keys(), host, options::processors()).await?;
    let mut code = ExitCode::Done;
    for (pair, own) in &bases {
        let verifiers = own.verifiers.iter().flatten();
        let broken = verifiers.filter_map(|base| base.as_ref().err()).next();
        if let (Ok(_), Some(fault)) = (&own.agent, broken) {
            println!("{pair}: NO, the verifier's environment: {fault}");
            code = ExitCode::Findings;
            continue;
        }
        match &own.agent {
            Ok(base) => {
                let versions: Vec<&str> =
                    base.toolchain_versions.values().map(String::as_str).collect();
                println!("{pair}: ready ({})", versions.join("; "));
            }
            Err(fault) => {
                println!("{pair}: NO, {fault}");
                code = ExitCode::Findings;
            }
        }
    }
    Ok(code)
}
