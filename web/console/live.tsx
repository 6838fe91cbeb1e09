import { isJson, type Json } from '../../sdk/voice/wire.ts';
import { list, text } from './admin.ts';
import { type AdminProps, code, count, moment, Paged, word } from './paged.tsx';

/** The latest dispatches of a session, newest first. */
const latest = (row: Json): string =>
  list(row.latest)
    .map(({ seq, t }) => `${text(seq)} ${text(t)}`)
    .join(', ');

/** Gateway sessions, and what each was sent. */
export const Sessions = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="Sessions"
    about="Gateway sessions of one process, oldest first, with the latest dispatches that it keeps for RESUME."
    path="/sessions"
    rows="sessions"
    everyMs={5_000}
    columns={[
      word('Number', 'id'),
      code('User', 'user_id'),
      {
        title: 'Kind',
        cell: (row) => (row.bot === true ? 'bot' : row.authorized === true ? 'application' : 'person'),
      },
      count('Intents', 'intents'),
      count('Sent', 'seq'),
      { title: 'Latest', cell: (row) => <code class="wrap">{latest(row)}</code> },
    ]}
    changes={(row) => [
      {
        title: 'End tokens',
        says: `Ends all tokens of user ${text(row.user_id)}, and all sessions with them.`,
        run: () => admin.post('/tokens/revoke', { user_id: text(row.user_id) }),
      },
    ]}
  />
);

/** Matchmaking queues with waiting tickets. */
export const Matchmaking = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="Matchmaking"
    about="Waiting tickets by application and queue, of one process."
    path="/matchmaking"
    rows="queues"
    everyMs={2_000}
    isFull={() => false}
    columns={[
      code('Application', 'application_id'),
      word('Queue', 'queue'),
      count('Tickets', 'waiting'),
      count('Players', 'players'),
      count('Lobbies being made', 'making'),
      moment('Oldest ticket', 'oldest_at'),
    ]}
  />
);

const ROWS = 50;

/** The answer of an attempt: 204 acknowledges the event. */
const answerOf = ({ status, failure }: Json): string =>
  status === 204 ? '204, acknowledged' : status === null ? text(failure) : `${text(status)}, not 204`;

/** Webhook events that wait to be sent, and the newest attempts to send one. */
export const Deliveries = ({ admin }: AdminProps) => (
  <>
    <Queued admin={admin} />
    <Attempts admin={admin} />
  </>
);

const Queued = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="Webhook deliveries"
    about="Events that wait to be sent: up to twenty of each application, oldest first. An event is deleted once the application has acknowledged it."
    path="/webhook-events"
    rows="events"
    cursor={{ by: 'after', key: 'application_id' }}
    isFull={(found) => new Set(found.map((row) => row.application_id)).size === ROWS}
    everyMs={5_000}
    columns={[
      code('Application', 'application_id'),
      word('Event', 'type'),
      moment('Queued', 'at'),
      { title: 'To', cell: (row) => (row.origin === null ? 'the URL of the application' : text(row.origin)) },
      count('Failed attempts', 'attempts'),
      moment('Failing since', 'failing_since'),
    ]}
  />
);

const Attempts = ({ admin }: AdminProps) => (
  <Paged
    admin={admin}
    title="Attempts"
    about="What one process sent since it began, newest first: the last 1,000 attempts. An attempt that is not acknowledged is repeated."
    path="/webhook-deliveries"
    rows="attempts"
    cursor={{ by: 'before', key: 'id' }}
    everyMs={5_000}
    columns={[
      moment('Sent', 'at'),
      code('Application', 'application_id'),
      code('Event', 'event_id'),
      word('Type', 'type'),
      word('To', 'origin'),
      count('Attempt', 'attempt'),
      { title: 'Answer', cell: answerOf },
      count('Took, ms', 'took_ms'),
    ]}
  />
);

const LOBBIES = [
  code('Id', 'id'),
  count('Members', 'members'),
  word('Game', 'game'),
  code('Linked channel', 'linked_channel_id'),
  moment('No connection since', 'idle_since'),
];

/** Lobbies of an application. */
export const Lobbies = ({ admin, id }: AdminProps & { readonly id: string }) => (
  <Paged
    admin={admin}
    title="Lobbies"
    about={`Lobbies of application ${id}, oldest first.`}
    path={`/applications/${id}/lobbies`}
    rows="lobbies"
    columns={LOBBIES}
    changes={(row) => [
      {
        title: 'Delete',
        says: `Deletes lobby ${text(row.id)} as the application's bot: its members receive LOBBY_DELETE, its call and messages end.`,
        run: async () => {
          const { bot } = await admin.get(`/applications/${id}`);
          const as = isJson(bot) ? text(bot.id) : '';
          return admin.call({ operation: 'delete_lobby', as, params: { lobby_id: text(row.id) } });
        },
      },
    ]}
  />
);
