//! How objects are compressed: zstd, with another object's raw bytes as what came before.

use zstd_safe::{CCtx, CParameter, DCtx};

/// Compresses `raw`, as what follows `prefix`.
pub(crate) fn compress(raw: &[u8], prefix: &[u8], level: i32) -> Result<Vec<u8>, CodecError> {
    let mut context = CCtx::try_create().ok_or(CodecError("no memory"))?;
    let window = (raw.len() + prefix.len()).max(1).ilog2() + 1;
    for parameter in [
        CParameter::CompressionLevel(level),
        CParameter::ContentSizeFlag(false),
        CParameter::ChecksumFlag(false),
        CParameter::DictIdFlag(false),
        CParameter::WindowLog(window.clamp(10, 27)),
    ] {
        context.set_parameter(parameter).map_err(CodecError::from)?;
    }
    context.ref_prefix(prefix).map_err(CodecError::from)?;
    let mut frame = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
    context.compress2(&mut frame, raw).map_err(CodecError::from)?;
    Ok(frame)
}

/// The `len` bytes that `frame` holds, if it was compressed as what follows `prefix`.
pub(crate) fn decompress(frame: &[u8], len: usize, prefix: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut context = DCtx::try_create().ok_or(CodecError("no memory"))?;
    context.ref_prefix(prefix).map_err(CodecError::from)?;
    let mut raw = Vec::with_capacity(len);
    let got = context.decompress(&mut raw, frame).map_err(CodecError::from)?;
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
        for prefix in [&b""[..], b"rain on slate", &text] {
            for raw in [&b""[..], b"x", &text] {
                let frame = compress(raw, prefix, 3).unwrap();
                assert_eq!(decompress(&frame, raw.len(), prefix).unwrap(), raw);
                assert!(decompress(&frame, raw.len() + 1, prefix).is_err());
            }
        }
        assert!(compress(&text, &text, 3).unwrap().len() < 60);
    }
}
