import type { Directory, Guild, VoiceChannel } from './directory.ts';
import { nameOf } from './member.tsx';
import type { Session, SessionState, VoiceChannelRef } from './session.ts';

/** The voice channels of every guild, with their members. */
export function Lobby({ session, state }: { session: Session; state: SessionState }) {
  const { directory, place } = state;
  const guilds = [...directory.guilds.values()];
  if (guilds.length === 0) {
    const isEmpty = state.phase === 'online';
    return <p class="dim center">{isEmpty ? 'This account is in no guild yet.' : 'Connecting …'}</p>;
  }
  return (
    <>
      {guilds.map((guild) => (
        <section class="card" key={guild.id} aria-label={guild.name}>
          <h2>{guild.name}</h2>
          <Channels guild={guild} directory={directory} place={place} join={(to) => session.join(to)} />
        </section>
      ))}
    </>
  );
}

interface ChannelsProps {
  readonly guild: Guild;
  readonly directory: Directory;
  readonly place: VoiceChannelRef | null;
  readonly join: (place: VoiceChannelRef) => void;
}

function Channels({ guild, directory, place, join }: ChannelsProps) {
  const channels = [...guild.channels.values()].sort((a, b) => a.position - b.position);
  if (channels.length === 0) return <p class="dim">There is no voice channel here.</p>;
  const inside = ({ id }: VoiceChannel) =>
    [...guild.voiceStates.values()]
      .filter(({ channelId }) => channelId === id)
      .map(({ userId }) => nameOf(directory, userId));
  return (
    <ul class="channels">
      {channels.map((channel) => {
        const isJoining = place?.channelId === channel.id;
        const names = inside(channel);
        return (
          <li key={channel.id}>
            <button
              type="button"
              class="channel"
              disabled={isJoining}
              onClick={() => join({ guildId: guild.id, channelId: channel.id })}
            >
              <span class="name">{channel.name}</span>
              {channel.isStage && <span class="tag">stage</span>}
              <span class="dim">
                {isJoining ? 'Joining …' : names.length === 0 ? 'Nobody yet' : names.join(', ')}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
