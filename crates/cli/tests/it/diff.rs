//! What differs between two states.

use std::collections::BTreeMap;

use forklore_testkit::story::Story;
use forklore_testkit::{Run, TestVault};
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::harbor::{address, expected, text};

fn run(vault: &TestVault, args: &[&str]) -> Run {
    vault.run(FORKLORE, &[&["diff"], args].concat())
}

fn diff(vault: &TestVault, args: &[&str]) -> Value {
    let answer = vault.json(FORKLORE, &[&["diff"], args].concat());
    assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
    answer
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value:#}"))
}

fn comments(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().map(|e| text(e, "comment").to_owned()).collect()
}

#[test]
fn a_chat_at_two_messages() {
    let demo = TestVault::demo();
    insta::assert_snapshot!(run(&demo, &["Heard Once", "--at", "20", "--at", "30"]), @"
    Ottilie Crake/Heard Once
    A message 20  B message 30

    B is 10 messages later.
      B 21  Ruben Tace  I was at the listening house by seven, with the book buttoned inside my shirt…

    Lorebook  z-AutoLB-Ottilie Crake-Heard Once
      3 added, 3 changed, 6 the same

    +  18  lore-Ottilie's Lost Hearing  from 30
           Ottilie has been deaf for four years. She reads lips, and likes people to face her in the
           light.
           Jory listens and taps the words on the side of her boot; she writes and signs. There are
           sixty-one such transcripts.
           …

    +  19  document-The Provident's Instruction  from 30
           Signed by the director, Mr. Lammas: all four to be heard before you return; spent pieces need
           not be kept.
           Honora has the board's secrets from its own hearths, so the board does as she says. Ruben was
           sent to use the slates up.

    +  20  character-Aldous Finch  from 30
           Assessor at the Provident, at the desk next to Ruben's; clicked the lid of his silver watch
           all day.
           The office was told in October that he had resigned. His watch can be heard on Slate One.

    ~  10  character-Emlyn Post  from 30
           ⋯
             The body was known by its coat and tally chain. It wore Sunday shoes, and the face could…
             Eleven years at the quarry. From the spring he kept a second book at home, counting the…
           + He must have written to the Provident about its hearths. The man with him in the Choir was
             Aldous Finch.

    ~  11  item-The Four Choir Slates  from 30
             One faced the bench, Two the prop line; the fall shut them both. Three lay in clay and s…
             One is spent: Post counts to forty-two, a silent companion, a small tin or silver lid, t…
           + Two is spent: three blows close by, one pair of light boots, the fall. The transcript says
             no voice; Ruben heard a shout.
           + Three and Four are unheard, and Ottilie keeps them by her.

    ~  12  character-Jory Nance  from 30
           ⋯
             Fetched the four slates out of the Choir after the body.
             Goes quiet when the body or the hammer is mentioned.
           + Seventeen. For four years he has been Ottilie's hearing, tapping what he hears on her boot.
           + Left a shout out of Slate Two, and swore that it was only rock.

    Registries  lists that the memory extension keeps of its entries

    ~   1  character
           + 20 character-Aldous Finch  Ruben's colleague, said to have resigned in October
           ~ 12 character-Jory Nance
             - Ottilie's boy at the listening house
             + Ottilie's boy, and in secret her ears

    ~   5  lore
           + 18 lore-Ottilie's Lost Hearing  The listener cannot hear

    ~   7  document
           + 19 document-The Provident's Instruction  Ruben's orders: hear all four, keep nothing

    Running recap  version 1 → 2
      + versions 2 (scene at 30)
      ⋯
        [Tally book] Nerys gave it up: forty-two returned hearths, two from the Provident's boardroom.
        [The trade] Honora Stair sells hearths that listen, and takes them back to be heard.
      + [Slate Two] Spent: hammer, light boots, and a shout that Jory left out.
      + [Ottilie] Deaf for four years; all sixty-one of her transcripts since are Jory's hearing.
      + [The Provident] Ruben was sent to use the slates up. The lid is the watch of his colleague
        Finch.
        
        OPEN:
      - Who was with Emlyn Post, and why does the little lid trouble Ruben?
      - Who swung the hammer?
      - Who hears the hearths for Honora, when Ottilie is the only licensed listener?
      - How did Honora know so fast where Ruben would be?
      + What was shouted after the third blow, and why did Jory hide it?
      + Where is Aldous Finch?
      + Who hears the hearths for Honora?
      + Three and Four are left: who may hear them, now that Ottilie cannot?
        
        STATE:
      - [Time] Late on Friday 4 November.
      - [Slates] One spent; Two, Three and Four unheard.
      - [Ruben] Lodged at the Four Beds, with the tally book.
      + [Time] Saturday 5 November.
      + [Slates] One and Two spent; Three and Four unheard, in Ottilie's keeping.
      + [Jory] Out of the room with a full scuttle.
      + [Ruben] No longer working for the people who pay him.

    The same: variables, author's note, other metadata, sticky effects, queue
    ");
}

#[test]
fn a_fork_and_its_parent() {
    let demo = TestVault::demo();
    insta::assert_snapshot!(run(&demo, &["Heard Once - Branch #4"]), @r#"
    A Ottilie Crake/Heard Once  message 42, its last one
    B Ottilie Crake/Heard Once - Branch #4  message 40, its last one

    No second chat was named, so A is its parent. They part after message 30: A goes on for 12 messages,
    B for 10.
      A 31  Ruben Tace  That night I lay at the Four Beds with the book under my pillow and Ottilie t…
      B 31  Ruben Tace  I took out the black-edged card. *Dine before he leaves us.* "Then let's dine…

    Lorebook  z-AutoLB-Ottilie Crake-Heard Once
      2 added, 2 removed, 3 changed, 9 the same

    +  23  location-Stair House  from 38
           Stands above the town with its back to the quarry. The floor is ninth-bed throughout, kept
           green with oil; the servants go in felt slippers.
           Honora hears the returned hearths there herself, in the evenings.

    +  24  event-Honora's Bargain  from 38
           Over dinner on 5 November Honora offered gold for the widow, eleven of Mr. Lammas's evenings,
           and silence about Ottilie's deafness.
           In return she wants Finch by Wednesday. She is certain that two men went into the Choir, and
           only one has been buried.
           …

    -  21  item-Finch's Watch  from 38
           A silver watch with a lid. Finch handed it to Emlyn so as to write with both hands, and asked
           to be told when it was four.
           The clicking on Slate One was Emlyn's thumb. He has clicked it in the dark ever since, for
           company.

    -  22  event-The Man in the Fourth Bed  from 38
           In the small hours of Sunday 6 November Ruben and Ottilie opened the fourth room and found
           Emlyn Post, a month in hiding.
           Nerys had named Finch's body as her husband's to keep Emlyn safe. The covered bowl was his
           supper; there is no dog.

    ~  10  character-Emlyn Post
           ⋯
             Eleven years at the quarry. From the spring he kept a second book at home, counting the…
             He must have written to the Provident about its hearths. The man with him in the Choir w…
           - He is alive. He had walked twelve yards toward the hammering when the roof fell, and has
             hidden in the fourth room of the Four Beds since.
           - The body in his coat is Finch: Emlyn had lent it to him against the cold.
           + Honora says that she liked him, never wished him a bruise, and will pay his widow twice the
             policy in gold.

    ~  12  character-Jory Nance  from 30
           ⋯
             Seventeen. For four years he has been Ottilie's hearing, tapping what he hears on her bo…
             Left a shout out of Slate Two, and swore that it was only rock.
           - He knocked out the chocks, for two guineas from Honora Stair, who said that the Choir would
             be empty. The shout was his own, half a second late.
           - Honora has made him report every slate to her since, on pain of hanging.

    ~  20  character-Aldous Finch  from 30
             Assessor at the Provident, at the desk next to Ruben's; clicked the lid of his silver wa…
             The office was told in October that he had resigned. His watch can be heard on Slate One.
           - He died in the Choir on 9 October, taking down Emlyn's count, and is buried under Emlyn's
             name.
           - Honora believes that he escaped and is hiding with what he wrote.

    Registries  lists that the memory extension keeps of its entries

    ~   1  character
           ~ 20 character-Aldous Finch
             - Ruben's colleague, dead in another man's coat
             + Ruben's colleague, said to have resigned in October
           ~ 10 character-Emlyn Post
             - Tallyman believed dead, alive in the fourth bed
             + Tallyman of the Ninebed quarry, killed in the Choir
           ~ 12 character-Jory Nance
             - Ottilie's ears, and the hand that struck the chocks
             + Ottilie's boy, and in secret her ears

    ~   2  location
           + 23 location-Stair House  Honora's house, floored with slate that listens

    ~   3  item
           - 21 item-Finch's Watch  The little door on Slate One

    ~   6  event
           + 24 event-Honora's Bargain  Finch by Wednesday, or the truth about Ottilie
           - 22 event-The Man in the Fourth Bed  The night Ruben found the dead man alive

    Running recap  version 3 → 4
      + versions 4 (scene at 38)
      - versions 3 (scene at 38)
      ⋯
        [Ottilie] Deaf for four years; all sixty-one of her transcripts since are Jory's hearing.
        [The Provident] Ruben was sent to use the slates up. The lid is the watch of his colleague Fi…
      - [Emlyn] Alive in the fourth room; it was Finch who died, in Emlyn's coat.
      - [Jory] Struck the chocks on Honora's order, shouted too late, and has been her informer since.
      + [Honora] A struck-off listener; she hears the hearths herself, and knows that Ottilie is deaf.
      + [Bargain] She wants Finch, whom she believes alive, by Wednesday.
        
        OPEN:
      - Honora believes that Finch escaped: what will she do to find him?
      - What does Slate Four hold, if it shut on the Saturday by the bench?
      - Who hears the hearths for Honora?
      - What becomes of a false claim, a deaf listener and a frightened boy?
      + Is Finch alive, as Honora thinks, and where would he hide?
      + What was shouted after the third blow, and why did Jory hide it?
      + Who told Honora about Jory's taps?
      + Will Ottilie own to her deafness before Honora does it for her?
        
        STATE:
      - [Time] Before dawn on Sunday 6 November.
      - [Slates] One and Two spent; Three and Four unheard, under Ottilie's arm.
      - [Company] Ruben, Ottilie, Nerys, Emlyn and Jory, all at the Four Beds.
      + [Time] Saturday night, 5 November; the bargain runs until Wednesday.
      + [Slates] One and Two spent; Three and Four unheard, with Ottilie at Stair House.
      + [Ruben] Letting Honora think that he knows where Finch is.

    The same: variables, author's note, other metadata, sticky effects, queue
    "#);
    // The same by name, the other way round.
    let there = diff(&demo, &["Heard Once - Branch #4"]);
    let back = diff(&demo, &["Heard Once - Branch #4", "Heard Once"]);
    assert_eq!((&there["chosen"], &back["chosen"]), (&json!("parent"), &json!("asked")));
    assert_eq!(there["a"], back["b"]);
    assert_eq!(there["book"]["added"], back["book"]["removed"]);
    assert_eq!(there["book"]["same"], back["book"]["same"]);
    assert_eq!(there["running_recap"]["added"], back["running_recap"]["removed"]);
}

#[test]
fn a_branch_from_another_swipe() {
    let demo = TestVault::demo();
    let run = run(&demo, &["Heard Once - Branch #3"]);
    let top: Vec<&str> = run.stdout.lines().take(7).collect();
    insta::assert_snapshot!(top.join("\n"), @r#"
    A Ottilie Crake/Heard Once  message 42, its last one
    B Ottilie Crake/Heard Once - Branch #3  message 22, its last one

    No second chat was named, so A is its parent. They part after message 15: message 16 is the same one
    with another swipe. A goes on for 27 messages, B for 7.
      A 16  Ottilie Crake  … by choice, and came back with a narrow book in oilcloth. "A tallyman count…
      B 16  Ottilie Crake  … by choice, and brought out a narrow book in oilcloth. She let Ruben see it…
    "#);
}

#[test]
fn two_forks_with_books_of_their_own() {
    let harbor = TestVault::harbor();
    let run = run(&harbor, &["The Lighthouse Road", "Maren Voss - 2026-11-15@00h59m16s354ms - Branch #5"]);
    insta::assert_snapshot!(run, @r#"
    A Maren Voss/The Lighthouse Road  message 38, its last one
    B Maren Voss/Maren Voss - 2026-11-15@00h59m16s354ms - Branch #5  message 28, its last one

    They part after message 22: A goes on for 16 messages, B for 6.
      A 23  Corin  I hang the whistle round my neck. "Tell me about the Osprey, then."
      B 23  Corin  "Bram, forget swearing. Come down to the harbor and say it aloud."

    Lorebook  z-AutoLB-Maren Voss-Maren Voss - 2026-11-15@00h59m16s354ms - Branch #1
           →  z-AutoLB-Maren Voss-Maren Voss - 2026-11-15@00h59m16s354ms - Branch #5
      4 removed, 3 changed, 1 the same

    -  13  character-Old Bram  from 28
           Lighthouse keeper; put out the light for nine silver

    -  14  location-Greywick Lighthouse  from 28
           Burns by day on Pell's pay
           The Osprey struck under it

    -  15  item-Bone Whistle  from 28
           Given by Maren to Corin against the fog

    -  16  event-Oath on the Lamp  from 28
           Old Bram swore on the hot lamp that he put out the light

    ~   9  character-Maren Voss
             Harbor-keeper of Greywick; two fingers missing on the left hand
             Corin: rents him the net loft for two coppers a night
           - Gave Corin her bone whistle: "I will not lose another one to the rocks"

    ~  10  location-Greywick Harbor
           order        985 → 987

    ~  11  item-Brass Tide-Key
           order        986 → 988

    Registries  lists that the memory extension keeps of its entries

    ~   1  character
           - 13 character-Old Bram  Lighthouse keeper; put out the light for nine silver

    ~   2  location
           - 14 location-Greywick Lighthouse  Burns by day on Pell's pay

    ~   3  item
           - 15 item-Bone Whistle  Given by Maren to Corin against the fog
           ~ 11 item-Brass Tide-Key
             aliases  +brass key  +bras
             - Wax seal broken by Maren at the bell tower

    ~   6  event
           - 16 event-Oath on the Lamp  Old Bram swore on the hot lamp that he put out the light
           useProbability false → true

    Running recap  version 2 → 0
      - versions 2 (scene at 28)
        DEVELOPMENTS:
        [Arrival] Corin reached Greywick; lodged in Maren's net loft
      - [Osprey] Bram put out the light for nine silver; swore on the lamp
        
        OPEN:
        Aldous Pell unseen for nine days
      - Who paid Bram nine silver
      + Maren avoids talk of the Osprey
        
        STATE:
        [Tide-key] sealed in red wax; carried by Corin
      - [Whistle] worn by Corin

    Sticky and cooldown  counted in messages that are not hidden
      - item-Bone Whistle sticky  9 to 13
      ~ location-Greywick Harbor sticky  9 to 13 → 13 to 17
      ~ character-Corin sticky  9 to 13 → 13 to 17
      ~ character-Maren Voss sticky  9 to 13 → 13 to 17

    The same: variables, author's note, other metadata, queue
    "#);
}

/// Entries by number and title: (text, switched off).
type Shown = BTreeMap<(Option<i64>, String), (String, bool)>;

fn shown(vault: &TestVault, chat: &str, at: &str) -> (Shown, Value) {
    let shown = vault.json(FORKLORE, &["show", chat, "--at", at]);
    let one = |e: &Value| {
        let name = (e["uid"].as_i64(), text(e, "comment").to_owned());
        (name, (text(e, "content").to_owned(), e["disable"].as_bool().unwrap()))
    };
    (list(&shown["book"], "entries").iter().map(one).collect(), shown)
}

/// Does to the entries of A what the document says, hunk by hunk.
fn apply(mut entries: Shown, diff: &Value) -> Shown {
    let name = |e: &Value| (e["uid"].as_i64(), text(e, "comment").to_owned());
    for gone in list(&diff["book"], "removed") {
        assert!(entries.remove(&name(gone)).is_some(), "{gone:#}");
    }
    let fields = |entry: &mut (String, bool), fields: &Vec<Value>| {
        for field in fields {
            match text(field, "field") {
                "content" => {
                    assert_eq!(text(field, "before"), entry.0);
                    assert_eq!(patched(&entry.0, list(field, "text")), text(field, "after"));
                    text(field, "after").clone_into(&mut entry.0);
                }
                "disable" => entry.1 = field["after"] == true,
                _ => {}
            }
        }
    };
    for change in list(&diff["book"], "changed") {
        let mut entry = entries.remove(&name(&change["a"])).unwrap();
        fields(&mut entry, list(change, "fields"));
        entries.insert(name(&change["b"]), entry);
    }
    for registry in list(diff, "registries").iter().filter(|r| r["change"] == "changed") {
        fields(entries.get_mut(&name(registry)).unwrap(), list(registry, "fields"));
    }
    for new in list(&diff["book"], "added") {
        entries.insert(name(new), (text(new, "content").to_owned(), new["disable"].as_bool().unwrap()));
    }
    entries
}

fn patched(before: &str, hunks: &[Value]) -> String {
    let old: Vec<&str> = before.split('\n').collect();
    let (mut new, mut at) = (Vec::new(), 0);
    for hunk in hunks {
        let start = usize::try_from(hunk["a"].as_u64().unwrap()).unwrap();
        new.extend(old[at..start].iter().map(|line| (*line).to_owned()));
        at = start;
        for line in list(hunk, "lines") {
            let parts = list(line, "parts").iter().map(|part| text(part, "text"));
            if line["op"] != "added" {
                at += 1;
            }
            if line["op"] != "removed" {
                new.push(parts.collect::<String>());
            }
        }
    }
    new.extend(old[at..].iter().map(|line| (*line).to_owned()));
    new.join("\n")
}

#[test]
fn what_show_shows_here_becomes_what_it_shows_there() {
    let vault = TestVault::harbor();
    let before = vault.snapshot();
    let expected = expected();
    let points: Vec<(String, String)> = list(&expected, "points")
        .iter()
        .map(|point| (address(text(point, "chat")), point["message"].to_string()))
        .collect();
    for (i, (chat, at)) in points.iter().enumerate() {
        let (a, shown_a) = shown(&vault, chat, at);
        // The next one, which is mostly the same chat later, and one from anywhere.
        for (other, there) in [&points[(i + 1) % points.len()], &points[(i * 7 + 3) % points.len()]] {
            let (b, shown_b) = shown(&vault, other, there);
            let diff = diff(&vault, &[chat, "--at", at, other, "--at", there]);
            let place = format!("{chat} at {at}, {other} at {there}");
            // A registry that only one side has is listed as such.
            let alone: Vec<&str> = list(&diff, "registries")
                .iter()
                .filter(|r| r["change"] != "changed")
                .map(|r| text(r, "comment"))
                .collect();
            let kept = |book: &Shown| -> Shown {
                book.iter()
                    .filter(|((_, c), _)| !alone.contains(&c.as_str()))
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect()
            };
            assert_eq!(apply(kept(&a), &diff), kept(&b), "{place}");
            assert_eq!(diff["a"]["moment"], shown_a["moment"], "{place}");
            let recap = &diff["running_recap"];
            assert_eq!(recap["before"], shown_a["running_recap"]["current_version"], "{place}");
            assert_eq!(recap["after"], shown_b["running_recap"]["current_version"], "{place}");
            let content =
                |shown: &Value| shown["running_recap"]["content"].as_str().unwrap_or_default().to_owned();
            assert_eq!(patched(&content(&shown_a), list(recap, "text")), content(&shown_b), "{place}");
            // A checkpoint can be the same as its parent there; what is the same is not told apart.
            assert!(diff["same"] == true || (chat, at) != (other, there), "{place}");
            assert!(diff["same"] == false || (a == b && shown_a["moment"] == shown_b["moment"]), "{place}");
        }
    }
    assert!(vault.snapshot() == before, "looking changes nothing");
}

/// A story with something in every corner, at 20, and a branch of it that went on.
fn rich() -> TestVault {
    let vault = TestVault::new();
    let mut main = Story::new("Ana", "Rain");
    main.until(8).learn(10, "character-Bo", "A sailor\nAfraid of the dark").scene("The quay");
    main.until(20).save(&vault);
    let mut fork = main.clone();
    fork.name = "Rain - Branch #1".to_owned();
    fork.header["chat_metadata"]["integrity"] = json!("fork");
    fork.header["chat_metadata"]["main_chat"] = json!("Rain");
    fork.header["chat_metadata"]["world_info"] = json!("Fork book");
    fork.book["name"] = json!("Fork book");
    fork.until(24).learn(10, "character-Bo", "A sailor\nAfraid of the sea").learn(11, "item-Lamp", "Brass");
    let bo = &mut fork.entries()["10"];
    bo["key"] = json!(["Bo", "sailor"]);
    bo["order"] = json!(7);
    bo["characterFilter"] = json!({"names": [], "isExclude": false, "tags": []});
    fork.queue(&[("combine_scene", "pending"), ("lookup", "failed")]);
    let metadata = fork.metadata_mut();
    metadata["variables"] = json!({"gold": "12", "mood": "grim"});
    metadata["note_prompt"] = json!("Keep it slow.");
    metadata["note_depth"] = json!(4);
    metadata["scenario"] = json!("A storm comes up");
    metadata["timedWorldInfo"] =
        json!({"sticky": {"Fork book.10": {"hash": 1, "start": 9, "end": 13, "protected": false}}});
    metadata["auto_recap"] = json!({"combined_recap": {"message_count": 9, "content": "All so far"}});
    fork.save(&vault);
    vault
}

#[test]
fn everything_that_can_differ() {
    let vault = rich();
    insta::assert_snapshot!(run(&vault, &["Rain - Branch #1"]), @r#"
    A Ana/Rain  message 19, its last one
    B Ana/Rain - Branch #1  message 23, its last one

    No second chat was named, so A is its parent. A ends with message 19; B goes on from there for
    4 messages.
      B 20  Ana  Message 20 of Rain - Branch #1

    Lorebook  z-AutoLB-Ana-Rain
           →  Fork book
      1 added, 1 changed, 0 the same

    +  11  item-Lamp
           Brass

    ~  10  character-Bo
           keys         -character-Bo  +Bo  +sailor
             A sailor
           - Afraid of the dark
           + Afraid of the sea
           order        100 → 7

    Registries  lists that the memory extension keeps of its entries

    ~   2  item
           + 11 item-Lamp  About item-Lamp

    Combined recap  none → of 9 messages
      + All so far

    Variables
      ~ gold  "9" → "12"
      + mood  "grim"

    Author's note
      + note_depth  4
      + note_prompt  "Keep it slow."

    Other metadata
      + scenario  "A storm comes up"

    Sticky and cooldown  counted in messages that are not hidden
      + character-Bo sticky  9 to 13

    Queue
      + combine_scene  pending
      + lookup  failed

    The same: running recap
    "#);
    let diff = diff(&vault, &["Ana/Rain", "Ana/Rain - Branch #1"]);
    let bo = &diff["book"]["changed"][0];
    let fields: Vec<&str> = list(bo, "fields").iter().map(|f| text(f, "field")).collect();
    // The filter says the same in another order.
    assert_eq!(fields, ["key", "content", "order"]);
    assert_eq!(bo["fields"][0]["list"], json!({"added": ["Bo", "sailor"], "removed": ["character-Bo"]}));
    assert_eq!(
        bo["fields"][1]["text"],
        json!([{"a": 0, "b": 0, "lines": [
            {"op": "same", "parts": [{"text": "A sailor", "changed": false}]},
            {"op": "removed", "parts": [{"text": "Afraid of the ", "changed": false}, {"text": "dark", "changed": true}]},
            {"op": "added", "parts": [{"text": "Afraid of the ", "changed": false}, {"text": "sea", "changed": true}]},
        ]}])
    );
    let lamp = &diff["registries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["comment"] == "_registry_item")
        .unwrap()["added"][0];
    assert_eq!((&lamp["uid"], &lamp["name"]), (&json!(11), &json!("item-Lamp")));
    assert_eq!(
        diff["variables"][0],
        json!({"path": ["gold"], "change": "changed", "before": "9", "after": "12", "text": diff["variables"][0]["text"]})
    );
    assert_eq!(diff["queue"]["added"][0]["type"], "combine_scene");
    assert_eq!(diff["timed_effects"]["added"][0]["comment"], "character-Bo");
}

#[test]
fn nothing_differs() {
    let vault = rich();
    let point = ["Ana/Rain", "--at", "8"];
    let diff = diff(&vault, &[point, point].concat());
    assert_eq!((&diff["same"], &diff["version"]), (&json!(true), &json!(1)));
    insta::assert_snapshot!(run(&vault, &[point, point].concat()), @"
    Ana/Rain
    A message 8  B message 8

    It is the same message.

    Nothing else differs.

      ! A and B: The variables are today's: nothing tells what they were at message 8.
    ");
}

#[test]
fn one_message_is_compared_with_the_last() {
    let demo = TestVault::demo();
    let since = diff(&demo, &["Heard Once", "--at", "20"]);
    let both = diff(&demo, &["Heard Once", "--at", "20", "Heard Once", "--at", "42"]);
    assert_eq!((&since["chosen"], &both["chosen"]), (&json!("head"), &json!("asked")));
    for part in ["a", "b", "transcript", "book", "registries", "running_recap"] {
        assert_eq!(since[part], both[part], "{part}");
    }
    assert_eq!(since["transcript"]["relation"], "ahead");
    assert_eq!(since["transcript"]["after"], json!({"a": 0, "b": 22}));
    assert!(comments(&since["book"], "added").contains(&"event-The Man in the Fourth Bed".to_owned()));
    // What another line wrote into the same book is no part of this one.
    assert!(!comments(&since["book"], "added").contains(&"event-Honora's Bargain".to_owned()));
}

#[test]
fn a_message_belongs_to_the_chat_before_it() {
    let demo = TestVault::demo();
    let (one, two) = ("Heard Once", "Heard Once - Branch #1");
    let at = |args: &[&str]| {
        let diff = diff(&demo, args);
        (diff["a"]["at"].as_u64().unwrap(), diff["b"]["at"].as_u64().unwrap())
    };
    assert_eq!(at(&[one, "--at", "20", two, "--at", "30"]), (20, 30));
    assert_eq!(at(&[one, two, "--at", "30"]), (42, 30));
    assert_eq!(at(&[one, "--at=20", two]), (20, 34));
    assert_eq!(
        at(&["--vault", demo.root().to_str().unwrap(), one, "--full", "--at", "20", "--at", "5"]),
        (20, 5)
    );
    insta::assert_snapshot!(run(&demo, &["--at", "20", one]), @"
    --- stderr
    Error: --at belongs to the chat before it: forklore diff CHAT --at 20 --at 60.
    Run the command with --help to see how it is called.
    --- exit 2
    ");
    insta::assert_snapshot!(run(&demo, &[one, "--at", "1", "--at", "2", two]), @r#"
    --- stderr
    Error: 2 messages are named for "Heard Once": only two states can be compared.
    Run the command with --help to see how it is called.
    --- exit 2
    "#);
    insta::assert_snapshot!(run(&demo, &[one, two, "--at", "1", "--at", "2"]), @r#"
    --- stderr
    Error: 2 messages are named for "Heard Once - Branch #1": only two states can be compared.
    Run the command with --help to see how it is called.
    --- exit 2
    "#);
    assert_eq!(demo.json(FORKLORE, &["diff", "--at", "20", one])["error"]["code"], "USAGE");
}

#[test]
fn there_is_nothing_to_compare_with() {
    let harbor = TestVault::harbor();
    insta::assert_snapshot!(run(&harbor, &["Greywick history"]), @r#"
    --- stderr
    Error: "Greywick history" was forked from nothing, so there is no parent to compare it with.
    Name a second chat, or two messages: forklore diff CHAT --at 20 --at 60
    --- exit 1
    "#);
    insta::assert_snapshot!(run(&harbor, &["Blue door"]), @r#"
    --- stderr
    Error: The chat that "Blue door" was forked from is gone, so there is nothing to compare it with.
    Name a second chat, or two messages: forklore diff CHAT --at 20 --at 60
    --- exit 1
    "#);
    insta::assert_snapshot!(run(&harbor, &["Loft night", "--at", "99"]), @r#"
    --- stderr
    Error: Message 99 does not exist: "Loft night" has 17 messages, counted from 0.
    The last message is 16.
    --- exit 1
    "#);
}

fn message(i: usize, text: &str) -> String {
    json!({"name": "Ana", "is_user": false, "send_date": format!("2026-01-01T00:00:{i:02}.000Z"), "mes": text}).to_string()
}

fn chat(metadata: &Value, messages: &[String]) -> Vec<u8> {
    let header =
        json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}).to_string();
    [&[header], messages].concat().join("\n").into_bytes()
}

#[test]
fn an_old_message_was_edited_since() {
    let texts = ["hello", "The cat sat on the mat", "two", "three", "four", "five"];
    let line: Vec<String> = texts.iter().enumerate().map(|(i, text)| message(i, text)).collect();
    let mut edited = line.clone();
    edited[1] = message(1, "The cat sat on the roof");
    edited.remove(3);
    edited[4] = message(40, "another end");
    let vault = TestVault::new()
        .file("chats/Ana/a.jsonl", &chat(&json!({"integrity": "a"}), &line))
        .file("chats/Ana/b.jsonl", &chat(&json!({"integrity": "b", "main_chat": "a"}), &edited));
    insta::assert_snapshot!(run(&vault, &["a", "b"]), @"
    A Ana/a  message 5, its last one
    B Ana/b  message 4, its last one

    They part after message 4 of A, which is 3 of B: A goes on for 1 message, B for 1. Before it, 2
    places were edited or deleted since. That is likely, not certain.
      ~ message 1 of A and message 1 of B differ
        - The cat sat on the mat
        + The cat sat on the roof
      ~ only there: message 3 of A
      A 5  Ana  five
      B 4  Ana  another end

    Nothing else differs.
    ");
    let diff = diff(&vault, &["a", "b"]);
    let transcript = &diff["transcript"];
    assert_eq!((&transcript["relation"], &transcript["confidence"]), (&json!("parted"), &json!("likely")));
    assert_eq!(transcript["common"], json!({"a": 4, "b": 3, "moment": null}));
}

#[test]
fn chats_that_have_nothing_to_do_with_each_other() {
    let vault = TestVault::new()
        .chat("Ana", "a", &json!({}), &["hello", "one"])
        .chat("Bo", "b", &json!({"world_info": "Lore"}), &["well met", "two"])
        .book("Lore", &[("The sea", "It is cold.")]);
    insta::assert_snapshot!(run(&vault, &["a", "b"]), @"
    A Ana/a  message 1, its last one
    B Bo/b  message 1, its last one

    They have no message in common.
      A 0  Ana  hello
      B 0  Bo  well met

    Lorebook  none
           →  Lore
      1 added, 0 the same

    +   0  The sea
           It is cold.

    The same: running recap, variables, author's note, other metadata, sticky effects, queue
    ");
}

#[test]
fn colours_mark_words_and_vanish_where_they_are_not_wanted() {
    let vault = rich();
    let coloured = |pairs: &[(&str, &str)]| {
        let mut command = vault.command(FORKLORE);
        command.args(["diff", "Rain - Branch #1"]).envs(pairs.iter().copied());
        vault.finish(&mut command).stdout
    };
    let (red, green) = ("\u{1b}[1m\u{1b}[31m", "\u{1b}[1m\u{1b}[32m");
    let marked = coloured(&[("CLICOLOR_FORCE", "1")]);
    assert!(marked.contains(&format!("Afraid of the {red}dark\u{1b}[0m")), "{marked:?}");
    assert!(marked.contains(&format!("Afraid of the {green}sea\u{1b}[0m")), "{marked:?}");
    for plain in [coloured(&[]), coloured(&[("NO_COLOR", "1")])] {
        assert!(!plain.contains('\u{1b}') && plain.contains("- Afraid of the dark"), "{plain:?}");
    }
}

#[test]
fn texts_from_strangers_play_no_tricks() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}gnp.exe\r\u{8}\u{9b}31m\ttab";
    let entry = |content: &str, key: &str| {
        json!({"entries": {"0": {"uid": 0, "comment": format!("t {evil}"), "content": content, "key": [key], "f": content},
            "1": {"uid": 1, "comment": "_registry_character", "content": format!("[Registry: character]\n- UID=0 | name: {content} | aliases: {key} | synopsis: {content}")}}})
    };
    let metadata = |book: &str, text: &str| {
        json!({"integrity": book, "world_info": book, "variables": {evil: text, "x": text}, "note_prompt": text, "odd": {evil: {"y": text}},
            "timedWorldInfo": {"sticky": {format!("Other {text}.3"): {"start": 0, "end": 3}}}})
    };
    let changed = format!("{evil} more {evil}");
    let vault = TestVault::new()
        .chat("Ana", "a", &metadata("A", evil), &["hello", evil, "one"])
        .chat("Ana", "b", &metadata("B", &changed), &["hello", &changed, "two"])
        .file("worlds/A.json", entry(evil, evil).to_string().as_bytes())
        .file("worlds/B.json", entry(&changed, &changed).to_string().as_bytes());
    for full in [&["a", "b"][..], &["a", "b", "--full"]] {
        let run = run(&vault, full);
        assert_eq!(run.code, Some(0), "{run}");
        let harmful =
            |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}');
        assert_eq!(run.stdout.chars().find(harmful), None, "{:?}", run.stdout);
    }
    assert_eq!(diff(&vault, &["a", "b"])["variables"][0]["after"], changed);
}

#[test]
fn a_megabyte_in_one_entry() {
    let long: String = (0..150_000).map(|i| format!("word{i} ")).collect();
    let vault = TestVault::new()
        .chat("Ana", "a", &json!({"integrity": "1", "world_info": "A"}), &["hello", "one"])
        .chat("Ana", "b", &json!({"integrity": "2", "world_info": "B"}), &["hello", "one"])
        .book("A", &[("Long", &long), ("Lines", &long.replace(' ', "\n"))])
        .book(
            "B",
            &[
                ("Long", &long.replacen("word777 ", "WORD ", 1).replacen("word140000 ", "", 1)),
                ("Lines", &long.replace(' ', "\n").replacen("word777\n", "WORD\n", 1)),
            ],
        );
    assert!(long.len() > 1_400_000);
    insta::assert_snapshot!(run(&vault, &["a", "b"]), @"
    A Ana/a  message 1, its last one
    B Ana/b  message 1, its last one

    Both have the same messages, 0 to 1.

    Lorebook  A
           →  B
      2 changed, 0 the same

    ~   0  Long
           - … word770 word771 word772 word773 word774 word775 word776 word777 word778 word779 word780
             word781 word782 word783 word784 … word139995 word139996 word139997 word139998 word139999
             word140000 word140001 word140002 word140003 word140004 word140005 …
           + … word770 word771 word772 word773 word774 word775 word776 WORD word778 word779 word780
             word781 word782 word783 word784 …

    ~   1  Lines
           ⋯
             word775
             word776
           - word777
           + WORD
             word778
             word779

    The same: running recap, variables, author's note, other metadata, sticky effects, queue
    ");
    let diff = diff(&vault, &["a", "b"]);
    assert_eq!(list(&diff["book"], "changed").len(), 2);
}

#[test]
fn damaged_chats_and_books_are_told_or_carried() {
    let line = [message(0, "hello"), message(1, "one"), "{broken".to_owned(), message(2, "two")];
    let vault = TestVault::new()
        .file("chats/Ana/fine.jsonl", &chat(&json!({"world_info": "Odd"}), &[message(0, "hello"), message(1, "one")]))
        .file("chats/Ana/broken line.jsonl", &chat(&json!({"world_info": "List"}), &line))
        .file("chats/Ana/headless.jsonl", line[..2].join("\n").as_bytes())
        .file("chats/Ana/empty.jsonl", b"")
        .file("chats/Ana/bad book.jsonl", &chat(&json!({"world_info": "Bad"}), &line[..2]))
        .file("chats/Ana/no book.jsonl", &chat(&json!({"world_info": "Gone"}), &line[..2]))
        .file("chats/Ana/odd header.jsonl", &[br#"{"chat_metadata":[1,2],"user_name":5}"#, &b"\n"[..], line[0].as_bytes()].concat())
        .file("worlds/Odd.json", br#"{"entries":{"0":{"uid":0,"comment":"cut \ud83d","content":"half \ud83d","x":{"\ud800":"\udfff \u00e9"}},"1":null,"2":"text","3":{"uid":0,"comment":"cut \ud83d"},"q":{"comment":5,"content":[1]}}}"#)
        .file("worlds/List.json", br#"{"entries":[{"uid":0,"comment":"cut \ud83d","content":"half \udc00"},null,[[]],{"comment":5}]}"#)
        .file("worlds/Bad.json", b"{\"entries\": {");
    for (other, relation) in
        [("broken line", "ahead"), ("headless", "same"), ("no book", "same"), ("odd header", "behind")]
    {
        for args in [["fine", other], [other, "fine"]] {
            let diff = diff(&vault, &args);
            let expected = match (relation, args[0]) {
                ("ahead", "fine") | ("behind", "odd header") => "ahead",
                ("same", _) => "same",
                _ => "behind",
            };
            assert_eq!(diff["transcript"]["relation"], expected, "{args:?}");
            let run = run(&vault, &args);
            assert!(run.code == Some(0) && run.stderr.is_empty(), "{args:?}\n{run}");
        }
    }
    let odd = diff(&vault, &["headless", "fine"]);
    let x = odd["book"]["added"].as_array().unwrap().iter().find(|e| e["fields"]["x"].is_object());
    assert_eq!(x.unwrap()["fields"]["x"]["\u{fffd}"], "\u{fffd} é", "what no reader can take is replaced");
    for (chat, code) in
        [("empty", "MESSAGE_NOT_FOUND"), ("bad book", "CORRUPT_BOOK"), ("nobody", "CHAT_NOT_FOUND")]
    {
        for args in [["diff", "fine", chat], ["diff", chat, "fine"]] {
            let error = &vault.json(FORKLORE, &args)["error"];
            assert_eq!(error["code"], code, "{args:?}");
            assert!(error["hint"].as_str().unwrap().len() > 20);
        }
    }
    let missing = diff(&vault, &["fine", "no book"]);
    assert_eq!(missing["b"]["warnings"][0]["code"], "BOOK_MISSING");
}

#[test]
fn with_history_it_is_exact_at_every_message() {
    let texts = ["hello", "one", "two", "three", "four", "five"];
    let metadata = |gold: &str| json!({"integrity": "a", "world_info": "Lore", "variables": {"gold": gold}});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &metadata("9"), &texts[..3])
        .book("Lore", &[("The sea", "It is cold."), ("The cat", "It is wet.")]);
    let _seen = vault.json(FORKLORE, &["watch", "--once"]);
    let vault = vault
        .chat("Ana", "Rain", &metadata("12"), &texts)
        .book("Lore", &[("The sea", "It is warm."), ("The cat", "It is wet."), ("The storm", "It comes.")]);
    let _seen = vault.json(FORKLORE, &["watch", "--once"]);
    // The storm may have come at message 2, when the look had been: it is carried there, and marked. Before that it is not there.
    assert_eq!(diff(&vault, &["Rain", "--at", "1", "--at", "5"])["book"]["added"][0]["comment"], "The storm");
    insta::assert_snapshot!(run(&vault, &["Rain", "--at", "2", "--at", "5"]), @r#"
    Ana/Rain
    A message 2  B message 5, its last one

    B is 3 messages later.
      B 3  Ana  three

    Lorebook  Lore
      1 changed, 2 the same

    ~   0  The sea
           - It is cold.
           + It is warm.

    Variables
      ~ gold  "9" → "12"

    The same: running recap, author's note, other metadata, sticky effects, queue
    "#);
    // In between nothing was seen to change.
    assert_eq!(diff(&vault, &["Rain", "--at", "2", "--at", "4"])["book"]["changed"], json!([]));
    assert_eq!(diff(&vault, &["Rain", "--at", "2"])["a"]["book"]["source"]["kind"], "history");
}
