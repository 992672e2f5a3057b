//! What is in force where nothing is given, taken from where it is used.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};

use tidings_core::config::{Bounds, Config, Feed};

use super::{FromFile, Limit, LogFormat, Settings, Switch, VerifierKind};

/// Where `serve` listens.
pub(crate) const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// The form of the log.
pub(crate) const LOG_FORMAT: LogFormat = LogFormat::Text;
/// Seconds that the http verifier may take.
pub(crate) const VERIFIER_TIMEOUT: u64 = 5;

impl Settings {
    /// The defaults; `None` where a setting has none and nothing is done without it.
    pub(crate) fn defaults() -> Self {
        let (server, core) = (tidings_server::Config::default(), Config::default());
        let Config { id_length, password_length, nickname_length, analysis, words, .. } = core;
        let bounds = |Bounds { min, max }| (Some(min), Some(max));
        let ((id_min, id_max), (pw_min, pw_max)) = (bounds(id_length), bounds(password_length));
        let (nickname_min, nickname_max) = bounds(nickname_length);
        let Feed { interest, .. } = core.feed;
        // Each by its name, so that a new one does not compile until it has its default.
        Self {
            listen: Some(LISTEN),
            base_path: Some(server.base_path.to_string()),
            cors_origin: None,
            trust_proxy: None,
            rate_limit: server.rate_limit,
            sign_up_limit: Some(Limit(server.sign_up_limit)),
            sign_up_burst: Some(server.sign_up_burst),
            search_limit: Some(Limit(server.search_limit)),
            guest_write_limit: Some(Limit(server.guest_write_limit)),
            query_timeout: Some(core.query_timeout.as_secs()),
            max_connections: NonZeroUsize::new(server.max_connections),
            // Three quarters of them.
            max_connections_per_address: None,
            metrics_listen: server.metrics_listen,
            no_docs: Some(!server.docs),
            log_format: Some(LOG_FORMAT),
            log_auth_failures: Some(server.log_auth_failures),
            sign_in_slowing: Some(switch(core.sign_in_slowing)),
            token_days: NonZeroU32::new(core.token_days),
            token_key_file: None,
            token_key_previous_file: None,
            refuse_common_passwords: Some(core.refuse_common_passwords),
            id_min,
            id_max,
            pw_min,
            pw_max,
            nickname_min,
            nickname_max,
            hash_queue: Some(core.hash_queue),
            verifier: Some(VerifierKind::Roster),
            verifier_url: None,
            verifier_allow_plain_http: Some(false),
            verifier_timeout: Some(VERIFIER_TIMEOUT),
            school_ids: None,
            feed_posts: Some(core.feed.posts),
            popular_half_life: Some(core.feed.popular_half_life_days),
            popular_like_weight: Some(core.feed.like_weight),
            interest_weight: Some(core.feed.interest_weight),
            novel_weight: Some(core.feed.novel_weight),
            novel_half_life: Some(core.feed.novel_half_life_acts),
            recent_weight: Some(core.feed.recent_weight),
            recent_half_life: Some(core.feed.recent_half_life_posts),
            fresh_weight: Some(core.feed.fresh_weight),
            popular_weight: Some(core.feed.popular_weight),
            fresh_half_life: Some(core.feed.fresh_half_life_days),
            diverse_max: Some(core.feed.diverse_max),
            exploration: Some(core.feed.exploration),
            interest_min_acts: Some(interest.min_acts),
            interest_half_life: Some(interest.half_life_days),
            interest_like_weight: Some(interest.like_weight),
            interest_view_weight: Some(interest.view_weight),
            interest_search_weight: Some(interest.search_weight),
            interest_open_weight: Some(interest.open_weight),
            interest_topic_share: Some(interest.topic_share),
            interest_tag_share: Some(interest.tag_share),
            interest_word_share: Some(interest.word_share),
            interest_meaning_share: Some(interest.meaning_share),
            // The database's own.
            timezone: None,
            analytics: Some(switch(server.analytics)),
            log_days: NonZeroU32::new(analysis.log_days),
            log_lines_per_client: analysis.log_lines_per_client.map(NonZeroU32::get),
            public_logs: Some(analysis.public_logs),
            student_num_chars: analysis.student_num_chars,
            trend_blocklist: None,
            trend_min_visitors: Some(analysis.trend_min_visitors),
            similar_words: Some(words.similar),
            similar_words_min: Some(words.similarity),
            words_retrain_after: Some(words.retrain_after),
            words_dimensions: Some(words.dimensions),
            words_window: Some(words.window),
            words_min_posts: Some(words.min_posts),
            words_max: Some(words.vocabulary),
            words_corpus: Some(words.corpus),
            words_seed: Some(words.seed),
            db: Some(crate::database::DEFAULT.into()),
            file: FromFile::default(),
        }
    }
}

fn switch(on: bool) -> Switch {
    if on { Switch::On } else { Switch::Off }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};
    use serde_json::Value;

    use super::*;

    fn values(settings: &Settings) -> serde_json::Map<String, Value> {
        match serde_json::to_value(settings).unwrap() {
            Value::Object(values) => values,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn flags_variables_and_keys_of_the_file_have_the_same_names() {
        let command = Settings::augment_args(Command::new("serve"));
        let mut flags: Vec<String> = Vec::new();
        for argument in command.get_arguments() {
            let flag = argument.get_long().expect("every setting has a flag").to_owned();
            let variable = argument.get_env().expect("every setting has a variable");
            assert_eq!(
                variable.to_str(),
                Some(&*format!("TIDINGS_{}", flag.replace('-', "_").to_uppercase()))
            );
            flags.push(flag);
        }
        // The database's flag stands before every command.
        flags.push("db".into());
        flags.sort();
        let keys: Vec<String> = values(&Settings::default()).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, flags);
    }

    #[test]
    fn the_help_names_the_defaults_that_are_in_force() {
        let defaults = values(&Settings::defaults());
        let command = Settings::augment_args(Command::new("serve"));
        for argument in command.get_arguments() {
            let help = argument.get_help().unwrap().to_string();
            let told = help.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
            let value = &defaults[argument.get_long().unwrap()];
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Whole numbers are told without their point.
            let value = value.strip_suffix(".0").unwrap_or(&value);
            match told {
                Some(told) if told.starts_with(|c: char| c.is_ascii_digit()) => {
                    assert_eq!(told, value, "{help}");
                }
                Some("on" | "off" | "text" | "roster") => assert_eq!(told, Some(value), "{help}"),
                // In words, or that there is none.
                _ => assert!(["null", "", "false"].contains(&value), "{help} {value}"),
            }
        }
    }

    #[test]
    fn the_defaults_are_what_is_in_force_without_any_setting() {
        let (given, none) = (Settings::defaults(), Settings::default());
        assert_eq!(format!("{:?}", given.core().unwrap()), format!("{:?}", none.core().unwrap()));
        assert_eq!(format!("{:?}", given.server().unwrap()), format!("{:?}", none.server().unwrap()));
    }
}
