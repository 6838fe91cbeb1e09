import type { Call, CallState } from './call.ts';
import { DeviceChoice } from './devices.tsx';
import type { Directory, Guild, VoiceChannel } from './directory.ts';
import { Member, nameOf } from './member.tsx';
import type { Session } from './session.ts';
import { useStore } from './store.ts';

interface RoomProps {
  readonly session: Session;
  readonly call: Call;
  readonly guild: Guild;
  readonly channel: VoiceChannel;
  readonly directory: Directory;
}

const PHASES = {
  connecting: 'Connecting …',
  connected: 'Connected',
  reconnecting: 'Reconnecting …',
} as const;

/** A call: its members, their levels, and the controls. */
export function Room({ session, call, guild, channel, directory }: RoomProps) {
  const state = useStore(call.store);
  const inside = [...guild.voiceStates.values()].filter(({ channelId }) => channelId === channel.id);
  const selfId = directory.self?.id ?? '';
  const group = state.dave?.ready ? new Set(state.dave.userIds) : null;
  return (
    <section class="card room" aria-label={channel.name}>
      <div class="title">
        <h2>{channel.name}</h2>
        <span class="dim">{guild.name}</span>
        <span class="phase" role="status" data-phase={state.phase}>
          {PHASES[state.phase]}
        </span>
      </div>
      {state.complaint !== null && (
        <p class="notice bad" role="alert">
          {state.complaint}
        </p>
      )}
      <ul class="members" aria-label="In this channel">
        {inside.map((each) => (
          <Member
            key={each.userId}
            userId={each.userId}
            name={nameOf(directory, each.userId)}
            isSelf={each.userId === selfId}
            state={each}
            level={state.levels.get(each.userId) ?? 0}
            secured={group === null ? null : group.has(each.userId)}
          />
        ))}
      </ul>
      <Controls session={session} state={state} level={state.levels.get(selfId) ?? 0} />
      <DeviceChoice call={call} />
      <Privacy state={state} isAlone={inside.length < 2} />
      <Figures state={state} />
    </section>
  );
}

interface ControlsProps {
  readonly session: Session;
  readonly state: CallState;
  readonly level: number;
}

function Controls({ session, state, level }: ControlsProps) {
  return (
    <div class="controls">
      <button type="button" aria-pressed={state.muted} onClick={() => session.mute(!state.muted)}>
        {state.muted ? 'Unmute' : 'Mute'}
      </button>
      <button type="button" aria-pressed={state.deafened} onClick={() => session.deafen(!state.deafened)}>
        {state.deafened ? 'Undeafen' : 'Deafen'}
      </button>
      <meter aria-label="Your microphone" min={0} max={1} value={Math.min(1, Math.sqrt(level) * 1.5)} />
      <button type="button" class="leave" onClick={() => session.leave()}>
        Leave
      </button>
    </div>
  );
}

/** The privacy code: thirty digits in groups of five, or the reason why there is none. */
function Privacy({ state, isAlone }: { state: CallState; isAlone: boolean }) {
  const { dave } = state;
  const groups = dave?.privacyCode.match(/\d{5}/g) ?? [];
  if (dave !== null && dave.version === 0)
    return <p class="notice bad">This call is not end-to-end encrypted: the server can hear it.</p>;
  if (groups.length === 0 || dave === null || !dave.ready) {
    const text = isAlone ? 'Encryption begins when somebody else joins.' : 'Agreeing on keys …';
    return <p class="dim privacy">{text}</p>;
  }
  return (
    <div class="privacy">
      <h3>End-to-end encrypted</h3>
      <p class="code" data-code={dave.privacyCode}>
        {groups.map((digits, index) => (
          <span key={`${index}${digits}`}>{digits}</span>
        ))}
      </p>
      <p class="dim small">
        Read this code to each other: when it is the same for everyone, nobody else is listening, not even the
        server.
      </p>
    </div>
  );
}

function Figures({ state }: { state: CallState }) {
  const { figures } = state;
  const inMs = (value: number | null | undefined) => (value == null ? '–' : `${Math.round(value)} ms`);
  const loss = figures?.loss == null ? '–' : `${(figures.loss * 100).toFixed(1)} %`;
  return (
    <dl class="figures">
      <div>
        <dt>Loss</dt>
        <dd>{loss}</dd>
      </div>
      <div>
        <dt>Jitter</dt>
        <dd>{inMs(figures?.jitterMs)}</dd>
      </div>
      <div>
        <dt>Round trip</dt>
        <dd>{inMs(figures?.roundTripMs)}</dd>
      </div>
    </dl>
  );
}
