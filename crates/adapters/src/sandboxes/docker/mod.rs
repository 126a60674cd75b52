//! Sandboxes in containers of a Docker engine: `inside` is what runs in the container, [`link`] the harness's end of it.

pub mod link;
