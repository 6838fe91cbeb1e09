import OpusScript from 'opusscript';

const RATE_HZ = 48_000;
const CHANNELS = 2;
const FRAME_SAMPLES = 960;

/** Opus packets of 20 ms (48 kHz, stereo) that sound one tone. */
export function toneFrames(hz: number, seconds: number): Buffer[] {
  const encoder = new OpusScript(RATE_HZ, CHANNELS, OpusScript.Application.AUDIO);
  const frames: Buffer[] = [];
  for (let at = 0; at < seconds * 50; at++) {
    const pcm = Buffer.alloc(FRAME_SAMPLES * CHANNELS * 2);
    for (let i = 0; i < FRAME_SAMPLES; i++) {
      const sample = Math.round(8_000 * Math.sin((2 * Math.PI * hz * (at * FRAME_SAMPLES + i)) / RATE_HZ));
      for (let channel = 0; channel < CHANNELS; channel++)
        pcm.writeInt16LE(sample, (i * CHANNELS + channel) * 2);
    }
    frames.push(Buffer.from(encoder.encode(pcm, FRAME_SAMPLES)));
  }
  encoder.delete();
  return frames;
}

/** The left channel of Opus packets, -1 to 1. Packets that do not decode are left out. */
export function decodedSamples(packets: readonly Uint8Array[]): Float64Array {
  const decoder = new OpusScript(RATE_HZ, CHANNELS, OpusScript.Application.AUDIO);
  const samples: number[] = [];
  for (const packet of packets) {
    const pcm = decoder.decode(Buffer.from(packet));
    for (let at = 0; at + 3 < pcm.length; at += CHANNELS * 2) samples.push(pcm.readInt16LE(at) / 32_768);
  }
  decoder.delete();
  return Float64Array.from(samples);
}

/** Milliseconds of one block of `shareAt`: a tone at 440 Hz is 22 periods long, and 20 Hz is the resolution. */
const BLOCK_MS = 50;

/**
 * How much of the power of the samples lies at a frequency, 0 to 1 (Goertzel, block by block). A packet that is late or
 * lost shifts the phase of the tone behind it: over the whole recording the two parts would cancel each other out.
 */
export function shareAt(samples: Float64Array, hz: number, rateHz = RATE_HZ): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / rateHz);
  const blockSize = Math.min(samples.length, (BLOCK_MS * rateHz) / 1_000);
  let [atHz, power] = [0, 0];
  for (let from = 0; from + blockSize <= samples.length && blockSize > 0; from += blockSize) {
    let [before, last] = [0, 0];
    for (const sample of samples.subarray(from, from + blockSize)) {
      [before, last] = [last, sample + coefficient * last - before];
      power += sample * sample;
    }
    const found = last * last + before * before - coefficient * last * before;
    atHz += (2 * found) / blockSize;
  }
  return power === 0 ? 0 : atHz / power;
}
