import type { ShownMessage } from '../../sdk/interactions/person.ts';

/** Objects of the wire as far as the page shows them. Everything beyond an id may be missing. */
export interface Author {
  readonly id: string;
  readonly username: string;
  readonly global_name?: string | null;
  readonly avatar?: string | null;
  readonly bot?: boolean;
}

export interface EmojiRef {
  readonly id?: string | null;
  readonly name?: string | null;
  readonly animated?: boolean;
}

export interface Reaction {
  readonly emoji: EmojiRef;
  readonly count: number;
  readonly me: boolean;
}

export interface Attachment {
  readonly id?: string;
  readonly filename: string;
  readonly url: string;
  readonly size?: number;
  readonly content_type?: string;
  readonly width?: number | null;
  readonly height?: number | null;
  readonly description?: string | null;
}

interface Picture {
  readonly url: string;
}

export interface Embed {
  readonly title?: string;
  readonly description?: string;
  readonly url?: string;
  readonly color?: number;
  readonly timestamp?: string;
  readonly author?: { readonly name?: string; readonly url?: string };
  readonly footer?: { readonly text?: string };
  readonly image?: Picture;
  readonly thumbnail?: Picture;
  readonly fields?: readonly { readonly name: string; readonly value: string; readonly inline?: boolean }[];
}

export interface Poll {
  readonly question: { readonly text?: string };
  readonly answers: readonly {
    readonly answer_id: number;
    readonly poll_media: { readonly text?: string; readonly emoji?: EmojiRef };
  }[];
  readonly expiry?: string | null;
  readonly allow_multiselect?: boolean;
  readonly results?: {
    readonly is_finalized?: boolean;
    readonly answer_counts: readonly {
      readonly id: number;
      readonly count: number;
      readonly me_voted: boolean;
    }[];
  };
}

export interface ChatMessage extends ShownMessage {
  readonly type?: number;
  readonly author: Author;
  readonly member?: { readonly nick?: string | null };
  readonly timestamp: string;
  readonly edited_timestamp?: string | null;
  readonly embeds: readonly Embed[];
  readonly attachments: readonly Attachment[];
  readonly reactions?: readonly Reaction[];
  readonly poll?: Poll;
  readonly sticker_items?: readonly {
    readonly id: string;
    readonly name: string;
    readonly format_type: number;
  }[];
  readonly referenced_message?: ChatMessage | null;
  readonly thread?: { readonly id: string; readonly name: string };
}

export const isMessage = (d: object): d is ChatMessage => 'id' in d && 'content' in d && 'author' in d;

/** Text that names an emoji in a path of the API. */
export const emojiPath = ({ id, name }: EmojiRef): string =>
  encodeURIComponent(id ? `${name ?? ''}:${id}` : (name ?? ''));

const isSame = (one: EmojiRef, other: EmojiRef): boolean =>
  one.id || other.id ? one.id === other.id : one.name === other.name;

/** The reactions after one was added (1) or taken away (-1). */
export function reacted(
  reactions: readonly Reaction[],
  emoji: EmojiRef,
  step: 1 | -1,
  isOwn: boolean,
): readonly Reaction[] {
  const known = reactions.find((one) => isSame(one.emoji, emoji));
  if (known === undefined) return step === 1 ? [...reactions, { emoji, count: 1, me: isOwn }] : reactions;
  const changed = { ...known, count: known.count + step, me: isOwn ? step === 1 : known.me };
  return reactions.flatMap((one) => (one !== known ? [one] : changed.count > 0 ? [changed] : []));
}

/** The poll after a vote was given (1) or taken away (-1). */
export function voted(poll: Poll, answerId: number, step: 1 | -1, isOwn: boolean): Poll {
  const counts = poll.results?.answer_counts ?? [];
  const known = counts.find(({ id }) => id === answerId) ?? { id: answerId, count: 0, me_voted: false };
  const count = Math.max(0, known.count + step);
  const changed = { id: answerId, count, me_voted: isOwn ? step === 1 : known.me_voted };
  const answerCounts = [...counts.filter(({ id }) => id !== answerId), changed];
  return { ...poll, results: { ...poll.results, answer_counts: answerCounts } };
}
