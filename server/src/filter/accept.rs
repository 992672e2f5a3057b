//! Content negotiation: the media types, the languages and the weights that a client accepts.
//! Source: RFC 9110 sections 12.4.2 and 12.5.1.

use http::HeaderMap;
use http::header::HeaderName;

/// The header is `Accept` or `Accept-Language`; the order is that of the request.
pub(crate) fn ranges<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = (&'h str, f32)> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|range| {
        let (name, parameters) = range.split_once(';').unwrap_or((range, ""));
        (name.trim(), weight_of(parameters))
    })
}

/// The weight is from 0 to 1. Parameters that are not a weight are 0, so that a client never gets what it may have refused.
pub(crate) fn weight_of(parameters: &str) -> f32 {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return 1.0;
    }
    let weight = parameters.strip_prefix(['q', 'Q']).and_then(|weight| weight.strip_prefix('='));
    let weight = weight.and_then(|weight| weight.parse().ok());
    weight.filter(|weight: &f32| *weight > 0.0).map_or(0.0, |weight| weight.min(1.0))
}
