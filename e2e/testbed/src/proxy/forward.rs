//! Forwards one request to the API server, unchanged.

use hyper::{
    HeaderMap, Request, Response,
    body::Bytes,
    header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};
use kube::{Client, client::Body};

/// The headers of one connection, which aren't forwarded to the next (RFC 9110, 7.6.1).
const OF_THE_CONNECTION: [HeaderName; 6] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// Sends the request and returns the server's response, of which the body may still be on its way.
pub(super) async fn forward(upstream: &Client, request: Request<Bytes>) -> kube::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let mut passed_on = Request::new(Body::from(body));
    *passed_on.method_mut() = head.method;
    *passed_on.uri_mut() = head.uri;
    *passed_on.headers_mut() = head.headers;
    strip(passed_on.headers_mut());
    // The client that sends it sets the headers about the server and the body.
    passed_on.headers_mut().remove(HOST);
    passed_on.headers_mut().remove(CONTENT_LENGTH);
    let mut answer = upstream.send(passed_on).await?;
    strip(answer.headers_mut());
    Ok(answer)
}

fn strip(headers: &mut HeaderMap) {
    for name in &OF_THE_CONNECTION {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    #[test]
    fn headers_of_a_connection_stay_on_it_and_the_token_is_passed_on() {
        let mut headers = HeaderMap::new();
        for name in [AUTHORIZATION, CONNECTION, TRANSFER_ENCODING] {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        strip(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), [AUTHORIZATION]);
    }
}
