//! A scripted model as a server of HTTP ([`ScriptedModel::serve`]): real agents talk to it as to a provider.

use std::{io, sync::Arc};

use futures_util::StreamExt;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Body, Frame, Incoming},
    header::CONTENT_ENCODING,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};

use super::{ScriptedModel, error};
use crate::models::{
    formats::Route,
    provider::{Provider, ProviderRequest, SendFault},
};

/// The most of a request that is read.
const REQUEST_BYTES_MAX: usize = 64 << 20;

impl ScriptedModel {
    /// Serves everybody who connects, until the listener breaks.
    pub async fn listen(self: Arc<Self>, listener: TcpListener) -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(self.clone().serve(stream));
        }
    }

    /// Serves one connection until either side ends it.
    pub async fn serve<S>(self: Arc<Self>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request| {
            let model = self.clone();
            async move { model.respond(request).await }
        });
        // A connection that breaks is what a script may ask for.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<impl Body<Data = hyper::body::Bytes, Error = io::Error> + use<>>, SendFault>
    {
        let (head, body) = request.into_parts();
        let route = Route::of(head.method.as_str(), head.uri.path());
        let body = Limited::new(body, REQUEST_BYTES_MAX).collect().await;
        let is_packed = head.headers.contains_key(CONTENT_ENCODING);
        let reply = match (route, body) {
            (Some(route), Ok(body)) if !is_packed => {
                let request = ProviderRequest {
                    method: head.method,
                    format: route.format,
                    below_base: route.below_base,
                    query: head.uri.query().map(str::to_owned),
                    headers: head.headers,
                    body: body.to_bytes(),
                };
                self.send(&request).await?
            }
            (route, _) => {
                let format = route.map(|route| route.format);
                error(format.unwrap_or(domain::evidence::WireFormat::OpenAiChat), 404, "", None)
            }
        };
        let frames = reply.body.map(|piece| piece.map(Frame::data).map_err(io::Error::other));
        let mut response = Response::new(StreamBody::new(frames));
        *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or_default();
        *response.headers_mut() = reply.headers;
        Ok(response)
    }
}
