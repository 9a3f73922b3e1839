//! Pages are made from reports of a vault: what a story says is text in them, whatever it says, and every address is relative.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its files should stop")]

use std::sync::Arc;

use forklore_api::look::{self, AnyStory, Patient, Spot};
use forklore_api::moment::{self, SliderStep};
use forklore_api::ops::{self, Limit};
use forklore_api::{ErrorCode, Failure, OpenVault};
use forklore_fs::RealFs;
use forklore_testkit::TestVault;
use forklore_vault::NoProgress;
use forklore_web::pages::moment::Shown;
use forklore_web::{Frame, Page, Through, pages};
use serde_json::json;

/// What would be a tag, an attribute or an entity if it were not escaped.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"' &amp; </title><script>alert(2)</script>";
/// As much of it as a file's name can have.
const NAME: &str = "<i onclick=x>\"'&amp;";

fn hostile() -> TestVault {
    let of = |slug: &str| json!({"integrity": slug, "world_info": "Lore", "variables": {HOSTILE: HOSTILE}});
    TestVault::new()
        .chat(NAME, NAME, &of("slug-a"), &[HOSTILE, "Hi.", HOSTILE, "Bye."])
        .chat(NAME, "Other", &of("slug-b"), &[HOSTILE, "Hi.", "Else."])
        .book("Lore", &[(HOSTILE, HOSTILE)])
}

fn open(vault: &TestVault) -> OpenVault<'static> {
    let fs = Arc::new(RealFs::new(&vault.root()).unwrap());
    OpenVault { fs, progress: &NoProgress, told: &|_| {}, settle: true, library_cache: None }
}

fn document(page: &Page) -> String {
    Frame { vault: NAME.to_owned(), through: Through::Browser }.around(page)
}

/// Every page of a vault.
fn every_page(vault: &TestVault) -> Vec<(&'static str, String)> {
    let open = open(vault);
    let chat = format!("{NAME}/{NAME}");
    let step =
        |from| SliderStep { chat: chat.clone(), at: Some(2), from, entries: None, find: None, known: None };
    let spot = |chat: &str, at| Spot { chat: chat.to_owned(), at: Some(at) };
    let differs = look::diff(&open, &[spot(&chat, 3), spot(&format!("{NAME}/Other"), 2)]).unwrap();
    let companions = moment::companions(&open, &chat).unwrap();
    let tree = look::tree(&open, &AnyStory { story: Some(NAME.to_owned()) }).unwrap();
    let refused = look::show(&open, &spot(HOSTILE, 0)).unwrap_err();
    vec![
        ("stories", document(&pages::stories::page(&look::stories(&open).unwrap(), 0))),
        ("tree", document(&pages::tree::page(&tree, 0).unwrap())),
        (
            "moment",
            document(&pages::moment::page(&moment::moment(&open, &step(None)).unwrap(), &Shown::default())),
        ),
        (
            "moment, travelled",
            document(&pages::moment::page(
                &moment::moment(&open, &step(Some(0))).unwrap(),
                &Shown::default(),
            )),
        ),
        (
            "compare",
            document(&pages::compare::page(&differs, &moment::onward(&open, &differs).unwrap(), &companions)),
        ),
        ("choose", document(&pages::compare::choose(&chat, Some(1), &companions))),
        (
            "health",
            document(&pages::health::page(&look::health(&open, &Patient::default()).unwrap(), Some(&chat))),
        ),
        ("log", {
            let actions = ops::actions(&open, &Limit::default()).unwrap();
            document(&pages::log::page(&actions, &ops::trash(&open).unwrap().0, &[]))
        }),
        ("failure", document(&pages::failure::page(&refused))),
        ("enter", document(&pages::welcome::enter())),
    ]
}

#[test]
fn whatever_a_story_says_is_text() {
    for (name, page) in every_page(&hostile()) {
        for tag in ["<img src=x", "<i onclick", "</title><script>", "<script>alert"] {
            assert!(!page.contains(tag), "{name} has {tag}: {page}");
        }
        // No attribute ends before its end: what stands behind an equals sign is closed by the quote that opened it.
        assert!(
            !page.contains("=\"<") && !page.contains("\" onclick") && !page.contains("' onclick"),
            "{name}"
        );
        assert!(
            !page.contains(" style=\"") && !page.contains("javascript:"),
            "{name} has something that the policy forbids"
        );
    }
}

#[test]
fn no_page_has_a_script_or_a_handler_inside() {
    for (name, page) in every_page(&hostile()) {
        let inline = page.split("<script").skip(1).filter(|script| !script.contains("src=")).count();
        assert_eq!(inline, 0, "{name}");
        assert!(
            page.split("<script").skip(1).all(|script| script
                .split_once('>')
                .unwrap()
                .1
                .starts_with("</script>")),
            "{name}"
        );
    }
}

#[test]
fn every_address_is_relative_so_that_pages_work_below_any_path() {
    for (name, page) in every_page(&hostile()) {
        for attribute in ["href=\"", "src=\"", "action=\""] {
            for address in page.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                // Up is where SillyTavern is, if a page comes through it.
                let outside = address.starts_with('/') || address.contains("://");
                assert!(!outside, "{name} leads to {address}");
            }
        }
    }
}

#[test]
fn what_was_said_can_still_be_read() {
    let pages = every_page(&hostile());
    let moment = &pages.iter().find(|(name, _)| *name == "moment").unwrap().1;
    assert!(moment.contains("&lt;img src=x onerror=alert(1)&gt;"), "{moment}");
    assert!(moment.contains("&amp;amp;"), "what looks like an entity is shown as it was written");
}

#[test]
fn a_failure_says_what_happened_and_what_to_do() {
    let failure = Failure::new(ErrorCode::Busy, "Another Forklore is at work", "Wait for <it>.");
    let page = document(&pages::failure::page(&failure));
    assert!(page.contains("Another Forklore is at work") && page.contains("Wait for &lt;it&gt;."), "{page}");
}

#[test]
fn a_step_of_the_slider_sends_only_what_is_not_as_it_was() {
    let metadata = json!({"integrity": "slug-a", "world_info": "Lore"});
    let vault = TestVault::new()
        .chat("Ana", "Rain", &metadata, &["a", "b", "c", "d"])
        .book("Lore", &[(HOSTILE, HOSTILE)]);
    let chat = "Ana/Rain".to_owned();
    let here = moment::moment(
        &open(&vault),
        &SliderStep { chat, at: Some(3), from: Some(3), entries: None, find: None, known: None },
    )
    .unwrap();
    let part = |known: &str| {
        serde_json::to_value(pages::moment::step(&here, &known.split(',').collect(), false)).unwrap()
    };
    let all = part("");
    // What the page itself has: the versions stand in it.
    let page = pages::moment::page(&here, &Shown::default()).body.into_string();
    let had: Vec<&str> = page.split("data-v=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let step = part(&had.join(","));
    let count = |value: &serde_json::Value| value["entries"].as_object().unwrap().len();
    assert_eq!((step["at"].clone(), count(&step)), (json!(3), 0), "the book is as it was");
    assert!(count(&all) > 0);
    for part in ["source", "scene", "recap", "queue"] {
        assert!(step["parts"][part].is_null() && all["parts"][part].is_string(), "{part}");
    }
    assert!(!all.to_string().contains("<img src=x"), "what is put into the page later is escaped, too");
}
