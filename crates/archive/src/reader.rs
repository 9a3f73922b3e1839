//! [`Reader`]: an export is read from its first byte to its last, and only then known to be whole.

use std::io::{self, BufRead, BufReader, Read};

use zstd::stream::read::Decoder;

use crate::{ArchiveError, HEAD, MARK, Manifest, SKIPPED, TAIL, VERSION, WINDOW, tar};

/// No manifest is longer.
const LONGEST_MANIFEST: u64 = 32 << 20;

/// The hash of a whole export: two readings that end with the same one read the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal([u8; 32]);

/// An export that is being read. As [`Read`] it gives the content of the member that [`Reader::next_member`] led to.
pub struct Reader<R: Read> {
    body: Decoder<'static, BufReader<Body<R>>>,
    manifest: Manifest,
    paths: Vec<String>,
    /// Number of the member that comes next
    next: usize,
    /// The one that is being read
    member: Option<Member>,
    sums: String,
}

/// What is left of the member that is being read.
struct Member {
    bytes: u64,
    left: u64,
    hasher: blake3::Hasher,
}

/// The compressed part of the file, hashed as it is read.
struct Body<R> {
    input: R,
    left: u64,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let got = self.input.read(&mut buffer[..most])?;
        self.hasher.update(&buffer[..got]);
        self.left -= got as u64;
        Ok(got)
    }
}

fn damaged(what: &str) -> ArchiveError {
    ArchiveError::Damaged(what.to_owned())
}

impl<R: Read> Reader<R> {
    /// Begins to read a file of `len` bytes: reads its manifest, and looks whether it can be true.
    pub fn open(mut input: R, len: u64) -> Result<Self, ArchiveError> {
        let mut head = [0; HEAD];
        if len < (HEAD + TAIL) as u64 || input.read_exact(&mut head).is_err() {
            return Err(ArchiveError::NotOurs);
        }
        if head[..4] != SKIPPED || head[8..16] != *MARK {
            return Err(ArchiveError::NotOurs);
        }
        let version = u32::from_le_bytes([head[16], head[17], head[18], head[19]]);
        if version > VERSION {
            return Err(ArchiveError::Newer(version));
        }
        if head[4..8] != 16u32.to_le_bytes() {
            return Err(ArchiveError::NotOurs);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&head);
        let body = Body { input, left: len - (HEAD + TAIL) as u64, hasher };
        let mut body = Decoder::with_buffer(BufReader::with_capacity(128 << 10, body))?.single_frame();
        body.window_log_max(WINDOW)?;
        let (manifest, sum) = read_manifest(&mut body)?;
        manifest.check(len)?;
        let paths = manifest.paths();
        Ok(Self { body, manifest, paths, next: 0, member: None, sums: tar::sum_line(&sum, tar::MANIFEST) })
    }

    /// What is in it. Known to be true only when [`Reader::finish`] says so.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Goes on to the next member, whatever is left of this one, and says which it is.
    pub fn next_member(&mut self) -> Result<Option<usize>, ArchiveError> {
        self.end_member()?;
        let Some(member) = self.manifest.members.get(self.next) else { return Ok(None) };
        let (number, bytes) = (self.next, member.bytes);
        self.next += 1;
        self.expect(&tar::header(&self.paths[self.next], bytes))?;
        self.member = Some(Member { bytes, left: bytes, hasher: blake3::Hasher::new() });
        Ok(Some(number))
    }

    /// Reads what is left of a member, and notes its hash.
    fn end_member(&mut self) -> Result<(), ArchiveError> {
        io::copy(self, &mut io::sink())?;
        let Some(member) = self.member.take() else { return Ok(()) };
        self.sums.push_str(&tar::sum_line(&member.hasher.finalize(), &self.paths[self.next]));
        self.expect(&[0; 512][..tar::padding(member.bytes)])
    }

    fn expect(&mut self, wanted: &[u8]) -> Result<(), ArchiveError> {
        let mut found = vec![0; wanted.len()];
        self.body.read_exact(&mut found)?;
        if found == wanted { Ok(()) } else { Err(damaged("its parts are not what its list says")) }
    }

