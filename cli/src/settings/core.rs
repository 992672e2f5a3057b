//! What the settings mean to the core.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use tidings_core::config::{Analysis, Bounds, Config, Feed, Interest, Secret, Verifier, Words};

use super::{Settings, Switch, TOKEN_KEY, TOKEN_KEY_PREVIOUS, VerifierKind, defaults};
use crate::failure::Failure;

impl Settings {
    /// What the core is set to, without the place of what makes no sense.
    pub(super) fn core_of(&self) -> Result<Config, Failure> {
        let default = Config::default();
        let bounds = |name: &str, min: Option<usize>, max: Option<usize>, default: Bounds| {
            let bounds = Bounds { min: min.unwrap_or(default.min), max: max.unwrap_or(default.max) };
            if bounds.min >= 1 && bounds.min <= bounds.max {
                return Ok(bounds);
            }
            Err(Failure::usage(format!("{name}-min is at least 1 and at most {name}-max")))
        };
        Ok(Config {
            id_length: bounds("id", self.id_min, self.id_max, default.id_length)?,
            password_length: bounds("pw", self.pw_min, self.pw_max, default.password_length)?,
            nickname_length: bounds(
                "nickname",
                self.nickname_min,
                self.nickname_max,
                default.nickname_length,
            )?,
            token_days: self.token_days.map_or(default.token_days, NonZeroU32::get),
            token_key: Self::token_key(TOKEN_KEY, "token-key-file", self.token_key_file.as_ref())?,
            token_key_file: self.token_key_file.clone(),
            token_key_previous: Self::token_key(
                TOKEN_KEY_PREVIOUS,
                "token-key-previous-file",
                self.token_key_previous_file.as_ref(),
            )?,
            token_key_previous_file: self.token_key_previous_file.clone(),
            refuse_common_passwords: self.refuse_common_passwords.unwrap_or(default.refuse_common_passwords),
            hash_queue: self.hash_queue.unwrap_or(default.hash_queue),
            query_timeout: self.query_timeout(default.query_timeout)?,
            sign_in_slowing: self.sign_in_slowing != Some(Switch::Off),
            verifier: self.verifier()?,
            feed: self.feed()?,
            analysis: self.analysis()?,
            words: self.words()?,
        })
    }

    fn query_timeout(&self, default: Duration) -> Result<Duration, Failure> {
        match self.query_timeout {
            None => Ok(default),
            Some(seconds @ 1..=3_600) => Ok(Duration::from_secs(seconds)),
            Some(_) => Err(Failure::usage("query-timeout is from 1 to 3600")),
        }
    }

    /// The key that a variable holds, or else the file that a setting names, which is looked at.
    fn token_key(variable: &str, setting: &str, file: Option<&PathBuf>) -> Result<Option<Secret>, Failure> {
        let check = |key: Vec<u8>, source: &str| {
            let key = Secret(key.into());
            key.check().map_err(|wrong| Failure::usage(format!("{source}: {wrong}")))?;
            Ok(key)
        };
        if let Some(key) = std::env::var_os(variable) {
            return check(key.into_encoded_bytes(), variable).map(Some);
        }
        if let Some(path) = file {
            let source = format!("{setting}: {}", path.display());
            let key =
                std::fs::read(path).map_err(|e| Failure::usage(format!("{source} cannot be read: {e}")))?;
            check(key, &source)?;
        }
        Ok(None)
    }

    fn verifier(&self) -> Result<Verifier, Failure> {
        match self.verifier {
            None | Some(VerifierKind::Roster) => Ok(Verifier::Roster),
            Some(VerifierKind::None) => Ok(Verifier::None),
            Some(VerifierKind::Http) => {
                let url = self.verifier_url.clone();
                let url = url.ok_or_else(|| Failure::usage("the http verifier needs a verifier-url"))?;
                let timeout =
                    Duration::from_secs(self.verifier_timeout.unwrap_or(defaults::VERIFIER_TIMEOUT));
                let school_ids = self.school_ids.as_deref().map(Verifier::school_ids).transpose();
                let school_ids = school_ids.map_err(|e| Failure::usage(format!("school-ids: {e}")))?;
                let allow_plain_http = self.verifier_allow_plain_http.unwrap_or(false);
                let verifier = Verifier::Http { url, allow_plain_http, timeout, school_ids };
                verifier.check().map_err(Failure::usage)?;
                Ok(verifier)
            }
        }
    }

