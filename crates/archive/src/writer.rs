//! [`Writer`]: an export is written from its first byte to its last.

use std::io::{self, Write};

use zstd::stream::write::Encoder;
use zstd::zstd_safe::CParameter;

use crate::{ArchiveError, HEAD, LONGEST, MARK, Manifest, SKIPPED, WINDOW, tar};

/// The level of zstd.
const LEVEL: i32 = 3;

/// An export that is being written.
pub struct Writer<W: Write> {
    body: Encoder<'static, Hashed<W>>,
    members: Vec<(String, u64)>,
    /// Number of the member that comes next
    next: usize,
    sums: String,
}

/// Everything that is written so far, hashed.
struct Hashed<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Writer<W> {
    /// Begins an export of what the manifest lists.
    pub fn begin(out: W, manifest: &Manifest) -> Result<Self, ArchiveError> {
        if let Some(member) = manifest.members.iter().find(|member| member.bytes > LONGEST) {
            return Err(ArchiveError::TooLarge(member.name.clone()));
        }
        let mut out = Hashed { out, hasher: blake3::Hasher::new() };
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&SKIPPED);
        head.extend_from_slice(&16u32.to_le_bytes());
        head.extend_from_slice(MARK);
        head.extend_from_slice(&manifest.version.to_le_bytes());
        head.extend_from_slice(&[0; 4]);
        out.write_all(&head)?;
        let mut body = Encoder::new(out, LEVEL)?;
        body.set_parameter(CParameter::WindowLog(WINDOW))?;
        let members =
            manifest.paths().into_iter().skip(1).zip(manifest.members.iter().map(|member| member.bytes));
        let mut writer = Self { body, members: members.collect(), next: 0, sums: String::new() };
        // Plain data into memory cannot fail.
        let text = serde_json::to_vec_pretty(manifest).unwrap_or_default();
        writer.put(tar::MANIFEST, text.len() as u64, |out| Ok::<(), ArchiveError>(out.write_all(&text)?))?;
        Ok(writer)
    }

    /// Writes the next member. `fill` must write exactly as much as the manifest says.
    pub fn add<E: From<ArchiveError>>(
        &mut self,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some((path, bytes)) = self.members.get(self.next).cloned() else {
            return Err(ArchiveError::Changed("the list of files".to_owned()).into());
        };
        self.next += 1;
        self.put(&path, bytes, fill)
    }

    fn put<E: From<ArchiveError>>(
        &mut self,
        path: &str,
        bytes: u64,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let io = |e: io::Error| E::from(ArchiveError::Io(e));
        self.body.write_all(&tar::header(path, bytes)).map_err(io)?;
        let mut member =
            Filling { out: &mut self.body, hasher: blake3::Hasher::new(), left: bytes, longer: false };
        let filled = fill(&mut member);
        let (hash, left, longer) = (member.hasher.finalize(), member.left, member.longer);
        if longer {
            return Err(ArchiveError::Changed(path.to_owned()).into());
        }
        filled?;
        if left > 0 {
            return Err(ArchiveError::Changed(path.to_owned()).into());
        }
        self.sums.push_str(&tar::sum_line(&hash, path));
        self.body.write_all(&[0; 512][..tar::padding(bytes)]).map_err(io)
    }

    /// Writes the end. What was written is whole only now.
    pub fn finish(mut self) -> Result<W, ArchiveError> {
        if self.next < self.members.len() {
            return Err(ArchiveError::Changed("the list of files".to_owned()));
        }
        let sums = std::mem::take(&mut self.sums);
        self.put(tar::SUMS, sums.len() as u64, |out| {
            Ok::<(), ArchiveError>(out.write_all(sums.as_bytes())?)
        })?;
        self.body.write_all(&[0; 1024])?;
        let mut out = self.body.finish()?;
        let hash = out.hasher.finalize();
        let tail = [&SKIPPED[..], &32u32.to_le_bytes(), hash.as_bytes()].concat();
        out.write_all(&tail)?;
        out.flush()?;
        Ok(out.out)
    }
}

/// A member that is being written.
struct Filling<'a, W: Write> {
    out: &'a mut Encoder<'static, Hashed<W>>,
    hasher: blake3::Hasher,
    left: u64,
    /// Whether there was more to write than was announced
    longer: bool,
}

impl<W: Write> Write for Filling<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.longer = true;
            return Err(io::Error::other("it became longer while it was read"));
        }
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
