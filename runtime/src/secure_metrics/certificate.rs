//! The certificate of the secure metrics port: from files, which are read again when they change, or generated at the start.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use rcgen::CertifiedKey as SelfSigned;
use tokio::{task::spawn_blocking, time::sleep};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::ring,
        pki_types::{
            CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer,
            pem::{self, PemObject as _},
        },
        server::{ClientHello, ResolvesServerCert},
        sign::CertifiedKey,
    },
};
use tracing::{info, warn};

use crate::{lock, text::with_causes};

/// The files' names in a Secret of the type `kubernetes.io/tls`.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
/// How often the files are compared with what is in use. The kubelet itself takes up to a minute to update the files of a Secret.
const REREAD: Duration = Duration::from_secs(10);

/// Why there is no certificate to serve metrics with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file can't be read.
    #[error("can't read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file holds no certificate or key.
    #[error("{path} isn't what its name says, in PEM")]
    Pem {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: pem::Error,
    },
    /// The two don't belong together, or their kind isn't supported.
    #[error("the certificate and its key can't be used")]
    Unusable(#[source] rustls::Error),
    /// No certificate could be generated.
    #[error("can't make a self-signed certificate")]
    SelfSigned(#[source] rcgen::Error),
}

/// The contents of the two files. It has no `Debug`, since one of them is a key.
#[derive(PartialEq, Eq)]
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    fn read(folder: &Path) -> Result<Self, CertificateError> {
        let read = |name| {
            let path = folder.join(name);
            fs::read(&path).map_err(|source| CertificateError::Read { path, source })
        };
        Ok(Self { certificate: read(CERTIFICATE)?, key: read(KEY)? })
    }

    fn certified(&self, folder: &Path) -> Result<CertifiedKey, CertificateError> {
        let wrong = |name| move |source| CertificateError::Pem { path: folder.join(name), source };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .map_err(wrong(CERTIFICATE))?;
        if chain.is_empty() {
            return Err(wrong(CERTIFICATE)(pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(wrong(KEY))?;
        CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(CertificateError::Unusable)
    }
}

/// The certificate that the next handshake shows. Clones share it.
#[derive(Clone, Debug)]
struct Current(Arc<Mutex<Arc<CertifiedKey>>>);

impl Current {
    fn new(certified: CertifiedKey) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(certified))))
    }

    fn replace(&self, certified: CertifiedKey) {
        *lock(&self.0) = Arc::new(certified);
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(lock(&self.0).clone())
    }
}

/// The certificate of a port, and where it comes from.
pub struct Certificate {
    current: Current,
    acceptor: TlsAcceptor,
    files: Option<Files>,
}

struct Files {
    folder: PathBuf,
    /// The pair in use.
    pair: Pair,
}

impl Certificate {
    /// The certificate in this folder: `tls.crt` and `tls.key`, as in a Secret of the type `kubernetes.io/tls`. Changes of the files
    /// are used within ten seconds.
    ///
    /// # Errors
    /// When a file can't be read or isn't PEM, or the two don't belong together.
    pub fn from_files(folder: PathBuf) -> Result<Self, CertificateError> {
        let pair = Pair::read(&folder)?;
        Self::new(pair.certified(&folder)?, Some(Files { folder, pair }))
    }

    /// A self-signed certificate for the lifetime of the process, for this name: the connection is encrypted, but the client can't
    /// check the server's identity.
    ///
    /// # Errors
    /// When the name can't be in a certificate.
    pub fn self_signed(name: &str) -> Result<Self, CertificateError> {
        let SelfSigned { cert, signing_key } =
            rcgen::generate_simple_self_signed([name.to_owned()]).map_err(CertificateError::SelfSigned)?;
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
        let certified = CertifiedKey::from_der(vec![cert.der().clone()], key, &ring::default_provider())
            .map_err(CertificateError::Unusable)?;
        Self::new(certified, None)
    }

