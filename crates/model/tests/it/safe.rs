//! A server with a certificate: believed if it is one that is trusted, and only then.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use forklore_memory::Reply;
use forklore_model::{AskError, Endpoint, ModelError, OpenAi};
use forklore_testkit::model_server::{Faults, ModelServer};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::story::{Story, endpoint};

/// What speaks TLS before a server that does not: its address, and its certificate as PEM. It ends with the tests.
fn safe(server: &ModelServer) -> (String, String) {
    safe_as(server, &CertificateParams::new(vec!["localhost".to_owned()]).unwrap())
}

fn safe_as(server: &ModelServer, certificate: &CertificateParams) -> (String, String) {
    let signing = KeyPair::generate().unwrap();
    let made = certificate.self_signed(&signing).unwrap();
    let key = PrivateKeyDer::try_from(signing.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.der().clone()], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
    let plain = server.url().trim_start_matches("http://").split('/').next().unwrap().to_owned();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, plain) = (config.clone(), plain.clone());
            thread::spawn(move || drop(pass(stream.unwrap(), config, &plain)));
        }
    });
    (url, made.pem())
}

/// One question to the server behind, and its reply.
fn pass(stream: TcpStream, config: Arc<ServerConfig>, plain: &str) -> std::io::Result<()> {
    let mut asked = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut behind = TcpStream::connect(plain)?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        asked.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    asked.read_exact(&mut body)?;
    behind.write_all(&[head, body].concat())?;
    let mut part = [0; 4096];
    loop {
        let read = behind.read(&mut part)?;
        if read == 0 {
            break;
        }
        asked.write_all(&part[..read])?;
        asked.flush()?;
    }
    asked.conn.send_close_notify();
    asked.flush()?;
    asked.sock.shutdown(Shutdown::Write)
}

#[test]
fn a_server_of_ones_own_is_asked_with_its_certificate() {
    let server = ModelServer::start(Faults::none());
    let (url, pem) = safe(&server);
    let trusting =
        Endpoint { certificate: Some(pem.into_bytes()), key: Some("sk-1".to_owned()), ..endpoint(url) };
    let (reply, _) = Story::new().ask(&OpenAi::new(trusting).unwrap()).unwrap();
    assert!(matches!(reply, Reply::Facts(_)));
    assert_eq!(server.calls(), 1);
    assert_eq!(server.asked()[0].header("authorization"), Some("Bearer sk-1"));
}

/// What somebody is told who asks a server that is not believed.
fn doubted(url: String, certificate: Option<String>) -> String {
    let certificate = certificate.map(String::into_bytes);
    let doubting = OpenAi::new(Endpoint { certificate, ..endpoint(url) }).unwrap();
    let Err(AskError::Failed { why: ModelError::BadAddress(why), .. }) = Story::new().ask(&doubting) else {
        panic!("it was believed")
    };
    assert!(why.contains("safe connection"), "{why}");
    why
}

#[test]
fn who_is_not_trusted_is_told_nothing() {
    let server = ModelServer::start(Faults::none());
    let ((url, own), (_, other)) = (safe(&server), safe(&server));
    for certificate in [None, Some(other)] {
        let why = doubted(url.clone(), certificate);
        assert!(why.contains("--certificate"), "{why}");
    }
    let why = doubted(url.replace("localhost", "127.0.0.1"), Some(own));
    assert!(why.contains("another name"), "{why}");
    assert_eq!(server.calls(), 0);
}

/// As `openssl req -x509` makes them if nobody says otherwise.
#[test]
fn who_has_an_authority_for_a_server_is_told_so() {
    let server = ModelServer::start(Faults::none());
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (url, own) = safe_as(&server, &params);
    let why = doubted(url, Some(own));
    assert!(why.contains("authority") && why.contains("guide"), "{why}");
    assert_eq!(server.calls(), 0);
}

#[test]
fn what_is_no_certificate_is_refused_before_anything_is_asked() {
    let wrong =
        Endpoint { certificate: Some(b"not one".to_vec()), ..endpoint("https://localhost:1".to_owned()) };
    assert!(
        matches!(OpenAi::new(wrong), Err(ModelError::BadAddress(why)) if why.contains("BEGIN CERTIFICATE"))
    );
}
