/** The embedding interface of the package: `import { createEngine } from 'guildhall'`. */

export { movableClock } from './actors/runtime/clock.ts';
export { createEngine } from './compose/engine.ts';
export type { Config } from './config/config.ts';
export { DEFAULTS } from './config/config.ts';
export type * from './embedding.ts';
export { ApiError } from './protocol/apierror.ts';
