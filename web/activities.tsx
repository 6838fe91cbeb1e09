import { useEffect, useRef, useState } from 'preact/hooks';
import { isJson, type Json } from '../sdk/voice/wire.ts';
import type { OpenActivity } from './activityhosts.ts';
import type { Guild } from './directory.ts';
import type { Session } from './session.ts';

interface Running {
  readonly id: string;
  readonly applicationId: string;
  readonly channelId: string;
  readonly participants: number;
}

/** Channels whose running activities are read when the page opens; the gateway reports later ones. */
const CHANNELS_MAX = 10;

function runningOf(d: Json): Running | null {
  const location = isJson(d.location) ? d.location : {};
  const { composite_instance_id: id, application_id: applicationId } = d;
  const { channel_id: channelId } = location;
  if (typeof id !== 'string' || typeof applicationId !== 'string' || typeof channelId !== 'string')
    return null;
  return {
    id,
    applicationId,
    channelId,
    participants: Array.isArray(d.participants) ? d.participants.length : 0,
  };
}

/** Where a link to an activity leads: `/activities/<application>?custom_id=…&referrer_id=…`. */
interface RequestedActivity {
  readonly applicationId: string;
  readonly customId: string | null;
  readonly referrerId: string | null;
}

interface ActivitiesProps {
  readonly session: Session;
  readonly guild: Guild;
  readonly asked: RequestedActivity | null;
  /** Shown while nothing runs; absent: nothing is shown. */
  readonly empty?: string;
}

/** The running activities of a guild, and the one that this user has opened. */
export function Activities({ session, guild, asked, empty }: ActivitiesProps) {
  const [running, setRunning] = useState<ReadonlyMap<string, Running>>(new Map());
  const [openId, setOpenId] = useState<string | null>(null);
  const [complaint, setComplaint] = useState<string | null>(null);
  const [askedChannelId, setAskedChannelId] = useState<string | null>(null);

  useEffect(() => {
    const take = (d: Json): void => {
      const one = runningOf(d);
      if (one === null) return;
      setRunning((before) => {
        const next = new Map(before);
        if (one.participants === 0) next.delete(one.id);
        else next.set(one.id, one);
        return next;
      });
    };
    for (const channelId of [...guild.channels.keys(), ...guild.texts.keys()].slice(0, CHANNELS_MAX))
      session
        .activities()
        .of(channelId)
        .then(
          (all) => all.forEach(take),
          () => undefined,
        );
    return session.listen((t, d) => {
      if (t === 'EMBEDDED_ACTIVITY_UPDATE_V2') take(d);
      if (t !== 'INTERACTION_SUCCESS' || typeof d.activity_instance_id !== 'string') return;
      setComplaint(null);
      setOpenId(d.activity_instance_id);
    });
  }, [session, guild.id]);

  const open = openId === null ? undefined : running.get(openId);
  const ended = (reason: string): void => {
    setOpenId(null);
    setAskedChannelId(null);
    setComplaint(reason);
  };
  if (running.size === 0 && complaint === null && asked === null)
    return empty === undefined ? null : <p class="dim">{empty}</p>;
  return (
    <section class="card" aria-label="Activities">
      <h2>Activities</h2>
      {complaint !== null && <p class="notice">{complaint}</p>}
      <RunningList guild={guild} running={[...running.values()]} openId={openId} open={setOpenId} />
      {asked !== null && askedChannelId === null && open === undefined && (
        <ChannelChoice guild={guild} choose={setAskedChannelId} />
      )}
      {asked !== null && askedChannelId !== null ? (
        <Shown key={askedChannelId} {...{ session, guild, ended, ...asked }} channelId={askedChannelId} />
      ) : (
        open !== undefined && (
          <Shown
            key={open.id}
            {...{ session, guild, ended, customId: null, referrerId: null }}
            applicationId={open.applicationId}
            channelId={open.channelId}
          />
        )
      )}
    </section>
  );
}

const nameOf = (guild: Guild, channelId: string): string =>
  guild.channels.get(channelId)?.name ?? guild.texts.get(channelId)?.name ?? 'Channel';

interface RunningListProps {
  readonly guild: Guild;
  readonly running: readonly Running[];
  readonly openId: string | null;
  readonly open: (id: string) => void;
}

const RunningList = ({ guild, running, openId, open }: RunningListProps) => (
  <ul class="channels">
    {running.map(({ id, channelId, participants }) => (
      <li key={id}>
        <button type="button" class="channel" disabled={id === openId} onClick={() => open(id)}>
          <span class="name">{nameOf(guild, channelId)}</span>
          <span class="dim">{participants === 1 ? 'One person' : `${participants} people`}</span>
        </button>
      </li>
    ))}
  </ul>
);

/** Where to open the activity that a link leads to. */
function ChannelChoice({ guild, choose }: { guild: Guild; choose: (channelId: string) => void }) {
  const channels = [...guild.channels.values(), ...guild.texts.values()];
  const [chosen, setChosen] = useState(channels[0]?.id ?? '');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        choose(chosen);
      }}
    >
      <label>
        Open the activity in{' '}
        <select value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
          {channels.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Open the activity</button>
    </form>
  );
}

interface ShownProps extends RequestedActivity {
  readonly session: Session;
  readonly guild: Guild;
  readonly channelId: string;
  readonly ended: (reason: string) => void;
}

function Shown({ session, guild, channelId, ended, ...asked }: ShownProps) {
  const { applicationId } = asked;
  const container = useRef<HTMLDivElement>(null);
  const opened = useRef<OpenActivity | null>(null);
  const [isSmall, setSmall] = useState(false);
  useEffect(() => {
    if (container.current === null) return;
    const place = { guildId: guild.id, channelId };
    // The element belongs to the activity from here on: no view has children in it.
    const activity = session.activities().open(place, asked, { container: container.current, ended });
    opened.current = activity;
    return () => activity.close();
  }, [session, guild.id, applicationId, channelId]);
  const resize = (): void => {
    setSmall(!isSmall);
    opened.current?.layout(!isSmall);
  };
  return (
    <>
      <div class={isSmall ? 'activityframe small' : 'activityframe'} ref={container} />
      <button type="button" onClick={resize}>
        {isSmall ? 'Make it large' : 'Make it small'}
      </button>
      <button type="button" class="leave" onClick={() => ended('You have left the activity.')}>
        Leave the activity
      </button>
    </>
  );
}
