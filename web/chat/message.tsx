import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Face } from '../member.tsx';
import { AttachmentList } from './attachments.tsx';
import type { Chat } from './chat.ts';
import { Components } from './components.tsx';
import { EmbedCard } from './embed.tsx';
import { type GuildEntities, shownName } from './entities.ts';
import { EmojiSign, Formatted, Line, type Names } from './formatted.tsx';
import { PollCard } from './poll.tsx';
import { type ChatMessage, type EmojiRef, emojiPath, type Reaction } from './shapes.ts';

const EPHEMERAL = 1 << 6;
/** Commands that are used on a user, and on a message. */
const [USER_MENU, MESSAGE_MENU] = [2, 3];
const LOADING = 1 << 7;
/** Types whose content a person wrote; others are notices of the server. */
const WRITTEN: ReadonlySet<number> = new Set([0, 19, 20, 23]);
const NOTICES: Readonly<Record<number, string>> = {
  6: 'pinned a message.',
  7: 'joined the server.',
  18: 'started a thread.',
  21: 'started this thread.',
  46: 'ended a poll.',
};
const QUICK: readonly string[] = ['👍', '❤️', '😂', '🎉', '👀', '✅'];
/** Messages of one author within this time stand under one name. */
const TOGETHER_MS = 7 * 60_000;

interface MessageProps {
  readonly message: ChatMessage;
  /** The message above it. */
  readonly above: ChatMessage | undefined;
  readonly chat: Chat;
  readonly known: GuildEntities;
  readonly names: Names;
  readonly selfId: string;
  /** Opens a thread. */
  readonly open: (channelId: string) => void;
}

function isContinued(
  { author, timestamp, referenced_message: answered, type = 0 }: ChatMessage,
  above?: ChatMessage,
): boolean {
  if (above === undefined || above.author.id !== author.id || answered || !WRITTEN.has(type)) return false;
  if (!WRITTEN.has(above.type ?? 0) || ((above.flags ?? 0) & EPHEMERAL) !== 0) return false;
  return Date.parse(timestamp) - Date.parse(above.timestamp) < TOGETHER_MS;
}

export function Message(props: MessageProps) {
  const { message, above, chat, known, names } = props;
  const { author, flags = 0, type = 0, referenced_message: answered } = message;
  const [isEditing, setEditing] = useState(false);
  const isEphemeral = (flags & EPHEMERAL) !== 0;
  const continued = isContinued(message, above);
  if (!WRITTEN.has(type) && !isEphemeral) return <Notice message={message} known={known} />;
  const name = shownName(author, known);
  return (
    <li
      class={continued ? 'message continued' : 'message'}
      data-message={message.id}
      data-ephemeral={isEphemeral}
    >
      {answered && (
        <p class="answered dim small">
          <span aria-hidden="true">↱ </span>
          <span class="sr">In answer to </span>
          {shownName(answered.author, known)}: <Line text={answered.content.slice(0, 90)} names={names} />
        </p>
      )}
      {!continued && <Face userId={author.id} name={name} avatar={author.avatar ?? null} ringPx={0} />}
      <div class="body">
        {!continued && (
          <p class="by">
            <span class="name">{name}</span>
            {author.bot === true && <span class="tag">app</span>}
            <Stamp iso={message.timestamp} />
          </p>
        )}
        {isEditing ? (
          <Edit message={message} chat={chat} done={() => setEditing(false)} />
        ) : (
          <Content {...props} isLoading={(flags & LOADING) !== 0} />
        )}
        <Below {...props} isEphemeral={isEphemeral} />
      </div>
      {!isEphemeral && <Actions {...props} edit={() => setEditing(true)} />}
    </li>
  );
}

function Notice({ message, known }: Pick<MessageProps, 'message' | 'known'>) {
  const { type = 0, author, timestamp, content } = message;
  return (
    <li class="message notice-line dim small">
      <span>
        {shownName(author, known)} {NOTICES[type] ?? content}
      </span>
      <Stamp iso={timestamp} />
    </li>
  );
}

