//! [`model`]: a language model of half a megabyte that knows nothing, as a GGUF file. Its weights are chance, and always the same; it
//! writes small letters and likes to come to an end. Held to a schema it gives replies of that shape, which is all that a test of a real
//! server needs.

use crate::random::Random;

const WIDTH: usize = 64;
const HEADS: usize = 4;
const LAYERS: usize = 2;
const INNER: usize = 128;
/// Tensors begin at multiples of this.
const ALIGNED: usize = 32;

/// The file.
pub fn model() -> Vec<u8> {
    let tokens = tokens();
    let mut file = Gguf::default();
    file.text("general.architecture", "llama");
    file.text("general.name", "forklore-noise");
    for (name, value) in [
        ("general.file_type", 0),
        ("llama.context_length", 32768),
        ("llama.embedding_length", WIDTH),
        ("llama.block_count", LAYERS),
        ("llama.feed_forward_length", INNER),
        ("llama.attention.head_count", HEADS),
        ("llama.attention.head_count_kv", HEADS),
        ("llama.rope.dimension_count", WIDTH / HEADS),
        ("llama.vocab_size", tokens.len()),
        ("tokenizer.ggml.unknown_token_id", 0),
        ("tokenizer.ggml.bos_token_id", 1),
        ("tokenizer.ggml.eos_token_id", 2),
    ] {
        file.number(name, value);
    }
    file.entry("llama.attention.layer_norm_rms_epsilon", 6);
    file.head.extend(1e-5_f32.to_le_bytes());
    file.text("tokenizer.ggml.model", "llama");
    file.list("tokenizer.ggml.tokens", 8, &tokens, |token, out| string(out, &token.text));
    file.list("tokenizer.ggml.scores", 6, &tokens, |token, out| out.extend(token.score.to_le_bytes()));
    file.list("tokenizer.ggml.token_type", 5, &tokens, |token, out| out.extend(token.kind.to_le_bytes()));
    file.text(
        "tokenizer.chat_template",
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ",
    );

    let mut random = Random::new(7);
    let mut chance = move |scale: f32| {
        // About as wide as a normal distribution.
        let even = f32::from(u16::try_from(random.below(1 << 16)).unwrap_or(0)) / 32768.0 - 1.0;
        even * 1.7 * scale
    };
    // The first number of every token is the same and large, so that its weight in the output is how much a token is liked.
    let mut embedding: Vec<f32> = (0..tokens.len() * WIDTH).map(|_| chance(0.05)).collect();
    embedding.iter_mut().step_by(WIDTH).for_each(|first| *first = 3.0);
    file.tensor("token_embd.weight", &[WIDTH, tokens.len()], embedding);
    let mut output: Vec<f32> = (0..tokens.len() * WIDTH).map(|_| chance(0.5)).collect();
    output.iter_mut().step_by(WIDTH).zip(&tokens).for_each(|(first, token)| *first = token.liked / 8.0);
    file.tensor("output.weight", &[WIDTH, tokens.len()], output);
    file.tensor("output_norm.weight", &[WIDTH], vec![1.0; WIDTH]);
    for layer in 0..LAYERS {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        for part in ["attn_norm", "ffn_norm"] {
            file.tensor(&name(part), &[WIDTH], vec![1.0; WIDTH]);
        }
        let mut weights = |part: &str, from: usize, to: usize| {
            let weights = (0..from * to).map(|_| chance(0.05)).collect();
            file.tensor(&name(part), &[from, to], weights);
        };
        for part in ["attn_q", "attn_k", "attn_v", "attn_output"] {
            weights(part, WIDTH, WIDTH);
        }
        weights("ffn_gate", WIDTH, INNER);
        weights("ffn_up", WIDTH, INNER);
        weights("ffn_down", INNER, WIDTH);
    }
    file.done()
}

struct Token {
    text: String,
    score: f32,
    /// 1 is a text, 2 unknown, 3 a sign, 6 a byte
    kind: i32,
    liked: f32,
}

/// Three signs, all bytes, which are never liked, and what can be typed.
fn tokens() -> Vec<Token> {
    let sign = |text: &str, kind, liked| Token { text: text.to_owned(), score: 0.0, kind, liked };
    let mut tokens = vec![sign("<unk>", 2, -60.0), sign("<s>", 3, -60.0), sign("</s>", 3, 8.0)];
    tokens.extend((0..=255_u8).map(|byte| Token {
        text: format!("<0x{byte:02X}>"),
        score: -1000.0,
        kind: 6,
        liked: -60.0,
    }));
    let letters = ['\u{2581}'].into_iter().chain('!'..='~');
    tokens.extend(letters.map(|letter| {
        let liked = match letter {
            'a'..='z' => 4.0,
            '"' => 6.0,
            '\u{2581}' => 3.0,
            '\\' => -60.0,
            _ => 0.0,
        };
        Token { text: letter.to_string(), score: -1.0, kind: 1, liked }
    }));
    tokens
}

/// A file that is being written.
#[derive(Default)]
struct Gguf {
    entries: u64,
    head: Vec<u8>,
    tensors: u64,
    directory: Vec<u8>,
    data: Vec<u8>,
}

impl Gguf {
    fn entry(&mut self, name: &str, kind: u32) {
        self.entries += 1;
        string(&mut self.head, name);
        self.head.extend(kind.to_le_bytes());
    }

    fn text(&mut self, name: &str, value: &str) {
        self.entry(name, 8);
        string(&mut self.head, value);
    }

    fn number(&mut self, name: &str, value: usize) {
        self.entry(name, 4);
        self.head.extend(u32::try_from(value).unwrap().to_le_bytes());
    }

    fn list<T>(&mut self, name: &str, kind: u32, values: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
        self.entry(name, 9);
        self.head.extend(kind.to_le_bytes());
        self.head.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| write(value, &mut self.head));
    }

    fn tensor(&mut self, name: &str, sizes: &[usize], values: Vec<f32>) {
        self.tensors += 1;
        string(&mut self.directory, name);
        self.directory.extend(u32::try_from(sizes.len()).unwrap().to_le_bytes());
        sizes.iter().for_each(|size| self.directory.extend((*size as u64).to_le_bytes()));
        // 0 is for numbers of four bytes.
        self.directory.extend(0_u32.to_le_bytes());
        self.directory.extend((self.data.len() as u64).to_le_bytes());
        self.data.extend(values.into_iter().flat_map(f32::to_le_bytes));
        align(&mut self.data);
    }

    fn done(self) -> Vec<u8> {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(self.tensors.to_le_bytes());
        file.extend(self.entries.to_le_bytes());
        file.extend(self.head);
        file.extend(self.directory);
        align(&mut file);
        file.extend(self.data);
        file
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGNED), 0);
}
