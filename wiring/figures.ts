export type { Figure } from '../protocol/metrics.ts';
