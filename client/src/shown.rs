//! Presentation of errors, untrusted texts, numbers, times, sources and QR codes for people.

pub mod advice;
pub mod escape;
pub mod number;
pub mod qr;
pub mod source;
pub mod time;
