use tidings_client::Error;
use tidings_client::shown::advice::advice;
use tidings_core::error::Code;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) text: String,
    pub(crate) field: Option<String>,
    pub(crate) exists: bool,
    pub(crate) is_refusal: bool,
}

impl Problem {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), field: None, exists: false, is_refusal: false }
    }

    /// The text, in which a label replaces the name that programs use.
    pub(crate) fn labelled(&self) -> String {
        let Some(name) = self.field.as_deref() else { return self.text.clone() };
        let label = capitalised(name);
        let text = match self.text.split_at_checked(name.len()) {
            Some((start, rest)) if start.eq_ignore_ascii_case(name) => label + rest,
            _ => format!("{label}: {}", self.text),
        };
        // Names of other fields in the rule.
        text.replace('_', " ")
    }

    pub(crate) fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let text = format!("Cannot {what} {}: {error}. Name another file, or make room.", path.display());
        Self { exists, ..Self::new(text) }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let field = error.field().map(str::to_owned);
        let is_refusal = matches!(error.code(), Some(Code::NotAdmin | Code::MissingScope));
        let advice = match error {
            // The title names the server.
            Error::Unreachable { cause, .. } => format!("the server cannot be reached: {cause}"),
            Error::Unexpected { what, .. } => {
                format!("the server answered {what}: check its address, and the versions of both programs")
            }
            // The server says which right a key lacks.
            Error::Refused(refusal) if refusal.code == Some(Code::NotAdmin) => refusal.message,
            error => advice(&error),
        };
        let stop = if advice.ends_with('.') { "" } else { "." };
        Self { field, is_refusal, ..Self::new(capitalised(&advice) + stop) }
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}
