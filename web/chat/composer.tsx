import { useState } from 'preact/hooks';
import type { Chat, ChatState } from './chat.ts';
import { type Completion, completionsOf, quoted, typingIn } from './completion.ts';

/** The line in which the user types messages and commands. */
export function Composer({ chat, state }: { readonly chat: Chat; readonly state: ChatState }) {
  const [text, setText] = useState('');
  const [suggested, setSuggested] = useState<readonly Completion[]>([]);
  const typed = async (next: string): Promise<void> => {
    setText(next);
    setSuggested([]);
    const typing = typingIn(next, state.commands);
    if (!typing) return;
    const { name, option, value } = typing;
    const choices = await chat.suggest(name, { [option]: value }, option);
    const before = next.slice(0, next.length - value.length);
    setSuggested(
      choices.map((choice) => ({
        ...{ label: choice.name, detail: '' },
        text: `${before}${quoted(String(choice.value))} `,
      })),
    );
  };
  const completions = [...suggested, ...completionsOf(text, state.commands)];
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() === '') return;
        void chat.send(text.trim());
        setText('');
        setSuggested([]);
      }}
    >
      {completions.length > 0 && (
        <ul class="completions" aria-label="Completions">
          {completions.map((one) => (
            <li key={one.text}>
              <button type="button" class="quiet" onClick={() => void typed(one.text)}>
                <span class="name">{one.label}</span> <span class="dim">{one.detail}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="buttons">
        <input
          type="text"
          class="composer-text"
          aria-label="Message"
          placeholder="Type a message, or / for commands"
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => void typed(currentTarget.value)}
        />
        <button type="submit" disabled={state.isBusy}>
          Send
        </button>
      </div>
    </form>
  );
}
