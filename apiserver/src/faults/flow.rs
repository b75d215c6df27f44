//! The body of a response that may end early.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};

use super::Cut;

/// The server's body, until its connection is cut.
pub struct Flow<B> {
    body: Either<Full<Bytes>, B>,
    cut: BoxFuture<'static, ()>,
}

impl<B> Flow<B> {
    /// The body, until the future completes.
    pub(super) fn until(cut: BoxFuture<'static, ()>, body: Either<Full<Bytes>, B>) -> Self {
        Self { body, cut }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Flow<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if self.cut.poll_unpin(context).is_ready() {
            return Poll::Ready(Some(Err(Cut)));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(|_| Cut)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
