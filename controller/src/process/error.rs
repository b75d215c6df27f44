//! Errors that end the operator.

use std::{io, net::SocketAddr};

use baton_runtime::{
    election::{Lost, TimingError},
    secure_metrics::CertificateError,
};

/// Why the operator could not run, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No cluster was found.
    #[error("found no cluster to connect to: run inside a pod, or point KUBECONFIG at a kubeconfig")]
    Config(#[from] kube::config::InferConfigError),
    /// The client could not be made, mostly because of the kubeconfig's certificates.
    #[error("can't make a client from the cluster's configuration")]
    Client(#[from] kube::Error),
    /// The admin port could not listen.
    #[error("can't serve health checks and metrics on {address}; choose another --admin-addr")]
    Admin {
        /// The configured address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The secure metrics port could not listen.
    #[error("can't serve metrics on {address}; choose another --secure-metrics-addr")]
    SecureMetrics {
        /// The configured address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no certificate for the secure metrics port.
    #[error("there is no certificate to serve metrics with; check --metrics-cert-dir")]
    Certificate(#[from] CertificateError),
    /// The signal handlers could not be installed.
    #[error("can't listen for SIGTERM and SIGHUP")]
    Signals(#[source] io::Error),
    /// The thread that renews the Lease could not be started.
    #[error("can't start a thread to renew the lease")]
    Renewal(#[source] io::Error),
    /// The times of the election don't fit together.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// Another operator may lead by now.
    #[error("not the leader any more, so this process ends; its container is started again and stands by")]
    Lost(#[from] Lost),
}
