import { type Refusal, refusalText } from './refusal.ts';

/** A refusal of the engine as an exception, with the platform's error code. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    const fields = refusal.errors === undefined ? '' : `: ${refusalText(refusal)}`;
    super(`${refusal.message} (${refusal.code})${fields}`);
    this.refusal = refusal;
  }
}
