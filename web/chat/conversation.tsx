import { useEffect, useRef, useState } from 'preact/hooks';
import { useStore } from '../store.ts';
import type { Chat, ChatState } from './chat.ts';
import { Composer } from './composer.tsx';
import type { GuildEntities } from './entities.ts';
import type { Names } from './formatted.tsx';
import { Message } from './message.tsx';
import { Modal } from './modal.tsx';
import { PollForm } from './pollform.tsx';

interface ConversationProps {
  readonly chat: Chat;
  readonly known: GuildEntities;
  readonly selfId: string;
  /** Opens a thread. */
  readonly open: (channelId: string) => void;
}

/** Pixels from the end within which the list follows new messages. */
const NEAR_END_PX = 120;

/** A channel's messages, and a line to type in. */
export function Conversation({ chat, known, selfId, open }: ConversationProps) {
  const state = useStore(chat.store);
  const names = namesOf(known);
  const list = useRef<HTMLOListElement>(null);
  const [isPolling, setPolling] = useState(false);
  const newest = state.messages.at(-1)?.id;
  const isNear = useRef(true);
  useEffect(() => {
    if (isNear.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [newest, state.messages]);
  return (
    <>
      <ol
        class="messages"
        aria-label="Messages"
        ref={list}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isNear.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        }}
      >
        {state.hasOlder && (
          <li class="center-line">
            <button type="button" class="quiet" onClick={() => void chat.older()}>
              Show older messages
            </button>
          </li>
        )}
        {state.messages.map((message, index) => (
          <Message
            key={message.id}
            {...{ message, chat, known, names, selfId, open }}
            above={state.messages[index - 1]}
          />
        ))}
      </ol>
      <p class="typing dim small" role="status">
        {typingText(state, names)}
      </p>
      {state.complaint !== null && state.modal === null && (
        <p class="notice bad" role="alert">
          {state.complaint}
        </p>
      )}
      <Composer chat={chat} state={state} known={known} makePoll={() => setPolling(true)} />
      {isPolling && <PollForm chat={chat} done={() => setPolling(false)} />}
      {state.modal !== null && (
        <Modal
          key={state.modal.id}
          {...{ modal: state.modal, chat, known, names, complaint: state.complaint }}
        />
      )}
    </>
  );
}

const namesOf = ({ guild, people }: GuildEntities): Names => ({
  user: (id) => people.get(id)?.name ?? `user ${id.slice(-4)}`,
  role: (id) => guild.roles.get(id)?.name.replace(/^@/, '') ?? 'role',
  channel: (id) => guild.texts.get(id)?.name ?? guild.channels.get(id)?.name ?? 'channel',
});

function typingText({ typing }: ChatState, names: Names): string {
  const writers = [...typing.keys()].filter((id) => id !== '').map((id) => names.user(id));
  if (writers.length === 0) return '\u00a0';
  if (writers.length > 3) return 'Several people are typing …';
  return `${writers.join(', ')} ${writers.length === 1 ? 'is' : 'are'} typing …`;
}