    fn analysis(&self) -> Result<Analysis, Failure> {
        let default = Analysis::default();
        let timezone = self
            .timezone
            .as_deref()
            .map(|name| name.parse().map_err(|e| Failure::usage(format!("timezone: {name:?}: {e}"))));
        let blocklist = self.trend_blocklist.as_deref().map(|path| {
            let terms = std::fs::read_to_string(path).map(|text| text.lines().map(str::to_owned).collect());
            terms.map_err(|e| {
                Failure::usage(format!("trend-blocklist: {} cannot be read: {e}", path.display()))
            })
        });
        Ok(Analysis {
            timezone: timezone.transpose()?,
            log_days: self.log_days.map_or(default.log_days, NonZeroU32::get),
            log_lines_per_client: self
                .log_lines_per_client
                .map_or(default.log_lines_per_client, NonZeroU32::new),
            public_logs: self.public_logs.unwrap_or(default.public_logs),
            student_num_chars: self.student_num_chars,
            trend_blocklist: blocklist.transpose()?.unwrap_or_default(),
            trend_min_visitors: self.trend_min_visitors.unwrap_or(default.trend_min_visitors),
        })
    }

    fn feed(&self) -> Result<Feed, Failure> {
        let Feed { interest: default, .. } = Feed::default();
        let interest = Interest {
            min_acts: self.interest_min_acts.unwrap_or(default.min_acts),
            half_life_days: self.interest_half_life.unwrap_or(default.half_life_days),
            like_weight: self.interest_like_weight.unwrap_or(default.like_weight),
            view_weight: self.interest_view_weight.unwrap_or(default.view_weight),
            search_weight: self.interest_search_weight.unwrap_or(default.search_weight),
            open_weight: self.interest_open_weight.unwrap_or(default.open_weight),
            topic_share: self.interest_topic_share.unwrap_or(default.topic_share),
            tag_share: self.interest_tag_share.unwrap_or(default.tag_share),
            word_share: self.interest_word_share.unwrap_or(default.word_share),
            meaning_share: self.interest_meaning_share.unwrap_or(default.meaning_share),
        };
        let default = Feed::default();
        let feed = Feed {
            posts: self.feed_posts.unwrap_or(default.posts),
            popular_half_life_days: self.popular_half_life.unwrap_or(default.popular_half_life_days),
            like_weight: self.popular_like_weight.unwrap_or(default.like_weight),
            interest,
            interest_weight: self.interest_weight.unwrap_or(default.interest_weight),
            novel_weight: self.novel_weight.unwrap_or(default.novel_weight),
            recent_weight: self.recent_weight.unwrap_or(default.recent_weight),
            popular_weight: self.popular_weight.unwrap_or(default.popular_weight),
            fresh_weight: self.fresh_weight.unwrap_or(default.fresh_weight),
            novel_half_life_acts: self.novel_half_life.unwrap_or(default.novel_half_life_acts),
            recent_half_life_posts: self.recent_half_life.unwrap_or(default.recent_half_life_posts),
            fresh_half_life_days: self.fresh_half_life.unwrap_or(default.fresh_half_life_days),
            diverse_max: self.diverse_max.unwrap_or(default.diverse_max),
            exploration: self.exploration.unwrap_or(default.exploration),
        };
        feed.check().map_err(Failure::usage)?;
        Ok(feed)
    }

    fn words(&self) -> Result<Words, Failure> {
        let default = Words::default();
        let words = Words {
            similar: self.similar_words.unwrap_or(default.similar),
            similarity: self.similar_words_min.unwrap_or(default.similarity),
            retrain_after: self.words_retrain_after.unwrap_or(default.retrain_after),
            dimensions: self.words_dimensions.unwrap_or(default.dimensions),
            window: self.words_window.unwrap_or(default.window),
            min_posts: self.words_min_posts.unwrap_or(default.min_posts),
            vocabulary: self.words_max.unwrap_or(default.vocabulary),
            corpus: self.words_corpus.unwrap_or(default.corpus),
            seed: self.words_seed.unwrap_or(default.seed),
        };
        words.check().map_err(Failure::usage)?;
        Ok(words)
    }
}
