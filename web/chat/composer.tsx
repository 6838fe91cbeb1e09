import { useEffect, useRef, useState } from 'preact/hooks';
import type { OptionFile } from '../../sdk/interactions/invocation.ts';
import type { Chat, ChatState } from './chat.ts';
import { type Completion, completionsOf, quoted, typingIn } from './completion.ts';
import { type GuildEntities, optionEntities, shownName } from './entities.ts';

interface ComposerProps {
  readonly chat: Chat;
  readonly state: ChatState;
  readonly known: GuildEntities;
  readonly makePoll: () => void;
}

/** How long a line rests before the application is asked how it goes on. Requests to an application are limited. */
const REST_MS = 250;
/** Lines that are shown before the text scrolls. */
const ROWS_MAX = 8;

/** What is typed, and how it can go on. */
function useLine(chat: Chat, state: ChatState, known: GuildEntities) {
  const [text, setText] = useState('');
  const [suggested, setSuggested] = useState<readonly Completion[]>([]);
  const [at, setAt] = useState(0);
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(resting.current), []);
  const latest = useRef('');
  const suggest = async (line: string): Promise<void> => {
    const typing = typingIn(line, state.commands);
    if (!typing) return;
    const { name, option, value, others, before } = typing;
    const choices = await chat.suggest(name, { ...others, [option]: value }, option);
    // The answer may arrive after the line went on.
    if (latest.current !== line) return;
    setSuggested(
      choices.map((choice) => ({
        ...{ label: choice.name, detail: '' },
        text: `${before}${quoted(String(choice.value))} `,
      })),
    );
  };
  const typed = (next: string): void => {
    latest.current = next;
    setText(next);
    setSuggested([]);
    setAt(0);
    if (next !== '' && !next.startsWith('/')) chat.typing();
    clearTimeout(resting.current);
    resting.current = setTimeout(() => void suggest(next), REST_MS);
  };
  const completions = [...suggested, ...completionsOf(text, state.commands, optionEntities(known))];
  /** Enter sends, and with Shift begins a line; arrows choose a completion, Tab takes it, Escape drops what was begun. */
  const keyed = (event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement }): void => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      event.currentTarget.form?.requestSubmit();
      return;
    }
    if (event.key === 'Escape') {
      setSuggested([]);
      chat.reply(null);
    }
    const chosen = completions[at];
    if (chosen === undefined) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setAt((at + step + completions.length) % completions.length);
    else if (event.key === 'Tab' && !event.shiftKey) typed(chosen.text);
    else return;
    event.preventDefault();
  };
  /** Gives a text back that could not be sent, unless another was begun. */
  const giveBack = (kept: string): void => setText((now) => now || kept);
  return { text, typed, keyed, completions, at, giveBack };
}

/** The line in which the user types messages and commands. */
export function Composer({ chat, state, known, makePoll }: ComposerProps) {
  const { text, typed, keyed, completions, at, giveBack } = useLine(chat, state, known);
  const [files, setFiles] = useState<readonly File[]>([]);
  const box = useRef<HTMLTextAreaElement>(null);
  const take = (one: Completion): void => {
    typed(one.text);
    box.current?.focus();
  };
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.trim() === '' && files.length === 0) return;
    typed('');
    setFiles([]);
    if (await chat.send(text.trim(), await Promise.all(files.map(read)))) return;
    setFiles(files);
    giveBack(text);
  };
  return (
    <form class="composer" onSubmit={(event) => void send(event)}>
      <Completions completions={completions} at={at} take={take} />
      <ReplyLine chat={chat} state={state} known={known} />
      <FileLine files={files} drop={() => setFiles([])} />
      <div class="line">
        <Attach add={setFiles} />
        <button type="button" class="quiet" onClick={makePoll}>
          Poll
        </button>
        <Stickers chat={chat} stickers={known.stickers ?? []} />
        <textarea
          ref={box}
          class="composer-text"
          rows={Math.min(ROWS_MAX, text.split('\n').length)}
          aria-label="Message"
          aria-controls={completions.length > 0 ? 'completions' : undefined}
          aria-activedescendant={completions.length > 0 ? `completion-${at}` : undefined}
          aria-autocomplete="list"
          placeholder="Type a message, or / for commands"
          autocomplete="off"
          maxlength={4000}
          value={text}
          onKeyDown={keyed}
          onInput={({ currentTarget }) => typed(currentTarget.value)}
        />
        <button type="submit" class="primary">
          Send
        </button>
      </div>
    </form>
  );
}

const Attach = ({ add }: { readonly add: (files: readonly File[]) => void }) => (
  <label class="attach" title="Add files">
    <span aria-hidden="true">+</span>
    <span class="sr">Add files</span>
    <input
      type="file"
      multiple
      class="sr"
      onChange={({ currentTarget }) => add([...(currentTarget.files ?? [])])}
    />
  </label>
);

const FileLine = ({ files, drop }: { readonly files: readonly File[]; readonly drop: () => void }) =>
  files.length === 0 ? null : (
    <p class="small dim">
      {files.map(({ name }) => name).join(', ')}{' '}
      <button type="button" class="quiet" onClick={drop}>
        Remove
      </button>
    </p>
  );

const read = async (file: File): Promise<OptionFile> => ({
  ...{ filename: file.name, bytes: new Uint8Array(await file.arrayBuffer()) },
});

interface CompletionsProps {
  readonly completions: readonly Completion[];
  readonly at: number;
  readonly take: (one: Completion) => void;
}

/** Ways the line can go on; the arrows choose and Tab takes. */
function Completions({ completions, at, take }: CompletionsProps) {
  if (completions.length === 0) return null;
  return (
    <ul class="completions" id="completions" aria-label="Completions">
      {completions.map((one, index) => (
        <li key={one.text} id={`completion-${index}`} class={index === at ? 'chosen' : ''}>
          <button type="button" class="quiet" tabIndex={-1} onClick={() => take(one)}>
            <span class="name">{one.label}</span> <span class="dim">{one.detail}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function ReplyLine({ chat, state: { replyTo }, known }: Omit<ComposerProps, 'makePoll'>) {
  if (replyTo === null) return null;
  return (
    <p class="small dim">
      In answer to {shownName(replyTo.author, known)}{' '}
      <button type="button" class="quiet" onClick={() => chat.reply(null)}>
        Cancel
      </button>
    </p>
  );
}

function Stickers({
  chat,
  stickers,
}: {
  readonly chat: Chat;
  readonly stickers: NonNullable<GuildEntities['stickers']>;
}) {
  if (stickers.length === 0) return null;
  return (
    <select
      class="stickers"
      aria-label="Send a sticker"
      onChange={({ currentTarget }) => {
        if (currentTarget.value !== '') void chat.actions.sendSticker(currentTarget.value);
        currentTarget.value = '';
      }}
    >
      <option value="">Sticker</option>
      {stickers.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