    /// Reads to the end, whatever is left, and verifies all hashes.
    pub fn finish(mut self) -> Result<Seal, ArchiveError> {
        while self.next_member()?.is_some() {}
        let sums = std::mem::take(&mut self.sums);
        self.expect(&tar::header(tar::SUMS, sums.len() as u64))?;
        self.expect(sums.as_bytes())?;
        self.expect(&[0; 512][..tar::padding(sums.len() as u64)])?;
        self.expect(&[0; 1024])?;
        if self.body.read(&mut [0])? > 0 {
            return Err(damaged("something follows its end"));
        }
        let mut buffered = self.body.finish();
        if !buffered.fill_buf()?.is_empty() || buffered.get_ref().left > 0 {
            return Err(damaged("something follows its end"));
        }
        let Body { mut input, hasher, .. } = buffered.into_inner();
        let hash = hasher.finalize();
        let mut tail = [0; TAIL];
        input.read_exact(&mut tail)?;
        if tail[..8] != [&SKIPPED[..], &32u32.to_le_bytes()].concat() || tail[8..] != *hash.as_bytes() {
            return Err(damaged("its hash is not what it was"));
        }
        Ok(Seal(*hash.as_bytes()))
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(member) = &mut self.member else { return Ok(0) };
        let most = usize::try_from(member.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let got = self.body.read(&mut buffer[..most])?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        member.hasher.update(&buffer[..got]);
        member.left -= got as u64;
        Ok(got)
    }
}

fn read_manifest<R: Read>(body: &mut R) -> Result<(Manifest, blake3::Hash), ArchiveError> {
    let mut header = [0; 512];
    body.read_exact(&mut header)?;
    let bytes = tar::length(&header).filter(|bytes| *bytes <= LONGEST_MANIFEST);
    let bytes = bytes.filter(|bytes| header == tar::header(tar::MANIFEST, *bytes));
    let bytes = bytes.ok_or_else(|| damaged("it does not begin with a list of what is in it"))?;
    let mut text = Vec::new();
    body.by_ref().take(bytes).read_to_end(&mut text)?;
    let mut padding = [0; 512];
    let padding = &mut padding[..tar::padding(bytes)];
    body.read_exact(padding)?;
    if text.len() as u64 != bytes || padding.iter().any(|byte| *byte != 0) {
        return Err(damaged("the list of what is in it is not whole"));
    }
    let manifest = serde_json::from_slice(&text).map_err(|e| ArchiveError::Damaged(e.to_string()))?;
    Ok((manifest, blake3::hash(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemberKind, Story, Writer};

    fn story() -> Manifest {
        let story = Story { kind: "character".to_owned(), folder: "Ana".to_owned(), name: "Ana".to_owned() };
        Manifest::new(story, "0.1.0", 5)
    }

    fn write(members: &[(MemberKind, &str, &[u8])]) -> Vec<u8> {
        let mut manifest = story();
        let member = |(kind, name, bytes): &(MemberKind, &str, &[u8])| crate::Member {
            kind: *kind,
            name: (*name).to_owned(),
            bytes: bytes.len() as u64,
        };
        manifest.members = members.iter().map(member).collect();
        let mut writer = Writer::begin(Vec::new(), &manifest).unwrap();
        for (_, _, bytes) in members {
            writer.add(|out| Ok::<(), ArchiveError>(io::Write::write_all(out, bytes)?)).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(file: &[u8]) -> Result<Vec<Vec<u8>>, ArchiveError> {
        let mut reader = Reader::open(file, file.len() as u64)?;
        let mut found = Vec::new();
        while reader.next_member()?.is_some() {
            let mut content = Vec::new();
            reader.read_to_end(&mut content)?;
            found.push(content);
        }
        reader.finish().map(|_| found)
    }

    fn sample() -> Vec<u8> {
        let long = "a line of a chat\n".repeat(400);
        write(&[
            (MemberKind::Book, "B", b"{}"),
            (MemberKind::Chat, "main", long.as_bytes()),
            (MemberKind::Chat, "é", b""),
        ])
    }

    #[test]
    fn what_was_written_is_read() {
        let found = read(&sample()).unwrap();
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [2, 6800, 0]);
    }

    #[test]
    fn a_reader_need_not_read_everything() {
        let file = sample();
        assert!(Reader::open(&*file, file.len() as u64).unwrap().finish().is_ok());
    }

    #[test]
    fn no_byte_can_be_changed_and_nothing_be_missing() {
        let file = sample();
        for at in 0..file.len() {
            for bit in [1, 0x80] {
                let mut other = file.clone();
                other[at] ^= bit;
                assert!(read(&other).is_err(), "byte {at}");
            }
            assert!(read(&file[..at]).is_err(), "cut at {at}");
        }
        assert!(read(&[&file[..], b"x"].concat()).is_err());
    }

    #[test]
    fn what_is_newer_says_so() {
        let mut file = sample();
        assert_eq!(file[16], 1, "without images and files an older Forklore can read it");
        file[16] = VERSION as u8 + 1;
        assert!(matches!(read(&file), Err(ArchiveError::Newer(_))));
        assert!(matches!(read(b"PK\x03\x04"), Err(ArchiveError::NotOurs)));
        assert!(matches!(read(&[0; 4096]), Err(ArchiveError::NotOurs)));
    }

    #[test]
    fn images_have_paths_for_people_who_unpack_and_none_leads_out() {
        let path =
            |name: &str| crate::Member { kind: MemberKind::Media, name: name.to_owned(), bytes: 0 }.path(7);
        assert_eq!(path("user/images/Ana/a boat.png"), "media/user/images/Ana/a boat.png");
        for name in ["../x", "user/../../x", "/etc/passwd", "user/images/猫.png", "user//x", "", ".x"] {
            assert_eq!(path(name), "media/00007", "{name}");
        }
        let mut manifest = story();
        manifest.add(crate::Member {
            kind: MemberKind::Media,
            name: "user/images/a.png".to_owned(),
            bytes: 4,
        });
        assert_eq!(manifest.version, VERSION, "who does not know of images is told so");
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        let zeros = vec![0; 80 << 20];
        let file = write(&[(MemberKind::Chat, "main", &zeros)]);
        assert!(file.len() < 16 << 10, "{}", file.len());
        assert!(matches!(Reader::open(&*file, file.len() as u64), Err(ArchiveError::Bomb(_))));
    }

    #[test]
    fn content_that_changes_while_it_is_written_is_noticed() {
        let mut manifest = story();
        manifest.members.push(crate::Member { kind: MemberKind::Chat, name: "main".to_owned(), bytes: 4 });
        for content in [&b"abc"[..], b"abcde"] {
            let mut writer = Writer::begin(Vec::new(), &manifest).unwrap();
            let added = writer.add(|out| Ok::<(), ArchiveError>(io::Write::write_all(out, content)?));
            assert!(matches!(added, Err(ArchiveError::Changed(_))));
        }
    }
}
