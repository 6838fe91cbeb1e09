import { useRef, useState } from 'preact/hooks';
import { isJson, type Json } from '../../sdk/voice/wire.ts';
import { type Admin, list, number, text } from './admin.ts';
import { type Change, type Column, Complaint, Confirm, Table, useLoaded } from './parts.tsx';

interface AdminProps {
  readonly admin: Admin;
}

const value = (title: string, key: string): Column => ({
  ...{ title, isNumber: true },
  cell: (row) => (row[key] === null ? '–' : number(row[key]).toLocaleString()),
});
const word = (title: string, key: string): Column => ({ title, cell: (row) => text(row[key]) });

/** Shards with their partitions, and draining them. */
export function Shards({ admin }: AdminProps) {
  const { body, complaint, reload } = useLoaded(() => admin.get('/cluster'), 'cluster', 5000);
  const [change, setChange] = useState<Change | null>(null);
  const drain = (id: string): Change => ({
    title: `Drain ${id}`,
    says: `Hands over everything that ${id} owns, asks its sessions to reconnect, and ends its process. A supervisor starts it again.`,
    run: () => admin.post(`/cluster/shards/${encodeURIComponent(id)}/drain`, {}),
  });
  const columns: readonly Column[] = [
    word('Shard', 'id'),
    word('State', 'state'),
    word('Version', 'version'),
    value('Process', 'pid'),
    value('Sessions', 'sessions'),
    value('Partitions', 'partitions'),
    value('Lag, ms', 'epoch_lag_ms'),
    value('Journal, bytes', 'journal_bytes'),
    { title: 'Up', cell: ({ uptime_ms: up }) => `${Math.floor(number(up) / 60_000)} min`, isNumber: true },
    {
      title: 'Change',
      cell: ({ id }) => (
        <button type="button" onClick={() => setChange(drain(text(id)))}>
          Drain
        </button>
      ),
    },
  ];
  return (
    <>
      <h2>Shards and partitions</h2>
      <Complaint text={complaint} />
      {body !== null && (
        <p class="dim">
          {text(body.partitions)} partitions, {text(body.partitions_unserved)} of them without an owner.
        </p>
      )}
      {body !== null && <Table name="Shards" rows={list(body.shards)} columns={columns} />}
      {change && (
        <Confirm
          change={change}
          done={() => {
            setChange(null);
            reload();
          }}
        />
      )}
    </>
  );
}

const percent = (loss: unknown): string => (typeof loss === 'number' ? `${(loss * 100).toFixed(1)} %` : '–');
const millis = (ms: unknown): string => (typeof ms === 'number' ? `${ms.toFixed(0)} ms` : '–');

interface Sample {
  readonly loss: unknown;
  readonly jitter: unknown;
}

/** Five minutes, a sample every two seconds. */
const SAMPLES_MAX = 150;
const SPARK = { width: 120, height: 24 };

/** Keeps samples of each member while the page is open, and draws them. */
function useHistory(body: Json | null, members: readonly Json[], sampleOf: (member: Json) => Sample) {
  const kept = useRef(new Map<string, Sample[]>());
  const seen = useRef<Json | null>(null);
  if (body !== null && body !== seen.current) {
    seen.current = body;
    kept.current = new Map(
      members.map((member) => {
        const earlier = kept.current.get(text(member.id)) ?? [];
        return [text(member.id), [...earlier, sampleOf(member)].slice(-SAMPLES_MAX)];
      }),
    );
  }
  return (row: Json, key: keyof Sample, shown: (value: unknown) => string) => (
    <Spark
      values={(kept.current.get(text(row.id)) ?? []).map((sample) => number(sample[key]))}
      shown={shown}
    />
  );
}

/** A line of the latest values, with the greatest in words. */
function Spark({
  values,
  shown,
}: {
  readonly values: readonly number[];
  readonly shown: (value: unknown) => string;
}) {
  const most = Math.max(0, ...values);
  const points = values
    .map((value, at) => {
      const x = SPARK.width - ((values.length - 1 - at) / SAMPLES_MAX) * SPARK.width;
      return `${x.toFixed(1)},${(SPARK.height - 1 - (value / (most || 1)) * (SPARK.height - 3)).toFixed(1)}`;
    })
    .join(' ');
  return (
    <span class="spark">
      <svg viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={points} />
      </svg>
      <span class="dim small">most {shown(most)}</span>
    </span>
  );
}

