//! Loopback ports, and HTTP requests so small that they need no client.

use std::{
    io::{self, Read as _, Write as _},
    iter,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    ops::RangeInclusive,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::Value;

use crate::Error;

/// Ports that no connection takes as its own end: those begin at 32768 by Linux' default.
const PORTS: RangeInclusive<u16> = 20_000..=29_999;

/// `N` ports on 127.0.0.1 that are free, all different. No call of this process returns one of them again, and no outgoing
/// connection takes one; another program that listens may, so a caller has to be ready to retry.
pub fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    // Processes that run side by side begin in different places.
    let begin = std::process::id() as usize * 103;
    let candidate = || PORTS.clone().nth((begin + TRIED.fetch_add(1, Ordering::Relaxed)) % PORTS.len());
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut free = iter::from_fn(candidate).take(PORTS.len()).filter(is_free);
    let mut ports = [0; N];
    for port in &mut ports {
        let none = || Error::file("bind a port on", "127.0.0.1")(io::ErrorKind::AddrInUse.into());
        *port = free.next().ok_or_else(none)?;
    }
    Ok(ports)
}

/// The body of the response to `GET path` by plain HTTP, if that is 200. Blocks for as long as the response takes, at most a
/// few seconds for each part of it.
pub fn http_get(address: SocketAddr, path: &str) -> io::Result<String> {
    success(http_response(address, path)?)
}

/// As [`http_get`], for `POST path` with this body.
pub fn http_post(address: SocketAddr, path: &str, body: &Value) -> io::Result<String> {
    let body = body.to_string();
    let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    success(exchange(address, "POST", path, &more)?)
}

/// The status code and the body of the response to `GET path` by plain HTTP. Blocks as [`http_get`] does.
pub fn http_response(address: SocketAddr, path: &str) -> io::Result<(u16, String)> {
    exchange(address, "GET", path, "\r\n")
}

fn success((code, body): (u16, String)) -> io::Result<String> {
    if code == 200 { Ok(body) } else { Err(io::Error::other(format!("the status code is {code}"))) }
}

/// By HTTP/1.0 the response comes in one piece, up to where the server hangs up.
fn exchange(address: SocketAddr, method: &str, path: &str, more: &str) -> io::Result<(u16, String)> {
    let limit = Duration::from_secs(5);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\n{more}").as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let parts = response.split_once("\r\n\r\n").and_then(|(head, body)| {
        let code = head.split(' ').nth(1)?.parse().ok()?;
        Some((code, body.to_owned()))
    });
    parts.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the response isn't HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_are_different_and_free() {
        let ports: [u16; 8] = free_ports().unwrap();
        for (index, port) in ports.iter().enumerate() {
            assert!(!ports[..index].contains(port), "{ports:?}");
            assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_err());
        }
    }

    /// Responds to one request with this, and returns that request.
    fn serve_once(response: &'static str) -> (SocketAddr, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(response.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        (address, server)
    }

    #[test]
    fn the_status_code_of_a_response_is_read() {
        let (address, _server) = serve_once("HTTP/1.1 503 Service Unavailable\r\n\r\nwhy");
        assert_eq!(http_response(address, "/readyz").unwrap(), (503, "why".to_owned()));
        assert!(http_response(address, "/readyz").is_err());
    }

    #[test]
    fn the_body_of_a_response_is_read_unless_it_is_about_a_failure() {
        let (address, server) = serve_once("HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\na 1\n");
        assert_eq!(http_get(address, "/metrics").unwrap(), "a 1\n");
        assert!(server.join().unwrap().starts_with("GET /metrics HTTP/1.0\r\n"));
        let (address, _server) = serve_once("HTTP/1.0 404 Not Found\r\n\r\nno");
        assert_eq!(http_get(address, "/").unwrap_err().to_string(), "the status code is 404");
    }
}
