import { type Refusal, refusalText } from './refusal.ts';

/** The engine refused what was asked of it, in the platform's terms. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    const fields = refusal.errors === undefined ? '' : `: ${refusalText(refusal)}`;
    super(`${refusal.message} (${refusal.code})${fields}`);
    this.refusal = refusal;
  }
}
