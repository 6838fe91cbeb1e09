import { type APIPoll, type APIPollMedia, PollLayoutType } from 'discord-api-types/v10';
import { LIMITS } from '../../protocol/limits.ts';
import { refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { type Reply, refused } from '../kernel/aggregate.ts';
import { type CustomEmoji, emojiKey } from './emoji.ts';
import { Form } from './form.ts';
import { cleanText, textLength } from './text.ts';

export interface PollDraft {
  readonly question: { readonly text?: string | null };
  readonly answers: readonly {
    readonly poll_media: {
      readonly text?: string | null;
      readonly emoji?: { readonly id?: string | null; readonly name?: string | null } | null;
    };
  }[];
  readonly duration?: number | null;
  readonly allow_multiselect?: boolean | null;
  readonly layout_type?: number | null;
}

const HOUR_MS = 3_600_000;

type Emoji = NonNullable<APIPollMedia['emoji']>;

/** Ids of the custom emojis of a poll's answers. */
const emojiIds = ({ answers }: PollDraft): readonly string[] =>
  answers.flatMap(({ poll_media: { emoji } }) => emoji?.id ?? []);

/** The emoji of an answer; null for one that is neither usable nor Unicode's. */
function emojiOf(
  { id, name }: { readonly id?: string | null; readonly name?: string | null },
  usable: readonly CustomEmoji[],
): Emoji | null {
  const custom = usable.find((each) => each.id === id);
  if (custom) return { id: custom.id, name: custom.name, animated: custom.animated };
  const key = name ? emojiKey(name) : null;
  return key === null ? null : { id: null, name: key };
}

/**
 * Checks a poll and opens it at `nowMs`. Votes are in `votes.ts`.
 *
 * @param usable Custom emojis that its answers may have.
 * @returns 520004 for other custom ones.
 */
export function buildPoll(
  draft: PollDraft,
  nowMs: number,
  usable: readonly CustomEmoji[] = [],
): Reply<APIPoll> {
  const form = new Form();
  const read = (path: readonly (string | number)[], raw: string | null | undefined, max: number): string => {
    const text = cleanText(raw ?? '').trim();
    if (text === '') form.required(path);
    if (textLength(text, max) > max) form.tooLong(path, max);
    return text;
  };
  if (emojiIds(draft).some((id) => !usable.some((emoji) => emoji.id === id)))
    return refused(refusal('CANNOT_USE_POLL_EMOJI'));
  const question = read(['poll', 'question', 'text'], draft.question.text, LIMITS.poll_question_chars_max);
  const answersMax = LIMITS.poll_answers_max;
  if (draft.answers.length < 1 || draft.answers.length > answersMax) {
    form.add(['poll', 'answers'], 'BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${answersMax} in length.`);
  }
  const answers = draft.answers.slice(0, answersMax).map(({ poll_media }, index) => {
    const path = ['poll', 'answers', index, 'poll_media'];
    const text = read([...path, 'text'], poll_media.text, LIMITS.poll_answer_chars_max);
    const emoji = poll_media.emoji ? emojiOf(poll_media.emoji, usable) : null;
    if (poll_media.emoji && emoji === null)
      form.add([...path, 'emoji'], 'POLL_INVALID_EMOJI', 'Invalid emoji');
    return {
      answer_id: index + 1,
      poll_media: emoji === null ? { text } : { text, emoji },
    };
  });
  const hours = draft.duration ?? LIMITS.poll_duration_hours_default;
  if (!(hours >= 1 && hours <= LIMITS.poll_duration_hours_max)) {
    const message = `Value must be between 1 and ${LIMITS.poll_duration_hours_max}.`;
    form.add(['poll', 'duration'], 'NUMBER_TYPE_MAX', message);
  }
  const wrong = form.refusal();
  if (wrong) return refused(wrong);
  return {
    ok: true,
    value: {
      question: { text: question },
      answers,
      expiry: isoTimestamp(nowMs + hours * HOUR_MS),
      allow_multiselect: draft.allow_multiselect ?? false,
      layout_type: PollLayoutType.Default,
      results: { is_finalized: false, answer_counts: [] },
    },
  };
}