/** The calls in progress, with what each member sends and loses. */
export function Calls({ admin }: AdminProps) {
  const { body, complaint } = useLoaded(() => admin.get('/calls?limit=200'), 'calls', 2000);
  const members = list(body?.calls).flatMap((call) =>
    list(call.members).map(
      (member): Json => ({
        ...member,
        id: `${text(call.call_id)}${text(member.user_id)}`,
        call_id: call.call_id,
      }),
    ),
  );
  const of = (member: Json, key: string): unknown => (isJson(member.media) ? member.media[key] : member[key]);
  const history = useHistory(body, members, (member) => ({
    loss: of(member, 'loss'),
    jitter: of(member, 'jitter_ms'),
  }));
  return (
    <>
      <h2>Calls</h2>
      <Complaint text={complaint} />
      {body !== null && (
        <p class="dim">
          {body.voice === false ? 'This server serves no calls.' : `${text(body.total)} calls.`}
        </p>
      )}
      <Table
        name="Members of calls"
        rows={members}
        columns={[
          { title: 'Call', cell: (row) => <code>{text(row.call_id)}</code> },
          { title: 'User', cell: (row) => <code>{text(row.user_id)}</code> },
          { title: 'Loss', cell: (row) => percent(of(row, 'loss')), isNumber: true },
          { title: 'Jitter', cell: (row) => millis(of(row, 'jitter_ms')), isNumber: true },
          { title: 'Loss, last five minutes', cell: (row) => history(row, 'loss', percent) },
          { title: 'Jitter, last five minutes', cell: (row) => history(row, 'jitter', millis) },
          {
            title: 'Packets in',
            cell: (row) => number(of(row, 'packets_in')).toLocaleString(),
            isNumber: true,
          },
          {
            title: 'Packets out',
            cell: (row) => number(of(row, 'packets_out')).toLocaleString(),
            isNumber: true,
          },
        ]}
      />
    </>
  );
}

/** Every setting in force; secrets are masked by the server. */
export function Settings({ admin }: AdminProps) {
  const { body, complaint } = useLoaded(() => admin.get('/settings'), 'settings');
  const [words, setWords] = useState('');
  const all = Object.entries(isJson(body?.settings) ? body.settings : {}).map(([key, set]) => ({
    id: key,
    set,
  }));
  return (
    <>
      <h2>Settings in force</h2>
      <Complaint text={complaint} />
      <input
        type="search"
        aria-label="Find a setting"
        placeholder="Find a setting"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
      />
      <Table
        name="Settings"
        rows={all.filter(({ id }) => id.includes(words.trim().toLowerCase()))}
        columns={[
          { title: 'Setting', cell: (row) => <code>{text(row.id)}</code> },
          { title: 'Value', cell: (row) => <code>{row.set === null ? 'null' : text(row.set)}</code> },
        ]}
      />
    </>
  );
}

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

function parsed(line: Json): Json {
  try {
    const fields: unknown = JSON.parse(text(line.text));
    return isJson(fields) ? { ...fields, id: line.number } : { id: line.number, msg: line.text };
  } catch {
    return { id: line.number, msg: line.text };
  }
}

const atTime = ({ time }: Json): string =>
  typeof time === 'number' ? new Date(time).toLocaleTimeString() : '';
const OWN = new Set(['id', 'time', 'level', 'msg', 'pid', 'hostname', 'name', 'event']);
const others = (row: Json): string =>
  Object.entries(row)
    .filter(([key, given]) => !OWN.has(key) && given !== null && given !== '')
    .map(([key, given]) => `${key}=${text(given)}`)
    .join(' ');

/** The newest lines of the log. */
export function Log({ admin }: AdminProps) {
  const { body, complaint } = useLoaded(() => admin.get('/log'), 'log', 2000);
  return (
    <>
      <h2>Log</h2>
      <p class="dim">
        The last 1,000 lines of this process, newest first, at the level that log_level lets through.
      </p>
      <Complaint text={complaint} />
      <Table
        name="Log"
        rows={list(body?.lines).map(parsed).reverse()}
        columns={[
          { title: 'Time', cell: atTime },
          { title: 'Level', cell: ({ level }) => LEVELS[number(level)] ?? '' },
          { title: 'Message', cell: ({ msg }) => text(msg) },
          { title: 'Fields', cell: (row) => <code class="wrap">{others(row)}</code> },
        ]}
      />
    </>
  );
}

/** Changes through this port since the process began. */
export function Trail({ admin }: AdminProps) {
  const { body, complaint } = useLoaded(() => admin.get('/trail'), 'trail', 5000);
  return (
    <>
      <h2>Trail</h2>
      <p class="dim">
        Who changed what through the admin port, and what it refused, since this process began. The log has
        all of it at level info.
      </p>
      <Complaint text={complaint} />
      <Table
        name="Trail"
        rows={list(body?.lines).map(parsed).reverse()}
        columns={[
          { title: 'Time', cell: atTime },
          { title: 'Event', cell: ({ event }) => text(event) },
          { title: 'What', cell: ({ what }) => <code>{text(what)}</code> },
          { title: 'Fields', cell: (row) => <code class="wrap">{others({ ...row, what: '' })}</code> },
        ]}
      />
    </>
  );
}
