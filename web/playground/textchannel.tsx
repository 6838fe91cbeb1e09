import { useEffect, useState } from 'preact/hooks';
import type { ChannelView, GuildView } from '../../sdk/index.ts';
import type { Chat } from '../chat/chat.ts';
import { Conversation } from '../chat/conversation.tsx';
import type { Directory, Guild } from '../directory.ts';
import type { Session } from '../session.ts';
import { isThread } from './place.ts';

interface TextChannelProps {
  readonly session: Session;
  readonly guild: GuildView;
  readonly channel: ChannelView;
  readonly known: Guild;
  readonly directory: Directory;
  readonly open: (channelId: string) => void;
}

/** The messages of a channel or thread. */
export function TextChannel({ session, guild, channel, known, directory, open }: TextChannelProps) {
  const [chat, setChat] = useState<Chat | null>(null);
  useEffect(() => {
    const begun = session.chat(guild.id, channel.id);
    setChat(begun);
    return () => begun?.close();
  }, [session, guild.id, channel.id]);
  const parent = isThread(channel) ? guild.channels.get(channel.parentId ?? '') : undefined;
  const people = new Map([...directory.people, ...guild.members]);
  const { emojis, stickers } = guild;
  return (
    <section class="chat" aria-label={`#${channel.name}`}>
      <div class="channelhead">
        {parent && (
          <button type="button" class="quiet" onClick={() => open(parent.id)}>
            ‹ {parent.name}
          </button>
        )}
        <h2>{isThread(channel) ? channel.name : `# ${channel.name}`}</h2>
        <p class="dim small topic">{channel.topic}</p>
      </div>
      {chat !== null && (
        <Conversation
          chat={chat}
          known={{ guild: known, people, emojis, stickers }}
          selfId={directory.self?.id ?? ''}
          open={open}
        />
      )}
    </section>
  );
}
