import { useEffect, useRef, useState } from 'preact/hooks';
import type { Chat } from './chat.ts';

const ANSWERS_MIN = 2;
/** @source https://docs.discord.com/developers/resources/poll#poll-create-request-object */
const ANSWERS_MAX = 10;
const QUESTION_CHARACTERS_MAX = 300;
const ANSWER_CHARACTERS_MAX = 55;
const DURATIONS = [
  [1, 'an hour'],
  [4, 'four hours'],
  [24, 'a day'],
  [72, 'three days'],
  [168, 'a week'],
] as const;
const DURATION_DEFAULT = 24;

/** The form in which a poll is made. */
export function PollForm({ chat, done }: { readonly chat: Chat; readonly done: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [rows, setRows] = useState(ANSWERS_MIN);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form);
    const answers = data.getAll('answer').map((answer) => String(answer).trim());
    const isSent = await chat.actions.sendPoll({
      question: String(data.get('question')).trim(),
      answers: answers.filter((answer) => answer !== ''),
      hours: Number(data.get('hours')),
      isMultiple: data.has('multiple'),
    });
    if (isSent) dialog.current?.close();
  };
  return (
    <dialog ref={dialog} aria-label="Make a poll" onClose={done}>
      <h2>Make a poll</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <label>
          Question
          <input name="question" required maxlength={QUESTION_CHARACTERS_MAX} autocomplete="off" />
        </label>
        {Array.from({ length: rows }, (_, index) => (
          <label key={`answer-${index + 1}`}>
            Answer {index + 1}
            <input
              name="answer"
              required={index < ANSWERS_MIN}
              maxlength={ANSWER_CHARACTERS_MAX}
              autocomplete="off"
            />
          </label>
        ))}
        {rows < ANSWERS_MAX && (
          <button type="button" class="quiet" onClick={() => setRows(rows + 1)}>
            Add an answer
          </button>
        )}
        <label>
          Open for
          <select name="hours">
            {DURATIONS.map(([hours, name]) => (
              <option key={hours} value={hours} selected={hours === DURATION_DEFAULT}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" name="multiple" /> People may choose more than one
        </label>
        <div class="buttons">
          <button type="submit" class="primary">
            Send the poll
          </button>
          <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
