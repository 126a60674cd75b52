//! How large things may be that pass the gateway ([`Bounds`]).

/// How large things may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a request, unpacked.
    pub request_bytes_max: usize,
    /// Bytes of an answer that comes as a stream.
    pub stream_bytes_max: usize,
    /// Bytes of an answer that comes whole.
    pub whole_bytes_max: usize,
    /// Bytes of an answer that are recorded; longer ones are not.
    pub recorded_bytes_max: usize,
    /// Connections of one session at once; one more is closed unheard.
    pub connections_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            request_bytes_max: 64 << 20,
            stream_bytes_max: 256 << 20,
            whole_bytes_max: 32 << 20,
            recorded_bytes_max: 64 << 20,
            connections_max: 128,
        }
    }
}
