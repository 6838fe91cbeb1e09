// Writes transports/http/sounds.generated.ts: the default sounds of the soundboard, made of a few tones each and encoded
// as MP3 by lame, which must be installed:
//   node scripts/sounds.mjs
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const RATE = 22_050;
const SECONDS = 0.8;
const TAU = 2 * Math.PI;

const tone = (hz, seconds) => Math.sin(TAU * hz * seconds);
const fading = (seconds, halfLife) => 0.5 ** (seconds / halfLife);
/** Tones with their own strength and half-life; `from` is when they are struck. */
const struck =
  (partials, from = 0) =>
  (at) =>
    at < from
      ? 0
      : partials.reduce(
          (sum, [hz, gain, half]) => sum + gain * tone(hz, at - from) * fading(at - from, half),
          0,
        );
const both = (one, other) => (at) => one(at) + other(at);

let seed = 1;
/** Noise that is the same at each run. */
const noise = () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return seed / 0x40000000 - 1;
};
const buzz = (hz, at) => [1, 2, 3, 4, 5].reduce((sum, n) => sum + tone(hz * n, at) / n, 0);

/** Samples of -1 to 1 by the number of the sound. */
const SOUNDS = {
  1: struck([
    [523, 0.5, 0.3],
    [1_046, 0.3, 0.2],
    [1_567, 0.2, 0.1],
    [2_749, 0.1, 0.05],
  ]),
  2: struck([
    [1_870, 0.4, 0.06],
    [2_933, 0.3, 0.08],
    [4_410, 0.2, 0.04],
    [740, 0.2, 0.03],
  ]),
  3: (at) => {
    const swell = Math.sin((Math.PI * at) / SECONDS);
    return swell * (0.25 * noise() + 0.1 * (buzz(196, at) + buzz(247, at) + buzz(294, at)));
  },
  4: (at) => {
    const caw = (at % 0.4) / 0.4;
    return caw > 0.7
      ? 0
      : 0.4 * Math.sin((Math.PI * caw) / 0.7) * buzz(520 - 120 * caw, at) * (0.7 + 0.3 * noise());
  },
  5: (at) => 0.4 * Math.min(1, at / 0.15) * Math.min(1, (SECONDS - at) / 0.1) * buzz(147, at),
  6: both(
    struck([
      [3_136, 0.4, 0.05],
      [4_186, 0.3, 0.04],
    ]),
    struck(
      [
        [3_729, 0.4, 0.12],
        [4_978, 0.3, 0.08],
      ],
      0.09,
    ),
  ),
};

function encoded(sampleAt) {
  const samples = new Int16Array(Math.round(RATE * SECONDS)).map((_, at) =>
    Math.round(Math.max(-1, Math.min(1, sampleAt(at / RATE))) * 30_000),
  );
  const options = ['-r', '-s', String(RATE / 1000), '-m', 'm', '--cbr', '-b', '24', '-t', '--silent'];
  return execFileSync('lame', [...options, '-', '-'], { input: Buffer.from(samples.buffer) });
}

const LINE = 110;
const rows = Object.entries(SOUNDS).map(([id, sampleAt]) => {
  const lines = encoded(sampleAt)
    .toString('base64')
    .match(new RegExp(`.{1,${LINE}}`, 'g'));
  return `  '${id}':\n${lines.map((line) => `    '${line}'`).join(' +\n')},\n`;
});
writeFileSync(
  new URL('../transports/http/sounds.generated.ts', import.meta.url),
  `/** MP3 files of the default sounds as base64, by their numbers. Made by scripts/sounds.mjs. */
// biome-ignore format: a table that a program writes.
export const SOUND_FILES: Readonly<Record<string, string>> = {
${rows.join('')}};
`,
);
