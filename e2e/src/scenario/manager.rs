//! Who writes.

/// How a request says which field manager it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// By the parameter `fieldManager`.
    Named(String),
    /// By its `User-Agent` alone.
    UserAgent(String),
    /// Not at all.
    Nobody,
}

/// A client that doesn't name its field manager, and calls itself this.
pub fn user_agent(text: &str) -> Manager {
    Manager::UserAgent(text.to_owned())
}

/// A client that neither names its field manager nor itself.
pub fn nobody() -> Manager {
    Manager::Nobody
}

impl From<&str> for Manager {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl Manager {
    /// The field manager that an API server records: without a name it is the product in front of the user agent's first
    /// slash (`managerOrUserAgent` of `k8s.io/apiserver/pkg/endpoints/handlers`).
    pub(super) fn recorded(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::UserAgent(text) => text.split('/').next().unwrap_or_default(),
            Self::Nobody => "unknown",
        }
    }

    /// How a sentence names it.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Named(name) => format!("as {name}"),
            Self::UserAgent(text) => format!("with the user agent {text}"),
            Self::Nobody => "without a field manager".to_owned(),
        }
    }
}
