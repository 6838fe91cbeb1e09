import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../session.ts';
import { useStore } from '../store.ts';
import type { Chat, ChatMessage } from './chat.ts';
import { Components } from './components.tsx';
import { Composer } from './composer.tsx';
import type { Known } from './entities.ts';
import { Modal } from './modal.tsx';

const EPHEMERAL = 1 << 6;
const LOADING = 1 << 7;

/** A text channel of a guild: its messages, what can be pressed in them, and a line to type in. */
export function ChatCard({ session, known }: { readonly session: Session; readonly known: Known }) {
  const { guild } = known;
  const channels = [...guild.texts.values()].sort((a, b) => a.position - b.position);
  const [chosen, setChosen] = useState<string | null>(null);
  const channel = channels.find(({ id }) => id === chosen) ?? channels[0];
  const [chat, setChat] = useState<Chat | null>(null);
  const channelId = channel?.id;
  useEffect(() => {
    const begun = channelId === undefined ? null : session.chat(guild.id, channelId);
    setChat(begun);
    return () => begun?.close();
  }, [session, guild.id, channelId]);
  if (channel === undefined) return null;
  return (
    <section class="card chat" aria-label={`#${channel.name}`}>
      <div class="title">
        <h2>#{channel.name}</h2>
        {channels.length > 1 && (
          <select aria-label="Text channel" onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
            {channels.map(({ id, name }) => (
              <option key={id} value={id} selected={id === channel.id}>
                #{name}
              </option>
            ))}
          </select>
        )}
      </div>
      {chat !== null && <Conversation chat={chat} known={known} />}
    </section>
  );
}

function Conversation({ chat, known }: { readonly chat: Chat; readonly known: Known }) {
  const state = useStore(chat.store);
  return (
    <>
      <ol class="messages" aria-label="Messages">
        {state.messages.map((message) => (
          <Message key={message.id} message={message} chat={chat} known={known} />
        ))}
      </ol>
      {state.complaint !== null && (
        <p class="notice bad" role="alert">
          {state.complaint}
        </p>
      )}
      <Composer chat={chat} state={state} />
      {state.modal !== null && <Modal key={state.modal.id} modal={state.modal} chat={chat} known={known} />}
    </>
  );
}

interface Embed {
  readonly title?: string;
  readonly description?: string;
}

const isEmbed = (embed: object): embed is Embed => 'title' in embed || 'description' in embed;

interface MessageProps {
  readonly message: ChatMessage;
  readonly chat: Chat;
  readonly known: Known;
}

function Message({ message, chat, known }: MessageProps) {
  const { author, content, embeds, attachments, flags = 0 } = message;
  const isEphemeral = (flags & EPHEMERAL) !== 0;
  return (
    <li data-ephemeral={isEphemeral}>
      <span class="name">{author.global_name ?? author.username}</span>
      <p class="text">{(flags & LOADING) !== 0 ? 'Is thinking …' : content}</p>
      {embeds.filter(isEmbed).map((embed, index) => (
        <blockquote key={`${index}${embed.title ?? ''}`}>
          <strong>{embed.title}</strong> {embed.description}
        </blockquote>
      ))}
      {attachments.map(({ filename, url }) => (
        <a key={url} href={url} target="_blank" rel="noreferrer">
          {filename}
        </a>
      ))}
      <Components message={message} chat={chat} known={known} />
      {isEphemeral && (
        <p class="dim small">
          Only you can see this.{' '}
          <button type="button" class="quiet" onClick={() => chat.dismiss(message)}>
            Dismiss
          </button>
        </p>
      )}
    </li>
  );
}
