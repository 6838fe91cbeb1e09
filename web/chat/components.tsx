import type { Chat, ChatMessage } from './chat.ts';
import { entitiesOf, type Known } from './entities.ts';

/** A component of a message, as far as the page shows it. */
interface Part {
  readonly type: number;
  readonly custom_id?: string;
  readonly label?: string;
  readonly style?: number;
  readonly url?: string;
  readonly disabled?: boolean;
  readonly placeholder?: string;
  readonly content?: string;
  readonly min_values?: number;
  readonly max_values?: number;
  readonly channel_types?: readonly number[];
  readonly default_values?: readonly { readonly id: string }[];
  readonly options?: readonly {
    readonly label: string;
    readonly value: string;
    readonly default?: boolean;
  }[];
  readonly components?: readonly object[];
  readonly accessory?: object;
}

interface PartProps {
  readonly part: Part;
  readonly message: ChatMessage;
  readonly chat: Chat;
  readonly known: Known;
}

const BUTTON = 2;
const SELECTS: readonly number[] = [3, 5, 6, 7, 8];
const TEXT = 10;
const STYLES = ['', 'primary', 'quiet', 'good', 'leave', 'quiet'] as const;

const isPart = (one: object): one is Part => 'type' in one;

/** The components of a message, in their order. */
export function Components({ message, chat, known }: Omit<PartProps, 'part'>) {
  const parts = (message.components ?? []).filter(isPart);
  if (parts.length === 0) return null;
  return (
    <div class="parts">
      {parts.map((part, index) => (
        <Shown key={part.custom_id ?? index} part={part} message={message} chat={chat} known={known} />
      ))}
    </div>
  );
}

function Shown({ part, message, chat, known }: PartProps) {
  const { type, custom_id: id = '', label = '', url, disabled = false, style = 1 } = part;
  if (type === BUTTON && url !== undefined)
    return (
      <a href={url} target="_blank" rel="noreferrer">
        {label}
      </a>
    );
  if (type === BUTTON)
    return (
      <button
        type="button"
        class={STYLES[style] ?? ''}
        disabled={disabled}
        onClick={() => void chat.click(message, id)}
      >
        {label}
      </button>
    );
  if (SELECTS.includes(type)) return <Select part={part} message={message} chat={chat} known={known} />;
  if (type === TEXT) return <p>{part.content}</p>;
  const inner = [...(part.components ?? []), ...(part.accessory ? [part.accessory] : [])].filter(isPart);
  return (
    <div class="buttons">
      {inner.map((one, index) => (
        <Shown key={one.custom_id ?? index} part={one} message={message} chat={chat} known={known} />
      ))}
    </div>
  );
}

/** A select of texts, or of what the guild has. It is sent when the choice of one is made, or of several is left. */
function Select({ part, message, chat, known }: PartProps) {
  const { custom_id: id = '', max_values: max = 1, disabled = false, placeholder } = part;
  const options = entitiesOf(part, known) ?? part.options ?? [];
  const send = (select: HTMLSelectElement): void => {
    const values = [...select.selectedOptions].map(({ value }) => value).filter((value) => value !== '');
    if (values.length >= (part.min_values ?? 1)) void chat.select(message, id, values);
  };
  return (
    <select
      aria-label={placeholder ?? id}
      disabled={disabled}
      multiple={max > 1}
      onChange={({ currentTarget }) => {
        if (max === 1) send(currentTarget);
      }}
      onBlur={({ currentTarget }) => {
        if (max > 1) send(currentTarget);
      }}
    >
      {max === 1 && <option value="">{placeholder ?? 'Choose …'}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value} selected={option.default === true}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
