import OpusScript from 'opusscript';
import { oggOpus } from './ogg.ts';

const RATE_HZ = 48_000;
const CHANNELS = 2;
const FRAME_SAMPLES = 960;
/** `OPUS_SET_BITRATE_REQUEST` of opus_defines.h. */
const SET_BITRATE = 4002;
const BITRATE = 24_000;
const SECONDS = 2;
/** Three strokes of a bell: when each begins, and its pitch. */
const STROKES = [
  { atSec: 0, hz: 659.25 },
  { atSec: 0.25, hz: 783.99 },
  { atSec: 0.5, hz: 1046.5 },
];
/** How fast a stroke fades: by the factor e in so many seconds. */
const FADE_SEC = 0.35;
const LOUDNESS = 7_000;

const strokeAt = (sec: number, hz: number): number =>
  sec < 0 ? 0 : LOUDNESS * Math.exp(-sec / FADE_SEC) * Math.sin(2 * Math.PI * hz * sec);

/** The sound that the lines of `guildhall connect @discordjs/voice` play, as `web/public/chime.ogg` holds it. */
export function chimeFile(): Buffer {
  const encoder = new OpusScript(RATE_HZ, CHANNELS, OpusScript.Application.AUDIO);
  encoder.encoderCTL(SET_BITRATE, BITRATE);
  const packets: Buffer[] = [];
  for (let first = 0; first < SECONDS * RATE_HZ; first += FRAME_SAMPLES) {
    const pcm = Buffer.alloc(FRAME_SAMPLES * CHANNELS * 2);
    for (let index = 0; index < FRAME_SAMPLES; index++) {
      const sec = (first + index) / RATE_HZ;
      const sample = Math.round(STROKES.reduce((sum, { atSec, hz }) => sum + strokeAt(sec - atSec, hz), 0));
      for (let channel = 0; channel < CHANNELS; channel++)
        pcm.writeInt16LE(sample, (index * CHANNELS + channel) * 2);
    }
    packets.push(Buffer.from(encoder.encode(pcm, FRAME_SAMPLES)));
  }
  encoder.delete();
  return oggOpus(packets);
}
