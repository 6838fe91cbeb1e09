import { useEffect, useRef, useState } from 'preact/hooks';
import { callStatusToString, type LobbyHandle, type LobbyMemberHandle } from '../../sdk/index.ts';
import { Face } from '../member.tsx';
import { CallControls } from './call.tsx';
import type { Game, GameState, LinkableChannel } from './game.ts';

interface LobbyProps {
  readonly game: Game;
  readonly state: GameState;
  readonly lobby: LobbyHandle;
}

/** A lobby: its members, its messages, and its call. */
export function Lobby({ game, state, lobby }: LobbyProps) {
  const self = lobby.getLobbyMemberHandle(game.client.getCurrentUserV2()?.id ?? '');
  const status = state.call === null ? null : callStatusToString(state.call.getStatus());
  return (
    <section class="card" aria-label="Lobby" data-lobby={lobby.id}>
      <div class="title">
        <h2>{lobby.metadata.name ?? 'Lobby'}</h2>
        {lobby.linkedChannel !== null && <span class="dim">linked to #{lobby.linkedChannel.name}</span>}
        {status !== null && (
          <span class="phase" role="status" data-phase={status.toLowerCase()}>
            {status}
          </span>
        )}
        <button type="button" class="quiet" onClick={() => game.leave(lobby.id)}>
          Leave
        </button>
      </div>
      <ul class="members" aria-label="Members">
        {lobby.lobbyMembers.map((member) => (
          <Member key={member.id} game={game} state={state} lobby={lobby} member={member} />
        ))}
      </ul>
      <CallControls game={game} state={state} lobby={lobby} />
      <Chat game={game} state={state} />
      {self?.canLinkLobby === true && <Link game={game} lobby={lobby} />}
    </section>
  );
}

function Member({ game, state, lobby, member }: LobbyProps & { readonly member: LobbyMemberHandle }) {
  const { id, connected, additionalName } = member;
  const voice = lobby.getCallInfoHandle()?.getVoiceStateHandle(id) ?? null;
  const name = additionalName ?? game.nameOf(id);
  const speaks = state.speaking.has(id);
  const notes = [
    id === game.client.getCurrentUserV2()?.id && 'you',
    !connected && 'away',
    voice !== null && (voice.selfMute ? 'in the call · muted' : 'in the call'),
  ].filter((note) => note !== false);
  return (
    <li class={speaks ? 'member speaks' : 'member'} data-member={id}>
      <Face userId={id} name={name} ringPx={speaks ? 4 : 0} />
      <span class="name">{name}</span>
      <span class="dim small">{notes.join(' · ') || '\u00a0'}</span>
    </li>
  );
}

function Chat({ game, state }: { game: Game; state: GameState }) {
  const [content, setContent] = useState('');
  const log = useRef<HTMLOListElement>(null);
  const newest = state.messages.at(-1)?.id;
  useEffect(() => log.current?.scrollTo({ top: log.current.scrollHeight }), [newest]);
  const submit = (event: Event): void => {
    event.preventDefault();
    void game.send(content);
    setContent('');
  };
  return (
    <form class="chat" onSubmit={submit}>
      <ol ref={log} aria-live="polite" aria-label="Messages">
        {state.messages.map((message) => (
          <li key={message.id} data-message={message.id}>
            <strong>
              {message.additionalName ?? message.author?.displayName ?? game.nameOf(message.authorId)}
            </strong>{' '}
            <span>{message.content}</span>
          </li>
        ))}
      </ol>
      <input
        aria-label="Message"
        maxlength={2000}
        autocomplete="off"
        required
        value={content}
        onInput={({ currentTarget }) => setContent(currentTarget.value)}
      />
      <button type="submit">Send</button>
    </form>
  );
}

/** Links the lobby to a channel, for players allowed to do so by the game's server; messages are then shared. */
function Link({ game, lobby }: Pick<LobbyProps, 'game' | 'lobby'>) {
  const [places, setPlaces] = useState<readonly LinkableChannel[]>([]);
  const [chosen, setChosen] = useState('');
  const isLinked = lobby.linkedChannel !== null;
  useEffect(() => {
    if (!isLinked) void game.attempt(async () => setPlaces(await game.places()));
  }, [isLinked]);
  if (isLinked) {
    const unlink = () => game.attempt(() => game.client.unlinkChannelFromLobby(lobby.id));
    return (
      <button type="button" onClick={unlink}>
        Unlink the channel
      </button>
    );
  }
  if (places.length === 0)
    return <p class="dim small">There is no channel that you may link this lobby to.</p>;
  const submit = (event: Event): void => {
    event.preventDefault();
    void game.attempt(() => game.client.linkChannelToLobby(lobby.id, chosen || places[0]!.id));
  };
  return (
    <form class="chat" onSubmit={submit}>
      <select
        aria-label="Channel to link"
        value={chosen}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
      >
        {places.map(({ id, name, guildName }) => (
          <option key={id} value={id}>
            {guildName}: #{name}
          </option>
        ))}
      </select>
      <button type="submit">Link the channel</button>
    </form>
  );
}
