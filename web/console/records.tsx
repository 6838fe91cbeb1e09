import { useState } from 'preact/hooks';
import type { Json } from '../../sdk/voice/wire.ts';
import { type Admin, list, text } from './admin.ts';
import { type Change, type Column, Complaint, Confirm, Pager, Table, useLoaded } from './parts.tsx';

interface AdminProps {
  readonly admin: Admin;
}

const ROWS = 50;
const id: Column = { title: 'Id', cell: (row) => <code>{text(row.id)}</code> };
const field = (title: string, key: string): Column => ({ title, cell: (row) => text(row[key]) });

interface RecordsProps extends AdminProps {
  readonly title: string;
  readonly path: string;
  /** The key of the rows in the answer. */
  readonly rows: string;
  readonly isPaged: boolean;
  readonly columns: readonly Column[];
  readonly create: Change | null;
  readonly changes: (row: Json) => readonly Change[];
}

/** A table that the server pages, with changes of its rows. */
function Records({ admin, title, path, rows, isPaged, columns, create, changes }: RecordsProps) {
  const [trail, setTrail] = useState<readonly string[]>([]);
  const [change, setChange] = useState<Change | null>(null);
  const after = trail.at(-1);
  const query = isPaged ? `?limit=${ROWS}${after === undefined ? '' : `&after=${after}`}` : '';
  const { body, complaint, reload } = useLoaded(() => admin.get(path + query), path + query);
  const found = list(body?.[rows]);
  const last = found.length === ROWS ? text(found.at(-1)?.id) : null;
  const actions: Column = {
    title: 'Change',
    cell: (row) => (
      <div class="rowactions">
        {changes(row).map((one) => (
          <button type="button" key={one.title} onClick={() => setChange(one)}>
            {one.title}
          </button>
        ))}
      </div>
    ),
  };
  return (
    <>
      <div class="pagehead">
        <h2>{title}</h2>
        {create && (
          <button type="button" class="primary" onClick={() => setChange(create)}>
            {create.title}
          </button>
        )}
      </div>
      <Complaint text={complaint} />
      {body !== null && <Table name={title} rows={found} columns={[...columns, actions]} />}
      {isPaged && <Pager trail={trail} last={last} go={setTrail} />}
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

export const Guilds = ({ admin }: AdminProps) => (
  <Records
    admin={admin}
    title="Guilds"
    path="/guilds"
    rows="guilds"
    isPaged
    columns={[id, field('Name', 'name')]}
    create={{
      title: 'Make a guild',
      says: 'Makes a guild that the owner can use at once.',
      fields: [
        { name: 'name', label: 'Name' },
        { name: 'owner_id', label: 'Id of the owner' },
      ],
      run: (fields) => admin.post('/guilds', fields),
    }}
    changes={(row) => [
      {
        title: 'Add a member',
        says: `Adds a user or bot to ${text(row.name)}.`,
        fields: [
          { name: 'user_id', label: 'Id of the user' },
          { name: 'permissions', label: 'Permissions of a role of its own, decimal', optional: true },
        ],
        run: (fields) => admin.post(`/guilds/${text(row.id)}/members`, fields),
      },
    ]}
  />
);

export const People = ({ admin }: AdminProps) => (
  <Records
    admin={admin}
    title="People and bots"
    path="/users"
    rows="users"
    isPaged
    columns={[
      id,
      field('Username', 'username'),
      field('Shown name', 'global_name'),
      { title: 'Kind', cell: (row) => (row.bot === true ? 'bot' : 'person') },
    ]}
    create={{
      title: 'Make a user',
      says: 'Makes a human user and shows the token once.',
      fields: [
        { name: 'username', label: 'Username' },
        { name: 'global_name', label: 'Shown name', optional: true },
        { name: 'email', label: 'E-mail address, to sign in', optional: true },
      ],
      run: (fields) => admin.post('/users', fields),
    }}
    changes={(row) => userChanges(admin, text(row.id), text(row.username))}
  />
);

const userChanges = (admin: Admin, userId: string, name: string): readonly Change[] => [
  {
    title: 'New token',
    says: `Gives ${name} a new token, shown once, and ends all earlier ones with their sessions.`,
    run: () => admin.post('/tokens/rotate', { user_id: userId }),
  },
  {
    title: 'End tokens',
    says: `Ends all tokens of ${name}, and all sessions with them.`,
    run: () => admin.post('/tokens/revoke', { user_id: userId }),
  },
  {
    title: 'New password',
    says: `Gives ${name} a new password, shown once. Two-step sign-in is switched off, and every browser signed out.`,
    run: () => admin.post(`/users/${userId}/password`, {}),
  },
  {
    title: 'Ban',
    says: `Bans ${name} from this server until somebody takes it back. Tokens end at once.`,
    run: () => admin.post(`/users/${userId}/ban`, {}),
  },
  {
    title: 'Unban',
    says: `Lets ${name} sign in again.`,
    run: () => admin.post(`/users/${userId}/unban`, {}),
  },
];

export const Applications = ({ admin }: AdminProps) => (
  <Records
    admin={admin}
    title="Applications"
    path="/applications"
    rows="applications"
    isPaged={false}
    columns={[
      id,
      field('Name', 'name'),
      { title: 'Owner', cell: (row) => <code>{text(row.owner_id ?? row.ownerId)}</code> },
      {
        title: 'Redirects',
        cell: (row) => (Array.isArray(row.redirect_uris) ? row.redirect_uris.length : 0),
        isNumber: true,
      },
    ]}
    create={{
      title: 'Make an application',
      says: 'Makes an application with its bot, and shows its token and secret once.',
      fields: [
        { name: 'name', label: 'Name' },
        { name: 'owner_id', label: 'Id of the owner', optional: true },
        { name: 'guild_id', label: 'Id of a guild that the bot joins', optional: true },
      ],
      run: (fields) => admin.post('/applications', fields),
    }}
    changes={() => []}
  />
);