    fn new(certified: CertifiedKey, files: Option<Files>) -> Result<Self, CertificateError> {
        let current = Current::new(certified);
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Unusable)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(current.clone()));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { current, acceptor: TlsAcceptor::from(Arc::new(config)), files })
    }

    /// Accepts connections with the certificate that is current at that moment.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// Follows the files, if there are any. A new pair that can't be used is logged once, and the old one stays in use.
    pub(super) async fn keep_current(self) {
        let Self { current, files: Some(mut files), .. } = self else { return };
        let mut logged = None;
        loop {
            sleep(REREAD).await;
            let problem = files.renew(&current).await.err().map(|error| with_causes(&error));
            if let Some(error) = problem.as_ref().filter(|_| problem != logged) {
                warn!(error, "the new certificate can't be used; the old one stays");
            }
            logged = problem;
        }
    }
}

#[cfg(test)]
impl Certificate {
    /// The certificates that a client has to trust.
    pub(super) fn der(&self) -> CertificateDer<'static> {
        lock(&self.current.0).cert[0].clone()
    }
}

impl Files {
    async fn renew(&mut self, current: &Current) -> Result<(), CertificateError> {
        let folder = self.folder.clone();
        // An error means that the runtime is shutting down.
        let Ok(pair) = spawn_blocking(move || Pair::read(&folder)).await else { return Ok(()) };
        let pair = pair?;
        if pair != self.pair {
            current.replace(pair.certified(&self.folder)?);
            self.pair = pair;
            info!("the certificate of the secure metrics port was renewed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A pair as cert-manager writes it.
    fn pair() -> Pair {
        let SelfSigned { cert, signing_key } =
            rcgen::generate_simple_self_signed(["here".to_owned()]).unwrap();
        Pair { certificate: cert.pem().into_bytes(), key: signing_key.serialize_pem().into_bytes() }
    }

    fn write(folder: &TempDir, Pair { certificate, key }: &Pair) {
        fs::write(folder.path().join(CERTIFICATE), certificate).unwrap();
        fs::write(folder.path().join(KEY), key).unwrap();
    }

    /// A certificate from files that hold this pair.
    fn using(pair: &Pair) -> (TempDir, Current, Files) {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, pair);
        let Certificate { current, files, .. } = Certificate::from_files(folder.path().to_owned()).unwrap();
        (folder, current, files.unwrap())
    }

    /// The certificate that a client would get.
    fn shown(current: &Current) -> Vec<u8> {
        lock(&current.0).cert[0].to_vec()
    }

    fn der(pair: &Pair) -> Vec<u8> {
        CertificateDer::from_pem_slice(&pair.certificate).unwrap().to_vec()
    }

    #[tokio::test]
    async fn a_renewed_pair_is_used_from_then_on() {
        let (old, new) = (pair(), pair());
        let (folder, current, mut files) = using(&old);
        assert_eq!(shown(&current), der(&old));
        write(&folder, &new);
        files.renew(&current).await.unwrap();
        assert_eq!(shown(&current), der(&new));
    }

    #[tokio::test]
    async fn the_old_pair_stays_until_the_new_one_can_be_used() {
        let (old, new) = (pair(), pair());
        let (folder, current, mut files) = using(&old);

        // The certificate is new and its key is still the old one.
        write(&folder, &Pair { certificate: new.certificate.clone(), key: old.key.clone() });
        let error = files.renew(&current).await.unwrap_err();
        assert!(matches!(error, CertificateError::Unusable(_)), "{error}");
        write(&folder, &Pair { certificate: b"nothing".to_vec(), key: new.key.clone() });
        let error = files.renew(&current).await.unwrap_err();
        assert!(with_causes(&error).contains(CERTIFICATE), "{error}");
        fs::remove_file(folder.path().join(KEY)).unwrap();
        let error = files.renew(&current).await.unwrap_err();
        assert!(matches!(&error, CertificateError::Read { path, .. } if path.ends_with(KEY)), "{error}");
        assert_eq!(shown(&current), der(&old));

        write(&folder, &new);
        files.renew(&current).await.unwrap();
        assert_eq!(shown(&current), der(&new));
    }
}
