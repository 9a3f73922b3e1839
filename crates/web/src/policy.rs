//! [`POLICY`]: the Content-Security-Policy of every page.

/// What a page may do, by the header `Content-Security-Policy`: run and load Forklore's own files, and ask Forklore.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'self'";
