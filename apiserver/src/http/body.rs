//! The body of a response: all at once, or what a watch delivers.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream::BoxStream};
use http_body::{Frame, SizeHint};

/// The body of a response.
pub struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Stream(BoxStream<'static, Result<Bytes, BodyError>>),
}

/// A response that ended before its end, because a fault said so.
#[derive(Debug, thiserror::Error)]
#[error("the connection was cut")]
pub struct BodyError;

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(Some(bytes)))
    }

    pub(crate) fn stream(stream: impl Stream<Item = Result<Bytes, BodyError>> + Send + 'static) -> Self {
        Self(Kind::Stream(stream.boxed()))
    }

    /// The body, if it is there as a whole.
    pub(crate) fn as_whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Whole(bytes) => bytes.as_ref(),
            Kind::Stream(_) => None,
        }
    }

    /// The same body, which ends when something is done.
    pub(crate) fn until(self, end: impl Future<Output = Result<(), BodyError>> + Send + 'static) -> Self {
        let cut = futures::stream::once(end).filter_map(|end| async { end.err().map(Err) });
        match self.0 {
            Kind::Whole(bytes) => {
                let bytes = futures::stream::iter(bytes.map(Ok));
                Self::stream(bytes.chain(cut))
            }
            Kind::Stream(stream) => {
                // Whatever the stream has comes first; it ends with the cut.
                let cut = cut.map(Some).chain(futures::stream::iter([None]));
                let both = futures::stream::select(stream.map(Some), cut);
                Self::stream(both.take_while(|item| std::future::ready(item.is_some())).filter_map(std::future::ready))
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Stream(stream) => {
                stream.poll_next_unpin(context).map(|next| next.map(|bytes| bytes.map(Frame::data)))
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
