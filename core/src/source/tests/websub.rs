//! Tests of subscriptions at hubs.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use url::form_urlencoded;

use super::*;
use crate::base::clock::DAY_MS;
use crate::source::sql::Offer;
use crate::source::websub::{self, Subscription, check, confirm, is_signed, receive};

/// A source whose feed names a hub, after its first fetch.
fn source(service: &Service, site: &Site) -> (String, SourceKey) {
    let links = "link: <https://hub.example/>; rel=\"hub\", </feed>; rel=self\r\n";
    site.answers("/feed", 200, links, atom("Campus", &[entry(1, "One")]).as_bytes());
    let id = add(service, &site.url("/feed"));
    fetch(service, &id);
    (id, key_of_one(service))
}

fn subscribe(service: &Service, key: SourceKey) -> Subscription {
    let now = service.now();
    let begun = service.store().write(Isolation::Alone, move |tx| websub::begin(tx, key, now)).unwrap();
    begun.unwrap()
}

fn due(service: &Service) -> usize {
    let now = service.now();
    service.store().read(|tx| websub::due(tx, now)).unwrap().len()
}

fn signature(key: &str, body: &str) -> String {
    let mac = Hmac::<sha2::Sha256>::new_from_slice(key.as_bytes()).unwrap().chain_update(body);
    format!("sha256={}", HEXLOWER.encode(&mac.finalize().into_bytes()))
}

fn question(subscription: &Subscription, mode: &str, rest: &str) -> String {
    let topic: String = form_urlencoded::byte_serialize(subscription.offer.topic.as_bytes()).collect();
    format!("hub.mode={mode}&hub.topic={topic}{rest}")
}

#[test]
fn a_subscription_is_confirmed_renewed_and_refused() {
    let (service, site) = (reading(), Site::start());
    let (id, key) = source(&service, &site);
    assert_eq!((due(&service), get(&service, &id).hub.as_deref()), (1, Some("https://hub.example/")));
    let subscription = subscribe(&service, key);
    assert_eq!((&*subscription.offer.topic, due(&service)), (&*site.url("/feed"), 0));
    let confirmed = |query: &str| confirm(&service, &subscription.token, query);
    let until = |service: &Service| get(service, &id).subscribed_until;

    let asked = question(&subscription, "subscribe", "&hub.challenge=a%2Bb&hub.lease_seconds=86400");
    for wrong in [
        asked.replace("%2Ffeed", "%2Fother"),
        asked.replace("subscribe", "unsubscribe"),
        question(&subscription, "subscribe", "&hub.lease_seconds=86400"),
        String::new(),
    ] {
        assert!(matches!(confirmed(&wrong), Err(Error::NotFound)), "{wrong}");
    }
    assert!(matches!(confirm(&service, "x", &asked), Err(Error::NotFound)));
    assert_eq!(until(&service), None);
    assert_eq!(confirmed(&asked).unwrap(), "a+b");
    assert_eq!(until(&service), Some(NOW + DAY_MS));
    fetch(&service, &id);
    let next = get(&service, &id).next_fetch.unwrap() - NOW;
    assert!((12 * HOUR_MS..14 * HOUR_MS).contains(&next), "it is fetched rarely: {next}");

    service.clock().advance(DAY_MS * 9 / 10 + 1);
    assert_eq!(due(&service), 1, "it is renewed");
    let again = subscribe(&service, key);
    assert_eq!((&again.token, &again.secret), (&subscription.token, &subscription.secret));
    assert_eq!(confirmed(&question(&again, "denied", "&hub.reason=no")).unwrap(), "");
    assert_eq!((until(&service), due(&service)), (None, 0));
    assert!(get(&service, &id).next_fetch.unwrap() - service.now() < 3 * HOUR_MS, "it is fetched as before");
}

#[test]
fn what_a_hub_sends_becomes_posts_if_it_is_signed() {
    let (service, site) = (reading(), Site::start());
    let (id, key) = source(&service, &site);
    let subscription = subscribe(&service, key);
    let news = atom("Campus", &[entry(1, "First"), entry(2, "Two")]);
    let send = |signature: Option<&str>, body: &str| {
        receive(&service, &subscription.token, signature, None, body.as_bytes())
    };
    let signed = signature(&subscription.secret, &news);
    for wrong in [None, Some(""), Some("sha256=00"), Some(&*signed.replace("sha256", "sha1")), Some("md5=00")]
    {
        send(wrong, &news).unwrap();
    }
    send(Some(&signed), &news.replace("Two", "Three")).unwrap();
    send(Some(&signature(&subscription.secret, "no feed")), "no feed").unwrap();
    assert_eq!(titles(&service), ["One"]);
    send(Some(&signed.to_ascii_uppercase().replace("SHA", "sha")), &news).unwrap();
    assert_eq!(titles(&service), ["First", "Two"]);
    send(Some(&signed), &news).unwrap();
    let Source { posts, last_news, .. } = get(&service, &id);
    assert_eq!((posts, last_news), (2, Some(NOW)));

    // What was removed by an administrator does not come back with the next fetch.
    let posts = service.call(&Caller::Operator, post::List::default()).unwrap().posts;
    remove_post(&service, &posts.into_iter().find(|post| post.title == "Two").unwrap().id);
    site.gives("/feed", &news);
    fetch(&service, &id);
    assert_eq!(titles(&service), ["First"]);

    service.call(&Caller::Operator, Pause { source_obi: id }).unwrap();
    assert!(matches!(send(Some(&signed), &news), Err(Error::NotFound)));
}

#[test]
fn a_subscription_ends_with_the_address_of_its_source() {
    let (service, site) = (reading(), Site::start());
    let (id, key) = source(&service, &site);
    let subscription = subscribe(&service, key);
    let update = Update { url: Some(site.url("/other")), ..unchanged(&id) };
    service.call(&Caller::Operator, update).unwrap();
    assert!(matches!(check(&service, &subscription.token), Err(Error::NotFound)));
    assert_eq!((get(&service, &id).hub, due(&service)), (None, 0));
    let own = site.url("/self");
    let links = format!("<link rel='hub' href='/hub'/><link rel='self' href='{own}'/><entry>");
    site.gives("/other", &atom("Other", &[entry(3, "Three")]).replacen("<entry>", &links, 1));
    fetch(&service, &id);
    let other = subscribe(&service, key);
    assert_eq!(other.offer, Offer { hub: site.url("/hub"), topic: own });
    assert_ne!(other.token, subscription.token);
}

#[test]
fn signatures_of_all_methods_are_read() {
    // RFC 2202 and RFC 4231, test case 2.
    let body = b"what do ya want for nothing?";
    for signature in [
        "sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "SHA384=af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        "sha512=164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    ] {
        assert!(is_signed(signature, "Jefe", body), "{signature}");
    }
    for wrong in [
        "sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c78",
        "sha256=5bdc",
        "sha256=xyz",
        "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
    ] {
        assert!(!is_signed(wrong, "Jefe", body), "{wrong}");
    }
}
