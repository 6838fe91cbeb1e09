import { parseConfig } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import type { EngineOptions } from '../embedding.ts';

const NAMES: Readonly<Record<keyof EngineOptions, true>> = {
  config: true,
  clock: true,
  randomBytes: true,
  workerId: true,
  directory: true,
  sharedPort: true,
  nextId: true,
  storage: true,
  blobs: true,
  logger: true,
  mailer: true,
};

/**
 * Checks what a program in JavaScript may get wrong: there no compiler finds a misspelt option or setting, and a server
 * with a default in its place is found out late.
 *
 * @throws RangeError for an option that does not exist. @throws ConfigError for wrong settings, all of them at once.
 */
export function checkOptions(options: EngineOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(NAMES, name)) continue;
    const near = nearest(name, Object.keys(NAMES));
    const hint = near === null ? `Options are ${Object.keys(NAMES).join(', ')}.` : `Did you mean ${near}?`;
    throw new RangeError(`${name} is not an option of createEngine. ${hint}`);
  }
  const { config = {} } = options;
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw new TypeError('The option config of createEngine must be an object of settings.');
  parseConfig([{ from: 'the config of createEngine', values: config }]);
}
