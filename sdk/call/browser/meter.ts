import type { PageAudioContext, PageNode } from './page.ts';

/** How loud something is. */
export interface Meter {
  /** Root mean square of the last 20 ms, 0 to 1. */
  level(): number;
  close(): void;
}

const SAMPLES = 1024;

export function openMeter(context: PageAudioContext, source: PageNode): Meter {
  const analyser = context.createAnalyser();
  analyser.fftSize = SAMPLES;
  source.connect(analyser);
  const samples = new Float32Array(SAMPLES);
  return {
    level() {
      analyser.getFloatTimeDomainData(samples);
      return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / SAMPLES);
    },
    close: () => analyser.disconnect(),
  };
}
