/** Resources that a load generator used. */
export interface GeneratorUse {
  /** CPU time of all threads over elapsed time; 1 is one core. */
  readonly cpuShare: number;
  readonly loopDelayP99Ms: number;
}

/** Above this delay at the 99th percentile the generator sends late and timestamps arrivals late. */
const LOOP_DELAY_MS_MAX = 50;
/** Above this share of all cores the generator takes CPU time from a server on the same machine. */
const CPU_OF_MACHINE_MAX = 0.9;
/** Above this load average per core other work competes with the run. */
const LOAD_FACTOR_MAX = 1.5;

/** Lists the reasons why the figures are not those of the server alone. */
export function starvedBy({
  cores,
  loadBefore,
  generator,
}: {
  readonly cores: number;
  readonly loadBefore: number;
  readonly generator: GeneratorUse;
}): string[] {
  const { cpuShare, loopDelayP99Ms } = generator;
  return [
    ...(loopDelayP99Ms > LOOP_DELAY_MS_MAX
      ? [`its event loop was delayed by ${loopDelayP99Ms.toFixed(0)} ms at the 99th percentile`]
      : []),
    ...(cpuShare > cores * CPU_OF_MACHINE_MAX ? [`it used ${cpuShare.toFixed(1)} of ${cores} cores`] : []),
    ...(loadBefore > cores * LOAD_FACTOR_MAX
      ? [`the machine had a load average of ${loadBefore.toFixed(1)} on ${cores} cores before the run`]
      : []),
  ];
}
