/** How loud a stream is. */
export interface Meter {
  /** Root mean square of the last 40 ms, 0 to 1. */
  level(): number;
  close(): void;
}

const SAMPLES = 2048;

export function openMeter(context: AudioContext, stream: MediaStream): Meter {
  const source = context.createMediaStreamSource(stream);
  const analyser = context.createAnalyser();
  analyser.fftSize = SAMPLES;
  source.connect(analyser);
  const samples = new Float32Array(SAMPLES);
  return {
    level() {
      analyser.getFloatTimeDomainData(samples);
      return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / SAMPLES);
    },
    close: () => source.disconnect(),
  };
}
