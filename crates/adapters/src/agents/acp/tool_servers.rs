//! Servers of tools as the protocol hands them to an agent ([`handed`]).

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    HttpHeader, McpCapabilities, McpServer, McpServerHttp, McpServerSse, McpServerStdio,
};
use engine::ports::agent::{ToolServer, ToolTransport};

/// The servers in the protocol's form.
///
/// # Errors
/// The agent says that it does not take servers of such a kind.
pub(super) fn handed(
    servers: &[ToolServer],
    taken: &McpCapabilities,
) -> Result<Vec<McpServer>, String> {
    let refused = |server: &ToolServer, kind: &str| {
        Err(format!("it takes no tool servers over {kind}, as `{}` is", server.name))
    };
    let one = |server: &ToolServer| match &server.transport {
        ToolTransport::Http { .. } if !taken.http => refused(server, "HTTP"),
        ToolTransport::Sse { .. } if !taken.sse => refused(server, "server-sent events"),
        ToolTransport::Http { url, headers } => {
            let http = McpServerHttp::new(&server.name, url).headers(all(headers));
            Ok(McpServer::Http(http))
        }
        ToolTransport::Sse { url, headers } => {
            Ok(McpServer::Sse(McpServerSse::new(&server.name, url).headers(all(headers))))
        }
        ToolTransport::Stdio { command, args } => {
            let program = McpServerStdio::new(&server.name, command.as_str()).args(args.clone());
            Ok(McpServer::Stdio(program))
        }
    };
    servers.iter().map(one).collect()
}

fn all(headers: &BTreeMap<String, String>) -> Vec<HttpHeader> {
    headers.iter().map(|(name, value)| HttpHeader::new(name, value)).collect()
}
