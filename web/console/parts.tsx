import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import type { Json } from '../../sdk/voice/wire.ts';

interface Loaded {
  readonly body: Json | null;
  readonly complaint: string | null;
  readonly reload: () => void;
}

/** What `load` yields, again after each `everyMs`, while the page is seen. */
export function useLoaded(load: () => Promise<Json>, key: string, everyMs = 0): Loaded {
  const [body, setBody] = useState<Json | null>(null);
  const [complaint, setComplaint] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isOver = false;
    const run = (): void => {
      if (document.hidden) return;
      load().then(
        (loaded) => {
          if (isOver) return;
          setBody(loaded);
          setComplaint(null);
        },
        (error: unknown) => !isOver && setComplaint(messageOf(error)),
      );
    };
    run();
    const timer = everyMs > 0 ? setInterval(run, everyMs) : null;
    return () => {
      isOver = true;
      if (timer !== null) clearInterval(timer);
    };
  }, [key, round, everyMs]);
  return { body, complaint, reload: () => setRound(round + 1) };
}

export const Complaint = ({ text }: { readonly text: string | null }) =>
  text === null ? null : (
    <p class="notice bad" role="alert">
      {text}
    </p>
  );

export interface Column {
  readonly title: string;
  readonly cell: (row: Json) => ComponentChildren;
  readonly isNumber?: boolean;
}

/** What scrolls may have nothing to focus: keys scroll it once it is focused itself. */
export const SCROLLED_BY_KEYS = { tabIndex: 0 };

interface TableProps {
  readonly name: string;
  readonly rows: readonly Json[];
  readonly columns: readonly Column[];
}

/** Rows drawn at first and by each press of the button: thousands at once would stop the page. */
const ROWS_DRAWN = 100;

export function Table({ name, rows, columns }: TableProps) {
  const [drawn, setDrawn] = useState(ROWS_DRAWN);
  const hidden = rows.length - drawn;
  return (
    <div class="tablebox" {...SCROLLED_BY_KEYS}>
      <table>
        <caption class="sr">{name}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'num' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, drawn).map((row, index) => (
            <tr key={String(row.id ?? index)}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} class={isNumber ? 'num' : ''}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="dim center">Nothing here.</p>}
      {hidden > 0 && (
        <button type="button" onClick={() => setDrawn(drawn + ROWS_DRAWN)}>
          Show {Math.min(hidden, ROWS_DRAWN)} more of {hidden.toLocaleString()}
        </button>
      )}
    </div>
  );
}

interface PagerProps {
  readonly trail: readonly string[];
  readonly last: string | null;
  readonly go: (trail: readonly string[]) => void;
}

/** Pages of a table that the server cuts: it is asked for what stands behind an id. */
export function Pager({ trail, last, go }: PagerProps) {
  return (
    <div class="pager">
      <button type="button" disabled={trail.length === 0} onClick={() => go(trail.slice(0, -1))}>
        Back
      </button>
      <span class="dim small">Page {trail.length + 1}</span>
      <button type="button" disabled={last === null} onClick={() => last !== null && go([...trail, last])}>
        Next
      </button>
    </div>
  );
}

export interface Change {
  readonly title: string;
  /** What the change does, in a sentence. */
  readonly says: string;
  readonly fields?: readonly { readonly name: string; readonly label: string; readonly optional?: boolean }[];
  readonly run: (fields: Readonly<Record<string, string>>) => Promise<Json>;
}

/** Asks before a change, says what it does, and shows what the server answered. */
export function Confirm({ change, done }: { readonly change: Change; readonly done: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [complaint, setComplaint] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Json | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget)].map(
      ([name, value]) => [name, String(value).trim()] as const,
    );
    try {
      setComplaint(null);
      setAnswer(await change.run(Object.fromEntries(given.filter(([, value]) => value !== ''))));
    } catch (error) {
      setComplaint(messageOf(error));
    }
  };
  return (
    <dialog ref={dialog} aria-label={change.title} onClose={done}>
      <h2>{change.title}</h2>
      <form class="form" onSubmit={(event) => void submit(event)}>
        <p>{change.says} It is written to the trail.</p>
        <Complaint text={complaint} />
        {answer === null &&
          change.fields?.map(({ name, label, optional }) => (
            <div class="field" key={name}>
              <label for={`field-${name}`}>{label}</label>
              <input id={`field-${name}`} name={name} required={optional !== true} autocomplete="off" />
            </div>
          ))}
        {answer !== null && <Answer answer={answer} />}
        <div class="buttons">
          {answer === null && (
            <button type="submit" class="primary">
              {change.title}
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            {answer === null ? 'Cancel' : 'Close'}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const Answer = ({ answer }: { readonly answer: Json }) =>
  Object.keys(answer).length === 0 ? (
    <p role="status">Done.</p>
  ) : (
    <textarea class="program" readOnly aria-label="Answer" rows={8} value={JSON.stringify(answer, null, 2)} />
  );
