import { VirtualClock } from './actors/runtime/virtual.ts';
import type { Engine, EngineOptions } from './embedding.ts';
import { createEngine } from './main.ts';

export { VirtualClock };

/** Creates an in-memory engine whose time advances only by `clock.advance`, for tests of programs that embed one. */
export async function createTestEngine(
  options: Omit<EngineOptions, 'clock'> & { readonly clock?: VirtualClock } = {},
): Promise<{ readonly engine: Engine; readonly clock: VirtualClock }> {
  const clock = options.clock ?? new VirtualClock();
  const config = { log_level: 'silent', listen_port: 0, voice_workers: 0, ...options.config } as const;
  return { engine: await createEngine({ ...options, config, clock }), clock };
}
