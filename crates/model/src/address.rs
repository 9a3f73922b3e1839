//! [`Address`]: where exactly a request goes. What would give the key away is refused here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::http::Uri;

use crate::endpoint::Endpoint;
use crate::error::ModelError;

/// What is asked at every such server.
const PATH: &str = "chat/completions";

/// An address that may be used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(Uri);

impl Address {
    pub(crate) fn of(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let url = endpoint.url.trim();
        if url.is_empty() {
            return Err(bad("there is none; give one such as http://127.0.0.1:8080"));
        }
        let url = match url.split_once("://") {
            Some(_) => url.to_owned(),
            None => {
                let host = url.split(['/', '?', '#']).next().unwrap_or_default();
                let host = host.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
                let near = host.as_deref().is_some_and(is_local);
                format!("{}://{url}", if near { "http" } else { "https" })
            }
        };
        let (base, query) =
            url.split_once('?').map_or((url.as_str(), None), |(base, query)| (base, Some(query)));
        let mut full = completions(base.split('#').next().unwrap_or_default());
        if let Some(query) = query {
            full.push('?');
            full.push_str(query.split('#').next().unwrap_or_default());
        }
        let address = Self::parse(&full)?;
        if endpoint.key.is_some() && !address.is_safe() {
            let host = address.host();
            return Err(ModelError::BadAddress(format!(
                "everybody on the way to {host} could read the key, because it begins with http://; use https://"
            )));
        }
        Ok(address)
    }

    fn parse(url: &str) -> Result<Self, ModelError> {
        let uri: Uri = url.parse().map_err(|_| bad("it is none; one looks like http://127.0.0.1:8080"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(bad("it begins with neither http:// nor https://"));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(bad("it names no host"));
        }
        // It would be shown wherever the address is.
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(bad("there is a name or a password in it; set the key instead"));
        }
        Ok(Self(uri))
    }

    /// Where the server sends us on to, if that is the same server. Another one would get a story that its owner has not given to it.
    pub(crate) fn sent_on(&self, to: &str) -> Result<Self, ModelError> {
        let origin = format!("{}://{}", self.scheme(), self.authority());
        let full = if to.contains("://") {
            to.to_owned()
        } else if to.starts_with("//") {
            format!("{}:{to}", self.scheme())
        } else {
            format!("{origin}/{}", to.trim_start_matches('/'))
        };
        let next = Self::parse(&full)?;
        let secure = next.scheme() == "https";
        let same = next.host().eq_ignore_ascii_case(self.host())
            && (next.0.port_u16() == self.0.port_u16() || secure && self.scheme() == "http");
        if same && (secure || self.scheme() == "http") {
            return Ok(next);
        }
        let (scheme, authority) = (next.scheme(), next.authority());
        Err(ModelError::BadAddress(format!(
            "the server sends on to {scheme}://{authority}; if you trust that one, set its address"
        )))
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    pub(crate) fn host(&self) -> &str {
        self.0.host().unwrap_or_default()
    }

    /// Whether it is on this machine or in this house.
    pub(crate) fn is_local(&self) -> bool {
        is_local(self.host())
    }

    fn is_safe(&self) -> bool {
        self.scheme() == "https" || self.is_local()
    }

    fn scheme(&self) -> &str {
        self.0.scheme_str().unwrap_or_default()
    }

    fn authority(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }
}

/// The whole address from what people copy from a server's page: its root, its `/v1`, or the whole.
fn completions(base: &str) -> String {
    let base = base.trim_end_matches('/');
    if base.ends_with(PATH) {
        return base.to_owned();
    }
    let path = base.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let version = if path.split('/').any(is_version) { "" } else { "v1/" };
    format!("{base}/{version}{PATH}")
}

fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => near_v4(ip),
        Ok(IpAddr::V6(ip)) => near_v6(ip),
        // A name without a dot is one that only this network knows.
        Err(_) => {
            !host.contains('.')
                || [".localhost", ".local", ".lan", ".internal", ".home.arpa"]
                    .iter()
                    .any(|end| host.ends_with(end))
        }
    }
}

fn near_v4(ip: Ipv4Addr) -> bool {
    // The last is what Tailscale gives to the machines of a person.
    ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || (ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64)
}

fn near_v6(ip: Ipv6Addr) -> bool {
    ip.is_loopback()
        || ip.is_unique_local()
        || ip.is_unicast_link_local()
        || ip.to_ipv4_mapped().is_some_and(near_v4)
}

fn bad(why: &str) -> ModelError {
    ModelError::BadAddress(why.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn endpoint(url: &str, key: Option<&str>) -> Endpoint {
        Endpoint {
            url: url.to_owned(),
            model: String::new(),
            key: key.map(str::to_owned),
            context: 0,
            timeout: Duration::from_secs(1),
            certificate: None,
        }
    }

    fn full(url: &str) -> String {
        Address::of(&endpoint(url, None)).unwrap().uri().to_string()
    }

    #[test]
    fn what_people_copy_is_an_address() {
        for url in [
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "127.0.0.1:8080/v1",
            " http://127.0.0.1:8080/v1/chat/completions ",
        ] {
            assert_eq!(full(url), "http://127.0.0.1:8080/v1/chat/completions", "{url}");
        }
        assert_eq!(full("localhost:11434"), "http://localhost:11434/v1/chat/completions");
        assert_eq!(full("openrouter.ai/api"), "https://openrouter.ai/api/v1/chat/completions");
        assert_eq!(full("https://openrouter.ai/api/v1"), "https://openrouter.ai/api/v1/chat/completions");
        assert_eq!(
            full("https://example.com/v1beta/openai/?version=2#there"),
            "https://example.com/v1beta/openai/chat/completions?version=2"
        );
    }

    #[test]
    fn what_is_none_is_refused_with_a_sentence() {
        for url in [
            "",
            "ftp://example.com",
            "http://",
            "http://me:secret@example.com",
            "http://exa mple.com",
            "http://[::1",
        ] {
            let refused = Address::of(&endpoint(url, None)).unwrap_err();
            assert!(matches!(refused, ModelError::BadAddress(_)), "{url}");
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_key_goes_over_plain_http_only_to_a_machine_that_is_near() {
        let given = |url: &str| Address::of(&endpoint(url, Some("sk-1"))).is_ok();
        for near in [
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://192.168.1.7",
            "http://gpu:5001",
            "http://gpu.local",
            "http://100.100.2.3",
        ] {
            assert!(given(near), "{near}");
        }
        for far in
            ["http://example.com", "http://8.8.8.8", "http://[2001:db8::1]", "http://127.0.0.1.example.com"]
        {
            assert!(!given(far), "{far}");
            assert!(Address::of(&endpoint(far, None)).is_ok(), "{far} without a key");
        }
        assert!(given("https://example.com"));
    }

    #[test]
    fn it_is_sent_on_only_by_a_server_to_itself() {
        let from = |url: &str, to: &str| {
            Address::of(&endpoint(url, None)).unwrap().sent_on(to).map(|next| next.uri().to_string())
        };
        assert_eq!(
            from("http://example.com", "https://example.com/v2/x").unwrap(),
            "https://example.com/v2/x"
        );
        assert_eq!(from("https://example.com", "/v2/x").unwrap(), "https://example.com/v2/x");
        for to in [
            "https://example.org/v1/chat/completions",
            "//example.org/x",
            "http://example.com/x",
            "https://example.com:8443/x",
        ] {
            assert!(from("https://example.com", to).is_err(), "{to}");
        }
    }
}
