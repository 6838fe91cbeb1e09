import type { Reply } from '../../engine/kernel/outcome.ts';
import type { Answer } from './operation.ts';

/** An aggregate's reply as the answer to a call: its value is the body. */
export const answer = (reply: Reply<unknown>): Answer => (reply.ok ? { ok: true, body: reply.value } : reply);
