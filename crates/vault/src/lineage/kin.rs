//! Who is related to whom, and who shares a book with whom: worked out once ([`Kin`]).

use crate::{ChatIx, StoryIx};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use forklore_core::adapter::recap::RecapVersion;
use forklore_core::format::names::book_stem;
use forklore_core::format::record::ForkRecord;
use forklore_core::story::{align, common_prefix, lineage};
use forklore_fs::PathError;

use crate::library::{Chat, Library};

/// How many messages two chats share from the start and, once it was needed, the pairs of messages that correspond; by the numbers
/// of the two chats.
type Alignments = HashMap<(ChatIx, ChatIx), (usize, Option<Box<[(usize, usize)]>>)>;

/// Who is related to whom, and who shares a book with whom.
#[derive(Debug, Default)]
struct Kin {
    /// For each chat the one that stands for its family.
    family_of: Vec<ChatIx>,
    /// The members of each family, at the chat that stands for it.
    families: Vec<Vec<ChatIx>>,
    /// Who is bound to each book, by its stem.
    users: HashMap<String, Users>,
    /// The books that Forklore made, by their stems.
    made: HashSet<String>,
    /// The chats of each story by name.
    names: HashMap<StoryIx, HashMap<String, ChatIx>>,
}

/// The chats that have a version of a running recap, by their family, its number and its time. Apart from [`Kin`], because it takes a look at
/// the recaps of all chats, and few questions are about them.
#[derive(Debug, Default)]
struct Versions(HashMap<(ChatIx, i64, i64), Vec<ChatIx>>);

/// Who is bound to a book.
#[derive(Debug, Default)]
struct Users {
    /// All chats
    all: Vec<ChatIx>,
    /// The one that the book was made for
    owner: Option<ChatIx>,
    /// The family of all of them, if they are of one
    family: Option<ChatIx>,
}

impl Library {
    fn kin(&self) -> &Kin {
        self.memo.slot::<OnceLock<Kin>>().get_or_init(|| self.find_kin())
    }

    /// Chats that are bound to a book, by its stem.
    pub fn users_of(&self, stem: &str) -> &[ChatIx] {
        self.kin().users.get(stem).map_or(&[], |users| &users.all)
    }

    /// Of the chats bound to one book, the one that the book was made for.
    pub fn owner_of(&self, stem: &str) -> Option<ChatIx> {
        self.kin().users.get(stem).and_then(|users| users.owner)
    }

    /// Whether all chats that are bound to a book are related to one.
    pub(crate) fn is_used_by_relatives(&self, stem: &str, chat: ChatIx) -> bool {
        let kin = self.kin();
        kin.users.get(stem).is_none_or(|users| users.family == Some(kin.family_of[chat]))
    }

    /// Whether an extension keeps a book, or Forklore made it for one chat. Any other is kept by hand, and shared by choice.
    pub fn is_machine_kept(&self, stem: &str) -> Result<bool, PathError> {
        Ok(self.made_by_forklore(stem) || self.book(stem)?.is_some_and(|book| book.keeper().is_some()))
    }

    /// Whether Forklore made a book, for a fork or a chat that it healed.
    pub(crate) fn made_by_forklore(&self, stem: &str) -> bool {
        self.kin().made.contains(stem)
    }

    /// The message of chat `other` that is message `message` of chat `chat`: at the same place if all before it is the same, else by
    /// the identity of the message itself, because old messages get edited and deleted. Chats that are not related share none.
    pub fn counterpart(&self, chat: ChatIx, message: usize, other: ChatIx) -> Option<usize> {
        let (here, there) = (&self.chats[chat].transcript, &self.chats[other].transcript);
        if chat == other || message >= here.len() || !self.related(chat, other) {
            return (chat == other && message < here.len()).then_some(message);
        }
        let alignments = self.memo.slot::<Mutex<Alignments>>();
        let mut known = alignments.lock().unwrap_or_else(PoisonError::into_inner);
        let (shared, pairs) =
            known.entry((chat, other)).or_insert_with(|| (common_prefix(here, there), None));
        if message < *shared {
            return Some(message);
        }
        if *shared == here.len().min(there.len()) {
            // One is the beginning of the other: what comes after it is nobody else's.
            return None;
        }
        // What comes before is known to be the same, message by message.
        let pairs = pairs.get_or_insert_with(|| align(here, there, *shared).pairs.split_off(*shared).into());
        pairs.binary_search_by_key(&message, |pair| pair.0).ok().map(|i| pairs[i].1)
    }

