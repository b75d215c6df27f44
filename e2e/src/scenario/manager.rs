//! The field manager of a write.

/// How a request names its field manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// By the parameter `fieldManager`.
    Named(String),
    /// Only by its `User-Agent`.
    UserAgent(String),
    /// Not at all.
    Unnamed,
}

/// A client with this user agent that doesn't name its field manager.
pub fn user_agent(text: &str) -> Manager {
    Manager::UserAgent(text.to_owned())
}

/// A client without a user agent that doesn't name its field manager.
pub fn unnamed() -> Manager {
    Manager::Unnamed
}

impl From<&str> for Manager {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl Manager {
    /// The field manager that an API server records. Without a name, it is the part of the user agent before the first slash (`managerOrUserAgent` of `k8s.io/apiserver/pkg/endpoints/handlers`).
    pub(super) fn recorded(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::UserAgent(text) => text.split('/').next().unwrap_or_default(),
            Self::Unnamed => "unknown",
        }
    }

    /// The manager in a sentence.
    pub(super) fn phrase(&self) -> String {
        match self {
            Self::Named(name) => format!("as {name}"),
            Self::UserAgent(text) => format!("with the user agent {text}"),
            Self::Unnamed => "without a field manager".to_owned(),
        }
    }
}
