import { useState } from 'preact/hooks';
import { isJson, type Json } from '../../sdk/voice/wire.ts';
import { list, text } from './admin.ts';
import { type AdminProps, actionsOf, count, word } from './paged.tsx';
import { type Change, Complaint, Confirm, Table, useLoaded } from './parts.tsx';

type Fields = NonNullable<Change['fields']>;

const USER = { name: 'user', label: 'Id of a user or bot; empty for everyone', optional: true };
const OPERATION = { name: 'operation', label: 'Operation; empty for every one', optional: true };
const TIMES = { name: 'times', label: 'How often at most; empty for no limit', optional: true };
const SHARE = { name: 'probability', label: 'Probability from 0 to 1; empty for always', optional: true };
const ON_CALLS: Fields = [OPERATION, USER, SHARE, TIMES];
const ON_DISPATCHES: Fields = [
  { name: 'event', label: 'Dispatch; empty for every one', optional: true },
  USER,
  SHARE,
];
/** One strike on each open connection. */
const NOW = { at: 0 };

interface Preset {
  readonly title: string;
  readonly says: string;
  readonly rule: Json;
  readonly fields: Fields;
}

const limited = (scope: string): Preset => ({
  title: `429 ${scope}`,
  says: `Answers calls of the API with 429 and the headers of the scope ${scope}.`,
  rule: { on: 'rest', do: 'rate_limit', scope },
  fields: ON_CALLS,
});
const closed = (on: 'gateway' | 'voice', closeCode: number): Preset => ({
  title: `${on === 'voice' ? 'Voice close' : 'Close'} ${closeCode}`,
  says: `Closes open ${on} connections with the code ${closeCode}, once.`,
  rule: { on, do: 'close', code: closeCode, ...NOW },
  fields: [USER],
});
const invalid = (resumable: boolean): Preset => ({
  title: `Op 9 ${resumable}`,
  says: `Sends op 9 (Invalid Session, ${resumable ? '' : 'not '}resumable) on open gateway connections, once.`,
  rule: { on: 'gateway', do: 'invalid_session', resumable, ...NOW },
  fields: [USER],
});

const PRESETS: readonly Preset[] = [
  ...['user', 'shared', 'global'].map(limited),
  {
    title: '503',
    says: 'Answers calls of the API with 503 before the operation runs.',
    rule: { on: 'rest', do: 'error' },
    fields: ON_CALLS,
  },
  {
    title: 'Latency',
    says: 'Lets calls of the API wait for one second.',
    rule: { on: 'rest', do: 'latency', ms: 1000 },
    fields: ON_CALLS,
  },
  {
    title: 'Op 7',
    says: 'Sends op 7 (Reconnect) on open gateway connections, once.',
    rule: { on: 'gateway', do: 'reconnect', ...NOW },
    fields: [USER],
  },
  ...[false, true].map(invalid),
  ...[4000, 4007, 4009].map((closeCode) => closed('gateway', closeCode)),
  {
    title: 'Drop dispatches',
    says: 'Does not send dispatches; their numbers are missing.',
    rule: { on: 'gateway', do: 'drop' },
    fields: ON_DISPATCHES,
  },
  {
    title: 'Delay dispatches',
    says: 'Sends dispatches two seconds late; later ones wait behind them.',
    rule: { on: 'gateway', do: 'delay', ms: 2000 },
    fields: ON_DISPATCHES,
  },
  {
    title: 'Zombie',
    says: 'Keeps open gateway connections open, and lets nothing pass in either direction.',
    rule: { on: 'gateway', do: 'zombie', ...NOW },
    fields: [USER],
  },
  ...[4014, 4015].map((closeCode) => closed('voice', closeCode)),
  {
    title: 'Lose packets',
    says: 'Loses packets of calls over UDP.',
    rule: { on: 'udp', do: 'loss' },
    fields: [SHARE, USER],
  },
];

const NUMBERS = new Set(['times', 'probability']);
const withFields = (rule: Json, fields: Readonly<Record<string, string>>): Json => ({
  ...rule,
  ...Object.fromEntries(
    Object.entries(fields).map(([name, given]) => [name, NUMBERS.has(name) ? Number(given) : given]),
  ),
});

const ANY_RULE: Fields = [{ name: 'rule', label: 'Rule as JSON, as in docs/failure-injection.md' }];

/** Failures that are injected now, and buttons that inject more. */
export function ChaosPage({ admin }: AdminProps) {
  const { body, complaint, reload } = useLoaded(() => admin.get('/chaos'), 'chaos', 2000);
  const [change, setChange] = useState<Change | null>(null);
  const presets = PRESETS.map(
    ({ title, says, rule, fields }): Change => ({
      ...{ title, says, fields },
      run: (given) => admin.post('/chaos', withFields(rule, given)),
    }),
  );
  const others: readonly Change[] = [
    {
      title: 'Another rule',
      says: 'Adds a rule in the words of a scenario file.',
      fields: ANY_RULE,
      run: async ({ rule }) => {
        const parsed: unknown = JSON.parse(rule ?? '');
        return admin.post('/chaos', isJson(parsed) ? parsed : {});
      },
    },
    { title: 'Clear', says: 'Removes every rule.', run: () => admin.post('/chaos/clear', {}) },
  ];
  const removal = ({ id }: Json): readonly Change[] => [
    {
      title: 'Remove',
      says: `Removes rule ${text(id)}: it no longer applies.`,
      run: () => admin.post('/chaos/remove', { id: text(id) }),
    },
  ];
  return (
    <>
      <h2>Failures</h2>
      <p class="dim">Failures that this server injects, to test what bots and clients do.</p>
      <Complaint text={complaint} />
      {body !== null && (
        <>
          <div class="rowactions wrap">
            {[...presets, ...others].map((one) => (
              <button type="button" key={one.title} onClick={() => setChange(one)}>
                {one.title}
              </button>
            ))}
          </div>
          <Table
            name="Rules in force"
            rows={list(body.rules)}
            columns={[
              word('Id', 'id'),
              { title: 'Rule', cell: ({ rule }) => <code class="wrap">{text(rule)}</code> },
              count('Strikes', 'strikes'),
              actionsOf(removal, setChange),
            ]}
          />
        </>
      )}
      {change && (
        <Confirm
          key={change.title}
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
