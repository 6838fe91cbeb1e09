import { useEffect, useState } from 'preact/hooks';
import type { Chat } from './chat/chat.ts';
import { Conversation } from './chat/conversation.tsx';
import type { GuildEntities } from './chat/entities.ts';
import type { Session } from './session.ts';

interface ChatCardProps {
  readonly session: Session;
  readonly known: GuildEntities;
  /** The id of the channel that is shown first, when the guild has it. */
  readonly asked: string | null;
}

/** A text channel of a guild: its messages, what can be pressed in them, and a line to type in. */
export function ChatCard({ session, known, asked }: ChatCardProps) {
  const { guild } = known;
  const channels = [...guild.texts.values()].sort((a, b) => a.position - b.position);
  const [chosen, setChosen] = useState(asked);
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
      {chat !== null && (
        <Conversation
          chat={chat}
          known={known}
          selfId={session.store.value.directory.self?.id ?? ''}
          open={() => {}}
        />
      )}
    </section>
  );
}
