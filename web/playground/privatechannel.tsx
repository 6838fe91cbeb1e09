import { useEffect, useState } from 'preact/hooks';
import type { MemberView, PrivateChannelView } from '../../sdk/index.ts';
import { callApi } from '../api.ts';
import type { Chat } from '../chat/chat.ts';
import { Conversation } from '../chat/conversation.tsx';
import type { Guild } from '../directory.ts';
import type { Session } from '../session.ts';
import { nameOf } from './place.ts';

interface PrivateChannelProps {
  readonly session: Session;
  readonly token: string;
  readonly channel: PrivateChannelView;
  readonly selfId: string;
  /** People who can be added. */
  readonly others: readonly MemberView[];
  readonly open: (channelId: string) => void;
  /** Runs a call and shows why it failed. */
  readonly attempt: (run: () => Promise<void>) => void;
}

/** A private channel has people, and nothing else of a guild. */
const NO_GUILD: Guild = {
  ...{ id: '', name: '', channels: new Map(), texts: new Map(), roles: new Map(), voiceStates: new Map() },
};

/** The messages of a private channel, and who is in it. */
export function PrivateChannel(props: PrivateChannelProps) {
  const { session, channel, selfId } = props;
  const [chat, setChat] = useState<Chat | null>(null);
  useEffect(() => {
    const begun = session.chat(null, channel.id);
    setChat(begun);
    return () => begun?.close();
  }, [session, channel.id]);
  const name = nameOf(channel);
  return (
    <section class="chat" aria-label={`Private channel with ${name}`}>
      <div class="channelhead">
        <h2>@ {name}</h2>
        <Recipients {...props} />
      </div>
      {chat !== null && (
        <Conversation
          chat={chat}
          known={{ guild: NO_GUILD, people: channel.people }}
          selfId={selfId}
          open={() => {}}
        />
      )}
    </section>
  );
}

/** Adds people, which makes a group of a channel with one person, and leaves groups. */
function Recipients({ token, channel, selfId, others, open, attempt }: PrivateChannelProps) {
  const [chosen, setChosen] = useState('');
  const able = others.filter(({ id, isBot }) => !isBot && id !== selfId && !channel.people.has(id));
  const add = async (): Promise<void> => {
    const added = await callApi(token, `/channels/${channel.id}/recipients/${chosen}`, { method: 'PUT' });
    setChosen('');
    if (typeof added === 'object' && added !== null && 'id' in added) open(String(added.id));
  };
  const leave = async (): Promise<void> => {
    await callApi(token, `/channels/${channel.id}`, { method: 'DELETE' });
  };
  return (
    <div class="recipients">
      {able.length > 0 && (
        <>
          <select
            aria-label="Person to add"
            value={chosen}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
          >
            <option value="">Add a person …</option>
            {able.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
          <button type="button" disabled={chosen === ''} onClick={() => attempt(add)}>
            Add
          </button>
        </>
      )}
      {channel.isGroup && (
        <button type="button" onClick={() => attempt(leave)}>
          Leave
        </button>
      )}
    </div>
  );
}
