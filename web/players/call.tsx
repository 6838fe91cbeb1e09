import { useState } from 'preact/hooks';
import type { Call, LobbyHandle } from '../../sdk/index.ts';
import type { Game, GameState } from './game.ts';

interface CallProps {
  readonly game: Game;
  readonly state: GameState;
  readonly lobby: LobbyHandle;
}

/** Controls of the lobby's call: joining it, and settings while in it. */
export function CallControls({ game, state, lobby }: CallProps) {
  const { call } = state;
  if (call === null)
    return (
      <div class="controls">
        <button type="button" class="primary" onClick={() => game.talk(lobby.id)}>
          Talk
        </button>
      </div>
    );
  const muted = call.getSelfMute();
  const deafened = call.getSelfDeaf();
  return (
    <>
      <div class="controls">
        <button type="button" aria-pressed={muted} onClick={() => call.setSelfMute(!muted)}>
          {muted ? 'Unmute' : 'Mute'}
        </button>
        <button type="button" aria-pressed={deafened} onClick={() => call.setSelfDeaf(!deafened)}>
          {deafened ? 'Undeafen' : 'Deafen'}
        </button>
        <label>
          <input
            type="checkbox"
            defaultChecked
            onChange={({ currentTarget }) => game.clean(currentTarget.checked)}
          />{' '}
          Take out noise and echo
        </label>
        <button type="button" class="leave" onClick={() => game.client.endCall(lobby.id)}>
          Hang up
        </button>
      </div>
      <Others game={game} call={call} />
      <Privacy call={call} />
    </>
  );
}

/** Volume controls of the other members. */
function Others({ game, call }: { game: Game; call: Call }) {
  const selfId = game.client.getCurrentUserV2()?.id;
  const others = call.getParticipants().filter((userId) => userId !== selfId);
  return (
    <div class="devices">
      {others.map((userId) => (
        <Volume key={userId} userId={userId} name={game.nameOf(userId)} call={call} />
      ))}
    </div>
  );
}

function Volume({ userId, name, call }: { userId: string; name: string; call: Call }) {
  const [volume, setVolume] = useState(call.getParticipantVolume(userId));
  const turn = (to: number): void => {
    call.setParticipantVolume(userId, to);
    setVolume(to);
  };
  return (
    <label>
      Volume of {name}
      <input
        type="range"
        min={0}
        max={200}
        value={volume}
        onInput={({ currentTarget }) => turn(currentTarget.valueAsNumber)}
      />
    </label>
  );
}

/** The privacy code: thirty digits in groups of five, once encryption is established. */
function Privacy({ call }: { call: Call }) {
  const complaint = call.getComplaint();
  if (complaint !== null)
    return (
      <p class="notice bad" role="alert">
        {complaint}
      </p>
    );
  const encryption = call.getEncryption();
  const code = encryption?.ready ? encryption.privacyCode : '';
  if (code === '') return <p class="dim small">Encryption begins when somebody else joins.</p>;
  return (
    <div class="privacy">
      <h3>End-to-end encrypted</h3>
      <p class="code" data-code={code}>
        {code.match(/\d{5}/g)?.map((digits, index) => (
          <span key={`${index}${digits}`}>{digits}</span>
        ))}
      </p>
    </div>
  );
}
