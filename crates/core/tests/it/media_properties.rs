//! Links to images and files: whatever a chat says, a link means a file below `user/images` or `user/files`, or nothing; and what is
//! moved is linked where it is, with every other byte as it was.

use forklore_core::format::media::{FILES, IMAGES, Link, links, place, relink};
use forklore_json::quote;
use proptest::prelude::*;

/// Links as they are, and as nobody should write them.
fn link() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-zA-Z0-9 _.()#%é猫-]{1,8}",
        Just("..".to_owned()),
        Just("%2e%2e".to_owned()),
        Just(String::new())
    ];
    let front = prop_oneof![
        Just("/user/images/"),
        Just("user/images/"),
        Just("/user/files/"),
        Just("//user/files/"),
        Just("../"),
        Just("http://x/user/images/"),
        Just("user%2Fimages/"),
        Just(""),
    ];
    (front, prop::collection::vec(part, 1..4))
        .prop_map(|(front, parts)| format!("{front}{}", parts.join("/")))
}

/// A message with some links in it.
fn message(links: &[String], blank: &str) -> Vec<u8> {
    let quoted = |link: &String| String::from_utf8(quote(link)).unwrap();
    let list = |wrap: &dyn Fn(String) -> String| {
        links.iter().map(|link| wrap(quoted(link))).collect::<Vec<_>>().join(",")
    };
    let first = links.first().map_or_else(|| "null".to_owned(), quoted);
    let media = list(&|link| format!("{{\"type\":\"image\",{blank}\"url\":{link}}}"));
    let swipes = list(&|link| format!("{{\"extra\":{{\"image\":{link}}}}}"));
    format!("{{\"mes\":\"user/\",{blank}\"big\":12345678901234567890,\"extra\":{{\"image\":{first},\"media\":[{media}]}},\"swipe_info\":[{swipes}]}}")
        .into_bytes()
}

proptest! {
    #[test]
    fn a_link_never_means_anything_outside(link in prop_oneof![link(), any::<String>()]) {
        for place in Link::read(&link).iter().flat_map(Link::places) {
            let parts: Vec<&str> = place.split('/').collect();
            prop_assert!(parts.len() > 2 && [IMAGES, FILES].contains(&&*parts[..2].join("/")), "{place}");
            prop_assert!(parts.iter().all(|part| !["", ".", ".."].contains(part)), "{place}");
        }
    }

    #[test]
    fn what_a_link_means_is_where_the_file_is(name in "[a-zA-Z0-9 _.()#%é猫-]{1,20}") {
        prop_assume!(name != "." && name != "..");
        let path = format!("{IMAGES}/Ana/{name}");
        prop_assert_eq!(place(&format!("/{path}")), Some(path.clone()));
        prop_assert_eq!(Link::read(&path).unwrap().literal, path);
    }

    #[test]
    fn moving_one_file_changes_the_links_to_it_and_nothing_else(all in prop::collection::vec(link(), 0..5), which in any::<prop::sample::Index>(), blank in " {0,3}") {
        let all = [vec!["/user/images/Ana/sure.png".to_owned()], all].concat();
        let line = message(&all, &blank);
        let before = links(&line);
        prop_assert_eq!(relink(&line, &|_| None), None);
        let from = before[which.index(before.len())].literal.clone();
        let to = format!("{IMAGES}/moved away (2).png");
        let new = relink(&line, &|place| (place == from).then(|| to.clone())).unwrap();
        let after = links(&new);
        prop_assert_eq!(before.len(), after.len());
        for (was, is) in before.iter().zip(&after) {
            if was.places().any(|place| place == from) {
                prop_assert!(is.places().any(|place| place == to), "{is:?}");
            } else {
                prop_assert_eq!(was, is);
            }
        }
        // Back again, by the other name.
        if all.iter().all(|link| !link.contains('%')) {
            let back = relink(&new, &|place| (place == to).then(|| from.clone())).unwrap();
            prop_assert_eq!(back, line);
        }
    }

    #[test]
    fn any_bytes_can_be_asked(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _found = (links(&bytes), relink(&bytes, &|_| Some(String::new())));
    }
}
