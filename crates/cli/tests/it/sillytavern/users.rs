//! Several users, and pages that try to reach what is not theirs.

use forklore_testkit::http::Http;
use forklore_testkit::story::Story;
use forklore_testkit::tavern::{Setup, Tavern, cookies, session};
use serde_json::json;

use super::{ana, on_each};
use crate::FORKLORE;

/// Logs in, as a page does.
fn login(tavern: &Tavern, handle: &str) -> Http {
    let http = session(&Http::new(&format!("http://{}/", tavern.http.address)));
    let answer = http.post("api/users/login", &json!({"handle": handle}));
    assert_eq!(answer.ok()["handle"], handle);
    // The session lives in the cookie, and goes on in the one that comes back.
    let http = http.with("Cookie", &cookies(&answer));
    let token = http.get("csrf-token").ok()["token"].as_str().unwrap().to_owned();
    http.with("X-CSRF-Token", &token)
}

#[test]
fn every_user_reaches_the_own_folder_and_no_other() {
    on_each("users", |version| {
        let vault = ana();
        let env = vec![("SILLYTAVERN_ENABLEUSERACCOUNTS".to_owned(), "true".to_owned())];
        let tavern = Tavern::start(version, FORKLORE, &vault.root(), Setup { env, ..Setup::default() });
        let at = |http: &Http| Http { prefix: "/api/plugins/forklore".to_owned(), ..http.clone() };
        // Nobody is logged in: nothing is told.
        assert_eq!(at(&tavern.http).get("api/stories").status, 403);
        let ana = login(&tavern, "default-user");
        ana.post("api/users/create", &json!({"handle": "zoe", "name": "Zoe"})).ok();
        let zoe = login(&tavern, "zoe");
        tavern.until("the engine is ready", || (at(&ana).get("api/hello").status == 200).then_some(()));

        let mut story = Story::new("Zed", "Other");
        story.until(11).learn(3, "character-Yan", "Yan yodels.").scene("One");
        let lines = std::iter::once(&story.header)
            .chain(&story.messages)
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let folder = tavern.user("zoe");
        std::fs::create_dir_all(folder.join("chats/Zed")).unwrap();
        std::fs::write(folder.join("chats/Zed/Other.jsonl"), lines.join("\n")).unwrap();
        std::fs::write(folder.join(format!("worlds/{}.json", story.book_name())), story.book.to_string())
            .unwrap();

        let names = |http: &Http| {
            let stories = at(http).get("api/stories").ok();
            stories["stories"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert!(names(&ana).contains(&"Ana".to_owned()) && !names(&ana).contains(&"Zed".to_owned()));
        assert!(names(&zoe).contains(&"Zed".to_owned()) && !names(&zoe).contains(&"Ana".to_owned()));
        assert_eq!(
            at(&ana).get("api/hello").ok()["vault"],
            vault.root().file_name().unwrap().to_str().unwrap()
        );
        assert_eq!(at(&zoe).get("api/hello").ok()["vault"], "zoe");

        // Both fork; each gets what is theirs.
        let fork = |http: &Http, folder: &str, parent: &str| {
            let body = json!({"ch_name": folder, "file_name": parent, "avatar_url": format!("{folder}.png")});
            let page = http.post("api/chats/get", &body).ok();
            let page = tavern.forked(page.as_array().unwrap(), parent, 10);
            let body = json!({"ch_name": folder, "file_name": format!("{parent} - Branch #1"), "chat": page, "avatar_url": format!("{folder}.png")});
            assert_eq!(http.post("api/chats/save", &body).ok(), json!({"ok": true}));
            let entered =
                at(http).query("api/enter", &[("chat", &format!("{folder}/{parent} - Branch #1"))]).ok();
            assert_eq!(
                (&entered["ok"], &entered["book"]["state"]),
                (&json!(true), &json!("own")),
                "{entered}"
            );
        };
        fork(&ana, "Ana", "Main");
        fork(&zoe, "Zed", "Other");
        // The page is answered before the operation is in the log.
        for own in [folder, vault.root()] {
            let logged = || std::fs::read_dir(own.join(".forklore/ops")).ok().map_or(0, Iterator::count);
            tavern.until("one operation in the log", || (logged() == 1).then_some(()));
        }

        // Nobody else's chat, by any name; nothing that is for the plugin alone; no change without SillyTavern's own token.
        for chat in ["Ana/Main", "../default-user/chats/Ana/Main", "default-user/Ana/Main"] {
            assert_eq!(at(&zoe).query("api/show", &[("chat", chat)]).status, 404, "{chat}");
            assert_eq!(at(&zoe).post("api/delete", &json!({"chat": chat})).status, 404, "{chat}");
        }
        let path = json!({"path": vault.root()});
        for (route, body) in [
            ("api/vaults", &path),
            ("api/seen", &json!({"events": []})),
            ("api/hook/resolve", &json!({"ticket": "x"})),
            ("api/%68ook/resolve", &path),
            ("api//vaults", &path),
            ("api/./seen", &path),
            ("api/x/../seen", &path),
            ("~x/api/seen", &path),
            ("~x/api/vaults", &path),
            ("api/setup", &path),
            ("api/session", &json!({})),
            ("api/code", &json!({})),
        ] {
            assert_eq!(at(&zoe).post(route, body).status, 404, "{route}");
        }
        let forged = at(&zoe).with("X-CSRF-Token", "forged");
        assert_eq!(forged.post("api/delete", &json!({"chat": "Zed/Other"})).status, 403);
        // A header that pretends to know the engine's token changes nothing.
        let pretending = at(&zoe).with("Authorization", "Bearer something");
        assert_eq!(pretending.get("api/hello").ok()["vault"], "zoe");
        assert_eq!(pretending.send("DELETE", "api/hello", &[], b"").status, 404);
        // No account makes another one's history its own.
        let theirs = vault.root().join(".forklore/history");
        let moved = at(&zoe).post("api/config", &json!({"key": "history.dir", "value": theirs}));
        assert_eq!(moved.code(), (403, "NOT_ALLOWED".to_owned()));
        // Whatever does not come from SillyTavern's own page is not answered, also if it only looks.
        let own = format!("http://{}", tavern.http.address);
        for (headers, status) in [
            (&[("Origin", "http://evil.example")][..], 403),
            (&[("Origin", "null")], 403),
            (&[("Origin", "null"), ("Sec-Fetch-Site", "same-origin")], 403),
            (&[("Sec-Fetch-Site", "cross-site")], 403),
            (&[("Sec-Fetch-Site", "same-site")], 403),
            (&[("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "no-cors")], 403),
            (&[("Origin", own.as_str())], 200),
            (&[("Sec-Fetch-Site", "same-origin")], 200),
        ] {
            assert_eq!(at(&zoe).send("GET", "api/stories", headers, b"").status, status, "{headers:?}");
        }
        for path in ["api/stories", "api/messages?chat=Zed/Other&from=0&to=3", "plugin"] {
            assert_eq!(forged.get(path).code(), (403, "WRONG_ORIGIN".to_owned()), "{path}");
        }
        let answer = at(&zoe).get("api/stories");
        assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control-")));
    });
}
