//! Tests of what browsers and attackers send.

use serde_json::{Value, json};

use super::*;

/// Tries to sign in with an answer of the device that has another value of a field, or lacks it.
fn sign_in_with(service: &Service, device: &mut Device, path: &str, value: Option<Value>) -> String {
    let begun = begin_sign_in(service);
    let credential = with(&device.get(&begun), path, value);
    text(answer(service, &begun, &credential, None))
}

fn with(credential: &str, path: &str, value: Option<Value>) -> String {
    let mut changed: Value = serde_json::from_str(credential).unwrap();
    let (parents, field) = path.rsplit_once('.').unwrap_or(("", path));
    let parents = parents.split('.').filter(|parent| !parent.is_empty());
    let object = parents.fold(&mut changed, |object, parent| &mut object[parent]);
    let object = object.as_object_mut().unwrap();
    match value {
        Some(value) => drop(object.insert(field.to_owned(), value)),
        None => drop(object.remove(field)),
    }
    changed.to_string()
}

fn values() -> impl Iterator<Item = Option<Value>> {
    let given =
        [json!(null), json!(""), json!(7), json!(-0.5), json!(true), json!([]), json!({}), json!("AAAA")];
    let more = [json!("=="), json!("ä"), json!([null]), json!("A".repeat(5_000)), json!({ "length": 3 })];
    std::iter::once(None).chain(given.into_iter().chain(more).map(Some))
}

#[test]
fn a_field_of_any_value_is_no_failure_of_the_service() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    add(&service, &ann, &mut device);
    // Nothing else counts, except for whom a device says that the passkey is.
    let needed = "id response response.clientDataJSON response.authenticatorData response.signature";
    let unused = "rawId type authenticatorAttachment clientExtensionResults more response.more";
    for (paths, result) in [(needed, "incorrect code"), (unused, "success")] {
        for path in paths.split(' ') {
            for value in values() {
                let got = sign_in_with(&service, &mut device, path, value.clone());
                assert_eq!(got, result, "{path} {value:?}");
            }
        }
    }
    for (value, result) in [
        (None, "success"),
        (Some(json!(null)), "success"),
        (Some(json!("")), "success"),
        (Some(json!("AAAA")), "incorrect code"),
        (Some(json!("A".repeat(86))), "incorrect code"),
    ] {
        let got = sign_in_with(&service, &mut device, "response.userHandle", value.clone());
        assert_eq!(got, result, "{value:?}");
    }
}

#[test]
fn a_new_passkey_of_any_form_is_no_failure_of_the_service() {
    let service = service();
    let ann = service.member("ann");
    let paths = "id response response.clientDataJSON response.attestationObject response.authenticatorData \
        response.transports response.publicKey authenticatorAttachment clientExtensionResults";
    for path in paths.split(' ') {
        for value in values() {
            let begun = begin(&service, &ann, PW, None).unwrap();
            let credential = with(&Device::new(9).create(&begun), path, value);
            if let Ok(added) = finish(&service, &ann, &begun, &credential) {
                service.call(&ann, RemovePasskey { passkey_obi: added.id }).unwrap();
            }
        }
    }
}

#[test]
fn values_that_a_later_browser_adds_are_accepted() {
    let service = service();
    let ann = service.member("ann");
    let results = json!({ "credProps": { "rk": "yes" }, "prf": { "enabled": 1 }, "new": [] });
    let changes = [
        ("response.transports", json!(["cable", "internal"])),
        ("response.transports", json!(["internal", "internal", 7, "quantum"])),
        ("response.transports", json!(null)),
        ("authenticatorAttachment", json!("implant")),
        ("type", json!("public-key-2")),
        ("clientExtensionResults", results),
        ("response.publicKeyAlgorithm", json!(-9_999)),
        ("response.publicKey", json!("AAAA")),
    ];
    for (seed, (path, value)) in (1..).zip(changes) {
        let mut device = Device::new(seed);
        let begun = begin(&service, &ann, PW, None).unwrap();
        let credential = with(&device.create(&begun), path, Some(value.clone()));
        assert_eq!(text(finish(&service, &ann, &begun, &credential)), "success", "{path} {value}");
        let got = sign_in_with(&service, &mut device, path.rsplit('.').next().unwrap(), Some(value.clone()));
        assert_eq!(got, "success", "{path} {value}");
    }
}

#[test]
fn what_a_device_says_about_itself_is_left_out() {
    let service = service();
    let ann = service.member("ann");
    for (seed, format) in (1..).zip(["packed", "tpm", "android-key", "fido-u2f", "apple", "compound", ""]) {
        let mut device = Device::new(seed);
        let begun = begin(&service, &ann, PW, None).unwrap();
        let (credential, data) = device.create_with(&begun, format);
        assert_eq!(text(finish(&service, &ann, &begun, &credential)), "incorrect code", "{format}");
        let credential = with(&credential, "response.authenticatorData", Some(json!(data)));
        assert_eq!(text(finish(&service, &ann, &begun, &credential)), "success", "{format}");
        sign_in(&service, &mut device, None).unwrap();
    }
}

#[test]
fn bytes_of_a_device_that_are_cut_or_changed_are_refused() {
    let service = service();
    let (ann, mut device) = (service.member("ann"), Device::new(1));
    add(&service, &ann, &mut device);
    let begun = begin_sign_in(&service);
    let credential = device.get(&begun);
    for field in ["clientDataJSON", "authenticatorData", "signature"] {
        let given: Value = serde_json::from_str(&credential).unwrap();
        let bytes = device::decode(given["response"][field].as_str().unwrap());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            for bytes in [&bytes[..at], &changed] {
                let encoded = json!(device::encode(bytes));
                let credential = with(&credential, &format!("response.{field}"), Some(encoded));
                let got = text(answer(&service, &begun, &credential, None));
                assert_eq!(got, "incorrect code", "{field} {at}");
            }
        }
    }
    let begun = begin(&service, &ann, PW, None).unwrap();
    let (credential, data) = Device::new(2).create_with(&begun, "none");
    let bytes = device::decode(&data);
    // Without any, the other field has them.
    for at in 1..bytes.len() {
        let encoded = json!(device::encode(&bytes[..at]));
        let credential = with(&credential, "response.authenticatorData", Some(encoded));
        assert_eq!(text(finish(&service, &ann, &begun, &credential)), "incorrect code", "{at}");
    }
}
