//! Reads certificates of any version, and checks the chain from one to a trusted certificate.

use std::net::IpAddr;

use rustls::CertificateError;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use x509_cert::certificate::Version;
use x509_cert::der::asn1::{AnyRef, BitStringRef};
use x509_cert::der::oid::AssociatedOid as _;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5280::{ANY_EXTENDED_KEY_USAGE, ID_KP_SERVER_AUTH};
use x509_cert::der::{Decode as _, Reader as _, SliceReader, Tag, Tagged as _};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, NameConstraints, SubjectAltName};
use x509_cert::{Certificate, TbsCertificate};

use super::algorithms;

/// Between the certificate of the server and a trusted one.
const INTERMEDIATES_MAX: usize = 8;

pub(super) struct Key<'a> {
    pub(super) info: &'a [u8],
    /// Encoded, without the outer tag.
    pub(super) algorithm: &'a [u8],
    pub(super) bits: &'a [u8],
}

/// Reads certificates of any version; `None` if the certificate is malformed before its key.
pub(super) fn key_of<'a>(certificate: &'a CertificateDer<'_>) -> Option<Key<'a>> {
    let signed = fields(fields(certificate)?.first()?)?;
    // Version 1 has no field for the version.
    let after_version = usize::from(signed.first()?.first()? >> 5 == CONTEXT);
    // After the serial number, the algorithm of the signature, the issuer, the validity and the subject.
    let info = *signed.get(after_version + 5)?;
    let [algorithm, bits] = fields(info)?[..] else { return None };
    let algorithm = AnyRef::from_der(algorithm).ok()?.value();
    let bits = BitStringRef::from_der(bits).ok()?.as_bytes()?;
    Some(Key { info, algorithm, bits })
}

/// The class and form of a tag of a numbered field: context-specific, constructed.
const CONTEXT: u8 = 0b101;

fn fields(sequence: &[u8]) -> Option<Vec<&[u8]>> {
    let sequence = AnyRef::from_der(sequence).ok().filter(|any| any.tag() == Tag::Sequence)?;
    let mut reader = SliceReader::new(sequence.value()).ok()?;
    let mut fields = Vec::new();
    while !reader.is_finished() {
        fields.push(reader.tlv_bytes().ok()?);
    }
    Some(fields)
}

pub(super) struct Parsed<'a> {
    der: &'a CertificateDer<'a>,
    certificate: Certificate,
}

impl<'a> Parsed<'a> {
    pub(super) fn of(der: &'a CertificateDer<'_>) -> Option<Self> {
        Some(Self { der, certificate: Certificate::from_der(der).ok()? })
    }

    fn signed(&self) -> &TbsCertificate {
        &self.certificate.tbs_certificate
    }

    /// X.509 version 1 knows no extensions.
    pub(super) fn is_first_version(&self) -> bool {
        self.signed().version == Version::V1 && self.signed().extensions.is_none()
    }

    pub(super) fn is_authority(&self) -> bool {
        matches!(self.signed().get::<BasicConstraints>(), Ok(Some((_, BasicConstraints { ca: true, .. }))))
    }

    pub(super) fn check_time(&self, now: UnixTime) -> Result<(), CertificateError> {
        let validity = &self.signed().validity;
        if now.as_secs() < validity.not_before.to_unix_duration().as_secs() {
            Err(CertificateError::NotValidYet)
        } else if now.as_secs() > validity.not_after.to_unix_duration().as_secs() {
            Err(CertificateError::Expired)
        } else {
            Ok(())
        }
    }

    /// No alternative name of the same kind replaces the common name.
    pub(super) fn has_common_name(&self, name: &ServerName<'_>) -> bool {
        let Ok(alternatives) = self.signed().get::<SubjectAltName>() else { return false };
        let is_replaced = alternatives.is_some_and(|(_, SubjectAltName(names))| {
            names.iter().any(|alternative| match name {
                ServerName::IpAddress(_) => matches!(alternative, GeneralName::IpAddress(_)),
                _ => matches!(alternative, GeneralName::DnsName(_)),
            })
        });
        self.common_name().is_some_and(|common_name| !is_replaced && is_for(common_name, name))
    }

