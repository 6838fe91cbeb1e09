/** Root mean square of 16-bit samples; 1 is full scale. */
export function loudness(samples: Int16Array): number {
  let power = 0;
  for (const sample of samples) power += sample * sample;
  return samples.length === 0 ? 0 : Math.sqrt(power / samples.length) / 32_768;
}

/** Multiplies samples by a gain in place, clamped to 16 bits. */
export function amplify(samples: Int16Array, gain: number): void {
  if (gain === 1) return;
  for (let at = 0; at < samples.length; at++) samples[at] = clipped(samples[at]! * gain);
}

const clipped = (value: number): number => Math.max(-32_768, Math.min(32_767, Math.round(value)));

/** Mixes frames of several members. */
export class Mixer {
  readonly #sum: Int32Array;

  /** @param length Samples of a frame, of all channels. */
  constructor(length: number) {
    this.#sum = new Int32Array(length);
  }

  add(samples: Int16Array): void {
    const sum = this.#sum;
    const length = Math.min(samples.length, sum.length);
    for (let at = 0; at < length; at++) sum[at]! += samples[at]!;
  }

  /** Returns the mix of the frames added since the last call. */
  take(gain: number): Int16Array {
    const mixed = Int16Array.from(this.#sum, (value) => clipped(value * gain));
    this.#sum.fill(0);
    return mixed;
  }
}

/** Jitter buffer of decoded frames. When it is full, the oldest frames are dropped. */
export class PlayQueue {
  readonly #frameLength: number;
  readonly #start: number;
  readonly #max: number;
  #samples: Int16Array = new Int16Array(0);
  #isPlaying = false;

  /**
   * @param frameLength Samples of a frame, of all channels.
   * @param start       Frames that must wait before the first is played, so that late ones are not missed.
   * @param max         Frames that may wait.
   */
  constructor(frameLength: number, { start, max }: { readonly start: number; readonly max: number }) {
    this.#frameLength = frameLength;
    this.#start = frameLength * start;
    this.#max = frameLength * max;
  }

  push(samples: Int16Array): void {
    const all = new Int16Array(this.#samples.length + samples.length);
    all.set(this.#samples);
    all.set(samples, this.#samples.length);
    this.#samples = all.length > this.#max ? all.slice(all.length - this.#max) : all;
    this.#isPlaying ||= this.#samples.length >= this.#start;
  }

  /** Next frame; null when none is due. */
  shift(): Int16Array | null {
    this.#isPlaying &&= this.#samples.length >= this.#frameLength;
    if (!this.#isPlaying) return null;
    const frame = this.#samples.slice(0, this.#frameLength);
    this.#samples = this.#samples.slice(this.#frameLength);
    return frame;
  }
}
