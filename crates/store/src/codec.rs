//! How objects are compressed: zstd, with other objects' raw bytes as what came before.

use zstd_safe::{CCtx, CParameter, DCtx};

/// The level of zstd: beyond it little is gained for much time.
pub(crate) const LEVEL: i32 = 3;

/// What every frame would begin with; left out.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Compresses one thing after the other. Making one takes longer than using it.
pub(crate) struct Compressor<'a>(Option<CCtx<'a>>);

impl<'a> Compressor<'a> {
    pub(crate) fn new() -> Self {
        Self(CCtx::try_create())
    }

    /// Compresses `raw`, as what follows `prefix`.
    pub(crate) fn compress(
        &mut self,
        raw: &[u8],
        prefix: &'a [u8],
        level: i32,
    ) -> Result<Vec<u8>, CodecError> {
        let context = self.0.as_mut().ok_or(CodecError("there is not enough memory"))?;
        // Everything before must be within reach.
        let window = (raw.len() + prefix.len()).max(1).ilog2() + 1;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ContentSizeFlag(false),
            CParameter::WindowLog(window.clamp(10, 27)),
        ] {
            context.set_parameter(parameter)?;
        }
        context.ref_prefix(prefix)?;
        let mut frame = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
        context.compress2(&mut frame, raw)?;
        match frame.strip_prefix(&MAGIC) {
            Some(rest) => Ok(rest.to_vec()),
            None => Err(CodecError("a frame does not begin like one")),
        }
    }
}

/// Compresses `raw`, as what follows `prefix`.
pub(crate) fn compress(raw: &[u8], prefix: &[u8], level: i32) -> Result<Vec<u8>, CodecError> {
    Compressor::new().compress(raw, prefix, level)
}

/// The `len` bytes that `frame` holds, if it was compressed as what follows `prefix`.
pub(crate) fn decompress(frame: &[u8], len: usize, prefix: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut context = DCtx::try_create().ok_or(CodecError("there is not enough memory"))?;
    context.ref_prefix(prefix)?;
    let mut raw = Vec::with_capacity(len);
    let whole = [&MAGIC, frame].concat();
    let got = context.decompress(&mut raw, &whole)?;
    if got == len { Ok(raw) } else { Err(CodecError("its length is wrong")) }
}

/// What zstd says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(&'static str);

impl From<zstd_safe::ErrorCode> for CodecError {
    fn from(code: zstd_safe::ErrorCode) -> Self {
        Self(zstd_safe::get_error_name(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let text = b"rain on slate, rain on slate, and a lamp".repeat(50);
        for prefix in
            [&b""[..], b"rain on slate", &text, b"\x37\xa4\x30\xec is how zstd's own dictionaries begin"]
        {
            for raw in [&b""[..], b"x", &text] {
                let frame = compress(raw, prefix, 3).unwrap();
                assert_eq!(decompress(&frame, raw.len(), prefix).unwrap(), raw);
                assert!(decompress(&frame, raw.len() + 1, prefix).is_err());
            }
        }
        assert!(compress(&text, &text, 3).unwrap().len() < 60);
    }
}
