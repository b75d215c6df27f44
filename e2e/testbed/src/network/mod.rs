//! An isolated network: a Linux network namespace with one address for a node. Processes are started inside, and this program reaches
//! them by ports of 127.0.0.1 that are forwarded there.

use std::{
    fs,
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener as AsyncListener, TcpStream},
    runtime::{Builder, Runtime},
};

use crate::{Error, Process, process::within};

/// The script that makes the network.
const SCRIPT: &str = include_str!("network.sh");
/// How long that may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The network. It is gone when this is dropped and all processes inside have ended.
#[derive(Debug)]
pub(crate) struct Network {
    /// Threads of this program that are inside. Always there, but while it is dropped.
    runtime: Option<Runtime>,
    /// Keeps it in being.
    holder: Process,
}

impl Network {
    /// The node's address.
    pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);

    /// Makes a network; what went wrong is in `log`.
    ///
    /// # Errors
    /// Where this program isn't root, and on systems other than Linux.
    pub(crate) async fn create(log: &Path) -> Result<Self, Error> {
        let mut command = Command::new("unshare");
        command.args(["--net", "/bin/sh", "-c", SCRIPT, "network", &Self::ADDRESS.to_string()]);
        let holder = Process::spawn("network", &command, log, Duration::ZERO)?;
        holder.wait_for_line("up", LIMIT).await?;
        let namespace = namespace(holder.pid());
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .on_thread_start({
                let namespace = namespace.clone();
                // Whether it worked is checked below, where an error can be returned.
                move || drop(enter(&namespace))
            })
            .build()
            .map_err(Error::file("start a runtime in", &namespace))?;
        let network = Self { runtime: Some(runtime), holder };
        let here = network.inside(|| fs::read_link("/proc/thread-self/ns/net")).await;
        let wanted = fs::read_link(&namespace).map_err(Error::file("read", &namespace))?;
        match here {
            Ok(here) if here == wanted => Ok(network),
            _ => Err(Error::file("enter", &namespace)(io::ErrorKind::PermissionDenied.into())),
        }
    }

    /// The command as one that runs inside.
    pub(crate) fn command(&self, command: &Command) -> Command {
        let mut enter = Command::new("nsenter");
        enter.arg(format!("--net={}", namespace(self.holder.pid()).display()));
        within(enter, command)
    }

    /// The prefix of a command line that is to run in it.
    pub(crate) fn entrance(&self) -> String {
        format!("nsenter --net={}", namespace(self.holder.pid()).display())
    }

    /// Keeps it when this program ends; returns the process id of its holder, with which it ends. Only the ports that lead there
    /// from out here end with this program.
    pub(crate) fn keep(&self) -> u32 {
        self.holder.release();
        self.holder.pid()
    }

    /// A port of 127.0.0.1 out here, by which one reaches the port of 127.0.0.1 inside that has the same number.
    pub(crate) fn forward(&self) -> Result<u16, Error> {
        let failed = || Error::file("bind a port on", "127.0.0.1");
        // Made by this thread, which is outside; a socket stays in the network where it was made.
        let outside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed())?;
        outside.set_nonblocking(true).map_err(failed())?;
        let port = outside.local_addr().map_err(failed())?.port();
        self.spawn(async move {
            let Ok(outside) = AsyncListener::from_std(outside) else { return };
            loop {
                if let Ok((stream, _)) = outside.accept().await {
                    tokio::spawn(lead(stream, (Ipv4Addr::LOCALHOST, port).into()));
                }
            }
        });
        Ok(port)
    }

    /// Does something that blocks in a thread that is inside.
    ///
    /// # Panics
    /// When `work` does.
    pub(crate) async fn inside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (send, receive) = tokio::sync::oneshot::channel();
        if let Some(runtime) = &self.runtime {
            runtime.spawn_blocking(move || drop(send.send(work())));
        }
        receive.await.unwrap_or_else(|_| panic!("what was done inside of the node's network panicked"))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn namespace(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/ns/net"))
}

/// Moves this thread, and no other one, into the namespace.
#[cfg(target_os = "linux")]
fn enter(namespace: &Path) -> io::Result<()> {
    use std::os::fd::AsFd as _;

    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

    let namespace = fs::File::open(namespace)?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(not(target_os = "linux"))]
fn enter(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A connection that fails is for both ends to notice.
async fn lead(mut outside: TcpStream, address: SocketAddr) {
    if let Ok(mut inside) = TcpStream::connect(address).await {
        let _ = outside.set_nodelay(true);
        let _ = inside.set_nodelay(true);
        let _ = copy_bidirectional(&mut outside, &mut inside).await;
    }
}
