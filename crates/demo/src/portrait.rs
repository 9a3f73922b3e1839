//! The picture of the demo's card: slate beds under a wet evening sky, one window lit.

/// Size of a character card, as SillyTavern makes them.
const WIDTH: u32 = 400;
const HEIGHT: u32 = 600;

/// The picture, with the character's text in it.
pub(crate) fn png(character: &str) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.add_text_chunk("chara".to_owned(), character.to_owned())?;
    let mut writer = encoder.write_header()?;
    let mut pixels = Vec::with_capacity((WIDTH * HEIGHT * 3) as usize);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            pixels.extend(colour(x, y));
        }
    }
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(out)
}

fn colour(x: u32, y: u32) -> [u8; 3] {
    let (u, v) = (f64::from(x) / f64::from(WIDTH), f64::from(y) / f64::from(HEIGHT));
    let ridge =
        |base: f64, height: f64, waves: f64, phase: f64| base - height * (u * waves + phase).sin().abs();
    // Sky: from ink to a last band of light.
    let mut rgb = blend([24.0, 30.0, 48.0], [150.0, 132.0, 140.0], (v / 0.55).clamp(0.0, 1.0).powf(1.6));
    // Hills, then nine beds of slate, each a little darker, with a fine grain along the bed.
    let hills = [(0.50, 0.07, 5.0, 0.4, [92.0, 92.0, 112.0]), (0.58, 0.06, 7.0, 1.9, [68.0, 72.0, 92.0])];
    for (base, height, waves, phase, tone) in hills {
        if v > ridge(base, height, waves, phase) {
            rgb = tone;
        }
    }
    let bed_top = 0.66 + 0.02 * (u * 9.0).sin();
    if v > bed_top {
        let depth = (v - bed_top - 0.05 * (u - 0.5)) / (1.0 - 0.66) * 9.0;
        let bed = depth.floor().clamp(0.0, 8.0);
        let grain = ((v * 900.0 + u * 40.0).sin() * 43_758.547).fract().abs() * 9.0;
        let edge = if depth.fract() < 0.06 { -14.0 } else { 0.0 };
        let tone = 66.0 - bed * 5.0 + grain + edge;
        rgb = [tone * 0.92, tone, tone * 1.16];
    }
    // A house on the hill, and its window.
    let house = (0.60..0.74).contains(&u) && v > 0.545 && v < 0.66;
    let roof = v > 0.50 && v < 0.55 && (u - 0.67).abs() < (v - 0.50) * 1.9;
    if house || roof {
        rgb = [34.0, 36.0, 48.0];
    }
    if (0.645..0.685).contains(&u) && (0.58..0.625).contains(&v) {
        rgb = [246.0, 196.0, 104.0];
    } else {
        let glow = 1.0 / (1.0 + 90.0 * ((u - 0.665).powi(2) * 2.2 + (v - 0.602).powi(2)) * 9.0);
        rgb = blend(rgb, [246.0, 190.0, 100.0], glow * 0.38);
    }
    // Rain.
    let drop = (x * 7 + y * 3).is_multiple_of(97) && (x / 3 + y / 11).is_multiple_of(5);
    if drop && v < 0.9 {
        rgb = blend(rgb, [200.0, 210.0, 225.0], 0.35);
    }
    rgb.map(|c| c.clamp(0.0, 255.0) as u8)
}

fn blend(a: [f64; 3], b: [f64; 3], t: f64) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
}