    pub(super) fn common_name(&self) -> Option<&str> {
        let mut attributes = self.signed().subject.0.iter().flat_map(|set| set.0.iter());
        let found = attributes.find(|attribute| attribute.oid == COMMON_NAME)?;
        std::str::from_utf8(found.value.value()).ok()
    }

    fn has_signed(&self, other: &Self) -> bool {
        let signature = || {
            let key = key_of(self.der)?;
            let [signed, algorithm, bits] = fields(other.der)?[..] else { return None };
            let algorithm = AnyRef::from_der(algorithm).ok()?.value();
            let bits = BitStringRef::from_der(bits).ok()?.as_bytes()?;
            let verifying = algorithms().all.iter().find(|candidate| {
                *candidate.public_key_alg_id() == *key.algorithm
                    && *candidate.signature_alg_id() == *algorithm
            })?;
            verifying.verify_signature(key.bits, signed, bits).ok()
        };
        let issued = other.certificate.signature_algorithm == other.signed().signature;
        issued && self.signed().subject == other.signed().issuer && signature().is_some()
    }

    /// With `below` other authorities between this one and the server. An authority with constraints that this check does not
    /// know may not issue.
    fn may_issue(&self, below: usize) -> bool {
        let signed = self.signed();
        let may_sign = match signed.get::<KeyUsage>() {
            Ok(usage) => usage.is_none_or(|(_, usage)| usage.key_cert_sign()),
            Err(_) => false,
        };
        let serves = match signed.get::<ExtendedKeyUsage>() {
            Ok(None) => true,
            Ok(Some((_, ExtendedKeyUsage(uses)))) => {
                uses.iter().any(|usage| [ID_KP_SERVER_AUTH, ANY_EXTENDED_KEY_USAGE].contains(usage))
            }
            Err(_) => false,
        };
        let is_long_enough = match signed.get::<BasicConstraints>() {
            Ok(Some((_, constraints))) => {
                constraints.ca && constraints.path_len_constraint.is_none_or(|max| below <= usize::from(max))
            }
            _ => false,
        };
        let known = [BasicConstraints::OID, KeyUsage::OID, ExtendedKeyUsage::OID];
        let is_known = signed.extensions.iter().flatten().all(|extension| {
            known.contains(&extension.extn_id)
                || !extension.critical && extension.extn_id != NameConstraints::OID
        });
        may_sign && serves && is_long_enough && is_known
    }
}

pub(super) fn check(
    server: &Parsed<'_>,
    intermediates: &[CertificateDer<'_>],
    trusted: &[CertificateDer<'_>],
    now: UnixTime,
) -> Result<(), CertificateError> {
    server.check_time(now)?;
    let intermediates: Vec<_> = intermediates.iter().filter_map(Parsed::of).collect();
    let trusted: Vec<_> = trusted.iter().filter_map(Parsed::of).collect();
    let mut last = server;
    for below in 0..=INTERMEDIATES_MAX {
        if let Some(root) = trusted.iter().find(|root| root.has_signed(last)) {
            // A trusted certificate of version 1 cannot say that it is an authority. It is one because it is trusted.
            let may_issue = root.is_first_version() || root.may_issue(below);
            return if may_issue { root.check_time(now) } else { Err(CertificateError::UnknownIssuer) };
        }
        let next = intermediates.iter().find(|issuer| issuer.may_issue(below) && issuer.has_signed(last));
        last = next.ok_or(CertificateError::UnknownIssuer)?;
        last.check_time(now)?;
    }
    Err(CertificateError::UnknownIssuer)
}

/// `*` stands for the first part of a name.
fn is_for(common_name: &str, name: &ServerName<'_>) -> bool {
    match name {
        ServerName::IpAddress(address) => common_name.parse() == Ok(IpAddr::from(*address)),
        ServerName::DnsName(name) => {
            let name = name.as_ref().trim_end_matches('.');
            let wild = || Some((common_name.strip_prefix("*.")?, name.split_once('.')?.1));
            common_name.eq_ignore_ascii_case(name)
                || wild()
                    .is_some_and(|(common, rest)| common.contains('.') && common.eq_ignore_ascii_case(rest))
        }
        _ => false,
    }
}
