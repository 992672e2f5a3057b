pub mod advice;
pub mod escape;
pub mod number;
pub mod qr;
pub mod source;
pub mod time;
