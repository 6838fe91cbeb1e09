import { useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import type { ChannelView, GuildView } from '../../sdk/index.ts';
import { Activities } from '../activities.tsx';
import { callApi, jsonBody } from '../api.ts';
import { Room } from '../room.tsx';
import type { Session, SessionState } from '../session.ts';
import { useStore } from '../store.ts';
import type { SignedIn } from '../tabaccount.ts';
import { ChannelList } from './channellist.tsx';
import { Forum } from './forum.tsx';
import { FramePanel } from './framepanel.tsx';
import type { FrameLog } from './frames.ts';
import { Lobbies } from './lobbies.tsx';
import { MemberList } from './memberlist.tsx';
import { isForum, isVoice, orderedChannels, type PageLocation } from './place.ts';
import { PrivateChannel } from './privatechannel.tsx';
import { RecipeCard } from './recipes.tsx';
import { TextChannel } from './textchannel.tsx';
import type { WorldStore } from './worldstore.ts';

interface PlaygroundProps {
  readonly session: Session;
  readonly log: FrameLog;
  readonly world: WorldStore;
  readonly signedIn: SignedIn;
  readonly signOut: () => void;
}

type Drawer = 'channels' | 'side' | null;

/** The chat: channels, what is in the chosen one, members, and the gateway's frames. */
export function Playground({ session, log, world, signedIn, signOut }: PlaygroundProps) {
  const state = useStore(session.store);
  const { guilds, privates } = useStore(world);
  const [complaint, setComplaint] = useState<string | null>(null);
  const [place, setPlace] = useState<PageLocation>({ guildId: null, channelId: null, isLobbies: false });
  const [drawer, setDrawer] = useState<Drawer>(null);
  const [hasFrames, setFrames] = useState(() => matchMedia('(min-width: 60rem)').matches);
  const guild = guilds.get(place.guildId ?? '') ?? [...guilds.values()][0];
  const own = privates.get(place.channelId ?? '');
  const channel = own ? undefined : guild && channelOf(guild, place.channelId);
  const go = (next: PageLocation): void => {
    setPlace(next);
    setDrawer(null);
  };
  const attempt = (run: () => Promise<void>): void => {
    setComplaint(null);
    run().catch((error: unknown) => setComplaint(messageOf(error)));
  };
  const openChannel = (channelId: string): void => go({ ...place, channelId, isLobbies: false });
  const write = (userId: string): void =>
    attempt(async () => openChannel(await openPrivate(signedIn.token, userId)));
  const toggle = (which: Drawer) => () => setDrawer(drawer === which ? null : which);
  return (
    <div class="playground" data-drawer={drawer ?? 'none'} data-frames={hasFrames}>
      <a class="skip" href="#chat">
        Skip to the chat
      </a>
      <Top {...{ drawer, toggle, hasFrames, setFrames, signOut }} name={state.directory.self?.name ?? ''} />
      <ChannelList
        guilds={[...guilds.values()]}
        guild={guild}
        channelId={channel?.id ?? null}
        place={place}
        state={state}
        privates={privates}
        go={go}
      />
      <main id="chat" tabIndex={-1}>
        <Notices state={state} complaint={complaint} />
        <CurrentCall session={session} state={state} />
        {place.isLobbies ? (
          <Lobbies token={signedIn.token} applicationId={signedIn.demo?.applicationId ?? ''} />
        ) : own ? (
          <PrivateChannel
            key={own.id}
            {...{ session, attempt }}
            token={signedIn.token}
            channel={own}
            selfId={state.directory.self?.id ?? ''}
            others={[...(guild?.members.values() ?? [])]}
            open={openChannel}
          />
        ) : (
          guild && channel && <Center {...{ session, state, guild, channel, go }} token={signedIn.token} />
        )}
        {!channel && !own && !place.isLobbies && (
          <p class="dim center">
            {state.phase === 'online' ? 'This account is in no guild yet.' : 'Connecting …'}
          </p>
        )}
      </main>
      <aside class="side" aria-label="People and programs">
        {signedIn.demo !== null && <RecipeCard recipes={signedIn.demo.recipes} />}
        {guild && <MemberList guild={guild} selfId={state.directory.self?.id ?? ''} write={write} />}
      </aside>
      {hasFrames && <FramePanel log={log} />}
    </div>
  );
}

/** The private channel with a person, which is made when there is none. */
async function openPrivate(token: string, userId: string): Promise<string> {
  const body = jsonBody('POST', { recipients: [userId] });
  const opened = await callApi(token, '/users/@me/channels', body);
  if (typeof opened === 'object' && opened !== null && 'id' in opened) return String(opened.id);
  throw new Error('The server answered without a channel.');
}

interface TopProps {
  readonly drawer: Drawer;
  readonly toggle: (which: Drawer) => () => void;
  readonly hasFrames: boolean;
  readonly setFrames: (hasFrames: boolean) => void;
  readonly name: string;
  readonly signOut: () => void;
}

function Top({ drawer, toggle, hasFrames, setFrames, name, signOut }: TopProps) {
  return (
    <header class="top">
      <button
        type="button"
        class="only-narrow"
        aria-expanded={drawer === 'channels'}
        onClick={toggle('channels')}
      >
        Channels
      </button>
      <h1>Guildhall</h1>
      <span class="who">{name}</span>
      <button type="button" aria-pressed={hasFrames} onClick={() => setFrames(!hasFrames)}>
        Frames
      </button>
      <button type="button" class="only-narrow" aria-expanded={drawer === 'side'} onClick={toggle('side')}>
        People
      </button>
      <button type="button" class="quiet" onClick={signOut}>
        Sign out
      </button>
    </header>
  );
}

/** The chosen channel, or the first one with text. */
function channelOf(guild: GuildView, channelId: string | null): ChannelView | undefined {
  const chosen = guild.channels.get(channelId ?? '');
  return chosen ?? orderedChannels(guild).find((one) => one.type === 0) ?? orderedChannels(guild)[0];
}

interface NoticesProps {
  readonly state: SessionState;
  readonly complaint: string | null;
}

function Notices({ state, complaint }: NoticesProps) {
  const wrong = complaint ?? state.complaint;
  return (
    <>
      {state.phase === 'offline' && (
        <p class="notice" role="status">
          The connection to the server was lost. Trying again …
        </p>
      )}
      {wrong !== null && (
        <p class="notice bad" role="alert">
          {wrong}
        </p>
      )}
    </>
  );
}

interface CenterProps {
  readonly session: Session;
  readonly state: SessionState;
  readonly guild: GuildView;
  readonly channel: ChannelView;
  readonly token: string;
  readonly go: (place: PageLocation) => void;
}

function Center({ session, state, guild, channel, token, go }: CenterProps) {
  const open = (channelId: string) => go({ guildId: guild.id, channelId, isLobbies: false });
  const known = state.directory.guilds.get(guild.id);
  const { place, directory } = state;
  if (isForum(channel)) return <Forum key={channel.id} {...{ guild, channel, token, open }} />;
  return (
    <>
      {isVoice(channel) && place?.channelId !== channel.id && (
        <JoinVoice
          channel={channel}
          join={() => session.join({ guildId: guild.id, channelId: channel.id })}
        />
      )}
      {isVoice(channel) && known && (
        <Activities key={known.id} session={session} guild={known} asked={null} />
      )}
      {known && state.phase !== 'connecting' && (
        <TextChannel key={channel.id} {...{ session, guild, channel, open, known, directory }} />
      )}
    </>
  );
}

/** The call that the user is in. It stays in sight whatever else is opened, so that it can be muted and left. */
function CurrentCall({ session, state }: Pick<CenterProps, 'session' | 'state'>) {
  const { place, call, directory } = state;
  const guild = directory.guilds.get(place?.guildId ?? '');
  const channel = guild?.channels.get(place?.channelId ?? '');
  if (call === null || guild === undefined || channel === undefined) return null;
  return <Room session={session} call={call} guild={guild} channel={channel} directory={directory} />;
}

const JoinVoice = ({ channel, join }: { readonly channel: ChannelView; readonly join: () => void }) => (
  <section class="card joincard" aria-label={`Voice room ${channel.name}`}>
    <p>
      <strong>{channel.name}</strong> is a voice room. What you say is encrypted on this device.
    </p>
    <button type="button" class="primary" onClick={join}>
      Join the call
    </button>
  </section>
);
