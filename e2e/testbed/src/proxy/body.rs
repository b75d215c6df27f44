//! The body of an answer, whose end can come before its time.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{FutureExt as _, future::BoxFuture};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use kube::client::Body;

use super::Cut;

/// Flows as it comes from the server, or until its connection is cut.
pub(super) struct Flow {
    body: Body,
    cut: BoxFuture<'static, ()>,
}

impl Flow {
    /// The body up to when this happens.
    pub(super) fn until(cut: BoxFuture<'static, ()>, body: Body) -> Self {
        Self { body, cut }
    }
}

impl HttpBody for Flow {
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
