//! The body of a response: whole, or a stream of watch events.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream::BoxStream};
use http_body::{Frame, SizeHint};

pub(crate) struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Stream(BoxStream<'static, Bytes>),
}

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(Some(bytes)))
    }

    pub(crate) fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Kind::Stream(stream.boxed()))
    }

    /// The whole body; none for a stream.
    pub(crate) fn as_whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Whole(bytes) => bytes.as_ref(),
            Kind::Stream(_) => None,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Stream(stream) => {
                stream.poll_next_unpin(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}
