import type { ChannelView, GuildView, PrivateChannelView } from '../../sdk/index.ts';
import type { SessionState } from '../session.ts';
import { CHANNEL, isForum, isVoice, nameOf, orderedChannels, type PageLocation, threadsOf } from './place.ts';

interface ChannelListProps {
  readonly guilds: readonly GuildView[];
  readonly guild: GuildView | undefined;
  readonly channelId: string | null;
  readonly place: PageLocation;
  readonly state: SessionState;
  readonly privates: ReadonlyMap<string, PrivateChannelView>;
  readonly go: (place: PageLocation) => void;
}

const signOf = (channel: ChannelView): string => (isVoice(channel) ? '♪' : isForum(channel) ? '▤' : '#');

export function ChannelList({ guilds, guild, channelId, place, state, privates, go }: ChannelListProps) {
  const to = (id: string) => go({ guildId: guild?.id ?? null, channelId: id, isLobbies: false });
  const shown = place.isLobbies ? null : channelId;
  return (
    <nav class="channelnav" aria-label="Channels">
      {guilds.length > 1 ? (
        <select
          aria-label="Guild"
          value={guild?.id ?? ''}
          onChange={({ currentTarget: { value } }) =>
            go({ guildId: value, channelId: null, isLobbies: false })
          }
        >
          {guilds.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      ) : (
        <p class="guildname">{guild?.name ?? ''}</p>
      )}
      <ul>
        {guild &&
          orderedChannels(guild).map((channel) =>
            channel.type === CHANNEL.category ? (
              <li key={channel.id} class="category">
                {channel.name}
              </li>
            ) : (
              <li key={channel.id}>
                <Entry channel={channel} isShown={channel.id === shown} press={() => to(channel.id)} />
                <Inside channel={channel} guild={guild} state={state} />
                {!isForum(channel) &&
                  threadsOf(guild, channel.id).map((thread) => (
                    <Entry
                      key={thread.id}
                      channel={thread}
                      isShown={thread.id === shown}
                      press={() => to(thread.id)}
                      isThread
                    />
                  ))}
              </li>
            ),
          )}
      </ul>
      <PrivateList privates={privates} place={place} go={go} />
      <ul class="places">
        <li>
          <button
            type="button"
            class="entry"
            aria-current={place.isLobbies ? 'page' : undefined}
            onClick={() => go({ ...place, isLobbies: true })}
          >
            <span aria-hidden="true">◈</span> Lobbies
          </button>
        </li>
      </ul>
    </nav>
  );
}

/** Private channels, newest first. A button beside each member opens one. */
function PrivateList({ privates, place, go }: Pick<ChannelListProps, 'privates' | 'place' | 'go'>) {
  if (privates.size === 0) return null;
  return (
    <>
      <h2 class="category" id="private-channels">
        Private
      </h2>
      <ul aria-labelledby="private-channels">
        {[...privates.values()].reverse().map((one) => (
          <li key={one.id}>
            <button
              type="button"
              class="entry"
              aria-current={!place.isLobbies && place.channelId === one.id ? 'page' : undefined}
              onClick={() => go({ ...place, channelId: one.id, isLobbies: false })}
            >
              <span aria-hidden="true">@</span> {nameOf(one)}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

interface EntryProps {
  readonly channel: ChannelView;
  readonly isShown: boolean;
  readonly press: () => void;
  readonly isThread?: boolean;
}

const Entry = ({ channel, isShown, press, isThread = false }: EntryProps) => (
  <button
    type="button"
    class={isThread ? 'entry thread' : 'entry'}
    aria-current={isShown ? 'page' : undefined}
    onClick={press}
  >
    <span aria-hidden="true">{isThread ? '↳' : signOf(channel)}</span> {channel.name}
  </button>
);

/** The users in a voice room. */
function Inside({
  channel,
  guild,
  state,
}: {
  readonly channel: ChannelView;
  readonly guild: GuildView;
  readonly state: SessionState;
}) {
  if (!isVoice(channel)) return null;
  const known = state.directory.guilds.get(guild.id);
  const inside = [...(known?.voiceStates.values() ?? [])].filter((one) => one.channelId === channel.id);
  if (inside.length === 0) return null;
  return (
    <ul class="inside" aria-label={`In ${channel.name}`}>
      {inside.map(({ userId, muted }) => (
        <li key={userId} class="dim small">
          {guild.members.get(userId)?.name ??
            state.directory.people.get(userId)?.name ??
            `User ${userId.slice(-4)}`}
          {muted && ' (muted)'}
        </li>
      ))}
    </ul>
  );
}
