import { afterEach, expect } from 'vitest';
import { checkReplies } from './declaredreplies.ts';

/** Every answer of a server that a test makes in its own process is compared with the reply that the operation declares. */
const objections = checkReplies();

afterEach(() => {
  expect(objections.splice(0)).toEqual([]);
});