function Stamp({ iso }: { readonly iso: string }) {
  const date = new Date(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const style = isToday
    ? ({ timeStyle: 'short' } as const)
    : ({ dateStyle: 'short', timeStyle: 'short' } as const);
  return (
    <time class="dim small" dateTime={iso} title={date.toLocaleString()}>
      {date.toLocaleString(undefined, style)}
    </time>
  );
}

function Content({ message, chat, known, names, isLoading }: MessageProps & { readonly isLoading: boolean }) {
  const {
    content,
    embeds,
    attachments,
    sticker_items: stickers = [],
    poll,
    edited_timestamp: edited,
  } = message;
  return (
    <>
      {isLoading ? (
        <p class="dim">Is thinking …</p>
      ) : (
        content !== '' && <Formatted text={content} names={names} />
      )}
      {edited != null && <p class="dim small">(edited)</p>}
      {embeds.map((embed, index) => (
        <EmbedCard key={index} embed={embed} names={names} />
      ))}
      <AttachmentList attachments={attachments} />
      {stickers.map(({ id, name, format_type: format }) => (
        <img
          key={id}
          class="sticker"
          src={`/stickers/${id}.${format === 4 ? 'gif' : 'png'}`}
          alt={`Sticker: ${name}`}
        />
      ))}
      {poll !== undefined && (
        <PollCard poll={poll} vote={(answerId) => void chat.actions.vote(message, answerId)} />
      )}
      <Components message={message} chat={chat} known={known} names={names} />
    </>
  );
}

function Below({ message, chat, open, isEphemeral }: MessageProps & { readonly isEphemeral: boolean }) {
  const { reactions = [], thread } = message;
  return (
    <>
      {reactions.length > 0 && (
        <Reactions reactions={reactions} press={(emoji) => void chat.actions.react(message, emoji)} />
      )}
      {thread && (
        <button type="button" class="threadlink" onClick={() => open(thread.id)}>
          Thread: {thread.name}
        </button>
      )}
      {isEphemeral && (
        <p class="dim small">
          Only you can see this.{' '}
          <button type="button" class="quiet" onClick={() => chat.dismiss(message)}>
            Dismiss
          </button>
        </p>
      )}
    </>
  );
}

interface ReactionsProps {
  readonly reactions: readonly Reaction[];
  readonly press: (emoji: EmojiRef) => void;
}

function Reactions({ reactions, press }: ReactionsProps) {
  return (
    <ul class="reactions" aria-label="Reactions">
      {reactions.map(({ emoji, count, me }) => (
        <li key={emojiPath(emoji)}>
          <button type="button" aria-pressed={me} onClick={() => press(emoji)}>
            <EmojiSign emoji={emoji} /> <span>{count}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Actions({ message, chat, known, selfId, edit }: MessageProps & { readonly edit: () => void }) {
  const [opened, setOpened] = useState<'emojis' | 'apps' | null>(null);
  const isOwn = message.author.id === selfId;
  const act = (run: () => unknown) => () => {
    setOpened(null);
    run();
  };
  const toggle = (palette: 'emojis' | 'apps') => () => setOpened(opened === palette ? null : palette);
  const own = known.emojis ?? [];
  const menus = chat.store.value.commands.filter(({ type }) => type === USER_MENU || type === MESSAGE_MENU);
  return (
    <fieldset class="actions" aria-label="Actions on this message">
      <Act name="React" sign="☺" press={toggle('emojis')} isOpen={opened === 'emojis'} />
      <Act name="Reply" sign="↩" press={act(() => chat.reply(message))} />
      {!message.thread && message.type !== 21 && (
        <Act
          name="Start a thread"
          sign="↳"
          press={act(() => chat.actions.startThread(message, threadName(message)))}
        />
      )}
      {menus.length > 0 && <Act name="Apps" sign="⚙" press={toggle('apps')} isOpen={opened === 'apps'} />}
      {isOwn && <Act name="Edit" sign="✎" press={act(edit)} />}
      {isOwn && <Act name="Delete" sign="✕" press={act(() => chat.actions.delete(message))} />}
      {opened === 'apps' && (
        <fieldset class="palette" aria-label="Apps">
          {menus.map(({ id, name, type }) => (
            <button
              type="button"
              key={id}
              onClick={act(() => chat.use(name, type === USER_MENU ? message.author : message))}
            >
              {name}
            </button>
          ))}
        </fieldset>
      )}
      {opened === 'emojis' && (
        <fieldset class="palette" aria-label="Emojis">
          {[...QUICK.map((name) => ({ id: null, name })), ...own].map((emoji) => (
            <button
              type="button"
              key={emojiPath(emoji)}
              aria-label={emoji.name ?? ''}
              onClick={act(() => chat.actions.react(message, emoji))}
            >
              <EmojiSign emoji={emoji} />
            </button>
          ))}
        </fieldset>
      )}
    </fieldset>
  );
}

interface ActProps {
  readonly name: string;
  readonly sign: string;
  readonly press: () => void;
  readonly isOpen?: boolean;
}

const Act = ({ name, sign, press, isOpen }: ActProps) => (
  <button type="button" aria-label={name} title={name} aria-expanded={isOpen} onClick={press}>
    <span aria-hidden="true">{sign}</span>
  </button>
);

const threadName = ({ content }: ChatMessage): string =>
  content.split('\n')[0]?.slice(0, 60).trim() || 'New thread';

function Edit({
  message,
  chat,
  done,
}: {
  readonly message: ChatMessage;
  readonly chat: Chat;
  readonly done: () => void;
}) {
  const [text, setText] = useState(message.content);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await chat.actions.edit(message, text)) done();
  };
  return (
    <form
      class="edit"
      onSubmit={(event) => void save(event)}
      onKeyDown={({ key }) => key === 'Escape' && done()}
    >
      <textarea
        aria-label="Edit the message"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Row>
        <button type="submit" class="primary">
          Save
        </button>
        <button type="button" class="quiet" onClick={done}>
          Cancel
        </button>
      </Row>
    </form>
  );
}

const Row = ({ children }: { readonly children: ComponentChildren }) => <div class="buttons">{children}</div>;
