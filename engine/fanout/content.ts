import { INTENTS } from '../../protocol/intents.ts';
import type { Recipient } from './body.ts';

/** True for the session of a bot without the message content intent. */
export const lacksContent = (session: Recipient): boolean =>
  session.bot && (session.intents & INTENTS.MESSAGE_CONTENT) === 0;

/** Users who may read a message without the intent: its author and the users it mentions. */
export function readersOf(d: object): string[] {
  const { author, mentions } = d as {
    readonly author?: { readonly id: string };
    readonly mentions?: readonly { readonly id: string }[];
  };
  const ids = new Set(mentions?.map(({ id }) => id));
  if (author) ids.add(author.id);
  return [...ids];
}

/** Replacements for message content. `poll` has no empty form and is removed. */
const BLANKS = {
  content: '',
  embeds: [],
  attachments: [],
  components: [],
  matched_content: '',
} as const;

/**
 * A copy of a payload without message content, also in the messages it quotes and forwards. Absent fields stay absent;
 * `d` is not changed, and unchanged parts are shared.
 */
export function blank(d: object): object {
  const copy: Record<string, unknown> = { ...d };
  for (const [field, nothing] of Object.entries(BLANKS)) if (field in copy) copy[field] = nothing;
  delete copy.poll;
  const { referenced_message, message_snapshots } = copy;
  if (isObject(referenced_message)) copy.referenced_message = blank(referenced_message);
  if (Array.isArray(message_snapshots)) copy.message_snapshots = message_snapshots.map(blankSnapshot);
  return copy;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function blankSnapshot(snapshot: unknown): unknown {
  if (!isObject(snapshot) || !('message' in snapshot) || !isObject(snapshot.message)) return snapshot;
  return { ...snapshot, message: blank(snapshot.message) };
}
