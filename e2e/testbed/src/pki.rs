//! Keys and certificates of one throwaway control plane. It knows what the components need to prove, and not where the
//! files go.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

use tokio_rustls::rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};

use crate::Error;

/// A certificate and its private key, both as PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Identity {
    /// What a server needs to authenticate itself. With the certificate of an authority, as PEM, only clients may connect for which
    /// that one has signed, and otherwise everybody. HTTP/2 isn't offered.
    pub(crate) fn server_config(&self, clients: Option<&str>) -> Result<ServerConfig, Error> {
        let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(unusable);
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(unusable)?;
        let provider = Arc::new(ring::default_provider());
        let verifier = match clients {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(authority) => {
                let mut authorities = RootCertStore::empty();
                authorities.add(certificate(authority)?).map_err(unusable)?;
                WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider.clone())
                    .build()
                    .map_err(unusable)?
            }
        };
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate(&self.certificate)?], key)
            .map_err(unusable)
    }
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::parse("the certificates of a server")(error)
}

/// A key pair without a certificate, both halves as PEM.
pub(crate) struct Keys {
    pub(crate) public: String,
    pub(crate) private: String,
}

/// An authority that signs within one control plane, and trusts nothing else.
pub(crate) struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(subject: &str) -> Result<Self, Error> {
        let mut params = params(subject, &[], &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(failed(subject))?;
        let certificate = params.self_signed(&key).map_err(failed(subject))?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// The authority's own certificate as PEM: what everybody has to trust.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A server's certificate for these DNS names and IP addresses.
    pub(crate) fn server(&self, subject: &str, names: &[&str]) -> Result<Identity, Error> {
        self.sign(subject, params(subject, &[], names)?, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client's certificate. The API server takes the common name as the user, and the organizations as its groups.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> Result<Identity, Error> {
        self.sign(user, params(user, groups, &[])?, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        subject: &str,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(failed(subject))?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed(subject))?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// The key pair that ServiceAccount tokens are signed with and checked by.
pub(crate) fn token_keys() -> Result<Keys, Error> {
    let key = KeyPair::generate().map_err(failed("the ServiceAccount tokens"))?;
    Ok(Keys { public: key.public_key_pem(), private: key.serialize_pem() })
}

fn params(subject: &str, organizations: &[&str], names: &[&str]) -> Result<CertificateParams, Error> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).map_err(failed(subject))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    for organization in organizations {
        params.distinguished_name.push(DnType::OrganizationName, *organization);
    }
    Ok(params)
}

fn failed(subject: &str) -> impl FnOnce(rcgen::Error) -> Error {
    let subject = subject.to_owned();
    move |source| Error::Certificate { subject, source }
}
