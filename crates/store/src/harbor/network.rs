//! Reads what a task's phases may reach: `network_mode` with its hosts, and the old `allow_internet`.

use domain::release::{AllowedHost, Network};

use super::Manner;
use crate::release_files::sheet::{Table, Value};

/// The network of an environment; the outer none means that it is wrong.
pub(super) fn read_baseline(table: &Table<'_>, manner: Manner) -> Option<Network> {
    const REMEDY: &str =
        "write `network_mode = \"no-network\"`, or `\"public\"` if the task needs the network";
    let legacy = table.opt("allow_internet", Value::bool);
    let declared = read_phase(table)?;
    match (declared, legacy?) {
        (Some(network), _) => Some(network),
        (None, Some(true)) => Some(Network::Public),
        (None, Some(false)) => Some(Network::NoNetwork),
        (None, None) if manner == Manner::AdHoc => Some(Network::Public),
        (None, None) => {
            table.problem("the task does not say which network it has", REMEDY);
            None
        }
    }
}

/// What a table says of the network, if it does.
pub(super) fn read_phase(table: &Table<'_>) -> Option<Option<Network>> {
    #[derive(Clone, Copy)]
    enum Mode {
        Public,
        NoNetwork,
        Allowlist,
    }
    const MODES: [(&str, Mode); 3] =
        [("public", Mode::Public), ("no-network", Mode::NoNetwork), ("allowlist", Mode::Allowlist)];
    let mode = table.opt("network_mode", |value| value.word(&MODES));
    let hosts = table.opt("allowed_hosts", read_hosts);
    match (mode?, hosts?) {
        (Some(Mode::Allowlist), hosts) => Some(Some(Network::Allowlist(hosts.unwrap_or_default()))),
        (_, Some(_)) => {
            let message =
                "`allowed_hosts` without `network_mode = \"allowlist\"` in the same table";
            let remedy = "add `network_mode = \"allowlist\"` beside it, or remove it";
            table.problem_at_key("allowed_hosts", message, remedy);
            None
        }
        (Some(Mode::Public), None) => Some(Some(Network::Public)),
        (Some(Mode::NoNetwork), None) => Some(Some(Network::NoNetwork)),
        (None, None) => Some(None),
    }
}

fn read_hosts(value: &Value<'_>) -> Option<Vec<AllowedHost>> {
    let list = value.list()?;
    let count = list.len();
    let read = |value: &Value<'_>| {
        let text = value.text()?;
        let parsed = AllowedHost::parse(&text);
        if let Err(error) = &parsed {
            let remedy = "write a host alone: `example.org`, `*.example.org`, `10.0.0.0/8`, `::1`";
            value.problem(format!("`{text}` is no host of an allow-list: {error}"), remedy);
        }
        parsed.ok()
    };
    let hosts: Vec<AllowedHost> = list.iter().filter_map(read).collect();
    (hosts.len() == count).then_some(hosts)
}