    /// Relatives of a chat that have the same version of the running recap.
    pub fn relatives_with(&self, chat: ChatIx, version: &RecapVersion) -> impl Iterator<Item = ChatIx> {
        self.family_with(chat, version).filter(move |c| *c != chat)
    }

    /// The chats of a family that have a version of the running recap, ascending.
    pub(crate) fn family_with(&self, chat: ChatIx, version: &RecapVersion) -> impl Iterator<Item = ChatIx> {
        let versions = self.memo.slot::<OnceLock<Versions>>().get_or_init(|| self.find_versions());
        let all = versions.0.get(&(self.kin().family_of[chat], version.version, version.clock));
        all.into_iter().flatten().copied()
    }

    /// The chat of a story with this name.
    pub fn named(&self, story: StoryIx, name: &str) -> Option<ChatIx> {
        self.kin().names.get(&story)?.get(name).copied()
    }

    pub(crate) fn family_number(&self, chat: ChatIx) -> usize {
        self.kin().family_of[chat].place()
    }

    /// Whether two chats are of one family.
    pub fn related(&self, a: ChatIx, b: ChatIx) -> bool {
        let family_of = &self.kin().family_of;
        family_of[a] == family_of[b]
    }

    /// Those of some chats that are of the family of one.
    pub fn relatives_among<'a>(&'a self, chat: ChatIx, among: &'a [ChatIx]) -> impl Iterator<Item = ChatIx> {
        let family_of = &self.kin().family_of;
        among.iter().copied().filter(move |other| family_of[*other] == family_of[chat])
    }

    /// The chats that are related to this one: ancestors, descendants, siblings, also under a parent that is gone.
    pub fn family(&self, chat: ChatIx) -> &[ChatIx] {
        let kin = self.kin();
        &kin.families[kin.family_of[chat]]
    }

    /// Whether `ancestor` is above `chat` in the fork tree.
    pub fn is_ancestor(&self, ancestor: ChatIx, chat: ChatIx) -> bool {
        let all = if self.chats.len() <= ancestor.place() { self.with_ghosts() } else { self };
        all.ancestors(chat).any(|c| c == ancestor)
    }

    /// The chats above this one in the fork tree, nearest first; those that are gone are left out.
    pub(crate) fn ancestors(&self, chat: ChatIx) -> impl Iterator<Item = ChatIx> {
        let parents =
            std::iter::successors(self.chats[chat].lineage.above(), |c| self.chats[*c].lineage.above());
        // A ring of parents cannot come from files that SillyTavern wrote, but files can hold anything.
        parents.take(self.chats.len())
    }

    /// The nearest chat above this one in the fork tree that cannot be read, by name: what the line had earned there is not known.
    pub fn unreadable_above(&self, chat: ChatIx) -> Option<&str> {
        let mut above = self.ancestors(chat).map(|c| &self.chats[c]);
        above.find(|above| above.unreadable.is_some()).map(|above| above.name.as_str())
    }

    /// A chat of the same story that cannot be read, by name, for a chat that comes from none: it may be a copy of that one.
    pub fn unreadable_original(&self, chat: ChatIx) -> Option<&str> {
        let here = &self.chats[chat];
        let may_be = |other: &&Chat| other.story == here.story && other.unreadable.is_some();
        let none = here.lineage.parent.is_none() && here.lineage.note.is_none();
        self.chats.iter().filter(|_| none).find(may_be).map(|other| other.name.as_str())
    }

    /// The chat that a line of forks began with, also if it is gone, and how many forks lie between.
    pub fn root_of(&self, chat: ChatIx) -> (String, usize) {
        let (mut here, mut depth) = (chat, 0);
        loop {
            let known = &self.chats[here].lineage;
            match (known.parent, &known.note) {
                (Some(parent), _) if depth < self.chats.len() => here = parent,
                (None, Some(lineage::ParentNote::Missing(name))) => return (name.clone(), depth + 1),
                _ => return (self.chats[here].name.clone(), depth),
            }
            depth += 1;
        }
    }

    fn find_versions(&self) -> Versions {
        let mut found = Versions::default();
        for (c, chat) in ChatIx::each(&self.chats) {
            let family = self.kin().family_of[c];
            for version in chat.running_outline().into_iter().flat_map(|r| &r.versions) {
                let with = found.0.entry((family, version.version, version.clock)).or_default();
                // Numbers can stand twice in one recap.
                if with.last() != Some(&c) {
                    with.push(c);
                }
            }
        }
        found
    }

    /// Works out who is related to whom, and who shares a book with whom.
    fn find_kin(&self) -> Kin {
        let family_of = families(&self.chats);
        let mut kin = Kin { families: vec![Vec::new(); self.chats.len()], family_of, ..Kin::default() };
        for (c, chat) in ChatIx::each(&self.chats) {
            kin.families[kin.family_of[c]].push(c);
            for stem in chat.bound() {
                kin.users.entry(stem.to_owned()).or_default().all.push(c);
            }
            kin.made.extend(chat.record.as_ref().and_then(ForkRecord::made_book).map(book_stem));
            kin.names.entry(chat.story).or_default().entry(chat.name.clone()).or_insert(c);
        }
        for (stem, users) in &mut kin.users {
            users.owner = self.find_owner(stem, &users.all);
            let mut families = users.all.iter().map(|user| kin.family_of[*user]);
            users.family = families.next().filter(|first| families.all(|other| other == *first));
        }
        kin
    }

    /// The one whose record names the book; else the one above all others in the fork tree; where there is none, the one whose
    /// name the book carries.
    fn find_owner(&self, stem: &str, users: &[ChatIx]) -> Option<ChatIx> {
        let recorded = users.iter().find(|c| {
            let book = self.chats[**c].record.as_ref().and_then(|r| r.book.as_deref());
            book.is_some_and(|book| book_stem(book) == stem)
        });
        let top = users.iter().min_by_key(|c| self.ancestors(**c).count());
        let above_others = |c: &&ChatIx| users.iter().all(|d| d == *c || self.is_ancestor(**c, *d));
        let named = |c: &&ChatIx| stem.ends_with(self.chats[**c].name.as_str());
        recorded
            .or_else(|| top.filter(above_others))
            .or_else(|| users.iter().filter(named).max_by_key(|c| self.chats[**c].name.len()))
            .copied()
    }
}

/// For each chat the one that stands for its family: chats that are linked by parents, or by the same parent that is gone.
fn families(chats: &[Chat]) -> Vec<ChatIx> {
    let mut family: Vec<ChatIx> = ChatIx::all(chats.len()).collect();
    fn root(family: &mut [ChatIx], mut c: ChatIx) -> ChatIx {
        while family[c] != c {
            family[c] = family[family[c]];
            c = family[c];
        }
        c
    }
    let mut ghosts: HashMap<(StoryIx, &str), ChatIx> = HashMap::new();
    for (c, chat) in ChatIx::each(chats) {
        let kin = match (chat.lineage.parent, &chat.lineage.note) {
            (Some(parent), _) => parent,
            (None, Some(lineage::ParentNote::Missing(name))) => {
                *ghosts.entry((chat.story, name)).or_insert(c)
            }
            (None, _) => c,
        };
        let beyond = chat.lineage.beyond.map(|beyond| beyond.chat);
        for kin in [kin].into_iter().chain(beyond) {
            let (a, b) = (root(&mut family, c), root(&mut family, kin));
            family[a] = b;
        }
    }
    ChatIx::all(chats.len()).map(|c| root(&mut family, c)).collect()
}
