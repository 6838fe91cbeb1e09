import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Answer } from './operation.ts';

/** Converts an aggregate's reply to the answer of a call, with the reply's value as the body. */
export const answer = (reply: Reply<unknown>): Answer => (reply.ok ? { ok: true, body: reply.value } : reply);
