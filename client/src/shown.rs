//! How programs show people what they cannot show as it is: errors, texts that others wrote, numbers, times, sources and QR codes.

pub mod advice;
pub mod escape;
pub mod number;
pub mod qr;
pub mod source;
pub mod time;
