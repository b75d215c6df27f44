//! Loopback ports, and the one HTTP request that needs no client: is it there, and ready?

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use crate::Error;

/// `N` ports on 127.0.0.1 that were free a moment ago, all different. Another program may take one before it is used, so
/// whoever uses them has to be ready to ask again.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| Ok((l.local_addr()?.port(), l)));
    let mut ports = [0; N];
    // All stay bound until the last one is found: that is what makes them different.
    let mut listeners = Vec::with_capacity(N);
    for port in &mut ports {
        let (free, listener) = bind().map_err(Error::file("bind a port on", "127.0.0.1"))?;
        *port = free;
        listeners.push(listener);
    }
    Ok(ports)
}

/// Whether something accepts connections.
pub(crate) fn listens(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
}

/// The status code of `GET path` by plain HTTP; `None` when there is no answer that looks like HTTP. Blocks for two
/// seconds at most.
pub(crate) fn http_status(address: SocketAddr, path: &str) -> Option<u16> {
    let limit = Duration::from_secs(1);
    let mut stream = TcpStream::connect_timeout(&address, limit).ok()?;
    stream.set_read_timeout(Some(limit)).ok()?;
    // In one write: a server may answer and hang up after the first part of a request that comes in several.
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    // "HTTP/1.1 200"
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(&head).ok()?.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_are_different_and_free() {
        let ports: [u16; 8] = free_ports().unwrap();
        for (index, port) in ports.iter().enumerate() {
            assert!(!ports[..index].contains(port), "{ports:?}");
            assert!(!listens((Ipv4Addr::LOCALHOST, *port).into()));
        }
    }

    #[test]
    fn the_status_code_of_an_http_answer_is_read() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        assert_eq!(http_status(address, "/readyz"), Some(503));
        assert!(server.join().unwrap().starts_with("GET /readyz HTTP/1.1\r\n"));
        assert_eq!(http_status(address, "/readyz"), None);
    }
}
