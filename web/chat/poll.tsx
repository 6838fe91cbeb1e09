import { EmojiSign } from './formatted.tsx';
import type { Poll } from './shapes.ts';

interface PollProps {
  readonly poll: Poll;
  readonly vote: (answerId: number) => void;
}

/** A poll with its results. Pressing an answer votes for it, pressing it again takes the vote back. */
export function PollCard({ poll, vote }: PollProps) {
  const { question, answers, results, expiry, allow_multiselect: many } = poll;
  const counts = new Map((results?.answer_counts ?? []).map((one) => [one.id, one]));
  const total = [...counts.values()].reduce((sum, { count }) => sum + count, 0);
  const isOver = results?.is_finalized === true || (expiry != null && Date.parse(expiry) < Date.now());
  return (
    <fieldset class="poll" aria-label={`Poll: ${question.text ?? ''}`}>
      <p class="name">{question.text}</p>
      <p class="dim small">{many ? 'Choose one or more' : 'Choose one'}</p>
      {answers.map(({ answer_id: id, poll_media: { text, emoji } }) => {
        const { count = 0, me_voted: isOwn = false } = counts.get(id) ?? {};
        const share = total === 0 ? 0 : Math.round((100 * count) / total);
        return (
          <button
            type="button"
            key={id}
            class="answer"
            aria-pressed={isOwn}
            disabled={isOver}
            onClick={() => vote(id)}
          >
            <span class="bar" style={{ '--share': `${share}%` }} aria-hidden="true" />
            <span>
              {emoji && <EmojiSign emoji={emoji} />} {text}
            </span>
            <span class="dim small">
              {count} {count === 1 ? 'vote' : 'votes'} · {share} %
            </span>
          </button>
        );
      })}
      <p class="dim small">
        {isOver ? 'This poll has ended.' : expiry && `Ends ${new Date(expiry).toLocaleString()}`}
      </p>
    </fieldset>
  );
}
